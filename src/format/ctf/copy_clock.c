/*
 * Times of a trace that is copied into one with others: its packets stay, and the offsets of the
 * clocks in its metadata move. SPEC ctf/copy-shift
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "format/ctf/copies.h"
#include "format/ctf/origin.h"

enum { RS = 0x1E };

static const int64_t SECOND = 1000000000;

/* A clock's offset after a move. */
struct moved {
	int64_t seconds;
	uint64_t cycles;
};

/* Moves a clock by ns. Returns false if its offset cannot say that exactly. */
static bool clock_move(const struct ctf_clock *clock, int64_t ns, struct moved *out)
{
	int64_t seconds = ns / SECOND, rest = ns % SECOND;
	__int128 cycles;

	if (rest < 0) {
		rest += SECOND;
		seconds--;
	}
	cycles = (__int128)rest * (__int128)clock->hz;
	if (!clock->hz || cycles % SECOND ||
	    __builtin_add_overflow(clock->offset_seconds, seconds, &out->seconds))
		return false;
	cycles = cycles / SECOND + (__int128)clock->offset;
	out->cycles = (uint64_t)cycles;
	return cycles <= INT64_MAX;
}

/* The ns by which the clocks of a part have to move. Returns false if that is no int64. */
static bool distance(const struct copy *copy, size_t part, int64_t *ns)
{
	const struct ctf *first = copy->parts[0].trace->state, *c = copy->parts[part].trace->state;
	const __int128 far =
		(__int128)first->clock_start + copy->parts[part].shift - (__int128)c->clock_start;

	*ns = (int64_t)far;
	return *ns == far;
}

/* Returns true if an earlier part has a trace of the same UUID: readers take both for one. */
static bool is_again(const struct copy *copy, size_t part)
{
	const struct ctf *c = copy->parts[part].trace->state;

	for (size_t i = 0; i < part; i++) {
		const struct ctf *other = copy->parts[i].trace->state;

		for (size_t k = 0; k < c->ntraces; k++)
			for (size_t n = 0; n < other->ntraces; n++) {
				const struct ctf_meta *a = c->traces[k].meta,
						      *b = other->traces[n].meta;

				if (a->has_uuid && b->has_uuid &&
				    memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0)
					return true;
			}
	}
	return false;
}

bool copies_shift_fits(const struct copy *copy, size_t part)
{
	const struct ctf *first = copy->parts[0].trace->state, *c = copy->parts[part].trace->state;
	struct moved moved;
	int64_t ns;

	if (!part)
		return true;
	/* A clock of another origin, and times without a clock, count from their own zero. */
	if (!first->first_clock || !c->first_clock ||
	    !ctf_same_origin(first->first_clock, c->first_clock))
		return !copy->parts[part].shift;
	if (!distance(copy, part, &ns) || (ns && is_again(copy, part)))
		return false;
	for (size_t i = 0; ns && i < c->ntraces; i++) {
		const struct ctf_meta *m = c->traces[i].meta;

		if (m->generation == CTF_V11 || !m->nclocks)
			return false;
		for (size_t k = 0; k < m->nclocks; k++)
			if (m->clocks[k]->implicit || !clock_move(m->clocks[k], ns, &moved))
				return false;
	}
	return true;
}

int64_t copies_shift(const struct copy *copy, size_t part)
{
	const struct ctf *first = copy->parts[0].trace->state, *c = copy->parts[part].trace->state;
	int64_t ns = 0;

	if (!part || !first->first_clock || !c->first_clock ||
	    !ctf_same_origin(first->first_clock, c->first_clock))
		return 0;
	return distance(copy, part, &ns) ? ns : 0;
}

/* --- TSDL --- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Cuts a comment, a string, a word or one byte off the front. */
static struct text token_next(struct text *t)
{
	struct text token = *t;
	const char *end;
	size_t n = 1;

