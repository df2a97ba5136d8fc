/*
 * The board: a file by which programs with the tracing library see a session of `spur record
 * --system`. It is in the user's runtime directory, and each such program has it mapped for
 * reading. While a program does not record, the words that its points test are a page of the board:
 * a session that begins stores ones there, so the next point that any program reaches takes the
 * slow way, where the program joins the session. Until then a program pays nothing for it: it makes
 * no call of the system and has no thread.
 *
 * The runtime directory is $XDG_RUNTIME_DIR/spur, /run/user/UID/spur or /tmp/spur-UID, the first
 * one that can be made, belongs to the user, and is closed to others.
 *
 * A session has a write lock on the first byte of the file (F_OFD_SETLK), so that one that was
 * killed is known.
 *
 *	offset	what
 *	0	struct board
 *	4096	BOARD_PAGES pages of words: 1 while a session calls programs, else 0
 *
 * A program that has left session N, or was not wanted in it, looks at page N % BOARD_TURNS, which
 * session N does not set; all others look at the last page, which every session sets.
 */
#ifndef SPUR_RECORD_BOARD_H
#define SPUR_RECORD_BOARD_H

#include <stdint.h>

enum {
	BOARD_PAGE = 4096,
	BOARD_TURNS = 15,
	BOARD_PAGES = BOARD_TURNS + 1,
	BOARD_SIZE = BOARD_PAGE * (1 + BOARD_PAGES),
	BOARD_PATH_MOST = 2048,
	BOARD_LIST_MOST = 900,
};

#define BOARD_NAME "board-1"
#define BOARD_MAGIC UINT64_C(0x3144524252555053) /* "SPURBRD1" */

/* Texts are ended by NUL. */
struct board {
	uint64_t magic; /* BOARD_MAGIC; 0: no session began yet */
	uint32_t change; /* odd while what follows is written */
	uint32_t number; /* of the session, from 1 */
	uint32_t on; /* 1: the session is going on */
	uint32_t pid; /* of the session */
	uint32_t mode; /* enum spb_mode */
	uint32_t reserved;
	uint64_t size; /* bytes for each thread of a ring, or for each process of a oneshot */
	char directory[BOARD_PATH_MOST]; /* of the recording; absolute */
	char categories[BOARD_LIST_MOST]; /* with commas between them; "": what programs choose */
	char providers[BOARD_LIST_MOST]; /* patterns of programs' names, with commas; "": all */
};

_Static_assert(sizeof(struct board) <= BOARD_PAGE, "the board has a page");

/* What is said over the socket `session` in the runtime directory (SOCK_SEQPACKET, mode 0600). */
enum board_request {
	BOARD_STOP = 1, /* ends the session, which answers with a text when all is complete */
};

#endif
