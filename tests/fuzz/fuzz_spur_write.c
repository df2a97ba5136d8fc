/*
 * Reads the fuzzer's bytes as a file of one of Spur's recordings, and writes it again: as chunks
 * (format/copy.h) and as rows (format/writer.h). A copy has no damage and the events that could be
 * read; a copy of it has the same bytes. A copy of some events has just these. A repaired copy has
 * events whose arguments are damaged without them. Sometimes memory runs out.
 */
#include <unistd.h>

#include "flow/args.h"
#include "flow/convert.h"
#include "fuzz_copy.h"
#include "model/args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * What a reading gave, without calls: those depend on others. `repaired`: the sum if events whose
 * arguments are damaged had none.
 */
struct reading {
	uint64_t events, sum, repaired;
};

static struct spur_trace *open_bytes(const void *data, size_t size)
{
	static const struct spur_options opt = SPUR_OPTIONS();
	const struct source_options so = { .read_size = 0 };
	struct spur_error err = { 0 };
	struct spur_trace *t = trace_new("fuzz", &opt);

	if (t && source_memory(&t->source, "fuzz", data, size, &so, &err) != SPUR_FAIL) {
		t->format = format_find("spur");
		if (t->format->open(t, t->source, &err) != SPUR_FAIL)
			return t;
	}
	spur_close(t);
	return NULL;
}

static uint64_t hash_text(uint64_t h, struct spur_trace *t, uint32_t string)
{
	size_t len;
	const char *text = spur_string(t, string, &len);

	return fuzz_hash(h, text, len);
}

static void add_row(struct reading *r, struct spur_trace *t, const struct spur_event *row,
		    struct spur_args *args)
{
	const struct spur_track *k = spur_track(t, row->track);
	const int64_t values[] = { row->ts, row->dur, (int64_t)row->id, row->kind,
				   k->tid,  k->kind,  row->cpu };
	uint64_t h = fuzz_hash(0xCBF29CE484222325u, values, sizeof(values));

	current = *row;
	h = hash_text(hash_text(h, t, row->name), t, row->cat);
	require(trace_args(t, row, args) != SPUR_FAIL);
	r->sum += fuzz_hash_values(h, args->items, args->count);
	r->repaired += args->count < row->nargs ? h : fuzz_hash_values(h, args->items, args->count);
	r->events++;
}

/* Rows that a copy keeps as they are: no calls, and nothing of an unknown kind. */
static bool is_counted(struct spur_trace *t, const struct spur_event *row)
{
	return row->kind >= SPUR_SPAN &&
	       strcmp(spur_string(t, row->name, NULL), "unknown record") != 0;
}

/* Reads all rows; with `kept`, adds every `every`-th one that is counted to it. */
static struct reading read_all(struct spur_trace *t, struct kept *kept, uint64_t every)
{
	struct spur_event rows[64];
	struct batch b = { .rows = rows, .cap = 64 };
	struct reading r = { 0 };
	struct spur_args args = { 0 };
	uint64_t n = 0;

	for (size_t f = 0; f < t->nfeeds; f++)
		while (t->format->next(t, t->feeds[f], &b) == SPUR_OK)
			for (uint32_t i = 0; i < b.count; i++) {
				if (!is_counted(t, &rows[i]) || (kept && n++ % every))
					continue;
				require(!kept || kept_add(kept, 0, rows[i].off));
				add_row(&r, t, &rows[i], &args);
			}
	spur_args_free(&args);
	return r;
}

static void check_copy(const struct out *copy, const struct reading *want, bool repaired)
{
	struct spur_trace *t = open_bytes(copy->buf, copy->len);
	struct reading r;
	struct out o;

	require(t);
	r = read_all(t, NULL, 1);
	check_clean(t);
	require(r.events == want->events);
	require(r.sum == (repaired ? want->repaired : want->sum));
	require(write_copy(t, NULL, false, false, &o));
	require(o.len == copy->len && !memcmp(o.buf, copy->buf, o.len));
	out_free(&o);
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
	require(t);
	some = read_all(t, kept, 1 + how % 4);
	require(write_copy(t, NULL, false, false, &o));
	check_copy(&o, &all, false);
	out_free(&o);
	require(write_copy(t, NULL, how & 4, true, &o));
	check_copy(&o, &all, true);
	out_free(&o);
	require(write_copy(t, kept, how & 8, false, &o));
	check_copy(&o, &some, false);
	out_free(&o);
	if (how & 16) {
		mem_fail_at(1 + size % 61);
		write_copy(t, kept, how & 8, how & 4, &o);
		mem_fail_at(0);
		out_free(&o);
	}
	spur_close(t);
	kept_free(kept);
}

static char top[64];

static void top_remove(void)
{
	rmdir(top);
}

/* Writes the rows as a recording, and reads that. */
static void rows(const uint8_t *data, size_t size)
{
	struct convert c = { .pipe = { .threads = 1 }, .zero = ZERO_EXACT };
	struct spur_trace *t = open_bytes(data, size), *u = NULL;
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .format = "spur");
	const struct spur_event *list;
	struct spur_args args = { 0 };
	struct reading want, got = { 0 };
	struct spur_error err;
	struct outdir dir;
	struct out o;
	size_t n;

	require(t);
	want = read_all(t, NULL, 1);
	spur_close(t);
	t = open_bytes(data, size);
	require(t);
	out_to_memory(&o);
	require(outdir_open(&dir, top, true, &err) != SPUR_FAIL);
	c.dir = &dir;
	require(convert_run(&c, t, writer_find("spur"), &o) != SPUR_FAIL);
	require(outdir_close(&dir, true, &err) != SPUR_FAIL);
	require(spur_open(&u, top, &opt, &err) != SPUR_FAIL);
	while (spur_next(u, &list, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			if (is_counted(u, &list[i]))
				add_row(&got, u, &list[i], &args);
	check_clean(u);
	require(got.events == want.events && got.sum == want.sum);
	spur_args_free(&args);
	out_free(&o);
	spur_close(u);
	spur_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct probe probe = { .path = "fuzz", .head = data, .len = size };
	const uint8_t how = size ? data[size - 1] : 0;

	if (!format_find("spur")->probe(&probe))
		return 0;
	if (!top[0]) {
		snprintf(top, sizeof(top), "%s/spur-fuzz-XXXXXX",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		require(mkdtemp(top));
		atexit(top_remove);
	}
	copies(data, size, how);
	if (how & 32)
		rows(data, size);
	return 0;
}
