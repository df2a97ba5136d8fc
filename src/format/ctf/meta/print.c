/*
 * "What it compiles to": the resolved metadata as indented text, one class a line. See meta_print()
 * in meta.h.
 */
#include <string.h>

#include "format/ctf/meta/meta.h"

enum { INDENT = 2 };

static void print_name(struct out *o, const char *name)
{
	out_safe(o, name ? name : "", name ? strlen(name) : 0);
}

static void print_text(struct out *o, const char *key, const char *text)
{
	if (!text)
		return;
	out_str(o, key);
	out_json(o, text, strlen(text));
}

static void print_uuid(struct out *o, const uint8_t uuid[16])
{
	out_str(o, ", uuid ");
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out_char(o, '-');
		out_printf(o, "%02x", uuid[i]);
	}
}

/* ---- classes */

static void print_bound(struct out *o, uint64_t bound, bool negative)
{
	if (negative)
		out_i64(o, (int64_t)bound);
	else
		out_u64(o, bound);
}

static void print_ranges(struct out *o, const struct ctf_range *ranges, uint32_t n, bool negative)
{
	for (uint32_t i = 0; i < n; i++) {
		out_str(o, i ? ", " : " ");
		print_bound(o, ranges[i].low, negative);
		if (ranges[i].high == ranges[i].low)
			continue;
		out_str(o, "...");
		print_bound(o, ranges[i].high, negative);
	}
}

static void print_roles(struct out *o, uint32_t roles)
{
	static const char *const names[] = {
		"magic",	   "uuid",	   "stream class id", "stream id",  "timestamp",
		"end time",	   "content size", "packet size",     "discarded",  "sequence",
		"event class id",  "cpu",	   "compression",     "encryption", "checksum",
		"checksum scheme", "session",	   "sequence bits",
	};
	const char *between = ", role ";

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(roles & 1u << i))
			continue;
		out_str(o, between);
		out_str(o, names[i]);
		between = " + ";
	}
}

static void print_encoding(struct out *o, const struct ctf_field *f)
{
	static const char *const names[] = { "utf-8",	 "utf-16be", "utf-16le",
					     "utf-32be", "utf-32le", "ascii" };

	out_str(o, ", ");
	out_str(o, f->encoding < sizeof(names) / sizeof(names[0]) ? names[f->encoding] : "?");
}

static void print_source(struct out *o, const struct ctf_field *f)
{
	if (f->length_field)
		out_str(o, " of inline length");
	else if (f->ref.slot != CTF_NO_SLOT)
		out_printf(o, " by slot %u", f->ref.slot);
}

/* The kind and what is special about it. */
static void print_kind(struct out *o, const struct ctf_field *f)
{
	static const char *const names[CTF_KINDS] = {
		"bits", "bitmap", "bool",   "uint",	"sint",	    "float",
		"uleb", "sleb",	  "string", "string",	"string",   "blob",
		"blob", "struct", "array",  "sequence", "optional", "variant",
	};

	out_str(o, f->kind < CTF_KINDS ? names[f->kind] : "?");
	switch (f->kind) {
	case CTF_BITS:
	case CTF_BITMAP:
	case CTF_BOOL:
	case CTF_UINT:
	case CTF_SINT:
	case CTF_FLOAT:
		out_printf(o, " %u", f->size);
		break;
	case CTF_ARRAY:
	case CTF_STRING_STATIC:
	case CTF_BLOB_STATIC:
		out_printf(o, " of %llu", (unsigned long long)f->length);
		break;
	case CTF_SEQUENCE:
	case CTF_STRING_DYNAMIC:
	case CTF_BLOB_DYNAMIC:
	case CTF_OPTIONAL:
	case CTF_VARIANT:
		print_source(o, f);
		break;
	default:
		break;
	}
	if (f->kind == CTF_OPTIONAL)
		print_ranges(o, f->ranges, f->nranges, f->selector_signed);
}

static bool is_fixed(const struct ctf_field *f)
{
	return f->kind <= CTF_FLOAT;
}

static void print_class(struct out *o, const struct ctf_field *f)
{
	print_kind(o, f);
	if (f->is_enum)
		out_str(o, ", enum");
	if (is_fixed(f))
		out_str(o, f->big_endian ? ", be" : ", le");
	if (f->reversed)
		out_str(o, ", reversed bits");
	if (f->align > 1)
		out_printf(o, ", align %u", f->align);
	if (f->unit)
		out_printf(o, ", in units of %u", f->unit);
	if (f->base)
		out_printf(o, ", base %u", f->base);
	if (f->is_text || (f->kind >= CTF_STRING && f->kind <= CTF_STRING_DYNAMIC))
		print_encoding(o, f);
	print_text(o, ", media type ", f->media_type);
	if (f->clock) {
		out_str(o, ", clock ");
		print_name(o, f->clock->id);
	}
	print_roles(o, f->roles);
	if (f->save != CTF_NO_SLOT)
		out_printf(o, ", saved in slot %u", f->save);
	out_char(o, '\n');
}

static void print_mappings(struct out *o, const struct ctf_field *f, unsigned indent)
{
	for (uint32_t i = 0; i < f->nmappings; i++) {
		out_pad(o, ' ', indent);
		out_json(o, f->mappings[i].name, strlen(f->mappings[i].name));
		out_str(o, " =");
		print_ranges(o, f->mappings[i].ranges, f->mappings[i].nranges, f->is_signed);
		out_char(o, '\n');
	}
}

