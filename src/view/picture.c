/* What the picture is made of: the trace's facts, labels, tiles, curves, the overview. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "view/live.h"
#include "view/series.h"

/* --- tracks --- */

static const char *kind_name(enum spur_track_kind kind)
{
	switch (kind) {
	case SPUR_TRACK_PROCESS:
		return "process";
	case SPUR_TRACK_THREAD:
		return "thread";
	case SPUR_TRACK_CPU:
		return "cpu";
	case SPUR_TRACK_ASYNC:
		return "async";
	default:
		return "track";
	}
}

/* What a store knows of one track's lanes. */
struct track_sum {
	uint32_t depth; /* lanes of spans */
	uint64_t items;
	bool states;
	bool used; /* it has items of any kind, or a track below it has */
};

/* Marks a track with items, and those above it. */
static void sum_use(const struct view *v, struct track_sum *sums, uint32_t ntracks, uint32_t track)
{
	struct store_track t;

	while (track < ntracks && !sums[track].used) {
		sums[track].used = true;
		track = store_track(v->store, track, &t) ? t.parent : SPUR_NONE;
	}
}

/* Returns an array by track, NULL if out of memory. */
static struct track_sum *sum_tracks(const struct view *v, uint32_t ntracks, uint32_t nlanes)
{
	struct track_sum *sums = mem_array(ntracks, sizeof(*sums));
	struct store_lane lane;

	for (uint32_t i = 0; sums && i < nlanes; i++) {
		if (!store_lane(v->store, i, &lane) || lane.track >= ntracks)
			continue;
		if (lane.items)
			sum_use(v, sums, ntracks, lane.track);
		sums[lane.track].states |= lane.kind == STORE_STATES && lane.items;
		if (lane.kind != STORE_SPANS)
			continue;
		if (lane.depth >= sums[lane.track].depth)
			sums[lane.track].depth = lane.depth + 1;
		sums[lane.track].items += lane.items;
	}
	return sums;
}

static void put_count(struct out *o, const char *before, uint64_t n)
{
	out_str(o, before);
	out_u64(o, n);
}

static void put_number(struct out *o, const char *before, int64_t v)
{
	out_str(o, before);
	if (v >= 0)
		out_i64(o, v);
	out_char(o, '"');
}

static bool put_tracks(const struct view *v, const struct store_facts *f, struct out *o)
{
	size_t count;
	uint32_t *const places = store_track_places(v->store, &count);
	struct track_sum *const sums = places ? sum_tracks(v, f->tracks, f->lanes) : NULL;
	struct store_track t;
	bool first = true;

	if (!sums) {
		mem_free(places);
		return false;
	}
	out_str(o, ",\"tracks\":[");
	for (uint32_t i = 0; i < f->tracks; i++) {
		/* The reader of a trace that grows makes tracks before it knows what they get. */
		if ((v->growing && !sums[i].used) || !store_track(v->store, i, &t))
			continue;
		put_count(o, first ? "{\"id\":" : ",{\"id\":", i);
		put_count(o, ",\"order\":", i < count ? places[i] : i);
		out_str(o, ",\"parent\":");
		out_i64(o, t.parent == SPUR_NONE ? -1 : (int64_t)t.parent);
		out_str(o, ",\"kind\":\"");
		out_str(o, kind_name(t.kind));
		out_str(o, "\",\"name\":");
		view_text(o, t.name);
		put_number(o, ",\"pid\":\"", t.pid);
		put_number(o, ",\"tid\":\"", t.tid);
		if (t.trace.len) {
			out_str(o, ",\"trace\":");
			view_text(o, t.trace);
		}
		put_count(o, ",\"depth\":", sums[i].depth);
		put_count(o, ",\"spans\":", sums[i].items);
		out_str(o, sums[i].states ? ",\"states\":true}" : ",\"states\":false}");
		first = false;
	}
	out_char(o, ']');
	mem_free(sums);
	mem_free(places);
	return true;
}

/* Writes a value; what JSON has no number for is text: "nan", "inf", "-inf". */
static void put_value(struct out *o, double d)
{
	if (isfinite(d))
		out_json_double(o, d, false);
	else
		out_str(o, isnan(d) ? "\"nan\"" : d > 0 ? "\"inf\"" : "\"-inf\"");
}

/* Adds the least and greatest of a lane's values: a curve of one tile that has the trace. */
static bool add_extent(const struct view *v, uint32_t id, double *least, double *most)
{
	struct store_points points = { 0 };
	struct store_lane lane;
	bool good;

	store_lane(v->store, id, &lane);
	good = store_curve(v->store, id, lane.start, STORE_SHIFT_MAX, &points);
	for (size_t i = 0; i < points.n; i++) {
		const double a = store_number(lane.kind, points.points[i].least);
		const double b = store_number(lane.kind, points.points[i].most);

		if (a < *least)
			*least = a;
		if (b > *most)
			*most = b;
	}
	store_points_free(&points);
	return good;
}

