/*
 * dump: every record of every stream where it stands: streams one after the other, not merged, each
 * with offset, length, kind, name and the fields as stored; --verbose adds the bytes. Reads what
 * the format reads: damaged records are damage, not records.
 *
 * A feed's own stream is shown while it is read; rows of streams that several feeds share (per-CPU
 * files) are kept and shown by offset at the end. A filter that needs the merged order gives the
 * merged order.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "flow/args.h"
#include "pass/dump.h"
#include "pass/pass.h"
#include "render/frag.h"
#include "render/record.h"
#include "render/value.h"

enum {
	KIND_WIDTH = 8,
	LEN_WIDTH = 5,
	BYTES_A_LINE = 16,
	SHARED_ROWS = 1 << 28,
	HEAD_ROOM = 128, /* of a line, with its longest numbers */
	KIND_TEXT = 32, /* bytes for the name of a kind and what stands around it */
	LENGTH_TEXT = 64, /* bytes for a row's length and its kind */
	LENGTHS = 4,
	SHORT_TEXT = 4096, /* names up to this are copied at once */
};

/* The text between a row's offset and its name, for rows of a length. */
struct length_text {
	uint32_t row_len;
	uint32_t len; /* 0: not made yet */
	char text[LENGTH_TEXT];
};

/* The name of a kind with what stands between a row's length and its name. */
struct kind_text {
	uint32_t len;
	char text[KIND_TEXT];
	struct length_text lengths[LENGTHS]; /* by words of 8 bytes */
};

struct dump {
	struct pass_env *env;
	struct spur_trace *trace;
	struct out *out;
	struct spur_args args;
	bool json, verbose;
	uint32_t stream; /* whose heading was written */
	struct spur_event last; /* the row that was written last: all of a SWITCH, else its kind */
	uint64_t shown, limit;
	struct spur_event *shared;
	size_t nshared, cap;
	struct frag_table *titles; /* names of rows by string id */
	struct frag_user title;
	struct out file; /* in JSON: what stands before an offset in the lines of this stream */
	struct value_writer values;
	struct record_pen pen;
	struct kind_text kinds[SPUR_KINDS];
};

static void make_title(const void *self, const struct spur_event *row, struct frag *f,
		       struct out *o)
{
	const struct dump *d = self;
	size_t len;
	const char *s = trace_string(d->trace, row->name, &len);

	(void)f;
	if (d->json)
		out_json(o, s, len);
	else
		out_safe(o, s, len);
}

static void dump_title(struct dump *d, const struct spur_event *row)
{
	const struct frag *f = frag_get(d->titles, row->name, row, &d->title);

	if (f)
		out_bytes(d->out, f->p, f->len);
	else if (!d->out->error)
		d->out->error = ENOMEM;
}

static void dump_hex(struct out *o, const uint8_t *p, size_t n, const char *between)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		if (i)
			out_str(o, between);
		out_bytes(o, (const char[]){ digits[p[i] >> 4], digits[p[i] & 15] }, 2);
	}
}

static const uint8_t *dump_raw(const struct dump *d, const struct spur_event *row)
{
	return d->verbose ? format_place(d->trace, row).raw : NULL;
}

/* The record's fields; arguments where the format has no fields to tell. */
static bool dump_fields(struct dump *d, const struct spur_event *row)
{
	const struct spur_format *f = d->trace->format;

	args_reset(&d->args);
	return (f->fields ? f->fields(d->trace, row, &d->args)
			  : trace_args(d->trace, row, &d->args)) != SPUR_FAIL;
}

static void make_kinds(struct dump *d)
{
	for (unsigned i = 0; i < SPUR_KINDS; i++) {
		struct kind_text *const k = &d->kinds[i];
		const char *const name = spur_kind_name(i);
		const int n =
			d->json ? snprintf(k->text, sizeof(k->text),
					   ",\"kind\":\"%s\",\"name\":", name)
				: snprintf(k->text, sizeof(k->text), "  %-*s ", KIND_WIDTH, name);

		assert(n > 0 && n < KIND_TEXT);
		k->len = (uint32_t)n;
	}
}

