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

#include "model/symbol/sites.h"

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

/*
 * One binary or YAML map, with its symbols. `symbol_dirs` as in struct spur_options. SPUR_FAIL: no
 * file of these kinds, or one without a map. A compressed file is read as what it holds, a pipe
 * too, where that is YAML or Mach-O.
 */
enum spur_status xray_map_open(struct site_map **out, const char *path, const char *symbol_dirs,
			       struct spur_error *err);
void xray_map_close(struct site_map *m);
const char *xray_map_path(const struct site_map *m); /* as given */
const char *xray_map_build_id(const struct site_map *m); /* hexadecimal; "" where there is none */
/* What is odd about it, one line; NULL where nothing is. */
const char *xray_map_note(const struct site_map *m);
size_t xray_map_count(const struct site_map *m);
const struct map_site *xray_map_sleds(const struct site_map *m); /* by id, then as in the file */
/* Highest function number. */
uint32_t xray_map_functions(const struct site_map *m);
/*
 * False: no such number. With `lines` the source position is looked up too (slow, DWARF). Not
 * thread-safe.
 */
bool xray_map_function(struct site_map *m, uint32_t number, bool lines, struct map_function *out);

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
struct site_map *xray_maps_object(struct xray_maps *m, uint32_t object);
/* By function id as the trace has it. False: unknown. Not thread-safe. */
bool xray_maps_function(struct xray_maps *m, uint32_t id, bool lines, struct map_function *out);
/*
 * For the ids of the trace, of each object the highest at least: where one is not in its map the
 * trace is of another build, which is said in `diag`, once for each object. False: it does not fit.
 * Without any map all ids fit. Not thread-safe.
 */
bool xray_maps_fit(struct xray_maps *m, uint32_t id, struct diag_log *diag);

#endif
