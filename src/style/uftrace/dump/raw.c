/*
 * Every record of one file after the other. The .dat files go through stage and render; what the
 * per-CPU files have comes with the tasks, is set aside in a temporary file, and printed file by
 * file at the end.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/file.h"
#include "base/os.h"
#include "style/uftrace/dump/dump.h"

enum { RECORD = 16, LINE_ROOM = 160 };

/* `marks` of a row for render(). */
enum dump_line { DUMP_RECORD, DUMP_FILE, DUMP_BACK };

/* "NAME(ADDR) depth: " of the address that a class mostly has. */
struct dump_name {
	const char *text; /* NULL: not yet made */
	uint32_t len;
	uint64_t addr;
};

struct dump_task {
	char text[32]; /* "   1234: [" */
	uint8_t len;
};

struct dump {
	struct style *s;
	struct pass_env *env;
	struct arena arena;
	struct dump_name *names[TRACE_CLASS_PAGES]; /* by class; made by stage, read by render */
	struct dump_task *tasks; /* by track */
	size_t ntasks;
	unsigned mode;
	bool verbose, args, failed;
	bool as_stored; /* depths of this task's records are not those of its rows */
	uint32_t stream; /* of that file */
	size_t current; /* 1 + index of the task whose file is read; 0: none yet */
	uint64_t prev, off; /* time and place of the last record */
	struct out sides;
	uint64_t nsides;
};

/* --- names --- */

static inline struct dump_name *name_page(const struct dump *d, uint32_t cls)
{
	struct dump_name *page = d->names[cls / TRACE_CLASS_PAGE % TRACE_CLASS_PAGES];

	return page ? &page[cls % TRACE_CLASS_PAGE] : NULL;
}

static void put_place(struct out *o, const char *name, size_t len, uint64_t addr, unsigned mode)
{
	style_string(o, name, len, mode);
	out_char(o, '(');
	out_hex(o, addr & 0xffffffffffff);
	out_str(o, ") depth: ");
}

/* False: no memory. */
static bool make_name(struct dump *d, const struct spur_event *row)
{
	struct dump_name **page = &d->names[row->cls / TRACE_CLASS_PAGE % TRACE_CLASS_PAGES], *n;
	size_t len;
	const char *name = trace_string(d->s->trace, row->name, &len);
	struct out text;

	if (!*page && !(*page = mem_array(TRACE_CLASS_PAGE, sizeof(**page))))
		return false;
	n = name_page(d, row->cls);
	if (n->text)
		return true;
	out_to_memory(&text);
	put_place(&text, name, len, style_addr(row), d->mode);
	n->addr = style_addr(row);
	n->len = (uint32_t)text.len;
	out_pad(&text, ' ', TEXT_BLOCK);
	n->text = text.error ? NULL : arena_strdup(&d->arena, text.buf, text.len);
	out_free(&text);
	return n->text != NULL;
}

/* --- stage --- */

static struct shown_row *add_mark(struct dump *d, enum dump_line line, struct render_rows *out)
{
	struct shown_row *e = render_add(out);

	if (e)
		*e = (struct shown_row){ .row = { .kind = SPUR_NATIVE }, .marks = line };
	else
		d->failed = true;
	return e;
}

/* "reading TID.dat" of the tasks up to this one, which may have no records. */
static bool start_files(struct dump *d, size_t upto, struct render_rows *out)
{
	for (; d->current < upto; d->current++) {
		const struct style_task *t = &d->s->tasks[d->current];
		struct shown_row *e;

		d->prev = d->off = 0;
		d->as_stored = false;
		if (t->hidden)
			continue;
		e = add_mark(d, DUMP_FILE, out);
		if (!e)
			return false;
		e->row.id = (uint64_t)t->tid;
	}
	return true;
}

static uint64_t stored_word(const struct dump *d, const struct spur_event *row)
{
	const uint8_t *p = format_place(d->s->trace, row).raw;

	return p && d->s->data ? load64(p + 8, order_swaps(d->s->data->info.big_endian)) : 0;
}

static inline bool is_hidden(const struct dump *d, const struct spur_event *row)
{
	if (row->kind == SPUR_LOST)
		return false;
	if (d->s->marks & ROW_UNSEEN)
		return true;
	return d->s->data && (row->flags & SPUR_F_DEPTH) && row->depth >= STYLE_LEVELS;
}

