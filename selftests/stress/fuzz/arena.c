// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * arena.c - memory that anybody may write to, map over and take away.
 *
 * It lies at a fixed place, far from everything else: buffers, then one window
 * for each mapping of the device, then room in which an op with a wrong length
 * does no harm.  What is not mapped in it is reserved, so that no allocation of
 * the program comes to lie there.  Accesses that fault are left out.
 */
#include <setjmp.h>

#include "fuzz.h"

#define ARENA		((char *)0x200000000000UL)
#define HELD_PAGES	16
#define HELD_SIZE	(HELD_PAGES * 4096UL)
#define BUFFERS_SIZE	(BUFFERS * BUFFER_SIZE)
#define ROOM		(16UL << 30)

static char *const buffers = ARENA;
static char *const held = ARENA + BUFFERS_SIZE;
static char *const windows = ARENA + 4 * WINDOW_SIZE;
static int held_fd = -1;

/* Changes of a window are made one at a time. */
static pthread_mutex_t window_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int fd;
	size_t size;
	uint64_t offset;
} mapped[WINDOWS];

static __thread sigjmp_buf *recover;

static void on_fault(int signal)
{
	if (recover)
		siglongjmp(*recover, 1);
	/* a fault of this program */
	sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

static void *reserve(void *where, size_t size)
{
	return mmap(where, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		    MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Pages that are not there: who touches them waits for held_step(). */
static void hold_pages(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
		.range = { (uintptr_t)held, HELD_SIZE },
	};

	check(mmap(held, HELD_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == held);
	held_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	/* under fault injection there may be none */
	if (held_fd < 0 || ioctl(held_fd, UFFDIO_API, &api) ||
	    ioctl(held_fd, UFFDIO_REGISTER, &reg))
		held_fd = -1;
}

void arena_make(void)
{
	struct sigaction action = {
		.sa_handler = on_fault,
		.sa_flags = SA_NODEFER,
	};

	check(reserve(ARENA, (size_t)(windows - ARENA) +
		      WINDOWS * WINDOW_SIZE + ROOM) == ARENA);
	check(mmap(buffers, BUFFERS_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == buffers);
	hold_pages();
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

char *window_base(unsigned int window)
{
	return windows + window * WINDOW_SIZE;
}

/* The accesses; the last one is in a function of its own, for setjmp's sake. */
enum access { READ32, WRITE32, WRITE_BYTES };

static bool touch(enum access access, void *p, const void *from, size_t size,
		  uint32_t *value)
{
	sigjmp_buf here;

	if (sigsetjmp(here, 0)) {
		recover = NULL;
		atomic_fetch_add(&shared->faults, 1);
		return false;
	}
	recover = &here;
	if (access == READ32)
		*value = __atomic_load_n((uint32_t *)p, __ATOMIC_ACQUIRE);
	else if (access == WRITE32)
		__atomic_store_n((uint32_t *)p, *value, __ATOMIC_RELEASE);
	else
		memcpy(p, from, size);
	__asm__ volatile("" ::: "memory");
	recover = NULL;
	return true;
}

/* 0 if it cannot be read. */
uint32_t peek32(const void *p)
{
	uint32_t value = 0;

	touch(READ32, (void *)p, NULL, 0, &value);
	return value;
}

bool poke32(void *p, uint32_t value)
{
	return touch(WRITE32, p, NULL, 0, &value);
}

bool poke_bytes(void *p, const void *from, size_t size)
{
	return touch(WRITE_BYTES, p, from, size, NULL);
}

void *arena_buffer(struct rng *r)
{
	size_t offset = below(r, BUFFERS_SIZE - 8192);

	return buffers + (one_in(r, 4) ? offset : offset & ~63UL);
}

/* Not a good address, or the pages that are shared with the kernel. */
uint64_t hostile_address(struct rng *r)
{
	switch (below(r, 8)) {
	case 0:	return 0;
	case 1:	return 0xffff888000000000ULL | (rnd(r) & 0xfffffff8);
	case 2:	return 0x00007ffffffff000ULL - below(r, 4096);
	case 3:	return ~0ULL - below(r, 64);
	case 4:	return rnd(r) | 1ULL << 62;
	case 5:	return (uintptr_t)held + below(r, HELD_SIZE);
	/* reserved: cannot be touched */
	case 6:	return (uintptr_t)held + HELD_SIZE + below(r, 4096);
	default: return (uintptr_t)window_base(below(r, WINDOWS)) +
			below(r, 16384);
	}
}

uint64_t any_address(struct rng *r)
{
	return one_in(r, 12) ? hostile_address(r) : (uintptr_t)arena_buffer(r);
}

bool arena_map(struct rng *r, unsigned int window, int fd, size_t size,
	       uint64_t offset)
{
	int prot = one_in(r, 16) ? (int)below(r, 8) : PROT_READ | PROT_WRITE;
	int flags = one_in(r, 32) ? MAP_PRIVATE : MAP_SHARED;
	void *p;

	if (one_in(r, 16))
		size = (size_t)below(r, 64) * 4096 + 1;
	if (!size || size > WINDOW_SIZE)
		size = 4096;
	if (one_in(r, 32))
		offset = rnd(r) & ~4095ULL;
	pthread_mutex_lock(&window_lock);
	p = mmap(window_base(window), size, prot, flags | MAP_FIXED, fd,
		 (off_t)offset);
	if (p != MAP_FAILED) {
		mapped[window].fd = fd;
		mapped[window].size = size;
		mapped[window].offset = offset;
	}
	/* what a mapping that failed has taken away */
	if (p == MAP_FAILED)
		reserve(window_base(window), WINDOW_SIZE);
	pthread_mutex_unlock(&window_lock);
	return p != MAP_FAILED;
}

static const int advices[] = {
	MADV_DONTNEED, MADV_DOFORK, MADV_DONTFORK, MADV_REMOVE, MADV_HUGEPAGE,
	MADV_WILLNEED, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_WRITE,
	MADV_MERGEABLE, MADV_DODUMP, MADV_FREE,
};

/* Within its window, and back; the place it has left is reserved again. */
static void move_window(struct rng *r, char *base, size_t size)
{
	char *to = base + WINDOW_SIZE / 2;
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
	void *p;

	if (size > WINDOW_SIZE / 2)
		return;
	if (one_in(r, 8))
		flags |= MREMAP_DONTUNMAP;
	p = mremap(base, one_in(r, 8) ? 0 : size, size, flags, to);
	if (p != MAP_FAILED && !one_in(r, 4))
		mremap(to, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, base);
	else if (p != MAP_FAILED)
		reserve(base, size);
}

static void resize_window(struct rng *r, char *base, size_t size)
{
	size_t other = (size_t)(1 + below(r, 64)) * 4096;
	void *p = mremap(base, size, other, 0);

	if (p != MAP_FAILED && other < size)
		reserve(base + other, size - other);
}

/* One change of a random window. */
void arena_change(struct rng *r)
{
	unsigned int window = below(r, WINDOWS);
	char *base = window_base(window);
	size_t size, part;

	pthread_mutex_lock(&window_lock);
	size = mapped[window].size ? (mapped[window].size + 4095) & ~4095UL : 4096;
	part = (size_t)below(r, (uint32_t)(size / 4096)) * 4096;
	switch (below(r, 8)) {
	case 0:
		reserve(base, WINDOW_SIZE);
		break;
	case 1:
		/* a piece from the middle */
		reserve(base + part, 4096);
		break;
	case 2:
		mprotect(base + part, size - part, (int)below(r, 8));
		break;
	case 3:
		mprotect(base, size, PROT_READ | PROT_WRITE);
		break;
	case 4:
		move_window(r, base, size);
		break;
	case 5:
		resize_window(r, base, size);
		break;
	case 6:
		syscall(SYS_remap_file_pages, base, size, 0, part / 4096, 0);
		break;
	default:
		madvise(base, size, advices[below(r, sizeof(advices) /
						 sizeof(advices[0]))]);
	}
	pthread_mutex_unlock(&window_lock);
}

/* A value that somebody might take seriously. */
static uint32_t bad_value(struct rng *r, const void *p)
{
	switch (below(r, 6)) {
	case 0:	return 0;
	case 1:	return ~0U;
	case 2:	return peek32(p) + below(r, 8) - 4;
	case 3:	return peek32(p) ^ 1U << below(r, 32);
	case 4:	return 1U << below(r, 32);
	default: return (uint32_t)rnd(r);
	}
}

/* A few words of a random window: its first page mostly, or its rings. */
void scribble(struct rng *r)
{
	char *base = window_base(below(r, WINDOWS));
	unsigned int n = 1 + below(r, 16);
	char *p;

	while (n--) {
		p = base + (one_in(r, 3) ? below(r, 65536) : below(r, 320)) / 4 * 4;
		if (!poke32(p, bad_value(r, p)))
			return;
	}
}

/* Let go who waits for a held page, or take the pages away again. */
void held_step(struct rng *r)
{
	struct uffd_msg msg;
	struct uffdio_zeropage zero = { .range.len = 4096 };

	if (held_fd < 0)
		return;
	if (one_in(r, 8))
		madvise(held, HELD_SIZE, MADV_DONTNEED);
	while (read(held_fd, &msg, sizeof(msg)) == (ssize_t)sizeof(msg)) {
		if (msg.event != UFFD_EVENT_PAGEFAULT)
			continue;
		zero.range.start = msg.arg.pagefault.address & ~4095ULL;
		if (ioctl(held_fd, UFFDIO_ZEROPAGE, &zero) < 0)
			ioctl(held_fd, UFFDIO_WAKE, &zero.range);
	}
}
