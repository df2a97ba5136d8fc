/*
 * Compiles field classes to programs: walks the tree of classes once per program and writes a flat
 * list of steps. See plan.h. The skip program joins fields of fixed size: as long as the place of a
 * field is known relative to the run's begin, it costs nothing but its part of one bounds check.
 */
#include <stdlib.h>

#include "format/ctf/plan/parts.h"

/* Being compiled. */
struct build {
	struct spur_trace *t;
	struct ctf_meta *m;
	struct arena *arena;
	struct spur_error *err;
	bool value; /* the value program; else the skip program */
	enum ctf_scope scope;
	unsigned depth;
	struct step *steps;
	size_t nsteps, steps_cap;
	struct keep *keeps;
	size_t nkeeps, keeps_cap;
	struct table *tables;
	size_t ntables, tables_cap;
	/*
	 * The run that is open: its step, or NO_STEP; what the begin is known to be aligned to; its
	 * bits so far.
	 */
	size_t run;
	uint64_t run_align, run_bits;
	uint64_t known_align; /* of the position, where no run is open */
	bool failed;
};

enum { NO_STEP = -1, MAX_RUN = 1 << 30 };

static struct step *step_add(struct build *b, enum step_code code, const struct ctf_field *f)
{
	struct step *s;

	if (b->failed)
		return NULL;
	if (b->m->nops >= PLAN_ALL_STEPS || b->nsteps >= PLAN_STEPS) {
		err_set(b->err, SPUR_ERR_LIMIT,
			"%s: expected at most %d steps to decode its events, found more",
			b->m->path, PLAN_ALL_STEPS);
		b->failed = true;
		return NULL;
	}
	if (!mem_grow((void **)&b->steps, &b->steps_cap, b->nsteps + 1, sizeof(*b->steps),
		      PLAN_STEPS)) {
		err_nomem(b->err);
		b->failed = true;
		return NULL;
	}
	b->m->nops++;
	s = &b->steps[b->nsteps++];
	*s = (struct step){ .code = (uint8_t)code, .field = f, .scope = b->scope };
	if (f && f->big_endian)
		s->flags |= STEP_BIG;
	if (f && f->reversed)
		s->flags |= STEP_REVERSED;
	if (f && f->is_signed)
		s->flags |= STEP_SIGNED;
	return s;
}

static void keep_add(struct build *b, struct step *s, enum keep_what what, uint32_t slot)
{
	if (!s || b->failed)
		return;
	if (!mem_grow((void **)&b->keeps, &b->keeps_cap, b->nkeeps + 1, sizeof(*b->keeps),
		      PLAN_STEPS)) {
		err_nomem(b->err);
		b->failed = true;
		return;
	}
	if (!s->nkeeps)
		s->keeps = (uint32_t)b->nkeeps;
	s->nkeeps++;
	b->keeps[b->nkeeps++] = (struct keep){ what, slot };
}

/*
 * Roles whose value goes to a slot, by scope. Time stamps of events and of packet begins move the
 * clock.
 */
