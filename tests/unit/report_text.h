/* What `report` says of a trace that is read in parts of any size, as text that can be compared. */
#ifndef TESTS_UNIT_REPORT_TEXT_H
#define TESTS_UNIT_REPORT_TEXT_H

#include "base/mem.h"
#include "format/format.h"
#include "unit/any_options.h"

/* How a trace is read. */
struct report_way {
	const char *style; /* NULL: none */
	const char *fields; /* of the table that is written if there is no style */
	unsigned threads;
	uint64_t read_size;
};

static uint64_t report_records; /* read by the last report, some of them twice */

/* The table and what was found to be wrong, NUL-ended, to be freed; NULL: out of memory. */
static inline char *report_text(const char *trace, const struct report_way *way)
{
	struct any_options opt = { .form = way->style ? FORM_CSV : FORM_JSON,
				   .fields = way->style ? NULL : way->fields };
	struct spur_options options = SPUR_OPTIONS(.symbol_dirs = "/nonexistent");
	struct spur_error err = { 0 };
	struct spur_trace *t;
	struct out out;

	options.read_size = way->read_size;
	if (spur_open(&t, trace, &options, &err) != SPUR_OK)
		return NULL;
	out_to_memory(&out);
	{
		struct pass_env env = { .trace = t,
					.pipe = { .threads = way->threads },
					ANY_OPTIONS(&opt,
						    way->style ? "report.llvm-xray" : "report"),
					.out = &out,
					.err = &err };

		if (pass_run(pass_find("report", way->style), &env) == SPUR_FAIL) {
			assert_int_equal(err.code, SPUR_ERR_MEMORY);
			spur_close(t);
			out_free(&out);
			return NULL;
		}
	}
	report_records = t->read.records;
	trace_join_diag(t);
	for (size_t i = 0; i < diag_groups(&t->joined); i++) {
		const struct diag_group *g = diag_at(&t->joined, i);

		out_printf(&out, "%s %llu %llu\n", g->code, (unsigned long long)g->count,
			   (unsigned long long)g->first_off);
	}
	spur_close(t);
	out_char(&out, '\0');
	if (!out.error)
		return out.buf;
	out_free(&out);
	return NULL;
}

/* Expects the same of several numbers of threads as of one. */
static inline void report_compare(const char *trace, struct report_way way)
{
	static const unsigned threads[] = { 2, 5, 16 };
	char *want, *got;

	way.threads = 1;
	want = report_text(trace, &way);
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		way.threads = threads[i];
		got = report_text(trace, &way);
		assert_true(!got == !want);
		if (want)
			assert_string_equal(got, want);
		free(got);
	}
	free(want);
}

/* Returns the number of records that two threads read twice. */
static inline uint64_t report_read_again(const char *trace, struct report_way way)
{
	uint64_t once;

	way.threads = 1;
	free(report_text(trace, &way));
	once = report_records;
	way.threads = 2;
	free(report_text(trace, &way));
	assert_true(report_records >= once);
	return report_records - once;
}

/* Wherever memory runs out, a report of two threads fails or has its whole table. */
static inline void report_starve(const char *trace, struct report_way way)
{
	char *want, *got;
	uint64_t count;

	way.threads = 2;
	mem_fail_at(UINT64_MAX);
	want = report_text(trace, &way);
	count = mem_count();
	assert_non_null(want);
	for (uint64_t n = 1; n <= count; n++) {
		mem_fail_at(n);
		got = report_text(trace, &way);
		mem_fail_at(0);
		if (got)
			assert_memory_equal(got, want, (size_t)(strstr(want, "]}") - want));
		free(got);
	}
	free(want);
}

#endif
