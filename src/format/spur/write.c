/*
 * spur: any trace as a recording, a directory with a file for each process. See write.h for how it
 * works, and docs/conversion.md for what becomes of each kind of event.
 */
#include "format/spur/write.h"

#include "base/bits.h"
#include "base/err.h"
#include "format/format.h"

/* Flags that events keep, in the order of enum spb_mark. */
static const uint16_t marked[] = {
	SPUR_F_OUT,	SPUR_F_IN,	  SPUR_F_PREEMPTED,  SPUR_F_EXIT,
	SPUR_F_RETIMED, SPUR_F_ESTIMATED, SPUR_F_UNRELIABLE,
};

static const uint8_t site_kinds[SPUR_KINDS] = {
	[SPUR_INSTANT] = SPB_SITE_INSTANT,
	[SPUR_COUNTER] = SPB_SITE_COUNTER,
	[SPUR_ASYNC_BEGIN] = SPB_SITE_ASYNC_BEGIN,
	[SPUR_ASYNC_INSTANT] = SPB_SITE_ASYNC_INSTANT,
	[SPUR_ASYNC_END] = SPB_SITE_ASYNC_END,
	[SPUR_FLOW_BEGIN] = SPB_SITE_FLOW_BEGIN,
	[SPUR_FLOW_STEP] = SPB_SITE_FLOW_STEP,
	[SPUR_FLOW_END] = SPB_SITE_FLOW_END,
	[SPUR_LOG] = SPB_SITE_LOG,
	[SPUR_SWITCH] = SPB_SITE_SWITCH,
	[SPUR_WAKEUP] = SPB_SITE_WAKEUP,
	[SPUR_SAMPLE] = SPB_SITE_SAMPLE,
	[SPUR_OBJECT] = SPB_SITE_OBJECT,
	[SPUR_BLOB] = SPB_SITE_BLOB,
	[SPUR_LOST] = SPB_SITE_LOST,
	[SPUR_NATIVE] = SPB_SITE_NATIVE,
	[SPUR_SPAN] = SPB_SITE_WHOLE,
};

static void row_begin(struct sw *w, const struct spur_event *row)
{
	if (!w->any || row->ts < w->first_ts)
		w->first_ts = row->ts;
	if (!w->any || row->ts > w->last_ts)
		w->last_ts = row->ts;
	w->any = true;
	out_clear(&w->payload);
	w->nnodes = w->empty = w->nargs = 0;
	w->losses = 0;
}

static bool row_done(struct sw *w, unsigned kind, bool good)
{
	for (unsigned i = LOSS_OWN; good && w->losses >> i; i++)
		if (w->losses >> i & 1)
			loss_add(&w->write->loss, i, kind);
	return good;
}

/* SPEC spur/cpu */
static bool cpu_put(struct sw *w, struct sw_thread *th, const struct spur_event *row)
{
	const size_t len = w->payload.len;
	bool good;

	if (row->cpu == th->cpu)
		return true;
	th->cpu = row->cpu;
	w->payload.len = 0;
	good = sw_stage(w, th, SPB_CPU, row->cpu == SPUR_NO_CPU ? 0 : row->cpu + 1u, row->ts);
	w->payload.len = len;
	return good;
}

static bool name_is(const struct sw *w, const struct spur_event *row, const char *name)
{
	return !row->cat && strcmp(trace_string(w->trace, row->name, NULL), name) == 0;
}

/* --- spans --- */

/*
 * A function has a name, as others are shown by their addresses, and symbols end with a NUL.
 * Anything else is a site. Remembered for each class.
 */
static bool is_function(struct sw *w, uint32_t cls)
{
	enum { UNKNOWN, NO, YES };
	const struct event_class *c;
	const char *s;
	size_t len;

	if (!mem_grow((void **)&w->functions, &w->functions_cap, (size_t)cls + 1, 1, UINT32_MAX))
		return false;
	if (w->functions[cls] == UNKNOWN) {
		c = trace_class(w->trace, cls);
		s = trace_string(w->trace, c->name, &len);
		w->functions[cls] =
			c->flags & CLASS_FUNCTION && len && !memchr(s, '\0', len) ? YES : NO;
	}
	return w->functions[cls] == YES;
}

