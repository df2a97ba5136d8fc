/*
 * Spans of a whole trace, in the way of reading that suits it: feed by feed, which saves the merge,
 * or by time where only that has the rows of a track in order.
 */
#include "api/spans.h"

#include "api/api.h"
#include "flow/pipe.h"

struct span_reader {
	struct spur_trace *trace;
	struct spur_pairing *pairing;
	struct merge *merge; /* of rows by time; NULL: feed by feed */
	struct feed_reader *reader; /* of feed `number`; NULL: not open */
	size_t number;
	bool ended;
};

void span_reader_free(struct span_reader *r)
{
	if (!r)
		return;
	feed_reader_free(r->reader);
	spur_pairing_free(r->pairing);
	mem_free(r);
}

static bool needs_merge(const struct spur_trace *t, const struct api_state *s)
{
	return t->tracks_shared || t->options.follow || pipe_is_live(t) ||
	       (s->filter && filter_is_global(s->filter));
}

/* Returns NULL if out of memory. */
static struct span_reader *reader_new(struct spur_trace *t, const struct api_state *s)
{
	struct span_reader *r = mem_alloc(sizeof(*r));

	if (!r)
		return NULL;
	r->trace = t;
	if (spur_pairing_new(&r->pairing, t, NULL) == SPUR_FAIL)
		goto fail;
	if (!needs_merge(t, s))
		return r;
	/* The trace frees it. */
	r->merge = t->merge = merge_new(t, s->filter);
	if (r->merge)
		return r;
fail:
	span_reader_free(r);
	return NULL;
}

/* The next rows, of all feeds or of the current feed. Returns SPUR_END after the last. */
static enum spur_status next_rows(struct span_reader *r, struct api_state *s,
				  struct spur_event **rows, size_t *n)
{
	if (r->merge)
		return merge_next(r->merge, rows, n);
	if (r->number >= r->trace->nfeeds)
		return SPUR_END;
	if (!r->reader)
		r->reader = feed_reader_new(r->trace, r->trace->feeds[r->number], s->filter,
					    BATCH_ROWS);
	return r->reader ? feed_reader_next(r->reader, rows, n) : SPUR_FAIL;
}

/* What is open ends with the rows of the feed, or of all. */
static enum spur_status end_rows(struct span_reader *r, const struct spur_span **spans,
				 size_t *count)
{
	feed_reader_free(r->reader);
	r->reader = NULL;
	r->number++;
	r->ended = r->merge || r->number >= r->trace->nfeeds;
	return spur_pairing_end(r->pairing, spans, count);
}

static enum spur_status next_spans(struct span_reader *r, struct api_state *s,
				   const struct spur_span **spans, size_t *count)
{
	enum spur_status st = SPUR_OK;
	struct spur_event *rows = NULL;
	size_t n = 0;

	while (st == SPUR_OK && !*count && !r->ended) {
		st = next_rows(r, s, &rows, &n);
		if (st == SPUR_OK)
			st = spur_pairing_rows(r->pairing, rows, n, spans, count);
		else if (st == SPUR_END)
			st = end_rows(r, spans, count);
	}
	return st != SPUR_OK || *count ? st : SPUR_END;
}

enum spur_status spur_next_spans(struct spur_trace *t, const struct spur_span **spans,
				 size_t *count)
{
	static const char call[] = "spur_next_spans";
	enum spur_status st = SPUR_FAIL;
	struct api_state *s;
	uint64_t *charged;

	if (!api_given(NULL, call, t, "a trace") ||
	    !api_given(t, call, spans, "a place for spans") ||
	    !api_given(t, call, count, "a place for the number of spans"))
		return SPUR_FAIL;
	*spans = NULL;
	*count = 0;
	charged = mem_charge(&t->mem_failures);
	s = api_state(t);
	if (s && s->reading != API_UNREAD && s->reading != API_SPANS) {
		mem_charge(charged);
		return api_misuse(t, NULL, "%s: expected a trace that is read by this call alone",
				  call);
	}
	if (s && !trace_short_of_memory(t)) {
		s->reading = API_SPANS;
		if (!s->spans)
			s->spans = reader_new(t, s);
		st = s->spans ? next_spans(s->spans, s, spans, count) : SPUR_FAIL;
	}
	if (st == SPUR_FAIL) {
		*spans = NULL;
		*count = 0;
		api_no_memory(t, NULL);
	}
	mem_charge(charged);
	return st;
}
