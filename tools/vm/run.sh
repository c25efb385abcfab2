#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Runs one command in a virtual machine with roost.ko loaded.

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"
# shellcheck source=tools/vm/initramfs.sh
. "$ROOST_TOP/tools/vm/initramfs.sh"
# shellcheck source=tools/vm/accel.sh
. "$ROOST_TOP/tools/vm/accel.sh"

usage()
{
	cat <<'END'
usage: tools/vm/run.sh [options] -- CMD [ARG...]
       tools/vm/run.sh [options] --shell

Boots a kernel in QEMU, loads roost.ko, runs CMD in /roost, unloads the module.

  --kernel NAME         6.1, 6.12, 6.1-rt, 6.12-rt, 6.1-debug, 6.12-debug,
                        6.12-kcsan, 7.2 (default 6.12); see tools/kernel/kernel.sh
  --raw-kernel BZIMAGE  any other kernel; then --ko or --no-module is needed
  --ko KO               this module instead of build/RELEASE/roost.ko
  --no-module           load nothing (an existing roost.ko still lies in /roost)
  --module-args ARGS    parameters for insmod, quoted as for a shell
  --smp N, --mem SIZE   virtual CPUs (2) and memory (2G)
  --packages N          packages that the CPUs are spread over (1)
  --timeout SEC         limit for CMD (300), from its start to the VM's end
  --boot-timeout SEC    limit for the boot (300), of which one more is tried if not
                        even the first process was started
  --file HOST[:GUEST]   copy a file or a folder, with the libraries its programs
                        need; GUEST defaults to the name, in /roost
  --prog NAME           copy a program of this machine's PATH (wrk, strace, bash)
  --env NAME=VALUE      set in CMD's environment
  --out DIR             copy what CMD leaves in the guest's /out to DIR
  --log DIR             keep kernel.log, dmesg.log, output.log, qemu.log in DIR
  --append ARGS         more kernel parameters
  --accel KIND          kvm, tcg, tcg-single, icount (default: kvm if the kernel
                        is seen to boot under it, else tcg)
  --icount              count instructions: --accel icount --smp 1
  --leaks               clear kmemleak before and scan after, if the kernel has it
                        (default for the debug kernels; --no-leaks)
  --shell               an interactive shell instead of CMD

CMD may be a file of this machine (it is copied to /roost), a program of the
guest (busybox, --prog, --file), or a program of this machine's PATH.

The exit code is CMD's, or 125 when the run itself failed: no success token from
the guest within the limit, a fault in the kernel log, a module that does not
load or unload. A kernel fault fails the run even if CMD succeeded.
END
}

# need COUNT OPTION: die unless the option has its argument.
need()
{
	[ "$1" -gt 1 ] || die "$2 needs an argument"
}

kernel=6.12 raw='' ko='' module=1 module_args='' smp=2 packages=1 mem=2G limit=300
boot_limit=300 out='' log='' append='' accel=auto leaks=auto shell=''
files=() progs=() env=()

while [ $# -gt 0 ]; do
	case $1 in
	--no-module)	module='' ;;
	--icount)	accel=icount ;;
	--leaks)	leaks=1 ;;
	--no-leaks)	leaks='' ;;
	--shell)	shell=1 ;;
	-h|--help)	usage; exit 0 ;;
	--)		shift; break ;;
	--kernel|--raw-kernel|--ko|--raw-ko|--module-args|--smp|--packages|--mem|\
	--timeout|\
	--boot-timeout|--file|--prog|--env|--out|--log|--append|--accel)
		need $# "$1"
		case $1 in
		--kernel)	kernel=$2 ;;
		--raw-kernel)	raw=$2 ;;
		--ko|--raw-ko)	ko=$2 ;;
		--module-args)	module_args=$2 ;;
		--smp)		smp=$2 ;;
		--packages)	packages=$2 ;;
		--mem)		mem=$2 ;;
		--timeout)	limit=$2 ;;
		--boot-timeout)	boot_limit=$2 ;;
		--file)		files+=("$2") ;;
		--prog)		progs+=("$2") ;;
		--env)		env+=("$2") ;;
		--out)		out=$2 ;;
		--log)		log=$2 ;;
		--append)	append=$2 ;;
		--accel)	accel=$2 ;;
		esac
		shift
		;;
	--*)		die "unknown option $1 (see --help)" ;;
	*)		break ;;
	esac
	shift
