/*
 * SPEC ctf/left-over: the trace of an LTTng session whose daemons were killed, together with the
 * shared memory that they left (--shm-path). The trace has the packets that were written, often
 * without metadata, which is written when the session stops; the memory has the metadata and the
 * packets that were not. Both are put side by side in a directory that is read as one trace, as
 * the chunks of a rotated session are.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "base/os.h"
#include "base/source.h"
#include "format/ctf/crash.h"
#include "format/ctf/meta/meta.h"

static const char metadata_name[] = "metadata";

/* A tree that is linked. */
struct linking {
	const char *from;
	const char *to; /* NULL: nothing is linked, only counted */
	const char *other; /* the other tree: of two files with metadata, the longer one counts */
	bool only_metadata; /* what the tree `to` lacks */
	struct format_recovery *r;
	struct spur_error *err;
	struct arena *a;
};

static bool fail(const struct linking *l, const char *path)
{
	err_set(l->err, SPUR_ERR_IO, "%s: %s", path, strerror(errno));
	return false;
}

static bool no_memory(const struct linking *l)
{
	err_nomem(l->err);
	return false;
}

/* Counts the packets in a ring buffer. */
static bool ring_count(const struct linking *l, const char *path)
{
	struct ctf_subbuf s;
	struct ctf_ring ring;
	struct source *src;

	if (source_open(&src, path, NULL, l->err) == SPUR_FAIL)
		return false;
	source_need(src, UINT64_MAX);
	if (!crash_is(src->data, src->size)) {
		source_close(src);
		return true;
	}
	if (!crash_open(&ring, src->data, src->size)) {
		l->r->bad++;
		l->r->bad_bytes += src->size;
	} else {
		l->r->threads++;
		while (crash_next(&ring, &s)) {
			l->r->bad += s.bad;
			l->r->bad_bytes += s.bad ? ring.subbuf : 0;
			l->r->buffers += !s.bad;
			l->r->added += s.bad ? 0 : s.bytes;
		}
	}
	source_close(src);
	return true;
}

/* Returns the bytes of text in a file with metadata: 0 if it has none, or cannot be read. */
static size_t text_length(const char *path)
{
	struct ctf_meta *const m = meta_new(path);
	enum ctf_generation generation;
	struct spur_error ignored;
	struct diag_log log;
	struct source *src;
	size_t len = 0;

	diag_init(&log);
	if (m && source_open(&src, path, NULL, &ignored) != SPUR_FAIL) {
		source_need(src, UINT64_MAX);
		if (meta_text(m, src->data, src->size, &log, &generation, &ignored) != SPUR_FAIL)
			len = m->text.len;
		source_close(src);
	}
	diag_free(&log);
	meta_free(m);
	return len;
}

/*
 * Returns true if the other tree has more of this text. The sizes of the files say nothing: a
 * daemon that is killed leaves packets with little in them, or nothing.
 */
static bool is_longer(const struct linking *l, const char *path, const char *name)
{
	const char *const other = arena_printf(l->a, "%s%s", l->other, name);

	return other && text_length(other) > text_length(path);
}

/* `name` begins with a slash. */
static bool link_file(const struct linking *l, const FTSENT *e, const char *name)
{
	const bool is_metadata = strcmp(e->fts_name, metadata_name) == 0;
	const char *const to = arena_printf(l->a, "%s%s", l->to ? l->to : "", name);
	char full[PATH_MAX];

	if (!to)
		return no_memory(l);
	if (l->only_metadata ? !is_metadata
			     : is_metadata && l->other && is_longer(l, e->fts_path, name))
		return true;
	if (!l->only_metadata && !ring_count(l, e->fts_path))
		return false;
	if (!l->to)
		return true;
	if (!os_realpath(e->fts_path, full))
		return fail(l, e->fts_path);
	/* The tree has its own, or no such directory. */
	return os_symlink(full, to) == 0 || errno == EEXIST ||
	       (l->only_metadata && errno == ENOENT) || fail(l, to);
}

