/* Type specifiers of TSDL: integer, floating_point, string, struct, variant, and names of types. */
#include <string.h>

#include "format/ctf/meta/tsdl.h"

/* ---- integer, floating_point, string */

/* What their attributes say, in one. */
struct basic {
	struct ctf_field *field;
	bool has_align, has_size, has_exp, has_mant;
	uint64_t size;
};

static bool attr_signed(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	const struct basic *b = block;

	return tsdl_bool(p, v, "signed", &b->field->is_signed);
}

static bool attr_align(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct basic *b = block;

	b->has_align = true;
	return tsdl_align(p, v, &b->field->align);
}

static bool attr_size(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct basic *b = block;

	b->has_size = true;
	if (!tsdl_u64(p, v, "size", &b->size))
		return false;
	/* SPEC ctf-tsdl/integer-size */
	if (!b->size || b->size > UINT32_MAX || (b->size > 64 && b->size % 8))
		return tsdl_found(p, v, "1 to 64 bits, or a multiple of 8, for `size`");
	return true;
}

/* SPEC ctf-tsdl/byte-order */
static bool attr_byte_order(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	const struct basic *b = block;
	const char *name = v->kind == VALUE_NAME && v->nnames == 1 ? v->text : "";

	b->field->native_order = !strcmp(name, "native");
	b->field->big_endian = !strcmp(name, "be") || !strcmp(name, "network");
	if (b->field->native_order || b->field->big_endian || !strcmp(name, "le"))
		return true;
	return tsdl_found(p, v, "native, network, be or le for `byte_order`");
}

/* SPEC ctf-tsdl/base */
static bool attr_base(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	static const struct {
		const char *name;
		uint8_t base;
	} bases[] = {
		{ "decimal", 10 }, { "dec", 10 },	  { "d", 10 },	  { "i", 10 },
		{ "u", 10 },	   { "hexadecimal", 16 }, { "hex", 16 },  { "x", 16 },
		{ "X", 16 },	   { "p", 16 },		  { "octal", 8 }, { "oct", 8 },
		{ "o", 8 },	   { "binary", 2 },	  { "bin", 2 },	  { "b", 2 },
	};
	const struct basic *b = block;
	const uint64_t n = v->kind == VALUE_NUMBER && !v->negative ? v->number : 0;
	const char *name = v->kind == VALUE_NAME && v->nnames == 1 ? v->text : "";

	b->field->base = n == 2 || n == 8 || n == 10 || n == 16 ? (uint8_t)n : 0;
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		if (!strcmp(name, bases[i].name))
			b->field->base = bases[i].base;
	}
	return b->field->base || tsdl_found(p, v, "2, 8, 10, 16 or a name of these for `base`");
}

/* SPEC ctf-tsdl/encoding */
static bool attr_encoding(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	const struct basic *b = block;
	const char *name = v->kind == VALUE_NAME && v->nnames == 1 ? v->text : "";
	const bool ascii = !strcmp(name, "ASCII") || !strcmp(name, "ascii");
	const bool utf8 = !strcmp(name, "UTF8") || !strcmp(name, "utf8");

	b->field->encoding = ascii ? CTF_ASCII : CTF_UTF8;
	b->field->is_text = ascii || utf8;
	return ascii || utf8 || !strcmp(name, "none") ||
	       tsdl_found(p, v, "none, UTF8 or ASCII for `encoding`");
}

/* SPEC ctf-tsdl/clock-map: clock.NAME.value; the clock's block may come later. */
static bool attr_map(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	const struct basic *b = block;

	if (v->kind != VALUE_NAME || v->nnames != 3 || strcmp(v->names[0], "clock") != 0 ||
	    strcmp(v->names[2], "value") != 0)
		return tsdl_found(p, v, "`clock.`, a name and `.value` for `map`");
	b->field->clock_name = v->names[1];
	return true;
}

static bool attr_exp(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct basic *b = block;

	b->has_exp = true;
	return tsdl_u32(p, v, "exp_dig", &b->field->exp_dig);
}

static bool attr_mant(struct tsdl *p, void *block, const struct tsdl_value *v)
{
	struct basic *b = block;

	b->has_mant = true;
	return tsdl_u32(p, v, "mant_dig", &b->field->mant_dig);
}

