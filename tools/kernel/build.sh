#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Builds a kernel from Debian's source package of its series.
#
#   tools/kernel/build.sh SERIES[-FLAVOUR]
#
# The flavours are debug and kcsan; without one the kernel has no checkers. Its
# configuration is tinyconfig and those of these fragments that exist, in config/:
#
#   base              every kernel
#   SERIES            what only that series has, or calls so
#   FLAVOUR, faults   the checkers, and failures on demand
#   SERIES-FLAVOUR    what only this kernel has
#
# Prints the record that kernel.sh keeps of it. The tree lies in the cache under
# a hash of source version and configuration, so that a changed fragment makes a
# new kernel; it stays there as the headers for building the module. Takes ten
# minutes or so on two cores; runs at low priority.

set -eu
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

name=${1:-}
built_kernel "$name" || die "usage: build.sh NAME, one that is built here"
series=${name%%-*}
flavour=
[ "$series" = "$name" ] || flavour=${name#*-}
here=$ROOST_TOP/tools/kernel

# verify CONFIG FRAGMENT...: name each wanted option that .config lacks. An
# option that a dependency took away would otherwise be missed in silence.
verify()
{
	local config=$1 line lost=

	shift
	while read -r line; do
		case $line in
		CONFIG_*=*|'# CONFIG_'*' is not set')
			grep -qxF "$line" "$config" || lost+=" '$line'" ;;
		esac
	done < <(cat "$@")
	[ -z "$lost" ] || die "$name: not in the final .config:$lost"
}

# build TREE: configure and build in the unpacked source. Called where errors do
# not end the shell, so each step says what its failure means.
build()
{
	local make=(make -s ARCH=x86_64 CC=gcc-12 HOSTCC=gcc-12)

	cd "$1" || return 1
	"${make[@]}" tinyconfig >/dev/null || return 1
	cat "${fragments[@]}" >> .config
	printf 'CONFIG_LOCALVERSION="-roost%s"\n' "${flavour:+-$flavour}" >> .config
	"${make[@]}" olddefconfig >/dev/null 2>"$1/config.log" || {
		cat "$1/config.log" >&2
		return 1
	}
	verify .config "${fragments[@]}"
	nice -n 10 "${make[@]}" "-j$(nproc)" bzImage modules || return 1
	# objects are most of the tree and no module build looks at them
	find . -name '*.o' ! -path './scripts/*' ! -path './tools/*' -delete
}

"$ROOST_TOP/tools/setup.sh" kernel
archive=$("$here/source.sh" "$series")
fragments=()
for fragment in base "$series" ${flavour:+"$flavour" faults "$name"}; do
	[ ! -f "$here/config/$fragment.config" ] ||
		fragments+=("$here/config/$fragment.config")
done
hash=$({ stat -c %s "$archive"; grep -h CONFIG_ "${fragments[@]}" | LC_ALL=C sort; } |
	sha256sum | cut -c1-12)
tree=$ROOST_CACHE/kernels/built/$name-$hash

if [ ! -f "$tree/.built" ]; then
	say "building $name (some ten minutes)"
	# a build that was interrupted goes on where it was
	if [ ! -f "$tree/.unpacked" ]; then
		rm -rf "$tree"
		mkdir -p "$tree"
		tar -xJf "$archive" -C "$tree" --strip-components=1
		touch "$tree/.unpacked"
	fi
	(build "$tree") >&2 || die "$name does not build"
	touch "$tree/.built"
	# what this one replaces is of no more use, and large
	find "$ROOST_CACHE/kernels/built" -mindepth 1 -maxdepth 1 \
		-name "$name-????????????" ! -name "$name-$hash" -exec rm -rf {} +
fi
release=$(cat "$tree/include/config/kernel.release")
printf 'release=%q\nversion=%q\nimage=%q\nheaders=%q\nmodules=%q\n' \
	"$release" "$hash" "$tree/arch/x86/boot/bzImage" "$tree" ""
