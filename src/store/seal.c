/* See seal.h. */
#include "store/seal.h"

#include <stdlib.h>
#include <string.h>

#include "base/map64.h"
#include "flow/join.h"
#include "store/grow.h"

/* A section on its way to the file. */
struct sealer {
	struct store_writer *w;
	struct spur_trace *trace;
	struct store_head head;
	uint64_t at; /* where the next byte goes */
	struct store_section *section;
	uint8_t *buf; /* SECTION_PIECE */
	size_t n;
	bool failed;
	struct map64 strings; /* string id of the trace to that of the store */
	uint64_t *string_ends; /* scratch memory */
	uint64_t nstrings, ends_cap, ids_cap;
	uint64_t text_at;
	uint32_t *string_ids; /* of the trace, by that of the store; scratch memory */
};

uint32_t section_sum(uint32_t sum, const void *p, size_t size)
{
	return (uint32_t)hash_mix(sum ^ (uint64_t)store_sum_of(p, size) << 32, 0xA0761D6478BD642Fu);
}

static void section_flush(struct sealer *s)
{
	if (!s->n)
		return;
	s->section->sum = section_sum(s->section->sum, s->buf, s->n);
	s->failed |= !writer_put(s->w, s->at, s->buf, s->n);
	s->at += s->n;
	s->section->size += s->n;
	s->n = 0;
}

static void section_begin(struct sealer *s, enum store_section_id id)
{
	s->at = align_up(s->at, 64);
	s->section = &s->head.sections[id];
	*s->section = (struct store_section){ .at = s->at };
}

static void section_add(struct sealer *s, const void *p, size_t size)
{
	const uint8_t *from = p;

	while (size) {
		const size_t room = SECTION_PIECE - s->n, n = size < room ? size : room;

		memcpy(s->buf + s->n, from, n);
		s->n += n;
		from += n;
		size -= n;
		if (s->n == SECTION_PIECE)
			section_flush(s);
	}
}

/* Doubles scratch memory of `*cap` elements if it has no room for number `i`. */
static bool scratch_grow(void **p, uint64_t *cap, uint64_t i, size_t size)
{
	const uint64_t next = *cap ? *cap * 2 : 256;
	void *more;

	if (i < *cap)
		return true;
	more = scratch_alloc(next * size);

	if (!more)
		return false;
	if (*p)
		memcpy(more, *p, *cap * size);
	scratch_free(*p, *cap * size);
	*p = more;
	*cap = next;
	return true;
}

/* Returns the store's id of a string of the trace; 0 if that is empty, or out of memory. */
static uint32_t string_id(struct sealer *s, uint32_t id)
{
	struct map64_slot *slot;
	size_t len;

	if (!id)
		return 0;
	slot = map64_put(&s->strings, id);
	if (slot && slot->value)
		return (uint32_t)slot->value;
	if (!slot ||
	    !scratch_grow((void **)&s->string_ends, &s->ends_cap, s->nstrings + 1,
			  sizeof(*s->string_ends)) ||
	    !scratch_grow((void **)&s->string_ids, &s->ids_cap, s->nstrings + 1,
			  sizeof(*s->string_ids))) {
		s->failed = true;
		return 0;
	}
	trace_string(s->trace, id, &len);
	slot->value = ++s->nstrings;
	s->string_ids[s->nstrings] = id;
	s->text_at += len + 1;
	s->string_ends[s->nstrings] = s->text_at;
	return (uint32_t)slot->value;
}

/* --- sections --- */

static int series_order(struct series a, struct series b)
{
	if (a.label != b.label)
		return a.label < b.label ? -1 : 1;
	if (a.id != b.id)
		return a.id < b.id ? -1 : 1;
	return a.arg != b.arg ? (a.arg < b.arg ? -1 : 1) : (a.kind > b.kind) - (a.kind < b.kind);
}

static int lane_order(const void *a, const void *b)
{
	const struct growing_lane *x = *(const struct growing_lane *const *)a;
	const struct growing_lane *y = *(const struct growing_lane *const *)b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if ((x->kind == STORE_SPANS) != (y->kind == STORE_SPANS))
		return x->kind == STORE_SPANS ? -1 : 1;
	if ((x->kind == STORE_STATES) != (y->kind == STORE_STATES))
		return x->kind == STORE_STATES ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return series_order(growing_series(x), growing_series(y));
}

