/* The law of recordings. */
#include "law.h"

#include <stdlib.h>
#include <string.h>

#include "machine.h"

struct event {
	uint8_t thread, depth;
	bool tick, recorded, may_miss;
	unsigned read; /* how often */
};

static struct event events[LAW_EVENTS];
static size_t nevents;
static bool recording, ring;

static struct {
	uint64_t events, ticks, lost, sum;
	uint64_t first[SIM_THREADS], last[SIM_THREADS]; /* events of the thread itself */
	bool damage, torn, invented, twice, disorder;
} seen;

void law_begin(bool is_ring)
{
	ring = is_ring;
	nevents = 0;
	recording = false;
}

uint64_t law_event(void)
{
	if (nevents == LAW_EVENTS)
		abort();
	events[nevents] = (struct event){ .thread = (uint8_t)sim_current(),
					  .depth = (uint8_t)sim_depth(),
					  .may_miss = !recording };
	return ++nevents;
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
	recording = on;
	for (size_t i = 0; i < nevents && !on; i++)
		events[i].may_miss |= !events[i].recorded;
}

bool law_is_recording(void)
{
	return recording;
}

char law_text(uint64_t event, size_t at)
{
	return (char)('a' + (event * 7 + at * 3 + at / 26) % 26);
}

size_t law_started(void)
{
	return nevents;
}

void law_read_begin(void)
{
	memset(&seen, 0, sizeof(seen));
	for (size_t i = 0; i < nevents; i++)
		events[i].read = 0;
}

void law_read_event(uint64_t event, bool whole)
{
	struct event *e;

	seen.sum += (event * 2 + whole) * UINT64_C(0x9E3779B97F4A7C15);
	seen.torn |= !whole;
	if (!whole)
		return;
	if (!event || event > nevents || events[event - 1].tick) {
		seen.invented = true;
		return;
	}
	e = &events[event - 1];
	seen.twice |= e->read++ != 0;
	seen.events++;
	if (e->depth)
		return;
	seen.disorder |= event <= seen.last[e->thread];
	seen.last[e->thread] = event;
	if (!seen.first[e->thread])
		seen.first[e->thread] = event;
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

/* In a ring, those behind the thread's first one that is there. */
static uint64_t missing_of_rings(void)
{
	uint64_t n = 0;

	for (size_t i = 0; i < nevents; i++) {
		const struct event *const e = &events[i];

		n += e->recorded && !e->may_miss && !e->read && !e->tick && !e->depth &&
		     i + 1 > seen.first[e->thread];
	}
	return n;
}

static uint64_t missing(void)
{
	uint64_t n = 0, ticks = 0;

	if (ring)
		return missing_of_rings();

	for (size_t i = 0; i < nevents; i++) {
		const struct event *const e = &events[i];

		if (!e->recorded || e->may_miss)
			continue;
		n += !e->tick && !e->read;
		ticks += e->tick;
	}
	return n + (ticks > seen.ticks ? ticks - seen.ticks : 0);
}

const char *law_check(enum law_moment moment, uint64_t in_memory)
{
	const uint64_t unread = nevents - seen.events - seen.ticks;

	if (seen.invented)
		return "an event is read that was never recorded";
	if (seen.events + seen.ticks > nevents)
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
