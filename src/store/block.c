/* See block.h: reading and making blocks. */
#include "store/block.h"

#include "store/parts.h"

enum { BLOCK_HEAD = 8, WIDTH_MAX = 57 };

/* SPEC store/sparse: sets the bits of the items with spans inside them. Returns their number. */
static uint32_t outers_read(struct block *b)
{
	const struct column *c = &b->cols[STORE_OUTER];
	uint32_t count = 0;

	for (uint32_t i = 0; i < STORE_BLOCK / 64; i++) {
		const uint32_t n = b->n <= 64 * i ? 0 : b->n - 64 * i < 64 ? b->n - 64 * i : 64;
		const uint64_t all = !n ? 0 : n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
		uint64_t w = 0;

		if (n && c->width == 1 && !c->base && !c->shift)
			w = load64(c->at + (size_t)8 * i, false);
		else if (!c->width)
			w = c->base & 1 ? UINT64_MAX : 0;
		else
			for (uint32_t j = 0; j < n; j++)
				w |= (column_get(c, 64 * i + j) & 1) << j;
		b->outer[i] = w & all;
		count += (uint32_t)__builtin_popcountll(b->outer[i]);
	}
	return count;
}

/* SPEC store/block */
bool block_read(struct block *b, const uint8_t *p, uint32_t size, uint32_t n,
		enum store_column last)
{
	const uint32_t level1 = (n + STORE_FAN - 1) / STORE_FAN;
	uint32_t mask, at = BLOCK_HEAD, data, outers = 0;

	if (size < BLOCK_HEAD + 8 || !n || n > STORE_BLOCK)
		return false;
	mask = load32(p, false);
	data = load16(p + 4, false);
	b->n = n;
	b->label_ids = load16(p + 6, false) & STORE_LABEL_IDS;
	for (unsigned c = 0; c <= (unsigned)last; c++) {
		struct column *k = &b->cols[c];
		uint32_t width, bytes;
		uint64_t base = 0;

		*k = (struct column){ .at = p };
		if (c == STORE_SELF)
			outers = outers_read(b);
		if (!(mask >> c & 1))
			continue;
		if (at + 2 > size)
			return false;
		width = p[at];
		bytes = p[at + 1] & 15;
		k->shift = p[at + 1] >> 4;
		at += 2;
		if ((width > WIDTH_MAX && width != 64) || bytes > 8 || at + bytes > size)
			return false;
		for (uint32_t i = 0; i < bytes; i++)
			base |= (uint64_t)p[at + i] << (8 * i);
		at += bytes;
		k->base = base;
		k->width = width;
		k->mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
		k->at = p + data;
		data += (width * (c <= STORE_N_DUR  ? level1
				  : c == STORE_SELF ? outers
						    : n) +
			 7) /
			8;
		if (data + 8 > size)
			return false;
	}
	return true;
}

/* --- making --- */

/* Appends n values of w bits. Returns the place behind them. */
static uint8_t *column_pack(uint8_t *p, const uint64_t *v, uint32_t n, uint32_t w)
{
	uint64_t acc = 0;
	uint32_t have = 0;

	if (w == 64) {
		memcpy(p, v, n * sizeof(*v));
		return p + n * sizeof(*v);
	}
	for (uint32_t i = 0; i < n; i++) {
		acc |= v[i] << have;
		have += w;
		if (have >= 64) {
			memcpy(p, &acc, sizeof(acc));
			p += sizeof(acc);
			have -= 64;
			acc = have ? v[i] >> (w - have) : 0;
		}
	}
	memcpy(p, &acc, sizeof(acc));
	return p + (have + 7) / 8;
}

/* A block being made: the heads of its columns and their data grow apart. */
struct packer {
	uint8_t *flags;
	uint8_t *at; /* where the next column's head goes */
	uint8_t *data;
	uint32_t mask;
	bool classes; /* labels are classes */
};

static void packer_head(struct packer *k, enum store_column c, uint64_t base, uint32_t width,
			uint32_t shift)
{
	const uint32_t bytes = base ? (71 - (uint32_t)__builtin_clzll(base)) / 8 : 0;

	k->mask |= 1u << c;
	k->at[0] = (uint8_t)width;
	k->at[1] = (uint8_t)(bytes | shift << 4);
	for (uint32_t i = 0; i < bytes; i++)
		k->at[2 + i] = (uint8_t)(base >> (8 * i));
	k->at += 2 + bytes;
}

/* As packer_add() for a value of which it is known that all are equal. */
static void packer_same(struct packer *k, enum store_column c, uint64_t v)
{
	if (v)
		packer_head(k, c, v, 0, 0);
}

