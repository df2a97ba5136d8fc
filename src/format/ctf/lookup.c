/* Finds packets by the places of rows: by halving in the list of each file. */
#include "format/ctf/lookup.h"

#include "base/search.h"

static const struct ctf_file *file_of(const struct ctf *c, uint32_t stream)
{
	/*
	 * Files are streams of the trace, in the same order, unless an allocation failed in
	 * between.
	 */
	if (stream < c->nfiles && c->files[stream].stream == stream)
		return &c->files[stream];
	for (size_t i = 0; i < c->nfiles; i++)
		if (c->files[i].stream == stream)
			return &c->files[i];
	return NULL;
}

/* The last packet at or before a place; NULL if the first one begins after it. */
static const struct ctf_packet *packet_before(const struct ctf_file *f, uint64_t off)
{
	size_t i;

	bisect(i, 0, f->npackets, f->packets[i].off <= off);
	return i ? &f->packets[i - 1] : NULL;
}

bool ctf_lookup(const struct ctf *c, const struct spur_event *ev, struct ctf_lookup *out)
{
	const struct ctf_file *f = file_of(c, ev->stream);
	uint64_t off, next = UINT64_MAX;

	out->class = NULL;
	if (!f)
		return false;
	out->trace = &c->traces[f->trace];
	off = out->trace->classes[f->class].bits ? ev->off / 8 : ev->off;
	for (;; f = &c->files[f->sibling]) {
		const struct ctf_packet *p = packet_before(f, off);
		const struct ctf_packet *after = p ? p + 1 : f->packets;

		if (after < f->packets + f->npackets && after->off < next)
			next = after->off;
		if (p && (!out->class || p->off > out->packet.off)) {
			out->class = &out->trace->classes[f->class];
			out->packet = *p;
		}
		if (!f->sibling)
			break;
	}
	if (!out->class)
		return false;
	assert(next > out->packet.off);
	out->room = next - out->packet.off;
	return true;
}