done

[ $# -gt 0 ] || [ -n "$shell" ] || { usage >&2; exit 125; }
case $accel in
auto|kvm|tcg|tcg-single|icount)	;;
*)	die "unknown accelerator $accel (kvm, tcg, tcg-single, icount)" ;;
esac
[ "$accel" != icount ] || smp=1
[[ $smp =~ ^[1-9][0-9]*$ ]] || die "--smp $smp: not a number"
[[ $packages =~ ^[1-9][0-9]*$ ]] || die "--packages $packages: not a number"
[ $((smp % packages)) = 0 ] || die "--packages $packages: $smp CPUs cannot be spread over so many"
for number in "$limit" "$boot_limit"; do
	[[ $number =~ ^[1-9][0-9]*$ ]] || die "limit $number: not a number"
done

work=$(mktemp -d "${TMPDIR:-/tmp}/roost-vm.XXXXXX") || exit 125
keep=''
# shellcheck disable=SC2317 # called by the trap
cleanup()
{
	[ ! -s "$work/pid" ] || kill "$(cat "$work/pid")" 2>/dev/null
	rm -rf "$work/stage" "$work/initrd" "$work/files.tar"
	[ -n "$keep" ] || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 125' INT TERM HUP
stage=$work/stage
logs=${log:-$work}
mkdir -p "$logs" || exit 125

# find_kernel: sets image and ko from the options.
find_kernel()
{
	if [ -n "$raw" ]; then
		image=$raw
		release=$(basename "$raw")
		[ -z "$module" ] || [ -n "$ko" ] ||
			die "--raw-kernel needs --ko or --no-module"
		return
	fi
	image=$("$ROOST_TOP/tools/kernel/kernel.sh" "$kernel" image) || exit 125
	release=$("$ROOST_TOP/tools/kernel/kernel.sh" "$kernel" release)
	[ -z "$ko" ] || return
	ko=$ROOST_TOP/build/$release/roost.ko
	[ -n "$module" ] || { [ -f "$ko" ] || ko=''; return; }
	make -s --no-print-directory -C "$ROOST_TOP" kmod KVER="$kernel" >&2 ||
		die "roost.ko cannot be built for $release"
	[ -f "$ko" ] || die "no $ko"
}

# stage_command CMD ARG...: copies CMD if it is this machine's and writes the
# script that runs it in the guest.
stage_command()
{
	local word=$1 var

	shift
	case $word in
	/roost/*|/usr/bin/*|/bin/*) ;;
	*/*)
		if [ -f "$word" ]; then
			stage_file "$stage" "$word" "${word##*/}"
			word=/roost/${word##*/}
		fi
		;;
	*)
		if [ ! -e "$stage/usr/bin/$word" ] && type -P "$word" >/dev/null; then
			stage_prog "$stage" "$word"
		fi
		;;
	esac
	{
		for var in "${env[@]}"; do
			printf 'export %s=%s\n' "${var%%=*}" "$(sh_quote "${var#*=}")"
		done
		sh_quote "$word" "$@"
	} > "$stage/.vm/cmd"
}

# build_initrd CMD...: everything that the guest gets.
build_initrd()
{
	local item

	stage_base "$stage"
	for item in "${progs[@]}"; do
		stage_prog "$stage" "$item"
	done
	for item in "${files[@]}"; do
		case $item in
		*:*)	stage_file "$stage" "${item%:*}" "${item##*:}" ;;
		*)	stage_file "$stage" "${item%/}" "$(basename "$item")" ;;
		esac
	done
	if [ -n "$ko" ]; then
		[ -f "$ko" ] || die "no module $ko"
		strip --strip-debug -o "$stage/roost/roost.ko" "$ko" ||
			die "strip failed"
	fi
	if [ -n "$shell" ]; then
		for item in "${env[@]}"; do
			printf 'export %s=%s\n' "${item%%=*}" "$(sh_quote "${item#*=}")"
		done > "$stage/etc/profile"
	else
		stage_command "$@"
	fi
	{
		printf 'NONCE=%s\n' "$nonce"
		printf 'MODULE=%s\n' "$module"
		printf 'MODULE_ARGS=%s\n' "$(sh_quote "$module_args")"
		printf 'LEAKS=%s\n' "$leaks"
		printf 'INTERACTIVE=%s\n' "$shell"
		printf 'ROWS=%s\nCOLS=%s\n' "${LINES:-$(tput lines 2>/dev/null || echo 25)}" \
			"${COLUMNS:-$(tput cols 2>/dev/null || echo 80)}"
	} > "$stage/.vm/conf"
	pack "$stage" > "$work/initrd"
	rm -rf "$stage"
}

