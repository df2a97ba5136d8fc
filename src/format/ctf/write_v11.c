/*
 * Traces of the RFC v1.1: metadata in its language, and packets that may be compressed, encrypted
 * and summed up. docs/formats/ctf-v11.md has the rules that readers follow.
 */
#include <bzlib.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <zlib.h>

#include "base/err.h"
#include "format/ctf/wire.h"
#include "format/ctf/write.h"
#include "format/ctf/write_meta.h"

enum {
	METADATA_PACKET = 4096,
	MOST_RATIO = 100, /* readers unpack no more; SPEC ctf-v11/unpacked-size */
	MOST_EVENTS = 1 << 30, /* bytes of one packet's events */
	BZIP2_BLOCK = 1, /* 100 kB: packets are mostly smaller */
	COUNTER_BYTES = 4, /* of the counter block: blocks of a packet */
};

/* --- metadata --- */

static void type_out(const struct cw *w, const struct ctf_field *f, struct out *o);

/* SPEC ctf-v11/text: strings end on their line */
static void text_out(struct out *o, const char *s)
{
	out_char(o, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			out_char(o, '\\');
		if (*s == '\n')
			out_str(o, "\\n");
		else
			out_char(o, *s);
	}
	out_char(o, '"');
}

/*
 * SPEC ctf/write-v11-names: names that the language does not have, and those that begin with an
 * underscore, get an underscore in front
 */
static void name_out(struct out *o, const char *name)
{
	if (!name[0] || name[0] == '_' || (name[0] >= '0' && name[0] <= '9') ||
	    strcmp(name, "type") == 0)
		out_char(o, '_');
	out_str(o, name);
}

static void number_out(const struct ctf_field *f, uint64_t v, struct out *o)
{
	if (f->is_signed)
		out_i64(o, (int64_t)v);
	else
		out_u64(o, v);
}

/* SPEC ctf-v11/base: what the RFC lacks is an attribute that it lets readers ignore */
static void integer_out(const struct ctf_field *f, struct out *o)
{
	struct ctf_range ranges[] = { { 0, 0 }, { 1, 1 } };
	const struct ctf_mapping truth[] = { { "false", &ranges[0], 1 },
					     { "true", &ranges[1], 1 } };
	const bool is_bool = f->kind == CTF_BOOL;
	const struct ctf_mapping *maps = is_bool ? truth : f->mappings;
	const uint32_t n = is_bool ? 2 : f->nmappings;

	out_printf(o, "type { parent = %s; size = %u; align = 8; signed = %s; ",
		   is_bool || f->is_enum ? "enum" : "integer", (unsigned)f->size,
		   f->is_signed ? "true" : "false");
	if (f->base && f->base != 10)
		out_printf(o, "base = %u; ", f->base);
	if (n)
		out_str(o, "map = {");
	for (uint32_t i = 0; i < n; i++) {
		out_str(o, i ? ", { " : " { ");
		number_out(f, maps[i].ranges[0].low, o);
		out_str(o, ", ");
		text_out(o, maps[i].name);
		out_str(o, " }");
	}
	out_str(o, n ? " }; }" : "}");
}

static void members_out(const struct cw *w, const struct ctf_field *f, struct out *o)
{
	for (uint32_t i = 0; i < f->nmembers; i++) {
		out_str(o, "\t\t{ ");
		type_out(w, f->members[i].field, o);
		out_str(o, ", ");
		name_out(o, f->members[i].name);
		out_str(o, " },\n");
	}
}

/* Arrays, sequences and bytes, which are arrays of hexadecimal numbers. */
static void elements_out(const struct cw *w, const struct ctf_field *f, struct out *o)
{
	static const struct ctf_field byte = { .kind = CTF_UINT, .size = 8, .base = 16 };
	const bool fixed = f->kind == CTF_ARRAY || f->kind == CTF_BLOB_STATIC;

	if (fixed)
		out_printf(o, "type { parent = array; length = %llu; elem_type = ",
			   (unsigned long long)f->length);
	else
		out_str(o, "type { parent = sequence; length_type = uint32_t; elem_type = ");
	type_out(w, f->element ? f->element : &byte, o);
	out_str(o, "; }");
}

