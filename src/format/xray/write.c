/*
 * xray: logs of LLVM's XRay, as its runtime writes them: flight data recorder logs of versions 1 to
 * 5, basic logs, profiles, and llvm-xray's YAML. Calls are functions, with their integer arguments;
 * all else is a custom event with a text, where the target has events. Names are written beside the
 * output: an ELF file (or a YAML map) that llvm-xray takes as the instrumentation map.
 *
 * A log of XRay keeps its ticks and function numbers; other traces have ns and functions numbered
 * by their names. See docs/conversion.md.
 */
#include "format/xray/write.h"
#include "format/xray/encode.h"

#include <stdlib.h>

#include "base/err.h"
#include "format/format.h"

static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "the function, thread or process has no number that the format can hold: "
			 "numbered" },
	{ LOSS_DEGRADED, "calls have no categories: left out" },
	{ LOSS_DEGRADED, "arguments of calls are integers named arg1, arg2, ...: others are left "
			 "out, names and types are lost" },
	{ LOSS_DEGRADED, "ends of calls have no arguments: left out" },
	{ LOSS_DROPPED, "this kind of log has calls only" },
	{ LOSS_DEGRADED, "written as a custom event with a text" },
	{ LOSS_DEGRADED, "version 2 and earlier have no typed events: written as a custom event" },
	{ LOSS_DEGRADED, "the payload was overwritten by its writer: written without one" },
	{ LOSS_DEGRADED, "the time is before the clock's zero or after 2^63 ticks: written there" },
	{ LOSS_DROPPED, "an end without a begin inside other calls, behind lost events" },
	{ LOSS_DEGRADED,
	  "the name is empty or has a NUL byte, or there is no file beside the output "
	  "for names" },
};

/* --- settings --- */

static const char *const types[] = { "fdr", "basic", "profile", "yaml", NULL };
static const char *const versions[] = { "1", "2", "3", "4", "5", NULL };
static const char *const orders[] = { "little", "big", NULL };
static const char *const maps[] = { "elf", "yaml", "none", NULL };

static const struct write_setting settings[] = {
	{ .name = "type",
	  .values = types,
	  .help = "flight data recorder, basic log, profile or llvm-xray's YAML (default: fdr)" },
	{ .name = "version",
	  .values = versions,
	  .help = "of the log (default: the latest, fdr 5 and basic 3)" },
	{ .name = "byte-order", .values = orders, .help = "of the log (default: little)" },
	{ .name = "buffer-size",
	  .help = "bytes of a thread's buffer (default: 16384, or 2^n times that so that no "
		  "thread has more than 16 buffers)" },
	{ .name = "names",
	  .values = maps,
	  .help = "the file of names beside the output: OUT.elf, OUT.yaml or none (default: "
		  "elf)" },
	{ 0 }
};

static const char *side(const struct write *w)
{
	if (write_setting_is(w, "names", "none") || write_setting_is(w, "type", "yaml"))
		return NULL;
	return write_setting_is(w, "names", "yaml") ? ".yaml" : ".elf";
}

static bool set_version(struct xray_write *x)
{
	const bool basic = x->target == XRAY_TO_BASIC;
	const uint16_t latest = basic ? XRAY_BASIC_VERSION : XRAY_FDR_VERSION;
	size_t len;
	const char *v = write_setting(x->write, "version", &len);

	x->version = v ? (uint16_t)(*v - '0') : latest;
	if (x->target == XRAY_TO_YAML)
		x->version = 1;
	if (v && (x->target > XRAY_TO_BASIC || x->version > latest)) {
		err_set(&x->write->error, SPUR_ERR_USAGE, "type=%s has no version %c",
			types[x->target], *v);
		return false;
	}
	return true;
}

static bool set_buffer_size(struct xray_write *x)
{
	const uint64_t most = UINT64_C(1) << 30;
	size_t len;
	const char *v = write_setting(x->write, "buffer-size", &len);

	for (size_t i = 0; i < len; i++) {
		if (v[i] < '0' || v[i] > '9' || x->buffer_size > most)
			x->buffer_size = UINT64_MAX / 16;
		else
			x->buffer_size = x->buffer_size * 10 + (uint64_t)(v[i] - '0');
	}
	if (!v || (x->buffer_size >= XRAY_BUFFER_LEAST && x->buffer_size <= most))
		return true;
	err_set(&x->write->error, SPUR_ERR_USAGE,
		"buffer-size: expected %d to %llu bytes, found \"%.*s\"", XRAY_BUFFER_LEAST,
		(unsigned long long)most, (int)(len < 80 ? len : 80), v);
	return false;
}

