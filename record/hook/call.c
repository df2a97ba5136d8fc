/*
 * Calls that are entered and left, where enter.S does not know what to do. Compiled for general
 * registers alone, as record.c says.
 *
 * A call ends without a return if longjmp(), an exception or the end of a thread leaves it. Its
 * place on the stack tells: a call that begins at or above it, or a call around it that returns,
 * shows that it has ended. An UNWIND record says so before that event is recorded.
 */
#include "hook.h"

__thread struct hook_thread hook_here __attribute__((tls_model("initial-exec")));
struct hook_settings hook_settings;
uint32_t hook_switch = 1;
uint32_t hook_lists;

/* A hook that is entered. */
struct entry {
	uint64_t place; /* address on the stack */
	uint64_t what; /* as in struct hook_call */
	const struct hook_function *function; /* NULL: it has no plan */
	const struct hook_regs *regs; /* NULL: arguments are not known any more */
	bool moves; /* the return address is moved, so the end is only seen if it is */
	bool inlined; /* calls inside it may have the same place */
	uint64_t function_address; /* if its end says it; else 0 */
};

enum opened { OPENED, SKIPPED, TAILED };

static const uint64_t EVERY_KEY = UINT64_MAX;

/* --- the stack of open calls --- */

static const struct hook_function *function_of(const struct hook_call *c)
{
	return c->what & HOOK_BY_ADDRESS ? NULL : hook_function((uint32_t)c->what >> 8);
}

/*
 * Takes back the call that ends if it is shorter than what is recorded. Returns true if it did.
 * *kind: that of its record, ENTER or TAIL.
 */
static bool taken_back(const struct hook_call *c, const struct hook_function *f, uint64_t ticks,
		       uint32_t *kind)
{
	uint64_t least = hook_settings.least;

	if (f && f->least)
		least = f->least;
	if (!least || !c->record || (f && f->plan->flags & PLAN_KEEP))
		return false;
	*kind = ticks - c->ticks < least ? hook_take_back(c->record, c->ticks) : 0;
	return *kind != 0;
}

/* The call that ended by the jump to one that was taken back has no record of its end any more. */
static void exit_before(const struct hook_call *taken, uint32_t kind)
{
	if (kind == SPB_TAIL)
		hook_record(SPB_EXIT, 0, NULL, 0, taken->ticks);
}

/* The innermost call is none any more. */
static void pop(struct hook_thread *t)
{
	struct hook_call *const c = t->top - 1;

	if (c->key)
		hook_key_set(t, c->before);
	seam_fence();
	c->key = 0;
	seam_fence();
	t->top = c;
}

/* Returns true if the innermost call has a record that stays. `recorded`: inside it, how many. */
static bool unwind_one(struct hook_thread *t, uint64_t ticks, uint64_t recorded)
{
	const struct hook_call *const c = t->top - 1;
	const struct hook_function *const f = function_of(c);
	bool stays = false;
	uint32_t kind;

	if (c->what & HOOK_HIDDEN) {
		t->stack->hidden--;
		return false;
	}
	/* Behind a call that stays, none is the last record. */
	if (recorded || !taken_back(c, f, ticks, &kind))
		stays = true;
	else
		exit_before(c, kind);
	if (f && f->plan->nconditions)
		hook_keep_left(f, ticks - c->ticks, ticks);
	return stays;
}

static void unwind(struct hook_thread *t, uint64_t n)
{
	const uint64_t ticks = hook_ticks();
	uint64_t recorded = 0;

	for (; n; n--) {
		if (t->top[-1].key && unwind_one(t, ticks, recorded))
			recorded++;
		pop(t);
	}
	if (recorded)
		hook_record(SPB_UNWIND, 0, &recorded, SPB_WORD, ticks);
}

/*
 * How many of the innermost calls are below `key`. An item that is not filled is the innermost call
 * of a hook that was interrupted, or left by a jump: it has been passed if a call around it has.
 */
static uint64_t passed(const struct hook_thread *t, uint64_t key)
{
	const struct hook_call *c = t->top;

	if (key == EVERY_KEY)
		return (uint64_t)(t->top - t->stack->base);
	for (const struct hook_call *in = c; in > t->stack->base && in[-1].key < key; in--)
		if (in[-1].key)
			c = in - 1;
	return (uint64_t)(t->top - c);
}

/*
 * Ends the calls below `key`. While they are counted, no signal handler does the same.
 */
void hook_unwind(struct hook_thread *t, uint64_t key)
{
	const int kept = errno;
	uint64_t before;

	if (!passed(t, key))
		return;
	before = hook_signals_block();
	unwind(t, passed(t, key));
	hook_signals_restore(before);
	errno = kept;
}

/*
 * Makes the stack that has the address the current one, and ends its calls that have been passed.
 * An alternate stack for signals may lie inside another stack.
 */
