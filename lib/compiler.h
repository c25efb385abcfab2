/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* compiler.h - words about code that C lacks, those of the CPU among them. */
#ifndef ROOST_LIB_COMPILER_H
#define ROOST_LIB_COMPILER_H

#include <stdatomic.h>
#include <stddef.h>

#include "arch/arch.h"
#include ARCH_HEADER(cpu.h)

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define noinline	__attribute__((noinline))
#define cold		__attribute__((cold))
#define printf_like(f, a) __attribute__((format(printf, f, a)))

#define CACHELINE	64
#define ____cacheline_aligned __attribute__((aligned(CACHELINE)))

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#ifndef container_of
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
#endif

#if defined(__SANITIZE_ADDRESS__)
#define ROOST_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define ROOST_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROOST_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define ROOST_TSAN 1
#endif
#endif

#endif /* ROOST_LIB_COMPILER_H */
