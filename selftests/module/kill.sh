#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# kill -9 of a process with 64 parked workers, 10,000 armed polls and 10,000
# timers leaves nothing: no object in the module's caches, and rmmod works.

cd "$(dirname "$0")" || exit 1
. ./lib.sh

insmod "$ko"
result $? "loads"
grep -q '^roost_' /proc/slabinfo
result $? "the module's caches are seen in /proc/slabinfo"
hold crowd
result $? "64 workers, 10,000 polls and 10,000 timers"
echo "# $(objects) objects in use"
[ "$(objects)" -ge 10000 ]
result $? "they are counted"
for pid in $(pidof hold); do
	kill -9 "$pid"
done
wait $holder 2>/dev/null
try=0
while pidof hold >/dev/null; do
	try=$((try + 1))
	[ $try -lt 100 ] || break
	sleep 0.1
done
! pidof hold >/dev/null
result $? "gone ($try tenths of a second)"
# RCU frees some of them a little later
try=0
while [ "$(objects)" != 0 ] && [ $try -lt 50 ]; do
	try=$((try + 1))
	sleep 0.1
done
[ "$(objects)" = 0 ]
result $? "no object is left ($(objects))"
grep '^roost_' /proc/slabinfo | sed 's/^/# /'
unload_soon
result $? "rmmod works"
! grep -q '^roost_' /proc/slabinfo
result $? "the caches are gone"
finish
