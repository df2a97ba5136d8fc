/*
 * Records to rows, and what is wrong with them. Every record goes this way but plain events, which
 * scan.c makes rows of by itself.
 */
#include <stdio.h>

#include "base/text.h"
#include "format/fxt/plain.h"

static const char *const type_names[16] = {
	"metadata",	    "initialization", "string",	    "thread", "event",	  "blob",
	"userspace object", "kernel object",  "scheduling", "log",    "profiler", "unknown",
	"unknown",	    "unknown",	      "unknown",    "large",
};

/* ZX_OBJ_TYPE_*; those that are empty were never given out. */
static const char *const object_types[] = {
	"",	  "process",   "thread",    "vmo",    "channel",    "event", "port",
	"",	  "",	       "interrupt", "",	      "pci-device", "log",   "",
	"socket", "resource",  "eventpair", "job",    "vmar",	    "fifo",  "guest",
	"vcpu",	  "timer",     "iommu",	    "bti",    "profile",    "pmt",   "suspend-token",
	"pager",  "exception", "clock",	    "stream", "msi",	    "iob",
};
enum { OBJECT_TYPES = sizeof(object_types) / sizeof(object_types[0]) };

/* Rows being made of one record. */
struct making {
	struct fxt *x;
	struct fxt_record *r;
	struct spur_event *rows;
	uint32_t n;
};

/* --- what is said --- */

/* SPEC fxt/bad-record: what a record has no room for makes it one record of damage */
static void report_bad(struct fxt *x, const struct fxt_record *r)
{
	const struct fxt_shape *s = &r->shape;

	diag_add(x->log, DIAG_DAMAGE, "fxt/bad-record", x->file, r->off, s->size,
		 "%s record: expected room for %s, found %llu words", type_names[s->type], s->lacks,
		 (unsigned long long)(s->size / FXT_WORD));
}

/* SPEC fxt/unknown-types: what has an unknown type is skipped by its size, and kept */
static void report_unknown(struct fxt *x, const struct fxt_record *r, const char *code,
			   const char *what, unsigned type, const char *expected)
{
	diag_add(x->log, DIAG_NOTE, code, x->file, r->off, 0,
		 "%s: expected type %s, found %u: kept as it is", what, expected, type);
}

/* What is missing may have been registered in bytes that were lost. */
static const char *consequence(const struct fxt *x)
{
	return x->lost_until ? " (it may have been among the bytes lost before)" : "";
}

static void check_utf8(struct fxt *x, const struct fxt_record *r, const void *p, size_t len,
		       const char *what)
{
	/* SPEC fxt/utf8: other bytes are kept as they are */
	if (!utf8_all_valid(p, len))
		diag_add(x->log, DIAG_WARN, "fxt/bad-utf8", x->file, r->off, 0,
			 "%s record: expected its %s in UTF-8, found other bytes",
			 type_names[r->shape.type], what);
}

/* --- references --- */

static uint32_t unknown_string(struct fxt *x, const struct fxt_record *r, unsigned index,
			       const char *what)
{
	char text[40];

	/* SPEC fxt/unknown-string: an index that is not registered stands for itself */
	diag_add(x->log, DIAG_DAMAGE, "fxt/unknown-string", x->file, r->off, 0,
		 "%s record: expected its %s in the string table, found index %u that is not "
		 "registered%s",
		 type_names[r->shape.type], what, index, consequence(x));
	snprintf(text, sizeof(text), "<string %u>", index);
	return trace_intern(x->t, text);
}

static uint32_t string_id(struct fxt *x, const struct fxt_record *r,
			  const struct fxt_string_ref *ref, const char *what)
{
	uint32_t id;

	if (ref->text) {
		check_utf8(x, r, ref->text, ref->len, what);
		return trace_intern_n(x->t, ref->text, ref->len);
	}
	id = fxt_string_at(x, r->provider, ref->ref, r->off);
	return id ? id - 1 : unknown_string(x, r, ref->ref, what);
}

