/*
 * cat in the words of babeltrace2's text output (its sink text.pretty with default options), for scripts that read it:
 * of CTF traces. Warnings about lost events are diagnostics here, as everywhere.
 *
 * Events are ordered and told their distance from the one before on one thread; lines are made on all.
 */
#include <errno.h>
#include <time.h>

#include "format/ctf/reader.h"
#include "pass/pass.h"
#include "pass/text/frag.h"

enum {
	NESTING = 128,
	NUMBER_ROOM = 80, /* of any number */
	CLOCK_TEXT = 10, /* "[12:34:56." */
	PIECE = 4096, /* bytes of text for which room is made at once */
	INDEXES = 64, /* places in arrays whose text is ready */
	MEMO = 16, /* packets, and events, whose text is at hand */
	MEMO_TEXT = 1 << 16,
};

static const int64_t no_time = INT64_MIN;

struct pretty {
	struct spur_trace *trace;
	struct ctf *ctf;
	int64_t last; /* time of the row before; no_time: there is none */
	struct frag_table *names; /* ", name = " by string id */
	char indexes[INDEXES][FRAG_PIECE]; /* ", [7] = " */
	uint8_t escapes
		[256]; /* of bytes in text: 0: none; 'x': hexadecimal; else what follows the backslash */
	uint64_t shown;
	struct pens *pens;
};

/* A piece of the memo's text. */
struct piece {
	const void *key; /* NULL: none yet */
	uint64_t packet;
	uint32_t stream;
	uint32_t len;
	size_t at;
};

/* Lines being made by one thread, and what many of them have in common. */
struct pen {
	struct pen *next; /* of those that nobody has */
	const struct pretty *p;
	struct out *o;
	struct spur_args *args;
	struct spur_args packet_args;
	struct out text; /* of the memo */
	struct piece events[MEMO]; /* "HOST NAME: " */
	struct piece packets[MEMO]; /* "{ cpu_id = 0 }", or "" */
	int64_t second; /* whose `clock` is; no_time: none yet */
	char clock[16];
};

struct pens {
	pthread_mutex_t lock;
	struct pen *first;
};

/* --- values --- */

static void out_value(const struct pretty *p, const struct spur_value *v, struct out *o,
		      unsigned depth);

static inline void out_short(struct out *o, const char *s, size_t len)
{
	char *w = out_room(o, len);

	if (w)
		out_to(o, put_text(w, s, len));
}

#define out_literal(o, s) out_short((o), (s), sizeof(s) - 1)

/* As in a C string: quotes, backslash and question mark too. */
static void make_escapes(uint8_t *escapes)
{
	static const char from[] = "\a\b\f\n\r\t\v\033\\'\"?", to[] = "abfnrtve\\'\"?";

	memset(escapes, 'x', ' ');
	escapes[127] = 'x';
	escapes[0] = '0';
	for (size_t i = 0; from[i]; i++)
		escapes[(unsigned char)from[i]] = (uint8_t)to[i];
}

/* Room: four bytes each. */
static char *put_escaped(char *w, const uint8_t *escapes, const char *s, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)s[i];

		if (__builtin_expect(!escapes[c], 1)) {
			*w++ = s[i];
			continue;
		}
		*w++ = '\\';
		*w++ = (char)escapes[c];
		if (escapes[c] == 'x') {
			*w++ = digits[c >> 4];
			*w++ = digits[c & 15];
		}
	}
	return w;
}

static void out_escaped(const struct pretty *p, const char *s, size_t len, struct out *o)
{
	size_t n;
	char *w;

	out_literal(o, "\"");
	for (; len; s += n, len -= n) {
		n = len < PIECE ? len : PIECE;
		w = out_room(o, 4 * n);
		if (!w)
			return;
		out_to(o, put_escaped(w, p->escapes, s, n));
	}
	out_literal(o, "\"");
}

static char *put_upper(char *w, uint64_t v)
{
	static const char digits[] = "0123456789ABCDEF";

	w = put_literal(w, "0x");
	for (int shift = v ? (63 - __builtin_clzll(v)) / 4 * 4 : 0; shift >= 0; shift -= 4)
		*w++ = digits[v >> shift & 15];
	return w;
}

