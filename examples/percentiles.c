/* Prints p50, p90, p99 (ns) of each function's calls as `spur report` does: percentiles TRACE */
#include <inttypes.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>

/* By class: calls that ended, calls that were open when the data ended. */
static struct spur_spread *(*spreads)[2];
static size_t classes;

static void take(struct spur_trace *t, const struct spur_span *s, size_t n)
{
	struct spur_class c;

	if (spur_class_count(t) > classes)
		spreads = (struct spur_spread * (*)[2]) realloc(spreads, spur_class_count(t) * sizeof(*spreads));
	for (; spreads && classes < spur_class_count(t); classes++)
		spreads[classes][0] = spreads[classes][1] = NULL;
	for (; spreads && n--; s++)
		if (!(s->flags & (SPUR_SPAN_NO_BEGIN | SPUR_SPAN_OFF_CPU)) && spur_class(t, s->cls, &c)) {
			struct spur_spread **to = &spreads[c.head][(s->flags & SPUR_SPAN_OPEN) != 0];

			if (!*to && !(*to = spur_spread_new()))
				exit(1);
			spur_spread_add(*to, (uint64_t)s->dur);
		}
}

static void print(struct spur_trace *t, uint32_t cls, struct spur_spread **of)
{
	struct spur_spread *s = of[0] ? of[0] : of[1]; /* open calls count only if there are no others */
	struct spur_class c;

	if (s && spur_class(t, cls, &c))
		printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n", spur_spread_percentile(s, 50),
		       spur_spread_percentile(s, 90), spur_spread_percentile(s, 99), spur_string(t, c.name, NULL));
	spur_spread_free(of[0]);
	spur_spread_free(of[1]);
}

int main(int argc, char **argv)
{
	struct spur_filter filter = spur_filter_default();
	struct spur_options opt = spur_options_default();
	struct spur_feed *feed = NULL;
	const struct spur_event *rows;
	const struct spur_span *spans;
	struct spur_pairing *p;
	struct spur_trace *t;
	struct spur_error err;
	size_t n, m;

	filter.min_dur = SPUR_MIN_DUR_OF_TRACE;
	opt.filter = &filter;
	if (argc != 2)
		return fprintf(stderr, "percentiles: expected one trace\n"), 2;
	if (spur_open(&t, argv[1], &opt, &err) == SPUR_FAIL || spur_pairing_new(&p, t, &err) == SPUR_FAIL)
		return fprintf(stderr, "percentiles: %s\n", err.message), 1;
	/* Where tracks are shared only spur_next() has the rows of a thread by time. */
	const bool shared = spur_tracks_shared(t);
	for (size_t f = 0; f < (shared ? 1 : spur_feed_count(t)); f++) {
		if (!shared && spur_feed_open(&feed, t, f, &err) == SPUR_FAIL)
			break;
		while ((shared ? spur_next(t, &rows, &n) : spur_feed_next(feed, &rows, &n)) == SPUR_OK &&
		       spur_pairing_rows(p, rows, n, &spans, &m) == SPUR_OK)
			take(t, spans, m);
		if (spur_pairing_end(p, &spans, &m) == SPUR_OK)
			take(t, spans, m);
		spur_feed_close(feed);
	}
	for (uint32_t i = 0; i < classes; i++)
		print(t, i, spreads[i]);
	const bool failed = spur_last_error(t, &err);
	if (failed)
		fprintf(stderr, "percentiles: %s\n", err.message);
	spur_pairing_free(p);
	spur_close(t);
	free(spreads);
	return failed;
}
