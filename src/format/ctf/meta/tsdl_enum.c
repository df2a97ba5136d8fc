/* Enumerations of TSDL: names of ranges of an integer's values. */
#include <string.h>

#include "format/ctf/meta/tsdl.h"

/* Wide enough for what a constant with a sign can be. */
typedef __int128 wide;

struct enumeration {
	struct ctf_field *field;
	uint32_t lex; /* for the index of names */
	bool indexed;
	wide next; /* the value of an entry without one */
};

/* ---- names */

static bool name_enter(struct tsdl *p, const struct enumeration *e, uint32_t id, size_t i)
{
	struct map64_slot *s = map64_put(&p->index, (uint64_t)e->lex << 32 | id);

	if (!s)
		return tsdl_full(p);
	s->value = i + 1;
	return true;
}

static bool names_index(struct tsdl *p, struct enumeration *e)
{
	size_t i = e->indexed ? p->nmappings - 1 : 0;

	for (; i < p->nmappings; i++) {
		const char *name = p->mappings[i].name;

		if (!name_enter(p, e, intern_find(p->m->names, name, strlen(name)), i))
			return false;
	}
	e->indexed = true;
	return true;
}

/* The mapping of that name; SIZE_MAX: none yet. */
static size_t name_find(const struct tsdl *p, const struct enumeration *e, const char *name)
{
	const struct map64_slot *s;

	if (!e->indexed) {
		for (size_t i = 0; i < p->nmappings; i++) {
			if (p->mappings[i].name == name)
				return i;
		}
		return SIZE_MAX;
	}
	s = map64_find(&p->index,
		       (uint64_t)e->lex << 32 | intern_find(p->m->names, name, strlen(name)));
	return s ? s->value - 1 : SIZE_MAX;
}

/* SPEC ctf-tsdl/enum-repeat: entries of one name are one mapping with several ranges. */
static bool mapping_of(struct tsdl *p, struct enumeration *e, const char *name, size_t *at)
{
	*at = name_find(p, e, name);
	if (*at != SIZE_MAX)
		return true;
	if (!meta_count(p->m, 1) || !mem_grow((void **)&p->mappings, &p->mappings_cap,
					      p->nmappings + 1, sizeof(*p->mappings), META_FIELDS))
		return tsdl_full(p);
	*at = p->nmappings;
	p->mappings[p->nmappings++] = (struct ctf_mapping){ .name = name };
	return (!e->indexed && p->nmappings <= TSDL_SCAN) || names_index(p, e);
}

/* ---- values */

/*
 * SPEC ctf-tsdl/enum-range: what the integer cannot hold. Tracers print a value with the sign it
 * had in their source, so -1 of an unsigned integer is the value with the same bits; the rest can
 * never be met.
 */
static bool range_fit(struct tsdl *p, const struct enumeration *e, uint64_t at, wide *low,
		      wide *high)
{
	const unsigned bits = e->field->size;
	const bool is_signed = e->field->kind == CTF_SINT;
	const wide all = (wide)1 << bits;
	const wide least = is_signed ? -(all / 2) : 0, most = least + all - 1;

	if (*low >= least && *high <= most)
		return true;
	if (!is_signed && *high < 0 && *low >= -(all / 2)) {
		*low += all;
		*high += all;
	} else if (is_signed && *low > most && *high < all) {
		*low -= all;
		*high -= all;
	}
	tsdl_warn(p, "ctf/enum-range", at,
		  "expected a value that %s integer of %u bits holds, found another",
		  is_signed ? "a signed" : "an unsigned", bits);
	*low = *low < least ? least : *low;
	*high = *high > most ? most : *high;
	return *low <= *high;
}

static bool range_add(struct tsdl *p, struct enumeration *e, const char *name, uint64_t at,
		      wide low, wide high)
{
	size_t mapping;

	e->next = high + 1;
	if (!mapping_of(p, e, name, &mapping))
		return false;
	if (!range_fit(p, e, at, &low, &high))
		return true;
	if (!meta_count(p->m, 1) || !mem_grow((void **)&p->ranges, &p->ranges_cap, p->nranges + 1,
					      sizeof(*p->ranges), META_FIELDS))
		return tsdl_full(p);
	p->ranges[p->nranges++] = (struct tsdl_range){
		.mapping = (uint32_t)mapping,
		.range = { .low = (uint64_t)low, .high = (uint64_t)high },
	};
	p->mappings[mapping].nranges++;
	return true;
}

static bool read_number(struct tsdl *p, wide *out)
{
	struct tsdl_value v;

	if (!tsdl_value(p, &v, "a number"))
		return false;
	if (v.kind != VALUE_NUMBER)
		return tsdl_found(p, &v, "a number in the enumeration");
	*out = v.negative ? -(wide)v.number : (wide)v.number;
	return true;
}

