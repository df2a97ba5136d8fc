/*
 * What the parts of the tracing library share. No part uses the heap or stdio: they run in any
 * program, and in signal handlers. tools/amalgamate joins them into one file, in which all names
 * from here are static.
 *
 * The ways in are spur_trace.h for programs' own events and, for hooks, the part "hooks" below. All
 * state but a thread's own is changed with the lock held, which is taken for a short time only and
 * never while an event is stored into the page that a thread has.
 */
#ifndef SPUR_RECORD_CORE_H
#define SPUR_RECORD_CORE_H

#include <spur_trace.h>

#include <stdbool.h>
#include <stdint.h>

#include "../src/format/spur/wire.h"
#include "seam.h"

/* CORE: a function. CORE_DATA: a declaration of data, CORE_HERE: its definition. */
#ifdef SPUR_TRACE_ONE_FILE
#define CORE static __attribute__((unused))
#define CORE_DATA static __attribute__((unused))
#define CORE_HERE static
#else
#define CORE __attribute__((visibility("hidden")))
#define CORE_DATA extern __attribute__((visibility("hidden")))
#define CORE_HERE
#endif

enum {
	CORE_NAME_LEN = 64,
	CORE_KEPT = 8, /* chunks that a thread keeps mapped until their last record is there */
	CORE_PINNED = 4, /* chunks beside a ring that wait for a record to be complete */
	CORE_SYNC_TICKS_LOG = 31,
	CORE_PATH = 4096,
	CORE_DIR_MODE = 0700,
};

/* --- the lock --- */

/*
 * Takes the lock; until core_leave() no signal handler of the program's runs in this thread.
 * Returns false if the thread is in a slow path already: this is a signal handler that interrupts
 * it. Others have the lock for a short time only.
 */
CORE bool core_enter(void);
/* The same, and returns false if another thread has the lock. */
CORE bool core_enter_try(void);
CORE void core_leave(void);
/* The lock alone, for the helper, and for callers that have set `busy`. */
CORE void core_lock(void);
CORE void core_unlock(void);
/* Takes the lock if it is free. */
CORE bool core_lock_try(void);

/* --- clock.c --- */

struct core_pair {
	uint64_t ticks, mono, real; /* in ns but for the ticks */
};

/* Finds out whether the TSC can be used; before that the clock is CLOCK_MONOTONIC. */
CORE void core_clock_find(void);
CORE uint64_t core_clock_ticks(void);

struct core_moment {
	uint64_t ticks, mono; /* in ns */
};
CORE struct core_moment core_clock_moment(void);
/* The ticks in the middle of the shortest of some readings. */
CORE struct core_pair core_clock_pair(void);
/* Ticks per second, as the kernel converts them for its own tracing; 0: unknown. */
CORE uint64_t core_clock_hz(void);
/* The kernel does not tell them, so that the recording's header gets what is learned. */
CORE_DATA bool core_clock_learns;
/* Called now and then while a recording is under way, also in signal handlers. */
CORE void core_clock_learn(void);

/*
 * A page that a child process finds empty, unless it shares the memory of its parent as threads and
 * vfork() do. What is in it keeps the child from storing into its parent's recording.
 */
struct core_guard {
	/*
	 * 1 while hooks are to record: a recording is under way and its control word does not say
	 * otherwise. A hook that sees 1 for the last time may still store its record.
	 */
	uint32_t on;
	uint32_t alive;
} __attribute__((aligned(SEAM_GUARD * sizeof(uint32_t))));
#define core_on core_guard.on
CORE_DATA struct core_guard core_guard;
CORE_DATA bool core_guarded; /* the system does so */
/* In a child: this is its own now. */
CORE void core_guard_set(void);
/* Whether this is a child that has not begun a recording of its own. */
static inline bool core_is_orphan(void)
{
	return core_guarded && !core_guard.alive;
}
/* Begins it, or has nothing recorded if the library is in the middle of something. */
CORE void core_orphaned(void);
/* The same if it is one. */
static inline void core_look_orphan(void)
{
	if (core_is_orphan())
		core_orphaned();
}

