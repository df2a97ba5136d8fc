/*
 * Byte programs against the programs of bits, over fields of every kind and bytes of every kind:
 * where a byte program reads an event both say the same, and where it does not nothing has come of
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/ctf/plan/parts.h"
#include "model/args.h"

enum { ROUNDS = 3000, BYTES = 160, SLOTS = CTF_SLOTS_FIXED + 16 };

static const char types[] =
	"trace{major=1;minor=8;byte_order=le;};"
	"typealias integer{size=8;align=8;}:=u8;"
	"typealias integer{size=16;align=8;}:=u16;"
	"typealias integer{size=32;align=8;}:=u32;"
	"typealias integer{size=64;align=8;}:=u64;"
	"typealias integer{size=8;align=8;signed=true;}:=i8;"
	"typealias integer{size=16;align=8;signed=true;}:=i16;"
	"typealias integer{size=32;align=8;signed=true;}:=i32;"
	"typealias integer{size=64;align=8;signed=true;base=16;}:=i64;"
	"typealias integer{size=16;align=8;byte_order=be;}:=b16;"
	"typealias integer{size=32;align=8;signed=true;byte_order=be;}:=b32;"
	"typealias integer{size=64;align=8;byte_order=be;}:=b64;"
	"typealias integer{size=32;align=32;}:=a32;"
	"typealias integer{size=8;align=8;encoding=UTF8;}:=ch;"
	"typealias integer{size=3;align=1;}:=u3;"
	"typealias floating_point{exp_dig=8;mant_dig=24;align=8;}:=f32;"
	"typealias floating_point{exp_dig=11;mant_dig=53;align=8;}:=f64;"
	"typealias floating_point{exp_dig=8;mant_dig=24;align=8;byte_order=be;}:=g32;";

/* Payloads, and whether they have a byte program. */
static const struct {
	const char *fields;
	bool bytes;
} cases[] = {
	{ "u8 a; i8 b; u16 c; i16 d; u32 e; i32 f; u64 g; i64 h;", true },
	{ "b16 a; b32 b; b64 c; u8 d;", true },
	{ "f32 a; f64 b; g32 c; u8 d;", true },
	{ "string a; u32 b; string c;", true },
	{ "u8 n; u16 v[n]; u32 m; ch t[m];", true },
	{ "u64 n; ch t[n]; u8 k[4]; ch name[17]; i32 z;", true },
	{ "u16 n; f32 v[n]; b32 w[n]; i8 x[n];", true },
	{ "struct { u8 a; struct { u16 b; string c; } d; } e; u32 f;", true },
	{ "a32 a; u8 b; a32 c; string d; a32 e;", true },
	{ "enum : i32 { A = -1, B = 0 ... 3, C = 9 } a; enum : u8 { X = 0 ... 9, Y = 5 } b; u8 c;",
	  true },
	{ "u8 n; string s; u8 v[n]; u64 m; u64 w[m];", true },
	{ "", true },
	{ "u3 a; u8 b;", false },
	{ "enum : u8 { x = 0, y = 1 } tag; variant <tag> { u8 x; string y; } v; u16 z;", false },
	{ "u8 n; struct { u8 a; } v[n];", false },
	{ "u8 n; string v[n];", false },
};

/* --- a program of a payload --- */

struct fixture {
	struct spur_trace *t;
	struct ctf_meta *m;
	struct diag_log log;
	struct ctf_program *program;
};

static void compile(struct fixture *f, const struct ctf_scope_fields *scopes, size_t n)
{
	struct spur_error err;

	assert_int_equal(plan_compile(&f->program, f->t, f->m, &f->t->arena, scopes, n, &err),
			 SPUR_OK);
	assert_true(f->m->nslots + CTF_SLOTS_FIXED <= SLOTS);
}

/* The thread and its name come first. */
static void compile_event(struct fixture *f)
{
	const struct ctf_stream_class *s = f->m->streams[0];

	compile(f,
		(const struct ctf_scope_fields[]){ { CTF_SCOPE_EVENT_COMMON, s->event_common },
						   { CTF_SCOPE_PAYLOAD, s->events[0]->payload } },
		2);
}

static void set_up(struct fixture *f, const char *fields)
{
	static char text[8192];
	struct spur_error err = { 0 };
	const int n = snprintf(text, sizeof(text),
			       "%sstream{event.context:=struct{i32 tid; ch comm[9];};};"
			       "event{name=e;fields:=struct{%s};};",
			       types, fields);

	f->t = trace_new("test", NULL);
	f->m = meta_new("metadata");
	assert_true(f->t && f->m);
	diag_init(&f->log);
	if (tsdl_parse(f->m, text_make(text, (size_t)n), &f->log, &err) == SPUR_FAIL ||
	    meta_resolve(f->m, &f->log, &err) == SPUR_FAIL)
		fail_msg("%s: %s", fields, err.message);
	compile_event(f);
}