static inline bool add_record(struct dump *d, const struct spur_event *row, struct render_rows *out)
{
	uint64_t time = row->kind == SPUR_LOST ? 0 : (uint64_t)row->ts;
	const struct dump_name *n = name_page(d, row->cls);
	struct shown_row *e;

	if (__builtin_expect(!n || !n->text, 0) && !make_name(d, row))
		return false;
	if (__builtin_expect(d->prev > time, 0) && !add_mark(d, DUMP_BACK, out))
		return false;
	d->prev = time;
	e = render_add(out);
	if (!e)
		return false;
	e->row = *row;
	e->marks = DUMP_RECORD;
	if (__builtin_expect(d->as_stored || row->kind == SPUR_LOST, 0)) {
		uint64_t w = stored_word(d, row);

		e->row.depth = (uint16_t)(w >> 6 & 1023);
		e->row.id = w >> 16;
	}
	if (d->verbose) {
		e->row.dur = (int64_t)d->off;
		d->off += RECORD;
		if (row->nargs && d->args)
			d->off += align_up(row->kind == SPUR_BEGIN || row->kind == SPUR_END_SPAN
						   ? style_args_length(d->s->trace, row)
						   : style_event_payload(d->s->trace, row).len,
					   8);
	}
	return true;
}

static bool stage_row(struct dump *d, const struct spur_event *row, struct render_rows *out)
{
	enum style_source from = style_source_of(d->s, row);
	const struct style_task *t;
	size_t index;

	if (__builtin_expect(row->stream == d->stream && from == FROM_USER, 1))
		return is_hidden(d, row) || add_record(d, row, out);
	if (from == FROM_EXTERN)
		return true;
	if (from != FROM_USER) {
		out_bytes(&d->sides, row, sizeof(*row));
		d->nsides++;
		return true;
	}
	t = style_task_find(d->s, row);
	index = t ? (size_t)(t - d->s->tasks) + 1 : 0;
	if (__builtin_expect(index > d->current, 0)) {
		if (!start_files(d, index, out))
			return false;
		d->as_stored = row->kind != SPUR_LOST &&
			       (stored_word(d, row) >> 6 & 1023) != style_depth(row) &&
			       (row->kind == SPUR_BEGIN || row->kind == SPUR_END_SPAN) &&
			       d->s->data;
	}
	d->stream = t ? row->stream : SPUR_NONE;
	return !t || is_hidden(d, row) || add_record(d, row, out);
}

static bool stage(void *self, struct marked_rows in, struct render_rows *out)
{
	struct dump *d = self;

	for (size_t i = 0; i < in.n; i++) {
		d->s->marks = row_marks(in.marks, i);
		if (!stage_row(d, &in.rows[i], out)) {
			d->failed = true;
			return false;
		}
	}
	return in.n || start_files(d, d->s->ntasks, out);
}

/* --- hexadecimal --- */

/* Padded with zeros to `room` bytes. */
static uint64_t out_padded_hex(struct out *o, uint64_t off, const uint8_t *p, size_t len,
			       size_t room)
{
	for (size_t i = 0; i < room; i++) {
		if (i % 16 == 0)
			out_printf(o, "%s <%016llx>:", i ? "\n" : "", (unsigned long long)off + i);
		out_printf(o, "%s %02x", i % 16 == 8 ? " " : "", i < len ? p[i] : 0);
	}
	if (room)
		out_char(o, '\n');
	return off + room;
}

static uint64_t out_bytes_hex(struct out *o, uint64_t off, const uint8_t *p, size_t len)
{
	return out_padded_hex(o, off, p, len, len);
}

/* --- render --- */

/* Eight digits with leading zeros, all at once: pairs, then digits, in the bytes of a word. */
static inline void put_eight(char *p, uint32_t v)
{
	uint64_t top = v / 10000, low = v % 10000;
	uint64_t fours = top | low << 32;
	uint64_t hundreds = (fours * 10486 >> 20) & 0x7f0000007f;
	uint64_t pairs = hundreds | (fours - 100 * hundreds) << 16;
	uint64_t tens = (pairs * 103 >> 10) & 0x000f000f000f000f;
	uint64_t digits = (tens | (pairs - 10 * tens) << 8) + 0x3030303030303030;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	digits = __builtin_bswap64(digits);
#endif
	memcpy(p, &digits, sizeof(digits));
}

/* Seconds are the same for many records. */
struct clock_text {
	uint64_t second; /* that `text` says; UINT64_MAX: none */
	char text[16];
	uint8_t len;
};

