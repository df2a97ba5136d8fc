/*
 * Names of processes and threads. The format has no place for them, so they are events without a
 * length after all others, with the mark PROCESS or THREAD (marks.h). SPEC heph/track-names
 */
#include <stdio.h>

#include "format/heph/write.h"

/* Returns true if the text is the word and the number, as the reader names tracks by itself. */
static bool is_numbered(const char *text, size_t len, const char *word, int64_t number)
{
	static const char segment[] = " (segment ";
	char plain[48];
	const size_t n =
		(size_t)snprintf(plain, sizeof(plain), "%s %llu", word, (unsigned long long)number);

	return len >= n && !memcmp(text, plain, n) &&
	       (len == n ||
		(len - n >= sizeof(segment) && !memcmp(text + n, segment, sizeof(segment) - 1)));
}

/* Returns true if the reader would not give the track that name, or none, by itself. */
static bool is_told(const struct heph_writer *w, const struct spur_track *k, enum heph_naming what)
{
	static const char runtime[] = "runtime";
	size_t len;
	const char *text = trace_string(w->trace, k->name, &len);

	if (what == HEPH_NAMES_PROCESS)
		return !is_numbered(text, len, "stream", k->pid);
	if (!k->tid && len == sizeof(runtime) - 1 && !memcmp(text, runtime, len))
		return false;
	return !is_numbered(text, len, "substream", k->tid);
}

/* Writes the name of `named`, in the substream of the events of `track`. */
static bool put_name(struct heph_writer *w, uint32_t named, uint32_t track, enum heph_naming what,
		     struct out *o)
{
	const struct spur_event row = { .kind = SPUR_OBJECT, .track = track };
	const struct spur_track *k = write_track(w->write, named);
	const char *word = heph_naming_words[what], *text;
	size_t len;

	if (!is_told(w, k, what))
		return true;
	if (!heph_begin_packet(w, &row, w->latest, w->latest))
		return false;
	w->row_losses = 0; /* those of its ids are the events' own */
	text = trace_string(w->trace, k->name, &len);
	heph_put_text(w, text, len);
	heph_put_mark(w, HEPH_MARK_KIND, word, strlen(word));
	return heph_end_packet(w, row.kind, o);
}

bool heph_put_names(struct heph_writer *w, struct out *o)
{
	bool good = true;

	for (size_t i = 0; good && i < w->ntargets; i++) {
		const uint32_t process = w->targets[i].process, first = w->targets[i].first;

		if (first != SPUR_NONE &&
		    trace_track(w->trace, process)->kind == SPUR_TRACK_PROCESS)
			good = put_name(w, process, first, HEPH_NAMES_PROCESS, o);
	}
	/* The old layout has no substreams, so that threads are not told apart. */
	for (size_t i = 0; good && !w->old && i < w->nowners; i++)
		if (trace_track(w->trace, w->owners[i])->kind != SPUR_TRACK_PROCESS)
			good = put_name(w, w->owners[i], w->owners[i], HEPH_NAMES_THREAD, o);
	return good;
}
