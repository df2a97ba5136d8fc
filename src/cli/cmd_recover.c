/* spur recover: completes recordings whose program was killed. */
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "base/source.h"
#include "cli/output.h"
#include "cli/report_diag.h"
#include "cli/run.h"
#include "pass/cut.h"

struct recover_own {
	bool force, remove;
	const char *memory;
};

/* What is recovered, and where. */
struct recover {
	struct values *v;
	const struct recover_own *own;
	const struct spur_format *format;
	const char *path;
	const char *to; /* the copy of a file that is completed; NULL: the file itself */
	struct out *out;
};

/* The worse of two exit codes. */
static int worse(int a, int b)
{
	return a > b ? a : b;
}

/* Says what was done with a file. */
static void say_file(const struct recover *k, const struct format_recovery *r)
{
	out_safe(k->out, k->path, strlen(k->path));
	if (r->complete)
		out_str(k->out, ": was complete");
	else
		out_printf(k->out,
			   ": completed: %llu open chunks closed, %llu unused bytes dropped",
			   (unsigned long long)r->closed, (unsigned long long)r->dropped);
	out_printf(k->out, ", %llu events lost\n", (unsigned long long)r->lost);
}

/* Says what was done with a directory. */
static void say_dir(const struct recover *k, const struct format_recovery *r)
{
	const unsigned long long added = r->added, buffers = r->buffers, threads = r->threads;

	out_safe(k->out, k->path, strlen(k->path));
	if (!buffers)
		out_str(k->out, ": nothing was left in shared memory\n");
	else if (k->format->recovers == RECOVERS_COPY)
		out_printf(k->out,
			   ": %llu bytes of %llu packets left in the ring buffers of %llu "
			   "streams\n",
			   added, buffers, threads);
	else
		out_printf(k->out,
			   ": completed: %llu bytes of %llu buffers added to %llu threads, %llu "
			   "torn bytes dropped, %llu events lost before them\n",
			   added, buffers, threads, (unsigned long long)r->dropped,
			   (unsigned long long)r->lost);
}

/* Returns the exit code. */
static int recover_at(const struct recover *k, struct format_recovery *r)
{
	struct spur_error err = { 0 };

	r->force = k->own->force;
	r->remove = k->own->remove;
	r->memory = k->own->memory;
	if (k->format->recover(k->to ? k->to : k->path, r, &err) == SPUR_FAIL)
		return run_error(&err);
	if (r->runs && !r->force) {
		say("%s: process %lld still runs: not changed; --force completes what is there",
		    k->path, (long long)r->pid);
		return EXIT_DIFFERENT;
	}
	if (k->format->recovers != RECOVERS_FILE)
		say_dir(k, r);
	else
		say_file(k, r);
	if (!r->bad)
		return EXIT_CLEAN;
	say("%s: %llu buffers of shared memory with %llu bytes cannot be read: not added", k->path,
	    (unsigned long long)r->bad, (unsigned long long)r->bad_bytes);
	return EXIT_DAMAGED;
}

static int recover_file(struct recover *k, const char *path, const char *to)
{
	struct format_recovery r = { .force = false };

	k->path = path;
	k->to = to;
	return recover_at(k, &r);
}

/* --- copies of files, which are completed instead of them --- */

static enum spur_status copy_file(const char *path, struct out *o, struct spur_error *err)
{
	struct source *src;

	if (source_open(&src, path, NULL, err) == SPUR_FAIL)
		return SPUR_FAIL;
	source_need(src, UINT64_MAX);
	out_bytes(o, src->data, src->size);
	source_close(src);
	return SPUR_OK;
}

/* A copy of a file. Returns the exit code. */
static int recover_copy(struct recover *k, const char *path)
{
	struct values *const v = k->v;
	struct output o;
	bool good = output_open(&o, v->output, v->force, &v->err) != SPUR_FAIL &&
		    output_spare(&o, path, &v->err) != SPUR_FAIL &&
		    copy_file(path, &o.out, &v->err) != SPUR_FAIL;
	int code = EXIT_CLEAN;

	if (good && (!o.temp || !out_flush(&o.out))) {
		good = false;
		err_set(&v->err, o.temp ? SPUR_ERR_IO : SPUR_ERR_USAGE, "%s: %s", v->output,
			o.temp ? strerror(o.out.error) : "expected the name of a new file");
	}
	if (good)
		code = recover_file(k, path, o.temp);
	if (output_close(&o, good && code == EXIT_CLEAN, good ? &v->err : NULL) == SPUR_FAIL)
		good = false;
	return good ? code : run_error(&v->err);
}

