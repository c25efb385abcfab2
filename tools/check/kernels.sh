#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Runs the VM's tests on every kernel there is, one after the other, and prints
# which kernel passed what.
#
#   tools/check/kernels.sh [KERNEL...] [-- OPTION...]
#
# KERNEL as of tools/kernel/kernel.sh; all of them by default. The options go to
# check.sh: -- --only '*/uapi/*'. Kernels that are missing are fetched or built.
# Fails if one of them fails; all are run in any case.

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

kernels=()
while [ $# -gt 0 ]; do
	case $1 in
	--)		shift; break ;;
	-h|--help)	usage; exit 0 ;;
	-*)		die "unknown option $1" ;;
	*)		kernels+=("$1") ;;
	esac
	shift
done
[ ${#kernels[@]} -gt 0 ] ||
	read -ra kernels <<< "$KERNEL_NAMES"

cd "$ROOST_TOP" || exit 125
known_kernels "${kernels[@]}"
logs=build/check-kernels
writable "$logs"
table=$logs/table
: > "$table"
status=0
for kernel in "${kernels[@]}"; do
	log=$logs/$kernel.log
	say "$kernel, log in $log"
	start=$SECONDS
	CHECK_KERNELS=$kernel CHECK_DEBUG='' \
		tools/check/check.sh --vm-only "$@" >"$log" 2>&1 </dev/null
	rc=$?
	# a run that ended early has no such line, and has failed
	counts=$(tail -n 1 "$log" | sed -n \
		's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p')
	verdict=ok
	if [ $rc -ne 0 ] || [ -z "$counts" ]; then
		verdict=FAILED
		status=1
	fi
	read -r passed failed skipped <<< "${counts:-- - -}"
	printf '%s\t%s\t%s\t%s\t%d\t%s\n' "$kernel" "$passed" "$failed" "$skipped" \
		$((SECONDS - start)) "$verdict" >> "$table"
done

awk -F'\t' '
	BEGIN {
		form = "%-12s %7s %7s %8s %8s  %s\n"
		printf form, "kernel", "passed", "failed", "skipped", "seconds", ""
	}
	{ printf form, $1, $2, $3, $4, $5, $6 }' "$table"
[ $status = 0 ] || for kernel in "${kernels[@]}"; do
	sed -n "/^Failed:/,/^\$/s/^  /$kernel: /p" "$logs/$kernel.log"
done
exit $status