/* --- file.c: the recording's file --- */

struct core_session {
	uint64_t number; /* 0: no recording; else it differs from all before */
	int fd; /* the program may close it, and open another file: see core_file_open() */
	uint64_t id[2]; /* which file it is */
	uint8_t *head; /* the mapped header */
	uint32_t nthreads;
	char *page, *page_end; /* where descriptors go */
	char *chunk_end;
	uint64_t ask_at; /* when the disk is asked for a chunk again, in ns; 0: at any time */
	uint64_t sequence; /* of the last chunk that was taken */
	uint32_t used; /* chunks of the file up to the last one that was taken */
	uint32_t next; /* number of the next chunk that gets room; atomic */
	uint32_t most; /* chunks that the file may have */
	uint32_t ring; /* chunks that a thread may have; 0: any number */
	/* Where switches of categories are stated; NULL: none was yet. */
	char *stated, *stated_chunk;
	uint32_t stated_number; /* of the chunk */
	uint32_t stated_thread; /* whose it is in the file */
};

CORE_DATA struct core_session core_session;
/* Those that use the file without the lock; a recording waits for them before it ends. Atomic. */
CORE_DATA uint32_t core_users;
/*
 * Why the system does not say which file a descriptor is, an errno; 0: it does. Then the file gets
 * no more room, as the descriptor may be another file's by now.
 */
CORE_DATA uint32_t core_refused;
/* For the next recording. */
CORE_DATA char core_directory[CORE_PATH];
CORE_DATA struct spur_trace_options core_options;

/* Begins a file in `core_directory`. Returns 0 or an errno. Called with the lock. */
CORE int core_session_begin(void);
/*
 * The file ends here. What threads have mapped stays: they may be storing a record. Each comes to a
 * slow path with its next one. Called with the lock.
 */
CORE void core_session_end(void);
/* The same in the helper, which then has to end. Called with the lock. */
CORE void core_session_end_by_helper(void);
/*
 * In a child that a signal handler forked in the middle of the library, to which that returns: no
 * recording is under way, and what is still stored goes nowhere.
 */
CORE void core_session_abandon(void);
/* Ends that state, in which no recording can begin. Called with the lock. */
CORE void core_session_regain(void);
CORE_DATA bool core_abandoned; /* in such a child */
/*
 * Switches the recording by its control word, as another process might. In a signal handler that
 * interrupted the library it takes effect a little later.
 */
CORE void core_record(bool on);
/* The same: off if it is on, and on if it is off. */
CORE void core_record_other(void);
/* Switches points and hooks as the recording and its control word say. Called with the lock. */
CORE void core_switch(void);
/*
 * Takes a chunk of the file. Returns NULL if the disk is full or memory cannot be mapped: then most
 * calls return at once, so that a program without room goes on fast. Called with the lock;
 * `unlocked`: it may be given up for a while, and NULL also means that the recording has ended.
 * `touch`: with its pages, as all of them will be used.
 */
struct core_chunk {
	char *p;
	uint32_t number; /* in the file */
};
CORE struct core_chunk core_chunk_take(bool unlocked, bool touch);
/* The number of a chunk that has no room yet, + 1. Returns false if there are to be no more. */
CORE bool core_chunk_number(uint32_t *next);
/* Makes and maps the chunk of that number. Returns NULL if it cannot. */
CORE char *core_chunk_map(uint32_t number, bool touch);
/*
 * Writes the head of a chunk that is zero. `opened`: before its thread waited for a lock or the
 * disk, as times of records are stored relative to it. `thread`: its number, for a chunk of
 * records, else 0. Called with the lock.
 */
CORE void core_chunk_open(char *p, struct core_moment opened, uint32_t thread);
CORE void core_chunk_close(char *p);
/* A chunk that its thread has left, and where its last record ends. */
struct core_left {
	char *chunk; /* NULL: none */
	const char *end;
};
/*
 * True if each record of it is stored. If not, a signal handler may have interrupted one that will
 * still be: the chunk must stay mapped, and must not be used again.
 */
