/* Field classes of CTF 2: the 18 types, aliases, roles, locations, integer ranges. */
#include <stdlib.h>
#include <string.h>

#include "format/ctf/meta/json_parts.h"

static const char *const type_names[] = {
	[CTF_BITS] = "fixed-length-bit-array",
	[CTF_BITMAP] = "fixed-length-bit-map",
	[CTF_BOOL] = "fixed-length-boolean",
	[CTF_UINT] = "fixed-length-unsigned-integer",
	[CTF_SINT] = "fixed-length-signed-integer",
	[CTF_FLOAT] = "fixed-length-floating-point-number",
	[CTF_VAR_UINT] = "variable-length-unsigned-integer",
	[CTF_VAR_SINT] = "variable-length-signed-integer",
	[CTF_STRING] = "null-terminated-string",
	[CTF_STRING_STATIC] = "static-length-string",
	[CTF_STRING_DYNAMIC] = "dynamic-length-string",
	[CTF_BLOB_STATIC] = "static-length-blob",
	[CTF_BLOB_DYNAMIC] = "dynamic-length-blob",
	[CTF_STRUCT] = "structure",
	[CTF_ARRAY] = "static-length-array",
	[CTF_SEQUENCE] = "dynamic-length-array",
	[CTF_OPTIONAL] = "optional",
	[CTF_VARIANT] = "variant",
	[CTF_KINDS] = NULL,
};

enum { MAX_BITS = 1 << 24, MAX_ALIGN = 1 << 24 };

/* What a type has beside `type`, `attributes` and `extensions`. */
static const char *const known_bits[] = { "type",      "length",    "byte-order",
					  "bit-order", "alignment", NULL };
static const char *const known_map[] = { "type",      "length", "byte-order", "bit-order",
					 "alignment", "flags",	NULL };
static const char *const known_int[] = { "type",
					 "length",
					 "byte-order",
					 "bit-order",
					 "alignment",
					 "roles",
					 "preferred-display-base",
					 "mappings",
					 NULL };
static const char *const known_var[] = { "type", "roles", "preferred-display-base", "mappings",
					 NULL };
static const char *const known_text[] = { "type", "encoding", "length", "length-field-location",
					  NULL };
static const char *const known_blob[] = { "type",  "media-type", "length", "length-field-location",
					  "roles", NULL };
static const char *const known_struct[] = { "type", "member-classes", "minimum-alignment", NULL };
static const char *const known_array[] = { "type",   "element-field-class",   "minimum-alignment",
					   "length", "length-field-location", NULL };
static const char *const known_optional[] = { "type", "field-class", "selector-field-location",
					      "selector-field-ranges", NULL };
static const char *const known_variant[] = { "type", "options", "selector-field-location", NULL };

static const char *const *known_of(enum ctf_kind kind)
{
	switch (kind) {
	case CTF_BITMAP:
		return known_map;
	case CTF_UINT:
	case CTF_SINT:
		return known_int;
	case CTF_VAR_UINT:
	case CTF_VAR_SINT:
		return known_var;
	case CTF_STRING:
	case CTF_STRING_STATIC:
	case CTF_STRING_DYNAMIC:
		return known_text;
	case CTF_BLOB_STATIC:
	case CTF_BLOB_DYNAMIC:
		return known_blob;
	case CTF_STRUCT:
		return known_struct;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		return known_array;
	case CTF_OPTIONAL:
		return known_optional;
	case CTF_VARIANT:
		return known_variant;
	default:
		return known_bits;
	}
}

/* A power of two. */
static enum spur_status get_align(struct frag *j, const json_t *o, const char *key,
				  struct ctf_field *f)
{
	uint64_t n = 1;

	if (frag_get_u64(j, o, key, false, &n) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!n || n & (n - 1) || n > MAX_ALIGN)
		return frag_fail(j, "`%s`: expected a power of two to %d, found %llu", key,
				 MAX_ALIGN, (unsigned long long)n);
	f->align = (uint32_t)n;
	return SPUR_OK;
}

/*
 * SPEC ctf2/bits SPEC ctf2/bit-order: length, byte order, bit order, alignment of fixed-length
 * fields
 */
static enum spur_status read_bits(struct frag *j, const json_t *o, struct ctf_field *f)
{
	static const char *const orders[] = { "little-endian", "big-endian", NULL };
	static const char *const bit_orders[] = { "first-to-last", "last-to-first", NULL };
	uint64_t length = 0;
	unsigned order = 0, bits;

