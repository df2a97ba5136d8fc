/*
 * Streams that are still being written: their packets come from a relay daemon (live.c) or from
 * files that grow (follow.c). All of them are one feed. Its rows are merged by time as they come,
 * as far as the time is known up to which each stream is complete. New streams, and newer versions
 * of the metadata, may come at any time.
 *
 * One thread reads the feed and adds; others may ask for the fields of rows that they have
 * (ctf.lock).
 */
#ifndef SPUR_FORMAT_CTF_LIVE_GROW_H
#define SPUR_FORMAT_CTF_LIVE_GROW_H

#include "format/ctf/reader.h"

struct grow_stream {
	struct ctf_feed *feed; /* makes its rows; NULL before its first packet */
	struct spur_event *rows; /* made already; NULL: none yet */
	uint32_t pos, n;
	int64_t bound; /* no row before it comes any more; INT64_MIN: nothing is known */
	/* wire_now() when its event's class was first missed; 0: it is not */
	int64_t starved_since;
	uint32_t place; /* of rows of the same time those of the lower place are first */
	bool queued; /* in the merge */
	bool over; /* no packet comes any more */
};

/* What was found when a stream was asked for more. */
enum grow_answer {
	GROW_MORE, /* a packet, or a later bound */
	GROW_NOTHING, /* for now */
	GROW_OVER, /* for ever */
	GROW_FAIL, /* memory */
};

struct grow_source {
	/* Where the feed is starved: new metadata is wanted, no packet. */
	enum grow_answer (*ask)(void *self, struct grow_stream *s);
	/* Waits a moment, then looks around for new streams and wakes those that go on. */
	enum grow_answer (*wait)(void *self);
	void (*close)(void *self);
	/*
	 * A stream with nothing for now holds back later rows of others; else it leaves the merge
	 * until it is woken.
	 */
	bool holds;
};

struct ctf_grow {
	struct ctf *c;
	struct feed *feed; /* set by whoever adds it to the trace */
	const struct grow_source *source;
	void *self; /* of the source */
	struct grow_stream **streams; /* all, by place; theirs is the source to free */
	size_t nstreams, streams_cap;
	struct grow_stream **heap; /* the earliest first */
	size_t queued, heap_cap;
	bool over; /* the source has said so: what is there comes out, then the end */
};

/* Returns NULL if out of memory. `self` is closed with it by grow_free(). */
struct ctf_grow *grow_new(struct ctf *c, const struct grow_source *source, void *self);
void grow_free(struct ctf_grow *g);
/* Memory was rejected since the trace was opened: what looks wrong may be only that. */
bool grow_short(const struct ctf_grow *g);
/*
 * A new stream, about which nothing is known. The same for all below: returns false if out of
 * memory.
 */
bool grow_add(struct ctf_grow *g, struct grow_stream *s);
/* Back into the merge. */
void grow_wake(struct ctf_grow *g, struct grow_stream *s);
/* Makes rows of a file from now on, which has its first packet. */
bool grow_begin(struct ctf_grow *g, struct grow_stream *s, uint32_t file);
/* A new file of the trace `version`; its index, SPUR_NONE without memory or beyond the limit. */
uint32_t grow_file(struct ctf_grow *g, uint32_t version, const char *name, struct source *source);

/*
 * Metadata as it is by now. `data` must stay until close. SPUR_WARN: it is not to be used (err says
 * why): it cannot be read, or parts of it cannot and more may come, which is so unless this is the
 * `last_word`. What is odd about it goes to `diag`, where there is one.
 */
enum spur_status grow_read(struct ctf_grow *g, struct ctf_meta **out, const char *name,
			   const uint8_t *data, size_t size, bool last_word, struct diag_log *diag,
			   struct spur_error *err);
/*
 * Makes it the newest version of a trace: of `*version`, or of a new trace where that is SPUR_NONE.
 * The meta becomes the trace's, or is freed. SPUR_WARN: all stays as it was.
 */
enum spur_status grow_version(struct ctf_grow *g, uint32_t *version, const char *dir,
			      struct ctf_meta *meta, struct spur_error *err);

/* As the format's next. */
enum spur_status grow_next(struct ctf_grow *g, struct batch *b);

/*
 * live.c: a session of a relay daemon. follow.c: a directory. Both leave one feed, or none where
 * nothing is there.
 */
enum spur_status live_open(struct ctf *c, const char *url, struct spur_error *err);
enum spur_status follow_open(struct ctf *c, const char *path, struct spur_error *err);

#endif
