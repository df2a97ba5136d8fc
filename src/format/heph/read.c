/* Rows: by time (the second pass), and as stored. See reader.h. */
#include "format/heph/reader.h"

static void report_attributes(struct heph *h, enum heph_fault fault, const uint8_t *q,
			      const uint8_t *end)
{
	struct diag_log *d = &h->feed->diag;
	const uint64_t off = heph_off(h, q);
	const unsigned long long left = (unsigned long long)(end - q);
	const unsigned type = fault >= HEPH_INVALID ? q[HEPH_ATTR_LEN + be16(q)] : 0;

	if (fault == HEPH_TRAILING)
		diag_add(d, DIAG_WARN, "heph/trailing-bytes", h->file, off, 0,
			 "event: expected an attribute or the end, found %llu bytes: kept as they "
			 "are",
			 left);
	else if (fault == HEPH_TORN)
		diag_add(d, DIAG_DAMAGE, "heph/torn-attribute", h->file, off, 0,
			 "attribute: expected its end within the packet, found %llu bytes: kept as "
			 "they are",
			 left);
	else
		/*
		 * SPEC heph/unknown-type: the length is unknown, so the rest of the packet is kept
		 * as it is
		 */
		diag_add(d, fault == HEPH_INVALID ? DIAG_DAMAGE : DIAG_WARN,
			 fault == HEPH_INVALID ? "heph/invalid-type" : "heph/unknown-type", h->file,
			 off, 0,
			 "attribute: expected type 1 to 4, or that of an array, found 0x%02x: %llu "
			 "bytes are kept as "
			 "they are",
			 type, left);
}

/*
 * Changes an event's row by the marks at q, with which its attributes begin. Returns false if out
 * of memory. SPEC heph/marks
 */
static __attribute__((noinline)) bool marks_apply(struct heph *h, const uint8_t *q,
						  const uint8_t *end, struct spur_event *row)
{
	const struct heph_times t = heph_times(h, h->walk.base + row->off);
	const struct heph_name *cat = NULL;
	struct heph_marks m;
	uint32_t n;

	if (t.end == t.start && heph_naming(q, end)) {
		row->kind = SPUR_NATIVE;
		row->cat = h->options.model.cat;
		return true;
	}
	heph_marks_read(&q, end, t.end > t.start, &m);
	if (m.cat) {
		cat = heph_name_get(&h->attributes, m.cat, m.cat_len);
		if (!cat)
			return false;
		row->cat = cat->id;
	}
	row->kind = m.kind;
	row->id = m.id;
	row->cpu = m.cpu;
	row->flags |= m.flags;
	if (heph_attrs_count(&q, end, &n) != HEPH_GOOD)
		n++;
	n += row->cls == h->descriptions.other->cls;
	row->nargs = (uint8_t)(n < 255 ? n : 255);
	return true;
}

/* An event's row, but for its track. Returns false if out of memory. */
static inline __attribute__((always_inline)) bool event_row(struct heph *h,
							    const struct heph_packet *k,
							    uint32_t track, struct heph_span span,
							    struct spur_event *row)
{
	const uint8_t *const p = k->p, *const end = p + k->size;
	const size_t len = heph_name_len(p, h->walk.head);
	const uint8_t *q = p + h->walk.head + len;
	const struct heph_name *name = heph_name_get(&h->descriptions, q - len, len);
	uint64_t flags = 0;
	enum heph_fault fault;
	bool marked;
	uint32_t n;

	if (__builtin_expect(!name, 0))
		return false;
	marked = heph_is_mark(q, end);
	fault = heph_attrs_count(&q, end, &n);
	if (__builtin_expect(fault != HEPH_GOOD, 0)) {
		report_attributes(h, fault, q, end);
		n++;
	}
	n += name == h->descriptions.other;
	if (__builtin_expect(!span.dur, 0)) {
		const struct heph_times t = heph_times(h, p);

		flags = t.end < t.start ? SPUR_F_UNRELIABLE : 0;
	}
	row_store(
		row, (uint64_t)span.ts, 0, heph_off(h, p),
		(struct row_words){ .len_track = row_pair(k->size, track),
				    .stream_cat = row_pair(0, 0),
				    .name_cls = row_pair(name->id, name->cls),
				    .rest = row_rest(SPUR_SPAN, (uint32_t)flags, SPUR_NO_CPU, 0) });
	row->dur = span.dur;
	row->nargs = (uint8_t)(n < 255 ? n : 255);
	return !marked || marks_apply(h, p + h->walk.head + len, end, row);
}

