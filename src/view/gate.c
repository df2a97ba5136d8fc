/*
 * A request must be sent to this server by name or number and, if a page sent it, by the viewer's
 * own: else a page of another site could ask through the user's browser. What is answered out of
 * the trace needs the token too, which only the address that `spur view` prints has.
 */
#include "view/gate.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

void view_gate_init(struct view_gate *g, uint16_t port, const char *token)
{
	snprintf(g->host[0], sizeof(g->host[0]), "127.0.0.1:%u", port);
	snprintf(g->host[1], sizeof(g->host[1]), "localhost:%u", port);
	snprintf(g->token, sizeof(g->token), "%s", token);
}

static bool is_host(const struct view_gate *g, const char *host)
{
	return host && *host && (!strcmp(host, g->host[0]) || !strcmp(host, g->host[1]));
}

static bool is_origin(const struct view_gate *g, const char *origin)
{
	static const char scheme[] = "http://";

	return origin && !strncmp(origin, scheme, sizeof(scheme) - 1) &&
	       is_host(g, origin + sizeof(scheme) - 1);
}

/* The time that it takes does not tell how much of the token is right. */
static bool is_token(const struct view_gate *g, const char *given)
{
	unsigned char differs = 0;

	if (!given || strlen(given) != VIEW_TOKEN || strlen(g->token) != VIEW_TOKEN)
		return false;
	for (size_t i = 0; i < VIEW_TOKEN; i++)
		differs |= (unsigned char)(given[i] ^ g->token[i]);
	return !differs;
}

void view_gate_header(const struct view_gate *g, const char *name, const char *value,
		      struct view_headers *h)
{
	if (!strcasecmp(name, "Host")) {
		h->hosts++;
		h->foreign |= !is_host(g, value);
	} else if (!strcasecmp(name, "Origin")) {
		h->foreign |= !is_origin(g, value);
	} else if (!strcasecmp(name, "X-Spur-Token")) {
		h->has_token = !h->tokens++ && is_token(g, value);
	}
}

static struct view_decision refused(unsigned status, const char *text)
{
	return (struct view_decision){ .way = VIEW_REFUSED, .status = status, .path = text };
}

struct view_decision view_gate_decide(const char *method, const char *path,
				      const struct view_headers *h)
{
	static const char api[] = "/api/";

	if (h->hosts != 1 || h->foreign)
		return refused(403, "This address is not the viewer's.\n");
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return refused(405, "The viewer answers GET only.\n");
	if (*path != '/')
		return refused(404, "The viewer has no such file.\n");
	if (strncmp(path, api, sizeof(api) - 1))
		return (struct view_decision){ .way = VIEW_SEND_FILE,
					       .path = path[1] ? path + 1 : "index.html" };
	if (!h->has_token)
		return refused(403, "The token is missing or wrong.\n");
	return (struct view_decision){ .way = VIEW_SEND_ANSWER, .path = path + sizeof(api) - 1 };
}
