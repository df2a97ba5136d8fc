/*
 * cat: the events of all streams in time order, one a line: for people, as JSON lines
 * (docs/jsonl.md) or CSV. Shows every row that passes the filter and every argument; pairs nothing.
 *
 * Lines are made per feed in parallel (render/eventtext.h) and merged by time.
 */
#include "base/pool.h"
#include "flow/lines.h"
#include "pass/pass.h"
#include "render/eventtext.h"

struct cat {
	struct pass_env *env;
	struct event_text text;
	uint64_t rows; /* atomic */
};

/* One feed being written. */
struct cat_lane {
	struct cat *cat;
	struct event_lane *lines;
};

static bool wants_args(const void *self, uint32_t cls)
{
	const struct pass_env *env = self;

	return !env->opt->no_args &&
	       !(env->filter && (filter_marks(env->filter, cls) & FILTER_MARK_NOARGS));
}

static void *cat_open(void *self, const struct feed *f)
{
	struct cat_lane *l = pool_alloc(sizeof(*l));

	(void)f;
	if (!l)
		return NULL;
	l->cat = self;
	l->lines = event_lane_new(&l->cat->text);
	if (l->lines)
		return l;
	pool_free(l, sizeof(*l));
	return NULL;
}

static bool cat_rows(void *lane, struct spur_event *rows, size_t n, struct lines *out)
{
	struct cat_lane *l = lane;

	if (!event_text_rows(l->lines, rows, n, out))
		return false;
	__atomic_fetch_add(&l->cat->rows, n, __ATOMIC_RELAXED);
	return true;
}

static void cat_close(void *lane)
{
	struct cat_lane *l = lane;

	event_lane_free(l->lines);
	pool_free(l, sizeof(*l));
}

static enum spur_status cat_write(struct cat *c)
{
	static const struct pipe_lines lines = {
		.any_order = true, .open = cat_open, .rows = cat_rows, .close = cat_close
	};
	struct pass_env *env = c->env;
	struct pipe_options pipe = env->pipe;
	uint64_t left = 0;

	pipe.limit = left = env->opt->limit;
	pipe.left = &left;
	pipe.parts = PIPE_PARTS;
	if (env->opt->form == FORM_CSV && !env->opt->continued)
		out_str(env->out, EVENT_CSV_HEAD);
	if (pipe_run_lines(env->trace, &pipe, &lines, c, env->out) == SPUR_FAIL)
		return err_nomem(env->err);
	env->shown = pipe.limit ? pipe.limit - left : 0;
	return !c->rows && env->filter && !(pipe.stop && *pipe.stop) ? SPUR_WARN : SPUR_OK;
}

static enum spur_status cat_run(struct pass_env *env)
{
	const struct event_text_options options = { .form = env->opt->form,
						    .time = env->opt->time,
						    .color = env->opt->color,
						    .wants_args = wants_args,
						    .self = env };
	struct cat c = { .env = env };
	enum spur_status st = event_text_open(&c.text, env->trace, &options, env->err);

	if (st != SPUR_FAIL)
		st = cat_write(&c);
	event_text_close(&c.text);
	return st;
}

const struct spur_pass spur_pass_cat = {
	.name = "cat",
	.limits_rows = true,
	.unit = UNIT_CHOSEN,
	.run = cat_run,
};
