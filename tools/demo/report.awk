# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# From the rows that guest.sh left: the table on standard output, and the same as
# JSON in the file -v json=NAME. Also -v kernel=, duration=, counted=, rounds=, busy=, and
# host= (host.txt). Rates, latencies and ratios are medians of the rounds, a ratio's
# two sides being of one round; counts a request are of all rounds together. Fails if
# a row that was wanted (-v wanted="party/connections ...") is missing, has errors or
# no requests.

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

function median(v, n,	i, k, x)
{
	for (i = 2; i <= n; i++) {
		x = v[i]
		for (k = i - 1; k && v[k] > x; k--)
			v[k + 1] = v[k]
		v[k + 1] = x
	}
	return n ? n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 : 0
}

# of column @c in the rounds of @row
function middle(row, c,	v, n, r)
{
	for (r = 1; r <= rounds; r++)
		if ((row, r, c) in cell)
			v[++n] = cell[row, r, c]
	return median(v, n)
}

# the same, added; a dash stays
function sum(row, c,	n, r)
{
	for (r = 1; r <= rounds; r++) {
		if (!((row, r, c) in cell))
			continue
		if (cell[row, r, c] == "-")
			return "-"
		n += cell[row, r, c]
	}
	return n + 0
}

function json_row(row,	separator, line, part)
{
	printf "%s\n    {\"party\": \"%s\", \"connections\": %d", rows++ ? "," : "",
	       party[row], conns[row] > json
	field("requests", sum(row, 3))
	field("requests_per_second", middle(row, 4))
	field("p50_us", middle(row, 5))
	field("p99_us", middle(row, 6))
	field("errors", sum(row, 7) + sum(row, 18))
	field("busy_percent", middle(row, 8))
	field("running_percent", middle(row, 9))
	field("context_switches", sum(row, 10))
	field("parks", number(sum(row, 11)))
	field("parks_refused", number(sum(row, 12)))
	field("wakes", number(sum(row, 13)))
	field("wake_calls", number(sum(row, 14)))
	field("enters", number(sum(row, 15)))
	field("file_events", number(sum(row, 16)))
	field("counted_requests", sum(row, 17))
	field("calls_per_request", per(calls(row), sum(row, 17)))
	field("reads_per_request", per(sum(row, 19), sum(row, 17)))
	field("writes_per_request", per(sum(row, 20), sum(row, 17)))
	field("other_calls_per_request", per(sum(row, 21), sum(row, 17)))
	field("context_switches_per_request", per(sum(row, 10), sum(row, 3)))
	field("parks_per_request", number(per(sum(row, 11), sum(row, 3))))
	field("wakes_per_request", number(per(sum(row, 13), sum(row, 3))))
	printf ", \"calls\": {" > json
	separator = ""
	while ((getline line < (dir "/calls-" party[row] "-" conns[row])) > 0) {
		split(line, part, " ")
		printf "%s\"%s\": %d", separator, part[1], part[2] > json
		separator = ", "
	}
	printf "}}" > json
}

function calls(row)
{
	return sum(row, 19) + sum(row, 20) + sum(row, 21)
}

function print_row(row,	n, counted_requests)
{
	n = sum(row, 3)
	counted_requests = sum(row, 17)
	printf heads, party[row], conns[row], sprintf("%.0f", middle(row, 4)),
	       duration_of(middle(row, 5)), duration_of(middle(row, 6)),
	       sum(row, 7) + sum(row, 18), sprintf("%.1f", middle(row, 8)),
	       two(calls(row), counted_requests),
	       two(sum(row, 19), counted_requests),
	       two(sum(row, 20), counted_requests),
	       two(sum(row, 21), counted_requests), per(sum(row, 10), n),
	       per(sum(row, 11), n), per(sum(row, 13), n)
	if (turns[row] == rounds && n > 0 && counted_requests > 0 && sum(row, 7) + sum(row, 18) == 0)
		good[row] = 1
	if (conns[row] >= 64 && middle(row, 8) < 95)
		idle = idle " " row
	json_row(row)
}

# of the rates of @a and @b with @c connections: "median (least-most)"
function ratio(a, b, c,	v, n, r, value)
{
	for (r = 1; r <= rounds; r++)
		if ((a "/" c, r, 4) in cell && cell[b "/" c, r, 4] + 0)
			v[++n] = cell[a "/" c, r, 4] / cell[b "/" c, r, 4]
	if (!n)
		return "-"
	value = median(v, n)
	printf "%s\n    {\"ratio\": \"%s/%s\", \"connections\": %d, \"value\": %.3f, \"min\": %.3f, \"max\": %.3f}",
	       ratios++ ? "," : "", a, b, c, value, v[1], v[n] > json
	return sprintf("%.3f (%.2f-%.2f)", value, v[1], v[n])
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
	printf "{\n  \"kernel\": \"%s\", \"release\": \"%s\", \"tcg\": %s, \"icount\": %s,\n", kernel,
	       release, tcg ? "true" : "false", icount ? "true" : "false" > json
	printf "  \"cpus\": %d, \"clock\": \"%s\", \"file_bytes\": %d,\n", cpus,
	       clock, size > json
	printf "  \"seconds\": %d, \"rounds\": %d, \"counted_seconds\": %d, \"busy_us\": %d,\n  \"rows\": [",
	       duration, rounds, counted, busy > json
	where = cpus " virtual CPUs: server on one, wrk on the others"
	if (cpus == 1)
		where = "one virtual CPU for server and wrk"
	printf "Linux %s, %s; median of %d rounds of %d s, a file of %d bytes\n",
	       release, where, rounds, duration, size
	printf "kernel: a worker that parks looks for up to %d us before it sleeps (busy_us)\n\n", busy
	heads = "%-7s %5s %10s %10s %10s %6s %6s %6s %6s %6s %6s %8s %8s %8s\n"
	printf heads, "", "", "", "", "", "", "", "calls", "", "", "", "switches",
	       "parks", "wakes"
	printf heads, "party", "conns", "requests/s", "p50", "p99", "errors",
	       "busy %", "/req", "read", "write", "other", "/req", "/req", "/req"
}

{
	row = $1 "/" $2
	for (i = 3; i <= 21; i++)
		cell[row, $22, i] = $i
	if (!(row in party))
		all[++nr_rows] = row
	turns[row]++
	party[row] = $1
	conns[row] = $2
	if (!($2 in known))
		order[++sizes] = $2
	known[$2] = 1
}

END {
	for (i = 1; i <= nr_rows; i++)
		print_row(all[i])
	printf "\n  ],\n  \"ratios\": [" > json
	printf "\n%-24s", "requests/s, ratio"
	for (i = 1; i <= sizes; i++)
		printf "%20s", order[i] " conns"
	printf "\n%-24s", "kernel/futex"
	for (i = 1; i <= sizes; i++)
		printf "%20s", ratio("kernel", "futex", order[i])
	printf "\n%-24s", "kernel/epoll"
	for (i = 1; i <= sizes; i++)
		printf "%20s", ratio("kernel", "epoll", order[i])
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
	if (icount)
		print "A nanosecond is an instruction of the VM: compare the parties, not these figures with others."
	else if (tcg)
		print "The VM is emulated (TCG): compare the parties, not these figures with others."
	if (idle != "")
		print "Not saturated (busy below 95 %):" idle
	if (bad != "")
		print "MISSING OR WITH ERRORS:" bad
	print "The same as JSON: " json
	exit bad != ""
}
