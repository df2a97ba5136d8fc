/* Finding the program to record, and what it takes to record it. See recorder.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/file.h"
#include "base/os.h"
#include "recorder/recorder.h"

static const char library_name[] = "libspur-record.so";

/* --- finding it --- */

static char *join(struct arena *a, const char *dir, size_t len, const char *name)
{
	return len ? arena_printf(a, "%.*s/%s", (int)len, dir, name)
		   : arena_printf(a, "./%s", name);
}

static bool is_program(const char *path)
{
	struct stat st;

	return os_stat(path, &st) == 0 && S_ISREG(st.st_mode) && os_access(path, X_OK) == 0;
}

/* Finds a name in $PATH. Returns SPUR_FAIL, with the error set, if it is not there. */
static enum spur_status find_program(struct program *p, const char *name, struct spur_error *err)
{
	const char *dirs = getenv("PATH");

	dirs = dirs ? dirs : "/usr/local/bin:/usr/bin:/bin";
	for (size_t n; !strchr(name, '/'); dirs += n + 1) {
		n = strcspn(dirs, ":");
		p->path = join(&p->arena, dirs, n, name);
		if (!p->path)
			return err_nomem(err);
		if (is_program(p->path))
			return SPUR_OK;
		if (!dirs[n])
			return err_set(err, SPUR_ERR_IO,
				       "%s: expected a program, found none of that name in $PATH",
				       name);
	}
	p->path = arena_strdup(&p->arena, name, strlen(name));
	return p->path ? SPUR_OK : err_nomem(err);
}

/* --- what cannot be recorded --- */

/* The system loads no library into a program that gets rights which its user does not have. */
static bool gains_rights(const char *path, const struct stat *st)
{
	return ((st->st_mode & S_ISUID) && st->st_uid != getuid()) ||
	       ((st->st_mode & S_ISGID) && st->st_gid != getgid()) ||
	       (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

static enum spur_status check_file(const char *path, struct spur_error *err)
{
	struct stat st;
	const bool there = os_stat(path, &st) == 0;

	if (!there || os_access(path, X_OK) != 0)
		return err_set(err, SPUR_ERR_IO, "%s: expected a program, found: %s", path,
			       strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, SPUR_ERR_IO, "%s: expected a program, found no regular file",
			       path);
	if (gains_rights(path, &st))
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected a program without rights of its own, found a setuid "
			       "one: the system loads no recorder into it",
			       path);
	return SPUR_OK;
}

/*
 * Sets `*file` to what runs `path`: itself, or if it is a script the interpreter that its first
 * line names, which may be a script again. The system runs no more than SCRIPTS of them.
 */
static enum spur_status find_file(struct program *p, const char *path, const char **file,
				  struct spur_error *err)
{
	enum { SCRIPTS = 4 };

	*file = path;
	for (unsigned scripts = 0;; scripts++) {
		char head[256] = "";
		const char *name = head + 2;

		if (check_file(*file, err) == SPUR_FAIL)
			return SPUR_FAIL;
		if (file_head(*file, FILE_REGULAR, head, sizeof(head) - 1) < 2 ||
		    memcmp(head, "#!", 2) != 0)
			return SPUR_OK;
		name += strspn(name, " \t");
		if (scripts == SCRIPTS || !strcspn(name, " \t\n"))
			return err_set(err, SPUR_ERR_FORMAT,
				       "%s: expected a script with an interpreter, found %s", path,
				       scripts == SCRIPTS ? "too many scripts" : "none");
		*file = arena_strdup(&p->arena, name, strcspn(name, " \t\n"));
		if (!*file)
			return err_nomem(err);
	}
}

static enum spur_status check_binary(const struct binary *b, struct spur_error *err)
{
	if (!b->supported)
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected a program for x86-64, found one %s", b->path,
			       b->facts.class == 1 ? "with 32 bits" : "for another machine");
	if (b->file.head.e_type != ET_EXEC && b->file.head.e_type != ET_DYN)
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected a program, found an ELF file "
			       "of another kind",
			       b->path);
	if (b->checks_threads)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected a program that lets others map memory, found one "
			       "with ThreadSanitizer",
			       b->path);
	if ((!b->has_interpreter || b->is_musl) && !b->knows_library)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected a program that loads libraries, found %s: link it "
			       "with libspur-record.a (docs/recording.md)",
			       b->path, b->is_musl ? "one for the C library musl" : "a static one");
	return SPUR_OK;
}

/* --- the library --- */

/* Where the library is relative to the directory of this program: built, and installed. */
static const char *const library_dirs[] = { "", "../lib/spur/", "../lib/", "../lib64/",
					    "../lib/x86_64-linux-gnu/" };

