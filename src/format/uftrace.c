/*
 * uftrace data: a directory with `info`, `task.txt`, maps, symbols and one TID.dat a task.
 *
 * Reads versions 3 and 4, both byte orders, 32 and 64 bit, perf and kernel files, events, external
 * data, Python data. Every file but one .dat is optional. A single TID.dat (or a pipe of one) is
 * read too, with the files beside it. Does not read: what needs the traced machine (binaries, where
 * .sym files are missing and the paths are not here).
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/file.h"
#include "base/os.h"
#include "base/pool.h"
#include "base/search.h"
#include "format/format.h"
#include "format/uftrace/reader.h"
#include "format/uftrace/wire.h"

enum {
	MAX_FILES = 1 << 22,
	SMALL_FILE_MAX = 256 << 20, /* bytes of a file of text */
	PAST_END = 1 << 16, /* bytes behind the end of a time range that are read */
	SCORE_SURE = 100,
	SCORE_TASKS = 80,
	SCORE_DAT = 60,
};

/* --- small files --- */

static const char *const suffixes[] = { "", ".gz", ".zst" };

bool uftrace_slurp(struct uftrace *u, const char *name, struct text *out)
{
	const struct source_options so = { .stop = u->t->options.stop, .limit = SMALL_FILE_MAX };
	struct spur_error err = { 0 };
	struct source *s = NULL;
	char path[4400];
	struct stat st;

	*out = text_make("", 0);
	if (!u->dir)
		return false;
	for (size_t i = 0; i < 3 && !s; i++) {
		snprintf(path, sizeof(path), "%s/%s%s", u->dir, name, suffixes[i]);
		if (os_stat(path, &st) != 0)
			continue;
		if (source_open(&s, path, &so, &err) == SPUR_FAIL) {
			uftrace_say(u, DIAG_DAMAGE, "uftrace/unreadable", name, DIAG_NO_OFF, "%s",
				    err.message);
			return false;
		}
	}
	if (!s)
		return false;
	while (source_more(s))
		;
	if (s->error->code)
		uftrace_say(u, DIAG_DAMAGE, "uftrace/unreadable", name, DIAG_NO_OFF, "%s",
			    s->error->message);
	if (!mem_grow((void **)&u->slurped, &u->slurped_cap, u->nslurped + 1,
		      sizeof(struct source *), MAX_FILES)) {
		source_close(s);
		return false;
	}
	u->slurped[u->nslurped++] = s;
	*out = text_make(s->data, s->size);
	return true;
}

bool uftrace_read_events(struct uftrace *u)
{
	struct text file, line;
	const char *start;

	if (!uftrace_slurp(u, "events.txt", &file))
		return true;
	start = file.p;
	while (text_line(&file, &line)) {
		struct text v = line;
		struct map64_slot *slot;
		uint64_t id;

		if (!text_trim(line).len)
			continue;
		if (!text_skip(&v, "EVENT: ") || !text_u64(&v, 10, &id)) {
			uftrace_say(u, DIAG_DAMAGE, "uftrace/bad-event-line", "events.txt",
				    (uint64_t)(line.p - start),
				    "line: expected \"EVENT: ID NAME\", found \"%.*s\"",
				    (int)(line.len < 60 ? line.len : 60), line.p);
			continue;
		}
		v = text_trim(v);
		slot = map64_put(&u->event_names, id);
		if (!slot)
			return false;
		slot->value = trace_intern_n(u->t, v.p, v.len);
	}
	return true;
}

static bool exists(const char *dir, const char *name)
{
	char path[4400];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return os_stat(path, &st) == 0;
}

/* What a recorder that was killed before it had written a record leaves: a session's map. */
static bool has_session(const char *dir)
{
	DIR *const d = exists(dir, "task.txt") ? os_opendir(dir) : NULL;
	const struct dirent *e;
	bool found = false;

	while (d && !found && (e = os_readdir(d))) {
		const size_t len = strlen(e->d_name);

		found = len > 8 && memcmp(e->d_name, "sid-", 4) == 0 &&
			memcmp(e->d_name + len - 4, ".map", 4) == 0;
	}
	if (d)
		os_closedir(d);
	return found;
}

