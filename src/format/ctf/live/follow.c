/*
 * A directory that is still being written: files that grow, new files, new directories, metadata
 * that grows. What came since the last look is merged by time; streams that are quiet hold none
 * back, so what comes late stands late. Ends when the directory is gone, or on a stop.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "format/ctf/live/grow.h"
#include "format/ctf/live/connection.h"

enum {
	REST_MS = 100,
	LOOK_EVERY = 5, /* rests between two looks for new files */
	META_PATIENCE = 3000, /* ms until metadata that is half there is taken for all */
};

/* A trace, of one directory or several. */
struct follow_trace {
	uint32_t version;
};

struct follow_dir {
	char *path; /* below the root */
	struct source *metadata;
	int64_t bad_since; /* wire_now() when it last grew and could not be read; 0: it can */
	struct follow_trace *trace; /* NULL: its metadata cannot be read yet */
};

struct follow_stream {
	struct grow_stream grow; /* first */
	uint32_t file; /* its first */
};

struct follow_file {
	struct follow_dir *dir;
	char *name; /* below the root */
	struct source *source;
	uint32_t file; /* of struct ctf; SPUR_NONE: none yet */
	struct follow_stream *stream; /* NULL: no packet yet */
	bool fresh; /* bytes that were not looked at */
	bool stray; /* no section of the metadata has it */
	bool told; /* why it ended */
};

struct follow {
	struct ctf *c;
	struct ctf_grow *grow;
	char root[CTF_PATH_ROOM];
	const char *only; /* the only stream file that is wanted; NULL: all */
	struct follow_dir **dirs;
	size_t ndirs, dirs_cap;
	struct follow_trace **traces;
	size_t ntraces, traces_cap;
	struct follow_file **files;
	size_t nfiles, files_cap;
	struct map64 seen; /* inode -> device + 1 */
	struct map64 dir_of; /* hash of its path -> index */
	bool full;
	unsigned rests;
};

static struct diag_log *log_of(struct follow *f)
{
	return f->grow->feed ? &f->grow->feed->diag : &f->c->t->diag;
}

static char *keep_text(struct follow *f, const char *s)
{
	char *copy;

	pthread_mutex_lock(&f->c->t->lock);
	copy = arena_strdup(&f->c->t->arena, s, strlen(s));
	pthread_mutex_unlock(&f->c->t->lock);
	return copy;
}

/* --- what is there --- */

/*
 * SPEC ctf-live/follow-files: opens a file that is not open yet. NULL: it cannot be, or was.
 */
static struct source *open_new(struct follow *f, const char *full, const char *shown)
{
	const struct source_options so = { .read_size = f->c->t->options.read_size,
					   .follow = true,
					   .stop = f->c->t->options.stop };
	struct map64_slot *slot;
	struct spur_error err = { 0 };
	struct source *s = NULL;
	struct stat st;

	if (os_stat(full, &st) != 0 || !S_ISREG(st.st_mode))
		return NULL;
	slot = map64_put(&f->seen, st.st_ino);
	if (!slot || slot->value == st.st_dev + 1)
		return NULL;
	slot->value = st.st_dev + 1;
	if (source_open(&s, full, &so, &err) == SPUR_FAIL)
		diag_add(log_of(f), DIAG_DAMAGE, "ctf/unreadable", shown, DIAG_NO_OFF, 0, "%s",
			 err.message);
	return s;
}

/* Paths of the same hash are told apart by looking at all. */
static struct follow_dir *dir_find(const struct follow *f, const char *path)
{
	const struct map64_slot *slot = map64_find(&f->dir_of, hash_str(path, 0));
	struct follow_dir *d = slot ? f->dirs[slot->value] : NULL;

	if (!d || strcmp(d->path, path) == 0)
		return d;
	for (size_t i = 0; i < f->ndirs; i++)
		if (strcmp(f->dirs[i]->path, path) == 0)
			return f->dirs[i];
	return NULL;
}

/* Returns NULL if out of memory. */
static struct follow_dir *dir_add(struct follow *f, const char *path, const char *metadata)
{
	char full[CTF_PATH_ROOM];
	struct map64_slot *slot;
	struct follow_dir *d;

