/* What the two halves of the uftrace style of replay share: lines, as rows between stage and render. */
#ifndef SPUR_PASS_UFTRACE_REPLAY_H
#define SPUR_PASS_UFTRACE_REPLAY_H

#include "pass/uftrace/args.h"
#include "pass/uftrace/task.h"

/* In `cat` of a row for render(); dur: what the duration column shows; depth: of the indent. */
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

enum replay_column { COLUMN_DURATION, COLUMN_TID, COLUMN_ADDR, COLUMN_TIME, COLUMN_DELTA, COLUMN_ELAPSED, COLUMN_TASK, COLUMN_MODULE, COLUMNS };

extern const struct style_field replay_columns[COLUMNS];

struct replay_tid {
	char text[24]; /* "[   1234]" */
	uint8_t len;
};

struct replay {
	struct style s;
	struct style_fields fields;
	struct filter *filter;
	bool cells; /* lines need more than duration and tid */
	struct replay_tid *tids; /* by track */
	size_t ntids;
	unsigned mode; /* of texts: enum style_args_mode */

	/* The last ENTRY or SWITCH out, whose end may follow at once. */
	struct spur_event held;
	size_t held_task;
	bool holding;

	uint64_t prev; /* time of the last row */
	int64_t prev_tid;
	int32_t columns; /* of --column-view given out */
	uint64_t count; /* of --flat */
	bool failed;
};

bool replay_stage(void *self, struct spur_event *rows, size_t n, struct render_rows *out);
bool replay_flat_stage(void *self, struct spur_event *rows, size_t n, struct render_rows *out);
void replay_render(const void *self, const struct spur_event *rows, size_t n, struct out *o, struct spur_args *scratch);
void replay_flat_render(const void *self, const struct spur_event *rows, size_t n, struct out *o,
			struct spur_args *scratch);

#endif
