/* See kept.h. */
#include "cli/kept.h"

#include "store/cache.h"
#include "store/trace.h"

/* Returns true if the filter is a range of time and lists of threads and processes at most. */
static bool is_range(const struct filter_spec *f)
{
	return (f->from || f->to) && !f->nitems && !f->depth && !f->min_ns && !f->min_size &&
	       !f->range && !f->span && !f->cpus && !f->threads && !f->kinds && !f->no_sched &&
	       !f->no_sched_preempt && !f->no_event && !f->no_args && !f->no_libcall &&
	       !f->kernel_only && !f->trace_off;
}

enum spur_status kept_open(struct values *v, const struct spur_pass *pass,
			   const struct pass_env *env, struct spur_trace **out)
{
	struct spur_error err;
	struct store *s;

	if (v->no_cache || !pass->takes_store || !pass->takes_store(env) || !is_range(&v->filter) ||
	    cache_open(&s, v->traces, v->ntraces, &v->open) != SPUR_OK)
		return SPUR_WARN;
	if (!store_has_calls(s)) {
		store_close(s);
		return SPUR_WARN;
	}
	return store_trace_open(out, s, v->traces[0], &v->open, &err) == SPUR_OK ? SPUR_OK
										 : SPUR_WARN;
}
