/*
 * Who wrote the records of a stream class, in which byte order and by which clock: struct
 * spur_origin.
 */
#ifndef SPUR_FORMAT_CTF_ORIGIN_H
#define SPUR_FORMAT_CTF_ORIGIN_H

#include "format/ctf/reader.h"

/* The byte order of a trace: "little", "big", or "mixed". */
const char *ctf_byte_order(const struct ctf_meta *m);

/*
 * Gives the class, whose clock is set, its origin: that of a class before it if they are equal.
 * Called while opening, or with t->lock held. Returns false if out of memory.
 */
bool ctf_class_origin(struct ctf *c, const struct ctf_trace *tr, struct ctf_class *k);

/* Gives the stream of a file the origin of the file's class. */
void ctf_stream_origin(struct ctf *c, const struct ctf_file *f);

#endif
