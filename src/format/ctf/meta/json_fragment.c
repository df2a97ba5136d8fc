/*
 * The fragments of CTF 2 metadata: preamble, aliases, trace, clock, data stream and event record
 * classes.
 */
#include <string.h>

#include "format/ctf/meta/json_parts.h"

enum { MAX_CLASSES = 1 << 24 };

static enum spur_status get_names(struct frag *j, const json_t *o, const char **space,
				  const char **name, const char **uid)
{
	if (frag_get_text(j, o, "namespace", false, space) == SPUR_FAIL ||
	    frag_get_text(j, o, "name", false, name) == SPUR_FAIL)
		return SPUR_FAIL;
	return frag_get_text(j, o, "uid", false, uid);
}

static enum spur_status get_uuid(struct frag *j, const json_t *o)
{
	struct ctf_meta *m = j->m;
	const json_t *list = NULL;
	uint64_t byte;

	if (frag_get_list(j, o, "uuid", false, &list) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!list)
		return SPUR_OK;
	if (json_array_size(list) != sizeof(m->uuid))
		return frag_fail(j, "`uuid`: expected 16 integers, found %zu",
				 json_array_size(list));
	for (size_t i = 0; i < sizeof(m->uuid); i++) {
		if (!frag_u64(json_array_get(list, i), &byte) || byte > UINT8_MAX)
			return frag_fail(j,
					 "`uuid`[%zu]: expected an integer from 0 to 255, found %s",
					 i, frag_found(json_array_get(list, i)));
		m->uuid[i] = (uint8_t)byte;
	}
	m->has_uuid = true;
	return SPUR_OK;
}

static enum spur_status preamble(struct frag *j, const json_t *o)
{
	static const char *const known[] = { "type", "version", "uuid", NULL };
	uint64_t version = 0;

	if (j->have_preamble)
		return frag_fail(j, "expected one preamble, found another");
	j->have_preamble = true;
	if (frag_get_u64(j, o, "version", true, &version) == SPUR_FAIL)
		return SPUR_FAIL;
	if (version != 2)
		return frag_fail(j, "`version`: expected 2, found %llu",
				 (unsigned long long)version);
	if (frag_common(j, o, known, NULL) == SPUR_FAIL)
		return SPUR_FAIL;
	return get_uuid(j, o);
}

static enum spur_status alias(struct frag *j, const json_t *o)
{
	static const char *const known[] = { "type", "name", "field-class", NULL };
	const char *name = NULL;
	struct ctf_field *f = NULL;

	if (frag_common(j, o, known, NULL) == SPUR_FAIL ||
	    frag_get_text(j, o, "name", true, &name) == SPUR_FAIL ||
	    frag_get_field(j, o, "field-class", true, false, &f) == SPUR_FAIL)
		return SPUR_FAIL;
	return frag_alias_add(j, name, f);
}

static enum spur_status environment(struct frag *j, const json_t *o)
{
	struct ctf_meta *m = j->m;
	const json_t *env = NULL;
	const char *key;
	json_t *v;

	if (frag_get_object(j, o, "environment", false, &env) == SPUR_FAIL)
		return SPUR_FAIL;
	json_object_foreach((json_t *)env, key, v)
	{
		struct ctf_env *e;

		if (!mem_grow((void **)&m->env, &m->env_cap, m->nenv + 1, sizeof(*m->env),
			      MAX_CLASSES))
			return err_nomem(j->err);
		e = &m->env[m->nenv++];
		e->key = frag_copy(j, key, strlen(key));
		e->is_text = json_is_string(v) && !frag_is_int(v);
		if (e->is_text)
			e->text = frag_copy(j, json_string_value(v), json_string_length(v));
		else if (!frag_i64(v, &e->number))
			return frag_fail(
				j,
				"`environment`.`%.60s`: expected an integer or a string, found %s",
				key, frag_found(v));
		if (!e->key || (e->is_text && !e->text))
			return err_nomem(j->err);
	}
	return SPUR_OK;
}

static enum spur_status trace_class_of(struct frag *j, const json_t *o)
{
	static const char *const known[] = { "type", "namespace",   "name",
					     "uid",  "environment", "packet-header-field-class",
					     NULL };
	struct ctf_meta *m = j->m;