static bool set_all(struct xray_write *x)
{
	struct write *w = x->write;

	for (unsigned i = 0; types[i]; i++)
		if (write_setting_is(w, "type", types[i]))
			x->target = (enum xray_target)i;
	x->big = write_setting_is(w, "byte-order", "big");
	x->swap = order_swaps(x->big);
	if (!set_version(x) || !set_buffer_size(x))
		return false;
	x->body_version = x->target == XRAY_TO_FDR ? x->version : XRAY_FDR_VERSION;
	x->body_big = x->target == XRAY_TO_FDR ? x->big : order_swaps(false);
	x->body_swap = order_swaps(x->body_big);
	return true;
}

/* --- the output --- */

/* Ticks of a time in ns, rounded up: the first tick that is not before. */
static uint64_t ticks_from(const struct xray_write *x, int64_t ns)
{
	const unsigned __int128 ns_hz = 1000000000;

	if (!x->hz)
		return ns < 0 ? 0 : (uint64_t)ns;
	return ns < 0 ? 0 : (uint64_t)(((unsigned __int128)ns * x->hz + ns_hz - 1) / ns_hz);
}

static void set_clock(struct xray_write *x)
{
	const struct spur_trace *t = x->trace;
	struct xray *source = t->format == &spur_format_xray && !x->write->masked ? t->state : NULL;

	x->own_ids = source != NULL;
	x->source = source && source->mode != XRAY_PROFILE ? source : NULL;
	x->hz = x->source ? x->source->hz : 1000000000;
	/* SPEC xray/no-frequency: a tick counts as a ns */
	x->zero = ticks_from(x, x->write->zero);
}

static void write_close(void *self)
{
	struct xray_write *x = self;

	for (size_t i = 0; i < XRAY_USED_PAGES; i++)
		mem_free(x->used[i]);
	mem_free(x->functions);
	mem_free(x->ids);
	mem_free(x->names);
	mem_free(x->order);
	spool_free(&x->spool);
	pthread_mutex_destroy(&x->lock);
	mem_free(x);
}

static void *write_open(struct write *w)
{
	struct xray_write *x = mem_alloc(sizeof(*x));

	if (!x)
		return NULL;
	x->write = w;
	x->trace = w->trace;
	spool_init(&x->spool);
	pthread_mutex_init(&x->lock, NULL);
	if (!set_all(x) || !xray_told_open(x)) {
		write_close(x);
		return NULL;
	}
	set_clock(x);
	return x;
}

/* --- lanes and threads --- */

static void lane_close(void *lane)
{
	struct xray_lane *l = lane;

	xray_profile_lane_end(l);
	map64_free(&l->by_track);
	spur_args_free(&l->args);
	out_free(&l->text);
	mem_free(l->values);
	mem_free(l);
}

static void *lane_open(void *self, uint32_t track)
{
	struct xray_write *x = self;
	struct xray_lane *l = mem_alloc(sizeof(*l));

	(void)track;
	if (!l)
		return NULL;
	l->x = x;
	out_to_memory(&l->text);
	ticks_init(&l->ticks, x->hz, !x->hz || x->trace->clock.ticks);
	return l;
}

/* The thread of a track, made at its first row. Returns NULL if out of memory. */
static struct xray_out_thread *thread_make(struct xray_lane *l, uint32_t track)
{
	struct map64_slot *slot = map64_put(&l->by_track, track);
	struct xray_out_thread *th;

