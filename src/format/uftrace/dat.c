/*
 * TID.dat: 16-byte records with payloads whose size only the argument specs tell. The hot loop of
 * the format.
 */
#include "format/uftrace/dat.h"

#include "base/pool.h"

enum {
	RESYNC_RUN = 3, /* plausible records in a row */
	MAX_LOST_FIRST = 64, /* LOST records looked past for a time */
	CACHE_START = 16, /* of each thread */
	CACHE_DENSE = 1 << 18, /* slots: 4 MiB */
	BIAS_RECORDS = 4096, /* looked at for a leaf call */
	BLOCK_MOST = 1024, /* records of a block of short calls */
	BLOCK_LEAST = 32,
	BLOCK_BETWEEN = 128, /* records as rows, where no such block begins */
	/* Bytes that what is not an ordinary record may have to be told by. */
	ODD_ROOM = RECORD + MAX_PAYLOAD + RESYNC_RUN * RECORD,
};

static_assert(SPUR_BEGIN == 0 && SPUR_END_SPAN == 1, "the record's lowest bit is the row's kind");

static const uint64_t one_hour = UINT64_C(3600) * 1000000000;
static const uint64_t time_end = UINT64_C(1) << 63; /* rows have signed times */

/* --- the address cache --- */

/*
 * Addresses are sign-extended from 48 bits: neither an event's key nor the mark of an empty slot is
 * one.
 */
static const uint64_t no_key = UINT64_C(1) << 62;

static inline uint64_t event_key(uint64_t id)
{
	return id | UINT64_C(1) << 61;
}

static inline uint32_t cache_index(const struct addr_cache *c, uint64_t key)
{
	return (uint32_t)(key * c->mult >> c->shift);
}

/* Puts a slot where it belongs; its key is not there. */
static struct addr_slot *cache_place(struct addr_cache *c, const struct addr_slot *slot)
{
	uint32_t i = cache_index(c, slot->key);

	while (c->slots[i].key != no_key)
		i = (i + 1) & (c->cap - 1);
	c->slots[i] = *slot;
	return &c->slots[i];
}

static void cache_empty(struct addr_cache *c)
{
	for (uint32_t i = 0; i < c->cap; i++)
		c->slots[i].key = no_key;
	c->count = 0;
}

static void cache_free_slots(struct addr_cache *c)
{
	pool_free(c->slots, c->cap * sizeof(*c->slots));
}