	if (j->have_trace)
		return frag_fail(j, "expected one `trace-class`, found another");
	/* SPEC ctf2/order: the trace class comes before the data stream classes */
	if (m->nstreams)
		return frag_fail(j, "expected the `trace-class` before any `data-stream-class`, "
				    "found it behind");
	j->have_trace = true;
	if (frag_common(j, o, known, &m->attributes) == SPUR_FAIL ||
	    get_names(j, o, &m->space, &m->name, &m->uid) == SPUR_FAIL ||
	    environment(j, o) == SPUR_FAIL)
		return SPUR_FAIL;
	return frag_get_field(j, o, "packet-header-field-class", false, true, &m->packet_header);
}

static enum spur_status clock_origin(struct frag *j, const json_t *o, struct ctf_clock *c)
{
	static const char *const known[] = { "namespace", "name", "uid", NULL };
	const json_t *v = json_object_get(o, "origin");
	size_t before;
	enum spur_status st;

	if (!v)
		return SPUR_OK;
	if (json_is_string(v)) {
		c->unix_epoch = strcmp(json_string_value(v), "unix-epoch") == 0;
		return c->unix_epoch ? SPUR_OK
				     : frag_fail(j,
						 "`origin`: expected \"unix-epoch\" or an object, "
						 "found \"%.60s\"",
						 json_string_value(v));
	}
	if (!json_is_object(v))
		return frag_fail(j, "`origin`: expected \"unix-epoch\" or an object, found %s",
				 frag_found(v));
	before = frag_enter(j, "origin");
	st = frag_common(j, v, known, NULL);
	if (st != SPUR_FAIL &&
	    (frag_get_text(j, v, "namespace", false, &c->origin_space) == SPUR_FAIL ||
	     frag_get_text(j, v, "name", true, &c->origin_name) == SPUR_FAIL ||
	     frag_get_text(j, v, "uid", true, &c->origin_uid) == SPUR_FAIL))
		st = SPUR_FAIL;
	frag_leave(j, before);
	return st;
}

static enum spur_status clock_offset(struct frag *j, const json_t *o, struct ctf_clock *c)
{
	static const char *const known[] = { "seconds", "cycles", NULL };
	const json_t *v = NULL, *s;
	size_t before;
	enum spur_status st = SPUR_OK;

	if (frag_get_object(j, o, "offset-from-origin", false, &v) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!v)
		return SPUR_OK;
	before = frag_enter(j, "offset-from-origin");
	s = json_object_get(v, "seconds");
	if (frag_common(j, v, known, NULL) == SPUR_FAIL ||
	    frag_get_u64(j, v, "cycles", false, &c->offset) == SPUR_FAIL)
		st = SPUR_FAIL;
	else if (s && !frag_i64(s, &c->offset_seconds))
		st = frag_fail(j, "`seconds`: expected an integer of 64 bits, found %s",
			       frag_found(s));
	else if (c->offset >= c->hz)
		st = frag_fail(j, "`cycles`: expected less than the frequency (%llu), found %llu",
			       (unsigned long long)c->hz, (unsigned long long)c->offset);
	frag_leave(j, before);
	return st;
}

/*
 * Returns the slot of the clock's index by its id, or NULL if the id is unknown, or if out of
 * memory.
 */
static struct map64_slot *clock_slot(struct frag *j, const char *id, bool add)
{
	const uint32_t name = add ? intern_put(j->m->names, id, strlen(id))
				  : intern_find(j->m->names, id, strlen(id));

	if (name == INTERN_NONE)
		return NULL;
	return add ? map64_put(&j->clocks, name) : map64_find(&j->clocks, name);
}

static enum spur_status clock_class(struct frag *j, const json_t *o)
{
	static const char *const known[] = {
		"type",	     "id",	  "namespace",	 "name",
		"uid",	     "frequency", "origin",	 "offset-from-origin",
		"precision", "accuracy",  "description", NULL
	};
	struct ctf_meta *m = j->m;
	struct ctf_clock *c = arena_alloc(&m->arena, sizeof(*c));
	struct map64_slot *slot;

