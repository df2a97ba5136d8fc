/* Descriptors: sites, functions, modules, and names of threads, fibers and strings. */
#include "format/spur/reader.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const own_names[SPB_CLASSES] = {
	[SPB_CLASS_LOST] = "lost events",
	[SPB_CLASS_SWITCH] = "switch",
	[SPB_CLASS_RETURN] = "return",
	[SPB_CLASS_UNKNOWN] = "unknown record",
	[SPB_CLASS_TIME] = "time",
	[SPB_CLASS_FIBER] = "fiber",
	[SPB_CLASS_PAD] = "pad",
	[SPB_CLASS_DESCRIPTOR] = "descriptor",
	[SPB_CLASS_OTHERS] = "other functions",
};

static const char *const word_names[SPB_WORDS] = {
	[SPB_W_KIND] = "kind",	     [SPB_W_ID] = "id",	    [SPB_W_TIME] = "time",
	[SPB_W_PAYLOAD] = "payload", [SPB_W_SIZE] = "size", [SPB_W_TYPE] = "type",
};

/* How a type of argument is decoded. SPEC spur/argument */
static const struct plan_op type_ops[] = {
	[SPB_I64] = { .code = PLAN_INT, .size = 8 },
	[SPB_U64] = { .code = PLAN_UINT, .size = 8 },
	[SPB_F64] = { .code = PLAN_FLOAT, .size = 8 },
	[SPB_BOOL] = { .code = PLAN_BOOL, .size = 8 },
	[SPB_POINTER] = { .code = PLAN_POINTER, .size = 8, .show = SPUR_SHOW_HEX },
	[SPB_TEXT] = { .code = PLAN_STR16 },
	[SPB_BYTES] = { .code = PLAN_BYTES16 },
	[SPB_STRING_ID] = { .code = PLAN_UINT, .size = 8, .show = SPB_SHOW_STRING },
	[SPB_CHAR] = { .code = PLAN_CHAR, .size = 1, .show = SPUR_SHOW_CHAR },
};

enum { TYPES = sizeof(type_ops) / sizeof(*type_ops) };

bool spb_names_open(struct spb *s)
{
	for (size_t i = 0; i < SPB_WORDS; i++)
		s->words[i] = trace_intern(s->t, word_names[i]);
	for (size_t i = 0; i < SPB_CLASSES; i++) {
		struct event_class c = { .flags = CLASS_EVENT };

		if (i == SPB_CLASS_OTHERS || i == SPB_CLASS_RETURN)
			c.flags = CLASS_FUNCTION | CLASS_UNKNOWN;
		c.name = c.simple = c.raw = trace_intern(s->t, own_names[i]);
		s->own[i] = trace_add_class(s->t, &c);
		if (!s->own[i])
			return false;
	}
	return true;
}

void spb_names_close(struct spb *s)
{
	for (size_t i = 0; i < s->nmodules; i++) {
		symtab_free(&s->modules[i].syms);
		dwarf_close(s->modules[i].lines);
	}
	mem_free(s->modules);
	mem_free(s->sites.items);
	mem_free(s->functions.items);
	map64_free(&s->by_address);
	map64_free(&s->fibers);
	map64_free(&s->strings);
}

/* --- descriptors --- */

bool spb_descriptor_next(const struct spb *s, struct spb_cursor *c, struct diag_log *diag,
			 struct cursor *body, uint32_t *type)
{
	while (c->at < c->end) {
		const uint8_t *const p = c->at;
		const size_t done = (size_t)(p - c->base), left = SPB_PAGE - done % SPB_PAGE;
		const size_t most = left < (size_t)(c->end - p) ? left : (size_t)(c->end - p);
		const uint32_t size = spb_32(p);

		/* SPEC spur/descriptor: the rest of a page is zero. */
		if (!size) {
			c->at = p + most;
			continue;
		}
		if (size < SPB_DESCRIPTOR_HEAD || size > most || size % SPB_WORD) {
			if (diag)
				diag_add(diag, DIAG_DAMAGE, "spur/descriptor-size", s->file,
					 spb_off(s, p), most,
					 "descriptor: expected a size of 8 to %zu bytes in whole "
					 "words, found %u: the rest of the page is skipped",
					 most, size);
			c->at = p + most;
			continue;
		}
		*type = spb_32(p + 4);
		*body = cursor_make(p + SPB_DESCRIPTOR_HEAD, size - SPB_DESCRIPTOR_HEAD,
				    order_swaps(false));
		c->at = p + size;
		return true;
	}
	return false;
}

