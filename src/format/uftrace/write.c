/*
 * uftrace: a directory that uftrace itself replays. Calls and spans become records of functions,
 * arguments payloads by the specifications of a .dbg file, instants user events, logs and counters
 * lines of extern.dat, switches perf records.
 *
 * A uftrace source is copied record by record (copy.h), which carries all that it has.
 */
#include "base/err.h"
#include "format/uftrace/copying.h"
#include "format/uftrace/data.h"
#include "format/uftrace/writing.h"

static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED,
	  "a name is empty, has control characters or marks an end: another is written" },
	{ LOSS_DEGRADED, "an id of a thread or process is not a number of its own below 2^31: "
			 "another one is written" },
	{ LOSS_DEGRADED, "the format has no such type of argument: written as another one" },
	{ LOSS_TRUNCATED, "arguments take more than 1,016 bytes, or a text more than 1,000" },
	{ LOSS_DEGRADED, "the format's events have no arguments: left out" },
	{ LOSS_DEGRADED, "a call has more than 32 arguments, or several values at its end: others "
			 "are left out" },
	{ LOSS_DEGRADED, "arguments are damaged: written as far as they can be read" },
	{ LOSS_DEGRADED, "the format has no times before its zero: written at zero" },
	{ LOSS_DROPPED, "an end whose begin was lost" },
	{ LOSS_DEGRADED, "more than 65,535 calls are open: tools of the format count fewer" },
};

static_assert(sizeof(reasons) / sizeof(*reasons) == UFT_LOSSES - LOSS_OWN, "a text for each");

/* Of a uftrace source. */
static const uint8_t fits_all[SPUR_KINDS] = { WRITE_FITS(SPUR_BEGIN, SPUR_NATIVE, WRITE_WHOLE) };

static void uft_free(struct uft *u)
{
	scratch_free(u->tasks, u->tasks_cap * sizeof(*u->tasks));
	mem_free(u->symbols);
	mem_free(u->switches.items);
	mem_free(u->lines.items);
	map64_free(&u->by_hash);
	arena_free(&u->arena);
	spool_free(&u->spool);
	kept_free(u->kept);
	pthread_mutex_destroy(&u->lock);
	mem_free(u);
}

static void *uft_open(struct write *w)
{
	struct uft *u = mem_alloc(sizeof(*u));

	if (!u)
		return NULL;
	u->write = w;
	u->trace = w->trace;
	spool_init(&u->spool);
	arena_init(&u->arena);
	pthread_mutex_init(&u->lock, NULL);
	if (!uftrace_data(w->trace) || w->zero || w->masked)
		return u;
	u->kept = kept_new();
	if (!u->kept) {
		uft_free(u);
		return NULL;
	}
	w->fits = fits_all;
	return u;
}

static void *uft_lane(void *self, uint32_t track)
{
	struct uft *u = self;
	struct uft_lane *l = mem_alloc(sizeof(*l));

	if (!l)
		return NULL;
	(void)track;
	l->self = u;
	out_to_memory(&l->text);
	if (u->kept && !(l->kept = kept_new())) {
		mem_free(l);
		return NULL;
	}
	return l;
}

static bool seq_keep(struct uft_seqs *s, const struct spool_seq *seq)
{
	if (!seq->first)
		return true;
	if (!mem_grow((void **)&s->items, &s->cap, s->count + 1, sizeof(*s->items),
		      SIZE_MAX / sizeof(*s->items)))
		return false;
	s->items[s->count++] = *seq;
	return true;
}

/* What a lane has is kept until the end. Returns false if out of memory. */
static bool lane_keep(struct uft_lane *l)
{
	struct uft *u = l->self;

	u->deepest = l->deepest > u->deepest ? l->deepest : u->deepest;
	if (l->kept && !kept_join(u->kept, l->kept))
		return false;
	if (!scratch_reserve((void **)&u->tasks, &u->tasks_cap, u->ntasks + l->ntasks,
			  sizeof(*u->tasks)))
		return false;
	for (size_t i = 0; i < l->ntasks; i++) {
		u->tasks[u->ntasks] = l->tasks[i];
		u->tasks[u->ntasks++].open = NULL;
	}
	return seq_keep(&u->switches, &l->switches) && seq_keep(&u->lines, &l->lines);
}

static void uft_lane_close(void *lane)
{
	struct uft_lane *l = lane;
	struct uft *u = l->self;

	pthread_mutex_lock(&u->lock);
	/* The failure is counted, and the conversion fails. */
	u->failed = !lane_keep(l) || u->failed;
	pthread_mutex_unlock(&u->lock);
	for (size_t i = 0; i < l->ntasks; i++)
		mem_free(l->tasks[i].open);
	mem_free(l->tasks);
	map64_free(&l->by_track);
	map64_free(&l->plain);
	map64_free(&l->by_hash);
	spur_args_free(&l->args);
	out_free(&l->text);
	kept_free(l->kept);
	mem_free(l);
}

/* The source's own records. */
static bool copy_source(struct uft *u)
{
	const struct copy_part part = {
		.trace = u->trace, .kept = u->kept, .from = INT64_MIN, .until = INT64_MAX
	};
	struct copy copy = {
		.parts = &part, .count = 1, .dir = u->write->dir, .err = &u->write->error
	};

	return uftrace_copy_part(&copy, u->bare) != SPUR_FAIL;
}

/* uftrace rejects a directory whose .dat files are all empty. */
static bool has_records(const struct uft *u)
{
	for (size_t i = 0; i < u->ntasks; i++)
		if (u->tasks[i].seq.first)
			return true;
	return false;
}

static bool uft_finish(void *self)
{
	struct uft *u = self;
	struct uft_plan p = { 0 };
	bool good;

	if (u->failed)
		return false;
	if (u->kept)
		return copy_source(u);
	good = uft_plan_make(u, &p) && uft_tasks_number(u);
	if (good && !has_records(u)) {
		err_set(&u->write->error, SPUR_ERR_USAGE,
			"expected spans or instants, which uftrace data needs, found no event that "
			"is one");
		good = false;
	}
	good = good && uft_tables_write(u, &p) && uft_files_write(u, &p);
	uft_plan_free(&p);
	return good;
}

static void uft_close(void *self)
{
	uft_free(self);
}

const struct spur_writer spur_writer_uftrace = {
	.name = "uftrace",
	.title = "uftrace data directory, for uftrace replay, report, graph and dump",
	.endings = (const char *const[]){ "uftrace", NULL },
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_SPAN, WRITE_WHOLE),
		  WRITE_FITS(SPUR_INSTANT, SPUR_WAKEUP, WRITE_DEGRADED),
		  [SPUR_SAMPLE] = WRITE_DROPPED, [SPUR_OBJECT] = WRITE_DEGRADED,
		  [SPUR_BLOB] = WRITE_DROPPED, [SPUR_LOST] = WRITE_DEGRADED,
		  [SPUR_NATIVE] = WRITE_DROPPED },
	.dropped = "the format has nothing like it",
	.degraded = "written as a user event, a line of extern.dat, a perf record, or a count",
	.reasons = reasons,
	.nreasons = UFT_LOSSES - LOSS_OWN,
	.spans = WRITE_SPANS_SPLIT,
	.switches = WRITE_SWITCHES_ROWS,
	.takes_orphans = true,
	.takes_open = true,
	.is_dir = true,
	.open = uft_open,
	.lane = uft_lane,
	.row = uft_row,
	.end = uft_end,
	.lane_close = uft_lane_close,
	.finish = uft_finish,
	.close = uft_close,
};
