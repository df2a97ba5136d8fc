/*
 * cat in the words of babeltrace2's text output (its sink text.pretty with default options), for
 * scripts that read it: of CTF traces. Warnings about lost events are diagnostics here, as
 * everywhere.
 *
 * Events are ordered and told their distance from the one before on one thread; lines are made on
 * all.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "format/ctf/place.h"
#include "format/ctf/reader.h"
#include "style/babeltrace2/cat/span.h"
#include "style/babeltrace2/cat/value.h"
#include "style/babeltrace2/options.h"

/* What is shown, and which names; as babeltrace2 calls them. */
enum shown_field {
	FIELD_TRACE = 1,
	FIELD_HOSTNAME = 2,
	FIELD_DOMAIN = 4,
	FIELD_PROCNAME = 8,
	FIELD_VPID = 16,
	FIELD_LOGLEVEL = 32,
	FIELD_EMF = 64,
	FIELDS_DEFAULT = FIELD_HOSTNAME | FIELD_PROCNAME | FIELD_VPID,
	FIELDS_ALL = 127,
};
enum shown_name {
	NAME_PAYLOAD = 1,
	NAME_CONTEXT = 2,
	NAME_HEADER = 4,
	NAME_SCOPE = 8,
	NAMES_DEFAULT = NAME_PAYLOAD | NAME_CONTEXT,
	NAMES_ALL = 15,
};

enum {
	SCOPES = 3, /* of an event: common and own context, payload */
	CLOCK_ROOM = 48,
	WHEN_ROOM = 256,
	FIRST_NEGATIVE = 1, /* `marks` of the first row before its clock's origin */
	MEMO = 16, /* packets, and events, whose text is at hand */
	HEADS = 64, /* both together */
	HEAD_PIECE = 64, /* of such a text, copied at once */
	MILLISECOND = 1000000, /* ns */
	STAMP_ROOM = 32,
	MEMO_TEXT = 1 << 16,
};

static const int64_t no_time = INT64_MIN;

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct pretty {
	struct spur_trace *trace;
	struct ctf *ctf;
	int64_t last; /* time of the previous row; no_time: no previous row */
	struct pretty_values values;
	uint64_t shown; /* rows; with a limit only */
	bool any; /* row was shown */
	struct pens *pens;
	const struct babeltrace2_options *opt;
	unsigned fields, names_of; /* enum shown_field, enum shown_name */
	struct stream_span *spans; /* by stream, with --stream-intersection; else NULL */
	uint64_t limit;
	uint64_t last_cycles;
	struct spur_args args; /* of the stage */
	bool negative; /* a time before the clock's origin was shown already */
};

/* A piece of the memo's text. */
struct piece {
	const void *key; /* NULL: none yet */
	uint64_t packet;
	uint32_t stream;
	uint32_t len;
	size_t at;
};

/* What stands between the time and the values of the events of one number in a block. */
struct head {
	uint64_t key; /* see line_key(); 0: none yet */
	size_t at; /* in the memo's text: "HOST NAME: { cpu_id = 0 }, " */
	uint32_t len;
	bool timed; /* the event's class has a clock */
};

/* Lines being made by one thread, and what many of them have in common. */
struct pen {
	struct pen *next; /* in the list of unused pens */
	const struct pretty *p;
	struct out *o;
	uint32_t marks; /* of the current row */
	struct spur_args *args;
	struct spur_args packet_args;
	struct line_pen *lines; /* programs for what follows the name; NULL: values are decoded */
	struct out text; /* of the memo */
	struct piece events[MEMO]; /* "HOST NAME: " */
	struct piece packets[MEMO]; /* "{ cpu_id = 0 }", or "" */
	struct head heads[HEADS]; /* for out_quick() */
	bool usual; /* times are "[12:34:56.123456789] (+0.123456789) " */
	int64_t base; /* the ts at which the millisecond of `stamp` begins */
	uint64_t span; /* how long that is; 0: none yet */
	size_t stamp_len;
	char stamp[STAMP_ROOM]; /* "[2025-01-31 12:34:56.123" */
	int64_t second; /* whose `clock` is; no_time: none yet */
	size_t clock_len;
	char clock[CLOCK_ROOM]; /* "2025-01-31 12:34:56." */
};