uint32_t fxt_record_track(struct fxt *x, const struct fxt_record *r, const struct fxt_thread_ref *t)
{
	uint32_t track;

	if (!t->ref && t->process_only)
		return fxt_process_track(x, t->pid);
	if (!t->ref) {
		track = fxt_thread_track(x, t->pid, t->tid);
		if (track != SPUR_NONE)
			fxt_see_thread(x, t->pid, t->tid, track);
		return track;
	}
	track = fxt_thread_at(x, r->provider, t->ref, r->off);
	if (!track) {
		/* SPEC fxt/unknown-thread: a separate track */
		diag_add(x->log, DIAG_DAMAGE, "fxt/unknown-thread", x->file, r->off, 0,
			 "%s record: expected its thread in the thread table, found index %u that "
			 "is not "
			 "registered%s",
			 type_names[r->shape.type], t->ref, consequence(x));
		return fxt_unknown_thread(x, r->provider, t->ref);
	}
	track--;
	if (t->process_only && fxt_track(x, track)->parent != SPUR_NONE)
		return fxt_track(x, track)->parent;
	return track;
}

/* --- arguments --- */

static void check_arg(struct fxt *x, const struct fxt_record *r, const struct fxt_arg *a)
{
	if (a->padding)
		diag_add(x->log, DIAG_NOTE, "fxt/padding", x->file, r->off, 0,
			 "%s record: expected zeros behind a string, found other bytes",
			 type_names[r->shape.type]);
	if (a->name.text)
		check_utf8(x, r, a->name.text, a->name.len, "argument name");
	else if (!fxt_string_at(x, r->provider, a->name.ref, r->off))
		unknown_string(x, r, a->name.ref, "argument name");
	if (a->text.text)
		check_utf8(x, r, a->text.text, a->text.len, "argument value");
	else if (!fxt_string_at(x, r->provider, a->text.ref, r->off))
		unknown_string(x, r, a->text.ref, "argument value");
	if (a->type >= FXT_ARG_TYPES)
		report_unknown(x, r, "fxt/unknown-argument", "argument", a->type, "0 to 10");
}

/* --- rows --- */

static struct spur_event *add_row(struct making *m, enum spur_kind kind, uint32_t track,
				  uint32_t cls)
{
	const struct fxt_record *r = m->r;
	const unsigned flags = r->clamped ? SPUR_F_UNRELIABLE : 0;
	const struct event_class *c;
	struct spur_event *row;

	if (track == SPUR_NONE || !cls)
		return NULL;
	c = trace_class(m->x->t, cls);
	row = &m->rows[m->n++];
	*row = (struct spur_event){
		.ts = r->ts,
		.off = r->off,
		.len = r->shape.size < UINT32_MAX ? (uint32_t)r->shape.size : UINT32_MAX - 7,
		.track = track,
		.stream = m->x->stream,
		.cat = c->cat,
		.name = c->name,
		.cls = cls,
		.kind = (uint8_t)kind,
		.flags = (uint16_t)(flags | (r->shape.timed ? 0 : SPUR_F_RETIMED)),
		.cpu = SPUR_NO_CPU,
	};
	return row;
}

/*
 * The record's arguments are the row's, after `more` others. SPEC fxt/bad-argument: those that
 * cannot be read are lost, and only they
 */
static bool row_args(struct fxt *x, const struct fxt_record *r, struct spur_event *row,
		     unsigned more)
{
	const struct fxt_shape *s = &r->shape;
	struct cursor c = cursor_make(s->args, (size_t)(s->args_end - s->args), x->swap);
	uint8_t good = 0;

	if (!row)
		return false;
	for (unsigned i = 0; i < s->nargs; i++) {
		struct fxt_arg a;

		fxt_arg_next(&c, &a);
		if (a.state == FXT_ARG_GOOD) {
			check_arg(x, r, &a);
			good++;
			continue;
		}
		diag_add(x->log, DIAG_DAMAGE, "fxt/bad-argument", x->file, r->off,
			 fxt_get(a.head, FXT_F_SIZE) * FXT_WORD,
			 "%s record: expected argument %u with room for %s, found %llu words",
			 type_names[s->type], i + 1, a.lacks,
			 (unsigned long long)fxt_get(a.head, FXT_F_SIZE));
	}
	/*
	 * SPEC fxt/arguments-lost: where one's size is impossible, it and those after it are lost
	 */
	if (s->args_lost)
		diag_add(x->log, DIAG_DAMAGE, "fxt/bad-argument", x->file, r->off,
			 (uint64_t)(s->p + s->size - s->args_end),
			 "%s record: expected argument %u with a size that fits, found none: it "
			 "and what is "
			 "behind it are lost",
			 type_names[s->type], s->nargs + 1u);
	row->nargs = (uint8_t)(more + good);
	row->flags |= s->args_lost || good < s->nargs ? SPUR_F_UNRELIABLE : 0;
	return true;
}

