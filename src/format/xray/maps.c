/*
 * All maps of one trace: the binaries that are given or found, by object; whether they fit the
 * trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "format/xray/map_parts.h"

enum {
	FDR_OBJECTS = 16, /* that 28 bits of an id can tell apart */
	NUMBER_MASK = (1 << XRAY_OBJECT_SHIFT) - 1,
};

struct xray_maps {
	struct arena arena;
	struct site_map *objects[XRAY_OBJECTS];
	size_t count; /* one more than the highest */
	bool told[XRAY_OBJECTS]; /* that it does not fit */
};

bool xray_object_split(const char *text, uint32_t *object, const char **path)
{
	struct text t = text_of(text);
	uint64_t n;

	if (!text_u64(&t, 10, &n) || !text_skip(&t, "=") || !t.len)
		return false;
	*object = n < XRAY_OBJECTS ? (uint32_t)n : XRAY_OBJECTS;
	*path = t.p;
	return true;
}

/* How many of the functions have a name. */
static uint32_t count_named(struct site_map *m)
{
	struct map_function f;
	uint32_t named = 0;

	for (size_t i = 0; i < m->nfunctions; i++)
		if (xray_map_function(m, m->sleds[m->functions[i]].id, false, &f) && f.name)
			named++;
	return named;
}

static void report_map(struct site_map *m, struct diag_log *diag)
{
	const uint32_t named = count_named(m);
	const char *why = m->names ? "a map made without --symbolize?"
				   : "stripped? --symbols-dir tells where its debug file is";

	if (m->note)
		diag_add(diag, DIAG_WARN, "xray/odd-map", m->path, DIAG_NO_OFF, 0, "%s", m->note);
	if (!named)
		diag_add(diag, DIAG_NOTE, "xray/no-symbols", m->path, DIAG_NO_OFF, 0,
			 "functions: expected names, found none: %s", why);
	else if (named < m->nfunctions)
		diag_add(diag, DIAG_NOTE, "xray/no-symbols", m->path, DIAG_NO_OFF, 0,
			 "functions: expected names of %zu, found %u: %s", m->nfunctions,
			 (unsigned)named, why);
}

static enum spur_status add_object(struct xray_maps *m, uint32_t object, const char *path,
				   const char *dirs, struct diag_log *diag, struct spur_error *err)
{
	if (object >= XRAY_OBJECTS)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected an object below %d, found another", path,
			       XRAY_OBJECTS);
	if (m->objects[object])
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected one binary for object %u, found a second one", path,
			       (unsigned)object);
	if (xray_map_open(&m->objects[object], path, dirs, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (object >= m->count)
		m->count = object + 1;
	report_map(m->objects[object], diag);
	return SPUR_OK;
}

static enum spur_status open_given(struct xray_maps *m, const struct spur_options *options,
				   struct diag_log *diag, struct spur_error *err)
{
	uint32_t next = 0;

	/* SPEC xray-names/given: those without a number count from 0 */
	for (const char *const *b = options->binaries; *b; b++) {
		const char *path = *b;
		uint32_t object;

		if (!xray_object_split(*b, &object, &path))
			object = next++;
		if (add_object(m, object, path, options->symbol_dirs, diag, err) == SPUR_FAIL)
			return SPUR_FAIL;
	}
	return SPUR_OK;
}

/* Found files are not the user's choice: one that cannot be read is only told. */
static enum spur_status open_found(struct xray_maps *m, uint32_t object, const char *path,
				   const char *dirs, struct diag_log *diag, struct spur_error *err)
{
	struct spur_error why = { 0 };

	if (add_object(m, object, path, dirs, diag, &why) != SPUR_FAIL)
		return SPUR_OK;
	if (why.code == SPUR_ERR_MEMORY)
		return err_nomem(err);
	diag_add(diag, DIAG_NOTE, "xray/no-map", path, DIAG_NO_OFF, 0, "%s", why.message);
	return SPUR_OK;
}

static enum spur_status open_libraries(struct xray_maps *m, const char *dirs, struct diag_log *diag,
				       struct spur_error *err)
{
	const char *paths[XRAY_OBJECTS] = { NULL };
	size_t count;

	if (!map_find_libraries(&m->arena, m->objects[0]->path, dirs, paths, &count, diag))
		return err_nomem(err);
	for (uint32_t i = 1; i < count; i++)
		if (open_found(m, i, paths[i], dirs, diag, err) == SPUR_FAIL)
			return SPUR_FAIL;
	return SPUR_OK;
}

static enum spur_status open_all(struct xray_maps *m, const char *trace_path,
				 const struct spur_options *options, struct diag_log *diag,
				 struct spur_error *err)
{
	const uint64_t failures = mem_failures();

	if (options && options->binaries && options->binaries[0]) {
		if (open_given(m, options, diag, err) == SPUR_FAIL)
			return SPUR_FAIL;
	} else {
		const char *path = map_find_program(&m->arena, trace_path, diag);

		if (path && open_found(m, 0, path, options ? options->symbol_dirs : NULL, diag,
				       err) == SPUR_FAIL)
			return SPUR_FAIL;
	}
	if (m->count == 1 && m->objects[0] &&
	    open_libraries(m, options ? options->symbol_dirs : NULL, diag, err) == SPUR_FAIL)
		return SPUR_FAIL;
	/* SPEC xray-names/collision: the records of FDR logs cut ids to 28 bits */
	if (m->count > FDR_OBJECTS)
		diag_add(
			diag, DIAG_WARN, "xray/objects-collide", m->objects[m->count - 1]->path,
			DIAG_NO_OFF, 0,
			"objects: expected at most %d, found %zu: in FDR logs object %d looks like "
			"object 0, and so on",
			FDR_OBJECTS, m->count, FDR_OBJECTS);
	return mem_failures() == failures ? SPUR_OK : err_nomem(err);
}

enum spur_status xray_maps_open(struct xray_maps **out, const char *trace_path,
				const struct spur_options *options, struct diag_log *diag,
				struct spur_error *err)
{
	struct xray_maps *m = mem_alloc(sizeof(*m));

	*out = NULL;
	if (!m)
		return err_nomem(err);
	arena_init(&m->arena);
	if (open_all(m, trace_path, options, diag, err) == SPUR_FAIL) {
		xray_maps_close(m);
		return SPUR_FAIL;
	}
	*out = m;
	return SPUR_OK;
}

void xray_maps_close(struct xray_maps *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < XRAY_OBJECTS; i++)
		xray_map_close(m->objects[i]);
	arena_free(&m->arena);
	mem_free(m);
}

