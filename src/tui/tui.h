/*
 * `spur tui`: a trace on a terminal. The picture is drawn from the store (store/store.h) at each
 * key; what takes longer (sums, searches, arguments) is done by a thread of its own (jobs.h).
 */
#ifndef SPUR_TUI_TUI_H
#define SPUR_TUI_TUI_H

#include "pass/view.h"
#include "tui/jobs.h"
#include "tui/screen.h"
#include "tui/tracks.h"

enum {
	TUI_HISTORY = 256, /* views that Backspace goes back to */
	TUI_MARKS = 64,
	DETAILS_NAMES = 12, /* columns of the names of details */
	TUI_TEXT = 512, /* bytes of a message, of what is typed */
};

/* Which times are shown. */
struct tui_window {
	int64_t t0; /* of the first cell */
	uint64_t step; /* ns of a cell */
};

enum tui_panel {
	PANEL_NONE,
	PANEL_DETAILS,
	PANEL_FUNCTIONS,
	PANEL_CALLS,
	PANEL_DAMAGE,
	PANEL_HELP,
};

enum tui_prompt {
	PROMPT_NONE,
	PROMPT_FIND,
	PROMPT_FILTER,
};

enum tui_sort {
	SORT_TOTAL,
	SORT_SELF,
	SORT_CALLS,
	SORT_AVERAGE,
	SORT_LEAST,
	SORT_MOST,
	SORT_NAME,
	SORTS,
};

/* Where things are on the screen, in columns and rows. */
struct tui_layout {
	unsigned width, height;
	unsigned gutter; /* width of the names */
	unsigned cells; /* of the picture */
	unsigned first, rows; /* of the picture */
	unsigned panel, panel_rows; /* first row; 0 rows: there is no panel */
};

/* The function list of a range. */
struct tui_functions {
	struct store_sum *sums; /* by label */
	uint32_t *labels; /* those with calls, sorted */
	size_t n;
	int64_t from, to;
	enum tui_sort sort;
	bool turned; /* the order is reversed */
};

struct tui {
	struct view *view;
	struct pass_env *env;
	const struct store *store;
	struct screen *screen;
	struct jobs jobs;
	struct tracks tracks;
	struct tui_layout layout;

	struct tui_window window, history[TUI_HISTORY];
	size_t nhistory;
	bool whole; /* the window follows the trace while it grows */
	uint64_t top; /* row of all tracks at the top of the picture */
	uint32_t current; /* track that keys act on; SPUR_NONE */

	bool picked;
	struct view_item pick;
	bool has_from, has_to; /* of the marked range */
	int64_t from, to;
	int64_t marks[TUI_MARKS]; /* sorted */
	size_t nmarks;

	enum tui_panel panel;
	bool focused; /* keys act on the panel */
	size_t line, line_top; /* of the panel: chosen, first on the screen */
	bool exact; /* times of the panel are whole ns */
	struct tui_functions functions;
	struct view_item calls[VIEW_CALLS_MOST];
	size_t ncalls;
	int64_t calls_label; /* -1: all functions */
	struct out details; /* lines */
	bool waiting; /* the panel's job has not ended */

	enum tui_prompt prompt;
	char typed[TUI_TEXT], query[TUI_TEXT];
	size_t ntyped;
	char message[TUI_TEXT];
	bool alarm; /* the message is an error */
	uint8_t overview[VIEW_OVERVIEW];
	size_t nnotes, nlost; /* of a finished store: notes and losses that are shown */
	bool dirty; /* the screen is to be drawn again */
	bool quit;
};

/* Shows the trace until the user ends it: the function for view_options.serve. */
enum spur_status tui_show(struct pass_env *env, const struct view_options *o);

/* Sets the message of the last row; `alarm`: an error. */
void tui_say(struct tui *t, bool alarm, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Returns the end of the trace, as far as it is known; above its begin. */
int64_t tui_end(const struct tui *t);
/* Returns the time of the first cell behind the picture. */
int64_t tui_window_end(const struct tui *t);
/* Returns the marked range, or that on the screen: from, to, all tracks. */
struct view_range tui_range(const struct tui *t);

/* --- moving and picking: move.c --- */

/* Shows the window with its begin near `t0`; the former one is kept in the history. */
void tui_go(struct tui *t, int64_t t0, uint64_t step);
void tui_go_back(struct tui *t);
/* Shows all times. */
void tui_show_whole(struct tui *t);
/* Zooms so that a cell has step * times / by ns; what is picked, or the centre, stays in place. */
void tui_zoom(struct tui *t, uint64_t times, uint64_t by);
/* Pans by `parts` eighths of the picture. */
void tui_pan(struct tui *t, int parts);
/* Scrolls by rows. */
void tui_scroll(struct tui *t, int64_t rows);
/* Makes the next or previous track the current one. */
void tui_next_track(struct tui *t, int by);
/* Keeps what is shown within the trace. */
void tui_settle(struct tui *t);
/* Picks an item, and moves the picture so that it is seen. */
void tui_pick(struct tui *t, uint32_t lane, uint64_t number);
/* The arrow keys: picks a neighbour (SCREEN_LEFT, _RIGHT), the caller (_UP) or longest callee. */
void tui_pick_next(struct tui *t, uint32_t key);
/* Fits the picked item to the screen. */
void tui_fit(struct tui *t);

/* --- the picture: picture.c, axis.c --- */

void tui_draw_picture(struct tui *t);
/* Draws the title, the overview and the axis. */
void tui_draw_head(struct tui *t);
/* Writes a time after the trace's begin with the unit and the decimals that `distance` asks for. */
size_t tui_time_text(char *to, size_t size, int64_t ns, uint64_t distance);

/* --- panels: panel.c, functions.c, damage.c, help.c --- */

void tui_draw_panel(struct tui *t);
/* Opens a panel, or closes it if it is open. */
void tui_open_panel(struct tui *t, enum tui_panel panel);
void tui_close_panel(struct tui *t);
/* Asks for what the panel shows anew, for instance of another range. */
void tui_renew_panel(struct tui *t);
/* Handles a key while the panel has the focus. Returns false if it means nothing there. */
bool tui_panel_key(struct tui *t, uint32_t key);
/* Writes a line of the panel, or with `line` SIZE_MAX its head. */
void tui_functions_line(const struct tui *t, size_t line, struct glyph *row, size_t room);
void tui_calls_line(const struct tui *t, size_t line, struct glyph *row, size_t room);
/* Takes over sums, which become the panel's; sorts them. Returns false if out of memory. */
bool tui_functions_take(struct tui *t, struct store_sum *sums, uint32_t n);
void tui_functions_sort(struct tui *t);
/* Picks the next call of the chosen function. */
void tui_functions_pick(struct tui *t);
/* Counts notes and losses of a finished store. */
void tui_damage_count(struct tui *t);
size_t tui_damage_lines(const struct tui *t);
void tui_damage_line(const struct tui *t, size_t line, struct glyph *row, size_t room);
/* Shows the time of the chosen line. */
void tui_damage_go(struct tui *t);
/* Marks damage and losses in the overview, of `n` cells. */
void tui_damage_ticks(const struct tui *t, struct glyph *cells, size_t n);
extern const char *const tui_help[]; /* lines, ended by NULL */

/* --- keys: keys.c, find.c --- */

void tui_key(struct tui *t, uint32_t key);
void tui_draw_status(struct tui *t);
/* Goes to the next hit of the query, or back to the one before. */
void tui_find(struct tui *t, bool back);
/* Takes in what jobs found. */
void tui_take_jobs(struct tui *t);

#endif