static void add_nodes(struct sealer *s, const struct growing_lane *l)
{
	for (unsigned level = 0; level < NODE_LEVELS; level++) {
		const uint64_t count = growing_nodes(l, level);
		uint64_t run;

		for (uint64_t i = 0; i < count; i += run) {
			const struct store_node *n = growing_node(l, level, i, &run);

			run = run < count - i ? run : count - i;
			section_add(s, n, run * sizeof(*n));
		}
	}
}

static uint64_t nodes_of(const struct growing_lane *l)
{
	uint64_t n = 0;

	for (unsigned level = 0; level < NODE_LEVELS; level++)
		n += growing_nodes(l, level);
	return n;
}

static void seal_lanes(struct sealer *s, const struct growing_lane *const *lanes, uint32_t n)
{
	uint64_t first = 0;
	uint32_t depth = 0;

	section_begin(s, STORE_SEC_NODES);
	for (uint32_t i = 0; i < n; i++)
		add_nodes(s, lanes[i]);
	section_flush(s);
	section_begin(s, STORE_SEC_LANES);
	for (uint32_t i = 0; i < n; i++) {
		const struct growing_lane *l = lanes[i];
		const struct series series = growing_series(l);
		struct store_lane_wire wire = {
			.kind = l->kind,
			.track = l->track,
			.label = series.label,
			.arg = string_id(s, series.arg),
			.feed = l->feed,
			.id = series.id,
			.items = growing_items(l),
			.first = first,
			.nblocks = growing_nodes(l, 0),
		};

		/* Counters of a track are numbered. */
		depth = i && lanes[i - 1]->track == l->track && kind_is_counter(lanes[i - 1]->kind)
				? depth + 1
				: 0;
		wire.depth = kind_is_counter(wire.kind) ? depth : l->depth;
		section_add(s, &wire, sizeof(wire));
		first += nodes_of(l);
	}
	section_flush(s);
}

static bool seal_all_lanes(struct sealer *s)
{
	const uint32_t count = growing_lane_count(s->w);
	const struct growing_lane **lanes =
		scratch_alloc(((size_t)count + 1) * sizeof(struct growing_lane *));
	uint32_t n = 0;

	if (!lanes)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		lanes[n] = growing_lane(s->w, i);
		n += lanes[n]->made != 0;
	}
	qsort(lanes, n, sizeof(*lanes), lane_order);
	seal_lanes(s, lanes, n);
	scratch_free(lanes, ((size_t)count + 1) * sizeof(struct growing_lane *));
	return true;
}

static void seal_labels(struct sealer *s)
{
	const uint32_t n = trace_class_count(s->trace);

	section_begin(s, STORE_SEC_LABELS);
	for (uint32_t i = 0; i < n; i++) {
		const struct event_class *c = i ? trace_class(s->trace, i) : NULL;
		struct store_label_wire wire = { 0 };

		if (c)
			wire = (struct store_label_wire){
				.name = string_id(s, c->name),
				.simple = string_id(s, c->simple),
				.raw = string_id(s, c->raw),
				.cat = string_id(s, c->cat),
				.module = string_id(s, c->module),
				.file = string_id(s, c->file),
				.line = c->line,
				.flags = c->flags,
				.head = c->head,
				.size = c->size,
				.addr = c->addr,
				.library = string_id(s, class_library(c)),
			};
		section_add(s, &wire, sizeof(wire));
	}
	section_flush(s);
}

/* SPEC store/track-traces */
static bool seal_tracks(struct sealer *s)
{
	size_t count;
	uint32_t *const place = trace_track_places(s->trace, &count);

	if (!place)
		return false;
	section_begin(s, STORE_SEC_TRACKS);
	for (uint32_t i = 0; i < count; i++) {
		const struct spur_track *t = trace_track(s->trace, i);
		const struct store_track_wire wire = {
			.parent = t->parent,
			.name = string_id(s, t->name),
			.order = place[i],
			.kind = t->kind,
			.pid = t->pid,
			.tid = t->tid,
			.cpu = t->cpu,
			.trace = string_id(s, join_part_name(s->trace, i)),
		};

		section_add(s, &wire, sizeof(wire));
	}
	section_flush(s);
	mem_free(place);
	return true;
}