static bool own_row(struct making *m, enum spur_kind kind, enum fxt_class own)
{
	return add_row(m, kind, fxt_provider_track(m->x, m->x->provider),
		       m->x->builtin_classes[own]);
}

/* Makes the row of a bookkeeping record, if such rows are requested. */
static bool bookkeeping_row(struct making *m, enum fxt_class own)
{
	return !m->x->bookkeeping || own_row(m, SPUR_NATIVE, own);
}

/* SPEC fxt/complete: a span; one that ends before it begins lasts for nothing */
static void set_end(struct making *m, struct spur_event *row)
{
	const struct fxt_record *r = m->r;
	bool clamped = false;
	const int64_t end = fxt_clock_ns(&r->provider->clock, r->shape.value, &clamped);

	if (r->shape.value < r->shape.ticks) {
		diag_add(m->x->log, DIAG_WARN, "fxt/negative-duration", m->x->file, r->off, 0,
			 "complete event: expected an end at or after tick %llu, found %llu",
			 (unsigned long long)r->shape.ticks, (unsigned long long)r->shape.value);
		row->flags |= SPUR_F_UNRELIABLE;
	} else if (__builtin_sub_overflow(end, row->ts, &row->dur)) {
		row->dur = INT64_MAX;
	}
	if (clamped)
		row->flags |= SPUR_F_UNRELIABLE;
}

unsigned fxt_event_kind(const struct fxt_shape *s)
{
	/* SPEC fxt/tail-lost: without the word after lost arguments it is an instant */
	return !s->known      ? SPUR_NATIVE
	       : s->tail_lost ? SPUR_INSTANT
			      : fxt_event_shapes[s->sub].kind;
}

/*
 * SPEC fxt/kind-mark: the row is of another kind, with members that the record does not have.
 * `mark` may be NULL.
 */
static void mark_row(struct fxt *x, const uint8_t *mark, struct spur_event *row)
{
	const uint64_t word = mark ? load64(mark + FXT_WORD, x->swap) : 0,
		       kind = fxt_get(word, FXT_F_KIND);

	if (kind < SPUR_INSTANT || kind >= SPUR_KINDS)
		return;
	row->kind = (uint8_t)kind;
	row->flags |= (uint16_t)(fxt_get(word, FXT_F_KIND_FLAGS) & FXT_KIND_FLAGS);
	row->cpu = (uint16_t)fxt_get(word, FXT_F_KIND_CPU);
	row->id = load64(mark + 2 * FXT_WORD, x->swap);
	row->dur = (int64_t)(load64(mark + 3 * FXT_WORD, x->swap) & INT64_MAX);
	x->gaps |= row->kind == SPUR_LOST;
}

static bool event_rows(struct making *m)
{
	struct fxt *x = m->x;
	const struct fxt_record *r = m->r;
	const struct fxt_shape *s = &r->shape;
	const uint32_t track = fxt_record_track(x, r, &s->threads[0]);
	const uint32_t cat = string_id(x, r, &s->cat, "category"),
		       name = string_id(x, r, &s->name, "name");
	const unsigned kind = fxt_event_kind(s);
	struct spur_event *row =
		add_row(m, kind, track, fxt_class_of(x, cat, name, kind > SPUR_SPAN));

	if (!row_args(x, r, row, 0))
		return false;
	if (!s->known)
		report_unknown(x, r, "fxt/unknown-event", "event", s->sub, "0 to 10");
	else if (kind == SPUR_SPAN)
		set_end(m, row);
	else if (s->sub == FXT_INSTANT)
		mark_row(x, fxt_shape_marked(s), row);
	else if (fxt_has_tail(s->sub) && !s->tail_lost)
		row->id = s->value;
	/*
	 * SPEC fxt/end: closes the innermost span of its category and name; without a name, the
	 * innermost
	 */
	if (kind == SPUR_END_SPAN && !name)
		row->flags |= SPUR_F_ANY;
	fxt_mark_gap(x, row);
	return true;
}

