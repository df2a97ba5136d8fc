/*
 * Events without a record of their own in XRay, as the text of a custom event: a JSON object with
 * the kind, the name, and what else the event has.
 */
#include "format/xray/write.h"

#include <math.h>

enum {
	NESTING = 32, /* of arguments; deeper ones are null */
	TEXT_MOST = 1 << 20, /* bytes of one text or array of bytes */
};

static void value_out(struct xray_lane *l, const struct spur_value *v, unsigned depth);

static void string_out(struct out *o, const struct spur_trace *t, uint32_t string)
{
	size_t len;
	const char *s = trace_string(t, string, &len);

	out_json(o, s, len < TEXT_MOST ? len : TEXT_MOST);
}

static void bytes_out(struct out *o, const struct spur_value *v)
{
	static const char digits[] = "0123456789abcdef";
	const uint32_t n = v->count < TEXT_MOST ? v->count : TEXT_MOST;

	out_char(o, '"');
	for (uint32_t i = 0; i < n; i++) {
		out_char(o, digits[(uint8_t)v->text[i] >> 4]);
		out_char(o, digits[(uint8_t)v->text[i] & 15]);
	}
	out_char(o, '"');
}

static void items_out(struct xray_lane *l, const struct spur_value *items, size_t n, bool named,
		      unsigned depth)
{
	struct out *o = &l->text;

	out_char(o, named ? '{' : '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			out_char(o, ',');
		if (named) {
			string_out(o, l->x->trace, items[i].name);
			out_char(o, ':');
		}
		value_out(l, &items[i], depth + 1);
	}
	out_char(o, named ? '}' : ']');
}

static void value_out(struct xray_lane *l, const struct spur_value *v, unsigned depth)
{
	struct out *o = &l->text;

	switch ((enum spur_type)v->type) {
	case SPUR_NULL:
		out_str(o, "null");
		break;
	case SPUR_I64:
		out_i64(o, v->i);
		break;
	case SPUR_U64:
	case SPUR_POINTER:
	case SPUR_KOID:
		out_u64(o, v->u);
		break;
	case SPUR_F64:
		out_json_double(o, v->f, false);
		break;
	case SPUR_BOOL:
		out_str(o, v->u ? "true" : "false");
		break;
	case SPUR_STRING:
		out_json(o, v->text, v->count < TEXT_MOST ? v->count : TEXT_MOST);
		break;
	case SPUR_BYTES:
		bytes_out(o, v);
		break;
	case SPUR_ENUM:
		if (v->label)
			out_json(o, v->label, strlen(v->label));
		else
			out_i64(o, v->i);
		break;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		if (depth < NESTING)
			items_out(l, v->items, v->count, v->type == SPUR_STRUCT, depth);
		else
			out_str(o, "null");
		break;
	}
}

bool xray_event_text(struct xray_lane *l, const struct spur_event *row)
{
	struct xray_write *x = l->x;
	struct out *o = &l->text;

	if (x->write->args(x->write, row, &l->args) == SPUR_FAIL)
		return false;
	out_printf(o, "{\"kind\":\"%s\",\"name\":", spur_kind_name(row->kind));
	string_out(o, x->trace, row->name);
	if (row->cat) {
		out_str(o, ",\"cat\":");
		string_out(o, x->trace, row->cat);
	}
	if (row_has_id(row)) {
		out_str(o, ",\"id\":");
		out_u64(o, row->id);
	}
	if (row->flags & (SPUR_F_IN | SPUR_F_OUT))
		out_str(o, row->flags & SPUR_F_OUT ? ",\"out\":true" : ",\"in\":true");
	if (l->args.count) {
		out_str(o, ",\"args\":");
		items_out(l, l->args.items, l->args.count, true, 0);
	}
	out_char(o, '}');
	return !o->error;
}
