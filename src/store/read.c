/* Opening a store and reading single items. See store.h. */
#include "store/store.h"

#include <errno.h>
#include <string.h>

#include "base/os.h"
#include "flow/join.h"
#include "store/parts.h"
#include "store/seal.h"

enum { TRACKS_DEEP = 64 };

/* --- opening --- */

static enum spur_status bad_store(struct spur_error *err, const char *path, const char *what)
{
	return err_set(err, SPUR_ERR_FORMAT, "%s: expected a store, found %s", path, what);
}

/*
 * SPEC store/sections: returns a section's bytes, and in *count how many elements of `size` it has,
 * or NULL if it is damaged.
 */
static const void *section_of(const struct store *s, enum store_section_id id, size_t size,
			      uint64_t *count)
{
	const struct store_section *k = &s->head->sections[id];
	uint32_t sum = 0;

	if (k->at % 8 || k->at > s->size || k->size > s->size - k->at || k->size % size)
		return NULL;
	for (uint64_t i = 0; i < k->size; i += SECTION_PIECE)
		sum = section_sum(sum, s->map + k->at + i,
				  k->size - i < SECTION_PIECE ? k->size - i : SECTION_PIECE);
	*count = k->size / size;
	return sum == k->sum ? s->map + k->at : NULL;
}

/* SPEC store/head */
static const char *head_check(const struct store *s)
{
	const struct store_head *h = s->head;

	if (s->size < STORE_HEAD || memcmp(h->magic, STORE_MAGIC, sizeof(h->magic)) != 0)
		return "another file";
	if (h->order != STORE_ORDER)
		return "one of another byte order";
	if (h->version != STORE_VERSION)
		return "one of another version";
	if (h->sum != store_sum_of(h, offsetof(struct store_head, sum)))
		return "a damaged head";
	if (h->size != s->size || h->blocks > s->size)
		return "a truncated one";
	return NULL;
}

/* SPEC store/lane-sums: checks that the sums of a lane lie within the blocks. */
static bool sums_check(const struct store *s, const struct store_lane_wire *l)
{
	uint64_t at = l->first, count = l->nblocks;

	for (unsigned i = 0; i < STORE_SUMS_LEVEL; i++, count /= STORE_FAN)
		at += count;
	for (uint64_t i = 0; i < count; i++) {
		const struct store_node *n = &s->nodes[at + i];

		if (n->at && (n->at < STORE_HEAD || n->at % 8 || n->at > s->head->blocks ||
			      n->units * 8u > s->head->blocks - n->at ||
			      n->units * 8u % sizeof(struct store_label_sum)))
			return false;
	}
	return true;
}

/*
 * SPEC store/lanes: checks that all blocks of a lane lie within those of the file, and that its
 * items are numbered.
 */
static bool lane_check(const struct store *s, const struct store_lane_wire *l)
{
	uint64_t nodes = 0, items = 0;

	if (l->kind > STORE_STATES || l->nblocks > s->nnodes || l->first > s->nnodes)
		return false;
	for (uint64_t n = l->nblocks; n; n /= STORE_FAN)
		nodes += n;
	if (nodes > s->nnodes - l->first)
		return false;
	for (uint64_t i = 0; i < l->nblocks; i++) {
		const struct store_node *n = &s->nodes[l->first + i];

		if (n->at < STORE_HEAD || n->at % 8 || n->at > s->head->blocks ||
		    n->units * 8u > s->head->blocks - n->at || !n->n || n->n > STORE_BLOCK ||
		    n->number != items)
			return false;
		items += n->n;
	}
	return items == l->items && sums_check(s, l);
}

/* SPEC store/stacks */
static bool stacks_check(const struct store *s)
{
	const struct store_lists *l = &s->lists;

	for (uint64_t i = 0; i < l->nstacks; i++)
		if (l->stacks[i].track >= s->ntracks || !l->stacks[i].n ||
		    l->stacks[i].first > l->nframes ||
		    l->stacks[i].n > l->nframes - l->stacks[i].first)
			return false;
	for (uint64_t i = 0; i < l->nframes; i++)
		if (l->frames[i] >= s->nlabels)
			return false;
	return true;
}

