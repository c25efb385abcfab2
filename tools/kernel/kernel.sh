#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Resolves a kernel's short name to an image and headers, fetching what is missing.
#
#   tools/kernel/kernel.sh [--refresh] NAME [FIELD]
#
# NAME is 6.1, 6.12, 6.1-rt, 6.12-rt (Debian's packages) or 6.1-debug, 6.12-debug,
# 6.12-kcsan, 7.2 (built here from linux-source-*, see build.sh). FIELD is one of
#
#   release  what uname -r says           image    path of the bzImage
#   version  the package's version        headers  path to give to kbuild as KDIR
#   modules  path of lib/modules/RELEASE
#
# and without it all five are printed as NAME=value lines for a shell. Everything
# lies in $ROOST_CACHE/kernels; image and headers come from one version of one
# source package, so that they match exactly. A name stays with the version that
# was fetched first; --refresh asks the archive again.

set -eu
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

store=$ROOST_CACHE/kernels

# concrete META: the one package that a meta package depends on.
concrete()
{
	apt-cache depends --important "$1" 2>/dev/null |
		sed -n 's/^ *Depends: \(linux-[a-z]*-[0-9][^ ]*\)$/\1/p' | head -n 1
}

# candidate PACKAGE: the version that the archive has.
candidate()
{
	apt-cache policy "$1" | sed -n 's/^ *Candidate: //p'
}

# get DIR PACKAGE...: download packages and unpack them, postinst never run.
get()
{
	local dir=$1 deb
	local opts=()

	shift
	# root's files are out of reach for apt's own sandbox user
	[ "$(id -u)" = 0 ] && opts=(-o APT::Sandbox::User=root)
	mkdir -p "$dir/deb"
	(cd "$dir/deb" && apt-get "${opts[@]}" -qq download "$@") >&2 || return 1
	for deb in "$dir"/deb/*.deb; do
		dpkg-deb -x "$deb" "$dir" || return 1
	done
	rm -rf "$dir/deb"
}

# relocate DIR RELEASE FINAL: let the headers unpacked in DIR, which will be
# called FINAL, find each other there instead of in /usr/src.
relocate()
{
	local top=$1/usr/src/linux-headers-$2

	sed -i "s|^include /usr/src/|include $3/usr/src/|" "$top/Makefile"
	# the links scripts and tools say ../../lib: right below usr/ as well
	[ -e "$top/scripts/basic/fixdep" ] || die "no kbuild tools under $top"
}

# fetch NAME: download image and headers of NAME, write its record.
fetch()
{
	local name=$1 flavour meta image release version common kbuild dir final

	case $name in
	6.1)	meta=linux-image-amd64 ;;
	6.1-rt)	meta=linux-image-rt-amd64 ;;
	*)	meta=linux-image-$name-amd64 ;;
	esac
	flavour=
	[ "$name" = "${name%-rt}" ] || flavour=-rt

	image=$(concrete "$meta")
	[ -n "$image" ] || return 1
	release=${image#linux-image-}
	version=$(candidate "$image")
	common=linux-headers-${release%-amd64}
	common=${common%-rt}-common$flavour
	kbuild=$(apt-cache depends "linux-headers-$release" |
		sed -n 's/^ *Depends: \(linux-kbuild-[^ ]*\)$/\1/p' | head -n 1)
	[ -n "$kbuild" ] || return 1

	# no '=' in the name: make would take it for an assignment
	final=$store/debian/${release}_$version
	if [ ! -d "$final" ]; then
		dir=$final.new
		say "fetching kernel $release ($version)"
		rm -rf "$dir"
		get "$dir" "$image=$version" "linux-headers-$release=$version" \
			"$common=$version" "$kbuild=$version" || return 1
		relocate "$dir" "$release" "$final"
		mv "$dir" "$final"
	fi
	record "$name" "$release" "$version" "$final/boot/vmlinuz-$release" \
		"$final/usr/src/linux-headers-$release" "$final/lib/modules/$release"
}

# record NAME RELEASE VERSION IMAGE HEADERS MODULES: remember the resolution.
record()
{
	[ -f "$4" ] || die "no kernel image $4"
	[ -f "$5/Makefile" ] || die "no kernel headers $5"
	printf 'release=%q\nversion=%q\nimage=%q\nheaders=%q\nmodules=%q\n' \
		"$2" "$3" "$4" "$5" "$6" > "$store/$1.env.new"
	mv "$store/$1.env.new" "$store/$1.env"
}

# resolve NAME: make sure that NAME's record exists and is good.
resolve()
{
	local name=$1

	if built_kernel "$name"; then
		# quick when it is there, and notices a changed configuration
		"$ROOST_TOP/tools/kernel/build.sh" "$name" > \
			"$store/$name.env.new" || die "no kernel $name"
		mv "$store/$name.env.new" "$store/$name.env"
		# shellcheck disable=SC1090 # written by build.sh
		. "$store/$name.env"
		return
	fi
	if [ -z "$refresh" ] && [ -f "$store/$name.env" ]; then
		# shellcheck disable=SC1090 # written by record()
		. "$store/$name.env"
		if [ -f "$image" ] && [ -f "$headers/Makefile" ]; then
			return
		fi
	fi
	[ -z "$refresh" ] || apt_update_once
	# lists that are missing or older than the archive: ask once more
	fetch "$name" || { apt_update_once; fetch "$name"; } ||
		die "cannot fetch kernel $name"
	# shellcheck disable=SC1090
	. "$store/$name.env"
}

refresh=
if [ "${1:-}" = --refresh ]; then
	refresh=1
	shift
fi
name=${1:-}
case $name in
-h|--help)	usage; exit 0 ;;
esac
known_kernels "$name"
case ${2:-} in
''|release|version|image|headers|modules)	;;
*)	die "unknown field $2" ;;
esac

writable "$store" ROOST_CACHE
exec 9>"$store/$name.lock"
flock 9
# shellcheck disable=SC2034 # read by name below
release='' version='' image='' headers='' modules=''
resolve "$name"
if [ -z "${2:-}" ]; then
	cat "$store/$name.env"
else
	printf '%s\n' "${!2}"
fi
