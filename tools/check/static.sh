#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Checks the sources without running them. TAP, one line a check.
#
#   tools/check/static.sh [CHECK...]
#
# The checks are the functions named check_* below; each prints what it found
# fault with, and has passed if that is nothing and it returned 0. $STATIC_KERNELS:
# those that the module is compiled for.

# shellcheck disable=SC2317 # the checks are called by name
set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"
cd "$ROOST_TOP" || exit 125

build=$ROOST_TOP/build/static
kernels=${STATIC_KERNELS:-6.1 6.12}

# sources PATHSPEC...: tracked and new files, as git sees them.
sources()
{
	git ls-files --cached --others --exclude-standard -- "$@" |
		while read -r file; do
			[ ! -f "$file" ] || printf '%s\n' "$file"
		done
}

check_checkpatch()
{
	local dir file ignore

	dir=$(tools/kernel/source-files.sh) || return 1
	for file in $(sources 'kmod/*.[ch]' 'include/uapi/*.h'); do
		# these two are about patches to the kernel's own tree
		ignore=FILE_PATH_CHANGES,GIT_COMMIT_ID
		# the one place where versions may be asked for
		[ "$file" != kmod/compat.h ] || ignore+=,LINUX_VERSION_CODE,CONSTANT_COMPARISON
		"$dir/scripts/checkpatch.pl" --no-tree --strict --terse \
			--show-types --no-summary --ignore "$ignore" -f "$file"
	done
	# what checkpatch remembers between runs
	rm -f .checkpatch-camelcase.*
}

# module_build KERNEL [ARG...]: warnings of sparse and of W=1, where they are about
# this project's files. The build is a fresh one: kbuild warns only about what it
# compiles.
module_build()
{
	local kernel=$1 log=$build/kbuild.log

	shift
	case $kernel in 7.*) set -- "$@" CHECK="$ROOST_TOP/tools/check/sparse.sh" ;; esac
	rm -rf "$build/kmod"
	tools/kernel/kmod.sh --kver "$kernel" --build "$build/kmod" "$@" \
		C=2 W=1 CF=-D__CHECK_ENDIAN__ >/dev/null 2>"$log" || {
		tail -n 40 "$log"
		return 1
	}
	grep -E "/(src|kunit)/(kmod|include)/.*(warning|error):" "$log" |
		sed -E "s#^.*/(src|kunit)/#$kernel: #"
	return 0
}

check_kbuild()
{
	local kernel

	for kernel in $kernels; do
		module_build "$kernel" || return 1
	done
}

# These kernels lack KUnit: compiled, and never to be loaded.
check_kunit()
{
	local kernel

	for kernel in $kernels; do
		module_build "$kernel" --kunit KBUILD_MODPOST_WARN=1 || return 1
	done
}

check_kernel_doc()
{
	local dir

	dir=$(tools/kernel/source-files.sh) || return 1
	# shellcheck disable=SC2046 # no file has a blank in its name
	"$dir/scripts/kernel-doc" -none $(sources 'kmod/*.[ch]' 'lib/*.[ch]' \
		'include/*.h') 2>&1 | grep -E 'warning|error'
	return 0
}

# user_build CC: library, examples and tests from nothing, in a copy.
user_build()
{
	local dir=$build/user-$1 log=$build/user-$1.log

	rm -rf "$dir"
	mkdir -p "$dir"
	sources Makefile VERSION include kmod lib selftests tools > "$build/files"
	rsync -a --files-from="$build/files" ./ "$dir/"
	make -s -C "$dir" CC="$1" HOSTCC="$1" selftests >"$log" 2>&1 || {
		grep -vE '^ *(CC|LD|AR) ' "$log" | tail -n 40
		return 1
	}
	grep 'warning:' "$log"
	return 0
}

check_gcc()
{
	user_build gcc
}

check_clang()
{
	user_build clang
}

# A public header stands alone, in C and in C++.
check_headers()
{
	local file

	for file in $(sources 'include/roost/*.h' 'include/uapi/*.h'); do
		gcc -x c -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
			-Iinclude -Iinclude/uapi -include "$file" /dev/null ||
			return 1
		clang -x c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only \
			-Iinclude -Iinclude/uapi -include "$file" /dev/null ||
			return 1
	done
}

check_spdx()
{
	local file

	# two formats of dpkg's that know no comments
	for file in $(sources ':!LICENSES' ':!COPYING' ':!debian/changelog' \
		      ':!debian/source/format'); do
		[ -s "$file" ] || continue
		head -n 3 "$file" | grep -q 'SPDX-License-Identifier: ' ||
			printf '%s: no SPDX line on top\n' "$file"
	done
}

# copyright_of FILE: what debian/copyright says of it; the last paragraph counts.
copyright_of()
{
	local line pattern licence=''

	while read -r line; do
		case $line in
		'Files: '*)
			read -ra patterns <<<"${line#Files: }"
			applies=''
			for pattern in "${patterns[@]}"; do
				# shellcheck disable=SC2254 # a pattern is meant
				case $1 in $pattern) applies=1 ;; esac
			done
			;;
		'License: '*)
			[ -z "$applies" ] || licence=${line#License: }
			;;
		'')	applies='' ;;
		esac
	done < debian/copyright
	printf '%s\n' "$licence"
}

