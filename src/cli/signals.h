/*
 * Signals: an interrupted command ends at once and leaves no file; one that follows its input ends well-formed; a
 * reader that goes away ends it quietly; a file that shrinks while it is mapped is named.
 */
#ifndef SPUR_CLI_SIGNALS_H
#define SPUR_CLI_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * SIGINT, SIGTERM and SIGHUP, unless they are ignored (a shell ignores SIGINT for background jobs): removes the file of
 * signals_remove(), says "interrupted" and exits with 130, so that part of an answer is never taken for the whole.
 */
void signals_install(void);
/* Why nothing more is to be read. */
enum signals_why {
	SIGNALS_INTERRUPT = 1, /* SIGINT; a second one ends the process at once */
	SIGNALS_READER_LEFT, /* see watch.h */
};
/*
 * From now on the first such signal only sets signals_stop, for which the caller looks; a second one ends the process.
 * For input that grows while the user watches (--follow, live sessions), where the end of watching is no failure, and
 * for work whose files only the caller can remove.
 */
void signals_defer(void);
/* 0, or an enum signals_why. */
extern volatile int signals_stop;
/* Before exiting, colors of standard output are reset. */
void signals_reset_color(void);
/* A file to remove where a signal ends the process; NULL: none. The text must stay. */
void signals_remove(const char *path);
/* Between these signals wait, so that a file cannot be made without being known to signals_remove(). */
void signals_hold(void);
void signals_release(void);

/*
 * The output goes to a pager, which an interrupt leaves to the user: the process then ends when the user has left it.
 */
void signals_pager(pid_t pid);
/*
 * Ends the output to the pager and waits for it; nothing without a pager. Does not return if the process was
 * interrupted meanwhile.
 */
void signals_wait_pager(void);

#endif