	if (!mem_grow((void **)&f->dirs, &f->dirs_cap, f->ndirs + 1, sizeof(struct follow_dir *),
		      CTF_MAX_GROWING) ||
	    !(d = mem_alloc(sizeof(*d))))
		return NULL;
	f->dirs[f->ndirs++] = d;
	d->path = keep_text(f, path);
	slot = d->path ? map64_put(&f->dir_of, hash_str(path, 0)) : NULL;
	if (!slot)
		return NULL;
	slot->value = f->ndirs - 1;
	if (snprintf(full, sizeof(full), "%s/%s/%s", f->root, path, metadata) < (int)sizeof(full))
		d->metadata = open_new(f, full, path);
	return d;
}

/* False: there are as many files or directories as can be. */
static bool is_room(struct follow *f, size_t count)
{
	if (count < CTF_MAX_GROWING)
		return true;
	if (!f->full)
		diag_add(log_of(f), DIAG_DAMAGE, "ctf/too-many-files", f->root, DIAG_NO_OFF, 0,
			 "expected at most %d files and directories, found more: the rest is not "
			 "read",
			 CTF_MAX_GROWING);
	f->full = true;
	return false;
}

static bool file_add(struct follow *f, struct follow_dir *d, const char *name)
{
	char full[CTF_PATH_ROOM], shown[CTF_PATH_ROOM];
	struct follow_file *file;
	struct source *s;

	if (snprintf(shown, sizeof(shown), "%s%s%s", d->path, d->path[0] ? "/" : "", name) >=
		    CTF_PATH_ROOM ||
	    snprintf(full, sizeof(full), "%s/%s", f->root, shown) >= CTF_PATH_ROOM)
		return true;
	if (!is_room(f, f->nfiles))
		return true;
	s = open_new(f, full, shown);
	if (!s)
		return true;
	if (!mem_grow((void **)&f->files, &f->files_cap, f->nfiles + 1,
		      sizeof(struct follow_file *), CTF_MAX_GROWING) ||
	    !(file = mem_alloc(sizeof(*file)))) {
		source_close(s);
		return false;
	}
	f->files[f->nfiles++] = file;
	*file = (struct follow_file){ .dir = d, .source = s, .file = SPUR_NONE };
	file->name = keep_text(f, shown);
	return file->name != NULL;
}

static bool visit(void *self, const char *dir, const struct ctf_names *files, const char *metadata)
{
	struct follow *f = self;
	struct follow_dir *d = dir_find(f, dir);
	bool good = true;

	if (!files || (!d && !is_room(f, f->ndirs)))
		return true;
	if (!d)
		good = (d = dir_add(f, dir, metadata)) != NULL;
	for (size_t i = 0; i < files->count && good; i++)
		if (!ctf_is_metadata(files->items[i]) &&
		    (!f->only || strcmp(files->items[i], f->only) == 0))
			good = file_add(f, d, files->items[i]);
	return good;
}

/* --- metadata --- */

/* The trace of this metadata, if it is known; else a new one. Returns NULL if out of memory. */
static struct follow_trace *trace_of(struct follow *f, const struct ctf_meta *m)
{
	struct follow_trace *tr;

	for (size_t i = 0; i < f->ntraces; i++) {
		const uint32_t version = f->traces[i]->version;

		if (version != SPUR_NONE && ctf_same_trace(f->c->traces[version].meta, m))
			return f->traces[i];
	}
	if (!mem_grow((void **)&f->traces, &f->traces_cap, f->ntraces + 1,
		      sizeof(struct follow_trace *), CTF_MAX_GROWING) ||
	    !(tr = mem_alloc(sizeof(*tr))))
		return NULL;
	f->traces[f->ntraces++] = tr;
	tr->version = SPUR_NONE;
	return tr;
}

/* Of several files of the same trace the longest text is right. */
static enum spur_status read_meta(struct follow *f, struct follow_dir *d, struct ctf_meta *m,
				  struct spur_error *err)
{
	struct follow_trace *tr = trace_of(f, m);

