/* What keys do, and the last row of the screen, where text is typed. */
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "render/cell.h"
#include "tui/tui.h"

enum { CTRL_L = 'L' - '@', CTRL_U = 'U' - '@', ESCAPE = 27, TAB = 9 };

/* --- what is typed --- */

static void prompt_begin(struct tui *t, enum tui_prompt prompt)
{
	t->prompt = prompt;
	t->ntyped = 0;
	t->typed[0] = 0;
	t->message[0] = 0;
}

/* Appends a character as UTF-8, if there is room. */
static void prompt_add(struct tui *t, uint32_t c)
{
	unsigned char b[4];
	size_t n;

	if (c < 0x80) {
		b[0] = (unsigned char)c;
		n = 1;
	} else if (c < 0x800) {
		b[0] = (unsigned char)(0xC0 | c >> 6);
		n = 2;
	} else if (c < 0x10000) {
		b[0] = (unsigned char)(0xE0 | c >> 12);
		n = 3;
	} else {
		b[0] = (unsigned char)(0xF0 | c >> 18);
		n = 4;
	}
	for (size_t i = 1; i < n; i++)
		b[i] = (unsigned char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3F));
	if (t->ntyped + n >= sizeof(t->typed))
		return;
	memcpy(t->typed + t->ntyped, b, n);
	t->ntyped += n;
	t->typed[t->ntyped] = 0;
}

static void prompt_remove(struct tui *t)
{
	while (t->ntyped && (t->typed[t->ntyped - 1] & 0xC0) == 0x80)
		t->ntyped--;
	t->ntyped -= t->ntyped > 0;
	t->typed[t->ntyped] = 0;
}

static void update_tracks(struct tui *t)
{
	if (!tracks_update(&t->tracks, t->store, true))
		tui_say(t, true, "out of memory");
	tui_settle(t);
}

static void prompt_end(struct tui *t)
{
	const enum tui_prompt prompt = t->prompt;

	t->prompt = PROMPT_NONE;
	if (prompt == PROMPT_FIND) {
		if (t->ntyped)
			memcpy(t->query, t->typed, t->ntyped + 1);
		tui_find(t, false);
		return;
	}
	if (t->ntyped >= sizeof(t->tracks.filter)) {
		tui_say(t, true, "expected at most %zu bytes", sizeof(t->tracks.filter) - 1);
		return;
	}
	memcpy(t->tracks.filter, t->typed, t->ntyped + 1);
	t->top = 0;
	update_tracks(t);
}

static void prompt_key(struct tui *t, uint32_t key)
{
	if (key == SCREEN_ENTER)
		prompt_end(t);
	else if (key == ESCAPE)
		t->prompt = PROMPT_NONE;
	else if (key == SCREEN_BACKSPACE || key == SCREEN_DELETE)
		prompt_remove(t);
	else if (key == CTRL_U)
		prompt_begin(t, t->prompt);
	else if (key >= ' ' && key < KEY_BASE && key != 0x7F)
		prompt_add(t, key);
}

/* --- the last row --- */

/* Says what is picked. */
static size_t draw_pick(const struct tui *t, struct glyph *row, size_t room)
{
	const struct store_item *const i = &t->pick.item;
	struct store_label l;
	char dur[16] = "", at[48];
	size_t x;

	view_label(t->view, i->label, &l);
	*put_time(dur, (uint64_t)i->dur) = 0;
	tui_time_text(at, sizeof(at), i->start - t->view->zero, 1);
	x = glyphs_printf(t->screen, row, room, (struct glyph){ 0 }, "%s at %s, depth %u: ",
			  i->marks & STORE_SPAN ? dur + strspn(dur, " ") : "event", at,
			  t->pick.info.depth);
	if (l.name.p)
		x += glyphs_text(t->screen, row + x, room - x, l.name.p, l.name.len,
				 (struct glyph){ .style = STYLE_BOLD });
	return x;
}

