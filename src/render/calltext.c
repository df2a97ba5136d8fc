/* Lines of nested calls. See calltext.h. */
#include "render/calltext.h"

#include <assert.h>

#include "flow/args.h"
#include "render/value.h"

enum {
	INDENT_MAX = 64, /* levels; deeper lines show their depth as a number */
	NAME_WIDTH = 4096, /* columns of a name; longer ones are cut */
	PREFIX_ROOM = 1024, /* columns, colours and indentation of a line, and words */
};

static const char *const column_names[] = { "time", "duration", "tid",	"pid", "task",
					    "cpu",  "module",	"addr", NULL };

static inline char *put_bytes(char *p, const char *s, size_t len)
{
	memcpy(p, s, len);
	return p + len;
}

static inline char *put_str(char *p, const char *s)
{
	return put_bytes(p, s, strlen(s));
}

static inline char *put_blanks(char *p, size_t n)
{
	memset(p, ' ', n);
	return p + n;
}

/* ---- names ---- */

/* Moves the scratch text to the arena; CALLTEXT_SHORT bytes of it can be read in any case. */
static const char *name_keep(struct calltext *c, uint32_t *len)
{
	static const char none[CALLTEXT_SHORT];
	const size_t n = c->scratch.len;
	char *p;

	*len = (uint32_t)n;
	if (c->scratch.error)
		return NULL;
	if (!n)
		return none;
	p = arena_chars(&c->arena, n < CALLTEXT_SHORT ? CALLTEXT_SHORT : n);
	if (p)
		memcpy(p, c->scratch.buf, n);
	out_clear(&c->scratch);
	return p;
}

static bool has_column(const struct calltext *c, enum calltext_column column)
{
	for (size_t i = 0; i < c->ncolumns; i++)
		if (c->columns[i] == (int)column)
			return true;
	return false;
}

static bool name_fill(struct calltext *c, struct shown_name *n, const struct event_class *cls)
{
	const struct spur_trace *t = c->env.trace;
	const char *module = cell_basename(trace_string(t, cls->module, NULL)), *text;
	size_t len;

	/* INVARIANT: a name is made once: other threads read it without a lock. */
	assert(!n->text);
	out_clear(&c->scratch);
	if (has_column(c, CALLCOL_MODULE))
		out_cell(&c->scratch, module, strlen(module), c->widths[CALLCOL_MODULE],
			 c->widths[CALLCOL_MODULE]);
	n->module = name_keep(c, &n->module_len);
	text = trace_string(t, cls->file, &len);
	if (c->own->srcline && len) {
		out_str(&c->scratch, " /* ");
		out_safe(&c->scratch, text, len);
		if (cls->line)
			out_printf(&c->scratch, ":%u", cls->line);
		out_str(&c->scratch, " */");
	}
	n->where = name_keep(c, &n->where_len);
	text = trace_string(t, cls->name, &len);
	out_cell(&c->scratch, text, len, NAME_WIDTH, 0);
	if (cls->flags & CLASS_LIBRARY)
		module = cell_basename(trace_string(t, class_library(cls), NULL));
	if (c->own->libname && *module) {
		out_char(&c->scratch, '@');
		out_safe(&c->scratch, module, strlen(module));
	}
	text = name_keep(c, &n->len);
	n->plain = n->len <= CALLTEXT_SHORT && !n->where_len && !n->marks && !n->color;
	if (n->module && n->where)
		__atomic_store_n(&n->text, text, __ATOMIC_RELEASE);
	return n->module && n->where && text;
}

static bool name_make(struct calltext *c, uint32_t cls)
{
	static const struct event_class none;
	struct shown_name *page = c->names[cls / CALLTEXT_PAGE], *n;
	unsigned marks;

	assert(cls / CALLTEXT_PAGE < CALLTEXT_PAGES);
	if (!page) {
		page = mem_array(CALLTEXT_PAGE, sizeof(*page));
		if (!page)
			return false;
		__atomic_store_n(&c->names[cls / CALLTEXT_PAGE], page, __ATOMIC_RELEASE);
	}
	n = &page[cls % CALLTEXT_PAGE];
	if (n->text)
		return true;
	marks = c->env.filter ? filter_marks(c->env.filter, cls) : 0;
	n->marks = (uint8_t)marks;
	n->color = (uint8_t)(marks >> FILTER_MARK_COLOR);
	return name_fill(c, n, cls ? trace_class(c->env.trace, cls) : &none);
}

