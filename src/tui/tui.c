#include "tui/tui.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/os.h"
#include "view/serve.h"

enum {
	IDLE_MS =
		100, /* between looks for signals, the window's size, more of a store that grows */
	BUSY_MS = 15, /* between looks for answers */
	OVERVIEW_MS = 1000,
	HEAD_ROWS = 3,
};

void tui_say(struct tui *t, bool alarm, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(t->message, sizeof(t->message), fmt, args);
	va_end(args);
	t->alarm = alarm;
	t->dirty = true;
}

static int64_t now_ms(void)
{
	struct timespec now;

	os_clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Sets the number of cells, with as much of the trace on the screen as before. */
static void keep_times(struct tui *t, unsigned cells)
{
	const unsigned before = t->layout.cells;

	t->layout.cells = cells;
	if (!before || before == cells)
		return;
	if (!t->whole)
		t->window.step = (t->window.step * before + cells - 1) / cells;
	tui_settle(t);
	if (t->panel == PANEL_FUNCTIONS || t->panel == PANEL_CALLS)
		tui_renew_panel(t);
}

/* Divides the screen. */
static void set_layout(struct tui *t)
{
	struct tui_layout *const l = &t->layout;
	const unsigned width = screen_width(t->screen), height = screen_height(t->screen);
	unsigned rest;

	l->width = width < SCREEN_WIDTH_LEAST ? SCREEN_WIDTH_LEAST : width;
	l->height = height < SCREEN_HEIGHT_LEAST ? SCREEN_HEIGHT_LEAST : height;
	rest = l->height - HEAD_ROWS - 1;
	l->gutter = l->width / 5 < 14 ? 14 : l->width / 5 > 32 ? 32 : l->width / 5;
	keep_times(t, l->width - l->gutter);
	l->first = HEAD_ROWS;
	l->panel_rows = 0;
	if (t->panel == PANEL_HELP)
		l->panel_rows = rest;
	else if (t->panel != PANEL_NONE)
		l->panel_rows = rest < 20 ? rest / 2 : rest / 3 < 10 ? 10 : rest / 3;
	l->rows = rest - l->panel_rows;
	l->panel = HEAD_ROWS + l->rows;
}

static void draw(struct tui *t)
{
	struct glyph row[SCREEN_WIDTH_MOST];

	set_layout(t);
	screen_begin(t->screen);
	if (screen_width(t->screen) < SCREEN_WIDTH_LEAST ||
	    screen_height(t->screen) < SCREEN_HEIGHT_LEAST) {
		glyphs_clear(row, screen_width(t->screen));
		glyphs_printf(t->screen, row, screen_width(t->screen), (struct glyph){ 0 },
			      "at least %dx%d", SCREEN_WIDTH_LEAST, SCREEN_HEIGHT_LEAST);
		screen_row(t->screen, 0, row);
		screen_end(t->screen, 0, 0);
		return;
	}
	tui_settle(t);
	tui_draw_head(t);
	tui_draw_picture(t);
	tui_draw_panel(t);
	tui_draw_status(t);
}

static void ask_overview(struct tui *t)
{
	struct job *const job = job_new();

	if (job)
		jobs_ask(&t->jobs, JOB_OVERVIEW, job);
}

/* Takes in what has changed since the last look: more of the store, answers. */
static bool look(struct tui *t, int64_t *overview_at, bool *was_done)
{
	const bool done = store_facts(t->store).done,
		   failed = __atomic_load_n(&t->view->error, __ATOMIC_ACQUIRE) && !done;
	const int64_t now = now_ms();

	if (!*was_done) {
		if (!tracks_update(&t->tracks, t->store, false))
			return false;
		t->dirty = true;
		if (done || failed || now - *overview_at >= OVERVIEW_MS) {
			ask_overview(t);
			*overview_at = now;
		}
		if ((done || failed) && t->panel != PANEL_DETAILS)
			tui_renew_panel(t);
		*was_done = done || failed;
		if (done)
			tui_damage_count(t);
	}
	tui_take_jobs(t);
	return true;
}

static enum spur_status loop(struct tui *t)
{
	volatile const int *const stop = t->env->pipe.stop;
	int64_t overview_at = now_ms() - OVERVIEW_MS;
	bool was_done = false;

	while (!t->quit && !(stop && *stop)) {
		uint32_t key;

		if (!look(t, &overview_at, &was_done))
			return err_nomem(t->env->err);
		if (t->dirty)
			draw(t);
		t->dirty = false;
		key = screen_key(t->screen, jobs_busy(&t->jobs) ? BUSY_MS : IDLE_MS);
		if (key)
			tui_key(t, key);
		t->dirty |= screen_is_new(t->screen);
	}
	return SPUR_OK;
}

static enum spur_status run(struct view *v, struct pass_env *env, void *self)
{
	struct tui *const t = self;
	enum spur_status st;

	t->view = v;
	t->env = env;
	t->store = v->store;
	t->current = SPUR_NONE;
	t->calls_label = -1;
	t->whole = true;
	t->dirty = true;
	out_to_memory(&t->details);
	set_layout(t);
	st = jobs_begin(&t->jobs, v, env->err);
	if (st != SPUR_FAIL)
		st = loop(t);
	/* The terminal is the user's again, before what still runs is waited for. */
	screen_close(t->screen);
	t->screen = NULL;
	jobs_end(&t->jobs);
	v->stop = env->pipe.stop;
	tracks_free(&t->tracks);
	out_free(&t->details);
	mem_free(t->functions.sums);
	mem_free(t->functions.labels);
	return st;
}

enum spur_status tui_show(struct pass_env *env, const struct view_options *o)
{
	struct tui *const t = mem_alloc(sizeof(*t));
	enum spur_status st = t ? SPUR_OK : err_nomem(env->err);

	if (st != SPUR_FAIL)
		st = screen_open(&t->screen, env->opt->ascii, env->opt->color, env->err);
	if (st != SPUR_FAIL)
		st = view_with_store(env, o, run, t);
	if (t)
		screen_close(t->screen);
	mem_free(t);
	return st;
}
