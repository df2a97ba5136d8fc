/* Stopping the threads of a process. See attach.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "base/file.h"
#include "base/os.h"
#include "recorder/attach.h"

enum {
	THREADS_MOST = 1 << 22,
	PATIENCE_MS = 10000,
	DEVICE_MS = 300, /* for threads that wait for a device, or for a child of vfork() */
	STEPS_MOST = 64,
	/* The kernel's own errno: the call goes on if no signal handler runs, else EINTR. */
	RESTART_NO_HANDLER = 514,
};

static uint64_t now_ms(void)
{
	struct timespec t = { 0 };

	os_clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void nap(void)
{
	os_nanosleep(&(struct timespec){ 0, 200000 }, NULL);
}

static char thread_state(const struct tracees *s, pid_t tid)
{
	char task[48];

	snprintf(task, sizeof(task), "%d/task/%d", (int)s->target->pid, (int)tid);
	return (char)target_stat(task, 3);
}

/* --- why not --- */

/* Returns the name of a process, in `name`. */
static const char *process_name(pid_t pid, char name[64])
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	n = file_head(path, FILE_ANY, name, 63);
	name[n > 0 ? n : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	return name;
}

static enum spur_status refused(const struct tracees *s, int why, struct spur_error *err)
{
	const int pid = (int)s->target->pid;
	char task[24], name[64], yama[8] = "";
	pid_t tracer;

	snprintf(task, sizeof(task), "%d", pid);
	tracer = (pid_t)target_status(task, "TracerPid", 10);
	if (tracer)
		return err_set(err, SPUR_ERR_IO,
			       "process %d: expected one that is not traced, found process %d (%s) "
			       "tracing it",
			       pid, (int)tracer, process_name(tracer, name));
	if (why != EPERM)
		return err_set(err, SPUR_ERR_IO, "process %d: %s", pid, strerror(why));
	if (file_head("/proc/sys/kernel/yama/ptrace_scope", FILE_ANY, yama, sizeof(yama) - 1) > 0 &&
	    yama[0] != '0')
		return err_set(err, SPUR_ERR_IO,
			       "process %d: the system lets no process trace another: set "
			       "/proc/sys/kernel/yama/ptrace_scope to 0, or run spur as root",
			       pid);
	return err_set(err, SPUR_ERR_IO,
		       "process %d: the system does not let you trace it: it is another user's, "
		       "has rights of its own, or tracing is forbidden here",
		       pid);
}

/* --- stopping --- */

static struct tracee *find(struct tracees *s, pid_t tid)
{
	for (size_t i = s->count; i-- > 0;)
		if (s->list[i].tid == tid)
			return &s->list[i];
	return NULL;
}

/* Begins to stop a thread. Returns 0 or an errno. */
static int seize(struct tracees *s, pid_t tid)
{
	int why;

	if (find(s, tid))
		return 0;
	if (os_ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) != 0) {
		why = errno;
		/* It has ended: the first thread stays until all others have. */
		return why == ESRCH || strchr("ZX", thread_state(s, tid)) ? 0 : why;
	}
	if (!mem_grow((void **)&s->list, &s->cap, s->count + 1, sizeof(*s->list), THREADS_MOST)) {
		os_ptrace(PTRACE_INTERRUPT, tid, 0, 0);
		return ENOMEM;
	}
	s->list[s->count++] = (struct tracee){ .tid = tid };
	os_ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	return 0;
}

/* Begins to stop all threads that are there. Returns 0 or an errno; *fresh: any was new. */
static int seize_all(struct tracees *s, bool *fresh)
{
	const size_t before = s->count;
	const struct dirent *e;
	char path[32];
	int why = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)s->target->pid);
	dir = os_opendir(path);
	if (!dir)
		return ESRCH;
	while (!why && (e = os_readdir(dir)))
		if (e->d_name[0] != '.')
			why = seize(s, (pid_t)strtol(e->d_name, NULL, 10));
	os_closedir(dir);
	*fresh = s->count != before;
	return why;
}

