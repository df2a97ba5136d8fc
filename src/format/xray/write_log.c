/*
 * The log itself: numbers of threads and processes, the buffers of a flight data recorder, and the
 * records of basic logs.
 */
#include "format/xray/encode.h"
#include "format/xray/write.h"

#include <errno.h>
#include <stdlib.h>

#include "model/args.h"

/* --- threads --- */

/* SPEC xray/written-threads */
static int thread_order(const void *a, const void *b)
{
	const struct xray_out_thread *p = *(struct xray_out_thread *const *)a,
				     *q = *(struct xray_out_thread *const *)b;

	if (p->first != q->first)
		return p->first < q->first ? -1 : 1;
	return p->track < q->track ? -1 : p->track > q->track;
}

/*
 * Numbers the threads' tracks anew, in the trace's own order, as the order of tracks may depend on
 * thread scheduling; sorts by first row and that. Returns false if out of memory.
 */
static bool threads_sort(struct xray_write *x)
{
	size_t count, n = 0;
	uint32_t *tracks = trace_track_order(x->trace, &count), *place;

	x->order = mem_array(x->nthreads + 1, sizeof(struct xray_out_thread *));
	place = tracks ? mem_array(count + 1, sizeof(*place)) : NULL;
	for (size_t i = 0; place && i < count; i++)
		place[tracks[i]] = (uint32_t)i;
	if (place && x->order) {
		for (struct xray_out_thread *th = x->threads; th; th = th->next) {
			x->order[n++] = th;
			th->track = place[th->track];
		}
		if (n)
			qsort(x->order, n, sizeof(struct xray_out_thread *), thread_order);
		for (size_t i = 0; i < n; i++)
			x->order[i]->track = tracks[x->order[i]->track];
	}
	mem_free(place);
	mem_free(tracks);
	return place && x->order;
}

/* Numbers that are taken. */
struct numbers {
	struct key_index threads; /* by thread_key() */
	struct map64 processes; /* of the trace -> number in the log */
	struct map64 taken; /* numbers of processes in the log */
	int32_t next_thread, next_process;
};

static bool process_fits(const struct xray_write *x, int64_t pid)
{
	return pid <= INT32_MAX && pid >= (x->target == XRAY_TO_FDR ? -1 : 0);
}

/*
 * Gives the thread's process a number: its own if it fits. Those that fit are numbered before all
 * others. Returns false if out of memory.
 */
static bool process_number(const struct xray_write *x, struct numbers *n, int64_t pid,
			   int32_t *number)
{
	struct map64_slot *slot = map64_put(&n->processes, (uint64_t)pid), *taken;

	if (!slot)
		return false;
	if (!slot->value) {
		int32_t v = (int32_t)pid;

		if (!process_fits(x, pid)) {
			while (map64_find(&n->taken, (uint32_t)n->next_process))
				n->next_process++;
			v = n->next_process;
		}
		taken = map64_put(&n->taken, (uint32_t)v);
		if (!taken)
			return false;
		slot->value = (uint64_t)(uint32_t)v + 1;
	}
	*number = (int32_t)(uint32_t)(slot->value - 1);
	return true;
}

static bool thread_fits(const struct spur_track *k)
{
	return k->kind == SPUR_TRACK_THREAD && k->tid > 0 && k->tid <= INT32_MAX;
}

/* SPEC xray/pid: what a reader takes for the process */
static int64_t process_read(const struct xray_write *x, const struct xray_out_thread *th)
{
	if (x->target == XRAY_TO_PROFILE)
		return x->order[0]->pid;
	if (x->version > 2 || x->target == XRAY_TO_YAML)
		return th->pid;
	return x->target == XRAY_TO_FDR && x->version == 2 ? th->tid : -1;
}

/* Versions 1 and 2 have no processes: threads of all are kept apart by their own numbers. */
static bool has_processes(const struct xray_write *x)
{
	return (x->version > 2 || x->target == XRAY_TO_YAML) && x->target != XRAY_TO_PROFILE;
}

/* What tells the thread at a place of x->order from others: process << 32 | thread. */
static uint64_t thread_key(const void *write, uint32_t i)
{
	const struct xray_write *x = write;
	const struct xray_out_thread *th = x->order[i];

	return (has_processes(x) ? (uint64_t)(uint32_t)th->pid << 32 : 0) | (uint32_t)th->tid;
}

