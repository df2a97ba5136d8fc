/*
 * Reads the fuzzer's bytes as a stream file beside metadata that is right: the first byte chooses
 * one of the goldens that ctf-metadata lists, and how to read; what follows a line `@@ index` is
 * the index file. Read merged, in other pieces with other threads, and as stored: the first two
 * must say the same, the third has the same events.
 *
 * Run from the top of the sources: the metadata is read from there.
 */
#include <spur.h>
#include <sys/stat.h>

#include "fuzz_dir.h"
#include "fuzz_row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { METADATA_MOST = 16, METADATA_SIZE = 1 << 16 };

static struct {
	uint8_t text[METADATA_SIZE];
	size_t len;
} metadata[METADATA_MOST];
static size_t nmetadata;
static void metadata_read(void)
{
	FILE *list = fopen("tests/fuzz/ctf-metadata", "r");
	char name[64], path[160];

	require(list);
	while (nmetadata < METADATA_MOST && fscanf(list, "%63s", name) == 1) {
		FILE *f;

		snprintf(path, sizeof(path), "tests/golden/ctf/%s/in/metadata", name);
		f = fopen(path, "rb");
		require(f);
		metadata[nmetadata].len = fread(metadata[nmetadata].text, 1, METADATA_SIZE, f);
		require(metadata[nmetadata].len);
		nmetadata++;
		fclose(f);
	}
	fclose(list);
	require(nmetadata);
}

/* What a reading gave. Sums, so that an order plays no part where it must not. */
struct reading {
	uint64_t rows, times, bodies;
	uint64_t damage;
	struct spur_args args;
};

static void check_row(struct spur_trace *t, const struct spur_event *row, struct reading *r)
{
	size_t len;
	const char *name = spur_string(t, row->name, &len);
	enum spur_status st;
	uint64_t h;

	current = *row;
	require(row->kind < SPUR_KINDS && row->cls && row->track < spur_track_count(t));
	st = spur_args(t, row, &r->args);
	require(st == SPUR_OK || st == SPUR_WARN);
	require(row->nargs == 255 || st == SPUR_WARN || row->nargs == r->args.count);
	sink += touch(r->args.items, r->args.count);
	h = fuzz_hash(0xCBF29CE484222325u, &row->off, sizeof(row->off));
	h = fuzz_hash(h, &row->len, sizeof(row->len));
	h = fuzz_hash(h, &row->kind, sizeof(row->kind));
	h = fuzz_hash(h, &r->args.count, sizeof(r->args.count));
	h = fuzz_hash(h, name, len);
	if (row->kind != SPUR_NATIVE) {
		r->bodies += h;
		r->rows++;
	}
	r->times += fuzz_hash(h, &row->ts, sizeof(row->ts));
}

static void read_damage(struct spur_trace *t, struct reading *r)
{
	struct spur_damage d;

	for (size_t i = 0; i < spur_damage_count(t); i++) {
		require(spur_damage(t, i, &d) && d.count && d.code && d.file && d.first);
		r->damage += fuzz_hash(d.count ^ d.bytes_lost << 20 ^ d.first_offset << 40, d.code,
					strlen(d.code));
		r->damage += fuzz_hash(0, d.first, strlen(d.first));
	}
}

static void read_dir(const char *dir, const struct spur_options *opt, struct reading *r,
		     size_t size)
{
	const struct spur_event *rows;
	struct spur_trace *t = NULL;
	struct spur_error err = { 0 };
	enum spur_status st;
	size_t n;

	current = (struct spur_event){ 0 };
	if (spur_open(&t, dir, opt, &err) == SPUR_FAIL) {
		require(err.code && err.message[0]);
		return;
	}
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK) {
		for (size_t i = 0; i < n; i++)
			check_row(t, &rows[i], r);
		/*
		 * An event takes a bit at least; a packet may have two rows of losses; packed ones
		 * hold more.
		 */
		require(r->rows <= 16 * size + 100000);
	}
	require(st == SPUR_END);
	read_damage(t, r);
	spur_close(t);
	spur_args_free(&r->args);
}

static void index_write(const char *dir, const uint8_t *data, size_t size)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/index", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/index/low_0.idx", dir);
	if (!data) {
		unlink(path);
		return;
	}
	f = fopen(path, "wb");
	require(f && fwrite(data, 1, size, f) == size);
	fclose(f);
}

static void index_remove(void)
{
	char path[160];

	if (!fuzz_dir[0])
		return;
	index_write(fuzz_dir, NULL, 0);
	snprintf(path, sizeof(path), "%s/index", fuzz_dir);
	rmdir(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char mark[] = "\n@@ index\n";
	static const size_t read_sizes[4] = { 0, 4096, 7, 64 };
	struct spur_options opt = SPUR_OPTIONS(.threads = 1);
	struct reading one = { 0 }, two = { 0 }, stored = { 0 };
	const uint8_t *index;
	const char *dir;
	uint8_t how;

	if (!size)
		return 0;
	if (!nmetadata) {
		metadata_read();
		fuzz_dir_make(data, 0);
		atexit(index_remove); /* before the directory goes */
	}
	how = *data++;
	size--;
	index = size ? memmem(data, size, mark, sizeof(mark) - 1) : NULL;
	dir = fuzz_dir_make(data, 0);
	if (index)
		index_write(dir, index + sizeof(mark) - 1,
			    size - (size_t)(index - data) - sizeof(mark) + 1);
	else
		index_write(dir, NULL, 0);
	size = index ? (size_t)(index - data) : size;
	fuzz_dir_write("metadata", 8, metadata[how % nmetadata].text,
		       metadata[how % nmetadata].len);
	fuzz_dir_write("low_0", 5, data, size);

	read_dir(dir, &opt, &one, size);
	opt.threads = 2;
	opt.read_size = read_sizes[how / nmetadata & 3];
	read_dir(dir, &opt, &two, size);
	require(one.rows == two.rows && one.times == two.times && one.bodies == two.bodies);
	require(one.damage == two.damage);
	opt.as_stored = true;
	read_dir(dir, &opt, &stored, size);
	require(one.rows == stored.rows && one.bodies == stored.bodies);
	return 0;
}
