/* Numbers and columns as uftrace prints them. */
#include "style/uftrace/text/text.h"

#include "base/text.h"

static char *put_three(char *p, unsigned v)
{
	*p++ = (char)('0' + v / 100);
	*p++ = (char)('0' + v / 10 % 10);
	*p++ = (char)('0' + v % 10);
	return p;
}

static char *put_unit(char *p, uint64_t whole, unsigned part, const char *unit)
{
	const unsigned w = (unsigned)whole;

	p[0] = w >= 100 ? (char)('0' + w / 100) : ' ';
	p[1] = w >= 10 ? (char)('0' + w / 10 % 10) : ' ';
	p[2] = (char)('0' + w % 10);
	p[3] = '.';
	p = put_three(p + 4, part);
	*p++ = ' ';
	return put_text(p, unit, 2);
}

/*
 * SPEC uftrace/time-unit: the smallest unit in which the number has at most three digits; without
 * its sign
 */
char *put_time_unit(char *p, uint64_t ns)
{
	static const char units[5][3] = { "us", "ms", " s", " m", " h" };
	/* uftrace has 24 for the last 60: its hours are of 24 minutes. */
	static const unsigned limits[6] = { 1000, 1000, 1000, 60, 60, UINT32_MAX >> 1 };
	uint64_t whole = (int64_t)ns < 0 ? 0 - ns : ns;
	unsigned part = 0, i = 0;

	if (!ns)
		return put_text(p, "          ", TIME_WIDTH);
	for (;; i++) {
		part = (unsigned)(whole % limits[i]);
		whole /= limits[i];
		if (whole < limits[i + 1] || i == 4)
			break;
	}
	if (whole > 999)
		whole = part = 999;
	return put_unit(p, whole, part, units[i]);
}

void out_time_unit(struct out *o, uint64_t ns)
{
	char *p = out_room(o, 24);

	if (p)
		o->len += (size_t)(put_time_unit(p, ns) - p);
}

static bool field_is(const struct style_field *f, struct text name)
{
	return text_is(name, f->name) || (f->alias && text_is(name, f->alias));
}

static bool mark_fields(struct style_fields *out, const struct style_field *table, size_t n,
			struct text names, struct spur_error *err)
{
	struct text name;

	while (text_split(&names, ',', &name)) {
		size_t i = 0;

		while (i < n && !field_is(&table[i], name))
			i++;
		if (i == n) {
			err_set(err, SPUR_ERR_USAGE, "no field named \"%.*s\"",
				(int)(name.len < 80 ? name.len : 80), name.p);
			return false;
		}
		out->has[i] = true;
	}
	return true;
}

bool style_fields_parse(struct style_fields *out, const struct style_field *table, size_t n,
			const char *text, const uint8_t *defaults, size_t ndefaults,
			struct spur_error *err)
{
	bool all = text && strcmp(text, "all") == 0;

	*out = (struct style_fields){ 0 };
	for (size_t i = 0; i < n; i++)
		out->has[i] = all;
	for (size_t i = 0; i < ndefaults && (!text || *text == '+'); i++)
		out->has[defaults[i]] = true;
	if (text && !all && strcmp(text, "none") != 0 &&
	    !mark_fields(out, table, n, text_of(text + (*text == '+')), err))
		return false;
	for (size_t i = 0; i < n; i++)
		if (out->has[i])
			out->ids[out->count++] = (uint8_t)i;
	return true;
}

struct text style_base_name(struct text path)
{
	ptrdiff_t slash = text_rfind(path, '/');

	return text_make(path.p + slash + 1, path.len - (size_t)(slash + 1));
}

char *put_cpu_list(char *p, uint64_t cpus)
{
	const char *const start = p;

	for (unsigned i = 0; i < 64; i++) {
		const unsigned first = i;

		if (!(cpus >> i & 1))
			continue;
		while (i < 63 && (cpus >> (i + 1) & 1))
			i++;
		if (p != start)
			*p++ = ',';
		p = put_u64(p, first);
		if (i == first)
			continue;
		*p++ = '-';
		p = put_u64(p, i);
	}
	return p;
}
