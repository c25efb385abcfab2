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
rm -rf "$out"
mkdir -p "$out"
{
	tools/setup.sh bench &&
		make kmod KVER="$kernel" &&
		make -C tools/bench/micro "$program" &&
		gcc -O2 -shared -fPIC -o "$out/plugin.so" tools/bench/vm/profile_plugin.c
} > "$out/build.log" 2>&1 || die "the build failed, see $out/build.log"

# run ROUNDS
run()
{
	mkdir -p "$out/$1"
	QEMU_EXTRA="-plugin file=$out/plugin.so,out=$out/$1/blocks" \
	tools/vm/run.sh --kernel "$kernel" --icount --timeout 300 --out "$out/$1" \
		--env BENCH_RUNS=1 --env BENCH_ONLY="$only\$" --env "$variable=$1" \
		--file "tools/bench/micro/$program" -- sh -c "
			echo 0 > /proc/sys/kernel/kptr_restrict
			./$program && cat /proc/kallsyms > /out/kernel.syms" \
		> "$out/$1/log" 2>&1 ||
		{ tail -n 20 "$out/$1/log" >&2; die "the run failed"; }
	# The program is static, and where nm says that it is.
	echo '0 0' > "$out/$1/server.map"
}

run "$short"
run "$long"
nm "tools/bench/micro/$program" > "$out/server.syms"
python3 tools/bench/vm/profile.py "$out" "$short" "$long"
