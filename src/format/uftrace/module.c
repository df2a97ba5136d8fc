/*
 * Modules: .sym and .dbg files below the directory, else the ELF file itself. Loaded when the first
 * address asks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"
#include "base/search.h"
#include "format/uftrace/copying.h"
#include "format/uftrace/kernhdr.h"
#include "format/uftrace/reader.h"
#include "format/uftrace/store.h"

enum { MAX_DEBUG = 1 << 26, NAME_SIZE = 600 };

struct uftrace_module *uftrace_module(struct uftrace *u, struct text path, struct text build_id)
{
	struct map64_slot *slot =
		map64_put(&u->module_index, hash_text(build_id, hash_text(path, 0)));
	struct uftrace_module *m = slot ? (struct uftrace_module *)(uintptr_t)slot->value : NULL;

	for (; m; m = m->same_hash)
		if (same_text(m->path, path) && same_text(m->build_id, build_id))
			return m;
	m = slot ? mem_alloc(sizeof(*m)) : NULL;
	if (!m)
		return NULL;
	m->same_hash = (struct uftrace_module *)(uintptr_t)slot->value;
	slot->value = (uintptr_t)m;
	symtab_init(&m->syms);
	m->path = path;
	m->build_id = build_id;
	m->next = u->modules;
	u->modules = m;
	return m;
}

void uftrace_free_modules(struct uftrace *u)
{
	while (u->modules) {
		struct uftrace_module *m = u->modules;

		u->modules = m->next;
		symtab_free(&m->syms);
		dwarf_close(m->lines);
		mem_free(m->classes);
		map64_free(&m->defined);
		mem_free(m->debug);
		mem_free(m);
	}
}

/* How surely a .sym or .dbg file belongs to a module. */
enum belongs { BELONGS_NOT, BELONGS_MAYBE, BELONGS_SURELY };

/* A .sym or .dbg file that was found for a module. */
struct sym_file {
	char name[NAME_SIZE]; /* below the directory */
	struct text text;
	enum belongs belongs;
	unsigned alike; /* files that belong to the module as surely as this one */
};

static struct text base_name(struct text path)
{
	ptrdiff_t slash = text_rfind(path, '/');

	return slash < 0 ? path : text_make(path.p + slash + 1, path.len - (size_t)(slash + 1));
}

void uftrace_sym_head(struct text file, struct text *path, struct text *build_id)
{
	struct text line;

	*path = *build_id = text_of("");
	/* A bad line does not end the head: a copy leaves it out, and must read the same. */
	while (text_line(&file, &line)) {
		struct text v = line;

		if (uftrace_sym_line_valid(line, false) && !(line.len && line.p[0] == '#'))
			break;

		if (text_skip(&v, "# path name: "))
			*path = text_trim(v);
		else if (text_skip(&v, "# build-id: "))
			*build_id = text_trim(v);
	}
}

/* A relative path without the `./` and `../` that it starts with; an absolute one is left alone. */
static struct text without_dots(struct text path)
{
	while (text_skip(&path, "./") || text_skip(&path, "../"))
		;
	return path;
}

/* One path is relative, the other absolute, and the latter ends with the former. */
static bool ends_alike(struct text a, struct text b)
{
	struct text abs = text_starts(a, "/") ? a : b;
	struct text rel = without_dots(text_starts(a, "/") ? b : a);

	if (!text_starts(abs, "/") || text_starts(rel, "/") || !rel.len || rel.len >= abs.len)
		return false;
	return abs.p[abs.len - rel.len - 1] == '/' &&
	       same_text(text_make(abs.p + abs.len - rel.len, rel.len), rel);
}

/*
 * SPEC uftrace/sym-owner: equal build-ids say that a file is the module's, different ones that it
 * is not; where one is missing, equal paths do. A relative path and an absolute one that ends with
 * it may be the same.
 */
static enum belongs file_belongs(const struct uftrace_module *m, struct text file)
{
	const struct text own = m->build_id.len ? m->build_id : m->sym_id;
	struct text path, id;

