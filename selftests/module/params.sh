#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# What is said when the module is loaded: the mode of its device, and the limits
# of users. The rest can be set later, and is tested there.

cd "$(dirname "$0")" || exit 1
. ./lib.sh

params=/sys/module/roost/parameters

# mode: of the device, as ls shows it
mode()
{
	ls -l /dev/roost | cut -c1-10
}

# as_user: can an ordinary user make a domain?
as_user()
{
	su -s /bin/sh user -c './hold armed' > /tmp/held 2>&1 &
	holder=$!
	try=0
	until grep -q ready /tmp/held; do
		try=$((try + 1))
		[ $try -lt 600 ] && kill -0 $holder 2>/dev/null || return 1
		sleep 0.1
	done
}

# end_user: nobody holds anything any more
end_user()
{
	for pid in $(pidof hold); do
		kill -9 "$pid"
	done
	wait $holder 2>/dev/null
}

insmod "$ko"
result $? "loads"
[ "$(mode)" = crw-rw-rw- ]
result $? "the device is for everybody ($(mode))"
as_user
result $? "and an ordinary user can use it"
end_user
[ "$(stat -c %a $params/dev_mode)" = 444 ]
result $? "the mode cannot be changed later"
memory=$(cat $params/max_user_memory)
total=$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)
[ "$memory" -ge $((total / 8 - 1)) ] && [ "$memory" -le $((total / 8 + 1)) ]
result $? "memory for a user: $memory MiB of $total"
for name in domains workers timers polls ios files memory; do
	[ "$(stat -c %a $params/max_user_$name)" = 644 ]
	result $? "max_user_$name can be set by root alone"
done
unload_soon
result $? "unloads"

insmod "$ko" dev_mode=0600
result $? "loads with dev_mode=0600"
[ "$(mode)" = crw------- ]
result $? "the device is root's alone ($(mode))"
! as_user
result $? "and an ordinary user cannot use it"
end_user
unload_soon
result $? "unloads"

for bad in 01666 0777 0667; do
	insmod "$ko" dev_mode=$bad 2>/dev/null && rmmod roost
	! loaded && [ ! -e /dev/roost ]
	result $? "does not load with dev_mode=$bad"
done

insmod "$ko" max_user_domains=1 max_user_memory=5
result $? "loads with limits"
[ "$(cat $params/max_user_domains) $(cat $params/max_user_memory)" = "1 5" ]
result $? "they are set"
as_user
result $? "a first domain"
su -s /bin/sh user -c './hold armed' > /tmp/second 2>&1
! grep -q ready /tmp/second
result $? "and no second one"
end_user
unload_soon
result $? "unloads"
finish
