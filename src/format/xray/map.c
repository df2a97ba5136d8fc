/*
 * One instrumentation map: what kind of file it is, its sleds, and its functions with names and
 * lines. The kinds are read in map_elf.c, map_macho.c and map_yaml.c.
 */
#include "format/xray/map.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/text.h"
#include "format/xray/map_parts.h"

enum { NOTE_MAX = 400, HEAD = 64 /* bytes that tell the kind of a file */ };

const char *xray_sled_kind_name(uint8_t kind)
{
	static const char *const names[XRAY_SLED_KINDS] = {
		[XRAY_SLED_ENTER] = "function-enter", [XRAY_SLED_EXIT] = "function-exit",
		[XRAY_SLED_TAIL] = "tail-exit",	      [XRAY_SLED_LOG_ARGS] = "log-args-enter",
		[XRAY_SLED_CUSTOM] = "custom-event",  [XRAY_SLED_TYPED] = "typed-event",
	};

	return kind < XRAY_SLED_KINDS ? names[kind] : NULL;
}

void map_say(struct site_map *m, const char *fmt, ...)
{
	char text[NOTE_MAX];
	va_list ap;

	if (m->note)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	m->note = arena_strdup(&m->arena, text, strlen(text));
}

static bool is_ascending(const struct site_map *m)
{
	for (size_t i = 1; i < m->count; i++)
		if (m->sleds[i].id < m->sleds[i - 1].id)
			return false;
	return true;
}

/* The place of a sled in the file, with its number. */
struct place {
	uint32_t id, index;
};

static int by_number(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * Permutes the elements of an array (NULL: does nothing) into the order of the places. Returns
 * false if out of memory.
 */
static bool permute(void *array, size_t size, const struct place *order, size_t n)
{
	char *copy = array ? mem_array(n, size) : NULL;

	if (!copy)
		return !array;
	memcpy(copy, array, n * size);
	for (size_t i = 0; i < n; i++)
		memcpy((char *)array + i * size, copy + order[i].index * size, size);
	mem_free(copy);
	return true;
}

/* Sleds of a function stand together then. */
static bool sort_sleds(struct site_map *m)
{
	struct place *order = mem_array(m->count, sizeof(*order));
	bool ok = order != NULL;

	for (size_t i = 0; ok && i < m->count; i++)
		order[i] = (struct place){ m->sleds[i].id, (uint32_t)i };
	if (ok)
		qsort(order, m->count, sizeof(*order), by_number);
	ok = ok && permute(m->sleds, sizeof(*m->sleds), order, m->count) &&
	     permute(m->names, sizeof(*m->names), order, m->count) &&
	     permute(m->sections, sizeof(*m->sections), order, m->count);
	mem_free(order);
	return ok;
}

/* Makes the table of functions. */
static bool find_functions(struct site_map *m)
{
	if (!is_ascending(m) && !sort_sleds(m))
		return false;
	for (size_t i = 0; i < m->count; i++) {
		if (i && m->sleds[i].id == m->sleds[i - 1].id)
			continue;
		if (!mem_grow((void **)&m->functions, &m->functions_cap, m->nfunctions + 1,
			      sizeof(*m->functions), m->count))
			return false;
		m->functions[m->nfunctions++] = (uint32_t)i;
	}
	return true;
}

static enum spur_status read_kind(struct site_map *m, struct source *s, struct spur_error *err)
{
	source_need(s, HEAD);
	if (map_is_elf(s->data, (size_t)s->size)) {
		if (s->mapped)
			return map_read_elf(m, err);
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected a file, found a pipe or a packed file: that does for "
			       "YAML, not for ELF",
			       m->path);
	}
	source_need(s, (uint64_t)MAP_INPUT_MAX + 1);
	if (s->error->code)
		return err_set(err, s->error->code, "%s", s->error->message);
	return map_is_macho(s->data, (size_t)s->size) ? map_read_macho(m, s, err)
						      : map_read_yaml(m, s, err);
}

