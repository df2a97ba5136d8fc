/*
 * Lengths and selectors: which fields a reference means, and the slot that carries their value. A
 * walk over each scope in decoding order knows what was decoded before; classes that hold no
 * reference are not entered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/ctf/meta/resolve.h"

enum { NO_LEVEL = UINT32_MAX }; /* not one of the classes around the reference */

/* ---- errors */

/* The path as it stands in messages. */
static const char *path_text(const struct ctf_ref *ref, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < ref->nnames && len < size; i++) {
		const int n = snprintf(buf + len, size - len, "%s%s", i ? "." : "",
				       ref->names[i] ? ref->names[i] : "null");

		len += n < 0 ? 0 : (size_t)n;
	}
	return buf;
}

static bool error_ref(struct resolve *r, const struct ctf_ref *ref, const char *what,
		      const char *found)
{
	char path[120];

	meta_error(r->m, r->err, SPUR_ERR_FORMAT, ref->at, "expected %s `%s`, found %s", what,
		   path_text(ref, path, sizeof(path)), found);
	return false;
}

static bool step(struct resolve *r, const struct ctf_ref *ref)
{
	if (r->steps++ < RESOLVE_STEPS)
		return true;
	meta_error(r->m, r->err, SPUR_ERR_LIMIT, ref->at,
		   "expected references to at most %d fields, found more", RESOLVE_STEPS);
	return false;
}

/* ---- targets */

static bool target_add(struct resolve *r, struct ctf_field *f)
{
	if (!mem_grow((void **)&r->targets, &r->targets_cap, r->ntargets + 1,
		      sizeof(struct ctf_field *), META_FIELDS))
		return resolve_full(r);
	r->targets[r->ntargets++] = f;
	return true;
}

static bool descend(struct resolve *r, const struct ctf_ref *ref, struct ctf_field *f,
		    uint32_t name, uint32_t level);

/*
 * Into one part of a class: a member, an option, an element. Where the class is one of those around
 * the reference (the stack's `level`), so is the part that the walk is in, and parts after it are
 * not decoded yet.
 */
static bool enter(struct resolve *r, const struct ctf_ref *ref, struct ctf_field **slot,
		  uint32_t place, uint32_t name, uint32_t level)
{
	struct ctf_field *f;

	if (level == NO_LEVEL || place < r->stack[level].at) {
		level = NO_LEVEL;
	} else if (place > r->stack[level].at || level + 1 == r->depth) {
		return error_ref(r, ref, "a field before this,", "one that is not decoded yet");
	} else {
		level++;
	}
	if (!step(r, ref))
		return false;
	f = resolve_own(r, slot);
	return f && descend(r, ref, f, name, level);
}

static bool descend_struct(struct resolve *r, const struct ctf_ref *ref, struct ctf_field *f,
			   uint32_t name, uint32_t level)
{
	uint32_t place;

	if (name == ref->nnames)
		return error_ref(r, ref, "a field with a value as", "a structure");
	place = resolve_member(r, f, ref->names[name]);
	if (place == UINT32_MAX)
		return error_ref(r, ref, "a field before this,", "none");
	return enter(r, ref, &f->members[place].field, place, name + 1, level);
}

/*
 * SPEC ctf-tsdl/reference-variant: names do not say the option. From inside the variant it is the
 * one around; from outside each, since any may be there, and each must have the field.
 */
static bool descend_variant(struct resolve *r, const struct ctf_ref *ref, struct ctf_field *f,
			    uint32_t name, uint32_t level)
{
	if (level != NO_LEVEL) {
		const uint32_t place = r->stack[level].at;

		return enter(r, ref, &f->members[place].field, place, name, level);
	}
	for (uint32_t i = 0; i < f->nmembers; i++) {
		if (!enter(r, ref, &f->members[i].field, i, name, NO_LEVEL))
			return false;
	}
	return true;
}

/*
 * From `f`, which is the reference's own, on to what names[name..] mean. The recursion is as deep
 * as the classes.
 */
