/* See own.h. */
#include "format/ctf/own.h"

#include <stdio.h>

/* SPEC ctf/own-uri: spur:KIND+FLAGS/BYTES: the row's kind, its flags, bytes of its category */
struct own_uri {
	uint8_t kind;
	uint16_t flags;
	size_t cat_len;
	bool id_first; /* the first field is the id */
	struct text names; /* ?NUMBER=NAME... */
};

static bool uri_kind(struct text *t, uint8_t *kind)
{
	for (unsigned k = 0; k < SPUR_KINDS; k++) {
		struct text rest = *t;

		if (!text_skip(&rest, spur_kind_name(k)) || !text_skip(&rest, "+"))
			continue;
		*t = rest;
		*kind = (uint8_t)k;
		return true;
	}
	return false;
}

static bool uri_read(const struct ctf_event_class *e, struct own_uri *u)
{
	struct text t = text_of(e->emf_uri ? e->emf_uri : "");
	uint64_t flags, len;

	if (!text_skip(&t, "spur:") || !uri_kind(&t, &u->kind) || !text_u64(&t, 16, &flags) ||
	    !text_skip(&t, "/") || !text_u64(&t, 10, &len) || flags > UINT16_MAX)
		return false;
	u->id_first = text_skip(&t, "#");
	if ((t.len && t.p[0] != '?') || !e->name || len >= strlen(e->name) + !len)
		return false;
	u->flags = (uint16_t)flags;
	u->cat_len = (size_t)len;
	u->names = t;
	return true;
}

bool own_is(const struct ctf_event_class *e)
{
	struct own_uri u;

	return uri_read(e, &u);
}

/* --- field classes --- */

static bool is_own_bool(const struct ctf_field *f)
{
	return f->kind == CTF_UINT && f->size == 8 && f->nmappings == 2 &&
	       strcmp(f->mappings[0].name, "false") == 0 &&
	       strcmp(f->mappings[1].name, "true") == 0 && f->mappings[0].nranges == 1 &&
	       f->mappings[0].ranges[0].high == 0 && f->mappings[1].nranges == 1 &&
	       f->mappings[1].ranges[0].low == 1 && f->mappings[1].ranges[0].high == 1;
}

static bool is_own_byte(const struct ctf_field *f)
{
	return f->kind == CTF_UINT && f->size == 8 && f->base == 16 && !f->is_enum &&
	       f->save == CTF_NO_SLOT;
}

/* SPEC ctf/own-types: truth values are an enumeration, bytes an array of hexadecimal numbers */
static void field_adapt(struct ctf_field *f)
{
	for (uint32_t i = 0; i < f->nmembers; i++)
		field_adapt(f->members[i].field);
	if (is_own_bool(f)) {
		f->kind = CTF_BOOL;
		f->is_enum = false;
		f->nmappings = 0;
	}
	if (f->kind != CTF_ARRAY && f->kind != CTF_SEQUENCE)
		return;
	field_adapt(f->element);
	if (is_own_byte(f->element)) {
		f->kind = f->kind == CTF_ARRAY ? CTF_BLOB_STATIC : CTF_BLOB_DYNAMIC;
		f->element = NULL;
	}
}

/* SPEC ctf/write-v11-names: an underscore in front is no part of the name */
static void names_adapt(struct ctf_field *f)
{
	for (uint32_t i = 0; i < f->nmembers; i++) {
		struct ctf_member *m = &f->members[i];

		if (m->name[0] == '_')
			m->shown = m->name = m->name + 1;
		names_adapt(m->field);
	}
	if (f->element)
		names_adapt(f->element);
}

/*
 * SPEC ctf/write-v11-events: the first field of an event that says so is its own context. Returns
 * false if out of memory.
 */
static bool v11_adapt(struct ctf_meta *m, struct ctf_event_class *e)
{
	struct ctf_field *specific, *payload;
	struct own_uri u;

	names_adapt(e->payload);
	if (!uri_read(e, &u) || !u.id_first || !e->payload->nmembers || e->specific)
		return true;
	specific = meta_field_copy(m, e->payload);
	payload = meta_field_copy(m, e->payload);
	if (!specific || !payload)
		return false;
	specific->nmembers = 1;
	payload->members++;
	payload->nmembers--;
	e->specific = specific;
	e->payload = payload;
	return true;
}

bool own_adapt(struct ctf_meta *m)
{
	bool any = false;

	for (size_t i = 0; i < m->nstreams; i++)
		for (size_t k = 0; k < m->streams[i]->nevents; k++) {
			struct ctf_event_class *e = m->streams[i]->events[k];

			if (!own_is(e))
				continue;
			any = true;
			if (e->payload && m->generation != CTF_2)
				field_adapt(e->payload);
			if (e->payload && m->generation == CTF_V11 && !v11_adapt(m, e))
				return any;
		}
	return any;
}

