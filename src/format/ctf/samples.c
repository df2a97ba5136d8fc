/*
 * SPEC ctf/context-counters: numbers in the contexts of events are counters: those of the CPU
 * (perf contexts of LTTng), of a library (PAPI), and all others but what tells whose event it is,
 * and addresses.
 */
#include "format/ctf/plan/parts.h"
#include "format/ctf/reader.h"

static const char *const no_counters[] = {
	"pid",	   "tid",     "vpid",	 "vtid",       "ppid",	    "vppid",	"tgid",
	"vtgid",   "uid",     "euid",	 "suid",       "gid",	    "egid",	"sgid",
	"vuid",	   "veuid",   "vsuid",	 "vgid",       "vegid",	    "vsgid",	"cgroup_ns",
	"ipc_ns",  "mnt_ns",  "net_ns",	 "pid_ns",     "time_ns",   "user_ns",	"uts_ns",
	"cpu_id",  "cpu",     "ip",	 "pthread_id", "perf_ip",   "perf_tid", "perf_pid",
	"perf_id", "perf_cpu", "perf_time", "perf_stream_id",
};
enum { NO_COUNTERS = sizeof(no_counters) / sizeof(no_counters[0]) };

static bool is_counter(const struct ctf_member *m)
{
	const struct ctf_field *f = m->field;

	if (!m->shown || f->is_enum || f->is_text ||
	    (f->kind != CTF_BOOL && f->kind != CTF_UINT && f->kind != CTF_SINT &&
	     f->kind != CTF_FLOAT && f->kind != CTF_VAR_UINT && f->kind != CTF_VAR_SINT))
		return false;
	for (size_t i = 0; i < NO_COUNTERS; i++)
		if (strcmp(m->shown, no_counters[i]) == 0)
			return false;
	return true;
}

static bool has_counters(const struct ctf_field *f)
{
	bool has = false;

	for (uint32_t i = 0; f && i < f->nmembers && !has; i++)
		has = is_counter(&f->members[i]);
	return has;
}

bool ctf_has_samples(const struct ctf *c)
{
	bool has = false;

	for (size_t i = 0; i < c->ntraces && !has; i++) {
		const struct ctf_meta *m = c->traces[i].meta;

		for (size_t k = 0; k < m->nstreams && !has; k++) {
			const struct ctf_stream_class *s = m->streams[k];

			has = has_counters(s->event_common);
			for (size_t e = 0; e < s->nevents && !has; e++)
				has = has_counters(s->events[e]->specific);
		}
	}
	return has;
}

/* `context` is the class of the values in `v`. Returns false if `each` did. */
static bool each_counter(const struct ctf_field *context, const struct spur_value *v,
			 ctf_each_sample *each, void *self)
{
	for (uint32_t i = 0; v->type == SPUR_STRUCT && i < v->count && i < context->nmembers; i++)
		if (is_counter(&context->members[i]) && !each(self, &v->items[i]))
			return false;
	return true;
}

bool ctf_samples(struct spur_trace *t, const struct spur_event *ev, struct spur_args *scratch,
		 ctf_each_sample *each, void *self)
{
	struct ctf *c = t->state;
	const struct ctf_field *contexts[2];
	struct ctf_place_of at;
	enum spur_status st;
	size_t item = 0;

	if (ev->kind == SPUR_LOST || ev->kind == SPUR_NATIVE ||
	    !ctf_event_values(c, ev, scratch, &at, &st))
		return true;
	contexts[0] = at.class->class->event_common;
	contexts[1] = at.event->class->specific;
	for (size_t i = 0; i < 2; i++)
		if (contexts[i] && item < scratch->count &&
		    !each_counter(contexts[i], &scratch->items[item++], each, self))
			return false;
	return true;
}
