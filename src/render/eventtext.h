/*
 * Events as lines: for people, as JSON lines (docs/jsonl.md) or CSV. Lines of one feed depend on
 * its rows alone, so they may be made per feed in parallel.
 */
#ifndef SPUR_RENDER_EVENTTEXT_H
#define SPUR_RENDER_EVENTTEXT_H

#include "flow/lines.h"
#include "render/frag.h"
#include "render/value.h"
#include "render/when.h"

struct event_text_options {
	enum output_form form; /* FORM_TEXT, FORM_JSONL or FORM_CSV */
	enum time_form time; /* of text; JSON and CSV have the rows' own times */
	bool color;
	/* Returns true if arguments of the class's events are wanted. Thread-safe. */
	bool (*wants_args)(const void *self, uint32_t cls);
	/* As write_track() and write.args (format/writer.h); NULL: the trace's own. Thread-safe. */
	const struct spur_track *(*track)(const void *self, uint32_t id);
	enum spur_status (*args)(const void *self, const struct spur_event *row,
				 struct spur_args *args);
	bool no_paths; /* of streams */
	const void *self;
};

struct event_text {
	struct spur_trace *trace;
	struct event_text_options options;
	struct when when;
	unsigned when_width;
	struct frag_table *classes, *tracks, *streams;
	struct value_writer values;
	struct line_pens pens; /* programs for the arguments of rows */
	char kinds[SPUR_KINDS][FRAG_PIECE];
	uint8_t kind_len[SPUR_KINDS];
};

/* One feed being written. */
struct event_lane {
	struct event_text *text;
	struct number times, ids;
	struct spur_args args;
	struct line_pen *pen; /* while rows are written; NULL: arguments are decoded */
	struct frag_user classes, tracks, streams;
};

#define EVENT_CSV_HEAD "ts,kind,name,cat,pid,tid,cpu,dur,id,args,flags,stream,off\n"

/* Returns SPUR_FAIL with the error set. Requires event_text_close() in any case. */
enum spur_status event_text_open(struct event_text *c, struct spur_trace *t,
				 const struct event_text_options *options, struct spur_error *err);
void event_text_close(struct event_text *c);
/* Returns NULL if out of memory. Free with event_lane_free(). */
struct event_lane *event_lane_new(struct event_text *c);
void event_lane_free(struct event_lane *l);
/* Appends the line of a row. Returns false if out of memory. */
bool event_text_row(struct event_lane *l, const struct spur_event *row, struct out *o);
/* Appends the lines of rows, and marks each. Returns false if out of memory. */
bool event_text_rows(struct event_lane *l, const struct spur_event *rows, size_t n,
		     struct lines *out);

#endif
