/*
 * Basic ("naive") mode: records of 32 bytes, written in chunks of one thread each. One cheap pass
 * finds each thread's runs of records; then every thread is a feed.
 */
#include "base/search.h"
#include "format/xray/reader.h"

enum {
	RUN = 3, /* records in a row that are taken for real */
	PASS_STEP = 1 << 20, /* bytes between calls of source_passed() */
	LONG_RUN = 16, /* records by which places are compared */
	COPY_RUNS = 64, /* of a thread, in which the original of a record is searched for */
	BUFFER_RECORDS =
		1024, /* of a thread that are not written yet, unless the user asked for more */
};

static const uint32_t no_run = UINT32_MAX;

/* --- records --- */

/* SPEC xray/basic-record: one call, or the argument of the call before it */
struct basic {
	uint16_t type;
	uint8_t cpu, kind;
	uint32_t id;
	uint64_t tsc; /* of an argument: its value */
	int64_t pid, tid;
};

static struct basic record_at(const struct xray *x, uint64_t off)
{
	const uint8_t *p = xray_at(x, off);
	const bool argument = load16(p, x->swap) == XRAY_BASIC_ARGUMENT;
	const uint8_t *const thread =
		p + (argument ? XRAY_BASIC_AT_ARGUMENT_TID : XRAY_BASIC_AT_TID);

	return (struct basic){
		.type = load16(p + XRAY_BASIC_AT_TYPE, x->swap),
		.cpu = p[XRAY_BASIC_AT_CPU],
		.kind = p[XRAY_BASIC_AT_KIND],
		.id = load32(p + XRAY_BASIC_AT_FUNCTION, x->swap),
		.tsc = load64(p + (argument ? XRAY_BASIC_AT_VALUE : XRAY_BASIC_AT_TICKS), x->swap),
		.tid = (int32_t)load32(thread, x->swap),
		.pid = x->version > 2 ? (int32_t)load32(thread + 4, x->swap) : XRAY_NO_THREAD,
	};
}

static bool is_plausible(const struct xray *x, uint64_t off)
{
	const struct basic r = record_at(x, off);

	return r.id && r.tid > 0 && (x->version < 3 || r.pid >= 0) &&
	       (r.type == XRAY_BASIC_ARGUMENT ||
		(r.type == XRAY_BASIC_CALL && r.kind < CALL_KINDS && (r.tsc || x->exact)));
}

uint32_t xray_basic_run(const struct xray *x, uint64_t off, uint32_t most)
{
	for (uint32_t i = 0; i < most; i++, off += XRAY_RECORD) {
		if (!xray_have(x, off + XRAY_RECORD))
			return i && x->src->size == off ? most : i;
		if (!is_plausible(x, off))
			return i;
	}
	return most;
}

bool xray_basic_at(const struct xray *x, uint64_t off)
{
	return xray_basic_run(x, off, RUN) == RUN;
}

/* The record there is of a thread that has others before it, or nothing is before it. */
static bool is_known(const struct xray *x, uint64_t off)
{
	const struct basic r = record_at(x, off);

	return !x->nthreads || xray_thread_find(x, r.pid, r.tid);
}

/*
 * SPEC xray/basic-resync: the next record where it should be, if it is of a known thread. Else, of
 * 32 places, the one from which on most records could stand in a row.
 */
static uint64_t find_run(const struct xray *x, uint64_t off)
{
	for (; xray_have(x, off + XRAY_RECORD); off += XRAY_RECORD) {
		uint32_t best = RUN - 1;
		uint64_t found = off + XRAY_RECORD;

		if (xray_basic_run(x, found, 1) && is_known(x, found))
			return found;
		for (uint64_t at = off + 1; at < off + XRAY_RECORD; at++) {
			const uint32_t run = xray_basic_run(x, at, LONG_RUN);

			if (run > best && (run == LONG_RUN || is_known(x, at))) {
				best = run;
				found = at;
			}
		}
		if (best >= RUN)
			return found;
	}
	return x->src->size;
}

