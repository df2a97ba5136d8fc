/* Signals: Ctrl-C ends well-formed, a reader that goes away ends quietly, a file that shrinks while
 * mapped is told. */
#ifndef SPUR_CLI_SIGNALS_H
#define SPUR_CLI_SIGNALS_H

void signals_install(void);
/* Why nothing more is to be read. */
enum signals_why {
	SIGNALS_INTERRUPT = 1, /* SIGINT; a second one ends the process at once */
	SIGNALS_READER_LEFT, /* see watch.h */
};
/* 0, or an enum signals_why. */
extern volatile int signals_stop;
/* A file to remove where a signal ends the process; NULL: none. The text must stay. */
void signals_remove(const char *path);

#endif