	if (!slot)
		return NULL;
	if (slot->value)
		return (struct xray_out_thread *)(uintptr_t)slot->value;
	pthread_mutex_lock(&l->x->lock);
	th = (struct xray_out_thread *)spool_room(&l->x->spool, &l->x->thread_seq, sizeof(*th));
	if (th) {
		spool_add(&l->x->thread_seq, sizeof(*th));
		*th = (struct xray_out_thread){ .track = track,
						.cpu = SPUR_NO_CPU,
						.source_end = UINT64_MAX,
						.next = l->x->threads };
		l->x->threads = th;
		l->x->nthreads++;
	}
	pthread_mutex_unlock(&l->x->lock);
	slot->value = (uintptr_t)th;
	return th;
}

static inline struct xray_out_thread *thread_of(struct xray_lane *l, uint32_t track)
{
	if (__builtin_expect(!l->at || l->at->track != track, 0))
		l->at = thread_make(l, track);
	return l->at;
}

static bool used_page(struct xray_write *x, uint32_t page)
{
	bool good;

	pthread_mutex_lock(&x->lock);
	if (!x->used[page])
		__atomic_store_n(&x->used[page], mem_array(XRAY_USED_PAGE, sizeof(uint32_t)),
				 __ATOMIC_RELEASE);
	good = x->used[page] != NULL;
	pthread_mutex_unlock(&x->lock);
	return good;
}

bool xray_used_add(struct xray_write *x, uint32_t cls, uint32_t id)
{
	uint32_t **const page = &x->used[cls / XRAY_USED_PAGE];
	uint32_t *at;

	if (__builtin_expect(!__atomic_load_n(page, __ATOMIC_ACQUIRE), 0) &&
	    !used_page(x, cls / XRAY_USED_PAGE))
		return false;
	at = &(*page)[cls % XRAY_USED_PAGE];
	if (__builtin_expect(!__atomic_load_n(at, __ATOMIC_RELAXED), 0))
		__atomic_store_n(at, id, __ATOMIC_RELAXED);
	return true;
}

/* --- times --- */

/*
 * Moves `*ticks` over what stands between two rows of a thread: records that set ticks, and the
 * first ones of a buffer, but for those of versions that may count ticks twice there. Returns false
 * if something else, or too much, is there.
 */
static bool ticks_over(const struct xray *s, uint64_t from, uint64_t to, uint64_t *ticks)
{
	const uint64_t most = 8 * (uint64_t)XRAY_METADATA;
	uint64_t at = from;

	for (; at < to && to - from <= most; at += XRAY_METADATA) {
		const uint8_t *p = xray_at(s, at);
		const int kind = xray_meta(s, p);

		if (kind == META_NEW_CPU)
			*ticks = load64(p + XRAY_CPU_AT_TICKS, s->swap);
		else if (kind == META_TSC_WRAP)
			*ticks = load64(p + XRAY_META_AT_DATA, s->swap);
		else if (s->version < 4 || (kind != META_EXTENTS && kind != META_NEW_BUFFER &&
					    kind != META_WALL_TIME && kind != META_PID))
			return false;
	}
	return at == to;
}

/*
 * The ticks of a row of a flight data recorder: by those of the row before if that is near in the
 * file, as it is most often.
 */
static uint64_t source_ticks(struct xray_lane *l, struct xray_out_thread *th,
			     const struct spur_event *row)
{
	const struct xray *s = l->x->source;
	const uint8_t *p = s->mode == XRAY_FDR ? xray_raw(s, row) : NULL;
	const bool event = p && xray_meta(s, p) >= 0;
	uint64_t ticks[2], next = th->source_ticks;

	if (p && !(event && s->version < 5) && ticks_over(s, th->source_end, row->off, &next)) {
		next += event ? (uint64_t)(int64_t)(int32_t)load32(p + XRAY_EVENT_AT_TICKS, s->swap)
			      : load32(p + XRAY_FUNCTION_AT_DELTA, s->swap);
		if (ticks_ns(&l->ticks, next) == row->ts) {
			th->source_ticks = next;
			th->source_end = row->off + row->len;
			return next;
		}
	}
	next = xray_ticks(l->x->trace, row, ticks) ? ticks[0] : ticks_from(l->x, row->ts);
	/* SPEC xray/custom-event: records do not count from events with ticks of their own. */
	if (event && s->version < 5)
		return next;
	th->source_ticks = next;
	th->source_end = row->off + row->len;
	return next;
}

