/*
 * Arguments of rows: the record's own, and what else the record says of the event. See
 * docs/formats/fxt.md.
 */
#include "format/fxt/plain.h"
#include "format/fxt/value.h"

/* The thread on the other side of a switch. */
static void add_other(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		      int which)
{
	const struct fxt_thread_ref *t = &p->shape.threads[which];
	uint64_t tid = t->tid;

	if (t->ref) {
		const uint32_t track = fxt_thread_at(p->x, p->provider, t->ref, p->off);

		if (!track) {
			fxt_add(p, args, name, SPUR_NULL);
			return;
		}
		tid = (uint64_t)trace_track(p->x->t, track - 1)->tid;
	}
	fxt_add_koid(p, args, name, tid);
}

static void switch_args(const struct fxt_place *p, bool out, struct spur_args *args)
{
	const uint64_t h = p->shape.head;
	const bool legacy = p->shape.sub == FXT_LEGACY_SWITCH;
	const uint64_t state =
		legacy ? fxt_get(h, FXT_F_LEGACY_STATE) : fxt_get(h, FXT_F_SCHED_STATE);

	/* SPEC fxt/thread-state: new, running, suspended, blocked, dying, dead */
	if (out)
		fxt_add_enum(p, args, FXT_W_STATE, state, fxt_state_name(state));
	add_other(p, args, out ? FXT_W_NEXT : FXT_W_PREV, out);
	if (legacy)
		fxt_add_u64(p, args, FXT_W_PRIORITY,
			    out ? fxt_get(h, FXT_F_LEGACY_OUT_PRIORITY)
				: fxt_get(h, FXT_F_LEGACY_IN_PRIORITY));
	else
		fxt_add_args(p, args);
}

static void profiler_args(const struct fxt_place *p, struct spur_args *args)
{
	const struct fxt_shape *s = &p->shape;

	if (s->sub == FXT_BACKTRACE) {
		fxt_add_frames(p, args);
		return;
	}
	fxt_add_u64(p, args, FXT_W_MODULE, fxt_get(s->head, FXT_F_PROFILER_MODULE));
	if (s->sub == FXT_MODULE) {
		fxt_add_data(p, args, FXT_W_BUILD_ID, SPUR_BYTES);
		return;
	}
	fxt_add_u64(p, args, FXT_W_FLAGS, fxt_get(s->head, FXT_F_PROFILER_FLAGS));
	fxt_add_hex(p, args, FXT_W_START, s->value);
	fxt_add_hex(p, args, FXT_W_RANGE, s->more[0]);
	fxt_add_hex(p, args, FXT_W_VADDR, s->more[1]);
}

static void object_args(const struct fxt_place *p, struct spur_args *args)
{
	struct spur_value *v;

	if (p->shape.type == FXT_KERNEL_OBJECT) {
		fxt_add_koid(p, args, FXT_W_KOID, p->shape.value);
	} else {
		v = fxt_add(p, args, FXT_W_POINTER, SPUR_POINTER);
		if (v)
			v->u = p->shape.value;
	}
	fxt_add_args(p, args);
}

/*
 * SPEC fxt/payload-mark: the payload is the argument of an index, whose own value is null.
 */
static void payload_args(const struct fxt_place *p, const uint8_t *mark, struct spur_args *args)
{
	const uint64_t word = load64(mark + (FXT_PAYLOAD_WORDS - 1) * FXT_WORD, p->x->swap),
		       index = fxt_get(word, FXT_F_PAYLOAD_INDEX);
	struct spur_value values[FXT_ARGS];
	const uint32_t n = fxt_decode_args(p, args, values);

	if (index < n && values[index].type == SPUR_NULL)
		fxt_set_data(p, fxt_get(word, FXT_F_PAYLOAD_TEXT) ? SPUR_STRING : SPUR_BYTES,
			     &values[index]);
	for (uint32_t i = 0; i < n; i++) {
		struct spur_value *v = args_add(args);

		if (v)
			*v = values[i];
	}
}

void fxt_record_args(const struct fxt_place *p, bool out, struct spur_args *args)
{
	const struct fxt_shape *s = &p->shape;
	const uint64_t blob = fxt_get(s->head, FXT_F_BLOB_TYPE);

	switch (s->type) {
	case FXT_BLOB:
		fxt_add_data(p, args, FXT_W_DATA, SPUR_BYTES);
		fxt_add_enum(p, args, FXT_W_TYPE, blob, fxt_blob_type(blob));
		break;
	case FXT_LARGE:
		if (fxt_shape_payload(s)) {
			payload_args(p, fxt_shape_payload(s), args);
			break;
		}
		fxt_add_data(p, args, FXT_W_DATA, SPUR_BYTES);
		fxt_add_args(p, args);
		break;
	case FXT_USER_OBJECT:
	case FXT_KERNEL_OBJECT:
		object_args(p, args);
		break;
	case FXT_LOG:
		fxt_add_data(p, args, FXT_W_MESSAGE, SPUR_STRING);
		break;
	case FXT_PROFILER:
		profiler_args(p, args);
		break;
	case FXT_SCHEDULING:
		if (s->sub != FXT_WAKEUP) {
			switch_args(p, out, args);
			break;
		}
		fxt_add_args(p, args);
		break;
	default:
		fxt_add_args(p, args);
	}
}

