/* Fields of records as they are stored, for `spur dump`. */
#include "format/fxt/value.h"

static void add_thread(const struct fxt_place *p, struct spur_args *args,
		       const struct fxt_thread_ref *t)
{
	uint32_t track;

	if (!t->ref) {
		fxt_add_u64(p, args, FXT_W_PID, t->pid);
		if (!t->process_only)
			fxt_add_u64(p, args, FXT_W_TID, t->tid);
		return;
	}
	fxt_add_u64(p, args, FXT_W_THREAD, t->ref);
	track = fxt_thread_at(p->x, p->provider, t->ref, p->off);
	if (!track) {
		fxt_add(p, args, FXT_W_PID, SPUR_NULL);
		fxt_add(p, args, FXT_W_TID, SPUR_NULL);
		return;
	}
	fxt_add_u64(p, args, FXT_W_PID, (uint64_t)trace_track(p->x->t, track - 1)->pid);
	fxt_add_u64(p, args, FXT_W_TID, (uint64_t)trace_track(p->x->t, track - 1)->tid);
}

/* A thread of a legacy switch as a separate value. */
static void add_side(const struct fxt_place *p, struct spur_args *args, enum fxt_word name,
		     int which)
{
	struct spur_args side = { 0 };
	struct spur_value *copy = NULL, *v = NULL;

	add_thread(p, &side, &p->shape.threads[which]);
	if (side.count)
		copy = args_alloc(args, side.count * sizeof(*copy));
	if (copy) {
		memcpy(copy, side.items, side.count * sizeof(*copy));
		v = fxt_add(p, args, name, SPUR_STRUCT);
	}
	if (v) {
		v->items = copy;
		v->count = (uint32_t)side.count;
	}
	spur_args_free(&side);
}

static void add_own_args(const struct fxt_place *p, struct spur_args *args)
{
	struct spur_value values[FXT_ARGS], *copy, *v;
	const uint32_t n = fxt_decode_args(p, args, values);

	copy = args_alloc(args, n * sizeof(*copy) + 1);
	v = copy ? fxt_add(p, args, FXT_W_ARGS, SPUR_STRUCT) : NULL;
	if (!v)
		return;
	memcpy(copy, values, n * sizeof(*copy));
	v->items = copy;
	v->count = n;
}

static void metadata_fields(const struct fxt_place *p, struct spur_args *args)
{
	const struct fxt_shape *s = &p->shape;

	if (!s->known || s->sub == FXT_TRACE_INFO) {
		fxt_add_hex(p, args, FXT_W_HEADER, s->head);
		return;
	}
	fxt_add_u64(p, args, FXT_W_ID, s->value);
	if (s->sub == FXT_PROVIDER_INFO)
		fxt_add_data(p, args, FXT_W_NAME, SPUR_STRING);
	else if (s->sub == FXT_PROVIDER_EVENT)
		fxt_add_u64(p, args, FXT_W_EVENT, fxt_get(s->head, FXT_F_METADATA_EVENT));
}

static void table_fields(const struct fxt_place *p, struct spur_args *args)
{
	const struct fxt_shape *s = &p->shape;

	if (s->type == FXT_INIT) {
		fxt_add_u64(p, args, FXT_W_TICKS_PER_SECOND, s->value);
		if (!s->extended)
			return;
		fxt_add_u64(p, args, FXT_W_BASE_TICKS, s->more[0]);
		fxt_add_u64(p, args, FXT_W_BASE_TIME_NS, s->more[1]);
	} else if (s->type == FXT_STRING) {
		fxt_add_u64(p, args, FXT_W_INDEX, fxt_get(s->head, FXT_F_STRING_INDEX));
		fxt_add_data(p, args, FXT_W_VALUE, SPUR_STRING);
	} else {
		fxt_add_u64(p, args, FXT_W_INDEX, fxt_get(s->head, FXT_F_THREAD_INDEX));
		fxt_add_u64(p, args, FXT_W_PID, s->threads[0].pid);
		fxt_add_u64(p, args, FXT_W_TID, s->threads[0].tid);
	}
}

static void event_fields(const struct fxt_place *p, struct spur_args *args)
{
	const struct fxt_shape *s = &p->shape;

	fxt_add_u64(p, args, FXT_W_TYPE, s->sub);
	fxt_add_u64(p, args, FXT_W_TICKS, s->ticks);
	add_thread(p, args, &s->threads[0]);
	fxt_add_string(p, args, FXT_W_CATEGORY, &s->cat);
	fxt_add_string(p, args, FXT_W_NAME, &s->name);
	add_own_args(p, args);
	if (s->known && fxt_has_tail(s->sub) && !s->tail_lost)
		fxt_add_u64(p, args, s->sub == FXT_COMPLETE ? FXT_W_END_TICKS : FXT_W_ID, s->value);
}

static void blob_fields(const struct fxt_place *p, struct spur_args *args)
{
	const struct fxt_shape *s = &p->shape;
	const uint64_t type = fxt_get(s->head, FXT_F_BLOB_TYPE);

	if (s->type == FXT_LARGE) {
		fxt_add_u64(p, args, FXT_W_FORMAT, s->sub);
		fxt_add_string(p, args, FXT_W_CATEGORY, &s->cat);
	} else {
		fxt_add_enum(p, args, FXT_W_TYPE, type, fxt_blob_type(type));
	}
	fxt_add_string(p, args, FXT_W_NAME, &s->name);
	if (s->timed)
		fxt_add_u64(p, args, FXT_W_TICKS, s->ticks);
	if (s->timed && s->type == FXT_LARGE) {
		add_thread(p, args, &s->threads[0]);
		add_own_args(p, args);
	}
	fxt_add_u64(p, args, FXT_W_SIZE, s->data_len);
	fxt_add_data(p, args, FXT_W_DATA, SPUR_BYTES);
}

