/*
 * Schemas of formats whose records describe themselves: the properties that the values of all
 * events so far had in common. Values are added event by event; the fields are made from them when
 * a schema is requested. Items of structures are ignored.
 */
#ifndef SPUR_MODEL_OBSERVE_H
#define SPUR_MODEL_OBSERVE_H

#include <spur.h>

#include "base/mem.h"

/* Maximum number of fields in a schema; for values of further names spur_schema.open is set. */
enum { OBSERVED_FIELDS = 1024 };

/* The properties that the values of one field had in common. */
struct observed_type {
	uint8_t type; /* enum spur_type; SPUR_NULL: several */
	uint8_t show; /* enum spur_show */
	uint8_t bits; /* 0: several, or unknown */
	bool any; /* a value was seen */
};

struct observed_field {
	uint32_t name; /* string id */
	uint64_t events; /* that had this field */
	uint64_t last; /* number of the last such event, from 1 */
	struct observed_type type, item; /* item: type of the items of ARRAYs */
	bool again; /* a field of this name precedes it */
};

/*
 * INVARIANT: an event has at most one value of each field; its first value of a name belongs to the
 * first field of that name, its second value to the second one.
 */
struct observed {
	struct observed_field *fields;
	size_t count, cap;
	uint64_t events;
	bool more; /* there were values of further fields */
};

void observed_free(struct observed *o);
/* Adds the values of one more event. Returns false if out of memory. */
bool observed_add(struct observed *o, const struct spur_value *values, size_t count);
/*
 * Makes the fields in `a`, in the order in which they were first seen; NULL if there are no fields.
 * The caller may still change them (labels of enumerations) before it publishes them. Returns false
 * if out of memory.
 */
bool observed_fields(const struct observed *o, struct arena *a, struct spur_field **fields,
		     uint32_t *count);

#endif