/* The type of a field as written by cw_fields() and cw_context(). */
static void type_out(const struct cw *w, const struct ctf_field *f, struct out *o)
{
	switch ((enum ctf_kind)f->kind) {
	case CTF_STRING:
		out_str(o, "type { parent = string; encoding = UTF8; }");
		break;
	case CTF_FLOAT:
		out_printf(o,
			   "type { parent = floating_point; size = %u; align = 8; exp_dig = %u; "
			   "mant_dig = %u; }",
			   (unsigned)f->size, f->size == 32 ? 8u : 11u, f->size == 32 ? 24u : 53u);
		break;
	case CTF_STRUCT:
		out_str(o, "type { parent = struct; fields = {\n");
		members_out(w, f, o);
		out_str(o, "\t}; }");
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
	case CTF_BLOB_STATIC:
	case CTF_BLOB_DYNAMIC:
		elements_out(w, f, o);
		break;
	default:
		integer_out(f, o);
		break;
	}
}

static void section_out(struct cw *w, const struct cw_stream_class *s)
{
	const struct ctf_field *context = meta_context(w, s);

	out_printf(&w->text,
		   "section {\n\tname = channel%u;\n\tevent {\n\t\theader_type = type2;\n", s->id);
	if (context && context->nmembers) {
		out_str(&w->text, "\t\tcontext {\n\t\t\tfields = ");
		type_out(w, context, &w->text);
		out_str(&w->text, ";\n\t\t}\n");
	}
	out_str(&w->text, "\t}\n}\n\n");
}

/*
 * SPEC ctf/write-v11-events: the RFC has no context of one event: the id of a row is its first
 * field, and the URI tells that
 */
static void event_out(struct cw *w, struct cw_event *e)
{
	struct meta_event m;

	if (!meta_event_get(w, e, &m))
		return;
	out_str(&w->text, "event {\n\tname = ");
	text_out(&w->text, m.name);
	out_printf(&w->text, ";\n\tid = %u;\n\tsection = channel%u;\n\turi = ", e->id,
		   e->key.of->id);
	text_out(&w->text, m.uri);
	out_str(&w->text, ";\n\tfields = type { parent = struct; fields = {\n");
	if (m.specific) {
		out_str(&w->text, "\t\t{ ");
		type_out(w, m.specific->members[0].field, &w->text);
		out_str(&w->text, ", _id },\n");
	}
	members_out(w, m.payload, &w->text);
	out_str(&w->text, "\t}; };\n}\n\n");
}

void cw_v11(struct cw *w)
{
	out_str(&w->text, "trace {\n\tmajor = 1;\n\tminor = 1;\n}\n\n");
	/* SPEC ctf-v11/packed: the alignment of these two says it */
	for (unsigned bits = 32; bits <= 64; bits += 32)
		out_printf(&w->text,
			   "type uint%u_t { parent = integer; size = %u; align = 8; signed = "
			   "false; }\n",
			   bits, bits);
	out_char(&w->text, '\n');
	for (const struct cw_stream_class *s = w->classes; s; s = s->next)
		section_out(w, s);
	for (struct cw_event *e = w->first; e; e = e->next)
		event_out(w, e);
}

/* --- packets --- */

/* SPEC ctf-v11/packet-header SPEC ctf/write-v11-packets */
struct head {
	uint64_t bytes; /* of what is stored, header included */
	uint64_t begin, end;
	uint32_t checksum, sequence, discarded;
	uint8_t compression, encryption, scheme;
};

static void head_put(const struct cw *w, const struct head *h, uint8_t *p)
{
	uint32_t session;

	memcpy(&session, w->uuid, sizeof(session));
	p = cw_put(w, p, CTF_WIRE_MAGIC, 4);
	p = cw_put(w, p, session, 4);
	p = cw_put(w, p, h->bytes, 4);
	p = cw_put(w, p, h->bytes, 4);
	p = cw_put(w, p, h->checksum, 4);
	p = cw_put(w, p, h->sequence, 4);
	p = cw_put(w, p, h->begin, 8);
	p = cw_put(w, p, h->end, 8);
	p = cw_put(w, p, h->discarded, 4);
	*p++ = 32;
	*p++ = h->compression;
	*p++ = h->encryption;
	*p = h->scheme;
}

void cw_v11_metadata(struct cw *w, struct out *o)
{
	enum { MOST = METADATA_PACKET - CTF_WIRE_V11 - 1 };
	struct head h = { 0 };
	size_t at = 0;

	while (at < w->text.len && !o->error) {
		const size_t n = w->text.len - at < MOST ? w->text.len - at : MOST;
		uint8_t p[CTF_WIRE_V11];

		h.bytes = CTF_WIRE_V11 + n + 1;
		head_put(w, &h, p);
		out_bytes(o, p, sizeof(p));
		out_bytes(o, w->text.buf + at, n);
		/* SPEC ctf-tsdl/v11-strings: each packet has one string, which ends with a NUL */
		out_char(o, '\0');
		h.sequence++;
		at += n;
	}
}

