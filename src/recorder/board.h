/* The board by which programs find a session of several programs: see record/board.h. */
#ifndef SPUR_RECORDER_BOARD_H
#define SPUR_RECORDER_BOARD_H

#include <spur.h>
#include <stdbool.h>
#include <stdint.h>

#include "../record/board.h"

/* A session's hold on the board. */
struct board_hold {
	int dir; /* the runtime directory; -1: not open */
	int fd; /* of the board, with the lock */
	int socket; /* that listens to requests */
	struct board *head; /* BOARD_SIZE bytes, mapped */
	bool killed; /* the session before was: its programs may not know yet */
};

/*
 * Takes the board of this user, and removes what a session that was killed has left there. Returns
 * SPUR_FAIL, with the error set, if another session is going on, or if no runtime directory can be
 * used. Requires board_close() in any case.
 */
enum spur_status board_open(struct board_hold *b, struct spur_error *err);
/* What the session is to do; texts are empty rather than NULL. */
struct board_session {
	const char *directory, *categories, *providers;
	uint32_t mode; /* enum spb_mode */
	uint64_t size;
};
/* Calls programs. Returns SPUR_FAIL, with the error set, if a text is too long. */
enum spur_status board_call(struct board_hold *b, const struct board_session *s,
			    struct spur_error *err);
/* Ends the session: no program joins it any more, and those that did leave it. */
void board_release(struct board_hold *b);
void board_close(struct board_hold *b);

/*
 * Asks the session that is going on to end, and waits at most `ms` for its answer, which is put
 * into `text`. Returns SPUR_FAIL, with the error set, if no session is going on or it does not
 * answer.
 */
enum spur_status board_stop(char *text, size_t room, int ms, struct spur_error *err);
/*
 * The directory of the session that is going on, of BOARD_PATH_MOST bytes. Returns SPUR_END if none
 * is, or SPUR_FAIL with the error set.
 */
enum spur_status board_directory(char *directory, struct spur_error *err);

#endif
