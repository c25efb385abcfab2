#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Prints a folder with the few files of the kernel source that are used as they
# are and not copied into this tree: the kselftest headers and lib.mk on top, and
# scripts/ with checkpatch and kernel-doc.

set -eu
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

series=6.1
dir=$ROOST_CACHE/source/files-$series
selftests=tools/testing/selftests
wanted=(
	"$selftests/kselftest.h" "$selftests/kselftest_harness.h"
	"$selftests/lib.mk"
	scripts/checkpatch.pl scripts/spelling.txt
	scripts/const_structs.checkpatch scripts/kernel-doc
	scripts/subarch.include
)

mkdir -p "$ROOST_CACHE/source"
exec 9>"$ROOST_CACHE/source/files.lock"
flock 9
if [ ! -d "$dir" ]; then
	archive=$("$ROOST_TOP/tools/kernel/source.sh" $series 9>&-)
	rm -rf "$dir.new"
	mkdir -p "$dir.new"
	tar -xJf "$archive" -C "$dir.new" --strip-components=1 \
		"${wanted[@]/#/linux-source-$series/}" ||
		die "the source archive lacks a file"
	mv "$dir.new/$selftests"/* "$dir.new/"
	mv "$dir.new" "$dir"
fi
printf '%s\n' "$dir"
