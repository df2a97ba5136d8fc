/*
 * A simulated machine for the tracing library: threads with signal handlers, processes that share
 * files, a disk, and a scheduler that may switch or crash before each access to memory that is not
 * a stack, and before each call of the system. All of it runs in one thread of the test program,
 * and what happens is a function of the seed.
 *
 * Accesses are sequentially consistent. What weaker machines and compilers may do to stores is part
 * of a crash: sim_image() drops stores that nothing orders before those that it keeps.
 */
#ifndef SPUR_TESTS_SIM_RECORD_MACHINE_H
#define SPUR_TESTS_SIM_RECORD_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

enum {
	SIM_CHUNK = 8192, /* the size of chunks in the recordings that are made here */
	SIM_PAGE = 4096,
	SIM_SECTOR = 512,
	SIM_THREADS = 8,
	SIM_NESTED = 3, /* a thread, and handlers that interrupt each other */
	SIM_TLS_OWN = 64, /* where struct core_thread begins */
	SIM_TLS = 2048,
	SIM_PROCESSES = 4,
	SIM_FILES = 8,
	SIM_FILE_MOST = SIM_PAGE + 64 * SIM_CHUNK,
	SIM_NEVER = -1,
};

/* Ways in which the machine may break what the library relies on: each must be found. */
#define SIM_MUTANTS(X)                                                                         \
	X(NONE, "")                                                                            \
	X(SEQUENCE_SKIPPED, "a chunk's sequence number is not stored")                         \
	X(SEQUENCE_FIRST, "a chunk's sequence number is stored before the rest of its head")   \
	X(MAGIC_FIRST, "the magic of the header is stored before the rest")                    \
	X(CHUNK_LOST_SKIPPED, "a chunk's head does not count what its thread loses")           \
	X(LOST_TWICE, "an event that is lost is counted twice")                                \
	X(LOST_NOT_RESET, "the count of lost events stays when the header has it")             \
	X(LOST_NOT_COUNTED, "an event that a handler loses is not counted")                    \
	X(FILE_LOST_SKIPPED, "events for which there is no chunk are not counted")             \
	X(ADD_IN_TWO_STEPS, "a thread's place is moved by a load and a store")                 \
	X(RESERVED_SKIPPED, "a record's length is not stored before its payload")              \
	X(COMMIT_FIRST, "a record's first word is stored before its payload")                  \
	X(COMMIT_SKIPPED, "a record's first word is not stored")                               \
	X(FENCE_MISSING, "fences do nothing")                                                  \
	X(RELEASE_MISSING, "release stores order nothing")                                     \
	X(PAGE_END_LATE, "a page ends a record behind its end")                                \
	X(DESCRIPTOR_FIRST, "a descriptor's size is stored before its body")                   \
	X(DESCRIPTOR_SKIPPED, "a descriptor's size is not stored")                             \
	X(STRING_LATE, "a string is stored behind the event that names it")                    \
	X(ALLOCATE_IGNORED, "the library does not notice that the disk is full")               \
	X(LOCK_MISSING, "the lock is given to anyone")                                         \
	X(BUSY_MISSING, "a handler does not see that its thread is in the library")            \
	X(UNMAPPED_AT_ONCE, "a chunk is unmapped when it is full")                             \
	X(TRUNCATED_SHORT, "the file is cut a chunk too early")                                \
	X(TAKEN_BACK_SKIPPED, "a handler that found no room does not take back what it added") \
	X(END_KEPT, "threads keep their page when the recording ends")                         \
	X(USERS_MISSING, "those that use the file without the lock are not counted")           \
	X(DUMP_OPEN_SKIPPED, "a dump leaves out chunks that are not full")                     \
	X(DUMP_LOST_SKIPPED, "a dump does not say what the header says was lost")              \
	X(DUMP_READ_ONCE, "a dump reads each page once")                                       \
	X(WIPE_SKIPPED, "a chunk is used again as it is")                                      \
	X(WIPE_NUMBERED, "a chunk that is used again keeps its number while it is wiped")      \
	X(NUMBER_REUSED, "a recording has the number of the one before")                       \
	X(DUMP_REUSE_IGNORED, "a dump keeps chunks that were used again meanwhile")            \
	X(DUMP_DESCRIPTORS_FIRST, "a dump copies descriptors before records")                  \
	X(FIBER_SKIPPED, "no record says which fiber runs")                                    \
	X(FORK_UNSEEN, "a child does not leave the file of its parent")                        \
	X(BOARD_ON_FIRST, "a session is on before the board says which")                       \
	X(BOARD_KEPT, "points look at the board while the program records")

