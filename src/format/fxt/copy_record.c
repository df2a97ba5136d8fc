/* Records of a copy, with what they need. See copying.h. */
#include <stdio.h>

#include "format/fxt/copying.h"

enum { NS = 1000000000, TEXT_ROOM = 40 };

static bool put(struct fxt_copying *k, const struct fxt_shape *s)
{
	return fxt_encode(s, &k->record, k->o) && !k->o->error;
}

/* --- clocks --- */

/* 1 + the offset of the initialization record that holds for a provider; 0: none does. */
static uint64_t init_at(const struct fxt_copying *k, uint32_t number, uint64_t off)
{
	const uint32_t index = fxt_log_at(&k->inits, k->providers[number].head, off);

	if (index)
		return 1 + k->x->walked->inits[index - 1].off;
	return number ? init_at(k, 0, off) : 0;
}

static void init_shape(const struct fxt_copying *k, uint64_t init, struct fxt_shape *s)
{
	const uint8_t *p = k->x->src->data + init - 1;

	fxt_shape_of(s, p, fxt_words(load64(p, k->x->swap)) * FXT_WORD, k->x->swap);
}

const struct fxt_clock *fxt_copy_clock(struct fxt_copying *k, uint32_t number, uint64_t off)
{
	struct fxt_copied *p = &k->providers[number];
	const uint64_t init = init_at(k, number, off);
	struct fxt_shape s;

	if (p->clock.hz && p->clock_init == init)
		return &p->clock;
	p->clock_init = init;
	fxt_clock_set(&p->clock, NS, 0, false);
	if (init) {
		init_shape(k, init, &s);
		fxt_clock_set(&p->clock, s.value, s.extended ? s.more[0] : 0, false);
		fxt_clock_relate(k->x, &p->clock, s.extended ? s.more[1] : 0);
	}
	return &p->clock;
}

/* The initialization record that the provider's times need at an offset. */
static bool need_init(struct fxt_copying *k, uint32_t number, uint64_t off)
{
	struct fxt_copied *p = &k->providers[number];
	const uint64_t init = init_at(k, number, off), mark = init ? init : UINT64_MAX;
	struct fxt_shape s = { .type = FXT_INIT, .value = NS };

	if (k->times == FXT_TIMES_NS) {
		if (p->init)
			return true;
		s.extended = k->base != 0;
		s.more[0] = (uint64_t)k->base;
	} else if (p->init == mark || (!init && !k->joined && !p->init)) {
		return true;
	} else if (init) {
		init_shape(k, init, &s);
	}
	p->init = mark;
	return put(k, &s);
}

/* Ticks of a time of the part in the clock of a provider of the output. */
static bool ticks_of(struct fxt_copying *k, uint32_t number, uint64_t off, int64_t ts,
		     uint64_t *ticks)
{
	const struct fxt_clock *c = fxt_copy_clock(k, number, off);
	bool clamped = false;
	__int128 n;

	if (k->times == FXT_TIMES_NS) {
		*ticks = (uint64_t)ts + (uint64_t)k->shift + (uint64_t)k->base;
		return true;
	}
	n = ((__int128)ts - c->ahead) * (__int128)c->den;
	n = (n >= 0 ? (n + (__int128)c->num - 1) / (__int128)c->num : -(-n / (__int128)c->num)) +
	    (__int128)c->base;
	if (n < 0 || n > UINT64_MAX)
		return false;
	*ticks = (uint64_t)n;
	if (fxt_clock_ns(c, *ticks, &clamped) != ts)
		return false;
	if (k->times == FXT_TIMES_MOVED)
		*ticks += (uint64_t)((__int128)k->shift * (__int128)c->hz / NS);
	return true;
}

static uint64_t moved(struct fxt_copying *k, const struct fxt_copy_record *r, uint64_t ticks)
{
	const struct fxt_clock *c = fxt_copy_clock(k, r->number, r->off);
	bool clamped = false;

	if (k->times == FXT_TIMES_MOVED)
		return ticks + (uint64_t)((__int128)k->shift * (__int128)c->hz / NS);
	return (uint64_t)fxt_clock_ns(c, ticks, &clamped) + (uint64_t)k->shift + (uint64_t)k->base;
}

/* --- providers --- */

