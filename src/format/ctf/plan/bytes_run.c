/* Runs byte programs. See plan_bytes.h. */
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "format/ctf/plan/parts.h"
#include "model/args.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Returns the index of the first NUL in 16 bytes, or 16. */
static inline unsigned nul_of_16(const uint8_t *p)
{
#ifdef __SSE2__
	__m128i v;

	memcpy(&v, p, sizeof(v));
	return (unsigned)__builtin_ctz(
		(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128())) | 1u << 16);
#else
	unsigned i = 0;

	while (i < 16 && p[i])
		i++;
	return i;
#endif
}

/*
 * Returns the index of the first NUL in `n` bytes, or `n`. Requires `left` >= `n` readable bytes.
 * Texts are short, so this is inline instead of a call of memchr().
 */
static inline size_t nul_at(const uint8_t *p, size_t n, size_t left)
{
	const uint8_t *nul;
	size_t i = 0;

	for (; i < n && left - i >= 16 && i < 64; i += 16) {
		const unsigned at = nul_of_16(p + i);

		if (at < 16)
			return i + at < n ? i + at : n;
	}
	nul = i < n ? memchr(p + i, 0, n - i) : NULL;
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
			p += nul_at(p, (size_t)(end - p), (size_t)(end - p));
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
				     const uint8_t *p, size_t n, size_t left)
{
	*v = s->value;
	v->text = (const char *)p;
	v->count = (uint32_t)(s->value.type == SPUR_STRING ? nul_at(p, n, left) : n);
	return v + 1;
}

bool bytes_value(const struct byte_value *s, bool flat, uint64_t n, struct spur_args *args,
		 struct spur_value *v)
{
	bool good = true;

	*v = s->value;
	v->u = s->what & BYTE_BOOL ? n != 0 : n;
	if (s->what & BYTE_LABELS)
		v->label = plan_label(args, flat, s->field, n, &good);
	if (flat && (s->what & BYTE_LABELS) && !v->label)
		plan_unnamed(v);
	return good;
}

/* Returns NULL if out of memory. */
static struct spur_value *value_int(struct spur_value *v, const struct byte_value *s, uint64_t n,
				    uint64_t *slots, bool flat, struct spur_args *args)
{
	if (s->what & BYTE_KEPT)
		slots[s->slot] = n;
	if (s->what & BYTE_HIDDEN)
		return v;
	return bytes_value(s, flat, n, args, v) ? v + 1 : NULL;
}

static struct spur_value *value_array(struct spur_value *v, const struct byte_value *s,
				      const uint8_t *p, size_t n, struct spur_args *args)
{
	struct spur_value *items = args_inner(args, n);

	if (!items)
		return NULL;
	*v = (struct spur_value){
		.type = SPUR_ARRAY, .name = s->name, .count = (uint32_t)n, .items = n ? items : NULL
	};
	for (size_t i = 0; i < n; i++, p += s->size) {
		items[i] = s->value;
		items[i].u = byte_load(s->load, p);
	}
	return v + 1;
}

static struct spur_value *value_struct(struct spur_value *v, const struct byte_value *s,
				       struct spur_args *args)
{
	struct spur_value *items = args_inner(args, s->count);

	*v = s->value;
	v->items = s->count ? items : NULL;
	return items;
}

/*
 * Where as many elements or bytes as a length says end; NULL: not in the packet, or there are too
 * many for here.
 */
static inline const uint8_t *counted_end(const struct byte_value *s, uint64_t n, const uint8_t *p,
					 const uint8_t *end)
{
	return n <= BYTE_ELEMENTS && fits(n, s->size, (size_t)(end - p)) ? p + n * s->size : NULL;
}

/*
 * The next three give where their bytes end; NULL: they are not in the packet, or there is no
 * memory.
 */
static inline const uint8_t *read_string(struct spur_value **v, const struct byte_value *s,
					 const uint8_t *p, const uint8_t *end)
{
	const uint8_t *nul = p + nul_at(p, (size_t)(end - p), (size_t)(end - p));

	if (unlikely(nul == end || nul - p > UINT32_MAX))
		return NULL;
	**v = s->value;
	(*v)->text = (const char *)p;
	(*v)++->count = (uint32_t)(nul - p);
	return nul + 1;
}

