/* Providers: which one is speaking, its clock, strings and threads. */
#include <stdio.h>

#include "base/search.h"
#include "base/text.h"
#include "format/fxt/reader.h"

/* --- clocks --- */

void fxt_clock_set(struct fxt_clock *c, uint64_t hz, uint64_t base, bool raw)
{
	struct scale s;

	scale_from_hz(&s, hz);
	*c = (struct fxt_clock){ .hz = hz,
				 .base = base,
				 .num = s.num,
				 .den = s.den,
				 .inverse = UINT64_MAX / s.den,
				 .twice = s.den > UINT64_MAX / 2 ? UINT64_MAX : 2 * s.den,
				 .plain = raw || (!base && s.num == 1 && s.den == 1) };
}

/* SPEC fxt/time: exact in 128 bits, rounded down */
int64_t fxt_clock_ns(const struct fxt_clock *c, uint64_t ticks, bool *clamped)
{
	const struct scale s = { .num = c->num, .den = c->den };
	const bool before = !c->plain && ticks < c->base;
	const uint64_t far = c->plain ? ticks : before ? c->base - ticks : ticks - c->base;
	unsigned __int128 ns = far;
	__int128 wide;
	int64_t sum;

	if (!c->plain && !before && far <= INT64_MAX) {
		const int64_t small = scale_ns_u(&s, far);

		if (small < INT64_MAX && !__builtin_add_overflow(small, c->ahead, &sum))
			return sum;
	}
	if (!c->plain)
		ns = (ns * s.num + (before ? s.den - 1 : 0)) / s.den;
	wide = (before ? -(__int128)ns : (__int128)ns) + (c->plain ? 0 : c->ahead);
	if (wide > INT64_MAX || wide < -INT64_MAX) {
		*clamped = true;
		return wide < 0 ? -INT64_MAX : INT64_MAX;
	}
	return (int64_t)wide;
}

/* --- where things are --- */

static struct fxt_provider *provider_new(struct fxt *x, uint32_t id);

static struct fxt_string *strings_new(void)
{
	struct fxt_string *strings = mem_array(FXT_STRINGS, sizeof(*strings));

	/* SPEC fxt/string-ref: index 0 is the empty string; its id is 0 */
	if (strings)
		strings[0].now = 1;
	return strings;
}

bool fxt_state_init(struct fxt *x)
{
	x->no_strings = strings_new();
	x->no_heads = mem_array(FXT_STRINGS, sizeof(*x->no_heads));
	x->no_threads = mem_array(FXT_THREADS, sizeof(*x->no_threads));
	if (!x->no_strings || !x->no_heads || !x->no_threads)
		return false;
	/* SPEC fxt/no-provider: what precedes all providers is one's of its own, without name */
	x->provider = provider_new(x, 0);
	return x->provider != NULL;
}

static void provider_free(struct fxt *x, struct fxt_provider *p)
{
	if (p->strings != x->no_strings)
		mem_free(p->strings);
	if (p->heads != x->no_heads)
		mem_free(p->heads);
	if (p->threads != x->no_threads)
		mem_free(p->threads);
	mem_free(p);
}

void fxt_state_free(struct fxt *x)
{
	for (size_t i = 0; i < x->nproviders; i++)
		provider_free(x, x->providers[i]);
	mem_free(x->providers);
	map64_free(&x->by_id);
	map64_free(&x->unknown);
	scratch_free(x->sections, x->sections_cap * sizeof(*x->sections));
	fxt_walked_free(x->walked);
	scratch_free(x->lost, x->lost_cap * sizeof(*x->lost));
	fxt_log_free(&x->tables);
	mem_free(x->no_strings);
	mem_free(x->no_heads);
	mem_free(x->no_threads);
}

static struct fxt_provider *provider_new(struct fxt *x, uint32_t id)
{
	struct fxt_provider *p;