static bool blob_rows(struct making *m)
{
	struct fxt *x = m->x;
	const struct fxt_shape *s = &m->r->shape;
	const unsigned type = (unsigned)fxt_get(s->head, FXT_F_BLOB_TYPE);
	struct spur_event *row;
	uint32_t name;

	if (fxt_blob_is_filler(s))
		return bookkeeping_row(m, FXT_CLASS_PLACEHOLDER);
	if (type < FXT_BLOB_DATA || type > FXT_BLOB_PERFETTO)
		report_unknown(x, m->r, "fxt/unknown-blob", "blob", type, "1 to 3");
	name = string_id(x, m->r, &s->name, "name");
	row = add_row(m, SPUR_BLOB, fxt_provider_track(x, x->provider),
		      fxt_class_of(x, 0, name, true));
	if (row)
		row->nargs = 2;
	return row;
}

static bool large_rows(struct making *m)
{
	struct fxt *x = m->x;
	const struct fxt_record *r = m->r;
	const struct fxt_shape *s = &r->shape;
	const uint8_t *const mark = s->known ? fxt_shape_marked(s) : NULL,
			     *const payload = fxt_shape_payload(s);
	struct spur_event *row;
	uint32_t cat, name, track;

	if (!s->known) {
		if (fxt_get(s->head, FXT_F_LARGE_TYPE))
			report_unknown(x, r, "fxt/unknown-large", "large record",
				       (unsigned)fxt_get(s->head, FXT_F_LARGE_TYPE), "0");
		else
			report_unknown(x, r, "fxt/unknown-large", "large blob", s->sub, "0 or 1");
		return own_row(m, SPUR_NATIVE, FXT_CLASS_LARGE);
	}
	cat = string_id(x, r, &s->cat, "category");
	name = string_id(x, r, &s->name, "name");
	track = s->timed ? fxt_record_track(x, r, &s->threads[0])
			 : fxt_provider_track(x, x->provider);
	row = add_row(m, SPUR_BLOB, track, fxt_class_of(x, cat, name, true));
	/*
	 * SPEC fxt/blob-pieces: whole by itself; its number is that of its first word in the file,
	 * or SPEC fxt/number-mark
	 */
	if (row && payload)
		mark_row(x, payload, row);
	else if (row)
		row->id = mark ? load64(mark + FXT_WORD, x->swap) : r->off / FXT_WORD + 1;
	return row_args(x, r, row, payload == NULL);
}

uint32_t fxt_object_type(const struct fxt *x, uint64_t type)
{
	char other[40];

	if (type < OBJECT_TYPES && *object_types[type])
		return trace_intern(x->t, object_types[type]);
	snprintf(other, sizeof(other), "object type %u", (unsigned)type);
	return trace_intern(x->t, other);
}

bool fxt_object_of(const char *name, uint64_t *type)
{
	struct text rest = text_of(name);

	for (*type = 0; *type < OBJECT_TYPES; ++*type)
		if (*object_types[*type] && strcmp(object_types[*type], name) == 0)
			return true;
	return text_skip(&rest, "object type ") && text_u64(&rest, 10, type) && !rest.len &&
	       *type <= UINT8_MAX;
}

/* An object is named: class by what it is and its name. */
static struct spur_event *object_row(struct making *m, uint32_t track, uint32_t cat, uint32_t name)
{
	struct spur_event *row =
		add_row(m, SPUR_OBJECT, track, fxt_class_of(m->x, cat, name, true));

	if (row)
		row->id = m->r->shape.value;
	return row;
}

