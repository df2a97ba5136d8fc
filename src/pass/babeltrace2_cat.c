/*
 * cat in the words of babeltrace2's text output (its sink text.pretty with default options), for scripts that read it:
 * of CTF traces. Warnings about lost events are diagnostics here, as everywhere.
 *
 * Events are ordered and told their distance from the one before on one thread; lines are made on all.
 */
#include <ctype.h>
#include <stdio.h>
#include <time.h>

#include "format/ctf/reader.h"
#include "pass/pass.h"

enum { NESTING = 128, DAY = 86400 };

static const int64_t no_time = INT64_MIN;

struct pretty {
	struct spur_trace *trace;
	struct ctf *ctf;
	int64_t last; /* time of the row before; no_time: there is none */
	uint64_t shown;
};

/* --- values --- */

static void out_value(const struct spur_trace *t, const struct spur_value *v, struct out *o,
		      unsigned depth);

/* As in a C string: quotes, backslash and question mark too. */
static void out_escaped(struct out *o, const char *s, size_t len)
{
	static const char from[] = "\a\b\f\n\r\t\v\033", to[] = "abfnrtve";

	out_char(o, '"');
	for (size_t i = 0; i < len; i++) {
		const char *found = s[i] ? strchr(from, s[i]) : NULL;

		if (s[i] == '\\' || s[i] == '\'' || s[i] == '"' || s[i] == '?')
			out_char(o, '\\');
		if (found) {
			out_char(o, '\\');
			out_char(o, to[found - from]);
		} else if (!s[i]) {
			out_str(o, "\\0");
		} else if ((unsigned char)s[i] < ' ' || s[i] == 127) {
			out_printf(o, "\\x%02x", (unsigned char)s[i]);
		} else {
			out_char(o, s[i]);
		}
	}
	out_char(o, '"');
}

static void out_int(const struct spur_value *v, bool is_signed, struct out *o)
{
	const unsigned bits = v->size ? 8u * v->size : 64;
	uint64_t u = v->u;

	if (v->show != SPUR_SHOW_PLAIN && bits < 64)
		u &= ((uint64_t)1 << bits) - 1;
	switch (v->show) {
	case SPUR_SHOW_HEX:
		out_printf(o, "0x%llX", (unsigned long long)u);
		break;
	case SPUR_SHOW_OCTAL:
		out_printf(o, "0%llo", (unsigned long long)u);
		break;
	case SPUR_SHOW_BINARY:
		out_str(o, "0b");
		for (unsigned i = bits; i-- > 0;)
			out_char(o, u >> i & 1 ? '1' : '0');
		break;
	default:
		if (is_signed)
			out_i64(o, v->i);
		else
			out_u64(o, v->u);
	}
}

/* Labels of a value, which are joined by a unit separator: "A" or { "A", "B" }. */
static void out_labels(const char *label, bool braces, struct out *o)
{
	struct text rest = text_of(label), one;
	bool first = true;

	if (braces)
		out_str(o, "{ ");
	while (text_split(&rest, CTF_LABELS_BETWEEN, &one)) {
		out_str(o, first ? "\"" : ", \"");
		out_bytes(o, one.p, one.len);
		out_char(o, '"');
		first = false;
	}
	if (braces)
		out_str(o, " }");
}

static void out_enum(const struct spur_value *v, struct out *o)
{
	/* Of flags (bit maps) the number comes first. */
	if (v->count == CTF_ENUM_FLAGS) {
		out_printf(o, "0x%llX", (unsigned long long)v->u);
		if (v->label) {
			out_char(o, ' ');
			out_labels(v->label, true, o);
		}
		return;
	}
	out_str(o, "( ");
	if (v->label)
		out_labels(v->label, strchr(v->label, CTF_LABELS_BETWEEN) != NULL, o);
	else
		out_str(o, "<unknown>");
	out_str(o, " : container = ");
	out_int(v, v->count == CTF_ENUM_SIGNED, o);
	out_str(o, " )");
}

static void out_items(const struct spur_trace *t, const struct spur_value *v, struct out *o,
		      unsigned depth)
{
	const bool array = v->type == SPUR_ARRAY;

	out_str(o, array ? "[ " : "{ ");
	for (uint32_t i = 0; i < v->count && depth < NESTING; i++) {
		if (i)
			out_str(o, ", ");
		if (array)
			out_printf(o, "[%u] = ", i);
		else
			out_printf(o, "%s = ", spur_string(t, v->items[i].name, NULL));
		out_value(t, &v->items[i], o, depth + 1);
	}
	out_str(o, v->count ? array ? " ]" : " }" : array ? "]" : "}");
}

