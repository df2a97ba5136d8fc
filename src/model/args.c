/* Building a spur_args: items at the top level and memory after them. */
#include "model/args.h"

#include "base/mem.h"

#include <string.h>

enum { MAX_ARGS = 1 << 20 };

static struct spur_args_store *args_store(struct spur_args *args)
{
	if (!args->store) {
		args->store = mem_alloc(sizeof(*args->store));
		if (args->store)
			arena_init(&args->store->arena);
	}
	return args->store;
}

struct spur_value *args_more(struct spur_args *args, size_t n)
{
	struct spur_args_store *s = args_store(args);

	if (!s || !mem_grow((void **)&s->items, &s->cap, args->count + n + 1, sizeof(*s->items),
			    MAX_ARGS))
		return NULL;
	args->items = s->items;
	return s->items + args->count;
}

struct spur_value *args_inner_more(struct spur_args *args, size_t n)
{
	struct spur_args_store *s = args_store(args);

	if (s && !s->inner && n <= ARGS_INNER) {
		s->inner = mem_array(ARGS_INNER, sizeof(*s->inner));
		s->inner_used = s->inner ? n : 0;
		return s->inner;
	}
	return s ? arena_alloc(&s->arena, n * sizeof(*s->inner)) : NULL;
}

void *args_keep_new(struct spur_args *args, uint64_t owner, size_t size)
{
	struct spur_args_store *s = args_store(args);

	if (!s)
		return NULL;
	mem_free(s->kept);
	s->kept = mem_alloc(size);
	s->kept_size = s->kept ? size : 0;
	s->owner = s->kept ? owner : 0;
	return s->kept;
}

struct spur_value *args_add(struct spur_args *args)
{
	struct spur_args_store *s = args_store(args);
	struct spur_value *v;

	if (!s || (args->count >= s->cap && !mem_grow((void **)&s->items, &s->cap, args->count + 1,
						      sizeof(*s->items), MAX_ARGS)))
		return NULL;
	args->items = s->items;
	v = &s->items[args->count++];
	*v = (struct spur_value){ 0 };
	return v;
}

void *args_alloc(struct spur_args *args, size_t size)
{
	struct spur_args_store *s = args_store(args);

	return s ? arena_alloc(&s->arena, size) : NULL;
}

const char *args_text(struct spur_args *args, const char *s, size_t len)
{
	char *p = args_alloc(args, len + 1);

	if (p)
		memcpy(p, s, len);
	return p;
}

void args_u64(struct spur_args *args, uint32_t name, uint64_t u, enum spur_show show)
{
	struct spur_value *v = args_add(args);

	if (!v)
		return;
	v->type = SPUR_U64;
	v->show = (uint8_t)show;
	v->name = name;
	v->u = u;
}

void args_i64(struct spur_args *args, uint32_t name, int64_t i)
{
	struct spur_value *v = args_add(args);

	if (!v)
		return;
	v->type = SPUR_I64;
	v->name = name;
	v->i = i;
}

void args_string(struct spur_args *args, uint32_t name, const char *s, size_t len)
{
	const char *copy = args_text(args, s, len);
	struct spur_value *v = copy ? args_add(args) : NULL;

	if (!v)
		return;
	v->type = SPUR_STRING;
	v->name = name;
	v->text = copy;
	v->count = (uint32_t)len;
}

void args_literal(struct spur_args *args, uint32_t name, const char *s)
{
	struct spur_value *v = args_add(args);

	if (!v)
		return;
	v->type = SPUR_STRING;
	v->name = name;
	v->text = s;
	v->count = (uint32_t)strlen(s);
}

void spur_args_free(struct spur_args *args)
{
	if (!args)
		return;
	if (args->store) {
		mem_free(args->store->items);
		mem_free(args->store->inner);
		mem_free(args->store->kept);
		arena_free(&args->store->arena);
		mem_free(args->store);
	}
	*args = (struct spur_args){ 0 };
}