/* Twice as large. recent[] is all 0 then: a wrong guess is looked up. */
static bool cache_grow(struct addr_cache *c)
{
	struct addr_cache bigger = { .cap = c->cap ? c->cap * 2 : CACHE_START,
				     .mult = c->mult,
				     .window = c->window };

	bigger.slots = pool_alloc(bigger.cap * sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	bigger.shift = 64 - (uint32_t)__builtin_ctz(bigger.cap);
	cache_empty(&bigger);
	bigger.count = c->count;
	for (uint32_t i = 0; i < c->cap; i++)
		if (c->slots[i].key != no_key)
			cache_place(&bigger, &c->slots[i]);
	cache_free_slots(c);
	*c = bigger;
	return true;
}

static void cache_free(struct addr_cache *c)
{
	if (c)
		cache_free_slots(c);
	pool_free(c, sizeof(*c));
}

/* Without slots. Returns NULL if out of memory. */
static struct addr_cache *cache_new(void)
{
	struct addr_cache *c = pool_alloc(sizeof(*c));

	if (!c)
		return NULL;
	/* Whoever makes a file does not know where in memory its cache will be. */
	c->mult = hash64((uintptr_t)c) | 1;
	return c;
}

/* Empties it; costs no more than filling it did. */
static bool cache_clear(struct addr_cache *c)
{
	if (c->count < c->cap / 64) {
		cache_free_slots(c);
		*c = (struct addr_cache){ .mult = c->mult, .window = c->window };
		return cache_grow(c);
	}
	cache_empty(c);
	return true;
}

/*
 * The slots to use of those that there are. A cache of the usual size is kept sparse, so that the
 * first look hits; one that no CPU's cache holds anyway is not, as each function would cost
 * 256 bytes.
 */
static uint32_t cache_room(const struct addr_cache *c)
{
	return c->cap < CACHE_DENSE ? c->cap / 8 : c->cap / 2;
}

/* A new slot for the key, which is not in the cache. Returns NULL if out of memory. */
static const struct addr_slot *cache_add(struct uftrace *u, struct addr_cache *c, uint64_t key,
					 uint32_t cls)
{
	struct addr_slot slot = { .key = key };

	if (!cls || (c->count >= cache_room(c) && !cache_grow(c)))
		return NULL;
	slot.name_cls = row_pair(trace_class(u->t, cls)->name, cls);
	c->count++;
	return cache_place(c, &slot);
}

static const struct addr_slot *cache_find(const struct addr_cache *c, uint64_t key)
{
	for (uint32_t i = cache_index(c, key);; i = (i + 1) & (c->cap - 1)) {
		if (c->slots[i].key == key)
			return &c->slots[i];
		if (c->slots[i].key == no_key)
			return NULL;
	}
}

/* --- state of one call --- */

struct dat {
	struct uftrace *u;
	struct feed *f;
	struct uftrace_feed *uf;
	struct source *src;
	struct source view; /* `src` of a file that has no source */
	struct batch *b;
	uint64_t bound; /* rows at or past it wait: a side row comes first */
	uint64_t end; /* offset: records from there on are of the next part */
	uint32_t stream; /* of the file */
	uint16_t row_flags; /* of the next row */
	bool failed; /* memory */
};

static const char *dat_name(const struct dat *d)
{
	return uftrace_file_name(d->u, d->uf->file).p;
}

/* The session and modules that hold at `time`; the cache is emptied where they are others. */
static void set_window(struct dat *d, uint64_t time)
{
	struct addr_window *w = &d->uf->cache->window;
	const struct uftrace_data *data = &d->u->d;
	const struct uftrace_session *s =
		uftrace_session_span(data, d->uf->tid, time, &w->from, &w->until);

	if (!s && data->nsessions == 1)
		s = &data->sessions[0];
	uftrace_modules_span(s, time, &w->from, &w->until);
	if (w->until > time_end)
		w->until = time_end;
	w->session = s;
	d->failed = d->failed || !cache_clear(d->uf->cache);
}

static inline uint64_t time_stop(const struct dat *d)
{
	return window_stop(d->uf, d->bound);
}

/*
 * A record whose time is before the last one's, at the window's end, or at the bound. False: the
 * loop must stop here.
 */
static bool odd_time(struct dat *d, uint64_t time)
{
	struct uftrace_feed *uf = d->uf;

	uf->held = time >= d->bound;
	if (uf->held)
		return false;
	if (uf->started && time < uf->prev) {
		diag_add(&d->f->diag, DIAG_WARN, "uftrace/time-back", dat_name(d), uf->off, 0,
			 "record: expected a time of at least %llu ns, found %llu",
			 (unsigned long long)uf->prev, (unsigned long long)time);
		d->row_flags |= SPUR_F_BACK;
	}
	if (!uf->started || time < uf->cache->window.from || time >= uf->cache->window.until)
		set_window(d, time);
	uf->prev = time;
	uf->started = true;
	return !d->failed;
}

/* --- damage --- */

/* The task's session at the time, which may be another one than that of the last record. */
static const struct uftrace_session *session_at(const struct dat *d, uint64_t time)
{
	const struct addr_window *w = &d->uf->cache->window;
	const struct uftrace_data *data = &d->u->d;
	const struct uftrace_session *s;

	if (d->uf->started && time >= w->from && time < w->until)
		return w->session;
	s = uftrace_session_at(data, d->uf->tid, time);
	return !s && data->nsessions == 1 ? &data->sessions[0] : s;
}

/*
 * The record at `off` could be one: its length where its payload is known, RECORD where not; 0: no
 * record.
 */
static uint64_t plausible(const struct dat *d, uint64_t off, uint64_t *time)
{
	const uint8_t *p = d->src->data + off;
	uint64_t t = load64(p, d->u->swap), w = load64(p + 8, d->u->swap);
	uint64_t addr = (uint64_t)((int64_t)w >> 16);

	if ((w & MAGIC_MASK) != MAGIC_BITS || t >= time_end)
		return 0;
	/* A lost record never has a payload; the end of another one may look like that. */
	if ((w & 3) == RECORD_LOST)
		return t == 0 && addr && !(w & 4) ? RECORD : 0;
	if (*time && (t < *time || t - *time > one_hour))
		return 0;
	if ((w & 3) == RECORD_EVENT) {
		if (addr > UFTRACE_EV_EXTERN || (w >> 6 & DEPTH_MASK))
			return 0;
	} else if (!uftrace_addr_known(d->u, session_at(d, t), t, addr)) {
		return 0;
	}
	*time = t;
	return RECORD;
}

/* SPEC uftrace/resync: three plausible records in a row, or as many as are left */
static bool plausible_run(const struct dat *d, uint64_t off)
{
	uint64_t time = d->uf->prev;

	for (int i = 0; i < RESYNC_RUN && d->src->size - off >= RECORD; i++) {
		uint64_t len = plausible(d, off, &time);

		if (!len)
			return false;
		/*
		 * Where this one has a payload of unknown size, the next cannot be found: it has to
		 * do.
		 */
		if (load64(d->src->data + off + 8, d->u->swap) & 4)
			return true;
		off += len;
	}
	return true;
}

/* Returns the offset of the next plausible record, from `off` on. */
static uint64_t next_plausible(const struct dat *d, uint64_t off)
{
	for (;; off += 8) {
		while (!d->src->eof && d->src->size < off + RESYNC_RUN * RECORD &&
		       source_more(d->src))
			;
		if (d->src->size < off + RECORD)
			return d->src->size;
		if (plausible_run(d, off))
			return off;
	}
}

/*
 * Goes to the next plausible record after `lost`, from where on bytes are lost; what is wrong
 * stands at `at`.
 */
static void resync(struct dat *d, uint64_t lost, uint64_t at, const char *code,
		   const char *expected, unsigned long long found)
{
	struct uftrace_feed *uf = d->uf;
	const uint64_t off = next_plausible(d, lost);

	diag_add(&d->f->diag, DIAG_DAMAGE, code, dat_name(d), at, off - lost, expected, found);
	uf->off = off;
}

void uftrace_dat_close(struct uftrace_feed *uf)
{
	cache_free(uf->cache);
	uf->cache = NULL;
}

/* The end of the file with less than a record left. */
static void finish(struct dat *d)
{
	struct uftrace_feed *uf = d->uf;
	uint64_t left = d->src->size - uf->off;

	uf->ended = true;
	if (left)
		diag_add(&d->f->diag, DIAG_DAMAGE, "uftrace/torn-record", dat_name(d), uf->off,
			 left, "record: expected %d bytes, found %llu", RECORD,
			 (unsigned long long)left);
	if (d->src->error->code)
		diag_add(&d->f->diag, DIAG_DAMAGE, "uftrace/unreadable", dat_name(d), d->src->size,
			 0, "%s", d->src->error->message);
	uf->off = d->src->size;
	uftrace_dat_close(uf);
	d->u->t->streams[d->stream].size = d->src->size;
}

/* --- payloads --- */

static uint8_t arg_count(const struct plan *p)
{
	return p ? (uint8_t)(p->count < 255 ? p->count : 255) : 0;
}

/* Bytes at `off` that are there, after waiting for up to `want`. */
static uint64_t bytes_at(struct dat *d, uint64_t off, uint64_t want)
{
	source_need(d->src, off + want);
	return d->src->size > off ? d->src->size - off : 0;
}

/*
 * Length of the payload after a function record, or UINT64_MAX where it cannot be known. A payload
 * that is cut by the end
 * of the file is as long as what is left.
 */
static uint64_t payload_length(struct dat *d, const struct plan *plan)
{
	uint64_t off = d->uf->off + RECORD, left;
	bool fits;
	size_t used;

	if (!plan)
		return UINT64_MAX;
	do {
		left = bytes_at(d, off, 0);
		fits = plan_run(plan, d->src->data + off, left < MAX_PAYLOAD ? left : MAX_PAYLOAD,
				NULL, &used) != SPUR_WARN &&
		       used <= left;
	} while (!fits && left < MAX_PAYLOAD && source_more(d->src));
	if (!fits) {
		if (left >= MAX_PAYLOAD)
			return UINT64_MAX;
		diag_add(&d->f->diag, DIAG_DAMAGE, "uftrace/torn-record", dat_name(d), d->uf->off,
			 left, "payload: expected %s%llu bytes, found %llu",
			 used > left ? "" : "more than ", (unsigned long long)used,
			 (unsigned long long)left);
		return left;
	}
	return used;
}

/*
 * SPEC uftrace/killed-specs: without `info`, the recorder may have been told other specs than those
 * of the `.dbg` file. They are right if a record follows, or the file ends.
 */
static bool payload_ends(struct dat *d, uint64_t end)
{
	if (d->u->d.info.have || bytes_at(d, end, RECORD) < RECORD)
		return true;
	return (load64(d->src->data + end + RECORD_AT_WORD, d->u->swap) & MAGIC_MASK) == MAGIC_BITS;
}

/*
 * SPEC uftrace/follow-args: which arguments a record has is known when the recording has ended. The
 * row has none until then.
 */
static void skip_payload(struct dat *d, struct spur_event *row)
{
	struct uftrace_feed *const uf = d->uf;
	const uint64_t at = uf->off;

	uf->off = next_plausible(d, at + RECORD);
	if (uf->off - at <= RECORD + MAX_PAYLOAD)
		row->len = (uint32_t)(uf->off - at);
	if (!uf->blind)
		diag_add(&d->f->diag, DIAG_NOTE, "uftrace/follow-args", dat_name(d), at, 0,
			 "records with arguments: their arguments are shown when the recording is "
			 "opened after its end");
	uf->blind = true;
}

/* A function record with a payload: the row's length and the step to the next record. */
static void read_payload(struct dat *d, struct spur_event *row)
{
	const struct event_class *c = trace_class(d->u->t, row->cls);
	const struct plan *plan = class_plan(c, row->kind != SPUR_BEGIN);
	uint64_t at = d->uf->off, len;

	if (d->u->follow && !d->u->d.info.have) {
		skip_payload(d, row);
		return;
	}
	len = payload_length(d, plan);
	if (len == UINT64_MAX || !payload_ends(d, at + RECORD + len)) {
		resync(d, at + RECORD, at, "uftrace/unknown-payload",
		       "payload: expected argument specs for the function at 0x%llx that fit it, "
		       "found none",
		       (unsigned long long)row->id);
		return;
	}
	row->len = RECORD + (uint32_t)len;
	row->nargs = arg_count(plan);
	d->uf->off = at + RECORD + len;
}

/* --- records that are not calls --- */

static struct spur_event *plain_row(struct dat *d, uint64_t time, uint32_t cls, unsigned kind)
{
	struct spur_event *row = &d->b->rows[d->b->count++];
	const struct event_class *c = trace_class(d->u->t, cls);

	*row = (struct spur_event){
		.ts = (int64_t)time,
		.off = d->uf->off,
		.len = RECORD,
		.track = d->f->track,
		.name = c->name,
		.cat = c->cat,
		.stream = d->stream,
		.cls = cls,
		.kind = (uint8_t)kind,
		.cpu = SPUR_NO_CPU,
		.flags = d->row_flags,
		.depth = (uint16_t)(d->uf->depth < UINT16_MAX ? d->uf->depth : UINT16_MAX),
	};
	d->row_flags = 0;
	return row;
}

/*
 * The time of the first record after LOST ones at the beginning of the file; 0 where what follows
 * is no record.
 */
static uint64_t first_time(struct dat *d)
{
	uint64_t off = d->uf->off + RECORD, w;

	for (unsigned i = 0; i < MAX_LOST_FIRST && bytes_at(d, off, RECORD) >= RECORD;
	     i++, off += RECORD) {
		w = load64(d->src->data + off + 8, d->u->swap);
		if ((w & MAGIC_MASK) != MAGIC_BITS)
			break;
		if ((w & 3) != RECORD_LOST) {
			uint64_t time = load64(d->src->data + off, d->u->swap);

			return time < time_end ? time : 0;
		}
	}
	return 0;
}

/* SPEC uftrace/lost: time 0, addr = number of lost records; it is given its neighbour's time */
static bool read_lost(struct dat *d, uint64_t count)
{
	struct uftrace_feed *uf = d->uf;
	uint64_t time = uf->started ? uf->prev : first_time(d);
	uint32_t cls = uftrace_lost_class(d->u);
	struct spur_event *row;

	uf->held = time >= d->bound;
	if (uf->held)
		return false;
	if (!cls) {
		d->failed = true;
		return false;
	}
	row = plain_row(d, time, cls, SPUR_LOST);
	row->id = count;
	row->flags |= SPUR_F_RETIMED;
	read_count(&d->u->t->read.discarded, count);
	diag_add(&d->f->diag, DIAG_WARN, "uftrace/lost", dat_name(d), uf->off, 0,
		 "the recorder lost %llu records here (its buffers were full)",
		 (unsigned long long)count);
	uf->off += RECORD;
	return true;
}

static bool read_event(struct dat *d, uint64_t time, uint64_t id, bool more)
{
	struct uftrace_feed *uf = d->uf;
	const struct addr_slot *slot = cache_find(uf->cache, event_key(id));
	uint64_t at = uf->off, len = 0, left;
	struct spur_event *row;
	bool counter = id >= UFTRACE_EV_READ_STATM && id <= UFTRACE_EV_DIFF_BRANCH;

	if (!slot)
		slot = cache_add(d->u, uf->cache, event_key(id), uftrace_event_class(d->u, id));
	if (!slot) {
		d->failed = true;
		return false;
	}
	row = plain_row(d, time, slot_class(slot), counter ? SPUR_COUNTER : SPUR_INSTANT);
	row->id = id;
	uf->off = at + RECORD;
	if (!more)
		return true;
	left = bytes_at(d, uf->off, 2);
	if (left >= 2) {
		len = align_up(2 + (uint64_t)load16(d->src->data + uf->off, d->u->swap), 8);
		left = bytes_at(d, uf->off, len);
	}
	if (len > MAX_PAYLOAD) {
		resync(d, uf->off, at, "uftrace/bad-payload",
		       "event payload: expected at most 1020 bytes, found %llu", len);
		return true;
	}
	if (left < len || left < 2)
		diag_add(&d->f->diag, DIAG_DAMAGE, "uftrace/torn-record", dat_name(d), at, left,
			 "event payload: expected %llu bytes, found %llu",
			 (unsigned long long)(len ? len : 2), (unsigned long long)left);
	row->len = RECORD + (uint32_t)(left < len ? left : len);
	row->nargs = uftrace_event_args(d->u, row);
	uf->off = at + row->len + (left < 2 ? left : 0);
	return true;
}

/*
 * SPEC uftrace/depth: beyond 1,023 it is the value nearest to what the stack says; what overflowed
 * was added to the address.
 */
static uint32_t true_depth(uint32_t low, uint32_t expect, uint64_t *addr)
{
	uint32_t d = (expect & ~(uint32_t)DEPTH_MASK) | low;

	if (d > expect + DEPTH_SURE && d > DEPTH_MASK)
		d -= DEPTH_MASK + 1;
	else if (d + DEPTH_SURE < expect)
		d += DEPTH_MASK + 1;
	*addr -= d >> 10;
	return d;
}

/*
 * Bytes for the next record are there. Waits only while the batch is empty; false: stop (batch full
 * of what there is, or the end).
 */
static bool have_record(struct dat *d)
{
	if (d->uf->off >= d->end) {
		d->uf->ended = true;
		uftrace_dat_close(d->uf);
		return false;
	}
	while (d->src->size - d->uf->off < RECORD) {
		if (d->uf->grows || (d->b->count && !d->src->eof))
			return false;
		if (!source_more(d->src)) {
			finish(d);
			return false;
		}
	}
	return true;
}

const struct addr_slot *uftrace_slot(struct uftrace *u, struct uftrace_feed *uf, uint64_t time,
				     uint64_t addr)
{
	struct addr_cache *const c = uf->cache;
	const struct addr_slot *slot = cache_find(c, addr);

	if (slot)
		return slot;
	return cache_add(u, c, addr, uftrace_class(u, c->window.session, time, addr));
}

static const struct addr_slot *find_slot(struct dat *d, uint64_t time, uint64_t addr)
{
	const struct addr_slot *slot = uftrace_slot(d->u, d->uf, time, addr);

	d->failed = d->failed || !slot;
	return slot;
}

static inline struct row_words call_words(const struct dat *d, uint32_t exit)
{
	/* SPEC uftrace/estimate */
	bool estimated = exit && (d->u->d.info.features >> UFTRACE_ESTIMATE_RETURN & 1);

	return (struct row_words){
		.len_track = row_pair(RECORD, d->f->track),
		.stream_cat = row_pair(d->stream, 0),
		.rest = row_rest(exit, SPUR_F_DEPTH | (estimated ? SPUR_F_ESTIMATED : 0),
				 SPUR_NO_CPU, 0),
	};
}

/* One ENTRY or EXIT, of any depth, with or without payload. False: the loop must stop here. */
static bool read_call(struct dat *d, uint64_t time, uint64_t w)
{
	struct uftrace_feed *uf = d->uf;
	struct row_words words = call_words(d, w & 1);
	uint64_t addr = (uint64_t)((int64_t)w >> 16);
	uint32_t exit = w & 1, low = w >> 6 & DEPTH_MASK;
	uint32_t depth = low && !exit ? low - uf->entry_bias : low;
	struct spur_event *row = &d->b->rows[d->b->count];
	const struct addr_slot *slot;

	if (!d->u->shallow)
		depth = true_depth(depth, uf->depth - (uf->depth ? exit : 0), &addr);
	slot = find_slot(d, time, addr);
	if (!slot)
		return false;
	words.name_cls = slot->name_cls;
	row_store(row, time, addr, uf->off, words);
	row->depth = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
	row->flags |= d->row_flags;
	d->row_flags = 0;
	d->b->count++;
	uf->prev = time;
	uf->depth = depth + 1 - exit;
	if (w & 4)
		read_payload(d, row);
	else
		uf->off += RECORD;
	return true;
}

/* Anything but an ordinary ENTRY or EXIT. False: the loop must stop here. */
static bool odd_record(struct dat *d, uint64_t time, uint64_t w)
{
	struct uftrace_feed *uf = d->uf;

	/* It may have to wait for what is after it: what came before is handed out first. */
	if (d->b->count && !d->src->eof && d->src->size - uf->off < RECORD + MAX_PAYLOAD)
		return false;
	/* SPEC uftrace/follow-torn: so it does in a file of which more may be written right now. */
	if (uf->grows && !uf->settled && d->src->size - uf->off < ODD_ROOM)
		return false;
	if ((w & MAGIC_MASK) != MAGIC_BITS) {
		resync(d, uf->off, uf->off, "uftrace/bad-magic",
		       "record: expected magic 5, found %llu", w >> 3 & 7);
		return true;
	}
	if ((w & 3) == RECORD_LOST)
		return read_lost(d, w >> 16);
	if (time >= time_end) {
		resync(d, uf->off, uf->off, "uftrace/bad-time",
		       "record: expected a time below 2^63 ns, found %llu", time);
		return true;
	}
	if (time - uf->prev >= time_stop(d) - uf->prev && !odd_time(d, time))
		return false;
	uf->prev = time;
	return (w & 3) == RECORD_EVENT ? read_event(d, time, w >> 16, w & 4)
				       : read_call(d, time, w);
}

/*
 * Ordinary records: ENTRY and EXIT without payload, at depths below DEPTH_SURE, in time order
 * before `stop`. Returns the first that is none of these, or `end`. Whether a record is an EXIT is
 * not predictable: an EXIT's slot is found by its depth, an ENTRY's by its address; both indexes
 * are made and one is taken.
 */
static inline __attribute__((always_inline)) const uint8_t *
take_run(struct dat *d, const uint8_t *p, const uint8_t *end, uint64_t stop, bool swap)
{
	const uint8_t *const base = d->src->data;
	struct addr_cache *const cache = d->uf->cache;
	const uint64_t rest[2] = { call_words(d, 0).rest, call_words(d, 1).rest };
	struct row_words words = call_words(d, 0);
	struct spur_event *row = &d->b->rows[d->b->count];
	struct addr_slot *slots = cache->slots;
	uint64_t prev = d->uf->prev, mult = cache->mult;
	uint32_t shift = cache->shift;

	for (; p < end; p += RECORD, row++) {
		const uint64_t t = load64(p, swap), w = load64(p + 8, swap);
		const uint64_t addr = (uint64_t)((int64_t)w >> 16);
		uint32_t *const recent = &cache->recent[(w >> 6) % RECENT];
		uint32_t index = (uint32_t)(addr * mult >> shift);
		const struct addr_slot *slot;

		source_ahead(p, 0);
		if (__builtin_expect((w & ORDINARY_MASK) != MAGIC_BITS, 0) ||
		    __builtin_expect(t - prev >= stop - prev, 0))
			break;
		index ^= (index ^ *recent) & (0 - (uint32_t)(w & 1));
		slot = &slots[index];
		if (__builtin_expect(slot->key != addr, 0)) {
			slot = find_slot(d, t, addr);
			if (!slot)
				break;
			slots = cache->slots;
			shift = cache->shift;
			index = (uint32_t)(slot - slots);
		}
		*recent = index;
		words.name_cls = slot->name_cls;
		words.rest = rest[w & 1] | row_rest(0, 0, 0, w >> 6 & DEPTH_MASK);
		row_store(row, t, addr, (uint64_t)(p - base), words);
		prev = t;
	}
	return p;
}

/*
 * Ordinary records that take less time than calls that are wanted (struct batch, short_ns). A call
 * that begins and ends among them is one of those that are not, whatever is around it. What is left
 * are EXITs of calls that were open before, and ENTRYs of calls that are open after.
 */
struct short_block {
	const uint8_t *p;
	uint32_t n; /* records */
	uint32_t low, depth; /* the lowest depth, and that after the last one */
	uint32_t nexits;
	uint16_t exits[DEPTH_SURE + 1];
	uint16_t last[DEPTH_MASK + 1]; /* record of each depth: of those still open, the ENTRY */
};

/*
 * Finds such EXITs and ENTRYs, and checks that all records are ordinary, in order of time, and that
 * their depths follow from each other. Returns false if not; the block is not used then.
 * INVARIANT: `next` is what the low half of the next word must be if it is that of an ENTRY.
 */
static bool block_scan(struct short_block *b, uint32_t depth, uint64_t prev)
{
	/* By ENTRY and EXIT: a table on the stack takes the fewest instructions. */
	const struct {
		uint32_t word, step;
	} add[] = { { 0, 1u << DEPTH_SHIFT },
		    { 1u - (1u << DEPTH_SHIFT), 0u - (1u << DEPTH_SHIFT) } };
	const uint32_t half = UINT16_MAX;
	uint32_t next = depth << DEPTH_SHIFT | MAGIC_BITS, low = next, bad = 0;
	uint64_t all = 0, back = 0;

	b->nexits = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		const uint8_t *const p = b->p + (size_t)i * RECORD;
		const uint64_t t = load64(p, false), w = load64(p + RECORD_AT_WORD, false);
		const uint32_t word = next + add[w & 1].word;

		source_ahead(p, 0);
		all |= w;
		back |= t - prev;
		bad |= (uint32_t)w ^ word;
		b->last[(word & half) >> DEPTH_SHIFT] = (uint16_t)i;
		prev = t;
		next += add[w & 1].step;
		if (__builtin_expect(next < low, 0)) {
			b->exits[b->nexits++] = (uint16_t)i;
			low = next;
		}
	}
	b->low = low >> DEPTH_SHIFT;
	b->depth = next >> DEPTH_SHIFT;
	return !(bad & half) && !(all & ORDINARY_MASK & ~(uint64_t)MAGIC_BITS) && !(back >> 63) &&
	       b->depth - b->low <= DEPTH_SURE;
}