	if (frag_get_u64(j, o, "length", true, &length) == SPUR_FAIL ||
	    frag_get_word(j, o, "byte-order", true, orders, &order) == SPUR_FAIL)
		return SPUR_FAIL;
	bits = order;
	if (frag_get_word(j, o, "bit-order", false, bit_orders, &bits) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!length || length > MAX_BITS)
		return frag_fail(j, "`length`: expected 1 to %d bits, found %llu", MAX_BITS,
				 (unsigned long long)length);
	f->size = (uint32_t)length;
	f->big_endian = order;
	f->reversed = bits != order;
	return get_align(j, o, "alignment", f);
}

/* Whether the first of two integers is the larger one; they may have any number of digits. */
static bool is_above(const json_t *a, const json_t *b)
{
	const char *x = json_marked(a), *y = json_marked(b);
	int64_t i, k;

	if (frag_i64(a, &i) && frag_i64(b, &k))
		return i > k;
	/* One of them at least was marked. */
	if (!x || !y)
		return x ? x[0] != '-' : y[0] == '-';
	if ((x[0] == '-') != (y[0] == '-'))
		return y[0] == '-';
	if (strlen(x) != strlen(y))
		return (strlen(x) > strlen(y)) == (x[0] != '-');
	return x[0] == '-' ? strcmp(x, y) < 0 : strcmp(x, y) > 0;
}

/*
 * SPEC ctf2/range-bounds: bounds are integers of any size; what the field's class cannot hold is
 * cut off. SPUR_END: nothing is left.
 */
static enum spur_status read_range(struct frag *j, const json_t *v, bool is_signed,
				   struct ctf_range *r)
{
	const json_t *low = json_array_get(v, 0), *high = json_array_get(v, 1);
	int below, above;

	if (!json_is_array(v) || json_array_size(v) != 2)
		return frag_fail(j, "expected a range of two integers, found %s", frag_found(v));
	below = frag_clamp(low, is_signed, &r->low);
	above = frag_clamp(high, is_signed, &r->high);
	if (below == 2 || above == 2)
		return frag_fail(j, "expected two integers, found %s",
				 frag_found(below == 2 ? low : high));
	if (is_above(low, high))
		return frag_fail(
			j, "expected a range whose first bound is not above its second, found one");
	return below > 0 || above < 0 ? SPUR_END : SPUR_OK;
}

static enum spur_status read_ranges(struct frag *j, const json_t *v, bool is_signed,
				    const struct ctf_range **out, uint32_t *count)
{
	const size_t n = json_is_array(v) ? json_array_size(v) : 0;
	struct ctf_range *list;
	uint32_t kept = 0;

	if (!n || n > JSON_ITEMS)
		return frag_fail(j, "expected an array of ranges, found %s",
				 n		    ? "too many"
				 : json_is_array(v) ? "none"
						    : frag_found(v));
	list = arena_alloc(&j->m->arena, n * sizeof(*list));
	if (!list)
		return err_nomem(j->err);
	for (size_t i = 0; i < n; i++) {
		const size_t before = frag_enter_item(j, i);
		const enum spur_status st =
			read_range(j, json_array_get(v, i), is_signed, &list[kept]);

		if (st == SPUR_FAIL)
			return SPUR_FAIL;
		kept += st == SPUR_OK;
		frag_leave(j, before);
	}
	*out = list;
	*count = kept;
	return SPUR_OK;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct ctf_mapping *)a)->name, ((const struct ctf_mapping *)b)->name);
}

/* Names of values (mappings) or of bits (flags). */
static enum spur_status read_mappings(struct frag *j, const json_t *o, const char *key, bool must,
				      bool is_signed, struct ctf_field *f)
{
	const json_t *all = NULL;
	struct ctf_mapping *list;
	const char *name;
	size_t before;
	json_t *v;

	if (frag_get_object(j, o, key, must, &all) == SPUR_FAIL)
		return SPUR_FAIL;
	if (must && !json_object_size(all))
		return frag_fail(j, "`%s`: expected at least one, found none", key);
	if (!all || !json_object_size(all))
		return SPUR_OK;
	list = arena_alloc(&j->m->arena, json_object_size(all) * sizeof(*list));
	if (!list)
		return err_nomem(j->err);
	f->mappings = list;
	before = frag_enter(j, key);
	json_object_foreach((json_t *)all, name, v)
	{
		const size_t inner = frag_enter(j, name);

		list->name = frag_copy(j, name, strlen(name));
		if (!list->name)
			return err_nomem(j->err);
		if (read_ranges(j, v, is_signed, &list->ranges, &list->nranges) == SPUR_FAIL)
			return SPUR_FAIL;
		frag_leave(j, inner);
		list++;
		f->nmappings++;
	}
	frag_leave(j, before);
	/* SPEC ctf2/mapping-order: JSON objects have none: by name */
	qsort((struct ctf_mapping *)f->mappings, f->nmappings, sizeof(*f->mappings), by_name);
	return SPUR_OK;
}