static inline char *put_clock(char *p, struct clock_text *c, uint64_t ns)
{
	uint64_t base = c->second * 1000000000;
	uint32_t part;

	if (__builtin_expect(c->second == UINT64_MAX || ns - base >= 1000000000, 0)) {
		c->second = ns / 1000000000;
		base = c->second * 1000000000;
		/* SPEC uftrace/dump-seconds: 32 bits of them are printed */
		c->len = (uint8_t)(put_u64(c->text, (uint32_t)c->second) - c->text);
		c->text[c->len++] = '.';
	}
	memcpy(p, c->text, sizeof(c->text));
	p += c->len;
	part = (uint32_t)(ns - base);
	*p = (char)('0' + part / 100000000);
	put_eight(p + 1, part % 100000000);
	memcpy(p + 9, "  ", 2);
	return p + 11;
}

static inline char *put_task(const struct dump *d, char *p, uint32_t track)
{
	static const struct dump_task none = { "      ?: [", 10 };
	const struct dump_task *t = track < d->ntasks ? &d->tasks[track] : &none;

	memcpy(p, t->text, sizeof(t->text));
	return p + t->len;
}

static inline char *put_depth(char *p, uint32_t depth)
{
	if (depth < 10)
		*p++ = (char)('0' + depth);
	else
		p = put_u64(p, depth);
	*p++ = '\n';
	return p;
}

static inline const char *word_of(const struct spur_event *row)
{
	static const char words[][8] = { "entry] ", "exit ] ", "lost ] ", "event] " };

	return words[row->kind <= SPUR_END_SPAN ? row->kind : row->kind == SPUR_LOST ? 2 : 3];
}

static void out_head(const struct dump *d, struct out *o, struct clock_text *c,
		     const struct spur_event *row, uint64_t ns)
{
	char *p = out_room(o, LINE_ROOM);

	if (p)
		o->len += (size_t)(put_task(d, put_clock(p, c, ns), row->track) - p);
}

static void out_payload(const struct dump *d, struct out *o, struct clock_text *c,
			const struct spur_event *row, struct spur_args *scratch)
{
	struct spur_trace *t = d->s->trace;
	bool call = row->kind == SPUR_BEGIN || row->kind == SPUR_END_SPAN;
	struct text data =
		call ? text_make(NULL, style_args_length(t, row)) : style_event_payload(t, row);
	const uint8_t *raw = format_place(t, row).raw;
	size_t len;

	out_head(d, o, c, row, (uint64_t)row->ts);
	out_printf(o, "%s] length = %zu\n",
		   !call		     ? "data "
		   : row->kind == SPUR_BEGIN ? "args "
					     : "retval",
		   data.len);
	if (call) {
		style_dump_args(t, o, row, d->mode, scratch);
	} else {
		const char *name = style_event_name(t, row, &len);

		out_str(o, "  ");
		style_string(o, name, len, d->mode);
		out_str(o, ": ");
		/* An output that failed has none. */
		if (!style_event_data(t, o, row, false, d->mode, scratch) && o->len >= 2)
			o->len -= 2;
		out_char(o, '\n');
	}
	if (d->verbose && raw)
		out_padded_hex(o, (uint64_t)row->dur + RECORD, raw + RECORD + (call ? 0 : 2),
			       data.len, align_up(data.len, 8));
}

static void out_more(const struct dump *d, struct out *o, struct clock_text *c,
		     const struct spur_event *row, struct spur_args *scratch)
{
	const uint8_t *raw = d->verbose ? format_place(d->s->trace, row).raw : NULL;

	if (raw && row->len >= RECORD)
		out_bytes_hex(o, (uint64_t)row->dur, raw, RECORD);
	if (row->nargs && d->args)
		out_payload(d, o, c, row, scratch);
}

static void out_lost_name(const struct dump *d, struct out *o, const struct spur_event *row)
{
	out_printf(o, "<%llx>(%llx) depth: ", (unsigned long long)row->id,
		   (unsigned long long)row->id);
	out_printf(o, "%u\n", row->depth);
	(void)d;
}