/* The end that waits for a call in its place, if that did not come. */
static bool tail_flush(struct sw *w, struct sw_thread *th)
{
	const size_t len = w->payload.len;
	bool good;

	if (!th->tail)
		return true;
	th->tail = false;
	w->payload.len = 0;
	good = sw_stage(w, th, SPB_EXIT, th->tail_id, th->tail_ts);
	w->payload.len = len;
	return good;
}

static bool open_push(struct sw *w, struct sw_thread *th, uint32_t site)
{
	if (!th->open)
		mem_spare_take(&w->spare, (void **)&th->open, &th->open_cap);
	/* Of very many threads most have few open calls; a spare array has 16 bytes. */
	static_assert(MEM_FEW * sizeof(*th->open) >= 16, "there is room in a first array");
	if (!mem_grow((void **)&th->open, &th->open_cap, th->open_cap ? th->nopen + 1 : MEM_FEW,
		      sizeof(*th->open), th->open_cap ? SIZE_MAX / sizeof(*th->open) : MEM_FEW))
		return false;
	th->open[th->nopen++] = site;
	return true;
}

static struct sw_key span_key(struct sw *w, const struct sw_thread *th,
			      const struct spur_event *row)
{
	return (struct sw_key){ .file = th->file,
				.cls = row->cls,
				.name = row->name,
				.cat = row->cat,
				.kind = is_function(w, row->cls) ? 0 : SPB_SITE_SPAN };
}

static bool begin_put(struct sw *w, struct sw_thread *th, const struct spur_event *row)
{
	const struct sw_key key = span_key(w, th, row);
	const bool tail = th->tail && !key.kind && row->flags & SPUR_F_TAIL &&
			  row->ts == th->tail_ts && row->cpu == th->cpu;
	uint32_t number, base;

	if (!sw_encode(w, row, th->file))
		return false;
	number = sw_site_of(w, &key, &base);
	if (!number || !open_push(w, th, base | (key.kind ? 0 : SW_FUNCTION)))
		return false;
	/* SPEC spur/tail-call */
	if (tail)
		th->tail = false;
	return tail_flush(w, th) && cpu_put(w, th, row) &&
	       sw_stage(w, th,
			key.kind ? SPB_BEGIN
			: tail	 ? SPB_TAIL
				 : SPB_ENTER,
			number, row->ts);
}

/* The end of a span of the site or function `base`, with the row's arguments if `own`. */
static bool end_put(struct sw *w, struct sw_thread *th, const struct spur_event *row, uint32_t base,
		    bool own)
{
	const bool fn = base & SW_FUNCTION;
	struct sw_key key = { .file = th->file, .cls = row->cls, .name = row->name };
	uint32_t number = base & ~SW_FUNCTION, unused;

	key.cat = row->cat;
	key.kind = fn ? 0 : SPB_SITE_SPAN;
	key.of = number;
	key.end = 1;
	if (own && !sw_encode(w, row, th->file))
		return false;
	if (w->nargs)
		number = sw_site_of(w, &key, &unused);
	if (!number || !cpu_put(w, th, row))
		return false;
	if (own && fn && row->flags & SPUR_F_TAIL && !w->nargs) {
		th->tail = true;
		th->tail_id = number;
		th->tail_ts = row->ts;
		return true;
	}
	return sw_stage(w, th, fn ? SPB_EXIT : SPB_END, number, row->ts);
}

/* An end without a begin. One behind missing records may end nothing, but here it would. */
static bool orphan_put(struct sw *w, struct sw_thread *th, const struct spur_event *row)
{
	const struct sw_key key = span_key(w, th, row);
	uint32_t base;

	if (row->flags & SPUR_F_GAP && th->nopen) {
		sw_lose(w, SW_LOST_END);
		return true;
	}
	return sw_site_of(w, &key, &base) &&
	       end_put(w, th, row, base | (key.kind ? 0 : SW_FUNCTION), true);
}

