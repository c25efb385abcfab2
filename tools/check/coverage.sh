#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Which lines of the module do its tests run?
#
#   tools/check/coverage.sh [--report] [--only PATTERN]...
#
# Builds the module and its KUnit tests with gcov's counters, in a folder of their own,
# runs the tests on 6.1-debug, and prints for each file how many of its lines were run,
# and which were not. --only chooses the tests, as for check.sh; without it those of the
# device, of netlink, of the library on the kernel backend, the module's own, and KUnit.
# What an earlier run has counted is counted too, as long as the module is the same; if
# only its KUnit tests have changed, what their module had counted is left out. With
# --report nothing is run. Fails if a test fails, or if fewer than 90 % were run.
#
# What is not covered, and why, stands in tools/check/uncovered.

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

kernel=6.1-debug
work=$ROOST_TOP/build/coverage
counts=$work/counts
run=1 only=()
while [ $# -gt 0 ]; do
	case $1 in
	-h|--help)	usage; exit 0 ;;
	--report)	run='' ;;
	--only)		only+=(--only "${2:?--only wants a pattern}"); shift ;;
	*)		die "unknown argument $1" ;;
	esac
	shift
done
[ ${#only[@]} -gt 0 ] || for folder in uapi compat netlink runtime module kunit; do
	only+=(--only "selftests/$folder/*")
done

# sources FOLDER...: what counts depend on.
sources()
{
	(cd "$ROOST_TOP" && find "$@" -name '*.[ch]' -exec sha256sum {} + | LC_ALL=C sort)
}

# forget_older: the counts of a module that is no longer the same.
forget_older()
{
	if ! sources kmod include/uapi | grep -v ' kmod/tests/' |
			cmp -s - "$work/sources"; then
		rm -rf "$counts"
	elif [ -d "$counts" ] && ! sources kmod/tests | cmp -s - "$work/tests"; then
		# objects of the KUnit module lie in a folder of that name
		find "$counts" -path '*/kunit/*.gcda' -delete
	fi
	sources kmod include/uapi | grep -v ' kmod/tests/' > "$work/sources"
	sources kmod/tests > "$work/tests"
}

cd "$ROOST_TOP" || exit 125
writable "$work"
status=0
if [ -n "$run" ]; then
	forget_older
	mkdir -p "$counts"
	# each run by itself: check.sh's folders are named after the boots
	CHECK_KERNELS=$kernel CHECK_DEBUG='' CHECK_MODULES=$work \
		CHECK_KBUILD=GCOV_PROFILE=y CHECK_OUT=$counts/$(date +%s) \
		tools/check/check.sh --vm-only "${only[@]}" || status=1
fi
release=$(tools/kernel/kernel.sh "$kernel" release) || exit 125
tools/check/coverage.py --modules "$work/$release" --counts "$counts" \
	--uncovered tools/check/uncovered --least 90 || status=1
exit $status