/* Moves to the next record. Returns false at the end. */
static bool find_record(const struct xray *x, uint64_t *at, struct diag_log *diag)
{
	const uint64_t off = *at;
	struct basic r;

	if (!xray_have(x, off + XRAY_RECORD)) {
		if (x->src->size > off)
			diag_add(diag, DIAG_DAMAGE, "xray/torn-record", x->file, off,
				 x->src->size - off, "record: expected %d bytes, found %llu",
				 XRAY_RECORD, (unsigned long long)(x->src->size - off));
		return false;
	}
	if (is_plausible(x, off))
		return true;
	r = record_at(x, off);
	*at = find_run(x, off);
	diag_add(diag, DIAG_DAMAGE, "xray/bad-record", x->file, off, *at - off,
		 "record: expected a call or an argument of a thread, found type %u, kind %u, "
		 "function %u",
		 r.type, r.kind, r.id);
	return *at < x->src->size;
}

/* --- runs --- */

static struct xray_run *runs(const struct xray *x)
{
	return x->list.items;
}

/* Adds a record to its thread's last run, or begins a new one. */
static bool add_record(struct xray *x, uint64_t off, uint32_t thread, bool follows)
{
	struct xray_thread *th = xray_thread_at(x, thread);
	struct xray_run *run = follows ? &runs(x)[x->list.count - 1] : NULL;

	th->bytes += XRAY_RECORD;
	if (run && run->count < UINT32_MAX) {
		run->count++;
		return true;
	}
	run = xray_list_add(&x->list);
	if (!run)
		return false;
	*run = (struct xray_run){ .off = off, .count = 1, .next = no_run, .before = no_run };
	if (th->bytes == XRAY_RECORD) {
		th->first = (uint32_t)x->list.count - 1;
	} else {
		run->before = th->last;
		runs(x)[th->last].next = (uint32_t)(x->list.count - 1);
	}
	th->last = (uint32_t)x->list.count - 1;
	return true;
}

/* --- copies of another process's records --- */

/* The copy is at a call that was recorded before `tsc`. */
static bool is_call_before(const struct xray *x, const struct xray_copy *copy, uint64_t tsc)
{
	const uint8_t *p = xray_at(x, runs(x)[copy->run].off + (uint64_t)copy->at * XRAY_RECORD);

	return load16(p, x->swap) == XRAY_BASIC_CALL &&
	       load64(p + XRAY_BASIC_AT_TICKS, x->swap) < tsc;
}

/*
 * Looks for a call that is equal to the one at `off` among the thread's last ones, whose ticks
 * ascend.
 */
static struct xray_copy find_original(const struct xray *x, const struct xray_thread *th,
				      uint64_t off)
{
	struct xray_copy copy = { .run = th->last, .last = th->copy.last };
	const uint64_t tsc = record_at(x, off).tsc;

	for (int i = 0; copy.run != no_run && i < COPY_RUNS; i++) {
		if (load64(xray_at(x, runs(x)[copy.run].off) + XRAY_BASIC_AT_TICKS, x->swap) <= tsc)
			break;
		copy.run = runs(x)[copy.run].before;
	}
	if (copy.run == no_run)
		return copy;
	bisect(copy.at, 0, runs(x)[copy.run].count, is_call_before(x, &copy, tsc));
	return copy;
}

/*
 * SPEC xray/forked-copy: the record repeats one of its thread. Parent and child write the parent's
 * buffer of the moment of the fork, both to the file that the parent had open.
 */
static bool is_copy(const struct xray *x, struct xray_thread *th, uint64_t off,
		    const struct basic *r)
{
	struct xray_copy *copy = &th->copy;
	const struct xray_run *run;

	/* SPEC xray/exact-mark */
	if (x->exact)
		return false;
	if (copy->run == no_run && th->bytes && r->type == XRAY_BASIC_CALL && r->tsc < copy->last)
		*copy = find_original(x, th, off);
	if (copy->run == no_run)
		return false;
	run = &runs(x)[copy->run];
	if (copy->at >= run->count ||
	    memcmp(xray_at(x, run->off + (uint64_t)copy->at * XRAY_RECORD), xray_at(x, off),
		   XRAY_RECORD) != 0) {
		copy->run = no_run;
		return false;
	}
	if (++copy->at == run->count) {
		copy->run = run->next;
		copy->at = 0;
	}
	return true;
}

/*
 * SPEC xray/forked-copy: where the parent had not opened a file yet, the child's begins with the
 * parent's buffer: the records of one thread of a process that has no others in the file. Returns
 * how many.
 */