	if (!mem_grow((void **)&x->providers, &x->providers_cap, x->nproviders + 1, sizeof(p),
		      FXT_PROVIDERS))
		return NULL;
	p = mem_alloc(sizeof(*p));
	if (!p)
		return NULL;
	*p = (struct fxt_provider){ .id = id,
				    .number = (uint32_t)x->nproviders,
				    .track = SPUR_NONE,
				    .strings = x->no_strings,
				    .heads = x->no_heads,
				    .threads = x->no_threads };
	fxt_clock_set(&p->clock, 1000000000, 0, x->raw_time);
	x->providers[x->nproviders++] = p;
	return x->ordered || fxt_origin_add(x, p) ? p : NULL;
}

struct fxt_provider *fxt_provider_put(struct fxt *x, uint32_t id)
{
	struct map64_slot *slot = map64_put(&x->by_id, id);
	struct fxt_provider *p;

	if (!slot)
		return NULL;
	if (slot->value)
		p = x->providers[slot->value - 1];
	else if (x->nproviders == FXT_PROVIDERS)
		p = x->providers[x->nproviders - 1];
	else
		p = provider_new(x, id);
	if (!p)
		return NULL;
	slot->value = p->number + 1;
	if (p->id != id)
		diag_add(x->log, DIAG_WARN, "fxt/many-providers", x->file, x->off, 0,
			 "provider: expected at most %u, found one more: it shares the tables of "
			 "the "
			 "last",
			 FXT_PROVIDERS);
	return p;
}

bool fxt_state_rewind(struct fxt *x)
{
	for (size_t k = 0; k < x->nproviders; k++) {
		struct fxt_provider *p = x->providers[k];

		if (p->strings != x->no_strings) {
			struct fxt_string *const fresh = strings_new();

			if (!fresh)
				return false;
			mem_free(p->strings);
			p->strings = fresh;
		}
		for (int i = 0; i < FXT_THREADS && p->threads != x->no_threads; i++)
			p->threads[i].now = 0;
		p->announced = p->timed = false;
		fxt_clock_set(&p->clock, 1000000000, 0, x->raw_time);
	}
	x->off = 0;
	x->mark_end = 0;
	x->provider = x->providers[0];
	x->replayed = 1;
	x->lost_until = 0;
	memset(x->resync.searched, 0, sizeof(x->resync.searched));
	x->gaps = false;
	return true;
}

/* --- the speaking provider --- */

static bool provider_speaks(struct fxt *x, struct fxt_provider *p)
{
	x->provider = p;
	if (!p->timed)
		p->clock = x->providers[0]->clock;
	if (!x->first || (x->nsections && x->sections[x->nsections - 1].provider == p->number))
		return true;
	if (!fxt_scratch_grow((void **)&x->sections, &x->sections_cap, x->nsections + 1,
			      sizeof(*x->sections)))
		return false;
	assert(!x->nsections || x->sections[x->nsections - 1].off < x->off);
	x->sections[x->nsections++] = (struct fxt_section){ .off = x->off, .provider = p->number };
	return true;
}

const struct fxt_provider *fxt_provider_at(const struct fxt *x, uint64_t off)
{
	size_t low;

	bisect(low, 0, x->nsections, x->sections[low].off <= off);
	return x->providers[low ? x->sections[low - 1].provider : 0];
}

/* SPEC fxt/info-repeated: a provider that is announced again keeps its tables */
static bool read_info(struct fxt *x, const struct fxt_shape *s)
{
	struct fxt_provider *p = fxt_provider_put(x, (uint32_t)s->value);

	if (!p)
		return false;
	if (p->announced)
		diag_add(x->log, DIAG_NOTE, "fxt/provider-repeated", x->file, x->off, 0,
			 "provider info: expected provider %u once, found it again", p->id);
	if (!utf8_all_valid((const char *)s->data, s->data_len))
		diag_add(x->log, DIAG_WARN, "fxt/bad-utf8", x->file, x->off, 0,
			 "provider info: expected a name in UTF-8, found other bytes");
	p->announced = true;
	if (x->first && s->data_len) {
		p->name = trace_intern_n(x->t, (const char *)s->data, s->data_len);
		if (p->track != SPUR_NONE)
			fxt_track(x, p->track)->name = p->name;
		fxt_origin_update(x, p);
	}
	return provider_speaks(x, p);
}

