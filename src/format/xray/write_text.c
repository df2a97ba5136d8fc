/*
 * Events without a record of their own in XRay, as the text of a custom event: a JSON object with
 * the kind, the name, and what else the event has.
 */
#include "format/xray/write.h"

#include <math.h>
#include <stdio.h>

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

/* --- what was an XRay log --- */

bool xray_told_open(struct xray_write *x)
{
	x->custom_event = trace_intern(x->trace, "custom event");
	x->data = trace_intern(x->trace, "data");
	x->type = trace_intern(x->trace, "type");
	for (unsigned i = 0; i < XRAY_TOLD_ARGS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "arg%u", i + 1);
		x->arg[i] = trace_intern(x->trace, name);
		if (!x->arg[i])
			return false;
	}
	return x->custom_event && x->data && x->type;
}

bool xray_args_told(const struct xray_lane *l)
{
	const struct spur_args *a = &l->args;

	for (size_t i = 0; i < a->count; i++)
		if (i >= XRAY_TOLD_ARGS || a->items[i].type != SPUR_U64 ||
		    a->items[i].name != l->x->arg[i])
			return false;
	return true;
}

/* Returns true if an argument is the type of a typed event, and the event is named after it. */
static bool is_typed(const struct xray_write *x, const struct spur_event *row,
		     const struct spur_value *type)
{
	char name[32];
	size_t len;
	const char *s = trace_string(x->trace, row->name, &len);

	if (type->name != x->type || type->type != SPUR_U64 || type->u > UINT16_MAX)
		return false;
	snprintf(name, sizeof(name), "typed event %u", (unsigned)type->u);
	return len == strlen(name) && memcmp(s, name, len) == 0;
}

const struct spur_value *xray_event_told(const struct xray_lane *l, const struct spur_event *row,
					 int *type)
{
	const struct xray_write *x = l->x;
	const struct spur_args *a = &l->args;
	const struct spur_value *data;

	*type = -1;
	if (row->kind != SPUR_INSTANT || row->cat || row_has_id(row) || !a->count)
		return NULL;
	data = &a->items[a->count - 1];
	if (data->name != x->data || (data->type != SPUR_STRING && data->type != SPUR_BYTES))
		return NULL;
	if (a->count == 1 && row->name == x->custom_event)
		return data;
	if (a->count != 2 || !is_typed(x, row, a->items))
		return NULL;
	*type = (int)a->items[0].u;
	return data;
}

/* --- the text --- */

bool xray_event_text(struct xray_lane *l, const struct spur_event *row)
{
	struct xray_write *x = l->x;
	struct out *o = &l->text;

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
