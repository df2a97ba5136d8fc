/*
 * The FXT writer's state, shared by its parts: tables (write_table.c), providers, threads and
 * clocks (write_names.c), arguments (write_args.c), and the rows (write.c).
 *
 * All rows come by time in one lane. Words that a record needs, such as a string that has no index
 * yet, are written before it. A record has one stamp: entries of a table with that stamp are in
 * use, and are not replaced.
 */
#ifndef SPUR_FORMAT_FXT_WRITE_H
#define SPUR_FORMAT_FXT_WRITE_H

#include "format/fxt/reader.h"
#include "format/fxt/write_record.h"
#include "format/writer.h"

enum fxt_loss {
	FXT_LOST_TIME = LOSS_OWN,
	FXT_LOST_TEXT,
	FXT_LOST_ARGS,
	FXT_LOST_NESTED,
	FXT_LOST_TYPE,
	FXT_LOST_PAYLOAD,
	FXT_LOST_KIND,
	FXT_LOST_NAME,
	FXT_LOST_SWITCH,
	FXT_LOST_END,
	FXT_LOST_LARGE,
	FXT_LOSSES
};
static_assert((int)FXT_LOSSES <= (int)LOSS_REASONS, "a loss table holds them");

/* --- tables of indices --- */

enum { FXT_TABLE_PAGE = 4096, FXT_SPANS = 256 };

/*
 * Keys that have an index from 1 on. When all indices are in use, the clock algorithm chooses the
 * one that is replaced: the hand passes entries that were used since it last came by.
 */
struct fxt_table {
	uint32_t limit; /* indices: 1 to limit - 1 */
	uint32_t next; /* never used from here on */
	uint32_t hand;
	uint32_t *keys, *stamps; /* by index; stamps are not 0 */
	uint8_t *used;
	uint16_t **pages; /* key -> index; 0: none */
	size_t npages;
};

void fxt_table_init(struct fxt_table *t, uint32_t limit);
void fxt_table_free(struct fxt_table *t);
/*
 * Returns the index of a key and sets *fresh if it was given to it by this call; 0 if out of
 * memory.
 */
uint32_t fxt_table_put(struct fxt_table *t, uint32_t key, uint32_t stamp, bool *fresh);

static inline uint32_t fxt_table_find(struct fxt_table *t, uint32_t key, uint32_t stamp)
{
	const size_t page = key / FXT_TABLE_PAGE;
	uint32_t index;

	if (page >= t->npages || !t->pages[page])
		return 0;
	index = t->pages[page][key % FXT_TABLE_PAGE];
	t->used[index] = 1;
	t->stamps[index] = stamp;
	return index;
}

/* --- the writer --- */

/* A provider of the output. */
struct fxt_speaker {
	uint32_t id;
	uint32_t name; /* string id */
	bool announced;
	bool plain; /* its clock counts ns */
	const struct fxt_provider *from; /* of the source; NULL: the only one */
	struct fxt_clock clock; /* unless plain */
	struct fxt_table strings, threads;
};

/* A track of the source as a thread of the output. */
struct fxt_identity {
	uint64_t pid, tid;
	uint32_t of; /* 1 + the track that it is drawn on; 0: not known yet */
	bool registered; /* a thread record told its process */
};

/* A row that leaves the CPU, until the row comes that gets it. */
struct fxt_pending {
	bool is;
	uint8_t nargs;
	uint16_t cpu;
	int64_t ts;
	uint64_t off, ticks, tid, state;
	uint64_t legacy; /* of a legacy record: its header; 0: not one */
	uint32_t track;
	struct fxt_build args;
};

struct fxt_write {
	struct write *w;
	struct spur_trace *t;
	struct fxt *from; /* the source's reader if it is FXT, else NULL */
	bool in_ticks; /* times are the source's ticks */
	bool begun; /* the clock is written */
	bool has_lost; /* the output says that records are missing */
	int64_t base; /* ticks that times in ns count from, so that none is negative */
	int64_t highest; /* of the times written; INT64_MIN: none */
	uint32_t stamp;
	uint32_t losses; /* of the row: 1 << reason */
	struct fxt_speaker *speakers;
	uint32_t nspeakers;
	struct fxt_speaker *speaking; /* NULL: no provider was announced */
	struct fxt_speaker *of; /* the row's provider, from offset `of_from` to before `of_to` */
	uint64_t of_from, of_to;
	struct fxt_identity *identities; /* by track */
	size_t identities_cap;
	struct map64 pids, tids; /* of ids -> 1 + track */
	struct map64 told; /* koid -> 1 + name, string id */
	struct map64 modules; /* process's track << 16 | module -> name, string id */
	uint64_t made; /* ids */
	struct map64 joined[2]; /* name << 32 | part -> id of NAME.PART, NAME[PART] */
	struct spur_args values;
	bool cut; /* a text or blob of `values` was longer than the record */
	uint8_t nargs; /* of the record, in `args` */
	struct fxt_build record, args;
	struct fxt_pending pending;
	/*
	 * SPEC fxt/order: spans of equal times, of which the last is written first: the outer one
	 * is the one that was written when both had ended.
	 */
	struct spur_event spans[FXT_SPANS];
	uint32_t nspans;
};

