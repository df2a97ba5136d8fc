/*
 * Attaching to a process that runs: its memory, its threads, and calls of functions in it. x86-64
 * only; elsewhere attaching fails with a message.
 *
 * All threads are stopped by ptrace() while the program is changed, so plain stores suffice. No
 * thread is inside the bytes that change (tracees_step_out()), nor comes there when its signal
 * handler returns (tracees_saved_step_out()). Each one returns from the kernel by an instruction
 * that serializes, before it executes any of them.
 */
#ifndef SPUR_RECORDER_ATTACH_H
#define SPUR_RECORDER_ATTACH_H

#include <elf.h>
#include <sys/types.h>

#include "base/mem.h"
#include "recorder/recorder.h"

/* --- attach_target.c: memory and modules --- */

struct target_map {
	uint64_t first, end, offset; /* `offset` in the file */
	bool executable;
	const char *path; /* "": none */
};

/* A file that is mapped, as its segments in memory say. */
struct target_module {
	const char *path;
	uint64_t first, end, shift; /* address in memory - address in the file */
	uint64_t frames; /* address of .eh_frame_hdr; 0: none */
	uint64_t frames_size;
	Elf64_Sym *symbols;
	size_t nsymbols;
	char *names;
	size_t names_size;
	bool is_linker, is_libc, is_recorder, allocates;
};

struct target {
	pid_t pid;
	int memory; /* of the process */
	struct target_map *maps;
	size_t nmaps, maps_cap;
	struct target_module *modules;
	size_t nmodules, modules_cap;
	uint64_t start_time; /* in clock ticks since boot */
	uint64_t stack; /* where the program's stack began; 0: unknown */
	struct arena arena; /* of paths */
};

/*
 * Opens a process. Returns SPUR_FAIL, with the error set, if it cannot be attached to. Requires
 * target_close() in any case.
 */
enum spur_status target_open(struct target *t, pid_t pid, struct spur_error *err);
void target_close(struct target *t);
/* Reads again what is mapped. Returns false if the process has ended or if out of memory. */
bool target_look(struct target *t);
/* True while the process exists and runs the program that it ran when it was opened. */
bool target_lives(const struct target *t);
/* True if the process runs another program than when it was opened. */
bool target_was_replaced(const struct target *t);
/* Both return false if not all bytes can be read or written. */
bool target_read(const struct target *t, uint64_t at, void *to, size_t size);
bool target_write(const struct target *t, uint64_t at, const void *from, size_t size);
const struct target_map *target_map_at(const struct target *t, uint64_t at);
/* Returns the module with that address in it, with its symbols, or NULL. */
struct target_module *target_module_at(struct target *t, uint64_t at);
/* Returns the function that a module defines by that name, or 0. */
uint64_t target_symbol(const struct target *t, const struct target_module *m, const char *name);
/* Returns the name of a function that covers the address, or NULL. `next`: of several the n-th. */
const char *target_function_at(const struct target_module *m, uint64_t at, size_t *next);
/*
 * Reads field N (from 1) of /proc/PID/stat, a number, of a process or, by "PID/task/TID", a thread.
 * Returns 0 if it cannot. A state is its letter.
 */
uint64_t target_stat(const char *task, unsigned field);
/* Reads a number of /proc/PID/status, such as "Seccomp". Returns 0 if it is missing. */
uint64_t target_status(const char *task, const char *key, int base);

/* --- attach_stop.c: threads --- */

struct tracee {
	pid_t tid;
	bool stopped;
	int signal; /* that stopped it; the program gets it later */
};

struct tracees {
	struct target *target;
	struct tracee *list;
	size_t count, cap;
	bool waits; /* a thread could not be stopped, but may be later */
	bool patient; /* another tracer counts as one that lets go of the process soon */
};

/*
 * Stops all threads; those in the list are stopped already. Returns SPUR_FAIL, with the error set
 * and all released, if that is not possible.
 */
