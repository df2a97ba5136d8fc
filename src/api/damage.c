/* Damage, losses and notes. */
#include "api/api.h"

size_t spur_damage_count(struct spur_trace *t)
{
	uint64_t *charged;

	if (!api_given(NULL, "spur_damage_count", t, "a trace"))
		return 0;
	charged = mem_charge(&t->mem_failures);
	trace_join_diag(t);
	mem_charge(charged);
	return diag_groups(&t->joined);
}

bool spur_damage(struct spur_trace *t, size_t i, struct spur_damage *out)
{
	const struct diag_group *g;

	if (!api_given(NULL, "spur_damage", t, "a trace") ||
	    !api_given(t, "spur_damage", out, "a place for the damage") ||
	    i >= diag_groups(&t->joined))
		return false;
	g = diag_at(&t->joined, i);
	*out = (struct spur_damage){
		.code = g->code,
		.file = g->file,
		.count = g->count,
		.first_offset = g->first_off,
		.bytes_lost = g->bytes_lost,
		.first = g->nkept ? g->kept[0].text : "",
		.is_damage = g->level == DIAG_DAMAGE,
	};
	return true;
}
