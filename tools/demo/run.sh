#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# The demonstration: httpd on the kernel backend, on the futex backend, and the same
# HTTP in a plain epoll loop, each driven by wrk in a VM at 1, 16 and 64 connections.
#
#   tools/demo/run.sh          or: make demo
#
# Environment (or variables of make): KERNEL, of tools/vm/run.sh (6.1); DURATION,
# seconds of each measured run (2); ROUNDS, how many of these (11), whose median is
# printed; PARTIES and CONNECTIONS, to do less; ICOUNT=1, for a machine with one CPU
# whose nanosecond is an instruction: its figures hardly vary (some 15 minutes; 1 s, 1).
#
# Prints one table; the same stands as JSON in build/demo/demo-KERNEL.json. Ends
# with 0 only if every row ran and had no error.

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

case ${1:-} in
'')		;;
-h|--help)	usage; exit 0 ;;
*)		die "unknown argument $1" ;;
esac

kernel=${KERNEL:-6.1}
icount=${ICOUNT:-}
duration=${DURATION:-${icount:+1}}
rounds=${ROUNDS:-${icount:+1}}
: "${duration:=2}" "${rounds:=11}"
counted=2
busy_us=500
parties=${PARTIES:-kernel futex epoll}
connections=${CONNECTIONS:-1 16 64}
known_kernels "$kernel"
[[ $duration =~ ^[1-9][0-9]*$ ]] ||
	die "DURATION=$duration: whole seconds"

[[ $rounds =~ ^[1-9][0-9]?$ ]] || die "ROUNDS=$rounds: 1 to 99"
for party in $parties; do
	case $party in
	kernel|futex|epoll)	;;
	*)	die "PARTIES: '$party' is none of kernel, futex, epoll" ;;
	esac
done
for number in $connections; do
	[[ $number =~ ^[1-9][0-9]*$ ]] || die "CONNECTIONS: '$number' is not a number"
done

cd "$ROOST_TOP" || exit 125
out=build/demo/$kernel${icount:+-icount}
json=build/demo/demo-$kernel${icount:+-icount}.json
log=build/demo/build.log
writable build/demo
exec 7>build/demo/.lock
flock -n 7 || die "another demonstration runs in this folder"
# (what the VM's runner leaves for a moment must not keep the lock: 7>&- below)
rm -rf "$out" "$json"
mkdir -p "$out"

tools/setup.sh demo || exit 125
say "building"
make --no-print-directory -C lib > "$log" 2>&1 &&
	make --no-print-directory -C tools/examples >> "$log" 2>&1 || {
	tail -n 40 "$log" >&2
	die "the build failed; all of it is in $log"
}

wanted=
limit=60
for number in $connections; do
	for party in $parties; do
		wanted+="$party/$number "
		limit=$((limit + 14 + rounds * (duration + 12) + counted))
	done
done

# A CPU for the server, the others for wrk. One that has to take turns with another on
# the host is of no use to who measures.
cpus=$(nproc)
[ "$cpus" -ge 2 ] || cpus=2
[ "$cpus" -le 4 ] || cpus=4
machine=(--smp "$cpus")
[ -z "$icount" ] || machine=(--icount) limit=$((limit * 8))

# A CPU that goes idle is slow to come back where the host is a virtual machine itself,
# and so is each wake-up in the guest then: something runs there when nothing else does.
awake=()
trap 'kill "${awake[@]}" 2>/dev/null' EXIT
keep_awake()
{
	# (an end of its own, should this script be killed)
	timeout $((limit + 300)) chrt --idle 0 sh -c 'while :; do :; done' \
		7>&- </dev/null >/dev/null 2>&1 &
	awake+=($!)
}
[ -n "$icount" ] || for ((i = 0; i < cpus; i++)); do
	keep_awake
done

# (busy_us: a park whose end comes within that time needs no such wake-up)
tools/vm/run.sh --kernel "$kernel" "${machine[@]}" --module-args busy_us=$busy_us \
	--timeout $limit --out "$out" \
	--log "$out/log" --prog wrk \
	--file tools/examples/httpd/httpd --file tools/examples/epoll_httpd \
	--env DURATION="$duration" --env COUNTED=$counted --env ROUNDS="$rounds" \
	--env PARTIES="$parties" --env CONNECTIONS="$connections" \
	-- tools/demo/guest.sh 7>&-
rc=$?
[ -s "$out/rows.tsv" ] || die "nothing was measured (exit code $rc)"

echo
awk -v json="$json" -v kernel="$kernel" -v duration="$duration" \
	-v icount="$icount" -v counted=$counted -v rounds="$rounds" -v busy=$busy_us \
	-v host="$out/host.txt" -v wanted="$wanted" \
	-f tools/demo/report.awk "$out/rows.tsv" || rc=1
[ $rc = 0 ] || say "FAILED"
exit $rc