static void tear_down(struct fixture *f)
{
	meta_free(f->m);
	diag_free(&f->log);
	trace_free(f->t);
}

/* --- one event, read twice --- */

struct reading {
	uint64_t slots[SLOTS];
	uint8_t have[CTF_SLOTS_FIXED];
	struct ctf_cursor c;
	struct spur_args args;
	enum spur_status st;
};

static void begin(struct reading *r, const uint8_t *data, uint64_t at, uint64_t limit)
{
	memset(r, 0, sizeof(*r));
	r->c = (struct ctf_cursor){
		.data = data, .at = at, .limit = limit, .slots = r->slots, .have = r->have
	};
}

static void same_value(const struct spur_value *a, const struct spur_value *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->show, b->show);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->name, b->name);
	assert_int_equal(a->count, b->count);
	assert_true(!a->label == !b->label);
	if (a->label)
		assert_string_equal(a->label, b->label);
	switch ((enum spur_type)a->type) {
	case SPUR_STRING:
	case SPUR_BYTES:
		assert_ptr_equal(a->text, b->text);
		break;
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		for (uint32_t i = 0; i < a->count; i++)
			same_value(&a->items[i], &b->items[i]);
		break;
	default:
		assert_int_equal(a->u, b->u);
		break;
	}
}

static void same_values(const struct reading *a, const struct reading *b)
{
	assert_int_equal(a->st, b->st);
	assert_int_equal(a->c.at, b->c.at);
	assert_int_equal(a->args.count, b->args.count);
	for (size_t i = 0; i < a->args.count; i++)
		same_value(&a->args.items[i], &b->args.items[i]);
}

static void check_values(const struct ctf_program *p, const struct ctf_program *bits,
			 const uint8_t *data, uint64_t at, uint64_t limit)
{
	struct reading a, b;

	for (int flat = 0; flat < 2; flat++) {
		begin(&a, data, at, limit);
		begin(&b, data, at, limit);
		a.st = plan_values(p, &a.c, flat, &a.args);
		b.st = plan_values(bits, &b.c, flat, &b.args);
		same_values(&a, &b);
		/* Once more, with what is left of the first time. */
		a.c.at = at;
		args_reset(&a.args);
		a.st = plan_values(p, &a.c, flat, &a.args);
		same_values(&a, &b);
		spur_args_free(&a.args);
		spur_args_free(&b.args);
	}
}

static void check_skip(const struct ctf_program *p, const struct ctf_program *bits,
		       const uint8_t *data, uint64_t at, uint64_t limit)
{
	struct reading a, b;

	begin(&a, data, at, limit);
	begin(&b, data, at, limit);
	a.st = plan_skip(p, &a.c);
	b.st = plan_skip(bits, &b.c);
	assert_int_equal(a.st, b.st);
	assert_int_equal(a.c.at, b.c.at);
	assert_memory_equal(a.slots, b.slots, sizeof(a.slots));
	if (a.st == SPUR_FAIL)
		assert_string_equal(a.c.why, b.c.why);
}

/* --- bytes --- */

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Many zeros, so that lengths are short and texts end. */
static void random_bytes(uint64_t *state, uint8_t *data)
{
	for (int i = 0; i < BYTES; i++) {
		const uint64_t r = random_next(state);

		data[i] = r % 5 < 3 ? (uint8_t)(r >> 8 & 3) : (uint8_t)(r >> 8);
	}
}

static void test_both_programs_agree(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ctf_program bits;
		struct fixture f;

		set_up(&f, cases[i].fields);
		bits = *f.program;
		memset(&bits.bytes, 0, sizeof(bits.bytes));
		for (int flat = 0; flat < 2; flat++)
			if (!f.program->bytes.values[flat] != !cases[i].bytes)
				fail_msg("%s: byte program", cases[i].fields);
		for (int round = 0; round < ROUNDS; round++) {
			/* On the heap, so that readers past the end are seen. */
			uint8_t *data = malloc(BYTES);
			const uint64_t r = random_next(&seed), at = 8 * (r % 24);
			const uint64_t limit = at + (r >> 8) % (8 * BYTES - at + 1);

			assert_non_null(data);
			random_bytes(&seed, data);
			check_values(f.program, &bits, data, at, limit);
			check_skip(f.program, &bits, data, at, limit);
			free(data);
		}
		tear_down(&f);
	}
}

