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
rm -rf "$out"
mkdir -p "$out"
{
	tools/setup.sh bench &&
		make lib &&
		make kmod KVER="$kernel" &&
		make -C tools/bench/vm "$server" client &&
		gcc -O2 -shared -fPIC -o "$out/plugin.so" tools/bench/vm/profile_plugin.c
} > "$out/build.log" 2>&1 || die "the build failed, see $out/build.log"

# run REQUESTS
run()
{
	mkdir -p "$out/$1"
	QEMU_EXTRA="-plugin file=$out/plugin.so,out=$out/$1/blocks" \
	tools/vm/run.sh --kernel "$kernel" --icount --timeout 300 --out "$out/$1" \
		--env SERVER="$server" --env ADDRESS="$address" \
		--env CONNS="$conns" --env REQUESTS="$1" \
		--env ROOST_BACKEND=kernel \
		--file "tools/bench/vm/$server" --file tools/bench/vm/client \
		-- tools/bench/vm/profile_guest.sh > "$out/$1/log" 2>&1 ||
		{ tail -n 20 "$out/$1/log" >&2; die "the run failed"; }
}

run $short
run $long
nm "tools/bench/vm/$server" > "$out/server.syms"
python3 tools/bench/vm/profile.py "$out" $short $long
