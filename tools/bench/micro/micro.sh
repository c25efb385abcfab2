#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# The microbenchmarks, in a VM that counts instructions; then very many sleepers, in
# one that keeps time, and with --carriers actors that block.
#
#   tools/bench/micro/micro.sh [--kernel K] [--runs N] [--no-sleepers] [--carriers]
#
# Prints one table: median, least and most of N runs (5), and the ratio to what each
# is held against. The same stands in build/micro/micro-K.tsv and .json.
# --carriers: with the module's parameter carriers=1; the files are micro-K-carriers.
# BENCH_SLEEPERS (100000): how many; their guest has 7 GB of memory.

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../common.sh"

kernel=6.12 runs=5 sleepers=${BENCH_SLEEPERS:-100000} carriers=0
while [ $# -gt 0 ]; do
	case $1 in
	--kernel)	kernel=${2:?}; shift ;;
	--runs)		runs=${2:?}; shift ;;
	--no-sleepers)	sleepers=0 ;;
	--carriers)	carriers=1 ;;
	*)		die "usage: micro.sh [--kernel K] [--runs N] [--no-sleepers] [--carriers]" ;;
	esac
	shift
done
[[ $runs =~ ^[1-9][0-9]*$ ]] || die "--runs $runs: not a number"
[[ $sleepers =~ ^[0-9]+$ ]] || die "BENCH_SLEEPERS=$sleepers: not a number"

cd "$ROOST_TOP" || exit 125
out=build/micro/$kernel
name=build/micro/micro-$kernel
[ $carriers = 0 ] || name+=-carriers
rm -rf "$out" "$name".*
mkdir -p "$out"
tools/setup.sh bench || exit 125
make -s --no-print-directory -C tools/bench/micro >&2 || die "the build failed"

# in_vm PROGRAM OPTION...: its lines go to $out/PROGRAM.tsv.
in_vm()
{
	local program=$1

	shift
	say "$program"
	tools/vm/run.sh --kernel "$kernel" --out "$out" --log "$out/log" \
		--module-args carriers=$carriers \
		--file "tools/bench/micro/$program" --env BENCH_RUNS="$runs" \
		"$@" -- sh -c "$prepare ./$program > /out/$program.tsv" >&2 ||
		die "$program failed; see $out/log"
}

prepare=
for program in park_bench timer_bench lib_bench; do
	in_vm $program --icount --timeout 900
done
if [ "$sleepers" -gt 0 ]; then
	# each stack is a mapping of its own, and one of its guard page
	prepare="sysctl -qw vm.max_map_count=$((sleepers * 3 + 65536));"
	in_vm sleepers_bench --smp 2 --mem $((2048 + sleepers / 20))M \
		--timeout 900 --env BENCH_SLEEPERS="$sleepers" \
		--env BENCH_NAPS=3 --env BENCH_MOST_US="${BENCH_MOST_US:-100000}" \
		--env BENCH_LEAST_US="${BENCH_LEAST_US:-1000}"
fi

if [ $carriers = 1 ]; then
	prepare=
	in_vm stuck_bench --smp 2 --timeout 600
fi

# What each is held against: the first pattern that matches.
cat "$out"/*.tsv | awk -F'\t' '
	function reference(name)
	{
		if (name ~ /^park\//)
			return "park/futex"
		if (name ~ /^(arm|move)\/|^lib\/arm_kernel/)
			return "arm/timerfd"
		if (name ~ /^fire\//)
			return "fire/timerfd"
		return ""
	}
	function sort(v, n,	i, k, x)
	{
		for (i = 2; i <= n; i++) {
			x = v[i]
			for (k = i - 1; k && v[k] > x; k--)
				v[k + 1] = v[k]
			v[k + 1] = x
		}
	}
	!($1 in count) { order[++names] = $1 }
	{ value[$1, ++count[$1]] = $2 + 0 }
	END {
		for (i = 1; i <= names; i++) {
			name = order[i]
			n = count[name]
			for (k = 1; k <= n; k++)
				v[k] = value[name, k]
			sort(v, n)
			median[name] = v[int((n + 1) / 2)]
			least[name] = v[1]
			most[name] = v[n]
		}
		print "name\tmedian\tmin\tmax\truns\tratio\tagainst"
		for (i = 1; i <= names; i++) {
			name = order[i]
			against = reference(name)
			ratio = "-"
			if (against in median && median[against])
				ratio = sprintf("%.3f", median[name] / median[against])
			printf "%s\t%.1f\t%.1f\t%.1f\t%d\t%s\t%s\n", name, median[name],
				least[name], most[name], count[name], ratio,
				ratio == "-" ? "-" : against
		}
	}' > "$name.tsv"
[ "$(wc -l < "$name.tsv")" -gt 1 ] || die "nothing was measured"

awk -F'\t' -v kernel="$kernel" '
	NR == 1 { printf "{\n  \"kernel\": \"%s\",\n  \"results\": [", kernel; next }
	{
		printf "%s\n    {\"name\": \"%s\", \"median\": %s, \"min\": %s, " \
			"\"max\": %s, \"runs\": %s, \"ratio\": %s}", \
			(NR > 2 ? "," : ""), $1, $2, $3, $4, $5, \
			($6 == "-" ? "null" : $6)
	}
	END { print "\n  ]\n}" }' "$name.tsv" > "$name.json"

awk -F'\t' '{ printf "%-38s %10s %10s %10s %5s %7s  %s\n", $1, $2, $3, $4, $5, $6, $7 }' \
	"$name.tsv"
say "guest instructions, but for sleepers/... and stuck/...; $name.tsv $name.json"
