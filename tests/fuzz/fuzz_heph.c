/*
 * Reads the fuzzer's bytes as a Heph trace: by time twice and as stored twice, in different pieces
 * and batches. Both of each must give the same rows in the same order and the same messages; by
 * time, rows ascend and nest; the events are the same either way. Sometimes memory runs out.
 */

#include "format/format.h"
#include "fuzz_read.h"
#include "model/args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a reading gave. */
struct reading {
	uint64_t rows, events;
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
	size_t len;
	const char *name = spur_string(t, row->name, &len);
	uint64_t h = fuzz_hash(0xCBF29CE484222325u, &row->ts, 4 * sizeof(uint64_t));

	current = *row;
	require(row->stream == 0 && row->track < spur_track_count(t));
	require(row->cls && row->cls < trace_class_count(t));
	require(row->off < r->size && row->len <= r->size - row->off);
	require(row->kind == SPUR_SPAN || row->kind == SPUR_NATIVE || row->kind == SPUR_LOST);
	require(row->kind == SPUR_LOST ? !row->len && row->id : raw && row->len >= 10);
	require(row->dur >= 0);
	for (size_t i = 0; i < row->len; i++)
		sink += raw[i];
	h = fuzz_hash(h, &row->len, sizeof(row->len));
	h = fuzz_hash(h, &row->kind, 4);
	h = fuzz_hash(h, name, len);
	if (spur_args(t, row, &r->args) == SPUR_FAIL) {
		r->failed = true;
		return h;
	}
	require(row->nargs == 255 || r->args.count == row->nargs);
	h = fuzz_hash_values(h, r->args.items, r->args.count);
	args_reset(&r->args);
	r->failed |= t->format->fields(t, row, &r->args) == SPUR_FAIL;
	return fuzz_hash_values(h, r->args.items, r->args.count);
}

static void check_row(struct spur_trace *t, const struct spur_event *row, struct reading *r)
{
	const uint64_t h = hash_row(t, row, r);

	r->order = fuzz_hash(r->order, &h, sizeof(h));
	/* As stored, times of options are others', and names of segments may differ. */
	if (row->kind == SPUR_SPAN) {
		r->sum += h;
		r->events++;
	}
	require(++r->rows <= r->size / 10 * 2 + 1);
}

/* The span before it on its track is over, or around it. */
static void check_nesting(const struct spur_event *row, struct spur_event *before)
{
	require(row->ts >= before->ts);
	require(row->ts >= before->ts + before->dur ||
		row->dur <= before->ts + before->dur - row->ts);
}

static void read_rows(struct spur_trace *t, uint32_t cap, bool by_time, struct reading *r)
{
	struct spur_event *rows = mem_array(cap, sizeof(*rows)), *last = NULL;
	struct batch b = { .rows = rows, .cap = cap };
	size_t nlast = 0;
	enum spur_status st = SPUR_FAIL;
	int64_t ts = INT64_MIN;

	while (rows && (st = t->format->next(t, t->feeds[0], &b)) == SPUR_OK) {
		require(b.count && b.count <= cap && b.rows == rows);
		for (uint32_t i = 0; i < b.count; i++) {
			check_row(t, &rows[i], r);
			require(!by_time || rows[i].ts >= ts);
			ts = rows[i].ts;
			if (!by_time || rows[i].kind != SPUR_SPAN ||
			    rows[i].ts + (__int128)rows[i].dur > INT64_MAX)
				continue;
			if (!mem_grow((void **)&last, &nlast, (size_t)rows[i].track + 1,
				      sizeof(*last), SIZE_MAX))
				break;
			if (last[rows[i].track].cls)
				check_nesting(&rows[i], &last[rows[i].track]);
			last[rows[i].track] = rows[i];
		}
	}
	r->failed |= st != SPUR_END;
	mem_free(last);
	mem_free(rows);
}

static struct reading read_once(const uint8_t *data, size_t size, size_t piece, uint32_t cap,
				bool stored, uint64_t fail_at)
{
	struct reading r = { .size = size };
	struct spur_trace *t;
	bool opened;

	mem_fail_at(fail_at);
	t = fuzz_open("heph", data, size, piece, stored, &opened);
	r.failed = !opened;
	if (!r.failed) {
		read_rows(t, cap, !stored, &r);
		r.damage = fuzz_hash_damage(t, size);
	}
	require(!r.failed || fail_at);
	spur_close(t);
	spur_args_free(&r.args);
	mem_fail_at(0);
	return r;
}

/* What a damaged packed file gives depends on the pieces it is unpacked in. */
static bool is_packed(const uint8_t *p, size_t size)
{
	return size >= 4 &&
	       (memcmp(p, "\x1f\x8b", 2) == 0 || memcmp(p, "\x28\xb5\x2f\xfd", 4) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t how = size ? data[size - 1] : 0;
	const size_t piece = fuzz_pieces[how & 7];
	const uint32_t cap = how & 8 ? 256 : how & 16 ? 3 : 1;
	struct reading a, b, c, d;

	if (is_packed(data, size))
		return 0;
	a = read_once(data, size, 0, 512, false, 0);
	b = read_once(data, size, piece, cap, false, 0);
	c = read_once(data, size, 0, 512, true, 0);
	d = read_once(data, size, piece, cap, true, 0);
	require(a.rows == b.rows && a.order == b.order && a.damage == b.damage);
	require(c.rows == d.rows && c.order == d.order && c.damage == d.damage);
	require(a.events == c.events);
	if (how & 32) {
		read_once(data, size, piece, cap, how & 64, 1 + (how >> 1) * (uint64_t)3);
		read_once(data, size, piece, cap, !(how & 64), 1 + size % 97);
	}
	return 0;
}
