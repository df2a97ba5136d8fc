/* See state.h. */
#include "pass/sched/state.h"

#include "flow/filter.h"

enum { THREADS_MAX = 1 << 28, CPUS_MAX = SPUR_NO_CPU, WAITS_MAX = 1 << 24 };

struct sched_thread sched_quiet;

/* Time that runs backwards counts as none. */
static uint64_t elapsed(int64_t from, int64_t to)
{
	return to > from ? (uint64_t)to - (uint64_t)from : 0;
}

/* Sums of billions of spans of hostile data may pass 2^64. */
static void add(uint64_t *sum, uint64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = UINT64_MAX;
}

void sched_init(struct sched *s, struct spur_trace *t)
{
	s->trace = t;
	s->idle_name = trace_intern(t, "idle");
	if (s->most_waits > WAITS_MAX)
		s->most_waits = WAITS_MAX;
}

void sched_free(struct sched *s)
{
	for (size_t i = 0; i < s->nthreads; i++)
		if (s->threads[i].thread)
			sched_latency_free(s->threads[i].thread->latency);
	mem_free(s->threads);
	arena_free(&s->arena);
	mem_free(s->cpus);
	mem_free(s->waits);
}

/* --- waits: the longest, in a heap --- */

/*
 * Longer ones, then earlier ones, then those of earlier tracks are kept: the same whoever had
 * which.
 */
static bool wait_less(const struct sched_wait *a, const struct sched_wait *b)
{
	if (a->length != b->length)
		return a->length < b->length;
	if (a->ts != b->ts)
		return a->ts > b->ts;
	return a->track != b->track ? a->track > b->track : a->state > b->state;
}

/* The entry at `i` may be larger than those below it: moves it down. */
static void waits_sink(struct sched *s, size_t i)
{
	const struct sched_wait w = s->waits[i];

	for (size_t child; (child = 2 * i + 1) < s->nwaits; i = child) {
		if (child + 1 < s->nwaits && wait_less(&s->waits[child + 1], &s->waits[child]))
			child++;
		if (wait_less(&w, &s->waits[child]))
			break;
		s->waits[i] = s->waits[child];
	}
	s->waits[i] = w;
}

static bool waits_add(struct sched *s, const struct sched_wait *w)
{
	size_t i = s->nwaits;

	if (!s->most_waits)
		return true;
	if (s->nwaits == s->most_waits) {
		if (wait_less(&s->waits[0], w)) {
			s->waits[0] = *w;
			waits_sink(s, 0);
		}
		return true;
	}
	if (!mem_grow((void **)&s->waits, &s->waits_cap, s->nwaits + 1, sizeof(*s->waits),
		      WAITS_MAX))
		return false;
	s->nwaits++;
	for (; i && wait_less(w, &s->waits[(i - 1) / 2]); i = (i - 1) / 2)
		s->waits[i] = s->waits[(i - 1) / 2];
	s->waits[i] = *w;
	return true;
}

/* --- threads --- */

static bool name_is_idle(const char *name)
{
	return strcmp(name, "idle") == 0 || strncmp(name, "idle/", 5) == 0 ||
	       strcmp(name, "swapper") == 0 || strncmp(name, "swapper/", 8) == 0;
}

static bool track_is_idle(const struct spur_trace *t, uint32_t track)
{
	const struct spur_track *k = trace_track(t, track);

	return k && trace_track_kind(t, track) == SPUR_TRACK_THREAD &&
	       (k->tid == 0 || name_is_idle(trace_string(t, k->name, NULL)));
}

/* The slot of a track's first row. Returns NULL if there is no such track or if out of memory. */
static struct sched_slot *slot_new(struct sched *s, uint32_t track, int64_t ts)
{
	struct sched_slot *slot;

	if (!trace_track(s->trace, track))
		return NULL;
	if (track >= s->threads_cap &&
	    !mem_grow((void **)&s->threads, &s->threads_cap, (size_t)track + 1, sizeof(*s->threads),
		      THREADS_MAX))
		return NULL;
	s->nthreads = track >= s->nthreads ? (size_t)track + 1 : s->nthreads;
	slot = &s->threads[track];
	*slot = (struct sched_slot){ .thread = &sched_quiet, .first = ts };
	return slot;
}

static inline struct sched_slot *slot_of(struct sched *s, uint32_t track, int64_t ts)
{
	if (track < s->nthreads && s->threads[track].thread)
		return &s->threads[track];
	return slot_new(s, track, ts);
}

/* Makes the thread of a track's first SWITCH or WAKEUP. Returns NULL if out of memory. */
static struct sched_thread *thread_new(struct sched *s, struct sched_slot *slot, uint32_t track)
{
	struct sched_thread *t = arena_alloc(&s->arena, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct sched_thread){ .idle = track_is_idle(s->trace, track),
				    .seen = true,
				    .cpu = SPUR_NO_CPU,
				    .since = slot->first,
				    .last = slot->first };
	slot->thread = t;
	return t;
}