enum spur_status tracees_stop(struct tracees *s, struct spur_error *err);
/* Lets all but one go on; tid 0: all. Those that could not be stopped remain in the list. */
void tracees_release(struct tracees *s, pid_t but);
/*
 * Steps each thread until it is not inside one of the ranges, which are sorted: what is behind the
 * first byte counts. Returns false if a thread stays there.
 */
struct attach_range {
	uint64_t first, end;
};
/* Returns the range that has the address in it, behind its first byte, or NULL. */
const struct attach_range *attach_range_at(const struct attach_range *ranges, size_t n,
					   uint64_t at);
bool tracees_step_out(struct tracees *s, const struct attach_range *ranges, size_t n);
/* Blocks all signals but those by which the thread itself says that something went wrong. */
bool tracee_block_signals(pid_t tid);
/* False if the thread blocks or ignores SIGTRAP. */
bool tracee_may_trap(const struct target *t, pid_t tid);
void tracees_free(struct tracees *s);

/* --- attach_saved.c: what signals have interrupted --- */

/*
 * The same for the places at which threads go on when their signal handlers return. Returns false
 * if one is inside a range and cannot be moved now.
 */
bool tracees_saved_step_out(struct tracees *s, const struct attach_range *ranges, size_t n);

/* --- attach_change.c: what the library has listed --- */

struct changes {
	struct attach_change *list; /* by address */
	size_t count;
	size_t size; /* of the memory */
};

/* Reads what the library has listed. Returns false if it cannot, else requires changes_free(). */
bool changes_read(const struct target *t, const struct attach_state *s, struct changes *c);
void changes_free(struct changes *c);
/* Moves threads out of code that is about to change. Returns false if one stays in it. */
bool changes_step_out(struct tracees *s, const struct changes *c);
/*
 * Changes the program, or changes it back: all threads are stopped. What is not as expected stays,
 * as its module has gone. Returns how many changes were made.
 */
uint64_t changes_make(const struct target *t, const struct changes *c, bool back);

/* --- attach_safe.c: where a function can be called --- */

/*
 * Returns a stopped thread on which the linker can be called: none of its frames is in the linker,
 * an allocator or another function that has something locked. NULL: none now.
 */
struct tracee *tracees_safe(struct tracees *s);

/* --- attach_unwind.c: frames --- */

enum { UNWIND_REGS = 17, UNWIND_SP = 7, UNWIND_PC = 16 };

/* Registers by their DWARF numbers. */
struct unwind {
	struct target *target;
	uint64_t regs[UNWIND_REGS];
	bool is_signal; /* a signal handler's frame was passed */
	bool is_call; /* the address is behind a call */
};

enum unwind_status { UNWIND_FRAME, UNWIND_END, UNWIND_UNKNOWN };
/* Goes to the caller's frame. */
enum unwind_status unwind_step(struct unwind *u);

/* --- attach_call.c: calls --- */

struct remote {
	struct target *target;
	pid_t tid; /* the thread; 0: it has ended */
	uint64_t trap; /* address of an instruction that stops the thread */
	uint64_t area, area_size; /* memory of its own; 0: none yet */
	struct remote_state *state; /* of the thread */
	int held[8]; /* signals that came meanwhile */
	unsigned nheld;
	void (*wait)(void *arg); /* called again and again until the call returns */
	void *arg;
};

/*
 * Borrows the thread, which is stopped. Returns SPUR_FAIL, with the error set and nothing changed,
 * if that is not possible. Requires remote_end() if it succeeds.
 */
enum spur_status remote_begin(struct remote *r, struct spur_error *err);
/* The thread is again as it was, and is still stopped, if it is alive. */
void remote_end(struct remote *r);
/*
 * Calls a function with three arguments. Returns SPUR_FAIL, with the error set, if the thread ends
 * or the function does not return.
 */
enum spur_status remote_call(struct remote *r, uint64_t function, const uint64_t args[3],
			     uint64_t *result, struct spur_error *err);

#endif
