#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# `make install` and `make uninstall`, into a folder; programs built from what was
# installed, by pkg-config.

# shellcheck source=selftests/packaging/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC2317 # the tests are called by name
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/VERSION"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
root=$work/root
prefix=/opt/roost
unset MAKEFLAGS MAKELEVEL

# these name a system that is not this one
export PKG_CONFIG_LIBDIR=$root$prefix/lib/pkgconfig
export PKG_CONFIG_SYSROOT_DIR=$root
export LD_LIBRARY_PATH=$root$prefix/lib

run_make()
{
	make -C "$top" "$@" DESTDIR="$root" PREFIX=$prefix
}

soname()
{
	local lib=$root$prefix/lib

	objdump -p "$lib/libroost.so" | grep -E '^ *SONAME *libroost\.so\.0$' &&
		[ "$(readlink "$lib/libroost.so")" = libroost.so.0 ] &&
		[ "$(readlink "$lib/libroost.so.0")" = "libroost.so.$ROOST_VERSION" ] &&
		[ ! -L "$lib/libroost.so.$ROOST_VERSION" ]
}

# Threads, handlers of signals and destructors may be in there: dlclose() leaves it.
stays()
{
	cat > "$work/stays.c" <<-'END'
	#include <dlfcn.h>

	int main(void)
	{
		void *lib = dlopen("libroost.so.0", RTLD_NOW);

		return !lib || dlclose(lib) ||
		       !dlopen("libroost.so.0", RTLD_NOW | RTLD_NOLOAD);
	}
	END
	gcc -Wall -o "$work/stays" "$work/stays.c" && "$work/stays"
}

version()
{
	pkg-config --modversion roost | grep -Fx "$ROOST_VERSION"
}

# build NAME [-static]: the program of the README, as a user does it.
build()
{
	# shellcheck disable=SC2046,SC2086 # words are meant
	gcc -Wall ${2:-} -o "$work/$1" "$work/readme.c" \
		$(pkg-config --cflags --libs ${2:+--static} roost)
}

shared()
{
	build shared && needs_library "$work/shared" && says_hello "$work/shared"
}

static()
{
	build static -static && ! needs_library "$work/static" &&
		says_hello "$work/static"
}

uapi()
{
	uapi_program > "$work/uapi.c"
	gcc -Wall -Werror -o "$work/uapi" -I"$root$prefix/include" "$work/uapi.c" &&
		"$work/uapi"
}

# Each program has its page, each page its program; and they start.
programs()
{
	local page program folder n=0

	for page in "$root$prefix"/share/man/man[18]/*; do
		case $page in
		*.1)	folder=bin ;;
		*)	folder=sbin ;;
		esac
		program=$(basename "${page%.*}")
		[ -x "$root$prefix/$folder/$program" ] || return 1
		"$root$prefix/$folder/$program" --help || return 1
		n=$((n + 1))
	done
	[ $n = "$(find "$root$prefix"/{bin,sbin} -type f | wc -l)" ]
}

dkms()
{
	local src=$root/usr/src/roost-$ROOST_VERSION

	[ "$(. "$src/dkms.conf" && echo "$PACKAGE_NAME/$PACKAGE_VERSION")" = \
		"roost/$ROOST_VERSION" ] &&
		[ -f "$root/lib/udev/rules.d/60-roost.rules" ] &&
		diff "$top/kmod/Kbuild" "$src/kmod/Kbuild" &&
		diff "$top/VERSION" "$src/VERSION"
}

# what is not a folder
left()
{
	find "$root" ! -type d
}

gone()
{
	left
	[ -z "$(left)" ]
}

readme_program "$top/README.md" > "$work/readme.c"
check 'make install' run_make install
check 'links of the shared library' soname
check 'the shared library stays in a process' stays
check 'version in roost.pc' version
check 'the program of the README, shared' shared
check 'the header of the interface' uapi
check 'tools and their manual pages' programs
check 'the program of the README, static' static
check 'make install-dkms' run_make install-dkms
check 'sources and rule of the module' dkms
check 'make uninstall' run_make uninstall
check 'make uninstall-dkms' run_make uninstall-dkms
check 'nothing is left' gone
finish
