/*
 * ctf: the Common Trace Format, RFC v1.1, 1.8 or 2. See write.h for how it works, and
 * docs/formats/ctf-write.md for what is written.
 */
#include "format/ctf/write.h"

#include "base/bits.h"
#include "base/err.h"
#include "format/ctf/wire.h"
#include "format/format.h"
#include "model/args.h"

enum { HEAD_MOST = 18, CONTEXT_NAME = CTF_WRITE_COMM + 1 };

static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "spans of the thread overlap: an end may be taken for another one's" },
	{ LOSS_DEGRADED, "TSDL has no such names of fields: other characters become underscores" },
	{ LOSS_TRUNCATED, "a text ends with its first NUL" },
	{ LOSS_DEGRADED, "arguments are damaged: written as far as they can be read" },
	{ LOSS_DEGRADED, "the format has no null: written as an empty structure" },
	{ LOSS_TRUNCATED, "the format has no number of that precision: rounded to a double" },
	{ LOSS_TRUNCATED, "arguments are nested more than 32 deep" },
	{ LOSS_DEGRADED, "an enumeration has more than 65536 names: the number is written" },
	{ LOSS_DEGRADED, "JSON has no bytes that are not UTF-8: they become U+FFFD" },
	{ LOSS_DEGRADED, "losses are a count: names, arguments and threads are not kept" },
	{ LOSS_DEGRADED, "the RFC v1.1 has no CPU numbers" },
	{ LOSS_TRUNCATED, "the name of a thread is longer than 16 bytes" },
};

/* --- streams --- */

struct cw_stream *cw_stream_at(const struct cw *w, uint32_t number)
{
	return &w->pages[number / CTF_WRITE_PAGE][number % CTF_WRITE_PAGE];
}

static struct cw_stream *stream_add(struct cw *w)
{
	const size_t bytes = CTF_WRITE_PAGE * sizeof(**w->pages);
	const uint32_t page = w->nstreams / CTF_WRITE_PAGE;

	static_assert(CTF_WRITE_PAGE * sizeof(**w->pages) <= SPOOL_ROOM, "it is one piece");
	if (page == w->npages) {
		if (!mem_grow((void **)&w->pages, &w->pages_cap, page + 1, sizeof(*w->pages),
			      UINT32_MAX / CTF_WRITE_PAGE))
			return NULL;
		w->pages[page] = (struct cw_stream *)spool_room(&w->spool, &w->streams, bytes);
		if (!w->pages[page])
			return NULL;
		spool_add(&w->streams, bytes);
		w->npages++;
	}
	return cw_stream_at(w, w->nstreams++);
}

/* The stream class of a layout or of a class of the source, made if it is new. */
static struct cw_stream_class *class_of(struct cw *w, uint32_t layout,
					const struct ctf_class *native)
{
	struct cw_stream_class *s;

	for (s = w->classes; s; s = s->next)
		if (s->layout == layout && s->native == native)
			return s;
	s = arena_alloc(&w->arena, sizeof(*s));
	if (!s)
		return NULL;
	*s = (struct cw_stream_class){ .layout = layout, .native = native, .id = w->nclasses++ };
	*w->classes_end = s;
	w->classes_end = &s->next;
	return s;
}

/*
 * The thread that a track's rows are of, else its process; NULL: neither. SPEC ctf/own-process:
 * rows of a process have the thread id -1.
 */
static const struct spur_track *owner_of(const struct write *w, uint32_t track)
{
	const uint32_t thread = trace_thread_of(w->trace, track);
	const struct spur_track *k =
		write_track(w, thread == SPUR_NONE ? trace_process_of(w->trace, track) : thread);

	return k && (thread != SPUR_NONE || k->kind == SPUR_TRACK_PROCESS) ? k : NULL;
}

static bool is_wide(int64_t id)
{
	return id < INT32_MIN || id > INT32_MAX;
}