static const struct tsdl_attr integer_attrs[] = {
	{ .name = "signed", .value = attr_signed },
	{ .name = "byte_order", .value = attr_byte_order },
	{ .name = "size", .value = attr_size },
	{ .name = "align", .value = attr_align },
	{ .name = "base", .value = attr_base },
	{ .name = "encoding", .value = attr_encoding },
	{ .name = "map", .value = attr_map },
	{ 0 },
};

static const struct tsdl_attr float_attrs[] = {
	{ .name = "exp_dig", .value = attr_exp },
	{ .name = "mant_dig", .value = attr_mant },
	{ .name = "byte_order", .value = attr_byte_order },
	{ .name = "align", .value = attr_align },
	{ 0 },
};

static const struct tsdl_attr string_attrs[] = {
	{ .name = "encoding", .value = attr_encoding },
	{ 0 },
};

static bool basic_new(struct tsdl *p, struct basic *b, enum ctf_kind kind)
{
	*b = (struct basic){ .field = meta_field(p->m, kind, p->tok.at) };
	if (!b->field)
		return tsdl_full(p);
	b->field->native_order = kind != CTF_STRING;
	tsdl_advance(p);
	return true;
}

/* SPEC ctf-tsdl/default-align: bits where the size is no number of bytes, else bytes. */
static bool read_integer(struct tsdl *p, struct tsdl_spec *s)
{
	struct basic b;
	struct ctf_field *f;

	if (!basic_new(p, &b, CTF_UINT) || !tsdl_body(p, integer_attrs, &b, "integer"))
		return false;
	f = b.field;
	if (!b.has_size)
		return tsdl_error(p, f->at, "expected `size` in the integer, found none");
	if (!b.has_align)
		f->align = b.size % 8 ? 1 : 8;
	f->size = (uint32_t)b.size;
	f->kind = f->size > 64 ? CTF_BITS : f->is_signed ? CTF_SINT : CTF_UINT;
	if (f->size > 64 && f->align < 8)
		return tsdl_error(p, f->at,
				  "expected an alignment of bytes for %u bits, found `align` %u",
				  f->size, f->align);
	s->field = f;
	return true;
}

/* SPEC ctf-tsdl/float: of IEEE 754, with 16, 32, 64 or 128 bits. */
static bool read_float(struct tsdl *p, struct tsdl_spec *s)
{
	static const uint32_t forms[][2] = { { 5, 11 }, { 8, 24 }, { 11, 53 }, { 15, 113 } };
	struct basic b;
	struct ctf_field *f;

	if (!basic_new(p, &b, CTF_FLOAT) || !tsdl_body(p, float_attrs, &b, "floating_point"))
		return false;
	f = b.field;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (f->exp_dig == forms[i][0] && f->mant_dig == forms[i][1])
			f->size = f->exp_dig + f->mant_dig;
	}
	if (!b.has_exp || !b.has_mant)
		return tsdl_error(p, f->at, "expected `%s` in the floating_point, found none",
				  b.has_exp ? "mant_dig" : "exp_dig");
	if (!f->size)
		return tsdl_error(p, f->at,
				  "expected `exp_dig` and `mant_dig` 5/11, 8/24, 11/53 or 15/113, "
				  "found %u/%u",
				  f->exp_dig, f->mant_dig);
	if (!b.has_align)
		f->align = 8;
	s->field = f;
	return true;
}

static bool read_string(struct tsdl *p, struct tsdl_spec *s)
{
	struct basic b;

	if (!basic_new(p, &b, CTF_STRING))
		return false;
	/* SPEC ctf-tsdl/string */
	b.field->align = 8;
	s->field = b.field;
	return !tsdl_is(p, '{') || tsdl_body(p, string_attrs, &b, "string");
}

/* ---- struct, variant */

static bool frame_open(struct tsdl *p, bool is_struct)
{
	/* There are not more than types, and those are counted. */
	p->frames[p->nframes++] = (struct tsdl_frame){ .lex = ++p->last_lex,
						       .is_struct = is_struct,
						       .first = p->nmembers };
	return tsdl_scope_open(p);
}