static bool sw_end(void *lane, const struct spur_event *row, const struct write_end *end,
		   struct out *o)
{
	struct sw *const w = lane;
	struct sw_thread *const th = sw_thread_of(w, row->track);
	const bool own = !end->implied && !end->whole;
	struct spur_event at = *row;
	uint32_t base;

	(void)o;
	row_begin(w, row);
	if (!th || !tail_flush(w, th))
		return false;
	base = th->nopen ? th->open[--th->nopen] : 0;
	if (!th->nopen)
		mem_spare_put(&w->spare, (void **)&th->open, &th->open_cap);
	if (!base)
		return true;
	/* In a recording the end of the outer span implies that of the inner one. */
	if (w->is_source && end->implied)
		return true;
	if (w->is_source && own && row->flags & SPUR_F_ANY && !(row->flags & SPUR_F_TAIL))
		return cpu_put(w, th, row) &&
		       sw_stage(w, th, base & SW_FUNCTION ? SPB_EXIT : SPB_END, 0, row->ts);
	at.cls = end->cls;
	at.name = end->name;
	return row_done(w, SPUR_END_SPAN, end_put(w, th, &at, base, own));
}

/* --- events --- */

static bool switch_put(struct sw *w, struct sw_thread *th, const struct spur_event *row)
{
	const bool leaves = row->flags & SPUR_F_OUT;

	if (row->flags & SPUR_F_PREEMPTED)
		sw_put_u64(w, 1);
	return sw_stage(w, th, SPB_SWITCH, (uint32_t)row->cpu << 1 | leaves, row->ts);
}

/* Returns true if a row is all that a SWITCH record says. */
static bool switch_is_plain(const struct sw *w, const struct spur_event *row)
{
	return !row->nargs && !row->id &&
	       (row->flags == SPUR_F_OUT || row->flags == SPUR_F_IN ||
		row->flags == (SPUR_F_OUT | SPUR_F_PREEMPTED)) &&
	       name_is(w, row, "switch");
}

static bool lost_is_plain(const struct sw *w, const struct spur_event *row)
{
	return !row->nargs && !row->dur && !row->flags && row->cpu == SPUR_NO_CPU &&
	       name_is(w, row, "lost events");
}

/* SPEC spur/site-has */
static uint8_t head_put(struct sw *w, const struct spur_event *row)
{
	const bool has_id = row->kind >= SPUR_ASYNC_BEGIN && row->kind <= SPUR_FLOW_END;
	uint64_t marks = 0;
	uint8_t has = 0;

	for (unsigned i = 0; i < sizeof(marked) / sizeof(*marked); i++)
		marks |= row->flags & marked[i] ? (uint64_t)1 << i : 0;
	if (has_id || row->id)
		sw_put_u64(w, row->id);
	if (!has_id && row->id)
		has |= SPB_HAS_ID;
	if (row->dur || row->kind == SPUR_SPAN) {
		sw_put_u64(w, (uint64_t)row->dur);
		has |= SPB_HAS_LENGTH;
	}
	if (marks) {
		sw_put_u64(w, marks);
		has |= SPB_HAS_MARKS;
	}
	return has;
}

static bool event_put(struct sw *w, struct sw_thread *th, const struct spur_event *row)
{
	struct sw_key key = { .file = th->file,
			      .cls = row->cls,
			      .name = row->name,
			      .cat = row->cat,
			      .kind = site_kinds[row->kind] };
	uint32_t number, base;

	key.has = head_put(w, row);
	if (!sw_encode(w, row, th->file))
		return false;
	number = sw_site_of(w, &key, &base);
	return number && cpu_put(w, th, row) && sw_stage(w, th, SPB_EVENT, number, row->ts);
}

