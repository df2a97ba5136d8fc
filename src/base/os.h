/*
 * The only interface to the system. All code below src/ opens, maps, writes, waits, connects, and
 * asks for the time and for random bytes through the functions of this file; tools/check-floors
 * rejects direct calls of those in OS_CALLS.
 *
 * In production each function is the call of its name, inlined. With SPUR_OS_TEST defined it goes
 * through the table `os_calls`, which tests replace: tests/sim/os_sim.h has a file system that
 * fails, fills up and crashes at any step.
 *
 * Signals, threads, the environment and what other libraries do on their own (libelf, the C
 * library's resolver and time zones) do not pass through here. Return values and errno are those of
 * the system.
 */
#ifndef SPUR_BASE_OS_H
#define SPUR_BASE_OS_H

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* musl has a wrapper only since 1.2.5. */
static inline int os_renameat2_direct(int from_dir, const char *from, int to_dir, const char *to,
				      unsigned flags)
{
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

struct perf_event_attr;

/* The C library has no function for it. */
static inline int os_perf_event_open_direct(const struct perf_event_attr *attr, pid_t pid, int cpu,
					    int group, unsigned long flags)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);
}

/* Wakes all that wait at the futex, also in other processes. */
static inline int os_futex_wake_direct(const uint32_t *word)
{
	return (int)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* musl has a wrapper only since 1.2.5. */
static inline ssize_t os_pread_cached_direct(int fd, void *buf, size_t size, off_t at)
{
	const struct iovec piece = { buf, size };

	return syscall(SYS_preadv2, fd, &piece, 1UL, (unsigned long)at, 0UL, RWF_NOWAIT);
}

/* Every call that passes through here. */
#define OS_CALLS(X) \
	X(open) X(openat) X(close) X(read) X(pread) X(write) X(pwrite) X(writev) X(lseek) \
	X(os_pread_cached_direct) X(posix_fadvise) X(fallocate) X(posix_fallocate) X(ftruncate) \
	X(fsync) X(fdatasync) X(syncfs) \
	X(rename) X(renameat) X(os_renameat2_direct) X(unlink) X(unlinkat) X(symlink) \
	X(readlinkat) X(mkdir) \
	X(mkostemp) X(stat) X(fstat) X(fstatat) X(access) X(realpath) X(fchmod) X(umask) \
	X(opendir) X(readdir) X(closedir) X(fts_open) X(fts_read) X(fts_close) \
	X(mmap) X(munmap) X(mremap) X(msync) X(madvise) X(memfd_create) \
	X(pipe2) X(poll) X(dup2) X(fcntl) X(ioctl) X(isatty) \
	X(socket) X(connect) X(bind) X(listen) X(accept4) X(send) X(recv) X(sendmsg) X(recvmsg) \
	X(getsockopt) X(setsockopt) X(shutdown) X(getaddrinfo) \
	X(clock_gettime) X(nanosleep) X(getrandom) \
	X(os_futex_wake_direct) X(fork) X(execv) X(waitpid) X(waitid) X(kill) X(ptrace) X(getpid) \
	X(sched_getaffinity) X(os_perf_event_open_direct)

#ifdef SPUR_OS_TEST
struct os_calls {
#define OS_CALL_MEMBER(name) __typeof__(name) *name;
	OS_CALLS(OS_CALL_MEMBER)
#undef OS_CALL_MEMBER
};
/* Defined by the test, at first with the system's own functions. */
extern struct os_calls os_calls;
#define OS_CALL(name) os_calls.name
#else
#define OS_CALL(name) name
#endif

/* --- files --- */

/* `mode` counts with O_CREAT and O_TMPFILE only. */
static inline int os_open(const char *path, int flags, mode_t mode)
{
	return OS_CALL(open)(path, flags, mode);
}

static inline int os_openat(int dir, const char *path, int flags, mode_t mode)
{
	return OS_CALL(openat)(dir, path, flags, mode);
}

static inline int os_close(int fd)
{
	return OS_CALL(close)(fd);
}

static inline ssize_t os_read(int fd, void *buf, size_t size)
{
	return OS_CALL(read)(fd, buf, size);
}

static inline ssize_t os_pread(int fd, void *buf, size_t size, off_t at)
{
	return OS_CALL(pread)(fd, buf, size, at);
}

/* As os_pread(), but fails or returns less where the disk would have to be read. */
static inline ssize_t os_pread_cached(int fd, void *buf, size_t size, off_t at)
{
	return OS_CALL(os_pread_cached_direct)(fd, buf, size, at);
}

static inline int os_posix_fadvise(int fd, off_t at, off_t size, int advice)
{
	return OS_CALL(posix_fadvise)(fd, at, size, advice);
}

static inline ssize_t os_write(int fd, const void *buf, size_t size)
{
	return OS_CALL(write)(fd, buf, size);
}

static inline ssize_t os_pwrite(int fd, const void *buf, size_t size, off_t at)
{
	return OS_CALL(pwrite)(fd, buf, size, at);
}

static inline ssize_t os_writev(int fd, const struct iovec *pieces, int count)
{
	return OS_CALL(writev)(fd, pieces, count);
}

static inline off_t os_lseek(int fd, off_t at, int whence)
{
	return OS_CALL(lseek)(fd, at, whence);
}

static inline int os_fallocate(int fd, int mode, off_t at, off_t size)
{
	return OS_CALL(fallocate)(fd, mode, at, size);
}

/* Returns an errno value, 0 if all is well, and leaves errno as it was. */
static inline int os_posix_fallocate(int fd, off_t at, off_t size)
{
	return OS_CALL(posix_fallocate)(fd, at, size);
}

static inline int os_ftruncate(int fd, off_t size)
{
	return OS_CALL(ftruncate)(fd, size);
}

static inline int os_fsync(int fd)
{
	return OS_CALL(fsync)(fd);
}

static inline int os_fdatasync(int fd)
{
	return OS_CALL(fdatasync)(fd);
}

/* Writes all that is pending on the descriptor's file system. */
static inline int os_syncfs(int fd)
{
	return OS_CALL(syncfs)(fd);
}

static inline int os_rename(const char *from, const char *to)
{
	return OS_CALL(rename)(from, to);
}

static inline int os_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return OS_CALL(renameat)(from_dir, from, to_dir, to);
}

