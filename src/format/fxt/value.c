/*
 * Values of a record, decoded on request from its bytes, with its references resolved as of its
 * offset.
 */
#include <stdio.h>

#include "format/fxt/value.h"

void fxt_place_enter(struct fxt *x, const struct spur_event *ev, struct fxt_place *p)
{
	uint64_t size;

	if (!x->ordered)
		pthread_mutex_lock(&x->lock);
	/*
	 * The reader has seen that the whole record is there; but a mapped file may have been
	 * written to since.
	 */
	size = fxt_words(load64(x->src->data + ev->off, x->swap)) * FXT_WORD;
	if (size > x->src->size - ev->off || !size)
		size = FXT_WORD;
	p->x = x;
	p->off = ev->off;
	p->provider = fxt_provider_at(x, ev->off);
	p->pid = ev->track < x->t->ntracks ? (uint64_t)trace_track(x->t, ev->track)->pid
					   : UINT64_MAX;
	fxt_shape_of(&p->shape, x->src->data + ev->off, size, x->swap);
}

void fxt_place_leave(struct fxt *x)
{
	if (!x->ordered)
		pthread_mutex_unlock(&x->lock);
}

/* --- references --- */

uint32_t fxt_place_string(const struct fxt_place *p, const struct fxt_string_ref *ref)
{
	uint32_t id;
	char text[40];

	if (ref->text)
		return trace_intern_n(p->x->t, ref->text, ref->len);
	id = fxt_string_at(p->x, p->provider, ref->ref, p->off);
	if (id)
		return id - 1;
	snprintf(text, sizeof(text), "<string %u>", ref->ref);
	return trace_intern(p->x->t, text);
}

static void value_text(const struct fxt_place *p, const struct fxt_string_ref *ref,
		       struct spur_value *v)
{
	size_t len = ref->len;

	v->type = SPUR_STRING;
	v->text = ref->text ? ref->text : trace_string(p->x->t, fxt_place_string(p, ref), &len);
	v->count = (uint32_t)len;
}

static void value_bytes(struct spur_value *v, const uint8_t *data, uint64_t len)
{
	v->type = SPUR_BYTES;
	v->text = (const char *)data;
	v->count = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
}

static const char *label(const struct fxt_place *p, uint32_t name)
{
	return name ? trace_string(p->x->t, name, NULL) : NULL;
}

static void value_koid(const struct fxt_place *p, uint64_t koid, struct spur_value *v)
{
	v->type = SPUR_KOID;
	v->u = koid;
	v->size = FXT_WORD;
	v->label = label(p, fxt_kernel_name(p->x, p->provider, koid, p->off));
}

/* --- the record's own arguments --- */

static void arg_value(const struct fxt_place *p, const struct fxt_arg *a, struct spur_args *args,
		      struct spur_value *v)
{
	const uint32_t low = (uint32_t)fxt_get(a->head, FXT_F_ARG_VALUE);
	char text[40];

	v->size = a->type == FXT_ARG_I32 || a->type == FXT_ARG_U32 ? 4 : FXT_WORD;
	v->u = a->word;
	switch (a->type) {
	case FXT_ARG_NULL:
		v->type = SPUR_NULL;
		break;
	case FXT_ARG_I32:
		v->type = SPUR_I64;
		v->i = (int32_t)low;
		break;
	case FXT_ARG_U32:
		v->type = SPUR_U64;
		v->u = low;
		break;
	case FXT_ARG_I64:
		v->type = SPUR_I64;
		break;
	case FXT_ARG_U64:
		v->type = SPUR_U64;
		break;
	case FXT_ARG_F64:
		v->type = SPUR_F64;
		break;
	case FXT_ARG_STRING:
		value_text(p, &a->text, v);
		break;
	case FXT_ARG_POINTER:
		v->type = SPUR_POINTER;
		v->label = label(p, fxt_user_name(p->x, p->provider, p->pid, a->word, p->off));
		break;
	case FXT_ARG_KOID:
		value_koid(p, a->word, v);
		break;
	case FXT_ARG_BOOL:
		v->type = SPUR_BOOL;
		v->u = low & 1;
		v->size = 0;
		break;
	case FXT_ARG_BLOB:
		value_bytes(v, a->data, a->len);
		break;
	default:
		/* SPEC fxt/unknown-argument: the bytes after its name */
		value_bytes(v, a->data, a->len);
		v->label = args_text(args, text,
				     (size_t)snprintf(text, sizeof(text), "type %u", a->type));
	}
}

uint32_t fxt_decode_args(const struct fxt_place *p, struct spur_args *args, struct spur_value *to)
{
	const struct fxt_shape *s = &p->shape;
	struct cursor c = cursor_make(s->args, (size_t)(s->args_end - s->args), p->x->swap);
	uint32_t n = 0;

	for (unsigned i = 0; i < s->nargs; i++) {
		struct fxt_arg a;

		fxt_arg_next(&c, &a);
		if (a.state != FXT_ARG_GOOD)
			continue;
		to[n] = (struct spur_value){ .name = fxt_place_string(p, &a.name) };
		arg_value(p, &a, args, &to[n++]);
	}
	return n;
}

