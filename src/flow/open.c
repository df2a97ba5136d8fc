/* See open.h. */
#include "flow/open.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/os.h"
#include "flow/join.h"
#include "flow/pipe.h"
#include "format/format.h"

/* Probes as soon as bytes are there, so that a live pipe need not fill the whole window first. */
static enum spur_status probe_stream(struct spur_trace *t, struct spur_error *err)
{
	struct source *s = t->source;

	for (;;) {
		struct probe p = { .path = t->path, .head = s->data };
		bool more = s->size < PROBE_BYTES && source_more(s);

		p.head = s->data;
		p.len = s->size < PROBE_BYTES ? s->size : PROBE_BYTES;
		t->format = format_probe(&p, err);
		if (t->format || !more)
			break;
	}
	if (!t->format && s->error.code) {
		*err = s->error;
		return SPUR_FAIL;
	}
	return t->format ? SPUR_OK : SPUR_FAIL;
}

static enum spur_status open_directory(struct spur_trace *t, struct spur_error *err)
{
	const struct probe p = { .path = t->path, .is_dir = true };

	if (os_access(t->path, R_OK | X_OK) != 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", t->path, strerror(errno));
	if (!t->format)
		t->format = format_probe(&p, err);
	if (!t->format)
		return SPUR_FAIL;
	if (t->options.follow && !t->format->follows_dirs)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected a file or a pipe to follow, found a directory",
			       t->path);
	return SPUR_OK;
}

static enum spur_status open_input(struct spur_trace *t, struct spur_error *err)
{
	const struct source_options so = { .read_size = t->options.read_size,
					   .max_unpacked = t->options.max_unpacked,
					   .over = &t->over_limit,
					   .follow = t->options.follow,
					   .stop = t->options.stop };
	const struct spur_format *url = format_of_url(t->path);
	const bool is_file = !url && strcmp(t->path, "-") != 0;
	struct stat st;

	if (is_file && os_stat(t->path, &st) != 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", t->path, strerror(errno));
	t->format = url;
	if (t->options.format) {
		t->format = format_find(t->options.format);
		if (!t->format)
			return err_set(err, SPUR_ERR_USAGE, "no format named \"%s\"",
				       t->options.format);
	}
	if (url && t->format != url)
		return err_set(err, SPUR_ERR_USAGE, "%s: expected the format %s, found --format=%s",
			       t->path, url->name, t->format->name);
	if (url)
		return SPUR_OK;
	if (is_file && S_ISDIR(st.st_mode))
		return open_directory(t, err);
	if (source_open(&t->source, t->path, &so, err) == SPUR_FAIL)
		return SPUR_FAIL;
	return t->format ? SPUR_OK : probe_stream(t, err);
}

/* The input is a directory with the traces of one run. */
static bool is_run(const struct spur_trace *t)
{
	return !t->source && t->format->members && !format_of_url(t->path);
}

static enum spur_status open_trace(struct spur_trace *t, struct spur_error *err)
{
	if (t->format->open(t, t->source, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (trace_short_of_memory(t))
		return err_nomem(err);
	t->ntracks_open = t->ntracks;
	return SPUR_OK;
}

enum spur_status trace_open(struct spur_trace **out, const char *path,
			    const struct spur_options *opt, struct intern *strings,
			    struct spur_error *err)
{
	struct spur_trace *t = trace_new(path, opt);
	uint64_t *charged;
	enum spur_status st;

	*out = NULL;
	if (!t)
		return err_nomem(err);
	if (strings)
		trace_share_strings(t, strings);
	charged = mem_charge(&t->mem_failures);
	st = open_input(t, err);
	if (st != SPUR_FAIL && !is_run(t))
		st = open_trace(t, err);
	/* Whatever the shortage led to. */
	if (st == SPUR_FAIL && trace_short_of_memory(t))
		err_nomem(err);
	mem_charge(charged);
	if (st != SPUR_FAIL && is_run(t)) {
		st = join_open_run(out, t, strings, err);
		trace_close(t);
		return st;
	}
	if (st == SPUR_FAIL)
		trace_close(t);
	else
		*out = t;
	return st;
}

static bool can_reopen(const struct spur_trace *t)
{
	return !t->live && (!t->source || t->source->mapped);
}

enum spur_status trace_open_again(struct spur_trace **out, const struct spur_trace *t,
				  struct spur_error *err)
{
	const char **paths;
	enum spur_status st;

	*out = NULL;
	if (!can_reopen(t))
		return SPUR_WARN;
	if (!t->nparts || t->one_run)
		return trace_open(out, t->path, &t->options, NULL, err);
	paths = mem_array(t->nparts, sizeof(*paths));
	if (!paths)
		return err_nomem(err);
	for (size_t i = 0; i < t->nparts; i++)
		paths[i] = t->parts[i].trace->path;
	st = join_open(out, paths, t->nparts, &t->options, err);
	mem_free(paths);
	return st;
}

enum trace_renewal trace_take_renewal(struct spur_trace *t)
{
	struct source *s = t->source;
	enum trace_renewal r;
	struct stat st;

	if (!t->options.follow || !s || strcmp(t->path, "-") == 0 || !(s->replaced || s->cut) ||
	    os_stat(t->path, &st) != 0 || !S_ISREG(st.st_mode))
		return TRACE_SAME;
	r = s->cut ? TRACE_CUT : TRACE_REPLACED;
	s->cut = s->replaced = false;
	return r;
}

void trace_close(struct spur_trace *t)
{
	if (!t)
		return;
	merge_free(t->merge);
	if (t->format && t->state)
		t->format->close(t);
	source_close(t->source);
	trace_free(t);
}
