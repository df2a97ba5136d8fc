/* See marks.h. */
#include "format/heph/marks.h"

#include <spur.h>

const char *const heph_mark_names[HEPH_MARKS] = {
	[HEPH_MARK_KIND] = "spur.kind",	  [HEPH_MARK_CATEGORY] = "spur.category",
	[HEPH_MARK_ID] = "spur.id",	  [HEPH_MARK_CPU] = "spur.cpu",
	[HEPH_MARK_FLAGS] = "spur.flags",
};

const struct heph_flag_name heph_flag_names[HEPH_FLAG_NAMES] = {
	{ SPUR_F_OUT, "out" },
	{ SPUR_F_IN, "in" },
	{ SPUR_F_PREEMPTED, "preempted" },
	{ SPUR_F_EXIT, "exit" },
};

const char *const heph_naming_words[] = {
	[HEPH_NAMES_EVENT] = "",
	[HEPH_NAMES_PROCESS] = "PROCESS",
	[HEPH_NAMES_THREAD] = "THREAD",
};

static bool text_is(const uint8_t *p, size_t len, const char *s)
{
	return strlen(s) == len && !memcmp(p, s, len);
}

enum heph_naming heph_naming_slow(const uint8_t *q, const uint8_t *end)
{
	struct heph_attr a;

	if (heph_attr_next(&q, end, &a) != HEPH_GOOD || q != end || a.type != HEPH_STRING ||
	    !text_is(a.name, a.name_len, heph_mark_names[HEPH_MARK_KIND]))
		return HEPH_NAMES_EVENT;
	for (unsigned i = HEPH_NAMES_PROCESS; i <= HEPH_NAMES_THREAD; i++)
		if (text_is(a.value + HEPH_ATTR_LEN, be16(a.value), heph_naming_words[i]))
			return (enum heph_naming)i;
	return HEPH_NAMES_EVENT;
}

static bool kind_read(const uint8_t *p, size_t len, bool lasts, struct heph_marks *m)
{
	for (unsigned k = SPUR_INSTANT; k < SPUR_KINDS; k++)
		if (text_is(p, len, spur_kind_name(k))) {
			m->kind = (uint8_t)k;
			return !lasts || k == SPUR_SAMPLE || k == SPUR_LOST;
		}
	return false;
}

static bool flags_read(const uint8_t *p, size_t len, struct heph_marks *m)
{
	const uint8_t *const end = p + len;

	while (p < end) {
		const uint8_t *blank = memchr(p, ' ', (size_t)(end - p));
		const size_t n = (size_t)((blank ? blank : end) - p);
		uint16_t bit = 0;

		for (size_t i = 0; i < HEPH_FLAG_NAMES; i++)
			if (text_is(p, n, heph_flag_names[i].name))
				bit = heph_flag_names[i].bit;
		if (!bit || (m->flags & bit))
			return false;
		m->flags |= bit;
		p += n + (blank != NULL);
	}
	return len > 0;
}

/* Returns false if the attribute is not a valid mark. */
static bool mark_read(const struct heph_attr *a, bool lasts, struct heph_marks *m)
{
	const uint8_t *const text = a->value + HEPH_ATTR_LEN;
	unsigned mark = 0;

	while (mark < HEPH_MARKS && !text_is(a->name, a->name_len, heph_mark_names[mark]))
		mark++;
	if (mark == HEPH_MARKS || (m->seen >> mark & 1) ||
	    a->type != (mark == HEPH_MARK_ID || mark == HEPH_MARK_CPU ? HEPH_U64 : HEPH_STRING))
		return false;
	m->seen |= (uint8_t)(1 << mark);
	switch ((enum heph_mark)mark) {
	case HEPH_MARK_KIND:
		return kind_read(text, be16(a->value), lasts, m);
	case HEPH_MARK_CATEGORY:
		m->cat = text;
		m->cat_len = be16(a->value);
		return true;
	case HEPH_MARK_ID:
		m->id = be64(a->value);
		return true;
	case HEPH_MARK_CPU:
		m->cpu = (uint16_t)be64(a->value);
		return be64(a->value) < SPUR_NO_CPU;
	default:
		return flags_read(text, be16(a->value), m);
	}
}

void heph_marks_read(const uint8_t **q, const uint8_t *end, bool lasts, struct heph_marks *m)
{
	*m = (struct heph_marks){ .kind = SPUR_SPAN, .cpu = SPUR_NO_CPU };
	while (heph_is_mark(*q, end)) {
		const struct heph_marks before = *m;
		const uint8_t *next = *q;
		struct heph_attr a;

		if (heph_attr_next(&next, end, &a) != HEPH_GOOD || !mark_read(&a, lasts, m)) {
			*m = before;
			return;
		}
		*q = next;
	}
}
