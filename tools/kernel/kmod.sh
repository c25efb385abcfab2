#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Builds roost.ko for one kernel.
#
#   tools/kernel/kmod.sh --kver NAME|RELEASE [--build DIR] [MAKE_ARG...]
#   tools/kernel/kmod.sh --kdir HEADERS      [--build DIR] [MAKE_ARG...]
#
# NAME is one of kernel.sh's; RELEASE means installed headers, found through
# /lib/modules. The sources are mirrored to DIR/RELEASE/src (DIR is build/), since
# 6.1's kbuild writes objects beside the sources and several kernels' builds live
# side by side; the result is DIR/RELEASE/roost.ko. Prints that path. What kbuild
# says goes to standard error.

set -eu
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

kver='' kdir='' build=$ROOST_TOP/build
while [ $# -gt 0 ]; do
	case $1 in
	-h|--help)	usage; exit 0 ;;
	--kver|--kdir|--build)
		[ -n "${2:-}" ] || die "$1 wants a value" ;;&
	--kver)		kver=$2; shift 2 ;;
	--kdir)		kdir=$2; shift 2 ;;
	--build)	build=$2; shift 2 ;;
	*)		break ;;
	esac
done

# headers_of NAME: the folder to build against.
headers_of()
{
	case $1 in
	6.1|6.12|*-rt|*-debug)
		"$ROOST_TOP/tools/kernel/kernel.sh" "$1" headers ;;
	*)
		[ -e "/lib/modules/$1/build" ] ||
			die "no headers for $1 in /lib/modules: install linux-headers-$1, or name their folder (KDIR=)"
		readlink -f "/lib/modules/$1/build" ;;
	esac
}

# mirror TARGET: copy changed sources, drop vanished ones, keep kbuild's files.
mirror()
{
	local from=() path

	for path in Kbuild VERSION kmod include; do
		[ ! -e "$ROOST_TOP/$path" ] || from+=("$ROOST_TOP/$path")
	done
	rsync -a --delete --exclude='.*' --exclude='*.o' --exclude='*.ko' \
		--exclude='*.a' --exclude='*.mod' --exclude='*.mod.c' \
		--exclude=modules.order --exclude=Module.symvers \
		"${from[@]}" "$1/"
}

[ -n "$kdir" ] || kdir=$(headers_of "$kver")
[ -f "$kdir/Makefile" ] || die "no kernel headers in '$kdir'"
# what uname -r will say; kernel.release of Debian's headers is a different one
release=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' \
	"$kdir/include/generated/utsrelease.h")
[ -n "$release" ] || die "no release in '$kdir'"

src=$build/$release/src
mkdir -p "$src"
exec 9>"$build/$release/.lock"
flock 9
mirror "$src"
# A top Kbuild descends into kmod/; without it kmod/ is built by itself.
[ -f "$src/Kbuild" ] || src=$src/kmod
make --no-print-directory -C "$kdir" M="$src" "$@" modules >&2 9>&- ||
	die "roost.ko does not build for $release"

ko=$(find "$build/$release/src" -name roost.ko | head -n 1)
[ -n "$ko" ] || die "kbuild made no roost.ko for $release"
cp -p "$ko" "$build/$release/roost.ko"
printf '%s\n' "$build/$release/roost.ko"