/* --- event classes --- */

static size_t name_end(const struct own_uri *u, const char *name, size_t len)
{
	const char *end = u->kind == SPUR_BEGIN	     ? "_entry"
			  : u->kind == SPUR_END_SPAN ? "_exit"
						     : "";
	const size_t n = strlen(end);

	return len >= n && memcmp(name + len - n, end, n) == 0 ? len - n : len;
}

/* A sequence's length is in front of it. */
static bool is_length(const struct ctf_field *s, uint32_t i)
{
	const struct ctf_field *next = i + 1 < s->nmembers ? s->members[i + 1].field : NULL;

	return next && (next->kind == CTF_SEQUENCE || next->kind == CTF_BLOB_DYNAMIC) &&
	       next->ref.nnames && s->members[i].name && next->ref.names[0] &&
	       strcmp(next->ref.names[next->ref.nnames - 1], s->members[i].name) == 0;
}

/* SPEC ctf/own-arguments: fields but for lengths; contexts are the row's thread and id */
static bool find_shown(struct ctf *c, const struct ctf_class *k, const struct ctf_event_class *e,
		       struct ctf_own *own)
{
	const struct ctf_field *common = k->class->event_common, *s = e->payload;
	const uint32_t first =
		(common ? common->nmembers : 0) + (e->specific ? e->specific->nmembers : 0);
	const uint32_t n = s ? s->nmembers : 0;

	own->shown = arena_alloc(&c->t->arena, (n + 1) * sizeof(*own->shown));
	for (uint32_t i = 0; own->shown && i < n; i++)
		if (!is_length(s, i))
			own->shown[own->nshown++] = first + i;
	return own->shown != NULL;
}

/* One name of a URI, which ends with the next one or the URI. Returns 0 if out of memory. */
static uint32_t name_read(struct ctf *c, struct text *t)
{
	char *name = arena_alloc(&c->t->arena, t->len + 1);
	size_t n = 0;

	while (name && t->len && t->p[0] != '?') {
		struct text digits = text_make(t->p + 1, t->len > 2 ? 2 : 0);
		uint64_t byte = (unsigned char)t->p[0];
		const bool escaped = byte == '%' && text_u64(&digits, 16, &byte) && !digits.len;

		name[n++] = (char)byte;
		*t = text_make(t->p + (escaped ? 3 : 1), t->len - (escaped ? 3 : 1));
	}
	return name ? trace_intern_n(c->t, name, n) : 0;
}

/* The names that arguments have instead of their fields'. */
static bool find_names(struct ctf *c, struct text t, struct ctf_own *own)
{
	uint64_t number;

	own->names = arena_alloc(&c->t->arena, (own->nshown + 1) * sizeof(*own->names));
	for (uint32_t i = 0; own->names && i < own->nshown; i++)
		own->names[i] = UINT32_MAX;
	while (own->names && text_skip(&t, "?") && text_u64(&t, 10, &number) &&
	       text_skip(&t, "=")) {
		const uint32_t name = name_read(c, &t);

		if (number < own->nshown)
			own->names[number] = name;
	}
	return own->names != NULL;
}

struct ctf_own *own_make(struct ctf *c, const struct ctf_class *k, const struct ctf_event_class *e)
{
	struct own_uri u;
	struct ctf_own *own;
	const char *name = e->name;
	size_t len;

	if (!uri_read(e, &u))
		return NULL;
	own = arena_alloc(&c->t->arena, sizeof(*own));
	if (!own)
		return NULL;
	own->kind = u.kind == SPUR_SAMPLE ? SPUR_INSTANT : u.kind;
	own->flags = u.flags;
	if (u.cat_len) {
		own->cat = trace_intern_n(c->t, name, u.cat_len);
		name += u.cat_len + 1;
	}
	len = name_end(&u, name, strlen(name));
	own->name = trace_intern_n(c->t, name, len);
	return (own->name || !len) && (own->cat || !u.cat_len) && find_shown(c, k, e, own) &&
			       find_names(c, u.names, own)
		       ? own
		       : NULL;
}

void own_args(const struct ctf_own *own, struct spur_args *args)
{
	struct spur_value *items = (struct spur_value *)args->items;
	uint32_t n = 0;

	while (n < own->nshown && own->shown[n] < args->count) {
		items[n] = items[own->shown[n]];
		if (own->names[n] != UINT32_MAX)
			items[n].name = own->names[n];
		n++;
	}
	args->count = n;
}