static bool user_rows(struct making *m)
{
	struct fxt *x = m->x;
	const struct fxt_record *r = m->r;
	const uint32_t track = fxt_record_track(x, r, &r->shape.threads[0]);
	const uint32_t name = string_id(x, r, &r->shape.name, "name");

	if (track == SPUR_NONE || (x->first && !fxt_name_user(x, (uint64_t)fxt_track(x, track)->pid,
							      r->shape.value, name, r->off)))
		return false;
	/* SPEC fxt/name-mark */
	if (fxt_shape_marked(&r->shape) && !x->bookkeeping)
		return true;
	return row_args(x, r, object_row(m, track, x->words[FXT_W_USERSPACE_OBJECT], name), 1);
}

static bool arg_is(const struct fxt *x, const struct fxt_record *r, const struct fxt_arg *a,
		   enum fxt_arg_type type, enum fxt_word word)
{
	size_t len;
	const char *name = trace_string(x->t, x->words[word], &len);

	if (a->state != FXT_ARG_GOOD || a->type != type)
		return false;
	if (a->name.text)
		return a->name.len == len && memcmp(a->name.text, name, len) == 0;
	return fxt_string_at(x, r->provider, a->name.ref, r->off) == x->words[word] + 1;
}

/* SPEC fxt/object-process: argument "process" of a thread is its process's koid */
bool fxt_object_process(struct fxt *x, const struct fxt_record *r, uint64_t *koid)
{
	const struct fxt_shape *s = &r->shape;
	struct cursor c = cursor_make(s->args, (size_t)(s->args_end - s->args), x->swap);

	for (unsigned i = 0; i < s->nargs; i++) {
		struct fxt_arg a;

		fxt_arg_next(&c, &a);
		*koid = a.word;
		if (arg_is(x, r, &a, FXT_ARG_KOID, FXT_W_PROCESS))
			return true;
	}
	return false;
}

static bool kernel_rows(struct making *m)
{
	struct fxt *x = m->x;
	const struct fxt_record *r = m->r;
	const uint64_t type = fxt_get(r->shape.head, FXT_F_OBJECT_TYPE), koid = r->shape.value;
	const uint32_t name = string_id(x, r, &r->shape.name, "name");
	struct spur_event *row;
	uint64_t process;
	uint32_t track;

	if (x->first && !fxt_name_kernel(x, koid, name, r->off))
		return false;
	/* SPEC fxt/name-mark: no row, and no track but that of a thread with its process */
	if (fxt_shape_marked(&r->shape) && !x->bookkeeping)
		return type != FXT_OBJECT_THREAD || !fxt_object_process(x, r, &process) ||
		       fxt_thread_track(x, process, koid) != SPUR_NONE;
	if (type == FXT_OBJECT_PROCESS)
		track = fxt_process_track(x, koid);
	else if (type == FXT_OBJECT_THREAD)
		track = fxt_object_process(x, r, &process) ? fxt_thread_track(x, process, koid)
							   : fxt_tid_track(x, koid);
	else
		track = fxt_provider_track(x, x->provider);
	row = object_row(m, track, fxt_object_type(x, type), name);
	return row_args(x, r, row, 1);
}

/* --- scheduling --- */

/* SPEC fxt/idle: the idle thread is no thread of a process: id 0, or the least weight */
static bool is_idle(struct fxt *x, const struct fxt_record *r, int which)
{
	const struct fxt_shape *s = &r->shape;
	const enum fxt_word weight = which ? FXT_W_INCOMING_WEIGHT : FXT_W_OUTGOING_WEIGHT;
	struct cursor c = cursor_make(s->args, (size_t)(s->args_end - s->args), x->swap);

	if (!s->threads[which].ref && !s->threads[which].tid)
		return true;
	for (unsigned i = 0; i < s->nargs; i++) {
		struct fxt_arg a;

		fxt_arg_next(&c, &a);
		if (arg_is(x, r, &a, FXT_ARG_I32, weight) &&
		    (int32_t)fxt_get(a.head, FXT_F_ARG_VALUE) == INT32_MIN)
			return true;
	}
	return false;
}

