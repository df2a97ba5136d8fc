/* See ends.h. */
#include "flow/ends.h"

#include <assert.h>

#include "flow/join.h"

enum { PARENTS = 64 };

static bool is_main(const struct ends *e, uint32_t track)
{
	return track / 64 < e->nmains && e->mains[track / 64] >> track % 64 & 1;
}

/* The place of the feed that the track is of, or else of its recording. */
static uint32_t place_of(const struct ends *e, uint32_t track)
{
	if (trace_tracks_end_apart(e->trace))
		return track + 1;
	for (int i = 0; i < PARENTS && !is_main(e, track); i++) {
		const struct spur_track *k = trace_track(e->trace, track);

		if (!k || k->parent == SPUR_NONE)
			break;
		track = k->parent;
	}
	if (is_main(e, track))
		return track + 1;
	return e->trace->tops_apart ? join_recording(e->trace, track) + 1 : 0;
}

void ends_begin(struct ends *e, const struct spur_trace *t)
{
	e->trace = t;
	e->by_feed = false;
	e->last = INT64_MIN;
	e->track = SPUR_NONE;
	map64_free(&e->places);
	map64_free(&e->times);
}

/* Counts the feeds of each recording, by its place. Returns NULL if out of memory. */
static struct map64 *feeds_count(const struct ends *e, struct map64 *feeds)
{
	for (size_t i = 0; i < e->trace->nfeeds; i++) {
		const uint32_t track = e->trace->feeds[i]->track;
		struct map64_slot *slot = NULL;

		if (track != SPUR_NONE)
			slot = map64_put(feeds, place_of(e, track));
		if (slot)
			slot->value++;
		else if (track != SPUR_NONE)
			return NULL;
	}
	return feeds;
}

bool ends_begin_merged(struct ends *e, const struct spur_trace *t)
{
	struct map64 feeds = { 0 };
	uint64_t *mains;
	bool good;

	ends_begin(e, t);
	/* Where feeds share tracks, no analysis reads them alone. */
	if (t->nfeeds < 2 || t->tracks_shared)
		return true;
	assert(!e->mains);
	mains = mem_array(trace_track_count(t) / 64 + 1, sizeof(*mains));
	good = mains && feeds_count(e, &feeds);
	for (size_t i = 0; good && i < t->nfeeds; i++) {
		const uint32_t track = t->feeds[i]->track;

		if (track == SPUR_NONE || map64_find(&feeds, place_of(e, track))->value < 2)
			continue;
		mains[track / 64] |= (uint64_t)1 << track % 64;
		e->by_feed = true;
	}
	e->mains = mains;
	e->nmains = good ? trace_track_count(t) / 64 + 1 : 0;
	map64_free(&feeds);
	return good;
}

void ends_free(struct ends *e)
{
	mem_free(e->mains);
	map64_free(&e->places);
	map64_free(&e->times);
	*e = (struct ends){ 0 };
}

/* Keeps what is known of the latest row's track. Returns false if out of memory. */
static bool track_keep(struct ends *e)
{
	struct map64_slot *slot = map64_put(&e->places, e->track);

	if (!slot)
		return false;
	slot->value = e->place;
	slot = map64_put(&e->times, e->place);
	if (slot)
		slot->value = (uint64_t)e->at_place;
	return slot;
}

/* Rows of another track begin. Returns false if out of memory. */
static bool track_change(struct ends *e, uint32_t track)
{
	const struct map64_slot *known;

	if (e->track != SPUR_NONE && !track_keep(e))
		return false;
	known = map64_find(&e->places, track);
	e->track = track;
	e->place = known ? (uint32_t)known->value : place_of(e, track);
	return true;
}

bool ends_apart(struct ends *e, const struct spur_event *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (rows[i].track != e->track && !track_change(e, rows[i].track))
			return false;
		e->at_place = rows[i].ts;
	}
	return true;
}

int64_t ends_of(const struct ends *e, uint32_t track)
{
	const struct map64_slot *slot = map64_find(&e->places, track);
	const uint32_t place = slot ? (uint32_t)slot->value : e->place;

	if (!slot && (track != e->track || track == SPUR_NONE))
		return e->last;
	if (e->track != SPUR_NONE && place == e->place)
		return e->at_place;
	slot = map64_find(&e->times, place);
	return slot ? (int64_t)slot->value : e->last;
}
