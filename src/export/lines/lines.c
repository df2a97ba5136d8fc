/* See lines.h. */
#include "export/lines/lines.h"

#include "base/mem.h"
#include "render/eventtext.h"

struct lines_writer {
	struct write *write;
	struct event_text text;
};

struct lines_lane {
	struct lines_writer *writer;
	struct event_lane *lines;
};

static bool wants_args(const void *self, uint32_t cls)
{
	const struct write *w = self;

	return w->wants_args(w, cls);
}

static const struct spur_track *get_track(const void *self, uint32_t id)
{
	return write_track(self, id);
}

static enum spur_status get_args(const void *self, const struct spur_event *row,
				 struct spur_args *args)
{
	const struct write *w = self;

	return w->args(w, row, args);
}

void *lines_open(struct write *w, enum output_form form)
{
	const struct event_text_options options = { .form = form,
						    .wants_args = wants_args,
						    .track = get_track,
						    .args = get_args,
						    .no_paths = w->masked,
						    .self = w };
	struct lines_writer *lw = mem_alloc(sizeof(*lw));

	if (!lw)
		return NULL;
	lw->write = w;
	if (event_text_open(&lw->text, w->trace, &options, &w->error) == SPUR_FAIL) {
		lines_close(lw);
		return NULL;
	}
	if (form == FORM_CSV)
		out_str(w->out, EVENT_CSV_HEAD);
	return lw;
}

void lines_close(void *self)
{
	struct lines_writer *lw = self;

	event_text_close(&lw->text);
	mem_free(lw);
}

void *lines_lane(void *self, uint32_t track)
{
	struct lines_lane *l = mem_alloc(sizeof(*l));

	(void)track;
	if (!l)
		return NULL;
	l->writer = self;
	l->lines = event_lane_new(&l->writer->text);
	if (l->lines)
		return l;
	mem_free(l);
	return NULL;
}

void lines_lane_close(void *lane)
{
	struct lines_lane *l = lane;

	event_lane_free(l->lines);
	mem_free(l);
}

bool lines_row(void *lane, const struct spur_event *row, struct out *o)
{
	struct lines_lane *l = lane;
	struct spur_event shifted = *row;

	if (l->writer->write->zero &&
	    __builtin_sub_overflow(row->ts, l->writer->write->zero, &shifted.ts))
		shifted.ts = row->ts;
	return event_text_row(l->lines, &shifted, o);
}

bool lines_end(void *lane, const struct spur_event *row, const struct write_end *end, struct out *o)
{
	return end->implied || lines_row(lane, row, o);
}

bool lines_finish(void *self)
{
	(void)self;
	return true;
}