static bool make_dir(const struct linking *l, const char *name)
{
	const char *const to = arena_printf(l->a, "%s%s", l->to ? l->to : "", name);

	if (!to)
		return no_memory(l);
	return !l->to || l->only_metadata || os_mkdir(to, 0777) == 0 || fail(l, to);
}

/* Links all files of a tree. */
static bool link_tree(const struct linking *l)
{
	char *const from = arena_strdup(l->a, l->from, strlen(l->from));
	char *paths[] = { from, NULL };
	FTS *const walk = from ? os_fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	bool good = true;
	const FTSENT *e;

	if (!walk)
		return from ? fail(l, l->from) : no_memory(l);
	while (good && (e = os_fts_read(walk))) {
		const char *const name = e->fts_path + strlen(from);

		if (e->fts_info == FTS_F)
			good = link_file(l, e, name);
		else if (e->fts_info == FTS_D)
			good = make_dir(l, name);
		else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR ||
			 e->fts_info == FTS_NS) {
			errno = e->fts_errno;
			good = fail(l, e->fts_path);
		}
	}
	os_fts_close(walk);
	return good;
}

/* The path without slashes at its end. */
static const char *bare_path(struct arena *a, const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return arena_strdup(a, path, len);
}

/* Counts the directories in one, of which *only is the last; *found: one of a domain of LTTng. */
static size_t count_dirs(const struct linking *l, const char *path, const char **only, bool *found)
{
	DIR *const dir = os_opendir(path);
	const struct dirent *e;
	size_t n = 0;

	*found = false;
	while (dir && (e = os_readdir(dir))) {
		struct stat st;

		if (e->d_name[0] == '.' || os_fstatat(dirfd(dir), e->d_name, &st, 0) != 0 ||
		    !S_ISDIR(st.st_mode))
			continue;
		*found |= strcmp(e->d_name, "ust") == 0 || strcmp(e->d_name, "kernel") == 0;
		*only = arena_printf(l->a, "%s/%s", path, e->d_name);
		n++;
	}
	if (dir)
		os_closedir(dir);
	return n;
}

/*
 * The directory of --shm-path has one for each session, which is what the trace is compared with.
 * Returns NULL, with the error set, if that is not one.
 */
static const char *session_path(const struct linking *l, const char *path)
{
	const char *only = NULL;
	bool found;
	const size_t n = count_dirs(l, path, &only, &found);

	if (found || !n)
		return path;
	if (n == 1) {
		if (!only)
			no_memory(l);
		return only;
	}
	err_set(l->err, SPUR_ERR_USAGE, "%s: expected the directory of one session, found %zu",
		path, n);
	return NULL;
}

/* The trace, beside the memory. */
static bool link_trace(struct linking *l, const char *trace, const char *to)
{
	const char *const memory = l->from;

	l->from = trace;
	l->to = to;
	l->other = memory;
	if (!link_tree(l))
		return false;
	l->from = memory;
	l->only_metadata = true;
	return link_tree(l);
}

enum spur_status ctf_recover(const char *path, struct format_recovery *r, struct spur_error *err)
{
	struct arena a;
	struct linking l = { .r = r, .err = err, .a = &a };
	const char *trace, *recorded;
	bool good;

	arena_init(&a);
	trace = bare_path(&a, path);
	l.from = r->memory ? bare_path(&a, r->memory) : trace;
	if (r->memory && l.from && !(l.from = session_path(&l, l.from))) {
		arena_free(&a);
		return SPUR_FAIL;
	}
	recorded = arena_printf(&a, "%s/recorded", r->to ? r->to : "");
	l.to = r->to ? arena_printf(&a, "%s/left-over", r->to) : NULL;
	if (!trace || !l.from || !recorded || (r->to && !l.to)) {
		err_nomem(err);
		good = false;
	} else {
		good = link_tree(&l) && (!r->to || link_trace(&l, trace, recorded));
	}
	arena_free(&a);
	return good ? SPUR_OK : SPUR_FAIL;
}