/* Writes a counter. Returns false if out of memory. */
static bool put_one_series(const struct view *v, const struct series *s, struct out *o)
{
	double least = INFINITY, most = -INFINITY;
	struct store_label label;
	struct store_lane lane;

	for (uint32_t i = 0; i < s->n; i++)
		if (!add_extent(v, s->lanes[i], &least, &most))
			return false;
	if (least > most)
		least = most = NAN;
	store_lane(v->store, s->lanes[0], &lane);
	store_label(v->store, lane.label, &label);
	out_printf(o, "{\"id\":%u,\"track\":%u,\"name\":", s->lanes[0], lane.track);
	view_text(o, label.name);
	out_str(o, ",\"arg\":");
	view_text(o, store_string(v->store, lane.arg));
	out_str(o, ",\"least\":");
	put_value(o, least);
	out_str(o, ",\"most\":");
	put_value(o, most);
	out_char(o, '}');
	return true;
}

static bool put_series(const struct view *v, struct out *o)
{
	struct series *series;
	size_t n;
	bool good = series_all(v, &series, &n);

	out_str(o, ",\"series\":[");
	for (size_t i = 0; good && i < n; i++) {
		if (i)
			out_char(o, ',');
		good = put_one_series(v, &series[i], o);
	}
	out_char(o, ']');
	mem_free(series);
	return good;
}

/* --- facts --- */

static void put_facts(struct view *v, struct out *o)
{
	struct spur_info info;
	bool first = true;

	out_str(o, ",\"facts\":[");
	for (size_t i = 0; spur_info(v->trace, i, &info); i++) {
		out_str(o, first ? "[" : ",[");
		out_json(o, info.key, strlen(info.key));
		out_char(o, ',');
		out_json(o, info.value, info.len);
		out_char(o, ']');
		first = false;
	}
	out_char(o, ']');
}

static void put_mark(const struct view *v, struct out *o, bool timed, int64_t ts, int64_t dur,
		     bool *first)
{
	out_str(o, *first ? "{\"ts\":" : ",{\"ts\":");
	*first = false;
	if (timed)
		out_printf(o, "%lld,\"dur\":%lld",
			   (long long)(ts > view_zero(v) ? ts - view_zero(v) : 0), (long long)dur);
	else
		out_str(o, "null,\"dur\":0");
}

/* What reading told so far, while the store grows: the times of damage are not known. */
static void put_growing_marks(const struct view *v, struct out *o, bool *first)
{
	const uint64_t late = __atomic_load_n(&v->late, __ATOMIC_RELAXED);

	for (size_t i = 0; i < v->ntold; i++) {
		put_mark(v, o, false, 0, 0, first);
		out_printf(o, ",\"track\":-1,\"kind\":\"%s\",\"text\":",
			   v->told[i].is_damage ? "damage" : "note");
		out_json(o, v->told[i].text, strlen(v->told[i].text));
		out_char(o, '}');
	}
	if (!late)
		return;
	put_mark(v, o, false, 0, 0, first);
	out_printf(o, ",\"track\":-1,\"kind\":\"note\",\"text\":\"" VIEW_LATE_TEXT "\"}",
		   (unsigned long long)late);
}

static void put_note(const struct view *v, const struct store_note *n, struct out *o, bool *first)
{
	struct out text;

	out_to_memory(&text);
	out_bytes(&text, n->file.p, n->file.len);
	if (n->off != UINT64_MAX)
		out_printf(&text, ":0x%llx", (unsigned long long)n->off);
	out_str(&text, n->file.len ? ": " : "");
	out_bytes(&text, n->text.p, n->text.len);
	if (n->count > 1)
		out_printf(&text, " (%llu times)", (unsigned long long)n->count);
	put_mark(v, o, n->timed, n->ts, 0, first);
	out_printf(o, ",\"track\":-1,\"kind\":\"%s\",\"text\":", n->is_damage ? "damage" : "note");
	out_json(o, text.buf ? text.buf : "", text.len);
	out_char(o, '}');
	out_free(&text);
}

