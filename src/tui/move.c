/* Which part of the trace is shown, and which span is picked. */
#include <string.h>

#include "tui/tui.h"

/* --- times --- */

int64_t tui_end(const struct tui *t)
{
	const struct store_facts f = store_facts(t->store);

	return f.end > t->view->zero ? f.end : t->view->zero + 1;
}

static uint64_t length(const struct tui *t)
{
	return (uint64_t)tui_end(t) - (uint64_t)t->view->zero;
}

/* Returns the time `ns` after another, INT64_MAX at most. */
static int64_t later(int64_t t, uint64_t ns)
{
	return ns > (uint64_t)INT64_MAX - (uint64_t)t ? INT64_MAX : (int64_t)((uint64_t)t + ns);
}

static uint64_t whole_step(const struct tui *t)
{
	return length(t) / t->layout.cells + 1;
}

static uint64_t width_of(const struct tui *t)
{
	return t->window.step * t->layout.cells;
}

int64_t tui_window_end(const struct tui *t)
{
	return later(t->window.t0, width_of(t));
}

void tui_settle(struct tui *t)
{
	const int64_t zero = t->view->zero;
	const uint64_t most = whole_step(t), all = length(t);
	struct tui_window *const w = &t->window;

	if (t->whole || w->step >= most) {
		w->step = most;
		w->t0 = zero;
		t->whole = true;
	}
	if (!w->step)
		w->step = 1;
	if (w->t0 > zero && (uint64_t)w->t0 - (uint64_t)zero + width_of(t) > all)
		w->t0 = all > width_of(t) ? later(zero, all - width_of(t)) : zero;
	if (w->t0 < zero)
		w->t0 = zero;
	if (t->top + t->layout.rows > t->tracks.height)
		t->top = t->tracks.height > t->layout.rows ? t->tracks.height - t->layout.rows : 0;
}

/* Shows another window, and remembers the one before. */
static void show(struct tui *t, struct tui_window w)
{
	const struct tui_window before = t->window;

	t->whole = false;
	t->window = w;
	tui_settle(t);
	if (!memcmp(&before, &t->window, sizeof(before)))
		return;
	if (t->nhistory == TUI_HISTORY)
		memmove(t->history, t->history + 1, --t->nhistory * sizeof(*t->history));
	t->history[t->nhistory++] = before;
	t->dirty = true;
}

void tui_go(struct tui *t, int64_t t0, uint64_t step)
{
	show(t, (struct tui_window){ .t0 = t0 < t->view->zero ? t->view->zero : t0,
				     .step = step ? step : 1 });
}

void tui_go_back(struct tui *t)
{
	if (!t->nhistory) {
		tui_say(t, false, "this is the first view");
		return;
	}
	t->whole = false;
	t->window = t->history[--t->nhistory];
	tui_settle(t);
}

void tui_show_whole(struct tui *t)
{
	tui_go(t, t->view->zero, whole_step(t));
}

/* Returns the time that stays in place: the middle of what is picked, if that is seen. */
static int64_t anchor(const struct tui *t)
{
	const int64_t end = tui_window_end(t);

	if (t->picked) {
		const int64_t middle = t->pick.item.start + t->pick.item.dur / 2;

		if (middle >= t->window.t0 && middle < end)
			return middle;
	}
	return later(t->window.t0, width_of(t) / 2);
}

void tui_zoom(struct tui *t, uint64_t times, uint64_t by)
{
	const int64_t at = anchor(t);
	const uint64_t before = (uint64_t)at - (uint64_t)t->window.t0;
	const uint64_t most = whole_step(t);
	const uint64_t cell = before / t->window.step;
	uint64_t step;

	if (__builtin_mul_overflow(t->window.step, times, &step))
		step = most;
	else
		step = times > by ? (step + by - 1) / by : step / by;
	if (!step || step > most)
		step = step ? most : 1;
	tui_go(t,
	       (uint64_t)at - (uint64_t)t->view->zero > cell * step
		       ? (int64_t)((uint64_t)at - cell * step)
		       : t->view->zero,
	       step);
}

void tui_pan(struct tui *t, int parts)
{
	const uint64_t eighth = width_of(t) / 8 ? width_of(t) / 8 : 1;
	const uint64_t by = eighth * (uint64_t)(parts < 0 ? -parts : parts);
	const uint64_t at = (uint64_t)t->window.t0 - (uint64_t)t->view->zero;

	if (parts < 0)
		tui_go(t, at > by ? (int64_t)((uint64_t)t->window.t0 - by) : t->view->zero,
		       t->window.step);
	else
		tui_go(t, later(t->window.t0, by), t->window.step);
}

/* --- tracks --- */

void tui_scroll(struct tui *t, int64_t rows)
{
	if (rows < 0)
		t->top = t->top > (uint64_t)-rows ? t->top - (uint64_t)-rows : 0;
	else
		t->top += (uint64_t)rows;
	tui_settle(t);
}

/* Scrolls so that a row of all tracks is seen. */
static void scroll_to(struct tui *t, uint64_t y)
{
	const uint64_t rows = t->layout.rows;

	if (y < t->top)
		t->top = y;
	else if (y >= t->top + rows)
		t->top = y - rows + 1;
	tui_settle(t);
}

void tui_next_track(struct tui *t, int by)
{
	size_t i = tracks_row_of(&t->tracks, t->current);

	if (!t->tracks.nrows)
		return;
	if (i == SIZE_MAX)
		i = tracks_at(&t->tracks, t->top);
	else if (by > 0)
		i += i + 1 < t->tracks.nrows;
	else
		i -= i > 0;
	if (i >= t->tracks.nrows)
		i = t->tracks.nrows - 1;
	t->current = t->tracks.rows[i].track;
	scroll_to(t, t->tracks.rows[i].y);
}

