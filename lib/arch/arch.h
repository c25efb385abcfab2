/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * arch.h - where the files are of the architecture that this is compiled for.
 *
 *	#include ARCH_HEADER(jump.h)
 *
 * What each of them has to offer stands in Documentation/porting.rst.
 */
#ifndef ROOST_LIB_ARCH_ARCH_H
#define ROOST_LIB_ARCH_ARCH_H

#define ARCH_QUOTED(path)	#path

#if defined(__x86_64__) && defined(__LP64__)
#define ARCH_HEADER(name)	ARCH_QUOTED(arch/x86_64/name)
#elif defined(__aarch64__) && defined(__LP64__) && defined(__AARCH64EL__)
#define ARCH_HEADER(name)	ARCH_QUOTED(arch/aarch64/name)
#else
#error "the library has not been brought to this architecture"
#endif

#endif /* ROOST_LIB_ARCH_ARCH_H */
