/* Runs byte programs. See plan_bytes.h. */
#include "format/ctf/plan_parts.h"
#include "model/args.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* A high bit in each byte that is 0; of several the lowest is right. */
static inline uint64_t zero_bytes(uint64_t w)
{
	return (w - 0x0101010101010101u) & ~w & 0x8080808080808080u;
}

/* Where the first NUL of the `n` bytes is; `n`: there is none. Texts are short: a call costs more than they. */
static inline size_t nul_at(const uint8_t *p, size_t n)
{
	const bool swap = order_swaps(false);
	const uint8_t *nul;
	size_t i = 0;

	for (; n - i >= 16 && i < 64; i += 16) {
		const uint64_t a = zero_bytes(load64(p + i, swap)),
			       b = zero_bytes(load64(p + i + 8, swap));

		if (a | b)
			return i + (a ? 0 : 8) + (size_t)__builtin_ctzll(a ? a : b) / 8;
	}
	if (n - i < 16) {
		while (i < n && p[i])
			i++;
		return i;
	}
	nul = memchr(p + i, 0, n - i);
	return nul ? (size_t)(nul - p) : n;
}

static inline bool fits(uint64_t count, uint32_t size, size_t left)
{
	return count <= left && (unsigned __int128)count * size <= left;
}

const uint8_t *bytes_skip(const struct byte_skip *s, struct ctf_cursor *c, const uint8_t *p,
			  const uint8_t *end)
{
	uint64_t *const slots = c->slots;
	uint64_t n;

	/* Invariant: p <= end, and `back` reaches into the last run at most. */
	for (;; s++) {
		if (unlikely((size_t)(end - p) < s->run))
			return NULL;
		p += s->run;
		switch ((enum byte_code)s->code) {
		case BYTE_END:
			return p;
		case BYTE_64:
			slots[s->slot] = load64(p - s->back, false);
			break;
		case BYTE_PLACE:
			slots[s->slot] = (uint64_t)(p - s->back - c->data);
			break;
		case BYTE_STRING:
			p += nul_at(p, (size_t)(end - p));
			if (unlikely(p++ == end))
				return NULL;
			break;
		case BYTE_COUNTED:
			n = likely(s->load == BYTE_64) ? load64(p - s->back, false)
						       : byte_load(s->load, p - s->back);
			slots[s->slot] = n;
			if (unlikely(!fits(n, s->size, (size_t)(end - p))))
				return NULL;
			p += n * s->size;
			break;
		case BYTE_DYNAMIC:
			n = slots[s->slot];
			if (unlikely(!fits(n, s->size, (size_t)(end - p))))
				return NULL;
			p += n * s->size;
			break;
		case BYTE_ALIGN:
			n = align_up((uint64_t)(p - c->data), s->size);
			if (unlikely(n > (uint64_t)(end - c->data)))
				return NULL;
			p = c->data + n;
			break;
		case BYTE_ROLE:
			slots[s->slot] = byte_load(s->load, p - s->back);
			c->have[s->slot] = 1;
			break;
		case BYTE_CLOCK:
			n = byte_load(s->load, p - s->back);
			c->clock = clock_update(c->clock, n, s->bits);
			break;
		default:
			slots[s->slot] = byte_load(s->code, p - s->back);
			break;
		}
	}
}

/* --- values --- */

static struct spur_value *value_text(struct spur_value *v, const struct byte_value *s,
				     const uint8_t *p, size_t n)
{
	*v = s->value;
	v->text = (const char *)p;
	v->count = (uint32_t)(v->type == SPUR_STRING ? nul_at(p, n) : n);
	return v + 1;
}

/* NULL: no memory. */
static struct spur_value *value_int(struct spur_value *v, const struct byte_value *s, uint64_t n,
				    uint64_t *slots, bool flat, struct spur_args *args)
{
	bool good = true;

	if (s->what & BYTE_KEPT)
		slots[s->slot] = n;
	if (s->what & BYTE_HIDDEN)
		return v;
	*v = s->value;
	v->u = s->what & BYTE_BOOL ? n != 0 : n;
	if (s->what & BYTE_LABELS)
		v->label = plan_label(args, flat, s->field, n, &good);
	return good ? v + 1 : NULL;
}

