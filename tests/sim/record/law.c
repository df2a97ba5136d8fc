/* The law of recordings. */
#include "law.h"

#include <stdlib.h>
#include <string.h>

#include "inside.h"

enum { LAW_FILES = 8, LAW_DUMPS = 4, LAW_CHUNKS = 128 };
enum { LAW_OWN = 16 }; /* events of a thread or handler while all orders are tried */

struct event {
	uint8_t thread, depth, file, process;
	uint8_t before; /* dumps that began when it was recorded; bits */
	uint8_t fiber;
	bool started, tick, recorded, may_miss;
};

static struct event events[LAW_EVENTS];
static unsigned times_read[LAW_EVENTS];
static struct {
	size_t most; /* the highest number of an event */
	size_t started;
	size_t gate; /* how many there were at the gate */
	bool recording;
	bool pinned; /* a ring has kept a chunk that was not complete when it came round */
	uint8_t file; /* recordings begun so far */
	unsigned ndumps;
	uint64_t told; /* lists of categories, each of which the library may state as an event */
	uint8_t fibers[SIM_THREADS]; /* that run */
	struct {
		uint8_t process, file;
		bool recording;
		uint64_t lost, ticks;
	} dumps[LAW_DUMPS];
} now;
static bool ring;
static bool live[LAW_EVENTS]; /* the recording has it; for the check of a dump */

static struct {
	uint64_t events, ticks, told, lost, sum;
	/* Events of the thread itself: the first one in each recording, and the last one. */
	uint64_t first[SIM_THREADS][LAW_FILES], last[SIM_THREADS];
	uint64_t chunk; /* now */
	/* Gaps before it in its thread, and before the first event that counts. */
	unsigned gaps, first_gaps[SIM_THREADS][LAW_FILES];
	uint64_t in_chunk[LAW_CHUNKS]; /* the last event of a thread itself in each chunk */
	uint64_t fiber; /* UINT64_MAX: not known */
	bool damage, torn, invented, twice, disorder, gap, misplaced;
} seen;

void law_begin(bool is_ring)
{
	ring = is_ring;
	memset(events, 0, now.most * sizeof(*events));
	memset(&now, 0, sizeof(now));
}

/* An event's number must not depend on what other threads do when all their orders are tried. */
static size_t number_next(void)
{
	size_t n = now.most;

	if (sim_now()->explores) {
		n = now.gate + (sim_current() * SIM_NESTED + sim_depth()) * LAW_OWN;
		while (events[n].started)
			n++;
	}
	if (n == LAW_EVENTS)
		abort();
	return n;
}

uint64_t law_event(void)
{
	const size_t n = number_next();

	events[n] = (struct event){ .started = true,
				    .thread = (uint8_t)sim_current(),
				    .depth = (uint8_t)sim_depth(),
				    .file = now.file,
				    .process = (uint8_t)sim_process(),
				    .fiber = now.fibers[sim_current()],
				    .may_miss = !now.recording };
	now.started++;
	if (n >= now.most)
		now.most = n + 1;
	return n + 1;
}

void law_recorded(uint64_t event)
{
	const char *const thread = sim_thread_memory(sim_current());
	uint32_t pinned = 0;

	sim_acknowledge();
	if (thread)
		memcpy(&pinned, thread + SIM_TLS_OWN + sim_pinned_at, sizeof(pinned));
	now.pinned |= pinned != 0;
	events[event - 1].recorded = true;
}

uint64_t law_tick(void)
{
	const uint64_t n = law_event();

	events[n - 1].tick = true;
	return n;
}

void law_told(void)
{
	now.told++;
}

void law_fiber(uint64_t id)
{
	now.fibers[sim_current()] = (uint8_t)id;
}

uint64_t law_fiber_now(void)
{
	return now.fibers[sim_current()];
}

void law_recording(bool on)
{
	now.recording = on;
	for (size_t i = 0; i < now.most && !on; i++)
		events[i].may_miss |= !events[i].recorded;
}

void law_file(void)
{
	now.file++;
	if (now.file == LAW_FILES)
		abort();
}

void law_no_file(void)
{
	for (size_t i = 0; i < now.most; i++)
		events[i].may_miss |= events[i].file == now.file;
}