/* --- streams, tracks, feeds --- */

struct uftrace_file *uftrace_add_file(struct uftrace *u, const char *name, uint16_t cpu)
{
	char path[4400];
	struct stat st = { 0 };
	struct uftrace_file *f;
	size_t i = 0;

	for (; u->dir && i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s%s", u->dir, name, suffixes[i]);
		if (os_stat(path, &st) == 0)
			break;
	}
	snprintf(path, sizeof(path), "%s%s", name, i < 3 ? suffixes[i] : "");
	if (!mem_table_grow((void **)&u->files, &u->files_cap, u->nfiles + 1, sizeof(*u->files),
			    MAX_FILES))
		return NULL;
	f = &u->files[u->nfiles];
	*f = (struct uftrace_file){ .cpu = cpu };
	if (trace_add_stream(u->t, path, (uint64_t)st.st_size) == SPUR_NONE)
		return NULL;
	u->nfiles++;
	assert(u->nfiles == u->t->nstreams);
	return f;
}

static bool add_feed(struct uftrace *u, struct map64 *by_pid, int64_t tid,
		     const struct uftrace_file *file)
{
	struct feed *f;
	uint32_t track = tid == uftrace_no_task ? uftrace_other_track(u, "bookkeeping")
						: uftrace_thread_track(u, by_pid, tid);

	f = track == SPUR_NONE ? NULL : trace_add_feed(u->t, track, NULL);
	if (f && file) {
		f->stream = uftrace_file_stream(u, file);
		f->size = u->t->streams[f->stream].size;
	}
	return f != NULL;
}

/*
 * One feed for every task that has a .dat (the first files) or is named in a per-CPU file. All
 * files have been added.
 */
static bool add_feeds(struct uftrace *u, const struct uftrace_tids *dats)
{
	struct map64 by_pid = { 0 };
	size_t side = 0, dat = 0;
	bool ok = true;

	while (ok && (dat < dats->count || side < u->nsides)) {
		int64_t tid = dat < dats->count ? dats->tids[dat] : INT64_MAX;
		bool has_dat;

		if (side < u->nsides && u->sides[side].tid < tid)
			tid = u->sides[side].tid;
		has_dat = dat < dats->count && dats->tids[dat] == tid;
		ok = add_feed(u, &by_pid, tid, has_dat ? &u->files[dat] : NULL);
		dat += has_dat;
		while (side < u->nsides && u->sides[side].tid == tid)
			side++;
	}
	map64_free(&by_pid);
	return ok;
}

/* The messages of extern.dat belong to no task, so they get a separate track and feed. */
static bool add_extern(struct uftrace *u)
{
	struct uftrace_file *file = u->nfiles ? &u->files[u->nfiles - 1] : NULL;
	uint32_t track;

	u->extern_feed = SPUR_NONE;
	if (!file || !text_is(uftrace_file_name(u, file), "extern.dat"))
		return true;
	track = uftrace_other_track(u, "external data");
	if (track == SPUR_NONE || !uftrace_open_file(u, file, &u->t->diag))
		return track != SPUR_NONE;
	source_need(file->source, UINT64_MAX);
	u->extern_feed = (uint32_t)u->t->nfeeds;
	return trace_add_feed(u->t, track, NULL) != NULL;
}

struct uftrace_feed uftrace_feed_at(const struct uftrace *u, size_t i)
{
	const struct feed *f = u->t->feeds[i];
	const struct spur_track *track = trace_track(u->t, f->track);
	struct uftrace_feed uf = { 0 };
	size_t from, to;

