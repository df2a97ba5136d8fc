/*
 * From what a front end read to what can be decoded: alignments, byte orders, clocks, lengths from
 * env; then references (resolve_ref.c) and roles (resolve_role.c); sorted ids. Classes are a graph,
 * as named types are shared: each is looked at once, and copied only where a use needs something of
 * its own.
 */
#include "format/ctf/meta/resolve.h"

#include <stdlib.h>
#include <string.h>

bool resolve_full(struct resolve *r)
{
	meta_full(r->m, r->err);
	return false;
}

static bool error_limit(struct resolve *r, uint64_t at, const char *what, int most)
{
	meta_error(r->m, r->err, SPUR_ERR_LIMIT, at, "expected at most %d %s, found more", most,
		   what);
	return false;
}

/* ---- sharing */

struct ctf_field *resolve_own(struct resolve *r, struct ctf_field **slot)
{
	struct ctf_field *f = *slot, *copy;

	if (f->uses == 1)
		return f;
	/* Copies look into one table of names. */
	if (!f->names_id)
		f->names_id = ++r->last_names;
	copy = meta_field_copy(r->m, f);
	if (!copy) {
		resolve_full(r);
		return NULL;
	}
	copy->uses = 1;
	f->uses--;
	for (uint32_t i = 0; i < copy->nmembers; i++)
		copy->members[i].field->uses++;
	if (copy->element)
		copy->element->uses++;
	if (copy->length_field)
		copy->length_field->uses++;
	*slot = copy;
	return copy;
}

/* ---- names */

static bool name_enter(struct resolve *r, uint32_t table, const char *name, uint32_t place)
{
	const uint32_t id = intern_put(r->m->names, name, strlen(name));
	struct map64_slot *s =
		id == INTERN_NONE ? NULL : map64_put(&r->names, (uint64_t)table << 32 | id);

	if (!s)
		return false;
	if (!s->value)
		s->value = (uint64_t)place + 1;
	return true;
}

/* Place in the table, or UINT32_MAX. */
static uint32_t name_look(struct resolve *r, uint32_t table, const char *name)
{
	const uint32_t id = intern_find(r->m->names, name, strlen(name));
	const struct map64_slot *s =
		id == INTERN_NONE ? NULL : map64_find(&r->names, (uint64_t)table << 32 | id);

	return s ? (uint32_t)(s->value - 1) : UINT32_MAX;
}

/*
 * Enters the names of a class's members or mappings, unless a copy of it did; returns false if out
 * of memory.
 */
static bool names_enter(struct resolve *r, struct ctf_field *f)
{
	struct map64_slot *s;

	if (!f->names_id)
		f->names_id = ++r->last_names;
	s = map64_put(&r->names, (uint64_t)f->names_id << 32 | INTERN_NONE);
	if (!s)
		return false;
	if (s->value)
		return true;
	s->value = 1;
	for (uint32_t i = 0; i < f->nmembers; i++) {
		if (f->members[i].name && !name_enter(r, f->names_id, f->members[i].name, i))
			return false;
	}
	for (uint32_t i = 0; i < f->nmappings; i++) {
		if (!name_enter(r, f->names_id, f->mappings[i].name, i))
			return false;
	}
	return true;
}

uint32_t resolve_member(struct resolve *r, struct ctf_field *f, const char *name)
{
	if (f->nmembers > RESOLVE_SCAN)
		return names_enter(r, f) ? name_look(r, f->names_id, name) : UINT32_MAX;
	for (uint32_t i = 0; i < f->nmembers; i++) {
		if (f->members[i].name && !strcmp(f->members[i].name, name))
			return i;
	}
	return UINT32_MAX;
}

const struct ctf_mapping *resolve_mapping(struct resolve *r, struct ctf_field *f, const char *name)
{
	const uint32_t i = names_enter(r, f) ? name_look(r, f->names_id, name) : UINT32_MAX;

	return i == UINT32_MAX ? NULL : &f->mappings[i];
}

/* ---- what is said elsewhere in the metadata */

