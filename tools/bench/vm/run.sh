#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# The echo benchmark: servers that differ only in how they wait, in one VM.

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../common.sh"

all='roost-kernel roost-futex ring-raw ring-poll epoll handoff uring-poll uring-rw aio-poll'

usage()
{
	cat <<END
usage: tools/bench/vm/run.sh [options]          or: make bench-vm

  --kernel NAME         as of tools/vm/run.sh (6.1)
  --icount              count guest instructions: one CPU, a nanosecond is an
                        instruction; figures hardly vary
  --parties 'NAME...'   of: $all
  --transport 'T...'    of: tcp unix
  --conns 'N...'        connections (1 16 64 512)
  --outstanding 'N...'  requests under way on each (1 16)
  --runs N              rounds; each figure is their median (3)
  --requests N          of a run, at least; a run has twice what is under way at
                        once, if that is more (500 with --icount, else 5000)
  --seconds N           of a run, instead; not with --icount
  --size N              bytes of a message (64)
  --smp N               CPUs (2); the server has the first to itself
  --out DIR             the results (build/bench/vm-KERNEL[-icount])

All parties of a cell (transport, connections, outstanding) are measured one after
the other, then the next cell, then the next round. Prints a table; the rows, TSV
and JSON are in DIR. See Documentation/performance.rst.
END
}

kernel=6.1 icount='' parties=$all transports='tcp unix' conns='1 16 64 512'
outstanding='1 16' runs=3 requests='' seconds='' size=64 smp=2 out=''
while [ $# -gt 0 ]; do
	case $1 in
	--icount)	icount=1; shift; continue ;;
	-h|--help)	usage; exit 0 ;;
	--*)		[ $# -gt 1 ] || die "$1 needs an argument" ;;
	*)		die "unknown argument $1 (see --help)" ;;
	esac
	case $1 in
	--kernel)	kernel=$2 ;;
	--parties)	parties=${2//,/ } ;;
	--transport)	transports=${2//,/ } ;;
	--conns)	conns=${2//,/ } ;;
	--outstanding)	outstanding=${2//,/ } ;;
	--runs)		runs=$2 ;;
	--requests)	requests=$2 ;;
	--seconds)	seconds=$2 ;;
	--size)		size=$2 ;;
	--smp)		smp=$2 ;;
	--out)		out=$2 ;;
	*)		die "unknown option $1 (see --help)" ;;
	esac
	shift 2
done

for party in $parties; do
	[[ " $all " == *" $party "* ]] || die "no party $party; there are: $all"
done
for transport in $transports; do
	[[ $transport =~ ^(tcp|unix)$ ]] || die "no transport $transport"
done
for number in $conns $outstanding $runs ${requests:-1} ${seconds:-1} $size $smp; do
	[[ $number =~ ^[1-9][0-9]*$ ]] || die "$number: not a number"
done
[ -z "$icount" ] || [ -z "$seconds" ] || die "--seconds is not for --icount"
[ -n "$icount" ] || [ "$smp" -ge 2 ] || die "--smp: at least 2"
: "${requests:=$([ -n "$icount" ] && echo 500 || echo 5000)}"

cd "$ROOST_TOP" || exit 125
: "${out:=build/bench/vm-$kernel${icount:+-icount}}"
rm -rf "$out"
mkdir -p "$out"

tools/setup.sh bench || exit 125
say "building"
make --no-print-directory -C lib > "$out/build.log" 2>&1 &&
	make --no-print-directory -C tools/bench/vm >> "$out/build.log" 2>&1 || {
	tail -n 40 "$out/build.log" >&2
	die "the build failed; all of it is in $out/build.log"
}

# A generous limit: an emulated machine on a busy host.
count_of()
{
	echo $#
}
# shellcheck disable=SC2086 # words are meant
cells=$(($(count_of $parties) * $(count_of $transports) * $(count_of $conns) *
	$(count_of $outstanding)))
limit=$((300 + cells * (runs + 1) * (20 + ${seconds:-0})))

files=()
for program in client echo_{roost,ring,ring_poll,epoll,handoff,uring_poll,uring_rw,aio_poll}; do
	files+=(--file "tools/bench/vm/$program")
done
if [ -n "$icount" ]; then
	machine=(--icount)
else
	machine=(--smp "$smp")
fi
tools/vm/run.sh --kernel "$kernel" "${machine[@]}" --timeout $limit --out "$out" \
	--log "$out/log" "${files[@]}" \
	--env PARTIES="$parties" --env TRANSPORTS="$transports" \
	--env CONNS="$conns" --env OUTSTANDING="$outstanding" --env RUNS="$runs" \
	--env REQUESTS="$requests" --env SECONDS_EACH="$seconds" \
	--env SIZE="$size" --env PIN="$([ -n "$icount" ] || echo 1)" \
	-- tools/bench/vm/guest.sh
rc=$?
[ -s "$out/rows.tsv" ] || die "nothing was measured (exit code $rc)"
awk -v kernel="$kernel" -v icount="$icount" -v host="$out/host.txt" \
	-v counts="$out/counts.tsv" -v runs="$runs" \
	-v parties="$parties" -v transports="$transports" -v conns="$conns" \
	-v outstanding="$outstanding" -v tsv="$out/results.tsv" \
	-v json="$out/results.json" -v size="$size" \
	-f tools/bench/vm/report.awk "$out/rows.tsv" || rc=1
[ $rc = 0 ] || say "FAILED"
exit $rc