size_t xray_maps_count(const struct xray_maps *m)
{
	return m->count;
}

struct site_map *xray_maps_object(struct xray_maps *m, uint32_t object)
{
	return object < XRAY_OBJECTS ? m->objects[object] : NULL;
}

/* SPEC xray-names/packed: where libraries are instrumented an id is object << 24 | number */
static void split(const struct xray_maps *m, uint32_t id, uint32_t *object, uint32_t *number)
{
	*object = m->count > 1 ? id >> XRAY_OBJECT_SHIFT : 0;
	*number = m->count > 1 ? id & NUMBER_MASK : id;
}

bool xray_maps_function(struct xray_maps *m, uint32_t id, bool lines, struct map_function *out)
{
	uint32_t object, number;

	split(m, id, &object, &number);
	return m->objects[object] && xray_map_function(m->objects[object], number, lines, out);
}

bool xray_maps_fit(struct xray_maps *m, uint32_t id, struct diag_log *diag)
{
	uint32_t object, number, have;

	split(m, id, &object, &number);
	have = m->objects[object] ? xray_map_functions(m->objects[object]) : 0;
	if (!m->count || number <= have)
		return true;
	if (m->told[object])
		return false;
	m->told[object] = true;
	if (!m->objects[object])
		diag_add(diag, DIAG_NOTE, "xray/no-object", m->objects[m->count - 1]->path,
			 DIAG_NO_OFF, 0,
			 "object %u: expected its map, found none: its functions have no names; "
			 "--binary %u=FILE gives it",
			 (unsigned)object, (unsigned)object);
	else if (m->count == 1 && number >> XRAY_OBJECT_SHIFT)
		diag_add(
			diag, DIAG_NOTE, "xray/no-object", m->objects[0]->path, DIAG_NO_OFF, 0,
			"functions: expected ids up to %u, found some of other objects, libraries: "
			"--binary N=FILE gives the map of object N",
			(unsigned)have);
	else
		diag_add(diag, DIAG_WARN, "xray/other-build", m->objects[object]->path, DIAG_NO_OFF,
			 0,
			 "functions: expected ids up to %u, found higher ones in the trace: it is "
			 "of another build",
			 (unsigned)have);
	return false;
}
