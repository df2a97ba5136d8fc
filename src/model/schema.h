/*
 * Schemas: the arguments that events of a class have, by name, type and size. Writers use them
 * instead of guessing from the first event. format_schema() returns that of a class.
 */
#ifndef SPUR_MODEL_SCHEMA_H
#define SPUR_MODEL_SCHEMA_H

#include "model/class.h"

/*
 * Makes the fields of a plan's values in `a`; none if the plan is NULL or has no steps. They are
 * optional, since a record may have no payload. Returns false if out of memory.
 */
bool schema_of_plan(struct arena *a, const struct plan *plan, const struct spur_field **fields,
		    uint32_t *count);
/* Makes the schema of a class from its plans, in `a`. Returns NULL if out of memory. */
const struct spur_schema *schema_of_class(struct arena *a, const struct event_class *cls);

#endif
