/* The law of recordings. */
#include "law.h"

#include <stdlib.h>
#include <string.h>

#include "inside.h"

enum { LAW_FILES = 8 };
enum { LAW_OWN = 16 }; /* events of a thread or handler while all orders are tried */

struct event {
	uint8_t thread, depth, file;
	bool started, tick, recorded, may_miss;
};

static struct event events[LAW_EVENTS];
static unsigned times_read[LAW_EVENTS];
static struct {
	size_t most; /* the highest number of an event */
	size_t started;
	size_t gate; /* how many there were at the gate */
	bool recording;
	uint8_t file; /* recordings begun so far */
} now;
static bool ring;

static struct {
	uint64_t events, ticks, lost, sum;
	/* Events of the thread itself: the first one in each recording, and the last one. */
	uint64_t first[SIM_THREADS][LAW_FILES], last[SIM_THREADS];
	bool damage, torn, invented, twice, disorder;
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
				    .may_miss = !now.recording };
	now.started++;
	if (n >= now.most)
		now.most = n + 1;
	return n + 1;
}

void law_recorded(uint64_t event)
{
	sim_acknowledge();
	events[event - 1].recorded = true;
}

uint64_t law_tick(void)
{
	const uint64_t n = law_event();

	events[n - 1].tick = true;
	return n;
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

bool law_is_recording(void)
{
	return now.recording;
}

char law_text(uint64_t event, size_t at)
{
	return (char)('a' + (event * 7 + at * 3 + at / 26) % 26);
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
	memset(times_read, 0, now.most * sizeof(*times_read));
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
	seen.disorder |= event <= seen.last[e->thread];
	seen.last[e->thread] = event;
	if (!seen.first[e->thread][e->file])
		seen.first[e->thread][e->file] = event;
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
	return (seen.sum * 31 + seen.ticks) * 31 + seen.lost;
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
	if (missing() > seen.lost + (moment == LAW_CRASH ? in_memory : 0))
		return "an event is missing that is not counted as lost";
	if (seen.lost > unread + sim_taken_again())
		return "more events are counted as lost than are missing";
	return NULL;
}