static bool map_names(struct resolve *r)
{
	const struct ctf_meta *m = r->m;

	for (size_t i = 0; i < m->nclocks + m->nenv; i++) {
		const bool is_clock = i < m->nclocks;
		const char *name = is_clock ? m->clocks[i]->id : m->env[i - m->nclocks].key;
		const uint32_t id = name ? intern_put(m->names, name, strlen(name)) : 0;
		struct map64_slot *s =
			id == INTERN_NONE ? NULL : map64_put(is_clock ? &r->clocks : &r->env, id);

		if (!s)
			return resolve_full(r);
		s->value = (is_clock ? i : i - m->nclocks) + 1;
	}
	return true;
}

static const struct map64_slot *named(const struct resolve *r, const struct map64 *map,
				      const char *name)
{
	const uint32_t id = intern_find(r->m->names, name, strlen(name));

	return id == INTERN_NONE ? NULL : map64_find(map, id);
}

static bool fill_clock(struct resolve *r, struct ctf_field *f)
{
	const struct map64_slot *s = named(r, &r->clocks, f->clock_name);

	if (!s) {
		meta_error(r->m, r->err, SPUR_ERR_FORMAT, f->at,
			   "expected a clock that is there, found `%.80s`", f->clock_name);
		return false;
	}
	f->clock = r->m->clocks[s->value - 1];
	return true;
}

static bool fill_length(struct resolve *r, struct ctf_field *f)
{
	const struct map64_slot *s = named(r, &r->env, f->env_key);
	const struct ctf_env *e = s ? &r->m->env[s->value - 1] : NULL;

	if (!e || e->is_text || e->number < 0) {
		meta_error(r->m, r->err, SPUR_ERR_FORMAT, f->ref.at,
			   "expected a number not below 0 as `env.%.80s`, found %s", f->env_key,
			   !e		? "none"
			   : e->is_text ? "a string"
					: "a negative one");
		return false;
	}
	f->length = (uint64_t)e->number;
	return true;
}

/* ---- classes */

static bool prepare(struct resolve *r, struct ctf_field *f, unsigned depth);

static uint32_t capped(uint32_t a, uint32_t b)
{
	return a + b > META_FIELDS ? META_FIELDS + 1 : a + b;
}

/* What a class inside gives to the one around it. */
static void read_in(struct ctf_field *f, const struct ctf_field *in)
{
	if (f->height <= in->height)
		f->height = (uint8_t)(in->height + 1);
	f->total = capped(f->total, in->total);
	f->has_ref |= in->has_ref;
}

/* SPEC ctf-tsdl/compound-align: not by a variant, whose own alignment is that of what is chosen. */
static void read_align(struct ctf_field *f, const struct ctf_field *in)
{
	const uint32_t align = in->unit ? in->unit_align : in->align;

	if (f->align < align)
		f->align = align;
}

static bool prepare_members(struct resolve *r, struct ctf_field *f, unsigned depth)
{
	f->empty = true;
	for (uint32_t i = 0; i < f->nmembers; i++) {
		const struct ctf_field *in = f->members[i].field;

		if (!prepare(r, f->members[i].field, depth + 1))
			return false;
		read_in(f, in);
		f->empty &= in->empty;
		if (f->kind == CTF_STRUCT)
			read_align(f, in);
	}
	return true;
}

static bool prepare_element(struct resolve *r, struct ctf_field *f, unsigned depth)
{
	if (!prepare(r, f->element, depth + 1))
		return false;
	read_in(f, f->element);
	f->empty = f->element->empty && !f->length_field;
	if (f->kind != CTF_OPTIONAL)
		read_align(f, f->element);
	if (f->length_field) {
		if (!prepare(r, f->length_field, depth + 1))
			return false;
		read_in(f, f->length_field);
		read_align(f, f->length_field);
	}
	return true;
}