struct pens {
	pthread_mutex_t lock;
	struct pen *first;
};

/* --- lines --- */

/* Seconds and what is left of them, of a time that may lie before its clock's origin. */
static char *put_seconds(char *w, int64_t ns)
{
	const uint64_t all = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	if (ns < 0)
		*w++ = '-';
	w = put_u64(w, all / 1000000000);
	*w++ = '.';
	return put_nine(w, (uint32_t)(all % 1000000000), 0);
}

/*
 * Date and time of day, as the local time zone has it. Of a time before the clock's origin
 * babeltrace2 shows the distance as if it were after it.
 */
static char *put_day(struct pen *pen, char *w, int64_t ns)
{
	const struct babeltrace2_options *opt = pen->p->opt;
	const uint64_t all = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	const time_t when = (time_t)(all / 1000000000);
	struct tm tm = { 0 };
	char *c = pen->clock;

	if (when != pen->second) {
		(opt->gmt ? gmtime_r : localtime_r)(&when, &tm);
		if (opt->date)
			c += strftime(c, CLOCK_ROOM, "%Y-%m-%d ", &tm);
		c = put_literal(put_u64_0(c, (uint64_t)tm.tm_hour, 2), ":");
		c = put_literal(put_u64_0(c, (uint64_t)tm.tm_min, 2), ":");
		c = put_literal(put_u64_0(c, (uint64_t)tm.tm_sec, 2), ".");
		pen->clock_len = (size_t)(c - pen->clock);
		pen->second = when;
	}
	memcpy(w, pen->clock, sizeof(pen->clock));
	return put_nine(w + pen->clock_len, (uint32_t)(all % 1000000000), 0);
}

static char *put_time(struct pen *pen, char *w, const struct spur_event *row)
{
	int64_t ns;

	if (__builtin_add_overflow(row->ts, pen->p->ctf->epoch_base, &ns))
		return put_literal(w, "Error");
	return pen->p->opt->seconds || pen->marks == FIRST_NEGATIVE ? put_seconds(w, ns)
								    : put_day(pen, w, ns);
}

static char *put_delta(const struct pen *pen, char *w, const struct spur_event *row)
{
	*w++ = '+';
	if (pen->p->opt->cycles)
		return row->dur == no_time ? put_literal(w, "?\?\?\?\?\?\?\?\?\?\?\?")
					   : put_u64_0(w, (uint64_t)row->dur, 12);
	if (row->dur == no_time)
		return put_literal(w, "?.\?\?\?\?\?\?\?\?\?");
	w = row->dur < 1000000000 ? put_literal(w, "0") : put_i64(w, row->dur / 1000000000);
	return put_nine(put_literal(w, "."), (uint32_t)(row->dur % 1000000000), 0);
}

static void out_piece(const struct pen *pen, const struct piece *piece)
{
	char *w;

	if (!piece->len)
		return;
	w = piece->len < MEMO_TEXT ? out_room(pen->o, piece->len + FRAG_PIECE) : NULL;
	if (!w) {
		out_bytes(pen->o, pen->text.buf + piece->at, piece->len);
		return;
	}
	memcpy(w, pen->text.buf + piece->at, piece->len);
	pen->o->len += piece->len;
}

/* Room for one more piece; the old ones go where there are too many. */
static void memo_room(struct pen *pen)
{
	if (pen->text.len > MEMO_TEXT) {
		memset(pen->events, 0, sizeof(pen->events));
		memset(pen->packets, 0, sizeof(pen->packets));
		memset(pen->heads, 0, sizeof(pen->heads));
		out_clear(&pen->text);
	}
}

static void piece_begin(struct pen *pen, struct piece *piece, const void *key)
{
	memo_room(pen);
	piece->key = key;
	piece->at = pen->text.len;
}

