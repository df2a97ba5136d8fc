/* See trace.h. */
#include "store/trace.h"

#include <string.h>

#include "flow/open.h"
#include "format/format.h"
#include "store/replay.h"

/* The tracks and counters of a feed, in a heap by the time of their next rows. */
struct store_feed {
	struct replay *tracks;
	uint32_t *heap;
	size_t n, live;
	struct replay_blocks *blocks;
	uint32_t first_lane, nlanes; /* in the list of the trace */
	bool begun;
};

struct store_state {
	struct store *store;
	uint32_t *tracks; /* of the trace, by that of the store */
	uint32_t *names, *cats; /* string ids, by label */
	uint32_t *lanes; /* by feed, then by track and depth */
	struct store_feed *feeds;
};

bool store_has_calls(const struct store *s)
{
	return !s->writer && !(s->head->facts & (STORE_NOTED | STORE_STACKS | STORE_BACK |
						 STORE_APART | STORE_TRACKS_APART | STORE_GAPS));
}

/* --- rows --- */

static bool row_precedes(const struct store_feed *f, uint32_t a, uint32_t b)
{
	const int64_t x = f->tracks[a].row.ts, y = f->tracks[b].row.ts;

	return x != y ? x < y : a < b;
}

static void heap_down(struct store_feed *f, size_t i)
{
	for (;;) {
		size_t least = i;
		uint32_t top;

		for (size_t j = 2 * i + 1; j <= 2 * i + 2 && j < f->live; j++)
			if (row_precedes(f, f->heap[j], f->heap[least]))
				least = j;
		if (least == i)
			return;
		top = f->heap[i];
		f->heap[i] = f->heap[least];
		f->heap[least] = top;
		i = least;
	}
}

/* Lanes of one track, or a counter, are replayed together. */
static bool same_replay(const struct store *s, uint32_t a, uint32_t b)
{
	return s->lanes[a].kind == STORE_SPANS && s->lanes[b].kind == STORE_SPANS &&
	       s->lanes[a].track == s->lanes[b].track;
}

static bool feed_begin(struct spur_trace *t, struct store_feed *f)
{
	const struct store_state *k = t->state;
	const struct store *s = k->store;
	const uint32_t *lanes = k->lanes + f->first_lane;

	f->begun = true;
	if (!f->nlanes)
		return true;
	for (uint32_t i = 0; i < f->nlanes; i++)
		f->n += !i || !same_replay(s, lanes[i - 1], lanes[i]);
	f->tracks = mem_array(f->n, sizeof(*f->tracks));
	f->heap = mem_array(f->n, sizeof(*f->heap));
	f->blocks = mem_alloc(sizeof(*f->blocks));
	if (!f->tracks || !f->heap || !f->blocks)
		return false;
	f->n = 0;
	for (uint32_t i = 0; i < f->nlanes; i++) {
		struct replay *r;

		if (i && same_replay(s, lanes[i - 1], lanes[i])) {
			f->tracks[f->n - 1].nlanes++;
			continue;
		}
		r = &f->tracks[f->n++];
		*r = (struct replay){ .store = s,
				      .blocks = f->blocks,
				      .first = lanes[i],
				      .nlanes = 1,
				      .track = k->tracks[s->lanes[lanes[i]].track],
				      .names = k->names,
				      .cats = k->cats,
				      .from = t->want_from,
				      .to = t->want_to };
	}
	for (uint32_t i = 0; i < f->n && !store_is_damaged(s); i++) {
		if (replay_next(&f->tracks[i]))
			f->heap[f->live++] = i;
		else if (f->tracks[i].failed)
			return false;
	}
	for (size_t i = f->live / 2; i--;)
		heap_down(f, i);
	return true;
}

static enum spur_status store_next_rows(struct spur_trace *t, struct feed *feed, struct batch *b)
{
	struct store_feed *f = feed->state;

