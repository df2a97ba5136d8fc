/* A filter: its rules, what they say of each class, and what follows for whole feeds. */
#include "flow/filter.h"

#include <string.h>

#include "flow/filter_parts.h"
#include "format/format.h"

static bool spec_is_empty(const struct filter_spec *s)
{
	return !s->nitems && !s->depth && !s->min_ns && !s->min_size && !s->range && !s->from &&
	       !s->to && !s->span && !s->tids && !s->pids && !s->cpus && !s->threads && !s->kinds &&
	       !s->no_sched && !s->no_sched_preempt && !s->no_event && !s->no_args &&
	       !s->no_libcall && !s->kernel_only && !s->trace_off;
}

static void choose_stages(struct filter *f)
{
	const bool pairs = f->where && f->where->uses_calls;
	const uint32_t look_ahead = RULE_TIME | RULE_SIZE | RULE_CALLER;
	uint32_t flags = 0;

	for (size_t i = 0; i < f->nrules; i++)
		flags |= f->rules[i].flags;
	f->by_track = f->tids.count || f->pids.count || f->nthreads || f->no_sched_preempt;
	f->by_row = f->by_track || f->from != INT64_MIN || f->to != INT64_MAX || f->no_sched ||
		    f->no_event || f->kernel_only;
	f->holds = f->min_ns > 0 || f->min_size || (flags & look_ahead);
	f->scopes = f->depth != INT32_MAX || f->no_libcall || f->trace_off ||
		    (flags & (RULE_IN | RULE_OUT | RULE_DEPTH | RULE_HIDE | RULE_PLACE |
			      RULE_NOT_PLACE | RULE_LIBRARY | RULE_ON | RULE_OFF));
	f->last = f->kinds != UINT32_MAX || f->cpus.count;
	/* Stacks of tracks that several feeds share exist in the merged order only. */
	f->shared = f->trace->tracks_shared;
	if (!f->holds && !f->scopes && !pairs)
		trace_want(f->trace, f->from, f->to);
	f->is_global |= f->shared && (f->holds || f->scopes || pairs);
}

enum spur_status filter_new(struct filter **out, struct spur_trace *t,
			    const struct filter_spec *spec, struct spur_error *err)
{
	struct filter *f;

	*out = NULL;
	if (spec_is_empty(spec))
		return SPUR_OK;
	if (spec->depth < 0 || spec->min_ns < 0)
		return err_set(err, SPUR_ERR_USAGE, "%s: expected a number from 0, found %lld",
			       spec->depth < 0 ? "-D" : "-t",
			       (long long)(spec->depth < 0 ? spec->depth : spec->min_ns));
	f = mem_alloc(sizeof(*f));
	if (!f)
		return err_nomem(err);
	f->trace = t;
	arena_init(&f->arena);
	pthread_mutex_init(&f->lock, NULL);
	f->depth = spec->depth ? spec->depth : INT32_MAX;
	f->min_ns = trace_from_ns(t, spec->min_ns);
	f->min_size = spec->min_size;
	f->bare_ns = spec->bare_ns;
	f->no_sched = spec->no_sched;
	f->no_sched_preempt = spec->no_sched_preempt;
	f->no_event = spec->no_event;
	f->no_args = spec->no_args;
	f->no_libcall = spec->no_libcall;
	f->kernel_only = spec->kernel_only;
	f->trace_off = f->ended_off = spec->trace_off;
	if (filter_parse_rules(f, spec, err) == SPUR_FAIL ||
	    filter_parse_lists(f, spec, err) == SPUR_FAIL ||
	    filter_parse_times(f, spec, err) == SPUR_FAIL ||
	    filter_parse_where(f, spec, err) == SPUR_FAIL) {
		filter_free(f);
		return SPUR_FAIL;
	}
	choose_stages(f);
	*out = f;
	return SPUR_OK;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nrules; i++)
		pattern_free(f->rules[i].pattern);
	for (size_t i = 0; i < f->nthreads; i++)
		pattern_free(f->threads[i]);
	for (size_t i = 0; i < TRACE_CLASS_PAGES; i++)
		mem_free(f->verdicts[i]);
	mem_free(f->rules);
	mem_free(f->threads);
	mem_free(f->thread_names);
	if (f->where)
		where_free(f->where);
	arena_free(&f->arena);
	pthread_mutex_destroy(&f->lock);
	mem_free(f);
}

void filter_keep_unseen(struct filter *f)
{
	f->keeps_unseen = true;
}

bool filter_keeps_unseen(const struct filter *f)
{
	return f->keeps_unseen;
}

