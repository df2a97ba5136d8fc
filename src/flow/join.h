/*
 * Several traces read as one. A joined trace has the streams, tracks, feeds and classes of its
 * parts, under numbers of its own; strings are shared; times are moved to the first part's clock.
 * All passes read it as they read any other trace.
 *
 * join_map.h says how clocks are related. Where they are not, opening fails.
 */
#ifndef SPUR_FLOW_JOIN_H
#define SPUR_FLOW_JOIN_H

#include "model/trace.h"

/*
 * Opens the `n` traces at `paths` as one. Traces that are still being written are refused.
 * SPUR_FAIL: a part cannot be opened, or clocks cannot be related; nothing is left open.
 */
enum spur_status join_open(struct spur_trace **out, const char *const *paths, size_t n,
			   const struct spur_options *opt, struct spur_error *err);

/*
 * The same for the members (struct spur_format) of the directory that `dir` has tried to open;
 * `dir` stays open. `strings` as in trace_open().
 */
enum spur_status join_open_run(struct spur_trace **out, const struct spur_trace *dir,
			       struct intern *strings, struct spur_error *err);

/*
 * True where the track is a thread or process that a track of an earlier part is too, by its ids:
 * for outputs that know tracks by their ids only.
 */
bool join_track_is_double(const struct spur_trace *t, uint32_t track);

/*
 * Returns the track that stands for the recording that the top track `top` is of: where
 * spur_trace.tops_apart says that there are several. Of a part of a joined trace that is one
 * recording it is the same for all of the part's top tracks.
 */
uint32_t join_recording(const struct spur_trace *t, uint32_t top);

/*
 * Returns the number of the part that a track is of, from 0 on; SPUR_NONE unless several traces
 * were opened as one by their names. Takes no lock.
 */
uint32_t join_part_of(const struct spur_trace *t, uint32_t track);

/* Returns the string that tells the part of a track from the others; 0 where nothing has to. */
uint32_t join_part_name(const struct spur_trace *t, uint32_t track);

#endif
