#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Runs the VMs' tests on every kernel there is, one after the other, and prints a
# matrix.  A cell is a folder of tests on a kernel: a run of check.sh, with boots of its
# own.  It is green if tests passed there, none failed, and the kernel's logs tell of no
# fault.
#
#   tools/check/kernels.sh [--fresh] [--list] [--folder FOLDER]... [KERNEL...]
#
# KERNEL as of tools/kernel/kernel.sh, FOLDER of selftests/; all by default.  What is
# missing of kernels is fetched or built.  A cell that was green is not run again as long
# as what was tested is the same: the sources, the folder's tests and these tools, the
# kernel's image, and the share of the rounds.  So the matrix can be filled in parts, and a run
# that was interrupted be gone on with.  --fresh runs all that was asked for; --list runs
# nothing and fetches nothing.  Without git nothing tells what is the same, and all is run.
#
# In the matrix a cell is
#
#   23      green: so many tests passed
#   23=     the same, and kept from an earlier run of the same
#   2 BAD   two failed, and be it the kernel's log
#   ?       not run, neither now nor earlier
#   -       there is no such cell: KUnit is not in Debian's kernels
#
# The logs lie in build/check-kernels/KERNEL/FOLDER.log.  Fails if one of the cells that
# were asked for is not green; all are run in any case.  On kernels with checkers the
# library's tests do a tenth of the rounds ($CHECK_SLOW: another share, of every kernel).

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

all_folders='kunit module uapi compat netlink runtime httpd stress'
kernels=() folders=() fresh='' list=''
while [ $# -gt 0 ]; do
	case $1 in
	--fresh)	fresh=1 ;;
	--list)		list=1 ;;
	--folder)	folders+=("${2:?--folder wants a name}"); shift ;;
	-h|--help)	usage; exit 0 ;;
	-*)		die "unknown option $1" ;;
	*)		kernels+=("$1") ;;
	esac
	shift
done
known_kernels "${kernels[@]}"
[ ${#kernels[@]} -gt 0 ] || read -ra kernels <<< "$KERNEL_NAMES"
for folder in "${folders[@]}"; do
	case " $all_folders " in
	*" $folder "*)	;;
	*)	die "there is no folder '$folder', only $all_folders" ;;
	esac
done
[ ${#folders[@]} -gt 0 ] || read -ra folders <<< "$all_folders"

cd "$ROOST_TOP" || exit 125
store=build/check-kernels
writable "$store"
# two at a time would each tell the other's half
exec 4>"$store/lock"
flock -n 4 || die "another one is running here"

# others FOLDER: pathspecs of what has no part in that folder's cells: other folders'
# tests, and where the device is tested the library.  Headers of uapi/ and runtime/ are
# used by others, so only their tests are.
others()
{
	local folder

	case $1 in
	runtime|httpd|stress)	;;
	*)	printf ':!lib\n:!include/roost\n' ;;
	esac
	for folder in bench gdb packaging unit $all_folders; do
		case $1/$folder in
		"$folder/$1"|compat/uapi)	;;
		*/kunit)	printf ':!selftests/kunit\n:!kmod/tests\n' ;;
		*/uapi|*/runtime)	echo ":!selftests/$folder/*_test.*" ;;
		*)	echo ":!selftests/$folder" ;;
		esac
	done
}

# sources FOLDER: a hash of all files that may make a difference to its cells
sources()
{
	local left_out

	mapfile -t left_out < <(others "$1")
	files_sum Makefile include kmod lib selftests tools ':!tools/bench' ':!tools/demo' \
		':!tools/fuzz' "${left_out[@]}"
}

# slow KERNEL: which part of the rounds it does.
slow()
{
	if checked_kernel "$1"; then
		echo "${CHECK_SLOW:-10}"
	else
		echo "${CHECK_SLOW:-1}"
	fi
}

# tested KERNEL FOLDER: a name for what is tested; empty if there is no telling.
tested()
{
	[ -n "${sources[$2]}" ] && [ -n "${images[$1]:-}" ] || return
	printf '%s %s %s\n' "${sources[$2]}" "$(slow "$1")" "${images[$1]}" |
		sha256sum | cut -c 1-24
}

# there_is KERNEL FOLDER: such a cell?
there_is()
{
	[ "$2" != kunit ] || built_kernel "$1"
}

# kept KERNEL FOLDER: what is remembered of that cell (see remember()), if it was made
# of what there is now.
kept()
{
	local what result

	what=$(tested "$1" "$2")
	[ -n "$what" ] || return
	read -r result 2>/dev/null < "$store/$1/$2.result" || return
	[ "${result%% *}" != "$what" ] || printf '%s\n' "${result#* }"
}

