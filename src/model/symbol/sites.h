/*
 * Maps of a program's instrumented places, for formats whose traces name functions by numbers:
 * `spur symbols` shows them. A format with such maps has a struct site_reader in its struct
 * spur_format.
 */
#ifndef SPUR_MODEL_SYMBOL_SITES_H
#define SPUR_MODEL_SYMBOL_SITES_H

#include <spur.h>

#include "base/err.h"
#include "model/symbol/symbol.h"

/* The map of one binary; the format's own. */
struct site_map;

/* An instrumented place of a function. */
struct map_site {
	uint64_t address; /* link time */
	uint64_t function; /* start of its function, link time */
	uint32_t id; /* of its function within the object, from 1 */
	uint8_t kind; /* by the format; any value of the file */
	uint8_t always; /* 1: always instrumented */
	uint8_t version;
};

/* The properties of a function; strings live as long as the map. */
struct map_function {
	const char *name; /* as in the symbol table; NULL: no symbol covers it */
	const char *module; /* path of its binary as given or found */
	const char *file; /* source; NULL: unknown */
	unsigned line;
	struct dwarf_row row; /* the line table's last for the address; file NULL: unknown */
	uint64_t address; /* of the function, link time */
	uint64_t size; /* bytes of code; 0: unknown */
};

struct site_reader {
	unsigned object_shift; /* a trace's number of a function: object << object_shift | number */
	uint32_t objects; /* at most */
	uint8_t portable_kinds; /* kinds below it are known to all tools that read such maps */
	/* Returns the name of a kind of places, or NULL. */
	const char *(*kind_name)(uint8_t kind);
	/* Splits "N=PATH": an object and its file. Returns false if all of the text is a path. */
	bool (*split)(const char *text, uint32_t *object, const char **path);
	/*
	 * Opens the map of one binary; fails if it has none. `symbol_dirs` as in struct
	 * spur_options.
	 */
	enum spur_status (*open)(struct site_map **out, const char *path, const char *symbol_dirs,
				 struct spur_error *err);
	void (*close)(struct site_map *m); /* NULL: does nothing */
	const char *(*path)(const struct site_map *m); /* as given */
	const char *(*build_id)(const struct site_map *m); /* hexadecimal; "": no build-id */
	/* Returns one line about an oddity of the map, or NULL. */
	const char *(*note)(const struct site_map *m);
	size_t (*count)(const struct site_map *m);
	const struct map_site *(*sites)(const struct site_map *m); /* by id, then as in the file */
	uint32_t (*functions)(const struct site_map *m); /* the highest number */
	/*
	 * Returns false if there is no function of that number. With `lines` the source position is
	 * looked up too, which is slow. Not thread-safe.
	 */
	bool (*function)(struct site_map *m, uint32_t number, bool lines, struct map_function *out);
};

#endif
