/*
 * Thunks: enter.S says what they are. They lie within 2 GiB of the code that jumps to them, in an
 * area for each module, which stays when the module goes: other threads may be inside.
 */
#include "hook.h"

enum {
	THUNK = 48,
	ISLAND = 16,
	ISLANDS = 16,
	BODY_AT = 40,
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

/* An instruction with a relative address of 4 bytes. */
static uint8_t *rel32(uint8_t *at, uint8_t op, uint64_t to)
{
	at[0] = op;
	put32(at + 1, to - ((uint64_t)at + 5));
	return at + 5;
}

/* --- how to unwind through thunks, for the unwinder --- */

/*
 * One rule for the whole area: the frame is at rsp - 1, as hook_ret says in enter.S, and the return
 * address in the mirror.
 */
static void frames_write(struct hook_area *a)
{
	static const uint8_t rule[] = { 0x0f, 2,    0x77, 0x7f, 0x10, 16, 15, 0x37, 0x1c,
					0x0e, 0,    0,    0,    0,    0,  0x40, 0,  0,
					0x27, 0x23, 0xc0, 0x10, 0x16, 7,  2,  0x31, 0x22 };
	/* Version 1, "zP", alignments, return address; 9 bytes: a pointer to the personality. */
	static const uint8_t cie[] = { 1, 'z', 'P', 0, 1, 0x78, 16, 9, 0 };
	const uint32_t cie_len = 4 + sizeof(cie) + 8 + sizeof(rule), fde_len = 4 + 16 + 4;
	const uint64_t personality = (uint64_t)hook_personality;
	uint8_t *p = a->frames;
	const uint64_t range[] = { a->first, a->end - a->first }, frames = (uint64_t)a->frames;

	put32(p, cie_len);
	memcpy(p + 8, cie, sizeof(cie));
	memcpy(p + 8 + sizeof(cie), &personality, sizeof(personality));
	memcpy(p + 8 + sizeof(cie) + 8, rule, sizeof(rule));
	p += 4 + cie_len;
	put32(p, fde_len);
	put32(p + 4, (uint64_t)(p + 4 - a->frames));
	memcpy(p + 8, range, sizeof(range));
	/* A head as that of .eh_frame_hdr without a table: version, encodings, address. */
	a->frames_head[0] = 1;
	a->frames_head[1] = 0;
	a->frames_head[2] = a->frames_head[3] = 0xFF;
	memcpy(a->frames_head + 4, &frames, sizeof(frames));
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

/*
 * An unwinder that is not told by registering looks among the loaded objects: unwind.c answers for
 * these.
 */
static void frames_register(struct hook_area *a)
{
	extern void __register_frame(void *) __attribute__((weak));

	if (__register_frame)
		__register_frame(a->frames);
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
	frames_write(a);
	return a;
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

uint64_t hook_island(struct hook_area *a, const char *to)
{
	const uint64_t address = (uint64_t)to;
	uint8_t *p = (uint8_t *)a->islands;

	/* jmp *0(%rip), and the address. */
	for (; p < (uint8_t *)a->end && *p; p += ISLAND)
		if (memcmp(p + 6, &address, sizeof(address)) == 0)
			return (uint64_t)p;
	if (p == (uint8_t *)a->end)
		return 0;
	p[0] = 0xFF;
	p[1] = 0x25;
	put32(p + 2, 0);
	memcpy(p + 6, &address, sizeof(address));
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