static void out_value(const struct spur_trace *t, const struct spur_value *v, struct out *o,
		      unsigned depth)
{
	switch ((enum spur_type)v->type) {
	case SPUR_NULL:
		out_str(o, "<none>");
		break;
	case SPUR_BOOL:
		out_str(o, v->u ? "true" : "false");
		break;
	case SPUR_I64:
		out_int(v, true, o);
		break;
	case SPUR_F64:
		out_printf(o, "%g", v->f);
		break;
	case SPUR_STRING:
		out_escaped(o, v->text, v->count);
		break;
	case SPUR_BYTES:
		out_str(o, "0x");
		for (uint32_t i = 0; i < v->count; i++)
			out_printf(o, "%02X", (unsigned char)v->text[i]);
		break;
	case SPUR_ENUM:
		out_enum(v, o);
		break;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		out_items(t, v, o, depth);
		break;
	default:
		out_int(v, false, o);
		break;
	}
}

/* --- lines --- */

/* Time of day where the program runs, as the local time zone has it. */
static void out_clock(struct out *o, int64_t ns)
{
	static _Thread_local int64_t last = INT64_MIN;
	static _Thread_local char text[16];
	int64_t s = ns / 1000000000, rest = ns % 1000000000;
	const time_t when = (time_t)(rest < 0 ? s - 1 : s);
	struct tm tm;

	if (rest < 0) {
		rest += 1000000000;
		s--;
	}
	if (s != last) {
		localtime_r(&when, &tm);
		snprintf(text, sizeof(text), "[%02d:%02d:%02d.", tm.tm_hour % 24, tm.tm_min % 60,
			 tm.tm_sec % 62);
		last = s;
	}
	out_bytes(o, text, 10);
	out_printf(o, "%09lld] ", (long long)rest);
}

static void out_delta(struct out *o, int64_t delta)
{
	if (delta == no_time) {
		out_str(o, "(+?.");
		out_pad(o, '?', 9);
		out_str(o, ") ");
	} else {
		out_printf(o, "(+%lld.%09lld) ", (long long)(delta / 1000000000),
			   (long long)(delta % 1000000000));
	}
}

/* Scopes after the name: those that have a class, empty ones too. */
static void out_scopes(const struct pretty *p, const struct spur_args *args,
		       const struct ctf_field *context, struct out *o)
{
	bool first = true;

	for (size_t i = 0; i < args->count; i++) {
		struct spur_value v = args->items[i];
		struct spur_value kept[64];
		uint32_t n = 0;

		/* Of the packet's context only what has no meaning to the reader, and the processor. */
		for (uint32_t k = 0;
		     !i && context && k < v.count && k < context->nmembers && n < 64; k++)
			if (!(context->members[k].field->roles & ~(uint32_t)CTF_ROLE_CPU))
				kept[n++] = v.items[k];
		if (!i && context) {
			v.items = kept;
			v.count = n;
			if (!n)
				continue;
		}
		if (v.type != SPUR_STRUCT)
			continue;
		out_str(o, first ? "" : ", ");
		out_items(p->trace, &v, o, 0);
		first = false;
	}
}

static void out_event(const struct pretty *p, const struct spur_event *row, struct out *o,
		      struct spur_args *args)
{
	struct ctf_place_of at;
	enum spur_status st;

	if (!ctf_event_values(p->ctf, row, args, &at, &st))
		return;
	if (at.class->class->clock) {
		out_clock(o, row->ts + p->ctf->epoch_base);
		out_delta(o, row->dur);
	}
	out_bytes(o, at.trace->head, at.trace->head_len);
	out_str(o, spur_string(p->trace, at.event->name, NULL));
	out_str(o, ": ");
	out_scopes(p, args, at.class->class->packet_context, o);
	out_char(o, '\n');
}

static void pretty_render(const void *self, const struct spur_event *rows, size_t n, struct out *o,
			  struct spur_args *args)
{
	for (size_t i = 0; i < n; i++)
		out_event(self, &rows[i], o, args);
}

static bool pretty_stage(void *self, struct spur_event *rows, size_t n, struct render_rows *out)
{
	struct pretty *p = self;

	for (size_t i = 0; i < n; i++) {
		struct spur_event *row;

		if (rows[i].kind == SPUR_LOST || rows[i].kind == SPUR_NATIVE)
			continue;
		row = render_add(out);
		if (!row)
			return false;
		*row = rows[i];
		row->dur = p->last == no_time	  ? no_time
			   : rows[i].ts > p->last ? rows[i].ts - p->last
						  : 0;
		p->last = rows[i].ts;
		p->shown++;
	}
	return true;
}

static enum spur_status pretty_run(struct pass_env *env)
{
	static const struct pipe_render render = { pretty_stage, pretty_render };
	struct pretty p = { .trace = env->trace, .last = no_time };

	if (strcmp(env->trace->format->name, "ctf") != 0)
		return err_set(env->err, SPUR_ERR_USAGE,
			       "--style=babeltrace2: expected a CTF trace, found %s",
			       env->trace->format->name);
	p.ctf = env->trace->state;
	tzset();
	if (pipe_run_render(env->trace, &env->pipe, &render, &p, env->out) == SPUR_FAIL)
		return err_nomem(env->err);
	return p.shown ? SPUR_OK : SPUR_WARN;
}

const struct spur_pass spur_pass_babeltrace2_cat = {
	.name = "cat.babeltrace2",
	.no_spans = true,
	.run = pretty_run,
};
