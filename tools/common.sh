# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Sourced by the scripts under tools/: where things are, how to complain, and
# how to become root. No side effect but setting variables.

ROOST_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${ROOST_CACHE:=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/roost}"
export ROOST_TOP ROOST_CACHE

# say MESSAGE...: progress, on standard error so that it never mixes with data.
say()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# usage: what the script that was called says of itself at its top.
usage()
{
	sed -n '2,/^[^#]/ { /SPDX/d; /^#/ s/^# \{0,1\}//p }' "$0" | sed '1{/^$/d}'
}

# die MESSAGE...: a failure of the tool itself; 125 is never a command's code.
die()
{
	say "$*"
	exit 125
}

# What tools/kernel/kernel.sh knows, and --kernel of all others.
KERNEL_NAMES='6.1 6.1-rt 6.12 6.12-rt 6.1-debug 6.12-debug 6.12-kcsan 7.2'

# known_kernels NAME...: die unless each is one of them.
known_kernels()
{
	local name

	for name in "$@"; do
		case " $KERNEL_NAMES " in
		*" $name "*)	;;
		*)	die "there is no kernel '$name', only $KERNEL_NAMES" ;;
		esac
	done
}

# built_kernel NAME: is that one built here, from Debian's source? Those know KUnit.
built_kernel()
{
	case $1 in
	6.1-debug|6.12-debug|6.12-kcsan|7.2)	return 0 ;;
	esac
	return 1
}

# checked_kernel NAME: does that one have checkers, which make it slow, and failures
# on demand?
checked_kernel()
{
	case $1 in
	*-debug|*-kcsan)	return 0 ;;
	esac
	return 1
}

# writable FOLDER [WHAT]: make it, and die unless files can be made there.
writable()
{
	mkdir -p "$1" 2>/dev/null && [ -w "$1" ] ||
		die "cannot write in $1${2:+ ($2)}"
}

# as_root CMD...: run CMD as root, by sudo when we are not.
as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "need root (or sudo) for: $*"
	fi
}

# sh_quote WORD...: the words, quoted for any POSIX shell.
sh_quote()
{
	local word out=

	for word in "$@"; do
		out+=" '${word//\'/\'\\\'\'}'"
	done
	printf '%s\n' "${out# }"
}

# apt_update_once: fetch package lists, unless there are some that we fetched
# within the hour (the cache may be older than the system it is used on).
apt_update_once()
{
	local stamp=$ROOST_CACHE/apt-updated

	writable "$ROOST_CACHE" ROOST_CACHE
	if [ -n "$(find "$stamp" -mmin -60 2>/dev/null)" ] &&
	   compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then
		return 0
	fi
	say "apt-get update"
	as_root apt-get update -qq >&2 || die "apt-get update failed"
	touch "$stamp"
}

# files_sum PATHSPEC...: a hash of those files, built ones left out.  Empty where git does
# not say which files there are.
files_sum()
{
	[ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$ROOST_TOP" ] || return
	# -c: what git knows; -o: what it does not know yet
	git ls-files -z -co --exclude-standard -- "$@" 2>/dev/null | sort -zu |
		xargs -0r sha256sum 2>/dev/null | sha256sum | cut -c 1-24
}

# image_sum KERNEL: a hash of its image; empty if there is none.  Builds nothing.
image_sum()
{
	local image

	# shellcheck disable=SC1090 # written by kernel.sh
	image=$(. "$ROOST_CACHE/kernels/$1.env" 2>/dev/null && echo "$image")
	[ ! -f "$image" ] || sha256sum < "$image"
}
