/* Rows of the uftrace writer: records of calls and events, switches, lines of text. */
#include "base/bits.h"
#include "base/err.h"
#include "format/uftrace/writing.h"
#include "model/kept.h"
#include "model/trace.h"

enum { LINE_TEXT = 1000 /* bytes of a line of extern.dat; uftrace reads 1,023 */ };

/* --- symbols --- */

static uint64_t symbol_hash(const struct uft_lane *l, uint32_t cls, enum uft_use use, unsigned kind)
{
	const uint64_t seed = (uint64_t)cls << 8 | (uint64_t)use << 5 | kind;

	return hash_bytes(l->sig, l->nsig * sizeof(*l->sig), hash64(seed)) | 1;
}

static bool symbol_is(const struct uft_lane *l, const struct uft_symbol *s, uint32_t cls,
		      enum uft_use use, unsigned kind)
{
	return s->cls == cls && s->use == use && s->kind == kind && s->nargs == l->nsig &&
	       (!l->nsig || memcmp(s->args, l->sig, l->nsig * sizeof(*l->sig)) == 0);
}

/* Called with u->lock held. Returns NULL if out of memory. */
static struct uft_symbol *symbol_add(struct uft *u, const struct uft_symbol *like,
				     const struct uft_lane *l)
{
	const size_t bytes = l->nsig * sizeof(*l->sig);
	struct uft_symbol *s;

	if (u->nsymbols == UFT_SYMBOLS) {
		err_set(&u->write->error, SPUR_ERR_LIMIT,
			"expected at most %d names of functions and events, found more",
			UFT_SYMBOLS);
		return NULL;
	}
	s = arena_alloc(&u->arena, sizeof(*s) + bytes);
	if (!s || !mem_grow((void **)&u->symbols, &u->symbols_cap, u->nsymbols + 1,
			    sizeof(struct uft_symbol *), UFT_SYMBOLS))
		return NULL;
	*s = *like;
	if (bytes)
		memcpy(s->args, l->sig, bytes);
	s->number = (uint32_t)u->nsymbols;
	u->symbols[u->nsymbols++] = s;
	return s;
}

/* The symbol that all lanes share. Called with u->lock held. Returns NULL if out of memory. */
static struct uft_symbol *symbol_shared(struct uft_lane *l, uint64_t hash, uint32_t cls,
					enum uft_use use, unsigned kind)
{
	struct uft *u = l->self;
	struct map64_slot *slot = map64_put(&u->by_hash, hash);
	const struct uft_symbol like = { .next = slot ? (struct uft_symbol *)(uintptr_t)slot->value
						      : NULL,
					 .cls = cls,
					 .use = (uint8_t)use,
					 .kind = (uint8_t)kind,
					 .nargs = l->nsig };
	struct uft_symbol *s = like.next;

	if (!slot)
		return NULL;
	while (s && !symbol_is(l, s, cls, use, kind))
		s = s->next;
	if (s)
		return s;
	s = symbol_add(u, &like, l);
	if (s)
		slot->value = (uintptr_t)s;
	return s;
}

/* Of a function without arguments, or an event. */
static bool plain_symbol(struct uft_lane *l, uint32_t cls, enum uft_use use, unsigned kind,
			 uint32_t *number)
{
	struct map64_slot *slot =
		map64_put(&l->plain, (uint64_t)cls << 8 | (uint64_t)use << 5 | kind);

	if (!slot)
		return false;
	if (!slot->value) {
		const struct uft_symbol *s;

		pthread_mutex_lock(&l->self->lock);
		s = symbol_shared(l, symbol_hash(l, cls, use, kind), cls, use, kind);
		pthread_mutex_unlock(&l->self->lock);
		if (!s)
			return false;
		slot->value = (uint64_t)s->number + 1;
	}
	*number = (uint32_t)slot->value - 1;
	return true;
}

/* Returns true if too many symbols exist to make one for the types of these arguments. */
static bool symbols_are_full(struct uft_lane *l, unsigned kind)
{
	bool full;

	pthread_mutex_lock(&l->self->lock);
	full = l->self->nsymbols >= UFT_SIGNATURES;
	pthread_mutex_unlock(&l->self->lock);
	if (full) {
		loss_add(&l->self->write->loss, LOST_MANY, kind);
		l->nsig = 0;
		l->len = 0;
	}
	return full;
}

/* The symbol of l->sig. Returns false if out of memory. */
static bool symbol_of(struct uft_lane *l, uint32_t cls, enum uft_use use, unsigned kind,
		      uint32_t *number)
{
	const struct uft_symbol *s;
	struct map64_slot *slot;
	uint64_t hash;

	if (!l->nsig)
		return plain_symbol(l, cls, use, kind, number);
	hash = symbol_hash(l, cls, use, kind);
	slot = map64_put(&l->by_hash, hash);
	if (!slot)
		return false;
	s = (const struct uft_symbol *)(uintptr_t)slot->value;
	if (!s || !symbol_is(l, s, cls, use, kind)) {
		if (symbols_are_full(l, use == USE_CALL ? SPUR_BEGIN : SPUR_END_SPAN))
			return plain_symbol(l, cls, USE_CALL, 0, number);
		pthread_mutex_lock(&l->self->lock);
		s = symbol_shared(l, hash, cls, use, kind);
		pthread_mutex_unlock(&l->self->lock);
		if (!s)
			return false;
		slot->value = (uintptr_t)s;
	}
	*number = s->number;
	return true;
}