	if (f->id == u->extern_feed) {
		uf.is_extern = true;
		uf.file = &u->files[u->nfiles - 1];
		uf.tid = -1;
		return uf;
	}
	uf.tid = track->kind == SPUR_TRACK_THREAD ? track->tid : uftrace_no_task;
	uf.file = f->stream != SPUR_NONE ? &u->files[f->stream] : NULL;
	uf.ended = !uf.file;
	if (u->nsides) {
		bisect(from, 0, u->nsides, u->sides[from].tid < uf.tid);
		bisect(to, from, u->nsides, u->sides[to].tid == uf.tid);
		uf.side = u->sides + from;
		uf.side_end = u->sides + to;
	}
	return uf;
}

struct uftrace_feed *uftrace_feed_state(const struct uftrace *u, struct feed *f)
{
	struct uftrace_feed *uf = f->state;

	if (uf)
		return uf;
	uf = f->state = pool_alloc(sizeof(*uf));
	if (uf)
		*uf = uftrace_feed_at(u, f->id);
	return uf;
}

/* Frees the state of a feed that is not read any more. */
static void feed_close(struct uftrace *u, struct feed *f)
{
	struct uftrace_feed *const uf = f->state;

	if (!uf || uf == &u->over)
		return;
	uftrace_part_close(f);
	f->state = &u->over;
}

/* Closes a file that could not be opened, so that this is reported again. */
static void rewind_feed(struct spur_trace *t, struct feed *f)
{
	struct uftrace *const u = t->state;

	feed_close(u, f);
	f->state = NULL;
	if (f->stream != SPUR_NONE && u->files[f->stream].state == FILE_FAILED)
		u->files[f->stream].state = FILE_CLOSED;
}

bool uftrace_open_file(struct uftrace *u, struct uftrace_file *file, struct diag_log *diag)
{
	const struct source_options so = { .read_size = u->t->options.read_size,
					   .max_unpacked = u->t->options.max_unpacked,
					   .over = &u->t->over_limit,
					   .stop = u->t->options.stop };
	struct spur_error err = { 0 };
	struct out path;
	bool ok;

	if (file->state != FILE_CLOSED)
		return file->state != FILE_FAILED;
	out_to_memory(&path);
	out_printf(&path, "%s/%s", u->dir, uftrace_file_name(u, file).p);
	out_char(&path, '\0');
	ok = !path.error && source_open(&file->source, path.buf, &so, &err) != SPUR_FAIL;
	out_free(&path);
	file->state = ok ? FILE_SOURCE : FILE_FAILED;
	if (!ok)
		diag_add(diag, DIAG_DAMAGE, "uftrace/unreadable", uftrace_file_name(u, file).p,
			 DIAG_NO_OFF, 0, "%s", err.message);
	return ok;
}

/* Copies the bytes of a small file into the arena. Keeps its source if out of memory. */
static void copy_small(struct uftrace *u, struct uftrace_file *file)
{
	struct source *const s = file->source;
	char *copy;

	pthread_mutex_lock(&u->t->lock);
	copy = arena_chars(&u->t->parked, s->size);
	pthread_mutex_unlock(&u->t->lock);
	if (!copy)
		return;
	memcpy(copy, s->data, s->size);
	file->size = (uint32_t)s->size;
	file->bytes = (const uint8_t *)copy;
	file->state = FILE_COPIED;
	source_close(s);
}

bool uftrace_open_dat(struct uftrace *u, struct uftrace_file *file, struct diag_log *diag)
{
	const uint8_t *data;
	uint64_t size;

	if (file->state != FILE_CLOSED)
		return file->state != FILE_FAILED;
	if (!uftrace_open_file(u, file, diag))
		return false;
	data = file->source->data;
	size = file->source->size;
	if (file->source->copy) {
		copy_small(u, file);
	} else if (size <= UINT32_MAX && source_keep_map(file->source)) {
		file->bytes = data;
		file->size = (uint32_t)size;
		file->state = FILE_MAPPED;
	}
	return true;
}

