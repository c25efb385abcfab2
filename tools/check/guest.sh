#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Runs in the VM: each test program listed in /roost/tests (path below /roost and
# time limit in seconds), in its own folder. Marks where each begins and ends (with
# its exit code, and how many seconds it took), so that the host can tell which ones
# reported before a VM that died. What gcov has counted of the module's lines, if it was
# built for that, is left in /out.

while read -r path limit <&3; do
	printf '@@roost begin %s\n' "$path"
	start=$(cut -d. -f1 /proc/uptime)
	(
		exec 3<&-
		cd "/roost/${path%/*}" && exec timeout -k 5 "$limit" "./${path##*/}"
	) </dev/null 2>&1
	rc=$?
	printf '\n@@roost end %s %s %s\n' "$path" $rc \
		$(($(cut -d. -f1 /proc/uptime) - start))
done 3</roost/tests

# of files in debugfs no size is known before they are read
counts=/sys/kernel/debug/gcov
[ ! -d $counts ] || (cd $counts && find . -name '*.gcda') | while read -r file; do
	mkdir -p "/out/gcov/${file%/*}"
	cat "$counts/$file" > "/out/gcov/$file" || exit 1
done
