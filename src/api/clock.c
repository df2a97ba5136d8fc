/* The clock of a trace. */
#include "api/api.h"
#include "format/format.h"

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

size_t spur_part_count(const struct spur_trace *t)
{
	return api_given(NULL, "spur_part_count", t, "a trace") ? t->nparts : 0;
}

bool spur_relation(const struct spur_trace *t, size_t part, struct spur_relation *out)
{
	const struct trace_part *p;

	if (!api_given(NULL, "spur_relation", t, "a trace") ||
	    !api_given(t, "spur_relation", out, "a place for the relation"))
		return false;
	*out = (struct spur_relation){ 0 };
	if (part >= t->nparts)
		return false;
	p = &t->parts[part];
	*out = (struct spur_relation){
		.path = p->trace->path,
		.format = p->trace->format->name,
		.clock = p->trace->clock.name,
		.how = p->relation.how,
		.word = relation_word(p->relation.how),
		.derived = relation_text(p->relation.how),
		.offset_ns = p->map.shift,
		.added_ns = p->relation.added,
		.drift_ppm = (double)clock_drift_trillionths(p->map.drift) / 1e6,
		.at_ns = p->map.pivot,
		.error_known = p->relation.error >= 0,
		.error_ns = p->relation.error >= 0 ? p->relation.error : 0,
		.events = p->relation.events,
		.rejected = p->relation.rejected,
		.residual_ns = p->relation.residual,
	};
	return true;
}
