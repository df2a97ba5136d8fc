/*
 * Events counted without rows (model/tally.h): only their headers are read, and of their fields
 * what their sizes depend on. The class says the rest (enum ctf_sum). Events whose class does not,
 * other headers than the usual ones and whatever is odd are left to rows.c.
 */
#include "format/ctf/head.h"
#include "format/ctf/tracks.h"
#include "model/tally.h"

static_assert((uint64_t)CTF_COUNT_BYTES / CTF_WIRE_COMPACT * CTF_SUM_ARGS_MOST <= UINT32_MAX,
	      "arguments that one call counts");

/* One call counts so few events that the clock cannot overflow from there on. */
static const uint64_t CLOCK_MOST = UINT64_MAX - ((uint64_t)CTF_COUNT_BYTES << CTF_WIRE_LARGE_TIME);

/* The events that one call counts. */
struct counting {
	struct ctf_feed *f;
	struct tally *tally;
	uint64_t need; /* flags of enum ctf_sum that their classes have */
	uint64_t rows; /* so far, where tracks are wanted */
	uint64_t clock; /* of the last of them */
	/* Where tracks are wanted: */
	const uint8_t *body; /* of the last event of the packet; NULL: none yet */
	uint64_t lead; /* of its thread, if `same` */
	bool same; /* an event with that lead has that thread */
	struct tally_run run; /* from its first event on; `rows` is how many were before it */
	bool failed; /* out of memory */
	/* By kind: events, and from CTF_SUM_NARGS on their arguments. */
	uint64_t sums[SPUR_KINDS];
};

static int64_t time_of(const struct counting *s, uint64_t clock)
{
	return class_time(s->f->ctf, s->f->class, clock);
}

/* Hands out the run of events that ends with the last one. Returns false if out of memory. */
static bool run_end(struct counting *s)
{
	struct tally_run run = s->run;

	run.rows = s->rows - s->run.rows;
	run.last = time_of(s, s->clock);
	s->run.rows = s->rows;
	s->failed |= run.rows && !s->tally->run(s->tally->self, &run);
	return !s->failed;
}

/* The next event, at that clock, may be another thread's. Returns false if out of memory. */
static __attribute__((noinline)) bool thread_next(struct counting *s, const uint8_t *body,
						  uint64_t clock)
{
	struct ctf_feed *const f = s->f;
	const int64_t ts = time_of(s, clock);
	const int64_t before = s->rows ? time_of(s, s->clock) : f->last_ts;
	const uint32_t track = event_track(f, f->class, body, ts, s->body, before);

	s->lead = f->last_lead;
	s->same = f->class->lead.there;
	if (!s->tally->by_track || (s->rows && track == s->run.track))
		return true;
	if (!run_end(s))
		return false;
	s->run.track = track;
	s->run.first = ts;
	return true;
}

/*
 * The end of the fields of an event whose size its class does not say. Returns NULL if they have to
 * be read otherwise, or if the event is so large that its arguments may be too many.
 */
static __attribute__((noinline)) const uint8_t *varying_end(struct counting *s, uint32_t id,
							    const uint8_t *body, const uint8_t *end)
{
	const struct ctf_class *const k = s->f->class;
	struct ctf_cursor *const c = &s->f->cursor;
	const uint8_t *q;

	c->slots[k->id_slot] = id;
	q = bytes_skip(k->known[id].skip, c, body, end);
	return q && q - body <= BYTE_ELEMENTS - CTF_WIRE_LARGE ? q : NULL;
}

