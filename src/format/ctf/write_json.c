/* Metadata of CTF 2: a sequence of JSON texts. */
#include "base/text.h"
#include "format/ctf/write.h"
#include "format/ctf/write_meta.h"

enum { RECORD_SEPARATOR = 0x1E };

struct json {
	struct cw *w;
	struct out *o;
	enum ctf_scope scope;
	bool raw; /* references have the names of TSDL */
};

/* A structure and what contains it, for references that are searched outwards. */
struct within {
	const struct within *outer;
	const struct ctf_field *structure;
	const char *name; /* of the structure; NULL: of an element, or the scope itself */
};

static void field_out(const struct json *j, const struct ctf_field *f, const struct within *in);

/* Bytes that are not UTF-8 become U+FFFD: readers of JSON accept nothing else. */
static void json_text(struct out *o, const char *s)
{
	size_t len = strlen(s), start;

	if (utf8_all_valid(s, len)) {
		out_json(o, s, len);
		return;
	}
	out_char(o, '"');
	while (len) {
		const size_t n = utf8_valid(s, len);

		if (n) {
			/* Without the quotes around it. */
			start = o->len;
			out_json(o, s, n);
			if (o->error)
				return;
			memmove(o->buf + start, o->buf + start + 1, o->len - start - 2);
			o->len -= 2;
		} else {
			out_str(o, "\\ufffd");
		}
		s += n ? n : 1;
		len -= n ? n : 1;
	}
	out_char(o, '"');
}

static void begin(struct cw *w, const char *type)
{
	out_char(&w->text, RECORD_SEPARATOR);
	out_printf(&w->text, "{\"type\":\"%s\"", type);
}

static const char *order_name(bool big)
{
	return big ? "big-endian" : "little-endian";
}

/* Names of the structures around a field, the outermost first, each with a comma behind it. */
static void path_out(const struct json *j, const struct within *in)
{
	if (!in)
		return;
	path_out(j, in->outer);
	if (in->name) {
		json_text(j->o, in->name);
		out_char(j->o, ',');
	}
}

/* Returns the structure, from the inside out, that has a member of that name, or NULL. */
static const struct within *home_of(const struct within *in, const char *name, bool raw)
{
	for (; in; in = in->outer)
		for (uint32_t i = 0; i < in->structure->nmembers; i++) {
			const struct ctf_member *m = &in->structure->members[i];

			if (strcmp(raw ? m->name : m->shown, name) == 0)
				return in;
		}
	return NULL;
}

/* TSDL puts an underscore before names. */
static const char *plain_name(const char *name)
{
	return name[0] == '_' && name[1] ? name + 1 : name;
}

static void location_out(const struct json *j, const char *key, const struct ctf_ref *ref,
			 const struct within *in)
{
	static const char *const origins[] = {
		[CTF_SCOPE_PACKET_HEADER] = "packet-header",
		[CTF_SCOPE_PACKET_CONTEXT] = "packet-context",
		[CTF_SCOPE_EVENT_HEADER] = "event-record-header",
		[CTF_SCOPE_EVENT_COMMON] = "event-record-common-context",
		[CTF_SCOPE_EVENT_SPECIFIC] = "event-record-specific-context",
		[CTF_SCOPE_PAYLOAD] = "event-record-payload",
	};
	const char *first = ref->nnames ? ref->names[0] : "";
	const struct within *home = ref->absolute ? NULL : home_of(in, first, j->raw);

	out_printf(j->o, ",\"%s\":{\"origin\":\"%s\",\"path\":[", key,
		   origins[ref->absolute ? ref->scope : j->scope]);
	path_out(j, home);
	for (uint32_t i = 0; i < ref->nnames; i++) {
		out_str(j->o, i ? "," : "");
		json_text(j->o, j->raw ? plain_name(ref->names[i]) : ref->names[i]);
	}
	out_str(j->o, "]}");
}

static void range_out(const struct json *j, const struct ctf_range *r, bool is_signed)
{
	out_char(j->o, '[');
	if (is_signed)
		out_i64(j->o, (int64_t)r->low);
	else
		out_u64(j->o, r->low);
	out_char(j->o, ',');
	if (is_signed)
		out_i64(j->o, (int64_t)r->high);
	else
		out_u64(j->o, r->high);
	out_char(j->o, ']');
}

static void ranges_out(const struct json *j, const struct ctf_range *ranges, uint32_t n,
		       bool is_signed)
{
	out_char(j->o, '[');
	for (uint32_t i = 0; i < n; i++) {
		out_str(j->o, i ? "," : "");
		range_out(j, &ranges[i], is_signed);
	}
	out_char(j->o, ']');
}

