/*
 * Copies of recordings (format/copy.h): header and chunks of each file as they are stored, without
 * what is not kept or cannot be read. SPEC spur/copy
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/err.h"
#include "format/spur/copy.h"

enum { NAME_ROOM = 256, FREE_PID = INT32_MAX, NAMES_MAX = 65536 };

/* What the files of a copy have in common. */
struct run {
	struct copy *copy;
	struct spb_copy_counts counts;
	struct map64 pids; /* from a pid in the output to the input that has it + 1 */
	struct map64 renamed; /* from an input and a pid to the pid that stands for it */
	struct map64 names; /* from a pid and a start time: taken */
	uint32_t next_pid;
	uint64_t moved; /* processes that got another pid */
};

static bool swaps(void)
{
	return order_swaps(false);
}

static bool all_zero(const uint8_t *p, const uint8_t *end)
{
	while (p < end && !*p)
		p++;
	return p == end;
}

static bool stopped(const struct spb_copying *c)
{
	return (c->copy->stop && *c->copy->stop) || c->out->error;
}

/* --- a file --- */

/*
 * SPEC spur/clock: the pair that ticks are scaled by may be that of a chunk that the copy lacks, so
 * the header gets it.
 */
static void end_keep(const struct spb_copying *c, uint8_t *h)
{
	const uint64_t mono = load64(h + SPB_BEGIN_AT + 8, swaps());
	const uint64_t real = load64(h + SPB_BEGIN_AT + 16, swaps());
	const uint64_t last = c->s->last_mono + (uint64_t)c->part->shift;

	if (load64(h + SPB_END_AT, swaps()) >= c->s->last)
		return;
	store64(h + SPB_END_AT, c->s->last, swaps());
	store64(h + SPB_END_AT + 8, last, swaps());
	store64(h + SPB_END_AT + 16, real ? real + (last - mono) : 0, swaps());
}

static void header_out(struct spb_copying *c)
{
	uint8_t h[SPB_HEADER];

	memcpy(h, c->s->data, sizeof(h));
	store32(h + SPB_PID_AT, c->pid, swaps());
	store64(h + SPB_START_TIME_AT, c->start, swaps());
	if (c->part->shift) {
		/* The first pair holds also where its ticks are 0. */
		const uint64_t mono = load64(h + SPB_BEGIN_AT + 8, swaps());

		store64(h + SPB_BEGIN_AT + 8, mono + (uint64_t)c->part->shift, swaps());
		spb_copy_shift(c, h + SPB_END_AT);
	}
	if (!spb_copy_has(c, 0))
		store64(h + SPB_LOST_AT, 0, swaps());
	/* Bad chunks, which opening found, are left out too. */
	if (c->part->kept || c->copy->repair || diag_count(&c->s->t->diag, DIAG_DAMAGE))
		end_keep(c, h);
	out_bytes(c->out, h, sizeof(h));
}

/* A chunk that has no records: kept where the copy is to have the same bytes. SPEC spur/tail */
static bool unused_copy(struct spb_copying *c, const uint8_t *p, uint64_t len)
{
	if (!c->part->kept && !c->copy->repair && !c->copy->sorted)
		spb_copy_bytes(c, p, len);
	return true;
}

static bool bad_chunk(struct spb_copying *c, uint64_t len)
{
	c->counts->chunks++;
	c->copy->bytes_lost += len;
	return true;
}

static bool chunk_copy(struct spb_copying *c, uint32_t number)
{
	const uint8_t *end, *const p = spb_chunk(c->s, number, &end);
	const uint64_t left = c->s->size - spb_off(c->s, p);
	const uint64_t len = left < c->s->chunk_size ? left : c->s->chunk_size;

	if (len < SPB_CHUNK_HEAD || spb_32(p) != SPB_CHUNK_MAGIC)
		return all_zero(p, p + len) ? unused_copy(c, p, len) : bad_chunk(c, len);
	if (!spb_64(p + SPB_SEQUENCE_AT))
		return unused_copy(c, p, len);
	switch (spb_16(p + SPB_KIND_AT)) {
	case SPB_CHUNK_RECORDS:
		return spb_copy_records(c, number);
	case SPB_CHUNK_DESCRIPTORS:
		return spb_copy_descriptors(c, number);
	default:
		return bad_chunk(c, len);
	}
}

