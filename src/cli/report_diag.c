/* See report_diag.h. */
#include "cli/report_diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/out.h"

enum { LINES = 200, MESSAGE = 1024 }; /* more kinds of damage than LINES are counted */

static bool memory_said; /* "out of memory" was written */

static void line_out(struct out *o, const char *text)
{
	out_str(o, "spur: ");
	out_safe(o, text, strlen(text));
	out_char(o, '\n');
}

void say_text(const char *text, size_t len)
{
	char room[OUT_LENT];
	struct out o;

	out_to_fd_lent(&o, STDERR_FILENO, room);
	out_bytes(&o, text, len);
	out_flush(&o);
	out_free(&o);
}

void say(const char *fmt, ...)
{
	char buf[MESSAGE], room[OUT_LENT];
	struct out o;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	memory_said |= strcmp(buf, "out of memory") == 0;
	out_to_fd_lent(&o, STDERR_FILENO, room);
	line_out(&o, buf);
	out_flush(&o);
	out_free(&o);
}

bool say_memory(void)
{
	if (!mem_failures_all())
		return false;
	if (!memory_said)
		say("out of memory");
	return true;
}

static void group_out(struct out *o, const struct diag_group *g)
{
	static const char *const levels[] = {
		[DIAG_NOTE] = "note: ", [DIAG_WARN] = "warning: ", [DIAG_DAMAGE] = ""
	};

	for (uint32_t i = 0; i < g->nkept; i++) {
		out_printf(o, "spur: %s", levels[g->level]);
		out_safe(o, g->file, strlen(g->file));
		if (g->kept[i].off != DIAG_NO_OFF)
			out_printf(o, ":0x%llx", (unsigned long long)g->kept[i].off);
		out_str(o, ": ");
		out_safe(o, g->kept[i].text, strlen(g->kept[i].text));
		out_char(o, '\n');
	}
	if (g->count <= g->nkept)
		return;
	out_printf(o, "spur: %s", levels[g->level]);
	out_safe(o, g->file, strlen(g->file));
	out_printf(o, ": %llu%s of %s\n", (unsigned long long)(g->count - g->nkept),
		   g->nkept ? " more" : "", g->code);
}

static void count_out(struct out *o, uint64_t n, const char *one, const char *many)
{
	if (n)
		out_printf(o, "%llu %s", (unsigned long long)n, n == 1 ? one : many);
}

static void summary_out(struct out *o, const char *path, const struct diag_totals *sum, bool quiet)
{
	const uint64_t warnings = quiet ? 0 : sum->warnings;

	if (!sum->damaged && !warnings)
		return;
	out_str(o, "spur: ");
	out_safe(o, path, strlen(path));
	out_str(o, ": ");
	count_out(o, sum->damaged, "damaged place", "damaged places");
	if (sum->damaged)
		out_printf(o, ", %llu bytes lost", (unsigned long long)sum->bytes_lost);
	if (sum->damaged && warnings)
		out_str(o, "; ");
	count_out(o, warnings, "warning", "warnings");
	out_char(o, '\n');
}

bool report_totals(const char *path, const struct diag_totals *sum, bool quiet)
{
	char room[OUT_LENT];
	struct out o;

	out_to_fd_lent(&o, STDERR_FILENO, room);
	summary_out(&o, path, sum, quiet);
	out_flush(&o);
	out_free(&o);
	return sum->damaged > 0;
}

bool report_diag(struct spur_trace *t, const char *path, bool quiet, bool summary)
{
	char room[OUT_LENT];
	struct diag_totals sum;
	struct out o;
	size_t shown = 0, more = 0;

	trace_join_diag(t);
	sum = diag_totals(&t->joined);
	out_to_fd_lent(&o, STDERR_FILENO, room);
	for (size_t i = 0; i < diag_groups(&t->joined); i++) {
		const struct diag_group *g = diag_at(&t->joined, i);

		if (summary || (quiet && g->level != DIAG_DAMAGE))
			continue;
		if (shown++ < LINES)
			group_out(&o, g);
		else
			more++;
	}
	if (more)
		out_printf(&o, "spur: %zu more files or kinds\n", more);
	summary_out(&o, path, &sum, quiet);
	out_flush(&o);
	out_free(&o);
	return sum.damaged > 0;
}
