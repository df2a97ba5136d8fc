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
 * One binary or YAML map, with its symbols. `symbol_dirs` as in struct spur_options. Returns
 * SPUR_FAIL if the file is of another kind or has no map. Compressed files are unpacked; YAML and
 * Mach-O may also come from a pipe.
 */
enum spur_status xray_map_open(struct site_map **out, const char *path, const char *symbol_dirs,
			       struct spur_error *err);
void xray_map_close(struct site_map *m);
const char *xray_map_path(const struct site_map *m); /* as given */
const char *xray_map_build_id(const struct site_map *m); /* hexadecimal; "": no build-id */
/* Returns one line about an oddity of the map, or NULL. */
const char *xray_map_note(const struct site_map *m);
size_t xray_map_count(const struct site_map *m);
const struct map_site *xray_map_sleds(const struct site_map *m); /* by id, then as in the file */
/* Highest function number. */
uint32_t xray_map_functions(const struct site_map *m);
/*
 * Returns false if the number is unknown. With `lines` it also looks up the source position (slow,
 * DWARF). Not thread-safe.
 */
bool xray_map_function(struct site_map *m, uint32_t number, bool lines, struct map_function *out);

/* Splits "N=PATH" into an object and its file. Returns false if all of the text is a path. */
bool xray_object_split(const char *text, uint32_t *object, const char **path);

/* All maps of one trace, by object. */
struct xray_maps;
/*
 * Opens options->binaries, or looks beside the trace at `trace_path` (a file; "-": nowhere).
 * Reports in `diag` which maps were found, and which do not fit and why. If no map is found, `*out`
 * is valid but knows no function. Returns SPUR_FAIL if a given binary cannot be used (err), or if
 * out of memory.
 */
enum spur_status xray_maps_open(struct xray_maps **out, const char *trace_path,
				const struct spur_options *options, struct diag_log *diag,
				struct spur_error *err);
void xray_maps_close(struct xray_maps *m);
/*
 * Returns one more than the highest object that has a map; objects below may lack one. If it is
 * more than 1, ids are split at XRAY_OBJECT_SHIFT.
 */
size_t xray_maps_count(const struct xray_maps *m);
/* Returns the map of an object, or NULL if it has no map. */
struct site_map *xray_maps_object(struct xray_maps *m, uint32_t object);
/* Looks up a function id of the trace. Returns false if it is unknown. Not thread-safe. */
bool xray_maps_function(struct xray_maps *m, uint32_t id, bool lines, struct map_function *out);
/*
 * Checks a function id of the trace; to be called at least for the highest of each object. If an id
 * is not in its object's map, the trace is of another build: reports that in `diag`, once for each
 * object, and returns false. Without any map all ids fit. Not thread-safe.
 */
bool xray_maps_fit(struct xray_maps *m, uint32_t id, struct diag_log *diag);

#endif
