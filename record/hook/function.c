/* Functions by their numbers, and those that are listed by an address in them. */
#include "hook.h"

enum { HZ_NS = 5000000, BLOCK = 4096, BLOCKS = 4096, RANGES = 1024, NAMES = HOOK_ARGS_MOST };

static const struct hook_function **blocks[BLOCKS];

struct listed {
	uint64_t address;
	uint64_t number;
};

/* Replaced as a whole when it grows: hooks look into it at any time. */
struct list {
	uint64_t mask, used;
	struct listed items[];
};

HOOK extern struct list *hook_list; /* for enter.S */
struct list *hook_list;
static struct {
	uint64_t first, end;
} ranges[RANGES];
static uint32_t nranges;

const struct hook_function *hook_function(uint32_t number)
{
	const struct hook_function **const b =
		number / BLOCK < BLOCKS ?
			__atomic_load_n(&blocks[number / BLOCK], __ATOMIC_ACQUIRE) :
			NULL;

	return b ? b[number % BLOCK] : NULL;
}

static bool function_set(uint32_t number, const struct hook_function *f)
{
	const struct hook_function ***const slot = &blocks[number / BLOCK];
	const struct hook_function **b = *slot;

	if (!b) {
		b = seam_memory(NULL, BLOCK * sizeof(*b), 0);
		if (!b)
			return false;
		__atomic_store_n(slot, b, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&b[number % BLOCK], f, __ATOMIC_RELEASE);
	return true;
}

/* Ticks of a number of ns, by the frequency of the clock. */
uint64_t hook_ticks_of(uint64_t ns)
{
	static uint64_t hz;

	if (!hz)
		hz = core_clock_hz();
	if (!hz) {
		const struct core_pair a = core_clock_pair();
		struct core_pair b;

		/* On a thread that a recorder borrows, sleeping would end a sleep of its own. */
		do
			b = core_clock_pair();
		while (b.mono - a.mono < HZ_NS);
		hz = (b.ticks - a.ticks) * 1000000000u / (b.mono - a.mono + 1);
	}
	return hz ? (uint64_t)((unsigned __int128)ns * hz / 1000000000u) : ns;
}

static bool describe(const struct plan_head *p, const struct plan_function *f, uint64_t shift,
		     uint32_t module, uint32_t number)
{
	const char *const texts = (const char *)p + p->texts;
	const struct plan_arg *const a =
		(const struct plan_arg *)(const void *)((const char *)p + p->args) + f->args;
	const unsigned n = (unsigned)f->nargs + f->nresults;
	uint8_t types[2 * NAMES];
	const char *names[2 * NAMES];
	struct core_function c = { .number = number,
				   .module = f->address ? module : 0,
				   .address = f->address ? f->address + shift : 0,
				   .name = f->address && !f->name ? NULL : texts + f->name,
				   .nargs = f->nargs,
				   .nresults = f->nresults,
				   .types = types,
				   .names = names };

	for (unsigned i = 0; i < n; i++) {
		types[i] = a[i].type;
		names[i] = texts + a[i].name;
	}
	return core_function(&c);
}

uint32_t hook_functions_add(const struct plan_head *p, uint64_t shift, uint32_t module)
{
	const struct plan_function *const f =
		(const struct plan_function *)(const void *)((const char *)p + p->functions);
	const struct plan_arg *const args =
		(const struct plan_arg *)(const void *)((const char *)p + p->args);
	const struct plan_condition *const conditions =
		(const struct plan_condition *)(const void *)((const char *)p + p->conditions);
	struct hook_function *const h =
		seam_memory(NULL, (p->nfunctions + 1) * sizeof(*h), 0);
	const uint32_t first = h ? core_function_numbers(p->nfunctions) : 0;

	for (uint32_t i = 0; first && i < p->nfunctions; i++) {
		h[i] = (struct hook_function){ .plan = &f[i],
					       .args = args + f[i].args,
					       .least = f[i].least ? hook_ticks_of(f[i].least) : 0,
					       .conditions = conditions + f[i].conditions,
					       .texts = (const char *)p + p->texts };
		if (!function_set(first + i, &h[i]) ||
		    !describe(p, &f[i], shift, module, first + i))
			return 0;
	}
	return first;
}

void hook_functions_again(uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		seam_store((uint64_t *)(uintptr_t)&hook_function(first + i)->calls, 0);
}

/* --- those that are listed --- */

/* In place of the address of an item that was forgotten: searches go on behind it. */
enum { FORGOTTEN = 1 };

static uint64_t mix(uint64_t v)
{
	v *= HOOK_LIST_FACTOR;
	return v >> 32;
}

static void list_put(struct list *l, uint64_t address, uint32_t number)
{
	uint64_t i = mix(address) & l->mask;
	struct listed *forgotten = NULL, *at;

	for (; l->items[i].address && l->items[i].address != address; i = (i + 1) & l->mask)
		if (!forgotten && l->items[i].address == FORGOTTEN)
			forgotten = &l->items[i];
	at = forgotten && !l->items[i].address ? forgotten : &l->items[i];
	l->used += !at->address;
	at->number = number;
	__atomic_store_n(&at->address, address, __ATOMIC_RELEASE);
}

bool hook_list_add(uint64_t address, uint32_t number)
{
	if (!hook_list || 2 * hook_list->used >= hook_list->mask) {
		const uint64_t n = hook_list ? 2 * (hook_list->mask + 1) : BLOCK;
		struct list *const l =
			seam_memory(NULL, sizeof(*l) + n * sizeof(l->items[0]), 0);

		if (!l)
			return false;
		l->mask = n - 1;
		for (uint64_t i = 0; hook_list && i <= hook_list->mask; i++)
			if (hook_list->items[i].address > FORGOTTEN)
				list_put(l, hook_list->items[i].address,
					 (uint32_t)hook_list->items[i].number);
		/* The old one stays: a hook may be looking into it. */
		__atomic_store_n(&hook_list, l, __ATOMIC_RELEASE);
	}
	list_put(hook_list, address, number);
	return true;
}

bool hook_list_range(uint64_t first, uint64_t end)
{
	uint32_t n = 0;

	while (n < nranges && ranges[n].first != ranges[n].end)
		n++;
	if (n == RANGES)
		return false;
	ranges[n].first = first;
	ranges[n].end = end;
	if (n == nranges)
		__atomic_store_n(&nranges, n + 1, __ATOMIC_RELEASE);
	seam_store32(&hook_lists, 1);
	return true;
}

uint32_t hook_listed(uint64_t address)
{
	const struct list *const l = __atomic_load_n(&hook_list, __ATOMIC_ACQUIRE);
	const uint32_t n = __atomic_load_n(&nranges, __ATOMIC_ACQUIRE);

	for (uint64_t i = l ? mix(address) & l->mask : 0; l; i = (i + 1) & l->mask) {
		const uint64_t found = __atomic_load_n(&l->items[i].address, __ATOMIC_ACQUIRE);

		if (found == address)
			return (uint32_t)l->items[i].number;
		if (!found)
			break;
	}
	for (uint32_t i = 0; i < n; i++)
		if (address >= ranges[i].first && address < ranges[i].end)
			return HOOK_UNLISTED;
	return 0;
}

void hook_list_forget(uint64_t first, uint64_t end)
{
	for (uint32_t i = 0; i < nranges; i++)
		if (ranges[i].first == first && ranges[i].end == end)
			ranges[i].end = ranges[i].first;
	for (uint64_t i = 0; hook_list && i <= hook_list->mask; i++)
		if (hook_list->items[i].address >= first && hook_list->items[i].address < end)
			hook_list->items[i].address = FORGOTTEN;
}
