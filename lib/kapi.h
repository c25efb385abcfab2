/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * kapi.h - the module's system calls and mappings, and nothing on top.
 *
 * Every call returns 0 (or a count) or -errno and leaves errno alone.  After
 * fork() nothing of this is usable in the child: the mappings are not there
 * (VM_DONTCOPY) and the calls fail with -EPERM.
 */
#ifndef ROOST_LIB_KAPI_H
#define ROOST_LIB_KAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/roost.h>

/**
 * struct kdomain - an open domain
 * @fd:		-1 for none
 * @features:	ROOST_FEAT_* of the domain
 * @control:	the control page, or NULL
 * @events:	one word a poll, or NULL
 * @control_size: bytes
 * @events_size: bytes
 */
struct kdomain {
	int fd;
	uint64_t features;
	struct roost_control *control;
	uint32_t *events;
	size_t control_size;
	size_t events_size;
};

/**
 * struct kworker - an open worker
 * @fd:		-1 for none
 * @index:	its number in the domain
 * @page:	head of the mapping, or NULL
 * @sq:		submission ring
 * @cq:		completion ring
 * @sq_mask:	entries - 1
 * @cq_mask:	entries - 1
 * @map_size:	bytes
 */
struct kworker {
	int fd;
	uint32_t index;
	struct roost_worker_page *page;
	struct roost_sqe *sq;
	struct roost_cqe *cq;
	uint32_t sq_mask;
	uint32_t cq_mask;
	size_t map_size;
};

/**
 * kapi_open() - open the device
 *
 * Return: a close-on-exec descriptor, or -errno.
 */
int kapi_open(void);

/**
 * kapi_info() - ask the module what it can do
 * @dev:	descriptor of the device
 * @info:	filled in
 * @features:	ROOST_FEAT_* bits that the caller cannot do without
 *
 * Return: 0; -EPROTO if the module speaks another version of the interface or
 * lacks a feature; -errno of the call.
 */
int kapi_info(int dev, struct roost_info *info, uint64_t features);

/**
 * kapi_domain_create() - make a domain and map its pages
 * @dev:	descriptor of the device
 * @p:		what is wanted; on success also what the kernel says
 * @d:		filled in; on failure as kapi_domain_destroy() leaves it
 */
int kapi_domain_create(int dev, struct roost_domain_params *p,
		       struct kdomain *d);

/** kapi_domain_destroy() - unmap and close what there is of a domain */
void kapi_domain_destroy(struct kdomain *d);

/**
 * kapi_worker_create() - make a worker and map its rings
 * @d:		its domain
 * @sq_entries:	a power of two
 * @cq_entries:	a power of two
 * @k:		filled in; on failure as kapi_worker_destroy() leaves it
 */
int kapi_worker_create(const struct kdomain *d, uint32_t sq_entries,
		       uint32_t cq_entries, struct kworker *k);

/** kapi_worker_destroy() - unmap and close what there is of a worker */
void kapi_worker_destroy(struct kworker *k);

/*
 * kapi_attach() - the calling thread becomes the worker's carrier
 * @lease:	number of its lease
 */
int kapi_attach(const struct kworker *k, uint64_t *lease);

/** kapi_detach() - ... and no longer is */
int kapi_detach(const struct kworker *k);

/**
 * kapi_enter() - ROOST_IOC_ENTER
 * @k:		the worker
 * @enter:	as the interface says; @submitted and @outcome are valid after
 *		success and after -EINTR, and zero after any other error
 */
int kapi_enter(const struct kworker *k, struct roost_enter *enter);

/**
 * kapi_wake() - ROOST_IOC_WAKE
 * @d:		the domain
 * @flags:	ROOST_WAKE_*
 * @index:	for ROOST_WAKE_INDEX, else 0
 *
 * Return: how many got a wake or a permit, or -errno.
 */
int kapi_wake(const struct kdomain *d, uint32_t flags, uint32_t index);

/**
 * kapi_standby() - ROOST_IOC_STANDBY
 * @d:		the domain
 * @index:	the worker that the calling thread carries now
 * @lease:	number of its lease
 *
 * Return: 0 or -errno, -EINTR for a signal.
 */
int kapi_standby(const struct kdomain *d, uint32_t *index, uint64_t *lease);

/** kapi_stat() - the domain's counters */
int kapi_stat(const struct kdomain *d, struct roost_domain_stat *stat);

#endif /* ROOST_LIB_KAPI_H */