/*
 * SPEC ctf-tsdl/enum-value: NAME, NAME = value or NAME = first ... last; without a value the last
 * one's plus 1.
 */
static bool read_entry(struct tsdl *p, struct enumeration *e)
{
	const uint64_t at = p->tok.at;
	wide low = e->next, high = low;
	const char *name;

	if (tsdl_is(p, TSDL_STRING)) {
		name = tsdl_string(p, &p->tok)
			       ? meta_name(p->m, p->buf.buf ? p->buf.buf : "", p->buf.len)
			       : NULL;
		if (!name)
			return tsdl_full(p);
	} else if (tsdl_is(p, TSDL_NAME)) {
		const uint32_t id = tsdl_name(p);

		if (id == INTERN_NONE)
			return false;
		name = tsdl_text(p, id);
	} else {
		return tsdl_expected(p, "a name or a string in the enumeration");
	}
	tsdl_advance(p);
	if (tsdl_accept(p, '=')) {
		if (!read_number(p, &low))
			return false;
		high = low;
		if (tsdl_accept(p, TSDL_DOTS) && !read_number(p, &high))
			return false;
	}
	if (low > high)
		return tsdl_error(p, at, "expected a range that rises, found one that falls");
	return range_add(p, e, name, at, low, high);
}

/* ---- the class */

/*
 * Moves mappings and ranges into the class; a mapping's ranges stand together, in the order of the
 * text.
 */
static bool mappings_keep(struct tsdl *p, struct ctf_field *f)
{
	struct ctf_mapping *mappings = arena_alloc(&p->m->arena, p->nmappings * sizeof(*mappings));
	struct ctf_range *ranges = arena_alloc(&p->m->arena, (p->nranges + 1) * sizeof(*ranges));
	size_t at = 0;

	if (!mappings || !ranges)
		return tsdl_full(p);
	for (size_t i = 0; i < p->nmappings; i++) {
		mappings[i] =
			(struct ctf_mapping){ .name = p->mappings[i].name, .ranges = ranges + at };
		at += p->mappings[i].nranges;
	}
	for (size_t i = 0; i < p->nranges; i++) {
		struct ctf_mapping *m = &mappings[p->ranges[i].mapping];

		ranges[(size_t)(m->ranges - ranges) + m->nranges++] = p->ranges[i].range;
	}
	f->mappings = mappings;
	f->nmappings = (uint32_t)p->nmappings;
	return true;
}

static bool read_list(struct tsdl *p, struct ctf_field *f)
{
	struct enumeration e = { .field = f, .lex = ++p->last_lex };

	/* Nothing of an enumeration's list holds another. */
	p->nmappings = p->nranges = 0;
	tsdl_advance(p);
	do {
		/*
		 * SPEC ctf-tsdl/enum-entries: a comma may follow the last, but one there must
		 * be.
		 */
		if (p->nmappings && tsdl_is(p, '}'))
			break;
		if (!read_entry(p, &e))
			return false;
	} while (tsdl_accept(p, ','));
	return tsdl_expect(p, '}', "`,` or `}`") && mappings_keep(p, f);
}

/* The integer after the colon; without one `int`, as it is known here. NULL: failed. */
static struct ctf_field *read_base(struct tsdl *p, uint64_t at)
{
	struct tsdl_spec s = { .at = at };
	const struct ctf_field *base;
	struct ctf_field *f;

	if (tsdl_accept(p, ':')) {
		if (!tsdl_specifier(p, &s))
			return NULL;
	} else {
		/* SPEC ctf-tsdl/enum-int */
		s.name = intern_put(p->m->names, "int", 3);
		if (s.name == INTERN_NONE) {
			tsdl_full(p);
			return NULL;
		}
	}
	base = tsdl_spec_field(p, &s, "");
	if (!base)
		return NULL;
	if (base->kind != CTF_UINT && base->kind != CTF_SINT) {
		tsdl_error(p, s.at,
			   "expected an integer of at most 64 bits below the enumeration, found "
			   "another type");
		return NULL;
	}
	f = meta_field_copy(p->m, base);
	if (!f) {
		tsdl_full(p);
		return NULL;
	}
	f->is_enum = true;
	f->is_text = false;
	f->at = at;
	return f;
}

bool tsdl_enum(struct tsdl *p, struct tsdl_spec *s)
{
	const uint64_t at = p->tok.at;

	tsdl_advance(p);
	if (!tsdl_tag_name(p, "enum", s))
		return false;
	s->is_compound = true;
	if (s->name && !tsdl_is(p, '{') && !tsdl_is(p, ':')) {
		s->field = tsdl_type_find(p, s->name);
		return true;
	}
	s->field = read_base(p, at);
	if (!s->field)
		return false;
	if (!tsdl_is(p, '{'))
		return tsdl_expected(p, "`{`");
	if (!read_list(p, s->field))
		return false;
	return !s->name || tsdl_type_add(p, s->name, s->field, at);
}