static bool number_is_taken(const struct xray_write *x, const struct numbers *n,
			    const struct xray_out_thread *th, int64_t tid)
{
	const uint64_t process = has_processes(x) ? (uint64_t)(uint32_t)th->pid << 32 : 0;

	return key_index_find(&n->threads, process | (uint32_t)tid, thread_key, x) !=
	       KEY_INDEX_NONE;
}

/*
 * Gives the thread at place `i` its number, if that is free, or another one. Returns false if out
 * of memory.
 */
static bool thread_number(const struct xray_write *x, struct numbers *n, uint32_t i, bool own)
{
	struct xray_out_thread *th = x->order[i];
	const struct spur_track *k = write_track(x->write, th->track);

	if (own) {
		if (!thread_fits(k) || number_is_taken(x, n, th, k->tid))
			return true;
		th->tid = (int32_t)k->tid;
	} else {
		while (number_is_taken(x, n, th, n->next_thread))
			n->next_thread++;
		th->tid = n->next_thread;
	}
	return key_index_add(&n->threads, i, thread_key, x);
}

static void ids_lost(const struct xray_write *x, const struct xray_out_thread *th)
{
	const struct spur_track *k = write_track(x->write, th->track);

	if (process_read(x, th) == write_pid_of(x->write, th->track) && th->tid == k->tid)
		return;
	for (unsigned kind = 0; kind < SPUR_KINDS; kind++)
		loss_add_n(&x->write->loss, LOST_IDS, kind, th->counts[kind]);
}

bool xray_threads_number(struct xray_write *x)
{
	struct numbers n = { .next_thread = 1, .next_process = 1 };
	bool good = threads_sort(x);

	for (int fits = 1; good && fits >= 0; fits--)
		for (size_t i = 0; good && i < x->nthreads; i++) {
			struct xray_out_thread *th = x->order[i];
			const int64_t pid = write_pid_of(x->write, th->track);

			if (process_fits(x, pid) == (fits == 1))
				good = process_number(x, &n, pid, &th->pid);
		}
	for (int own = 1; good && own >= 0; own--)
		for (size_t i = 0; good && i < x->nthreads; i++)
			if (!x->order[i]->tid)
				good = thread_number(x, &n, (uint32_t)i, own);
	for (size_t i = 0; good && i < x->nthreads; i++)
		ids_lost(x, x->order[i]);
	key_index_free(&n.threads);
	map64_free(&n.processes);
	map64_free(&n.taken);
	return good;
}

/* --- reading what was kept --- */

/* A place in a sequence of a spool. */
struct spool_at {
	struct spool_block *block;
	uint32_t off;
};

static struct spool_at spool_begin(const struct spool_seq *q)
{
	return (struct spool_at){ .block = q->first };
}

/* Returns the contiguous bytes at hand, `*n` of them, at most `most`; none at the end. */
static char *spool_take(struct spool_at *at, uint64_t most, size_t *n)
{
	char *p;

	while (at->block && at->off == at->block->len)
		*at = (struct spool_at){ .block = at->block->next };
	*n = 0;
	if (!at->block)
		return NULL;
	p = (char *)(at->block + 1) + at->off;
	*n = at->block->len - at->off < most ? at->block->len - at->off : (size_t)most;
	at->off += (uint32_t)*n;
	return p;
}

/* Copies `n` bytes out. Returns false if there are fewer. */
static bool spool_read(struct spool_at *at, void *to, size_t n)
{
	char *w = to;

	while (n) {
		size_t got;
		const char *p = spool_take(at, n, &got);

		if (!p)
			return false;
		memcpy(w, p, got);
		w += got;
		n -= got;
	}
	return true;
}

/* --- the flight data recorder --- */

/* Bytes that the records before a buffer's body take, without BufferExtents. */
static uint64_t head_size(const struct xray_write *x)
{
	return (x->version > 2 ? 4 : 3) * (uint64_t)XRAY_METADATA;
}

