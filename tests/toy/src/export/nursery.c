/* Toy text: a line for each event. */
#include "format/writer.h"

static void *nursery_open(struct write *w)
{
	out_str(w->out, "begin\n");
	return w;
}

static bool nursery_row(void *lane, const struct spur_event *row, struct out *o)
{
	const struct write *w = lane;

	out_printf(o, "%lld %s\n", (long long)row->ts, trace_string(w->trace, row->name, NULL));
	return true;
}

static bool nursery_end(void *lane, const struct spur_event *row, const struct write_end *end,
		    struct out *o)
{
	(void)lane;
	(void)row;
	(void)end;
	(void)o;
	return true;
}

static bool nursery_finish(void *self)
{
	const struct write *w = self;

	out_str(w->out, "end\n");
	return true;
}

static void nursery_close(void *self)
{
	(void)self;
}

static const char *const endings[] = { "nursery", NULL };

const struct spur_writer spur_writer_nursery = {
	.name = "nursery",
	.title = "a line an event",
	.endings = endings,
	.fits = { [SPUR_INSTANT] = WRITE_WHOLE },
	.dropped = "a toy line holds instants alone",
	.piece = 64,
	.open = nursery_open,
	.row = nursery_row,
	.end = nursery_end,
	.finish = nursery_finish,
	.close = nursery_close,
};
