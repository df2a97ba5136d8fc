/*
 * spur_trace.h: events of your own program, recorded by Spur. C11 and C++11, with GCC or Clang.
 *
 *	#include <spur_trace.h>
 *
 *	void work(int n, const char *what)
 *	{
 *		SPUR_TRACE_SPAN("app", "work", (I64, "n", n), (TEXT, "what", what));
 *		...
 *		SPUR_TRACE_COUNTER("app", "queue", (U64, "length", length()));
 *	}
 *
 * Link with -lspur-trace, or add spur_trace.c to your sources. Nothing is recorded until the
 * program is told to: SPUR_TRACE=out.spur ./prog, spur_trace_start(), or a session of several
 * programs (spur record --system). Then look at it with `spur report out.spur`.
 *
 * A point that is off costs a load and a branch. One that is on reads the clock and stores 8 bytes,
 * and 8 for each number; strings are stored up to SPUR_TRACE_TEXT_MAX bytes. An event is stored
 * without a lock, and may be recorded in a signal handler. What cannot be stored is counted, and
 * the recording says so. What was recorded survives the end of the program, however it comes.
 *
 * Any thread may call anything here at any time.
 *
 * These variables of the environment count when the program starts: SPUR_TRACE, the directory of
 * the recording (empty: no session is looked for either); SPUR_TRACE_CATEGORIES, those that are
 * recorded, separated by commas; SPUR_TRACE_MODE and SPUR_TRACE_SIZE, see spur_trace_start_with();
 * SPUR_TRACE_DUMP, see spur_trace_dump(); SPUR_TRACE_SWITCH, signals (the same ones) at which the
 * recording is switched off, or on again; SPUR_TRACE_HELPER=0: no thread of the library's own.
 */
#ifndef SPUR_TRACE_H
#define SPUR_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* So that a record with the most arguments fits into a page. */
enum { SPUR_TRACE_TEXT_MAX = 480, SPUR_TRACE_ARGS_MAX = 8 };
/* No record crosses one of these. */
#define SPUR_TRACE_PAGE ((uint64_t)4096)

/*
 * Starts a recording in the directory `path`, which is made: one file for this process. Returns 0,
 * or an errno: EALREADY if a recording is under way, unless it is that of a session, which is left.
 */
int spur_trace_start(const char *path);

enum spur_trace_mode {
	SPUR_TRACE_STREAM, /* everything is kept */
	SPUR_TRACE_RING, /* the last events of each thread are kept */
	SPUR_TRACE_ONESHOT, /* the first events are kept, and the others counted as lost */
};

struct spur_trace_options {
	enum spur_trace_mode mode;
	/* Bytes for each thread of a ring, or for a whole oneshot. 0: 64 MiB */
	uint64_t size;
};

/*
 * Starts a recording with these options. spur_trace_start() takes them from the variables
 * SPUR_TRACE_MODE (stream, ring or oneshot) and SPUR_TRACE_SIZE (as 512K, 64M or 1G).
 */
int spur_trace_start_with(const char *path, const struct spur_trace_options *options);
/*
 * Copies what the recording has now into the directory `path`, which is made, as a recording of its
 * own. Returns 0 or an errno: ENODATA if no recording is under way. May be called in signal
 * handlers, also of a crash and on a stack of 8 KiB. The variable SPUR_TRACE_DUMP lists signals,
 * separated by commas (SEGV, ABRT, BUS, FPE, ILL, HUP, INT, QUIT, TERM, USR1, USR2), at which the
 * library does so by itself, into NAME.1, NAME.2 and so on beside the recording NAME. The signal
 * then does what it does without that, but USR1 and USR2 do not end the program. A program that
 * sets up such a signal in main() or later replaces the dump.
 */
int spur_trace_dump(const char *path);
/*
 * Ends the recording. Nothing is recorded until the next start; a session that is left in this way
 * is not joined again.
 */
void spur_trace_stop(void);
/* True while a recording is under way. */
bool spur_trace_is_on(void);
/*
 * Switches a category on or off, also for points that were not reached yet. All are on at first, or
 * those listed in the variable SPUR_TRACE_CATEGORIES, separated by commas. While `spur record
 * --switch` or a session says which are on, that counts instead, and this when it does no longer.
 * Returns 0, or an errno.
 */
int spur_trace_enable(const char *category, bool on);
/* Names the calling thread, or the process. Cut after 63 bytes, or 400. */
void spur_trace_thread_name(const char *name);
void spur_trace_process_name(const char *name);
/*
 * From here on the calling thread runs the fiber of that id, whose events have a track of their
 * own; 0: its own stack again. A fiber has a track once it has a name.
 */
