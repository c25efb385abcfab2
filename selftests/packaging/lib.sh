# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# What the scripts here share; sourced, also in the chroot. Bash is needed.

number=0
failures=0

# result RC WHAT: one TAP line.
result()
{
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		failures=$((failures + 1))
	fi
	[ "$1" = 0 ]
}

# check WHAT CMD...: a test; what CMD says is shown if it fails.
check()
{
	local what=$1 said rc

	shift
	said=$("$@" 2>&1 </dev/null)
	rc=$?
	result $rc "$what" || tail -n 60 <<<"$said" | sed 's/^/# /'
	return $rc
}

# finish: the plan, and the script's exit code.
finish()
{
	echo "1..$number"
	[ $failures = 0 ]
	exit
}

# readme_program README: the program that it shows, the first block of its section.
readme_program()
{
	awk '
		/^## / { on = $0 == "## A program" }
		on && /^    / { print substr($0, 5); begun = 1; next }
		on && begun && /^$/ { print; next }
		begun { exit }' "$1"
}

# says_hello PROGRAM: it prints what it should. Each actor sleeps for another time,
# but on a busy machine they may meet.
says_hello()
{
	local said

	said=$(timeout 60 "$1") || { echo "exit code $?"; return 1; }
	printf '%s\n' "$said"
	[ "$(tail -n 1 <<<"$said")" = 'all said hello' ] &&
		[ "$(sort <<<"$said")" = "$(printf '%s\n' 'all said hello' \
			'hello from actor '{1,2,3})" ]
}

# uapi_program: a program that needs the interfaces' headers and nothing else.
uapi_program()
{
	cat <<'END'
#include <linux/roost.h>
#include <linux/roost_netlink.h>

int main(void)
{
	return ROOST_API_VERSION == 0 || sizeof(struct roost_sqe) != 64 ||
	       sizeof(ROOST_NL_NAME) < 2;
}
END
}

# needs_library PROGRAM: it is linked to libroost.so.0.
needs_library()
{
	objdump -p "$1" | grep -E '^ *NEEDED *libroost\.so\.0$'
}
