/* Descriptors: sites, functions, modules, and names of threads, fibers and strings. */
#include "format/spur/reader.h"

static const char *const own_names[SPB_CLASSES] = {
	[SPB_CLASS_LOST] = "lost events",
	[SPB_CLASS_SWITCH] = "switch",
	[SPB_CLASS_RETURN] = "return",
	[SPB_CLASS_UNKNOWN] = "unknown record",
	[SPB_CLASS_TIME] = "time",
	[SPB_CLASS_FIBER] = "fiber",
	[SPB_CLASS_CPU] = "cpu",
	[SPB_CLASS_PAD] = "pad",
	[SPB_CLASS_DESCRIPTOR] = "descriptor",
	[SPB_CLASS_OTHERS] = "other functions",
};

static const char *const word_names[SPB_WORDS] = {
	[SPB_W_KIND] = "kind",	     [SPB_W_ID] = "id",	    [SPB_W_TIME] = "time",
	[SPB_W_PAYLOAD] = "payload", [SPB_W_SIZE] = "size", [SPB_W_TYPE] = "type",
};

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

static void table_free(struct spb_table *t)
{
	mem_free(t->items);
	mem_free(t->far);
	map64_free(&t->by_number);
}

void spb_names_close(struct spb *s)
{
	spb_modules_free(&s->modules);
	table_free(&s->sites);
	table_free(&s->functions);
	map64_free(&s->by_address);
	map64_free(&s->fibers);
	map64_free(&s->strings);
	map64_free(&s->bad_descriptors);
}

/* --- descriptors --- */

/* The bytes that a page has behind `p`. */
static size_t page_left(const struct spb_cursor *c, const uint8_t *p)
{
	const size_t left = SPB_PAGE - (size_t)(p - c->base) % SPB_PAGE;

	return left < (size_t)(c->end - p) ? left : (size_t)(c->end - p);
}

/* SPEC spur/more: what continues a descriptor that fills its page. */
static void descriptor_more(struct spb_cursor *c, struct spb_described *d)
{
	while (c->at < c->end && (size_t)(c->at - c->base) % SPB_PAGE == 0 &&
	       c->end - c->at >= SPB_DESCRIPTOR_HEAD && spb_32(c->at + 4) == SPB_MORE_DESCRIPTOR) {
		const uint32_t size = spb_32(c->at);

		if (size < SPB_DESCRIPTOR_HEAD || size % SPB_WORD || size > page_left(c, c->at))
			return;
		d->len += size;
		c->at += size;
	}
}

/* The body of a descriptor with what continues it. Returns false if out of memory. */
static bool descriptor_join(struct spb *s, struct spb_described *d)
{
	const uint8_t *const end = d->p + d->len, *p = d->p;
	uint8_t *all;
	size_t len = 0;

	if (spb_32(p) == d->len)
		return true;
	all = arena_alloc(&s->t->arena, d->len);
	if (!all)
		return false;
	while (end - p >= SPB_DESCRIPTOR_HEAD) {
		const size_t size = spb_32(p);

		/* A file that is being written to may have changed. */
		if (size < SPB_DESCRIPTOR_HEAD || size > (size_t)(end - p))
			break;
		memcpy(all + len, p + SPB_DESCRIPTOR_HEAD, size - SPB_DESCRIPTOR_HEAD);
		len += size - SPB_DESCRIPTOR_HEAD;
		p += size;
	}
	d->body = cursor_make(all, len, order_swaps(false));
	return true;
}

bool spb_descriptor_next(const struct spb *s, struct spb_cursor *c, struct diag_log *diag,
			 struct spb_described *d)
{
	while (c->at < c->end) {
		const uint8_t *const p = c->at;
		const size_t most = page_left(c, p);
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
		*d = (struct spb_described){ .p = p, .len = size, .type = spb_32(p + 4) };
		d->body = cursor_make(p + SPB_DESCRIPTOR_HEAD, size - SPB_DESCRIPTOR_HEAD,
				      order_swaps(false));
		c->at = p + size;
		if (size == most)
			descriptor_more(c, d);
		return true;
	}
	return false;
}

/* A text with 2 bytes of length before it. */
struct text spb_take_text(struct cursor *b)
{
	const size_t len = cursor_u16(b);
	const uint8_t *const p = cursor_bytes(b, len);

	return text_make(p ? p : b->p, p ? len : 0);
}

uint32_t spb_take_string(struct spb *s, struct cursor *b)
{
	const struct text v = spb_take_text(b);

	return trace_intern_n(s->t, v.p, v.len);
}

/*
 * The place of a number that is not described yet. The array is at most twice as long as there are
 * descriptors, plus a little, so that a single large number does not take the memory of all below
 * it. Returns NULL if out of memory.
 */
static struct spb_site *table_slot(struct spb_table *t, uint32_t id)
{
	struct map64_slot *slot;

