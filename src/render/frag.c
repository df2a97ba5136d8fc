/* See frag.h. */
#include "render/frag.h"

#include <assert.h>

#include "base/pool.h"

char frag_thousand[1000][4];

static void thousand_fill(void)
{
	for (unsigned i = 0; i < 1000; i++)
		*put_u64_0(frag_thousand[i], i, 3) = '.';
}

static void thousand_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, thousand_fill);
}

struct frag_table *frag_new(frag_maker *make, const void *self)
{
	struct frag_table *t = mem_alloc(sizeof(*t));

	if (!t)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	arena_init(&t->arena);
	out_to_memory(&t->scratch);
	t->make = make;
	t->self = self;
	return t;
}

void frag_free(struct frag_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->npages; i++)
		mem_free(t->pages[i]);
	pthread_mutex_destroy(&t->lock);
	arena_free(&t->arena);
	out_free(&t->scratch);
	mem_free(t);
}

/* Called with t->lock held. The text is stored last, so that a thread that sees it sees all. */
static bool frag_make(struct frag_table *t, struct frag *f, const struct spur_event *row)
{
	struct frag made = { 0 };
	size_t len;
	char *p;

	/* INVARIANT: text is made once: other threads read it without a lock. */
	assert(!f->p);
	out_clear(&t->scratch);
	t->make(t->self, row, &made, &t->scratch);
	len = t->scratch.len;
	p = t->scratch.error || len > UINT32_MAX / 2
		    ? NULL
		    : arena_alloc(&t->arena, len / FRAG_PIECE * FRAG_PIECE + FRAG_PIECE);
	if (!p)
		return false;
	if (len)
		memcpy(p, t->scratch.buf, len);
	f->len = (uint32_t)len;
	f->user = made.user;
	f->key = made.key;
	__atomic_store_n(&f->p, p, __ATOMIC_RELEASE);
	return true;
}

const struct frag *frag_made(struct frag_table *t, uint32_t id, const struct spur_event *row)
{
	struct frag *page, *f = NULL;

	if (id >= FRAG_PAGE * FRAG_PAGES)
		return NULL;
	pthread_mutex_lock(&t->lock);
	page = t->pages[id / FRAG_PAGE];
	if (!page) {
		page = mem_array(FRAG_PAGE, sizeof(*page));
		__atomic_store_n(&t->pages[id / FRAG_PAGE], page, __ATOMIC_RELEASE);
		if (t->npages <= id / FRAG_PAGE)
			t->npages = id / FRAG_PAGE + 1;
	}
	if (page && (page[id % FRAG_PAGE].p || frag_make(t, &page[id % FRAG_PAGE], row)))
		f = &page[id % FRAG_PAGE];
	pthread_mutex_unlock(&t->lock);
	assert(!f || f->p);
	return f;
}

static void spare_free(struct frag_spare *s)
{
	if (s)
		pool_free(s, sizeof(*s) + s->room);
}

/* Makes the spare's text anew. Returns NULL if out of memory. */
static const struct frag *spare_make(struct frag_table *t, struct frag_spare **spare, uint32_t id,
				     const struct spur_event *row)
{
	struct frag_spare *s = *spare;
	struct frag made = { 0 };
	size_t room;

	pthread_mutex_lock(&t->lock);
	out_clear(&t->scratch);
	t->make(t->self, row, &made, &t->scratch);
	made.len = (uint32_t)t->scratch.len;
	room = t->scratch.len / FRAG_PIECE * FRAG_PIECE + FRAG_PIECE;
	if (t->scratch.error || t->scratch.len > UINT32_MAX / 2) {
		spare_free(s);
		s = NULL;
	} else if (!s || s->room < room) {
		spare_free(s);
		s = pool_alloc(sizeof(*s) + room);
		if (s)
			s->room = (uint32_t)room;
	}
	if (s) {
		if (made.len)
			memcpy(s->text, t->scratch.buf, made.len);
		s->id = id;
		s->frag = made;
		s->frag.p = s->text;
	}
	pthread_mutex_unlock(&t->lock);
	*spare = s;
	return s ? &s->frag : NULL;
}

const struct frag *frag_get_slow(struct frag_table *t, uint32_t id, const struct spur_event *row,
				 struct frag_user *user)
{
	if (id < FRAG_KEPT)
		return frag_made(t, id, row);
	if (user->guest && user->guest->id == id)
		return &user->guest->frag;
	return spare_make(t, &user->guest, id, row);
}

const struct frag *frag_of_slow(struct frag_table *t, uint32_t id, const struct spur_event *row,
				struct frag_user *user)
{
	return user->home ? frag_get_slow(t, id, row, user) : spare_make(t, &user->home, id, row);
}

void frag_user_free(struct frag_user *user)
{
	spare_free(user->home);
	spare_free(user->guest);
	*user = (struct frag_user){ 0 };
}

void number_init(struct number *d)
{
	thousand_init();
	d->base = 1000000000;
	d->len = 1;
	d->text[0] = '1';
}

void number_move(struct number *d, uint64_t v)
{
	assert(v >= 1000000000);
	d->base = v / 1000000000 * 1000000000;
	d->len = (uint32_t)(put_u64(d->text, v / 1000000000) - d->text);
	assert(d->len <= 16); /* put_number() copies 16 bytes */
}

char *put_us_slow(char *w, int64_t ns)
{
	const uint64_t n = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	if (ns < 0)
		*w++ = '-';
	w = put_u64(w, n / 1000);
	*w++ = '.';
	return put_u64_0(w, n % 1000, 3);
}
