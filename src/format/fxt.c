/*
 * FXT, the Fuchsia trace format: one file of records of 64-bit words, from one or more providers.
 *
 * Reads every record, event and argument type, in both byte orders; what is unknown is kept as it
 * is. Rows come by time: one pass over headers finds what is out of order, a second one makes the
 * rows (format/fxt/reader.h). As stored, and while the file is being written, there is one pass.
 * Does not read: what is inside blobs.
 */
#include "format/fxt/reader.h"

enum {
	SCORE_MAGIC = 100,
	SCORE_CHAIN = 40,
	PROBE_RECORDS = 8,
	PROBE_LEAST = 2,
	PROVIDERS_SHOWN = 64
};

/* Ticks of clocks a second. */
static const uint64_t ticks_least = 1000, ticks_most = UINT64_C(100) * 1000000000;

/*
 * SPEC fxt/byte-order: the first word tells; SPEC fxt/no-magic: without it, the order in which
 * records are plausible
 */
static bool guess_order(struct source *src, bool *magic)
{
	uint64_t first;

	*magic = false;
	if (!source_need(src, FXT_WORD))
		return order_swaps(false);
	first = load64(src->data, order_swaps(false));
	*magic = first == FXT_MAGIC || first == __builtin_bswap64(FXT_MAGIC);
	if (*magic)
		return order_swaps(first != FXT_MAGIC);
	return order_swaps(!fxt_plausible(src, 0, order_swaps(false), false, 1) &&
			   fxt_plausible(src, 0, order_swaps(true), false, 1));
}

/* A text that names something: printable UTF-8. */
static bool is_name(const struct fxt_string_ref *r)
{
	for (uint32_t i = 0; r->text && i < r->len; i++)
		if ((uint8_t)r->text[i] < ' ')
			return false;
	return r->text && r->len && utf8_all_valid(r->text, r->len);
}

/*
 * Shape alone is no evidence, since small numbers have it too: the record must name something, or
 * tell the clock.
 */
static bool is_evidence(const struct fxt_shape *s)
{
	const struct fxt_string_ref data = { .text = (const char *)s->data,
					     .len = (uint32_t)s->data_len };

	if (s->type == FXT_INIT)
		return s->value >= ticks_least && s->value <= ticks_most;
	if (s->type == FXT_STRING || (s->type == FXT_METADATA && s->sub == FXT_PROVIDER_INFO))
		return is_name(&data);
	return s->type == FXT_EVENT && (is_name(&s->name) || is_name(&s->cat));
}

/* SPEC fxt/no-magic: exact records from the first byte on, PROBE_RECORDS or all that can be seen */
static int chain_score(const uint8_t *data, size_t len, bool swap)
{
	bool evidence = false;
	int n = 0;

	for (size_t off = 0; n < PROBE_RECORDS && len - off >= FXT_WORD; n++) {
		const uint64_t size = fxt_words(load64(data + off, swap)) * FXT_WORD;
		struct fxt_shape s;

		if (!size)
			return 0;
		if (size > len - off)
			break;
		fxt_shape_of(&s, data + off, size, swap);
		if (!fxt_shape_exact(&s, swap))
			return 0;
		evidence = evidence || is_evidence(&s);
		off += size;
	}
	return n >= PROBE_LEAST && evidence ? SCORE_CHAIN : 0;
}

static int probe(const struct probe *p)
{
	uint64_t first;

	if (p->is_dir || p->len < FXT_WORD)
		return 0;
	first = load64(p->head, false);
	if (first == FXT_MAGIC || first == __builtin_bswap64(FXT_MAGIC))
		return SCORE_MAGIC;
	for (int big = 0; big < 2; big++)
		if (chain_score(p->head, p->len, order_swaps(big)))
			return SCORE_CHAIN;
	return 0;
}

/* --- what there is to know before the rows --- */

/*
 * In a single pass: the first clock and the first time, from the records up to the first that has
 * one. They tell the unit of ticks, and are the time of what comes before.
 */
static void look_ahead(struct fxt *x)
{
	struct fxt_resync resync = { .eager = x->resync.eager };
	struct fxt_frame f;
	bool clamped;

	for (uint64_t off = 0;; off += f.state == FXT_FRAME_RECORD ? f.size : f.lost) {
		struct fxt_shape s;

		fxt_frame_at(x->src, off, x->swap, &resync, &f);
		if (f.state == FXT_FRAME_END)
			return;
		if (f.state != FXT_FRAME_RECORD)
			continue;
		fxt_shape_of(&s, x->src->data + off, f.size, x->swap);
		if (s.type == FXT_INIT && !s.lacks && s.value && !x->clock_told) {
			fxt_clock_set(&x->clock, s.value, s.extended ? s.more[0] : 0, x->raw_time);
			x->base_time = s.more[1];
			x->clock_told = true;
		}
		if (s.timed) {
			x->last = fxt_clock_ns(&x->clock, s.ticks, &clamped);
			return;
		}
	}
}

/* SPEC fxt/init-base: time counts from the base, whose time of day is known */
static void set_clock(struct fxt *x)
{
	struct clock_info *c = &x->t->clock;

	c->name = "provider";
	c->hz = x->clock.hz;
	c->ticks = x->raw_time && c->hz != 1000000000;
	c->derived = x->clocks_differ ? "the first initialization record; others differ"
		     : x->clock_told  ? "the initialization record"
				      : "there is no initialization record: a tick is a nanosecond";
	c->own_zero = x->clock.base && !x->raw_time;
	c->epoch_known =
		x->base_time && x->base_time <= INT64_MAX && !(x->raw_time && x->clock.base);
	c->epoch_ns = c->epoch_known ? (int64_t)x->base_time : 0;
}

