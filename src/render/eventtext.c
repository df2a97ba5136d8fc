/* See eventtext.h. What a line has of its class, track and stream is made once. */
#include "render/eventtext.h"

#include "base/digits.h"
#include "base/err.h"
#include "base/pool.h"
#include "flow/args.h"
#include "flow/join.h"

enum {
	KIND_PAD = 14,
	LINE_ROOM = 512, /* of a line, beside its fragments and arguments */
	NAME_MAX_LEN = 1 << 16, /* longer fragments are written apart */
	TID_WIDTH = 8,
	CPU_WIDTH = 4,
};

enum use { USE_ARGS = 1 }; /* frag.user of a class */

/* What a line is made of. */
struct event_row {
	const struct spur_event *row;
	const struct frag *name, *track, *stream;
};

/* Flags that say something of the event itself; "flags" in JSON. */
static const struct {
	uint16_t bit;
	const char *name;
} flag_names[] = {
	{ SPUR_F_IMPLIED, "implied" },
	{ SPUR_F_ORPHAN, "orphan" },
	{ SPUR_F_OUT, "out" },
	{ SPUR_F_IN, "in" },
	{ SPUR_F_PREEMPTED, "preempted" },
	{ SPUR_F_RETIMED, "retimed" },
	{ SPUR_F_UNRELIABLE, "unreliable" },
	{ SPUR_F_ESTIMATED, "estimated" },
	{ SPUR_F_BACK, "back" },
	{ SPUR_F_TAIL, "tail" },
	{ SPUR_F_ANY, "any" },
	{ SPUR_F_EXIT, "exit" },
};
enum {
	SHOWN_FLAGS = SPUR_F_IMPLIED | SPUR_F_ORPHAN | SPUR_F_OUT | SPUR_F_IN | SPUR_F_PREEMPTED |
		      SPUR_F_RETIMED | SPUR_F_UNRELIABLE | SPUR_F_ESTIMATED | SPUR_F_BACK |
		      SPUR_F_TAIL | SPUR_F_ANY | SPUR_F_EXIT,
	FLAG_NAMES = sizeof(flag_names) / sizeof(flag_names[0]),
};

/* Only a SPAN always has a length. */
static bool row_has_dur(const struct spur_event *row)
{
	return row->kind == SPUR_SPAN ||
	       ((row->kind == SPUR_SAMPLE || row->kind == SPUR_LOST) && row->dur);
}

static const char *kind_color(unsigned kind)
{
	switch (kind) {
	case SPUR_BEGIN:
	case SPUR_SPAN:
		return "\033[32m";
	case SPUR_END_SPAN:
		return "\033[90m";
	case SPUR_LOST:
		return "\033[31m";
	default:
		return "\033[36m";
	}
}

static void kind_text(const struct event_text *c, unsigned kind, struct out *o)
{
	const char *name = spur_kind_name(kind);

	if (c->options.form == FORM_JSONL) {
		out_printf(o, ",\"kind\":\"%s\"", name);
	} else if (c->options.form == FORM_CSV) {
		out_printf(o, ",%s,", name);
	} else {
		out_printf(o, "%s%s%s", c->options.color ? kind_color(kind) : "", name,
			   c->options.color ? "\033[0m" : "");
		out_pad(o, ' ', KIND_PAD - strlen(name));
	}
}

static bool make_kinds(struct event_text *c)
{
	struct out o;
	bool good = true;

	out_to_memory(&o);
	for (unsigned k = 0; k < SPUR_KINDS && good; k++) {
		out_clear(&o);
		kind_text(c, k, &o);
		good = !o.error && o.len <= FRAG_PIECE;
		if (good) {
			memcpy(c->kinds[k], o.buf, o.len);
			c->kind_len[k] = (uint8_t)o.len;
		}
	}
	out_free(&o);
	return good;
}

static void string_text(const struct event_text *c, uint32_t id, struct out *o)
{
	size_t len;
	const char *s = trace_string(c->trace, id, &len);

	if (c->options.form == FORM_JSONL)
		out_json(o, s, len);
	else if (c->options.form == FORM_CSV)
		out_csv(o, s, len);
	else
		out_safe(o, s, len);
}

static uint64_t class_key(const struct spur_event *row)
{
	return (uint64_t)row->name << 32 | row->cat;
}