/* Makes what is behind the memo's text readable: the first piece of it is copied whole. */
static void text_end(struct pen *pen)
{
	char *w = out_room(&pen->text, HEAD_PIECE);

	if (w)
		memset(w, 0, HEAD_PIECE);
}

/* A text that could not be kept has no length any more; pretty_render() tells of it. */
static void piece_end(const struct pen *pen, struct piece *piece)
{
	assert(pen->text.error || pen->text.len >= piece->at);
	piece->len = pen->text.error ? 0 : (uint32_t)(pen->text.len - piece->at);
}

static const struct ctf_env *env_of(const struct ctf_meta *m, const char *key)
{
	for (size_t i = 0; i < m->nenv; i++)
		if (strcmp(m->env[i].key, key) == 0)
			return &m->env[i];
	return NULL;
}

/* What stands between the time and the event's name. */
struct heading {
	struct out *o;
	bool names; /* of the fields */
	bool first; /* nothing precedes it in the line */
	bool any; /* a field that the next one follows with a colon */
};

static void heading_name(struct heading *h, const char *name)
{
	out_str(h->o, h->first ? "" : ", ");
	if (h->names)
		out_printf(h->o, "%s = ", name);
	else
		out_str(h->o, h->any ? ":" : "");
	h->any = true;
}

static void heading_env(struct heading *h, const struct ctf_meta *m, const char *key)
{
	const struct ctf_env *e = env_of(m, key);
	const bool number = strcmp(key, "vpid") == 0;
	char name[32];

	if (!e || e->is_text == number)
		return;
	snprintf(name, sizeof(name), "trace:%s", key);
	heading_name(h, name);
	if (number)
		out_printf(h->o, "(%lld)", (long long)e->number);
	else
		out_str(h->o, e->text);
}

/*
 * The trace's name is that of the host and the directory below the one that is read; a trace of
 * several directories has only the former. babeltrace2 puts nothing between it and what follows
 * but, with names of fields, two commas.
 */
static void heading_trace(struct heading *h, const struct ctf_trace *tr)
{
	const struct ctf_env *host = env_of(tr->meta, "hostname");
	const char *dir = tr->scattered ? "" : tr->dir;

	out_str(h->o, h->first ? "" : ", ");
	out_str(h->o, h->names ? "trace = " : "");
	if (host && host->is_text)
		out_printf(h->o, "%s%s", host->text, dir[0] ? "/" : "");
	out_str(h->o, dir);
	out_str(h->o, h->names ? ", " : "");
}

static void heading_level(struct heading *h, int32_t level)
{
	static const char *const names[] = {
		"EMERG",	"ALERT",      "CRIT",		"ERR",		 "WARNING",
		"NOTICE",	"INFO",	      "DEBUG_SYSTEM",	"DEBUG_PROGRAM", "DEBUG_PROCESS",
		"DEBUG_MODULE", "DEBUG_UNIT", "DEBUG_FUNCTION", "DEBUG_LINE",	 "DEBUG",
	};

	if (level < 0 || level >= (int32_t)(sizeof(names) / sizeof(names[0])))
		return;
	heading_name(h, "loglevel");
	out_printf(h->o, "TRACE_%s (%d)", names[level], level);
}

static void make_heading(const struct pretty *p, const struct ctf_place_of *at, struct out *o)
{
	const struct ctf_meta *m = at->trace->meta;
	const bool names = p->names_of & NAME_HEADER;
	struct heading h = { o, names, !names || !at->class->class->clock, false };

	if (p->fields & FIELD_TRACE)
		heading_trace(&h, at->trace);
	if (p->fields & FIELD_HOSTNAME)
		heading_env(&h, m, "hostname");
	if (p->fields & FIELD_DOMAIN)
		heading_env(&h, m, "domain");
	if (p->fields & FIELD_PROCNAME)
		heading_env(&h, m, "procname");
	if (p->fields & FIELD_VPID)
		heading_env(&h, m, "vpid");
	if (p->fields & FIELD_LOGLEVEL)
		heading_level(&h, at->event->class->log_level);
	if ((p->fields & FIELD_EMF) && at->event->class->emf_uri) {
		heading_name(&h, "model.emf.uri");
		out_str(o, at->event->class->emf_uri);
	}
	out_str(o, h.any && !names ? " " : "");
	out_str(o, h.first ? "" : ", ");
	out_str(o, names ? "name = " : "");
	out_str(o, trace_string(p->trace, at->event->name, NULL));
	out_str(o, names ? ", " : ": ");
}

