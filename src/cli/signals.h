/*
 * Signals: an interrupted command exits at once and leaves no file; one that follows its input
 * completes its output; if the reader of a pipe closes it, the command exits without a message; if
 * a mapped file shrinks, the message names it.
 */
#ifndef SPUR_CLI_SIGNALS_H
#define SPUR_CLI_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Handles SIGINT, SIGTERM and SIGHUP, unless they are ignored (a shell ignores SIGINT for
 * background jobs): removes the files of signals_remove(), writes "interrupted" and exits with 130,
 * so that partial output is never mistaken for complete output.
 */
void signals_install(void);
/*
 * Gives SIGPIPE and SIGXFSZ, which signals_install() ignores, back what they had: in a child
 * process, before it becomes another program.
 */
void signals_restore(void);
/* Why reading should stop. */
enum signals_why {
	SIGNALS_INTERRUPT = 1, /* SIGINT; one after a second or more ends the process at once */
	SIGNALS_READER_LEFT, /* see watch.h */
};
/*
 * From now on the first such signal only sets signals_stop, which the caller polls, and those
 * within a second after it do nothing, since timeout(1) sends each signal twice; a later one exits.
 * For input that grows (--follow, live sessions), where an interrupt is the normal end, and for
 * passes that must remove files themselves.
 */
void signals_defer(void);
/* 0, or an enum signals_why. */
extern volatile int signals_stop;
/* Colors of standard output are reset before exiting. */
void signals_reset_color(void);
/*
 * Adds a file to remove if a signal ends the process, two at most. The text is borrowed until
 * signals_keep().
 */
void signals_remove(const char *path);
/* Takes back signals_remove() of the same text: the file is complete, or is gone. */
void signals_keep(const char *path);
/* Blocks and unblocks signals, so that no file is created before signals_remove() knows it. */
void signals_hold(void);
void signals_release(void);

/*
 * Sets the pager of the output. After an interrupt it keeps running; this process exits once the
 * user has left it.
 */
void signals_pager(pid_t pid);
/*
 * Ends the output to the pager, if any, and waits for it. Does not return if the process was
 * interrupted meanwhile.
 */
void signals_wait_pager(void);

#endif
