/* See typed.h. */
#include "view/typed.h"

#include <math.h>
#include <string.h>

/* Deeper values, and longer bytes, are equal to nothing (flow/where.h). */
enum { DEPTH_MOST = 64, HEX_MOST = 256 };

bool typed_is_plain(const struct spur_value *v)
{
	return (v->type == SPUR_I64 || v->type == SPUR_U64) && v->show == SPUR_SHOW_PLAIN &&
	       !v->unreliable;
}

static void put_number(const struct spur_value *v, bool is_signed, struct out *o)
{
	if (is_signed)
		out_printf(o, "{\"n\":\"%lld\"", (long long)v->i);
	else
		out_printf(o, "{\"n\":\"%llu\"", (unsigned long long)v->u);
	/* The labels of bytes and floats are no text to compare. */
	if (v->label && v->type != SPUR_I64 && v->type != SPUR_U64 && v->type != SPUR_BOOL) {
		out_str(o, ",\"l\":");
		out_json(o, v->label, strlen(v->label));
	}
	out_char(o, '}');
}

static void put_real(const struct spur_value *v, struct out *o)
{
	out_str(o, "{\"f\":");
	if (isfinite(v->f))
		out_json_double(o, v->f, false);
	else
		out_str(o, isnan(v->f) ? "\"NaN\"" : v->f > 0 ? "\"Infinity\"" : "\"-Infinity\"");
	out_printf(o, ",\"s\":%u}", v->size);
}

static void put_bytes(const struct spur_value *v, struct out *o)
{
	out_str(o, "{\"b\":");
	if (v->count > HEX_MOST) {
		out_str(o, "null}");
		return;
	}
	out_char(o, '"');
	for (uint32_t i = 0; i < v->count; i++)
		out_printf(o, "%02x", (unsigned char)v->text[i]);
	out_str(o, "\"}");
}

static void put_value(const struct spur_trace *t, const struct spur_value *v, unsigned depth,
		      struct out *o);

static void put_items(const struct spur_trace *t, const struct spur_value *v, unsigned depth,
		      struct out *o)
{
	const bool members = v->type == SPUR_STRUCT;

	out_str(o, members ? "{\"m\":[" : "{\"a\":[");
	for (uint32_t i = 0; i < v->count; i++) {
		size_t len;
		const char *const name = spur_string(t, v->items[i].name, &len);

		if (i)
			out_char(o, ',');
		if (members) {
			out_char(o, '[');
			out_json(o, name, len);
			out_char(o, ',');
		}
		put_value(t, &v->items[i], depth + 1, o);
		if (members)
			out_char(o, ']');
	}
	out_str(o, "]}");
}

static void put_value(const struct spur_trace *t, const struct spur_value *v, unsigned depth,
		      struct out *o)
{
	switch (depth > DEPTH_MOST ? SPUR_BYTES : (enum spur_type)v->type) {
	case SPUR_NULL:
		out_str(o, "null");
		break;
	case SPUR_STRING:
		out_json(o, v->text, v->count);
		break;
	case SPUR_F64:
		put_real(v, o);
		break;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		put_items(t, v, depth, o);
		break;
	case SPUR_BYTES:
		if (depth > DEPTH_MOST)
			out_str(o, "{\"b\":null}");
		else
			put_bytes(v, o);
		break;
	case SPUR_I64:
	case SPUR_ENUM:
		put_number(v, true, o);
		break;
	default:
		put_number(v, false, o);
		break;
	}
}

void typed_json(const struct spur_trace *t, const struct spur_value *v, struct out *o)
{
	put_value(t, v, 0, o);
}
