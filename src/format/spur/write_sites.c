/* Sites, functions and modules: each is described once in each file that needs it. */
#include "format/spur/write.h"

#include "base/bits.h"
#include "model/symbol/demangle.h"

static void put(struct sw *w, uint64_t v, unsigned bytes)
{
	uint8_t p[8];

	store64(p, v, order_swaps(false));
	out_bytes(&w->body, p, bytes);
}

static void put_text(struct sw *w, uint32_t string)
{
	size_t len;
	const char *const s = trace_string(w->trace, string, &len);

	if (len > UINT16_MAX) {
		sw_lose(w, SW_LOST_TEXT);
		len = UINT16_MAX;
	}
	put(w, len, 2);
	out_bytes(&w->body, s, len);
}

/* SPEC spur/nested */
static void put_nodes(struct sw *w)
{
	for (size_t i = 0; i < w->nnodes; i++) {
		const unsigned type = w->nodes[i].type & SPB_TYPE_MASK;

		put(w, w->nodes[i].type, 1);
		put_text(w, w->nodes[i].name);
		if (type == SPB_STRUCT || type == SPB_TUPLE)
			put(w, w->nodes[i].count, 2);
	}
}

/* SPEC spur/site-has, SPEC spur/class-of */
static bool site_describe(struct sw *w, const struct sw_key *key, uint32_t number)
{
	const struct event_class *const c = trace_class(w->trace, key->cls);

	out_clear(&w->body);
	put(w, number, 4);
	put(w, key->kind, 1);
	put(w, key->end ? 0 : w->nargs, 1);
	put(w, key->end ? w->nargs : 0, 1);
	put(w, key->has | (key->of ? SPB_HAS_MORE : 0u), 1);
	put(w, c->line, 4);
	put_text(w, key->cat);
	put_text(w, key->name);
	put_text(w, c->file);
	put_nodes(w);
	if (key->of)
		put(w, key->of, 4);
	return sw_describe(w, &w->files[key->file], SPB_SITE);
}

/* The number of a module in the file; 0 if out of memory. */
static uint32_t module_of(struct sw *w, uint32_t file, uint32_t path)
{
	struct map64_slot *const slot = map64_put(&w->modules, (uint64_t)file << 32 | path);

	if (!slot || slot->value)
		return slot ? (uint32_t)slot->value : 0;
	slot->value = ++w->files[file].nmodules;
	out_clear(&w->body);
	put(w, slot->value, 4);
	put(w, 0, 4);
	/* It covers no address: its functions are described. */
	for (unsigned i = 0; i < 4; i++)
		put(w, 0, 8);
	put(w, 0, 2);
	put_text(w, path);
	return sw_describe(w, &w->files[file], SPB_MODULE) ? (uint32_t)slot->value : 0;
}

/*
 * The name that becomes the shown one when the recording is read: the raw one, unless something
 * else than demangling made the shown one.
 */
static uint32_t raw_name(struct sw *w, const struct event_class *c, uint32_t name)
{
	struct demangled d;

	if (!c->raw || c->raw == c->name || name != c->name)
		return name;
	d = demangle_class(w->trace, trace_string(w->trace, c->raw, NULL));
	return d.name == name ? c->raw : name;
}

/* SPEC spur/function-is */
static bool function_describe(struct sw *w, const struct sw_key *key, uint32_t number)
{
	const struct event_class *const c = trace_class(w->trace, key->cls);
	const uint32_t module = c->module ? module_of(w, key->file, c->module) : 0;
	unsigned is = SPB_FUNCTION_MORE;

	if (c->module && !module)
		return false;
	is |= c->flags & CLASS_KERNEL ? SPB_FUNCTION_KERNEL : 0u;
	is |= c->flags & CLASS_LIBRARY ? SPB_FUNCTION_LIBRARY : 0u;
	is |= c->flags & CLASS_UNKNOWN ? SPB_FUNCTION_UNKNOWN : 0u;
	out_clear(&w->body);
	put(w, number, 4);
	put(w, module, 4);
	put(w, c->addr, 8);
	put(w, key->end ? 0 : w->nargs, 1);
	put(w, key->end ? w->nargs : 0, 1);
	put(w, is, 2);
	put_text(w, raw_name(w, c, key->name));
	put_nodes(w);
	put(w, key->of, 4);
	put(w, c->line, 4);
	put(w, c->size, 4);
	put_text(w, key->cat);
	put_text(w, c->file);
	put_text(w, class_library(c));
	return sw_describe(w, &w->files[key->file], SPB_FUNCTION);
}