/* A metadata packet's row. Returns false if out of memory. */
static bool option_row(struct heph *h, const struct heph_packet *k, struct spur_event *row)
{
	const struct heph_name *name = heph_name_get(&h->options, k->p + HEPH_META_HEAD,
						     heph_name_len(k->p, HEPH_META_HEAD));

	if (!name)
		return false;
	*row = (struct spur_event){
		.ts = h->last,
		.off = heph_off(h, k->p),
		.len = k->size,
		.track = heph_options_track(h),
		.cat = h->options.model.cat,
		.name = name->id,
		.cls = name->cls,
		.kind = SPUR_NATIVE,
		.nargs = (uint8_t)(1 + (name == h->options.other)),
		.flags = SPUR_F_RETIMED,
		.cpu = SPUR_NO_CPU,
	};
	return row->track != SPUR_NONE;
}

/* The first pass has checked the packet; but a mapped file may have been written to since. */
static bool packet_at(const struct heph *h, const struct heph_item *it, struct heph_packet *k)
{
	const uint8_t *const p = h->walk.base + (it->place >> 2);
	const bool meta = (it->place & 3) == HEPH_OPTION;
	const uint32_t head = meta ? HEPH_META_HEAD : h->walk.head, size = heph_size(p);

	*k = (struct heph_packet){ .p = p, .size = size, .meta = meta };
	return size >= head && size <= (uint64_t)(h->walk.end - p) &&
	       head + heph_name_len(p, head) <= size;
}

/* Nothing in the data stands for it: the place is that of the packet after the gap. */
static void loss_row(const struct heph *h, const struct heph_item *it, struct spur_event *row)
{
	const uint8_t *const p = h->walk.base + (it->place >> 2);
	*row = (struct spur_event){
		.ts = heph_span(heph_segment_at(h, it->place >> 2), heph_times(h, p)).ts,
		.id = it->count,
		.off = it->place >> 2,
		.track = it->track,
		.name = h->lost_name,
		.cls = h->lost_class,
		.kind = SPUR_LOST,
		.flags = SPUR_F_IMPLIED | SPUR_F_RETIMED,
		.cpu = SPUR_NO_CPU,
	};
}

/* --- by time --- */

/* Returns false if out of memory. */
static bool item_row(struct heph *h, const struct heph_item *it, struct spur_event *row,
		     bool *there)
{
	struct heph_packet k;
	struct heph_span span;
	uint32_t track;

	*there = packet_at(h, it, &k);
	if (!*there)
		return true;
	switch ((enum heph_what)(it->place & 3)) {
	case HEPH_OPTION:
		return option_row(h, &k, row);
	case HEPH_LOSS:
		loss_row(h, it, row);
		return true;
	default:
		break;
	}
	span = heph_span(h->nsegments == 1 ? h->segments : heph_segment_at(h, it->place >> 2),
			 heph_times(h, k.p));
	track = lanes_span(h->lanes, it->track, span.ts, span.dur);
	return track != SPUR_NONE && event_row(h, &k, track, span, row);
}

/*
 * SPEC heph/equal-spans: of spans with one start the longer one is first, of equal ones that
 * written later
 */
static bool comes_before(const struct heph_window *w, unsigned a, unsigned b)
{
	const struct heph_span x = w->spans[a], y = w->spans[b];

	if (x.ts != y.ts)
		return x.ts < y.ts;
	return x.dur != y.dur ? x.dur > y.dur : a > b;
}

static unsigned index_of(uint64_t order)
{
	return ~(unsigned)order & (REORDER_WINDOW - 1);
}

