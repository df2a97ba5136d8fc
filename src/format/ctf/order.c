/*
 * Packets of one stream that lie in several files: where the files' times overlap, as those of
 * snapshots do, packets are put in the order of their begin, and one that is in several files is
 * read once.
 */
#include <stdlib.h>
#include <string.h>

#include "format/ctf/reader.h"

enum { LOOK_BACK = 8 };

static const struct ctf_packet *packet_at(const struct ctf_feed *f, const struct ctf_turn *p)
{
	return &f->ctf->files[f->files[p->file]].packets[p->packet];
}

/* Whether all packets say when they begin, and some begin before the file ahead ends. */
static bool overlaps(const struct ctf_feed *f, size_t *count)
{
	uint64_t last = 0;
	bool found = false;

	*count = 0;
	for (size_t i = 0; i < f->nfiles; i++) {
		const struct ctf_file *file = &f->ctf->files[f->files[i]];

		found |= i && file->packets[0].begin <= last;
		for (size_t k = 0; k < file->npackets; k++) {
			const struct ctf_packet *p = &file->packets[k];

			if (!(p->flags & PACKET_BEGIN))
				return false;
			last = p->begin > last ? p->begin : last;
		}
		*count += file->npackets;
	}
	return found;
}

static int by_key(const void *a, const void *b)
{
	const struct ctf_turn *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->packet < y->packet ? -1 : x->packet > y->packet;
}

static bool same_packet(const struct ctf_packet *a, const struct ctf_packet *b)
{
	const uint16_t said = PACKET_BEGIN | PACKET_END | PACKET_DISCARDED | PACKET_SEQUENCE;

	return a->begin == b->begin && a->end == b->end && a->sequence == b->sequence &&
	       a->discarded == b->discarded && a->content == b->content &&
	       a->file_size == b->file_size && ((a->flags ^ b->flags) & said) == 0 &&
	       memcmp(a->data, b->data, (size_t)(a->content / 8)) == 0;
}

/* Whether this one stands among those taken already, in another file. */
static bool is_taken(const struct ctf_feed *f, size_t taken, const struct ctf_turn *at)
{
	const size_t first = taken > LOOK_BACK ? taken - LOOK_BACK : 0;

	for (size_t i = taken; i-- > first && f->order[i].key == at->key;)
		if (f->order[i].file != at->file &&
		    same_packet(packet_at(f, &f->order[i]), packet_at(f, at)))
			return true;
	return false;
}

/* What is there twice goes. */
static void drop_same(struct ctf_feed *f, struct diag_log *diag)
{
	const struct ctf_file *file = NULL;
	uint64_t bytes = 0;
	size_t taken = 0;

	/*
	 * Invariant: `taken` places stand in front, no two of the same packet as far as LOOK_BACK
	 * sees.
	 */
	for (size_t i = 0; i < f->norder; i++) {
		if (!is_taken(f, taken, &f->order[i])) {
			f->order[taken++] = f->order[i];
			continue;
		}
		bytes += packet_at(f, &f->order[i])->file_size;
		file = file ? file : &f->ctf->files[f->files[f->order[i].file]];
	}
	if (file)
		diag_add(diag, DIAG_NOTE, "ctf/same-packet", file->name, DIAG_NO_OFF, 0,
			 "expected each packet of its stream in one file, found %zu of %zu (%llu "
			 "bytes) in another too: read once",
			 f->norder - taken, f->norder, (unsigned long long)bytes);
	assert(taken <= f->norder);
	f->norder = taken;
}

bool ctf_feed_order(struct ctf_feed *f, struct diag_log *diag)
{
	size_t count, n = 0;

	if (f->nfiles < 2 || !overlaps(f, &count))
		return true;
	f->order_size = count * sizeof(*f->order);
	f->order = scratch_alloc(f->order_size);
	if (!f->order)
		return false;
	for (size_t i = 0; i < f->nfiles; i++) {
		const struct ctf_file *file = &f->ctf->files[f->files[i]];
		uint64_t key = 0;

		/* Packets of one file keep their order, even one that goes back. */
		for (size_t k = 0; k < file->npackets; k++) {
			key = file->packets[k].begin > key ? file->packets[k].begin : key;
			f->order[n++] = (struct ctf_turn){ .key = key,
							   .file = (uint32_t)i,
							   .packet = (uint32_t)k };
		}
	}
	assert(n == count);
	f->norder = n;
	qsort(f->order, n, sizeof(*f->order), by_key);
	drop_same(f, diag);
	return true;
}

void ctf_feed_losses(struct ctf_feed *f)
{
	const struct ctf_packet *before = NULL;

	for (size_t i = 0; i < (f->order ? f->norder : f->nfiles); i++) {
		struct ctf_file *file = &f->ctf->files[f->files[f->order ? f->order[i].file : i]];
		struct ctf_packet *p = &file->packets[f->order ? f->order[i].packet : 0];

		/* Within a file they are counted already. */
		p->lost = before ? ctf_lost_packets(file, f->class, before, p) : 0;
		before = f->order ? p : &file->packets[file->npackets - 1];
	}
}
