/* Feeds as the public calls keep them. */
#ifndef SPUR_API_FEED_H
#define SPUR_API_FEED_H

#include <stddef.h>

struct api_state;

/* Frees all feeds of a trace that has `n`. */
void feeds_free(struct api_state *s, size_t n);

#endif
