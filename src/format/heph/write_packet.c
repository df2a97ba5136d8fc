/*
 * Packets of events, with the marks (marks.h) and attributes of any arguments. SPEC heph/written
 */
#include "format/heph/write.h"

enum {
	TEXT_MAX = UINT16_MAX, /* bytes of a text, and values of an array */
	PACKET_MAX = HEPH_USUAL, /* readers suspect larger ones */
	NESTING = 32, /* structures within structures */
};

static const bool swap = __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__;

/* --- numbers and texts --- */

static void put_number(struct out *o, uint64_t v, unsigned size)
{
	uint8_t *p = (uint8_t *)out_room(o, HEPH_NUMBER);

	if (!p)
		return;
	if (size == 2)
		store16(p, (uint16_t)v, swap);
	else if (size == 4)
		store32(p, (uint32_t)v, swap);
	else
		store64(p, v, swap);
	o->len += size;
}

static void put_byte(struct out *o, unsigned v)
{
	out_char(o, (char)v);
}

/* The length of a text that a length field can hold: no character is cut in two. */
static size_t text_cut(struct heph_writer *w, const char *s, size_t len)
{
	size_t n = TEXT_MAX;

	if (__builtin_expect(len <= TEXT_MAX, 1))
		return len;
	heph_lose(w, HEPH_LOST_TEXT);
	for (size_t back = 0; back < 3 && ((uint8_t)s[n] & 0xC0) == 0x80; back++)
		n--;
	return ((uint8_t)s[n] & 0xC0) == 0x80 ? TEXT_MAX : n;
}

/* Most texts are short: a call of memcpy() would take longer than the copy. */
static inline void text_copy(char *to, const char *s, size_t len)
{
	if (len > 32) {
		memcpy(to, s, len);
	} else if (len >= 16) {
		memcpy(to, s, 16);
		memcpy(to + len - 16, s + len - 16, 16);
	} else if (len >= 8) {
		memcpy(to, s, 8);
		memcpy(to + len - 8, s + len - 8, 8);
	} else if (len >= 4) {
		memcpy(to, s, 4);
		memcpy(to + len - 4, s + len - 4, 4);
	} else if (len) {
		to[0] = s[0];
		to[len / 2] = s[len / 2];
		to[len - 1] = s[len - 1];
	}
}

void heph_put_text(struct heph_writer *w, const char *s, size_t len)
{
	struct out *o = &w->packet;
	char *p;

	len = text_cut(w, s, len);
	p = out_room(o, HEPH_ATTR_LEN + len);
	if (!p)
		return;
	store16((uint8_t *)p, (uint16_t)len, swap);
	text_copy(p + HEPH_ATTR_LEN, s, len);
	o->len += HEPH_ATTR_LEN + len;
}

/* Bytes as hexadecimal digits: attributes have no type for them. */
static void put_hex_text(struct heph_writer *w, const char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char *p;

	heph_lose(w, HEPH_LOST_TYPE);
	if (len > TEXT_MAX / 2) {
		heph_lose(w, HEPH_LOST_TEXT);
		len = TEXT_MAX / 2;
	}
	p = out_room(&w->packet, HEPH_ATTR_LEN + 2 * len);
	if (!p)
		return;
	store16((uint8_t *)p, (uint16_t)(2 * len), swap);
	for (size_t i = 0; i < len; i++) {
		p[HEPH_ATTR_LEN + 2 * i] = digits[(uint8_t)bytes[i] >> 4];
		p[HEPH_ATTR_LEN + 2 * i + 1] = digits[(uint8_t)bytes[i] & 15];
	}
	w->packet.len += HEPH_ATTR_LEN + 2 * len;
}

/* --- attributes --- */

/* The type of an attribute that holds the value as it is; 0: none does. */
static unsigned type_of(const struct spur_value *v)
{
	switch ((enum spur_type)v->type) {
	case SPUR_U64:
		return HEPH_U64;
	case SPUR_I64:
		return HEPH_I64;
	case SPUR_F64:
		return HEPH_F64;
	case SPUR_STRING:
		return HEPH_STRING;
	default:
		return 0;
	}
}

/* The value, without name and type; its type is one of type_of(). */
static void put_plain(struct heph_writer *w, const struct spur_value *v)
{
	uint64_t bits;

	if (v->type == SPUR_STRING) {
		heph_put_text(w, v->text, v->count);
		return;
	}
	/* Integers and doubles share their bits. */
	memcpy(&bits, &v->u, sizeof(bits));
	put_number(&w->packet, bits, HEPH_NUMBER);
	if (__builtin_expect(v->label != NULL || (v->type == SPUR_F64 && v->size == 4), 0))
		heph_lose(w, HEPH_LOST_TYPE);
}