/*
 * Without info the first record of a .dat tells the byte order: magic 5 stands in one of two
 * places.
 */
static void guess_order(struct uftrace *u)
{
	struct source view, *s;
	const uint8_t *p;

	if (!u->nfiles || !uftrace_open_dat(u, &u->files[0], &u->t->diag))
		return;
	s = uftrace_file_source(&u->files[0], &view);
	if (!source_need(s, 16))
		return;
	p = s->data;
	if ((load64(p + 8, order_swaps(false)) >> 3 & 7) != 5 &&
	    (load64(p + 8, order_swaps(true)) >> 3 & 7) == 5)
		u->d.info.big_endian = true;
	u->swap = order_swaps(u->d.info.big_endian);
}

/* --- the format --- */

/* Room for `n` tasks with files, and for as many files of CPUs as most machines need. */
static bool reserve_files(struct uftrace *u, size_t n)
{
	enum { OTHERS = 64 };

	return n <= MAX_FILES &&
	       mem_table_grow((void **)&u->files, &u->files_cap, n + OTHERS, sizeof(*u->files),
			      MAX_FILES + OTHERS) &&
	       trace_reserve_streams(u->t, n + OTHERS) && trace_reserve_feeds(u->t, n + OTHERS);
}

static bool add_dats(struct uftrace *u, struct uftrace_tids *dats, struct source *src,
		     const char *src_name)
{
	char name[40];
	int64_t tid = 0;

	if (src) {
		struct uftrace_file *f = uftrace_add_file(u, src_name, SPUR_NO_CPU);

		uftrace_dat_tid(src_name, &tid);
		if (!f || !uftrace_add_tid(dats, tid))
			return false;
		f->source = src;
		f->state = FILE_SOURCE;
		u->borrowed = src;
		return true;
	}
	if (!uftrace_list_dats(u->dir, dats) || !reserve_files(u, dats->count))
		return false;
	for (size_t i = 0; i < dats->count; i++) {
		snprintf(name, sizeof(name), "%lld.dat", (long long)dats->tids[i]);
		if (!uftrace_add_file(u, name, SPUR_NO_CPU))
			return false;
	}
	uftrace_name_missing(u, dats);
	return true;
}

/* SPEC uftrace/default-opts: one line of options, today only `-t TIME` */
static void read_default_opts(struct uftrace *u)
{
	struct text v;
	char word[32];

	uftrace_slurp(u, "default.opts", &u->d.default_opts);
	v = text_trim(u->d.default_opts);
	if (!v.len)
		return;
	if (text_skip(&v, "-t") && text_trim(v).len < sizeof(word)) {
		v = text_trim(v);
		memcpy(word, v.p, v.len);
		word[v.len] = '\0';
		if (text_duration(word, 1, &u->t->default_min_ns))
			return;
	}
	uftrace_say(u, DIAG_WARN, "uftrace/bad-default-opts", "default.opts", 0,
		    "expected \"-t TIME\", found \"%.*s\": not applied",
		    (int)(u->d.default_opts.len < 60 ? u->d.default_opts.len : 60),
		    u->d.default_opts.p);
}

/* What small files say of records. Returns false if out of memory. */
static bool read_texts(struct uftrace *u)
{
	struct text ignored;

	uftrace_make_layouts(u);
	if (!uftrace_read_specs(u) || !uftrace_read_events(u))
		return false;
	read_default_opts(u);
	uftrace_slurp(u, "note.txt", &u->d.note);
	if (!uftrace_slurp(u, "python.fake.sym", &ignored))
		return true;
	u->python = uftrace_module(u, text_of("python.fake"), text_of(""));
	if (u->python)
		u->python->numbered = true;
	return u->python != NULL;
}

static void read_info(struct uftrace *u)
{
	uftrace_read_info(u);
	u->shallow = u->d.info.have && (u->d.info.features >> UFTRACE_MAX_STACK & 1) &&
		     u->d.info.max_stack <= DEPTH_MASK + 1;
}

