/* Streams, tracks, feeds, classes and strings of one trace. */
#include "model/trace.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/source.h"

enum { MAX_LIST = 1 << 28 };

static bool copy_string(struct arena *a, const char **s)
{
	if (*s)
		*s = arena_strdup(a, *s, strlen(*s));
	return *s != NULL;
}

/* Copies a NULL-terminated list of strings. Returns false if out of memory. */
static bool copy_list(struct arena *a, const char *const **list)
{
	const char **copy;
	size_t n = 0;

	if (!*list)
		return true;
	while ((*list)[n])
		n++;
	copy = arena_alloc(a, (n + 1) * sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = (*list)[i];
		if (!copy_string(a, &copy[i]))
			return false;
	}
	*list = copy;
	return copy != NULL;
}

static bool copy_offsets(struct arena *a, struct spur_options *o)
{
	struct spur_offset *copy;

	if (!o->noffsets)
		return true;
	copy = o->noffsets <= MAX_LIST ? arena_alloc(a, o->noffsets * sizeof(*copy)) : NULL;
	if (copy)
		memcpy(copy, o->offsets, o->noffsets * sizeof(*copy));
	o->offsets = copy;
	return copy != NULL;
}

/* Copies the options and what they point at. Returns false if out of memory. */
static bool copy_options(struct spur_trace *t, const struct spur_options *opt)
{
	struct spur_options *o = &t->options;

	*o = *opt;
	o->size = sizeof(*o);
	return (!o->format || copy_string(&t->arena, &o->format)) &&
	       (!o->symbol_dirs || copy_string(&t->arena, &o->symbol_dirs)) &&
	       (!o->key_file || copy_string(&t->arena, &o->key_file)) &&
	       copy_list(&t->arena, &o->binaries) && copy_list(&t->arena, &o->align) &&
	       copy_offsets(&t->arena, o);
}

struct spur_trace *trace_new(const char *path, const struct spur_options *opt)
{
	struct spur_trace *t = mem_alloc(sizeof(*t));
	bool copied;

	if (!t)
		return NULL;
	arena_init(&t->arena);
	arena_init_scratch(&t->parked);
	diag_init(&t->diag);
	diag_init(&t->joined);
	pthread_mutex_init(&t->lock, NULL);
	t->options.size = sizeof(t->options);
	copied = !opt || copy_options(t, opt);
	diag_suppress(&t->diag, t->options.stop);
	t->strings = intern_new();
	t->path = arena_strdup(&t->arena, path, strlen(path));
	t->nclasses = 1;
	t->want_from = INT64_MIN;
	t->want_to = INT64_MAX;
	t->byte_order = "";
	t->version = "";
	t->clock.name = "unknown";
	t->clock.derived = "";
	if (copied && t->strings && t->path)
		return t;
	trace_free(t);
	return NULL;
}

void trace_free(struct spur_trace *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < TRACE_CLASS_PAGES && t->classes[i]; i++)
		mem_free(t->classes[i]);
	for (size_t i = 0; i < t->nfeeds; i++)
		diag_free(&t->feeds[i]->diag);
	mem_table_free(t->feeds, t->feeds_cap, sizeof(struct feed *));
	mem_free(t->origins);
	mem_table_free(t->streams, t->streams_cap, sizeof(*t->streams));
	mem_free(t->info);
	if (!t->strings_shared)
		intern_free(t->strings);
	key_index_free(&t->class_heads);
	diag_free(&t->diag);
	diag_free(&t->joined);
	pthread_mutex_destroy(&t->lock);
	arena_free(&t->arena);
	arena_free(&t->parked);
	mem_free(t);
}

void trace_share_strings(struct spur_trace *t, struct intern *strings)
{
	assert(!t->strings_shared && intern_count(t->strings) <= 1);
	intern_free(t->strings);
	t->strings = strings;
	t->strings_shared = true;
}

/* `ts` on the part's own clock; the two ends of all time stay. */
static int64_t part_time(const struct trace_part *p, int64_t ts)
{
	return ts == INT64_MIN || ts == INT64_MAX ? ts : clock_map_back(&p->map, ts);
}

void trace_want(struct spur_trace *t, int64_t from, int64_t to)
{
	t->want_from = from;
	t->want_to = to;
	for (size_t i = 0; i < t->nparts; i++)
		trace_want(t->parts[i].trace, part_time(&t->parts[i], from),
			   part_time(&t->parts[i], to));
}

