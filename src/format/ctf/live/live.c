/*
 * A session of LTTng's relay daemon, read while it is recorded: greets the daemon, attaches to the
 * session, and asks each stream for its next packet when the merge needs it (grow.c). The daemon
 * says of quiet streams up to when they are, of the session when there are new streams and new
 * metadata. Reads what is recorded from now on.
 *
 * A connection that breaks ends the trace where it is, as damage; what came before is kept.
 */
#include "format/ctf/live/live.h"

#include <stdio.h>
#include <string.h>

enum {
	REST_MS = 100, /* between two questions where the answer was: later */
	LOOK_EVERY = 10, /* rests between two looks for new streams */
	META_CHUNKS = 4096, /* pieces of metadata that are taken at once */
	META_PATIENCE = 3000, /* ms until metadata that cannot be read is given up */
	PACKET_MOST = 1 << 28,
	PACKET_TRIES = 100, /* rests until the daemon has a packet that it spoke of */
	SESSIONS_MOST = 64, /* of one name */
	LISTED_MOST = 1000, /* sessions that are shown */
	NAMES_ROOM = 300,
};
/* Bytes of metadata that are parsed, of one trace and of all; each version is parsed as a whole. */
static const uint64_t work_trace = (uint64_t)1 << 26, work_all = (uint64_t)1 << 29;

struct live_trace {
	uint64_t id, meta_stream;
	bool has_stream; /* of metadata */
	bool wanted; /* there is new metadata */
	bool over; /* no metadata comes any more */
	struct live_bytes bytes;
	size_t parsed; /* of them */
	uint64_t work;
	uint32_t version; /* index of the ctf_trace; SPUR_NONE: none yet */
	int64_t bad_since; /* wire_now() when it first could not be read; 0: it can */
	bool given_up; /* it was not mended in time */
	struct spur_error error;
	char *dir;
};

struct live_stream {
	struct grow_stream grow; /* first */
	uint64_t id;
	struct live_trace *trace;
	uint32_t file; /* SPUR_NONE: no packet yet */
	char *name;
};

struct live_attachment {
	uint64_t id;
	bool over;
};

struct live {
	struct ctf *c;
	struct ctf_grow *grow;
	struct live_wire wire;
	struct live_url url;
	uint32_t minor;
	struct live_attachment sessions[SESSIONS_MOST];
	size_t nsessions;
	struct live_trace **traces;
	size_t ntraces, traces_cap;
	struct map64 trace_of; /* the daemon's number -> 1 + index */
	struct live_store store;
	uint8_t *packet; /* being received */
	size_t packet_cap;
	uint8_t **texts; /* metadata that was parsed */
	size_t ntexts, texts_cap;
	uint64_t work;
	uint32_t streams_left; /* that may still be added */
	unsigned rests;
	bool streams_wanted;
	bool told; /* that the connection broke */
	/* Of the list of sessions: */
	bool show; /* as info */
	uint64_t listed, matched;
	char names[NAMES_ROOM];
};

static struct diag_log *log_of(struct live *l)
{
	return l->grow->feed ? &l->grow->feed->diag : &l->c->t->diag;
}

/* --- what the session has --- */

static struct live_trace *trace_get(struct live *l, uint64_t id, const char *dir)
{
	struct map64_slot *slot = map64_put(&l->trace_of, id);
	struct live_trace *tr;

	if (!slot)
		return NULL;
	if (slot->value)
		return l->traces[slot->value - 1];
	if (!mem_grow((void **)&l->traces, &l->traces_cap, l->ntraces + 1,
		      sizeof(struct live_trace *), CTF_MAX_GROWING) ||
	    !(tr = mem_alloc(sizeof(*tr))))
		return NULL;
	l->traces[l->ntraces++] = tr;
	slot->value = l->ntraces;
	tr->id = id;
	tr->version = SPUR_NONE;
	pthread_mutex_lock(&l->c->t->lock);
	tr->dir = arena_strdup(&l->c->t->arena, dir, strlen(dir));
	pthread_mutex_unlock(&l->c->t->lock);
	return tr->dir ? tr : NULL;
}

