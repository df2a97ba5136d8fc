/*
 * Names of XRay functions: the instrumentation map (section xray_instr_map) of the traced program
 * and its libraries, with symbols and source lines; or llvm-xray's YAML map (`llvm-xray extract`).
 *
 * A function id is `object << 24 | number` where the trace is of a program with instrumented
 * libraries (clang -fxray- shared), numbers counting from 1 in the order of the map; else it is the
 * number. docs/formats/xray-names.md has the rules.
 */
#ifndef SPUR_FORMAT_XRAY_MAP_H
#define SPUR_FORMAT_XRAY_MAP_H

#include <spur.h>

#include "base/err.h"
#include "model/symbol/symbol.h"

enum xray_sled_kind {
	XRAY_SLED_ENTER,
	XRAY_SLED_EXIT,
	XRAY_SLED_TAIL,
	XRAY_SLED_LOG_ARGS,
	XRAY_SLED_CUSTOM,
	XRAY_SLED_TYPED,
	XRAY_SLED_KINDS
};

/* "function-enter" and so on, as llvm-xray calls them; NULL for kinds that have no name. */
const char *xray_sled_kind_name(uint8_t kind);

enum { XRAY_OBJECT_SHIFT = 24, XRAY_OBJECTS = 256 };

struct xray_sled {
	uint64_t address; /* link time */
	uint64_t function; /* start of its function, link time */
	uint32_t id; /* of its function within the object, from 1 */
	uint8_t kind; /* enum xray_sled_kind, or what the file has */
	uint8_t always;
	uint8_t version;
};

/* What is known of a function; strings live as long as the maps. */
struct xray_function {
	const char
		*name; /* as in the symbol table, or in the YAML map; NULL: no symbol covers it */
	const char *module; /* path of its binary as given or found */
	const char *file; /* source; NULL: unknown */
	unsigned line;
	struct dwarf_row row; /* the line table's last for the address; file NULL: unknown */
	uint64_t address; /* of the function, link time */
	uint64_t size; /* bytes of code; 0: unknown */
};

/*
 * One binary or YAML map, with its symbols. `symbol_dirs` as in struct spur_options. SPUR_FAIL: no
 * file of these kinds, or one without a map. A compressed file is read as what it holds, a pipe
 * too, where that is YAML or Mach-O.
 */
struct xray_map;
enum spur_status xray_map_open(struct xray_map **out, const char *path, const char *symbol_dirs,
			       struct spur_error *err);
void xray_map_close(struct xray_map *m);
const char *xray_map_path(const struct xray_map *m); /* as given */
const char *xray_map_build_id(const struct xray_map *m); /* hexadecimal; "" where there is none */
/* What is odd about it, one line; NULL where nothing is. */
const char *xray_map_note(const struct xray_map *m);
size_t xray_map_count(const struct xray_map *m);
const struct xray_sled *xray_map_sleds(const struct xray_map *m); /* by id, then as in the file */
/* Highest function number. */
uint32_t xray_map_functions(const struct xray_map *m);
/*
 * False: no such number. With `lines` the source position is looked up too (slow, DWARF). Not
 * thread-safe.
 */
bool xray_map_function(struct xray_map *m, uint32_t number, bool lines, struct xray_function *out);

/* Splits "N=PATH": an object and its file. False: no such thing, all of it is a path. */
bool xray_object_split(const char *text, uint32_t *object, const char **path);

/* All maps of one trace, by object. */
struct xray_maps;
/*
 * Opens options->binaries, or looks beside the trace at `trace_path` (a file; "-": nowhere). What
 * was found, what does not fit and why is said in `diag`. Without any map `*out` is still an object
 * that knows no function. SPUR_FAIL: a given binary cannot be used (err), or memory.
 */
enum spur_status xray_maps_open(struct xray_maps **out, const char *trace_path,
				const struct spur_options *options, struct diag_log *diag,
				struct spur_error *err);
void xray_maps_close(struct xray_maps *m);
/*
 * One more than the highest object that has a map; objects below may have none. Where it is more
 * than 1, ids are split at XRAY_OBJECT_SHIFT.
 */
size_t xray_maps_count(const struct xray_maps *m);
/* The map of an object, NULL where there is none. */
struct xray_map *xray_maps_object(struct xray_maps *m, uint32_t object);
/* By function id as the trace has it. False: unknown. Not thread-safe. */
bool xray_maps_function(struct xray_maps *m, uint32_t id, bool lines, struct xray_function *out);
/*
 * For the ids of the trace, of each object the highest at least: where one is not in its map the
 * trace is of another build, which is said in `diag`, once for each object. False: it does not fit.
 * Without any map all ids fit. Not thread-safe.
 */
bool xray_maps_fit(struct xray_maps *m, uint32_t id, struct diag_log *diag);

#endif
