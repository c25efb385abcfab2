#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# A hundred loads and unloads in a row, with a little use in every tenth.

cd "$(dirname "$0")" || exit 1
. ./lib.sh

rounds=${ROOST_RELOADS:-100}
round=0
bad=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	insmod "$ko" || { echo "# round $round: insmod"; bad=1; break; }
	[ -c /dev/roost ] || { echo "# round $round: no /dev/roost"; bad=1; break; }
	if [ $((round % 10)) = 0 ]; then
		hold armed || { echo "# round $round: hold"; bad=1; }
		kill -9 "$holder"
		wait "$holder" 2>/dev/null
		unload_soon || { echo "# round $round: rmmod"; bad=1; break; }
	else
		rmmod roost || { echo "# round $round: rmmod"; bad=1; break; }
	fi
	[ ! -e /dev/roost ] || { echo "# round $round: /dev/roost stays"; bad=1; break; }
done
result $bad "$rounds loads and unloads"
finish