bool trace_over_limit(const struct spur_trace *t)
{
	bool over = __atomic_load_n(&t->over_limit, __ATOMIC_RELAXED);

	for (size_t i = 0; i < t->nparts; i++)
		over |= trace_over_limit(t->parts[i].trace);
	return over;
}

uint32_t trace_add_stream(struct spur_trace *t, const char *path, uint64_t size)
{
	char *copy = arena_strdup(&t->parked, path, strlen(path));

	if (!copy || !mem_table_grow((void **)&t->streams, &t->streams_cap, t->nstreams + 1,
				     sizeof(*t->streams), MAX_LIST))
		return SPUR_NONE;
	t->streams[t->nstreams] = (struct spur_stream){ .path = copy, .size = size };
	__atomic_store_n(&t->nstreams, t->nstreams + 1, __ATOMIC_RELEASE);
	return (uint32_t)t->nstreams - 1;
}

uint32_t trace_add_origin(struct spur_trace *t, struct spur_origin origin)
{
	if (!mem_grow((void **)&t->origins, &t->origins_cap, t->norigins + 1, sizeof(*t->origins),
		      MAX_LIST))
		return SPUR_NONE;
	t->origins[t->norigins] = origin;
	__atomic_store_n(&t->norigins, t->norigins + 1, __ATOMIC_RELEASE);
	return (uint32_t)t->norigins - 1;
}

bool trace_reserve_origins(struct spur_trace *t, size_t n)
{
	return mem_grow((void **)&t->origins, &t->origins_cap, n, sizeof(*t->origins), MAX_LIST);
}

bool trace_reserve_streams(struct spur_trace *t, size_t n)
{
	t->streams = mem_table_alloc(n, sizeof(*t->streams));
	t->streams_cap = t->streams ? n : 0;
	return t->streams != NULL;
}

uint32_t trace_add_track(struct spur_trace *t, struct spur_track track)
{
	const size_t n = t->ntracks, page = n / TRACE_TRACK_PAGE;

	if (page == TRACE_TRACK_PAGES)
		return SPUR_NONE;
	if (!t->tracks[page])
		t->tracks[page] =
			arena_alloc(&t->parked, TRACE_TRACK_PAGE * sizeof(*t->tracks[page]));
	if (!t->tracks[page])
		return SPUR_NONE;
	t->tracks[page][n % TRACE_TRACK_PAGE] = track;
	__atomic_store_n(&t->ntracks, n + 1, __ATOMIC_RELEASE);
	return (uint32_t)n;
}

/* A track that was found late, and what it is sorted by. */
struct late_track {
	const struct spur_track *track;
	const char *name;
	uint32_t id, top; /* top: the track found while opening that it is below */
};

static const struct spur_track *track_of(const struct spur_trace *t, uint32_t id)
{
	return &t->tracks[id / TRACE_TRACK_PAGE][id % TRACE_TRACK_PAGE];
}

static int order64(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_late(const void *a, const void *b)
{
	const struct late_track *x = a, *y = b;
	const struct spur_track *p = x->track, *q = y->track;

	if (x->top != y->top)
		return x->top < y->top ? -1 : 1;
	if (p->pid != q->pid)
		return order64(p->pid, q->pid);
	if (p->tid != q->tid)
		return order64(p->tid, q->tid);
	if (p->kind != q->kind)
		return p->kind < q->kind ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void sort_late(const struct spur_trace *t, struct late_track *late, size_t n,
		      uint32_t *order)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t top = (uint32_t)(t->ntracks_open + i);

		late[i] = (struct late_track){ .track = track_of(t, top), .id = top };
		late[i].name = intern_text(t->strings, late[i].track->name, NULL);
		/* A parent is always there before its child. */
		while (top != SPUR_NONE && top >= t->ntracks_open)
			top = track_of(t, top)->parent;
		late[i].top = top;
	}
	qsort(late, n, sizeof(*late), compare_late);
	for (size_t i = 0; i < n; i++)
		order[t->ntracks_open + i] = late[i].id;
}

uint32_t *trace_track_order(const struct spur_trace *t, size_t *count)
{
	const size_t n = __atomic_load_n(&t->ntracks, __ATOMIC_ACQUIRE);
	const size_t n_late = t->ntracks_open && n > t->ntracks_open ? n - t->ntracks_open : 0;
	uint32_t *order = mem_array(n + 1, sizeof(*order));
	struct late_track *late = n_late ? mem_array(n_late, sizeof(*late)) : NULL;

	*count = n;
	for (size_t i = 0; order && i < n; i++)
		order[i] = (uint32_t)i;
	if (order && late)
		sort_late(t, late, n_late, order);
	if (n_late && !late) {
		mem_free(order);
		order = NULL;
	}
	mem_free(late);
	return order;
}

