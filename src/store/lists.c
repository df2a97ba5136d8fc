/*
 * What a store lists beside its lanes: flow events by flow, losses, and what reading told of
 * damage. The lists are made when all rows are there. See store.h.
 */
#include <stdlib.h>
#include <string.h>

#include "store/grow.h"

/* --- while rows come --- */

bool lists_row(struct store_worker *k, const struct spur_event *row, uint64_t number, size_t depth)
{
	struct worker_lists *l = &k->lists;

	if (row->kind == SPUR_LOST) {
		if (!scratch_reserve((void **)&l->lost, &l->lost_cap, l->nlost + 1,
				     sizeof(*l->lost)))
			return false;
		l->lost[l->nlost++] = (struct store_lost_wire){
			.ts = row->ts, .dur = row->dur, .count = row->id, .track = row->track
		};
		return true;
	}
	if (!scratch_reserve((void **)&l->flows, &l->flows_cap, l->nflows + 1, sizeof(*l->flows)))
		return false;
	l->flows[l->nflows++] = (struct store_flow_wire){ .id = row->id,
							  .ts = row->ts,
							  .number = number,
							  .track = row->track,
							  .depth = (uint32_t)depth,
							  .name = row->cls,
							  .kind = row->kind };
	return true;
}

bool lists_stack(struct store_worker *k, const struct spur_event *row)
{
	struct worker_lists *l = &k->lists;
	struct sample *s = &k->sample;

	if (!sample_read(s, writer_trace(k->writer), row))
		return false;
	if (!s->n)
		return true;
	k->facts |= STORE_STACKS;
	if (!scratch_reserve((void **)&l->stacks, &l->stacks_cap, l->nstacks + 1,
			     sizeof(*l->stacks)) ||
	    !scratch_reserve((void **)&l->frames, &l->frames_cap, l->nframes + s->n,
			     sizeof(*l->frames)))
		return false;
	l->stacks[l->nstacks++] = (struct store_stack_wire){ .ts = row->ts,
							     .self = s->self,
							     .calls = s->calls,
							     .first = l->nframes,
							     .n = (uint32_t)s->n,
							     .track = row->track };
	memcpy(l->frames + l->nframes, s->cls, s->n * sizeof(*s->cls));
	l->nframes += s->n;
	return true;
}

void worker_lists_free(struct worker_lists *l)
{
	scratch_free(l->flows, l->flows_cap * sizeof(*l->flows));
	scratch_free(l->lost, l->lost_cap * sizeof(*l->lost));
	scratch_free(l->stacks, l->stacks_cap * sizeof(*l->stacks));
	scratch_free(l->frames, l->frames_cap * sizeof(*l->frames));
}

void lists_free(struct store_lists *l)
{
	mem_free((void *)(uintptr_t)l->notes);
	*l = (struct store_lists){ 0 };
}

/* --- when all are there --- */

