/* See tracks.h. */
#include "format/ctf/tracks.h"

#include "base/bits.h"

/* Number of a 64-bit id among those met, from 1; 0: out of memory. */
static uint64_t dense(struct map64 *m, uint64_t id)
{
	const uint64_t n = m->count;
	struct map64_slot *slot = map64_put(m, id);

	if (slot && !slot->value)
		slot->value = n + 1;
	return slot ? slot->value : 0;
}

static bool is_short(int64_t id)
{
	return id >= -1 && id < UINT32_MAX;
}

static uint64_t short_key(int64_t pid, int64_t tid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

static uint64_t thread_of(const void *trace, uint32_t track)
{
	const struct spur_track *k = trace_track(trace, track);

	return short_key(k->pid, k->tid);
}

/* Whether a name that a feed says now is later than the one that a track has. */
static bool is_later(const struct ctf_naming *have, const struct ctf_naming *now)
{
	if (!have->any || now->main != have->main)
		return !have->any || now->main;
	return now->ts != have->ts ? now->ts > have->ts : now->feed <= have->feed;
}

bool ctf_track_name(struct ctf *c, uint32_t track, uint32_t name, struct ctf_naming now)
{
	struct spur_trace *t = c->t;
	struct ctf_naming *have;
	uint32_t *called;

	if (!name)
		return true;
	if (!mem_grow((void **)&c->namings, &c->namings_cap, (size_t)track + 1, sizeof(*c->namings),
		      UINT32_MAX))
		return false;
	have = &c->namings[track];
	called = &t->tracks[track / TRACE_TRACK_PAGE][track % TRACE_TRACK_PAGE].name;
	/* SPEC store/renamed: without rows of its own, sums by task do not name it. */
	now.own |= have->own;
	have->own = now.own;
	if (now.own && have->any && name != *called)
		__atomic_store_n(&t->tracks_renamed, true, __ATOMIC_RELAXED);
	if (!is_later(have, &now))
		return true;
	*have = now;
	__atomic_store_n(called, name, __ATOMIC_RELAXED);
	return true;
}

/*
 * Returns the track of the map's slot, made if it has none, or SPUR_NONE if out of memory. Called
 * with the trace's lock held.
 */
static uint32_t slot_track(struct ctf_feed *f, struct map64_slot *slot,
			   const struct spur_track *track)
{
	uint32_t made;

	if (!slot)
		return SPUR_NONE;
	if (slot->value)
		return (uint32_t)slot->value - 1;
	made = trace_add_track(f->ctf->t, *track);
	slot->value = made == SPUR_NONE ? 0 : (uint64_t)made + 1;
	return made;
}

/* The same for a thread. Ids of more than 32 bits get numbers, so that one key has both. */
static uint32_t thread_track(struct ctf_feed *f, const struct spur_track *track)
{
	struct ctf_trace *tr = f->trace;
	struct spur_trace *t = f->ctf->t;
	uint32_t made;

	if (!is_short(track->pid) || !is_short(track->tid))
		return slot_track(f,
				  map64_put(&tr->long_threads,
					    dense(&tr->ids, (uint64_t)track->pid) << 32 |
						    dense(&tr->ids, (uint64_t)track->tid)),
				  track);
	made = key_index_find(&tr->threads, short_key(track->pid, track->tid), thread_of, t);
	if (made != KEY_INDEX_NONE)
		return made;
	made = trace_add_track(t, *track);
	if (made != SPUR_NONE && !key_index_add(&tr->threads, made, thread_of, t))
		return SPUR_NONE;
	return made;
}

static uint32_t track_make(struct ctf_feed *f, int64_t pid, int64_t tid, uint32_t name, int64_t ts)
{
	struct ctf *c = f->ctf;
	struct ctf_trace *tr = f->trace;
	struct ctf_naming now = { .ts = ts, .feed = f->number, .any = true, .main = pid == tid };
	struct spur_track track = { .parent = tr->track,
				    .name = name,
				    .kind = SPUR_TRACK_PROCESS,
				    .pid = pid,
				    .tid = -1,
				    .cpu = -1 };
	/* SPEC ctf/own-process: rows of a process have the thread id -1 */
	const bool of_process = c->has_own && tid == -1 && pid != -1;
	struct map64_slot *slot;
	uint32_t made = SPUR_NONE;

	now.main |= of_process;
	now.own = of_process;
	pthread_mutex_lock(&c->t->lock);
	if (pid >= 0 || of_process || (c->has_own && pid != -1))
		made = slot_track(f, map64_put(&tr->processes, (uint64_t)pid), &track);
	if (made != SPUR_NONE && ctf_track_name(c, made, name, now))
		track.parent = made;
	if (of_process) {
		pthread_mutex_unlock(&c->t->lock);
		return made;
	}
	track.kind = SPUR_TRACK_THREAD;
	track.tid = tid;
	now.own = true;
	made = thread_track(f, &track);
	if (made != SPUR_NONE && !ctf_track_name(c, made, name, now))
		made = SPUR_NONE;
	slot = f->scanning && tr->global_tids && pid >= 0 ? map64_put(&tr->pids, (uint64_t)tid)
							  : NULL;
	if (slot && !slot->value)
		slot->value = (uint64_t)pid + 1;
	pthread_mutex_unlock(&c->t->lock);
	return made;
}

/* Text at a byte of the packet, up to a NUL. */
static const char *packet_text(const struct ctf_cursor *c, uint64_t at, size_t *len)
{
	const uint64_t end = c->limit / 8;
	const char *p;

	*len = 0;
	if (at >= end)
		return "";
	p = (const char *)c->data + at;
	*len = strnlen(p, end - at < CTF_COMM ? (size_t)(end - at) : CTF_COMM);
	return p;
}

static bool is_called(const struct spur_trace *t, uint32_t name, const char *text, size_t len)
{
	size_t n;
	const char *have = trace_string(t, name, &n);

	return n == len && memcmp(have, text, len) == 0;
}

static uint32_t track_find(struct ctf_feed *f, int64_t pid, int64_t tid, const char *name,
			   size_t len, int64_t ts)
{
	struct spur_trace *t = f->ctf->t;
	struct map64_slot *slot = NULL;
	uint32_t track, id;

	if (!is_short(pid) || !is_short(tid)) {
		track = track_make(f, pid, tid, len ? trace_intern_n(t, name, len) : 0, ts);
		return track == SPUR_NONE ? f->own_track : track;
	}
	/* The track + 1; above it the name that this feed gave it last. */
	slot = map64_put(&f->tracks, short_key(pid, tid));
	if (!slot)
		return f->own_track;
	if (!slot->value || (len && !is_called(t, (uint32_t)(slot->value >> 32), name, len))) {
		id = len ? trace_intern_n(t, name, len) : 0;
		track = track_make(f, pid, tid, id, ts);
		slot->value = track == SPUR_NONE ? 0 : (uint64_t)id << 32 | ((uint64_t)track + 1);
	}
	return slot->value ? (uint32_t)slot->value - 1 : f->own_track;
}

uint32_t track_of_tid(struct ctf_feed *f, uint64_t tid, uint32_t name_slot, int64_t ts)
{
	const struct map64_slot *known =
		f->trace->global_tids ? map64_find(&f->trace->pids, tid) : NULL;
	const char *name;
	size_t len;

	/* Tracks are made once all processes are known. */
	if (f->scanning && f->trace->global_tids)
		return f->own_track;
	name = packet_text(&f->cursor, slot_place(&f->cursor, name_slot), &len);
	return track_find(f, known ? (int64_t)known->value - 1 : -1, (int64_t)tid, name, len, ts);
}

uint32_t track_of(struct ctf_feed *f, uint64_t pid, uint64_t tid, uint64_t name_at, int64_t ts)
{
	const bool same = f->have_last && f->last_tid == tid && f->last_pid == pid;
	const char *name;
	size_t len;

	if (same && name_at == UINT64_MAX)
		return f->track;
	name = packet_text(&f->cursor, name_at, &len);
	if (same && len == f->last_name_len && memcmp(name, f->last_name, len) == 0)
		return f->track;
	f->have_last = true;
	f->last_tid = tid;
	f->last_pid = pid;
	f->last_name_len = len;
	memcpy(f->last_name, name, len);
	f->track = track_find(f, (int64_t)pid, (int64_t)tid, name, len, ts);
	return f->track;
}

/* The name in the event's context; "" if it has none. */
static const char *lead_name(const struct ctf_feed *f, const uint8_t *body, size_t *len)
{
	const struct ctf_lead *l = &f->class->lead;

	return packet_text(&f->cursor,
			   l->has_name ? (uint64_t)(body + l->name - f->cursor.data) : UINT64_MAX,
			   len);
}

static struct ctf_lead_track *lead_slot(struct ctf_feed *f, uint64_t lead)
{
	return &f->leads[hash64(lead) & (CTF_LEADS - 1)];
}

/* Bytes of the event that are its thread's name up to a NUL, CTF_COMM of them at most. */
static size_t lead_text(const struct ctf_feed *f, const uint8_t *body, const uint8_t **text)
{
	const struct ctf_cursor *c = &f->cursor;
	size_t left;

	*text = body + f->class->lead.name;
	left = (size_t)(c->data + c->limit / 8 - *text);
	return !f->class->lead.has_name ? 0 : left < CTF_COMM ? left : CTF_COMM;
}

/* Returns true if the slot is the lead's and these bytes are the name that it had last. */
static bool lead_is_known(const struct ctf_feed *f, const struct ctf_lead_track *known,
			  uint64_t lead, const uint8_t *body)
{
	const uint8_t *text;

	if (unlikely(known->lead != lead || !known->track))
		return false;
	return !f->class->lead.has_name ||
	       (lead_text(f, body, &text) == CTF_COMM && memcmp(text, known->text, CTF_COMM) == 0);
}

/* The slot's name has these bytes; zeros after them mean the same name. */
static void lead_keep_text(const struct ctf_feed *f, struct ctf_lead_track *known,
			   const uint8_t *body)
{
	const uint8_t *text;
	const size_t n = lead_text(f, body, &text);

	memset(known->text, 0, CTF_COMM);
	memcpy(known->text, text, n);
}

uint32_t track_of_lead(struct ctf_feed *f, const uint8_t *body, int64_t ts)
{
	const struct ctf_lead *l = &f->class->lead;
	const bool has_pid = f->class->pid_slot != CTF_NO_SLOT;
	const uint64_t lead = lead_of(l, body);
	struct ctf_lead_track *known = lead_slot(f, lead);
	bool same = lead_is_known(f, known, lead, body);

	f->have_last = true;
	f->last_lead = lead;
	if (unlikely(!same)) {
		size_t len;
		const char *name = lead_name(f, body, &len);

		same = known->lead == lead && known->track &&
		       is_called(f->ctf->t, known->name, name, len);
		if (!same) {
			const int64_t tid = (int64_t)byte_load(l->tid_load, body + l->tid),
				      pid = has_pid ? (int64_t)byte_load(l->pid_load, body + l->pid)
						    : f->trace->pid;
			f->track = track_find(f, pid, tid, name, len, ts);
			known->lead = lead;
			known->track = f->track + 1;
			known->name = len ? trace_intern_n(f->ctf->t, name, len) : 0;
		}
		lead_keep_text(f, known, body);
	}
	f->track = known->track - 1;
	return f->track;
}

void track_rename(struct ctf_feed *f, const uint8_t *body, int64_t ts)
{
	const struct ctf_lead *l = &f->class->lead;

	if (f->have_last && l->there && l->has_name &&
	    !lead_is_known(f, lead_slot(f, f->last_lead), f->last_lead, body))
		track_of_lead(f, body, ts);
}
