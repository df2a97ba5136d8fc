/*
 * Schemas of formats whose records describe themselves: what the values of the events seen so far
 * had in common. Values are added event by event; the fields are made from them when a schema is
 * asked for. Items of structures are not looked at.
 */
#ifndef SPUR_MODEL_OBSERVE_H
#define SPUR_MODEL_OBSERVE_H

#include <spur.h>

#include "base/mem.h"

/*
 * The fields of one list that are kept apart; values of further names are left to spur_schema.open.
 */
enum { OBSERVED_FIELDS = 1024 };

/* What the values of one field had in common. */
struct observed_type {
	uint8_t type; /* enum spur_type; SPUR_NULL: several */
	uint8_t show; /* enum spur_show */
	uint8_t bits; /* 0: several, or unknown */
	bool any; /* a value was seen */
};

struct observed_field {
	uint32_t name; /* string id */
	uint64_t events; /* that had it */
	uint64_t last; /* number of the last of them, from 1 */
	struct observed_type type, item; /* item: of ARRAYs */
};

/*
 * INVARIANT: an event has at most one value of each field; its second value of a name is of another
 * field.
 */
struct observed {
	struct observed_field *fields;
	size_t count, cap;
	uint64_t events;
};

void observed_free(struct observed *o);
/* Adds the values of one more event. Returns false if out of memory. */
bool observed_add(struct observed *o, const struct spur_value *values, size_t count);
/*
 * The fields in the order in which they were first seen, in `a`. Returns false if out of memory; no
 * field gives NULL. They may be changed (names of values) before others see them.
 */
bool observed_fields(const struct observed *o, struct arena *a, struct spur_field **fields,
		     uint32_t *count);

#endif
