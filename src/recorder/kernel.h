/*
 * What the kernel sees of a recorded program: when its threads get and leave CPUs, their page
 * faults, and counters at intervals. It is stored beside the program's own files, in files that the
 * recorder writes for each process (SPEC spur/observed).
 *
 * A thread of the recorder reads the kernel's buffers (kernel_perf.c) and /proc (kernel_count.c),
 * and stores what it finds (kernel_file.c). Nothing waits for it.
 */
#ifndef SPUR_RECORDER_KERNEL_H
#define SPUR_RECORDER_KERNEL_H

#include <sys/types.h>

#include "base/map64.h"
#include "base/mem.h"

enum { KERNEL_EVERY = 10000000 /* ns, between readings of counters */ };

struct kernel_options {
	bool switches, page_faults;
	uint64_t counters; /* bits by kernel_counter() */
	int64_t every; /* ns between readings of counters; 0: KERNEL_EVERY */
};

static inline bool kernel_wanted(const struct kernel_options *o)
{
	return o->switches || o->page_faults || o->counters;
}

/* The number of the counter of that name; -1: unknown. */
int kernel_counter(const char *name, size_t len);
/* Names by number; NULL behind the last one. */
const char *kernel_counter_name(unsigned i);

struct kernel;
/*
 * Begins to observe a process, and all that it starts: from when it executes its program, or from
 * now on if that is running. `dir`: of the recording; it, the options and `say` must outlive the
 * result. What the kernel forbids is said, and left out. Returns NULL if out of memory.
 */
struct kernel *kernel_new(const struct kernel_options *o, const char *dir, pid_t pid, bool running,
			  void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));
/* A process of the recording; it may be known already. */
void kernel_process(struct kernel *k, pid_t pid);
/* Reads counters now: the process that was first is about to be gone. */
void kernel_look(struct kernel *k);
/* Ends it: `max_rss` of the first process, in bytes; 0: unknown. */
void kernel_end(struct kernel *k, uint64_t max_rss);

/* --- kernel_file.c: files of what was seen --- */

/* Sites of these files. */
enum kernel_site {
	KERNEL_EXIT = 1, /* a thread ends, and leaves its CPU */
	KERNEL_FAULT, /* a page fault */
	KERNEL_COUNTERS, /* the first counter; the others follow by number */
};

struct kernel_thread {
	int64_t tid; /* 0: the process itself */
	uint32_t number; /* in the file, from 1 */
	uint8_t *chunk, *at; /* NULL: it has none */
	uint64_t last; /* time of its last record */
	bool on_cpu, any;
};

/* A process. */
struct kernel_file {
	struct kernel_file *next; /* of all */
	pid_t pid;
	char *path;
	uint8_t *head; /* mapped; NULL: the file could not be made, or is complete */
	struct kernel_part {
		uint8_t *p;
		size_t size;
	} *parts; /* mapped */
	size_t nparts, parts_cap;
	uint64_t size; /* of the file */
	uint8_t *free, *free_end; /* room for chunks */
	uint64_t sequence;
	uint8_t *described, *described_end; /* room for descriptors */
	struct kernel_thread *threads;
	size_t nthreads, threads_cap;
	struct map64 by_tid; /* to the index + 1 */
	uint32_t nalive; /* threads */
	uint64_t max_rss; /* that was stored last */
};

/* Makes the file of a process in the directory. Returns NULL if out of memory. */
struct kernel_file *kernel_file_new(const char *dir, pid_t pid, uint64_t counters);
/* The thread, made if it is new. Returns NULL if out of memory. Valid until the next call. */
struct kernel_thread *kernel_file_thread(struct kernel_file *f, int64_t tid);
void kernel_file_name(struct kernel_file *f, int64_t tid, const char *name);
/* Names the process; with `name` NULL as its parent, unless it has a name. */
void kernel_file_program(struct kernel_file *f, const char *name, const struct kernel_file *parent);
/* A record as docs/formats/spur.md has them; `time` in ns of CLOCK_MONOTONIC. */
struct kernel_record {
	uint64_t time;
	uint32_t kind, id; /* enum spb_kind */
	uint32_t words;
	uint64_t payload[3];
};
void kernel_file_put(struct kernel_file *f, int64_t tid, const struct kernel_record *r);
/* Counts what could not be stored. */
void kernel_file_lost(struct kernel_file *f, uint64_t n);
/* The thread is no more; its number may come again. */
void kernel_file_exit(struct kernel_file *f, int64_t tid);
/* Completes the file. */
void kernel_file_end(struct kernel_file *f);
void kernel_file_free(struct kernel_file *f);

/* --- kernel_perf.c: the kernel's buffers --- */

/* Something that a buffer has. */
struct kernel_item {
	uint64_t time;
	uint64_t order; /* of those of one time */
	enum { ITEM_SWITCH, ITEM_FAULT, ITEM_COMM, ITEM_FORK, ITEM_EXIT } type;
	int32_t pid, tid;
	int32_t parent; /* pid of the parent, of a new thread or process */
	uint32_t cpu;
	bool out, preempted; /* of a switch */
	bool major; /* of a fault */
	bool exec; /* of a name: the process has another program */
	uint64_t address, ip;
	char name[16];
};

struct kernel_perf;
/*
 * Opens the buffers for a process, with all threads that it has if it is running already. Returns
 * NULL if out of memory or the kernel refuses; then *why is an errno.
 */
struct kernel_perf *kernel_perf_new(const struct kernel_options *o, pid_t pid, bool running,
				    int *why);
/* Waits until there is much to read, or `ms` have passed, or `wake` can be read from. */
void kernel_perf_wait(const struct kernel_perf *p, int wake, int ms);
/*
 * Returns the records read so far, in order of time; valid until the next call. *lost: how many
 * records the kernel had no room for.
 */
const struct kernel_item *kernel_perf_read(struct kernel_perf *p, size_t *count, uint64_t *lost);
void kernel_perf_free(struct kernel_perf *p);

/* --- kernel_count.c: counters --- */

struct kernel_count;
/*
 * Opens the counters. *refused: bits of those that the kernel does not count, *why: an errno, and
 * *user: bits of those that it counts outside itself only. Returns NULL if out of memory.
 */
struct kernel_count *kernel_count_new(uint64_t counters, pid_t pid, bool running,
				      uint64_t *refused, int *why, uint64_t *user);
/* Reads those that are of the program as a whole. Returns the bits of those that were read. */
uint64_t kernel_count_read(const struct kernel_count *c, uint64_t values[64]);
/* Reads those of a process. */
uint64_t kernel_count_process(uint64_t counters, pid_t pid, uint64_t values[64]);
void kernel_count_free(struct kernel_count *c);

uint64_t kernel_now(void);
/* Reads the first line of a file. Returns false if it is empty or cannot be read. */
bool kernel_line(const char *path, char *to, size_t room);
/* The threads of a process. Returns NULL if out of memory or it has ended; to be freed. */
int32_t *kernel_threads(pid_t pid, size_t *count);

#endif
