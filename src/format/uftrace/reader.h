/*
 * Shared by the parts of the uftrace reader. Only src/format/uftrace.c and src/format/uftrace/
 * include it.
 */
#ifndef SPUR_FORMAT_UFTRACE_READER_H
#define SPUR_FORMAT_UFTRACE_READER_H

#include <string.h>

#include "base/out.h"
#include "base/source.h"
#include "format/format.h"
#include "format/uftrace/data.h"
#include "format/uftrace/wire.h"
#include "model/enum.h"
#include "model/symbol/demangle.h"

/* Function of a .dbg file. */
struct uftrace_debug {
	uint64_t addr;
	struct text args, ret; /* after the '@' */
	struct text arg_names, ret_name; /* of comments; empty: the file has no names */
	struct text file;
	uint32_t line;
	bool conflict; /* given twice: ignored */
};

struct uftrace_module {
	struct uftrace_module *next, *same_hash;
	struct text path, build_id;
	struct text sym_id; /* the build-id that the .sym file gives; empty if none */
	/* The same of the .dbg file, or else of the binary that has given its symbols */
	struct text other_id;
	bool loaded;
	bool numbered; /* python.fake: one symbol per number */
	struct symtab syms;
	uint32_t *classes; /* by symbol; 0: none yet */
	/* Hash of a name -> symbol + 1, of exported functions; filled when used */
	struct map64 defined;
	bool defined_filled;
	struct uftrace_debug *debug; /* ascending by addr */
	size_t ndebug, debug_cap;
	struct enum_table *enums; /* E: lines */
	struct dwarf_lines *lines; /* of the binary; NULL: none, or not looked for yet */
	bool lines_tried;
	uint64_t extent; /* end of the last symbol */
};

/* One `FUNC@SPEC,...` of the info file. */
struct uftrace_spec {
	struct text func;
	struct pattern *pattern;
	bool exact;
	struct text specs; /* after the '@' */
	struct text module; /* len 0: any */
	struct text simple; /* argauto, retauto: the demangled form of func */
};

struct uftrace_specs {
	struct uftrace_spec *items;
	size_t count, cap;
};

/* How the bytes of a file are held. */
enum uftrace_file_state {
	FILE_CLOSED,
	FILE_FAILED, /* to open */
	FILE_SOURCE, /* by `source` */
	FILE_MAPPED, /* at `bytes`: a TID.dat that is mapped as a whole */
	FILE_COPIED, /* at `bytes`, in the trace's arena: a small TID.dat */
	FILE_GROWING, /* by `source`, which is not waited for: see follow.c */
};

/*
 * A file that rows point into. Its index in uftrace.files is that of its stream. There may be one
 * for each of very many tasks, so that most have no source of their own.
 */
struct uftrace_file {
	union {
		struct source *source;
		const uint8_t *bytes;
	};
	uint32_t size; /* of `bytes` */
	uint16_t cpu;
	uint8_t state; /* enum uftrace_file_state */
};

static_assert(sizeof(struct uftrace_file) <= 16, "there may be very many tasks");

/* A record of a per-CPU file that belongs to a task. */
struct uftrace_side {
	uint64_t time;
	uint64_t off;
	uint32_t len;
	uint16_t file; /* index of the per-CPU file */
	uint8_t what; /* enum uftrace_side_kind */
	uint8_t flags;
	int64_t tid;
};

enum uftrace_side_flag { SIDE_OUT = 1, SIDE_PREEMPTED = 2 };
enum uftrace_side_kind {
	SIDE_SWITCH,
	SIDE_COMM,
	SIDE_FORK,
	SIDE_EXIT,
	SIDE_PERF_OTHER, /* a bookkeeping record */
	SIDE_KERNEL_LOST,
	SIDE_KERNEL
};

/* The task id of bookkeeping records, whose rows have a separate track. */
static const int64_t uftrace_no_task = INT64_MIN;

/* Where a feed is divided: before the record of an ordinary call. */
struct uftrace_cut {
	uint64_t off, time; /* of that record */
	uint32_t depth; /* open calls before it, as it says */
	const struct uftrace_side *side; /* the first record of a per-CPU file after that time */
};