void spur_trace_fiber(uint64_t id);
void spur_trace_fiber_name(uint64_t id, const char *name);
/*
 * The id of a string, for arguments of type STRING and for points whose name is known only when the
 * program runs: such an event stores the id, and the recording has the string once. Cut after
 * SPUR_TRACE_TEXT_MAX bytes. The id stays valid in the whole process and its forked children; the
 * same string has the same id. A string that is known already is found without a lock. Returns 0 if
 * the string has no room (a process may have 65,536 strings, and 8 MiB of them), or if it is new
 * and a signal handler that interrupted the library asks; such an argument is shown as #0, and such
 * a point as "unnamed".
 */
uint64_t spur_trace_string(const char *text);

/* --- what the macros below are made of --- */

struct spur_trace_site {
	/* Points to 0 while the point is off. */
	const uint32_t *on;
	uint32_t number; /* 0: not registered */
	uint8_t kind; /* docs/formats/spur.md has the kinds and types */
	uint8_t nargs;
	uint32_t line;
	const char *category, *name, *file;
	const char *const *arg_names;
	const uint8_t *arg_types;
};

/* A thread's place in its chunk. */
struct spur_trace_place {
	char *at; /* the next byte; moved by one unlocked instruction */
	char *end; /* of the page */
	uint64_t sync; /* ticks at which a TIME record is due */
};

extern __thread struct spur_trace_place spur_trace_here __attribute__((tls_model("initial-exec")));
extern const uint32_t spur_trace_new; /* not 0: points that were not reached yet */
/*
 * [0]: the clock is the TSC. A page of its own, which a child process finds empty: so it comes to
 * spur_trace_ticks() with its first event, before it stores anything into its parent's recording.
 */
#ifdef SPUR_TRACE_SEAM
extern uint32_t spur_trace_tsc[1];
#else
extern uint32_t spur_trace_tsc[SPUR_TRACE_PAGE / sizeof(uint32_t)]
	__attribute__((aligned(SPUR_TRACE_PAGE)));
#endif

/*
 * What other languages call, which cannot use the macros: the point's number if it is on, else 0,
 * and a record of it. A site is a `struct spur_trace_site` that is never moved; its `on` is NULL
 * and its `number` 0 at first. Records are 1 for the begin of a span, 2 for its end, and 3 for all
 * else; `id` counts for async and flow events. Values are as many, and of the types, as the site
 * says, at most 255. Texts are cut after SPUR_TRACE_TEXT_MAX bytes, or earlier if a page has no
 * room for all values.
 */
uint32_t spur_trace_number(struct spur_trace_site *site);
struct spur_trace_value;
void spur_trace_record(uint32_t record, const struct spur_trace_site *site, uint64_t id,
		       const struct spur_trace_value *values);

/*
 * The number of a point that is like `site`, but has the string of that id as its name; the number
 * of `site` if the string has no id, or if there are more than 32,768 such points; 0 if the point
 * is off.
 */
uint32_t spur_trace_named(struct spur_trace_site *site, uint64_t name);

/* Slow paths. spur_trace_page() returns the place of a record, or NULL: it was counted as lost. */
uint32_t spur_trace_register(struct spur_trace_site *site);
char *spur_trace_page(char *at, uint64_t size);
void spur_trace_sync(uint64_t ticks);
uint64_t spur_trace_ticks(void); /* of the clock, whatever it is */

