#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# C27: the module cannot be removed while anything of it is in use, and can
# afterwards.

cd "$(dirname "$0")" || exit 1
. ./lib.sh

for how in device mapping parked armed io; do
	insmod "$ko"
	result $? "$how: loads"
	hold $how
	result $? "$how: held"
	message=$(rmmod roost 2>&1)
	! [ $? = 0 ] && loaded
	result $? "$how: rmmod refuses ($message)"
	case $message in
	*temporarily\ unavailable*|*busy*|*in\ use*) result 0 "$how: because it is in use" ;;
	*) result 1 "$how: because it is in use" ;;
	esac
	kill -0 $holder
	result $? "$how: the user lives on"
	kill -9 $holder
	wait $holder 2>/dev/null
	unload_soon
	result $? "$how: rmmod works once it is released"
done
finish
