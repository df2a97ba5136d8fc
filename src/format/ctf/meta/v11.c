/*
 * Metadata of the RFC v1.1: types, sections, events. What the RFC leaves open is decided as
 * docs/formats/ctf-v11.md says.
 *
 * A section is a stream class; its number is its place in the metadata. The packet header and the
 * two event headers are not in the metadata: they are made here as field classes, so that decoding
 * knows one way only.
 */
#include <stdio.h>
#include <string.h>

#include "base/intern.h"
#include "format/ctf/meta/v11.h"

enum { MAX_LIST = 1 << 20, MAX_BITS = 1 << 16 };

/* A declared type. */
struct v11_type {
	const struct v11_node *body;
	struct ctf_field *field; /* NULL: not built yet */
	bool building;
};

struct v11 {
	struct ctf_meta *m;
	struct diag_log *diag;
	struct spur_error *err;
	struct intern *names; /* of types */
	struct v11_type *types;
	size_t ntypes, types_cap;
	struct intern *sections; /* id - 1: index of the stream class */
	unsigned depth;
};

static const char *const roots[] = { "integer", "gcc_bitfield", "floating_point", "enum", "struct",
				     "array",	"sequence",	"string",	  NULL };
enum root {
	ROOT_INTEGER,
	ROOT_BITFIELD,
	ROOT_FLOAT,
	ROOT_ENUM,
	ROOT_STRUCT,
	ROOT_ARRAY,
	ROOT_SEQUENCE,
	ROOT_STRING,
	ROOTS
};

/* --- types --- */

static struct v11_type *find_type(struct v11 *v, const char *name)
{
	const uint32_t id = intern_find(v->names, name, strlen(name));

	return id != INTERN_NONE && id < v->ntypes && v->types[id].body ? &v->types[id] : NULL;
}

static unsigned find_root(const char *name)
{
	unsigned i = 0;

	while (roots[i] && strcmp(roots[i], name) != 0)
		i++;
	return i;
}

/* SPEC ctf-v11/inherit: an attribute of a type or of what it inherits from, nearest first */
static const struct v11_node *attribute(struct v11 *v, const struct v11_node *body, const char *key)
{
	for (unsigned i = 0; body && i < META_DEPTH; i++) {
		const struct v11_node *found = v11_get(body, key),
				      *parent = v11_get(body, "parent");
		const struct v11_type *t;

		if (found)
			return found;
		if (!parent || parent->kind != V11_WORDS)
			return NULL;
		t = find_type(v, parent->text);
		body = t ? t->body : NULL;
	}
	return NULL;
}

/* What a type is in the end; ROOTS: nothing known, with the error set. */
static unsigned root_of(struct v11 *v, const struct v11_node *body)
{
	const struct v11_node *parent = NULL;
	uint64_t at = body->at;

	for (unsigned i = 0; body && i < META_DEPTH; i++) {
		const struct v11_type *t;
		unsigned root;

		parent = v11_get(body, "parent");
		if (!parent || parent->kind != V11_WORDS)
			break;
		at = parent->at;
		root = find_root(parent->text);
		if (root < ROOTS)
			return root;
		t = find_type(v, parent->text);
		body = t ? t->body : NULL;
	}
	v11_fail(v->m, at, v->err,
		 "expected a type that inherits from an abstract type, found %s%.60s",
		 parent && parent->kind == V11_WORDS ? "parent " : "none",
		 parent && parent->kind == V11_WORDS ? parent->text : "");
	return ROOTS;
}

static bool get_number(struct v11 *v, const struct v11_node *body, const char *key, uint64_t most,
		       uint64_t *out)
{
	const struct v11_node *n = attribute(v, body, key);

	if (!n)
		return true;
	if (n->kind != V11_NUMBER || n->number < 0 || (uint64_t)n->number > most) {
		v11_fail(v->m, n->at, v->err,
			 "`%s`: expected a number from 0 to %llu, found another value", key,
			 (unsigned long long)most);
		return false;
	}
	*out = (uint64_t)n->number;
	return true;
}