enum sim_mutant {
#define X(name, text) SIM_##name,
	SIM_MUTANTS(X)
#undef X
		SIM_MUTANT_COUNT
};

enum sim_order { SIM_PLAIN, SIM_RELEASE };

struct sim_options {
	uint64_t seed;
	enum sim_mutant mutant;
	/* Of 1,024 steps, how many switch to another thread, begin a handler, or are crashes. */
	unsigned switches, handlers, crashes;
	unsigned handlers_most; /* of each thread */
	/*
	 * Nothing is left to chance: threads run until they end or wait, but at these steps (0:
	 * none) another thread goes on, or a handler begins.
	 */
	bool exact;
	uint64_t switch_at, handler_at;
	bool explores; /* explore.h says what comes next */
	bool coarse; /* then a file is read by sectors, and a chunk is wiped by pages */
	int full_at; /* the number of the allocation from which on the disk is full, or SIM_NEVER */
	int full_for; /* how many fail */
	int map_fails_at, map_fails_for; /* the same of mappings */
};

/* --- the test's side --- */

/* Empties the machine. Requires that nothing runs. */
void sim_begin(const struct sim_options *options);
/* Changes the options between two runs; steps are counted from 1 again. */
void sim_change(const struct sim_options *options);
/* Adds a thread of the first process. `handler`: what its signals run, or NULL. */
void sim_thread_add(void (*body)(void), void (*handler)(void));
/* Calls the function before some steps: a crash may happen there. */
void sim_on_crash(void (*look)(void));
/* Calls the function when sim_dumped() was called, with its number. */
void sim_on_dump(void (*look)(unsigned dump));
/* Runs all threads. Returns NULL if they end, or what is wrong. */
const char *sim_run(void);
/* Says what is wrong, and ends the run. Does not return if called in a thread of the machine. */
void sim_fail(const char *what);
const char *sim_failure(void);
uint64_t sim_steps(void);
uint64_t sim_random(uint64_t below);

/* The state of the thread that runs; INVARIANT: below SIM_THREADS. */
unsigned sim_current(void);
/* 0: the thread itself; n: the handler that interrupted n - 1. */
unsigned sim_depth(void);
/* True once, for the one that forks: with more children, threads and helpers would be too many. */
bool sim_may_fork(void);
/* Forks the process of the calling thread: the child has one thread, which runs `body`. */
void sim_fork(void (*body)(void));
/*
 * How often room within a page was taken and then given up, because a handler had taken a new page
 * since the library looked where the page ends: such room is read as a lost event, though its event
 * is stored elsewhere.
 */
uint64_t sim_taken_again(void);
/* What is behind this happens after all stores before it: another system has been told. */
void sim_acknowledge(void);
/* The running thread has completed a dump: see sim_on_dump(). */
void sim_dumped(unsigned dump);
/* The memory that a thread has for itself in its process; NULL: no such thread. */
const char *sim_thread_memory(unsigned thread);
/* The sum of what a variable of the library is in all processes. */
uint64_t sim_sum(const uint64_t *variable);
/* The thread waits until sim_open_gate(); sim_run() ends when all that are left do. */
void sim_gate(void);
void sim_open_gate(void);
/* From here on some allocations fail. */
void sim_disk_full(int n);
/* The board, as the process of a session has it mapped. */
struct board *sim_board(void);
/* Whether the process of the session is alive. */
void sim_session_set(bool alive);
/* Does what `spur snapshot` does with the recording of that descriptor: see sim_dumped(). */
void sim_snapshot(int fd);
/* Runs the helper until it waits. */
void sim_settle(void);

/* --- the disk after a crash --- */

enum sim_crash {
	SIM_KILL, /* every store that was issued is there */
	SIM_REORDER, /* but those that the compiler may have moved behind the crash */
	SIM_POWER, /* pages are old, new or torn between sectors */
};