/* SPEC ctf-live/streams: each belongs to a trace, one of which is its metadata */
static bool add_stream(void *self, const struct live_stream_info *info)
{
	struct live *l = self;
	struct live_trace *tr = trace_get(l, info->trace, info->path);
	struct live_stream *s;

	if (!tr)
		return false;
	if (info->metadata) {
		tr->meta_stream = info->id;
		tr->has_stream = tr->wanted = true;
		tr->over = false;
		return true;
	}
	if (!l->streams_left) {
		diag_add(log_of(l), DIAG_DAMAGE, "ctf/live-streams", l->c->t->path, DIAG_NO_OFF, 0,
			 "expected at most %d streams, found more: not read", CTF_MAX_GROWING);
		return true;
	}
	l->streams_left--;
	s = mem_alloc(sizeof(*s));
	if (!s)
		return false;
	s->id = info->id;
	s->trace = tr;
	s->file = SPUR_NONE;
	pthread_mutex_lock(&l->c->t->lock);
	s->name = arena_printf(&l->c->t->arena, "%s%s%s", info->path, info->path[0] ? "/" : "",
			       info->channel);
	pthread_mutex_unlock(&l->c->t->lock);
	if (s->name && grow_add(l->grow, &s->grow))
		return true;
	mem_free(s);
	return false;
}

/* Says once that the connection is gone. A stop is no loss. */
static void report_broken(struct live *l)
{
	if (!l->wire.broken || !l->wire.why[0] || l->told)
		return;
	l->told = true;
	diag_add(log_of(l), DIAG_DAMAGE, "ctf/live-connection", l->c->t->path, DIAG_NO_OFF, 0,
		 "%s: what came before is kept", l->wire.why);
}

/* Asks all sessions for streams that are new. */
static void look_for_streams(struct live *l)
{
	l->streams_wanted = false;
	for (size_t i = 0; i < l->nsessions; i++) {
		struct live_attachment *s = &l->sessions[i];
		uint32_t status;

		if (s->over || !live_new_streams(&l->wire, s->id, &status, add_stream, l))
			continue;
		s->over = status == LIVE_SESSION_OVER || status == LIVE_STREAMS_ERROR;
		if (status == LIVE_STREAMS_ERROR)
			diag_add(
				log_of(l), DIAG_DAMAGE, "ctf/live-session", l->c->t->path,
				DIAG_NO_OFF, 0,
				"expected the streams of session %llu, found that the relay daemon "
				"cannot give them",
				(unsigned long long)s->id);
	}
}

static bool sessions_over(const struct live *l)
{
	for (size_t i = 0; i < l->nsessions; i++)
		if (!l->sessions[i].over)
			return false;
	return true;
}

/* --- metadata --- */

/* Takes what there is by now. False: the wire broke. */
static bool read_metadata(struct live *l, struct live_trace *tr)
{
	uint32_t status = LIVE_METADATA;

	for (int i = 0; i < META_CHUNKS && status == LIVE_METADATA; i++) {
		const size_t had = tr->bytes.len;

		if (!live_metadata(&l->wire, tr->meta_stream, &status, &tr->bytes))
			return false;
		/* SPEC ctf-live/metadata-empty: an OK without bytes: later */
		if (status == LIVE_METADATA && tr->bytes.len == had)
			break;
		/*
		 * SPEC ctf-live/metadata-gone: the stream may be closed, with all that it had sent
		 * before
		 */
		tr->over |= status == LIVE_METADATA_ERROR;
	}
	tr->wanted = status == LIVE_METADATA && !tr->over;
	return true;
}

/* A copy that stays: names in the metadata point into it. Returns NULL if out of memory. */
static const uint8_t *keep_text(struct live *l, const struct live_bytes *b)
{
	uint8_t *copy;

	if (!mem_grow((void **)&l->texts, &l->texts_cap, l->ntexts + 1, sizeof(uint8_t *),
		      CTF_MAX_GROWING))
		return NULL;
	copy = mem_alloc(b->len);
	if (!copy)
		return NULL;
	memcpy(copy, b->p, b->len);
	l->texts[l->ntexts++] = copy;
	return copy;
}

