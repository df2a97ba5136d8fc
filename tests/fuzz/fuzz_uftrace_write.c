/*
 * Copies a uftrace directory made of the fuzzer's bytes, whole, cut or repaired, and reads the copy
 * back: a whole copy has the same rows, and no record of the copy is damaged. Joined with its copy,
 * it has the rows of both. Then writes it as a trace of another format would be written, and reads
 * that back, too.
 */
#include <spur.h>

#include "base/err.h"
#include "flow/convert.h"
#include "flow/cut.h"
#include "format/format.h"
#include "fuzz_dir.h"
#include "fuzz_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sums over rows: the order of feeds plays no part. */
struct sums {
	uint64_t rows, calls, hash;
};

static bool read_sums(const char *path, struct sums *s, struct spur_damage *damage)
{
	struct spur_options opt =
		SPUR_OPTIONS(.format = "uftrace", .threads = 1, .symbol_dirs = "/nonexistent");
	const struct spur_event *rows;
	struct spur_trace *t;
	size_t n;

	*s = (struct sums){ 0 };
	*damage = (struct spur_damage){ 0 };
	if (spur_open(&t, path, &opt, NULL) == SPUR_FAIL)
		return false;
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			const char *name = spur_string(t, rows[i].name, NULL);
			/* A LOST row has its neighbour's time. */
			const int64_t ts = rows[i].flags & SPUR_F_RETIMED ? 0 : rows[i].ts;
			uint64_t h = fuzz_hash(0xCBF29CE484222325u, &ts, 8);

			h = fuzz_hash(h, &rows[i].id, 8);
			h = fuzz_hash(h, &rows[i].kind, 1);
			s->hash += fuzz_hash(h, name, strlen(name));
			s->rows++;
			s->calls += rows[i].kind <= SPUR_END_SPAN;
		}
	/* Text files of the kernel are copied as they are. */
	for (size_t i = 0; i < spur_damage_count(t); i++) {
		struct spur_damage d;

		if (spur_damage(t, i, &d) && d.is_damage && !strstr(d.code, "kernel-header") &&
		    !strstr(d.code, "event-format")) {
			*damage = d;
			fprintf(stderr, "%s %s %s\n", d.code, d.file, d.first);
		}
	}
	spur_close(t);
	return true;
}

static struct spur_trace *open_dir(const char *dir)
{
	struct spur_options opt =
		SPUR_OPTIONS(.format = "uftrace", .threads = 1, .symbol_dirs = "/nonexistent");
	struct spur_trace *t;

	return spur_open(&t, dir, &opt, NULL) == SPUR_FAIL ? NULL : t;
}

/* Copies, or (`as_other`) converts with times from the first row, which makes all files anew. */
static bool write_dir(const char *dir, const char *to, bool repair, bool as_other)
{
	struct spur_trace *t = open_dir(dir);
	struct outdir out;
	struct out o;
	enum spur_status st;

	if (!t)
		return false;
	out_to_memory(&o);
	require(outdir_open(&out, to, true, NULL) != SPUR_FAIL);
	if (as_other) {
		struct convert c = { .pipe = { .threads = 1 }, .zero = ZERO_START, .dir = &out };

		st = convert_run(&c, t, writer_find("uftrace"), &o);
	} else {
		struct cut c = {
			.pipe = { .threads = 1 }, .dir = &out, .repair = repair, .notes = &o
		};

		st = cut_run(&c, t);
	}
	out_free(&o);
	require(outdir_close(&out, st != SPUR_FAIL, NULL) != SPUR_FAIL || st == SPUR_FAIL);
	spur_close(t);
	return st != SPUR_FAIL;
}

/* Returns true if both traces could be joined by moving their records. */
static bool join_dirs(const char *a, const char *b, const char *to)
{
	const char *const paths[] = { a, b };
	struct spur_options opt = SPUR_OPTIONS(.format = "uftrace", .threads = 1,
					       .symbol_dirs = "/nonexistent", .same_clock = true);
	struct cut c = { .pipe = { .threads = 1 } };
	struct outdir out;
	struct spur_trace *t;
	enum spur_status st;

	if (spur_open_several(&t, paths, 2, &opt, NULL) == SPUR_FAIL)
		return false;
	if (!cut_joins(&c, t)) {
		spur_close(t);
		return false;
	}
	require(outdir_open(&out, to, true, NULL) != SPUR_FAIL);
	c.dir = &out;
	st = cut_run(&c, t);
	require(outdir_close(&out, st != SPUR_FAIL, NULL) != SPUR_FAIL || st == SPUR_FAIL);
	spur_close(t);
	require(st != SPUR_FAIL);
	return true;
}

static void remove_copy(const char *path)
{
	char keep[sizeof(fuzz_dir)];

	memcpy(keep, fuzz_dir, sizeof(keep));
	snprintf(fuzz_dir, sizeof(fuzz_dir), "%.60s", path);
	fuzz_dir_remove();
	memcpy(fuzz_dir, keep, sizeof(keep));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t how = size ? data[size - 1] : 0;
	const char *dir = fuzz_dir_make(data, size);
	struct sums before, after;
	struct spur_damage damage;
	char to[80], joined[80];

	snprintf(to, sizeof(to), "%.50s-o", dir);
	snprintf(joined, sizeof(joined), "%.50s-j", dir);
	if (!read_sums(dir, &before, &damage))
		return 0;
	if (write_dir(dir, to, how & 1, false)) {
		require(read_sums(to, &after, &damage));
		require(!damage.code);
		require(after.rows == before.rows);
		require((how & 1) || after.hash == before.hash);
		if (!(how & 1) && join_dirs(dir, to, joined)) {
			require(read_sums(joined, &after, &damage));
			require(!damage.code);
			require(after.rows == 2 * before.rows);
			remove_copy(joined);
		}
		remove_copy(to);
	}
	if (write_dir(dir, to, false, true)) {
		require(read_sums(to, &after, &damage));
		require(!damage.code);
		remove_copy(to);
	}
	return 0;
}