/* A copy of a file of a directory, in that of the copies. Returns the exit code. */
static int recover_copy_in(struct recover *k, const char *path, struct outdir *dir)
{
	struct values *const v = k->v;
	const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
	const char *const to = arena_printf(&v->arena, "%s/%s", dir->temp, name);
	struct out o;
	bool good;

	if (!to) {
		err_nomem(&v->err);
		return run_error(&v->err);
	}
	good = outdir_create(dir, name, &o, &v->err) != SPUR_FAIL &&
	       copy_file(path, &o, &v->err) != SPUR_FAIL;
	if (outdir_finish(dir, name, &o, good ? &v->err : NULL) == SPUR_FAIL)
		good = false;
	return good ? recover_file(k, path, to) : run_error(&v->err);
}

/* The files of a directory: themselves, or in `dir` if that is open. Returns the exit code. */
static int recover_members(struct recover *k, const char *path, struct outdir *dir)
{
	struct values *const v = k->v;
	const char *const *paths;
	size_t n = 0;
	int code = EXIT_CLEAN;

	if (k->format->members(path, &v->arena, &paths, &n, &v->err) == SPUR_FAIL)
		return run_error(&v->err);
	for (size_t i = 0; i < n; i++)
		code = worse(code, dir ? recover_copy_in(k, paths[i], dir)
				       : recover_file(k, paths[i], NULL));
	return code;
}

static int recover_members_copy(struct recover *k, const char *path)
{
	struct values *const v = k->v;
	struct output o = { .force = false };
	bool good = run_output_dir(v, &o) != SPUR_FAIL &&
		    output_spare(&o, path, &v->err) != SPUR_FAIL;
	int code = good ? recover_members(k, path, &o.dir) : EXIT_CLEAN;
	const bool keep = good && code == EXIT_CLEAN;

	if (output_close(&o, keep, keep ? &v->err : NULL) == SPUR_FAIL)
		good = false;
	return good ? code : run_error(&v->err);
}

/* --- directories, of which a clean copy is written --- */

/* Says what the copy has. */
static int say_copy(const struct recover *k)
{
	struct spur_trace *t = NULL;
	const struct spur_event *rows;
	unsigned long long events = 0;
	enum spur_status st;
	size_t n;

	if (spur_open(&t, k->v->output, NULL, &k->v->err) == SPUR_FAIL)
		return run_error(&k->v->err);
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			events += rows[i].kind != SPUR_LOST;
	out_safe(k->out, k->v->output, strlen(k->v->output));
	out_printf(k->out, ": %llu events, %llu lost\n", events,
		   (unsigned long long)t->read.discarded);
	spur_close(t);
	return EXIT_CLEAN;
}

/* Writes a clean copy of what a crash left. Returns the exit code. */
static int recover_clean(const struct recover *k, const char *path)
{
	const struct cut_options cut = { .repair = true };
	const char **const traces = arena_alloc(&k->v->arena, sizeof(*traces));
	int code;

	if (!traces) {
		err_nomem(&k->v->err);
		return run_error(&k->v->err);
	}
	traces[0] = path;
	k->v->traces = traces;
	k->v->ntraces = 1;
	k->v->shown = k->path;
	code = run_pass(k->v, &(struct run_request){ .pass = "cut",
						     .options = { RUN_OPTIONS(NULL, &cut) },
						     .is_copy = true });
	return code == EXIT_CLEAN || code == EXIT_DAMAGED ? worse(code, say_copy(k)) : code;
}

/* Completes a directory in another one, of which a clean copy is written. */
static int recover_beside(struct recover *k, const char *path)
{
	struct values *const v = k->v;
	struct format_recovery r = { .force = false };
	struct output o = { .force = false };
	int code;

	if (run_output_dir(v, &o) == SPUR_FAIL || output_spare(&o, path, &v->err) == SPUR_FAIL) {
		output_close(&o, false, NULL);
		return run_error(&v->err);
	}
	r.to = o.dir.temp;
	code = recover_at(k, &r);
	if (code == EXIT_CLEAN || code == EXIT_DAMAGED)
		code = worse(code, recover_clean(k, r.to));
	/* It has served its purpose. */
	output_close(&o, false, NULL);
	return code;
}

static int recover_dir(struct recover *k, const char *path)
{
	const bool counts = k->format->recovers == RECOVERS_COPY && !k->own->memory;
	struct format_recovery r = { .force = false };
	int code;

	k->path = path;
	if (k->v->output && !counts)
		return recover_beside(k, path);
	code = recover_at(k, &r);
	if (k->v->output && (code == EXIT_CLEAN || code == EXIT_DAMAGED))
		code = worse(code, recover_clean(k, path));
	return code;
}

/* --- what an operand is --- */

