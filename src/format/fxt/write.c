/*
 * fxt: the Fuchsia trace format, which ui.perfetto.dev and Fuchsia's tools open.
 *
 * Rows come by time and are written in that order. Of an FXT source, providers, koids and ticks are
 * kept; others have one provider. docs/conversion.md has the rules.
 */
#include "format/fxt/write.h"

enum { PIECE = 512 /* rows that stay together */ };

static const struct loss_reason reasons[FXT_LOSSES - LOSS_OWN] = {
	[FXT_LOST_TIME -
	 LOSS_OWN] = { LOSS_DEGRADED,
		       "the clock has no tick at that time: the nearest is written" },
	[FXT_LOST_TEXT - LOSS_OWN] = { LOSS_TRUNCATED, "a text or blob is longer than a record" },
	[FXT_LOST_ARGS -
		LOSS_OWN] = { LOSS_DEGRADED, "a record holds 15 arguments: the first are written" },
	[FXT_LOST_NESTED - LOSS_OWN] = { LOSS_DEGRADED,
					 "arguments have no parts: written as arguments a.b and "
					 "a[0]" },
	[FXT_LOST_TYPE - LOSS_OWN] = { LOSS_DEGRADED,
				       "an argument's type does not exist: written as text, "
				       "double, number or blob" },
	[FXT_LOST_PAYLOAD - LOSS_OWN] = { LOSS_DEGRADED,
					  "arguments are damaged: written as far as they can be "
					  "read" },
	[FXT_LOST_KIND - LOSS_OWN] = { LOSS_DEGRADED,
				       "no record is like this event: written as an instant "
				       "event, with a mark" },
	[FXT_LOST_NAME -
		LOSS_OWN] = { LOSS_DEGRADED, "records of this kind have no name of their own" },
	[FXT_LOST_SWITCH -
		LOSS_OWN] = { LOSS_DEGRADED,
			      "a switch has two threads: the other one is written as the "
			      "idle thread" },
	[FXT_LOST_END - LOSS_OWN] = { LOSS_DROPPED,
				      "an end after missing records, whose begin may be missing" },
	[FXT_LOST_LARGE - LOSS_OWN] = { LOSS_DEGRADED,
					"arguments are longer than a record: written as a large "
					"blob, with a mark" },
};

static bool name_is(const struct fxt_write *l, uint32_t string, const char *name)
{
	return strcmp(trace_string(l->t, string, NULL), name) == 0;
}

/* --- events --- */

/* Sets what the records of most rows have. */
static bool event_names(struct fxt_write *l, uint32_t track, uint32_t cat, uint32_t name,
			struct fxt_shape *s, struct out *o)
{
	return fxt_write_thread(l, track, &s->threads[0], o) &&
	       fxt_write_string(l, cat, &s->cat, o) && fxt_write_string(l, name, &s->name, o);
}

static void shape_args(const struct fxt_write *l, struct fxt_shape *s)
{
	s->nargs = l->nargs;
	s->args = l->args.bytes;
	s->args_end = s->args + (size_t)l->args.words * FXT_WORD;
}

/* Sets what an event record has of the row; its arguments are in l->args. */
static bool shape_event(struct fxt_write *l, const struct spur_event *row, struct fxt_shape *s,
			struct out *o)
{
	uint64_t ticks[2];

	s->type = FXT_EVENT;
	shape_args(l, s);
	if (!fxt_write_ticks(l, row, ticks, o))
		return false;
	s->ticks = ticks[0];
	s->value = s->sub == FXT_COMPLETE ? ticks[1] : row->id;
	return true;
}

static bool event_record(struct fxt_write *l, const struct spur_event *row, struct fxt_shape *s,
			 struct out *o)
{
	return shape_event(l, row, s, o) && fxt_write_record(l, s, o);
}

static bool no_args(struct fxt_write *l)
{
	return fxt_write_values(l, NULL, 0, NULL);
}

static bool row_args(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	if (!row->nargs)
		return no_args(l);
	return fxt_write_decode(l, row) && fxt_write_values(l, l->values.items, l->values.count, o);
}

/* The indices of what an event refers to. */
struct event_refs {
	uint8_t thread;
	uint16_t cat, name;
};

static __attribute__((noinline)) bool event_refs_put(struct fxt_write *l, uint32_t track,
						     uint32_t cat, uint32_t name,
						     struct event_refs *refs, struct out *o)
{
	struct fxt_shape s;

	if (!event_names(l, track, cat, name, &s, o))
		return false;
	*refs = (struct event_refs){ s.threads[0].ref, s.cat.ref, s.name.ref };
	return true;
}

