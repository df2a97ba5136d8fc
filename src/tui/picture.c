/* The picture: a row for each lane, a column for each slice of time. */
#include <math.h>

#include "base/fnv.h"
#include "tui/tui.h"

/* Signs that are drawn in UTF-8, and in ASCII. */
enum sign { SIGN_EDGE, SIGN_SEVERAL, SIGN_TORN, SIGN_OFF_CPU, SIGN_EVENT, SIGN_PICK, SIGN_MARK };

static wchar_t sign(const struct tui *t, enum sign s)
{
	static const wchar_t plain[] = L"[:~-v>|",
			     drawn[] = L"\u258F\u2592~\u254C\u25BE\u25B6\u2502";

	return screen_is_ascii(t->screen) ? plain[s] : drawn[s];
}

/* Returns the colour of a label: that of its name, the same in every trace. */
static uint8_t label_color(const struct tui *t, uint32_t label)
{
	struct store_label l;
	uint64_t h;

	if (!view_label(t->view, label, &l))
		return COLOR_NAME;
	h = fnv_bytes(fnv_basis, l.name.p ? l.name.p : "", l.name.len);
	return (uint8_t)(COLOR_NAME + (h ^ h >> 32) % SCREEN_NAMES);
}

/* Writes the name of a label into the cells of a span. */
static void put_name(const struct tui *t, uint32_t label, struct glyph *row, size_t room,
		     struct glyph look)
{
	struct store_label l;

	if (view_label(t->view, label, &l) && l.name.len)
		glyphs_text(t->screen, row, room, l.name.p, l.name.len, look);
}

/* A run of cells that show the same. */
struct run {
	size_t first, n;
	uint32_t label, flags; /* of the first cell; SEVERAL if more than the item is in it */
	bool lost; /* the trace lacks events here */
	bool ends; /* the item ends in the last cell */
	bool picked;
};

static void draw_run(const struct tui *t, const struct run *r, struct glyph *row)
{
	struct glyph look = { .ch = L' ', .color = label_color(t, r->label) };
	struct glyph *const to = row + r->first;
	size_t at = 0;

	if (r->picked)
		look.style = STYLE_BOLD | STYLE_UNDERLINE |
			     (screen_has_color(t->screen) ? STYLE_REVERSE : 0);
	if (r->flags & STORE_CELL_OFF_CPU) {
		look.color = COLOR_HINT;
		look.ch = sign(t, SIGN_OFF_CPU);
	}
	for (size_t i = 0; i < r->n; i++)
		to[i] = look;
	if (r->lost) {
		to[0] = (struct glyph){ .ch = L'!', .color = COLOR_ALARM };
		at = 1;
	} else if (r->flags & STORE_CELL_EVENT) {
		look.ch = sign(t, SIGN_EVENT);
		look.color = COLOR_HINT;
		to[0] = look;
		at = 1;
	} else if (r->picked) {
		to[0].ch = sign(t, SIGN_PICK);
		at = 1;
	} else if (r->flags & STORE_CELL_SEVERAL) {
		to[0].ch = sign(t, SIGN_SEVERAL);
		at = 1;
	} else if (!(r->flags & STORE_CELL_LEFT)) {
		to[0].ch = sign(t, SIGN_EDGE);
		at = 1;
	}
	if (r->n > at + 2 && !(r->flags & STORE_CELL_EVENT))
		put_name(t, r->label, to + at, r->n - at - (r->flags & STORE_CELL_OPEN && r->ends),
			 look);
	if ((r->flags & STORE_CELL_OPEN) && r->ends && r->n > 1)
		to[r->n - 1].ch = sign(t, SIGN_TORN);
}

/* Returns true if the item goes on over the border between a cell and the next one. */
static bool is_same(const struct store_cell *a, const struct store_cell *b)
{
	return (b->flags & STORE_CELL_SHOWN) && a->number != UINT64_MAX && a->number == b->number;
}

/* The cells that the picked item takes are shown as its own. */
static void put_pick(const struct tui *t, struct store_cell *cells, size_t n)
{
	const struct store_item *const i = &t->pick.item;
	const int64_t t0 = t->window.t0, end = i->start + i->dur;
	const uint64_t step = t->window.step;

	for (size_t x = 0; x < n; x++) {
		const uint64_t from = (uint64_t)t0 + x * step, to = from + step;

		if (i->start >= (int64_t)to ||
		    (i->dur ? end <= (int64_t)from : end < (int64_t)from))
			continue;
		cells[x] = (struct store_cell){
			.number = t->pick.number,
			.label = i->label,
			.flags = STORE_CELL_SHOWN |
				 (i->start < (int64_t)from ? STORE_CELL_LEFT : 0) |
				 (end > (int64_t)to ? STORE_CELL_RIGHT : 0) |
				 (i->marks & STORE_OPEN ? STORE_CELL_OPEN : 0) |
				 (i->marks & STORE_SPAN ? 0 : STORE_CELL_EVENT) |
				 (view_is_off_cpu(i) ? STORE_CELL_OFF_CPU : 0)
		};
	}
}

