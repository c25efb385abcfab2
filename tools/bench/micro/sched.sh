#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# What the scheduler costs on this machine, and what others take for the same.
#
#   tools/bench/micro/sched.sh [--runs N] [--peers-only] [--from FILE]
#
# Two tables of sched_bench, of the clock and of the CPU time that was used. A row for each
# storm and number of workers; a column for each run queue without and with wake slot.
# Median of N runs (9), in ns an operation. The kinds take turns, so what disturbs a run
# disturbs all. The figures of each run stand in build/micro/sched.tsv.
#
# Then a table against peers: a jump of Boost.Context, and Go. Each is run right after what
# is compared with it, in turn, N times; the ratio is that of their CPU time, the median of
# those of the runs, with the least and the most. A goal is what the ratio is to be at most. The same stands in
# build/micro/peers.tsv and .json, each pair of runs in peers-runs.tsv, where lines that
# begin with # name peers that are not there. libdill is not compared: Debian has no
# package of it.
#
# Instructions of one operation are those that callgrind counts in user space: what twice
# as many operations take more. It counts none of Go's.
#
# --peers-only: without the two tables. --from: only print the last one, from such a file.
# BENCH_OPS (2000000): operations of a run against a peer.

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../common.sh"

runs=9 tables=1 from=
while [ $# -gt 0 ]; do
	case $1 in
	--runs)		runs=${2:?}; shift ;;
	--peers-only)	tables=0 ;;
	--from)		from=$(realpath "${2:?}"); shift ;;
	*)		die "usage: sched.sh [--runs N] [--peers-only] [--from FILE]" ;;
	esac
	shift
done
[[ $runs =~ ^[1-9][0-9]*$ ]] || die "--runs $runs: not a number"

cd "$ROOST_TOP" || exit 125
micro=tools/bench/micro
ops=${BENCH_OPS:-2000000}

# What is compared: ours, the peer's, the program that has it, and the goal or -.
pairs='
jump			boost/jump	peer_boost	-
yield2/1/steal/none	boost/jump	peer_boost	2
yield2/1/steal/none	go/yield2/1	peer_go		-
yield/1/steal/none	go/yield/1	peer_go		-
yield/2/steal/slot	go/yield/2	peer_go		-
spawn/1/steal/none	go/spawn/1	peer_go		0.25
spawn/2/steal/slot	go/spawn/2	peer_go		0.25
'

# figure PROGRAM NAME: the CPU time of an operation in one run.
figure()
{
	BENCH_RUNS=1 BENCH_OPS=$ops BENCH_ONLY="$2\$" "$micro/$1" |
		awk -F'\t' -v name="cpu/$2" '$1 == name { print $2 }'
}

# collected PROGRAM NAME OPS: instructions of a run of so many operations.
collected()
{
	BENCH_RUNS=1 BENCH_OPS=$3 BENCH_ONLY="$2\$" valgrind --tool=callgrind \
		--callgrind-out-file=/dev/null "$micro/$1" 2>&1 |
		awk '/Collected/ { print $NF }'
}

# instructions PROGRAM NAME: of one operation; nothing if they cannot be counted.
instructions()
{
	local few many

	few=$(collected "$1" "$2" 50000)
	many=$(collected "$1" "$2" 100000)
	if [ -z "$few" ] || [ -z "$many" ]; then
		return
	fi
	# A jump is there and back, twice the operations.
	awk -v n=$((many - few)) -v jump="$2" \
		'BEGIN { printf "%.1f\n", n / (jump ~ /jump$/ ? 100000 : 50000) }'
}

# compare_all: the lines of peers-runs.tsv.
compare_all()
{
	local ours peer program goal i

	for program in peer_boost peer_go; do
		[ -x $micro/$program ] ||
			echo "# $program could not be built: $(head -n 1 $micro/$program.missing)"
	done
	for ((i = 1; i <= runs; i++)); do
		while read -r ours peer program goal; do
			if [ -z "$ours" ] || [ ! -x "$micro/$program" ]; then
				continue
			fi
			printf '%s\t%s\t%s\t%s\t%s\n' "$ours" "$(figure sched_bench "$ours")" \
				"$peer" "$(figure "$program" "$peer")" "$goal"
		done <<< "$pairs"
	done
	if ! command -v valgrind > /dev/null; then
		echo "# valgrind is not there: no instructions were counted"
		return
	fi
	for ours in jump yield2/1/steal/none spawn/1/steal/none; do
		printf 'instructions\t%s\t%s\n' "$ours" "$(instructions sched_bench "$ours")"
	done
	[ ! -x $micro/peer_boost ] ||
		printf 'instructions\tboost/jump\t%s\n' "$(instructions peer_boost boost/jump)"
}

if [ -n "$from" ]; then
	out=$(mktemp -d) || exit 125
	trap 'rm -rf "$out"' EXIT
	cp "$from" "$out/peers-runs.tsv" || exit 125
else
	out=build/micro
	mkdir -p $out
	make -s --no-print-directory -C $micro sched_bench >&2 || die "the build failed"
	make -s --no-print-directory -C $micro peers >&2
	if [ $tables = 1 ]; then
		BENCH_OPS=${BENCH_OPS:-200000} BENCH_RUNS=$runs $micro/sched_bench \
			> $out/sched.tsv || die "sched_bench failed"
	fi
	compare_all > $out/peers-runs.tsv
