/*
 * A report that was saved as JSON (docs/jsonl.md): {"schema":1,"spur":"report","by":"function",
 * "rows":[{...},...]}. Rows are read one by one, so that memory follows the functions and not the
 * text; members that are not compared are skipped.
 */
#include <string.h>

#include "base/text.h"
#include "pass/diff/side.h"

enum { JSON_DEPTH = 64 };

/* Text that is read, and the first error in it. */
struct reader {
	struct text rest;
	const char *begin, *path;
	struct out string; /* the last string, without its escapes */
	struct spur_error *err;
	bool failed;
};

static bool read_failed(struct reader *r, const char *expected)
{
	if (!r->failed)
		err_set(r->err, SPUR_ERR_FORMAT, "%s:0x%llx: saved report: expected %s", r->path,
			(unsigned long long)(r->rest.p - r->begin), expected);
	r->failed = true;
	return false;
}

static char read_peek(struct reader *r)
{
	while (r->rest.len && memchr(" \t\r\n", *r->rest.p, 4))
		r->rest = text_make(r->rest.p + 1, r->rest.len - 1);
	return r->rest.len ? *r->rest.p : '\0';
}

/* Skips the character if it comes next. */
static bool read_if(struct reader *r, char c)
{
	if (!r->rest.len || read_peek(r) != c)
		return false;
	r->rest = text_make(r->rest.p + 1, r->rest.len - 1);
	return true;
}

/* The four digits of a \u escape. */
static bool read_hex4(struct reader *r, uint32_t *code)
{
	struct text digits = text_make(r->rest.p, 4);
	uint64_t v;

	if (r->rest.len < 4 || !text_u64(&digits, 16, &v) || digits.len)
		return read_failed(r, "four hexadecimal digits");
	r->rest = text_make(r->rest.p + 4, r->rest.len - 4);
	*code = (uint32_t)v;
	return true;
}

static void out_utf8(struct out *o, uint32_t code)
{
	if (code < 0x80) {
		out_char(o, (char)code);
		return;
	}
	if (code < 0x800) {
		out_char(o, (char)(0xc0 | code >> 6));
	} else {
		if (code < 0x10000) {
			out_char(o, (char)(0xe0 | code >> 12));
		} else {
			out_char(o, (char)(0xf0 | code >> 18));
			out_char(o, (char)(0x80 | (code >> 12 & 0x3f)));
		}
		out_char(o, (char)(0x80 | (code >> 6 & 0x3f)));
	}
	out_char(o, (char)(0x80 | (code & 0x3f)));
}

