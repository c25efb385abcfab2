#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# What the scheduler costs on this machine: sched_bench, and a table of it.
#
#   tools/bench/micro/sched.sh [--runs N]
#
# Two tables, of the clock and of the CPU time that was used. A row for each storm and
# number of workers; a column for each run queue without and with wake slot. Median of N
# runs (9), in ns an operation. The kinds take turns, so what disturbs a run disturbs all.
# The figures of each run stand in build/micro/sched.tsv.

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../common.sh"

runs=9
while [ $# -gt 0 ]; do
	case $1 in
	--runs)	runs=${2:?}; shift ;;
	*)	die "usage: sched.sh [--runs N]" ;;
	esac
	shift
done
[[ $runs =~ ^[1-9][0-9]*$ ]] || die "--runs $runs: not a number"

cd "$ROOST_TOP" || exit 125
mkdir -p build/micro
make -s --no-print-directory -C tools/bench/micro sched_bench >&2 || die "the build failed"
BENCH_RUNS=$runs tools/bench/micro/sched_bench > build/micro/sched.tsv ||
	die "sched_bench failed"

awk -F'\t' '
	function sort(v, n,	i, k, x)
	{
		for (i = 2; i <= n; i++) {
			x = v[i]
			for (k = i - 1; k && v[k] > x; k--)
				v[k + 1] = v[k]
			v[k + 1] = x
		}
	}
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
	}' build/micro/sched.tsv