/* No more than a stated work is put into metadata. */
static bool may_parse(struct live *l, struct live_trace *tr)
{
	if (tr->bytes.len > work_trace - tr->work || tr->bytes.len > work_all - l->work) {
		diag_add(log_of(l), DIAG_DAMAGE, "ctf/live-metadata", tr->dir, DIAG_NO_OFF, 0,
			 "expected less new metadata, found too much: the rest is not read");
		tr->over = true;
		return false;
	}
	tr->work += tr->bytes.len;
	l->work += tr->bytes.len;
	return true;
}

static bool is_late(const struct live_trace *tr)
{
	return tr->bad_since && wire_now() - tr->bad_since > META_PATIENCE;
}

/*
 * Makes the bytes that came a version of the metadata. Where that cannot be, more may come and mend
 * it, but that is not waited for for ever. Returns SPUR_FAIL if out of memory.
 */
static enum spur_status parse_metadata(struct live *l, struct live_trace *tr)
{
	const bool late = is_late(tr);
	struct ctf_meta *m = NULL;
	const uint8_t *text;
	enum spur_status st;

	tr->parsed = tr->bytes.len;
	if (!may_parse(l, tr))
		return SPUR_OK;
	text = keep_text(l, &tr->bytes);
	if (!text)
		return SPUR_FAIL;
	st = grow_read(l->grow, &m, "metadata", text, tr->bytes.len, late,
		       late || tr->version == SPUR_NONE ? log_of(l) : NULL, &tr->error);
	if (st == SPUR_OK)
		st = grow_version(l->grow, &tr->version, tr->dir, m, &tr->error);
	if (st == SPUR_OK)
		tr->bad_since = 0;
	else if (!tr->bad_since)
		tr->bad_since = wire_now();
	tr->given_up = st == SPUR_WARN && late;
	return st == SPUR_FAIL ? st : SPUR_OK;
}

/*
 * SPEC ctf-live/metadata: what is new is asked for when an index says so, and before the first
 * packet
 */
static enum spur_status fresh_metadata(struct live *l, struct live_trace *tr)
{
	if (!tr->has_stream || tr->over ||
	    (!tr->wanted && !tr->bad_since && tr->version != SPUR_NONE))
		return SPUR_OK;
	if (!read_metadata(l, tr) || !tr->bytes.len)
		return SPUR_OK;
	if (tr->bytes.len == tr->parsed && (!is_late(tr) || tr->given_up))
		return SPUR_OK;
	return parse_metadata(l, tr);
}

/* It will never be known what the trace's packets hold. */
static bool is_lost(const struct live_trace *tr)
{
	return tr->version == SPUR_NONE && (tr->over || tr->given_up);
}

/* --- packets --- */

/* Receives one into l->packet; *size of its bytes come, fewer where the daemon cannot give all. */
static enum grow_answer receive(struct live *l, struct live_stream *s, uint64_t offset,
				size_t *size)
{
	unsigned tries = 0;
	size_t have = 0;

	while (have < *size) {
		const size_t left = *size - have, piece = left < LIVE_PIECE ? left : LIVE_PIECE;
		uint32_t got, status, flags;

		if (!mem_grow((void **)&l->packet, &l->packet_cap, have + piece, 1, PACKET_MOST))
			return GROW_FAIL;
		if (!live_packet(&l->wire, s->id, offset + have, (uint32_t)piece, l->packet + have,
				 &got, &status, &flags))
			return GROW_OVER;
		have += got;
		if (status == LIVE_GOT)
			continue;
		l->streams_wanted |= (flags & LIVE_NEW_STREAM) != 0;
		s->trace->wanted |= (flags & LIVE_NEW_METADATA) != 0;
		/*
		 * SPEC ctf-live/packet: with a flag, what it says is asked for first; then the
		 * packet comes
		 */
		if (status != LIVE_GET_LATER && !(status == LIVE_GET_ERROR && flags))
			break;
		if (flags & LIVE_NEW_STREAM)
			look_for_streams(l);
		if (fresh_metadata(l, s->trace) == SPUR_FAIL)
			return GROW_FAIL;
		if (++tries == PACKET_TRIES)
			break;
		wire_rest(&l->wire, REST_MS);
	}
	*size = have;
	return GROW_MORE;
}

