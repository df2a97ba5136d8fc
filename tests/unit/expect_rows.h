/*
 * What tests of a reader expect of a file: its rows, one a line, and its damage, whatever the size
 * of reads. Include it behind file_open() and row_text(), which tests of a format define.
 */
#ifndef SPUR_TESTS_UNIT_EXPECT_ROWS_H
#define SPUR_TESTS_UNIT_EXPECT_ROWS_H

/* All rows; false: no memory. */
static inline bool rows_text(struct spur_trace *t, struct out *o)
{
	const struct spur_event *rows;
	enum spur_status st;
	size_t n;

	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++)
			row_text(t, &rows[i], o);
	return st == SPUR_END;
}

/* What is wrong: `code count@first-offset-bytes-lost`, one a line. */
static inline void diags_text(struct spur_trace *t, struct out *o)
{
	struct spur_damage d;

	for (size_t i = 0; i < spur_damage_count(t); i++) {
		assert_true(spur_damage(t, i, &d));
		out_printf(o, "%s %llu", d.code, (unsigned long long)d.count);
		if (d.first_offset != UINT64_MAX)
			out_printf(o, " at %llu", (unsigned long long)d.first_offset);
		if (d.bytes_lost)
			out_printf(o, " lost %llu", (unsigned long long)d.bytes_lost);
		out_char(o, '\n');
		assert_non_null(strchr(d.first, ':'));
	}
}

static inline void expect_with(const struct spur_options *opt, const char *rows, const char *diags)
{
	static const size_t sizes[] = { 0, 1, 7, 13, 4096 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct spur_options with = *opt;
		struct spur_trace *t;
		struct out o;

		with.read_size = sizes[i];
		t = file_open(&with);
		assert_non_null(t);
		out_to_memory(&o);
		assert_true(rows_text(t, &o));
		out_char(&o, '\0');
		assert_string_equal(o.buf, rows);
		out_clear(&o);
		diags_text(t, &o);
		out_char(&o, '\0');
		assert_string_equal(o.buf, diags);
		out_free(&o);
		spur_close(t);
	}
}

/* By time. */
static inline void expect(const char *rows, const char *diags)
{
	static const struct spur_options by_time = SPUR_OPTIONS();

	expect_with(&by_time, rows, diags);
}

static inline void expect_stored(const char *rows, const char *diags)
{
	static const struct spur_options stored = SPUR_OPTIONS(.as_stored = true);

	expect_with(&stored, rows, diags);
}

#endif