static void out_record(const struct dump *d, struct out *o, struct clock_text *c,
		       const struct spur_event *row, struct spur_args *scratch)
{
	const struct dump_name *n = name_page(d, row->cls);
	uint64_t addr = style_addr(row);
	char *p = out_room(o, LINE_ROOM + TEXT_BLOCK + n->len);
	size_t len;

	if (!p)
		return;
	p = put_task(d, put_clock(p, c, row->kind == SPUR_LOST ? 0 : (uint64_t)row->ts),
		     row->track);
	memcpy(p, word_of(row), 8);
	p += 7;
	if (__builtin_expect(n->addr == addr && row->kind != SPUR_LOST, 1)) {
		p = put_depth(put_padded_text(p, n->text, n->len), style_depth(row));
		out_to(o, p);
	} else {
		const char *name = trace_string(d->s->trace, row->name, &len);

		out_to(o, p);
		if (row->kind == SPUR_LOST) {
			out_lost_name(d, o, row);
		} else {
			put_place(o, name, len, addr, d->mode);
			out_printf(o, "%u\n", style_depth(row));
		}
	}
	if (__builtin_expect(d->verbose || row->nargs, 0))
		out_more(d, o, c, row, scratch);
}

static void render(const void *self, const struct shown_row *rows, size_t n, struct out *o,
		   struct spur_args *scratch)
{
	const struct dump *d = self;
	struct clock_text c = { .second = UINT64_MAX };

	for (size_t i = 0; i < n; i++)
		switch (rows[i].marks) {
		case DUMP_FILE:
			out_printf(o, "reading %lld.dat\n", (long long)rows[i].row.id);
			break;
		case DUMP_BACK:
			out_str(o, "\n*************************************\n* inverted time - "
				   "data seems broken *\n"
				   "*************************************\n\n");
			break;
		default:
			out_record(d, o, &c, &rows[i].row, scratch);
		}
}

/* --- per-CPU files --- */

static int by_place(const void *pa, const void *pb)
{
	const struct spur_event *a = pa, *b = pb;

	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

static uint64_t out_perf_hex(struct dump *d, struct out *o, const struct spur_event *row,
			     uint64_t off, struct spur_args *scratch)
{
	const uint8_t *raw = format_place(d->s->trace, row).raw;
	uint8_t b[24] = { 0 };

	if (!raw || row->len < 24)
		return off;
	switch (row->id) {
	case UFTRACE_EV_SCHED_IN:
	case UFTRACE_EV_SCHED_OUT:
		b[0] = row->id == UFTRACE_EV_SCHED_OUT;
		return out_bytes_hex(o, off, b, 2);
	case UFTRACE_EV_TASK_NEW:
	case UFTRACE_EV_TASK_EXIT:
		return out_bytes_hex(o, off, raw + 8, 8);
	case UFTRACE_EV_TASK_NAME:
		memcpy(b, raw + 8, 4);
		b[4] = load16(raw + 4, order_swaps(d->s->data->info.big_endian)) >> 13 & 1;
		if (style_get_args(d->s->trace, o, row, scratch) && scratch->count)
			memcpy(b + 5, scratch->items[0].text,
			       scratch->items[0].count < 16 ? scratch->items[0].count : 16);
		return out_bytes_hex(o, off, b, 24);
	default:
		return off;
	}
}

static void out_kernel_line(struct dump *d, struct out *o, const struct spur_event *row,
			    struct spur_args *scratch)
{
	size_t len;
	const char *name = trace_string(d->s->trace, row->name, &len);

	if (row->kind == SPUR_LOST) {
		out_printf(o, "lost ]: %lld events\n", row->id ? (long long)row->id : -1LL);
		return;
	}
	out_str(o, word_of(row));
	if (row->kind == SPUR_BEGIN || row->kind == SPUR_END_SPAN) {
		put_place(o, name, len, row->id, d->mode);
		out_printf(o, "%u\n", row->depth);
		return;
	}
	style_string(o, name, len, d->mode);
	out_printf(o, "(%llu) ", (unsigned long long)row->id);
	style_event_data(d->s->trace, o, row, false, d->mode, scratch);
	out_char(o, '\n');
}

static void out_side(struct dump *d, struct out *o, const struct spur_event *row,
		     struct clock_text *c, uint64_t *off)
{
	const struct spur_track *k = trace_track(d->s->trace, row->track);
	struct style_task *t = style_task_find(d->s, row);
	char *p = out_room(o, LINE_ROOM);
	const uint8_t *raw;
	size_t len;

	/* SPEC uftrace/dump-perf: tasks without a file are left out */
	if (!p || !k || !t || (t->silent && style_source_of(d->s, row) == FROM_PERF))
		return;
	if (d->env->given->no_sched && style_is_sched(row))
		return;
	o->len += (size_t)(put_task(d, put_clock(p, c, (uint64_t)row->ts), row->track) - p);
	if (style_source_of(d->s, row) == FROM_KERNEL) {
		out_kernel_line(d, o, row, &d->s->args);
		raw = d->verbose && row->kind != SPUR_LOST ? format_place(d->s->trace, row).raw
							   : NULL;
		if (raw)
			out_bytes_hex(o, row->off, raw, row->len);
		return;
	}
	out_str(o, "event] ");
	out_str(o, style_event_name(d->s->trace, row, &len));
	out_printf(o, "(%llu)\n", (unsigned long long)row->id);
	if (d->verbose)
		*off = out_perf_hex(d, o, row, *off, &d->s->args);
}

/* The files of one kind, by number. */
static void out_side_files(struct dump *d, const struct spur_event *rows, enum style_source from)
{
	struct spur_trace *t = d->s->trace;
	struct out *o = d->env->out;
	struct clock_text c = { .second = UINT64_MAX };
	uint64_t k = 0;
	bool first = true;

	for (uint32_t i = 0; i < d->s->nsources && d->s->data; i++) {
		uint64_t off = 0;

		while (k < d->nsides && rows[k].stream < i)
			k++;
		if (d->s->sources[i] != from || !t->streams[i].size)
			continue;
		/*
		 * SPEC uftrace/dump-blank-line: before the kernel's files, and before that of CPU 0
		 */
		if (first &&
		    (from == FROM_KERNEL || strcmp(t->streams[i].path, "perf-cpu0.dat") == 0))
			out_char(o, '\n');
		first = false;
		out_printf(o, "reading %s\n", t->streams[i].path);
		for (; k < d->nsides && rows[k].stream == i; k++)
			out_side(d, o, &rows[k], &c, &off);
	}
}

static enum spur_status out_sides(struct dump *d)
{
	struct spur_event *rows = NULL;
	size_t bytes = (size_t)d->nsides * sizeof(*rows);

	if (!out_flush(&d->sides))
		return err_set(d->env->err, SPUR_ERR_IO, "temporary file: %s",
			       strerror(d->sides.error));
	if (bytes) {
		rows = os_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, d->sides.fd, 0);
		if (rows == MAP_FAILED)
			return err_nomem(d->env->err);
		qsort(rows, (size_t)d->nsides, sizeof(*rows), by_place);
	}
	out_side_files(d, rows, FROM_KERNEL);
	if (!d->env->given->no_event)
		out_side_files(d, rows, FROM_PERF);
	if (bytes)
		os_munmap(rows, bytes);
	return SPUR_OK;
}