uint64_t xray_row_ticks(struct xray_lane *l, struct xray_out_thread *th,
			const struct spur_event *row)
{
	struct xray_write *x = l->x;
	uint64_t ticks;

	if (x->source && row->len) {
		ticks = source_ticks(l, th, row);
		ticks = ticks > x->zero ? ticks - x->zero : 0;
		/* Its time is that of a row before it, which may have been dropped. */
		if ((row->flags & SPUR_F_BACK) && ticks_ns(&l->ticks, th->last + x->zero) < row->ts)
			ticks = ticks_from(x, row->ts) - x->zero;
	} else if (row->ts < 0 || (uint64_t)row->ts < x->zero) {
		ticks = 0;
		loss_add(&x->write->loss, LOST_TIME, row->kind);
	} else {
		ticks = (uint64_t)row->ts - x->zero;
	}
	if (ticks > INT64_MAX) {
		ticks = INT64_MAX;
		loss_add(&x->write->loss, LOST_TIME, row->kind);
	}
	if (!th->begun) {
		th->begun = true;
		th->first = th->last = th->base = th->piece.ticks = ticks;
		th->cpu = th->piece.cpu = row->cpu;
	}
	th->last = ticks > th->last ? ticks : th->last;
	return th->last;
}

/* --- records --- */

/* Ends the thread's piece where `more` bytes would make it too long. */
static bool piece_room(struct xray_write *x, struct xray_out_thread *th, uint64_t more)
{
	const uint64_t size = x->buffer_size ? x->buffer_size : XRAY_BUFFER_USUAL;

	if (__builtin_expect(th->piece.len + more <= size - XRAY_HEAD_ROOM, 1) || !th->piece.len)
		return true;
	if (!spool_bytes(&x->spool, &th->pieces, &th->piece, sizeof(th->piece)))
		return false;
	th->npieces++;
	th->piece = (struct xray_piece){ .ticks = th->base, .cpu = th->cpu };
	return true;
}

/*
 * SPEC xray/written-times: the NewCPUId or TSCWrap record that what comes at `ticks` needs. Returns
 * the end.
 */
static char *put_state(const struct xray_write *x, struct xray_out_thread *th, uint64_t ticks,
		       uint32_t cpu, char *p)
{
	if (cpu != SPUR_NO_CPU && cpu != th->cpu) {
		/* SPEC xray/new-cpu: u16 CPU, u64 ticks */
		xray_meta_put(p, META_NEW_CPU, x->body_big);
		store16(p + XRAY_META_AT_DATA, (uint16_t)cpu, x->body_swap);
		store64(p + XRAY_CPU_AT_TICKS, ticks, x->body_swap);
		th->cpu = cpu;
	} else if (ticks - th->base > INT32_MAX) {
		/* SPEC xray/tsc-wrap */
		xray_meta_put(p, META_TSC_WRAP, x->body_big);
		store64(p + XRAY_META_AT_DATA, ticks, x->body_swap);
	} else {
		return p;
	}
	th->base = ticks;
	return p + XRAY_METADATA;
}

/* Writes a call with its arguments. Returns false if out of memory. */
static bool put_call(struct xray_lane *l, struct xray_out_thread *th, const struct spur_event *row,
		     uint32_t cls, uint32_t kind, size_t nargs)
{
	struct xray_write *x = l->x;
	const uint64_t ticks = xray_row_ticks(l, th, row);
	char *room, *p;

	if (!piece_room(x, th, XRAY_METADATA + XRAY_FUNCTION + nargs * XRAY_METADATA))
		return false;
	room = spool_room(&x->spool, &th->body, XRAY_METADATA + XRAY_FUNCTION);
	if (!room)
		return false;
	p = put_state(x, th, ticks, row->cpu, room);
	/* SPEC xray/function-record */
	store32(p, xray_call_word(kind, cls, x->body_big), x->body_swap);
	store32(p + XRAY_FUNCTION_AT_DELTA, (uint32_t)(ticks - th->base), x->body_swap);
	th->base = ticks;
	p += XRAY_FUNCTION;
	spool_add(&th->body, (size_t)(p - room));
	th->piece.len += (size_t)(p - room) + nargs * XRAY_METADATA;
	th->counts[row->kind]++;
	for (size_t i = 0; i < nargs; i++) {
		/* SPEC xray/call-argument */
		room = spool_room(&x->spool, &th->body, XRAY_METADATA);
		if (!room)
			return false;
		xray_meta_put(room, META_ARGUMENT, x->body_big);
		store64(room + XRAY_META_AT_DATA, l->values[i], x->body_swap);
		spool_add(&th->body, XRAY_METADATA);
	}
	return true;
}

