/*
 * XRay traces: functions instrumented by clang's -fxray-instrument, recorded by compiler-rt or
 * others.
 *
 * Reads flight data recorder (FDR) logs, basic logs and profiles, both byte orders; undoes what
 * their writers are known to do wrong. A directory of the logs of one run is read as one trace
 * (run.c). Names of functions come from the traced program (format/xray/map.h). Does not read:
 * llvm-xray's YAML of a trace.
 */
#include "format/format.h"
#include "format/xray/copy.h"
#include "format/xray/reader.h"

enum {
	VERSIONS_TRIED = 32, /* later ones may come to be */
	SCORE_SURE = 100,
	SCORE_HEADER = 60,
	SCORE_ODD = 30,
	BASIC_RUN = 8, /* records in a row that the probe looks at */
	SIZE_LEAST = 64, /* of a buffer */
};

/* What the probe takes for the frequency of a clock, and for the size of a buffer. */
static const uint64_t hz_least = 1000000, hz_most = UINT64_C(100) * 1000000000;
static const uint64_t size_most = UINT64_C(1) << 40;

static const uint64_t emulated_hz = 1000000000;
static const uint64_t realtime_first = UINT64_C(978307200) * 1000000000; /* 2001 */
static const uint64_t realtime_last = UINT64_C(4102444800) * 1000000000; /* 2100 */

/* --- the header --- */

/*
 * SPEC xray/byte-order: version and type are small; the zero bytes beside them tell. False: neither
 * order.
 */
static bool find_order(const uint8_t *p, bool *big)
{
	const bool little = p[0] && !p[1] && !p[3];

	*big = !little && p[1] && !p[0] && !p[2];
	return little || *big;
}

/* SPEC xray/profile-header: "xrayprof" as a number. `big` is set where it is one. */
static bool is_profile(const uint8_t *p, bool *big)
{
	if (load64(p, order_swaps(false)) == xray_profile_magic)
		*big = false;
	else if (load64(p, order_swaps(true)) == xray_profile_magic)
		*big = true;
	else
		return false;
	return true;
}

static bool version_known(uint16_t type, uint16_t version)
{
	return version && version <= (type == XRAY_FDR ? XRAY_FDR_VERSION : XRAY_BASIC_VERSION);
}

static bool read_profile_header(struct xray *x)
{
	const uint8_t *p = xray_at(x, 0);
	const uint64_t version = load64(p + XRAY_PROFILE_AT_VERSION, x->swap);

	x->mode = XRAY_PROFILE;
	x->timestamp = load64(p + XRAY_PROFILE_AT_TIME, x->swap);
	if (x->timestamp > INT64_MAX)
		x->timestamp = INT64_MAX;
	if (version != xray_profile_version)
		diag_add(&x->t->diag, DIAG_WARN, "xray/unknown-version", x->file, 8, 0,
			 "header: expected version 0x%llx of a profile, found 0x%llx: read as the "
			 "former",
			 (unsigned long long)xray_profile_version, (unsigned long long)version);
	x->t->version = arena_printf(&x->t->arena, "profile 0x%llx", (unsigned long long)version);
	return x->t->version != NULL;
}

/*
 * SPEC xray/raw-log: llvm-xray's `convert -f raw` writes basic records after the header that it
 * read
 */
static void correct_mode(struct xray *x)
{
	const uint16_t version = x->version;

	if (x->mode != XRAY_FDR || !xray_have(x, XRAY_HEADER + XRAY_RECORD) ||
	    xray_meta(x, xray_at(x, XRAY_HEADER)) >= 0)
		return;
	x->version = XRAY_BASIC_VERSION;
	if (!xray_basic_at(x, XRAY_HEADER)) {
		x->version = version;
		return;
	}
	x->mode = XRAY_BASIC;
	x->type = XRAY_BASIC;
	diag_add(&x->t->diag, DIAG_WARN, "xray/raw-log", x->file, 2, 0,
		 "header: expected type 0 before records of basic mode, found 1 (FDR), as "
		 "llvm-xray writes it");
}