CORE bool core_chunk_complete(struct core_left l) __attribute__((no_sanitize("thread")));
/* Wipes a mapped chunk that was used, for another core_chunk_open(). */
CORE void core_chunk_wipe(char *p);
/* A chunk of an ended thread, by its number, mapped and wiped. Returns NULL if it cannot. */
CORE char *core_chunk_again(uint32_t number);
/*
 * Gives back the room of a chunk behind its first `used` bytes. Called with the lock, which others
 * have meanwhile.
 */
CORE void core_chunk_trim(uint32_t number, size_t used);
/* The same without giving up the lock. */
CORE void core_chunk_punch(uint32_t number, size_t used);
/* Puts a descriptor into the file. Returns false if it has no room. Called with the lock. */
CORE bool core_file_put(const char *d, uint32_t size);
/* Counts events that no chunk will say were lost. Called with the lock, or by core_users. */
CORE void core_file_lost(uint64_t n);
/*
 * Opens a new file for this process in a directory; `path` gets its name. Returns its descriptor,
 * or -1 and errno.
 */
enum { CORE_FILE_PATH = CORE_PATH + 80 };
CORE int core_file_create(const char *dir, char path[CORE_FILE_PATH]);
/*
 * The descriptor of the recording's file, or another one if the program has closed that. Returns a
 * negative number if it cannot. core_file_close() ends the use.
 */
CORE int core_file_open(void);
CORE void core_file_close(int fd);
/* False if the program has closed the recording's descriptor. */
CORE bool core_file_is_open(void);
/* Writes an unsigned decimal without an end. Returns the place behind it. */
CORE char *core_decimal(char *p, uint64_t v);
/* Reads at most size - 1 bytes, and ends them with NUL. Returns how many; 0 if it cannot. */
CORE size_t core_file_read(const char *path, char *buf, size_t size);

/* --- helper.c; all but the first two with the lock --- */

/* One unit of the helper's work. Returns false if it has nothing to do. */
CORE bool core_helper_step(void);
/* All of its life. */
CORE void core_helper_run(void);
/*
 * Starts it for the recording if it is wanted and did not start yet. `supplies`: has it make chunks
 * ready, which a oneshot does without; else it only listens to other processes at first.
 */
CORE void core_helper_start(bool supplies);
/* Ends it. Returns false if it does not end: then it still uses the file and its header. */
CORE bool core_helper_stop(void);
/* True while it runs and was not told to end. */
CORE bool core_helper_is_on(void);
/* The same in the helper itself, which then ends when core_helper_run() returns. */
CORE void core_helper_retire(void);
/* In the child of fork(), which has no helper. */
CORE void core_helper_forget(void);
/* A chunk that is ready. Returns NULL if no chunk is. */
CORE char *core_helper_chunk(uint32_t *number);
/* Has it unmap a chunk as soon as that is complete. Returns false if it cannot. */
CORE bool core_helper_unmap(struct core_left l);
/*
 * The recording stops when this process has gone, as the helper sees; 0: it depends on none.
 */
CORE_DATA uint32_t core_recorder;
/* Never start it. */
CORE_DATA bool core_helper_unwanted;

/* --- describe.c: what points, threads and modules are called --- */

/* Adds everything that was described so far to a new file. Called with the lock. */
CORE bool core_catalog_copy(void);
/* Names the calling thread in the file. Called with the lock. */
CORE void core_describe_thread(void);
/* Describes a point. Returns its number, or 0 if it has no room. Called with the lock. */
CORE uint32_t core_describe_site(const struct spur_trace_site *site);
/*
 * Describes a thread of the file, by its number, as a track that is no thread of the system. Called
 * with the lock.
 */