/* In text a category that tells events apart stands before the name. */
static bool has_category(const struct event_text *c, const struct spur_event *row)
{
	return row->cat && c->options.form == FORM_TEXT &&
	       (trace_class(c->trace, row->cls)->flags & CLASS_CATEGORY);
}

static void name_text(const struct event_text *c, const struct spur_event *row, struct out *o)
{
	if (has_category(c, row)) {
		string_text(c, row->cat, o);
		out_char(o, ':');
	}
	if (c->options.form == FORM_JSONL) {
		out_str(o, ",\"name\":");
		string_text(c, row->name, o);
		out_str(o, ",\"cat\":");
		string_text(c, row->cat, o);
		return;
	}
	string_text(c, row->name, o);
	if (c->options.form == FORM_CSV) {
		out_char(o, ',');
		string_text(c, row->cat, o);
	}
}

static void make_class(const void *self, const struct spur_event *row, struct frag *f,
		       struct out *o)
{
	const struct event_text *c = self;

	name_text(c, row, o);
	f->key = class_key(row);
	if (c->options.wants_args(c->options.self, row->cls))
		f->user = USE_ARGS;
}

/*
 * "pid" and "tid", unsigned; in text only the latter, of several traces behind the number of its
 * trace. A fiber has a name too.
 */
static void make_track(const void *self, const struct spur_event *row, struct frag *f,
		       struct out *o)
{
	const struct event_text *c = self;
	const struct spur_track *k = c->options.track
					     ? c->options.track(c->options.self, row->track)
					     : trace_track(c->trace, row->track);
	const bool json = c->options.form == FORM_JSONL;
	const char *none = json ? "null" : c->options.form == FORM_CSV ? "" : "-";
	const uint32_t part = c->options.track ? SPUR_NONE : join_part_of(c->trace, row->track);
	char digits[24];
	size_t len;

	(void)f;
	if (c->options.form == FORM_TEXT) {
		len = k && k->tid != -1 ? (size_t)(put_u64(digits, (uint64_t)k->tid) - digits) : 1;
		if (part != SPUR_NONE)
			len += (size_t)(put_u64(digits, part + 1) - digits) + 1;
		out_pad(o, ' ', len < TID_WIDTH ? TID_WIDTH - len : 0);
		if (part != SPUR_NONE)
			out_printf(o, "%u:", part + 1);
	} else {
		out_str(o, json ? ",\"pid\":" : ",");
		if (k && k->pid != -1)
			out_u64(o, (uint64_t)k->pid);
		else
			out_str(o, none);
		out_str(o, json ? ",\"tid\":" : ",");
	}
	if (k && k->tid != -1)
		out_u64(o, (uint64_t)k->tid);
	else
		out_str(o, none);
	if (json && k && k->tid == -1 && k->pid != -1 && k->kind == SPUR_TRACK_OTHER) {
		const char *const name = trace_string(c->trace, k->name, &len);

		out_str(o, ",\"track\":");
		out_json(o, name, len);
	}
}

static void make_stream(const void *self, const struct spur_event *row, struct frag *f,
			struct out *o)
{
	const struct event_text *c = self;
	const struct spur_stream *s = trace_stream(c->trace, row->stream);
	const char *path = s && !c->options.no_paths ? s->path : "";

	(void)f;
	if (c->options.form == FORM_JSONL) {
		out_str(o, ",\"stream\":");
		out_json(o, path, strlen(path));
		out_str(o, ",\"off\":");
	} else if (c->options.form == FORM_CSV) {
		out_char(o, ',');
		out_csv(o, path, strlen(path));
		out_char(o, ',');
	}
}

/* The class's fragment, or, where the row is named otherwise than its class, text made now. */
static void name_out(const struct event_text *c, const struct event_row *r, struct out *o)
{
	if (r->name->key != class_key(r->row))
		name_text(c, r->row, o);
	else
		out_bytes(o, r->name->p, r->name->len);
}

static void flags_out(const struct spur_event *row, const char *between, const char *quote,
		      struct out *o)
{
	bool any = false;

	for (size_t i = 0; i < FLAG_NAMES; i++)
		if (row->flags & flag_names[i].bit) {
			out_str(o, any ? between : "");
			out_str(o, quote);
			out_str(o, flag_names[i].name);
			out_str(o, quote);
			any = true;
		}
}