/* The context of a thread's events: ids, and the name that the thread has now. */
static void context_make(struct cw *w, struct cw_stream *s)
{
	const struct spur_track *k = owner_of(w->write, s->track);
	const unsigned bytes = s->of->layout & CW_WIDE ? 8 : 4;
	const int64_t pid = write_pid_of(w->write, s->track);
	uint8_t *p = s->context;
	const char *name;
	size_t len;

	name = trace_string(w->trace, k->name, &len);
	s->name_cut = len > CTF_WRITE_COMM;
	len = len < CTF_WRITE_COMM ? len : CTF_WRITE_COMM;
	memset(s->context, 0, sizeof(s->context));
	p = cw_put(w, p, (uint64_t)pid, bytes);
	p = cw_put(w, p, (uint64_t)k->tid, bytes);
	memcpy(p, name, len);
	p += w->v11 ? strlen((char *)p) + 1 : CONTEXT_NAME;
	s->ncontext = (uint8_t)(p - s->context);
	s->name = k->name;
}

/* A stream of several threads. */
static struct cw_stream *shared_make(struct cw *w, const struct cw_stream *first)
{
	struct cw_stream *s = stream_add(w);

	if (s) {
		s->of = first->of;
		s->track = first->track;
		s->due = s->last_off = UINT64_MAX;
	}
	return s;
}

/*
 * The stream that has a thread's events. SPEC ctf/write-shared: threads beyond 192 of a class share
 * 64 streams, by the CPU, as a packet is of one, or else by the order in which they came.
 */
static struct cw_stream *home_of(struct cw *w, struct cw_stream *s, const struct spur_event *row)
{
	struct cw_stream *home;
	uint32_t *number;

	if (!s || !s->shares)
		return s;
	number = &s->of->shared[(row->cpu != SPUR_NO_CPU ? row->cpu : s->slot) % CTF_WRITE_SHARED];
	if (owner_of(w->write, s->track)->name != s->name)
		context_make(w, s);
	if (*number)
		return cw_stream_at(w, *number - 1);
	home = shared_make(w, s);
	if (home)
		*number = w->nstreams;
	return home;
}

static struct cw_stream *stream_make(struct cw *w, uint32_t track, bool cpu,
				     const struct ctf_class *native)
{
	const struct spur_track *k = native ? NULL : owner_of(w->write, track);
	struct cw_stream *s = stream_add(w);
	uint32_t layout = cpu ? CW_CPU : 0;

	if (!s)
		return NULL;
	if (k)
		layout |= CW_THREAD |
			  (is_wide(k->tid) || is_wide(write_pid_of(w->write, track)) ? CW_WIDE : 0);
	s->of = class_of(w, layout, native);
	if (!s->of)
		return NULL;
	s->native = native;
	s->track = native ? SPUR_NONE : track;
	s->due = UINT64_MAX;
	s->last_off = UINT64_MAX;
	if (k) {
		s->slot = s->of->nthreads++;
		s->shares = s->slot >= CTF_WRITE_OWN;
		context_make(w, s);
	}
	return s;
}

/* The stream of a row: that of its track, or the source's where events are copied. */
static struct cw_stream *stream_of(struct cw *w, const struct spur_event *row,
				   const struct ctf_class *native)
{
	const bool cpu = row->cpu != SPUR_NO_CPU && !w->v11;
	struct cw_place **places = native ? &w->by_source : &w->by_track;
	size_t *cap = native ? &w->by_source_cap : &w->by_track_cap;
	const uint32_t at = native ? row->stream : row->track;
	struct cw_stream *s;
	uint32_t *number;

	if (at >= *cap &&
	    !mem_grow((void **)places, cap, (size_t)at + 1, sizeof(**places), UINT32_MAX))
		return NULL;
	number = &(*places)[at].stream[cpu];
	if (*number)
		return cw_stream_at(w, *number - 1);
	s = stream_make(w, row->track, cpu, native);
	if (s) {
		*number = w->nstreams;
		s->source = row->stream;
	}
	return s;
}

