#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Prints how to call QEMU, one word a line: the program and its -L options.
#
#   tools/vm/qemu.sh
#
# Before 8.1, QEMU's emulation with a thread for each virtual CPU may translate
# code while another CPU rewrites it, and keep what it read half-way (pages are
# not locked during translation). A kernel rewrites itself whenever a static key
# or a tracepoint is switched; a guest was seen to die of an int3 at a patch site,
# once in some 40 boots. Where the installed QEMU is older, the one from the
# release's backports suite is unpacked into the cache; nothing is installed.

set -eu
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

wanted=8.1
dir=$ROOST_CACHE/qemu
installed=$(command -v qemu-system-x86_64) || die "no qemu-system-x86_64"

# version PROGRAM: as in 10.0.2.
version()
{
	"$@" --version | sed -n 's/^QEMU emulator version \([0-9.]*\).*/\1/p'
}

# new_enough PROGRAM
new_enough()
{
	dpkg --compare-versions "$(version "$1")" ge "$wanted"
}

# backports_line: a sources.list line derived from the configured main suite.
backports_line()
{
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg codename

	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets 'Created-By: Packages' \
		--format '$(REPO_URI) $(CODENAME) $(COMPONENT)' |
		awk -v codename="$codename" -v keyring="$keyring" '
			$2 == codename && $3 == "main" {
				print "deb [signed-by=" keyring "] " $1 " " \
					codename "-backports main"
				exit
			}'
}

# fetch DIR: download the backport and unpack it below DIR.
fetch()
{
	local apt=$1/apt opts deb

	rm -rf "$1"
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/deb"
	backports_line > "$apt/sources.list"
	[ -s "$apt/sources.list" ] || return 1
	opts=(-qq -o "Dir::Etc::sourcelist=$apt/sources.list"
		-o Dir::Etc::sourceparts=/dev/null
		-o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache")
	[ "$(id -u)" = 0 ] && opts+=(-o APT::Sandbox::User=root)
	apt-get "${opts[@]}" update || return 1
	(cd "$apt/deb" && apt-get "${opts[@]}" download qemu-system-x86 \
		qemu-system-common qemu-system-data) || return 1
	for deb in "$apt"/deb/*.deb; do
		dpkg-deb -x "$deb" "$1" || return 1
	done
	rm -rf "$apt"
	# its libraries are the release's own, which the installed QEMU brought
	new_enough "$1/usr/bin/qemu-system-x86_64"
}

if new_enough "$installed"; then
	printf '%s\n' "$installed"
	exit 0
fi
mkdir -p "$ROOST_CACHE"
exec 9>"$ROOST_CACHE/qemu.lock"
flock 9
if [ ! -d "$dir" ] && [ -z "$(find "$dir.failed" -mmin -600 2>/dev/null)" ]; then
	say "QEMU $(version "$installed") is older than $wanted: fetching a newer one"
	if fetch "$dir.new" >&2; then
		mv "$dir.new" "$dir"
	else
		rm -rf "$dir.new"
		touch "$dir.failed"
	fi
fi
if [ -d "$dir" ]; then
	printf '%s\n' "$dir/usr/bin/qemu-system-x86_64" -L "$dir/usr/share/qemu" \
		-L /usr/share/seabios -L /usr/lib/ipxe/qemu
else
	say "warning: QEMU $(version "$installed") is used: a guest with several" \
		"CPUs may die of a bug of its own; see tools/vm/qemu.sh"
	printf '%s\n' "$installed"
fi
