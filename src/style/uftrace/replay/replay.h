/*
 * What the two halves of the uftrace style of replay share: lines, as rows between stage and
 * render.
 */
#ifndef SPUR_STYLE_UFTRACE_REPLAY_REPLAY_H
#define SPUR_STYLE_UFTRACE_REPLAY_REPLAY_H

#include "pass/replay.h"
#include "style/uftrace/text/args.h"
#include "style/uftrace/text/task.h"

/*
 * `marks` of a row for render(); its dur: what the duration column shows; its depth: of the indent.
 */
enum replay_line {
	LINE_OPEN, /* name(args) { */
	LINE_LEAF, /* name(args) = value; the next row may be LINE_VALUE */
	LINE_VALUE, /* the END of the leaf before: its return value */
	LINE_CLOSE,
	LINE_EVENT,
	LINE_LOST,
	LINE_BACK, /* time went back */
	LINE_NEWLINE, /* another task */
	LINE_BACKTRACE,
	LINE_CELLS, /* what the columns of the next line show: see replay_cells() */
};

enum replay_column {
	COLUMN_DURATION,
	COLUMN_TID,
	COLUMN_ADDR,
	COLUMN_TIME,
	COLUMN_DELTA,
	COLUMN_ELAPSED,
	COLUMN_TASK,
	COLUMN_MODULE,
	COLUMNS
};

extern const struct style_field replay_columns[COLUMNS];

/* The last BEGIN or SWITCH out, whose end may follow at once. */
enum replay_held_kind { HELD_NONE, HELD_FUNCTION, HELD_SWITCH };

struct replay_held {
	size_t task; /* index */
	uint32_t stream, depth;
	enum replay_held_kind kind;
};

/*
 * Lines of a function without arguments, from the name on; TEXT_BLOCK bytes may be read from the
 * begin of each.
 */
struct replay_name {
	const char *text; /* "name() {\n", "name();\n", "} name\n"; NULL: not yet made */
	uint32_t open, leaf, close; /* their lengths */
	bool special; /* style_special_of() says something */
};

struct replay_tid {
	char text[31]; /* " [   1234] | " */
	uint8_t len;
};

struct replay {
	struct style s;
	const struct replay_options *own;
	struct style_fields fields;
	struct filter *filter;
	bool cells; /* lines need more than duration and tid */
	bool quick_columns; /* it is these two */
	bool wordy; /* lines have more than names and arguments */
	struct replay_tid *tids; /* by track; in scratch memory */
	size_t ntids;
	unsigned mode; /* of texts: enum style_args_mode */

	struct replay_held held;
	struct spur_event held_switch;
	struct shown_row kept[2]; /* lines of a held function between two batches */
	bool quick; /* usual functions can be taken the short way */

	struct arena arena; /* of texts */
	struct replay_name *names[TRACE_CLASS_PAGES]; /* by class; made by stage, read by render */

	uint64_t prev; /* time of the last row */
	int64_t prev_tid;
	int32_t columns; /* of --column-view given out */
	uint64_t count; /* of --flat */
	bool shown; /* any line */
	bool failed;
};

static inline struct replay_name *replay_name(const struct replay *r, uint32_t cls)
{
	struct replay_name *page = r->names[cls / TRACE_CLASS_PAGE % TRACE_CLASS_PAGES];

	return page ? &page[cls % TRACE_CLASS_PAGE] : NULL;
}

/* Of the row's class. Returns false if out of memory. */
bool replay_make_name(struct replay *r, const struct spur_event *row);

bool replay_stage(void *self, struct marked_rows in, struct render_rows *out);
bool replay_flat_stage(void *self, struct marked_rows in, struct render_rows *out);
void replay_render(const void *self, const struct shown_row *rows, size_t n, struct out *o,
		   struct spur_args *scratch);
void replay_flat_render(const void *self, const struct shown_row *rows, size_t n, struct out *o,
			struct spur_args *scratch);

#endif
