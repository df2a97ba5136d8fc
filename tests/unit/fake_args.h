/* A trace of fake_trace.h whose rows have arguments of the test's choice. One at a time. */
#ifndef SPUR_TESTS_UNIT_FAKE_ARGS_H
#define SPUR_TESTS_UNIT_FAKE_ARGS_H

#include "unit/pass_run.h"

enum { SAMPLES = 64, SAMPLE_ARGS = 2 };

/* Arguments of the row whose `off` is the index. */
struct sample {
	struct spur_value items[SAMPLE_ARGS];
	size_t n;
};

static struct sample samples[SAMPLES];
static size_t nsamples;

static enum spur_status sample_args(struct spur_trace *t, const struct spur_event *ev,
				    struct spur_args *args)
{
	(void)t;
	args_reset(args);
	for (size_t i = 0; i < samples[ev->off].n; i++) {
		struct spur_value *v = args_add(args);

		if (!v)
			return SPUR_FAIL;
		*v = samples[ev->off].items[i];
	}
	return SPUR_OK;
}

static const struct spur_format sample_format = { .name = "fake",
						  .next = fake_next,
						  .args = sample_args };

static inline struct spur_value sample_value(struct spur_trace *t, const char *name, unsigned type)
{
	return (struct spur_value){ .type = (uint8_t)type, .name = trace_intern(t, name) };
}

/* A row with up to two arguments; those of type SPUR_NULL are none. */
static inline struct spur_event *sample_add(struct spur_trace *t, uint32_t feed, unsigned kind,
					    int64_t ts, const char *name, struct spur_value a,
					    struct spur_value b)
{
	struct spur_event *row = fake_row(t, feed, kind, ts);
	struct sample *s = &samples[nsamples];

	assert_true(nsamples < SAMPLES);
	row->name = trace_intern(t, name);
	row->off = nsamples++;
	s->n = 0;
	if (a.type != SPUR_NULL)
		s->items[s->n++] = a;
	if (b.type != SPUR_NULL)
		s->items[s->n++] = b;
	return row;
}

/* Threads 70 and 71 of process 7 ("game"), 72 of process 8 ("other"): feeds 0, 1, 2. */
static inline struct spur_trace *sample_trace(void)
{
	static const int64_t pids[] = { 7, 7, 8 };
	struct spur_trace *t = fake_trace_new();
	uint32_t process[2];

	nsamples = 0;
	t->format = &sample_format;
	fake_class(t, "sample", CLASS_EVENT);
	for (uint32_t k = 0; k < 2; k++)
		process[k] = trace_add_track(
			t, (struct spur_track){ .parent = SPUR_NONE,
						.kind = SPUR_TRACK_PROCESS,
						.name = trace_intern(t, k ? "other" : "game"),
						.pid = 7 + k,
						.tid = -1,
						.cpu = -1 });
	for (uint32_t k = 0; k < 3; k++)
		trace_add_feed(
			t,
			trace_add_track(t, (struct spur_track){ .parent = process[pids[k] - 7],
								.kind = SPUR_TRACK_THREAD,
								.name = trace_intern(t, "thread"),
								.pid = pids[k],
								.tid = 70 + k,
								.cpu = -1 }),
			calloc(1, sizeof(struct fake_feed)));
	return t;
}

#endif
