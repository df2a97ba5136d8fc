/*
 * Heph: one file of packets, metadata and events, as Heph's runtime writes it (format 0.1.0, and
 * its layout of before March 2021). An event is a whole span with attributes.
 *
 * One feed. By time unless rows as stored are wanted; then in one pass, as bytes arrive. Does not
 * read: traces of several senders in which stream ids clash (they look like one stream with a
 * restarting counter), unless each begins with an epoch.
 */
#include "format/heph/copy.h"
#include "format/heph/reader.h"

#include "format/format.h"

static bool make_names(struct heph *h)
{
	static const char *const words[HEPH_WORDS] = {
		[HEPH_W_DESCRIPTION] = "description",
		[HEPH_W_UNDECODED] = "undecoded",
		[HEPH_W_VALUE] = "value",
		[HEPH_W_SIZE] = "size",
		[HEPH_W_STREAM] = "stream",
		[HEPH_W_COUNTER] = "counter",
		[HEPH_W_SUBSTREAM] = "substream",
		[HEPH_W_START] = "start",
		[HEPH_W_END] = "end",
		[HEPH_W_OPTION] = "option",
		[HEPH_W_ATTRIBUTES] = "attributes",
	};
	struct spur_trace *t = h->trace;
	const struct event_class lost = { .name = trace_intern(t, "lost events"),
					  .flags = CLASS_EVENT };

	h->lost_name = lost.name;
	h->lost_class = trace_add_class(t, &lost);
	for (size_t i = 0; i < HEPH_WORDS; i++)
		h->words[i] = trace_intern(t, words[i]);
	return heph_names_init(&h->descriptions, t, CLASS_FUNCTION, "") &&
	       heph_names_init(&h->options, t, CLASS_EVENT, "metadata") &&
	       heph_names_init(&h->attributes, t, 0, "") && h->lost_class;
}

static bool make_feed(struct heph *h, struct source *src)
{
	struct spur_trace *t = h->trace;
	const char *slash = strrchr(t->path, '/');
	const uint32_t stream = trace_add_stream(t, slash ? slash + 1 : t->path, src->size);

	h->feed = stream == SPUR_NONE ? NULL : trace_add_feed(t, SPUR_NONE, h);
	if (!h->feed)
		return false;
	h->feed->size = src->size;
	h->file = t->streams[stream].path;
	if (h->stored)
		h->feed->stream = stream;
	heph_tracks_init(&h->tracks, t, &h->feed->diag, h->file);
	return mem_grow((void **)&h->segments, &h->segments_cap, 1, sizeof(*h->segments),
			HEPH_SEGMENTS);
}

static void walk_from_start(struct heph *h, struct source *src, struct diag_log *diag)
{
	const uint32_t head = h->walk.head;

	heph_walk_init(&h->walk, src);
	h->walk.diag = diag;
	h->walk.file = h->file;
	if (head)
		h->walk.head = head;
}

/* SPEC heph/far-epoch: one past 2^63 cannot be used */
static void set_clock(struct heph *h)
{
	struct clock_info *c = &h->trace->clock;
	const uint64_t epoch = h->segments[0].epoch;

	c->name = "monotonic";
	c->derived = "the format counts ns from the trace's epoch; its writer takes them from this "
		     "clock";
	c->hz = 1000000000;
	c->own_zero = true;
	c->epoch_known = h->epoch_seen && epoch <= INT64_MAX;
	c->epoch_ns = c->epoch_known ? (int64_t)epoch : 0;
	if (h->epoch_seen && !c->epoch_known)
		diag_add(&h->feed->diag, DIAG_WARN, "heph/far-epoch", h->file, DIAG_NO_OFF, 0,
			 "epoch: expected one below 2^63 ns, found %llu: not used",
			 (unsigned long long)epoch);
}

/*
 * The epoch may stand anywhere, and the first to begin may be the last packet: all is read before
 * the first row.
 */