/* Makes rows of a block; they are in order of time. Returns false if out of memory. */
static bool block_rows(struct dat *d, const struct short_block *b)
{
	for (uint32_t i = 0; i < b->nexits + b->depth - b->low; i++) {
		const uint32_t at = i < b->nexits ? b->exits[i] : b->last[b->low + i - b->nexits];
		const uint8_t *p = b->p + (size_t)at * RECORD;

		if (take_run(d, p, p + RECORD, UINT64_MAX, false) == p)
			return false;
		d->b->count++;
		d->uf->prev = load64(p, false);
	}
	return true;
}

/*
 * The records from `p` on that take less than the batch's short_ns and end before `stop`; 0: too
 * few of them.
 */
static uint32_t block_size(const struct dat *d, const uint8_t *p, uint64_t stop)
{
	const uint64_t left = (d->src->size - d->uf->off) / RECORD, begin = load64(p, false);
	const uint64_t least = (uint64_t)d->b->short_ns;
	const uint64_t most = stop < time_end ? stop : time_end;
	const uint64_t until = most - begin < least ? most : begin + least;
	uint32_t n = left < BLOCK_MOST ? (uint32_t)left : BLOCK_MOST;

	/* Where calls are not short, this is all that is looked at. */
	if (begin < d->uf->prev || begin >= most || n < BLOCK_LEAST ||
	    load64(p + (BLOCK_LEAST - 1) * RECORD, false) >= until)
		return 0;
	while (load64(p + (size_t)(n - 1) * RECORD, false) >= until && n > BLOCK_LEAST)
		n -= n / 4;
	return n < BLOCK_LEAST ? BLOCK_LEAST : n;
}