static int by_sequence(const void *a, const void *b)
{
	const struct spb_chunk *x = a, *y = b;

	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* The chunks in the order of their numbers. Returns false if out of memory. */
static bool chunks_sorted(struct spb_copying *c)
{
	const size_t n = c->s->nchunks;
	struct spb_chunk *const chunks = mem_array(n + 1, sizeof(*chunks));
	bool good = chunks;

	if (good && n) {
		memcpy(chunks, c->s->chunks, n * sizeof(*chunks));
		qsort(chunks, n, sizeof(*chunks), by_sequence);
	}
	for (size_t i = 0; good && i < n && !stopped(c); i++)
		good = chunk_copy(c, chunks[i].number);
	mem_free(chunks);
	return good;
}

static bool file_copy(struct spb_copying *c)
{
	const uint64_t room = c->s->size - SPB_HEADER;
	const uint64_t n = room / c->s->chunk_size + (room % c->s->chunk_size != 0);
	bool good = spb_copy_calls(c) && spb_copy_gaps(c);

	header_out(c);
	if (good && c->copy->sorted)
		good = chunks_sorted(c);
	for (uint64_t i = 0; good && !c->copy->sorted && i < n && i < UINT32_MAX && !stopped(c);
	     i++)
		good = chunk_copy(c, (uint32_t)i);
	map64_free(&c->decisions);
	map64_free(&c->closes);
	return good;
}

/* --- names and pids --- */

/*
 * Processes of another input whose pid an earlier one has get one of their own, counted down from
 * the largest. Returns false if out of memory.
 */
static bool pid_choose(struct run *r, struct spb_copying *c)
{
	const uint32_t pid = spb_32(c->s->data + SPB_PID_AT);
	const uint64_t key = (uint64_t)c->part->input << 32 | pid;
	struct map64_slot *slot = map64_put(&r->pids, pid), *name;

	c->pid = pid;
	if (!slot || r->copy->one_run)
		return slot;
	if (!slot->value)
		slot->value = (uint64_t)c->part->input + 1;
	if (slot->value == (uint64_t)c->part->input + 1)
		return true;
	name = map64_put(&r->renamed, key);
	if (name && !name->value) {
		while (map64_find(&r->pids, r->next_pid))
			r->next_pid--;
		name->value = r->next_pid;
		r->moved++;
		slot = map64_put(&r->pids, r->next_pid);
		if (slot)
			slot->value = (uint64_t)c->part->input + 1;
	}
	c->pid = name ? (uint32_t)name->value : 0;
	return name && slot;
}

/* SPEC spur/recording: two files of one name would be one. Returns false if out of memory. */
static bool start_choose(struct run *r, struct spb_copying *c)
{
	struct map64_slot *slot;

	c->start = spb_64(c->s->data + SPB_START_TIME_AT);
	while ((slot = map64_put(&r->names, hash64(c->start) ^ c->pid)) != NULL && slot->value)
		c->start++;
	if (slot)
		slot->value = 1;
	return slot;
}

/* The name of a part's file. A directory's files keep theirs. */
static void name_make(const struct run *r, const struct spb_copying *c, char *name, size_t size)
{
	const char *const path = c->part->trace->path, *const slash = strrchr(path, '/');

	if (r->copy->one_run)
		snprintf(name, size, "%s", slash ? slash + 1 : path);
	else
		snprintf(name, size, "%lu-%llu.spb", (unsigned long)c->pid,
			 (unsigned long long)c->start);
}

/* A file of a directory. */
static enum spur_status part_file(struct run *r, struct spb_copying *c)
{
	char name[NAME_ROOM];
	struct out o;
	bool good;

	/* Nothing of it is kept. */
	if (c->part->kept && kept_next(c->part->kept, c->part->stream, 0) == UINT64_MAX)
		return SPUR_OK;
	if (!pid_choose(r, c) || (!r->copy->one_run && !start_choose(r, c)))
		return SPUR_FAIL;
	if (r->copy->one_run)
		c->start = spb_64(c->s->data + SPB_START_TIME_AT);
	name_make(r, c, name, sizeof(name));
	if (outdir_create(r->copy->dir, name, &o, r->copy->err) == SPUR_FAIL)
		return SPUR_FAIL;
	c->out = &o;
	good = file_copy(c);
	c->out = NULL;
	if (!good) {
		out_free(&o);
		return SPUR_FAIL;
	}
	return outdir_finish(r->copy->dir, name, &o, r->copy->err);
}

static void note(struct copy *copy, uint64_t n, const char *what)
{
	if (n && copy->notes)
		out_printf(copy->notes, "%s: %llu\n", what, (unsigned long long)n);
}

static void notes_out(const struct run *r)
{
	r->copy->damaged |= r->counts.chunks || r->counts.damaged || r->counts.descriptors;
	note(r->copy, r->counts.chunks, "chunks that cannot be read, left out");
	note(r->copy, r->counts.damaged, "damaged places in chunks, left out up to the next page");
	note(r->copy, r->counts.descriptors, "damaged descriptors, left out");
	note(r->copy, r->counts.unknown, "records of an unknown kind or site, left out");
	note(r->copy, r->counts.arguments, "records whose arguments were damaged, without them");
	note(r->copy, r->counts.holes, "records that were never completed, written as lost events");
	note(r->copy, r->moved, "processes that got another pid");
}

bool spb_joins(const struct copy *copy)
{
	for (size_t i = 0; i < copy->count; i++) {
		const struct spb *const s = copy->parts[i].trace->state;
		int64_t first;

		/* The header has no negative times. */
		if (copy->parts[i].shift &&
		    (__builtin_add_overflow(s->mono, copy->parts[i].shift, &first) || first < 0))
			return false;
	}
	return copy->count <= NAMES_MAX;
}

enum spur_status spb_copy(struct copy *copy)
{
	struct run r = { .copy = copy, .next_pid = FREE_PID };
	enum spur_status st = SPUR_OK;

	if (copy->count > 1 && !copy->dir)
		return err_set(copy->err, SPUR_ERR_USAGE,
			       "a file .spb has one process, found %zu: write a directory, "
			       "NAME.spur",
			       copy->count);
	for (size_t i = 0; i < copy->count && st != SPUR_FAIL; i++) {
		struct spb_copying c = { .copy = copy,
					 .part = &copy->parts[i],
					 .s = copy->parts[i].trace->state,
					 .out = copy->out,
					 .counts = &r.counts };

		if (copy->dir) {
			st = part_file(&r, &c);
			continue;
		}
		c.pid = spb_32(c.s->data + SPB_PID_AT);
		c.start = spb_64(c.s->data + SPB_START_TIME_AT);
		st = file_copy(&c) ? SPUR_OK : SPUR_FAIL;
	}
	if (st != SPUR_FAIL)
		notes_out(&r);
	map64_free(&r.pids);
	map64_free(&r.renamed);
	map64_free(&r.names);
	return st;
}