static const struct piece *event_piece(struct pen *pen, const struct spur_event *row,
				       const struct ctf_place_of *at)
{
	struct piece *piece = &pen->events[row->cls % MEMO];

	if (piece->key != at->event) {
		piece_begin(pen, piece, at->event);
		make_heading(pen->p, at, &pen->text);
		piece_end(pen, piece);
	}
	return piece;
}

/* What has no meaning to the reader in a packet's context, and the CPU. */
static void make_packet(struct pen *pen, const struct spur_event *row,
			const struct ctf_field *context)
{
	struct spur_value kept[64], v;
	uint32_t n = 0;

	if (!context || ctf_packet_values(pen->p->ctf, row, &pen->packet_args) == SPUR_FAIL ||
	    !pen->packet_args.count)
		return;
	v = pen->packet_args.items[0];
	for (uint32_t k = 0; k < v.count && k < context->nmembers && n < 64; k++)
		if (!(context->members[k].field->roles & ~(uint32_t)CTF_ROLE_CPU))
			kept[n++] = v.items[k];
	v.items = kept;
	v.count = n;
	if (!n)
		return;
	if (pen->p->names_of & NAME_SCOPE)
		out_str(&pen->text, "stream.packet.context = ");
	out_items(&pen->p->values, &v, &pen->text, 0, pen->p->names_of & NAME_CONTEXT);
}

static const struct piece *packet_piece(struct pen *pen, const struct spur_event *row,
					const struct ctf_place_of *at)
{
	struct piece *piece = &pen->packets[row->stream % MEMO];

	if (piece->key != at->class || piece->stream != row->stream ||
	    piece->packet != at->packet) {
		piece_begin(pen, piece, at->class);
		piece->stream = row->stream;
		piece->packet = at->packet;
		make_packet(pen, row, at->class->class->packet_context);
		piece_end(pen, piece);
	}
	return piece;
}

static void out_when(struct pen *pen, const struct spur_event *row)
{
	const bool names = pen->p->names_of & NAME_HEADER, delta = !pen->p->opt->no_delta;
	char *w = out_room(pen->o, WHEN_ROOM);

	if (!w)
		return;
	w = names ? put_literal(w, "timestamp = ") : put_literal(w, "[");
	w = pen->p->opt->cycles ? put_u64_0(w, row->id, 20) : put_time(pen, w, row);
	w = names ? w : put_literal(w, "] ");
	if (delta) {
		w = names ? put_literal(w, ", delta = ") : put_literal(w, "(");
		w = put_delta(pen, w, row);
		w = names ? w : put_literal(w, ") ");
	}
	out_to(pen->o, w);
}

/* Scopes after the name: those that have a class, empty ones too. */
static void out_scopes(struct pen *pen, const struct ctf_place_of *at, bool any)
{
	static const char *const titles[SCOPES] = { "stream.event.context = ", "event.context = ",
						    "event.fields = " };
	const bool has[SCOPES] = { at->class->class->event_common, at->event->class->specific,
				   at->event->class->payload };
	const struct spur_args *args = pen->args;
	const unsigned names = pen->p->names_of;
	size_t scope = 0;

	for (size_t i = 0; i < args->count; i++, scope++) {
		while (scope < SCOPES && !has[scope])
			scope++;
		if (scope == SCOPES || args->items[i].type != SPUR_STRUCT)
			continue;
		if (any)
			out_literal(pen->o, ", ");
		if (names & NAME_SCOPE)
			out_str(pen->o, titles[scope]);
		out_items(&pen->p->values, &args->items[i], pen->o, 0,
			  names & (scope + 1 == SCOPES ? NAME_PAYLOAD : NAME_CONTEXT));
		any = true;
	}
}

