# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Judges the output of one test program.
#
#   awk -v name=GROUP/PROGRAM -v rc=EXIT_CODE -f tap.awk LOG
#
# Prints one line per result: "pass TEXT", "fail TEXT" or "skip TEXT", which the
# caller counts. TAP lines count as they stand at the start of a line; indented
# ones are subtests and belong to their parent. A program without TAP is one test,
# judged by its exit code: 0 passed, 4 or 77 skipped, anything else failed; with
# -v tap=1 it has failed in any case. A contradiction is a failure of its own: fewer
# or more results than planned, an error code though every result was good, an end
# by the time limit.

function result(kind, text)
{
	print kind, name ": " text
	count[kind]++
}

# reason: what stands behind the # SKIP of a line
function reason(line)
{
	sub(/.*# *SKIP:? */, "", line)
	return line == "" ? "no reason given" : line
}

{ sub(/\r$/, "") }

/^Bail out!/ { bailed = $0 }

/^[0-9]+\.\.[0-9]+/ {
	split($1, range, /\.\./)
	plan = range[2] + 0
	planned = 1
	if (plan == 0) {
		result("skip", reason($0))
		empty = 1
	}
	next
}

/^(not )?ok( |$)/ {
	text = $0
	sub(/^(not )?ok *[0-9]* *-? */, "", text)
	total++
	if (/^not ok/)
		result("fail", text)
	else if (/# *SKIP/)
		result("skip", text == "" ? reason($0) : text)
	else
		result("pass", text)
	next
}

END {
	if (bailed != "")
		result("fail", bailed)
	if (!total && !empty) {
		if (rc == 0 && tap)
			result("fail", "reported no test")
		else if (rc == 0)
			result("pass", "exit code 0")
		else if (rc == 4 || rc == 77)
			result("skip", "exit code " rc)
		else
			result("fail", "exit code " rc)
		exit
	}
	if (planned && plan != total && !empty)
		result("fail", "planned " plan " tests, reported " total)
	if (rc == 124 || rc == 143 || rc == 137)
		result("fail", "killed at its time limit (exit code " rc ")")
	else if (rc != 0 && rc != 4 && rc != 77 && !count["fail"])
		result("fail", "all reported ok, but the exit code is " rc)
}
