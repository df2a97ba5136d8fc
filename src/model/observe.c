/* What values of events had in common. See observe.h. */
#include "model/observe.h"

#include <assert.h>

void observed_free(struct observed *o)
{
	mem_free(o->fields);
	*o = (struct observed){ 0 };
}

/* Bits of a number in its record; 0: it is none, or its size is not told. */
static uint8_t bits_of(const struct spur_value *v)
{
	switch (v->type) {
	case SPUR_I64:
	case SPUR_U64:
	case SPUR_F64:
	case SPUR_POINTER:
	case SPUR_KOID:
	case SPUR_ENUM:
		return v->size <= sizeof(uint64_t) ? (uint8_t)(8 * v->size) : 0;
	default:
		return 0;
	}
}

static void type_add(struct observed_type *t, const struct spur_value *v)
{
	const uint8_t bits = bits_of(v);

	if (!t->any) {
		*t = (struct observed_type){
			.type = v->type, .show = v->show, .bits = bits, .any = true
		};
		return;
	}
	t->show = t->show == v->show ? t->show : SPUR_SHOW_PLAIN;
	t->bits = t->type == v->type && t->bits == bits ? bits : 0;
	t->type = t->type == v->type ? t->type : SPUR_NULL;
}

/*
 * The field of a name that the event does not have yet. Events of a class mostly have the same
 * values in the same order, so the field after that of the value before is tried first. Returns
 * NULL if out of memory or of fields.
 */
static struct observed_field *field_of(struct observed *o, uint32_t name, size_t next, bool *good)
{
	bool again = false;

	if (next < o->count && o->fields[next].name == name && !o->fields[next].again &&
	    o->fields[next].last != o->events)
		return &o->fields[next];
	for (size_t i = 0; i < o->count; i++) {
		if (o->fields[i].name != name)
			continue;
		if (o->fields[i].last != o->events)
			return &o->fields[i];
		again = true;
	}
	if (o->count == OBSERVED_FIELDS) {
		o->more = true;
		return NULL;
	}
	*good = mem_grow((void **)&o->fields, &o->cap, o->count + 1, sizeof(*o->fields),
			 OBSERVED_FIELDS);
	if (!*good)
		return NULL;
	o->fields[o->count] = (struct observed_field){ .name = name, .again = again };
	return &o->fields[o->count++];
}

bool observed_add(struct observed *o, const struct spur_value *values, size_t count)
{
	bool good = true;
	size_t next = 0;

	o->events++;
	for (size_t i = 0; i < count && good; i++) {
		const struct spur_value *v = &values[i];
		struct observed_field *f = field_of(o, v->name, next, &good);

		if (!f)
			continue;
		assert(f->events < o->events);
		f->last = o->events;
		f->events++;
		type_add(&f->type, v);
		for (uint32_t k = 0; v->type == SPUR_ARRAY && k < v->count; k++)
			type_add(&f->item, &v->items[k]);
		next = (size_t)(f - o->fields) + 1;
	}
	return good;
}

static struct spur_field field_as(const struct observed_type *t)
{
	return (struct spur_field){
		.type = t->type, .show = t->show, .bits = t->bits, .is_signed = t->type == SPUR_I64
	};
}

bool observed_fields(const struct observed *o, struct arena *a, struct spur_field **fields,
		     uint32_t *count)
{
	struct spur_field *list = NULL;

	*fields = NULL;
	*count = 0;
	if (!o->count)
		return true;
	list = arena_alloc(a, o->count * sizeof(*list));
	if (!list)
		return false;
	for (size_t i = 0; i < o->count; i++) {
		const struct observed_field *f = &o->fields[i];
		struct spur_field *item = NULL;

		list[i] = field_as(&f->type);
		list[i].name = f->name;
		list[i].optional = f->events < o->events;
		if (f->type.type != SPUR_ARRAY)
			continue;
		item = arena_alloc(a, sizeof(*item));
		if (!item)
			return false;
		*item = field_as(&f->item);
		list[i].items = item;
		list[i].nitems = 1;
	}
	*fields = list;
	*count = (uint32_t)o->count;
	return true;
}