/* Slots that the program does not need are dropped, and found in the bytes. */
static void test_threads_are_found_in_the_bytes(void **state)
{
	const uint8_t data[64] = { 0x2A, 1, 0, 0, 'n', 'a', 'm', 'e', 0 };
	struct reading r;
	struct fixture f;
	uint32_t off = 99, slots[2];
	uint8_t load = 0;

	(void)state;
	set_up(&f, "u8 n; u8 v[n];");
	slots[0] = plan_capture(f.m, f.m->streams[0]->event_common, "tid");
	slots[1] = plan_capture(f.m, f.m->streams[0]->event_common, "comm");
	compile_event(&f);
	assert_true(bytes_find(&f.program->bytes, slots[0], &off, &load));
	assert_int_equal(off, 0);
	assert_int_equal(load, BYTE_I32);
	assert_true(bytes_find(&f.program->bytes, slots[1], &off, &load));
	assert_int_equal(off, 4);
	assert_int_equal(load, BYTE_PLACE);
	begin(&r, data, 0, 8 * sizeof(data));
	assert_int_equal(plan_skip(f.program, &r.c), SPUR_OK);
	assert_int_equal(r.slots[slots[0]], 0x12A);
	assert_int_equal(r.slots[slots[1]], 4);
	bytes_drop(&f.program->bytes, slots, 2);
	assert_false(bytes_find(&f.program->bytes, slots[0], &off, &load));
	begin(&r, data, 0, 8 * sizeof(data));
	assert_int_equal(plan_skip(f.program, &r.c), SPUR_OK);
	assert_int_equal(r.c.at, 8 * 14);
	assert_int_equal(r.slots[slots[0]], 0);
	tear_down(&f);
}

static struct ctf_field *number_field(struct ctf_meta *m, uint32_t save)
{
	struct ctf_field *f = meta_field(m, CTF_UINT, 0);

	assert_non_null(f);
	f->size = f->align = 8;
	f->save = save;
	return f;
}

/* { u8 there; optional u8 n; u8 v[n]; } */
static struct ctf_field *optional_fields(struct ctf_meta *m)
{
	static struct ctf_member members[] = {
		{ .name = "there", .shown = "there" },
		{ .name = "n", .shown = "n" },
		{ .name = "v", .shown = "v" },
	};
	struct ctf_field *f = meta_field(m, CTF_STRUCT, 0);

	assert_non_null(f);
	f->align = 8;
	f->members = members;
	f->nmembers = 3;
	members[0].field = number_field(m, 0);
	members[1].field = meta_field(m, CTF_OPTIONAL, 0);
	members[1].field->ref = (struct ctf_ref){ .slot = 0, .is_bool = true };
	members[1].field->element = number_field(m, 1);
	members[2].field = meta_field(m, CTF_SEQUENCE, 0);
	members[2].field->align = 8;
	members[2].field->ref.slot = 1;
	members[2].field->element = number_field(m, CTF_NO_SLOT);
	m->nslots = 2;
	return f;
}

/* A field that is not there has no value, whatever an event before had. */
static void test_missing_fields_are_forgotten(void **state)
{
	const uint8_t with[8] = { 1, 2, 7, 8, 9 }, without[8] = { 0, 5 };
	struct reading r;
	struct fixture f;

	(void)state;
	set_up(&f, "u8 a;");
	compile(&f, &(struct ctf_scope_fields){ CTF_SCOPE_PAYLOAD, optional_fields(f.m) }, 1);
	begin(&r, with, 0, 8 * sizeof(with));
	assert_int_equal(plan_skip(f.program, &r.c), SPUR_OK);
	assert_int_equal(r.c.at, 8 * 4);
	for (int turn = 0; turn < 2; turn++) {
		r.c.data = without;
		r.c.at = 0;
		r.st = turn ? plan_values(f.program, &r.c, true, &r.args)
			    : plan_skip(f.program, &r.c);
		assert_int_equal(r.st, SPUR_OK);
		assert_int_equal(r.c.at, 8 * 1);
	}
	spur_args_free(&r.args);
	tear_down(&f);
}

/* --- whole traces --- */

static const char metadata[] =
	"/* CTF 1.8 */ trace{major=1;minor=8;byte_order=le;packet.header:=struct{"
	"integer{size=32;align=8;} magic;};};"
	"stream{packet.context:=struct{integer{size=32;align=8;} packet_size;"
	"integer{size=32;align=8;} content_size; integer{size=8;align=8;} n;};"
	"event.header:=struct{enum:integer{size=5;align=1;}{compact=0...30,extended=31} id;"
	"variant<id>{struct{integer{size=27;align=1;} timestamp;} compact;struct{"
	"integer{size=32;align=8;} id;integer{size=64;align=8;} timestamp;} extended;} v;} "
	"align(8);};"
	"event{id=0;name=bits;fields:=struct{integer{size=3;align=1;} a;};};"
	"event{id=1;name=bytes;fields:=struct{integer{size=8;align=8;} b;};};"
	"event{id=2;name=heads;fields:=struct{integer{size=8;align=8;} "
	"c[stream.packet.context.n];};};";

