/* spur snapshot: copies a recording that is going on. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "cli/output.h"
#include "cli/report_diag.h"
#include "cli/run.h"
#include "recorder/running.h"

enum { NAMES = 10000 };

/* What to copy. */
struct choice {
	const char *dir; /* of the recording; NULL: `file` alone */
	const char *file;
};

/* What was copied. */
struct sums {
	uint64_t files, running;
};

/* --- what to copy --- */

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")] && strlen(text) < 10;
}

/* The processes that record, one recording a line. */
static void list_recordings(const struct running_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		say("%s: process %d, %s", l->items[i].dir, (int)l->items[i].pid,
		    l->items[i].program);
}

/* Chooses the only recording that is going on. */
static enum spur_status choose_running(struct values *v, struct choice *c)
{
	enum spur_status st = SPUR_OK;
	struct running_list l;

	if (running_find(&l, 0, false, &v->err) == SPUR_FAIL) {
		running_free(&l);
		return SPUR_FAIL;
	}
	for (size_t i = 1; i < l.count && st == SPUR_OK; i++)
		if (strcmp(l.items[i].dir, l.items[0].dir) != 0) {
			list_recordings(&l);
			st = err_set(&v->err, SPUR_ERR_USAGE,
				     "expected one recording that is going on, found several: "
				     "name one of them");
		}
	if (!l.count)
		st = err_set(&v->err, SPUR_ERR_USAGE,
			     "expected a recording that is going on, found none");
	if (st == SPUR_OK) {
		c->dir = arena_strdup(&v->arena, l.items[0].dir, strlen(l.items[0].dir));
		st = c->dir ? SPUR_OK : err_nomem(&v->err);
	}
	running_free(&l);
	return st;
}

static enum spur_status choose_process(struct values *v, const char *text, struct choice *c)
{
	enum spur_status st = SPUR_OK;
	struct running_list l;

	if (running_find(&l, (pid_t)strtol(text, NULL, 10), false, &v->err) == SPUR_FAIL) {
		st = SPUR_FAIL;
	} else if (!l.count) {
		st = err_set(&v->err, SPUR_ERR_USAGE,
			     "process %s: expected one that records, found %s", text,
			     os_kill((pid_t)strtol(text, NULL, 10), 0) != 0 && errno == ESRCH
				     ? "no such process"
				     : "no recording of it");
	} else {
		c->file = arena_strdup(&v->arena, l.items[0].file, strlen(l.items[0].file));
		st = c->file ? SPUR_OK : err_nomem(&v->err);
	}
	running_free(&l);
	return st;
}

static enum spur_status choose(struct values *v, struct choice *c)
{
	const char *const name = v->noperands ? v->operands[0] : NULL;
	struct stat st;

	if (!name)
		return choose_running(v, c);
	if (os_stat(name, &st) != 0)
		return is_number(name) ? choose_process(v, name, c)
				       : err_set(&v->err, SPUR_ERR_IO, "%s: %s", name,
						 strerror(errno));
	if (S_ISDIR(st.st_mode))
		c->dir = name;
	else
		c->file = name;
	return SPUR_OK;
}

/* --- the output --- */

/* NAME-snapshot.spur, NAME-snapshot-2.spur, ... in the working directory: the first new one. */
static const char *output_name(struct values *v, const struct choice *c)
{
	char whole[4096];
	const char *const path =
		os_realpath(c->dir ? c->dir : c->file, whole) ? whole : "recording";
	const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
	const char *const point = strrchr(name, '.');
	const int len = (int)(point && point > name ? (size_t)(point - name) : strlen(name));

	for (unsigned i = 1; i < NAMES; i++) {
		const char *const out =
			i == 1 ? arena_printf(&v->arena, "%.*s-snapshot.spur", len, name)
			       : arena_printf(&v->arena, "%.*s-snapshot-%u.spur", len, name, i);

		if (!out || os_access(out, F_OK) != 0)
			return out;
	}
	return NULL;
}

static enum spur_status copy_file(const char *path, struct outdir *d, struct sums *sums,
				  struct spur_error *err)
{
	static uint8_t head[PROBE_BYTES];
	struct probe p = { .path = path, .head = head };
	const ssize_t got = file_head(path, FILE_REGULAR, head, sizeof(head));
	struct format_snapshot r = { 0 };
	const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
	const struct spur_format *format;
	enum spur_status st;
	struct out o;