static bool site_is(const struct sw *w, const struct sw_site *s, const struct sw_key *key)
{
	if (memcmp(&s->key, key, sizeof(*key)) != 0)
		return false;
	return key->first ||
	       (s->nargs == w->nargs && s->nnodes == w->nnodes &&
		(!w->nnodes || memcmp(s->nodes, w->nodes, w->nnodes * sizeof(*w->nodes)) == 0));
}

static uint64_t site_hash(const struct sw *w, const struct sw_key *key)
{
	const uint64_t hash = hash_bytes(key, sizeof(*key), 0);

	if (key->first || !w->nnodes)
		return hash;
	return hash_bytes(w->nodes, w->nnodes * sizeof(*w->nodes), hash ^ w->nargs);
}

static uint32_t site_find(const struct sw *w, const struct sw_key *key)
{
	const struct map64_slot *const slot = map64_find(&w->site_index, site_hash(w, key));

	for (uint32_t i = slot ? (uint32_t)slot->value : 0; i; i = w->sites[i - 1].next)
		if (site_is(w, &w->sites[i - 1], key))
			return w->sites[i - 1].number;
	return 0;
}

/* Returns false if out of memory. */
static bool site_keep(struct sw *w, const struct sw_key *key, uint32_t number)
{
	const size_t size = key->first ? 0 : w->nnodes * sizeof(*w->nodes);
	struct sw_node *const nodes = size ? arena_alloc(&w->arena, size) : NULL;
	struct map64_slot *const slot = map64_put(&w->site_index, site_hash(w, key));

	if (!slot || (size && !nodes) ||
	    !mem_grow((void **)&w->sites, &w->sites_cap, w->nsites + 1, sizeof(*w->sites),
		      UINT32_MAX))
		return false;
	if (size)
		memcpy(nodes, w->nodes, size);
	w->sites[w->nsites++] = (struct sw_site){ .key = *key,
						  .number = number,
						  .next = (uint32_t)slot->value,
						  .nnodes = (uint32_t)(size / sizeof(*w->nodes)),
						  .nargs = w->nargs,
						  .nodes = nodes };
	slot->value = w->nsites;
	return true;
}

/* Returns the number of the new one; 0 if out of memory, or with w->write->error set. */
static uint32_t site_add(struct sw *w, const struct sw_key *key)
{
	struct sw_file *const f = &w->files[key->file];
	uint32_t *const count = key->kind ? &f->nsites : &f->nfunctions, number;

	if (*count == SW_SITES) {
		err_set(&w->write->error, SPUR_ERR_USAGE,
			"a recording has at most %d functions and kinds of events, found more",
			SW_SITES);
		return 0;
	}
	number = ++*count;
	if (!site_keep(w, key, number) ||
	    !(key->kind ? site_describe(w, key, number) : function_describe(w, key, number)))
		return 0;
	return number;
}

uint32_t sw_site_of(struct sw *w, const struct sw_key *key, uint32_t *base)
{
	struct sw_key first = *key, with = *key;
	uint32_t number = site_find(w, key);

	if (number || key->of) {
		if (!key->of)
			*base = number;
		return number ? number : site_add(w, key);
	}
	first.first = 1;
	*base = with.of = site_find(w, &first);
	if (with.of) {
		number = site_find(w, &with);
		return number ? number : site_add(w, &with);
	}
	number = site_add(w, key);
	*base = number;
	return number && site_keep(w, &first, number) ? number : 0;
}

uint32_t sw_function_of(struct sw *w, uint32_t file, uint32_t cls)
{
	const struct event_class *const c = trace_class(w->trace, cls);
	const struct sw_key key = { .file = file, .cls = cls, .name = c->name, .cat = c->cat };
	const size_t nnodes = w->nnodes;
	const uint16_t nargs = w->nargs;
	uint32_t base;

	w->nnodes = w->nargs = 0;
	sw_site_of(w, &key, &base);
	w->nnodes = nnodes;
	w->nargs = nargs;
	return base;
}
