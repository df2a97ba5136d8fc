/*
 * Random field classes over random bytes: the decode programs against a slow decoder that walks the
 * classes as the specification's procedures do, bit by bit. Places and values must be the same, and
 * both programs must end at the same bit with the same values kept.
 */
#include "unit/ctf_decode.h"

enum { ROUNDS = 4000, BYTES = 48, TEXT_MAX = 60000, NEST = 4 };

static uint64_t seed;

static uint32_t chance(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* ---- classes */

struct text_maker {
	char text[TEXT_MAX];
	size_t len;
	unsigned names; /* so far */
};

/* What fields behind it in the same structure may refer to. */
struct known {
	unsigned lengths[8], nlengths;
	unsigned booleans[8], nbooleans;
	unsigned integers[8], nintegers;
};

static void put(struct text_maker *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text_maker *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	m->len += (size_t)vsnprintf(m->text + m->len, sizeof(m->text) - m->len, fmt, ap);
	va_end(ap);
	assert_true(m->len < sizeof(m->text));
}

static void put_bits(struct text_maker *m, const char *type, unsigned length)
{
	static const char *const orders[] = { "", ",\"bit-order\":\"first-to-last\"",
					      ",\"bit-order\":\"last-to-first\"" };

	/* Mostly one byte order, so that few end where it changes inside a byte. */
	put(m, "{\"type\":\"fixed-length-%s\",\"length\":%u,\"byte-order\":\"%s-endian\"%s", type,
	    length, chance(8) ? "little" : "big", orders[chance(6) < 4 ? 0 : 1 + chance(2)]);
	if (chance(2))
		put(m, ",\"alignment\":%u", 1u << chance(6));
}

static void make_class(struct text_maker *m, struct known *k, unsigned self, unsigned depth);

static void make_members(struct text_maker *m, unsigned depth)
{
	struct known k = { 0 };
	const unsigned n = depth ? chance(4) : 1 + chance(6);

	for (unsigned i = 0; i < n; i++) {
		const unsigned name = m->names++;

		put(m, "%s{\"name\":\"f%u\",\"field-class\":", i ? "," : "", name);
		make_class(m, &k, name, depth);
		put(m, "}");
	}
}

static void make_struct(struct text_maker *m, unsigned depth)
{
	put(m, "{\"type\":\"structure\"");
	if (!chance(3))
		put(m, ",\"minimum-alignment\":%u", 1u << chance(6));
	put(m, ",\"member-classes\":[");
	make_members(m, depth + 1);
	put(m, "]}");
}

/* Something inside another class: it knows no fields before it. */
static void make_inner(struct text_maker *m, unsigned depth)
{
	struct known none = { 0 };

	make_class(m, &none, UINT32_MAX, depth + 1);
}

static void make_length(struct text_maker *m, struct known *k, unsigned self)
{
	if (self != UINT32_MAX && k->nlengths < 8)
		k->lengths[k->nlengths++] = self;
	if (chance(6)) {
		put_bits(m, "unsigned-integer", 1 + chance(4));
		put(m, "}");
	} else {
		put(m, "{\"type\":\"variable-length-unsigned-integer\"}");
	}
}

static void make_integer(struct text_maker *m, struct known *k, unsigned self)
{
	static const unsigned usual[] = { 8, 16, 32, 64 };
	const bool negative = chance(2);

	if (self != UINT32_MAX && k->nintegers < 8)
		k->integers[k->nintegers++] = self;
	put_bits(m, negative ? "signed-integer" : "unsigned-integer",
		 chance(2) ? usual[chance(4)] : 1 + chance(64));
	put(m, "}");
}

static void make_variant(struct text_maker *m, const struct known *k, unsigned depth)
{
	put(m,
	    "{\"type\":\"variant\",\"selector-field-location\":{\"path\":[\"f%u\"]},\"options\":[",
	    k->integers[chance(k->nintegers)]);
	for (int i = 0; i < 3; i++) {
		static const char *const ranges[] = { "[-9223372036854775808,-2],[-5,-1]",
						      "[0,3],[2,40]", "[41,18446744073709551615]" };

		put(m, "%s{\"selector-field-ranges\":[%s],\"field-class\":", i ? "," : "",
		    ranges[i]);
		make_inner(m, depth);
		put(m, "}");
	}
	put(m, "]}");
}

static void make_optional(struct text_maker *m, const struct known *k, unsigned depth)
{
	const bool boolean = k->nbooleans && (!k->nintegers || chance(2));

	put(m,
	    "{\"type\":\"optional\",\"selector-field-location\":{\"path\":[\"f%u\"]}%s,\"field-"
	    "class\":",
	    boolean ? k->booleans[chance(k->nbooleans)] : k->integers[chance(k->nintegers)],
	    boolean ? "" : ",\"selector-field-ranges\":[[-7,20],[64,200]]");
	make_inner(m, depth);
	put(m, "}");
}

static const char *const encodings[] = { "utf-8", "utf-16le", "utf-16be", "utf-32le" };

/* Those that need a length before them. */
static void make_dynamic(struct text_maker *m, const struct known *k, unsigned depth)
{
	const unsigned length = k->lengths[chance(k->nlengths)];

	switch (chance(3)) {
	case 0:
		put(m, "{\"type\":\"dynamic-length-string\",\"encoding\":\"%s\"",
		    encodings[chance(2) ? 0 : chance(4)]);
		break;
	case 1:
		put(m, "{\"type\":\"dynamic-length-blob\"");
		break;
	default:
		put(m, "{\"type\":\"dynamic-length-array\",\"element-field-class\":");
		make_inner(m, depth);
		if (!chance(4))
			put(m, ",\"minimum-alignment\":%u", 1u << chance(6));
	}
	put(m, ",\"length-field-location\":{\"path\":[\"f%u\"]}}", length);
}

static void make_plain(struct text_maker *m, struct known *k, unsigned self)
{
	static const unsigned sizes[] = { 16, 32, 64, 128, 160 };

	switch (chance(9)) {
	case 0:
		put_bits(m, "bit-array", 1 + chance(90));
		put(m, "}");
		break;
	case 1:
		put_bits(m, "bit-map", 1 + chance(16));
		put(m, ",\"flags\":{\"a\":[[0,3]],\"b\":[[2,9]]}}");
		break;
	case 2:
		if (self != UINT32_MAX && k->nbooleans < 8)
			k->booleans[k->nbooleans++] = self;
		put_bits(m, "boolean", 1 + chance(3));
		put(m, "}");
		break;
	case 3:
		put_bits(m, "floating-point-number", sizes[chance(5)]);
		put(m, "}");
		break;
	case 4:
		put(m, "{\"type\":\"variable-length-signed-integer\"}");
		break;
	case 5:
		put(m, "{\"type\":\"null-terminated-string\",\"encoding\":\"%s\"}",
		    encodings[chance(2) ? 0 : chance(4)]);
		break;
	case 6:
		put(m, "{\"type\":\"static-length-string\",\"length\":%u,\"encoding\":\"%s\"}",
		    chance(6), encodings[chance(2) ? 0 : chance(4)]);
		break;
	case 7:
		put(m, "{\"type\":\"static-length-blob\",\"length\":%u}", chance(5));
		break;
	default:
		make_integer(m, k, self);
	}
}

static void make_class(struct text_maker *m, struct known *k, unsigned self, unsigned depth)
{
	const uint32_t what = chance(16);

	if (what < 2) {
		make_length(m, k, self);
	} else if (what < 4) {
		make_integer(m, k, self);
	} else if (depth >= NEST) {
		make_plain(m, k, self);
	} else if (what < 7 && k->nlengths) {
		make_dynamic(m, k, depth);
	} else if (what < 8 && k->nintegers) {
		make_variant(m, k, depth);
	} else if (what < 10 && k->nintegers + k->nbooleans) {
		make_optional(m, k, depth);
	} else if (what < 11) {
		make_struct(m, depth);
	} else if (what < 12) {
		put(m, "{\"type\":\"static-length-array\",\"length\":%u,\"element-field-class\":",
		    chance(4));
		make_inner(m, depth);
		put(m, "}");
	} else {
		make_plain(m, k, self);
	}
}

/* ---- the slow decoder */

struct oracle {
	const uint8_t *data;
	uint64_t at, limit;
	uint64_t slots[256];
	bool order_known, order_big;
	unsigned idle; /* elements without bits so far */
	struct out out;
};

static bool oracle_field(struct oracle *o, const struct ctf_field *f);

static bool oracle_align(struct oracle *o, uint64_t align)
{
	o->at = (o->at + align - 1) / align * align;
	return o->at <= o->limit;
}

static void oracle_save(struct oracle *o, const struct ctf_field *f, uint64_t v)
{
	if (f->save != CTF_NO_SLOT)
		o->slots[f->save] = v;
}

static void oracle_say(struct oracle *o, uint64_t from, const char *value)
{
	out_printf(&o->out, "%s%llu+%llu=%s", o->out.len ? " " : "", (unsigned long long)from,
		   (unsigned long long)(o->at - from), value);
}

static bool oracle_bits(struct oracle *o, const struct ctf_field *f)
{
	static bool bits[256];
	const uint64_t from = o->at;
	char text[100];
	uint64_t v = 0;
	bool any = false;

	if (o->limit - o->at < f->size ||
	    (o->at % 8 && o->order_known && o->order_big != f->big_endian))
		return false;
	for (uint32_t i = 0; i < f->size; i++, o->at++) {
		const unsigned bit = f->big_endian ? 7 - o->at % 8 : o->at % 8;
		const uint32_t to = f->big_endian != f->reversed ? f->size - i - 1 : i;

		bits[to] = o->data[o->at / 8] >> bit & 1;
		any |= bits[to];
	}
	o->order_known = true;
	o->order_big = f->big_endian;
	for (uint32_t i = 0; i < f->size && i < 64; i++)
		v |= (uint64_t)bits[i] << i;
	if (f->is_signed && f->size < 64 && bits[f->size - 1])
		v |= UINT64_MAX << f->size;
	oracle_save(o, f, v);
	if (f->kind == CTF_BOOL)
		snprintf(text, sizeof(text), "%s", any ? "true" : "false");
	else if (f->kind == CTF_FLOAT || f->size > 64)
		snprintf(text, sizeof(text), "?");
	else if (f->is_signed)
		snprintf(text, sizeof(text), "%lld", (long long)v);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	oracle_say(o, from, text);
	return true;
}

static bool oracle_var(struct oracle *o, const struct ctf_field *f)
{
	const uint64_t from = o->at;
	unsigned __int128 v = 0;
	unsigned shift = 0;
	uint8_t byte;
	char text[40];

	do {
		if (o->limit - o->at < 8 || shift == 70)
			return false;
		byte = o->data[o->at / 8];
		o->at += 8;
		v |= (unsigned __int128)(byte & 0x7F) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (f->is_signed && byte & 0x40)
		v |= ~(unsigned __int128)0 << shift;
	if (f->is_signed ? (__int128)v != (int64_t)v : v >> 64)
		return false;
	oracle_save(o, f, (uint64_t)v);
	snprintf(text, sizeof(text), f->is_signed ? "%lld" : "%llu", (long long)(uint64_t)v);
	oracle_say(o, from, text);
	return true;
}

static unsigned oracle_unit(const struct ctf_field *f)
{
	return f->encoding == CTF_UTF8 ? 1 : f->encoding <= CTF_UTF16LE ? 2 : 4;
}

/* Whether the code unit here is zero. */
static bool oracle_zero(const struct oracle *o, uint64_t at, unsigned unit)
{
	for (unsigned i = 0; i < unit; i++)
		if (o->data[at / 8 + i])
			return false;
	return true;
}

static bool oracle_text(struct oracle *o, const struct ctf_field *f)
{
	const uint64_t from = o->at;
	const unsigned unit = oracle_unit(f);
	const bool blob = f->kind == CTF_BLOB_STATIC || f->kind == CTF_BLOB_DYNAMIC;
	const bool dynamic = f->kind == CTF_STRING_DYNAMIC || f->kind == CTF_BLOB_DYNAMIC;
	uint64_t bytes;

	if (f->kind == CTF_STRING) {
		do {
			if (o->limit - o->at < 8 * unit)
				return false;
			o->at += 8 * unit;
		} while (!oracle_zero(o, o->at - 8 * unit, unit));
		oracle_say(o, from, "?");
		return true;
	}
	bytes = dynamic ? o->slots[f->ref.slot] : f->length;
	if (bytes > (o->limit - o->at) / 8)
		return false;
	for (uint64_t at = o->at; !blob && at < from + 8 * bytes; at += 8 * unit) {
		if (at + 8 * unit > from + 8 * bytes)
			return false;
		if (oracle_zero(o, at, unit))
			break;
	}
	o->at += 8 * bytes;
	oracle_say(o, from, "?");
	return true;
}

static bool oracle_in(const struct ctf_range *r, uint32_t n, uint64_t v, bool negative)
{
	for (uint32_t i = 0; i < n; i++)
		if (negative ? (int64_t)r[i].low <= (int64_t)v && (int64_t)v <= (int64_t)r[i].high
			     : r[i].low <= v && v <= r[i].high)
			return true;
	return false;
}

static bool oracle_choice(struct oracle *o, const struct ctf_field *f)
{
	const uint64_t v = o->slots[f->ref.slot];

	if (f->kind == CTF_OPTIONAL) {
		const bool there =
			f->ref.is_bool ? v != 0
				       : oracle_in(f->ranges, f->nranges, v, f->selector_signed);

		return !there || oracle_field(o, f->element);
	}
	for (uint32_t i = 0; i < f->nmembers; i++)
		if (oracle_in(f->members[i].ranges, f->members[i].nranges, v, f->selector_signed))
			return oracle_field(o, f->members[i].field);
	return false;
}

static bool oracle_compound(struct oracle *o, const struct ctf_field *f)
{
	const uint64_t n = f->kind == CTF_SEQUENCE ? o->slots[f->ref.slot] : f->length;

	for (uint32_t i = 0; f->kind == CTF_STRUCT && i < f->nmembers; i++)
		if (!oracle_field(o, f->members[i].field))
			return false;
	for (uint64_t i = 0; f->kind != CTF_STRUCT && i < n; i++) {
		const uint64_t from = o->at;

		if (!oracle_field(o, f->element))
			return false;
		/* Those without bits are all alike. */
		if (o->at == from && o->idle++ > 10000)
			break;
	}
	return true;
}

static bool oracle_field(struct oracle *o, const struct ctf_field *f)
{
	if (f->kind == CTF_OPTIONAL || f->kind == CTF_VARIANT)
		return oracle_choice(o, f);
	if (!oracle_align(o, f->align))
		return false;
	if (f->kind <= CTF_FLOAT)
		return oracle_bits(o, f);
	if (f->kind <= CTF_VAR_SINT)
		return oracle_var(o, f);
	return f->kind < CTF_STRUCT ? oracle_text(o, f) : oracle_compound(o, f);
}

/* ---- both */

struct program_run {
	struct out out;
};

static bool put_plain(void *self, const struct ctf_place *place)
{
	const struct spur_value *v = &place->value;
	struct out *o = &((struct program_run *)self)->out;

	out_printf(o, "%s%llu+%llu=", o->len ? " " : "", (unsigned long long)place->at,
		   (unsigned long long)place->size);
	if (v->type == SPUR_BOOL)
		out_str(o, v->u ? "true" : "false");
	else if (v->type == SPUR_I64)
		out_i64(o, v->i);
	else if (v->type == SPUR_U64 || v->type == SPUR_ENUM)
		out_u64(o, v->u);
	else
		out_char(o, '?');
	return true;
}

static void compare(struct decoder *d, const uint8_t *data, uint64_t bits, const char *metadata)
{
	struct oracle o = { .data = data, .limit = bits };
	struct program_run r;
	struct spur_args args = { 0 };
	uint64_t kept[256];
	struct ctf_cursor *c;
	bool good, skipped, walked_all;

	out_to_memory(&o.out);
	out_to_memory(&r.out);
	good = oracle_field(&o, d->payload);
	c = decoder_cursor(d, data, bits);
	skipped = plan_skip(d->program, c) == SPUR_OK;
	memcpy(kept, d->slots + CTF_SLOTS_FIXED, d->m->nslots * sizeof(*kept));
	if (skipped != good || (good && c->at != o.at))
		print_error("skip: expected %d at %llu, found %d at %llu\n", good,
			    (unsigned long long)o.at, skipped, (unsigned long long)c->at);
	c = decoder_cursor(d, data, bits);
	walked_all = plan_walk(d->program, c, d->t, &args, put_plain, &r) == SPUR_OK ||
		     (good && o.idle > 4096);
	spur_args_free(&args);
	out_char(&o.out, '\0');
	out_char(&r.out, '\0');
	if (skipped != good || walked_all != good || c->at > bits || (good && c->at != o.at) ||
	    /* An array that cannot be there whole may be given up before its elements. */
	    (o.idle <= 4096 &&
	     strncmp(o.out.buf, r.out.buf, good ? o.out.len : r.out.len - 1) != 0) ||
	    (good && memcmp(kept, o.slots, d->m->nslots * sizeof(*kept)) != 0) ||
	    (good &&
	     memcmp(d->slots + CTF_SLOTS_FIXED, o.slots, d->m->nslots * sizeof(*kept)) != 0)) {
		print_error("expected (%d) %s\nfound (%d) %s\nof %s\n", good, o.out.buf, walked_all,
			    r.out.buf, metadata);
		for (uint64_t i = 0; i < bits / 8; i++)
			print_error("%02x", data[i]);
		print_error("\n");
		fail();
	}
	out_free(&o.out);
	out_free(&r.out);
}

static void fill(uint8_t *data)
{
	static const uint8_t usual[] = { 0, 0, 1, 2, 3, 7, 0x40, 0x80, 0xFF, 'a' };

	for (int i = 0; i < BYTES; i++)
		data[i] = chance(3) ? usual[chance(sizeof(usual))] : (uint8_t)chance(256);
}

static void test_random(void **state)
{
	static struct text_maker m;
	uint8_t data[BYTES];
	unsigned refused = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct decoder d;

		seed = round;
		m.len = m.names = 0;
		m.text[0] = '\0';
		make_members(&m, 0);
		if (!decoder_open(&d, metadata_of(m.text))) {
			/* Only such that can never have a bit. */
			assert_non_null(strstr(walked.buf, "always empty"));
			refused++;
			decoder_close(&d);
			continue;
		}
		assert_true(d.m->nslots <= 256);
		for (int i = 0; i < 6; i++) {
			fill(data);
			compare(&d, data, i < 3 ? 8 * BYTES : chance(8 * BYTES), m.text);
		}
		decoder_close(&d);
	}
	assert_true(refused < ROUNDS / 10);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_random, walked_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
