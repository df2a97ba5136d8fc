/*
 * Changes a module as its plan says. What is there is looked at first: a place that does not have
 * what the plan expects stays as it is, and is counted.
 */
#include "hook.h"

enum { PAGE = 4096, JUMP = 5, SLED = 11, NAME_COLUMN = 32, NOP = 0x90 };

struct hook_counts hook_counts;
bool (*hook_changes)(uint8_t *at, const void *to, unsigned size, bool is_code);
bool hook_deferred;

/* A module that is being changed. */
struct patch {
	struct hook_module *m;
	const struct plan_head *p;
	const struct plan_function *functions;
	const struct plan_point *points;
	struct hook_area *area; /* where thunks are made; NULL: none are */
	const uint64_t *known; /* where each point led before; NULL: thunks are made */
	bool differs; /* one is to lead elsewhere than before */
	uint32_t first; /* number of function 0 */
};

/* Bytes of the instruction that does nothing at `p`, at most `left`; 0: it is another one. */
static unsigned nop_size(const uint8_t *p, unsigned left)
{
	unsigned n = 0, size, mode;

	while (n < left && (p[n] == 0x66 || p[n] == 0x2E))
		n++;
	if (n < left && p[n] == NOP)
		return n + 1;
	if (left - n < 3 || p[n] != 0x0F || p[n + 1] != 0x1F)
		return 0;
	mode = p[n + 2] >> 6;
	size = n + 3 + ((p[n + 2] & 7) == 4) + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
	return mode < 3 && size <= left ? size : 0;
}

static bool is_call(const uint8_t *p, unsigned size)
{
	return (size == 5 && p[0] == 0xE8) || (size == 6 && p[0] == 0xFF && p[1] == 0x15) ||
	       (size == 6 && p[0] == 0x67 && p[1] == 0xE8);
}

/*
 * What may stand where functions begin: no operation, or a call of __fentry__ or mcount, either of
 * them maybe with r10 pushed and popped around it.
 */
static bool is_entry(const uint8_t *p, unsigned size)
{
	static const uint8_t push[] = { 0x41, 0x52 }, pop[] = { 0x41, 0x5A };
	unsigned done = 0, n;

	if (size >= JUMP + 4 && memcmp(p, push, 2) == 0 && memcmp(p + size - 2, pop, 2) == 0) {
		p += 2;
		size -= 4;
	}
	if (size < JUMP)
		return false;
	if (is_call(p, size))
		return true;
	while (done < size && (n = nop_size(p + done, size - done)))
		done += n;
	return done == size;
}

/* Sleds of XRay: a jump over 9 bytes at an entry, a return at an exit. */
static bool is_sled(const uint8_t *p, unsigned kind, unsigned size)
{
	static const uint8_t patched[] = { 0x41, 0xBA };

	if (size < SLED)
		return false;
	if (memcmp(p, patched, sizeof(patched)) == 0)
		return true;
	return kind == PLAN_XRAY_EXIT ? p[0] == 0xC3 : p[0] == 0xEB && p[1] == 0x09;
}

/* `at`: where the instruction at `p` will be. */
static void branch(uint8_t *p, uint8_t op, const uint8_t *at, uint64_t to)
{
	const uint32_t distance = (uint32_t)(to - ((uint64_t)at + JUMP));

	p[0] = op;
	memcpy(p + 1, &distance, sizeof(distance));
}

/* Changes code, or has the recorder do so. Returns false if it is not possible. */
static bool code_write(uint8_t *at, const uint8_t *to, unsigned size)
{
	if (hook_changes && !hook_changes(at, to, size, true))
		return false;
	if (!hook_deferred)
		memcpy(at, to, size);
	return true;
}

static bool branch_write(uint8_t *at, uint8_t op, uint64_t to)
{
	uint8_t p[JUMP];

	branch(p, op, at, to);
	return code_write(at, p, sizeof(p));
}