/* Counts events from `p` on, and returns the first that is not counted. */
static inline __attribute__((always_inline)) const uint8_t *
count_some(struct counting *s, const uint8_t *p, enum usual_header usual, bool threads)
{
	struct ctf_cursor *const c = &s->f->cursor;
	const struct ctf_class *const k = s->f->class;
	const uint64_t *const sums = k->sums;
	const uint32_t head = head_bytes(usual), nknown = k->nknown;
	const uint64_t need = s->need, due = s->f->due,
		       ones = (uint64_t)CTF_SUM_ARGS_MOST << CTF_SUM_NARGS | 1;
	const uint8_t *const end = c->data + c->limit / 8;
	/* Before it each event has its header and another byte. */
	const uint8_t *const stop =
		(uint64_t)(end - p) > CTF_COUNT_BYTES + head ? p + CTF_COUNT_BYTES : end - head;
	uint64_t clock = s->clock;

	/* INVARIANT: p <= end; events up to `p` are counted; `clock` is that of the last one. */
	while (p < stop) {
		const uint8_t *const body = p + head, *q;
		uint64_t now, sum, size;
		uint32_t id;

		source_ahead(p, 0);
		if (unlikely(!head_id(usual, p, &id) || id >= nknown))
			break;
		now = head_clock(usual, p, clock);
		sum = __atomic_load_n(&sums[id], __ATOMIC_ACQUIRE);
		if (unlikely((sum & need) != need) || unlikely(now > due))
			break;
		size = ctf_sum_size(sum);
		/* A size of 0 wraps. */
		if (size - 1 < (size_t)(end - body))
			q = body + size;
		else if (!(q = varying_end(s, id, body, end)))
			break;
		if (threads && (!s->same || unlikely(lead_of(&k->lead, body) != s->lead)) &&
		    unlikely(!thread_next(s, body, now)))
			break;
		s->sums[sum >> CTF_SUM_KIND & UINT8_MAX] += sum & ones;
		if (threads) {
			s->rows++;
			s->clock = now;
			s->body = body;
		}
		clock = now;
		p = q;
	}
	s->clock = clock;
	return p;
}

static __attribute__((noinline)) const uint8_t *count_large(struct counting *s, const uint8_t *p)
{
	return count_some(s, p, USUAL_LARGE, false);
}

static __attribute__((noinline)) const uint8_t *count_large_threads(struct counting *s,
								    const uint8_t *p)
{
	return count_some(s, p, USUAL_LARGE, true);
}

static __attribute__((noinline)) const uint8_t *count_compact(struct counting *s, const uint8_t *p)
{
	return count_some(s, p, USUAL_COMPACT, false);
}

static __attribute__((noinline)) const uint8_t *count_compact_threads(struct counting *s,
								      const uint8_t *p)
{
	return count_some(s, p, USUAL_COMPACT, true);
}

/* Adds what was counted to the tally. */
static void counting_end(struct counting *s)
{
	struct tally *const t = s->tally;

	s->rows = 0;
	for (unsigned i = 0; i < SPUR_KINDS; i++) {
		const uint64_t n = s->sums[i] & UINT32_MAX;

		t->kinds[i] += n;
		t->nargs += s->sums[i] >> CTF_SUM_NARGS;
		s->rows += n;
	}
	run_end(s);
	read_count(&s->f->ctf->t->read.records, s->rows);
}

/* Whether an event's arguments are all that its class's fields say. */
static bool has_plain_args(const struct ctf_feed *f)
{
	return !f->ctf->has_own && !(f->ctf->symbols && f->class->ip_at != UINT32_MAX);
}

bool ctf_count(struct ctf_feed *f, struct batch *b)
{
	struct ctf_cursor *const c = &f->cursor;
	const struct ctf_class *const k = f->class;
	struct tally *const t = b->tally;
	const bool threads = t->tracks && k->tid_slot != CTF_NO_SLOT;
	const uint8_t *const begin = c->data + c->at / 8, *p;
	struct counting s = { .f = f, .tally = t, .clock = c->clock, .body = f->last_body };

	if (c->limit - c->at <= 8 * (uint64_t)head_bytes(k->usual) || c->clock > CLOCK_MOST ||
	    (t->args && !has_plain_args(f)))
		return true;
	s.need = t->args ? CTF_SUM_ROW | CTF_SUM_ARGS : CTF_SUM_ROW;
	s.run.stream = f->file_stream;
	s.run.track = !t->tracks ? SPUR_NONE : f->current == SPUR_NONE ? f->own_track : f->current;
	s.run.first = ctf_time(f->ctf, k, head_clock(k->usual, begin, c->clock));
	if (k->usual == USUAL_LARGE)
		p = threads ? count_large_threads(&s, begin) : count_large(&s, begin);
	else
		p = threads ? count_compact_threads(&s, begin) : count_compact(&s, begin);
	if (p == begin)
		return !s.failed;
	counting_end(&s);
	b->counted += (uint64_t)(p - begin);
	c->at += 8 * (uint64_t)(p - begin);
	c->clock = s.clock;
	f->last_ts = ctf_time(f->ctf, k, s.clock);
	f->last_body = s.body;
	return !s.failed;
}
