/* Runs byte programs. See plan_bytes.h. */
#include "format/ctf/plan_parts.h"
#include "model/args.h"

#define unlikely(x) __builtin_expect(!!(x), 0)

static inline uint64_t float_bits(uint32_t bits)
{
	float f;
	double d;
	uint64_t v;

	memcpy(&f, &bits, sizeof(f));
	d = (double)f;
	memcpy(&v, &d, sizeof(v));
	return v;
}

static inline uint64_t byte_load(unsigned kind, const uint8_t *p)
{
	switch (kind) {
	case BYTE_U8:
		return *p;
	case BYTE_I8:
		return (uint64_t)(int8_t)*p;
	case BYTE_U16:
		return load16(p, false);
	case BYTE_I16:
		return (uint64_t)(int16_t)load16(p, false);
	case BYTE_U32:
		return load32(p, false);
	case BYTE_I32:
		return (uint64_t)(int32_t)load32(p, false);
	case BYTE_64:
		return load64(p, false);
	case BYTE_U16_SWAPPED:
		return load16(p, true);
	case BYTE_I16_SWAPPED:
		return (uint64_t)(int16_t)load16(p, true);
	case BYTE_U32_SWAPPED:
		return load32(p, true);
	case BYTE_I32_SWAPPED:
		return (uint64_t)(int32_t)load32(p, true);
	case BYTE_64_SWAPPED:
		return load64(p, true);
	case BYTE_F32:
		return float_bits(load32(p, false));
	default:
		return float_bits(load32(p, true));
	}
}

/* A high bit in each byte that is 0; of several the lowest is right. */
static inline uint64_t zero_bytes(uint64_t w)
{
	return (w - 0x0101010101010101u) & ~w & 0x8080808080808080u;
}

/* Where the first NUL of the `n` bytes is; `n`: there is none. Texts are short: a call costs more than they. */
static inline size_t nul_at(const uint8_t *p, size_t n)
{
	const uint8_t *nul;
	size_t i = 0;

	for (; i + 8 <= n && i < 32; i += 8) {
		const uint64_t zero = zero_bytes(load64(p + i, order_swaps(false)));

		if (zero)
			return i + (size_t)__builtin_ctzll(zero) / 8;
	}
	if (n - i < 8) {
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
	const uint8_t *run = p;
	uint64_t n;

	/* Invariant: p <= end, and run + off with what is loaded there is before p. */
	for (;; s++) {
		switch ((enum byte_code)s->code) {
		case BYTE_END:
			return p;
		case BYTE_RUN:
			if (unlikely((size_t)(end - p) < s->size))
				return NULL;
			run = p;
			p += s->size;
			break;
		case BYTE_U8:
			slots[s->slot] = run[s->off];
			break;
		case BYTE_U16:
			slots[s->slot] = load16(run + s->off, false);
			break;
		case BYTE_U32:
			slots[s->slot] = load32(run + s->off, false);
			break;
		case BYTE_I32:
			slots[s->slot] = (uint64_t)(int32_t)load32(run + s->off, false);
			break;
		case BYTE_64:
			slots[s->slot] = load64(run + s->off, false);
			break;
		case BYTE_PLACE:
			slots[s->slot] = (uint64_t)(run + s->off - c->data);
			break;
		case BYTE_STRING:
			n = nul_at(p, (size_t)(end - p));
			if (unlikely(n == (size_t)(end - p)))
				return NULL;
			p += n + 1;
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
			slots[s->slot] = byte_load(s->load, run + s->off);
			c->have[s->slot] = 1;
			break;
		case BYTE_CLOCK:
			c->clock =
				clock_update(c->clock, byte_load(s->load, run + s->off), s->bits);
			break;
		default:
			slots[s->slot] = byte_load(s->code, run + s->off);
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