#ifdef SPUR_TRACE_SEAM
#include SPUR_TRACE_SEAM /* the next three functions, for tests */
#else
/* Moves the thread's place on, in one step as signal handlers see it. Returns where it was. */
static inline __attribute__((always_inline)) char *spur_trace_add(uint64_t size)
{
#if defined(__x86_64__)
	char *p = (char *)size;

	__asm__ volatile("xaddq %0, %1" : "+r"(p), "+m"(spur_trace_here.at) : : "cc", "memory");
	return p;
#else
	char *p;

	/* Loads before it stay before it, as handlers of this thread see them. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	p = __atomic_fetch_add(&spur_trace_here.at, size, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return p;
#endif
}

/* The first word of a record: what is stored before it is there when it is. */
static inline __attribute__((always_inline)) void spur_trace_store(char *p, uint64_t word)
{
	__atomic_store_n((uint64_t *)(void *)p, word, __ATOMIC_RELEASE);
}

/*
 * Most texts are short: two words, which may overlap, have all of such a text. The size of others
 * is hidden from the compiler: GCC copies what it knows to be short by `rep movsq`, which takes
 * more than a hundred cycles to begin.
 */
static inline __attribute__((always_inline)) void spur_trace_copy(char *to, const void *from,
								  uint64_t size)
{
	const char *const bytes = (const char *)from;

	if (__builtin_constant_p(size)) {
		memcpy(to, bytes, size);
	} else if (size > 16) {
		__asm__("" : "+r"(size));
		memcpy(to, bytes, size);
	} else if (size >= 8) {
		memcpy(to, bytes, 8);
		memcpy(to + size - 8, bytes + size - 8, 8);
	} else if (size >= 4) {
		memcpy(to, bytes, 4);
		memcpy(to + size - 4, bytes + size - 4, 4);
	} else if (size) {
		to[0] = bytes[0];
		to[size / 2] = bytes[size / 2];
		to[size - 1] = bytes[size - 1];
	}
}
#endif

static inline __attribute__((always_inline)) uint64_t spur_trace_clock(void)
{
	uint64_t ticks;

#if defined(__x86_64__)
	if (__builtin_expect(spur_trace_tsc[0] != 0, 1))
		ticks = __rdtsc();
	else
#endif
		ticks = spur_trace_ticks();
	if (__builtin_expect(ticks >= spur_trace_here.sync, 0))
		spur_trace_sync(ticks);
	return ticks;
}

/*
 * Room for a record. A signal handler may come anywhere: it gets the bytes behind, or the next
 * page.
 *
 * INVARIANT: the page's end is read before the place is moved. A place that passes the test was
 * within the page of that end when it was taken, so no handler can have the same bytes; with an end
 * that is read later, a place behind the full page would look like one in the page after it.
 */
static inline __attribute__((always_inline)) char *spur_trace_reserve(uint64_t size)
{
	char *const end = __atomic_load_n(&spur_trace_here.end, __ATOMIC_RELAXED);
	char *const p = spur_trace_add(size);

	if (__builtin_expect((uint64_t)(end - p) - size <= SPUR_TRACE_PAGE - size, 1))
		return p;
	return spur_trace_page(p, size);
}

static inline __attribute__((always_inline)) void
spur_trace_commit(char *p, uint32_t kind, uint32_t words, uint32_t number, uint64_t ticks)
{
	spur_trace_store(p, kind | (uint64_t)words << 4 | (uint64_t)number << 8 | ticks << 32);
}

/* The value of an argument: a word, or text. */
struct spur_trace_value {
	uint64_t word;
	const char *text; /* NULL: the word counts */
	uint32_t len;
};

static inline __attribute__((always_inline)) struct spur_trace_value spur_trace_word(uint64_t word)
{
	struct spur_trace_value v = { word, NULL, 0 };

	return v;
}

static inline __attribute__((always_inline)) struct spur_trace_value spur_trace_f64(double value)
{
	struct spur_trace_value v = { 0, NULL, 0 };

	memcpy(&v.word, &value, sizeof(v.word));
	return v;
}

static inline __attribute__((always_inline)) struct spur_trace_value
spur_trace_text(const char *text)
{
	struct spur_trace_value v = { 0, text ? text : "(null)", 0 };
	size_t len;

	len = strlen(v.text);
	v.len = (uint32_t)(len < SPUR_TRACE_TEXT_MAX ? len : (size_t)SPUR_TRACE_TEXT_MAX);
	return v;
}

static inline __attribute__((always_inline)) uint64_t
spur_trace_size(const struct spur_trace_value *v)
{
	return v->text ? (2 + (uint64_t)v->len + 7) / 8 * 8 : 8;
}

/* Stores a record. `id`: of async and flow events, if `has_id`. */
static inline __attribute__((always_inline)) void spur_trace_emit(uint32_t kind, uint32_t number,
								  bool has_id, uint64_t id,
								  const struct spur_trace_value *v,
								  unsigned n)
{
	const uint64_t ticks = spur_trace_clock();
	uint64_t size = has_id ? 8 : 0, head = 8;
	uint32_t words;
	char *p, *q;

	for (unsigned i = 0; i < n; i++)
		size += spur_trace_size(&v[i]);
	if (size >= 15 * 8)
		head = 16;
	words = (uint32_t)(size / 8);
	p = spur_trace_reserve(head + size);
	if (__builtin_expect(!p, 0))
		return;
	if (size) {
		/*
		 * Says how much to skip if the program ends before the record is complete. One
		 * store has it all, so that a program that ends here leaves no part of it.
		 */
		const uint64_t length = words < 15 ? words : 15;

		spur_trace_store(p, 14 | length << 4 | (uint64_t)words << 32);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
	if (head == 16) {
		const uint64_t length = words;

		spur_trace_copy(p + 8, &length, 8);
	}
	q = p + head;
	if (has_id) {
		spur_trace_copy(q, &id, 8);
		q += 8;
	}
	for (unsigned i = 0; i < n; i++) {
		if (v[i].text) {
			const uint16_t len = (uint16_t)v[i].len;

			spur_trace_copy(q, &len, 2);
			spur_trace_copy(q + 2, v[i].text, len);
		} else {
			spur_trace_copy(q, &v[i].word, 8);
		}
		q += spur_trace_size(&v[i]);
	}
	spur_trace_commit(p, kind, words < 15 ? words : 15, number, ticks);
}

/* Returns the site's number if the point is on, else 0. */
static inline __attribute__((always_inline)) uint32_t spur_trace_look(struct spur_trace_site *site)
{
	const uint32_t *const on = __atomic_load_n(&site->on, __ATOMIC_ACQUIRE);
	uint32_t number;

	if (__builtin_expect(!__atomic_load_n(on, __ATOMIC_RELAXED), 1))
		return 0;
	number = __atomic_load_n(&site->number, __ATOMIC_ACQUIRE);
	return __builtin_expect(number != 0, 1) ? number : spur_trace_register(site);
}

/* The same of a point with the name of that id, which is not asked for while the point is off. */
#define SPUR_TRACE_LOOK_NAMED(SITE, STRING_ID)                                           \
	(__builtin_expect(__atomic_load_n(__atomic_load_n(&(SITE).on, __ATOMIC_ACQUIRE), \
					  __ATOMIC_RELAXED) != 0,                        \
			  0)                                                             \
		 ? spur_trace_named(&(SITE), STRING_ID)                                  \
		 : 0)

static inline __attribute__((always_inline)) void spur_trace_leave(const uint32_t *number)
{
	if (__builtin_expect(*number != 0, 0))
		spur_trace_emit(2, *number, false, 0, NULL, 0);
}

#ifdef __cplusplus
}
#endif

/* Types of arguments, and how a value of each is taken. */
#define SPUR_TRACE_TYPE_I64 1
#define SPUR_TRACE_TYPE_U64 2
#define SPUR_TRACE_TYPE_F64 3
#define SPUR_TRACE_TYPE_BOOL 4
#define SPUR_TRACE_TYPE_POINTER 5
#define SPUR_TRACE_TYPE_TEXT 6
#define SPUR_TRACE_TYPE_STRING 8
#define SPUR_TRACE_TYPE_CHAR 9
#define SPUR_TRACE_TAKE_I64(v) spur_trace_word((uint64_t)(int64_t)(v))
#define SPUR_TRACE_TAKE_U64(v) spur_trace_word((uint64_t)(v))
#define SPUR_TRACE_TAKE_F64(v) spur_trace_f64(v)
#define SPUR_TRACE_TAKE_BOOL(v) spur_trace_word((v) ? 1 : 0)
#define SPUR_TRACE_TAKE_POINTER(v) spur_trace_word((uint64_t)(uintptr_t)(v))
#define SPUR_TRACE_TAKE_TEXT(v) spur_trace_text(v)
#define SPUR_TRACE_TAKE_STRING(v) spur_trace_word(v)
#define SPUR_TRACE_TAKE_CHAR(v) spur_trace_word((unsigned char)(v))

/*
 * What follows has macros with and without further arguments, which ISO C does not know: with
 * -pedantic, compilers would say so at each point. Tests of this header want to hear of all.
 */
#ifndef SPUR_TRACE_WARNINGS
#pragma GCC system_header
#endif

/* One part of an argument, which is (TYPE, "name", value). */
#define SPUR_TRACE_ARG_TYPE(type, name, value) SPUR_TRACE_TYPE_##type,
#define SPUR_TRACE_ARG_NAME(type, name, value) name,
#define SPUR_TRACE_ARG_VALUE(type, name, value) SPUR_TRACE_TAKE_##type(value),

/* Applies M to each argument. */
#define SPUR_TRACE_MAP_0(M)
#define SPUR_TRACE_MAP_1(M, a) M a
#define SPUR_TRACE_MAP_2(M, a, ...) M a SPUR_TRACE_MAP_1(M, __VA_ARGS__)
#define SPUR_TRACE_MAP_3(M, a, ...) M a SPUR_TRACE_MAP_2(M, __VA_ARGS__)
#define SPUR_TRACE_MAP_4(M, a, ...) M a SPUR_TRACE_MAP_3(M, __VA_ARGS__)
#define SPUR_TRACE_MAP_5(M, a, ...) M a SPUR_TRACE_MAP_4(M, __VA_ARGS__)
#define SPUR_TRACE_MAP_6(M, a, ...) M a SPUR_TRACE_MAP_5(M, __VA_ARGS__)
#define SPUR_TRACE_MAP_7(M, a, ...) M a SPUR_TRACE_MAP_6(M, __VA_ARGS__)
#define SPUR_TRACE_MAP_8(M, a, ...) M a SPUR_TRACE_MAP_7(M, __VA_ARGS__)
#define SPUR_TRACE_COUNT_(z, a, b, c, d, e, f, g, h, n, ...) n
/* The number of arguments after the first. */
#define SPUR_TRACE_COUNT(z, ...) SPUR_TRACE_COUNT_(z, ##__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define SPUR_TRACE_JOIN_(a, b) a##b
#define SPUR_TRACE_JOIN(a, b) SPUR_TRACE_JOIN_(a, b)
#define SPUR_TRACE_MAP(M, ...) \
	SPUR_TRACE_JOIN(SPUR_TRACE_MAP_, SPUR_TRACE_COUNT(0, ##__VA_ARGS__))(M, ##__VA_ARGS__)

/* The static part of a point, as variables whose names begin with PREFIX. */
#define SPUR_TRACE_SITE(PREFIX, KIND, CATEGORY, NAME, ...)                                 \
	static const char *const PREFIX##names[] = { SPUR_TRACE_MAP(SPUR_TRACE_ARG_NAME,   \
								    ##__VA_ARGS__) NULL }; \
	static const uint8_t PREFIX##types[] = { SPUR_TRACE_MAP(SPUR_TRACE_ARG_TYPE,       \
								##__VA_ARGS__) 0 };        \
	static struct spur_trace_site PREFIX##site = { &spur_trace_new,                    \
						       0,                                  \
						       KIND,                               \
						       SPUR_TRACE_COUNT(0, ##__VA_ARGS__), \
						       __LINE__,                           \
						       CATEGORY,                           \
						       NAME,                               \
						       __FILE__,                           \
						       PREFIX##names,                      \
						       PREFIX##types }

#define SPUR_TRACE_RECORD(RECORD, KIND, CATEGORY, NAME, HAS_ID, ID, ...)                      \
	SPUR_TRACE_RECORD_OF(RECORD, KIND, CATEGORY, NAME, spur_trace_look(&spur_trace_site), \
			     HAS_ID, ID, ##__VA_ARGS__)
#define SPUR_TRACE_RECORD_OF(RECORD, KIND, CATEGORY, NAME, NUMBER, HAS_ID, ID, ...)               \
	do {                                                                                      \
		SPUR_TRACE_SITE(spur_trace_, KIND, CATEGORY, NAME, ##__VA_ARGS__);                \
		const uint32_t spur_trace_number = NUMBER;                                        \
		if (__builtin_expect(spur_trace_number != 0, 0)) {                                \
			const struct spur_trace_value spur_trace_values[] = { SPUR_TRACE_MAP(     \
				SPUR_TRACE_ARG_VALUE, ##__VA_ARGS__){ 0, NULL, 0 } };             \
			spur_trace_emit(RECORD, spur_trace_number, HAS_ID, ID, spur_trace_values, \
					SPUR_TRACE_COUNT(0, ##__VA_ARGS__));                      \
		}                                                                                 \
	} while (0)

/* --- what programs write: string literals, and arguments (TYPE, "name", value) --- */

/*
 * From here to the end of the block. Types are I64, U64, F64, BOOL, POINTER, TEXT, STRING (an id
 * from spur_trace_string()) and CHAR; at most SPUR_TRACE_ARGS_MAX arguments.
 */
#define SPUR_TRACE_SPAN(CATEGORY, NAME, ...) \
	SPUR_TRACE_SPAN_LINE(__LINE__, CATEGORY, NAME, ##__VA_ARGS__)
#define SPUR_TRACE_SPAN_LINE(LINE, ...) SPUR_TRACE_SPAN_AT(LINE, __VA_ARGS__)
#define SPUR_TRACE_SPAN_AT(LINE, ...) SPUR_TRACE_SPAN_IN(spur_trace_##LINE##_, __VA_ARGS__)
#define SPUR_TRACE_SPAN_IN(PREFIX, CATEGORY, NAME, ...) \
	SPUR_TRACE_SPAN_OF(PREFIX, CATEGORY, NAME, spur_trace_look(&PREFIX##site), ##__VA_ARGS__)
#define SPUR_TRACE_SPAN_OF(PREFIX, CATEGORY, NAME, NUMBER, ...)                            \
	SPUR_TRACE_SITE(PREFIX, 1, CATEGORY, NAME, ##__VA_ARGS__);                         \
	const uint32_t PREFIX##number __attribute__((cleanup(spur_trace_leave))) = NUMBER; \
	if (__builtin_expect(PREFIX##number != 0, 0)) {                                    \
		const struct spur_trace_value PREFIX##values[] = { SPUR_TRACE_MAP(         \
			SPUR_TRACE_ARG_VALUE, ##__VA_ARGS__){ 0, NULL, 0 } };              \
		spur_trace_emit(1, PREFIX##number, false, 0, PREFIX##values,               \
				SPUR_TRACE_COUNT(0, ##__VA_ARGS__));                       \
	}                                                                                  \
	(void)PREFIX##number

/* A span that ends where SPUR_TRACE_END() stands: the innermost open one of the thread. */
#define SPUR_TRACE_BEGIN(CATEGORY, NAME, ...) \
	SPUR_TRACE_RECORD(1, 1, CATEGORY, NAME, false, 0, ##__VA_ARGS__)
#define SPUR_TRACE_END()                                          \
	do {                                                      \
		if (__builtin_expect(spur_trace_is_on(), 0))      \
			spur_trace_emit(2, 0, false, 0, NULL, 0); \
	} while (0)

/* A moment. */
#define SPUR_TRACE_INSTANT(CATEGORY, NAME, ...) \
	SPUR_TRACE_RECORD(3, 2, CATEGORY, NAME, false, 0, ##__VA_ARGS__)
/* Values that change: each argument is a series of its own. */
#define SPUR_TRACE_COUNTER(CATEGORY, NAME, ...) \
	SPUR_TRACE_RECORD(3, 3, CATEGORY, NAME, false, 0, ##__VA_ARGS__)
/*
 * The same with a name that is known only when the program runs, by its id from
 * spur_trace_string(). A name costs a search in a table of all such points.
 */
#define SPUR_TRACE_SPAN_NAMED(CATEGORY, STRING_ID, ...) \
	SPUR_TRACE_NAMED_LINE(__LINE__, CATEGORY, STRING_ID, ##__VA_ARGS__)
#define SPUR_TRACE_NAMED_LINE(LINE, ...) SPUR_TRACE_NAMED_AT(LINE, __VA_ARGS__)
#define SPUR_TRACE_NAMED_AT(LINE, ...) SPUR_TRACE_NAMED_IN(spur_trace_##LINE##_, __VA_ARGS__)
#define SPUR_TRACE_NAMED_IN(PREFIX, CATEGORY, STRING_ID, ...) \
	SPUR_TRACE_SPAN_OF(PREFIX, CATEGORY, "unnamed",       \
			   SPUR_TRACE_LOOK_NAMED(PREFIX##site, STRING_ID), ##__VA_ARGS__)
#define SPUR_TRACE_BEGIN_NAMED(CATEGORY, STRING_ID, ...)                                  \
	SPUR_TRACE_RECORD_OF(1, 1, CATEGORY, "unnamed",                                   \
			     SPUR_TRACE_LOOK_NAMED(spur_trace_site, STRING_ID), false, 0, \
			     ##__VA_ARGS__)
#define SPUR_TRACE_INSTANT_NAMED(CATEGORY, STRING_ID, ...)                                \
	SPUR_TRACE_RECORD_OF(3, 2, CATEGORY, "unnamed",                                   \
			     SPUR_TRACE_LOOK_NAMED(spur_trace_site, STRING_ID), false, 0, \
			     ##__VA_ARGS__)
#define SPUR_TRACE_COUNTER_NAMED(CATEGORY, STRING_ID, ...)                                \
	SPUR_TRACE_RECORD_OF(3, 3, CATEGORY, "unnamed",                                   \
			     SPUR_TRACE_LOOK_NAMED(spur_trace_site, STRING_ID), false, 0, \
			     ##__VA_ARGS__)

/* What may end on another thread. Events of one name, category and id belong together. */
#define SPUR_TRACE_ASYNC_BEGIN(CATEGORY, NAME, ID, ...) \
	SPUR_TRACE_RECORD(3, 4, CATEGORY, NAME, true, ID, ##__VA_ARGS__)
#define SPUR_TRACE_ASYNC_INSTANT(CATEGORY, NAME, ID, ...) \
	SPUR_TRACE_RECORD(3, 5, CATEGORY, NAME, true, ID, ##__VA_ARGS__)
#define SPUR_TRACE_ASYNC_END(CATEGORY, NAME, ID, ...) \
	SPUR_TRACE_RECORD(3, 6, CATEGORY, NAME, true, ID, ##__VA_ARGS__)
/* What one span causes in another: from the span around the first to that around the last. */
#define SPUR_TRACE_FLOW_BEGIN(CATEGORY, NAME, ID, ...) \
	SPUR_TRACE_RECORD(3, 7, CATEGORY, NAME, true, ID, ##__VA_ARGS__)
#define SPUR_TRACE_FLOW_STEP(CATEGORY, NAME, ID, ...) \
	SPUR_TRACE_RECORD(3, 8, CATEGORY, NAME, true, ID, ##__VA_ARGS__)
#define SPUR_TRACE_FLOW_END(CATEGORY, NAME, ID, ...) \
	SPUR_TRACE_RECORD(3, 9, CATEGORY, NAME, true, ID, ##__VA_ARGS__)
/* A line of text. */
#define SPUR_TRACE_LOG(CATEGORY, TEXT_) \
	SPUR_TRACE_RECORD(3, 10, CATEGORY, "log", false, 0, (TEXT, "message", TEXT_))

/* --- C++: points as objects, without macros --- */

#ifdef __cplusplus
#include <type_traits>

namespace spur
{

/* A string by its id, as an argument or as the name of a span: see spur_trace_string(). */
class interned
{
public:
	explicit interned(const char *text) : id_(spur_trace_string(text))
	{
	}
	uint64_t id() const
	{
		return id_;
	}

private:
	uint64_t id_;
};

namespace detail
{

/* The type of an argument, and how a value of it is taken. */
template <class T, class = void> struct argument;

template <> struct argument<bool> {
	enum { type = SPUR_TRACE_TYPE_BOOL };
	static spur_trace_value take(bool v)
	{
		return spur_trace_word(v ? 1 : 0);
	}
};

template <> struct argument<char> {
	enum { type = SPUR_TRACE_TYPE_CHAR };
	static spur_trace_value take(char v)
	{
		return spur_trace_word(static_cast<unsigned char>(v));
	}
};

template <class T> struct argument<T, typename std::enable_if<std::is_integral<T>::value>::type> {
	enum { type = std::is_signed<T>::value ? SPUR_TRACE_TYPE_I64 : SPUR_TRACE_TYPE_U64 };
	static spur_trace_value take(T v)
	{
		return spur_trace_word(static_cast<uint64_t>(v));
	}
};

template <class T> struct argument<T, typename std::enable_if<std::is_enum<T>::value>::type> {
	typedef typename std::underlying_type<T>::type number;
	enum { type = argument<number>::type };
	static spur_trace_value take(T v)
	{
		return argument<number>::take(static_cast<number>(v));
	}
};

template <class T>
struct argument<T, typename std::enable_if<std::is_floating_point<T>::value>::type> {
	enum { type = SPUR_TRACE_TYPE_F64 };
	static spur_trace_value take(T v)
	{
		return spur_trace_f64(static_cast<double>(v));
	}
};

template <class T> struct argument<T *> {
	enum { type = SPUR_TRACE_TYPE_POINTER };
	static spur_trace_value take(const T *v)
	{
		return spur_trace_word(reinterpret_cast<uintptr_t>(v));
	}
};

template <> struct argument<const char *> {
	enum { type = SPUR_TRACE_TYPE_TEXT };
	static spur_trace_value take(const char *v)
	{
		return spur_trace_text(v);
	}
};

template <> struct argument<char *> : argument<const char *> {
};

template <> struct argument<interned> {
	enum { type = SPUR_TRACE_TYPE_STRING };
	static spur_trace_value take(const interned &v)
	{
		return spur_trace_word(v.id());
	}
};

/* std::string, std::string_view and their like. */
template <class T>
struct argument<
	T, typename std::enable_if<std::is_class<T>::value &&
				   std::is_convertible<decltype(std::declval<const T &>().data()),
						       const char *>::value>::type> {
	enum { type = SPUR_TRACE_TYPE_TEXT };
	static spur_trace_value take(const T &v)
	{
		const size_t most = SPUR_TRACE_TEXT_MAX, size = v.size();
		const spur_trace_value text = { 0, size ? v.data() : "",
						static_cast<uint32_t>(size < most ? size : most) };

		return text;
	}
};

template <class T> struct name_of {
	typedef const char *type;
};

/* A place in the program that records: what SPUR_TRACE_SITE() is in C. */
template <class... Args> class point
{
	static_assert(sizeof...(Args) <= SPUR_TRACE_ARGS_MAX, "too many arguments");

public:
	constexpr point(uint8_t kind, const char *category, const char *name, uint32_t line,
			const char *file, typename name_of<Args>::type... names)
	    : names_{ names..., nullptr }, types_{ static_cast<uint8_t>(argument<Args>::type)...,
						   0 },
	      site_{ &spur_trace_new, 0,    kind, sizeof...(Args), line,
		     category,	      name, file, names_,	   types_ }
	{
	}
	point(const point &) = delete;
	point &operator=(const point &) = delete;

	/* 0: the point is off. */
	uint32_t number()
	{
		return spur_trace_look(&site_);
	}
	uint32_t number(const interned &name)
	{
		return SPUR_TRACE_LOOK_NAMED(site_, name.id());
	}
	static void record(uint32_t kind, uint32_t number, bool has_id, uint64_t id,
			   const Args &...args)
	{
		const spur_trace_value values[] = { argument<Args>::take(args)...,
						    { 0, nullptr, 0 } };

		spur_trace_emit(kind, number, has_id, id, values, sizeof...(Args));
	}

private:
	const char *const names_[sizeof...(Args) + 1];
	const uint8_t types_[sizeof...(Args) + 1];
	spur_trace_site site_;
};

} // namespace detail

/*
 * An open span, which ends with the object, also where an exception is thrown. It may be moved, but
 * must end on the thread on which it began, after the spans that began in it.
 */
class span
{
public:
	span() : number_(0)
	{
	}
	explicit span(uint32_t number) : number_(number)
	{
	}
	span(span &&other) noexcept : number_(other.number_)
	{
		other.number_ = 0;
	}
	span &operator=(span &&other) noexcept
	{
		if (this != &other) {
			end();
			number_ = other.number_;
			other.number_ = 0;
		}
		return *this;
	}
	span(const span &) = delete;
	span &operator=(const span &) = delete;
	~span()
	{
		end();
	}
	void end() noexcept
	{
		spur_trace_leave(&number_);
		number_ = 0;
	}

private:
	uint32_t number_;
};

/*
 * Points with arguments of these types: numbers, enumerations, pointers, char, bool, texts
 * (const char *, std::string, std::string_view) and interned strings. A point is an object that is
 * never destroyed while others may use it, best a static one:
 *
 *	static spur::span_point<int, std::string> serve("server", "serve", "client", "path");
 *	spur::span s = serve(client, path);
 *
 * Category, name and names of arguments are string literals.
 */
template <class... Args> class span_point
{
public:
	constexpr span_point(const char *category, const char *name,
			     typename detail::name_of<Args>::type... names,
			     uint32_t line = __builtin_LINE(), const char *file = __builtin_FILE())
	    : point_(1, category, name, line, file, names...)
	{
	}
	/* From here to the end of the object's life. */
	__attribute__((warn_unused_result)) span operator()(const Args &...args)
	{
		return begin(point_.number(), args...);
	}
	/* The same with a name that is known only when the program runs. */
	__attribute__((warn_unused_result)) span named(const interned &name, const Args &...args)
	{
		return begin(point_.number(name), args...);
	}

private:
	static span begin(uint32_t number, const Args &...args)
	{
		if (__builtin_expect(number != 0, 0))
			detail::point<Args...>::record(1, number, false, 0, args...);
		return span(number);
	}
	detail::point<Args...> point_;
};

/* A point of one event. KIND: as in docs/formats/spur.md. */
template <uint8_t KIND, class... Args> class event_point
{
public:
	constexpr event_point(const char *category, const char *name,
			      typename detail::name_of<Args>::type... names,
			      uint32_t line = __builtin_LINE(), const char *file = __builtin_FILE())
	    : point_(KIND, category, name, line, file, names...)
	{
	}
	void operator()(const Args &...args)
	{
		const uint32_t number = point_.number();

		if (__builtin_expect(number != 0, 0))
			detail::point<Args...>::record(3, number, false, 0, args...);
	}

private:
	detail::point<Args...> point_;
};

/* The same of events with an id: what begins with one ends with the same. */
template <uint8_t KIND, class... Args> class id_point
{
public:
	constexpr id_point(const char *category, const char *name,
			   typename detail::name_of<Args>::type... names,
			   uint32_t line = __builtin_LINE(), const char *file = __builtin_FILE())
	    : point_(KIND, category, name, line, file, names...)
	{
	}
	void operator()(uint64_t id, const Args &...args)
	{
		const uint32_t number = point_.number();

		if (__builtin_expect(number != 0, 0))
			detail::point<Args...>::record(3, number, true, id, args...);
	}

private:
	detail::point<Args...> point_;
};

template <class... Args> using instant_point = event_point<2, Args...>;
template <class... Args> using counter_point = event_point<3, Args...>;
template <class... Args> using async_begin_point = id_point<4, Args...>;
template <class... Args> using async_instant_point = id_point<5, Args...>;
template <class... Args> using async_end_point = id_point<6, Args...>;
template <class... Args> using flow_begin_point = id_point<7, Args...>;
template <class... Args> using flow_step_point = id_point<8, Args...>;
template <class... Args> using flow_end_point = id_point<9, Args...>;

} // namespace spur
#endif

#endif
