/*
 * Parts of one stream, which threads read at once. Packets can be read by themselves; what the
 * packet before one decides are losses between both and whether the time goes back. So a stream is
 * divided only between two packets without a loss, and where the first event of the second one is
 * certain to be a row; whether the time goes back there is known once the part before has been read
 * (ctf_part_follows()).
 *
 * Streams are not divided where an event's meaning depends on events before it in other packets:
 * who runs (by_switch), functions that are found by the time they were loaded, and names of
 * threads, where these are wanted.
 */
#include "format/ctf/rows.h"

enum { CUTS_MAX = 1 << 20 };

/* A feed that reads the files of another one. Returns NULL if out of memory. */
static struct ctf_feed *part_new(const struct ctf_feed *of)
{
	struct ctf_feed *f = mem_alloc(sizeof(*f));

	if (!f)
		return NULL;
	*f = (struct ctf_feed){ .ctf = of->ctf,
				.trace = of->trace,
				.class = of->class,
				.number = of->number,
				.own_track = of->own_track,
				.files = of->files,
				.nfiles = of->nfiles };
	if (ctf_feed_start(f))
		return f;
	f->files = NULL;
	ctf_feed_free(f);
	return NULL;
}

static void part_free(struct ctf_feed *f)
{
	if (!f)
		return;
	f->files = NULL;
	ctf_feed_free(f);
}

/* Whether rows of any packet can be made without those before it. */
static bool is_divisible(const struct ctf_feed *f, enum parts_use use)
{
	const struct ctf *c = f->ctf;
	const struct spur_trace *t = c->t;
	const bool named = f->class->name_slot != CTF_NO_SLOT || f->class->names_threads;

	return use != PARTS_CALLS && !c->grow && !c->stored && !c->bookkeeping && !c->symbols &&
	       !f->order && !f->ended && !f->class->by_switch && !(use == PARTS_NAMED && named) &&
	       t->want_from == INT64_MIN && t->want_to == INT64_MAX;
}

/* Whether no event or packet was lost between two packets. */
static bool is_seamless(const struct ctf_feed *f, const struct ctf_packet *before,
			const struct ctf_packet *p)
{
	const bool counted = p->flags & before->flags & PACKET_DISCARDED;

	return !p->lost && !(counted && ctf_counter_step(before->discarded, p->discarded,
							 f->class->discarded_bits));
}

/* Whether the first event of a packet is certain to be a row, and the time of that. */
static bool has_first(struct ctf_feed *f, const struct ctf_packet *p, int64_t *ts)
{
	struct ctf_cursor *c = &f->cursor;
	const struct ctf_event *e;
	const char *why;
	uint64_t from;

	if (p->flags & PACKET_GUESSED)
		return false;
	ctf_packet_begin(f->trace, f->class, p, c);
	from = c->at;
	if (is_over(f, from, c->limit))
		return false;
	e = event_skip(f, c, &why);
	if (!e || c->at == from || (has_end(p) && c->clock > p->end))
		return false;
	*ts = ctf_time(f->ctf, f->class, c->clock);
	return true;
}

/* Adds a cut to the feed. Returns false if out of memory. */
static bool cut_add(struct ctf_feed *f, struct ctf_cut cut)
{
	if (!mem_grow((void **)&f->cuts, &f->cuts_cap, f->ncuts + 1, sizeof(*f->cuts), CUTS_MAX))
		return false;
	f->cuts[f->ncuts++] = cut;
	return true;
}

/* Finds where the feed can be divided. `probe` reads first events. */
static bool cuts_find(struct ctf_feed *f, struct ctf_feed *probe, uint64_t bytes)
{
	const struct ctf_packet *before = NULL;
	uint64_t size = 0;

	for (size_t i = f->file, k = f->next; i < f->nfiles; i++, k = 0) {
		const struct ctf_file *file = &f->ctf->files[f->files[i]];

		for (; k < file->npackets; k++) {
			const struct ctf_packet *p = &file->packets[k];
			struct ctf_cut cut = { .file = i, .packet = k };

			if (before && size >= bytes && is_seamless(f, before, p) &&
			    has_first(probe, p, &cut.first)) {
				if (!cut_add(f, cut))
					return false;
				size = 0;
			}
			size += p->file_size;
			before = p;
		}
	}
	return true;
}

uint32_t ctf_divide(struct spur_trace *t, struct feed *feed, uint64_t bytes, enum parts_use use)
{
	struct ctf_feed *f = feed->state, *probe;

	(void)t;
	assert(!f->cuts);
	if (!is_divisible(f, use))
		return 1;
	probe = part_new(f);
	/* Out of memory: the feed is read as a whole, or in fewer parts, and that will tell. */
	if (probe)
		cuts_find(f, probe, bytes);
	part_free(probe);
	if (f->ncuts)
		f->until = &f->cuts[0];
	return (uint32_t)f->ncuts + 1;
}

bool ctf_part_open(struct spur_trace *t, const struct feed *feed, uint32_t number,
		   const struct feed *before, struct feed *part)
{
	const struct ctf_feed *whole = feed->state;
	const struct ctf_cut *cut = &whole->cuts[number - 1];
	const struct ctf_file *file;
	struct ctf_feed *f = part_new(whole);

	assert(number && number <= whole->ncuts);
	(void)t;
	part->state = f;
	if (!f)
		return false;
	f->from = cut;
	f->until = number < whole->ncuts ? cut + 1 : NULL;
	f->file = cut->packet ? cut->file : cut->file - 1;
	file = feed_file(f);
	f->copies[0] = file->packets[(cut->packet ? cut->packet : file->npackets) - 1];
	f->before = &f->copies[0];
	f->file = cut->file;
	f->next = cut->packet;
	if (before)
		f->last_ts = ((const struct ctf_feed *)before->state)->last_ts;
	return true;
}

bool ctf_part_follows(const struct feed *before, const struct feed *part)
{
	const struct ctf_feed *b = before->state, *f = part->state;

	assert(b->until && b->until == f->from);
	return b->last_ts <= f->from->first;
}

void ctf_part_close(struct feed *part)
{
	part_free(part->state);
	part->state = NULL;
}
