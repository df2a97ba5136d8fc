/*
 * diff: what changed from one trace to another, one line per function or call path. Each input is
 * read by itself, with the same filter; only the sums and durations of its functions are kept
 * (diff/side.h), which are then paired (diff/join.h).
 *
 * The significance is that of single durations of calls (diff/dist.h): unknown for call paths, for
 * sampled stacks and for reports that were saved.
 */
#include "pass/diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "pass/diff/join.h"
#include "pass/flame/svg.h"
#include "render/cell.h"
#include "render/table.h"

enum part { PART_A, PART_B, PART_CHANGE, PART_PERCENT, PARTS };

enum column {
	COL_SHARE_A = DIFF_MEASURES * PARTS,
	COL_SHARE_B,
	COL_SHARE_CHANGE,
	COL_P,
	COL_VERDICT,
	COL_MODULE,
	COL_CATEGORY,
	COL_PATH,
	COL_FUNCTION
};

/* clang-format off */
#define COLUMN_MEASURE(id, word, kind)                                             \
	[DIFF_##id * PARTS + PART_A] = { word "_a", TABLE_##kind },                \
	[DIFF_##id * PARTS + PART_B] = { word "_b", TABLE_##kind },                \
	[DIFF_##id * PARTS + PART_CHANGE] = { word "_change", TABLE_##kind##_CHANGE }, \
	[DIFF_##id * PARTS + PART_PERCENT] = { word "_percent", TABLE_SHARE_CHANGE },
/* clang-format on */

static const struct table_column columns[] = {
	DIFF_MEASURE_LIST(COLUMN_MEASURE)[COL_SHARE_A] = { "share_a", TABLE_SHARE },
	[COL_SHARE_B] = { "share_b", TABLE_SHARE },
	[COL_SHARE_CHANGE] = { "share_change", TABLE_SHARE_CHANGE },
	[COL_P] = { "p", TABLE_NUMBER },
	[COL_VERDICT] = { "verdict", TABLE_TEXT },
	[COL_MODULE] = { "module", TABLE_TEXT },
	[COL_CATEGORY] = { "category", TABLE_TEXT },
	[COL_PATH] = { "path", TABLE_TEXT },
	[COL_FUNCTION] = { "function", TABLE_TEXT },
	{ 0 },
};

static_assert(sizeof(columns) / sizeof(columns[0]) <= TABLE_COLUMNS, "room for all columns");

/* Rows that are equal by --sort. */
static const int ties[] = { COL_PATH, COL_FUNCTION, COL_MODULE, COL_CATEGORY, -1 };

#define WORD_MEASURE(id, word, kind) [DIFF_##id] = word,
static const char *const measure_words[DIFF_MEASURES + 1] = { DIFF_MEASURE_LIST(WORD_MEASURE) };

enum { TENTHS = 1000 }; /* of a per cent, in a whole */

/* From what on a change counts. */
struct limits {
	bool given;
	double share; /* of the first value; negative: any */
	uint64_t least; /* ns, or calls */
	double p;
};

/* What is kept between the inputs; see spur_pass.show. */
struct diff {
	struct diff_side sides[2];
	struct table table;
	struct limits limits;
	enum diff_measure measure;
	bool by_path, svg;
	/* While it is shown: */
	struct diff_join join;
	bool name_alone; /* no other column tells functions of one name apart */
	uint64_t beyond; /* rows that changed by more than the limits */
};

/* --- options */

/* "5%" or "10us", or for calls "3". */
static bool read_limit(struct limits *l, struct text word, bool is_time)
{
	char number[64], *end;
	const bool share = word.len && word.p[word.len - 1] == '%';
	int64_t least;

	word = text_trim(word);
	if (!word.len || word.len >= sizeof(number))
		return false;
	memcpy(number, word.p, word.len);
	number[word.len] = '\0';
	if (share) {
		number[word.len - 1] = '\0';
		l->share = strtod(number, &end) / 100;
		return end != number && !*end && isfinite(l->share) && l->share >= 0;
	}
	if (is_time && text_duration(number, 0, &least) && least >= 0) {
		l->least = (uint64_t)least;
		return true;
	}
	return !is_time && text_u64(&word, 10, &l->least) && !word.len;
}

static enum spur_status read_limits(struct diff *d, const struct diff_options *own,
				    struct spur_error *err)
{
	struct limits *l = &d->limits;
	struct text rest = text_of(own->threshold ? own->threshold : ""), word;
	bool good;
	char *end;

	*l = (struct limits){ .given = own->threshold != NULL, .share = -1, .p = 0.01 };
	if (own->significance) {
		l->p = strtod(own->significance, &end);
		if (end == own->significance || *end || !(l->p >= 0 && l->p <= 1))
			return err_set(err, SPUR_ERR_USAGE,
				       "--significance: expected a number from 0 to 1, found "
				       "\"%s\"",
				       own->significance);
	}
	good = !rest.len || rest.p[rest.len - 1] != ',';
	good = good && (text_trim(rest).len || !l->given);
	while (good && text_split(&rest, ',', &word))
		good = read_limit(l, word, d->measure != DIFF_CALLS);
	if (good)
		return SPUR_OK;
	return err_set(err, SPUR_ERR_USAGE, "--threshold: expected %s, found \"%s\"",
		       d->measure == DIFF_CALLS ? "5%, a number of calls or both"
						: "5%, a duration or both",
		       own->threshold);
}

/* Sets *chosen to the word's place in `words`; leaves it if `word` is NULL. */
static enum spur_status read_word(const char *option, const char *word, const char *const *words,
				  int *chosen, struct spur_error *err)
{
	char expected[128] = "";

	if (!word)
		return SPUR_OK;
	for (int i = 0; words[i]; i++) {
		const size_t len = strlen(expected);

		if (strcmp(word, words[i]) == 0) {
			*chosen = i;
			return SPUR_OK;
		}
		snprintf(expected + len, sizeof(expected) - len, "%s%s",
			 !i		? ""
			 : words[i + 1] ? ", "
					: " or ",
			 words[i]);
	}
	return err_set(err, SPUR_ERR_USAGE, "--%s: expected %s, found \"%s\"", option, expected,
		       word);
}

/* The columns without --fields, and the one to sort by. */
static enum spur_status read_columns(struct diff *d, const struct render_options *opt)
{
	static const char all_words[] = DIFF_COLUMN_WORDS;
	const char *word = measure_words[d->measure];
	const char *name = d->by_path ? "path" : "function";
	char text[256], sort[32];
	const bool form_text = opt->form == FORM_TEXT;
	enum spur_status st;

	snprintf(sort, sizeof(sort), "%s_change", word);
	snprintf(text, sizeof(text), "%s_a,%s_b,%s_change,%s_percent%s%s,%s", word, word, word,
		 word, d->measure == DIFF_CALLS ? "" : ",calls_a,calls_b",
		 d->by_path ? "" : ",p,verdict", name);
	st = table_options(&d->table, form_text ? text : all_words, sort);
	d->name_alone = form_text && !table_shows(&d->table, COL_MODULE) &&
			!table_shows(&d->table, COL_CATEGORY);
	return st;
}

static enum spur_status read_options(struct diff *d, struct pass_env *env)
{
	static const char *const by_words[] = { "function", "path", NULL };
	static const char *const formats[] = { "table", "svg", NULL };
	const struct diff_options *own = diff_options(env);
	int by = 0, format = 0, measure = DIFF_SELF;

	if (read_word("by", own->by, by_words, &by, env->err) == SPUR_FAIL ||
	    read_word("format", own->format, formats, &format, env->err) == SPUR_FAIL ||
	    read_word("measure", own->measure, measure_words, &measure, env->err) == SPUR_FAIL)
		return SPUR_FAIL;
	d->svg = format == 1;
	d->by_path = by == 1 || d->svg;
	d->measure = (enum diff_measure)measure;
	if (d->by_path && d->measure > DIFF_AVG)
		return err_set(env->err, SPUR_ERR_USAGE,
			       "--measure: expected total, self, calls or avg of call paths, found "
			       "\"%s\"",
			       own->measure);
	if (read_limits(d, own, env->err) == SPUR_FAIL)
		return SPUR_FAIL;
	d->table.env = pass_render(env);
	return read_columns(d, env->opt);
}

/* --- cells */

static bool value_get(const struct diff_row *row, int side, enum diff_measure m, uint64_t *value)
{
	const struct diff_values *v = row->of[side];

	*value = v ? v->of[m] : 0;
	/* What is not there has neither calls nor time. */
	return v ? v->known >> m & 1 : m == DIFF_TOTAL || m == DIFF_SELF || m == DIFF_CALLS;
}

static int64_t clamp_i64(__int128 v)
{
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

/* Tenths of a per cent, rounded down in magnitude. */
static struct table_value ratio(__int128 part, uint64_t whole)
{
	const struct table_value unknown = { 0 };

	if (!whole && part)
		return unknown;
	if (!whole)
		return table_i64(0);
	return table_i64(clamp_i64(part * TENTHS / whole));
}

static struct table_value measure_value(const struct diff_row *row, enum diff_measure m,
					enum part part)
{
	uint64_t a, b;
	const bool known_a = value_get(row, 0, m, &a), known_b = value_get(row, 1, m, &b);
	const __int128 change = (__int128)b - a;

	if (part == PART_A)
		return known_a ? table_u64(a) : (struct table_value){ 0 };
	if (part == PART_B)
		return known_b ? table_u64(b) : (struct table_value){ 0 };
	if (!known_a || !known_b)
		return (struct table_value){ 0 };
	return part == PART_CHANGE ? table_i64(clamp_i64(change)) : ratio(change, a);
}

/* Of the self time of all functions in the input. */
static struct table_value share_value(const struct diff *d, const struct diff_row *row, int side)
{
	const uint64_t all = d->sides[side].self;
	uint64_t self;

	if (!value_get(row, side, DIFF_SELF, &self))
		return (struct table_value){ 0 };
	return table_u64(all ? (uint64_t)((unsigned __int128)self * TENTHS / all) : 0);
}

/* Three digits, so that it does not depend on the last bits of the mathematical library. */
static struct table_value p_value(const struct diff_row *row)
{
	char digits[32];

	if (!row->compared)
		return (struct table_value){ 0 };
	snprintf(digits, sizeof(digits), "%.2e", row->change.p);
	return table_f64(strtod(digits, NULL));
}

static struct table_value cell_value(const void *self, const void *line, int column)
{
	const struct diff *d = self;
	const struct diff_row *row = line;
	struct table_value a, b;

	if (column < COL_SHARE_A)
		return measure_value(row, (enum diff_measure)(column / PARTS),
				     (enum part)(column % PARTS));
	if (column == COL_P)
		return p_value(row);
	a = share_value(d, row, 0);
	b = share_value(d, row, 1);
	if (column != COL_SHARE_CHANGE)
		return column == COL_SHARE_A ? a : b;
	return a.type && b.type ? table_i64((int64_t)b.u - (int64_t)a.u)
				: (struct table_value){ 0 };
}

static const char *verdict(const struct diff *d, const struct diff_row *row)
{
	if (!row->of[0])
		return "added";
	if (!row->of[1])
		return "gone";
	if (!row->compared)
		return "unknown";
	if (row->change.p >= d->limits.p || !row->change.sign)
		return "same";
	return row->change.sign > 0 ? "slower" : "faster";
}

static const struct group *row_group(const struct diff *d, const struct diff_row *row)
{
	static const struct group other = {
		.name = "(other)", .name_len = 7, .module = "", .cat = ""
	};

	return row->func == TREE_OTHER ? &other : &d->join.groups.items[row->func];
}

static void out_function(const struct diff *d, const struct group *g, struct out *o)
{
	if (d->name_alone)
		out_group(o, g);
	else
		out_bytes(o, g->name, g->name_len);
}

/* The functions from the outermost to this one, with ';' between, which names then lack. */
static void out_path(const struct diff *d, const struct diff_row *row, struct out *o)
{
	const struct tree_node *nodes = d->join.tree.nodes;
	uint32_t *up = NULL;
	size_t n = 0, cap = 0;

	for (uint32_t at = row->node; at; at = nodes[at].parent) {
		if (!mem_grow((void **)&up, &cap, n + 1, sizeof(*up), SIZE_MAX / 2)) {
			o->error = ENOMEM;
			break;
		}
		up[n++] = at;
	}
	while (n--) {
		const size_t start = o->len;

		out_node(o, &d->join.groups, &nodes[up[n]]);
		for (size_t i = start; i < o->len; i++)
			if (o->buf[i] == ';')
				o->buf[i] = ',';
		if (n)
			out_char(o, ';');
	}
	mem_free(up);
}

static void cell_text(const void *self, const void *line, int column, struct out *o)
{
	const struct diff *d = self;
	const struct diff_row *row = line;
	const struct group *g = row_group(d, row);

	if (column == COL_VERDICT)
		out_str(o, verdict(d, row));
	else if (column == COL_MODULE)
		out_bytes(o, g->module, g->module_len);
	else if (column == COL_CATEGORY)
		out_bytes(o, g->cat, g->cat_len);
	else if (column == COL_PATH && d->by_path)
		out_path(d, row, o);
	else
		out_function(d, g, o);
}

static int cell_order(const void *self, const void *x, const void *y, int column)
{
	const struct diff *d = self;
	const struct diff_row *a = x, *b = y;
	const struct group *g = row_group(d, a), *h = row_group(d, b);

	if (column == COL_VERDICT)
		return strcmp(verdict(d, a), verdict(d, b));
	if (column == COL_MODULE)
		return strcmp(g->module, h->module);
	if (column == COL_CATEGORY)
		return strcmp(g->cat, h->cat);
	if (column == COL_PATH && d->by_path)
		return (a->place > b->place) - (a->place < b->place);
	return group_order(g, h);
}

/* --- the threshold */

/* Returns true if the row's measure changed by more than the limits, and significantly. */
static bool row_is_beyond(const struct diff *d, const struct diff_row *row)
{
	const struct limits *l = &d->limits;
	uint64_t a, b, far;

	if (!value_get(row, 0, d->measure, &a) || !value_get(row, 1, d->measure, &b))
		return false;
	far = a > b ? a - b : b - a;
	if (!far || far <= l->least || (l->share >= 0 && (double)far <= l->share * (double)a))
		return false;
	/* How long calls last says nothing of their number. */
	return d->measure == DIFF_CALLS || !row->compared || row->change.p < l->p;
}

static void count_beyond(struct diff *d)
{
	for (size_t i = 0; d->limits.given && i < d->join.n; i++)
		d->beyond += row_is_beyond(d, &d->join.rows[i]);
}

/* --- the whole */

static void out_named(struct out *o, const char *name, const char *value)
{
	out_printf(o, ",\"%s\":", name);
	out_json(o, value, strlen(value));
}

/* The members of the JSON object before the rows. */
static void out_head(const struct diff *d, const struct pass_env *env, struct out *o)
{
	const struct diff_options *own = diff_options(env);

	out_named(o, "a", env->paths[0]);
	out_named(o, "b", env->paths[1]);
	out_named(o, "by", d->by_path ? "path" : "function");
	out_named(o, "measure", measure_words[d->measure]);
	out_str(o, ",\"significance\":");
	out_json_double(o, d->limits.p, false);
	if (d->limits.given) {
		out_named(o, "threshold", own->threshold);
		out_printf(o, ",\"beyond\":%llu", (unsigned long long)d->beyond);
	}
	out_char(o, '\0');
}

/* What --threshold found, below the table. */
static void out_summary(const struct diff *d, const char *threshold, struct out *o)
{
	out_printf(o, "\n%llu of %zu %s changed in %s by more than ", (unsigned long long)d->beyond,
		   d->join.n, d->by_path ? "call paths" : "functions", measure_words[d->measure]);
	for (const char *p = threshold; *p; p++)
		if (*p == ',')
			out_str(o, " and ");
		else
			out_char(o, *p);
	out_str(o, ".\n");
}

static enum spur_status show_table(struct diff *d, struct pass_env *env)
{
	const struct diff_options *own = diff_options(env);
	enum spur_status st;
	struct out head;

	out_to_memory(&head);
	out_head(d, env, &head);
	d->table.env = pass_render(env);
	d->table.head = head.buf;
	st = head.error ? err_nomem(env->err)
			: table_write(&d->table, d->join.rows, d->join.n, sizeof(*d->join.rows));
	if (st == SPUR_OK && env->opt->form == FORM_TEXT && d->limits.given)
		out_summary(d, own->threshold, env->out);
	out_free(&head);
	return st;
}

static enum spur_status show_svg(struct diff *d, struct pass_env *env)
{
	const struct tree *t = &d->join.tree;
	uint64_t *weights = mem_array(t->n, sizeof(*weights));
	uint64_t *before = mem_array(t->n, sizeof(*before));
	bool good = weights && before;

	for (size_t i = t->n; good && i-- > 1;) {
		weights[i] += t->nodes[i].self;
		before[i] += d->join.before[i].self;
		weights[t->nodes[i].parent] += weights[i];
		before[t->nodes[i].parent] += before[i];
	}
	if (good) {
		const struct flame_svg svg = { .name = env->paths[1],
					       .groups = &d->join.groups,
					       .tree = t,
					       .weights = weights,
					       .name_before = env->paths[0],
					       .before = d->join.before,
					       .weights_before = before };

		good = flame_svg_write(&svg, env->out);
	}
	mem_free(weights);
	mem_free(before);
	return good ? SPUR_OK : err_nomem(env->err);
}

static enum spur_status diff_show(struct pass_env *env)
{
	struct diff *d = env->kept;

	if (!(d->by_path ? diff_join_paths : diff_join_functions)(&d->join, d->sides))
		return err_nomem(env->err);
	count_beyond(d);
	env->differs = d->beyond > 0;
	return d->svg ? show_svg(d, env) : show_table(d, env);
}

/* What is kept, prepared with the first input. Returns NULL, with the error set, if it fails. */
static struct diff *diff_keep(struct pass_env *env)
{
	struct diff *d = env->kept;

	if (d)
		return d;
	d = env->kept = mem_alloc(sizeof(*d));
	if (!d) {
		err_nomem(env->err);
		return NULL;
	}
	diff_side_init(&d->sides[0]);
	diff_side_init(&d->sides[1]);
	d->table = (struct table){ .name = "diff",
				   .columns = columns,
				   .value = cell_value,
				   .text = cell_text,
				   .text_order = cell_order,
				   .ties = ties,
				   .self = d };
	return read_options(d, env) == SPUR_FAIL ? NULL : d;
}

static enum spur_status diff_run(struct pass_env *env)
{
	struct diff *d = diff_keep(env);

	if (!d)
		return SPUR_FAIL;
	return (d->by_path ? diff_side_paths : diff_side_functions)(&d->sides[env->input], env);
}

static enum spur_status diff_run_saved(struct pass_env *env, const struct source *saved)
{
	struct diff *d = diff_keep(env);
	struct diff_side *side;

	if (!d)
		return SPUR_FAIL;
	side = &d->sides[env->input];
	if (d->by_path)
		return err_set(
			env->err, SPUR_ERR_USAGE,
			"%s: expected a trace, found a saved report, which has no call paths",
			saved->path);
	if (diff_side_saved(side, saved, env->err) == SPUR_FAIL)
		return SPUR_FAIL;
	/* All lines would be unknown, and no threshold ever exceeded. */
	if (side->n && !(side->saved >> d->measure & 1))
		return err_set(
			env->err, SPUR_ERR_USAGE,
			"%s: the saved report has no column \"%s\", which is compared; save it "
			"with spur report --json --fields=function,module,category,calls,%s",
			saved->path, measure_words[d->measure], measure_words[d->measure]);
	return SPUR_OK;
}

static void diff_drop(void *kept)
{
	struct diff *d = kept;

	if (!d)
		return;
	diff_join_free(&d->join);
	diff_side_free(&d->sides[0]);
	diff_side_free(&d->sides[1]);
	mem_free(d);
}

const struct spur_pass spur_pass_diff = {
	.name = "diff",
	.analysis = true,
	.options_size = sizeof(struct diff_options),
	.run = diff_run,
	.show = diff_show,
	.drop = diff_drop,
	.is_saved = diff_saved_is,
	.run_saved = diff_run_saved,
};