static bool open_by_time(struct heph *h, struct source *src)
{
	struct spur_trace *t = h->trace;

	source_need(src, UINT64_MAX);
	t->streams[0].size = h->feed->size = src->size;
	h->lanes = lanes_new(t);
	h->window = mem_alloc(sizeof(*h->window));
	if (!h->lanes || !h->window)
		return false;
	walk_from_start(h, src, &h->feed->diag);
	if (heph_layout_is_old(&h->walk))
		h->walk.head = HEPH_OLD_HEAD;
	if (!heph_scan(h))
		return false;
	/*
	 * SPEC heph/bookkeeping: its track is made after those of all events, which so have the
	 * same numbers without it
	 */
	if (h->bookkeeping && h->noptions && heph_options_track(h) == SPUR_NONE)
		return false;
	for (size_t i = 0; i < h->nsegments; i++)
		if (!heph_origin_add(h, i))
			return false;
	walk_from_start(h, src, NULL);
	heph_tracks_segment(&h->tracks, 0);
	h->segment = h->segments;
	h->last = h->first == INT64_MAX ? 0 : h->first;
	if (h->tracks.nstreams)
		h->feed->track = h->tracks.streams[0]->track;
	return trace_add_info(t, "event layout", "%s",
			      h->walk.head == HEPH_OLD_HEAD ? "34 bytes, before March 2021"
							    : "42 bytes") &&
	       (h->nsegments == 1 || trace_add_info(t, "segments", "%zu", h->nsegments));
}

/*
 * Examines the beginning of a stream that is shown as it arrives; the rest is not there yet.
 * Returns false if out of memory.
 */
static bool open_stored(struct heph *h, struct source *src)
{
	struct heph_walk first;
	struct heph_packet k;

	walk_from_start(h, src, &h->feed->diag);
	h->walk.eager = h->trace->options.follow;
	first = h->walk;
	first.diag = NULL;
	if (heph_walk_next(&first, &k) == HEPH_PACKET && k.meta && heph_is_epoch(&k)) {
		h->epoch_seen = true;
		h->segments[0].epoch = heph_epoch(&k);
	}
	return trace_reserve_origins(h->trace, HEPH_SEGMENTS) && heph_origin_add(h, 0);
}

static enum spur_status open_trace(struct spur_trace *t, struct source *src, struct spur_error *err)
{
	struct heph *h = mem_alloc(sizeof(*h));

	if (!h)
		return err_nomem(err);
	t->state = h;
	h->trace = t;
	t->version = "0.1.0";
	t->byte_order = "big";
	if (!src)
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected a file of packets, found a directory", t->path);
	h->stored = t->options.as_stored || t->options.follow;
	h->bookkeeping = t->options.bookkeeping;
	h->options_track = SPUR_NONE;
	h->nsegments = 1;
	h->first = INT64_MAX;
	h->last = h->stored ? 0 : INT64_MIN;
	reorder_init(&h->order, sizeof(struct heph_item), true);
	if (!make_feed(h, src) || !make_names(h))
		return err_nomem(err);
	h->segment = h->segments;
	if (!(h->stored ? open_stored(h, src) : open_by_time(h, src)))
		return err_nomem(err);
	set_clock(h);
	return SPUR_OK;
}

static enum spur_status next_rows(struct spur_trace *t, struct feed *f, struct batch *b)
{
	struct heph *h = f->state;
	const uint64_t from = heph_off(h, h->walk.at);
	enum spur_status st;

	(void)t;
	b->count = 0;
	st = h->stored ? heph_read_stored(h, b) : heph_read(h, b);
	source_passed(h->walk.src, from, heph_off(h, h->walk.at));
	return st;
}

static void close_trace(struct spur_trace *t)
{
	struct heph *h = t->state;

	heph_names_free(&h->descriptions);
	heph_names_free(&h->options);
	heph_names_free(&h->attributes);
	if (h->feed)
		heph_tracks_free(&h->tracks);
	heph_schemas_free(h->schemas);
	heph_gaps_free(h->gaps);
	lanes_free(h->lanes);
	reorder_free(&h->order);
	mem_free(h->segments);
	mem_free(h->window);
	mem_free(h->losses);
	mem_free(h);
}

static int probe(const struct probe *p)
{
	return p->is_dir ? 0 : heph_probe(p->head, p->len);
}

const struct spur_format spur_format_heph = {
	.name = "heph",
	.title = "Heph trace (spans of actors and workers with attributes)",
	.reads = "format 0.1.0 with and without substreams (before March 2021); files and pipes",
	.counts_discarded = true,
	.probe = probe,
	.open = open_trace,
	.next = next_rows,
	.args = heph_args,
	.fields = heph_fields,
	.place = heph_place,
	.ticks = heph_ticks,
	.schema = heph_schema,
	.copy = heph_copy,
	.joins = heph_joins,
	.close = close_trace,
};
