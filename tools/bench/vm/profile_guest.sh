#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Runs in the VM: one echo server under one load, and the addresses of symbols.
#
# Environment: SERVER, ADDRESS, CONNS, REQUESTS, ROOST_BACKEND.

set -u
cd /roost || exit 1
echo 0 > /proc/sys/kernel/kptr_restrict
"./$SERVER" "$ADDRESS" > /tmp/server.out 2>&1 &
pid=$!
tries=0
until grep -qs '^listening' /tmp/server.out; do
	tries=$((tries + 1))
	[ $tries -lt 1000 ] || { cat /tmp/server.out >&2; exit 1; }
	usleep 10000
done
./client --address "$ADDRESS" --server $pid --size 64 --connections "$CONNS" \
	--outstanding 1 --requests "$REQUESTS" --warm 200 || exit 1
cat /proc/kallsyms > /out/kernel.syms
sed -n "s|^\([0-9a-f]*\)-.* r-xp \([0-9a-f]*\) .*/$SERVER\$|\1 \2|p" \
	/proc/$pid/maps > /out/server.map
kill $pid
