/*
 * Recorded and made XRay logs, whole, cut anywhere, with memory out anywhere: those of
 * tests/golden/xray, and where they are here those below SPUR_TRACES.
 */
#include <dirent.h>

#include "unit/xray_file.h"

#include "base/mem.h"
#include "base/text.h"

enum { MAX_PREFIX = 3000 }; /* longer files are cut in steps */

static char *load(const char *name, size_t *size)
{
	FILE *f = fopen(name, "rb");
	char *data;
	long len;

	*size = 0;
	if (!f)
		return NULL;
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	len = ftell(f);
	assert_true(len >= 0);
	rewind(f);
	data = malloc((size_t)len + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)len, f), (size_t)len);
	data[len] = '\0';
	*size = (size_t)len;
	assert_int_equal(fclose(f), 0);
	return data;
}

static int find_traces(char *out, size_t size, const char *below)
{
	const char *traces = getenv("SPUR_TRACES");

	snprintf(out, size, "%s/%s", traces ? traces : "../shared/traces", below);
	return access(out, R_OK);
}

/* Calls `fn` for each file of a directory whose name ends so. Returns how many. */
static int each_file(const char *folder, const char *ending,
		     void (*each)(const char *name, const char *base))
{
	DIR *d = opendir(folder);
	const struct dirent *e;
	int count = 0;

	while (d && (e = readdir(d))) {
		const size_t len = strlen(e->d_name), tail = strlen(ending);
		char name[4400];

		if (len <= tail || strcmp(e->d_name + len - tail, ending) != 0)
			continue;
		snprintf(name, sizeof(name), "%s/%s", folder, e->d_name);
		each(name, e->d_name);
		count++;
	}
	if (d)
		closedir(d);
	return count;
}

/* --- what a script says that it wrote --- */

/* TID PID CPU TSC KIND ID [PAYLOAD], as oracles/synth.py has it. */
static void expect_line(struct spur_trace *t, const struct spur_event *row, struct spur_args *args)
{
	const struct spur_track *k = spur_track(t, row->track);
	const char *kind = row->kind == SPUR_END_SPAN
				   ? row->flags & SPUR_F_TAIL ? "tail-exit" : "exit"
			   : row->nargs ? "enter-arg"
					: "enter";
	char typed[32];

	assert_int_not_equal(spur_args(t, row, args), SPUR_FAIL);
	if (row->kind == SPUR_INSTANT) {
		snprintf(typed, sizeof(typed), "typed:%u",
			 args->count > 1 ? (unsigned)args->items[0].u : 0);
		kind = args->count > 1 ? typed : "custom";
	}
	out_printf(&seen, "%d %d %u %lld %s %llu", (int)k->tid, k->pid < 0 ? 0 : (int)k->pid,
		   row->cpu, (long long)row->ts, kind, (unsigned long long)row->id);
	if (row->kind == SPUR_INSTANT)
		out_printf(&seen, " %.*s", (int)args->items[args->count - 1].count,
			   args->items[args->count - 1].text);
	else
		for (size_t i = 0; i < args->count; i++)
			out_printf(&seen, "%s%llu", i ? "," : " ",
				   (unsigned long long)args->items[i].u);
	out_char(&seen, '\n');
}

static int line_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The lines in another order: those of equal time stand in any. */
static char *sorted(char *text)
{
	char *lines[256], *out = malloc(strlen(text) + 1), *at = out;
	size_t n = 0;

	assert_non_null(out);
	for (char *line = strtok(text, "\n"); line && n < 256; line = strtok(NULL, "\n"))
		lines[n++] = line;
	qsort(lines, n, sizeof(*lines), line_order);
	for (size_t i = 0; i < n; i++)
		at += sprintf(at, "%s\n", lines[i]);
	return out;
}