/* Skips blocks of calls that are too short. Returns false if out of memory. */
static bool skip_short(struct dat *d, uint64_t stop)
{
	struct uftrace_feed *uf = d->uf;
	struct short_block b;
	uint32_t rows;

	while (uf->depth <= DEPTH_SURE && d->src->size - uf->off >= BLOCK_LEAST * RECORD) {
		b.p = d->src->data + uf->off;
		b.n = block_size(d, b.p, stop);
		if (!b.n || !block_scan(&b, uf->depth, uf->prev))
			break;
		rows = b.nexits + b.depth - b.low;
		if (rows > d->b->cap - d->b->count)
			break;
		if (!block_rows(d, &b))
			return false;
		uf->off += (uint64_t)b.n * RECORD;
		uf->prev = load64(b.p + (size_t)(b.n - 1) * RECORD, false);
		uf->depth = b.depth;
		read_count(&d->u->t->read.records, b.n - rows);
		read_count(&d->u->t->read.passed, (uint64_t)(b.n - rows) * RECORD);
	}
	return true;
}

/*
 * At most `n` records, up to the first that is not an ordinary one, and that one. False: the loop
 * must stop here.
 * Invariant: uf->off, prev and depth are those after the last row, here and at each return.
 */
static bool read_run(struct dat *d, uint64_t stop, uint64_t n)
{
	struct uftrace_feed *uf = d->uf;
	const uint8_t *const start = d->src->data + uf->off;
	const uint8_t *const end = start + n * RECORD;
	const uint8_t *p = start;

	if (uf->depth <= DEPTH_SURE && !uf->entry_bias)
		p = d->u->swap ? take_run(d, p, end, stop, true) : take_run(d, p, end, stop, false);
	if (p > start) {
		const uint64_t w = load64(p - 8, d->u->swap);

		d->b->count += (uint32_t)((p - start) / RECORD);
		uf->off += (uint64_t)(p - start);
		uf->prev = load64(p - RECORD, d->u->swap);
		uf->depth = (uint32_t)((w >> 6 & DEPTH_MASK) + 1 - (w & 1));
	}
	if (d->failed || p == end)
		return !d->failed;
	return odd_record(d, load64(p, d->u->swap), load64(p + 8, d->u->swap));
}

