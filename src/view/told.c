/* What reading the trace has told, for those who ask while it is read. See view.h. */
#include <string.h>

#include "base/mem.h"
#include "view/view.h"

/* Copies what the trace has told into an arena. Returns false if out of memory. */
static bool told_copy(struct spur_trace *t, struct arena *a, struct view_told **out, size_t *n)
{
	struct view_told *const told = arena_alloc(a, *n * sizeof(*told));
	struct spur_damage d;
	size_t count = 0;

	for (size_t i = 0; told && i < *n && spur_damage(t, i, &d); i++) {
		told[count].is_damage = d.is_damage;
		told[count].text = arena_printf(a, "%s", d.first);
		if (!told[count++].text)
			return false;
	}
	*out = told;
	*n = count;
	return told;
}

bool view_tell(struct view *v)
{
	struct arena *const texts = mem_alloc(sizeof(*texts));
	size_t n = spur_damage_count(v->trace);
	struct view_told *told = NULL;
	struct arena *old = texts;
	bool good = texts;

	if (!texts)
		return false;
	arena_init(texts);
	good = !n || told_copy(v->trace, texts, &told, &n);
	if (good) {
		pthread_mutex_lock(&v->reading);
		old = v->told_texts;
		v->told_texts = texts;
		v->told = told;
		v->ntold = n;
		pthread_mutex_unlock(&v->reading);
	}
	if (old) {
		arena_free(old);
		mem_free(old);
	}
	return good;
}

void view_told_free(struct view *v)
{
	if (v->told_texts) {
		arena_free(v->told_texts);
		mem_free(v->told_texts);
	}
	v->told_texts = NULL;
	v->ntold = 0;
}