static bool read_all(struct uftrace *u, struct source *src, const char *src_name)
{
	struct uftrace_tids dats = { 0 };
	bool ok;

	uftrace_intern_names(u);
	read_info(u);
	uftrace_read_tasks(u);
	ok = uftrace_read_maps(u, NULL) && add_dats(u, &dats, src, src_name);
	if (ok && u->guess_order)
		guess_order(u);
	ok = ok && read_texts(u);
	ok = ok && (src || (uftrace_read_perf(u) && uftrace_read_kernel(u)));
	if (ok)
		uftrace_sort_sides(u);
	if (ok && !src && exists(u->dir, "extern.dat"))
		ok = uftrace_add_file(u, "extern.dat", SPUR_NO_CPU) != NULL;
	ok = ok && add_feeds(u, &dats) && add_extern(u) && uftrace_add_info(u);
	mem_table_free(dats.tids, dats.cap, sizeof(*dats.tids));
	return ok;
}

/* A directory that is being written is one feed. */
static enum spur_status read_growing(struct uftrace *u, struct spur_error *err)
{
	uftrace_intern_names(u);
	read_info(u);
	/* Until the first record tells: that of this machine. */
	if (u->guess_order)
		u->d.info.big_endian = order_swaps(false);
	u->swap = order_swaps(u->d.info.big_endian);
	if (uftrace_follow_open(u, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (u->guess_order)
		guess_order(u);
	return read_texts(u) && uftrace_add_info(u) ? SPUR_OK : err_nomem(err);
}

/* SPEC uftrace/origin: all files have one clock and, but for the kernel's pages, one byte order. */
static bool add_origin(struct uftrace *u)
{
	const struct spur_origin origin = {
		.provider = SPUR_NONE,
		.track = SPUR_NONE,
		.byte_order = u->d.info.big_endian ? 'b' : 'l',
		.clock_shared = true,
		.hz = u->t->clock.hz,
	};

	return trace_add_origin(u->t, origin) != SPUR_NONE;
}

static enum spur_status open_data(struct spur_trace *t, struct source *src, struct spur_error *err)
{
	struct uftrace *u = mem_alloc(sizeof(*u));
	const char *slash = strrchr(t->path, '/');
	const char *src_name = slash ? slash + 1 : t->path;
	const struct uftrace_info *i;

	if (!u)
		return err_nomem(err);
	t->state = u;
	u->t = t;
	u->log = &t->diag;
	u->over.ended = true;
	if (!src)
		u->dir = t->path;
	else if (strcmp(t->path, "-") != 0)
		u->dir = slash ? arena_strdup(&t->arena, t->path,
					      (size_t)(slash - t->path) + (slash == t->path))
			       : arena_strdup(&t->arena, ".", 1);
	if (!src && t->options.follow) {
		if (read_growing(u, err) == SPUR_FAIL)
			return SPUR_FAIL;
	} else if (!read_all(u, src, src_name)) {
		return err_nomem(err);
	}
	if (!u->t->nfeeds)
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected at least one TID.dat with records, found none%s",
			       t->path,
			       has_session(t->path) ? "; if the recorder was killed, spur recover "
						      "finds records in shared memory"
						    : "");
	i = &u->d.info;
	t->version = !i->have	       ? "unknown"
		     : i->version == 3 ? "3"
		     : i->version == 4 ? "4"
				       : arena_printf(&t->arena, "%u", i->version);
	t->byte_order = i->big_endian ? "big" : "little";
	uftrace_set_clock(u);
	if (!add_origin(u))
		return err_nomem(err);
	return t->version ? SPUR_OK : err_nomem(err);
}

/*
 * SPEC uftrace/seek: goes to the start of the wanted time range, and ends the feed a little after
 * its end, as times may go back.
 */
static void keep_to_range(struct uftrace *u, struct feed *f, struct uftrace_feed *uf)
{
	const struct spur_trace *t = u->t;

	if (t->want_from != INT64_MIN && !uf->sought) {
		uf->sought = true;
		uftrace_seek(u, uf, &f->diag, t->want_from);
	}
	if (t->want_to == INT64_MAX)
		return;
	if (!uf->past && uf->started && (int64_t)uf->prev >= t->want_to)
		uf->past = uf->off;
	uf->ended = uf->ended || (uf->past && uf->off - uf->past >= PAST_END);
	if (uf->side < uf->side_end && (int64_t)uf->side->time >= t->want_to)
		uf->side = uf->side_end;
}

/* The feed's first record tells, if it is a call, or the first one in per-CPU files. */
static bool begins(struct spur_trace *t, const struct feed *f, int64_t *ts)
{
	struct uftrace *u = t->state;
	const struct uftrace_feed uf = u->follow ? u->over : uftrace_feed_at(u, f->id);
	uint64_t time = UINT64_MAX, word;
	struct source view, *s;

	if (u->follow || uf.is_extern || t->want_from != INT64_MIN)
		return false;
	if (uf.file) {
		if (!uftrace_open_dat(u, uf.file, &t->feeds[f->id]->diag))
			return false;
		s = uftrace_file_source(uf.file, &view);
		/* Waits for a pipe too: the order of reading must not depend on how bytes come. */
		if (!source_need(s, RECORD))
			return false;
		time = load64(s->data, u->swap);
		word = load64(s->data + 8, u->swap);
		if ((word & MAGIC_MASK) != MAGIC_BITS || (word & 3) > RECORD_EXIT)
			return false;
	}
	if (uf.side < uf.side_end && uf.side->time < time)
		time = uf.side->time;
	*ts = (int64_t)time;
	return time <= INT64_MAX;
}

static enum spur_status next_rows(struct spur_trace *t, struct feed *f, struct batch *b)
{
	struct uftrace *u = t->state;
	struct uftrace_feed *uf;

