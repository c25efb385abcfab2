// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * files.c - the files below the root folder, small ones kept in memory.
 *
 * The cache is cut into shards, each with its lock, chains and share of the
 * memory.  A lock is held for a look at a chain only, never over a system call.
 * Room is made by a clock: its hand passes the buckets and throws out what was
 * not used since it passed last.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "path.h"
#include "reply.h"

#define SHARDS		8
#define BUCKETS		128
#define SMALL_FILE	(128U * 1024)	/* the biggest that is kept */
#define CHECK_SECONDS	1

struct shard {
	pthread_mutex_t lock;		/* all of this struct */
	struct file *bucket[BUCKETS];
	unsigned int hand;
	size_t bytes;
};

struct files {
	int root;
	bool beneath;
	size_t shard_limit;
	struct shard shard[SHARDS];
};

static uint64_t hash_path(const char *path)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	while (*path)
		h = (h ^ (unsigned char)*path++) * 0x100000001b3ULL;
	return h ^ h >> 32;
}

static struct shard *shard_of(struct files *files, uint64_t hash)
{
	return &files->shard[hash % SHARDS];
}

static struct file **bucket_of(struct shard *shard, uint64_t hash)
{
	return &shard->bucket[hash / SHARDS % BUCKETS];
}

static size_t cost(const struct file *file)
{
	return file->size + sizeof(*file) + strlen(file->path);
}

struct files *files_open_root(const char *root, size_t limit, bool walk)
{
	struct files *files = calloc(1, sizeof(*files));
	int i;

	if (!files)
		return NULL;
	files->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (files->root < 0) {
		free(files);
		return NULL;
	}
	files->beneath = !walk && path_probe(files->root);
	files->shard_limit = limit / SHARDS;
	for (i = 0; i < SHARDS; i++)
		pthread_mutex_init(&files->shard[i].lock, NULL);
	return files;
}

void files_put(struct file *file)
{
	/* acq_rel: whoever frees sees every other user's reads done. */
	if (atomic_fetch_sub_explicit(&file->refs, 1, memory_order_acq_rel) > 1)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->body);
	free(file->path);
	free(file);
}

/* Take @file out of its chain; the caller puts the cache's reference. */
static void unlink_locked(struct shard *shard, struct file **at)
{
	struct file *file = *at;

	*at = file->next;
	shard->bytes -= cost(file);
}

void files_close_root(struct files *files)
{
	struct file *file;
	int i, b;

	for (i = 0; i < SHARDS; i++)
		for (b = 0; b < BUCKETS; b++)
			while ((file = files->shard[i].bucket[b])) {
				unlink_locked(&files->shard[i],
					      &files->shard[i].bucket[b]);
				files_put(file);
			}
	close(files->root);
	free(files);
}

static struct file **find_locked(struct shard *shard, const char *path,
				 uint64_t hash)
{
	struct file **at = bucket_of(shard, hash);

	while (*at && ((*at)->hash != hash || strcmp((*at)->path, path)))
		at = &(*at)->next;
	return at;
}

static struct file *lookup(struct files *files, const char *path, uint64_t hash)
{
	struct shard *shard = shard_of(files, hash);
	struct file *file;

	pthread_mutex_lock(&shard->lock);
	file = *find_locked(shard, path, hash);
	if (file) {
		file->used = true;
		atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&shard->lock);
	return file;
}

static void drop(struct files *files, const char *path, uint64_t hash)
{
	struct shard *shard = shard_of(files, hash);
	struct file **at, *file;

	pthread_mutex_lock(&shard->lock);
	at = find_locked(shard, path, hash);
	file = *at;
	if (file)
		unlink_locked(shard, at);
	pthread_mutex_unlock(&shard->lock);
	if (file)
		files_put(file);
}

/* Let the hand go on until @need bytes fit; what falls goes to @victims. */
static void make_room_locked(struct shard *shard, size_t limit, size_t need,
			     struct file **victims)
{
	unsigned int steps = 2 * BUCKETS;	/* the first clears the marks */
	struct file **at, *file;

	while (shard->bytes + need > limit && steps--) {
		at = &shard->bucket[shard->hand++ % BUCKETS];
		while ((file = *at)) {
			if (file->used) {
				file->used = false;
				at = &file->next;
				continue;
			}
			unlink_locked(shard, at);
			file->next = *victims;
			*victims = file;
		}
	}
}