CORE bool core_describe_track(uint32_t thread, const char *name);
/* A descriptor of a name, and of its number if `has_id`, for this and all later files. */
CORE void core_describe_name(uint32_t type, bool has_id, uint64_t id, const char *name);
/*
 * Adds a string of `len` bytes, at most SPUR_TRACE_TEXT_MAX, to this and all later files. Returns
 * its id, or 0 if it has no room. Called with the lock.
 */
CORE uint32_t core_describe_string(const char *s, size_t len);
/*
 * The string of an id from core_describe_string(), until the process ends; NULL: not an id. Needs
 * no lock.
 */
CORE const char *core_described_string(uint64_t id, size_t *len);
/*
 * Adds a point that is like `site` but has the string of that id as its name. Returns its number,
 * or 0 if it has no room. Called with the lock.
 */
CORE uint32_t core_describe_named(const struct spur_trace_site *site, uint64_t name);
/* The length of a text that is cut after `most` bytes, but not within a character. */
CORE size_t core_text_cut(const char *s, size_t len, size_t most);

/* --- categories.c; all with the lock, but what says otherwise --- */

/* A list of categories that are on, separated by commas; NULL: all. */
CORE void core_categories_read(const char *list);
/* Switches each category as it is chosen and `core_on`. */
CORE void core_categories_switch(void);
/* True if a category is off, or one that was not reached yet would be. */
CORE bool core_categories_limited(void);
/* The word that points of this category test. */
CORE uint32_t *core_category_word(const char *name);
/*
 * The categories of a session, which then count instead of those that the program chooses; NULL:
 * the program's.
 */
CORE void core_categories_list(const char *list);
/*
 * A recording begins: takes the list that its directory has. INVARIANT: the file is complete by
 * now, so that whoever stores a list there and then looks for files misses none.
 */
CORE void core_told_begin(void);
/* True if this header has a list that was not taken. Needs no lock. */
CORE bool core_is_told(const uint8_t *head);
/* Takes it. Returns true if it has, so that core_told_answer() is due when points are switched. */
CORE bool core_told_look(void);
/* Says in the header which list was taken, and when in a record. */
CORE void core_told_answer(void);
/* The recording ends: no more switches are stated. */
CORE void core_told_end(void);

/* --- system.c: sessions of several programs; all with the lock, but what says otherwise --- */

/*
 * What points test: a word for each category, 0 while its points are off. While the process does
 * not record, they are a page of the board (board.h), and must not be stored to.
 */
CORE_DATA uint32_t core_words[SEAM_WORDS];
CORE_DATA bool core_watching; /* they are */
/* Finds the board, and looks out for a session from now on. */
CORE void core_system_find(void);
/* Looks out for a session: no recording is under way. */
CORE void core_system_watch(void);
/* Looks for none: a recording begins. */
CORE void core_system_unwatch(void);
/* Joins a session if one calls. Returns true if a recording is under way. Keeps errno. */
CORE bool core_system_join(void);
/*
 * True if the recording is of a session that has ended; `thorough`: or was killed, which takes
 * calls of the system once in a while. Needs no lock.
 */
CORE bool core_system_over(bool thorough);
/* The number of the session that the recording is of; 0: of none. */
CORE uint32_t core_system_joined(void);
/* The program ends a recording itself: it does not join the same session again. */
CORE void core_system_leave(void);

/* --- thread.c --- */

