/* blobs: pieces put together, safe file names, nothing overwritten or written elsewhere, forms. */
#include "unit/any_options.h"
#include "unit/fake_args.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pass/blobs/extract.h"

static char dir[] = "/tmp/spur-blobs-XXXXXX";
static char into[sizeof(dir) + 8];

static int dir_make(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(into, sizeof(into), "%s/into", dir);
	return 0;
}

static const char *at(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", into, name);
	return path;
}

/* Number of files; they are removed. */
static int empty(void)
{
	DIR *d = opendir(into);
	const struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
			unlink(at(e->d_name));
			n++;
		}
	if (d)
		closedir(d);
	return n;
}

static int dir_remove(void **state)
{
	(void)state;
	empty();
	rmdir(into);
	return rmdir(dir);
}

static void expect_file(const char *name, const char *want)
{
	char buf[512];
	const int fd = open(at(name), O_RDONLY);
	ssize_t n;

	if (fd < 0)
		fail_msg("no file %s", name);
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	assert_true(n >= 0);
	buf[n] = '\0';
	assert_string_equal(buf, want);
}

static const struct spur_value none;

static struct spur_value bytes(struct spur_trace *t, const char *text)
{
	struct spur_value v = sample_value(t, "data", SPUR_BYTES);

	v.text = text;
	v.count = (uint32_t)strlen(text);
	return v;
}

static struct spur_value type(struct spur_trace *t, int64_t number, const char *label)
{
	struct spur_value v = sample_value(t, "type", SPUR_ENUM);

	v.i = number;
	v.label = label;
	return v;
}

static void add(struct spur_trace *t, uint32_t feed, int64_t ts, const char *name,
		struct spur_value a, struct spur_value b)
{
	sample_add(t, feed, SPUR_BLOB, ts, name, a, b);
}

static struct pass_run run(enum output_form form)
{
	return (struct pass_run){ .pass = "blobs", .opt = { .form = form } };
}

static struct pass_run extract(void)
{
	struct pass_run r = run(FORM_CSV);

	r.opt.extract = into;
	r.opt.fields = "file,size";
	return r;
}

/* Two blobs of process 7, in pieces that alternate, one of another process; times say nothing. */
static struct spur_trace *some(void)
{
	struct spur_trace *t = sample_trace();

	add(t, 0, 9, "shot.png", bytes(t, "one "), type(t, 1, "data"));
	add(t, 0, 5, "log", bytes(t, "LOG "), none);
	add(t, 0, 7, "shot.png", bytes(t, "two "), none);
	add(t, 0, 1, "log", bytes(t, "GOL"), none);
	add(t, 1, 2, "shot.png", bytes(t, "three"), none);
	add(t, 2, 0, "shot.png", bytes(t, "other"), type(t, 77, NULL));
	fake_row(t, 2, SPUR_INSTANT, 3);
	return t;
}

static void lists(void **state)
{
	struct spur_trace *t = some();
	struct pass_run r = run(FORM_CSV);

	(void)state;
	pass_expect(t, r,
		    "name,type,size,pieces,pid,process\nlog,,7,2,7,game\n"
		    "shot.png,data,13,3,7,game\nshot.png,77,5,1,8,other\n");
	r.opt.form = FORM_TEXT;
	r.opt.sort = "size";
	r.opt.limit = 2;
	pass_expect(t, r,
		    "size  pieces  pid  type  name\n"
		    "  13       3    7  data  shot.png\n"
		    "   7       2    7        log\n"
		    "\n1 more lines are not shown.\n");
	r = run(FORM_JSON);
	r.opt.name = "log";
	pass_expect(t, r,
		    "{\"schema\":1,\"spur\":\"blobs\",\"rows\":[\n"
		    "{\"name\":\"log\",\"type\":\"\",\"size\":7,\"pieces\":2,\"pid\":7,"
		    "\"process\":\"game\"}\n]}\n");
	r = run(FORM_CSV);
	r.opt.fields = "name";
	r.opt.match = PATTERN_REGEX;
	r.opt.name = "sho";
	free(pass_text(t, &r));
	assert_int_equal(r.st, SPUR_WARN);
	r.opt.name = "sho.*";
	pass_expect(t, r, "name\nshot.png\nshot.png\n");
	r.opt.match = PATTERN_GLOB;
	r.opt.name = "?og";
	pass_expect(t, r, "name\nlog\n");
	pass_starve(t, run(FORM_CSV));
	fake_trace_free(t);
}

