/* Reading one input of a comparison. See side.h. */
#include "pass/diff/side.h"

#include "pass/fold/sums.h"

void diff_side_init(struct diff_side *s)
{
	arena_init(&s->arena);
}

void diff_side_free(struct diff_side *s)
{
	tree_free(&s->tree);
	mem_free(s->lines);
	arena_free(&s->arena);
}

struct diff_line *diff_side_add(struct diff_side *s, const struct group *group)
{
	struct diff_line *line;
	struct group *g;

	if (!mem_grow((void **)&s->lines, &s->cap, s->n + 1, sizeof(*s->lines), SIZE_MAX / 2))
		return NULL;
	line = &s->lines[s->n];
	*line = (struct diff_line){ .group = *group };
	g = &line->group;
	g->cls = NULL;
	g->name = arena_strdup(&s->arena, group->name, group->name_len);
	g->module =
		group->module_len ? arena_strdup(&s->arena, group->module, group->module_len) : "";
	g->cat = group->cat_len ? arena_strdup(&s->arena, group->cat, group->cat_len) : "";
	if (!g->name || !g->module || !g->cat)
		return NULL;
	s->n++;
	return line;
}

/* --- by function */

/* The sums of all workers, by group. */
struct folder {
	struct groups groups;
	struct call_sum *sums;
	size_t n, cap;
};

static bool folder_add(struct folder *f, const struct calls *w, uint32_t key)
{
	const uint32_t id = groups_put(&f->groups, key);

	if (id == GROUP_NONE ||
	    !mem_grow((void **)&f->sums, &f->cap, (size_t)id + 1, sizeof(*f->sums), SIZE_MAX / 2))
		return false;
	f->n = id >= f->n ? (size_t)id + 1 : f->n;
	return call_sum_add(&f->sums[id], w, key);
}

static bool folder_join(struct folder *f, const struct calls *workers, unsigned n, uint64_t *rows)
{
	for (unsigned i = 0; i < n; i++) {
		*rows += workers[i].rows;
		for (size_t key = 0; key < workers[i].nstats; key++) {
			const struct call_stat *s = &workers[i].stats[key];

			if ((s->calls || s->unfinished || s->sum) &&
			    !folder_add(f, &workers[i], (uint32_t)key))
				return false;
		}
	}
	return true;
}

static void value_maybe(struct diff_values *v, enum diff_measure m, struct table_value value)
{
	if (value.type == TABLE_U64)
		diff_value_set(v, m, value.u);
}

static bool line_make(struct diff_side *side, const struct group *group, struct call_sum *sum)
{
	const struct call_stat *s = &sum->stat;
	struct diff_line *line;
	struct diff_values *v;

	call_sum_settle(sum);
	if (call_sum_is_empty(sum))
		return true;
	line = diff_side_add(side, group);
	if (!line)
		return false;
	v = &line->values;
	diff_value_set(v, DIFF_TOTAL, s->sum - s->inner);
	diff_value_set(v, DIFF_SELF, s->self);
	diff_value_set(v, DIFF_CALLS, s->calls);
	value_maybe(v, DIFF_AVG, call_sum_mean(sum));
	value_maybe(v, DIFF_P50, call_sum_percentile(sum, 50));
	value_maybe(v, DIFF_P90, call_sum_percentile(sum, 90));
	value_maybe(v, DIFF_P99, call_sum_percentile(sum, 99));
	side->self += s->self;
	if (!sum->spread || !sum->spread->count)
		return true;
	line->dist = dist_new(&side->arena, sum->spread);
	return line->dist != NULL;
}

static bool lines_make(struct diff_side *side, struct folder *f)
{
	bool good = true;

	for (size_t i = 0; i < f->n; i++) {
		const struct group g = group_at(&f->groups, (uint32_t)i);

		good = good && line_make(side, &g, &f->sums[i]);
		call_sum_free(&f->sums[i]);
	}
	return good;
}

enum spur_status diff_side_functions(struct diff_side *s, struct pass_env *env)
{
	struct folder f = { .groups = { .trace = env->trace } };
	struct calls *workers = NULL;
	uint64_t rows = 0;
	unsigned n = 0;
	enum spur_status st = calls_run(env, CALLS_BY_FUNCTION, CALLS_SPREAD, &workers, &n);

	if (st == SPUR_OK && !folder_join(&f, workers, n, &rows))
		st = err_nomem(env->err);
	calls_free(workers, n);
	if (st == SPUR_OK && !lines_make(s, &f))
		st = err_nomem(env->err);
	for (size_t i = 0; st == SPUR_FAIL && i < f.n; i++)
		call_sum_free(&f.sums[i]);
	mem_free(f.sums);
	groups_free(&f.groups);
	if (st == SPUR_OK && rows && !s->n)
		pass_note_no_calls(env, rows);
	return st == SPUR_OK && (!rows || (env->filter && !s->n)) ? SPUR_WARN : st;
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
	key_index_free(&s->tree.children);
	for (size_t i = 1; i < s->tree.n; i++)
		s->self += s->tree.nodes[i].self;
	return st == SPUR_OK && env->filter && s->tree.n < 2 ? SPUR_WARN : st;
}