/* The element type of an array that an attribute can hold as it is; 0: it cannot. */
static unsigned array_type(const struct spur_value *v)
{
	const unsigned type = v->count ? type_of(&v->items[0]) : HEPH_U64;

	for (uint32_t i = 1; i < v->count; i++)
		if (type_of(&v->items[i]) != type)
			return 0;
	return type;
}

static void put_array(struct heph_writer *w, const struct spur_value *v)
{
	const uint32_t n = v->count < TEXT_MAX ? v->count : TEXT_MAX;

	if (n < v->count)
		heph_lose(w, HEPH_LOST_TEXT);
	put_number(&w->packet, n, 2);
	for (uint32_t i = 0; i < n && w->packet.len <= PACKET_MAX; i++)
		put_plain(w, &v->items[i]);
}

static void attr_head(struct heph_writer *w, unsigned type)
{
	heph_put_text(w, w->path.buf, w->path.len);
	put_byte(&w->packet, type);
}

static void attr_label(struct heph_writer *w, const char *label)
{
	const size_t at = w->path.len;

	out_str(&w->path, ".label");
	attr_head(w, HEPH_STRING);
	heph_put_text(w, label, strlen(label));
	out_cut(&w->path, at);
}

/* A scalar that attributes have no type for. SPEC heph/written-types */
static void put_odd(struct heph_writer *w, const struct spur_value *v)
{
	heph_lose(w, HEPH_LOST_TYPE);
	switch ((enum spur_type)v->type) {
	case SPUR_BYTES:
		attr_head(w, HEPH_STRING);
		put_hex_text(w, v->text, v->count);
		return;
	case SPUR_NULL:
		attr_head(w, HEPH_STRING);
		heph_put_text(w, "null", 4);
		return;
	default:
		attr_head(w, v->type == SPUR_ENUM ? HEPH_I64 : HEPH_U64);
		put_number(&w->packet, v->u, HEPH_NUMBER);
		break;
	}
	if (v->label)
		attr_label(w, v->label);
}

static void put_value(struct heph_writer *w, const struct spur_value *v, unsigned depth);

/* Each member as an attribute: NAME.MEMBER, or NAME.0 where members have no names. */
static void put_members(struct heph_writer *w, const struct spur_value *v, unsigned depth)
{
	const size_t at = w->path.len;

	heph_lose(w, HEPH_LOST_TYPE);
	for (uint32_t i = 0; i < v->count && w->packet.len <= PACKET_MAX; i++) {
		const struct spur_value *item = &v->items[i];
		size_t len;
		const char *name = trace_string(w->trace, item->name, &len);

		if (at)
			out_char(&w->path, '.');
		if (v->type == SPUR_STRUCT && len)
			out_bytes(&w->path, name, len);
		else
			out_u64(&w->path, i);
		put_value(w, item, depth + 1);
		out_cut(&w->path, at);
	}
}

/* The attribute named w->path. */
static void put_value(struct heph_writer *w, const struct spur_value *v, unsigned depth)
{
	const unsigned type = type_of(v);
	unsigned items;

	if (type) {
		attr_head(w, type);
		put_plain(w, v);
	} else if (v->type == SPUR_ARRAY && (items = array_type(v)) != 0) {
		attr_head(w, HEPH_ARRAY | items);
		put_array(w, v);
	} else if (v->type != SPUR_STRUCT && v->type != SPUR_ARRAY) {
		put_odd(w, v);
	} else if (depth < NESTING) {
		put_members(w, v, depth);
	} else {
		heph_lose(w, HEPH_LOST_PAYLOAD);
	}
}

/* Decodes the arguments of a row. Returns false if it has no arguments, or if out of memory. */
static bool get_args(struct heph_writer *w, const struct spur_event *row, struct spur_args *args)
{
	enum spur_status st;

	args_reset(args);
	if (!row->nargs)
		return false;
	st = w->write->args(w->write, row, args);
	if (st == SPUR_WARN)
		heph_lose(w, HEPH_LOST_PAYLOAD);
	w->failed |= st == SPUR_FAIL;
	return st != SPUR_FAIL;
}

