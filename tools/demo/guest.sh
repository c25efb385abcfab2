#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Runs in the VM: measures each party at each number of connections.
#
# For each number of connections the servers are started anew on CPU 0, looked at (do
# they send the right bytes? are they the backends that were asked for?) and warmed up.
# Then they take turns: in a round wrk drives each of them once, for a short while, from
# the other CPUs. What else the host does then is there for all of them, and a round's
# rates can be compared. In the end each is driven once more while the kernel counts
# its system calls. Leaves in /out: rows.tsv, one line a pair and round (columns: see
# emit), for each pair calls-PARTY-CONNECTIONS with a name and a count a line, and
# host.txt.
#
# Environment: DURATION (seconds of a measured run), ROUNDS, PARTIES, CONNECTIONS.

set -u
: "${DURATION:=2}" "${COUNTED:=2}" "${ROUNDS:=11}"
: "${PARTIES:=kernel futex epoll}" "${CONNECTIONS:=1 16 64}"

here=/roost
work=/tmp/demo
port=8000
# clients' own ports must not come in the way of the servers'
echo '20000 65535' > /proc/sys/net/ipv4/ip_local_port_range
cpus=$(nproc)
# with one there is nothing to share out
others=1
[ "$cpus" = 1 ] || others=$(printf '%x' $(((1 << cpus) - 2)))
pid=
url=
out=
stats=
failures=0
trigger=/sys/kernel/tracing/events/raw_syscalls/sys_enter/trigger
hist=/sys/kernel/tracing/events/raw_syscalls/sys_enter/hist

say()
{
	echo "demo: $*" >&2
}

fail()
{
	say "FAILED: $*"
	failures=$((failures + 1))
}

# ---- the server ----

# choose PARTY: the server that all of what follows is about: pid, url, and the files
# $out and $stats.
choose()
{
	eval "pid=\$pid_$1 url=\$url_$1"
	out=$work/out-$1
	stats=$work/stats-$1
}

# start_server PARTY
start_server()
{
	port=$((port + 1))
	eval "url_$1=http://127.0.0.1:$port/ pid_$1="
	choose "$1"
	rm -f "$stats" "$out"
	case $1 in
	epoll)
		taskset 1 $here/epoll_httpd $port $work/root \
			>"$out" 2>&1 &
		;;
	*)
		taskset 1 $here/httpd --port $port --root $work/root \
			--workers 1 --backend "$1" --stats "$stats" \
			>"$out" 2>&1 &
		;;
	esac
	eval "pid_$1=$!"
	choose "$1"
	tries=0
	until grep -qs "^listening" "$out"; do
		tries=$((tries + 1))
		if [ $tries -gt 100 ] || [ ! -d "/proc/$pid" ]; then
			fail "$1 does not start: $(cat "$out")"
			return 1
		fi
		usleep 50000
	done
}

# stop_server PARTY: and insist on a clean end where one is promised.
stop_server()
{
	choose "$1"
	kill -TERM "$pid" 2>/dev/null || fail "$1 had died: $(cat "$out")"
	wait "$pid" 2>/dev/null
	rc=$?
	[ "$1" = epoll ] || [ $rc = 0 ] || fail "$1 ended with code $rc"
}

# look_at PARTY: one request by another client, compared with the file.
look_at()
{
	wget -q -O $work/got "$url" && cmp -s $work/got $work/root/index.html ||
		fail "$1 does not send the file"
	[ "$1" = epoll ] && return
	stats
	[ "$(stat_of backend)" = "\"$1\"" ] ||
		fail "$1 runs on the backend $(stat_of backend)"
}

# ---- what is counted ----

# stats: the server's own counters, into its file.
stats()
{
	rm -f "$stats"
	kill -USR1 "$pid"
	tries=0
	until [ -f "$stats" ]; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || { fail "no statistics"; return 1; }
		usleep 20000
	done
}

# stat_of NAME: from there.
stat_of()
{
	sed -n "s/^ *\"$1\": \(.*[^,]\),*\$/\1/p" "$stats"
}