static inline int os_renameat2(int from_dir, const char *from, int to_dir, const char *to,
			       unsigned flags)
{
	return OS_CALL(os_renameat2_direct)(from_dir, from, to_dir, to, flags);
}

static inline int os_unlink(const char *path)
{
	return OS_CALL(unlink)(path);
}

static inline int os_unlinkat(int dir, const char *path, int flags)
{
	return OS_CALL(unlinkat)(dir, path, flags);
}

static inline int os_symlink(const char *to, const char *path)
{
	return OS_CALL(symlink)(to, path);
}

static inline ssize_t os_readlinkat(int dir, const char *path, char *buf, size_t size)
{
	return OS_CALL(readlinkat)(dir, path, buf, size);
}

static inline int os_mkdir(const char *path, mode_t mode)
{
	return OS_CALL(mkdir)(path, mode);
}

/* The last six characters of `path`, XXXXXX, are replaced. */
static inline int os_mkostemp(char *path, int flags)
{
	return OS_CALL(mkostemp)(path, flags);
}

static inline int os_stat(const char *path, struct stat *st)
{
	return OS_CALL(stat)(path, st);
}

static inline int os_fstat(int fd, struct stat *st)
{
	return OS_CALL(fstat)(fd, st);
}

static inline int os_fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return OS_CALL(fstatat)(dir, path, st, flags);
}

static inline int os_access(const char *path, int mode)
{
	return OS_CALL(access)(path, mode);
}

/* `resolved` has room for PATH_MAX bytes. */
static inline char *os_realpath(const char *path, char *resolved)
{
	return OS_CALL(realpath)(path, resolved);
}

static inline int os_fchmod(int fd, mode_t mode)
{
	return OS_CALL(fchmod)(fd, mode);
}

static inline mode_t os_umask(mode_t mask)
{
	return OS_CALL(umask)(mask);
}

static inline DIR *os_opendir(const char *path)
{
	return OS_CALL(opendir)(path);
}

static inline struct dirent *os_readdir(DIR *dir)
{
	return OS_CALL(readdir)(dir);
}

static inline int os_closedir(DIR *dir)
{
	return OS_CALL(closedir)(dir);
}

static inline FTS *os_fts_open(char *const *paths, int options,
			       int (*compare)(const FTSENT **, const FTSENT **))
{
	return OS_CALL(fts_open)(paths, options, compare);
}

static inline FTSENT *os_fts_read(FTS *walk)
{
	return OS_CALL(fts_read)(walk);
}

static inline int os_fts_close(FTS *walk)
{
	return OS_CALL(fts_close)(walk);
}

/* --- memory --- */

static inline void *os_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return OS_CALL(mmap)(at, size, prot, flags, fd, offset);
}

static inline int os_munmap(void *p, size_t size)
{
	return OS_CALL(munmap)(p, size);
}

static inline void *os_mremap(void *p, size_t size, size_t new_size, int flags)
{
	return OS_CALL(mremap)(p, size, new_size, flags);
}

static inline int os_msync(void *p, size_t size, int flags)
{
	return OS_CALL(msync)(p, size, flags);
}

static inline int os_madvise(void *p, size_t size, int advice)
{
	return OS_CALL(madvise)(p, size, advice);
}

/* Returns the descriptor of a new file in memory. */
static inline int os_memfd_create(const char *name, unsigned flags)
{
	return OS_CALL(memfd_create)(name, flags);
}

/* --- descriptors --- */

static inline int os_pipe2(int ends[2], int flags)
{
	return OS_CALL(pipe2)(ends, flags);
}

static inline int os_poll(struct pollfd *fds, nfds_t count, int ms)
{
	return OS_CALL(poll)(fds, count, ms);
}

