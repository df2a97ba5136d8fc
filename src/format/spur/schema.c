/* Schemas: the arguments of all sites, or functions, that have one class. */
#include "model/schema.h"

#include "format/spur/reader.h"

/* Fields of one side, and how many of them the site that is being added has used so far. */
struct field_list {
	struct spur_field *items;
	bool *used;
	size_t count, cap, used_cap;
	bool more; /* there were further ones */
};

static uint8_t type_of(const struct spb_node *n)
{
	static const uint8_t types[SPB_TYPES] = {
		[SPB_F32] = SPUR_F64,	       [SPB_I64] = SPUR_I64,
		[SPB_U64] = SPUR_U64,	       [SPB_F64] = SPUR_F64,
		[SPB_BOOL] = SPUR_BOOL,	       [SPB_POINTER] = SPUR_POINTER,
		[SPB_TEXT] = SPUR_STRING,      [SPB_BYTES] = SPUR_BYTES,
		[SPB_STRING_ID] = SPUR_STRING, [SPB_CHAR] = SPUR_I64,
		[SPB_LONG_TEXT] = SPUR_STRING, [SPB_LONG_BYTES] = SPUR_BYTES,
		[SPB_NULL] = SPUR_NULL,	       [SPB_KOID] = SPUR_KOID,
		[SPB_ENUM] = SPUR_ENUM,	       [SPB_STRUCT] = SPUR_STRUCT,
		[SPB_ARRAY] = SPUR_ARRAY,      [SPB_TUPLE] = SPUR_ARRAY,
		[SPB_FRAMES] = SPUR_ARRAY,
	};

	return n->type == SPB_LABELLED ? type_of(n + 1) : types[n->type];
}

static bool type_is_text(uint8_t type)
{
	return type == SPUR_STRING || type == SPUR_BYTES;
}

static bool fields_of(struct arena *a, const struct spb_node *n, uint32_t count,
		      struct spur_field *out);

/* Returns false if out of memory. */
static bool field_of(struct arena *a, const struct spb_node *n, struct spur_field *f)
{
	const uint8_t type = type_of(n);
	const struct spb_node *const value = n->type == SPB_LABELLED ? n + 1 : n;
	struct spur_field *items;

	*f = (struct spur_field){ .name = n->name, .type = type, .show = value->show };
	f->optional = true;
	f->is_signed = type == SPUR_I64 || type == SPUR_ENUM;
	if (type != SPUR_NULL && type != SPUR_STRUCT && type != SPUR_ARRAY && !type_is_text(type))
		f->bits = value->type == SPB_CHAR ? 8 : value->type == SPB_F32 ? 32 : 64;
	if (value->type == SPB_CHAR)
		f->show = SPUR_SHOW_CHAR;
	if (type != SPUR_STRUCT && type != SPUR_ARRAY)
		return true;
	f->nitems = type == SPUR_STRUCT ? value->count : 1;
	items = arena_alloc(a, (f->nitems + 1) * sizeof(*items));
	if (!items)
		return false;
	f->items = items;
	/* The elements of a TUPLE are of several types. */
	if (value->type == SPB_TUPLE)
		return true;
	if (value->type == SPB_FRAMES) {
		items->type = SPUR_STRING;
		return true;
	}
	return fields_of(a, value + 1, f->nitems, items);
}

static bool fields_of(struct arena *a, const struct spb_node *n, uint32_t count,
		      struct spur_field *out)
{
	bool good = true;

	for (uint32_t i = 0; i < count && good; i++, n += n->size)
		good = field_of(a, n, &out[i]);
	return good;
}

/* Makes a field one of both. */
static void field_join(struct spur_field *f, const struct spur_field *with)
{
	const bool nested = f->type == SPUR_STRUCT || f->type == SPUR_ARRAY;

	if (f->show != with->show)
		f->show = SPUR_SHOW_PLAIN;
	if (f->bits != with->bits)
		f->bits = 0;
	if (f->type == with->type && !nested)
		return;
	/* Two structures may differ within. */
	f->type = SPUR_NULL;
	f->bits = f->nitems = 0;
	f->items = NULL;
}

/* Adds the arguments of one site. Returns false if out of memory. */
static bool shape_add(struct arena *a, struct field_list *l, const struct spb_shape *shape)
{
	const struct spb_node *n = shape ? shape->nodes : NULL;

	if (l->used)
		memset(l->used, 0, l->used_cap * sizeof(*l->used));
	for (uint32_t i = 0; shape && i < shape->count; i++, n += n->size) {
		struct spur_field f;
		size_t k = 0;

		if (!field_of(a, n, &f))
			return false;
		while (k < l->count && (l->used[k] || l->items[k].name != f.name))
			k++;
		if (k == SPB_FIELDS) {
			l->more = true;
			continue;
		}
		if (!mem_grow((void **)&l->items, &l->cap, k + 1, sizeof(f), SPB_FIELDS) ||
		    !mem_grow((void **)&l->used, &l->used_cap, k + 1, sizeof(*l->used), SPB_FIELDS))
			return false;
		l->used[k] = true;
		if (k < l->count)
			field_join(&l->items[k], &f);
		else
			l->items[l->count++] = f;
	}
	return true;
}

static bool list_keep(struct arena *a, struct field_list *l, const struct spur_field **out,
		      uint32_t *count)
{
	struct spur_field *const kept = l->count ? arena_alloc(a, l->count * sizeof(*kept)) : NULL;

	if (kept)
		memcpy(kept, l->items, l->count * sizeof(*kept));
	*out = kept;
	*count = kept ? (uint32_t)l->count : 0;
	return kept || !l->count;
}

const struct spur_schema *spb_schema(struct spur_trace *t, const struct event_class *cls)
{
	const struct spb_family *const family = class_more(cls).extra;
	struct spur_schema *const out = arena_alloc(&t->arena, sizeof(*out));
	struct field_list begin = { 0 }, end = { 0 };
	bool good = out != NULL;

	if (!out)
		return NULL;
	*out = (struct spur_schema){ 0 };
	for (uint32_t i = family ? family->first : 0; i && good;) {
		const struct spb_site *const site = spb_table_find(
			family->functions ? &family->of->functions : &family->of->sites, i);

		good = shape_add(&t->arena, &begin, site->entry) &&
		       shape_add(&t->arena, &end, site->exit);
		i = site->next;
	}
	out->open = begin.more || end.more;
	good = good && list_keep(&t->arena, &begin, &out->begin, &out->nbegin) &&
	       list_keep(&t->arena, &end, &out->end, &out->nend);
	mem_free(begin.items);
	mem_free(begin.used);
	mem_free(end.items);
	mem_free(end.used);
	return good ? out : NULL;
}
