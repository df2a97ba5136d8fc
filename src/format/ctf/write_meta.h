/* What the metadata of written traces says, whatever its language. */
#ifndef SPUR_FORMAT_CTF_WRITE_META_H
#define SPUR_FORMAT_CTF_WRITE_META_H

#include "format/ctf/write.h"

enum { META_UUID = 37 /* text of a UUID with its NUL */ };

struct meta_event {
	const char *name;
	const char *uri; /* NULL: none */
	int32_t level; /* -1: none */
	const struct ctf_field *specific, *payload; /* NULL: none */
};

struct meta_env {
	const char *key, *text; /* text NULL: a number */
	int64_t number;
};

struct meta_clock {
	char uuid[META_UUID]; /* "": none */
	const char *description;
	int64_t seconds; /* offset */
	uint64_t cycles;
	bool epoch; /* counts from 1970 */
};

/* The metadata that a stream class of the source is in. */
const struct ctf_meta *meta_of_class(const struct cw *w, const struct ctf_class *k);
/* The event context; NULL: none. */
const struct ctf_field *meta_context(struct cw *w, const struct cw_stream_class *s);
/* Returns false if out of memory. */
bool meta_event_get(struct cw *w, struct cw_event *e, struct meta_event *m);
struct meta_env *meta_env_get(struct cw *w, size_t *n);
struct meta_clock meta_clock_get(const struct cw *w);
void meta_uuid(const uint8_t uuid[16], char text[META_UUID]);

#endif