static bool settle(struct hook_thread *t, uint64_t address)
{
	if (!hook_stack_at(t, address))
		return false;
	if (passed(t, address - t->low) && !t->stack->alternate)
		hook_stack_alternate(t, address);
	hook_unwind(t, address - t->low);
	return true;
}

/* A plan that came after the thread began may need more than the quick way. */
static void mode_follow(struct hook_thread *t)
{
	if (t->full || !hook_settings.full)
		return;
	t->key = t->span;
	seam_fence();
	t->full = true;
	t->span = 0;
	if (t->stack)
		hook_stack_full(t->stack, t->top);
}

static void push(struct hook_thread *t, const struct entry *e, uint64_t ticks)
{
	struct hook_call *const c = t->top;

	t->top = c + 1;
	seam_fence();
	c->key = (uint32_t)(e->place - t->low);
	c->before = (uint32_t)hook_key(t);
	c->what = e->what;
	c->ticks = ticks;
	c->record = NULL;
	seam_fence();
	hook_key_set(t, e->place - t->low);
}

/* --- what is recorded --- */

static void trigger(const struct hook_function *f)
{
	const uint32_t flags = f ? f->plan->flags : 0;

	if (flags & PLAN_TRACE_ON)
		seam_store32(&hook_switch, 1);
	else if (flags & PLAN_TRACE_OFF)
		seam_store32(&hook_switch, 0);
}

static bool is_recorded(const struct hook_thread *t, const struct hook_function *f)
{
	const uint64_t calls = (uint64_t)(t->top - t->stack->base) - t->stack->hidden;

	if (!hook_switch || (f && f->plan->flags & PLAN_HIDDEN))
		return false;
	return !hook_settings.depth || calls < hook_settings.depth;
}

/* The ENTER or TAIL record of a call. */
static char *enter_record(const struct entry *e, uint32_t kind, uint64_t ticks)
{
	const struct hook_function *const f = e->function;
	const uint64_t address = e->what & ~HOOK_BY_ADDRESS;
	uint64_t values[HOOK_VALUES_MOST / SPB_WORD];
	uint32_t size;

	if (e->what & HOOK_BY_ADDRESS)
		return hook_record(kind, 0, &address, SPB_WORD, ticks);
	if (!f || !f->plan->nargs || !e->regs)
		return hook_record(kind, (uint32_t)e->what >> 8, NULL, 0, ticks);
	size = hook_values(f->args, f->plan->nargs, e->regs, e->place, values);
	return hook_record(kind, (uint32_t)e->what >> 8, values, size, ticks);
}

static void exit_record(const struct hook_call *c, const struct hook_function *f,
			const struct hook_regs *r, uint64_t ticks)
{
	const uint32_t id = c->what & HOOK_BY_ADDRESS ? 0 : (uint32_t)c->what >> 8;
	uint64_t values[HOOK_VALUES_MOST / SPB_WORD];
	uint32_t size = 0;

	if (f && f->plan->nresults && r)
		size = hook_values(f->args + f->plan->nargs, f->plan->nresults, r, 0, values);
	hook_record(SPB_EXIT, id, values, size, ticks);
}

/* A call of a function that may have conditions was recorded. */
static void entered(const struct hook_function *f)
{
	if (f && f->plan->nconditions)
		hook_keep_entered(f);
}

/* A call whose end will not be seen, since its stack has no mirror. */
static void record_alone(const struct entry *e)
{
	const uint64_t ticks = hook_ticks();
	const struct hook_call c = { .what = e->what };

	if (!hook_switch)
		return;
	enter_record(e, SPB_ENTER, ticks);
	entered(e->function);
	exit_record(&c, e->function, NULL, ticks);
}

/* A jump from the call that has the same place: that call ends, and its exit is ours. */
static void call_replace(struct hook_thread *t, const struct entry *e)
{
	struct hook_call *const c = t->top - 1;
	const struct hook_function *const f = function_of(c);
	const uint64_t ticks = hook_ticks();
	uint32_t kind = SPB_TAIL;
	char *p;

	if (c->what & HOOK_HIDDEN || !is_recorded(t, e->function))
		return;
	/* In place of a call that is taken back, this one is entered. */
	if (taken_back(c, f, ticks, &kind)) {
		exit_before(c, kind);
		kind = SPB_ENTER;
	} else {
		kind = SPB_TAIL;
	}
	if (f && f->plan->nconditions)
		hook_keep_left(f, ticks - c->ticks, ticks);
	c->what = e->what;
	c->record = NULL;
	c->ticks = ticks;
	p = enter_record(e, kind, ticks);
	if (t->full)
		c->record = p;
	entered(e->function);
}

/* Opens the call on the stack that is the current one. */
static enum opened call_settled(struct hook_thread *t, struct entry *e)
{
	const uint64_t key = e->place - t->low;
	uint64_t ticks;
	bool recorded;

