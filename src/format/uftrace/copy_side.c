/* Copies the records of per-CPU files and the lines of extern.dat. */
#include "base/bits.h"
#include "format/uftrace/copying.h"
#include "format/uftrace/perfring.h"
#include "format/uftrace/ring.h"

/* The reader has no rows of other times. */
static bool time_valid(uint64_t time)
{
	return time <= INT64_MAX;
}

bool copying_perf(struct copying *k, const struct uftrace_file *file)
{
	struct diag_log diag;
	struct perf_record r;
	struct perfring ring;
	uint64_t next = 0;

	diag_init(&diag);
	perfring_init(&ring, file->source, k->u->swap, uftrace_file_name(k->u, file).p, &diag);
	while (!copying_stopped(k) && perfring_next(&ring, &r)) {
		if (!k->kept)
			copying_lose(k, r.off - next);
		next = r.off + r.len;
		if (!time_valid(r.time)) {
			copying_lose(k, r.len);
			continue;
		}
		if (!copying_has(k, uftrace_file_stream(k->u, file), r.off))
			continue;
		k->copy->records++;
		out_bytes(k->o, file->source->data + r.off, r.len);
	}
	if (!k->kept && !copying_stopped(k))
		copying_lose(k, file->source->size - next);
	diag_free(&diag);
	return true;
}

void copying_extern(struct copying *k, const struct uftrace_file *file)
{
	const struct source *s = file->source;
	struct text rest = text_make(s->data, s->size), line;

	while (text_line(&rest, &line)) {
		const uint64_t off = (uint64_t)((const uint8_t *)line.p - s->data);

		if (!kept_has(k->kept, uftrace_file_stream(k->u, file), off))
			continue;
		k->copy->records++;
		out_bytes(k->o, line.p, (size_t)(rest.p - line.p));
	}
}

/* --- pages of the kernel --- */

/* The page that is being made. */
struct page {
	struct copying *k;
	const struct ring_layout *layout;
	uint8_t *bytes; /* of layout->page_size */
	uint32_t size; /* of the data; 0: the page is not begun */
	uint64_t time; /* of the last record */
	int64_t missed; /* SPEC uftrace/ring-commit: records lost before it; -1: unknown number */
};

static void page_store(const struct page *p, uint8_t *at, uint64_t v, unsigned size)
{
	wire_store(at, v, size, p->layout->big_endian);
}

/* SPEC uftrace/ring-record: the first word of a record */
static uint32_t ring_word(const struct page *p, uint32_t type, uint32_t delta)
{
	return p->layout->big_endian ? type << RING_DELTA_BITS | delta : type | delta << 5;
}

static void page_write(struct page *p)
{
	const struct ring_layout *l = p->layout;
	uint64_t commit = p->size;

	if (!p->size)
		return;
	if (p->missed)
		commit |= UINT64_C(1) << 31;
	if (p->missed > 0) {
		commit |= UINT64_C(1) << 30;
		page_store(p, p->bytes + l->data_off + p->size, (uint64_t)p->missed,
			   l->commit_size);
	}
	page_store(p, p->bytes + l->commit_off, commit, l->commit_size);
	out_bytes(p->k->o, p->bytes, l->page_size);
	memset(p->bytes, 0, l->page_size);
	p->size = 0;
	p->missed = 0;
}

/* Bytes that the page has for records; the number of lost ones follows them. */
static uint32_t page_room(const struct page *p)
{
	const uint32_t used =
		p->layout->data_off + p->size + (p->missed > 0 ? p->layout->commit_size : 0);

	return used < p->layout->page_size ? p->layout->page_size - used : 0;
}

/* A record's words with another time before it. `step` is its length, padded. */
static void record_put(struct page *p, const struct ring_record *r, const uint8_t *stored,
		       uint32_t step)
{
	const struct ring_layout *l = p->layout;
	const uint32_t word = load32(stored, l->swap);
	const uint32_t type = l->big_endian ? word >> RING_DELTA_BITS : word & 31;
	uint64_t delta = p->size ? r->time - p->time : 0;
	uint8_t *at = p->bytes + l->data_off + p->size;

	if (!p->size)
		page_store(p, p->bytes + l->time_off, r->time, 8);
	if (delta > RING_DELTA_MASK) {
		page_store(p, at, ring_word(p, RING_EXTEND, delta & RING_DELTA_MASK), 4);
		page_store(p, at + RING_WORD, delta >> RING_DELTA_BITS, 4);
		at += 2 * RING_WORD;
		p->size += 2 * RING_WORD;
		delta = 0;
	}
	memcpy(at, stored, r->len);
	page_store(p, at, ring_word(p, type, (uint32_t)delta), 4);
	p->size += step;
	p->time = r->time;
}

/* A record goes to a new page if records were lost before it, or time goes back or leaps. */
static void record_add(struct page *p, const struct ring_record *r, const uint8_t *stored)
{
	const uint32_t step = (uint32_t)align_up(r->len, RING_WORD);

	if (r->missed || (p->size && r->time < p->time) ||
	    (p->size && (r->time - p->time) >> (RING_DELTA_BITS + 32)) ||
	    page_room(p) < step + 2 * RING_WORD)
		page_write(p);
	if (!p->size)
		p->missed = r->missed;
	if (page_room(p) < step)
		p->missed = p->missed ? -1 : 0; /* no room for their number */
	record_put(p, r, stored, step);
}

/* Pages that are whole and wanted as a whole are copied as they are. */
static bool pages_are_whole(struct copying *k, const struct uftrace_file *file,
			    const struct ring_layout *layout)
{
	struct diag_log diag;
	struct ring_record r;
	bool whole, times_valid = true;
	struct ring ring;

	if (k->kept)
		return false;
	diag_init(&diag);
	ring_init(&ring, layout, file->source, uftrace_file_name(k->u, file).p, &diag);
	while (ring_next(&ring, &r)) {
		k->copy->records++;
		times_valid = times_valid && time_valid(r.time);
	}
	whole = times_valid && !diag_count(&diag, DIAG_DAMAGE);
	for (uint32_t i = 0; i < diag_groups(&diag); i++)
		copying_lose(k, diag_at(&diag, i)->bytes_lost);
	diag_free(&diag);
	return whole;
}

/* SPEC uftrace/header-page: pages of a fixed size */
bool copying_kernel(struct copying *k, const struct uftrace_file *file)
{
	const struct ring_layout *layout = uftrace_kernel_layout(k->u);
	struct page p = { .k = k, .layout = layout };
	const struct source *s = file->source;
	struct diag_log diag;
	struct ring_record r;
	struct ring ring;

	if (pages_are_whole(k, file, layout)) {
		out_bytes(k->o, s->data, s->size);
		return true;
	}
	p.bytes = mem_alloc(layout->page_size);
	if (!p.bytes)
		return false;
	k->notes[NOTE_PAGES] += !k->kept;
	diag_init(&diag);
	ring_init(&ring, layout, file->source, uftrace_file_name(k->u, file).p, &diag);
	while (!copying_stopped(k) && ring_next(&ring, &r)) {
		if (!time_valid(r.time)) {
			copying_lose(k, r.len);
			continue;
		}
		if (!copying_has(k, uftrace_file_stream(k->u, file), r.off))
			continue;
		k->copy->records += k->kept != NULL;
		record_add(&p, &r, s->data + r.off);
	}
	page_write(&p);
	diag_free(&diag);
	mem_free(p.bytes);
	return true;
}
