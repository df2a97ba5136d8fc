/*
 * What is decided of a request by its method, its path and its headers, before it is answered:
 * which requests are the page's own.
 */
#ifndef SPUR_VIEW_GATE_H
#define SPUR_VIEW_GATE_H

#include <stdbool.h>
#include <stdint.h>

enum { VIEW_TOKEN = 32 }; /* characters of a token */

/* Zero-initialised, it lets no request pass. */
struct view_gate {
	char host[2][32]; /* 127.0.0.1:PORT, localhost:PORT */
	char token[VIEW_TOKEN + 1];
};

/* Sets the hosts. `token`: VIEW_TOKEN characters. */
void view_gate_init(struct view_gate *g, uint16_t port, const char *token);

/* What the headers of a request say of where it was sent to, and by which page. */
struct view_headers {
	unsigned hosts; /* Host headers */
	bool foreign; /* a Host or an Origin is another one's */
	unsigned tokens;
	bool has_token; /* and it is right */
};
/* Takes one header into account. `value`: NULL if it has none. */
void view_gate_header(const struct view_gate *g, const char *name, const char *value,
		      struct view_headers *h);

enum view_way {
	VIEW_REFUSED,
	VIEW_SEND_FILE, /* of the page: `path` is its name */
	VIEW_SEND_ANSWER, /* of the API: `path` is what view_answer() is given */
};
struct view_decision {
	enum view_way way;
	unsigned status; /* of HTTP, if refused */
	const char *path; /* within the request's path; if refused, a text for people */
};
struct view_decision view_gate_decide(const char *method, const char *path,
				      const struct view_headers *h);

#endif