/* --- picking --- */

/* Moves the picture so that the picked item is seen. */
static void show_pick(struct tui *t)
{
	const struct store_item *const i = &t->pick.item;
	const int64_t end = tui_window_end(t), last = later(i->start, (uint64_t)i->dur);
	const uint64_t half = width_of(t) / 2;
	size_t row = tracks_row_of(&t->tracks, t->pick.info.track);

	if (row == SIZE_MAX ||
	    (t->pick.info.depth && t->tracks.tracks[t->pick.info.track].folded)) {
		tracks_reveal(&t->tracks, t->pick.info.track);
		if (!tracks_update(&t->tracks, t->store, true))
			tui_say(t, true, "out of memory");
		row = tracks_row_of(&t->tracks, t->pick.info.track);
	}
	if (row != SIZE_MAX)
		scroll_to(t, t->tracks.rows[row].y + t->pick.info.depth);
	if (i->start >= end || last < t->window.t0 ||
	    ((uint64_t)i->dur < width_of(t) && (i->start < t->window.t0 || last > end))) {
		const int64_t middle = i->start + i->dur / 2;

		tui_go(t,
		       (uint64_t)middle - (uint64_t)t->view->zero > half
			       ? (int64_t)((uint64_t)middle - half)
			       : t->view->zero,
		       t->window.step);
	}
}

void tui_pick(struct tui *t, uint32_t lane, uint64_t number)
{
	struct view_item i;

	if (!view_item(t->view, lane, number, &i)) {
		tui_say(t, false, "no span is there");
		return;
	}
	t->pick = i;
	t->picked = true;
	t->current = i.info.track;
	t->message[0] = 0;
	show_pick(t);
	if (t->panel == PANEL_DETAILS)
		tui_renew_panel(t);
}

/* Picks the longest span of a lane that begins in a range. Returns false if the range has none. */
static bool pick_longest(struct tui *t, uint32_t lane, int64_t from, int64_t to)
{
	const struct store_query q = {
		.least = 1, .lanes = { .lanes = &lane, .n = 1 }, .from = from, .to = to
	};
	struct store_call call;
	size_t n = 0;

	if (lane == SPUR_NONE || !store_longest(t->store, &q, &call, 1, &n) || !n)
		return false;
	tui_pick(t, lane, call.place.number);
	return true;
}

/* Picks something on the screen: the longest of the current track, or of the first one with any. */
static void pick_first(struct tui *t)
{
	const int64_t end = tui_window_end(t);
	const size_t row = tracks_row_of(&t->tracks, t->current);
	size_t i = row == SIZE_MAX ? tracks_at(&t->tracks, t->top) : row;

	for (; i < t->tracks.nrows && (i == row || t->tracks.rows[i].y < t->top + t->layout.rows);
	     i++) {
		const uint32_t lane = tracks_lane(&t->tracks, &t->tracks.rows[i], 0);
		const uint64_t at =
			lane == SPUR_NONE ? 0 : store_seek(t->store, lane, t->window.t0);
		struct view_item item;

		if (pick_longest(t, lane, t->window.t0, end))
			return;
		if (lane != SPUR_NONE && view_item(t->view, lane, at, &item) &&
		    item.item.start < end) {
			tui_pick(t, lane, at);
			return;
		}
	}
	tui_say(t, false, "no span is on the screen");
}

void tui_pick_next(struct tui *t, uint32_t key)
{
	const struct view_item *const p = &t->pick;
	uint64_t number;
	uint32_t lane;

	if (!t->picked) {
		pick_first(t);
		return;
	}
	switch (key) {
	case SCREEN_LEFT:
		if (p->number)
			tui_pick(t, p->lane, p->number - 1);
		return;
	case SCREEN_RIGHT:
		if (p->number + 1 < p->info.items || !store_facts(t->store).done)
			tui_pick(t, p->lane, p->number + 1);
		return;
	case SCREEN_UP:
		number = store_parent(t->store, p->lane, p->number);
		lane = p->info.depth ? store_lane_at(t->store, p->info.track, p->info.depth - 1)
				     : SPUR_NONE;
		if (lane != SPUR_NONE && number != UINT64_MAX)
			tui_pick(t, lane, number);
		return;
	default:
		lane = store_lane_at(t->store, p->info.track, p->info.depth + 1);
		if (!pick_longest(t, lane, p->item.start,
				  later(p->item.start, (uint64_t)p->item.dur)))
			tui_say(t, false, "it has no callees");
	}
}

void tui_fit(struct tui *t)
{
	const uint64_t dur = (uint64_t)t->pick.item.dur;
	const uint64_t margin = dur / 20,
		       at = (uint64_t)t->pick.item.start - (uint64_t)t->view->zero;

	if (!t->picked) {
		tui_say(t, false, "no span is picked");
		return;
	}
	tui_go(t, at > margin ? t->pick.item.start - (int64_t)margin : t->view->zero,
	       (dur + 2 * margin) / t->layout.cells + 1);
	show_pick(t);
}

struct view_range tui_range(const struct tui *t)
{
	struct view_range r = { .from = t->window.t0, .to = tui_window_end(t) };

	if (t->has_from || t->has_to) {
		r.from = t->has_from ? t->from : t->view->zero;
		r.to = t->has_to ? t->to : later(tui_end(t), 1);
	} else if (t->whole || r.to > tui_end(t)) {
		r.to = later(tui_end(t), 1);
	}
	return r;
}
