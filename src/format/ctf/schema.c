/*
 * SPEC ctf/schema: schemas of row classes, from the metadata alone: fields as the value programs
 * give them (plan/value.c, flat), that is the stream's event context, the event's own context, and
 * its fields.
 */
#include <stdio.h>

#include "format/ctf/own.h"
#include "format/ctf/symbols.h"

/* --- fields --- */

static bool field_make(struct ctf *c, const struct ctf_field *f, struct spur_field *out);

/* Names of values; of a bit map numbers of bits. Returns false if out of memory. */
static bool labels_make(struct ctf *c, const struct ctf_field *f, struct spur_field *out)
{
	struct spur_label *labels;
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->nmappings; i++)
		n += f->mappings[i].nranges;
	if (!n)
		return true;
	labels = arena_alloc(&c->t->arena, n * sizeof(*labels));
	out->labels = labels;
	if (!labels)
		return false;
	for (uint32_t i = 0; i < f->nmappings; i++)
		for (uint32_t r = 0; r < f->mappings[i].nranges; r++)
			labels[out->nlabels++] =
				(struct spur_label){ (int64_t)f->mappings[i].ranges[r].low,
						     (int64_t)f->mappings[i].ranges[r].high,
						     f->mappings[i].name };
	assert(out->nlabels == n);
	return true;
}

static bool number_make(struct ctf *c, const struct ctf_field *f, struct spur_field *out)
{
	const bool varies = f->kind == CTF_VAR_UINT || f->kind == CTF_VAR_SINT;

	if (!labels_make(c, f, out))
		return false;
	out->bits = varies ? 0 : f->size;
	out->show = (uint8_t)plan_show(f);
	out->is_signed = f->is_signed;
	/* More than 64 bits are bytes, the most significant first. */
	if (!varies && f->size > 64 && f->kind != CTF_BOOL) {
		out->type = SPUR_BYTES;
		out->count = (f->size + 7) / 8;
		return true;
	}
	out->is_flags = f->kind == CTF_BITMAP;
	out->type = f->kind == CTF_BOOL ? SPUR_BOOL
		    : out->nlabels	? SPUR_ENUM
		    : f->is_signed	? SPUR_I64
					: SPUR_U64;
	out->is_signed &= out->type == SPUR_ENUM;
	return true;
}

static void float_make(const struct ctf_field *f, struct spur_field *out)
{
	const bool known = f->size <= 64 || f->size == 128;

	out->type = known ? SPUR_F64 : SPUR_BYTES;
	out->bits = f->size;
	out->count = known ? 0 : (f->size + 7) / 8;
}

static bool struct_make(struct ctf *c, const struct ctf_field *f, struct spur_field *out)
{
	struct spur_field *items =
		arena_alloc(&c->t->arena, (f->nmembers + 1) * sizeof(*items));

	out->type = SPUR_STRUCT;
	out->items = items;
	for (uint32_t i = 0; items && i < f->nmembers; i++) {
		if (!field_make(c, f->members[i].field, &items[i]))
			return false;
		items[i].name = f->members[i].shown ? trace_intern(c->t, f->members[i].shown) : 0;
	}
	out->nitems = f->nmembers;
	return items != NULL;
}

static bool array_make(struct ctf *c, const struct ctf_field *f, struct spur_field *out)
{
	struct spur_field *item = arena_alloc(&c->t->arena, sizeof(*item));

	out->type = SPUR_ARRAY;
	out->items = item;
	out->nitems = 1;
	out->count = f->kind == CTF_ARRAY && f->length <= UINT32_MAX ? (uint32_t)f->length : 0;
	return item && field_make(c, f->element, item);
}

/* Whether two fields are one, but for their names. Depth is bounded by META_DEPTH. */
static bool same_field(const struct spur_field *a, const struct spur_field *b)
{
	bool same = a->type == b->type && a->show == b->show && a->optional == b->optional &&
		    a->is_signed == b->is_signed && a->is_flags == b->is_flags &&
		    a->bits == b->bits && a->count == b->count && a->nitems == b->nitems &&
		    a->nlabels == b->nlabels;

	for (uint32_t i = 0; same && a->labels != b->labels && i < a->nlabels; i++)
		same = a->labels[i].low == b->labels[i].low &&
		       a->labels[i].high == b->labels[i].high &&
		       strcmp(a->labels[i].name, b->labels[i].name) == 0;
	for (uint32_t i = 0; same && a->items != b->items && i < a->nitems; i++)
		same = a->items[i].name == b->items[i].name &&
		       same_field(&a->items[i], &b->items[i]);
	return same;
}

