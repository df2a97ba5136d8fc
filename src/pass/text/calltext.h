/*
 * Lines of nested calls as our own replay shows them: columns, indentation, `name(args) {`, `} = value;`,
 * `leaf();`, comments for events. A row tells all that its line needs: depth, dur and flags are set by whoever nests
 * the calls.
 */
#ifndef SPUR_PASS_TEXT_CALLTEXT_H
#define SPUR_PASS_TEXT_CALLTEXT_H

#include <pthread.h>

#include "pass/pass.h"
#include "pass/text/when.h"

enum {
	CALLTEXT_PAGE = 1024,
	CALLTEXT_PAGES = 16384, /* 2^24 classes */
	CALLTEXT_QUICK = 56, /* bytes of the columns that depend on the thread only */
};

/* Flags of rows to be shown, beside enum spur_flag. */
enum calltext_flag {
	ROW_BACKTRACE = 0x0800, /* BEGIN: not a call, a line that names a caller */
	ROW_RETURN = 0x1000, /* leaf BEGIN: its END comes next, for the return value; END: is that */
};

enum calltext_column {
	CALLCOL_TIME, CALLCOL_DURATION, CALLCOL_TID, CALLCOL_PID, CALLCOL_TASK, CALLCOL_CPU, CALLCOL_MODULE, CALLCOL_ADDR,
	CALLCOLS
};

/* What lines show of a class. */
struct shown_name {
	const char *text; /* NULL: not made yet (atomic) */
	const char *module, *where;
	uint32_t len, module_len, where_len;
	uint8_t marks; /* enum filter_mark */
	uint8_t color; /* enum filter_color; 0: none */
};

/* Shared by all threads: what is made on the way is made under the lock and never moves. */
struct calltext {
	struct pass_env *env;
	struct when when;
	int columns[CALLCOLS];
	unsigned widths[CALLCOLS];
	size_t ncolumns;
	bool quick; /* the columns are the duration and what depends on the thread only */
	pthread_mutex_t lock;
	struct shown_name *names[CALLTEXT_PAGES]; /* pages, by class (atomic) */
	struct arena arena;
	struct out scratch;
};

/* A renderer's own: one thread at a time. */
struct calltext_pen {
	uint32_t track; /* whose columns these are */
	uint32_t len; /* of the text; 0: none yet, or too long for it */
	char text[CALLTEXT_QUICK];
	struct spur_args args; /* scratch */
};

/* Reads --fields and --time. calltext_free() in any case. */
enum spur_status calltext_init(struct calltext *c, struct pass_env *env);
void calltext_free(struct calltext *c);
void calltext_header(const struct calltext *c);

bool calltext_make_name(struct calltext *c, uint32_t cls);
/* The class's name; to be asked for before the first row of it is shown. NULL: memory is out. */
static inline const struct shown_name *calltext_name(struct calltext *c, uint32_t cls)
{
	struct shown_name *page;

	if (__builtin_expect(cls / CALLTEXT_PAGE >= CALLTEXT_PAGES, 0))
		return NULL;
	page = __atomic_load_n(&c->names[cls / CALLTEXT_PAGE], __ATOMIC_ACQUIRE);
	if (__builtin_expect(!page || !__atomic_load_n(&page[cls % CALLTEXT_PAGE].text, __ATOMIC_ACQUIRE), 0)) {
		if (!calltext_make_name(c, cls))
			return NULL;
		page = c->names[cls / CALLTEXT_PAGE];
	}
	return &page[cls % CALLTEXT_PAGE];
}

/* Appends the row's line; of a leaf with ROW_RETURN all but its end, which the next row brings. `n` is its class's name. */
void calltext_begin(const struct calltext *c, struct calltext_pen *pen, const struct spur_event *row,
		    const struct shown_name *n, struct out *o);
void calltext_end(const struct calltext *c, struct calltext_pen *pen, const struct spur_event *row, const struct shown_name *n,
		  struct out *o);
void calltext_return(const struct calltext *c, struct calltext_pen *pen, const struct spur_event *row,
		     const struct shown_name *n, struct out *o);
void calltext_event(const struct calltext *c, struct calltext_pen *pen, const struct spur_event *row,
		    const struct shown_name *n, struct out *o);

#endif