/* Of a feed that is read in parts; one that was divided is part 0. */
struct uftrace_part {
	struct uftrace_cut *cuts; /* of part 0, in order; else NULL */
	size_t ncuts, cuts_cap;
	const struct uftrace_cut *from, *until; /* NULL: the begin of the feed, its end */
};

struct copy; /* format/copy.h */
struct ring_layout; /* ring.h */
struct uftrace_kernel; /* kernel.c */

/*
 * What reading a feed needs. It is made when the feed is first read, and freed at its end, since
 * there may be very many tasks.
 */
struct uftrace_feed {
	struct uftrace_file *file; /* NULL: no .dat */
	int64_t tid;
	uint64_t off; /* of the next record, or line of extern.dat */
	uint64_t prev; /* time of the last record */
	uint64_t past; /* where a record behind the wanted range was seen; 0: none */
	struct addr_cache *cache; /* NULL while no record is read */
	struct uftrace_part *part; /* NULL: the feed is read as a whole */
	const struct uftrace_side *side, *side_end;
	uint32_t depth; /* frames open after the last record, as far as it shows */
	uint8_t entry_bias; /* amount by which ENTRY depths are too large */
	bool started : 1; /* a record has been read: prev and depth are valid */
	bool ended : 1; /* the .dat is at its end */
	bool sought : 1; /* seeking to the start of the wanted time range was tried */
	bool held : 1; /* its next record is at or after the bound: a side row comes first */
	bool is_extern : 1;
	bool grows : 1; /* more records may come: the file is followed */
	bool settled : 1; /* of such a file: nothing has come since the last look */
	bool blind : 1; /* payloads were skipped, which was told */
};

/* String ids of the names that arguments and fields have. */
struct uftrace_names {
	uint32_t time, type, more, magic, depth, addr, payload, misc, size, pid, ppid, tid, comm,
		msg, data, address, value, cpu, common_type, from, lost;
};

struct uftrace {
	struct uftrace_data d;
	struct spur_trace *t;
	char *dir; /* NULL: only one .dat, without its directory */
	bool swap; /* data's byte order is not the machine's */
	bool guess_order; /* `info` is missing: the first record shows the byte order */
	bool qemu; /* made by QEMU's plugin */
	bool shallow; /* the recorder kept at most 1,024 levels: use recorded depths */
	struct uftrace_module *modules;
	struct map64 module_index; /* hash of path and build-id -> module */
	struct uftrace_module *python; /* NULL: none */
	struct uftrace_specs user, autoargs, autorets;
	struct enum_table *enums; /* enumauto */
	struct map64 event_classes; /* event id -> class; under lock */
	struct map64 event_names; /* events.txt: id -> string id */
	struct key_index unknown_classes; /* by address without symbol; under lock */
	uint32_t unknown_rest; /* the class of all others once there are too many; 0: no need */
	struct uftrace_file *files; /* .dat by task feed, then perf, kernel, extern */
	size_t nfiles, files_cap;
	struct uftrace_side *sides; /* by (tid, time) */
	size_t nsides, side_bytes;
	struct uftrace_kernel *kernel; /* NULL: no kernel data */
	struct uftrace_module *kernel_syms; /* kallsyms; NULL: no kernel data */
	struct source **slurped; /* small files */
	size_t nslurped, slurped_cap;
	struct source *borrowed; /* the trace's own source: not closed here */
	struct uftrace_follow *follow; /* NULL: the data does not grow */
	struct diag_log *log; /* of what is found in small files */
	size_t lines_told; /* bytes of task.txt whose damage was told */
	struct uftrace_names names;
	struct record_layout layouts[LAYOUTS]; /* of ENTRY, EXIT, and both with payload */
	uint32_t extern_feed; /* the feed of extern.dat; SPUR_NONE: no such file */
	struct uftrace_feed over; /* stands for the state of each feed that has ended */
};

/*
 * Address cache of a feed: open addressing, at most an eighth full, so that a look-up rarely needs
 * a second slot. An EXIT first tries the slot that the ENTRY of its depth used.
 */