static void keep_roles(struct build *b, struct step *s, const struct ctf_field *f)
{
	static const struct {
		uint32_t role;
		uint8_t slot, scopes;
	} roles[] = {
		{ CTF_ROLE_MAGIC, CTF_SLOT_MAGIC, 1 << CTF_SCOPE_PACKET_HEADER },
		{ CTF_ROLE_STREAM_CLASS_ID, CTF_SLOT_STREAM_CLASS_ID,
		  1 << CTF_SCOPE_PACKET_HEADER },
		{ CTF_ROLE_STREAM_ID, CTF_SLOT_STREAM_ID, 1 << CTF_SCOPE_PACKET_HEADER },
		{ CTF_ROLE_TIMESTAMP, CTF_SLOT_BEGIN, 1 << CTF_SCOPE_PACKET_CONTEXT },
		{ CTF_ROLE_END_TIMESTAMP, CTF_SLOT_END, 1 << CTF_SCOPE_PACKET_CONTEXT },
		{ CTF_ROLE_CONTENT_SIZE, CTF_SLOT_CONTENT_SIZE, 3 },
		{ CTF_ROLE_PACKET_SIZE, CTF_SLOT_PACKET_SIZE, 3 },
		{ CTF_ROLE_DISCARDED, CTF_SLOT_DISCARDED, 3 },
		{ CTF_ROLE_SEQUENCE, CTF_SLOT_SEQUENCE, 3 },
		{ CTF_ROLE_EVENT_CLASS_ID, CTF_SLOT_EVENT_ID, 1 << CTF_SCOPE_EVENT_HEADER },
		{ CTF_ROLE_CPU, CTF_SLOT_CPU, 1 << CTF_SCOPE_PACKET_CONTEXT },
		{ CTF_ROLE_COMPRESSION, CTF_SLOT_COMPRESSION, 3 },
		{ CTF_ROLE_ENCRYPTION, CTF_SLOT_ENCRYPTION, 3 },
		{ CTF_ROLE_CHECKSUM, CTF_SLOT_CHECKSUM, 3 },
		{ CTF_ROLE_CHECKSUM_SCHEME, CTF_SLOT_CHECKSUM_SCHEME, 3 },
		{ CTF_ROLE_SESSION, CTF_SLOT_SESSION, 1 << CTF_SCOPE_PACKET_HEADER },
		{ CTF_ROLE_SEQUENCE_BITS, CTF_SLOT_SEQUENCE_BITS, 1 << CTF_SCOPE_PACKET_CONTEXT },
	};
	const bool stamps = b->scope == CTF_SCOPE_PACKET_CONTEXT ||
			    b->scope == CTF_SCOPE_EVENT_HEADER ||
			    (b->scope == CTF_SCOPE_PACKET_HEADER && b->m->generation == CTF_V11);

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if ((f->roles & roles[i].role) && (roles[i].scopes >> b->scope & 1))
			keep_add(b, s, KEEP_SLOT, roles[i].slot);
	if (stamps && (f->roles & CTF_ROLE_TIMESTAMP))
		keep_add(b, s, KEEP_CLOCK, 0);
	if (f->save != CTF_NO_SLOT)
		keep_add(b, s, KEEP_SLOT, slot_index(f->save));
}

static bool is_kept(const struct build *b, const struct ctf_field *f)
{
	return f->save != CTF_NO_SLOT || (f->roles && b->scope <= CTF_SCOPE_EVENT_HEADER);
}

static bool is_integer(const struct ctf_field *f)
{
	return f->kind <= CTF_SINT;
}

/* --- fixed sizes --- */

static uint64_t fixed_known(uint64_t bits)
{
	return bits > MAX_RUN ? 1 : bits + 2;
}

static uint64_t field_fixed(struct ctf_field *f, unsigned depth);

/* Members at known places, from a begin that is aligned as the structure is. */
static uint64_t struct_fixed(const struct ctf_field *f, unsigned depth)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < f->nmembers; i++) {
		struct ctf_field *m = f->members[i].field;
		const uint64_t fixed = field_fixed(m, depth + 1);

		if (fixed < 2 || m->align > f->align)
			return 1;
		bits = align_up(bits, m->align ? m->align : 1) + fixed - 2;
		if (bits > MAX_RUN)
			return 1;
	}
	return fixed_known(bits);
}

static uint64_t array_fixed(const struct ctf_field *f, unsigned depth)
{
	const uint64_t fixed = field_fixed(f->element, depth + 1);
	const uint64_t bits = fixed - 2;

	if (fixed < 2 || f->element->align > f->align ||
	    bits % (f->element->align ? f->element->align : 1) ||
	    (bits && f->length > MAX_RUN / bits))
		return 1;
	return fixed_known(bits * f->length);
}

/* 1: it varies, or its value is kept; else 2 + bits, from a begin that is aligned as it asks. */
static uint64_t field_fixed(struct ctf_field *f, unsigned depth)
{
	if (f->fixed || depth > PLAN_DEPTH)
		return f->fixed ? f->fixed : 1;
	f->fixed = 1;
	if (f->save != CTF_NO_SLOT || f->roles)
		return 1;
	if (f->kind <= CTF_FLOAT && !f->unit)
		f->fixed = f->align < 8 || f->size % 8 ? 1 : fixed_known(f->size);
	else if ((f->kind == CTF_STRING_STATIC && f->length % text_unit(f) == 0) ||
		 f->kind == CTF_BLOB_STATIC)
		f->fixed = f->length > MAX_RUN / 8 ? 1 : fixed_known(8 * f->length);
	else if (f->kind == CTF_STRUCT)
		f->fixed = struct_fixed(f, depth);
	else if (f->kind == CTF_ARRAY)
		f->fixed = array_fixed(f, depth);
	return f->fixed;
}