static uint32_t sched_track(struct fxt *x, const struct fxt_record *r, int which)
{
	const struct fxt_thread_ref *t = &r->shape.threads[which];
	const uint32_t track = r->shape.sub == FXT_LEGACY_SWITCH ? fxt_record_track(x, r, t)
								 : fxt_tid_track(x, t->tid);

	if (x->first && track != SPUR_NONE && !fxt_track(x, track)->name && is_idle(x, r, which))
		fxt_track_idle(x, track);
	return track;
}

/* SPEC fxt/switch: one thread leaves the CPU, another gets it */
static bool switch_rows(struct making *m)
{
	struct fxt *x = m->x;
	const struct fxt_record *r = m->r;
	const struct fxt_shape *s = &r->shape;
	const bool legacy = s->sub == FXT_LEGACY_SWITCH;
	const uint8_t *const mark = fxt_shape_marked(s);
	const uint64_t state =
		legacy ? fxt_get(s->head, FXT_F_LEGACY_STATE) : fxt_get(s->head, FXT_F_SCHED_STATE);
	/* SPEC fxt/cpu: 16 bits, in legacy records 8 */
	const uint64_t cpu =
		legacy ? fxt_get(s->head, FXT_F_LEGACY_CPU) : fxt_get(s->head, FXT_F_SCHED_CPU);

	for (int i = 0; i < 2; i++) {
		struct spur_event *row;

		/* SPEC fxt/side-mark */
		if (mark && !(load64(mark + FXT_WORD, x->swap) & (i ? SPUR_F_IN : SPUR_F_OUT)))
			continue;
		row = add_row(m, SPUR_SWITCH, sched_track(x, r, i),
			      x->builtin_classes[FXT_CLASS_SWITCH]);
		/* What is wrong with the arguments is said once. */
		if (i && row && !mark)
			row->nargs = (uint8_t)(m->rows[0].nargs - 1);
		else if (!row_args(x, r, row, 2u + legacy - (unsigned)i))
			return false;
		if (!row)
			return false;
		row->cpu = (uint16_t)cpu;
		row->flags |= i ? SPUR_F_IN : SPUR_F_OUT;
		/* SPEC fxt/preempted: the outgoing thread could still run */
		if (!i && state <= FXT_STATE_RUNNING)
			row->flags |= SPUR_F_PREEMPTED;
	}
	return true;
}

static bool scheduling_rows(struct making *m)
{
	struct fxt *x = m->x;
	const struct fxt_record *r = m->r;
	struct spur_event *row;

	if (!r->shape.known) {
		report_unknown(x, r, "fxt/unknown-scheduling", "scheduling record", r->shape.sub,
			       "0 to 2");
		return own_row(m, SPUR_NATIVE, FXT_CLASS_SCHEDULING);
	}
	if (r->shape.sub != FXT_WAKEUP)
		return switch_rows(m);
	row = add_row(m, SPUR_WAKEUP, sched_track(x, r, 0), x->builtin_classes[FXT_CLASS_WAKEUP]);
	if (row)
		row->cpu = (uint16_t)fxt_get(r->shape.head, FXT_F_SCHED_CPU);
	return row_args(x, r, row, 0);
}

static bool log_rows(struct making *m)
{
	struct fxt *x = m->x;
	const struct fxt_record *r = m->r;
	struct spur_event *row;

	check_utf8(x, r, r->shape.data, r->shape.data_len, "message");
	row = add_row(m, SPUR_LOG, fxt_record_track(x, r, &r->shape.threads[0]),
		      x->builtin_classes[FXT_CLASS_LOG]);
	if (row)
		row->nargs = 1;
	return row;
}

/* --- profiler --- */

static bool module_rows(struct making *m, uint32_t track, uint32_t module)
{
	struct fxt *x = m->x;
	const struct fxt_record *r = m->r;
	const uint32_t name = string_id(x, r, &r->shape.name, "name");
	struct spur_event *row;

	if (x->first &&
	    !fxt_name_module(x, (uint64_t)fxt_track(x, track)->pid, module, name, r->off))
		return false;
	/* SPEC fxt/name-mark */
	if (fxt_shape_marked(&r->shape) && !x->bookkeeping)
		return true;
	row = object_row(m, track, x->words[FXT_W_MODULE], name);
	if (!row)
		return false;
	row->id = module;
	row->nargs = 2;
	return true;
}