struct addr_slot {
	uint64_t key; /* address or event_key(); no_key: empty */
	uint64_t name_cls; /* as in a row */
};

enum { RECENT = 64 };

/* Cached addresses hold for records with from <= time < until. */
struct addr_window {
	uint64_t from, until;
	const struct uftrace_session *session;
};

struct addr_cache {
	struct addr_slot *slots;
	struct addr_window window;
	/* odd; unpredictable to an attacker, so that files cannot be made to cause collisions */
	uint64_t mult;
	uint32_t cap, count; /* cap: power of two */
	uint32_t shift; /* 64 - log2(cap) */
	uint32_t recent[RECENT]; /* by depth modulo RECENT: index of the slot found last */
};

/* Returns true if the feed reads a TID.dat. */
static inline bool uftrace_has_dat(const struct uftrace_feed *uf)
{
	return uf->file && !uf->is_extern;
}

/* Returns the state that reading feed `i` of the trace begins with. */
struct uftrace_feed uftrace_feed_at(const struct uftrace *u, size_t i);
/* Returns the state of a feed that is read, or NULL if out of memory. */
struct uftrace_feed *uftrace_feed_state(const struct uftrace *u, struct feed *f);

/* Returns the offset at which the feed's part ends. */
static inline uint64_t uftrace_part_end(const struct uftrace_feed *uf)
{
	return uf->part && uf->part->until ? uf->part->until->off : UINT64_MAX;
}

static inline uint32_t uftrace_file_stream(const struct uftrace *u, const struct uftrace_file *f)
{
	return (uint32_t)(f - u->files);
}

/* Returns the file's name below the directory, which ends with a NUL. */
static inline struct text uftrace_file_name(const struct uftrace *u, const struct uftrace_file *f)
{
	return text_of(u->t->streams[f - u->files].path);
}

/*
 * Returns a source with the bytes of an open file, which may be `view`, or NULL if the file is not
 * open.
 */
static inline struct source *uftrace_file_source(const struct uftrace_file *f, struct source *view)
{
	if (f->state < FILE_SOURCE)
		return NULL;
	if (f->state == FILE_SOURCE)
		return f->source;
	if (f->state == FILE_GROWING) {
		*view = source_view(f->source->data, f->source->size);
		return view;
	}
	*view = source_view(f->bytes, f->size);
	view->paged = f->state == FILE_MAPPED;
	return view;
}

/* Returns the address in a call's word, with kernel addresses extended. */
static inline uint64_t record_address(uint64_t word)
{
	return (uint64_t)((int64_t)word >> ADDRESS_SHIFT);
}

static inline uint64_t hash_text(struct text t, uint64_t seed)
{
	return hash_bytes(t.p, t.len, seed);
}

static inline bool same_text(struct text a, struct text b)
{
	return a.len == b.len && (!a.len || memcmp(a.p, b.p, a.len) == 0);
}

/*
 * Reads a whole file of the directory (or NAME.gz, NAME.zst), mapped until close. Returns false if
 * it is missing.
 */
bool uftrace_slurp(struct uftrace *u, const char *name, struct text *out);
/* Adds a diagnostic about a small file. */
#define uftrace_say(u, level, code, file, off, ...) \
	diag_add((u)->log, level, code, file, off, 0, __VA_ARGS__)
/* The same for what may be found while rows are read. Called with t->lock held. */
#define uftrace_say_locked(u, level, code, file, off, ...) \
	diag_add(&(u)->t->diag, level, code, file, off, 0, __VA_ARGS__)

void uftrace_intern_names(struct uftrace *u);
void uftrace_read_info(struct uftrace *u);
/*
 * Returns a wait status in words, in `buf` or static; text that is not a number is returned
 * unchanged.
 */
enum { UFTRACE_EXIT_TEXT = 80 };
struct text uftrace_exit_text(struct text status, char buf[UFTRACE_EXIT_TEXT]);
/* Adds what `info` says of the recording to the trace's info. Returns false if out of memory. */
bool uftrace_add_info(struct uftrace *u);
void uftrace_set_clock(struct uftrace *u);
void uftrace_read_tasks(struct uftrace *u);
/*
 * Reads the lines of task.txt, `whole`, in place of those that were read, of which they are a
 * continuation. What points to sessions and tasks is invalid then. Returns false if out of memory.
 */