# counters PARTY: parks, wakes and so on up to now; nothing for the epoll loop.
counters()
{
	[ "$1" != epoll ] || { echo '- - - - - -'; return; }
	stats
	echo "$(stat_of parks) $(stat_of parks_refused)" \
		"$(stat_of wakes_received) $(stat_of wake_calls)" \
		"$(stat_of enters) $(stat_of fd_events)"
}

# switches: context switches of all of the server's threads.
switches()
{
	cat /proc/$pid/task/*/status |
		awk '/ctxt_switches/ { n += $2 } END { print n }'
}

# cpu_times: "THREAD RAN WAITED", nanoseconds on a CPU and ready for one, a line
# each; and "wall NANOSECONDS".
cpu_times()
{
	for task in /proc/$pid/task/*; do
		read -r ran waited rest < $task/schedstat
		echo "${task##*/} $ran $waited"
	done
	read -r up rest < /proc/uptime
	echo "wall ${up%.*}${up#*.}0000000"
}

# busiest BEFORE AFTER: of the busiest thread, the percentages of the time that it
# was running or ready to, and that it was running.
busiest()
{
	awk 'FNR == NR { ran[$1] = $2; waited[$1] = $3; next }
		$1 == "wall" { wall = $2 - ran[$1]; next }
		{ on = $2 - ran[$1]; ready = on + $3 - waited[$1] }
		ready > most { most = ready; its = on }
		END {
			printf "%.1f\t%.1f\n", wall ? 100 * most / wall : 0,
			       wall ? 100 * its / wall : 0
		}' "$1" "$2"
}

# difference "A B C" "a b c": a-A b-B c-C; a dash stays.
difference()
{
	echo "$1 $2" | awk '{
		n = NF / 2
		for (i = 1; i <= n; i++)
			printf "%s%s", (i > 1 ? "\t" : ""),
			       ($i == "-" ? "-" : $(i + n) - $i)
		print ""
	}'
}

count_calls()
{
	filter=
	for task in /proc/$pid/task/*; do
		filter="$filter${filter:+ || }common_pid == ${task##*/}"
	done
	echo "hist:keys=id.syscall:size=512 if $filter" > $trigger
}

# calls_counted: "NAME COUNT" a line; ends the counting.
calls_counted()
{
	sed -n 's/^{ id: \([^ ]*\) .*hitcount: *\([0-9]*\).*/\1 \2/p' $hist |
		sed 's/^sys_//' | sort -k2nr
	echo '!hist:keys=id.syscall:size=512' > $trigger
}

# ---- the load ----

# drive SECONDS CONNECTIONS FILE
drive()
{
	threads=$((cpus - 1))
	[ $threads -gt 0 ] && [ "$2" -ge $threads ] || threads=1
	# the fields that a browser sends
	taskset $others wrk -t$threads -c"$2" -d"$1"s --timeout 10s --latency \
		-H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' \
		-H 'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' \
		-H 'Accept-Language: en-US,en;q=0.5' \
		-H 'Accept-Encoding: gzip, deflate, br' \
		-H 'Cookie: session=0123456789abcdef0123456789abcdef; theme=light' \
		-H 'Upgrade-Insecure-Requests: 1' -H 'Sec-Fetch-Dest: document' \
		-H 'Sec-Fetch-Mode: navigate' -H 'Sec-Fetch-Site: same-origin' \
		-H 'Sec-Fetch-User: ?1' -H 'Priority: u=0, i' "$url" \
		>"$3" 2>&1
}

# parse FILE: requests, requests/s, p50 and p99 in microseconds, errors.
parse()
{
	awk '
	function us(t) {
		if (t ~ /us$/) return t + 0
		if (t ~ /ms$/) return t * 1000
		if (t ~ /m$/) return t * 60000000
		return t * 1000000
	}
	$1 == "50%" { p50 = us($2) }
	$1 == "99%" { p99 = us($2) }
	$2 == "requests" && $3 == "in" { requests = $1 }
	$1 == "Requests/sec:" { rate = $2 }
	/Socket errors:/ {
		gsub(/,/, "")
		errors += $4 + $6 + $8 + $10
	}
	/Non-2xx or 3xx responses:/ { errors += $NF }
	END { printf "%d\t%.1f\t%.0f\t%.0f\t%d\n", requests, rate, p50, p99, errors }
	' "$1"
}

