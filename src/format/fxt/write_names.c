/* Providers, clocks, strings and threads of the output. See write.h. */
#include "format/fxt/write.h"

#include "base/search.h"

extern const struct spur_format spur_format_fxt;

enum { TRACKS = 1 << 24, PROVIDER_ID = 1, PROVIDER_NAME_MOST = 255 };
enum { NS = 1000000000 };

bool fxt_write_record(struct fxt_write *l, const struct fxt_shape *s, struct out *o)
{
	return fxt_encode(s, &l->record, o) && !o->error;
}

bool fxt_write_marked(struct fxt_write *l, const struct fxt_shape *s, const char *mark,
		      const uint64_t *words, unsigned count, struct out *o)
{
	uint8_t bytes[FXT_MARK_WORDS * FXT_WORD];

	assert(count < FXT_MARK_WORDS);
	memcpy(bytes, mark, FXT_WORD);
	for (unsigned i = 0; i < count; i++)
		store64(bytes + (size_t)(i + 1) * FXT_WORD, words[i], l->record.swap);
	return fxt_encode_marked(s, bytes, count + 1, &l->record, o) && !o->error;
}

/* --- providers --- */

/* An id that no provider of the source has. */
static uint32_t free_id(const struct fxt *x)
{
	uint32_t id = 0;

	while (map64_find(&x->by_id, id))
		id++;
	return id;
}

bool fxt_names_open(struct fxt_write *l)
{
	struct spur_trace *t = l->t;

	l->from = t->format == &spur_format_fxt && ((struct fxt *)t->state)->ordered ? t->state
										     : NULL;
	l->nspeakers = l->from ? (uint32_t)l->from->nproviders : 1;
	l->speakers = mem_array(l->nspeakers, sizeof(*l->speakers));
	l->highest = INT64_MIN;
	if (!l->speakers)
		return false;
	for (uint32_t i = 0; i < l->nspeakers; i++) {
		struct fxt_speaker *s = &l->speakers[i];

		fxt_table_init(&s->strings, FXT_STRINGS);
		fxt_table_init(&s->threads, FXT_THREADS);
		s->id = PROVIDER_ID;
		s->name = trace_intern(t, t->format->name);
		if (!l->from)
			continue;
		s->from = l->from->providers[i];
		s->name = l->w->masked ? 0 : s->from->name;
		s->id = i || l->nspeakers == 1 ? s->from->id : free_id(l->from);
		/* What precedes all providers needs none, if nothing follows. */
		s->announced = l->nspeakers == 1;
	}
	return !trace_short_of_memory(t);
}

void fxt_names_close(struct fxt_write *l)
{
	for (uint32_t i = 0; l->speakers && i < l->nspeakers; i++) {
		fxt_table_free(&l->speakers[i].strings);
		fxt_table_free(&l->speakers[i].threads);
	}
	mem_free(l->speakers);
	mem_table_free(l->identities, l->identities_cap, sizeof(*l->identities));
	map64_free(&l->pids);
	map64_free(&l->tids);
	map64_free(&l->told);
	map64_free(&l->modules);
	map64_free(&l->joined[0]);
	map64_free(&l->joined[1]);
}

/* The initialization record of the clock that the provider's times are on. */
static bool write_init(struct fxt_write *l, struct fxt_speaker *s, struct out *o)
{
	const struct clock_info *c = &l->t->clock;
	const struct fxt_provider *p = s->from;
	struct fxt_shape r = { .type = FXT_INIT, .value = NS, .more = { (uint64_t)l->base } };
	int64_t epoch;

	if (p && !p->told_hz)
		p = l->from->providers[0];
	s->plain = !l->in_ticks || s->plain || !p || !p->told_hz;
	if (!s->plain) {
		r.value = p->told_hz;
		r.more[0] = p->told_base;
		r.more[1] = p->told_time;
		fxt_clock_set(&s->clock, r.value, r.more[0], false);
		if (r.more[1] && l->from->base_time && r.more[1] <= INT64_MAX &&
		    l->from->base_time <= INT64_MAX)
			s->clock.ahead = (int64_t)r.more[1] - (int64_t)l->from->base_time;
		s->clock.plain &= !s->clock.ahead;
	} else if (c->epoch_known && !__builtin_add_overflow(c->epoch_ns, l->w->zero, &epoch) &&
		   epoch > 0) {
		r.more[1] = (uint64_t)epoch;
	}
	/* SPEC fxt/init-base */
	r.extended = r.more[0] || r.more[1];
	return fxt_write_record(l, &r, o);
}

