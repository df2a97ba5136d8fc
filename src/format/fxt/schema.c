/*
 * SPEC fxt/schema: events bring their own arguments, so a class has those that its events were
 * found to have. Nothing is kept of them while rows are made: the first schema that is asked for
 * costs a walk over all records, which gives the fields of all classes; in a single pass, over the
 * records read since the last one.
 */
#include "format/fxt/value.h"
#include "model/observe.h"

/* Rows of one class. */
struct class_fields {
	struct observed begin, end; /* end: of END rows */
};

struct fxt_schemas {
	/* Category << 32 | name -> 1 + index in `lists`; functions, others */
	struct map64 classes[2];
	uint32_t built_in[FXT_BUILTIN_CLASSES]; /* 1 + index */
	struct class_fields *lists;
	size_t count, cap;
	struct spur_args args; /* of one record at a time */
	/* The walk: the next record, and what holds there. */
	uint64_t off;
	size_t section, gap;
};

enum { LISTS = 1 << 24 };

void fxt_schemas_free(struct fxt_schemas *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++) {
		observed_free(&s->lists[i].begin);
		observed_free(&s->lists[i].end);
	}
	mem_free(s->lists);
	map64_free(&s->classes[0]);
	map64_free(&s->classes[1]);
	spur_args_free(&s->args);
	mem_free(s);
}

/* --- the class of a record --- */

/* A class by what fxt_class_of() finds it by. */
struct class_key {
	enum fxt_class built_in; /* FXT_CLASS_NONE: it is one by category and name */
	uint32_t cat, name;
	bool other, end;
};

/* The process whose module a mapping is of, as its row has it. */
static uint64_t mapping_process(const struct fxt_place *p)
{
	const struct fxt_thread_ref *ref = &p->shape.threads[0];
	const struct spur_trace *t = p->x->t;
	const struct spur_track *k;
	uint32_t track;

	if (!ref->ref)
		return ref->pid;
	track = fxt_thread_at(p->x, p->provider, ref->ref, p->off);
	if (!track)
		return UINT64_MAX;
	k = trace_track(t, track - 1);
	return (uint64_t)(k->parent != SPUR_NONE ? trace_track(t, k->parent) : k)->pid;
}

static struct class_key profiler_key(const struct fxt_place *p)
{
	const struct fxt_shape *s = &p->shape;
	const uint32_t module = (uint32_t)fxt_get(s->head, FXT_F_PROFILER_MODULE);
	struct class_key k = { .other = true };

	if (s->sub == FXT_BACKTRACE)
		return (struct class_key){ .built_in = FXT_CLASS_BACKTRACE };
	k.cat = p->x->words[s->sub == FXT_MODULE ? FXT_W_MODULE : FXT_W_MAPPING];
	k.name = s->sub == FXT_MODULE ? fxt_place_string(p, &s->name)
				      : fxt_module_name(p->x, mapping_process(p), module, p->off);
	return k;
}

/* Returns false if the record's rows have no arguments ever. */
static bool record_key(const struct fxt_place *p, struct class_key *k)
{
	const struct fxt_shape *s = &p->shape;
	const struct fxt *x = p->x;

	*k = (struct class_key){ .other = true };
	if (s->lacks || (!s->known && s->type != FXT_EVENT) ||
	    (s->type == FXT_BLOB && fxt_blob_is_filler(s)))
		return false;
	switch (s->type) {
	case FXT_EVENT:
		k->other = fxt_event_kind(s) > SPUR_SPAN;
		k->end = fxt_event_kind(s) == SPUR_END_SPAN;
		k->cat = fxt_place_string(p, &s->cat);
		break;
	case FXT_LARGE:
		k->cat = fxt_place_string(p, &s->cat);
		break;
	case FXT_BLOB:
		break;
	case FXT_USER_OBJECT:
		k->cat = x->words[FXT_W_USERSPACE_OBJECT];
		break;
	case FXT_KERNEL_OBJECT:
		k->cat = fxt_object_type(x, fxt_get(s->head, FXT_F_OBJECT_TYPE));
		break;
	case FXT_SCHEDULING:
		k->built_in = s->sub == FXT_WAKEUP ? FXT_CLASS_WAKEUP : FXT_CLASS_SWITCH;
		return true;
	case FXT_LOG:
		k->built_in = FXT_CLASS_LOG;
		return true;
	case FXT_PROFILER:
		*k = profiler_key(p);
		return true;
	default:
		return false;
	}
	k->name = fxt_place_string(p, &s->name);
	return true;
}

/* The list of a class; NULL: out of memory. */
static struct class_fields *list_put(struct fxt_schemas *s, const struct class_key *k)
{
	struct map64_slot *slot = NULL;
	uint64_t index = s->built_in[k->built_in];

	if (!k->built_in) {
		slot = map64_put(&s->classes[k->other], (uint64_t)k->cat << 32 | k->name);
		if (!slot)
			return NULL;
		index = slot->value;
	}
	if (index)
		return &s->lists[index - 1];
	if (!mem_grow((void **)&s->lists, &s->cap, s->count + 1, sizeof(*s->lists), LISTS))
		return NULL;
	s->lists[s->count] = (struct class_fields){ 0 };
	if (slot)
		slot->value = s->count + 1;
	else
		s->built_in[k->built_in] = (uint32_t)s->count + 1;
	return &s->lists[s->count++];
}

