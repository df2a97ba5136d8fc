/*
 * Metadata of CTF 1.8 written by a test, and what comes out: the text of meta_print(), then a line
 * for each message (`!` damage, `?` warning, `~` note); or `ERROR message`.
 */
#ifndef TESTS_UNIT_CTF_TEXT_H
#define TESTS_UNIT_CTF_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/ctf/meta/meta.h"

static struct out seen; /* of the last reading */

#define HEAD "trace{major=1;minor=8;byte_order=le;};"
#define U8 "typealias integer{size=8;}:=u8;"
#define EVENT "event{fields:=struct{"
#define END "};};"

static inline void say_messages(const struct diag_log *log)
{
	for (size_t i = 0; i < diag_groups(log); i++) {
		const struct diag_group *g = diag_at(log, i);

		for (uint32_t k = 0; k < g->nkept; k++)
			out_printf(&seen, "%c %s %s\n", "~?!"[g->level], g -> code,
				   g -> kept[k].text);
	}
}

/* Parses and resolves the text alone; the packaging plays no part. */
static inline const char *read_text_n(const char *text, size_t len)
{
	struct ctf_meta *m = meta_new("metadata");
	struct spur_error err = { 0 };
	struct diag_log log;

	assert_non_null(m);
	diag_init(&log);
	out_free(&seen);
	out_to_memory(&seen);
	if (tsdl_parse(m, text_make(text, len), &log, &err) == SPUR_FAIL ||
	    meta_resolve(m, &log, &err) == SPUR_FAIL)
		out_printf(&seen, "ERROR %s\n", err.message);
	else
		meta_print(m, &seen);
	say_messages(&log);
	out_char(&seen, '\0');
	diag_free(&log);
	meta_free(m);
	return seen.buf;
}

static inline const char *read_text(const char *text)
{
	return read_text_n(text, strlen(text));
}

/*
 * Reads `text` without its mark, one backquote, which no metadata has; `want` gets LINE:COLUMN of
 * where the mark was instead of its `@`. The caller frees nothing; false: `want` is not in what
 * comes out.
 */
static inline bool finds(const char *text, const char *want)
{
	static char plain[65536], wanted[4096];
	const char *mark = strchr(text, '`'), *at = strchr(want, '@');
	unsigned line = 1, column = 1;

	assert_true(strlen(text) < sizeof(plain) && strlen(want) < sizeof(wanted) - 30);
	snprintf(plain, sizeof(plain), "%.*s%s", mark ? (int)(mark - text) : 0, text,
		 mark ? mark + 1 : text);
	for (const char *s = text; mark && s < mark; s++) {
		line += *s == '\n';
		column = *s == '\n' ? 1 : column + 1;
	}
	snprintf(wanted, sizeof(wanted), "%s", want);
	if (mark && at)
		snprintf(wanted, sizeof(wanted), "%.*s%u:%u%s", (int)(at - want), want, line,
			 column, at + 1);
	return strstr(read_text(plain), wanted) != NULL;
}

static inline void check_has(const char *text, const char *want, const char *file, int line)
{
	if (finds(text, want))
		return;
	print_error("%s:%d: expected to find\n%s\nin\n%s\nof\n%s\n", file, line, want, seen.buf,
		    text);
	fail();
}

static inline void check_lacks(const char *text, const char *what, const char *file, int line)
{
	if (!finds(text, what))
		return;
	print_error("%s:%d: expected not to find\n%s\nin\n%s\n", file, line, what, seen.buf);
	fail();
}

/* What comes out of the text has this in it. */
#define has(text, want) check_has(text, want, __FILE__, __LINE__)
#define lacks(text, what) check_lacks(text, what, __FILE__, __LINE__)
/* The error, at the mark in the text. */
#define bad(text, message) has(text, "ERROR metadata:@: " message "\n")
/* Fields of an event's payload; their lines begin with six blanks. */
#define field(fields, want) has(HEAD U8 EVENT fields END, want)

static inline int seen_free(void **state)
{
	(void)state;
	out_free(&seen);
	return 0;
}

#endif
