/*
 * Event classes of the writer: the types of an event's arguments as a signature, the values as
 * bytes, and field classes made of signatures.
 *
 * A signature is a list of words. The first word of a field is
 *
 *	bits 0-7 type, 8-15 bytes of a number, 16-23 show, 24 signed, 25 sequence, 32-63 name
 *
 * A structure is followed by the number of its fields and these; an array by its length (a
 * sequence: by 0) and the signature of its elements; other fields by nothing.
 */
#include <math.h>
#include <stdio.h>

#include "base/bits.h"
#include "base/hash.h"
#include "base/text.h"
#include "format/ctf/write.h"
#include "format/format.h"

enum { SIG_LIMIT = 1 << 22, LENGTH_BYTES = 4 };

static const uint64_t SIG_SIGNED = 1 << 24, SIG_SEQUENCE = 1 << 25;

static bool value_put(struct cw *w, const struct spur_value *v, const struct spur_field *f,
		      unsigned depth);

uint8_t *cw_put(const struct cw *w, uint8_t *p, uint64_t v, unsigned bytes)
{
	const uint16_t v16 = w->swap ? __builtin_bswap16((uint16_t)v) : (uint16_t)v;
	const uint32_t v32 = w->swap ? __builtin_bswap32((uint32_t)v) : (uint32_t)v;
	const uint64_t v64 = w->swap ? __builtin_bswap64(v) : v;

	switch (bytes) {
	case 1:
		*p = (uint8_t)v;
		break;
	case 2:
		memcpy(p, &v16, sizeof(v16));
		break;
	case 4:
		memcpy(p, &v32, sizeof(v32));
		break;
	default:
		memcpy(p, &v64, sizeof(v64));
		break;
	}
	return p + bytes;
}

/* --- signatures and values --- */

static bool sig_add(struct cw *w, uint64_t word)
{
	if (!mem_grow((void **)&w->sig, &w->sig_cap, w->nsig + 1, sizeof(*w->sig), SIG_LIMIT))
		return false;
	w->sig[w->nsig++] = word;
	return true;
}

static uint64_t sig_word(const struct spur_value *v, enum spur_type type, unsigned bytes)
{
	return (uint64_t)type | bytes << 8 | (uint64_t)v->show << 16 | (uint64_t)v->name << 32;
}

static void payload_put(struct cw *w, uint64_t v, unsigned bytes)
{
	uint8_t *p = (uint8_t *)out_room(&w->payload, sizeof(v));

	if (p)
		out_to(&w->payload, (char *)cw_put(w, p, v, bytes));
}

static void loss(struct cw *w, enum write_ctf_reason reason)
{
	loss_add(&w->write->loss, reason, w->kind);
}

/* Bytes that an integer takes: as in the record, unless the value needs more. */
static unsigned int_bytes(const struct spur_value *v, bool is_signed)
{
	/* Arrays of hexadecimal bytes are what BYTES are written as. */
	const unsigned n = v->size == 1 && v->show == SPUR_SHOW_HEX ? 2 : v->size;
	const unsigned bits = 8 * n;

	if (n != 1 && n != 2 && n != 4)
		return 8;
	if (is_signed)
		return v->i >> (bits - 1) == 0 || v->i >> (bits - 1) == -1 ? n : 8;
	return v->u >> bits ? 8 : n;
}

static bool int_put(struct cw *w, const struct spur_value *v, enum spur_type type, bool is_signed)
{
	const unsigned bytes = int_bytes(v, is_signed);

	payload_put(w, v->u, bytes);
	return sig_add(w, sig_word(v, type, bytes) | (is_signed ? SIG_SIGNED : 0));
}