static struct spur_value *value_array(struct spur_value *v, const struct byte_value *s,
				      const uint8_t *p, size_t n, struct spur_args *args)
{
	struct spur_value *items = n ? args_alloc(args, n * sizeof(*items)) : NULL;

	if (n && !items)
		return NULL;
	*v = (struct spur_value){
		.type = SPUR_ARRAY, .name = s->value.name, .count = (uint32_t)n, .items = items
	};
	for (size_t i = 0; i < n; i++) {
		items[i] = s->value;
		items[i].name = 0;
		items[i].u = byte_load(s->load, p + i * s->size);
	}
	return v + 1;
}

static struct spur_value *value_struct(struct spur_value *v, const struct byte_value *s,
				       struct spur_args *args)
{
	struct spur_value *items = args_alloc(args, s->count * sizeof(*items));

	*v = s->value;
	v->items = s->count ? items : NULL;
	return items;
}

bool bytes_values(const struct byte_program *b, struct ctf_cursor *c, bool flat,
		  struct spur_args *args)
{
	const uint8_t *p = c->data + c->at / 8, *run = p, *const end = c->data + c->limit / 8;
	const uint32_t top = flat ? b->flat : b->scopes;
	struct spur_value *v = args_room(args, top), *up[BYTE_DEPTH];
	const struct byte_value *s = b->values;
	unsigned depth = 0;
	uint64_t n;

	/* Invariant: as of bytes_skip(); v is inside its structure's items, which were counted beforehand. */
	for (; v; s++) {
		switch ((enum byte_code)s->code) {
		case BYTE_END:
			c->at = (uint64_t)(p - c->data) * 8;
			args->count += top;
			return true;
		case BYTE_RUN:
			if (unlikely((size_t)(end - p) < s->size))
				return false;
			run = p;
			p += s->size;
			break;
		case BYTE_U32:
			*v = s->value;
			v++->u = load32(run + s->off, false);
			break;
		case BYTE_I32:
			*v = s->value;
			v++->i = (int32_t)load32(run + s->off, false);
			break;
		case BYTE_64:
			*v = s->value;
			v++->u = load64(run + s->off, false);
			break;
		case BYTE_INT:
			v = value_int(v, s, byte_load(s->load, run + s->off), c->slots, flat, args);
			break;
		case BYTE_TEXT:
		case BYTE_BLOB:
			v = value_text(v, s, run + s->off, s->count);
			break;
		case BYTE_STRING:
			n = nul_at(p, (size_t)(end - p));
			if (unlikely(n == (size_t)(end - p) || n > UINT32_MAX))
				return false;
			*v = s->value;
			v->text = (const char *)p;
			v++->count = (uint32_t)n;
			p += n + 1;
			break;
		case BYTE_TEXT_DYNAMIC:
		case BYTE_BLOB_DYNAMIC:
			n = c->slots[s->slot];
			if (unlikely(n > (size_t)(end - p) || n > UINT32_MAX))
				return false;
			v = value_text(v, s, p, (size_t)n);
			p += n;
			break;
		case BYTE_ARRAY:
			v = value_array(v, s, run + s->off, s->count, args);
			break;
		case BYTE_SEQUENCE:
			n = c->slots[s->slot];
			if (unlikely(n > BYTE_ELEMENTS || !fits(n, s->size, (size_t)(end - p))))
				return false;
			v = value_array(v, s, p, (size_t)n, args);
			p += n * s->size;
			break;
		case BYTE_OPEN:
			if (flat && (s->what & BYTE_SCOPE))
				break;
			up[depth++] = v + 1;
			v = value_struct(v, s, args);
			break;
		case BYTE_CLOSE:
			if (!flat || !(s->what & BYTE_SCOPE))
				v = up[--depth];
			break;
		case BYTE_ALIGN:
			n = align_up((uint64_t)(p - c->data), s->size);
			if (unlikely(n > (uint64_t)(end - c->data)))
				return false;
			p = c->data + n;
			break;
		default:
			*v = s->value;
			v++->u = byte_load(s->code, run + s->off);
			break;
		}
	}
	return false;
}
