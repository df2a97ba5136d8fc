/*
 * Calls of functions in a process, on a thread that is borrowed. Nothing is written into the
 * program: a function returns to a byte of the C library that is a breakpoint instruction, and runs
 * on a stack of its own.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "base/os.h"
#include "recorder/attach.h"

enum {
	VECTORS_MOST = 16 << 10,
	AREA = 512 << 10,
	RED_ZONE = 128,
	PIECE = 4096,
	FLAG_DIRECTION = 0x400,
	BREAKPOINT = 0xCC,
};

struct remote_state {
	struct user_regs_struct regs;
	uint64_t signals; /* that are blocked */
	size_t vectors_size;
	uint8_t vectors[VECTORS_MOST] __attribute__((aligned(64)));
};

/* --- the thread --- */

static bool state_get(pid_t tid, struct remote_state *s)
{
	struct iovec vectors = { s->vectors, sizeof(s->vectors) };

	if (os_ptrace(PTRACE_GETREGS, tid, 0, (uintptr_t)&s->regs) != 0 ||
	    os_ptrace(PTRACE_GETSIGMASK, tid, sizeof(s->signals), (uintptr_t)&s->signals) != 0 ||
	    os_ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, (uintptr_t)&vectors) != 0)
		return false;
	s->vectors_size = vectors.iov_len;
	return true;
}

static void state_set(pid_t tid, const struct remote_state *s)
{
	struct iovec vectors = { (void *)(uintptr_t)s->vectors, s->vectors_size };

	os_ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, (uintptr_t)&vectors);
	os_ptrace(PTRACE_SETSIGMASK, tid, sizeof(s->signals), (uintptr_t)&s->signals);
	os_ptrace(PTRACE_SETREGS, tid, 0, (uintptr_t)&s->regs);
}

/* --- places --- */

static struct target_module *libc_find(struct target *t)
{
	struct target_module *m;

	for (size_t i = 0; i < t->nmaps; i++)
		if (t->maps[i].executable && (m = target_module_at(t, t->maps[i].first)) &&
		    m->is_libc && target_symbol(t, m, "mmap"))
			return m;
	return NULL;
}

static uint64_t trap_find(const struct target *t, const struct target_module *m)
{
	uint8_t bytes[PIECE];
	const uint8_t *p;

	for (size_t i = 0; i < t->nmaps; i++) {
		const struct target_map *const map = &t->maps[i];

		if (!map->executable || map->first < m->first || map->end > m->end)
			continue;
		for (uint64_t at = map->first; at < map->end; at += PIECE)
			if (target_read(t, at, bytes, PIECE) &&
			    (p = memchr(bytes, BREAKPOINT, PIECE)))
				return at + (uint64_t)(p - bytes);
	}
	return 0;
}

/* --- calls --- */

static enum spur_status lost(const struct remote *r, struct spur_error *err)
{
	return err_set(err, SPUR_ERR_IO, "process %d: its thread ended while it was attached to",
		       (int)r->target->pid);
}

/* A signal that came meanwhile: the thread gets it at the end. */
static void hold(struct remote *r, int sig)
{
	if (r->nheld < sizeof(r->held) / sizeof(r->held[0]))
		r->held[r->nheld++] = sig;
}

/* Waits until the function has returned. Returns SPUR_FAIL if it does not. */
static enum spur_status returned(struct remote *r, struct user_regs_struct *regs,
				 struct spur_error *err)
{
	const pid_t tid = r->tid;
	int status, sig;
	pid_t got;

