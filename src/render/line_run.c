/* See line.h. Running programs. */
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/digits.h"
#include "model/args.h"
#include "render/line_parts.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* A program at work. */
struct line_run {
	struct line_pen *pen;
	const struct line_program *line;
	const struct byte_block *block;
	struct out *o;
};

/*
 * The room of a line again, behind what was written up to `w`. Returns NULL if out of memory, or if
 * the begin of the line would be written to a file, which could not be taken back.
 */
static inline char *room_again(const struct line_run *r, char *w, size_t more)
{
	struct out *o = r->o;

	if (likely((size_t)(o->buf + o->cap - w) >= r->line->room + more))
		return w;
	if (o->fd >= 0)
		return NULL;
	out_to(o, w);
	return out_room(o, r->line->room + more);
}

static inline char *literal_put(char *w, const struct line_step *s)
{
	memcpy(w, s->literal, LINE_COPY);
	if (unlikely(s->literal_len > LINE_COPY))
		memcpy(w + LINE_COPY, s->literal + LINE_COPY, LINE_LITERAL_MOST - LINE_COPY);
	return w + s->literal_len;
}

/* Any value, into what is left of a file's buffer. */
static char *value_copy(const struct line_run *r, const struct spur_value *v, char *w)
{
	const struct out *o = r->o;
	struct out *text = &r->pen->scratch;

	out_clear(text);
	r->pen->words->value(r->pen->self, v, text);
	if (text->error || (size_t)(o->buf + o->cap - w) < r->line->room + text->len)
		return NULL;
	if (text->len)
		memcpy(w, text->buf, text->len);
	return w + text->len;
}

/* Any value. */
static char *value_put(const struct line_run *r, const struct spur_value *v, char *w)
{
	struct out *o = r->o;

	if (o->fd >= 0)
		return value_copy(r, v, w);
	out_to(o, w);
	r->pen->words->value(r->pen->self, v, o);
	return o->error ? NULL : out_room(o, r->line->room);
}

/* A value that the step does not remember. */
static __attribute__((noinline)) char *memo_make(const struct line_run *r,
						 const struct line_step *s, struct line_memo *m,
						 uint64_t n, char *w)
{
	struct line_pen *pen = r->pen;
	struct out *o = &pen->scratch;
	struct spur_value v = s->from->value;

	args_reset(&pen->args);
	v.u = n;
	if (s->from->code == BYTE_INT &&
	    !pen->source->value(s->from, pen->words->flat, n, &pen->args, &v))
		return NULL;
	out_clear(o);
	pen->words->value(pen->self, &v, o);
	if (o->error)
		return NULL;
	if (o->len > LINE_MEMO_TEXT)
		return value_put(r, &v, w);
	m->used = true;
	m->key = n;
	m->len = (uint8_t)o->len;
	memcpy(m->text, o->buf, o->len);
	memcpy(w, o->buf, o->len);
	return w + o->len;
}

static inline struct line_memo *memo_of(const struct line_step *s, uint64_t n)
{
	return &s->memo[(n ^ n >> 32 ^ n >> 52) % LINE_MEMO];
}

static inline char *memo_copy(const struct line_memo *m, char *w)
{
	memcpy(w, m->text, LINE_MEMO_FIRST);
	if (unlikely(m->len > LINE_MEMO_FIRST))
		memcpy(w + LINE_MEMO_FIRST, m->text + LINE_MEMO_FIRST,
		       LINE_MEMO_TEXT - LINE_MEMO_FIRST);
	return w + m->len;
}

static inline char *memo_put(const struct line_run *r, const struct line_step *s, uint64_t n,
			     char *w)
{
	struct line_memo *m = memo_of(s, n);

	if (s->what & BYTE_KEPT)
		r->pen->slots[s->slot] = n;
	return likely(m->used && m->key == n) ? memo_copy(m, w) : memo_make(r, s, m, n, w);
}

/* A float of these bits, which is remembered. */
static inline char *float_put(const struct line_run *r, const struct line_step *s, uint64_t n,
			      char *w)
{
	struct line_memo *m = memo_of(s, n);
	struct spur_value v;
	char *end;

	if (m->used && m->key == n)
		return memo_copy(m, w);
	v = s->from->value;
	v.u = n;
	end = r->pen->words->put(w, &v);
	if (likely(end - w <= LINE_MEMO_TEXT)) {
		m->used = true;
		m->key = n;
		m->len = (uint8_t)(end - w);
		/* What is behind the text is never shown. */
		memcpy(m->text, w, LINE_MEMO_TEXT);
	}
	return end;
}

/* Text, of which `left` >= n bytes can be read. */
static __attribute__((noinline)) char *
text_slow(const struct line_run *r, const struct line_step *s, const uint8_t *p, size_t n, char *w)
{
	struct spur_value v = s->from->value;

	if (n > UINT32_MAX)
		return NULL;
	v.text = (const char *)p;
	v.count = (uint32_t)n;
	return value_put(r, &v, w);
}

