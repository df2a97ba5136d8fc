/* Damage, losses and notes. */
#include "model/trace.h"

size_t spur_damage_count(struct spur_trace *t)
{
	uint64_t *const charged = mem_charge(&t->mem_failures);

	trace_join_diag(t);
	mem_charge(charged);
	return t->joined.ngroups;
}

bool spur_damage(struct spur_trace *t, size_t i, struct spur_damage *out)
{
	const struct diag_group *g;

	if (i >= t->joined.ngroups)
		return false;
	g = &t->joined.groups[i];
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
