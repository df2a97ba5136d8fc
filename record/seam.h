/*
 * Everything that the tracing library shares with signal handlers, other threads, the file and the
 * system goes through these functions. A program compiled with SPUR_RECORD_SIM brings functions of
 * the same names in "seam_sim.h", each a point where a simulator may switch threads or crash; so
 * may the stores of spur_trace.h, for which it defines SPUR_TRACE_SEAM. A function that is added
 * here is also added to tests/sim/record/seam_sim.h.
 */
#ifndef SPUR_RECORD_SEAM_H
#define SPUR_RECORD_SEAM_H

#ifdef SPUR_RECORD_SIM
#include "seam_sim.h"
#else

/* Strings that a process may have; the tables of them take room only where they are used. */
enum { SEAM_STRINGS = 1 << 16 };
/* Words that points test: a page of them. */
enum { SEAM_WORDS = 1024 };
/* Words of a page that child processes find empty. */
enum { SEAM_GUARD = 1024 };
/* Events that a thread without a chunk loses before it looks for one again. */
enum { SEAM_LOOK_AGAIN = 64 };
/* The disk is not asked for room for that long after it had none. */
enum { SEAM_ASK_NS = 20000000 };
/* How often it is looked at whether a session's process is alive. */
enum { SEAM_ALIVE_NS = 900000000 };

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__SANITIZE_THREAD__)
#define SEAM_CHECKED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SEAM_CHECKED
#endif
#endif
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

static inline void seam_store_pointer(void *p, const void *v)
{
	__atomic_store_n((const void **)p, v, __ATOMIC_RELEASE);
}

/* Pointers that other threads may change meanwhile; nothing else is ordered by them. */
static inline char *seam_load_pointer(const void *p)
{
	return __atomic_load_n((char *const *)p, __ATOMIC_RELAXED);
}

static inline void seam_set_pointer(void *p, const void *v)
{
	__atomic_store_n((const void **)p, v, __ATOMIC_RELAXED);
}

static inline uint32_t seam_swap32(uint32_t *p, uint32_t v)
{
	return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL);
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

