/*
 * Blocks of TSDL: trace, env, clock, stream, event, callsite; and bodies with attributes in
 * general.
 */
#include <string.h>

#include "format/ctf/meta/tsdl.h"

/* ---- bodies */

struct body {
	const struct tsdl_attr *attrs;
	void *block;
	const char *what;
	bool declares; /* types may be declared inside */
	/* Takes attributes that `attrs` lacks; NULL: a warning does. */
	bool (*other)(struct tsdl *p, const char *name, const struct tsdl_value *v);
	uint64_t seen; /* bits by place in `attrs` */
};

/* The attribute of that name; NULL: none. False: it was there before. */
static bool attr_find(struct tsdl *p, struct body *b, const char *name, uint64_t at,
		      const struct tsdl_attr **found)
{
	*found = NULL;
	for (unsigned i = 0; b->attrs[i].name; i++) {
		if (strcmp(name, b->attrs[i].name) != 0)
			continue;
		/* SPEC ctf-tsdl/attribute-once */
		if (b->seen & (uint64_t)1 << i)
			return tsdl_error(p, at, "expected `%s` once, found it again", name);
		b->seen |= (uint64_t)1 << i;
		*found = &b->attrs[i];
	}
	return true;
}

/* After `:=` */
static bool read_type(struct tsdl *p, const struct body *b, const struct tsdl_attr *attr)
{
	const uint64_t at = p->tok.at;
	struct tsdl_spec s;
	struct ctf_field *f;

	if (!tsdl_specifier(p, &s))
		return false;
	f = tsdl_spec_field(p, &s, "");
	if (!f || !attr)
		return f != NULL;
	/* SPEC ctf-tsdl/scope-struct */
	if (f->kind != CTF_STRUCT)
		return tsdl_error(p, at, "expected a structure for `%s`, found another type",
				  attr->name);
	return attr->type(p, b->block, f);
}

/* After `=` */
static bool read_value(struct tsdl *p, const struct body *b, const struct tsdl_attr *attr,
		       const char *name)
{
	struct tsdl_value v;

	if (!tsdl_value(p, &v, "a number, a string or a name"))
		return false;
	if (attr)
		return attr->value(p, b->block, &v);
	return !b->other || b->other(p, name, &v);
}

static bool read_attr(struct tsdl *p, struct body *b)
{
	const struct tsdl_attr *attr;
	const char *name;
	struct tsdl_value v;

	if (!tsdl_value(p, &v, "an attribute or `}`"))
		return false;
	name = tsdl_join(p, &v);
	if (!name)
		return false;
	if (!attr_find(p, b, name, v.at, &attr))
		return false;
	if (attr && !tsdl_is(p, attr->value ? '=' : TSDL_ASSIGN))
		return tsdl_expected(p, attr->value ? "`=`" : "`:=`");
	/* SPEC ctf-tsdl/unknown-attribute */
	if (!attr && !b->other)
		tsdl_warn(p, "ctf/unknown-attribute", v.at,
			  "expected an attribute of %s, found `%.80s`; ignored", b->what, name);
	if (tsdl_accept(p, TSDL_ASSIGN)
		    ? !read_type(p, b, attr)
		    : !tsdl_expect(p, '=', "`=`") || !read_value(p, b, attr, name))
		return false;
	return tsdl_expect(p, ';', "`;`");
}

static bool read_items(struct tsdl *p, struct body *b)
{
	if (!tsdl_expect(p, '{', "`{`"))
		return false;
	while (!tsdl_is(p, '}')) {
		if (tsdl_accept(p, ';'))
			continue;
		if (b->declares && tsdl_declares(p) ? !tsdl_declaration(p) : !read_attr(p, b))
			return false;
	}
	tsdl_advance(p);
	return true;
}

bool tsdl_body(struct tsdl *p, const struct tsdl_attr *attrs, void *block, const char *what)
{
	struct body b = { .attrs = attrs, .block = block, .what = what };

	return read_items(p, &b);
}