/* Makes room for `need` bytes; what was in it is lost. */
static bool room_make(struct cw_room *r, size_t need)
{
	if (need <= r->size)
		return true;
	scratch_free(r->p, r->size);
	r->size = 0;
	r->p = scratch_alloc(need + need / 4);
	r->size = r->p ? need + need / 4 : 0;
	return r->p != NULL;
}

static bool gzip_put(const uint8_t *from, size_t len, struct cw_room *to, size_t *made)
{
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)from, .avail_in = (uInt)len };
	bool good;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return false;
	good = room_make(to, CTF_WIRE_V11 + CTF_WIRE_AES_BLOCK + deflateBound(&z, len));
	if (good) {
		z.next_out = to->p + CTF_WIRE_V11 + CTF_WIRE_AES_BLOCK;
		z.avail_out = (uInt)(to->size - CTF_WIRE_V11 - CTF_WIRE_AES_BLOCK);
		good = deflate(&z, Z_FINISH) == Z_STREAM_END;
		*made = z.total_out;
	}
	deflateEnd(&z);
	return good;
}

static bool bzip2_put(const uint8_t *from, size_t len, struct cw_room *to, size_t *made)
{
	const size_t most = len + len / 100 + 600;
	unsigned n = (unsigned)most;

	if (!room_make(to, CTF_WIRE_V11 + CTF_WIRE_AES_BLOCK + most) ||
	    BZ2_bzBuffToBuffCompress((char *)to->p + CTF_WIRE_V11 + CTF_WIRE_AES_BLOCK, &n,
				     (char *)(uintptr_t)from, (unsigned)len, BZIP2_BLOCK, 0,
				     0) != BZ_OK)
		return false;
	*made = n;
	return true;
}

/*
 * SPEC ctf/write-v11-aes: the counter block is made of the key, the header and the content, so that
 * different packets have different blocks and the same trace has the same bytes. `plain`: a header
 * and `len` bytes of content.
 */
static bool packet_encrypt(const struct cw *w, uint64_t instance, uint8_t *plain, size_t len,
			   struct cw_room *to)
{
	const EVP_CIPHER *ciphers[] = { EVP_aes_128_ctr(), EVP_aes_192_ctr(), EVP_aes_256_ctr() };
	uint8_t mac[EVP_MAX_MD_SIZE], *block;
	EVP_CIPHER_CTX *x;
	unsigned n = 0;
	int made = 0;
	bool good;

	/* Until it is known, the place of the checksum tells streams apart. */
	memcpy(plain + 16, &(uint32_t){ (uint32_t)instance }, 4);
	if (!room_make(to, CTF_WIRE_V11 + CTF_WIRE_AES_BLOCK + len) ||
	    !HMAC(EVP_sha256(), w->key, (int)w->key_len, plain, CTF_WIRE_V11 + len, mac, &n))
		return false;
	block = to->p + CTF_WIRE_V11;
	memcpy(block, mac, CTF_WIRE_AES_BLOCK);
	memset(block + CTF_WIRE_AES_BLOCK - COUNTER_BYTES, 0, COUNTER_BYTES);
	x = EVP_CIPHER_CTX_new();
	good = x && EVP_EncryptInit_ex(x, ciphers[w->key_len / 8 - 2], NULL, w->key, block) == 1 &&
	       EVP_EncryptUpdate(x, block + CTF_WIRE_AES_BLOCK, &made, plain + CTF_WIRE_V11,
				 (int)len) == 1;
	EVP_CIPHER_CTX_free(x);
	return good && (size_t)made == len;
}

/* SPEC ctf-v11/digest */
static uint32_t checksum_of(const struct cw *w, const uint8_t *p, size_t len)
{
	uint8_t digest[EVP_MAX_MD_SIZE] = { 0 };
	uint32_t v;

	if (w->checksum == CTF_WIRE_CRC32)
		return (uint32_t)crc32_z(crc32(0, NULL, 0), p, len);
	EVP_Digest(p, len, digest, NULL, w->checksum == CTF_WIRE_MD5 ? EVP_md5() : EVP_sha1(),
		   NULL);
	memcpy(&v, digest, sizeof(v));
	return w->swap ? __builtin_bswap32(v) : v;
}