static bool enum_put(struct cw *w, const struct spur_value *v, const struct spur_field *f)
{
	const bool is_signed = f && f->type == SPUR_ENUM ? f->is_signed : v->type != SPUR_U64;

	if (!mem_grow((void **)&w->seen, &w->seen_cap, w->nseen + 1, sizeof(*w->seen), SIG_LIMIT))
		return false;
	if (v->type == SPUR_ENUM && v->label)
		w->seen[w->nseen++] =
			(struct cw_seen){ .leaf = w->leaves, .value = v->i, .label = v->label };
	w->leaves++;
	return int_put(w, v, SPUR_ENUM, is_signed);
}

static bool float_put(struct cw *w, const struct spur_value *v)
{
	const bool single = v->size == 4 && ((double)(float)v->f == v->f || isnan(v->f));
	const float f32 = single ? (float)v->f : 0;
	uint32_t word;
	uint64_t bits;

	if (v->label)
		loss(w, CTF_LOST_DIGITS);
	memcpy(&word, &f32, sizeof(word));
	memcpy(&bits, &v->f, sizeof(bits));
	payload_put(w, single ? word : bits, single ? 4 : 8);
	return sig_add(w, sig_word(v, SPUR_F64, single ? 4 : 8));
}

/* A string ends with its first NUL. */
static bool string_put(struct cw *w, const struct spur_value *v)
{
	const char *nul = v->count ? memchr(v->text, 0, v->count) : NULL;

	if (nul)
		loss(w, CTF_LOST_TEXT);
	out_bytes(&w->payload, v->text, nul ? (size_t)(nul - v->text) : v->count);
	out_char(&w->payload, '\0');
	return sig_add(w, sig_word(v, SPUR_STRING, 0));
}

/* The length is a field of its own only at the top, where the reader knows that it is one. */
static bool bytes_put(struct cw *w, const struct spur_value *v, unsigned depth)
{
	if (!depth)
		payload_put(w, v->count, LENGTH_BYTES);
	out_bytes(&w->payload, v->text, v->count);
	return sig_add(w, sig_word(v, SPUR_BYTES, 0) | (depth ? 0 : SIG_SEQUENCE)) &&
	       sig_add(w, depth ? v->count : 0);
}

static bool struct_put(struct cw *w, const struct spur_value *v, const struct spur_field *f,
		       unsigned depth)
{
	const bool known = f && f->type == SPUR_STRUCT;

	if (!sig_add(w, sig_word(v, SPUR_STRUCT, 0)) || !sig_add(w, v->count))
		return false;
	for (uint32_t i = 0; i < v->count; i++)
		if (!value_put(w, &v->items[i], known && i < f->nitems ? &f->items[i] : NULL,
			       depth + 1))
			return false;
	return true;
}

/* What was written of an event up to a value, to go back there. */
struct mark {
	size_t payload, nsig, nseen;
	uint32_t leaves;
};

static struct mark mark_here(const struct cw *w)
{
	return (struct mark){ w->payload.len, w->nsig, w->nseen, w->leaves };
}

static void mark_return(struct cw *w, const struct mark *m)
{
	w->payload.len = m->payload;
	w->nsig = m->nsig;
	w->nseen = m->nseen;
	w->leaves = m->leaves;
}

/* Elements of different types: a structure of fields named by their number. */
static bool array_as_struct(struct cw *w, const struct spur_value *v, unsigned depth)
{
	if (!sig_add(w, sig_word(v, SPUR_STRUCT, 0)) || !sig_add(w, v->count))
		return false;
	for (uint32_t i = 0; i < v->count; i++) {
		struct spur_value item = v->items[i];
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		item.name = trace_intern(w->trace, name);
		if (!item.name || !value_put(w, &item, NULL, depth + 1))
			return false;
	}
	return true;
}

/*
 * Elements of one type. *same gets whether they are. Their signature is that of the first; an empty
 * array has one of bytes.
 */