/* --- packets --- */

static bool packet_close(struct cw *w, struct cw_stream *s, uint64_t end)
{
	/* In version 1.1, losses end where the packet after them begins. */
	const bool after = w->v11 && !s->bytes && s->due <= end;
	const struct cw_packet p = { .begin = after ? s->due : s->begin,
				     .end = end,
				     .bytes = s->bytes,
				     .discarded = s->discarded,
				     .sequence = s->sequence,
				     .cpu = s->cpu };

	if (!s->open)
		return true;
	s->open = false;
	s->due = UINT64_MAX;
	s->bytes = 0;
	s->sequence++;
	s->npackets++;
	return spool_bytes(&w->spool, &s->packets, &p, sizeof(p));
}

static void packet_open(struct cw *w, struct cw_stream *s, uint64_t clock, uint16_t cpu)
{
	s->open = s->begun = true;
	s->gap = false;
	s->begin = s->last = clock;
	s->cpu = cpu;
	if (s->ncontext && owner_of(w->write, s->track)->name != s->name)
		context_make(w, s);
}

/*
 * Makes sure that a packet is open that takes an event of this time. SPEC ctf/write-packets: a
 * packet ends where time goes back, where the CPU is another, and where losses before it end.
 */
static bool packet_for(struct cw *w, struct cw_stream *s, uint64_t clock, uint16_t cpu)
{
	bool good = true;

	/* As in packet_close() */
	if (w->v11 && s->open && !s->bytes && s->due <= clock)
		s->begin = s->last = s->due;
	if (s->open && clock > s->due && !w->v11)
		good = packet_close(w, s, s->due);
	else if (s->open && (s->bytes >= CTF_WRITE_PACKET || cpu != s->cpu || clock < s->last))
		good = packet_close(w, s, s->last);
	if (good && !s->open)
		packet_open(w, s, clock, cpu);
	return good;
}

static uint64_t clock_of(const struct cw *w, int64_t ts)
{
	return (uint64_t)ts - (uint64_t)w->write->zero;
}

/* SPEC ctf-v11/header2: as header_put(); the long form is behind the short one */
static char *header_v11(struct cw *w, const struct cw_stream *s, uint32_t id, uint64_t clock,
			char *at)
{
	const bool is_long = id >= CTF_WIRE_LARGE_LONG || clock - s->last > UINT32_MAX;
	uint8_t *p = cw_put(w, (uint8_t *)at, clock & UINT32_MAX, 4);

	p = cw_put(w, p, is_long ? CTF_WIRE_LARGE_LONG : id, 2);
	if (is_long) {
		p = cw_put(w, p, clock, 8);
		p = cw_put(w, p, id, 4);
	}
	return (char *)p;
}

/* SPEC ctf/write-header: LTTng's large header, in the long form where 32 bits of time do not do */
static char *header_put(struct cw *w, const struct cw_stream *s, uint32_t id, uint64_t clock,
			char *at)
{
	uint8_t *p = (uint8_t *)at;

	if (w->v11)
		return header_v11(w, s, id, clock, at);
	if (id < CTF_WIRE_LARGE_LONG && clock - s->last <= UINT32_MAX) {
		p = cw_put(w, p, id, 2);
		return (char *)cw_put(w, p, clock & UINT32_MAX, 4);
	}
	p = cw_put(w, p, CTF_WIRE_LARGE_LONG, 2);
	p = cw_put(w, p, id, 4);
	return (char *)cw_put(w, p, clock, 8);
}

