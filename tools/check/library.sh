#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Runs the library's tests, selftests/runtime, in all the ways that there are, one after
# the other, and prints a matrix.  A cell is one way:
#
#   WAY/QUEUE/SLOT/WORKERS
#
# WAY is futex or kernel, the backend, of which the second runs in a VM with $KERNEL (6.12);
# or, on the futex backend, a tool: asan (AddressSanitizer and UBSan), tsan
# (ThreadSanitizer), valgrind (memcheck).  QUEUE is a run queue, SLOT says of the wake slot
# on or off.  WORKERS is how many workers runs have whose test holds with any number; usual:
# as many as each test says, as in `make check`.
#
#   tools/check/library.sh [--fresh] [--list] [CELL...]
#
# CELL is a shell pattern, as 'tsan/*' or 'futex/*/on/70'; by default all are run.  A cell
# is green if tests passed, none failed and, in this process or another, the tool reported
# nothing.  One that was green is not run again as long as what was tested is the same: the
# sources, the tests and these tools, the kernel's image, the share of the rounds.  So the
# matrix can be filled in parts, and a run that was interrupted be gone on with.  --fresh
# runs all that was asked for; --list runs nothing.  Without git nothing tells what is the
# same, and all is run.
#
# In the matrix a cell is
#
#   23      green: so many tests passed
#   23=     the same, and kept from an earlier run of the same
#   2 BAD   two failed, and be it the tool's report
#   ?       not run, neither now nor earlier
#   -       there is no such cell
#
# The logs lie in build/check-library/WAY/QUEUE-SLOT-WORKERS/.  Fails if one of the cells
# that were asked for is not green; all are run in any case.  Tests do a $LIBRARY_SLOW-th
# (4; 1 under tools, where each does less by itself) of the rounds.  $LIBRARY_JOBS (as many
# as there are CPUs) programs run at a time, which in VMs is one.

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"
# shellcheck source=tools/check/results.sh
. "$ROOST_TOP/tools/check/results.sh"
# shellcheck source=tools/check/ways.sh
. "$ROOST_TOP/tools/check/ways.sh"

# Seconds that a program may take.
LIMIT_S=900

all_ways='futex kernel asan tsan valgrind'
all_queues='mutex mpmc striped steal'
all_slots='on off'
all_workers='usual 1 2 3 8 70'
kernel=${KERNEL:-6.12}
jobs=${LIBRARY_JOBS:-$(nproc)}

# there_is CELL: such a cell?
there_is()
{
	case $1 in
	futex/*/usual|kernel/*/usual)	return 1 ;;
	futex/*|kernel/*|*/usual)	return 0 ;;
	esac
	return 1
}

# all_cells: their names
all_cells()
{
	local way queue slot workers

	for way in $all_ways; do
		for queue in $all_queues; do
			for slot in $all_slots; do
				for workers in $all_workers; do
					echo "$way/$queue/$slot/$workers"
				done
			done
		done
	done | while read -r cell; do
		! there_is "$cell" || echo "$cell"
	done
}

# asked_for PATTERN...: which of them
asked_for()
{
	local cell pattern

	all_cells | while read -r cell; do
		for pattern in "$@"; do
			# shellcheck disable=SC2053 # a pattern is meant
			[[ $cell != $pattern ]] || { echo "$cell"; break; }
		done
	done
}

fresh='' list='' patterns=()
while [ $# -gt 0 ]; do
	case $1 in
	--fresh)	fresh=1 ;;
	--list)		list=1 ;;
	-h|--help)	usage; exit 0 ;;
	-*)		die "unknown option $1" ;;
	*)
		[ -n "$(asked_for "$1")" ] || die "there is no cell '$1'"
		patterns+=("$1")
		;;
	esac
	shift
