#include "tui/tracks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { LEVELS_MOST = 64, DEPTH_MOST = 1 << 24 };

void tracks_free(struct tracks *t)
{
	for (size_t i = 0; i < t->n; i++) {
		mem_free(t->tracks[i].spans.lanes);
		mem_free(t->tracks[i].series.lanes);
	}
	mem_free(t->tracks);
	mem_free(t->order);
	mem_free(t->rows);
	*t = (struct tracks){ 0 };
}

/* --- what the store has --- */

/* Stores a lane at a place of the list. Returns false if out of memory. */
static bool list_put(struct lane_list *l, size_t at, uint32_t lane)
{
	if (!mem_grow((void **)&l->lanes, &l->cap, at + 1, sizeof(*l->lanes), UINT32_MAX))
		return false;
	while (l->n <= at)
		l->lanes[l->n++] = SPUR_NONE;
	l->lanes[at] = lane;
	return true;
}

/* Takes in a lane of a known track. Returns false if out of memory. */
static bool add_lane(struct tracks *t, const struct store_lane *lane, uint32_t id)
{
	struct track *const track = &t->tracks[lane->track];

	if (lane->depth >= DEPTH_MOST)
		return true;
	return lane->kind == STORE_SPANS ? list_put(&track->spans, lane->depth, id)
					 : list_put(&track->series, track->series.n, id);
}

/*
 * Takes in the lanes that the store has by now, up to one of a track that is not known yet. Returns
 * false if out of memory.
 */
static bool read_lanes(struct tracks *t, const struct store *s, const struct store_facts *f)
{
	struct store_lane lane;

	for (; t->lanes < f->lanes; t->lanes++) {
		if (!store_lane(s, t->lanes, &lane) || lane.track >= t->n) {
			if (!f->done)
				return true;
		} else if (!add_lane(t, &lane, t->lanes)) {
			return false;
		}
	}
	return true;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the parent of a track, SPUR_NONE if it is unknown or the track is below itself. */
static uint32_t parent_of(const struct tracks *t, uint32_t track)
{
	uint32_t up = t->tracks[track].parent;

	for (unsigned steps = 0; up < t->n; up = t->tracks[up].parent)
		if (steps++ == LEVELS_MOST || up == track)
			return SPUR_NONE;
	return t->tracks[track].parent < t->n ? t->tracks[track].parent : SPUR_NONE;
}

/* Reads all tracks anew, and hangs each below its parent. Returns false if out of memory. */
static bool read_tracks(struct tracks *t, const struct store *s, uint32_t n)
{
	struct store_track info;
	uint32_t *places;
	size_t count;

	if (!mem_grow((void **)&t->tracks, &t->cap, n, sizeof(*t->tracks), UINT32_MAX) ||
	    !mem_grow((void **)&t->order, &t->order_cap, n, sizeof(*t->order), UINT32_MAX))
		return false;
	places = store_track_places(s, &count);
	if (!places)
		return false;
	t->n = n;
	t->first = SPUR_NONE;
	for (uint32_t i = 0; i < n; i++) {
		const bool known = store_track(s, i, &info);

		t->order[i] = (uint64_t)(i < count ? places[i] : UINT32_MAX) << 32 | i;
		t->tracks[i].first = t->tracks[i].next = SPUR_NONE;
		t->tracks[i].parent = known ? info.parent : SPUR_NONE;
	}
	mem_free(places);
	if (n)
		qsort(t->order, n, sizeof(*t->order), by_number);
	for (uint32_t i = n; i-- > 0;) {
		const uint32_t id = (uint32_t)t->order[i], up = parent_of(t, id);
		uint32_t *const list = up == SPUR_NONE ? &t->first : &t->tracks[up].first;

		t->tracks[id].next = *list;
		*list = id;
	}
	return true;
}

/* --- rows --- */

/* Returns true if the text has `want`; capital letters are the same as small ones. */
static bool has_text(struct store_text t, const char *want)
{
	const size_t len = strlen(want);

	for (size_t i = 0; i + len <= t.len; i++)
		if (!strncasecmp(t.p + i, want, len))
			return true;
	return false;
}

static bool number_is(int64_t n, const char *want)
{
	char text[24];

	if (n < 0)
		return false;
	*put_i64(text, n) = 0;
	return !strcmp(text, want);
}

static bool fits_filter(const struct tracks *t, const struct store *s, uint32_t track)
{
	struct store_track info;

	return !*t->filter || (store_track(s, track, &info) &&
			       (has_text(info.name, t->filter) || has_text(info.trace, t->filter) ||
				number_is(info.pid, t->filter) || number_is(info.tid, t->filter)));
}

/* Marks a track and those that it is in. */
static void mark_up(struct tracks *t, uint32_t track, bool busy)
{
	for (unsigned steps = 0; track < t->n && steps <= LEVELS_MOST; steps++) {
		if (busy)
			t->tracks[track].busy = true;
		else
			t->tracks[track].fits = true;
		track = parent_of(t, track);
	}
}

/* Marks what has something on it, and what passes the filter with all that is above and below. */
static void mark(struct tracks *t, const struct store *s)
{
	for (size_t i = 0; i < t->n; i++)
		t->tracks[i].busy = t->tracks[i].fits = false;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t up = i;

		if (t->tracks[i].spans.n || t->tracks[i].series.n)
			mark_up(t, i, true);
		for (unsigned steps = 0; up != SPUR_NONE && steps <= LEVELS_MOST; steps++) {
			if (fits_filter(t, s, up)) {
				mark_up(t, i, false);
				break;
			}
			up = parent_of(t, up);
		}
	}
}