	t->known++;
	if (id < t->cap || id < 2 * t->known + SPB_NEAR)
		return mem_grow((void **)&t->items, &t->cap, (size_t)id + 1, sizeof(*t->items),
				SPB_SITES)
			       ? &t->items[id]
			       : NULL;
	slot = map64_put(&t->by_number, id);
	if (!slot ||
	    !mem_grow((void **)&t->far, &t->far_cap, t->nfar + 1, sizeof(*t->far), SPB_SITES))
		return NULL;
	slot->value = ++t->nfar;
	return &t->far[t->nfar - 1];
}

/*
 * SPEC spur/class-of: puts it into the class of the one that its descriptor names, if there is such
 * a one that has a class of its own. Returns that one, or NULL.
 */
static struct spb_site *table_join(const struct spb_table *t, struct spb_site *site, uint32_t id,
				   uint32_t of)
{
	struct spb_site *const base = of && of != id ? spb_table_find(t, of) : NULL;

	if (!base || base->of)
		return NULL;
	site->of = of;
	site->next = base->next;
	base->next = id;
	return base;
}

static bool site_class(struct spb *s, struct event_class *c, uint32_t id, uint32_t *cls)
{
	struct spb_family *const family = arena_alloc(&s->t->arena, sizeof(*family));
	const struct class_more more = { .extra = family };

	if (!family)
		return false;
	*family = (struct spb_family){ .of = s, .first = id };
	c->more = &more;
	*cls = trace_add_class_locked(s->t, c);
	c->more = NULL;
	return *cls != 0;
}

static bool describe_site(struct spb *s, struct cursor *b)
{
	const uint32_t id = cursor_u32(b);
	struct spb_site *site, *base, made = { .kind = cursor_u8(b), .known = true };
	struct event_class c = { .flags = CLASS_EVENT | CLASS_CATEGORY };
	uint32_t of = 0;

	made.nargs = cursor_u8(b);
	made.nresults = cursor_u8(b);
	made.has = cursor_u8(b);
	c.line = cursor_u32(b);
	c.cat = spb_take_string(s, b);
	c.name = c.simple = c.raw = spb_take_string(s, b);
	c.file = spb_take_string(s, b);
	if (!spb_take_shape(s, b, made.nargs, &made.entry) ||
	    !spb_take_shape(s, b, made.nresults, &made.exit))
		return false;
	if (made.has & SPB_HAS_MORE)
		of = cursor_u32(b);
	made.has &= SPB_HAS_ID | SPB_HAS_LENGTH | SPB_HAS_MARKS;
	if (made.kind >= SPB_SITE_ASYNC_BEGIN && made.kind <= SPB_SITE_FLOW_END)
		made.has |= SPB_HAS_ID;
	made.before = (uint8_t)(SPB_WORD * __builtin_popcount(made.has));
	if (b->bad || !id || id >= SPB_SITES || !made.kind || made.kind > SPB_SITE_WHOLE) {
		b->bad = true;
		return true;
	}
	if (spb_table_find(&s->sites, id))
		return true;
	site = table_slot(&s->sites, id);
	if (!site)
		return false;
	*site = made;
	base = table_join(&s->sites, site, id, of);
	if (!base)
		return site_class(s, &c, id, &site->cls);
	site->cls = base->cls;
	return true;
}

/* SPEC spur/function-is. Returns false if out of memory. */
static bool function_more(struct spb *s, struct cursor *b, struct spb_site *fn, uint32_t *of)
{
	struct spb_origin *const o = arena_alloc(&s->t->arena, sizeof(*o));

	if (!o)
		return false;
	*of = cursor_u32(b);
	o->line = cursor_u32(b);
	o->size = cursor_u32(b);
	o->cat = spb_take_string(s, b);
	o->file = spb_take_string(s, b);
	o->library = spb_take_string(s, b);
	fn->origin = o;
	return true;
}

static bool describe_function(struct spb *s, struct cursor *b)
{
	const uint32_t id = cursor_u32(b);
	struct spb_site *fn, made = { .module = cursor_u32(b), .known = true };
	uint32_t of = 0;
	struct text name;

	made.addr = cursor_u64(b);
	made.nargs = cursor_u8(b);
	made.nresults = cursor_u8(b);
	made.has = (uint8_t)cursor_u16(b);
	name = spb_take_text(b);
	if (name.len)
		made.name = trace_intern_n(s->t, name.p, name.len);
	if (!spb_take_shape(s, b, made.nargs, &made.entry) ||
	    !spb_take_shape(s, b, made.nresults, &made.exit))
		return false;
	if (made.has & SPB_FUNCTION_MORE && !function_more(s, b, &made, &of))
		return false;
	if (b->bad || !id || id >= SPB_SITES) {
		b->bad = true;
		return true;
	}
	if (spb_table_find(&s->functions, id))
		return true;
	fn = table_slot(&s->functions, id);
	if (!fn)
		return false;
	*fn = made;
	table_join(&s->functions, fn, id, of);
	return true;
}

