#include "tui/ncurses.h"

#include <dlfcn.h>
#include <string.h>

enum spur_status ncurses_open(struct ncurses *n, struct spur_error *err)
{
	static const char name[] = "libncursesw.so.6";
	void *const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	void *found;

	memset(n, 0, sizeof(*n));
	if (!library)
		return err_set(err, SPUR_ERR_IO,
			       "spur tui needs %s (Debian: apt install libncursesw6): %s", name,
			       dlerror());
#define NCURSES_FIND(NAME)                                                                  \
	found = dlsym(library, #NAME);                                                      \
	if (!found)                                                                         \
		return err_set(err, SPUR_ERR_IO, "%s: expected the function " #NAME, name); \
	memcpy(&n->NAME, &found, sizeof(found));
	NCURSES_FUNCTIONS(NCURSES_FIND)
#undef NCURSES_FIND
	n->screen = dlsym(library, "stdscr");
	if (!n->screen)
		return err_set(err, SPUR_ERR_IO, "%s: expected stdscr", name);
	return SPUR_OK;
}