/* The arguments, to be shown; NULL: none. */
static const struct spur_args *row_args(const struct event_text *c, const struct event_row *r,
					struct spur_args *args)
{
	enum spur_status st;

	if (!r->row->nargs || r->name->user != USE_ARGS)
		return NULL;
	st = c->options.args ? c->options.args(c->options.self, r->row, args)
			     : trace_args(c->trace, r->row, args);
	return st == SPUR_FAIL ? NULL : args;
}

/* Finds how the arguments are written without decoding them. Returns false if they have to be. */
static inline bool args_find(const struct event_lane *l, const struct event_row *r,
			     struct line_at *at)
{
	return l->pen && r->row->nargs && r->name->user == USE_ARGS &&
	       line_find(l->pen, r->row, at) && at->line->items;
}

/*
 * Writes the arguments at `open`, in the room of `o`, of which at->line->room bytes are left.
 * Returns NULL if they have to be decoded; then `o` ends at `w`, before what opens them.
 */
static inline char *args_quick(const struct event_lane *l, const struct line_at *at, struct out *o,
			       const char *w, char *open)
{
	const size_t from = (size_t)(w - o->buf);
	char *const end = line_put(l->pen, at, o, open);

	if (__builtin_expect(!end, 0))
		out_cut(o, from);
	return end;
}

/* cpu, dur and id, where there are any. */
static char *json_numbers(char *w, struct event_lane *l, const struct spur_event *row)
{
	if (row->cpu != SPUR_NO_CPU) {
		w = put_literal(w, ",\"cpu\":");
		w = put_decimal(w, row->cpu);
	}
	if (row_has_dur(row)) {
		w = put_literal(w, ",\"dur\":");
		w = put_i64(w, row->dur);
	}
	if (row_has_id(row)) {
		w = put_literal(w, ",\"id\":");
		w = row->id <= INT64_MAX ? put_number(w, &l->ids, (int64_t)row->id)
					 : put_u64(w, row->id);
	}
	return w;
}

static void json_args(struct event_lane *l, const struct event_row *r, struct out *o)
{
	const struct spur_args *a = row_args(l->text, r, &l->args);

	if (a) {
		out_str(o, ",\"args\":");
		args_json(&l->text->values, a, r->row->kind == SPUR_END_SPAN, o);
	} else {
		out_str(o, ",\"args\":{}");
	}
}

static void json_flags(const struct spur_event *row, struct out *o)
{
	if (row->flags & SHOWN_FLAGS) {
		out_str(o, ",\"flags\":[");
		flags_out(row, ",", "\"", o);
		out_char(o, ']');
	}
}

/* What stands before the arguments. Returns its end, behind which there is `more` room, or NULL. */
static inline char *json_head(struct event_lane *l, const struct event_row *r, size_t more,
			      struct out *o)
{
	const struct event_text *c = l->text;
	const struct spur_event *row = r->row;
	const bool named = r->name->key == class_key(row) && r->name->len < NAME_MAX_LEN;
	char *w = out_room(o, LINE_ROOM + more + (named ? r->name->len : 0));

	if (!w)
		return NULL;
	w = put_literal(w, "{\"ts\":");
	w = put_number(w, &l->times, row->ts);
	memcpy(w, c->kinds[row->kind], FRAG_PIECE);
	w += c->kind_len[row->kind];
	if (named) {
		w = put_frag(w, r->name);
	} else {
		out_to(o, w);
		name_out(c, r, o);
		w = out_room(o, LINE_ROOM + more);
		if (!w)
			return NULL;
	}
	return json_numbers(put_frag(w, r->track), l, row);
}

/* In one go where names are short and there is nothing to be decoded. */
static void json_line(struct event_lane *l, const struct event_row *r, struct out *o)
{
	const struct spur_event *row = r->row;
	struct line_at at;
	const bool quick = args_find(l, r, &at);
	char *w = json_head(l, r, quick ? at.line->room : 0, o), *end = NULL;

	if (!w)
		return;
	if (quick && (end = args_quick(l, &at, o, w, put_literal(w, ",\"args\":{")))) {
		*end++ = '}';
		out_to(o, end);
	} else if (!row->nargs) {
		out_to(o, put_literal(w, ",\"args\":{}"));
	} else {
		if (!quick)
			out_to(o, w);
		json_args(l, r, o);
	}
	json_flags(row, o);
	w = out_room(o, LINE_ROOM + r->stream->len);
	if (!w)
		return;
	w = put_frag(w, r->stream);
	w = put_decimal(w, row->off);
	out_to(o, put_literal(w, "}\n"));
}

