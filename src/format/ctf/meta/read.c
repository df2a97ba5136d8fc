/*
 * The file `metadata` as it lies there: text, a JSON sequence, or packets of any of the three
 * generations around them, in either byte order. Unpacks, finds the generation, and has it parsed
 * and resolved. Packets that are compressed or encrypted are not read.
 */
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "format/ctf/meta/meta.h"
#include "format/ctf/wire.h"

enum {
	TAIL_MAX = 3, /* bytes after the last packet that mean nothing */
};

struct packet {
	bool big_endian;
	const uint8_t *uuid; /* NULL: v1.1 has none */
	uint64_t header, content, size; /* bytes, each from the start of the packet */
	uint8_t packed; /* any scheme of compression or encryption */
	uint32_t session; /* v1.1 */
};

struct unpack {
	struct ctf_meta *m;
	struct diag_log *diag;
	const uint8_t *data;
	size_t size;
	uint32_t magic;
	const uint8_t *uuid; /* of the first packet */
	char *text;
	size_t len;
	bool said_uuid;
	uint64_t damaged; /* packets; the first of them */
	uint64_t damaged_at;
	bool holes; /* META_HOLE stands where text is missing */
};

/* ---- packets */

static uint32_t load_be32(const uint8_t *p)
{
	return load32(p, order_swaps(true));
}

/* The magic number in one of the orders? */
static bool is_magic(const uint8_t *p, uint32_t magic)
{
	const uint32_t v = load_be32(p);

	return v == magic || v == __builtin_bswap32(magic);
}

static uint64_t header_size(const struct unpack *u)
{
	return u->magic == CTF_WIRE_MAGIC ? CTF_WIRE_V11 : CTF_WIRE_METADATA_1;
}

/*
 * SPEC ctf-tsdl/packet-header: sizes in bits. SPEC ctf-tsdl/packet-header-2: its own size stands in
 * that of CTF 2.
 */
static bool read_header(const struct unpack *u, size_t at, struct packet *k)
{
	struct cursor c = cursor_make(u->data + at, u->size - at, order_swaps(k->big_endian));
	uint8_t major;

	cursor_u32(&c);
	k->uuid = cursor_bytes(&c, CTF_WIRE_UUID);
	cursor_u32(&c); /* checksum */
	k->content = cursor_u32(&c) / 8;
	k->size = cursor_u32(&c) / 8;
	k->packed = cursor_u8(&c);
	k->packed |= cursor_u8(&c);
	cursor_u8(&c); /* checksum scheme */
	major = cursor_u8(&c);
	cursor_u8(&c); /* minor */
	k->header = CTF_WIRE_METADATA_1;
	if (major == 2) {
		cursor_bytes(&c, 3);
		k->header = cursor_u32(&c) / 8;
	}
	return !c.bad && k->header >= (major == 2 ? CTF_WIRE_METADATA_2 : CTF_WIRE_METADATA_1);
}

/* SPEC ctf-tsdl/packet-header-v11: sizes in bytes. */
static bool read_header_v11(const struct unpack *u, size_t at, struct packet *k)
{
	struct cursor c = cursor_make(u->data + at, u->size - at, order_swaps(k->big_endian));

	cursor_u32(&c);
	k->session = cursor_u32(&c);
	k->content = cursor_u32(&c);
	k->size = cursor_u32(&c);
	cursor_bytes(&c, 29); /* checksum, count, times, discarded, bits of the count */
	k->packed = cursor_u8(&c);
	k->packed |= cursor_u8(&c);
	cursor_u8(&c); /* checksum scheme */
	k->header = CTF_WIRE_V11;
	return !c.bad;
}

/* False where no packet stands at `at`, or none whose sizes make sense. */
static bool packet_read(const struct unpack *u, size_t at, struct packet *k)
{
	*k = (struct packet){ 0 };
	if (u->size - at < header_size(u) || !is_magic(u->data + at, u->magic))
		return false;
	k->big_endian = load_be32(u->data + at) == u->magic;
	if (u->magic == CTF_WIRE_MAGIC ? !read_header_v11(u, at, k) : !read_header(u, at, k))
		return false;
	return k->content >= k->header && k->size >= k->content;
}

static void damage(struct unpack *u, const char *code, size_t at, uint64_t lost, const char *what)
{
	/* A hole follows at least one byte of the file that is no text. */
	if (u->holes && u->len < u->size)
		u->text[u->len++] = META_HOLE;
	if (!u->damaged++)
		u->damaged_at = at;
	diag_add(u->diag, DIAG_DAMAGE, code, u->m->path, at, lost, "packet of metadata: %s", what);
}

static void packet_text(struct unpack *u, const struct packet *k, size_t at)
{
	const char *from = (const char *)u->data + at + k->header;
	const size_t n = k->content - k->header;

	if (u->magic != CTF_WIRE_MAGIC) {
		memcpy(u->text + u->len, from, n);
		u->len += n;
		return;
	}
	/* SPEC ctf-tsdl/v11-strings: a NUL may cut a word in two, so they go. */
	for (size_t i = 0; i < n; i++) {
		if (from[i])
			u->text[u->len++] = from[i];
	}
}