/* One property for each name, with the ranges of all mappings that have it. */
static void mappings_out(const struct json *j, const struct ctf_field *f)
{
	out_str(j->o, ",\"mappings\":{");
	for (uint32_t i = 0; i < f->nmappings; i++) {
		const char *name = f->mappings[i].name;
		bool first = true;

		for (uint32_t k = 0; first && k < i; k++)
			first = strcmp(f->mappings[k].name, name) != 0;
		if (!first)
			continue;
		out_str(j->o, i ? "," : "");
		json_text(j->o, name);
		out_str(j->o, ":[");
		for (uint32_t k = i; k < f->nmappings; k++)
			for (uint32_t r = 0;
			     strcmp(f->mappings[k].name, name) == 0 && r < f->mappings[k].nranges;
			     r++) {
				out_str(j->o, k > i || r ? "," : "");
				range_out(j, &f->mappings[k].ranges[r], f->is_signed);
			}
		out_char(j->o, ']');
	}
	out_char(j->o, '}');
}

static void number_out(const struct json *j, const struct ctf_field *f, const char *type)
{
	out_printf(j->o, "{\"type\":\"%s\",\"length\":%u,\"byte-order\":\"%s\",\"alignment\":%u",
		   type, f->size, order_name(f->big_endian), f->align < 8 ? 8 : f->align);
	if (f->base && f->base != 10 && f->kind != CTF_FLOAT && f->kind != CTF_BOOL)
		out_printf(j->o, ",\"preferred-display-base\":%u", f->base);
	if (f->nmappings && f->kind != CTF_BOOL)
		mappings_out(j, f);
	out_char(j->o, '}');
}

static void struct_out(const struct json *j, const struct ctf_field *f, const struct within *outer,
		       const char *name)
{
	const struct within in = { outer, f, name };

	out_str(j->o, "{\"type\":\"structure\",\"member-classes\":[");
	for (uint32_t i = 0; i < f->nmembers; i++) {
		const struct ctf_member *m = &f->members[i];

		out_printf(j->o, "%s{\"name\":", i ? "," : "");
		json_text(j->o, m->shown);
		out_str(j->o, ",\"field-class\":");
		if (m->field->kind == CTF_STRUCT)
			struct_out(j, m->field, &in, m->shown);
		else
			field_out(j, m->field, &in);
		out_char(j->o, '}');
	}
	out_str(j->o, "]}");
}

static void array_out(const struct json *j, const struct ctf_field *f, const struct within *in)
{
	const bool is_static = f->kind == CTF_ARRAY;

	out_printf(j->o, "{\"type\":\"%s-length-array\",\"element-field-class\":",
		   is_static ? "static" : "dynamic");
	if (f->element->kind == CTF_STRUCT)
		struct_out(j, f->element, in, NULL);
	else
		field_out(j, f->element, in);
	if (is_static)
		out_printf(j->o, ",\"length\":%llu", (unsigned long long)f->length);
	else
		location_out(j, "length-field-location", &f->ref, in);
	out_char(j->o, '}');
}

static void bytes_out(const struct json *j, const struct ctf_field *f, const struct within *in)
{
	const bool is_static = f->kind == CTF_STRING_STATIC || f->kind == CTF_BLOB_STATIC;
	const bool is_text = f->kind == CTF_STRING_STATIC || f->kind == CTF_STRING_DYNAMIC;

	out_printf(j->o, "{\"type\":\"%s-length-%s\"", is_static ? "static" : "dynamic",
		   is_text ? "string" : "blob");
	if (is_static)
		out_printf(j->o, ",\"length\":%llu", (unsigned long long)f->length);
	else
		location_out(j, "length-field-location", &f->ref, in);
	out_char(j->o, '}');
}

/* Options that no value chooses are left out. */
static void variant_out(const struct json *j, const struct ctf_field *f, const struct within *in)
{
	bool any = false;

	out_str(j->o, "{\"type\":\"variant\"");
	location_out(j, "selector-field-location", &f->ref, in);
	out_str(j->o, ",\"options\":[");
	for (uint32_t i = 0; i < f->nmembers; i++) {
		const struct ctf_member *m = &f->members[i];

		if (!m->nranges)
			continue;
		out_str(j->o, any ? ",{" : "{");
		any = true;
		if (m->shown) {
			out_str(j->o, "\"name\":");
			json_text(j->o, m->shown);
			out_char(j->o, ',');
		}
		out_str(j->o, "\"selector-field-ranges\":");
		ranges_out(j, m->ranges, m->nranges, f->selector_signed);
		out_str(j->o, ",\"field-class\":");
		field_out(j, m->field, in);
		out_char(j->o, '}');
	}
	out_str(j->o, "]}");
}