uint32_t *trace_track_places(const struct spur_trace *t, size_t *count)
{
	uint32_t *const order = trace_track_order(t, count);
	uint32_t *const places = order ? mem_array(*count + 1, sizeof(*places)) : NULL;

	for (size_t i = 0; places && i < *count; i++)
		places[order[i]] = (uint32_t)i;
	mem_free(order);
	return places;
}

bool trace_reserve_feeds(struct spur_trace *t, size_t n)
{
	return mem_table_grow((void **)&t->feeds, &t->feeds_cap, n, sizeof(*t->feeds), MAX_LIST);
}

struct feed *trace_add_feed(struct spur_trace *t, uint32_t track, void *state)
{
	struct feed *f;

	if (!mem_table_grow((void **)&t->feeds, &t->feeds_cap, t->nfeeds + 1, sizeof(struct feed *),
			    MAX_LIST))
		return NULL;
	if (t->nfeeds % TRACE_FEED_BLOCK == 0)
		t->feed_block = arena_alloc(&t->parked, TRACE_FEED_BLOCK * sizeof(*f));
	if (!t->feed_block)
		return NULL;
	f = &t->feed_block[t->nfeeds % TRACE_FEED_BLOCK];
	diag_init(&f->diag);
	diag_suppress(&f->diag, t->options.stop);
	f->id = (uint32_t)t->nfeeds;
	f->track = track;
	f->stream = SPUR_NONE;
	f->state = state;
	t->feeds[t->nfeeds++] = f;
	return f;
}

bool trace_add_info(struct spur_trace *t, const char *key, const char *fmt, ...)
{
	char stack[512], *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(stack, sizeof(stack), fmt, ap);
	va_end(ap);
	if (n < 0 ||
	    !mem_grow((void **)&t->info, &t->info_cap, t->ninfo + 1, sizeof(*t->info), MAX_LIST))
		return false;
	text = arena_alloc(&t->arena, (size_t)n + 1);
	if (!text)
		return false;
	va_start(ap, fmt);
	vsnprintf(text, (size_t)n + 1, fmt, ap);
	va_end(ap);
	t->info[t->ninfo++] = (struct info_item){ .key = key, .value = text, .len = (size_t)n };
	return true;
}

uint32_t trace_intern(struct spur_trace *t, const char *s)
{
	return trace_intern_n(t, s, strlen(s));
}

uint32_t trace_intern_n(struct spur_trace *t, const char *s, size_t len)
{
	uint32_t id = intern_put(t->strings, s, len);

	return id == INTERN_NONE ? 0 : id;
}

/* What classes of one head have in common. */
static uint64_t head_key(const struct event_class *c)
{
	/* A category takes the place of a module: functions of one name do not have both. */
	const uint32_t module = c->flags & CLASS_CATEGORY  ? UINT32_C(1) << 31 | c->cat
				: c->flags & CLASS_LIBRARY ? 0
							   : c->module;

	return (uint64_t)c->name << 32 | module;
}

static uint64_t head_key_of(const void *trace, uint32_t id)
{
	return head_key(trace_class(trace, id));
}

uint32_t trace_add_class_locked(struct spur_trace *t, const struct event_class *c)
{
	uint32_t id = t->nclasses, page = id / TRACE_CLASS_PAGE;
	struct event_class *copy;

	if (page >= TRACE_CLASS_PAGES)
		return 0;
	if (!t->classes[page])
		t->classes[page] = mem_array(TRACE_CLASS_PAGE, sizeof(*copy));
	if (!t->classes[page])
		return 0;
	copy = &t->classes[page][id % TRACE_CLASS_PAGE];
	*copy = *c;
	if (c->more) {
		struct class_more *more = arena_alloc(&t->arena, sizeof(*more));

		if (!more)
			return 0;
		*more = *c->more;
		copy->more = more;
	}
	copy->head = key_index_find(&t->class_heads, head_key(c), head_key_of, t);
	if (copy->head == KEY_INDEX_NONE) {
		copy->head = id;
		if (!key_index_add(&t->class_heads, id, head_key_of, t))
			return 0;
	}
	__atomic_store_n(&t->nclasses, id + 1, __ATOMIC_RELEASE);
	return id;
}

