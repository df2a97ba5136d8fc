/*
 * folded: call stacks as lines "thread;main;work;leaf 1234", the input of flame graph tools
 * (flamegraph.pl, inferno, speedscope): nanoseconds of self time, or calls, summed for each path of
 * functions below each thread, in the order of names.
 */
#include "export/profile/stacks.h"

enum { DEPTH = 1024 /* as that of spur flame */ };

enum reason { LOST_ARGS = LOSS_OWN, LOST_PATH, LOST_DEEP };
static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "the format has no arguments: left out" },
	{ LOSS_DEGRADED, "too many different stacks: summed in (other)" },
	{ LOSS_DEGRADED, "the stack is deeper than 1,024 calls: summed in (deeper)" },
};

struct folded {
	struct stacks stacks; /* must be the first */
	bool calls; /* value=calls */
	struct out path; /* the names of a line */
	size_t lengths[STACKS_LEVELS + 1]; /* of the path up to each level */
};

static bool folded_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct write *w = stacks_of_lane(lane)->write;

	if (row->nargs && row->kind != SPUR_SAMPLE && w->wants_args(w, row->cls))
		loss_add(&w->loss, LOST_ARGS, row->kind);
	return stacks_row(lane, row, o);
}

/* A name, where semicolons and line ends have a meaning. */
static void name_out(const struct folded *f, uint32_t name, struct out *o)
{
	const size_t start = o->len;
	size_t len;
	const char *text = trace_string(f->stacks.write->trace, name, &len);

	out_safe(o, text, len);
	for (size_t i = start; i < o->len; i++)
		if (o->buf[i] == ';')
			o->buf[i] = ',';
}

/* The line of a path, which goes on from the one above it. */
static bool line_out(void *self, const uint32_t *path, size_t n)
{
	struct folded *f = self;
	const struct stack_node *node = &f->stacks.all.nodes[path[n - 1]];
	const uint64_t value = f->calls ? node->calls : node->self;
	struct out *o = f->stacks.write->out;

	out_cut(&f->path, f->lengths[n - 1]);
	if (n > 1)
		out_char(&f->path, ';');
	name_out(f, stacks_frame(&f->stacks, node->what).name, &f->path);
	f->lengths[n] = f->path.len;
	if (f->path.error || o->error)
		return false;
	if (!value)
		return true;
	out_bytes(o, f->path.buf, f->path.len);
	out_char(o, ' ');
	out_u64(o, value);
	out_char(o, '\n');
	return true;
}

static bool folded_finish(void *self)
{
	struct folded *f = self;

	return stacks_order(&f->stacks) && (stacks_walk(&f->stacks, line_out, f) || !f->path.error);
}

static void folded_close(void *self)
{
	struct folded *f = self;

	out_free(&f->path);
	stacks_free(&f->stacks);
	mem_free(f);
}

static void *folded_open(struct write *w)
{
	static const struct stack_options options = { .nodes = STACKS_NODES,
						      .paths = LOST_PATH,
						      .deep = LOST_DEEP,
						      .depth = DEPTH,
						      .by_name = true };
	struct folded *f = mem_alloc(sizeof(*f));

	if (!f)
		return NULL;
	f->calls = write_setting_is(w, "value", "calls");
	out_to_memory(&f->path);
	if (stacks_init(&f->stacks, w, &options))
		return f;
	folded_close(f);
	return NULL;
}

static const char *const endings[] = { "folded", NULL };
static const char *const values[] = { "time", "calls", NULL };
static const struct write_setting settings[] = {
	{ "value", values, "time: nanoseconds of self time (default); calls: number of calls" },
	{ 0 },
};

const struct spur_writer spur_writer_folded = {
	.name = "folded",
	.title = "folded stacks, which flamegraph.pl, inferno and speedscope open",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_SPAN, WRITE_DEGRADED), [SPUR_SWITCH] = WRITE_DEGRADED,
		  [SPUR_SAMPLE] = WRITE_DEGRADED },
	.dropped = "the format has sums of calls only",
	.degraded = "only the sum of all calls with the same stack is written",
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.spans = WRITE_SPANS_SPLIT,
	.settings = settings,
	.open = folded_open,
	.lane = stacks_lane,
	.row = folded_row,
	.end = stacks_end,
	.lane_close = stacks_lane_close,
	.finish = folded_finish,
	.close = folded_close,
};
