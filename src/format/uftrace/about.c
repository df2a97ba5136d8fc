/* What the recorder says of the recording: facts for people, and its clock. */
#include "format/uftrace/reader.h"

bool uftrace_add_info(struct uftrace *u)
{
	const struct uftrace_info *i = &u->d.info;
	char buf[UFTRACE_EXIT_TEXT];
	const struct text status = uftrace_exit_text(i->exit_status, buf);
	const struct {
		const char *key;
		struct text value;
	} items[] = {
		{ "program version", i->uftrace_version },
		{ "recorded on", i->record_date },
		{ "command line", i->cmdline },
		{ "executable", i->exename },
		{ "build id", i->build_id },
		{ "exit status", status },
		{ "elapsed time", i->elapsed },
		{ "cpu", i->cpudesc },
		{ "number of cpus", i->nr_cpus },
		{ "memory", i->meminfo },
		{ "system load", i->load },
		{ "kernel", i->kernel },
		{ "host", i->hostname },
		{ "distribution", i->distro },
		{ "pattern type", i->pattern_type },
		{ "sysctl", i->sysctl },
		{ "system time", i->usage[0] },
		{ "user time", i->usage[1] },
		{ "context switches", i->usage[2] },
		{ "max rss (KB)", i->usage[3] },
		{ "page faults", i->usage[4] },
		{ "disk iops", i->usage[5] },
		{ "argument specs", i->argspec },
		{ "return specs", i->retspec },
		{ "default options", text_trim(u->d.default_opts) },
		{ "note", text_trim(u->d.note) },
	};

	for (size_t k = 0; k < sizeof(items) / sizeof(items[0]); k++)
		if (items[k].value.len &&
		    !trace_add_info(u->t, items[k].key, "%.*s", (int)items[k].value.len,
				    items[k].value.p))
			return false;
	return true;
}

void uftrace_set_clock(struct uftrace *u)
{
	static const char *const names[][3] = {
		{ "--clock realtime", "--clock=realtime", "realtime" },
		{ "--clock mono_raw", "--clock=mono_raw", "monotonic raw" },
		{ "--clock boot", "--clock=boot", "boottime" },
	};
	struct clock_info *c = &u->t->clock;
	struct text offset = u->d.info.utc_offset;
	int64_t seconds;

	c->hz = 1000000000;
	c->name = "monotonic";
	c->derived = u->d.info.cmdline.len
			     ? "the recorder's default; the command line names no other"
			     : "the recorder's default; the command line is not in the data";
	for (size_t i = 0; i < 3; i++)
		if (text_search(u->d.info.cmdline, names[i][0]) >= 0 ||
		    text_search(u->d.info.cmdline, names[i][1]) >= 0) {
			c->name = names[i][2];
			c->derived = "the recorder's command line";
		}
	if (text_i64(&offset, &seconds) && seconds > 0 && seconds < INT64_MAX / 1000000000) {
		c->epoch_known = true;
		c->epoch_ns = seconds * 1000000000;
		c->epoch_error_ns = 1000000000;
	}
}