static bool announce(struct fxt_copying *k, struct fxt_copied *p)
{
	const struct fxt_provider *from = k->x->providers[p - k->providers];
	struct fxt_shape s = { .type = FXT_METADATA, .sub = FXT_PROVIDER_INFO, .value = p->id };
	size_t len;
	const char *name = trace_string(k->x->t, from->name, &len);

	p->announced = true;
	s.data = (const uint8_t *)name;
	s.data_len = fxt_text_cut(name, len, UINT8_MAX);
	return put(k, &s);
}

static bool speak(struct fxt_copying *k, uint32_t number)
{
	struct fxt_copied *p = &k->providers[number];
	struct fxt_shape s = { .type = FXT_METADATA, .sub = FXT_PROVIDER_SECTION, .value = p->id };

	if (k->speaking == p)
		return true;
	k->speaking = p;
	if (p->nameless)
		return true;
	return p->announced ? put(k, &s) : announce(k, p);
}

bool fxt_copy_first_clock(struct fxt_copying *k)
{
	const uint32_t number = k->x->clock_number;
	const struct fxt_copied *p = &k->providers[number];

	if (!k->x->clock_told || !k->x->walked->ninits || k->times == FXT_TIMES_NS || !p->head)
		return true;
	return speak(k, number) && need_init(k, number, k->x->walked->inits[0].off);
}

/* --- tables --- */

static bool own_tables(struct fxt_copied *p)
{
	if (!p->strings)
		p->strings = mem_array(FXT_STRINGS, sizeof(*p->strings));
	if (!p->threads)
		p->threads = mem_array(FXT_THREADS, sizeof(*p->threads));
	if (!p->thread_told)
		p->thread_told = mem_array(FXT_THREADS, 1);
	if (!p->string_told) {
		p->string_told = mem_array(FXT_STRINGS, 1);
		if (p->string_told)
			p->string_told[0] = true;
	}
	return p->strings && p->threads && p->string_told && p->thread_told;
}

static bool need_string(struct fxt_copying *k, const struct fxt_copy_record *r,
			const struct fxt_string_ref *ref)
{
	struct fxt_copied *p = &k->providers[r->number];
	struct fxt_shape s = { .type = FXT_STRING, .head = fxt_put(FXT_F_STRING_INDEX, ref->ref) };
	char text[TEXT_ROOM];
	uint32_t id;
	size_t len;

	if (!ref->ref || (ref->ref & FXT_INLINE))
		return true;
	id = fxt_string_at(k->x, k->x->providers[r->number], ref->ref, r->off);
	if (!id) {
		/* SPEC fxt/unknown-string: it stands for itself */
		snprintf(text, sizeof(text), "<string %u>", ref->ref);
		id = trace_intern(k->x->t, text) + 1;
	}
	p->string_told[ref->ref] = true;
	if (p->strings[ref->ref] == id)
		return true;
	p->strings[ref->ref] = id;
	s.data = (const uint8_t *)trace_string(k->x->t, id - 1, &len);
	s.data_len = len;
	return put(k, &s);
}

/* SPEC fxt/name-mark: names of koids travel, though their own records may not be chosen. */
static bool need_name(struct fxt_copying *k, const struct fxt_copy_record *r, unsigned type,
		      uint64_t koid, uint64_t pid)
{
	const uint32_t name = fxt_kernel_name(k->x, k->x->providers[r->number], koid, r->off);
	/* Records that know a thread by its id alone: others told its process. */
	const bool by_tid = type == FXT_OBJECT_THREAD && pid != UINT64_MAX &&
			    (r->shape.type == FXT_SCHEDULING || r->shape.type == FXT_KERNEL_OBJECT);
	const uint64_t told = (uint64_t)name + 1;
	struct map64_slot *slot = name || by_tid ? map64_put(&k->told, koid) : NULL;
	static const char process[FXT_WORD] = "process";
	const struct fxt_arg arg = { .type = FXT_ARG_KOID,
				     .name = { .ref = FXT_INLINE | 7, .len = 7, .text = process },
				     .word = pid };
	struct fxt_shape s = { .type = FXT_KERNEL_OBJECT,
			       .head = fxt_put(FXT_F_OBJECT_TYPE, type),
			       .value = koid };
	size_t len;

	if (!name && !by_tid)
		return true;
	if (!slot)
		return false;
	if (slot->value == (told | FXT_PROCESS_TOLD) || (slot->value == told && !by_tid))
		return true;
	slot->value = told | (slot->value & FXT_PROCESS_TOLD) | (by_tid ? FXT_PROCESS_TOLD : 0);
	s.name.text = trace_string(k->x->t, name, &len);
	s.name.len = fxt_text_cut(s.name.text, len, FXT_TEXT_MOST);
	s.name.ref = (uint16_t)(s.name.len ? FXT_INLINE | s.name.len : 0);
	k->args.words = 0;
	if (type == FXT_OBJECT_THREAD && pid != UINT64_MAX) {
		fxt_build_arg(&k->args, &arg);
		s.nargs = 1;
	}
	s.args = k->args.bytes;
	s.args_end = s.args + (size_t)k->args.words * FXT_WORD;
	return fxt_encode_marked(&s, (const uint8_t *)FXT_NAME_MARK, FXT_NAME_WORDS, &k->record,
				 k->o);
}