unsigned sim_files(void);
/* Copies what the file has into `to`, of SIM_FILE_MOST bytes. Returns its size; 0 for a dump. */
size_t sim_image(unsigned file, enum sim_crash crash, uint8_t *to);

/* The same of the file that the thread has made last as a dump, and of the file it was made of. */
size_t sim_dump_image(uint8_t *to);
size_t sim_dumped_image(uint8_t *to);

/* --- the library's side: the seam, and what access.c calls --- */

extern char *sim_tls; /* of the thread that runs */

void sim_access(const void *p, size_t size, bool write);
uint64_t sim_load(const void *p, size_t size);
void sim_store(void *p, uint64_t v, size_t size, enum sim_order order);
void sim_store_pointer(void *p, const void *v);
uint64_t sim_add(uint64_t *p, uint64_t v);
/* An exchange, or an addition if `adds`. Returns what was there. */
uint32_t sim_swap32(uint32_t *p, uint32_t v, bool adds);
/* Sets or clears bits. */
void sim_set32(uint32_t *p, uint32_t bits, bool on);
bool sim_cas(uint32_t *p, uint32_t from, uint32_t to);
bool sim_cas64(uint64_t *p, uint64_t from, uint64_t to);
/* A place and an end, both set if the end is `from`. */
void sim_turn(void *p, const void *from, const void *at, const void *end);
void sim_copy(void *to, const void *from, size_t len);
void sim_wipe(void *p, size_t len);
void sim_fence(void);
uint64_t sim_clock(clockid_t which);
void sim_yield(void);
void sim_wait(uint32_t *p, uint32_t seen);
/* Wakes those that wait for that word. */
void sim_wake(const uint32_t *p);
int sim_prctl(int option, void *to);
/* A thread that no signal reaches and that keeps no process from ending; *id is 0 when it has. */
void sim_helper(void (*run)(void), uint32_t *id);
uint32_t sim_tid(void);
uint32_t sim_pid(void);
const char *sim_getenv(const char *name);
void sim_once(void (*init)(void));
int sim_key(void *key, void (*end)(void *));
int sim_set(void *value);
int sim_atfork(void (*before)(void), void (*parent)(void), void (*child)(void));

/* The board of record/board.h, which all processes and the session's share. */
int sim_open_board(void);
void *sim_map_board(int fd, size_t size);
int sim_fstat(int fd, struct stat *to);
/* From here on the words that points test are these in the process; or private ones. */
bool sim_mirror(const void *from);
void sim_replace(void *p, size_t size, uint32_t value);
bool sim_session_alive(void);
/* True if the process looks at the board, and no thread of it has the lock. */
bool sim_watches(void);

int sim_open(const char *path, int flags);
void sim_close(int fd);
ssize_t sim_read(int fd, void *to, size_t size);
ssize_t sim_readlink(const char *path, char *to, size_t size);
int sim_allocate(int fd, uint64_t off, uint64_t size);
void sim_punch(int fd, uint64_t off, uint64_t size);
int sim_truncate(int fd, uint64_t size);
void *sim_map(int fd, uint64_t off, size_t size);
void *sim_reserve(size_t size);
void sim_unmap(void *p, size_t size);
long sim_pread(int fd, void *to, size_t size, uint64_t off);
long sim_pwrite(int fd, const void *from, size_t size, uint64_t off);

/* --- between the parts of the machine --- */

/* A step of the thread that runs: others may run before it. */
void sim_step(void);
enum sim_mutant sim_mutant(void);
const struct sim_options *sim_now(void);
unsigned sim_process(void);

void disk_begin(void);
void disk_fork(unsigned from, unsigned to);
/* True if the byte belongs to a file; then *in_head gets its offset in its chunk, or header. */
bool disk_has(const void *p, size_t *file_off);
/* True if it belongs to the file of a recording, which a crash shows: not the board, or a dump. */
bool disk_is_shown(const void *p);
/* Fails unless the process has these bytes mapped, and the file has them. */
void disk_check(const void *p, size_t size);
/* Notes a store into a file: what was there (NULL: it was added to), and what is there. */
void disk_note(unsigned thread, const void *p, size_t size, const void *old, enum sim_order order);
/* Nothing that the thread stored before this can be behind what it stores from here on. */
void disk_fence(unsigned thread);

#endif
