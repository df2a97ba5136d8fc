/*
 * Packed packets of the RFC v1.1: SPEC ctf-v11/unpack: checksum over what is stored, then
 * decryption, then decompression.
 *
 * SPEC ctf-v11/aes: the RFC names neither mode nor key: AES in counter mode (the key's length says
 * which: 16, 24 or 32 bytes), the first 16 stored bytes are the counter block.
 */
#include <bzlib.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/bits.h"
#include "base/err.h"
#include "base/text.h"
#include "format/ctf/reader.h"
#include "format/ctf/wire.h"

enum { MAX_UNPACKED = 1 << 30 };
/*
 * Packets may unpack to ALWAYS_ROOM bytes, and to MOST_RATIO more for each stored byte; events do
 * not compress better.
 */
enum { ALWAYS_ROOM = 1 << 26, MOST_RATIO = 100 };

static const char too_much[] =
	"packet: expected at most 1 GiB, and of a trace 100 times of what is stored and 64 MiB, "
	"when unpacked, found more";

/* Bytes being made; scratch memory. */
struct unpacked {
	uint8_t *p;
	size_t len, cap;
	size_t most;
};

static bool room(struct unpacked *u, size_t need)
{
	size_t cap = u->cap ? u->cap : 65536;
	uint8_t *p;

	if (need > u->most)
		return false;
	if (need <= u->cap)
		return true;
	while (cap < need)
		cap *= 2;
	p = scratch_alloc(cap);
	if (!p)
		return false;
	if (u->len)
		memcpy(p, u->p, u->len);
	scratch_free(u->p, u->cap);
	u->p = p;
	u->cap = cap;
	return true;
}

static const char *gunzip(struct unpacked *u, const uint8_t *p, size_t len)
{
	z_stream z = { .next_in = (uint8_t *)p, .avail_in = (uInt)len };
	const char *why = NULL;
	size_t left;
	int st = inflateInit2(&z, 15 + 32);

	while (st == Z_OK && !why) {
		if (!room(u, u->len + 1)) {
			why = too_much;
			break;
		}
		z.next_out = u->p + u->len;
		left = (u->cap < u->most ? u->cap : u->most) - u->len;
		z.avail_out = (uInt)left;
		st = inflate(&z, Z_NO_FLUSH);
		u->len += left - z.avail_out;
		if (st == Z_BUF_ERROR || (st == Z_OK && !z.avail_in && z.avail_out))
			why = "packet: expected gzip data to its end, found it cut off";
	}
	inflateEnd(&z);
	return why || st == Z_STREAM_END ? why : "packet: expected gzip data, found other bytes";
}

static const char *bunzip(struct unpacked *u, const uint8_t *p, size_t len)
{
	bz_stream z = { .next_in = (char *)(uintptr_t)p, .avail_in = (unsigned)len };
	const char *why = NULL;
	size_t left;
	int st = BZ2_bzDecompressInit(&z, 0, 0);

	while (st == BZ_OK && !why) {
		if (!room(u, u->len + 1)) {
			why = too_much;
			break;
		}
		z.next_out = (char *)u->p + u->len;
		left = (u->cap < u->most ? u->cap : u->most) - u->len;
		z.avail_out = (unsigned)left;
		st = BZ2_bzDecompress(&z);
		u->len += left - z.avail_out;
		if (st == BZ_OK && !z.avail_in && z.avail_out)
			why = "packet: expected bzip2 data to its end, found it cut off";
	}
	BZ2_bzDecompressEnd(&z);
	return why || st == BZ_STREAM_END ? why : "packet: expected bzip2 data, found other bytes";
}

/* Replaces `in` by what it holds when decrypted. */
static const char *decrypt(const struct ctf *c, struct unpacked *out, const uint8_t *p, size_t len)
{
	const EVP_CIPHER *ciphers[] = { EVP_aes_128_ctr(), EVP_aes_192_ctr(), EVP_aes_256_ctr() };
	EVP_CIPHER_CTX *x;
	int n = 0;
	bool good;

	if (!c->key_len)
		return "packet: expected a key (--key-file) for its AES encryption, found none";
	if (len < CTF_WIRE_AES_BLOCK)
		return "packet: expected the 16 bytes of a counter block, found fewer";
	if (!room(out, len))
		return "packet: expected memory to decrypt, found none";
	x = EVP_CIPHER_CTX_new();
	good = x && EVP_DecryptInit_ex(x, ciphers[c->key_len / 8 - 2], NULL, c->key, p) == 1 &&
	       EVP_DecryptUpdate(x, out->p, &n, p + CTF_WIRE_AES_BLOCK,
				 (int)(len - CTF_WIRE_AES_BLOCK)) == 1;
	EVP_CIPHER_CTX_free(x);
	out->len = (size_t)n;
	return good ? NULL : "packet: expected AES to work, found an error";
}

static const char *decompress(struct unpacked *u, uint64_t scheme, const uint8_t *p, size_t len)
{
	switch (scheme) {
	case CTF_WIRE_BZIP2:
		return bunzip(u, p, len);
	case CTF_WIRE_GZIP:
		return gunzip(u, p, len);
	default:
		return "packet: expected compression scheme 0 (none), 1 (bzip2) or 2 (gzip), found "
		       "another one";
	}
}

