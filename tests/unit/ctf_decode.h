/*
 * Bytes decoded by the metadata of CTF 2 that a test writes: what plan_walk() gives as text,
 * `PATH@BIT+BITS=VALUE` with blanks between, or `! PATH@BIT WHY` where it ends too early. Each time
 * the skip program must do the same.
 */
#ifndef TESTS_UNIT_CTF_DECODE_H
#define TESTS_UNIT_CTF_DECODE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/ctf/plan/parts.h"
#include "model/args.h"
#include "model/trace.h"

struct decoder {
	struct spur_trace *t;
	struct ctf_meta *m;
	struct ctf_program *program;
	struct ctf_field *payload;
	uint64_t *slots;
	uint8_t have[CTF_SLOTS_FIXED];
	struct ctf_cursor cursor;
};

static struct out walked; /* of the last decoding */

/* The payload of the only event class; NULL: the metadata is refused, and `walked` says why. */
static inline bool decoder_open(struct decoder *d, const char *metadata)
{
	struct spur_error err = { 0 };
	struct diag_log log;
	struct ctf_scope_fields scope = { .scope = CTF_SCOPE_PAYLOAD };
	bool good;

	*d = (struct decoder){ .t = trace_new("test", NULL) };
	assert_non_null(d->t);
	diag_init(&log);
	good = meta_read(&d->m, "metadata", (const uint8_t *)metadata, strlen(metadata), &log,
			 &err) != SPUR_FAIL;
	diag_free(&log);
	if (good) {
		d->payload = scope.field = d->m->streams[0]->events[0]->payload;
		good = plan_compile(&d->program, d->t, d->m, &d->t->arena, &scope, 1, &err) !=
		       SPUR_FAIL;
		d->slots = calloc(CTF_SLOTS_FIXED + d->m->nslots + 1, sizeof(*d->slots));
		assert_non_null(d->slots);
	}
	if (!good) {
		out_free(&walked);
		out_to_memory(&walked);
		out_printf(&walked, "ERROR %s", err.message);
		out_char(&walked, '\0');
	}
	return good;
}

static inline void decoder_close(struct decoder *d)
{
	meta_free(d->m);
	trace_free(d->t);
	free(d->slots);
}

static inline struct ctf_cursor *decoder_cursor(struct decoder *d, const void *data, uint64_t bits)
{
	memset(d->slots, 0, (CTF_SLOTS_FIXED + d->m->nslots) * sizeof(*d->slots));
	memset(d->have, 0, sizeof(d->have));
	d->cursor = (struct ctf_cursor){
		.data = data, .limit = bits, .slots = d->slots, .have = d->have
	};
	return &d->cursor;
}

static inline void put_walked(const struct spur_value *v)
{
	switch ((enum spur_type)v->type) {
	case SPUR_I64:
		out_i64(&walked, v->i);
		break;
	case SPUR_F64:
		out_double(&walked, v->f);
		break;
	case SPUR_BOOL:
		out_str(&walked, v->u ? "true" : "false");
		break;
	case SPUR_STRING:
		out_json(&walked, v->text, v->count);
		break;
	case SPUR_BYTES:
		out_char(&walked, '<');
		for (uint32_t i = 0; i < v->count; i++)
			out_printf(&walked, "%02x", (unsigned char)v->text[i]);
		out_char(&walked, '>');
		break;
	case SPUR_ENUM:
		out_printf(&walked, "%s:", v->label ? v->label : "");
		/* fallthrough */
	default:
		out_u64(&walked, v->u);
	}
}

static inline bool put_place(void *self, const struct ctf_place *place)
{
	const char *path = place->path;

	(void)self;
	if (strncmp(path, "payload.", 8) == 0)
		path += 8;
	out_printf(&walked, "%s%s@%llu+%llu=", walked.len ? " " : "", path,
		   (unsigned long long)place->at, (unsigned long long)place->size);
	put_walked(&place->value);
	return true;
}

/* Decodes; the text stays until the next time. */
static inline const char *decode(struct decoder *d, const void *data, uint64_t bits)
{
	struct ctf_cursor *c = decoder_cursor(d, data, bits);
	const enum spur_status skipped = plan_skip(d->program, c);
	const uint64_t end = c->at;
	struct spur_args args = { 0 };
	enum spur_status st;
	char path[200];

	out_free(&walked);
	out_to_memory(&walked);
	c = decoder_cursor(d, data, bits);
	st = plan_walk(d->program, c, d->t, &args, put_place, NULL);
	if (skipped == SPUR_OK) {
		/* Both programs end at the same bit. */
		assert_int_equal(c->at, end);
	} else {
		assert_int_equal(st, SPUR_WARN);
		assert_true(plan_find_wrong(d->program, decoder_cursor(d, data, bits), d->t, path,
					    sizeof(path)));
		out_printf(&walked, "%s! %s@%llu %s", walked.len ? " " : "",
			   strncmp(path, "payload.", 8) == 0 ? path + 8 : path,
			   (unsigned long long)d->cursor.wrong_at, d->cursor.why);
	}
	if (st == SPUR_WARN && skipped == SPUR_OK)
		out_str(&walked, " ...");
	spur_args_free(&args);
	out_char(&walked, '\0');
	return walked.buf;
}

/*
 * Metadata whose payload has these members: `{"name":"a","field-class":{...}}`, with commas
 * between.
 */
static inline const char *metadata_of(const char *members)
{
	static char text[1 << 18];

	snprintf(text, sizeof(text),
		 "\x1e{\"type\":\"preamble\",\"version\":2}\n\x1e{\"type\":\"data-stream-class\"}\n"
		 "\x1e{\"type\":\"event-record-class\",\"payload-field-class\":{\"type\":"
		 "\"structure\",\"member-classes\":[%s]}}\n",
		 members);
	return text;
}

/* Decodes once. */
static inline const char *decode_once(const char *members, const void *data, size_t bytes)
{
	struct decoder d;

	if (!decoder_open(&d, metadata_of(members))) {
		decoder_close(&d);
		return walked.buf;
	}
	decode(&d, data, 8 * (uint64_t)bytes);
	decoder_close(&d);
	return walked.buf;
}

/* Members, and their classes. */
#define M(name, class) "{\"name\":\"" name "\",\"field-class\":" class "}"
#define LE "\"byte-order\":\"little-endian\""
#define BE "\"byte-order\":\"big-endian\""
#define FIXED(kind, length, more) \
	"{\"type\":\"fixed-length-" kind "\",\"length\":" #length "," more "}"
#define UINT(length, more) FIXED("unsigned-integer", length, more)
#define SINT(length, more) FIXED("signed-integer", length, more)
#define FLOAT(length, more) FIXED("floating-point-number", length, more)
#define ALIGN(n) "\"alignment\":" #n
#define FORWARD "\"bit-order\":\"first-to-last\""
#define BACKWARD "\"bit-order\":\"last-to-first\""
#define U8 UINT(8, LE)
#define STRUCT(members) "{\"type\":\"structure\",\"member-classes\":[" members "]}"
#define PATH(names) "{\"path\":[" names "]}"
#define ARRAY(length, element)                                  \
	"{\"type\":\"static-length-array\",\"length\":" #length \
	",\"element-field-class\":" element "}"
#define SEQUENCE(path, element)                                               \
	"{\"type\":\"dynamic-length-array\",\"length-field-location\":" PATH( \
		path) ",\"element-field-class\":" element "}"

#define check(members, bytes, want) \
	assert_string_equal(decode_once(members, bytes, sizeof(bytes) - 1), want)

static inline int walked_free(void **state)
{
	(void)state;
	out_free(&walked);
	return 0;
}

#endif
