/*
 * Shared by the parts of the uftrace writer (write*.c), for sources of other formats. Records are
 * kept with the number of their symbol; symbols get addresses when all are known, so that the same
 * trace gives the same bytes whatever order its threads were read in.
 */
#ifndef SPUR_FORMAT_UFTRACE_WRITING_H
#define SPUR_FORMAT_UFTRACE_WRITING_H

#include "base/key_index.h"
#include "base/map64.h"
#include "base/spool.h"
#include "format/uftrace/store.h"
#include "format/uftrace/wire.h"
#include "format/writer.h"

enum uft_loss {
	LOST_NAME = LOSS_OWN,
	LOST_ID,
	LOST_TYPE,
	LOST_TEXT,
	LOST_ARGS,
	LOST_MANY,
	LOST_PAYLOAD,
	LOST_TIME,
	LOST_GAP,
	LOST_DEPTH,
	UFT_LOSSES
};

enum {
	UFT_ARGS = 32, /* of a call */
	UFT_PAYLOAD = 1016, /* bytes; the recorder stores no more */
	UFT_SYMBOLS = 1000000, /* at most; numbers of user events end there, too */
	UFT_SIGNATURES = UFT_SYMBOLS / 2, /* symbols from which on no more are made for arguments */
	UFT_SPACING = 64, /* between addresses of symbols without one of their own */
};

/* One argument in a payload. */
struct uft_arg {
	uint32_t name; /* string id */
	char letter; /* of its specification: i u x c s p f */
	uint8_t bits; /* 0: as the letter implies */
};

/* What a record's address stands for. */
enum uft_use { USE_CALL, USE_RETURN, USE_EVENT };

/*
 * A function with arguments of certain types (a function whose calls differ in that is several
 * symbols of one name), or an event.
 */
struct uft_symbol {
	struct uft_symbol *next; /* of equal hash */
	uint32_t number;
	uint32_t cls;
	uint8_t use; /* enum uft_use */
	uint8_t kind; /* of an event */
	uint8_t nargs;
	bool odd_name; /* it is not written as it is; set at the end */
	struct uft_module *module; /* set at the end */
	const struct uft_symbol *same; /* one before it that is equal, or NULL; set at the end */
	uint64_t rel; /* address in its module, or id of an event; set at the end */
	struct uft_arg args[]; /* of a call, or the value that it returns */
};

/* The records of a thread, while they come. */
struct uft_task {
	struct spool_seq seq;
	uint32_t track;
	uint32_t depth; /* open calls */
	uint32_t *open; /* their symbols */
	size_t open_cap;
	uint64_t first; /* time of the first record; UINT64_MAX: no record yet */
	uint64_t last;
	uint64_t calls; /* records of calls */
	uint64_t events; /* others */
	bool switched; /* it has rows of the scheduler */
	/* At the end: */
	uint32_t rank; /* in the order of tracks */
	uint32_t process; /* track */
	int32_t tid, pid;
};

/*
 * A record before it has its address: its time; then the lower 16 bits of its word, the symbol's
 * number, bits 10 and above of the depth, and the length of the payload in units of 8 bytes.
 */
enum {
	ITEM_SYMBOL = 16, /* shifts */
	ITEM_OVER = 40,
	ITEM_WORDS = 56,
	ITEM_OVER_MAX = 0xffff,
};

/* A row of the scheduler. */
struct uft_switch {
	uint64_t time;
	uint32_t track;
	uint16_t cpu;
	uint16_t misc;
};

/* A line of extern.dat; its text follows. */
struct uft_line {
	uint64_t time;
	uint32_t track;
	uint32_t len;
};

struct uft {
	struct write *write;
	struct spur_trace *trace;
	struct spool spool;
	pthread_mutex_t lock; /* all below, while rows come */
	struct arena arena; /* symbols */
	struct map64 by_hash; /* -> symbol */
	struct uft_symbol **symbols;
	size_t nsymbols, symbols_cap;
	struct uft_task *tasks; /* of lanes that are closed; scratch memory, as all is of a task */
	size_t ntasks, tasks_cap;
	struct uft_seqs {
		struct spool_seq *items; /* of lanes that are closed */
		size_t count, cap;
	} switches, lines;
	uint32_t deepest; /* largest depth */
	bool odd_names; /* a function's name is not written as it is */
	struct kept *kept; /* records of a uftrace source; else NULL */
	bool bare; /* a uftrace source's arguments are not wanted (atomic) */
	bool failed; /* out of memory when a lane was closed */
};

struct uft_lane {
	struct uft *self;
	struct map64 by_track; /* -> place in `tasks` + 1 */
	struct uft_task *tasks;
	size_t ntasks, tasks_cap;
	struct uft_task *task; /* the one of the last row */
	struct map64 plain; /* class << 8 | use << 5 | kind -> number of the symbol without args */
	struct map64 by_hash; /* -> symbol */
	struct spool_seq switches, lines;
	struct spur_args args;
	struct out text; /* of an argument or a line */
	struct kept *kept;
	uint32_t deepest;
	uint8_t payload[UFT_PAYLOAD];
	size_t len; /* of the payload */
	struct uft_arg sig[UFT_ARGS];
	uint8_t nsig;
};

/* struct spur_writer's row() and end() */
bool uft_row(void *lane, const struct spur_event *row, struct out *o);
bool uft_end(void *lane, const struct spur_event *row, const struct write_end *end, struct out *o);
/* Decodes and encodes the arguments of a call's row: l->sig, l->payload. False: out of memory. */
bool uft_args(struct uft_lane *l, const struct spur_event *row, bool is_return);
/* Appends the arguments as text, `name=value` separated by blanks. False: out of memory. */
bool uft_args_text(struct uft_lane *l, const struct spur_event *row, struct out *o);

/* The path of a module, and the functions in it. */
struct uft_module {
	const char *path;
	const char *file; /* name of its files, without ending */
	uint64_t base;
	size_t first, count; /* in the sorted symbols */
	uint64_t end; /* relative */
};

struct uft_plan {
	struct uft_symbol **order; /* functions by module and address, then events by name */
	size_t nfunctions;
	struct uft_module *modules;
	size_t nmodules, modules_cap;
	bool has_args;
};

/* Gives all symbols their addresses. Returns false if out of memory. */
bool uft_plan_make(struct uft *u, struct uft_plan *p);
void uft_plan_free(struct uft_plan *p);
/* Gives all tasks their numbers, and sorts them by these. Returns false if out of memory. */
bool uft_tasks_number(struct uft *u);
/* Writes the name of a symbol. */
void uft_name_out(const struct uft *u, const struct uft_symbol *s, struct out *o);
/* Writes text without bytes that end lines or words; `encode`: as %XX, else as '?'. */
void uft_text_out(struct out *o, const char *s, size_t len, bool encode);
/* Write all files. Return false if out of memory, or with write.error set. */
bool uft_files_write(struct uft *u, const struct uft_plan *p);
bool uft_tables_write(struct uft *u, const struct uft_plan *p);
/* Creates and ends a file of the output; the same. */
bool uft_file_begin(struct uft *u, const char *name, struct out *o);
bool uft_file_end(struct uft *u, const char *name, struct out *o, bool good);

#endif