	uftrace_sym_head(file, &path, &id);
	if (own.len && id.len)
		return same_text(id, own) ? BELONGS_SURELY : BELONGS_NOT;
	if (!path.len || same_text(path, m->path))
		return BELONGS_SURELY;
	return ends_alike(path, m->path) ? BELONGS_MAYBE : BELONGS_NOT;
}

/* BASE-XXXX.EXT[.gz|.zst], XXXX hexadecimal: true, and without the compression's suffix. */
static bool is_clash_name(struct text base, const char *ext, struct text *name)
{
	struct text rest = *name;
	size_t len = base.len + 6 + strlen(ext);

	if (name->len < len || memcmp(name->p, base.p, base.len) != 0)
		return false;
	rest = text_make(name->p + base.len, name->len - base.len);
	if (!text_skip(&rest, "-"))
		return false;
	for (int i = 0; i < 4; i++)
		if (!strchr("0123456789abcdef", rest.p[i]))
			return false;
	rest = text_make(rest.p + 4, rest.len - 4);
	if (!text_skip(&rest, ".") || !text_skip(&rest, ext))
		return false;
	name->len = len;
	return !rest.len || text_is(rest, ".gz") || text_is(rest, ".zst");
}

/*
 * A file that was found is taken if it is surer than the best so far; which one does not depend on
 * the order.
 */
static void consider(struct sym_file *best, struct sym_file *f, enum belongs belongs)
{
	f->belongs = belongs;
	f->alike = 1;
	if (belongs > best->belongs || (belongs == BELONGS_SURELY && best->belongs == belongs &&
					strcmp(f->name, best->name) < 0))
		*best = *f;
	else if (belongs != BELONGS_NOT && belongs == best->belongs)
		best->alike++;
}

/* Considers each file of the directory that has the module's base name and four digits. */
static void search_clashes(struct uftrace *u, const struct uftrace_module *m, const char *ext,
			   struct sym_file *best)
{
	DIR *d = os_opendir(u->dir);
	const struct dirent *e;

	while (d && (e = os_readdir(d)) != NULL) {
		struct text name = text_of(e->d_name);
		struct sym_file f = { 0 };

		if (!is_clash_name(base_name(m->path), ext, &name))
			continue;
		snprintf(f.name, sizeof(f.name), "%.*s", (int)name.len, name.p);
		if (uftrace_slurp(u, f.name, &f.text))
			consider(best, &f, file_belongs(m, f.text));
	}
	if (d)
		os_closedir(d);
}

/*
 * The name BASE-XXXX.EXT of the module's own file, if its base name is that of another module too.
 */
static void clash_name(const struct uftrace_module *m, const char *ext, struct sym_file *f)
{
	struct text base = base_name(m->path);
	const struct text id = m->build_id.len ? m->build_id : m->sym_id;
	unsigned sum = 0;

	for (size_t i = 0; i < m->path.len; i++)
		sum += (uint8_t)m->path.p[i];
	if (id.len >= 4)
		snprintf(f->name, sizeof(f->name), "%.*s-%.4s.%s", (int)base.len, base.p, id.p,
			 ext);
	else
		snprintf(f->name, sizeof(f->name), "%.*s-%04x.%s", (int)base.len, base.p,
			 sum & 0xffff, ext);
}

/*
 * SPEC uftrace/sym-name-clash: BASE.ext is for the first module of that name; others have -XXXX,
 * the first 4 digits of the build-id, or without one the sum of the path's bytes. Of a library that
 * was opened by dlopen() only the .sym file gives the build-id, so the directory is searched for
 * it. Of several files that may belong to the module none is taken.
 */
static bool slurp_for(struct uftrace *u, const struct uftrace_module *m, const char *ext,
		      struct sym_file *out)
{
	struct text base = base_name(m->path);
	struct sym_file f = { 0 };

	*out = f;
	if (!base.len || base.len > 256)
		return false;
	snprintf(f.name, sizeof(f.name), "%.*s.%s", (int)base.len, base.p, ext);
	if (!uftrace_slurp(u, f.name, &f.text))
		return false;
	consider(out, &f, file_belongs(m, f.text));
	if (out->belongs == BELONGS_SURELY)
		return true;
	clash_name(m, ext, &f);
	if (uftrace_slurp(u, f.name, &f.text) && file_belongs(m, f.text) == BELONGS_SURELY) {
		*out = f;
		return true;
	}
	search_clashes(u, m, ext, out);
	return out->belongs == BELONGS_SURELY || (out->belongs && out->alike == 1);
}