/* Calls that the kernel breaks off when their thread is stopped, and that do nothing before. */
static bool is_repeatable(uint64_t call)
{
	static const int calls[] = { SYS_epoll_wait, SYS_epoll_pwait, SYS_semop, SYS_semtimedop,
				     SYS_rt_sigtimedwait, SYS_io_getevents, SYS_read, SYS_recvfrom,
				     SYS_recvmsg, SYS_accept, SYS_accept4, SYS_sendto, SYS_sendmsg,
				     SYS_write, SYS_readv, SYS_writev, SYS_io_pgetevents,
				     426 /* io_uring_enter */, 441 /* epoll_pwait2 */ };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (call == (uint64_t)calls[i])
			return true;
	return false;
}

/*
 * Some calls return EINTR if their thread is stopped. The program did not ask for that: the call is
 * repeated, unless a signal handler runs first.
 */
static void call_repeat(pid_t tid)
{
	struct user_regs_struct r;

	if (os_ptrace(PTRACE_GETREGS, tid, 0, (uintptr_t)&r) != 0 || (int64_t)r.orig_rax < 0 ||
	    (int64_t)r.rax != -EINTR || !is_repeatable(r.orig_rax))
		return;
	r.rax = (uint64_t)-RESTART_NO_HANDLER;
	os_ptrace(PTRACE_SETREGS, tid, 0, (uintptr_t)&r);
}

static void drop(struct tracees *s, struct tracee *t)
{
	*t = s->list[--s->count];
}

/* Looks whether a thread has stopped or ended. Returns false if neither. */
static bool settle(struct tracees *s, struct tracee *t)
{
	int status;
	const pid_t got = os_waitpid(t->tid, &status, __WALL | WNOHANG);

	if (got == 0 || (got < 0 && errno == EINTR))
		return false;
	if (got < 0 || !WIFSTOPPED(status)) {
		drop(s, t);
		return true;
	}
	t->stopped = true;
	t->signal = status >> 16 ? 0 : WSTOPSIG(status);
	call_repeat(t->tid);
	return true;
}

/* Returns 0 or an errno. */
static int wait_all(struct tracees *s)
{
	const uint64_t begin = now_ms();

	for (size_t i = s->count; i-- > 0;)
		while (i < s->count && !s->list[i].stopped && !settle(s, &s->list[i])) {
			const uint64_t took = now_ms() - begin;

			if (took > PATIENCE_MS ||
			    (took > DEVICE_MS && thread_state(s, s->list[i].tid) == 'D'))
				return ETIMEDOUT;
			nap();
		}
	return 0;
}

enum spur_status tracees_stop(struct tracees *s, struct spur_error *err)
{
	bool fresh = true;
	int why = 0;

	/* Threads that are not stopped yet may start others. */
	while (!why && fresh) {
		why = seize_all(s, &fresh);
		if (!why)
			why = wait_all(s);
	}
	s->waits = why == ETIMEDOUT || (why == EPERM && s->patient);
	if (!why && s->count)
		return SPUR_OK;
	if (!why || why == ESRCH)
		err_set(err, SPUR_ERR_IO, "process %d: it has ended", (int)s->target->pid);
	else if (why == ENOMEM)
		err_nomem(err);
	else if (why == ETIMEDOUT)
		err_set(err, SPUR_ERR_IO,
			"process %d: expected threads that can be stopped, found one that waits "
			"for a device or for a child of vfork()",
			(int)s->target->pid);
	else
		refused(s, why, err);
	tracees_release(s, 0);
	return SPUR_FAIL;
}

/* --- letting go --- */