/* Before the strings, as notes have some. */
static void seal_lists(struct sealer *s)
{
	const struct store_lists *l = growing_lists(s->w);

	section_begin(s, STORE_SEC_FLOWS);
	section_add(s, l->flows, l->nflows * sizeof(*l->flows));
	section_flush(s);
	section_begin(s, STORE_SEC_LOST);
	section_add(s, l->lost, l->nlost * sizeof(*l->lost));
	section_flush(s);
	section_begin(s, STORE_SEC_STACKS);
	section_add(s, l->stacks, l->nstacks * sizeof(*l->stacks));
	section_flush(s);
	section_begin(s, STORE_SEC_FRAMES);
	section_add(s, l->frames, l->nframes * sizeof(*l->frames));
	section_flush(s);
	section_begin(s, STORE_SEC_NOTES);
	for (uint64_t i = 0; i < l->nnotes; i++) {
		struct store_note_wire n = l->notes[i];

		n.code = string_id(s, n.code);
		n.file = string_id(s, n.file);
		n.text = string_id(s, n.text);
		section_add(s, &n, sizeof(n));
	}
	section_flush(s);
}

static void seal_strings(struct sealer *s)
{
	section_begin(s, STORE_SEC_STRING_AT);
	section_add(s, &(uint64_t){ 0 }, sizeof(uint64_t));
	for (uint64_t i = 1; i <= s->nstrings; i++)
		section_add(s, &s->string_ends[i], sizeof(*s->string_ends));
	section_flush(s);
	section_begin(s, STORE_SEC_TEXTS);
	for (uint64_t i = 1; i <= s->nstrings; i++) {
		size_t len;
		const char *text = trace_string(s->trace, s->string_ids[i], &len);

		section_add(s, text, len);
		section_add(s, "", 1);
	}
	section_flush(s);
}

static void seal_identity(struct sealer *s, const char *identity)
{
	section_begin(s, STORE_SEC_IDENTITY);
	section_add(s, identity, strlen(identity) + 1);
	section_flush(s);
}

static void seal_head(struct sealer *s)
{
	const struct store_facts f = growing_facts(s->w);
	const struct diag_totals told = diag_totals(&s->trace->joined);
	struct store_head *h = &s->head;

	memcpy(h->magic, STORE_MAGIC, sizeof(h->magic));
	h->order = STORE_ORDER;
	h->version = STORE_VERSION;
	h->size = s->at;
	h->spans = f.spans;
	h->events = f.events;
	h->rows = f.rows;
	h->start = f.start;
	h->end = f.end;
	h->facts = f.facts;
	h->feeds = (uint32_t)s->trace->nfeeds;
	h->epoch_known = s->trace->clock.epoch_known;
	h->epoch_ns = s->trace->clock.epoch_ns;
	h->epoch_error_ns = s->trace->clock.epoch_error_ns;
	h->hz = s->trace->clock.hz;
	h->default_min_ns = s->trace->default_min_ns;
	h->last_row = growing_last_row(s->w);
	h->damaged = told.damaged;
	h->bytes_lost = told.bytes_lost;
	h->warnings = told.warnings;
	h->sum = store_sum_of(h, offsetof(struct store_head, sum));
	s->failed |= !writer_put(s->w, 0, h, sizeof(*h));
}

bool store_seal(struct store_writer *w, const char *identity, uint64_t *end)
{
	struct sealer s = { .w = w, .trace = growing_trace(w), .at = *end };
	bool good;

	s.head.blocks = *end;
	s.buf = mem_alloc(SECTION_PIECE);
	good = s.buf && seal_all_lanes(&s);
	if (good) {
		seal_labels(&s);
		good = seal_tracks(&s);
	}
	if (good) {
		seal_lists(&s);
		seal_strings(&s);
		seal_identity(&s, identity);
		seal_head(&s);
	}
	*end = s.at;
	mem_free(s.buf);
	map64_free(&s.strings);
	scratch_free(s.string_ends, s.ends_cap * sizeof(*s.string_ends));
	scratch_free(s.string_ids, s.ids_cap * sizeof(*s.string_ids));
	return good && !s.failed;
}
