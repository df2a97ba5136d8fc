/* A trace in memory for tests of the flow: feeds hand out given rows in batches of a given size. */
#ifndef SPUR_TESTS_UNIT_FAKE_TRACE_H
#define SPUR_TESTS_UNIT_FAKE_TRACE_H

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/format.h"
#include "model/args.h"

struct fake_feed {
	struct spur_event *rows;
	size_t count, cap, pos;
	size_t batch; /* rows a pull, 0: all that fit */
	bool fails; /* the pull after the rows fails */
};

static enum spur_status fake_next(struct spur_trace *t, struct feed *f, struct batch *b)
{
	struct fake_feed *k = f->state;
	size_t n = k->count - k->pos;

	(void)t;
	n = n < b->cap ? n : b->cap;
	n = k->batch && n > k->batch ? k->batch : n;
	if (!n)
		return k->fails ? SPUR_FAIL : SPUR_END;
	memcpy(b->rows, k->rows + k->pos, n * sizeof(*b->rows));
	k->pos += n;
	b->count = (uint32_t)n;
	return SPUR_OK;
}

/* One argument: the row's id. */
static enum spur_status fake_args(struct spur_trace *t, const struct spur_event *ev,
				  struct spur_args *args)
{
	(void)t;
	args_reset(args);
	args_i64(args, 0, (int64_t)ev->id);
	return SPUR_OK;
}

/* Its programs: libx.so and liby.so. */
static bool fake_has_module(const struct spur_trace *t, struct text word)
{
	(void)t;
	return word.len <= 7 && (memcmp(word.p, "libx.so", word.len) == 0 ||
				 memcmp(word.p, "liby.so", word.len) == 0);
}

static const struct spur_format fake_format = { .name = "fake",
						.next = fake_next,
						.args = fake_args,
						.has_module = fake_has_module };

static inline struct spur_trace *fake_trace_new(void)
{
	struct spur_trace *t = trace_new("fake", NULL);

	if (!t)
		return NULL;
	t->format = &fake_format;
	mem_charge(&t->mem_failures);
	return t;
}

static inline void fake_trace_free(struct spur_trace *t)
{
	static uint64_t of_no_trace;

	mem_charge(&of_no_trace);
	for (size_t i = 0; i < t->nfeeds; i++) {
		struct fake_feed *k = t->feeds[i]->state;

		free(k->rows);
		free(k);
	}
	trace_free(t);
}

/* A feed of a thread with its own track. */
static inline struct fake_feed *fake_feed_add(struct spur_trace *t, int64_t tid, const char *name)
{
	struct spur_track track = {
		.parent = SPUR_NONE, .kind = SPUR_TRACK_THREAD, .pid = 1, .tid = tid, .cpu = -1
	};
	struct fake_feed *k = calloc(1, sizeof(*k));

	track.name = trace_intern(t, name);
	trace_add_feed(t, trace_add_track(t, track), k);
	return k;
}

static inline struct spur_event *fake_row(struct spur_trace *t, uint32_t feed, unsigned kind,
					  int64_t ts)
{
	struct fake_feed *k = t->feeds[feed]->state;
	struct spur_event *e;

	if (k->count == k->cap) {
		k->cap = k->cap ? 2 * k->cap : 64;
		k->rows = realloc(k->rows, k->cap * sizeof(*k->rows));
	}
	e = &k->rows[k->count];
	*e = (struct spur_event){ .ts = ts,
				  .kind = (uint8_t)kind,
				  .track = t->feeds[feed]->track,
				  .stream = feed,
				  .off = k->count,
				  .cpu = SPUR_NO_CPU,
				  .cls = 1 };
	k->count++;
	return e;
}

static inline void fake_rewind(struct spur_trace *t)
{
	t->mem_failures = 0;
	mem_charge(&t->mem_failures);
	t->start_known = false;
	for (size_t i = 0; i < t->nfeeds; i++) {
		((struct fake_feed *)t->feeds[i]->state)->pos = 0;
		t->feeds[i]->nahead = 0;
	}
}

/* A class of that name, made at the first call. */
static inline uint32_t fake_class(struct spur_trace *t, const char *name, uint32_t flags)
{
	uint32_t id = trace_intern(t, name);
	struct event_class c = { .name = id, .simple = id, .raw = id, .flags = flags };

	for (uint32_t i = 1; i < trace_class_count(t); i++)
		if (trace_class(t, i)->name == id)
			return i;
	return trace_add_class(t, &c);
}

/* Small and the same everywhere. */
static inline uint64_t fake_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

#endif
