/*
 * Everything that the tracing library shares with signal handlers, other threads, the file and the
 * system goes through these functions. A program compiled with SPUR_RECORD_SIM brings functions of
 * the same names in "seam_sim.h", each a point where a simulator may switch threads or crash; so
 * may the stores of spur_trace.h, for which it defines SPUR_TRACE_SEAM.
 */
#ifndef SPUR_RECORD_SEAM_H
#define SPUR_RECORD_SEAM_H

#ifdef SPUR_RECORD_SIM
#include "seam_sim.h"
#else

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* --- memory --- */

static inline uint64_t seam_load(const void *p)
{
	return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
}

/* All stores before this one are visible to whoever sees it, also in the file after a kill. */
static inline void seam_store(void *p, uint64_t v)
{
	__atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE);
}

static inline void seam_store32(void *p, uint32_t v)
{
	__atomic_store_n((uint32_t *)p, v, __ATOMIC_RELEASE);
}

static inline void seam_store_pointer(void *p, void *v)
{
	__atomic_store_n((void **)p, v, __ATOMIC_RELEASE);
}

static inline uint64_t seam_swap(uint64_t *p, uint64_t v)
{
	return __atomic_exchange_n(p, v, __ATOMIC_RELAXED);
}

static inline uint64_t seam_add(uint64_t *p, uint64_t v)
{
	return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

/* Stores `to` and returns true if the word is `from`. Acquires. */
static inline bool seam_cas32(uint32_t *p, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(p, &from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Stores into the file that no other thread may order. */
static inline void seam_copy(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
}

/* Orders accesses as signal handlers of this thread see them. */
static inline void seam_fence(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* --- time --- */

static inline uint64_t seam_clock(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t seam_tsc(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return 0;
#endif
}

/* --- the system: results and errno as those of the functions with these names --- */

static inline int seam_open(const char *path, int flags, mode_t mode)
{
	return open(path, flags, mode);
}

static inline void seam_close(int fd)
{
	close(fd);
}

static inline ssize_t seam_read(int fd, void *to, size_t size)
{
	return read(fd, to, size);
}

static inline ssize_t seam_write(int fd, const void *from, size_t size)
{
	return write(fd, from, size);
}

static inline ssize_t seam_readlink(const char *path, char *to, size_t size)
{
	return readlink(path, to, size);
}

static inline int seam_mkdir(const char *path, mode_t mode)
{
	return mkdir(path, mode);
}

/* Room on the disk for all of these bytes, which are zero. */
static inline int seam_allocate(int fd, uint64_t off, uint64_t size)
{
	return fallocate(fd, 0, (off_t)off, (off_t)size);
}

static inline int seam_truncate(int fd, uint64_t size)
{
	return ftruncate(fd, (off_t)size);
}

/* A shared mapping of the file; `touch`: with its pages. Returns NULL if it fails. */
static inline void *seam_map(int fd, uint64_t off, size_t size, bool touch)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | (touch ? MAP_POPULATE : 0),
		       fd, (off_t)off);

	return p == MAP_FAILED ? NULL : p;
}

/* Private memory of zeros, which takes room only where it is used. Returns NULL if it fails. */
static inline void *seam_reserve(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static inline void seam_unmap(void *p, size_t size)
{
	munmap(p, size);
}

static inline void seam_yield(void)
{
	syscall(SYS_sched_yield);
}

static inline uint32_t seam_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static inline uint32_t seam_pid(void)
{
	return (uint32_t)getpid();
}

static inline uint32_t seam_parent(void)
{
	return (uint32_t)getppid();
}

#endif
#endif
