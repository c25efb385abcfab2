#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Builds the Debian packages, has lintian look at them, and lives through their life
# in a chroot: installed, used, removed, purged. Then the module that DKMS built
# there is loaded in a VM. TAP.
#
#   selftests/packaging/packages.sh          or: make check-packages
#
# CHECK_KERNELS: as for `make check`; without those that are built here. The first is
# there when the packages are installed, the others come later. Everything lies in
# build/packages; what the chroot is made from, in the cache for a week.

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"
# shellcheck source=selftests/packaging/lib.sh
. "$ROOST_TOP/selftests/packaging/lib.sh"
cd "$ROOST_TOP" || exit 125
. ./VERSION

here=selftests/packaging
work=$ROOST_TOP/build/packages
root=$work/chroot
store=$ROOST_CACHE/kernels
unset MAKEFLAGS MAKELEVEL

# what the chroot has before: what users' programs are built with; what the headers of
# kernels depend on; udev
base=gcc,libc6-dev,pkg-config,gcc-12,libelf1,pahole,udev

kernels=()
for kernel in ${CHECK_KERNELS:-6.1 6.12}; do
	built_kernel "$kernel" || kernels+=("$kernel")
done
[ ${#kernels[@]} -gt 0 ] || die "no kernel in CHECK_KERNELS is one of Debian's"

build_packages()
{
	local src=$work/roost-$ROOST_VERSION

	mkdir -p "$src"
	git ls-files --cached --others --exclude-standard | while read -r file; do
		[ ! -e "$file" ] || printf '%s\n' "$file"
	done > "$work/files"
	rsync -a --files-from="$work/files" ./ "$src/" || return 1
	(cd "$src" && dpkg-buildpackage -us -uc -b)
}

four_packages()
{
	local package

	for package in roost-dkms_"$ROOST_VERSION"_all \
		{libroost0,libroost-dev,roost-tools}_"$ROOST_VERSION"_amd64; do
		[ -f "$work/$package.deb" ] || { echo "no $package"; return 1; }
	done
}

# under PREFIX WHERE PATTERN: the source's files that match it, put elsewhere.
under()
{
	sed -n "s|^$2|$1/|p" "$work/files" | grep -xE "$1/$3"
}

# expected PACKAGE: what must be in it, by what is in the source.
expected()
{
	local lib=/usr/lib/x86_64-linux-gnu doc=/usr/share/doc/$1/examples page name
	local src=/usr/src/roost-$ROOST_VERSION

	case $1 in
	roost-dkms)
		under "$src" '' '(VERSION|kmod/(Kbuild|[^/]*\.[ch])|include/uapi/.*\.h)'
		printf '%s\n' "$src/dkms.conf" /lib/udev/rules.d/60-roost.rules \
			"$doc/modules-load.conf"
		;;
	libroost0)
		printf '%s\n' $lib/libroost.so.0 "$lib/libroost.so.$ROOST_VERSION"
		;;
	libroost-dev)
		under /usr/include/roost include/roost/ '[^/]*\.h'
		under /usr/include/linux include/uapi/linux/ '[^/]*\.h'
		under "$doc" tools/examples/ '((hello|echo)\.c|httpd/[^/]*\.[ch])'
		printf '%s\n' $lib/libroost.{a,so} $lib/pkgconfig/roost.pc
		;;
	roost-tools)
		for page in $(grep -E '^tools/[^/]*/[^/]*\.[18]$' "$work/files"); do
			name=${page##*/}
			case $name in
			*.1)	echo "/usr/bin/${name%.*}" ;;
			*)	echo "/usr/sbin/${name%.*}" ;;
			esac
			echo "/usr/share/man/man${name##*.}/$name.gz"
		done
		;;
	esac
}

# contents PACKAGE: what is expected and nothing else, but for pages to read.
contents()
{
	diff <(expected "$1" | sort) \
		<(dpkg-deb --fsys-tarfile "$work/${1}_${ROOST_VERSION}_"*.deb | tar -t |
			sed -n 's|^\.\(/.*[^/]\)$|\1|p' |
			grep -vE '^/usr/share/doc/[^/]*/[^/]*$' | sort)
}