/* --- records --- */

static struct uft_task *task_make(struct uft_lane *l, uint32_t track)
{
	struct map64_slot *slot = map64_put(&l->by_track, track);

	if (!slot)
		return NULL;
	if (!slot->value) {
		if (!mem_grow((void **)&l->tasks, &l->tasks_cap, l->ntasks + 1, sizeof(*l->tasks),
			      SIZE_MAX / sizeof(*l->tasks)))
			return NULL;
		l->tasks[l->ntasks++] = (struct uft_task){ .track = track, .first = UINT64_MAX };
		slot->value = l->ntasks;
	}
	return &l->tasks[slot->value - 1];
}

/* The task of a track. Returns NULL if out of memory. */
static inline struct uft_task *task_of(struct uft_lane *l, uint32_t track)
{
	if (!l->task || l->task->track != track)
		l->task = task_make(l, track);
	return l->task;
}

static uint64_t time_of(const struct uft_lane *l, const struct spur_event *row)
{
	int64_t t;

	if (!__builtin_sub_overflow(row->ts, l->self->write->zero, &t) && t >= 0)
		return (uint64_t)t;
	loss_add(&l->self->write->loss, LOST_TIME, row->kind);
	return 0;
}

static void task_seen(struct uft_task *t, uint64_t time)
{
	t->first = time < t->first ? time : t->first;
	t->last = time > t->last ? time : t->last;
}

/* A record with the payload of the lane. Returns false if out of memory. */
static bool item_put(struct uft_lane *l, struct uft_task *t, uint64_t time, uint64_t word)
{
	uint8_t *p = (uint8_t *)spool_room(&l->self->spool, &t->seq, RECORD + l->len);

	if (!p)
		return false;
	if (l->len)
		word |= RECORD_MORE | (uint64_t)(l->len / 8) << ITEM_WORDS;
	memcpy(p, &time, 8);
	memcpy(p + 8, &word, 8);
	if (l->len)
		memcpy(p + RECORD, l->payload, l->len);
	spool_add(&t->seq, RECORD + l->len);
	task_seen(t, time);
	return true;
}

/* SPEC uftrace/made-depth: the record has the depth modulo 1,024, its address the rest */
static bool call_put(struct uft_lane *l, struct uft_task *t, const struct spur_event *row,
		     uint32_t symbol, enum record_type type)
{
	const uint64_t over = t->depth >> 10 < ITEM_OVER_MAX ? t->depth >> 10 : ITEM_OVER_MAX;

	if (t->depth > UINT16_MAX)
		loss_add(&l->self->write->loss, LOST_DEPTH, row->kind);
	l->deepest = t->depth > l->deepest ? t->depth : l->deepest;
	t->calls++;
	return item_put(l, t, time_of(l, row),
			(uint64_t)type | MAGIC_BITS |
				(uint64_t)(t->depth & DEPTH_MASK) << DEPTH_SHIFT |
				(uint64_t)symbol << ITEM_SYMBOL | over << ITEM_OVER);
}

static bool begin_put(struct uft_lane *l, struct uft_task *t, const struct spur_event *row)
{
	uint32_t symbol;

	if (!uft_args(l, row, false) || !symbol_of(l, row->cls, USE_CALL, 0, &symbol) ||
	    !mem_grow((void **)&t->open, &t->open_cap, (size_t)t->depth + 1, sizeof(*t->open),
		      SIZE_MAX / sizeof(*t->open)) ||
	    !call_put(l, t, row, symbol, RECORD_ENTRY))
		return false;
	t->open[t->depth++] = symbol;
	return true;
}

/* An end whose begin is not in the data. Inside of open calls it would end these. */
static bool orphan_put(struct uft_lane *l, struct uft_task *t, const struct spur_event *row)
{
	uint32_t symbol;

	if (t->depth) {
		loss_add(&l->self->write->loss, LOST_GAP, row->kind);
		return true;
	}
	return uft_args(l, row, true) &&
	       symbol_of(l, row->cls, l->nsig ? USE_RETURN : USE_CALL, 0, &symbol) &&
	       call_put(l, t, row, symbol, RECORD_EXIT);
}

bool uft_end(void *lane, const struct spur_event *row, const struct write_end *end, struct out *o)
{
	struct uft_lane *l = lane;
	struct uft_task *t;
	uint32_t symbol;

	(void)o;
	if (l->kept)
		return end->implied || (row->flags & SPUR_F_IMPLIED) ||
		       kept_add(l->kept, row->stream, row->off);
	t = task_of(l, row->track);
	if (!t || !t->depth)
		return t != NULL;
	l->len = l->nsig = 0;
	if (!end->implied && !end->whole && !uft_args(l, row, true))
		return false;
	symbol = t->open[--t->depth];
	return (!l->nsig || symbol_of(l, end->cls, USE_RETURN, 0, &symbol)) &&
	       call_put(l, t, row, symbol, RECORD_EXIT);
}

