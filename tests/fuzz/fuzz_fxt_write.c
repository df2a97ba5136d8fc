/*
 * FXT written from the fuzzer's bytes as FXT: copied, copied in the order of time, and converted. A
 * copy has no damage and the same rows, but for a mark of missing records; what was converted has
 * none either, and converted again it has the same rows. The last byte chooses the byte order.
 */
#include <spur.h>

#include "flow/convert.h"
#include "format/format.h"
#include "fuzz_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct spur_format spur_format_fxt;
extern const struct spur_writer spur_writer_fxt;

struct reading {
	uint64_t rows, sum, lost, damage;
};

static struct spur_trace *open_bytes(const void *data, size_t size)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1);
	const struct source_options so = { 0 };
	struct spur_trace *t = trace_new("fuzz.fxt", &opt);
	struct spur_error err;

	require(t);
	t->format = &spur_format_fxt;
	require(source_memory(&t->source, "fuzz.fxt", data, size, &so, &err) != SPUR_FAIL);
	require(spur_format_fxt.open(t, t->source, &err) == SPUR_OK);
	return t;
}

/* Sums of what a row is; `times`: those of records without a time too. */
static void read_rows(const void *data, size_t size, bool times, struct reading *r)
{
	struct spur_trace *t = open_bytes(data, size);
	const struct spur_event *rows;
	enum spur_status st;
	struct spur_damage d;
	size_t n;

	*r = (struct reading){ 0 };
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			size_t len;
			const char *name = spur_string(t, rows[i].name, &len);
			const int64_t ts =
				times || !(rows[i].flags & SPUR_F_RETIMED) ? rows[i].ts : 0;
			uint64_t h = fuzz_hash(0xCBF29CE484222325u, name, len);

			current = rows[i];
			name = spur_string(t, rows[i].cat, &len);
			h = fuzz_hash(h, name, len);
			h = fuzz_hash(h, &ts, sizeof(ts));
			h = fuzz_hash(h, &rows[i].dur, sizeof(rows[i].dur));
			h = fuzz_hash(h, &rows[i].kind, sizeof(rows[i].kind));
			r->lost += rows[i].kind == SPUR_LOST;
			r->rows += rows[i].kind != SPUR_LOST;
			r->sum += rows[i].kind == SPUR_LOST ? 0 : h;
		}
	require(st == SPUR_END);
	for (size_t i = 0; i < spur_damage_count(t); i++)
		r->damage += spur_damage(t, i, &d) && d.is_damage;
	spur_close(t);
}

static void check_copy(const uint8_t *data, size_t size, bool sorted, bool repair)
{
	struct spur_trace *t = open_bytes(data, size);
	struct copy_part part = { .trace = t, .from = INT64_MIN, .until = INT64_MAX };
	struct spur_error err = { 0 };
	struct reading want, got;
	struct out o, notes;
	struct copy c = { .parts = &part,
			  .count = 1,
			  .sorted = sorted,
			  .repair = repair,
			  .out = &o,
			  .notes = &notes,
			  .err = &err };
	bool times;

	out_to_memory(&o);
	out_to_memory(&notes);
	require(spur_format_fxt.copy(&c) == SPUR_OK && !o.error);
	spur_close(t);
	out_char(&notes, '\0');
	times = !strstr(notes.buf, "without a time");
	read_rows(data, size, times, &want);
	read_rows(o.buf, o.len, times, &got);
	require(!got.damage);
	require(got.rows == want.rows && got.sum == want.sum);
	require(got.lost == want.lost || got.lost == want.lost + 1);
	out_free(&o);
	out_free(&notes);
}

static void convert_bytes(const void *data, size_t size, const char *settings, struct out *o)
{
	struct spur_trace *t = open_bytes(data, size);
	struct convert c = { .pipe = { .threads = 1 }, .settings = settings };

	out_to_memory(o);
	require(convert_run(&c, t, &spur_writer_fxt, o) == SPUR_OK && !o->error);
	spur_close(t);
}

static void check_conversion(const uint8_t *data, size_t size, const char *settings)
{
	struct reading first, second;
	struct out one, two;

	convert_bytes(data, size, settings, &one);
	convert_bytes(one.buf, one.len, settings, &two);
	read_rows(one.buf, one.len, true, &first);
	read_rows(two.buf, two.len, true, &second);
	require(!first.damage && !second.damage);
	require(first.rows == second.rows && first.sum == second.sum && first.lost == second.lost);
	out_free(&one);
	out_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t how = size ? data[size - 1] : 0;

	check_copy(data, size, false, how & 1);
	check_copy(data, size, true, how & 2);
	check_conversion(data, size, how & 4 ? "byte-order=big" : "byte-order=little");
	return 0;
}