static inline bool event_refs(struct fxt_write *l, uint32_t track, uint32_t cat, uint32_t name,
			      struct event_refs *refs, struct out *o)
{
	return (fxt_thread_known(l, track, &refs->thread) && fxt_string_known(l, cat, &refs->cat) &&
		fxt_string_known(l, name, &refs->name)) ||
	       event_refs_put(l, track, cat, name, refs, o);
}

enum { PIECE_BYTES = 32, SHORT_BYTES = 256 };

/* Copies words of a build, in pieces where they are few; room for a piece more is required. */
static inline void copy_words(uint8_t *to, const struct fxt_build *from)
{
	const size_t bytes = (size_t)from->words * FXT_WORD;

	static_assert(SHORT_BYTES + PIECE_BYTES <= sizeof(from->bytes), "a piece may be read");
	if (bytes > SHORT_BYTES) {
		memcpy(to, from->bytes, bytes);
		return;
	}
	for (size_t i = 0; i < bytes; i += PIECE_BYTES)
		memcpy(to + i, from->bytes + i, PIECE_BYTES);
}

/*
 * Writes an event whose references are all by index, and whose arguments are in l->args. Most
 * records are such events, so they are made here without a shape.
 */
static bool event_words(struct fxt_write *l, const struct spur_event *row, enum fxt_event type,
			const struct event_refs *refs, struct out *o)
{
	const bool swap = l->record.swap, tail = fxt_has_tail(type);
	const size_t args = (size_t)l->args.words * FXT_WORD,
		     bytes = (size_t)(tail ? 3 : 2) * FXT_WORD + args;
	const uint64_t head =
		fxt_put(FXT_F_TYPE, FXT_EVENT) | fxt_put(FXT_F_SIZE, bytes / FXT_WORD) |
		fxt_put(FXT_F_EVENT_TYPE, type) | fxt_put(FXT_F_EVENT_ARGS, l->nargs) |
		fxt_put(FXT_F_EVENT_THREAD, refs->thread) |
		fxt_put(FXT_F_EVENT_CATEGORY, refs->cat) | fxt_put(FXT_F_EVENT_NAME, refs->name);
	uint64_t ticks[2];
	uint8_t *w;

	assert(refs->thread && bytes <= FXT_RECORD_MOST * FXT_WORD);
	if (!fxt_ticks_quick(l, row, ticks) && !fxt_write_ticks(l, row, ticks, o))
		return false;
	w = (uint8_t *)out_room(o, bytes + PIECE_BYTES);
	if (!w)
		return false;
	store64(w, head, swap);
	store64(w + FXT_WORD, ticks[0], swap);
	copy_words(w + 2 * FXT_WORD, &l->args);
	if (tail)
		store64(w + 2 * FXT_WORD + args, type == FXT_COMPLETE ? ticks[1] : row->id, swap);
	o->len += bytes;
	return true;
}

/* The words of a kind mark. */
static void kind_words(const struct spur_event *row, uint64_t words[3])
{
	words[0] = fxt_put(FXT_F_KIND, row->kind) |
		   fxt_put(FXT_F_KIND_FLAGS, row->flags & FXT_KIND_FLAGS) |
		   fxt_put(FXT_F_KIND_CPU, row->cpu);
	words[1] = row->id;
	words[2] = (uint64_t)row->dur;
}

/*
 * The argument of l->values that a large record can have as its payload, the longest text or blob;
 * NULL: none.
 */
static const struct spur_value *payload_of(const struct fxt_write *l)
{
	const struct spur_value *longest = NULL;

	if (l->values.count > FXT_ARGS)
		return NULL;
	for (size_t i = 0; i < l->values.count; i++) {
		const struct spur_value *v = &l->values.items[i];

		if (v->type == SPUR_STRUCT || v->type == SPUR_ARRAY)
			return NULL;
		if ((v->type == SPUR_STRING || v->type == SPUR_BYTES) &&
		    (!longest || v->count > longest->count))
			longest = v;
	}
	return longest;
}

/*
 * SPEC fxt/payload-mark: an event whose arguments, which are in l->values, are longer than a record
 * is a large blob, with the longest of them as its payload.
 */
static bool payload_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	struct fxt_shape s = { .type = FXT_LARGE, .sub = FXT_LARGE_WITH_META };
	const struct spur_value *const payload = payload_of(l);
	const size_t index = (size_t)(payload - l->values.items), count = l->values.count;
	struct spur_value items[FXT_ARGS];
	uint64_t words[FXT_PAYLOAD_WORDS - 1], ticks[2];

	fxt_lose(l, FXT_LOST_LARGE);
	kind_words(row, words);
	words[3] = fxt_put(FXT_F_PAYLOAD_INDEX, index) |
		   fxt_put(FXT_F_PAYLOAD_TEXT, payload->type == SPUR_STRING);
	memcpy(items, l->values.items, count * sizeof(*items));
	items[index] = (struct spur_value){ .name = payload->name, .type = SPUR_NULL };
	if (!event_names(l, row->track, row->cat, row->name, &s, o) ||
	    !fxt_write_values(l, items, count, o) || !fxt_write_ticks(l, row, ticks, o))
		return false;
	shape_args(l, &s);
	s.ticks = ticks[0];
	s.data = (const uint8_t *)payload->text;
	s.data_len = payload->count;
	return fxt_write_marked(l, &s, FXT_PAYLOAD_MARK, words, FXT_PAYLOAD_WORDS - 1, o);
}

