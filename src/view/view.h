/*
 * The viewer's server: answers the page's requests out of a store (store/store.h), also while the
 * store is being written. docs/viewer-protocol.md has the requests.
 */
#ifndef SPUR_VIEW_VIEW_H
#define SPUR_VIEW_VIEW_H

#include <pthread.h>

#include "base/out.h"
#include "store/store.h"

enum {
	VIEW_ARGS_MOST = 16, /* parameters of a request */
	VIEW_LANES_MOST = 1024, /* lanes of one request */
	VIEW_SHIFT_MOST = 50,
	VIEW_CALLS_MOST = 100,
	VIEW_FLAME_MOST = 5000, /* nodes of a flame graph */
	VIEW_OVERVIEW = 1024, /* parts of the overview */
	VIEW_LOSSES_MOST = 4096, /* losses with a mark of their own */
};

/* Damage or a note, while the store has no list of them. */
struct view_told {
	const char *text;
	bool is_damage;
};

/* What is shown. */
struct view {
	const struct store *store;
	struct spur_trace *trace; /* for arguments; its calls are made under `reading` */
	bool kept; /* the store was made of another opening of the trace */
	const char *identity; /* of the trace as it was then (store/cache.h); NULL: it has none */
	pthread_mutex_t reading;
	const char *name; /* of the trace, as the user gave it */
	const char *path; /* what commands are given: quoted for a shell */
	/*
	 * The time that the page's times count from, in ns of the trace's clock: that of the first
	 * event. While the trace grows it is atomic, as an earlier one may come (view_zero()).
	 */
	int64_t zero;
	bool growing; /* the trace was still being written when it was opened: */
	struct args_log *args; /* arguments of its rows (view/args_log.h); else NULL */
	uint64_t late; /* atomic: its events that came too late to be put in order */
	volatile const int *stop; /* set by a signal handler: end soon */
	pthread_mutex_t finding;
	struct view_found *found; /* of the last expression; under `finding` */
	struct view_counted *counted; /* of the last other query; under `finding` */
	/* Changed by the thread that builds the store, read by those that answer. */
	struct view_told *told; /* what reading the trace has told so far; under `reading` */
	size_t ntold;
	struct arena *told_texts; /* their memory; NULL: none */
	unsigned generation; /* atomic: rises when more is there than was sent */
	const char *error; /* atomic: why the store is incomplete, or NULL */
};

static inline int64_t view_zero(const struct view *v)
{
	return __atomic_load_n(&v->zero, __ATOMIC_RELAXED);
}

/*
 * Takes over what reading the trace has told so far. Called by the thread that reads it: no other
 * one may ask the trace. Returns false if out of memory.
 */
bool view_tell(struct view *v);
void view_told_free(struct view *v);
/* Frees what is kept of queries. */
void view_found_free(struct view *v);
void view_counted_free(struct view *v);
/*
 * Returns true if the files of the trace are not what they were when its store was made: what is
 * read of them now may belong to other events. False for a trace without an identity.
 */
bool view_trace_changed(const struct view *v);

/* A request: its path behind /api/, and its parameters. Texts live as long as the request. */
struct view_request {
	const char *path;
	const char *names[VIEW_ARGS_MOST], *values[VIEW_ARGS_MOST];
	size_t nargs;
};
/* Returns the value of a parameter, or NULL. */
const char *view_arg(const struct view_request *r, const char *name);
/*
 * Reads a parameter as a whole number in [least, most]. Without it, returns `missing`. Returns
 * false if it is something else.
 */
bool view_number(const struct view_request *r, const char *name, int64_t least, int64_t most,
		 int64_t missing, int64_t *out);

