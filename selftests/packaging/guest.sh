#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Runs in the VM, with the module as DKMS built it: what udev makes of /dev/roost,
# and the packages' programs and library with it.

# shellcheck source=selftests/module/lib.sh
. /roost/lib.sh

# apply: what udev's rules say about the device that is there
apply()
{
	udevadm control --reload &&
		udevadm trigger --action=add --settle /sys/class/misc/roost
}

# tagged: systemd would hear of the device
tagged()
{
	udevadm info /dev/roost | grep '^E: TAGS=:systemd:$'
}

# node WANTED: mode, owner and group of the device
node()
{
	echo "# $(stat -c '%a %u %g' /dev/roost)"
	[ "$(stat -c '%a %u %g' /dev/roost)" = "$1" ]
}

# hello PROGRAM BACKEND: as a user who is not root
hello()
{
	su user -c "ROOST_BACKEND=$2 $1" > /tmp/said 2>&1
	sed 's/^/# /' /tmp/said
	[ "$(tail -n 1 /tmp/said)" = 'all said hello' ]
}

# seen: roostctl lists the server, and what it has done
seen()
{
	roost-httpd --backend kernel --port 0 --root /tmp > /tmp/httpd &
	server=$!
	try=0
	until grep -q '^listening on' /tmp/httpd; do
		try=$((try + 1))
		[ $try -lt 600 ] || break
		sleep 0.1
	done
	roostctl list > /tmp/listed
	roostctl --json list | grep -q "\"pid\": *$server\b"
	rc=$?
	sed 's/^/# /' /tmp/httpd /tmp/listed
	kill $server
	wait $server
	return $rc
}

tar -xf /roost/system.tar -C /
echo 'roost:x:2000:' >> /etc/group
mkdir -p /etc/udev/rules.d
chmod 600 /dev/roost
/usr/lib/systemd/systemd-udevd --daemon
apply
result $? 'udev takes the rules'
tagged
result $? 'rule of the package: services may wait for the device'
node '666 0 0'
result $? 'the mode of the device is what the module says'
hello /packaging/shared kernel
result $? 'shared library on the kernel backend, any user'
hello /packaging/static kernel
result $? 'static library on the kernel backend, any user'

seen
result $? 'roostctl sees roost-httpd on the kernel backend'

cp /roost/70-roost.rules /etc/udev/rules.d/
apply
node '660 0 2000'
result $? 'rule of the documentation: only a group may'
! hello /packaging/shared kernel
result $? 'others have no kernel backend then'
hello /packaging/shared auto
result $? 'and get the futex backend'
udevadm control --exit
finish
