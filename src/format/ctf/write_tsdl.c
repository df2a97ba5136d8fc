/* Metadata of CTF 1.8, in TSDL. */
#include <stdio.h>

#include "format/ctf/write.h"
#include "format/ctf/write_meta.h"

struct tsdl {
	struct cw *w;
	struct out *o;
	bool raw; /* names are those of other TSDL */
};

static void field_out(const struct tsdl *p, const struct ctf_field *f, const char *name,
		      unsigned depth);

static void tabs(const struct tsdl *p, unsigned n)
{
	out_pad(p->o, '\t', n);
}

/* A string literal. */
static void text_out(const struct tsdl *p, const char *s)
{
	out_char(p->o, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			out_char(p->o, '\\');
		if ((unsigned char)*s < 0x20 || *s == 0x7F)
			out_printf(p->o, "\\%03o", (unsigned char)*s);
		else
			out_char(p->o, *s);
	}
	out_char(p->o, '"');
}

/* SPEC ctf/write-names: an underscore before each name keeps it apart from words of the language */
static void name_out(const struct tsdl *p, const char *name)
{
	if (!p->raw)
		out_char(p->o, '_');
	out_str(p->o, name);
}

static void integer_out(const struct tsdl *p, const struct ctf_field *f, unsigned bits,
			const char *encoding)
{
	out_printf(p->o, "integer { size = %u; align = %u; signed = %d; encoding = %s; base = %u; ",
		   bits, f->align < 8 ? 8 : f->align, f->is_signed, encoding,
		   f->base ? f->base : 10);
	if (f->big_endian != p->w->big && bits > 8)
		out_printf(p->o, "byte_order = %s; ", f->big_endian ? "be" : "le");
	out_str(p->o, "}");
}

static void bound_out(const struct tsdl *p, const struct ctf_field *f, uint64_t v)
{
	if (f->is_signed)
		out_i64(p->o, (int64_t)v);
	else
		out_u64(p->o, v);
}

static void enum_out(const struct tsdl *p, const struct ctf_field *f, unsigned depth)
{
	out_str(p->o, "enum : ");
	integer_out(p, f, f->size, "none");
	out_str(p->o, " {\n");
	for (uint32_t i = 0; i < f->nmappings; i++)
		for (uint32_t r = 0; r < f->mappings[i].nranges; r++) {
			const struct ctf_range *range = &f->mappings[i].ranges[r];

			tabs(p, depth + 1);
			text_out(p, f->mappings[i].name);
			out_str(p->o, " = ");
			bound_out(p, f, range->low);
			if (range->high != range->low) {
				out_str(p->o, " ... ");
				bound_out(p, f, range->high);
			}
			out_str(p->o, ",\n");
		}
	if (!f->nmappings) {
		/* The language has no enumeration without names. */
		tabs(p, depth + 1);
		out_str(p->o, "\"\" = 0,\n");
	}
	tabs(p, depth);
	out_str(p->o, "}");
}

static void float_out(const struct tsdl *p, const struct ctf_field *f)
{
	static const struct {
		unsigned size, exponent, mantissa;
	} kinds[] = { { 16, 5, 11 }, { 32, 8, 24 }, { 64, 11, 53 }, { 128, 15, 113 } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].size == f->size)
			out_printf(
				p->o, "floating_point { exp_dig = %u; mant_dig = %u; align = %u; ",
				kinds[i].exponent, kinds[i].mantissa, f->align < 8 ? 8 : f->align);
	if (f->big_endian != p->w->big)
		out_printf(p->o, "byte_order = %s; ", f->big_endian ? "be" : "le");
	out_str(p->o, "}");
}

static void members_out(const struct tsdl *p, const struct ctf_field *f, unsigned depth)
{
	out_str(p->o, "{\n");
	for (uint32_t i = 0; i < f->nmembers; i++) {
		const struct ctf_member *m = &f->members[i];

		tabs(p, depth + 1);
		field_out(p, m->field, p->raw ? m->name : m->shown, depth + 1);
	}
	tabs(p, depth);
	out_str(p->o, "}");
}

static void ref_out(const struct tsdl *p, const struct ctf_ref *ref)
{
	static const char *const scopes[] = {
		[CTF_SCOPE_PACKET_HEADER] = "trace.packet.header.",
		[CTF_SCOPE_PACKET_CONTEXT] = "stream.packet.context.",
		[CTF_SCOPE_EVENT_HEADER] = "stream.event.header.",
		[CTF_SCOPE_EVENT_COMMON] = "stream.event.context.",
		[CTF_SCOPE_EVENT_SPECIFIC] = "event.context.",
		[CTF_SCOPE_PAYLOAD] = "event.fields.",
	};

	if (ref->absolute)
		out_str(p->o, scopes[ref->scope]);
	for (uint32_t i = 0; i < ref->nnames; i++) {
		out_str(p->o, i ? "." : "");
		name_out(p, ref->names[i]);
	}
}