static uint64_t find_parent(const struct xray *x)
{
	const struct xray_thread *first = x->nthreads > 1 ? xray_thread_at(x, 0) : NULL;

	if (!first || first->pid < 0 || runs(x)[first->first].next != no_run ||
	    runs(x)[first->first].count > BUFFER_RECORDS)
		return 0;
	for (size_t i = 1; i < x->nthreads; i++)
		if (xray_thread_at(x, i)->pid == first->pid)
			return 0;
	return runs(x)[first->first].count;
}

static void report_copies(const struct xray *x, uint64_t off, uint64_t copies)
{
	if (copies)
		diag_add(
			&x->t->diag, DIAG_NOTE, "xray/forked-copy", x->file, off, 0,
			"file: expected each record once, found %llu that a forked process repeats "
			"from its parent: left out",
			(unsigned long long)copies);
}

bool xray_basic_open(struct xray *x)
{
	uint64_t off = XRAY_HEADER, passed = off, behind = 0, copies = 0, parents, first_copy = 0;
	uint32_t thread = SPUR_NONE;
	struct basic last = { .tid = XRAY_NO_THREAD };

	x->list.size = sizeof(struct xray_run);
	for (; find_record(x, &off, &x->t->diag); off += XRAY_RECORD) {
		const struct basic r = record_at(x, off);
		const bool same = thread != SPUR_NONE && r.tid == last.tid && r.pid == last.pid;

		if (off - passed >= PASS_STEP) {
			source_passed(x->src, passed, off);
			passed = off;
		}
		if (!same)
			thread = xray_thread_get(x, r.pid, r.tid);
		if (thread == SPUR_NONE)
			return false;
		last = r;
		if (!xray_thread_at(x, thread)->bytes)
			xray_thread_at(x, thread)->copy.run = no_run;
		if (is_copy(x, xray_thread_at(x, thread), off, &r)) {
			first_copy = copies++ ? first_copy : off;
			if (!xray_span_add(x, off, XRAY_RECORD, XRAY_CLASS_REPEATED))
				return false;
			continue;
		}
		if (!add_record(x, off, thread, same && off == behind))
			return false;
		if (r.type == XRAY_BASIC_CALL)
			xray_thread_at(x, thread)->copy.last = r.tsc;
		behind = off + XRAY_RECORD;
	}
	parents = copies || x->exact ? 0 : find_parent(x);
	if (parents) {
		xray_thread_at(x, 0)->copied = true;
		x->left_out = xray_thread_at(x, 0)->pid;
		first_copy = XRAY_HEADER;
		if (!xray_span_add(x, runs(x)[xray_thread_at(x, 0)->first].off,
				   parents * XRAY_RECORD, XRAY_CLASS_REPEATED))
			return false;
	}
	report_copies(x, first_copy, copies + parents);
	return true;
}

/* --- reading --- */

/* Where a thread's records are read: at `off`, with `left` of its run, from there on by `run`. */
struct place {
	uint64_t off, left;
	uint32_t run; /* no_run: only what follows in the file */
};

/* To the thread's next record; false: it has none. */
static bool place_next(const struct xray *x, struct place *at)
{
	const struct xray_run *run;

	if (at->run == no_run) {
		at->off += XRAY_RECORD;
		return xray_have(x, at->off + XRAY_RECORD) && is_plausible(x, at->off);
	}
	at->off += XRAY_RECORD;
	if (--at->left)
		return true;
	run = &runs(x)[at->run];
	if (run->next == no_run)
		return false;
	at->run = run->next;
	at->off = runs(x)[at->run].off;
	at->left = runs(x)[at->run].count;
	return true;
}

/* The run that a record is in: they stand in the order of their offsets. */
static struct place place_of(const struct xray *x, uint64_t off)
{
	size_t lo;

	bisect(lo, 0, x->list.count, runs(x)[lo].off <= off);
	if (!lo)
		return (struct place){ .off = off, .run = no_run };
	return (struct place){ .off = off,
			       .run = (uint32_t)(lo - 1),
			       .left = runs(x)[lo - 1].count -
				       (off - runs(x)[lo - 1].off) / XRAY_RECORD };
}

/*
 * SPEC xray/basic-argument: belongs to the call before it in its thread, which is of the same
 * function; a chunk of another thread may come between. SPEC xray/deep-argument
 */