/*
 * SPEC ctf2/role-class: the UUID is a blob of 16 bytes, the magic number has 32 bits, other roles
 * are of integers
 */
static bool role_fits(const struct ctf_field *f, enum ctf_role role)
{
	if (role == CTF_ROLE_UUID)
		return f->kind == CTF_BLOB_STATIC && f->length == 16;
	if (role == CTF_ROLE_MAGIC)
		return f->kind == CTF_UINT && f->size == 32;
	return f->kind == CTF_UINT || f->kind == CTF_VAR_UINT;
}

static void report_role(struct frag *j, const struct ctf_field *f, const char *role)
{
	diag_add(j->diag, DIAG_WARN, "ctf/unknown-role", "metadata", j->at, 0,
		 "fragment %zu%s%s: expected a role that %s may have, found \"%.60s\": ignored",
		 j->fragment, j->path_len ? ", " : "", j->path, meta_kind_name(f->kind), role);
}

static enum spur_status read_roles(struct frag *j, const json_t *o, struct ctf_field *f)
{
	static const struct {
		const char *name;
		enum ctf_role role;
	} roles[] = {
		{ "packet-magic-number", CTF_ROLE_MAGIC },
		{ "metadata-stream-uuid", CTF_ROLE_UUID },
		{ "data-stream-class-id", CTF_ROLE_STREAM_CLASS_ID },
		{ "data-stream-id", CTF_ROLE_STREAM_ID },
		{ "default-clock-timestamp", CTF_ROLE_TIMESTAMP },
		{ "packet-end-default-clock-timestamp", CTF_ROLE_END_TIMESTAMP },
		{ "packet-content-length", CTF_ROLE_CONTENT_SIZE },
		{ "packet-total-length", CTF_ROLE_PACKET_SIZE },
		{ "discarded-event-record-counter-snapshot", CTF_ROLE_DISCARDED },
		{ "packet-sequence-number", CTF_ROLE_SEQUENCE },
		{ "event-record-class-id", CTF_ROLE_EVENT_CLASS_ID },
	};
	enum { ROLES = sizeof(roles) / sizeof(roles[0]) };
	const json_t *list = NULL;

	if (frag_get_list(j, o, "roles", false, &list) == SPUR_FAIL)
		return SPUR_FAIL;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		size_t k = 0;

		if (!json_is_string(v))
			return frag_fail(j, "`roles`[%zu]: expected a string, found %s", i,
					 frag_found(v));
		while (k < ROLES && strcmp(json_string_value(v), roles[k].name) != 0)
			k++;
		if (k < ROLES && role_fits(f, roles[k].role))
			f->roles |= roles[k].role;
		else
			report_role(j, f, json_string_value(v));
	}
	return SPUR_OK;
}

static enum spur_status read_int(struct frag *j, const json_t *o, struct ctf_field *f)
{
	uint64_t base = 10;

	if (frag_get_u64(j, o, "preferred-display-base", false, &base) == SPUR_FAIL)
		return SPUR_FAIL;
	if (base != 2 && base != 8 && base != 10 && base != 16)
		return frag_fail(j, "`preferred-display-base`: expected 2, 8, 10 or 16, found %llu",
				 (unsigned long long)base);
	f->base = (uint8_t)base;
	f->is_signed = f->kind == CTF_SINT || f->kind == CTF_VAR_SINT;
	if (read_mappings(j, o, "mappings", false, f->is_signed, f) == SPUR_FAIL)
		return SPUR_FAIL;
	f->is_enum = f->nmappings > 0;
	return f->is_signed ? SPUR_OK : read_roles(j, o, f);
}

static enum spur_status read_ref(struct frag *j, const json_t *o, const char *key,
				 struct ctf_field *f)
{
	static const char *const origins[] = { "packet-header",
					       "packet-context",
					       "event-record-header",
					       "event-record-common-context",
					       "event-record-specific-context",
					       "event-record-payload",
					       NULL };
	static const char *const known[] = { "origin", "path", NULL };
	const json_t *ref = NULL, *path = NULL;
	size_t before, n;
	const char **names;
	unsigned origin = 0;
	enum spur_status st;

