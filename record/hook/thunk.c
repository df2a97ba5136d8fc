/*
 * Thunks: enter.S says what they are. They lie within 2 GiB of the code that jumps to them, in an
 * area for each module, which stays when the module goes: other threads may be inside.
 */
#include "hook.h"

enum {
	THUNK = 48,
	ISLAND = 16,
	ISLANDS = 16,
	/* Where in a thunk its instructions are, and behind where its call returns to. */
	CALL_ENTER_AT = 5,
	DECISION_AT = 10,
	CALL_AT = 12,
	EXIT_JUMP = 2,
	EXIT_SIZE = 7,
	BODY_AT = 40,
	/* In an island. */
	ISLAND_TO = 6,
	PAGE = 4096,
	STEP = 1 << 20,
};

/* Of a rel32, less what an area may take. */
static const uint64_t REACH = UINT64_C(0x78000000);

static struct hook_area *areas;

static void put32(uint8_t *at, uint64_t v)
{
	const uint32_t low = (uint32_t)v;

	memcpy(at, &low, sizeof(low));
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

/* An instruction with a relative address of 4 bytes. */
static uint8_t *rel32(uint8_t *at, uint8_t op, uint64_t to)
{
	at[0] = op;
	put32(at + 1, to - ((uint64_t)at + 5));
	return at + 5;
}

static uint64_t area_map(uint64_t first, uint64_t end, uint64_t size)
{
	for (uint64_t d = STEP; d + size + (end - first) < REACH; d += STEP) {
		const uint64_t below = (first - d - size) & ~(uint64_t)(PAGE - 1);
		const uint64_t above = (end + d) & ~(uint64_t)(PAGE - 1);

		for (int i = 0; i < 2; i++) {
			void *const to = (void *)(i ? above : below);

			if (!i && first < d + size + STEP)
				continue;
			if (mmap(to, size, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == to)
				return (uint64_t)to;
		}
	}
	return 0;
}

static uint64_t head_size(void)
{
	return (sizeof(struct hook_area) + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

struct hook_area *hook_area_new(uint64_t first, uint64_t end, uint32_t n)
{
	const uint64_t size = ((uint64_t)n * THUNK + ISLANDS * ISLAND + PAGE - 1) &
			      ~(uint64_t)(PAGE - 1);
	struct hook_area *a;
	uint64_t at;

	a = mmap(NULL, head_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (a == MAP_FAILED)
		return NULL;
	at = size < REACH / 2 ? area_map(first, end, size) : 0;
	if (!at) {
		munmap(a, head_size());
		return NULL;
	}
	a->first = a->at = at;
	a->end = at + size;
	a->islands = a->end - ISLANDS * ISLAND;
	hook_frames_write(a);
	return a;
}

/* Where the call in a thunk, which is by a slot or direct, returns to. */
static uint64_t returns_at(const uint8_t *thunk)
{
	return (uint64_t)thunk + CALL_AT + (thunk[CALL_AT] == 0xFF ? 6 : 5);
}

/* True if the thunk is for a call of mcount: its own call leads into itself. */
static bool is_of_call(const uint8_t *thunk)
{
	return thunk[CALL_AT] == 0xE8 && get32(thunk + CALL_AT + 1) == EXIT_SIZE;
}

/* As unwinders have it: where the function's code and data begin. */
struct unwind_bases {
	void *text, *data, *function;
};

/*
 * Registers the area unless the unwinder finds it by itself, as libgcc does where it asks the
 * linker, which is replace.c here. Where anything is registered, libgcc takes a lock for each frame
 * of each thread: then a signal handler that unwinds could wait for the thread that it interrupts.
 */
static void frames_register(struct hook_area *a)
{
	extern void __register_frame(void *) __attribute__((weak));
	extern const void *_Unwind_Find_FDE(void *, struct unwind_bases *) __attribute__((weak));
	struct unwind_bases bases;

	/* Without a thunk nothing returns here. */
	if (!__register_frame || a->at == a->first)
		return;
	if (!_Unwind_Find_FDE ||
	    !_Unwind_Find_FDE((void *)(returns_at((const uint8_t *)a->first) - 1), &bases))
		__register_frame(a->tables[HOOK_AT_RETURN].frames);
}

bool hook_area_done(struct hook_area *a)
{
	if (mprotect((void *)a->first, a->end - a->first, PROT_READ | PROT_EXEC)) {
		munmap((void *)a->first, a->end - a->first);
		munmap(a, head_size());
		return false;
	}
	a->next = areas;
	__atomic_store_n(&areas, a, __ATOMIC_RELEASE);
	frames_register(a);
	return true;
}

const struct hook_area *hook_area_of(uint64_t address)
{
	const struct hook_area *a;

	for (a = __atomic_load_n(&areas, __ATOMIC_ACQUIRE); a; a = a->next)
		if (address >= a->first && address < a->end)
			break;
	return a;
}

bool hook_is_thunk(uint64_t address)
{
	return address == (uint64_t)hook_ret || hook_area_of(address);
}

/* True if it leads to a hook that thunks jump to. */
static bool island_exits(const uint8_t *island)
{
	uint64_t to;

	memcpy(&to, island + ISLAND_TO, sizeof(to));
	return to == (uint64_t)hook_exit || to == (uint64_t)hook_exit_full;
}

enum hook_rule hook_thunk_rule(const struct hook_area *a, uint64_t address)
{
	const uint64_t island = address - (address - a->islands) % ISLAND;
	const uint8_t *const t = (const uint8_t *)(address - (address - a->first) % THUNK);
	const uint64_t into = address - (uint64_t)t, back = returns_at(t) - (uint64_t)t;
	const bool has_frame = is_of_call(t);

	if (address >= a->islands)
		return island_exits((const uint8_t *)island) ? HOOK_AT_EXIT : HOOK_AT_CALL;
	if (has_frame && (into <= CALL_AT || into >= back + EXIT_SIZE))
		return HOOK_AT_FRAME;
	if (into < CALL_ENTER_AT)
		return HOOK_AT_CALL;
	if (into < DECISION_AT)
		return HOOK_AT_PUSHED;
	if (into < CALL_AT)
		return HOOK_AT_DECISION;
	if (into < back + EXIT_JUMP)
		return HOOK_AT_RETURN;
	return into < back + EXIT_SIZE ? HOOK_AT_EXIT : HOOK_AT_CALL;
}

uint64_t hook_island(struct hook_area *a, const char *to)
{
	const uint64_t address = (uint64_t)to;
	uint8_t *p = (uint8_t *)a->islands;

	/* jmp *0(%rip), and the address. */
	for (; p < (uint8_t *)a->end && *p; p += ISLAND)
		if (memcmp(p + ISLAND_TO, &address, sizeof(address)) == 0)
			return (uint64_t)p;
	if (p == (uint8_t *)a->end)
		return 0;
	p[0] = 0xFF;
	p[1] = 0x25;
	put32(p + 2, 0);
	memcpy(p + ISLAND_TO, &address, sizeof(address));
	return (uint64_t)p;
}

static bool is_near(uint64_t a, uint64_t b)
{
	return a - b + REACH < 2 * REACH;
}

/* A call or a jump to the body, which is at BODY_AT too. */
static uint8_t *body_enter(uint8_t *t, uint8_t *p, uint64_t body, bool jump)
{
	if (is_near(body, (uint64_t)t))
		return rel32(p, jump ? 0xE9 : 0xE8, body);
	p[0] = 0xFF;
	p[1] = jump ? 0x25 : 0x15;
	put32(p + 2, (uint64_t)(t + BODY_AT) - (uint64_t)(p + 6));
	return p + 6;
}

static uint8_t *thunk_new(struct hook_area *a, uint32_t number, uint8_t **end)
{
	uint8_t *const t = (uint8_t *)a->at;

	if (a->at + THUNK > a->islands)
		return NULL;
	a->at += THUNK;
	t[0] = 0x68; /* push */
	put32(t + 1, (uint64_t)number << 8 | SPB_ENTER);
	*end = t + 5;
	return t;
}

uint64_t hook_thunk(struct hook_area *a, uint32_t number, uint64_t body, bool full)
{
	const uint64_t enter = hook_island(a, full ? hook_enter_full : hook_enter);
	const uint64_t leave = hook_island(a, full ? hook_exit_full : hook_exit);
	uint8_t *p, *jump, *const t = thunk_new(a, number, &p);

	if (!t)
		return 0;
	memcpy(t + BODY_AT, &body, sizeof(body));
	p = rel32(p, 0xE8, enter);
	jump = p;
	p = body_enter(t, p + 2, body, false);
	*p++ = 0x6A; /* push $0 */
	*p++ = 0;
	p = rel32(p, 0xE9, leave);
	jump[0] = 0x72; /* jc */
	jump[1] = (uint8_t)(p - (jump + 2));
	body_enter(t, p, body, true);
	return (uint64_t)t;
}

uint64_t hook_thunk_body(uint64_t thunk)
{
	return *(const uint64_t *)(thunk + BODY_AT);
}

uint64_t hook_thunk_call(struct hook_area *a, uint32_t number, uint64_t body, bool full)
{
	static const uint8_t drop[] = { 0x48, 0x8D, 0x64, 0x24, 0x08 }; /* lea 8(%rsp), %rsp */
	const uint64_t enter = hook_island(a, hook_call_enter);
	const uint64_t leave = hook_island(a, full ? hook_exit_full : hook_exit);
	uint8_t *p, *jump, *call, *const t = thunk_new(a, number, &p);

	if (!t)
		return 0;
	memcpy(t + BODY_AT, &body, sizeof(body));
	p = rel32(p, 0xE8, enter);
	jump = p;
	call = p + 2;
	p = jump + HOOK_CALL_BACK;
	*p++ = 0x6A; /* push $0 */
	*p++ = 0;
	p = rel32(p, 0xE9, leave);
	rel32(call, 0xE8, (uint64_t)p);
	memcpy(p, drop, sizeof(drop));
	p += sizeof(drop);
	jump[0] = 0x72; /* jc */
	jump[1] = (uint8_t)(p - call);
	body_enter(t, p, body, true);
	return (uint64_t)t;
}