/* Where times alone do not tell, or do not fit. */
static void window_sort_slow(struct heph_window *w, uint32_t from, uint32_t to)
{
	for (uint32_t i = from + 1; i < to; i++) {
		const uint64_t one = w->order[i];
		uint32_t k = i;

		for (; k > from && comes_before(w, index_of(one), index_of(w->order[k - 1])); k--)
			w->order[k] = w->order[k - 1];
		w->order[k] = one;
	}
}

/* Few steps an event: it ended before what it comes before of. */
static void window_sort(struct heph_window *w)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	const uint32_t n = w->count;
	bool equal = false;

	for (uint32_t i = 0; i < n; i++) {
		least = w->spans[i].ts < least ? w->spans[i].ts : least;
		most = w->spans[i].ts > most ? w->spans[i].ts : most;
	}
	if (((uint64_t)most - (uint64_t)least) >> (64 - HEPH_INDEX_BITS)) {
		for (uint32_t i = 0; i < n; i++)
			w->order[i] = (REORDER_WINDOW - 1) - i;
		window_sort_slow(w, 0, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t one = ((uint64_t)w->spans[i].ts - (uint64_t)least)
					     << HEPH_INDEX_BITS |
				     ((REORDER_WINDOW - 1) - i);
		uint32_t k = i;

		if (__builtin_expect(!k || one > w->order[k - 1], 1)) {
			w->order[k] = one;
			continue;
		}
		/* Its index is lower than those of equal times, so it passes them. */
		for (; k && one < w->order[k - 1]; k--)
			w->order[k] = w->order[k - 1];
		w->order[k] = one;
		equal |= !((one ^ w->order[k + 1]) >> HEPH_INDEX_BITS);
	}
	for (uint32_t i = 1, from = 0; equal && i <= n; i++)
		if (i == n || (w->order[i] ^ w->order[i - 1]) >> HEPH_INDEX_BITS) {
			window_sort_slow(w, from, i);
			from = i;
		}
}

/*
 * Fills the window with the next events that are not stragglers. Returns false if none are left.
 */
static bool window_fill(struct heph *h)
{
	struct heph_window *const w = h->window;
	const uint8_t *p = h->walk.at;
	struct heph_packet k = { .meta = false };
	uint32_t n = 0;

	do {
		source_ahead(p, 0);
		source_ahead(p, 64);
		k.p = p;
		k.size = heph_event_at(&h->walk, p);
		if (__builtin_expect(!k.size, 0)) {
			h->walk.at = p;
			if (heph_walk_slow(&h->walk, &k) != HEPH_PACKET) {
				p = h->walk.at;
				break;
			}
		}
		p = k.p + k.size;
		if (__builtin_expect(k.meta, 0)) {
			h->segment = heph_segment_at(h, heph_off(h, k.p));
			k.meta = false;
			continue;
		}
		w->spans[n] = heph_span(h->segment, heph_times(h, k.p));
		if (__builtin_expect(!w->spans[n].dur, 0) && !h->bookkeeping &&
		    heph_event_naming(h, k.p, k.size))
			continue;
		w->places[n] = k.p;
		n += !reorder_late_window(&h->order, w->spans[n].ts);
	} while (h->order.left || !n);
	assert(n <= REORDER_WINDOW);
	h->walk.at = p;
	w->at = 0;
	w->count = n;
	window_sort(w);
	return n;
}

/* Returns false if out of memory. */
static inline bool window_row(struct heph *h, const uint8_t *p, struct heph_span span,
			      struct spur_event *row)
{
	const struct heph_packet k = { .p = p, .size = heph_size(p) };
	const struct heph_slot *slot;
	uint32_t track;

	if (__builtin_expect(h->nsegments > 1, 0)) {
		const size_t segment = (size_t)(heph_segment_at(h, heph_off(h, p)) - h->segments);

		if (segment != h->tracks.segment)
			heph_tracks_segment(&h->tracks, (uint32_t)segment);
	}
	slot = heph_track_get(&h->tracks, heph_stream_id(p), heph_substream(h, p));
	if (__builtin_expect(!slot, 0))
		return false;
	/* SPEC heph/nesting */
	track = lanes_span(h->lanes, slot->track, span.ts, span.dur);
	return track != SPUR_NONE && event_row(h, &k, track, span, row);
}

