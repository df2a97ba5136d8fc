/* What the parts of the simulated machine share: its threads and what they are about to do. */
#ifndef SPUR_TESTS_SIM_RECORD_INSIDE_H
#define SPUR_TESTS_SIM_RECORD_INSIDE_H

#include "coroutine.h"
#include "explore.h"
#include "machine.h"

enum { SIM_WORD = 8, SIM_LATE = 8, SIM_LATE_BYTES = 512, SIM_STACK = 64 << 10 };

/* Of struct core_thread; defined where that is known. */
extern const size_t sim_busy_at, sim_lost_at, sim_pinned_at;
/* The library's core_users, the recording's number, and core_words. */
extern const void *const sim_users, *const sim_number;
extern char *const sim_point_words;
/* True if it is a word of the points, while the process looks at the board instead. */
bool sim_is_mirrored(const void *p);

/* Of mutants: a copy that waits for the store that should follow it. */
struct late {
	char *to;
	char bytes[SIM_LATE_BYTES];
	size_t len;
};

/* A thread or a handler, with the store that it does next. */
struct context {
	struct coroutine co;
	void (*body)(void);
	char *stack;
	bool ended;
	uint64_t hash; /* of its stack, when it stopped last; only while exploring */
	const char *pending; /* a plain store that the library does itself; NULL: none */
	size_t pending_size;
	int dump, dumped; /* the file that it made as a dump, and the one that is dumped */
	const void *read_to; /* of mutants: where the last page went that was read for a dump */
	uint64_t read_off; /* from where that was */
	char head[16]; /* of the chunk that is read for a dump */
	const uint32_t *wants; /* the lock, if it takes that next */
	bool took; /* room within a page, for the event that is being recorded */
	char old[16]; /* what was there */
	struct late *late; /* SIM_LATE of them */
	unsigned nlate;
};

/* Why a thread went back to the scheduler. */
enum wish { WISH_SWITCH, WISH_HANDLER, WISH_CRASH, WISH_CHOICE, WISH_DUMP, WISH_FAILED };

struct thread {
	bool exists, ended;
	bool spins; /* waits until another thread has stored something */
	bool timed; /* or until the time is over */
	bool gated; /* goes on when the test says so */
	const void *waits_at; /* of a thread that a wake-up ends: for which word it waits */
	uint32_t *id; /* of a helper; else NULL */
	void *specific; /* what the library is called with at its end; NULL: it is not called */
	unsigned process, depth, handled;
	void (*body)(void), (*handler)(void);
	struct context contexts[SIM_NESTED];
};

struct machine {
	struct sim_options options;
	struct thread threads[SIM_THREADS];
	unsigned current, process, nprocesses;
	bool may_not_fork; /* a child was made, or is about to be */
	bool in_thread;
	enum wish wish;
	enum explore_sight sight; /* of the step before which the last thread stopped */
	const uint32_t *lock; /* the library's; NULL: not known yet */
	unsigned holder; /* the thread that has it; SIM_THREADS: none */
	const char *failure;
	uint64_t steps, state, now, taken_again;
	struct coroutine main;
	void (*look)(void);
	void (*look_at_dump)(unsigned dump);
	unsigned dump; /* that is complete, when a thread stops by WISH_DUMP */
	void (*end)(void *);
	void (*before)(void), (*parent)(void), (*child)(void);
	size_t nreserved;
	const char *mirrors[SIM_PROCESSES]; /* what the words of points are; NULL: private ones */
	bool session; /* its process is alive */
};

extern struct machine sim;

struct context *sim_running(void);
/* True if it is memory of the library that is not in a file. */
bool sim_is_private(const char *p);
/* A step that accesses the bytes at p; NULL: none that another thread could see. */
void sim_step_at(const void *p, size_t size, bool write);
/* The same for a call of the system that a crash may make visible. */
void sim_step_seen(void);
/* Has a thread run until it stops. */
void sim_go(unsigned thread);
/* Begins the handler of a thread. */
void sim_interrupt(unsigned thread);
/* The plain store that the library was about to do is done. */
void sim_pending_end(struct context *c);
/* The running thread goes back to the scheduler, and returns when it is chosen again. */
void sim_leave(enum wish wish);
/* memcpy(), of which the machine knows. */
void *sim_memcpy(void *to, const void *from, size_t size);
/* Memory from sim_reserve() that is not used any more. */
void sim_unreserve(void *p, size_t size);
/* A store that other threads wait for. */
void sim_released(void);
/*
 * The number of the word that has this byte, less than SIM_WORDS: of memory that is not in a file
 * or, as disk_has() says, in one.
 */
enum { SIM_PRIVATE_WORDS = 1 << 16, SIM_WORDS = SIM_PRIVATE_WORDS + SIM_FILES * SIM_FILE_MOST / 8 };
size_t sim_word(const void *p);
/* Calls the function with each part of the library's memory, and with the files. */
void sim_each_memory(void (*call)(const char *p, size_t size));
/* Where the bytes of the file at that number begin. */
const uint8_t *disk_bytes(void);

/* law.c: what it knows of the events; at most LAW_SAVED_MOST bytes. */
enum { LAW_SAVED_MOST = 32 << 10 };
size_t law_save(char *to);
void law_load(const char *from);
uint64_t law_hash(void);
/* From here on numbers of events tell threads apart. */
void law_gate(void);

/* --- track.c: memory that can be set back --- */

/* Bytes of the library's memory or of a file change between these two. */
void track_before(const void *p, size_t size);
void track_after(const void *p, size_t size);
struct track_point {
	size_t log;
	uint64_t memory, disk; /* hashes of what differs from the beginning */
};
/* Begins: from here on all changes are noted. */
void track_begin(void);
struct track_point track_now(void);
/* Takes back what has changed since. */
void track_back(const struct track_point *point);
/* False if memory has changed of which nothing was noted. */
bool track_is_right(void);
void track_end(void);
uint64_t track_hash(uint64_t hash, const void *p, size_t size);

/* What the disk knows besides its files' bytes: appended to, or taken from, memory at `to`. */
enum { DISK_SAVED_MOST = 128 << 10 };
size_t disk_save(char *to);
size_t disk_load(const char *from);
uint64_t disk_hash(void);
size_t disk_size(int fd);
/* Of what a reader sees. */
uint64_t disk_sizes(void);

uint64_t sim_load_word(const char *p);
void sim_store_word(const char *p, uint64_t v);

#endif
