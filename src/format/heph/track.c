/* See track.h. */
#include "format/heph/track.h"

#include <stdio.h>

enum {
	MAX_STREAMS = HEPH_TRACKS + 1,
	/* Each gap of a stream has an event that left or split it; see gap_add(). */
	HEPH_STREAM_GAPS = 4 * HEPH_WINDOW,
};

static_assert(HEPH_TRACK_SLOTS == 1 << (64 - 54), "heph_track_get() takes the top bits");

void heph_tracks_init(struct heph_tracks *k, struct spur_trace *t, struct diag_log *diag,
		      const char *file)
{
	*k = (struct heph_tracks){ .trace = t, .diag = diag, .file = file };
}

void heph_tracks_free(struct heph_tracks *k)
{
	for (size_t i = 0; i < k->nstreams; i++) {
		key_index_free(&k->streams[i]->substreams);
		mem_free(k->streams[i]->gaps);
		mem_free(k->streams[i]);
	}
	mem_free(k->streams);
	map64_free(&k->by_id);
}

void heph_tracks_segment(struct heph_tracks *k, uint32_t segment)
{
	memset(k->slots, 0, sizeof(k->slots));
	if (segment > k->newest) {
		k->newest = segment;
		k->first = k->nstreams;
	}
	k->segment = segment;
}

/* "stream 3", "substream 4096", with the segment where there are several. */
static uint32_t track_name(const struct heph_tracks *k, const char *what, uint64_t id)
{
	char name[80];
	int n = snprintf(name, sizeof(name), "%s %llu", what, (unsigned long long)id);

	if (k->segment)
		snprintf(name + n, sizeof(name) - (size_t)n, " (segment %u)", k->segment + 1);
	return trace_intern(k->trace, name);
}

static uint32_t track_new(struct heph_tracks *k, struct spur_track track)
{
	uint32_t id = SPUR_NONE;

	pthread_mutex_lock(&k->trace->lock);
	if (track.name)
		id = trace_add_track(k->trace, track);
	pthread_mutex_unlock(&k->trace->lock);
	k->made++;
	return id;
}

/*
 * SPEC heph/track-limit: beyond HEPH_TRACKS tracks, streams share one, and substreams use their
 * stream's.
 */
static bool is_full(struct heph_tracks *k, const char *what, uint64_t id)
{
	if (k->made < HEPH_TRACKS)
		return false;
	if (k->diag)
		diag_add(k->diag, DIAG_WARN, "heph/too-many-tracks", k->file, DIAG_NO_OFF, 0,
			 "%s %llu: expected at most %d streams and substreams, found more: shown "
			 "on a common track",
			 what, (unsigned long long)id, HEPH_TRACKS);
	return true;
}

/* The last of the streams. */
static struct heph_stream *stream_new(struct heph_tracks *k, uint32_t id, struct spur_track track)
{
	struct heph_stream *s;

	if (!mem_grow((void **)&k->streams, &k->streams_cap, k->nstreams + 1, sizeof(s),
		      MAX_STREAMS))
		return NULL;
	s = mem_alloc(sizeof(*s));
	if (!s)
		return NULL;
	s->id = id;
	s->track = track_new(k, track);
	k->streams[k->nstreams++] = s;
	return s->track == SPUR_NONE ? NULL : s;
}

/* What streams share that have no track of their own. */
static struct heph_stream *stream_common(struct heph_tracks *k)
{
	if (!k->common) {
		k->common = stream_new(
			k, 0,
			(struct spur_track){ .parent = SPUR_NONE,
					     .name = trace_intern(k->trace, "other streams"),
					     .kind = SPUR_TRACK_OTHER,
					     .pid = -1,
					     .tid = -1,
					     .cpu = -1 });
		if (k->common)
			k->common->common = true;
	}
	return k->common;
}

static struct heph_stream *stream_get(struct heph_tracks *k, uint32_t id)
{
	const uint64_t key = (uint64_t)k->segment << 32 | id;
	struct map64_slot *s = map64_find(&k->by_id, key);

	if (s)
		return k->streams[s->value - 1];
	if (is_full(k, "stream", id))
		return stream_common(k);
	s = map64_put(&k->by_id, key);
	/* SPEC heph/stream-track */
	if (!s || !stream_new(k, id,
			      (struct spur_track){ .parent = SPUR_NONE,
						   .name = track_name(k, "stream", id),
						   .kind = SPUR_TRACK_PROCESS,
						   .pid = id,
						   .tid = -1,
						   .cpu = -1 }))
		return NULL;
	s->value = k->nstreams;
	return k->streams[k->nstreams - 1];
}

static uint64_t substream_of(const void *trace, uint32_t track)
{
	return (uint64_t)trace_track(trace, track)->tid;
}

/* SPEC heph/substream-track: substream 0 is the runtime itself */
static uint32_t substream_track(struct heph_tracks *k, struct heph_stream *s, uint64_t id)
{
	uint32_t track;

	if (s->common)
		return s->track;
	track = key_index_find(&s->substreams, id, substream_of, k->trace);
	if (track != KEY_INDEX_NONE)
		return track;
	if (is_full(k, "substream", id))
		return s->track;
	track = track_new(k, (struct spur_track){ .parent = s->track,
						  .name = id ? track_name(k, "substream", id)
							     : trace_intern(k->trace, "runtime"),
						  .kind = SPUR_TRACK_THREAD,
						  .pid = s->id,
						  .tid = (int64_t)id,
						  .cpu = -1 });
	if (track != SPUR_NONE && !key_index_add(&s->substreams, track, substream_of, k->trace))
		return SPUR_NONE;
	return track;
}