static bool announce(struct fxt_write *l, struct fxt_speaker *s, struct out *o)
{
	struct fxt_shape r = { .type = FXT_METADATA, .sub = FXT_PROVIDER_INFO, .value = s->id };
	size_t len;
	const char *name = trace_string(l->t, s->name, &len);

	r.data = (const uint8_t *)name;
	r.data_len = fxt_text_cut(name, len, PROVIDER_NAME_MOST);
	s->announced = true;
	l->speaking = s;
	return fxt_write_record(l, &r, o) && write_init(l, s, o);
}

/* The source's ticks are kept if each provider has one clock and times count from its own zero. */
static bool ticks_are_kept(const struct fxt_write *l)
{
	for (uint32_t i = 0; l->from && i < l->nspeakers; i++)
		if (l->from->providers[i]->told_others)
			return false;
	return l->from && !l->w->zero && l->from->clock_told && !l->from->raw_time;
}

bool fxt_write_clock(struct fxt_write *l, int64_t first, struct out *o)
{
	const uint32_t told = l->from ? l->from->clock_number : 0;
	bool good = true;

	l->begun = true;
	l->in_ticks = ticks_are_kept(l);
	if (!l->in_ticks && !__builtin_sub_overflow(first, l->w->zero, &first) && first < 0)
		l->base = first == INT64_MIN ? INT64_MAX : -first;
	if (l->speakers[0].announced)
		l->speaking = &l->speakers[0];
	/* SPEC fxt/init-base: the first clock is the one that others are related to. */
	if (told && l->in_ticks)
		good = announce(l, &l->speakers[told], o);
	else if (l->from)
		good = write_init(l, &l->speakers[0], o);
	for (uint32_t i = l->from && l->nspeakers > 1; good && i < l->nspeakers; i++)
		if (!l->speakers[i].announced)
			good = announce(l, &l->speakers[i], o);
	return good;
}

/* The provider of a row's record, and the offsets up to which it speaks. */
static void find_speaker(struct fxt_write *l, const struct spur_event *row)
{
	const struct fxt *x = l->from;
	size_t low;

	l->of = &l->speakers[0];
	l->of_from = 0;
	l->of_to = UINT64_MAX;
	if (!x || !x->nsections)
		return;
	bisect(low, 0, x->nsections, x->sections[low].off <= row->off);
	l->of_from = low ? x->sections[low - 1].off : 0;
	l->of_to = low < x->nsections ? x->sections[low].off : UINT64_MAX;
	l->of = &l->speakers[low ? x->sections[low - 1].provider : 0];
}

/* Apart from its caller, which is on the hot path, as making a shape takes time. */
static __attribute__((noinline)) bool speak(struct fxt_write *l, struct out *o)
{
	const struct fxt_shape r = { .type = FXT_METADATA,
				     .sub = FXT_PROVIDER_SECTION,
				     .value = l->of->id };

	if (!l->of->announced)
		return announce(l, l->of, o);
	l->speaking = l->of;
	return fxt_write_record(l, &r, o);
}

bool fxt_change_speaker(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	if (!l->of || row->off < l->of_from || row->off >= l->of_to)
		find_speaker(l, row);
	return l->of == l->speaking || speak(l, o);
}

/* --- times --- */

/* Sets the ticks of a time in the speaking provider's clock. Returns false if no tick is then. */
static bool ticks_at(struct fxt_write *l, int64_t ts, uint64_t *ticks)
{
	const struct fxt_speaker *s = l->speaking;
	const struct fxt_clock *c = &s->clock;
	bool clamped = false;
	__int128 n;

	if (s->plain) {
		n = (__int128)ts - l->w->zero + l->base;
	} else {
		n = ((__int128)ts - c->ahead) * (__int128)c->den;
		n = (n >= 0 ? (n + (__int128)c->num - 1) / (__int128)c->num
			    : -(-n / (__int128)c->num)) +
		    (__int128)c->base;
	}
	*ticks = n < 0 ? 0 : n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
	if (s->plain)
		return n >= 0;
	return n >= 0 && n <= UINT64_MAX && fxt_clock_ns(c, *ticks, &clamped) == ts;
}

/*
 * The ticks of the end of a complete event, from whose record a row was made. Returns false if they
 * are not there.
 */