/*
 * The arguments of a row that may be a large blob instead, which *large tells: then the losses of
 * this attempt do not count. Spans cannot: what ends them is found by records of events.
 */
static bool args_or_large(struct fxt_write *l, const struct spur_event *row, bool *large,
			  struct out *o)
{
	const uint32_t losses = l->losses;

	l->cut = false;
	if (!row_args(l, row, o))
		return false;
	*large = l->cut && row->kind > SPUR_SPAN && payload_of(l);
	if (*large)
		l->losses = losses;
	return true;
}

static bool event_out(struct fxt_write *l, const struct spur_event *row, enum fxt_event type,
		      struct out *o)
{
	struct event_refs refs;
	bool large;

	if (!event_refs(l, row->track, row->cat, row->name, &refs, o) ||
	    !args_or_large(l, row, &large, o))
		return false;
	return large ? payload_out(l, row, o) : event_words(l, row, type, &refs, o);
}

/*
 * SPEC fxt/kind-mark: what no record is like is an instant event; behind it stands what it was.
 */
static bool marked_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	uint64_t words[FXT_KIND_WORDS - 1];
	struct fxt_shape s = { .sub = FXT_INSTANT };
	bool large;

	kind_words(row, words);
	if (row->kind != SPUR_INSTANT)
		fxt_lose(l, FXT_LOST_KIND);
	l->has_lost |= row->kind == SPUR_LOST;
	if (!event_names(l, row->track, row->cat, row->name, &s, o) ||
	    !args_or_large(l, row, &large, o))
		return false;
	if (large)
		return payload_out(l, row, o);
	return shape_event(l, row, &s, o) &&
	       fxt_write_marked(l, &s, FXT_KIND_MARK, words, FXT_KIND_WORDS - 1, o);
}

/*
 * SPEC fxt/end: after missing records such an end ends nothing, but here it would end all that is
 * open.
 */
static bool orphan_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	if (!(row->flags & SPUR_F_GAP) || l->has_lost)
		return event_out(l, row, FXT_END, o);
	fxt_lose(l, FXT_LOST_END);
	return true;
}

/* --- logs --- */

/* A log record has a text and nothing else. */
static bool log_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	struct fxt_shape s = { .type = FXT_LOG };
	const struct spur_value *v;
	uint64_t ticks[2];

	if (!fxt_write_decode(l, row))
		return false;
	v = l->values.items;
	if (l->values.count != 1 || v->type != SPUR_STRING || !name_is(l, v->name, "message") ||
	    row->cat || !name_is(l, row->name, "log"))
		return marked_out(l, row, o);
	if (v->count > (FXT_RECORD_MOST - 2) * FXT_WORD)
		return payload_out(l, row, o);
	if (!fxt_write_thread(l, row->track, &s.threads[0], o))
		return false;
	s.data = (const uint8_t *)v->text;
	s.data_len = v->count;
	if (!fxt_write_ticks(l, row, ticks, o))
		return false;
	s.ticks = ticks[0];
	return fxt_write_record(l, &s, o);
}

/* --- scheduling --- */

/* What the row's arguments say of the switch itself; they are not the record's. */
struct switch_args {
	size_t own; /* arguments in front that are not the record's */
	bool legacy;
	uint64_t state, priority;
};

static struct switch_args switch_args(const struct fxt_write *l, const struct spur_event *row)
{
	const struct spur_value *v = l->values.items;
	const size_t n = l->values.count;
	struct switch_args a = { .state = row->flags & SPUR_F_PREEMPTED ? FXT_STATE_RUNNING
									: FXT_STATE_BLOCKED };

	if (a.own < n && v[a.own].type == SPUR_ENUM && name_is(l, v[a.own].name, "state") &&
	    v[a.own].u < 16)
		a.state = v[a.own++].u;
	if (a.own < n && v[a.own].type == SPUR_KOID &&
	    (name_is(l, v[a.own].name, "next") || name_is(l, v[a.own].name, "prev")))
		a.own++;
	if (a.own && a.own + 1 == n && v[a.own].type == SPUR_U64 && v[a.own].u <= UINT8_MAX &&
	    row->cpu <= UINT8_MAX && l->from &&
	    fxt_get(load64(l->from->src->data + row->off, l->from->swap), FXT_F_SCHED_TYPE) ==
		    FXT_LEGACY_SWITCH) {
		a.legacy = true;
		a.priority = v[a.own++].u;
	}
	return a;
}

