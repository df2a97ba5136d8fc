/* Symbol tables of one module: sorted ranges, looked up by address. */
#include "model/symbol/symbol.h"

#include <stdlib.h>

#include "base/search.h"

enum {
	MAX_SYMBOLS = 1 << 26,
	MAX_AROUND = 64, /* ranges in ranges that a search looks through */
};

#define NO_LINK UINT32_MAX

void symtab_init(struct symtab *t)
{
	*t = (struct symtab){ 0 };
	arena_init(&t->arena);
}

void symtab_free(struct symtab *t)
{
	mem_free(t->syms);
	arena_free(&t->arena);
	symtab_init(t);
}

bool symtab_add(struct symtab *t, uint64_t addr, uint64_t size, char type, const char *name,
		size_t len)
{
	char *copy;

	if (t->names_max && (t->arena.used > t->names_max || len > t->names_max - t->arena.used))
		return false;
	if (!mem_grow((void **)&t->syms, &t->cap, t->count + 1, sizeof(*t->syms), MAX_SYMBOLS))
		return false;
	copy = arena_strdup(&t->arena, name, len);
	if (!copy)
		return false;
	t->syms[t->count] = (struct symbol){ addr, size, copy, type, (uint32_t)t->count };
	t->count++;
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->link < y->link ? -1 : x->link > y->link;
}

/* The first address after the symbol; ranges that pass the end of the address space end there. */
static uint64_t symbol_end(const struct symbol *s)
{
	return s->size > UINT64_MAX - s->addr ? UINT64_MAX : s->addr + s->size;
}

static void emit_sizes(struct symtab *t)
{
	uint64_t above = 0; /* the next address, 0 at the end */

	for (size_t i = t->count; i > 0; i--) {
		struct symbol *s = &t->syms[i - 1];

		if (i < t->count && t->syms[i].addr > s->addr)
			above = t->syms[i].addr;
		if (!s->size && above)
			s->size = above - s->addr;
	}
}

/*
 * Links each symbol to the last one before it that ends after its end. An address after a
 * symbol's end is in none of those between the two: they end before it.
 */
static void link_around(struct symtab *t)
{
	for (size_t i = 0; i < t->count; i++) {
		uint32_t j = i ? (uint32_t)(i - 1) : NO_LINK;

		/* Invariant: symbols after j and before i end no later than i does. */
		while (j != NO_LINK && symbol_end(&t->syms[j]) <= symbol_end(&t->syms[i]))
			j = t->syms[j].link;
		t->syms[i].link = j;
	}
}

void symtab_sort(struct symtab *t)
{
	if (t->count)
		qsort(t->syms, t->count, sizeof(*t->syms), by_address);
	emit_sizes(t);
	link_around(t);
}

const struct symbol *symtab_find(const struct symtab *t, uint64_t addr)
{
	size_t lo;
	uint32_t at;

	bisect(lo, 0, t->count, t->syms[lo].addr <= addr);
	at = lo ? (uint32_t)(lo - 1) : NO_LINK;
	for (int i = 0; i < MAX_AROUND && at != NO_LINK; i++) {
		const struct symbol *s = &t->syms[at];

		if (addr - s->addr < s->size)
			return s;
		at = s->link;
	}
	return NULL;
}
