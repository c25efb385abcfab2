/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * files.h - the files below the root folder, small ones kept in memory.
 *
 * Contents that are handed out never change; an entry is looked at on disk at
 * most once a second, by the request that finds it old.  Calls may come from
 * any number of threads.  They use the file system and so can make their
 * worker wait for a disk, never for a FIFO, a terminal or a network peer.
 */
#ifndef HTTPD_FILES_H
#define HTTPD_FILES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define FILES_MAX_FIELDS	256

struct files;

/**
 * struct file - a file as one response sees it
 * @fd:		a big one, at offset 0, or -1: then @body is all of it
 * @body:	contents, or NULL
 * @size:	bytes
 * @mtime:	last change, seconds
 * @fields:	Content-Type, Content-Length and Last-Modified lines
 * @fields_len:	bytes of @fields
 *
 * The rest is private.
 */
struct file {
	int fd;
	char *body;
	uint64_t size;
	time_t mtime;
	size_t fields_len;
	char fields[FILES_MAX_FIELDS];

	atomic_uint refs;
	_Atomic uint64_t checked;	/* seconds, when seen on disk */
	uint64_t dev, ino;
	int64_t mtime_ns, ctime_ns;
	uint64_t hash;
	struct file *next;		/* in its chain, under the shard's lock */
	bool used;			/* since the clock's hand passed, same */
	char *path;
};

/**
 * files_open_root() - serve the files below a folder
 * @root:	path of the folder
 * @limit:	bytes of contents to keep in memory
 * @walk:	do not use openat2(2) even if there is one
 *
 * Return: what the other calls take, or NULL with errno set.
 */
struct files *files_open_root(const char *root, size_t limit, bool walk);

/** files_close_root() - give everything back; nothing may be held any more */
void files_close_root(struct files *files);

/**
 * files_get() - the file at a path
 * @files:	the root
 * @path:	from http_path_decode()
 * @now:	seconds of any clock that goes steadily
 * @file:	out: to be given back by files_put()
 *
 * Return: 0; -EISDIR for a folder; -EACCES for what is neither file nor
 * folder; or what path_open() says.
 */
int files_get(struct files *files, const char *path, uint64_t now,
	      struct file **file);

/** files_put() - give back what files_get() gave */
void files_put(struct file *file);

#endif /* HTTPD_FILES_H */
