/* What the parts of a joined trace are called, so that their tracks can be told apart. */
#ifndef SPUR_FLOW_JOIN_NAME_H
#define SPUR_FLOW_JOIN_NAME_H

#include "model/trace.h"

/*
 * Names the parts by their paths, without the directories that all of them share. Parts of one path
 * have their numbers behind it. Returns false if out of memory.
 */
bool join_name_parts(struct spur_trace *t, const char *const *paths, size_t n);

#endif
