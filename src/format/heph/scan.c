/*
 * The first meeting with each packet: epoch, segments, counters, times; and the first pass. See
 * reader.h.
 */
#include "base/search.h"
#include "format/heph/reader.h"

enum {
	EPOCH_LEN = 5,
	EPOCH_BYTES = 8,
	LOSSES_MAX = 1 << 28,
	PASS_STEP = 1 << 20, /* bytes between calls of source_passed() */
	NAMED_BYTES = 64 << 20, /* of names of tracks; at most HEPH_TRACKS are taken */
};

/* Bytes of an option's value. */
static size_t option_len(const struct heph_packet *k)
{
	return k->size - (HEPH_META_HEAD + heph_name_len(k->p, HEPH_META_HEAD));
}

static bool names_epoch(const struct heph_packet *k)
{
	return heph_name_len(k->p, HEPH_META_HEAD) == EPOCH_LEN &&
	       memcmp(k->p + HEPH_META_HEAD, "epoch", EPOCH_LEN) == 0;
}

bool heph_is_epoch(const struct heph_packet *k)
{
	return names_epoch(k) && option_len(k) >= EPOCH_BYTES;
}

uint64_t heph_epoch(const struct heph_packet *k)
{
	return be64(k->p + HEPH_META_HEAD + EPOCH_LEN);
}

const struct heph_segment *heph_segment_at(const struct heph *h, uint64_t off)
{
	size_t i;

	/* The last one that does not begin after `off`; the first one if all do. */
	bisect(i, 1, h->nsegments, h->segments[i].from <= off);
	return &h->segments[i - 1];
}

static int64_t far_time(const struct heph_segment *s, uint64_t v)
{
	const __int128 t = (__int128)v + s->shift;

	return t > INT64_MAX ? INT64_MAX : t < INT64_MIN ? INT64_MIN : (int64_t)t;
}

struct heph_span heph_far_span(const struct heph_segment *s, struct heph_times t)
{
	struct heph_span span = { .ts = far_time(s, t.start), .dur = 0 };

	if (t.end > t.start && __builtin_sub_overflow(far_time(s, t.end), span.ts, &span.dur))
		span.dur = INT64_MAX;
	return span;
}

uint32_t heph_options_track(struct heph *h)
{
	struct spur_trace *t = h->trace;

	if (h->options_track != SPUR_NONE)
		return h->options_track;
	pthread_mutex_lock(&t->lock);
	h->options_track = trace_add_track(t, (struct spur_track){ .parent = SPUR_NONE,
								   .name = h->options.model.cat,
								   .kind = SPUR_TRACK_OTHER,
								   .pid = -1,
								   .tid = -1,
								   .cpu = -1 });
	pthread_mutex_unlock(&t->lock);
	return h->options_track;
}

/* --- losses --- */

/* The struct heph_losses of a pass: a gap that is certain now. */
static bool report_loss(void *self, const struct heph_stream *s, const struct heph_gap *g)
{
	struct heph *h = self;
	const struct heph_item item = { .place = g->off << 2 | HEPH_LOSS,
					.track = s->track,
					.count = g->count };

	/* SPEC heph/counter-loss */
	h->trace->read.discarded += g->count;
	diag_add(&h->feed->diag, DIAG_WARN, "heph/lost-events", h->file, g->off, 0,
		 "stream %u: expected counter %u, found %u: %u events are missing", s->id, g->from,
		 g->from + g->count, g->count);
	if (!h->stored)
		return reorder_add(&h->order, g->ts, 0, &item);
	if (!mem_grow((void **)&h->losses, &h->losses_cap, h->nlosses + 1, sizeof(item),
		      LOSSES_MAX))
		return false;
	h->losses[h->nlosses++] = item;
	return true;
}

static bool meet_counter(struct heph *h, struct heph_stream *s, const struct heph_packet *k,
			 int64_t ts)
{
	const struct heph_losses losses = { .lost = report_loss, .self = h };
	const struct heph_gap event = { .off = heph_off(h, k->p), .ts = ts };
	const uint32_t counter = heph_counter_of(k->p), expected = s->next;
	struct diag_log *d = &h->feed->diag;
	enum heph_counter what;

	if (s->common)
		return true;
	if (!heph_counter_odd(&h->tracks, s, counter, event, &losses, &what))
		return false;
	if (what == HEPH_COUNTER_LATE)
		diag_add(d, DIAG_NOTE, "heph/late-event", h->file, event.off, 0,
			 "stream %u: expected counter %u, found %u, which was missing before",
			 s->id, expected, counter);
	else if (what == HEPH_COUNTER_AGAIN)
		diag_add(d, DIAG_WARN, "heph/repeated-counter", h->file, event.off, 0,
			 "stream %u: expected counter %u, found %u for the second time", s->id,
			 expected, counter);
	else if (what == HEPH_COUNTER_RESTART)
		diag_add(d, DIAG_WARN, "heph/counter-restart", h->file, event.off, 0,
			 "stream %u: expected counter %u, found %u: counting begins anew", s->id,
			 expected, counter);
	return true;
}

