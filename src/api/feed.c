/*
 * Feeds: a trace's rows in parts that threads read side by side.
 *
 * A feed's handle lives as long as its trace, so that a call on a closed feed can be rejected.
 */
#include "api/feed.h"

#include "api/api.h"
#include "flow/pipe.h"

struct spur_feed {
	struct spur_trace *trace;
	struct feed_reader *reader; /* NULL: closed */
	bool failed; /* out of memory: rows are missing */
};

void feeds_free(struct api_state *s, size_t n)
{
	for (size_t i = 0; s->feeds && i < n; i++) {
		if (!s->feeds[i])
			continue;
		feed_reader_free(s->feeds[i]->reader);
		mem_free(s->feeds[i]);
	}
	mem_free(s->feeds);
	s->feeds = NULL;
}

size_t spur_feed_count(const struct spur_trace *t)
{
	return api_given(NULL, "spur_feed_count", t, "a trace") ? t->nfeeds : 0;
}

bool spur_feed_info(const struct spur_trace *t, size_t number, struct spur_feed_info *out)
{
	static const char call[] = "spur_feed_info";

	if (!api_given(NULL, call, t, "a trace") ||
	    !api_given(t, call, out, "a place for the feed's data"))
		return false;
	*out = (struct spur_feed_info){ 0 };
	if (number >= t->nfeeds)
		return false;
	out->track = t->feeds[number]->track;
	out->stream = t->feeds[number]->stream;
	out->size = t->feeds[number]->size;
	return true;
}

bool spur_tracks_shared(const struct spur_trace *t)
{
	return api_given(NULL, "spur_tracks_shared", t, "a trace") && t->tracks_shared;
}

/* Returns what is expected if the feed cannot be opened, else NULL. Called with s->lock held. */
static const char *refusal(const struct api_state *s, size_t number)
{
	if (s->reading == API_MERGED)
		return "a trace that spur_next() has not read";
	if (s->reading == API_SPANS)
		return "a trace that spur_next_spans() has not read";
	if (s->filter && filter_is_global(s->filter))
		return "a filter that decides rows of each feed alone";
	if (s->feeds && s->feeds[number])
		return "a feed that was not opened before";
	return NULL;
}

/* Called with s->lock held. Returns NULL if out of memory. */
static struct spur_feed *feed_new(struct spur_trace *t, struct api_state *s, size_t number)
{
	struct spur_feed *f;

	if (!s->feeds)
		s->feeds = mem_array(t->nfeeds, sizeof(*s->feeds));
	if (!s->feeds)
		return NULL;
	f = mem_alloc(sizeof(*f));
	if (!f)
		return NULL;
	f->trace = t;
	f->reader = feed_reader_new(t, t->feeds[number], s->filter, BATCH_ROWS);
	if (!f->reader) {
		mem_free(f);
		return NULL;
	}
	s->feeds[number] = f;
	s->reading = API_FEEDS;
	return f;
}

enum spur_status spur_feed_open(struct spur_feed **out, struct spur_trace *t, size_t number,
				struct spur_error *err)
{
	static const char call[] = "spur_feed_open";
	const char *wrong;
	struct api_state *s;
	uint64_t *charged;

	if (out)
		*out = NULL;
	if (!out || !t)
		return api_misuse(t, err, "%s: expected %s, found NULL", call,
				  out ? "a trace" : "a place for the feed");
	if (number >= t->nfeeds)
		return api_misuse(t, err, "%s: expected a feed below %zu, found %zu", call,
				  t->nfeeds, number);
	charged = mem_charge(&t->mem_failures);
	s = api_state(t);
	if (!s) {
		mem_charge(charged);
		return api_no_memory(t, err);
	}
	pthread_mutex_lock(&s->lock);
	wrong = refusal(s, number);
	*out = wrong ? NULL : feed_new(t, s, number);
	pthread_mutex_unlock(&s->lock);
	mem_charge(charged);
	if (wrong)
		return api_misuse(t, err, "%s: feed %zu: expected %s", call, number, wrong);
	return *out ? SPUR_OK : api_no_memory(t, err);
}

enum spur_status spur_feed_next(struct spur_feed *f, const struct spur_event **rows, size_t *count)
{
	static const char call[] = "spur_feed_next";
	const struct spur_trace *t = f ? f->trace : NULL;
	struct spur_event *r = NULL;
	enum spur_status st;
	uint64_t *charged;

	if (!api_given(NULL, call, f, "a feed") || !api_given(t, call, rows, "a place for rows") ||
	    !api_given(t, call, count, "a place for the number of rows"))
		return SPUR_FAIL;
	*rows = NULL;
	*count = 0;
	if (!f->reader)
		return api_misuse(t, NULL, "%s: expected an open feed, found a closed one", call);
	if (f->failed || trace_short_of_memory(t))
		return api_no_memory(t, NULL);
	charged = mem_charge(&f->trace->mem_failures);
	st = feed_reader_next(f->reader, &r, count);
	mem_charge(charged);
	if (st == SPUR_FAIL) {
		f->failed = true;
		*count = 0;
		return api_no_memory(t, NULL);
	}
	*rows = *count ? r : NULL;
	return st;
}

void spur_feed_close(struct spur_feed *f)
{
	if (!f)
		return;
	feed_reader_free(f->reader);
	f->reader = NULL;
}