static bool row_put(struct sw *w, struct sw_thread *th, const struct spur_event *row)
{
	if (row->kind == SPUR_BEGIN)
		return begin_put(w, th, row);
	if (!tail_flush(w, th))
		return false;
	if (row->kind == SPUR_END_SPAN)
		return orphan_put(w, th, row);
	if (row->kind == SPUR_SWITCH && switch_is_plain(w, row))
		return switch_put(w, th, row);
	if (row->kind == SPUR_LOST && lost_is_plain(w, row)) {
		sw_put_u64(w, row->id);
		return sw_stage(w, th, SPB_LOST, 0, row->ts);
	}
	return event_put(w, th, row);
}

static bool sw_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct sw *const w = lane;
	struct sw_thread *const th = sw_thread_of(w, row->track);

	(void)o;
	row_begin(w, row);
	return th && row_done(w, row->kind, row_put(w, th, row));
}

/* --- the writer --- */

static void sw_close(void *self)
{
	struct sw *const w = self;

	for (size_t i = 0; i < w->nfiles; i++)
		for (struct sw_thread *th = w->files[i].first; th; th = th->next)
			mem_free(th->open);
	mem_spare_free(&w->spare);
	while (w->big) {
		struct sw_big *const big = w->big;

		w->big = big->next;
		scratch_free(big, big->size);
	}
	mem_free(w->files);
	mem_table_free(w->by_track, w->by_track_cap, sizeof(*w->by_track));
	mem_free(w->sites);
	mem_free(w->nodes);
	mem_free(w->functions);
	map64_free(&w->by_process);
	map64_free(&w->site_index);
	map64_free(&w->modules);
	spur_args_free(&w->args);
	out_free(&w->payload);
	out_free(&w->body);
	spool_free(&w->spool);
	arena_free(&w->arena);
	mem_free(w);
}

static void *sw_open(struct write *write)
{
	struct sw *const w = mem_alloc(sizeof(*w));

	if (!w)
		return NULL;
	w->write = write;
	w->trace = write->trace;
	w->is_source = write->trace->format == format_find("spur");
	arena_init_scratch(&w->arena);
	spool_init(&w->spool);
	out_to_memory(&w->payload);
	out_to_memory(&w->body);
	return w;
}

static bool sw_finish(void *self)
{
	struct sw *const w = self;

	for (size_t i = 0; i < w->nfiles; i++)
		for (struct sw_thread *th = w->files[i].first; th; th = th->next)
			if (!tail_flush(w, th))
				return false;
	return sw_files(w);
}

static const struct loss_reason reasons[] = {
	[SW_LOST_TEXT - LOSS_OWN] = { LOSS_TRUNCATED,
				      "a text is longer than 8 MiB, or a name or label than 65,535 "
				      "bytes" },
	[SW_LOST_ARGS -
		LOSS_OWN] = { LOSS_DEGRADED,
			      "arguments are more than a record can have: the first are written" },
	[SW_LOST_NESTED - LOSS_OWN] = { LOSS_DEGRADED, "arguments are nested more than 30 deep" },
	[SW_LOST_PAYLOAD - LOSS_OWN] = { LOSS_DEGRADED,
					 "arguments are damaged: written as far as they can be "
					 "read" },
	[SW_LOST_STACK - LOSS_OWN] = { LOSS_DEGRADED, "a call stack is too long or incomplete: "
						      "written as a list of names" },
	[SW_LOST_END - LOSS_OWN] = { LOSS_DROPPED,
				     "an end after missing records, whose begin may be missing" },
};

static const char *const endings[] = { "spur", "spb", NULL };

const struct spur_writer spur_writer_spur = {
	.name = "spur",
	.title = "Spur's own recording, a directory with a file for each process, or one file "
		 "(.spb)",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_NATIVE, WRITE_WHOLE) },
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.spans = WRITE_SPANS_STORED,
	.switches = WRITE_SWITCHES_ROWS,
	.takes_orphans = true,
	.takes_open = true,
	.merged = true,
	.is_dir = true,
	.file_ending = "spb",
	.open = sw_open,
	.row = sw_row,
	.end = sw_end,
	.finish = sw_finish,
	.close = sw_close,
};
