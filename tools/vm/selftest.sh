#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Tests the VM runner: what goes wrong in a guest must come out as a failure, and
# nothing else may. TAP; takes about one minute.
#
#   tools/vm/selftest.sh [KERNEL]

set -u
# shellcheck source=tools/common.sh
. "$(dirname "$0")/../common.sh"

kernel=${1:-6.12}
klog=$ROOST_TOP/tools/vm/klog.sh
tmp=$(mktemp -d) || exit 125
trap 'rm -rf "$tmp"' EXIT
number=0 bad=0

# report RESULT NAME: one TAP line; RESULT is 0 for good.
report()
{
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		printf 'ok %d %s\n' $number "$2"
		return
	fi
	bad=1
	printf 'not ok %d %s\n' $number "$2"
	sed 's/^/# out: /' "$tmp/out" | tail -n 20
	sed 's/^/# err: /' "$tmp/err" | tail -n 60
}

# run ARGS...: one boot; sets rc, leaves $tmp/out and $tmp/err.
run()
{
	"$ROOST_TOP/tools/vm/run.sh" --kernel "$kernel" --no-module --timeout 120 \
		--log "$tmp/log" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	rc=$?
}

# said PATTERN: the runner explained itself.
said()
{
	grep -qE -- "$1" "$tmp/err"
}

build_faults()
{
	local headers

	cp -R "$ROOST_TOP/tools/vm/faults" "$tmp/" &&
	headers=$("$ROOST_TOP/tools/kernel/kernel.sh" "$kernel" headers) &&
	make -s -C "$headers" M="$tmp/faults" modules
}

# race FIRST SECOND: a report of KCSAN about two accesses, with a stack of both.
race()
{
	printf '[    3.5] %s\n' '==================================================' \
		"BUG: KCSAN: data-race in ${1%% *} / ${2%% *}" '' \
		'write to 0xffff888003d0c000 of 8 bytes by task 71 on cpu 0:'
	printf '[    3.5]  %s+0x1/0x2\n' $1
	printf '[    3.5] %s\n' '' 'read (marked) to 0xffff888003d0c000 of 8 bytes by task 72 on cpu 1:'
	printf '[    3.5]  %s+0x1/0x2\n' $2
	printf '[    3.5] %s\n' '' 'value changed: 0x1 -> 0x2' '' \
		'Reported by Kernel Concurrency Sanitizer on:' \
		'CPU: 1 PID: 72 Comm: worker Not tainted' \
		'=================================================='
}

test_races()
{
	local verdict=0

	: > "$tmp/err"
	race 'tick_do_update do_timer' 'ktime_get roost_expire' > "$tmp/line"
	"$klog" "$tmp/line" >"$tmp/out" || verdict=1
	race 'tick_do_update do_timer' '_find_first_bit roost_pick' |
		sed 's/\(roost_[a-z]*+.*\)/\1 [roost]/' > "$tmp/line"
	! "$klog" "$tmp/line" >"$tmp/out" || verdict=2
	race 'find_busiest_group load_balance' '_find_first_bit pick_next' >> "$tmp/line"
	"$klog" "$tmp/line" >>"$tmp/out"
	[ "$(grep -c KCSAN "$tmp/out")" = 2 ] || verdict=3
	# a report that was cut off counts
	race 'tick_do_update' 'ktime_get' | head -n 2 > "$tmp/line"
	! "$klog" "$tmp/line" >>"$tmp/out" || verdict=4
	echo "step $verdict" >> "$tmp/err"
	report $verdict "races count if they are the module's"
}

