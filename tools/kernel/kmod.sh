#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Builds roost.ko for one kernel, or the module with its KUnit tests.
#
#   tools/kernel/kmod.sh --kver NAME|RELEASE [--kunit] [--build DIR] [MAKE_ARG...]
#   tools/kernel/kmod.sh --kdir HEADERS      [--kunit] [--build DIR] [MAKE_ARG...]
#
# NAME is one of kernel.sh's; RELEASE means installed headers, found through
# /lib/modules. The sources are mirrored to DIR/RELEASE/src (DIR is build/), since
# 6.1's kbuild writes objects beside the sources and several kernels' builds live
# side by side; the result is DIR/RELEASE/roost.ko. With --kunit it is
# DIR/RELEASE/roost_kunit.ko, built in DIR/RELEASE/kunit, so that neither build
# touches the other's. Prints that path. What kbuild says goes to standard error.

set -eu
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

kver='' kdir='' build=$ROOST_TOP/build name=roost tree=src kunit=''
while [ $# -gt 0 ]; do
	case $1 in
	-h|--help)	usage; exit 0 ;;
	--kver|--kdir|--build)
		[ -n "${2:-}" ] || die "$1 wants a value" ;;&
	--kver)		kver=$2; shift 2 ;;
	--kdir)		kdir=$2; shift 2 ;;
	--build)	build=$(realpath -m -- "$2"); shift 2 ;;
	--kunit)	name=roost_kunit tree=kunit kunit=1; shift ;;
	*)		break ;;
	esac
done

# headers_of NAME: the folder to build against.
headers_of()
{
	case " $KERNEL_NAMES " in
	*" $1 "*)
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
		--exclude='*.a' --exclude='*.mod' --exclude='*.mod.c' --exclude='*.gcno' \
		--exclude=modules.order --exclude=Module.symvers \
		"${from[@]}" "$1/"
}

[ -n "$kdir" ] || kdir=$(headers_of "$kver")
[ -f "$kdir/Makefile" ] || die "no kernel headers in '$kdir'"
# what uname -r will say; kernel.release of Debian's headers is a different one
release=$(sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' \
	"$kdir/include/generated/utsrelease.h")
[ -n "$release" ] || die "no release in '$kdir'"

src=$build/$release/$tree
mkdir -p "$src"
exec 9>"$build/$release/.lock"
flock 9
mirror "$src"
# A top Kbuild descends into kmod/; without it kmod/ is built by itself.
[ -f "$src/Kbuild" ] || src=$src/kmod
make --no-print-directory -C "$kdir" M="$src" ROOST_KUNIT=$kunit "$@" modules \
	>&2 9>&- || die "$name.ko does not build for $release"

ko=$(find "$build/$release/$tree" -name "$name.ko" | head -n 1)
[ -n "$ko" ] || die "kbuild made no $name.ko for $release"
cp -p "$ko" "$build/$release/$name.ko"
printf '%s\n' "$build/$release/$name.ko"