/* Whether calls of the function go through C code. */
static bool is_slow(const struct patch *c, const struct plan_point *q)
{
	const struct plan_function *const f = &c->functions[q->function];

	return f->nargs || f->nresults || f->nconditions;
}

static bool sled_write(const struct patch *c, const struct plan_point *q, uint8_t *at, uint64_t to)
{
	const uint32_t word = (c->first + q->function) << 8 | SPB_ENTER;
	uint8_t p[SLED] = { 0x41, 0xBA }; /* mov to r10d */

	memcpy(p + 2, &word, sizeof(word));
	branch(p + 6, q->kind == PLAN_XRAY_EXIT ? 0xE9 : 0xE8, at + 6, to);
	return code_write(at, p, sizeof(p));
}

/* --- thunks --- */

/* The thunk of a point, from which `body` is entered; 0: no room for it, or it differs. */
static uint64_t thunk_get(struct patch *c, const struct plan_point *q, uint64_t body)
{
	const uint32_t number = c->first + q->function;
	const uint64_t known = c->known ? c->known[q - c->points] : 0;
	uint64_t (*const make)(struct hook_area *, uint32_t, uint64_t, bool) =
		q->kind == PLAN_MCOUNT ? hook_thunk_call : hook_thunk;

	if (!c->known)
		return make(c->area, number, body, is_slow(c, q));
	if (known && hook_thunk_body(known) == body)
		return known;
	c->differs = true;
	return 0;
}

static uint64_t sled_get(struct patch *c, const struct plan_point *q)
{
	if (c->known) {
		c->differs |= !c->known[q - c->points];
		return c->known[q - c->points];
	}
	return hook_island(c->area, q->kind == PLAN_XRAY_ENTER ? hook_xray_enter :
				    q->kind == PLAN_XRAY_EXIT  ? hook_xray_exit :
								 hook_xray_tail);
}

/* --- slots --- */

/*
 * Functions that return twice, that look at their caller or its frame, or that never return: they
 * are never entered by a thunk, whatever a plan says.
 */
static bool is_untouchable(const char *name)
{
	static const char names[][NAME_COLUMN] = {
		"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "longjmp", "_longjmp",
		"siglongjmp", "__longjmp_chk", "vfork", "getcontext", "setcontext", "swapcontext",
		"makecontext", "dlopen", "dlmopen", "dlsym", "dlvsym", "dlclose", "dladdr",
		"dladdr1", "dlerror", "dlinfo", "exit", "_exit", "_Exit", "quick_exit", "abort",
		"pthread_exit", "__libc_start_main", "__tls_get_addr", "__stack_chk_fail",
		"__cxa_throw", "__cxa_rethrow", "__cxa_begin_catch", "__cxa_end_catch",
		"_Unwind_Resume", "_Unwind_RaiseException", "_Unwind_ForcedUnwind",
		"_Unwind_Backtrace", "_Unwind_Resume_or_Rethrow", "backtrace", "mcount", "_mcount",
		"__fentry__", "__cyg_profile_func_enter", "__cyg_profile_func_exit",
		"__gmon_start__", "__monstartup", "clone", "clone3", "returns_twice", "savectx",
		"__cxa_finalize", "__assert_fail", "thrd_exit", "err", "errx", "verr", "verrx",
		"sigaltstack", "_dl_find_object", "__register_frame", "__register_frame_info",
		"__deregister_frame", "__deregister_frame_info", "_dl_runtime_resolve"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return strncmp(name, "spur_trace_", 11) == 0;
}

/* The function behind a slot that was not used yet: it has an address in its own module. */
static uint64_t slot_target(const struct patch *c, uint64_t value, const char *name)
{
	if (value < c->m->first || value >= c->m->end)
		return value;
	return hook_symbol ? hook_symbol(c->m->path, name) : 0;
}

/*
 * Where the library is linked into a program, its own calls go through the same slots: a hook would
 * come back to itself.
 */
static bool has_library(const struct hook_module *m)
{
	const uint64_t here = (uint64_t)(uintptr_t)&has_library;

	return here >= m->first && here < m->end;
}

/* The thunk for a slot, or 0. */
static uint64_t slot_thunk(struct patch *c, const struct plan_point *q, uint8_t *at)
{
	const struct plan_function *const f = &c->functions[q->function];
	const char *const name = (const char *)c->p + c->p->texts + f->name;
	uint64_t target;

	if (!f->name || q->size != sizeof(target) || (uint64_t)at % sizeof(target) ||
	    is_untouchable(name) || has_library(c->m))
		return 0;
	target = slot_target(c, *(uint64_t *)(void *)at, name);
	if (!target || hook_is_own(target))
		return 0;
	return thunk_get(c, q, target);
}

bool hook_slot_write(const struct hook_module *m, uint8_t *at, uint64_t to)
{
	if (hook_changes && !hook_changes(at, &to, sizeof(to), false))
		return false;
	return hook_deferred || hook_slot_write_now(m, at, to);
}

bool hook_slot_write_now(const struct hook_module *m, uint8_t *at, uint64_t to)
{
	const uint64_t page = (uint64_t)at & ~(uint64_t)(PAGE - 1);
	const bool relro = (uint64_t)at >= m->relro_first && (uint64_t)at < m->relro_end;

	if (relro && mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE))
		return false;
	__atomic_store_n((uint64_t *)(void *)at, to, __ATOMIC_RELEASE);
	if (relro)
		mprotect((void *)page, PAGE, PROT_READ);
	return true;
}