static bool end_ticks(const struct fxt *x, const struct spur_event *row, uint64_t *ticks)
{
	struct cursor c = cursor_make(x->src->data + row->off, row->len, x->swap);
	const uint64_t h = cursor_u64(&c), cat = fxt_get(h, FXT_F_EVENT_CATEGORY),
		       name = fxt_get(h, FXT_F_EVENT_NAME);

	cursor_bytes(&c, FXT_WORD);
	cursor_bytes(&c, fxt_get(h, FXT_F_EVENT_THREAD) ? 0 : 2 * FXT_WORD);
	cursor_bytes(&c, fxt_text_bytes(cat) + fxt_text_bytes(name));
	for (uint64_t n = fxt_get(h, FXT_F_EVENT_ARGS); n; n--) {
		const uint64_t size = fxt_get(cursor_u64(&c), FXT_F_SIZE) * FXT_WORD;

		cursor_bytes(&c, size ? size - FXT_WORD : SIZE_MAX);
	}
	*ticks = cursor_u64(&c);
	return !c.bad && fxt_get(h, FXT_F_EVENT_TYPE) == FXT_COMPLETE;
}

/* The record's own ticks, if the output's clock makes the row's times of them. */
static bool own_ticks(const struct fxt_write *l, const struct spur_event *row, uint64_t ticks[2])
{
	const struct fxt_clock *c = &l->speaking->clock;
	const uint8_t *p = l->from->src->data + row->off;
	bool clamped = false;
	int64_t end;

	if (row->kind == SPUR_SPAN && end_ticks(l->from, row, &ticks[1])) {
		ticks[0] = load64(p + FXT_WORD, l->from->swap);
	} else if (row->kind == SPUR_SPAN || fxt_type(load64(p, l->from->swap)) == FXT_LARGE) {
		if (!fxt_record_ticks(l->t, row, ticks))
			return false;
	} else {
		ticks[0] = ticks[1] = load64(p + FXT_WORD, l->from->swap);
	}
	if (fxt_clock_ns(c, ticks[0], &clamped) != row->ts)
		return false;
	if (row->kind != SPUR_SPAN || ticks[1] < ticks[0])
		return true;
	end = fxt_clock_ns(c, ticks[1], &clamped);
	return __builtin_sub_overflow(end, row->ts, &end) || end == row->dur;
}

bool fxt_write_ticks(struct fxt_write *l, const struct spur_event *row, uint64_t ticks[2],
		     struct out *o)
{
	int64_t end;

	if (row->ts > l->highest)
		l->highest = row->ts;
	if (!l->speaking->plain && !(row->flags & SPUR_F_RETIMED)) {
		if (own_ticks(l, row, ticks))
			return true;
		/* Its clock was another one then: from here on it counts ns. */
		l->speaking->plain = true;
		if (!write_init(l, l->speaking, o))
			return false;
	}
	if (!ticks_at(l, row->ts, &ticks[0]))
		fxt_lose(l, FXT_LOST_TIME);
	ticks[1] = ticks[0];
	if (row->kind != SPUR_SPAN || row->dur <= 0)
		return true;
	if (__builtin_add_overflow(row->ts, row->dur, &end))
		end = INT64_MAX;
	if (!ticks_at(l, end, &ticks[1]))
		fxt_lose(l, FXT_LOST_TIME);
	return true;
}

bool fxt_write_mark(struct fxt_write *l, const struct spur_event *row, struct out *o)
{
	uint8_t mark[2 * FXT_WORD] = FXT_TIME_MARK;
	struct fxt_shape r = { .type = FXT_BLOB,
			       .head = fxt_put(FXT_F_BLOB_TYPE, FXT_BLOB_DATA),
			       .data = mark,
			       .data_len = sizeof(mark) };
	uint64_t ticks;

	if (l->highest == row->ts)
		return true;
	if (!ticks_at(l, row->ts, &ticks))
		fxt_lose(l, FXT_LOST_TIME);
	store64(mark + FXT_WORD, ticks, l->record.swap);
	l->highest = row->ts > l->highest ? row->ts : l->highest;
	return fxt_write_record(l, &r, o);
}

/* --- strings --- */

static bool string_record(struct fxt_write *l, uint32_t string, uint32_t index, struct out *o)
{
	struct fxt_shape r = { .type = FXT_STRING, .head = fxt_put(FXT_F_STRING_INDEX, index) };
	size_t len;
	const char *text = trace_string(l->t, string, &len);

	r.data = (const uint8_t *)text;
	r.data_len = len;
	if (len > (FXT_RECORD_MOST - 1) * FXT_WORD) {
		r.data_len = fxt_text_cut(text, len, FXT_TEXT_MOST);
		fxt_lose(l, FXT_LOST_TEXT);
	}
	return fxt_write_record(l, &r, o);
}