void tui_draw_status(struct tui *t)
{
	const char *const error = __atomic_load_n(&t->view->error, __ATOMIC_ACQUIRE);
	const size_t room = t->layout.width;
	struct glyph row[SCREEN_WIDTH_MOST];
	const char *const what = t->prompt == PROMPT_FIND ? "/" : "tracks: ";
	const unsigned y = t->layout.height - 1;
	size_t x = 0;

	glyphs_clear(row, room);
	if (t->prompt != PROMPT_NONE) {
		const size_t before = t->ntyped > room / 2 ? t->ntyped - room / 2 : 0;

		x = glyphs_printf(t->screen, row, room, (struct glyph){ .style = STYLE_BOLD }, "%s",
				  what);
		x += glyphs_text(t->screen, row + x, room - x, t->typed + before,
				 t->ntyped - before, (struct glyph){ 0 });
	} else if (*t->message) {
		glyphs_text(t->screen, row, room, t->message, strlen(t->message),
			    (struct glyph){ .color = t->alarm ? COLOR_ALARM : COLOR_PLAIN });
	} else if (error) {
		glyphs_text(t->screen, row, room, error, strlen(error),
			    (struct glyph){ .color = COLOR_ALARM });
	} else if (t->picked) {
		draw_pick(t, row, room);
	} else {
		glyphs_printf(t->screen, row, room, (struct glyph){ .color = COLOR_HINT },
			      "? keys  w s a d move  arrows pick  / find  2 functions  q quit");
	}
	screen_row(t->screen, y, row);
	screen_end(t->screen,
		   t->prompt == PROMPT_NONE ? UINT_MAX
		   : x < room		    ? (unsigned)x
					    : (unsigned)room - 1,
		   y);
}

/* --- keys --- */

/* Returns the time that marks act on. */
static int64_t mark_time(const struct tui *t)
{
	return t->picked ? t->pick.item.start
			 : t->window.t0 + (tui_window_end(t) - t->window.t0) / 2;
}

static void set_mark(struct tui *t)
{
	const int64_t at = mark_time(t);
	size_t i = 0;

	while (i < t->nmarks && t->marks[i] < at)
		i++;
	if (i < t->nmarks && t->marks[i] == at) {
		memmove(t->marks + i, t->marks + i + 1, (--t->nmarks - i) * sizeof(*t->marks));
		tui_say(t, false, "the mark is removed");
		return;
	}
	if (t->nmarks == TUI_MARKS) {
		tui_say(t, true, "expected at most %d marks", TUI_MARKS);
		return;
	}
	memmove(t->marks + i + 1, t->marks + i, (t->nmarks++ - i) * sizeof(*t->marks));
	t->marks[i] = at;
	tui_say(t, false, "marked %lld ns", (long long)(at - t->view->zero));
}

static void next_mark(struct tui *t)
{
	const int64_t half = (tui_window_end(t) - t->window.t0) / 2;
	const int64_t at = t->window.t0 + half;
	size_t i = 0;

	while (i < t->nmarks && t->marks[i] <= at)
		i++;
	if (!t->nmarks) {
		tui_say(t, false, "there are no marks: m sets one");
		return;
	}
	i = i < t->nmarks ? i : 0;
	tui_go(t, t->marks[i] > t->view->zero + half ? t->marks[i] - half : t->view->zero,
	       t->window.step);
	tui_say(t, false, "mark %zu of %zu: %lld ns", i + 1, t->nmarks,
		(long long)(t->marks[i] - t->view->zero));
}

static void set_range(struct tui *t, uint32_t key)
{
	const struct store_item *const i = &t->pick.item;

	if (key == '[') {
		t->from = t->picked ? i->start : t->window.t0;
		t->has_from = true;
	} else if (key == ']') {
		t->to = t->picked ? i->start + i->dur + 1 : tui_window_end(t);
		t->has_to = true;
	} else {
		t->has_from = t->has_to = false;
	}
	if (t->has_from && t->has_to && t->to <= t->from) {
		if (key == '[')
			t->has_to = false;
		else
			t->has_from = false;
	}
	tui_renew_panel(t);
}

static void track_key(struct tui *t, uint32_t key)
{
	struct track *track;

	if (key == 'H') {
		for (size_t i = 0; i < t->tracks.n; i++)
			t->tracks.tracks[i].hidden = false;
		t->tracks.filter[0] = 0;
		update_tracks(t);
		return;
	}
	if (t->current >= t->tracks.n)
		tui_next_track(t, 0);
	if (t->current >= t->tracks.n)
		return;
	track = &t->tracks.tracks[t->current];
	if (key == ' ')
		track->folded = !track->folded;
	else if (key == 'p')
		tracks_pin(&t->tracks, t->current);
	else
		track->hidden = true;
	if (key == 'p' && track->pin)
		t->top = 0;
	update_tracks(t);
	if (key == 'h')
		t->current = SPUR_NONE;
}

static void escape(struct tui *t)
{
	if (t->panel != PANEL_NONE)
		tui_close_panel(t);
	else if (t->picked)
		t->picked = false;
	else
		set_range(t, '\\');
}