static bool describe_thread(struct spb *s, struct cursor *b)
{
	const uint32_t number = cursor_u32(b);
	const struct map64_slot *slot = map64_find(&s->by_number, number);
	uint32_t name;

	cursor_u32(b);
	name = spb_take_string(s, b);
	/* In a file that grows, the thread's first chunk may come later. */
	if (!slot && s->follow && !b->bad && s->nthreads < SPB_THREADS) {
		if (spb_thread_get(s, number, 0) == SPUR_NONE)
			return false;
		slot = map64_find(&s->by_number, number);
	}
	if (!b->bad && slot)
		s->threads[slot->value - 1].name = name;
	return true;
}

/*
 * The track is made when all names are known; until then the value is the name. In a file that
 * grows the first name is that of the track.
 */
static bool describe_fiber(struct spb *s, struct cursor *b)
{
	const uint64_t id = cursor_u64(b);
	const uint32_t name = spb_take_string(s, b);
	struct map64_slot *slot;

	if (b->bad || s->fibers.count >= SPB_FIBERS)
		return true;
	slot = map64_put(&s->fibers, id);
	if (!slot)
		return false;
	if (!s->named) {
		slot->value = name;
	} else if (!slot->value) {
		slot->value = spb_track_new(s, name, SPUR_TRACK_OTHER, -1);
		s->t->tracks_shared = true;
	}
	return slot->value != SPUR_NONE;
}

static bool describe_string(struct spb *s, struct cursor *b)
{
	const uint64_t id = cursor_u64(b);
	const uint32_t name = spb_take_string(s, b);
	struct map64_slot *slot;

	if (b->bad)
		return true;
	slot = map64_put(&s->strings, id);
	if (slot)
		slot->value = name;
	return slot != NULL;
}

/* SPEC spur/track */
static bool describe_track(struct spb *s, struct cursor *b)
{
	const uint32_t number = cursor_u32(b);
	struct spb_track k = { .parent = cursor_u32(b) };
	uint32_t name, thread;

	k.kind = cursor_u8(b);
	cursor_u8(b);
	cursor_u16(b);
	k.cpu = (int32_t)cursor_u32(b);
	k.pid = (int64_t)cursor_u64(b);
	k.tid = (int64_t)cursor_u64(b);
	name = spb_take_string(s, b);
	if (b->bad || k.kind > SPUR_TRACK_LANE) {
		b->bad = true;
		return true;
	}
	if (!number) {
		s->pid = k.pid;
		return true;
	}
	if (!spb_thread_fits(s, number))
		return true;
	thread = spb_thread_get(s, number, 0);
	if (thread == SPUR_NONE || !mem_grow((void **)&s->tracks, &s->tracks_cap, s->ntracks + 1,
					     sizeof(*s->tracks), SPB_THREADS + 1))
		return false;
	if (s->threads[thread].described || s->ntracks > SPB_THREADS)
		return true;
	s->tracks[s->ntracks] = k;
	s->threads[thread].described = (uint32_t)++s->ntracks;
	if (name)
		s->threads[thread].name = name;
	return true;
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
		return spb_describe_module(s, b);
	case SPB_UNLOAD:
		spb_describe_unload(s, b);
		return true;
	case SPB_THREAD_NAME:
		return describe_thread(s, b);
	case SPB_PROCESS_NAME:
		s->process_name = spb_take_string(s, b);
		return true;
	case SPB_FIBER_NAME:
		return describe_fiber(s, b);
	case SPB_STRING:
		return describe_string(s, b);
	case SPB_TRACK:
		return describe_track(s, b);
	case SPB_MORE_DESCRIPTOR:
		break;
	}
	s->nunknown_descriptors++;
	return true;
}

bool spb_describe_one(struct spb *s, struct spb_described *d)
{
	if (!descriptor_join(s, d) || !describe(s, d->type, &d->body))
		return false;
	if (d->body.bad && !map64_put(&s->bad_descriptors, spb_off(s, d->p)))
		return false;
	if (d->body.bad)
		diag_add(s->diag, DIAG_DAMAGE, "spur/bad-descriptor", s->file, spb_off(s, d->p),
			 d->len - SPB_DESCRIPTOR_HEAD,
			 "descriptor: expected the fields of type %u, found others or fewer: not "
			 "used",
			 d->type);
	return true;
}

bool spb_describe(struct spb *s)
{
	for (size_t i = 0; i < s->nchunks; i++) {
		struct spb_described d;
		struct spb_cursor c;

		if (s->chunks[i].thread != SPUR_NONE)
			continue;
		spb_cursor_open(s, &c, s->chunks[i].number, SPUR_NONE);
		while (spb_descriptor_next(s, &c, s->diag, &d))
			if (!spb_describe_one(s, &d))
				return false;
	}
	return true;
}
