/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * roost/alloc.h - allocation that lets others run.
 *
 * As malloc(3) and its kin, and what they give may be passed to free(3); but in an
 * actor each call, roost_free() excepted, is a safepoint, as roost_check() is: code that
 * allocates while it computes for long need not be told to let others run.  They may be
 * called anywhere.
 */
#ifndef ROOST_ALLOC_H
#define ROOST_ALLOC_H

#include <roost/types.h>

ROOST_BEGIN_DECLS

/** roost_malloc() - as malloc(3).  Return: NULL with errno ENOMEM */
void *roost_malloc(size_t size);

/** roost_calloc() - as calloc(3) */
void *roost_calloc(size_t n, size_t size);

/** roost_realloc() - as realloc(3) */
void *roost_realloc(void *p, size_t size);

/** roost_free() - as free(3); no safepoint */
void roost_free(void *p);

ROOST_END_DECLS

#endif /* ROOST_ALLOC_H */
