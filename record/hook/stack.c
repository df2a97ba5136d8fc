/*
 * The stacks that calls are on: those of threads, of signal handlers, and of fibers. Each has its
 * open calls in an array, and a mirror for their return addresses.
 *
 * Fibers that makecontext() makes are known with their bounds, and each is a track of its own.
 * Others are told by the mapping that their stack is in.
 */
#include "hook.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

enum {
	CALLS_FIRST = 1 << 12,
	CALLS_MOST = 1 << 22,
	SLOW_LEAST = 64 << 10,
	SLOW_MOST = 8 << 20,
	PAGE = 4096,
	PIECES = 64 << 10,
	SIGNALS_SIZE = 8,
	MAPS_PIECE = 2048,
};

/* Keys have 32 bits. */
static const uint64_t STACK_MOST = UINT64_C(1) << 30;

struct range {
	struct range *next;
	uint64_t low, high;
};

static uint32_t lock; /* of the lists */
static struct hook_stack *stacks;
static struct range *mirrors; /* as addresses of stacks */
static uint64_t fibers; /* so far */
static pthread_key_t at_exit;
static bool has_key;

uint64_t hook_signals_block(void)
{
	const uint64_t all = UINT64_MAX;
	uint64_t before = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, SIGNALS_SIZE);
	return before;
}

void hook_signals_restore(uint64_t before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, SIGNALS_SIZE);
}

/*
 * Called with signals blocked. Nothing is called with the lock that a program may have a function
 * of its own for, as mmap(): calls of that may be recorded, and would come back here.
 */
static void lists_lock(void)
{
	while (!seam_cas32(&lock, 0, 1))
		seam_yield();
}

static void lists_unlock(void)
{
	seam_store32(&lock, 0);
}

/* Small memory that is never given back. Called with the lock. */
static void *piece_new(size_t size)
{
	static char *at, *end;
	char *p;

	if ((size_t)(end - at) < size) {
		p = seam_memory(NULL, PIECES, 0);
		if (!p)
			return NULL;
		at = p;
		end = p + PIECES;
	}
	p = at;
	at += (size + 15) / 16 * 16;
	return p;
}

/* --- mirrors --- */

/* Maps the mirror of [low, high) where it is not mapped. Called with the lock. */
static bool mirror_map(uint64_t low, uint64_t high)
{
	struct range *r;
	void *const to = (void *)((low ^ UINT64_C(1) << HOOK_MIRROR_BIT) & ~(uint64_t)(PAGE - 1));

	for (r = mirrors; r; r = r->next)
		if (low < r->high && r->low < high)
			return (low >= r->low || mirror_map(low, r->low)) &&
			       (high <= r->high || mirror_map(r->high, high));
	r = piece_new(sizeof(*r));
	if (!r || seam_memory(to, high - low, MAP_NORESERVE | MAP_FIXED_NOREPLACE) != to)
		return false;
	*r = (struct range){ mirrors, low, high };
	mirrors = r;
	return true;
}

/* With the pages beside it, since addresses in it are shifted by less than one. */
static bool mirror_make(const struct hook_stack *s)
{
	const uint64_t low = s->low & ~(uint64_t)(PAGE - 1);
	const uint64_t high = (s->high + 2 * PAGE - 1) & ~(uint64_t)(PAGE - 1);

	if ((low ^ (high - 1)) >> HOOK_MIRROR_BIT)
		return false;
	return mirror_map(low, high);
}

/* --- the stack for slow ways --- */

static bool has_slow_memory(const struct hook_thread *t)
{
	return t->slow_memory && t->slow_memory != (char *)t;
}

/*
 * A signal handler may run on it: so it is as large as the thread's stack, between two pages
 * without access.
 */
