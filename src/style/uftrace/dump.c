/* Dump in uftrace's own layout, and its formats for other viewers. Not its HTML colours. */
#include "style/uftrace/dump/dump.h"

static const struct {
	const char *name;
	enum spur_status (*run)(struct pass_env *env, struct style *s);
} formats[] = {
	{ "normal", dump_raw },	       { "chrome", dump_chrome },   { "flame-graph", dump_flame },
	{ "graphviz", dump_graphviz }, { "mermaid", dump_mermaid },
};

static enum spur_status dump_run(struct pass_env *env)
{
	const char *format = dump_options(env)->format ? dump_options(env)->format : "normal";
	enum spur_status st = SPUR_FAIL;
	struct style s;
	size_t i = 0;

	while (i < sizeof(formats) / sizeof(formats[0]) && strcmp(formats[i].name, format) != 0)
		i++;
	if (i == sizeof(formats) / sizeof(formats[0]))
		return err_set(env->err, SPUR_ERR_USAGE,
			       "no dump format named \"%s\" in uftrace's style", format);
	/* These layouts go from file to file, of which more may come. */
	if (env->trace->live && !env->trace->source && uftrace_data(env->trace))
		return err_set(env->err, SPUR_ERR_USAGE,
			       "%s: --style=uftrace: expected a file or a pipe to follow, found a "
			       "directory",
			       env->trace->path);
	if (style_open(&s, env))
		st = formats[i].run(env, &s);
	else
		err_nomem(env->err);
	style_close(&s);
	return st;
}

const struct spur_pass spur_pass_uftrace_dump = {
	.name = "dump.uftrace",
	.analysis = true,
	.options_size = sizeof(struct dump_options),
	.style_options_size = sizeof(struct uftrace_options),
	.bare_times = true,
	.simple_names = true,
	.focus_hides_sched = true,
	.run = dump_run,
};