static enum spur_status read_map(struct site_map *m, const char *path, const char *dirs,
				 struct spur_error *err)
{
	enum spur_status st;
	struct source *s;

	m->path = arena_strdup(&m->arena, path, strlen(path));
	m->dirs = dirs ? arena_strdup(&m->arena, dirs, strlen(dirs)) : NULL;
	if (!m->path || (dirs && !m->dirs))
		return err_nomem(err);
	if (source_open(&s, path, NULL, err) == SPUR_FAIL)
		return SPUR_FAIL;
	st = read_kind(m, s, err);
	source_close(s);
	if (st == SPUR_FAIL)
		return st;
	symtab_sort(&m->symbols);
	return find_functions(m) ? SPUR_OK : err_nomem(err);
}

enum spur_status xray_map_open(struct site_map **out, const char *path, const char *symbol_dirs,
			       struct spur_error *err)
{
	struct site_map *m = mem_alloc(sizeof(*m));

	*out = NULL;
	if (!m)
		return err_nomem(err);
	arena_init(&m->arena);
	symtab_init(&m->symbols);
	if (read_map(m, path, symbol_dirs, err) == SPUR_FAIL) {
		xray_map_close(m);
		return SPUR_FAIL;
	}
	*out = m;
	return SPUR_OK;
}

void xray_map_close(struct site_map *m)
{
	if (!m)
		return;
	dwarf_close(m->lines);
	symtab_free(&m->symbols);
	mem_free(m->sleds);
	mem_free(m->names);
	mem_free(m->sections);
	mem_free(m->functions);
	arena_free(&m->arena);
	mem_free(m);
}

const char *xray_map_path(const struct site_map *m)
{
	return m->path;
}

const char *xray_map_build_id(const struct site_map *m)
{
	return m->build_id;
}

const char *xray_map_note(const struct site_map *m)
{
	return m->note;
}

size_t xray_map_count(const struct site_map *m)
{
	return m->count;
}

const struct map_site *xray_map_sleds(const struct site_map *m)
{
	return m->sleds;
}

uint32_t xray_map_functions(const struct site_map *m)
{
	return m->nfunctions ? m->sleds[m->functions[m->nfunctions - 1]].id : 0;
}

/* The first sled of a function, or NULL. */
static const struct map_site *first_sled(const struct site_map *m, uint32_t number)
{
	size_t lo;

	bisect(lo, 0, m->nfunctions, m->sleds[m->functions[lo]].id < number);
	if (lo == m->nfunctions || m->sleds[m->functions[lo]].id != number)
		return NULL;
	return &m->sleds[m->functions[lo]];
}

static void find_line(struct site_map *m, const struct map_site *s, struct map_function *f)
{
	if (!m->lines_tried && m->has_dwarf &&
	    dwarf_open(&m->lines, m->path, m->dirs, NULL) == SPUR_FAIL)
		m->lines = NULL;
	m->lines_tried = true;
	if (m->lines && !dwarf_line(m->lines, map_key(m, s->function, 0), &f->file, &f->line))
		f->file = NULL;
	if (m->lines && !dwarf_last_row(m->lines, map_key(m, s->function, 0), &f->row))
		f->row.file = NULL;
}

bool xray_map_function(struct site_map *m, uint32_t number, bool lines, struct map_function *out)
{
	const struct map_site *s = first_sled(m, number);
	const struct symbol *symbol;
	size_t i;

	if (!s)
		return false;
	i = (size_t)(s - m->sleds);
	*out = (struct map_function){ .module = m->path, .address = s->function };
	/* SPEC xray-names/symbol: the symbol that covers the function's address */
	symbol =
		symtab_find(&m->symbols, map_key(m, s->function, m->sections ? m->sections[i] : 0));
	if (m->names) {
		out->name = m->names[i];
	} else if (symbol && symbol->name[0]) {
		out->name = symbol->name;
		out->size = symbol->size;
	}
	if (lines)
		find_line(m, s, out);
	return true;
}