/* SPEC fxt/section-unknown: a section of a provider that was not announced begins one */
static bool read_section(struct fxt *x, const struct fxt_shape *s)
{
	struct fxt_provider *p = fxt_provider_put(x, (uint32_t)s->value);

	if (!p)
		return false;
	if (!p->announced)
		diag_add(x->log, DIAG_WARN, "fxt/provider-not-announced", x->file, x->off, 0,
			 "provider section: expected a provider that was announced, found %u",
			 (unsigned)s->value);
	p->announced = true;
	return provider_speaks(x, p);
}

/*
 * SPEC fxt/provider-switch: info and section name the provider that speaks from here on; an event
 * does not
 */
bool fxt_read_metadata(struct fxt *x, const struct fxt_shape *s)
{
	if (s->sub == FXT_PROVIDER_INFO)
		return read_info(x, s);
	return s->sub != FXT_PROVIDER_SECTION || read_section(x, s);
}

uint32_t fxt_provider_track(struct fxt *x, struct fxt_provider *p)
{
	char text[40];

	if (p->track != SPUR_NONE)
		return p->track;
	snprintf(text, sizeof(text), "provider %u", p->id);
	p->track = fxt_add_track(x, (struct spur_track){
					    .parent = SPUR_NONE,
					    .name = p->name ? p->name : trace_intern(x->t, text),
					    .kind = SPUR_TRACK_PROVIDER,
					    .pid = -1,
					    .tid = -1,
					    .cpu = -1,
				    });
	fxt_origin_update(x, p);
	return p->track;
}

uint32_t fxt_unknown_thread(struct fxt *x, const struct fxt_provider *p, unsigned index)
{
	struct map64_slot *slot = map64_put(&x->unknown, (uint64_t)p->number << 8 | index);
	char text[40];
	uint32_t track;

	if (!slot)
		return SPUR_NONE;
	if (slot->value)
		return (uint32_t)slot->value - 1;
	snprintf(text, sizeof(text), "<thread %u>", index);
	track = fxt_add_track(x, (struct spur_track){
					 .parent = SPUR_NONE,
					 .name = trace_intern(x->t, text),
					 .kind = SPUR_TRACK_THREAD,
					 .pid = -1,
					 .tid = -1,
					 .cpu = -1,
				 });
	slot->value = track == SPUR_NONE ? 0 : track + 1;
	return track;
}

/* --- tables --- */

void fxt_clock_relate(const struct fxt *x, struct fxt_clock *c, uint64_t base_time)
{
	if (!base_time || !x->base_time || base_time > INT64_MAX || x->base_time > INT64_MAX)
		return;
	c->ahead = (int64_t)base_time - (int64_t)x->base_time;
	c->plain &= x->raw_time || !c->ahead;
}

/*
 * SPEC fxt/ticks-zero: a clock that does not tick is none; SPEC fxt/init-again: a later one holds
 * from there on
 */
bool fxt_read_init(struct fxt *x, const struct fxt_shape *s)
{
	const uint64_t base = s->extended ? s->more[0] : 0;
	struct fxt_provider *p = x->provider;

	if (!s->value)
		return true;
	if (x->first && !p->told_hz) {
		p->told_hz = s->value;
		p->told_base = base;
		p->told_time = s->more[1];
	}
	p->told_others |= p->told_hz != s->value || p->told_base != base ||
			  p->told_time != s->more[1];
	p->timed = true;
	fxt_clock_set(&p->clock, s->value, base, x->raw_time);
	if (x->clock_told) {
		fxt_clock_relate(x, &p->clock, s->extended ? s->more[1] : 0);
		x->clocks_differ |= p->clock.hz != x->clock.hz;
	} else {
		x->clock = p->clock;
		x->base_time = s->more[1];
		x->clock_number = p->number;
		x->clock_told = true;
	}
	fxt_origin_update(x, p);
	return true;
}

/*
 * In the second pass the log tells the values, one after the other; what it does not tell stays as
 * it is.
 */
