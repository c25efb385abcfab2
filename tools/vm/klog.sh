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

expression=$(IFS='|'; printf '%s' "${patterns[*]}")
# Without time stamps and the console's line ends the two copies are equal.
found=$(cat -- "$@" | tr -d '\r\0' | sed -E 's/^(<[0-9]+>)?\[ *[0-9.]+\](\[[ TC0-9]+\])? //' |
	grep -aE -- "$expression" | awk '!seen[$0]++')
[ -n "$found" ] || exit 0
printf '%s\n' "$found"
exit 1
