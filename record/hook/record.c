/*
 * Records of calls, as docs/formats/spur.md specifies them. Compiled for general registers alone:
 * vector registers may hold arguments and results of the program's functions.
 */
#include "hook.h"

uint32_t hook_recording;

struct page_call {
	char *at;
	uint64_t size;
	char *got;
};

/*
 * While the library takes a chunk, no signal handler runs: one that left by siglongjmp() would
 * leave the library busy.
 */
static void chunk_take(void *arg)
{
	struct page_call *const c = arg;
	const int kept = errno;
	const uint64_t before = hook_signals_block();

	c->got = spur_trace_page(c->at, c->size);
	hook_signals_restore(before);
	errno = kept;
}

/*
 * The next page of the chunk is had without the system, and without vector registers; hook_jumped()
 * knows of `paging`.
 */
static bool page_take(char **at, uint64_t size, uint64_t place)
{
	bool taken;

	hook_here.paging = place;
	seam_fence();
	taken = core_page_take(at, size);
	seam_fence();
	hook_here.paging = 0;
	return taken;
}

static void sync_store(void *arg)
{
	const int kept = errno;

	spur_trace_sync(*(uint64_t *)arg);
	errno = kept;
}

static void clock_read(void *arg)
{
	*(uint64_t *)arg = spur_trace_ticks();
}

/* A handler of fork() would run here; errno is that of the program. */
static void orphan_look(void *arg)
{
	const int kept = errno;
	const uint64_t before = hook_signals_block();

	(void)arg;
	core_look_orphan();
	hook_signals_restore(before);
	errno = kept;
}

HOOK bool hook_look_orphan(void)
{
	if (core_is_orphan())
		hook_guarded(orphan_look, NULL);
	return false;
}

static void stacks_begin(void *arg)
{
	hook_stacks_begin(arg);
}

/*
 * Ends of calls that began in an earlier recording are not recorded. The calls are forgotten when
 * the thread's first one begins in this recording: until then their ends need them. Returns false
 * if a record of that kind is not to be stored.
 */
static bool is_of_recording(uint32_t kind)
{
	if (hook_here.recording == hook_recording)
		return true;
	if (kind == SPB_ENTER || kind == SPB_TAIL)
		hook_guarded(stacks_begin, &hook_here);
	return kind != SPB_EXIT && kind != SPB_UNWIND;
}

/* A place that was reserved is not used: else it would run away. */
static void place_return(uint64_t size)
{
	seam_add((uint64_t *)(void *)&spur_trace_here.at, 0 - size);
}

uint64_t hook_ticks(void)
{
	uint64_t ticks;

	if (spur_trace_tsc[0])
		return __rdtsc();
	hook_guarded(clock_read, &ticks);
	return ticks;
}

/* `place`: where on the program's stack the hook is; 0: not known. */
static char *page_next(char *at, uint64_t size, uint64_t place)
{
	const char *const end = seam_load_pointer(&spur_trace_here.end);
	struct page_call c = { NULL, size, NULL };

	if (!core_on) {
		place_return(size);
		return NULL;
	}
	if (core_refuses())
		return NULL;
	if (place && !hook_here.paging && end && end < core_own.chunk_end &&
	    page_take(&at, size, place))
		return at;
	c.at = at;
	hook_guarded(chunk_take, &c);
	return c.got;
}

/* As spur_trace_reserve(), whose invariant holds here too. */
static char *reserve(uint64_t size)
{
	char *const end = __atomic_load_n(&spur_trace_here.end, __ATOMIC_RELAXED);
	char *const p = spur_trace_add(size);

	if ((uint64_t)(end - p) - size <= SPUR_TRACE_PAGE - size)
		return p;
	return page_next(p, size, 0);
}

