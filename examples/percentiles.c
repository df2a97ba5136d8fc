/* Prints p50, p90, p99 (ns) of each function's calls as `spur report` does: percentiles TRACE */
#include <spur.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct spur_error err = { SPUR_ERR_USAGE, "expected one trace", "", 0 };
	struct spur_filter filter = spur_filter_default();
	struct spur_options opt = spur_options_default();
	struct spur_statistics *sums;
	const struct spur_span *spans;
	struct spur_latency l;
	struct spur_trace *t;
	size_t n;

	filter.min_dur = SPUR_MIN_DUR_OF_TRACE;
	opt.filter = &filter;
	if (argc != 2 || spur_open(&t, argv[1], &opt, &err) == SPUR_FAIL ||
	    spur_statistics_new(&sums, t, &err) == SPUR_FAIL)
		return fprintf(stderr, "percentiles: %s\n", err.message), 1;
	while (spur_next_spans(t, &spans, &n) == SPUR_OK)
		spur_statistics_add(sums, spans, n);
	for (uint32_t cls = 1; cls < spur_class_count(t); cls++)
		if (spur_statistics_of(sums, cls, &l) && l.calls)
			printf("%ju\t%ju\t%ju\t%s\n", l.p50, l.p90, l.p99,
			       spur_string(t, l.name, NULL));
	int bad = spur_last_error(t, &err) && fprintf(stderr, "percentiles: %s\n", err.message);
	spur_statistics_free(sums);
	return spur_close(t), bad;
}
