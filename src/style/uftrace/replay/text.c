/* Lines to text: stateless, on any thread. */
#include <stdio.h>

#include "style/uftrace/replay/replay.h"

enum { LINE_ROOM = 192, ADDR_WIDTH = 12, TIME_CELL = 18, TASK_WIDTH = 15, MODULE_WIDTH = 16 };

const struct style_field replay_columns[COLUMNS] = {
	[COLUMN_DURATION] = { "duration", NULL, " DURATION ", TIME_WIDTH },
	[COLUMN_TID] = { "tid", NULL, "   TID   ", TID_WIDTH + 2 },
	[COLUMN_ADDR] = { "addr", NULL, "   ADDRESS  ", ADDR_WIDTH },
	[COLUMN_TIME] = { "time", NULL, "     TIMESTAMP    ", TIME_CELL },
	[COLUMN_DELTA] = { "delta", NULL, " TIMEDELTA", TIME_WIDTH },
	[COLUMN_ELAPSED] = { "elapsed", NULL, "  ELAPSED ", TIME_WIDTH },
	[COLUMN_TASK] = { "task", NULL, "      TASK NAME", TASK_WIDTH },
	[COLUMN_MODULE] = { "module", NULL, "     MODULE NAME", MODULE_WIDTH },
};

/* --- columns --- */

static char *put_padded(char *p, const char *s, size_t len, size_t width)
{
	size_t pad = len < width ? width - len : 0;

	memset(p, ' ', pad);
	return put_text(p + pad, s, len);
}

/*
 * What stands for a track; of one that came to light while reading (--follow) it is made in `late`.
 */
static inline const struct replay_tid *tid_of(const struct replay *r, uint32_t track,
					      struct replay_tid *late)
{
	if (__builtin_expect(track < r->ntids, 1))
		return &r->tids[track];
	late->len = (uint8_t)snprintf(late->text, sizeof(late->text), " [%*lld] | ", TID_WIDTH,
				      (long long)trace_track(r->s.trace, track)->tid %
					      1000000000000000);
	return late;
}

static char *put_tid(const struct replay *r, char *p, uint32_t track)
{
	struct replay_tid late;
	const struct replay_tid *t = tid_of(r, track, &late);

	/* Without the blank in front and the bar after. */
	return put_text(p, t->text + 1, t->len - 4u);
}

static char *put_addr(char *p, const struct spur_event *cells)
{
	char hex[16];

	if (!cells->len)
		return put_padded(p, "", 0, ADDR_WIDTH);
	return put_padded(p, hex, (size_t)(put_hex(hex, cells->id & 0xffffffffffff) - hex),
			  ADDR_WIDTH);
}

static char *put_time(char *p, uint64_t ns)
{
	p = put_u64_w(p, ns / 1000000000, TIME_CELL - 10);
	*p++ = '.';
	return put_u64_0(p, ns % 1000000000, 9);
}

static char *put_name(const struct replay *r, char *p, uint32_t id, size_t width)
{
	size_t len;
	const char *s = trace_string(r->s.trace, id, &len);

	return put_padded(p, s, len < 64 ? len : 64, width);
}

static char *put_cell(const struct replay *r, char *p, enum replay_column c,
		      const struct shown_row *line, const struct spur_event *cells)
{
	switch (c) {
	case COLUMN_DURATION:
		return line->marks == LINE_BACKTRACE ? put_padded(p, "backtrace", 9, TIME_WIDTH)
						     : put_time_unit(p, (uint64_t)line->row.dur);
	case COLUMN_TID:
		return put_tid(r, p, line->row.track);
	case COLUMN_ADDR:
		return put_addr(p, cells);
	case COLUMN_TIME:
		return put_time(p, (uint64_t)cells->ts);
	case COLUMN_DELTA:
		return put_time_unit(p, cells->off);
	case COLUMN_ELAPSED:
		return put_time_unit(p, (uint64_t)cells->dur);
	case COLUMN_TASK:
		return put_name(r, p, cells->name, TASK_WIDTH);
	default:
		return put_name(r, p, cells->cls, MODULE_WIDTH);
	}
}

