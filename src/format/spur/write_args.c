/* From the arguments of a row to types and a payload. SPEC spur/argument, SPEC spur/nested */
#include "format/spur/write.h"

#include "base/bits.h"

void sw_put_u64(struct sw *w, uint64_t v)
{
	char *const p = out_room(&w->payload, SPB_WORD);

	if (!p)
		return;
	store64(p, v, order_swaps(false));
	w->payload.len += SPB_WORD;
}

/* Adds a type. Returns its index; SIZE_MAX if out of memory. */
static size_t node_add(struct sw *w, unsigned type, unsigned show, uint32_t name)
{
	if (!mem_grow((void **)&w->nodes, &w->nodes_cap, w->nnodes + 1, sizeof(*w->nodes),
		      SW_NODES + UINT16_MAX))
		return SIZE_MAX;
	w->nodes[w->nnodes] =
		(struct sw_node){ .type = (uint8_t)(type | show << SPB_SHOW_SHIFT), .name = name };
	return w->nnodes++;
}

/* Bytes that may still be added to the payload. */
static size_t room_left(const struct sw *w)
{
	return w->payload.len < SW_PAYLOAD ? SW_PAYLOAD - w->payload.len : 0;
}

/* The bytes of a text with 2 bytes of length, or (`is_long`) a word. */
static void bytes_put(struct sw *w, const char *s, size_t len, bool is_long)
{
	uint8_t head[2];

	store16(head, (uint16_t)len, order_swaps(false));
	if (is_long)
		sw_put_u64(w, len);
	else
		out_bytes(&w->payload, head, sizeof(head));
	out_bytes(&w->payload, s, len);
	out_pad(&w->payload, '\0', (size_t)(-w->payload.len & (SPB_WORD - 1)));
}

static bool text_put(struct sw *w, const struct spur_value *v, uint32_t name)
{
	const bool is_long = v->count > UINT16_MAX;
	const unsigned type = v->type == SPUR_STRING ? (is_long ? SPB_LONG_TEXT : SPB_TEXT)
						     : (is_long ? SPB_LONG_BYTES : SPB_BYTES);
	size_t len = v->count;

	if (len > room_left(w)) {
		sw_lose(w, SW_LOST_TEXT);
		len = is_long ? room_left(w) : 0;
	}
	bytes_put(w, v->text, len, is_long);
	return node_add(w, type, 0, name) != SIZE_MAX;
}

static bool value_put(struct sw *w, const struct spur_value *v, uint32_t name, unsigned nest);

/* The types of nodes [a, a + n) and [b, b + n) are the same. */
static bool nodes_equal(const struct sw *w, size_t a, size_t b, size_t n)
{
	return memcmp(w->nodes + a, w->nodes + b, n * sizeof(*w->nodes)) == 0;
}

/* Returns true if values with the types from `at` on take any bytes. */
static bool nodes_have_size(const struct sw *w, size_t at)
{
	for (; at < w->nnodes; at++) {
		const unsigned type = w->nodes[at].type & SPB_TYPE_MASK;

		if (type != SPB_STRUCT && type != SPB_TUPLE)
			return true;
	}
	return false;
}

/*
 * The elements of an array, if all have one type; else *same becomes false, and what was written
 * is to be taken back. Returns false if out of memory.
 */
static bool elements_put(struct sw *w, const struct spur_value *v, uint32_t count, unsigned nest,
			 bool *same)
{
	const size_t first = w->nnodes;
	size_t n = 0, empty;

	sw_put_u64(w, count);
	for (uint32_t i = 0; i < count && *same; i++) {
		const size_t at = w->nnodes;

		empty = w->empty;
		if (!value_put(w, &v->items[i], v->items[i].name, nest + 1))
			return false;
		if (!i) {
			n = w->nnodes - first;
			/* SPEC spur/nested: an element takes a word at least. */
			*same = nodes_have_size(w, first);
			continue;
		}
		*same = w->nnodes - at == n && nodes_equal(w, first, at, n);
		if (*same) {
			w->nnodes = at;
			w->empty = empty;
		}
	}
	return count || node_add(w, SPB_U64, 0, 0) != SIZE_MAX;
}

/* Members of a structure, or elements of several types. */
static bool members_put(struct sw *w, const struct spur_value *v, size_t node, unsigned nest)
{
	const uint32_t most = v->type == SPUR_STRUCT ? UINT16_MAX : SW_TUPLE;
	const uint32_t count = v->count < most ? v->count : most;

	if (count < v->count)
		sw_lose(w, SW_LOST_ARGS);
	w->nodes[node].count = (uint16_t)count;
	w->empty += !count;
	for (uint32_t i = 0; i < count; i++)
		if (!value_put(w, &v->items[i], v->items[i].name, nest + 1))
			return false;
	return true;
}

static bool array_put(struct sw *w, const struct spur_value *v, uint32_t name, unsigned nest)
{
	const size_t node = node_add(w, SPB_ARRAY, 0, name), payload = w->payload.len;
	const size_t empty = w->empty;
	uint32_t count = v->count;
	bool same = true;

	if (count > room_left(w) / SPB_WORD) {
		sw_lose(w, SW_LOST_ARGS);
		count = (uint32_t)(room_left(w) / SPB_WORD);
	}
	if (node == SIZE_MAX || !elements_put(w, v, count, nest, &same))
		return false;
	if (same)
		return true;
	w->nnodes = node + 1;
	w->empty = empty;
	w->payload.len = payload;
	w->nodes[node].type = SPB_TUPLE;
	return members_put(w, v, node, nest);
}