/* --- packets --- */

static void note_times(struct heph *h, const struct heph_packet *k, struct heph_times t)
{
	struct diag_log *d = &h->feed->diag;

	if (t.end < t.start)
		diag_add(d, DIAG_WARN, "heph/end-before-start", h->file, heph_off(h, k->p), 0,
			 "event: expected an end at or after %llu, found %llu: shown with duration "
			 "0",
			 (unsigned long long)t.start, (unsigned long long)t.end);
	/* SPEC heph/far-time: what 63 bits do not hold is shown as the last time there is */
	if ((t.start | t.end) >> 63)
		diag_add(d, DIAG_WARN, "heph/far-time", h->file, heph_off(h, k->p), 0,
			 "event: expected times below 2^63, found %llu to %llu",
			 (unsigned long long)t.start, (unsigned long long)t.end);
}

static inline bool meet_event(struct heph *h, const struct heph_packet *k, struct heph_span span,
			      uint32_t *track)
{
	const uint8_t *const p = k->p;
	const struct heph_times t = heph_times(h, p);
	const struct heph_slot *slot =
		heph_track_get(&h->tracks, heph_stream_id(p), heph_substream(h, p));

	if (__builtin_expect(!slot, 0))
		return false;
	*track = slot->track;
	if (__builtin_expect(t.end < t.start || t.start >> 63, 0))
		note_times(h, k, t);
	h->last = span.ts;
	if (__builtin_expect(heph_counter_of(p) != slot->stream->next, 0))
		return meet_counter(h, slot->stream, k, span.ts);
	slot->stream->next++;
	return true;
}

/* Gives a stream or a substream the name that an event tells. Returns false if out of memory. */
static bool meet_name(struct heph *h, const struct heph_packet *k, enum heph_naming what)
{
	const size_t len = heph_name_len(k->p, h->walk.head);
	const struct heph_slot *slot =
		heph_track_get(&h->tracks, heph_stream_id(k->p), heph_substream(h, k->p));
	uint32_t track, name;

	if (!slot)
		return false;
	track = what == HEPH_NAMES_PROCESS ? slot->stream->track : slot->track;
	/* SPEC heph/track-limit: some tracks are shared */
	if (slot->stream->common || (what == HEPH_NAMES_THREAD && track == slot->stream->track) ||
	    h->named == HEPH_TRACKS || h->named_bytes + len > NAMED_BYTES)
		return true;
	name = len ? trace_intern_n(h->trace, (const char *)k->p + h->walk.head, len) : 0;
	if (len && !name)
		return false;
	h->named++;
	h->named_bytes += len;
	pthread_mutex_lock(&h->trace->lock);
	h->trace->tracks[track / TRACE_TRACK_PAGE][track % TRACE_TRACK_PAGE].name = name;
	pthread_mutex_unlock(&h->trace->lock);
	return true;
}

bool heph_meet_event(struct heph *h, const struct heph_packet *k, struct heph_span span,
		     uint32_t *track)
{
	h->trace->read.records++;
	return meet_event(h, k, span, track);
}

/* The list may move while another thread asks for the place of a row. */
static bool segment_add(struct heph *h, struct heph_segment segment)
{
	bool good;

	pthread_mutex_lock(&h->trace->lock);
	good = mem_grow((void **)&h->segments, &h->segments_cap, h->nsegments + 1,
			sizeof(*h->segments), HEPH_SEGMENTS);
	if (good) {
		assert(segment.from > h->segments[h->nsegments - 1].from);
		h->segment = &h->segments[h->nsegments++];
		h->segments[h->nsegments - 1] = segment;
	}
	pthread_mutex_unlock(&h->trace->lock);
	return good;
}

/* SPEC heph/second-epoch: another one begins a segment, as where traces were put together */
static bool segment_new(struct heph *h, const struct heph_packet *k, uint64_t epoch)
{
	const struct heph_losses losses = { .lost = report_loss, .self = h };
	const uint64_t off = heph_off(h, k->p), first = h->segments[0].epoch;
	const bool full = h->nsegments == HEPH_SEGMENTS;

	diag_add(&h->feed->diag, DIAG_WARN, "heph/second-epoch", h->file, off, 0,
		 "epoch: expected %llu as before, found %llu: %s",
		 (unsigned long long)h->segments[h->nsegments - 1].epoch, (unsigned long long)epoch,
		 full ? "there are too many; the last one goes on" : "another segment begins");
	if (full)
		return true;
	if (!heph_counters_end(&h->tracks, &losses) ||
	    !segment_add(h, (struct heph_segment){ .from = off,
						   .epoch = epoch,
						   .shift = (__int128)epoch - (__int128)first }))
		return false;
	heph_tracks_segment(&h->tracks, (uint32_t)h->nsegments - 1);
	return !h->stored || heph_origin_add(h, h->nsegments - 1);
}

