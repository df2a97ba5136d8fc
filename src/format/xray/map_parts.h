/* Reading and finding instrumentation maps. Private to map*.c. */
#ifndef SPUR_FORMAT_XRAY_MAP_PARTS_H
#define SPUR_FORMAT_XRAY_MAP_PARTS_H

#include "base/source.h"
#include "format/xray/map.h"
#include "model/symbol/symbol.h"

enum { MAP_INPUT_MAX = 256 << 20 /* bytes of a file that is not ELF */ };

struct site_map {
	struct arena arena;
	const char *path; /* in the arena */
	const char *dirs; /* for debug files, in the arena; NULL: the usual ones */
	char build_id[41];
	const char *note; /* in the arena */

	struct map_site *sleds; /* in the end by id, then as in the file */
	size_t count, cap;
	const char *
		*names; /* YAML: of the sleds, in the arena, NULL: no name; else NULL */
	size_t names_cap;
	uint32_t *sections; /* relocatable ELF: the functions'; else NULL: one address space */
	size_t sections_cap;
	uint32_t *functions; /* the first sled of each function, ascending by number */
	size_t nfunctions, functions_cap;

	unsigned word; /* bytes of an address: 4 or 8 */
	bool swap;
	struct symtab symbols; /* addresses by map_key() */
	uint64_t base; /* subtracted from addresses of symbols */
	uint64_t low; /* bits that are 0 in all functions' addresses: see PowerPC's local entries */
	bool has_dwarf; /* the binary has debug information */
	bool lines_tried;
	struct dwarf_lines *lines;
};

/* How a relocation changes a word. */
enum map_fix_how {
	MAP_FIX_NONE,
	MAP_FIX_MORE, /* added to the result of the word's other relocation */
	MAP_FIX_ADD, /* added to the stored word */
	MAP_FIX_ADDRESS, /* the sum is an address, even where the word is relative */
	MAP_FIX_SET, /* replaces the stored word */
};

struct map_fix {
	uint64_t value;
	uint32_t section; /* relocatable ELF: the address is in this one */
	uint8_t how; /* enum map_fix_how */
};

/* A section of the map, or of its index. The bytes are the file's. */
struct map_part {
	const uint8_t *data;
	size_t size;
	uint64_t address; /* link time */
	uint32_t section; /* relocatable ELF: its own number */
	struct map_fix *fixes; /* by word; NULL: none. The reader frees them */
};

/*
 * Registers a relocation of a word; ignores offsets outside the part's words. Returns false if out
 * of memory.
 */
bool map_fix_word(const struct site_map *m, struct map_part *p, uint64_t offset,
		  struct map_fix fix);

/* Appends the part's entries. Bytes after the last whole entry are mentioned in the note. */
enum spur_status map_read_entries(struct site_map *m, const struct map_part *p,
				  struct spur_error *err);
/* Numbers the functions of the sleds by counting. */
void map_number(struct site_map *m);
/*
 * Checks the numbers against the index; if they differ, uses those of the index. Requires that the
 * map has one part.
 */
enum spur_status map_read_index(struct site_map *m, const struct map_part *entries,
				const struct map_part *index, struct spur_error *err);

/* Sets the note; the first one stays. */
void map_say(struct site_map *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The address of a function as the symbols have it. */
static inline uint64_t map_key(const struct site_map *m, uint64_t address, uint32_t section)
{
	enum { SECTION_SHIFT = 40 };

	if (m->sections)
		return (uint64_t)section << SECTION_SHIFT |
		       (address & (((uint64_t)1 << SECTION_SHIFT) - 1));
	return (address & ~m->low) - m->base;
}

/* Readers of one kind of file: sleds, numbers, symbols. After SPUR_FAIL `m` must be closed too. */
enum spur_status map_read_elf(struct site_map *m, struct spur_error *err);
enum spur_status map_read_macho(struct site_map *m, const struct source *s, struct spur_error *err);
enum spur_status map_read_yaml(struct site_map *m, const struct source *s, struct spur_error *err);
bool map_is_elf(const uint8_t *head, size_t len);
bool map_is_macho(const uint8_t *head, size_t len);

/* The kind of a file, for the search for maps. */
enum map_kind {
	MAP_NOTHING, /* no binary, or one without a map */
	MAP_PROGRAM,
	MAP_LIBRARY,
};
enum map_kind map_kind_elf(const char *path);
enum map_kind map_kind_macho(const char *path);

/* The names of the libraries that an ELF file needs, in its order. */
struct map_needs {
	struct arena *arena; /* for the names */
	const char **names;
	size_t count, cap;
	bool registers; /* it has a map, and registers it with XRay's runtime when loaded */
};
/*
 * Returns SPUR_END if the file is not ELF, SPUR_FAIL if out of memory. The caller sets `n->arena`
 * and frees the array.
 */
enum spur_status map_elf_needs(const char *path, struct map_needs *n);

/*
 * Finds the program of the trace at `trace_path` among the files beside it. Returns its path, in
 * the arena, or NULL if there is no candidate, if several fit (reported in `diag`), or if out of
 * memory.
 */
const char *map_find_program(struct arena *a, const char *trace_path, struct diag_log *diag);
/*
 * The instrumented libraries of a program, found beside it or in `dirs`, by object: paths[1] ..
 * paths[count - 1], in the arena. count is 1 if there are no libraries, or if their objects are
 * ambiguous, which is reported. Returns false if out of memory.
 */
bool map_find_libraries(struct arena *a, const char *program, const char *dirs,
			const char *paths[XRAY_OBJECTS], size_t *count, struct diag_log *diag);

#endif