static char *put_octal(char *w, uint64_t v)
{
	*w++ = '0';
	for (int shift = v ? (63 - __builtin_clzll(v)) / 3 * 3 : 0; shift >= 0; shift -= 3)
		*w++ = (char)('0' + (v >> shift & 7));
	return w;
}

/* Room: NUMBER_ROOM. */
static char *put_int(char *w, const struct spur_value *v, bool is_signed)
{
	const unsigned bits = v->size ? 8u * v->size : 64;
	const uint64_t u = bits < 64 ? v->u & (((uint64_t)1 << bits) - 1) : v->u;

	switch (v->show) {
	case SPUR_SHOW_HEX:
		return put_upper(w, u);
	case SPUR_SHOW_OCTAL:
		return put_octal(w, u);
	case SPUR_SHOW_BINARY:
		w = put_literal(w, "0b");
		for (unsigned i = bits; i-- > 0;)
			*w++ = u >> i & 1 ? '1' : '0';
		return w;
	default:
		return is_signed ? put_i64(w, v->i) : put_u64(w, v->u);
	}
}

/* Labels of a value, which are joined by a unit separator: "A" or { "A", "B" }. */
static void out_labels(const char *label, bool braces, struct out *o)
{
	struct text rest = text_of(label), one;
	bool first = true;

	if (braces)
		out_literal(o, "{ ");
	while (text_split(&rest, CTF_LABELS_BETWEEN, &one)) {
		out_str(o, first ? "\"" : ", \"");
		out_bytes(o, one.p, one.len);
		out_literal(o, "\"");
		first = false;
	}
	if (braces)
		out_literal(o, " }");
}

static void out_enum(const struct spur_value *v, struct out *o)
{
	char *w;

	/* Of flags (bit maps) the number comes first. */
	if (v->count == CTF_ENUM_FLAGS) {
		w = out_room(o, NUMBER_ROOM);
		if (w)
			out_to(o, put_upper(w, v->u));
		if (v->label) {
			out_char(o, ' ');
			out_labels(v->label, true, o);
		}
		return;
	}
	out_literal(o, "( ");
	if (v->label)
		out_labels(v->label, strchr(v->label, CTF_LABELS_BETWEEN) != NULL, o);
	else
		out_literal(o, "<unknown>");
	w = out_room(o, 2 * NUMBER_ROOM);
	if (!w)
		return;
	w = put_int(put_literal(w, " : container = "), v, v->count == CTF_ENUM_SIGNED);
	out_to(o, put_literal(w, " )"));
}

static void out_octets(const char *s, size_t len, struct out *o)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t n;
	char *w;

	out_literal(o, "0x");
	for (; len; s += n, len -= n) {
		n = len < PIECE ? len : PIECE;
		w = out_room(o, 2 * n);
		for (size_t i = 0; w && i < n; i++) {
			*w++ = digits[(unsigned char)s[i] >> 4];
			*w++ = digits[s[i] & 15];
		}
		if (!w)
			return;
		out_to(o, w);
	}
}

static void make_name(const void *self, const struct spur_event *row, struct frag *f, struct out *o)
{
	const struct pretty *p = self;

	(void)f;
	out_literal(o, ", ");
	out_str(o, spur_string(p->trace, row->name, NULL));
	out_literal(o, " = ");
}

/* ", name = ", of the first item "{ name = ". */
static void out_name(const struct pretty *p, uint32_t name, bool first, struct out *o)
{
	const struct frag *f = frag_seen(p->names, name);
	char *w;

	if (!f)
		f = frag_made(p->names, name, &(struct spur_event){ .name = name });
	if (!f) {
		out_str(o, first ? "{ " : ", ");
		out_str(o, spur_string(p->trace, name, NULL));
		out_literal(o, " = ");
		return;
	}
	w = out_room(o, f->len + FRAG_PIECE);
	if (!w)
		return;
	out_to(o, put_frag(w, f));
	if (first)
		*w = '{';
}

