#include "tui/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/out.h"
#include "base/text.h"
#include "tui/ncurses.h"

enum { ESCAPE_MS = 100, TEXT_MOST = 4096, PAIRS = COLOR_NAME + SCREEN_NAMES };

struct screen {
	struct ncurses curses;
	SCREEN *term;
	locale_t locale, before; /* of the thread; 0: as it was */
	unsigned width, height;
	bool ascii, color;
	bool is_new; /* what was drawn is lost */
	bool handles_stop; /* stop_begin() was called */
};

/* --- signals --- */

static const int rescued[] = { SIGBUS, SIGSEGV, SIGABRT, SIGQUIT };
enum { RESCUED = sizeof(rescued) / sizeof(*rescued) };

static struct sigaction rescue_before[RESCUED], stop_before, continue_before;
static struct termios modes_before;
static char leave_text[256]; /* makes the terminal show what it showed before */
static volatile sig_atomic_t stop_wanted, was_continued;

/* Gives the terminal back before a signal ends the program. */
static void on_rescue(int sig)
{
	if (os_write(STDOUT_FILENO, leave_text, strlen(leave_text)) >= 0)
		tcsetattr(STDOUT_FILENO, TCSANOW, &modes_before);
	for (size_t i = 0; i < RESCUED; i++)
		if (rescued[i] == sig)
			sigaction(sig, &rescue_before[i], NULL);
	raise(sig);
}

static void on_stop(int sig)
{
	(void)sig;
	stop_wanted = 1;
}

static void on_continue(int sig)
{
	(void)sig;
	was_continued = 1;
}

/*
 * Handles SIGTSTP, unless it is ignored, and SIGCONT. Called before ncurses begins, which then
 * leaves SIGTSTP alone: its own way is to ignore it while it draws, and a Ctrl-Z of that moment
 * would be lost.
 */
static void stop_begin(struct screen *s)
{
	const struct sigaction stop = { .sa_handler = on_stop },
			       go_on = { .sa_handler = on_continue };

	stop_wanted = was_continued = 0;
	sigaction(SIGCONT, &go_on, &continue_before);
	sigaction(SIGTSTP, NULL, &stop_before);
	if (stop_before.sa_handler != SIG_IGN)
		sigaction(SIGTSTP, &stop, NULL);
	s->handles_stop = true;
}

static void stop_end(struct screen *s)
{
	if (!s->handles_stop)
		return;
	sigaction(SIGTSTP, &stop_before, NULL);
	sigaction(SIGCONT, &continue_before, NULL);
	s->handles_stop = false;
}

/*
 * Lets the terminal keep its queues when Ctrl-Z is pressed. Emptied, they lose what is being drawn,
 * and the key whose reading has just begun: the program would wait for another,
 * and not stop before.
 */
static void keep_queues(struct screen *s)
{
	struct termios modes;

	if (tcgetattr(STDIN_FILENO, &modes))
		return;
	modes.c_lflag |= NOFLSH;
	tcsetattr(STDIN_FILENO, TCSANOW, &modes);
	s->curses.def_prog_mode();
}

static void add_leave_text(const char *s)
{
	const size_t at = strlen(leave_text);

	if (s && s != (const char *)-1 && at + strlen(s) < sizeof(leave_text))
		memcpy(leave_text + at, s, strlen(s) + 1);
}

static void rescue_begin(struct screen *s)
{
	struct sigaction rescue = { .sa_handler = on_rescue };
	const char *const names[] = { "sgr0", "cnorm", "rmkx", "rmcup" };

	leave_text[0] = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		add_leave_text(s->curses.tigetstr(names[i]));
	for (size_t i = 0; i < RESCUED; i++)
		sigaction(rescued[i], &rescue, &rescue_before[i]);
}

static void rescue_end(void)
{
	for (size_t i = 0; i < RESCUED; i++)
		sigaction(rescued[i], &rescue_before[i], NULL);
}

/* --- begin and end --- */