/* --- the walk --- */

static bool row_observe(struct fxt_schemas *s, const struct fxt_place *p, bool out,
			struct observed *list)
{
	const uint64_t failures = mem_failures();

	args_reset(&s->args);
	fxt_record_args(p, out, &s->args);
	return observed_add(list, s->args.items, s->args.count) && mem_failures() == failures;
}

/* Adds what the rows of the record at s->off have. Returns false if out of memory. */
static bool record_observe(struct fxt *x, struct fxt_schemas *s, uint64_t size)
{
	const uint32_t provider = s->section ? x->sections[s->section - 1].provider : 0;
	struct fxt_place p = { .x = x, .off = s->off, .pid = UINT64_MAX };
	struct class_fields *list;
	struct class_key k;

	p.provider = x->providers[provider];
	fxt_shape_of(&p.shape, x->src->data + s->off, size, x->swap);
	if (!record_key(&p, &k))
		return true;
	list = list_put(s, &k);
	if (!list || !row_observe(s, &p, true, k.end ? &list->end : &list->begin))
		return false;
	/* A switch has two rows. */
	return k.built_in != FXT_CLASS_SWITCH || row_observe(s, &p, false, &list->begin);
}

/*
 * From where the last walk ended to the end of what has been read. INVARIANT: a record or a gap
 * begins at s->off; gaps below s->gap and sections below s->section begin no later.
 */
static bool walk(struct fxt *x, struct fxt_schemas *s, uint64_t end)
{
	while (s->off < end) {
		uint64_t size;

		/* A mapped file may have been written to since, so that records end elsewhere. */
		if (s->gap < x->nlost && x->lost[s->gap].off <= s->off) {
			const struct fxt_gap gap = x->lost[s->gap++];

			s->off = gap.off + gap.len > s->off ? gap.off + gap.len : s->off;
			continue;
		}
		while (s->section < x->nsections && x->sections[s->section].off <= s->off)
			s->section++;
		size = end - s->off < FXT_WORD
			       ? 0
			       : fxt_words(load64(x->src->data + s->off, x->swap)) * FXT_WORD;
		if (!size || size > end - s->off)
			break;
		if (!record_observe(x, s, size))
			return false;
		s->off += size;
	}
	return true;
}

/* --- schemas --- */

/* Names of the values of built-in enumerations. */
static void fields_label(const struct fxt *x, struct spur_field *fields, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const bool state = fields[i].name == x->words[FXT_W_STATE];
		const struct fxt_enum *e = state ? &fxt_states : &fxt_blob_types;

		if (fields[i].type != SPUR_ENUM)
			continue;
		fields[i].labels = e->labels;
		fields[i].nlabels = e->count;
	}
}

static const struct class_fields *class_list(const struct fxt *x, const struct fxt_schemas *s,
					     const struct event_class *cls)
{
	const bool other = cls->flags & CLASS_EVENT;
	const struct map64_slot *slot;

	for (int i = FXT_CLASS_NONE + 1; i < FXT_BUILTIN_CLASSES; i++)
		if (trace_class(x->t, x->builtin_classes[i]) == cls)
			return s->built_in[i] ? &s->lists[s->built_in[i] - 1] : NULL;
	slot = map64_find(&s->classes[other], (uint64_t)cls->cat << 32 | cls->name);
	return slot && slot->value ? &s->lists[slot->value - 1] : NULL;
}

static const struct spur_schema *schema_make(struct fxt *x, const struct event_class *cls)
{
	struct arena *const a = &x->t->arena;
	struct spur_schema *schema = arena_alloc(a, sizeof(*schema));
	struct spur_field *begin, *end;
	const struct class_fields *list;

	if (!x->schemas)
		x->schemas = mem_alloc(sizeof(*x->schemas));
	if (!schema || !x->schemas)
		return NULL;
	if (!walk(x, x->schemas, x->ordered ? x->src->size : x->off)) {
		/* A part of a record was counted: the next call begins anew. */
		fxt_schemas_free(x->schemas);
		x->schemas = NULL;
		return NULL;
	}
	schema->open = true;
	list = class_list(x, x->schemas, cls);
	if (!list)
		return schema;
	if (!observed_fields(&list->begin, a, &begin, &schema->nbegin) ||
	    !observed_fields(&list->end, a, &end, &schema->nend))
		return NULL;
	fields_label(x, begin, schema->nbegin);
	fields_label(x, end, schema->nend);
	schema->begin = begin;
	schema->end = end;
	schema->open = !x->ordered || list->begin.more || list->end.more;
	return schema;
}

const struct spur_schema *fxt_schema(struct spur_trace *t, const struct event_class *cls)
{
	struct fxt *x = t->state;
	const struct spur_schema *schema;

	if (x->ordered)
		return schema_make(x, cls);
	/* Tables still grow, under x->lock, and whoever holds both locks takes x->lock first. */
	pthread_mutex_unlock(&t->lock);
	pthread_mutex_lock(&x->lock);
	pthread_mutex_lock(&t->lock);
	schema = schema_make(x, cls);
	pthread_mutex_unlock(&x->lock);
	return schema;
}
