/* Reading one input of a comparison. See side.h. */
#include "pass/diff/side.h"

#include "pass/fold/sums.h"

void diff_side_init(struct diff_side *s)
{
	arena_init_scratch(&s->arena);
}

void diff_side_free(struct diff_side *s)
{
	tree_free(&s->tree);
	mem_table_free(s->lines, s->cap, sizeof(*s->lines));
	arena_free(&s->arena);
}

/* A copy of a module or category, which most functions share with the one before. */
static const char *shared_text(struct diff_side *s, const char *text, size_t len,
			       const char *before)
{
	if (!len)
		return "";
	if (before && strlen(before) == len && memcmp(before, text, len) == 0)
		return before;
	return arena_strdup(&s->arena, text, len);
}

struct diff_line *diff_side_add(struct diff_side *s, const struct group *group)
{
	/* By value: the lines may move. */
	const struct group before = s->n ? s->lines[s->n - 1].group : (struct group){ 0 };
	struct diff_line *line;
	struct group *g;

	if (!mem_table_grow((void **)&s->lines, &s->cap, s->n + 1, sizeof(*s->lines), SIZE_MAX / 2))
		return NULL;
	line = &s->lines[s->n];
	*line = (struct diff_line){ .group = *group };
	g = &line->group;
	g->cls = NULL;
	g->name = arena_strdup(&s->arena, group->name, group->name_len);
	g->module = shared_text(s, group->module, group->module_len, before.module);
	g->cat = shared_text(s, group->cat, group->cat_len, before.cat);
	if (!g->name || !g->module || !g->cat)
		return NULL;
	s->n++;
	return line;
}

/* --- by function */

static void value_maybe(struct diff_values *v, enum diff_measure m, struct table_value value)
{
	if (value.type == TABLE_U64)
		diff_value_set(v, m, value.u);
}

static bool has_calls(const struct call_stat *s)
{
	return s->calls || s->unfinished || s->sum;
}

/* Takes a key's durations. Returns false if out of memory. */
static bool line_dist(struct diff_side *side, struct diff_line *line, struct spread *s)
{
	if (!s || !s->count)
		return true;
	line->dist = dist_new(&side->arena, s);
	spread_free(s);
	return line->dist != NULL;
}

static bool line_make(struct diff_side *side, const struct calls *w, uint32_t key)
{
	const struct call_sum sum = call_sum_of(w, key);
	const struct call_stat *s = &sum.stat;
	const struct group group = group_make(w->trace, key ? trace_class(w->trace, key) : NULL);
	struct diff_line *line = diff_side_add(side, &group);
	struct diff_values *v;

	if (!line)
		return false;
	v = &line->values;
	diff_value_set(v, DIFF_TOTAL, s->sum - s->inner);
	diff_value_set(v, DIFF_SELF, s->self);
	diff_value_set(v, DIFF_CALLS, s->calls);
	value_maybe(v, DIFF_AVG, call_sum_mean(&sum));
	value_maybe(v, DIFF_P50, call_sum_percentile(&sum, 50));
	value_maybe(v, DIFF_P90, call_sum_percentile(&sum, 90));
	value_maybe(v, DIFF_P99, call_sum_percentile(&sum, 99));
	side->self += s->self;
	return line_dist(side, line, sum.spread);
}

enum spur_status diff_side_functions(struct diff_side *s, struct pass_env *env)
{
	struct calls *workers = NULL;
	uint64_t rows = 0;
	unsigned n = 0;
	enum spur_status st = calls_run(env, CALLS_BY_FUNCTION, CALLS_SPREAD, &workers, &n);
	bool good = st == SPUR_OK;

	for (unsigned i = 0; good && i < n; i++)
		rows += workers[i].rows;
	good = good && calls_join(workers, n);
	for (uint32_t key = 0; good && key < workers[0].nstats; key++)
		if (has_calls(&workers[0].stats[key]))
			good = line_make(s, &workers[0], key);
	calls_free(workers, n);
	if (!good)
		return st == SPUR_OK ? err_nomem(env->err) : st;
	if (rows && !s->n)
		pass_note_no_calls(env, rows);
	return !rows || (env->filter && !s->n) ? SPUR_WARN : SPUR_OK;
}

/* --- by call path */

enum spur_status diff_side_paths(struct diff_side *s, struct pass_env *env)
{
	struct groups g = { .trace = env->trace };
	enum spur_status st = tree_collect(env, &g, &s->tree);

	for (size_t i = 0; i < g.n && st != SPUR_FAIL; i++) {
		const struct group p = group_at(&g, (uint32_t)i);

		if (!diff_side_add(s, &p))
			st = err_nomem(env->err);
	}
	groups_free(&g);
	for (size_t i = 1; i < s->tree.n; i++)
		s->self += s->tree.nodes[i].self;
	return st == SPUR_OK && env->filter && s->tree.n < 2 ? SPUR_WARN : st;
}
