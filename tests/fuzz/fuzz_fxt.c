/*
 * Reads the fuzzer's bytes as FXT three times: merged, in batches of another size from pieces of
 * another size, and as stored. The first two must say the same; the third has the same rows, in
 * another order.
 */
#include <spur.h>

#include "format/format.h"
#include "fuzz_row.h"
#include "model/args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct spur_format spur_format_fxt;

/* What a reading gave. Sums, so that an order plays no part where it must not. */
struct reading {
	uint64_t rows, times, bodies; /* bodies: what does not depend on the rows around */
	uint64_t records, damage;
	bool unframed; /* sizes of records were wrong */
	uint64_t bytes; /* of the input: there are not more than two rows a word */
	struct spur_args args;
};

static void check_row(struct spur_trace *t, const struct spur_event *row, struct reading *r)
{
	const uint8_t *raw = format_place(t, row).raw;
	size_t len;
	const char *name = spur_string(t, row->name, &len);
	uint64_t h;

	current = *row;
	require(row->stream == 0 && row->track < spur_track_count(t) && row->kind < SPUR_KINDS);
	require(row->cls && row->cls < trace_class_count(t));
	require(raw && row->len && row->len % 8 == 0);
	for (size_t i = 0; i < row->len; i++)
		sink += raw[i];
	require(spur_args(t, row, &r->args) == SPUR_OK);
	require(r->args.count == row->nargs);
	sink += touch(r->args.items, r->args.count);
	require(spur_format_fxt.fields(t, row, &r->args) == SPUR_OK);
	sink += touch(r->args.items, r->args.count);
	h = fuzz_hash(0xCBF29CE484222325u, &row->dur, 3 * sizeof(uint64_t));
	h = fuzz_hash(h, &row->len, sizeof(row->len));
	h = fuzz_hash(h, &row->kind, 8);
	h = fuzz_hash(h, name, len);
	r->bodies += h;
	r->times += fuzz_hash(h, &row->ts, sizeof(row->ts));
	r->rows++;
	require(r->rows <= r->bytes / 4);
}

/* The messages, which must not depend on how the data was read either. */
static void read_damage(struct spur_trace *t, struct reading *r)
{
	struct spur_damage d;

	for (size_t i = 0; i < spur_damage_count(t); i++) {
		require(spur_damage(t, i, &d) && d.count && d.code && d.file && d.first);
		r->unframed |= d.is_damage && strstr(d.code, "fxt/size-");
		r->damage += fuzz_hash(d.count ^ d.bytes_lost << 20 ^ d.first_offset << 40, d.code,
					strlen(d.code));
		r->damage += fuzz_hash(0, d.first, strlen(d.first));
	}
	r->records = t->read.records;
}

static struct spur_trace *open_bytes(const uint8_t *data, size_t size,
				     const struct spur_options *opt)
{
	const struct source_options so = { .read_size = opt->read_size };
	struct spur_trace *t = trace_new("fuzz.fxt", opt);
	struct spur_error err;

	require(t);
	t->format = &spur_format_fxt;
	require(source_memory(&t->source, "fuzz.fxt", data, size, &so, &err) != SPUR_FAIL);
	require(spur_format_fxt.open(t, t->source, &err) == SPUR_OK);
	return t;
}

static void read_merged(struct spur_trace *t, struct reading *r)
{
	const struct spur_event *rows;
	enum spur_status st;
	size_t n;

	while ((st = spur_next(t, &rows, &n)) == SPUR_OK) {
		require(n);
		for (size_t i = 0; i < n; i++)
			check_row(t, &rows[i], r);
	}
	require(st == SPUR_END);
}

static void read_batches(struct spur_trace *t, uint32_t cap, bool ordered, struct reading *r)
{
	struct spur_event *rows = mem_array(cap, sizeof(*rows));
	struct batch b = { .rows = rows, .cap = cap };
	enum spur_status st;
	int64_t last = INT64_MIN;

	while ((st = spur_format_fxt.next(t, t->feeds[0], &b)) == SPUR_OK) {
		require(b.count && b.count <= cap && b.cap == cap && b.rows == rows);
		for (uint32_t i = 0; i < b.count; i++) {
			check_row(t, &rows[i], r);
			require(!ordered || rows[i].ts >= last);
			last = rows[i].ts;
		}
	}
	require(st == SPUR_END);
	mem_free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The last byte chooses how to read, so that all ways are met; the slow ones less often. */
	static const size_t read_sizes[8] = { 0, 0, 4096, 0, 64, 7, 0, 1 };
	const uint8_t how = size ? data[size - 1] : 0;
	struct spur_options opt = SPUR_OPTIONS(.threads = 1, .raw_time = how & 1);
	struct reading merged = { .bytes = size }, batches = { .bytes = size },
		       stored = { .bytes = size };
	struct spur_trace *t;

	opt.read_size = read_sizes[how >> 1 & 7];
	t = open_bytes(data, size, &opt);
	read_merged(t, &merged);
	read_damage(t, &merged);
	spur_close(t);

	opt.read_size = read_sizes[how >> 4 & 7];
	t = open_bytes(data, size, &opt);
	read_batches(t, how & 128 ? 700 : how & 64 ? 3 : 1, true, &batches);
	read_damage(t, &batches);
	spur_close(t);
	require(merged.rows == batches.rows && merged.times == batches.times);
	require(merged.damage == batches.damage && merged.records == batches.records);

	opt.follow = true;
	/*
	 * Behind damage each piece that comes is searched together with what could not be judged
	 * before.
	 */
	if (size > 4096 && opt.read_size && opt.read_size < 64)
		opt.read_size = 64;
	t = open_bytes(data, size, &opt);
	read_batches(t, how & 64 ? 2 : 512, false, &stored);
	read_damage(t, &stored);
	spur_close(t);
	/* SPEC fxt/follow-damage: what follows a wrong size tells it, and may not be there yet. */
	if (!merged.unframed || !opt.read_size) {
		require(merged.rows == stored.rows && merged.bodies == stored.bodies);
		require(merged.damage == stored.damage && merged.records == stored.records);
	}

	opt.as_stored = true;
	t = open_bytes(data, size, &opt);
	read_batches(t, 512, false, &stored);
	spur_close(t);
	spur_args_free(&merged.args);
	spur_args_free(&batches.args);
	spur_args_free(&stored.args);
	return 0;
}