/* Losses: of those that lie close together in the whole trace's picture, only the first. */
static void put_losses(const struct view *v, struct out *o, bool *first)
{
	const struct store_facts f = store_facts(v->store);
	const int64_t near = f.end / VIEW_OVERVIEW - f.start / VIEW_OVERVIEW;
	int64_t last = INT64_MIN;
	struct store_lost l;

	for (uint64_t i = 0, n = 0; store_lost(v->store, i, &l) && n < VIEW_LOSSES_MOST; i++) {
		if (i >= VIEW_LOSSES_MOST / 2 && l.ts / 2 - last / 2 <= near / 2)
			continue;
		last = l.ts;
		n++;
		put_mark(v, o, true, l.ts, l.dur, first);
		out_printf(o, ",\"track\":%u,\"kind\":\"lost\",\"text\":\"", l.track);
		if (l.count)
			out_printf(o, "%llu event%s lost\"}", (unsigned long long)l.count,
				   l.count == 1 ? " was" : "s were");
		else
			out_str(o, "events were lost\"}");
	}
}

/* What is wrong with the trace, and where events were lost. */
static void put_marks(struct view *v, struct out *o)
{
	struct store_note n;
	bool first = true;

	out_str(o, ",\"marks\":[");
	if (!store_facts(v->store).done)
		put_growing_marks(v, o, &first);
	for (uint64_t i = 0; store_note(v->store, i, &n); i++)
		put_note(v, &n, o, &first);
	put_losses(v, o, &first);
	out_char(o, ']');
}

bool view_meta(struct view *v, const struct view_request *r, struct view_answer *a)
{
	const struct store_facts f = store_facts(v->store);
	struct out *const o = &a->out;
	const char *error;
	bool good;

	(void)r;
	out_str(o, "{\"name\":");
	out_json(o, v->name, strlen(v->name));
	out_str(o, ",\"command\":");
	view_command(v, "spur COMMAND ", "", o);
	out_printf(o, ",\"format\":\"%s\",\"start\":\"%lld\",\"length\":%lld",
		   spur_format_name(v->trace), (long long)view_zero(v),
		   (long long)(f.end > view_zero(v) ? f.end - view_zero(v) : 0));
	out_printf(o, ",\"done\":%s,\"growing\":%s,\"generation\":%u", f.done ? "true" : "false",
		   v->growing && !f.done ? "true" : "false",
		   __atomic_load_n(&v->generation, __ATOMIC_ACQUIRE));
	out_str(o, ",\"error\":");
	error = __atomic_load_n(&v->error, __ATOMIC_ACQUIRE);
	out_json(o, error ? error : "", error ? strlen(error) : 0);
	out_printf(o, ",\"spans\":%llu,\"rows\":%llu,\"labels\":%u", (unsigned long long)f.spans,
		   (unsigned long long)f.rows, f.labels);
	good = put_tracks(v, &f, o) && put_series(v, o);
	pthread_mutex_lock(&v->reading);
	put_marks(v, o);
	put_facts(v, o);
	pthread_mutex_unlock(&v->reading);
	out_char(o, '}');
	return good && !o->error;
}

bool view_labels(struct view *v, const struct view_request *r, struct view_answer *a)
{
	const struct store_facts f = store_facts(v->store);
	struct store_label l;
	int64_t from;

	if (!view_number(r, "from", 0, UINT32_MAX, 0, &from))
		return view_refuse(a, 400, "expected from as a number");
	out_char(&a->out, '[');
	for (uint32_t i = (uint32_t)from; i < f.labels; i++) {
		view_label(v, i, &l);
		out_str(&a->out, i == from ? "{\"name\":" : ",{\"name\":");
		view_text(&a->out, l.name);
		out_str(&a->out, ",\"module\":");
		view_text(&a->out, l.module);
		out_str(&a->out, ",\"category\":");
		view_text(&a->out, l.cat);
		out_printf(&a->out, ",\"head\":%u}", l.head);
	}
	out_char(&a->out, ']');
	return !a->out.error;
}

/* --- tiles --- */

bool view_tile_place(const struct view *v, const struct view_request *r, int64_t *t0, int64_t *z)
{
	const int64_t tile = STORE_TILE;
	int64_t i, width;

	if (!view_number(r, "z", 0, VIEW_SHIFT_MOST, -1, z) || *z < 0 ||
	    !view_number(r, "i", 0, INT64_MAX, -1, &i) || i < 0)
		return false;
	width = tile << *z;
	return !__builtin_mul_overflow(i, width, t0) &&
	       !__builtin_add_overflow(*t0, view_zero(v), t0);
}

struct lane_list {
	uint32_t lanes[VIEW_LANES_MOST]; /* SPUR_NONE: no such lane (yet) */
	size_t n;
};

