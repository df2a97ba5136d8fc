/*
 * The merge of streams that grow, and versions of their metadata. See grow.h.
 *
 * Invariant between calls: the heap has every queued stream, the one with the earliest key first. A
 * stream's key is the time of its next row, else its bound; of equal keys rows come before bounds,
 * then the lower place.
 */
#include "format/ctf/live/grow.h"

#include <string.h>

#include "format/ctf/live/connection.h"
#include "format/ctf/origin.h"

enum { GROW_ROWS = 64, STARVE_MS = 3000 };

/* --- the heap --- */

static bool has_row(const struct grow_stream *s)
{
	return s->pos < s->n;
}

static int64_t key_of(const struct grow_stream *s)
{
	return has_row(s) ? s->rows[s->pos].ts : s->bound;
}

static bool comes_before(const struct grow_stream *a, const struct grow_stream *b)
{
	const int64_t x = key_of(a), y = key_of(b);

	if (x != y)
		return x < y;
	if (has_row(a) != has_row(b))
		return has_row(a);
	return a->place < b->place;
}

/* The first stream's key has grown. */
static void heap_sink(struct ctf_grow *g)
{
	struct grow_stream **h = g->heap, *s = h[0];
	size_t i = 0;

	assert(g->queued && s->queued);
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < g->queued && comes_before(h[child + 1], h[child]))
			child++;
		if (child >= g->queued || !comes_before(h[child], s))
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = s;
}

static void heap_pop(struct ctf_grow *g)
{
	assert(g->queued && g->heap[0]->queued);
	g->heap[0]->queued = false;
	g->heap[0] = g->heap[--g->queued];
	if (g->queued)
		heap_sink(g);
}

void grow_wake(struct ctf_grow *g, struct grow_stream *s)
{
	size_t i = g->queued;

	if (s->queued || s->over)
		return;
	assert(g->queued < g->nstreams && g->nstreams <= g->heap_cap);
	s->queued = true;
	g->queued++;
	for (; i && comes_before(s, g->heap[(i - 1) / 2]); i = (i - 1) / 2)
		g->heap[i] = g->heap[(i - 1) / 2];
	g->heap[i] = s;
}

/* Returns the stream that comes next after the first, or NULL. */
static const struct grow_stream *second(const struct ctf_grow *g)
{
	if (g->queued < 2)
		return NULL;
	return g->queued > 2 && comes_before(g->heap[2], g->heap[1]) ? g->heap[2] : g->heap[1];
}

/* Memory was refused since the trace was opened: what looks wrong may be only that. */
static bool grow_short(const struct ctf_grow *g)
{
	return trace_short_of_memory(g->c->t);
}

/* --- streams --- */

struct ctf_grow *grow_new(struct ctf *c, const struct grow_source *source, void *self)
{
	struct ctf_grow *g = mem_alloc(sizeof(*g));

	if (!g)
		return NULL;
	/* Pages that are never touched cost nothing, and nothing ever moves. */
	c->traces = mem_array(CTF_MAX_GROWING, sizeof(*c->traces));
	c->traces_cap = c->traces ? CTF_MAX_GROWING : 0;
	if (!c->traces || !trace_reserve_streams(c->t, CTF_MAX_GROWING) ||
	    !trace_reserve_origins(c->t, CTF_MAX_ORIGINS)) {
		mem_free(g);
		return NULL;
	}
	g->c = c;
	g->source = source;
	g->self = self;
	return g;
}

/* Gives back what makes rows; those that were made may still be asked for their fields. */
static void stream_end(struct grow_stream *s)
{
	if (s->feed)
		ctf_feed_free(s->feed);
	mem_free(s->rows);
	s->feed = NULL;
	s->rows = NULL;
	s->pos = s->n = 0;
	s->over = true;
}

void grow_free(struct ctf_grow *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->nstreams; i++)
		stream_end(g->streams[i]);
	g->source->close(g->self);
	mem_free(g->streams);
	mem_free(g->heap);
	mem_free(g);
}

bool grow_add(struct ctf_grow *g, struct grow_stream *s)
{
	if (!mem_grow((void **)&g->streams, &g->streams_cap, g->nstreams + 1,
		      sizeof(struct grow_stream *), CTF_MAX_FILES) ||
	    !mem_grow((void **)&g->heap, &g->heap_cap, g->nstreams + 1,
		      sizeof(struct grow_stream *), CTF_MAX_FILES))
		return false;
	s->place = (uint32_t)g->nstreams;
	s->bound = INT64_MIN;
	g->streams[g->nstreams++] = s;
	grow_wake(g, s);
	return true;
}