static bool values_equal(const struct spur_value *a, const struct spur_value *b)
{
	bool equal = a->type == b->type;

	switch ((enum spur_type)a->type) {
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		equal = equal && a->count == b->count;
		for (uint32_t i = 0; equal && i < a->count; i++)
			equal = a->items[i].name == b->items[i].name &&
				values_equal(&a->items[i], &b->items[i]);
		return equal;
	case SPUR_STRING:
	case SPUR_BYTES:
		return equal && a->count == b->count && !memcmp(a->text, b->text, a->count);
	case SPUR_NULL:
		return equal;
	default:
		return equal && !memcmp(&a->u, &b->u, sizeof(a->u));
	}
}

/* Returns true if a span's END row repeats an argument of its begin. */
static bool is_repeated(struct heph_writer *w, const struct spur_args *before,
			const struct spur_value *v)
{
	for (size_t i = 0; i < before->count; i++) {
		if (before->items[i].name != v->name)
			continue;
		if (values_equal(&before->items[i], v))
			return true;
		heph_lose(w, HEPH_LOST_TWICE);
	}
	return false;
}

/* An argument; most are one number or text. */
static inline void put_arg(struct heph_writer *w, const struct spur_value *v)
{
	const unsigned type = type_of(v);
	size_t len;
	const char *name = trace_string(w->trace, v->name, &len);
	char *p;

	if (!type) {
		out_clear(&w->path);
		out_bytes(&w->path, name, len);
		put_value(w, v, 0);
		return;
	}
	len = text_cut(w, name, len);
	p = out_room(&w->packet, HEPH_ATTR_HEAD + len);
	if (!p)
		return;
	store16((uint8_t *)p, (uint16_t)len, swap);
	text_copy(p + HEPH_ATTR_LEN, name, len);
	p[HEPH_ATTR_LEN + len] = (char)type;
	w->packet.len += HEPH_ATTR_HEAD + len;
	put_plain(w, v);
}

/* The arguments of a row, without those in `before`. */
static void put_args(struct heph_writer *w, const struct spur_args *args,
		     const struct spur_args *before)
{
	for (size_t i = 0; i < args->count; i++) {
		const size_t whole = w->packet.len;

		if (before && is_repeated(w, before, &args->items[i]))
			continue;
		put_arg(w, &args->items[i]);
		if (__builtin_expect(w->packet.len > PACKET_MAX, 0)) {
			heph_lose(w, HEPH_LOST_TEXT);
			w->packet.len = whole;
			return;
		}
	}
}

/* --- marks --- */

static void mark_head(struct heph_writer *w, enum heph_mark mark, unsigned type)
{
	heph_put_text(w, heph_mark_names[mark], strlen(heph_mark_names[mark]));
	put_byte(&w->packet, type);
}

void heph_put_mark(struct heph_writer *w, enum heph_mark mark, const char *text, size_t len)
{
	mark_head(w, mark, HEPH_STRING);
	heph_put_text(w, text, len);
}

static void mark_flags(struct heph_writer *w, unsigned flags)
{
	char text[64] = "";
	size_t len = 0;

	for (size_t i = 0; i < HEPH_FLAG_NAMES; i++)
		if (flags & heph_flag_names[i].bit) {
			const size_t n = strlen(heph_flag_names[i].name);

			if (len)
				text[len++] = ' ';
			memcpy(text + len, heph_flag_names[i].name, n);
			len += n;
		}
	if (!len)
		return;
	heph_put_mark(w, HEPH_MARK_FLAGS, text, len);
}

static void put_marks(struct heph_writer *w, const struct spur_event *row)
{
	if (row->kind != SPUR_SPAN && row->kind != SPUR_BEGIN) {
		const char *kind = spur_kind_name(row->kind);

		heph_put_mark(w, HEPH_MARK_KIND, kind, strlen(kind));
	}
	if (row->cat) {
		size_t len;
		const char *cat = trace_string(w->trace, row->cat, &len);

		heph_put_mark(w, HEPH_MARK_CATEGORY, cat, len);
	}
	if (row->id) {
		mark_head(w, HEPH_MARK_ID, HEPH_U64);
		put_number(&w->packet, row->id, HEPH_NUMBER);
	}
	if (row->cpu != SPUR_NO_CPU) {
		mark_head(w, HEPH_MARK_CPU, HEPH_U64);
		put_number(&w->packet, row->cpu, HEPH_NUMBER);
	}
	if (row->kind == SPUR_SWITCH || (row->flags & SPUR_F_EXIT))
		mark_flags(w, row->flags);
}

