/*
 * For the passes that write millions of lines: text made once per id (names as JSON), ready to be copied, and digits of
 * times that share their beginning. A table is filled by whichever thread first needs an id, and read without a lock.
 */
#ifndef SPUR_PASS_TEXT_FRAG_H
#define SPUR_PASS_TEXT_FRAG_H

#include <pthread.h>

#include "base/mem.h"
#include "base/out.h"

enum { FRAG_PAGE = 1024, FRAG_PAGES = 1 << 14, FRAG_PIECE = 32 };

struct frag {
	const char *p; /* readable up to the next multiple of FRAG_PIECE; NULL: not made. Stored last */
	uint32_t len;
	uint32_t user; /* the maker's */
	uint64_t key; /* the maker's: what it was made of */
};

/* Appends the text of the row's id to `o`, and may set user and key. */
typedef void frag_maker(const void *self, const struct spur_event *row, struct frag *f, struct out *o);

/* By id below 2^24. */
struct frag_table {
	struct frag *pages[FRAG_PAGES];
	pthread_mutex_t lock;
	struct arena arena;
	struct out scratch;
	frag_maker *make;
	const void *self;
};

/* NULL: memory is out. */
struct frag_table *frag_new(frag_maker *make, const void *self);
void frag_free(struct frag_table *t);
/* Out of line half of frag_get(). */
const struct frag *frag_made(struct frag_table *t, uint32_t id, const struct spur_event *row);

/* The text of the row's id; NULL: memory is out, or an id past the limit. */
static inline const struct frag *frag_get(struct frag_table *t, uint32_t id, const struct spur_event *row)
{
	struct frag *page = id < FRAG_PAGE * FRAG_PAGES ? __atomic_load_n(&t->pages[id / FRAG_PAGE], __ATOMIC_ACQUIRE) : NULL;

	if (__builtin_expect(page && __atomic_load_n(&page[id % FRAG_PAGE].p, __ATOMIC_ACQUIRE), 1))
		return &page[id % FRAG_PAGE];
	return frag_made(t, id, row);
}

/* Copies in whole pieces: there must be FRAG_PIECE bytes of room more than the text has. */
static inline char *put_frag(char *w, const struct frag *f)
{
	memcpy(w, f->p, FRAG_PIECE);
	for (uint32_t i = FRAG_PIECE; __builtin_expect(i < f->len, 0); i += FRAG_PIECE)
		memcpy(w + i, f->p + i, FRAG_PIECE);
	return w + f->len;
}

/* A literal. */
#define put_literal(w, s) (memcpy((w), (s), sizeof(s) - 1), (w) + (sizeof(s) - 1))

/* Decimal digits of a number below 10^8, all eight, two steps of parallel division in one word. */
static inline char *put_8(char *w, uint32_t v)
{
	const uint64_t halves = v / 10000 | (uint64_t)(v % 10000) << 32;
	const uint64_t high = (halves * 10486 >> 20) & 0x7f0000007f;
	const uint64_t pairs = high | (halves - 100 * high) << 16;
	const uint64_t tens = (pairs * 103 >> 10) & 0x000f000f000f000f;
	uint64_t digits = (tens | (pairs - 10 * tens) << 8) + 0x3030303030303030;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	digits = __builtin_bswap64(digits);
#endif
	memcpy(w, &digits, 8);
	return w + 8;
}

/* Digits that a time shares with the ones before it: all but the last eight. */
struct time_digits {
	uint64_t base; /* a multiple of 10^8 */
	uint32_t len;
	char text[20];
};

static inline void time_digits_init(struct time_digits *d)
{
	d->base = 100000000;
	d->len = 1;
	d->text[0] = '1';
}

/* Moves to the base of a time of at least 10^8. */
void time_digits_move(struct time_digits *d, uint64_t ns);
/* Less common times: short and negative ones. */
char *put_ns_slow(char *w, int64_t ns);
char *put_us_slow(char *w, int64_t ns);

static inline bool time_digits_hold(struct time_digits *d, int64_t ns)
{
	if (__builtin_expect((uint64_t)ns - d->base < 100000000, 1))
		return true;
	if (ns < 100000000)
		return false;
	time_digits_move(d, (uint64_t)ns);
	return true;
}

/* Room: 24 bytes. */
static inline char *put_ns(char *w, struct time_digits *d, int64_t ns)
{
	if (!time_digits_hold(d, ns))
		return put_ns_slow(w, ns);
	memcpy(w, d->text, 16);
	return put_8(w + d->len, (uint32_t)((uint64_t)ns - d->base));
}

/* Microseconds with three decimals. */
static inline char *put_us(char *w, struct time_digits *d, int64_t ns)
{
	uint32_t last;

	if (!time_digits_hold(d, ns))
		return put_us_slow(w, ns);
	memcpy(w, d->text, 16);
	w = put_8(w + d->len, (uint32_t)((uint64_t)ns - d->base));
	memcpy(&last, w - 4, 4);
	w[-3] = '.';
	memcpy(w - 2, (const char *)&last + 1, 3);
	return w + 1;
}

#endif