/* --- runs of the skip program --- */

static void run_close(struct build *b)
{
	uint64_t low;

	if (b->run == (size_t)NO_STEP)
		return;
	if (!b->failed)
		b->steps[b->run].size = (uint32_t)b->run_bits;
	low = b->run_bits & (0 - b->run_bits);
	b->known_align = !low || low > b->run_align ? b->run_align : low;
	b->run = (size_t)NO_STEP;
}

static void run_open(struct build *b, const struct ctf_field *f)
{
	if (b->run != (size_t)NO_STEP)
		return;
	if (!step_add(b, STEP_RUN, f))
		return;
	b->run = b->nsteps - 1;
	b->run_align = b->known_align;
	b->run_bits = 0;
}

static void align_to(struct build *b, const struct ctf_field *f, uint64_t align)
{
	struct step *s;

	if (align <= 1)
		return;
	if (b->run != (size_t)NO_STEP && align <= b->run_align) {
		b->run_bits = align_up(b->run_bits, align);
		return;
	}
	run_close(b);
	if (align <= b->known_align)
		return;
	s = step_add(b, STEP_ALIGN, f);
	if (s)
		s->size = (uint32_t)align;
	b->known_align = align;
}

/*
 * Something whose size is not known: what follows begins anywhere, at multiples of `align` at best.
 */
static struct step *step_free(struct build *b, enum step_code code, const struct ctf_field *f,
			      uint64_t align)
{
	run_close(b);
	b->known_align = align;
	return step_add(b, code, f);
}

/* Room for `bits` more in the run that is open, or in a new one. */
static void run_need(struct build *b, const struct ctf_field *f, uint64_t bits)
{
	if (b->run != (size_t)NO_STEP && b->run_bits + bits > MAX_RUN)
		run_close(b);
	run_open(b, f);
}

static void run_add(struct build *b, const struct ctf_field *f, uint64_t bits)
{
	run_need(b, f, bits);
	b->run_bits += bits;
}

/* --- one field --- */

static void build_field(struct build *b, struct ctf_field *f, const char *name);

static uint32_t name_id(struct build *b, const char *name)
{
	return b->value && name ? trace_intern(b->t, name) : 0;
}

enum spur_show plan_show(const struct ctf_field *f)
{
	return f->base == 2			      ? SPUR_SHOW_BINARY
	       : f->base == 16 || f->kind == CTF_BITS ? SPUR_SHOW_HEX
	       : f->base == 8			      ? SPUR_SHOW_OCTAL
						      : SPUR_SHOW_PLAIN;
}