	if (!c || !mem_grow((void **)&m->clocks, &m->clocks_cap, m->nclocks + 1, sizeof(*m->clocks),
			    MAX_CLASSES))
		return err_nomem(j->err);
	c->precision = c->accuracy = UINT64_MAX;
	if (frag_common(j, o, known, NULL) == SPUR_FAIL ||
	    frag_get_text(j, o, "id", true, &c->id) == SPUR_FAIL ||
	    get_names(j, o, &c->space, &c->name, &c->uid) == SPUR_FAIL ||
	    frag_get_text(j, o, "description", false, &c->description) == SPUR_FAIL ||
	    frag_get_u64(j, o, "frequency", true, &c->hz) == SPUR_FAIL ||
	    frag_get_u64(j, o, "precision", false, &c->precision) == SPUR_FAIL ||
	    frag_get_u64(j, o, "accuracy", false, &c->accuracy) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!c->hz)
		return frag_fail(j, "`frequency`: expected more than 0, found 0");
	if (clock_origin(j, o, c) == SPUR_FAIL || clock_offset(j, o, c) == SPUR_FAIL)
		return SPUR_FAIL;
	/* SPEC ctf2/clock-id: it is new */
	slot = clock_slot(j, c->id, true);
	if (!slot)
		return err_nomem(j->err);
	if (slot->value)
		return frag_fail(j, "`id`: expected a new one, found \"%.60s\" again", c->id);
	slot->value = m->nclocks + 1;
	m->clocks[m->nclocks++] = c;
	return SPUR_OK;
}

static struct ctf_stream_class *find_stream(const struct frag *j, uint64_t id)
{
	const struct map64_slot *slot = map64_find(&j->streams, id);

	return slot ? j->m->streams[slot->value - 1] : NULL;
}

static enum spur_status stream_clock(struct frag *j, const json_t *o, struct ctf_stream_class *s)
{
	const struct map64_slot *slot;
	const char *id = NULL;

	if (frag_get_text(j, o, "default-clock-class-id", false, &id) == SPUR_FAIL)
		return SPUR_FAIL;
	slot = id ? clock_slot(j, id, false) : NULL;
	s->clock = slot ? j->m->clocks[slot->value - 1] : NULL;
	if (id && !s->clock)
		return frag_fail(j,
				 "`default-clock-class-id`: expected the id of a clock class "
				 "before, found \"%.60s\"",
				 id);
	return SPUR_OK;
}

/*
 * SPEC ctf2/cpu: there is no role for the CPU, so the name `cpu_id` in the packet context
 * tells, as in 1.8
 */
static enum spur_status name_cpu(struct frag *j, const struct ctf_field *context)
{
	for (uint32_t i = 0; context && i < context->nmembers; i++) {
		struct ctf_member *m = &context->members[i];

		if (strcmp(m->name, "cpu_id") != 0 ||
		    (m->field->kind != CTF_UINT && m->field->kind != CTF_SINT))
			continue;
		/* Its class may be an alias that others use too. */
		m->field = meta_field_copy(j->m, m->field);
		if (!m->field)
			return meta_full(j->m, j->err);
		m->field->roles |= CTF_ROLE_CPU;
	}
	return SPUR_OK;
}

static enum spur_status stream_class(struct frag *j, const json_t *o)
{
	static const char *const known[] = { "type",
					     "id",
					     "namespace",
					     "name",
					     "uid",
					     "default-clock-class-id",
					     "packet-context-field-class",
					     "event-record-header-field-class",
					     "event-record-common-context-field-class",
					     NULL };
	struct ctf_meta *m = j->m;
	struct ctf_stream_class *s = arena_alloc(&m->arena, sizeof(*s));
	struct map64_slot *slot;

	enum { MAX_STREAMS = 1 << 16 };

	if (!s)
		return err_nomem(j->err);
	s->at = j->at;
	if (m->nstreams >= MAX_STREAMS)
		return frag_fail(j, "expected at most %d data stream classes, found more",
				 MAX_STREAMS);
	if (frag_common(j, o, known, NULL) == SPUR_FAIL ||
	    frag_get_u64(j, o, "id", false, &s->id) == SPUR_FAIL ||
	    get_names(j, o, &s->space, &s->name, &s->uid) == SPUR_FAIL ||
	    stream_clock(j, o, s) == SPUR_FAIL ||
	    frag_get_field(j, o, "packet-context-field-class", false, true, &s->packet_context) ==
		    SPUR_FAIL ||
	    frag_get_field(j, o, "event-record-header-field-class", false, true,
			   &s->event_header) == SPUR_FAIL ||
	    frag_get_field(j, o, "event-record-common-context-field-class", false, true,
			   &s->event_common) == SPUR_FAIL)
		return SPUR_FAIL;
	if (name_cpu(j, s->packet_context) == SPUR_FAIL)
		return SPUR_FAIL;
	slot = map64_put(&j->streams, s->id);
	if (!slot)
		return err_nomem(j->err);
	if (slot->value)
		return frag_fail(j, "`id`: expected a new one, found %llu again",
				 (unsigned long long)s->id);
	slot->value = m->nstreams + 1;
	if (!mem_grow((void **)&m->streams, &m->streams_cap, m->nstreams + 1, sizeof(*m->streams),
		      MAX_STREAMS))
		return err_nomem(j->err);
	m->streams[m->nstreams++] = s;
	return SPUR_OK;
}

