/* Opening, reading and closing traces. */
#include "base/err.h"
#include "flow/join.h"
#include "flow/open.h"
#include "flow/pipe.h"

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

void spur_close(struct spur_trace *t)
{
	trace_close(t);
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