static uint32_t find_arguments(const struct xray *x, struct place *at, uint64_t *offs, uint32_t max)
{
	const struct basic call = record_at(x, at->off);
	const uint32_t most = x->exact || max < 1 ? max : 1;
	struct place next = *at;
	uint32_t count = 0;

	while (count < most && place_next(x, &next)) {
		const struct basic r = record_at(x, next.off);

		if (r.type != XRAY_BASIC_ARGUMENT || r.id != call.id || r.tid != call.tid ||
		    r.pid != call.pid)
			break;
		if (offs)
			offs[count] = next.off;
		count++;
		*at = next;
	}
	return count;
}

/* A quick look: the next record is of the same run, and a call. */
static bool is_call_next(const struct xray *x, const struct place *at)
{
	return at->left > 1 &&
	       load16(xray_at(x, at->off + XRAY_RECORD), x->swap) == XRAY_BASIC_CALL;
}

uint32_t xray_basic_arguments(const struct xray *x, uint64_t off, uint64_t *at, uint32_t max)
{
	struct place place = place_of(x, off);

	return find_arguments(x, &place, at, max);
}

static uint64_t own_words(const struct xray *x, enum xray_class what)
{
	return row_pair(trace_class(x->t, x->own[what])->name, x->own[what]);
}

static uint16_t keep_order(struct xray *x, struct feed *f, struct xray_thread *th,
			   const struct basic *r, uint64_t off)
{
	if (r->tsc >= th->high || x->stored) {
		th->high = r->tsc;
		return 0;
	}
	diag_add(&f->diag, DIAG_WARN, "xray/time-back", x->file, off, 0,
		 "record: expected at least %llu ticks, found %llu", (unsigned long long)th->high,
		 (unsigned long long)r->tsc);
	return SPUR_F_RETIMED | SPUR_F_BACK;
}

/*
 * An argument that is not behind its call. SPEC xray/deep-argument: LLVM's runtime leaves out calls
 * that are too deep, but not their arguments. Where an entry lacks its own argument, no call was
 * before, or what is before cannot be read, the call is damaged.
 */
static void report_stray(const struct xray *x, struct feed *f, const struct xray_thread *th,
			 uint64_t off)
{
	const bool deep = !x->exact && th->high && th->call != CALL_ENTER_ARGS &&
			  is_plausible(x, off - XRAY_RECORD);

	if (deep)
		diag_add(&f->diag, DIAG_WARN, "xray/deep-argument", x->file, off, 0,
			 "record: expected an argument behind its function's entry, found one of a "
			 "call that the writer left out as too deep");
	else
		diag_add(&f->diag, DIAG_DAMAGE, "xray/stray-argument", x->file, off, 0,
			 "record: expected an argument behind its function's entry, found it "
			 "elsewhere");
}

/*
 * The row of the record at *at, which is moved to the last record that belongs to it. Returns false
 * if out of memory.
 */
static bool put_record(struct xray *x, struct feed *f, struct xray_thread *th, struct place *at,
		       struct spur_event *row)
{
	struct xray_feed *xf = f->state;
	const uint64_t off = at->off;
	const struct basic r = record_at(x, off);
	struct row_words words = { .len_track = row_pair(XRAY_RECORD, th->track),
				   .stream_cat = row_pair(x->stream, 0) };
	bool enter = r.kind == CALL_ENTER || r.kind == CALL_ENTER_ARGS;
	struct place end = *at; /* its last argument */
	uint32_t nargs;
	uint16_t flags;

