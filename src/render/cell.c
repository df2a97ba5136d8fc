/* Cells of text tables. See cell.h. */
#include "render/cell.h"

#include "base/text.h"

#define TEN(a, b, z)                                                                              \
	{ a, b, '0', z }, { a, b, '1', z }, { a, b, '2', z }, { a, b, '3', z }, { a, b, '4', z }, \
		{ a, b, '5', z }, { a, b, '6', z }, { a, b, '7', z }, { a, b, '8', z },           \
	{                                                                                         \
		a, b, '9', z                                                                      \
	}
#define NINETY(a, z)                                                                    \
	TEN(a, '1', z), TEN(a, '2', z), TEN(a, '3', z), TEN(a, '4', z), TEN(a, '5', z), \
		TEN(a, '6', z), TEN(a, '7', z), TEN(a, '8', z), TEN(a, '9', z)
#define HUNDRED(a, z) TEN(a, '0', z), NINETY(a, z)
#define FROM_100(z)                                                                          \
	HUNDRED('1', z), HUNDRED('2', z), HUNDRED('3', z), HUNDRED('4', z), HUNDRED('5', z), \
		HUNDRED('6', z), HUNDRED('7', z), HUNDRED('8', z), HUNDRED('9', z)

const char cell_digits[1000][4] = { HUNDRED('0', ' '), FROM_100(' ') };
const char cell_wholes[1000][4] = { TEN(' ', ' ', '.'), NINETY(' ', '.'), FROM_100('.') };

/*
 * In seconds; in minutes from 1,000 s on, in hours from 1,000 m on, in whole hours from 1,000 h on.
 */
char *put_time_long(char *p, uint64_t ns)
{
	const uint64_t milli[] = { 1000000, 60000000, 3600000000 };
	unsigned unit = ns < 1000000000000 ? 0 : ns < 60000000000000 ? 1 : 2;
	uint64_t thousandths = ns / milli[unit];

	if (thousandths >= 1000000) {
		put_u64_w(p, thousandths / 1000, 7);
	} else {
		memcpy(p, cell_wholes[thousandths / 1000], 4);
		memcpy(p + 4, cell_digits[thousandths % 1000], 3);
	}
	p[7] = ' ';
	p[8] = ' ';
	p[9] = "smh"[unit];
	return p + CELL_TIME;
}

void out_time(struct out *o, uint64_t ns)
{
	char *p = out_room(o, CELL_TIME + 16);

	if (p)
		o->len += (size_t)(put_time(p, ns) - p);
}

const char *cell_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/*
 * Returns the bytes of the character at p, and its columns as out_safe() writes it: at most 12 if
 * it is escaped.
 */
static size_t cell_step(const char *p, size_t left, size_t *columns)
{
	size_t n = utf8_valid(p, left);

	if (n == 1 && (*p == '\n' || *p == '\t'))
		*columns = 2;
	else if (n && utf8_is_control(p, n))
		*columns = 4 * n;
	else
		*columns = n ? utf8_width(p, n) : 4;
	return n ? n : 1;
}

static size_t cell_measure(const char *s, size_t len, size_t width, size_t *bytes)
{
	size_t total = 0, at = 0, columns;

	while (at < len) {
		size_t n = cell_step(s + at, len - at, &columns);

		if (total + columns > width)
			break;
		total += columns;
		at += n;
	}
	*bytes = at;
	return total;
}

size_t cell_width(const char *s, size_t len)
{
	size_t bytes;

	return cell_measure(s, len, SIZE_MAX, &bytes);
}

void out_cell(struct out *o, const char *s, size_t len, size_t width, size_t pad)
{
	size_t bytes, columns = cell_measure(s, len, width ? width : SIZE_MAX, &bytes);

	if (bytes < len && width >= 2) {
		columns = cell_measure(s, len, width - 2, &bytes);
		out_safe(o, s, bytes);
		out_str(o, "..");
		columns += 2;
	} else {
		out_safe(o, s, bytes);
	}
	if (columns < pad)
		out_pad(o, ' ', pad - columns);
}

static enum spur_status cell_unknown(struct text word, const char *const *names, const char *what,
				     struct spur_error *err)
{
	char copy[64];
	const char *near;

	if (word.len >= sizeof(copy))
		return err_set(err, SPUR_ERR_USAGE, "%s: no such column", what);
	memcpy(copy, word.p, word.len);
	copy[word.len] = '\0';
	near = text_suggest(copy, names);
	if (near)
		return err_set(err, SPUR_ERR_USAGE, "%s: no column \"%s\"; did you mean \"%s\"?",
			       what, copy, near);
	return err_set(err, SPUR_ERR_USAGE, "%s: no column \"%s\"", what, copy);
}

enum spur_status cell_list(const char *text, const char *const *names, const char *what, int *ids,
			   size_t cap, size_t *n, struct spur_error *err)
{
	struct text rest = text_of(text), word;

	*n = 0;
	if (!text_trim(rest).len)
		return err_set(err, SPUR_ERR_USAGE, "%s: expected a list of columns, found \"%s\"",
			       what, text);
	while (text_split(&rest, ',', &word)) {
		bool down;
		int id = 0;

		word = text_trim(word);
		down = text_skip(&word, "-");
		if (!down)
			text_skip(&word, "+");
		while (names[id] && !text_is(word, names[id]))
			id++;
		if (!names[id])
			return cell_unknown(word, names, what, err);
		if (*n == cap)
			return err_set(err, SPUR_ERR_USAGE, "%s: more than %zu columns", what, cap);
		ids[(*n)++] = down ? ~id : id;
	}
	return SPUR_OK;
}
