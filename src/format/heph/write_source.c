/*
 * Events of a Heph trace, written to another one: names and attributes are copied as they are
 * stored, those that cannot be decoded too; streams and counters are made as for any source. So the
 * content of a file that Heph wrote gives the same bytes. SPEC heph/written-again
 */
#include "format/heph/write.h"

static const uint8_t *packet_of(const struct heph_writer *w, const struct spur_event *row)
{
	return w->source->walk.base + row->off;
}

/* A mapped file may have been written to since the row was made. */
static bool packet_is_good(const struct heph_writer *w, const uint8_t *p, uint32_t len)
{
	const bool meta = len >= HEPH_META_HEAD && be32(p) == heph_meta_magic;
	const uint32_t head = meta ? HEPH_META_HEAD : w->source->walk.head;

	return len >= head && head + heph_name_len(p, head) <= len;
}

bool heph_has_packet(const struct heph_writer *w, const struct spur_event *row)
{
	return w->source && row->len && packet_is_good(w, packet_of(w, row), row->len);
}

int64_t heph_gap_end(const struct heph_writer *w, const struct spur_event *row)
{
	const uint8_t *const p = packet_of(w, row);
	const struct heph_span span =
		heph_span(heph_segment_at(w->source, row->off), heph_times(w->source, p));

	return span.ts + span.dur;
}

/* The times of a packet in a trace that counts from another zero, or has several epochs. */
static struct heph_times times_of(const struct heph_writer *w, const struct spur_event *row)
{
	const struct heph_times t = heph_times(w->source, packet_of(w, row));
	uint64_t start;

	if (w->source->nsegments == 1 && !w->write->zero)
		return t;
	start = (uint64_t)row->ts - (uint64_t)w->write->zero;
	if (t.end < t.start)
		return (struct heph_times){ start, start - (t.start - t.end) };
	return (struct heph_times){ start, start + (uint64_t)row->dur };
}

bool heph_put_packet(struct heph_writer *w, const struct spur_event *row, struct out *o)
{
	const uint8_t *const p = packet_of(w, row);
	const uint32_t head = w->source->walk.head;
	struct heph_times t;
	size_t len;

	if (be32(p) == heph_meta_magic) {
		out_bytes(o, p, row->len);
		return true;
	}
	t = times_of(w, row);
	if (!heph_begin_packet(w, row, t.start, t.end))
		return false;
	len = row->len - head;
	if (row->nargs && !w->write->wants_args(w->write, row->cls))
		len = heph_name_len(p, head);
	out_bytes(&w->packet, p + head - HEPH_NAME_LEN_BACK, HEPH_NAME_LEN_BACK + len);
	return heph_end_packet(w, row->kind, o);
}