static inline int os_dup2(int fd, int as)
{
	return OS_CALL(dup2)(fd, as);
}

static inline int os_fcntl(int fd, int command, int arg)
{
	return OS_CALL(fcntl)(fd, command, arg);
}

/* Takes or gives back a lock of the open file (F_OFD_SETLK), without waiting. */
static inline int os_lock(int fd, struct flock *lock)
{
	return OS_CALL(fcntl)(fd, F_OFD_SETLK, lock);
}

/* Gets the size of the terminal at `fd`. */
static inline int os_window_size(int fd, struct winsize *size)
{
	return OS_CALL(ioctl)(fd, TIOCGWINSZ, size);
}

static inline int os_isatty(int fd)
{
	return OS_CALL(isatty)(fd);
}

/* --- sockets --- */

static inline int os_socket(int family, int type, int protocol)
{
	return OS_CALL(socket)(family, type, protocol);
}

static inline int os_connect(int fd, const struct sockaddr *address, socklen_t len)
{
	return OS_CALL(connect)(fd, address, len);
}

static inline int os_bind(int fd, const struct sockaddr *address, socklen_t len)
{
	return OS_CALL(bind)(fd, address, len);
}

static inline int os_listen(int fd, int backlog)
{
	return OS_CALL(listen)(fd, backlog);
}

static inline int os_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
	return OS_CALL(accept4)(fd, address, len, flags);
}

static inline ssize_t os_send(int fd, const void *buf, size_t size, int flags)
{
	return OS_CALL(send)(fd, buf, size, flags);
}

static inline ssize_t os_recv(int fd, void *buf, size_t size, int flags)
{
	return OS_CALL(recv)(fd, buf, size, flags);
}

static inline ssize_t os_sendmsg(int fd, const struct msghdr *message, int flags)
{
	return OS_CALL(sendmsg)(fd, message, flags);
}

static inline ssize_t os_recvmsg(int fd, struct msghdr *message, int flags)
{
	return OS_CALL(recvmsg)(fd, message, flags);
}

static inline int os_getsockopt(int fd, int level, int option, void *value, socklen_t *len)
{
	return OS_CALL(getsockopt)(fd, level, option, value, len);
}

static inline int os_setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	return OS_CALL(setsockopt)(fd, level, option, value, len);
}

static inline int os_shutdown(int fd, int how)
{
	return OS_CALL(shutdown)(fd, how);
}

/* The list is freed by freeaddrinfo(). */
static inline int os_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
				 struct addrinfo **list)
{
	return OS_CALL(getaddrinfo)(host, port, hints, list);
}

/* --- time and random bytes --- */

static inline int os_clock_gettime(clockid_t clock, struct timespec *t)
{
	return OS_CALL(clock_gettime)(clock, t);
}

static inline int os_nanosleep(const struct timespec *wanted, struct timespec *left)
{
	return OS_CALL(nanosleep)(wanted, left);
}

static inline ssize_t os_getrandom(void *buf, size_t size, unsigned flags)
{
	return OS_CALL(getrandom)(buf, size, flags);
}

/* --- processes --- */

static inline int os_futex_wake(const uint32_t *word)
{
	return OS_CALL(os_futex_wake_direct)(word);
}

static inline pid_t os_fork(void)
{
	return OS_CALL(fork)();
}

static inline int os_execv(const char *path, char *const *args)
{
	return OS_CALL(execv)(path, args);
}

static inline pid_t os_waitpid(pid_t pid, int *status, int options)
{
	return OS_CALL(waitpid)(pid, status, options);
}

static inline int os_waitid(idtype_t what, id_t id, siginfo_t *info, int options)
{
	return OS_CALL(waitid)(what, id, info, options);
}

/* Async-signal-safe. */
static inline int os_kill(pid_t pid, int sig)
{
	return OS_CALL(kill)(pid, sig);
}

#ifdef __GLIBC__
typedef enum __ptrace_request os_ptrace_request;
#else
typedef int os_ptrace_request;
#endif

/* For requests whose result says only whether they succeeded. */
static inline long os_ptrace(os_ptrace_request request, pid_t pid, uintptr_t address,
			     uintptr_t data)
{
	return OS_CALL(ptrace)(request, pid, address, data);
}

static inline pid_t os_getpid(void)
{
	return OS_CALL(getpid)();
}

static inline int os_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	return OS_CALL(sched_getaffinity)(pid, size, set);
}

/* --- the kernel's events: perf_event_open(2) --- */

static inline int os_perf_event_open(const struct perf_event_attr *attr, pid_t pid, int cpu,
				     int group, unsigned long flags)
{
	return OS_CALL(os_perf_event_open_direct)(attr, pid, cpu, group, flags);
}

/* `arg`: what the request takes, a pointer or a descriptor. */
static inline int os_ioctl(int fd, unsigned long request, void *arg)
{
	return OS_CALL(ioctl)(fd, request, arg);
}

#endif