/* Writes an event's header and the context of its thread `of`; `len` bytes of fields follow. */
static bool event_head(struct cw *w, struct cw_stream *s, const struct cw_stream *of, uint32_t id,
		       uint64_t clock, uint64_t len)
{
	char *at = spool_room(&w->spool, &s->events, HEAD_MOST + sizeof(of->context)), *p;

	if (!at)
		return false;
	p = header_put(w, s, id, clock, at);
	if (of->ncontext) {
		memcpy(p, of->context, of->ncontext);
		p += of->ncontext;
	}
	spool_add(&s->events, (size_t)(p - at));
	s->bytes += (uint64_t)(p - at) + len;
	s->last = clock;
	return true;
}

/* --- rows --- */

static void event_begin(struct cw *w, unsigned kind)
{
	w->kind = kind;
	out_clear(&w->payload);
	w->nsig = w->nseen = 0;
	w->leaves = 0;
}

/* An event whose class is found by `key` and the types of its arguments. */
static bool made_put(struct cw *w, const struct spur_event *row, struct cw_key key, bool with_args)
{
	struct cw_stream *s = stream_of(w, row, NULL), *home = home_of(w, s, row);
	const uint64_t clock = clock_of(w, row->ts);
	struct cw_event *e;
	enum spur_status st = SPUR_OK;

	if (!home)
		return false;
	key.of = s->of;
	/* SPEC ctf/own-id: that of a span is its function, which has a class of its own */
	key.has_id = row->id && !kind_is_call(key.kind);
	event_begin(w, key.kind);
	if (key.has_id) {
		uint8_t *p = (uint8_t *)out_room(&w->payload, 8);

		if (!p)
			return false;
		out_to(&w->payload, (char *)cw_put(w, p, row->id, 8));
	}
	if (with_args && row->nargs) {
		st = w->write->args(w->write, row, &w->args);
		if (st == SPUR_FAIL)
			return false;
		if (st == SPUR_WARN)
			loss_add(&w->write->loss, CTF_LOST_PAYLOAD, row->kind);
		if (!cw_encode(w, row))
			return false;
	}
	e = cw_event_of(w, &key);
	if (!e || !packet_for(w, home, clock, row->cpu))
		return false;
	if (w->v11 && row->cpu != SPUR_NO_CPU)
		loss_add(&w->write->loss, CTF_LOST_CPU, row->kind);
	if (s->name_cut)
		loss_add(&w->write->loss, CTF_LOST_COMM, row->kind);
	e->count++;
	s->begins += key.kind == SPUR_BEGIN;
	return event_head(w, home, s, e->id, clock, w->payload.len) &&
	       spool_bytes(&w->spool, &home->events, w->payload.buf, w->payload.len);
}

/* The event class for one of the source's, of another stream class. */
static struct cw_event *native_event(struct cw *w, const struct cw_stream_class *of,
				     const struct ctf_class *k, const struct ctf_event_class *class)
{
	struct map64_slot *slot = map64_put(&w->natives, (uintptr_t) class ^ (uintptr_t)of);
	struct cw_event *e;

	if (!slot)
		return NULL;
	if (slot->value)
		return (void *)(uintptr_t)slot->value;
	e = arena_alloc(&w->arena, sizeof(*e));
	if (!e)
		return NULL;
	e->key.of = of;
	if (cw_is_native(w, k, class)) {
		e->native = class;
		e->id = ((struct cw_stream_class *)of)->nevents++;
		*w->end = e;
		w->end = &e->next;
	}
	slot->value = (uintptr_t)e;
	return e;
}

/*
 * Copies the event of a row. *done gets whether that is possible. Several rows may come from one
 * event, which is copied once.
 */
static bool native_put(struct cw *w, const struct spur_event *row, bool *done)
{
	const struct ctf_event_class *class;
	const struct ctf_class *k;
	struct cw_stream *s;
	struct cw_event *e;
	uint64_t len;
	const uint8_t *p = cw_native_bytes(w, row, &len, &k, &class);

	*done = false;
	if (!p)
		return true;
	s = stream_of(w, row, k);
	e = s ? native_event(w, s->of, k, class) : NULL;
	if (!e)
		return false;
	if (!e->native)
		return true;
	*done = true;
	if (s->last_off == row->off)
		return true;
	s->last_off = row->off;
	return packet_for(w, s, clock_of(w, row->ts), row->cpu) &&
	       event_head(w, s, s, e->id, clock_of(w, row->ts), len) &&
	       spool_bytes(&w->spool, &s->events, p, len);
}