/* `p`: room that was reserved. `word`: with the time, without the payload's length. */
static void fill(char *p, uint64_t word, const uint64_t *payload, uint64_t size)
{
	const uint64_t words = size / SPB_WORD;
	const uint64_t length = words < SPB_LENGTH_FAR ? words : SPB_LENGTH_FAR;
	uint64_t *q = (uint64_t *)(void *)p + 1;

	if (size) {
		seam_store(p, SPB_RESERVED | length << 4 | words << 32);
		seam_fence();
		if (length == SPB_LENGTH_FAR)
			*q++ = words;
		for (uint64_t i = 0; i < words; i++)
			q[i] = payload[i];
	}
	seam_store(p, word | length << 4);
}

char *hook_record(uint32_t kind, uint32_t id, const uint64_t *payload, uint64_t size,
		  uint64_t ticks)
{
	const uint64_t head = size < SPB_LENGTH_FAR * SPB_WORD ? SPB_WORD : 2 * SPB_WORD;
	char *p;

	if (!is_of_recording(kind))
		return NULL;
	if (ticks >= spur_trace_here.sync)
		hook_guarded(sync_store, &ticks);
	p = reserve(head + size);
	if (p)
		fill(p, kind | (uint64_t)id << 8 | ticks << 32, payload, size);
	return p;
}

/*
 * The record becomes one that says nothing, then the place moves back to it, if no other record
 * came behind it. What is stored there next replaces it.
 */
uint32_t hook_take_back(char *record, uint64_t ticks)
{
	const char *const end = seam_load_pointer(&spur_trace_here.end);
	uint64_t word, words, size;
	char *expected;

	/* In an earlier page, whose chunk may not be mapped any more. */
	if ((uint64_t)(end - record) > SPUR_TRACE_PAGE)
		return 0;
	word = seam_load(record);
	words = word >> 4 & 15;
	size = SPB_WORD + words * SPB_WORD;
	expected = record + size;
	/* Where chunks are used again, another record may stand there now. */
	if (words == SPB_LENGTH_FAR || spur_trace_here.at != expected ||
	    word >> 32 != (ticks & UINT32_MAX))
		return 0;
	for (uint64_t i = SPB_WORD; i < size; i += SPB_WORD)
		*(volatile uint64_t *)(void *)(record + i) = 0;
	seam_store(record, SPB_PAD);
	if (!__atomic_compare_exchange_n(&spur_trace_here.at, &expected, record, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		/* A signal handler recorded: what is taken back has to be skipped. */
		seam_store(record, SPB_PAD | words << 4);
	return word & 15;
}

/* --- from enter.S, where a page ends or the whole time is due --- */

/* In place of a place: the whole time is due. NULL is a place of a thread without a page. */
#define TIME_IS_DUE ((char *)1)

/*
 * `p`: a place behind the page's end, with the whole record as `time`; or TIME_IS_DUE, and the
 * time.
 */
bool hook_paged(struct hook_regs *r, uint64_t word, char *p, uint64_t time);
bool hook_paged_address(struct hook_regs *r, uint64_t address, char *p, uint64_t time);

HOOK bool hook_paged(struct hook_regs *r, uint64_t word, char *p, uint64_t time)
{
	hook_look_orphan();
	if (p == TIME_IS_DUE) {
		hook_record((uint32_t)word & 15, (uint32_t)word >> 8, NULL, 0, time);
		return false;
	}
	if (!is_of_recording((uint32_t)time & 15)) {
		place_return(SPB_WORD);
		return false;
	}
	p = page_next(p, SPB_WORD, (uint64_t)r);
	if (p)
		fill(p, time, NULL, 0);
	return false;
}

HOOK bool hook_paged_address(struct hook_regs *r, uint64_t address, char *p, uint64_t time)
{
	if (p == TIME_IS_DUE) {
		hook_record(SPB_ENTER, 0, &address, SPB_WORD, time);
		return false;
	}
	is_of_recording(SPB_ENTER);
	p = page_next(p, 2 * SPB_WORD, (uint64_t)r);
	if (p)
		fill(p, time & ~(uint64_t)0xF0, &address, SPB_WORD);
	return false;
}
