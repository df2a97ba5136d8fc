/* The public calls: every one on goldens of all formats, and every one used wrongly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const folders[] = { "ctf", "fxt", "heph", "uftrace", "xray" };
static const char golden_file[] = "tests/golden/heph/nesting/in";
static const char golden_dir[] = "tests/golden/uftrace/abc/in";

/* A call that is used wrongly: it fails, or aborts in builds made with SPUR_ABORT_ON_MISUSE. */
#if defined(SPUR_ABORT_ON_MISUSE) && !defined(NDEBUG)
#define refused(call)                                                         \
	do {                                                                  \
		const pid_t child = fork();                                   \
		int how = 0;                                                  \
									      \
		if (!child) {                                                 \
			const int null = open("/dev/null", O_WRONLY);         \
									      \
			signal(SIGABRT, SIG_DFL);                             \
			dup2(null, STDERR_FILENO);                            \
			(void)(call);                                         \
			_exit(0);                                             \
		}                                                             \
		assert_int_equal(waitpid(child, &how, 0), child);             \
		assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);    \
	} while (0)
#else
#define refused(call) assert_true(call)
#endif

static void expect_usage(const struct spur_trace *t, const char *begin)
{
#if !defined(SPUR_ABORT_ON_MISUSE) || defined(NDEBUG)
	struct spur_error err;

	assert_true(spur_last_error(t, &err));
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	assert_memory_equal(err.message, begin, strlen(begin));
#else
	(void)t;
	(void)begin;
#endif
}

static struct spur_trace *open_golden(const char *path, const struct spur_options *opt)
{
	struct spur_trace *t = NULL;
	struct spur_error err;

	if (spur_open(&t, path, opt, &err) == SPUR_FAIL)
		fail_msg("%s: %s", path, err.message);
	return t;
}

/* The sum of what rows hold, whatever their order; their number. */
struct sum {
	uint64_t rows, hash, args;
	uint64_t spans; /* rows that begin a span */
};

static uint64_t mix(uint64_t h)
{
	h ^= h >> 31;
	h *= 0x9e3779b97f4a7c15;
	return h ^ h >> 29;
}

static uint64_t hash_text(const char *p, size_t len)
{
	uint64_t h = len;

	for (size_t i = 0; i < len; i++)
		h = mix(h + (unsigned char)p[i]);
	return h;
}

static void check_schema(struct spur_trace *t, uint32_t id)
{
	const struct spur_schema *s = spur_schema(t, id);

	assert_non_null(s);
	assert_true(s == spur_schema(t, id) || s->open);
	for (uint32_t i = 0; i < s->nbegin; i++)
		assert_true(s->begin[i].type <= SPUR_ARRAY);
	for (uint32_t i = 0; i < s->nend; i++)
		assert_true(s->end[i].type <= SPUR_ARRAY);
}

static void check_classes(struct spur_trace *t)
{
	struct spur_class c, head;
	size_t len;

	assert_false(spur_class(t, 0, &c));
	assert_false(spur_class(t, (uint32_t)spur_class_count(t), &c));
	assert_null(spur_schema(t, (uint32_t)spur_class_count(t)));
	for (uint32_t i = 1; i < spur_class_count(t); i++) {
		assert_true(spur_class(t, i, &c));
		assert_true(spur_class(t, c.head, &head));
		assert_int_equal(head.head, c.head);
		assert_int_equal(head.name, c.name);
		assert_int_equal(strlen(spur_string(t, c.name, &len)) <= len, 1);
		assert_int_equal(c.flags & ~63u, 0);
		check_schema(t, i);
	}
}

static void check_facts(const struct spur_trace *t)
{
	struct spur_clock clock;
	struct spur_origin origin;
	struct spur_info info;
	struct spur_feed_info feed;

	assert_true(spur_clock(t, &clock));
	assert_non_null(clock.name);
	assert_non_null(clock.derived);
	assert_true(clock.epoch_known || (!clock.epoch_ns && !clock.epoch_error_ns));
	for (size_t i = 0; i < spur_info_count(t); i++) {
		assert_true(spur_info(t, i, &info));
		assert_true(info.key[0] && strlen(info.value) <= info.len);
	}
	assert_false(spur_info(t, spur_info_count(t), &info));
	assert_null(info.key);
	for (uint32_t i = 0; i < spur_origin_count(t); i++)
		assert_true(spur_origin(t, i, &origin));
	assert_false(spur_origin(t, (uint32_t)spur_origin_count(t), &origin));
	for (size_t i = 0; i < spur_feed_count(t); i++)
		assert_true(spur_feed_info(t, i, &feed));
	assert_false(spur_feed_info(t, spur_feed_count(t), &feed));
	assert_null(spur_track(t, (uint32_t)spur_track_count(t)));
	assert_null(spur_stream(t, (uint32_t)spur_stream_count(t)));
	assert_string_equal(spur_string(t, UINT32_MAX, NULL), "");
	assert_true(strlen(spur_format_name(t)) && spur_format_version(t) && spur_byte_order(t));
}

