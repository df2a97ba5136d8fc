/*
 * Copies of uftrace data. The files of a directory are copied one by one: those with records by
 * record, text files by line, all others as they are. What the trace lacks is made only if the copy
 * repairs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/os.h"
#include "format/uftrace/copying.h"

enum { PIECE = 256 << 10 };

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_sort(struct names *n)
{
	if (n->count)
		qsort(n->items, n->count, sizeof(*n->items), by_name);
}

/* Returns false if out of memory. */
static bool names_add(struct names *n, const char *name, size_t len)
{
	if (!mem_table_grow((void **)&n->items, &n->cap, n->count + 1, sizeof(*n->items),
			    SIZE_MAX / sizeof(*n->items)))
		return false;
	n->items[n->count] = arena_strdup(&n->arena, name, len);
	return n->items[n->count++] != NULL;
}

static void names_free(struct names *n)
{
	mem_table_free(n->items, n->cap, sizeof(*n->items));
	arena_free(&n->arena);
}

bool copying_has_name(const struct names *n, const char *name)
{
	return n->count && bsearch(&name, n->items, n->count, sizeof(*n->items), by_name);
}

bool copying_list(struct listing *l, const struct uftrace *u)
{
	DIR *d = os_opendir(u->dir);
	const struct dirent *e;
	bool good = true;

	*l = (struct listing){ 0 };
	arena_init_scratch(&l->all.arena);
	arena_init_scratch(&l->records.arena);
	arena_init_scratch(&l->made.arena);
	while (d && good && (e = os_readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			good = names_add(&l->all, e->d_name, strlen(e->d_name));
	if (d)
		os_closedir(d);
	for (size_t i = 0; good && i < u->nfiles; i++) {
		const struct text name = uftrace_file_name(u, &u->files[i]);

		good = names_add(&l->records, name.p, name.len);
	}
	names_sort(&l->all);
	names_sort(&l->records);
	return good;
}

void copying_list_free(struct listing *l)
{
	names_free(&l->all);
	names_free(&l->records);
	names_free(&l->made);
}

struct text copying_unpacked(struct text name)
{
	static const char *const endings[] = { ".gz", ".zst" };

	for (size_t i = 0; i < 2; i++) {
		const size_t n = strlen(endings[i]);

		if (name.len > n && text_is(text_make(name.p + name.len - n, n), endings[i]))
			return text_make(name.p, name.len - n);
	}
	return name;
}

/* --- one file --- */

bool copying_begin(struct copying *k, const char *name, struct out *o)
{
	k->o = o;
	return outdir_create(k->copy->dir, name, o, k->copy->err) != SPUR_FAIL;
}

bool copying_end(struct copying *k, const char *name, struct out *o, bool good)
{
	k->o = NULL;
	if (o->fd < 0) { /* it could not be created */
		out_free(o);
		return false;
	}
	return outdir_finish(k->copy->dir, name, o, k->copy->err) != SPUR_FAIL && good;
}

static bool is_dat(const struct uftrace *u, const struct uftrace_file *f)
{
	return f->cpu == SPUR_NO_CPU &&
	       !text_is(copying_unpacked(uftrace_file_name(u, f)), "extern.dat");
}

static bool records_copy(struct copying *k, struct uftrace_file *f, int64_t tid)
{
	const struct text file = uftrace_file_name(k->u, f);

	if (is_dat(k->u, f))
		return !uftrace_open_dat(k->u, f, &k->u->t->diag) || copying_dat(k, f, tid);
	if (!uftrace_open_file(k->u, f, &k->u->t->diag))
		return true;
	source_need(f->source, UINT64_MAX);
	if (text_starts(file, "kernel-"))
		return copying_kernel(k, f);
	if (text_starts(file, "perf-"))
		return copying_perf(k, f);
	if (k->kept)
		copying_extern(k, f);
	else
		out_bytes(k->o, f->source->data, f->source->size);
	return true;
}

bool copying_file(struct copying *k, struct uftrace_file *f)
{
	const struct text base = copying_unpacked(uftrace_file_name(k->u, f));
	const uint64_t before = k->copy->records;
	struct text digits = base;
	char name[300];
	uint64_t tid = 0;
	struct out o;
	bool good;

	snprintf(name, sizeof(name), "%.*s", (int)base.len, base.p);
	text_u64(&digits, 10, &tid);
	good = copying_begin(k, name, &o) && records_copy(k, f, (int64_t)tid);
	k->shown |= k->copy->records > before && (is_dat(k->u, f) || text_starts(base, "kernel-"));
	return copying_end(k, name, &o, good);
}

/* The bytes of a file as they are, whatever they mean. */
static bool bytes_copy(struct copying *k, int fd, const char *name)
{
	ssize_t n = 1;

	while (n && !copying_stopped(k)) {
		char *room = out_room(k->o, PIECE);

		if (!room)
			return true; /* the output has the error */
		n = os_read(fd, room, PIECE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err_set(k->copy->err, SPUR_ERR_IO, "%s/%s: %s", k->u->dir, name,
				strerror(errno));
			return false;
		}
		k->o->len += (size_t)n;
	}
	return true;
}

/* SPEC uftrace/copy-whole: a file that is not interpreted */
static bool other_copy(struct copying *k, const char *name)
{
	char path[4400];
	struct stat st;
	struct out o;
	bool good;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", k->u->dir, name);
	fd = os_open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0 || os_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		k->notes[NOTE_ENTRIES]++;
		if (fd >= 0)
			os_close(fd);
		return true;
	}
	good = copying_begin(k, name, &o) && bytes_copy(k, fd, name);
	os_close(fd);
	return copying_end(k, name, &o, good);
}

static bool text_copy(struct copying *k, const char *name, enum copying_text what)
{
	struct text file;
	struct out o;
	bool good;

	if (!uftrace_slurp(k->u, name, &file))
		return true;
	if (what == TEXT_INFO && !k->u->d.info.have) {
		copying_lose(k, file.len);
		return true;
	}
	if (k->copy->repair && strcmp(name, "default.opts") == 0 && text_trim(file).len &&
	    !k->u->t->default_min_ns) {
		k->notes[NOTE_LINES]++;
		file.len = 0;
	}
	good = copying_begin(k, name, &o);
	if (good)
		copying_lines(k, what, file);
	return copying_end(k, name, &o, good);
}

/* --- the directory --- */

/* Files that the reader knows, besides those with lines to check. */
static bool is_plain_text(struct text name)
{
	return text_is(name, "default.opts") || text_is(name, "note.txt") ||
	       text_is(name, "kernel_header");
}

/* A packed file is unpacked if the reader takes it for the file of that name. */
static bool entry_copy(struct copying *k, const struct names *n, const char *name)
{
	const struct text base = copying_unpacked(text_of(name));
	const enum copying_text what = copying_text_of(base);
	const bool packed = base.len < strlen(name);
	char plain[300], gz[310];

	if (base.len >= sizeof(plain) || (what == TEXT_OTHER && !is_plain_text(base)) ||
	    what == TEXT_EXTERN)
		return other_copy(k, name);
	snprintf(plain, sizeof(plain), "%.*s", (int)base.len, base.p);
	snprintf(gz, sizeof(gz), "%s.gz", plain);
	if (packed &&
	    (copying_has_name(n, plain) || (strcmp(gz, name) != 0 && copying_has_name(n, gz))))
		return other_copy(k, name);
	return text_copy(k, plain, what);
}

/* Returns true if a task.txt is there that is of no use, as it has no session. */
static bool is_useless(const struct copying *k, const char *name)
{
	return k->copy->repair && !k->u->d.nsessions &&
	       copying_text_of(copying_unpacked(text_of(name))) == TEXT_TASKS;
}

/* Returns true if the file is one that is made if it is needed. */
static bool is_stand_in(const struct copying *k, const char *name)
{
	return (k->kept || k->copy->repair) && strcmp(name, copying_stand_in) == 0;
}

/* Files without records. */
static bool entries_copy(struct copying *k, const struct listing *l)
{
	bool good = true;

	for (size_t i = 0; good && i < l->all.count && !copying_stopped(k); i++)
		if (!copying_has_name(&l->records, l->all.items[i]) &&
		    !is_useless(k, l->all.items[i]) && !is_stand_in(k, l->all.items[i]))
			good = entry_copy(k, &l->all, l->all.items[i]);
	return good;
}

/* --- what is missing --- */

static bool is_missing(const struct names *n, const char *name)
{
	char packed[40];

	if (copying_has_name(n, name))
		return false;
	snprintf(packed, sizeof(packed), "%s.gz", name);
	if (copying_has_name(n, packed))
		return false;
	snprintf(packed, sizeof(packed), "%s.zst", name);
	return !copying_has_name(n, packed);
}

/* The id of the directory's first map. */
static struct text first_sid(const struct names *n)
{
	for (size_t i = 0; i < n->count; i++) {
		struct text name = text_of(n->items[i]);

		if (copying_text_of(name) == TEXT_MAP)
			return text_make(name.p + 4, name.len - 8);
	}
	return text_of("0000000000000000");
}

static bool made_file(struct copying *k, const char *name, void (*make)(struct copying *))
{
	struct out o;
	const bool good = copying_begin(k, name, &o);

	if (good)
		make(k);
	return copying_end(k, name, &o, good);
}

/* Returns true if no file has that name, in the input or made before. */
static bool name_is_free(const struct listing *l, const char *name)
{
	bool made = false;

	for (size_t i = 0; i < l->made.count && !made; i++)
		made = strcmp(l->made.items[i], name) == 0;
	return !made && !copying_has_name(&l->all, name);
}

/* Symbols of the binaries that were traced and are here, if no other file has the name. */
static bool symbols_make(struct copying *k, struct listing *l)
{
	struct uftrace *u = k->u;
	bool good = true;

	for (const struct uftrace_module *m = u->modules; good && m; m = m->next) {
		const size_t base = (size_t)(text_rfind(m->path, '/') + 1);
		char name[300];
		struct out o;

		/* Copying the records loaded the modules that they are in. */
		if (!m->loaded || m == u->python || m == u->kernel_syms ||
		    uftrace_has_symbols(u, m))
			continue;
		snprintf(name, sizeof(name), "%.*s.sym", (int)(m->path.len - base),
			 m->path.p + base);
		if (!m->syms.count || !name_is_free(l, name))
			continue;
		out_to_memory(&o);
		good = names_add(&l->made, name, strlen(name)) && copying_begin(k, name, &o);
		if (good)
			copying_make_symbols(k, m);
		good = copying_end(k, name, &o, good);
	}
	return good;
}

static void empty_make(struct copying *k)
{
	k->notes[NOTE_MAPS]++;
}

/* uftrace opens nothing if the map of a session is missing. */
static bool map_make(struct copying *k, struct listing *l, struct text sid)
{
	char name[300];

	snprintf(name, sizeof(name), "sid-%.*s.map", (int)(sid.len < 256 ? sid.len : 256), sid.p);
	if (strchr(name, '/') || !is_missing(&l->all, name) || !name_is_free(l, name))
		return true;
	return names_add(&l->made, name, strlen(name)) && made_file(k, name, empty_make);
}

/* Makes a task.txt if one with a session is missing, and the maps that are missing. */
static bool tasks_make(struct copying *k, struct listing *l)
{
	const struct uftrace_data *d = &k->u->d;
	bool good = true;

	if (!d->nsessions && is_missing(&l->all, "task"))
		good = made_file(k, "task.txt", copying_make_tasks) && map_make(k, l, k->sid);
	for (size_t i = 0; good && i < d->nsessions; i++)
		good = map_make(k, l, d->sessions[i].sid);
	return good;
}

/* SPEC uftrace/copy-repair: `info` is also made if its header cannot be used */
static bool missing_make(struct copying *k, struct listing *l)
{
	const bool info = is_missing(&l->all, "info") ? k->copy->repair : !k->u->d.info.have;

	k->sid = first_sid(&l->all);
	if (k->copy->repair && (!symbols_make(k, l) || !tasks_make(k, l)))
		return false;
	return !info || made_file(k, "info", copying_make_info);
}

static void stand_in_make(struct copying *k)
{
	out_str(k->o, "No task has records.\n");
}

/*
 * SPEC uftrace/copy-no-calls: uftrace opens no directory in which all files whose names begin with
 * a digit and end in .dat are empty
 */
static bool stand_in_write(struct copying *k)
{
	return k->shown || (!k->kept && !k->copy->repair) ||
	       made_file(k, copying_stand_in, stand_in_make);
}

static bool dir_copy(struct copying *k)
{
	struct listing l;
	bool good = copying_list(&l, k->u);

	for (size_t i = 0; good && i < k->u->nfiles && !copying_stopped(k); i++)
		good = copying_file(k, &k->u->files[i]);
	good = good && entries_copy(k, &l) && missing_make(k, &l) && stand_in_write(k);
	copying_list_free(&l);
	return good;
}

/* --- the copy --- */

void copying_notes_out(const struct copying *k)
{
	static const char *const texts[COPYING_NOTES] = {
		[NOTE_BYTES] = "bytes that are no records, or of no file, left out",
		[NOTE_PAYLOADS] = "payloads that cannot be read, left out of their records",
		[NOTE_LINES] = "lines that cannot be read, left out",
		[NOTE_SPECS] = "argument specifications that cannot be read, left out",
		[NOTE_PAGES] = "kernel files with pages made again",
		[NOTE_MOVED] = "records moved to their place in the order of time",
		[NOTE_ENTRIES] = "entries of the directory that are no files, left out",
		[NOTE_INFO] = "info files made again, without what they said of the recording",
		[NOTE_INFO_TEXT] = "info files written again as uftrace reads them",
		[NOTE_TASKS] = "task.txt files made, with all threads in one process",
		[NOTE_SYMBOLS] = "files of symbols made from binaries",
		[NOTE_MAPS] = "maps made, without modules",
		[NOTE_RENUMBERED] = "processes and threads that got another id",
		[NOTE_HIDDEN] = "files that an earlier trace has with other content, left out",
		[NOTE_IDS] = "lines of maps that got the build-ids that other files have",
	};

	k->copy->damaged |= k->notes[NOTE_BYTES] || k->notes[NOTE_PAYLOADS] ||
			    k->notes[NOTE_LINES] || k->notes[NOTE_SPECS];
	for (size_t i = 0; i < COPYING_NOTES && k->copy->notes; i++)
		if (k->notes[i])
			out_printf(k->copy->notes, "%s: %llu\n", texts[i],
				   (unsigned long long)k->notes[i]);
}

bool uftrace_is_dir(const struct spur_trace *t)
{
	return !((const struct uftrace *)t->state)->borrowed;
}

enum spur_status uftrace_copy_part(struct copy *copy, bool bare)
{
	const struct copy_part *part = &copy->parts[0];
	struct uftrace *u = part->trace->state;
	struct copying k = {
		.copy = copy, .u = u, .kept = part->kept, .from = part->from, .bare = bare
	};
	bool good;

	if (uftrace_is_dir(part->trace)) {
		good = dir_copy(&k);
	} else {
		k.o = copy->out;
		good = copying_dat(&k, &u->files[0], uftrace_feed_at(u, 0).tid);
	}
	copying_notes_out(&k);
	return good ? SPUR_OK : SPUR_FAIL;
}

enum spur_status uftrace_copy(struct copy *copy)
{
	return copy->count > 1 ? uftrace_join(copy) : uftrace_copy_part(copy, false);
}
