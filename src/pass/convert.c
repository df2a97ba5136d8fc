/* convert: the trace in another format (format/writer.h), and what the format could not carry. */
#include "flow/convert.h"

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

static enum spur_status convert_pass(struct pass_env *env)
{
	const char *to = convert_options(env)->to, *settings = convert_options(env)->settings;
	const struct spur_writer *writer = to ? writer_find(to) : NULL;
	struct convert c = { .pipe = env->pipe,
			     .zero = zero_of(env->opt->time),
			     .no_args = env->opt->no_args,
			     .settings = settings,
			     .dir = env->dir };

	if (!writer)
		return err_set(env->err, SPUR_ERR_USAGE, "no format named \"%s\" can be written",
			       to ? to : "");
	c.pipe.limit = env->opt->limit;
	if (writer_check(writer, settings, env->err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (convert_run(&c, env->trace, writer, env->out) == SPUR_FAIL) {
		*env->err = c.error;
		return SPUR_FAIL;
	}
	tell_losses(env, &c.loss, writer->name);
	return !c.rows && env->filter && !(c.pipe.stop && *c.pipe.stop) ? SPUR_WARN : SPUR_OK;
}

const struct spur_pass spur_pass_convert = {
	.name = "convert",
	.limits_rows = true,
	.tracks = true,
	.options_size = sizeof(struct convert_options),
	.run = convert_pass,
};
