/* Events as uftrace words them. */
#include "base/bits.h"
#include "format/uftrace/data.h"
#include "style/uftrace/text/args.h"

enum { RECORD = 16 };

static const struct {
	uint64_t id;
	const char *name;
} schedule_names[] = {
	{ UFTRACE_EV_SCHED_IN, "linux:sched-in" },
	{ UFTRACE_EV_SCHED_OUT, "linux:sched-out" },
	{ UFTRACE_EV_SCHED_BOTH, "linux:schedule" },
	{ UFTRACE_EV_SCHED_OUT_PREEMPT, "linux:sched-out (pre-empted)" },
	{ UFTRACE_EV_SCHED_BOTH_PREEMPT, "linux:schedule (pre-empted)" },
};

const char *style_event_name(const struct spur_trace *t, const struct spur_event *row, size_t *len)
{
	for (size_t i = 0;
	     row->kind == SPUR_SWITCH && i < sizeof(schedule_names) / sizeof(schedule_names[0]);
	     i++)
		if (schedule_names[i].id == row->id) {
			*len = strlen(schedule_names[i].name);
			return schedule_names[i].name;
		}
	return trace_string(t, row->name, len);
}

struct text style_event_payload(struct spur_trace *t, const struct spur_event *row)
{
	const uint8_t *p = row->len >= RECORD + 2 ? format_place(t, row).raw : NULL;
	const struct uftrace_data *d = uftrace_data(t);
	size_t len;

	if (!p || !d)
		return text_make("", 0);
	len = load16(p + RECORD, order_swaps(d->info.big_endian));
	return text_make(p + RECORD + 2,
			 len < row->len - RECORD - 2u ? len : row->len - RECORD - 2u);
}

/* What the values of a counter event are called here, and what their ratio is. */
struct counter_words {
	uint64_t read, diff;
	const char *names[3];
	const char *unit, *ratio;
};

static const struct counter_words counters[] = {
	{ UFTRACE_EV_READ_STATM,
	  UFTRACE_EV_DIFF_STATM,
	  { "vmsize", "vmrss", "shared" },
	  "KB",
	  NULL },
	{ UFTRACE_EV_READ_PGFAULT, UFTRACE_EV_DIFF_PGFAULT, { "major", "minor" }, "", NULL },
	{ UFTRACE_EV_READ_CYCLE, UFTRACE_EV_DIFF_CYCLE, { "cycles", "instructions" }, "", "IPC" },
	{ UFTRACE_EV_READ_CACHE, UFTRACE_EV_DIFF_CACHE, { "refers", "misses" }, "", "hit" },
	{ UFTRACE_EV_READ_BRANCH, UFTRACE_EV_DIFF_BRANCH, { "branch", "misses" }, "", "predict" },
};

static void out_ratio(struct out *o, const char *name, uint64_t a, uint64_t b)
{
	if (strcmp(name, "IPC") == 0)
		out_printf(o, " IPC=%.2f", (double)((float)b / (float)a));
	else
		out_printf(o, " %s=%.2f%%", name, 100.0 * (double)(a - b) / (double)a);
}

static bool counter_data(struct out *o, const struct counter_words *w, const struct spur_args *args,
			 bool diff, bool verbose)
{
	const char *sign = diff && verbose ? "+" : "";
	size_t n = 0;

	while (n < 3 && w->names[n])
		n++;
	if (args->count < n)
		return false;
	for (size_t i = 0; i < n; i++)
		out_printf(o, "%s%s=%s%llu%s", i ? " " : "", w->names[i], sign,
			   (unsigned long long)args->items[i].u, w->unit);
	if (*sign && w->ratio)
		out_ratio(o, w->ratio, args->items[0].u, args->items[1].u);
	return true;
}

static bool watch_data(const struct spur_trace *t, struct out *o, const struct spur_event *row,
		       const struct spur_args *args)
{
	if (row->id == UFTRACE_EV_WATCH_CPU) {
		out_printf(o, "cpu=%d", (int)args->items[0].i);
		return true;
	}
	if (args->count == 1 && args->items[0].type == SPUR_U64) {
		out_printf(o, "%s=", trace_string(t, args->items[0].name, NULL));
		out_hex(o, args->items[0].u);
		return true;
	}
	if (args->count < 2)
		return false;
	out_printf(o, "[0x%llx]=", (unsigned long long)args->items[0].u);
	out_hex(o, args->items[1].u);
	return true;
}

static bool text_data(struct out *o, const char *name, const struct spur_args *args, unsigned mode)
{
	const struct spur_value *v = &args->items[0];

	if (v->type != SPUR_STRING)
		return false;
	if (name)
		out_printf(o, "%s=\"", name);
	style_string(o, v->text, v->count, mode);
	if (name)
		out_char(o, '"');
	return true;
}

/* The text that the kernel would print for a tracepoint. */
static bool tracepoint_data(struct spur_trace *t, struct out *o, const struct spur_event *row,
			    unsigned mode)
{
	struct out text;
	bool there;

	if (!t->format->text)
		return false;
	out_to_memory(&text);
	there = t->format->text(t, row, &text);
	if (there)
		style_string(o, text.buf, text.len, mode);
	if (text.error && !o->error)
		o->error = text.error;
	out_free(&text);
	return there;
}

bool style_event_data(struct spur_trace *t, struct out *o, const struct spur_event *row,
		      bool verbose, unsigned mode, struct spur_args *scratch)
{
	if (!row->nargs || !style_get_args(t, o, row, scratch) || !scratch->count)
		return false;
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (row->id == counters[i].read || row->id == counters[i].diff)
			return counter_data(o, &counters[i], scratch, row->id == counters[i].diff,
					    verbose);
	switch (row->id) {
	case UFTRACE_EV_WATCH_CPU:
	case UFTRACE_EV_WATCH_VAR:
		return watch_data(t, o, row, scratch);
	case UFTRACE_EV_CALLSITE:
		if (text_data(o, NULL, scratch, mode))
			return true;
		out_printf(o, "0x%llx", (unsigned long long)scratch->items[0].u);
		return true;
	case UFTRACE_EV_TASK_NAME:
		return text_data(o, "comm", scratch, mode);
	case UFTRACE_EV_EXTERN:
		return text_data(o, verbose ? NULL : "msg", scratch, mode);
	default:
		break;
	}
	return row->id < UFTRACE_EV_READ_STATM - 1 && tracepoint_data(t, o, row, mode);
}