/* --- values beside them --- */

struct spur_value *fxt_add(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
			   enum spur_type type)
{
	struct spur_value *v = args_add(args);

	if (v) {
		v->type = (uint8_t)type;
		v->name = p->x->words[name];
	}
	return v;
}

void fxt_add_u64(const struct fxt_place *p, struct spur_args *args, enum fxt_word name, uint64_t u)
{
	args_u64(args, p->x->words[name], u, SPUR_SHOW_PLAIN);
}

void fxt_add_hex(const struct fxt_place *p, struct spur_args *args, enum fxt_word name, uint64_t u)
{
	args_u64(args, p->x->words[name], u, SPUR_SHOW_HEX);
}

void fxt_add_koid(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		  uint64_t koid)
{
	struct spur_value *v = fxt_add(p, args, name, SPUR_KOID);

	if (v)
		value_koid(p, koid, v);
}

void fxt_add_string(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		    const struct fxt_string_ref *ref)
{
	struct spur_value *v = fxt_add(p, args, name, SPUR_STRING);

	if (v)
		value_text(p, ref, v);
}

void fxt_set_data(const struct fxt_place *p, enum spur_type type, struct spur_value *v)
{
	value_bytes(v, p->shape.data, p->shape.data_len);
	v->type = (uint8_t)type;
}

void fxt_add_data(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		  enum spur_type type)
{
	struct spur_value *v = fxt_add(p, args, name, type);

	if (v)
		fxt_set_data(p, type, v);
}

void fxt_add_enum(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		  uint64_t value, const char *text)
{
	struct spur_value *v = fxt_add(p, args, name, SPUR_ENUM);

	if (v) {
		v->i = (int64_t)value;
		v->label = text;
	}
}

void fxt_add_args(const struct fxt_place *p, struct spur_args *args)
{
	struct spur_value values[FXT_ARGS];
	const uint32_t n = fxt_decode_args(p, args, values);

	for (uint32_t i = 0; i < n; i++) {
		struct spur_value *v = args_add(args);

		if (v)
			*v = values[i];
	}
}

/* --- names of numbers --- */

static const struct spur_label states[] = {
	{ 0, 0, "new" },     { 1, 1, "running" }, { 2, 2, "suspended" },
	{ 3, 3, "blocked" }, { 4, 4, "dying" },	  { 5, 5, "dead" },
};
static const struct spur_label blob_types[] = {
	{ FXT_BLOB_DATA, FXT_BLOB_DATA, "data" },
	{ FXT_BLOB_LAST_BRANCH, FXT_BLOB_LAST_BRANCH, "last_branch" },
	{ FXT_BLOB_PERFETTO, FXT_BLOB_PERFETTO, "perfetto" },
};
const struct fxt_enum fxt_states = { states, sizeof(states) / sizeof(states[0]) };
const struct fxt_enum fxt_blob_types = { blob_types, sizeof(blob_types) / sizeof(blob_types[0]) };

static const char *enum_name(const struct fxt_enum *e, uint64_t value)
{
	const uint64_t first = (uint64_t)e->labels[0].low;

	return value >= first && value - first < e->count ? e->labels[value - first].name : NULL;
}

const char *fxt_state_name(uint64_t state)
{
	return enum_name(&fxt_states, state);
}

const char *fxt_blob_type(uint64_t type)
{
	return enum_name(&fxt_blob_types, type);
}

/* --- frames --- */

/*
 * SPEC fxt/frame: an address is named by the module whose mapping it lies in, and its place in that
 * module
 */
static const char *frame_label(const struct fxt_place *p, struct spur_args *args, uint64_t addr)
{
	const struct fxt_mapping *m = fxt_find_mapping(p->x, p->pid, addr, p->off);
	const char *module;
	char *text;
	size_t len;

	if (!m)
		return NULL;
	module = trace_string(p->x->t, fxt_module_name(p->x, p->pid, m->module, p->off), &len);
	text = args_alloc(args, len + 32);
	if (text)
		snprintf(text, len + 32, "%s+0x%llx", len ? module : "?",
			 (unsigned long long)(addr - m->start + m->vaddr));
	return text;
}

void fxt_add_frames(const struct fxt_place *p, struct spur_args *args)
{
	const uint32_t n = (uint32_t)(p->shape.data_len / FXT_WORD);
	struct spur_value *items = args_alloc(args, n * sizeof(*items)), *v;

	for (uint32_t i = 0; items && i < n; i++) {
		items[i].type = SPUR_POINTER;
		items[i].size = FXT_WORD;
		items[i].u = load64(p->shape.data + (size_t)i * FXT_WORD, p->x->swap);
		items[i].label = frame_label(p, args, items[i].u);
	}
	v = items ? fxt_add(p, args, FXT_W_FRAMES, SPUR_ARRAY) : NULL;
	if (v) {
		v->items = items;
		v->count = n;
	}
}