static bool elements_put(struct cw *w, const struct spur_value *v, const struct spur_field *f,
			 unsigned depth, bool *same)
{
	const struct spur_field *item = f && f->type == SPUR_ARRAY && f->nitems ? f->items : NULL;
	const size_t first = w->nsig;
	const uint32_t leaves = w->leaves;
	size_t n = 0;

	*same = true;
	if (!v->count)
		return sig_add(w, (uint64_t)SPUR_U64 | 1 << 8);
	for (uint32_t i = 0; *same && i < v->count; i++) {
		const size_t at = w->nsig;

		w->leaves = leaves;
		if (!value_put(w, &v->items[i], item, depth + 1))
			return false;
		if (!i) {
			n = w->nsig - first;
			continue;
		}
		*same = w->nsig - at == n &&
			memcmp(w->sig + first, w->sig + at, n * sizeof(*w->sig)) == 0;
		w->nsig = at;
	}
	return true;
}

static bool array_put(struct cw *w, const struct spur_value *v, const struct spur_field *f,
		      unsigned depth)
{
	const struct mark m = mark_here(w);
	bool same;

	if (!depth)
		payload_put(w, v->count, LENGTH_BYTES);
	if (!sig_add(w, sig_word(v, SPUR_ARRAY, 0) | (depth ? 0 : SIG_SEQUENCE)) ||
	    !sig_add(w, depth ? v->count : 0) || !elements_put(w, v, f, depth, &same))
		return false;
	if (same)
		return true;
	mark_return(w, &m);
	return array_as_struct(w, v, depth);
}

/* One argument, or a part of one. `f`: what its class says of it; NULL: nothing. */
static bool value_put(struct cw *w, const struct spur_value *v, const struct spur_field *f,
		      unsigned depth)
{
	if (f && f->name != v->name)
		f = NULL;
	if (depth > CTF_WRITE_DEPTH) {
		loss(w, CTF_LOST_DEPTH);
		return sig_add(w, sig_word(v, SPUR_STRUCT, 0)) && sig_add(w, 0);
	}
	switch ((enum spur_type)v->type) {
	case SPUR_I64:
	case SPUR_U64:
		if (f && f->type == SPUR_ENUM)
			return enum_put(w, v, f);
		return int_put(w, v, (enum spur_type)v->type, v->type == SPUR_I64);
	case SPUR_ENUM:
		return enum_put(w, v, f);
	case SPUR_POINTER:
	case SPUR_KOID:
		payload_put(w, v->u, 8);
		return sig_add(w, sig_word(v, (enum spur_type)v->type, 8));
	case SPUR_BOOL:
		payload_put(w, v->u != 0, 1);
		return sig_add(w, sig_word(v, SPUR_BOOL, 1));
	case SPUR_F64:
		return float_put(w, v);
	case SPUR_STRING:
		return string_put(w, v);
	case SPUR_BYTES:
		return bytes_put(w, v, depth);
	case SPUR_STRUCT:
		return struct_put(w, v, f, depth);
	case SPUR_ARRAY:
		return array_put(w, v, f, depth);
	case SPUR_NULL:
		break;
	}
	loss(w, CTF_LOST_NULL);
	return sig_add(w, sig_word(v, SPUR_STRUCT, 0)) && sig_add(w, 0);
}

bool cw_encode(struct cw *w, const struct spur_event *row)
{
	const struct spur_schema *s = w->args.count ? format_schema(w->trace, row->cls) : NULL;
	const bool end = row->kind == SPUR_END_SPAN;
	const struct spur_field *fields = !s ? NULL : end ? s->end : s->begin;
	const uint32_t n = !s ? 0 : end ? s->nend : s->nbegin;

	for (size_t i = 0; i < w->args.count; i++)
		if (!value_put(w, &w->args.items[i], i < n ? &fields[i] : NULL, 0))
			return false;
	return !w->payload.error;
}

/* --- event classes --- */

