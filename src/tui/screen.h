/*
 * The terminal: rows of glyphs are drawn, keys are read. What did not change is not sent again.
 * Text of a trace becomes glyphs that cannot control the terminal.
 */
#ifndef SPUR_TUI_SCREEN_H
#define SPUR_TUI_SCREEN_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "base/err.h"

enum {
	SCREEN_WIDTH_LEAST = 40,
	SCREEN_HEIGHT_LEAST = 10,
	SCREEN_WIDTH_MOST = 1024, /* columns that are used */
	SCREEN_NAMES = 12, /* colours for names; terminals with fewer repeat them */
};

enum glyph_color {
	COLOR_PLAIN,
	COLOR_ALARM, /* damage, errors */
	COLOR_HINT, /* what matters less */
	COLOR_NAME, /* the first of SCREEN_NAMES backgrounds */
};
enum glyph_style {
	STYLE_BOLD = 1,
	STYLE_REVERSE = 2,
	STYLE_UNDERLINE = 4,
};

/* A column of the screen. */
struct glyph {
	wchar_t ch; /* 0: the second column of the wide character before it */
	uint8_t color; /* enum glyph_color */
	uint8_t style; /* enum glyph_style */
};

struct screen;

/* Keys besides characters. */
enum screen_key {
	KEY_NOTHING = 0, /* the time is over, or the size has changed */
	KEY_BASE = 0x200000, /* behind all characters */
	SCREEN_UP,
	SCREEN_DOWN,
	SCREEN_LEFT,
	SCREEN_RIGHT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_FIRST,
	SCREEN_LAST,
	SCREEN_BACKSPACE,
	SCREEN_ENTER,
	SCREEN_DELETE,
	SCREEN_TAB_BACK,
	SCREEN_HANGUP, /* the terminal is gone */
};

/*
 * Takes over the terminal at standard input and output. `ascii`: draws nothing but ASCII. Returns
 * SPUR_FAIL if there is no terminal that can be drawn on, or no ncurses. Until screen_close() only
 * the calling thread may use the screen.
 */
enum spur_status screen_open(struct screen **out, bool ascii, bool color, struct spur_error *err);
/* Gives the terminal back. NULL: does nothing. */
void screen_close(struct screen *s);

unsigned screen_width(const struct screen *s);
unsigned screen_height(const struct screen *s);
bool screen_is_ascii(const struct screen *s);
/* Returns true if names have colours. */
bool screen_has_color(const struct screen *s);

/* Begins a picture: all rows are empty. */
void screen_begin(struct screen *s);
/* Draws a row of screen_width() glyphs. */
void screen_row(struct screen *s, unsigned y, const struct glyph *row);
/* Shows the picture. `x`, `y`: of the cursor; x == UINT_MAX: hidden. */
void screen_end(struct screen *s, unsigned x, unsigned y);
/* Draws all of the next picture, whatever is there. */
void screen_renew(struct screen *s);
/* Returns true once if the picture must be drawn again: at another size, after a suspension. */
bool screen_is_new(struct screen *s);

/*
 * Waits for a key, `ms` at most. Returns a character or an enum screen_key. Suspends the program
 * if Ctrl-Z asked for it.
 */
uint32_t screen_key(struct screen *s, int ms);

/* Makes `n` glyphs blank. */
void glyphs_clear(struct glyph *to, size_t n);
/*
 * Writes UTF-8 text that may have any bytes, as many columns as fit: control characters and bytes
 * that are no UTF-8 as escapes, what the terminal cannot show as '?'. Returns the columns taken.
 */
size_t glyphs_text(const struct screen *s, struct glyph *to, size_t room, const char *text,
		   size_t len, struct glyph look);
/* The same for a format. */
size_t glyphs_printf(const struct screen *s, struct glyph *to, size_t room, struct glyph look,
		     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