const struct heph_slot *heph_track_slow(struct heph_tracks *k, uint32_t id, uint64_t substream,
					struct heph_slot *s)
{
	struct heph_stream *stream = stream_get(k, id);
	const uint32_t track = stream ? substream_track(k, stream, substream) : SPUR_NONE;

	if (track == SPUR_NONE)
		return NULL;
	*s = (struct heph_slot){ .substream = substream,
				 .stream_id = id | HEPH_SLOT_USED,
				 .stream = stream,
				 .track = track };
	return s;
}

/* --- counters --- */

static bool gaps_end(struct heph_tracks *k, struct heph_stream *s, size_t n,
		     const struct heph_losses *l)
{
	for (size_t i = 0; i < n; i++)
		if (!l->lost(l->self, s, &s->gaps[i]))
			return false;
	assert(n <= s->ngaps && s->ngaps <= k->gaps);
	k->gaps -= n;
	s->ngaps -= n;
	if (s->ngaps)
		memmove(s->gaps, s->gaps + n, s->ngaps * sizeof(*s->gaps));
	return true;
}

/*
 * Returns the number of events of the stream so far, not counting those before a restart. Only
 * differences matter, modulo 2^32.
 */
static uint32_t events_so_far(const struct heph_stream *s)
{
	return s->next - s->skipped + s->late;
}

/*
 * A gap is certain when more than HEPH_WINDOW events have come since, however many counters it has.
 * INVARIANT: so a stream has fewer than HEPH_STREAM_GAPS: of the window before the newest gap, and
 * pieces that late events made since.
 */
static bool gap_add(struct heph_tracks *k, struct heph_stream *s, struct heph_gap gap,
		    const struct heph_losses *l)
{
	size_t n = 0;

	s->skipped += gap.count;
	gap.events = events_so_far(s) - 1;
	while (n < s->ngaps && gap.events + 1 - s->gaps[n].events > HEPH_WINDOW)
		n++;
	if (!gaps_end(k, s, n, l))
		return false;
	if (k->gaps >= HEPH_GAPS)
		return l->lost(l->self, s, &gap);
	if (!mem_grow((void **)&s->gaps, &s->gaps_cap, s->ngaps + 1, sizeof(*s->gaps),
		      HEPH_STREAM_GAPS))
		return false;
	assert(gap.count && s->ngaps < HEPH_STREAM_GAPS);
	s->gaps[s->ngaps++] = gap;
	k->gaps++;
	return true;
}

/*
 * Takes the counter out of the gap that has it. Returns false if no gap has it, if the gap is too
 * long ago, or if out of memory (then *ok is false).
 */
static bool gap_fill(struct heph_tracks *k, struct heph_stream *s, uint32_t counter, bool *ok)
{
	for (size_t i = s->ngaps; i-- > 0;) {
		struct heph_gap *g = &s->gaps[i], right = *g;
		const uint32_t at = counter - g->from;

		if (at >= g->count)
			continue;
		if (events_so_far(s) - g->events > HEPH_WINDOW)
			return false;
		s->late++;
		right.from = counter + 1;
		right.count = g->count - at - 1;
		g->count = at;
		if (at && right.count) {
			*ok = mem_grow((void **)&s->gaps, &s->gaps_cap, s->ngaps + 1,
				       sizeof(*s->gaps), HEPH_STREAM_GAPS);
			if (!*ok)
				return false;
			memmove(s->gaps + i + 2, s->gaps + i + 1,
				(s->ngaps - i - 1) * sizeof(*s->gaps));
			s->gaps[i + 1] = right;
			s->ngaps++;
			k->gaps++;
		} else if (right.count) {
			*g = right;
		} else if (!at) {
			memmove(s->gaps + i, s->gaps + i + 1,
				(s->ngaps - i - 1) * sizeof(*s->gaps));
			s->ngaps--;
			k->gaps--;
		}
		return true;
	}
	return false;
}

bool heph_counter_odd(struct heph_tracks *k, struct heph_stream *s, uint32_t counter,
		      struct heph_gap event, const struct heph_losses *l, enum heph_counter *what)
{
	/* SPEC heph/counter-wrap: differences are modulo 2^32 */
	const uint32_t ahead = counter - s->next, behind = s->next - counter;
	const bool begun = s->begun || s->next;
	bool ok = true;

	event.from = s->next;
	event.count = ahead;
	s->begun = true;
	if (ahead < (uint32_t)1 << 31) {
		*what = HEPH_COUNTER_GAP;
		s->next = counter + 1;
		return gap_add(k, s, event, l);
	}
	/* SPEC heph/counter-window: events count, however many counters are missing */
	if (gap_fill(k, s, counter, &ok)) {
		*what = HEPH_COUNTER_LATE;
		return true;
	}
	if (!ok)
		return false;
	/* SPEC heph/counter-restart: the writer's copy of a stream begins at 0 again */
	if (behind <= HEPH_WINDOW && counter && begun) {
		*what = HEPH_COUNTER_AGAIN;
		return true;
	}
	*what = HEPH_COUNTER_RESTART;
	s->next = counter + 1;
	return gaps_end(k, s, s->ngaps, l);
}

bool heph_counters_end(struct heph_tracks *k, const struct heph_losses *l)
{
	for (size_t i = k->first; i < k->nstreams; i++)
		if (!gaps_end(k, k->streams[i], k->streams[i]->ngaps, l))
			return false;
	return true;
}
