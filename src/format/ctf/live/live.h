/* Parts of the live reader that stand alone. */
#ifndef SPUR_FORMAT_CTF_LIVE_LIVE_H
#define SPUR_FORMAT_CTF_LIVE_LIVE_H

#include "format/ctf/live/grow.h"
#include "format/ctf/live/proto.h"

/* net://HOST[:PORT][/host/NAME/SESSION]; net4:// and net6:// choose the protocol. */
struct live_url {
	int family;
	char host[256], port[8];
	char target[256], session[256]; /* "": none is named */
	size_t base; /* bytes of the URL up to the host's end */
};

extern const char *const live_urls[];

enum spur_status live_url_parse(const char *url, struct live_url *out, struct spur_error *err);

/* Bytes that came, in scratch memory that never moves. */
struct live_store {
	struct live_block {
		uint8_t *p;
		size_t size, used;
	} * blocks;
	size_t count, cap;
};

/* A copy that stays until store_free(); returns NULL if out of memory. */
const uint8_t *store_keep(struct live_store *s, const uint8_t *p, size_t size);
void store_free(struct live_store *s);

#endif