/* Writes an event; `type` is of a typed one, or -1. Returns false if out of memory. */
static bool put_event(struct xray_lane *l, struct xray_out_thread *th, const struct spur_event *row,
		      int type, const char *data, uint64_t len)
{
	struct xray_write *x = l->x;
	const uint64_t ticks = xray_row_ticks(l, th, row);
	const bool own_ticks = x->body_version < XRAY_FDR_VERSION;
	char *room, *p;

	if (!piece_room(x, th, 2 * XRAY_METADATA + len))
		return false;
	room = spool_room(&x->spool, &th->body, 2 * XRAY_METADATA);
	if (!room)
		return false;
	p = put_state(x, th, ticks, row->cpu, room);
	xray_meta_put(p, type < 0 ? META_CUSTOM : META_TYPED, x->body_big);
	store32(p + XRAY_META_AT_DATA, (uint32_t)len, x->body_swap);
	if (own_ticks) {
		/* SPEC xray/custom-event: with ticks of its own */
		store64(p + XRAY_EVENT_AT_TICKS, ticks, x->body_swap);
	} else {
		store32(p + XRAY_EVENT_AT_TICKS, (uint32_t)(ticks - th->base), x->body_swap);
		th->base = ticks;
	}
	if (type >= 0)
		store16(p + (own_ticks ? XRAY_TYPED_AT_TYPE : XRAY_TYPED_AT_TYPE_5), (uint16_t)type,
			x->body_swap);
	else if (x->body_version == 4)
		store16(p + XRAY_CUSTOM_AT_CPU, (uint16_t)th->cpu, x->body_swap);
	p += XRAY_METADATA;
	spool_add(&th->body, (size_t)(p - room));
	th->piece.len += (size_t)(p - room) + len;
	th->counts[row->kind]++;
	if (type >= 0 || x->version < 4)
		__atomic_store_n(&x->events, true, __ATOMIC_RELAXED);
	return spool_bytes(&x->spool, &th->body, data, len);
}

/* --- rows --- */

/* The bits of an integer. Returns false if the value is something else. */
static bool value_bits(const struct spur_value *v, uint64_t *bits)
{
	*bits = v->u;
	return v->type == SPUR_I64 || v->type == SPUR_U64 || v->type == SPUR_BOOL ||
	       v->type == SPUR_POINTER || v->type == SPUR_KOID || v->type == SPUR_ENUM;
}

/* Collects a call's arguments in l->values. Returns false if out of memory. */
static bool args_take(struct xray_lane *l, const struct spur_event *row, size_t *count)
{
	struct xray_write *x = l->x;

	*count = 0;
	if (x->write->args(x->write, row, &l->args) == SPUR_FAIL)
		return false;
	for (size_t i = 0; i < l->args.count && *count < XRAY_MAX_ARGS; i++) {
		if (!mem_grow((void **)&l->values, &l->values_cap, *count + 1, sizeof(*l->values),
			      XRAY_MAX_ARGS))
			return false;
		*count += value_bits(&l->args.items[i], &l->values[*count]);
	}
	if (!x->source && !xray_args_told(l))
		loss_add(&x->write->loss, LOST_ARGS, row->kind);
	return true;
}

/*
 * Notes that the row's class is a function. Counts a name that a map cannot hold. Returns false if
 * out of memory.
 */
