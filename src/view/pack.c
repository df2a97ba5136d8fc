/* See pack.h. */
#include "view/pack.h"

enum { PIECE = 16 << 10, GZIP = 15 + 16 /* window bits of a gzip stream */ };

void put_base64(struct out *o, const void *bytes, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *p = bytes;

	for (; n; p += 3, n -= n < 3 ? n : 3) {
		const uint32_t v = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) |
				   (n > 2 ? p[2] : 0);
		char *const w = out_room(o, 4);

		if (!w)
			return;
		w[0] = digits[v >> 18];
		w[1] = digits[v >> 12 & 63];
		w[2] = n > 1 ? digits[v >> 6 & 63] : '=';
		w[3] = n > 2 ? digits[v & 63] : '=';
		o->len += 4;
	}
}

/* Writes whole groups of three bytes; keeps the rest for the next ones. */
static void put_groups(struct pack *p, const uint8_t *bytes, size_t n)
{
	size_t whole;

	while (p->nrest && n) {
		p->rest[p->nrest++] = *bytes++;
		n--;
		if (p->nrest == sizeof(p->rest)) {
			put_base64(p->out, p->rest, sizeof(p->rest));
			p->nrest = 0;
		}
	}
	whole = n - n % 3;
	put_base64(p->out, bytes, whole);
	for (size_t i = whole; i < n; i++)
		p->rest[p->nrest++] = bytes[i];
}

/* Compresses what z.next_in has. */
static void squeeze(struct pack *p, int flush)
{
	uint8_t to[PIECE];
	int status;

	do {
		p->z.next_out = to;
		p->z.avail_out = sizeof(to);
		status = deflate(&p->z, flush);
		put_groups(p, to, sizeof(to) - p->z.avail_out);
	} while (!p->z.avail_out || (flush == Z_FINISH && status == Z_OK));
}

void pack_begin(struct pack *p, struct out *out, bool plain)
{
	*p = (struct pack){ .out = out, .plain = plain };
	p->failed = !plain && deflateInit2(&p->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, 8,
					   Z_DEFAULT_STRATEGY) != Z_OK;
}

void pack_bytes(struct pack *p, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	p->size += n;
	if (p->failed)
		return;
	if (p->plain) {
		put_groups(p, at, n);
		return;
	}
	while (n) {
		const size_t piece = n < PIECE ? n : PIECE;

		p->z.next_in = (uint8_t *)(uintptr_t)at;
		p->z.avail_in = (unsigned)piece;
		squeeze(p, Z_NO_FLUSH);
		at += piece;
		n -= piece;
	}
}

void pack_align(struct pack *p)
{
	static const uint8_t zeros[8];

	pack_bytes(p, zeros, (8 - p->size % 8) % 8);
}

bool pack_end(struct pack *p)
{
	if (!p->failed && !p->plain) {
		p->z.avail_in = 0;
		squeeze(p, Z_FINISH);
	}
	if (!p->failed)
		put_base64(p->out, p->rest, p->nrest);
	p->nrest = 0;
	if (!p->plain)
		deflateEnd(&p->z);
	return !p->failed;
}
