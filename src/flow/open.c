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
	if (!t->format && s->error->code) {
		*err = *s->error;
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

static struct source_options options_of_source(struct spur_trace *t)
{
	return (struct source_options){ .read_size = t->options.read_size,
					.max_unpacked = t->options.max_unpacked,
					.over = &t->over_limit,
					.follow = t->options.follow,
					.stop = t->options.stop };
}

/* The format that the path of an URL (`url`, or NULL) or the options name; NULL: neither does. */
static enum spur_status choose_format(struct spur_trace *t, const struct spur_format *url,
				      struct spur_error *err)
{
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
	return SPUR_OK;
}

static enum spur_status open_input(struct spur_trace *t, struct spur_error *err)
{
	const struct source_options so = options_of_source(t);
	const struct spur_format *url = format_of_url(t->path);
	const bool is_file = !url && strcmp(t->path, "-") != 0;
	struct stat st;

	if (is_file && os_stat(t->path, &st) != 0)
		return err_set(err, SPUR_ERR_IO, "%s: %s", t->path, strerror(errno));
	if (choose_format(t, url, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (url)
		return SPUR_OK;
	if (is_file && S_ISDIR(st.st_mode))
		return open_directory(t, err);
	if (source_open(&t->source, t->path, &so, err) == SPUR_FAIL)
		return SPUR_FAIL;
	return t->format ? SPUR_OK : probe_stream(t, err);
}

/* Opens bytes or a descriptor, which no path names. */
static enum spur_status open_unnamed(struct spur_trace *t, const struct trace_input *in,
				     struct spur_error *err)
{
	const struct source_options so = options_of_source(t);
	enum spur_status st;

	t->unnamed = true;
	if (t->options.follow)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected the path of a file to follow, found %s", t->path,
			       in->fd < 0 ? "bytes in memory" : "a descriptor");
	if (choose_format(t, NULL, err) == SPUR_FAIL)
		return SPUR_FAIL;
	st = in->fd < 0 ? source_memory(&t->source, t->path, in->data, in->size, &so, err)
			: source_descriptor(&t->source, t->path, in->fd, &so, err);
	if (st == SPUR_FAIL)
		return st;
	return t->format ? SPUR_OK : probe_stream(t, err);
}

/* The input is a directory with the traces of one run. */
static bool is_run(const struct spur_trace *t)
{
	const bool follows = t->options.follow && t->format->follows_dirs;

	return !t->source && t->format->members && !follows && !format_of_url(t->path);
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

/* `in`: NULL if the path names the input. */
static enum spur_status open_any(struct spur_trace *t, const struct trace_input *in,
				 struct spur_error *err)
{
	uint64_t *const charged = mem_charge(&t->mem_failures);
	enum spur_status st = in ? open_unnamed(t, in, err) : open_input(t, err);

	if (st != SPUR_FAIL && !is_run(t))
		st = open_trace(t, err);
	/* Whatever the shortage led to. */
	if (st == SPUR_FAIL && trace_short_of_memory(t))
		err_nomem(err);
	mem_charge(charged);
	return st;
}

/* Returns SPUR_FAIL; the error says at least which trace could not be opened. */
static enum spur_status open_failed(const char *path, struct spur_error *err)
{
	if (err && !err->stream[0])
		err_at(err, path, DIAG_NO_OFF);
	return SPUR_FAIL;
}

enum spur_status trace_open(struct spur_trace **out, const char *path,
			    const struct spur_options *opt, struct intern *strings,
			    struct spur_error *err)
{
	struct spur_trace *t = trace_new(path, opt);
	enum spur_status st;

	*out = NULL;
	if (!t) {
		err_nomem(err);
		return open_failed(path, err);
	}
	if (strings)
		trace_share_strings(t, strings);
	st = open_any(t, NULL, err);
	if (st != SPUR_FAIL && is_run(t)) {
		st = join_open_run(out, t, strings, err);
		trace_close(t);
		return st == SPUR_FAIL ? open_failed(path, err) : st;
	}
	if (st == SPUR_FAIL) {
		trace_close(t);
		return open_failed(path, err);
	}
	*out = t;
	return st;
}

enum spur_status trace_open_input(struct spur_trace **out, const char *name,
				  const struct trace_input *in, const struct spur_options *opt,
				  struct spur_error *err)
{
	struct spur_trace *t = trace_new(name, opt);

	*out = NULL;
	if (t && open_any(t, in, err) != SPUR_FAIL) {
		*out = t;
		return SPUR_OK;
	}
	if (!t)
		err_nomem(err);
	trace_close(t);
	return open_failed(name, err);
}

bool trace_can_reopen(const struct spur_trace *t)
{
	struct stat st;

	if (t->live || t->unnamed || t->options.follow)
		return false;
	/* A packed file is read as a pipe is, but can be read again. */
	return !t->source || t->source->mapped ||
	       (strcmp(t->path, "-") != 0 && os_stat(t->path, &st) == 0 && S_ISREG(st.st_mode));
}

enum spur_status trace_open_again(struct spur_trace **out, const struct spur_trace *t,
				  struct spur_error *err)
{
	const char **paths;
	enum spur_status st;

	*out = NULL;
	if (!trace_can_reopen(t))
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