done
known_kernels "$kernel"
[ ${#patterns[@]} -gt 0 ] || patterns=('*')
mapfile -t cells < <(asked_for "${patterns[@]}")

cd "$ROOST_TOP" || exit 125
store=build/check-library
writable "$store"
# two at a time would each tell the other's half
exec 4>"$store/lock"
flock -n 4 || die "another one is running here"

# sources: a hash of all files that may make a difference
sources()
{
	files_sum VERSION include lib kmod selftests/runtime selftests/unit/tap.h \
		selftests/unit/random.h tools/common.sh tools/check tools/vm tools/kernel
}

# slow CELL: which part of the rounds it does.
slow()
{
	case $1 in
	futex/*|kernel/*)	echo "${LIBRARY_SLOW:-4}" ;;
	*)			echo "${LIBRARY_SLOW:-1}" ;;
	esac
}

# tested CELL: a name for what is tested; empty if there is no telling.
tested()
{
	local image=none

	[ -n "$sources" ] || return
	case $1 in
	kernel/*)
		image=$(image_sum "$kernel")
		[ -n "$image" ] || return
		;;
	esac
	printf '%s %s %s\n' "$sources" "$(slow "$1")" "$image" | sha256sum | cut -c 1-24
}

# log_of CELL: the folder of its logs
log_of()
{
	local queue slot workers

	IFS=/ read -r _ queue slot workers <<< "$1"
	echo "$store/${1%%/*}/$queue-$slot-$workers"
}

# kept CELL: what is remembered of it (see remember()), if it was made of what there is.
kept()
{
	local what result

	what=$(tested "$1")
	[ -n "$what" ] || return
	read -r result 2>/dev/null < "$(log_of "$1").result" || return
	[ "${result%% *}" != "$what" ] || printf '%s\n' "${result#* }"
}

# green CELL: is it, by what is remembered?
green()
{
	local verdict

	read -r verdict _ <<< "$(kept "$1")"
	[ "$verdict" = green ]
}

# remember CELL VERDICT PASSED FAILED SKIPPED SECONDS
remember()
{
	local what file

	what=$(tested "$1")
	file=$(log_of "$1").result
	printf '%s %s\n' "${what:--}" "${*:2}" > "$file.new"
	mv "$file.new" "$file"
}

declare -A built

# build WAY
build()
{
	local san log=$store/$1/build.log

	mkdir -p "$store/$1"
	san=$(sanitizer_of "$1")
	[ -n "${built[${san:-plain}]:-}" ] || {
		make -s -j "$jobs" -C selftests/runtime programs SAN="$san" \
			>"$log" 2>&1 </dev/null
		built[${san:-plain}]=$?
	}
	[ "${built[${san:-plain}]}" = 0 ] || { say "$1: cannot be built, see $log"; return 1; }
}

# For the shells that xargs starts.
export -f run_in_way folder_of

# programs: of the runtime's tests
programs()
{
	local source

	for source in selftests/runtime/*_test.c; do
		basename "$source" .c
	done
}

# run_here CELL LOGS: passed, failed, skipped
run_here()
{
	local way=${1%%/*} program
	# for record()
	local results=$2/results

	ROOST_SLOW=$(slow "$1")
	export ROOST_SLOW
	programs | xargs -P "$jobs" -I {} bash -c 'run_in_way "$@"' - \
		"$way" {} "$ROOST_TOP/$2" "$LIMIT_S"
	: > "$results"
	for program in $(programs); do
		record_in_way "$way" "$program" "$2"
	done >"$2/log" 2>&1
	summary >>"$2/log" 2>&1
	counts_of "$2/log"
}

# run_in_vm CELL LOGS: passed, failed, skipped
run_in_vm()
{
	CHECK_KERNELS=$kernel CHECK_DEBUG='' CHECK_SLOW=$(slow "$1") tools/check/check.sh \
		--vm-only --only 'selftests/runtime/*_test' >"$2/log" 2>&1 </dev/null
	counts_of "$2/log"
}

# counts_of LOG: as its last line says; a run that ended early has none.
counts_of()
{
	tail -n 1 "$1" | sed -n \
		's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p'
}

declare -A now

# run_cell CELL
run_cell()
{
	local logs counts='' passed failed skipped verdict=bad start=$SECONDS before=$sources
	local way queue slot workers

	IFS=/ read -r way queue slot workers <<< "$1"
	logs=$(log_of "$1")
	rm -rf "$logs" "$logs.result"
	mkdir -p "$logs"
	say "$1"
	[ "$workers" != usual ] || workers=''
	export ROOST_RUNQ=$queue ROOST_WAKE_SLOT=$slot ROOST_WORKERS=$workers
	if [ "$way" = kernel ]; then
		counts=$(run_in_vm "$1" "$logs" 4>&-)
	elif build "$way" 4>&-; then
		counts=$(run_here "$1" "$logs" 4>&-)
	fi
	read -r passed failed skipped <<< "${counts:-0 0 0}"
	[ "$passed" = 0 ] || [ "$failed" != 0 ] || verdict=green
	now[$1]="$verdict $passed $failed $skipped $((SECONDS - start))"
	# what changed meanwhile was tested in part, if at all
	sources=$(sources)
	if [ "$sources" = "$before" ]; then
		# shellcheck disable=SC2086 # words
		remember "$1" ${now[$1]}
	else
		say "the sources have changed meanwhile"
		built=()
	fi
	say "$1: ${now[$1]} s"
}

# cell CELL: how it stands in the matrix.
cell()
{
	local verdict passed failed mark='' result=${now[$1]:-}

	there_is "$1" || { echo -; return; }
	[ -n "$result" ] || { result=$(kept "$1") mark='='; }
	read -r verdict passed failed _ <<< "$result"
	case $verdict in
	green)	echo "$passed$mark" ;;
	bad)
		# it may have ended before it could count
		[ "$failed" != 0 ] || failed=1
		echo "$failed BAD$mark"
		;;
	*)	echo '?' ;;
	esac
}

matrix()
{
	local way queue slot workers row

	printf '%-22s' workers:
	# shellcheck disable=SC2086 # words
	printf ' %8s' $all_workers
	printf '\n'
	printf '%s\n' "${cells[@]%/*}" | uniq | while read -r row; do
		IFS=/ read -r way queue slot <<< "$row"
		printf '%-9s %-8s %-3s' "$way" "$queue" "$slot"
		for workers in $all_workers; do
			printf ' %8s' "$(cell "$row/$workers")"
		done
		printf '\n'
	done
}

# failures CELL: what its log ends with.
failures()
{
	local log
	log=$(log_of "$1")/log

	[ -f "$log" ] || return
	if grep -q '^Failed:$' "$log"; then
		sed -n "/^Failed:/,/^\$/s|^  |$1: |p" "$log"
	else
		tail -n 3 "$log" | sed "s|^|$1: |"
	fi
}

sources=$(sources)
if [ -z "$list" ]; then
	for name in "${cells[@]}"; do
		if [ -n "$fresh" ] || ! green "$name"; then
			run_cell "$name"
		fi
	done
fi

matrix
status=0 good=0
for name in "${cells[@]}"; do
	read -r verdict _ <<< "${now[$name]:-$(kept "$name")}"
	if [ "$verdict" = green ]; then
		good=$((good + 1))
	else
		status=1
		[ "$verdict" != bad ] || failures "$name"
	fi
done
printf '%d of %d cells are green\n' $good ${#cells[@]}
exit $status