	if (frag_get_object(j, o, key, true, &ref) == SPUR_FAIL)
		return SPUR_FAIL;
	before = frag_enter(j, key);
	st = frag_get_word(j, ref, "origin", false, origins, &origin);
	if (st == SPUR_FAIL || frag_get_list(j, ref, "path", true, &path) == SPUR_FAIL ||
	    frag_common(j, ref, known, NULL) == SPUR_FAIL)
		return SPUR_FAIL;
	n = json_array_size(path);
	/* SPEC ctf2/location: a path has an element, and its last one is a name */
	if (!n || !json_is_string(json_array_get(path, n - 1)))
		return frag_fail(j, "`path`: expected names, and one at the end, found %s",
				 n ? frag_found(json_array_get(path, n - 1)) : "none");
	names = arena_alloc(&j->m->arena, n * sizeof(*names));
	if (!names)
		return err_nomem(j->err);
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(path, i);

		if (!json_is_string(v) && !json_is_null(v))
			return frag_fail(j, "`path`[%zu]: expected a name or null, found %s", i,
					 frag_found(v));
		if (json_is_string(v) &&
		    !(names[i] = frag_copy(j, json_string_value(v), json_string_length(v))))
			return err_nomem(j->err);
	}
	f->ref = (struct ctf_ref){ .absolute = st == SPUR_OK,
				   .scope = (enum ctf_scope)origin,
				   .names = names,
				   .nnames = (uint32_t)n,
				   .slot = CTF_NO_SLOT,
				   .at = j->at };
	frag_leave(j, before);
	return SPUR_OK;
}

static enum spur_status parse_text(struct frag *j, const json_t *o, struct ctf_field *f)
{
	/* In the order of enum ctf_encoding. */
	static const char *const encodings[] = { "utf-8",    "utf-16be", "utf-16le",
						 "utf-32be", "utf-32le", NULL };
	unsigned encoding = CTF_UTF8;

	if (frag_get_word(j, o, "encoding", false, encodings, &encoding) == SPUR_FAIL)
		return SPUR_FAIL;
	f->encoding = (uint8_t)encoding;
	f->align = 8;
	if (f->kind == CTF_STRING_STATIC)
		return frag_get_u64(j, o, "length", true, &f->length);
	return f->kind == CTF_STRING_DYNAMIC ? read_ref(j, o, "length-field-location", f) : SPUR_OK;
}

static enum spur_status read_blob(struct frag *j, const json_t *o, struct ctf_field *f)
{
	f->align = 8;
	f->media_type = "application/octet-stream";
	if (frag_get_text(j, o, "media-type", false, &f->media_type) == SPUR_FAIL)
		return SPUR_FAIL;
	if (f->kind == CTF_BLOB_DYNAMIC)
		return read_ref(j, o, "length-field-location", f);
	return frag_get_u64(j, o, "length", true, &f->length) == SPUR_FAIL ? SPUR_FAIL
									   : read_roles(j, o, f);
}

/*
 * SPEC ctf2/repeated-name: names of members and options should be unique in their structure or
 * variant; where not, references mean the first
 */
static enum spur_status check_unique(struct frag *j, const struct ctf_field *f)
{
	struct intern *seen = intern_new();

	if (!seen)
		return err_nomem(j->err);
	for (uint32_t i = 0; i < f->nmembers; i++) {
		const char *name = f->members[i].name;
		const uint32_t before = intern_count(seen);

		if (name && name[0] && intern_put(seen, name, strlen(name)) < before)
			diag_add(j->diag, DIAG_WARN, "ctf/repeated-name", "metadata", j->at, 0,
				 "fragment %zu%s%s: expected names that differ, found \"%.60s\" "
				 "again",
				 j->fragment, j->path_len ? ", " : "", j->path, name);
	}
	intern_free(seen);
	return SPUR_OK;
}

static enum spur_status read_members(struct frag *j, const json_t *o, struct ctf_field *f)
{
	static const char *const known[] = { "name", "field-class", NULL };
	const json_t *list = NULL;

