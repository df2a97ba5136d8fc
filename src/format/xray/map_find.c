/*
 * Finding the program of a trace by the files beside it, and the instrumented libraries of a
 * program with their objects, in the order in which glibc runs constructors. Looks at regular files
 * only, in the trace's and the program's own directory and in those that are given.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "base/search.h"
#include "base/text.h"
#include "format/xray/map_parts.h"

enum {
	MAX_ENTRIES = 4096, /* of a directory */
	MAX_LIBRARIES = 1024,
	MAX_EDGES = 1 << 14, /* needs of all of them */
	LIST_MAX = 200, /* bytes of a list of names in a message */
};

static struct text base_name(struct text path)
{
	const ptrdiff_t slash = text_rfind(path, '/');

	return slash < 0 ? path : text_make(path.p + slash + 1, path.len - (size_t)slash - 1);
}

/* Returns the directory with its slash, or "". */
static struct text dir_name(struct text path)
{
	return text_make(path.p, path.len - base_name(path).len);
}

static const char *join(struct arena *a, struct text dir, struct text name)
{
	const bool slash = dir.len && dir.p[dir.len - 1] != '/';

	return arena_printf(a, "%.*s%s%.*s", (int)dir.len, dir.p, slash ? "/" : "", (int)name.len,
			    name.p);
}

static enum map_kind kind_of(const char *path)
{
	uint8_t head[8];
	const ssize_t n = file_head(path, FILE_REGULAR, head, sizeof(head));
	const size_t len = n > 0 ? (size_t)n : 0;

	if (map_is_elf(head, len))
		return map_kind_elf(path);
	return map_is_macho(head, len) ? map_kind_macho(path) : MAP_NOTHING;
}

/* ---- the program ---- */

/* "NAME" of a log that the runtime named xray-log.NAME.XXXXXX; else empty. */
static struct text log_program(struct text name)
{
	ptrdiff_t dot;

	if (!text_skip(&name, "xray-log."))
		return text_of("");
	dot = text_rfind(name, '.');
	return text_make(name.p, dot < 0 ? 0 : (size_t)dot);
}

/* The name without its extension, and without that of a packed file. */
static struct text stem(struct text name)
{
	ptrdiff_t dot = text_rfind(name, '.');

	if (dot > 0 && (text_is(text_make(name.p + dot, name.len - (size_t)dot), ".gz") ||
			text_is(text_make(name.p + dot, name.len - (size_t)dot), ".zst"))) {
		name.len = (size_t)dot;
		dot = text_rfind(name, '.');
	}
	return text_make(name.p, dot > 0 ? (size_t)dot : 0);
}

/* A list of names, cut where it gets long. */
struct list {
	char text[LIST_MAX + 8];
	size_t len, count;
};

static void list_add(struct list *l, const char *name)
{
	const int room = (int)(LIST_MAX - l->len);

	l->count++;
	if (strlen(name) + 2 > (size_t)room) {
		if (l->len < LIST_MAX)
			l->len +=
				(size_t)snprintf(l->text + l->len, 8, "%s...", l->len ? ", " : "");
		l->len = LIST_MAX;
		return;
	}
	l->len +=
		(size_t)snprintf(l->text + l->len, (size_t)room, "%s%s", l->len ? ", " : "", name);
}

static int by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

struct names {
	const char **list;
	size_t count, cap;
	bool many; /* there are more than MAX_ENTRIES */
};

/* Names of a directory's files, sorted. Returns false if out of memory. */
static bool read_names(struct arena *a, const char *dir, struct names *n)
{
	DIR *d = os_opendir(*dir ? dir : ".");
	const struct dirent *e;
	bool ok = true;

	while (ok && d && !n->many && (e = os_readdir(d))) {
		if (e->d_type != DT_REG && e->d_type != DT_LNK && e->d_type != DT_UNKNOWN)
			continue;
		if (n->count == MAX_ENTRIES) {
			n->many = true;
			break;
		}
		ok = mem_grow((void **)&n->list, &n->cap, n->count + 1, sizeof(*n->list),
			      MAX_ENTRIES) &&
		     (n->list[n->count++] = arena_strdup(a, e->d_name, strlen(e->d_name)));
	}
	if (d)
		os_closedir(d);
	if (ok && n->count)
		qsort(n->list, n->count, sizeof(*n->list), by_name);
	return ok;
}

