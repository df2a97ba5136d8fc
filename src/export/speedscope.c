/*
 * speedscope: speedscope's own JSON. Each track is an evented profile, whose spans open and close
 * in nanoseconds; a frame is a function with its file and line. The format has calls only: no
 * arguments, no events without a length.
 *
 * The profiles are written one after the other at the end; the frames, which they name by number,
 * follow them.
 */
#include "export/profile/timeline.h"
#include "format/format.h"
#include "format/writer.h"
#include "render/frag.h"

enum { FRAMES_MAX = 1 << 28, LINE_ROOM = 128 };

enum reason { LOST_ARGS = LOSS_OWN, LOST_ORDER };
static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "the format has no arguments: left out" },
	{ LOSS_DEGRADED, "the format has times in order: moved to the event before" },
};

/*
 * One event of a profile. speedscope opens no file in which the times of a profile go back, as they
 * do where a complete span ends before the call in it does.
 */
struct record {
	int64_t at; /* ns, from write.zero */
	uint32_t name;
	uint32_t cls; /* 0: time off the CPU */
	bool opens;
};

struct frame {
	uint32_t name, cls;
};

struct speedscope {
	struct write *write;
	struct spur_trace *trace;
	struct timelines timelines;
	uint32_t off_cpu; /* string id */
	struct map64 numbers; /* name and class to number + 1 */
	struct frame *frames;
	size_t nframes, frames_cap;
	size_t shown; /* events of the profile that is being written */
};

static int64_t time_of(const struct speedscope *s, int64_t ts)
{
	int64_t t;

	return __builtin_sub_overflow(ts, s->write->zero, &t) ? ts : t;
}

static bool event_add(struct timeline_lane *l, const struct speedscope *s,
		      const struct spur_event *row, struct record r)
{
	struct timeline *t = timeline_get(l, row->track);

	if (!t)
		return false;
	r.at = time_of(s, row->ts);
	if (r.at < t->last) {
		r.at = t->last;
		loss_add(&s->write->loss, LOST_ORDER, row->kind);
	}
	if (t->first > r.at)
		t->first = r.at;
	return timeline_add(l, t, r.at, &r, sizeof(r));
}

struct speedscope_lane {
	struct speedscope *s;
	struct timeline_lane timelines;
};

static bool speedscope_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct speedscope_lane *l = lane;
	const bool off_cpu = row->kind == SPUR_SWITCH;

	(void)o;
	if (row->nargs && l->s->write->wants_args(l->s->write, row->cls))
		loss_add(&l->s->write->loss, LOST_ARGS, row->kind);
	return event_add(&l->timelines, l->s, row,
			 (struct record){ .name = off_cpu ? l->s->off_cpu : row->name,
					  .cls = off_cpu ? 0 : row->cls,
					  .opens = true });
}

static bool speedscope_end(void *lane, const struct spur_event *row, const struct write_end *end,
			   struct out *o)
{
	struct speedscope_lane *l = lane;

	(void)o;
	if (!end->implied && row->nargs && row->kind == SPUR_END_SPAN &&
	    l->s->write->wants_args(l->s->write, row->cls))
		loss_add(&l->s->write->loss, LOST_ARGS, row->kind);
	return event_add(&l->timelines, l->s, row,
			 (struct record){ .name = end->off_cpu ? l->s->off_cpu : end->name,
					  .cls = end->off_cpu ? 0 : end->cls });
}

static void *speedscope_lane(void *self, uint32_t track)
{
	struct speedscope_lane *l = mem_alloc(sizeof(*l));

	(void)track;
	if (!l)
		return NULL;
	l->s = self;
	l->timelines.all = &l->s->timelines;
	return l;
}

static void speedscope_lane_close(void *lane)
{
	struct speedscope_lane *l = lane;

	timeline_lane_free(&l->timelines);
	mem_free(l);
}

/* --- output --- */

/* The number of a frame + 1, or 0 if out of memory. */
static uint64_t frame_number(struct speedscope *s, const struct record *r)
{
	const uint64_t key = (uint64_t)r->name << 32 | r->cls;
	struct map64_slot *slot = map64_find(&s->numbers, key);

	if (__builtin_expect(slot && slot->value, 1))
		return slot->value;
	slot = map64_put(&s->numbers, key);
	if (!slot || slot->value)
		return slot ? slot->value : 0;
	if (!mem_grow((void **)&s->frames, &s->frames_cap, s->nframes + 1, sizeof(*s->frames),
		      FRAMES_MAX))
		return 0;
	s->frames[s->nframes++] = (struct frame){ r->name, r->cls };
	return slot->value = s->nframes;
}