static inline bool seam_cas(uint64_t *p, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(p, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static inline uint32_t seam_load32(const void *p)
{
	return __atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE);
}

static inline uint32_t seam_add32(void *p, uint32_t v)
{
	return __atomic_fetch_add((uint32_t *)p, v, __ATOMIC_ACQ_REL);
}

/* Sets or clears bits. */
static inline void seam_set32(uint32_t *p, uint32_t bits, bool on)
{
	if (on)
		__atomic_fetch_or(p, bits, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(p, ~bits, __ATOMIC_SEQ_CST);
}

/* Orders the stores before it and the loads behind it as other threads see them. */
static inline void seam_fence_threads(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline uint64_t seam_signals_block(void);
static inline void seam_signals_restore(uint64_t before);

/*
 * Sets a thread's place and the end of its page in one step, as its signal handlers see it, if that
 * end is `from`.
 */
static inline void seam_turn(struct spur_trace_place *p, char *from, char *at, char *end)
{
#if defined(__x86_64__)
	char *seen_at = seam_load_pointer(&p->at), *seen_end = from;
	bool done;

	do
		__asm__ volatile("cmpxchg16b %[p]\n\tsete %[done]"
				 : [p] "+m"(*p), "+a"(seen_at), "+d"(seen_end), [done] "=q"(done)
				 : "b"(at), "c"(end)
				 : "cc", "memory");
	while (!done && seen_end == from);
#else
	const uint64_t before = seam_signals_block();

	if (seam_load_pointer(&p->end) == from) {
		seam_set_pointer(&p->at, at);
		seam_store_pointer(&p->end, end);
	}
	seam_signals_restore(before);
#endif
}

/* Stores into the file whose order does not matter. */
static inline void seam_copy(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
}

static inline void seam_wipe(void *p, size_t len)
{
	memset(p, 0, len);
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

static inline ssize_t seam_readlink(const char *path, char *to, size_t size)
{
	return readlink(path, to, size);
}

/*
 * The calls from here to seam_wake() change no errno, as an event may come anywhere in a program,
 * and use no thread-local memory, as the helper thread has none.
 */
static inline long seam_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#else
	const int kept = errno;
	long result = syscall(number, a, b, c, d, e, f);

	if (result < 0)
		result = -errno;
	errno = kept;
	return result;
#endif
}

/* Whether a file of this size exceeds the process's limit, which would end it by a signal. */
static inline bool seam_exceeds_limit(uint64_t size)
{
	struct rlimit limit;

	return !seam_call(SYS_getrlimit, RLIMIT_FSIZE, (long)&limit, 0, 0, 0, 0) &&
	       limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur;
}

/* Room on the disk for all of these bytes, which are zero. Returns 0 or an errno. */
static inline int seam_allocate(int fd, uint64_t off, uint64_t size)
{
	long result;

	if (seam_exceeds_limit(off + size))
		return EFBIG;

	/* A signal interrupts it on tmpfs; signals without end must not keep it here. */
	for (int tries = 0; tries < 1000; tries++) {
		result = seam_call(SYS_fallocate, fd, 0, (long)off, (long)size, 0, 0);
		if (result != -EINTR)
			break;
	}
	return (int)-result;
}

/* Gives back the room of these bytes, which become zero. */
static inline void seam_punch(int fd, uint64_t off, uint64_t size)
{
	seam_call(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (long)off,
		  (long)size, 0, 0);
}

static inline int seam_truncate(int fd, uint64_t size)
{
	return (int)-seam_call(SYS_ftruncate, fd, (long)size, 0, 0, 0, 0);
}

static inline void *seam_mapped(long result)
{
	return result < 0 && result > -4096 ? NULL : (void *)(uintptr_t)result;
}

/* A shared mapping of the file, with its pages if `touch`. Returns NULL if it fails. */
static inline void *seam_map(int fd, uint64_t off, size_t size, bool touch)
{
	void *const p = seam_mapped(seam_call(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
					      MAP_SHARED, fd, (long)off));

	/* Where the kernel knows no MADV_POPULATE_WRITE, pages come one by one. */
	if (p && touch)
		seam_call(SYS_madvise, (long)p, (long)size, 23, 0, 0, 0);
	return p;
}

/* Private memory of zeros, at `at` unless it is NULL, with more flags. Returns NULL if it fails. */
static inline void *seam_memory(void *at, size_t size, int flags)
{
	return seam_mapped(seam_call(SYS_mmap, (long)at, (long)size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0));
}

/*
 * Has the `size` bytes at `p`, whole pages, be zero now and in each child process. Returns false if
 * the system cannot.
 */
static inline bool seam_guard(void *p, size_t size)
{
	return seam_memory(p, size, MAP_FIXED) &&
	       !seam_call(SYS_madvise, (long)p, (long)size, 18, 0, 0, 0); /* MADV_WIPEONFORK */
}

/* Private memory of zeros, which takes room only where it is used. Returns NULL if it fails. */
static inline void *seam_reserve(size_t size)
{
	return seam_memory(NULL, size, MAP_NORESERVE);
}

static inline void seam_unmap(void *p, size_t size)
{
	seam_call(SYS_munmap, (long)p, (long)size, 0, 0, 0, 0);
}

/* Which file a descriptor is. Returns 0 or an errno: EBADF if it is closed. */
static inline int seam_identity(int fd, uint64_t id[2])
{
	struct stat st;
	const long result = seam_call(SYS_fstat, fd, (long)&st, 0, 0, 0, 0);

	if (result)
		return (int)-result;
	id[0] = st.st_dev;
	id[1] = st.st_ino;
	return 0;
}

/*
 * These five have results and errno as the functions of these names. A program may have functions
 * of its own with these names, whose calls are recorded: they would come in the middle of what the
 * library does.
 */
static inline long seam_result(long result)
{
	if (result >= 0)
		return result;
	errno = (int)-result;
	return -1;
}

static inline int seam_open(const char *path, int flags, mode_t mode)
{
	return (int)seam_result(
		seam_call(SYS_openat, AT_FDCWD, (long)path, flags, (long)mode, 0, 0));
}

static inline void seam_close(int fd)
{
	seam_result(seam_call(SYS_close, fd, 0, 0, 0, 0, 0));
}

static inline ssize_t seam_read(int fd, void *to, size_t size)
{
	return seam_result(seam_call(SYS_read, fd, (long)to, (long)size, 0, 0, 0));
}

static inline ssize_t seam_write(int fd, const void *from, size_t size)
{
	return seam_result(seam_call(SYS_write, fd, (long)from, (long)size, 0, 0, 0));
}

static inline int seam_mkdir(const char *path, mode_t mode)
{
	return (int)seam_result(seam_call(SYS_mkdirat, AT_FDCWD, (long)path, (long)mode, 0, 0, 0));
}

/* As close(), without errno. */
static inline void seam_shut(int fd)
{
	seam_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* Moves a descriptor to a number that programs do not count on. Returns the new one. */
static inline int seam_move(int fd)
{
	static const int least[] = { 1000, 200 };

	for (int i = 0; i < 2; i++) {
		const long moved = seam_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least[i], 0, 0, 0);

		if (moved >= 0) {
			seam_shut(fd);
			return (int)moved;
		}
	}
	return fd;
}

/*
 * Opens an existing file. Returns a negative errno if it fails. The program may open files at the
 * same time, and count on the least number that is free.
 */
static inline int seam_reopen(const char *path)
{
	const long fd = seam_call(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0);

	return fd < 0 ? (int)fd : seam_move((int)fd);
}

/* No access to these bytes. */
static inline void seam_protect(void *p, size_t size)
{
	seam_call(SYS_mprotect, (long)p, (long)size, PROT_NONE, 0, 0, 0);
}

/* Has `size` bytes at `to` be the same memory as the shared ones at `from`, in one step. */
static inline bool seam_mirror(void *to, const void *from, size_t size)
{
	return seam_mapped(seam_call(SYS_mremap, (long)from, 0, (long)size,
				     MREMAP_MAYMOVE | MREMAP_FIXED, (long)to, 0));
}

/* Has `size` bytes at `p` be private words that are all `value`, in one step. */
static inline void seam_replace(void *p, size_t size, uint32_t value)
{
	uint32_t *const to = (uint32_t *)seam_reserve(size);

	for (size_t i = 0; to && i < size / sizeof(*to); i++)
		to[i] = value;
	if (!to || !seam_mapped(seam_call(SYS_mremap, (long)to, (long)size, (long)size,
					  MREMAP_MAYMOVE | MREMAP_FIXED, (long)p, 0)))
		seam_call(SYS_mmap, (long)p, (long)size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Has `size` bytes at `p` be private, and zero. */
static inline void seam_detach(void *p, size_t size)
{
	seam_memory(p, size, MAP_FIXED | MAP_NORESERVE);
}

/* Whether another process has a lock that keeps this one from being taken. */
static inline bool seam_lock_look(int fd, struct flock *lock)
{
	return seam_call(SYS_fcntl, fd, F_OFD_GETLK, (long)lock, 0, 0, 0) == 0;
}

/* For dumps, in signal handlers: each returns a negative errno if it fails. */
static inline long seam_make_dir(const char *path, uint32_t mode)
{
	return seam_call(SYS_mkdirat, AT_FDCWD, (long)path, mode, 0, 0, 0);
}

static inline long seam_pread(int fd, void *to, size_t size, uint64_t off)
{
	return seam_call(SYS_pread64, fd, (long)to, (long)size, (long)off, 0, 0);
}

static inline long seam_pwrite(int fd, const void *from, size_t size, uint64_t off)
{
	if (seam_exceeds_limit(off + size))
		return -EFBIG;
	return seam_call(SYS_pwrite64, fd, (long)from, (long)size, (long)off, 0, 0);
}

/* Waits while *p is `seen`, for `ms` at most. It may be shared with other processes. */
static inline void seam_wait(uint32_t *p, uint32_t seen, uint32_t ms)
{
	const struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

	seam_call(SYS_futex, (long)p, FUTEX_WAIT, seen, (long)&t, 0, 0);
}

/* Wakes at most `n` that wait there. */
static inline void seam_wake(uint32_t *p, uint32_t n)
{
	seam_call(SYS_futex, (long)p, FUTEX_WAKE, n, 0, 0, 0);
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

/* True if no process has that number. */
static inline bool seam_gone(uint32_t pid)
{
	return seam_call(SYS_kill, pid, 0, 0, 0, 0, 0) == -ESRCH;
}

/*
 * No handler of the program's runs in this thread until seam_signals_restore() has what this
 * returns. What the thread does itself, a fault for one, still ends as the program has chosen.
 */
static inline uint64_t seam_signals_block(void)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	uint64_t most = ~(uint64_t)0, before = 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		most &= ~((uint64_t)1 << (own[i] - 1));
	seam_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&most, (long)&before, sizeof(most), 0, 0);
	return before;
}

static inline void seam_signals_restore(uint64_t before)
{
	seam_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before), 0, 0);
}

/*
 * Starts a thread of the kernel that the C library does not know: it keeps no program from ending,
 * gets no signal, and has no thread-local memory. `memory`: SEAM_THREAD_SIZE bytes of zeros for it,
 * which may be unmapped when *id, its number, has become 0. Returns false if it cannot run.
 */
enum { SEAM_THREAD_SIZE = 64 << 10, SEAM_THREAD_LOCAL = 8 << 10 };

static inline bool seam_thread(void (*run)(void), char *memory, uint32_t *id)
{
#if defined(__x86_64__) && !defined(SEAM_CHECKED) && !defined(__SANITIZE_ADDRESS__)
	const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			   CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
			   CLONE_CHILD_CLEARTID;
	/* What compilers read there: the thread's own address, and a stack guard. */
	uint64_t *const local = (void *)(memory + SEAM_THREAD_SIZE - SEAM_THREAD_LOCAL / 2);
	const uint64_t every = ~(uint64_t)0;
	uint64_t mask;
	register uint32_t *r10 __asm__("r10");
	register uint64_t *r8 __asm__("r8");
	register void (*r12)(void) __asm__("r12");
	long result = SYS_clone;

	local[0] = local[2] = (uint64_t)(uintptr_t)local;
	seam_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&every, (long)&mask, 8, 0, 0);
	r10 = id;
	r8 = local;
	r12 = run;
	__asm__ volatile("syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xorl %%ebp, %%ebp\n\t"
			 "callq *%[run]\n\t"
			 "xorl %%edi, %%edi\n\t"
			 "movl %[exit], %%eax\n\t"
			 "syscall\n\t"
			 "hlt\n"
			 "1:"
			 : "+a"(result)
			 : "D"(flags), "S"(memory + SEAM_THREAD_SIZE - SEAM_THREAD_LOCAL), "d"(id),
			   "r"(r10), "r"(r8), [run] "r"(r12), [exit] "i"(SYS_exit)
			 : "rcx", "r11", "cc", "memory");
	seam_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8, 0, 0);
	return result > 0;
#else
	(void)run, (void)memory, (void)id;
	return false;
#endif
}

#endif
#endif