/* The wait that the thread's state was ends with `row`; it got the processor, or was woken only. */
static bool thread_waited(struct sched *s, struct sched_thread *t, const struct spur_event *row)
{
	const uint64_t ns = elapsed(t->since, row->ts);
	const bool runs = row->kind == SPUR_SWITCH;
	const struct sched_wait w = { .ts = t->since,
				      .length = ns,
				      .track = row->track,
				      .cpu = runs ? row->cpu : t->cpu,
				      .state = t->state };

	add(t->state == SCHED_BLOCKED ? &t->blocked : &t->runnable, ns);
	if (t->state == SCHED_WOKEN && runs && !sched_latency_add(&t->latency, ns))
		return false;
	if (t->idle || ns < s->least)
		return true;
	s->waits_all++;
	return waits_add(s, &w);
}

static void thread_enters(const struct sched *s, struct sched_thread *t, enum sched_state state,
			  const struct spur_event *row)
{
	t->state = (uint8_t)state;
	t->since = row->ts;
	t->cpu = row->cpu;
	t->seen = !s->unseen;
}

/* `counts`: neither the row that began the state nor this one is outside of the filter. */
static bool thread_in(struct sched *s, struct sched_thread *t, const struct spur_event *row,
		      bool counts)
{
	bool good = true;

	if (counts && (t->state == SCHED_UNKNOWN || t->state == SCHED_RUNNING)) {
		add(&t->unknown, elapsed(t->since, row->ts));
		t->unfinished += t->state == SCHED_RUNNING;
	} else if (counts) {
		good = thread_waited(s, t, row);
	}
	t->switches += !s->unseen;
	thread_enters(s, t, SCHED_RUNNING, row);
	return good;
}

static void thread_out(const struct sched *s, struct sched_thread *t, const struct spur_event *row,
		       bool counts)
{
	const bool preempted = row->flags & SPUR_F_PREEMPTED, ran = t->state == SCHED_RUNNING;

	if (counts) {
		add(ran ? &t->running : &t->unknown, elapsed(t->since, row->ts));
		t->unfinished += !ran;
	}
	t->preemptions += preempted && !s->unseen;
	thread_enters(s, t,
		      row_ends_thread(row) ? SCHED_UNKNOWN
		      : preempted	   ? SCHED_PREEMPTED
					   : SCHED_BLOCKED,
		      row);
}

/* A thread that does not run is told to have ended: what it did since it ran last is not known. */
static void thread_ended(const struct sched *s, struct sched_thread *t,
			 const struct spur_event *row)
{
	if (t->state == SCHED_RUNNING || t->state == SCHED_UNKNOWN)
		return;
	if (t->seen && !s->unseen)
		add(&t->unknown, elapsed(t->since, row->ts));
	thread_enters(s, t, SCHED_UNKNOWN, row);
}

/* Who runs, or may run already, is not changed by being woken. */
static bool thread_woken(struct sched *s, struct sched_thread *t, const struct spur_event *row,
			 bool counts)
{
	bool good = true;

	t->wakeups += !s->unseen;
	if (t->state != SCHED_UNKNOWN && t->state != SCHED_BLOCKED)
		return true;
	if (counts && t->state == SCHED_UNKNOWN)
		add(&t->unknown, elapsed(t->since, row->ts));
	else if (counts)
		good = thread_waited(s, t, row);
	thread_enters(s, t, SCHED_WOKEN, row);
	return good;
}

static bool thread_row(struct sched *s, struct sched_thread *t, const struct spur_event *row)
{
	const bool counts = t->seen && !s->unseen;

	if (!s->unseen) {
		s->rows++;
		t->any = true;
	}
	if (row->cls && !t->idle && trace_class(s->trace, row->cls)->name == s->idle_name)
		t->idle = true;
	s->idle_known |= t->idle;
	if (row->kind == SPUR_WAKEUP)
		return thread_woken(s, t, row, counts);
	if (row->flags & SPUR_F_IN)
		return thread_in(s, t, row, counts);
	if (row->flags & SPUR_F_OUT)
		thread_out(s, t, row, counts);
	return true;
}

/* --- processors --- */

static struct sched_cpu *cpu_of(struct sched *s, const struct spur_event *row)
{
	struct sched_cpu *c;

	if (row->cpu >= s->ncpus) {
		if (!mem_grow((void **)&s->cpus, &s->cpus_cap, (size_t)row->cpu + 1,
			      sizeof(*s->cpus), CPUS_MAX))
			return NULL;
		s->ncpus = (size_t)row->cpu + 1;
	}
	c = &s->cpus[row->cpu];
	if (!c->any) {
		c->first = c->since = row->ts;
		c->lost = SPUR_NONE;
		c->seen = true;
	}
	c->any = true;
	c->last = row->ts;
	return c;
}