/* SPEC xray/header: of a log. Requires XRAY_HEADER bytes, and `big`. */
static void read_numbers(struct xray *x)
{
	const uint8_t *p = xray_at(x, 0);

	x->swap = order_swaps(x->big);
	x->version = load16(p + XRAY_AT_VERSION, x->swap);
	x->type = load16(p + XRAY_AT_TYPE, x->swap);
	x->flags = load32(p + XRAY_AT_FLAGS, x->swap);
	x->hz = load64(p + XRAY_AT_HZ, x->swap);
	x->buffer_size = load64(p + XRAY_AT_BUFFER_SIZE, x->swap);
	x->exact = memcmp(p + XRAY_AT_RESERVED, xray_exact_mark,
				  sizeof(xray_exact_mark)) == 0;
}

static enum spur_status read_header(struct xray *x, struct spur_error *err)
{
	const uint8_t *p = xray_at(x, 0);

	x->swap = order_swaps(x->big);
	x->t->byte_order = x->big ? "big" : "little";
	if (is_profile(p, &x->big))
		return read_profile_header(x) ? SPUR_OK : err_nomem(err);
	read_numbers(x);
	if (x->type > XRAY_FDR)
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected type 0 (basic) or 1 (FDR), found %u", x->file,
			       x->type);
	x->mode = x->type == XRAY_FDR ? XRAY_FDR : XRAY_BASIC;
	correct_mode(x);
	if (!version_known(x->type, x->version))
		diag_add(&x->t->diag, DIAG_WARN, "xray/unknown-version", x->file, 0, 0,
			 "header: expected version 1 to %d, found %u: read as the last of them",
			 x->mode == XRAY_FDR ? XRAY_FDR_VERSION : XRAY_BASIC_VERSION, x->version);
	x->t->version = arena_printf(&x->t->arena, "%s %u", x->mode == XRAY_FDR ? "FDR" : "basic",
				     x->version);
	return x->t->version ? SPUR_OK : err_nomem(err);
}

static enum spur_status open_header(struct xray *x, struct spur_error *err)
{
	if (!source_need(x->src, XRAY_HEADER))
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected a header of %d bytes, found %llu", x->file,
			       XRAY_HEADER, (unsigned long long)x->src->size);
	if (!is_profile(xray_at(x, 0), &x->big) && !find_order(xray_at(x, 0), &x->big))
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected a version from 1 on and a type of 0 or 1, found bytes "
			       "%02x %02x %02x %02x",
			       x->file, *xray_at(x, 0), *xray_at(x, 1), *xray_at(x, 2),
			       *xray_at(x, 3));
	return read_header(x, err);
}

/* --- what is said --- */

void xray_report_source(const struct xray *x, struct diag_log *diag)
{
	x->t->streams[x->stream].size = x->src->size;
	if (x->src->error->code)
		diag_add(diag, DIAG_DAMAGE, "xray/unreadable", x->file, x->src->size, 0, "%s",
			 x->src->error->message);
}

void xray_report_empty(const struct xray *x, struct diag_log *diag)
{
	if (diag_count(diag, DIAG_DAMAGE))
		return;
	diag_add(diag, DIAG_WARN, "xray/no-data", x->file, XRAY_HEADER, 0,
		 "file: expected records, found none: nothing was recorded. Was patching on "
		 "(XRAY_OPTIONS=patch_premain=true, or __xray_patch()), and the log flushed?");
}

/* The first moment in the file; 0: none. */
static uint64_t first_ticks(const struct xray *x)
{
	const struct xray_run *run = x->list.items;

	if (x->mode == XRAY_BASIC)
		return x->list.count ? load64(xray_at(x, run->off) + XRAY_BASIC_AT_TICKS, x->swap)
				     : 0;
	return x->ref_tsc;
}

static void set_clock(struct xray *x)
{
	struct clock_info *c = &x->t->clock;
	const uint64_t first = x->stored ? 0 : first_ticks(x);

	c->name = "tsc";
	c->derived = "the frequency stands in the header";
	c->hz = x->hz;
	c->ticks = x->t->options.raw_time && x->hz && x->hz != emulated_hz;
	if (x->mode == XRAY_PROFILE) {
		c->name = "realtime";
		c->derived = "of the moment when the profile was written; durations are ticks of "
			     "unknown frequency, "
			     "counted as ns";
		c->epoch_known = true;
	} else if (!x->hz) {
		/* SPEC xray/no-frequency */
		c->derived = "the header has no frequency: a tick counts as a ns";
		diag_add(&x->t->diag, DIAG_NOTE, "xray/no-frequency", x->file, 8, 0,
			 "header: expected a frequency, found 0: a tick counts as a ns");
	} else if (x->hz == emulated_hz && first > realtime_first && first < realtime_last) {
		/* SPEC xray/emulated */
		c->name = "realtime";
		c->derived = "the header's frequency is 10^9: the time stamp counter was emulated "
			     "by clock_gettime(), "
			     "CPU numbers are all 0";
		c->epoch_known = true;
	} else if (x->hz == emulated_hz) {
		c->derived = "the header's frequency is 10^9: a counter of that frequency, or one "
			     "emulated by "
			     "clock_gettime()";
	}
}

