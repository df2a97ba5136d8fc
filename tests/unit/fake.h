/* A trace made by hand: tests write rows, passes and flow read them as from any format. */
#ifndef TESTS_UNIT_FAKE_H
#define TESTS_UNIT_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/format.h"
#include "model/args.h"
#include "model/trace.h"

/*
 * Rows of one feed. `argument`: what fake_args() gives for rows with nargs: one u64 named "x", the
 * row's id.
 */
struct fake_feed {
	const struct spur_event *rows;
	size_t n, at;
	uint32_t batch; /* rows a pull at most; 0: as many as fit */
};

static enum spur_status fake_next(struct spur_trace *t, struct feed *f, struct batch *b)
{
	struct fake_feed *s = f->state;
	size_t n = s->n - s->at;

	n = n > b->cap ? b->cap : n;
	n = s->batch && n > s->batch ? s->batch : n;
	if (!n)
		return SPUR_END;
	memcpy(b->rows, s->rows + s->at, n * sizeof(*b->rows));
	s->at += n;
	b->count = (uint32_t)n;
	read_count(&t->read.records, n);
	return SPUR_OK;
}

static enum spur_status fake_args(struct spur_trace *t, const struct spur_event *ev,
				  struct spur_args *args)
{
	args_reset(args);
	if (ev->nargs)
		args_u64(args, trace_intern(t, "x"), ev->id, SPUR_SHOW_PLAIN);
	return SPUR_OK;
}

/* The stacks of SAMPLE rows: `off` says which, from 1. */
static struct {
	const uint32_t *cls;
	size_t n;
} fake_stacks[8];

static size_t fake_stack(struct spur_trace *t, const struct spur_event *ev, uint32_t *cls,
			 size_t cap)
{
	const size_t i = ev->off - 1;

	(void)t;
	if (i >= 8)
		return 0;
	for (size_t k = 0; k < fake_stacks[i].n && k < cap; k++)
		cls[k] = fake_stacks[i].cls[k];
	return fake_stacks[i].n;
}

static void fake_close(struct spur_trace *t)
{
	(void)t;
}

static const struct spur_format fake_format = {
	.name = "fake",
	.title = "rows made by hand",
	.reads = "tests",
	.next = fake_next,
	.args = fake_args,
	.stack = fake_stack,
	.close = fake_close,
};

static inline struct spur_trace *fake_trace(void)
{
	struct spur_trace *t = trace_new("fake", NULL);

	assert_non_null(t);
	t->format = &fake_format;
	return t;
}

static inline uint32_t fake_track(struct spur_trace *t, const char *name, int64_t pid, int64_t tid)
{
	struct spur_track k = { .parent = SPUR_NONE,
				.name = trace_intern(t, name),
				.kind = SPUR_TRACK_THREAD,
				.pid = pid,
				.tid = tid,
				.cpu = -1 };

	return trace_add_track(t, k);
}

static inline uint32_t fake_class(struct spur_trace *t, const char *name, const char *module)
{
	uint32_t id = trace_intern(t, name);
	struct event_class c = { .name = id,
				 .simple = id,
				 .raw = id,
				 .module = trace_intern(t, module),
				 .flags = CLASS_FUNCTION,
				 .size = 16 };

	return trace_add_class(t, &c);
}

/* Adds a feed over the rows; fills in their names. `f` must outlive the trace. */
static inline void fake_feed(struct spur_trace *t, struct fake_feed *f, struct spur_event *rows,
			     size_t n)
{
	for (size_t i = 0; i < n; i++) {
		rows[i].name = trace_class(t, rows[i].cls)->name;
		rows[i].cpu = SPUR_NO_CPU;
	}
	*f = (struct fake_feed){ .rows = rows, .n = n };
	assert_non_null(trace_add_feed(t, rows ? rows[0].track : 0, f));
}

/* Lets all feeds be read once more. */
static inline void fake_rewind(struct spur_trace *t)
{
	for (size_t i = 0; i < t->nfeeds; i++)
		((struct fake_feed *)t->feeds[i]->state)->at = 0;
}

/* Rows in short: kind, ts, class, track. D: with recorded depth. */
#define FAKE_B(t_, c_, k_)                                                 \
	{                                                                  \
		.kind = SPUR_BEGIN, .ts = (t_), .cls = (c_), .track = (k_) \
	}
#define FAKE_E(t_, c_, k_)                                                    \
	{                                                                     \
		.kind = SPUR_END_SPAN, .ts = (t_), .cls = (c_), .track = (k_) \
	}
#define FAKE_BD(t_, c_, k_, d_)                                                            \
	{                                                                                  \
		.kind = SPUR_BEGIN, .ts = (t_), .cls = (c_), .track = (k_), .depth = (d_), \
		.flags = SPUR_F_DEPTH                                                      \
	}
#define FAKE_ED(t_, c_, k_, d_)                                                               \
	{                                                                                     \
		.kind = SPUR_END_SPAN, .ts = (t_), .cls = (c_), .track = (k_), .depth = (d_), \
		.flags = SPUR_F_DEPTH                                                         \
	}
#define FAKE_SPAN(t_, d_, c_, k_)                                                      \
	{                                                                              \
		.kind = SPUR_SPAN, .ts = (t_), .dur = (d_), .cls = (c_), .track = (k_) \
	}
#define FAKE_OUT(t_, c_, k_)                                                                     \
	{                                                                                        \
		.kind = SPUR_SWITCH, .ts = (t_), .cls = (c_), .track = (k_), .flags = SPUR_F_OUT \
	}
#define FAKE_IN(t_, c_, k_)                                                                     \
	{                                                                                       \
		.kind = SPUR_SWITCH, .ts = (t_), .cls = (c_), .track = (k_), .flags = SPUR_F_IN \
	}

/* An END of whatever is innermost. */
#define FAKE_ANY(t_, c_, k_)                                                                       \
	{                                                                                          \
		.kind = SPUR_END_SPAN, .ts = (t_), .cls = (c_), .track = (k_), .flags = SPUR_F_ANY \
	}
/* `self_` ns in the leaf of stack `stack_`, in `calls_` calls. */
#define FAKE_SAMPLE(t_, c_, k_, self_, calls_, stack_)                                       \
	{                                                                                    \
		.kind = SPUR_SAMPLE, .ts = (t_), .cls = (c_), .track = (k_), .dur = (self_), \
		.id = (calls_), .off = (stack_)                                              \
	}

#endif