static bool is_lost(const struct tui *t, uint32_t lane, const struct store_cell *c)
{
	struct store_item i;

	return (c->flags & STORE_CELL_EVENT) && c->number != UINT64_MAX &&
	       store_item(t->store, lane, c->number, &i) && i.kind == SPUR_LOST;
}

static void draw_spans(const struct tui *t, uint32_t lane, struct glyph *row)
{
	struct store_cell cells[SCREEN_WIDTH_MOST];
	const size_t n = t->layout.cells;
	const bool has_pick = t->picked && t->pick.lane == lane;

	store_cells(t->store, lane, t->window.t0, t->window.step, cells, n);
	if (has_pick)
		put_pick(t, cells, n);
	for (size_t x = 0; x < n;) {
		const struct store_cell *const c = &cells[x];
		/* Label 0 is time off the CPU, whatever its rows are called. */
		const uint32_t label = c->flags & STORE_CELL_OFF_CPU ? 0 : c->label;
		struct run r = { .first = x, .n = 1, .label = label, .flags = c->flags };

		if (!(c->flags & STORE_CELL_SHOWN)) {
			x++;
			continue;
		}
		while (x + r.n < n && is_same(c, &cells[x + r.n]))
			r.n++;
		/* What is wider than a cell has its own sign, whatever else is there. */
		if (c->flags & (STORE_CELL_LEFT | STORE_CELL_RIGHT))
			r.flags &= ~(uint32_t)STORE_CELL_SEVERAL;
		r.ends = !(cells[x + r.n - 1].flags & STORE_CELL_RIGHT);
		r.lost = is_lost(t, lane, c);
		r.picked = has_pick && c->number == t->pick.number;
		draw_run(t, &r, row);
		x += r.n;
	}
}

/* --- states --- */

/* Draws what a thread does: it runs, could run, waits. */
static void draw_states(const struct tui *t, uint32_t lane, struct glyph *row)
{
	static const struct glyph drawn[] = { [STORE_RUNNING] = { L'\u2588', COLOR_HINT, 0 },
					      [STORE_RUNNABLE] = { L'\u2592', COLOR_HINT, 0 },
					      [STORE_BLOCKED] = { L'\u00B7', COLOR_HINT, 0 } };
	static const wchar_t plain[] = {
		[STORE_RUNNING] = L'#', [STORE_RUNNABLE] = L'~', [STORE_BLOCKED] = L'.'
	};
	struct store_cell cells[SCREEN_WIDTH_MOST];
	const size_t n = t->layout.cells;

	store_cells(t->store, lane, t->window.t0, t->window.step, cells, n);
	for (size_t x = 0; x < n; x++) {
		if (!(cells[x].flags & STORE_CELL_SHOWN) || cells[x].label > STORE_BLOCKED)
			continue;
		row[x] = drawn[cells[x].label];
		if (screen_is_ascii(t->screen))
			row[x].ch = plain[cells[x].label];
	}
}

/* --- counters --- */

/* Draws a counter as bars: the greatest value of each cell, of those on the screen. */
static void draw_counter(const struct tui *t, uint32_t lane, const struct store_lane *info,
			 struct glyph *row)
{
	static const wchar_t drawn[] = L"\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588";
	static const wchar_t plain[] = L"12345678";
	const size_t n = t->layout.cells;
	double values[SCREEN_WIDTH_MOST], least = INFINITY, most = -INFINITY, last = NAN, span;

	for (size_t x = 0; x < n; x++) {
		const int64_t from = t->window.t0 + (int64_t)(x * t->window.step);
		const uint64_t at = store_seek(t->store, lane, from + (int64_t)t->window.step);
		struct store_item i;

		/* A value holds until the next one. */
		if (at && store_item(t->store, lane, at - 1, &i))
			last = store_number(info->kind, i.value);
		values[x] = last;
		if (!isfinite(last))
			continue;
		least = last < least ? last : least;
		most = last > most ? last : most;
	}
	/* Halves, as the difference of two finite numbers need not be one. */
	span = most / 2 - least / 2;
	for (size_t x = 0; x < n; x++) {
		const double part = span > 0 ? (values[x] / 2 - least / 2) / span : 0.5;

		if (isfinite(values[x]))
			row[x] = (struct glyph){ .ch = (screen_is_ascii(t->screen)
								? plain
								: drawn)[(int)(part * 7.99)],
						 .color = COLOR_HINT };
	}
}