# What it is told to hide must say why, in debian/*lintian-overrides.
clean_for_lintian()
{
	lintian --allow-root --display-info --pedantic \
		--fail-on error,warning,info,pedantic "$work"/*.changes
}

# sources_list: this machine's Debian suites, as it has them configured.
sources_list()
{
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg

	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets 'Created-By: Packages' 'Origin: Debian' \
		--format '$(REPO_URI) $(CODENAME) $(COMPONENT)' |
		awk -v codename="$suite" -v keyring="$keyring" '
			$2 ~ "^" codename "(-updates|-security)?$" && $3 == "main" {
				print "deb [signed-by=" keyring "]", $1, $2, $3
			}' | sort -u
}

# make_base: sets $archive, a small system of this machine's release.
make_base()
{
	local dir=$ROOST_CACHE/packages

	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	mkdir -p "$dir"
	sources_list > "$work/sources.list"
	[ -s "$work/sources.list" ] || { apt_update_once; sources_list > "$work/sources.list"; }
	[ -s "$work/sources.list" ] || die "no Debian suite is configured"
	# a proxy, say
	apt-config dump | grep '^Acquire::' > "$work/apt.conf"
	archive=$dir/$(cat "$work/sources.list" "$work/apt.conf" - <<<"$base" |
		sha256sum | cut -c1-16).tar
	exec 8>"$dir/lock"
	flock 8
	if [ -z "$(find "$archive" -mtime -7 2>/dev/null)" ]; then
		say "making a base system ($suite)"
		find "$dir" -name '*.tar' -mtime +30 -delete
		as_root mmdebstrap --mode=root --variant=apt --include="$base" \
			--aptopt="$work/apt.conf" --dpkgopt=force-unsafe-io \
			--skip=cleanup/apt/lists \
			"$suite" - "$work/sources.list" > "$archive.new" \
			2> "$work/mmdebstrap.log" || {
			tail -n 20 "$work/mmdebstrap.log" >&2
			die "no base system"
		}
		mv "$archive.new" "$archive"
	fi
	flock -u 8
}

# make_chroot: the base, with what inside.sh needs in /packaging.
make_chroot()
{
	local kernel release modules dir=$work/packaging

	mkdir -p "$dir/out" "$root"
	cp "$here/lib.sh" "$here/inside.sh" README.md VERSION "$work"/*.deb "$dir/"
	rm -f "$dir"/*-dbgsym_*.deb
	for kernel in "${kernels[@]}"; do
		release=$(tools/kernel/kernel.sh "$kernel" release) || exit 125
		modules=$(tools/kernel/kernel.sh "$kernel" modules)
		printf '%s %s\n' "$release" \
			"$(tools/kernel/kernel.sh "$kernel" headers)" >> "$dir/kernels"
		mkdir -p "$dir/modules/$release"
		cp "$modules"/modules.{order,builtin*} "$dir/modules/$release/"
	done
	as_root tar -xf "$archive" -C "$root" --numeric-owner --exclude='./dev/*' &&
		as_root cp -RL /etc/resolv.conf "$root/etc/resolv.conf" &&
		as_root cp -R "$dir" "$root/packaging" || die "no chroot in $root"
}

# in_chroot CMD...: mounts and processes end with it.
in_chroot()
{
	# shellcheck disable=SC2016 # the inner shell's own
	as_root unshare --mount --pid --fork --kill-child bash -c '
		root=$1 store=$2
		shift 2
		mkdir -p "$root$store" &&
		mount -t proc proc "$root/proc" &&
		mount --rbind /dev "$root/dev" &&
		mount --bind -o ro "$store" "$root$store" &&
		exec chroot "$root" env -i HOME=/root LC_ALL=C.UTF-8 \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin \
			DEBIAN_FRONTEND=noninteractive \
			http_proxy="${http_proxy:-}" "$@"
	' in_chroot "$root" "$store" "$@"
}

# other_results LOG: count and show TAP that somebody else wrote. Its plan must be
# there, or it did not get to its end.
other_results()
{
	local line

	while IFS= read -r line; do
		case $line in
		'ok '*)		result 0 "${line#* - }" ;;
		'not ok '*)	result 1 "${line#* - }" ;;
		'#'*)		printf '%s\n' "$line" ;;
		esac
	done < <(tr -d '\r' < "$1")
	grep -q '^1\.\.[1-9]' "$1" || {
		result 1 "$2 came to its end"
		tail -n 30 "$1" | sed 's/^/# /'
	}
}

# The module as DKMS built it, the rule as it was installed, the library.
in_vm()
{
	local release out=$root/packaging/out

	release=$(tools/kernel/kernel.sh "$1" release)
	sed -n 's/^ *\(SUBSYSTEM==.*GROUP=.*\)$/\1/p' Documentation/security.rst \
		> "$work/70-roost.rules"
	tools/vm/run.sh --kernel "$1" --ko "$out/$release/roost.ko" --smp 2 \
		--log "$work/vm-$1" --file "$out/system.tar" \
		--file "$work/70-roost.rules" --file selftests/module/lib.sh \
		-- "$here/guest.sh" > "$work/vm-$1.tap" 2> "$work/vm-$1.log" </dev/null
	rc=$?
	other_results "$work/vm-$1.tap" "the VM with $1"
	result $rc "$1: kernel log, module unload" || tail -n 30 "$work/vm-$1.log" | sed 's/^/# /'
}

tools/setup.sh packages || exit 125
[ ! -d "$work" ] || as_root rm -rf "$work"
mkdir -p "$work"
for kernel in "${kernels[@]}"; do
	tools/kernel/kernel.sh "$kernel" release >/dev/null || exit 125
done

echo 'TAP version 13'
check 'dpkg-buildpackage' build_packages || finish
check 'four packages' four_packages || finish
for package in libroost0 libroost-dev roost-dkms roost-tools; do
	check "what is in $package" contents $package
done
check 'lintian' clean_for_lintian
make_base
make_chroot
in_chroot bash /packaging/inside.sh > "$work/inside.tap" 2> "$work/inside.log" </dev/null
other_results "$work/inside.tap" 'the chroot'
for kernel in "${kernels[@]}"; do
	in_vm "$kernel"
done
finish
