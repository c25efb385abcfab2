#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Random calls on the device for as long as wanted, in one VM.

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

usage()
{
	cat <<'END'
usage: tools/fuzz/run.sh [options] [-- OPTION...]          or: make fuzz

  --kernel NAME    as of tools/vm/run.sh (6.1-debug)
  --minutes N      how long (30)
  --seed N         where the random numbers start (chosen and printed)
  --smp N          virtual CPUs (2)
  --ko KO          this module instead of the one that is built
  --log DIR        the VM's logs (build/fuzz/KERNEL)

What follows -- is handed to fuzz_test: --procs P, --threads T, --fail.
END
}

kernel=6.1-debug minutes=30 seed='' smp=2 log='' ko=()
while [ $# -gt 0 ]; do
	case $1 in
	-h|--help)	usage; exit 0 ;;
	--)		shift; break ;;
	--*)		[ $# -gt 1 ] || die "$1 needs an argument" ;;
	*)		die "unknown argument $1 (see --help)" ;;
	esac
	case $1 in
	--kernel)	kernel=$2 ;;
	--minutes)	minutes=$2 ;;
	--seed)		seed=$2 ;;
	--smp)		smp=$2 ;;
	--ko)		ko=(--ko "$2") ;;
	--log)		log=$2 ;;
	*)		die "unknown option $1 (see --help)" ;;
	esac
	shift 2
done
[[ $minutes =~ ^[1-9][0-9]*$ ]] || die "--minutes $minutes: not a number"
: "${seed:=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}"

cd "$ROOST_TOP" || exit 125
known_kernels "$kernel"
: "${log:=build/fuzz/$kernel}"
mkdir -p "$log"
program=$ROOST_TOP/selftests/stress/fuzz_test
make -s --no-print-directory -C selftests/uapi "$program" \
	KSELFTEST_DIR="$(tools/kernel/source-files.sh)" >&2 ||
	die "fuzz_test cannot be built"

# kmemleak says that it got no memory with its own raw lock held, which lockdep
# reports; what is left is told by fuzz_test's counts as well
leaks=()
case " $* " in
*' --fail '*)	leaks=(--no-leaks --append kmemleak=off) ;;
esac

say "$kernel, $minutes min, seed $seed"
# what is under way has ten more minutes to come to its end
tools/vm/run.sh --kernel "$kernel" --smp "$smp" --mem 3G --log "$log" "${ko[@]}" \
	"${leaks[@]}" \
	--timeout $((minutes * 60 + 600)) --boot-timeout 900 --file "$program" \
	-- ./fuzz_test --seed "$seed" --seconds $((minutes * 60)) "$@"
rc=$?
[ $rc = 0 ] || say "FAILED with seed $seed; logs are in $log"
exit $rc
