/* See span.h. */
#include "style/babeltrace2/cat/span.h"

/* Begin of a feed's first packet and end of its last one; false if its packets do not say both. */
static bool feed_span(const struct ctf *c, const struct ctf_feed *f, struct stream_span *span)
{
	uint64_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < f->nfiles; i++) {
		const struct ctf_file *file = &c->files[f->files[i]];

		for (size_t k = 0; k < file->npackets; k++) {
			const struct ctf_packet *p = &file->packets[k];

			if (!(p->flags & PACKET_BEGIN) || !(p->flags & PACKET_END))
				return false;
			from = p->begin < from ? p->begin : from;
			to = p->end > to ? p->end : to;
		}
	}
	*span = (struct stream_span){ ctf_time(c, f->class, from), ctf_time(c, f->class, to) };
	return from <= to;
}

static enum spur_status trace_span(struct stream_span *spans, const struct ctf *c,
				   const struct ctf_trace *tr, struct spur_error *err)
{
	struct stream_span all = { INT64_MIN, INT64_MAX }, one;

	for (size_t i = 0; i < c->nfeeds; i++) {
		const struct ctf_feed *f = c->feeds[i];

		if (f->trace != tr)
			continue;
		if (!feed_span(c, f, &one))
			return err_set(err, SPUR_ERR_USAGE,
				       "--stream-intersection: expected the begin and end of each "
				       "packet, found packets without");
		all.from = one.from > all.from ? one.from : all.from;
		all.to = one.to < all.to ? one.to : all.to;
	}
	if (all.from > all.to)
		return err_set(err, SPUR_ERR_USAGE,
			       "--stream-intersection: expected a time in which all streams are "
			       "active, found none in trace \"%s\"",
			       tr->dir[0] ? tr->dir : c->t->path);
	for (size_t i = 0; i < c->nfiles; i++)
		if (&c->traces[c->files[i].trace] == tr)
			spans[c->files[i].stream] = all;
	return SPUR_OK;
}

enum spur_status spans_find(struct stream_span **out, const struct ctf *c, struct spur_error *err)
{
	enum spur_status st = SPUR_OK;

	if (c->grow)
		return err_set(err, SPUR_ERR_USAGE,
			       "--stream-intersection: expected a trace that does not grow");
	*out = mem_array(trace_stream_count(c->t) + 1, sizeof(**out));
	if (!*out)
		return err_nomem(err);
	for (size_t i = 0; st == SPUR_OK && i < c->ntraces; i++)
		st = trace_span(*out, c, &c->traces[i], err);
	return st;
}
