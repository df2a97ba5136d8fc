/*
 * Reads an XRay log made of the fuzzer's bytes four times: merged, feed by feed, and as stored in
 * two read sizes. The first two and the last two must give the same rows, and every row must keep
 * what the headers promise.
 */
#include <spur.h>

#include "flow/pipe.h"
#include "format/format.h"
#include "fuzz_dir.h"
#include "fuzz_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a reading gave: sums, so that the order of feeds plays no part. */
struct reading {
	uint64_t rows, hash;
	struct spur_args args;
	uint32_t *feed_of; /* by track: 1 + the feed that had rows on it; NULL: not known */
	uint64_t bytes; /* of the input: there are not more rows */
};

static void check_row(struct spur_trace *t, const struct spur_event *row, struct reading *r)
{
	const uint8_t *raw = format_place(t, row).raw;
	const char *name = spur_string(t, row->name, NULL);
	uint64_t h;

	current = *row;
	require(row->stream == 0 && row->track < spur_track_count(t) && row->kind < SPUR_KINDS);
	require(row->cls && row->cls < trace_class_count(t));
	require(raw && row->len);
	for (size_t i = 0; i < row->len; i++)
		sink += raw[i];
	require(spur_args(t, row, &r->args) != SPUR_FAIL);
	sink += touch(r->args.items, r->args.count);
	require((r->args.count < 255 ? r->args.count : 255) == row->nargs);
	spur_args_free(&r->args);
	r->args = (struct spur_args){ 0 };
	require(t->format->fields(t, row, &r->args) != SPUR_FAIL);
	sink += touch(r->args.items, r->args.count);
	h = fuzz_hash(0xCBF29CE484222325u, &row->ts, 4 * sizeof(uint64_t));
	h = fuzz_hash(h, &row->len, sizeof(row->len));
	h = fuzz_hash(h, &row->kind, 8);
	r->hash += fuzz_hash(h, name, strlen(name));
	r->rows++;
	require(r->rows <= r->bytes / 8 + 8);
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

static void read_feed(struct spur_trace *t, struct feed *f, uint32_t cap, struct reading *r)
{
	struct spur_event *rows = mem_array(cap, sizeof(*rows));
	struct batch b = { .rows = rows, .cap = cap };
	enum spur_status st;
	int64_t last = INT64_MIN;

	while ((st = t->format->next(t, f, &b)) == SPUR_OK) {
		require(b.count && b.count <= cap && b.rows == rows);
		for (uint32_t i = 0; i < b.count; i++) {
			check_row(t, &rows[i], r);
			if (!r->feed_of)
				continue;
			require(!r->feed_of[rows[i].track] ||
				r->feed_of[rows[i].track] == f->id + 1);
			r->feed_of[rows[i].track] = f->id + 1;
			require(rows[i].ts >= last);
			last = rows[i].ts;
		}
	}
	require(st == SPUR_END);
	mem_free(rows);
}

/* The messages, which must not depend on how the data was read either. */
static void read_damage(struct spur_trace *t, struct reading *r)
{
	struct spur_damage d;

	for (size_t i = 0; i < spur_damage_count(t); i++) {
		require(spur_damage(t, i, &d) && d.count && d.code && d.file && d.first);
		r->hash += fuzz_hash(d.count ^ d.bytes_lost << 20 ^ d.first_offset << 40, d.code,
				      strlen(d.code));
		r->hash +=
			fuzz_hash(fuzz_hash(0, d.file, strlen(d.file)), d.first, strlen(d.first));
	}
}

enum way { MERGED, FEEDS, STORED };

/* False: it cannot be opened. */
static bool read_log(const char *path, enum way way, size_t read_size, uint32_t cap,
		     struct reading *r)
{
	const struct spur_options opt = SPUR_OPTIONS(.format = "xray",
					  .threads = 1,
					  .symbol_dirs = "/nonexistent",
					  .read_size = read_size,
					  .as_stored = way == STORED);
	struct spur_error err;
	struct spur_trace *t;

	if (spur_open(&t, path, &opt, &err) == SPUR_FAIL) {
		require(err.code && err.message[0]);
		return false;
	}
	if (way == MERGED) {
		read_merged(t, r);
	} else {
		r->feed_of = way == FEEDS ? mem_array(t->ntracks, sizeof(*r->feed_of)) : NULL;
		for (size_t i = 0; i < t->nfeeds; i++)
			read_feed(t, t->feeds[i], cap, r);
		mem_free(r->feed_of);
	}
	read_damage(t, r);
	spur_close(t);
	spur_args_free(&r->args);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The last byte chooses how to read, so that all ways are met; the slow ones less often. */
	static const size_t read_sizes[8] = { 0, 0, 4096, 0, 64, 7, 0, 1 };
	const uint8_t how = size ? data[size - 1] : 0;
	const uint32_t cap = how & 128 ? 256 : how & 64 ? 3 : 1;
	struct reading merged = { .bytes = size }, feeds = merged, stored = merged, pieces = merged;
	char path[128];

	snprintf(path, sizeof(path), "%s/log", fuzz_dir_make((const uint8_t *)"", 0));
	fuzz_dir_write("log", 3, data, size);
	if (!read_log(path, MERGED, 0, 0, &merged))
		return 0;
	require(read_log(path, FEEDS, read_sizes[how >> 1 & 7], cap, &feeds));
	require(merged.rows == feeds.rows && merged.hash == feeds.hash);
	require(read_log(path, STORED, 0, cap, &stored));
	require(read_log(path, STORED, read_sizes[how >> 3 & 7], 512, &pieces));
	require(stored.rows == pieces.rows && stored.hash == pieces.hash);
	return 0;
}