static void find_size(struct screen *s)
{
	struct winsize w;

	if (os_window_size(STDOUT_FILENO, &w) || !w.ws_col || !w.ws_row) {
		w.ws_col = 80;
		w.ws_row = 24;
	}
	s->width = w.ws_col < SCREEN_WIDTH_MOST ? w.ws_col : SCREEN_WIDTH_MOST;
	s->height = w.ws_row;
}

/* Colours whose names a terminal with 8 of them has; red is left to what is wrong. */
static void make_colors(struct screen *s, int colors)
{
	static const short many[SCREEN_NAMES] = { 110, 114, 179, 139, 174, 73,
						  146, 180, 109, 150, 216, 183 };
	static const short few[] = { 2, 3, 6, 5, 4, 7 };
	const short plain = s->curses.use_default_colors() == OK ? -1 : COLOR_BLACK;

	s->curses.init_pair(COLOR_ALARM, COLOR_WHITE, COLOR_RED);
	s->curses.init_pair(COLOR_HINT, COLOR_CYAN, plain);
	for (short i = 0; i < SCREEN_NAMES; i++) {
		const short at = (short)(i % 6);
		const bool is_dark = colors < 256 && few[at] == 4;

		s->curses.init_pair((short)(COLOR_NAME + i), is_dark ? COLOR_WHITE : COLOR_BLACK,
				    colors < 256 ? few[at] : many[i]);
	}
}

/* The terminal's characters: those of the locale in the environment, for this thread alone. */
static void find_locale(struct screen *s)
{
	s->locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	if (s->locale && strcmp(nl_langinfo_l(CODESET, s->locale), "UTF-8") != 0 && !s->ascii) {
		/* The environment names a UTF-8 locale that is not installed. */
		freelocale(s->locale);
		s->locale = (locale_t)0;
	}
	if (!s->locale && !s->ascii)
		s->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	s->ascii |= !s->locale;
	s->before = s->locale ? uselocale(s->locale) : (locale_t)0;
}

static bool can_draw(struct screen *s)
{
	const char *const move = s->curses.tigetstr("cup"), *const clear =
								    s->curses.tigetstr("clear");

	return move && move != (const char *)-1 && clear && clear != (const char *)-1 &&
	       !s->curses.tigetflag("hc");
}

static enum spur_status begin(struct screen *s, bool color, struct spur_error *err)
{
	const char *const term = getenv("TERM");

	if (!os_isatty(STDIN_FILENO) || !os_isatty(STDOUT_FILENO))
		return err_set(err, SPUR_ERR_USAGE,
			       "expected a terminal at standard input and output; without one, use "
			       "spur report, spur graph or spur cat");
	if (ncurses_open(&s->curses, err) == SPUR_FAIL)
		return SPUR_FAIL;
	find_locale(s);
	tcgetattr(STDOUT_FILENO, &modes_before);
	stop_begin(s);
	if (term && *term)
		s->term = s->curses.newterm(NULL, stdout, stdin);
	if (!s->term || !can_draw(s)) {
		err_set(err, SPUR_ERR_USAGE,
			"TERM=%s: expected a terminal that can be drawn on; on this one, use spur "
			"report, spur graph or spur cat",
			term ? term : "");
		return SPUR_FAIL;
	}
	s->color = color && s->curses.has_colors() && s->curses.start_color() == OK;
	if (s->color)
		make_colors(s, s->curses.tigetnum("colors"));
	s->curses.cbreak();
	s->curses.noecho();
	s->curses.nonl();
	s->curses.keypad(*s->curses.screen, true);
	s->curses.nodelay(*s->curses.screen, true);
	s->curses.set_escdelay(ESCAPE_MS);
	keep_queues(s);
	find_size(s);
	rescue_begin(s);
	return SPUR_OK;
}

enum spur_status screen_open(struct screen **out, bool ascii, bool color, struct spur_error *err)
{
	struct screen *const s = mem_alloc(sizeof(*s));

