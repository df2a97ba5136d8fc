/* The lower part of the screen: details, functions, calls, damage, help. */
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "tui/tui.h"

static size_t help_lines(void)
{
	size_t n = 0;

	while (tui_help[n])
		n++;
	return n;
}

static size_t text_lines(const struct out *o)
{
	size_t n = o->len != 0;

	for (size_t i = 0; i < o->len; i++)
		n += o->buf[i] == '\n';
	return n;
}

/* Returns the number of lines of the panel. */
static size_t panel_lines(const struct tui *t)
{
	switch (t->panel) {
	case PANEL_DETAILS:
		return text_lines(&t->details);
	case PANEL_FUNCTIONS:
		return t->functions.n;
	case PANEL_CALLS:
		return t->ncalls;
	case PANEL_DAMAGE:
		return tui_damage_lines(t);
	case PANEL_HELP:
		return help_lines();
	default:
		return 0;
	}
}

/* --- opening --- */

static struct job *ask(struct tui *t)
{
	struct job *const job = job_new();

	if (!job)
		tui_say(t, true, "out of memory");
	t->waiting = job != NULL;
	return job;
}

void tui_renew_panel(struct tui *t)
{
	const struct view_range range = tui_range(t);
	struct job *job;

	t->dirty = true;
	if (t->panel == PANEL_DETAILS) {
		out_clear(&t->details);
		job = t->picked ? ask(t) : NULL;
		if (job) {
			job->item = t->pick;
			jobs_ask(&t->jobs, JOB_DETAILS, job);
		}
	} else if (t->panel == PANEL_FUNCTIONS || t->panel == PANEL_CALLS) {
		job = ask(t);
		if (!job)
			return;
		job->range = range;
		job->label = t->calls_label;
		if (t->panel == PANEL_FUNCTIONS) {
			t->functions.from = range.from;
			t->functions.to = range.to;
		}
		jobs_ask(&t->jobs, t->panel == PANEL_FUNCTIONS ? JOB_FUNCTIONS : JOB_CALLS, job);
	}
}

void tui_close_panel(struct tui *t)
{
	t->panel = PANEL_NONE;
	t->focused = t->waiting = false;
	t->dirty = true;
}

void tui_open_panel(struct tui *t, enum tui_panel panel)
{
	if (t->panel == panel) {
		tui_close_panel(t);
		return;
	}
	if (panel == PANEL_DETAILS && !t->picked) {
		tui_say(t, false, "no span is picked: arrow keys pick one");
		return;
	}
	if (panel == PANEL_DAMAGE && !tui_damage_lines(t)) {
		tui_say(t, false, "no damage was found");
		return;
	}
	t->panel = panel;
	t->focused = panel != PANEL_DETAILS;
	t->line = t->line_top = 0;
	t->waiting = false;
	tui_renew_panel(t);
}

/* --- keys --- */

static void panel_enter(struct tui *t)
{
	if (t->panel == PANEL_FUNCTIONS)
		tui_functions_pick(t);
	else if (t->panel == PANEL_DAMAGE)
		tui_damage_go(t);
	else if (t->panel == PANEL_CALLS && t->line < t->ncalls)
		tui_pick(t, t->calls[t->line].lane, t->calls[t->line].number);
}

/* Opens the longest calls of the chosen function. */
static void panel_calls_of(struct tui *t)
{
	if (t->line >= t->functions.n)
		return;
	t->calls_label = t->functions.labels[t->line];
	t->ncalls = 0;
	tui_open_panel(t, PANEL_CALLS);
}

static void panel_sort(struct tui *t, bool turn)
{
	if (turn)
		t->functions.turned = !t->functions.turned;
	else
		t->functions.sort = (t->functions.sort + 1) % SORTS;
	tui_functions_sort(t);
	t->line = t->line_top = 0;
}

/* Moves the chosen line. */
static void panel_move(struct tui *t, int64_t by)
{
	const size_t n = panel_lines(t);

	if (by < 0)
		t->line = t->line > (uint64_t)-by ? t->line - (size_t)-by : 0;
	else
		t->line += (size_t)by;
	if (t->line >= n)
		t->line = n ? n - 1 : 0;
}

bool tui_panel_key(struct tui *t, uint32_t key)
{
	const int64_t page = t->layout.panel_rows > 2 ? t->layout.panel_rows - 2 : 1;

	switch (key) {
	case SCREEN_UP:
		panel_move(t, -1);
		return true;
	case SCREEN_DOWN:
		panel_move(t, 1);
		return true;
	case SCREEN_PAGE_UP:
		panel_move(t, -page);
		return true;
	case SCREEN_PAGE_DOWN:
		panel_move(t, page);
		return true;
	case SCREEN_FIRST:
		t->line = 0;
		return true;
	case SCREEN_LAST:
		panel_move(t, INT32_MAX);
		return true;
	case SCREEN_ENTER:
		panel_enter(t);
		return true;
	default:
		break;
	}
	if (t->panel != PANEL_FUNCTIONS)
		return false;
	if (key == 'o' || key == 'O')
		panel_sort(t, key == 'O');
	else if (key == 'l')
		panel_calls_of(t);
	else
		return false;
	return true;
}