/* A text with 2 bytes of length before it. */
static struct text take_text(struct cursor *b)
{
	const size_t len = cursor_u16(b);
	const uint8_t *const p = cursor_bytes(b, len);

	return text_make(p ? p : b->p, p ? len : 0);
}

static uint32_t take_string(struct spb *s, struct cursor *b)
{
	const struct text v = take_text(b);

	return trace_intern_n(s->t, v.p, v.len);
}

/*
 * The decode plan of `n` arguments that the descriptor names. Sets *out to NULL if it has none.
 * Returns false if out of memory.
 */
static bool take_plan(struct spb *s, struct cursor *b, uint8_t n, const struct plan **out)
{
	struct plan_op *const ops = n ? arena_alloc(&s->t->arena, n * sizeof(*ops)) : NULL;
	struct plan *const plan = n ? arena_alloc(&s->t->arena, sizeof(*plan)) : NULL;
	uint32_t count = 0;

	*out = NULL;
	if (!n)
		return true;
	if (!ops || !plan)
		return false;
	for (; count < n; count++) {
		const uint8_t type = cursor_u8(b);
		const uint32_t name = take_string(s, b);

		if (b->bad || !type || type >= TYPES) {
			b->bad = true;
			break;
		}
		ops[count] = type_ops[type];
		ops[count].name = name;
		ops[count].align = SPB_WORD;
	}
	*plan = (struct plan){
		.ops = ops, .count = count, .swap = order_swaps(false), .tail_align = SPB_WORD
	};
	*out = plan;
	return true;
}

/* Returns false, with *s set to NULL if out of memory. */
static struct spb_site *table_slot(struct spb_table *t, uint32_t id)
{
	if (!mem_grow((void **)&t->items, &t->cap, (size_t)id + 1, sizeof(*t->items), SPB_SITES))
		return NULL;
	return &t->items[id];
}

static bool describe_site(struct spb *s, struct cursor *b)
{
	const uint32_t id = cursor_u32(b);
	const uint8_t kind = cursor_u8(b), nargs = cursor_u8(b), nresults = cursor_u8(b);
	struct event_class c = { .flags = CLASS_EVENT | CLASS_CATEGORY };
	struct class_more more = { .entry = NULL };
	struct spb_site *site;

	cursor_u8(b);
	c.line = cursor_u32(b);
	c.cat = take_string(s, b);
	c.name = c.simple = c.raw = take_string(s, b);
	c.file = take_string(s, b);
	if (!take_plan(s, b, nargs, &more.entry) || !take_plan(s, b, nresults, &more.exit))
		return false;
	if (more.entry || more.exit)
		c.more = &more;
	if (b->bad || !id || id >= SPB_SITES || !kind || kind > SPB_SITE_LOG) {
		b->bad = true;
		return true;
	}
	site = table_slot(&s->sites, id);
	if (!site)
		return false;
	if (site->known)
		return true;
	site->cls = trace_add_class(s->t, &c);
	site->kind = kind;
	site->nargs = nargs;
	site->nresults = nresults;
	site->known = true;
	return site->cls != 0;
}

static bool describe_function(struct spb *s, struct cursor *b)
{
	const uint32_t id = cursor_u32(b), module = cursor_u32(b);
	const uint64_t addr = cursor_u64(b);
	const uint8_t nargs = cursor_u8(b), nresults = cursor_u8(b);
	struct spb_site *fn, made = {
		.addr = addr, .module = module, .nargs = nargs, .nresults = nresults, .known = true
	};
	struct text name;

	cursor_u16(b);
	name = take_text(b);
	if (name.len)
		made.name = trace_intern_n(s->t, name.p, name.len);
	if (!take_plan(s, b, nargs, &made.entry) || !take_plan(s, b, nresults, &made.exit))
		return false;
	if (b->bad || !id || id >= SPB_SITES) {
		b->bad = true;
		return true;
	}
	fn = table_slot(&s->functions, id);
	if (fn && !fn->known)
		*fn = made;
	return fn != NULL;
}

