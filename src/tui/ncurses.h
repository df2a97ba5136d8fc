/*
 * ncurses, loaded when `spur tui` starts: no other command needs it, and the program runs where it
 * is not installed.
 */
#ifndef SPUR_TUI_NCURSES_H
#define SPUR_TUI_NCURSES_H

/* Declares the functions for wide characters. */
#ifndef _XOPEN_SOURCE_EXTENDED
#define _XOPEN_SOURCE_EXTENDED
#endif
#define NCURSES_NOMACROS
#include <curses.h>

#include "base/err.h"

#define NCURSES_FUNCTIONS(X)                                                                \
	X(newterm)                                                                          \
	X(delscreen)                                                                        \
	X(endwin)                                                                           \
	X(cbreak)                                                                           \
	X(noecho)                                                                           \
	X(nonl)                                                                             \
	X(keypad)                                                                           \
	X(nodelay)                                                                          \
	X(wget_wch) X(wmove) X(waddnwstr) X(wattr_set) X(werase) X(wrefresh) X(clearok)     \
		X(start_color) X(use_default_colors) X(init_pair) X(has_colors) X(curs_set) \
			X(tigetstr) X(tigetnum) X(tigetflag) X(resizeterm) X(set_escdelay)  \
				X(def_prog_mode)

struct ncurses {
#define NCURSES_MEMBER(NAME) __typeof__(&NAME) NAME;
	NCURSES_FUNCTIONS(NCURSES_MEMBER)
#undef NCURSES_MEMBER
	WINDOW **screen; /* the library's `stdscr` */
};

/*
 * Loads the library, which stays loaded until the program ends. Returns SPUR_FAIL, with the error
 * set, if it is not installed.
 */
enum spur_status ncurses_open(struct ncurses *n, struct spur_error *err);

#endif