static void replay(struct fxt *x, uint32_t *now)
{
	const struct fxt_log *l = &x->tables;

	if (x->replayed < l->count && l->items[x->replayed].off == x->off)
		*now = l->items[x->replayed++].value + 1;
}

/* Logs a registration where it changes something. Returns false if out of memory. */
static bool enter(struct fxt *x, uint32_t *now, uint32_t *head, uint32_t value)
{
	const uint32_t version =
		*now == value + 1 ? *head : fxt_log_add(&x->tables, *head, x->off, value);

	*head = version;
	*now = value + 1;
	return version != 0;
}

/* Tables of its own for a provider that registers a string. */
static bool own_strings(struct fxt *x, struct fxt_provider *p)
{
	struct fxt_string *strings;
	uint32_t *heads;

	if (p->strings != x->no_strings)
		return true;
	strings = strings_new();
	heads = mem_array(FXT_STRINGS, sizeof(*heads));
	if (!strings || !heads) {
		mem_free(strings);
		mem_free(heads);
		return false;
	}
	p->strings = strings;
	p->heads = heads;
	return true;
}

static void index_ignored(struct fxt *x, const char *what)
{
	diag_add(x->log, DIAG_NOTE, "fxt/index-zero", x->file, x->off, 0,
		 "%s record: expected an index from 1, found 0: ignored", what);
}

/* SPEC fxt/string-record: replaces what had its index; SPEC fxt/index-zero: index 0 is ignored */
bool fxt_read_string(struct fxt *x, const struct fxt_shape *s)
{
	const unsigned index = (unsigned)fxt_get(s->head, FXT_F_STRING_INDEX);
	const char *text = (const char *)s->data;
	struct fxt_provider *p = x->provider;
	struct fxt_string *slot;

	if (!utf8_all_valid(text, s->data_len))
		diag_add(x->log, DIAG_WARN, "fxt/bad-utf8", x->file, x->off, 0,
			 "string record: expected UTF-8, found other bytes");
	if (!index) {
		index_ignored(x, "string");
		return true;
	}
	if (!own_strings(x, p))
		return false;
	slot = &p->strings[index];
	slot->cat = 0;
	slot->name_cls[0] = slot->name_cls[1] = 0;
	if (x->first)
		return enter(x, &slot->now, &p->heads[index],
			     trace_intern_n(x->t, text, s->data_len));
	replay(x, &slot->now);
	return true;
}

/* SPEC fxt/thread-record: replaces what had its index */
bool fxt_read_thread(struct fxt *x, const struct fxt_shape *s)
{
	const unsigned index = (unsigned)fxt_get(s->head, FXT_F_THREAD_INDEX);
	struct fxt_provider *p = x->provider;
	uint32_t track;

	if (!index) {
		index_ignored(x, "thread");
		return true;
	}
	if (p->threads == x->no_threads) {
		struct fxt_slot *slots = mem_array(FXT_THREADS, sizeof(*slots));

		if (!slots)
			return false;
		p->threads = slots;
	}
	if (x->first) {
		track = fxt_thread_track(x, s->threads[0].pid, s->threads[0].tid);
		return track != SPUR_NONE &&
		       enter(x, &p->threads[index].now, &p->threads[index].head, track);
	}
	replay(x, &p->threads[index].now);
	return true;
}

/*
 * SPEC fxt/provider-fallback: what a provider has not registered may have been before all providers
 */
uint32_t fxt_string_at(const struct fxt *x, const struct fxt_provider *p, unsigned index,
		       uint64_t off)
{
	uint32_t id;

	if (!index)
		return 1;
	id = fxt_log_at(&x->tables, p->heads[index], off);
	return id || !p->number ? id : fxt_string_at(x, x->providers[0], index, off);
}

uint32_t fxt_thread_at(const struct fxt *x, const struct fxt_provider *p, unsigned index,
		       uint64_t off)
{
	const uint32_t track = fxt_log_at(&x->tables, p->threads[index].head, off);

	return track || !p->number ? track : fxt_thread_at(x, x->providers[0], index, off);
}