static void make_length(const struct dump *d, const struct kind_text *k, struct length_text *l,
			uint32_t row_len)
{
	char *p = l->text;

	if (d->json) {
		p = put_u64(put_literal(p, ",\"len\":"), row_len);
	} else {
		*p++ = ' ';
		p = put_u64_w(p, row_len, LEN_WIDTH);
	}
	memcpy(p, k->text, sizeof(k->text));
	l->row_len = row_len;
	l->len = (uint32_t)(p - l->text) + k->len;
	assert(p - l->text + KIND_TEXT <= LENGTH_TEXT);
}

/* `    16  BEGIN    ` or `,"len":16,"kind":"BEGIN","name":`. Room: LENGTH_TEXT. */
static inline char *put_kind(struct dump *d, char *p, const struct spur_event *row)
{
	struct kind_text *const k = &d->kinds[row->kind];
	struct length_text *const l = &k->lengths[row->len / 8 % LENGTHS];

	assert(row->kind < SPUR_KINDS);
	if (__builtin_expect(l->row_len != row->len || !l->len, 0))
		make_length(d, k, l, row->len);
	memcpy(p, l->text, sizeof(l->text));
	return p + l->len;
}

/* From the offset to the name: `496,"len":16,"kind":"BEGIN","name":`. Room: HEAD_ROOM. */
static char *put_json_head(struct dump *d, char *p, const struct spur_event *row)
{
	return put_kind(d, put_u64(p, row->off), row);
}

static void dump_json(struct dump *d, const struct spur_event *row)
{
	const uint8_t *raw = dump_raw(d, row);
	struct out *o = d->out;
	char *p;

	out_part(o, &d->file, 0, d->file.len);
	p = out_room(o, HEAD_ROOM);
	if (!p)
		return;
	out_to(o, put_json_head(d, p, row));
	dump_title(d, row);
	out_str(o, ",\"fields\":");
	args_json(&d->values, &d->args, false, o);
	if (raw) {
		out_str(o, ",\"raw\":\"");
		dump_hex(o, raw, row->len, "");
		out_char(o, '"');
	}
	out_str(o, "}\n");
}

/* Offset, length, kind: `0x000001f0    16  BEGIN    `. Room: HEAD_ROOM. */
static inline char *put_head(struct dump *d, char *p, const struct spur_event *row)
{
	p = put_literal(p, "0x");
	if (__builtin_expect(row->off > UINT32_MAX, 0))
		p = put_hex_eight(p, (uint32_t)(row->off >> 32));
	return put_kind(d, put_hex_eight(p, (uint32_t)row->off), row);
}

/* The rows of another stream begin: a line with its file's name, or what each line begins with. */
static void dump_stream(struct dump *d, const struct spur_event *row)
{
	const struct spur_stream *s = trace_stream(d->trace, row->stream);
	const char *path = s ? s->path : "";

	if (d->json) {
		out_clear(&d->file);
		out_str(&d->file, "{\"stream\":");
		out_json(&d->file, path, strlen(path));
		out_str(&d->file, ",\"off\":");
		if (d->file.error && !d->out->error)
			d->out->error = d->file.error;
	} else {
		out_str(d->out, d->stream == SPUR_NONE ? "" : "\n");
		out_safe(d->out, path, strlen(path));
		out_str(d->out, ":\n");
	}
	d->stream = row->stream;
}

static void dump_text(struct dump *d, const struct spur_event *row)
{
	const uint8_t *raw = dump_raw(d, row);
	struct out *o = d->out;
	char *p = out_room(o, HEAD_ROOM);

	if (!p)
		return;
	out_to(o, put_head(d, p, row));
	dump_title(d, row);
	if (d->args.count) {
		out_str(o, "  ");
		args_text_list(&d->values, &d->args, d->trace->format->fields, o);
	}
	out_char(o, '\n');
	for (size_t i = 0; raw && i < row->len; i += BYTES_A_LINE) {
		out_printf(o, "  %08llx  ", (unsigned long long)(row->off + i));
		dump_hex(o, raw + i, row->len - i < BYTES_A_LINE ? row->len - i : BYTES_A_LINE,
			 " ");
		out_char(o, '\n');
	}
}