static bool describe_module(struct spb *s, struct cursor *b)
{
	struct spb_module m = { .unloaded = UINT64_MAX };
	struct text id;

	m.number = cursor_u32(b);
	cursor_u32(b);
	m.begin = cursor_u64(b);
	m.end = cursor_u64(b);
	m.shift = cursor_u64(b);
	m.loaded = cursor_u64(b);
	id = take_text(b);
	m.path = take_string(s, b);
	if (b->bad || m.end < m.begin) {
		b->bad = true;
		return true;
	}
	for (size_t i = 0; i < id.len && i < (sizeof(m.build_id) - 1) / 2; i++)
		snprintf(m.build_id + 2 * i, 3, "%02x", (uint8_t)id.p[i]);
	if (s->nmodules == SPB_MODULES)
		return true;
	if (!mem_grow((void **)&s->modules, &s->modules_cap, s->nmodules + 1, sizeof(*s->modules),
		      SPB_MODULES))
		return false;
	symtab_init(&m.syms);
	s->modules[s->nmodules++] = m;
	return true;
}

static bool describe_unload(struct spb *s, struct cursor *b)
{
	const uint32_t number = cursor_u32(b);
	uint64_t ticks;

	cursor_u32(b);
	ticks = cursor_u64(b);
	for (size_t i = s->nmodules; !b->bad && i-- > 0;)
		if (s->modules[i].number == number && s->modules[i].unloaded == UINT64_MAX) {
			s->modules[i].unloaded = ticks;
			s->moves = true;
			break;
		}
	return true;
}

static bool describe_thread(struct spb *s, struct cursor *b)
{
	const uint32_t number = cursor_u32(b);
	const struct map64_slot *slot = map64_find(&s->by_number, number);
	uint32_t name;

	cursor_u32(b);
	name = take_string(s, b);
	if (!b->bad && slot)
		s->threads[slot->value - 1].name = name;
	return true;
}

/* The track is made when all names are known; until then the value is the name. */
static bool describe_fiber(struct spb *s, struct cursor *b)
{
	const uint64_t id = cursor_u64(b);
	const uint32_t name = take_string(s, b);
	struct map64_slot *slot;

	if (b->bad || s->fibers.count >= SPB_FIBERS)
		return true;
	slot = map64_put(&s->fibers, id);
	if (slot)
		slot->value = name;
	return slot != NULL;
}

static bool describe_string(struct spb *s, struct cursor *b)
{
	const uint64_t id = cursor_u64(b);
	const uint32_t name = take_string(s, b);
	struct map64_slot *slot;

	if (b->bad)
		return true;
	slot = map64_put(&s->strings, id);
	if (slot)
		slot->value = name;
	return slot != NULL;
}

/* Returns false if out of memory; b->bad is set if the descriptor is not what its type says. */
static bool describe(struct spb *s, uint32_t type, struct cursor *b)
{
	switch ((enum spb_descriptor)type) {
	case SPB_SITE:
		return describe_site(s, b);
	case SPB_FUNCTION:
		return describe_function(s, b);
	case SPB_MODULE:
		return describe_module(s, b);
	case SPB_UNLOAD:
		return describe_unload(s, b);
	case SPB_THREAD_NAME:
		return describe_thread(s, b);
	case SPB_PROCESS_NAME:
		s->process_name = take_string(s, b);
		return true;
	case SPB_FIBER_NAME:
		return describe_fiber(s, b);
	case SPB_STRING:
		return describe_string(s, b);
	}
	s->nunknown_descriptors++;
	return true;
}

static int module_order(const void *a, const void *b)
{
	const struct spb_module *x = a, *y = b;

	return x->loaded != y->loaded ? (x->loaded > y->loaded ? 1 : -1)
				      : (x->number > y->number) - (x->number < y->number);
}

bool spb_describe(struct spb *s)
{
	for (size_t i = 0; i < s->nchunks; i++) {
		struct spb_cursor c;
		struct cursor body;
		uint32_t type;

		if (s->chunks[i].thread != SPUR_NONE)
			continue;
		spb_cursor_open(s, &c, s->chunks[i].number, SPUR_NONE);
		while (spb_descriptor_next(s, &c, &s->t->diag, &body, &type)) {
			if (!describe(s, type, &body))
				return false;
			if (body.bad)
				diag_add(&s->t->diag, DIAG_DAMAGE, "spur/bad-descriptor", s->file,
					 spb_off(s, body.start) - SPB_DESCRIPTOR_HEAD,
					 (uint64_t)(body.end - body.start),
					 "descriptor: expected the fields of type %u, found others "
					 "or fewer: not used",
					 type);
		}
	}
	if (s->nmodules)
		qsort(s->modules, s->nmodules, sizeof(*s->modules), module_order);
	return true;
}
