/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* carrier_help.h - what the control page says of carriers. */
#ifndef ROOST_TEST_CARRIER_HELP_H
#define ROOST_TEST_CARRIER_HELP_H

#include "roost_test.h"

static inline void set_parameter(const char *name, unsigned int value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/roost/parameters/%s", name);
	f = fopen(path, "we");
	check(f);
	check(fprintf(f, "%u", value) > 0);
	check(fclose(f) == 0);
}

static inline unsigned int get_parameter(const char *name)
{
	unsigned int value;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/roost/parameters/%s", name);
	f = fopen(path, "re");
	check(f);
	check(fscanf(f, "%u", &value) == 1);
	fclose(f);
	return value;
}

/* 0 or -errno; @is: what it is then, room for 16. */
static inline int try_parameter(const char *name, const char *value, char *is)
{
	char path[128];
	int fd, ret = 0;

	snprintf(path, sizeof(path), "/sys/module/roost/parameters/%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	check(fd >= 0);
	/* Nothing would not be written at all. */
	if (write(fd, *value ? value : "\n", *value ? strlen(value) : 1) < 0)
		ret = -errno;
	memset(is, 0, 16);
	check(pread(fd, is, 15, 0) > 0);
	is[strcspn(is, "\n")] = '\0';
	check(close(fd) == 0);
	return ret;
}

/* For domains that are made from now on. */
static inline void want_carriers(bool on)
{
	set_parameter("carriers", on);
}

#define LACKING	"no ROOST_FEAT_CARRIERS: a kernel without CONFIG_PREEMPT_NOTIFIERS"

static inline bool bit_of(const __u64 *mask, const struct wrk *w)
{
	const uint8_t *byte = (const uint8_t *)mask + w->params.index / 8;

	return __atomic_load_n(byte, __ATOMIC_ACQUIRE) & idle_bit_of(w);
}

static inline bool on_cpu(const struct dom *d, const struct wrk *w)
{
	return bit_of(d->control->on_cpu, w);
}

static inline bool blocked(const struct dom *d, const struct wrk *w)
{
	return bit_of(d->control->blocked, w);
}

static inline bool wait_for(const __u64 *mask, const struct wrk *w, bool value)
{
	uint64_t limit = now_ns() + wide(10 * SEC);

	while (bit_of(mask, w) != value) {
		if (now_ns() > limit)
			return false;
		sleep_ns(MSEC / 5);
	}
	return true;
}

static inline bool has_carriers(const struct dom *d)
{
	return d->params.features & ROOST_FEAT_CARRIERS;
}

/* As a carrier: false if displaced. */
static inline bool go_inside(const struct wrk *w, uint64_t lease)
{
	uint32_t outside = roost_outside(lease);

	return __atomic_compare_exchange_n(&w->page->in_library, &outside,
					   roost_inside(lease), false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void go_outside(const struct wrk *w, uint64_t lease)
{
	__atomic_store_n(&w->page->in_library, roost_outside(lease),
			 __ATOMIC_RELEASE);
}

#endif /* ROOST_TEST_CARRIER_HELP_H */