static void csv_args(const struct event_text *c, const struct spur_event *row,
		     const struct spur_args *args, struct out *o)
{
	struct out json;

	out_to_memory(&json);
	args_json(&c->values, args, row->kind == SPUR_END_SPAN, &json);
	if (json.error && !o->error)
		o->error = json.error;
	out_csv(o, json.buf, json.len);
	out_free(&json);
}

static void csv_line(struct event_lane *l, const struct event_row *r, struct out *o)
{
	const struct event_text *c = l->text;
	const struct spur_event *row = r->row;
	const struct spur_args *args;

	out_i64(o, row->ts);
	out_bytes(o, c->kinds[row->kind], c->kind_len[row->kind]);
	name_out(c, r, o);
	out_bytes(o, r->track->p, r->track->len);
	out_char(o, ',');
	if (row->cpu != SPUR_NO_CPU)
		out_u64(o, row->cpu);
	out_char(o, ',');
	if (row_has_dur(row))
		out_i64(o, row->dur);
	out_char(o, ',');
	if (row_has_id(row))
		out_u64(o, row->id);
	out_char(o, ',');
	args = row_args(c, r, &l->args);
	if (args)
		csv_args(c, row, args, o);
	out_char(o, ',');
	flags_out(row, " ", "", o);
	out_bytes(o, r->stream->p, r->stream->len);
	out_u64(o, row->off);
	out_char(o, '\n');
}

static void plain_args(struct event_lane *l, const struct event_row *r, struct out *o)
{
	const bool is_end = r->row->kind == SPUR_END_SPAN;
	const struct spur_args *args = row_args(l->text, r, &l->args);

	if (args && args->count) {
		out_str(o, is_end ? " = " : "(");
		args_text_list(&l->text->values, args, false, o);
		out_str(o, is_end ? "" : ")");
	}
}

/* Behind the arguments: duration, id where it says something, flags. */
static void plain_tail(const struct spur_event *row, struct out *o)
{
	if (row_has_dur(row)) {
		out_str(o, " ");
		out_i64(o, row->dur);
		out_str(o, " ns");
	}
	if (row->kind == SPUR_LOST && row->id) {
		out_char(o, ' ');
		out_u64(o, row->id);
	} else if (row->kind >= SPUR_ASYNC_BEGIN && row->kind <= SPUR_FLOW_END) {
		out_str(o, " #");
		out_u64(o, row->id);
	}
	if (row->flags & SHOWN_FLAGS) {
		out_str(o, " [");
		flags_out(row, " ", "", o);
		out_char(o, ']');
	}
	out_char(o, '\n');
}

static inline char *plain_cpu(char *w, const struct spur_event *row)
{
	if (row->cpu == SPUR_NO_CPU)
		return put_literal(w, "    -");
	if (row->cpu >= 1000) {
		*w++ = ' ';
		return put_u64_w(w, row->cpu, CPU_WIDTH);
	}
	memcpy(w, "     ", 1 + CPU_WIDTH);
	w += 1 + CPU_WIDTH - digits_short[row->cpu][3];
	memcpy(w, digits_short[row->cpu], 4);
	return w + digits_short[row->cpu][3];
}

/* What stands before the arguments. Returns its end, behind which there is `more` room, or NULL. */
static inline char *plain_head(const struct event_lane *l, const struct event_row *r, size_t more,
			       struct out *o)
{
	const struct event_text *c = l->text;
	const struct spur_event *row = r->row;
	const bool named = r->name->key == class_key(row) && r->name->len < NAME_MAX_LEN;
	char *w = out_room(o, LINE_ROOM + more + (named ? r->name->len : 0));

	if (!w)
		return NULL;
	w = put_when(w, &c->when, row->ts, c->when_width);
	*w++ = ' ';
	w = put_frag(w, r->track);
	w = plain_cpu(w, row);
	w = put_literal(w, "  ");
	memcpy(w, c->kinds[row->kind], FRAG_PIECE);
	w += c->kind_len[row->kind];
	if (named)
		return put_frag(w, r->name);
	out_to(o, w);
	name_out(c, r, o);
	return out_room(o, LINE_ROOM + more);
}