static const char *writer(const struct xray *x)
{
	static const char *const fdr[] = { "", "LLVM 5", "LLVM 6", "LLVM 7",
					   "a version between LLVM 7 and 8" };
	static const char *const basic[] = { "", "LLVM 4 or 5", "LLVM 6" };

	if (x->mode == XRAY_PROFILE)
		return "LLVM 7 or later";
	if (x->mode == XRAY_FDR)
		return x->version < XRAY_FDR_VERSION ? fdr[x->version] : "LLVM 8 or later";
	return x->version < XRAY_BASIC_VERSION ? basic[x->version] : "LLVM 7 or later";
}

/* SPEC xray/flags: two bits; the others are junk in basic logs */
static bool flag(const struct xray *x, unsigned bit)
{
	return x->flags >> (x->big ? 31 - bit : bit) & 1;
}

static bool add_info(const struct xray *x)
{
	static const char *const types[] = { "basic", "flight data recorder", "profile" };
	struct spur_trace *t = x->t;

	if (!trace_add_info(t, "type", "%s", types[x->mode]) ||
	    !trace_add_info(t, "written by", "%s", writer(x)))
		return false;
	if (x->mode == XRAY_PROFILE)
		return true;
	if (!trace_add_info(t, "cycle frequency", "%llu", (unsigned long long)x->hz) ||
	    !trace_add_info(t, "constant tsc", "%s", flag(x, 0) ? "yes" : "no") ||
	    !trace_add_info(t, "nonstop tsc", "%s", flag(x, 1) ? "yes" : "no"))
		return false;
	if (x->mode != XRAY_FDR)
		return true;
	if (!trace_add_info(t, "buffer size", "%llu", (unsigned long long)x->buffer_size))
		return false;
	if (x->wrapped && !trace_add_info(t, "ring", "wrapped: the oldest records are overwritten"))
		return false;
	return x->stored || trace_add_info(t, "buffers", "%zu", x->list.count);
}

/* --- the format --- */

static bool open_parts(struct xray *x)
{
	bool ok = xray_names_open(x) && xray_fields_open(x);

	if (ok && x->bookkeeping) {
		x->file_track = trace_add_track(
			x->t, (struct spur_track){ .parent = SPUR_NONE,
						   .name = trace_intern(x->t, x->file),
						   .kind = SPUR_TRACK_OTHER,
						   .pid = -1,
						   .tid = -1,
						   .cpu = -1 });
		ok = x->file_track != SPUR_NONE;
	}
	if (ok && !x->stored) {
		source_need(x->src, UINT64_MAX);
		ok = x->mode == XRAY_FDR     ? xray_scan_open(x)
		     : x->mode == XRAY_BASIC ? xray_basic_open(x)
					     : xray_profile_open(x);
		xray_report_source(x, &x->t->diag);
		if (ok && !x->nthreads)
			xray_report_empty(x, &x->t->diag);
	}
	if (!ok || !xray_add_feeds(x) || !add_info(x))
		return false;
	set_clock(x);
	return true;
}

/*
 * SPEC xray/origin: one for the whole log, of the header's byte order and frequency; a profile has
 * no frequency.
 */
static bool add_origin(struct xray *x, struct spur_error *err)
{
	const struct spur_origin origin = {
		.provider = SPUR_NONE,
		.track = SPUR_NONE,
		.byte_order = x->big ? 'b' : 'l',
		.clock_shared = x->mode != XRAY_PROFILE,
		.hz = x->hz,
	};

	x->t->streams[x->stream].origin = trace_add_origin(x->t, origin);
	if (x->t->streams[x->stream].origin != SPUR_NONE)
		return true;
	err_nomem(err);
	return false;
}

static enum spur_status open_trace(struct spur_trace *t, struct source *src, struct spur_error *err)
{
	const char *slash = strrchr(t->path, '/');
	struct xray *x;