	if (r.type == XRAY_BASIC_ARGUMENT) {
		if (xf->args_left)
			xf->args_left--;
		else
			report_stray(x, f, th, off);
		words.name_cls = own_words(x, XRAY_CLASS_META + META_ARGUMENT);
		words.rest = row_rest(SPUR_NATIVE, SPUR_F_RETIMED, SPUR_NO_CPU, 0);
		row_store(row, (uint64_t)ticks_ns(&xf->ticks, th->high), 0, off, words);
		return true;
	}
	words.name_cls = xray_words_get(x, r.id);
	flags = keep_order(x, f, th, &r, off);
	words.rest = xray_call_rest(th, r.kind, r.cpu) | row_rest(0, flags, 0, 0);
	row_store(row, (uint64_t)ticks_ns(&xf->ticks, th->high), r.id, off, words);
	th->call = r.kind;
	/* What follows is not waited for where nothing says that it will come. */
	enter = enter && (!x->follow || r.kind == CALL_ENTER_ARGS);
	nargs = enter && !is_call_next(x, at) ? find_arguments(x, &end, NULL, XRAY_MAX_ARGS) : 0;
	if (nargs)
		th->call = CALL_ENTER;
	row->nargs = (uint8_t)(nargs < UINT8_MAX ? nargs : UINT8_MAX);
	/* Those that stand elsewhere are found again when they are asked for. */
	if (end.off == off + (uint64_t)nargs * XRAY_RECORD) {
		row->len += nargs * XRAY_RECORD;
		*at = end;
	} else if (x->bookkeeping && !x->stored) {
		xf->args_left = nargs;
	} else {
		*at = end;
	}
	return words.name_cls != 0;
}

static enum spur_status next_of_thread(struct xray *x, struct feed *f, struct batch *b)
{
	struct xray_feed *xf = f->state;
	struct place at = { .off = xf->pos, .left = xf->run_left, .run = (uint32_t)xf->next };

	if (!xf->open && !xf->ended) {
		at.off = runs(x)[at.run].off;
		at.left = runs(x)[at.run].count;
		xf->open = true;
	}
	while (b->count < b->cap && !xf->ended) {
		if (!put_record(x, f, xf->thread, &at, &b->rows[b->count]))
			return SPUR_FAIL;
		b->count++;
		xf->ended = !place_next(x, &at);
	}
	xf->pos = at.off;
	xf->run_left = at.left;
	xf->next = at.run;
	return SPUR_OK;
}

static bool read_track(struct xray *x, struct xray_thread *th)
{
	bool ok;

	if (th->track != SPUR_NONE)
		return true;
	pthread_mutex_lock(&x->t->lock);
	ok = xray_thread_track(x, th);
	pthread_mutex_unlock(&x->t->lock);
	return ok;
}

static void put_header(struct xray *x, struct spur_event *row)
{
	const struct row_words words = { .len_track = row_pair(XRAY_HEADER, x->file_track),
					 .stream_cat = row_pair(x->stream, 0),
					 .name_cls = own_words(x, XRAY_CLASS_HEADER),
					 .rest = row_rest(SPUR_NATIVE, SPUR_F_RETIMED, SPUR_NO_CPU,
							  0) };

	row_store(row, 0, 0, 0, words);
}

static enum spur_status next_as_stored(struct xray *x, struct feed *f, struct batch *b)
{
	struct xray_feed *xf = f->state;

	if (!xf->open) {
		put_header(x, &b->rows[b->count++]);
		xf->pos = XRAY_HEADER;
		xf->open = true;
	}
	while (b->count < b->cap && !xf->ended) {
		struct place at = { .run = no_run };
		struct basic r;
		uint32_t thread;

		/* The record, and the one that may be its argument. */
		if (b->count && !x->src->eof && x->src->size < xf->pos + 2 * XRAY_RECORD)
			break;
		if (!find_record(x, &xf->pos, &f->diag)) {
			xf->ended = true;
			xray_report_source(x, &f->diag);
			if (!x->nthreads)
				xray_report_empty(x, &f->diag);
			break;
		}
		at.off = xf->pos;
		r = record_at(x, at.off);
		thread = xray_thread_get(x, r.pid, r.tid);
		if (thread == SPUR_NONE || !read_track(x, xray_thread_at(x, thread)) ||
		    !put_record(x, f, xray_thread_at(x, thread), &at, &b->rows[b->count]))
			return SPUR_FAIL;
		b->count++;
		xf->pos = at.off + XRAY_RECORD;
	}
	return SPUR_OK;
}

enum spur_status xray_basic_next(struct xray *x, struct feed *f, struct batch *b)
{
	const enum spur_status st = x->stored ? next_as_stored(x, f, b) : next_of_thread(x, f, b);

	if (b->count)
		source_passed(x->src, b->rows[0].off, b->rows[b->count - 1].off + 1);
	read_count(&x->t->read.records, b->count);
	if (st == SPUR_FAIL || trace_short_of_memory(x->t))
		return SPUR_FAIL;
	return b->count ? SPUR_OK : SPUR_END;
}