struct packets {
	uint8_t bytes[4096];
	size_t n;
};

static void put(struct packets *p, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p->bytes[p->n++] = (uint8_t)(v >> (8 * i));
}

static void put_head(struct packets *p, uint32_t id, uint32_t time)
{
	put(p, id | time << 5, 4);
}

/* A packet of three events of each kind; `n` is in its context. */
static void put_packet(struct packets *p, uint8_t n)
{
	const size_t begin = p->n;
	uint32_t bits, time = 1;

	put(p, 0xC1FC1FC1, 4);
	put(p, 0, 8);
	put(p, n, 1);
	for (unsigned i = 0; i < 3; i++) {
		put_head(p, 0, time++);
		put(p, i + 1, 1);
		put_head(p, 1, time++);
		put(p, 10u * n + i, 1);
		put_head(p, 2, time++);
		for (uint8_t k = 0; k < n; k++)
			put(p, 100u + n + k, 1);
	}
	bits = (uint32_t)(8 * (p->n - begin));
	for (size_t i = 0; i < 8; i++)
		p->bytes[begin + 4 + i] = (uint8_t)(bits >> (8 * (i % 4)));
}

static void write_file(const char *dir, const char *name, const void *data, size_t size)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	fclose(f);
}

static void remove_dir(const char *dir)
{
	static const char *const names[] = { "metadata", "s0", "s1" };
	char path[512];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
}

/* The numbers of a row's arguments. */
static void row_text(struct spur_trace *t, const struct spur_event *row, struct spur_args *args,
		     struct out *o)
{
	assert_int_equal(spur_args(t, row, args), SPUR_OK);
	out_str(o, spur_string(t, row->name, NULL));
	for (size_t i = 0; i < args->count; i++) {
		const struct spur_value *v = &args->items[i];
		const bool array = v->type == SPUR_ARRAY;

		for (uint32_t k = 0; k < (array ? v->count : 1); k++)
			out_printf(o, " %llu", (unsigned long long)(array ? v->items[k].u : v->u));
	}
	out_char(o, '\n');
}

/* All rows' arguments, last row first, so that packets and streams change often. */
static void trace_text(const char *dir, struct spur_args *args, struct out *o)
{
	static struct spur_event all[64];
	const struct spur_event *rows;
	struct spur_trace *t = NULL;
	struct spur_error err;
	size_t n, count = 0;

	assert_int_equal(spur_open(&t, dir, NULL, &err), SPUR_OK);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			all[count++] = rows[i];
	while (count--)
		row_text(t, &all[count], args, o);
	out_char(o, '\0');
	assert_int_equal(spur_damage_count(t), 0);
	spur_close(t);
}

static const char expected[] = "heads 102 103\nheads 101\nbytes 22\nbytes 12\nbits 3\nbits 3\n"
			       "heads 102 103\nheads 101\nbytes 21\nbytes 11\nbits 2\nbits 2\n"
			       "heads 102 103\nheads 101\nbytes 20\nbytes 10\nbits 1\nbits 1\n";

/*
 * Events that end inside a byte, and such whose fields refer to the packet's context, one after the
 * other; the same spur_args for one trace after the other.
 */
static void test_arguments_whatever_came_before(void **state)
{
	char dir[] = "/tmp/spur-test-XXXXXX";
	struct spur_args args = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	write_file(dir, "metadata", metadata, sizeof(metadata) - 1);
	for (int turn = 0; turn < 3; turn++) {
		struct packets p = { .n = 0 }, q = { .n = 0 };
		struct out o;

		put_packet(&p, 1);
		put_packet(&q, 2);
		write_file(dir, "s0", p.bytes, p.n);
		write_file(dir, "s1", q.bytes, q.n);
		out_to_memory(&o);
		trace_text(dir, &args, &o);
		assert_string_equal(o.buf, expected);
		out_free(&o);
	}
	spur_args_free(&args);
	remove_dir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_programs_agree),
		cmocka_unit_test(test_threads_are_found_in_the_bytes),
		cmocka_unit_test(test_missing_fields_are_forgotten),
		cmocka_unit_test(test_arguments_whatever_came_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