static bool add_row(struct tracks *t, uint32_t track, uint32_t level)
{
	const struct track *const of = &t->tracks[track];
	const uint64_t lines = of->folded ? 1 : of->spans.n + of->series.n;
	struct track_row *row;

	if (!mem_grow((void **)&t->rows, &t->rows_cap, t->nrows + 1, sizeof(*t->rows), SIZE_MAX))
		return false;
	row = &t->rows[t->nrows++];
	*row = (struct track_row){ .track = track,
				   .level = level,
				   .y = t->height,
				   .height = lines ? lines : 1,
				   .group = of->first != SPUR_NONE };
	t->height += row->height;
	return true;
}

/* Adds the tracks of a tree in their order, depth first. Returns false if out of memory. */
static bool add_tree(struct tracks *t)
{
	uint32_t path[LEVELS_MOST + 2], level = 0;

	path[0] = t->first;
	for (;;) {
		const uint32_t id = path[level];
		const struct track *track;

		if (id >= t->n) {
			if (!level)
				return true;
			level--;
			path[level] = t->tracks[path[level]].next;
			continue;
		}
		track = &t->tracks[id];
		if (!track->hidden && track->fits && track->busy) {
			if (!track->pin && !add_row(t, id, level))
				return false;
			if (!track->folded && level <= LEVELS_MOST) {
				path[++level] = track->first;
				continue;
			}
		}
		path[level] = track->next;
	}
}

/* Adds the pinned tracks in the order in which they were pinned. */
static bool add_pins(struct tracks *t)
{
	for (unsigned pin = 1, left = t->pins; left && pin <= t->pins; pin++)
		for (uint32_t i = 0; i < t->n; i++)
			if (t->tracks[i].pin == pin && !t->tracks[i].hidden && !add_row(t, i, 0))
				return false;
	return true;
}

bool tracks_update(struct tracks *t, const struct store *s, bool anew)
{
	const struct store_facts f = store_facts(s);

	if (f.tracks != t->n) {
		if (!read_tracks(t, s, f.tracks))
			return false;
		anew = true;
	}
	if (f.lanes > t->lanes) {
		if (!read_lanes(t, s, &f))
			return false;
		anew = true;
	}
	if (!anew)
		return true;
	mark(t, s);
	t->nrows = 0;
	t->height = 0;
	return add_pins(t) && add_tree(t);
}

size_t tracks_at(const struct tracks *t, uint64_t y)
{
	size_t low = 0, high = t->nrows;

	while (low < high) {
		const size_t m = low + (high - low) / 2;

		if (t->rows[m].y + t->rows[m].height <= y)
			low = m + 1;
		else
			high = m;
	}
	return low;
}

size_t tracks_row_of(const struct tracks *t, uint32_t track)
{
	for (size_t i = 0; i < t->nrows; i++)
		if (t->rows[i].track == track)
			return i;
	return SIZE_MAX;
}

void tracks_reveal(struct tracks *t, uint32_t track)
{
	if (track >= t->n)
		return;
	t->filter[0] = 0;
	t->tracks[track].folded = false;
	for (unsigned steps = 0; track < t->n && steps <= LEVELS_MOST; steps++) {
		t->tracks[track].hidden = false;
		track = parent_of(t, track);
		if (track < t->n)
			t->tracks[track].folded = false;
	}
}

void tracks_pin(struct tracks *t, uint32_t track)
{
	struct track *const of = &t->tracks[track];
	const unsigned pin = of->pin;

	if (!pin) {
		of->pin = ++t->pins;
		return;
	}
	of->pin = 0;
	t->pins--;
	for (size_t i = 0; i < t->n; i++)
		if (t->tracks[i].pin > pin)
			t->tracks[i].pin--;
}

uint32_t tracks_lane(const struct tracks *t, const struct track_row *row, uint64_t line)
{
	const struct track *const of = &t->tracks[row->track];

	if (line < of->spans.n)
		return of->spans.lanes[line];
	line -= of->spans.n;
	return line < of->series.n ? of->series.lanes[line] : SPUR_NONE;
}

void tracks_name(const struct store *s, uint32_t track, bool below, struct out *o)
{
	static const char *const kinds[] = { [SPUR_TRACK_PROCESS] = "process",
					     [SPUR_TRACK_THREAD] = "thread",
					     [SPUR_TRACK_CPU] = "cpu",
					     [SPUR_TRACK_ASYNC] = "async" };
	struct store_track t;
	const char *kind;
	char number[24];
	int64_t id;

	if (!store_track(s, track, &t))
		return;
	if (t.trace.len && !below) {
		out_bytes(o, t.trace.p, t.trace.len);
		out_str(o, ": ");
	}
	kind = t.kind < sizeof(kinds) / sizeof(*kinds) ? kinds[t.kind] : NULL;
	if (t.name.len)
		out_bytes(o, t.name.p, t.name.len);
	else
		out_str(o, kind ? kind : "track");
	id = t.tid >= 0 ? t.tid : t.kind == SPUR_TRACK_PROCESS ? t.pid : -1;
	*put_i64(number, id) = 0;
	/* Some readers name tracks by their number. */
	if (id >= 0 && !(t.name.len > strlen(number) &&
			 !memcmp(t.name.p + t.name.len - strlen(number), number, strlen(number))))
		out_printf(o, " %s", number);
}