/* What the directory has. */
struct candidates {
	const char *program, *library; /* the last of each */
	struct list programs, libraries;
};

static void read_candidate(struct candidates *c, const char *path, const char *name)
{
	switch (kind_of(path)) {
	case MAP_PROGRAM:
		c->program = path;
		list_add(&c->programs, name);
		break;
	case MAP_LIBRARY:
		c->library = path;
		list_add(&c->libraries, name);
		break;
	case MAP_NOTHING:
		break;
	}
}

static const char *choose(const struct candidates *c, const char *trace, struct diag_log *diag)
{
	const struct list *l = c->programs.count ? &c->programs : &c->libraries;

	/*
	 * SPEC xray-names/beside: a program counts more than a library; several of one kind are
	 * none
	 */
	if (l->count == 1)
		return c->programs.count ? c->program : c->library;
	if (l->count)
		diag_add(diag, DIAG_NOTE, "xray/several-maps", trace, DIAG_NO_OFF, 0,
			 "binary: expected one with an instrumentation map beside the trace, found "
			 "%zu (%s): functions have no names; --binary FILE gives it",
			 l->count, l->text);
	else
		diag_add(diag, DIAG_NOTE, "xray/no-map", trace, DIAG_NO_OFF, 0,
			 "binary: expected one with an instrumentation map beside the trace, found "
			 "none: functions have no names; --binary FILE gives it");
	return NULL;
}

/* SPEC xray-names/written: NAME.elf has the names of the log NAME, and of no other one. */
static bool is_of_other(const struct names *n, const char *name)
{
	const size_t len = strlen(name);
	size_t i;

	if (len <= 4 || strcmp(name + len - 4, ".elf") != 0)
		return false;
	bisect(i, 0, n->count, strncmp(n->list[i], name, len - 4) < 0);
	return i < n->count && strncmp(n->list[i], name, len - 4) == 0 && !n->list[i][len - 4];
}

static const char *search(struct arena *a, struct text dir, const char *trace,
			  struct diag_log *diag)
{
	const char *path = arena_strdup(a, dir.p, dir.len), *chosen = NULL;
	struct candidates c = { 0 };
	struct names n = { 0 };

	if (path && read_names(a, path, &n) && n.many)
		diag_add(
			diag, DIAG_NOTE, "xray/no-map", trace, DIAG_NO_OFF, 0,
			"binary: expected at most %d files beside the trace, found more: functions "
			"have no names; --binary FILE gives it",
			MAX_ENTRIES);
	for (size_t i = 0; !n.many && i < n.count; i++) {
		const char *file = join(a, dir, text_of(n.list[i]));

		if (file && !is_of_other(&n, n.list[i]))
			read_candidate(&c, file, n.list[i]);
	}
	if (!n.many)
		chosen = choose(&c, trace, diag);
	mem_free(n.list);
	return chosen;
}

const char *map_find_program(struct arena *a, const char *trace_path, struct diag_log *diag)
{
	const struct text path = text_of(trace_path), name = base_name(path), dir = dir_name(path);
	const char *written = arena_printf(a, "%s.elf", trace_path);
	/* SPEC xray-names/log-name: the runtime names a log after its program */
	const struct text wanted[] = { log_program(name), stem(name) };

	if (!strcmp(trace_path, "-")) {
		diag_add(diag, DIAG_NOTE, "xray/no-map", trace_path, DIAG_NO_OFF, 0,
			 "binary: expected --binary FILE, found none: functions have no names");
		return NULL;
	}
	/* SPEC xray-names/written: what Spur writes beside a log */
	if (written && kind_of(written) != MAP_NOTHING)
		return written;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const char *file = wanted[i].len ? join(a, dir, wanted[i]) : NULL;

		if (file && kind_of(file) != MAP_NOTHING)
			return file;
	}
	return search(a, dir, trace_path, diag);
}