static enum grow_answer packet_lost(struct live *l, const struct live_stream *s,
				    const struct live_index *x, uint64_t bytes,
				    const char *expected, const char *found)
{
	diag_add(log_of(l), DIAG_DAMAGE, "ctf/live-packet", s->name, x->offset, bytes,
		 "packet: expected %s, found %s", expected, found);
	return GROW_MORE;
}

/* Adds the packet to the stream's file, which is made with the first. */
static enum grow_answer add_packet(struct live *l, struct live_stream *s, uint64_t offset,
				   size_t size)
{
	const uint8_t *data = store_keep(&l->store, l->packet, size);
	struct ctf *c = l->c;
	bool good;

	if (s->file == SPUR_NONE)
		s->file = grow_file(l->grow, s->trace->version, s->name, NULL);
	if (!data || s->file == SPUR_NONE)
		return GROW_FAIL;
	pthread_rwlock_wrlock(&c->lock);
	good = ctf_index_piece(c, &c->files[s->file], data, size, offset, log_of(l));
	c->t->streams[c->files[s->file].stream].size += size;
	pthread_rwlock_unlock(&c->lock);
	if (good && !s->grow.feed && c->files[s->file].npackets)
		good = grow_begin(l->grow, &s->grow, s->file);
	return good ? GROW_MORE : GROW_FAIL;
}

static enum grow_answer read_packet(struct live *l, struct live_stream *s,
				    const struct live_index *x)
{
	size_t size = (size_t)(x->size / 8);
	enum grow_answer a;
	char found[40];

	if (!x->size || x->size % 8 || x->size / 8 > PACKET_MOST) {
		snprintf(found, sizeof(found), "%llu bits", (unsigned long long)x->size);
		return packet_lost(l, s, x, 0, "whole bytes, at most 256 MiB of them", found);
	}
	a = receive(l, s, x->offset, &size);
	if (a != GROW_MORE)
		return a;
	if (!size)
		return packet_lost(l, s, x, x->size / 8, "its bytes",
				   "that the relay daemon does not give them");
	return add_packet(l, s, x->offset, size);
}

/*
 * SPEC ctf-live/inactive: no event of the stream is before that time, so others need not wait for
 * it
 */
static enum grow_answer read_bound(struct live *l, struct live_stream *s,
				   const struct live_index *x)
{
	const struct ctf_trace *tr = &l->c->traces[s->trace->version];
	const struct ctf_class *k = &tr->classes[0];
	int64_t ts;

	for (size_t i = 0; i < tr->meta->nstreams; i++)
		if (tr->meta->streams[i]->id == x->stream_class)
			k = &tr->classes[i];
	if (!k->class)
		return GROW_NOTHING;
	ts = ctf_time(l->c, k, x->end);
	if (ts <= s->grow.bound)
		return GROW_NOTHING;
	s->grow.bound = ts;
	return GROW_MORE;
}

static enum grow_answer stream_lost(struct live *l, const struct live_stream *s, const char *why)
{
	diag_add(log_of(l), DIAG_DAMAGE, "ctf/live-stream", s->name, DIAG_NO_OFF, 0, "%s", why);
	return GROW_OVER;
}

static enum grow_answer read_index(struct live *l, struct live_stream *s,
				   const struct live_index *x)
{
	switch ((enum live_found)x->status) {
	case LIVE_INDEX:
		return read_packet(l, s, x);
	case LIVE_INACTIVE:
		return read_bound(l, s, x);
	case LIVE_RETRY: /* SPEC ctf-live/retry */
		return GROW_NOTHING;
	case LIVE_INDEX_ERROR: /* SPEC ctf-live/index-error */
		return stream_lost(l, s,
				   "expected its next packet, found that the relay daemon "
				   "knows the stream no more");
	default:
		return GROW_OVER;
	}
}