static void field_out(const struct json *j, const struct ctf_field *f, const struct within *in)
{
	switch ((enum ctf_kind)f->kind) {
	case CTF_FLOAT:
		number_out(j, f, "fixed-length-floating-point-number");
		break;
	case CTF_BOOL:
		number_out(j, f, "fixed-length-boolean");
		break;
	case CTF_STRING:
		out_str(j->o, "{\"type\":\"null-terminated-string\"}");
		break;
	case CTF_STRING_STATIC:
	case CTF_STRING_DYNAMIC:
	case CTF_BLOB_STATIC:
	case CTF_BLOB_DYNAMIC:
		bytes_out(j, f, in);
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		array_out(j, f, in);
		break;
	case CTF_STRUCT:
		struct_out(j, f, in, NULL);
		break;
	case CTF_VARIANT:
		variant_out(j, f, in);
		break;
	default:
		number_out(j, f,
			   f->is_signed ? "fixed-length-signed-integer"
					: "fixed-length-unsigned-integer");
		break;
	}
}

static void scope_out(struct cw *w, const struct cw_stream_class *s, enum ctf_scope scope,
		      const struct ctf_field *f)
{
	static const char *const keys[] = {
		[CTF_SCOPE_EVENT_COMMON] = "event-record-common-context",
		[CTF_SCOPE_EVENT_SPECIFIC] = "specific-context",
		[CTF_SCOPE_PAYLOAD] = "payload",
	};
	const bool raw = s->native && meta_of_class(w, s->native)->generation == CTF_1;
	const struct json j = { w, &w->text, scope, raw };

	if (!f)
		return;
	out_printf(&w->text, ",\"%s-field-class\":", keys[scope]);
	struct_out(&j, f, NULL, NULL);
}

/* An unsigned integer with a role, as a member. */
static void role_out(struct cw *w, const char *name, unsigned bits, const char *role)
{
	out_printf(&w->text,
		   "{\"name\":\"%s\",\"field-class\":{\"type\":\"fixed-length-unsigned-integer\","
		   "\"length\":%u,\"byte-order\":\"%s\",\"alignment\":8",
		   name, bits, order_name(w->big));
	if (role)
		out_printf(&w->text, ",\"roles\":[\"%s\"]", role);
	out_str(&w->text, "}}");
}

static void preamble_out(struct cw *w)
{
	begin(w, "preamble");
	out_str(&w->text, ",\"version\":2,\"uuid\":[");
	for (int i = 0; i < 16; i++)
		out_printf(&w->text, "%s%u", i ? "," : "", w->uuid[i]);
	out_str(&w->text, "]}\n");
}

static void trace_out(struct cw *w)
{
	struct meta_env *env;
	char uuid[META_UUID];
	size_t n;

	env = meta_env_get(w, &n);
	meta_uuid(w->uuid, uuid);
	begin(w, "trace-class");
	out_printf(&w->text, ",\"uid\":\"%s\"", uuid);
	for (size_t i = 0; i < n; i++) {
		out_printf(&w->text, "%s\"%s\":", i ? "," : ",\"environment\":{", env[i].key);
		if (env[i].text)
			json_text(&w->text, env[i].text);
		else
			out_i64(&w->text, env[i].number);
	}
	out_str(&w->text, n ? "}" : "");
	out_str(&w->text, ",\"packet-header-field-class\":{\"type\":\"structure\","
			  "\"member-classes\":[");
	role_out(w, "magic", 32, "packet-magic-number");
	out_str(&w->text, ",{\"name\":\"uuid\",\"field-class\":{\"type\":\"static-length-blob\","
			  "\"length\":16,\"roles\":[\"metadata-stream-uuid\"]}},");
	role_out(w, "stream_id", 32, "data-stream-class-id");
	out_char(&w->text, ',');
	role_out(w, "stream_instance_id", 64, "data-stream-id");
	out_str(&w->text, "]}}\n");
}