static inline bool function_use(struct xray_write *x, const struct spur_event *row)
{
	const uint32_t *page =
		__atomic_load_n(&x->used[row->cls / XRAY_USED_PAGE], __ATOMIC_ACQUIRE);
	uint32_t id =
		page ? __atomic_load_n(&page[row->cls % XRAY_USED_PAGE], __ATOMIC_RELAXED) : 0;
	size_t len;

	if (__builtin_expect(!id, 0)) {
		id = (uint32_t)row->id;
		if (!x->own_ids)
			id = xray_name_of(x, row->cls, &len) && len ? XRAY_NAMED : XRAY_NAMELESS;
		if (!xray_used_add(x, row->cls, id))
			return false;
	}
	if (__builtin_expect(id == XRAY_NAMELESS && !x->own_ids, 0))
		loss_add(&x->write->loss, LOST_NAME, row->kind);
	return true;
}

static bool begin_row(struct xray_lane *l, struct xray_out_thread *th, const struct spur_event *row)
{
	struct xray_write *x = l->x;
	size_t nargs = 0;

	if (!function_use(x, row))
		return false;
	if (__builtin_expect(row->cat && !x->source, 0))
		loss_add(&x->write->loss, LOST_CATEGORY, row->kind);
	if (x->target == XRAY_TO_PROFILE)
		return xray_profile_begin(l, th, row);
	th->depth++;
	if (row->nargs && !args_take(l, row, &nargs))
		return false;
	return put_call(l, th, row, row->cls, nargs ? CALL_ENTER_ARGS : CALL_ENTER, nargs);
}

static bool end_row(struct xray_lane *l, struct xray_out_thread *th, const struct spur_event *row,
		    uint32_t cls)
{
	struct xray_write *x = l->x;
	const bool tail =
		(row->flags & SPUR_F_TAIL) && !(x->target == XRAY_TO_BASIC && x->version == 1);

	th->depth -= th->depth != 0;
	if (row->nargs)
		loss_add(&x->write->loss, LOST_END_ARGS, row->kind);
	if (x->target == XRAY_TO_PROFILE)
		return xray_profile_end(l, th, row);
	return put_call(l, th, row, cls, tail ? CALL_TAIL_EXIT : CALL_EXIT, 0);
}

/* An end without a begin: all open calls would end with it. */
static bool orphan_row(struct xray_lane *l, struct xray_out_thread *th,
		       const struct spur_event *row)
{
	struct xray_write *x = l->x;

	if ((row->flags & SPUR_F_GAP) && th->depth) {
		loss_add(&x->write->loss, LOST_END, row->kind);
		return true;
	}
	if (x->target == XRAY_TO_PROFILE) {
		loss_add(&x->write->loss, LOSS_ORPHAN, row->kind);
		return true;
	}
	th->depth = 0;
	return function_use(x, row) && end_row(l, th, row, row->cls);
}

/* An event of an XRay log, as it is stored there. */
static bool source_event(struct xray_lane *l, struct xray_out_thread *th,
			 const struct spur_event *row)
{
	struct xray_write *x = l->x;
	const struct xray *s = x->source;
	const uint8_t *p = xray_raw(s, row);
	const bool typed = xray_meta(s, p) == META_TYPED;
	const bool keeps = typed && x->body_version > 2;

	if (row->len == XRAY_METADATA && load32(p + XRAY_META_AT_DATA, s->swap))
		loss_add(&x->write->loss, LOST_PAYLOAD, row->kind);
	if (typed && !keeps)
		loss_add(&x->write->loss, LOST_TYPE, row->kind);
	return put_event(l, th, row, keeps ? xray_event_type(s, p) : -1,
			 (const char *)p + XRAY_METADATA, row->len - XRAY_METADATA);
}

static bool event_row(struct xray_lane *l, struct xray_out_thread *th, const struct spur_event *row)
{
	struct xray_write *x = l->x;
	const struct spur_value *data;
	int type;

	if (x->target == XRAY_TO_BASIC || x->target == XRAY_TO_PROFILE) {
		loss_add(&x->write->loss, LOST_EVENT, row->kind);
		return true;
	}
	if (x->source && row->kind == SPUR_INSTANT)
		return source_event(l, th, row);
	if (x->write->args(x->write, row, &l->args) == SPUR_FAIL)
		return false;
	if ((data = xray_event_told(l, row, &type)) != NULL) {
		if (type >= 0 && x->body_version <= 2) {
			loss_add(&x->write->loss, LOST_TYPE, row->kind);
			type = -1;
		}
		return put_event(l, th, row, type, data->text, data->count);
	}
	if (row->kind == SPUR_INSTANT)
		loss_add(&x->write->loss, LOST_TEXT, row->kind);
	out_clear(&l->text);
	return xray_event_text(l, row) && put_event(l, th, row, -1, l->text.buf, l->text.len);
}

