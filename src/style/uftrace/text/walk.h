/*
 * Records in time order for what is not replay: those that are shown, with schedule events as they
 * come, and at the end of all an END for each function that is still open.
 */
#ifndef SPUR_STYLE_UFTRACE_TEXT_WALK_H
#define SPUR_STYLE_UFTRACE_TEXT_WALK_H

#include "style/uftrace/text/task.h"

struct style_walk {
	struct style *s;
	/* A record, not yet consumed; NULL: of no interest. */
	void (*before)(void *self, struct style_task *t, const struct spur_event *row);
	/* A record that is shown; it is consumed. Returns false if out of memory. */
	bool (*record)(void *self, struct style_task *t, const struct spur_event *row);
	/*
	 * Of an open frame, t->count by now, whose times are final. NULL where ends are of no
	 * interest.
	 */
	bool (*end)(void *self, struct style_task *t, const struct style_frame *f, uint64_t time);
	void *self;
	const struct filter *filter; /* whose time range ends what is open; NULL: none does */
	bool plain; /* levels are not limited, and exec() and longjmp() change nothing */
	bool by_own_time; /* what is open ends with its task's last record; see style_walk_end() */
	bool ends_only; /* begins of calls are of no interest to record() */
	bool failed;
};

/* For pipe_run_marked(). */
bool style_walk_rows(void *walk, struct marked_rows rows);
/*
 * SPEC uftrace/open-end: where a task's last record is a perf event, its functions end with the
 * last of all perf events
 */
bool style_walk_end(struct style_walk *w);

#endif
