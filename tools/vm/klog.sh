#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Looks for trouble in kernel logs.
#
#   tools/vm/klog.sh LOG...
#
# Prints each line that reports a fault (once, though it stands in two logs) and
# exits 1 if there is any. A warning has no meaning that may be waved through:
# there is no list of exceptions. Injected failures ("FAULT_INJECTION: forcing a
# failure" and its stack) are not reports.
#
# Of KCSAN's reports, which a strict checker makes many of about the kernel itself,
# those count that are about the module: where one of the two who met is in it, or in
# a helper that it has called, like a copy to user space or a list's functions.

set -u

patterns=(
	'Kernel panic'
	'\bBUG\b'
	'WARNING:'
	'\bOops\b'
	'general protection fault'
	'unable to handle'
	'divide error:'
	'invalid opcode:'
	'stack segment:'
	'double fault'
	# lockdep, RCU, scheduler
	'INFO: (possible|suspicious|inconsistent|trying|task|rcu)'
	'possible .*(locking|deadlock|recursive)'
	'bad unlock balance'
	'(blocked for more than|hung_task)'
	'rcu: .*(stall|starved)'
	'detected (expedited )?stalls?'
	'self-detected stall'
	'soft lockup'
	'hard LOCKUP'
	'scheduling while atomic'
	'sleeping function called'
	# sanitizers and allocator checks
	'\b(KASAN|UBSAN|KCSAN|KMSAN|KFENCE):'
	'\bODEBUG:'
	'kmemleak: .*(unreferenced object|new suspected)'
	'(list_add|list_del|corrupted list).*corruption'
	'(corrupted|bad) page'
	'refcount_t:'
	'Bad (page|rss-counter) (state|map)'
	'Objects remaining'
	'slab .* (corruption|overwritten)'
	'sysfs: cannot create duplicate'
	'unregister_netdevice: waiting'
	'disagrees about version of symbol'
	'Unknown symbol'
)

# ours: leave out the titles of KCSAN's reports about others. An access is described by
# a line that ends in a colon, and below it a stack, innermost function first.
ours()
{
	awk '
	function judge()
	{
		if (title != "" && (mine || !accesses))
			print title
		title = ""
	}
	/BUG: KCSAN:/ {
		judge()
		title = $0
		mine = /[^[:alnum:]]roost/
		accesses = inside = 0
		next
	}
	title != "" && /^(=====|Reported by Kernel Concurrency)/ { judge() }
	title != "" && /^(race at|read|write|assert|read-write).* (by|at) .*:$/ {
		accesses++
		inside = 1
		next
	}
	title != "" && inside && /^ [^ ]+\+0x/ {
		if (/\[roost/)
			mine = 1
		# whose helper it is, the next one tells
		if (!/^ (_?_?_?(copy|get|put|clear|mem|list|hlist|llist|rb|find|bitmap|xa|kref|refcount|rcuref|put_user|get_user|instrument|kasan_check|csum|strn?)[_[:alnum:]]*)\+0x/)
			inside = 0
		next
	}
	{ print }
	END { judge() }'
}

expression=$(IFS='|'; printf '%s' "${patterns[*]}")
# Without time stamps and the console's line ends the two copies are equal.
found=$(cat -- "$@" | tr -d '\r\0' | sed -E 's/^(<[0-9]+>)?\[ *[0-9.]+\](\[[ TC0-9]+\])? //' |
	ours | grep -aE -- "$expression" | awk '!seen[$0]++')
[ -n "$found" ] || exit 0
printf '%s\n' "$found"
exit 1