bool fxt_write_string(struct fxt_write *l, uint32_t string, struct fxt_string_ref *ref,
		      struct out *o)
{
	*ref = (struct fxt_string_ref){ 0 };
	return !string || fxt_write_index(l, string, ref, o);
}

bool fxt_write_index(struct fxt_write *l, uint32_t string, struct fxt_string_ref *ref,
		     struct out *o)
{
	struct fxt_table *t = &l->speaking->strings;
	uint32_t index;
	bool fresh;

	*ref = (struct fxt_string_ref){ 0 };
	ref->ref = (uint16_t)fxt_table_find(t, string, l->stamp);
	if (ref->ref)
		return true;
	index = fxt_table_put(t, string, l->stamp, &fresh);
	ref->ref = (uint16_t)index;
	return index && string_record(l, string, index, o);
}

/* --- threads --- */

bool fxt_write_told(struct fxt_write *l, uint64_t koid, uint32_t name)
{
	struct map64_slot *slot = map64_put(&l->told, koid);

	if (slot)
		slot->value = name + 1;
	return slot;
}

/* A kernel object that names a process, or a thread of it. */
static bool tell(struct fxt_write *l, unsigned type, uint64_t koid, uint32_t name, uint64_t pid,
		 struct out *o)
{
	const struct map64_slot *slot = map64_find(&l->told, koid);
	struct fxt_shape r = { .type = FXT_KERNEL_OBJECT,
			       .head = fxt_put(FXT_F_OBJECT_TYPE, type),
			       .value = koid };
	static const char process[FXT_WORD] = "process";
	struct fxt_arg arg = { .type = FXT_ARG_KOID,
			       .name = { .ref = FXT_INLINE | 7, .len = 7, .text = process },
			       .word = pid };

	if (!name || (slot && slot->value == name + 1))
		return true;
	if (!fxt_write_told(l, koid, name) || !fxt_write_string(l, name, &r.name, o))
		return false;
	l->args.words = 0;
	if (type == FXT_OBJECT_THREAD) {
		fxt_build_arg(&l->args, &arg);
		r.nargs = 1;
	}
	r.args = l->args.bytes;
	r.args_end = r.args + (size_t)l->args.words * FXT_WORD;
	/* SPEC fxt/name-mark */
	return fxt_write_marked(l, &r, FXT_NAME_MARK, NULL, FXT_NAME_WORDS - 1, o);
}

/* Names the thread of a track, and its process. */
static bool tell_track(struct fxt_write *l, uint32_t track, struct out *o)
{
	const struct fxt_identity *id = &l->identities[track];
	const uint32_t process = trace_process_of(l->t, track);
	const struct spur_track *k = write_track(l->w, track), *p = write_track(l->w, process);

	/* The reader itself names the idle thread. */
	if (l->from && k->name == l->from->words[FXT_W_IDLE])
		return true;
	return (p->kind != SPUR_TRACK_PROCESS ||
		tell(l, FXT_OBJECT_PROCESS, id->pid, p->name, 0, o)) &&
	       tell(l, FXT_OBJECT_THREAD, id->tid, k->name, id->pid, o);
}

/* SPEC fxt/made-id: an id that stands for another, -1: for none */
static uint64_t make_id(struct fxt_write *l, int64_t id)
{
	const bool fits = id >= 0 && fxt_get(fxt_put(FXT_F_MADE_ID, (uint64_t)id), FXT_F_MADE_ID) ==
					     (uint64_t)id;

	return fxt_put(FXT_F_MADE_TOP, FXT_MADE_TOP) | fxt_put(FXT_F_MADE_LOW, FXT_MADE_LOW) |
	       fxt_put(FXT_F_MADE_NUMBER, l->made++) | fxt_put(FXT_F_MADE_NONE, !fits) |
	       fxt_put(FXT_F_MADE_ID, fits ? (uint64_t)id : 0);
}

/* The id of a track, or one that stands for it if another track has it already. */
static bool id_once(struct fxt_write *l, struct map64 *map, uint64_t key, int64_t id,
		    uint32_t track, uint64_t *to)
{
	struct map64_slot *slot = map64_put(map, key);

	if (!slot)
		return false;
	if (!slot->value)
		slot->value = track + 1;
	*to = slot->value == track + 1 ? (uint64_t)id : make_id(l, id);
	return true;
}

