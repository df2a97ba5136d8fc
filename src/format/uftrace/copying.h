/*
 * Shared by the parts of a copy of uftrace data (copy*.c): records of the .dat and per-CPU files,
 * lines of text files, the `info` file of a recording that has none.
 */
#ifndef SPUR_FORMAT_UFTRACE_COPYING_H
#define SPUR_FORMAT_UFTRACE_COPYING_H

#include "format/copy.h"
#include "format/uftrace/reader.h"
#include "format/uftrace/store.h"

/* What a copy left out or changed; a note is written for each that is not 0. */
enum copying_note {
	NOTE_BYTES, /* bytes that are no records */
	NOTE_PAYLOADS, /* payloads that cannot be read */
	NOTE_LINES, /* lines of text files */
	NOTE_SPECS, /* argument specifications */
	NOTE_PAGES, /* kernel files whose pages were made again */
	NOTE_MOVED, /* records that were moved to their place by time */
	NOTE_ENTRIES, /* directories and the like below the trace */
	NOTE_INFO, /* `info` was made again */
	NOTE_INFO_TEXT, /* .. with the same content */
	NOTE_TASKS, /* task.txt was made */
	NOTE_SYMBOLS, /* .sym files were made from binaries */
	NOTE_MAPS, /* empty maps were made */
	NOTE_IDS, /* lines of maps got build-ids */
	COPYING_NOTES
};

/* The copy of one trace. */
struct copying {
	struct copy *copy;
	struct uftrace *u;
	const struct kept *kept; /* NULL: all */
	int64_t from; /* of the first kept row; INT64_MIN: unknown */
	bool bare; /* leave out the payloads of calls */
	struct text sid; /* of the only map; for a task.txt that is missing */
	struct out *o; /* the file that is being written */
	uint64_t notes[COPYING_NOTES];
};

/* Returns true if the record of that place is to be copied. */
static inline bool copying_has(const struct copying *k, uint32_t stream, uint64_t off)
{
	return !k->kept || kept_has(k->kept, stream, off);
}

/* Returns true if the copy was told to end. */
static inline bool copying_stopped(const struct copying *k)
{
	return k->copy->stop && *k->copy->stop;
}

/* Counts bytes of the input that are not in the output. */
static inline void copying_lose(struct copying *k, uint64_t bytes)
{
	k->copy->bytes_lost += bytes;
	k->notes[NOTE_BYTES] += bytes;
}

/*
 * Copy the records of one file to k->o. Failures to write are in its `error`. They return false if
 * out of memory.
 */
bool copying_dat(struct copying *k, struct uftrace_file *file, int64_t tid);
bool copying_perf(struct copying *k, const struct uftrace_file *file);
bool copying_kernel(struct copying *k, const struct uftrace_file *file);
void copying_extern(struct copying *k, const struct uftrace_file *file);

/*
 * Copies a trace; `bare`: without the payloads of calls. Returns SPUR_FAIL if out of memory, or
 * with copy->err set.
 */
enum spur_status uftrace_copy_part(struct copy *copy, bool bare);

/* How the lines of a file are checked. */
enum copying_text {
	TEXT_OTHER, /* not at all */
	TEXT_INFO,
	TEXT_TASKS,
	TEXT_TASKS_BINARY,
	TEXT_MAP,
	TEXT_SYMBOLS,
	TEXT_NUMBERED, /* python.fake.sym */
	TEXT_DEBUG,
	TEXT_EVENTS,
	TEXT_KALLSYMS,
	TEXT_EXTERN,
};

/* Returns how a file of that name is checked. */
enum copying_text copying_text_of(struct text name);
/* Writes the lines of a file to k->o, without those that the reader cannot use. */
void copying_lines(struct copying *k, enum copying_text what, struct text file);
/* Returns true if the header of `info` can be used as it is. */
bool copying_info_valid(const struct uftrace *u);
/* Writes the header of `info` with valid values for those that are not. */
void copying_make_header(struct copying *k);
/* Writes an `info` file as far as the other files tell what it had. */
void copying_make_info(struct copying *k);
/* Writes the `info` file that says what `file` does in the order that uftrace needs. */
void copying_repair_info(struct copying *k, struct text file);
/* Writes a task.txt that has all tasks in one process. */
void copying_make_tasks(struct copying *k);
/* Writes the symbols of a module. */
void copying_make_symbols(struct copying *k, const struct uftrace_module *m);

/* Checks of lines, by those who read them. */
bool uftrace_task_line_valid(const struct uftrace *u, struct text line);
bool uftrace_map_line_valid(struct text line);
/* Returns the path of a module in a valid line that has no build-id; empty: none. */
struct text uftrace_map_line_path(struct text line);
/* `numbered`: of python.fake.sym. */
bool uftrace_sym_line_valid(struct text line, bool numbered);
/* `*inside`: a function was begun; set by its line. */
bool uftrace_dbg_line_valid(struct uftrace *u, struct text line, bool *inside);
/* Returns the bytes of whole messages at the beginning of a binary `task` file. */
size_t uftrace_task_messages(const struct uftrace *u, struct text file);
/*
 * Writes a list of argument specifications, and instead of those that are invalid, specifications
 * that mean the same to a reader. Returns the number of these.
 */
uint64_t uftrace_specs_clean(struct uftrace *u, struct text specs, bool patterns, struct out *o);
/*
 * Returns the build-id of a module that a map has without one, by the module's other files; empty
 * if they do not tell, or if nothing has needed them.
 */
struct text uftrace_build_id(const struct uftrace *u, struct text path);
/* Returns true if .sym files have sizes. */
bool uftrace_has_sizes(struct uftrace *u);
/* Returns true if the directory has a file of symbols for the module. */
bool uftrace_has_symbols(struct uftrace *u, const struct uftrace_module *m);

#endif