static bool leaf_note(struct cw *w, struct cw_leaf *l, const struct cw_seen *s)
{
	struct map64_slot *slot = map64_find(&l->seen, (uint64_t)s->value);
	char *text;

	if (slot)
		return true;
	if (l->count == CTF_WRITE_LABELS) {
		loss(w, CTF_LOST_LABEL);
		return true;
	}
	slot = map64_put(&l->seen, (uint64_t)s->value);
	text = arena_strdup(&w->arena, s->label, strlen(s->label));
	if (!slot || !text ||
	    !mem_grow((void **)&l->labels, &l->cap, l->count + 1, sizeof(*l->labels),
		      CTF_WRITE_LABELS))
		return false;
	l->labels[l->count++] = (struct cw_label){ s->value, text };
	slot->value = l->count;
	return true;
}

static bool is_same(const struct cw *w, const struct cw_event *e, const struct cw_key *key)
{
	return e && !e->native && e->key.of == key->of && e->key.name == key->name &&
	       e->key.cat == key->cat && e->key.flags == key->flags && e->key.kind == key->kind &&
	       e->key.has_id == key->has_id && e->nsig == w->nsig &&
	       (!w->nsig || memcmp(e->sig, w->sig, w->nsig * sizeof(*w->sig)) == 0);
}

static struct cw_event *event_make(struct cw *w, const struct cw_key *key)
{
	struct cw_event *e = arena_alloc(&w->arena, sizeof(*e));

	if (!e)
		return NULL;
	e->key = *key;
	e->sig = arena_alloc(&w->arena, (w->nsig + 1) * sizeof(*e->sig));
	e->leaves = arena_alloc(&w->arena, (w->leaves + 1) * sizeof(*e->leaves));
	if (!e->sig || !e->leaves)
		return NULL;
	if (w->nsig)
		memcpy(e->sig, w->sig, w->nsig * sizeof(*e->sig));
	e->nsig = w->nsig;
	e->nleaves = w->leaves;
	return e;
}

/* The place of an event class without arguments in the cache. */
static struct cw_event **bare_place(struct cw *w, const struct cw_key *key)
{
	return &w->bare[(key->name * 4 + key->kind + key->of->id * 0x9E3779B1u) % CTF_WRITE_FEW];
}

/* The event class of the key and w->sig, made if it is new. NULL: out of memory. */
static struct cw_event *event_find(struct cw *w, const struct cw_key *key)
{
	const uint64_t words[] = { key->of->id, (uint64_t)key->cat << 32 | key->name,
				   (uint64_t)key->flags << 16 | (uint64_t)key->has_id << 8 |
					   key->kind };
	const uint64_t hash =
		hash_bytes(w->sig, w->nsig * sizeof(*w->sig), hash_bytes(words, sizeof(words), 0));
	struct cw_event **few = &w->few[hash % CTF_WRITE_FEW], *e = *few;
	struct map64_slot *slot;

	if (is_same(w, e, key))
		return e;
	slot = map64_put(&w->events, hash);
	if (!slot)
		return NULL;
	for (e = (void *)(uintptr_t)slot->value; e && !is_same(w, e, key); e = e->same)
		;
	if (!e) {
		e = event_make(w, key);
		if (!e)
			return NULL;
		e->id = w->classes ? ((struct cw_stream_class *)key->of)->nevents++ : 0;
		e->same = (void *)(uintptr_t)slot->value;
		slot->value = (uintptr_t)e;
		*w->end = e;
		w->end = &e->next;
	}
	*few = e;
	return e;
}

struct cw_event *cw_event_of(struct cw *w, const struct cw_key *key)
{
	struct cw_event **bare = bare_place(w, key), *e;

	if (!w->nsig && is_same(w, *bare, key))
		return *bare;
	e = event_find(w, key);
	if (e && !w->nsig)
		*bare = e;
	for (size_t i = 0; e && i < w->nseen; i++)
		if (!leaf_note(w, &e->leaves[w->seen[i].leaf], &w->seen[i]))
			return NULL;
	return e;
}

/* --- field classes --- */

struct ctf_field *cw_struct(struct cw *w, uint32_t n)
{
	struct ctf_field *f = arena_alloc(&w->arena, sizeof(*f));