static inline void fxt_lose(struct fxt_write *l, enum fxt_loss why)
{
	l->losses |= (uint32_t)1 << why;
}

/* write_names.c; results are false or 0 if out of memory */
bool fxt_names_open(struct fxt_write *l);
void fxt_names_close(struct fxt_write *l);
/* Writes the clock, before the first row. */
bool fxt_write_clock(struct fxt_write *l, int64_t first, struct out *o);
/* Makes the row's provider the speaking one. */
bool fxt_change_speaker(struct fxt_write *l, const struct spur_event *row, struct out *o);
static inline bool fxt_write_speaker(struct fxt_write *l, const struct spur_event *row,
				     struct out *o)
{
	return (l->of && l->of == l->speaking && row->off >= l->of_from && row->off < l->of_to) ||
	       fxt_change_speaker(l, row, o);
}

/* Sets the index that a string has in the speaking provider's table. False: it has none yet. */
static inline bool fxt_string_known(struct fxt_write *l, uint32_t string, uint16_t *ref)
{
	*ref = 0;
	if (string)
		*ref = (uint16_t)fxt_table_find(&l->speaking->strings, string, l->stamp);
	return *ref || !string;
}

/* The same of a track's thread. */
static inline bool fxt_thread_known(struct fxt_write *l, uint32_t track, uint8_t *ref)
{
	*ref = 0;
	if (track < l->identities_cap && l->identities[track].of)
		*ref = (uint8_t)fxt_table_find(&l->speaking->threads, l->identities[track].of - 1,
					       l->stamp);
	return *ref;
}

/*
 * Sets the ticks of a row, and those of the end of a SPAN, where a tick is a ns. Returns false if
 * fxt_write_ticks() has to.
 */
static inline bool fxt_ticks_quick(struct fxt_write *l, const struct spur_event *row,
				   uint64_t ticks[2])
{
	const struct fxt_speaker *s = l->speaking;
	int64_t n, end;

	/* The record's own ticks are the row's times, unless they had to be clamped. */
	if (!s->plain && (!s->clock.plain || (row->flags & SPUR_F_RETIMED) ||
			  (row->kind == SPUR_SPAN && row->dur <= 0)))
		return false;
	if (__builtin_sub_overflow(row->ts, l->w->zero, &n) ||
	    __builtin_add_overflow(n, l->base, &n) || n < 0 || row->ts == INT64_MAX ||
	    __builtin_add_overflow(row->ts, row->dur > 0 ? row->dur : 0, &end) || end == INT64_MAX)
		return false;
	ticks[0] = (uint64_t)n;
	ticks[1] = (uint64_t)n + (row->kind == SPUR_SPAN && row->dur > 0 ? (uint64_t)row->dur : 0);
	l->highest = row->ts > l->highest ? row->ts : l->highest;
	return true;
}

/* The reference to a string in the speaking provider's table. */
bool fxt_write_string(struct fxt_write *l, uint32_t string, struct fxt_string_ref *ref,
		      struct out *o);
/* The same with an index for the empty string too, which otherwise is 0. */
bool fxt_write_index(struct fxt_write *l, uint32_t string, struct fxt_string_ref *ref,
		     struct out *o);
/* The reference to the thread of a track. */
bool fxt_write_thread(struct fxt_write *l, uint32_t track, struct fxt_thread_ref *ref,
		      struct out *o);
/*
 * The same for a record that has the thread's id alone: SPEC fxt/thread-process: its process is
 * told before.
 */
const struct fxt_identity *fxt_write_by_tid(struct fxt_write *l, uint32_t track, struct out *o);
/* A kernel object names a koid: what is told already need not be told at the end. */
bool fxt_write_told(struct fxt_write *l, uint64_t koid, uint32_t name);
/* Names of threads and processes that were not told yet, at the end. */
bool fxt_write_rest(struct fxt_write *l, struct out *o);
/* Sets the ticks of a row, and those of the end of a SPAN. */
bool fxt_write_ticks(struct fxt_write *l, const struct spur_event *row, uint64_t ticks[2],
		     struct out *o);
/*
 * SPEC fxt/time-mark: makes the time of a record that has none the row's, by a mark before it if
 * need be.
 */
bool fxt_write_mark(struct fxt_write *l, const struct spur_event *row, struct out *o);
/* Writes the record that the shape describes. */
bool fxt_write_record(struct fxt_write *l, const struct fxt_shape *s, struct out *o);
/* The same with a mark, its text and the words after it. */
bool fxt_write_marked(struct fxt_write *l, const struct fxt_shape *s, const char *mark,
		      const uint64_t *words, unsigned count, struct out *o);

/* write_args.c */
/*
 * Encodes arguments into l->args, and their number into l->nargs. Returns false if out of memory.
 */
bool fxt_write_values(struct fxt_write *l, const struct spur_value *items, size_t count,
		      struct out *o);
/* Decodes the arguments of a row into l->values. Returns false if out of memory. */
bool fxt_write_decode(struct fxt_write *l, const struct spur_event *row);

#endif