# green KERNEL FOLDER: is it, by what is remembered?
green()
{
	local verdict

	read -r verdict _ <<< "$(kept "$1" "$2")"
	[ "$verdict" = green ]
}

# remember KERNEL FOLDER VERDICT PASSED FAILED SKIPPED SECONDS
remember()
{
	local what

	what=$(tested "$1" "$2")
	printf '%s %s\n' "${what:--}" "${*:3}" > "$store/$1/$2.result.new"
	mv "$store/$1/$2.result.new" "$store/$1/$2.result"
}

declare -A now

# run_cell KERNEL FOLDER
run_cell()
{
	local log=$store/$1/$2.log start=$SECONDS rc counts verdict=green before

	mkdir -p "$store/$1"
	rm -f "$store/$1/$2.result"
	say "$1, $2"
	before=${sources[$2]}
	CHECK_KERNELS=$1 CHECK_DEBUG='' CHECK_SLOW=$(slow "$1") tools/check/check.sh \
		--vm-only --only "*/$2/*" >"$log" 2>&1 </dev/null 4>&-
	rc=$?
	# a run that ended early has no such line, and has failed
	counts=$(tail -n 1 "$log" | sed -n \
		's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p')
	[ $rc = 0 ] && [ -n "$counts" ] || verdict=bad
	now[$1/$2]="$verdict ${counts:-0 0 0} $((SECONDS - start))"
	# what changed meanwhile was tested in part, if at all
	sources[$2]=$(sources "$2")
	[ "${sources[$2]}" = "$before" ] || say "the sources have changed meanwhile"
	# the run may have fetched or built it
	images[$1]=$(image_sum "$1")
	# shellcheck disable=SC2086 # words
	[ "${sources[$2]}" != "$before" ] || remember "$1" "$2" ${now[$1/$2]}
	say "$1, $2: ${now[$1/$2]} s"
}

# cell KERNEL FOLDER: how it stands in the matrix.
cell()
{
	local verdict passed failed mark='' result=${now[$1/$2]:-}

	there_is "$1" "$2" || { echo -; return; }
	[ -n "$result" ] || { result=$(kept "$1" "$2") mark='='; }
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

# sum KERNEL FIELD: over the row's cells, of now and of earlier.
sum()
{
	local folder

	for folder in $all_folders; do
		echo "${now[$1/$folder]:-$(kept "$1" "$folder")}"
	done | awk -v field="$2" '{ n += $field } END { print n + 0 }'
}

matrix()
{
	local kernel folder

	printf '%-11s' kernel
	# shellcheck disable=SC2086 # words
	printf ' %8s' $all_folders skipped seconds
	printf '\n'
	for kernel in "${kernels[@]}"; do
		printf '%-11s' "$kernel"
		for folder in $all_folders; do
			printf ' %8s' "$(cell "$kernel" "$folder")"
		done
		printf ' %8s %8s\n' "$(sum "$kernel" 4)" "$(sum "$kernel" 5)"
	done
}

# failures KERNEL FOLDER: what its log ends with.
failures()
{
	local log=$store/$1/$2.log

	[ -f "$log" ] || return
	if grep -q '^Failed:$' "$log"; then
		sed -n "/^Failed:/,/^\$/s/^  /$1, $2: /p" "$log"
	else
		tail -n 3 "$log" | sed "s/^/$1, $2: /"
	fi
}

declare -A images sources
for folder in $all_folders; do
	sources[$folder]=$(sources "$folder")
done
for kernel in "${kernels[@]}"; do
	images[$kernel]=$(image_sum "$kernel")
done
for kernel in "${kernels[@]}"; do
	for folder in "${folders[@]}"; do
		there_is "$kernel" "$folder" || continue
		[ -z "$list" ] || continue
		if [ -n "$fresh" ] || ! green "$kernel" "$folder"; then
			run_cell "$kernel" "$folder"
		fi
	done
done

matrix
status=0 good=0 asked=0
for kernel in "${kernels[@]}"; do
	for folder in "${folders[@]}"; do
		there_is "$kernel" "$folder" || continue
		asked=$((asked + 1))
		read -r verdict _ <<< "${now[$kernel/$folder]:-$(kept "$kernel" "$folder")}"
		if [ "$verdict" = green ]; then
			good=$((good + 1))
		else
			status=1
			[ "$verdict" != bad ] || failures "$kernel" "$folder"
		fi
	done
done
printf '%d of %d cells are green\n' $good $asked
exit $status
