/*
 * The quick half of the walk (style/uftrace/text/walk.h) does what the full one does: after each
 * row of all recorded uftrace data, of damaged copies, and of rows that are marked, tasks and
 * frames are the same, and so is what record() sees.
 */
#include "unit/pass_run.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/hash.h"
#include "flow/open.h"
#include "flow/pipe.h"
#include "style/uftrace/text/walk.c"

enum { COPIES = 20, FLIPS = 12, MARKED = 16 };

/* One way to walk. */
struct way {
	struct style style;
	struct style_walk walk;
	uint64_t seen; /* hash of what record() got */
};

static struct way quick, full;
static uint64_t rows_seen, rows_quick;
static bool marking; /* marks some rows */
static char dir[128]; /* of damaged copies */

static uint64_t seed = 88172645463325252;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static void dir_empty(void)
{
	struct dirent *d;
	DIR *folder = opendir(dir);

	assert_non_null(folder);
	while ((d = readdir(folder)))
		unlinkat(dirfd(folder), d->d_name, 0);
	closedir(folder);
}

/* Copies the files of a directory; bytes of records are flipped. */
static void copy_damaged(const char *from)
{
	static uint8_t data[1 << 18];
	struct dirent *d;
	DIR *folder = opendir(from);

	assert_non_null(folder);
	while ((d = readdir(folder))) {
		char path[512];
		const size_t name = strlen(d->d_name);
		size_t n;
		FILE *f;

		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", from, d->d_name);
		f = fopen(path, "rb");
		assert_non_null(f);
		n = fread(data, 1, sizeof(data), f);
		fclose(f);
		for (unsigned i = 0; n && name > 4 && i < FLIPS; i++)
			if (strcmp(d->d_name + name - 4, ".dat") == 0)
				data[next_random() % n] ^= (uint8_t)(1 << (next_random() & 7));
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		f = fopen(path, "wb");
		assert_non_null(f);
		assert_int_equal(fwrite(data, 1, n, f), n);
		fclose(f);
	}
	closedir(folder);
}

static bool record(void *self, struct style_task *t, const struct spur_event *row)
{
	struct way *w = self;
	const struct style_frame *f = style_frame_get(&w->style, t, t->count);

	w->seen = hash64(w->seen ^ (uint64_t)row->ts);
	w->seen = hash64(w->seen ^ (uint64_t)t->tid ^ row->kind);
	w->seen = hash64(w->seen ^ (uint64_t)(uint32_t)t->count ^ (f ? f->total : 0));
	w->seen = hash64(w->seen ^ (uint64_t)(uint32_t)t->display);
	return true;
}

static void same_frames(const struct style_task *a, const struct style_task *b)
{
	const size_t cap = a->cap < b->cap ? a->cap : b->cap;

	assert_int_equal(a->cap, b->cap);
	for (size_t i = 0; i < cap; i++) {
		const struct style_frame *x = &a->frames[i], *y = &b->frames[i];

		assert_true(x->addr == y->addr && x->total == y->total && x->child == y->child);
		assert_true(x->cls == y->cls && x->valid == y->valid && x->used == y->used);
		assert_true(x->special == y->special && x->hidden == y->hidden);
		assert_true(x->deep == y->deep);
	}
}

static void same_task(const struct style_task *a, const struct style_task *b)
{
	struct style_task x = *a, y = *b;

	x.frames = y.frames = NULL;
	assert_memory_equal(&x, &y, sizeof(x));
	same_frames(a, b);
}

static void same_style(const struct style *a, const struct style *b)
{
	assert_int_equal(a->ntasks, b->ntasks);
	assert_true(a->started == b->started && a->start == b->start && a->last == b->last);
	assert_true(a->perf_time == b->perf_time);
	assert_true(a->setjmp_count == b->setjmp_count && a->setjmp_display == b->setjmp_display);
}

static void walk_both(const struct spur_event *row, unsigned marks)
{
	struct style_task *a = style_task_find(&quick.style, row);
	struct style_task *b = style_task_find(&full.style, row);
	bool good = true;

	assert_true(a && b);
	quick.style.marks = full.style.marks = marks;
	if (style_walk_call(&quick.walk, a, row, &good))
		rows_quick++;
	else
		good = style_walk_row(&quick.walk, a, row);
	assert_true(good && style_walk_row(&full.walk, b, row));
	same_task(a, b);
	same_style(&quick.style, &full.style);
	assert_true(quick.seen == full.seen);
	rows_seen++;
}

static bool walk_rows(void *self, struct marked_rows rows)
{
	(void)self;
	for (size_t i = 0; i < rows.n; i++) {
		const uint64_t r = marking ? next_random() : 1;

		walk_both(&rows.rows[i],
			  row_marks(rows.marks, i) | (r % MARKED ? 0 : (unsigned)(r >> 32 & 7)));
	}
	return true;
}

static void way_open(struct way *w, struct pass_env *env)
{
	assert_true(style_open(&w->style, env));
	w->walk = (struct style_walk){ .s = &w->style, .record = record, .self = w };
	w->seen = 0;
}

static void check_data(const char *path, size_t read_size)
{
	const struct spur_options options = SPUR_OPTIONS(.read_size = read_size);
	const struct any_options opt = { 0 };
	struct spur_error err = { 0 };
	struct spur_trace *t;

	if (spur_open(&t, path, &options, &err) == SPUR_FAIL)
		return;
	{
		struct pass_env env = { .trace = t,
					.pipe = { .threads = 1 },
					ANY_OPTIONS(&opt, "report"),
					.err = &err };

		way_open(&quick, &env);
		way_open(&full, &env);
		assert_int_not_equal(pipe_run_marked(t, &env.pipe, walk_rows, NULL), SPUR_FAIL);
	}
	style_close(&quick.style);
	style_close(&full.style);
	spur_close(t);
}

static void check_all(const char *root)
{
	unsigned tried = 0;
	struct dirent *d;
	DIR *folder = opendir(root);

	assert_non_null(folder);
	while ((d = readdir(folder))) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s/in", root, d->d_name);
		if (d->d_name[0] == '.' || access(path, R_OK) != 0)
			continue;
		check_data(path, 0);
		check_data(path, 7);
		marking = true;
		check_data(path, 0);
		marking = false;
		tried++;
	}
	closedir(folder);
	assert_true(tried > 20);
}

static void goldens(void **state)
{
	(void)state;
	rows_seen = rows_quick = 0;
	check_all("tests/golden/uftrace");
	assert_true(rows_quick > rows_seen / 3);
}

static void bad(void **state)
{
	(void)state;
	rows_seen = rows_quick = 0;
	check_all("tests/bad/uftrace");
	assert_true(rows_quick > 100);
}

static void damaged(void **state)
{
	static const char *const from[] = {
		"tests/golden/uftrace/threads/in",
		"tests/golden/uftrace/forkexec/in",
		"tests/golden/uftrace/lost/in",
	};
	const unsigned copies = getenv("SANITIZED") ? COPIES / 10 : COPIES;

	(void)state;
	rows_seen = rows_quick = 0;
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++)
		for (unsigned k = 0; k < copies; k++) {
			dir_empty();
			copy_damaged(from[i]);
			check_data(dir, 0);
		}
	assert_true(rows_quick > 1000);
}

static int make_dir(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.90s/spur-test-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	dir_empty();
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goldens),
		cmocka_unit_test(bad),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