static void check_synth(const char *name, const char *base)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1,
					  .symbol_dirs = "/nonexistent",
					  .raw_time = true);
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	char expect[4400], *want, *a, *b;
	struct spur_error err;
	struct spur_trace *t;
	size_t size, n;

	snprintf(expect, sizeof(expect), "%.*s.expect", (int)(strlen(name) - 5), name);
	want = load(expect, &size);
	assert_non_null(want);
	assert_int_equal(spur_open(&t, name, &opt, &err), SPUR_OK);
	out_clear(&seen);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			expect_line(t, &rows[i], &args);
	for (size_t i = 0; i < spur_damage_count(t); i++) {
		struct spur_damage d;

		assert_true(spur_damage(t, i, &d));
		/* Writers other than LLVM's leave nothing out, but nothing in the file tells. */
		if (strcmp(d.code, "xray/typed-extents") != 0)
			assert_string_equal(d.code, "xray/no-map");
	}
	out_char(&seen, '\0');
	a = sorted(seen.buf);
	b = sorted(want);
	if (strcmp(a, b) != 0)
		print_message("%s\n", base);
	assert_string_equal(a, b);
	free(a);
	free(b);
	free(want);
	spur_args_free(&args);
	spur_close(t);
}

static void test_synth(void **state)
{
	char folder[4096];

	(void)state;
	if (find_traces(folder, sizeof(folder), "xray/synth")) {
		print_message("no traces: set SPUR_TRACES\n");
		skip();
	}
	assert_true(each_file(folder, ".xray", check_synth) >= 12);
}

/* --- nothing fails --- */

static void check_readable(const char *name, const char *base)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1, .symbol_dirs = "/nonexistent");
	const struct spur_event *rows;
	size_t n, count = 0, size;
	struct spur_error err;
	struct spur_trace *t;
	char *data = load(name, &size);

	free(data);
	if (!size) /* llvm-xray wrote nothing */
		return;
	assert_int_equal(spur_open(&t, name, &opt, &err), SPUR_OK);
	while (spur_next(t, &rows, &n) == SPUR_OK)
		count += n;
	if (!count)
		print_message("%s: no rows\n", base);
	assert_true(count > 1);
	for (size_t i = 0; i < spur_damage_count(t); i++) {
		struct spur_damage d;

		assert_true(spur_damage(t, i, &d));
		assert_false(d.is_damage);
	}
	spur_close(t);
}

static void test_recorded(void **state)
{
	static const char *const ending[] = { ".xray", ".xrayprof" };
	char folder[4096], one[4400];
	const struct dirent *e;
	int count = 0;
	DIR *d;

	(void)state;
	if (find_traces(folder, sizeof(folder), "xray")) {
		print_message("no traces: set SPUR_TRACES\n");
		skip();
	}
	d = opendir(folder);
	assert_non_null(d);
	while ((e = readdir(d))) {
		snprintf(one, sizeof(one), "%s/%s", folder, e->d_name);
		for (int i = 0; e->d_name[0] != '.' && i < 2; i++)
			count += each_file(one, ending[i], check_readable);
	}
	closedir(d);
	assert_true(count > 40);
}

/* The inputs of llvm-xray's own tests. */
static void test_peers(void **state)
{
	char folder[4096];

	(void)state;
	if (find_traces(folder, sizeof(folder), "peer/xray-llvm/Inputs")) {
		print_message("no traces: set SPUR_TRACES\n");
		skip();
	}
	assert_true(each_file(folder, ".xray", check_readable) >= 8);
}

/* --- cut anywhere --- */

static const char *const goldens[] = {
	"synth-fdr-v1-le",   "synth-fdr-v1-be",	     "synth-fdr-v2-le", "synth-fdr-v3-be",
	"synth-fdr-v4-le",   "synth-fdr-v5-le",	     "synth-fdr-v5-be", "synth-basic-v1-le",
	"synth-basic-v3-be", "old-release-50-plain", "fdr-args",	"fdr-typed",
	"fdr-threads",	     "basic-args",	     "profile",		"raw-log",
};

static char *load_golden(const char *name, size_t *size)
{
	char full[256];

	snprintf(full, sizeof(full), "tests/golden/xray/%s/in", name);
	return load(full, size);
}