/* Returns false if the row's arguments are not wanted. */
static bool args_wanted(const struct cw *w, const struct spur_event *row)
{
	return !row->nargs || w->write->wants_args(w->write, row->cls);
}

static struct cw_key key_of(const struct spur_event *row)
{
	return (struct cw_key){ .name = row->name,
				.cat = row->cat,
				.flags = row->flags & CW_FLAGS,
				.kind = row->kind };
}

/* The stream that a row's losses are of: the one that its file becomes, or that of its track. */
static struct cw_stream *lost_stream(struct cw *w, const struct spur_event *row)
{
	const struct ctf_file *f = cw_native_file(w, row);

	return home_of(w, stream_of(w, row, f ? &w->ctf->traces[f->trace].classes[f->class] : NULL),
		       row);
}

/*
 * SPEC ctf/write-lost: losses end the packet at their time; the next one's counter tells them, and
 * ends when they end
 */
/*
 * SPEC ctf/write-v11-lost: the counter of version 1.1 is that before a packet's first event, and
 * losses lie between the begins of two packets: an empty packet begins where they do
 */
static bool lost_v11(struct cw *w, struct cw_stream *s, uint64_t clock)
{
	if (s->begun && s->begin == clock && !s->bytes && !s->open)
		return true;
	packet_open(w, s, clock, SPUR_NO_CPU);
	return packet_close(w, s, clock);
}

static bool lost_put(struct cw *w, const struct spur_event *row)
{
	struct cw_stream *s = lost_stream(w, row);
	const uint64_t clock = clock_of(w, row->ts);
	int64_t end;

	if (!s)
		return false;
	if (s->open && clock < s->last)
		return packet_close(w, s, s->last) && lost_put(w, row);
	/* The counter says something from the second packet on. */
	if (!s->open && !s->begun)
		packet_open(w, s, clock, row->cpu);
	if ((s->open && !packet_close(w, s, clock)) || (w->v11 && !lost_v11(w, s, clock)))
		return false;
	if (!w->ctf)
		loss_add(&w->write->loss, CTF_LOST_LOST, row->kind);
	s->discarded += row->id;
	s->due = !row->dur || __builtin_add_overflow(row->ts, row->dur, &end) ? UINT64_MAX
									      : clock_of(w, end);
	packet_open(w, s, clock, row->cpu);
	return true;
}

/* Packets that are missing have numbers that are missing. Returns 0 if the row is not of them. */
static uint64_t packets_lost(struct cw *w, const struct spur_event *row)
{
	if (!w->ctf || row->cls != w->ctf->lost_packets_cls)
		return 0;
	args_reset(&w->args);
	if (w->trace->format->args(w->trace, row, &w->args) != SPUR_OK || !w->args.count)
		return 0;
	return w->args.items[0].u;
}

/*
 * A gap ends where the next packet begins. Where losses were just put, that packet is open and has
 * no event yet.
 */
static bool gap_put(struct cw *w, const struct spur_event *row, uint64_t n)
{
	struct cw_stream *s = lost_stream(w, row);
	const uint64_t clock = clock_of(w, row->ts);

	if (!s)
		return false;
	if (!s->open && !s->begun)
		packet_open(w, s, clock, row->cpu);
	if (s->open && (s->bytes || s->due == UINT64_MAX) &&
	    !packet_close(w, s, clock < s->last ? s->last : clock))
		return false;
	s->sequence += n;
	s->gap = !s->open;
	s->gap_end = clock + (row->dur > 0 ? (uint64_t)row->dur : 0);
	if (s->open && s->gap_end <= s->due)
		s->begin = s->last = s->gap_end;
	return true;
}