static void clock_out(struct cw *w)
{
	const struct meta_clock c = meta_clock_get(w);

	begin(w, "clock-class");
	out_printf(&w->text, ",\"id\":\"%s\",\"name\":\"%s\"", w->clock, w->clock);
	if (c.uuid[0])
		out_printf(&w->text, ",\"uid\":\"%s\"", c.uuid);
	out_str(&w->text, ",\"description\":");
	json_text(&w->text, c.description);
	out_str(&w->text, ",\"frequency\":1000000000");
	if (c.epoch)
		out_str(&w->text, ",\"origin\":\"unix-epoch\"");
	out_printf(&w->text, ",\"offset-from-origin\":{\"seconds\":%lld,\"cycles\":%llu}}\n",
		   (long long)c.seconds, (unsigned long long)c.cycles);
}

static void header_out(struct cw *w)
{
	out_str(&w->text, ",\"event-record-header-field-class\":{\"type\":\"structure\","
			  "\"member-classes\":[");
	role_out(w, "id", 16, "event-record-class-id");
	out_str(&w->text,
		",{\"name\":\"v\",\"field-class\":{\"type\":\"variant\","
		"\"selector-field-location\":{\"origin\":\"event-record-header\",\"path\":[\"id\"]}"
		","
		"\"options\":[{\"name\":\"compact\",\"selector-field-ranges\":[[0,65534]],"
		"\"field-class\":{\"type\":\"structure\",\"member-classes\":[");
	role_out(w, "timestamp", 32, "default-clock-timestamp");
	out_str(&w->text, "]}},{\"name\":\"extended\",\"selector-field-ranges\":[[65535,65535]],"
			  "\"field-class\":{\"type\":\"structure\",\"member-classes\":[");
	role_out(w, "id", 32, "event-record-class-id");
	out_char(&w->text, ',');
	role_out(w, "timestamp", 64, "default-clock-timestamp");
	out_str(&w->text, "]}}]}}],\"minimum-alignment\":8}");
}

static void stream_out(struct cw *w, const struct cw_stream_class *s)
{
	static const struct {
		const char *name, *role;
	} fields[] = {
		{ "timestamp_begin", "default-clock-timestamp" },
		{ "timestamp_end", "packet-end-default-clock-timestamp" },
		{ "content_size", "packet-content-length" },
		{ "packet_size", "packet-total-length" },
		{ "packet_seq_num", "packet-sequence-number" },
		{ "events_discarded", "discarded-event-record-counter-snapshot" },
	};
	const struct ctf_field *context = meta_context(w, s);

	begin(w, "data-stream-class");
	out_printf(&w->text,
		   ",\"id\":%u,\"default-clock-class-id\":\"%s\",\"packet-context-field-class\":{"
		   "\"type\":\"structure\",\"member-classes\":[",
		   s->id, w->clock);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		out_str(&w->text, i ? "," : "");
		role_out(w, fields[i].name, 64, fields[i].role);
	}
	if (s->layout & CW_CPU) {
		out_char(&w->text, ',');
		role_out(w, "cpu_id", 32, NULL);
	}
	out_str(&w->text, "]}");
	header_out(w);
	if (context && context->nmembers)
		scope_out(w, s, CTF_SCOPE_EVENT_COMMON, context);
	out_str(&w->text, "}\n");
}

static void event_out(struct cw *w, struct cw_event *e)
{
	struct meta_event m;

	if (!meta_event_get(w, e, &m))
		return;
	begin(w, "event-record-class");
	out_str(&w->text, ",\"name\":");
	json_text(&w->text, m.name);
	out_printf(&w->text, ",\"id\":%u,\"data-stream-class-id\":%u", e->id, e->key.of->id);
	if (m.uri || m.level >= 0) {
		out_str(&w->text, ",\"attributes\":{\"lttng.org,2009\":{");
		if (m.level >= 0)
			out_printf(&w->text, "\"log-level\":%d%s", (int)m.level, m.uri ? "," : "");
		if (m.uri) {
			out_str(&w->text, "\"emf-uri\":");
			json_text(&w->text, m.uri);
		}
		out_str(&w->text, "}}");
	}
	scope_out(w, e->key.of, CTF_SCOPE_EVENT_SPECIFIC, m.specific);
	scope_out(w, e->key.of, CTF_SCOPE_PAYLOAD, m.payload);
	out_str(&w->text, "}\n");
}

void cw_json(struct cw *w)
{
	preamble_out(w);
	trace_out(w);
	clock_out(w);
	for (const struct cw_stream_class *s = w->classes; s; s = s->next)
		stream_out(w, s);
	for (struct cw_event *e = w->first; e; e = e->next)
		event_out(w, e);
}