/* --- drawing --- */

/* Writes a line of a name, a tab and a value. */
static void details_line(const struct tui *t, size_t line, struct glyph *row, size_t room)
{
	struct text rest = text_make(t->details.buf, t->details.len), found, name;

	for (size_t i = 0; i <= line; i++)
		if (!text_line(&rest, &found))
			return;
	if (!text_split(&found, '\t', &name))
		return;
	glyphs_text(t->screen, row, DETAILS_NAMES < room ? DETAILS_NAMES : room, name.p, name.len,
		    (struct glyph){ .color = COLOR_HINT });
	if (room > DETAILS_NAMES && found.len)
		glyphs_text(t->screen, row + DETAILS_NAMES, room - DETAILS_NAMES, found.p,
			    found.len, (struct glyph){ 0 });
}

static void panel_head(const struct tui *t, struct glyph *row, size_t room)
{
	static const char *const names[] = { [PANEL_DETAILS] = "Details",
					     [PANEL_FUNCTIONS] = "Functions",
					     [PANEL_CALLS] = "Longest calls",
					     [PANEL_DAMAGE] = "Damage and notes",
					     [PANEL_HELP] = "Keys" };
	const struct glyph look = { .style = (uint8_t)(STYLE_BOLD |
						       (t->focused ? STYLE_REVERSE : 0)) };
	const int64_t zero = t->view->zero, end = tui_end(t);
	struct view_range range = tui_range(t);

	if (t->panel == PANEL_FUNCTIONS)
		range = (struct view_range){ .from = t->functions.from, .to = t->functions.to };
	for (size_t i = 0; i < room; i++)
		row[i] = (struct glyph){ .ch = L' ', .style = look.style };
	if (t->panel == PANEL_FUNCTIONS || t->panel == PANEL_CALLS)
		glyphs_printf(
			t->screen, row, room, look, "%s: %zu, --from %lldns --until %lldns%s%s",
			names[t->panel], panel_lines(t), (long long)(range.from - zero),
			(long long)((range.to > end ? end + 1 : range.to) - zero),
			t->has_from || t->has_to ? " (marked)" : "", t->waiting ? " ..." : "");
	else
		glyphs_printf(t->screen, row, room, look, "%s%s", names[t->panel],
			      t->waiting ? " ..." : "");
}

static void panel_line(const struct tui *t, size_t line, struct glyph *row, size_t room)
{
	switch (t->panel) {
	case PANEL_DETAILS:
		details_line(t, line, row, room);
		break;
	case PANEL_FUNCTIONS:
		tui_functions_line(t, line, row, room);
		break;
	case PANEL_CALLS:
		tui_calls_line(t, line, row, room);
		break;
	case PANEL_DAMAGE:
		tui_damage_line(t, line, row, room);
		break;
	default:
		glyphs_text(t->screen, row, room, tui_help[line], strlen(tui_help[line]),
			    (struct glyph){ 0 });
	}
}

void tui_draw_panel(struct tui *t)
{
	const bool columns = t->panel == PANEL_FUNCTIONS || t->panel == PANEL_CALLS;
	const bool chosen = columns || t->panel == PANEL_DAMAGE;
	const unsigned head = 1 + columns;
	const unsigned lines = t->layout.panel_rows > head ? t->layout.panel_rows - head : 0;
	const size_t n = panel_lines(t), room = t->layout.width;
	struct glyph row[SCREEN_WIDTH_MOST];

	if (!t->layout.panel_rows)
		return;
	panel_move(t, 0);
	if (t->line < t->line_top)
		t->line_top = t->line;
	if (lines && t->line >= t->line_top + lines)
		t->line_top = t->line - lines + 1;
	glyphs_clear(row, room);
	panel_head(t, row, room);
	screen_row(t->screen, t->layout.panel, row);
	if (columns) {
		glyphs_clear(row, room);
		panel_line(t, SIZE_MAX, row, room);
		screen_row(t->screen, t->layout.panel + 1, row);
	}
	for (unsigned i = 0; i < lines; i++) {
		const size_t line = t->line_top + i;

		glyphs_clear(row, room);
		if (line < n)
			panel_line(t, line, row, room);
		for (size_t x = 0; x < room && t->focused && line == t->line && chosen; x++)
			row[x].style |= STYLE_REVERSE;
		screen_row(t->screen, t->layout.panel + head + i, row);
	}
}