/* SPEC store/column: adds a column of `n` values, which are changed. */
static void packer_add(struct packer *k, enum store_column c, uint64_t *v, uint32_t n)
{
	enum { SHIFT_MAX = 15 };
	uint64_t low = v[0], high = v[0], bits = 0;
	uint32_t width, shift;

	for (uint32_t i = 1; i < n; i++) {
		low = v[i] < low ? v[i] : low;
		high = v[i] > high ? v[i] : high;
		bits |= v[i] ^ v[0];
	}
	if (!bits) {
		packer_same(k, c, low);
		return;
	}
	shift = (uint32_t)__builtin_ctzll(bits);
	shift = shift < SHIFT_MAX ? shift : SHIFT_MAX;
	width = 64 - (uint32_t)__builtin_clzll((high - low) >> shift);
	if (width > WIDTH_MAX) {
		width = 64;
		shift = 0;
		low = 0;
	}
	for (uint32_t i = 0; i < n && (low || shift); i++)
		v[i] = (v[i] - low) >> shift;
	packer_head(k, c, low, width, shift);
	k->data = column_pack(k->data, v, n, width);
}

#define GATHER(v, items, n, expression)                       \
	do {                                                  \
		for (uint32_t at_ = 0; at_ < (n); at_++) {    \
			const struct slot *s = &(items)[at_]; \
			(v)[at_] = (uint64_t)(expression);    \
		}                                             \
	} while (0)

/* Level 1 and the node of a span lane. */
static void level1_spans(struct packer *k, const struct slot *items, uint32_t n,
			 struct store_node *node)
{
	uint64_t v[4][STORE_BLOCK / STORE_FAN];
	uint32_t m = 0;

	for (uint32_t i = 0; i < n; i += STORE_FAN, m++) {
		const uint32_t end = i + STORE_FAN < n ? i + STORE_FAN : n;
		uint32_t best = i;
		int64_t last = items[i].start;

		for (uint32_t j = i; j < end; j++) {
			const int64_t e = (int64_t)((uint64_t)items[j].start + items[j].dur);

			node->busy += items[j].dur;
			last = e > last ? e : last;
			best = items[j].dur > items[best].dur ? j : best;
		}
		v[0][m] = (uint64_t)items[i].start - (uint64_t)node->start;
		v[1][m] = (uint64_t)last - (uint64_t)node->start;
		v[2][m] = items[best].label;
		v[3][m] = items[best].dur;
		node->end = last > node->end ? last : node->end;
		if (!m || items[best].dur > node->best_dur) {
			node->best_dur = items[best].dur;
			node->best = items[best].label;
			node->best_off_cpu = items[best].rare.kind == SPUR_SWITCH;
		}
	}
	if (m < 2)
		return;
	packer_add(k, STORE_N_START, v[0], m);
	packer_add(k, STORE_N_END, v[1], m);
	packer_add(k, STORE_N_LABEL, v[2], m);
	packer_add(k, STORE_N_DUR, v[3], m);
}

/* The same of a counter. */
static void level1_values(struct packer *k, enum store_lane_kind kind, const struct slot *items,
			  uint32_t n, struct store_node *node)
{
	uint64_t v[4][STORE_BLOCK / STORE_FAN];
	struct extremes all = { items[0].rare.value, items[0].rare.value };
	uint32_t m = 0;

	for (uint32_t i = 0; i < n; i += STORE_FAN, m++) {
		const uint32_t end = i + STORE_FAN < n ? i + STORE_FAN : n;
		struct extremes x = { items[i].rare.value, items[i].rare.value };

		for (uint32_t j = i; j < end; j++)
			extremes_add(kind, &x, items[j].rare.value, items[j].rare.value);
		extremes_add(kind, &all, x.least, x.most);
		v[0][m] = (uint64_t)items[i].start - (uint64_t)node->start;
		v[1][m] = x.least;
		v[2][m] = x.most;
		v[3][m] = items[end - 1].rare.value;
	}
	node->least = all.least;
	node->most = all.most;
	node->last = items[n - 1].rare.value;
	node->end = items[n - 1].start;
	if (m < 2)
		return;
	packer_add(k, STORE_N_START, v[0], m);
	packer_add(k, STORE_N_LEAST, v[1], m);
	packer_add(k, STORE_N_MOST, v[2], m);
	packer_add(k, STORE_N_LAST, v[3], m);
}

