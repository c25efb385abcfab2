#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Where the instructions of one microbenchmark go, by function, as
# tools/bench/vm/profile.sh does it for the echo servers.
#
#   tools/bench/micro/profile.sh [--kernel NAME] [--program park_bench]
#                                [--only park/switch] [--variable BENCH_ROUNDS]
#                                [--short N] [--long N]
#
# Two runs of different length, set by --variable; the difference is what one round
# costs. Prints one line a function: instructions and calls a round.

set -eu
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../common.sh"
# shellcheck source=tools/bench/profile.sh
. "$ROOST_TOP/tools/bench/profile.sh"

kernel=6.1 program=park_bench only=park/switch variable=BENCH_ROUNDS
short=2000 long=12000
while [ $# -gt 0 ]; do
	[ $# -gt 1 ] || die "$1 needs an argument"
	case $1 in
	--kernel)	kernel=$2 ;;
	--program)	program=$2 ;;
	--only)		only=$2 ;;
	--variable)	variable=$2 ;;
	--short)	short=$2 ;;
	--long)		long=$2 ;;
	*)		die "unknown option $1" ;;
	esac
	shift 2
done

cd "$ROOST_TOP"
out=build/micro/profile
profile_build -C tools/bench/micro "$program"

for rounds in "$short" "$long"; do
	profile_run "$rounds" \
		--env BENCH_RUNS=1 --env BENCH_ONLY="$only\$" \
		--env "$variable=$rounds" \
		--file "tools/bench/micro/$program" -- sh -c "
			echo 0 > /proc/sys/kernel/kptr_restrict
			./$program && cat /proc/kallsyms > /out/kernel.syms"
	# The program is static, and where nm says that it is.
	echo '0 0' > "$out/$rounds/server.map"
done
profile_report "tools/bench/micro/$program" "$short" "$long"