static bool get_bool(struct v11 *v, const struct v11_node *n, bool *out)
{
	if (!n)
		return true;
	if (n->kind == V11_NUMBER && (n->number == 0 || n->number == 1))
		*out = n->number == 1;
	else if (n->kind == V11_WORDS &&
		 (strcmp(n->text, "true") == 0 || strcmp(n->text, "TRUE") == 0))
		*out = true;
	else if (n->kind == V11_WORDS &&
		 (strcmp(n->text, "false") == 0 || strcmp(n->text, "FALSE") == 0))
		*out = false;
	else
		return v11_fail(v->m, n->at, v->err,
				"`%s`: expected true or false, found another value",
				n->key ? n->key : "") == SPUR_OK;
	return true;
}

static bool get_order(struct v11 *v, const struct v11_node *body, bool *big)
{
	const struct v11_node *n = attribute(v, body, "byte_order");
	const char *s = n && n->kind == V11_WORDS ? n->text : "";

	*big = v->m->big_endian;
	if (!n || strcmp(s, "native") == 0)
		return true;
	*big = strcmp(s, "network") == 0 || strcmp(s, "be") == 0;
	if (*big || strcmp(s, "le") == 0)
		return true;
	return v11_fail(v->m, n->at, v->err,
			"`byte_order`: expected native, network, be or le, found \"%.40s\"",
			s) == SPUR_OK;
}

static struct ctf_field *field_new(struct v11 *v, enum ctf_kind kind, uint64_t at)
{
	struct ctf_field *f = meta_field(v->m, kind, at);

	if (!f)
		meta_full(v->m, v->err);
	return f;
}

/* Integers, bit fields, floating point, and what enumerations are made of. */
static bool read_bits(struct v11 *v, const struct v11_node *body, struct ctf_field *f,
		      enum root root)
{
	const struct v11_node *n = attribute(v, body, "align");
	uint64_t size = 0, align = 0, unit = 0, base = 10;
	bool is_signed = false;

	/* SPEC ctf-v11/base */
	if (!get_number(v, body, "size", MAX_BITS, &size) ||
	    !get_number(v, body, "base", 16, &base) ||
	    !get_number(v, body, "align", MAX_BITS, &align) ||
	    !get_number(v, body, "unit_size", MAX_BITS, &unit) ||
	    !get_bool(v, attribute(v, body, "signed"), &is_signed) ||
	    !get_order(v, body, &f->big_endian))
		return false;
	if (!size || (root != ROOT_FLOAT && size > 64))
		return v11_fail(v->m, body->at, v->err, "`size`: expected 1 to 64 bits, found %llu",
				(unsigned long long)size) == SPUR_OK;
	/* SPEC ctf-v11/align: 8 by default and the size is whole bytes, else 1 */
	if (!n)
		align = size % 8 ? 1 : 8;
	if (!align || align & (align - 1))
		return v11_fail(v->m, n ? n->at : body->at, v->err,
				"`align`: expected a power of two, found %llu",
				(unsigned long long)align) == SPUR_OK;
	if (root == ROOT_BITFIELD && (!unit || size > unit || unit & (unit - 1)))
		return v11_fail(v->m, body->at, v->err,
				"`unit_size`: expected a power of two, at least the size (%llu), "
				"found %llu",
				(unsigned long long)size, (unsigned long long)unit) == SPUR_OK;
	f->size = (uint32_t)size;
	f->align = (uint32_t)align;
	f->unit = root == ROOT_BITFIELD ? (uint32_t)unit : 0;
	f->is_signed = is_signed && f->kind != CTF_FLOAT;
	f->base = base == 2 || base == 8 || base == 16 ? (uint8_t)base : 10;
	if (f->is_signed)
		f->kind = CTF_SINT;
	return true;
}

/* SPEC ctf-v11/float */
static bool read_float(struct v11 *v, const struct v11_node *body, struct ctf_field *f)
{
	uint64_t exponent = 0, mantissa = 0;

	if (!get_number(v, body, "exp_dig", 64, &exponent) ||
	    !get_number(v, body, "mant_dig", 256, &mantissa) || !read_bits(v, body, f, ROOT_FLOAT))
		return false;
	f->exp_dig = (uint32_t)exponent;
	f->mant_dig = (uint32_t)mantissa;
	if (f->size == 16 || f->size == 32 || f->size == 64 ||
	    (f->size >= 128 && f->size % 32 == 0))
		return true;
	return v11_fail(v->m, body->at, v->err, "`size`: expected 16, 32, 64 or 128 bits, found %u",
			f->size) == SPUR_OK;
}

static size_t list_length(const struct v11_node *list)
{
	size_t n = 0;

	for (const struct v11_node *i = list->first; i; i = i->next)
		n++;
	return n;
}