static bool cw_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct cw *w = lane;
	uint64_t n;
	bool done;

	(void)o;
	if (w->ctf && args_wanted(w, row)) {
		if (!native_put(w, row, &done))
			return false;
		if (done)
			return true;
	}
	/* SPEC ctf/counter-wrap: a larger step would be one back. */
	if (row->kind == SPUR_LOST && row->id &&
	    row->id <= (w->v11 ? (uint64_t)INT32_MAX : INT64_MAX))
		return lost_put(w, row);
	n = row->kind == SPUR_LOST ? packets_lost(w, row) : 0;
	if (n)
		return gap_put(w, row, n);
	return made_put(w, row, key_of(row), true);
}

static bool cw_end(void *lane, const struct spur_event *row, const struct write_end *end,
		   struct out *o)
{
	struct cw *w = lane;
	const bool own = !end->implied && !end->whole;
	const struct event_class *k = trace_class(w->trace, end->cls);
	struct cw_key key = { .name = end->name,
			      .cat = own ? row->cat
				     : k ? k->cat
					 : 0,
			      .flags = own ? row->flags & CW_FLAGS : 0,
			      .kind = SPUR_END_SPAN };
	struct spur_event at = *row;
	bool done;

	(void)o;
	/* The reader of events that are copied will imply the same ends. */
	if (w->ctf && !own && !end->whole)
		return true;
	if (w->ctf && args_wanted(w, row)) {
		if (!native_put(w, row, &done))
			return false;
		if (done)
			return true;
	}
	at.kind = SPUR_END_SPAN;
	at.cls = end->cls;
	return made_put(w, &at, key, own);
}

/* --- the writer --- */

