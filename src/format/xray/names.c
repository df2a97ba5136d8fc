/*
 * From a function id to its event class, made when the id is first met: name, module, source line
 * by the instrumentation map. The table of pages is shared by all feeds and read without a lock.
 */
#include <stdio.h>

#include "format/xray/reader.h"
#include "model/symbol/demangle.h"

enum {
	MAX_PAGES = 1 << 10, /* 128 MiB */
	PAGES = 1 << (XRAY_ID_BITS - XRAY_PAGE_BITS),
	/*
	 * Functions without a name; others share one class, so that damage cannot exhaust memory.
	 */
	MAX_UNKNOWN = 1 << 20,
	TYPES = 256, /* in a page of typed events */
};

static const char *const own_names[XRAY_CLASSES] = {
	[XRAY_CLASS_META + META_NEW_BUFFER] = "new buffer",
	[XRAY_CLASS_META + META_END_OF_BUFFER] = "end of buffer",
	[XRAY_CLASS_META + META_NEW_CPU] = "cpu",
	[XRAY_CLASS_META + META_TSC_WRAP] = "tsc wrap",
	[XRAY_CLASS_META + META_WALL_TIME] = "wall time",
	[XRAY_CLASS_META + META_CUSTOM] = "custom event",
	[XRAY_CLASS_META + META_ARGUMENT] = "call argument",
	[XRAY_CLASS_META + META_EXTENTS] = "buffer extents",
	[XRAY_CLASS_META + META_TYPED] = "typed event",
	[XRAY_CLASS_META + META_PID] = "pid",
	[XRAY_CLASS_UNKNOWN] = "unknown record",
	[XRAY_CLASS_HEADER] = "file header",
	[XRAY_CLASS_BLOCK] = "profile block",
	[XRAY_CLASS_OTHERS] = "fn#others",
	[XRAY_CLASS_REPEATED] = "repeated records",
};

/* SPEC xray/function-id: 28 bits, in basic and profiling mode 32 */
static bool open_pages(struct xray *x, uint32_t high)
{
	uint64_t **pages = mem_array(PAGES, sizeof(*pages));

	for (size_t i = 0; pages && i < PAGES; i++)
		pages[i] = x->no_page;
	__atomic_store_n(&x->pages[high], pages, __ATOMIC_RELEASE);
	return pages != NULL;
}

bool xray_names_open(struct xray *x)
{
	for (size_t i = 0; i < XRAY_CLASSES; i++) {
		struct event_class c = { .flags = i == XRAY_CLASS_OTHERS
							  ? CLASS_FUNCTION | CLASS_UNKNOWN
							  : CLASS_EVENT };

		c.name = c.simple = c.raw = trace_intern(x->t, own_names[i]);
		x->own[i] = trace_add_class(x->t, &c);
		if (!x->own[i])
			return false;
	}
	x->no_page = arena_alloc(&x->t->arena, XRAY_PAGE * sizeof(*x->no_page));
	return x->no_page && open_pages(x, 0);
}

void xray_names_close(struct xray *x)
{
	for (size_t i = 0; i < XRAY_PAGE_LISTS; i++)
		mem_free(x->pages[i]);
}

/* SPEC xray/function-name: by the map, else fn#ID */
static uint32_t add_function(struct xray *x, uint32_t id)
{
	struct event_class c = { .flags = CLASS_FUNCTION, .addr = id };
	struct map_function fn = { 0 };
	struct class_more more = { 0 };
	const bool known = xray_maps_function(x->maps, id, x->t->options.source_lines, &fn);
	struct demangled names;
	char name[32];

	if (!known)
		xray_maps_fit(x->maps, id, &x->t->diag);
	if (!known || !fn.name) {
		if (x->nunknown >= MAX_UNKNOWN)
			return x->own[XRAY_CLASS_OTHERS];
		x->nunknown++;
		snprintf(name, sizeof(name), "fn#%u", id);
		fn.name = name;
		c.flags |= CLASS_UNKNOWN;
	}
	names = demangle_class(x->t, fn.name);
	c.name = names.name;
	c.simple = names.simple;
	c.raw = names.raw;
	if (known) {
		c.module = fn.module ? trace_intern(x->t, fn.module) : 0;
		c.file = fn.file ? trace_intern(x->t, fn.file) : 0;
		c.line = fn.file ? fn.line : 0;
		if (fn.row.file) {
			more.row = (struct line_row){ .file = trace_intern(x->t, fn.row.file),
						      .line = fn.row.line,
						      .column = fn.row.column };
			c.more = &more;
		}
		c.addr = fn.address;
		c.size = class_size(fn.size);
	}
	return trace_add_class_locked(x->t, &c);
}

/*
 * The slot of an id, in a page that is made where it is missing; NULL: out of memory, or too many
 * pages.
 */
static uint64_t *find_slot(struct xray *x, uint32_t id)
{
	const uint32_t high = id >> XRAY_ID_BITS;
	uint64_t **at, *page;

	if (!x->pages[high] && !open_pages(x, high))
		return NULL;
	at = &x->pages[high][(id & ((1u << XRAY_ID_BITS) - 1)) >> XRAY_PAGE_BITS];
	page = *at;
	if (page == x->no_page) {
		page = x->npages < MAX_PAGES ? arena_alloc(&x->t->arena, XRAY_PAGE * sizeof(*page))
					     : NULL;
		if (!page)
			return NULL;
		x->npages++;
		__atomic_store_n(at, page, __ATOMIC_RELEASE);
	}
	return &page[id & (XRAY_PAGE - 1)];
}

uint64_t xray_words_new(struct xray *x, uint32_t id)
{
	uint64_t *slot, words = 0;
	uint32_t cls;

	pthread_mutex_lock(&x->t->lock);
	slot = find_slot(x, id);
	if (slot)
		words = *slot;
	if (!words) {
		/* Without a slot it would be looked for again and again. */
		cls = slot ? add_function(x, id) : x->own[XRAY_CLASS_OTHERS];
		words = cls ? row_pair(trace_class(x->t, cls)->name, cls) : 0;
		if (slot)
			__atomic_store_n(slot, words, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&x->t->lock);
	return !trace_short_of_memory(x->t) ? words : 0;
}

static uint32_t add_typed(struct xray *x, uint16_t type)
{
	struct event_class c = { .flags = CLASS_EVENT, .addr = type };
	char name[32];

	/* SPEC xray/typed-name: the numbers have no names in the trace */
	snprintf(name, sizeof(name), "typed event %u", type);
	c.name = c.simple = c.raw = trace_intern(x->t, name);
	return trace_add_class_locked(x->t, &c);
}

uint32_t xray_typed_class(struct xray *x, uint16_t type)
{
	uint32_t **const at = &x->typed[type / TYPES];
	uint32_t *page = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	uint32_t cls = page ? __atomic_load_n(&page[type % TYPES], __ATOMIC_ACQUIRE) : 0;

	if (cls)
		return cls;
	pthread_mutex_lock(&x->t->lock);
	page = *at ? *at : arena_alloc(&x->t->arena, TYPES * sizeof(*page));
	if (page) {
		__atomic_store_n(at, page, __ATOMIC_RELEASE);
		cls = page[type % TYPES] ? page[type % TYPES] : add_typed(x, type);
		__atomic_store_n(&page[type % TYPES], cls, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&x->t->lock);
	return cls;
}