/* SPEC ctf-v11/enum: { 3, "name" } or { { 1, 4 }, "name" } */
static bool read_mapping(struct v11 *v, const struct v11_node *item, struct ctf_mapping *out)
{
	const struct v11_node *value = item->kind == V11_LIST ? item->first : NULL,
			      *name = value ? value->next : NULL;
	const struct v11_node *high = value;
	struct ctf_range *range = arena_alloc(&v->m->arena, sizeof(*range));

	if (!range)
		return err_nomem(v->err) == SPUR_OK;
	if (value && value->kind == V11_LIST) {
		value = value->first;
		high = value && value->next ? value->next : value;
	}
	if (!value || value->kind != V11_NUMBER || high->kind != V11_NUMBER || !name ||
	    (name->kind != V11_TEXT && name->kind != V11_WORDS))
		return v11_fail(v->m, item->at, v->err,
				"`map`: expected { VALUE, \"NAME\" }, found something else") ==
		       SPUR_OK;
	*range = (struct ctf_range){ (uint64_t)value->number, (uint64_t)high->number };
	*out = (struct ctf_mapping){ name->text, range, 1 };
	return true;
}

static bool read_enum(struct v11 *v, const struct v11_node *body, struct ctf_field *f)
{
	const struct v11_node *map = attribute(v, body, "map");
	struct ctf_mapping *list;
	size_t n;

	f->is_enum = true;
	if (!read_bits(v, body, f, ROOT_ENUM))
		return false;
	if (!map)
		return true;
	n = map->kind == V11_LIST ? list_length(map) : 0;
	if (map->kind != V11_LIST || n > MAX_LIST)
		return v11_fail(v->m, map->at, v->err, "`map`: expected a list, found %s",
				n ? "a longer one than can be" : "something else") == SPUR_OK;
	list = arena_alloc(&v->m->arena, (n + 1) * sizeof(*list));
	if (!list)
		return err_nomem(v->err) == SPUR_OK;
	f->mappings = list;
	for (const struct v11_node *i = map->first; i; i = i->next)
		if (!read_mapping(v, i, &list[f->nmappings++]))
			return false;
	return true;
}

static bool build(struct v11 *v, const struct v11_node *n, struct ctf_field **out);

/* { TYPE, name } */
static bool read_member(struct v11 *v, const struct v11_node *item, struct ctf_member *m)
{
	const struct v11_node *type = item->kind == V11_LIST ? item->first : NULL,
			      *name = type ? type->next : NULL;

	if (!name || name->kind != V11_WORDS)
		return v11_fail(v->m, item->at, v->err,
				"`fields`: expected { TYPE, NAME }, found something else") ==
		       SPUR_OK;
	m->name = m->shown = name->text;
	return build(v, type, &m->field);
}