bool uftrace_renew_tasks(struct uftrace *u, struct text whole);
void uftrace_free_tasks(struct uftrace_data *d);
/*
 * Reads the maps of the sessions. `old`: of those before, which may be fewer, maps are taken over;
 * NULL: this is the first reading. Returns false if out of memory.
 */
bool uftrace_read_maps(struct uftrace *u, struct uftrace_data *old);
bool uftrace_read_events(struct uftrace *u);

/* Ids of tasks. Free with mem_table_free(). */
struct uftrace_tids {
	int64_t *tids;
	size_t count, cap;
};

bool uftrace_add_tid(struct uftrace_tids *l, int64_t tid);
/* Returns true if the name is that of a TID.dat, packed or not, and sets the id. */
bool uftrace_dat_tid(const char *name, int64_t *tid);
/* Lists the tasks that have a file, in ascending order. Returns false if out of memory. */
bool uftrace_list_dats(const char *dir, struct uftrace_tids *l);
/* Reports tasks that `info` names and that have no file. */
void uftrace_name_missing(struct uftrace *u, const struct uftrace_tids *have);
/*
 * Add the track of a thread, and of its process if `by_pid` does not have it, or one of no task.
 * Return SPUR_NONE if out of memory.
 */
uint32_t uftrace_thread_track(struct uftrace *u, struct map64 *by_pid, int64_t tid);
uint32_t uftrace_other_track(struct uftrace *u, const char *name);

/* Directories that are being written (follow.c). */
/* Opens the directory as one feed, and waits for its first task. */
enum spur_status uftrace_follow_open(struct uftrace *u, struct spur_error *err);
/* struct spur_format.next */
enum spur_status uftrace_follow_next(struct uftrace_follow *f, struct batch *b);
void uftrace_follow_close(struct uftrace_follow *f);
/*
 * While locked, sessions and sources do not change. A thread may lock it twice, but not with
 * t->lock held. `f` may be NULL.
 */
void uftrace_follow_lock(struct uftrace_follow *f);
void uftrace_follow_unlock(struct uftrace_follow *f);
bool uftrace_read_specs(struct uftrace *u);

/*
 * Returns the module of a path and build-id, which all maps share. Returns NULL if out of memory.
 */
struct uftrace_module *uftrace_module(struct uftrace *u, struct text path, struct text build_id);
/* Reads .sym and .dbg, or the ELF file. Called with t->lock held. */
void uftrace_load_module(struct uftrace *u, struct uftrace_module *m);
/*
 * Returns the .dbg entry of the function that begins at the address, or NULL. Requires a loaded
 * module.
 */
const struct uftrace_debug *uftrace_debug(const struct uftrace_module *m, uint64_t addr);
/* Finds file and line of a symbol in the binary's debug information. Called with t->lock held. */
bool uftrace_binary_line(struct uftrace *u, struct uftrace_module *m, uint64_t addr,
			 const char **file, unsigned *line);
void uftrace_free_modules(struct uftrace *u);

/*
 * Returns the class of a function record, or 0 if out of memory. Takes the lock; reports problems
 * to `diag`.
 */
uint32_t uftrace_class(struct uftrace *u, const struct uftrace_session *s, uint64_t time,
		       uint64_t addr);
uint32_t uftrace_event_class(struct uftrace *u, uint64_t id);
uint32_t uftrace_lost_class(struct uftrace *u);
/*
 * Return the classes of bookkeeping records: perf records that belong to no task, and lines of
 * extern.dat without a message.
 */
uint32_t uftrace_perf_class(struct uftrace *u);
uint32_t uftrace_line_class(struct uftrace *u);
/* Returns the number of arguments in the payload of an event row. */
uint8_t uftrace_event_args(struct uftrace *u, const struct spur_event *row);
/* Returns the symbol name of an address, or NULL; for pointers. */
const char *uftrace_symbol_name(struct uftrace *u, const struct uftrace_session *s, uint64_t time,
				uint64_t addr);