fi

sort_of_awk='
	function sort(v, n,	i, k, x)
	{
		for (i = 2; i <= n; i++) {
			x = v[i]
			for (k = i - 1; k && v[k] > x; k--)
				v[k + 1] = v[k]
			v[k + 1] = x
		}
	}'

[ $tables = 0 ] || [ -n "$from" ] || awk -F'\t' "$sort_of_awk"'
	{ value[$1, ++count[$1]] = $2 + 0 }
	END {
		for (name in count) {
			n = count[name]
			for (k = 1; k <= n; k++)
				v[k] = value[name, k]
			sort(v, n)
			median[name] = v[int((n + 1) / 2)]
			least[name] = v[1]
		}
		printf "jump: %.1f, at least %.1f\n", median["jump"], least["jump"]
		table("clock", "")
		table("CPU time", "cpu/")
		print ""
	}
	function table(title, prefix,	storms, storm, numbers, workers, kinds, kind, s, w, q, row)
	{
		print "\n" title
		storms = split("yield2 yield wake spawn", storm, " ")
		numbers = split("1 2 8", workers, " ")
		kinds = split("mutex mpmc striped steal", kind, " ")
		printf "%-10s", ""
		for (q = 1; q <= kinds; q++)
			printf " %9s %9s", kind[q], "+slot"
		print ""
		for (s = 1; s <= storms; s++)
			for (w = 1; w <= numbers; w++) {
				row = storm[s] "/" workers[w]
				printf "%-10s", row
				row = prefix row
				for (q = 1; q <= kinds; q++)
					printf " %9.1f %9.1f",
						median[row "/" kind[q] "/none"],
						median[row "/" kind[q] "/slot"]
				print ""
			}
	}' "$out/sched.tsv"

# A peer has a row of its own, with its median in all the runs beside which it ran.
awk -F'\t' "$sort_of_awk"'
	function summary(list, n,	k, v)
	{
		for (k = 1; k <= n; k++)
			v[k] = value[list, k]
		sort(v, n)
		least = v[1]
		most = v[n]
		return v[int((n + 1) / 2)]
	}
	function note(list, x)
	{
		value[list, ++count[list]] = x
	}
	function row(name, list)
	{
		printf "%s\t%.1f\t%.1f\t%.1f\t%d", name, summary(list, count[list]),
			least, most, count[list]
	}
	function instructions_of(name)
	{
		return name in counted ? counted[name] : "-"
	}
	/^#/ { next }
	$1 == "instructions" { if ($3 != "") counted[$2] = $3; next }
	$2 == "" || $4 == "" || !($4 + 0) { broken = 1; next }
	{
		pair = $1 "\t" $3
		if (!(pair in goal)) {
			order[++pairs] = pair
			goal[pair] = $5
		}
		note("ours" pair, $2 + 0)
		note("peer" $3, $4 + 0)
		note("ratio" pair, $2 / $4)
	}
	END {
		print "name\tmedian\tmin\tmax\truns\tinstructions\tratio\tratio_min\t" \
			"ratio_max\tagainst\tgoal\tmet"
		for (i = 1; i <= pairs; i++) {
			split(order[i], part, "\t")
			row(part[1], "ours" order[i])
			ratio = summary("ratio" order[i], count["ratio" order[i]])
			met = "-"
			if (goal[order[i]] != "-")
				met = ratio <= goal[order[i]] ? "yes" : "no"
			printf "\t%s\t%.3f\t%.3f\t%.3f\t%s\t%s\t%s\n", instructions_of(part[1]),
				ratio, least, most, part[2], goal[order[i]], met
		}
		for (i = 1; i <= pairs; i++) {
			split(order[i], part, "\t")
			if (part[2] in seen)
				continue
			seen[part[2]]
			row("peer " part[2], "peer" part[2])
			printf "\t%s\t-\t-\t-\t-\t-\t-\n", instructions_of(part[2])
		}
		exit broken
	}' "$out/peers-runs.tsv" > "$out/peers.tsv"
broken=$?

awk -F'\t' '
	function or_null(value)
	{
		return value == "-" ? "null" : value
	}
	NR == 1 { printf "{\n  \"results\": ["; next }
	{
		printf "%s\n    {\"name\": \"%s\", \"median\": %s, \"min\": %s, \"max\": %s, " \
			"\"runs\": %s, \"instructions\": %s, \"ratio\": %s, " \
			"\"ratio_min\": %s, \"ratio_max\": %s, \"against\": %s, \"goal\": %s}",
			(NR > 2 ? "," : ""), $1, $2, $3, $4, $5, or_null($6), or_null($7),
			or_null($8), or_null($9), $10 == "-" ? "null" : "\"" $10 "\"",
			or_null($11)
	}
	END { print "\n  ]\n}" }' "$out/peers.tsv" > "$out/peers.json"

grep '^#' "$out/peers-runs.tsv"
awk -F'\t' '{ printf "%-20s %8s %8s %8s %5s %13s %7s %10s %10s  %-12s %5s %s\n",
	$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 }' "$out/peers.tsv"
[ $broken = 0 ] || die "a run said nothing; see $out/peers-runs.tsv"
[ -n "$from" ] || say "ns of CPU time an operation; $out/peers.tsv $out/peers.json"