enum spur_status program_find_library(struct program *p, struct spur_error *err)
{
	const char *const given = getenv("SPUR_RECORD_LIBRARY");
	char self[PATH_MAX], found[PATH_MAX];
	char *path = NULL, *slash;

	if (!p->binary.has_interpreter || p->binary.is_musl)
		return SPUR_OK;
	if (!os_realpath("/proc/self/exe", self) || !(slash = strrchr(self, '/')))
		return err_set(err, SPUR_ERR_IO, "/proc/self/exe: %s", strerror(errno));
	slash[1] = '\0';
	if (given && *given)
		path = os_realpath(given, found);
	for (size_t i = 0;
	     !(given && *given) && !path && i < sizeof(library_dirs) / sizeof(library_dirs[0]);
	     i++) {
		char *const name =
			arena_printf(&p->arena, "%s%s%s", self, library_dirs[i], library_name);

		path = name ? os_realpath(name, found) : NULL;
	}
	if (!path && given && *given)
		return err_set(err, SPUR_ERR_IO, "SPUR_RECORD_LIBRARY: %s: %s", given,
			       strerror(errno));
	if (!path)
		return err_set(err, SPUR_ERR_IO, "%s: expected it in %s or beside it in lib",
			       library_name, self);
	/* The dynamic linker takes these to be between two libraries. */
	if (strpbrk(path, ": "))
		return err_set(err, SPUR_ERR_IO, "%s: expected a path without blanks and colons",
			       path);
	p->library = arena_strdup(&p->arena, path, strlen(path));
	return p->library ? SPUR_OK : err_nomem(err);
}

enum spur_status program_open(struct program *p, const char *name, const char *symbol_dirs,
			      struct spur_error *err)
{
	const char *file;

	*p = (struct program){ .binary = { .file = { .fd = -1 } } };
	arena_init(&p->arena);
	if (find_program(p, name, err) == SPUR_FAIL ||
	    find_file(p, p->path, &file, err) == SPUR_FAIL ||
	    binary_open(&p->binary, file, symbol_dirs, err) == SPUR_FAIL ||
	    check_binary(&p->binary, err) == SPUR_FAIL)
		return SPUR_FAIL;
	return SPUR_OK;
}

enum spur_status program_open_process(struct program *p, pid_t pid, const char *symbol_dirs,
				      struct spur_error *err)
{
	char link[32], path[PATH_MAX];

	*p = (struct program){ .binary = { .file = { .fd = -1 } } };
	arena_init(&p->arena);
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	if (!os_realpath(link, path))
		return err_set(err, SPUR_ERR_IO,
			       "process %d: expected one that runs a program which you may read, "
			       "found: %s",
			       (int)pid, strerror(errno));
	p->path = arena_strdup(&p->arena, path, strlen(path));
	if (!p->path)
		return err_nomem(err);
	return binary_open(&p->binary, p->path, symbol_dirs, err) == SPUR_FAIL ?
		       SPUR_FAIL :
		       check_binary(&p->binary, err);
}

void program_close(struct program *p)
{
	binary_close(&p->binary);
	arena_free(&p->arena);
}

/* --- what is found --- */

static const char *const way_names[ENTRY_WAYS] = {
	[ENTRY_PATCHABLE] = "patchable entries",
	[ENTRY_SLEDS] = "XRay sleds",
	[ENTRY_FENTRY] = "calls of __fentry__",
	[ENTRY_MCOUNT] = "calls of mcount",
	[ENTRY_CALLED] = "calls of __cyg_profile_func_enter",
};

/* The option that gives functions with a place to patch; clang has another way to say so. */
static const char advice[] = "build with -fpatchable-function-entry=5 to record functions";

void program_describe(const struct program *p, const struct recorder_options *o)
{
	const struct binary *const b = &p->binary;
	char ways[200] = "";

	if (o->quiet)
		return;
	for (size_t i = 0, n = 0; i < ENTRY_WAYS; i++)
		if (b->ways[i] && n < sizeof(ways))
			n += (size_t)snprintf(ways + n, sizeof(ways) - n, "%s%s", n ? ", " : "",
					      way_names[i]);
	if (b->short_entries)
		o->say("note: %s: %llu function%s room for less than a jump: build with "
		       "-fpatchable-function-entry=5",
		       p->path, (unsigned long long)b->short_entries,
		       b->short_entries == 1 ? " has" : "s have");
	if (b->nfunctions)
		o->say("note: %s: %zu function%s with %s", p->path, b->nfunctions,
		       b->nfunctions == 1 ? "" : "s", ways);
	else if (b->nhooks)
		o->say("note: %s: no symbols: functions are recorded by their addresses", p->path);
	else
		o->say("note: %s: no function can be recorded%s%s%s; %s%s", p->path,
		       *b->compiler ? " (built by " : "", b->compiler, *b->compiler ? ")" : "",
		       o->rules->library_calls ? "library calls are; " : "", advice);
}
