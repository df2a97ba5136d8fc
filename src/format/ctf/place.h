/* Places and raw times of records: the format's `place` and `ticks` (struct spur_format). */
#ifndef SPUR_FORMAT_CTF_PLACE_H
#define SPUR_FORMAT_CTF_PLACE_H

#include "format/ctf/reader.h"

void ctf_record_place(struct spur_trace *t, const struct spur_event *ev, struct spur_place *place);
bool ctf_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2]);
/*
 * For styles: the clock of an event in cycles, as precise as its header is; 0 if it cannot be read.
 */
uint64_t ctf_event_cycles(struct ctf *c, const struct spur_event *ev);

#endif
