// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * peer_boost.c - what a jump from one context of Boost to another costs, one way.
 *
 * boost/jump		the jump and the loop around it, no scheduler
 * cpu/boost/jump	the same in CPU time
 *
 * It is measured by its C symbols, so no C++ is between.  They are declared here as
 * boost/context/detail/fcontext.hpp has them, which is for C++ alone.  BENCH_OPS and
 * BENCH_RUNS are those of sched_bench.
 */
#include "bench.h"

struct transfer {
	void *from;
	void *data;
};

struct transfer jump_fcontext(void *to, void *data);
void *make_fcontext(void *top, size_t size, void (*fn)(struct transfer));

static void jumps_back(struct transfer t)
{
	for (;;)
		t = jump_fcontext(t.from, NULL);
}

int main(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	unsigned long ops = env_number("BENCH_OPS", 200000), runs = bench_runs(), i;
	struct transfer t = {
		.from = make_fcontext(stack + sizeof(stack), sizeof(stack), jumps_back),
	};
	uint64_t start, cpu;

	while (runs--) {
		start = now_ns();
		cpu = bench_cpu_ns();
		for (i = 0; i < ops; i++)
			t = jump_fcontext(t.from, NULL);
		cpu = bench_cpu_ns() - cpu;
		bench_result("boost/jump", (double)(now_ns() - start) / (double)(2 * ops));
		bench_result("cpu/boost/jump", (double)cpu / (double)(2 * ops));
	}
	return 0;
}