/* The columns and the bar after them. Room: 400 bytes. */
static char *put_columns(const struct replay *r, char *p, const struct shown_row *line,
			 const struct spur_event *cells)
{
	for (size_t i = 0; i < r->fields.count; i++) {
		*p++ = ' ';
		p = put_cell(r, p, r->fields.ids[i], line, cells);
	}
	return r->fields.count ? put_text(p, " | ", 3) : p;
}

/* Duration and tid, as most want them. */
static inline char *put_two_columns(const struct replay *r, char *p, const struct spur_event *row)
{
	struct replay_tid late;
	const struct replay_tid *t = tid_of(r, row->track, &late);

	*p++ = ' ';
	p = put_time_unit(p, (uint64_t)row->dur);
	memcpy(p, t->text, sizeof(t->text));
	return p + t->len;
}

static inline char *put_indent(char *p, size_t n)
{
	static const char blanks[] = "                                "
				     "                                ";

	memcpy(p, blanks, 64);
	if (__builtin_expect(n > 64, 0))
		memset(p, ' ', n);
	return p + n;
}

static void out_empty_columns(const struct replay *r, struct out *o)
{
	for (size_t i = 0; i < r->fields.count; i++)
		out_pad(o, ' ', (size_t)replay_columns[r->fields.ids[i]].width + 1);
	if (r->fields.count)
		out_str(o, " | ");
}

/* --- names and what follows them --- */

bool replay_make_name(struct replay *r, const struct spur_event *row)
{
	struct replay_name **page = &r->names[row->cls / TRACE_CLASS_PAGE % TRACE_CLASS_PAGES], *n;
	size_t len;
	const char *name = trace_string(r->s.trace, row->name, &len);
	bool paren = len && name[len - 1] == ')' &&
		     !(len > 10 && memcmp(name + len - 10, "operator()", 10) == 0);
	struct out text;

	if (!*page && !(*page = mem_array(TRACE_CLASS_PAGE, sizeof(**page))))
		return false;
	n = replay_name(r, row->cls);
	out_to_memory(&text);
	style_string(&text, name, len, r->mode);
	out_str(&text, paren ? " {\n" : "() {\n");
	n->open = (uint32_t)text.len;
	style_string(&text, name, len, r->mode);
	out_str(&text, paren ? ";\n" : "();\n");
	n->leaf = (uint32_t)text.len - n->open;
	if (r->own->lines.no_comment) {
		out_str(&text, "}\n");
	} else {
		out_str(&text, "} /* ");
		style_string(&text, name, len, r->mode);
		out_str(&text, " */\n");
	}
	n->close = (uint32_t)text.len - n->open - n->leaf;
	out_pad(&text, ' ', 2 * TEXT_BLOCK);
	n->special = style_special_of(&r->s, row->cls) != SPECIAL_NONE;
	n->text = text.error ? NULL : arena_strdup(&r->arena, text.buf, text.len);
	out_free(&text);
	return n->text != NULL;
}

static bool needs_paren(const char *name, size_t len, const struct spur_event *row)
{
	return row->nargs || !len || name[len - 1] != ')' ||
	       (len > 10 && memcmp(name + len - 10, "operator()", 10) == 0);
}

static void out_arguments(const struct replay *r, struct out *o, const struct spur_event *row,
			  const char *name, size_t len, struct spur_args *scratch)
{
	if (!needs_paren(name, len, row))
		return;
	if (row->nargs && !r->s.opt->no_args)
		style_args(r->s.trace, o, row, r->mode | ARGS_PAREN, scratch);
	else
		out_bytes(o, "()", 2);
}

/*
 * SPEC uftrace/libname: the name, with --libname that of the library after it which a library call
 * goes to
 */
static void out_name(const struct replay *r, struct out *o, const struct spur_event *row,
		     const char *name, size_t len)
{
	const struct event_class *c =
		r->own->lines.libname ? trace_class(r->s.trace, row->cls) : NULL;
	const char *library;

	style_string(o, name, len, r->mode);
	if (!c || !class_library(c))
		return;
	library = trace_string(r->s.trace, class_library(c), NULL);
	if (strrchr(library, '/'))
		library = strrchr(library, '/') + 1;
	out_char(o, '@');
	style_string(o, library, strlen(library), r->mode);
}