static bool descend(struct resolve *r, const struct ctf_ref *ref, struct ctf_field *f,
		    uint32_t name, uint32_t level)
{
	switch (f->kind) {
	case CTF_STRUCT:
		return descend_struct(r, ref, f, name, level);
	case CTF_VARIANT:
		return descend_variant(r, ref, f, name, level);
	case CTF_OPTIONAL:
		return enter(r, ref, &f->element, 0, name, level);
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		/* SPEC ctf-tsdl/reference-array: only the element around the reference. */
		if (level == NO_LEVEL)
			return error_ref(r, ref, "a field before this,", "an array's");
		return enter(r, ref, &f->element, 0, name, level);
	default:
		if (name < ref->nnames)
			return error_ref(r, ref, "a field before this,",
					 "one without fields on the way");
		return target_add(r, f);
	}
}

/* ---- where a path begins */

static bool descend_root(struct resolve *r, const struct ctf_ref *ref, enum ctf_scope scope)
{
	const bool own = scope == r->scope;
	struct ctf_field *f;

	r->target_scope = scope;
	if (scope > r->scope || !r->roots[scope] || !r->depth)
		return error_ref(r, ref, "a field of a scope before this,", "none");
	f = own ? r->stack[0].field : resolve_own(r, r->roots[scope]);
	return f && descend(r, ref, f, 0, own ? 0 : NO_LEVEL);
}

/*
 * SPEC ctf-tsdl/upper-scope: a name that no structure around has may be a field of an upper dynamic
 * scope.
 */
static bool descend_upper(struct resolve *r, const struct ctf_ref *ref)
{
	for (int i = (int)r->scope - 1; i >= 0; i--) {
		struct ctf_field **root = r->roots[i];

		if (root && (*root)->kind == CTF_STRUCT &&
		    resolve_member(r, *root, ref->names[0]) != UINT32_MAX)
			return descend_root(r, ref, (enum ctf_scope)i);
	}
	return error_ref(r, ref, "a field before this,", "none");
}

/*
 * SPEC ctf-tsdl/relative-path: from the structure around the reference outwards, among what stands
 * before it.
 */
static bool descend_relative(struct resolve *r, const struct ctf_ref *ref)
{
	for (unsigned level = r->depth; level-- > 0;) {
		struct ctf_field *f = r->stack[level].field;
		uint32_t place;

		if (f->kind != CTF_STRUCT || (ref->home && f->lex != ref->home))
			continue;
		place = resolve_member(r, f, ref->names[0]);
		if (place < r->stack[level].at || (place == r->stack[level].at && ref->nnames > 1))
			return descend(r, ref, f, 0, level);
	}
	return descend_upper(r, ref);
}

/*
 * Names without those that a parent step after them takes back; how many lead out of the structure
 * is in `*up`.
 */
static bool path_normal(struct resolve *r, const struct ctf_ref *ref, struct ctf_ref *out,
			uint32_t *up)
{
	const char **names = arena_alloc(&r->m->arena, (ref->nnames + 1) * sizeof(*names));
	uint32_t n = 0;

	if (!names)
		return resolve_full(r);
	*up = 0;
	for (uint32_t i = 0; i < ref->nnames; i++) {
		if (ref->names[i])
			names[n++] = ref->names[i];
		else if (n)
			n--;
		else
			(*up)++;
	}
	*out = *ref;
	out->names = names;
	out->nnames = n;
	return true;
}

/*
 * CTF 2: from the structure around the reference, or the root of a scope; a NULL name is the
 * structure around.
 */
static bool descend_location(struct resolve *r, const struct ctf_ref *ref)
{
	struct ctf_ref path;
	uint32_t up = 0;

	if (!path_normal(r, ref, &path, &up))
		return false;
	if (ref->absolute)
		return up ? error_ref(r, ref, "a field in its scope,", "a path out of it")
			  : descend_root(r, &path, ref->scope);
	for (unsigned level = r->depth; level-- > 0;) {
		if (r->stack[level].field->kind == CTF_STRUCT && !up--)
			return descend(r, &path, r->stack[level].field, 0, level);
	}
	return error_ref(r, ref, "a field in its scope,", "a path out of it");
}

/* ---- what may be referred to */

static bool is_unsigned(const struct ctf_field *f)
{
	return (f->kind == CTF_UINT && f->size <= 64) || f->kind == CTF_VAR_UINT;
}

static bool is_signed(const struct ctf_field *f)
{
	return (f->kind == CTF_SINT && f->size <= 64) || f->kind == CTF_VAR_SINT;
}

