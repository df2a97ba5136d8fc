/*
 * The seam of the tracing library (record/seam.h) on the simulated machine: record/core.h includes
 * this instead of the functions that call the system. The sources are also compiled with
 * -fsanitize=thread, whose calls access.c defines, so that the machine sees their plain accesses.
 */
#ifndef SPUR_TESTS_SIM_RECORD_SEAM_SIM_H
#define SPUR_TESTS_SIM_RECORD_SEAM_SIM_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"

/* Chunks of two pages, so that few events fill one. */
#define SPB_CHUNK_SIZE SIM_CHUNK
enum {
	SEAM_WORDS = 1024,
	SEAM_GUARD = 1,
	SEAM_STRINGS = 16,
	SEAM_LOOK_AGAIN = 3,
	SEAM_ASK_NS = 8,
	SEAM_ALIVE_NS = 64
};

/* What a thread has for itself: struct core_thread, behind its struct spur_trace_place. */
#define core_own (*(struct core_thread *)(void *)(sim_tls + SIM_TLS_OWN))

#define pthread_once(once, init) ((void)(once), sim_once(init))
#define pthread_key_create(key, end) sim_key(key, end)
#define pthread_setspecific(key, value) sim_set(value)
#define pthread_atfork sim_atfork
#define realpath(path, to) strcpy(to, path)
#define getenv(name) sim_getenv(name)
#define prctl(option, to) sim_prctl(option, to)
#define fstat(fd, to) sim_fstat(fd, to)
#define openat(dir, name, flags, mode) ((void)(dir), sim_open_board())
#define mmap(p, size, access, flags, fd, off) sim_map_board(fd, size)

static inline uint64_t seam_load(const void *p)
{
	return sim_load(p, 8);
}

static inline void seam_store(void *p, uint64_t v)
{
	sim_store(p, v, 8, SIM_RELEASE);
}

static inline void seam_store32(void *p, uint32_t v)
{
	sim_store(p, v, 4, SIM_RELEASE);
}

static inline void seam_store_pointer(void *p, const void *v)
{
	sim_store_pointer(p, v);
}

/* The compiler calls the machine for these two. */
static inline char *seam_load_pointer(const void *p)
{
	return *(char *const *)p;
}

static inline void seam_set_pointer(void *p, const void *v)
{
	*(const void **)p = v;
}

static inline uint32_t seam_load32(const void *p)
{
	return (uint32_t)sim_load(p, 4);
}

static inline uint32_t seam_swap32(uint32_t *p, uint32_t v)
{
	return sim_swap32(p, v, false);
}

static inline uint32_t seam_add32(void *p, uint32_t v)
{
	return sim_swap32(p, v, true);
}

static inline void seam_set32(uint32_t *p, uint32_t bits, bool on)
{
	sim_set32(p, bits, on);
}

static inline void seam_fence_threads(void)
{
	sim_fence();
}

static inline void seam_wipe(void *p, size_t len)
{
	sim_wipe(p, len);
}

static inline uint64_t seam_add(uint64_t *p, uint64_t v)
{
	return sim_add(p, v);
}

static inline bool seam_cas32(uint32_t *p, uint32_t from, uint32_t to)
{
	return sim_cas(p, from, to);
}

static inline bool seam_cas(uint64_t *p, uint64_t from, uint64_t to)
{
	return sim_cas64(p, from, to);
}

static inline void seam_turn(struct spur_trace_place *p, char *from, char *at, char *end)
{
	sim_turn(p, from, at, end);
}

static inline void seam_copy(void *to, const void *from, size_t len)
{
	sim_copy(to, from, len);
}

static inline void seam_fence(void)
{
	sim_fence();
}

static inline uint64_t seam_clock(clockid_t which)
{
	return sim_clock(which);
}

static inline uint64_t seam_tsc(void)
{
	return sim_clock(CLOCK_MONOTONIC);
}

static inline int seam_open(const char *path, int flags, mode_t mode)
{
	(void)mode;
	return sim_open(path, flags);
}

static inline void seam_close(int fd)
{
	sim_close(fd);
}

