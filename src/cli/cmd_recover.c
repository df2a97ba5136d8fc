/* spur recover: completes recordings whose program was killed. */
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "cli/output.h"
#include "cli/report_diag.h"
#include "cli/run.h"

struct recover_own {
	bool force;
};

/* Returns the exit code. */
static int recover_file(const struct spur_format *format, const char *path, bool force,
			struct out *o)
{
	struct format_recovery r = { .force = force };
	struct spur_error err = { 0 };

	if (format->recover(path, &r, &err) == SPUR_FAIL)
		return run_error(&err);
	if (r.runs && !force) {
		say("%s: process %lld still runs: not changed; --force completes what is there",
		    path, (long long)r.pid);
		return EXIT_DIFFERENT;
	}
	out_safe(o, path, strlen(path));
	if (r.complete)
		out_str(o, ": was complete");
	else
		out_printf(o, ": completed: %llu open chunks closed, %llu unused bytes dropped",
			   (unsigned long long)r.closed, (unsigned long long)r.dropped);
	out_printf(o, ", %llu events lost\n", (unsigned long long)r.lost);
	return EXIT_CLEAN;
}

/* The worse of two exit codes. */
static int worse(int a, int b)
{
	return a > b ? a : b;
}

static int recover_members(const struct spur_format *format, const char *dir, bool force,
			   struct out *o)
{
	struct spur_error err = { 0 };
	const char *const *paths;
	struct arena a;
	size_t n = 0;
	int code = EXIT_CLEAN;

	arena_init(&a);
	if (format->members(dir, &a, &paths, &n, &err) == SPUR_FAIL)
		code = run_error(&err);
	for (size_t i = 0; i < n; i++)
		code = worse(code, recover_file(format, paths[i], force, o));
	arena_free(&a);
	return code;
}

/* A file or a directory. */
static int recover_path(const char *path, bool force, struct out *o)
{
	static uint8_t head[PROBE_BYTES];
	struct probe p = { .path = path, .head = head };
	const struct spur_format *format;
	struct spur_error err = { 0 };
	struct stat st;
	ssize_t got = 0;

	if (os_stat(path, &st) == 0)
		p.is_dir = S_ISDIR(st.st_mode);
	else
		got = -1;
	if (!got && !p.is_dir)
		got = file_head(path, FILE_REGULAR, head, sizeof(head));
	if (got < 0) {
		err_set(&err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
		return run_error(&err);
	}
	p.len = (size_t)got;
	format = format_probe(&p, &err);
	if (format && !format->recover)
		err_set(&err, SPUR_ERR_USAGE,
			"%s: expected a recording of Spur, found format %s; see spur repair", path,
			format->name);
	if (!format || !format->recover)
		return run_error(&err);
	return p.is_dir ? recover_members(format, path, force, o)
			: recover_file(format, path, force, o);
}

static int recover_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct recover_own *own = v->own;
	int code = EXIT_CLEAN;
	struct output o;

	(void)cmd;
	if (!v->noperands) {
		err_set(&v->err, SPUR_ERR_USAGE, "expected a recording; see spur recover -h");
		return run_error(&v->err);
	}
	if (output_open(&o, NULL, false, &v->err) == SPUR_FAIL) {
		output_close(&o, false, NULL);
		return run_error(&v->err);
	}
	for (size_t i = 0; i < v->noperands; i++)
		code = worse(code, recover_path(v->operands[i], own->force, &o.out));
	return output_close(&o, true, &v->err) == SPUR_FAIL ? run_error(&v->err) : code;
}

static const struct opt options[] = {
	{ .name = "force",
	  .letter = 'y',
	  .type = OPT_FLAG,
	  OPT_OWN(struct recover_own, force),
	  .help = "Also complete recordings whose process still runs" },
	{ 0 }
};

const struct spur_cmd spur_cmd_recover = {
	.name = "recover",
	.summary = "Complete recordings whose program was killed.",
	.usage = "[OPTION...] RECORDING...",
	.description =
		"A recording can be read at any time, also after a crash. This closes what the "
		"program left open, gives back room that it had reserved, and says how many "
		"events were lost. The files are changed in place, and their events stay the "
		"same; what was complete is not changed.",
	.examples = "spur recover out.spur\tall processes of a recording\n",
	.opts = options,
	.own_size = sizeof(struct recover_own),
	.run = recover_run,
};