/* SPEC heph/overlap: spans that overlap without containing each other stand side by side */
static void report_overlaps(struct heph *h)
{
	if (lanes_moved(h->lanes) && !h->ended)
		diag_add(&h->feed->diag, DIAG_NOTE, "heph/overlap", h->file, DIAG_NO_OFF, 0,
			 "spans: expected those of a substream to contain each other, found %llu "
			 "that overlap: "
			 "shown on tracks beside",
			 (unsigned long long)lanes_moved(h->lanes));
	h->ended = true;
}

enum spur_status heph_read(struct heph *h, struct batch *b)
{
	struct heph_window *const w = h->window;
	const struct heph_item *it;

	while (b->count < b->cap) {
		struct spur_event *const row = &b->rows[b->count];
		bool there = true;

		if (w->at < w->count || window_fill(h)) {
			const unsigned i = index_of(w->order[w->at]);
			const struct heph_span span = w->spans[i];

			it = reorder_next(&h->order, span.ts, REORDER_SPAN(span.dur));
			if (__builtin_expect(!it, 1)) {
				if (!window_row(h, w->places[i], span, row))
					return SPUR_FAIL;
				w->at++;
				b->count++;
				continue;
			}
		} else {
			it = reorder_rest(&h->order);
			if (!it)
				break;
		}
		if (b->count)
			h->last = row[-1].ts;
		if (!item_row(h, it, row, &there))
			return SPUR_FAIL;
		b->count += there;
	}
	if (!b->count) {
		report_overlaps(h);
		return SPUR_END;
	}
	h->last = b->rows[b->count - 1].ts;
	return SPUR_OK;
}

/* --- as stored: SPEC heph/stored --- */

/* The next packet, in h->packet. */
static enum spur_status stored_packet(struct heph *h)
{
	switch (heph_walk_next(&h->walk, &h->packet)) {
	case HEPH_MORE:
		return SPUR_MORE;
	case HEPH_PACKET:
		break;
	default:
		h->ended = true;
		h->trace->streams[0].size = h->walk.src->size;
		return heph_meet_end(h) ? SPUR_END : SPUR_FAIL;
	}
	h->held = true;
	if (h->packet.meta) {
		/* A trace that is followed has the rows of one that is read by time. */
		h->held =
			!heph_is_epoch(&h->packet) || h->trace->options.as_stored || h->bookkeeping;
		return heph_meet_option(h, &h->packet) ? SPUR_OK : SPUR_FAIL;
	}
	h->held_span = heph_span(h->segment, heph_times(h, h->packet.p));
	return heph_meet_event(h, &h->packet, h->held_span, &h->held_track) ? SPUR_OK : SPUR_FAIL;
}

/* One row of what is at hand; returns false if out of memory. */
static bool stored_row(struct heph *h, struct spur_event *row)
{
	if (h->losses_done < h->nlosses) {
		loss_row(h, &h->losses[h->losses_done++], row);
		return true;
	}
	assert(h->held);
	h->nlosses = h->losses_done = 0;
	h->held = false;
	return h->packet.meta ? option_row(h, &h->packet, row)
			      : event_row(h, &h->packet, h->held_track, h->held_span, row);
}

enum spur_status heph_read_stored(struct heph *h, struct batch *b)
{
	h->walk.wait = true;
	if (!h->begun && heph_layout_is_old(&h->walk))
		h->walk.head = HEPH_OLD_HEAD;
	h->begun = true;
	for (;;) {
		if (b->count == b->cap)
			return SPUR_OK;
		if (h->held || h->losses_done < h->nlosses) {
			if (!stored_row(h, &b->rows[b->count++]))
				return SPUR_FAIL;
			continue;
		}
		if (h->ended)
			return b->count ? SPUR_OK : SPUR_END;
		/* What is there is shown before more is waited for. */
		h->walk.wait = !b->count;
		switch (stored_packet(h)) {
		case SPUR_FAIL:
			return SPUR_FAIL;
		case SPUR_MORE:
			return SPUR_OK;
		default:
			break;
		}
	}
}