	if (!tr) {
		meta_free(m);
		return err_nomem(err);
	}
	if (tr->version != SPUR_NONE && m->text.len <= f->c->traces[tr->version].meta->text.len) {
		meta_free(m);
		d->trace = tr;
		return SPUR_OK;
	}
	if (grow_version(f->grow, &tr->version, d->path, m, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (tr->version != SPUR_NONE)
		d->trace = tr;
	return tr->version == SPUR_NONE ? SPUR_WARN : SPUR_OK;
}

/*
 * Reads metadata that has grown. An incomplete part is read again when more has come, or as the
 * final text if nothing comes for a while. Returns SPUR_FAIL if out of memory.
 */
static enum spur_status fresh_metadata(struct follow *f, struct follow_dir *d,
				       struct spur_error *err)
{
	struct ctf_meta *m = NULL;
	const bool more = d->metadata && source_poll(d->metadata);
	const bool late = !more && d->bad_since && wire_now() - d->bad_since > META_PATIENCE;
	enum spur_status st;

	if (!more && !late)
		return SPUR_OK;
	st = grow_read(f->grow, &m, d->path[0] ? d->path : "metadata", d->metadata->data,
		       (size_t)d->metadata->size, late, late || !d->trace ? log_of(f) : NULL, err);
	if (st == SPUR_OK)
		st = read_meta(f, d, m, err);
	if (late && st == SPUR_WARN)
		diag_add(log_of(f), DIAG_DAMAGE, "ctf/metadata", d->path[0] ? d->path : "metadata",
			 DIAG_NO_OFF, 0, "%s", err->message);
	d->bad_since = st == SPUR_WARN && !late ? wire_now() : 0;
	return st == SPUR_FAIL ? SPUR_FAIL : SPUR_OK;
}

static bool all_metadata(struct follow *f, struct spur_error *err)
{
	for (size_t i = 0; i < f->ndirs; i++)
		if (fresh_metadata(f, f->dirs[i], err) == SPUR_FAIL)
			return false;
	return true;
}

/* --- packets --- */

static bool same_stream(const struct ctf_file *a, const struct ctf_file *b)
{
	return a->trace == b->trace && a->class == b->class && a->has_instance && b->has_instance &&
	       a->instance == b->instance;
}

/* Files of one stream are read one after the other. */
static struct follow_stream *stream_of(const struct follow *f, uint32_t file)
{
	const struct ctf *c = f->c;

	for (size_t i = 0; i < f->grow->nstreams; i++) {
		struct follow_stream *s = (struct follow_stream *)f->grow->streams[i];

		if (same_stream(&c->files[s->file], &c->files[file]))
			return s;
	}
	return NULL;
}

/* The file has its first packet. */
static bool begin_stream(struct follow *f, struct follow_file *file)
{
	struct follow_stream *s = stream_of(f, file->file);

	if (s) {
		file->stream = s;
		return ctf_feed_add_file(s->grow.feed, file->file);
	}
	s = mem_alloc(sizeof(*s));
	if (!s)
		return false;
	s->file = file->file;
	if (!grow_begin(f->grow, &s->grow, file->file) || !grow_add(f->grow, &s->grow)) {
		if (s->grow.feed)
			ctf_feed_free(s->grow.feed);
		mem_free(s->grow.rows);
		mem_free(s);
		return false;
	}
	file->stream = s;
	return true;
}

/*
 * The file of the reader; returns false if out of memory. A name that belongs to no section is left
 * out.
 */
static bool make_file(struct follow *f, struct follow_file *file)
{
	const struct ctf_meta *m = f->c->traces[file->dir->trace->version].meta;
	const char *slash = strrchr(file->name, '/');
	uint32_t class = 0;

	if (m->generation == CTF_V11)
		class = ctf_section_of(m, slash ? slash + 1 : file->name);
	if (class == SPUR_NONE) {
		file->stray = true;
		return true;
	}
	file->file = grow_file(f->grow, file->dir->trace->version, file->name, file->source);
	if (file->file == SPUR_NONE)
		return false;
	f->c->files[file->file].class = class;
	return true;
}

/* Packets that are whole by now. */
static bool fresh_packets(struct follow *f, struct follow_file *file)
{
	struct ctf *c = f->c;
	size_t had;
	bool good;

	if (!file->fresh || file->stray || !file->dir->trace)
		return true;
	if (file->file == SPUR_NONE && !make_file(f, file))
		return false;
	if (file->stray)
		return true;
	file->fresh = false;
	had = c->files[file->file].npackets;
	pthread_rwlock_wrlock(&c->lock);
	good = ctf_index_more(c, &c->files[file->file], log_of(f));
	c->t->streams[c->files[file->file].stream].size = file->source->size;
	pthread_rwlock_unlock(&c->lock);
	if (!good || c->files[file->file].npackets == had)
		return good;
	if (!file->stream && !begin_stream(f, file))
		return false;
	grow_wake(f->grow, &file->stream->grow);
	return true;
}

static void report_end(struct follow *f, struct follow_file *file)
{
	if (file->told || !file->source->error->code)
		return;
	file->told = true;
	diag_add(log_of(f), DIAG_DAMAGE, "ctf/unreadable", file->name, file->source->size, 0, "%s",
		 file->source->error->message);
}

/*
 * One look at everything. Bytes first, then metadata: so that it has what the bytes need. Returns
 * false if out of memory.
 */
static bool look(struct follow *f, struct spur_error *err)
{
	if (f->rests++ % LOOK_EVERY == 0 && !ctf_walk(f->root, !f->only, visit, f))
		return false;
	for (size_t i = 0; i < f->nfiles; i++) {
		f->files[i]->fresh |= source_poll(f->files[i]->source);
		report_end(f, f->files[i]);
	}
	if (!all_metadata(f, err))
		return false;
	for (size_t i = 0; i < f->nfiles; i++)
		if (!fresh_packets(f, f->files[i]))
			return false;
	return true;
}

/* --- the source of rows --- */

/* SPEC ctf-live/follow-order: who has no news leaves the merge */
static enum grow_answer follow_ask(void *self, struct grow_stream *s)
{
	(void)self;
	(void)s;
	return GROW_NOTHING;
}

/* SPEC ctf-live/follow-end */
static enum grow_answer follow_wait(void *self)
{
	struct follow *f = self;
	struct spur_error err;
	struct stat st;
	const bool gone = os_stat(f->root, &st) != 0;

	if (!gone)
		os_poll(NULL, 0, REST_MS);
	if (!look(f, &err))
		return GROW_FAIL;
	for (size_t i = 0; i < f->grow->nstreams; i++)
		if (f->grow->streams[i]->starved_since)
			grow_wake(f->grow, f->grow->streams[i]);
	if (!gone || f->grow->queued)
		return GROW_MORE;
	diag_add(log_of(f), DIAG_WARN, "follow/replaced", f->root, DIAG_NO_OFF, 0,
		 "expected the directory to grow, found that it is gone");
	return GROW_OVER;
}

static void follow_close(void *self)
{
	struct follow *f = self;

	for (size_t i = 0; f->grow && i < f->grow->nstreams; i++)
		mem_free(f->grow->streams[i]);
	for (size_t i = 0; i < f->nfiles; i++) {
		source_close(f->files[i]->source);
		mem_free(f->files[i]);
	}
	for (size_t i = 0; i < f->ndirs; i++) {
		source_close(f->dirs[i]->metadata);
		mem_free(f->dirs[i]);
	}
	for (size_t i = 0; i < f->ntraces; i++)
		mem_free(f->traces[i]);
	map64_free(&f->seen);
	map64_free(&f->dir_of);
	mem_free(f->files);
	mem_free(f->dirs);
	mem_free(f->traces);
	mem_free(f);
}

static bool has_version(const struct follow *f)
{
	for (size_t i = 0; i < f->ntraces; i++)
		if (f->traces[i]->version != SPUR_NONE)
			return true;
	return false;
}

/* There is metadata, and none of it can be read as it grows (packed files cannot). */
static bool is_refused(const struct follow *f)
{
	for (size_t i = 0; i < f->ndirs; i++)
		if (f->dirs[i]->metadata)
			return false;
	return f->ndirs > 0;
}

/* Waits until the first trace says what its clock is. */
static enum spur_status await_metadata(struct follow *f, struct spur_error *err)
{
	const volatile int *stop = f->c->t->options.stop;

	while (!(stop && *stop)) {
		if (!look(f, err))
			return err_nomem(err);
		if (has_version(f))
			return SPUR_OK;
		if (is_refused(f))
			return err_set(
				err, SPUR_ERR_FORMAT,
				"%s: expected metadata that can be followed, found a packed or "
				"unreadable file",
				f->root);
		os_poll(NULL, 0, REST_MS);
	}
	return err_set(err, SPUR_ERR_IO, "%s: stopped", f->c->t->path);
}

static const struct grow_source follow_source = {
	.ask = follow_ask,
	.wait = follow_wait,
	.close = follow_close,
};

enum spur_status follow_open(struct ctf *c, const char *path, struct spur_error *err)
{
	struct follow *f = mem_alloc(sizeof(*f));

	if (!f)
		return err_nomem(err);
	f->c = c;
	f->only = ctf_split_path(path, f->root, sizeof(f->root));
	c->grow = f->grow = grow_new(c, &follow_source, f);
	if (!c->grow) {
		follow_close(f);
		return err_nomem(err);
	}
	c->t->live = true;
	return await_metadata(f, err);
}