/*
 * The switch from the row that left the CPU to a thread. SPEC fxt/side-mark: `side` is the flag of
 * the only row that it stands for, 0: both.
 */
static bool switch_record(struct fxt_write *l, uint64_t in_tid, uint64_t side, struct out *o)
{
	struct fxt_pending *p = &l->pending;
	struct fxt_shape s = { .type = FXT_SCHEDULING,
			       .sub = FXT_SWITCH,
			       .head = fxt_put(FXT_F_SCHED_CPU, p->cpu) |
				       fxt_put(FXT_F_SCHED_STATE, p->state),
			       .ticks = p->ticks,
			       .nargs = p->nargs,
			       .args = p->args.bytes };

	s.args_end = s.args + (size_t)p->args.words * FXT_WORD;
	s.threads[0].tid = p->tid;
	s.threads[1].tid = in_tid;
	p->is = false;
	if (side)
		return fxt_write_marked(l, &s, FXT_SIDE_MARK, &side, FXT_SIDE_WORDS - 1, o);
	return fxt_write_record(l, &s, o);
}

/* A legacy record names both threads with their processes. */
static bool legacy_record(struct fxt_write *l, const struct spur_event *in, uint64_t priority,
			  struct out *o)
{
	struct fxt_pending *p = &l->pending;
	struct fxt_shape s = { .type = FXT_SCHEDULING,
			       .sub = FXT_LEGACY_SWITCH,
			       .head = p->legacy | fxt_put(FXT_F_LEGACY_IN_PRIORITY, priority),
			       .ticks = p->ticks };

	p->is = false;
	return fxt_write_thread(l, p->track, &s.threads[0], o) &&
	       fxt_write_thread(l, in->track, &s.threads[1], o) && fxt_write_record(l, &s, o);
}

/* A row that left the CPU and that no row followed which got it. */
static bool flush_pending(struct fxt_write *l, struct out *o)
{
	if (!l->pending.is)
		return true;
	loss_add(&l->w->loss, FXT_LOST_SWITCH, SPUR_SWITCH);
	return switch_record(l, 0, SPUR_F_OUT, o);
}

static bool pending_fits(const struct fxt_write *l, const struct spur_event *row)
{
	const struct fxt_pending *p = &l->pending;

	return p->is && row->kind == SPUR_SWITCH && (row->flags & SPUR_F_IN) && row->ts == p->ts &&
	       row->cpu == p->cpu && (!l->from || row->off == p->off);
}

/* Sets what a switch has of the row that leaves the CPU, or of one that gets it alone. */
static bool pending_set(struct fxt_write *l, const struct spur_event *row, uint64_t tid,
			const struct switch_args *a, struct out *o)
{
	struct fxt_pending *p = &l->pending;
	const size_t more = l->values.count - a->own;
	uint64_t ticks[2];

	assert(a->own <= l->values.count);
	if (!fxt_write_values(l, more ? l->values.items + a->own : NULL, more, o) ||
	    !fxt_write_ticks(l, row, ticks, o))
		return false;
	p->is = true;
	p->nargs = l->nargs;
	p->cpu = row->cpu;
	p->ts = row->ts;
	p->off = row->off;
	p->ticks = ticks[0];
	p->tid = tid;
	p->state = a->state;
	p->track = row->track;
	p->legacy = a->legacy ? fxt_put(FXT_F_LEGACY_CPU, row->cpu) |
					fxt_put(FXT_F_LEGACY_STATE, a->state) |
					fxt_put(FXT_F_LEGACY_OUT_PRIORITY, a->priority)
			      : 0;
	p->args.words = l->args.words;
	memcpy(p->args.bytes, l->args.bytes, (size_t)l->args.words * FXT_WORD);
	return true;
}

/* Without a CPU, which readers may take for a number, there is no scheduling record. */
static bool cpu_is_known(const struct fxt_write *l, const struct spur_event *row)
{
	return l->from || row->cpu != SPUR_NO_CPU;
}

static bool switch_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	const bool joins = pending_fits(l, row);
	const struct fxt_identity *id = fxt_write_by_tid(l, row->track, o);
	const uint64_t tid = id ? id->tid : 0;
	struct switch_args a;

	if (!id || !fxt_write_decode(l, row))
		return false;
	if (!l->from)
		fxt_lose(l, FXT_LOST_NAME);
	a = switch_args(l, row);
	if (joins && a.legacy && l->pending.legacy)
		return legacy_record(l, row, a.priority, o);
	if (joins)
		return switch_record(l, tid, 0, o);
	if (row->flags & SPUR_F_OUT)
		return pending_set(l, row, tid, &a, o);
	fxt_lose(l, FXT_LOST_SWITCH);
	return pending_set(l, row, 0, &a, o) && switch_record(l, tid, SPUR_F_IN, o);
}