# boot: QEMU with ttyS1 on standard input and output.
boot()
{
	local qemu args parameters loglevel=5

	# A warning printed by a timer interrupt ("hrtimer: interrupt took")
	# makes lockdep object to the console's own lock.  What is not printed
	# still stands in the log that is fetched at the end.
	# KCSAN's reports are errors, and so many that the console is no place for them.
	case $kernel in *-debug) loglevel=4 ;; *-kcsan) loglevel=3 ;; esac
	parameters="console=ttyS0 quiet loglevel=$loglevel panic=-1 oops=panic nokaslr"
	parameters+=" mitigations=off tsc=reliable no_timer_check"
	parameters+=" random.trust_cpu=on log_buf_len=8M"
	# an overloaded host must not look like a stalled guest
	parameters+=" rcupdate.rcu_cpu_stall_timeout=120"
	parameters+=" rcupdate.rcu_exp_cpu_stall_timeout=0"
	mapfile -t qemu < <("$ROOST_TOP/tools/vm/qemu.sh")
	[ ${#qemu[@]} -gt 0 ] || die "no QEMU"
	mapfile -t args < <(accel_args "$accel")
	# Each port its own interrupt: ISA lines are edge triggered, and a shared
	# one can lose an edge.
	args+=(
		-nodefaults -no-user-config -display none -no-reboot
		-m "$mem" -smp "$smp,sockets=$packages" -kernel "$image" -initrd "$work/initrd"
		-append "$parameters${append:+ $append}"
		-chardev "file,id=console,path=$logs/kernel.log"
		-chardev "stdio,id=command,signal=off"
		-chardev "file,id=control,path=$work/control"
		-chardev "file,id=files,path=$work/files.tar"
		-device "isa-serial,chardev=console,index=0"
		-device "isa-serial,chardev=command,index=1"
		-device "isa-serial,chardev=control,index=2,irq=6"
		-device "isa-serial,chardev=files,index=3,irq=7"
	)
	# for a profile, say: words for QEMU
	# shellcheck disable=SC2206 # words are meant
	args+=(${QEMU_EXTRA:-})
	if [ -n "$shell" ]; then
		"${qemu[@]}" "${args[@]}" 2>"$logs/qemu.log"
		return
	fi
	# in the background, so that a signal to this script is seen at once
	{
		"${qemu[@]}" "${args[@]}" </dev/null 2>"$logs/qemu.log" &
		echo $! > "$work/pid"
		watch $! &
		wait %1
		rm -f "$work/pid"
	} | tee "$logs/output.log" &
	wait $!
}

# watch PID: end QEMU when the boot or the command takes too long, and say so.
watch()
{
	local start=$SECONDS allowed=$boot_limit what=boot
	local hint='a busy machine? --boot-timeout allows more'

	exec >/dev/null
	while kill -0 "$1" 2>/dev/null; do
		if [ $what = boot ] && grep -q "^$nonce run" "$work/control" 2>/dev/null; then
			what=command start=$SECONDS allowed=$limit
			hint='--timeout allows more'
		fi
		if [ $((SECONDS - start)) -ge "$allowed" ]; then
			echo "no end of the $what within $allowed s ($hint)" > "$work/limit"
			kill -KILL "$1"
		fi
		sleep 0.3
	done
}

# not_begun: did a kernel with nothing to report not even come to its first process?
not_begun()
{
	[ -s "$work/limit" ] && ! grep -q "^$nonce" "$work/control" &&
		"$ROOST_TOP/tools/vm/klog.sh" "$logs/kernel.log" >/dev/null
}

# trouble MESSAGE: the run failed; show where to look.
trouble()
{
	local file

	say "FAILED: $1"
	for file in kernel.log qemu.log; do
		[ -s "$logs/$file" ] || continue
		say "the end of $file:"
		tail -n 40 "$logs/$file" | tr -d '\r' | sed 's/^/  | /' >&2
	done
	keep=1
	say "logs are in $logs"
	exit 125
}

# fetch_files: unpack what the guest sent.
fetch_files()
{
	mkdir -p "$work/files"
	tar -xf "$work/files.tar" -C "$work/files" --no-same-owner ||
		trouble "the guest's files did not arrive whole"
	mv "$work/files/.vm/logs/dmesg.log" "$logs/dmesg.log"
	if [ -n "$out" ]; then
		mkdir -p "$out" || die "cannot make $out"
		cp -R "$work/files/out/." "$out/" || die "cannot write $out"
	fi
}

find_kernel
[ "$leaks" != auto ] || case $kernel in *-debug) leaks=1 ;; *) leaks='' ;; esac
wanted=$accel
if [ "$accel" = auto ]; then
	accel=tcg
	if [ -n "$raw" ]; then
		accel_kvm_works "$release" --raw-kernel "$raw" && accel=kvm
	else
		accel_kvm_works "$release" --kernel "$kernel" && accel=kvm
	fi