static bool is_plain(const struct spur_field *f)
{
	return f->type != SPUR_ENUM && f->type != SPUR_STRUCT && f->type != SPUR_ARRAY;
}

/* What holds for the values of both: of plain ones of one type the type, else nothing. */
static void field_join(struct spur_field *to, const struct spur_field *other)
{
	const bool optional = to->optional || other->optional;
	const bool same_type = to->type == other->type && is_plain(to);

	if (!same_field(to, other))
		*to = (struct spur_field){
			.type = same_type ? to->type : SPUR_NULL,
			.show = to->show == other->show ? to->show : SPUR_SHOW_PLAIN,
		};
	to->optional = optional;
}

/* SPEC ctf/schema-variant: a variant is what its options have in common */
static bool variant_make(struct ctf *c, const struct ctf_field *f, struct spur_field *out)
{
	struct spur_field option;

	out->type = SPUR_NULL;
	for (uint32_t i = 0; i < f->nmembers; i++) {
		if (!field_make(c, f->members[i].field, i ? &option : out))
			return false;
		if (i)
			field_join(out, &option);
	}
	return true;
}

static void string_make(const struct ctf_field *f, struct spur_field *out)
{
	const bool blob = f->kind == CTF_BLOB_STATIC || f->kind == CTF_BLOB_DYNAMIC;
	const bool fixed = f->kind == CTF_STRING_STATIC || f->kind == CTF_BLOB_STATIC;

	out->type = blob ? SPUR_BYTES : SPUR_STRING;
	/* Text of other encodings has another length once it is UTF-8. */
	if (!blob && f->encoding != CTF_UTF8 && f->encoding != CTF_ASCII)
		return;
	out->count = fixed && f->length <= UINT32_MAX ? (uint32_t)f->length : 0;
}

static bool kind_make(struct ctf *c, const struct ctf_field *f, struct spur_field *out)
{
	switch ((enum ctf_kind)f->kind) {
	case CTF_FLOAT:
		float_make(f, out);
		return true;
	case CTF_STRING:
	case CTF_STRING_STATIC:
	case CTF_STRING_DYNAMIC:
	case CTF_BLOB_STATIC:
	case CTF_BLOB_DYNAMIC:
		string_make(f, out);
		return true;
	case CTF_STRUCT:
		return struct_make(c, f, out);
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		return array_make(c, f, out);
	case CTF_OPTIONAL:
		if (!field_make(c, f->element, out))
			return false;
		out->optional = true;
		return true;
	case CTF_VARIANT:
		return variant_make(c, f, out);
	default:
		return number_make(c, f, out);
	}
}

/*
 * The field of a field class, without a name. Field classes may be shared by many others, so that
 * each is made once. Returns false if out of memory.
 */
static bool field_make(struct ctf *c, const struct ctf_field *f, struct spur_field *out)
{
	const bool keeps = f->nmembers || f->element || f->nmappings;
	const struct map64_slot *slot =
		keeps ? map64_find(&c->schema_fields, (uintptr_t)f) : NULL;
	struct map64_slot *made;
	struct spur_field *copy;

	if (slot) {
		*out = *(const struct spur_field *)(uintptr_t)slot->value;
		return true;
	}
	*out = (struct spur_field){ 0 };
	if (!kind_make(c, f, out))
		return false;
	if (!keeps)
		return true;
	copy = arena_alloc(&c->t->arena, sizeof(*copy));
	made = copy ? map64_put(&c->schema_fields, (uintptr_t)f) : NULL;
	if (!made)
		return false;
	*copy = *out;
	made->value = (uintptr_t)copy;
	return true;
}

/* --- schemas of events --- */

/* SPEC ctf/instruction-pointers: what lies at the `ip` of the context, as args.c adds it. */
static bool debug_make(struct ctf *c, struct spur_field *out)
{
	struct spur_field *items = arena_alloc(&c->t->arena, 3 * sizeof(*items));

	if (!items)
		return false;
	items[0] = (struct spur_field){ .name = c->s_binary, .type = SPUR_STRING };
	items[1] = (struct spur_field){ .name = c->s_function, .type = SPUR_STRING };
	items[2] = (struct spur_field){ .name = c->s_source, .type = SPUR_STRING };
	items[1].optional = items[2].optional = true;
	*out = (struct spur_field){ .name = c->s_debug,
				    .type = SPUR_STRUCT,
				    .optional = true,
				    .nitems = 3,
				    .items = items };
	return true;
}

struct fields {
	const struct spur_field *items;
	uint32_t count;
};