/* The process of a track, by an id that is the same for all of its threads. */
static bool pid_of(struct fxt_write *l, uint32_t track, uint64_t *pid)
{
	const uint32_t process = trace_process_of(l->t, track);
	struct fxt_identity *p = &l->identities[process];
	const int64_t known = write_pid_of(l->w, track);

	if (!p->pid && known == -1)
		p->pid = make_id(l, -1);
	else if (!p->pid && !id_once(l, &l->pids, (uint64_t)known, known, process, &p->pid))
		return false;
	*pid = p->pid;
	return true;
}

/* The ids of a track, which may be missing, or equal to those of another trace's. */
static bool identify(struct fxt_write *l, uint32_t track)
{
	const struct spur_track *k = write_track(l->w, track);
	struct fxt_identity *id = &l->identities[track];
	const uint64_t process = trace_process_of(l->t, track), tid = (uint64_t)k->tid;
	uint64_t pid;

	if (!pid_of(l, track, &pid))
		return false;
	id->pid = pid;
	if (k->kind != SPUR_TRACK_THREAD || k->tid == -1)
		id->tid = make_id(l, -1);
	else if (!id_once(l, &l->tids, tid > UINT32_MAX ? tid : process << 32 | tid, k->tid, track,
			  &id->tid))
		return false;
	id->of = track + 1;
	return true;
}

/* The track that a row's thread is told by: lanes are their thread's. */
static uint32_t own_track(const struct spur_trace *t, uint32_t track)
{
	uint32_t thread;

	while (trace_track(t, track)->kind == SPUR_TRACK_LANE)
		track = trace_track(t, track)->parent;
	thread = trace_thread_of(t, track);
	return thread == SPUR_NONE ? track : thread;
}

/* The ids of the thread that a track stands for; NULL if out of memory. */
static const struct fxt_identity *write_identity(struct fxt_write *l, uint32_t track, struct out *o)
{
	uint32_t own;

	if (track < l->identities_cap && l->identities[track].of)
		return &l->identities[l->identities[track].of - 1];
	if (!mem_table_grow((void **)&l->identities, &l->identities_cap, trace_track_count(l->t),
			    sizeof(*l->identities), TRACKS))
		return NULL;
	own = own_track(l->t, track);
	if (!l->identities[own].of && (!identify(l, own) || (!l->from && !tell_track(l, own, o))))
		return NULL;
	l->identities[track].of = own + 1;
	return &l->identities[own];
}

/* Gives the thread an index. Apart from its caller, as speak() is. */
static __attribute__((noinline)) bool
thread_record(struct fxt_write *l, const struct fxt_identity *id, uint8_t *index, struct out *o)
{
	struct fxt_shape r = { .type = FXT_THREAD };
	bool fresh;

	*index = (uint8_t)fxt_table_put(&l->speaking->threads, id->of - 1, l->stamp, &fresh);
	r.head = fxt_put(FXT_F_THREAD_INDEX, *index);
	r.threads[0] = (struct fxt_thread_ref){ .pid = id->pid, .tid = id->tid };
	l->identities[id->of - 1].registered = true;
	return *index && fxt_write_record(l, &r, o);
}

bool fxt_write_thread(struct fxt_write *l, uint32_t track, struct fxt_thread_ref *ref,
		      struct out *o)
{
	const struct fxt_identity *id = write_identity(l, track, o);

	*ref = (struct fxt_thread_ref){ 0 };
	if (!id)
		return false;
	ref->ref = (uint8_t)fxt_table_find(&l->speaking->threads, id->of - 1, l->stamp);
	return ref->ref || thread_record(l, id, &ref->ref, o);
}

const struct fxt_identity *fxt_write_by_tid(struct fxt_write *l, uint32_t track, struct out *o)
{
	const struct fxt_identity *id = write_identity(l, track, o);
	struct fxt_thread_ref ref;

	/* Of other sources the object that names a thread tells its process. */
	if (!id || !l->from || id->registered || write_pid_of(l->w, track) == -1)
		return id;
	return fxt_write_thread(l, track, &ref, o) ? id : NULL;
}

bool fxt_write_rest(struct fxt_write *l, struct out *o)
{
	bool good = true;

	for (uint32_t i = 0; good && i < l->identities_cap; i++) {
		l->stamp++;
		if (l->identities[i].of == i + 1)
			good = tell_track(l, i, o);
	}
	return good;
}
