/*
 * Reads the fuzzer's bytes as a file of one of Spur's recordings: by time twice and as stored
 * twice, in different pieces and batches. Both of each must give the same rows in the same order
 * and the same messages; by time, the rows of a feed ascend; the events are the same either way.
 * Sometimes memory runs out.
 */

#include "format/format.h"
#include "format/spur/wire.h"
#include "fuzz_read.h"
#include "model/args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a reading gave. */
struct reading {
	uint64_t rows;
	uint64_t order; /* of rows, as they come */
	uint64_t sum; /* of events, in any order */
	uint64_t damage;
	uint64_t size; /* of the input */
	bool failed; /* out of memory */
	struct spur_args args;
};

static uint64_t hash_row(struct spur_trace *t, const struct spur_event *row, struct reading *r)
{
	const uint8_t *raw = format_place(t, row).raw;
	uint64_t h = fuzz_hash(0xCBF29CE484222325u, &row->ts, 4 * sizeof(uint64_t)), ticks[2];
	size_t len;
	const char *name = spur_string(t, row->name, &len);

	current = *row;
	require(row->stream == 0 && row->track < spur_track_count(t));
	require(row->cls && row->cls < trace_class_count(t));
	require(raw && row->len && row->off < r->size && row->len <= r->size - row->off);
	for (size_t i = 0; i < row->len; i++)
		sink += raw[i];
	h = fuzz_hash(h, &row->len, sizeof(row->len));
	h = fuzz_hash(h, &row->kind, 4);
	h = fuzz_hash(h, name, len);
	if (t->format->ticks(t, row, ticks))
		h = fuzz_hash(h, ticks, sizeof(ticks));
	if (spur_args(t, row, &r->args) == SPUR_FAIL) {
		r->failed = true;
		return h;
	}
	require(r->args.count <= row->nargs);
	h = fuzz_hash_values(h, r->args.items, r->args.count);
	args_reset(&r->args);
	r->failed |= t->format->fields(t, row, &r->args) == SPUR_FAIL;
	return fuzz_hash_values(h, r->args.items, r->args.count);
}

static void check_row(struct spur_trace *t, const struct spur_event *row, struct reading *r)
{
	const uint64_t h = hash_row(t, row, r);

	r->order = fuzz_hash(r->order, &h, sizeof(h));
	/* How many functions are open depends on the order of chunks. */
	if (row->kind != SPUR_NATIVE && !(row->flags & SPUR_F_ANY))
		r->sum += h;
	require(++r->rows <= r->size / SPB_WORD * 2 + 1);
}

static void read_feed(struct spur_trace *t, struct feed *f, uint32_t cap, struct reading *r)
{
	struct spur_event *rows = mem_array(cap, sizeof(*rows));
	struct batch b = { .rows = rows, .cap = cap };
	enum spur_status st = SPUR_FAIL;
	int64_t ts = INT64_MIN;

	while (rows && (st = t->format->next(t, f, &b)) == SPUR_OK) {
		require(b.count && b.count <= cap && b.rows == rows);
		for (uint32_t i = 0; i < b.count; i++) {
			check_row(t, &rows[i], r);
			require(t->options.as_stored || rows[i].ts >= ts);
			ts = rows[i].ts;
		}
	}
	r->failed |= st != SPUR_END;
	mem_free(rows);
}

static struct reading read_once(const uint8_t *data, size_t size, size_t piece, uint32_t cap,
				bool stored, uint64_t fail_at)
{
	struct reading r = { .size = size };
	struct spur_trace *t;
	bool opened;

	mem_fail_at(fail_at);
	t = fuzz_open("spur", data, size, piece, stored, &opened);
	r.failed = !opened;
	for (size_t i = 0; !r.failed && i < t->nfeeds; i++)
		read_feed(t, t->feeds[i], cap, &r);
	if (!r.failed)
		r.damage = fuzz_hash_damage(t, size);
	require(!r.failed || fail_at);
	spur_close(t);
	spur_args_free(&r.args);
	mem_fail_at(0);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct probe probe = { .path = "fuzz", .head = data, .len = size };
	const uint8_t how = size ? data[size - 1] : 0;
	const size_t piece = fuzz_pieces[how & 7];
	const uint32_t cap = how & 8 ? 256 : how & 16 ? 3 : 1;
	struct reading a, b, c, d;

	if (!format_find("spur")->probe(&probe))
		return 0;
	a = read_once(data, size, 0, 512, false, 0);
	b = read_once(data, size, piece, cap, false, 0);
	c = read_once(data, size, 0, 512, true, 0);
	d = read_once(data, size, piece, cap, true, 0);
	require(a.rows == b.rows && a.order == b.order && a.damage == b.damage);
	require(c.rows == d.rows && c.order == d.order && c.damage == d.damage);
	require(a.sum == c.sum);
	if (how & 32) {
		read_once(data, size, piece, cap, how & 64, 1 + (how >> 1) * (uint64_t)3);
		read_once(data, size, piece, cap, !(how & 64), 1 + size % 97);
	}
	return 0;
}
