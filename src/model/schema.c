/* Schemas of classes whose arguments are described by plans. */
#include "model/schema.h"

#include <assert.h>
#include <string.h>

#include "model/enum.h"

static uint8_t type_of(const struct plan_op *op)
{
	switch ((enum plan_op_code)op->code) {
	case PLAN_INT:
	case PLAN_CHAR: return SPUR_I64;
	case PLAN_UINT: return SPUR_U64;
	case PLAN_FLOAT: return SPUR_F64;
	case PLAN_POINTER: return SPUR_POINTER;
	case PLAN_ENUM: return SPUR_ENUM;
	case PLAN_BOOL: return SPUR_BOOL;
	case PLAN_STR16:
	case PLAN_STRZ: return SPUR_STRING;
	case PLAN_BYTES:
	case PLAN_BYTES16:
	case PLAN_STRUCT: return SPUR_BYTES;
	}
	return SPUR_NULL;
}

/* Names of an enumeration's values. Returns false if out of memory. */
static bool labels_of(struct arena *a, const struct enum_table *table, struct spur_field *f)
{
	struct spur_label *labels;

	if (!table || !table->count)
		return true;
	labels = arena_alloc(a, table->count * sizeof(*labels));
	if (!labels)
		return false;
	for (size_t i = 0; i < table->count; i++)
		labels[i] = (struct spur_label){ .low = table->values[i].value,
						 .high = table->values[i].value,
						 .name = table->values[i].name };
	f->labels = labels;
	f->nlabels = (uint32_t)table->count;
	return true;
}

static bool field_of(struct arena *a, const struct plan_op *op, struct spur_field *f)
{
	const uint8_t type = type_of(op);
	const bool is_text = type == SPUR_STRING || type == SPUR_BYTES;

	/* Records say themselves whether they have the plan's values. */
	*f = (struct spur_field){
		.name = op->name, .type = type, .show = op->show, .optional = true
	};
	f->is_signed = type == SPUR_I64 || type == SPUR_ENUM;
	if (is_text)
		f->count = type == SPUR_BYTES ? op->size : 0;
	else
		f->bits = 8 * op->size;
	return type != SPUR_ENUM || labels_of(a, op->table, f);
}

/*
 * Makes the fields of a plan's values in `a`; none if the plan is NULL or has no steps. They are
 * optional, since a record may have no payload. Returns false if out of memory.
 */
static bool schema_of_plan(struct arena *a, const struct plan *plan,
			   const struct spur_field **fields, uint32_t *count)
{
	struct spur_field *list;

	*fields = NULL;
	*count = 0;
	if (!plan || !plan->count)
		return true;
	list = arena_alloc(a, plan->count * sizeof(*list));
	if (!list)
		return false;
	for (uint32_t i = 0; i < plan->count; i++)
		if (!field_of(a, &plan->ops[i], &list[i]))
			return false;
	*fields = list;
	*count = plan->count;
	assert(*count > 0);
	return true;
}

struct spur_field *schema_fields(struct arena *a, struct spur_schema *s, uint32_t count)
{
	struct spur_field *f = arena_alloc(a, count * sizeof(*f));

	if (!f)
		return NULL;
	memset(f, 0, count * sizeof(*f));
	s->begin = f;
	s->nbegin = count;
	return f;
}

const struct spur_schema *schema_of_class(struct arena *a, const struct event_class *cls)
{
	struct spur_schema *s = arena_alloc(a, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct spur_schema){ 0 };
	if (!schema_of_plan(a, class_plan(cls, false), &s->begin, &s->nbegin) ||
	    !schema_of_plan(a, class_plan(cls, true), &s->end, &s->nend))
		return NULL;
	return s;
}