static bool wakeup_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	struct fxt_shape s = { .type = FXT_SCHEDULING,
			       .sub = FXT_WAKEUP,
			       .head = fxt_put(FXT_F_SCHED_CPU, row->cpu) };
	const struct fxt_identity *id = fxt_write_by_tid(l, row->track, o);
	uint64_t ticks[2];

	if (!id)
		return false;
	if (!l->from)
		fxt_lose(l, FXT_LOST_NAME);
	s.threads[0].tid = id->tid;
	if (!row_args(l, row, o) || !fxt_write_ticks(l, row, ticks, o))
		return false;
	s.ticks = ticks[0];
	shape_args(l, &s);
	return fxt_write_record(l, &s, o);
}

/* --- objects --- */

/* The process of a row as a record names it that has no thread. */
static struct fxt_thread_ref process_ref(const struct fxt_write *l, const struct spur_event *row,
					 bool process_only)
{
	return (struct fxt_thread_ref){ .process_only = process_only,
					.pid = (uint64_t)trace_pid_of(l->t, row->track) };
}

/*
 * SPEC fxt/name-mark: a mapping has the name of its module, whose record may come later by time, or
 * be left out.
 */
static bool module_told(struct fxt_write *l, const struct spur_event *row,
			const struct fxt_shape *of, struct out *o)
{
	const uint64_t module = fxt_get(of->head, FXT_F_PROFILER_MODULE);
	struct map64_slot *slot =
		map64_put(&l->modules, (uint64_t)trace_process_of(l->t, row->track) << 16 | module);
	struct fxt_shape s = { .type = FXT_PROFILER,
			       .sub = FXT_MODULE,
			       .head = fxt_put(FXT_F_PROFILER_MODULE, module),
			       .ticks = of->ticks,
			       .threads = { of->threads[0] } };
	size_t len;

	if (!slot)
		return false;
	if (slot->value == row->name)
		return true;
	slot->value = row->name;
	if (of->sub == FXT_MODULE)
		return true;
	s.name.text = trace_string(l->t, row->name, &len);
	s.name.len = fxt_text_cut(s.name.text, len, UINT8_MAX);
	return fxt_write_marked(l, &s, FXT_NAME_MARK, NULL, FXT_NAME_WORDS - 1, o);
}

/* Modules and mappings have a time. */
static bool profiler_out(struct fxt_write *l, const struct spur_event *row, struct fxt_shape *s,
			 struct out *o)
{
	const struct spur_value *v = l->values.items;
	uint64_t ticks[2];
	size_t len;

	s->type = FXT_PROFILER;
	s->head = fxt_put(FXT_F_PROFILER_MODULE, v[0].u);
	s->threads[0] = process_ref(l, row, false);
	if (s->sub == FXT_MODULE) {
		s->name.text = trace_string(l->t, row->name, &len);
		s->name.len = fxt_text_cut(s->name.text, len, UINT8_MAX);
		s->data = (const uint8_t *)v[1].text;
		s->data_len = v[1].count < UINT8_MAX ? v[1].count : UINT8_MAX;
		if (s->name.len < len || s->data_len < v[1].count)
			fxt_lose(l, FXT_LOST_TEXT);
	} else {
		s->head |= fxt_put(FXT_F_PROFILER_FLAGS, v[1].u);
		s->value = v[2].u;
		s->more[0] = v[3].u;
		s->more[1] = v[4].u;
	}
	if (!fxt_write_ticks(l, row, ticks, o))
		return false;
	s->ticks = ticks[0];
	return module_told(l, row, s, o) && fxt_write_record(l, s, o);
}

/* What an OBJECT row stands for; 0: nothing that the format has a record for. */
static unsigned object_type(const struct fxt_write *l, const struct spur_event *row,
			    struct fxt_shape *s)
{
	const char *cat = trace_string(l->t, row->cat, NULL);
	const struct spur_value *v = l->values.items;
	const size_t n = l->values.count;
	uint64_t type;

	if (n == 2 && strcmp(cat, "module") == 0 && name_is(l, v[0].name, "module") &&
	    v[1].type == SPUR_BYTES) {
		s->sub = FXT_MODULE;
		return FXT_PROFILER;
	}
	if (n == 5 && strcmp(cat, "mapping") == 0 && name_is(l, v[0].name, "module")) {
		s->sub = FXT_MMAP;
		return FXT_PROFILER;
	}
	if (n && v[0].type == SPUR_POINTER && v[0].u == row->id &&
	    name_is(l, v[0].name, "pointer") && strcmp(cat, "userspace object") == 0)
		return FXT_USER_OBJECT;
	if (n && v[0].type == SPUR_KOID && v[0].u == row->id && name_is(l, v[0].name, "koid") &&
	    fxt_object_of(cat, &type)) {
		s->head = fxt_put(FXT_F_OBJECT_TYPE, type);
		return FXT_KERNEL_OBJECT;
	}
	return 0;
}