/* Moves the members of the innermost frame into the class. */
static bool frame_close(struct tsdl *p, struct ctf_field *f)
{
	const struct tsdl_frame *frame = &p->frames[--p->nframes];
	const size_t n = p->nmembers - frame->first;

	tsdl_scope_close(p);
	p->nmembers = frame->first;
	f->lex = frame->lex;
	f->nmembers = (uint32_t)n;
	if (!n)
		return true;
	f->members = arena_alloc(&p->m->arena, n * sizeof(*f->members));
	if (!f->members)
		return tsdl_full(p);
	memcpy(f->members, p->members + frame->first, n * sizeof(*f->members));
	return true;
}

static bool read_members(struct tsdl *p)
{
	while (!tsdl_is(p, '}')) {
		struct tsdl_spec s;

		if (tsdl_accept(p, ';'))
			continue;
		if (tsdl_is_word(p, WORD_TYPEDEF) || tsdl_is_word(p, WORD_TYPEALIAS)) {
			if (!tsdl_declaration(p))
				return false;
			continue;
		}
		if (!tsdl_specifier(p, &s))
			return false;
		if (s.is_typedef ? !tsdl_typedef(p, &s) : !tsdl_fields(p, &s))
			return false;
	}
	tsdl_advance(p);
	return true;
}

/* The body in braces; the cursor is on the opening one. */
static bool read_body(struct tsdl *p, struct ctf_field *f)
{
	bool ok;

	tsdl_advance(p);
	if (!frame_open(p, f->kind == CTF_STRUCT))
		return false;
	ok = read_members(p);
	return frame_close(p, f) && ok;
}

/* SPEC ctf-tsdl/struct-align: align(N) after a structure raises its alignment. */
static bool read_struct_align(struct tsdl *p, struct ctf_field **f)
{
	struct tsdl_value v;
	uint32_t align;

	if (!tsdl_accept_word(p, WORD_ALIGN))
		return true;
	if (!tsdl_expect(p, '(', "`(`") || !tsdl_value(p, &v, "an alignment") ||
	    !tsdl_align(p, &v, &align) || !tsdl_expect(p, ')', "`)`"))
		return false;
	if ((*f)->align >= align)
		return true;
	*f = meta_field_copy(p->m, *f);
	if (!*f)
		return tsdl_full(p);
	(*f)->align = align;
	return true;
}

bool tsdl_tag_name(struct tsdl *p, const char *keyword, struct tsdl_spec *s)
{
	uint32_t name;

	if (!tsdl_is(p, TSDL_NAME) || p->tok.word)
		return true;
	name = tsdl_name(p);
	if (name == INTERN_NONE)
		return false;
	s->name = tsdl_tag(p, keyword, name);
	tsdl_advance(p);
	return s->name != INTERN_NONE;
}

static bool read_struct(struct tsdl *p, struct tsdl_spec *s)
{
	const uint64_t at = p->tok.at;

	tsdl_advance(p);
	if (!tsdl_tag_name(p, "struct", s))
		return false;
	s->is_compound = true;
	if (!tsdl_is(p, '{')) {
		if (!s->name)
			return tsdl_expected(p, "a name or `{` behind `struct`");
		/* It may be a part of "struct NAME *", so it need not be known. */
		s->field = tsdl_type_find(p, s->name);
		return !s->field || read_struct_align(p, &s->field);
	}
	s->field = meta_field(p->m, CTF_STRUCT, at);
	if (!s->field)
		return tsdl_full(p);
	if (!read_body(p, s->field) || !read_struct_align(p, &s->field))
		return false;
	return !s->name || tsdl_type_add(p, s->name, s->field, at);
}

/* `<tag>`, into `v`; without one v->nnames stays 0. */
static bool read_variant_tag(struct tsdl *p, struct tsdl_value *v)
{
	if (!tsdl_accept(p, '<'))
		return true;
	return tsdl_value(p, v, "the tag of the variant") &&
	       (v->kind == VALUE_NAME || tsdl_found(p, v, "the name of a field")) &&
	       tsdl_keep(p, v) && tsdl_expect(p, '>', "`>`");
}

static bool read_options(struct tsdl *p, struct tsdl_spec *s, uint64_t at)
{
	s->field = meta_field(p->m, CTF_VARIANT, at);
	if (!s->field)
		return tsdl_full(p);
	if (!read_body(p, s->field))
		return false;
	/* SPEC ctf-tsdl/variant-options */
	return s->field->nmembers ||
	       tsdl_error(p, at, "expected at least one option in the variant, found none");
}