struct view_answer {
	unsigned status; /* of HTTP */
	const char *type; /* of the content */
	bool partial; /* more is to come: the page asks again */
	struct out out;
};
/* Makes it a refusal with a text for people. Returns false. */
bool view_refuse(struct view_answer *a, unsigned status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Answers a request; any thread may. Any bytes may be in the request. The caller initialises
 * `a->out` with out_to_memory() and frees it; a->status is set in any case.
 */
void view_answer(struct view *v, const struct view_request *r, struct view_answer *a);

/* A range of times and tracks: what sums, flame graphs and lists are made of. */
struct view_range {
	int64_t from, to; /* on the trace's clock */
	uint32_t *lanes; /* NULL: all */
	size_t nlanes;
};
/* Reads from, to and tracks. Returns false, with the answer a refusal, if they are wrong. */
bool view_range(const struct view *v, const struct view_request *r, struct view_range *out,
		struct view_answer *a);
void view_range_free(struct view_range *r);
/*
 * Reads z and i of a tile: where it begins on the trace's clock, and 1 << z, the ns of its pixels.
 * Returns false if they are wrong, or the tile is beyond all times.
 */
bool view_tile_place(const struct view *v, const struct view_request *r, int64_t *t0, int64_t *z);

/* The requests, one function each. They return false with a refusal, or if out of memory. */
bool view_meta(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_labels(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_tiles(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_counter(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_overview(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_span(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_flows(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_why(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_state(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_critical(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_sums(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_flame(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_calls(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_begins(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_counters(struct view *v, const struct view_request *r, struct view_answer *a);
bool view_find(struct view *v, const struct view_request *r, struct view_answer *a);

/* An item of a span lane. */
struct view_item {
	uint32_t lane;
	uint64_t number;
	struct store_lane info;
	struct store_item item;
};
/* Writes it as JSON: track, depth, ts, dur, label, number. Returns false if out of memory. */
bool view_put_span(const struct view *v, const struct view_item *i, struct out *o);
/*
 * As store_label(), but that label 0 is time off the CPU: the page and `spur report` have one name
 * for it, whatever the rows of the trace are called.
 */
bool view_label(const struct view *v, uint32_t label, struct store_label *out);
/* Returns true if an item is time off the CPU, which has label 0 in all answers. */
static inline bool view_is_off_cpu(const struct store_item *i)
{
	return i->kind == SPUR_SWITCH && (i->marks & STORE_SPAN);
}
/* Fills *out; its label is that of the answers. Returns false if there is no such item. */
bool view_item(const struct view *v, uint32_t lane, uint64_t number, struct view_item *out);
/*
 * Finds the item that a request names by track, depth and t: the one that contains t, else the one
 * nearest to it; with dur, of those that begin at t the one that lasts so long; with number, of
 * those that begin then and last so long the one that has this number in its lane. Returns false,
 * with a refusal, if the lane is empty.
 */
bool view_item_of(const struct view *v, const struct view_request *r, struct view_item *out,
		  struct view_answer *a);

/* An argument of a span; valid during the call. */
struct view_argument {
	struct store_text name; /* empty: none */
	struct store_text text; /* the value for people */
	const struct spur_value *value; /* NULL in a trace that grows */
	size_t place, count; /* its number, from 0, and how many its row has */
	bool end; /* of the row that ends the span */
};
/* Gets an argument of a span. */
typedef void (*view_arg_take)(void *self, const struct view_argument *arg);
/*
 * Passes on the arguments of a span, those of its end behind those of its begin. Reads the trace
 * up to the span again if the store is a kept one. Sets *changed if that is not possible, as its
 * files have changed. Returns false if out of memory.
 */
bool view_span_args(struct view *v, const struct view_item *i, view_arg_take take, void *self,
		    bool *changed);
/* Appends FILE:LINE of the span's function, or nothing if it is unknown. */
void view_span_source(const struct view *v, const struct view_item *i, struct out *o);
/* Appends where the record is that begins the span: FILE:0xOFFSET, or nothing. */
void view_span_place(struct view *v, const struct view_item *i, struct out *o);
/* Appends the command that prints the span. */
void view_span_command(const struct view *v, const struct view_item *i, struct out *o);

/*
 * Returns sums of a range by label, an array of *n, as `spur report` makes them. Free with
 * mem_free(). Returns NULL if out of memory.
 */
struct store_sum *view_sums_make(const struct view *v, const struct view_range *range, uint32_t *n);
/* Returns the average duration that tables show of a sum with calls. */
uint64_t view_sum_average(const struct store_sum *s);
/*
 * Returns true if the shortest and the longest call of a sum are known: stacks of samples add to
 * sums alone. The average of a sum without calls is as little known.
 */
bool view_sum_has_single(const struct store_sum *s);
/*
 * Finds the longest calls of a range that end in it, at most VIEW_CALLS_MOST, the longest first:
 * as `spur top` does if `label` is below 0, else those of that function alone, or the longest times
 * off the CPU if it is 0. Returns false if out of memory.
 */
bool view_calls_make(const struct view *v, const struct view_range *range, int64_t label,
		     struct view_item *out, size_t *count);

/* Writes `before`, the trace's path and `after` as a JSON string: a command. */
void view_command(const struct view *v, const char *before, const char *after, struct out *o);
/* Appends a text as a shell reads it, so that no command takes it as an option. */
void view_quote(struct out *o, const char *path);
/* Writes a text of the trace as a JSON string. */
void view_text(struct out *o, struct store_text t);

/* --- the server --- */

struct view_server;
struct view_server_options {
	uint16_t port; /* 0: any that is free */
	unsigned threads;
};
/*
 * Listens on the loopback interface. Returns SPUR_FAIL if it cannot. `v` is borrowed until
 * view_server_stop().
 */
enum spur_status view_server_start(struct view_server **out, struct view *v,
				   const struct view_server_options *o, struct spur_error *err);
/* Returns http://127.0.0.1:PORT/#TOKEN, valid until the server is stopped. */
const char *view_server_url(const struct view_server *s);
/* Returns the time of the last request, in seconds of the monotonic clock. Thread-safe. */
int64_t view_server_last(const struct view_server *s);
void view_server_stop(struct view_server *s);

/* A file of the page, embedded in the program. */
struct view_file {
	const char *name;
	const char *begin, *end;
};
extern const struct view_file view_files[]; /* ended by a NULL name; generated */

#endif
