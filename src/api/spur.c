/* The library's public calls. */
#include <errno.h>
#include <spur.h>
#include <string.h>

#include "base/err.h"
#include "base/os.h"
#include "flow/join.h"
#include "flow/open.h"
#include "flow/pipe.h"
#include "format/format.h"
#include "model/args.h"

static const char *const kind_names[SPUR_KINDS] = {
	[SPUR_BEGIN] = "BEGIN",
	[SPUR_END_SPAN] = "END",
	[SPUR_SPAN] = "SPAN",
	[SPUR_INSTANT] = "INSTANT",
	[SPUR_COUNTER] = "COUNTER",
	[SPUR_ASYNC_BEGIN] = "ASYNC_BEGIN",
	[SPUR_ASYNC_INSTANT] = "ASYNC_INSTANT",
	[SPUR_ASYNC_END] = "ASYNC_END",
	[SPUR_FLOW_BEGIN] = "FLOW_BEGIN",
	[SPUR_FLOW_STEP] = "FLOW_STEP",
	[SPUR_FLOW_END] = "FLOW_END",
	[SPUR_LOG] = "LOG",
	[SPUR_SWITCH] = "SWITCH",
	[SPUR_WAKEUP] = "WAKEUP",
	[SPUR_SAMPLE] = "SAMPLE",
	[SPUR_OBJECT] = "OBJECT",
	[SPUR_BLOB] = "BLOB",
	[SPUR_LOST] = "LOST",
	[SPUR_NATIVE] = "NATIVE",
};

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
	mem_charge(charged);
	if (st != SPUR_FAIL && is_run(t)) {
		st = join_open_run(out, t, strings, err);
		spur_close(t);
		return st;
	}
	if (st == SPUR_FAIL)
		spur_close(t);
	else
		*out = t;
	return st;
}

/* Returns false, with the error set, if an argument that must be given is NULL. */
static bool have_arguments(struct spur_trace **out, const void *path, struct spur_error *err)
{
	*err = (struct spur_error){ 0 };
	if (out)
		*out = NULL;
	if (out && path)
		return true;
	err_set(err, SPUR_ERR_USAGE, "expected %s, found NULL",
		out ? "the path of a trace" : "a place for the trace");
	return false;
}

enum spur_status spur_open(struct spur_trace **out, const char *path,
			   const struct spur_options *opt, struct spur_error *err)
{
	struct spur_error ignored = { 0 };

	err = err ? err : &ignored;
	return have_arguments(out, path, err) ? trace_open(out, path, opt, NULL, err) : SPUR_FAIL;
}

enum spur_status spur_open_several(struct spur_trace **out, const char *const *paths, size_t count,
				   const struct spur_options *opt, struct spur_error *err)
{
	struct spur_error ignored = { 0 };
	bool good;

	err = err ? err : &ignored;
	good = have_arguments(out, paths, err);
	for (size_t i = 0; good && i < count; i++)
		good = have_arguments(out, paths[i], err);
	return good ? join_open(out, paths, count, opt, err) : SPUR_FAIL;
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

void spur_close(struct spur_trace *t)
{
	if (!t)
		return;
	merge_free(t->merge);
	if (t->format && t->state)
		t->format->close(t);
	source_close(t->source);
	trace_free(t);
}

static enum spur_status next_rows(struct spur_trace *t, const struct spur_event **rows,
				  size_t *count)
{
	struct spur_event *r = NULL;
	enum spur_status st;

	if (!t->merge) {
		t->merge = merge_new(t, NULL);
		if (!t->merge)
			return SPUR_FAIL;
	}
	st = merge_next(t->merge, &r, count);
	*rows = r;
	return st;
}

enum spur_status spur_next(struct spur_trace *t, const struct spur_event **rows, size_t *count)
{
	uint64_t *const charged = mem_charge(&t->mem_failures);
	enum spur_status st;

	*rows = NULL;
	*count = 0;
	st = trace_short_of_memory(t) ? SPUR_FAIL : next_rows(t, rows, count);
	mem_charge(charged);
	return st;
}

enum spur_status args_decode(struct spur_trace *t, const struct spur_event *ev,
			     struct spur_args *args)
{
	const struct event_class *c;
	const struct plan *plan;
	const uint8_t *p;
	size_t used;

	args_reset(args);
	if (t->format->args)
		return t->format->args(t, ev, args);
	if (!ev->cls || !t->format->raw)
		return SPUR_OK;
	c = trace_class(t, ev->cls);
	plan = ev->kind == SPUR_END_SPAN ? c->exit : c->entry;
	p = plan ? t->format->raw(t, ev) : NULL;
	return p ? plan_run(plan, p, ev->len, args, &used) : SPUR_OK;
}

enum spur_status spur_args(struct spur_trace *t, const struct spur_event *ev,
			   struct spur_args *args)
{
	uint64_t *const charged = mem_charge(&t->mem_failures);
	const uint64_t failures = mem_failures();
	enum spur_status st = args_decode(t, ev, args);

	if (mem_failures() != failures)
		st = SPUR_FAIL;
	mem_charge(charged);
	return st;
}

const char *spur_string(const struct spur_trace *t, uint32_t id, size_t *len)
{
	return intern_text(t->strings, id, len);
}

const char *spur_kind_name(unsigned kind)
{
	return kind < SPUR_KINDS ? kind_names[kind] : "NATIVE";
}

const char *spur_format_name(const struct spur_trace *t)
{
	return t->format->name;
}

size_t spur_track_count(const struct spur_trace *t)
{
	return __atomic_load_n(&t->ntracks, __ATOMIC_ACQUIRE);
}

const struct spur_track *spur_track(const struct spur_trace *t, uint32_t id)
{
	return id < spur_track_count(t) ? &t->tracks[id / TRACE_TRACK_PAGE][id % TRACE_TRACK_PAGE]
					: NULL;
}

size_t spur_stream_count(const struct spur_trace *t)
{
	return __atomic_load_n(&t->nstreams, __ATOMIC_ACQUIRE);
}

const struct spur_stream *spur_stream(const struct spur_trace *t, uint32_t id)
{
	return id < spur_stream_count(t) ? &t->streams[id] : NULL;
}

size_t spur_damage_count(struct spur_trace *t)
{
	uint64_t *const charged = mem_charge(&t->mem_failures);

	trace_join_diag(t);
	mem_charge(charged);
	return t->joined.ngroups;
}

bool spur_damage(struct spur_trace *t, size_t i, struct spur_damage *out)
{
	const struct diag_group *g;

	if (i >= t->joined.ngroups)
		return false;
	g = &t->joined.groups[i];
	*out = (struct spur_damage){
		.code = g->code,
		.file = g->file,
		.count = g->count,
		.first_offset = g->first_off,
		.bytes_lost = g->bytes_lost,
		.first = g->nkept ? g->kept[0].text : "",
		.is_damage = g->level == DIAG_DAMAGE,
	};
	return true;
}

const char *spur_version(void)
{
	return SPUR_VERSION;
}