/* What a thread has apart from its place. */
struct core_thread {
	struct core_thread *next, **before; /* in `core_threads` */
	struct spur_trace_place *here;
	char *chunk, *chunk_end; /* NULL: none */
	uint32_t chunk_number; /* in the file */
	uint64_t session; /* whose chunk it is */
	uint32_t number; /* in the file of session `numbered`, also when its destructor has run */
	uint64_t numbered;
	/* The chunk whose head counts the events that the thread loses; NULL: none. */
	char *counts;
	/* The chunk that was left last, as long as it is that one; not of a ring. */
	struct core_left left;
	uint64_t lost; /* events while no recording was under way, for one that begins */
	uint32_t refused; /* events to lose before the thread looks for a chunk again */
	/* Counts such an event: the chunk that counts stays mapped, whatever handlers take. */
	bool counting;
	uint64_t fiber;
	uint64_t signals; /* which were blocked before the thread took the lock */
	/* In a slow path, with signals blocked: a handler that comes all the same must not be. */
	bool busy;
	bool listed;
	bool ended; /* its destructor has run; it may run again */
	/* In fork(), which signal handlers may call too: how often, and whether it has the lock. */
	uint32_t forks;
	bool fork_entered;
	char name[CORE_NAME_LEN];
	struct core_left kept[CORE_KEPT]; /* chunks that were not complete, as a ring */
	unsigned nkept;
	/* In mode ring: the thread's chunks, `ring_next` the one that was filled longest ago. */
	struct core_chunk *ring;
	uint32_t ring_size, nring, ring_next;
	/* Chunks that were to be used again when one of their records was not complete. */
	struct core_chunk pinned[CORE_PINNED];
	uint32_t npinned;
	/* In mode ring: the chunk that was left last, which may not be full. */
	struct core_left last;
	uint32_t kept_last; /* number of the snapshot that was kept last, of this thread */
	/* The snapshot that goes on, and how many chunks were taken since. */
	uint32_t asked, asked_chunks;
	/* A ring before it, of a snapshot: the chunks from `old_at` on are still mapped. */
	struct core_chunk *old;
	uint32_t old_size, nold, old_first, old_at;
};

#ifndef SPUR_RECORD_SIM /* each simulated thread has its own */
CORE_DATA __thread struct core_thread core_own __attribute__((tls_model("initial-exec")));
#endif
CORE_DATA struct core_thread *core_threads;

/* As `lost` of threads that are in no list, where the recording's end would not find them. */
CORE_DATA uint64_t core_unlisted_lost;

/*
 * The same where the thread has no chunk to count in: in the header. A handler that left from in
 * here by siglongjmp() would be one of core_users for ever.
 */
static inline void core_lost_apart(uint64_t n)
{
	const uint64_t signals = seam_signals_block();

	seam_add32(&core_users, 1);
	seam_fence_threads();
	if (seam_load(&core_session.number))
		seam_add((uint64_t *)(void *)(core_session.head + SPB_LOST_AT), n);
	else
		seam_add(core_own.listed ? &core_own.lost : &core_unlisted_lost, n);
	seam_add32(&core_users, UINT32_MAX);
	seam_signals_restore(signals);
}

/*
 * Counts events of this thread that could not be stored, in the file at once: a kill leaves none
 * uncounted. Safe in signal handlers, but requires that the thread is busy or counting: a handler
 * that takes another chunk would unmap the one that counts.
 */
static inline void core_lost(uint64_t n)
{
	char *const chunk = seam_load_pointer(&core_own.counts);

	if (chunk && core_own.session == seam_load(&core_session.number))
		seam_add((uint64_t *)(void *)(chunk + SPB_CHUNK_LOST_AT), n);
	else
		core_lost_apart(n);
}

/*
 * Counts an event as lost, and returns true, while a thread that got no chunk does not look for one
 * again: so an event that is lost costs neither the lock nor a call of the system. Hooks call it
 * before they save vector registers, so it must be inlined there.
 */
static inline bool core_refuses(void)
{
	struct core_thread *const own = &core_own;
	const uint32_t refused = own->refused;

	if (own->busy || !refused || seam_load_pointer(&spur_trace_here.end) ||
	    own->session != seam_load(&core_session.number))
		return false;
	/* A handler that comes now may do the same, or leave for good. */
	own->refused = refused - 1;
	own->counting = true;
	seam_fence();
	core_lost(1);
	seam_fence();
	own->counting = false;
	return true;
}

/* --- page.c --- */

/* The thread has no chunk from here on. */
CORE void core_page_drop(void);
/*
 * Sees that the thread has another page than the one in which a record of `size` bytes at `at` had
 * no room. Returns false if its chunk has no more. A signal handler may come at any step, and leave
 * for good, or let another fiber go on before this one does.
 */