/*
 * Writes the line of a record that has a layout. Returns false, with nothing written, if its fields
 * have to be decoded. INVARIANT: both ways write the same bytes.
 */
static bool dump_layout(struct dump *d, const struct spur_event *row)
{
	const struct spur_format *f = d->trace->format;
	const uint8_t *raw;
	const struct record_layout *l =
		f->layout && !d->verbose ? f->layout(d->trace, row, &raw) : NULL;
	struct record_program *const program = l ? record_program(&d->pen, l) : NULL;
	const struct frag *title;
	char *p;

	if (!program)
		return false;
	title = frag_get(d->titles, row->name, row, &d->title);
	if (!title || title->len > SHORT_TEXT || d->file.len > SHORT_TEXT)
		return false;
	p = out_room(d->out, 2 * (SHORT_TEXT + FRAG_PIECE) + HEAD_ROOM + RECORD_ROOM);
	if (!p)
		return true;
	p = d->json ? put_json_head(d, put_text(p, d->file.buf, d->file.len), row)
		    : put_head(d, p, row);
	p = put_frag(p, title);
	out_to(d->out, record_put(&d->pen, program, raw, row->len, p));
	return true;
}

/*
 * A switch is one record and two rows: of the thread that leaves the CPU, and of the one that gets
 * it.
 */
static bool same_record(const struct dump *d, const struct spur_event *row)
{
	return row->kind == SPUR_SWITCH && d->last.kind == SPUR_SWITCH && d->shown &&
	       row->stream == d->last.stream && row->off == d->last.off &&
	       row->len == d->last.len && (row->flags ^ d->last.flags) & SPUR_F_IN;
}

/* Returns false if that is enough, or if out of memory (then the status says so). */
static bool dump_row(struct dump *d, const struct spur_event *row, enum spur_status *st)
{
	if (d->limit && d->shown == d->limit)
		return false;
	if (((row->flags & SPUR_F_IMPLIED) && !row->len) || same_record(d, row))
		return true;
	d->shown++;
	if (row->kind == SPUR_SWITCH)
		d->last = *row;
	d->last.kind = row->kind;
	if (row->stream != d->stream)
		dump_stream(d, row);
	if (dump_layout(d, row))
		return !d->out->error;
	if (!dump_fields(d, row)) {
		*st = SPUR_FAIL;
		return false;
	}
	if (d->json)
		dump_json(d, row);
	else
		dump_text(d, row);
	return !d->out->error;
}

static bool dump_stopped(const struct dump *d)
{
	const struct pipe_options *p = &d->env->pipe;

	return (p->stop && *p->stop) || d->out->error || (d->limit && d->shown == d->limit);
}

static enum spur_status dump_rows(struct dump *d, const struct feed *f,
				  const struct spur_event *rows, size_t n)
{
	enum spur_status st = SPUR_OK;

	for (size_t i = 0; i < n && st == SPUR_OK; i++) {
		if (rows[i].stream == f->stream) {
			if (!dump_row(d, &rows[i], &st))
				break;
			continue;
		}
		if (!mem_grow((void **)&d->shared, &d->cap, d->nshared + 1, sizeof(*d->shared),
			      SHARED_ROWS))
			return SPUR_FAIL;
		d->shared[d->nshared++] = rows[i];
	}
	return st;
}

static enum spur_status dump_feed(struct dump *d, struct feed *f)
{
	struct feed_reader *r = feed_reader_new(d->trace, f, d->env->filter, BATCH_ROWS);
	enum spur_status st = r ? SPUR_OK : SPUR_FAIL;
	struct spur_event *rows;
	size_t n;

