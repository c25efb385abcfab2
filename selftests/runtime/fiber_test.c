// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * fiber_test.c - what the sanitizers are told of switches between contexts.
 *
 * The library's file is compiled here with both sanitizers' notes in it and without
 * the sanitizers; what they would be told comes to this file instead, in order.
 */
#include "run.h"

#if SANITIZED_BUILD

/* The sanitizer is there, and told. */
ROOST_TEST(each_switch_is_told_before_and_after)
{
	SKIP("built with a sanitizer");
}

#else

#define ROOST_ASAN 1
#define ROOST_TSAN 1
#include "ctx.c"

struct note {
	char what;		/* s, f: ASan's two; t, c, d: TSan's; u: unpoison */
	const void *a;
	const void *b;
	size_t size;
};

static struct note notes[64];
static unsigned int nr_notes;
static char fibers[8], thread_fiber;
static unsigned int nr_fibers;

static void take_note(char what, const void *a, const void *b, size_t size)
{
	if (nr_notes < sizeof(notes) / sizeof(notes[0]))
		notes[nr_notes++] = (struct note){ what, a, b, size };
}

void __sanitizer_start_switch_fiber(void **fake, const void *low, size_t size)
{
	if (fake)
		*fake = &notes[nr_notes];
	take_note('s', fake, low, size);
}

void __sanitizer_finish_switch_fiber(void *fake, const void **low, size_t *size)
{
	CHECK(!low && !size);
	take_note('f', fake, NULL, 0);
}

void __asan_unpoison_memory_region(void const volatile *at, size_t size)
{
	take_note('u', (const void *)at, NULL, size);
}

void *__tsan_get_current_fiber(void)
{
	return &thread_fiber;
}

void *__tsan_create_fiber(unsigned int flags)
{
	CHECK_EQ(flags, 0);
	take_note('c', &fibers[nr_fibers], NULL, 0);
	return &fibers[nr_fibers++];
}

void __tsan_destroy_fiber(void *fiber)
{
	take_note('d', fiber, NULL, 0);
}

void __tsan_switch_to_fiber(void *fiber, unsigned int flags)
{
	CHECK_EQ(flags, 0);
	take_note('t', fiber, NULL, 0);
}

static struct ctx main_ctx, side_ctx;
static char stack[65536] __attribute__((aligned(16)));

static void side_main(void *arg)
{
	int turns = *(int *)arg;

	ctx_entered(&side_ctx);
	while (turns--)
		ctx_switch(&side_ctx, &main_ctx);
	ctx_leave(&side_ctx, &main_ctx);
}

/* The next three notes: of a switch to @to, and of its arrival there. */
static void expect_switch(unsigned int *at, const struct ctx *from,
			  const struct ctx *to, bool last)
{
	const struct note *n = &notes[*at];

	CHECK_EQ(n[0].what, 's');
	CHECK(n[0].a == (last ? NULL : (const void *)&from->fake));
	CHECK(n[0].b == to->low && n[0].size == to->size && to->size);
	CHECK_EQ(n[1].what, 't');
	CHECK(n[1].a == (to == &side_ctx ? (void *)&fibers[0] :
					   (void *)&thread_fiber));
	/* On the other side, with what was kept when it was left. */
	CHECK_EQ(n[2].what, 'f');
	CHECK(n[2].a == to->fake);
	*at += 3;
}

/* S3-63: all of one life: made, gone to and fro, left for good, destroyed. */
ROOST_TEST(each_switch_is_told_before_and_after)
{
	unsigned int at = 0;
	int turns = 3, i;

	ctx_init_thread(&main_ctx);
	CHECK(main_ctx.low <= (void *)&at &&
	      (char *)&at < (char *)main_ctx.low + main_ctx.size);
	ctx_make(&side_ctx, stack, sizeof(stack), side_main, &turns);
	CHECK(side_ctx.low == stack && side_ctx.size == sizeof(stack));
	for (i = 0; i < 4; i++) {
		nr_notes = i ? 0 : nr_notes;
		ctx_switch(&main_ctx, &side_ctx);
		if (!i) {
			CHECK_EQ(notes[0].what, 'u');
			CHECK(notes[0].a == stack);
			CHECK_EQ(notes[0].size, sizeof(stack));
			CHECK_EQ(notes[1].what, 'c');
		}
		CHECK_EQ(nr_notes, i ? 6 : 8);
		at = i ? 0 : 2;
		/* It came in anew, or where it had left. */
		CHECK_EQ(notes[at].what, 's');
		CHECK(notes[at].a == (void *)&main_ctx.fake);
		CHECK(notes[at].b == stack);
		CHECK_EQ(notes[at + 2].what, 'f');
		at += 3;
		expect_switch(&at, &side_ctx, &main_ctx, i == 3);
	}
	nr_notes = 0;
	ctx_destroy(&side_ctx);
	CHECK_EQ(nr_notes, 1);
	CHECK_EQ(notes[0].what, 'd');
	CHECK(notes[0].a == &fibers[0]);
	CHECK_EQ(nr_fibers, 1);
}

#endif