	*out = NULL;
	if (!s)
		return err_nomem(err);
	s->ascii = ascii;
	if (begin(s, color, err) == SPUR_FAIL) {
		screen_close(s);
		return SPUR_FAIL;
	}
	*out = s;
	return SPUR_OK;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	if (s->height) {
		s->curses.curs_set(1);
		rescue_end();
	}
	if (s->term) {
		s->curses.endwin();
		s->curses.delscreen(s->term);
	}
	stop_end(s);
	if (s->before)
		uselocale(s->before);
	if (s->locale)
		freelocale(s->locale);
	mem_free(s);
}

unsigned screen_width(const struct screen *s)
{
	return s->width;
}

unsigned screen_height(const struct screen *s)
{
	return s->height;
}

bool screen_is_ascii(const struct screen *s)
{
	return s->ascii;
}

bool screen_has_color(const struct screen *s)
{
	return s->color;
}

/* --- drawing --- */

void screen_begin(struct screen *s)
{
	s->curses.werase(*s->curses.screen);
}

static void set_look(const struct screen *s, const struct glyph *g)
{
	attr_t attrs = 0;
	const short pair = s->color && g->color < PAIRS ? g->color : 0;

	attrs |= g->style & STYLE_BOLD ? A_BOLD : 0;
	attrs |= g->style & STYLE_UNDERLINE ? A_UNDERLINE : 0;
	/* Without colours, what has one stands out. */
	if ((g->style & STYLE_REVERSE) ||
	    (!s->color && (g->color >= COLOR_NAME || g->color == COLOR_ALARM)))
		attrs |= A_REVERSE;
	s->curses.wattr_set(*s->curses.screen, attrs, pair, NULL);
}

void screen_row(struct screen *s, unsigned y, const struct glyph *row)
{
	wchar_t text[SCREEN_WIDTH_MOST];

	if (y >= s->height)
		return;
	for (unsigned x = 0; x < s->width;) {
		const unsigned first = x;
		int n = 0;

		for (; x < s->width && row[x].color == row[first].color &&
		       row[x].style == row[first].style;
		     x++)
			if (row[x].ch)
				text[n++] = row[x].ch;
		set_look(s, &row[first]);
		s->curses.wmove(*s->curses.screen, (int)y, (int)first);
		s->curses.waddnwstr(*s->curses.screen, text, n);
	}
}

void screen_end(struct screen *s, unsigned x, unsigned y)
{
	s->curses.curs_set(x != UINT_MAX);
	if (x != UINT_MAX)
		s->curses.wmove(*s->curses.screen, (int)y, (int)x);
	s->curses.wrefresh(*s->curses.screen);
}

bool screen_is_new(struct screen *s)
{
	const bool is_new = s->is_new;

	s->is_new = false;
	return is_new;
}

void screen_renew(struct screen *s)
{
	s->is_new = true;
	s->curses.clearok(*s->curses.screen, true);
}

/* --- keys --- */

/*
 * Stops the program until the shell continues it. A SIGTSTP that comes meanwhile stops it once with
 * this one: it waits behind the mask, and a SIGCONT discards it.
 */