static int by_low(const void *a, const void *b)
{
	const struct ctf_label *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

static int by_low_signed(const void *a, const void *b)
{
	const int64_t x = (int64_t)((const struct ctf_label *)a)->low,
		      y = (int64_t)((const struct ctf_label *)b)->low;

	return x < y ? -1 : x > y;
}

/* Names of an enumeration's values; kept with the field, since many programs show it. */
static void make_labels(struct build *b, struct ctf_field *f)
{
	struct ctf_labels *l;
	struct ctf_label *items;
	size_t n = 0, k = 0;

	for (uint32_t i = 0; i < f->nmappings; i++)
		n += f->mappings[i].nranges;
	if (f->labels || !n || n > UINT32_MAX)
		return;
	l = arena_alloc(b->arena, sizeof(*l));
	items = arena_alloc(b->arena, n * sizeof(*items));
	if (!l || !items) {
		err_nomem(b->err);
		b->failed = true;
		return;
	}
	for (uint32_t i = 0; i < f->nmappings; i++)
		for (uint32_t r = 0; r < f->mappings[i].nranges; r++)
			items[k++] = (struct ctf_label){ f->mappings[i].ranges[r].low,
							 f->mappings[i].ranges[r].high,
							 f->mappings[i].name };
	*l = (struct ctf_labels){ items, (uint32_t)n, f->kind != CTF_BITMAP };
	/* In the order of the metadata where values have several names. */
	struct ctf_label *sorted = mem_array(n, sizeof(*sorted));

	if (!sorted) {
		err_nomem(b->err);
		b->failed = true;
		return;
	}
	memcpy(sorted, items, n * sizeof(*items));
	qsort(sorted, n, sizeof(*sorted), f->is_signed ? by_low_signed : by_low);
	for (size_t i = 1; i < n && l->ordered; i++)
		l->ordered = f->is_signed ? (int64_t)sorted[i].low > (int64_t)sorted[i - 1].high
					  : sorted[i].low > sorted[i - 1].high;
	if (l->ordered)
		memcpy(items, sorted, n * sizeof(*items));
	mem_free(sorted);
	f->labels = l;
}

/* Fields that may begin or end inside a byte take part in the rule on byte orders. */
static void order_step(struct build *b, const struct ctf_field *f)
{
	if (f->align >= 8 && f->size % 8 == 0)
		return;
	if (!b->value)
		run_close(b);
	step_add(b, STEP_ORDER, f);
}

static void build_bits(struct build *b, struct ctf_field *f, const char *name)
{
	struct step *s;

	/* RFC v1.1's bit fields do not cross units: STEP_INT and STEP_GET look at `unit`. */
	align_to(b, f, f->align);
	order_step(b, f);
	if (b->value) {
		make_labels(b, f);
		s = step_add(b,
			     f->kind == CTF_FLOAT ? STEP_FLOAT
			     : f->size > 64	  ? STEP_WIDE
						  : STEP_INT,
			     f);
		if (!s)
			return;
		s->size = f->size;
		s->show = (uint8_t)plan_show(f);
		s->name = name_id(b, name);
		b->known_align = 1;
		if (is_kept(b, f) && is_integer(f))
			keep_roles(b, s, f);
		return;
	}
	if (f->unit) {
		s = step_free(b, STEP_INT, f, 1);
		if (s)
			s->size = f->size;
		if (s && is_kept(b, f))
			keep_roles(b, s, f);
		return;
	}
	/* What is kept is read from the run that its bits are checked with. */
	run_need(b, f, f->size);
	if (is_kept(b, f) && is_integer(f)) {
		const uint64_t off = b->run_bits;

		s = step_add(b, STEP_GET, f);
		if (!s)
			return;
		s->size = f->size;
		s->off = (uint32_t)off;
		keep_roles(b, s, f);
	}
	run_add(b, f, f->size);
}

static void build_var(struct build *b, struct ctf_field *f, const char *name)
{
	struct step *s;

	align_to(b, f, 8);
	if (b->value)
		make_labels(b, f);
	s = b->value ? step_add(b, STEP_VAR, f) : step_free(b, STEP_VAR, f, 8);
	if (!s)
		return;
	s->name = name_id(b, name);
	s->show = (uint8_t)plan_show(f);
	if (is_kept(b, f))
		keep_roles(b, s, f);
}

/* A slot for where text stands, or where the UUID does. */
static void mark_step(struct build *b, const struct ctf_field *f)
{
	struct step *s;
	const bool uuid = (f->roles & CTF_ROLE_UUID) && b->scope == CTF_SCOPE_PACKET_HEADER;

	if (f->save == CTF_NO_SLOT && !uuid)
		return;
	if (!b->value && !uuid) {
		run_open(b, f);
		s = step_add(b, STEP_PLACE, f);
		if (!s)
			return;
		s->off = (uint32_t)b->run_bits;
		s->slot = slot_index(f->save);
		return;
	}
	if (!b->value)
		run_close(b);
	s = step_add(b, STEP_MARK, f);
	if (uuid)
		keep_add(b, s, KEEP_SLOT, CTF_SLOT_UUID);
	if (f->save != CTF_NO_SLOT)
		keep_add(b, s, KEEP_SLOT, slot_index(f->save));
}

/* RFC v1.1: the length precedes the elements. */
static void build_length(struct build *b, struct ctf_field *f)
{
	if (!f->length_field)
		return;
	build_field(b, f->length_field, NULL);
	if (b->value && !b->failed)
		b->steps[b->nsteps - 1].name = UINT32_MAX;
}

static void build_text(struct build *b, struct ctf_field *f, const char *name)
{
	const bool blob = f->kind == CTF_BLOB_STATIC || f->kind == CTF_BLOB_DYNAMIC;
	const bool dynamic = f->kind == CTF_STRING_DYNAMIC || f->kind == CTF_BLOB_DYNAMIC;
	/* Text whose length may be no whole number of code units. */
	const bool units = !blob && text_unit(f) > 1 && (dynamic || f->length % text_unit(f));
	struct step *s;

	align_to(b, f, f->align);
	build_length(b, f);
	mark_step(b, f);
	if (f->kind == CTF_STRING) {
		s = b->value ? step_add(b, STEP_STRING, f) : step_free(b, STEP_STRING, f, 8);
		if (s)
			s->size = 8 * text_unit(f);
	} else if (b->value) {
		s = step_add(b,
			     blob      ? dynamic ? STEP_BLOB_DYNAMIC : STEP_BLOB
			     : dynamic ? STEP_TEXT_DYNAMIC
				       : STEP_TEXT,
			     f);
	} else if (!dynamic && f->length <= MAX_RUN / 8 && !units) {
		run_add(b, f, 8 * f->length);
		return;
	} else {
		s = step_free(b,
			      units	? STEP_SKIP_TEXT
			      : dynamic ? STEP_SKIP_DYNAMIC
					: STEP_SKIP_MANY,
			      f, 8);
		if (s) {
			s->size = 8;
			s->to = !dynamic;
		}
	}
	if (!s)
		return;
	s->name = name_id(b, name);
	s->count = f->length;
	if (dynamic)
		s->slot = slot_index(f->ref.slot);
}

static void build_struct(struct build *b, struct ctf_field *f, const char *name)
{
	struct step *s;

	align_to(b, f, f->align);
	if (b->value) {
		s = step_add(b, STEP_OPEN, f);
		if (s) {
			s->size = f->nmembers;
			s->name = name_id(b, name);
		}
	}
	for (uint32_t i = 0; i < f->nmembers && !b->failed; i++)
		build_field(b, f->members[i].field, f->members[i].shown);
	if (b->value)
		step_add(b, STEP_CLOSE, f);
}

/* Elements of known size without gaps between them. */
static bool packs(struct ctf_field *element, uint64_t *bits)
{
	const uint64_t fixed = field_fixed(element, 0);

	if (fixed < 2)
		return false;
	*bits = fixed - 2;
	return *bits % (element->align ? element->align : 1) == 0 && *bits <= UINT32_MAX;
}

/*
 * An inline length (RFC v1.1) may leave a gap before the first element, but none where there is no
 * element.
 */
static bool has_gap(const struct ctf_field *f)
{
	const uint32_t align = f->element->align ? f->element->align : 1;

	return f->length_field && (f->length_field->unit || f->length_field->size % align);
}

static void build_elements(struct build *b, struct ctf_field *f, const char *name, bool dynamic)
{
	uint64_t bits;
	struct step *s;
	size_t loop;

	if (!b->value && packs(f->element, &bits) && !has_gap(f)) {
		if (!dynamic && f->length <= MAX_RUN && bits * f->length <= MAX_RUN) {
			run_add(b, f, bits * f->length);
			return;
		}
		s = step_free(b, dynamic ? STEP_SKIP_DYNAMIC : STEP_SKIP_MANY, f, 1);
	} else {
		s = b->value ? step_add(b, dynamic ? STEP_LOOP_DYNAMIC : STEP_LOOP, f)
			     : step_free(b, dynamic ? STEP_LOOP_DYNAMIC : STEP_LOOP, f, 1);
		if (!b->value || !packs(f->element, &bits))
			bits = 0;
	}
	if (!s)
		return;
	s->size = (uint32_t)bits;
	s->count = f->length;
	s->name = name_id(b, name);
	if (dynamic)
		s->slot = slot_index(f->ref.slot);
	if (s->code == STEP_SKIP_DYNAMIC || s->code == STEP_SKIP_MANY)
		return;
	loop = b->nsteps - 1;
	/* Elements after the first begin anywhere. */
	b->known_align = 1;
	build_field(b, f->element, NULL);
	run_close(b);
	b->known_align = 1;
	s = step_add(b, STEP_NEXT, f);
	if (!s)
		return;
	s->to = (uint32_t)loop + 1;
	b->steps[loop].to = (uint32_t)b->nsteps;
}

static void build_array(struct build *b, struct ctf_field *f, const char *name)
{
	const bool dynamic = f->kind == CTF_SEQUENCE;

	align_to(b, f, f->align);
	if (!b->value && f->kind == CTF_ARRAY && (f->roles & CTF_ROLE_UUID))
		mark_step(b, f);
	build_length(b, f);
	build_elements(b, f, name, dynamic);
}

/* The place of a new table, which table_fill() makes; b->failed if out of memory. */
static size_t table_add(struct build *b, bool is_signed)
{
	if (!mem_grow((void **)&b->tables, &b->tables_cap, b->ntables + 1, sizeof(*b->tables),
		      PLAN_STEPS)) {
		err_nomem(b->err);
		b->failed = true;
		return 0;
	}
	b->tables[b->ntables] = (struct table){ .is_signed = is_signed };
	return b->ntables++;
}

static void table_fill(struct build *b, size_t table, const struct option *options, size_t n)
{
	if (b->failed || table_make(&b->tables[table], b->arena, options, n))
		return;
	err_nomem(b->err);
	b->failed = true;
}

/* One option after the other, each with a jump after the last one; `ends` gets where those are. */
static uint64_t build_options(struct build *b, struct ctf_field *f, const char *name,
			      struct option *options, size_t *ends)
{
	const uint64_t before = b->known_align;
	uint64_t after = before;
	size_t n = 0;

	for (uint32_t i = 0; i < f->nmembers && !b->failed; i++) {
		const struct ctf_member *m = &f->members[i];

		for (uint32_t r = 0; r < m->nranges; r++)
			options[n++] = (struct option){ m->ranges[r].low, m->ranges[r].high,
							(uint32_t)b->nsteps };
		b->known_align = before;
		build_field(b, m->field, name);
		run_close(b);
		after = b->known_align < after ? b->known_align : after;
		step_add(b, STEP_JUMP, f);
		ends[i] = b->nsteps - 1;
	}
	return after;
}

static void build_variant(struct build *b, struct ctf_field *f, const char *name)
{
	const size_t table = table_add(b, f->selector_signed);
	struct option *options;
	struct step *s;
	size_t *ends, n = 0, select;

	for (uint32_t i = 0; i < f->nmembers; i++)
		n += f->members[i].nranges;
	options = mem_array(n + 1, sizeof(*options));
	ends = mem_array(f->nmembers + 1, sizeof(*ends));
	run_close(b);
	s = options && ends ? step_add(b, STEP_SELECT, f) : NULL;
	select = b->nsteps - 1;
	if (s) {
		s->slot = slot_index(f->ref.slot);
		s->to = (uint32_t)table;
		s->name = name_id(b, name);
		b->known_align = build_options(b, f, name, options, ends);
		for (uint32_t i = 0; i < f->nmembers && !b->failed; i++)
			b->steps[ends[i]].to = (uint32_t)b->nsteps;
		if (!b->failed)
			b->steps[select].count = b->nsteps;
		table_fill(b, table, options, n);
	} else if (!b->failed) {
		err_nomem(b->err);
		b->failed = true;
	}
	mem_free(options);
	mem_free(ends);
}

static void build_optional(struct build *b, struct ctf_field *f, const char *name)
{
	const size_t table = table_add(b, f->selector_signed);
	struct option *options = mem_array(f->nranges + 1, sizeof(*options));
	uint64_t before;
	struct step *s;
	size_t at;

	run_close(b);
	before = b->known_align;
	s = options ? step_add(b, STEP_OPTION, f) : NULL;
	if (!s) {
		mem_free(options);
		if (!b->failed)
			err_nomem(b->err);
		b->failed = true;
		return;
	}
	at = b->nsteps - 1;
	s->slot = slot_index(f->ref.slot);
	s->count = table;
	s->size = !f->ref.is_bool;
	s->name = name_id(b, name);
	for (uint32_t i = 0; i < f->nranges; i++)
		options[i] = (struct option){ f->ranges[i].low, f->ranges[i].high, 0 };
	table_fill(b, table, options, f->nranges);
	mem_free(options);
	build_field(b, f->element, name);
	run_close(b);
	b->known_align = before < b->known_align ? before : b->known_align;
	if (!b->failed)
		b->steps[at].to = (uint32_t)b->nsteps;
}

static void build_kind(struct build *b, struct ctf_field *f, const char *name)
{
	switch (f->kind) {
	case CTF_VAR_UINT:
	case CTF_VAR_SINT:
		build_var(b, f, name);
		break;
	case CTF_STRING:
	case CTF_STRING_STATIC:
	case CTF_STRING_DYNAMIC:
	case CTF_BLOB_STATIC:
	case CTF_BLOB_DYNAMIC:
		build_text(b, f, name);
		break;
	case CTF_STRUCT:
		build_struct(b, f, name);
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		build_array(b, f, name);
		break;
	case CTF_OPTIONAL:
		build_optional(b, f, name);
		break;
	case CTF_VARIANT:
		build_variant(b, f, name);
		break;
	default:
		build_bits(b, f, name);
		break;
	}
}

static void build_field(struct build *b, struct ctf_field *f, const char *name)
{
	if (b->failed)
		return;
	if (b->depth == PLAN_DEPTH) {
		err_set(b->err, SPUR_ERR_LIMIT, "%s: expected fields at most %d deep, found more",
			b->m->path, PLAN_DEPTH);
		b->failed = true;
		return;
	}
	b->depth++;
	build_kind(b, f, name);
	b->depth--;
	if (b->value)
		b->known_align = 1;
}

/* --- programs --- */

static void *arena_copy(struct build *b, const void *p, size_t count, size_t size)
{
	void *copy = arena_alloc(b->arena, count * size + 1);

	if (copy && count)
		memcpy(copy, p, count * size);
	if (!copy) {
		err_nomem(b->err);
		b->failed = true;
	}
	return copy;
}

static struct code build_code(struct build *b, const struct ctf_scope_fields *scopes, size_t n,
			      bool value)
{
	static const char *const names[CTF_SCOPES] = { "packet.header", "packet.context",
						       "event.header",	"event.common",
						       "event.context", "payload" };
	struct code code = { 0 };

	b->value = value;
	b->nsteps = 0;
	b->run = (size_t)NO_STEP;
	b->known_align = 1;
	for (size_t i = 0; i < n && !b->failed; i++) {
		b->scope = scopes[i].scope;
		if (!scopes[i].field)
			continue;
		build_field(b, scopes[i].field, names[scopes[i].scope]);
	}
	run_close(b);
	step_add(b, STEP_END, NULL);
	code.steps = arena_copy(b, b->steps, b->nsteps, sizeof(*b->steps));
	code.count = (uint32_t)b->nsteps;
	return code;
}

/* Marks the structures that are whole scopes. */
static void mark_scopes(struct code code)
{
	struct step *s = (struct step *)code.steps;
	unsigned depth = 0;

	for (uint32_t i = 0; s && i < code.count; i++) {
		if (s[i].code == STEP_OPEN && !depth++)
			s[i].flags |= STEP_SCOPE;
		if (s[i].code == STEP_CLOSE && !--depth)
			s[i].flags |= STEP_SCOPE;
	}
}

/* Where the fields end that are there only sometimes, if the step is the first of such. */
static uint32_t optional_end(const struct step *s)
{
	switch ((enum step_code)s->code) {
	case STEP_SELECT:
		return (uint32_t)s->count;
	case STEP_OPTION:
	case STEP_LOOP:
	case STEP_LOOP_DYNAMIC:
		return s->to;
	default:
		return 0;
	}
}

/* Slots of fields that need not be there. Returns false if out of memory. */
static bool list_optional(struct ctf_program *p, struct arena *arena)
{
	uint32_t end = 0, n = 0, *slots = NULL;

	/* Counted first, then listed. */
	for (int turn = 0; turn < 2; turn++) {
		n = 0;
		for (uint32_t i = 0; i < p->value.count; i++) {
			const struct step *s = &p->value.steps[i];
			const uint32_t to = optional_end(s);

			end = to > end ? to : end;
			for (unsigned k = 0; i < end && k < s->nkeeps; k++) {
				const struct keep *keep = &p->keeps[s->keeps + k];

				if (keep->what != KEEP_SLOT || keep->slot < CTF_SLOTS_FIXED)
					continue;
				if (slots)
					slots[n] = keep->slot;
				n++;
			}
		}
		if (!n)
			return true;
		if (!slots && !(slots = arena_alloc(arena, n * sizeof(*slots))))
			return false;
		end = 0;
	}
	p->optional = slots;
	p->noptional = n;
	return true;
}

enum spur_status plan_compile(struct ctf_program **out, struct spur_trace *t, struct ctf_meta *m,
			      struct arena *arena, const struct ctf_scope_fields *scopes,
			      size_t nscopes, struct spur_error *err)
{
	struct build b = { .t = t, .m = m, .arena = arena, .err = err };
	struct ctf_program *p = arena_alloc(arena, sizeof(*p));

	*out = NULL;
	if (!p)
		return err_nomem(err);
	p->skip = build_code(&b, scopes, nscopes, false);
	p->value = build_code(&b, scopes, nscopes, true);
	p->keeps = arena_copy(&b, b.keeps, b.nkeeps, sizeof(*b.keeps));
	p->tables = arena_copy(&b, b.tables, b.ntables, sizeof(*b.tables));
	mem_free(b.steps);
	mem_free(b.keeps);
	mem_free(b.tables);
	if (b.failed)
		return SPUR_FAIL;
	mark_scopes(p->value);
	if (!list_optional(p, arena) ||
	    !bytes_compile(&p->bytes, arena, &p->skip, &p->value, p->keeps))
		return err_nomem(err);
	*out = p;
	return SPUR_OK;
}

/* A step's slot that it reads, or CTF_NO_SLOT. */
static uint32_t step_asks(const struct step *s)
{
	switch ((enum step_code)s->code) {
	case STEP_SKIP_DYNAMIC:
	case STEP_LOOP_DYNAMIC:
	case STEP_SELECT:
	case STEP_OPTION:
	case STEP_TEXT_DYNAMIC:
	case STEP_BLOB_DYNAMIC:
		return s->slot;
	default:
		return CTF_NO_SLOT;
	}
}

void plan_fills(const struct ctf_program *p, bool *filled, uint32_t n)
{
	for (uint32_t i = 0; i < p->value.count; i++) {
		const struct step *s = &p->value.steps[i];

		for (unsigned k = 0; k < s->nkeeps; k++)
			if (p->keeps[s->keeps + k].what == KEEP_SLOT &&
			    p->keeps[s->keeps + k].slot < n)
				filled[p->keeps[s->keeps + k].slot] = true;
	}
}

bool plan_asks(const struct ctf_program *p, const bool *filled, uint32_t n)
{
	for (uint32_t i = 0; i < p->value.count; i++) {
		const uint32_t slot = step_asks(&p->value.steps[i]);

		if (slot < n && filled[slot])
			return true;
	}
	return false;
}

uint32_t plan_capture(struct ctf_meta *m, struct ctf_field *structure, const char *name)
{
	for (uint32_t i = 0; structure && i < structure->nmembers; i++) {
		struct ctf_field *f = structure->members[i].field;
		const bool text = f->kind == CTF_STRING || f->kind == CTF_STRING_STATIC;

		if (!structure->members[i].shown || strcmp(structure->members[i].shown, name) != 0)
			continue;
		if (!text && !(f->kind <= CTF_SINT && f->size <= 64) && f->kind != CTF_VAR_UINT &&
		    f->kind != CTF_VAR_SINT)
			return CTF_NO_SLOT;
		if (f->save == CTF_NO_SLOT && m->nslots < META_SLOTS) {
			/* Its class may be shared with other members: this one gets its own. */
			struct ctf_field *own = arena_alloc(&m->arena, sizeof(*own));

			if (!own)
				return CTF_NO_SLOT;
			*own = *f;
			own->save = m->nslots++;
			own->fixed = 0;
			structure->fixed = 0;
			structure->members[i].field = f = own;
		}
		return f->save == CTF_NO_SLOT ? f->save : slot_index(f->save);
	}
	return CTF_NO_SLOT;
}