/* Keys that act on times. Returns false if the key is no such key. */
static bool move_key(struct tui *t, uint32_t key)
{
	switch (key) {
	case 'w':
	case '+':
	case '=':
		tui_zoom(t, 2, 3);
		return true;
	case 's':
	case '-':
		tui_zoom(t, 3, 2);
		return true;
	case 'a':
	case 'd':
		tui_pan(t, key == 'a' ? -1 : 1);
		return true;
	case 'A':
	case 'D':
		tui_pan(t, key == 'A' ? -4 : 4);
		return true;
	case '0':
		tui_show_whole(t);
		return true;
	case 'f':
		tui_fit(t);
		return true;
	case SCREEN_BACKSPACE:
		tui_go_back(t);
		return true;
	case '\'':
		next_mark(t);
		return true;
	default:
		return false;
	}
}

/* Keys that act on the rows of the picture. Returns false if the key is no such key. */
static bool row_key(struct tui *t, uint32_t key)
{
	const int64_t page = t->layout.rows > 1 ? t->layout.rows - 1 : 1;

	switch (key) {
	case SCREEN_UP:
	case SCREEN_DOWN:
	case SCREEN_LEFT:
	case SCREEN_RIGHT:
		tui_pick_next(t, key);
		return true;
	case SCREEN_PAGE_UP:
	case SCREEN_PAGE_DOWN:
		tui_scroll(t, key == SCREEN_PAGE_UP ? -page : page);
		return true;
	case SCREEN_FIRST:
	case SCREEN_LAST:
		tui_scroll(t, key == SCREEN_FIRST ? INT64_MIN + 1 : INT32_MAX);
		return true;
	case 'j':
	case 'k':
		tui_scroll(t, key == 'j' ? 1 : -1);
		return true;
	case 'J':
	case 'K':
		tui_next_track(t, key == 'J' ? 1 : -1);
		return true;
	case ' ':
	case 'p':
	case 'h':
	case 'H':
		track_key(t, key);
		return true;
	default:
		return false;
	}
}

static void panel_or_find_key(struct tui *t, uint32_t key)
{
	switch (key) {
	case SCREEN_ENTER:
	case '1':
		tui_open_panel(t, PANEL_DETAILS);
		break;
	case '2':
		tui_open_panel(t, PANEL_FUNCTIONS);
		break;
	case '4':
		t->calls_label = -1;
		t->ncalls = t->panel == PANEL_CALLS ? t->ncalls : 0;
		tui_open_panel(t, PANEL_CALLS);
		break;
	case '!':
		tui_open_panel(t, PANEL_DAMAGE);
		break;
	case '?':
		tui_open_panel(t, PANEL_HELP);
		break;
	case '/':
		prompt_begin(t, PROMPT_FIND);
		break;
	case 't':
		prompt_begin(t, PROMPT_FILTER);
		break;
	case 'n':
	case 'N':
		tui_find(t, key == 'N');
		break;
	default:
		break;
	}
}

static void other_key(struct tui *t, uint32_t key)
{
	switch (key) {
	case 'q':
	case SCREEN_HANGUP:
		t->quit = true;
		break;
	case 'm':
		set_mark(t);
		break;
	case '[':
	case ']':
	case '\\':
		set_range(t, key);
		break;
	case 'e':
		t->exact = !t->exact;
		break;
	case TAB:
	case SCREEN_TAB_BACK:
		t->focused = t->panel != PANEL_NONE && !t->focused;
		break;
	case ESCAPE:
		escape(t);
		break;
	case CTRL_L:
		screen_renew(t->screen);
		break;
	default:
		panel_or_find_key(t, key);
	}
}

void tui_key(struct tui *t, uint32_t key)
{
	const struct tui_window before = t->window;

	t->dirty = true;
	if (t->prompt != PROMPT_NONE && key != SCREEN_HANGUP) {
		prompt_key(t, key);
		return;
	}
	t->message[0] = 0;
	if (t->focused && tui_panel_key(t, key))
		return;
	if (!move_key(t, key) && !row_key(t, key))
		other_key(t, key);
	/* Lists follow what the screen shows, unless a range is marked. */
	if (memcmp(&before, &t->window, sizeof(before)) && !t->has_from && !t->has_to &&
	    (t->panel == PANEL_FUNCTIONS || t->panel == PANEL_CALLS))
		tui_renew_panel(t);
}