/* ---- its libraries ---- */

struct library {
	const char *name; /* as others need it */
	const char *path; /* NULL: not found */
	struct map_needs needs;
	const uint32_t *edges; /* libraries that it needs, needs.count of them */
	bool visited;
	uint32_t next; /* edge to follow */
};

struct libraries {
	struct arena *arena;
	const char *program, *dirs;
	struct library *list; /* [0] is the program; in the order in which a loader meets them */
	size_t count, cap;
	size_t edges;
	size_t instrumented;
	struct list missing; /* that may be instrumented */
};

/* Returns true for system libraries, which are not instrumented. */
static bool is_system(const char *name)
{
	static const char *const names[] = {
		"ld-linux",   "ld64.so",      "ld.so",	      "libc.so",       "libm.so",
		"libmvec.so", "libdl.so",     "librt.so",     "libpthread.so", "libresolv.so",
		"libutil.so", "libanl.so",    "libgcc_s.so",  "libstdc++.so",  "libatomic.so",
		"libc++.so",  "libc++abi.so", "libunwind.so",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* The file of that name, if it is an ELF file; NULL else, or out of memory. */
static const char *try_file(struct arena *a, struct text dir, struct text name)
{
	const char *path = join(a, dir, name);
	uint8_t head[8];
	const ssize_t n = path ? file_head(path, FILE_REGULAR, head, sizeof(head)) : -1;

	return n > 0 && map_is_elf(head, (size_t)n) ? path : NULL;
}

/*
 * The library's file: beside the program, else in the given directories. NULL: nowhere, or out of
 * memory.
 */
static const char *find_file(const struct libraries *l, struct text name)
{
	const char *path = try_file(l->arena, dir_name(text_of(l->program)), name);
	struct text rest = text_of(l->dirs ? l->dirs : ""), dir;

	while (!path && text_split(&rest, ':', &dir))
		if (dir.len)
			path = try_file(l->arena, dir, name);
	return path;
}

/*
 * The number of a library, which is made where it is new. Returns false if out of memory or if
 * there are too many.
 */
static bool library_of(struct libraries *l, const char *name, uint32_t *number)
{
	struct library *lib;

	for (size_t i = 1; i < l->count; i++)
		if (!strcmp(l->list[i].name, name)) {
			*number = (uint32_t)i;
			return true;
		}
	if (!mem_grow((void **)&l->list, &l->cap, l->count + 1, sizeof(*l->list), MAX_LIBRARIES))
		return false;
	*number = (uint32_t)l->count;
	lib = &l->list[l->count++];
	lib->name = name;
	lib->path = find_file(l, base_name(text_of(name)));
	if (!lib->path && !is_system(name))
		list_add(&l->missing, name);
	return true;
}

/* Reads what library `i` needs; false: no memory, or too much. */
static bool read_library(struct libraries *l, size_t i)
{
	struct map_needs needs = { .arena = l->arena };
	uint32_t *edges;
	bool ok;

	if (!l->list[i].path)
		return true;
	ok = map_elf_needs(l->list[i].path, &needs) != SPUR_FAIL;
	l->list[i].needs = needs;
	l->edges += needs.count;
	edges = ok && l->edges <= MAX_EDGES
			? arena_alloc(l->arena, (needs.count + 1) * sizeof(*edges))
			: NULL;
	for (size_t k = 0; edges && k < needs.count; k++)
		if (!library_of(l, needs.names[k], &edges[k]))
			edges = NULL;
	l->list[i].edges = edges;
	if (i && needs.registers)
		l->instrumented++;
	return edges != NULL;
}

/* Everything that the program needs, as a loader would find it. */
static bool read_libraries(struct libraries *l)
{
	if (!mem_grow((void **)&l->list, &l->cap, 1, sizeof(*l->list), MAX_LIBRARIES))
		return false;
	l->list[0] = (struct library){ .name = "", .path = l->program };
	l->count = 1;
	for (size_t i = 0; i < l->count; i++)
		if (!read_library(l, i))
			return false;
	return true;
}

/*
 * Appends library `start` after all that it needs, in the order of their ends in a search through
 * the depth. The path through which it was come to is kept in `stack`, which has room for every
 * library once.
 */
static void visit(struct libraries *l, uint32_t start, uint32_t *stack, uint32_t *order, size_t *n)
{
	size_t depth = 0;

	if (l->list[start].visited)
		return;
	l->list[start].visited = true;
	stack[depth++] = start;
	/* Invariant: what is on the stack is visited, and each needs the one above it. */
	while (depth) {
		struct library *lib = &l->list[stack[depth - 1]];
		const uint32_t to = lib->next < lib->needs.count && lib->edges
					    ? lib->edges[lib->next++]
					    : UINT32_MAX;

		if (to == UINT32_MAX) {
			order[(*n)++] = stack[--depth];
		} else if (!l->list[to].visited) {
			l->list[to].visited = true;
			stack[depth++] = to;
		}
	}
}

/*
 * SPEC xray-names/constructors: objects are numbered as constructors run: a library after those
 * that it needs, and of independent ones the last that the loader met first.
 */
static void number_objects(struct libraries *l, uint32_t *stack, const char *paths[XRAY_OBJECTS],
			   size_t *count)
{
	uint32_t *order = stack + l->count;
	size_t n = 0;

	l->list[0].visited = true;
	for (size_t i = l->count; i-- > 1;)
		visit(l, (uint32_t)i, stack, order, &n);
	*count = 1;
	for (size_t i = 0; i < n && *count < XRAY_OBJECTS; i++)
		if (l->list[order[i]].needs.registers)
			paths[(*count)++] = l->list[order[i]].path;
}

static bool report_objects(struct libraries *l, const char *paths[XRAY_OBJECTS], size_t *count,
			   struct diag_log *diag)
{
	struct list names = { 0 };
	uint32_t *stack;

	if (!l->instrumented)
		return true;
	if (l->missing.count) {
		diag_add(diag, DIAG_NOTE, "xray/no-object", l->program, DIAG_NO_OFF, 0,
			 "libraries: expected all that it needs beside it, lacks %zu (%s): which "
			 "object is which is not known; --binary N=FILE tells, or --symbols-dir",
			 l->missing.count, l->missing.text);
		return true;
	}
	stack = mem_array(2 * l->count, sizeof(*stack));
	if (!stack)
		return false;
	number_objects(l, stack, paths, count);
	mem_free(stack);
	for (size_t i = 1; i < *count; i++) {
		const struct text name = base_name(text_of(paths[i]));
		const char *entry = arena_printf(l->arena, "%zu=%.*s", i, (int)name.len, name.p);

		if (!entry)
			return false;
		list_add(&names, entry);
	}
	diag_add(diag, DIAG_NOTE, "xray/objects-derived", l->program, DIAG_NO_OFF, 0,
		 "libraries: objects %s, derived from the order in which their constructors run; "
		 "--binary N=FILE gives others",
		 names.text);
	return true;
}

bool map_find_libraries(struct arena *a, const char *program, const char *dirs,
			const char *paths[XRAY_OBJECTS], size_t *count, struct diag_log *diag)
{
	struct libraries l = { .arena = a, .program = program, .dirs = dirs };
	const uint64_t failures = mem_failures();
	bool ok = true;

	*count = 1;
	if (read_libraries(&l))
		ok = report_objects(&l, paths, count, diag);
	for (size_t i = 0; i < l.count; i++)
		mem_free(l.list[i].needs.names);
	mem_free(l.list);
	return ok && mem_failures() == failures;
}