/* Whether a target serves the field that refers to it. */
static bool is_fit(const struct resolve *r, const struct ctf_field *f,
		   const struct ctf_field *target)
{
	const struct ctf_field *first = r->targets[0];

	/* SPEC ctf2/optional-boolean: ranges mean nothing where the selector is a boolean. */
	if (f->kind == CTF_OPTIONAL && (!f->nranges || first->kind == CTF_BOOL))
		return target->kind == CTF_BOOL;
	if (f->kind == CTF_OPTIONAL || f->kind == CTF_VARIANT)
		return (is_unsigned(target) || is_signed(target)) &&
		       is_signed(target) == is_signed(first) &&
		       (r->m->generation != CTF_1 || target->is_enum);
	/* SPEC ctf-tsdl/length-unsigned */
	return is_unsigned(target);
}

static const char *fit_name(const struct resolve *r, const struct ctf_field *f)
{
	if (f->kind == CTF_OPTIONAL)
		return f->nranges ? "integers (all signed, or none) as selector"
				  : "booleans as selector";
	/* SPEC ctf-tsdl/tag-enum */
	if (f->kind == CTF_VARIANT)
		return r->m->generation == CTF_1 ? "an enumeration as tag"
						 : "integers (all signed, or none) as selector";
	return "an unsigned integer as length";
}

/* ---- options of variants */

static bool same_ranges(const struct ctf_member *o, const struct ctf_mapping *m)
{
	return o->nranges == m->nranges &&
	       (!m->nranges || !memcmp(o->ranges, m->ranges, m->nranges * sizeof(*m->ranges)));
}

/*
 * The tag's values that choose an option: those of the mapping with its name, or the name without
 * the underscore.
 */
static const struct ctf_mapping *option_mapping(struct resolve *r, struct ctf_field *tag,
						const char *name)
{
	const struct ctf_mapping *m = resolve_mapping(r, tag, name);

	return m || name[0] != '_' ? m : resolve_mapping(r, tag, name + 1);
}

/* SPEC ctf-tsdl/variant-choice: an option that no mapping names is never chosen. */
static bool options_by_name(struct resolve *r, struct ctf_field *f)
{
	static const struct ctf_mapping none = { .nranges = 0 };

	for (size_t t = 0; t < r->ntargets; t++) {
		for (uint32_t i = 0; i < f->nmembers; i++) {
			struct ctf_member *o = &f->members[i];
			const struct ctf_mapping *m = option_mapping(r, r->targets[t], o->name);

			if (!step(r, &f->ref))
				return false;
			m = m ? m : &none;
			if (t && !same_ranges(o, m))
				return error_ref(r, &f->ref, "one meaning of the tag",
						 "several that choose differently");
			o->ranges = m->ranges;
			o->nranges = m->nranges;
		}
	}
	return true;
}

/* A range and what it chooses; bounds so that they compare as unsigned numbers. */
struct owned_range {
	uint64_t low, high;
	uint32_t owner;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct owned_range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

/*
 * Ranges of CTF 2 as the selector has them: what it cannot be is cut off. A range that was read as
 * signed goes below 0; one that was not may go above what a signed selector holds.
 */
static uint32_t ranges_fit(const struct ctf_field *f, struct ctf_range *ranges, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct ctf_range range = ranges[i];

		if (f->selector_signed && !f->is_signed) {
			if (range.low > INT64_MAX)
				continue;
			range.high = range.high > INT64_MAX ? INT64_MAX : range.high;
		} else if (f->is_signed && !f->selector_signed) {
			if ((int64_t)range.high < 0)
				continue;
			range.low = (int64_t)range.low < 0 ? 0 : range.low;
		}
		ranges[kept++] = range;
	}
	return kept;
}

/* The same ranges, of this use of the class. */
static bool ranges_own(struct resolve *r, const struct ctf_field *f,
		       const struct ctf_range **ranges, uint32_t *n)
{
	struct ctf_range *copy;

	if (f->is_signed == f->selector_signed || !*n)
		return true;
	copy = arena_alloc(&r->m->arena, *n * sizeof(*copy));
	if (!copy)
		return resolve_full(r);
	memcpy(copy, *ranges, *n * sizeof(*copy));
	*n = ranges_fit(f, copy, *n);
	*ranges = copy;
	return true;
}

