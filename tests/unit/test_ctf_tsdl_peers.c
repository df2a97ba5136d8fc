/*
 * Metadata of other projects' conformance sets (peer/ctf below SPUR_TRACES), every case of CTF 1.8: what they accept is
 * accepted, what they refuse is refused. tests/ctf/exceptions.tsv has those where the specification says otherwise.
 */
#include <ctype.h>

#include "unit/ctf_text.h"

#include "base/source.h"

enum { EXCEPTIONS_MAX = 200 };

/* The other two generations are not read here. */
enum spur_status v11_parse(struct ctf_meta *m, struct text text, struct diag_log *diag,
			   struct spur_error *err)
{
	(void)text;
	(void)diag;
	return meta_error(m, err, SPUR_ERR_FORMAT, 0, "expected CTF 1.8, found RFC v1.1");
}

enum spur_status json_parse(struct ctf_meta *m, struct text text, struct diag_log *diag,
			    struct spur_error *err)
{
	(void)text;
	(void)diag;
	return meta_error(m, err, SPUR_ERR_FORMAT, 0, "expected CTF 1.8, found CTF 2");
}

static struct {
	char *text;
	size_t n;
	const char *cases[EXCEPTIONS_MAX];
	bool met[EXCEPTIONS_MAX];
} exceptions;

static char message[sizeof(((struct spur_error *)0)->message)];

static char *text_of_file(const char *path)
{
	struct spur_error err;
	struct source *s;
	char *text;

	if (source_open(&s, path, NULL, &err) == SPUR_FAIL)
		return NULL;
	text = malloc(s->size + 1);
	assert_non_null(text);
	memcpy(text, s->data, s->size);
	text[s->size] = '\0';
	source_close(s);
	return text;
}

static void exceptions_read(void)
{
	char *line, *rest;

	exceptions.text = rest = text_of_file("tests/ctf/exceptions.tsv");
	assert_non_null(rest);
	while ((line = strsep(&rest, "\n"))) {
		char *tab = strchr(line, '\t');

		if (*line == '#' || !tab)
			continue;
		*tab = '\0';
		assert_true(strlen(tab + 1) > 20);
		assert_true(exceptions.n < EXCEPTIONS_MAX);
		exceptions.cases[exceptions.n++] = line;
	}
}

static bool is_exception(const char *name)
{
	for (size_t i = 0; i < exceptions.n; i++) {
		if (!strcmp(exceptions.cases[i], name))
			return exceptions.met[i] = true;
	}
	return false;
}

/* Reads a case's metadata; refused, too, where a part of it was given up as damaged. */
static bool is_accepted(const char *path)
{
	struct spur_error err = { 0 };
	struct ctf_meta *m;
	struct diag_log log;
	struct source *s;
	bool ok;

	assert_int_not_equal(source_open(&s, path, NULL, &err), SPUR_FAIL);
	diag_init(&log);
	ok = meta_read(&m, "metadata", s->data, s->size, &log, &err) != SPUR_FAIL;
	snprintf(message, sizeof(message), "%s", ok ? "" : err.message);
	if (m) {
		out_free(&seen);
		out_to_memory(&seen);
		meta_print(m, &seen);
		assert_int_equal(seen.error, 0);
	}
	ok = ok && !log.counts[DIAG_DAMAGE];
	diag_free(&log);
	meta_free(m);
	source_close(s);
	return ok;
}

/* "metadata:LINE:COLUMN: expected X, found Y" */
static bool is_well_said(const char *s)
{
	const char *found;

	if (strncmp(s, "metadata:", 9) != 0 || !isdigit((unsigned char)s[9]))
		return false;
	found = strstr(s, ": expected ");
	return found && strstr(found, ", found ");
}

/* Faults of these sets are in their streams. */
static bool is_about_streams(const char *name)
{
	return !strncmp(name, "bt-field/", 9) || !strncmp(name, "yactfr-iter/", 12);
}

static unsigned check_case(const char *root, const char *name, bool refuse)
{
	const bool is_other = is_exception(name);
	char path[1000];
	bool accepted;

	snprintf(path, sizeof(path), "%s/%s/metadata", root, name);
	accepted = is_accepted(path);
	if (is_about_streams(name))
		refuse = false;
	if (accepted == (refuse != is_other)) {
		print_error("%s: %s %s\n", name, accepted ? "accepted" : "refused", message);
		return 1;
	}
	if (*message && !is_well_said(message)) {
		print_error("%s: %s\n", name, message);
		return 1;
	}
	return 0;
}

static void test_peers(void **state)
{
	const char *traces = getenv("SPUR_TRACES");
	unsigned cases = 0, wrong = 0;
	char root[800], path[900], *text, *rest, *line;

	(void)state;
	snprintf(root, sizeof(root), "%s/peer/ctf", traces ? traces : "../shared/traces");
	snprintf(path, sizeof(path), "%s/MANIFEST.tsv", root);
	text = rest = text_of_file(path);
	if (!text) {
		print_message("no conformance sets: set SPUR_TRACES\n");
		skip();
	}
	exceptions_read();
	while ((line = strsep(&rest, "\n"))) {
		char *verdict = strchr(line, '\t');

		if (!verdict || !strstr(verdict, " ctf1 "))
			continue;
		*verdict++ = '\0';
		wrong += check_case(root, line, strstr(verdict, " ctf1 fail") != NULL);
		cases++;
	}
	for (size_t i = 0; i < exceptions.n; i++) {
		if (!exceptions.met[i])
			print_error("%s: no such case\n", exceptions.cases[i]);
		wrong += !exceptions.met[i];
	}
	print_message("%u cases, %zu exceptions\n", cases, exceptions.n);
	assert_true(cases > 700);
	free(text);
	free(exceptions.text);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_peers, seen_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