uint32_t grow_file(struct ctf_grow *g, uint32_t version, const char *name, struct source *source)
{
	struct ctf *c = g->c;
	uint32_t index = SPUR_NONE, stream = SPUR_NONE;

	pthread_rwlock_wrlock(&c->lock);
	if (c->nfiles < CTF_MAX_GROWING &&
	    mem_grow((void **)&c->files, &c->files_cap, c->nfiles + 1, sizeof(*c->files),
		     CTF_MAX_GROWING)) {
		pthread_mutex_lock(&c->t->lock);
		stream = trace_add_stream(c->t, name, 0);
		pthread_mutex_unlock(&c->t->lock);
	}
	if (stream != SPUR_NONE) {
		index = (uint32_t)c->nfiles++;
		c->files[index] = (struct ctf_file){ .trace = version,
						     .stream = stream,
						     .source = source,
						     .name = c->t->streams[stream].path };
	}
	pthread_rwlock_unlock(&c->lock);
	return index;
}

bool grow_begin(struct ctf_grow *g, struct grow_stream *s, uint32_t file)
{
	struct ctf *c = g->c;
	bool good;

	s->feed = ctf_feed_new(c, &c->files[file]);
	s->rows = mem_array(GROW_ROWS, sizeof(*s->rows));
	if (!s->feed || !s->rows || !ctf_feed_add_file(s->feed, file))
		return false;
	pthread_mutex_lock(&c->t->lock);
	ctf_stream_origin(c, &c->files[file]);
	good = ctf_feed_track(c, s->feed, &c->files[file]);
	pthread_mutex_unlock(&c->t->lock);
	return good;
}

/* --- versions of metadata --- */

/* The newer trace goes on with threads and classes of the older. */
static void read_maps(struct ctf_trace *to, struct ctf_trace *from)
{
	to->track = from->track;
	to->processes = from->processes;
	to->threads = from->threads;
	to->long_threads = from->long_threads;
	to->ids = from->ids;
	to->kept = from->kept;
	from->processes = from->long_threads = from->ids = from->kept =
		(struct map64){ 0 };
	from->threads = (struct key_index){ 0 };
	from->old = true;
}

static uint32_t class_index(const struct ctf_meta *m, uint64_t id)
{
	for (uint32_t i = 0; i < m->nstreams; i++)
		if (m->streams[i]->id == id)
			return i;
	return SPUR_NONE;
}

/* Moves files and feeds from one version to the next. Returns false if out of memory. */
static bool move_streams(struct ctf_grow *g, uint32_t from, uint32_t to)
{
	struct ctf *c = g->c;
	const struct ctf_meta *old = c->traces[from].meta, *new = c->traces[to].meta;

	for (size_t i = 0; i < c->nfiles; i++) {
		struct ctf_file *f = &c->files[i];
		uint32_t k;

		if (f->trace != from)
			continue;
		k = f->class;
		if (f->npackets || new->generation == CTF_V11)
			k = class_index(new, old->streams[k]->id);
		/* A stream class that is gone leaves its files with the version that has it. */
		if (k == SPUR_NONE)
			continue;
		f->trace = to;
		f->class = k;
	}
	for (size_t i = 0; i < g->nstreams; i++) {
		struct ctf_feed *f = g->streams[i]->feed;
		const struct ctf_file *file = f ? &c->files[f->files[0]] : NULL;

		if (file && file->trace == to && f->trace == &c->traces[from] &&
		    !ctf_feed_renew(f, &c->traces[to], &c->traces[to].classes[file->class]))
			return false;
	}
	return true;
}

/* Under both locks. */
static enum spur_status version_add(struct ctf_grow *g, uint32_t *version, const char *dir,
				    struct ctf_meta *meta, struct spur_error *err)
{
	struct ctf *c = g->c;
	const uint32_t from = *version, to = (uint32_t)c->ntraces;
	struct ctf_trace *tr = &c->traces[to];

	*tr = (struct ctf_trace){ .meta = meta, .grows = true };
	c->ntraces++;
	tr->dir = arena_strdup(&c->t->arena, dir, strlen(dir));
	if (!tr->dir || (from == SPUR_NONE && !ctf_trace_track(c, tr)))
		return err_nomem(err);
	if (ctf_trace_open(c, tr, err) == SPUR_FAIL) {
		tr->old = true;
		return err->code == SPUR_ERR_MEMORY ? SPUR_FAIL : SPUR_WARN;
	}
	*version = to;
	if (from == SPUR_NONE)
		return SPUR_OK;
	read_maps(tr, &c->traces[from]);
	return move_streams(g, from, to) ? SPUR_OK : err_nomem(err);
}

enum spur_status grow_version(struct ctf_grow *g, uint32_t *version, const char *dir,
			      struct ctf_meta *meta, struct spur_error *err)
{
	struct ctf *c = g->c;
	enum spur_status st;

	if (c->ntraces == CTF_MAX_GROWING) {
		meta_free(meta);
		err_set(err, SPUR_ERR_LIMIT,
			"%s: expected at most %d versions of metadata, found more", c->t->path,
			CTF_MAX_GROWING);
		return SPUR_WARN;
	}
	pthread_rwlock_wrlock(&c->lock);
	pthread_mutex_lock(&c->t->lock);
	st = version_add(g, version, dir, meta, err);
	pthread_mutex_unlock(&c->t->lock);
	pthread_rwlock_unlock(&c->lock);
	return grow_short(g) ? err_nomem(err) : st;
}

