/*
 * Rows to lines of text, per feed in parallel; the lines merged by time. For passes whose lines
 * need nothing of other feeds: rows are read, staged and rendered in one go while they are in the
 * cache, by whichever core is free, and only finished text is merged.
 */
#ifndef SPUR_FLOW_LINES_H
#define SPUR_FLOW_LINES_H

#include "base/mem.h"
#include "flow/pipe.h"

/* Lanes: of more than these, a lane keeps between its blocks only what the next one needs. */
enum { LINES_MANY = 1024 };

static inline bool lines_are_many(const struct spur_trace *t)
{
	return t->nfeeds > LINES_MANY;
}

struct line {
	int64_t ts; /* where it stands among other feeds' lines */
	uint32_t end; /* offset behind it in the text */
	uint32_t track;
};

struct lines {
	struct out text;
	struct line *index;
	size_t n, cap;
	size_t parked; /* bytes, text and index among them, in one piece; 0: none */
	struct lines *next; /* of a list */
};

/* Ends a line: the text appended to `text` since the last call. Returns false if out of memory. */
bool lines_grow(struct lines *l);
static inline bool lines_mark(struct lines *l, int64_t ts, uint32_t track)
{
	if (__builtin_expect(l->n == l->cap, 0) && !lines_grow(l))
		return false;
	l->index[l->n++] = (struct line){ .ts = ts, .end = (uint32_t)l->text.len, .track = track };
	return true;
}

struct pipe_lines {
	/*
	 * Makes the state of one feed. Returns NULL if out of memory. `f` is NULL if the feeds must
	 * be read merged.
	 */
	void *(*open)(void *self, const struct feed *f);
	/*
	 * Appends lines; may hold rows back. n == 0: the feed ended. Returns false if out of
	 * memory. Runs on any thread, one at a time.
	 */
	bool (*rows)(void *lane, struct spur_event *rows, size_t n, struct lines *l);
	/*
	 * More lines follow the feed's end: rows() is to be called again with n == 0. NULL: never.
	 */
	bool (*rest)(const void *lane);
	void (*close)(void *lane);
	/* A track's rows may come from several feeds at once (trace.h, tracks_shared) */
	bool any_order;
	bool merged; /* all rows by time, in one lane */
	bool gaps; /* an empty line where the next line is another track's */
	uint64_t limit; /* stop after this many lines (0: none); the options' own is in rows */
};

/* As pipe_run_render(). Lines of equal time stand in the order of the feeds. */
enum spur_status pipe_run_lines(struct spur_trace *t, const struct pipe_options *opt,
				const struct pipe_lines *p, void *self, struct out *o);

#endif