static bool object_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	struct fxt_shape s = { 0 };

	if (!fxt_write_decode(l, row))
		return false;
	s.type = (uint8_t)object_type(l, row, &s);
	if (!s.type)
		return marked_out(l, row, o);
	if (s.type == FXT_PROFILER)
		return profiler_out(l, row, &s, o);
	s.value = row->id;
	s.threads[0] = process_ref(l, row, true);
	if (s.type == FXT_KERNEL_OBJECT &&
	    (!fxt_write_told(l, row->id, row->name) ||
	     (write_track(l->w, row->track)->tid != -1 && !fxt_write_by_tid(l, row->track, o))))
		return false;
	if (!fxt_write_string(l, row->name, &s.name, o) ||
	    !fxt_write_values(l, l->values.items + 1, l->values.count - 1, o) ||
	    !fxt_write_mark(l, row, o))
		return false;
	shape_args(l, &s);
	return fxt_write_record(l, &s, o);
}

/* --- samples, blobs --- */

/* Addresses of a call stack, as FXT's reader gives them. */
static bool stack_of(const struct fxt_write *l, const struct spur_value **frames)
{
	const struct spur_value *v = l->values.items;

	*frames = v;
	if (l->values.count != 1 || v->type != SPUR_ARRAY || v->count > UINT8_MAX)
		return false;
	for (uint32_t i = 0; i < v->count; i++)
		if (v->items[i].type != SPUR_POINTER)
			return false;
	return true;
}

static bool sample_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	struct fxt_shape s = { .type = FXT_PROFILER, .sub = FXT_BACKTRACE };
	const struct spur_value *frames;
	uint64_t ticks[2];

	if (!fxt_write_decode(l, row))
		return false;
	if (!stack_of(l, &frames) || row->dur || row->id)
		return marked_out(l, row, o);
	if (!fxt_write_thread(l, row->track, &s.threads[0], o) ||
	    !fxt_write_ticks(l, row, ticks, o))
		return false;
	l->args.words = 0;
	for (uint32_t i = 0; i < frames->count; i++)
		fxt_build_word(&l->args, frames->items[i].u);
	s.ticks = ticks[0];
	s.data = l->args.bytes;
	s.data_len = (uint64_t)frames->count * FXT_WORD;
	return fxt_write_record(l, &s, o);
}

/* SPEC fxt/blob-pieces: a piece of the blob of that name. */
static bool piece_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	const struct spur_value *v = l->values.items;
	struct fxt_shape s = { .type = FXT_BLOB };
	uint64_t type = FXT_BLOB_DATA, left = v[0].count, most = (FXT_RECORD_MOST - 1) * FXT_WORD;

	if (l->values.count > 1 && v[1].type == SPUR_ENUM)
		type = v[1].u;
	s.head = fxt_put(FXT_F_BLOB_TYPE, type);
	s.data = (const uint8_t *)v[0].text;
	/* SPEC fxt/placeholder: without an index, data without a name would be one. */
	if (!fxt_write_index(l, row->name, &s.name, o) || !fxt_write_mark(l, row, o))
		return false;
	do {
		s.data_len = left < most ? left : most;
		if (!fxt_write_record(l, &s, o))
			return false;
		s.data += s.data_len;
		left -= s.data_len;
	} while (left);
	return true;
}

/* SPEC fxt/number-mark */
static bool large_record(struct fxt_write *l, const struct spur_event *row,
			 const struct fxt_shape *s, struct out *o)
{
	return fxt_write_marked(l, s, FXT_NUMBER_MARK, &row->id, FXT_NUMBER_WORDS - 1, o);
}

/* SPEC fxt/large-blob: whole; with time and thread unless the row has neither. */
static bool large_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	const struct spur_value *v = l->values.items;
	const bool plain = (row->flags & SPUR_F_RETIMED) && l->values.count == 1;
	struct fxt_shape s = { .type = FXT_LARGE,
			       .sub = plain ? FXT_LARGE_PLAIN : FXT_LARGE_WITH_META,
			       .data = (const uint8_t *)v[0].text,
			       .data_len = v[0].count };
	uint64_t ticks[2];

	if (!fxt_write_string(l, row->cat, &s.cat, o) ||
	    !fxt_write_string(l, row->name, &s.name, o))
		return false;
	if (plain)
		return fxt_write_mark(l, row, o) && large_record(l, row, &s, o);
	if (!fxt_write_thread(l, row->track, &s.threads[0], o) ||
	    !fxt_write_values(l, v + 1, l->values.count - 1, o) ||
	    !fxt_write_ticks(l, row, ticks, o))
		return false;
	s.ticks = ticks[0];
	shape_args(l, &s);
	return large_record(l, row, &s, o);
}