static bool need_ids(struct fxt_copying *k, const struct fxt_copy_record *r, uint64_t pid,
		     uint64_t tid, bool process_only)
{
	return (pid == UINT64_MAX || need_name(k, r, FXT_OBJECT_PROCESS, pid, 0)) &&
	       (process_only || need_name(k, r, FXT_OBJECT_THREAD, tid, pid));
}

/*
 * SPEC fxt/thread-process: the process of a thread that a record knows by its id alone; UINT64_MAX:
 * not known
 */
static uint64_t pid_of_tid(const struct fxt_copying *k, uint64_t tid)
{
	const uint32_t track = fxt_koid_thread(k->x, tid);
	const uint32_t parent = track == SPUR_NONE ? SPUR_NONE : fxt_track(k->x, track)->parent;

	return parent == SPUR_NONE ? UINT64_MAX : (uint64_t)fxt_track(k->x, parent)->pid;
}

/* The registration of a thread that holds for a record. */
static const struct fxt_version *thread_version(const struct fxt_copying *k,
						const struct fxt_copy_record *r, unsigned index)
{
	const struct fxt *x = k->x;
	const struct fxt_version *v =
		fxt_log_find(&x->tables, x->providers[r->number]->threads[index].head, r->off);

	return v ? v : fxt_log_find(&x->tables, x->providers[0]->threads[index].head, r->off);
}

static bool need_thread(struct fxt_copying *k, const struct fxt_copy_record *r,
			const struct fxt_thread_ref *ref)
{
	struct fxt_copied *p = &k->providers[r->number];
	struct fxt_shape s = { .type = FXT_THREAD, .head = fxt_put(FXT_F_THREAD_INDEX, ref->ref) };
	const bool by_tid = r->shape.type == FXT_SCHEDULING && r->shape.sub != FXT_LEGACY_SWITCH;
	const uint64_t none = fxt_put(FXT_F_MADE_TOP, FXT_MADE_TOP) |
			      fxt_put(FXT_F_MADE_LOW, FXT_MADE_LOW) | fxt_put(FXT_F_MADE_NONE, 1);
	const uint64_t number = (uint64_t)(k->part - k->copy->parts) * 2 * FXT_THREADS;
	struct fxt_thread_ref ids = { .pid = none |
					     fxt_put(FXT_F_MADE_NUMBER, number + FXT_THREADS),
				      .tid = none | fxt_put(FXT_F_MADE_NUMBER, number + ref->ref) };
	const struct fxt_version *v;
	uint32_t track;

	if (!ref->ref && by_tid)
		return need_ids(k, r, pid_of_tid(k, ref->tid), ref->tid, false);
	if (!ref->ref)
		return need_ids(k, r, ref->pid, ref->tid, ref->process_only);
	track = fxt_thread_at(k->x, k->x->providers[r->number], ref->ref, r->off);
	p->thread_told[ref->ref] = true;
	if (p->threads[ref->ref] == track && track)
		return true;
	if (!track && p->threads[ref->ref] == UINT32_MAX)
		return true;
	p->threads[ref->ref] = track ? track : UINT32_MAX;
	/* SPEC fxt/unknown-thread: a separate one */
	v = thread_version(k, r, ref->ref);
	if (v) {
		ids.pid = load64(k->x->src->data + v->off + FXT_WORD, k->x->swap);
		ids.tid = load64(k->x->src->data + v->off + 2 * FXT_WORD, k->x->swap);
	}
	s.threads[0] = ids;
	return need_ids(k, r, ids.pid, ids.tid, false) && put(k, &s);
}

