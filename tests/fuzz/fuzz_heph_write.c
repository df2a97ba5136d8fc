/*
 * Reads the fuzzer's bytes as a Heph trace, and writes it again: as rows (format/writer.h) and as
 * packets (format/copy.h). What is written has the same events and no damage, and writing that
 * again gives the same bytes. A copy of some events has just these. Sometimes memory runs out.
 */
#include "flow/args.h"
#include "flow/convert.h"
#include "format/heph/reader.h"
#include "fuzz_copy.h"
#include "model/args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a reading gave. */
struct reading {
	uint64_t events; /* without losses and options, which have no times of their own */
	uint64_t sum; /* of their values, in any order */
	uint64_t options;
	bool odd; /* times that cannot be told from others, or several epochs */
	bool old; /* the layout of before March 2021 */
};

static struct spur_trace *open_bytes(const void *data, size_t size)
{
	static const struct spur_options opt = SPUR_OPTIONS();
	const struct source_options so = { .read_size = 0 };
	struct spur_error err = { 0 };
	struct spur_trace *t = trace_new("fuzz", &opt);

	if (!t || source_memory(&t->source, "fuzz", data, size, &so, &err) == SPUR_FAIL) {
		spur_close(t);
		return NULL;
	}
	t->format = format_find("heph");
	if (t->format->open(t, t->source, &err) != SPUR_FAIL)
		return t;
	spur_close(t);
	return NULL;
}

static uint64_t hash_values(uint64_t h, const struct spur_value *v, size_t n, struct spur_trace *t)
{
	for (size_t i = 0; i < n; i++) {
		size_t len;
		const char *name = spur_string(t, v[i].name, &len);

		h = fuzz_hash(h, name, len);
		h = fuzz_hash(h, &v[i].type, 1);
		if (v[i].type == SPUR_STRUCT || v[i].type == SPUR_ARRAY)
			h = hash_values(h, v[i].items, v[i].count, t);
		else if (v[i].type == SPUR_STRING || v[i].type == SPUR_BYTES)
			h = fuzz_hash(h, v[i].text, v[i].count);
		else
			h = fuzz_hash(h, &v[i].u, 8);
	}
	return h;
}

static uint64_t hash_row(struct spur_trace *t, const struct spur_event *row, struct spur_args *args)
{
	const struct {
		int64_t ts, dur;
		uint64_t id;
		uint32_t kind, flags, cpu;
	} values = { row->ts, row->dur, row->id, row->kind, row->flags, row->cpu };
	uint64_t h;
	size_t len;
	const char *text = spur_string(t, row->name, &len);

	current = *row;
	h = fuzz_hash(0xCBF29CE484222325u, &values.ts, 24);
	h = fuzz_hash(h, &values.kind, 12);
	h = fuzz_hash(h, text, len);
	text = spur_string(t, row->cat, &len);
	h = fuzz_hash(h, text, len);
	require(trace_args(t, row, args) != SPUR_FAIL);
	/* What cannot be decoded is left out of copies. */
	for (size_t i = 0; i < args->count; i++)
		if (args->items[i].type != SPUR_BYTES)
			h = hash_values(h, &args->items[i], 1, t);
	return h;
}

/* Reads all rows; with `kept`, adds every `every`-th event to it. */
static struct reading read_all(struct spur_trace *t, struct kept *kept, uint64_t every)
{
	struct spur_event rows[64];
	struct batch b = { .rows = rows, .cap = 64 };
	struct reading r = { .events = 0 };
	struct spur_args args = { 0 };
	uint64_t n = 0;

	while (t->format->next(t, t->feeds[0], &b) == SPUR_OK)
		for (uint32_t i = 0; i < b.count; i++) {
			const struct spur_event *row = &rows[i];

			r.odd |= row->ts >= 0 && row->dur >= INT64_MAX - row->ts;
			if (!row->len || (row->flags & SPUR_F_RETIMED)) {
				r.options += row->len != 0;
				continue;
			}
			if (kept && n++ % every)
				continue;
			require(!kept || kept_add(kept, row->stream, row->off));
			r.sum += hash_row(t, row, &args);
			r.events++;
		}
	spur_args_free(&args);
	r.old = ((struct heph *)t->state)->walk.head == HEPH_OLD_HEAD;
	r.odd |= t->norigins > 1 || r.old;
	return r;
}

static bool write_rows(const void *data, size_t size, struct out *o)
{
	struct convert c = { .pipe = { .threads = 1 }, .zero = ZERO_EXACT };
	struct spur_trace *t = open_bytes(data, size);
	enum spur_status st = SPUR_FAIL;

	out_to_memory(o);
	if (t)
		st = convert_run(&c, t, writer_find("heph"), o);
	spur_close(t);
	return st != SPUR_FAIL && !o->error;
}

/* A copy has the events of the reading, and a copy of it is the same. */
static void check_copy(const struct out *copy, const struct reading *want, bool again)
{
	struct spur_trace *t = open_bytes(copy->buf, copy->len);
	struct reading r;
	struct out o;

	require(t);
	r = read_all(t, NULL, 1);
	/*
	 * The first event that can be read in one layout only decides: if it is left out of a copy,
	 * or its damaged attributes are, the others may be read in the wrong one.
	 */
	if (r.old != want->old) {
		spur_close(t);
		return;
	}
	check_clean(t);
	require(want->odd || (r.events == want->events && r.sum == want->sum));
	if (again) {
		require(write_copy(t, NULL, false, false, &o));
		require(o.len == copy->len && (!o.len || !memcmp(o.buf, copy->buf, o.len)));
		out_free(&o);
	}
	spur_close(t);
}

static void copies(const uint8_t *data, size_t size, uint8_t how)
{
	struct spur_trace *t = open_bytes(data, size);
	struct kept *kept = kept_new();
	struct reading all, some;
	struct out o;

	require(t && kept);
	all = read_all(t, NULL, 1);
	spur_close(t);
	t = open_bytes(data, size);
	some = read_all(t, kept, 1 + how % 4);
	require(write_copy(t, NULL, false, false, &o));
	check_copy(&o, &all, true);
	out_free(&o);
	require(write_copy(t, NULL, how & 4, true, &o));
	out_free(&o);
	require(write_copy(t, kept, how & 8, false, &o));
	check_copy(&o, &some, false);
	out_free(&o);
	spur_close(t);
	kept_free(kept);
}

static void rows(const uint8_t *data, size_t size)
{
	struct spur_trace *t = open_bytes(data, size);
	const struct reading want = read_all(t, NULL, 1);
	struct out first, second;

	require(write_rows(data, size, &first));
	require(write_rows(first.buf, first.len, &second));
	/* The place of an option among the events is not kept exactly. */
	require(want.odd || want.options ||
		(first.len == second.len &&
		 (!first.len || !memcmp(first.buf, second.buf, first.len))));
	out_free(&second);
	spur_close(t);
	t = open_bytes(first.buf, first.len);
	require(t);
	if (!want.odd) {
		const struct reading r = read_all(t, NULL, 1);

		require(r.events == want.events && r.sum == want.sum);
	}
	spur_close(t);
	out_free(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t how = size ? data[size - 1] : 0;
	struct out o;

	if (size < 8 || memcmp(data, "\x1f\x8b", 2) == 0 ||
	    memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0)
		return 0;
	copies(data, size, how);
	rows(data, size);
	if (how & 16) {
		mem_fail_at(1 + size % 61);
		write_rows(data, size, &o);
		mem_fail_at(0);
		out_free(&o);
	}
	return 0;
}