static void take_rows(struct spur_trace *t, const struct spur_event *rows, size_t n,
		      struct spur_args *args, struct sum *sum)
{
	for (size_t i = 0; i < n; i++) {
		const struct spur_event *e = &rows[i];
		struct spur_place place;
		uint64_t ticks[2];
		const char *name;
		size_t len;

		assert_true(e->kind < SPUR_KINDS && spur_kind_name(e->kind)[0]);
		assert_true(e->track == SPUR_NONE || spur_track(t, e->track));
		assert_true(spur_args(t, e, args) != SPUR_FAIL);
		sum->args += args->count;
		assert_int_equal(spur_place(t, e, &place), SPUR_OK);
		assert_true(place.bits <= 8 * place.len);
		/* Bytes that can be had can be read. */
		if (place.raw && place.len)
			sum->hash += mix(place.raw[0] + place.raw[place.len - 1] * 256u);
		spur_ticks(t, e, ticks);
		sum->rows++;
		sum->spans += e->kind == SPUR_BEGIN || e->kind == SPUR_SPAN;
		name = spur_string(t, e->name, &len);
		sum->hash += mix((uint64_t)e->ts ^ mix(e->off) ^ mix(e->kind) ^
				 mix((uint64_t)e->dur) ^ hash_text(name, len));
	}
}

static void read_merged(struct spur_trace *t, struct sum *sum)
{
	struct spur_args args = { 0 };
	const struct spur_event *rows;
	struct spur_error err;
	enum spur_status st;
	size_t n;

	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		take_rows(t, rows, n, &args, sum);
	assert_int_equal(st, SPUR_END);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_END);
	assert_null(rows);
	assert_int_equal(n, 0);
	assert_false(spur_last_error(t, &err));
	spur_args_free(&args);
}

static void read_feeds(struct spur_trace *t, struct sum *sum)
{
	struct spur_args args = { 0 };
	const struct spur_event *rows;
	struct spur_feed *feed;
	enum spur_status st;
	size_t n;

	/* From the last to the first: no feed waits for another. */
	for (size_t i = spur_feed_count(t); i-- > 0;) {
		assert_int_equal(spur_feed_open(&feed, t, i, NULL), SPUR_OK);
		while ((st = spur_feed_next(feed, &rows, &n)) == SPUR_OK) {
			for (size_t k = 1; k < n; k++)
				assert_true(rows[k].ts >= rows[k - 1].ts ||
					    (rows[k].flags & SPUR_F_BACK));
			take_rows(t, rows, n, &args, sum);
		}
		assert_int_equal(st, SPUR_END);
		spur_feed_close(feed);
	}
	spur_args_free(&args);
}

/* Begins = ends: each BEGIN and SPAN row becomes one span. */
static void pair_all(struct spur_trace *t)
{
	struct spur_pairing *p;
	const struct spur_event *rows;
	const struct spur_span *spans;
	uint64_t opened = 0, ended = 0, last = 0;
	size_t n, m;

	assert_int_equal(spur_pairing_new(&p, t, NULL), SPUR_OK);
	for (bool more = true; more;) {
		if (spur_next(t, &rows, &n) == SPUR_OK) {
			for (size_t i = 0; i < n; i++)
				opened += rows[i].kind == SPUR_BEGIN || rows[i].kind == SPUR_SPAN;
			assert_int_equal(spur_pairing_rows(p, rows, n, &spans, &m), SPUR_OK);
		} else {
			assert_int_equal(spur_pairing_end(p, &spans, &m), SPUR_OK);
			more = false;
		}
		for (size_t i = 0; i < m; i++) {
			const struct spur_span *s = &spans[i];

			last = s->id > last ? s->id : last;
			assert_true(s->self >= 0 && s->self <= s->dur);
			assert_true(!s->id || s->parent < s->id);
			ended += !(s->flags & (SPUR_SPAN_NO_BEGIN | SPUR_SPAN_OFF_CPU));
		}
	}
	assert_int_equal(ended, opened);
	assert_true(last >= opened);
	spur_pairing_free(p);
}

/* Counts spans whose begin is in the data. */
static void read_spans(struct spur_trace *t, struct sum *sum)
{
	const struct spur_span *spans;
	enum spur_status st;
	size_t n;

	while ((st = spur_next_spans(t, &spans, &n)) == SPUR_OK) {
		assert_true(spans && n > 0);
		for (size_t i = 0; i < n; i++)
			sum->rows += !(spans[i].flags & (SPUR_SPAN_NO_BEGIN | SPUR_SPAN_OFF_CPU));
	}
	assert_int_equal(st, SPUR_END);
	assert_true(!spans && !n);
	assert_int_equal(spur_next_spans(t, &spans, &n), SPUR_END);
}