# What the packages say again, as their formats want it: the version, the symbols,
# the licences.
check_packaging()
{
	local version file spdx applies='' patterns

	version=$(sed -n 's/^ROOST_VERSION=//p' VERSION)
	head -n 1 debian/changelog | grep -qF "roost ($version) " ||
		echo "debian/changelog: not the version in VERSION, $version"
	diff <(sed -n 's/^\t\(roost_[a-z0-9_]*\);$/\1/p' lib/roost.map | sort) \
		<(sed -n 's/^ \(roost_[a-z0-9_]*\)@ROOST_.*/\1/p' \
			debian/libroost0.symbols | sort)
	for file in $(sources kmod include lib tools selftests Documentation debian); do
		spdx=$(head -n 3 "$file" | sed -nE 's/.*SPDX-License-Identifier: //p' |
			sed -E 's,( ?\*/| ?-->)$,,; s/\bMIT\b/Expat/; s/GPL-2.0/GPL-2/
				s/\(?(GPL-2) WITH (Linux-syscall-note)\)?/\1 with \2 exception/
				s/ OR / or /g')
		[ -z "$spdx" ] || [ "$(copyright_of "$file")" = "$spdx" ] ||
			echo "debian/copyright: $file is $spdx"
	done
}

# Words of unfinished work, and traces of where the work was done. The brackets
# keep this file from finding itself.
check_words()
{
	local words=(
		'\b(T[O]DO|F[I]XME|X[X]X|H[A]CK|s[t]ub(s|bed)?)\b'
		'(^|[^[:alnum:]_./])/w[o]rk/' '/tmp/b[r]ief' '\bthe b[r]ief\b'
		'\b(sub-?)?a[g]ents?\b' '\bC[E]O\b' '\bthis s[e]ssion\b'
		'\bi[s]sue #?[0-9]'
		'[a-z]\.d[e]bian\.org' '[a-z]:[/]/[a-z0-9-]+\.[a-z]'
	)

	sources ':!LICENSES' | tr '\n' '\0' | xargs -0 grep -nIE \
		"$(IFS='|'; printf '%s' "${words[*]}")" | grep -viE 'user-a[g]ent'
	return 0
}

# Each error that uapi.rst documents names a test that exists, in a program that
# looks for that error; and each call has its table.
check_docs()
{
	local error program name file ioc
	local doc=Documentation/uapi.rst

	while read -r error program name; do
		file=selftests/uapi/$program.c
		if ! grep -qE "^TEST.*[( ]${name}[,)]" "$file" 2>/dev/null; then
			printf '%s: no test %s: %s\n' "$doc" "$program" "$name"
		elif ! grep -qE "\b$error\b" "$file"; then
			printf '%s: %s: nothing about %s\n' "$doc" "$program" "$error"
		fi
	done < <(sed -nE 's/^(E[A-Z0-9]+) +.*``([a-z_]+_test): ([a-z_]+)``.*/\1 \2 \3/p' "$doc")
	for ioc in $(sed -nE 's/^#define (ROOST_IOC_[A-Z_]+).*/\1/p' \
		include/uapi/linux/roost.h | grep -v MAGIC); do
		grep -qx "$ioc" "$doc" || printf '%s: no section %s\n' "$doc" "$ioc"
	done
	[ "$(grep -cE '^E[A-Z0-9]+ +.*``[a-z_]+_test: ' "$doc")" -gt 20 ] ||
		echo "$doc: the tables are not found"
}

# Rows that are said to be built have tests, and tests name rows that there are.
check_behaviours()
{
	tools/check/behaviours.py --no-results --quiet
	tools/check/behaviours.py --no-results --quiet Documentation/cases.rst
}

check_shell()
{
	local file options

	for file in $(sources tools selftests .ci kmod/dkms); do
		options=(-x -P SCRIPTDIR -S warning -f gcc)
		case $(head -n 2 "$file" | tr -d '\0') in
		'#!/bin/sh'*|'#!/bin/bash'*)	;;
		# sourced by others, who use what it sets
		*'shellcheck shell='*)	options+=(-e SC2034) ;;
		*)	continue ;;
		esac
		shellcheck "${options[@]}" "$file"
	done
	return 0
}

case ${1-} in
-h|--help)	usage; exit 0 ;;
esac
checks=("$@")
for check in "${checks[@]}"; do
	declare -F "check_$check" >/dev/null || die "there is no check $check"
done
[ $# -gt 0 ] || mapfile -t checks < <(declare -F |
	sed -n 's/^declare -f check_//p')
mkdir -p "$build"
printf 'TAP version 13\n1..%d\n' ${#checks[@]}
number=0 bad=0
for check in "${checks[@]}"; do
	number=$((number + 1))
	if found=$("check_$check" 2>&1 </dev/null) && [ -z "$found" ]; then
		printf 'ok %d %s\n' $number "$check"
	else
		bad=1
		printf 'not ok %d %s\n' $number "$check"
		printf '%s\n' "$found" | sed 's/^/# /'
	fi
done
exit $bad
