#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# C48: kill -9 of a process leaves nothing: no object in the module's caches, and
# rmmod works. Once with 64 parked workers, 10,000 armed polls and 10,000 timers;
# once with I/O ops that wait on 64 connections, and some whose carriers are
# stuck in a page fault.

cd "$(dirname "$0")" || exit 1
. ./lib.sh

# kill_holder HOW LEAST: $LEAST objects at least are held, and none afterwards.
kill_holder()
{
	insmod "$ko"
	result $? "$1: loads"
	grep -q '^roost_' /proc/slabinfo
	result $? "$1: the module's caches are seen in /proc/slabinfo"
	hold "$1"
	result $? "$1: held"
	echo "# $(objects) objects in use"
	[ "$(objects)" -ge "$2" ]
	result $? "$1: they are counted"
	for pid in $(pidof hold); do
		kill -9 "$pid"
	done
	wait $holder 2>/dev/null
	try=0
	while pidof hold >/dev/null; do
		try=$((try + 1))
		[ $try -lt 600 ] || break
		sleep 0.1
	done
	! pidof hold >/dev/null
	result $? "$1: gone ($try tenths of a second)"
	# RCU frees some of them a little later
	try=0
	while [ "$(objects)" != 0 ] && [ $try -lt 600 ]; do
		try=$((try + 1))
		sleep 0.1
	done
	[ "$(objects)" = 0 ]
	result $? "$1: no object is left ($(objects))"
	grep '^roost_' /proc/slabinfo | sed 's/^/# /'
	unload_soon
	result $? "$1: rmmod works"
	! grep -q '^roost_' /proc/slabinfo
	result $? "$1: the caches are gone"
}

kill_holder crowd 10000
# files, and the chunks in which ops and numbers stand
kill_holder io 100
finish
