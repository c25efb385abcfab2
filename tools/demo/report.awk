# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# From the rows that guest.sh left: the table on standard output, and the same as
# JSON in the file -v json=NAME. Also -v kernel=, duration=, counted=, and host=
# (host.txt). Fails if a row that was wanted (-v wanted="party/connections ...") is
# missing, has errors or no requests.

function per(n, of)
{
	return n == "-" ? "-" : sprintf("%.3f", of ? n / of : 0)
}

function two(n, of)
{
	return sprintf("%.2f", of ? n / of : 0)
}

function number(n)
{
	return n == "-" ? "null" : n
}

function field(name, value)
{
	printf ", \"%s\": %s", name, value > json
}

function duration_of(us)
{
	if (us < 1000)
		return us " us"
	if (us < 1000000)
		return sprintf("%.2f ms", us / 1000)
	return sprintf("%.2f s", us / 1000000)
}

function json_row(	separator, line, part)
{
	printf "%s\n    {\"party\": \"%s\", \"connections\": %d", rows++ ? "," : "",
	       $1, $2 > json
	field("requests", $3)
	field("requests_per_second", $4)
	field("p50_us", $5)
	field("p99_us", $6)
	field("errors", $7 + $18)
	field("busy_percent", $8)
	field("running_percent", $9)
	field("context_switches", $10)
	field("parks", number($11))
	field("parks_refused", number($12))
	field("wakes", number($13))
	field("wake_calls", number($14))
	field("enters", number($15))
	field("file_events", number($16))
	field("counted_requests", $17)
	field("calls_per_request", per($19 + $20 + $21, $17))
	field("reads_per_request", per($19, $17))
	field("writes_per_request", per($20, $17))
	field("other_calls_per_request", per($21, $17))
	field("context_switches_per_request", per($10, $3))
	field("parks_per_request", number(per($11, $3)))
	field("wakes_per_request", number(per($13, $3)))
	printf ", \"calls\": {" > json
	separator = ""
	while ((getline line < (dir "/calls-" $1 "-" $2)) > 0) {
		split(line, part, " ")
		printf "%s\"%s\": %d", separator, part[1], part[2] > json
		separator = ", "
	}
	printf "}}" > json
}

function ratio(a, b, c,		value)
{
	if (!((a, c) in rate) || !((b, c) in rate) || !rate[b, c])
		return "-"
	value = sprintf("%.3f", rate[a, c] / rate[b, c])
	printf "%s\n    {\"ratio\": \"%s/%s\", \"connections\": %d, \"value\": %s}",
	       ratios++ ? "," : "", a, b, c, value > json
	return value
}

BEGIN {
	FS = "\t"
	dir = host
	sub(/\/[^\/]*$/, "", dir)
	getline release < host
	getline model < host
	getline cpus < host
	getline clock < host
	getline size < host
	tcg = model ~ /TCG/
	printf "{\n  \"kernel\": \"%s\", \"release\": \"%s\", \"tcg\": %s,\n", kernel,
	       release, tcg ? "true" : "false" > json
	printf "  \"cpus\": %d, \"clock\": \"%s\", \"file_bytes\": %d,\n", cpus,
	       clock, size > json
	printf "  \"seconds\": %d, \"counted_seconds\": %d,\n  \"rows\": [", duration,
	       counted > json
	printf "Linux %s, %d virtual CPUs: server on one, wrk on the others; %d s a row, a file of %d bytes\n\n",
	       release, cpus, duration, size
	heads = "%-7s %5s %10s %10s %10s %6s %6s %6s %6s %6s %6s %8s %8s %8s\n"
	printf heads, "", "", "", "", "", "", "", "calls", "", "", "", "switches",
	       "parks", "wakes"
	printf heads, "party", "conns", "requests/s", "p50", "p99", "errors",
	       "busy %", "/req", "read", "write", "other", "/req", "/req", "/req"
}

{
	printf heads, $1, $2, sprintf("%.0f", $4), duration_of($5),
	       duration_of($6), $7 + $18, $8, two($19 + $20 + $21, $17),
	       two($19, $17), two($20, $17), two($21, $17), per($10, $3),
	       per($11, $3), per($13, $3)
	rate[$1, $2] = $4
	if ($3 > 0 && $17 > 0 && $7 + $18 == 0)
		good[$1 "/" $2] = 1
	if (!($2 in known))
		order[++sizes] = $2
	known[$2] = 1
	if ($2 >= 64 && $8 < 95)
		idle = idle " " $1 "/" $2
	json_row()
}

END {
	printf "\n  ],\n  \"ratios\": [" > json
	printf "\n%-24s", "requests/s, ratio"
	for (i = 1; i <= sizes; i++)
		printf "%10s", order[i] " conns"
	printf "\n%-24s", "kernel/futex"
	for (i = 1; i <= sizes; i++)
		printf "%10s", ratio("kernel", "futex", order[i])
	printf "\n%-24s", "kernel/epoll"
	for (i = 1; i <= sizes; i++)
		printf "%10s", ratio("kernel", "epoll", order[i])
	print "\n"
	n = split(wanted, want, " ")
	for (i = 1; i <= n; i++)
		if (!(want[i] in good))
			bad = bad " " want[i]
	printf "\n  ],\n  \"ok\": %s\n}\n", bad == "" ? "true" : "false" > json
	print "calls: a request, of them those that read, write, and the others (waits and wake-ups);"
	print "parks: times that a worker went to sleep; wakes: times that another thread woke it."
	print "calls: system calls of the server, counted by the kernel in a run of their own (" counted " s)."
	print "busy: share of the time that the server's busiest thread ran or was waiting for its CPU."
	if (tcg)
		print "The VM is emulated (TCG): compare the parties, not these figures with others."
	if (idle != "")
		print "Not saturated (busy below 95 %):" idle
	if (bad != "")
		print "MISSING OR WITH ERRORS:" bad
	print "The same as JSON: " json
	exit bad != ""
}