/* The next place at or after `at` where a packet stands; the end where none does. */
static size_t resync(const struct unpack *u, size_t at)
{
	struct packet k;

	for (; u->size - at >= header_size(u); at++) {
		if (packet_read(u, at, &k) && (!k.uuid || !u->uuid || !memcmp(k.uuid, u->uuid, 16)))
			return at;
	}
	return u->size;
}

/* Nothing but zeros, as in a file that was made larger in advance? */
static bool is_zero(const uint8_t *p, size_t n)
{
	return !n || (!p[0] && !memcmp(p, p + 1, n - 1));
}

/* SPEC ctf-tsdl/packet-damage: what is no packet is skipped; the text goes on with the next. */
static size_t skip_damage(struct unpack *u, size_t at)
{
	const size_t next = resync(u, at + 1);

	if (u->size - at <= TAIL_MAX || (next == u->size && is_zero(u->data + at, next - at)))
		diag_add(u->diag, DIAG_NOTE, "ctf/metadata-tail", u->m->path, at, u->size - at,
			 "packet of metadata: expected the end, found %zu bytes more",
			 u->size - at);
	else
		damage(u, "ctf/metadata-packet", at, next - at,
		       "expected a header with its magic number and sizes, found none");
	return next;
}

static size_t packet_next(struct unpack *u, const struct packet *k, size_t at)
{
	struct packet cut = *k;
	const size_t left = u->size - at;

	if (k->uuid && !u->uuid)
		u->uuid = k->uuid;
	if (u->magic == CTF_WIRE_MAGIC && !u->m->has_session) {
		u->m->has_session = true;
		u->m->session = k->session;
	}
	if (k->uuid && memcmp(k->uuid, u->uuid, 16) != 0 && !u->said_uuid) {
		diag_add(u->diag, DIAG_WARN, "ctf/metadata-uuid", u->m->path, at, 0,
			 "packet of metadata: expected the UUID of the first, found another");
		u->said_uuid = true;
	}
	cut.content = cut.content > left ? left : cut.content;
	if (k->packed)
		damage(u, "ctf/metadata-packed", at, k->content - k->header,
		       "expected one without compression and encryption, found one with");
	else if (cut.content > cut.header)
		packet_text(u, &cut, at);
	if (k->size > left)
		damage(u, "ctf/metadata-packet", at, k->size - left,
		       "expected as many bytes as its size says, found the end");
	return k->size > left ? u->size : at + k->size;
}

static bool unpack(struct unpack *u)
{
	struct packet k;

	u->text = arena_alloc(&u->m->arena, u->size);
	if (!u->text)
		return false;
	u->m->big_endian = load_be32(u->data) == u->magic;
	for (size_t at = 0; at < u->size;)
		at = packet_read(u, at, &k) ? packet_next(u, &k, at) : skip_damage(u, at);
	u->m->text = text_make(u->text, u->len);
	return true;
}

/* ---- what it is */

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Cuts a comment, a string, a word or one byte off the front. */
static struct text piece_next(struct text *t)
{
	struct text piece = *t;
	size_t n = 1;

	if (text_starts(*t, "/*")) {
		const char *end = memmem(t->p + 2, t->len - 2, "*/", 2);

		n = end ? (size_t)(end - t->p) + 2 : t->len;
	} else if (text_starts(*t, "//")) {
		const ptrdiff_t end = text_find(*t, '\n');

		n = end < 0 ? t->len : (size_t)end;
	} else if (t->p[0] == '"') {
		while (n < t->len && t->p[n] != '"')
			n += t->p[n] == '\\' ? 2 : 1;
		n++;
	} else if (is_word(t->p[0])) {
		while (n < t->len && is_word(t->p[n]))
			n++;
	}
	n = n > t->len ? t->len : n;
	piece.len = n;
	t->p += n;
	t->len -= n;
	return piece;
}

/*
 * SPEC ctf-tsdl/generation: text without a signature is that of the RFC where it declares types,
 * sections or abstract types at its root, before anything that only 1.8 has.
 */
static enum ctf_generation text_generation(struct text t)
{
	uint64_t open = 0;

	while (t.len) {
		const struct text piece = piece_next(&t);

		if (text_starts(piece, ":") && text_starts(t, "="))
			return CTF_1;
		if (text_is(piece, "{"))
			open++;
		if (text_is(piece, "}") && open)
			open--;
		if (!open && (text_is(piece, "type") || text_is(piece, "abstract_type") ||
			      text_is(piece, "section")))
			return CTF_V11;
	}
	return CTF_1;
}

/* SPEC ctf-tsdl/signature */
static enum ctf_generation generation_of(struct text t)
{
	text_skip(&t, "\xEF\xBB\xBF");
	while (t.len && (is_blank(t.p[0]) || !t.p[0]))
		t = text_make(t.p + 1, t.len - 1);
	if (text_starts(t, "\x1E") || text_starts(t, "{") || text_starts(t, "["))
		return CTF_2;
	return text_starts(t, "/* CTF") ? CTF_1 : text_generation(t);
}