bool calltext_make_name(struct calltext *c, uint32_t cls)
{
	bool good;

	pthread_mutex_lock(&c->lock);
	good = name_make(c, cls);
	pthread_mutex_unlock(&c->lock);
	return good;
}

/* ---- columns ---- */

/* Appends text of the trace, cut and padded to a column. */
static char *put_padded(char *p, const char *s, size_t len, size_t width)
{
	size_t n = len < width ? len : width;

	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)s[i] >= 0x20 && (uint8_t)s[i] < 0x7f ? s[i] : '?';
	return put_blanks(p + n, width - n);
}

static char *put_number(char *p, int64_t v, unsigned width)
{
	return v == -1 ? put_blanks(p, width) : put_u64_w(p, (uint64_t)v, width);
}

static const char *duration_color(int64_t ns)
{
	return ns >= 1000000000 ? "\033[1;31m"
	       : ns >= 10000000 ? "\033[31m"
	       : ns >= 1000000	? "\033[33m"
				: NULL;
}

static char *put_duration(char *p, const struct calltext *c, int64_t ns)
{
	const char *color = c->env.opt->color ? duration_color(ns) : NULL;

	if (c->env.opt->raw)
		return put_u64_w(p, (uint64_t)ns, c->widths[CALLCOL_DURATION]);
	if (!color)
		return put_time(p, (uint64_t)ns);
	p = put_time(put_str(p, color), (uint64_t)ns);
	return put_str(p, "\033[0m");
}

static char *put_column(char *p, const struct calltext *c, const struct spur_event *row,
			const struct shown_name *n, int column, bool timed)
{
	const struct spur_track *k = trace_track(c->env.trace, row->track);
	size_t len = 0;
	const char *s;

	switch (column) {
	case CALLCOL_TIME:
		return put_when(p, &c->when, row->ts, c->widths[CALLCOL_TIME]);
	case CALLCOL_DURATION:
		return timed ? put_duration(p, c, row->dur)
			     : put_blanks(p, c->widths[CALLCOL_DURATION]);
	case CALLCOL_TID:
		return put_number(p, k ? k->tid : -1, c->widths[CALLCOL_TID]);
	case CALLCOL_PID:
		return put_number(p, k ? k->pid : -1, c->widths[CALLCOL_PID]);
	case CALLCOL_TASK:
		s = k ? trace_string(c->env.trace, k->name, &len) : "";
		return put_padded(p, s, len, c->widths[CALLCOL_TASK]);
	case CALLCOL_CPU:
		return put_number(p, row->cpu == SPUR_NO_CPU ? -1 : row->cpu,
				  c->widths[CALLCOL_CPU]);
	case CALLCOL_MODULE:
		return put_bytes(p, n->module, n->module_len);
	default:
		p = put_blanks(p, c->widths[CALLCOL_ADDR]);
		len = (size_t)(put_hex(p, row->id) - p);
		memmove(p - len, p, len);
		return p;
	}
}

/* Writes the columns of a line. */
static __attribute__((noinline)) char *put_prefix_any(char *p, const struct calltext *c,
						      const struct spur_event *row,
						      const struct shown_name *n, bool timed)
{
	size_t depth = c->own->flat ? 0 : row->depth;

	assert(c->ncolumns <= CALLCOLS);
	for (size_t i = 0; i < c->ncolumns; i++) {
		p = put_column(p, c, row, n, c->columns[i], timed);
		*p++ = ' ';
	}
	if (c->ncolumns)
		p = put_str(p, c->env.opt->ascii ? "| " : "│ ");
	if (depth > INDENT_MAX) {
		p = put_blanks(p, (size_t)INDENT_MAX * 2);
		*p++ = '[';
		p = put_u64(p, depth);
		return put_str(p, "] ");
	}
	return put_blanks(p, 2 * depth);
}