static bool read_variant(struct tsdl *p, struct tsdl_spec *s)
{
	const uint64_t at = p->tok.at;
	struct tsdl_value tag = { 0 };
	bool is_new;

	tsdl_advance(p);
	if (!tsdl_tag_name(p, "variant", s) || !read_variant_tag(p, &tag))
		return false;
	s->is_compound = true;
	is_new = tsdl_is(p, '{');
	if (!is_new && !s->name)
		return tsdl_expected(p, "`{` behind `variant`");
	if (is_new) {
		if (!read_options(p, s, at))
			return false;
	} else {
		s->field = tsdl_type_find(p, s->name);
		if (!s->field)
			return true;
		if (tag.nnames && !(s->field = meta_field_copy(p->m, s->field)))
			return tsdl_full(p);
	}
	if (tag.nnames) {
		s->field->ref = (struct ctf_ref){ .slot = CTF_NO_SLOT };
		s->field->at = at;
		if (!tsdl_reference(p, &tag, s->field))
			return false;
	}
	return !is_new || !s->name || tsdl_type_add(p, s->name, s->field, at);
}

/* ---- all */

bool tsdl_is_basic(const struct tsdl_token *t)
{
	switch (t->word) {
	case WORD_CHAR:
	case WORD_DOUBLE:
	case WORD_FLOAT:
	case WORD_INT:
	case WORD_LONG:
	case WORD_SHORT:
	case WORD_SIGNED:
	case WORD_UNSIGNED:
	case WORD_VOID:
	case WORD_BOOL:
	case WORD_COMPLEX:
	case WORD_IMAGINARY:
		return true;
	default:
		return false;
	}
}

/* A specifier that is a class itself, or names one by keyword and tag. */
static bool read_class(struct tsdl *p, struct tsdl_spec *s)
{
	bool ok;

	if (!tsdl_deeper(p))
		return false;
	switch (p->tok.word) {
	case WORD_INTEGER:
		ok = read_integer(p, s);
		break;
	case WORD_FLOATING_POINT:
		ok = read_float(p, s);
		break;
	case WORD_STRING:
		ok = read_string(p, s);
		break;
	case WORD_STRUCT:
		ok = read_struct(p, s);
		break;
	case WORD_VARIANT:
		ok = read_variant(p, s);
		break;
	case WORD_ENUM:
		ok = tsdl_enum(p, s);
		break;
	default:
		ok = tsdl_expected(p, "a type");
		break;
	}
	p->depth--;
	return ok;
}

/* Appends a word to the name that `words` has so far; both ways, with `const` and without. */
static bool add_word(struct tsdl *p, struct tsdl_spec *s, uint32_t word, bool is_const)
{
	uint32_t *const names[2] = { &s->name, &s->plain };

	for (int i = 0; i < (is_const ? 1 : 2); i++) {
		const uint32_t id = *names[i] ? tsdl_join_words(p, *names[i], word) : word;

		if (id == INTERN_NONE)
			return false;
		*names[i] = id;
	}
	return true;
}

static bool read_word(struct tsdl *p, struct tsdl_spec *s, bool is_const)
{
	const uint32_t word = tsdl_name(p);

	if (word == INTERN_NONE || !add_word(p, s, word, is_const))
		return false;
	tsdl_advance(p);
	return true;
}

/*
 * SPEC ctf-tsdl/type-name: a name of several words is looked up as written; without `const` where
 * that is unknown.
 */
bool tsdl_specifier(struct tsdl *p, struct tsdl_spec *s)
{
	bool basic = false, done = false;

	*s = (struct tsdl_spec){ .at = p->tok.at };
	while (tsdl_is(p, TSDL_NAME)) {
		bool ok = true;

		if (tsdl_accept_word(p, WORD_TYPEDEF)) {
			s->is_typedef = true;
		} else if (tsdl_is_word(p, WORD_CONST)) {
			ok = read_word(p, s, true);
		} else if (tsdl_is_basic(&p->tok) && !done) {
			ok = read_word(p, s, false);
			basic = true;
		} else if (!p->tok.word && !basic && !done) {
			ok = read_word(p, s, false);
			done = true;
		} else if (p->tok.word && !basic && !done) {
			ok = read_class(p, s);
			done = true;
		} else {
			break;
		}
		if (!ok)
			return false;
	}
	return basic || done || tsdl_expected(p, "a type");
}