/* Which bits differ among the words of the items that seldom do. */
static struct slot_rare rare_differences(const struct slot *items, uint32_t n)
{
	struct slot_rare d = { 0 };

	for (uint32_t i = 1; i < n; i++)
		for (unsigned j = 0; j < SLOT_RARE; j++)
			d.words[j] |= items[i].rare.words[j] ^ items[0].rare.words[j];
	return d;
}

#define RARE(column, field)                                          \
	do {                                                         \
		if (!d.field) {                                      \
			packer_same(k, column, items[0].rare.field); \
		} else {                                             \
			GATHER(v, items, n, s->rare.field);          \
			packer_add(k, column, v, n);                 \
		}                                                    \
	} while (0)

/* SPEC store/label-ids: returns true if each item has the id of its class. */
static bool ids_are_labels(const struct spur_trace *t, const struct slot *items, uint32_t n)
{
	uint64_t differ = 0;

	for (uint32_t i = 0; i < n; i++)
		differ |= items[i].rare.id ^ trace_class(t, items[i].label)->addr;
	return !differ;
}

/* SPEC store/self: of the items that have spans inside them. */
static void selves_pack(struct packer *k, const struct slot *items, uint32_t n)
{
	uint64_t v[STORE_BLOCK];
	uint32_t m = 0;

	for (uint32_t i = 0; i < n; i++) {
		v[m] = items[i].self;
		m += items[i].self != items[i].dur;
	}
	if (m)
		packer_add(k, STORE_SELF, v, m);
}

static void columns_pack(struct packer *k, const struct spur_trace *trace, const struct slot *items,
			 uint32_t n, int64_t start, bool counter)
{
	const struct slot_rare d = rare_differences(items, n);
	uint64_t v[STORE_BLOCK];

	GATHER(v, items, n, (uint64_t)s->start - (uint64_t)start);
	packer_add(k, STORE_START, v, n);
	GATHER(v, items, n, s->dur);
	packer_add(k, STORE_DUR, v, n);
	GATHER(v, items, n, s->label);
	packer_add(k, STORE_LABEL, v, n);
	RARE(STORE_MARKS, marks);
	RARE(STORE_NARGS, nargs);
	RARE(STORE_FLAGS, flags);
	GATHER(v, items, n, s->off);
	packer_add(k, STORE_OFF, v, n);
	GATHER(v, items, n, s->len);
	packer_add(k, STORE_LEN, v, n);
	RARE(STORE_STREAM, stream);
	if (d.id && k->classes && ids_are_labels(trace, items, n))
		store16(k->flags, STORE_LABEL_IDS, false);
	else
		RARE(STORE_ID, id);
	RARE(STORE_CPU, cpu);
	RARE(STORE_TIES, ties);
	RARE(STORE_END_FLAGS, end_flags);
	RARE(STORE_END_LABEL, end_label);
	RARE(STORE_END_NARGS, end_nargs);
	if (!counter)
		RARE(STORE_END_OFF, end_off);
	RARE(STORE_END_LEN, end_len);
	RARE(STORE_END_STREAM, end_stream);
	RARE(STORE_END_ID, end_id);
	if (counter)
		RARE(STORE_VALUE, value);
	GATHER(v, items, n, s->self != s->dur);
	packer_add(k, STORE_OUTER, v, n);
	RARE(STORE_INNER, inner);
	selves_pack(k, items, n);
}

uint32_t block_make(uint8_t *to, const struct spur_trace *trace, enum store_lane_kind kind,
		    const struct slot *items, uint32_t n, struct store_node *node)
{
	uint8_t data[BLOCK_BYTES];
	struct packer k = { .flags = to + 6,
			    .at = to + BLOCK_HEAD,
			    .data = data,
			    .classes = kind != STORE_STATES };
	uint32_t size;

	*node = (struct store_node){ .start = items[0].start, .end = items[0].start };
	node->n = (uint16_t)n;
	if (kind_has_spans(kind))
		level1_spans(&k, items, n, node);
	else
		level1_values(&k, kind, items, n, node);
	store16(to + 6, 0, false);
	columns_pack(&k, trace, items, n, node->start, !kind_has_spans(kind));
	store32(to, k.mask, false);
	store16(to + 4, (uint16_t)(k.at - to), false);
	memcpy(k.at, data, (size_t)(k.data - data));
	size = (uint32_t)(k.at - to) + (uint32_t)(k.data - data);
	memset(to + size, 0, 16);
	size = (uint32_t)align_up(size + 8, 8);
	node->units = (uint16_t)(size / 8);
	node->sum = store_sum_of(to, size);
	return size;
}