/* Whole records that are there; the last one may reach beyond the end of the part. */
static uint64_t records_left(const struct dat *d)
{
	if (d->end < d->src->size)
		return (d->end - d->uf->off + RECORD - 1) / RECORD;
	return (d->src->size - d->uf->off) / RECORD;
}

/* Records until something stops it. False: the loop must stop here. */
static bool read_calls(struct dat *d)
{
	const struct uftrace_feed *uf = d->uf;
	const uint64_t stop = time_stop(d);
	const bool sparse = d->b->short_ns > 0 && uf->started && !uf->entry_bias && !d->u->swap &&
			    !d->row_flags;
	uint64_t fit, room;

	if (sparse && !skip_short(d, stop))
		return false;
	fit = records_left(d);
	room = d->b->cap - d->b->count;
	room = sparse && room > BLOCK_BETWEEN ? BLOCK_BETWEEN : room;
	return read_run(d, stop, fit < room ? fit : room);
}

/*
 * SPEC uftrace/qemu-depth: QEMU's plugin counts ENTRY depths from 1 and gives the EXIT one less; a
 * later version of it does
 * not. The first leaf call (an ENTRY followed by its EXIT) tells.
 */
static uint8_t find_bias(const struct dat *d)
{
	const uint8_t *p = d->src->data;

	/*
	 * On a pipe this waits: the recorder writes the first ENTRYs together with the first EXIT.
	 */
	for (uint64_t i = 0; i < BIAS_RECORDS && source_need(d->src, (i + 2) * RECORD);
	     i++, p += RECORD) {
		uint64_t a = load64(p + 8, d->u->swap), b = load64(p + RECORD + 8, d->u->swap);

		if ((a & (MAGIC_MASK | 7)) == MAGIC_BITS &&
		    (b & (MAGIC_MASK | 7)) == (MAGIC_BITS | RECORD_EXIT) && a >> 16 == b >> 16)
			return (a >> 6 & DEPTH_MASK) == (b >> 6 & DEPTH_MASK) + 1 ? 1 : 0;
	}
	return 0;
}

