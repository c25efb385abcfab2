// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * profile_plugin.c - counts guest instructions by address, inside QEMU.
 *
 * For each block of guest code: its address, its length in instructions, and how
 * often it was entered, as lines of text in the file that the argument out= names.
 *
 * The few declarations that are needed of QEMU's plugin interface (version 2) stand
 * here, since Debian does not package its header.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define BUCKETS (1U << 16)

struct qemu_plugin_tb;

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*fn)(uint64_t id,
						      struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*fn)(unsigned int cpu, void *arg),
					  int flags, void *arg);
void qemu_plugin_register_atexit_cb(uint64_t id,
				    void (*fn)(uint64_t id, void *arg),
				    void *arg);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);

EXPORT int qemu_plugin_version = 2;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc,
			       char **argv);

/* One block, however often it was translated. */
struct block {
	uint64_t address;
	size_t length;
	uint64_t count;
	struct block *next;
};

static struct block *blocks[BUCKETS];
static const char *out;

/* One virtual CPU at a time: the profile is taken with --icount. */
static void entered(unsigned int cpu, void *arg)
{
	struct block *b = arg;

	(void)cpu;
	b->count++;
}

static struct block *find(uint64_t address, size_t length)
{
	struct block **head = &blocks[address * 0x9e3779b97f4a7c15ULL >> 48];
	struct block *b;

	for (b = *head; b; b = b->next)
		if (b->address == address && b->length == length)
			return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		abort();
	b->address = address;
	b->length = length;
	b->next = *head;
	*head = b;
	return b;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	struct block *b = find(qemu_plugin_tb_vaddr(tb),
			       qemu_plugin_tb_n_insns(tb));

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, entered, 0, b);
}

static void write_all(uint64_t id, void *arg)
{
	FILE *f = fopen(out, "w");
	struct block *b;
	unsigned int i;

	(void)id;
	(void)arg;
	if (!f)
		return;
	for (i = 0; i < BUCKETS; i++)
		for (b = blocks[i]; b; b = b->next)
			fprintf(f, "%llx %zu %llu\n",
				(unsigned long long)b->address, b->length,
				(unsigned long long)b->count);
	fclose(f);
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = strdup(argv[i] + 4);
	if (!out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, write_all, NULL);
	return 0;
}
