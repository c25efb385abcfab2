#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Prints the path of Debian's kernel source archive for 6.1 or 6.12, fetching the
# package linux-source-VERSION into the cache when it is not there.
#
#   tools/kernel/source.sh 6.1|6.12

set -eu
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

series=${1:-}
case $series in
6.1|6.12) ;;
*) die "usage: source.sh 6.1|6.12" ;;
esac

# fetch DIR: download and unpack the package; its archive's path is usr/src/... .
fetch()
{
	local opts=()

	# root's files are out of reach for apt's own sandbox user
	[ "$(id -u)" = 0 ] && opts=(-o APT::Sandbox::User=root)
	rm -rf "$1"
	mkdir -p "$1"
	(cd "$1" && apt-get "${opts[@]}" -qq download "linux-source-$series") \
		>&2 || return 1
	dpkg-deb -x "$1"/*.deb "$1" || return 1
	rm -f "$1"/*.deb
}

dir=$ROOST_CACHE/source
archive=$dir/linux-source-$series.tar.xz
mkdir -p "$dir"
exec 9>"$dir/$series.lock"
flock 9
if [ ! -f "$archive" ]; then
	say "fetching linux-source-$series"
	fetch "$dir/$series.new" || { apt_update_once; fetch "$dir/$series.new"; } ||
		die "cannot fetch linux-source-$series"
	mv "$dir/$series.new/usr/src/linux-source-$series.tar.xz" "$archive"
	rm -rf "$dir/$series.new"
fi
printf '%s\n' "$archive"
