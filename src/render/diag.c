/* See diag.h. */
#include "render/diag.h"

const char *diag_level_name(enum diag_level level)
{
	return level == DIAG_DAMAGE ? "damage" : level == DIAG_WARN ? "warning" : "note";
}

void diag_json(struct out *o, const struct diag_group *g)
{
	const char *first = g->nkept ? g->kept[0].text : "";

	out_printf(o, "{\"level\":\"%s\",\"code\":\"%s\",\"file\":", diag_level_name(g->level),
		   g->code);
	out_json(o, g->file, strlen(g->file));
	out_printf(o, ",\"count\":%llu,\"first_offset\":", (unsigned long long)g->count);
	if (g->first_off == DIAG_NO_OFF)
		out_str(o, "null");
	else
		out_u64(o, g->first_off);
	out_printf(o, ",\"bytes_lost\":%llu,\"first\":", (unsigned long long)g->bytes_lost);
	out_json(o, first, strlen(first));
	out_char(o, '}');
}

void diag_json_list(struct out *o, const struct diag_log *log, enum diag_level level)
{
	bool any = false;

	out_char(o, '[');
	for (size_t i = 0; i < diag_groups(log); i++) {
		if (diag_at(log, i)->level != level)
			continue;
		if (any)
			out_char(o, ',');
		diag_json(o, diag_at(log, i));
		any = true;
	}
	out_char(o, ']');
}

void diag_place(struct out *o, const char *file, uint64_t off)
{
	out_safe(o, file, strlen(file));
	if (off != DIAG_NO_OFF) {
		out_str(o, ":0x");
		out_hex(o, off);
	}
	out_str(o, ": ");
}

uint64_t diag_bytes_lost(const struct diag_log *log)
{
	uint64_t n = 0;

	for (size_t i = 0; i < diag_groups(log); i++)
		if (diag_at(log, i)->level == DIAG_DAMAGE)
			n += diag_at(log, i)->bytes_lost;
	return n;
}
