/* Enumerations: parsing their definition, naming their values. */
#include "model/enum.h"

#include "base/out.h"
#include "base/search.h"

#include <stdlib.h>

enum { MAX_VALUES = 65536 };

/* A C integer: 0x hexadecimal, 0 octal, decimal, with sign. */
static bool c_number(struct text t, int64_t *out)
{
	bool minus = text_skip(&t, "-");
	unsigned base = 10;
	uint64_t v;

	if (t.len > 1 && t.p[0] == '0') {
		base = t.p[1] == 'x' || t.p[1] == 'X' ? 16 : 8;
		t.p += base == 16 ? 2 : 1;
		t.len -= base == 16 ? 2 : 1;
	}
	if (!text_u64(&t, base, &v) || text_trim(t).len)
		return false;
	*out = minus ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

static size_t count_values(struct text body)
{
	size_t n = 0;
	struct text item;

	while (text_split(&body, ',', &item))
		n += text_trim(item).len > 0;
	return n;
}

static int by_value(const void *a, const void *b)
{
	const struct enum_value *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool parse_values(struct arena *a, struct enum_table *t, struct text body)
{
	struct text item;
	int64_t next = 0;

	while (text_split(&body, ',', &item)) {
		struct text name = text_trim(item);
		ptrdiff_t eq = text_find(name, '=');

		if (!name.len)
			continue;
		if (eq >= 0) {
			struct text num =
				text_trim(text_make(name.p + eq + 1, name.len - (size_t)eq - 1));

			if (!c_number(num, &next))
				return false;
			name = text_trim(text_make(name.p, (size_t)eq));
		}
		t->values[t->count].name = arena_strdup(a, name.p, name.len);
		if (!t->values[t->count].name)
			return false;
		t->values[t->count].value = next;
		t->values[t->count].order = t->count;
		t->count++;
		next = (int64_t)((uint64_t)next + 1);
	}
	return true;
}

struct enum_table *enum_parse(struct arena *a, struct text text)
{
	struct enum_table *t;
	ptrdiff_t open, close;
	struct text head, body;
	size_t n;

	text = text_trim(text);
	text_skip(&text, "enum ");
	open = text_find(text, '{');
	close = text_rfind(text, '}');
	if (open < 0 || close < open)
		return NULL;
	head = text_trim(text_make(text.p, (size_t)open));
	body = text_make(text.p + open + 1, (size_t)(close - open - 1));
	n = count_values(body);
	t = n && n <= MAX_VALUES ? arena_alloc(a, sizeof(*t)) : NULL;
	if (!t)
		return NULL;
	t->name = arena_strdup(a, head.p, head.len);
	t->values = arena_alloc(a, n * sizeof(*t->values));
	if (!t->name || !t->values || !parse_values(a, t, body))
		return NULL;
	qsort(t->values, t->count, sizeof(*t->values), by_value);
	return t;
}

const struct enum_table *enum_find(const struct enum_table *list, struct text name)
{
	for (; list; list = list->next)
		if (text_is(name, list->name))
			return list;
	return NULL;
}

static const struct enum_value *exact(const struct enum_table *t, int64_t value)
{
	size_t lo;

	bisect(lo, 0, t->count, t->values[lo].value < value);
	return lo < t->count && t->values[lo].value == value ? &t->values[lo] : NULL;
}

static size_t add_text(char *buf, size_t size, size_t len, const char *s)
{
	while (*s && len + 1 < size)
		buf[len++] = *s++;
	return len;
}

int64_t enum_reduce(const struct enum_table *t, int64_t value)
{
	const int64_t least = !t ? INT32_MIN : t->count ? t->values[0].value : INT64_MIN;
	const int64_t most = !t ? INT32_MAX : t->count ? t->values[t->count - 1].value : INT64_MAX;

	if (least >= 0 && most <= UINT32_MAX)
		return (int64_t)(uint32_t)value;
	if (least >= INT32_MIN && most <= INT32_MAX)
		return (int32_t)(uint32_t)value;
	return value;
}

size_t enum_label(const struct enum_table *t, int64_t value, char *buf, size_t size)
{
	const struct enum_value *v = exact(t, value);
	uint64_t left = (uint64_t)value;
	char num[24];
	size_t len = 0;

	if (v) {
		len = add_text(buf, size, 0, v->name);
		buf[len] = '\0';
		return len;
	}
	if (value < 0) {
		buf[0] = '\0';
		return 0;
	}
	/* Largest first, so that a name for several bits goes before those for each. */
	for (size_t i = t->count; i-- > 0;) {
		uint64_t bits = (uint64_t)t->values[i].value;

		if (bits && t->values[i].value > 0 && bits <= left && (left & bits) == bits) {
			if (len)
				len = add_text(buf, size, len, "|");
			len = add_text(buf, size, len, t->values[i].name);
			left &= ~bits;
		}
	}
	if (left || !len) {
		*put_hex(num, left) = '\0';
		len = add_text(buf, size, len, len ? "+0x" : "0x");
		len = add_text(buf, size, len, num);
	}
	buf[len] = '\0';
	return len;
}