enum spur_status uftrace_dat_next(struct uftrace *u, struct feed *f, struct uftrace_feed *uf,
				  struct batch *b, uint64_t bound)
{
	struct dat d = {
		.u = u, .f = f, .uf = uf, .b = b, .bound = bound, .end = uftrace_part_end(uf)
	};
	uint64_t from;

	if (!uftrace_open_dat(u, uf->file, &f->diag)) {
		uf->ended = true;
		return SPUR_OK;
	}
	if (!uf->cache && !(uf->cache = cache_new()))
		return SPUR_FAIL;
	if (!uf->cache->cap && !cache_grow(uf->cache))
		return SPUR_FAIL;
	/* A part that goes on where the one before it has ended. */
	if (uf->started && !uf->cache->window.until)
		set_window(&d, uf->prev);
	d.src = uftrace_file_source(uf->file, &d.view);
	d.stream = uftrace_file_stream(u, uf->file);
	from = uf->off;
	uf->held = false;
	if (u->qemu && !uf->started && !uf->off)
		uf->entry_bias = find_bias(&d);
	if (!b->sink || b->count || !uftrace_sum(u, uf, d.src, b, bound))
		while (!uf->ended && b->count < b->cap && have_record(&d))
			if (!read_calls(&d))
				break;
	source_passed(d.src, from, uf->off);
	return d.failed ? SPUR_FAIL : SPUR_OK;
}