/* Finds the format. Returns false, with the error set, if there is nothing to recover. */
static bool find_format(struct recover *k, const char *path, bool *is_dir)
{
	static uint8_t head[PROBE_BYTES];
	struct probe p = { .path = path, .head = head };
	struct spur_error *const err = &k->v->err;
	struct stat st;
	ssize_t got = 0;

	if (os_stat(path, &st) == 0)
		p.is_dir = S_ISDIR(st.st_mode);
	else
		got = -1;
	if (!got && !p.is_dir)
		got = file_head(path, FILE_REGULAR, head, sizeof(head));
	if (got < 0) {
		err_set(err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
		return false;
	}
	p.len = (size_t)got;
	*is_dir = p.is_dir;
	k->format = format_probe(&p, err);
	return k->format != NULL;
}

/* Returns false, with the error set, if the format has nothing that would recover the trace. */
static bool can_recover(const struct recover *k, const char *path, bool is_dir)
{
	struct spur_error *const err = &k->v->err;
	const struct spur_format *const f = k->format;

	if (!f->recover)
		err_set(err, SPUR_ERR_USAGE,
			"%s: expected a recording of Spur, uftrace or LTTng, found format %s; see "
			"spur repair",
			path, f->name);
	else if (f->recovers != RECOVERS_FILE && !is_dir)
		err_set(err, SPUR_ERR_USAGE,
			"%s: expected a directory, found a file; see spur repair", path);
	else if (f->recovers == RECOVERS_COPY && !k->v->output)
		err_set(err, SPUR_ERR_USAGE,
			"%s: format %s is recovered in a copy: expected -o OUT", path, f->name);
	else
		return true;
	return false;
}

static int recover_path(struct recover *k, const char *path)
{
	const bool copies = k->v->output;
	bool is_dir;

	if (!find_format(k, path, &is_dir) || !can_recover(k, path, is_dir))
		return run_error(&k->v->err);
	if (k->format->recovers != RECOVERS_FILE)
		return recover_dir(k, path);
	if (is_dir)
		return copies ? recover_members_copy(k, path) : recover_members(k, path, NULL);
	return copies ? recover_copy(k, path) : recover_file(k, path, NULL);
}

static int recover_run(const struct spur_cmd *cmd, struct values *v)
{
	const struct recover_own *own = v->own;
	struct recover k = { .v = v, .own = own };
	int code = EXIT_CLEAN;
	struct output o;

	(void)cmd;
	v->force = own->force;
	if (!v->noperands || (v->output && v->noperands > 1)) {
		err_set(&v->err, SPUR_ERR_USAGE,
			v->noperands ? "-o: expected one recording, found several"
				     : "expected a recording; see spur recover -h");
		return run_error(&v->err);
	}
	if (output_open(&o, NULL, false, &v->err) == SPUR_FAIL) {
		output_close(&o, false, NULL);
		return run_error(&v->err);
	}
	k.out = &o.out;
	for (size_t i = 0; i < v->noperands; i++)
		code = worse(code, recover_path(&k, v->operands[i]));
	return output_close(&o, true, &v->err) == SPUR_FAIL ? run_error(&v->err) : code;
}

static const struct opt options[] = {
	{ .name = "force",
	  .letter = 'y',
	  .type = OPT_FLAG,
	  OPT_OWN(struct recover_own, force),
	  .help = "Also complete recordings whose process still runs, and let -o replace what "
		  "exists" },
	{ .name = "shm",
	  .type = OPT_STRING,
	  OPT_OWN(struct recover_own, memory),
	  .arg = "DIR",
	  .help = "Take left-over buffers from DIR: for uftrace a copy of /dev/shm, for LTTng "
		  "the directory of --shm-path" },
	{ .name = "remove",
	  .type = OPT_FLAG,
	  OPT_OWN(struct recover_own, remove),
	  .help = "Remove buffers of uftrace from shared memory when their data is stored" },
	{ 0 }
};

const struct spur_cmd spur_cmd_recover = {
	.name = "recover",
	.summary = "Complete recordings whose program was killed.",
	.usage = "[OPTION...] RECORDING...",
	.description =
		"A recording of Spur can be read at any time, also after a crash. This closes what "
		"the program left open, gives back room that it had reserved, and says how many "
		"events were lost. The files are changed in place, or with -o in a copy, and their "
		"events stay the same; what was complete is not changed.\n"
		"If uftrace was killed together with its program, the last records of each thread "
		"are still in shared memory. They are added to the data directory; with -o, a "
		"clean copy of it is written, which uftrace reads too.\n"
		"For an LTTng session that was created with --shm-path, name that directory: -o "
		"writes a trace of what is left in it. With --shm DIR, name the session's own "
		"trace: both are written as one.",
	.examples = "spur recover out.spur\tall processes of a recording\n"
		    "spur recover uftrace.data -o whole\ta clean copy, with what is in "
		    "/dev/shm\n",
	.opts = options,
	.own_size = sizeof(struct recover_own),
	.run = recover_run,
};