static __attribute__((noinline)) void make_head(struct pen *pen, const struct spur_event *row,
						const struct line_at *line, struct head *head)
{
	const struct ctf_place_of at = ctf_block_place(&line->block->of, line->id);
	struct out *text = &pen->text;
	size_t name;

	memo_room(pen);
	*head = (struct head){ .at = text->len, .timed = at.class->class->clock };
	make_heading(pen->p, &at, text);
	name = text->len;
	make_packet(pen, row, at.class->class->packet_context);
	if (text->len > name && line->line->items)
		out_literal(text, ", ");
	text_end(pen);
	/* pretty_render() tells of a text that could not be kept. */
	if (text->error || text->len - head->at > MEMO_TEXT / 2)
		return;
	head->len = (uint32_t)(text->len - head->at);
	head->key = line_key(line);
}

/* Returns NULL if the event has to be written in another way. */
static inline const struct head *head_of(struct pen *pen, const struct spur_event *row,
					 const struct line_at *line)
{
	struct head *head = &pen->heads[(line->id + 8 * row->stream) % HEADS];
	const uint64_t key = line_key(line);

	if (likely(head->key == key))
		return head;
	make_head(pen, row, line, head);
	return head->key == key ? head : NULL;
}

static inline char *put_head(const struct pen *pen, char *w, const struct head *head)
{
	const char *text = pen->text.buf + head->at;

	memcpy(w, text, HEAD_PIECE);
	if (unlikely(head->len > HEAD_PIECE))
		memcpy(w + HEAD_PIECE, text + HEAD_PIECE, head->len - HEAD_PIECE);
	return w + head->len;
}

/* Makes the stamp of the row's millisecond. Returns false if its lines have another form. */
static __attribute__((noinline)) bool make_stamp(struct pen *pen, int64_t ts)
{
	char day[WHEN_ROOM];
	int64_t ns, base;
	size_t len;

	if (!pen->usual || __builtin_add_overflow(ts, pen->p->ctf->epoch_base, &ns) || ns < 0 ||
	    ns > INT64_MAX - MILLISECOND || __builtin_sub_overflow(ts, ns % MILLISECOND, &base) ||
	    base > INT64_MAX - MILLISECOND)
		return false;
	len = (size_t)(put_day(pen, day, ns) - day) - 6;
	if (len + 1 > sizeof(pen->stamp))
		return false;
	pen->stamp[0] = '[';
	memcpy(pen->stamp + 1, day, len);
	pen->stamp_len = len + 1;
	pen->base = base;
	pen->span = MILLISECOND;
	return true;
}

static inline char *put_six(char *w, uint32_t v)
{
	memcpy(w, frag_thousand[v / 1000], 4);
	memcpy(w + 3, frag_thousand[v % 1000], 4);
	return w + 6;
}

/*
 * As out_when(), of a time that is less than a second behind the last event. Returns NULL for other
 * times.
 */
static inline char *put_usual_when(struct pen *pen, char *w, const struct spur_event *row)
{
	const uint64_t dur = (uint64_t)row->dur;

	if (unlikely(dur >= 1000 * MILLISECOND))
		return NULL;
	if (unlikely((uint64_t)row->ts - (uint64_t)pen->base >= pen->span) &&
	    !make_stamp(pen, row->ts))
		return NULL;
	memcpy(w, pen->stamp, sizeof(pen->stamp));
	w = put_six(w + pen->stamp_len, (uint32_t)(row->ts - pen->base));
	w = put_literal(w, "] (+0.");
	if (likely(dur < MILLISECOND))
		w = put_six(put_literal(w, "000"), (uint32_t)dur);
	else
		w = put_nine(w, (uint32_t)dur, 0);
	return put_literal(w, ") ");
}