static enum grow_answer live_ask(void *self, struct grow_stream *grow)
{
	struct live *l = self;
	struct live_stream *s = (struct live_stream *)grow;
	enum grow_answer a = GROW_OVER;
	struct live_index x;

	s->trace->wanted |= grow->feed && grow->feed->starved;
	if (fresh_metadata(l, s->trace) == SPUR_FAIL)
		return GROW_FAIL;
	if (grow->feed && grow->feed->starved)
		return l->wire.broken ? GROW_OVER : GROW_NOTHING;
	if (is_lost(s->trace) || (s->trace->version == SPUR_NONE && sessions_over(l)))
		return stream_lost(l, s,
				   s->trace->bad_since ? s->trace->error.message
						       : "expected metadata, found none");
	if (s->trace->version == SPUR_NONE && !l->wire.broken)
		return GROW_NOTHING;
	if (live_next_index(&l->wire, s->id, &x)) {
		s->trace->wanted |= (x.flags & LIVE_NEW_METADATA) != 0;
		if (x.flags & LIVE_NEW_STREAM)
			look_for_streams(l);
		if (fresh_metadata(l, s->trace) == SPUR_FAIL)
			return GROW_FAIL;
		a = read_index(l, s, &x);
	}
	report_broken(l);
	return a;
}

static enum grow_answer live_wait(void *self)
{
	struct live *l = self;

	if (!l->grow->queued || l->streams_wanted || ++l->rests % LOOK_EVERY == 0)
		look_for_streams(l);
	report_broken(l);
	if (l->wire.broken || (sessions_over(l) && !l->grow->queued))
		return GROW_OVER;
	wire_rest(&l->wire, REST_MS);
	return GROW_MORE;
}

static void live_close(void *self)
{
	struct live *l = self;

	for (size_t i = 0; i < l->nsessions && !l->wire.broken; i++)
		live_detach(&l->wire, l->sessions[i].id);
	wire_close(&l->wire);
	for (size_t i = 0; l->grow && i < l->grow->nstreams; i++)
		mem_free(l->grow->streams[i]);
	for (size_t i = 0; i < l->ntraces; i++) {
		mem_free(l->traces[i]->bytes.p);
		mem_free(l->traces[i]);
	}
	for (size_t i = 0; i < l->ntexts; i++)
		mem_free(l->texts[i]);
	map64_free(&l->trace_of);
	store_free(&l->store);
	mem_free(l->traces);
	mem_free(l->texts);
	mem_free(l->packet);
	mem_free(l);
}

/* --- opening --- */

static bool list_session(void *self, const struct live_session *s)
{
	struct live *l = self;
	struct spur_trace *t = l->c->t;
	const size_t used = strlen(l->names);

	if (++l->listed > LISTED_MOST)
		return true;
	snprintf(l->names + used, sizeof(l->names) - used, "%s%.*s/host/%s/%s", used ? ", " : "",
		 (int)l->url.base, t->path, s->host, s->name);
	if (!l->show)
		return true;
	return trace_add_info(
		t, arena_printf(&t->arena, "session %llu", (unsigned long long)l->listed),
		"%.*s/host/%s/%s (timer %u us, %u streams, %u viewers)", (int)l->url.base, t->path,
		s->host, s->name, s->timer_us, s->streams, s->viewers);
}

/* SPEC ctf-live/session: all sessions of that host and name are meant */
static bool find_session(void *self, const struct live_session *s)
{
	struct live *l = self;

	if (strcmp(s->host, l->url.target) == 0 && strcmp(s->name, l->url.session) == 0 &&
	    l->nsessions < SESSIONS_MOST)
		l->sessions[l->nsessions++] = (struct live_attachment){ .id = s->id };
	return list_session(self, s);
}

static enum spur_status wire_error(const struct live *l, struct spur_error *err)
{
	return err_set(err, SPUR_ERR_IO, "%s: %s", l->c->t->path,
		       l->wire.why[0] ? l->wire.why : "stopped");
}

static enum spur_status no_session(const struct live *l, const char *expected,
				   enum spur_error_code code, struct spur_error *err)
{
	return err_set(err, code, "%s: expected %s, found %s", l->c->t->path, expected,
		       l->names[0] ? l->names : "that the relay daemon has none");
}

