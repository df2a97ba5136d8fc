/*
 * Schemas: which arguments the events of a class have, by name, type and size. Writers, tables of
 * columns and SQL read them, so that none of them has to guess from the first event.
 * format_schema() gives that of a class.
 */
#ifndef SPUR_MODEL_SCHEMA_H
#define SPUR_MODEL_SCHEMA_H

#include "model/class.h"

/*
 * The fields of a plan's values, in `a`. Returns false if out of memory; a plan that is NULL or has
 * no step gives no field.
 */
bool schema_of_plan(struct arena *a, const struct plan *plan, const struct spur_field **fields,
		    uint32_t *count);
/* The schema of a class by its plans, in `a`. Returns NULL if out of memory. */
const struct spur_schema *schema_of_class(struct arena *a, const struct event_class *cls);

#endif
