/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * lib_io_stream.h - bytes that say where they belong, and poison between them.
 *
 * Each byte of a stream follows from the stream's key and its offset there, so
 * one look tells what is lost, doubled, out of order or of another stream.
 * Machines with the low byte first only, as is the library.
 *
 * Buffers hold poison while no operation has them: what changes it has touched
 * a buffer after the operation's end, and what an operation sends after its end
 * is poison.
 */
#ifndef ROOST_SELFTESTS_STRESS_LIB_IO_STREAM_H
#define ROOST_SELFTESTS_STRESS_LIB_IO_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define POISON	0xa5

static inline uint64_t stream_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/* Bytes 8 * @n to 8 * @n + 7. */
static inline uint64_t stream_word(uint64_t key, uint64_t n)
{
	return stream_mix(key + n * 0x9e3779b97f4a7c15);
}

/* The byte at @offset. */
static inline unsigned char stream_byte(uint64_t key, uint64_t offset)
{
	return (unsigned char)(stream_word(key, offset / 8) >> offset % 8 * 8);
}

/* @p gets the @len bytes that begin at @offset. */
static inline void stream_fill(uint64_t key, uint64_t offset, unsigned char *p,
			       size_t len)
{
	uint64_t word;

	while (len) {
		if (offset % 8 || len < 8) {
			*p++ = stream_byte(key, offset++);
			len--;
			continue;
		}
		word = stream_word(key, offset / 8);
		memcpy(p, &word, 8);
		p += 8;
		offset += 8;
		len -= 8;
	}
}

/* Return: how many bytes at @p are right, @len if all are. */
static inline size_t stream_right(uint64_t key, uint64_t offset,
				  const unsigned char *p, size_t len)
{
	uint64_t word;
	size_t i = 0;

	while (i < len) {
		word = stream_word(key, (offset + i) / 8);
		if ((offset + i) % 8 == 0 && len - i >= 8 &&
		    !memcmp(p + i, &word, 8)) {
			i += 8;
			continue;
		}
		if (p[i] != stream_byte(key, offset + i))
			break;
		i++;
	}
	return i;
}

/* In pieces: a long memset() is one instruction, slow where it is emulated. */
static inline void poison(unsigned char *p, size_t len)
{
	for (; len > 1024; len -= 1024, p += 1024)
		memset(p, POISON, 1024);
	memset(p, POISON, len);
}

/* Return: how many bytes at @p are poison, @len if all are. */
static inline size_t poisoned(const unsigned char *p, size_t len)
{
	size_t i = 0;

	if (!len || (p[0] == POISON && !memcmp(p, p + 1, len - 1)))
		return len;
	while (p[i] == POISON)
		i++;
	return i;
}

#endif /* ROOST_SELFTESTS_STRESS_LIB_IO_STREAM_H */