/* One line `ADDR [SIZE] TYPE NAME`. */
static bool parse_sym(struct text line, uint64_t *addr, uint64_t *size, char *type,
		      struct text *name)
{
	struct text rest = line;
	ptrdiff_t tab;

	*size = 0;
	if (!text_u64(&rest, 16, addr) || !text_skip(&rest, " ") || rest.len < 2)
		return false;
	/* SPEC uftrace/sym-size: a second field that starts with a digit is the size */
	if (rest.p[0] >= '0' && rest.p[0] <= '9' &&
	    (!text_u64(&rest, 16, size) || !text_skip(&rest, " ")))
		return false;
	if (rest.len < 1)
		return false;
	*type = rest.p[0];
	*name = text_make(rest.p + 1, rest.len - 1);
	text_skip(name, " ");
	if (name->len && name->p[name->len - 1] == '\r')
		name->len--;
	tab = text_find(*name, '\t');
	if (tab >= 0)
		name->len = (size_t)tab;
	return true;
}

bool uftrace_sym_line_valid(struct text line, bool numbered)
{
	uint64_t addr, size;
	struct text name;
	char type;

	return parse_sym(line, &addr, &size, &type, &name) ||
	       (numbered && text_find(line, '#') >= 0);
}

bool uftrace_has_symbols(struct uftrace *u, const struct uftrace_module *m)
{
	struct sym_file f;

	return slurp_for(u, m, "sym", &f);
}

bool uftrace_has_sizes(struct uftrace *u)
{
	uint64_t addr, size;
	struct text line, name;
	struct sym_file f;
	char type;

	for (const struct uftrace_module *m = u->modules; m; m = m->next) {
		if (m == u->python || m == u->kernel_syms || !slurp_for(u, m, "sym", &f))
			continue;
		while (text_line(&f.text, &line))
			if (line.len && line.p[0] != '#' &&
			    parse_sym(line, &addr, &size, &type, &name))
				return size != 0;
	}
	return false;
}

struct text uftrace_build_id(const struct uftrace *u, struct text path)
{
	for (const struct uftrace_module *m = u->modules; m; m = m->next)
		if (!m->build_id.len && same_text(m->path, path))
			return m->sym_id.len ? m->sym_id : m->other_id;
	return text_of("");
}

static bool ends_previous(char type, struct text name)
{
	return type == '?' || uftrace_is_end_mark(name);
}

/* Closes the size of the symbol before, where the file has no size column. */
static void close_size(struct symtab *t, uint64_t addr)
{
	struct symbol *last = t->count ? &t->syms[t->count - 1] : NULL;

	if (last && !last->size && addr > last->addr)
		last->size = addr - last->addr;
}

static bool read_symbols(struct uftrace *u, struct uftrace_module *m, struct text file,
			 const char *name)
{
	const char *start = file.p;
	struct text line, sym;
	uint64_t addr, size, prev = 0;
	char type, prev_type = 0;

	while (text_line(&file, &line)) {
		if (!text_trim(line).len || line.p[0] == '#')
			continue;
		if (!parse_sym(line, &addr, &size, &type, &sym)) {
			if (!m->numbered || text_find(line, '#') < 0)
				uftrace_say_locked(
					u, DIAG_DAMAGE, "uftrace/bad-sym-line", name,
					(uint64_t)(line.p - start),
					"line: expected ADDRESS [SIZE] TYPE NAME, found \"%.*s\"",
					(int)(line.len < 60 ? line.len : 60), line.p);
			continue;
		}
		/* SPEC uftrace/sym-repeat: of lines with equal address and type the first counts */
		if (!strchr("?TtWwPKDdVvuBb", type) || (prev_type == type && prev == addr))
			continue;
		close_size(&m->syms, addr);
		if (ends_previous(type, sym))
			continue;
		prev = addr;
		prev_type = type;
		if (!symtab_add(&m->syms, addr, m->numbered ? 1 : size, type, sym.p, sym.len))
			return false;
	}
	return true;
}