	if (!e->inlined && t->top > t->stack->base && t->top[-1].key == key) {
		if (e->moves && hook_is_thunk(*(uint64_t *)e->place)) {
			call_replace(t, e);
			return TAILED;
		}
		hook_unwind(t, key + 1);
	}
	recorded = is_recorded(t, e->function);
	if ((!recorded && e->moves) || (t->top >= t->limit && !hook_stack_grow(t)))
		return SKIPPED;
	if (e->moves && !t->stack->mirrored) {
		record_alone(e);
		return SKIPPED;
	}
	ticks = recorded ? hook_ticks() : 0;
	if (!recorded)
		e->what |= HOOK_HIDDEN;
	push(t, e, ticks);
	if (recorded) {
		char *const p = enter_record(e, SPB_ENTER, ticks);

		t->top[-1].record = t->full ? p : (char *)e->function_address;
		entered(e->function);
	} else {
		t->stack->hidden++;
	}
	return OPENED;
}

static enum opened call_open_here(struct hook_thread *t, struct entry *e)
{
	if (settle(t, e->place))
		return call_settled(t, e);
	record_alone(e);
	return SKIPPED;
}

static enum opened call_open(struct hook_thread *t, struct entry *e)
{
	enum opened opened;
	uint64_t before;
	int kept;

	mode_follow(t);
	trigger(e->function);
	if (e->place - t->low < t->size && !t->stack->alternate &&
	    e->place - t->signal_low >= t->signal_size)
		return call_open_here(t, e);
	/*
	 * Before the first call of a stack for signals is open, a handler that comes would find the
	 * stack empty at its end, and go back to what was interrupted before.
	 */
	kept = errno;
	before = hook_signals_block();
	opened = call_open_here(t, e);
	hook_signals_restore(before);
	errno = kept;
	return opened;
}

/* The innermost call ends. */
static void call_close(struct hook_thread *t, const struct hook_regs *r)
{
	const struct hook_call *const c = t->top - 1;

	if (c->what & HOOK_HIDDEN) {
		t->stack->hidden--;
	} else {
		const struct hook_function *const f = function_of(c);
		const uint64_t ticks = hook_ticks();
		uint32_t kind;

		if (taken_back(c, f, ticks, &kind))
			exit_before(c, kind);
		else
			exit_record(c, f, r, ticks);
		if (f && f->plan->nconditions)
			hook_keep_left(f, ticks - c->ticks, ticks);
	}
	pop(t);
	if (t->stack->alternate && t->top == t->stack->base)
		hook_stack_back(t);
}

/* The call at that address ends, if it is open. */
static void call_return(struct hook_thread *t, uint64_t place, const struct hook_regs *r)
{
	mode_follow(t);
	if (!settle(t, place))
		return;
	if (t->top > t->stack->base && t->top[-1].key == place - t->low)
		call_close(t, r);
}

void hook_left(uint64_t target)
{
	struct hook_thread *const t = &hook_here;

	if (!t->stack)
		return;
	/* From the stacks of signal handlers to another: all their calls are left. */
	for (const struct hook_stack *s = NULL;
	     t->stack != s && t->stack->alternate && target - t->low >= t->size;) {
		s = t->stack;
		hook_unwind(t, EVERY_KEY);
		hook_stack_back(t);
	}
	if (hook_stack_at(t, target))
		hook_unwind(t, target - t->low);
}

/* True if the stack has the address, or one that the handlers which run on it interrupted. */
static bool is_inside(const struct hook_stack *s, uint64_t address)
{
	while (s && address - s->low >= s->high - s->low)
		s = s->alternate ? s->before : NULL;
	return s;
}

void hook_jumped(uint64_t target)
{
	struct hook_thread *const t = &hook_here;
	const struct hook_stack *s = t->stack;

	if (s && !is_inside(s, target)) {
		/* Another fiber goes on, and this one may do so later. */
		hook_stack_swap((uint64_t)__builtin_frame_address(0), target);
		if (target - t->low < t->size)
			hook_unwind(t, target - t->low);
		return;
	}
	while (s && s->alternate && s->before)
		s = s->before;
	/* A hook was taking a page, which it does in few steps, and is left. */
	if (t->paging && s && t->paging - s->low < s->high - s->low && target > t->paging &&
	    target <= s->high) {
		t->paging = 0;
		hook_stack_slow_free(t);
	}
	hook_left(target);
}

void hook_thread_end(struct hook_thread *t)
{
	if (!t->stack)
		return;
	if (core_on)
		hook_unwind(t, EVERY_KEY);
	hook_stack_drop(t);
}

/* --- from enter.S --- */