# rotate WORD...: the first one last
rotate()
{
	first=$1
	shift
	echo "$* $first"
}

# begin PARTY CONNECTIONS
begin()
{
	start_server "$1" || return
	look_at "$1"
	drive 2 "$2" $work/warm
}

# measure PARTY CONNECTIONS ROUND
measure()
{
	choose "$1"
	before=$(counters "$1")
	switches=$(switches)
	drive "$DURATION" "$2" $work/wrk &
	driver=$!
	# busy in the middle of the run: wrk needs a moment to come and go
	usleep 300000
	cpu_times > $work/cpu.0
	usleep $((DURATION * 1000000 - 600000))
	cpu_times > $work/cpu.1
	wait $driver || fail "wrk: $(cat $work/wrk)"
	switches=$(($(switches) - switches))
	after=$(counters "$1")

	: > $work/wrk.counted
	if [ "$3" = "$ROUNDS" ]; then
		count_calls
		drive "$COUNTED" "$2" $work/wrk.counted
		calls_counted > "/out/calls-$1-$2"
	fi
	emit "$1" "$2" "$3"
}

# emit PARTY CONNECTIONS ROUND: one row. Columns: party, connections, requests,
# requests/s, p50 and p99 (us), errors, busy and running (percent), context switches,
# parks, refused parks, wakes received, wake calls, enters, file events (of all of
# the measured run); requests and errors of the counted run; read-like, write-like
# and other system calls of the counted run, all 0 if there was none; round.
emit()
{
	row=$(parse $work/wrk)
	counted=$(parse $work/wrk.counted)
	calls=$(touch "/out/calls-$1-$2"; awk '
		$1 ~ /^(read|readv|recvfrom|recvmsg|pread64)$/ { r += $2; next }
		$1 ~ /^(write|writev|sendto|sendmsg|pwrite64)$/ { w += $2; next }
		{ o += $2 }
		END { printf "%d\t%d\t%d", r, w, o }' "/out/calls-$1-$2")
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$row" \
		"$(busiest $work/cpu.0 $work/cpu.1)" "$switches" \
		"$(difference "$before" "$after")" \
		"$(echo "$counted" | cut -f1)" "$(echo "$counted" | cut -f5)" \
		"$calls" "$3" >> /out/rows.tsv
	say "$1, $2 connections: $(echo "$row" | cut -f2) requests/s"
	cp $work/wrk "/out/wrk-$1-$2.txt"
	[ "$3" = "$ROUNDS" ] || counted=$row
	for row in "$row" "$counted"; do
		[ "$(echo "$row" | cut -f1)" -gt 0 ] || fail "$1: no requests"
		[ "$(echo "$row" | cut -f5)" -eq 0 ] ||
			fail "$1, $2 connections: errors; $(cat $work/wrk)"
	done
}

mkdir -p $work/root
awk 'BEGIN {
	print "<!doctype html><title>roost</title>"
	for (i = 0; i < 15; i++)
		print "<p>A page of about one KiB, line " i ", and nothing more to it.</p>"
}' > $work/root/index.html
{
	uname -r
	sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1
	nproc
	cat /sys/devices/system/clocksource/clocksource0/current_clocksource
	wc -c < $work/root/index.html
} > /out/host.txt
[ -w $trigger ] || { say "no $trigger"; exit 1; }

for connections in $CONNECTIONS; do
	# (an emulator translates code when it is run first: all of it is, before anything
	# is measured)
	for party in $PARTIES; do
		begin "$party" "$connections"
	done
	round=0
	while [ $round -lt "$ROUNDS" ]; do
		round=$((round + 1))
		for party in $PARTIES; do
			measure "$party" "$connections" $round
		done
		PARTIES=$(rotate $PARTIES)
	done
	for party in $PARTIES; do
		stop_server "$party"
	done
done
[ $failures = 0 ]
