/* Raw records of events. */
#include "api/api.h"
#include "format/format.h"

enum spur_status spur_place(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_place *place)
{
	uint64_t failures;
	uint64_t *charged;

	if (!api_given(t, "spur_place", place, "a place for the result"))
		return SPUR_FAIL;
	*place = (struct spur_place){ 0 };
	if (!api_row(t, "spur_place", ev))
		return SPUR_FAIL;
	charged = mem_charge(&t->mem_failures);
	failures = mem_failures();
	*place = format_place(t, ev);
	if (mem_failures() != failures) {
		*place = (struct spur_place){ 0 };
		mem_charge(charged);
		return api_no_memory(t, NULL);
	}
	mem_charge(charged);
	return SPUR_OK;
}

bool spur_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2])
{
	uint64_t *charged;
	bool known;

	if (!api_given(t, "spur_ticks", ticks, "a place for two numbers"))
		return false;
	ticks[0] = ticks[1] = 0;
	if (!api_row(t, "spur_ticks", ev) || !t->format->ticks)
		return false;
	charged = mem_charge(&t->mem_failures);
	known = t->format->ticks(t, ev, ticks);
	mem_charge(charged);
	if (!known)
		ticks[0] = ticks[1] = 0;
	return known;
}