static struct text read_field(struct text line, const char *key)
{
	return text_skip(&line, key) ? text_trim(line) : text_of("");
}

static bool read_debug_line(struct uftrace *u, struct uftrace_module *m, struct text line)
{
	struct uftrace_debug *d = m->ndebug ? &m->debug[m->ndebug - 1] : NULL;
	struct text v = line;
	uint64_t n;

	if (text_skip(&v, "F: ") && text_u64(&v, 16, &n)) {
		if (!mem_grow((void **)&m->debug, &m->debug_cap, m->ndebug + 1, sizeof(*m->debug),
			      MAX_DEBUG))
			return false;
		m->debug[m->ndebug++] = (struct uftrace_debug){ .addr = n };
	} else if (text_starts(line, "E: ")) {
		struct enum_table *t = enum_parse(&u->t->arena, read_field(line, "E: "));

		if (!t)
			return false;
		t->next = m->enums;
		m->enums = t;
	} else if (d && text_starts(line, "L: ")) {
		v = read_field(line, "L: ");
		if (text_u64(&v, 10, &n)) {
			d->line = (uint32_t)n;
			d->file = text_trim(v);
		}
	} else if (d && text_starts(line, "A: @")) {
		v = read_field(line, "A: @");
		if (!uftrace_specs_valid(u, v))
			return false;
		d->args = v;
	} else if (d && text_starts(line, "R: @")) {
		v = read_field(line, "R: @");
		if (!uftrace_specs_valid(u, v))
			return false;
		d->ret = v;
	} else {
		return false;
	}
	return true;
}

bool uftrace_dbg_line_valid(struct uftrace *u, struct text line, bool *inside)
{
	struct text v = line;
	uint64_t n;

	if (text_skip(&v, "F: ") && text_u64(&v, 16, &n))
		return *inside = true;
	if (text_starts(line, "E: "))
		return enum_parse(&u->t->arena, read_field(line, "E: "));
	if (!*inside)
		return false;
	if (text_starts(line, "L: "))
		return true;
	if (text_starts(line, "A: @"))
		return uftrace_specs_valid(u, read_field(line, "A: @"));
	return text_starts(line, "R: @") && uftrace_specs_valid(u, read_field(line, "R: @"));
}

/* SPEC uftrace/arg-names: comments behind the specifications of a function */
static void read_names(struct uftrace_module *m, struct text line)
{
	struct uftrace_debug *d = m->ndebug ? &m->debug[m->ndebug - 1] : NULL;

	if (d && text_skip(&line, "#A: "))
		d->arg_names = line;
	else if (d && text_skip(&line, "#R: "))
		d->ret_name = line;
}

