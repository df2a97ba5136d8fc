/* A trace whose rows have the arguments that a test gives, and the losses of a conversion. */
#ifndef SPUR_TESTS_UNIT_GIVEN_H
#define SPUR_TESTS_UNIT_GIVEN_H

#include "flow/convert.h"
#include "unit/fake.h"

/* A row has as many of these as it says, from the one with the number in `off` on. */
static struct spur_value given[48];
static enum spur_status given_status;
static struct spur_format given_format;

static inline enum spur_status given_args(struct spur_trace *t, const struct spur_event *ev,
					  struct spur_args *args)
{
	(void)t;
	args_reset(args);
	for (size_t i = 0; i < ev->nargs; i++) {
		struct spur_value *v = args_add(args);

		if (!v)
			return SPUR_FAIL;
		*v = given[ev->off + i];
	}
	return given_status;
}

static inline struct spur_trace *given_trace(void)
{
	struct spur_trace *t = fake_trace();

	given_format = fake_format;
	given_format.args = given_args;
	given_status = SPUR_OK;
	t->format = &given_format;
	return t;
}

static inline struct spur_value given_number(struct spur_trace *t, const char *name, unsigned type,
					     unsigned size, uint64_t v)
{
	return (struct spur_value){
		.type = (uint8_t)type, .size = (uint8_t)size, .name = trace_intern(t, name), .u = v
	};
}

/* The text stays the caller's. */
static inline struct spur_value given_string(struct spur_trace *t, const char *name, unsigned type,
					     const char *s, size_t len)
{
	return (struct spur_value){ .type = (uint8_t)type,
				    .name = name ? trace_intern(t, name) : 0,
				    .text = s,
				    .count = (uint32_t)len };
}

/* The losses of a kind, by words of the reason. */
static inline uint64_t loss_of(const struct convert *c, unsigned kind, const char *why)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->loss.count; i++)
		if (c->loss.reasons[i].why && strstr(c->loss.reasons[i].why, why))
			n += c->loss.events[i][kind];
	return n;
}

#endif