/* ", [7] = ", of the first item "[ [0] = ". */
static void out_index(const struct pretty *p, uint32_t i, struct out *o)
{
	char *w = out_room(o, NUMBER_ROOM);

	if (!w)
		return;
	if (i >= INDEXES) {
		out_to(o, put_literal(put_u64(put_literal(w, ", ["), i), "] = "));
		return;
	}
	memcpy(w, p->indexes[i], FRAG_PIECE);
	out_to(o, w + (i < 10 ? 8 : 9));
	if (!i)
		*w = '[';
}

static void make_indexes(struct pretty *p)
{
	for (unsigned i = 0; i < INDEXES; i++)
		put_literal(put_u64(put_literal(p->indexes[i], ", ["), i), "] = ");
}

static void out_items(const struct pretty *p, const struct spur_value *v, struct out *o,
		      unsigned depth)
{
	const bool array = v->type == SPUR_ARRAY;

	if (!v->count || depth >= NESTING)
		out_short(o, array ? "[ " : "{ ", 2);
	for (uint32_t i = 0; i < v->count && depth < NESTING; i++) {
		if (array)
			out_index(p, i, o);
		else if (v->items[i].name)
			out_name(p, v->items[i].name, !i, o);
		else
			out_literal(o, "{ ");
		out_value(p, &v->items[i], o, depth + 1);
	}
	out_short(o, (array ? " ]" : " }") + !v->count, v->count ? 2 : 1);
}

static void out_value(const struct pretty *p, const struct spur_value *v, struct out *o,
		      unsigned depth)
{
	char *w;

	switch ((enum spur_type)v->type) {
	case SPUR_NULL:
		out_literal(o, "<none>");
		break;
	case SPUR_BOOL:
		out_str(o, v->u ? "true" : "false");
		break;
	case SPUR_F64:
		w = out_room(o, NUMBER_ROOM);
		if (w)
			out_to(o, put_g(w, v->f));
		break;
	case SPUR_STRING:
		out_escaped(p, v->text, v->count, o);
		break;
	case SPUR_BYTES:
		out_octets(v->text, v->count, o);
		break;
	case SPUR_ENUM:
		out_enum(v, o);
		break;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		out_items(p, v, o, depth);
		break;
	default:
		w = out_room(o, NUMBER_ROOM);
		if (w)
			out_to(o, put_int(w, v, v->type == SPUR_I64));
		break;
	}
}

/* --- lines --- */

/* Time of day where the program runs, as the local time zone has it. Room: 32 bytes. */
static char *put_clock(struct pen *pen, char *w, int64_t ns)
{
	int64_t s = ns / 1000000000, rest = ns % 1000000000;
	const time_t when = (time_t)(rest < 0 ? s - 1 : s);
	struct tm tm;
	char *c;

	if (rest < 0) {
		rest += 1000000000;
		s--;
	}
	if (s != pen->second) {
		localtime_r(&when, &tm);
		c = put_u64_0(put_literal(pen->clock, "["), (uint64_t)tm.tm_hour, 2);
		c = put_u64_0(put_literal(c, ":"), (uint64_t)tm.tm_min, 2);
		c = put_u64_0(put_literal(c, ":"), (uint64_t)tm.tm_sec, 2);
		*c = '.';
		pen->second = s;
	}
	memcpy(w, pen->clock, sizeof(pen->clock));
	return put_literal(put_nine(w + CLOCK_TEXT, (uint32_t)rest, 0), "] ");
}

static char *put_delta(char *w, int64_t delta)
{
	if (delta == no_time)
		return put_literal(w, "(+\?.\?\?\?\?\?\?\?\?\?) ");
	w = put_literal(w, "(+");
	w = delta < 1000000000 ? put_literal(w, "0") : put_i64(w, delta / 1000000000);
	w = put_nine(put_literal(w, "."), (uint32_t)(delta % 1000000000), 0);
	return put_literal(w, ") ");
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
static void piece_begin(struct pen *pen, struct piece *piece, const void *key)
{
	if (pen->text.len > MEMO_TEXT) {
		memset(pen->events, 0, sizeof(pen->events));
		memset(pen->packets, 0, sizeof(pen->packets));
		out_clear(&pen->text);
	}
	piece->key = key;
	piece->at = pen->text.len;
}

static void out_event_piece(struct pen *pen, const struct spur_event *row,
			    const struct ctf_place_of *at)
{
	struct piece *piece = &pen->events[row->cls % MEMO];
	const struct pretty *p = pen->p;

	if (piece->key != at->event) {
		piece_begin(pen, piece, at->event);
		out_bytes(&pen->text, at->trace->head, at->trace->head_len);
		out_str(&pen->text, spur_string(p->trace, at->event->name, NULL));
		out_str(&pen->text, ": ");
		piece->len = (uint32_t)(pen->text.len - piece->at);
	}
	out_piece(pen, piece);
}

/* What has no meaning to the reader in a packet's context, and the processor. */
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
	if (n)
		out_items(pen->p, &v, &pen->text, 0);
}

