/* See summary.h. */
#include "recorder/summary.h"

#include <errno.h>
#include <string.h>

#include "base/os.h"
#include "flow/open.h"
#include "flow/pipe.h"
#include "format/spur/wire.h"

enum {
	READINGS = 1000, /* of the clock, for the estimate of an event's cost */
	ROUNDS = 9, /* of them the quickest counts, as others may have been interrupted */
	STORE_PS = 1500, /* picoseconds of storing an event, beside reading the clock */
};

/* SPEC spur/observed: beside the file of the process itself. */
static bool is_observed(const char *name)
{
	const char *const system = strstr(name, ".system.");

	return system && strcmp(strrchr(name, '.'), ".spb") == 0;
}

/* SPEC spur/header: a process that ended before it could record leaves a file without one. */
static bool has_header(DIR *dir, const char *name)
{
	const int fd = os_openat(dirfd(dir), name, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	uint64_t magic = 0;

	if (fd < 0)
		return false;
	if (os_pread(fd, &magic, sizeof(magic), 0) < 0)
		magic = 0;
	os_close(fd);
	return magic == SPB_MAGIC;
}

/* Adds up the files of processes. Returns false if no process recorded. */
static bool add_files(struct summary *s, const char *path)
{
	DIR *const dir = os_opendir(path);
	const struct dirent *e;

	while (dir && (e = os_readdir(dir))) {
		const size_t len = strlen(e->d_name);
		struct stat st;

		if (len > 4 && strcmp(e->d_name + len - 4, ".spb") == 0 &&
		    os_fstatat(dirfd(dir), e->d_name, &st, 0) == 0) {
			const bool headed = has_header(dir, e->d_name);

			s->files += headed && !is_observed(e->d_name);
			s->without += !headed;
			s->bytes += (uint64_t)st.st_blocks * 512;
		}
	}
	if (dir)
		os_closedir(dir);
	return s->files != 0;
}

/* --- events --- */

struct count {
	const struct spur_trace *trace;
	uint64_t events, lost;
	uint64_t observed; /* events that the recorder stored, at no cost to the program */
};

static bool count_rows(void *self, struct spur_event *rows, size_t n)
{
	struct count *const c = self;
	const struct spur_stream *const file = n ? trace_stream(c->trace, rows[0].stream) : NULL;

	for (size_t i = 0; i < n; i++)
		if (rows[i].kind == SPUR_LOST)
			c->lost += (uint64_t)rows[i].id;
	c->events += n;
	c->observed += file && is_observed(file->path) ? n : 0;
	return true;
}

/* *observed: of these events, how many the recorder stored itself. */
static enum spur_status count_events(struct summary *s, struct spur_trace *t, uint64_t *observed,
				     struct spur_error *err)
{
	const struct pipe_options options = { .any_order = true };
	const struct pipe_fold fold = { .rows = count_rows };
	const unsigned n = pipe_workers(t, &options);
	struct count *counts = mem_array(n, sizeof(*counts));
	void **states = mem_array(n, sizeof(void *));
	enum spur_status st = SPUR_FAIL;

	for (unsigned i = 0; counts && states && i < n; i++) {
		counts[i].trace = t;
		states[i] = &counts[i];
	}
	if (counts && states)
		st = pipe_run_feeds(t, &options, &fold, states);
	for (unsigned i = 0; st != SPUR_FAIL && i < n; i++) {
		s->events += counts[i].events;
		s->lost += counts[i].lost;
		*observed += counts[i].observed;
	}
	mem_free(states);
	mem_free(counts);
	return st == SPUR_FAIL ? err_nomem(err) : SPUR_OK;
}

/* --- cost --- */

static int64_t now_ns(void)
{
	struct timespec t = { 0 };

	os_clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Reading the clock is most of an event's cost, and differs between machines. */
static int64_t estimate(uint64_t events)
{
	int64_t least = INT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		const int64_t begin = now_ns();
		int64_t took;

		for (int i = 0; i < READINGS; i++) {
#if defined(__x86_64__)
			__builtin_ia32_rdtsc();
			__asm__ volatile("");
#else
			now_ns();
#endif
		}
		took = now_ns() - begin;
		least = took < least ? took : least;
	}
	return (int64_t)(((unsigned __int128)(uint64_t)least * 1000 / READINGS + STORE_PS) *
			 events / 1000);
}

enum spur_status summary_read(struct summary *s, const char *path, struct spur_error *err)
{
	const struct spur_options options = SPUR_OPTIONS();
	struct spur_trace *t = NULL;
	uint64_t observed = 0;
	enum spur_status st;

	*s = (struct summary){ 0 };
	if (!add_files(s, path))
		return SPUR_WARN;
	if (trace_open(&t, path, &options, NULL, err) == SPUR_FAIL)
		return SPUR_FAIL;
	st = count_events(s, t, &observed, err);
	for (uint32_t i = 0; i < trace_track_count(t); i++)
		s->threads += trace_track_kind(t, i) == SPUR_TRACK_THREAD;
	s->cost_ns = estimate(s->events - observed);
	trace_close(t);
	return st;
}