/* Two options must not share a value. The two highest ends so far, of different owners, tell. */
static bool ranges_check(struct resolve *r, const struct ctf_field *f, struct owned_range *all,
			 size_t n)
{
	const struct owned_range *most = NULL, *other = NULL;

	if (n)
		qsort(all, n, sizeof(*all), compare_ranges);
	for (size_t i = 0; i < n; i++) {
		const struct owned_range *against =
			most && most->owner == all[i].owner ? other : most;

		if (all[i].low > all[i].high)
			return error_ref(r, &f->ref, "rising ranges of the selector",
					 "one that falls");
		if (against && all[i].low <= against->high)
			return error_ref(r, &f->ref, "ranges apart from each other of the selector",
					 "two that meet");
		if (!most || all[i].high >= most->high) {
			other = most && most->owner != all[i].owner ? most : other;
			most = &all[i];
		} else if (all[i].owner != most->owner && (!other || all[i].high > other->high)) {
			other = &all[i];
		}
	}
	return true;
}

/* CTF 2: SPEC ctf2/variant-ranges: those of two options must not intersect; those of one may. */
static bool options_by_range(struct resolve *r, struct ctf_field *f)
{
	const uint64_t flip = f->selector_signed ? (uint64_t)1 << 63 : 0;
	struct owned_range *all;
	size_t n = 0, at = 0;
	bool ok = ranges_own(r, f, &f->ranges, &f->nranges);

	for (uint32_t i = 0; ok && i < f->nmembers; i++) {
		ok = ranges_own(r, f, &f->members[i].ranges, &f->members[i].nranges);
		n += f->members[i].nranges;
	}
	all = ok ? mem_array(n + 1, sizeof(*all)) : NULL;
	if (!all)
		return ok ? resolve_full(r) : false;
	for (uint32_t i = 0; i < f->nmembers; i++) {
		for (uint32_t k = 0; k < f->members[i].nranges; k++)
			all[at++] = (struct owned_range){ f->members[i].ranges[k].low ^ flip,
							  f->members[i].ranges[k].high ^ flip, i };
	}
	ok = ranges_check(r, f, all, n);
	mem_free(all);
	return ok;
}

static bool fill_selector(struct resolve *r, struct ctf_field *f)
{
	f->selector_signed = is_signed(r->targets[0]);
	if (r->m->generation == CTF_1)
		return options_by_name(r, f);
	return options_by_range(r, f);
}

/* ---- slots */

static uint32_t slot_root(struct resolve *r, uint32_t i)
{
	while (r->slots[i].parent != i) {
		r->slots[i].parent = r->slots[r->slots[i].parent].parent;
		i = r->slots[i].parent;
	}
	return i;
}

static bool slot_new(struct resolve *r, uint32_t *out)
{
	const bool of_event = r->target_scope >= CTF_SCOPE_EVENT_SPECIFIC;
	const uint32_t i = (uint32_t)r->nslots;

	if (!mem_grow((void **)&r->slots, &r->slots_cap, r->nslots + 1, sizeof(*r->slots),
		      META_FIELDS))
		return resolve_full(r);
	r->slots[r->nslots++] = (struct resolve_slot){
		.parent = i,
		.stream = r->stream,
		.event = r->event,
		.level = r->target_scope == CTF_SCOPE_PACKET_HEADER ? 0
			 : of_event				    ? 2
								    : 1,
	};
	*out = i;
	return true;
}

/* The target saves into `slot`, or what it saves into already becomes one with it. */
static bool slot_join(struct resolve *r, struct ctf_field *target, uint32_t slot)
{
	if (target->save != CTF_NO_SLOT) {
		r->slots[slot_root(r, target->save)].parent = slot_root(r, slot);
		return true;
	}
	if (!mem_grow((void **)&r->saves, &r->saves_cap, r->nsaves + 1, sizeof(struct ctf_field *),
		      META_FIELDS))
		return resolve_full(r);
	target->save = slot;
	r->saves[r->nsaves++] = target;
	return true;
}

/*
 * SPEC ctf-tsdl/one-slot: all fields that a reference may mean save into one slot. They are options
 * of variants: never two of them are decoded for one instance of what refers to them, so none
 * overwrites another.
 */