/* A name that TSDL can have. */
static const char *clock_name(const struct spur_trace *t)
{
	const char *name = t->clock.name;

	for (const char *p = name; p && *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9' && p > name) || *p == '_'))
			return "clock";
	return name && *name ? name : "clock";
}

static void cw_close(void *self)
{
	struct cw *w = self;

	for (const struct cw_event *e = w->first; e; e = e->next)
		for (uint32_t i = 0; i < e->nleaves; i++) {
			map64_free(&e->leaves[i].seen);
			mem_free(e->leaves[i].labels);
		}
	mem_free(w->pages);
	mem_free(w->copies);
	mem_free(w->by_track);
	mem_free(w->by_source);
	map64_free(&w->events);
	map64_free(&w->natives);
	spur_args_free(&w->args);
	out_free(&w->payload);
	out_free(&w->text);
	mem_free(w->sig);
	mem_free(w->seen);
	spool_free(&w->spool);
	cw_v11_free(w);
	arena_free(&w->arena);
	mem_free(w);
}

static void *cw_open(struct write *write)
{
	struct cw *w = mem_alloc(sizeof(*w));

	if (!w)
		return NULL;
	w->write = write;
	w->trace = write->trace;
	arena_init(&w->arena);
	spool_init(&w->spool);
	out_to_memory(&w->payload);
	out_to_memory(&w->text);
	w->classes_end = &w->classes;
	w->end = &w->first;
	w->json = write_setting_is(write, "version", "2");
	w->v11 = write_setting_is(write, "version", "1.1");
	w->big = write_setting_is(write, "byte-order", "big");
	w->swap = order_swaps(w->big);
	w->lttng = write_setting_is(write, "like", "lttng");
	w->dir = w->lttng ? "ust/uid/0/64-bit/" : "";
	w->clock = clock_name(w->trace);
	/* Headers are little-endian where events are copied, and their fields are as they are. */
	if (strcmp(w->trace->format->name, "ctf") == 0 && !w->trace->clock.ticks &&
	    !write->masked && !w->v11)
		w->ctf = w->trace->state;
	if (cw_v11_settings(w) && (!w->ctf || cw_natives(w)))
		return w;
	cw_close(w);
	return NULL;
}

/* The thread that a stream's events are of, as one number. */
static uint64_t owner_key(const struct cw *w, const struct cw_stream *s)
{
	const struct spur_track *k = s->native ? NULL : owner_of(w->write, s->track);

	return k ? hash64((uint64_t)k->tid) ^ (uint64_t)write_pid_of(w->write, s->track) : 0;
}

/*
 * Lanes are not written: their spans are those of their thread, which nest no longer. Counts the
 * spans of threads with lanes. Returns false if out of memory.
 */
static bool lanes_count(struct cw *w)
{
	struct map64 lanes = { 0 };
	bool good = true;

	for (uint32_t i = 0; good && i < w->nstreams; i++) {
		const struct cw_stream *s = cw_stream_at(w, i);

		if (!s->native && trace_track(w->trace, s->track)->kind == SPUR_TRACK_LANE)
			good = map64_put(&lanes, owner_key(w, s)) != NULL;
	}
	for (uint32_t i = 0; lanes.count && i < w->nstreams; i++) {
		const struct cw_stream *s = cw_stream_at(w, i);

		if (map64_find(&lanes, owner_key(w, s)))
			w->write->loss.events[CTF_LOST_LANE][SPUR_BEGIN] += s->begins;
	}
	map64_free(&lanes);
	return good;
}

static bool cw_finish(void *self)
{
	struct cw *w = self;

	if (!lanes_count(w))
		return false;

	for (uint32_t i = 0; i < w->nstreams; i++) {
		struct cw_stream *s = cw_stream_at(w, i);

		/* Packets are missing if one follows. */
		if (s->gap)
			packet_open(w, s, s->gap_end, s->cpu);
		if (s->open && !packet_close(w, s, s->due == UINT64_MAX ? s->last : s->due))
			return false;
	}
	/* Metadata without a stream class is not valid. */
	return (w->classes || class_of(w, 0, NULL)) && cw_files(w);
}

static const char *const versions[] = { "1.1", "1.8", "2", NULL };
static const char *const orders[] = { "little", "big", NULL };
static const char *const likes[] = { "lttng", NULL };
static const struct write_setting settings[] = {
	{ "version", versions,
	  "CTF 1.8 (TSDL), 2 (JSON) or the RFC v1.1 of 2010 (1.1) (default: 1.8)" },
	{ "byte-order", orders, "Byte order of what is not copied (default: little)" },
	{ "like", likes, "lttng: directories and environment as LTTng makes them" },
	{ "compression", cw_compressions, "1.1: compress packets (default: not)" },
	{ "checksum", cw_checksums, "1.1: sum up packets (default: not)" },
	{ "key-file", NULL, "1.1: encrypt packets by AES with the key in this file" },
	{ 0 },
};

static const char *const endings[] = { "ctf", NULL };

const struct spur_writer spur_writer_ctf = {
	.name = "ctf",
	.title = "Common Trace Format 1.1, 1.8 or 2, a directory, which babeltrace2 and Trace "
		 "Compass open",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_WAKEUP, WRITE_WHOLE), [SPUR_SAMPLE] = WRITE_DEGRADED,
		  WRITE_FITS(SPUR_OBJECT, SPUR_NATIVE, WRITE_WHOLE) },
	.degraded = "the format has no call stacks: written as an instant event",
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.spans = WRITE_SPANS_SPLIT,
	.switches = WRITE_SWITCHES_ROWS,
	.takes_orphans = true,
	.takes_open = true,
	.no_negative = true,
	.merged = true,
	.is_dir = true,
	.settings = settings,
	.open = cw_open,
	.row = cw_row,
	.end = cw_end,
	.finish = cw_finish,
	.close = cw_close,
};