bool law_is_recording(void)
{
	return now.recording;
}

char law_text(uint64_t event, size_t at)
{
	return (char)('a' + (event * 7 + at * 3 + at / 26) % 26);
}

bool law_may_dump(void)
{
	return now.ndumps < LAW_DUMPS;
}

unsigned law_dump(uint64_t (*lost)(void))
{
	const bool in_thread = sim.in_thread;
	const unsigned n = now.ndumps++;

	if (n == LAW_DUMPS)
		abort();
	sim_pending_end(sim_running());
	sim.in_thread = false;
	now.dumps[n].lost = lost();
	sim.in_thread = in_thread;
	now.dumps[n].process = (uint8_t)sim_process();
	now.dumps[n].file = now.file;
	now.dumps[n].recording = now.recording;
	now.dumps[n].ticks = 0;
	for (size_t i = 0; i < now.most; i++) {
		if (!events[i].recorded || events[i].may_miss ||
		    events[i].process != now.dumps[n].process || events[i].file != now.file)
			continue;
		events[i].before |= (uint8_t)(1u << n);
		now.dumps[n].ticks += events[i].tick;
	}
	return n;
}

size_t law_started(void)
{
	return now.started;
}

size_t law_save(char *to)
{
	const size_t n = now.most * sizeof(*events);

	memcpy(to, &now, sizeof(now));
	memcpy(to + sizeof(now), events, n);
	return sizeof(now) + n;
}

void law_load(const char *from)
{
	memset(events, 0, now.most * sizeof(*events));
	memcpy(&now, from, sizeof(now));
	memcpy(events, from + sizeof(now), now.most * sizeof(*events));
}

uint64_t law_hash(void)
{
	return track_hash(now.recording, events, now.most * sizeof(*events));
}

void law_gate(void)
{
	now.gate = now.most;
}

void law_read_begin(void)
{
	memset(&seen, 0, sizeof(seen));
	seen.fiber = UINT64_MAX;
	memset(times_read, 0, now.most * sizeof(*times_read));
}

void law_read_chunk(uint64_t sequence, unsigned gaps)
{
	seen.chunk = sequence;
	seen.gaps = gaps;
}

/* The first event of a thread in a recording; SPEC spur/reuse: chunks that were kept are older. */
static void first_note(uint64_t event)
{
	const struct event *const e = &events[event - 1];
	uint64_t *const first = &seen.first[e->thread][e->file];
	unsigned *const gaps = &seen.first_gaps[e->thread][e->file];

	if (*first && !(now.pinned && seen.gaps > *gaps))
		return;
	*first = event;
	*gaps = seen.gaps;
}

/* True if an event is missing between two of a thread in one chunk. */
static bool is_gap(size_t from, size_t to)
{
	for (size_t i = from; i + 1 < to; i++) {
		const struct event *const e = &events[i];

		if (e->thread == events[to - 1].thread && !e->depth && e->recorded && !e->tick &&
		    !e->may_miss)
			return true;
	}
	return false;
}

void law_read_event(uint64_t event, bool whole)
{
	struct event *e;

	seen.sum += (event * 2 + whole) * UINT64_C(0x9E3779B97F4A7C15);
	seen.torn |= !whole;
	if (!whole)
		return;
	if (!event || event > now.most || !events[event - 1].started || events[event - 1].tick) {
		seen.invented = true;
		return;
	}
	e = &events[event - 1];
	seen.twice |= times_read[event - 1]++ != 0;
	seen.events++;
	if (e->depth)
		return;
	seen.misplaced |= seen.fiber != UINT64_MAX && seen.fiber != e->fiber;
	seen.disorder |= event <= seen.last[e->thread];
	if (seen.chunk && seen.chunk < LAW_CHUNKS) {
		if (seen.in_chunk[seen.chunk])
			seen.gap |= is_gap(seen.in_chunk[seen.chunk], event);
		seen.in_chunk[seen.chunk] = event;
	}
	seen.last[e->thread] = event;
	first_note(event);
}

void law_read_fiber(uint64_t fiber)
{
	seen.fiber = fiber;
}

void law_read_told(bool whole)
{
	seen.told++;
	seen.torn |= !whole;
	seen.twice |= seen.told > now.told;
}