	if (!src)
		return err_set(err, SPUR_ERR_FORMAT, "%s: expected a file, found a directory",
			       t->path);
	x = mem_alloc(sizeof(*x));
	if (!x)
		return err_nomem(err);
	t->state = x;
	x->t = t;
	x->src = src;
	x->file = slash ? slash + 1 : t->path;
	x->follow = t->options.follow;
	x->stored = t->options.as_stored || x->follow;
	x->bookkeeping = x->stored || t->options.bookkeeping;
	x->left_out = XRAY_NO_THREAD;
	x->stream = trace_add_stream(t, x->file, src->eof ? src->size : 0);
	if (x->stream == SPUR_NONE)
		return err_nomem(err);
	if (open_header(x, err) == SPUR_FAIL || !add_origin(x, err) ||
	    xray_maps_open(&x->maps, t->path, &t->options, &t->diag, err) == SPUR_FAIL)
		return SPUR_FAIL;
	return open_parts(x) ? SPUR_OK : err_nomem(err);
}

/*
 * Times of a thread never go back (xray_thread.high), so its first record tells. Before version 5
 * events have ticks of their own and may be older than their buffer.
 */
static bool begins(struct spur_trace *t, const struct feed *f, int64_t *ts)
{
	const struct xray *x = t->state;
	const struct xray_range *th = xray_range_of(x, f->track);
	const struct xray_buffer *b;
	struct ticks ticks;
	uint64_t tsc, off;

	if (!th)
		return false;
	if (x->mode == XRAY_BASIC) {
		off = ((const struct xray_run *)x->list.items)[th->first].off;
		if (load16(xray_at(x, off), x->swap) != XRAY_BASIC_CALL)
			return false;
		tsc = load64(xray_at(x, off) + XRAY_BASIC_AT_TICKS, x->swap);
	} else if (x->mode == XRAY_FDR && x->version == XRAY_FDR_VERSION && !x->bookkeeping) {
		b = (const struct xray_buffer *)x->list.items + th->first;
		if (b->flags & BUFFER_NO_TSC)
			return false;
		tsc = b->tsc;
	} else {
		return false;
	}
	ticks_init(&ticks, x->hz, t->options.raw_time || !x->hz);
	*ts = ticks_ns(&ticks, tsc);
	return true;
}

static enum spur_status next_of_mode(struct xray *x, struct feed *f, struct batch *b)
{
	if (x->bookkeeping && !x->stored && !((struct xray_feed *)f->state)->thread)
		return xray_file_next(x, f, b);
	switch (x->mode) {
	case XRAY_FDR:
		return xray_fdr_next(x, f, b);
	case XRAY_BASIC:
		return xray_basic_next(x, f, b);
	default:
		return xray_profile_next(x, f, b);
	}
}

static enum spur_status next_rows(struct spur_trace *t, struct feed *f, struct batch *b)
{
	struct xray *x = t->state;
	enum spur_status st;

	b->count = 0;
	if (f->state == x)
		return SPUR_END;
	if (!xray_feed_open(x, f))
		return SPUR_FAIL;
	st = next_of_mode(x, f, b);
	if (st == SPUR_END && !((struct xray_feed *)f->state)->is_part)
		xray_feed_end(x, f);
	return st;
}

static void close_trace(struct spur_trace *t)
{
	struct xray *x = t->state;

	xray_cursors_close(x);
	xray_threads_close(x);
	xray_names_close(x);
	if (x->maps)
		xray_maps_close(x->maps);
	mem_free(x);
}

/* --- the probe --- */

/*
 * SPEC xray/probe: there is no magic number, and small numbers at the beginning are in many files.
 * So the whole header must make sense, or records must make up for what it lacks.
 */
static bool hz_plausible(const struct xray *x)
{
	return x->hz >= hz_least && x->hz <= hz_most;
}

static bool all_equal(const uint8_t *p, size_t len)
{
	return memcmp(p, p + 1, len - 1) == 0;
}