	if (!f)
		return NULL;
	f->kind = CTF_STRUCT;
	f->members = arena_alloc(&w->arena, (n + 1) * sizeof(*f->members));
	return f->members ? f : NULL;
}

void cw_member(struct cw *w, struct ctf_field *s, const char *name, struct ctf_field *f)
{
	w->no_memory |= !f || !name;
	if (f && name)
		s->members[s->nmembers++] =
			(struct ctf_member){ .name = name, .shown = name, .field = f };
}

static struct ctf_field *field_new(struct cw *w, enum ctf_kind kind)
{
	struct ctf_field *f = arena_alloc(&w->arena, sizeof(*f));

	if (!f)
		return NULL;
	f->kind = (uint8_t)kind;
	f->align = 8;
	f->big_endian = w->big;
	return f;
}

struct ctf_field *cw_int(struct cw *w, unsigned bits, bool is_signed, unsigned base)
{
	struct ctf_field *f = field_new(w, is_signed ? CTF_SINT : CTF_UINT);

	if (!f)
		return NULL;
	f->size = bits;
	f->is_signed = is_signed;
	f->base = (uint8_t)base;
	return f;
}

static unsigned base_of(uint64_t word)
{
	switch ((enum spur_show)(word >> 16 & 0xFF)) {
	case SPUR_SHOW_HEX:
		return 16;
	case SPUR_SHOW_OCTAL:
		return 8;
	case SPUR_SHOW_BINARY:
		return 2;
	default:
		return 10;
	}
}

/* The labels of an enumeration, a value each. */
static bool labels_make(struct cw *w, const struct cw_leaf *l, struct ctf_field *f)
{
	struct ctf_mapping *maps = arena_alloc(&w->arena, (l->count + 1) * sizeof(*maps));
	struct ctf_range *ranges = arena_alloc(&w->arena, (l->count + 1) * sizeof(*ranges));

	if (!maps || !ranges)
		return false;
	for (size_t i = 0; i < l->count; i++) {
		ranges[i].low = ranges[i].high = (uint64_t)l->labels[i].value;
		maps[i] = (struct ctf_mapping){ l->labels[i].text, &ranges[i], 1 };
	}
	f->mappings = maps;
	f->nmappings = (uint32_t)l->count;
	f->is_enum = true;
	return true;
}

/* A signature being read. */
struct sig {
	struct cw *w;
	const struct cw_event *e;
	size_t at;
	uint32_t leaf;
	bool renamed; /* a field of a structure has another name */
	bool silent; /* that was counted before */
};

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* TSDL has identifiers, in which other bytes become underscores. */
static const char *field_name(struct sig *s, const char *name, bool inside)
{
	struct cw *w = s->w;
	char *p = arena_strdup(&w->arena, name, strlen(name));
	bool changed = false;

	for (char *q = p; !w->json && q && *q; q++)
		if (!is_word_char(*q)) {
			*q = '_';
			changed = true;
		}
	/* At the top, the class's URI has the name. */
	if (changed && inside && !s->renamed && !s->silent)
		w->write->loss.events[CTF_LOST_NAME][s->e->key.kind] += s->e->count;
	s->renamed |= changed && inside;
	return p;
}

/* babeltrace2 takes names for equal that differ in underscores in front. */
static const char *compared(const struct cw *w, const char *name)
{
	return w->json || w->v11 ? name : name + strspn(name, "_");
}

/* Names that the structure has already, with a number behind them. */
static const char *unique_name(struct cw *w, const struct ctf_field *s, const char *name)
{
	const char *tried = name;

	for (unsigned n = 2; name; n++) {
		bool found = false;

		for (uint32_t i = 0; tried && !found && i < s->nmembers; i++)
			found = strcmp(compared(w, s->members[i].name), compared(w, tried)) == 0;
		if (!found)
			return tried;
		tried = arena_printf(&w->arena, "%s_%u", name, n);
	}
	return NULL;
}

