/* Rows of extern.dat: messages that the user wrote beside the recording. */
#include "format/uftrace/reader.h"

/* SPEC uftrace/extern: seconds, then text. Returns false if the trimmed line has none. */
static bool extern_message(struct text line, uint64_t *time)
{
	return line.len && line.p[0] != '#' && text_seconds(&line, time) && *time <= INT64_MAX &&
	       text_trim(line).len;
}

/* SPEC uftrace/book-time: the time of the first message at or after `off`; 0: no message. */
static uint64_t extern_first(const struct uftrace_feed *uf)
{
	const struct source *s = uf->file->source;
	struct text rest = text_make(s->data + uf->off, s->size - uf->off), line;
	uint64_t time;

	while (text_line(&rest, &line))
		if (extern_message(text_trim(line), &time))
			return time;
	return 0;
}

/* SPEC uftrace/bookkeeping: a line without a message, from `at` on */
static void line_row(struct uftrace *u, const struct feed *f, struct uftrace_feed *uf, uint64_t at,
		     struct spur_event *row)
{
	const uint32_t cls = uftrace_line_class(u);

	if (!uf->started)
		uf->prev = extern_first(uf);
	uf->started = true;
	*row = (struct spur_event){
		.ts = (int64_t)uf->prev,
		.off = at,
		.len = (uint32_t)(uf->off - at),
		.track = f->track,
		.stream = uftrace_file_stream(u, uf->file),
		.name = cls ? trace_class(u->t, cls)->name : 0,
		.cat = cls ? trace_class(u->t, cls)->cat : 0,
		.cls = cls,
		.kind = SPUR_NATIVE,
		.cpu = SPUR_NO_CPU,
		.flags = SPUR_F_RETIMED,
	};
}

bool uftrace_extern_row(struct uftrace *u, struct feed *f, struct uftrace_feed *uf,
			struct spur_event *row)
{
	const struct source *s = uf->file->source;
	struct text rest = text_make(s->data + uf->off, s->size - uf->off), line, v;
	const struct event_class *c;
	uint64_t time, at;
	uint32_t cls = uftrace_event_class(u, UFTRACE_EV_EXTERN);

	while (cls && text_line(&rest, &line)) {
		at = uf->off;
		uf->off = (uint64_t)((const uint8_t *)rest.p - s->data);
		v = text_trim(line);
		/*
		 * SPEC uftrace/extern: comments and blank lines are ignored, a line without text is
		 * skipped
		 */
		if (!extern_message(v, &time)) {
			if (v.len && v.p[0] != '#')
				diag_add(&f->diag, DIAG_WARN, "uftrace/bad-extern-line",
					 "extern.dat", at, 0,
					 "line: expected SECONDS.NANOSECONDS TEXT, found \"%.*s\"",
					 (int)(line.len < 60 ? line.len : 60), line.p);
			if (!u->t->options.bookkeeping)
				continue;
			line_row(u, f, uf, at, row);
			return row->cls != 0;
		}
		c = trace_class(u->t, cls);
		*row = (struct spur_event){
			.ts = (int64_t)time,
			.id = UFTRACE_EV_EXTERN,
			.off = at,
			.len = (uint32_t)(uf->off - at),
			.track = f->track,
			.stream = uftrace_file_stream(u, uf->file),
			.name = c->name,
			.cat = c->cat,
			.cls = cls,
			.kind = SPUR_LOG,
			.nargs = 1,
			.cpu = SPUR_NO_CPU,
			.flags = time < uf->prev ? SPUR_F_BACK : 0,
		};
		uf->prev = time;
		uf->started = true;
		return true;
	}
	return false;
}
