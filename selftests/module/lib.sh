# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=sh
#
# What the scripts here share; sourced.  Busybox is enough.

ko=${ROOST_KO:-/roost/roost.ko}
tests=0
failures=0

# result RC WHAT: one TAP line.
result()
{
	tests=$((tests + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tests - $2"
	else
		echo "not ok $tests - $2"
		failures=$((failures + 1))
	fi
}

# finish: the plan, and the script's exit code.
finish()
{
	echo "1..$tests"
	[ $failures = 0 ]
	exit
}

loaded()
{
	[ -d /sys/module/roost ]
}

# unload_soon: rmmod, in a minute at most: the last steps of an exit may lag.
unload_soon()
{
	try=0
	while ! rmmod roost 2>/dev/null; do
		try=$((try + 1))
		[ $try -lt 600 ] || return 1
		sleep 0.1
	done
	! loaded
}

# hold HOW: starts ./hold and waits until it holds; $holder is its pid.
hold()
{
	rm -f /tmp/held
	./hold "$1" > /tmp/held &
	holder=$!
	try=0
	until grep -q ready /tmp/held 2>/dev/null; do
		try=$((try + 1))
		[ $try -lt 600 ] && kill -0 $holder 2>/dev/null || return 1
		sleep 0.1
	done
}

# objects: active objects in the module's slab caches.  Those that lie free in a
# CPU's own slabs count as active until these are given back.
objects()
{
	for cache in /sys/kernel/slab/roost_*/shrink; do
		[ ! -w "$cache" ] || echo 1 > "$cache"
	done
	awk '/^roost_/ { n += $2 } END { print n + 0 }' /proc/slabinfo
}