/* Compresses the events in `raw`, unless readers would not unpack them. Sets *p and *len. */
static bool compress_to(const struct cw *w, struct cw_room *to, struct head *h, uint8_t **p,
			size_t *len)
{
	size_t made = 0;

	if (!w->compression || !*len)
		return true;
	if (!(w->compression == CTF_WIRE_GZIP ? gzip_put : bzip2_put)(*p + CTF_WIRE_V11, *len, to,
								      &made))
		return false;
	if (*len / MOST_RATIO >= made)
		return true;
	h->compression = w->compression;
	*p = to->p + CTF_WIRE_AES_BLOCK;
	*len = made;
	return true;
}

uint8_t *cw_v11_events(struct cw *w, uint64_t bytes)
{
	if (bytes > MOST_EVENTS) {
		err_set(&w->write->error, SPUR_ERR_LIMIT,
			"version=1.1: expected packets of at most 1 GiB, found an event that is "
			"larger");
		return NULL;
	}
	return room_make(&w->raw, CTF_WIRE_V11 + (size_t)bytes) ? w->raw.p + CTF_WIRE_V11 : NULL;
}

bool cw_v11_packet(struct cw *w, uint64_t instance, const struct cw_packet *packet, struct out *o)
{
	struct head h = { .begin = packet->begin,
			  .end = packet->end,
			  .sequence = (uint32_t)packet->sequence,
			  .discarded = (uint32_t)packet->discarded,
			  .scheme = w->checksum };
	uint8_t *p = w->raw.p;
	size_t len = (size_t)packet->bytes;

	if (!compress_to(w, &w->packed, &h, &p, &len))
		return false;
	if (w->key_len && len) {
		h.encryption = CTF_WIRE_AES;
		h.bytes = CTF_WIRE_V11 + CTF_WIRE_AES_BLOCK + len;
		head_put(w, &h, p);
		if (!packet_encrypt(w, instance, p, len, &w->sealed))
			return false;
		p = w->sealed.p;
		len += CTF_WIRE_AES_BLOCK;
	}
	h.bytes = CTF_WIRE_V11 + len;
	h.checksum = w->checksum ? checksum_of(w, p + CTF_WIRE_V11, len) : 0;
	head_put(w, &h, p);
	out_bytes(o, p, CTF_WIRE_V11 + len);
	return true;
}

/* --- settings --- */

static uint8_t scheme_of(const struct write *w, const char *name, const char *const *values)
{
	uint8_t n = 0;

	while (values[n] && !write_setting_is(w, name, values[n]))
		n++;
	return values[n] ? (uint8_t)(n + 1) : 0;
}

/* In the order of enum ctf_wire_compression and enum ctf_wire_checksum. */
const char *const cw_compressions[] = { "bzip2", "gzip", NULL };
const char *const cw_checksums[] = { "md5", "sha1", "crc32", NULL };

bool cw_v11_settings(struct cw *w)
{
	static const char *const only[] = { "compression", "checksum", "key-file" };
	const struct write *write = w->write;
	char path[CTF_PATH_ROOM];
	size_t len;
	const char *key = write_setting(write, "key-file", &len);

	if (w->v11 && w->lttng) {
		err_set(&w->write->error, SPUR_ERR_USAGE,
			"like=lttng: expected version 1.8 or 2, found version=1.1, which LTTng "
			"never "
			"wrote");
		return false;
	}
	for (size_t i = 0; !w->v11 && i < sizeof(only) / sizeof(only[0]); i++)
		if (write_setting(write, only[i], &len)) {
			err_set(&w->write->error, SPUR_ERR_USAGE,
				"%s: expected version=1.1, found another version, whose packets "
				"have no such field",
				only[i]);
			return false;
		}
	w->compression = scheme_of(write, "compression", cw_compressions);
	w->checksum = scheme_of(write, "checksum", cw_checksums);
	if (!key)
		return true;
	snprintf(path, sizeof(path), "%.*s", (int)(len < sizeof(path) ? len : sizeof(path)), key);
	return ctf_key_read(path, w->key, &w->key_len, &w->write->error) != SPUR_FAIL;
}

void cw_v11_free(struct cw *w)
{
	scratch_free(w->raw.p, w->raw.size);
	scratch_free(w->packed.p, w->packed.size);
	scratch_free(w->sealed.p, w->sealed.size);
}