static struct ctf_field *sig_field(struct sig *s, const char **name);

static struct ctf_field *sig_struct(struct sig *s)
{
	const uint32_t n = (uint32_t)s->e->sig[s->at++];
	struct ctf_field *f = cw_struct(s->w, n);

	for (uint32_t i = 0; f && i < n; i++) {
		const char *name;
		struct ctf_field *member = sig_field(s, &name);

		cw_member(s->w, f, unique_name(s->w, f, field_name(s, name, true)), member);
	}
	return f;
}

static struct ctf_field *sig_array(struct sig *s, uint64_t word, enum spur_type type)
{
	const bool bytes = type == SPUR_BYTES, sequence = word & SIG_SEQUENCE;
	struct ctf_field *f = field_new(s->w, bytes ? sequence ? CTF_BLOB_DYNAMIC : CTF_BLOB_STATIC
					      : sequence ? CTF_SEQUENCE
							 : CTF_ARRAY);
	const char *name;

	if (!f)
		return NULL;
	f->length = s->e->sig[s->at++];
	if (!bytes)
		f->element = sig_field(s, &name);
	return bytes || f->element ? f : NULL;
}

static struct ctf_field *sig_enum(struct sig *s, uint64_t word)
{
	struct ctf_field *f =
		cw_int(s->w, 8 * (word >> 8 & 0xFF), word & SIG_SIGNED, base_of(word));

	return f && labels_make(s->w, &s->e->leaves[s->leaf++], f) ? f : NULL;
}

/* The field that begins at the current word, and its name. NULL: out of memory. */
static struct ctf_field *sig_field(struct sig *s, const char **name)
{
	const uint64_t word = s->e->sig[s->at++];
	const enum spur_type type = (enum spur_type)(word & 0xFF);
	const unsigned bits = 8 * (word >> 8 & 0xFF);
	struct ctf_field *f;

	*name = trace_string(s->w->trace, (uint32_t)(word >> 32), NULL);
	switch (type) {
	case SPUR_STRUCT:
		return sig_struct(s);
	case SPUR_ARRAY:
	case SPUR_BYTES:
		return sig_array(s, word, type);
	case SPUR_ENUM:
		return sig_enum(s, word);
	case SPUR_STRING:
		return field_new(s->w, CTF_STRING);
	case SPUR_F64:
		f = field_new(s->w, CTF_FLOAT);
		break;
	case SPUR_BOOL:
		f = field_new(s->w, CTF_BOOL);
		break;
	case SPUR_POINTER:
	case SPUR_KOID:
		return cw_int(s->w, bits, false, 16);
	default:
		return cw_int(s->w, bits, word & SIG_SIGNED, base_of(word));
	}
	if (f)
		f->size = bits;
	return f;
}

struct ctf_field *cw_fields(struct cw *w, const struct cw_event *e)
{
	struct sig s = { .w = w, .e = e };
	uint32_t n = 0;
	struct ctf_field *root = cw_struct(w, (uint32_t)(2 * e->nsig));

	while (root && s.at < e->nsig) {
		const bool sequence = e->sig[s.at] & SIG_SEQUENCE;
		const char *name, **path;
		struct ctf_field *f = sig_field(&s, &name);

		if (!f)
			return NULL;
		n++;
		name = name[0] ? field_name(&s, name, false) : arena_printf(&w->arena, "arg%u", n);
		name = unique_name(w, root, name);
		/* In version 1.1, the length is part of the sequence. */
		if (sequence && name && !w->v11) {
			path = arena_alloc(&w->arena, sizeof(*path));
			if (!path)
				return NULL;
			*path = unique_name(w, root, arena_printf(&w->arena, "_%s_length", name));
			cw_member(w, root, *path, cw_int(w, 8 * LENGTH_BYTES, false, 10));
			f->ref.names = path;
			f->ref.nnames = 1;
		}
		cw_member(w, root, name, f);
	}
	return w->no_memory ? NULL : root;
}