/* How many pieces make a buffer. */
static uint64_t pieces_of(const struct xray_write *x)
{
	uint64_t most = 1, pieces = 1;

	if (x->buffer_size)
		return 1;
	for (size_t i = 0; i < x->nthreads; i++)
		most = x->order[i]->npieces + 1 > most ? x->order[i]->npieces + 1 : most;
	while (most > pieces * XRAY_BUFFERS_MOST)
		pieces *= 2;
	return pieces;
}

/* The pieces of a thread, one after the other. */
struct pieces {
	const struct xray_out_thread *th;
	struct spool_at at;
	uint64_t left;
};

static struct pieces pieces_begin(const struct xray_out_thread *th)
{
	return (struct pieces){ .th = th, .at = spool_begin(&th->pieces), .left = th->npieces + 1 };
}

/* Joins the next `n` pieces, or as many as there are. Returns false at the end. */
static bool pieces_next(struct pieces *p, uint64_t n, struct xray_piece *joined)
{
	struct xray_piece piece;

	for (uint64_t i = 0; i < n && p->left; i++, p->left--) {
		if (p->left == 1)
			piece = p->th->piece;
		else if (!spool_read(&p->at, &piece, sizeof(piece)))
			return false;
		if (i)
			joined->len += piece.len;
		else
			*joined = piece;
		if (p->left == 1 || i + 1 == n) {
			p->left--;
			return joined->len != 0;
		}
	}
	return false;
}

/*
 * The size of the buffers: the user's, or that of the pieces, or more where an event is longer than
 * that.
 */
static uint64_t buffer_size(const struct xray_write *x, uint64_t n)
{
	uint64_t size = x->buffer_size ? x->buffer_size : n * XRAY_BUFFER_USUAL;

	for (size_t i = 0; i < x->nthreads; i++) {
		struct pieces p = pieces_begin(x->order[i]);
		struct xray_piece joined;

		while (pieces_next(&p, n, &joined))
			if (joined.len + XRAY_HEAD_ROOM > size)
				size = align_up(joined.len + XRAY_HEAD_ROOM, 64);
	}
	return size;
}

static void write_header(struct xray_write *x, uint64_t size)
{
	char *p = out_room(x->write->out, XRAY_HEADER);
	const uint32_t flags = x->source ? x->source->flags : 3;
	/* The two flags, wherever the byte order of the source had them. */
	const uint32_t bits =
		x->source && x->source->big ? (flags >> 31 & 1) | (flags >> 29 & 2) : flags & 3;

	if (!p)
		return;
	memset(p, 0, XRAY_HEADER);
	store16(p + XRAY_AT_VERSION, x->version, x->swap);
	store16(p + XRAY_AT_TYPE, x->target == XRAY_TO_FDR ? XRAY_TYPE_FDR : XRAY_TYPE_BASIC,
		x->swap);
	store32(p + XRAY_AT_FLAGS, x->big ? (bits & 1) << 31 | (bits & 2) << 29 : bits, x->swap);
	store64(p + XRAY_AT_HZ, x->hz, x->swap);
	if (x->target == XRAY_TO_FDR)
		store64(p + XRAY_AT_BUFFER_SIZE, size, x->swap);
	/* SPEC xray/exact-mark */
	if (x->target == XRAY_TO_BASIC || x->events)
		memcpy(p + XRAY_AT_RESERVED, xray_exact_mark, sizeof(xray_exact_mark));
	x->write->out->len += XRAY_HEADER;
}

/*
 * SPEC xray/written-walls: the records that a buffer begins with. The wall time is that of its
 * ticks, in us, and one more than that of the thread's buffer before at least, so that buffers
 * differ.
 */
static void write_head(const struct xray_write *x, const struct xray_out_thread *th,
		       const struct xray_piece *piece, int64_t *wall)
{
	const uint64_t hz = x->hz ? x->hz : 1000000000, micro = 1000000;
	const int64_t now =
		(int64_t)((unsigned __int128)piece->ticks * micro / hz % ((uint64_t)INT64_MAX / 2));
	const struct xray_head head = { .version = x->version,
					.big = x->big,
					.tid = th->tid,
					.pid = th->pid,
					.wall = now > *wall ? now : *wall + 1,
					.cpu = (uint16_t)piece->cpu,
					.ticks = piece->ticks };
	char *const room = out_room(x->write->out, XRAY_METADATA + XRAY_HEAD_MOST), *p = room;

	if (!p)
		return;
	*wall = head.wall;
	if (x->version > 1) {
		/* SPEC xray/extents */
		xray_meta_put(p, META_EXTENTS, x->big);
		store64(p + XRAY_META_AT_DATA, piece->len + head_size(x), x->swap);
		p += XRAY_METADATA;
	}
	p += xray_head_put(&head, p);
	x->write->out->len += (size_t)(p - room);
}

