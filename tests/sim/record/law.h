/*
 * What the simulated threads did, and the law that every reading of their files must fulfil:
 * what is read was recorded, once, whole and in order; what was recorded before the crash and is
 * not read was counted as lost; and no more is counted than is missing.
 */
#ifndef SPUR_TESTS_SIM_RECORD_LAW_H
#define SPUR_TESTS_SIM_RECORD_LAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LAW_EVENTS = 2048, LAW_TAG = 0x5A };

/* --- what happens --- */

/* `ring`: old events may be missing; what is read of a thread has no gaps. */
void law_begin(bool ring);
/* Returns the number of a new event of the thread that runs, which is about to be recorded. */
uint64_t law_event(void);
/* The library has returned: from here on the event must be read or counted. */
void law_recorded(uint64_t event);
/* The same for an event that does not say its number. */
uint64_t law_tick(void);
/* A list of categories is told; the library may state that, once. */
void law_told(void);
/* A recording begins or ends; events at that time, and without a recording, may be missing. */
void law_recording(bool on);
/* The next recording begins, in a file of its own. */
void law_file(void);
/* No program has a file of the recording that ends: none of its events has to be anywhere. */
void law_no_file(void);
bool law_is_recording(void);
/*
 * A dump begins: what is recorded by now must be in it. `lost`: counts events that are lost in
 * memory only. Returns the number of the dump.
 */
unsigned law_dump(uint64_t (*lost)(void));
/* False if there were as many dumps as a run may have. */
bool law_may_dump(void);
/* The byte at a place in the text of an event. */
char law_text(uint64_t event, size_t at);
/* The thread that runs has changed to that fiber; signal handlers may see that later. */
void law_fiber(uint64_t id);
uint64_t law_fiber_now(void);
/* Events so far, and those of them that the library returned from. */
size_t law_started(void);

/* --- what is read --- */

enum law_moment {
	LAW_CRASH, /* counts that are still in memory are lost with it */
	LAW_POWER, /* only that nothing is invented */
	LAW_END,
};

void law_read_begin(void);
/* `whole`: its arguments are those of the event. */
void law_read_event(uint64_t event, bool whole);
void law_read_tick(void);
void law_read_told(bool whole);
/*
 * What is read next is of the chunk with this number; 0: that is not known. Before it in the file,
 * so often another chunk of its thread was closed before the next one was opened: SPEC spur/gap.
 */
void law_read_chunk(uint64_t sequence, unsigned gaps);
void law_read_lost(uint64_t n);
/* What is read next is of that fiber. */
void law_read_fiber(uint64_t fiber);
void law_read_damage(void);
/*
 * `in_memory`: events that are counted in memory only. Returns NULL, or what the reading violates.
 */
const char *law_check(enum law_moment moment, uint64_t in_memory);
/* What was read is in the recording now that a dump of it is complete. */
void law_dump_live(void);
/* Returns NULL, or what is wrong with the dump that was read. */
const char *law_dump_check(unsigned dump);
/* A number that two readings have in common if they found the same. */
uint64_t law_read_sum(void);

/*
 * Reads a file by docs/formats/spur.md alone, not with the library's reader, and tells the
 * functions above.
 */
void parse(const uint8_t *file, size_t size);

#endif