/* --- modules, mappings and pointers: SPEC fxt/name-mark --- */

/* The process of a record's first thread, or of the record itself. */
static uint64_t pid_of(const struct fxt_copying *k, const struct fxt_copy_record *r)
{
	const struct fxt_thread_ref *ref = &r->shape.threads[0];
	uint32_t track, parent;

	if (!ref->ref) {
		track = fxt_process_track(k->x, ref->pid);
		return track == SPUR_NONE ? UINT64_MAX : (uint64_t)fxt_track(k->x, track)->pid;
	}
	track = fxt_thread_at(k->x, k->x->providers[r->number], ref->ref, r->off);
	parent = track ? fxt_track(k->x, track - 1)->parent : SPUR_NONE;
	return parent == SPUR_NONE ? UINT64_MAX : (uint64_t)fxt_track(k->x, parent)->pid;
}

/* A record of the same time and thread that others refer to, and no more. */
static struct fxt_shape marked_shape(struct fxt_copying *k, const struct fxt_copy_record *r,
				     unsigned sub, uint64_t module)
{
	struct fxt_shape s = { .type = FXT_PROFILER,
			       .sub = (uint8_t)sub,
			       .head = fxt_put(FXT_F_PROFILER_MODULE, module),
			       .threads = { r->shape.threads[0] },
			       .ticks = r->shape.ticks };

	s.threads[0].process_only = false;
	if (k->times != FXT_TIMES_KEPT)
		s.ticks = moved(k, r, s.ticks);
	return s;
}

static bool put_marked(struct fxt_copying *k, const struct fxt_shape *s)
{
	return fxt_encode_marked(s, (const uint8_t *)FXT_NAME_MARK, FXT_NAME_WORDS, &k->record,
				 k->o);
}

/*
 * Mappings and frames have the name of their module, whose own record may not be chosen, or may
 * come later by time.
 */
static bool need_module(struct fxt_copying *k, const struct fxt_copy_record *r, uint64_t pid,
			uint64_t module)
{
	const uint64_t key = fxt_module_key(k->x, pid, (uint32_t)module);
	const uint32_t name = fxt_module_name(k->x, pid, (uint32_t)module, r->off);
	struct map64_slot *slot = map64_put(&k->modules, key);
	struct fxt_shape s;
	size_t len;

	if (!slot)
		return false;
	if (slot->value == name)
		return true;
	slot->value = name;
	if (r->shape.sub == FXT_MODULE)
		return true;
	s = marked_shape(k, r, FXT_MODULE, module);
	s.name.text = trace_string(k->x->t, name, &len);
	s.name.len = fxt_text_cut(s.name.text, len, UINT8_MAX);
	return put_marked(k, &s);
}

/* The mappings that frames of a backtrace are in. */
static bool need_frames(struct fxt_copying *k, const struct fxt_copy_record *r, uint64_t pid)
{
	const struct fxt_mapping *last = NULL;

	for (uint64_t at = 0; k->x->names.nmaps && at < r->shape.data_len; at += FXT_WORD) {
		const struct fxt_mapping *m =
			fxt_find_mapping(k->x, pid, load64(r->shape.data + at, k->x->swap), r->off);
		struct map64_slot *slot;
		struct fxt_shape s;

		if (!m || m == last)
			continue;
		last = m;
		slot = map64_put(&k->mappings, m->off);
		if (!slot || !need_module(k, r, pid, m->module))
			return false;
		if (slot->value)
			continue;
		slot->value = 1;
		s = marked_shape(k, r, FXT_MMAP, m->module);
		s.value = m->start;
		s.more[0] = m->end - m->start < UINT64_MAX ? m->end - m->start + 1 : UINT64_MAX;
		s.more[1] = m->vaddr;
		if (!put_marked(k, &s))
			return false;
	}
	return true;
}