/* A low surrogate alone stands for a byte that was not UTF-8. */
static bool read_unicode(struct reader *r)
{
	uint32_t code, low;

	if (!read_hex4(r, &code))
		return false;
	if (code >= 0xdc80 && code <= 0xdcff) {
		out_char(&r->string, (char)(code & 0xff));
		return true;
	}
	if (code >= 0xd800 && code < 0xdc00) {
		if (!text_skip(&r->rest, "\\u"))
			return read_failed(r, "the second half of a surrogate pair");
		if (!read_hex4(r, &low))
			return false;
		if (low < 0xdc00 || low > 0xdfff)
			return read_failed(r, "a low surrogate");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	out_utf8(&r->string, code);
	return true;
}

static bool read_escape(struct reader *r)
{
	static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char c = r->rest.len ? *r->rest.p : '\0';
	const char *letter = c ? strchr(letters, c) : NULL;

	if (!letter && c != 'u')
		return read_failed(r, "an escape");
	r->rest = text_make(r->rest.p + 1, r->rest.len - 1);
	if (c == 'u')
		return read_unicode(r);
	out_char(&r->string, values[letter - letters]);
	return true;
}

/* A string, to r->string. */
static bool read_string(struct reader *r)
{
	out_clear(&r->string);
	if (!read_if(r, '"'))
		return read_failed(r, "a string");
	for (;;) {
		size_t plain = 0;

		while (plain < r->rest.len && r->rest.p[plain] != '"' && r->rest.p[plain] != '\\')
			plain++;
		out_bytes(&r->string, r->rest.p, plain);
		r->rest = text_make(r->rest.p + plain, r->rest.len - plain);
		if (text_skip(&r->rest, "\""))
			return true;
		if (!text_skip(&r->rest, "\\"))
			return read_failed(r, "the end of a string");
		if (!read_escape(r))
			return false;
	}
}

static bool string_is(const struct reader *r, const char *s)
{
	return text_is(text_make(r->string.buf, r->string.len), s);
}

/* The name of a member, to r->string, and its colon. */
static bool read_member(struct reader *r)
{
	return read_string(r) && (read_if(r, ':') || read_failed(r, "':'"));
}

/* Skips a number, true, false or null. */
static bool skip_word(struct reader *r)
{
	size_t n = 0;

	read_peek(r);
	while (n < r->rest.len &&
	       (memchr("+-.", r->rest.p[n], 3) || (r->rest.p[n] >= '0' && r->rest.p[n] <= '9') ||
		(r->rest.p[n] >= 'a' && r->rest.p[n] <= 'z') || r->rest.p[n] == 'E'))
		n++;
	if (!n)
		return read_failed(r, "a value");
	r->rest = text_make(r->rest.p + n, r->rest.len - n);
	return true;
}

/* Skips any value. Brackets must balance; what stands between them is not checked. */
static bool skip_value(struct reader *r)
{
	size_t depth = 0;

	do {
		const char c = read_peek(r);
		bool good = true;

		if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			good = depth-- > 0;
		else if (c == '"')
			good = read_string(r);
		else if (!(depth && (c == ',' || c == ':')))
			good = skip_word(r);
		if (!good || depth > JSON_DEPTH)
			return read_failed(r, "a value");
		if (c && memchr("{}[],:", c, 6))
			r->rest = text_make(r->rest.p + 1, r->rest.len - 1);
	} while (depth);
	return true;
}

/* A whole number that is not negative; others and null are unknown. */
static bool read_value(struct reader *r, struct diff_values *v, enum diff_measure m)
{
	struct text number;
	uint64_t value;

	read_peek(r);
	number = r->rest;
	if (!skip_word(r))
		return false;
	number.len -= r->rest.len;
	if (text_u64(&number, 10, &value) && !number.len)
		diff_value_set(v, m, value);
	return true;
}

/* --- rows */

/* One row: its texts, copied, and values. */
struct saved_row {
	struct group group;
	struct diff_values values;
	uint8_t has; /* 1 << enum diff_measure: also if the value is null */
};

static bool row_text(struct reader *r, struct arena *a, const char **text, size_t *len)
{
	if (!read_string(r))
		return false;
	*len = r->string.len;
	*text = arena_strdup(a, r->string.len ? r->string.buf : "", *len);
	return *text != NULL;
}

static bool row_member(struct reader *r, struct arena *a, struct saved_row *row)
{
	static const char *const names[DIFF_MEASURES] = { "total", "self", "calls", "avg",
							  "p50",   "p90",  "p99" };
	struct group *g = &row->group;

	if (!read_member(r))
		return false;
	if (string_is(r, "function"))
		return row_text(r, a, &g->name, &g->name_len);
	if (string_is(r, "module"))
		return row_text(r, a, &g->module, &g->module_len);
	if (string_is(r, "category"))
		return row_text(r, a, &g->cat, &g->cat_len);
	for (int i = 0; i < DIFF_MEASURES; i++)
		if (string_is(r, names[i])) {
			row->has |= (uint8_t)(1 << i);
			return read_value(r, &row->values, (enum diff_measure)i);
		}
	return skip_value(r);
}

static bool read_row(struct reader *r, struct diff_side *side, struct arena *scratch)
{
	struct saved_row row = { .group = { .module = "", .cat = "" } };
	struct diff_line *line;

	arena_reset(scratch);
	if (!read_if(r, '{'))
		return read_failed(r, "a row");
	do {
		if (!row_member(r, scratch, &row))
			return false;
	} while (read_if(r, ','));
	if (!read_if(r, '}'))
		return read_failed(r, "'}'");
	if (!row.group.name)
		return read_failed(r, "a column \"function\" in each row");
	line = diff_side_add(side, &row.group);
	if (!line)
		return false;
	line->values = row.values;
	side->saved |= row.has;
	side->self += row.values.of[DIFF_SELF];
	return true;
}

static bool read_rows(struct reader *r, struct diff_side *side)
{
	struct arena scratch;
	bool good = true;

	if (!read_if(r, '['))
		return read_failed(r, "'['");
	if (read_if(r, ']'))
		return true;
	arena_init(&scratch);
	do
		good = read_row(r, side, &scratch);
	while (good && read_if(r, ','));
	arena_free(&scratch);
	return good && (read_if(r, ']') || read_failed(r, "']'"));
}

/* --- the head */

/* A member of the whole. `*rows` becomes true with the rows. */
static bool read_head(struct reader *r, struct diff_side *side, bool *rows)
{
	if (!read_member(r))
		return false;
	if (string_is(r, "rows")) {
		*rows = true;
		return read_rows(r, side);
	}
	if (string_is(r, "spur"))
		return read_string(r) &&
		       (string_is(r, "report") ||
			read_failed(r,
				    "the output of spur report --json, found another command's"));
	if (string_is(r, "by"))
		return read_string(r) &&
		       (string_is(r, "function") || read_failed(r, "a report by function"));
	return skip_value(r);
}

enum spur_status diff_side_saved(struct diff_side *s, const struct source *saved,
				 struct spur_error *err)
{
	struct reader r = { .rest = text_make(saved->data, (size_t)saved->size),
			    .begin = (const char *)saved->data,
			    .path = saved->path,
			    .err = err };
	bool good, rows = false;

	if (saved->error && saved->error->code)
		return err_set(err, SPUR_ERR_IO, "%s", saved->error->message);
	out_to_memory(&r.string);
	good = read_if(&r, '{') || read_failed(&r, "'{'");
	while (good && (good = read_head(&r, s, &rows)) && read_if(&r, ','))
		;
	if (good && !read_if(&r, '}'))
		good = read_failed(&r, "'}'");
	if (good && !rows)
		good = read_failed(&r, "a member \"rows\"");
	good = good && !r.string.error;
	out_free(&r.string);
	return good ? SPUR_OK : r.failed ? SPUR_FAIL : err_nomem(err);
}

bool diff_saved_is(const uint8_t *head, size_t len)
{
	struct spur_error err;
	struct reader r = {
		.rest = text_make(head, len), .begin = (const char *)head, .path = "", .err = &err
	};
	bool is;

	out_to_memory(&r.string);
	is = read_if(&r, '{') && read_member(&r) && string_is(&r, "schema") && skip_word(&r) &&
	     read_if(&r, ',') && read_member(&r) && string_is(&r, "spur");
	out_free(&r.string);
	return is;
}
