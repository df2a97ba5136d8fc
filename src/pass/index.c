/*
 * index: writes a store (store/store.h) of all rows, on all cores: the rows of a feed become items
 * of lanes on the thread that reads them.
 */
#include "pass/index.h"

#include <errno.h>
#include <string.h>

#include "pass/fold/gather.h"
#include "store/cache.h"

struct index_worker {
	struct store_worker *store;
	struct gather gather;
	uint64_t left; /* rows that may still come */
	bool over; /* more came */
};

static bool index_take(void *self, const struct spur_event *rows, size_t n)
{
	const struct index_worker *w = self;

	return store_worker_rows(w->store, rows, n);
}

static bool index_feed_begin(void *self, const struct feed *f)
{
	struct index_worker *w = self;

	w->gather.take = index_take;
	w->gather.self = w;
	return store_worker_begin(w->store, f);
}

static bool index_rows(void *self, struct spur_event *rows, size_t n)
{
	struct index_worker *w = self;

	w->over |= n > w->left;
	w->left -= n;
	return !w->over && store_worker_order(w->store, rows, n) && gather_add(&w->gather, rows, n);
}

static bool index_feed_end(void *self, const struct feed *f)
{
	struct index_worker *w = self;

	(void)f;
	return gather_flush(&w->gather) && store_worker_end(w->store);
}

static const struct pipe_fold fold = { .feed_begin = index_feed_begin,
				       .rows = index_rows,
				       .feed_end = index_feed_end };

enum spur_status index_build_few(struct spur_trace *t, const struct pipe_options *pipe,
				 struct store_writer *writer, uint64_t most, struct spur_error *err)
{
	struct index_worker worker = { .store = store_writer_worker(writer, 0), .left = most };
	void *state = &worker;
	struct pipe_options one = *pipe;
	enum spur_status st;

	one.threads = 1;
	st = pipe_run_feeds(t, &one, &fold, &state);
	gather_free(&worker.gather);
	if (worker.over)
		return SPUR_WARN;
	return st == SPUR_FAIL ? store_writer_failed(writer, err) : st;
}

enum spur_status index_build(struct spur_trace *t, const struct pipe_options *pipe,
			     struct store_writer *writer, struct spur_error *err)
{
	const unsigned n = pipe_workers(t, pipe);
	struct index_worker *workers = mem_array(n, sizeof(*workers));
	void **states = mem_array(n, sizeof(*states));
	enum spur_status st = workers && states ? SPUR_OK : err_nomem(err);

	for (unsigned i = 0; i < n && st != SPUR_FAIL; i++) {
		workers[i].store = store_writer_worker(writer, i);
		workers[i].left = UINT64_MAX;
		states[i] = &workers[i];
	}
	/* What failed, memory or the disk, store_writer_finish() tells. */
	if (st != SPUR_FAIL && pipe_run_feeds(t, pipe, &fold, states) == SPUR_FAIL)
		st = store_writer_failed(writer, err);
	for (unsigned i = 0; i < n && workers; i++)
		gather_free(&workers[i].gather);
	mem_free(states);
	mem_free(workers);
	return st;
}

/* Sets where the store goes: *path, and *dir if that is the cache. */
static enum spur_status index_place(const struct pass_env *env, const char *identity,
				    struct arena *a, const char **dir, const char **path)
{
	*dir = NULL;
	*path = index_options(env)->path;
	if (*path)
		return SPUR_OK;
	*dir = cache_dir(a);
	if (!*dir)
		return err_set(
			env->err, SPUR_ERR_IO,
			"no directory to keep stores in: set XDG_CACHE_HOME or HOME, or name a "
			"file by -o");
	if (!cache_make_dir(*dir))
		return err_set(env->err, SPUR_ERR_IO, "%s: %s", *dir, strerror(errno));
	*path = cache_path(a, *dir, identity);
	return *path ? SPUR_OK : err_nomem(env->err);
}

static void index_say(const struct pass_env *env, const char *path, const struct store *s)
{
	const struct store_facts f = store_facts(s);

	out_safe(env->out, path, strlen(path));
	out_printf(env->out, ": %llu spans, %llu other events, %u lanes\n",
		   (unsigned long long)f.spans, (unsigned long long)f.events, f.lanes);
}

static enum spur_status index_write(struct pass_env *env, const char *path, const char *identity)
{
	struct store_writer *writer;
	enum spur_status st;

	/* SPEC store/same-bytes: the order in which several threads add blocks varies. */
	if (index_options(env)->path)
		env->pipe.threads = 1;
	st = store_writer_new(&writer, env->trace, path, pipe_workers(env->trace, &env->pipe),
			      env->err);
	if (st == SPUR_FAIL)
		return st;
	st = index_build(env->trace, &env->pipe, writer, env->err);
	/* A store of what was read until Ctrl+C would look complete. */
	if (st != SPUR_FAIL && !(env->pipe.stop && *env->pipe.stop)) {
		st = store_writer_finish(writer, identity, env->err);
		env->done = st != SPUR_FAIL;
		if (env->done)
			index_say(env, path, store_writer_view(writer));
	}
	store_writer_free(writer);
	return st;
}

static enum spur_status index_run(struct pass_env *env)
{
	const char *dir = NULL, *path = NULL;
	enum spur_status st = SPUR_OK;
	struct out identity;
	struct arena a;

	arena_init(&a);
	out_to_memory(&identity);
	if (!store_identify_trace(&identity, env->trace))
		st = identity.error || mem_failures()
			     ? err_nomem(env->err)
			     : err_set(env->err, SPUR_ERR_USAGE,
				       "%s: expected a file or directory that is complete, to be "
				       "read again "
				       "when it is looked at",
				       env->trace->path);
	if (st != SPUR_FAIL)
		st = index_place(env, identity.buf, &a, &dir, &path);
	if (st != SPUR_FAIL)
		st = index_write(env, path, identity.buf);
	if (st != SPUR_FAIL && dir)
		cache_trim(dir, cache_limit(), path);
	out_free(&identity);
	arena_free(&a);
	return st;
}

const struct spur_pass spur_pass_index = {
	.name = "index",
	.options_size = sizeof(struct index_options),
	.source_lines = true,
	.run = index_run,
};