static bool event_out(void *self, const void *record)
{
	struct speedscope *s = self;
	const struct record *r = record;
	const uint64_t number = frame_number(s, r);
	struct out *o = s->write->out;
	char *w = out_room(o, LINE_ROOM);

	if (!number || !w)
		return false;
	if (s->shown++)
		*w++ = ',';
	w = put_literal(w, "\n{\"type\":\"?\",\"frame\":");
	w[-(int)sizeof("\",\"frame\":")] = r->opens ? 'O' : 'C';
	w = put_literal(put_u64(w, number - 1), ",\"at\":");
	if (r->at < 0)
		*w++ = '-';
	w = put_u64(w, r->at < 0 ? 0 - (uint64_t)r->at : (uint64_t)r->at);
	*w++ = '}';
	out_to(o, w);
	return true;
}

static bool profile_out(struct speedscope *s, const struct timeline *t)
{
	struct out *o = s->write->out, name;

	out_to_memory(&name);
	timeline_name(s->write, t->track, &name);
	out_str(o, "{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"name\":");
	out_json(o, name.buf ? name.buf : "", name.len);
	out_printf(o, ",\"startValue\":%lld,\"endValue\":%lld,\"events\":[", (long long)t->first,
		   (long long)t->last);
	s->shown = 0;
	out_free(&name);
	if (!timeline_walk(t, sizeof(struct record), event_out, s))
		return o->error;
	out_str(o, "\n]}");
	return true;
}

static void string_out(const struct speedscope *s, const char *key, uint32_t id)
{
	size_t len;
	const char *text = trace_string(s->trace, id, &len);

	out_str(s->write->out, key);
	out_json(s->write->out, text, len);
}

static void frames_out(const struct speedscope *s)
{
	struct out *o = s->write->out;

	for (size_t i = 0; i < s->nframes && !o->error; i++) {
		const struct frame *f = &s->frames[i];
		const struct event_class *c = f->cls ? trace_class(s->trace, f->cls) : NULL;

		out_str(o, i ? ",\n" : "\n");
		string_out(s, "{\"name\":", f->name);
		if (c && c->file) {
			string_out(s, ",\"file\":", c->file);
			if (c->line)
				out_printf(o, ",\"line\":%u", c->line);
		}
		out_char(o, '}');
	}
}

static bool speedscope_finish(void *self)
{
	struct speedscope *s = self;
	struct out *o = s->write->out;
	/* The name of the trace's file is one of the names that a masked trace must not have. */
	const char *path = s->write->masked ? "trace" : s->trace->path, *slash = strrchr(path, '/');

	if (!timelines_sort(&s->timelines, s->trace))
		return false;
	out_str(o, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"name\":");
	path = slash && slash[1] ? slash + 1 : path;
	out_json(o, path, strlen(path));
	out_printf(o, ",\"exporter\":\"spur %s\",\"activeProfileIndex\":0,\"profiles\":[\n",
		   spur_version());
	for (size_t i = 0; i < s->timelines.n; i++) {
		out_str(o, i ? ",\n" : "");
		if (!profile_out(s, s->timelines.items[i]))
			return false;
	}
	out_str(o, "\n],\"shared\":{\"frames\":[");
	frames_out(s);
	out_str(o, "\n]}}\n");
	return true;
}

static void speedscope_close(void *self)
{
	struct speedscope *s = self;

	timelines_free(&s->timelines);
	map64_free(&s->numbers);
	mem_free(s->frames);
	mem_free(s);
}

static void *speedscope_open(struct write *w)
{
	struct speedscope *s = mem_alloc(sizeof(*s));

	if (!s)
		return NULL;
	s->write = w;
	s->trace = w->trace;
	timelines_init(&s->timelines);
	s->off_cpu = trace_intern(s->trace, "(off CPU)");
	if (s->off_cpu)
		return s;
	speedscope_close(s);
	return NULL;
}

static const char *const endings[] = { "speedscope.json", "speedscope", NULL };

const struct spur_writer spur_writer_speedscope = {
	.name = "speedscope",
	.title = "speedscope's JSON: calls of each thread, which speedscope.app opens",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_SPAN, WRITE_WHOLE), [SPUR_SWITCH] = WRITE_DEGRADED },
	.dropped = "the format has calls only",
	.degraded = "the format has calls only: time off the CPU is written as one",
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.exact_ns = (int64_t)1 << 53, /* times are doubles */
	.spans = WRITE_SPANS_SPLIT,
	.open = speedscope_open,
	.lane = speedscope_lane,
	.row = speedscope_row,
	.end = speedscope_end,
	.lane_close = speedscope_lane_close,
	.finish = speedscope_finish,
	.close = speedscope_close,
};