/* Keep @file, if it fits at all; replaces what stood at its path. */
static void keep(struct files *files, struct file *file)
{
	struct shard *shard = shard_of(files, file->hash);
	struct file *victims = NULL, **at, *old;

	if (cost(file) > files->shard_limit)
		return;
	pthread_mutex_lock(&shard->lock);
	at = find_locked(shard, file->path, file->hash);
	old = *at;
	if (old) {
		unlink_locked(shard, at);
		old->next = NULL;
		victims = old;
	}
	make_room_locked(shard, files->shard_limit, cost(file), &victims);
	at = bucket_of(shard, file->hash);
	atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
	file->used = true;
	file->next = *at;
	*at = file;
	shard->bytes += cost(file);
	pthread_mutex_unlock(&shard->lock);
	while ((old = victims)) {
		victims = old->next;
		files_put(old);
	}
}

static int64_t ns(struct timespec t)
{
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static bool same(const struct file *file, const struct stat *st)
{
	return file->dev == st->st_dev && file->ino == st->st_ino &&
	       file->size == (uint64_t)st->st_size &&
	       file->mtime_ns == ns(st->st_mtim) &&
	       file->ctime_ns == ns(st->st_ctim);
}

static int read_all(int fd, char *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = pread(fd, buf + done, len - done, done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;	/* it became shorter */
		done += n;
	}
	return 0;
}

/* Describe the open file @fd; @fd is the new file's, or closed on errors. */
static int load(int fd, const char *path, const struct stat *st,
		struct file **out)
{
	struct file *file = calloc(1, sizeof(*file));
	int err = -ENOMEM;

	if (!file)
		goto err_close;
	file->path = strdup(path);
	if (!file->path)
		goto err_free;
	atomic_init(&file->refs, 1);
	file->fd = fd;
	file->dev = st->st_dev;
	file->ino = st->st_ino;
	file->size = st->st_size;
	file->mtime = st->st_mtime;
	file->mtime_ns = ns(st->st_mtim);
	file->ctime_ns = ns(st->st_ctim);
	file->fields_len = reply_file_fields(file->fields, path, file->size,
					     file->mtime);
	*out = file;
	if (file->size > SMALL_FILE)
		return 0;
	file->body = malloc(file->size + 1);
	err = file->body ? read_all(fd, file->body, file->size) : -ENOMEM;
	if (err) {
		files_put(file);
		return err;
	}
	close(fd);
	file->fd = -1;
	return 0;

err_free:
	free(file);
err_close:
	close(fd);
	return err;
}

/* An open regular file, or -errno. */
static int open_regular(struct files *files, const char *path, struct stat *st)
{
	int fd = path_open(files->root, path, files->beneath);
	int err = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, st))
		err = -errno;
	else if (S_ISDIR(st->st_mode))
		err = -EISDIR;
	else if (!S_ISREG(st->st_mode))
		err = -EACCES;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Is it this request's turn to look at the disk?  One a second wins. */
static bool claim_check(struct file *file, uint64_t now)
{
	uint64_t seen = atomic_load_explicit(&file->checked,
					     memory_order_relaxed);

	return now - seen >= CHECK_SECONDS &&
	       atomic_compare_exchange_strong_explicit(&file->checked, &seen,
						       now,
						       memory_order_relaxed,
						       memory_order_relaxed);
}

int files_get(struct files *files, const char *path, uint64_t now,
	      struct file **out)
{
	uint64_t hash = hash_path(path);
	struct file *file = lookup(files, path, hash);
	struct stat st;
	int fd, err;

	*out = file;
	if (file && !claim_check(file, now))
		return 0;
	fd = open_regular(files, path, &st);
	if (file && fd >= 0 && same(file, &st)) {
		close(fd);
		return 0;
	}
	if (file) {
		/* Out of descriptors or memory says nothing about the file. */
		if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
			return 0;
		drop(files, path, hash);
		files_put(file);
	}
	if (fd < 0)
		return fd;
	err = load(fd, path, &st, &file);
	if (err)
		return err;
	file->hash = hash;
	atomic_init(&file->checked, now);
	if (file->body)
		keep(files, file);
	*out = file;
	return 0;
}
