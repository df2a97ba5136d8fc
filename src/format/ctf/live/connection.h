/*
 * The connection to a relay daemon: sends and receives bytes, with a time limit for each answer.
 * Does not interpret messages.
 *
 * The first failure breaks the connection: `why` has what was expected and found, and all later
 * calls fail. When asked to stop, it breaks without a message.
 */
#ifndef SPUR_FORMAT_CTF_LIVE_CONNECTION_H
#define SPUR_FORMAT_CTF_LIVE_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_WHY = 200, WIRE_PATIENCE = 30000 };

struct live_wire {
	int fd; /* -1: none */
	const volatile int *stop; /* NULL: none */
	int patience; /* ms for one answer, or a piece of a long one */
	bool broken;
	char why[WIRE_WHY];
};

/* `family`: AF_UNSPEC, AF_INET, AF_INET6. False: why says it. */
bool wire_connect(struct live_wire *w, int family, const char *host, const char *port);
bool wire_send(struct live_wire *w, const void *p, size_t size);
/* Reads exactly `size` bytes. */
bool wire_read(struct live_wire *w, void *p, size_t size);
/*
 * Lets so much time pass; less where a stop is asked for, or the wire breaks: nothing may come
 * meanwhile.
 */
void wire_rest(struct live_wire *w, int ms);
/* The peer says what it must not: breaks the wire. Returns false. */
bool wire_wrong(struct live_wire *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void wire_close(struct live_wire *w);

/* ms of a clock that never goes back. */
int64_t wire_now(void);

#endif