	if (get_align(j, o, "minimum-alignment", f) == SPUR_FAIL ||
	    frag_get_list(j, o, "member-classes", false, &list) == SPUR_FAIL)
		return SPUR_FAIL;
	f->members = arena_alloc(&j->m->arena, (json_array_size(list) + 1) * sizeof(*f->members));
	if (!f->members)
		return err_nomem(j->err);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const size_t outer = frag_enter(j, "member-classes"),
			     before = frag_enter_item(j, i);
		const json_t *v = json_array_get(list, i);
		struct ctf_member *m = &f->members[f->nmembers];

		if (!json_is_object(v))
			return frag_fail(j, "expected an object, found %s", frag_found(v));
		if (frag_common(j, v, known, NULL) == SPUR_FAIL ||
		    frag_get_text(j, v, "name", true, &m->name) == SPUR_FAIL ||
		    frag_get_field(j, v, "field-class", true, false, &m->field) == SPUR_FAIL)
			return SPUR_FAIL;
		m->shown = m->name;
		f->nmembers++;
		frag_leave(j, before);
		frag_leave(j, outer);
	}
	return check_unique(j, f);
}

static enum spur_status read_array(struct frag *j, const json_t *o, struct ctf_field *f)
{
	if (get_align(j, o, "minimum-alignment", f) == SPUR_FAIL ||
	    frag_get_field(j, o, "element-field-class", true, false, &f->element) == SPUR_FAIL)
		return SPUR_FAIL;
	return f->kind == CTF_ARRAY ? frag_get_u64(j, o, "length", true, &f->length)
				    : read_ref(j, o, "length-field-location", f);
}

/*
 * Bounds of selectors are signed where one of them is negative; what the selector is shows when it
 * is found.
 */
static bool is_negative(const json_t *ranges)
{
	int64_t low;

	for (size_t i = 0; i < json_array_size(ranges); i++)
		if (frag_i64(json_array_get(json_array_get(ranges, i), 0), &low) && low < 0)
			return true;
	return false;
}

static enum spur_status read_optional(struct frag *j, const json_t *o, struct ctf_field *f)
{
	const json_t *ranges = json_object_get(o, "selector-field-ranges");
	size_t before;

	if (frag_get_field(j, o, "field-class", true, false, &f->element) == SPUR_FAIL ||
	    read_ref(j, o, "selector-field-location", f) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!ranges)
		return SPUR_OK;
	before = frag_enter(j, "selector-field-ranges");
	f->is_signed = is_negative(ranges);
	if (read_ranges(j, ranges, f->is_signed, &f->ranges, &f->nranges) == SPUR_FAIL)
		return SPUR_FAIL;
	frag_leave(j, before);
	return SPUR_OK;
}

static enum spur_status read_option(struct frag *j, const json_t *v, bool is_signed,
				    struct ctf_member *m)
{
	static const char *const known[] = { "name", "field-class", "selector-field-ranges", NULL };
	const json_t *ranges = NULL;
	size_t before;

	if (!json_is_object(v))
		return frag_fail(j, "expected an object, found %s", frag_found(v));
	if (frag_common(j, v, known, NULL) == SPUR_FAIL ||
	    frag_get_text(j, v, "name", false, &m->name) == SPUR_FAIL ||
	    frag_get_field(j, v, "field-class", true, false, &m->field) == SPUR_FAIL ||
	    frag_get_list(j, v, "selector-field-ranges", true, &ranges) == SPUR_FAIL)
		return SPUR_FAIL;
	m->shown = m->name;
	before = frag_enter(j, "selector-field-ranges");
	if (read_ranges(j, ranges, is_signed, &m->ranges, &m->nranges) == SPUR_FAIL)
		return SPUR_FAIL;
	frag_leave(j, before);
	return SPUR_OK;
}

static enum spur_status read_variant(struct frag *j, const json_t *o, struct ctf_field *f)
{
	const json_t *list = NULL;
	size_t n;

	if (read_ref(j, o, "selector-field-location", f) == SPUR_FAIL ||
	    frag_get_list(j, o, "options", true, &list) == SPUR_FAIL)
		return SPUR_FAIL;
	n = json_array_size(list);
	if (!n)
		return frag_fail(j, "`options`: expected at least one, found none");
	f->members = arena_alloc(&j->m->arena, n * sizeof(*f->members));
	if (!f->members)
		return err_nomem(j->err);
	for (size_t i = 0; i < n; i++)
		f->is_signed |= is_negative(
			json_object_get(json_array_get(list, i), "selector-field-ranges"));
	for (size_t i = 0; i < n; i++) {
		const size_t outer = frag_enter(j, "options"), before = frag_enter_item(j, i);

		if (read_option(j, json_array_get(list, i), f->is_signed, &f->members[i]) ==
		    SPUR_FAIL)
			return SPUR_FAIL;
		f->nmembers++;
		frag_leave(j, before);
		frag_leave(j, outer);
	}
	return check_unique(j, f);
}