	for (;;) {
		got = os_waitpid(tid, &status, __WALL | WNOHANG);
		if (got == 0 || (got < 0 && errno == EINTR)) {
			r->wait(r->arg);
			continue;
		}
		if (got < 0 || !WIFSTOPPED(status) ||
		    os_ptrace(PTRACE_GETREGS, tid, 0, (uintptr_t)regs) != 0) {
			r->tid = 0;
			return lost(r, err);
		}
		sig = status >> 16 ? 0 : WSTOPSIG(status);
		if (sig == SIGTRAP && regs->rip == r->trap + 1)
			return SPUR_OK;
		if (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE)
			return err_set(err, SPUR_ERR_IO,
				       "process %d: a function that was called in it failed with "
				       "signal %d at %#llx",
				       (int)r->target->pid, sig, (unsigned long long)regs->rip);
		if (sig)
			hold(r, sig);
		os_ptrace(PTRACE_CONT, tid, 0, 0);
	}
}

static enum spur_status call(struct remote *r, uint64_t function, const uint64_t args[6],
			     uint64_t *result, struct spur_error *err)
{
	struct user_regs_struct regs = r->state->regs;
	uint64_t stack = r->area ? r->area + r->area_size : regs.rsp - RED_ZONE;

	stack = (stack & ~UINT64_C(15)) - sizeof(uint64_t);
	regs.rip = function;
	regs.rsp = stack;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.rcx = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	regs.rax = 0;
	/* No system call is to be repeated. */
	regs.orig_rax = UINT64_MAX;
	regs.eflags &= ~(uint64_t)FLAG_DIRECTION;
	if (!target_write(r->target, stack, &r->trap, sizeof(r->trap)) ||
	    os_ptrace(PTRACE_SETREGS, r->tid, 0, (uintptr_t)&regs) != 0 ||
	    os_ptrace(PTRACE_CONT, r->tid, 0, 0) != 0 ||
	    returned(r, &regs, err) == SPUR_FAIL)
		return err->code ? SPUR_FAIL : lost(r, err);
	*result = regs.rax;
	return SPUR_OK;
}

enum spur_status remote_call(struct remote *r, uint64_t function, const uint64_t args[3],
			     uint64_t *result, struct spur_error *err)
{
	return call(r, function, (const uint64_t[]){ args[0], args[1], args[2], 0, 0, 0 }, result,
		    err);
}

static enum spur_status area_map(struct remote *r, const struct target_module *libc,
				 struct spur_error *err)
{
	uint64_t at = 0;

	if (call(r, target_symbol(r->target, libc, "mmap"),
		 (const uint64_t[]){ 0, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				     UINT64_MAX, 0 },
		 &at, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (at >= (uint64_t)-PIECE)
		return err_set(err, SPUR_ERR_IO, "process %d: it gets no more memory",
			       (int)r->target->pid);
	r->area = at;
	r->area_size = AREA;
	return SPUR_OK;
}

enum spur_status remote_begin(struct remote *r, struct spur_error *err)
{
	struct target_module *const libc = libc_find(r->target);

	r->trap = libc ? trap_find(r->target, libc) : 0;
	if (!r->trap)
		return err_set(err, SPUR_ERR_USAGE,
			       "process %d: expected a program with the GNU C library, found none",
			       (int)r->target->pid);
	r->state = mem_alloc(sizeof(*r->state));
	if (!r->state)
		return err_nomem(err);
	if (!state_get(r->tid, r->state) || !tracee_block_signals(r->tid)) {
		mem_free(r->state);
		r->state = NULL;
		return lost(r, err);
	}
	if (area_map(r, libc, err) == SPUR_OK)
		return SPUR_OK;
	remote_end(r);
	return SPUR_FAIL;
}

void remote_end(struct remote *r)
{
	struct spur_error err = { 0 };
	struct target_module *libc;
	uint64_t result, at = r->area;

	r->area = 0;
	/* The last call runs on the thread's own stack. */
	if (r->tid && at && (libc = libc_find(r->target)))
		call(r, target_symbol(r->target, libc, "munmap"),
		     (const uint64_t[]){ at, r->area_size, 0, 0, 0, 0 }, &result, &err);
	if (r->tid) {
		state_set(r->tid, r->state);
		for (unsigned i = 0; i < r->nheld; i++)
			os_kill(r->target->pid, r->held[i]);
	}
	mem_free(r->state);
	r->state = NULL;
}
