/*
 * Inside of meta_resolve(): resolve.c (classes, ids), resolve_ref.c (lengths and selectors),
 * resolve_role.c (CTF 1).
 */
#ifndef SPUR_FORMAT_CTF_META_RESOLVE_H
#define SPUR_FORMAT_CTF_META_RESOLVE_H

#include "base/map64.h"
#include "format/ctf/meta/meta.h"

enum {
	RESOLVE_STEPS = 1 << 24, /* fields that all references together may pass */
	RESOLVE_SCAN = 16, /* up to this many names are compared one by one */
};

/* Where the walk is: a class, and which of its members (or its element: 0) it has entered. */
struct resolve_frame {
	struct ctf_field *field;
	uint32_t at;
};

/*
 * A value that is kept while decoding. Several fields may save into it: options of a variant, of
 * which one is there. Those become one by `parent`. Numbered at the end: the trace's, then a
 * stream's, then an event's.
 */
struct resolve_slot {
	uint32_t parent;
	uint32_t stream, event; /* whose it is; counted from 0 */
	uint32_t number;
	uint8_t level; /* 0 trace, 1 stream, 2 event */
};

struct resolve {
	struct ctf_meta *m;
	struct diag_log *diag;
	struct spur_error *err;

	/*
	 * What the field being looked at can see: the classes of its packet and event. NULL: none.
	 */
	struct ctf_field **roots[CTF_SCOPES];
	enum ctf_scope scope; /* the one it is in */
	enum ctf_scope target_scope; /* the one of `targets` */
	uint32_t stream, event;
	struct resolve_frame stack[META_DEPTH];
	unsigned depth;
	uint64_t steps;

	struct ctf_field **targets; /* of one reference */
	size_t ntargets, targets_cap;
	struct resolve_slot *slots;
	size_t nslots, slots_cap;
	struct ctf_field **saves, **refs; /* whose `save` and `ref.slot` are numbers of `slots` */
	size_t nsaves, saves_cap, nrefs, refs_cap;

	struct map64 names; /* names_id << 32 | name: 1 + place; INTERN_NONE as name: they are in */
	uint32_t last_names;
	struct map64 clocks, env; /* name: 1 + place in the meta */
};

/* All return false where r->err is set. */
bool resolve_full(struct resolve *r);
/* Does the class itself refer to another field? */
bool resolve_has_ref(const struct ctf_field *f);
/*
 * Makes what `*slot` refers to the slot's own, by copying it where others refer to it too; NULL:
 * failed.
 */
struct ctf_field *resolve_own(struct resolve *r, struct ctf_field **slot);
/* Place of the member of that name, or UINT32_MAX. */
uint32_t resolve_member(struct resolve *r, struct ctf_field *f, const char *name);
/* The mapping of that name in an enumeration, or NULL. */
const struct ctf_mapping *resolve_mapping(struct resolve *r, struct ctf_field *f, const char *name);

/* resolve_ref.c: finds what all lengths and selectors in r->roots[scope] refer to. */
bool resolve_scope(struct resolve *r, enum ctf_scope scope);
/* Numbers the slots. */
bool resolve_slots(struct resolve *r);

/* resolve_role.c: CTF 1's reserved names and clocks. */
bool resolve_header_roles(struct resolve *r);
bool resolve_stream_roles(struct resolve *r, struct ctf_stream_class *s);

#endif