static bool need_profiled(struct fxt_copying *k, const struct fxt_copy_record *r)
{
	const uint64_t pid = pid_of(k, r);
	struct map64_slot *slot;

	if (r->shape.sub == FXT_BACKTRACE)
		return need_frames(k, r, pid);
	if (r->shape.sub == FXT_MMAP) {
		slot = map64_put(&k->mappings, r->off);
		if (!slot)
			return false;
		slot->value = 1;
	}
	return need_module(k, r, pid, fxt_get(r->shape.head, FXT_F_PROFILER_MODULE));
}

/* The name of a pointer that an argument refers to, or that the record itself gives. */
static bool need_pointer(struct fxt_copying *k, const struct fxt_copy_record *r, uint64_t pointer,
			 bool own)
{
	const struct fxt_provider *p = k->x->providers[r->number];
	const uint64_t pid = pid_of(k, r), key = fxt_user_key(k->x, p, pid, pointer);
	const uint32_t name = fxt_user_name(k->x, p, pid, pointer, r->off);
	struct map64_slot *slot;
	struct fxt_shape s = { .type = FXT_USER_OBJECT,
			       .value = pointer,
			       .threads = { r->shape.threads[0] } };
	size_t len;

	if (key == UINT64_MAX)
		return true;
	slot = map64_put(&k->pointers, key);
	if (!slot)
		return false;
	if (slot->value == name)
		return true;
	slot->value = name;
	if (own)
		return true;
	s.name.text = trace_string(k->x->t, name, &len);
	s.name.len = fxt_text_cut(s.name.text, len, FXT_TEXT_MOST);
	s.name.ref = (uint16_t)(s.name.len ? FXT_INLINE | s.name.len : 0);
	return put_marked(k, &s);
}

/* --- what records refer to --- */

/* Whether pointers of the record are those of its first thread's process. */
static bool has_process(const struct fxt_shape *s)
{
	return s->type == FXT_EVENT || s->type == FXT_USER_OBJECT ||
	       (s->type == FXT_LARGE && s->nthreads);
}

static bool need_args(struct fxt_copying *k, const struct fxt_copy_record *r)
{
	const struct fxt_shape *s = &r->shape;
	struct cursor c = cursor_make(s->args, (size_t)(s->args_end - s->args), k->x->swap);
	bool good = true;

	for (unsigned i = 0; good && i < s->nargs; i++) {
		struct fxt_arg a;

		fxt_arg_next(&c, &a);
		if (a.state != FXT_ARG_GOOD)
			continue;
		good = need_string(k, r, &a.name) &&
		       (a.type != FXT_ARG_STRING || need_string(k, r, &a.text)) &&
		       (a.type != FXT_ARG_KOID || need_name(k, r, 0, a.word, UINT64_MAX)) &&
		       (a.type != FXT_ARG_POINTER || !has_process(s) ||
			need_pointer(k, r, a.word, false));
	}
	return good;
}

static bool need_tables(struct fxt_copying *k, const struct fxt_copy_record *r)
{
	const struct fxt_shape *s = &r->shape;
	const bool named = s->type != FXT_PROFILER;
	bool good = own_tables(&k->providers[r->number]);

	for (unsigned i = 0; good && i < s->nthreads; i++)
		good = need_thread(k, r, &s->threads[i]);
	return good && (!named || (need_string(k, r, &s->cat) && need_string(k, r, &s->name))) &&
	       need_args(k, r);
}

/* --- what a record without time or a begin needs --- */

/* SPEC fxt/time-mark */
static bool need_time(struct fxt_copying *k, const struct fxt_copy_record *r)
{
	uint8_t mark[2 * FXT_WORD] = FXT_TIME_MARK;
	const struct fxt_shape s = { .type = FXT_BLOB,
				     .head = fxt_put(FXT_F_BLOB_TYPE, FXT_BLOB_DATA),
				     .data = mark,
				     .data_len = sizeof(mark) };
	const int64_t at = fxt_copy_moved(k, r->ts);
	uint32_t number = r->number;
	uint64_t ticks;

	if (k->written == at)
		return true;
	/* Another provider's clock may have that time where the record's own has not. */
	for (uint32_t i = 0; !ticks_of(k, number, r->off, r->ts, &ticks); i++) {
		/* Once others were announced, what precedes all providers cannot speak again. */
		while (i < k->nproviders && k->providers[i].nameless &&
		       k->speaking != &k->providers[i])
			i++;
		if (i == k->nproviders) {
			k->unmarked++;
			return true;
		}
		number = i;
	}
	if (!speak(k, number) || !need_init(k, number, r->off))
		return false;
	store64(mark + FXT_WORD, ticks, k->record.swap);
	k->written = at > k->written ? at : k->written;
	return put(k, &s) && speak(k, r->number);
}