static void plain_line(struct event_lane *l, const struct event_row *r, struct out *o)
{
	const bool is_end = r->row->kind == SPUR_END_SPAN;
	struct line_at at;
	const bool quick = args_find(l, r, &at);
	char *w = plain_head(l, r, quick ? at.line->room : 0, o), *end = NULL;

	if (!w)
		return;
	if (quick)
		end = args_quick(l, &at, o, w,
				 is_end ? put_literal(w, " = ") : put_literal(w, "("));
	if (end) {
		if (!is_end)
			*end++ = ')';
		out_to(o, end);
	} else {
		if (!quick)
			out_to(o, w);
		plain_args(l, r, o);
	}
	plain_tail(r->row, o);
}

/* One body for both callers, so that all of it is inlined. Marks each line if `out` is not NULL. */
static bool lines_make(struct event_lane *l, const struct spur_event *rows, size_t n, struct out *o,
		       struct lines *out)
{
	struct event_text *c = l->text;

	for (size_t i = 0; i < n; i++) {
		const struct spur_event *row = &rows[i];
		const struct event_row r = {
			.row = row,
			.name = frag_get(c->classes, row->cls, row, &l->classes),
			.track = frag_of(c->tracks, row->track, row, &l->tracks),
			.stream = frag_of(c->streams, row->stream, row, &l->streams),
		};

		if (!r.name || !r.track || !r.stream)
			return false;
		if (c->options.form == FORM_JSONL)
			json_line(l, &r, o);
		else if (c->options.form == FORM_CSV)
			csv_line(l, &r, o);
		else
			plain_line(l, &r, o);
		if (out && !lines_mark(out, rows[i].ts, rows[i].track))
			return false;
	}
	return true;
}

bool event_text_row(struct event_lane *l, const struct spur_event *row, struct out *o)
{
	return lines_make(l, row, 1, o, NULL);
}

bool event_text_rows(struct event_lane *l, const struct spur_event *rows, size_t n,
		     struct lines *out)
{
	struct line_pens *pens = &l->text->pens;
	bool good;

	/* What is in a file cannot be taken back. */
	l->pen = out->text.fd < 0 ? line_pens_take(pens) : NULL;
	good = lines_make(l, rows, n, &out->text, out);
	line_pens_give(pens, l->pen);
	l->pen = NULL;
	if (lines_are_many(l->text->trace))
		spur_args_free(&l->args);
	return good;
}

struct event_lane *event_lane_new(struct event_text *c)
{
	struct event_lane *l = pool_alloc(sizeof(*l));

	if (l) {
		l->text = c;
		number_init(&l->times);
		number_init(&l->ids);
	}
	return l;
}

void event_lane_free(struct event_lane *l)
{
	spur_args_free(&l->args);
	frag_user_free(&l->classes);
	frag_user_free(&l->tracks);
	frag_user_free(&l->streams);
	pool_free(l, sizeof(*l));
}

enum spur_status event_text_open(struct event_text *c, struct spur_trace *t,
				 const struct event_text_options *options, struct spur_error *err)
{
	bool good;

	*c = (struct event_text){ .trace = t, .options = *options };
	c->classes = frag_new(make_class, c);
	c->tracks = frag_new(make_track, c);
	c->streams = frag_new(make_stream, c);
	good = value_writer_open(&c->values, t,
				 options->form == FORM_TEXT ? VALUE_TEXT : VALUE_JSON);
	line_pens_open(&c->pens, options->args || options->form == FORM_CSV ? NULL : t,
		       options->form == FORM_TEXT ? &value_text_words : &value_json_words,
		       &c->values);
	if (!good || !make_kinds(c) || !c->classes || !c->tracks || !c->streams)
		return err_nomem(err);
	if (when_init(&c->when, t, options->form == FORM_TEXT ? options->time : TIME_RAW, err) !=
	    SPUR_OK)
		return SPUR_FAIL;
	c->when_width = when_width(&c->when);
	return SPUR_OK;
}

void event_text_close(struct event_text *c)
{
	line_pens_close(&c->pens);
	value_writer_close(&c->values);
	frag_free(c->classes);
	frag_free(c->tracks);
	frag_free(c->streams);
}