/* A class and what is in it; the recursion is as deep as the classes. */
static void print_field(struct out *o, const struct ctf_field *f, unsigned indent)
{
	print_class(o, f);
	indent += INDENT;
	print_mappings(o, f, indent);
	for (uint32_t i = 0; i < f->nmembers; i++) {
		const struct ctf_member *member = &f->members[i];

		out_pad(o, ' ', indent);
		print_name(o, member->shown ? member->shown : member->name);
		if (f->kind == CTF_VARIANT) {
			out_str(o, " [");
			print_ranges(o, member->ranges, member->nranges, f->selector_signed);
			out_str(o, " ]");
		}
		out_str(o, ": ");
		print_field(o, member->field, indent);
	}
	if (f->length_field) {
		out_pad(o, ' ', indent);
		out_str(o, "length: ");
		print_field(o, f->length_field, indent);
	}
	if (f->element) {
		out_pad(o, ' ', indent);
		out_str(o, "element: ");
		print_field(o, f->element, indent);
	}
}

static void print_scope(struct out *o, const char *name, const struct ctf_field *f, unsigned indent)
{
	if (!f)
		return;
	out_pad(o, ' ', indent);
	out_str(o, name);
	out_str(o, ": ");
	print_field(o, f, indent);
}

/* ---- the rest */

static void print_origin(struct out *o, const struct ctf_clock *c)
{
	if (c->unix_epoch)
		out_str(o, ", from 1970");
	print_text(o, ", origin ", c->origin_space);
	print_text(o, " ", c->origin_name);
	print_text(o, " ", c->origin_uid);
}

static void print_clock(struct out *o, const struct ctf_clock *c)
{
	out_str(o, "clock ");
	print_name(o, c->id);
	out_printf(o, ": %llu Hz, offset %lld s %llu cycles", (unsigned long long)c->hz,
		   (long long)c->offset_seconds, (unsigned long long)c->offset);
	print_origin(o, c);
	if (c->precision != UINT64_MAX)
		out_printf(o, ", precision %llu", (unsigned long long)c->precision);
	if (c->accuracy != UINT64_MAX)
		out_printf(o, ", accuracy %llu", (unsigned long long)c->accuracy);
	if (c->absolute)
		out_str(o, ", absolute");
	if (c->has_uuid)
		print_uuid(o, c->uuid);
	print_text(o, ", namespace ", c->space);
	print_text(o, ", uid ", c->uid);
	print_text(o, ", ", c->description);
	out_char(o, '\n');
}

static void print_identity(struct out *o, const char *name, const char *space, const char *uid)
{
	print_text(o, " ", name);
	print_text(o, ", namespace ", space);
	print_text(o, ", uid ", uid);
}

static void print_event(struct out *o, const struct ctf_event_class *e)
{
	out_printf(o, "  event %llu", (unsigned long long)e->id);
	print_identity(o, e->name, e->space, e->uid);
	if (e->log_level >= 0)
		out_printf(o, ", log level %d", (int)e->log_level);
	print_text(o, ", emf ", e->emf_uri);
	out_char(o, '\n');
	print_scope(o, "context", e->specific, 2 * INDENT);
	print_scope(o, "fields", e->payload, 2 * INDENT);
}

static void print_stream(struct out *o, const struct ctf_stream_class *s)
{
	out_printf(o, "stream %llu", (unsigned long long)s->id);
	print_identity(o, s->name, s->space, s->uid);
	if (s->clock) {
		out_str(o, ", clock ");
		print_name(o, s->clock->id);
	}
	if (s->v11_header)
		out_printf(o, ", event header type %u%s", s->v11_header,
			   s->v11_event_size ? ", event size" : "");
	out_char(o, '\n');
	print_scope(o, "packet context", s->packet_context, INDENT);
	print_scope(o, "event header", s->event_header, INDENT);
	print_scope(o, "event context", s->event_common, INDENT);
	for (size_t i = 0; i < s->nevents; i++)
		print_event(o, s->events[i]);
}

static void print_trace(struct out *o, const struct ctf_meta *m)
{
	static const char *const generations[] = { "RFC v1.1", "CTF 1.8", "CTF 2" };

	out_str(o, "trace ");
	out_str(o, generations[m->generation]);
	out_str(o, m->big_endian ? ", be" : ", le");
	if (m->has_uuid)
		print_uuid(o, m->uuid);
	print_identity(o, m->name, m->space, m->uid);
	if (m->v11_u64_align)
		out_printf(o, ", u64 aligned to %u", m->v11_u64_align);
	out_printf(o, ", slots %u\n", m->nslots);
	for (size_t i = 0; i < m->nenv; i++) {
		out_str(o, "env ");
		print_name(o, m->env[i].key);
		if (!m->env[i].is_text)
			out_printf(o, " = %lld", (long long)m->env[i].number);
		print_text(o, " = ", m->env[i].is_text ? m->env[i].text : NULL);
		out_char(o, '\n');
	}
}

void meta_print(const struct ctf_meta *m, struct out *o)
{
	print_trace(o, m);
	for (size_t i = 0; i < m->nclocks; i++)
		print_clock(o, m->clocks[i]);
	print_scope(o, "packet header", m->packet_header, 0);
	for (size_t i = 0; i < m->nstreams; i++)
		print_stream(o, m->streams[i]);
}