/* SPEC store/strings */
static bool strings_check(const struct store *s, uint64_t texts)
{
	uint64_t at = 0;

	for (uint64_t i = 0; i < s->nstrings; i++) {
		if (s->string_at[i] < at || s->string_at[i] > texts ||
		    (i && (s->string_at[i] == at || s->texts[s->string_at[i] - 1])))
			return false;
		at = s->string_at[i];
	}
	return s->nstrings != 0;
}

static bool sections_check(struct store *s)
{
	uint64_t lanes, labels, tracks, texts;

	s->nodes = section_of(s, STORE_SEC_NODES, sizeof(*s->nodes), &s->nnodes);
	s->lanes = section_of(s, STORE_SEC_LANES, sizeof(*s->lanes), &lanes);
	s->labels = section_of(s, STORE_SEC_LABELS, sizeof(*s->labels), &labels);
	s->tracks = section_of(s, STORE_SEC_TRACKS, sizeof(*s->tracks), &tracks);
	s->string_at = section_of(s, STORE_SEC_STRING_AT, sizeof(*s->string_at), &s->nstrings);
	s->texts = section_of(s, STORE_SEC_TEXTS, 1, &texts);
	s->lists.flows = section_of(s, STORE_SEC_FLOWS, sizeof(*s->lists.flows), &s->lists.nflows);
	s->lists.lost = section_of(s, STORE_SEC_LOST, sizeof(*s->lists.lost), &s->lists.nlost);
	s->lists.notes = section_of(s, STORE_SEC_NOTES, sizeof(*s->lists.notes), &s->lists.nnotes);
	s->lists.stacks =
		section_of(s, STORE_SEC_STACKS, sizeof(*s->lists.stacks), &s->lists.nstacks);
	s->lists.frames =
		section_of(s, STORE_SEC_FRAMES, sizeof(*s->lists.frames), &s->lists.nframes);
	if (!s->nodes || !s->lanes || !s->labels || !s->tracks || !s->string_at || !s->texts ||
	    !s->lists.flows || !s->lists.lost || !s->lists.notes || !s->lists.stacks ||
	    !s->lists.frames || lanes > INT32_MAX || labels > INT32_MAX || tracks > INT32_MAX)
		return false;
	s->nlanes = (uint32_t)lanes;
	s->nlabels = (uint32_t)labels;
	s->ntracks = (uint32_t)tracks;
	for (uint32_t i = 0; i < s->nlanes; i++)
		if (!lane_check(s, &s->lanes[i]))
			return false;
	return stacks_check(s) && strings_check(s, texts);
}

static enum spur_status store_map(struct store *s, int fd, const char *path, struct spur_error *err)
{
	struct stat st;
	int error = 0;

	if (os_fstat(fd, &st) != 0) {
		error = errno;
	} else if (!S_ISREG(st.st_mode) || st.st_size < STORE_HEAD) {
		return bad_store(err, path, "another file");
	} else {
		s->size = (size_t)st.st_size;
		s->map = os_mmap(NULL, s->size, PROT_READ, MAP_SHARED, fd, 0);
		error = s->map == MAP_FAILED ? errno : 0;
		s->map = error ? NULL : s->map;
	}
	return error ? err_set(err, SPUR_ERR_IO, "%s: %s", path, strerror(error)) : SPUR_OK;
}

enum spur_status store_open(struct store **out, const char *path, struct spur_error *err)
{
	/* A pipe that has its name is opened at once, with or without a writer. */
	const int fd = os_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	enum spur_status st;

