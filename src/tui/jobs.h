/*
 * What takes longer than a key may: a thread answers one request after another out of the store.
 * Of each kind there is one request at most; a newer one takes its place.
 */
#ifndef SPUR_TUI_JOBS_H
#define SPUR_TUI_JOBS_H

#include <pthread.h>

#include "view/find.h"
#include "view/view.h"

enum job_kind {
	JOB_FIND,
	JOB_DETAILS,
	JOB_CALLS,
	JOB_FUNCTIONS,
	JOB_OVERVIEW,
	JOB_KINDS,
};

enum { JOB_QUERY_MOST = 512 };

struct job {
	/* The request. */
	struct view_range range; /* without lanes: all tracks */
	int64_t label; /* of the calls; -1: any */
	char query[JOB_QUERY_MOST];
	bool back, has_after;
	struct store_place after;
	struct view_item item;
	/* The answer. */
	bool failed; /* `err` says why */
	struct spur_error err;
	struct view_search found;
	struct out text; /* details: lines of a name, a tab and a value */
	struct view_item calls[VIEW_CALLS_MOST];
	size_t ncalls;
	struct store_sum *sums; /* by label; free with mem_free() */
	uint32_t nsums;
	uint8_t overview[VIEW_OVERVIEW];
};

enum job_state { JOB_IDLE, JOB_ASKED, JOB_RUNS, JOB_ANSWERED };

struct jobs {
	struct view *view;
	pthread_t thread;
	bool runs, ended;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	volatile int cancel; /* the view's `stop`: what runs is not wanted any more */
	enum job_state states[JOB_KINDS];
	struct job *asked[JOB_KINDS]; /* newer requests, and answers */
};

/* Starts the thread. Returns SPUR_FAIL, with the error set, if it cannot. */
enum spur_status jobs_begin(struct jobs *j, struct view *v, struct spur_error *err);
/* Cancels what runs and ends the thread. */
void jobs_end(struct jobs *j);
/* Returns a request, to be filled in; NULL if out of memory. */
struct job *job_new(void);
/* Asks for an answer: `job` is taken over, and replaces an earlier request of its kind. */
void jobs_ask(struct jobs *j, enum job_kind kind, struct job *job);
/* Returns an answer, which then belongs to the caller (job_free()), or NULL. */
struct job *jobs_take(struct jobs *j, enum job_kind kind);
/* Returns true if something is asked for or runs. */
bool jobs_busy(struct jobs *j);
void job_free(struct job *job);

#endif
