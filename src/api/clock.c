/* The clock of a trace. */
#include "api/api.h"

bool spur_clock(const struct spur_trace *t, struct spur_clock *out)
{
	const struct clock_info *c;

	if (!api_given(NULL, "spur_clock", t, "a trace") ||
	    !api_given(t, "spur_clock", out, "a place for the clock"))
		return false;
	c = &t->clock;
	*out = (struct spur_clock){ .name = c->name,
				    .derived = c->derived,
				    .hz = c->hz,
				    .ticks = c->ticks,
				    .own_zero = c->own_zero,
				    .epoch_known = c->epoch_known };
	if (c->epoch_known) {
		out->epoch_ns = c->epoch_ns;
		out->epoch_error_ns = c->epoch_error_ns;
	}
	return true;
}
