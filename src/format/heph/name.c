/* See name.h. */
#include "format/heph/name.h"

static_assert(HEPH_NAME_SLOTS == 1 << (64 - 53), "heph_name_get() takes the top bits");

static struct heph_name *name_at(const struct heph_names *n, size_t i)
{
	return &n->pages[i / HEPH_NAME_PAGE][i % HEPH_NAME_PAGE];
}

static uint64_t name_id(const void *names, uint32_t i)
{
	return name_at(names, i)->id;
}

/* The last of the entries. Returns NULL if out of memory. */
static const struct heph_name *name_new(struct heph_names *n, uint32_t id)
{
	const size_t page = n->count / HEPH_NAME_PAGE;
	struct event_class c = n->model;
	uint8_t brief[16] = { 0 };
	uint64_t words[4];
	struct heph_name *e;
	size_t len;

	if (!mem_grow((void **)&n->pages, &n->pages_cap, page + 1, sizeof(e), HEPH_NAMES))
		return NULL;
	if (!n->pages[page])
		n->pages[page] = mem_array(HEPH_NAME_PAGE, sizeof(*e));
	if (!n->pages[page])
		return NULL;
	e = name_at(n, n->count);
	*e = (struct heph_name){ .id = id, .text = intern_text(n->trace->strings, id, &len) };
	e->len = (uint32_t)len;
	memcpy(brief + 8, e->text, len < 8 ? len : 0);
	heph_name_words(len < 8 ? brief + 8 : (const uint8_t *)e->text, len, words);
	e->first = words[0];
	if (c.flags) {
		c.name = c.simple = c.raw = id;
		e->cls = trace_add_class(n->trace, &c);
		if (!e->cls)
			return NULL;
	}
	n->count++;
	return e;
}

bool heph_names_init(struct heph_names *n, struct spur_trace *t, uint32_t flags, const char *cat)
{
	pthread_mutex_init(&n->lock, NULL);
	n->trace = t;
	n->model = (struct event_class){ .flags = flags, .cat = trace_intern(t, cat) };
	n->other = name_new(n, trace_intern(t, "(other)"));
	return n->other;
}

void heph_names_free(struct heph_names *n)
{
	if (!n->trace)
		return;
	pthread_mutex_destroy(&n->lock);
	key_index_free(&n->by_id);
	for (size_t i = 0; i < n->pages_cap; i++)
		mem_free(n->pages[i]);
	mem_free(n->pages);
}

/* Under the lock. */
static const struct heph_name *name_find(struct heph_names *n, const char *p, size_t len)
{
	struct spur_trace *t = n->trace;
	const bool full = n->count > HEPH_NAMES || n->bytes + len > HEPH_NAME_BYTES;
	const uint32_t id = full ? intern_find(t->strings, p, len) : intern_put(t->strings, p, len);
	const struct heph_name *e;
	uint32_t i;

	if (id == INTERN_NONE)
		return full ? n->other : NULL;
	i = key_index_find(&n->by_id, id, name_id, n);
	if (i != KEY_INDEX_NONE)
		return name_at(n, i);
	if (full)
		return n->other;
	e = name_new(n, id);
	if (!e || !key_index_add(&n->by_id, (uint32_t)n->count - 1, name_id, n))
		return NULL;
	n->bytes += len;
	return e;
}

const struct heph_name *heph_name_slow(struct heph_names *n, const uint8_t *p, size_t len,
				       size_t slot)
{
	const struct heph_name *e;

	pthread_mutex_lock(&n->lock);
	e = name_find(n, (const char *)p, len);
	pthread_mutex_unlock(&n->lock);
	if (e && e != n->other)
		__atomic_store_n(&n->slots[slot], (struct heph_name *)(uintptr_t)e,
				 __ATOMIC_RELEASE);
	return e;
}