	if (!f->begun && !feed_begin(t, f))
		return SPUR_FAIL;
	while (b->count < b->cap && f->live) {
		struct replay *r = &f->tracks[f->heap[0]];

		b->rows[b->count++] = r->row;
		if (!replay_next(r)) {
			if (r->failed || store_is_damaged(r->store))
				return SPUR_FAIL;
			f->heap[0] = f->heap[--f->live];
		}
		heap_down(f, 0);
	}
	if (store_is_damaged(((const struct store_state *)t->state)->store))
		return SPUR_FAIL;
	return b->count ? SPUR_OK : SPUR_END;
}

/* --- opening --- */

static uint32_t string_of(struct spur_trace *t, const struct store *s, uint32_t id)
{
	const struct store_text text = store_string(s, id);

	return text.len ? trace_intern_n(t, text.p, text.len) : 0;
}

static bool open_classes(struct spur_trace *t, struct store_state *k)
{
	const struct store *s = k->store;

	k->names = mem_array((size_t)s->nlabels + 1, sizeof(*k->names));
	k->cats = mem_array((size_t)s->nlabels + 1, sizeof(*k->cats));
	if (!k->names || !k->cats)
		return false;
	for (uint32_t i = 1; i < s->nlabels; i++) {
		const struct store_label_wire *l = &s->labels[i];
		const struct class_more more = { .library = string_of(t, s, l->library) };
		const struct event_class c = {
			.name = string_of(t, s, l->name),
			.simple = string_of(t, s, l->simple),
			.raw = string_of(t, s, l->raw),
			.cat = string_of(t, s, l->cat),
			.module = string_of(t, s, l->module),
			.file = string_of(t, s, l->file),
			.line = l->line,
			.flags = l->flags,
			.size = l->size,
			.addr = l->addr,
			.more = l->library ? &more : NULL,
		};

		k->names[i] = c.name;
		k->cats[i] = c.cat;
		if (trace_add_class(t, &c) != i)
			return false;
	}
	return true;
}

enum { TRACK_DEPTH = 64 };

/* Returns true if the tracks above a track are there, and end. */
static bool track_is_sane(const struct store *s, uint32_t id)
{
	unsigned depth = 0;

	if (s->tracks[id].kind > SPUR_TRACK_LANE)
		return false;
	for (; s->tracks[id].parent != SPUR_NONE; id = s->tracks[id].parent)
		if (s->tracks[id].parent >= s->ntracks || depth++ == TRACK_DEPTH)
			return false;
	return true;
}

/* Tracks are added in the order in which the trace shows them. */
static bool open_tracks(struct spur_trace *t, struct store_state *k)
{
	const struct store *s = k->store;
	uint32_t *by_order = mem_array((size_t)s->ntracks + 1, sizeof(*by_order));
	bool good;

	k->tracks = mem_array((size_t)s->ntracks + 1, sizeof(*k->tracks));
	good = by_order && k->tracks;
	for (uint32_t i = 0; i < s->ntracks && good; i++) {
		good = s->tracks[i].order < s->ntracks;
		if (good) {
			by_order[s->tracks[i].order] = i;
			k->tracks[i] = s->tracks[i].order;
		}
	}
	for (uint32_t i = 0; i < s->ntracks && good; i++) {
		const struct store_track_wire *w = &s->tracks[by_order[i]];

		good = track_is_sane(s, by_order[i]);
		good = good && trace_add_track(t, (struct spur_track){
							  .parent = w->parent == SPUR_NONE
									    ? SPUR_NONE
									    : k->tracks[w->parent],
							  .name = string_of(t, s, w->name),
							  .kind = (enum spur_track_kind)w->kind,
							  .pid = w->pid,
							  .tid = w->tid,
							  .cpu = w->cpu }) == i;
	}
	mem_free(by_order);
	return good;
}