static int flow_order(const void *a, const void *b)
{
	const struct store_flow_wire *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static int lost_order(const void *a, const void *b)
{
	const struct store_lost_wire *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return (x->count > y->count) - (x->count < y->count);
}

static int stack_order(const void *a, const void *b)
{
	const struct store_stack_wire *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* SPEC store/flows: the first class with the name and category of each class. */
static uint32_t *first_names(const struct spur_trace *t, uint32_t n)
{
	uint32_t *first = mem_array((size_t)n + 1, sizeof(*first));
	struct map64 names = { 0 };

	bool good = first;

	for (uint32_t i = 1; good && i < n; i++) {
		const struct event_class *c = trace_class(t, i);
		struct map64_slot *slot = map64_put(&names, (uint64_t)c->name << 32 | c->cat);

		good = slot;
		if (!slot)
			break;
		slot->value = slot->value ? slot->value : i;
		first[i] = (uint32_t)slot->value;
	}
	map64_free(&names);
	if (!good)
		mem_free(first);
	return good ? first : NULL;
}

/* Moves the stacks of a worker to those of the first one. */
static bool stacks_join(struct worker_lists *to, struct worker_lists *from)
{
	if (!from->nstacks)
		return true;
	if (!scratch_reserve((void **)&to->stacks, &to->stacks_cap, to->nstacks + from->nstacks,
			     sizeof(*to->stacks)) ||
	    !scratch_reserve((void **)&to->frames, &to->frames_cap, to->nframes + from->nframes,
			     sizeof(*to->frames)))
		return false;
	for (size_t i = 0; i < from->nstacks; i++) {
		to->stacks[to->nstacks] = from->stacks[i];
		to->stacks[to->nstacks++].first += to->nframes;
	}
	memcpy(to->frames + to->nframes, from->frames, from->nframes * sizeof(*to->frames));
	to->nframes += from->nframes;
	from->nstacks = from->nframes = 0;
	return true;
}

/* Moves the lists of a worker to those of the first one. */
static bool lists_join(struct worker_lists *to, struct worker_lists *from)
{
	if (!scratch_reserve((void **)&to->flows, &to->flows_cap, to->nflows + from->nflows,
			     sizeof(*to->flows)) ||
	    !scratch_reserve((void **)&to->lost, &to->lost_cap, to->nlost + from->nlost,
			     sizeof(*to->lost)))
		return false;
	if (from->nflows)
		memcpy(to->flows + to->nflows, from->flows, from->nflows * sizeof(*to->flows));
	if (from->nlost)
		memcpy(to->lost + to->nlost, from->lost, from->nlost * sizeof(*to->lost));
	to->nflows += from->nflows;
	to->nlost += from->nlost;
	from->nflows = from->nlost = 0;
	return stacks_join(to, from);
}

/* Where a note is, until its time is known: the first item at its offset or behind it. */
struct search {
	struct store_note_wire *note;
	uint32_t stream;
	uint64_t off, found; /* found: offset of that item */
};

/* Looks for the items behind the notes in a block. */
static void block_search(const struct store_node *n, const struct block *b, struct search *searches,
			 size_t count)
{
	for (uint32_t i = 0; i < n->n; i++) {
		const uint64_t off = column_get(&b->cols[STORE_OFF], i);
		const uint32_t stream = (uint32_t)column_get(&b->cols[STORE_STREAM], i);

		for (size_t k = 0; k < count; k++) {
			if (stream != searches[k].stream || off < searches[k].off ||
			    off >= searches[k].found)
				continue;
			searches[k].found = off;
			searches[k].note->ts = (int64_t)((uint64_t)n->start +
							 column_get(&b->cols[STORE_START], i));
			searches[k].note->flags |= STORE_NOTE_TIME;
		}
	}
}

/* SPEC store/note-time */
static void notes_search(const struct store *s, struct search *searches, size_t count)
{
	const uint32_t lanes = store_lane_count(s);
	struct block b;
	uint64_t run;

	for (uint32_t l = 0; l < lanes && count; l++)
		for (uint64_t i = 0; i < store_nodes(s, l, 0); i++) {
			const struct store_node *n = store_run(s, l, 0, i, &run);

			if (store_kind(s, l) == STORE_SPANS && store_block(s, n, &b, STORE_STREAM))
				block_search(n, &b, searches, count);
		}
}

/* The stream of a file's name; SPUR_NONE if it is none. */
static uint32_t stream_of(const struct spur_trace *t, const char *file)
{
	const size_t n = trace_stream_count(t);

	for (size_t i = 0; file && i < n; i++) {
		const char *path = trace_stream(t, (uint32_t)i)->path;
		const size_t a = strlen(path), b = strlen(file);

		/* The streams of one file have its path; messages may have a longer one. */
		if (!strcmp(path, file) ||
		    (b > a && file[b - a - 1] == '/' && !strcmp(file + b - a, path)))
			return (uint32_t)i;
	}
	return SPUR_NONE;
}

static void note_add(struct spur_trace *t, const struct diag_group *g, uint32_t i,
		     struct store_note_wire *note, struct search *search)
{
	*note = (struct store_note_wire){ .code = trace_intern(t, g->code),
					  .file = trace_intern(t, g->file),
					  .text = trace_intern(t, g->kept[i].text),
					  .flags = g->level == DIAG_DAMAGE ? STORE_NOTE_DAMAGE : 0,
					  .off = g->kept[i].off,
					  .count = i ? 0 : g->count };
	*search = (struct search){ .note = note,
				   .stream = note->off == DIAG_NO_OFF ? SPUR_NONE
								      : stream_of(t, g->file),
				   .off = g->kept[i].off,
				   .found = UINT64_MAX };
}

static bool notes_find(struct store_writer *w, struct store_lists *l)
{
	struct spur_trace *t = writer_trace(w);
	const uint32_t groups = diag_groups(&t->joined);
	const size_t most = groups < STORE_NOTES_MOST / DIAG_KEEP ? (size_t)groups * DIAG_KEEP
								  : STORE_NOTES_MOST;
	struct search *searches = mem_array(most + 1, sizeof(*searches));
	struct store_note_wire *notes = mem_array(most + 1, sizeof(*notes));
	size_t n = 0;

	l->notes = notes;
	for (uint32_t k = 0; notes && searches && k < groups; k++) {
		const struct diag_group *g = diag_at(&t->joined, k);

		for (uint32_t i = 0; i < g->nkept && l->nnotes < most; i++) {
			note_add(t, g, i, &notes[l->nnotes++], &searches[n]);
			n += searches[n].stream != SPUR_NONE;
		}
	}
	if (notes && searches)
		notes_search(store_writer_view(w), searches, n);
	mem_free(searches);
	return notes && searches;
}

bool writer_lists(struct store_writer *w, unsigned workers, struct store_lists *l)
{
	struct worker_lists *all = &store_writer_worker(w, 0)->lists;
	const uint32_t n = trace_class_count(writer_trace(w));
	uint32_t *first = first_names(writer_trace(w), n);
	bool good = first;

	for (unsigned i = 1; i < workers && good; i++)
		good = lists_join(all, &store_writer_worker(w, i)->lists);
	for (size_t i = 0; i < all->nflows && good; i++)
		all->flows[i].name = first[all->flows[i].name];
	mem_free(first);
	if (good && all->nflows)
		qsort(all->flows, all->nflows, sizeof(*all->flows), flow_order);
	if (good && all->nlost)
		qsort(all->lost, all->nlost, sizeof(*all->lost), lost_order);
	if (good && all->nstacks)
		qsort(all->stacks, all->nstacks, sizeof(*all->stacks), stack_order);
	l->stacks = all->stacks;
	l->nstacks = all->nstacks;
	l->frames = all->frames;
	l->nframes = all->nframes;
	l->flows = all->flows;
	l->nflows = all->nflows;
	l->lost = all->lost;
	l->nlost = all->nlost;
	return good && notes_find(w, l);
}

/* --- reading --- */

/* The lists of a store; empty while it grows. */
static const struct store_lists *lists_of(const struct store *s)
{
	static const struct store_lists none;

	if (!s->writer)
		return &s->lists;
	return store_facts(s).done ? growing_lists(s->writer) : &none;
}

/* SPEC store/losses */
bool store_lost(const struct store *s, uint64_t i, struct store_lost *out)
{
	const struct store_lists *l = lists_of(s);

	*out = (struct store_lost){ 0 };
	if (i >= l->nlost)
		return false;
	out->ts = l->lost[i].ts;
	out->dur = l->lost[i].dur > 0 ? l->lost[i].dur : 0;
	out->count = l->lost[i].count;
	out->track = l->lost[i].track;
	return true;
}

/* SPEC store/stacks */
bool store_stack(const struct store *s, uint64_t i, struct store_stack *out)
{
	const struct store_lists *l = lists_of(s);
	const struct store_stack_wire *k;

	*out = (struct store_stack){ 0 };
	if (i >= l->nstacks)
		return false;
	k = &l->stacks[i];
	assert(k->n && k->n <= l->nframes && k->first <= l->nframes - k->n);
	*out = (struct store_stack){ .ts = k->ts,
				     .self = k->self,
				     .calls = k->calls,
				     .track = k->track,
				     .labels = l->frames + k->first,
				     .n = k->n };
	return true;
}

uint64_t store_stack_from(const struct store *s, uint32_t track, int64_t ts)
{
	const struct store_lists *l = lists_of(s);
	const struct store_stack_wire want = { .track = track, .ts = ts };
	uint64_t low = 0, high = l->nstacks;

	while (low < high) {
		const uint64_t m = low + (high - low) / 2;

		if (stack_order(&l->stacks[m], &want) < 0)
			low = m + 1;
		else
			high = m;
	}
	return low;
}

bool store_note(const struct store *s, uint64_t i, struct store_note *out)
{
	const struct store_lists *l = lists_of(s);
	const struct store_note_wire *n;

	*out = (struct store_note){ .code = { "", 0 }, .file = { "", 0 }, .text = { "", 0 } };
	if (i >= l->nnotes)
		return false;
	n = &l->notes[i];
	*out = (struct store_note){ .code = store_string(s, n->code),
				    .file = store_string(s, n->file),
				    .text = store_string(s, n->text),
				    .off = n->off,
				    .count = n->count,
				    .is_damage = n->flags & STORE_NOTE_DAMAGE,
				    .timed = n->flags & STORE_NOTE_TIME,
				    .ts = n->ts };
	return true;
}

bool store_has_flows(const struct store *s)
{
	return store_facts(s).done;
}

/* The first label with the name and category of a label. */
static uint32_t first_name(const struct store *s, uint32_t label)
{
	struct store_label of, l;

	if (!store_label(s, label, &of))
		return label;
	for (uint32_t i = 1; i < label; i++)
		if (store_label(s, i, &l) && l.name.len == of.name.len && l.cat.len == of.cat.len &&
		    !memcmp(l.name.p, of.name.p, of.name.len) &&
		    !memcmp(l.cat.p, of.cat.p, of.cat.len))
			return i;
	return label;
}

bool store_flow_step(const struct store *s, uint32_t lane, uint64_t number, bool back,
		     struct store_place *out)
{
	const struct store_lists *l = lists_of(s);
	struct store_flow_wire want = { .number = number };
	const struct store_flow_wire *f;
	uint64_t low = 0, high = l->nflows;
	struct store_lane info;
	struct store_item i;

	*out = (struct store_place){ 0 };
	if (!store_lane(s, lane, &info) || !store_item(s, lane, number, &i))
		return false;
	want.name = first_name(s, i.label);
	want.id = i.id;
	want.ts = i.start;
	want.track = info.track;
	want.depth = info.depth;
	while (low < high) {
		const uint64_t m = low + (high - low) / 2;

		if (flow_order(&l->flows[m], &want) < 0)
			low = m + 1;
		else
			high = m;
	}
	if (low >= l->nflows || flow_order(&l->flows[low], &want) || (back && !low) ||
	    (!back && low + 1 >= l->nflows))
		return false;
	f = &l->flows[back ? low - 1 : low + 1];
	/* A flow that has ended may begin again with the same id. */
	if (f->name != want.name || f->id != want.id ||
	    f->kind == (back ? SPUR_FLOW_END : SPUR_FLOW_BEGIN))
		return false;
	*out = (struct store_place){ .lane = store_lane_at(s, f->track, f->depth),
				     .number = f->number,
				     .start = f->ts };
	return out->lane != SPUR_NONE;
}