/* Fields of an event class of a stream class. Returns false if out of memory. */
static bool event_make(struct ctf *c, const struct ctf_class *k, const struct ctf_event_class *e,
		       struct fields *out)
{
	const struct ctf_field *scopes[] = { k->class->event_common, e->specific, e->payload };
	struct spur_field *items;
	uint32_t n = 1;

	for (size_t i = 0; i < 3; i++)
		n += scopes[i] ? scopes[i]->nmembers : 0;
	items = arena_alloc(&c->t->arena, n * sizeof(*items));
	*out = (struct fields){ .items = items };
	if (!items)
		return false;
	for (size_t i = 0; i < 3; i++) {
		struct spur_field scope;

		if (!scopes[i])
			continue;
		if (!field_make(c, scopes[i], &scope))
			return false;
		assert(scope.type == SPUR_STRUCT && scope.nitems == scopes[i]->nmembers);
		for (uint32_t m = 0; m < scope.nitems; m++)
			items[out->count++] = scope.items[m];
	}
	if (!c->symbols || k->ip_at == UINT32_MAX)
		return true;
	return debug_make(c, &items[out->count++]);
}

/*
 * Of the fields of an event that Spur wrote, takes those that are arguments. Returns false if out
 * of memory.
 */
static bool own_fields(struct ctf *c, const struct ctf_class *k, const struct ctf_event_class *e,
		       struct fields *f)
{
	const struct ctf_own *own = own_make(c, k, e);
	struct spur_field *items =
		own ? arena_alloc(&c->t->arena, (own->nshown + 1) * sizeof(*items)) : NULL;

	if (!items)
		return false;
	for (uint32_t i = 0; i < own->nshown; i++)
		items[i] = f->items[own->shown[i]];
	for (uint32_t i = 0; i < own->nshown; i++)
		if (own->names[i] != UINT32_MAX)
			items[i].name = own->names[i];
	*f = (struct fields){ .items = items, .count = own->nshown };
	return true;
}

static bool same_fields(const struct fields *a, const struct fields *b)
{
	bool same = a->count == b->count;

	for (uint32_t i = 0; same && i < a->count; i++)
		same = a->items[i].name == b->items[i].name &&
		       same_field(&a->items[i], &b->items[i]);
	return same;
}

/*
 * Adds an event class to a side of a schema. Its first one is described; that of others makes it
 * open if it differs.
 */
static bool side_add(struct ctf *c, struct spur_schema *s, bool end, const struct ctf_class *k,
		     const struct ctf_event_class *e)
{
	const struct spur_field **items = end ? &s->end : &s->begin;
	uint32_t *count = end ? &s->nend : &s->nbegin;
	const struct fields first = { *items, *count };
	struct fields own;

	if (!event_make(c, k, e, &own) ||
	    (c->spans && own_is(e) && !own_fields(c, k, e, &own)))
		return false;
	if (first.items) {
		s->open |= !same_fields(&first, &own);
		return true;
	}
	*items = own.items;
	*count = own.count;
	return true;
}

/* --- schemas of classes --- */

/* An event of that name that begins or ends the span, if there is one. */
static bool span_side(struct ctf *c, struct spur_schema *s, struct ctf_class *k, const char *name,
		      const char *span)
{
	const uint64_t index = ctf_name_index(c, k, name);
	char its[CTF_NAME_ROOM];
	enum event_rule rule;

	if (!index)
		return true;
	rule = ctf_rule(c, k, name, its);
	if ((rule != RULE_ENTRY && rule != RULE_EXIT) || strcmp(its, span) != 0)
		return true;
	/* Events of one name may have other fields. */
	s->open |= (index & CTF_NAME_TWICE) != 0;
	return side_add(c, s, rule == RULE_EXIT, k,
			k->class->events[(index & ~CTF_NAME_TWICE) - 1]);
}

/* The events of all names whose rule makes this span: see ctf_rule(). */
static bool span_make(struct ctf *c, struct spur_schema *s, struct ctf_class *k, const char *span)
{
	static const char *const names[][3] = {
		{ "", "syscall_entry_", "" },	    { "", "syscall_exit_", "" },
		{ "", "syscalls:sys_enter_", "" },  { "", "syscalls:sys_exit_", "" },
		{ "", "sys_", "" },		    { "", "", "_entry" },
		{ "", "", "_exit" },		    { "compat_", "compat_syscall_entry_", "" },
		{ "compat_", "compat_syscall_exit_", "" },
		{ "compat_", "compat_sys_", "" },
	};
	char name[2 * CTF_NAME_ROOM];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct text t = text_of(span);

		if (!text_skip(&t, names[i][0]))
			continue;
		snprintf(name, sizeof(name), "%s%s%s", names[i][1], t.p, names[i][2]);
		if (!span_side(c, s, k, name, span))
			return false;
	}
	return true;
}