void law_read_tick(void)
{
	seen.ticks++;
}

void law_read_lost(uint64_t n)
{
	seen.lost += n;
}

void law_read_damage(void)
{
	seen.damage = true;
}

uint64_t law_read_sum(void)
{
	return ((seen.sum * 31 + seen.ticks) * 31 + seen.told) * 31 + seen.lost;
}

/* In rings, those behind the first one that is there of the thread's in that recording. */
static uint64_t missing_of_rings(void)
{
	uint64_t n = 0;

	for (size_t i = 0; i < now.most; i++) {
		const struct event *const e = &events[i];

		n += e->recorded && !e->may_miss && !times_read[i] && !e->tick && !e->depth &&
		     i + 1 > seen.first[e->thread][e->file];
	}
	return n;
}

static uint64_t missing(void)
{
	uint64_t n = 0, ticks = 0;

	if (ring)
		return missing_of_rings();

	for (size_t i = 0; i < now.most; i++) {
		const struct event *const e = &events[i];

		if (!e->recorded || e->may_miss)
			continue;
		n += !e->tick && !times_read[i];
		ticks += e->tick;
	}
	return n + (ticks > seen.ticks ? ticks - seen.ticks : 0);
}

void law_dump_live(void)
{
	for (size_t i = 0; i < now.most; i++)
		live[i] = times_read[i];
}

/*
 * What was recorded when a dump began and the recording still has is in the dump; unless a ring has
 * overwritten them, all events of a thread up to its last one there are in it, or counted as lost.
 */
static const char *dump_lacks(unsigned n)
{
	const unsigned process = now.dumps[n].process, file = now.dumps[n].file;
	uint64_t missing = 0, could = 0;

	for (size_t i = 0; i < now.most; i++) {
		const struct event *const e = &events[i];
		const bool before = e->before >> n & 1;

		could += e->started && e->process == process;
		if (times_read[i] || e->tick)
			continue;
		if (before && live[i])
			return "a dump lacks an event that the recording has";
		missing += before ||
			   (e->recorded && !e->may_miss && !e->depth && e->process == process &&
			    e->file == file && i + 1 < seen.last[e->thread]);
	}
	/* Events of another recording may be in this one, or be lost there. */
	if (!now.dumps[n].recording || !now.recording || now.file != file)
		return NULL;
	if (now.dumps[n].ticks > seen.ticks)
		missing += now.dumps[n].ticks - seen.ticks;
	if (!ring && missing > seen.lost + now.dumps[n].lost)
		return "a dump lacks an event that it does not count as lost";
	if (seen.lost > could - seen.events - seen.ticks + now.told - seen.told + sim_taken_again())
		return "a dump counts more events as lost than it lacks";
	return NULL;
}

const char *law_dump_check(unsigned n)
{
	if (seen.invented || seen.twice)
		return "a dump has an event that was never recorded, or one twice";
	if (seen.torn || seen.damage)
		return "a dump is damaged";
	if (seen.disorder)
		return "a dump has events of a thread that are not in order";
	if (seen.gap && !seen.lost && !now.dumps[n].lost)
		return "a chunk of a dump lacks an event between two others";
	return dump_lacks(n);
}

const char *law_check(enum law_moment moment, uint64_t in_memory)
{
	const uint64_t unread = now.started - seen.events - seen.ticks;

	if (seen.invented)
		return "an event is read that was never recorded";
	if (seen.events + seen.ticks > now.started)
		return "more events are read than were recorded";
	if (seen.twice)
		return "an event is read twice";
	/* Sectors of a page may be of several moments: a record may lack parts of its payload. */
	if (moment == LAW_POWER)
		return NULL;
	if (seen.torn)
		return "an event is torn";
	if (seen.damage)
		return "the file is damaged";
	if (seen.disorder)
		return "events of a thread are not in order";
	if (seen.misplaced)
		return "an event is on another fiber than it was recorded on";
	if (missing() > seen.lost + (moment == LAW_CRASH ? in_memory : 0))
		return "an event is missing that is not counted as lost";
	if (seen.lost > unread + now.told - seen.told + sim_taken_again())
		return "more events are counted as lost than are missing";
	return NULL;
}