void filter_keep_short(struct filter *f)
{
	f->holds = false;
}

int64_t filter_keep_brief(struct filter *f)
{
	int64_t min_ns = f->min_ns;

	f->min_ns = 0;
	choose_stages(f);
	return min_ns;
}

int64_t filter_short_ns(const struct filter *f)
{
	const bool other = f->nrules || f->mode_caller || f->min_size || f->scopes || f->where ||
			   f->by_row || f->last || f->keeps_unseen || f->is_global || f->shared;

	return f->holds && !other ? f->min_ns : 0;
}

int64_t filter_min_ns(const struct filter *f)
{
	return f->min_ns;
}

bool filter_ended_off(const struct filter *f)
{
	return f->ended_off;
}

bool filter_is_global(const struct filter *f)
{
	return f->is_global;
}

bool filter_zero(const struct filter *f, int64_t *zero)
{
	*zero = f->zero;
	return f->zero_known;
}

void filter_span(const struct filter *f, int64_t *from, int64_t *to)
{
	*from = f->from;
	*to = f->to;
}

bool filter_track_passes(const struct filter *f, uint32_t id)
{
	const struct spur_track *thread = trace_track(f->trace, trace_thread_of(f->trace, id));
	bool named = !f->nthreads;

	if (f->tids.count && !(thread && number_list_has(&f->tids, thread->tid)))
		return false;
	if (f->pids.count && !number_list_has(&f->pids, trace_pid_of(f->trace, id)))
		return false;
	for (size_t i = 0; i < f->nthreads && !named; i++)
		named = thread &&
			pattern_match(f->threads[i], trace_string(f->trace, thread->name, NULL));
	return named;
}

bool filter_skips_feed(const struct filter *f, const struct feed *feed)
{
	const struct spur_track *track = trace_track(f->trace, feed->track);

	/* A feed of a thread holds nothing else; of other feeds the rows decide. */
	return track && trace_track_kind(f->trace, feed->track) == SPUR_TRACK_THREAD &&
	       !filter_track_passes(f, feed->track);
}

static bool module_matches(const struct spur_trace *t, const struct rule *r,
			   const struct event_class *c)
{
	const char *path = trace_string(t, c->module, NULL), *slash = strrchr(path, '/');

	switch (r->module) {
	case MODULE_ANY:
		return !(c->flags & CLASS_KERNEL);
	case MODULE_KERNEL:
		return c->flags & CLASS_KERNEL;
	case MODULE_PLT:
		return c->flags & CLASS_LIBRARY;
	default:
		break;
	}
	return !(c->flags & CLASS_KERNEL) && c->module &&
	       strncmp(slash ? slash + 1 : path, r->module_name, strlen(r->module_name)) == 0;
}

bool filter_rule_matches(const struct spur_trace *t, const struct rule *r,
			 const struct event_class *c)
{
	const char *path;

	if (c->flags & (CLASS_EVENT | CLASS_SCHED) ||
	    (c->flags & CLASS_UNKNOWN && t->format->rules_need_symbols))
		return false;
	if (!module_matches(t, r, c))
		return false;
	if (r->flags & (RULE_PLACE | RULE_NOT_PLACE))
		return c->file && pattern_match(r->pattern, trace_string(t, c->file, NULL));
	if (r->flags & RULE_LIBRARY) {
		path = trace_string(t, c->module, NULL);
		return c->module &&
		       (pattern_match(r->pattern, path) ||
			(strrchr(path, '/') && pattern_match(r->pattern, strrchr(path, '/') + 1)));
	}
	return pattern_match(r->pattern, trace_string(t, c->name, NULL)) ||
	       (c->simple && c->simple != c->name &&
		pattern_match(r->pattern, trace_string(t, c->simple, NULL)));
}

/* A later rule overrides what it speaks of and leaves the rest. */
static void verdict_apply(struct verdict *v, const struct rule *r)
{
	v->flags &= ~r->clear;
	if (r->clear & RULE_IN)
		v->cond = NULL;
	if (r->flags & (RULE_IN | RULE_OUT)) {
		v->flags &= ~(uint32_t)(RULE_IN | RULE_OUT);
		v->cond = r->cond.op ? r : NULL;
	}
	if (r->flags & (RULE_PLACE | RULE_NOT_PLACE))
		v->flags &= ~(uint32_t)(RULE_PLACE | RULE_NOT_PLACE);
	if (r->flags & (RULE_ON | RULE_OFF))
		v->flags &= ~(uint32_t)(RULE_ON | RULE_OFF);
	v->flags |= r->flags;
	if (r->flags & RULE_DEPTH)
		v->depth = r->depth;
	if (r->flags & RULE_TIME)
		v->time = r->time;
	if (r->flags & RULE_SIZE)
		v->min_size = r->size < UINT32_MAX ? (uint32_t)r->size : UINT32_MAX;
	if (r->flags & RULE_COLOR)
		v->color = r->color;
}