/* Flags and what is after the buffer size are left as they were in memory by versions 1 and 2. */
static int score_fdr(const struct xray *x)
{
	const uint64_t first = XRAY_HEADER + (x->version > 1 ? XRAY_METADATA : 0);
	const uint8_t *p = x->src->data;
	const bool size = x->buffer_size >= SIZE_LEAST && x->buffer_size <= size_most;
	const bool clean = !(x->flags & ~(x->big ? 3u << 30 : 3u)) &&
			   (x->exact || !load64(p + XRAY_AT_RESERVED, x->swap));
	const bool records = x->src->size > first && xray_head_at(x, first, x->src->size);
	const bool extents = x->version == 1 || (x->src->size > XRAY_HEADER &&
						 xray_meta(x, p + XRAY_HEADER) == META_EXTENTS);

	if (records && extents)
		return hz_plausible(x) || (size && clean) ? SCORE_SURE : 0;
	if (!hz_plausible(x) || !(clean || x->version < 3))
		return 0;
	/* SPEC xray/raw-log */
	if (!size && xray_basic_run(x, XRAY_HEADER, BASIC_RUN) < BASIC_RUN)
		return 0;
	return clean || (size && x->src->size == XRAY_HEADER) ? SCORE_HEADER : 0;
}

static int score_basic(const struct xray *x)
{
	const uint32_t run = xray_basic_run(x, XRAY_HEADER, BASIC_RUN);

	/* SPEC xray/no-frequency */
	if (!hz_plausible(x))
		return !x->hz && run == BASIC_RUN &&
				       x->src->size > XRAY_HEADER + XRAY_BASIC_AT_TICKS + 8 &&
				       load64(x->src->data + XRAY_HEADER + XRAY_BASIC_AT_TICKS,
					      x->swap) >= hz_least
			       ? SCORE_HEADER
			       : 0;
	if (run == BASIC_RUN)
		return SCORE_SURE;
	return run || all_equal(x->src->data + 16, XRAY_HEADER - 16) ? SCORE_HEADER : 0;
}

static int probe(const struct probe *p)
{
	struct source head = { .data = p->head, .size = p->len, .eof = true };
	struct xray x = { .src = &head };

	if (p->is_dir)
		return xray_run_in(p->path) ? SCORE_HEADER : 0;
	if (p->len < XRAY_HEADER)
		return 0;
	if (is_profile(p->head, &x.big))
		return SCORE_SURE;
	if (!find_order(p->head, &x.big))
		return 0;
	read_numbers(&x);
	if (x.type > XRAY_FDR || x.version > VERSIONS_TRIED)
		return 0;
	if (version_known(x.type, x.version))
		return x.type == XRAY_FDR ? score_fdr(&x) : score_basic(&x);
	if (!hz_plausible(&x))
		return 0;
	return (x.type == XRAY_FDR ? score_fdr(&x) : score_basic(&x)) ? SCORE_ODD : 0;
}

static bool has_module(const struct spur_trace *t, struct text word)
{
	const struct xray *x = t->state;

	for (size_t i = 0; i < xray_maps_count(x->maps); i++) {
		const struct site_map *m = xray_maps_object(x->maps, (uint32_t)i);
		const char *path = m ? xray_map_path(m) : "", *slash = strrchr(path, '/');

		if (strncmp(slash ? slash + 1 : path, word.p, word.len) == 0)
			return true;
	}
	return false;
}

static const struct site_reader sites = {
	.object_shift = XRAY_OBJECT_SHIFT,
	.objects = XRAY_OBJECTS,
	.portable_kinds = XRAY_SLED_CUSTOM + 1,
	.kind_name = xray_sled_kind_name,
	.split = xray_object_split,
	.open = xray_map_open,
	.close = xray_map_close,
	.path = xray_map_path,
	.build_id = xray_map_build_id,
	.note = xray_map_note,
	.count = xray_map_count,
	.sites = xray_map_sleds,
	.functions = xray_map_functions,
	.function = xray_map_function,
};

const struct spur_format spur_format_xray = {
	.name = "xray",
	.title = "XRay logs of LLVM (function calls of programs built with -fxray-instrument)",
	.reads = "flight data recorder versions 1 to 5, basic versions 1 to 3, profiles; both byte "
		 "orders",
	.probe = probe,
	.open = open_trace,
	.members = xray_run_members,
	.relate = xray_run_relate,
	.begins = begins,
	.next = next_rows,
	.divide = xray_divide,
	.part_open = xray_part_open,
	.part_follows = xray_part_follows,
	.part_close = xray_part_close,
	.args = xray_args,
	.stack = xray_stack,
	.fields = xray_fields,
	.place = xray_place,
	.ticks = xray_ticks,
	.schema = xray_schema,
	.has_module = has_module,
	.copy = xray_copy,
	.joins = xray_joins,
	.sites = &sites,
	.close = close_trace,
};
