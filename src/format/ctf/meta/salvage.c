/*
 * Damaged metadata: keeps the pieces that can be read. A piece is a block or declaration that
 * begins a line with a word of the language (TSDL, RFC v1.1), or a fragment (CTF 2).
 *
 * Pieces that cannot be whole are left out first. Then the rest is read again and again, each time
 * without the piece in which reading failed.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "format/ctf/meta/meta.h"

enum {
	RS = 0x1E,
	MOST_ROUNDS = 1024,
	MOST_BYTES = 1 << 28, /* of text that is read in all rounds */
};

struct salvage {
	struct ctf_meta *from; /* has the text with all its pieces */
	char *text; /* without those that were left out, which are blanks */
	size_t len;
	enum ctf_generation generation;
	struct diag_log *diag;
	size_t left_out; /* pieces */
	uint64_t last; /* where reading failed before; UINT64_MAX: nowhere */
	bool parsed; /* reading came to the end and failed behind it */
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* --- pieces --- */

/* Returns true if a piece begins at that place, which begins a line. */
static bool begins_piece(const struct salvage *s, size_t at)
{
	static const char *const words[] = {
		"trace",   "env",    "clock",	"stream", "event", "callsite",	    "typealias",
		"typedef", "struct", "variant", "enum",	  "type",  "abstract_type", "section",
	};
	size_t len = 0;

	while (at + len < s->len &&
	       ((s->text[at + len] >= 'a' && s->text[at + len] <= 'z') || s->text[at + len] == '_'))
		len++;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == len && memcmp(s->text + at, words[i], len) == 0)
			return true;
	return false;
}

/* The end of the piece that `at` is in: where the next one begins. */
static size_t piece_end(const struct salvage *s, size_t at)
{
	const char *p = s->text + at, *const end = s->text + s->len;

	if (s->generation == CTF_2) {
		p = at < s->len ? memchr(p + 1, RS, s->len - at - 1) : NULL;
		return p ? (size_t)(p - s->text) : s->len;
	}
	while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
		p++;
		if (begins_piece(s, (size_t)(p - s->text)))
			return (size_t)(p - s->text);
	}
	return s->len;
}

/* The begin of the piece that `at` is in; 0: what precedes the first one. */
static size_t piece_begin(const struct salvage *s, size_t at)
{
	for (size_t i = at < s->len ? at + 1 : s->len; i-- > 0;) {
		if (s->generation == CTF_2 ? s->text[i] == RS
					   : (!i || s->text[i - 1] == '\n') && begins_piece(s, i))
			return i;
	}
	return 0;
}

static bool is_left_out(const struct salvage *s, size_t from, size_t to)
{
	while (from < to && is_blank(s->text[from]))
		from++;
	return from == to;
}

/* Leaves out a piece. Returns false if it was before. */
static bool leave_out(struct salvage *s, size_t from, size_t to, const char *why)
{
	if (is_left_out(s, from, to))
		return false;
	for (size_t i = from; i < to; i++)
		if (s->text[i] != '\n')
			s->text[i] = ' ';
	s->left_out++;
	diag_add(s->diag, DIAG_DAMAGE, "ctf/metadata-piece", s->from->path, DIAG_NO_OFF, to - from,
		 "%s", why);
	return true;
}

/* Returns true if a piece of text has all its braces and nothing but text. */
static bool is_whole(const char *p, const char *end)
{
	int64_t open = 0;

	for (; p < end; p++) {
		if (*p == '"') {
			for (p++; p < end && *p != '"' && *p != '\n'; p++)
				p += *p == '\\' && p + 1 < end;
			if (p == end || *p != '"')
				return false;
		} else if (*p == '/' && end - p > 1 && p[1] == '*') {
			p = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
			if (!p)
				return false;
			p++;
		} else if (*p == '/' && end - p > 1 && p[1] == '/') {
			while (p + 1 < end && p[1] != '\n')
				p++;
		} else if (((unsigned char)*p < ' ' && !is_blank(*p)) || *p == 0x7F) {
			return false;
		}
		open += (p < end && *p == '{') - (p < end && *p == '}');
		if (open < 0)
			return false;
	}
	return !open;
}

/* Blanks NULs outside strings, which the reader skips: they are no reason to leave a piece out. */
static void nuls_blank(struct salvage *s)
{
	bool in_string = false;

	for (size_t i = 0; s->generation != CTF_2 && i < s->len; i++) {
		const char c = s->text[i];

		if (c == '"')
			in_string = !in_string;
		else if (c == '\n')
			in_string = false;
		else if (c == '\\' && in_string)
			i++;
		else if (!c && !in_string)
			s->text[i] = ' ';
	}
}

/* Leaves out pieces that are cut. */
static void cut_leave_out(struct salvage *s)
{
	size_t to;

	for (size_t from = 0; from < s->len; from = to) {
		to = piece_end(s, from);
		if (!is_whole(s->text + from + (s->text[from] == RS), s->text + to))
			leave_out(s, from, to,
				  "expected a whole block or fragment, found a part of one: left "
				  "out");
	}
}