static bool word_put(struct sw *w, const struct spur_value *v, uint32_t name)
{
	static const uint8_t types[] = {
		[SPUR_NULL] = SPB_NULL,	      [SPUR_I64] = SPB_I64,   [SPUR_U64] = SPB_U64,
		[SPUR_F64] = SPB_F64,	      [SPUR_BOOL] = SPB_BOOL, [SPUR_ENUM] = SPB_ENUM,
		[SPUR_POINTER] = SPB_POINTER, [SPUR_KOID] = SPB_KOID,
	};
	unsigned type = v->type < SPUR_STRUCT ? types[v->type] : SPB_NULL, show = v->show;

	if (type == SPB_POINTER && show == SPUR_SHOW_HEX)
		show = 0;
	if (type == SPB_I64 && show == SPUR_SHOW_CHAR && v->size == 1) {
		type = SPB_CHAR;
		show = 0;
	}
	if (type == SPB_F64 && v->size == sizeof(float)) {
		const float f = (float)v->f;
		uint32_t bits;

		memcpy(&bits, &f, sizeof(bits));
		sw_put_u64(w, bits);
		return node_add(w, SPB_F32, show, name) != SIZE_MAX;
	}
	sw_put_u64(w, type == SPB_NULL ? 0 : v->u);
	return node_add(w, type, type == SPB_NULL ? 0 : show, name) != SIZE_MAX;
}

static bool plain_put(struct sw *w, const struct spur_value *v, uint32_t name, unsigned nest)
{
	size_t node;

	switch ((enum spur_type)v->type) {
	case SPUR_STRING:
	case SPUR_BYTES:
		return text_put(w, v, name);
	case SPUR_ARRAY:
		return array_put(w, v, name, nest);
	case SPUR_STRUCT:
		node = node_add(w, SPB_STRUCT, 0, name);
		return node != SIZE_MAX && members_put(w, v, node, nest);
	default:
		return word_put(w, v, name);
	}
}

static bool value_put(struct sw *w, const struct spur_value *v, uint32_t name, unsigned nest)
{
	static const struct spur_value null = { .type = SPUR_NULL };
	const size_t len = v->label ? strlen(v->label) : 0;

	if (nest > SW_NEST || w->nnodes > SW_NODES || room_left(w) < 4 * SPB_WORD ||
	    (v->type == SPUR_STRUCT && !v->count && w->empty == SW_EMPTY)) {
		sw_lose(w, nest > SW_NEST ? SW_LOST_NESTED : SW_LOST_ARGS);
		return word_put(w, &null, name);
	}
	if (!v->label)
		return plain_put(w, v, name, nest);
	if (len > UINT16_MAX)
		sw_lose(w, SW_LOST_TEXT);
	if (node_add(w, SPB_LABELLED, 0, name) == SIZE_MAX || !plain_put(w, v, 0, nest))
		return false;
	bytes_put(w, v->label, len < UINT16_MAX ? len : UINT16_MAX, false);
	return true;
}

/*
 * SPEC spur/frames: the call stack of a sample stands for its argument `stack`. Sets *stack to that
 * argument's index. Returns false if out of memory.
 */
static bool frames_put(struct sw *w, const struct spur_event *row, uint32_t file, size_t *stack)
{
	uint32_t cls[SW_FRAMES];
	size_t n;

	for (size_t i = 0; i < w->args.count && *stack == SIZE_MAX; i++)
		if (w->args.items[i].type == SPUR_ARRAY &&
		    strcmp(trace_string(w->trace, w->args.items[i].name, NULL), "stack") == 0)
			*stack = i;
	n = *stack == SIZE_MAX ? 0 : w->write->stack(w->write, row, cls, SW_FRAMES);
	if (!n || n > SW_FRAMES || n != w->args.items[*stack].count) {
		if (*stack != SIZE_MAX && n)
			sw_lose(w, SW_LOST_STACK);
		*stack = SIZE_MAX;
		return true;
	}
	sw_put_u64(w, n);
	for (size_t i = 0; i < n; i++) {
		const uint32_t number = sw_function_of(w, file, cls[i]);

		if (!number)
			return false;
		sw_put_u64(w, number);
	}
	w->nargs = 1;
	return node_add(w, SPB_FRAMES, 0, w->args.items[*stack].name) != SIZE_MAX;
}

bool sw_encode(struct sw *w, const struct spur_event *row, uint32_t file)
{
	size_t stack = SIZE_MAX;
	enum spur_status st;

	if (!row->nargs)
		return true;
	st = w->write->args(w->write, row, &w->args);
	if (st == SPUR_FAIL)
		return false;
	if (st == SPUR_WARN)
		sw_lose(w, SW_LOST_PAYLOAD);
	if (row->kind == SPUR_SAMPLE && w->args.count && !frames_put(w, row, file, &stack))
		return false;
	for (size_t i = 0; i < w->args.count; i++) {
		if (i == stack)
			continue;
		if (w->nargs == SW_ARGS) {
			sw_lose(w, SW_LOST_ARGS);
			break;
		}
		if (!value_put(w, &w->args.items[i], w->args.items[i].name, 0))
			return false;
		w->nargs++;
	}
	return !w->payload.error;
}