/*
 * Returns the string id of NAME or NAME+0xOFFSET, for a symbol at or before the address, or 0 if
 * there is no symbol or if out of memory.
 */
uint32_t uftrace_place_name(struct uftrace *u, const struct uftrace_session *s, uint64_t time,
			    uint64_t addr);
/*
 * SPEC uftrace/callsite: returns the string id of FILE:LINE of the call that returns to the
 * address, from the binary's debug information if lines are wanted, else that of the place's name;
 * 0: unknown.
 */
uint32_t uftrace_call_place(struct uftrace *u, const struct uftrace_session *s, uint64_t time,
			    uint64_t addr);
/* Returns true if the address lies in a module of the session. */
bool uftrace_addr_known(const struct uftrace *u, const struct uftrace_session *s, uint64_t time,
			uint64_t addr);
/* Narrows the range around `time` to times at which the session's modules do not change. */
void uftrace_modules_span(const struct uftrace_session *s, uint64_t time, uint64_t *from,
			  uint64_t *until);

/*
 * SPEC uftrace/simple-name: makes the plans of a function, NULL if it has no payload. `simple` is
 * its demangled name in that form. Called with t->lock held.
 */
bool uftrace_plans(struct uftrace *u, const struct uftrace_module *m, const struct symbol *sym,
		   const char *simple, const struct plan **entry, const struct plan **exit);

/* Returns true if the whole list consists of argument specifications. */
bool uftrace_specs_valid(struct uftrace *u, struct text specs);

/*
 * Scores `len` bytes as the beginning of a TID.dat, from 0 (it is not) to 60. `named`: the file has
 * such a name, which makes up for a short beginning, but not for invalid records.
 */
int uftrace_score_dat(bool named, const uint8_t *p, size_t len);

/* Returns true if feeds can seek, since rows do not depend on earlier records. */
bool uftrace_can_seek(const struct uftrace *u);
/*
 * SPEC uftrace/seek: moves the feed forward to shortly before the first record at `time` or later.
 * Does not move in damaged files.
 */
void uftrace_seek(struct uftrace *u, struct uftrace_feed *uf, struct diag_log *diag, int64_t time);
/*
 * Finds the record of an ordinary call that lies at or shortly after `off`, where the feed can be
 * divided. Returns false if none is found. Requires that the file is open and all of it is there.
 */
bool uftrace_find_cut(struct uftrace *u, const struct uftrace_feed *uf, uint64_t off,
		      struct uftrace_cut *cut);
/* struct spur_format.last */
bool uftrace_last(struct spur_trace *t, int64_t *ts);

/* Parts (parts.c); see struct spur_format. */
uint32_t uftrace_divide(struct spur_trace *t, struct feed *f, uint64_t bytes, enum parts_use use);
bool uftrace_part_open(struct spur_trace *t, const struct feed *f, uint32_t number,
		       const struct feed *before, struct feed *part);
bool uftrace_part_follows(const struct feed *before, const struct feed *part);
void uftrace_part_close(struct feed *part);
/*
 * Returns true if the next record of a per-CPU file comes before the next record of TID.dat, or
 * nothing of that is left.
 */
bool uftrace_side_is_due(const struct uftrace_feed *uf);

/* The .dat decoder. */
enum spur_status uftrace_dat_next(struct uftrace *u, struct feed *f, struct uftrace_feed *uf,
				  struct batch *b, uint64_t bound);
/* Frees what only reading needs; done at the feed's end, and again when the trace is closed. */
void uftrace_dat_close(struct uftrace_feed *uf);
/*
 * Opens a file, if it is not open yet. Returns false if that fails, which is reported to `diag` the
 * first time.
 */
bool uftrace_open_file(struct uftrace *u, struct uftrace_file *file, struct diag_log *diag);
/* The same for a TID.dat: if it can be held without a source, it is. */
bool uftrace_open_dat(struct uftrace *u, struct uftrace_file *file, struct diag_log *diag);

/* Per-CPU files. */
/*
 * Adds a file that rows point into, by name. Returns NULL if out of memory. Pointers to earlier
 * ones become invalid.
 */