static inline ssize_t seam_read(int fd, void *to, size_t size)
{
	return sim_read(fd, to, size);
}

static inline ssize_t seam_write(int fd, const void *from, size_t size)
{
	(void)fd;
	(void)from;
	return (ssize_t)size;
}

static inline ssize_t seam_readlink(const char *path, char *to, size_t size)
{
	return sim_readlink(path, to, size);
}

static inline int seam_mkdir(const char *path, mode_t mode)
{
	(void)path;
	(void)mode;
	return 0;
}

static inline int seam_allocate(int fd, uint64_t off, uint64_t size)
{
	return sim_allocate(fd, off, size);
}

static inline int seam_truncate(int fd, uint64_t size)
{
	return sim_truncate(fd, size);
}

static inline void *seam_map(int fd, uint64_t off, size_t size, bool touch)
{
	(void)touch;
	return sim_map(fd, off, size);
}

/* Simulated children are made by fork(). */
static inline bool seam_guard(void *p, size_t size)
{
	(void)p;
	(void)size;
	return false;
}

static inline void *seam_reserve(size_t size)
{
	return sim_reserve(size);
}

static inline void seam_unmap(void *p, size_t size)
{
	sim_unmap(p, size);
}

static inline void seam_punch(int fd, uint64_t off, uint64_t size)
{
	sim_punch(fd, off, size);
}

static inline void seam_protect(void *p, size_t size)
{
	(void)p;
	(void)size;
}

static inline int seam_identity(int fd, uint64_t id[2])
{
	id[0] = 1;
	id[1] = (uint64_t)fd;
	return 0;
}

/* Only the words that points test are ever another page. */
static inline bool seam_mirror(void *to, const void *from, size_t size)
{
	(void)to;
	(void)size;
	return sim_mirror(from);
}

static inline void seam_replace(void *p, size_t size, uint32_t value)
{
	sim_replace(p, size, value);
}

/* No simulated handler forks. */
static inline void seam_detach(void *p, size_t size)
{
	(void)p;
	(void)size;
}

/* Only a session's process has a lock. */
static inline bool seam_lock_look(int fd, struct flock *lock)
{
	(void)fd;
	lock->l_type = sim_session_alive() ? F_WRLCK : F_UNLCK;
	return true;
}

/* Only the board is opened again. */
static inline int seam_reopen(const char *path)
{
	return sim_open(path, O_RDWR);
}

static inline void seam_shut(int fd)
{
	sim_close(fd);
}

static inline int seam_move(int fd)
{
	return fd;
}

static inline long seam_make_dir(const char *path, uint32_t mode)
{
	(void)path;
	(void)mode;
	return 0;
}

static inline long seam_pread(int fd, void *to, size_t size, uint64_t off)
{
	return sim_pread(fd, to, size, off);
}

static inline long seam_pwrite(int fd, const void *from, size_t size, uint64_t off)
{
	return sim_pwrite(fd, from, size, off);
}

static inline void seam_wait(uint32_t *p, uint32_t seen, uint32_t ms)
{
	(void)ms;
	sim_wait(p, seen);
}

static inline void seam_wake(uint32_t *p, uint32_t n)
{
	(void)n;
	sim_wake(p);
}

/* Handlers run in there all the same: the protocol also holds where one does. */
static inline uint64_t seam_signals_block(void)
{
	return 0;
}

static inline void seam_signals_restore(uint64_t before)
{
	(void)before;
}

enum { SEAM_THREAD_SIZE = 64 << 10 };

static inline bool seam_thread(void (*run)(void), char *memory, uint32_t *id)
{
	(void)memory;
	sim_helper(run, id);
	return true;
}

static inline void seam_yield(void)
{
	sim_yield();
}

static inline uint32_t seam_tid(void)
{
	return sim_tid();
}

static inline uint32_t seam_pid(void)
{
	return sim_pid();
}

static inline uint32_t seam_parent(void)
{
	return 1;
}

/* No simulated recording depends on another process. */
static inline bool seam_gone(uint32_t pid)
{
	(void)pid;
	return false;
}

#endif
