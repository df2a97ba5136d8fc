/* Opening, reading and closing traces. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/source.h"
#include "flow/join.h"
#include "flow/open.h"
#include "flow/pipe.h"

/* Empties what the caller gets. Returns false, with the error set, if it is not given. */
static bool begin_open(const char *call, struct spur_trace **out, struct spur_error *err)
{
	*err = (struct spur_error){ .offset = DIAG_NO_OFF };
	if (!out) {
		api_misuse(NULL, err, "%s: expected a place for the trace, found NULL", call);
		return false;
	}
	*out = NULL;
	return true;
}

/* The filter of the options, once the trace is open. */
static enum spur_status end_open(struct spur_trace **out, enum spur_status st,
				 const struct spur_options *opt, struct spur_error *err)
{
	if (st == SPUR_FAIL || !opt->filter)
		return st;
	if (spur_set_filter(*out, opt->filter, err) != SPUR_FAIL)
		return st;
	spur_close(*out);
	*out = NULL;
	return SPUR_FAIL;
}

enum spur_status spur_open(struct spur_trace **out, const char *path,
			   const struct spur_options *opt, struct spur_error *err)
{
	struct spur_error ignored = { 0 };
	struct spur_options full;

	err = err ? err : &ignored;
	if (!begin_open("spur_open", out, err) || api_options(opt, &full, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!path)
		return api_misuse(NULL, err, "spur_open: expected the path of a trace, found NULL");
	return end_open(out, trace_open(out, path, &full, NULL, err), &full, err);
}

enum spur_status spur_open_several(struct spur_trace **out, const char *const *paths, size_t count,
				   const struct spur_options *opt, struct spur_error *err)
{
	struct spur_error ignored = { 0 };
	struct spur_options full;

	err = err ? err : &ignored;
	if (!begin_open("spur_open_several", out, err) || api_options(opt, &full, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!paths)
		return api_misuse(NULL, err, "spur_open_several: expected paths, found NULL");
	for (size_t i = 0; i < count; i++)
		if (!paths[i])
			return api_misuse(NULL, err,
					  "spur_open_several: expected path %zu of %zu, found NULL",
					  i + 1, count);
	return end_open(out, join_open(out, paths, count, &full, err), &full, err);
}

enum spur_status spur_open_memory(struct spur_trace **out, const char *name, const void *data,
				  size_t size, const struct spur_options *opt,
				  struct spur_error *err)
{
	struct trace_input input = { .data = data ? data : "", .size = size, .fd = -1 };
	struct spur_error ignored = { 0 };
	struct spur_options full;

	err = err ? err : &ignored;
	if (!begin_open("spur_open_memory", out, err) || api_options(opt, &full, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!data && size)
		return api_misuse(NULL, err, "spur_open_memory: expected %zu bytes, found NULL",
				  size);
	return end_open(out, trace_open_input(out, name ? name : "-", &input, &full, err), &full,
			err);
}

enum spur_status spur_open_fd(struct spur_trace **out, int fd, const char *name,
			      const struct spur_options *opt, struct spur_error *err)
{
	struct trace_input input = { .fd = fd };
	struct spur_error ignored = { 0 };
	struct spur_options full;

	err = err ? err : &ignored;
	if (!begin_open("spur_open_fd", out, err) || api_options(opt, &full, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (fd < 0)
		return api_misuse(NULL, err, "spur_open_fd: expected a descriptor, found %d", fd);
	return end_open(out, trace_open_input(out, name ? name : "-", &input, &full, err), &full,
			err);
}

void spur_close(struct spur_trace *t)
{
	if (!t)
		return;
	api_state_free(t);
	trace_close(t);
}

static enum spur_status next_rows(struct spur_trace *t, struct api_state *s,
				  const struct spur_event **rows, size_t *count)
{
	struct spur_event *r = NULL;
	enum spur_status st;

	if (!t->merge)
		t->merge = merge_new(t, s->filter);
	st = t->merge ? merge_next(t->merge, &r, count) : SPUR_FAIL;
	*rows = r;
	return st;
}

enum spur_status spur_next(struct spur_trace *t, const struct spur_event **rows, size_t *count)
{
	static const char call[] = "spur_next";
	enum spur_status st = SPUR_FAIL;
	struct api_state *s;
	uint64_t *charged;

	if (!api_given(NULL, call, t, "a trace") || !api_given(t, call, rows, "a place for rows") ||
	    !api_given(t, call, count, "a place for the number of rows"))
		return SPUR_FAIL;
	*rows = NULL;
	*count = 0;
	charged = mem_charge(&t->mem_failures);
	s = api_state(t);
	if (s && s->reading != API_UNREAD && s->reading != API_MERGED) {
		mem_charge(charged);
		return api_misuse(t, NULL, "%s: expected a trace that is read by this call alone",
				  call);
	}
	if (s && !trace_short_of_memory(t)) {
		s->reading = API_MERGED;
		st = next_rows(t, s, rows, count);
	}
	if (st == SPUR_FAIL) {
		*rows = NULL;
		*count = 0;
		api_no_memory(t, NULL);
	}
	mem_charge(charged);
	return st;
}