static bool mapping_rows(struct making *m, uint32_t track, uint32_t module)
{
	struct fxt *x = m->x;
	const struct fxt_record *r = m->r;
	const uint64_t pid = (uint64_t)fxt_track(x, track)->pid, range = r->shape.more[0];
	struct fxt_mapping map = {
		.start = r->shape.value, .vaddr = r->shape.more[1], .off = r->off, .module = module
	};
	struct spur_event *row;

	if (!range || __builtin_add_overflow(map.start, range - 1, &map.end))
		map.end = range ? UINT64_MAX : map.start;
	if (x->first && range && !fxt_add_mapping(x, pid, map))
		return false;
	/* SPEC fxt/name-mark */
	if (fxt_shape_marked(&r->shape) && !x->bookkeeping)
		return true;
	row = object_row(m, track, x->words[FXT_W_MAPPING],
			 fxt_module_name(x, pid, module, r->off));
	if (!row)
		return false;
	row->nargs = 5;
	return true;
}

static bool profiler_rows(struct making *m)
{
	struct fxt *x = m->x;
	const struct fxt_record *r = m->r;
	struct fxt_thread_ref ref = r->shape.threads[0];
	struct spur_event *row;
	uint32_t track;

	if (!r->shape.known) {
		report_unknown(x, r, "fxt/unknown-profiler", "profiler record", r->shape.sub,
			       "0 to 2");
		return own_row(m, SPUR_NATIVE, FXT_CLASS_PROFILER);
	}
	/* SPEC fxt/modules: modules and mappings belong to a process */
	ref.process_only = r->shape.sub != FXT_BACKTRACE;
	track = fxt_record_track(x, r, &ref);
	if (track == SPUR_NONE)
		return false;
	if (r->shape.sub == FXT_MODULE)
		return module_rows(m, track,
				   (uint32_t)fxt_get(r->shape.head, FXT_F_PROFILER_MODULE));
	if (r->shape.sub == FXT_MMAP)
		return mapping_rows(m, track,
				    (uint32_t)fxt_get(r->shape.head, FXT_F_PROFILER_MODULE));
	row = add_row(m, SPUR_SAMPLE, track, x->builtin_classes[FXT_CLASS_BACKTRACE]);
	if (row)
		row->nargs = 1;
	return row;
}

/* --- metadata and tables --- */

/* SPEC fxt/magic: stands first; anywhere else it says nothing */
static bool trace_info_rows(struct making *m)
{
	struct fxt *x = m->x;
	const struct fxt_record *r = m->r;

	if (r->shape.head != FXT_MAGIC)
		diag_add(x->log, DIAG_WARN, "fxt/bad-magic", x->file, r->off, 0,
			 "magic record: expected %#llx, found %#llx", (unsigned long long)FXT_MAGIC,
			 (unsigned long long)r->shape.head);
	else if (r->off)
		diag_add(x->log, DIAG_NOTE, "fxt/magic-not-first", x->file, r->off, 0,
			 "magic record: expected at the beginning, found behind other records");
	return bookkeeping_row(m, FXT_CLASS_MAGIC);
}

/*
 * SPEC fxt/buffer-filled: an unknown number of records was lost; it does not change the speaking
 * provider
 */
static bool provider_event_rows(struct making *m)
{
	struct fxt *x = m->x;
	const struct fxt_record *r = m->r;
	const unsigned event = (unsigned)fxt_get(r->shape.head, FXT_F_METADATA_EVENT);
	struct fxt_provider *p = fxt_provider_put(x, (uint32_t)r->shape.value);

	if (!p)
		return false;
	if (event != FXT_BUFFER_FILLED) {
		report_unknown(x, r, "fxt/unknown-provider-event", "provider event", event, "0");
		return add_row(m, SPUR_NATIVE, fxt_provider_track(x, p),
			       x->builtin_classes[FXT_CLASS_PROVIDER_EVENT]);
	}
	x->gaps = true;
	diag_add(x->log, DIAG_WARN, "fxt/buffer-filled", x->file, r->off, 0,
		 "provider event: provider %u says that its buffer was full: records are missing",
		 p->id);
	return add_row(m, SPUR_LOST, fxt_provider_track(x, p), x->builtin_classes[FXT_CLASS_LOST]);
}