/* Sorts the lanes by feed. They stay in their order otherwise. */
static bool open_feeds(struct spur_trace *t, struct store_state *k)
{
	const struct store *s = k->store;
	const uint32_t nfeeds = s->head->feeds;
	uint32_t at = 0;

	/* Feeds may be empty, but a store says no more of them than it has bytes. */
	if (nfeeds > INT32_MAX || nfeeds > s->head->size)
		return false;
	k->feeds = mem_array((size_t)nfeeds + 1, sizeof(*k->feeds));
	k->lanes = mem_array((size_t)s->nlanes + 1, sizeof(*k->lanes));
	if (!k->feeds || !k->lanes)
		return false;
	for (uint32_t i = 0; i < s->nlanes; i++) {
		if (s->lanes[i].feed >= nfeeds || s->lanes[i].track >= s->ntracks)
			return false;
		/* States have no rows of their own. */
		if (s->lanes[i].kind == STORE_STATES)
			continue;
		k->feeds[s->lanes[i].feed].nlanes++;
	}
	for (uint32_t i = 0; i < nfeeds; i++) {
		struct feed *f = trace_add_feed(t, SPUR_NONE, &k->feeds[i]);

		if (!f)
			return false;
		k->feeds[i].first_lane = at;
		f->size = k->feeds[i].nlanes;
		at += k->feeds[i].nlanes;
		k->feeds[i].nlanes = 0;
	}
	for (uint32_t i = 0; i < s->nlanes; i++) {
		struct store_feed *f = &k->feeds[s->lanes[i].feed];

		if (s->lanes[i].kind == STORE_STATES)
			continue;
		k->lanes[f->first_lane + f->nlanes++] = i;
	}
	return true;
}

static bool store_last(struct spur_trace *t, int64_t *ts)
{
	const struct store_state *k = t->state;

	*ts = k->store->head->last_row;
	return true;
}

static void store_trace_close(struct spur_trace *t)
{
	struct store_state *k = t->state;

	for (uint32_t i = 0; k->feeds && i < k->store->head->feeds; i++) {
		struct store_feed *f = &k->feeds[i];

		for (size_t j = 0; f->tracks && j < f->n; j++)
			replay_free(&f->tracks[j]);
		mem_free(f->tracks);
		mem_free(f->heap);
		mem_free(f->blocks);
	}
	mem_free(k->feeds);
	mem_free(k->lanes);
	mem_free(k->tracks);
	mem_free(k->names);
	mem_free(k->cats);
	store_close(k->store);
	mem_free(k);
}

static const struct spur_format store_format = {
	.name = "store", .next = store_next_rows, .last = store_last, .close = store_trace_close
};

bool store_trace_is_damaged(const struct spur_trace *t)
{
	const struct store_state *k = t->state;

	return t->format == &store_format && store_is_damaged(k->store);
}

enum spur_status store_trace_open(struct spur_trace **out, struct store *s, const char *path,
				  const struct spur_options *opt, struct spur_error *err)
{
	struct store_state *k = mem_alloc(sizeof(*k));
	struct spur_trace *t = k ? trace_new(path, opt) : NULL;
	uint64_t *charged;
	bool good;

	*out = NULL;
	if (!t) {
		mem_free(k);
		store_close(s);
		return err_nomem(err);
	}
	k->store = s;
	t->format = &store_format;
	t->state = k;
	charged = mem_charge(&t->mem_failures);
	good = open_classes(t, k) && open_tracks(t, k) && open_feeds(t, k);
	mem_charge(charged);
	if (!good) {
		const bool memory = trace_short_of_memory(t);

		trace_close(t);
		return memory ? err_nomem(err)
			      : err_set(err, SPUR_ERR_FORMAT,
					"%s: expected a store, found a damaged one", path);
	}
	t->ntracks_open = t->ntracks;
	t->tracks_shared = s->head->facts & STORE_SHARED;
	t->clock.hz = s->head->hz;
	t->clock.epoch_known = s->head->epoch_known;
	t->clock.epoch_ns = s->head->epoch_ns;
	t->clock.epoch_error_ns = s->head->epoch_error_ns;
	t->default_min_ns = s->head->default_min_ns;
	t->start_known = true;
	t->start = s->head->start;
	*out = t;
	return SPUR_OK;
}
