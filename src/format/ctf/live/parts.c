/* Names of sessions, and room for what they send. See live.h. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "format/ctf/live/live.h"

enum {
	BLOCK_LEAST = 1 << 18,
	BLOCK_MOST = 1 << 26,
	BLOCKS = 1 << 15, /* a process may have twice as many mappings */
	ALIGN = 8, /* as in a file whose pages are mapped */
};

const char *const live_urls[] = { "net://", "net4://", "net6://", NULL };

static enum spur_status url_wrong(const char *url, const char *found, struct spur_error *err)
{
	return err_set(err, SPUR_ERR_USAGE,
		       "%s: expected net://HOST[:PORT]/host/NAME/SESSION, found %s", url, found);
}

/* Copies up to one of the bytes in `ends`. False: nothing is there, or too much. */
static bool read_part(struct text *t, const char *ends, char *to, size_t size)
{
	size_t n = 0;

	while (n < t->len && !strchr(ends, t->p[n]))
		n++;
	if (!n || n >= size)
		return false;
	memcpy(to, t->p, n);
	to[n] = '\0';
	*t = text_make(t->p + n, t->len - n);
	return true;
}

static bool read_host(struct text *t, struct live_url *u)
{
	if (!text_skip(t, "["))
		return read_part(t, ":/", u->host, sizeof(u->host));
	return read_part(t, "]", u->host, sizeof(u->host)) && text_skip(t, "]");
}

static bool read_port(struct text *t, struct live_url *u)
{
	struct text digits;
	uint64_t port;

	snprintf(u->port, sizeof(u->port), "%d", CTF_WIRE_PORT);
	if (!text_skip(t, ":"))
		return true;
	if (!read_part(t, "/", u->port, sizeof(u->port)))
		return false;
	digits = text_of(u->port);
	return text_u64(&digits, 10, &port) && !digits.len && port && port < 65536;
}

/*
 * SPEC ctf-live/url: port 5344 unless it is named; what follows the host names one session by host
 * and name
 */
enum spur_status live_url_parse(const char *url, struct live_url *out, struct spur_error *err)
{
	struct text t = text_of(url);

	*out = (struct live_url){ .family = AF_UNSPEC };
	if (text_skip(&t, "net4://"))
		out->family = AF_INET;
	else if (text_skip(&t, "net6://"))
		out->family = AF_INET6;
	else if (!text_skip(&t, "net://"))
		return url_wrong(url, "another beginning", err);
	if (!read_host(&t, out))
		return url_wrong(url, "no host", err);
	if (!read_port(&t, out))
		return url_wrong(url, "a port that is no number from 1 to 65535", err);
	out->base = (size_t)(t.p - url);
	text_skip(&t, "/");
	if (!t.len)
		return SPUR_OK;
	if (!text_skip(&t, "host/") || !read_part(&t, "/", out->target, sizeof(out->target)) ||
	    !text_skip(&t, "/") || !read_part(&t, "/", out->session, sizeof(out->session)))
		return url_wrong(url, "something else behind the host", err);
	text_skip(&t, "/");
	return t.len ? url_wrong(url, "more behind the session", err) : SPUR_OK;
}

/* The block that has room for so much. */
static struct live_block *store_block(struct live_store *s, size_t size)
{
	struct live_block *b = s->count ? &s->blocks[s->count - 1] : NULL;
	size_t want = b ? 2 * b->size : BLOCK_LEAST;

	if (b && b->size - b->used >= size)
		return b;
	want = want > BLOCK_MOST ? BLOCK_MOST : want;
	want = want < size ? size : want;
	if (!mem_grow((void **)&s->blocks, &s->cap, s->count + 1, sizeof(*s->blocks), BLOCKS))
		return NULL;
	b = &s->blocks[s->count];
	*b = (struct live_block){ .p = scratch_alloc(want), .size = want };
	s->count += b->p != NULL;
	return b->p ? b : NULL;
}

const uint8_t *store_keep(struct live_store *s, const uint8_t *p, size_t size)
{
	struct live_block *b = store_block(s, size);
	uint8_t *to;
	size_t used;

	if (!b)
		return NULL;
	to = b->p + b->used;
	memcpy(to, p, size);
	used = b->used + (size + ALIGN - 1) / ALIGN * ALIGN;
	b->used = used < b->size ? used : b->size;
	return to;
}

void store_free(struct live_store *s)
{
	for (size_t i = 0; i < s->count; i++)
		scratch_free(s->blocks[i].p, s->blocks[i].size);
	mem_free(s->blocks);
	*s = (struct live_store){ 0 };
}