void calltext_retrack(const struct calltext *c, struct calltext_pen *pen, uint32_t track)
{
	const struct spur_event row = { .track = track };
	char text[PREFIX_ROOM], *p = text;

	/* Other columns depend on more than the track. */
	assert(c->quick);
	for (size_t i = 1; i < c->ncolumns; i++) {
		*p++ = ' ';
		p = put_column(p, c, &row, NULL, c->columns[i], false);
	}
	p = put_str(p, c->env.opt->ascii ? " | " : " │ ");
	assert(p - text <= PREFIX_ROOM);
	pen->track = track;
	pen->len = p - text <= CALLTEXT_QUICK ? (uint32_t)(p - text) : 0;
	memcpy(pen->text, text, CALLTEXT_QUICK);
}

/*
 * The same for the default columns, by copies of fixed size, which may write past the returned end,
 * but not past PREFIX_ROOM.
 */
static inline char *put_prefix(char *p, const struct calltext *c, struct calltext_pen *pen,
			       const struct spur_event *row, const struct shown_name *n, bool timed)
{
	if (__builtin_expect(!c->quick || row->depth > CALLTEXT_DEPTH, 0))
		return put_prefix_any(p, c, row, n, timed);
	if (__builtin_expect(pen->track != row->track || !pen->len, 0)) {
		calltext_retrack(c, pen, row->track);
		if (!pen->len)
			return put_prefix_any(p, c, row, n, timed);
	}
	if (timed)
		put_time(p, (uint64_t)row->dur);
	else
		memset(p, ' ', CELL_TIME);
	memcpy(p + CELL_TIME, pen->text, CALLTEXT_QUICK);
	p += CELL_TIME + pen->len;
	memset(p, ' ', (size_t)2 * CALLTEXT_DEPTH);
	return p + 2 * row->depth;
}

/* ---- lines ---- */

/*
 * Copies a name; short ones, as most are, in one copy of fixed size. Requires room for
 * CALLTEXT_SHORT bytes more than the name has.
 */
static inline char *put_name(char *p, const struct shown_name *n)
{
	memcpy(p, n->text, CALLTEXT_SHORT);
	if (__builtin_expect(n->len > CALLTEXT_SHORT, 0))
		memcpy(p + CALLTEXT_SHORT, n->text + CALLTEXT_SHORT, n->len - CALLTEXT_SHORT);
	return p + n->len;
}

/* Starts a line with room for the name, CALLTEXT_SHORT and all other parts of a line. */
static inline char *line_room(struct out *o, const struct shown_name *n)
{
	return out_room(o, PREFIX_ROOM + n->len + n->where_len + (size_t)n->module_len * CALLCOLS +
				   CALLTEXT_SHORT);
}

static inline bool row_has_args(const struct calltext *c, const struct spur_event *row,
				const struct shown_name *n)
{
	return row->nargs && !c->env.opt->no_args && !(n->marks & FILTER_MARK_NOARGS);
}

static void out_args(const struct calltext *c, struct calltext_pen *pen,
		     const struct spur_event *row, struct out *o)
{
	enum spur_status st = trace_args(c->env.trace, row, &pen->args);

	args_text_list(&c->values, &pen->args, false, o);
	if (st != SPUR_OK)
		out_str(o, pen->args.count ? ", <damaged>" : "<damaged>");
}

static const char *name_color(unsigned color)
{
	static const char *const colors[] = {
		[FILTER_RED] = "\033[31m",     [FILTER_GREEN] = "\033[32m",
		[FILTER_BLUE] = "\033[34m",    [FILTER_YELLOW] = "\033[33m",
		[FILTER_MAGENTA] = "\033[35m", [FILTER_CYAN] = "\033[36m",
		[FILTER_BOLD] = "\033[1m",     [FILTER_GRAY] = "\033[90m",
	};

	return color < sizeof(colors) / sizeof(*colors) && colors[color] ? colors[color] : "";
}

