# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Sourced by run.sh: which accelerator to use. That /dev/kvm opens does not mean
# that a guest gets anywhere under it, so KVM is used only when the very kernel
# has been seen to reach the token under it since this host was booted.

# accel_probe KERNEL_ARGS...: does that kernel boot under KVM within 10 s?
accel_probe()
{
	"$ROOST_TOP/tools/vm/run.sh" --accel kvm --boot-timeout 10 --timeout 5 \
		--no-module "$@" -- true >/dev/null 2>&1
}

# accel_kvm_works RELEASE KERNEL_ARGS...: the probe's answer, remembered.
accel_kvm_works()
{
	local boot record

	[ -r /dev/kvm ] && [ -w /dev/kvm ] || return 1
	boot=$(cat /proc/sys/kernel/random/boot_id)
	record=$ROOST_CACHE/vm/kvm-$boot-$1
	shift
	mkdir -p "$ROOST_CACHE/vm"
	(
		flock 8
		[ -s "$record" ] && exit 0
		find "$ROOST_CACHE/vm" -name 'kvm-*' ! -name "kvm-$boot-*" -delete
		if accel_probe "$@"; then
			echo yes > "$record"
		else
			echo no > "$record"
		fi
	) 8>"$ROOST_CACHE/vm/probe.lock"
	[ "$(cat "$record")" = yes ]
}

# accel_args CHOICE: QEMU's arguments for kvm, tcg, tcg-single or icount.
accel_args()
{
	case $1 in
	kvm)		printf '%s\n' -accel kvm -cpu host ;;
	tcg)		printf '%s\n' -accel tcg,thread=multi -cpu max ;;
	tcg-single)	printf '%s\n' -accel tcg,thread=single -cpu max ;;
	icount)		printf '%s\n' -accel tcg,thread=single -cpu max \
				-icount shift=0,sleep=off ;;
	*)		die "unknown accelerator $1" ;;
	esac
}
