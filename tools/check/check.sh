#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Runs all tests: on this machine, then in VMs for each kernel that $CHECK_KERNELS
# names (6.1 6.12-rt): those of the device and of the library; the stress; those of the
# library once more, with a module that takes workers away from who blocks (carriers=1;
# what needs that must not be skipped there, ROOST_TAKEOVER=must); the module's own.  Two
# kernels side by side.  On the debugging kernel $CHECK_DEBUG (6.1-debug; none if empty)
# only the KUnit suites and the tests that are short are run; one that $CHECK_KERNELS
# names gets them all.  The library's tests are also compiled for aarch64, and run by an
# emulator; and with the sanitizers $CHECK_TOOLS (asan tsan; none if empty).  In VMs they
# do a $CHECK_SLOW-th (4) of the rounds that they do here, for aarch64 a fourth of that,
# with sanitizers a fortieth; on kernels with checkers a tenth, and so do those of the
# device.
#
#   tools/check/check.sh [--static] [--host-only | --vm-only] [--only PATTERN]...
#
# --static adds the static checks; --only takes a shell pattern for paths like
# selftests/uapi/park_test, and may be said more than once.  With $CHECK_MODULES the
# modules are built in that folder instead of build/, with $CHECK_KBUILD as arguments to
# make, and what the guests leave in /out is copied to folders KERNEL-BOOT in $CHECK_OUT
# (see coverage.sh). What is a test is a matter of place and name:
#
#   selftests/unit/*_test     this machine
#   selftests/runtime/*_test  this machine, and the VMs with ROOST_BACKEND=kernel;
#                             for aarch64 called aarch64/selftests/runtime/*_test, with
#                             sanitizers asan/ and tsan/selftests/runtime/*_test
#   selftests/httpd/*_test    this machine, and the VM with ROOST_BACKEND=kernel
#   selftests/bench/*_test    this machine
#   selftests/gdb/*_test      this machine
#   selftests/trace/*_test    this machine
#   selftests/models/*_test   this machine
#   selftests/packaging/install.sh   this machine
#   selftests/uapi/*_test     VM
#   selftests/stress/lib_*    this machine, and the VMs (executables)
#   selftests/compat/*_test   VM
#   selftests/netlink/*_test  VM
#   selftests/stress/*        VM, a boot of its own (executables)
#   selftests/module/*.sh     VM, last boot; the module lies in /roost/roost.ko
#   selftests/kunit/*.sh      VM, last boot, of kernels that are built here
#
# A file `settings` in the folder may say timeout=SECONDS for each program there,
# and short=NAMES of those that are short.
# The last line is "N passed, N failed, N skipped".

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"
# shellcheck source=tools/check/results.sh
. "$ROOST_TOP/tools/check/results.sh"
# shellcheck source=tools/check/ways.sh
. "$ROOST_TOP/tools/check/ways.sh"

kernels=${CHECK_KERNELS:-6.1 6.12-rt}
debug=${CHECK_DEBUG-6.1-debug}
case " $kernels " in *" $debug "*) debug='' ;; esac
modules=${CHECK_MODULES:-$ROOST_TOP/build} out=${CHECK_OUT:-}
read -ra kbuild <<< "${CHECK_KBUILD:-}"
# Which part of the rounds tests do with tools, beside the tenth that they do anyway.
TOOLS_SLOW=4
# For the shells that xargs starts.
export -f run_in_way folder_of
static='' host=1 vm=1 only=()
while [ $# -gt 0 ]; do
	case $1 in
	--static)	static=1 ;;
	--host-only)	vm='' ;;
	--vm-only)	host='' ;;
	--only)		only+=("${2:?--only wants a pattern}"); shift ;;
	-h|--help)	usage; exit 0 ;;
	*)		die "unknown argument $1" ;;
	esac
	shift