static char *put_colored_name(char *p, const struct shown_name *n)
{
	p = put_name(put_str(p, name_color(n->color)), n);
	return put_str(p, "\033[0m");
}

static char *put_tail_note(char *p, const struct calltext *c)
{
	return put_str(p,
		       c->env.opt->color ? "\033[90m /* tail call */\033[0m" : " /* tail call */");
}

void calltext_begin(const struct calltext *c, struct calltext_pen *pen,
		    const struct shown_row *shown, const struct shown_name *n, struct out *o)
{
	const struct spur_event *row = &shown->row;
	bool leaf = shown->marks & CALLTEXT_IS_LEAF || row->kind == SPUR_SPAN;
	char *p = line_room(o, n);

	if (!p)
		return;
	p = put_prefix(p, c, pen, row, n, leaf);
	p = __builtin_expect(n->color && c->env.opt->color, 0) ? put_colored_name(p, n)
								: put_name(p, n);
	*p++ = '(';
	if (__builtin_expect(row->nargs, 0) && row_has_args(c, row, n)) {
		out_to(o, p);
		out_args(c, pen, row, o);
		p = out_room(o, PREFIX_ROOM + n->where_len);
		if (!p)
			return;
	}
	*p++ = ')';
	if (!(shown->marks & CALLTEXT_HAS_VALUE)) {
		memcpy(p, leaf ? "; " : " {", 2);
		p += leaf ? 1 : 2;
		if (__builtin_expect(n->where_len, 0))
			p = put_bytes(p, n->where, n->where_len);
		if (__builtin_expect(shown->marks & CALLTEXT_IS_LEFT, 0))
			p = put_tail_note(p, c);
		*p++ = '\n';
	}
	out_to(o, p);
}

void calltext_return(const struct calltext *c, struct calltext_pen *pen,
		     const struct shown_row *shown, const struct shown_name *n, struct out *o)
{
	const struct spur_event *row = &shown->row;
	char *p;

	if (row_has_args(c, row, n)) {
		out_str(o, " = ");
		out_args(c, pen, row, o);
	}
	p = out_room(o, PREFIX_ROOM + n->where_len);
	if (!p)
		return;
	*p++ = ';';
	p = put_bytes(p, n->where, n->where_len);
	if (row->flags & SPUR_F_TAIL)
		p = put_tail_note(p, c);
	*p++ = '\n';
	out_to(o, p);
}

static const char *end_note(const struct spur_event *row)
{
	const bool tail = row->flags & SPUR_F_TAIL;

	if (!(row->flags & (SPUR_F_IMPLIED | SPUR_F_ORPHAN)))
		return tail ? ": tail call" : "";
	if (!(row->flags & SPUR_F_IMPLIED))
		return tail ? ": no begin, tail call" : ": no begin";
	return row->flags & SPUR_F_ORPHAN ? ": still open" : ": no end";
}

void calltext_end(const struct calltext *c, struct calltext_pen *pen, const struct shown_row *shown,
		  const struct shown_name *n, struct out *o)
{
	const struct spur_event *row = &shown->row;
	bool odd = row->flags & (SPUR_F_IMPLIED | SPUR_F_ORPHAN | SPUR_F_TAIL),
	     color = c->env.opt->color;
	char *p = line_room(o, n);

	if (!p)
		return;
	p = put_prefix(p, c, pen, row, n,
		       !(row->flags & SPUR_F_ORPHAN) || row->flags & SPUR_F_IMPLIED);
	*p++ = '}';
	if (__builtin_expect(row->nargs, 0) && row_has_args(c, row, n)) {
		out_to(o, put_str(p, " = "));
		out_args(c, pen, row, o);
		p = out_room(o, PREFIX_ROOM + n->len + CALLTEXT_SHORT);
		if (!p)
			return;
		*p++ = ';';
	}
	if (!c->own->no_comment || odd) {
		p = color ? put_str(p, "\033[90m /* ") : put_str(p, " /* ");
		p = put_name(p, n);
		if (__builtin_expect(odd, 0))
			p = put_str(p, end_note(row));
		p = color ? put_str(p, " */\033[0m") : put_str(p, " */");
	}
	*p++ = '\n';
	out_to(o, p);
}