/* The unpacked packet: its head, then `content`. */
static const char *put_together(struct ctf_packet *p, const uint8_t *content, size_t len)
{
	const size_t head = (size_t)(p->body / 8);
	uint8_t *data = scratch_alloc(head + len + 8);

	if (!data)
		return "packet: expected memory to unpack, found none";
	memcpy(data, p->data, head);
	memcpy(data + head, content, len);
	p->data = data;
	p->content = 8 * (uint64_t)(head + len);
	p->own = head + len + 8;
	p->flags |= PACKET_OWN;
	return NULL;
}

const char *ctf_unpack(struct ctf *c, struct ctf_packet *p, uint64_t compression,
		       uint64_t encryption)
{
	const uint8_t *stored = p->data + p->body / 8;
	size_t len = (size_t)(p->content - p->body) / 8;
	struct unpacked plain = { .most = MAX_UNPACKED }, out = { 0 };
	const char *why = NULL;
	uint64_t most;

	if (len > MAX_UNPACKED)
		return "packet: expected at most 1 GiB, found more";
	if (encryption == CTF_WIRE_AES)
		why = decrypt(c, &plain, stored, len);
	else if (encryption)
		why = "packet: expected encryption scheme 0 (none) or 1 (AES), found another one";
	if (!why && encryption) {
		stored = plain.p;
		len = plain.len;
	}
	/* SPEC ctf-v11/unpacked-size: what is made is bounded by what is stored */
	c->packed += len;
	most = ALWAYS_ROOM + MOST_RATIO * c->packed - c->unpacked;
	out.most = most < MAX_UNPACKED ? (size_t)most : MAX_UNPACKED;
	if (!why && compression) {
		why = decompress(&out, compression, stored, len);
		stored = out.p;
		len = out.len;
		c->unpacked += len;
	}
	/* What came before the damage is kept. */
	if (len && (!why || (compression && out.len)))
		put_together(p, stored, len);
	scratch_free(plain.p, plain.cap);
	scratch_free(out.p, out.cap);
	return why;
}

/* --- keys --- */

static bool is_key_size(size_t n)
{
	return n == 16 || n == 24 || n == 32;
}

/* Bytes of a key in hexadecimal; 0: it is none. */
static size_t hex_key(struct text t, uint8_t key[CTF_KEY])
{
	size_t n = 0;

	if (t.len % 2 || !is_key_size(t.len / 2))
		return 0;
	for (; n < t.len / 2; n++) {
		struct text pair = text_make(t.p + 2 * n, 2);
		uint64_t byte;

		if (!text_u64(&pair, 16, &byte) || pair.len)
			return 0;
		key[n] = (uint8_t)byte;
	}
	return n;
}

/*
 * SPEC ctf-v11/key: in hexadecimal, blanks around it, else as it is; 32 digits are a key of 16
 * bytes
 */
enum spur_status ctf_key_read(const char *path, uint8_t key[CTF_KEY], size_t *len,
			      struct spur_error *err)
{
	struct source *s = NULL;
	struct text t;

	*len = 0;
	if (!path)
		return SPUR_OK;
	if (source_open(&s, path, NULL, err) == SPUR_FAIL)
		return SPUR_FAIL;
	source_need(s, 4096);
	t = text_make(s->data, s->size < 4096 ? s->size : 4096);
	*len = hex_key(text_trim(t), key);
	if (!*len && is_key_size(t.len)) {
		memcpy(key, t.p, t.len);
		*len = t.len;
	}
	source_close(s);
	if (*len)
		return SPUR_OK;
	return err_set(err, SPUR_ERR_USAGE,
		       "%s: expected a key of 16, 24 or 32 bytes, plain or hexadecimal, found none",
		       path);
}

/* --- checksums --- */

const char *ctf_checksum(const struct ctf_packet *p, bool big_endian, uint64_t scheme,
			 uint64_t expected)
{
	static _Thread_local char text[120];
	const uint8_t *stored = p->data + p->body / 8;
	const size_t len = (size_t)(p->content - p->body) / 8;
	uint8_t digest[EVP_MAX_MD_SIZE];
	uint64_t found;

	if (scheme == CTF_WIRE_CRC32) {
		found = crc32_z(crc32(0, NULL, 0), stored, len);
	} else if (scheme == CTF_WIRE_MD5 || scheme == CTF_WIRE_SHA1) {
		/* SPEC ctf-v11/digest: of md5 and sha1 the field holds the first four bytes */
		if (EVP_Digest(stored, len, digest, NULL,
			       scheme == CTF_WIRE_MD5 ? EVP_md5() : EVP_sha1(), NULL) != 1)
			return NULL;
		found = load32(digest, order_swaps(big_endian));
	} else {
		return "packet: expected checksum scheme 0 (none), 1 (md5), 2 (sha1) or 3 (crc32), "
		       "found another one";
	}
	if (found == expected)
		return NULL;
	snprintf(text, sizeof(text), "packet: expected checksum %08llX, found %08llX",
		 (unsigned long long)expected, (unsigned long long)found);
	return text;
}
