/* See loss.h. */
#include "format/loss.h"

static const char *const what_names[] = { "dropped", "degraded", "truncated" };

uint64_t loss_sum(const struct loss_table *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->count; i++)
		for (unsigned k = 0; k < SPUR_KINDS; k++)
			sum += t->events[i][k];
	return sum;
}

void loss_text(const struct loss_table *t, const char *format, struct out *o)
{
	const uint64_t sum = loss_sum(t);

	if (!sum)
		return;
	out_printf(o, "spur: %s: %llu events are not carried whole:\n", format,
		   (unsigned long long)sum);
	for (size_t i = 0; i < t->count; i++)
		for (unsigned k = 0; k < SPUR_KINDS; k++)
			if (t->events[i][k])
				out_printf(o, "%16llu  %-13s %-9s %s\n",
					   (unsigned long long)t->events[i][k], spur_kind_name(k),
					   what_names[t->reasons[i].what], t->reasons[i].why);
}

void loss_json(const struct loss_table *t, const char *format, struct out *o)
{
	bool any = false;

	out_json_head(o, "convert");
	out_printf(o, ",\"to\":\"%s\",\"lost\":%llu,\"losses\":[", format,
		   (unsigned long long)loss_sum(t));
	for (size_t i = 0; i < t->count; i++)
		for (unsigned k = 0; k < SPUR_KINDS; k++) {
			if (!t->events[i][k])
				continue;
			out_printf(
				o,
				"%s{\"kind\":\"%s\",\"count\":%llu,\"what\":\"%s\",\"why\":\"%s\"}",
				any ? "," : "", spur_kind_name(k),
				(unsigned long long)t->events[i][k], what_names[t->reasons[i].what],
				t->reasons[i].why);
			any = true;
		}
	out_str(o, "]}\n");
}