/* The first event of each name that Spur wrote of a span. */
static bool own_span_make(struct ctf *c, struct spur_schema *s, const struct ctf_event *of)
{
	const struct ctf_own *own = of->own;
	const char *cat = trace_string(c->t, own->cat, NULL);

	for (int end = 0; end < 2; end++) {
		char name[2 * CTF_NAME_ROOM];
		uint64_t index;

		snprintf(name, sizeof(name), "%s%s%s%s", cat, cat[0] ? ":" : "",
			 trace_string(c->t, own->name, NULL), end ? "_exit" : "_entry");
		index = ctf_name_index(c, of->stream, name);
		if (!index)
			continue;
		s->open |= (index & CTF_NAME_TWICE) != 0;
		if (!side_add(c, s, end, of->stream,
			      of->stream->class->events[(index & ~CTF_NAME_TWICE) - 1]))
			return false;
	}
	return true;
}

static bool has_address(const struct ctf_event_class *e)
{
	for (uint32_t i = 0; e->payload && i < e->payload->nmembers; i++)
		if (e->payload->members[i].shown &&
		    strcmp(e->payload->members[i].shown, "addr") == 0)
			return true;
	return false;
}

/*
 * The rows of a function are made by events of several stream classes, which may have contexts of
 * their own.
 */
static bool functions_make(struct ctf *c, struct spur_schema *s)
{
	char span[CTF_NAME_ROOM];

	for (size_t i = 0; i < c->ntraces; i++) {
		const struct ctf_meta *m = c->traces[i].meta;

		for (size_t k = 0; c->traces[i].classes && k < m->nstreams; k++) {
			struct ctf_class *class = &c->traces[i].classes[k];

			for (size_t e = 0; e < m->streams[k]->nevents; e++) {
				const struct ctf_event_class *event = m->streams[k]->events[e];
				const enum event_rule rule =
					event->name && has_address(event) ?
						ctf_rule(c, class, event->name, span) :
						RULE_NONE;

				if ((rule == RULE_FUNCTION_ENTRY || rule == RULE_FUNCTION_EXIT) &&
				    !side_add(c, s, rule == RULE_FUNCTION_EXIT, class, event))
					return false;
			}
		}
	}
	return true;
}

/* Losses have one argument: how many. */
static bool loss_make(struct ctf *c, struct spur_schema *s, uint32_t name)
{
	struct spur_field *f = arena_alloc(&c->t->arena, sizeof(*f));

	if (!f)
		return false;
	*f = (struct spur_field){ .name = name, .type = SPUR_U64 };
	s->begin = f;
	s->nbegin = 1;
	return true;
}

static bool is_class(const struct ctf *c, uint32_t id, const struct event_class *cls)
{
	return trace_class(c->t, id) == cls;
}

static bool schema_make(struct ctf *c, const struct event_class *cls, struct spur_schema *s)
{
	const struct ctf_event *e = class_more(cls).extra;

	if (is_class(c, c->packet_cls, cls))
		return true;
	if (is_class(c, c->lost_cls, cls))
		return loss_make(c, s, c->s_count);
	if (is_class(c, c->lost_packets_cls, cls))
		return loss_make(c, s, c->s_packets);
	/* Newer metadata may say more of a class. */
	s->open = c->grow != NULL;
	if (!e)
		return functions_make(c, s);
	if (e->own && (cls->flags & CLASS_FUNCTION))
		return own_span_make(c, s, e);
	if (cls->flags & CLASS_FUNCTION)
		return span_make(c, s, e->stream, trace_string(c->t, cls->name, NULL));
	return side_add(c, s, e->rule == RULE_FUNCTION_EXIT || e->rule == RULE_SYSCALL_EXIT,
			e->stream, e->class);
}

const struct spur_schema *ctf_schema(struct spur_trace *t, const struct event_class *cls)
{
	struct ctf *c = t->state;
	struct spur_schema *s;
	bool is_function = !class_more(cls).extra && (cls->flags & CLASS_FUNCTION);

	if (is_function && c->function_schema)
		return c->function_schema;
	s = arena_alloc(&t->arena, sizeof(*s));
	if (!s)
		return NULL;
	*s = (struct spur_schema){ 0 };
	if (!schema_make(c, cls, s))
		return NULL;
	if (is_function)
		c->function_schema = s;
	return s;
}