static bool metadata_rows(struct making *m)
{
	static const enum fxt_class books[] = { [FXT_PROVIDER_INFO] = FXT_CLASS_PROVIDER_INFO,
						[FXT_PROVIDER_SECTION] =
							FXT_CLASS_PROVIDER_SECTION };
	const struct fxt_shape *s = &m->r->shape;

	if (s->sub == FXT_PROVIDER_EVENT)
		return provider_event_rows(m);
	if (s->known && s->sub == FXT_TRACE_INFO)
		return trace_info_rows(m);
	if (s->known)
		return fxt_read_metadata(m->x, s) && bookkeeping_row(m, books[s->sub]);
	if (s->sub == FXT_TRACE_INFO)
		report_unknown(m->x, m->r, "fxt/unknown-metadata", "trace info",
			       (unsigned)fxt_get(s->head, FXT_F_METADATA_INFO_TYPE), "0");
	else
		report_unknown(m->x, m->r, "fxt/unknown-metadata", "metadata", s->sub, "1 to 4");
	return own_row(m, SPUR_NATIVE, FXT_CLASS_METADATA);
}

static bool init_rows(struct making *m)
{
	const struct fxt_record *r = m->r;

	if (!r->shape.value)
		diag_add(m->x->log, DIAG_DAMAGE, "fxt/bad-record", m->x->file, r->off,
			 r->shape.size,
			 "initialization record: expected a number of ticks per second, found 0: "
			 "ignored");
	/* It counts as damage, so it is no bookkeeping record; `dump` shows it all the same. */
	if (!r->shape.value && m->x->ordered)
		return true;
	return fxt_read_init(m->x, &r->shape) && bookkeeping_row(m, FXT_CLASS_INIT);
}

static bool make_rows(struct making *m)
{
	const struct fxt_shape *s = &m->r->shape;

	switch (s->type) {
	case FXT_METADATA:
		return metadata_rows(m);
	case FXT_INIT:
		return init_rows(m);
	case FXT_STRING:
		return fxt_read_string(m->x, s) && bookkeeping_row(m, FXT_CLASS_STRING);
	case FXT_THREAD:
		return fxt_read_thread(m->x, s) && bookkeeping_row(m, FXT_CLASS_THREAD);
	case FXT_EVENT:
		return event_rows(m);
	case FXT_BLOB:
		return blob_rows(m);
	case FXT_USER_OBJECT:
		return user_rows(m);
	case FXT_KERNEL_OBJECT:
		return kernel_rows(m);
	case FXT_SCHEDULING:
		return scheduling_rows(m);
	case FXT_LOG:
		return log_rows(m);
	case FXT_PROFILER:
		return profiler_rows(m);
	case FXT_LARGE:
		return large_rows(m);
	default:
		break;
	}
	report_unknown(m->x, m->r, "fxt/unknown-record", "record", s->type, "0 to 10 or 15");
	return own_row(m, SPUR_NATIVE, FXT_CLASS_RECORD);
}

bool fxt_rows_of(struct fxt *x, struct fxt_record *r, struct spur_event *rows, uint32_t *n)
{
	struct making m = { .x = x, .r = r, .rows = rows };
	bool good = true;

	if (r->clamped && !r->shape.lacks)
		diag_add(x->log, DIAG_WARN, "fxt/time-overflow", x->file, r->off, 0,
			 "%s record: expected a time below 2^63 ns, found %llu ticks",
			 type_names[r->shape.type], (unsigned long long)r->shape.ticks);
	if (r->shape.padding)
		diag_add(x->log, DIAG_NOTE, "fxt/padding", x->file, r->off, 0,
			 "%s record: expected zeros behind a string, found other bytes",
			 type_names[r->shape.type]);
	if (r->shape.lacks)
		report_bad(x, r);
	else
		good = make_rows(&m);
	*n = m.n;
	return good;
}
