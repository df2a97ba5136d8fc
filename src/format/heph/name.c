/* See name.h. */
#include "format/heph/name.h"

static_assert(HEPH_NAME_SLOTS == 1 << (64 - 53), "heph_name_get() takes the top bits");

static struct heph_name *name_new(struct heph_names *n, uint32_t id)
{
	struct heph_name *e = arena_alloc(&n->arena, sizeof(*e));
	struct event_class c = n->model;
	uint8_t brief[16] = { 0 };
	size_t len;

	if (!e)
		return NULL;
	e->id = id;
	e->text = intern_text(n->trace->strings, id, &len);
	e->len = len;
	memcpy(brief + 8, e->text, len < 8 ? len : 0);
	heph_name_words(len < 8 ? brief + 8 : (const uint8_t *)e->text, len, e->words);
	if (c.flags) {
		c.name = c.simple = c.raw = id;
		e->cls = trace_add_class(n->trace, &c);
	}
	return c.flags && !e->cls ? NULL : e;
}

bool heph_names_init(struct heph_names *n, struct spur_trace *t, uint32_t flags, const char *cat)
{
	pthread_mutex_init(&n->lock, NULL);
	arena_init(&n->arena);
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
	map64_free(&n->by_id);
	arena_free(&n->arena);
}

/* Under the lock. */
static const struct heph_name *name_find(struct heph_names *n, const char *p, size_t len)
{
	struct spur_trace *t = n->trace;
	const bool full = n->count >= HEPH_NAMES || n->bytes + len > HEPH_NAME_BYTES;
	const uint32_t id = full ? intern_find(t->strings, p, len) : intern_put(t->strings, p, len);
	struct map64_slot *s;
	struct heph_name *e;

	if (id == INTERN_NONE)
		return full ? n->other : NULL;
	s = full ? map64_find(&n->by_id, id) : map64_put(&n->by_id, id);
	if (!s)
		return full ? n->other : NULL;
	if (!s->value) {
		e = name_new(n, id);
		if (!e)
			return NULL;
		n->count++;
		n->bytes += len;
		s->value = (uintptr_t)e;
	}
	return (const struct heph_name *)(uintptr_t)
		s->value; /* NOLINT: an address that was put there */
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
