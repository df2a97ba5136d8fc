/*
 * Watches standard output while the program waits for input: as nothing is written then, it would
 * not notice that the reader of a pipe has closed it, and could wait forever.
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

/*
 * Starts the watch if standard output is a pipe or a socket. Once its reader has closed it,
 * signals_stop is SIGNALS_READER_LEFT.
 */
void watch_begin(struct watch *w);
/* Ends the watch. Does nothing if it was not started (a zeroed struct watch). */
void watch_end(struct watch *w);

#endif
