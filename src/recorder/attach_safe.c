/*
 * Where a function may be called on a thread that was stopped anywhere. Loading a library takes the
 * linker's lock and memory of the allocator. Other threads give those back, since they go on
 * meanwhile; the thread itself must have neither. So each of its frames is looked at, and must be
 * understood up to where the thread began.
 */
#include <string.h>
#include <sys/user.h>

#include "base/os.h"
#include "recorder/attach.h"

enum { FRAMES_MOST = 1000 };

/* Functions of the C library that have something locked, or are the end of the process. */
static bool is_forbidden(const char *name)
{
	static const char *const names[] = {
		"malloc",	 "calloc",	 "realloc",	     "free",
		"cfree",	 "memalign",	 "aligned_alloc",    "posix_memalign",
		"valloc",	 "pvalloc",	 "reallocarray",     "malloc_trim",
		"malloc_info",	 "malloc_stats", "mallinfo",	     "mallinfo2",
		"mallopt",	 "fork",	 "vfork",	     "_Fork",
		"clone",	 "exit",	 "quick_exit",	     "_exit",
		"abort",	 "dl_iterate_phdr", "pthread_create", "pthread_exit",
		"thrd_create",	 "thrd_exit",	 "pthread_getattr_np", "pthread_atfork",
		"pthread_key_create", "__register_atfork", "__cxa_thread_atexit_impl",
		"__cxa_atexit",	 "__cxa_at_quick_exit", "__cxa_finalize", "on_exit",
		"setlocale",	 "newlocale",	 "__libc_freeres",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return strncmp(name, "dl", 2) == 0 || strncmp(name, "_dl_", 4) == 0 ||
	       strncmp(name, "__libc_dlopen", 13) == 0;
}

/* True if a function of the allocator or another that is forbidden covers the address. */
static bool in_forbidden(const struct target_module *m, uint64_t at, bool *known)
{
	const char *name;
	size_t next = 0;

	*known = false;
	while ((name = target_function_at(m, at, &next))) {
		*known = true;
		if (is_forbidden(name))
			return true;
	}
	return false;
}

/* Calls in which a thread waits for something outside the process. */
static bool is_waiting(uint64_t call)
{
	static const int calls[] = { SYS_poll,	    SYS_ppoll,	     SYS_select,
				     SYS_pselect6,  SYS_epoll_wait,  SYS_epoll_pwait,
				     SYS_accept,    SYS_accept4,     SYS_recvfrom,
				     SYS_recvmsg,   SYS_read,	     SYS_wait4,
				     SYS_waitid,    SYS_rt_sigtimedwait, SYS_rt_sigsuspend,
				     SYS_pause };

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (call == (uint64_t)calls[i])
			return true;
	return false;
}

/* What is known of the frames so far. */
struct walk {
	bool libc; /* the frame inside was the C library's, .. */
	bool named; /* .. in a function that has a name */
	bool others; /* a frame of the program was seen */
	bool waiting; /* the thread waits for something outside */
};

/* Returns false if nothing may be called while there is such a frame. */
static bool frame_allows(struct target *t, uint64_t at, struct walk *w)
{
	const struct target_module *const m = target_module_at(t, at);

	if (!m || m->is_linker || m->is_recorder)
		return false;
	if (m->is_libc) {
		w->libc = true;
		return !in_forbidden(m, at, &w->named);
	}
	if (m->allocates) {
		bool known;

		if (!w->waiting || m != target_module_at(t, t->maps[0].first) ||
		    in_forbidden(m, at, &known))
			return false;
	}
	/*
	 * What was called in the C library is one of its public functions, or it is unknown in what
	 * state the library is.
	 */
	if (w->libc && !w->named)
		return false;
	w->libc = false;
	w->others = true;
	return true;
}

/*
 * True if the thread may be in a sequence that the kernel restarts (rseq): it would not do so after
 * a call in between.
 */
static bool in_sequence(const struct target *t, pid_t tid)
{
	bool found = false;
#ifdef PTRACE_GET_RSEQ_CONFIGURATION
	enum { SEQUENCE_AT = 8 };
	struct {
		uint64_t area;
		uint32_t rest[4];
	} c = { 0 };
	uint64_t sequence;

	/* The request's address is the size. */
	if (os_ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(c), (uintptr_t)&c) > 0 && c.area)
		found = !target_read(t, c.area + SEQUENCE_AT, &sequence, sizeof(sequence)) ||
			sequence;
#else
	(void)t, (void)tid;
#endif
	return found;
}

static bool is_safe(struct tracees *s, const struct tracee *thread)
{
	struct unwind u = { .target = s->target };
	enum unwind_status st = UNWIND_FRAME;
	struct user_regs_struct r;
	struct walk w = { 0 };

	if (thread->signal || in_sequence(s->target, thread->tid) ||
	    os_ptrace(PTRACE_GETREGS, thread->tid, 0, (uintptr_t)&r) != 0)
		return false;
	w.waiting = is_waiting(r.orig_rax);
	memcpy(u.regs,
	       (const uint64_t[]){ r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
				   r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip },
	       sizeof(u.regs));
	for (unsigned i = 0; st == UNWIND_FRAME; i++) {
		if (i == FRAMES_MOST ||
		    !frame_allows(s->target, u.regs[UNWIND_PC] - u.is_call, &w))
			return false;
		st = unwind_step(&u);
		if (u.is_signal)
			return false;
	}
	return st == UNWIND_END && w.others && tracee_may_trap(s->target, thread->tid);
}

struct tracee *tracees_safe(struct tracees *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (is_safe(s, &s->list[i]))
			return &s->list[i];
	return NULL;
}