static void out_place(const struct replay *r, struct out *o, const struct spur_event *row)
{
	const struct event_class *c = r->own->lines.srcline && !r->own->lines.no_comment
					      ? trace_class(r->s.trace, row->cls)
					      : NULL;

	if (c && c->file && !(c->flags & (CLASS_LIBRARY | CLASS_KERNEL)))
		out_printf(o, " /* %s:%u */", trace_string(r->s.trace, c->file, NULL), c->line);
}

static void out_function(const struct replay *r, struct out *o, const struct shown_row *line,
			 const struct shown_row *value, struct spur_args *scratch)
{
	const struct spur_event *row = &line->row;
	size_t len;
	const char *name = trace_string(r->s.trace, row->name, &len);

	out_name(r, o, row, name, len);
	out_arguments(r, o, row, name, len, scratch);
	if (line->marks == LINE_OPEN) {
		out_bytes(o, " {", 2);
	} else {
		if (value && !r->s.opt->no_args)
			style_args(r->s.trace, o, &value->row, r->mode | ARGS_ASSIGN, scratch);
		out_char(o, ';');
	}
	out_place(r, o, row);
	out_char(o, '\n');
}

static void out_close(const struct replay *r, struct out *o, const struct spur_event *row,
		      struct spur_args *scratch)
{
	size_t len;
	const char *name = trace_string(r->s.trace, row->name, &len);

	out_char(o, '}');
	if (row->nargs && !r->s.opt->no_args) {
		style_args(r->s.trace, o, row, r->mode | ARGS_ASSIGN, scratch);
		out_char(o, ';');
	}
	if (!r->own->lines.no_comment) {
		out_bytes(o, " /* ", 4);
		out_name(r, o, row, name, len);
		out_bytes(o, " */", 3);
	}
	out_char(o, '\n');
}

static void out_event(const struct replay *r, struct out *o, const struct spur_event *row,
		      struct spur_args *scratch)
{
	size_t len, before;
	const char *name = style_event_name(r->s.trace, row, &len);

	if (row->id == UFTRACE_EV_CALLSITE && row->kind == SPUR_INSTANT) {
		out_bytes(o, "from ", 5);
		style_event_data(r->s.trace, o, row, true, r->mode, scratch);
		return;
	}
	style_string(o, name, len, r->mode);
	if (row->kind == SPUR_LOG && row->id == UFTRACE_EV_EXTERN) {
		out_bytes(o, ": ", 2);
		style_event_data(r->s.trace, o, row, true, r->mode, scratch);
		return;
	}
	if (row->id >= UFTRACE_EV_USER && row->kind != SPUR_SWITCH)
		return;
	before = o->len;
	out_bytes(o, " (", 2);
	if (style_event_data(r->s.trace, o, row, true, r->mode, scratch))
		out_char(o, ')');
	else if (o->len >= before + 2)
		o->len -= 2;
}

/* --- lines --- */

static void out_rare(const struct replay *r, struct out *o, const struct shown_row *line,
		     struct spur_args *scratch)
{
	const struct spur_event *row = &line->row;
	size_t len;
	const char *name;

	switch ((enum replay_line)line->marks) {
	case LINE_EVENT:
		out_bytes(o, "/* ", 3);
		out_event(r, o, row, scratch);
		out_bytes(o, " */\n", 4);
		break;
	case LINE_LOST:
		if (row->id)
			out_printf(o, "/* LOST %llu records!! */\n", (unsigned long long)row->id);
		else
			out_str(o, "/* LOST some records!! */\n");
		break;
	default:
		name = trace_string(r->s.trace, row->name, &len);
		out_printf(o, "/* [%2d] ", row->depth);
		if (row->name)
			style_string(o, name, len, r->mode);
		else
			out_printf(o, "<%llx>", (unsigned long long)row->id);
		out_bytes(o, " */\n", 4);
	}
}