static bool blob_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	const struct spur_value *v;

	if (!fxt_write_decode(l, row))
		return false;
	v = l->values.items;
	if (!l->values.count || (v[0].type != SPUR_BYTES && v[0].type != SPUR_STRING))
		return marked_out(l, row, o);
	if (row->id || !(row->flags & SPUR_F_RETIMED))
		return large_out(l, row, o);
	return piece_out(l, row, o);
}

/* SPEC fxt/buffer-filled: such a record has no number, no thread and no time. */
static bool lost_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	struct fxt_shape s = { .type = FXT_METADATA, .sub = FXT_PROVIDER_EVENT };
	const struct fxt *x = l->from;
	uint64_t head;

	if (!x || row->id)
		return marked_out(l, row, o);
	head = load64(x->src->data + row->off, x->swap);
	if (fxt_type(head) != FXT_METADATA)
		return marked_out(l, row, o);
	s.value = fxt_get(head, FXT_F_METADATA_PROVIDER);
	l->has_lost = true;
	return fxt_write_mark(l, row, o) && fxt_write_record(l, &s, o);
}

/* --- records without a common meaning --- */

/* SPEC fxt/unknown-types: an event of unknown type has names, arguments, and other words. */
static bool unknown_event(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	struct fxt_shape s = { 0 }, read;

	fxt_shape_of(&read, l->from->src->data + row->off, row->len, l->from->swap);
	s.sub = read.sub;
	s.data = read.args_end;
	s.data_len = (uint64_t)(read.p + read.size - read.args_end);
	return event_names(l, row->track, row->cat, row->name, &s, o) && row_args(l, row, o) &&
	       event_record(l, row, &s, o);
}

static bool native_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	const struct fxt *x = l->from;
	uint64_t head, size;

	if (!x || x->swap != l->record.swap || l->w->masked)
		return marked_out(l, row, o);
	head = load64(x->src->data + row->off, x->swap);
	if (fxt_type(head) == FXT_EVENT && fxt_get(head, FXT_F_EVENT_TYPE) < FXT_EVENT_TYPES)
		return marked_out(l, row, o);
	if (fxt_type(head) == FXT_EVENT)
		return unknown_event(l, row, o);
	size = fxt_words(head) * FXT_WORD;
	if (!fxt_write_mark(l, row, o) || !fxt_encode_next_mark(&l->record, o))
		return false;
	if (size <= x->src->size - row->off)
		out_bytes(o, x->src->data + row->off, size);
	return !o->error;
}

/* --- the writer --- */

static bool row_out(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	static const uint8_t types[SPUR_KINDS] = {
		[SPUR_BEGIN] = FXT_BEGIN,
		[SPUR_SPAN] = FXT_COMPLETE,
		[SPUR_COUNTER] = FXT_COUNTER,
		[SPUR_ASYNC_BEGIN] = FXT_ASYNC_BEGIN,
		[SPUR_ASYNC_INSTANT] = FXT_ASYNC_INSTANT,
		[SPUR_ASYNC_END] = FXT_ASYNC_END,
		[SPUR_FLOW_BEGIN] = FXT_FLOW_BEGIN,
		[SPUR_FLOW_STEP] = FXT_FLOW_STEP,
		[SPUR_FLOW_END] = FXT_FLOW_END,
	};

	switch ((enum spur_kind)row->kind) {
	case SPUR_END_SPAN:
		return orphan_out(l, row, o);
	case SPUR_LOG:
		return log_out(l, row, o);
	case SPUR_SWITCH:
		return cpu_is_known(l, row) ? switch_out(l, row, o) : marked_out(l, row, o);
	case SPUR_WAKEUP:
		return cpu_is_known(l, row) ? wakeup_out(l, row, o) : marked_out(l, row, o);
	case SPUR_SAMPLE:
		return sample_out(l, row, o);
	case SPUR_OBJECT:
		return object_out(l, row, o);
	case SPUR_BLOB:
		return blob_out(l, row, o);
	case SPUR_LOST:
		return lost_out(l, row, o);
	case SPUR_INSTANT:
		if (row->id || (row->flags & SPUR_F_EXIT))
			return marked_out(l, row, o);
		return event_out(l, row, FXT_INSTANT, o);
	case SPUR_NATIVE:
		return native_out(l, row, o);
	default:
		return event_out(l, row, (enum fxt_event)types[row->kind], o);
	}
}

