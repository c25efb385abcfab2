# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Sourced by the profiles: a benchmark under a QEMU that counts instructions by
# function. The caller sets $kernel, and $out, a folder that is made anew.

# shellcheck disable=SC2154 # they are the caller's

# profile_build MAKE_ARG...: the plugin, the module, and what make is told.
profile_build()
{
	rm -rf "$out"
	mkdir -p "$out"
	{
		tools/setup.sh bench &&
			make kmod KVER="$kernel" &&
			make "$@" &&
			gcc -O2 -shared -fPIC -o "$out/plugin.so" \
				tools/bench/vm/profile_plugin.c
	} > "$out/build.log" 2>&1 || die "the build failed, see $out/build.log"
}

# profile_run NAME RUN_ARG...: one counted run, with arguments of tools/vm/run.sh; its
# counts and logs go to $out/NAME.
profile_run()
{
	local dir=$out/$1

	shift
	mkdir -p "$dir"
	QEMU_EXTRA="-plugin file=$out/plugin.so,out=$dir/blocks" \
	tools/vm/run.sh --kernel "$kernel" --icount --timeout 300 --out "$dir" \
		"$@" > "$dir/log" 2>&1 ||
		{ tail -n 20 "$dir/log" >&2; die "the run failed"; }
}

# profile_report PROGRAM SHORT LONG: what lies between the two runs, by function.
profile_report()
{
	nm "$1" > "$out/server.syms"
	python3 tools/bench/vm/profile.py "$out" "$2" "$3"
}