enum spur_status grow_read(struct ctf_grow *g, struct ctf_meta **out, const char *name,
			   const uint8_t *data, size_t size, bool last_word, struct diag_log *diag,
			   struct spur_error *err)
{
	struct diag_log log;
	enum spur_status st;

	diag_init(&log);
	st = meta_read(out, name, data, size, &log, err);
	if (st != SPUR_FAIL && diag_count(&log, DIAG_DAMAGE) && !last_word) {
		meta_free(*out);
		st = SPUR_FAIL;
		err_set(err, SPUR_ERR_FORMAT,
			"%s: expected whole metadata, found parts cut or damaged", name);
	}
	if (st != SPUR_FAIL && diag)
		diag_merge(diag, &log);
	diag_free(&log);
	if (grow_short(g)) {
		if (st != SPUR_FAIL)
			meta_free(*out);
		return err_nomem(err);
	}
	return st == SPUR_FAIL ? SPUR_WARN : SPUR_OK;
}

/* --- rows --- */

/* The first stream's rows, up to where another's come. */
static void emit_rows(struct ctf_grow *g, struct batch *b)
{
	struct grow_stream *s = g->heap[0];
	const struct grow_stream *next = second(g);

	assert(has_row(s) && b->count < b->cap);
	do {
		b->rows[b->count++] = s->rows[s->pos++];
	} while (b->count < b->cap && has_row(s) && (!next || comes_before(s, next)));
	if (!has_row(s) && b->rows[b->count - 1].ts > s->bound)
		s->bound = b->rows[b->count - 1].ts;
	heap_sink(g);
}

/* Rows of packets that are there. Returns false if out of memory. */
static bool make_rows(struct ctf_grow *g, struct grow_stream *s)
{
	struct batch b = { .rows = s->rows, .cap = GROW_ROWS };

	assert(s == g->heap[0] && !has_row(s));
	if (ctf_feed_rows(s->feed, g->feed, &b) == SPUR_FAIL)
		return false;
	s->pos = 0;
	s->n = b.count;
	heap_sink(g);
	return true;
}

/* Waits, where that can help. Returns false if out of memory. */
static bool wait_more(struct ctf_grow *g)
{
	const enum grow_answer a = g->source->wait(g->self);

	g->over |= a == GROW_OVER;
	return a != GROW_FAIL;
}

/*
 * SPEC ctf-live/late-metadata: metadata may come later than the events that need it. When none
 * comes for long, or none can, what the events are will not be known.
 */
static enum grow_answer stream_ask(struct ctf_grow *g, struct grow_stream *s)
{
	enum grow_answer a;

	if (!s->feed || !s->feed->starved) {
		s->starved_since = 0;
		return g->source->ask(g->self, s);
	}
	if (grow_short(g))
		return GROW_FAIL;
	if (!s->starved_since)
		s->starved_since = wire_now();
	a = g->source->ask(g->self, s);
	if (s->feed->starved && a != GROW_FAIL &&
	    (g->over || a == GROW_OVER || wire_now() - s->starved_since > STARVE_MS)) {
		s->feed->starved = false;
		s->feed->hopeless = true;
	}
	return a == GROW_FAIL || s->feed->starved ? a : GROW_MORE;
}

/*
 * Asks the first stream, whose rows are used up; others may come into the merge meanwhile. Returns
 * false if out of memory.
 */
static bool ask_first(struct ctf_grow *g)
{
	struct grow_stream *s = g->heap[0];
	enum grow_answer a;

	heap_pop(g);
	a = stream_ask(g, s);
	if (a == GROW_OVER || (a == GROW_NOTHING && g->over))
		stream_end(s);
	else if (a == GROW_MORE || (a == GROW_NOTHING && g->source->holds))
		grow_wake(g, s);
	if (a == GROW_NOTHING && g->source->holds && !g->over)
		return wait_more(g);
	return a != GROW_FAIL;
}

static bool is_stopped(const struct ctf_grow *g)
{
	const volatile int *stop = g->c->t->options.stop;

	return stop && *stop;
}

enum spur_status grow_next(struct ctf_grow *g, struct batch *b)
{
	b->count = 0;
	while (b->count < b->cap && !is_stopped(g)) {
		struct grow_stream *s = g->queued ? g->heap[0] : NULL;

		if (s && has_row(s)) {
			emit_rows(g, b);
			continue;
		}
		if (s && s->feed && !make_rows(g, s))
			return SPUR_FAIL;
		if (s && has_row(s))
			continue;
		/* What is there goes out before anything is waited for. */
		if (b->count || (!s && g->over))
			break;
		if (!(s ? ask_first(g) : wait_more(g)))
			return SPUR_FAIL;
	}
	return b->count ? SPUR_OK : SPUR_END;
}