static const char *kind_word(unsigned kind)
{
	static const char *const words[SPUR_KINDS] = {
		[SPUR_ASYNC_BEGIN] = "async begin ",
		[SPUR_ASYNC_INSTANT] = "async ",
		[SPUR_ASYNC_END] = "async end ",
		[SPUR_FLOW_BEGIN] = "flow begin ",
		[SPUR_FLOW_STEP] = "flow ",
		[SPUR_FLOW_END] = "flow end ",
		[SPUR_WAKEUP] = "wakes ",
		[SPUR_SAMPLE] = "sample ",
		[SPUR_BLOB] = "blob ",
	};

	return kind < SPUR_KINDS && words[kind] ? words[kind] : "";
}

static const char *switch_text(const struct spur_event *row)
{
	if (!(row->flags & SPUR_F_OUT))
		return "back on CPU";
	return row->flags & SPUR_F_PREEMPTED ? "off CPU, preempted" : "off CPU";
}

/* Returns the row's only argument if it is a text, else NULL. */
static const struct spur_value *lone_text(const struct calltext *c, struct calltext_pen *pen,
					  const struct spur_event *row)
{
	if (row->nargs != 1 || trace_args(c->env.trace, row, &pen->args) != SPUR_OK ||
	    pen->args.count != 1 || pen->args.items->type != SPUR_STRING)
		return NULL;
	return pen->args.items;
}

/*
 * Writes a LOG of one text as that text, an event inside a function with one text as the name of
 * the text and the text (from FILE:LINE), and other events as their name and arguments.
 */
static void out_event(const struct calltext *c, struct calltext_pen *pen,
		      const struct shown_row *shown, const struct shown_name *n, struct out *o)
{
	const struct spur_event *row = &shown->row;
	const struct spur_trace *t = c->env.trace;
	const struct spur_value *text = NULL;

	if (row->kind == SPUR_LOG ||
	    (row->kind == SPUR_INSTANT && row->nargs == 1 &&
	     (trace_class(t, row->cls)->flags & CLASS_INSIDE)))
		text = lone_text(c, pen, row);
	if (shown->marks & CALLTEXT_IS_CALLER) {
		out_str(o, "called by ");
		out_bytes(o, n->text, n->len);
	} else if (row->kind == SPUR_SWITCH) {
		out_str(o, switch_text(row));
	} else if (row->kind == SPUR_LOST) {
		out_str(o, "LOST ");
		if (row->id)
			out_printf(o, "%llu ", (unsigned long long)row->id);
		out_str(o, "events");
	} else if (text) {
		if (row->kind != SPUR_LOG)
			out_printf(o, "%s ", trace_string(t, text->name, NULL));
		out_safe(o, text->text, text->count);
	} else {
		out_str(o, kind_word(row->kind));
		out_bytes(o, n->text, n->len);
		if (row_has_args(c, row, n)) {
			out_str(o, ": ");
			out_args(c, pen, row, o);
		}
	}
}

void calltext_event(const struct calltext *c, struct calltext_pen *pen,
		    const struct shown_row *shown, const struct shown_name *n, struct out *o)
{
	const struct spur_event *row = &shown->row;
	bool timed = row->kind == SPUR_SWITCH &&
		     (shown->marks & CALLTEXT_IS_LEAF || !(row->flags & SPUR_F_OUT));
	char *p = line_room(o, n);

	if (!p)
		return;
	out_to(o, put_prefix(p, c, pen, row, n, timed));
	if (c->env.opt->color)
		out_str(o, row->kind == SPUR_LOST ? "\033[1;31m" : "\033[90m");
	out_str(o, "/* ");
	out_event(c, pen, shown, n, o);
	out_str(o, c->env.opt->color ? " */\033[0m\n" : " */\n");
}

/* ---- set-up ---- */