static inline const uint8_t *parse_text(struct spur_value **v, const struct byte_value *s,
					uint64_t n, const uint8_t *p, const uint8_t *end)
{
	const uint8_t *q = counted_end(s, n, p, end);

	if (likely(q))
		*v = value_text(*v, s, p, (size_t)n, (size_t)(end - p));
	return q;
}

static inline const uint8_t *read_sequence(struct spur_value **v, const struct byte_value *s,
					   uint64_t n, const uint8_t *p, const uint8_t *end,
					   struct spur_args *args)
{
	const uint8_t *q = counted_end(s, n, p, end);

	*v = q ? value_array(*v, s, p, (size_t)n, args) : NULL;
	return *v ? q : NULL;
}

/*
 * Text, bytes or elements, as many as a slot says. Returns where they end; NULL if they do not fit.
 */
static inline const uint8_t *read_counted(struct spur_value **v, const struct byte_value *s,
					  uint64_t n, const uint8_t *p, const uint8_t *end,
					  struct spur_args *args)
{
	return s->code == BYTE_SEQUENCE ? read_sequence(v, s, n, p, end, args)
					: parse_text(v, s, n, p, end);
}

/* Text, bytes or elements of a number that the class has; `room`: bytes that can be read. */
static inline struct spur_value *value_fixed(struct spur_value *v, const struct byte_value *s,
					     const uint8_t *p, size_t room, struct spur_args *args)
{
	return s->code == BYTE_ARRAY ? value_array(v, s, p, s->count, args)
				     : value_text(v, s, p, s->count, room);
}

static const uint8_t *aligned(const struct byte_packet *in, const uint8_t *p, uint32_t size,
			      const uint8_t *end)
{
	const uint64_t at = align_up((uint64_t)(p - in->data), size);

	return at <= (uint64_t)(end - in->data) ? in->data + at : NULL;
}

const uint8_t *bytes_values(const struct byte_program *b, bool flat, const struct byte_packet *in,
			    const uint8_t *p, struct spur_args *args)
{
	const uint8_t *const end = in->end - BYTE_SLACK;
	uint64_t *const slots = in->slots;
	struct spur_value *v = args_room(args, b->top[flat]), *up[BYTE_DEPTH];
	const struct byte_value *s = b->values[flat];
	unsigned depth = 0;

	if (unlikely(!v || in->end - p < BYTE_SLACK))
		return NULL;
	/* Invariant: as of bytes_skip(); v is inside items that were counted beforehand. */
	for (;; s++) {
		if (unlikely(!p || !v || (size_t)(end - p) < s->run))
			return NULL;
		p += s->run;
		/* The most usual ones first: a guess costs less than a jump to anywhere. */
		if (s->code == BYTE_NUMBER) {
			s = number_values(s, &v, p, slots) - 1;
			continue;
		}
		switch ((enum byte_code)s->code) {
		case BYTE_END:
			args->count += b->top[flat];
			return p;
		case BYTE_INT:
			v = value_int(v, s, byte_load(s->load, p - s->back), slots, flat, args);
			break;
		case BYTE_TEXT:
		case BYTE_BLOB:
		case BYTE_ARRAY:
			v = value_fixed(v, s, p - s->back, (size_t)(end - p) + s->back, args);
			break;
		case BYTE_STRING:
			p = read_string(&v, s, p, end);
			break;
		case BYTE_TEXT_DYNAMIC:
		case BYTE_BLOB_DYNAMIC:
		case BYTE_SEQUENCE:
			p = read_counted(&v, s, slots[s->slot], p, end, args);
			break;
		case BYTE_OPEN:
			up[depth++] = v + 1;
			v = value_struct(v, s, args);
			break;
		case BYTE_CLOSE:
			v = up[--depth];
			break;
		case BYTE_ALIGN:
			p = aligned(in, p, s->size, end);
			break;
		default:
			*v = s->value;
			v++->u = byte_load(s->code, p - s->back);
			break;
		}
	}
}