	if (u->follow)
		return uftrace_follow_next(u->follow, b);
	uf = uftrace_feed_state(u, f);
	b->count = 0;
	if (!uf)
		return SPUR_FAIL;
	if (uf == &u->over)
		return SPUR_END;
	if (!uf->is_extern && uftrace_can_seek(u))
		keep_to_range(u, f, uf);
	while (uf->is_extern && b->count < b->cap &&
	       uftrace_extern_row(u, f, uf, &b->rows[b->count]))
		b->count++;
	while (!uf->is_extern && b->count < b->cap) {
		/* At equal times the .dat comes first. */
		uint64_t bound = uf->side < uf->side_end ? uf->side->time + 1 : UINT64_MAX;

		if (!uf->ended && uftrace_dat_next(u, f, uf, b, bound) == SPUR_FAIL)
			return SPUR_FAIL;
		if (b->count == b->cap)
			break;
		if (uftrace_side_is_due(uf)) {
			if (uftrace_side_row(u, f, uf, uf->side++, &b->rows[b->count]) == SPUR_FAIL)
				return SPUR_FAIL;
			b->count++;
			continue;
		}
		if (uf->ended || b->count || b->summed)
			break;
	}
	read_count(&t->read.records, b->count);
	if (b->count || b->summed)
		return SPUR_OK;
	/* uftrace_part_follows() asks where a part has ended. */
	if (!uf->part)
		feed_close(u, f);
	return SPUR_END;
}

static void file_close(const struct uftrace *u, const struct uftrace_file *f)
{
	if ((f->state == FILE_SOURCE && f->source != u->borrowed) || f->state == FILE_GROWING)
		source_close(f->source);
	else if (f->state == FILE_MAPPED)
		resident_unmap(f->bytes, f->size);
}

static void close_data(struct spur_trace *t)
{
	struct uftrace *u = t->state;

	for (size_t i = 0; i < t->nfeeds; i++)
		feed_close(u, t->feeds[i]);
	uftrace_follow_close(u->follow);
	for (size_t i = 0; i < u->nfiles; i++)
		file_close(u, &u->files[i]);
	mem_table_free(u->files, u->files_cap, sizeof(*u->files));
	uftrace_free_modules(u);
	uftrace_free_kernel(u);
	scratch_free(u->sides, u->side_bytes);
	for (size_t i = 0; i < u->user.count; i++)
		pattern_free(u->user.items[i].pattern);
	mem_free(u->user.items);
	mem_free(u->autoargs.items);
	mem_free(u->autorets.items);
	map64_free(&u->event_classes);
	map64_free(&u->event_names);
	key_index_free(&u->unknown_classes);
	map64_free(&u->module_index);
	uftrace_free_tasks(&u->d);
	for (size_t i = 0; i < u->nslurped; i++)
		source_close(u->slurped[i]);
	mem_free(u->slurped);
	mem_free(u);
}

static int probe_dir(const char *dir)
{
	struct uftrace_tids dats = { 0 };
	char path[4400], magic[8] = "";
	size_t n;

	snprintf(path, sizeof(path), "%s/info", dir);
	if (file_head(path, FILE_REGULAR, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
	    memcmp(magic, "Ftrace!", 8) == 0)
		return SCORE_SURE;
	uftrace_list_dats(dir, &dats);
	n = dats.count;
	mem_table_free(dats.tids, dats.cap, sizeof(*dats.tids));
	if (!n)
		return has_session(dir) ? SCORE_TASKS : 0;
	return exists(dir, "task.txt") || exists(dir, "task") ? SCORE_TASKS : SCORE_DAT;
}

/* ./uftrace.data, or the current directory if it has an info file. */
static const char *default_path(void)
{
	static const char name[] = "uftrace.data", magic[] = "Ftrace!";
	char head[sizeof(magic)] = "";

	if (os_access(name, F_OK) == 0)
		return name;
	if (file_head("info", FILE_REGULAR, head, sizeof(head)) == (ssize_t)sizeof(head) &&
	    memcmp(head, magic, sizeof(magic)) == 0)
		return ".";
	return NULL;
}

static int probe(const struct probe *p)
{
	const char *slash = strrchr(p->path, '/');
	int64_t tid;

	if (p->is_dir)
		return probe_dir(p->path);
	return uftrace_score_dat(uftrace_dat_tid(slash ? slash + 1 : p->path, &tid), p->head,
				 p->len);
}

const struct uftrace_data *uftrace_data(const struct spur_trace *t)
{
	return t->format && strcmp(t->format->name, "uftrace") == 0
		       ? &((const struct uftrace *)t->state)->d
		       : NULL;
}

const struct symtab *uftrace_symbols(struct spur_trace *t, struct text path)
{
	struct uftrace *u = t->state;
	struct uftrace_module *m = NULL;

	for (size_t i = 0; i < u->d.nsessions && !m; i++)
		for (size_t k = 0; k < u->d.sessions[i].nmaps && !m; k++) {
			const struct uftrace_map *map = &u->d.sessions[i].maps[k];

			if (map->path.len == path.len && memcmp(map->path.p, path.p, path.len) == 0)
				m = map->module;
		}
	if (!m)
		return NULL;
	pthread_mutex_lock(&t->lock);
	uftrace_load_module(u, m);
	pthread_mutex_unlock(&t->lock);
	return &m->syms;
}

static bool path_begins(struct text path, struct text word)
{
	const ptrdiff_t slash = text_rfind(path, '/');

	return path.len - (size_t)(slash + 1) >= word.len &&
	       memcmp(path.p + slash + 1, word.p, word.len) == 0;
}

static bool find_module(const struct uftrace_data *d, struct text word)
{

	for (size_t i = 0; i < d->nsessions; i++) {
		const struct uftrace_session *s = &d->sessions[i];

		if (path_begins(s->exename, word))
			return true;
		for (size_t k = 0; k < s->nmaps; k++)
			if (path_begins(s->maps[k].path, word))
				return true;
		for (size_t k = 0; k < s->ndlopens; k++)
			if (path_begins(s->dlopens[k].path, word))
				return true;
	}
	/* A single file has no sessions: nothing is known of its programs. */
	return !d->nsessions;
}

static struct uftrace_follow *follow_of(const struct spur_trace *t)
{
	return ((const struct uftrace *)t->state)->follow;
}

static bool has_module(const struct spur_trace *t, struct text word)
{
	bool has;

	uftrace_follow_lock(follow_of(t));
	has = find_module(uftrace_data(t), word);
	uftrace_follow_unlock(follow_of(t));
	return has;
}

static uint32_t find_session(const struct uftrace_data *d, const struct spur_track *track,
			     int64_t ts, int64_t *until)
{
	const struct uftrace_task *task = uftrace_task(d, track->tid);
	const uint64_t time = ts < 0 ? 0 : (uint64_t)ts;
	const struct uftrace_session *s = uftrace_session_at(d, track->tid, time);
	uint64_t end = INT64_MAX;

	for (size_t i = 0; task && i < task->nrefs; i++) {
		const struct uftrace_session_ref ref = uftrace_task_ref(task, i);

		if (ref.start > time && ref.start < end)
			end = ref.start;
		if (ref.end > time && ref.end < end)
			end = ref.end;
	}
	*until = (int64_t)end;
	return s ? (uint32_t)(s - d->sessions) + 1 : 0;
}

static uint32_t session_at(const struct spur_trace *t, const struct spur_track *track, int64_t ts,
			   int64_t *until)
{
	uint32_t number;

	uftrace_follow_lock(follow_of(t));
	number = find_session(uftrace_data(t), track, ts, until);
	uftrace_follow_unlock(follow_of(t));
	return number;
}

static bool session_of(const struct spur_trace *t, uint32_t number, struct format_session *s)
{
	const struct uftrace_data *d = uftrace_data(t);
	bool known;

	uftrace_follow_lock(follow_of(t));
	known = number && number <= d->nsessions;
	if (known)
		*s = (struct format_session){ .name = d->sessions[number - 1].exename.p,
					      .len = d->sessions[number - 1].exename.len,
					      .pid = d->sessions[number - 1].pid };
	uftrace_follow_unlock(follow_of(t));
	return known;
}

const struct spur_format spur_format_uftrace = {
	.name = "uftrace",
	.title = "uftrace data directory (function calls of C, C++, Rust, Python; kernel functions "
		 "and events)",
	.reads = "versions 3 and 4, 32 and 64 bit, both byte orders; a single TID.dat, also from a "
		 "pipe",
	.counts_discarded = true,
	.follows_dirs = true,
	.probe = probe,
	.open = open_data,
	.begins = begins,
	.next = next_rows,
	.sums_calls = true,
	.rewind = rewind_feed,
	.divide = uftrace_divide,
	.part_open = uftrace_part_open,
	.part_follows = uftrace_part_follows,
	.part_close = uftrace_part_close,
	.args = uftrace_args,
	.fields = uftrace_fields,
	.layout = uftrace_layout,
	.place = uftrace_place,
	.ticks = uftrace_ticks,
	.schema = uftrace_schema,
	.text = uftrace_text,
	.last = uftrace_last,
	.rules_need_symbols = true,
	.has_module = has_module,
	.default_path = default_path,
	.session_at = session_at,
	.session = session_of,
	.copy = uftrace_copy,
	.joins = uftrace_joins,
	.copies_to_dir = uftrace_is_dir,
	.recover = uftrace_recover,
	.recovers = RECOVERS_DIR,
	.close = close_data,
};