/* SPEC xray/end-of-buffer: in version 1, with unused bytes up to the size of buffers */
static void write_tail(const struct xray_write *x, uint64_t len, uint64_t size)
{
	uint64_t left = size - len - head_size(x);
	char *p = out_room(x->write->out, XRAY_METADATA);

	if (x->version > 1 || !p)
		return;
	xray_meta_put(p, META_END_OF_BUFFER, x->big);
	x->write->out->len += XRAY_METADATA;
	for (left -= XRAY_METADATA; left && !x->write->out->error;) {
		const size_t n = left < 65536 ? (size_t)left : 65536;

		out_pad(x->write->out, '\0', n);
		left -= n;
	}
}

/* The state of a walk that puts function numbers in place of classes. */
struct renumbering {
	struct xray_write *x;
	uint64_t skip; /* bytes of a payload that are still to come */
};

/* Numbers the calls in contiguous bytes, which begin and end with records but for payloads. */
static void renumber(struct renumbering *r, char *p, size_t n)
{
	const struct xray_write *x = r->x;
	const char *end = p + n;

	while (p < end) {
		const uint8_t first = (uint8_t)*p;
		const size_t left = (size_t)(end - p);
		uint32_t w;

		if (r->skip) {
			const size_t pass = r->skip < left ? (size_t)r->skip : left;

			r->skip -= pass;
			p += pass;
			continue;
		}
		if (x->body_big ? first & 0x80 : first & 1) {
			const int kind = x->body_big ? first & 0x7f : first >> 1;

			if (kind == META_CUSTOM || kind == META_TYPED)
				r->skip = load32((uint8_t *)p + XRAY_META_AT_DATA, x->body_swap);
			p += XRAY_METADATA;
			continue;
		}
		w = load32((uint8_t *)p, x->body_swap);
		w = x->body_big ? (w & 0xf0000000) | x->ids[w & 0x0fffffff]
				: (w & 15) | x->ids[w >> 4] << 4;
		store32(p, w, x->body_swap);
		p += XRAY_FUNCTION;
	}
}

static bool write_thread(struct xray_write *x, const struct xray_out_thread *th, uint64_t n,
			 uint64_t size)
{
	struct renumbering r = { .x = x };
	struct pieces p = pieces_begin(th);
	struct spool_at at = spool_begin(&th->body);
	struct xray_piece piece;
	int64_t wall = -1;

	while (pieces_next(&p, n, &piece)) {
		write_head(x, th, &piece, &wall);
		for (uint64_t left = piece.len; left;) {
			size_t got;
			char *bytes = spool_take(&at, left, &got);

			if (!bytes || x->write->out->error)
				return x->write->out->error != ENOMEM;
			renumber(&r, bytes, got);
			out_bytes(x->write->out, bytes, got);
			left -= got;
		}
		write_tail(x, piece.len, size);
	}
	return true;
}

bool xray_write_fdr(struct xray_write *x)
{
	const uint64_t n = pieces_of(x), size = buffer_size(x, n);

	write_header(x, size);
	for (size_t i = 0; i < x->nthreads; i++)
		if (!write_thread(x, x->order[i], n, size))
			return false;
	return true;
}

/* --- other targets --- */

/* Reads the record at `at`. Returns false at the end. */
static bool body_next(struct xray_write *x, struct spool_at *at, struct xray_body_record *r,
		      struct out *data)
{
	uint8_t b[XRAY_METADATA];
	int kind;

