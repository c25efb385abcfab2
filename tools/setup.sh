#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Installs the Debian packages that a purpose needs and that are missing.
#
#   tools/setup.sh build|vm|kernel|compat|check|aarch64|demo|bench|packages|all...
#
# Names what it is about to install; does nothing, quickly, when all is there.
# Kernel images and headers are no part of this: tools/kernel/kernel.sh unpacks
# them into the cache, since their own installation builds an initramfs and
# touches the boot loader.

set -eu
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

# packages_for PURPOSE: one package a line.
packages_for()
{
	case $1 in
	build)
		# what linux-kbuild-6.12 depends on, like libelf1
		printf '%s\n' pahole
		# module (kbuild of both kernels), library, tools
		printf '%s\n' gcc gcc-12 make libc6-dev libelf1 rsync kmod \
			pkg-config xz-utils libnl-genl-3-dev
		;;
	vm)
		printf '%s\n' qemu-system-x86 seabios busybox-static cpio kmod \
			strace util-linux
		packages_for build
		;;
	kernel)
		# building the debugging kernel
		printf '%s\n' flex bison bc libelf-dev libssl-dev dwarves \
			python3 cpio
		packages_for build
		;;
	compat)
		# 32-bit test programs; gcc-multilib would bar the cross compilers
		printf '%s\n' lib32gcc-12-dev libc6-dev-i386
		;;
	check)
		printf '%s\n' sparse clang perl python3 git shellcheck gdb valgrind spin
		packages_for vm
		packages_for compat
		;;
	aarch64)
		# the library for another CPU, and an emulator for its programs
		printf '%s\n' gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
			qemu-user
		packages_for build
		;;
	demo)
		printf '%s\n' wrk python3
		packages_for vm
		;;
	bench)
		printf '%s\n' liburing-dev
		# whom sched.sh compares with
		printf '%s\n' libboost-context-dev golang-go valgrind
		packages_for vm
		;;
	packages)
		# building the Debian packages and trying them
		printf '%s\n' dpkg-dev debhelper dh-dkms fakeroot lintian \
			libnl-genl-3-dev pkg-config mmdebstrap git util-linux
		packages_for vm
		;;
	all)
		packages_for kernel
		packages_for check
		packages_for aarch64
		packages_for demo
		packages_for bench
		packages_for packages
		;;
	*)
		die "unknown purpose '$1' (build, vm, kernel, compat, check, aarch64, demo, bench, packages, all)"
		;;
	esac
}

[ $# -gt 0 ] || die "usage: tools/setup.sh build|vm|kernel|compat|check|aarch64|demo|bench|packages|all..."

case $1 in
-h|--help)	usage; exit 0 ;;
esac
for purpose in "$@"; do
	packages_for "$purpose" >/dev/null
done
wanted=$(for purpose in "$@"; do packages_for "$purpose"; done | sort -u)
# shellcheck disable=SC2086 # a list of words is meant
installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' $wanted \
	2>/dev/null | sed -n 's/^.i *//p' | sort -u)
missing=$(comm -23 <(printf '%s\n' "$wanted") <(printf '%s\n' "$installed"))
[ -n "$missing" ] || exit 0

say "installing:" "${missing//$'\n'/ }"
apt_update_once
# shellcheck disable=SC2086
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
	--no-install-recommends $missing >&2 || die "apt-get install failed"