CORE bool core_page_turn(char *at, uint64_t size);
/*
 * In place of spur_trace_page(), for hooks: takes the place of a record, in *at, from another page
 * of the thread's chunk. Returns false if that needs more, then spur_trace_page() is to be called
 * with that place.
 */
CORE bool core_page_take(char **at, uint64_t size);

/* --- thread.c --- */

/* Has the file say what the thread has lost so far. Called with the lock. */
CORE void core_thread_lost(struct core_thread *t);
/* Has the file say that too. Called with the lock. */
CORE void core_rest_lost(void);
/* Once for the process, before a thread can record. */
CORE void core_threads_init(void);
/* Ends the chunk of the calling thread, which stays mapped. Called with the lock. */
CORE void core_thread_close(void);
/* The calling thread runs that fiber from here on, also while the recording is switched off. */
CORE void core_thread_fiber(uint64_t id);
/*
 * In the child of fork(): no thread but this one, which has no chunk. The lock is free, and the
 * thread busy: what a signal handler records is lost until core_leave(), else it would go into the
 * parent's file.
 */
CORE void core_threads_forget(void);
/* The same of the thread: it gets no more room. */
CORE void core_thread_abandon(void);

/* --- keep.c: snapshots of rings --- */

/*
 * A snapshot of a ring costs no copy: the chunks that threads have filled so far stay in the file
 * as they are, and each thread goes on with new ones when it needs its next chunk.
 */
enum { CORE_KEEPS_MOST = 200 };

/* A process keeps at most that many snapshots, each `after` ticks behind what asked for it. */
CORE void core_keep_allow(uint32_t most, uint64_t after);
/*
 * Has a snapshot kept. Returns its number, from 1, or that of an earlier one which is still going
 * on; 0: no more are kept. Safe in signal handlers.
 */
CORE uint32_t core_keep(uint64_t ticks);
struct core_keeping {
	uint32_t kept; /* chunks that were filled before that number changed are not used again */
	uint32_t asked; /* the number of the one that goes on; 0: none does */
};
CORE struct core_keeping core_keep_look(uint64_t ticks);
/* For a new recording. */
CORE void core_keep_reset(void);

/* --- dump.c --- */

/* Dumps at signals, a list of names with commas. Returns false at an unknown name. */
CORE bool core_dump_at(const char *list);
/* Switches the recording off, or on again, at signals; otherwise the same. */
CORE bool core_switch_at(const char *list);

/* --- hooks --- */

/*
 * For record/hook. Hooks that place records by themselves do as spur_trace_reserve() does, in its
 * order: they read `end`, then move `at` by one instruction, then test.
 *
 * Numbers of modules and functions stay valid over all recordings of the process and in its forked
 * children: what is described here goes into each of their files. None of these may be called in a
 * signal handler that may have interrupted the library; they return 0 or false then, as when there
 * is no room.
 */

/*
 * A module at [first, end); `shift`: its address in memory - that in its file. Returns its number,
 * from 1.
 */
struct core_module {
	uint64_t first, end, shift;
	const uint8_t *build_id; /* `build_id_size` bytes, which may be 0 */
	uint32_t build_id_size;
	const char *path;
};
CORE uint32_t core_module(const struct core_module *m);
/* The module is not there from now on. */
CORE void core_unload(uint32_t module);
/* Reserves `n` numbers of functions. Returns the first, at least 1; the others follow. */
CORE uint32_t core_function_numbers(uint32_t n);

/* A function with a number from core_function_numbers(). */
struct core_function {
	uint32_t number, module;
	uint64_t address; /* in memory */
	const char *name; /* NULL: what symbols say */
	uint8_t nargs, nresults;
	const uint8_t *types; /* enum spb_type of each argument, then of each result */
	const char *const *names; /* as many */
};
CORE bool core_function(const struct core_function *f);

/*
 * Called in the child of fork(), when its own recording has begun; NULL: nothing. `why`: the errno
 * by which it has not; 0: it has, or is not to.
 */
CORE_DATA void (*core_forked)(int why);

#endif