/* SPEC fxt/end: where records are missing an END may end nothing; a reader must know that. */
static bool need_gap(struct fxt_copying *k, const struct fxt_copy_record *r)
{
	const struct fxt_shape s = { .type = FXT_METADATA,
				     .sub = FXT_PROVIDER_EVENT,
				     .value = k->providers[r->number].id };

	if (!k->gap || k->gap_told || r->shape.type != FXT_EVENT || r->shape.sub != FXT_END)
		return true;
	k->gap_told = true;
	k->gaps_told++;
	return put(k, &s);
}

/* --- bytes --- */

/* The arguments that can be read, in the byte order of the output, into k->args. */
static void recode_args(struct fxt_copying *k, struct fxt_shape *s)
{
	struct cursor c = cursor_make(s->args, (size_t)(s->args_end - s->args), k->x->swap);
	uint8_t good = 0;

	k->args.words = 0;
	k->args.full = false;
	for (unsigned i = 0; i < s->nargs; i++) {
		struct fxt_arg a;

		fxt_arg_next(&c, &a);
		/* What is in an argument of unknown type cannot change its byte order. */
		if (a.state != FXT_ARG_GOOD || (k->recode && a.type >= FXT_ARG_TYPES))
			continue;
		fxt_build_arg(&k->args, &a);
		good++;
	}
	s->nargs = good;
	s->args = k->args.bytes;
	s->args_end = s->args + (size_t)k->args.words * FXT_WORD;
}

/* SPEC fxt/bad-argument, SPEC fxt/tail-lost: what was left of a damaged record, as a whole one. */
static bool recode(struct fxt_copying *k, const struct fxt_copy_record *r)
{
	const uint8_t *mark = fxt_shape_marked(&r->shape);
	uint8_t marks[FXT_MARK_WORDS * FXT_WORD], frames[UINT8_MAX * FXT_WORD];
	struct fxt_shape s = r->shape;

	k->rewritten++;
	if (mark)
		memcpy(marks, mark, (size_t)s.extra * FXT_WORD);
	for (uint64_t i = 1; mark && i < s.extra; i++)
		store64(marks + i * FXT_WORD, load64(mark + i * FXT_WORD, k->x->swap),
			k->record.swap);
	if (s.type == FXT_PROFILER && s.sub == FXT_BACKTRACE) {
		for (uint64_t i = 0; i < s.data_len; i += FXT_WORD)
			store64(frames + i, load64(s.data + i, k->x->swap), k->record.swap);
		s.data = frames;
	}
	if (s.tail_lost)
		s.sub = FXT_INSTANT;
	/* SPEC fxt/unknown-types: behind the arguments an event of unknown type has other words. */
	if (!s.known && !s.args_lost) {
		s.data = s.args_end;
		s.data_len = (uint64_t)(s.p + s.size - s.args_end);
	}
	recode_args(k, &s);
	if (s.timed && k->times != FXT_TIMES_KEPT) {
		s.ticks = moved(k, r, s.ticks);
		if (s.type == FXT_EVENT && s.sub == FXT_COMPLETE)
			s.value = moved(k, r, s.value);
	}
	return fxt_encode_marked(&s, mark ? marks : NULL, mark ? (unsigned)s.extra : 0, &k->record,
				 k->o);
}

