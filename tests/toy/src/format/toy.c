/*
 * Toy: the smallest format there can be, for the test that adding one touches no other file.
 *
 *	offset  size  field
 *	0       4     "TOY1"
 *	then records of 16 bytes:
 *	0       8     time, ns, little endian
 *	8       8     name, filled up with zeros
 */
#include <string.h>

#include "base/bits.h"
#include "format/format.h"

enum { TOY_HEAD = 4, TOY_RECORD = 16, TOY_NAME = 8 };

struct toy {
	struct source *src;
	uint64_t pos;
	uint32_t cls, track;
};

static int toy_probe(const struct probe *p)
{
	return !p->is_dir && p->len >= TOY_HEAD && memcmp(p->head, "TOY1", TOY_HEAD) == 0 ? 90 : 0;
}

static enum spur_status toy_open(struct spur_trace *t, struct source *src, struct spur_error *err)
{
	struct toy *y = mem_alloc(sizeof(*y));
	const struct event_class cls = { .name = trace_intern(t, "toy"), .flags = CLASS_EVENT };
	struct feed *f;

	if (!y)
		return err_nomem(err);
	t->state = y;
	if (!src)
		return err_set(err, SPUR_ERR_FORMAT, "%s: expected a file", t->path);
	y->src = src;
	y->pos = TOY_HEAD;
	y->cls = trace_add_class(t, &cls);
	y->track = trace_add_track(t, (struct spur_track){ .kind = SPUR_TRACK_THREAD,
							   .pid = 1,
							   .tid = 1,
							   .cpu = -1,
							   .parent = SPUR_NONE,
							   .name = cls.name });
	if (!y->cls || y->track == SPUR_NONE || trace_add_stream(t, "toy", src->size) == SPUR_NONE)
		return err_nomem(err);
	f = trace_add_feed(t, y->track, y);
	if (!f)
		return err_nomem(err);
	f->stream = 0;
	t->version = "1";
	t->byte_order = "little";
	t->clock.name = "unknown";
	t->clock.derived = "the format says nothing of it";
	t->clock.hz = 1000000000;
	return SPUR_OK;
}

static void toy_row(struct spur_trace *t, struct toy *y, struct spur_event *row)
{
	const uint8_t *p = y->src->data + y->pos;
	uint64_t ts = 0;

	for (int i = 7; i >= 0; i--)
		ts = ts << 8 | p[i];
	*row = (struct spur_event){
		.ts = (int64_t)(ts >> 1),
		.off = y->pos,
		.len = TOY_RECORD,
		.track = y->track,
		.name = trace_intern_n(t, (const char *)p + 8,
				       strnlen((const char *)p + 8, TOY_NAME)),
		.cls = y->cls,
		.kind = SPUR_INSTANT,
		.cpu = SPUR_NO_CPU,
	};
}

static enum spur_status toy_next(struct spur_trace *t, struct feed *f, struct batch *b)
{
	struct toy *y = f->state;

	b->count = 0;
	while (b->count < b->cap && source_need(y->src, y->pos + TOY_RECORD)) {
		toy_row(t, y, &b->rows[b->count++]);
		y->pos += TOY_RECORD;
		t->read.records++;
	}
	if (b->count)
		return SPUR_OK;
	/* SPEC toy/torn: what is left of a record at the end */
	if (y->src->size > y->pos) {
		diag_add(&f->diag, DIAG_DAMAGE, "toy/torn", "toy", y->pos, y->src->size - y->pos,
			 "record: expected %d bytes, found %llu", TOY_RECORD,
			 (unsigned long long)(y->src->size - y->pos));
		y->pos = y->src->size;
	}
	return SPUR_END;
}

static enum spur_status toy_fields(struct spur_trace *t, const struct spur_event *ev,
				   struct spur_args *args)
{
	(void)t;
	(void)ev;
	(void)args;
	return SPUR_OK;
}

static void toy_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place)
{
	const struct toy *y = t->state;

	place->raw = y->src->data + ev->off;
}

static void toy_close(struct spur_trace *t)
{
	mem_free(t->state);
}

const struct spur_format spur_format_toy = {
	.name = "toy",
	.title = "toy: times and names",
	.reads = "version 1",
	.probe = toy_probe,
	.open = toy_open,
	.next = toy_next,
	.fields = toy_fields,
	.place = toy_place,
	.close = toy_close,
};
