/* metadata: what the metadata of a CTF trace says: its plain text, or (verbose) what it compiles to. */
#include "format/ctf/reader.h"
#include "pass/pass.h"

static enum spur_status metadata_run(struct pass_env *env)
{
	const struct ctf *c = env->trace->state;
	struct out *o = env->out;
	bool any = false;

	if (strcmp(env->trace->format->name, "ctf") != 0)
		return err_set(env->err, SPUR_ERR_USAGE, "%s: expected a CTF trace, found %s",
			       env->trace->path, env->trace->format->name);
	for (size_t i = 0; i < c->ntraces; i++) {
		const struct ctf_trace *tr = &c->traces[i];

		if (tr->old)
			continue;
		if (c->ntraces > 1)
			out_printf(o, "%s# %s/metadata\n", any ? "\n" : "", tr->dir);
		any = true;
		if (env->opt->verbose)
			meta_print(tr->meta, o);
		else
			out_bytes(o, tr->meta->text.p, tr->meta->text.len);
	}
	return SPUR_OK;
}

const struct spur_pass spur_pass_metadata = {
	.name = "metadata",
	.run = metadata_run,
};