/*
 * Leaves out the piece in which reading failed. A syntax error at the begin of a piece is mostly
 * one of that before. Returns false if nothing is left to try.
 */
static bool failed_leave_out(struct salvage *s, uint64_t at, const struct spur_error *err)
{
	const size_t place = at < s->len ? (size_t)at : s->len ? s->len - 1 : 0;
	size_t from = piece_begin(s, place), to = piece_end(s, place), before = from;
	const char *why = strstr(err->message, ": ");
	char text[400];

	snprintf(text, sizeof(text), "%.380s: left out", why ? why + 2 : err->message);
	if (s->generation != CTF_2 && !s->parsed && at == from && s->last != at) {
		while (before && is_blank(s->text[before - 1]))
			before--;
		s->last = at;
		if (before && leave_out(s, piece_begin(s, before - 1), from, text))
			return true;
	}
	s->last = at;
	return leave_out(s, from, to, text);
}

/* --- all --- */

/* What remains of the text, without lines that are blank. */
static struct text clean_text(struct ctf_meta *m, const struct salvage *s)
{
	static const char signature[] = "/* CTF 1.8 */\n";
	const size_t head = sizeof(signature) - 1;
	char *clean = arena_alloc(&m->arena, s->len + head + 1), *q = clean;
	const char *p = s->text, *const end = p + s->len;

	if (!clean)
		return text_make(NULL, 0);
	if (s->generation == CTF_1 && (s->len < 6 || memcmp(p, "/* CTF", 6) != 0)) {
		memcpy(q, signature, head);
		q += head;
	}
	while (p < end) {
		const char *next = memchr(p, '\n', (size_t)(end - p));
		const size_t n = next ? (size_t)(next - p) + 1 : (size_t)(end - p);

		if (!is_left_out(s, (size_t)(p - s->text), (size_t)(p - s->text) + n)) {
			memcpy(q, p, n);
			q += n;
		}
		p += n;
	}
	return text_make(clean, (size_t)(q - clean));
}

/* Reads what remains once. Returns NULL with the error and its place set. */
static struct ctf_meta *round_read(struct salvage *s, uint64_t *at, struct diag_log *log,
				   struct spur_error *err)
{
	struct ctf_meta *m = meta_new(s->from->path);
	char *text = m ? arena_alloc(&m->arena, s->len + 1) : NULL;

	if (!text) {
		meta_free(m);
		err_nomem(err);
		return NULL;
	}
	memcpy(text, s->text, s->len);
	m->text = text_make(text, s->len);
	m->big_endian = s->from->big_endian;
	m->plain = s->from->plain;
	m->has_session = s->from->has_session;
	m->session = s->from->session;
	m->strict = true;
	if (meta_parse(m, s->generation, log, err) == SPUR_FAIL) {
		/* err is set */
	} else if (!m->nstreams) {
		meta_error(m, err, SPUR_ERR_FORMAT, 0,
			   "expected a stream class that can be read, found none");
	} else {
		m->salvaged = clean_text(m, s);
		if (m->salvaged.p)
			return m;
		err_nomem(err);
	}
	*at = m->failed_at;
	s->parsed = m->parsed;
	meta_free(m);
	return NULL;
}

static struct ctf_meta *rounds(struct salvage *s, struct spur_error *err)
{
	struct spur_error first = { 0 };
	uint64_t at = 0;

	nuls_blank(s);
	cut_leave_out(s);
	for (unsigned i = 0; i < MOST_ROUNDS && i * s->len < MOST_BYTES; i++) {
		struct spur_error failed = { 0 };
		struct diag_log log;
		struct ctf_meta *m;

		diag_init(&log);
		m = round_read(s, &at, &log, &failed);
		if (m)
			diag_merge(s->diag, &log);
		diag_free(&log);
		if (m)
			return m;
		if (!first.code)
			first = failed;
		if (failed.code != SPUR_ERR_FORMAT || !failed_leave_out(s, at, &failed))
			break;
	}
	*err = first;
	return NULL;
}

enum spur_status meta_salvage(struct ctf_meta **out, const char *path, const uint8_t *data,
			      size_t size, bool big_endian, struct diag_log *diag,
			      struct spur_error *err)
{
	struct salvage s = { .from = meta_new(path), .last = UINT64_MAX };
	struct diag_log log;

	*out = NULL;
	if (!s.from)
		return err_nomem(err);
	diag_init(&log);
	s.diag = &log;
	s.from->big_endian = big_endian;
	if (meta_text(s.from, data, size, &log, &s.generation, err) != SPUR_FAIL) {
		s.len = s.from->text.len;
		s.text = arena_alloc(&s.from->arena, s.len + 1);
		if (s.text)
			memcpy(s.text, s.from->text.p, s.len);
		*out = s.text ? rounds(&s, err) : NULL;
		if (!s.text)
			err_nomem(err);
	}
	if (*out)
		diag_merge(diag, &log);
	diag_free(&log);
	meta_free(s.from);
	return *out ? SPUR_OK : SPUR_FAIL;
}