/* 1 + the type of values that need nothing but their bits, by the argument's type; 0: others. */
static const uint8_t plain_types[16] = {
	[FXT_ARG_NULL] = 1 + SPUR_NULL, [FXT_ARG_I32] = 1 + SPUR_I64,
	[FXT_ARG_U32] = 1 + SPUR_U64,	[FXT_ARG_I64] = 1 + SPUR_I64,
	[FXT_ARG_U64] = 1 + SPUR_U64,	[FXT_ARG_F64] = 1 + SPUR_F64,
};

/* As fxt_string_at(), quick for strings that are registered once. */
static inline uint32_t plain_name(const struct fxt *x, const struct fxt_provider *provider,
				  unsigned index, uint64_t off)
{
	const uint32_t newest = provider->heads[index];

	if (newest && x->tables.items[newest].off <= off)
		return x->tables.items[newest].value + 1;
	return fxt_string_at(x, provider, index, off);
}

/*
 * Decodes an argument whose name is given by index, and whose value needs no look-up. Returns its
 * end, or NULL if the argument is of another kind.
 */
static inline const uint8_t *plain_value(const struct fxt *x, const struct fxt_provider *provider,
					 uint64_t off, const uint8_t *p, const uint8_t *end,
					 struct spur_value *v)
{
	const uint64_t h = end - p < FXT_WORD ? 0 : load64(p, false), size = fxt_bytes(h);
	const unsigned type = h & 15;
	const bool small = type == FXT_ARG_I32 || type == FXT_ARG_U32;
	uint32_t name;

	if (!plain_types[type] || size != fxt_arg_bytes[type] || size > (uint64_t)(end - p) ||
	    (h & (unsigned)FXT_INLINE << 16))
		return NULL;
	name = plain_name(x, provider, (unsigned)fxt_get(h, FXT_F_ARG_NAME_INDEX), off);
	if (!name)
		return NULL;
	*v = (struct spur_value){ .type = (uint8_t)(plain_types[type] - 1),
				  .size = small ? 4 : FXT_WORD,
				  .name = name - 1 };
	if (type == FXT_ARG_I32)
		v->i = (int32_t)(h >> 32);
	else
		v->u = small ? h >> 32 : size > FXT_WORD ? load64(p + FXT_WORD, false) : 0;
	return p + size;
}

/*
 * Decodes the arguments of an event whose strings and thread are given by index, if all of them are
 * plain. Returns false if not; the record is then decoded in full.
 */
static bool plain_values(const struct fxt *x, const struct spur_event *ev, struct spur_args *args)
{
	const uint8_t *const p = x->src->data + ev->off, *const end = p + ev->len;
	const uint8_t *q = p + 2 * FXT_WORD;
	const struct fxt_provider *provider;
	struct spur_value *v;
	uint64_t h;

	if (x->swap || !x->ordered || ev->len < 2 * FXT_WORD)
		return false;
	h = load64(p, false);
	if (fxt_type(h) != FXT_EVENT || (h & INLINE_STRINGS) ||
	    fxt_get(h, FXT_F_EVENT_ARGS) != ev->nargs || !fxt_get(h, FXT_F_EVENT_THREAD))
		return false;
	v = args_room(args, ev->nargs);
	if (!v)
		return false;
	provider = x->nsections ? fxt_provider_at(x, ev->off) : x->providers[0];
	for (unsigned i = 0; i < ev->nargs; i++) {
		q = plain_value(x, provider, ev->off, q, end, &v[i]);
		if (!q)
			return false;
	}
	args->count = ev->nargs;
	return true;
}

/*
 * When an event's row was made, each of its arguments was found to be within the record, or was
 * left out of nargs; decoding takes just the former.
 */
bool fxt_args_proven(struct spur_trace *t, const struct spur_event *ev,
		     const struct spur_args *args, uint32_t *n)
{
	const struct fxt *x = t->state;

	(void)args;
	if (fxt_type(load64(x->src->data + ev->off, x->swap)) != FXT_EVENT)
		return false;
	*n = ev->nargs;
	return true;
}

enum spur_status fxt_args(struct spur_trace *t, const struct spur_event *ev, struct spur_args *args)
{
	struct fxt_place p;

	args_reset(args);
	if (!ev->nargs || plain_values(t->state, ev, args))
		return SPUR_OK;
	fxt_place_enter(t->state, ev, &p);
	fxt_record_args(&p, ev->flags & SPUR_F_OUT, args);
	fxt_place_leave(t->state);
	return SPUR_OK;
}
