# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Sourced: the ways in which a test of the library can run on this machine, beside the
# plain one: asan (AddressSanitizer and UBSan), tsan (ThreadSanitizer), valgrind (memcheck),
# aarch64 (compiled for that, and run by an emulator).

# sanitizer_of WAY: as SAN of the Makefiles; nothing if it takes no other programs
sanitizer_of()
{
	case $1 in
	asan)	echo address,undefined ;;
	tsan)	echo thread ;;
	esac
}

# folder_of WAY: where its programs are
folder_of()
{
	case $1 in
	asan)	echo build/selftests-address-undefined ;;
	tsan)	echo build/selftests-thread ;;
	aarch64)	echo build/selftests-aarch64 ;;
	*)	echo selftests/runtime ;;
	esac
}

# run_in_way WAY PROGRAM LOGS LIMIT: it runs in its folder on the futex backend, for LIMIT
# seconds at most.  LOGS is a folder that gets PROGRAM.log, its output; PROGRAM.rc, its exit
# code and how many seconds it took; and PROGRAM.report.*, what the tool has found, in that process or in others of it,
# also in those whose output nobody sees.
run_in_way()
{
	local way=$1 program=$2 logs=$3 limit=$4 under=() options start=$SECONDS rc

	options="log_path='$logs/$program.report':exitcode=99"
	case $way in
	valgrind)
		under=(valgrind --quiet --error-exitcode=99 --num-callers=20
			--log-file="$logs/$program.report.%p" --fair-sched=yes) ;;
	aarch64)
		under=(env ROOST_EMULATED=1 qemu-aarch64 -L /usr/aarch64-linux-gnu) ;;
	esac
	(
		cd "$ROOST_TOP/$(folder_of "$way")" &&
		ASAN_OPTIONS=$options:detect_stack_use_after_return=1 \
		UBSAN_OPTIONS=$options:print_stacktrace=1 TSAN_OPTIONS=$options \
		ROOST_BACKEND=futex \
			exec timeout -k 5 "$limit" "${under[@]}" "./$program"
	) >"$logs/$program.log" 2>"$logs/$program.errors" </dev/null
	rc=$?
	# the emulator's own last words look like those of a test
	sed 's/^/# /' "$logs/$program.errors" >> "$logs/$program.log"
	rm "$logs/$program.errors"
	echo "$rc $((SECONDS - start))" > "$logs/$program.rc"
	# valgrind says, too, which calls it does not know
	[ "$way" != valgrind ] || find "$logs" -name "$program.report.*" -exec sed -i \
		-e '/^--[0-9]*-- /d' -e '/Warning: noted but unhandled ioctl/,+2d' {} +
	# and makes a file even if there is nothing to say
	find "$logs" -name "$program.report.*" -empty -delete
}

# record_in_way WAY PROGRAM LOGS: judge what run_in_way() has left there; for who has
# sourced results.sh
record_in_way()
{
	local name=$1/selftests/runtime/$2 report rc

	# not even begun, if there is none
	read -r rc _ 2>/dev/null < "$3/$2.rc" || rc=127
	[ -e "$3/$2.log" ] || echo 'Bail out! it was not run' > "$3/$2.log"
	record "$name" "$rc" "$3/$2.log" yes
	for report in "$3/$2.report".*; do
		[ ! -e "$report" ] || record "$name: report of the tool" 1 "$report"
	done
}