/* --- the head --- */

static void out_mask(struct out *o, const char *what, uint64_t mask, const char *const *names,
		     size_t n)
{
	bool first = true;

	out_printf(o, "uftrace file header: %-13s = 0x%llx (", what, (unsigned long long)mask);
	for (size_t i = 0; i < n; i++)
		if (mask >> i & 1) {
			out_printf(o, "%s%s", first ? "" : " | ", names[i]);
			first = false;
		}
	out_str(o, ")\n");
}

static void out_header(const struct dump *d, struct out *o)
{
	static const char *const features[] = {
		"PLTHOOK",	"TASK_SESSION",	   "KERNEL",   "ARGUMENT",   "RETVAL",
		"SYM_REL_ADDR", "MAX_STACK",	   "EVENT",    "PERF_EVENT", "AUTO_ARGS",
		"DEBUG_INFO",	"ESTIMATE_RETURN", "SYM_SIZE", "CALLSITE",
	};
	static const char *const infos[] = {
		"EXE_NAME",	"EXE_BUILD_ID", "EXIT_STATUS", "CMDLINE",
		"CPUINFO",	"MEMINFO",	"OSINFO",      "TASKINFO",
		"USAGEINFO",	"LOADINFO",	"ARG_SPEC",    "RECORD_DATE",
		"PATTERN_TYPE", "VERSION",	"UTC_OFFSET",  "SYSCTL",
	};
	const struct uftrace_info *i = &d->s->data->info;

	out_str(o, "uftrace file header: magic         = ");
	for (int k = 0; k < 8; k++)
		out_printf(o, "%02x", i->header[k]);
	out_printf(o, "\nuftrace file header: version       = %u\n", i->version);
	out_printf(o, "uftrace file header: header size   = %u\n", i->header_size);
	out_printf(o, "uftrace file header: endian        = %d (%s)\n", i->big_endian ? 2 : 1,
		   i->big_endian ? "big" : "little");
	out_printf(o, "uftrace file header: class         = %d (%d bit)\n", i->is64 ? 2 : 1,
		   i->is64 ? 64 : 32);
	out_mask(o, "features", i->features, features, sizeof(features) / sizeof(features[0]));
	out_mask(o, "info", i->bits, infos, sizeof(infos) / sizeof(infos[0]));
	if (d->verbose)
		out_bytes_hex(o, 0, i->header, 40);
}