/* A block of the root: its own scope. The cursor is on its keyword. */
static bool read_block(struct tsdl *p, struct body *b)
{
	bool ok;

	tsdl_advance(p);
	if (!tsdl_scope_open(p))
		return false;
	b->declares = true;
	ok = read_items(p, b);
	tsdl_scope_close(p);
	return ok;
}

static bool block_end(struct tsdl *p)
{
	return tsdl_expect(p, ';', "`;` behind the block");
}

static bool set_type(struct ctf_field **to, struct ctf_field *f)
{
	*to = f;
	return true;
}

/* ---- trace */

/* SPEC ctf-tsdl/version */
static bool trace_major(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	(void)block;
	return tsdl_u32(p, v, "major", &p->m->major) &&
	       (p->m->major == 1 || tsdl_found(p, v, "1 for `major`"));
}

static bool trace_minor(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	(void)block;
	return tsdl_u32(p, v, "minor", &p->m->minor) &&
	       (p->m->minor == 8 || tsdl_found(p, v, "8 for `minor`"));
}

static bool trace_uuid(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	(void)block;
	p->m->has_uuid = true;
	return tsdl_uuid(p, v, p->m->uuid);
}

static bool trace_order(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	const char *name = v->kind == VALUE_NAME && v->nnames == 1 ? v->text : "";

	(void)block;
	p->m->big_endian = !strcmp(name, "be") || !strcmp(name, "network");
	return p->m->big_endian || !strcmp(name, "le") ||
	       tsdl_found(p, v, "be or le for `byte_order`");
}

static bool trace_header(struct tsdl *p, void *block, struct ctf_field *f)
{
	(void)block;
	return set_type(&p->m->packet_header, f);
}

bool tsdl_trace(struct tsdl *p)
{
	static const struct tsdl_attr attrs[] = {
		{ .name = "major", .value = trace_major },
		{ .name = "minor", .value = trace_minor },
		{ .name = "byte_order", .value = trace_order },
		{ .name = "uuid", .value = trace_uuid },
		{ .name = "packet.header", .type = trace_header },
		{ 0 },
	};
	enum { REQUIRED = 3 };
	struct body b = { .attrs = attrs, .what = "trace" };
	const uint64_t at = p->tok.at;

	/* SPEC ctf-tsdl/trace-block */
	if (p->has_trace)
		return tsdl_error(p, at, "expected one `trace` block, found another");
	if (!read_block(p, &b))
		return false;
	for (unsigned i = 0; i < REQUIRED; i++) {
		if (!(b.seen & (uint64_t)1 << i))
			return tsdl_error(p, at, "expected `%s` in the `trace` block, found none",
					  attrs[i].name);
	}
	p->has_trace = true;
	return block_end(p);
}

/* ---- env, callsite */

/* SPEC ctf-tsdl/env: numbers and strings; what else stands there is kept as the text that it is. */
static bool env_entry(struct tsdl *p, const char *name, const struct tsdl_value *v)
{
	const uint64_t most = (uint64_t)INT64_MAX + v->negative;
	struct ctf_env e = { .key = name, .is_text = true, .text = v->text };
	const uint32_t id = intern_find(p->m->names, name, strlen(name));
	const size_t count = p->env_names.count;

	if (!map64_put(&p->env_names, id))
		return tsdl_full(p);
	if (p->env_names.count == count)
		return tsdl_error(p, v->at, "expected a new name in `env`, found `%.80s` again",
				  name);
	if (v->kind == VALUE_NUMBER && v->number <= most) {
		e.is_text = false;
		if (!tsdl_i64(p, v, name, &e.number))
			return false;
	} else if (v->kind == VALUE_STRING) {
		if (!tsdl_words(p, v, name, false, &e.text))
			return false;
	} else {
		tsdl_warn(p, "ctf/env-value", v->at,
			  "expected a string or a signed number of 64 bits for `%.80s`, found "
			  "another value; kept as text",
			  name);
		e.text = meta_name(p->m, p->text + v->at, v->end - v->at);
	}
	if ((e.is_text && !e.text) || !meta_add_env(p->m, &e))
		return tsdl_full(p);
	return true;
}

