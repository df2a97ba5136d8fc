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
	NOTE_RENUMBERED, /* ids that an earlier trace has for something else */
	NOTE_HIDDEN, /* files of a name that an earlier trace has */
	COPYING_NOTES
};

/* The copy of one trace. */
struct copying {
	struct copy *copy;
	struct uftrace *u;
	const struct kept *kept; /* NULL: all */
	int64_t from; /* of the first kept row; INT64_MIN: unknown */
	bool bare; /* leave out the payloads of calls */
	int64_t shift; /* ns to add to the times of .dat records */
	bool shown; /* a file of a task or of the kernel has records */
	struct text sid; /* of the only map; for a task.txt that is missing */
	struct out *o; /* the file that is being written */
	uint64_t notes[COPYING_NOTES];
};

/* A file without records, which uftrace takes for records when it looks whether there are any. */
static const char copying_stand_in[] = "0-empty.dat";

/* Names of files; they are in the arena. */
struct names {
	char **items;
	size_t count, cap;
	struct arena arena;
};

/* The directory that is copied. */
struct listing {
	struct names all, records; /* sorted; `records`: of files that rows point into */
	struct names made; /* files of symbols */
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

/* Lists the directory. Returns false if out of memory. Free in any case. */
bool copying_list(struct listing *l, const struct uftrace *u);
void copying_list_free(struct listing *l);
/* Requires that the names are sorted. */
bool copying_has_name(const struct names *n, const char *name);
/* Returns the name without the ending of a packed file. */
struct text copying_unpacked(struct text name);

/*
 * Creates a file of the copy and sets k->o to `o`. Returns false, with copy->err set, if that
 * fails. Requires copying_end() in any case.
 */
bool copying_begin(struct copying *k, const char *name, struct out *o);
/*
 * Closes the file. `good`: its content could be made. Returns false if not, or, with copy->err set,
 * if it cannot be written.
 */
bool copying_end(struct copying *k, const char *name, struct out *o, bool good);
/* Copies a file that rows point into. Returns false as copying_end() does. */
bool copying_file(struct copying *k, struct uftrace_file *f);
/* Writes the notes to copy->notes. */
void copying_notes_out(const struct copying *k);

/*
 * Copy the records of one file to k->o. Failures to write are in its `error`. They return false if
 * out of memory.
 */
bool copying_dat(struct copying *k, struct uftrace_file *file, int64_t tid);
bool copying_perf(struct copying *k, const struct uftrace_file *file);
bool copying_kernel(struct copying *k, const struct uftrace_file *file);
/*
 * Writes the records of several files of one task to k->o, which is the same of all parts, by time.
 * The order of a part's records stays. Requires at least one part and open files. Returns false if
 * out of memory.
 */
struct copying_dat_part {
	struct copying *k;
	struct uftrace_file *file;
	int64_t tid; /* as the part has it */
};
bool copying_dats(const struct copying_dat_part *parts, size_t count);
void copying_extern(struct copying *k, const struct uftrace_file *file);

/*
 * Copies a trace; `bare`: without the payloads of calls. Returns SPUR_FAIL if out of memory, or
 * with copy->err set.
 */
enum spur_status uftrace_copy_part(struct copy *copy, bool bare);

/* Joins the traces. Returns SPUR_FAIL if out of memory, or with copy->err set. */
enum spur_status uftrace_join(struct copy *copy);

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
/*
 * Writes the `info` file that says what `info` does in the order that uftrace needs. Requires the
 * header. A note is made if that is not what `file` has, unless file.p is NULL.
 */
void copying_write_info(struct copying *k, const struct uftrace_info *info, struct text file);
/* Returns the time of the first record of a .dat file that has one, in ns, or 0. */
uint64_t copying_first_time(struct uftrace *u, struct uftrace_file *file);
/* Writes the beginning of a line of task.txt: its kind and its time in ns. */
void copying_stamp(struct out *o, const char *kind, uint64_t time);
/* Writes a task.txt that has all tasks in one process. */
void copying_make_tasks(struct copying *k);
/* Writes the symbols of a module. */
void copying_make_symbols(struct copying *k, const struct uftrace_module *m);

/* Checks of lines, by those who read them. */
bool uftrace_task_line_valid(const struct uftrace *u, struct text line);
bool uftrace_map_line_valid(struct text line);
/* Returns the path of a module in a valid line that has no build-id; empty: none. */
struct text uftrace_map_line_path(struct text line);
/* Gets what the `#` lines at the top of a .sym or .dbg file say; "": nothing. */
void uftrace_sym_head(struct text file, struct text *path, struct text *build_id);
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