fi
nonce=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
build_initrd "$@"
boot
# Where nothing had begun yet, nothing that is tested can be at fault. Once more, then,
# and on no hypervisor that was only thought to work.
if [ -z "$shell" ] && not_begun; then
	say "$(cat "$work/limit"), and its first process was not started: once more"
	rm "$work/limit"
	[ "$wanted" != auto ] || accel=tcg
	boot
fi

# check_log FILE: print what a kernel log reports, in its context.
check_log()
{
	faults=$("$ROOST_TOP/tools/vm/klog.sh" "$1") && return
	say "the kernel log reports:"
	printf '%s\n' "$faults" | sed 's/^/  | /' >&2
	say "from the first on:"
	tr -d '\r' < "$1" | first=$(head -n 1 <<<"$faults") awk '
		index($0, ENVIRON["first"]) { on = 1 }
		on && n++ < 60' | sed 's/^/  | /' >&2
}

# The verdict. Only the token makes a run successful.
faults=''
check_log "$logs/kernel.log"
token=$(sed -n "s/^$nonce end \([0-9][0-9]*\)\r*$/\1/p" "$work/control" 2>/dev/null)
failure=$(sed -n "s/^$nonce fail //p" "$work/control" 2>/dev/null)
if [ -z "$token" ]; then
	if [ -n "$failure" ]; then
		trouble "$failure"
	elif [ -s "$work/limit" ]; then
		trouble "$(cat "$work/limit")"
	else
		trouble "the guest ended without the success token"
	fi
fi
fetch_files
[ -n "$faults" ] || check_log "$logs/dmesg.log"
[ -z "$faults" ] || trouble "kernel fault (the command's exit code was $token)"
exit "$token"