static bool prepare_kind(struct resolve *r, struct ctf_field *f, unsigned depth)
{
	bool ok = true;

	switch (f->kind) {
	case CTF_STRUCT:
	case CTF_VARIANT:
		ok = prepare_members(r, f, depth);
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
	case CTF_OPTIONAL:
		ok = prepare_element(r, f, depth);
		break;
	default:
		break;
	}
	if (f->kind == CTF_ARRAY || f->kind == CTF_STRING_STATIC || f->kind == CTF_BLOB_STATIC)
		f->empty |= !f->length;
	return ok;
}

bool resolve_has_ref(const struct ctf_field *f)
{
	return f->kind == CTF_VARIANT || f->kind == CTF_OPTIONAL || f->kind == CTF_STRING_DYNAMIC ||
	       f->kind == CTF_BLOB_DYNAMIC || (f->kind == CTF_SEQUENCE && !f->length_field);
}

/*
 * Completes a class and what is in it; the second time only counts. Recursion ends at META_DEPTH.
 */
static bool prepare(struct resolve *r, struct ctf_field *f, unsigned depth)
{
	if (depth + (f->uses ? f->height : 1) > META_DEPTH)
		return error_limit(r, f->at, "field classes inside each other", META_DEPTH);
	if (f->uses++)
		return true;
	f->height = 1;
	f->total = 1;
	f->has_ref = resolve_has_ref(f);
	if (f->native_order)
		f->big_endian = r->m->big_endian;
	if (f->clock_name && !fill_clock(r, f))
		return false;
	if (f->env_key && !fill_length(r, f))
		return false;
	return prepare_kind(r, f, depth);
}

/* `sum` counts every scope's tree as if nothing were shared. */
static bool prepare_root(struct resolve *r, struct ctf_field *f, uint32_t *sum)
{
	if (!f)
		return true;
	if (!prepare(r, f, 0))
		return false;
	*sum = capped(*sum, f->total);
	return *sum <= META_FIELDS ||
	       error_limit(r, f->at, "field classes, named ones as often as they are used",
			   META_FIELDS);
}

static bool prepare_all(struct resolve *r)
{
	struct ctf_meta *m = r->m;
	uint32_t sum = 0;

	if (!prepare_root(r, m->packet_header, &sum))
		return false;
	for (size_t i = 0; i < m->nstreams; i++) {
		struct ctf_stream_class *s = m->streams[i];

		if (!prepare_root(r, s->packet_context, &sum) ||
		    !prepare_root(r, s->event_header, &sum) ||
		    !prepare_root(r, s->event_common, &sum))
			return false;
		for (size_t k = 0; k < s->nevents; k++) {
			if (!prepare_root(r, s->events[k]->specific, &sum) ||
			    !prepare_root(r, s->events[k]->payload, &sum))
				return false;
		}
	}
	return true;
}

/* ---- ids */

static int compare_ids(uint64_t a, uint64_t b, uint64_t at_a, uint64_t at_b)
{
	if (a != b)
		return a < b ? -1 : 1;
	return at_a < at_b ? -1 : at_a > at_b;
}

static int compare_streams(const void *a, const void *b)
{
	const struct ctf_stream_class *const *x = a, *const *y = b;

	return compare_ids((*x)->id, (*y)->id, (*x)->at, (*y)->at);
}

static int compare_events(const void *a, const void *b)
{
	const struct ctf_event_class *const *x = a, *const *y = b;

	return compare_ids((*x)->id, (*y)->id, (*x)->at, (*y)->at);
}

static bool error_repeated(struct resolve *r, uint64_t at, const char *what, uint64_t id)
{
	meta_error(r->m, r->err, SPUR_ERR_FORMAT, at, "expected a new id of %s, found %llu again",
		   what, (unsigned long long)id);
	return false;
}

static bool sort_events(struct resolve *r, const struct ctf_stream_class *s)
{
	if (!s->nevents)
		return true;
	qsort(s->events, s->nevents, sizeof(struct ctf_event_class *), compare_events);
	for (size_t i = 1; i < s->nevents; i++) {
		/* SPEC ctf-tsdl/event-ids */
		if (s->events[i]->id == s->events[i - 1]->id)
			return error_repeated(r, s->events[i]->at, "an event in its stream",
					      s->events[i]->id);
	}
	return true;
}