/* --- packets --- */

/* A time as the file counts it. */
static uint64_t time_of(struct heph_writer *w, int64_t ts)
{
	int64_t t;

	if (__builtin_sub_overflow(ts, w->write->zero, &t))
		t = ts < 0 ? -1 : INT64_MAX;
	if (__builtin_expect(t >= 0, 1))
		return (uint64_t)t;
	heph_lose(w, HEPH_LOST_TIME);
	return 0;
}

bool heph_begin_packet(struct heph_writer *w, const struct spur_event *row, uint64_t start,
		       uint64_t end)
{
	const struct heph_ids *ids = heph_ids_of(w, row->track);
	struct out *o = &w->packet;
	struct heph_target *t;
	uint8_t *p;

	out_clear(o);
	w->row_losses = 0;
	p = (uint8_t *)out_room(o, HEPH_EVENT_HEAD);
	if (!ids || !p)
		return false;
	t = &w->targets[ids->target - 1];
	t->counter += (uint32_t)t->gap;
	t->gap = 0;
	store32(p, heph_event_magic, swap);
	store32(p + HEPH_SIZE_AT, 0, swap);
	store32(p + HEPH_STREAM_AT, t->number, swap);
	store32(p + HEPH_COUNTER_AT, t->counter++, swap);
	if (!w->old)
		store64(p + HEPH_SUBSTREAM_AT, ids->substream, swap);
	else if (ids->substream)
		heph_lose(w, HEPH_LOST_SUBSTREAM);
	if (!ids->exact)
		heph_lose(w, HEPH_LOST_ID);
	p += (w->old ? HEPH_OLD_HEAD : HEPH_EVENT_HEAD) - HEPH_NAME_LEN_BACK;
	store64(p + HEPH_NAME_LEN_BACK - HEPH_START_BACK, start, swap);
	store64(p + HEPH_NAME_LEN_BACK - HEPH_END_BACK, end, swap);
	w->latest = end > w->latest && end <= INT64_MAX ? end : w->latest;
	o->len += (size_t)(p - (uint8_t *)o->buf);
	return true;
}

bool heph_end_packet(struct heph_writer *w, unsigned kind, struct out *o)
{
	struct out *p = &w->packet;

	if (p->error || w->path.error || w->failed)
		return false;
	store32((uint8_t *)p->buf + HEPH_SIZE_AT, (uint32_t)p->len, swap);
	for (unsigned i = 0; w->row_losses >> i; i++)
		if (w->row_losses >> i & 1)
			loss_add(&w->write->loss, LOSS_OWN + i, kind);
	out_bytes(o, p->buf, p->len);
	return true;
}

bool heph_put_event(struct heph_writer *w, const struct heph_out_event *e, struct out *o)
{
	const struct spur_event *row = e->row;
	const char *name;
	uint64_t start, end;
	uint16_t early;
	size_t len;

	w->row_losses = 0;
	if (row->kind == SPUR_LOST || row->kind == SPUR_NATIVE)
		heph_lose(w, HEPH_LOST_KIND);
	start = time_of(w, row->ts);
	end = time_of(w, e->end);
	early = w->row_losses;
	if (!heph_begin_packet(w, row, start, end))
		return false;
	w->row_losses |= early;
	name = trace_string(w->trace, row->name, &len);
	heph_put_text(w, name, len);
	put_marks(w, row);
	if (get_args(w, row, &w->args))
		put_args(w, &w->args, NULL);
	if (e->last && get_args(w, e->last, &w->last_args))
		put_args(w, &w->last_args, &w->args);
	return heph_end_packet(w, row->kind, o);
}

/* SPEC heph/epoch */
bool heph_put_epoch(struct heph_writer *w, struct out *o)
{
	static const char name[] = "epoch";
	const struct clock_info *c = &w->trace->clock;
	struct out *p = &w->packet;
	int64_t epoch;

	if (!c->epoch_known || __builtin_add_overflow(c->epoch_ns, w->write->zero, &epoch) ||
	    epoch < 0)
		return true;
	out_clear(p);
	put_number(p, heph_meta_magic, 4);
	put_number(p, HEPH_META_HEAD + sizeof(name) - 1 + HEPH_NUMBER, 4);
	heph_put_text(w, name, sizeof(name) - 1);
	put_number(p, (uint64_t)epoch, HEPH_NUMBER);
	out_bytes(o, p->buf, p->len);
	return !p->error;
}