/* --- rows --- */

/* Writes the name of a track, or of a counter, at the left. */
static void draw_name(const struct tui *t, const struct track_row *of, uint64_t line,
		      struct glyph *row)
{
	const struct track *const track = &t->tracks.tracks[of->track];
	const bool ascii = screen_is_ascii(t->screen),
		   foldable = of->group || of->height > 1 || track->folded;
	const size_t room = t->layout.gutter - 1;
	const uint32_t lane = tracks_lane(&t->tracks, of, line);
	struct glyph look = { .style = of->track == t->current ? STYLE_BOLD | STYLE_REVERSE : 0 };
	struct store_lane info;
	struct out name;
	size_t at = of->level < room / 2 ? of->level : room / 2;

	out_to_memory(&name);
	if (!line) {
		at += glyphs_printf(t->screen, row + at, room - at, look, "%s%s",
				    !foldable	    ? " "
				    : track->folded ? ascii ? "+" : "\u25B8"
				    : ascii	    ? "-"
						    : "\u25BE",
				    track->pin ? "*" : "");
		tracks_name(t->store, of->track, of->level > 0, &name);
	} else if (lane != SPUR_NONE && store_lane(t->store, lane, &info) &&
		   info.kind != STORE_SPANS) {
		struct store_label label;
		const struct store_text arg = store_string(t->store, info.arg);

		at += 2;
		look.style = 0;
		look.color = COLOR_HINT;
		if (info.kind == STORE_STATES) {
			out_str(&name, "state");
		} else if (store_label(t->store, info.label, &label)) {
			out_bytes(&name, label.name.p ? label.name.p : "", label.name.len);
			out_char(&name, ' ');
			out_bytes(&name, arg.p ? arg.p : "", arg.len);
		}
	}
	if (name.len && at < room)
		glyphs_text(t->screen, row + at, room - at, name.buf, name.len, look);
	out_free(&name);
}

/* Draws marks and the borders of the range over what is empty. */
static void draw_marks(const struct tui *t, struct glyph *row)
{
	const int64_t end = tui_window_end(t);
	const struct {
		bool has;
		int64_t at;
	} borders[] = { { t->has_from, t->from }, { t->has_to, t->to } };

	for (size_t i = 0; i < t->nmarks + 2; i++) {
		const int64_t at = i < t->nmarks ? t->marks[i] : borders[i - t->nmarks].at;
		struct glyph *g;

		if ((i >= t->nmarks && !borders[i - t->nmarks].has) || at < t->window.t0 ||
		    at >= end)
			continue;
		g = &row[((uint64_t)at - (uint64_t)t->window.t0) / t->window.step];
		if (g->ch == L' ' && g->color == COLOR_PLAIN)
			*g = (struct glyph){ .ch = sign(t, SIGN_MARK), .color = COLOR_HINT };
	}
}

static void draw_line(const struct tui *t, const struct track_row *of, uint64_t line,
		      struct glyph *row)
{
	const uint32_t lane = tracks_lane(&t->tracks, of, line);
	struct glyph *const cells = row + t->layout.gutter;
	struct store_lane info;

	draw_name(t, of, line, row);
	if (lane != SPUR_NONE && store_lane(t->store, lane, &info)) {
		if (info.kind == STORE_SPANS)
			draw_spans(t, lane, cells);
		else if (info.kind == STORE_STATES)
			draw_states(t, lane, cells);
		else
			draw_counter(t, lane, &info, cells);
	}
	draw_marks(t, cells);
}

void tui_draw_picture(struct tui *t)
{
	struct glyph row[SCREEN_WIDTH_MOST];
	size_t i = tracks_at(&t->tracks, t->top);

	for (unsigned y = 0; y < t->layout.rows; y++) {
		const uint64_t at = t->top + y;

		glyphs_clear(row, t->layout.width);
		if (i < t->tracks.nrows && at >= t->tracks.rows[i].y + t->tracks.rows[i].height)
			i++;
		if (i < t->tracks.nrows)
			draw_line(t, &t->tracks.rows[i], at - t->tracks.rows[i].y, row);
		else if (!t->tracks.nrows && !y)
			glyphs_printf(t->screen, row, t->layout.width, (struct glyph){ 0 }, "%s",
				      *t->tracks.filter		   ? "no track passes the filter"
				      : store_facts(t->store).done ? "no events"
								   : "reading ...");
		screen_row(t->screen, t->layout.first + y, row);
	}
}