/* Brackets behind the name, the outermost array's first. */
static void lengths_out(const struct tsdl *p, const struct ctf_field *f)
{
	for (; f; f = f->element)
		switch ((enum ctf_kind)f->kind) {
		case CTF_ARRAY:
		case CTF_STRING_STATIC:
		case CTF_BLOB_STATIC:
			out_printf(p->o, "[%llu]", (unsigned long long)f->length);
			break;
		case CTF_SEQUENCE:
		case CTF_STRING_DYNAMIC:
		case CTF_BLOB_DYNAMIC:
			out_str(p->o, "[ ");
			ref_out(p, &f->ref);
			out_str(p->o, " ]");
			break;
		default:
			return;
		}
}

static void type_out(const struct tsdl *p, const struct ctf_field *f, unsigned depth)
{
	struct ctf_field byte = { .align = 8, .base = 16 };

	switch ((enum ctf_kind)f->kind) {
	case CTF_FLOAT:
		float_out(p, f);
		break;
	case CTF_STRING:
		out_str(p->o, "string");
		break;
	case CTF_STRING_STATIC:
	case CTF_STRING_DYNAMIC:
		byte.base = 10;
		integer_out(p, &byte, 8, "UTF8");
		break;
	case CTF_BLOB_STATIC:
	case CTF_BLOB_DYNAMIC:
		integer_out(p, &byte, 8, "none");
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		type_out(p, f->element, depth);
		break;
	case CTF_STRUCT:
		out_str(p->o, "struct ");
		members_out(p, f, depth);
		break;
	case CTF_VARIANT:
		out_str(p->o, "variant <");
		ref_out(p, &f->ref);
		out_str(p->o, "> ");
		members_out(p, f, depth);
		break;
	case CTF_BOOL:
		out_str(p->o, "enum : ");
		integer_out(p, f, f->size, "none");
		out_str(p->o, " { \"false\" = 0, \"true\" = 1 }");
		break;
	default:
		if (f->is_enum)
			enum_out(p, f, depth);
		else
			integer_out(p, f, f->size, "none");
		break;
	}
}

static void field_out(const struct tsdl *p, const struct ctf_field *f, const char *name,
		      unsigned depth)
{
	type_out(p, f, depth);
	out_char(p->o, ' ');
	name_out(p, name);
	lengths_out(p, f);
	out_str(p->o, ";\n");
}

static void scope_out(const struct tsdl *p, const char *scope, const struct ctf_field *f)
{
	if (!f)
		return;
	out_printf(p->o, "\t%s := struct ", scope);
	members_out(p, f, 1);
	out_str(p->o, ";\n");
}

static bool is_raw(const struct ctf_class *native, const struct cw *w)
{
	return native && meta_of_class(w, native)->generation == CTF_1;
}

static void stream_out(struct cw *w, const struct cw_stream_class *s)
{
	const struct tsdl p = { w, &w->text, is_raw(s->native, w) };
	const struct ctf_field *context = meta_context(w, s);

	out_printf(&w->text,
		   "stream {\n"
		   "\tid = %u;\n"
		   "\tevent.header := struct event_header_large;\n"
		   "\tpacket.context := struct packet_context%s;\n",
		   s->id, s->layout & CW_CPU ? "_cpu" : "");
	if (context && context->nmembers)
		scope_out(&p, "event.context", context);
	out_str(&w->text, "};\n\n");
}

static void event_out(struct cw *w, struct cw_event *e)
{
	const struct tsdl p = { w, &w->text, is_raw(e->key.of->native, w) };
	struct meta_event m;

	if (!meta_event_get(w, e, &m))
		return;
	out_str(&w->text, "event {\n\tname = ");
	text_out(&p, m.name);
	out_printf(&w->text, ";\n\tid = %u;\n\tstream_id = %u;\n", e->id, e->key.of->id);
	if (m.level >= 0)
		out_printf(&w->text, "\tloglevel = %d;\n", (int)m.level);
	if (m.uri) {
		out_str(&w->text, "\tmodel.emf.uri = ");
		text_out(&p, m.uri);
		out_str(&w->text, ";\n");
	}
	scope_out(&p, "context", m.specific);
	scope_out(&p, "fields", m.payload);
	out_str(&w->text, "};\n\n");
}