/* Reads `TRACK:FROM-TO,TRACK:s,...`. Returns false if it is something else or too long. */
static bool read_lanes(const struct view *v, const char *s, struct lane_list *out)
{
	unsigned track, from, to;
	int used;

	out->n = 0;
	while (*s) {
		if (*s < '0' || *s > '9')
			return false;
		used = 0;
		if (sscanf(s, "%u:s%n", &track, &used) == 1 && used) {
			if (out->n == VIEW_LANES_MOST)
				return false;
			out->lanes[out->n++] = store_states(v->store, track);
			s += used;
			if (*s && *s++ != ',')
				return false;
			continue;
		}
		if (sscanf(s, "%u:%u-%u%n", &track, &from, &to, &used) != 3 || from > to ||
		    to - from >= VIEW_LANES_MOST - out->n)
			return false;
		for (unsigned d = from; d <= to; d++)
			out->lanes[out->n++] = store_lane_at(v->store, track, d);
		s += used;
		if (*s && *s++ != ',')
			return false;
	}
	return out->n > 0;
}

/* Answers with u32 1, u32 lanes, u32 rectangles of each, and the rectangles of all. */
bool view_tiles(struct view *v, const struct view_request *r, struct view_answer *a)
{
	const char *const lanes = view_arg(r, "lanes");
	struct store_rects rects = { 0 };
	struct lane_list list;
	uint32_t head[2 + VIEW_LANES_MOST] = { 1 };
	int64_t t0, z;
	bool good = true;

	if (!view_tile_place(v, r, &t0, &z))
		return view_refuse(a, 400, "expected z and i");
	if (!lanes || !read_lanes(v, lanes, &list))
		return view_refuse(a, 400, "expected lanes as TRACK:FROM-TO, at most %d",
				   VIEW_LANES_MOST);
	a->partial = !store_facts(v->store).done;
	head[1] = (uint32_t)list.n;
	for (size_t i = 0; good && i < list.n; i++) {
		const size_t before = rects.n;

		if (list.lanes[i] != SPUR_NONE)
			good = store_tile(v->store, list.lanes[i], t0, (unsigned)z, &rects);
		for (size_t k = before; k < rects.n; k++)
			if (rects.rects[k].label & STORE_RECT_OFF_CPU)
				rects.rects[k].label &= 255;
		head[2 + i] = (uint32_t)(rects.n - before);
	}
	if (good) {
		out_bytes(&a->out, head, (2 + list.n) * sizeof(*head));
		out_bytes(&a->out, rects.rects, rects.n * sizeof(*rects.rects));
	}
	store_rects_free(&rects);
	a->type = "application/octet-stream";
	return good && !a->out.error;
}

/* --- the overview --- */

/* Adds how much of each part of the trace a lane's rectangles take, in 1/32 pixel. */
static bool overview_lane(const struct view *v, uint32_t lane, unsigned z, uint32_t *busy)
{
	struct store_rects rects = { 0 };
	const bool good = store_tile(v->store, lane, view_zero(v), z, &rects);

	for (size_t i = 0; i < rects.n; i++) {
		const struct store_rect *const r = &rects.rects[i];
		const uint32_t x0 = r->x0, x1 = r->x1 > x0 ? r->x1 : x0 + 1;

		for (uint32_t px = x0 / STORE_SUB; px < STORE_TILE && px * STORE_SUB < x1; px++) {
			const uint32_t a = x0 > px * STORE_SUB ? x0 : px * STORE_SUB;
			const uint32_t b = x1 < (px + 1) * STORE_SUB ? x1 : (px + 1) * STORE_SUB;

			busy[px] += b - a;
		}
	}
	store_rects_free(&rects);
	return good;
}

/* Answers with a byte for each part of the trace: how busy the outermost lanes are there. */
bool view_overview(struct view *v, const struct view_request *r, struct view_answer *a)
{
	const struct store_facts f = store_facts(v->store);
	const uint64_t length = f.end > view_zero(v) ? (uint64_t)(f.end - view_zero(v)) : 1;
	uint32_t busy[STORE_TILE] = { 0 };
	uint8_t out[VIEW_OVERVIEW];
	struct store_lane lane;
	uint32_t most = 1;
	unsigned z = 0;

	(void)r;
	while (z < VIEW_SHIFT_MOST && (uint64_t)STORE_TILE << z < length)
		z++;
	for (uint32_t i = 0; i < f.lanes; i++)
		if (store_lane(v->store, i, &lane) && lane.kind == STORE_SPANS && !lane.depth &&
		    !overview_lane(v, i, z, busy))
			return false;
	for (size_t i = 0; i < STORE_TILE; i++)
		if (busy[i] > most)
			most = busy[i];
	/* The trace ends within the tile, whose pixels are spread over all parts. */
	for (size_t i = 0; i < VIEW_OVERVIEW; i++) {
		const uint64_t t = (uint64_t)((unsigned __int128)length * i / VIEW_OVERVIEW);
		const uint32_t n = busy[(t >> z) % STORE_TILE];

		out[i] = (uint8_t)(n ? 1 + (uint64_t)n * 254 / most : 0);
	}
	out_bytes(&a->out, out, sizeof(out));
	a->type = "application/octet-stream";
	return !a->out.error;
}