static bool fill_slot(struct resolve *r, struct ctf_field *f)
{
	uint32_t slot = r->targets[0]->save;

	if (slot == CTF_NO_SLOT && !slot_new(r, &slot))
		return false;
	for (size_t i = 0; i < r->ntargets; i++) {
		if (!slot_join(r, r->targets[i], slot))
			return false;
	}
	if (!mem_grow((void **)&r->refs, &r->refs_cap, r->nrefs + 1, sizeof(struct ctf_field *),
		      META_FIELDS))
		return resolve_full(r);
	r->refs[r->nrefs++] = f;
	f->ref.slot = slot;
	f->ref.is_signed = is_signed(r->targets[0]);
	f->ref.is_bool = r->targets[0]->kind == CTF_BOOL;
	return true;
}

/*
 * Numbers of one level; `firsts` has the first number after the trace's for each stream, then
 * after the stream's.
 */
static uint32_t slots_number(struct resolve *r, unsigned level, uint32_t *firsts)
{
	uint32_t event = UINT32_MAX, next = 0, most = 0;

	for (uint32_t i = 0; i < r->nslots; i++) {
		struct resolve_slot *s = &r->slots[i];

		if (s->level != level || s->parent != i)
			continue;
		/* An event's slots stand together. */
		if (level == 2 && s->event != event)
			next = firsts[s->stream];
		event = s->event;
		s->number = level == 1 ? firsts[s->stream]++ : next++;
		most = s->number >= most ? s->number + 1 : most;
	}
	return most;
}

bool resolve_slots(struct resolve *r)
{
	const size_t nstreams = r->m->nstreams;
	uint32_t *firsts = mem_array(nstreams + 1, sizeof(*firsts));
	uint32_t most[3];

	if (!firsts)
		return resolve_full(r);
	most[0] = slots_number(r, 0, firsts);
	for (size_t i = 0; i < nstreams; i++)
		firsts[i] = most[0];
	most[1] = slots_number(r, 1, firsts);
	most[2] = slots_number(r, 2, firsts);
	mem_free(firsts);
	for (int i = 0; i < 3; i++)
		r->m->nslots = most[i] > r->m->nslots ? most[i] : r->m->nslots;
	if (r->m->nslots > META_SLOTS) {
		meta_error(r->m, r->err, SPUR_ERR_LIMIT, 0,
			   "expected at most %d fields that others refer to, found more",
			   META_SLOTS);
		return false;
	}
	for (size_t i = 0; i < r->nsaves; i++)
		r->saves[i]->save = r->slots[slot_root(r, r->saves[i]->save)].number;
	for (size_t i = 0; i < r->nrefs; i++)
		r->refs[i]->ref.slot = r->slots[slot_root(r, r->refs[i]->ref.slot)].number;
	return true;
}

/* ---- the walk */

static bool fill_reference(struct resolve *r, struct ctf_field *f)
{
	const struct ctf_ref *ref = &f->ref;
	bool ok;

	r->ntargets = 0;
	r->target_scope = r->scope;
	if (!ref->nnames)
		return error_ref(r, ref, "a field that this refers to,", "none");
	if (r->m->generation == CTF_2)
		ok = descend_location(r, ref);
	else
		ok = ref->absolute ? descend_root(r, ref, ref->scope) : descend_relative(r, ref);
	if (!ok)
		return false;
	for (size_t i = 0; i < r->ntargets; i++) {
		const struct ctf_field *target = r->targets[i];

		if (!is_fit(r, f, target))
			return error_ref(r, ref, fit_name(r, f), meta_kind_name(target->kind));
	}
	if (!fill_slot(r, f))
		return false;
	return (f->kind != CTF_VARIANT && f->kind != CTF_OPTIONAL) || fill_selector(r, f);
}

static bool visit(struct resolve *r, struct ctf_field **slot)
{
	struct resolve_frame *frame;
	struct ctf_field *f = *slot;

	if (!f->has_ref)
		return true;
	f = resolve_own(r, slot);
	if (!f || (resolve_has_ref(f) && !fill_reference(r, f)))
		return false;
	/* Trees that are deeper have been refused. */
	frame = &r->stack[r->depth++];
	*frame = (struct resolve_frame){ .field = f };
	for (; frame->at < f->nmembers; frame->at++) {
		if (!visit(r, &f->members[frame->at].field))
			return false;
	}
	frame->at = 0;
	if (f->element && !visit(r, &f->element))
		return false;
	r->depth--;
	return true;
}

bool resolve_scope(struct resolve *r, enum ctf_scope scope)
{
	r->scope = scope;
	r->depth = 0;
	return !r->roots[scope] || visit(r, r->roots[scope]);
}