static void env_out(struct cw *w)
{
	const struct tsdl p = { w, &w->text, false };
	struct meta_env *env;
	size_t n;

	env = meta_env_get(w, &n);
	if (!n)
		return;
	out_str(&w->text, "env {\n");
	for (size_t i = 0; i < n; i++) {
		out_printf(&w->text, "\t%s = ", env[i].key);
		if (env[i].text)
			text_out(&p, env[i].text);
		else
			out_i64(&w->text, env[i].number);
		out_str(&w->text, ";\n");
	}
	out_str(&w->text, "};\n\n");
}

static void clock_out(struct cw *w)
{
	const struct tsdl p = { w, &w->text, false };
	struct meta_clock c = meta_clock_get(w);

	out_printf(&w->text, "clock {\n\tname = \"%s\";\n", w->clock);
	if (c.uuid[0])
		out_printf(&w->text, "\tuuid = \"%s\";\n", c.uuid);
	out_str(&w->text, "\tdescription = ");
	text_out(&p, c.description);
	out_printf(&w->text,
		   ";\n\tfreq = 1000000000;\n\toffset_s = %lld;\n\toffset = %llu;\n};\n\n",
		   (long long)c.seconds, (unsigned long long)c.cycles);
}

static void types_out(struct cw *w)
{
	static const struct {
		unsigned size, align;
		const char *name;
	} types[] = {
		{ 8, 8, "uint8_t" },
		{ 16, 8, "uint16_t" },
		{ 32, 8, "uint32_t" },
		{ 64, 8, "uint64_t" },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		out_printf(&w->text,
			   "typealias integer { size = %u; align = %u; signed = false; } := %s;\n",
			   types[i].size, types[i].align, types[i].name);
	out_char(&w->text, '\n');
}

static void packet_out(struct cw *w, bool cpu)
{
	out_printf(&w->text,
		   "struct packet_context%s {\n"
		   "\tuint64_clock_t timestamp_begin;\n"
		   "\tuint64_clock_t timestamp_end;\n"
		   "\tuint64_t content_size;\n"
		   "\tuint64_t packet_size;\n"
		   "\tuint64_t packet_seq_num;\n"
		   "\tuint64_t events_discarded;\n"
		   "%s"
		   "};\n\n",
		   cpu ? "_cpu" : "", cpu ? "\tuint32_t cpu_id;\n" : "");
}

static void header_out(struct cw *w)
{
	for (unsigned bits = 32; bits <= 64; bits += 32)
		out_printf(&w->text,
			   "typealias integer { size = %u; align = 8; signed = false; map = "
			   "clock.%s.value; } := uint%u_clock_t;\n",
			   bits, w->clock, bits);
	out_char(&w->text, '\n');
	packet_out(w, false);
	packet_out(w, true);
	out_str(&w->text, "struct event_header_large {\n"
			  "\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
			  "\tvariant <id> {\n"
			  "\t\tstruct {\n"
			  "\t\t\tuint32_clock_t timestamp;\n"
			  "\t\t} compact;\n"
			  "\t\tstruct {\n"
			  "\t\t\tuint32_t id;\n"
			  "\t\t\tuint64_clock_t timestamp;\n"
			  "\t\t} extended;\n"
			  "\t} v;\n"
			  "} align(8);\n\n");
}

void cw_tsdl(struct cw *w)
{
	char uuid[META_UUID];

	out_str(&w->text, "/* CTF 1.8 */\n\n");
	types_out(w);
	meta_uuid(w->uuid, uuid);
	out_printf(&w->text,
		   "trace {\n"
		   "\tmajor = 1;\n"
		   "\tminor = 8;\n"
		   "\tuuid = \"%s\";\n"
		   "\tbyte_order = %s;\n"
		   "\tpacket.header := struct {\n"
		   "\t\tuint32_t magic;\n"
		   "\t\tuint8_t uuid[16];\n"
		   "\t\tuint32_t stream_id;\n"
		   "\t\tuint64_t stream_instance_id;\n"
		   "\t};\n"
		   "};\n\n",
		   uuid, w->big ? "be" : "le");
	env_out(w);
	clock_out(w);
	header_out(w);
	for (const struct cw_stream_class *s = w->classes; s; s = s->next)
		stream_out(w, s);
	for (struct cw_event *e = w->first; e; e = e->next)
		event_out(w, e);
}