static const struct tsdl_attr no_attrs[] = { { 0 } };

bool tsdl_env(struct tsdl *p)
{
	struct body b = { .attrs = no_attrs, .what = "env", .other = env_entry };

	if (p->has_env)
		return tsdl_error(p, p->tok.at, "expected one `env` block, found another");
	p->has_env = true;
	return read_block(p, &b) && block_end(p);
}

static bool callsite_entry(struct tsdl *p, const char *name, const struct tsdl_value *v)
{
	(void)p;
	(void)name;
	(void)v;
	return true;
}

/* SPEC ctf-tsdl/callsite: read and left alone. */
bool tsdl_callsite(struct tsdl *p)
{
	struct body b = { .attrs = no_attrs, .what = "callsite", .other = callsite_entry };

	return read_block(p, &b) && block_end(p);
}

/* ---- clock */

static bool clock_name(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct ctf_clock *c = block;

	if (!tsdl_words(p, v, "name", true, &c->name))
		return false;
	c->id = c->name;
	return true;
}

static bool clock_uuid(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct ctf_clock *c = block;

	c->has_uuid = true;
	return tsdl_uuid(p, v, c->uuid);
}

static bool clock_description(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct ctf_clock *c = block;

	return tsdl_words(p, v, "description", false, &c->description);
}

static bool clock_freq(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct ctf_clock *c = block;

	return tsdl_u64(p, v, "freq", &c->hz) &&
	       (c->hz || tsdl_found(p, v, "a number above 0 for `freq`"));
}

static bool clock_precision(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct ctf_clock *c = block;

	return tsdl_u64(p, v, "precision", &c->precision);
}

static bool clock_offset_s(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct ctf_clock *c = block;

	return tsdl_i64(p, v, "offset_s", &c->offset_seconds);
}

static bool clock_offset(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct ctf_clock *c = block;

	return tsdl_u64(p, v, "offset", &c->offset);
}

static bool clock_absolute(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct ctf_clock *c = block;

	return tsdl_bool(p, v, "absolute", &c->absolute);
}

/* SPEC ctf-tsdl/clock */
bool tsdl_clock(struct tsdl *p)
{
	static const struct tsdl_attr attrs[] = {
		{ .name = "name", .value = clock_name },
		{ .name = "uuid", .value = clock_uuid },
		{ .name = "description", .value = clock_description },
		{ .name = "freq", .value = clock_freq },
		{ .name = "precision", .value = clock_precision },
		{ .name = "offset_s", .value = clock_offset_s },
		{ .name = "offset", .value = clock_offset },
		{ .name = "absolute", .value = clock_absolute },
		{ 0 },
	};
	const uint64_t at = p->tok.at;
	struct ctf_clock *c = arena_alloc(&p->m->arena, sizeof(*c));
	struct body b = { .attrs = attrs, .block = c, .what = "clock" };
	const size_t count = p->clock_names.count;
	uint32_t id;

	if (!c)
		return tsdl_full(p);
	c->hz = 1000000000;
	c->precision = c->accuracy = UINT64_MAX;
	c->unix_epoch = true;
	if (!read_block(p, &b))
		return false;
	if (!c->name)
		return tsdl_error(p, at, "expected `name` in the `clock` block, found none");
	id = intern_put(p->m->names, c->name, strlen(c->name));
	if (id == INTERN_NONE || !map64_put(&p->clock_names, id))
		return tsdl_full(p);
	if (p->clock_names.count == count)
		return tsdl_error(p, at, "expected a new clock, found `%.80s` again", c->name);
	if (!meta_add_clock(p->m, c))
		return tsdl_full(p);
	return block_end(p);
}

/* ---- stream */

static bool stream_id(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct ctf_stream_class *s = block;

	return tsdl_u64(p, v, "id", &s->id);
}