static bool sort_ids(struct resolve *r)
{
	struct ctf_meta *m = r->m;

	if (m->nstreams)
		qsort(m->streams, m->nstreams, sizeof(struct ctf_stream_class *), compare_streams);
	for (size_t i = 0; i < m->nstreams; i++) {
		/* SPEC ctf-tsdl/stream-ids */
		if (i && m->streams[i]->id == m->streams[i - 1]->id)
			return error_repeated(r, m->streams[i]->at, "a stream", m->streams[i]->id);
		if (!sort_events(r, m->streams[i]))
			return false;
	}
	return true;
}

/* ---- all */

static bool is_empty(const struct ctf_field *f)
{
	return !f || f->empty;
}

static bool resolve_event(struct resolve *r, const struct ctf_stream_class *s,
			  struct ctf_event_class *e)
{
	/* SPEC ctf-tsdl/empty-event */
	if (!s->v11_header && is_empty(s->event_header) && is_empty(s->event_common) &&
	    is_empty(e->specific) && is_empty(e->payload)) {
		meta_error(
			r->m, r->err, SPUR_ERR_FORMAT, e->at,
			"expected an event with at least one bit, found one that is always empty");
		return false;
	}
	r->roots[CTF_SCOPE_EVENT_SPECIFIC] = e->specific ? &e->specific : NULL;
	r->roots[CTF_SCOPE_PAYLOAD] = e->payload ? &e->payload : NULL;
	return resolve_scope(r, CTF_SCOPE_EVENT_SPECIFIC) && resolve_scope(r, CTF_SCOPE_PAYLOAD);
}

static bool resolve_stream(struct resolve *r, struct ctf_stream_class *s)
{
	r->roots[CTF_SCOPE_PACKET_CONTEXT] = s->packet_context ? &s->packet_context : NULL;
	r->roots[CTF_SCOPE_EVENT_HEADER] = s->event_header ? &s->event_header : NULL;
	r->roots[CTF_SCOPE_EVENT_COMMON] = s->event_common ? &s->event_common : NULL;
	if (!resolve_scope(r, CTF_SCOPE_PACKET_CONTEXT) ||
	    !resolve_scope(r, CTF_SCOPE_EVENT_HEADER) || !resolve_scope(r, CTF_SCOPE_EVENT_COMMON))
		return false;
	for (size_t i = 0; i < s->nevents; i++, r->event++) {
		if (!resolve_event(r, s, s->events[i]))
			return false;
	}
	return r->m->generation != CTF_1 || resolve_stream_roles(r, s);
}

static bool resolve_all(struct resolve *r)
{
	struct ctf_meta *m = r->m;

	if (!map_names(r) || !sort_ids(r) || !prepare_all(r))
		return false;
	r->roots[CTF_SCOPE_PACKET_HEADER] = m->packet_header ? &m->packet_header : NULL;
	if (!resolve_scope(r, CTF_SCOPE_PACKET_HEADER))
		return false;
	if (m->generation == CTF_1 && !resolve_header_roles(r))
		return false;
	for (size_t i = 0; i < m->nstreams; i++, r->stream++) {
		if (!resolve_stream(r, m->streams[i]))
			return false;
	}
	return resolve_slots(r);
}

enum spur_status meta_resolve(struct ctf_meta *m, struct diag_log *diag, struct spur_error *err)
{
	const uint64_t failures = mem_failures();
	struct resolve *r = mem_alloc(sizeof(*r));
	bool ok;

	if (!r)
		return err_nomem(err);
	r->m = m;
	r->diag = diag;
	r->err = err;
	ok = resolve_all(r);
	mem_free(r->targets);
	mem_free(r->slots);
	mem_free(r->saves);
	mem_free(r->refs);
	map64_free(&r->names);
	map64_free(&r->clocks);
	map64_free(&r->env);
	mem_free(r);
	/* A name may not have been found because memory is exhausted only. */
	if (mem_failures() != failures)
		return err_nomem(err);
	return ok ? SPUR_OK : SPUR_FAIL;
}