/* --- other rows --- */

/* SPEC uftrace/event-ids: user events have no payload */
static bool event_put(struct uft_lane *l, struct uft_task *t, const struct spur_event *row)
{
	uint32_t symbol;

	if (row->nargs && l->self->write->wants_args(l->self->write, row->cls))
		loss_add(&l->self->write->loss, LOST_ARGS, row->kind);
	l->len = l->nsig = 0;
	if (!symbol_of(l, row->cls, USE_EVENT, row->kind, &symbol))
		return false;
	t->events++;
	return item_put(l, t, time_of(l, row),
			(uint64_t)RECORD_EVENT | MAGIC_BITS | (uint64_t)symbol << ITEM_SYMBOL);
}

/* SPEC uftrace/lost: the number of records is the address */
static bool lost_put(struct uft_lane *l, struct uft_task *t, const struct spur_event *row)
{
	const uint64_t most = (UINT64_C(1) << 48) - 1, n = row->id < most ? row->id : most;
	const uint64_t word = RECORD_LOST | MAGIC_BITS | n << ADDRESS_SHIFT, time = 0;
	uint8_t *p = (uint8_t *)spool_room(&l->self->spool, &t->seq, RECORD);

	if (!p)
		return false;
	memcpy(p, &time, 8);
	memcpy(p + 8, &word, 8);
	spool_add(&t->seq, RECORD);
	t->events++;
	task_seen(t, time_of(l, row));
	return true;
}

static bool switch_put(struct uft_lane *l, struct uft_task *t, const struct spur_event *row)
{
	const unsigned out = row->flags & SPUR_F_OUT ? PERF_SWITCH_OUT : 0;
	const unsigned preempted = row->flags & SPUR_F_PREEMPTED ? PERF_SWITCH_PREEMPTED : 0;
	const struct uft_switch s = { .time = time_of(l, row),
				      .track = row->track,
				      .cpu = row->cpu == SPUR_NO_CPU ? 0 : row->cpu,
				      .misc = (uint16_t)(out | preempted) };
	char *p = spool_room(&l->self->spool, &l->switches, sizeof(s));

	if (!p)
		return false;
	memcpy(p, &s, sizeof(s));
	spool_add(&l->switches, sizeof(s));
	t->switched = true;
	return true;
}

/* The text of a log is its message alone; a counter has a name, too. */
static bool line_text(struct uft_lane *l, const struct spur_event *row, struct out *o)
{
	size_t len;
	const char *name = trace_string(l->self->trace, row->name, &len);

	out_clear(o);
	if (row->kind != SPUR_LOG || !row->nargs) {
		uft_text_out(o, name, len, false);
		if (row->nargs)
			out_char(o, ' ');
	}
	return uft_args_text(l, row, o);
}

/* SPEC uftrace/extern: a line with seconds and text */
static bool line_put(struct uft_lane *l, const struct spur_event *row)
{
	struct uft_line line = { .time = time_of(l, row), .track = row->track };
	char *p;

	if (!line_text(l, row, &l->text))
		return false;
	line.len = (uint32_t)l->text.len;
	if (line.len > LINE_TEXT) {
		line.len = LINE_TEXT;
		while (line.len > LINE_TEXT - 4 && ((uint8_t)l->text.buf[line.len] & 0xc0) == 0x80)
			line.len--;
		loss_add(&l->self->write->loss, LOST_TEXT, row->kind);
	}
	p = spool_room(&l->self->spool, &l->lines, sizeof(line) + align_up(line.len, 8));
	if (!p)
		return false;
	memcpy(p, &line, sizeof(line));
	if (line.len)
		memcpy(p + sizeof(line), l->text.buf, line.len);
	spool_add(&l->lines, sizeof(line) + align_up(line.len, 8));
	return true;
}

/* A record of a uftrace source. */
static bool row_keep(struct uft_lane *l, const struct spur_event *row)
{
	if (row->nargs && kind_is_call(row->kind) && !l->self->bare &&
	    !l->self->write->wants_args(l->self->write, row->cls))
		__atomic_store_n(&l->self->bare, true, __ATOMIC_RELAXED);
	return (row->flags & SPUR_F_IMPLIED) || kept_add(l->kept, row->stream, row->off);
}

bool uft_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct uft_lane *l = lane;
	struct uft_task *t;

	(void)o;
	if (l->kept)
		return row_keep(l, row);
	t = task_of(l, row->track);
	if (!t)
		return false;
	l->len = l->nsig = 0;
	switch (row->kind) {
	case SPUR_BEGIN:
		return begin_put(l, t, row);
	case SPUR_END_SPAN:
		return orphan_put(l, t, row);
	case SPUR_LOST:
		return lost_put(l, t, row);
	case SPUR_SWITCH:
		return switch_put(l, t, row);
	case SPUR_LOG:
	case SPUR_COUNTER:
		return line_put(l, row);
	default:
		return event_put(l, t, row);
	}
}
