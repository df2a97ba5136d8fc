/*
 * Schemas: the arguments that events of a class have, by name, type and size. Writers use them
 * instead of guessing from the first event. format_schema() returns that of a class.
 */
#ifndef SPUR_MODEL_SCHEMA_H
#define SPUR_MODEL_SCHEMA_H

#include "model/class.h"

/* Gives the schema `count` zeroed fields for BEGIN rows. Returns them, or NULL if out of memory. */
struct spur_field *schema_fields(struct arena *a, struct spur_schema *s, uint32_t count);
/* Makes the schema of a class from its plans, in `a`. Returns NULL if out of memory. */
const struct spur_schema *schema_of_class(struct arena *a, const struct event_class *cls);

#endif
