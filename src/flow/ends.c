/* See ends.h. */
#include "flow/ends.h"

#include "flow/join.h"

enum { PARENTS = 64 };

/* The top track that stands for the recording that the track is of. */
static uint32_t recording_of(const struct spur_trace *t, uint32_t track)
{
	for (int i = 0; i < PARENTS; i++) {
		const struct spur_track *k = trace_track(t, track);

		if (!k || k->parent == SPUR_NONE)
			break;
		track = k->parent;
	}
	return join_recording(t, track);
}

void ends_begin(struct ends *e, const struct spur_trace *t)
{
	e->trace = t;
	e->last = INT64_MIN;
	for (size_t i = 0; i < e->ntops; i++)
		e->of_top[i] = INT64_MIN;
}

void ends_free(struct ends *e)
{
	mem_free(e->of_top);
	mem_free(e->tops);
	*e = (struct ends){ 0 };
}

/* Returns the place of the track's recording in `of_top`; NULL if out of memory. */
static int64_t *end_place(struct ends *e, uint32_t track)
{
	const size_t before = e->ntops;
	uint32_t top;

	if (track >= e->ntracks && !mem_grow((void **)&e->tops, &e->ntracks, (size_t)track + 1,
					     sizeof(*e->tops), SIZE_MAX / 16))
		return NULL;
	if (!e->tops[track])
		e->tops[track] = recording_of(e->trace, track) + 1;
	top = e->tops[track] - 1;
	if (top >= e->ntops && !mem_grow((void **)&e->of_top, &e->ntops, (size_t)top + 1,
					 sizeof(*e->of_top), SIZE_MAX / 16))
		return NULL;
	for (size_t i = before; i < e->ntops; i++)
		e->of_top[i] = INT64_MIN;
	return &e->of_top[top];
}

bool ends_apart(struct ends *e, const struct spur_event *rows, size_t n)
{
	int64_t *at = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!i || rows[i].track != rows[i - 1].track)
			at = end_place(e, rows[i].track);
		if (!at)
			return false;
		*at = rows[i].ts;
	}
	return true;
}

int64_t ends_of(const struct ends *e, uint32_t track)
{
	int64_t last = INT64_MIN;

	if (track < e->ntracks && e->tops[track])
		last = e->of_top[e->tops[track] - 1];
	return last == INT64_MIN ? e->last : last;
}