test_klog()
{
	local line verdict=0

	while read -r line; do
		printf '[   12.345678] %s\r\n' "$line" > "$tmp/line"
		if "$klog" "$tmp/line" >"$tmp/out"; then
			verdict=1
			printf 'missed: %s\n' "$line" >> "$tmp/err"
		fi
	done <<'END'
Kernel panic - not syncing: Attempted to kill init!
BUG: kernel NULL pointer dereference, address: 0000000000000000
BUG: KASAN: slab-use-after-free in roost_poll_wake+0x12/0x80 [roost]
kernel BUG at kernel/sched/core.c:1234!
Oops: 0002 [#1] PREEMPT SMP NOPTI
WARNING: CPU: 0 PID: 71 at kmod/park.c:60 roost_park+0x1/0x2 [roost]
WARNING: possible circular locking dependency detected
WARNING: possible recursive locking detected
WARNING: inconsistent lock state
WARNING: suspicious RCU usage
WARNING: bad unlock balance detected!
[ BUG: Invalid wait context ]
INFO: trying to register non-static key.
INFO: task worker:81 blocked for more than 120 seconds.
rcu: INFO: rcu_preempt self-detected stall on CPU
rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
watchdog: BUG: soft lockup - CPU#1 stuck for 134s! [worker:81]
UBSAN: shift-out-of-bounds in kmod/wheel.c:80:12
BUG: KCSAN: data-race in roost_wake / roost_park
kmemleak: unreferenced object 0xffff888003d0c000 (size 64):
ODEBUG: free active (active state 0) object: 000000 object type: hrtimer
list_add corruption. prev->next should be next (ffff), but was ffff.
refcount_t: underflow; use-after-free.
general protection fault, probably for non-canonical address 0xdead000000000108
BUG: sleeping function called from invalid context at mm/slab.h:494
BUG: scheduling while atomic: worker/81/0x00000002
BUG roost_op (Tainted: G): Objects remaining in roost_op on __kmem_cache_shutdown()
END
	report $verdict 'the log check finds each kind of report'
	test_races

	printf '[    1.0] %s\n' \
		'roost: loading out-of-tree module taints kernel.' \
		'roost: module verification failed: signature and/or required key missing - tainting kernel' \
		'FAULT_INJECTION: forcing a failure.' 'Call Trace:' \
		'debug: 3 workers' 'traps: worker[81] trap int3 ip:401136' \
		'worker[81]: segfault at 0 ip 000000000040113a sp 00007ffd error 6' \
		> "$tmp/line"
	"$klog" "$tmp/line" >"$tmp/err"
	report $? 'the log check is silent about ordinary lines'
}

test_output()
{
	head -c 100000 /dev/urandom > "$tmp/data"
	# shellcheck disable=SC2016 # the guest's shell expands it
	run --out "$tmp/back" --file "$tmp/data:/roost/in" --prog bash \
		--env "WORD=it's a \"word\"" -- sh -c '
		bash -c "seq 1 60000"; echo "$WORD"; cat in > /out/data
		echo complaint >&2; exit 3'
	{ seq 1 60000; printf '%s\n' "it's a \"word\"" complaint; } |
		cmp -s - "$tmp/out"
	report $? 'output arrives whole, from a program of this machine'
	[ $rc = 3 ]
	report $? "the exit code is the command's"
	cmp -s "$tmp/data" "$tmp/back/data"
	report $? 'files travel both ways unharmed'
}

test_hang()
{
	run --timeout 10 -- sh -c 'echo started; sleep 1000'
	[ $rc = 125 ] && said 'no end of the command within 10 s' && grep -q started "$tmp/out"
	report $? 'a command that hangs is a failure'
}

test_no_boot()
{
	printf '#!/bin/sh\nsleep 1000\n' > "$tmp/stuck"
	chmod +x "$tmp/stuck"
	run --boot-timeout 5 --file "$tmp/stuck" --append rdinit=/roost/stuck -- true
	[ $rc = 125 ] && said 'was not started: once more' &&
		said 'FAILED: no end of the boot within 5 s'
	report $? 'a boot that hangs is tried again, and then a failure'
}

test_no_token()
{
	run -- sh -c 'echo nearly; reboot -f'
	[ $rc = 125 ] && said 'without the success token'
	report $? 'an early end without the token is a failure'
}

test_fault()
{
	run --file "$tmp/faults/faults.ko" -- insmod faults.ko fault="$1"
	[ $rc = 125 ] && said "$2"
	report $? "a kernel $1 is a failure"
}

test_notice()
{
	run --file "$tmp/faults/faults.ko" -- sh -c '
		insmod faults.ko fault=notice && rmmod faults'
	[ $rc = 0 ] && grep -q 'but a notice' "$tmp/log/kernel.log" &&
		grep -q 'but a notice' "$tmp/log/dmesg.log"
	report $? 'a kernel notice is none, and is in both logs'
}

test_panic()
{
	run -- sh -c 'echo c > /proc/sysrq-trigger'
	[ $rc = 125 ] && said 'Kernel panic'
	report $? 'a panic is a failure'
}

test_bad_module()
{
	cp /usr/bin/true "$tmp/roost.ko"
	"$ROOST_TOP/tools/vm/run.sh" --kernel "$kernel" --ko "$tmp/roost.ko" \
		--timeout 120 --log "$tmp/log" -- true >"$tmp/out" 2>"$tmp/err" </dev/null
	rc=$?
	[ $rc = 125 ] && said 'does not load'
	report $? 'a module that does not load is a failure'
}

printf 'TAP version 13\n1..14\n'
: > "$tmp/out"
: > "$tmp/err"
build_faults >&2 || { printf 'Bail out! faults.ko does not build\n'; exit 1; }
test_klog
test_output
test_hang
test_no_boot
test_no_token
test_fault warn 'WARNING: .*faults_init'
test_fault oops 'NULL pointer dereference'
test_notice
test_panic
test_bad_module
exit $bad
