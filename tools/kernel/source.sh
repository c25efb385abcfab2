#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Prints the path of Debian's kernel source archive of a series, fetching the
# package linux-source-SERIES into the cache when it is not there.
#
#   tools/kernel/source.sh 6.1|6.12|7.2
#
# 7.2 is in Debian unstable only. Its package lists are kept in the cache, for this
# one download: the system's own lists, and what it installs from, stay as they are.

set -eu
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

series=${1:-}
case $series in
6.1|6.12) suite= ;;
7.2)	suite=unstable ;;
*) die "usage: source.sh 6.1|6.12|7.2" ;;
esac

dir=$ROOST_CACHE/source
archive=$dir/linux-source-$series.tar.xz
apt=()
# root's files are out of reach for apt's own sandbox user
[ "$(id -u)" = 0 ] && apt=(-o APT::Sandbox::User=root)

# other_suite SUITE: have apt know that suite alone, of the mirror that this system
# has its own from.
other_suite()
{
	local state=$dir/apt-$1 codename mirror

	# shellcheck source=/dev/null
	codename=$(. /etc/os-release && printf '%s\n' "$VERSION_CODENAME")
	mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' \
		'Created-By: Packages' 'Component: main' |
		sed -n "s/^$codename //p" | head -n 1)
	[ -n "$mirror" ] || die "no mirror of $codename is configured"
	mkdir -p "$state/lists/partial"
	printf 'deb [signed-by=%s] %s %s main\n' \
		/usr/share/keyrings/debian-archive-keyring.gpg "$mirror" "$1" \
		> "$state/sources.list"
	apt+=(
		-o Dir::Etc::SourceList="$state/sources.list"
		-o Dir::Etc::SourceParts=/dev/null
		-o Dir::State::Lists="$state/lists"
		-o Dir::Cache::PkgCache= -o Dir::Cache::SrcPkgCache=
	)
	say "package lists of $1"
	apt-get "${apt[@]}" update -qq >&2 || die "no package lists of $1"
}

# fetch DIR: download and unpack the package; its archive's path is usr/src/... .
fetch()
{
	rm -rf "$1"
	mkdir -p "$1"
	(cd "$1" && apt-get "${apt[@]}" -qq download "linux-source-$series") \
		>&2 || return 1
	dpkg-deb -x "$1"/*.deb "$1" || return 1
	rm -f "$1"/*.deb
}

mkdir -p "$dir"
exec 9>"$dir/$series.lock"
flock 9
if [ ! -f "$archive" ]; then
	say "fetching linux-source-$series"
	[ -z "$suite" ] || other_suite "$suite"
	fetch "$dir/$series.new" ||
		{ [ -z "$suite" ] && apt_update_once && fetch "$dir/$series.new"; } ||
		die "cannot fetch linux-source-$series"
	mv "$dir/$series.new/usr/src/linux-source-$series.tar.xz" "$archive"
	rm -rf "$dir/$series.new" "$dir/apt-$suite"
fi
printf '%s\n' "$archive"