static enum spur_status attach_all(struct live *l, struct spur_error *err)
{
	static const char *const whys[] = {
		[LIVE_HAS_VIEWER] = "another viewer attached",
		[LIVE_UNKNOWN_SESSION] = "that it just ended",
		[LIVE_NOT_LIVE] = "a session that is not live (lttng create --live)",
	};

	for (size_t i = 0; i < l->nsessions; i++) {
		uint32_t status;

		if (!live_attach(&l->wire, l->sessions[i].id, &status, add_stream, l))
			return wire_error(l, err);
		if (status == LIVE_ATTACHED)
			continue;
		return err_set(err, SPUR_ERR_IO, "%s: expected a session to attach to, found %s",
			       l->c->t->path,
			       status > LIVE_ATTACHED && status <= LIVE_NOT_LIVE
				       ? whys[status]
				       : "that the relay daemon refuses it");
	}
	return SPUR_OK;
}

static bool has_version(const struct live *l)
{
	for (size_t i = 0; i < l->ntraces; i++)
		if (l->traces[i]->version != SPUR_NONE)
			return true;
	return false;
}

/* False: no trace can be read, and none of what is there will be. */
static bool can_become(const struct live *l)
{
	for (size_t i = 0; i < l->ntraces; i++)
		if (!is_lost(l->traces[i]))
			return true;
	return !l->ntraces;
}

/* Waits until the first trace says what its clock is, or the session ends. */
static enum spur_status await_metadata(struct live *l, struct spur_error *err)
{
	const volatile int *stop = l->wire.stop;

	while (!l->wire.broken && !(stop && *stop)) {
		look_for_streams(l);
		for (size_t i = 0; i < l->ntraces; i++)
			if (fresh_metadata(l, l->traces[i]) == SPUR_FAIL)
				return err_nomem(err);
		if (has_version(l))
			return SPUR_OK;
		if (!can_become(l) && l->traces[0]->error.code) {
			*err = l->traces[0]->error;
			return SPUR_FAIL;
		}
		if (sessions_over(l) && (!l->grow->queued || !can_become(l)))
			return SPUR_OK;
		wire_rest(&l->wire, REST_MS);
	}
	return has_version(l) ? SPUR_OK : wire_error(l, err);
}

static enum spur_status open_session(struct live *l, struct spur_error *err)
{
	struct spur_trace *t = l->c->t;

	if (!wire_connect(&l->wire, l->url.family, l->url.host, l->url.port) ||
	    !live_hello(&l->wire, &l->minor) || !live_create(&l->wire) ||
	    !live_list(&l->wire, find_session, l))
		return wire_error(l, err);
	if (!trace_add_info(t, "viewer protocol", "2.%u", l->minor))
		return err_nomem(err);
	if (l->show)
		return SPUR_OK;
	if (!l->url.session[0])
		return no_session(l, "one of its sessions", SPUR_ERR_USAGE, err);
	if (!l->nsessions)
		return no_session(l, "a session of that name", SPUR_ERR_IO, err);
	if (attach_all(l, err) == SPUR_FAIL)
		return SPUR_FAIL;
	return await_metadata(l, err);
}

static const struct grow_source live_source = {
	.ask = live_ask,
	.wait = live_wait,
	.close = live_close,
	.holds = true,
};

enum spur_status live_open(struct ctf *c, const char *url, struct spur_error *err)
{
	struct live *l = mem_alloc(sizeof(*l));

	if (!l)
		return err_nomem(err);
	l->c = c;
	l->wire = (struct live_wire){ .fd = -1,
				      .stop = c->t->options.stop,
				      .patience = WIRE_PATIENCE };
	l->streams_left = CTF_MAX_GROWING;
	c->grow = l->grow = grow_new(c, &live_source, l);
	if (!c->grow) {
		live_close(l);
		return err_nomem(err);
	}
	if (live_url_parse(url, &l->url, err) == SPUR_FAIL)
		return SPUR_FAIL;
	l->show = !l->url.session[0] && c->t->options.sessions;
	c->t->live = true;
	return open_session(l, err);
}