/* Only the events: whose a cut buffer is may be unknown. Ends where messages begin. */
static void keep_events(char *text)
{
	char *to = text;

	for (char *line = text, *next; *line && *line != '!' && *line != '~'; line = next) {
		const char *native = strstr(line, " NATIVE ");

		next = strchr(line, '\n') + 1;
		if (native && native < next)
			continue;
		memmove(to, line, (size_t)(next - line));
		to += next - line;
	}
	*to = '\0';
}

/* A line of a cut file's last row may lack arguments. */
static void expect_prefix(const char *whole, const char *name, size_t len)
{
	char *end, *line = seen.buf;

	keep_events(seen.buf);
	end = seen.buf + strlen(seen.buf);
	while (line < end) {
		char *next = strchr(line, '\n'), *args = strchr(line, '(');
		const bool last = next + 1 == end;
		const size_t n = (size_t)((last && args ? args : next) - line);

		if (strncmp(line, whole, n) != 0 || (!last && whole[n] != '\n')) {
			print_message("%s cut to %zu: %.*s\n", name, len, (int)n, line);
			fail();
		}
		whole = strchr(whole, '\n') + 1;
		line = next + 1;
	}
}

static void test_prefixes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
		size_t size;
		char *data = load_golden(goldens[i], &size), *whole;
		const size_t step = size > MAX_PREFIX ? 7 : 1;

		if (!data)
			skip();
		file_write(data, size);
		whole = strdup(read_log(0, true));
		keep_events(whole);
		for (size_t len = 32; len < size; len += step) {
			file_write(data, len);
			read_log(0, false);
			assert_memory_not_equal(seen.buf, "FAIL", 4);
			read_log(0, true);
			expect_prefix(whole, goldens[i], len);
		}
		free(whole);
		free(data);
	}
}

/* Whatever the read size, in both orders. */
static void test_pieces(void **state)
{
	static const size_t sizes[] = { 1, 7, 4096 };

	(void)state;
	for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
		size_t size;
		char *data = load_golden(goldens[i], &size);

		if (!data)
			skip();
		for (size_t len = size; len > 40; len = len * 3 / 4) {
			file_write(data, len);
			for (int stored = 0; stored < 2; stored++) {
				char *whole = strdup(read_log(0, stored));

				for (size_t k = 0; k < 3; k++)
					assert_string_equal(read_log(sizes[k], stored), whole);
				free(whole);
			}
		}
		free(data);
	}
}

/* --- memory out --- */

static bool read_all(bool stored, size_t *rows_seen)
{
	const struct spur_options opt = SPUR_OPTIONS(.threads = 1,
					  .symbol_dirs = "/nonexistent",
					  .as_stored = stored);
	enum spur_status st, bad = SPUR_OK;
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	struct spur_error err;
	struct spur_trace *t;
	struct spur_damage d;
	size_t n;

	*rows_seen = 0;
	if (spur_open(&t, path, &opt, &err) == SPUR_FAIL) {
		assert_int_not_equal(err.code, SPUR_ERR_NONE);
		assert_true(err.message[0]);
		return false;
	}
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			if (spur_args(t, &rows[i], &args) == SPUR_FAIL)
				bad = SPUR_FAIL;
			++*rows_seen;
		}
	for (size_t i = 0; i < spur_damage_count(t); i++)
		spur_damage(t, i, &d);
	spur_args_free(&args);
	spur_close(t);
	return st == SPUR_END && bad == SPUR_OK;
}

static void test_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(goldens) / sizeof(goldens[0]); i++) {
		size_t size, want, got;
		char *data = load_golden(goldens[i / 2], &size);
		uint64_t count;

		if (!data)
			skip();
		file_write(data, size);
		free(data);
		mem_fail_at(UINT64_MAX);
		assert_true(read_all(i % 2, &want));
		count = mem_count();
		assert_true(count > 10);
		for (uint64_t n = 1; n <= count; n++) {
			bool ok;

			mem_fail_at(n);
			ok = read_all(i % 2, &got);
			mem_fail_at(0);
			if (ok)
				assert_int_equal(got, want);
		}
		mem_fail_at(0);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, file_make, file_remove)
	static const struct CMUnitTest tests[] = { T(test_synth),  T(test_recorded),
						   T(test_peers),  T(test_prefixes),
						   T(test_pieces), T(test_memory) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
