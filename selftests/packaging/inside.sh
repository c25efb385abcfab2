#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Runs in the chroot of packages.sh: installs the packages, uses them, removes them.
# What the VM needs later is left in /packaging/out.

# shellcheck source=selftests/packaging/lib.sh
. /packaging/lib.sh
# shellcheck disable=SC2317 # the tests are called by name
. /packaging/VERSION
cd /packaging || exit 1
out=/packaging/out
names='libroost-dev libroost0 roost-dkms roost-tools'
mapfile -t releases < <(cut -d' ' -f1 kernels)

# headers RELEASE: as if linux-headers-RELEASE were installed.
headers()
{
	ln -s "$(sed -n "s/^$1 //p" kernels)" "/lib/modules/$1/build"
}

# What the packages depend on, and nothing else, by apt; so that dpkg, which looks
# for nothing, can then install them.
fetch()
{
	local wanted

	wanted=$(apt-get -s install --no-install-recommends ./*.deb |
		sed -n 's/^Inst \([^ ]*\).*/\1/p' |
		grep -vxF "$(tr ' ' '\n' <<<"$names")")
	# shellcheck disable=SC2086 # words are meant
	apt-get install -y --no-install-recommends $wanted
}

# Package lists may be a week old.
dependencies()
{
	fetch || { apt-get update && fetch; }
}

# What is there, but for what is somebody else's to keep: logs, caches, the
# databases of dpkg and apt, DKMS's own key, the kernels' headers.
snapshot()
{
	find / -xdev \( -path /packaging -o -path /proc -o -path /dev -o -path /tmp \
		-o -path /run -o -path /var/log -o -path /var/cache \
		-o -path /var/lib/dpkg -o -path /var/lib/apt \
		-o -path '/var/lib/dkms/mok.*' -o -path '*/modules/*/build' \) \
		-prune -o -print | sort
}

ours()
{
	# shellcheck disable=SC2086 # words are meant
	dpkg-query -W -f '${db:Status-Status} ${Package}\n' $names 2>/dev/null
}

installed()
{
	ours | grep -c '^installed ' | grep -x 4 && [ -z "$(dpkg --audit)" ]
}

version()
{
	pkg-config --modversion roost | grep -Fx "$ROOST_VERSION"
}

# build NAME [-static]: as a user does it.
build()
{
	# shellcheck disable=SC2046,SC2086 # words are meant
	gcc -Wall ${2:-} -o "$1" readme.c $(pkg-config --cflags --libs ${2:+--static} roost)
}

shared()
{
	build shared && needs_library shared && ROOST_BACKEND=futex says_hello ./shared
}

static()
{
	build static -static && ! needs_library static &&
		ROOST_BACKEND=futex says_hello ./static
}

uapi()
{
	uapi_program > uapi.c
	gcc -Wall -Werror -o uapi uapi.c && ./uapi
}

# Whatever is in roost-tools: its libraries are there, it starts, it has a page.
tools()
{
	local program n=0

	for program in $(dpkg -L roost-tools | grep -E '^/usr/s?bin/.'); do
		ldd "$program" | grep 'not found' && return 1
		"$program" --help || return 1
		dpkg -L roost-tools |
			grep -E "^/usr/share/man/man[18]/${program##*/}\.[18]\.gz$" ||
			return 1
		n=$((n + 1))
	done
	[ $n -gt 0 ]
}

# The server on the package's library answers.
serves()
{
	local log=/tmp/httpd.log pid port tries=0 answer

	echo 'from the package' > /tmp/page
	roost-httpd --backend futex --port 0 --root /tmp > $log &
	pid=$!
	until port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' $log) && [ -n "$port" ]; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || { kill $pid; return 1; }
		sleep 0.1
	done
	exec 3<>"/dev/tcp/127.0.0.1/$port"
	printf 'GET /page HTTP/1.0\r\n\r\n' >&3
	answer=$(timeout 60 cat <&3)
	kill $pid
	wait $pid || return 1
	printf '%s\n' "$answer"
	[[ $answer == 'HTTP/1.'*' 200 '*'from the package' ]]
}

# has_module RELEASE: DKMS built it for this kernel, and modprobe would find it.
has_module()
{
	local ko=/lib/modules/$1/updates/dkms/roost.ko

	dkms status -m roost -v "$ROOST_VERSION" -k "$1" | grep ': installed$' || {
		tail -n 40 "/var/lib/dkms/roost/$ROOST_VERSION/build/make.log"
		return 1
	}
	[ "$(modinfo -F vermagic $ko | cut -d' ' -f1)" = "$1" ] &&
		[ "$(modinfo -F version $ko)" = "$ROOST_VERSION" ] &&
		modprobe -S "$1" --show-depends roost | grep "^insmod $ko" &&
		mkdir -p "$out/$1" && cp $ko "$out/$1/"
}

has_none()
{
	! dkms status -m roost -k "$1" | grep -E ': (built|installed)' &&
		[ ! -e "/lib/modules/$1/updates" ]
}

# later RELEASE: its headers come when roost-dkms is there already.
later()
{
	headers "$1"
	run-parts --exit-on-error --verbose --arg="$1" /etc/kernel/header_postinst.d
	has_module "$1"
}

# For the VM: udev with its libraries and our rule, programs and tools with theirs.
system()
{
	local files=(/lib/udev/rules.d/60-roost.rules /usr/bin/udevadm
		/usr/lib/systemd/systemd-udevd /packaging/shared /packaging/static
		/usr/bin/roost-httpd /usr/sbin/roostctl)

	mapfile -t -O ${#files[@]} files < <(
		ldd /usr/bin/{udevadm,roost-httpd} /usr/sbin/roostctl /packaging/shared |
		grep -o '/[^ ]*\.so[^ ]*' | sort -u)
	tar -chf $out/system.tar -C / "${files[@]#/}" && tar -tf $out/system.tar
}

remove()
{
	# shellcheck disable=SC2086 # words are meant
	dpkg --remove $names
	dkms status
	[ -z "$(dkms status -m roost)" ] &&
		[ -z "$(find /lib/modules -name 'roost*')" ]
}

purge()
{
	# shellcheck disable=SC2086 # words are meant
	dpkg --purge $names && [ -z "$(ours)" ]
}

nothing_left()
{
	snapshot > after
	diff before after
}

readme_program README.md > readme.c
for release in "${releases[@]}"; do
	mkdir -p "/lib/modules/$release"
	cp "modules/$release"/* "/lib/modules/$release/"
done
headers "${releases[0]}"
check 'dependencies can be had' dependencies
for release in "${releases[@]}"; do
	depmod "$release"
done
snapshot > before

check 'the packages install' dpkg --install ./*.deb
check 'all of them are installed' installed
check 'version in roost.pc' version
check 'the program of the README, shared' shared
check 'the program of the README, static' static
check 'the header of the interface' uapi
check 'tools start and have a page' tools
check 'roost-httpd answers' serves
check "DKMS built the module for ${releases[0]}" has_module "${releases[0]}"
for release in "${releases[@]:1}"; do
	check "no module without headers for $release" has_none "$release"
	check "DKMS built the module for $release, which came later" later "$release"
done
check 'a system for the VM' system
check 'the packages can be removed' remove
check 'the packages can be purged' purge
check 'nothing is left' nothing_left
finish