static int debug_by_addr(const void *a, const void *b)
{
	const struct uftrace_debug *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* SPEC uftrace/dbg-conflict: an address given twice with specs has none */
static void mark_conflicts(struct uftrace_module *m)
{
	for (size_t i = 1; i < m->ndebug; i++) {
		struct uftrace_debug *a = &m->debug[i - 1], *b = &m->debug[i];

		if (a->addr == b->addr && (a->args.len || a->ret.len) &&
		    (b->args.len || b->ret.len) &&
		    (!same_text(a->args, b->args) || !same_text(a->ret, b->ret)))
			a->conflict = b->conflict = true;
	}
}

static void load_debug(struct uftrace *u, struct uftrace_module *m)
{
	struct sym_file f;
	struct text line;
	const char *start;

	if (!slurp_for(u, m, "dbg", &f))
		return;
	start = f.text.p;
	while (text_line(&f.text, &line))
		if (line.len && line.p[0] == '#')
			read_names(m, line);
		else if (line.len && !read_debug_line(u, m, line))
			uftrace_say_locked(u, DIAG_DAMAGE, "uftrace/bad-dbg-line", f.name,
					   (uint64_t)(line.p - start),
					   "line: expected E:, F:, L:, A: or R:, found \"%.*s\"",
					   (int)(line.len < 60 ? line.len : 60), line.p);
	if (m->ndebug)
		qsort(m->debug, m->ndebug, sizeof(*m->debug), debug_by_addr);
	mark_conflicts(m);
}

/* The module's own file, where it is the one that was traced. */
static void load_elf(struct uftrace *u, struct uftrace_module *m)
{
	struct spur_error err = { 0 };
	struct elf_facts facts = { 0 };
	char *path = arena_strdup(&u->t->arena, m->path.p, m->path.len);
	const struct text id = m->build_id.len ? m->build_id : m->other_id;

	if (!path ||
	    elf_symbols(&m->syms, path, u->t->options.symbol_dirs, &facts, &err) == SPUR_FAIL) {
		uftrace_say_locked(
			u, DIAG_NOTE, "uftrace/no-symbols", path ? path : "", DIAG_NO_OFF,
			"neither a .sym nor a readable binary: its functions have no names");
		return;
	}
	if (id.len && facts.build_id[0] && !text_is(id, facts.build_id)) {
		uftrace_say_locked(
			u, DIAG_NOTE, "uftrace/no-symbols", path, DIAG_NO_OFF,
			"build-id: expected %.*s, found %s: not the file that was traced",
			(int)id.len, id.p, facts.build_id);
		symtab_free(&m->syms);
		symtab_init(&m->syms);
	} else if (!id.len && (path = arena_strdup(&u->t->arena, facts.build_id,
						   strlen(facts.build_id))) != NULL) {
		m->other_id = text_of(path);
	}
}

const struct uftrace_debug *uftrace_debug(const struct uftrace_module *m, uint64_t addr)
{
	size_t lo;

	bisect(lo, 0, m->ndebug, m->debug[lo].addr < addr);
	return lo < m->ndebug && m->debug[lo].addr == addr ? &m->debug[lo] : NULL;
}

bool uftrace_binary_line(struct uftrace *u, struct uftrace_module *m, uint64_t addr,
			 const char **file, unsigned *line)
{
	struct spur_error err = { 0 };
	struct elf_facts facts = { 0 };
	char *path;

	if (!m->lines_tried && m != u->python && m != u->kernel_syms) {
		path = arena_strdup(&u->t->arena, m->path.p, m->path.len);
		/* Only of the very file that was traced. */
		if (path && elf_identify(path, &facts, &err) != SPUR_FAIL &&
		    (!m->build_id.len || text_is(m->build_id, facts.build_id)) &&
		    dwarf_open(&m->lines, path, u->t->options.symbol_dirs, &err) == SPUR_FAIL)
			m->lines = NULL;
	}
	m->lines_tried = true;
	return m->lines && dwarf_line(m->lines, addr, file, line);
}

static void load_kallsyms(struct uftrace *u, struct uftrace_module *m)
{
	struct text file;

	if (!uftrace_slurp(u, "kallsyms", &file))
		uftrace_say_locked(u, DIAG_NOTE, "uftrace/no-symbols", "kallsyms", DIAG_NO_OFF,
				   "missing: kernel functions have no names");
	else if (!kallsyms_parse(&m->syms, file, "kallsyms", &u->t->diag))
		u->t->diag.overflow = true;
}

void uftrace_load_module(struct uftrace *u, struct uftrace_module *m)
{
	struct sym_file f = { .name = "python.fake.sym" };
	struct text path;

	if (m->loaded)
		return;
	m->loaded = true;
	if (m == u->kernel_syms) {
		load_kallsyms(u, m);
	} else if (m == u->python ? uftrace_slurp(u, f.name, &f.text)
				  : slurp_for(u, m, "sym", &f)) {
		uftrace_sym_head(f.text, &path, &m->sym_id);
		if (!read_symbols(u, m, f.text, f.name))
			u->t->diag.overflow = true;
	} else {
		/* A killed recorder leaves maps without build-ids, but .dbg files have them. */
		if (slurp_for(u, m, "dbg", &f))
			uftrace_sym_head(f.text, &path, &m->other_id);
		load_elf(u, m);
	}
	load_debug(u, m);
	symtab_sort(&m->syms);
	if (m->syms.count)
		m->extent =
			m->syms.syms[m->syms.count - 1].addr + m->syms.syms[m->syms.count - 1].size;
	m->classes = mem_array(m->syms.count, sizeof(*m->classes));
	if (!m->classes)
		m->syms.count = 0;
}