static void try_golden(const char *path)
{
	struct sum merged = { 0 }, feeds = { 0 }, all = { 0 };
	struct spur_damage damage;
	struct spur_trace *t = open_golden(path, NULL);
	size_t n;

	check_facts(t);
	read_merged(t, &merged);
	check_classes(t);
	n = spur_damage_count(t);
	for (size_t i = 0; i < n; i++)
		assert_true(spur_damage(t, i, &damage) && damage.code && damage.count);
	assert_false(spur_damage(t, n, &damage));
	spur_close(t);

	t = open_golden(path, NULL);
	read_feeds(t, &feeds);
	spur_close(t);
	assert_int_equal(merged.rows, feeds.rows);
	assert_int_equal(merged.hash, feeds.hash);
	assert_int_equal(merged.args, feeds.args);

	t = open_golden(path, NULL);
	pair_all(t);
	spur_close(t);

	t = open_golden(path, NULL);
	read_spans(t, &all);
	spur_close(t);
	assert_int_equal(all.rows, merged.spans);
}

static void goldens(void **state)
{
	unsigned tried = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		char path[512];
		struct dirent *d;
		DIR *dir;

		snprintf(path, sizeof(path), "tests/golden/%s", folders[i]);
		dir = opendir(path);
		assert_non_null(dir);
		while ((d = readdir(dir))) {
			snprintf(path, sizeof(path), "tests/golden/%s/%s/in", folders[i],
				 d->d_name);
			if (d->d_name[0] == '.' || access(path, R_OK) != 0)
				continue;
			try_golden(path);
			tried++;
		}
		closedir(dir);
	}
	assert_true(tried > 100);
}

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *p = malloc(1 << 20);

	assert_non_null(f);
	assert_non_null(p);
	*size = fread(p, 1, 1 << 20, f);
	fclose(f);
	return p;
}