static void release(struct tracees *s, size_t i)
{
	const pid_t tid = s->list[i].tid;

	/*
	 * One that was asked to stop has to be seen stopping, before it can be let go. If it cannot
	 * now, it stays in the list, and the system lets it go when the recorder ends.
	 */
	while (!s->list[i].stopped)
		if (settle(s, &s->list[i])) {
			if (i >= s->count || s->list[i].tid != tid)
				return;
		} else if (thread_state(s, tid) == 'D') {
			return;
		} else {
			nap();
		}
	os_ptrace(PTRACE_DETACH, tid, 0, (uintptr_t)s->list[i].signal);
	drop(s, &s->list[i]);
}

void tracees_release(struct tracees *s, pid_t but)
{
	for (size_t i = s->count; i-- > 0;)
		if (s->list[i].tid != but)
			release(s, i);
}

void tracees_free(struct tracees *s)
{
	mem_free(s->list);
	*s = (struct tracees){ 0 };
}

/* --- stepping --- */

const struct attach_range *attach_range_at(const struct attach_range *ranges, size_t n, uint64_t at)
{
	size_t low = 0, high = n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (at >= ranges[mid].end)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && at > ranges[low].first ? &ranges[low] : NULL;
}

/*
 * The kernel forces the signal of a trap upon a thread that blocks or ignores it, and changes what
 * the program has chosen for it.
 */
bool tracee_may_trap(const struct target *t, pid_t tid)
{
	const uint64_t bit = UINT64_C(1) << (SIGTRAP - 1);
	char task[48];

	snprintf(task, sizeof(task), "%d/task/%d", (int)t->pid, (int)tid);
	return !((target_status(task, "SigBlk", 16) | target_status(task, "SigIgn", 16)) & bit);
}

bool tracee_block_signals(pid_t tid)
{
	static const int kept[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE };
	uint64_t mask = UINT64_MAX;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		mask &= ~(UINT64_C(1) << (kept[i] - 1));
	return os_ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), (uintptr_t)&mask) == 0;
}

/* One instruction. Returns false if the thread has ended. */
static bool step(struct tracee *t)
{
	int status;
	pid_t got;

	if (os_ptrace(PTRACE_SINGLESTEP, t->tid, 0, 0) != 0)
		return false;
	do
		got = os_waitpid(t->tid, &status, __WALL);
	while (got < 0 && errno == EINTR);
	if (got < 0 || !WIFSTOPPED(status))
		return false;
	/* One that cannot be blocked, and is the program's. */
	if (!(status >> 16) && WSTOPSIG(status) != SIGTRAP)
		t->signal = WSTOPSIG(status);
	return true;
}

static bool is_inside(pid_t tid, const struct attach_range *ranges, size_t n)
{
	struct user_regs_struct r;

	return os_ptrace(PTRACE_GETREGS, tid, 0, (uintptr_t)&r) == 0 &&
	       attach_range_at(ranges, n, r.rip);
}

/*
 * Signals wait meanwhile: a thread that is let go can be given only one. Returns false if the
 * thread is not out, or has ended; then t->tid is 0.
 */
static bool tracee_step_out(const struct tracees *s, struct tracee *t,
			    const struct attach_range *ranges, size_t n)
{
	uint64_t blocked;

	if (!tracee_may_trap(s->target, t->tid) ||
	    os_ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(blocked), (uintptr_t)&blocked) != 0 ||
	    !tracee_block_signals(t->tid))
		return false;
	for (unsigned i = 0; i < STEPS_MOST && is_inside(t->tid, ranges, n); i++)
		if (!step(t)) {
			t->tid = 0;
			return false;
		}
	os_ptrace(PTRACE_SETSIGMASK, t->tid, sizeof(blocked), (uintptr_t)&blocked);
	return !is_inside(t->tid, ranges, n);
}

bool tracees_step_out(struct tracees *s, const struct attach_range *ranges, size_t n)
{
	for (size_t i = s->count; i-- > 0;) {
		struct tracee *const t = &s->list[i];

		if (!is_inside(t->tid, ranges, n) || tracee_step_out(s, t, ranges, n))
			continue;
		if (t->tid)
			return false;
		drop(s, t);
	}
	return true;
}
