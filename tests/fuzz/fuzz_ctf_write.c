/*
 * Reads a trace directory made of the fuzzer's bytes, copies it and converts it to CTF. A copy has
 * no damage, and the same rows if nothing was wrong with the trace. What was converted has no
 * damage either, and converted again it has the same rows. The last byte chooses how.
 */
#include <spur.h>

#include "flow/convert.h"
#include "flow/cut.h"
#include "format/format.h"
#include "fuzz_dir.h"
#include "fuzz_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sums over rows: an order of streams plays no part. */
struct reading {
	uint64_t rows, losses, sum, damage, metadata, rests;
};

static uint64_t hash_values(uint64_t h, const struct spur_value *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		h = fuzz_hash(h, &v[i].type, 1);
		if (v[i].type == SPUR_STRUCT || v[i].type == SPUR_ARRAY)
			h = hash_values(h, v[i].items, v[i].count);
		else if (v[i].type == SPUR_STRING || v[i].type == SPUR_BYTES)
			h = fuzz_hash(h, v[i].text, v[i].count);
		else
			h = fuzz_hash(h, &v[i].u, sizeof(v[i].u));
	}
	return h;
}

static void read_row(struct spur_trace *t, const struct spur_event *row, struct spur_args *args,
		     struct reading *r)
{
	size_t len;
	const char *name = spur_string(t, row->name, &len);
	uint64_t h;

	current = *row;
	r->rows += row->kind != SPUR_LOST;
	r->losses += row->kind == SPUR_LOST;
	if (row->kind == SPUR_LOST)
		return;
	require(spur_args(t, row, args) != SPUR_FAIL);
	h = fuzz_hash(0xCBF29CE484222325u, name, len);
	h = fuzz_hash(h, &row->ts, sizeof(row->ts));
	h = fuzz_hash(h, &row->kind, sizeof(row->kind));
	r->sum += hash_values(h, args->items, args->count);
}

static struct spur_trace *open_dir(const char *dir, bool salvage)
{
	const struct spur_options opt =
		SPUR_OPTIONS(.format = "ctf", .threads = 1, .symbol_dirs = "/nonexistent",
			     .salvage = salvage);
	struct spur_trace *t;

	return spur_open(&t, dir, &opt, NULL) == SPUR_FAIL ? NULL : t;
}

/*
 * A packet whose size is not stored ends with a whole byte, so what follows the last event in that
 * byte cannot be left out.
 */
static bool is_rest(const struct spur_damage *d)
{
	return strcmp(d->code, "ctf/bad-event") == 0 && d->bytes_lost <= d->count;
}

static bool read_dir(const char *dir, struct reading *r)
{
	struct spur_trace *t = open_dir(dir, false);
	struct spur_args args = { 0 };
	const struct spur_event *rows;
	struct spur_damage d;
	enum spur_status st;
	size_t n;

	*r = (struct reading){ 0 };
	if (!t)
		return false;
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			read_row(t, &rows[i], &args, r);
	require(st == SPUR_END);
	for (size_t i = 0; i < spur_damage_count(t); i++)
		if (spur_damage(t, i, &d) && d.is_damage && strstr(d.file, "metadata"))
			r->metadata++;
		else if (spur_damage(t, i, &d) && d.is_damage && is_rest(&d))
			r->rests++;
		/* Encrypted packets are copied as they are. */
		else if (spur_damage(t, i, &d) && d.is_damage &&
			 strcmp(d.code, "ctf/unpack") != 0) {
			fprintf(stderr, "%s %s %s\n", d.code, d.file, d.first);
			r->damage++;
		}
	spur_args_free(&args);
	spur_close(t);
	return true;
}

/* Copies, or, with settings, converts. Returns false if nothing was written. */
static bool write_dir(const char *dir, const char *to, bool repair, const char *settings)
{
	struct spur_trace *t = open_dir(dir, repair);
	enum spur_status st;
	struct outdir out;
	struct out o;

	if (!t)
		return false;
	out_to_memory(&o);
	require(outdir_open(&out, to, true, NULL) != SPUR_FAIL);
	if (settings) {
		struct convert c = { .pipe = { .threads = 1 }, .settings = settings, .dir = &out };

		st = convert_run(&c, t, writer_find("ctf"), &o);
	} else {
		struct cut c = {
			.pipe = { .threads = 1 }, .dir = &out, .repair = repair, .notes = &o
		};

		st = cut_run(&c, t);
	}
	out_free(&o);
	spur_close(t);
	require(outdir_close(&out, st != SPUR_FAIL, NULL) != SPUR_FAIL || st == SPUR_FAIL);
	return st != SPUR_FAIL;
}

static void folder_remove(const char *path)
{
	char keep[sizeof(fuzz_dir)];

	memcpy(keep, fuzz_dir, sizeof(keep));
	snprintf(fuzz_dir, sizeof(fuzz_dir), "%.60s", path);
	fuzz_dir_remove();
	memcpy(fuzz_dir, keep, sizeof(keep));
}

static void output_remove(const char *path)
{
	char index[96];

	snprintf(index, sizeof(index), "%.60s/index", path);
	folder_remove(index);
	folder_remove(path);
}

static void check_copy(const char *dir, bool repair)
{
	struct reading before, after;
	char to[80];

	snprintf(to, sizeof(to), "%.50s-c", dir);
	if (!read_dir(dir, &before))
		before.metadata = 1;
	if (!write_dir(dir, to, repair, NULL))
		return;
	if (repair && before.metadata) {
		/* Of metadata that is damaged, only what can be read is copied. */
		require(read_dir(to, &after) && !after.damage && !after.metadata);
	} else if (read_dir(to, &after)) {
		require(!after.damage);
		require(after.rows == before.rows);
		/* A packet that is made anew may tell another time where its clock went back. */
		require(before.damage || before.rests || after.sum == before.sum);
	} else {
		require(!before.rows);
	}
	output_remove(to);
}

static void check_conversion(const char *dir, const char *settings)
{
	struct reading first, second;
	char one[80], two[80];

	snprintf(one, sizeof(one), "%.50s-1", dir);
	snprintf(two, sizeof(two), "%.50s-2", dir);
	if (!write_dir(dir, one, false, settings))
		return;
	if (read_dir(one, &first)) {
		require(!first.damage);
		require(write_dir(one, two, false, settings));
		require(read_dir(two, &second) && !second.damage);
		require(first.rows == second.rows && first.sum == second.sum);
		require(first.losses == second.losses);
		output_remove(two);
	}
	output_remove(one);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const settings[] = { "version=1.8",
						"version=2",
						"version=1.8,byte-order=big",
						"version=2,byte-order=big",
						"version=1.1",
						"version=1.1,compression=gzip",
						"version=1.1,compression=bzip2",
						"version=1.1,byte-order=big,checksum=md5" };
	const uint8_t how = size ? data[size - 1] : 0;
	const char *dir = fuzz_dir_make(data, size);
	struct reading r;

	check_copy(dir, how & 1);
	if (!read_dir(dir, &r))
		return 0;
	check_conversion(dir, settings[how >> 1 & 7]);
	return 0;
}