/* --- all --- */

/* Where the point is to lead; 0: it stays as it is. */
static uint64_t point_target(struct patch *c, const struct plan_point *q)
{
	uint8_t *const at = (uint8_t *)(q->address + c->m->shift);

	if ((uint64_t)at < c->m->first || (uint64_t)at + q->size > c->m->end)
		return 0;
	switch (q->kind) {
	case PLAN_ENTRY:
		return is_entry(at, q->size) ? thunk_get(c, q, (uint64_t)at + q->size) : 0;
	case PLAN_MCOUNT:
		return is_call(at, q->size) ? thunk_get(c, q, (uint64_t)at + q->size) : 0;
	case PLAN_XRAY_ENTER:
	case PLAN_XRAY_EXIT:
	case PLAN_XRAY_TAIL:
		return is_sled(at, q->kind, q->size) ? sled_get(c, q) : 0;
	case PLAN_SLOT:
		return slot_thunk(c, q, at);
	case PLAN_CALLED:
		return hook_list_add((uint64_t)at, c->first + q->function);
	}
	return 0;
}

static bool point_write(const struct patch *c, const struct plan_point *q, uint64_t to)
{
	uint8_t *const at = (uint8_t *)(q->address + c->m->shift);

	if (!to)
		return false;
	switch (q->kind) {
	case PLAN_ENTRY:
	case PLAN_MCOUNT:
		return branch_write(at, 0xE9, to);
	case PLAN_SLOT:
		return hook_slot_write(c->m, at, to);
	case PLAN_CALLED:
		return true;
	}
	return sled_write(c, q, at, to);
}

static bool is_code(const struct plan_point *q)
{
	return q->kind != PLAN_SLOT && q->kind != PLAN_CALLED;
}

/* Makes the code from the first point to the last one writable, or as it was. */
static bool code_protect(const struct patch *c, int protection)
{
	const struct plan_point *const q = c->points;
	uint64_t first = UINT64_MAX, end = 0;

	for (uint32_t i = 0; i < c->p->npoints; i++) {
		const uint64_t at = q[i].address + c->m->shift;

		if (!is_code(&q[i]) || at < c->m->first || at + q[i].size > c->m->end)
			continue;
		first = at < first ? at : first;
		end = at + q[i].size > end ? at + q[i].size : end;
	}
	if (!end)
		return true;
	first &= ~(uint64_t)(PAGE - 1);
	return mprotect((void *)first, end - first, protection) == 0;
}