/* A function without arguments, in one piece. False: not this line. */
static inline bool out_plain(const struct replay *r, struct out *o, const struct shown_row *line,
			     const struct shown_row *value)
{
	const uint32_t is = line->marks;
	const struct replay_name *n;
	size_t len, from;
	char *p;

	if (line->row.nargs || value || r->wordy || is > LINE_CLOSE)
		return false;
	n = replay_name(r, line->row.cls);
	len = is == LINE_LEAF ? n->leaf : is == LINE_OPEN ? n->open : n->close;
	from = is == LINE_OPEN ? 0 : is == LINE_LEAF ? n->open : n->open + n->leaf;
	p = out_room(o, len + TEXT_BLOCK);
	if (p)
		o->len += (size_t)(put_padded_text(p, n->text + from, len) - p);
	return true;
}

static void out_line(const struct replay *r, struct out *o, const struct shown_row *line,
		     const struct spur_event *cells, const struct shown_row *value,
		     struct spur_args *scratch)
{
	size_t indent = line->marks == LINE_BACKTRACE ? 0 : 2 * (size_t)line->row.depth;
	char *p = out_room(o, LINE_ROOM + 400 + indent);

	if (!p)
		return;
	p = r->quick_columns && line->marks != LINE_BACKTRACE ? put_two_columns(r, p, &line->row)
							      : put_columns(r, p, line, cells);
	p = put_indent(p, indent);
	out_to(o, p);
	if (out_plain(r, o, line, value))
		return;
	if (line->marks <= LINE_VALUE)
		out_function(r, o, line, value, scratch);
	else if (line->marks == LINE_CLOSE)
		out_close(r, o, &line->row, scratch);
	else
		out_rare(r, o, line, scratch);
}

void replay_render(const void *self, const struct shown_row *rows, size_t n, struct out *o,
		   struct spur_args *scratch)
{
	const struct replay *r = self;
	const struct spur_event none = { 0 }, *cells = &none;

	for (size_t i = 0; i < n; i++) {
		const struct shown_row *line = &rows[i];
		const struct shown_row *value =
			i + 1 < n && rows[i + 1].marks == LINE_VALUE ? line + 1 : NULL;

		switch (line->marks) {
		case LINE_CELLS:
			cells = &line->row;
			break;
		case LINE_VALUE:
			break;
		case LINE_NEWLINE:
			out_empty_columns(r, o);
			out_char(o, '\n');
			break;
		case LINE_BACK:
			out_empty_columns(r, o);
			out_pad(o, ' ', 2 * (size_t)line->row.depth + 1);
			out_str(o, "/* inverted time: broken data? */\n");
			break;
		default:
			out_line(r, o, line, cells, value, scratch);
		}
	}
}

/* --- --flat --- */

static void out_flat_event(const struct replay *r, struct out *o, const struct spur_event *row,
			   struct spur_args *scratch)
{
	out_event(r, o, row, scratch);
	out_printf(o, " time (%llu)\n", (unsigned long long)row->ts);
}

void replay_flat_render(const void *self, const struct shown_row *rows, size_t n, struct out *o,
			struct spur_args *scratch)
{
	const struct replay *r = self;

	for (size_t i = 0; i < n; i++) {
		const struct spur_event *row = &rows[i].row;
		const struct spur_track *k = trace_track(r->s.trace, row->track);
		long long tid = k ? (long long)k->tid : -1;
		unsigned long long ts = (unsigned long long)row->ts;

		out_printf(o, "[%u] ", rows[i].marks);
		if (row->kind == SPUR_LOST) {
			out_printf(o, "XXX %lld: lost %llu records\n", tid,
				   (unsigned long long)row->id);
			continue;
		}
		if (row->kind != SPUR_BEGIN && row->kind != SPUR_END_SPAN) {
			out_printf(o, "!!! %lld: ", tid);
			out_flat_event(r, o, row, scratch);
			continue;
		}
		out_printf(o, "%s %lld/%u: ip (", row->kind == SPUR_BEGIN ? "==>" : "<==", tid,
			   style_depth(row));
		style_string(o, trace_string(r->s.trace, row->name, NULL),
			     strlen(trace_string(r->s.trace, row->name, NULL)), r->mode);
		if (row->kind == SPUR_BEGIN)
			out_printf(o, "), time (%llu)\n", ts);
		else
			out_printf(o, "), time (%llu:%llu)\n", ts, (unsigned long long)row->dur);
	}
}