/* Called with f->lock held. */
static void verdict_make(struct filter *f, const struct event_class *c, struct verdict *v)
{
	v->size = c->size < UINT32_MAX ? (uint32_t)c->size : UINT32_MAX;
	if (c->flags & (CLASS_MARKER | CLASS_INSIDE))
		v->flags = c->flags & CLASS_MARKER ? VERDICT_EVENT : VERDICT_INSIDE;
	for (size_t i = 0; i < f->nrules; i++)
		if (filter_rule_matches(f->trace, &f->rules[i], c)) {
			f->rules[i].matched = true;
			verdict_apply(v, &f->rules[i]);
		}
	if (f->where)
		where_class(f->where, c, &v->where);
}

const struct verdict *filter_judge(struct filter *f, uint32_t cls)
{
	struct verdict **page = &f->verdicts[cls / TRACE_CLASS_PAGE % TRACE_CLASS_PAGES], *v = NULL;

	pthread_mutex_lock(&f->lock);
	if (!*page)
		__atomic_store_n(page, mem_array(TRACE_CLASS_PAGE, sizeof(struct verdict)),
				 __ATOMIC_RELEASE);
	if (*page)
		v = &(*page)[cls % TRACE_CLASS_PAGE];
	if (v && !(v->flags & VERDICT_READY)) {
		struct verdict made = { 0 };
		uint32_t flags;

		verdict_make(f, trace_class(f->trace, cls), &made);
		flags = made.flags | VERDICT_READY;
		made.flags = 0;
		*v = made;
		__atomic_store_n(&v->flags, flags, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&f->lock);
	return v;
}

unsigned filter_marks(struct filter *f, uint32_t cls)
{
	const struct verdict *v = filter_verdict(f, cls);
	unsigned marks = f->no_args ? FILTER_MARK_NOARGS : 0;

	if (v && (v->flags & RULE_BACKTRACE))
		marks |= FILTER_MARK_BACKTRACE;
	return v ? marks | (unsigned)v->color << FILTER_MARK_COLOR : marks;
}

static const char *near_name(const struct spur_trace *t, struct text name)
{
	enum { LOOKED_AT = 4096, WORD = 64 };
	const uint32_t n = trace_class_count(t);
	const char **names = mem_array(LOOKED_AT + 1, sizeof(*names)), *near = NULL;
	char word[WORD];
	size_t found = 0;

	if (names && name.len < sizeof(word)) {
		memcpy(word, name.p, name.len);
		word[name.len] = '\0';
		for (uint32_t i = 1; i < n && found < LOOKED_AT; i++)
			names[found++] = trace_string(t, trace_class(t, i)->name, NULL);
		near = text_suggest(word, names);
	}
	mem_free(names);
	return near;
}

static void leaf_note(const struct filter *f, const struct where_leaf *l, struct out *o)
{
	const bool is_cat = l->is_name && l->field == WHERE_CAT;
	const bool named = !is_cat && (l->is_name || (l->field == WHERE_NAME && l->op == WHERE_EQ));
	const char *near = named ? near_name(f->trace, l->is_name ? l->source : l->text) : NULL;

	out_str(o, "spur: note: ");
	if (is_cat)
		out_str(o, "--cat: no event is of the category ");
	else if (l->is_name)
		out_str(o, "--name: no event is named ");
	else if (l->field == WHERE_ARG && !l->found)
		out_str(o, "--where: no event that it was asked of has the argument: ");
	else
		out_str(o, "--where: true for no event: ");
	out_safe(o, l->source.p, l->source.len);
	if (near) {
		out_str(o, "; did you mean ");
		out_safe(o, near, strlen(near));
		out_char(o, '?');
	}
	out_char(o, '\n');
}

void filter_where_notes(const struct filter *f, struct out *o)
{
	if (!f || !f->where)
		return;
	for (size_t i = 0; !f->where_passed && i < f->where->nleaves; i++)
		if (f->where->leaves[i].asked && !f->where->leaves[i].held)
			leaf_note(f, &f->where->leaves[i], o);
	if (f->where_forced)
		out_printf(
			o,
			"spur: warning: --where: calls that had to be decided before their end, as "
			"if they had none: %llu\n",
			(unsigned long long)f->where_forced);
}
