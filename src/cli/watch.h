/*
 * Watches standard output while input is waited for: if the reader of a pipe goes away, nothing would be written that
 * could tell, so a wait would go on for ever.
 */
#ifndef SPUR_CLI_WATCH_H
#define SPUR_CLI_WATCH_H

#include <pthread.h>
#include <stdbool.h>

struct watch {
	pthread_t thread;
	int wake[2]; /* a pipe that ends the thread */
	bool runs;
};

/* Begins if standard output is a pipe or a socket. Once its reader is gone, signals_stop is SIGNALS_READER_LEFT. */
void watch_begin(struct watch *w);
/* Ends the watch. Does nothing if it has not begun (a zeroed struct watch). */
void watch_end(struct watch *w);

#endif