static void one(void **state)
{
	static const struct filter_spec other = { .pids = "8" };
	struct spur_trace *t = some();
	struct pass_run r = run(FORM_TEXT);

	(void)state;
	r.opt.blob = "shot.png";
	pass_expect(t, r, "one two three");
	r.filter = &other;
	pass_expect(t, r, "other");
	r.filter = NULL;
	r.opt.blob = "shot";
	free(pass_text(t, &r));
	assert_int_equal(r.st, SPUR_WARN);
	r.opt.extract = into;
	pass_refused(t, r, "expected one of --extract and --cat, found both");
	assert_int_not_equal(access(into, F_OK), 0);
	fake_trace_free(t);
}

static void files(void **state)
{
	struct spur_trace *t = some();
	struct pass_run r = extract();
	char message[600];

	(void)state;
	pass_expect(t, r, "file,size\nlog,7\nshot.png,13\nshot.png.2,5\n");
	expect_file("log", "LOG GOL");
	expect_file("shot.png", "one two three");
	expect_file("shot.png.2", "other");
	assert_int_equal(empty(), 3);

	/* What is there stays, and nothing is written beside it. */
	close(open(at("log"), O_WRONLY | O_CREAT, 0600));
	snprintf(message, sizeof(message), "%s/log: file exists; use --force to overwrite it",
		 into);
	pass_refused(t, r, message);
	expect_file("log", "");
	assert_int_equal(empty(), 1);
	close(open(at("log"), O_WRONLY | O_CREAT, 0600));
	r.opt.force = true;
	pass_expect(t, r, "file,size\nlog,7\nshot.png,13\nshot.png.2,5\n");
	expect_file("log", "LOG GOL");
	assert_int_equal(empty(), 3);

	/* A link is replaced, not followed. */
	assert_int_equal(symlink("/tmp/spur-elsewhere", at("log")), 0);
	r.opt.force = false;
	pass_refused(t, r, message);
	r.opt.force = true;
	r.opt.name = "log";
	pass_expect(t, r, "file,size\nlog,7\n");
	expect_file("log", "LOG GOL");
	assert_int_not_equal(access("/tmp/spur-elsewhere", F_OK), 0);
	empty();
	fake_trace_free(t);
}

static void names(void **state)
{
	static const char *const all[][2] = {
		{ "../../etc/passwd", "_._.._etc_passwd" },
		{ "/abs", "_abs" },
		{ "..", "_." },
		{ ".", "_" },
		{ "", "blob" },
		{ "-rf", "_rf" },
		{ "a b.c-d", "a b.c-d" },
		{ "a\nb\x7f\x1b[m", "a_b__[m" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "bad\xff\xc3", "bad__" },
		{ "csi\xc2\x9bm", "csi_m" },
	};
	char out[EXTRACT_NAME + 1], longest[400];

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		assert_int_equal(extract_safe_name(all[i][0], strlen(all[i][0]), out),
				 strlen(all[i][1]));
		assert_string_equal(out, all[i][1]);
	}
	assert_int_equal(extract_safe_name("a\0b", 3, out), 3);
	assert_string_equal(out, "a_b");
	/* Cut, but not inside a character. */
	memset(longest, 'x', sizeof(longest));
	memcpy(longest + EXTRACT_NAME - 1, "\xc3\xbc", 2);
	assert_int_equal(extract_safe_name(longest, sizeof(longest), out), EXTRACT_NAME - 1);
	memset(longest, 'x', sizeof(longest));
	assert_int_equal(extract_safe_name(longest, sizeof(longest), out), EXTRACT_NAME);
}

/* Equal file names are numbered in the order of the blobs, around names that look like that. */
static void collisions(void **state)
{
	static const char *const all[] = { "a/b", "a_b.2", "a\nb", "a_b", "a_b.4", "a\tb" };
	struct spur_trace *t = sample_trace();

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		add(t, 0, 0, all[i], bytes(t, all[i]), none);
	pass_expect(t, extract(),
		    "file,size\na_b.5,3\na_b.3,3\na_b,3\na_b.4,3\na_b.2,5\na_b.4.2,5\n");
	expect_file("a_b", "a/b");
	expect_file("a_b.2", "a_b.2");
	assert_int_equal(empty(), 6);
	fake_trace_free(t);
}