bool heph_meet_option(struct heph *h, const struct heph_packet *k)
{
	struct diag_log *d = &h->feed->diag;
	const uint64_t off = heph_off(h, k->p);
	const size_t len = option_len(k);
	uint64_t epoch;

	h->trace->read.records++;
	if (!names_epoch(k)) {
		/* SPEC heph/unknown-option: kept as it is */
		diag_add(d, DIAG_WARN, "heph/unknown-option", h->file, off, 0,
			 "option: expected \"epoch\", found \"%.*s\" with %zu bytes: kept as it is",
			 (int)heph_name_len(k->p, HEPH_META_HEAD) < 60
				 ? heph_name_len(k->p, HEPH_META_HEAD)
				 : 60,
			 (const char *)k->p + HEPH_META_HEAD, len);
		return true;
	}
	if (len < EPOCH_BYTES) {
		diag_add(d, DIAG_DAMAGE, "heph/epoch-length", h->file, off, 0,
			 "epoch: expected %d bytes, found %zu", EPOCH_BYTES, len);
		return true;
	}
	if (len > EPOCH_BYTES)
		diag_add(d, DIAG_WARN, "heph/trailing-bytes", h->file,
			 off + k->size - (len - EPOCH_BYTES), 0,
			 "epoch: expected %d bytes, found %zu more", EPOCH_BYTES,
			 len - EPOCH_BYTES);
	epoch = heph_epoch(k);
	if (h->epoch_seen)
		return epoch == h->segments[h->nsegments - 1].epoch || segment_new(h, k, epoch);
	/* SPEC heph/epoch: it holds for the whole trace, wherever it stands */
	h->epoch_seen = true;
	h->segments[0].epoch = epoch;
	return true;
}

bool heph_meet_end(struct heph *h)
{
	const struct heph_losses losses = { .lost = report_loss, .self = h };
	const struct spur_error *e = h->walk.src->error;

	if (e->code)
		diag_add(&h->feed->diag, DIAG_DAMAGE, "heph/unreadable", h->file,
			 (uint64_t)(h->walk.end - h->walk.base), 0, "%s", e->message);
	return heph_counters_end(&h->tracks, &losses);
}

/* --- the first pass --- */

static bool scan_option(struct heph *h, const struct heph_packet *k)
{
	const struct heph_item item = { .place = heph_off(h, k->p) << 2 | HEPH_OPTION };

	if (!heph_meet_option(h, k))
		return false;
	if (heph_is_epoch(k) && !h->bookkeeping)
		return true;
	if (!heph_is_epoch(k) && heph_options_track(h) == SPUR_NONE)
		return false;
	/* It has no time: its place is after the event before it, and the option before. */
	return reorder_add(&h->order, h->last, ((uint64_t)1 << 63) + h->noptions++, &item);
}

static bool store_late(struct heph *h, const uint8_t *p, struct heph_span span, uint32_t track)
{
	const struct heph_item item = { .place = heph_off(h, p) << 2 | HEPH_EVENT, .track = track };

	return reorder_add(&h->order, span.ts, REORDER_SPAN(span.dur), &item);
}

/* An event that is no row. */
static bool scan_name(struct heph *h, const struct heph_packet *k, enum heph_naming what,
		      struct heph_span span)
{
	const int64_t last = h->last;
	uint32_t track;
	const bool good = meet_event(h, k, span, &track) && meet_name(h, k, what);

	h->last = last;
	return good;
}

static inline bool scan_event(struct heph *h, const struct heph_packet *k)
{
	const struct heph_span span = heph_span(h->segment, heph_times(h, k->p));
	uint32_t track;

	if (__builtin_expect(!span.dur, 0)) {
		const enum heph_naming what = heph_event_naming(h, k->p, k->size);

		if (what && !h->bookkeeping)
			return scan_name(h, k, what, span);
		if (what && !meet_name(h, k, what))
			return false;
	}
	if (__builtin_expect(!meet_event(h, k, span, &track), 0))
		return false;
	h->first = span.ts < h->first ? span.ts : h->first;
	return __builtin_expect(!reorder_late_window(&h->order, span.ts), 1) ||
	       store_late(h, k->p, span, track);
}

bool heph_scan(struct heph *h)
{
	const uint8_t *p = h->walk.at;
	const uint8_t *passed = p;
	struct heph_packet k = { .meta = false };
	uint64_t events = 0;

	for (;;) {
		if (__builtin_expect(p - passed >= PASS_STEP, 0)) {
			source_passed(h->walk.src, heph_off(h, passed), heph_off(h, p));
			passed = p;
		}
		source_ahead(p, 0);
		source_ahead(p, 64);
		k.p = p;
		k.size = heph_event_at(&h->walk, p);
		if (__builtin_expect(!k.size, 0)) {
			h->walk.at = p;
			if (heph_walk_slow(&h->walk, &k) != HEPH_PACKET)
				break;
		}
		p = k.p + k.size;
		if (!(k.meta ? scan_option(h, &k) : scan_event(h, &k)))
			return false;
		events += !k.meta;
		k.meta = false;
	}
	h->trace->read.records += events;
	return heph_meet_end(h) && reorder_sort(&h->order);
}
