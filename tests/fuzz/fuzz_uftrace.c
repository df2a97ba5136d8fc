/*
 * Reads a uftrace directory made of the fuzzer's bytes twice: merged, then feed by feed and in
 * another read size. Both must give the same rows, and every row must keep what the headers
 * promise. Then sums its calls, by the reader and by rows, which must give the same sums.
 */
#include <spur.h>

#include "flow/pipe.h"
#include "format/format.h"
#include "fuzz_dir.h"
#include "fuzz_row.h"
#include "pass/fold/calls.h"

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
	const struct spur_stream *s = spur_stream(t, row->stream);
	const uint8_t *raw = format_place(t, row).raw;
	const char *name = spur_string(t, row->name, NULL);
	uint64_t h;

	current = *row;
	require(s && row->track < spur_track_count(t) && row->kind < SPUR_KINDS);
	require(row->cls && row->cls < trace_class_count(t));
	require(raw && (row->len || row->kind == SPUR_LOST));
	for (size_t i = 0; i < row->len; i++)
		sink += raw[i];
	if (spur_args(t, row, &r->args) != SPUR_FAIL)
		sink += touch(r->args.items, r->args.count);
	require(row->nargs == 255 || r->args.count <= row->nargs);
	if (t->format->fields(t, row, &r->args) != SPUR_FAIL)
		sink += touch(r->args.items, r->args.count);
	/* String and class ids, tracks and flags of merging are no part of it. */
	h = fuzz_hash(0xCBF29CE484222325u, &row->ts, 4 * sizeof(uint64_t));
	h = fuzz_hash(h, &row->len, sizeof(row->len));
	h = fuzz_hash(h, &row->kind, 8);
	h = fuzz_hash(h, name, strlen(name));
	r->hash += fuzz_hash(h, s->path, strlen(s->path));
	r->rows++;
	require(r->rows <= r->bytes + 64);
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
			uint32_t *owner = &r->feed_of[rows[i].track];

			check_row(t, &rows[i], r);
			require(*owner == 0 || *owner == f->id + 1);
			*owner = f->id + 1;
			require(rows[i].ts >= last || (rows[i].flags & SPUR_F_BACK));
			last = rows[i].ts;
		}
	}
	require(st == SPUR_END);
	mem_free(rows);
}

static void read_feeds(struct spur_trace *t, uint32_t cap, struct reading *r)
{
	r->feed_of = mem_array(t->ntracks, sizeof(*r->feed_of));
	for (size_t i = 0; i < t->nfeeds; i++)
		read_feed(t, t->feeds[i], cap, r);
	mem_free(r->feed_of);
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

/* The sums of all calls, and the messages. Single durations keep the reader from summing. */
static void read_sums(const char *dir, const struct spur_options *opt, unsigned want,
		      struct reading *r)
{
	struct spur_error err = { 0 };
	struct pass_env env = { .pipe = { .threads = 1 }, .err = &err };
	struct calls *w;
	unsigned n;

	require(spur_open(&env.trace, dir, opt, &err) != SPUR_FAIL);
	require(calls_run(&env, CALLS_BY_FUNCTION, want, &w, &n) == SPUR_OK && n == 1);
	require(calls_join(w, n));
	r->rows = w->rows;
	for (size_t i = 0; i < w->nstats; i++) {
		const struct call_stat *s = &w->stats[i];

		if (s->calls || s->unfinished || s->sum)
			r->hash += fuzz_hash(fuzz_hash(i, s, offsetof(struct call_stat, open)),
					     &s->unfinished, sizeof(s->unfinished));
	}
	for (size_t i = 0; i < w->nopens; i++)
		r->hash += fuzz_hash(i + 1, &w->opens[i], offsetof(struct call_open, spread));
	read_damage(env.trace, r);
	calls_free(w, n);
	spur_close(env.trace);
}

static void compare_sums(const char *dir, const struct spur_options *opt)
{
	struct reading summed = { 0 }, by_rows = { 0 };

	read_sums(dir, opt, 0, &summed);
	read_sums(dir, opt, CALLS_SPREAD, &by_rows);
	require(summed.rows == by_rows.rows);
	require(summed.hash == by_rows.hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The last byte chooses how to read, so that all ways are met; the slow ones less often. */
	static const size_t read_sizes[8] = { 0, 0, 4096, 0, 64, 7, 0, 1 };
	const uint8_t how = size ? data[size - 1] : 0;
	struct spur_options opt = SPUR_OPTIONS(.format = "uftrace",
				    .threads = how & 1 ? 2 : 1,
				    .symbol_dirs = "/nonexistent");
	struct reading merged = { .bytes = size }, feeds = { .bytes = size };
	const char *dir = fuzz_dir_make(data, size);
	struct spur_error err;
	struct spur_trace *t;

	opt.read_size = read_sizes[how >> 1 & 7];
	if (spur_open(&t, dir, &opt, &err) == SPUR_FAIL) {
		require(err.code && err.message[0]);
		return 0;
	}
	read_merged(t, &merged);
	read_damage(t, &merged);
	spur_close(t);

	opt.read_size = read_sizes[how >> 4 & 7];
	require(spur_open(&t, dir, &opt, &err) != SPUR_FAIL);
	read_feeds(t, how & 128 ? 256 : how & 64 ? 3 : 1, &feeds);
	read_damage(t, &feeds);
	spur_close(t);
	require(merged.rows == feeds.rows);
	require(merged.hash == feeds.hash);
	compare_sums(dir, &opt);
	spur_args_free(&merged.args);
	spur_args_free(&feeds.args);
	return 0;
}