static void from_memory_and_descriptors(void **state)
{
	struct sum want = { 0 }, got = { 0 }, piped = { 0 }, at_fd = { 0 };
	struct spur_options opt = SPUR_OPTIONS(.follow = true);
	struct spur_trace *t = open_golden(golden_file, NULL);
	struct spur_error err;
	int fd, ends[2];
	size_t size;
	void *bytes;

	(void)state;
	read_merged(t, &want);
	spur_close(t);
	assert_true(want.rows > 100);

	bytes = read_file(golden_file, &size);
	assert_int_equal(spur_open_memory(&t, "some name", bytes, size, NULL, &err), SPUR_OK);
	read_merged(t, &got);
	spur_close(t);
	assert_memory_equal(&got, &want, sizeof(want));

	fd = open(golden_file, O_RDONLY);
	assert_int_equal(spur_open_fd(&t, fd, NULL, NULL, &err), SPUR_OK);
	assert_int_equal(close(fd), 0);
	read_merged(t, &at_fd);
	spur_close(t);
	assert_memory_equal(&at_fd, &want, sizeof(want));

	assert_int_equal(pipe(ends), 0);
	fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
	assert_int_equal(write(ends[1], bytes, size), size);
	close(ends[1]);
	assert_int_equal(spur_open_fd(&t, ends[0], "pipe", NULL, &err), SPUR_OK);
	close(ends[0]);
	read_merged(t, &piped);
	spur_close(t);
	assert_int_equal(piped.hash, want.hash);

	assert_int_equal(spur_open_memory(&t, "some name", "text", 4, NULL, &err), SPUR_FAIL);
	assert_null(t);
	assert_int_equal(err.code, SPUR_ERR_FORMAT);
	assert_string_equal(err.stream, "some name");
	assert_true(err.offset == UINT64_MAX);
	assert_int_equal(spur_open_memory(&t, NULL, NULL, 0, NULL, &err), SPUR_FAIL);
	assert_int_equal(spur_open_memory(&t, NULL, bytes, size, &opt, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	refused(spur_open_memory(&t, NULL, NULL, 1, NULL, &err) == SPUR_FAIL);
	refused(spur_open_fd(&t, -1, NULL, NULL, &err) == SPUR_FAIL);
	assert_int_equal(spur_open_fd(&t, 999, "no file", NULL, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_IO);
	free(bytes);
}

static void options(void **state)
{
	struct {
		struct spur_options opt;
		uint64_t tail;
	} newer = { .opt = SPUR_OPTIONS(.threads = 1) };
	struct spur_options opt = spur_options_default();
	char format[] = "heph";
	struct spur_error err;
	struct spur_trace *t;

	(void)state;
	newer.opt.size = sizeof(newer);
	assert_int_equal(spur_open(&t, golden_file, &newer.opt, &err), SPUR_OK);
	spur_close(t);
	newer.tail = 1;
	refused(spur_open(&t, golden_file, &newer.opt, &err) == SPUR_FAIL &&
		err.code == SPUR_ERR_USAGE && strncmp(err.message, "spur_options.size", 17) == 0);

	/* An older caller has no filter: what stands there is not looked at. */
	opt.size = offsetof(struct spur_options, filter);
	opt.filter = (const struct spur_filter *)format;
	assert_int_equal(spur_open(&t, golden_file, &opt, &err), SPUR_OK);
	spur_close(t);
	opt = spur_options_default();
	opt.size = 0;
	refused(spur_open(&t, golden_file, &opt, &err) == SPUR_FAIL);
	/* A size that was not set: nothing behind the options is read. */
	opt.size = SIZE_MAX;
	refused(spur_open(&t, golden_file, &opt, &err) == SPUR_FAIL &&
		strstr(err.message, "at most 4096"));
	opt = spur_options_default();
	opt.demangle = (enum spur_demangle)77;
	refused(spur_open(&t, golden_file, &opt, &err) == SPUR_FAIL);

	/* Strings are copied. */
	opt = spur_options_default();
	opt.format = format;
	assert_int_equal(spur_open(&t, golden_file, &opt, &err), SPUR_OK);
	memset(format, 'x', 4);
	assert_string_equal(spur_format_name(t), "heph");
	spur_close(t);
	assert_int_equal(spur_open(&t, golden_file, &opt, &err), SPUR_FAIL);
	assert_string_equal(err.message, "no format named \"xxxx\"");
	assert_string_equal(err.stream, golden_file);
	assert_int_equal(spur_open(&t, "/nonexistent", NULL, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_IO);
	assert_string_equal(err.stream, "/nonexistent");
	assert_true(err.offset == UINT64_MAX);
}

static uint64_t count_with(const struct spur_filter *filter)
{
	const struct spur_options opt = SPUR_OPTIONS(.filter = filter);
	struct spur_trace *t = open_golden(golden_file, &opt);
	struct sum sum = { 0 };

	read_merged(t, &sum);
	spur_close(t);
	return sum.rows;
}

static uint64_t count_by_hand(const char *name, int64_t from, int64_t to)
{
	struct spur_trace *t = open_golden(golden_file, NULL);
	const struct spur_event *rows;
	uint64_t count = 0;
	size_t n;

	while (spur_next(t, &rows, &n) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			count += (!name || strcmp(spur_string(t, rows[i].name, NULL), name) == 0) &&
				 rows[i].ts >= from && rows[i].ts < to;
	spur_close(t);
	return count;
}

static void filters(void **state)
{
	static const char *const unmatched[] = { "[", NULL };
	struct spur_filter bad_name = SPUR_FILTER(.names = unmatched);
	static const char *const names[] = { "out*", NULL };
	struct spur_filter by_name = SPUR_FILTER(.names = names, .match = SPUR_MATCH_GLOB);
	struct spur_filter where = SPUR_FILTER(.where = "name == 'outer'");
	struct spur_filter range = SPUR_FILTER(.begin = 600, .end = 1600);
	struct spur_filter wrong = SPUR_FILTER(.where = "dur > 1ms && name ~ 'x'");
	struct spur_filter bad_time = SPUR_FILTER(.from = "soon");
	struct spur_trace *t = open_golden(golden_file, NULL);
	const struct spur_event *rows;
	struct spur_error err;
	size_t n;

	(void)state;
	assert_true(count_by_hand("outer", INT64_MIN, INT64_MAX) > 1);
	assert_int_equal(count_with(&where), count_by_hand("outer", INT64_MIN, INT64_MAX));
	assert_int_equal(count_with(&by_name), count_by_hand("outer", INT64_MIN, INT64_MAX));
	assert_true(count_by_hand(NULL, 600, 1600) > 1);
	assert_int_equal(count_with(&range), count_by_hand(NULL, 600, 1600));

	assert_int_equal(spur_set_filter(t, &wrong, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	assert_string_equal(err.stream, "where");
	assert_int_equal(err.offset, 18); /* of `~` */
	assert_memory_equal(err.message, "where: column 19: expected", 26);
	assert_int_equal(spur_set_filter(t, &bad_time, &err), SPUR_FAIL);
	assert_string_equal(err.stream, "from");
	assert_int_equal(spur_set_filter(t, &bad_name, &err), SPUR_FAIL);
	assert_string_equal(err.stream, "name");
	assert_true(err.offset == UINT64_MAX);
	range.end = 1;
	refused(spur_set_filter(t, &range, &err) == SPUR_FAIL);
	by_name.match = (enum spur_match)9;
	refused(spur_set_filter(t, &by_name, &err) == SPUR_FAIL);
	where.min_dur = -2;
	refused(spur_set_filter(t, &where, &err) == SPUR_FAIL);
	where.size = 1;
	refused(spur_set_filter(t, &where, &err) == SPUR_FAIL);
	refused(spur_set_filter(NULL, NULL, &err) == SPUR_FAIL);
	assert_int_equal(spur_set_filter(t, NULL, NULL), SPUR_OK);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	refused(spur_set_filter(t, NULL, NULL) == SPUR_FAIL);
	expect_usage(t, "spur_set_filter: ");
	spur_close(t);
}

static void feeds_used_wrongly(void **state)
{
	struct spur_trace *t = open_golden(golden_dir, NULL);
	const struct spur_event *rows;
	struct spur_feed *feed, *other;
	struct spur_error err;
	size_t n = 7;

	(void)state;
	refused(spur_feed_open(NULL, t, 0, &err) == SPUR_FAIL);
	refused(spur_feed_open(&feed, NULL, 0, &err) == SPUR_FAIL);
	refused(spur_feed_open(&feed, t, spur_feed_count(t), &err) == SPUR_FAIL);
	assert_int_equal(spur_feed_open(&feed, t, 0, &err), SPUR_OK);
	refused(spur_feed_open(&other, t, 0, &err) == SPUR_FAIL);
	refused(spur_next(t, &rows, &n) == SPUR_FAIL);
	expect_usage(t, "spur_next: ");
	refused(spur_feed_next(NULL, &rows, &n) == SPUR_FAIL);
	refused(spur_feed_next(feed, NULL, &n) == SPUR_FAIL);
	refused(spur_feed_next(feed, &rows, NULL) == SPUR_FAIL);
	assert_int_equal(spur_feed_next(feed, &rows, &n), SPUR_OK);
	assert_true(n > 0);
	spur_feed_close(feed);
	spur_feed_close(feed);
	spur_feed_close(NULL);
	refused(spur_feed_next(feed, &rows, &n) == SPUR_FAIL);
	expect_usage(t, "spur_feed_next: expected an open feed");
	spur_close(t);

	t = open_golden(golden_dir, NULL);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	refused(spur_feed_open(&feed, t, 0, &err) == SPUR_FAIL);
	/* A feed that is left open is closed with its trace. */
	spur_close(t);
	t = open_golden(golden_dir, NULL);
	assert_int_equal(spur_feed_open(&feed, t, 0, &err), SPUR_OK);
	spur_close(t);
}

/* No row of a trace. */
static const struct spur_event strange = { .cls = UINT32_MAX, .track = SPUR_NONE };

static void nulls(void **state)
{
	struct spur_trace *t = open_golden(golden_file, NULL);
	struct spur_args args = { 0 };
	const struct spur_event *rows;
	struct spur_event moved;
	struct spur_relation relation;
	struct spur_place place;
	struct spur_error err;
	uint64_t ticks[2];
	size_t n;

	(void)state;
	refused(spur_open(NULL, golden_file, NULL, &err) == SPUR_FAIL);
	refused(spur_open(&t, NULL, NULL, &err) == SPUR_FAIL && !t);
	spur_close(t);
	refused(spur_open_several(NULL, (const char *[]){ golden_file }, 1, NULL, &err) ==
		SPUR_FAIL);
	refused(spur_open_several(&t, NULL, 1, NULL, &err) == SPUR_FAIL);
	refused(spur_open_several(&t, (const char *[]){ golden_file, NULL }, 2, NULL, &err) ==
		SPUR_FAIL);
	refused(spur_open_several(&t, (const char *[]){ golden_file }, 1,
				  &(struct spur_options)SPUR_OPTIONS(.noffsets = 1),
				  &err) == SPUR_FAIL);
	refused(spur_part_count(NULL) == 0);
	refused(!spur_relation(NULL, 0, &relation));
	refused(spur_open_memory(NULL, NULL, "", 0, NULL, &err) == SPUR_FAIL);
	refused(spur_open_fd(NULL, 0, NULL, NULL, &err) == SPUR_FAIL);
	assert_int_equal(spur_open_several(&t, &(const char *){ NULL }, 0, NULL, &err), SPUR_FAIL);
	assert_int_equal(err.code, SPUR_ERR_USAGE);
	t = open_golden(golden_file, NULL);
	refused(spur_next(NULL, &rows, &n) == SPUR_FAIL);
	refused(spur_next(t, NULL, &n) == SPUR_FAIL);
	refused(spur_next(t, &rows, NULL) == SPUR_FAIL);
	/* A call that is used wrongly changes nothing. */
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	refused(spur_args(NULL, rows, &args) == SPUR_FAIL);
	refused(spur_args(t, NULL, &args) == SPUR_FAIL);
	refused(spur_args(t, rows, NULL) == SPUR_FAIL);
	refused(spur_args(t, &strange, &args) == SPUR_FAIL);
	moved = *rows;
	moved.stream = (uint32_t)spur_stream_count(t);
	refused(spur_place(t, &moved, &place) == SPUR_FAIL);
	refused(spur_args(t, &moved, &args) == SPUR_FAIL);
	expect_usage(t, "spur_args: expected an event of this trace");
	refused(spur_place(NULL, rows, &place) == SPUR_FAIL);
	refused(spur_place(t, NULL, &place) == SPUR_FAIL);
	refused(spur_place(t, rows, NULL) == SPUR_FAIL);
	refused(spur_place(t, &strange, &place) == SPUR_FAIL);
	refused(!spur_ticks(NULL, rows, ticks));
	refused(!spur_ticks(t, NULL, ticks));
	refused(!spur_ticks(t, rows, NULL));
	refused(!spur_ticks(t, &strange, ticks));
	refused(!spur_last_error(NULL, &err));
	refused(!spur_last_error(t, NULL));
	spur_args_free(NULL);
	spur_args_free(&args);
	spur_close(NULL);
	spur_close(t);
}

static void nulls_of_facts(void **state)
{
	struct spur_trace *t = open_golden(golden_file, NULL);
	struct spur_class class;
	struct spur_damage damage;
	struct spur_origin origin;
	struct spur_clock clock;
	struct spur_info info;
	struct spur_feed_info feed;
	size_t len = 9;

	(void)state;
	refused(!spur_string(NULL, 1, &len)[0] && !len);
	refused(!spur_format_name(NULL)[0]);
	refused(!spur_format_version(NULL)[0]);
	refused(!spur_byte_order(NULL)[0]);
	refused(!spur_class_count(NULL));
	refused(!spur_class(NULL, 1, &class));
	refused(!spur_class(t, 1, NULL));
	refused(!spur_schema(NULL, 1));
	refused(!spur_track_count(NULL));
	refused(!spur_track(NULL, 0));
	refused(!spur_stream_count(NULL));
	refused(!spur_stream(NULL, 0));
	refused(!spur_origin_count(NULL));
	refused(!spur_origin(NULL, 0, &origin));
	refused(!spur_origin(t, 0, NULL));
	refused(!spur_clock(NULL, &clock));
	refused(!spur_clock(t, NULL));
	refused(!spur_info_count(NULL));
	refused(!spur_info(NULL, 0, &info));
	refused(!spur_info(t, 0, NULL));
	refused(!spur_damage_count(NULL));
	refused(!spur_damage(NULL, 0, &damage));
	refused(!spur_damage(t, 0, NULL));
	refused(!spur_feed_count(NULL));
	refused(!spur_feed_info(NULL, 0, &feed));
	refused(!spur_feed_info(t, 0, NULL));
	refused(!spur_tracks_shared(NULL));
	assert_string_equal(spur_kind_name(SPUR_END_SPAN), "END");
	assert_string_equal(spur_kind_name(SPUR_KINDS), "");
	assert_string_equal(spur_kind_name(999), "");
	assert_string_equal(spur_version(), SPUR_VERSION);
	spur_close(t);
}

/* A trace whose classes are known since its rows were read. */
static struct spur_trace *open_read(void)
{
	struct spur_trace *t = open_golden(golden_dir, NULL);
	const struct spur_event *rows;
	size_t n;

	while (spur_next(t, &rows, &n) == SPUR_OK)
		;
	assert_true(spur_class_count(t) > 4);
	return t;
}

static struct spur_event row(unsigned kind, int64_t ts, uint32_t cls)
{
	return (struct spur_event){ .kind = (uint8_t)kind, .ts = ts, .cls = cls, .name = cls };
}

/*
 * By hand: 1 [10, 60) with 2 [20, 50), which ends with 1's END as its own is missing; 3 at 70 has
 * no BEGIN, and 4 [80, open), data ends at 100.
 */
static void spans(void **state)
{
	struct spur_event rows[] = { row(SPUR_BEGIN, 10, 1),	row(SPUR_BEGIN, 20, 2),
				     row(SPUR_INSTANT, 30, 1),	row(SPUR_END_SPAN, 60, 1),
				     row(SPUR_END_SPAN, 70, 3), row(SPUR_BEGIN, 80, 4),
				     row(SPUR_INSTANT, 100, 1) };
	static const struct spur_span want[] = {
		{ .begin = 20,
		  .end = 60,
		  .dur = 40,
		  .self = 40,
		  .id = 2,
		  .parent = 1,
		  .cls = 2,
		  .name = 2,
		  .depth = 1,
		  .flags = SPUR_SPAN_IMPLIED },
		{ .begin = 10, .end = 60, .dur = 50, .self = 10, .id = 1, .cls = 1, .name = 1 },
		{ .begin = 70, .end = 70, .cls = 3, .name = 3, .flags = SPUR_SPAN_NO_BEGIN },
		{ .begin = 80,
		  .end = 100,
		  .dur = 20,
		  .self = 20,
		  .id = 3,
		  .cls = 4,
		  .name = 4,
		  .flags = SPUR_SPAN_OPEN },
	};
	struct spur_trace *t = open_read();
	const struct spur_span *got;
	struct spur_pairing *p;
	size_t n;

	(void)state;
	assert_int_equal(spur_pairing_new(&p, t, NULL), SPUR_OK);
	assert_int_equal(spur_pairing_rows(p, rows, 7, &got, &n), SPUR_OK);
	assert_int_equal(n, 3);
	assert_memory_equal(got, want, 3 * sizeof(*got));
	assert_int_equal(spur_pairing_end(p, &got, &n), SPUR_OK);
	assert_int_equal(n, 1);
	assert_memory_equal(got, want + 3, sizeof(*got));
	assert_int_equal(spur_pairing_rows(p, NULL, 0, &got, &n), SPUR_OK);
	assert_int_equal(n, 0);
	rows[0].track = 1000;
	refused(spur_pairing_rows(p, rows, 1, &got, &n) == SPUR_FAIL);
	rows[0].track = 0;
	rows[0].cls = (uint32_t)spur_class_count(t);
	refused(spur_pairing_rows(p, rows, 1, &got, &n) == SPUR_FAIL);
	refused(spur_pairing_rows(p, NULL, 1, &got, &n) == SPUR_FAIL);
	refused(spur_pairing_rows(NULL, rows, 1, &got, &n) == SPUR_FAIL);
	refused(spur_pairing_rows(p, rows, 1, NULL, &n) == SPUR_FAIL);
	refused(spur_pairing_rows(p, rows, 1, &got, NULL) == SPUR_FAIL);
	refused(spur_pairing_end(NULL, &got, &n) == SPUR_FAIL);
	refused(spur_pairing_end(p, NULL, &n) == SPUR_FAIL);
	refused(spur_pairing_end(p, &got, NULL) == SPUR_FAIL);
	spur_pairing_free(p);
	spur_pairing_free(NULL);
	refused(spur_pairing_new(NULL, t, NULL) == SPUR_FAIL);
	refused(spur_pairing_new(&p, NULL, NULL) == SPUR_FAIL);
	spur_close(t);
}

/*
 * By hand, in ns: 1 [10, 60) calls itself [20, 50); 2 [70, open), data ends at 100; 3 at 80 has no
 * BEGIN. Time in 1 outside of the inner call is 20, and 40 is their average.
 */
static void statistics(void **state)
{
	struct spur_event rows[] = { row(SPUR_BEGIN, 10, 1),    row(SPUR_BEGIN, 20, 1),
				     row(SPUR_END_SPAN, 50, 1), row(SPUR_END_SPAN, 60, 1),
				     row(SPUR_END_SPAN, 65, 3), row(SPUR_BEGIN, 70, 2),
				     row(SPUR_INSTANT, 100, 1) };
	struct spur_trace *t = open_read(), *other = open_golden(golden_dir, NULL);
	struct spur_statistics *s = NULL, *sum = NULL, *of_other = NULL;
	const struct spur_span *got;
	struct spur_span alien = { .cls = UINT32_MAX };
	struct spur_pairing *p;
	struct spur_latency l, want;
	struct spur_class c;
	size_t n;

	(void)state;
	assert_int_equal(spur_pairing_new(&p, t, NULL), SPUR_OK);
	assert_int_equal(spur_statistics_new(&s, t, NULL), SPUR_OK);
	assert_int_equal(spur_statistics_new(&sum, t, NULL), SPUR_OK);
	assert_int_equal(spur_statistics_new(&of_other, other, NULL), SPUR_OK);
	assert_false(spur_statistics_of(s, 1, &l));
	assert_int_equal(spur_pairing_rows(p, rows, 7, &got, &n), SPUR_OK);
	assert_int_equal(n, 3);
	assert_int_equal(got[0].flags, SPUR_SPAN_RECURSIVE);
	assert_int_equal(got[1].flags, 0);
	assert_int_equal(spur_statistics_add(s, got, n), SPUR_OK);
	assert_int_equal(spur_pairing_end(p, &got, &n), SPUR_OK);
	assert_int_equal(spur_statistics_add(s, got, n), SPUR_OK);
	assert_int_equal(spur_statistics_join(sum, s), SPUR_OK);
	assert_true(spur_class(t, 1, &c) && spur_statistics_of(s, 1, &l));
	want = (struct spur_latency){ 1, c.name, 2, 0, 50, 50, 40, 30, 50, 30, 50, 50, 10 };
	assert_memory_equal(&l, &want, sizeof(l));
	assert_true(spur_class(t, 2, &c) && spur_statistics_of(sum, 2, &l));
	want = (struct spur_latency){ 2, c.name, 1, 1, 30, 30, 30, 30, 30, 30, 30, 30, 0 };
	assert_memory_equal(&l, &want, sizeof(l));
	assert_true(spur_statistics_of(sum, 3, &l) && !l.calls && l.unfinished == 1);
	assert_int_equal(spur_statistics_join(sum, s), SPUR_OK);
	assert_true(spur_statistics_of(sum, 1, &l) && l.calls == 4 && l.total == 100 &&
		    l.p50 == 30 && l.p90 == 50);
	assert_false(spur_statistics_of(sum, 4, &l) || spur_statistics_of(sum, UINT32_MAX, &l));
	refused(spur_statistics_new(NULL, t, NULL) == SPUR_FAIL);
	refused(spur_statistics_join(s, of_other) == SPUR_FAIL);
	spur_statistics_free(of_other);
	refused(spur_statistics_new(&of_other, NULL, NULL) == SPUR_FAIL);
	refused(spur_statistics_add(NULL, got, n) == SPUR_FAIL);
	refused(spur_statistics_add(s, NULL, 1) == SPUR_FAIL);
	refused(spur_statistics_add(s, &alien, 1) == SPUR_FAIL);
	refused(spur_statistics_join(s, s) == SPUR_FAIL);
	refused(spur_statistics_join(s, NULL) == SPUR_FAIL);
	refused(spur_statistics_join(NULL, s) == SPUR_FAIL);
	refused(!spur_statistics_of(NULL, 1, &l));
	refused(!spur_statistics_of(s, 1, NULL));
	spur_statistics_free(NULL);
	spur_statistics_free(s);
	spur_statistics_free(sum);
	spur_pairing_free(p);
	spur_close(other);
	spur_close(t);
}

/* A trace is read in one way. */
static void spans_used_wrongly(void **state)
{
	struct spur_trace *t = open_golden(golden_dir, NULL);
	const struct spur_event *rows;
	const struct spur_span *spans;
	struct spur_feed *feed;
	size_t n;

	(void)state;
	refused(spur_next_spans(NULL, &spans, &n) == SPUR_FAIL);
	refused(spur_next_spans(t, NULL, &n) == SPUR_FAIL);
	refused(spur_next_spans(t, &spans, NULL) == SPUR_FAIL);
	assert_int_equal(spur_next_spans(t, &spans, &n), SPUR_OK);
	refused(spur_next(t, &rows, &n) == SPUR_FAIL);
	refused(spur_feed_open(&feed, t, 0, NULL) == SPUR_FAIL);
	refused(spur_set_filter(t, NULL, NULL) == SPUR_FAIL);
	assert_true(spur_next_spans(t, &spans, &n) != SPUR_FAIL);
	spur_close(t);
	t = open_golden(golden_dir, NULL);
	assert_int_equal(spur_next(t, &rows, &n), SPUR_OK);
	refused(spur_next_spans(t, &spans, &n) == SPUR_FAIL);
	expect_usage(t, "spur_next_spans: ");
	spur_close(t);
	t = open_golden(golden_dir, NULL);
	assert_int_equal(spur_feed_open(&feed, t, 0, NULL), SPUR_OK);
	refused(spur_next_spans(t, &spans, &n) == SPUR_FAIL);
	spur_close(t);
}

static void spreads(void **state)
{
	struct spur_spread *s = spur_spread_new();

	(void)state;
	assert_non_null(s);
	assert_int_equal(spur_spread_percentile(s, 50), 0);
	for (uint64_t i = 60; i > 0; i--)
		assert_int_equal(spur_spread_add(s, i), SPUR_OK);
	assert_int_equal(spur_spread_count(s), 60);
	assert_int_equal(spur_spread_percentile(s, 50), 30);
	assert_int_equal(spur_spread_percentile(s, 99), 60);
	for (uint64_t i = 61; i <= 1000; i++)
		assert_int_equal(spur_spread_add(s, i), SPUR_OK);
	assert_int_equal(spur_spread_percentile(s, 0), 1);
	assert_in_range(spur_spread_percentile(s, 90), 900 - 900 / 128, 900 + 900 / 128);
	refused(!spur_spread_percentile(s, 101));
	refused(!spur_spread_percentile(NULL, 1));
	refused(!spur_spread_count(NULL));
	refused(spur_spread_add(NULL, 1) == SPUR_FAIL);
	spur_spread_free(s);
	spur_spread_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goldens),
		cmocka_unit_test(from_memory_and_descriptors),
		cmocka_unit_test(options),
		cmocka_unit_test(filters),
		cmocka_unit_test(feeds_used_wrongly),
		cmocka_unit_test(nulls),
		cmocka_unit_test(nulls_of_facts),
		cmocka_unit_test(spans),
		cmocka_unit_test(spreads),
		cmocka_unit_test(statistics),
		cmocka_unit_test(spans_used_wrongly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
