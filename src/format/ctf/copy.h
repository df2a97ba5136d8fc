/* Copies of CTF traces: see struct spur_format, copy and copies_to_dir. */
#ifndef SPUR_FORMAT_CTF_COPY_H
#define SPUR_FORMAT_CTF_COPY_H

#include "format/copy.h"

enum spur_status ctf_copy(struct copy *copy);
/* See spur_format.joins. */
bool ctf_joins(const struct copy *copy);
bool ctf_copies_to_dir(const struct spur_trace *t);

#endif