static bool stream_packet_context(struct tsdl *p, void *block, struct ctf_field *f)
{
	struct ctf_stream_class *s = block;

	(void)p;
	return set_type(&s->packet_context, f);
}

static bool stream_event_header(struct tsdl *p, void *block, struct ctf_field *f)
{
	struct ctf_stream_class *s = block;

	(void)p;
	return set_type(&s->event_header, f);
}

static bool stream_event_context(struct tsdl *p, void *block, struct ctf_field *f)
{
	struct ctf_stream_class *s = block;

	(void)p;
	return set_type(&s->event_common, f);
}

/* SPEC ctf-tsdl/stream */
bool tsdl_stream(struct tsdl *p)
{
	static const struct tsdl_attr attrs[] = {
		{ .name = "id", .value = stream_id },
		{ .name = "packet.context", .type = stream_packet_context },
		{ .name = "event.header", .type = stream_event_header },
		{ .name = "event.context", .type = stream_event_context },
		{ 0 },
	};
	struct ctf_stream_class *s = arena_alloc(&p->m->arena, sizeof(*s));
	struct body b = { .attrs = attrs, .block = s, .what = "stream" };

	if (!s)
		return tsdl_full(p);
	s->at = p->tok.at;
	if (!read_block(p, &b))
		return false;
	if (!meta_add_stream(p->m, s))
		return tsdl_full(p);
	return block_end(p);
}

/* ---- event */

static bool event_name(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct tsdl_event *e = block;

	return tsdl_words(p, v, "name", true, &e->class->name);
}

static bool event_id(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct tsdl_event *e = block;

	return tsdl_u64(p, v, "id", &e->class->id);
}

static bool event_stream_id(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct tsdl_event *e = block;

	e->has_stream = true;
	return tsdl_u64(p, v, "stream_id", &e->class->stream_id);
}

/* SPEC ctf-tsdl/loglevel */
static bool event_loglevel(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct tsdl_event *e = block;
	int64_t level;

	if (!tsdl_i64(p, v, "loglevel", &level))
		return false;
	if (level < 0 || level > INT32_MAX)
		tsdl_warn(p, "ctf/loglevel", v->at,
			  "expected a log level of 0 to 14, found another number; ignored");
	else
		e->class->log_level = (int32_t)level;
	return true;
}

static bool event_uri(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct tsdl_event *e = block;

	return tsdl_words(p, v, "model.emf.uri", false, &e->class->emf_uri);
}

static bool event_context(struct tsdl *p, void *block, struct ctf_field *f)
{
	struct tsdl_event *e = block;

	(void)p;
	return set_type(&e->class->specific, f);
}

static bool event_fields(struct tsdl *p, void *block, struct ctf_field *f)
{
	struct tsdl_event *e = block;

	(void)p;
	return set_type(&e->class->payload, f);
}

/* SPEC ctf-tsdl/event */
bool tsdl_event(struct tsdl *p)
{
	static const struct tsdl_attr attrs[] = {
		{ .name = "name", .value = event_name },
		{ .name = "id", .value = event_id },
		{ .name = "stream_id", .value = event_stream_id },
		{ .name = "loglevel", .value = event_loglevel },
		{ .name = "model.emf.uri", .value = event_uri },
		{ .name = "context", .type = event_context },
		{ .name = "fields", .type = event_fields },
		{ 0 },
	};
	struct tsdl_event e = { .class = arena_alloc(&p->m->arena, sizeof(*e.class)) };
	struct body b = { .attrs = attrs, .block = &e, .what = "event" };

	if (!e.class)
		return tsdl_full(p);
	e.class->log_level = -1;
	e.class->at = p->tok.at;
	if (!read_block(p, &b))
		return false;
	/* It is counted when it is added to its stream class. */
	p->m->full |= p->nevents == META_FIELDS;
	if (!mem_grow((void **)&p->events, &p->events_cap, p->nevents + 1, sizeof(*p->events),
		      META_FIELDS))
		return tsdl_full(p);
	p->events[p->nevents++] = e;
	return block_end(p);
}
