/* Tables of indices. See write.h. */
#include "format/fxt/write.h"

enum { PAGES = 1 << 20 };

void fxt_table_init(struct fxt_table *t, uint32_t limit)
{
	*t = (struct fxt_table){ .limit = limit, .next = 1, .hand = 1 };
}

void fxt_table_free(struct fxt_table *t)
{
	for (size_t i = 0; i < t->npages; i++)
		mem_free(t->pages[i]);
	mem_free(t->pages);
	mem_free(t->keys);
	mem_free(t->stamps);
	mem_free(t->used);
}

static bool table_begin(struct fxt_table *t)
{
	if (t->used)
		return true;
	t->keys = mem_array(t->limit, sizeof(*t->keys));
	t->stamps = mem_array(t->limit, sizeof(*t->stamps));
	if (t->keys && t->stamps)
		t->used = mem_array(t->limit, sizeof(*t->used));
	return t->used != NULL;
}

/* An index of which no record in progress needs what it stands for. */
static uint32_t table_take(struct fxt_table *t, uint32_t stamp)
{
	if (t->next < t->limit)
		return t->next++;
	for (;;) {
		const uint32_t index = t->hand;

		t->hand = t->hand + 1 < t->limit ? t->hand + 1 : 1;
		if (t->used[index] && t->stamps[index] != stamp)
			t->used[index] = 0;
		else if (!t->used[index])
			return index;
	}
}

uint32_t fxt_table_put(struct fxt_table *t, uint32_t key, uint32_t stamp, bool *fresh)
{
	const size_t page = key / FXT_TABLE_PAGE;
	uint32_t index;

	*fresh = false;
	if (!table_begin(t) ||
	    !mem_grow((void **)&t->pages, &t->npages, page + 1, sizeof(*t->pages), PAGES))
		return 0;
	if (!t->pages[page])
		t->pages[page] = mem_array(FXT_TABLE_PAGE, sizeof(**t->pages));
	if (!t->pages[page])
		return 0;
	index = fxt_table_find(t, key, stamp);
	if (index)
		return index;
	*fresh = true;
	index = table_take(t, stamp);
	if (t->stamps[index])
		t->pages[t->keys[index] / FXT_TABLE_PAGE][t->keys[index] % FXT_TABLE_PAGE] = 0;
	t->keys[index] = key;
	t->pages[page][key % FXT_TABLE_PAGE] = (uint16_t)index;
	t->used[index] = 1;
	t->stamps[index] = stamp;
	return index;
}