/* As out_when(), at `w`, from where there is room for 2 * WHEN_ROOM bytes. */
static inline char *put_head_when(struct pen *pen, char *w, const struct spur_event *row)
{
	char *end = put_usual_when(pen, w, row);

	if (likely(end))
		return end;
	out_to(pen->o, w);
	out_when(pen, row);
	return pen->o->buf + pen->o->len;
}

/* A line without decoded values. Returns false with nothing appended if they are needed. */
static inline bool out_quick(struct pen *pen, const struct spur_event *row)
{
	struct out *const o = pen->o;
	const struct head *head;
	struct line_at line;
	size_t from;
	char *w;

	if (!line_find(pen->lines, row, &line) || line.line->room > MEMO_TEXT / 2)
		return false;
	head = head_of(pen, row, &line);
	w = head ? out_room(o, head->len + line.line->room + 2 * WHEN_ROOM + HEAD_PIECE) : NULL;
	if (!w)
		return false;
	/* Nothing is flushed from here on, so that it can be taken back. */
	from = o->len;
	if (head->timed)
		w = put_head_when(pen, w, row);
	w = line_put(pen->lines, &line, o, put_head(pen, w, head));
	if (unlikely(!w)) {
		out_cut(o, from);
		return false;
	}
	*w++ = '\n';
	out_to(o, w);
	return true;
}

static void out_event(struct pen *pen, const struct spur_event *row)
{
	const struct piece *packet;
	struct ctf_place_of at;
	enum spur_status st;

	if (pen->lines && out_quick(pen, row))
		return;
	if (!ctf_event_values(pen->p->ctf, row, pen->args, &at, &st))
		return;
	if (at.class->class->clock)
		out_when(pen, row);
	out_piece(pen, event_piece(pen, row, &at));
	packet = packet_piece(pen, row, &at);
	out_piece(pen, packet);
	out_scopes(pen, &at, packet->len);
	out_literal(pen->o, "\n");
}

/* Returns an unused pen, or a new one. Returns NULL if out of memory. */
static struct pen *pen_take(const struct pretty *p)
{
	struct pen *pen;

	pthread_mutex_lock(&p->pens->lock);
	pen = p->pens->first;
	if (pen)
		p->pens->first = pen->next;
	pthread_mutex_unlock(&p->pens->lock);
	if (pen || !(pen = mem_alloc(sizeof(*pen))))
		return pen;
	pen->p = p;
	pen->second = no_time;
	pen->usual = !(p->names_of & NAME_HEADER) && !p->opt->no_delta && !p->opt->cycles &&
		     !p->opt->seconds;
	out_to_memory(&pen->text);
	if ((p->names_of & (NAME_SCOPE | NAMES_DEFAULT)) == NAMES_DEFAULT)
		pen->lines = line_pen_new(p->trace, &pretty_words, &p->values);
	return pen;
}

static void pen_give(struct pen *pen)
{
	struct pens *pens = pen->p->pens;

	pthread_mutex_lock(&pens->lock);
	pen->next = pens->first;
	pens->first = pen;
	pthread_mutex_unlock(&pens->lock);
}

static void pens_free(struct pens *pens)
{
	for (struct pen *pen = pens->first, *next; pen; pen = next) {
		next = pen->next;
		out_free(&pen->text);
		spur_args_free(&pen->packet_args);
		line_pen_free(pen->lines);
		mem_free(pen);
	}
	pthread_mutex_destroy(&pens->lock);
}

static void pretty_render(const void *self, const struct shown_row *rows, size_t n, struct out *o,
			  struct spur_args *args)
{
	struct pen *pen = pen_take(self);

	if (!pen) {
		o->error = o->error ? o->error : ENOMEM;
		return;
	}
	pen->o = o;
	pen->args = args;
	for (size_t i = 0; i < n; i++) {
		pen->marks = rows[i].marks;
		out_event(pen, &rows[i].row);
	}
	if (pen->text.error && !o->error)
		o->error = pen->text.error;
	pen_give(pen);
}

