/* Sums and spreads of spans by function, by the rules of reports (pass/report.c). */
#include "api/api.h"
#include "flow/spread.h"

enum {
	STATISTICS_MOST = 1 << 24,
	UNFINISHED = SPUR_SPAN_IMPLIED | SPUR_SPAN_OPEN | SPUR_SPAN_NO_BEGIN
};

/* Durations of single calls. */
struct lengths {
	uint64_t calls, sum, least, most;
	struct spread spread;
};

struct entry {
	uint64_t unfinished, inner, self;
	struct lengths ended;
	struct lengths open; /* of calls that are open when the data ends */
};

struct spur_statistics {
	struct spur_trace *trace;
	struct entry **entries; /* by head of classes; 0: time off the CPU. NULL: no span */
	size_t n;
	bool failed; /* out of memory: spans are missing */
};

enum spur_status spur_statistics_new(struct spur_statistics **out, struct spur_trace *t,
				     struct spur_error *err)
{
	uint64_t *charged;

	if (out)
		*out = NULL;
	if (!out || !t)
		return api_misuse(t, err, "spur_statistics_new: expected %s, found NULL",
				  out ? "a trace" : "a place for the statistics");
	charged = mem_charge(&t->mem_failures);
	*out = mem_alloc(sizeof(**out));
	mem_charge(charged);
	if (!*out)
		return api_no_memory(t, err);
	(*out)->trace = t;
	return SPUR_OK;
}

/* Returns NULL if out of memory. */
static struct entry *entry_of(struct spur_statistics *s, uint32_t head)
{
	if (!mem_grow((void **)&s->entries, &s->n, (size_t)head + 1, sizeof(struct entry *),
		      STATISTICS_MOST))
		return NULL;
	if (!s->entries[head])
		s->entries[head] = mem_alloc(sizeof(struct entry));
	return s->entries[head];
}

/* Returns false if out of memory. */
static bool length_add(struct lengths *l, uint64_t length)
{
	l->least = !l->calls || length < l->least ? length : l->least;
	l->most = length > l->most ? length : l->most;
	l->sum += length;
	l->calls++;
	return spread_add(&l->spread, length);
}

static bool span_add(struct spur_statistics *s, const struct spur_span *span)
{
	const uint64_t length = span->dur < 0 ? 0 : (uint64_t)span->dur;
	const bool off = span->flags & SPUR_SPAN_OFF_CPU;
	const uint32_t cls = off ? 0 : span->cls;
	struct entry *e = entry_of(s, cls ? trace_class(s->trace, cls)->head : 0);

	if (!e)
		return false;
	e->unfinished += (span->flags & UNFINISHED) != 0;
	if (span->flags & (SPUR_SPAN_NO_BEGIN | SPUR_SPAN_NO_END))
		return true;
	e->self += span->self < 0 ? 0 : (uint64_t)span->self;
	e->inner += span->flags & SPUR_SPAN_RECURSIVE ? length : 0;
	return length_add(span->flags & SPUR_SPAN_OPEN ? &e->open : &e->ended, length);
}

enum spur_status spur_statistics_add(struct spur_statistics *s, const struct spur_span *spans,
				     size_t count)
{
	static const char call[] = "spur_statistics_add";
	uint64_t *charged;
	size_t classes;

	if (!api_given(NULL, call, s, "statistics") ||
	    (count && !api_given(s->trace, call, spans, "spans")))
		return SPUR_FAIL;
	classes = trace_class_count(s->trace);
	for (size_t i = 0; i < count; i++)
		if (spans[i].cls >= classes)
			return api_misuse(s->trace, NULL,
					  "%s: span %zu: expected one of this trace, "
					  "found class %u",
					  call, i, spans[i].cls);
	charged = mem_charge(&s->trace->mem_failures);
	for (size_t i = 0; i < count && !s->failed; i++)
		s->failed = !span_add(s, &spans[i]);
	mem_charge(charged);
	return s->failed ? api_no_memory(s->trace, NULL) : SPUR_OK;
}

static bool lengths_join(struct lengths *into, const struct lengths *from)
{
	if (!from->calls)
		return true;
	into->least = !into->calls || from->least < into->least ? from->least : into->least;
	into->most = from->most > into->most ? from->most : into->most;
	into->sum += from->sum;
	into->calls += from->calls;
	return spread_join(&into->spread, &from->spread);
}

static bool entries_join(struct spur_statistics *into, const struct spur_statistics *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct entry *e = from->entries[i];
		struct entry *to = e ? entry_of(into, (uint32_t)i) : NULL;

		if (!e)
			continue;
		if (!to || !lengths_join(&to->ended, &e->ended) ||
		    !lengths_join(&to->open, &e->open))
			return false;
		to->unfinished += e->unfinished;
		to->inner += e->inner;
		to->self += e->self;
	}
	return true;
}

enum spur_status spur_statistics_join(struct spur_statistics *into,
				      const struct spur_statistics *from)
{
	static const char call[] = "spur_statistics_join";
	uint64_t *charged;

	if (!api_given(NULL, call, into, "statistics") ||
	    !api_given(into->trace, call, from, "statistics to join"))
		return SPUR_FAIL;
	if (into == from || into->trace != from->trace)
		return api_misuse(into->trace, NULL,
				  "%s: expected other statistics of the same trace", call);
	charged = mem_charge(&into->trace->mem_failures);
	into->failed |= from->failed || !entries_join(into, from);
	mem_charge(charged);
	return into->failed ? api_no_memory(into->trace, NULL) : SPUR_OK;
}

static void latency_fill(struct spur_latency *out, struct entry *e)
{
	/* How long open calls last is unknown, but better than nothing if there are no others. */
	struct lengths *l = e->ended.calls ? &e->ended : &e->open;

	out->calls = e->ended.calls + e->open.calls;
	out->unfinished = e->unfinished;
	out->total = e->ended.sum + e->open.sum - e->inner;
	out->self = e->self;
	out->avg = l->calls ? l->sum / l->calls : 0;
	out->min = l->least;
	out->max = l->most;
	out->p50 = spread_percentile(&l->spread, 50);
	out->p90 = spread_percentile(&l->spread, 90);
	out->p99 = spread_percentile(&l->spread, 99);
	out->stdev = spread_deviation(&l->spread);
}

bool spur_statistics_of(struct spur_statistics *s, uint32_t cls, struct spur_latency *out)
{
	static const char call[] = "spur_statistics_of";
	uint64_t *charged, failures;

	if (!api_given(NULL, call, s, "statistics") ||
	    !api_given(s->trace, call, out, "a place for the latency"))
		return false;
	*out = (struct spur_latency){ 0 };
	if (cls >= s->n || !s->entries[cls])
		return false;
	charged = mem_charge(&s->trace->mem_failures);
	failures = mem_failures();
	latency_fill(out, s->entries[cls]);
	out->cls = cls;
	out->name = cls ? trace_class(s->trace, cls)->name : 0;
	mem_charge(charged);
	if (mem_failures() == failures)
		return true;
	*out = (struct spur_latency){ 0 };
	api_no_memory(s->trace, NULL);
	return false;
}

void spur_statistics_free(struct spur_statistics *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (s->entries[i]) {
			spread_free(&s->entries[i]->ended.spread);
			spread_free(&s->entries[i]->open.spread);
			mem_free(s->entries[i]);
		}
	mem_free(s->entries);
	mem_free(s);
}