static bool write_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct xray_lane *l = lane;
	struct xray_out_thread *th = thread_of(l, row->track);

	(void)o;
	if (!th)
		return false;
	switch (row->kind) {
	case SPUR_BEGIN:
		return begin_row(l, th, row);
	case SPUR_END_SPAN:
		return orphan_row(l, th, row);
	case SPUR_SAMPLE:
		if (l->x->target == XRAY_TO_PROFILE)
			return xray_profile_sample(l, th, row);
		loss_add(&l->x->write->loss, LOST_EVENT, row->kind);
		return true;
	default:
		return event_row(l, th, row);
	}
}

static bool write_end(void *lane, const struct spur_event *row, const struct write_end *end,
		      struct out *o)
{
	struct xray_lane *l = lane;
	struct xray_out_thread *th = thread_of(l, row->track);
	struct spur_event last;

	(void)o;
	if (!th)
		return false;
	if (!end->implied && row->kind == SPUR_END_SPAN)
		return end_row(l, th, row, end->cls);
	/* In an XRay log the end of the outer call implies that of the inner one. */
	if (l->x->source && l->x->target != XRAY_TO_PROFILE) {
		th->depth -= th->depth != 0;
		return true;
	}
	last = *row;
	last.kind = SPUR_END_SPAN;
	last.nargs = 0;
	last.flags = 0;
	return end_row(l, th, &last, end->cls);
}

static bool write_all(struct xray_write *x)
{
	switch (x->target) {
	case XRAY_TO_FDR:
		return xray_write_fdr(x);
	case XRAY_TO_BASIC:
		return xray_write_basic(x);
	case XRAY_TO_YAML:
		return xray_write_yaml(x);
	case XRAY_TO_PROFILE:
		break;
	}
	return xray_write_profile(x);
}

/* Counts calls whose names are written nowhere. */
static void names_lost(const struct xray_write *x)
{
	for (const struct xray_out_thread *th = x->threads; th; th = th->next)
		for (unsigned k = SPUR_BEGIN; k <= SPUR_END_SPAN; k++)
			loss_add_n(&x->write->loss, LOST_NAME, k, th->counts[k]);
}

static bool write_finish(void *self)
{
	struct xray_write *x = self;
	struct write *w = x->write;
	bool good = xray_functions_number(x) && xray_threads_number(x);

	if (good && w->side)
		good = write_setting_is(w, "names", "yaml") ? xray_names_yaml(x, w->side)
							    : xray_names_elf(x, w->side);
	else if (good && x->target != XRAY_TO_YAML && !x->source)
		names_lost(x);
	return good && write_all(x);
}

static const char *const endings[] = { "xray", NULL };

const struct spur_writer spur_writer_xray = {
	.name = "xray",
	.title = "XRay logs of LLVM: flight data recorder 1 to 5, basic 1 to 3, profiles, YAML",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_INSTANT, WRITE_WHOLE),
		  WRITE_FITS(SPUR_COUNTER, SPUR_WAKEUP, WRITE_DEGRADED),
		  [SPUR_SAMPLE] = WRITE_WHOLE, [SPUR_OBJECT] = WRITE_DEGRADED,
		  [SPUR_BLOB] = WRITE_DROPPED, [SPUR_LOST] = WRITE_DEGRADED,
		  [SPUR_NATIVE] = WRITE_DROPPED },
	.dropped = "XRay has calls and events of the program only",
	.degraded = "written as a custom event with a text",
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.spans = WRITE_SPANS_SPLIT,
	.switches = WRITE_SWITCHES_ROWS,
	.takes_orphans = true,
	.takes_open = true,
	.settings = settings,
	.side = side,
	.open = write_open,
	.lane = lane_open,
	.row = write_row,
	.end = write_end,
	.lane_close = lane_close,
	.finish = write_finish,
	.close = write_close,
};