uint32_t trace_add_class(struct spur_trace *t, const struct event_class *c)
{
	uint32_t id;

	pthread_mutex_lock(&t->lock);
	id = trace_add_class_locked(t, c);
	pthread_mutex_unlock(&t->lock);
	return id;
}

const struct event_class *trace_class(const struct spur_trace *t, uint32_t id)
{
	return &t->classes[id / TRACE_CLASS_PAGE][id % TRACE_CLASS_PAGE];
}

uint32_t trace_class_count(const struct spur_trace *t)
{
	return __atomic_load_n(&t->nclasses, __ATOMIC_ACQUIRE);
}

/*
 * Threads that share the trace's own log add to it in any order; sorted, its groups have the same
 * one each time.
 */
static int group_order(const void *a, const void *b)
{
	const struct diag_group *x = a, *y = b;
	int c = strcmp(x->code, y->code);

	return c ? c : strcmp(x->file, y->file);
}

/*
 * More levels of tracks than traces have: the search ends if tracks that were made by hand are each
 * other's parents.
 */
enum { PARENTS = 64 };

enum spur_track_kind trace_track_kind(const struct spur_trace *t, uint32_t track)
{
	const struct spur_track *k = trace_track(t, track);

	assert(k);
	/* A lane's parent is no lane unless the tracks were made by hand. */
	for (int i = 0; k->kind == SPUR_TRACK_LANE && i < PARENTS && k->parent < track; i++)
		k = trace_track(t, k->parent);
	return k->kind == SPUR_TRACK_PROVIDER ? SPUR_TRACK_OTHER : k->kind;
}

uint32_t trace_thread_of(const struct spur_trace *t, uint32_t track)
{
	const struct spur_track *k = trace_track(t, track);

	for (int i = 0; k && trace_track_kind(t, track) != SPUR_TRACK_THREAD && i < PARENTS; i++) {
		track = k->parent;
		k = trace_track(t, track);
	}
	return k && trace_track_kind(t, track) == SPUR_TRACK_THREAD ? track : SPUR_NONE;
}

uint32_t trace_process_of(const struct spur_trace *t, uint32_t track)
{
	const struct spur_track *k = trace_track(t, track);

	for (int i = 0; k && k->kind != SPUR_TRACK_PROCESS && i < PARENTS; i++) {
		const uint32_t parent = k->parent;

		k = trace_track(t, parent);
		track = k ? parent : track;
	}
	return track;
}

int64_t trace_pid_of(const struct spur_trace *t, uint32_t track)
{
	const struct spur_track *k = trace_track(t, track);

	for (int i = 0; k && k->pid == -1 && i < PARENTS; i++)
		k = trace_track(t, k->parent);
	return k ? k->pid : -1;
}

int64_t trace_from_ns(const struct spur_trace *t, int64_t ns)
{
	const struct scale s = { .num = t->clock.hz, .den = 1000000000 };

	return t->clock.ticks ? scale_ns(&s, ns) : ns;
}

int64_t trace_ticks_ns(const struct spur_trace *t, int64_t ts)
{
	struct scale s;

	return t->clock.ticks && scale_from_hz(&s, t->clock.hz) ? scale_ns(&s, ts) : ts;
}

int64_t trace_ticks_from(const struct spur_trace *t, int64_t ns)
{
	const int64_t near = trace_from_ns(t, ns);

	/* Both ways round down: the tick looked for is that one, or the next. */
	if (trace_ticks_ns(t, near) < ns && near < INT64_MAX)
		return near + 1;
	return near;
}

void trace_join_diag(struct spur_trace *t)
{
	diag_free(&t->joined);
	diag_init(&t->joined);
	diag_merge(&t->joined, &t->diag);
	for (size_t i = 0; i < t->nfeeds; i++)
		diag_merge(&t->joined, &t->feeds[i]->diag);
	for (size_t i = 0; i < t->nparts; i++) {
		trace_join_diag(t->parts[i].trace);
		diag_merge_below(&t->joined, &t->parts[i].trace->joined, t->parts[i].trace->path);
	}
	if (t->source && t->source->replaced)
		diag_add(&t->joined, DIAG_WARN, "follow/replaced", t->path, t->source->size, 0,
			 "expected the file to grow, found that its name is no longer this file's");
	if (t->source && t->source->cut)
		diag_add(&t->joined, DIAG_DAMAGE, "follow/cut", t->path, t->source->size, 0,
			 "expected the file to grow, found that it was cut");
	diag_sort(&t->joined, group_order);
}