	if (!spool_read(at, b, XRAY_FUNCTION))
		return false;
	kind = x->body_big ? (b[0] & 0x80 ? b[0] & 0x7f : -1) : (b[0] & 1 ? b[0] >> 1 : -1);
	r->kind = kind;
	if (kind < 0) {
		const uint32_t w = load32(b, x->body_swap);

		r->call = x->body_big ? w >> 28 & 7 : w >> 1 & 7;
		r->id = x->ids[x->body_big ? w & 0x0fffffff : w >> 4];
		r->ticks += load32(b + XRAY_FUNCTION_AT_DELTA, x->body_swap);
		return true;
	}
	if (!spool_read(at, b + XRAY_FUNCTION, XRAY_METADATA - XRAY_FUNCTION))
		return false;
	if (kind == META_NEW_CPU) {
		r->cpu = load16(b + XRAY_META_AT_DATA, x->body_swap);
		r->ticks = load64(b + XRAY_CPU_AT_TICKS, x->body_swap);
	} else if (kind == META_TSC_WRAP) {
		r->ticks = load64(b + XRAY_META_AT_DATA, x->body_swap);
	} else if (kind == META_ARGUMENT) {
		r->value = load64(b + XRAY_META_AT_DATA, x->body_swap);
	} else {
		r->len = load32(b + XRAY_META_AT_DATA, x->body_swap);
		r->ticks += load32(b + XRAY_EVENT_AT_TICKS, x->body_swap);
		r->type = load16(b + XRAY_TYPED_AT_TYPE_5, x->body_swap);
		out_clear(data);
		for (uint64_t left = r->len; left;) {
			size_t got;
			const char *p = spool_take(at, left, &got);

			if (!p)
				return false;
			out_bytes(data, p, got);
			left -= got;
		}
		if (data->error)
			return false;
		r->data = data->buf;
	}
	return true;
}

bool xray_body_each(struct xray_write *x, const struct xray_out_thread *th,
		    bool (*each)(void *self, const struct xray_body_record *r), void *self)
{
	struct spool_at at = spool_begin(&th->body);
	struct xray_body_record r = { .ticks = th->first };
	struct pieces p = pieces_begin(th);
	struct xray_piece piece;
	struct out data;
	bool good = true;

	out_to_memory(&data);
	if (pieces_next(&p, 1, &piece)) {
		r.ticks = piece.ticks;
		r.cpu = piece.cpu;
	}
	while (good && body_next(x, &at, &r, &data))
		good = r.kind == META_NEW_CPU || r.kind == META_TSC_WRAP || each(self, &r);
	good = good && !data.error;
	out_free(&data);
	return good;
}

/* A thread of a basic log being written. */
struct basic_out {
	struct xray_write *x;
	const struct xray_out_thread *th;
	uint32_t id; /* of the latest call */
};

/* SPEC xray/basic-record, SPEC xray/basic-argument */
static bool basic_each(void *self, const struct xray_body_record *r)
{
	struct basic_out *b = self;
	const struct xray_write *x = b->x;
	char *p = out_room(x->write->out, XRAY_RECORD), *ids;

	if (!p)
		return x->write->out->error != ENOMEM;
	memset(p, 0, XRAY_RECORD);
	if (r->kind < 0) {
		b->id = r->id;
		store16(p + XRAY_BASIC_AT_TYPE, XRAY_BASIC_CALL, x->swap);
		p[XRAY_BASIC_AT_CPU] = (char)(r->cpu == SPUR_NO_CPU ? 0 : r->cpu);
		p[XRAY_BASIC_AT_KIND] = (char)r->call;
		store64(p + XRAY_BASIC_AT_TICKS, r->ticks, x->swap);
		ids = p + XRAY_BASIC_AT_TID;
	} else {
		store16(p + XRAY_BASIC_AT_TYPE, XRAY_BASIC_ARGUMENT, x->swap);
		store64(p + XRAY_BASIC_AT_VALUE, r->value, x->swap);
		ids = p + XRAY_BASIC_AT_ARGUMENT_TID;
	}
	store32(p + XRAY_BASIC_AT_FUNCTION, b->id, x->swap);
	store32(ids, (uint32_t)b->th->tid, x->swap);
	if (x->version > 2)
		store32(ids + 4, (uint32_t)b->th->pid, x->swap);
	x->write->out->len += XRAY_RECORD;
	return true;
}

bool xray_write_basic(struct xray_write *x)
{
	write_header(x, 0);
	for (size_t i = 0; i < x->nthreads; i++) {
		struct basic_out b = { .x = x, .th = x->order[i] };

		if (!xray_body_each(x, x->order[i], basic_each, &b))
			return false;
	}
	return true;
}
