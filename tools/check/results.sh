# SPDX-License-Identifier: LGPL-2.1 OR MIT
# shellcheck shell=bash
#
# Sourced: counts the results of test programs and prints the summary.
#
# Uses $results, the path of a file with one judged result a line (see tap.awk).
# Several may report at a time, each with a file of its own: what one says is not
# torn apart.

# shellcheck disable=SC2154 # set by whoever sources this
# record NAME RC LOG [need-tap]: judge a program's output, say so in one line,
# show the output if a test failed.
record()
{
	local judged

	judged=$(awk -v name="$1" -v rc="$2" -v tap="${4:+1}" \
		-f "$ROOST_TOP/tools/check/tap.awk" "$3")
	printf '%s\n' "$judged" >> "$results"
	(
		flock 6
		tell_result "$@"
	) 6>>"${results%/*}/print.lock"
}

# tell_result NAME RC LOG: what record() prints, of $judged.
tell_result()
{
	local name=$1 rc=$2 log=$3 failed

	failed=$(grep -c '^fail ' <<<"$judged")
	printf '%-4s %s: %d passed, %d failed, %d skipped\n' \
		"$([ "$failed" = 0 ] && echo ok || echo FAIL)" "$name" \
		"$(grep -c '^pass ' <<<"$judged")" "$failed" \
		"$(grep -c '^skip ' <<<"$judged")"
	[ "$failed" != 0 ] || return 0
	printf -- '---- output of %s (exit code %s), its last 200 lines\n' "$name" "$rc"
	tail -n 200 "$log" | sed 's/^/    /'
	printf -- '---- end of %s\n' "$name"
}

# summary: skips with their reasons, failures, and the counts as the last line.
# False if anything failed or nothing ran.
summary()
{
	local passed failed skipped

	passed=$(grep -c '^pass ' "$results")
	failed=$(grep -c '^fail ' "$results")
	skipped=$(grep -c '^skip ' "$results")
	if [ "$skipped" != 0 ]; then
		printf '\nSkipped:\n'
		sed -n 's/^skip /  /p' "$results"
	fi
	if [ "$failed" != 0 ]; then
		printf '\nFailed:\n'
		sed -n 's/^fail /  /p' "$results"
	fi
	printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" = 0 ] && [ "$passed" != 0 ]
}