	*out = NULL;
	if (fd < 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
	st = store_open_file(out, fd, path, err);
	os_close(fd);
	return st;
}

bool store_is_file(const char *path)
{
	char magic[sizeof(((struct store_head *)0)->magic)];
	struct stat st;
	bool is;
	int fd;

	/* A FIFO must not be opened: its writer would find it closed again. */
	if (os_stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	fd = os_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return false;
	is = os_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	     os_pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	     memcmp(magic, STORE_MAGIC, sizeof(magic)) == 0;
	os_close(fd);
	return is;
}

enum spur_status store_open_file(struct store **out, int fd, const char *path,
				 struct spur_error *err)
{
	struct store *s = mem_alloc(sizeof(*s));
	const char *wrong;
	enum spur_status st;

	*out = NULL;
	if (!s)
		return err_nomem(err);
	st = store_map(s, fd, path, err);
	if (st != SPUR_FAIL) {
		s->head = (const struct store_head *)(const void *)s->map;
		wrong = head_check(s);
		if (!wrong && !sections_check(s))
			wrong = "a damaged one";
		if (wrong)
			st = bad_store(err, path, wrong);
	}
	if (st != SPUR_FAIL) {
		s->checked = mem_alloc(s->nnodes / 8 + 1);
		st = s->checked ? SPUR_OK : err_nomem(err);
	}
	if (st == SPUR_FAIL)
		store_close(s);
	else
		*out = s;
	return st;
}

void store_close(struct store *s)
{
	if (!s || s->writer)
		return;
	if (s->map)
		os_munmap((void *)(uintptr_t)s->map, s->size);
	mem_free(s->checked);
	mem_free(s);
}

bool store_is_damaged(const struct store *s)
{
	return __atomic_load_n(&s->damaged, __ATOMIC_RELAXED);
}

void store_set_damaged(const struct store *s)
{
	__atomic_store_n(&((struct store *)(uintptr_t)s)->damaged, 1, __ATOMIC_RELAXED);
}

const char *store_identity(const struct store *s)
{
	uint64_t n;
	const char *p = s->writer ? NULL : section_of(s, STORE_SEC_IDENTITY, 1, &n);

	return p && n && !p[n - 1] ? p : "";
}

/* --- lanes and nodes --- */

uint32_t store_lane_count(const struct store *s)
{
	return s->writer ? growing_lane_count(s->writer) : s->nlanes;
}

enum store_lane_kind store_kind(const struct store *s, uint32_t lane)
{
	return (enum store_lane_kind)(s->writer ? growing_lane(s->writer, lane)->kind
						: s->lanes[lane].kind);
}

uint64_t store_ends_with(const struct store *s, uint32_t lane)
{
	const uint32_t feed = s->writer ? growing_lane(s->writer, lane)->feed : s->lanes[lane].feed;
	uint32_t track = s->writer ? growing_lane(s->writer, lane)->track : s->lanes[lane].track;
	const unsigned facts = store_facts(s).facts;
	struct store_track t;

	if (facts & STORE_TRACKS_APART)
		return (uint64_t)(track + 1) << 32 | feed;
	if (!(facts & STORE_APART))
		return feed;
	for (unsigned i = 0; i < TRACKS_DEEP && store_track(s, track, &t); i++) {
		if (t.parent == SPUR_NONE)
			break;
		track = t.parent;
	}
	return (uint64_t)(track + 1) << 32 | feed;
}

uint64_t store_nodes(const struct store *s, uint32_t lane, unsigned level)
{
	if (level >= NODE_LEVELS)
		return 0;
	if (!s->writer)
		return s->lanes[lane].nblocks >> (4 * level);
	return growing_nodes(growing_lane(s->writer, lane), level);
}

const struct store_node *store_run(const struct store *s, uint32_t lane, unsigned level, uint64_t i,
				   uint64_t *run)
{
	const struct store_lane_wire *l;
	uint64_t first, count;

	if (s->writer)
		return growing_node(growing_lane(s->writer, lane), level, i, run);
	l = &s->lanes[lane];
	first = l->first;
	count = l->nblocks;
	for (unsigned k = 0; k < level; k++, count /= STORE_FAN)
		first += count;
	*run = count - i;
	return &s->nodes[first + i];
}

/* SPEC store/block-sum: returns what is at `at` of a node. */
static const uint8_t *block_bytes(const struct store *s, const struct store_node *node)
{
	const size_t size = node->units * (size_t)8;
	const uint64_t i = s->writer ? 0 : (uint64_t)(node - s->nodes);
	const uint8_t *p;
	uint8_t bits;

	if (s->writer)
		return growing_bytes(s->writer, node->at, size);
	p = s->map + node->at;
	bits = __atomic_load_n(&s->checked[i / 8], __ATOMIC_RELAXED);
	if (bits >> i % 8 & 1)
		return p;
	if (store_sum_of(p, size) != node->sum)
		return NULL;
	__atomic_fetch_or(&s->checked[i / 8], (uint8_t)(1u << i % 8), __ATOMIC_RELAXED);
	return p;
}

bool store_block(const struct store *s, const struct store_node *node, struct block *b,
		 enum store_column last)
{
	const uint8_t *p = block_bytes(s, node);

	if (p && block_read(b, p, node->units * 8u, node->n, last))
		return true;
	store_set_damaged(s);
	return false;
}

const struct store_label_sum *store_node_sums(const struct store *s, const struct store_node *node,
					      uint32_t *n)
{
	const uint8_t *p = node->at ? block_bytes(s, node) : NULL;

	*n = node->units * 8u / sizeof(struct store_label_sum);
	if (node->at && !p)
		store_set_damaged(s);
	return (const struct store_label_sum *)(const void *)p;
}

/* Returns the block that holds an item, NULL if none does. */
static const struct store_node *block_of(const struct store *s, uint32_t lane, uint64_t number)
{
	uint64_t low = 0, high, run;
	const struct store_node *n;

	if (lane >= store_lane_count(s))
		return NULL;
	high = store_nodes(s, lane, 0);
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		n = store_run(s, lane, 0, middle, &run);
		if (n->number + n->n <= number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low >= store_nodes(s, lane, 0))
		return NULL;
	return store_run(s, lane, 0, low, &run);
}

static uint64_t lane_items(const struct store *s, uint32_t lane)
{
	const uint64_t n = store_nodes(s, lane, 0);
	const struct store_node *last;
	uint64_t run;

	if (!n)
		return 0;
	last = store_run(s, lane, 0, n - 1, &run);
	return last->number + last->n;
}

/* The end of all items of a lane. */
static int64_t lane_end(const struct store *s, uint32_t lane)
{
	int64_t end = INT64_MIN;
	uint64_t at = 0, run;

	/* From the highest level down: what each has beyond the nodes of the level above it. */
	for (unsigned level = NODE_LEVELS; level--; at *= STORE_FAN)
		for (const uint64_t n = store_nodes(s, lane, level); at < n; at++) {
			const struct store_node *k = store_run(s, lane, level, at, &run);

			end = k->end > end ? k->end : end;
		}
	return end;
}

bool store_lane(const struct store *s, uint32_t lane, struct store_lane *out)
{
	uint64_t run;

	*out = (struct store_lane){ 0 };
	if (lane >= store_lane_count(s))
		return false;
	if (s->writer) {
		const struct growing_lane *l = growing_lane(s->writer, lane);
		const struct series series = growing_series(l);

		*out = (struct store_lane){ .kind = (enum store_lane_kind)l->kind,
					    .track = l->track,
					    .depth = l->depth,
					    .label = series.label,
					    .arg = series.arg,
					    .id = series.id };
	} else {
		const struct store_lane_wire *l = &s->lanes[lane];

		*out = (struct store_lane){ (enum store_lane_kind)l->kind,
					    l->track,
					    l->depth,
					    l->label,
					    l->arg,
					    l->id,
					    0,
					    0,
					    0 };
	}
	out->items = lane_items(s, lane);
	if (out->items) {
		out->start = store_run(s, lane, 0, 0, &run)->start;
		out->end = lane_end(s, lane);
	}
	return true;
}

uint32_t store_lane_at(const struct store *s, uint32_t track, uint32_t depth)
{
	uint32_t low = 0, high = store_lane_count(s);

	if (s->writer)
		return growing_lane_at(s->writer, track, depth);
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct store_lane_wire *l = &s->lanes[middle];

		if (l->track < track ||
		    (l->track == track && l->kind == STORE_SPANS && l->depth < depth))
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->nlanes && s->lanes[low].track == track &&
			       s->lanes[low].kind == STORE_SPANS && s->lanes[low].depth == depth
		       ? low
		       : SPUR_NONE;
}

/* --- tables --- */

struct store_facts store_facts(const struct store *s)
{
	const struct store_head *h = s->head;

	if (s->writer)
		return growing_facts(s->writer);
	return (struct store_facts){ .done = true,
				     .facts = h->facts,
				     .spans = h->spans,
				     .events = h->events,
				     .rows = h->rows,
				     .start = h->start,
				     .end = h->end,
				     .lanes = s->nlanes,
				     .labels = s->nlabels,
				     .tracks = s->ntracks };
}

struct diag_totals store_told(const struct store *s)
{
	assert(!s->writer);
	return (struct diag_totals){ .damaged = s->head->damaged,
				     .bytes_lost = s->head->bytes_lost,
				     .warnings = s->head->warnings };
}

struct store_text store_string(const struct store *s, uint32_t id)
{
	struct store_text t = { "", 0 };

	if (s->writer) {
		t.p = trace_string(growing_trace(s->writer), id, &t.len);
	} else if (id && id < s->nstrings) {
		t.p = s->texts + s->string_at[id - 1];
		t.len = s->string_at[id] - s->string_at[id - 1] - 1;
	}
	return t;
}

static struct store_label label_of_class(const struct store *s, const struct event_class *c)
{
	return (struct store_label){ .name = store_string(s, c->name),
				     .cat = store_string(s, c->cat),
				     .module = store_string(s, c->module),
				     .file = store_string(s, c->file),
				     .line = c->line,
				     .flags = c->flags,
				     .head = c->head };
}

bool store_label(const struct store *s, uint32_t id, struct store_label *out)
{
	const struct store_label_wire *l;

	*out = (struct store_label){
		.name = { "", 0 }, .cat = { "", 0 }, .module = { "", 0 }, .file = { "", 0 }
	};
	if (!id || id >= (s->writer ? trace_class_count(growing_trace(s->writer)) : s->nlabels))
		return false;
	if (s->writer) {
		*out = label_of_class(s, trace_class(growing_trace(s->writer), id));
		return true;
	}
	l = &s->labels[id];
	*out = (struct store_label){ .name = store_string(s, l->name),
				     .cat = store_string(s, l->cat),
				     .module = store_string(s, l->module),
				     .file = store_string(s, l->file),
				     .line = l->line,
				     .flags = l->flags,
				     .head = l->head };
	return true;
}

bool store_same_trace(const struct store *s, uint32_t a, uint32_t b)
{
	struct store_track x, y;

	/* Each string is stored once. */
	return store_track(s, a, &x) && store_track(s, b, &y) && x.trace.p == y.trace.p;
}

bool store_track(const struct store *s, uint32_t id, struct store_track *out)
{
	*out = (struct store_track){ .name = { "", 0 }, .trace = { "", 0 } };
	if (s->writer) {
		const struct spur_track *t = trace_track(growing_trace(s->writer), id);

		if (!t)
			return false;
		*out = (struct store_track){
			.name = store_string(s, t->name),
			.trace = store_string(s, join_part_name(growing_trace(s->writer), id)),
			.parent = t->parent,
			.kind = t->kind,
			.pid = t->pid,
			.tid = t->tid,
			.cpu = t->cpu
		};
		return true;
	}
	if (id >= s->ntracks)
		return false;
	*out = (struct store_track){ .name = store_string(s, s->tracks[id].name),
				     .trace = store_string(s, s->tracks[id].trace),
				     .parent = s->tracks[id].parent,
				     .kind = (enum spur_track_kind)s->tracks[id].kind,
				     .pid = s->tracks[id].pid,
				     .tid = s->tracks[id].tid,
				     .cpu = s->tracks[id].cpu };
	return true;
}

uint32_t *store_track_places(const struct store *s, size_t *count)
{
	uint32_t *places;

	if (s->writer)
		return trace_track_places(growing_trace(s->writer), count);
	*count = s->ntracks;
	places = mem_array((size_t)s->ntracks + 1, sizeof(*places));
	for (uint32_t i = 0; places && i < s->ntracks; i++)
		places[i] = s->tracks[i].order;
	return places;
}

/* --- items --- */

static int64_t start_of(const struct block *b, const struct store_node *n, uint32_t i)
{
	return (int64_t)((uint64_t)n->start + column_get(&b->cols[STORE_START], i));
}

static int64_t end_of(const struct block *b, const struct store_node *n, uint32_t i)
{
	return time_after(start_of(b, n, i), column_get(&b->cols[STORE_DUR], i));
}

/* Returns the id of an item. Requires that all columns were read. */
static uint64_t block_id(const struct store *s, const struct block *b, uint32_t i)
{
	uint32_t label;

	if (!b->label_ids)
		return column_get(&b->cols[STORE_ID], i);
	label = (uint32_t)column_get(&b->cols[STORE_LABEL], i);
	if (s->writer)
		return trace_class(growing_trace(s->writer), label)->addr;
	return label < s->nlabels ? s->labels[label].addr : 0;
}

bool store_item(const struct store *s, uint32_t lane, uint64_t number, struct store_item *out)
{
	const struct store_node *n = block_of(s, lane, number);
	struct block b;
	uint32_t i, marks;

	*out = (struct store_item){ 0 };
	if (!n || number < n->number || !store_block(s, n, &b, STORE_VALUE))
		return false;
	i = (uint32_t)(number - n->number);
	marks = (uint32_t)column_get(&b.cols[STORE_MARKS], i);
	*out = (struct store_item){
		.start = start_of(&b, n, i),
		.dur = time_between(start_of(&b, n, i), end_of(&b, n, i)),
		.id = block_id(s, &b, i),
		.value = column_get(&b.cols[STORE_VALUE], i),
		.label = (uint32_t)column_get(&b.cols[STORE_LABEL], i),
		.flags = (uint16_t)column_get(&b.cols[STORE_FLAGS], i),
		.cpu = (uint16_t)column_get(&b.cols[STORE_CPU], i),
		.kind = (uint8_t)(marks & KIND_MASK),
		.marks = (uint8_t)(marks >> MARKS_SHIFT),
		.nargs = (uint8_t)column_get(&b.cols[STORE_NARGS], i),
		.end_nargs = (uint8_t)column_get(&b.cols[STORE_END_NARGS], i),
		.ties = (uint32_t)column_get(&b.cols[STORE_TIES], i),
	};
	return true;
}

/* The ids that a row has of its class. */
static void row_names(const struct store *s, struct spur_event *row)
{
	if (s->writer && row->cls) {
		const struct event_class *c = trace_class(growing_trace(s->writer), row->cls);

		row->name = c->name;
		row->cat = c->cat;
	} else if (!s->writer && row->cls < s->nlabels) {
		row->name = s->labels[row->cls].name;
		row->cat = s->labels[row->cls].cat;
	}
}

static uint16_t lane_depth(const struct store *s, uint32_t lane)
{
	const uint32_t depth =
		s->writer ? growing_lane(s->writer, lane)->depth : s->lanes[lane].depth;

	return depth < UINT16_MAX ? (uint16_t)depth : UINT16_MAX;
}

void block_row(const struct store *s, const struct block *b, const struct store_node *n, uint32_t i,
	       struct spur_event *row)
{
	const uint32_t marks = (uint32_t)column_get(&b->cols[STORE_MARKS], i);

	*row = (struct spur_event){
		.ts = start_of(b, n, i),
		.id = block_id(s, b, i),
		.off = column_get(&b->cols[STORE_OFF], i),
		.len = (uint32_t)column_get(&b->cols[STORE_LEN], i),
		.stream = (uint32_t)column_get(&b->cols[STORE_STREAM], i),
		.cls = (uint32_t)column_get(&b->cols[STORE_LABEL], i),
		.kind = (uint8_t)(marks & KIND_MASK),
		.nargs = (uint8_t)column_get(&b->cols[STORE_NARGS], i),
		.flags = (uint16_t)column_get(&b->cols[STORE_FLAGS], i),
		.cpu = (uint16_t)column_get(&b->cols[STORE_CPU], i),
	};
	if (row->kind == SPUR_SPAN)
		row->dur = time_between(row->ts, end_of(b, n, i));
	if (!(marks >> MARKS_SHIFT & STORE_SPAN) && (row->flags & SPUR_F_DEPTH))
		row->depth = (uint16_t)column_get(&b->cols[STORE_END_LEN], i);
}

void block_end_row(const struct store *s, const struct block *b, const struct store_node *n,
		   uint32_t i, struct spur_event *row)
{
	const uint32_t nargs = (uint32_t)column_get(&b->cols[STORE_END_NARGS], i);

	block_row(s, b, n, i, row);
	row->ts = end_of(b, n, i);
	row->dur = 0;
	row->cls += (uint32_t)column_get(&b->cols[STORE_END_LABEL], i);
	row->kind = row->kind == SPUR_SWITCH ? SPUR_SWITCH : SPUR_END_SPAN;
	row->flags = (uint16_t)column_get(&b->cols[STORE_END_FLAGS], i);
	row->nargs = (uint8_t)nargs;
	if (!nargs) {
		row->off = row->id = row->len = 0;
		return;
	}
	row->off += column_get(&b->cols[STORE_END_OFF], i);
	row->id += column_get(&b->cols[STORE_END_ID], i);
	row->len = (uint32_t)column_get(&b->cols[STORE_END_LEN], i);
	row->stream += (uint32_t)column_get(&b->cols[STORE_END_STREAM], i);
}

bool store_row(const struct store *s, uint32_t lane, uint64_t number, bool end,
	       struct spur_event *row)
{
	const struct store_node *n = block_of(s, lane, number);
	struct block b;
	uint32_t i, marks;

	*row = (struct spur_event){ 0 };
	if (!n || number < n->number || store_kind(s, lane) == STORE_STATES ||
	    !store_block(s, n, &b, STORE_VALUE))
		return false;
	i = (uint32_t)(number - n->number);
	marks = (uint32_t)column_get(&b.cols[STORE_MARKS], i) >> MARKS_SHIFT;
	if (end && (!(marks & STORE_SPAN) || (marks & STORE_NO_END)))
		return false;
	if (end)
		block_end_row(s, &b, n, i, row);
	else
		block_row(s, &b, n, i, row);
	if (marks & STORE_SPAN || !(row->flags & SPUR_F_DEPTH))
		row->depth = lane_depth(s, lane);
	row->track = s->writer ? growing_lane(s->writer, lane)->track : s->lanes[lane].track;
	row_names(s, row);
	return true;
}

uint64_t store_block_from(const struct store *s, uint32_t lane, int64_t t, uint64_t blocks)
{
	uint64_t low = 0, high = blocks, run;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (store_run(s, lane, 0, middle, &run)->start < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t store_seek(const struct store *s, uint32_t lane, int64_t t)
{
	uint64_t blocks, at, found, run;
	struct block b;

	if (lane >= store_lane_count(s))
		return 0;
	blocks = store_nodes(s, lane, 0);
	at = store_block_from(s, lane, t, blocks);
	found = at < blocks ? store_run(s, lane, 0, at, &run)->number : lane_items(s, lane);
	/* Items before it may go on at `t`; of those that do not overlap one does at most. */
	while (at--) {
		const struct store_node *n = store_run(s, lane, 0, at, &run);
		uint32_t i = n->n;

		/* What begins and ends at `t` counts: a block that ends there may have it. */
		if (n->end < t && found == n->number + n->n)
			return found;
		if (!store_block(s, n, &b, STORE_DUR))
			return found;
		while (i && (start_of(&b, n, i - 1) >= t || end_of(&b, n, i - 1) > t))
			found = n->number + --i;
		if (i)
			return found;
	}
	return found;
}

/* SPEC store/ties: returns true if a span one level up began before an item. */
static bool is_begun(const struct store_item *up, const struct store_item *item)
{
	return up->marks & STORE_SPAN &&
	       (up->start < item->start || (up->start == item->start && up->ties <= item->ties));
}

uint64_t store_parent(const struct store *s, uint32_t lane, uint64_t number)
{
	struct store_lane l;
	struct store_item item, up;
	uint32_t above;
	uint64_t i;

	if (!store_lane(s, lane, &l) || l.kind != STORE_SPANS || !l.depth ||
	    !store_item(s, lane, number, &item))
		return UINT64_MAX;
	above = store_lane_at(s, l.track, l.depth - 1);
	if (above == SPUR_NONE)
		return UINT64_MAX;
	for (i = store_seek(s, above, item.start); store_item(s, above, i, &up); i++) {
		if (up.start > item.start)
			break;
		if (is_begun(&up, &item) && up.start + up.dur > item.start)
			return i;
	}
	/* An item without duration may stand at the end of its parent. */
	while (i--) {
		if (!store_item(s, above, i, &up) || up.start + up.dur < item.start)
			break;
		if (is_begun(&up, &item))
			return i;
	}
	return UINT64_MAX;
}

int64_t store_self(const struct store *s, uint32_t lane, uint64_t number)
{
	struct store_lane l;
	struct store_item item, child;
	int64_t self, end;
	uint32_t below;

	if (!store_lane(s, lane, &l) || !store_item(s, lane, number, &item) ||
	    !(item.marks & STORE_SPAN))
		return 0;
	self = item.dur;
	end = item.start + item.dur;
	below = store_lane_at(s, l.track, l.depth + 1);
	if (below == SPUR_NONE)
		return self;
	for (uint64_t i = store_seek(s, below, item.start);
	     self > 0 && store_item(s, below, i, &child) && child.start < end; i++)
		if ((child.marks & STORE_SPAN) && child.start >= item.start)
			self -= child.dur < end - child.start ? child.dur : end - child.start;
	return self > 0 ? self : 0;
}
