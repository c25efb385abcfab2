#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Loads the module with the KUnit tests, which runs them, and relays the results:
# a line for each case.  In a VM, as root, on a kernel with CONFIG_KUNIT.
#
# There is a suite for each kmod/tests/NAME_kunit.c, and it is called roost_NAME.
# The sources lie in $ROOST_TESTS, so that one which is not linked in is missed.
# ROOST_SEED is where random numbers begin.

cd "$(dirname "$0")" || exit 1
. ../module/lib.sh

kunit=${ROOST_KUNIT:-/roost/roost_kunit.ko}
sources=${ROOST_TESTS:-/roost/tests}
debugfs=/sys/kernel/debug/kunit

# cases FILE: "RC NAME" for each case in a suite's results, then "plan N", and
# "suite RC"
cases()
{
	awk '
	/^ +[0-9]+\.\.[0-9]+/ && !planned { sub(/.*\.\./, ""); print "plan", $0 + 0
		planned = 1; next }
	/^    (not )?ok [0-9]/ {
		rc = /^    not/
		sub(/^ *(not )?ok [0-9]+ (- )?/, "")
		print rc, $0
		next
	}
	/^(not )?ok [0-9]/ { print "suite", /^not/ ? 1 : 0 }' "$1"
}

# relay SUITE: its cases, and whether there are as many as planned
relay()
{
	if [ ! -r "$debugfs/$1/results" ]; then
		result 1 "$1: no such suite has run"
		return
	fi
	grep '^ *#' "$debugfs/$1/results" | sed 's/^ */# /; s/^# # /# /'
	cases "$debugfs/$1/results" > /tmp/cases
	plan=0
	seen=0
	suite=1
	while read -r word rest; do
		case $word in
		plan)	plan=$rest ;;
		suite)	suite=$rest ;;
		*)	seen=$((seen + 1)); result "$word" "$1: $rest" ;;
		esac
	done < /tmp/cases
	[ "$plan" -gt 0 ] && [ "$plan" = "$seen" ] && [ "$suite" = 0 ]
	result $? "$1: $seen of $plan cases reported, the suite is good"
}

echo "roost: KUnit begins" > /dev/kmsg
# shellcheck disable=SC2086 # no word, or one
insmod "$kunit" ${ROOST_SEED:+seed=$ROOST_SEED}
result $? 'the module loads'
for source in "$sources"/*_kunit.c; do
	name=${source##*/}
	relay "roost_${name%_kunit.c}"
done

# what the last test has closed is released by a work item
try=0
until rmmod roost_kunit 2>/dev/null; do
	try=$((try + 1))
	[ $try -lt 600 ] || break
	sleep 0.1
done
[ ! -d /sys/module/roost_kunit ]
result $? 'the module unloads'
! grep '^roost_' /proc/slabinfo
result $? 'its caches are gone'

[ $failures = 0 ] || dmesg | sed '1,/roost: KUnit begins/d; s/^/# /'
finish
