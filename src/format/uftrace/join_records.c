/*
 * The files with records of joined directories: of a task that one part has, its file; of one that
 * parts of a recording share, and of each CPU, the records of all by time.
 */
#include <stdio.h>

#include "base/bits.h"
#include "format/uftrace/joining.h"
#include "format/uftrace/perfring.h"

enum { PERF_MAX = 1 << 16, NAME_LEN = 40 };

/* --- perf rings --- */

/* The ring of a part, and its next record. */
struct ring_part {
	struct join_part *p;
	struct join_records *r;
	struct perfring ring;
	struct diag_log diag;
	struct perf_record record;
	uint64_t end; /* of the record before */
	uint64_t time; /* of the record, or of the one before if it has no time */
	bool more;
};

static bool moved_time(const struct ring_part *x, uint64_t time, int64_t *moved)
{
	return time <= INT64_MAX && !__builtin_add_overflow((int64_t)time, x->p->k.shift, moved) &&
	       *moved >= 0;
}

/* Goes to the next record that can be written. */
static void ring_step(struct ring_part *x)
{
	int64_t moved;

	while ((x->more = perfring_next(&x->ring, &x->record))) {
		copying_lose(&x->p->k, x->record.off - x->end);
		x->end = x->record.off + x->record.len;
		if (moved_time(x, x->record.time, &moved))
			break;
		copying_lose(&x->p->k, x->record.len);
	}
	if (x->more && x->record.time)
		x->time = x->record.time;
}

static void ring_begin(struct joining *j, struct join_records *r, struct ring_part *x)
{
	*x = (struct ring_part){ .p = &j->parts[r->part], .r = r };
	diag_init(&x->diag);
	if (!uftrace_open_file(x->p->u, r->file, &x->p->u->t->diag))
		return;
	source_need(r->file->source, UINT64_MAX);
	perfring_init(&x->ring, r->file->source, x->p->u->swap,
		      uftrace_file_name(x->p->u, r->file).p, &x->diag);
	ring_step(x);
}

static void ring_end(struct ring_part *x)
{
	if (x->r->file->state == FILE_SOURCE && x->ring.src && !copying_stopped(&x->p->k))
		copying_lose(&x->p->k, x->r->file->source->size - x->end);
	diag_free(&x->diag);
}

static bool put_id(struct joining *j, const struct ring_part *x, uint8_t *at)
{
	const bool big = x->p->u->d.info.big_endian;
	int64_t id;

	if (!join_id(j, x->p, (int32_t)load32(at, x->p->u->swap), &id))
		return false;
	wire_store(at, (uint64_t)id, 4, big);
	return true;
}

static void put_time(const struct ring_part *x, uint8_t *at)
{
	int64_t moved;

	if (moved_time(x, load64(at, x->p->u->swap), &moved))
		wire_store(at, (uint64_t)moved, 8, x->p->u->d.info.big_endian);
}

/* SPEC uftrace/join-perf: all places of ids and times */
static bool record_move(struct joining *j, const struct ring_part *x, uint8_t *bytes)
{
	uint8_t *body = bytes + PERF_HEAD, *trailer = bytes + x->record.len - PERF_TRAILER;
	bool good = true;

	if (x->record.type == PERF_SAMPLE)
		return true;
	if (x->record.type == PERF_COMM || x->record.type == PERF_FORK ||
	    x->record.type == PERF_EXIT)
		good = put_id(j, x, body) && put_id(j, x, body + 4);
	if (x->record.type == PERF_FORK || x->record.type == PERF_EXIT) {
		good = good && put_id(j, x, body + 8) && put_id(j, x, body + 12);
		put_time(x, body + 16);
	}
	put_time(x, trailer + 8);
	return good && put_id(j, x, trailer) && put_id(j, x, trailer + 4);
}

static struct ring_part *ring_first(struct ring_part *rings, size_t count)
{
	struct ring_part *first = NULL;
	int64_t first_time = 0, time = 0;

	for (size_t i = 0; i < count; i++) {
		if (!rings[i].more || !moved_time(&rings[i], rings[i].time, &time))
			continue;
		if (!first || time < first_time) {
			first = &rings[i];
			first_time = time;
		}
	}
	return first;
}

static bool rings_copy(struct joining *j, struct join_records *r, size_t count, struct out *o)
{
	struct ring_part *rings = mem_array(count, sizeof(*rings)), *x;
	uint8_t *bytes = mem_alloc(PERF_MAX);
	const bool begun = rings && bytes;
	bool good = begun;

	for (size_t i = 0; good && i < count; i++)
		ring_begin(j, &r[i], &rings[i]);
	while (good && !copying_stopped(&j->parts[0].k) && (x = ring_first(rings, count))) {
		memcpy(bytes, r[x - rings].file->source->data + x->record.off, x->record.len);
		good = record_move(j, x, bytes);
		out_bytes(o, bytes, x->record.len);
		j->copy->records++;
		ring_step(x);
	}
	for (size_t i = 0; begun && i < count; i++)
		ring_end(&rings[i]);
	mem_free(rings);
	mem_free(bytes);
	return good;
}

/* --- tasks --- */

static bool task_copy(struct joining *j, const struct join_records *r, size_t count, struct out *o)
{
	struct copying_dat_part *parts = mem_array(count, sizeof(*parts));
	size_t n = 0;
	bool good = parts;

	for (size_t i = 0; good && i < count; i++) {
		struct join_part *p = &j->parts[r[i].part];
		struct source view;

		p->k.o = o;
		if (!uftrace_open_dat(p->u, r[i].file, &p->u->t->diag) ||
		    !source_need(uftrace_file_source(r[i].file, &view), 1))
			continue;
		parts[n++] = (struct copying_dat_part){ &p->k, r[i].file, r[i].own };
	}
	if (good && n == 1)
		good = copying_dat(parts[0].k, parts[0].file, parts[0].tid);
	else if (good && n)
		good = copying_dats(parts, n);
	mem_free(parts);
	return good;
}

/* One file of the joined trace. */
static bool records_write(struct joining *j, struct join_records *r, size_t count)
{
	struct copying *k = &j->parts[r->part].k;
	char name[NAME_LEN];
	struct out o;
	bool good;

	snprintf(name, sizeof(name), r->perf ? "perf-cpu%lld.dat" : "%lld.dat",
		 (long long)r->number);
	good = copying_begin(k, name, &o);
	if (good)
		good = r->perf ? rings_copy(j, r, count, &o) : task_copy(j, r, count, &o);
	return copying_end(k, name, &o, good);
}

/* Messages of other programs, which one part may have; their times are not moved. */
static bool extern_write(struct joining *j)
{
	for (size_t i = 0; i < j->count; i++) {
		struct join_part *p = &j->parts[i];

		for (size_t n = 0; n < p->u->nfiles; n++)
			if (text_is(copying_unpacked(uftrace_file_name(p->u, &p->u->files[n])),
				    "extern.dat"))
				return copying_file(&p->k, &p->u->files[n]);
	}
	return true;
}

bool join_write_records(struct joining *j)
{
	bool good = true;

	for (size_t i = 0, n; good && i < j->nrecords && !copying_stopped(&j->parts[0].k); i += n) {
		const struct join_records *r = &j->records[i];

		for (n = 1;
		     i + n < j->nrecords && r[n].perf == r->perf && r[n].number == r->number;)
			n++;
		good = records_write(j, &j->records[i], n);
	}
	return good && extern_write(j);
}
