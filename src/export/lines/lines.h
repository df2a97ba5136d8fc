/* What the writers of lines share: csv.c, jsonl.c. */
#ifndef SPUR_EXPORT_LINES_LINES_H
#define SPUR_EXPORT_LINES_LINES_H

#include "format/writer.h"
#include "render/options.h"

void *lines_open(struct write *w, enum output_form form);
void *lines_lane(void *self, uint32_t track);
bool lines_row(void *lane, const struct spur_event *row, struct out *o);
bool lines_end(void *lane, const struct spur_event *row, const struct write_end *end,
	       struct out *o);
void lines_lane_close(void *lane);
bool lines_finish(void *self);
void lines_close(void *self);

/* All members of the writer but its name, its title, its endings, and open(). */
#define LINES_WRITER \
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_NATIVE, WRITE_WHOLE) }, \
	.spans = WRITE_SPANS_STORED, .switches = WRITE_SWITCHES_ROWS, .takes_orphans = true, \
	.takes_open = true, .piece = 1, .lane = lines_lane, .row = lines_row, .end = lines_end, \
	.lane_close = lines_lane_close, .finish = lines_finish, .close = lines_close

#endif