/* At most 292 years; 0 if time went back. */
static int64_t time_apart(int64_t from, int64_t to)
{
	int64_t ns;

	if (to <= from)
		return 0;
	return __builtin_sub_overflow(to, from, &ns) ? INT64_MAX : ns;
}

/* Whether the first time before the clock's origin is that of the row. */
static __attribute__((noinline)) bool is_first_negative(struct pretty *p,
							const struct spur_event *row)
{
	int64_t ns;

	if (p->negative || p->opt->cycles ||
	    __builtin_add_overflow(row->ts, p->ctf->epoch_base, &ns) || ns >= 0)
		return false;
	p->negative = true;
	return true;
}

/* The row's cycles, and those since the event before. */
static __attribute__((noinline)) void stage_cycles(struct pretty *p, struct spur_event *row)
{
	const uint64_t before = p->last_cycles;

	row->id = p->last_cycles = ctf_event_cycles(p->ctf, row);
	row->dur = row->dur == no_time ? no_time : (int64_t)(row->id - before);
}

/* The row with the time since the one before. Times before `origin` may be before the clock's. */
static inline bool stage_row(struct pretty *p, const struct spur_event *from, int64_t origin,
			     struct render_rows *out)
{
	struct shown_row *shown = render_add(out);
	const int64_t last = p->last;

	if (!shown)
		return false;
	shown->row = *from;
	shown->row.dur = last == no_time ? no_time : time_apart(last, from->ts);
	shown->marks = 0;
	p->last = from->ts;
	if (unlikely(p->opt->cycles))
		stage_cycles(p, &shown->row);
	if (unlikely(from->ts < origin) && is_first_negative(p, from))
		shown->marks = FIRST_NEGATIVE;
	return !p->limit || ++p->shown < p->limit;
}

static bool pretty_stage(void *self, struct marked_rows in, struct render_rows *out)
{
	struct pretty *p = self;
	const int64_t epoch = p->ctf->epoch_base, origin = epoch == INT64_MIN ? INT64_MAX : -epoch;

	for (size_t i = 0; i < in.n; i++) {
		const struct spur_event *row = &in.rows[i];
		const struct stream_span *span = p->spans ? &p->spans[row->stream] : NULL;

		if (row->kind == SPUR_LOST || row->kind == SPUR_NATIVE ||
		    (span && (row->ts < span->from || row->ts > span->to)))
			continue;
		p->any = true;
		if (!stage_row(p, row, origin, out))
			return false;
	}
	return true;
}

/* --- options --- */

struct word {
	const char *text;
	unsigned value;
};

/*
 * SPEC ctf/babeltrace2-options: what a list names is shown and nothing else, unless it says what it
 * adds to: all, or none
 */
static enum spur_status read_words(const char *option, const char *list, const struct word *words,
				   unsigned *set, struct spur_error *err)
{
	struct text rest = text_of(list), one;
	unsigned named = 0, base = 0;
	bool all = false, none = false;

	while (text_split(&rest, ',', &one)) {
		const struct word *w = words;

		while (w->text && !text_is(one, w->text))
			w++;
		if (!w->text)
			return err_set(err, SPUR_ERR_USAGE,
				       "%s: expected a name that babeltrace2 knows, found \"%.*s\"",
				       option, (int)one.len, one.p);
		all |= w->value == ~0u;
		none |= !w->value;
		named |= w->value == ~0u ? 0 : w->value;
		base |= w->value == ~0u ? ~0u : 0;
	}
	if (all && none)
		return err_set(err, SPUR_ERR_USAGE, "%s: expected all or none, found both", option);
	*set = named | base;
	return SPUR_OK;
}