static void slow_memory_map(struct hook_thread *t, const struct hook_stack *of)
{
	const uint64_t wanted = (of->high - of->low + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	const uint64_t size = wanted < SLOW_LEAST ? SLOW_LEAST :
			      wanted > SLOW_MOST  ? SLOW_MOST :
						    wanted;
	char *const p = seam_memory(NULL, size + 2 * PAGE, MAP_NORESERVE | MAP_STACK);

	t->slow_memory = (char *)t;
	if (!p)
		return;
	if (seam_call(SYS_mprotect, (long)p, PAGE, PROT_NONE, 0, 0, 0) ||
	    seam_call(SYS_mprotect, (long)(p + PAGE + size), PAGE, PROT_NONE, 0, 0, 0)) {
		seam_unmap(p, size + 2 * PAGE);
		return;
	}
	t->slow_size = size;
	t->slow_memory = p + PAGE;
	hook_stack_slow_free(t);
}

void hook_stack_slow_free(struct hook_thread *t)
{
	if (has_slow_memory(t))
		t->slow_stack = t->slow_memory + t->slow_size;
}

void hook_stack_signals(const stack_t *s)
{
	hook_here.signal_low = (uint64_t)s->ss_sp;
	hook_here.signal_size = s->ss_flags & SS_DISABLE ? 0 : s->ss_size;
}

/* --- where stacks are --- */

static const char *hex_read(const char *p, const char *end, uint64_t *v)
{
	for (*v = 0; p < end; p++) {
		const char c = *p;

		if (c >= '0' && c <= '9')
			*v = *v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*v = *v << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	return p;
}

/* struct procmap_query of <linux/fs.h>, which older headers lack. */
struct mapping_query {
	uint64_t size, flags, address, first, end, protection, page, offset, inode;
	uint32_t major, minor, name_size, build_id_size;
	uint64_t name, build_id;
};

#define MAPPING_QUERY _IOWR('f', 17, struct mapping_query)

/* Asks the kernel for the one mapping, which those since 6.11 can tell. */
static bool mapping_ask(int fd, uint64_t address, uint64_t *low, uint64_t *high)
{
	struct mapping_query q = { .size = sizeof(q), .address = address };

	if (syscall(SYS_ioctl, fd, MAPPING_QUERY, &q))
		return false;
	*low = q.first;
	*high = q.end;
	return true;
}

/* Reads lines until that of the mapping: with many threads there are many. */
static bool mapping_read(int fd, uint64_t address, uint64_t *low, uint64_t *high)
{
	char buf[MAPS_PIECE];
	size_t have = 0;
	bool found = false;
	long got;

	while (!found &&
	       (got = syscall(SYS_read, fd, buf + have, sizeof(buf) - have)) > 0) {
		const char *line = buf, *end;

		have += (size_t)got;
		while (!found && (end = memchr(line, '\n', (size_t)(buf + have - line)))) {
			const char *const p = hex_read(line, end, low);

			hex_read(p + 1, end, high);
			found = address >= *low && address < *high;
			line = end + 1;
		}
		have = (size_t)(buf + have - line);
		memmove(buf, line, have);
		if (have == sizeof(buf))
			have = 0;
	}
	return found;
}

/* The mapping that has the address. `main`: it is the stack that the process began with. */
static bool mapping_find(uint64_t address, uint64_t *low, uint64_t *high, bool *main)
{
	const int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	const uint64_t begin = getauxval(AT_RANDOM);
	bool found;

	if (fd < 0)
		return false;
	found = mapping_ask(fd, address, low, high) || mapping_read(fd, address, low, high);
	*main = found && begin >= *low && begin < *high;
	syscall(SYS_close, fd);
	return found;
}

/* The main thread's stack grows down, as far as it may. */
static uint64_t main_low(uint64_t low, uint64_t high)
{
	struct rlimit r;
	uint64_t most = UINT64_C(8) << 20;

	if (seam_call(SYS_getrlimit, RLIMIT_STACK, (long)&r, 0, 0, 0, 0) == 0)
		most = r.rlim_cur < STACK_MOST ? r.rlim_cur : STACK_MOST;
	most &= ~(uint64_t)(PAGE - 1);
	return high - low < most ? high - most : low;
}

/*
 * A stack that only signal handlers of the thread run on. The system cannot say whether one runs on
 * the alternate stack: the slow way has a stack of its own. A handler that has no alternate stack
 * and interrupts a slow way runs on the stack for slow ways.
 */
static bool alternate_find(struct hook_thread *t, uint64_t address, uint64_t *low, uint64_t *high)
{
	stack_t s;

	*low = (uint64_t)t->slow_memory;
	*high = *low + t->slow_size;
	if (has_slow_memory(t) && address >= *low && address < *high)
		return true;
	if (syscall(SYS_sigaltstack, NULL, &s))
		return false;
	hook_stack_signals(&s);
	if (s.ss_flags & SS_DISABLE)
		return false;
	*low = (uint64_t)s.ss_sp;
	*high = *low + s.ss_size;
	return address >= *low && address < *high;
}

/* --- the list --- */

/* These items are not in use from here on. */
static void calls_clear(struct hook_call *from, const struct hook_call *to)
{
	for (; from < to; from++)
		from->key = 0;
}

/*
 * For how many calls addresses are reserved: each takes 16 bytes of its stack, as the ABI says. A
 * program whose addresses are limited needs them itself.
 */
static size_t calls_reserved(uint64_t size)
{
	const uint64_t n = size / 16;
	struct rlimit r;

	if (seam_call(SYS_getrlimit, RLIMIT_AS, (long)&r, 0, 0, 0, 0) ||
	    r.rlim_cur != RLIM_INFINITY || n < CALLS_FIRST)
		return CALLS_FIRST;
	return n > CALLS_MOST ? CALLS_MOST : n;
}

/*
 * The first item stays zero: enter.S looks at the innermost call, whether or not one is open. The
 * array is to stay where it is: a signal handler that has more calls open than there were may have
 * interrupted a hook, which goes on with the items that it had.
 */
static bool calls_map(struct hook_stack *s, uint64_t size)
{
	const size_t first = CALLS_FIRST * sizeof(*s->base);
	const size_t most = calls_reserved(size) * sizeof(*s->base);
	struct hook_call *const p =
		seam_mapped(seam_call(SYS_mmap, 0, (long)most, PROT_NONE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));

	if (!p)
		return false;
	if (seam_call(SYS_mprotect, (long)p, (long)first, PROT_READ | PROT_WRITE, 0, 0, 0)) {
		seam_unmap(p, most);
		return false;
	}
	s->base = s->top = p + 1;
	s->limit = p + CALLS_FIRST;
	s->most = p + most / sizeof(*p);
	return true;
}

/* Makes room where it is reserved. */
static bool calls_grow(struct hook_stack *s)
{
	size_t more = 3 * ((size_t)(s->limit - s->base) + 1);

	if (more > (size_t)(s->most - s->limit))
		more = (size_t)(s->most - s->limit);
	if (!more || seam_call(SYS_mprotect, (long)s->limit, (long)(more * sizeof(*s->limit)),
			       PROT_READ | PROT_WRITE, 0, 0, 0))
		return false;
	s->limit += more;
	return true;
}

/* The same where nothing more is reserved. */
static bool calls_move(struct hook_stack *s)
{
	const size_t have = (size_t)(s->limit - s->base) + 1;
	struct hook_call *p;

	if (s->limit != s->most || have >= CALLS_MOST)
		return false;
	p = seam_mapped(seam_call(SYS_mremap, (long)(s->base - 1), (long)(have * sizeof(*p)),
				  (long)(4 * have * sizeof(*p)), MREMAP_MAYMOVE, 0, 0));
	if (!p)
		return false;
	s->base = p + 1;
	s->limit = s->most = p + 4 * have;
	return true;
}

/* An entry of the list that is not in use, or a new one. Called with the lock. */
static struct hook_stack *stack_add(uint64_t low, uint64_t high)
{
	struct hook_stack *s;

	for (s = stacks; s && (s->high || s->size < high - low); s = s->next)
		;
	if (!s) {
		s = piece_new(sizeof(*s));
		if (!s)
			return NULL;
		*s = (struct hook_stack){ .next = stacks, .size = high - low };
		if (!calls_map(s, high - low))
			return NULL;
		stacks = s;
	}
	s->low = low;
	s->high = high - low > STACK_MOST ? low + STACK_MOST : high;
	s->key = s->high - s->low;
	calls_clear(s->base, s->top);
	s->top = s->base;
	s->hidden = s->fiber = 0;
	s->running = NULL;
	s->any = s->alternate = s->described = s->full = false;
	s->before = NULL;
	s->mirrored = mirror_make(s);
	return s;
}

/* The smallest one that has the address and that the thread may run. Called with the lock. */
static struct hook_stack *stack_get(const struct hook_thread *t, uint64_t address, bool alternate)
{
	struct hook_stack *best = NULL;

	for (struct hook_stack *s = stacks; s; s = s->next)
		if (address >= s->low && address < s->high && (s->any || s->running == t) &&
		    s->alternate == alternate &&
		    (!best || s->high - s->low < best->high - best->low))
			best = s;
	return best;
}

/* What the thread has of its stack goes into the list. Called with the lock. */
static void stack_save(struct hook_thread *t)
{
	struct hook_stack *const s = t->stack;

	if (!s)
		return;
	s->key = hook_key(t);
	s->top = t->top;
	t->low = t->size = t->span = t->alternate = 0;
	t->stack = NULL;
}

void hook_stack_full(struct hook_stack *s, const struct hook_call *top)
{
	if (s->full)
		return;
	s->full = true;
	for (struct hook_call *c = s->base; c < top; c++)
		c->record = NULL;
}

static void stack_load(struct hook_thread *t, struct hook_stack *s)
{
	/* The thread that ran it has not recorded since. */
	if (s->running && s->running != t && s->running->stack == s)
		stack_save(s->running);
	s->running = t;
	t->top = s->top;
	t->limit = s->limit;
	t->stack = s;
	t->low = s->low;
	t->alternate = s->alternate;
	t->span = 0;
	/* The quick way takes the mirror for granted. */
	t->full = hook_settings.full || s->alternate || !s->mirrored;
	if (t->full)
		hook_stack_full(s, s->top);
	hook_key_set(t, s->key);
	seam_fence();
	t->size = s->high - s->low;
}

/* --- slow ways --- */

/* That of the stack that runs, or that the handlers have interrupted which run now. */
static void fiber_record(struct hook_thread *t)
{
	static const char name[] = "fiber ";
	struct hook_stack *s = t->stack;
	char text[32], digits[20], *p = text;
	int n = 0;

	while (s->alternate && s->before)
		s = s->before;
	if (s->alternate || s->fiber == t->fiber || !core_on)
		return;
	t->fiber = s->fiber;
	if (s->fiber && !s->described) {
		uint64_t v = s->fiber;

		s->described = true;
		memcpy(p, name, sizeof(name) - 1);
		p += sizeof(name) - 1;
		do
			digits[n++] = (char)('0' + v % 10);
		while (v /= 10);
		while (n)
			*p++ = digits[--n];
		*p = '\0';
		spur_trace_fiber_name(s->fiber, text);
	}
	spur_trace_fiber(s->fiber);
}

/* Called with the lock. */
static struct hook_stack *stack_make(struct hook_thread *t, uint64_t address)
{
	struct hook_stack *s;
	uint64_t low, high;
	bool main;

	if (!mapping_find(address, &low, &high, &main))
		return NULL;
	if (main)
		low = main_low(low, high);
	s = stack_add(low, high);
	if (!s)
		return NULL;
	s->running = t;
	/* The thread's own one comes first. */
	if (t->fiber != UINT64_MAX)
		s->fiber = ++fibers;
	return s;
}

struct find_call {
	struct hook_thread *t;
	uint64_t address;
	bool found, alternate;
};

static void thread_first(struct hook_thread *t)
{
	if (t->slow_memory)
		return;
	t->fiber = UINT64_MAX;
	if (has_key)
		pthread_setspecific(at_exit, t);
}

/*
 * The stack that has the address, which is new if need be; `alternate`: for signals, from `low` to
 * `high`. Returns NULL if memory is refused. Called with the lock.
 */
static struct hook_stack *stack_of(struct hook_thread *t, uint64_t address, bool alternate,
				   uint64_t low, uint64_t high)
{
	struct hook_stack *s = stack_get(t, address, alternate);

	if (!s && alternate) {
		s = stack_add(low, high);
		if (s) {
			s->alternate = true;
			s->running = t;
		}
	}
	return s ? s : stack_make(t, address);
}

/* True if `of` is `s`, or what handlers on it have interrupted, directly or by others. */
static bool is_interrupted(const struct hook_stack *s, const struct hook_stack *of)
{
	while (s && s != of)
		s = s->before;
	return s;
}

static void find(void *arg)
{
	struct find_call *const c = arg;
	struct hook_thread *const t = c->t;
	const int kept = errno;
	uint64_t before, low = 0, high = 0;
	struct hook_stack *s;
	bool alternate;

	before = hook_signals_block();
	alternate = alternate_find(t, c->address, &low, &high);
	if (c->alternate && (!alternate || (t->stack && t->stack->alternate)))
		goto end;
	thread_first(t);
	lists_lock();
	s = stack_of(t, c->address, alternate, low, high);
	if (s) {
		/* A handler on another stack for signals may have interrupted that one. */
		const bool nested = s->alternate && !is_interrupted(t->stack, s);

		if (!nested && t->stack && t->stack->alternate && t->top > t->stack->base) {
			/* Its handler has ended without a return. */
			lists_unlock();
			hook_unwind(t, UINT64_MAX);
			lists_lock();
		}
		if (nested)
			s->before = t->stack;
		stack_save(t);
		stack_load(t, s);
		if (!t->slow_memory)
			slow_memory_map(t, s);
	}
	lists_unlock();
	if (s) {
		if (t->fiber == UINT64_MAX)
			t->fiber = 0;
		fiber_record(t);
	}
	c->found = s;
end:
	hook_signals_restore(before);
	errno = kept;
}

bool hook_stack_find(struct hook_thread *t, uint64_t address)
{
	struct find_call c = { t, address, false, false };

	hook_guarded(find, &c);
	return c.found;
}

bool hook_stack_alternate(struct hook_thread *t, uint64_t address)
{
	struct find_call c = { t, address, false, true };

	hook_guarded(find, &c);
	return c.found;
}

/*
 * A signal handler's first call has returned: what it interrupted may be a hook, which goes on with
 * the stack that it had.
 */
void hook_stack_back(struct hook_thread *t)
{
	struct hook_stack *const s = t->stack, *const to = s->before;
	const int kept = errno;
	uint64_t before;

	if (!to || (to->running && to->running != t))
		return;
	before = hook_signals_block();
	if (t->stack == s && t->top == s->base) {
		lists_lock();
		s->before = NULL;
		stack_save(t);
		stack_load(t, to);
		lists_unlock();
	}
	hook_signals_restore(before);
	errno = kept;
}

/* Another stack becomes the current one, and the calls of this one stay open. */
static void stack_change(struct hook_thread *t, uint64_t address, bool nested)
{
	uint64_t low = 0, high = 0;
	const bool alternate = alternate_find(t, address, &low, &high);
	struct hook_stack *s;

	lists_lock();
	s = stack_of(t, address, alternate, low, high);
	if (s && s != t->stack) {
		if (nested && s->alternate)
			s->before = t->stack;
		stack_save(t);
		stack_load(t, s);
	}
	lists_unlock();
}

void hook_stack_swap(uint64_t from, uint64_t to)
{
	struct hook_thread *const t = &hook_here;
	const int kept = errno;
	uint64_t before;

	if (!t->stack)
		return;
	before = hook_signals_block();
	/* A handler that runs on another stack, and has no call that is recorded. */
	if (from - t->low >= t->size)
		stack_change(t, from, true);
	if (to - t->low >= t->size)
		stack_change(t, to, false);
	/* Such a handler goes on. */
	if (t->stack->alternate && t->top == t->stack->base)
		hook_stack_back(t);
	fiber_record(t);
	hook_signals_restore(before);
	errno = kept;
}

static void grow(void *arg)
{
	struct find_call *const c = arg;
	struct hook_thread *const t = c->t;
	struct hook_stack *const s = t->stack;
	const int kept = errno;
	uint64_t before;
	size_t used;

	before = hook_signals_block();
	used = (size_t)(t->top - s->base);
	c->found = calls_grow(s) || calls_move(s);
	t->limit = s->limit;
	t->top = s->base + used;
	hook_signals_restore(before);
	errno = kept;
}

bool hook_stack_grow(struct hook_thread *t)
{
	struct find_call c = { t, 0, false, false };

	hook_guarded(grow, &c);
	return c.found;
}

void hook_stack_fiber(uint64_t low, uint64_t size)
{
	const uint64_t high = low + size;
	const uint64_t before = hook_signals_block();
	struct hook_stack *s, *same = NULL;

	lists_lock();
	for (s = stacks; s; s = s->next)
		if (s->any && s->high && low < s->high && s->low < high) {
			if (s->low == low && s->high == high)
				same = s;
			else if (!s->running || s->running->stack != s)
				s->low = s->high = 0;
		}
	/* Of a fiber that had the same memory, calls may be open: they end at the next one. */
	if (!same && (s = stack_add(low, high))) {
		s->any = true;
		s->fiber = ++fibers;
	}
	lists_unlock();
	hook_signals_restore(before);
}

void hook_stack_drop(struct hook_thread *t)
{
	/* A handler that comes later finds a thread that has recorded nothing yet. */
	const uint64_t before = hook_signals_block();

	lists_lock();
	stack_save(t);
	for (struct hook_stack *s = stacks; s; s = s->next)
		if (s->running == t) {
			s->running = NULL;
			if (!s->any)
				s->low = s->high = 0;
		}
	lists_unlock();
	if (has_slow_memory(t))
		seam_unmap(t->slow_memory - PAGE, t->slow_size + 2 * PAGE);
	t->slow_memory = t->slow_stack = NULL;
	hook_signals_restore(before);
}

void hook_stacks_begin(struct hook_thread *t)
{
	const uint64_t before = hook_signals_block();

	lists_lock();
	for (struct hook_stack *s = stacks; s; s = s->next)
		if (s->running == t) {
			if (s != t->stack)
				calls_clear(s->base, s->top);
			s->top = s->base;
			s->key = s->high - s->low;
			s->hidden = 0;
		}
	if (t->stack && t->top > t->stack->base) {
		t->stack->base[0] = t->top[-1];
		calls_clear(t->stack->base + 1, t->top);
		t->stack->base[0].before = (uint32_t)t->stack->key;
		t->top = t->stack->base + 1;
	}
	t->recording = hook_recording;
	lists_unlock();
	hook_signals_restore(before);
}

/* In the child of fork() there are no other threads, one of which may have had the lock. */
void hook_stacks_forked(void)
{
	lock = 0;
}

static void thread_ends(void *t)
{
	hook_thread_end(t);
}

/* The key is made before the library's own, so that its thread can still record here. */
__attribute__((constructor(101))) static void key_make(void)
{
	has_key = pthread_key_create(&at_exit, thread_ends) == 0;
}