/* LTTng keeps the log level and the URI of its model in attributes. */
static enum spur_status lttng_attributes(struct frag *j, const json_t *o, struct ctf_event_class *e)
{
	/* From 0 on. */
	static const char *const names[] = { "emergency",      "alert",	       "critical",
					     "error",	       "warning",      "notice",
					     "info",	       "debug:system", "debug:program",
					     "debug:process",  "debug:module", "debug:unit",
					     "debug:function", "debug:line",   "debug" };
	enum { NAMES = sizeof(names) / sizeof(names[0]) };
	const json_t *ns = json_object_get(json_object_get(o, "attributes"), "lttng.org,2009");
	const json_t *level = json_object_get(ns, "log-level"),
		     *uri = json_object_get(ns, "emf-uri");
	uint64_t n;

	e->log_level = -1;
	if (json_is_string(level))
		for (int i = 0; i < NAMES; i++)
			if (strcmp(json_string_value(level), names[i]) == 0)
				e->log_level = i;
	if (level && frag_u64(level, &n) && n <= INT32_MAX)
		e->log_level = (int32_t)n;
	if (!json_is_string(uri))
		return SPUR_OK;
	e->emf_uri = frag_copy(j, json_string_value(uri), json_string_length(uri));
	return e->emf_uri ? SPUR_OK : err_nomem(j->err);
}

static enum spur_status event_class_of(struct frag *j, const json_t *o)
{
	static const char *const known[] = {
		"type", "id",  "data-stream-class-id",	       "namespace",
		"name", "uid", "specific-context-field-class", "payload-field-class",
		NULL
	};
	struct ctf_meta *m = j->m;
	struct ctf_event_class *e = arena_alloc(&m->arena, sizeof(*e));
	struct ctf_stream_class *s;

	if (!e)
		return err_nomem(j->err);
	e->at = j->at;
	if (frag_common(j, o, known, NULL) == SPUR_FAIL ||
	    frag_get_u64(j, o, "id", false, &e->id) == SPUR_FAIL ||
	    frag_get_u64(j, o, "data-stream-class-id", false, &e->stream_id) == SPUR_FAIL ||
	    get_names(j, o, &e->space, &e->name, &e->uid) == SPUR_FAIL ||
	    lttng_attributes(j, o, e) == SPUR_FAIL ||
	    frag_get_field(j, o, "specific-context-field-class", false, true, &e->specific) ==
		    SPUR_FAIL ||
	    frag_get_field(j, o, "payload-field-class", false, true, &e->payload) == SPUR_FAIL)
		return SPUR_FAIL;
	s = find_stream(j, e->stream_id);
	if (!s)
		return frag_fail(j,
				 "`data-stream-class-id`: expected the id of a data stream class "
				 "before, found %llu",
				 (unsigned long long)e->stream_id);
	/* Ids that stand twice are found when they are sorted. */
	if (!meta_add_event(m, s, e))
		return meta_full(m, j->err);
	return SPUR_OK;
}

enum spur_status frag_fragment(struct frag *j, const json_t *o)
{
	static const char *const types[] = {
		"preamble",	     "field-class-alias",  "trace-class", "clock-class",
		"data-stream-class", "event-record-class", NULL
	};
	static enum spur_status (*const take[])(struct frag *, const json_t *) = {
		preamble, alias, trace_class_of, clock_class, stream_class, event_class_of
	};
	unsigned type = 0;

	if (frag_get_word(j, o, "type", true, types, &type) == SPUR_FAIL)
		return SPUR_FAIL;
	/* SPEC ctf2/preamble: it is the first fragment, and there is one */
	if (type && !j->have_preamble)
		return frag_fail(j, "expected a preamble first, found a `%s`", types[type]);
	return take[type](j, o);
}