	if (got < 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
	p.len = (size_t)got;
	format = format_probe(&p, err);
	if (!format || !format->snapshot)
		return format ? err_set(err, SPUR_ERR_USAGE,
					"%s: expected a recording of Spur, found format %s", path,
					format->name)
			      : SPUR_FAIL;
	st = outdir_create(d, name, &o, err);
	if (st == SPUR_OK)
		st = format->snapshot(path, o.fd, &r, err);
	if (outdir_finish(d, name, &o, st == SPUR_OK ? err : NULL) == SPUR_FAIL)
		st = SPUR_FAIL;
	sums->files++;
	sums->running += r.runs;
	return st;
}

static enum spur_status copy_members(const char *dir, struct outdir *d, struct sums *sums,
				     struct spur_error *err)
{
	struct probe p = { .path = dir, .is_dir = true, .head = (const uint8_t *)"" };
	const struct spur_format *const format = format_probe(&p, err);
	const char *const *paths;
	enum spur_status st;
	struct arena a;
	size_t n = 0;

	if (!format || !format->snapshot || !format->members)
		return format ? err_set(err, SPUR_ERR_USAGE,
					"%s: expected a recording of Spur, found format %s", dir,
					format->name)
			      : SPUR_FAIL;
	arena_init(&a);
	st = format->members(dir, &a, &paths, &n, err);
	for (size_t i = 0; i < n && st == SPUR_OK; i++)
		st = copy_file(paths[i], d, sums, err);
	arena_free(&a);
	return st;
}

static int snapshot_run(const struct spur_cmd *cmd, struct values *v)
{
	struct choice c = { NULL, NULL };
	struct output o = { 0 };
	struct sums sums = { 0 };
	enum spur_status st;

	if (v->noperands > 1)
		err_set(&v->err, SPUR_ERR_USAGE, "expected one recording: spur %s %s", cmd->name,
			cmd->usage);
	if (v->err.code || choose(v, &c) == SPUR_FAIL)
		return run_error(&v->err);
	if (!v->output)
		v->output = output_name(v, &c);
	if (!v->output) {
		err_nomem(&v->err);
		return run_error(&v->err);
	}
	st = output_open_dir(&o, v->output, v->force, &v->err);
	if (st == SPUR_OK)
		st = output_spare(&o, c.dir ? c.dir : c.file, &v->err);
	if (st == SPUR_OK)
		st = c.dir ? copy_members(c.dir, &o.dir, &sums, &v->err)
			   : copy_file(c.file, &o.dir, &sums, &v->err);
	if (output_close(&o, st == SPUR_OK, st == SPUR_OK ? &v->err : NULL) == SPUR_FAIL)
		st = SPUR_FAIL;
	if (st == SPUR_FAIL)
		return run_error(&v->err);
	if (!v->quiet)
		say("%s: %llu process%s, %llu running; to see it: spur report %s", v->output,
		    (unsigned long long)sums.files, sums.files == 1 ? "" : "es",
		    (unsigned long long)sums.running, v->output);
	return EXIT_CLEAN;
}

static const struct opt options[] = {
	{ .name = "output",
	  .letter = 'o',
	  .type = OPT_STRING,
	  OPT_COMMON(output),
	  .arg = "DIR",
	  .help = "Write the snapshot to this new directory (default: NAME-snapshot.spur, or a "
		  "name with the first number that is free)" },
	{ .name = "force",
	  .letter = 'y',
	  .type = OPT_FLAG,
	  OPT_COMMON(force),
	  .help = "Let -o replace a recording" },
	{ 0 }
};

const struct spur_cmd spur_cmd_snapshot = {
	.name = "snapshot",
	.summary = "Copy a recording that is going on, without disturbing it.",
	.usage = "[OPTION...] [RECORDING|PID]",
	.description =
		"Copies what a recording has at this moment into a recording of its own. Nothing "
		"is asked of the recorded programs, so that one that hangs is copied too. Of a "
		"ring (spur record --ring, SPUR_TRACE_MODE=ring) it has the last events of each "
		"thread; of a stream or oneshot all so far.\n"
		"A process id stands for the file of that process. Without an operand the only "
		"recording that is going on is copied; if there are several, they are listed.",
	.examples = "spur snapshot\tthe recording that is going on\n"
		    "spur snapshot -o slow.spur prog.spur\tthis one\n"
		    "spur snapshot 4711\tof this process\n",
	.opts = options,
	.run = snapshot_run,
};