static unsigned digits(int64_t id)
{
	uint64_t v = id == -1 ? 0 : (uint64_t)id;
	unsigned n = 1;

	while (v >= 10) {
		v /= 10;
		n++;
	}
	return n;
}

static void calltext_widths(struct calltext *c)
{
	const struct spur_trace *t = c->env.trace;

	for (int i = 0; i < CALLCOLS; i++)
		c->widths[i] = (unsigned)strlen(column_names[i]);
	c->widths[CALLCOL_DURATION] = CELL_TIME;
	c->widths[CALLCOL_TASK] = 15;
	c->widths[CALLCOL_MODULE] = 16;
	c->widths[CALLCOL_ADDR] = 16;
	for (size_t i = 0; i < t->ntracks; i++) {
		const struct spur_track *k = trace_track(t, (uint32_t)i);
		unsigned tid = digits(k->tid), pid = digits(k->pid);

		c->widths[CALLCOL_TID] =
			tid > c->widths[CALLCOL_TID] ? tid : c->widths[CALLCOL_TID];
		c->widths[CALLCOL_PID] =
			pid > c->widths[CALLCOL_PID] ? pid : c->widths[CALLCOL_PID];
	}
}

static bool calltext_is_quick(const struct calltext *c)
{
	const struct render_options *opt = c->env.opt;

	for (size_t i = 1; i < c->ncolumns; i++)
		if (c->columns[i] != CALLCOL_TID && c->columns[i] != CALLCOL_PID &&
		    c->columns[i] != CALLCOL_TASK)
			return false;
	return c->ncolumns && c->columns[0] == CALLCOL_DURATION && !opt->color && !opt->raw &&
	       !c->own->flat && !c->own->no_comment;
}

enum spur_status calltext_init(struct calltext *c, struct render_env env,
			       const struct calltext_options *own)
{
	const struct render_options *opt = env.opt;
	const char *fields = opt->fields	     ? opt->fields
			     : opt->time == TIME_REL ? "duration,tid"
						     : "time,duration,tid";
	enum spur_status st;

	c->env = env;
	c->own = own;
	arena_init(&c->arena);
	out_to_memory(&c->scratch);
	pthread_mutex_init(&c->lock, NULL);
	if (!value_writer_open(&c->values, env.trace, VALUE_TEXT))
		return err_nomem(env.err);
	calltext_widths(c);
	c->ncolumns = 0;
	st = strcmp(fields, "none") == 0 ? SPUR_OK :
					   cell_list(fields, column_names, "--fields", c->columns,
						     CALLCOLS, &c->ncolumns, env.err);
	for (size_t i = 0; i < c->ncolumns && st == SPUR_OK; i++) {
		c->columns[i] = c->columns[i] < 0 ? ~c->columns[i] : c->columns[i];
		if (c->columns[i] != CALLCOL_TIME)
			continue;
		st = when_init(&c->when, env.trace, opt->time, env.err);
		c->widths[CALLCOL_TIME] = when_width(&c->when);
	}
	c->quick = calltext_is_quick(c);
	return st;
}

void calltext_header(const struct calltext *c)
{
	struct out *o = c->env.out;

	if (!c->ncolumns)
		return;
	if (c->env.opt->color)
		out_str(o, "\033[1m");
	for (size_t i = 0; i < c->ncolumns; i++) {
		bool left = c->columns[i] == CALLCOL_TASK || c->columns[i] == CALLCOL_MODULE;

		out_printf(o, left ? "%-*s " : "%*s ", (int)c->widths[c->columns[i]],
			   column_names[c->columns[i]]);
	}
	out_str(o, c->env.opt->ascii ? "| call" : "│ call");
	out_str(o, c->env.opt->color ? "\033[0m\n" : "\n");
}

void calltext_free(struct calltext *c)
{
	for (size_t i = 0; i < CALLTEXT_PAGES; i++)
		mem_free(c->names[i]);
	value_writer_close(&c->values);
	arena_free(&c->arena);
	out_free(&c->scratch);
	pthread_mutex_destroy(&c->lock);
}