static void object_fields(const struct fxt_place *p, struct spur_args *args)
{
	const struct fxt_shape *s = &p->shape;

	if (s->type == FXT_USER_OBJECT) {
		fxt_add_hex(p, args, FXT_W_POINTER, s->value);
		add_thread(p, args, &s->threads[0]);
	} else {
		fxt_add_u64(p, args, FXT_W_TYPE, fxt_get(s->head, FXT_F_OBJECT_TYPE));
		fxt_add_u64(p, args, FXT_W_KOID, s->value);
	}
	fxt_add_string(p, args, FXT_W_NAME, &s->name);
	add_own_args(p, args);
}

static void scheduling_fields(const struct fxt_place *p, struct spur_args *args)
{
	const struct fxt_shape *s = &p->shape;
	const uint64_t h = s->head;
	const bool legacy = s->sub == FXT_LEGACY_SWITCH;
	const uint64_t state =
		legacy ? fxt_get(h, FXT_F_LEGACY_STATE) : fxt_get(h, FXT_F_SCHED_STATE);

	fxt_add_u64(p, args, FXT_W_TYPE, s->sub);
	fxt_add_u64(p, args, FXT_W_TICKS, s->ticks);
	fxt_add_u64(p, args, FXT_W_CPU,
		    legacy ? fxt_get(h, FXT_F_LEGACY_CPU) : fxt_get(h, FXT_F_SCHED_CPU));
	if (s->sub == FXT_WAKEUP) {
		fxt_add_u64(p, args, FXT_W_TID, s->threads[0].tid);
		add_own_args(p, args);
		return;
	}
	fxt_add_enum(p, args, FXT_W_STATE, state, fxt_state_name(state));
	if (legacy) {
		add_side(p, args, FXT_W_OUT, 0);
		add_side(p, args, FXT_W_IN, 1);
		fxt_add_u64(p, args, FXT_W_OUT_PRIORITY, fxt_get(h, FXT_F_LEGACY_OUT_PRIORITY));
		fxt_add_u64(p, args, FXT_W_IN_PRIORITY, fxt_get(h, FXT_F_LEGACY_IN_PRIORITY));
		return;
	}
	fxt_add_u64(p, args, FXT_W_OUT, s->threads[0].tid);
	fxt_add_u64(p, args, FXT_W_IN, s->threads[1].tid);
	add_own_args(p, args);
}

static void log_fields(const struct fxt_place *p, struct spur_args *args)
{
	fxt_add_u64(p, args, FXT_W_TICKS, p->shape.ticks);
	add_thread(p, args, &p->shape.threads[0]);
	fxt_add_data(p, args, FXT_W_MESSAGE, SPUR_STRING);
}

static void profiler_fields(const struct fxt_place *p, struct spur_args *args)
{
	const struct fxt_shape *s = &p->shape;

	fxt_add_u64(p, args, FXT_W_TYPE, s->sub);
	fxt_add_u64(p, args, FXT_W_TICKS, s->ticks);
	add_thread(p, args, &s->threads[0]);
	if (s->sub == FXT_BACKTRACE) {
		fxt_add_frames(p, args);
		return;
	}
	fxt_add_u64(p, args, FXT_W_MODULE, fxt_get(s->head, FXT_F_PROFILER_MODULE));
	if (s->sub == FXT_MODULE) {
		fxt_add_string(p, args, FXT_W_NAME, &s->name);
		fxt_add_data(p, args, FXT_W_BUILD_ID, SPUR_BYTES);
		return;
	}
	fxt_add_u64(p, args, FXT_W_FLAGS, fxt_get(s->head, FXT_F_PROFILER_FLAGS));
	fxt_add_hex(p, args, FXT_W_START, s->value);
	fxt_add_hex(p, args, FXT_W_RANGE, s->more[0]);
	fxt_add_hex(p, args, FXT_W_VADDR, s->more[1]);
}

static void record_fields(const struct fxt_place *p, struct spur_args *args)
{
	const struct fxt_shape *s = &p->shape;

	if (s->type != FXT_METADATA)
		fxt_add_u64(p, args, FXT_W_PROVIDER, p->provider->id);
	if (!s->known && s->type != FXT_METADATA && s->type != FXT_EVENT) {
		fxt_add_hex(p, args, FXT_W_HEADER, s->head);
		return;
	}
	switch (s->type) {
	case FXT_METADATA:
		metadata_fields(p, args);
		break;
	case FXT_INIT:
	case FXT_STRING:
	case FXT_THREAD:
		table_fields(p, args);
		break;
	case FXT_EVENT:
		event_fields(p, args);
		break;
	case FXT_BLOB:
	case FXT_LARGE:
		blob_fields(p, args);
		break;
	case FXT_USER_OBJECT:
	case FXT_KERNEL_OBJECT:
		object_fields(p, args);
		break;
	case FXT_SCHEDULING:
		scheduling_fields(p, args);
		break;
	case FXT_LOG:
		log_fields(p, args);
		break;
	case FXT_PROFILER:
		profiler_fields(p, args);
		break;
	default:
		break;
	}
	/* SPEC fxt/longer: words after what is known are skipped */
	if (s->extra)
		fxt_add_u64(p, args, FXT_W_EXTRA_WORDS, s->extra);
}

enum spur_status fxt_fields(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_args *args)
{
	struct fxt_place p;

	args_reset(args);
	fxt_place_enter(t->state, ev, &p);
	record_fields(&p, args);
	fxt_place_leave(t->state);
	return SPUR_OK;
}
