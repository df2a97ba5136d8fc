/* Names of types and their scopes, declarators, typedef and typealias, fields of structures. */
#include <string.h>

#include "format/ctf/meta/tsdl.h"

/* ---- scopes */

static uint64_t key_of(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* SPEC ctf-tsdl/lexical-scope */
bool tsdl_scope_open(struct tsdl *p)
{
	if (p->nscopes == TSDL_SCOPES)
		return tsdl_error(p, p->tok.at,
				  "expected at most %d scopes inside each other, found more",
				  TSDL_SCOPES);
	p->scopes[p->nscopes++] = ++p->last_scope;
	return true;
}

void tsdl_scope_close(struct tsdl *p)
{
	p->nscopes--;
}

bool tsdl_type_add(struct tsdl *p, uint32_t name, struct ctf_field *f, uint64_t at)
{
	const size_t count = p->types.count;
	struct map64_slot *s = map64_put(&p->types, key_of(p->scopes[p->nscopes - 1], name));

	if (!s)
		return tsdl_full(p);
	/* SPEC ctf-tsdl/redefinition */
	if (p->types.count == count)
		return tsdl_error(p, at, "expected a new name of a type, found `%.80s` again",
				  tsdl_text(p, name));
	s->value = (uint64_t)(uintptr_t)f;
	return true;
}

struct ctf_field *tsdl_type_find(const struct tsdl *p, uint32_t name)
{
	for (unsigned i = p->nscopes; i-- > 0;) {
		const struct map64_slot *s = map64_find(&p->types, key_of(p->scopes[i], name));

		if (s)
			return (struct ctf_field *)(uintptr_t)s->value;
	}
	return NULL;
}

/* The id of three texts in a row. */
static uint32_t name_of(struct tsdl *p, const char *a, const char *b, const char *c)
{
	uint32_t id;

	out_clear(&p->buf);
	out_str(&p->buf, a);
	out_str(&p->buf, b);
	out_str(&p->buf, c);
	id = p->buf.error ? INTERN_NONE : intern_put(p->m->names, p->buf.buf, p->buf.len);
	if (id == INTERN_NONE)
		tsdl_full(p);
	return id;
}

uint32_t tsdl_tag(struct tsdl *p, const char *keyword, uint32_t name)
{
	return name_of(p, keyword, " ", tsdl_text(p, name));
}

uint32_t tsdl_join_words(struct tsdl *p, uint32_t a, uint32_t b)
{
	return name_of(p, tsdl_text(p, a), " ", tsdl_text(p, b));
}

/* SPEC ctf-tsdl/pointer: a type after stars is the alias that was declared with the same stars. */
struct ctf_field *tsdl_spec_field(struct tsdl *p, const struct tsdl_spec *s, const char *pointers)
{
	const uint32_t names[2] = { s->name, s->plain };
	struct ctf_field *f = NULL;

	if (s->field && !*pointers)
		return s->field;
	for (int i = 0; i < 2 && !f && names[i]; i++) {
		const uint32_t id =
			*pointers ? name_of(p, tsdl_text(p, names[i]), "", pointers) : names[i];

		if (id == INTERN_NONE)
			return NULL;
		f = tsdl_type_find(p, id);
	}
	if (!f)
		tsdl_error(p, s->at, "expected a type that is known here, found `%.80s%.40s`",
			   s->name ? tsdl_text(p, s->name) : "...", pointers);
	return f;
}

/* ---- references */

static const struct ctf_member *frame_find(const struct tsdl *p, const struct tsdl_frame *frame,
					   size_t end, uint32_t name)
{
	const char *text = tsdl_text(p, name);
	const struct map64_slot *s;

	if (frame->indexed) {
		s = map64_find(&p->index, key_of(frame->lex, name));
		return s ? &p->members[frame->first + s->value - 1] : NULL;
	}
	for (size_t i = frame->first; i < end; i++) {
		if (p->members[i].name == text)
			return &p->members[i];
	}
	return NULL;
}

/*
 * SPEC ctf-tsdl/static-scope: a relative path means the closest field before it where the type is
 * written, wherever the type is used later. Fields of variants are not seen from inside them.
 */
static uint32_t home_of(struct tsdl *p, const char *name)
{
	const uint32_t id = intern_find(p->m->names, name, strlen(name));

	for (unsigned i = p->nframes; i-- > 0;) {
		const size_t end = i + 1 < p->nframes ? p->frames[i + 1].first : p->nmembers;

		if (p->frames[i].is_struct && frame_find(p, &p->frames[i], end, id))
			return p->frames[i].lex;
	}
	return 0;
}

static const struct {
	const char *names[3];
	uint32_t count;
	enum ctf_scope scope;
} dynamic_scopes[] = {
	{ { "trace", "packet", "header" }, 3, CTF_SCOPE_PACKET_HEADER },
	{ { "stream", "packet", "context" }, 3, CTF_SCOPE_PACKET_CONTEXT },
	{ { "stream", "event", "header" }, 3, CTF_SCOPE_EVENT_HEADER },
	{ { "stream", "event", "context" }, 3, CTF_SCOPE_EVENT_COMMON },
	{ { "event", "context" }, 2, CTF_SCOPE_EVENT_SPECIFIC },
	{ { "event", "fields" }, 2, CTF_SCOPE_PAYLOAD },
};

bool tsdl_reference(struct tsdl *p, const struct tsdl_value *v, struct ctf_field *f)
{
	if (v->kind != VALUE_NAME || v->keyword)
		return tsdl_found(p, v, "the name of a field");
	/* SPEC ctf-tsdl/dynamic-scope */
	for (size_t i = 0; i < sizeof(dynamic_scopes) / sizeof(dynamic_scopes[0]); i++) {
		const uint32_t n = dynamic_scopes[i].count;
		uint32_t same = 0;

		while (same < n && same < v->nnames &&
		       !strcmp(v->names[same], dynamic_scopes[i].names[same]))
			same++;
		if (same < n)
			continue;
		if (v->nnames == n)
			return tsdl_found(p, v, "the name of a field in that scope");
		f->ref.absolute = true;
		f->ref.scope = dynamic_scopes[i].scope;
		f->ref.names = v->names + n;
		f->ref.nnames = v->nnames - n;
		f->ref.at = v->at;
		return true;
	}
	f->ref.home = home_of(p, v->names[0]);
	f->ref.names = v->names;
	f->ref.nnames = v->nnames;
	f->ref.at = v->at;
	return true;
}

/* ---- declarators */

struct declarator {
	uint32_t name; /* 0: none */
	uint64_t at;
	char pointers[META_DEPTH * 8]; /* " *" and " const", as names of types have them */
	uint32_t ndims; /* of p->dims */
	bool is_field, is_bits;
	uint64_t bits;
};

static bool read_pointers(struct tsdl *p, struct declarator *d)
{
	size_t len = 0;

	d->pointers[0] = '\0';
	while (tsdl_is(p, '*') || (len && tsdl_is_word(p, WORD_CONST))) {
		const char *add = tsdl_is(p, '*') ? " *" : " const";

		if (len + strlen(add) >= sizeof(d->pointers))
			return tsdl_error(p, p->tok.at, "expected fewer `*`, found more than %zu",
					  len / 2);
		memcpy(d->pointers + len, add, strlen(add) + 1);
		len += strlen(add);
		tsdl_advance(p);
	}
	return true;
}

static bool read_dim(struct tsdl *p, struct declarator *d)
{
	if (d->ndims == TSDL_DIMS)
		return tsdl_error(p, p->tok.at, "expected at most %d dimensions, found more",
				  TSDL_DIMS);
	return tsdl_value(p, &p->dims[d->ndims], "a length") &&
	       tsdl_keep(p, &p->dims[d->ndims++]) && tsdl_expect(p, ']', "`]`");
}

/*
 * SPEC ctf-tsdl/keyword-name: a field may be called by a keyword, where nothing else can be meant.
 */
static bool said_keyword(struct tsdl *p)
{
	const int next = tsdl_peek(p)->kind;

	if (next != ';' && next != ',' && next != '[' && next != ':')
		return false;
	tsdl_warn(p, "ctf/keyword-name", p->tok.at,
		  "expected a name that is no keyword, found `%.*s`", (int)p->tok.len,
		  p->text + p->tok.at);
	return true;
}

/* A name, which may be missing, with its dimensions; parentheses mean nothing. */
static bool read_direct(struct tsdl *p, struct declarator *d)
{
	unsigned open = 0;

	for (; tsdl_is(p, '('); tsdl_advance(p))
		open++;
	d->at = p->tok.at;
	if (tsdl_is(p, TSDL_NAME) && (!p->tok.word || (d->is_field && said_keyword(p)))) {
		d->name = tsdl_name(p);
		if (d->name == INTERN_NONE)
			return false;
		tsdl_advance(p);
	}
	while (tsdl_is(p, '[') || (open && tsdl_is(p, ')'))) {
		const bool is_dim = tsdl_is(p, '[');

		tsdl_advance(p);
		if (is_dim && !read_dim(p, d))
			return false;
		open -= !is_dim;
	}
	return !open || tsdl_expected(p, "`)`");
}

static bool read_declarator(struct tsdl *p, struct declarator *d, bool is_field)
{
	*d = (struct declarator){ .at = p->tok.at, .is_field = is_field };
	return read_pointers(p, d) && read_direct(p, d);
}

/* ---- arrays */

/*
 * SPEC ctf-tsdl/text-array: an array of characters (8 bits, byte-aligned, with an encoding) is a
 * string; the array's alignment is the characters'.
 */
static bool is_character(const struct ctf_field *f)
{
	return f->is_text && f->size == 8 && f->align == 8 && !f->is_enum && !f->clock_name;
}

static bool dim_static(struct tsdl *p, const struct tsdl_value *v, struct ctf_field *f)
{
	f->length = v->number;
	if (v->kind == VALUE_NUMBER)
		return !v->negative || tsdl_found(p, v, "a length not below 0");
	/* SPEC ctf-tsdl/env-length */
	if (v->nnames != 2)
		return tsdl_found(p, v, "`env.` and the name of an entry");
	f->env_key = v->names[1];
	f->ref.at = v->at;
	return true;
}

/*
 * SPEC ctf-tsdl/dimensions: the array of `element` that one pair of brackets makes; NULL: failed.
 */
static struct ctf_field *array_of(struct tsdl *p, struct ctf_field *element,
				  const struct tsdl_value *v)
{
	const bool text = is_character(element);
	const bool is_static =
		v->kind == VALUE_NUMBER || (v->kind == VALUE_NAME && !strcmp(v->names[0], "env"));
	const enum ctf_kind fixed = text ? CTF_STRING_STATIC : CTF_ARRAY;
	const enum ctf_kind dynamic = text ? CTF_STRING_DYNAMIC : CTF_SEQUENCE;
	struct ctf_field *f = meta_field(p->m, is_static ? fixed : dynamic, v->at);

	if (!f) {
		tsdl_full(p);
		return NULL;
	}
	f->encoding = element->encoding;
	f->align = text ? 8 : 1;
	f->element = text ? NULL : element;
	if (is_static ? !dim_static(p, v, f) : !tsdl_reference(p, v, f))
		return NULL;
	return f;
}

/* The class of one declarator; NULL: failed. */
static struct ctf_field *declared(struct tsdl *p, const struct tsdl_spec *s,
				  const struct declarator *d)
{
	struct ctf_field *f = tsdl_spec_field(p, s, d->pointers);

	/* a[2][3] is an array of 2 arrays of 3 */
	for (uint32_t i = d->ndims; f && i-- > 0;) {
		/* SPEC ctf-tsdl/variant-tag */
		if (f->kind == CTF_VARIANT && !f->ref.nnames) {
			tsdl_error(p, f->at, "expected `<` and the tag of the variant, found none");
			return NULL;
		}
		f = array_of(p, f, &p->dims[i]);
	}
	return f;
}

/* ---- fields */

/*
 * SPEC ctf-tsdl/bit-field: as many bits of an integer as follow the colon, which do not cross
 * a unit of the size of that integer; 0 bits without a name: go to the next unit.
 */
static struct ctf_field *bits_of(struct tsdl *p, const struct ctf_field *unit,
				 const struct declarator *d)
{
	struct ctf_field *f;

	if ((unit->kind != CTF_UINT && unit->kind != CTF_SINT) || d->ndims) {
		tsdl_error(p, d->at, "expected an integer for a bit field, found another type");
		return NULL;
	}
	if (d->bits > unit->size || (!d->bits && d->name)) {
		tsdl_error(p, d->at, "expected 1 to %u bits, found %llu", unit->size,
			   (unsigned long long)d->bits);
		return NULL;
	}
	f = d->bits ? meta_field_copy(p->m, unit) : meta_field(p->m, CTF_STRUCT, d->at);
	if (!f) {
		tsdl_full(p);
		return NULL;
	}
	f->align = d->bits ? 1 : unit->size & (unit->size - 1) ? 1 : unit->size;
	f->size = (uint32_t)d->bits;
	f->unit = d->bits ? unit->size : 0;
	f->unit_align = unit->align;
	f->at = d->at;
	return f;
}

static bool frame_enter(struct tsdl *p, const struct tsdl_frame *frame, size_t i)
{
	const char *name = p->members[i].name;
	struct map64_slot *s;

	if (!name)
		return true;
	s = map64_put(&p->index, key_of(frame->lex, intern_find(p->m->names, name, strlen(name))));
	if (!s)
		return tsdl_full(p);
	s->value = i - frame->first + 1;
	return true;
}

/*
 * Enters the last name; the first time, of a frame that has become too large to be searched one by
 * one, all.
 */
static bool frame_index(struct tsdl *p, struct tsdl_frame *frame)
{
	size_t i = frame->indexed ? p->nmembers - 1 : frame->first;

	for (; i < p->nmembers; i++) {
		if (!frame_enter(p, frame, i))
			return false;
	}
	frame->indexed = true;
	return true;
}

/* SPEC ctf-tsdl/underscore */
static const char *shown_name(const char *name)
{
	return name && name[0] == '_' && name[1] ? name + 1 : name;
}

static bool member_add(struct tsdl *p, const struct declarator *d, struct ctf_field *f)
{
	struct tsdl_frame *frame = &p->frames[p->nframes - 1];
	const char *name = d->name ? tsdl_text(p, d->name) : NULL;

	/* SPEC ctf-tsdl/unique-names */
	if (name && frame_find(p, frame, p->nmembers, d->name))
		return tsdl_error(p, d->at, "expected a new name of a field, found `%.80s` again",
				  name);
	if (!meta_count(p->m, 1) || !mem_grow((void **)&p->members, &p->members_cap,
					      p->nmembers + 1, sizeof(*p->members), META_FIELDS))
		return tsdl_full(p);
	p->members[p->nmembers++] =
		(struct ctf_member){ .name = name, .shown = shown_name(name), .field = f };
	if (frame->indexed || p->nmembers - frame->first > TSDL_SCAN)
		return frame_index(p, frame);
	return true;
}

static bool read_field(struct tsdl *p, const struct tsdl_spec *s)
{
	const bool in_struct = p->frames[p->nframes - 1].is_struct;
	struct tsdl_value bits;
	struct declarator d;
	struct ctf_field *f;

	if (!read_declarator(p, &d, true))
		return false;
	if (in_struct && tsdl_accept(p, ':')) {
		d.is_bits = true;
		if (!tsdl_value(p, &bits, "a number of bits") ||
		    !tsdl_u64(p, &bits, "the bit field", &d.bits))
			return false;
	}
	if (!d.name && !d.is_bits)
		return tsdl_expected(p, "the name of a field");
	f = declared(p, s, &d);
	if (f && d.is_bits)
		f = bits_of(p, f, &d);
	if (!f)
		return false;
	if (f->kind == CTF_VARIANT && !f->ref.nnames)
		return tsdl_error(p, d.at, "expected `<` and the tag of the variant, found none");
	return member_add(p, &d, f);
}

bool tsdl_fields(struct tsdl *p, const struct tsdl_spec *s)
{
	if (s->is_compound && tsdl_is(p, ';')) {
		tsdl_advance(p);
		return true;
	}
	do {
		if (!read_field(p, s))
			return false;
	} while (tsdl_accept(p, ','));
	return tsdl_expect(p, ';', "`;`");
}

/* ---- typedef, typealias */

bool tsdl_typedef(struct tsdl *p, const struct tsdl_spec *s)
{
	do {
		struct declarator d;
		struct ctf_field *f;

		if (!read_declarator(p, &d, false))
			return false;
		if (!d.name)
			return tsdl_expected(p, "a name for the type");
		f = declared(p, s, &d);
		if (!f || !tsdl_type_add(p, d.name, f, d.at))
			return false;
	} while (tsdl_accept(p, ','));
	return tsdl_expect(p, ';', "`;`");
}

/* Words that may be part of an alias's name. */
static bool is_name_word(const struct tsdl_token *t)
{
	switch (t->word) {
	case WORD_NONE:
	case WORD_CONST:
	case WORD_STRUCT:
	case WORD_VARIANT:
	case WORD_ENUM:
		return true;
	default:
		return tsdl_is_basic(t);
	}
}

/* SPEC ctf-tsdl/alias-name: the words of the new name, joined by blanks. INTERN_NONE: failed. */
static uint32_t read_alias_words(struct tsdl *p)
{
	struct out words;
	uint32_t id = INTERN_NONE;
	bool tag = false;

	out_to_memory(&words);
	while (tsdl_is(p, TSDL_NAME)) {
		const uint32_t word = tsdl_name(p);

		if (word == INTERN_NONE || !is_name_word(&p->tok))
			break;
		if (words.len)
			out_char(&words, ' ');
		out_str(&words, tsdl_text(p, word));
		tag = p->tok.word == WORD_STRUCT || p->tok.word == WORD_VARIANT ||
		      p->tok.word == WORD_ENUM;
		tsdl_advance(p);
	}
	if (!p->failed && (!words.len || tag || tsdl_is(p, TSDL_NAME)))
		tsdl_expected(p, "a name for the type");
	if (!p->failed && !words.error)
		id = intern_put(p->m->names, words.buf, words.len);
	out_free(&words);
	if (id == INTERN_NONE)
		tsdl_full(p);
	return id;
}

static bool alias_add(struct tsdl *p, struct ctf_field *f)
{
	const uint64_t at = p->tok.at;
	const struct tsdl_spec target = { .field = f, .at = at };
	struct declarator d;
	uint32_t id = read_alias_words(p);

	/* What follows the words: stars belong to the name, brackets make an array of the type. */
	if (id == INTERN_NONE || !read_declarator(p, &d, false))
		return false;
	if (d.name)
		return tsdl_error(p, d.at, "expected `;`, found `%.80s`", tsdl_text(p, d.name));
	if (d.pointers[0])
		id = name_of(p, tsdl_text(p, id), "", d.pointers);
	if (id == INTERN_NONE)
		return false;
	d.pointers[0] = '\0';
	f = declared(p, &target, &d);
	return f && tsdl_type_add(p, id, f, at);
}

static bool read_typealias(struct tsdl *p)
{
	struct tsdl_spec s;
	struct declarator d;
	struct ctf_field *f;

	tsdl_advance(p);
	if (!tsdl_specifier(p, &s) || !read_declarator(p, &d, false))
		return false;
	if (d.name || s.is_typedef)
		return tsdl_error(p, d.at, "expected `:=`, found another name");
	f = declared(p, &s, &d);
	if (!f || !tsdl_expect(p, TSDL_ASSIGN, "`:=`"))
		return false;
	do {
		if (!alias_add(p, f))
			return false;
	} while (tsdl_accept(p, ','));
	return tsdl_expect(p, ';', "`;`");
}

bool tsdl_declares(struct tsdl *p)
{
	int next;

	if (!tsdl_is(p, TSDL_NAME))
		return false;
	next = tsdl_peek(p)->kind;
	if (next == '=' || next == '.' || next == TSDL_ASSIGN)
		return false;
	if (p->tok.word == WORD_NONE)
		return next == TSDL_NAME && p->next.word == WORD_TYPEDEF;
	return is_name_word(&p->tok) || p->tok.word == WORD_TYPEALIAS ||
	       p->tok.word == WORD_TYPEDEF || p->tok.word == WORD_INTEGER ||
	       p->tok.word == WORD_FLOATING_POINT || p->tok.word == WORD_STRING;
}

bool tsdl_declaration(struct tsdl *p)
{
	struct tsdl_spec s;

	if (tsdl_is_word(p, WORD_TYPEALIAS))
		return read_typealias(p);
	if (!tsdl_specifier(p, &s))
		return false;
	if (s.is_typedef)
		return tsdl_typedef(p, &s);
	if (tsdl_is(p, ';') && s.is_compound) {
		tsdl_advance(p);
		return true;
	}
	return tsdl_expected(p, s.is_compound ? "`;`" : "`typedef`");
}
