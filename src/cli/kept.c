/* See kept.h. */
#include "cli/kept.h"

#include <string.h>

#include "store/cache.h"
#include "store/trace.h"

/* Returns true if the filter has times, and lists of threads and processes, at most. */
static bool is_range(const struct filter_spec *f)
{
	return !f->nitems && !f->depth && !f->min_ns && !f->min_size && !f->range && !f->span &&
	       !f->cpus && !f->threads && !f->kinds && !f->no_sched && !f->no_sched_preempt &&
	       !f->no_event && !f->no_args && !f->no_libcall && !f->kernel_only && !f->trace_off;
}

static bool has_times(const struct filter_spec *f)
{
	return f->from || f->to;
}

static bool is_store(const struct values *v, const char *path)
{
	return !v->open.format && strcmp(path, "-") != 0 && store_is_file(path);
}

bool kept_is_store(const struct values *v)
{
	return v->ntraces == 1 && is_store(v, v->traces[0]);
}

enum spur_status kept_refuse(struct values *v, const char *path)
{
	if (!is_store(v, path))
		return SPUR_OK;
	return err_set(&v->err, SPUR_ERR_FORMAT,
		       "%s: expected a trace, found a store of spur index, of which spur report, "
		       "flame, graph and top show sums",
		       path);
}

/* SPEC store/renamed: it has what the trace would show. `ranged`: of a range of time. */
static bool is_enough(const struct store *s, enum pass_store needs, bool ranged)
{
	return store_has_calls(s) && !(needs == PASS_STORE_NAMES && ranged &&
				       (store_facts(s).facts & STORE_RENAMED));
}

/* SPEC store/named: opens a store in place of its trace, which need not be there. */
static enum spur_status kept_open_named(struct values *v, enum pass_store needs,
					struct spur_trace **out)
{
	const char *const path = v->traces[0];
	struct store *s;
	enum spur_status st;

	if (!is_range(&v->filter))
		return err_set(&v->err, SPUR_ERR_USAGE,
			       "%s: expected a filter by time, threads or processes, as a store "
			       "has no more; others need the trace",
			       path);
	if (store_open(&s, path, &v->err) == SPUR_FAIL)
		return SPUR_FAIL;
	st = SPUR_OK;
	if (!cache_fits_options(s, &v->open))
		st = err_set(&v->err, SPUR_ERR_USAGE,
			     "%s: expected the options that the store was made with, such as "
			     "--demangle and --no-spans, found others",
			     path);
	else if (!is_enough(s, needs, has_times(&v->filter)))
		st = err_set(&v->err, SPUR_ERR_FORMAT,
			     "%s: expected a store that has all that is shown, found one of a "
			     "trace with %s: this needs the trace",
			     path,
			     store_has_calls(s) ? "threads that change their names"
						: "damage, notes, stacks, times that go back or "
						  "calls without begin");
	if (st == SPUR_FAIL) {
		store_close(s);
		return st;
	}
	return store_trace_open(out, s, path, &v->open, &v->err);
}

enum spur_status kept_open(struct values *v, const struct spur_pass *pass,
			   const struct pass_env *env, struct spur_trace **out)
{
	const enum pass_store needs = pass->takes_store ? pass->takes_store(env) : PASS_NO_STORE;
	struct spur_error err;
	struct store *s;

	if (kept_is_store(v))
		return needs && !v->open.follow ? kept_open_named(v, needs, out)
						: kept_refuse(v, v->traces[0]);
	if (v->no_cache || !needs || !has_times(&v->filter) || !is_range(&v->filter) ||
	    cache_open(&s, v->traces, v->ntraces, &v->open) != SPUR_OK)
		return SPUR_WARN;
	if (!is_enough(s, needs, true)) {
		store_close(s);
		return SPUR_WARN;
	}
	return store_trace_open(out, s, v->traces[0], &v->open, &err) == SPUR_OK ? SPUR_OK
										 : SPUR_WARN;
}