static enum spur_status read_options(struct pretty *p, struct spur_error *err)
{
	static const struct word names[] = {
		{ "payload", NAME_PAYLOAD },
		{ "arg", NAME_PAYLOAD },
		{ "args", NAME_PAYLOAD },
		{ "none", 0 },
		{ "all", ~0u },
		{ "scope", NAME_SCOPE },
		{ "header", NAME_HEADER },
		{ "context", NAME_CONTEXT },
		{ "ctx", NAME_CONTEXT },
		{ NULL, 0 },
	};
	/* Call sites are accepted and never there, as with babeltrace2. */
	static const struct word fields[] = {
		{ "all", ~0u },
		{ "trace", FIELD_TRACE },
		{ "trace:hostname", FIELD_HOSTNAME },
		{ "trace:domain", FIELD_DOMAIN },
		{ "trace:procname", FIELD_PROCNAME },
		{ "trace:vpid", FIELD_VPID },
		{ "loglevel", FIELD_LOGLEVEL },
		{ "emf", FIELD_EMF },
		{ "callsite", FIELDS_ALL + 1 },
		{ NULL, 0 },
	};

	p->names_of = NAMES_DEFAULT;
	p->fields = FIELDS_DEFAULT;
	if (p->opt->names &&
	    read_words("--names", p->opt->names, names, &p->names_of, err) == SPUR_FAIL)
		return SPUR_FAIL;
	return p->opt->fields ? read_words("--fields", p->opt->fields, fields, &p->fields, err)
			      : SPUR_OK;
}

static void note_ignored(const struct pass_env *env)
{
	const struct render_options *o = env->opt;
	const struct {
		bool given;
		const char *name;
	} ignored[] = {
		{ o->form == FORM_JSONL, "--jsonl" },
		{ o->form == FORM_CSV, "--csv" },
		{ o->time == TIME_ABS, "--time=abs (--clock-date shows dates)" },
		{ o->time == TIME_RAW, "--time=raw (--clock-cycles shows cycles)" },
		{ o->no_args, "--no-args" },
	};

	for (size_t i = 0; env->notes && i < sizeof(ignored) / sizeof(ignored[0]); i++)
		if (ignored[i].given)
			out_printf(env->notes, "spur: note: --style=babeltrace2 ignores %s\n",
				   ignored[i].name);
}

static enum spur_status pretty_write(struct pretty *p, struct pass_env *env)
{
	static const struct pipe_render render = { .stage = pretty_stage,
						   .render = pretty_render };
	enum spur_status st = SPUR_FAIL;

	tzset();
	if (pretty_values_open(&p->values, p->trace))
		st = pipe_run_render(env->trace, &env->pipe, &render, p, env->out);
	pretty_values_close(&p->values);
	spur_args_free(&p->args);
	if (st == SPUR_FAIL)
		return err_nomem(env->err);
	return p->any ? SPUR_OK : SPUR_WARN;
}

static enum spur_status pretty_run(struct pass_env *env)
{
	struct pens pens = { .first = NULL };
	struct pretty p = { .trace = env->trace,
			    .last = no_time,
			    .opt = babeltrace2_options(env),
			    .limit = env->opt->limit,
			    .pens = &pens };
	enum spur_status st;

	if (strcmp(env->trace->format->name, "ctf") != 0)
		return err_set(env->err, SPUR_ERR_USAGE,
			       "--style=babeltrace2: expected a CTF trace, found %s",
			       env->trace->format->name);
	p.ctf = env->trace->state;
	pthread_mutex_init(&pens.lock, NULL);
	st = read_options(&p, env->err);
	if (st == SPUR_OK && p.opt->intersection)
		st = spans_find(&p.spans, p.ctf, env->err);
	note_ignored(env);
	if (st == SPUR_OK)
		st = pretty_write(&p, env);
	mem_free(p.spans);
	pens_free(&pens);
	return st;
}

const struct spur_pass spur_pass_babeltrace2_cat = {
	.name = "cat.babeltrace2",
	.limits_rows = true,
	.no_spans = true,
	.style_options_size = sizeof(struct babeltrace2_options),
	.run = pretty_run,
};