/* What precedes the words of every row. Returns false if out of memory. */
static bool row_begin(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	if (!l->begun && !fxt_write_clock(l, row->ts, o))
		return false;
	if (!pending_fits(l, row) && !flush_pending(l, o))
		return false;
	l->losses = 0;
	l->stamp += l->stamp == UINT32_MAX ? 2 : 1;
	return fxt_write_speaker(l, row, o);
}

static void row_done(struct fxt_write *l, unsigned kind)
{
	for (unsigned i = LOSS_OWN; l->losses >> i; i++)
		if (l->losses >> i & 1)
			loss_add(&l->w->loss, i, kind);
}

static bool row_now(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	if (!row_begin(l, row, o) || !row_out(l, row, o))
		return false;
	row_done(l, row->kind);
	return true;
}

/* Writes the spans that were held back. Returns false if out of memory. */
static bool flush_spans(struct fxt_write *l, struct out *o)
{
	while (l->nspans)
		if (!row_now(l, &l->spans[--l->nspans], o))
			return false;
	return true;
}

static bool fxt_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct fxt_write *l = lane;
	const struct spur_event *last = l->nspans ? &l->spans[l->nspans - 1] : NULL;

	if (last &&
	    (row->kind != SPUR_SPAN || row->ts != last->ts || row->dur != last->dur ||
	     l->nspans == FXT_SPANS) &&
	    !flush_spans(l, o))
		return false;
	if (row->kind != SPUR_SPAN)
		return row_now(l, row, o);
	l->spans[l->nspans++] = *row;
	return true;
}

/* The end of a span of the row's track, with the row's arguments if it is the span's own. */
static bool end_out(struct fxt_write *l, const struct spur_event *row, uint32_t cat, uint32_t name,
		    bool own, struct out *o)
{
	struct event_refs refs;
	struct spur_event at = *row;

	at.kind = SPUR_END_SPAN;
	if (!row_begin(l, row, o) || !event_refs(l, row->track, cat, name, &refs, o) ||
	    !(own ? row_args(l, row, o) : no_args(l)) || !event_words(l, &at, FXT_END, &refs, o))
		return false;
	row_done(l, SPUR_END_SPAN);
	return true;
}

/*
 * SPEC fxt/end: ends of FXT end what is inside their span too; those of other formats have a record
 * for each span, so that readers need not know that.
 */
static bool fxt_end(void *lane, const struct spur_event *row, const struct write_end *end,
		    struct out *o)
{
	struct fxt_write *l = lane;

	if (!flush_spans(l, o))
		return false;
	if (l->from && end->implied)
		return true;
	if (l->from && (row->flags & SPUR_F_ANY) && !row->name)
		return end_out(l, row, row->cat, 0, true, o);
	return end_out(l, row, trace_class(l->t, end->cls)->cat, end->name, !end->implied, o);
}

static void fxt_close(void *self)
{
	struct fxt_write *l = self;

	fxt_names_close(l);
	spur_args_free(&l->values);
	mem_free(l);
}

static void *fxt_open(struct write *w)
{
	struct fxt_write *l = mem_alloc(sizeof(*l));
	struct fxt_shape magic = { .type = FXT_METADATA, .sub = FXT_TRACE_INFO };

	if (!l)
		return NULL;
	l->w = w;
	l->t = w->trace;
	l->record.swap = l->args.swap = order_swaps(write_setting_is(w, "byte-order", "big"));
	if (fxt_names_open(l) && fxt_write_record(l, &magic, w->out))
		return l;
	fxt_close(l);
	return NULL;
}

/* An empty trace tells its clock too. */
static bool fxt_finish(void *self)
{
	struct fxt_write *l = self;

	return flush_spans(l, l->w->out) &&
	       (l->begun || fxt_write_clock(l, l->w->zero, l->w->out)) &&
	       flush_pending(l, l->w->out) && fxt_write_rest(l, l->w->out);
}

static const char *const endings[] = { "fxt", NULL };
static const char *const orders[] = { "little", "big", NULL };
static const struct write_setting settings[] = {
	{ "byte-order", orders, "byte order of the words: little (default) or big" },
	{ 0 },
};

const struct spur_writer spur_writer_fxt = {
	.name = "fxt",
	.title = "Fuchsia trace format (FXT), which ui.perfetto.dev and Fuchsia's tools open",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_NATIVE, WRITE_WHOLE) },
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.spans = WRITE_SPANS_STORED,
	.switches = WRITE_SWITCHES_ROWS,
	.takes_orphans = true,
	.takes_open = true,
	.merged = true,
	.settings = settings,
	.piece = PIECE,
	.open = fxt_open,
	.row = fxt_row,
	.end = fxt_end,
	.finish = fxt_finish,
	.close = fxt_close,
};