/* The bytes as they are, but for the times and the number of the provider. */
static void put_bytes(struct fxt_copying *k, const struct fxt_copy_record *r)
{
	const struct fxt_shape *s = &r->shape;
	const uint8_t *p = s->p;
	uint64_t at = FXT_WORD, end;

	if (s->type == FXT_METADATA && s->known) {
		uint64_t head = s->head & ~fxt_put(FXT_F_METADATA_PROVIDER, UINT32_MAX);

		head |= fxt_put(FXT_F_METADATA_PROVIDER, k->providers[r->number].id);
		store64(k->record.bytes, head, k->record.swap);
		out_bytes(k->o, k->record.bytes, FXT_WORD);
		p += FXT_WORD;
	} else if (s->timed && k->times != FXT_TIMES_KEPT) {
		if (s->type == FXT_LARGE)
			at = 2 * FXT_WORD + align_up(s->cat.len, FXT_WORD) +
			     align_up(s->name.len, FXT_WORD);
		out_bytes(k->o, p, at);
		store64(k->record.bytes, moved(k, r, s->ticks), k->record.swap);
		out_bytes(k->o, k->record.bytes, FXT_WORD);
		p += at + FXT_WORD;
		if (s->type == FXT_EVENT && s->sub == FXT_COMPLETE && !s->tail_lost) {
			end = (uint64_t)(s->args_end - s->p);
			out_bytes(k->o, p, end - at - FXT_WORD);
			store64(k->record.bytes, moved(k, r, s->value), k->record.swap);
			out_bytes(k->o, k->record.bytes, FXT_WORD);
			p = s->p + end + FXT_WORD;
		}
	}
	out_bytes(k->o, p, s->size - (uint64_t)(p - s->p));
}

static bool args_are_good(const struct fxt_copying *k, const struct fxt_shape *s)
{
	struct cursor c = cursor_make(s->args, (size_t)(s->args_end - s->args), k->x->swap);
	bool good = !s->args_lost;

	for (unsigned i = 0; good && i < s->nargs; i++) {
		struct fxt_arg a;

		fxt_arg_next(&c, &a);
		good = a.state == FXT_ARG_GOOD;
	}
	return good;
}

/* Whether what the specification forbids is to be mended: padding and reserved bits. */
static bool wants_repair(const struct fxt_copying *k, const struct fxt_shape *s)
{
	return k->copy->repair && s->known && s->type != FXT_METADATA &&
	       !fxt_shape_exact(s, k->x->swap) && (!s->extra || fxt_shape_marked(s)) &&
	       args_are_good(k, s);
}

bool fxt_copy_record(struct fxt_copying *k, struct fxt_copy_record *r)
{
	const struct fxt_shape *s = &r->shape;
	struct map64_slot *slot;
	uint64_t own;

	/* What has no known parts cannot change its byte order. */
	if (!s->known && k->recode) {
		k->dropped++;
		return true;
	}
	if (!speak(k, r->number) || !need_init(k, r->number, r->off) || !need_tables(k, r) ||
	    !need_gap(k, r))
		return false;
	if (s->type == FXT_KERNEL_OBJECT) {
		const bool thread = fxt_get(s->head, FXT_F_OBJECT_TYPE) == FXT_OBJECT_THREAD;
		const struct fxt_record object = { .off = r->off,
						   .provider = k->x->providers[r->number],
						   .shape = *s };
		const uint64_t pid = thread && !fxt_object_process(k->x, &object, &own)
					     ? pid_of_tid(k, s->value)
					     : UINT64_MAX;
		const uint32_t name =
			fxt_kernel_name(k->x, k->x->providers[r->number], s->value, r->off);

		if (pid != UINT64_MAX && !need_name(k, r, FXT_OBJECT_THREAD, s->value, pid))
			return false;
		slot = map64_put(&k->told, s->value);
		if (!slot)
			return false;
		slot->value = ((uint64_t)name + 1) | (slot->value & FXT_PROCESS_TOLD);
	}
	if ((s->type == FXT_PROFILER && s->known && !need_profiled(k, r)) ||
	    (s->type == FXT_USER_OBJECT && !need_pointer(k, r, s->value, true)))
		return false;
	if (!s->timed && !need_time(k, r))
		return false;
	if (s->timed && fxt_copy_moved(k, r->ts) > k->written)
		k->written = fxt_copy_moved(k, r->ts);
	k->copy->records++;
	k->settled = r->number + 1;
	if (k->recode || (k->damaged && !args_are_good(k, s)) || wants_repair(k, s))
		return recode(k, r);
	if (fxt_shape_doubtful(s) && !fxt_encode_next_mark(&k->record, k->o))
		return false;
	put_bytes(k, r);
	return !k->o->error;
}