	while (st == SPUR_OK && !dump_stopped(d)) {
		st = feed_reader_next(r, &rows, &n);
		if (st == SPUR_OK)
			st = dump_rows(d, f, rows, n);
		if (pipe_is_live(d->trace))
			out_flush(d->out);
	}
	feed_reader_free(r);
	return st == SPUR_FAIL ? SPUR_FAIL : SPUR_OK;
}

static int row_order(const void *a, const void *b)
{
	const struct spur_event *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	/* Of two rows of one record: the one that leaves a processor first. */
	if (x->flags != y->flags)
		return x->flags < y->flags ? -1 : 1;
	return x->track < y->track ? -1 : x->track > y->track;
}

static enum spur_status dump_streams(struct dump *d)
{
	enum spur_status st = SPUR_OK;

	for (size_t i = 0; i < d->trace->nfeeds && st == SPUR_OK && !dump_stopped(d); i++) {
		struct feed *f = d->trace->feeds[i];

		if (!d->env->filter || !filter_skips_feed(d->env->filter, f))
			st = dump_feed(d, f);
	}
	if (d->nshared)
		qsort(d->shared, d->nshared, sizeof(*d->shared), row_order);
	for (size_t i = 0; i < d->nshared && st == SPUR_OK && !dump_stopped(d); i++)
		if (!dump_row(d, &d->shared[i], &st))
			break;
	return st;
}

static bool dump_merged_rows(void *self, struct spur_event *rows, size_t n)
{
	struct dump *d = self;
	enum spur_status st = SPUR_OK;

	for (size_t i = 0; i < n; i++)
		if (!dump_row(d, &rows[i], &st))
			return false;
	if (pipe_is_live(d->trace))
		out_flush(d->out);
	return true;
}

/*
 * The feeds of what is being written are shown together. Several traces from pipes, or read in
 * pieces, are live too (pipe_is_live()), but each ends: shown one by one, as files are.
 */
static bool never_ends(const struct spur_trace *t)
{
	return t->live && (!t->nparts || t->options.follow);
}

static enum spur_status dump_run(struct pass_env *env)
{
	struct dump d = { .env = env,
			  .trace = env->trace,
			  .out = env->out,
			  .json = env->opt->form == FORM_JSONL,
			  .verbose = dump_options(env)->verbose,
			  .stream = SPUR_NONE,
			  .limit = env->opt->limit };
	enum spur_status st;

	d.titles = frag_new(make_title, &d);
	out_to_memory(&d.file);
	d.pen = (struct record_pen){ .values = &d.values,
				     .form = d.json ? VALUE_JSON : VALUE_TEXT,
				     .before = d.json ? ",\"fields\":" : "  ",
				     .after = d.json ? "}\n" : "\n" };
	number_init(&d.pen.big);
	make_kinds(&d);
	if (!d.titles ||
	    !value_writer_open(&d.values, env->trace, d.json ? VALUE_JSON : VALUE_TEXT))
		st = SPUR_FAIL;
	else if (never_ends(env->trace) || (env->filter && filter_is_global(env->filter)))
		st = pipe_run_merged(env->trace, &env->pipe, dump_merged_rows, &d);
	else
		st = dump_streams(&d);
	env->shown = d.limit ? d.shown : 0;
	mem_free(d.shared);
	frag_free(d.titles);
	frag_user_free(&d.title);
	out_free(&d.file);
	value_writer_close(&d.values);
	spur_args_free(&d.args);
	if (st == SPUR_FAIL)
		return err_nomem(env->err);
	return !d.shown && env->filter && !(env->pipe.stop && *env->pipe.stop) ? SPUR_WARN
									       : SPUR_OK;
}

const struct spur_pass spur_pass_dump = {
	.name = "dump",
	.limits_rows = true,
	.unit = UNIT_CHOSEN,
	.as_stored = true,
	.options_size = sizeof(struct dump_options),
	.run = dump_run,
};
