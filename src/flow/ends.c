/* See ends.h. */
#include "flow/ends.h"

#include <assert.h>

#include "base/map64.h"
#include "flow/join.h"

enum { PARENTS = 64 };

static bool is_main(const struct ends *e, uint32_t track)
{
	return track / 64 < e->nmains && e->mains[track / 64] >> track % 64 & 1;
}

/* The place in `of_top` of the feed that the track is of, or else of its recording. */
static uint32_t place_of(const struct ends *e, uint32_t track)
{
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
	for (size_t i = 0; i < e->ntops; i++)
		e->of_top[i] = INT64_MIN;
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
	mem_table_free(e->of_top, e->ntops, sizeof(*e->of_top));
	mem_table_free(e->tops, e->ntracks, sizeof(*e->tops));
	*e = (struct ends){ 0 };
}

/* Returns the place of the track's recording in `of_top`; NULL if out of memory. */
static int64_t *end_place(struct ends *e, uint32_t track)
{
	const size_t before = e->ntops;
	uint32_t top;

	if (track >= e->ntracks &&
	    !mem_table_grow((void **)&e->tops, &e->ntracks, (size_t)track + 1, sizeof(*e->tops),
			    SIZE_MAX / 16))
		return NULL;
	if (!e->tops[track])
		e->tops[track] = place_of(e, track) + 1;
	top = e->tops[track] - 1;
	if (top >= e->ntops && !mem_table_grow((void **)&e->of_top, &e->ntops, (size_t)top + 1,
					       sizeof(*e->of_top), SIZE_MAX / 16))
		return NULL;
	for (size_t i = before; i < e->ntops; i++)
		e->of_top[i] = INT64_MIN;
	return &e->of_top[top];
}

bool ends_apart(struct ends *e, const struct spur_event *rows, size_t n)
{
	int64_t *at = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!i || rows[i].track != rows[i - 1].track)
			at = end_place(e, rows[i].track);
		if (!at)
			return false;
		*at = rows[i].ts;
	}
	return true;
}

int64_t ends_of(const struct ends *e, uint32_t track)
{
	int64_t last = INT64_MIN;

	if (track < e->ntracks && e->tops[track])
		last = e->of_top[e->tops[track] - 1];
	return last == INT64_MIN ? e->last : last;
}
