#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# roostctl without the module, with it, and when it is removed: exit code 3 and a
# message say that it is not there.

cd "$(dirname "$0")" || exit 1
. ./lib.sh
ctl=../../tools/roostctl/roostctl

# without WHAT: all commands, while the module is not loaded.
without()
{
	for command in list 'show 1' stat watch limits 'wake 1'; do
		message=$($ctl $command 2>&1)
		[ $? = 3 ]
		result $? "$1: $command: exit code"
		case $message in
		*'is the module loaded?') result 0 "$1: $command: message" ;;
		*) result 1 "$1: $command: message ($message)" ;;
		esac
	done
	# to ask for it does not load it
	! loaded
	result $? "$1: it is still not loaded"
}

without before
insmod "$ko"
result $? "loads"
$ctl list | grep -q '^ *DOMAIN'
result $? "list works"
[ "$($ctl --json list)" = '[]' ]
result $? "there is no domain"
[ "$($ctl --json stat)" = '[]' ]
result $? "so there is nothing to count"

# who watches holds nothing, and is told
$ctl watch > /tmp/watched 2>&1 &
watcher=$!
hold mapping
result $? "held"
try=0
until grep -q domain /tmp/watched; do
	try=$((try + 1))
	[ $try -lt 600 ] || break
	sleep 0.1
done
grep -q domain /tmp/watched
result $? "watched"
kill -9 $holder
wait $holder 2>/dev/null
unload_soon
result $? "rmmod while it is watched"
wait $watcher
[ $? = 3 ]
result $? "watch ends"
grep -q 'the module was removed' /tmp/watched
result $? "and says why"
without after
finish
