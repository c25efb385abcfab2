#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Runs in the VM: each test program listed in /roost/tests (path below /roost and
# time limit in seconds), in its own folder. Marks where each begins and ends, so
# that the host can tell which ones reported before a VM that died.

while read -r path limit <&3; do
	printf '@@roost begin %s\n' "$path"
	(
		exec 3<&-
		cd "/roost/${path%/*}" && exec timeout -k 5 "$limit" "./${path##*/}"
	) </dev/null 2>&1
	printf '\n@@roost end %s %s\n' "$path" $?
done 3</roost/tests
