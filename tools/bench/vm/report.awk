# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# From the rows that guest.sh left (and -v counts=FILE): the tables on standard
# output, and the same in -v tsv=FILE and -v json=FILE. Also -v kernel=, icount=,
# host=, runs=, size= and the lists parties=, transports=, conns=, outstanding=.
# Each figure is the median of the runs; a ratio is the median of the ratios
# within a round. Fails if a run is missing.

# sort_runs VALUES KEY: of all rounds, into sorted[1 ..]; returns how many.
function sort_runs(values, key,		n, i, j, x)
{
	n = 0
	for (i = 1; i <= runs; i++) {
		if (!((key, i) in values))
			continue
		x = values[key, i]
		for (j = n++; j > 0 && sorted[j] > x; j--)
			sorted[j + 1] = sorted[j]
		sorted[j + 1] = x
	}
	least = n ? sorted[1] : 0
	most = n ? sorted[n] : 0
	return n
}

# median VALUES KEY: and leaves the extremes in least and most.
function median(values, key,	n)
{
	n = sort_runs(values, key)
	if (!n)
		return 0
	return n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
}

function of(n, requests)
{
	return requests ? n / requests : 0
}

# cell_ratios KEY YARDSTICK: requests/s against it, round by round.
function cell_ratios(key, yardstick,	i)
{
	for (i = 1; i <= runs; i++)
		if ((key, i) in each && (yardstick, i) in each)
			ratio[key, i] = each[yardstick, i] / each[key, i]
}

function microseconds(ns)
{
	return sprintf(ns < 1e6 ? "%.1f" : "%.0f", ns / 1000)
}

function put(name, value, format)
{
	printf "\t" format, value > tsv
	printf ", \"%s\": " format, name, value > json
}

# row PARTY TRANSPORT CONNS OUTSTANDING: one line of everything.
function row(p, t, c, o,	key, m, r)
{
	key = p SUBSEP t SUBSEP c SUBSEP o
	cell_ratios(key, "epoll" SUBSEP t SUBSEP c SUBSEP o)
	if (sort_runs(each, key) != runs || !counted[key])
		missing = missing sprintf(" %s/%s/%s/%s", p, t, c, o)
	printf "%s\t%s\t%s\t%s", p, t, c, o > tsv
	printf "%s\n    {\"party\": \"%s\", \"transport\": \"%s\", ",
	       lines++ ? "," : "", p, t > json
	printf "\"connections\": %d, \"outstanding\": %d", c, o > json

	m = median(each, key)
	printf "%5s %-13s %9.0f %9.0f %9.0f", c, p, m, least, most
	put("requests_per_second", of(1e9, m), "%.0f")
	put("ns_per_request", m, "%.1f")
	put("ns_per_request_min", least, "%.1f")
	put("ns_per_request_max", most, "%.1f")
	r = median(ratio, key)
	final[key] = r ? sprintf("%.3f", r) : "-"
	printf " %6s", final[key]
	put("ratio_to_epoll", r, "%.4f")
	put("ratio_min", least, "%.4f")
	put("ratio_max", most, "%.4f")
	m = median(cpu, key)
	printf " %9.0f", m
	put("server_ns_per_request", m, "%.1f")
	printf " %7.3f", of(calls[key], counted[key])
	put("calls_per_request", of(calls[key], counted[key]), "%.4f")
	m = median(switches, key)
	printf " %7.3f", m
	put("switches_per_request", m, "%.4f")
	printf " %7.3f", of(wakes[key], counted[key])
	put("wakes_per_request", of(wakes[key], counted[key]), "%.4f")
	m = median(p50, key)
	printf " %8s", microseconds(m)
	put("p50_ns", m, "%.0f")
	m = median(p99, key)
	printf " %8s\n", microseconds(m)
	put("p99_ns", m, "%.0f")
	printf "\t%s\n", names[key] > tsv
	printf ", \"calls\": \"%s\"}", names[key] > json
}

function table(t, o,	heads, i, j)
{
	heads = "%5s %-13s %9s %9s %9s %6s %9s %7s %7s %7s %8s %8s\n"
	printf "\n%s, %s outstanding\n", t, o
	printf heads, "", "", unit "/req", "", "", "to", "server", "calls",
	       "switch", "wakes", "p50", "p99"
	printf heads, "conns", "party", "median", "min", "max", "epoll", "/req",
	       "/req", "/req", "/req", "us", "us"
	for (i = 1; i <= nconns; i++)
		for (j = 1; j <= nparties; j++)
			row(party[j], t, conn[i], o)
}

# ratios: parties by cells.
function ratios(	i, j, k, l)
{
	for (k = 1; k <= ntransports; k++) {
		printf "\n%-13s", "to epoll, " transport[k]
		for (l = 1; l <= nout; l++)
			for (i = 1; i <= nconns; i++)
				printf " %9s", conn[i] "x" out[l]
		print ""
		for (j = 1; j <= nparties; j++) {
			printf "%-13s", party[j]
			for (l = 1; l <= nout; l++)
				for (i = 1; i <= nconns; i++)
					printf " %9s", final[party[j],
						transport[k], conn[i], out[l]]
			print ""
		}
	}
}

BEGIN {
	FS = "\t"
	nparties = split(parties, party, " ")
	ntransports = split(transports, transport, " ")
	nconns = split(conns, conn, " ")
	nout = split(outstanding, out, " ")
	unit = icount ? "instr" : "ns"
	getline release < host
	getline model < host
	getline cpus < host
	while ((getline < counts) > 0) {
		key = $1 SUBSEP $2 SUBSEP $3 SUBSEP $4
		counted[key] = $5
		calls[key] = $6
		wakes[key] = $7
		sub(/ *$/, "", $8)
		names[key] = $8
	}
}

{
	key = $1 SUBSEP $2 SUBSEP $3 SUBSEP $4
	each[key, $5] = of($7, $6)
	p50[key, $5] = $8
	p99[key, $5] = $9
	cpu[key, $5] = of($11, $6)
	switches[key, $5] = of($12, $6)
}

END {
	printf "Linux %s, %d CPU, %s; messages of %d bytes; %d runs\n", release, cpus,
	       icount ? "guest instructions" : "wall clock", size, runs
	print "party\ttransport\tconnections\toutstanding\trequests_per_second\t" \
	      "ns_per_request\tns_per_request_min\tns_per_request_max\t" \
	      "ratio_to_epoll\tratio_min\tratio_max\tserver_ns_per_request\t" \
	      "calls_per_request\tswitches_per_request\twakes_per_request\t" \
	      "p50_ns\tp99_ns\tcalls" > tsv
	printf "{\n  \"kernel\": \"%s\", \"release\": \"%s\", \"cpu\": \"%s\",\n", kernel,
	       release, model > json
	printf "  \"cpus\": %d, \"icount\": %s, \"runs\": %d, \"message_bytes\": %d,\n  \"rows\": [",
	       cpus, icount ? "true" : "false", runs, size > json
	for (k = 1; k <= ntransports; k++)
		for (l = 1; l <= nout; l++)
			table(transport[k], out[l])
	ratios()
	printf "\n  ],\n  \"complete\": %s\n}\n", missing == "" ? "true" : "false" > json
	print "\nto epoll: its time a request over the party's; above 1 is faster than epoll."
	print "server: CPU time of its threads."
	print "calls, wakes: of its threads, counted after what was measured."
	if (!icount && model ~ /TCG/)
		print "The VM is emulated: wall-clock figures vary; see --icount."
	if (missing != "")
		print "MISSING:" missing
	print "The same as TSV and JSON:\n" tsv "\n" json
	exit missing != ""
}