static void out_task_lines(const struct dump *d, struct out *o)
{
	struct uftrace_lines lines = d->s->data->lines;
	struct uftrace_line l;
	size_t listed = 0;

	for (size_t i = 0; i < d->s->ntasks; i++)
		listed += !d->s->tasks[i].hidden;
	out_printf(o, "%zu tasks found\n", listed);
	while (uftrace_next_line(&lines, &l)) {
		if (l.kind == UFTRACE_LINE_DLOP)
			continue;
		out_printf(o, "%llu.%09llu  ", (unsigned long long)l.time / 1000000000,
			   (unsigned long long)l.time % 1000000000);
		if (l.kind == UFTRACE_LINE_SESS) {
			out_printf(o, "session of task %lld: %.*s (", (long long)l.pid,
				   (int)(l.sid.len < 16 ? l.sid.len : 16), l.sid.p);
			style_string(o, l.path.p, l.path.len, d->mode);
			out_str(o, ")\n");
		} else if (l.kind == UFTRACE_LINE_TASK) {
			out_printf(o, "task tid %lld (pid %lld)\n", (long long)l.tid,
				   (long long)l.pid);
		} else {
			out_printf(o, "fork pid %lld (ppid %lld)\n", (long long)l.tid,
				   (long long)l.pid);
		}
	}
	out_char(o, '\n');
}

/* --- all --- */

static bool make_tasks(struct dump *d)
{
	size_t n = trace_track_count(d->s->trace);

	d->tasks = mem_table_alloc(n, sizeof(*d->tasks));
	if (!d->tasks)
		return false;
	d->ntasks = n;
	for (size_t i = 0; i < n; i++) {
		long long tid =
			(long long)trace_track(d->s->trace, (uint32_t)i)->tid % 1000000000000000;
		char *p = put_u64_w(d->tasks[i].text, (uint64_t)(tid < 0 ? 0 : tid), TID_WIDTH);

		memcpy(p, ": [", 3);
		d->tasks[i].len = (uint8_t)(p + 3 - d->tasks[i].text);
	}
	return true;
}

static enum spur_status dump_all(struct dump *d)
{
	static const struct pipe_render lines = { .stage = stage, .render = render, .light = true };
	struct pipe_options pipe = d->env->pipe;

	pipe.in_turn = true;
	if (d->s->data && d->s->data->info.header)
		out_header(d, d->env->out);
	out_char(d->env->out, '\n');
	if (d->verbose && d->s->data)
		out_task_lines(d, d->env->out);
	if (pipe_run_render(d->s->trace, &pipe, &lines, d, d->env->out) == SPUR_FAIL || d->failed)
		return err_nomem(d->env->err);
	return out_sides(d);
}

enum spur_status dump_raw(struct pass_env *env, struct style *s)
{
	struct dump d = {
		.s = s,
		.env = env,
		.stream = SPUR_NONE,
		.mode = dump_mode(env),
		.verbose = dump_options(env)->verbose,
		.args = !env->opt->no_args,
	};
	int fd = temp_file_open();
	enum spur_status st;

	if (fd < 0)
		return err_set(env->err, SPUR_ERR_IO, "temporary file: %s", strerror(errno));
	if (env->filter)
		filter_keep_short(env->filter);
	arena_init(&d.arena);
	out_to_fd(&d.sides, fd);
	st = make_tasks(&d) ? dump_all(&d) : err_nomem(env->err);
	out_free(&d.sides);
	os_close(fd);
	for (size_t i = 0; i < TRACE_CLASS_PAGES; i++)
		mem_free(d.names[i]);
	mem_table_free(d.tasks, d.ntasks, sizeof(*d.tasks));
	arena_free(&d.arena);
	return st;
}