struct ctf_field *cw_context(struct cw *w, uint32_t layout)
{
	const unsigned bits = layout & CW_WIDE ? 64 : 32;
	struct ctf_field *s = cw_struct(w, 3), *name;

	if (!s || !(layout & CW_THREAD))
		return s;
	/* The RFC v1.1 has no texts of fixed length. */
	name = field_new(w, w->v11 ? CTF_STRING : CTF_STRING_STATIC);
	if (name)
		name->length = CTF_WRITE_COMM + 1;
	cw_member(w, s, "vpid", cw_int(w, bits, true, 10));
	cw_member(w, s, "vtid", cw_int(w, bits, true, 10));
	cw_member(w, s, "procname", name);
	return w->no_memory ? NULL : s;
}

/* SPEC ctf/own-names: category, colon, name, and what the event does to a span */
const char *cw_event_name(struct cw *w, const struct cw_event *e)
{
	size_t len, cat_len;
	const char *name = trace_string(w->trace, e->key.name, &len),
		   *cat = trace_string(w->trace, e->key.cat, &cat_len);
	const char *end = e->key.kind == SPUR_BEGIN	 ? "_entry"
			  : e->key.kind == SPUR_END_SPAN ? "_exit"
							 : "";

	if (strlen(name) != len || strlen(cat) != cat_len)
		w->write->loss.events[CTF_LOST_TEXT][e->key.kind] += e->count;
	if (w->json && !(utf8_all_valid(name, len) && utf8_all_valid(cat, cat_len)))
		w->write->loss.events[CTF_LOST_UTF8][e->key.kind] += e->count;
	return arena_printf(&w->arena, "%s%s%s%s", cat, cat[0] ? ":" : "", name, end);
}

/* A name in a URI: what is neither a letter nor a digit is %XX. */
static void uri_name(struct out *o, const char *name)
{
	for (; *name; name++)
		if (is_word_char(*name))
			out_char(o, *name);
		else
			out_printf(o, "%%%02X", (unsigned char)*name);
}

/* Bytes that a text has in the metadata: JSON has U+FFFD for bytes that are not UTF-8. */
static size_t written_bytes(const struct cw *w, const char *s)
{
	size_t left = strlen(s), bytes = 0;

	while (w->json && left) {
		const size_t n = utf8_valid(s, left);

		bytes += n ? n : 3;
		s += n ? n : 1;
		left -= n ? n : 1;
	}
	return bytes + left;
}

/*
 * SPEC ctf/own-uri: spur:KIND+FLAGS/BYTES, then ?NUMBER=NAME of each argument that has another name
 * than its field. SPEC ctf/write-v11-events: `#` behind BYTES says that the first field is the id
 */
const char *cw_event_uri(struct cw *w, const struct cw_event *e, const struct ctf_field *fields)
{
	struct sig s = { .w = w, .e = e, .silent = true };
	const char *uri;
	uint32_t at = 0;
	struct out o;
	const size_t len = written_bytes(w, trace_string(w->trace, e->key.cat, NULL));

	out_to_memory(&o);
	out_printf(&o, "spur:%s+%x/%zu%s", spur_kind_name(e->key.kind), e->key.flags, len,
		   w->v11 && e->key.has_id ? "#" : "");
	for (uint32_t n = 0; s.at < e->nsig; n++) {
		const char *name;

		at += !w->v11 && (e->sig[s.at] & SIG_SEQUENCE);
		if (!sig_field(&s, &name)) {
			out_free(&o);
			return NULL;
		}
		if (strcmp(fields->members[at++].name, name) == 0)
			continue;
		out_printf(&o, "?%u=", n);
		uri_name(&o, name);
	}
	uri = o.error ? NULL : arena_strdup(&w->arena, o.buf ? o.buf : "", o.len);
	out_free(&o);
	return uri;
}
