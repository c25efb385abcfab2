#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Where the instructions of a request go: the echo benchmark under a QEMU that counts
# them by function, in the kernel and in the server.
#
#   tools/bench/vm/profile.sh [--kernel NAME] [--server echo_roost|echo_ring|echo_epoll]
#                             [--transport tcp|unix] [--conns N]
#
# Two runs of different length; the difference is what a request costs. Prints one
# line a function: instructions and calls a request.

set -eu
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../common.sh"
# shellcheck source=tools/bench/profile.sh
. "$ROOST_TOP/tools/bench/profile.sh"

kernel=6.1 server=echo_roost transport=unix conns=64 short=1000 long=5000
while [ $# -gt 0 ]; do
	[ $# -gt 1 ] || die "$1 needs an argument"
	case $1 in
	--kernel)	kernel=$2 ;;
	--server)	server=$2 ;;
	--transport)	transport=$2 ;;
	--conns)	conns=$2 ;;
	*)		die "unknown option $1" ;;
	esac
	shift 2
done
case $transport in
tcp)	address=tcp:2001 ;;
unix)	address=unix:/tmp/socket ;;
*)	die "--transport $transport: tcp or unix" ;;
esac

cd "$ROOST_TOP"
out=build/bench/profile
make -s lib >&2
profile_build -C tools/bench/vm "$server" client

for requests in $short $long; do
	profile_run "$requests" \
		--env SERVER="$server" --env ADDRESS="$address" \
		--env CONNS="$conns" --env REQUESTS="$requests" \
		--env ROOST_BACKEND=kernel \
		--file "tools/bench/vm/$server" --file tools/bench/vm/client \
		-- tools/bench/vm/profile_guest.sh
done
profile_report "tools/bench/vm/$server" $short $long