static bool add_info(struct fxt *x)
{
	struct spur_trace *t = x->t;

	for (size_t i = 0; i < x->nproviders && i < PROVIDERS_SHOWN; i++) {
		const struct fxt_provider *p = x->providers[i];
		size_t len;
		const char *name = trace_string(t, p->name, &len);
		const char *key = arena_printf(&t->arena, "provider %u", p->id);

		/* The one before all others is there whether it says something or not. */
		if (!i && x->nproviders > 1)
			continue;
		if (!key || !trace_add_info(t, key, "%.*s%s%llu ticks a second", (int)len, name,
					    len ? ", " : "", (unsigned long long)p->clock.hz))
			return false;
	}
	return x->nproviders <= PROVIDERS_SHOWN ||
	       trace_add_info(t, "more providers", "%zu", x->nproviders - PROVIDERS_SHOWN);
}

/* --- the format --- */

static bool open_tables(struct fxt *x)
{
	struct feed *f = trace_add_feed(x->t, SPUR_NONE, x);

	if (!f)
		return false;
	x->stream = trace_add_stream(x->t, x->t->path, x->src->size);
	if (x->stream == SPUR_NONE)
		return false;
	f->stream = x->stream;
	f->size = x->src->size;
	x->file = x->t->streams[x->stream].path;
	fxt_clock_set(&x->clock, 1000000000, 0, x->raw_time);
	x->window = fxt_window_new();
	x->seen = mem_alloc(sizeof(*x->seen));
	return x->window && x->seen && fxt_classes_init(x) && fxt_state_init(x);
}

/*
 * SPEC fxt/bookkeeping: by time the rows of bookkeeping records are made in the second pass only,
 * so that all other tracks have the numbers that they have without them. Returns false if out of
 * memory.
 */
static bool show_bookkeeping(struct fxt *x)
{
	x->bookkeeping = x->t->options.bookkeeping;
	for (size_t i = 0; x->bookkeeping && i < x->nproviders; i++)
		if (fxt_provider_track(x, x->providers[i]) == SPUR_NONE)
			return false;
	return true;
}

static bool read_tables(struct fxt *x)
{
	if (!x->ordered) {
		look_ahead(x);
		set_clock(x);
		return true;
	}
	if (!fxt_scan(x) || !add_info(x) || !show_bookkeeping(x))
		return false;
	for (size_t i = 0; i < x->nproviders; i++)
		if (!fxt_origin_add(x, x->providers[i]))
			return false;
	set_clock(x);
	x->lanes = x->spans ? lanes_new(x->t) : NULL;
	x->t->streams[x->stream].size = x->t->feeds[0]->size = x->src->size;
	return (x->lanes || !x->spans) && fxt_scan_end(x);
}

static enum spur_status open_file(struct spur_trace *t, struct source *src, struct spur_error *err)
{
	const bool stored = t->options.as_stored || t->options.follow;
	struct fxt *x;
	bool magic;

	if (!src)
		return err_set(err, SPUR_ERR_FORMAT, "%s: expected a file, found a directory",
			       t->path);
	x = mem_alloc(sizeof(*x));
	if (!x)
		return err_nomem(err);
	t->state = x;
	x->t = t;
	x->src = src;
	x->raw_time = t->options.raw_time;
	x->first = true;
	x->resync = (struct fxt_resync){ .x = x, .eager = t->options.follow };
	x->other_track = SPUR_NONE;
	x->ordered = !stored;
	x->bookkeeping = t->options.as_stored || (t->options.follow && t->options.bookkeeping);
	x->log = &t->diag;
	diag_init(&x->mute);
	reorder_init(&x->order, sizeof(struct spur_event), true);
	pthread_mutex_init(&x->lock, NULL);
	x->swap = guess_order(src, &magic);
	if (!open_tables(x))
		return err_nomem(err);
	if (!magic && src->size)
		diag_add(&t->diag, DIAG_WARN, "fxt/no-magic", x->file, 0, 0,
			 "file: expected the magic record first, found other bytes");
	t->byte_order = x->swap == order_swaps(true) ? "big" : "little";
	return read_tables(x) ? SPUR_OK : err_nomem(err);
}

static void close_file(struct spur_trace *t)
{
	struct fxt *x = t->state;

	lanes_free(x->lanes);
	mem_free(x->window);
	mem_free(x->seen);
	reorder_free(&x->order);
	fxt_classes_free(x);
	fxt_schemas_free(x->schemas);
	fxt_names_free(&x->names);
	fxt_state_free(x);
	diag_free(&x->mute);
	pthread_mutex_destroy(&x->lock);
	mem_free(x);
}

const struct spur_format spur_format_fxt = {
	.name = "fxt",
	.title = "Fuchsia trace format (FXT): one file of records of all providers",
	.reads = "every record, event and argument type, both byte orders, damaged and unfinished "
		 "files",
	.counts_discarded = true,
	.probe = probe,
	.open = open_file,
	.next = fxt_next,
	.args = fxt_args,
	.args_proven = fxt_args_proven,
	.fields = fxt_fields,
	.place = fxt_record_place,
	.ticks = fxt_record_ticks,
	.schema = fxt_schema,
	.copy = fxt_copy,
	.joins = fxt_joins,
	.close = close_file,
};