static bool unique_names(struct v11 *v, const struct ctf_field *f)
{
	struct intern *seen = intern_new();
	bool good = seen != NULL;

	for (uint32_t i = 0; good && i < f->nmembers; i++) {
		const char *name = f->members[i].name;
		const uint32_t before = intern_count(seen);

		if (intern_put(seen, name, strlen(name)) < before)
			good = v11_fail(v->m, f->at, v->err,
					"expected field names that differ, found \"%.60s\" twice",
					name) == SPUR_OK;
	}
	if (!seen)
		err_nomem(v->err);
	intern_free(seen);
	return good;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/*
 * SPEC ctf-v11/struct-align SPEC ctf-v11/bit-field: the largest of what is inside; a bit field
 * counts as its unit
 */
static uint32_t align_inside(const struct ctf_field *f)
{
	return f->unit ? larger(f->align, f->unit) : f->align;
}

static bool read_struct(struct v11 *v, const struct v11_node *body, struct ctf_field *f)
{
	const struct v11_node *fields = attribute(v, body, "fields");
	const size_t n = fields && fields->kind == V11_LIST ? list_length(fields) : 0;

	f->align = 1;
	if (fields && (fields->kind != V11_LIST || n > MAX_LIST))
		return v11_fail(v->m, fields->at, v->err,
				"`fields`: expected a list, found something else") == SPUR_OK;
	f->members = arena_alloc(&v->m->arena, (n + 1) * sizeof(*f->members));
	if (!f->members)
		return err_nomem(v->err) == SPUR_OK;
	for (const struct v11_node *i = fields ? fields->first : NULL; i; i = i->next) {
		if (!read_member(v, i, &f->members[f->nmembers]))
			return false;
		f->align = larger(f->align, align_inside(f->members[f->nmembers].field));
		f->nmembers++;
	}
	return unique_names(v, f);
}

/* Its value goes to a slot of the sequence's own, which other fields of that type do not have. */
static bool own_length(struct v11 *v, struct ctf_field *f)
{
	struct ctf_field *own = field_new(v, CTF_UINT, f->at);

	if (!own)
		return false;
	*own = *f->length_field;
	own->save = f->ref.slot = v->m->nslots++;
	f->length_field = own;
	return v->m->nslots <= META_SLOTS ||
	       v11_fail(v->m, f->at, v->err, "expected at most %d sequences, found more",
			META_SLOTS) == SPUR_OK;
}

static bool read_elements(struct v11 *v, const struct v11_node *body, struct ctf_field *f)
{
	const struct v11_node *elem = attribute(v, body, "elem_type"),
			      *length = attribute(v, body, "length_type");

	if (!elem)
		return v11_fail(v->m, body->at, v->err, "expected `elem_type`, found none") ==
		       SPUR_OK;
	if (!build(v, elem, &f->element))
		return false;
	f->align = align_inside(f->element);
	if (f->kind == CTF_ARRAY)
		return get_number(v, body, "length", INT64_MAX, &f->length);
	if (!length)
		return v11_fail(v->m, body->at, v->err, "expected `length_type`, found none") ==
		       SPUR_OK;
	if (!build(v, length, &f->length_field))
		return false;
	if (f->length_field->kind != CTF_UINT)
		return v11_fail(
			       v->m, length->at, v->err,
			       "`length_type`: expected an unsigned integer, found another type") ==
		       SPUR_OK;
	if (!own_length(v, f))
		return false;
	/*
	 * SPEC ctf-v11/sequence: aligned as the larger of length and element, then the length, then
	 * the elements
	 */
	f->align = larger(f->align, f->length_field->align);
	return true;
}

static bool read_string(struct v11 *v, const struct v11_node *body, struct ctf_field *f)
{
	const struct v11_node *n = attribute(v, body, "encoding");

	f->align = 8;
	if (n && n->kind == V11_WORDS && strcmp(n->text, "ASCII") == 0)
		f->encoding = CTF_ASCII;
	else if (n && (n->kind != V11_WORDS || strcmp(n->text, "UTF8") != 0))
		return v11_fail(v->m, n->at, v->err,
				"`encoding`: expected UTF8 or ASCII, found another value") ==
		       SPUR_OK;
	return true;
}

static bool build_body(struct v11 *v, const struct v11_node *body, struct ctf_field **out)
{
	static const uint8_t kinds[ROOTS] = { CTF_UINT,	  CTF_UINT,  CTF_FLOAT,	   CTF_UINT,
					      CTF_STRUCT, CTF_ARRAY, CTF_SEQUENCE, CTF_STRING };
	const unsigned root = root_of(v, body);
	struct ctf_field *f;

	if (root == ROOTS)
		return false;
	*out = f = field_new(v, (enum ctf_kind)kinds[root], body->at);
	if (!f)
		return false;
	switch ((enum root)root) {
	case ROOT_INTEGER:
	case ROOT_BITFIELD:
		return read_bits(v, body, f, (enum root)root);
	case ROOT_FLOAT:
		return read_float(v, body, f);
	case ROOT_ENUM:
		return read_enum(v, body, f);
	case ROOT_STRUCT:
		return read_struct(v, body, f);
	case ROOT_ARRAY:
	case ROOT_SEQUENCE:
		return read_elements(v, body, f);
	default:
		return read_string(v, body, f);
	}
}

static bool build_named(struct v11 *v, const struct v11_node *n, struct ctf_field **out)
{
	struct v11_type *t = find_type(v, n->text);
	const uint32_t id = intern_find(v->names, n->text, strlen(n->text));
	bool good;

	if (!t)
		return v11_fail(v->m, n->at, v->err, "expected the name of a type, found \"%.60s\"",
				n->text) == SPUR_OK;
	if (t->building)
		return v11_fail(v->m, n->at, v->err,
				"expected a type that does not contain itself, found \"%.60s\"",
				n->text) == SPUR_OK;
	if (!t->field) {
		t->building = true;
		good = build_body(v, t->body, out);
		t = &v->types[id];
		t->building = false;
		if (!good)
			return false;
		t->field = *out;
	}
	*out = t->field;
	return true;
}

/* A type by its name or its body. */
static bool build(struct v11 *v, const struct v11_node *n, struct ctf_field **out)
{
	bool good;

	if (v->depth == META_DEPTH)
		return v11_fail(v->m, n->at, v->err, "expected types at most %d deep, found more",
				META_DEPTH) == SPUR_OK;
	v->depth++;
	if (n->kind == V11_WORDS)
		good = build_named(v, n, out);
	else if (n->kind == V11_BODY)
		good = build_body(v, n, out);
	else
		good = v11_fail(v->m, n->at, v->err, "expected a type, found something else") ==
		       SPUR_OK;
	v->depth--;
	return good;
}

static bool add_type(struct v11 *v, const struct v11_node *n)
{
	const uint32_t id = n->name ? intern_put(v->names, n->name, strlen(n->name)) : INTERN_NONE;

	if (!n->name)
		return v11_fail(v->m, n->at, v->err, "expected `%s NAME {`, found no name",
				n->key) == SPUR_OK;
	if (id == INTERN_NONE || !mem_grow((void **)&v->types, &v->types_cap, (size_t)id + 1,
					   sizeof(*v->types), META_FIELDS))
		return err_nomem(v->err) == SPUR_OK;
	v->ntypes = v->types_cap;
	if (v->types[id].body)
		return v11_fail(v->m, n->at, v->err,
				"expected a new name, found type \"%.60s\" again",
				n->name) == SPUR_OK;
	v->types[id].body = n;
	return true;
}

/* --- headers, which the metadata does not describe --- */

/* The natural alignment of an unsigned integer: 8 where types are packed. */
static uint32_t natural(const struct v11 *v, uint32_t bits)
{
	return v->m->v11_u64_align == 8 ? 8 : bits == 64 ? v->m->v11_u64_align : bits;
}

static bool add_member(struct v11 *v, struct ctf_field *into, const char *name, struct ctf_field *f)
{
	struct ctf_member *members =
		arena_alloc(&v->m->arena, (into->nmembers + 1) * sizeof(*members));

	if (!members || !f)
		return err_nomem(v->err) == SPUR_OK;
	if (into->nmembers)
		memcpy(members, into->members, into->nmembers * sizeof(*members));
	members[into->nmembers++] = (struct ctf_member){ .name = name, .shown = name, .field = f };
	into->members = members;
	return true;
}

static bool add_uint(struct v11 *v, struct ctf_field *into, const char *name, uint32_t size,
		     uint32_t align, uint32_t roles)
{
	struct ctf_field *f = field_new(v, CTF_UINT, 0);

	if (!f)
		return false;
	f->size = size;
	f->align = align;
	f->roles = roles;
	f->base = 10;
	f->big_endian = v->m->big_endian;
	return add_member(v, into, name, f);
}

static struct ctf_field *struct_new(struct v11 *v, uint32_t align)
{
	struct ctf_field *f = field_new(v, CTF_STRUCT, 0);

	if (f)
		f->align = align;
	return f;
}

/* `ext`, there where `id` has its highest value. */
static bool add_extension(struct v11 *v, struct ctf_field *into, const char *name,
			  struct ctf_field *ext, uint64_t id)
{
	struct ctf_field *f = field_new(v, CTF_OPTIONAL, 0);
	struct ctf_range *range = arena_alloc(&v->m->arena, sizeof(*range));
	const char **names = arena_alloc(&v->m->arena, sizeof(*names));

	if (!f || !range || !names || !ext)
		return err_nomem(v->err) == SPUR_OK;
	*range = (struct ctf_range){ id, id };
	names[0] = "id";
	f->element = ext;
	f->ranges = range;
	f->nranges = 1;
	f->align = 1;
	f->ref = (struct ctf_ref){ .absolute = true,
				   .scope = CTF_SCOPE_EVENT_HEADER,
				   .names = names,
				   .nnames = 1,
				   .slot = CTF_NO_SLOT };
	return add_member(v, into, name, f);
}

/*
 * SPEC ctf-v11/header1: 5 bits of id, 27 of time; id 31: 32 bits of id and 64 of time follow
 * without a gap, and the end is aligned as a 64-bit integer: by a separate field, as an alignment
 * inside would be that of the whole
 */
static struct ctf_field *header1(struct v11 *v)
{
	struct ctf_field *h = struct_new(v, natural(v, 32)), *ext = struct_new(v, 1),
			 *pad = struct_new(v, natural(v, 64));

	if (!h || !ext || !pad || !add_uint(v, h, "id", 5, 1, CTF_ROLE_EVENT_CLASS_ID) ||
	    !add_uint(v, h, "timestamp", 27, 1, CTF_ROLE_TIMESTAMP) ||
	    !add_uint(v, ext, "id", 32, 8, CTF_ROLE_EVENT_CLASS_ID) ||
	    !add_uint(v, ext, "timestamp", 64, 8, CTF_ROLE_TIMESTAMP) ||
	    !add_extension(v, h, "extended", ext, 31) || !add_extension(v, h, "end", pad, 31))
		return NULL;
	return h;
}

/*
 * SPEC ctf-v11/header2: 32 bits of time, 16 of id; id 65535: aligned as a 64-bit integer, 64 bits
 * of time, 32 of id
 */
static struct ctf_field *header2(struct v11 *v)
{
	struct ctf_field *h = struct_new(v, natural(v, 32)), *ext = struct_new(v, natural(v, 64));

	if (!h || !ext || !add_uint(v, h, "timestamp", 32, 8, CTF_ROLE_TIMESTAMP) ||
	    !add_uint(v, h, "id", 16, 8, CTF_ROLE_EVENT_CLASS_ID) ||
	    !add_uint(v, ext, "timestamp", 64, 8, CTF_ROLE_TIMESTAMP) ||
	    !add_uint(v, ext, "id", 32, 8, CTF_ROLE_EVENT_CLASS_ID) ||
	    !add_extension(v, h, "extended", ext, 65535))
		return NULL;
	return h;
}

/* SPEC ctf-v11/packet-header: 48 bytes, the same packed and natural; sizes count bytes */
static bool packet_header(struct v11 *v)
{
	struct ctf_field *h = struct_new(v, 8);

	v->m->packet_header = h;
	return h && add_uint(v, h, "magic", 32, 8, CTF_ROLE_MAGIC) &&
	       add_uint(v, h, "session_id", 32, 8, CTF_ROLE_SESSION);
}

static struct ctf_field *packet_context(struct v11 *v)
{
	static const struct {
		const char *name;
		uint32_t size, roles;
	} fields[] = {
		{ "content_size", 32, CTF_ROLE_CONTENT_SIZE },
		{ "packet_size", 32, CTF_ROLE_PACKET_SIZE },
		{ "checksum", 32, CTF_ROLE_CHECKSUM },
		{ "section_packet_count", 32, CTF_ROLE_SEQUENCE },
		{ "timestamp_begin", 64, CTF_ROLE_TIMESTAMP },
		{ "timestamp_end", 64, CTF_ROLE_END_TIMESTAMP },
		{ "events_discarded", 32, CTF_ROLE_DISCARDED },
		{ "section_packet_count_bits", 8, CTF_ROLE_SEQUENCE_BITS },
		{ "compression_scheme", 8, CTF_ROLE_COMPRESSION },
		{ "encryption_scheme", 8, CTF_ROLE_ENCRYPTION },
		{ "checksum_scheme", 8, CTF_ROLE_CHECKSUM_SCHEME },
	};
	struct ctf_field *h = struct_new(v, 8);

	for (size_t i = 0; h && i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!add_uint(v, h, fields[i].name, fields[i].size, 8, fields[i].roles))
			return NULL;
	return h;
}

/* --- blocks --- */

static const char *name_of(struct v11 *v, const struct v11_node *body, const char *key)
{
	const struct v11_node *n = v11_get(body, key);

	if (n && (n->kind == V11_WORDS || n->kind == V11_TEXT) && n->text[0])
		return n->text;
	v11_fail(v->m, n ? n->at : body->at, v->err, "expected `%s = NAME;`, found none", key);
	return NULL;
}

/* SPEC ctf-v11/context */
static bool event_context(struct v11 *v, const struct v11_node *context, struct ctf_stream_class *s)
{
	const struct v11_node *fields = v11_get(context, "fields");

	if (!fields)
		fields = v11_get(context, "context_type");
	if (!get_bool(v, v11_get(context, "event_size"), &s->v11_event_size))
		return false;
	if (fields && (!build(v, fields, &s->event_common) || s->event_common->kind != CTF_STRUCT))
		return s->event_common && s->event_common->kind != CTF_STRUCT
			       ? v11_fail(v->m, fields->at, v->err,
					  "expected a structure, found another type") == SPUR_OK
			       : false;
	if (!s->v11_event_size)
		return true;
	/*
	 * SPEC ctf-v11/event-size: 16 bits, bytes of the payload. A type that has a name stays as
	 * it is elsewhere.
	 */
	if (s->event_common && !(s->event_common = meta_field_copy(v->m, s->event_common)))
		return meta_full(v->m, v->err) == SPUR_OK;
	if (!s->event_common)
		s->event_common = struct_new(v, natural(v, 16));
	return s->event_common &&
	       add_uint(v, s->event_common, "payload_size", 16, natural(v, 16), 0);
}

static bool section_event(struct v11 *v, const struct v11_node *event, struct ctf_stream_class *s)
{
	const struct v11_node *type = v11_get(event, "header_type");

	s->v11_header = 1;
	if (type && type->kind == V11_WORDS && strcmp(type->text, "type2") == 0)
		s->v11_header = 2;
	else if (type && (type->kind != V11_WORDS || strcmp(type->text, "type1") != 0))
		return v11_fail(v->m, type->at, v->err,
				"`header_type`: expected type1 or type2, found another value") ==
		       SPUR_OK;
	s->event_header = s->v11_header == 2 ? header2(v) : header1(v);
	s->packet_context = packet_context(v);
	return s->event_header && s->packet_context &&
	       event_context(v, v11_get(event, "context"), s);
}

/* SPEC ctf-v11/section: numbered by its place */
static bool add_section(struct v11 *v, const struct v11_node *n)
{
	struct ctf_meta *m = v->m;
	struct ctf_stream_class *s = arena_alloc(&m->arena, sizeof(*s));
	uint32_t id;

	if (!s || !mem_grow((void **)&m->streams, &m->streams_cap, m->nstreams + 1,
			    sizeof(*m->streams), 1 << 16))
		return err_nomem(v->err) == SPUR_OK;
	s->at = n->at;
	s->id = m->nstreams;
	s->clock = m->clocks[0];
	s->name = name_of(v, n, "name");
	if (!s->name)
		return false;
	id = intern_put(v->sections, s->name, strlen(s->name));
	if (id == INTERN_NONE)
		return err_nomem(v->err) == SPUR_OK;
	if (id != m->nstreams + 1)
		return v11_fail(m, n->at, v->err,
				"expected a new name, found section \"%.60s\" again",
				s->name) == SPUR_OK;
	m->streams[m->nstreams++] = s;
	return section_event(v, v11_get(n, "event"), s);
}

static struct ctf_stream_class *section_of(struct v11 *v, const struct v11_node *n)
{
	const struct v11_node *section = v11_get(n, "section");
	const char *name;
	uint32_t id;

	if (!section)
		section = v11_get(n, "stream");
	if (!section && v->m->nstreams == 1)
		return v->m->streams[0];
	name = name_of(v, n, section && section->key ? section->key : "section");
	if (!name)
		return NULL;
	id = intern_find(v->sections, name, strlen(name));
	if (id != INTERN_NONE && id && id <= v->m->nstreams)
		return v->m->streams[id - 1];
	v11_fail(v->m, section->at, v->err, "expected the name of a section, found \"%.60s\"",
		 name);
	return NULL;
}

static bool add_event(struct v11 *v, const struct v11_node *n)
{
	struct ctf_event_class *e = arena_alloc(&v->m->arena, sizeof(*e));
	const struct v11_node *fields = v11_get(n, "fields"), *uri = v11_get(n, "uri"),
			      *name = v11_get(n, "name");
	struct ctf_stream_class *s;

	if (!e)
		return err_nomem(v->err) == SPUR_OK;
	s = section_of(v, n);
	if (!s || !get_number(v, n, "id", UINT32_MAX, &e->id))
		return false;
	e->at = n->at;
	e->log_level = -1;
	e->stream_id = s->id;
	/* SPEC ctf-v11/uri: only an event with one may be without a name */
	e->emf_uri = uri && uri->kind == V11_TEXT ? uri->text : NULL;
	e->name = e->emf_uri && name && name->kind == V11_TEXT ? name->text : name_of(v, n, "name");
	if (!e->name || (fields && !build(v, fields, &e->payload)))
		return false;
	if (e->payload && e->payload->kind != CTF_STRUCT)
		return v11_fail(v->m, fields->at, v->err,
				"`fields`: expected a structure, found another type") == SPUR_OK;
	if (!meta_add_event(v->m, s, e))
		return meta_full(v->m, v->err) == SPUR_OK;
	return true;
}

static bool read_trace(struct v11 *v, const struct v11_node *n)
{
	uint64_t major = 1, minor = 1;

	if (!get_number(v, n, "major", UINT32_MAX, &major) ||
	    !get_number(v, n, "minor", UINT32_MAX, &minor))
		return false;
	v->m->major = (uint32_t)major;
	v->m->minor = (uint32_t)minor;
	return true;
}

/* SPEC ctf-v11/packed: as the types uint32_t and uint64_t are declared; packed where neither is */
static bool find_alignment(struct v11 *v)
{
	struct v11_type *u32 = find_type(v, "uint32_t"), *u64 = find_type(v, "uint64_t");
	uint64_t a32 = 8, a64 = u64 ? 8 : 0;

	if (v->m->v11_u64_align)
		return true;
	if ((u32 && !get_number(v, u32->body, "align", MAX_BITS, &a32)) ||
	    (u64 && !get_number(v, u64->body, "align", MAX_BITS, &a64)))
		return false;
	v->m->v11_u64_align = a64 == 32 || a64 == 64 ? (uint32_t)a64
			      : a64 == 8 || a32 == 8 ? 8
						     : 64;
	return true;
}

/* SPEC ctf-v11/clock: one unit of time is a nanosecond, the origin is unknown */
static bool add_clock(struct v11 *v)
{
	struct ctf_meta *m = v->m;
	struct ctf_clock *c = arena_alloc(&m->arena, sizeof(*c));

	if (!c || !mem_grow((void **)&m->clocks, &m->clocks_cap, 1, sizeof(*m->clocks), 1))
		return err_nomem(v->err) == SPUR_OK;
	*c = (struct ctf_clock){
		.id = "", .hz = 1000000000, .precision = UINT64_MAX, .accuracy = UINT64_MAX
	};
	m->clocks[m->nclocks++] = c;
	return true;
}

static bool is_key(const struct v11_node *n, const char *key)
{
	return n->key && strcmp(n->key, key) == 0;
}

/*
 * SPEC ctf-v11/forward: types first, then sections, then events: names may be used before they
 * stand.
 */
static bool read_blocks(struct v11 *v, const struct v11_node *all)
{
	bool good = add_clock(v);

	for (const struct v11_node *n = all->first; good && n; n = n->next) {
		if (is_key(n, "type") || is_key(n, "abstract_type"))
			good = add_type(v, n);
		else if (is_key(n, "trace"))
			good = read_trace(v, n);
		else if (!is_key(n, "section") && !is_key(n, "stream") && !is_key(n, "event"))
			diag_add(v->diag, DIAG_WARN, "ctf/unknown-block", "metadata", n->at, 0,
				 "expected trace, section, event or type, found \"%.60s\": ignored",
				 n->key ? n->key : "");
	}
	good = good && find_alignment(v) && packet_header(v);
	for (const struct v11_node *n = all->first; good && n; n = n->next)
		if (is_key(n, "section") || is_key(n, "stream"))
			good = add_section(v, n);
	for (const struct v11_node *n = all->first; good && n; n = n->next)
		if (is_key(n, "event"))
			good = add_event(v, n);
	if (good && !v->m->nstreams)
		return v11_fail(v->m, 0, v->err, "expected at least one section, found none") ==
		       SPUR_OK;
	return good;
}

enum spur_status v11_parse(struct ctf_meta *m, struct text text, struct diag_log *diag,
			   struct spur_error *err)
{
	struct v11 v = { .m = m, .diag = diag, .err = err };
	struct v11_node *all;
	bool good;

	m->generation = CTF_V11;
	m->major = m->minor = 1;
	m->text = text;
	v.names = intern_new();
	v.sections = intern_new();
	if (!v.names || !v.sections)
		err_nomem(err);
	good = v.names && v.sections && v11_read(m, text, &all, err) == SPUR_OK &&
	       read_blocks(&v, all);
	intern_free(v.names);
	intern_free(v.sections);
	mem_free(v.types);
	return good ? SPUR_OK : SPUR_FAIL;
}
