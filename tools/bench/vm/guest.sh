#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Runs in the VM: measures each party in each cell (transport, connections,
# outstanding requests), all parties of a cell one after the other, for several
# rounds. A server is started anew for each run.
#
# Leaves in /out: rows.tsv, one line a run: party, transport, connections,
# outstanding, round, and what client prints; counts.tsv, one line a party and
# cell: the first four, requests, system calls, wake-ups, and the calls by name;
# host.txt. The kernel counts in the last round, after what is measured.
#
# Environment: PARTIES, TRANSPORTS, CONNS, OUTSTANDING, RUNS, REQUESTS (at least so
# many a run), SECONDS_EACH (instead, if set), SIZE, PIN (server and client each on a CPU).

set -u
here=/roost
work=/tmp/bench
tracing=/sys/kernel/tracing/events
calls=$tracing/raw_syscalls/sys_enter
wakes=$tracing/sched/sched_wakeup
port=2000
pid=
failures=0

say()
{
	echo "bench: $*" >&2
}

fail()
{
	say "FAILED: $*"
	failures=$((failures + 1))
}

# ---- the server ----

# command_of PARTY: what to run.
command_of()
{
	case $1 in
	roost-kernel)	echo "env ROOST_BACKEND=kernel $here/echo_roost" ;;
	roost-futex)	echo "env ROOST_BACKEND=futex $here/echo_roost" ;;
	ring-raw)	echo "$here/echo_ring" ;;
	*)		echo "$here/echo_$(echo "$1" | tr - _)" ;;
	esac
}

# on MASK CMD...: instead of this shell; on those CPUs, if CPUs are shared out.
on()
{
	cpus=$1
	shift
	[ -z "$PIN" ] || exec taskset "$cpus" "$@"
	exec "$@"
}

# start_server PARTY TRANSPORT
start_server()
{
	port=$((port + 1))
	rm -f $work/out
	case $2 in
	tcp)	address=tcp:$port ;;
	unix)	address=unix:$work/socket ;;
	esac
	# shellcheck disable=SC2046 # words are meant
	( on 1 $(command_of "$1") $address >$work/out 2>&1 ) &
	pid=$!
	tries=0
	until grep -qs "^listening" $work/out; do
		tries=$((tries + 1))
		if [ $tries -gt 2000 ] || [ ! -d /proc/$pid ]; then
			fail "$1 does not start: $(cat $work/out)"
			kill -KILL $pid 2>/dev/null
			return 1
		fi
		usleep 5000
	done
	# what the last one has left for the kernel to do
	usleep 200000
}

# stop_server PARTY: it must still be there, and have complained about nothing.
stop_server()
{
	kill -TERM $pid 2>/dev/null || fail "$1 had died: $(cat $work/out)"
	wait $pid 2>/dev/null
	rc=$?
	[ $rc = 143 ] || fail "$1 ended with code $rc: $(cat $work/out)"
	[ "$(cat $work/out)" = listening ] ||
		fail "$1 complained: $(cat $work/out)"
}

# ---- the load ----

# load_of CONNS OUTSTANDING: sets n and the client's options.
load_of()
{
	n=$(($1 * $2 * 2))
	[ $n -gt "$REQUESTS" ] || n=$REQUESTS
	warm=$((n / 4))
	[ $warm -gt $(($1 * $2)) ] || warm=$(($1 * $2))
	options="--connections $1 --outstanding $2 --size $SIZE --requests $n"
	options="$options --warm $warm ${SECONDS_EACH:+--seconds $SECONDS_EACH}"
}

# drive OPTION...: the client; its line into $work/row.
drive()
{
	# shellcheck disable=SC2086 # words are meant
	( on e $here/client --address $address --server $pid $options "$@" \
		>$work/row 2>$work/err )
}

# measure PARTY TRANSPORT CONNS OUTSTANDING ROUND
measure()
{
	load_of "$3" "$4"
	start_server "$1" "$2" || return
	if [ "$5" = "$RUNS" ]; then
		drive --counted $n --begin "$here/guest.sh --count-begin $pid" \
			--end "$here/guest.sh --count-end $pid"
	else
		drive
	fi
	rc=$?
	if [ $rc = 0 ]; then
		printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$@" "$(cat $work/row)" \
			>> /out/rows.tsv
		[ "$5" != "$RUNS" ] || counted "$1" "$2" "$3" "$4"
	else
		fail "$*: $(cat $work/err) $(cat $work/out)"
	fi
	stop_server "$1"
}

# ---- what is counted ----

# filter FIELD: all of the server's threads.
filter()
{
	for task in /proc/$pid/task/*; do
		printf '%s%s == %s' "${joined-}" "$1" "${task##*/}"
		joined=' || '
	done
}

# The client runs these two when nothing is under way.
count_begin()
{
	joined=
	echo "hist:keys=id.syscall:size=512 if $(filter common_pid)" \
		> $calls/trigger || exit 1
	joined=
	echo "hist:keys=pid:size=128 if $(filter pid)" > $wakes/trigger
}

count_end()
{
	sed -n 's/^{ id: \([^ ]*\) .*hitcount: *\([0-9]*\).*/\1 \2/p' \
		$calls/hist | sed 's/^sys_//' | sort -k2nr > $work/calls
	sed -n 's/^{ pid: .*hitcount: *\([0-9]*\).*/\1/p' $wakes/hist |
		awk '{ n += $1 } END { print n + 0 }' > $work/wakes
	echo '!hist:keys=id.syscall:size=512' > $calls/trigger &&
		echo '!hist:keys=pid:size=128' > $wakes/trigger
}

# counted PARTY TRANSPORT CONNS OUTSTANDING: what the last run left.
counted()
{
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$@" $n \
		"$(awk '{ n += $2 } END { print n + 0 }' $work/calls)" \
		"$(cat $work/wakes)" "$(tr '\n' ' ' < $work/calls)" \
		>> /out/counts.tsv
}

# each_cell ROUND: measure all.
each_cell()
{
	for transport in $TRANSPORTS; do
		for conns in $CONNS; do
			say "round $1 of $RUNS, $transport, $conns connections"
			for under_way in $OUTSTANDING; do
				for party in $PARTIES; do
					measure "$party" "$transport" "$conns" \
						"$under_way" "$1"
				done
			done
		done
	done
}

case ${1-} in
--count-begin)	pid=$2; count_begin; exit ;;
--count-end)	pid=$2; count_end; exit ;;
esac

mkdir -p $work
# clients' ports away from the servers'
echo '20000 65535' > /proc/sys/net/ipv4/ip_local_port_range
[ -w $calls/trigger ] && [ -w $wakes/trigger ] || { say "no $tracing"; exit 1; }
{
	uname -r
	sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1
	nproc
} > /out/host.txt

# what the boot has left; costs nothing where instructions are counted
sleep 5
round=1
while [ $round -le "$RUNS" ]; do
	each_cell $round
	round=$((round + 1))
done
[ $failures = 0 ]
