/*
 * The options of all passes in one flat struct, for tests that run several, and what each pass gets
 * of them.
 */
#ifndef SPUR_TESTS_UNIT_ANY_OPTIONS_H
#define SPUR_TESTS_UNIT_ANY_OPTIONS_H

#include <string.h>

#include "pass/async.h"
#include "pass/blobs.h"
#include "pass/convert.h"
#include "pass/counters.h"
#include "pass/diff.h"
#include "pass/dump.h"
#include "pass/events.h"
#include "pass/flame.h"
#include "pass/graph.h"
#include "pass/hist.h"
#include "pass/metadata.h"
#include "pass/replay.h"
#include "pass/report.h"
#include "pass/sched.h"
#include "pass/split.h"
#include "style/babeltrace2/options.h"
#include "style/llvm-xray/options.h"
#include "style/uftrace/options.h"

struct any_options {
	enum output_form form;
	enum time_form time;
	const char *fields, *sort, *by, *kind, *root, *format, *extract, *blob, *name, *to;
	uint64_t limit;
	bool raw, no_args, color, values, force, verbose, flat, libname, srcline, no_comment,
		no_merge, task_newline, task, event_full, column_view;
	int64_t sample_ns;
	unsigned width;
	int demangle;
	enum pattern_kind match;
};

static inline const struct render_options *any_render(const struct any_options *o)
{
	static struct render_options to;

	to = (struct render_options){ .form = o->form,
				      .time = o->time,
				      .fields = o->fields,
				      .sort = o->sort,
				      .limit = o->limit,
				      .raw = o->raw,
				      .no_args = o->no_args,
				      .color = o->color,
				      .width = o->width,
				      .demangle = o->demangle };
	return &to;
}

static inline const struct filter_spec *any_given(const struct any_options *o)
{
	static struct filter_spec to;

	to = (struct filter_spec){ .match = o->match, .no_args = o->no_args };
	return &to;
}

static inline struct blobs_options any_blobs(const struct any_options *o)
{
	return (struct blobs_options){
		.extract = o->extract, .blob = o->blob, .name = o->name, .force = o->force
	};
}

static inline struct replay_options any_replay(const struct any_options *o)
{
	return (struct replay_options){ .lines = { .flat = o->flat,
						   .libname = o->libname,
						   .srcline = o->srcline,
						   .no_comment = o->no_comment },
					.no_merge = o->no_merge,
					.task_newline = o->task_newline };
}

/*
 * Of the pass of that name (of convert, to Chrome JSON if nothing is given), or of a style of it
 * ("report.uftrace").
 */
static inline const void *any_own(const struct any_options *o, const char *pass)
{
	static union {
		struct async_options async;
		struct blobs_options blobs;
		struct convert_options convert;
		struct counters_options counters;
		struct diff_options diff;
		struct dump_options dump;
		struct events_options events;
		struct flame_options flame;
		struct graph_options graph;
		struct hist_options hist;
		struct metadata_options metadata;
		struct replay_options replay;
		struct report_options report;
		struct sched_options sched;
		struct split_options split;
	} to;
	const size_t n = strcspn(pass, ".");

	memset(&to, 0, sizeof(to));
#define IS(NAME) (n == sizeof(NAME) - 1 && strncmp(pass, NAME, n) == 0)
	if (IS("async"))
		to.async = (struct async_options){ .kind = o->kind, .by = o->by };
	else if (IS("blobs"))
		to.blobs = any_blobs(o);
	else if (IS("convert"))
		to.convert = (struct convert_options){ .to = o->to ? o->to : "chrome" };
	else if (IS("counters"))
		to.counters = (struct counters_options){ .by = o->by, .values = o->values };
	else if (IS("diff"))
		to.diff = (struct diff_options){ .by = o->by, .format = o->format };
	else if (IS("dump"))
		to.dump = (struct dump_options){ .verbose = o->verbose,
						 .format = o->format,
						 .sample_ns = o->sample_ns };
	else if (IS("events"))
		to.events = (struct events_options){ .by = o->by };
	else if (IS("flame"))
		to.flame = (struct flame_options){ .format = o->format,
						   .root = o->root,
						   .sample_ns = o->sample_ns };
	else if (IS("graph"))
		to.graph = (struct graph_options){ .root = o->root };
	else if (IS("hist"))
		to.hist = (struct hist_options){ .root = o->root };
	else if (IS("metadata"))
		to.metadata = (struct metadata_options){ .compiled = o->verbose };
	else if (IS("replay"))
		to.replay = any_replay(o);
	else if (IS("report"))
		to.report = (struct report_options){ .by = o->by, .task = o->task };
	else if (IS("sched"))
		to.sched = (struct sched_options){ .by = o->by };
	else if (IS("split"))
		to.split = (struct split_options){ .by = SPLIT_THREAD, .each = 1, .ending = "" };
#undef IS
	return &to;
}

static inline const void *any_style(const struct any_options *o, const char *pass)
{
	static union {
		struct uftrace_options uftrace;
		struct babeltrace2_options babeltrace2;
		struct llvm_xray_options llvm;
	} to;

	memset(&to, 0, sizeof(to));
	if (!strstr(pass, ".llvm") && !strstr(pass, ".babel"))
		to.uftrace = (struct uftrace_options){ .task = o->task,
						       .srcline = o->srcline,
						       .event_full = o->event_full,
						       .column_view = o->column_view };
	return &to;
}

/* Members of a struct pass_env; they are good until the next one is made. */
#define ANY_OPTIONS(OPTIONS, PASS)                                                      \
	.opt = any_render(OPTIONS), .given = any_given(OPTIONS),                        \
	.options = any_own(OPTIONS, PASS), .style_options = any_style(OPTIONS, PASS)

#endif
