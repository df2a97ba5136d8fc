/*
 * metadata: the description of its records that a trace carries: its plain text, or (verbose) how
 * it is decoded. Only formats with such a description (struct spur_format, metadata) have it.
 */
#include "pass/metadata.h"

static enum spur_status metadata_run(struct pass_env *env)
{
	const struct spur_format *f = env->trace->format;

	if (!f->metadata)
		return err_set(env->err, SPUR_ERR_USAGE,
			       "%s: expected a trace that carries metadata, found %s",
			       env->trace->path, f->name);
	f->metadata(env->trace, metadata_options(env)->compiled, env->out);
	return SPUR_OK;
}

const struct spur_pass spur_pass_metadata = {
	.name = "metadata",
	.options_size = sizeof(struct metadata_options),
	.run = metadata_run,
};
