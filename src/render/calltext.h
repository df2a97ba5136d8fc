/*
 * Lines of nested calls as our own replay shows them: columns, indentation, `name(args) {`, `} =
 * value;`, `leaf();`, comments for events. A shown row has all that its line needs: the pass that
 * nests the calls sets depth, dur and marks.
 */
#ifndef SPUR_RENDER_CALLTEXT_H
#define SPUR_RENDER_CALLTEXT_H

#include <pthread.h>

#include "model/args.h"
#include "model/event.h"
#include "render/cell.h"
#include "render/options.h"
#include "render/value.h"
#include "render/when.h"

enum {
	CALLTEXT_PAGE = 1024,
	CALLTEXT_PAGES = 16384, /* 2^24 classes */
	CALLTEXT_QUICK = 56, /* bytes of the columns that depend on the thread only */
	CALLTEXT_DEPTH = 32, /* levels that are indented by a copy of fixed size */
	CALLTEXT_SHORT = 32, /* bytes of a short name; all are padded to it */
};

/* `marks` of a shown row; bits from CALLTEXT_OWN on are free for the pass. */
enum calltext_mark {
	CALLTEXT_IS_LEAF = 1, /* BEGIN, SWITCH out: its end follows at once; dur is known */
	CALLTEXT_IS_LEFT = 2, /* BEGIN of a leaf: left by a tail call */
	CALLTEXT_IS_CALLER = 4, /* BEGIN: not a call but a line that names a caller */
	/* BEGIN of a leaf: its END is shown next, for its value. END: it is that. */
	CALLTEXT_HAS_VALUE = 8,
	CALLTEXT_OWN = 16,
};

enum calltext_column {
	CALLCOL_TIME,
	CALLCOL_DURATION,
	CALLCOL_TID,
	CALLCOL_PID,
	CALLCOL_TASK,
	CALLCOL_CPU,
	CALLCOL_MODULE,
	CALLCOL_ADDR,
	CALLCOLS
};

/* The name of a class, as lines show it. */
struct shown_name {
	const char *text; /* NULL: not made yet (atomic) */
	const char *module, *where;
	uint32_t len, module_len, where_len;
	uint8_t marks; /* enum filter_mark */
	uint8_t color; /* enum filter_color; 0: none */
	bool plain; /* short, no colour, nothing behind it, no marks */
};

/* Shared by all threads: names are made under the lock and never move. */
struct calltext {
	struct render_env env;
	const struct calltext_options *own;
	struct when when;
	struct value_writer values;
	int columns[CALLCOLS];
	unsigned widths[CALLCOLS];
	size_t ncolumns;
	bool quick; /* the columns are the duration and what depends on the thread only */
	pthread_mutex_t lock;
	struct shown_name *names[CALLTEXT_PAGES]; /* pages, by class (atomic) */
	struct arena arena;
	struct out scratch;
};

/* The state of a renderer: used by one thread at a time. */
struct calltext_pen {
	uint32_t track; /* of which the columns are */
	uint32_t len; /* of the text; 0: none yet, or too long for it */
	char text[CALLTEXT_QUICK];
	struct spur_args args; /* scratch */
};

/* Reads --fields and --time. Requires that `own` outlives it, and calltext_free() in any case. */
enum spur_status calltext_init(struct calltext *c, struct render_env env,
			       const struct calltext_options *own);
void calltext_free(struct calltext *c);
void calltext_header(const struct calltext *c);

bool calltext_make_name(struct calltext *c, uint32_t cls);
/* Returns the name of the class, making it first if needed; NULL if out of memory. */
static inline const struct shown_name *calltext_name(struct calltext *c, uint32_t cls)
{
	struct shown_name *page;

	if (__builtin_expect(cls / CALLTEXT_PAGE >= CALLTEXT_PAGES, 0))
		return NULL;
	page = __atomic_load_n(&c->names[cls / CALLTEXT_PAGE], __ATOMIC_ACQUIRE);
	if (__builtin_expect(
		    !page || !__atomic_load_n(&page[cls % CALLTEXT_PAGE].text, __ATOMIC_ACQUIRE),
		    0)) {
		if (!calltext_make_name(c, cls))
			return NULL;
		page = c->names[cls / CALLTEXT_PAGE];
	}
	return &page[cls % CALLTEXT_PAGE];
}

/* Sets the pen's columns to those of the track. */
void calltext_retrack(const struct calltext *c, struct calltext_pen *pen, uint32_t track);

enum calltext_shape { CALLTEXT_LEAF, CALLTEXT_OPEN, CALLTEXT_CLOSE };

/*
 * Writes the line of a plain call without arguments or remarks in the default columns, as most are,
 * by copies of fixed size that may write past the returned end. Requires a pen of the track with
 * len > 0, depth <= CALLTEXT_DEPTH, c->quick and n->plain.
 */
static inline void calltext_quick(const struct calltext_pen *pen, const struct shown_name *n,
				  enum calltext_shape shape, uint64_t dur, size_t depth,
				  struct out *o)
{
	char *p =
		out_room(o, CELL_TIME + CALLTEXT_QUICK + 2 * CALLTEXT_DEPTH + CALLTEXT_SHORT + 32);

	if (!p)
		return;
	if (shape == CALLTEXT_OPEN)
		memset(p, ' ', CELL_TIME);
	else
		put_time(p, dur);
	memcpy(p + CELL_TIME, pen->text, CALLTEXT_QUICK);
	p += CELL_TIME + pen->len;
	memset(p, ' ', (size_t)2 * CALLTEXT_DEPTH);
	p += 2 * depth;
	if (shape == CALLTEXT_CLOSE) {
		memcpy(p, "} /* ", 5);
		p += 5;
	}
	memcpy(p, n->text, CALLTEXT_SHORT);
	p += n->len;
	if (shape == CALLTEXT_OPEN) {
		memcpy(p, "() {\n", 5);
		p += 5;
	} else {
		memcpy(p, shape == CALLTEXT_LEAF ? "();\n" : " */\n", 4);
		p += 4;
	}
	out_to(o, p);
}

/*
 * Appends the row's line; for a leaf with CALLTEXT_HAS_VALUE all but its end, which the next row
 * appends. `n` is the name that the line shows.
 */
void calltext_begin(const struct calltext *c, struct calltext_pen *pen,
		    const struct shown_row *shown, const struct shown_name *n, struct out *o);
void calltext_end(const struct calltext *c, struct calltext_pen *pen, const struct shown_row *shown,
		  const struct shown_name *n, struct out *o);
void calltext_return(const struct calltext *c, struct calltext_pen *pen,
		     const struct shown_row *shown, const struct shown_name *n, struct out *o);
void calltext_event(const struct calltext *c, struct calltext_pen *pen,
		    const struct shown_row *shown, const struct shown_name *n, struct out *o);

#endif
