/*
 * SPEC heph/schema: events bring their own attributes, so a class has those that its events were
 * found to have. Nothing is kept of them while rows are made: the first schema that is asked for
 * costs a walk over all packets, which gives the fields of all classes; as stored, over the packets
 * read since the last one.
 */
#include "format/heph/reader.h"
#include "model/observe.h"

struct heph_schemas {
	struct map64 by_name; /* string id of the description -> 1 + index in `lists` */
	struct observed *lists; /* lists[0] is of all descriptions beyond the limit */
	size_t count, cap;
	size_t bytes; /* of descriptions */
	struct spur_args args; /* of one event at a time */
	uint64_t off; /* of the next packet of the walk */
};

void heph_schemas_free(struct heph_schemas *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		observed_free(&s->lists[i]);
	mem_free(s->lists);
	map64_free(&s->by_name);
	spur_args_free(&s->args);
	mem_free(s);
}

/* A new last list. Returns false if out of memory. */
static bool list_add(struct heph_schemas *s)
{
	if (!mem_grow((void **)&s->lists, &s->cap, s->count + 1, sizeof(*s->lists), HEPH_NAMES + 1))
		return false;
	s->lists[s->count++] = (struct observed){ 0 };
	return true;
}

/* The list of a description, that of all others if there are too many; NULL: out of memory. */
static struct observed *list_put(struct heph *h, struct heph_schemas *s, const uint8_t *p,
				 size_t len)
{
	const bool full = s->count > HEPH_NAMES || s->bytes + len > HEPH_NAME_BYTES;
	struct intern *const strings = h->trace->strings;
	const uint32_t id = full ? intern_find(strings, (const char *)p, len)
				 : intern_put(strings, (const char *)p, len);
	struct map64_slot *slot;

	if (id == INTERN_NONE)
		return full ? &s->lists[0] : NULL;
	slot = full ? map64_find(&s->by_name, id) : map64_put(&s->by_name, id);
	if (!slot)
		return full ? &s->lists[0] : NULL;
	if (!slot->value) {
		if (!list_add(s))
			return NULL;
		s->bytes += len;
		slot->value = s->count;
	}
	return &s->lists[slot->value - 1];
}

static bool event_observe(struct heph *h, struct heph_schemas *s, const struct heph_packet *k)
{
	struct observed *const list =
		list_put(h, s, k->p + h->walk.head, heph_name_len(k->p, h->walk.head));

	return list && heph_event_args(h, k, list == s->lists, &s->args) &&
	       observed_add(list, s->args.items, s->args.count);
}

/*
 * From where the last walk ended to the end of what has been read. Returns false if out of memory.
 */
static bool walk(struct heph *h, struct heph_schemas *s)
{
	struct heph_walk w = {
		.src = h->walk.src,
		.base = h->walk.base,
		.at = h->walk.base + s->off,
		.end = h->stored ? h->walk.at : h->walk.end,
		.head = h->walk.head,
		.eof = true, /* so nothing is waited for */
	};
	struct heph_packet k;

	if (!s->count && !list_add(s))
		return false;
	while (heph_walk_next(&w, &k) == HEPH_PACKET)
		if (!k.meta && !event_observe(h, s, &k))
			return false;
	s->off = heph_off(h, w.end);
	return true;
}

/* SPEC heph/unknown-option: an option has its value, as bytes */
static bool option_fields(const struct heph *h, const struct event_class *cls,
			  struct spur_schema *schema)
{
	const bool described = cls == trace_class(h->trace, h->options.other->cls);
	struct spur_field *fields = arena_alloc(&h->trace->arena, 2 * sizeof(*fields)), *f = fields;

	if (!fields)
		return false;
	if (described)
		*f++ = (struct spur_field){ .name = h->words[HEPH_W_DESCRIPTION],
					    .type = SPUR_STRING };
	*f++ = (struct spur_field){ .name = h->words[HEPH_W_VALUE], .type = SPUR_BYTES };
	schema->begin = fields;
	schema->nbegin = (uint32_t)(f - fields);
	return true;
}

static bool event_fields(struct heph *h, const struct event_class *cls, struct spur_schema *schema)
{
	struct heph_schemas *s = h->schemas;
	const struct observed *list = NULL;
	const struct map64_slot *slot;
	struct spur_field *fields;

	if (!s)
		s = h->schemas = mem_alloc(sizeof(*s));
	if (!s)
		return false;
	if (!walk(h, s)) {
		/* A part of the events was counted: the next call begins anew. */
		heph_schemas_free(s);
		h->schemas = NULL;
		return false;
	}
	slot = map64_find(&s->by_name, cls->name);
	if (cls == trace_class(h->trace, h->descriptions.other->cls))
		list = &s->lists[0];
	else if (slot && slot->value)
		list = &s->lists[slot->value - 1];
	if (list && !observed_fields(list, &h->trace->arena, &fields, &schema->nbegin))
		return false;
	schema->begin = list ? fields : NULL;
	schema->open = h->stored || !list || list->more;
	return true;
}

const struct spur_schema *heph_schema(struct spur_trace *t, const struct event_class *cls)
{
	struct heph *const h = t->state;
	struct spur_schema *schema = arena_alloc(&t->arena, sizeof(*schema));
	bool good = true;

	if (schema && (cls->flags & CLASS_FUNCTION))
		good = event_fields(h, cls, schema);
	else if (schema && cls != trace_class(t, h->lost_class))
		good = option_fields(h, cls, schema);
	return good ? schema : NULL;
}
