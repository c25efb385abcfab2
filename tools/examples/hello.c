// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* hello.c - a few actors that sleep side by side, and one that waits. */
#include <stdio.h>
#include <roost/roost.h>

static void greeter(void *arg)
{
	int number = *(int *)arg;

	roost_sleep(ROOST_MSEC(100 * number));
	printf("hello from actor %d\n", number);
}

static void root(void *arg)
{
	int numbers[] = { 3, 1, 2 };
	roost_pid pids[3];

	(void)arg;
	for (int i = 0; i < 3; i++)
		if (roost_spawn(greeter, &numbers[i], &pids[i]))
			return;
	for (int i = 0; i < 3; i++)
		roost_join(pids[i], ROOST_FOREVER);
	puts("all said hello");
}

int main(void)
{
	return roost_run(NULL, root, NULL) ? 1 : 0;
}
