/*
 * For passes that write millions of lines: text that is made once per id (names as JSON) and then
 * copied, and digits of numbers that share their beginning. The first thread that needs an id fills
 * its entry; filled entries are read without a lock.
 */
#ifndef SPUR_RENDER_FRAG_H
#define SPUR_RENDER_FRAG_H

#include <pthread.h>

#include "base/mem.h"
#include "base/out.h"

enum {
	FRAG_PAGE = 1024,
	FRAG_PAGES = 1 << 18,
	FRAG_PIECE = 32,
	FRAG_KEPT = 1 << 16, /* ids of which frag_get() and frag_of() keep the text in the table */
};

struct frag {
	/* Readable up to the next multiple of FRAG_PIECE; NULL: not made; stored last. */
	const char *p;
	uint32_t len;
	uint32_t user; /* the maker's */
	uint64_t key; /* the maker's: what it was made of */
};

/* Appends the text of the row's id to `o`, and may set user and key. */
typedef void frag_maker(const void *self, const struct spur_event *row, struct frag *f,
			struct out *o);

/* The text of one id that is not in the table. Used by one thread at a time. */
struct frag_spare {
	struct frag frag;
	uint32_t id;
	uint32_t room; /* bytes of `text` */
	char text[];
};

/*
 * What a user of a table keeps for itself: the text of its first id, for most rows of a feed have
 * one id of the feed's own; and that of an id past those that the table keeps. Zero-initialise;
 * frag_user_free().
 */
struct frag_user {
	struct frag_spare *home, *guest; /* NULL: not needed yet */
};

/* Fragments by id; ids are below 2^28. */
struct frag_table {
	struct frag *pages[FRAG_PAGES];
	pthread_mutex_t lock; /* of all that follows, and of filling pages */
	size_t npages; /* all pages from here on are NULL */
	struct arena arena;
	struct out scratch;
	frag_maker *make;
	const void *self;
};

/* NULL: out of memory. */
struct frag_table *frag_new(frag_maker *make, const void *self);
void frag_free(struct frag_table *t);
/* Out of line half of frag_get(). */
const struct frag *frag_made(struct frag_table *t, uint32_t id, const struct spur_event *row);

/* Returns the id's text, or NULL if it was not made yet. */
static inline const struct frag *frag_seen(const struct frag_table *t, uint32_t id)
{
	struct frag *page = id < FRAG_PAGE * FRAG_PAGES
				    ? __atomic_load_n(&t->pages[id / FRAG_PAGE], __ATOMIC_ACQUIRE)
				    : NULL;

	return __builtin_expect(page && __atomic_load_n(&page[id % FRAG_PAGE].p, __ATOMIC_ACQUIRE),
				1)
		       ? &page[id % FRAG_PAGE]
		       : NULL;
}

/* Out of line halves of frag_get() and frag_of(). */
const struct frag *frag_get_slow(struct frag_table *t, uint32_t id, const struct spur_event *row,
				 struct frag_user *user);
const struct frag *frag_of_slow(struct frag_table *t, uint32_t id, const struct spur_event *row,
				struct frag_user *user);
void frag_user_free(struct frag_user *user);

/*
 * Returns the text of the row's id, valid until the user's next call; NULL if out of memory. The
 * table keeps only the texts of the first FRAG_KEPT ids, which bounds its memory.
 */
static inline const struct frag *frag_get(struct frag_table *t, uint32_t id,
					  const struct spur_event *row, struct frag_user *user)
{
	const struct frag *f = frag_seen(t, id);

	return __builtin_expect(f != NULL, 1) ? f : frag_get_slow(t, id, row, user);
}

/* The same for ids that most users have one of: the first one's text is the user's alone. */
static inline const struct frag *frag_of(struct frag_table *t, uint32_t id,
					 const struct spur_event *row, struct frag_user *user)
{
	const struct frag *f;

	if (user->home && user->home->id == id)
		return &user->home->frag;
	f = frag_seen(t, id);
	return __builtin_expect(f != NULL, 1) ? f : frag_of_slow(t, id, row, user);
}

/* Copies in whole pieces. Requires room for FRAG_PIECE bytes more than the text has. */
static inline char *put_frag(char *w, const struct frag *f)
{
	memcpy(w, f->p, FRAG_PIECE);
	for (uint32_t i = FRAG_PIECE; __builtin_expect(i < f->len, 0); i += FRAG_PIECE)
		memcpy(w + i, f->p + i, FRAG_PIECE);
	return w + f->len;
}

/* Copies the first `len` bytes, FRAG_PIECE at most. Requires room for FRAG_PIECE bytes. */
static inline char *put_piece(char *w, const struct frag *f, size_t len)
{
	memcpy(w, f->p, FRAG_PIECE);
	return w + len;
}

static inline char *put_text(char *w, const char *s, size_t len)
{
	memcpy(w, s, len);
	return w + len;
}

/* A literal. */
#define put_literal(w, s) put_text((w), (s), sizeof(s) - 1)

/* "000." to "999."; filled by the first number_init(). */
extern char frag_thousand[1000][4];

/* The digits that a number shares with the ones before it: all but the last nine. */
struct number {
	uint64_t base; /* a multiple of 10^9, not 0 */
	uint32_t len;
	char text[20];
};

void number_init(struct number *d);
/* Sets the base to that of a number of at least 10^9. */
void number_move(struct number *d, uint64_t v);
/* Out of line half of put_us(): small and negative numbers. */
char *put_us_slow(char *w, int64_t ns);

static inline bool number_holds(struct number *d, int64_t v)
{
	if (__builtin_expect((uint64_t)v - d->base < 1000000000, 1))
		return true;
	if (v < 1000000000)
		return false;
	number_move(d, (uint64_t)v);
	return true;
}

/*
 * Writes the last nine digits with `point` bytes between the sixth and the seventh: 0, or 1 for the
 * point of the table.
 */
static inline char *put_nine(char *w, uint32_t v, unsigned point)
{
	const uint32_t high = v / 1000, top = high / 1000;

	memcpy(w, frag_thousand[top], 4);
	memcpy(w + 3, frag_thousand[high - top * 1000], 4);
	memcpy(w + 6 + point, frag_thousand[v - high * 1000], 4);
	return w + 9 + point;
}

/* Writes a decimal number. Requires room for 32 bytes. */
static inline char *put_number(char *w, struct number *d, int64_t v)
{
	if (!number_holds(d, v))
		return put_i64(w, v);
	memcpy(w, d->text, 16);
	return put_nine(w + d->len, (uint32_t)((uint64_t)v - d->base), 0);
}

/* Writes ns as microseconds with three decimals. Requires room for 32 bytes. */
static inline char *put_us(char *w, struct number *d, int64_t ns)
{
	if (!number_holds(d, ns))
		return put_us_slow(w, ns);
	memcpy(w, d->text, 16);
	return put_nine(w + d->len, (uint32_t)((uint64_t)ns - d->base), 1);
}

#endif