static void odd_pieces(void **state)
{
	struct spur_trace *t = sample_trace();
	struct spur_value text = sample_value(t, "data", SPUR_STRING),
			  number = sample_value(t, "data", SPUR_U64),
			  word = sample_value(t, "type", SPUR_STRING);
	struct pass_run r = extract();
	struct pass_env env = { .trace = t, ANY_OPTIONS(&r.opt, "blobs") };
	struct out out, notes;

	(void)state;
	text.text = "text";
	text.count = 4;
	word.text = "kind";
	word.count = 4;
	add(t, 0, 0, "a", text, word);
	add(t, 0, 0, "none", number, none);
	add(t, 0, 0, "nothing", bytes(t, ""), none);
	r.opt.fields = "file,type,size,pieces";
	pass_expect(t, r, "file,type,size,pieces\na,kind,4,1\nnone,,0,1\nnothing,,0,1\n");
	expect_file("a", "text");
	expect_file("none", "");
	assert_int_equal(empty(), 3);
	fake_rewind(t);
	out_to_memory(&out);
	out_to_memory(&notes);
	env.out = &out;
	env.notes = &notes;
	assert_int_equal(pass_find("blobs", NULL)->run(&env), SPUR_OK);
	out_char(&notes, '\0');
	assert_string_equal(notes.buf, "spur: note: pieces of blobs without bytes: 1\n");
	out_free(&out);
	out_free(&notes);
	empty();
	fake_trace_free(t);
}

/* Bytes go through: a blob is larger than all that is allocated for it. */
static void large(void **state)
{
	enum { PIECE = 1 << 20, PIECES = 40 };
	static char piece[PIECE + 1];
	struct spur_trace *t = sample_trace();
	struct pass_run r = extract();
	struct stat st;

	(void)state;
	memset(piece, 'x', PIECE);
	for (int i = 0; i < PIECES; i++)
		add(t, 0, i, i % 2 ? "a" : "b", bytes(t, piece), none);
	pass_expect(t, r, "file,size\na,20971520\nb,20971520\n");
	assert_int_equal(stat(at("a"), &st), 0);
	assert_int_equal(st.st_size, PIECES / 2 * PIECE);
	assert_int_equal(empty(), 2);
	fake_trace_free(t);
}

/* Whatever fails, all files are there or none. */
static void failures(void **state)
{
	struct spur_trace *t = some();
	struct pass_run r = extract();
	volatile int stop = 1;
	struct spur_error err;
	struct out out;
	struct pass_env env = {
		.trace = t, ANY_OPTIONS(&r.opt, "blobs"),
		.out = &out, .err = &err, .pipe = { .stop = &stop }
	};
	char *text;
	bool failed = true;
	int left;

	(void)state;
	for (uint64_t n = 1; failed; n++) {
		fake_rewind(t);
		mem_fail_at(n);
		text = pass_text(t, &r);
		mem_fail_at(0);
		failed = r.st != SPUR_OK || !text;
		free(text);
		if (r.st != SPUR_OK)
			assert_int_equal(r.err.code, SPUR_ERR_MEMORY);
		left = empty();
		assert_true(left == 3 || (left == 0 && failed));
	}
	fake_rewind(t);
	out_to_memory(&out);
	assert_int_equal(pass_find("blobs", NULL)->run(&env), SPUR_OK);
	assert_int_equal(out.len, 0);
	out_free(&out);
	assert_int_equal(empty(), 0);
	r.opt.extract = "/dev/null";
	free(pass_text(t, &r));
	assert_int_equal(r.st, SPUR_FAIL);
	assert_int_equal(r.err.code, SPUR_ERR_IO);
	assert_string_equal(r.err.message, "/dev/null: Not a directory");
	fake_trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),      cmocka_unit_test(one),	    cmocka_unit_test(files),
		cmocka_unit_test(names),      cmocka_unit_test(collisions), cmocka_unit_test(large),
		cmocka_unit_test(odd_pieces), cmocka_unit_test(failures),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
