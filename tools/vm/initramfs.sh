# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Sourced by run.sh: builds the guest's initramfs in a staging folder. Nothing in
# here needs root: device nodes are written straight into the cpio archive.

# stage_base STAGE: busybox, folders, the few files that programs expect.
stage_base()
{
	local stage=$1 dir applet

	mkdir -p "$stage"/{dev,proc,sys,run,tmp,out,root,roost,etc,.vm/logs,mnt,var} \
		"$stage"/usr/{bin,sbin,lib,lib64,local/bin}
	chmod 1777 "$stage/tmp"
	for dir in bin sbin lib lib64; do
		ln -s "usr/$dir" "$stage/$dir"
	done
	cp /usr/bin/busybox "$stage/usr/bin/busybox" 2>/dev/null ||
		cp /bin/busybox "$stage/usr/bin/busybox"
	for applet in $(busybox --list); do
		ln -s busybox "$stage/usr/bin/$applet" 2>/dev/null || :
	done
	install -m 755 "$ROOST_TOP/tools/vm/init" "$stage/init"
	printf '%s\n' root:x:0:0:root:/root:/bin/sh \
		user:x:1000:1000::/tmp:/bin/sh other:x:1001:1001::/tmp:/bin/sh \
		nobody:x:65534:65534::/:/bin/false > "$stage/etc/passwd"
	printf '%s\n' root:x:0: user:x:1000: other:x:1001: nogroup:x:65534: \
		> "$stage/etc/group"
	printf '127.0.0.1 localhost vm\n::1 localhost\n' > "$stage/etc/hosts"
	printf 'passwd: files\ngroup: files\nhosts: files\n' \
		> "$stage/etc/nsswitch.conf"
	# loaded by name at pthread_exit and cancellation, which ldd cannot know
	stage_lib "$stage" "$(gcc -print-file-name=libgcc_s.so.1)"
}

# stage_lib STAGE PATH: copy a shared library to where the loader looks for it.
stage_lib()
{
	local stage=$1 lib=$2 to

	case $lib in
	/lib64/*|/lib/*)	to=/usr$lib ;;
	/usr/lib/x86_64-linux-gnu/*.so*|/usr/lib64/*)	to=$lib ;;
	*)	to=/usr/lib/${lib##*/} ;;
	esac
	case $to in
	/usr/lib/x86_64-linux-gnu/*/*)	to=/usr/lib/${to##*/} ;;
	esac
	[ -e "$stage$to" ] && return 0
	mkdir -p "$stage${to%/*}"
	cp -L "$lib" "$stage$to"
}

# is_elf FILE
is_elf()
{
	[ "$(head -c 4 "$1" | tr -d '\0')" = $'\x7fELF' ]
}

# stage_libs STAGE FILE: copy the libraries that an ELF file is linked with.
stage_libs()
{
	local stage=$1 file=$2 lib list

	is_elf "$file" || return 0
	list=$(LD_LIBRARY_PATH=$ROOST_TOP/build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
		ldd "$file" 2>/dev/null) || return 0
	case $list in
	*'not found'*)
		die "$file: $(grep 'not found' <<<"$list")" ;;
	esac
	while read -r lib; do
		stage_lib "$stage" "$lib"
	done < <(sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^\t\(\/[^ ]*\) .*/\1/p' \
		<<<"$list")
}

# stage_file STAGE HOSTPATH GUESTPATH: copy a file or a folder, and libraries.
stage_file()
{
	local stage=$1 from=$2 to=$3 file

	[ -e "$from" ] || die "no such file: $from"
	case $to in
	/*)	;;
	*)	to=/roost/$to ;;
	esac
	mkdir -p "$stage${to%/*}"
	if [ -d "$from" ]; then
		mkdir -p "$stage$to"
		cp -RL --preserve=mode,timestamps "$from/." "$stage$to/"
	else
		rm -f "$stage$to"
		cp -L --preserve=mode,timestamps "$from" "$stage$to"
	fi
	while IFS= read -r -d '' file; do
		stage_libs "$stage" "$file"
	done < <(find -L "$from" -type f \( -perm /111 -o -name '*.so*' \) -print0)
}

# stage_prog STAGE NAME: copy a program of the host to the guest's PATH.
stage_prog()
{
	local path

	path=$(type -P "$2") || die "no program $2 on this machine"
	stage_file "$1" "$(readlink -f "$path")" "/usr/bin/$2"
}

# cpio_node NAME MAJOR MINOR: one character device as a cpio (newc) entry.
cpio_node()
{
	local length=$((${#1} + 1))

	printf '070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\0' \
		0 $((8#020600)) 0 0 1 0 0 0 0 "$2" "$3" $length 0 "$1"
	# header (110) and name are padded to a multiple of four
	head -c $(((4 - (110 + length) % 4) % 4)) /dev/zero
}

# pack STAGE: the archive on standard output. It is a series of two archives, as
# the kernel allows; the second brings the nodes needed before devtmpfs is there.
pack()
{
	(cd "$1" && find . -mindepth 1 -print0 | LC_ALL=C sort -z |
		cpio --null -o -H newc -R 0:0 --quiet) || die "cpio failed"
	cpio_node dev/console 5 1
	cpio_node dev/null 1 3
	cpio_node 'TRAILER!!!' 0 0
}