static void suspend(struct screen *s)
{
	sigset_t stop;

	tcflush(STDIN_FILENO, TCIFLUSH); /* keys are not for the shell */
	s->curses.curs_set(1);
	s->curses.endwin();
	rescue_end();
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
	stop_end(s);
	raise(SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
	stop_begin(s);
	rescue_begin(s);
	screen_renew(s);
}

/*
 * Takes the terminal over again, whose modes and contents a shell changed while the program was
 * stopped by a SIGSTOP.
 */
static void take_over(struct screen *s)
{
	was_continued = 0;
	s->curses.endwin();
	screen_renew(s);
}

/* Follows the size of the window. */
static void follow_size(struct screen *s)
{
	const unsigned width = s->width, height = s->height;

	find_size(s);
	if (s->width == width && s->height == height)
		return;
	s->curses.resizeterm((int)s->height, (int)s->width);
	screen_renew(s);
}

static uint32_t special_key(wint_t c)
{
	switch (c) {
	case KEY_UP:
		return SCREEN_UP;
	case KEY_DOWN:
		return SCREEN_DOWN;
	case KEY_LEFT:
		return SCREEN_LEFT;
	case KEY_RIGHT:
		return SCREEN_RIGHT;
	case KEY_PPAGE:
		return SCREEN_PAGE_UP;
	case KEY_NPAGE:
		return SCREEN_PAGE_DOWN;
	case KEY_HOME:
		return SCREEN_FIRST;
	case KEY_END:
		return SCREEN_LAST;
	case KEY_BACKSPACE:
		return SCREEN_BACKSPACE;
	case KEY_DC:
		return SCREEN_DELETE;
	case KEY_ENTER:
		return SCREEN_ENTER;
	case KEY_BTAB:
		return SCREEN_TAB_BACK;
	default:
		return KEY_NOTHING;
	}
}

/* Reads a key that is there. Returns KEY_NOTHING if no key waits, or the key has no meaning. */
static uint32_t read_key(struct screen *s)
{
	wint_t c;
	const int kind = s->curses.wget_wch(*s->curses.screen, &c);

	if (kind == KEY_CODE_YES)
		return special_key(c);
	if (kind != OK)
		return KEY_NOTHING;
	if (c == '\r' || c == '\n')
		return SCREEN_ENTER;
	return c == 0x7F || c == '\b' ? SCREEN_BACKSPACE : (uint32_t)c;
}

uint32_t screen_key(struct screen *s, int ms)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	/* ncurses may have read more than it returned so far. */
	uint32_t key = read_key(s);

	if (!key && os_poll(&p, 1, ms) > 0) {
		if (p.revents & POLLIN)
			key = read_key(s);
		else if (p.revents & (POLLHUP | POLLERR | POLLNVAL))
			key = SCREEN_HANGUP;
	}
	if (stop_wanted)
		suspend(s);
	else if (was_continued)
		take_over(s);
	follow_size(s);
	return key;
}

/* --- text --- */

void glyphs_clear(struct glyph *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (struct glyph){ .ch = L' ' };
}

/* Writes text without control characters. */
static size_t put_plain(const struct screen *s, struct glyph *to, size_t room, struct text t,
			struct glyph look)
{
	size_t x = 0;

	while (t.len && x < room) {
		const size_t len = utf8_valid(t.p, t.len);
		wchar_t c = (unsigned char)*t.p;
		int width = 1;

		if (len > 1 && !s->ascii && mbrtowc(&c, t.p, len, &(mbstate_t){ 0 }) == len)
			width = wcwidth(c);
		else if (len != 1)
			c = L'?';
		t.p += len ? len : 1;
		t.len -= len ? len : 1;
		if (width == 0)
			continue; /* it would change the character before it */
		if (width < 0 || width > 2) {
			c = L'?';
			width = 1;
		}
		if (x + (size_t)width > room)
			break;
		look.ch = c;
		to[x++] = look;
		look.ch = 0;
		if (width == 2)
			to[x++] = look;
	}
	return x;
}

size_t glyphs_text(const struct screen *s, struct glyph *to, size_t room, const char *text,
		   size_t len, struct glyph look)
{
	/* A column takes 4 bytes at most, but for what has no width. */
	const size_t most = len < TEXT_MOST ? len : TEXT_MOST;
	struct out safe;
	size_t n;

	out_to_memory(&safe);
	out_safe(&safe, text, most);
	n = put_plain(s, to, room, text_make(safe.buf ? safe.buf : "", safe.len), look);
	out_free(&safe);
	return n;
}

size_t glyphs_printf(const struct screen *s, struct glyph *to, size_t room, struct glyph look,
		     const char *fmt, ...)
{
	char text[TEXT_MOST];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (n < 0)
		return 0;
	return glyphs_text(s, to, room, text,
			   (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1, look);
}