static void cpu_in(const struct sched *s, struct sched_cpu *c, const struct spur_event *row,
		   bool counts)
{
	if (c->state == SCHED_RUNNING) {
		c->lost = c->track;
		c->lost_at = row->ts;
		c->lost_since = c->since;
		c->unfinished++;
	}
	if (counts)
		add(c->state == SCHED_BLOCKED ? &c->gaps : &c->unknown, elapsed(c->since, row->ts));
	c->switches += !s->unseen;
	c->state = SCHED_RUNNING;
	c->track = row->track;
}

/*
 * A thread's SWITCH out may follow the next one's SWITCH in if both have the same time: then what
 * was taken for unknown is known after all, and the processor stays with whom it has gone to.
 */
static bool cpu_out_is_late(struct sched_cpu *c, const struct spur_event *row, uint64_t *known)
{
	const uint64_t ns = elapsed(c->lost_since, row->ts);

	if (c->lost != row->track || c->lost_at != row->ts || c->track == row->track ||
	    c->state != SCHED_RUNNING)
		return false;
	c->unknown -= ns < c->unknown ? ns : c->unknown;
	c->unfinished--;
	c->lost = SPUR_NONE;
	add(known, ns);
	return true;
}

static void cpu_row(const struct sched *s, struct sched_cpu *c, const struct spur_event *row,
		    bool idle)
{
	const bool counts = c->seen && !s->unseen;
	uint64_t *known = idle ? &c->idle : &c->busy;

	if (row->flags & SPUR_F_IN) {
		cpu_in(s, c, row, counts);
	} else if (row->flags & SPUR_F_OUT) {
		if (counts && cpu_out_is_late(c, row, known))
			return;
		if (c->state != SCHED_RUNNING || c->track != row->track) {
			known = &c->unknown;
			c->unfinished++;
		}
		if (counts)
			add(known, elapsed(c->since, row->ts));
		c->state = SCHED_BLOCKED;
	} else {
		return;
	}
	c->since = row->ts;
	c->seen = !s->unseen;
}

/* --- all --- */

bool sched_rows(void *sched, struct marked_rows in)
{
	struct sched *s = sched;

	for (size_t i = 0; i < in.n; i++) {
		const struct spur_event *row = &in.rows[i];
		const bool switches = row->kind == SPUR_SWITCH || row->kind == SPUR_WAKEUP;
		struct sched_slot *slot = slot_of(s, row->track, row->ts);
		struct sched_thread *t;
		struct sched_cpu *c = NULL;

		if (!slot && !trace_track(s->trace, row->track))
			continue; /* of no thread */
		if (!slot)
			return false;
		t = slot->thread;
		if (t == &sched_quiet) {
			if (switches)
				t = thread_new(s, slot, row->track);
			else if (!s->want_cpus)
				continue;
			if (!t)
				return false;
		}
		s->unseen = row_marks(in.marks, i) & ROW_UNSEEN;
		if (t != &sched_quiet)
			t->last = row->ts;
		if (s->want_cpus && row->cpu != SPUR_NO_CPU && !(c = cpu_of(s, row)))
			return false;
		if (row->kind == SPUR_INSTANT && row_ends_thread(row))
			thread_ended(s, t, row);
		if (!switches)
			continue;
		if (!thread_row(s, t, row))
			return false;
		if (row->kind == SPUR_SWITCH && row->cpu == SPUR_NO_CPU)
			s->nowhere++;
		else if (row->kind == SPUR_SWITCH && c)
			cpu_row(s, c, row, t->idle);
	}
	return true;
}

bool sched_join(struct sched *into, struct sched *from)
{
	if (from->nthreads > into->nthreads) {
		if (!mem_grow((void **)&into->threads, &into->threads_cap, from->nthreads,
			      sizeof(*into->threads), THREADS_MAX))
			return false;
		into->nthreads = from->nthreads;
	}
	for (size_t i = 0; i < from->nthreads; i++)
		if (from->threads[i].thread) {
			assert(!into->threads[i].thread);
			into->threads[i] = from->threads[i];
			from->threads[i].thread = NULL;
		}
	arena_join(&into->arena, &from->arena);
	for (size_t i = 0; i < from->nwaits; i++)
		if (!waits_add(into, &from->waits[i]))
			return false;
	into->waits_all += from->waits_all;
	into->rows += from->rows;
	into->nowhere += from->nowhere;
	into->idle_known |= from->idle_known;
	return true;
}

void sched_end(struct sched *s)
{
	for (size_t i = 0; i < s->nthreads; i++) {
		struct sched_thread *t = s->threads[i].thread;

		if (!t || !t->any)
			continue;
		sched_latency_end(t->latency);
		if (t->seen)
			add(&t->unknown, elapsed(t->since, t->last));
		t->unfinished += t->state == SCHED_RUNNING && t->seen;
	}
	for (size_t i = 0; i < s->ncpus; i++) {
		struct sched_cpu *c = &s->cpus[i];

		if (c->any && c->seen)
			add(&c->unknown, elapsed(c->since, c->last));
		c->unfinished += c->any && c->state == SCHED_RUNNING && c->seen;
	}
}