/* False: there is nothing. */
static bool out_packet_piece(struct pen *pen, const struct spur_event *row,
			     const struct ctf_place_of *at)
{
	struct piece *piece = &pen->packets[row->stream % MEMO];

	if (piece->key != at->class || piece->stream != row->stream ||
	    piece->packet != at->packet) {
		piece_begin(pen, piece, at->class);
		piece->stream = row->stream;
		piece->packet = at->packet;
		make_packet(pen, row, at->class->class->packet_context);
		piece->len = (uint32_t)(pen->text.len - piece->at);
	}
	out_piece(pen, piece);
	return piece->len;
}

/* Scopes after the name: those that have a class, empty ones too. */
static void out_event(struct pen *pen, const struct spur_event *row)
{
	const struct spur_args *args = pen->args;
	struct ctf_place_of at;
	enum spur_status st;
	bool any;
	char *w;

	if (!ctf_event_values(pen->p->ctf, row, pen->args, &at, &st))
		return;
	w = at.class->class->clock ? out_room(pen->o, NUMBER_ROOM) : NULL;
	if (w)
		out_to(pen->o,
		       put_delta(put_clock(pen, w, row->ts + pen->p->ctf->epoch_base), row->dur));
	out_event_piece(pen, row, &at);
	any = out_packet_piece(pen, row, &at);
	for (size_t i = 0; i < args->count; i++) {
		if (args->items[i].type != SPUR_STRUCT)
			continue;
		if (any)
			out_literal(pen->o, ", ");
		out_items(pen->p, &args->items[i], pen->o, 0);
		any = true;
	}
	out_literal(pen->o, "\n");
}

/* One that nobody has, else a new one; NULL: no memory. */
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
	out_to_memory(&pen->text);
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
		mem_free(pen);
	}
	pthread_mutex_destroy(&pens->lock);
}

static void pretty_render(const void *self, const struct spur_event *rows, size_t n, struct out *o,
			  struct spur_args *args)
{
	struct pen *pen = pen_take(self);

	if (!pen) {
		o->error = o->error ? o->error : ENOMEM;
		return;
	}
	pen->o = o;
	pen->args = args;
	for (size_t i = 0; i < n; i++)
		out_event(pen, &rows[i]);
	if (pen->text.error && !o->error)
		o->error = pen->text.error;
	pen_give(pen);
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
	struct pens pens = { .first = NULL };
	enum spur_status st = SPUR_FAIL;
	struct number digits; /* for the table that they share */

	if (strcmp(env->trace->format->name, "ctf") != 0)
		return err_set(env->err, SPUR_ERR_USAGE,
			       "--style=babeltrace2: expected a CTF trace, found %s",
			       env->trace->format->name);
	p.ctf = env->trace->state;
	p.pens = &pens;
	pthread_mutex_init(&pens.lock, NULL);
	p.names = frag_new(make_name, &p);
	number_init(&digits);
	tzset();
	make_escapes(p.escapes);
	make_indexes(&p);
	if (p.names)
		st = pipe_run_render(env->trace, &env->pipe, &render, &p, env->out);
	frag_free(p.names);
	pens_free(&pens);
	if (st == SPUR_FAIL)
		return err_nomem(env->err);
	return p.shown ? SPUR_OK : SPUR_WARN;
}

const struct spur_pass spur_pass_babeltrace2_cat = {
	.name = "cat.babeltrace2",
	.limits_rows = true,
	.no_spans = true,
	.run = pretty_run,
};