/* ---- all */

static enum spur_status parse(struct ctf_meta *m, enum ctf_generation generation,
			      struct diag_log *diag, struct spur_error *err)
{
	switch (generation) {
	case CTF_V11:
		return v11_parse(m, m->text, diag, err);
	case CTF_2:
		return json_parse(m, m->text, diag, err);
	default:
		return tsdl_parse(m, m->text, diag, err);
	}
}

/*
 * Text may lack the contents of damaged packets, and the log of a trace that does not open is not
 * shown, so the error mentions them.
 */
static enum spur_status blame_packets(const struct unpack *u, struct spur_error *err)
{
	const size_t len = err ? strlen(err->message) : 0;

	if (len && u->damaged && err->code == SPUR_ERR_FORMAT)
		snprintf(err->message + len, sizeof(err->message) - len,
			 "; packets of it that cannot be read: %llu, the first at byte %llu",
			 (unsigned long long)u->damaged, (unsigned long long)u->damaged_at);
	return SPUR_FAIL;
}

/* Unpacks the text. Sets what is known without its meaning. */
static enum spur_status read_text(struct unpack *u, enum ctf_generation *generation,
				  struct spur_error *err)
{
	struct ctf_meta *m = u->m;

	if (u->size > META_BYTES)
		return err_set(err, SPUR_ERR_LIMIT, "%s: expected at most %d bytes, found %zu",
			       m->path, META_BYTES, u->size);
	m->text = text_make(u->data, u->size);
	if (u->size >= 4 && is_magic(u->data, CTF_WIRE_METADATA_MAGIC))
		u->magic = CTF_WIRE_METADATA_MAGIC;
	else if (u->size >= 4 && is_magic(u->data, CTF_WIRE_MAGIC))
		u->magic = CTF_WIRE_MAGIC;
	m->plain = !u->magic;
	if (u->magic && !unpack(u))
		return err_nomem(err);
	text_skip(&m->text, "\xEF\xBB\xBF");
	if (!text_trim(m->text).len)
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s:1:1: expected a description of the trace, found nothing",
			       m->path);
	*generation = u->magic == CTF_WIRE_MAGIC ? CTF_V11 : generation_of(m->text);
	m->generation = *generation;
	return SPUR_OK;
}

static enum spur_status read_any(struct ctf_meta *m, const uint8_t *data, size_t size,
				 struct diag_log *diag, struct spur_error *err)
{
	struct unpack u = { .m = m, .diag = diag, .data = data, .size = size };
	enum ctf_generation generation;
	enum spur_status st;

	if (read_text(&u, &generation, err) == SPUR_FAIL)
		return SPUR_FAIL;
	st = parse(m, generation, diag, err);
	if (st == SPUR_FAIL)
		return blame_packets(&u, err);
	/* SPEC ctf-tsdl/packet-uuid */
	if (u.uuid && m->has_uuid && memcmp(u.uuid, m->uuid, 16) != 0)
		meta_say(m, diag, DIAG_WARN, "ctf/metadata-uuid", 0,
			 "expected the UUID of the packets around this text, found another");
	return meta_resolve(m, diag, err) == SPUR_FAIL ? blame_packets(&u, err) : SPUR_OK;
}

enum spur_status meta_text(struct ctf_meta *m, const uint8_t *data, size_t size,
			   struct diag_log *diag, enum ctf_generation *generation,
			   struct spur_error *err)
{
	struct unpack u = { .m = m, .diag = diag, .data = data, .size = size, .holes = true };

	return read_text(&u, generation, err);
}

enum spur_status meta_parse(struct ctf_meta *m, enum ctf_generation generation,
			    struct diag_log *diag, struct spur_error *err)
{
	const uint64_t failures = mem_failures();
	enum spur_status st = parse(m, generation, diag, err);

	if (st != SPUR_FAIL)
		st = meta_resolve(m, diag, err);
	return mem_failures() != failures ? err_nomem(err) : st;
}

enum spur_status meta_read_as(struct ctf_meta **out, const char *path, const uint8_t *data,
			      size_t size, bool big_endian, struct diag_log *diag,
			      struct spur_error *err)
{
	const uint64_t failures = mem_failures();
	struct ctf_meta *m = meta_new(path);
	enum spur_status st;

	*out = NULL;
	if (!m)
		return err_nomem(err);
	m->big_endian = big_endian;
	st = read_any(m, data, size, diag, err);
	/* Whatever the parsers make of a name or a type that they could not keep. */
	if (mem_failures() != failures)
		st = err_nomem(err);
	if (st == SPUR_FAIL) {
		meta_free(m);
		return SPUR_FAIL;
	}
	*out = m;
	return SPUR_OK;
}

enum spur_status meta_read(struct ctf_meta **out, const char *path, const uint8_t *data,
			   size_t size, struct diag_log *diag, struct spur_error *err)
{
	return meta_read_as(out, path, data, size, false, diag, err);
}