static enum spur_status read_float(struct frag *j, struct ctf_field *f)
{
	if (f->size == 16 || f->size == 32 || f->size == 64 ||
	    (f->size >= 128 && f->size % 32 == 0))
		return SPUR_OK;
	return frag_fail(j,
			 "`length`: expected 16, 32, 64, 128 or a larger multiple of 32, found %u",
			 f->size);
}

static enum spur_status read_fixed(struct frag *j, const json_t *o, struct ctf_field *f)
{
	if (read_bits(j, o, f) == SPUR_FAIL)
		return SPUR_FAIL;
	switch (f->kind) {
	case CTF_BITMAP:
		return read_mappings(j, o, "flags", true, false, f);
	case CTF_UINT:
	case CTF_SINT:
		return read_int(j, o, f);
	case CTF_FLOAT:
		return read_float(j, f);
	default:
		return SPUR_OK;
	}
}

static enum spur_status read_class(struct frag *j, const json_t *o, struct ctf_field *f)
{
	switch (f->kind) {
	case CTF_VAR_UINT:
	case CTF_VAR_SINT:
		f->align = 8;
		return read_int(j, o, f);
	case CTF_STRING:
	case CTF_STRING_STATIC:
	case CTF_STRING_DYNAMIC:
		return parse_text(j, o, f);
	case CTF_BLOB_STATIC:
	case CTF_BLOB_DYNAMIC:
		return read_blob(j, o, f);
	case CTF_STRUCT:
		return read_members(j, o, f);
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		return read_array(j, o, f);
	case CTF_OPTIONAL:
		return read_optional(j, o, f);
	case CTF_VARIANT:
		return read_variant(j, o, f);
	default:
		return read_fixed(j, o, f);
	}
}

static enum spur_status find_alias(struct frag *j, const json_t *v, struct ctf_field **out)
{
	const char *name = json_string_value(v);
	const uint32_t id = intern_find(j->alias_names, name, strlen(name));

	/* SPEC ctf2/alias: only those that stand before */
	if (id == INTERN_NONE || id >= j->naliases || !j->aliases[id].field)
		return frag_fail(
			j, "expected a field class or the name of an alias before, found \"%.60s\"",
			name);
	*out = j->aliases[id].field;
	return SPUR_OK;
}

/* A field class, or the name of an alias. */
static enum spur_status frag_field(struct frag *j, const json_t *v, struct ctf_field **out)
{
	struct ctf_field *f;
	unsigned kind = 0;

	if (json_is_string(v))
		return find_alias(j, v, out);
	if (!json_is_object(v))
		return frag_fail(j, "expected a field class or the name of an alias, found %s",
				 frag_found(v));
	if (j->depth == META_DEPTH)
		return frag_fail(j, "expected field classes at most %d deep, found more",
				 META_DEPTH);
	if (frag_get_word(j, v, "type", true, type_names, &kind) == SPUR_FAIL)
		return SPUR_FAIL;
	f = meta_field(j->m, (enum ctf_kind)kind, j->at);
	if (!f)
		return meta_full(j->m, j->err);
	if (frag_common(j, v, known_of(f->kind), &f->attributes) == SPUR_FAIL)
		return SPUR_FAIL;
	j->depth++;
	if (read_class(j, v, f) == SPUR_FAIL)
		return SPUR_FAIL;
	j->depth--;
	*out = f;
	return SPUR_OK;
}

enum spur_status frag_get_field(struct frag *j, const json_t *o, const char *key, bool must,
				bool structure, struct ctf_field **out)
{
	const json_t *v = json_object_get(o, key);
	size_t before;

	*out = NULL;
	if (!v)
		return must ? frag_fail(j, "`%s`: expected a field class, found no such property",
					key)
			    : SPUR_OK;
	before = frag_enter(j, key);
	if (frag_field(j, v, out) == SPUR_FAIL)
		return SPUR_FAIL;
	if (structure && (*out)->kind != CTF_STRUCT)
		return frag_fail(j, "expected a structure, found a %s", type_names[(*out)->kind]);
	frag_leave(j, before);
	return SPUR_OK;
}
