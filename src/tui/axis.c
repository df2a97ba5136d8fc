/* The upper rows: what is shown, where in the trace it is, and the times. */
#include <stdio.h>
#include <string.h>

#include "tui/tui.h"

size_t tui_time_text(char *to, size_t size, int64_t ns, uint64_t distance)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };
	const uint64_t size_ns = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	unsigned u = 0, decimals = 0;
	uint64_t part;
	int n;

	while (u < 3 && units[u].ns > (size_ns > distance ? size_ns : distance))
		u++;
	for (part = units[u].ns; part > 1 && part > distance; part /= 10)
		decimals++;
	if (decimals)
		n = snprintf(to, size, "%s%llu.%0*llu %s", ns < 0 ? "-" : "",
			     (unsigned long long)(size_ns / units[u].ns), (int)decimals,
			     (unsigned long long)(size_ns % units[u].ns / part), units[u].name);
	else
		n = snprintf(to, size, "%s%llu %s", ns < 0 ? "-" : "",
			     (unsigned long long)(size_ns / units[u].ns), units[u].name);
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

/* Returns the distance between marks of the axis: 1, 2 or 5 times a power of ten. */
static uint64_t mark_distance(uint64_t least)
{
	uint64_t ten = 1;

	while (ten < least / 10)
		ten *= 10;
	return ten >= least	  ? ten
	       : 2 * ten >= least ? 2 * ten
	       : 5 * ten >= least ? 5 * ten
				  : 10 * ten;
}

static void draw_axis(const struct tui *t)
{
	enum { COLUMNS = 14 };
	struct glyph row[SCREEN_WIDTH_MOST];
	struct glyph *const cells = row + t->layout.gutter;
	const struct glyph hint = { .color = COLOR_HINT };
	const uint64_t step = t->window.step, distance = mark_distance(step * COLUMNS);
	const uint64_t first = (uint64_t)t->window.t0 - (uint64_t)t->view->zero;
	const uint64_t end = first + step * t->layout.cells;
	char text[48];

	glyphs_clear(row, t->layout.width);
	for (uint64_t at = (first + distance - 1) / distance * distance;
	     at < end && at <= INT64_MAX; at += distance) {
		const size_t x = (at - first) / step;

		tui_time_text(text, sizeof(text), (int64_t)at, distance);
		glyphs_printf(t->screen, cells + x, t->layout.cells - x, hint, "%s%s",
			      screen_is_ascii(t->screen) ? "|" : "\u2502", text);
	}
	screen_row(t->screen, 2, row);
}

static void draw_overview(const struct tui *t)
{
	static const wchar_t drawn[] = L" \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588";
	static const wchar_t plain[] = L" .:-=+*%#";
	const wchar_t *const bars = screen_is_ascii(t->screen) ? plain : drawn;
	const size_t n = t->layout.cells;
	const uint64_t all = (uint64_t)tui_end(t) - (uint64_t)t->view->zero;
	const uint64_t first = (uint64_t)t->window.t0 - (uint64_t)t->view->zero;
	const uint64_t end = first + t->window.step * n;
	const size_t damage = tui_damage_lines(t);
	struct glyph row[SCREEN_WIDTH_MOST];

	glyphs_clear(row, t->layout.width);
	if (damage)
		glyphs_printf(t->screen, row, t->layout.gutter - 1,
			      (struct glyph){ .color = COLOR_ALARM }, "! %zu messages", damage);
	for (size_t x = 0; x < n; x++) {
		const size_t a = x * VIEW_OVERVIEW / n, b = (x + 1) * VIEW_OVERVIEW / n;
		const uint64_t from = (uint64_t)((unsigned __int128)all * x / n);
		const uint64_t to = (uint64_t)((unsigned __int128)all * (x + 1) / n);
		struct glyph *const g = &row[t->layout.gutter + x];
		uint8_t most = 0;

		for (size_t i = a; i < b || i == a; i++)
			most = t->overview[i] > most ? t->overview[i] : most;
		g->ch = bars[most ? 1 + (most - 1) * 8 / 255 : 0];
		if (from < end && to > first && (first || end < all))
			g->style = STYLE_REVERSE;
	}
	tui_damage_ticks(t, row + t->layout.gutter, n);
	screen_row(t->screen, 1, row);
}

static void draw_title(const struct tui *t)
{
	const struct store_facts f = store_facts(t->store);
	const struct glyph bold = { .style = STYLE_BOLD }, plain = { 0 };
	struct glyph row[SCREEN_WIDTH_MOST];
	char from[48], width[48];
	size_t at, len;
	char text[160];

	glyphs_clear(row, t->layout.width);
	tui_time_text(from, sizeof(from), t->window.t0 - t->view->zero, t->window.step);
	tui_time_text(width, sizeof(width), tui_window_end(t) - t->window.t0, t->window.step);
	snprintf(text, sizeof(text), "%s, %llu span%s%s, from %s: %s",
		 spur_format_name(t->view->trace), (unsigned long long)f.spans,
		 f.spans == 1 ? "" : "s",
		 __atomic_load_n(&t->view->error, __ATOMIC_ACQUIRE) ? ", incomplete"
		 : f.done					    ? ""
								    : " so far",
		 from, width);
	len = strlen(text);
	at = glyphs_text(t->screen, row, t->layout.width > len + 2 ? t->layout.width - len - 2 : 1,
			 t->view->name, strlen(t->view->name), bold);
	glyphs_text(t->screen, row + at + 2, t->layout.width - at - 2, text, len, plain);
	screen_row(t->screen, 0, row);
}

void tui_draw_head(struct tui *t)
{
	draw_title(t);
	draw_overview(t);
	draw_axis(t);
}
