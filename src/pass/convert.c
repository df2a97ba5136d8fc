/* convert: the trace in another format (format/writer.h), and what the format could not carry. */
#include "flow/convert.h"
#include "flow/cut.h"

#include <assert.h>
#include <string.h>

#include "flow/join_map.h"
#include "pass/convert.h"

static enum convert_zero zero_of(enum time_form time)
{
	return time == TIME_REL ? ZERO_START : time == TIME_EXACT ? ZERO_EXACT : ZERO_CLOCK;
}

static void tell_losses(struct pass_env *env, const struct loss_table *loss, const char *to)
{
	env->lost = loss_sum(loss);
	if (env->notes && env->opt->form == FORM_JSON)
		loss_json(loss, to, env->notes);
	else if (env->notes)
		loss_text(loss, to, env->notes);
}

/* How clocks are related: lines, or a member of the object that the losses are. */
static void tell_clocks(const struct pass_env *env)
{
	const struct spur_trace *t = env->trace;
	struct out *o = env->notes;

	if (!o || o->error || !convert_options(env)->clocks)
		return;
	if (env->opt->form == FORM_JSON) {
		assert(o->len >= 2 && memcmp(o->buf + o->len - 2, "}\n", 2) == 0);
		o->len -= 2;
		out_str(o, ",\"traces\":");
		join_clock_json(t, o);
		out_str(o, "}\n");
		return;
	}
	for (size_t i = 1; i < t->nparts; i++) {
		const char *path = t->parts[i].trace->path;

		out_str(o, "spur: ");
		out_safe(o, path, strlen(path));
		out_printf(o, ": moved by %lld ns: ", (long long)t->parts[i].map.shift);
		join_clock_text(&t->parts[i], o);
		out_char(o, '\n');
	}
}

/* Writers know processes and threads by their ids; some show source lines. */
static void convert_prepare(const struct pass_env *env, struct spur_options *open)
{
	const char *const to = convert_options(env)->to;
	const struct spur_writer *const writer = to ? writer_find(to) : NULL;

	open->distinct_ids = true;
	open->source_lines |= writer && writer->source_lines;
	/* Such a writer reads the trace before it writes anything. */
	if (writer && writer->read)
		open->all_tracks = false;
}

/* What a masked trace still tells. */
static void tell_kept(struct pass_env *env, const struct mask *m)
{
	const struct mask_kept kept = mask_kept(m);

	if (!env->notes || env->opt->form == FORM_JSON)
		return;
	out_printf(env->notes,
		   "spur: not replaced: times, CPUs, %llu numbers in arguments, "
		   "%llu small ids of events\n",
		   (unsigned long long)kept.numbers, (unsigned long long)kept.small_ids);
	if (!kept.numbers)
		return;
	out_str(env->notes, "spur: numbers stay, ids and addresses too, in the arguments ");
	mask_kept_names(m, env->notes);
	out_char(env->notes, '\n');
}

/*
 * Returns true if several traces of the format that is written can be joined by moving their
 * records, which keeps their bytes.
 */
static bool is_join(const struct pass_env *env, const struct convert_options *opt, struct cut *cut)
{
	struct spur_trace *const t = env->trace;

	*cut = (struct cut){
		.pipe = env->pipe, .out = env->out, .dir = env->dir, .notes = env->notes
	};
	cut->pipe.limit = env->opt->limit;
	return opt->clocks && !opt->settings && !env->opt->no_args && cut_joins(cut, t) &&
	       strcmp(cut_format(t->parts[0].trace)->name, opt->to) == 0;
}

/* Says that traces of the format that is written could not be joined by moving their records. */
static void tell_rewritten(const struct pass_env *env)
{
	const struct convert_options *opt = convert_options(env);
	const struct spur_trace *t = env->trace;
	bool same = opt->clocks && env->notes && env->opt->form != FORM_JSON;

	for (size_t i = 0; same && i < t->nparts; i++)
		same = strcmp(cut_format(t->parts[i].trace)->name, opt->to) == 0;
	if (same)
		out_str(env->notes, "spur: written event by event: the records of these traces "
				    "cannot be moved into one trace\n");
}

/* Joins traces. Nothing is lost, which the loss table says. */
static enum spur_status join_pass(struct pass_env *env, struct cut *cut)
{
	const struct loss_table none = { .count = 0 };

	if (cut_run(cut, env->trace) == SPUR_FAIL) {
		*env->err = cut->error;
		return SPUR_FAIL;
	}
	tell_losses(env, &none, convert_options(env)->to);
	env->lost = cut->copy.bytes_lost != 0;
	env->damaged = cut->copy.damaged;
	tell_clocks(env);
	return SPUR_OK;
}

static enum spur_status convert_pass(struct pass_env *env)
{
	const char *to = convert_options(env)->to, *settings = convert_options(env)->settings;
	const struct spur_writer *writer = to ? writer_find(to) : NULL;
	struct convert c = { .pipe = env->pipe,
			     .zero = zero_of(env->opt->time),
			     .no_args = env->opt->no_args,
			     .settings = settings,
			     .dir = writer && writer->is_dir ? env->dir : NULL,
			     .side = env->side };
	enum spur_status st;
	struct cut cut;

	if (!writer)
		return err_set(env->err, SPUR_ERR_USAGE, "no format named \"%s\" can be written",
			       to ? to : "");
	c.pipe.limit = env->opt->limit;
	if (writer_check(writer, settings, env->err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (is_join(env, convert_options(env), &cut))
		return join_pass(env, &cut);
	if (convert_options(env)->masked) {
		c.mask = mask_new(env->trace, &convert_options(env)->mask, env->err);
		if (!c.mask)
			return SPUR_FAIL;
	}
	st = convert_run(&c, env->trace, writer, env->out);
	if (st == SPUR_FAIL) {
		*env->err = c.error;
	} else {
		tell_losses(env, &c.loss, writer->name);
		tell_rewritten(env);
		tell_clocks(env);
		if (c.mask)
			tell_kept(env, c.mask);
	}
	mask_free(c.mask);
	if (st == SPUR_FAIL)
		return st;
	return !c.rows && env->filter && !(c.pipe.stop && *c.pipe.stop) ? SPUR_WARN : SPUR_OK;
}

const struct spur_pass spur_pass_convert = {
	.name = "convert",
	.limits_rows = true,
	.tracks = true,
	.options_size = sizeof(struct convert_options),
	.prepare = convert_prepare,
	.run = convert_pass,
};