/* Returns true if the return address is not to be moved. */
HOOK bool hook_entered(struct hook_regs *r, uint64_t word)
{
	uint64_t *const slot = &r->rest[2];
	struct entry e = { .place = (uint64_t)slot, .regs = r, .moves = true };

	(void)word;
	hook_look_orphan();
	if (!core_on)
		return true;
	e.what = (uint32_t)r->rest[1];
	e.function = hook_function((uint32_t)e.what >> 8);
	switch (call_open(&hook_here, &e)) {
	case OPENED:
		*hook_mirror((uint64_t)slot) = *slot;
		return false;
	case TAILED:
		/*
		 * The address is in the mirror already. It would return through the hook of the
		 * call that jumped here, which may not look at results and conditions.
		 */
		return !e.function ||
		       !(e.function->plan->nresults || e.function->plan->nconditions);
	case SKIPPED:
		break;
	}
	return true;
}

HOOK bool hook_returned(struct hook_regs *r)
{
	uint64_t *const slot = &r->rest[0];

	call_return(&hook_here, (uint64_t)slot, r);
	*slot = *hook_mirror((uint64_t)slot);
	return false;
}

/* Lets the call return to `back`. Returns true if the return address is not to be moved. */
static bool hijack(struct entry *e, uint64_t back)
{
	uint64_t *const slot = (uint64_t *)e->place;

	e->moves = true;
	if (call_open(&hook_here, e) != OPENED)
		return true;
	*hook_mirror(e->place) = *slot;
	/* A handler that unwinds finds the one or the other. */
	seam_fence();
	*slot = back;
	return false;
}

/* The function that a hook in the code itself was called by. Returns false if it is left out. */
static bool called_by(uint64_t address, uint64_t *what, const struct hook_function **f)
{
	const uint32_t number = hook_listed(address);

	*f = NULL;
	*what = address | HOOK_BY_ADDRESS;
	if (number == HOOK_UNLISTED)
		return false;
	if (number) {
		*f = hook_function(number);
		*what = (uint64_t)number << 8 | SPB_ENTER;
	}
	return true;
}

HOOK bool hook_mcounted(struct hook_regs *r)
{
	struct entry e = { .place = r->rbp + sizeof(uint64_t) };

	if (called_by(r->rest[0], &e.what, &e.function))
		hijack(&e, (uint64_t)hook_ret);
	return false;
}

HOOK bool hook_fentered(struct hook_regs *r)
{
	struct entry e = { .place = (uint64_t)&r->rest[1], .regs = r };

	if (called_by(r->rest[0], &e.what, &e.function))
		hijack(&e, (uint64_t)hook_ret);
	return false;
}

/* Returns true if the return address is not to be moved. */
HOOK bool hook_id_called(struct hook_regs *r)
{
	const uint32_t word = (uint32_t)r->rest[1];
	struct entry e = { .place = r->rbp + sizeof(uint64_t),
			   .what = word,
			   .function = hook_function(word >> 8) };

	hook_look_orphan();
	return !core_on || hijack(&e, r->rest[0] + HOOK_CALL_BACK);
}

HOOK bool hook_xray_entered(struct hook_regs *r)
{
	const uint64_t word = (uint32_t)r->r10;
	struct entry e = { .place = (uint64_t)&r->rest[1],
			   .what = word,
			   .function = hook_function((uint32_t)word >> 8),
			   .regs = r };

	hook_look_orphan();
	if (core_on)
		call_open(&hook_here, &e);
	return false;
}

HOOK bool hook_xray_returned(struct hook_regs *r)
{
	call_return(&hook_here, (uint64_t)&r->rest[0], r);
	return false;
}

HOOK bool hook_xray_tailed(struct hook_regs *r)
{
	call_return(&hook_here, (uint64_t)&r->rest[1], NULL);
	return false;
}

HOOK bool hook_cyg_entered(struct hook_regs *r)
{
	struct entry e = { .place = (uint64_t)&r->rest[1],
			   .inlined = true,
			   .function_address = r->rdi };

	hook_look_orphan();
	if (core_on && called_by(r->rdi, &e.what, &e.function))
		call_open(&hook_here, &e);
	return false;
}

/* The place at the end of a function may be another one than at its beginning. */
HOOK bool hook_cyg_returned(struct hook_regs *r)
{
	struct hook_thread *const t = &hook_here;
	const struct hook_function *f;
	const struct hook_call *c;
	uint64_t what;

	mode_follow(t);
	if (!called_by(r->rdi, &what, &f) ||
	    !hook_stack_at(t, (uint64_t)&r->rest[1]))
		return false;
	for (c = t->top; c > t->stack->base; c--)
		if ((c[-1].what & ~HOOK_HIDDEN) == what)
			break;
	if (c == t->stack->base)
		return false;
	if (c < t->top)
		unwind(t, (uint64_t)(t->top - c));
	call_close(t, NULL);
	return false;
}