/* A call that stays: the hook that it enters finds the function by where it returns to. */
static void point_leave(const struct patch *c, const struct plan_point *q)
{
	const uint64_t at = q->address + c->m->shift;

	if (is_code(q) && at >= c->m->first && at + q->size <= c->m->end &&
	    is_call((const uint8_t *)at, q->size))
		hook_list_add(at + q->size, c->first + q->function);
}

/* What was changed first tells later whether this is still there, see module.c. */
static void mark_set(struct hook_module *m, const struct plan_point *q)
{
	const uint8_t *const at = (const uint8_t *)(q->address + m->shift);

	if (m->mark || hook_deferred || q->kind == PLAN_CALLED)
		return;
	memcpy(m->marked, at, sizeof(m->marked));
	m->mark = at;
}

/* `targets`: where each point is to lead. `code`: code can be changed. Returns how many were. */
static uint64_t points_write(const struct patch *c, const uint64_t *targets, bool thunks, bool code)
{
	const struct plan_point *const q = c->points;
	uint64_t patched = 0;

	for (uint32_t i = 0; i < c->p->npoints; i++) {
		const bool can = q[i].kind == PLAN_CALLED || (thunks && (code || !is_code(&q[i])));

		if (can && point_write(c, &q[i], targets[i])) {
			mark_set(c->m, &q[i]);
			patched++;
		} else {
			point_leave(c, &q[i]);
		}
	}
	return patched;
}

/* Finds where each point is to lead. Returns how many slots no thunk may stand for. */
static uint64_t targets_find(struct patch *c, uint64_t *targets)
{
	const bool thunks = c->area || c->known;
	uint64_t left = 0;

	c->differs = false;
	for (uint32_t i = 0; i < c->p->npoints; i++) {
		const struct plan_point *const q = &c->points[i];

		targets[i] = thunks || q->kind == PLAN_CALLED ? point_target(c, q) : 0;
		left += thunks && q->kind == PLAN_SLOT && !targets[i];
	}
	return left;
}

/* Has thunks, which are complete before anything leads to them. Returns false if refused. */
static bool thunks_make(struct patch *c, struct hook_planned *g, uint64_t *targets, uint64_t *left)
{
	const struct hook_module *const m = c->m;

	if (g->made) {
		c->known = g->targets;
		*left = targets_find(c, targets);
		c->known = NULL;
		if (!c->differs)
			return true;
	}
	c->area = hook_area_new(m->first, m->end, c->p->npoints);
	*left = targets_find(c, targets);
	g->made = c->area && hook_area_done(c->area);
	memcpy(g->targets, targets, c->p->npoints * sizeof(*targets));
	return g->made;
}

void hook_patch(struct hook_module *m, struct hook_planned *g)
{
	const struct plan_head *const p = g->plan;
	const size_t size = (p->npoints + (size_t)1) * sizeof(uint64_t);
	struct patch c = { .m = m,
			   .p = p,
			   .functions = (const void *)((const char *)p + p->functions),
			   .points = (const void *)((const char *)p + p->points),
			   .first = g->first };
	uint64_t *const targets =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool thunks, code;
	uint64_t patched, left;

	if (targets == MAP_FAILED)
		return;
	thunks = thunks_make(&c, g, targets, &left);
	code = thunks && (hook_deferred || code_protect(&c, PROT_READ | PROT_WRITE | PROT_EXEC));
	if (!code)
		hook_say("memory that is written and executed is refused: functions may be missing "
			 "in ",
			 m->path);
	patched = points_write(&c, targets, thunks, code);
	if (code && !hook_deferred)
		code_protect(&c, PROT_READ | PROT_EXEC);
	hook_counts.patched += patched;
	hook_counts.refused += p->npoints - patched - left;
	munmap(targets, size);
}