	if (text_starts(*t, "/*")) {
		end = memmem(t->p + 2, t->len - 2, "*/", 2);
		n = end ? (size_t)(end - t->p) + 2 : t->len;
	} else if (text_starts(*t, "//")) {
		end = memchr(t->p, '\n', t->len);
		n = end ? (size_t)(end - t->p) : t->len;
	} else if (t->p[0] == '"') {
		while (n < t->len && t->p[n] != '"')
			n += t->p[n] == '\\' ? 2 : 1;
		n = n < t->len ? n + 1 : t->len;
	} else if (is_word(t->p[0])) {
		while (n < t->len && is_word(t->p[n]))
			n++;
	}
	token.len = n;
	*t = text_make(t->p + n, t->len - n);
	return token;
}

static void statement_skip(struct text *t)
{
	while (t->len && !text_is(token_next(t), ";"))
		;
}

/* The block of a clock, behind its brace, with other offsets. */
static void clock_out(struct text *t, const struct moved *m, struct out *o)
{
	unsigned depth = 1;

	out_printf(o, "\n\toffset_s = %lld;\n\toffset = %llu;", (long long)m->seconds,
		   (unsigned long long)m->cycles);
	while (t->len && depth) {
		const struct text token = token_next(t);

		if (depth == 1 && (text_is(token, "offset") || text_is(token, "offset_s"))) {
			statement_skip(t);
			continue;
		}
		depth += text_is(token, "{");
		depth -= text_is(token, "}");
		out_bytes(o, token.p, token.len);
	}
}

/* Clocks are declared in the order of the text. */
static bool tsdl_out(const struct ctf_meta *m, int64_t ns, struct out *o)
{
	struct text t = m->text;
	unsigned depth = 0;
	bool is_clock = false;
	size_t clock = 0;

	while (t.len) {
		const struct text token = token_next(&t);
		struct moved moved;

		out_bytes(o, token.p, token.len);
		if (is_clock && text_is(token, "{")) {
			if (clock == m->nclocks || !clock_move(m->clocks[clock++], ns, &moved))
				return false;
			clock_out(&t, &moved, o);
			is_clock = false;
			continue;
		}
		depth += text_is(token, "{");
		depth -= depth && text_is(token, "}");
		is_clock = !depth && (text_is(token, "clock") ||
				      (is_clock && (token.p[0] <= ' ' || token.p[0] == '/')));
	}
	return clock == m->nclocks;
}

/* --- JSON --- */

static const struct ctf_clock *clock_find(const struct ctf_meta *m, const char *id)
{
	for (size_t i = 0; id && i < m->nclocks; i++)
		if (m->clocks[i]->id && strcmp(m->clocks[i]->id, id) == 0)
			return m->clocks[i];
	return m->nclocks == 1 ? m->clocks[0] : NULL;
}

/* A fragment of a clock class with another offset. Returns false if that cannot be made. */
static bool fragment_out(const struct ctf_meta *m, json_t *fragment, int64_t ns, struct out *o)
{
	const struct ctf_clock *clock =
		clock_find(m, json_string_value(json_object_get(fragment, "id")));
	struct moved moved;
	json_t *offset;
	char *text;

	if (!clock || !clock_move(clock, ns, &moved))
		return false;
	offset = json_pack("{s:I, s:I}", "seconds", (json_int_t)moved.seconds, "cycles",
			   (json_int_t)moved.cycles);
	if (!offset || json_object_set_new(fragment, "offset-from-origin", offset) != 0)
		return false;
	text = json_dumps(fragment, JSON_COMPACT);
	if (!text)
		return false;
	out_str(o, text);
	out_char(o, '\n');
	free(text);
	return true;
}

static bool json_out(const struct ctf_meta *m, int64_t ns, struct out *o)
{
	struct text rest = m->text, piece;
	bool good = true;

	while (good && text_split(&rest, RS, &piece)) {
		json_t *fragment = json_loadb(piece.p, piece.len, 0, NULL);
		const char *type = json_string_value(json_object_get(fragment, "type"));

		if (text_trim(piece).len)
			out_char(o, RS);
		if (type && strcmp(type, "clock-class") == 0)
			good = fragment_out(m, fragment, ns, o);
		else if (text_trim(piece).len)
			out_bytes(o, piece.p, piece.len);
		json_decref(fragment);
	}
	return good;
}

bool copies_shift_out(const struct ctf_meta *m, int64_t ns, struct out *o)
{
	return m->generation == CTF_2 ? json_out(m, ns, o) : tsdl_out(m, ns, o);
}