done
[ ${#only[@]} -gt 0 ] || only=('*')

# shellcheck disable=SC2086 # lists of words
known_kernels $kernels $debug
cd "$ROOST_TOP" || exit 125
work=$ROOST_TOP/build/check
writable build
exec 7>build/check.lock
# a second run at the same time gets a folder of its own
flock -n 7 || work+=-$$
find build -maxdepth 1 -name 'check-*' -mmin +600 -exec rm -rf {} +
rm -rf "$work"
mkdir -p "$work"
results=$work/results
times=$work/seconds
: > "$results"

# step NAME CMD...: something without which no test can run.
step()
{
	local name=$1 log=$work/${1// /-}.log

	shift
	printf '== %s\n' "$name"
	"$@" >"$log" 2>&1 </dev/null || {
		record "$name" 1 "$log"
		summary
		exit 1
	}
}

# limit_of PATH FACTOR: seconds that a test program may take.
limit_of()
{
	local limit

	limit=$(sed -n 's/^timeout=\([0-9]*\)$/\1/p' "${1%/*}/settings" 2>/dev/null)
	echo $((${limit:-120} * $2))
}

# wanted PATH: does --only name it?
wanted()
{
	local pattern

	for pattern in "${only[@]}"; do
		# shellcheck disable=SC2053 # a pattern is meant
		[[ $1 != $pattern ]] || return 0
	done
	return 1
}

# tests_in FOLDER PATTERN...: the executables there, as paths below the top.
tests_in()
{
	local folder=selftests/$1 pattern path

	shift
	[ -d "$folder" ] || return 0
	for pattern in "$@"; do
		find "$folder" -maxdepth 1 -type f -perm /111 -name "$pattern" \
			! -name '*.so*'
	done | sort | while read -r path; do
		! wanted "$path" || printf '%s\n' "$path"
	done
}

# took WHAT SECONDS: remember how long a test program ran.
took()
{
	printf '%5d s  %s\n' "$2" "$1" >> "$times"
}

# run_here PATH: one test program on this machine.
run_here()
{
	local path=$1 log=$work/${1//\//_}.host.log rc start=$SECONDS

	(
		cd "$(dirname "$path")" &&
		exec timeout -k 5 "$(limit_of "$ROOST_TOP/$path" 1)" \
			"./$(basename "$path")"
	) >"$log" 2>&1 </dev/null
	rc=$?
	took "host/$path" $((SECONDS - start))
	record "host/$path" $rc "$log" "$(needs_tap "$path")"
}

# library_tests WAY: the library's tests that are wanted as WAY/..., as paths below the top.
library_tests()
{
	local source path

	for source in selftests/runtime/*_test.c; do
		path=${source%.c}
		! wanted "$1/$path" || printf '%s\n' "$path"
	done
}

# run_way WAY PROGRAM...
run_way()
{
	local way=$1 logs=$work/$1 slow=$TOOLS_SLOW program seconds

	shift
	mkdir -p "$logs"
	[ "$way" != aarch64 ] || slow=$((4 * ${CHECK_SLOW:-4}))
	# each is slow by itself, and most of them wait most of the time
	printf '%s\n' "$@" | ROOST_SLOW=$slow xargs -P 2 -I {} bash -c \
		'run_in_way "$@"' - "$way" {} "$logs" 600
	for program in "$@"; do
		read -r _ seconds < "$logs/$program.rc"
		took "$way/selftests/runtime/$program" "$seconds"
		record_in_way "$way" "$program" "$logs"
	done
}

# needs_tap PATH: "yes" for programs; scripts may speak by exit code alone.
needs_tap()
{
	case $1 in
	*_test)	echo yes ;;
	esac
}

# run_vm KERNEL NAME RUN_ARGS... < LIST: the listed tests in one boot.
run_vm()
{
	local kernel=$1 name=$2 list dir path rc seconds factor=1 label=$1 packages=1
	local release slow=${CHECK_SLOW:-4} slow_kernel=1 variable

	shift 2
	release=$(tools/kernel/kernel.sh "$kernel" release) || exit 1
	dir=$work/vm-$kernel-$name
	mkdir -p "$dir/logs"
	mapfile -t list < <(grep .)
	[ ${#list[@]} -gt 0 ] || return 0
	# the checkers of the debug kernels make everything slow
	if checked_kernel "$kernel"; then
		factor=4 slow=${CHECK_SLOW:-10}
		slow_kernel=$slow
	fi
	# one kernel of each kind sees CPUs that share no cache
	case $kernel in 6.12*) packages=2 ;; esac
	# a second time, in another way
	case $name in carriers) label=$kernel-carriers ;; esac

	# in which way the library works, if somebody has said so (library.sh)
	for variable in ROOST_RUNQ ROOST_WAKE_SLOT ROOST_WORKERS; do
		[ -z "${!variable:-}" ] || set -- --env "$variable=${!variable}" "$@"
	done

	rsync -a --exclude='*.[chodS]' --exclude=Makefile selftests "$dir/"
	seconds=120
	for path in "${list[@]}"; do
		printf '%s %s\n' "$path" "$(limit_of "$path" $factor)"
		seconds=$((seconds + $(limit_of "$path" $factor)))
	done > "$dir/tests"
	[ $seconds -lt $((1800 * factor)) ] || seconds=$((1800 * factor))

	printf '== %s tests in a VM with %s\n' "$name" "$kernel"
	tools/vm/run.sh --kernel "$kernel" --smp 2 --packages $packages \
		--mem 3G --boot-timeout $((300 * factor)) --timeout $seconds \
		--env ROOST_SLOW="$slow" --env ROOST_SLOW_KERNEL="$slow_kernel" \
		--env ROOST_SHORT="${short-}" \
		--ko "$modules/$release/roost.ko" ${out:+--out "$out/$kernel-$name"} \
		--log "$dir/logs" --file "$dir/selftests" --file "$dir/tests" \
		--file tools/examples:tools/examples \
		--file tools/roostctl/roostctl:tools/roostctl/roostctl \
		--file tools/check/guest.sh "$@" \
		-- /roost/guest.sh >"$dir/output" 2>"$dir/runner" </dev/null
	rc=$?
	for path in "${list[@]}"; do
		report "$label" "$dir" "$path"
	done
	record "$kernel/$name: kernel log, module unload" $rc "$dir/runner"
}

# report LABEL DIR PATH: cut one test's output out of the VM's and judge it.
report()
{
	local log=$2/${3//\//_}.log rc seconds

	tr -d '\r' < "$2/output" | awk -v path="$3" '
		$1 == "@@roost" && $3 == path { on = $2 == "begin"; next }
		on' > "$log"
	read -r rc seconds <<< "$(tr -d '\r' < "$2/output" |
		sed -n "s|^@@roost end $3 ||p" | tail -n 1)"
	if [ -z "$rc" ]; then
		printf 'not ok - the VM ended before this test did%s\n' \
			"$(sed -n 's/^run.sh: FAILED:/:/p;T;q' "$2/runner")" >> "$log"
		rc=1
	else
		took "$1/$3" "$seconds"
	fi
	record "$1/$3" "$rc" "$log" "$(needs_tap "$3")"
}

# named_in FOLDER NAME...: as tests_in(), of what has to be there.
named_in()
{
	local folder=$1 name

	shift
	for name in "$@"; do
		[ -x "selftests/$folder/$name" ] ||
			die "there is no selftests/$folder/$name"
		tests_in "$folder" "$name"
	done
}

# short_in FOLDER PATTERN: those of them that the folder's settings call short.
short_in()
{
	local names

	names=$(sed -n 's/^short=//p' "selftests/$1/settings" 2>/dev/null)
	# shellcheck disable=SC2086 # a list of words
	named_in "$1" $names
}

# alone CMD...: with no other such command beside it. Threads that meet each other all the
# time get nowhere if the CPUs that they are on take turns with others'.
alone()
{
	(
		flock 5
		"$@" 5>&-
	) 5>>"$work/alone.lock"
}

# The lists are made first: what is wrong with one ends it all.

# device_list CHOOSE
device_list()
{
	$1 uapi '*_test'
	$1 compat '*_test'
	$1 netlink '*_test'
	$1 runtime '*_test'
	$1 httpd '*_test'
}

# device_tests KERNEL CHOOSE
device_tests()
{
	local list

	list=$(device_list "$2") || exit 1
	run_vm "$1" device --env ROOST_BACKEND=kernel <<< "$list"
}

# stress_tests KERNEL CHOOSE
stress_tests()
{
	local list

	list=$($2 stress '*') || exit 1
	alone run_vm "$1" stress --env ROOST_BACKEND=kernel <<< "$list"
}

carriers_list()
{
	tests_in runtime '*_test'
	named_in stress lib_invariant_test lib_io_test lib_meet_test lib_parkwake_test
}

# carriers_tests KERNEL CHOOSE: all, whatever that says
carriers_tests()
{
	local list

	list=$(carriers_list) || exit 1
	alone run_vm "$1" carriers --env ROOST_BACKEND=kernel \
		--env ROOST_TAKEOVER=must --module-args carriers=1 <<< "$list"
}

# module_tests KERNEL CHOOSE
module_tests()
{
	local kunit=() release list

	list=$($2 module '*.sh') || exit 1
	if built_kernel "$1"; then
		release=$(tools/kernel/kernel.sh "$1" release) || exit 1
		kunit=(--file "$modules/$release/roost_kunit.ko"
			--file kmod/tests:kmod/tests --env ROOST_TESTS=/roost/kmod/tests)
		list=$(tests_in kunit '*.sh')$'\n'$list
	fi
	run_vm "$1" module --no-module "${kunit[@]}" <<< "$list"
}

# vm_tests KERNEL [short]: all boots, with all tests or the short ones; in an order such
# that what has to be alone does not wait for the same of another kernel for long.
vm_tests()
{
	local choose=tests_in boot order='device stress module carriers'
	# for run_vm(): some tests have a course that is short
	local short=${2:+1}

	[ "$1" != "${kernels%% *}" ] || order='stress device carriers module'
	if [ -n "${2:-}" ]; then
		choose=short_in
		order=${order/carriers/}
	fi
	for boot in $order; do
		"${boot}_tests" "$1" "$choose"
	done
}

# What runs in the background, each in a process group of its own: a group that is
# none would not hear of an interrupt, and go on.
background=()

in_background()
{
	set -m
	"$@" &
	background+=($!)
	set +m
}

# shellcheck disable=SC2317 # called by the trap
stop()
{
	local leader

	trap - INT TERM HUP
	for leader in "${background[@]}"; do
		kill -TERM -- "-$leader" 2>/dev/null
	done
	exit 125
}
trap stop INT TERM HUP

static_checks()
{
	tools/check/static.sh > "$work/static.log" 2>&1 </dev/null
}

# beside NAME CMD...: beside others, with files of its own for what there is to report.
beside()
{
	results+=-$1
	times+=-$1
	: > "$results"
	shift
	"$@"
	printf 'complete\n' >> "$results"
}

# collect NAME: what beside() has reported, if it has come to its end.
collect()
{
	if [ "$(tail -n 1 "$results-$1")" = complete ]; then
		sed '$d' "$results-$1" >> "$results"
	else
		printf 'it ended early\n' > "$work/$1.log"
		cat "$results-$1" >> "$results"
		record "tests in VMs with $1" 1 "$work/$1.log"
	fi
	[ ! -s "$times-$1" ] || cat "$times-$1" >> "$times"
}

start=$SECONDS
step 'packages' tools/setup.sh check demo bench
step 'library, examples and test programs' make selftests
ways=''
for way in aarch64 ${CHECK_TOOLS-asan tsan}; do
	[ -n "$host" ] && [ -n "$(library_tests "$way")" ] || continue
	ways+=" $way"
	args=(SAN="$(sanitizer_of "$way")")
	if [ "$way" = aarch64 ]; then
		step 'packages for aarch64' tools/setup.sh aarch64
		args=(CROSS_COMPILE=aarch64-linux-gnu-)
	fi
	step "library and its tests for $way" make -C selftests/runtime "${args[@]}"
done
if [ -n "$vm" ]; then
	for kernel in $kernels $debug; do
		step "kernel $kernel" tools/kernel/kernel.sh "$kernel"
		step "module for $kernel" tools/kernel/kmod.sh --kver "$kernel" \
			--build "$modules" "${kbuild[@]}"
		! built_kernel "$kernel" ||
			step "KUnit module for $kernel" tools/kernel/kmod.sh \
				--kver "$kernel" --build "$modules" --kunit "${kbuild[@]}"
	done
fi

# Beside the tests on this machine: neither needs more than one CPU.
if [ -n "$static" ]; then
	printf '== static checks, beside what follows\n'
	in_background static_checks
fi
if [ -n "$host" ]; then
	printf '== tests on this machine\n'
	for path in $(tests_in unit '*_test'; tests_in runtime '*_test'
		      tests_in httpd '*_test'; tests_in bench '*_test'
		      tests_in stress 'lib_*_test'
		      tests_in gdb '*_test'; tests_in trace '*_test'
		      tests_in models '*_test'
		      tests_in packaging install.sh); do
		run_here "$path"
	done
fi
for way in $ways; do
	printf '== tests of the library in another way: %s\n' "$way"
	mapfile -t programs < <(library_tests "$way" | sed 's|.*/||')
	run_way "$way" "${programs[@]}"
done
if [ -n "$static" ]; then
	wait "${background[0]}"
	record static $? "$work/static.log" yes
	background=()
fi
if [ -n "$vm" ]; then
	if wanted tools/vm/selftest.sh; then
		printf '== the VM runner\n'
		tools/vm/selftest.sh > "$work/vm-runner.log" 2>&1 </dev/null
		record tools/vm/selftest.sh $? "$work/vm-runner.log" yes
	fi
	# Most of their tests wait most of the time.
	for kernel in $kernels $debug; do
		[ "$(jobs -r | wc -l)" -lt 2 ] || wait -n
		if [ "$kernel" = "$debug" ]; then
			in_background beside "$kernel" vm_tests "$kernel" short
		else
			in_background beside "$kernel" vm_tests "$kernel"
		fi
	done
	wait
	background=()
	for kernel in $kernels $debug; do
		collect "$kernel"
	done
fi
if [ -s "$times" ]; then
	printf '\nThe slowest of those in %s:\n' "$times"
	sort -rn "$times" | head -n 8
fi
printf '\n%d s, logs in %s\n' $((SECONDS - start)) "$work"
[ -s "$results" ] || say "no test was run: does anything match --only '${only[*]}'?"
summary