struct uftrace_file *uftrace_add_file(struct uftrace *u, const char *name, uint16_t cpu);
bool uftrace_read_perf(struct uftrace *u);
enum spur_status uftrace_perf_args(struct uftrace *u, const struct spur_event *ev,
				   struct spur_args *args);
enum spur_status uftrace_perf_fields(struct uftrace *u, const struct spur_event *ev,
				     struct spur_args *args);
bool uftrace_read_kernel(struct uftrace *u);
enum spur_status uftrace_kernel_row(struct uftrace *u, struct feed *f, const struct uftrace_side *s,
				    struct spur_event *row);
enum spur_status uftrace_kernel_args(struct uftrace *u, const struct spur_event *ev,
				     struct spur_args *args);
enum spur_status uftrace_kernel_fields(struct uftrace *u, const struct spur_event *ev,
				       struct spur_args *args);
/* Requires kernel files. */
const struct ring_layout *uftrace_kernel_layout(const struct uftrace *u);
void uftrace_free_kernel(struct uftrace *u);
/*
 * Makes the fields of a tracepoint's events; sets `*known` if the id is that of a tracepoint.
 * Returns false if out of memory.
 */
bool uftrace_kernel_schema(struct uftrace *u, uint64_t id, const struct spur_field **fields,
			   uint32_t *count, bool *known);
/* Gets name and category of a tracepoint. Returns false if the id is not that of a tracepoint. */
bool uftrace_kernel_event(const struct uftrace *u, uint64_t id, struct event_class *c);
bool uftrace_text(struct spur_trace *t, const struct spur_event *ev, struct out *o);

/* The index over them. */
/* Adds and opens the files PREFIXn.dat by ascending n and gives each one's index to `read`. */
bool uftrace_each_cpu(struct uftrace *u, const char *prefix,
		      bool (*read)(struct uftrace *u, uint16_t index));
bool uftrace_has_cpus(struct uftrace *u, const char *prefix);
bool uftrace_add_side(struct uftrace *u, const struct uftrace_side *s);
void uftrace_sort_sides(struct uftrace *u);
enum spur_status uftrace_side_row(struct uftrace *u, struct feed *f, struct uftrace_feed *uf,
				  const struct uftrace_side *s, struct spur_event *row);
/*
 * Gets the next row of extern.dat. Returns false at the end, or if out of memory. Requires that the
 * file is open.
 */
bool uftrace_extern_row(struct uftrace *u, struct feed *f, struct uftrace_feed *uf,
			struct spur_event *row);
/* Returns true if rows of the stream come from per-CPU files or extern.dat. */
static inline bool uftrace_is_side(const struct uftrace *u, uint32_t stream)
{
	return u->files[stream].cpu != SPUR_NO_CPU;
}

enum spur_status uftrace_side_args(struct uftrace *u, const struct spur_event *ev,
				   struct spur_args *args);
enum spur_status uftrace_side_fields(struct uftrace *u, const struct spur_event *ev,
				     struct spur_args *args);

enum spur_status uftrace_args(struct spur_trace *t, const struct spur_event *ev,
			      struct spur_args *args);
enum spur_status uftrace_fields(struct spur_trace *t, const struct spur_event *ev,
				struct spur_args *args);
/* Fills u->layouts, when the byte order is known. */
void uftrace_make_layouts(struct uftrace *u);
/* See struct spur_format. */
const struct record_layout *uftrace_layout(struct spur_trace *t, const struct spur_event *ev,
					   const uint8_t **raw);
/* Returns the record's bytes, or NULL if they are not available. */
const uint8_t *uftrace_raw(const struct uftrace *u, const struct spur_event *ev);

/* Copies (copy.c); see struct spur_format. */
enum spur_status uftrace_copy(struct copy *copy);
/* recover.c: spur_format.recover */
enum spur_status uftrace_recover(const char *path, struct format_recovery *r,
				 struct spur_error *err);
bool uftrace_joins(const struct copy *copy);
bool uftrace_is_dir(const struct spur_trace *t);

/* Records (record.c); see struct spur_format. */
void uftrace_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place);
bool uftrace_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2]);
const struct spur_schema *uftrace_schema(struct spur_trace *t, const struct event_class *cls);

#endif