#ifdef __SSE2__
/*
 * Bits of the bytes of text that are not written as they are, from the first byte on; *nuls: those
 * that are NUL.
 */
static inline unsigned text_odd(const struct line_words *words, __m128i v, unsigned *nuls)
{
	const __m128i zero = _mm_setzero_si128();
	__m128i odd;

	*nuls = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, zero));
	odd = _mm_cmpeq_epi8(_mm_subs_epu8(v, _mm_set1_epi8(31)), zero);
	odd = _mm_or_si128(odd, _mm_cmpeq_epi8(v, _mm_set1_epi8(127)));
	odd = _mm_or_si128(odd, _mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
	odd = _mm_or_si128(odd, _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
	odd = _mm_or_si128(odd, _mm_cmpeq_epi8(v, _mm_set1_epi8(words->odd[0])));
	odd = _mm_or_si128(odd, _mm_cmpeq_epi8(v, _mm_set1_epi8(words->odd[1])));
	/* Bytes from 0x80 on have the sign bit that movemask takes. */
	odd = words->high ? odd : _mm_or_si128(odd, v);
	return (unsigned)_mm_movemask_epi8(odd);
}

/*
 * Quoted text up to the NUL, or `n` bytes of it; `left` >= n bytes can be read. *len gets its
 * length. Returns NULL if text_slow() has to write it.
 */
static inline char *text_quick(const struct line_run *r, const uint8_t *p, size_t n, size_t left,
			       char *w, size_t *len)
{
	*w++ = '"';
	for (size_t i = 0; left - i >= LINE_TEXT_STEP;) {
		unsigned nuls, odd, end;
		__m128i v;

		memcpy(&v, p + i, sizeof(v));
		odd = text_odd(r->pen->words, v, &nuls);
		end = (unsigned)__builtin_ctz(nuls | 1u << LINE_TEXT_STEP);
		end = n - i < end ? (unsigned)(n - i) : end;
		if (unlikely(odd & ((1u << end) - 1)))
			return NULL;
		w = room_again(r, w, LINE_TEXT_STEP);
		if (unlikely(!w))
			return NULL;
		memcpy(w, &v, sizeof(v));
		w += end;
		i += end;
		if (end < LINE_TEXT_STEP || i == n) {
			*len = i;
			*w++ = '"';
			return w;
		}
	}
	return NULL;
}
#endif

/* Text up to the NUL, or of n bytes; see text_quick(). */
static inline char *text_put(const struct line_run *r, const struct line_step *s, const uint8_t *p,
			     size_t *n, size_t left, char *w)
{
	const uint8_t *nul;
#ifdef __SSE2__
	const size_t from = (size_t)(w - r->o->buf);
	char *end = text_quick(r, p, *n, left, w, n);

	if (likely(end))
		return end;
	if (r->o->error)
		return NULL;
	w = r->o->buf + from;
#endif
	(void)left;
	nul = *n ? memchr(p, 0, *n) : NULL;
	*n = nul ? (size_t)(nul - p) : *n;
	return text_slow(r, s, p, *n, w);
}

static char *array_put(const struct line_run *r, const struct line_step *s, const uint8_t *p,
		       uint32_t n, char *w)
{
	const struct line_pen *pen = r->pen;
	const struct line_index *behind = &pen->behind[n > 0];
	struct spur_value v;

	w = room_again(r, w, (size_t)(n + 1) * (LINE_INDEX + LINE_NUMBER));
	if (!w)
		return NULL;
	if (!s->decimal)
		v = s->from->value;
	for (uint32_t i = 0; i < n; i++, p += s->size) {
		const uint64_t bits = byte_load(s->load, p);

		memcpy(w, pen->before[i].text, LINE_INDEX_TEXT);
		w += pen->before[i].len;
		if (s->decimal) {
			w = put_decimal(w, bits);
		} else {
			v.u = bits;
			w = pen->words->put(w, &v);
		}
	}
	memcpy(w, behind->text, LINE_INDEX_TEXT);
	return w + behind->len;
}

/* Text, bytes or elements, as many as a slot says; *p moves behind them. */
static char *dynamic_put(const struct line_run *r, const struct line_step *s, const uint8_t **p,
			 const uint8_t *end, char *w)
{
	const uint64_t n = r->pen->slots[s->slot];
	const uint8_t *const q = *p;
	size_t len = (size_t)n;

	/* Longer text than BYTE_ELEMENTS is decoded in another way. */
	if (n > BYTE_ELEMENTS || n > (size_t)(end - q) / s->size ||
	    (s->code == LINE_SEQUENCE && n > LINE_ELEMENTS))
		return NULL;
	*p = q + n * s->size;
	if (s->code == LINE_SEQUENCE)
		return array_put(r, s, q, (uint32_t)n, w);
	return s->code == LINE_BLOB_DYNAMIC ? text_slow(r, s, q, len, w)
					    : text_put(r, s, q, &len, (size_t)(end - q), w);
}

/* Text, bytes or elements of a number that the class has, which end in the last run. */
static char *fixed_put(const struct line_run *r, const struct line_step *s, const uint8_t *p,
		       const uint8_t *end, char *w)
{
	size_t len = s->count;

	if (s->code == LINE_ARRAY)
		return s->count > LINE_ELEMENTS ? NULL : array_put(r, s, p, s->count, w);
	return s->code == LINE_BLOB ? text_slow(r, s, p, len, w)
				    : text_put(r, s, p, &len, (size_t)(end - p), w);
}

/* The number of a step, which ends its slot too. */
static inline uint64_t number_load(const struct line_run *r, const struct line_step *s,
				   const uint8_t *p)
{
	return r->pen->slots[s->slot] = byte_number(p - s->back, s->shift, s->mask);
}

static inline char *signed_put(char *w, uint64_t n)
{
	if ((int64_t)n < 0) {
		*w++ = '-';
		n = 0 - n;
	}
	return put_decimal(w, n);
}

static inline char *hex_put(const struct line_run *r, const struct line_step *s, uint64_t n,
			    char *w)
{
	w[0] = '0';
	w[1] = 'x';
	return put_hex_digits(w + 2, n << s->count >> s->count, r->pen->words->upper);
}

static inline char *number_put(const struct line_run *r, const struct line_step *s, uint64_t n,
			       char *w)
{
	struct spur_value v = s->from->value;

	v.u = n;
	return r->pen->words->put(w, &v);
}

/* The bits of a value that is remembered. */
static inline uint64_t value_load(const struct line_step *s, const uint8_t *p)
{
	return s->from->code == BYTE_NUMBER || s->from->code == BYTE_MORE
		       ? byte_number(p - s->back, s->shift, s->mask)
		       : byte_load(s->load, p - s->back);
}

/* What is neither a plain number nor text up to a NUL. */
static inline char *other_put(const struct line_run *r, const struct line_step *s,
			      const uint8_t **p, const uint8_t *end, char *w)
{
	uint64_t at;

	switch ((enum line_code)s->code) {
	case LINE_LITERAL:
		return w;
	case LINE_PUT:
		return number_put(r, s, number_load(r, s, *p), w);
	case LINE_KEEP:
		r->pen->slots[s->slot] = byte_load(s->load, *p - s->back);
		return w;
	case LINE_VALUE:
		return memo_put(r, s, value_load(s, *p), w);
	case LINE_FLOAT:
		return float_put(r, s, value_load(s, *p), w);
	case LINE_ALIGN:
		at = align_up((uint64_t)(*p - r->block->data), s->size);
		if (at > (uint64_t)(end - r->block->data))
			return NULL;
		*p = r->block->data + at;
		return w;
	case LINE_TEXT:
	case LINE_BLOB:
	case LINE_ARRAY:
		return fixed_put(r, s, *p - s->back, end, w);
	default:
		return dynamic_put(r, s, p, end, w);
	}
}

/* Text up to a NUL that must be there. */
static inline char *string_put(const struct line_run *r, const struct line_step *s,
			       const uint8_t **p, const uint8_t *end, char *w)
{
	const size_t left = (size_t)(end - *p);
	size_t len = left;

	w = text_put(r, s, *p, &len, left, w);
	if (unlikely(len >= left || len > UINT32_MAX))
		return NULL;
	*p += len + 1;
	return w;
}

/*
 * The text behind `w`, which has the program's room. Returns its end, or NULL.
 * INVARIANT: p <= end, and `back` reaches into the last run at most.
 */
static inline char *line_steps(const struct line_run *r, const uint8_t *p, char *w)
{
	const uint8_t *const end = r->block->end - BYTE_SLACK;

	for (const struct line_step *s = r->line->steps;; s++) {
		if (unlikely((size_t)(end - p) < s->run))
			return NULL;
		p += s->run;
		w = literal_put(w, s);
		switch ((enum line_code)s->code) {
		case LINE_END:
			return w;
		case LINE_U64:
			w = put_decimal(w, number_load(r, s, p));
			break;
		case LINE_I64:
			w = signed_put(w, number_load(r, s, p));
			break;
		case LINE_HEX:
			w = hex_put(r, s, number_load(r, s, p), w);
			break;
		case LINE_STRING:
			w = string_put(r, s, &p, end, w);
			break;
		default:
			w = other_put(r, s, &p, end, w);
			break;
		}
		if (unlikely(!w))
			return NULL;
	}
}

char *line_put(struct line_pen *pen, const struct line_at *at, struct out *o, char *w)
{
	const struct byte_block *block = &at->block->of;
	const struct line_run r = { pen, at->line, block, o };

	if (unlikely(block->end - at->p < BYTE_SLACK))
		return NULL;
	pen->slots[block->id_slot] = at->id;
	return line_steps(&r, at->p, w);
}
