/* Prints all numbers of `spur report`, feeds read on four threads: call-report TRACE */
#include <pthread.h>
#include <spur.h>
#include <stdio.h>

enum { THREADS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct spur_trace *trace;
static struct spur_statistics *sums; /* under lock */
static size_t next_feed; /* under lock */

static size_t take_feed(void)
{
	size_t number;

	pthread_mutex_lock(&lock);
	number = next_feed++;
	pthread_mutex_unlock(&lock);
	return number;
}

static void read_feed(struct spur_feed *feed, struct spur_pairing *pairing,
		      struct spur_statistics *own)
{
	const struct spur_event *rows;
	const struct spur_span *spans;
	size_t n, m;

	while (spur_feed_next(feed, &rows, &n) == SPUR_OK)
		if (spur_pairing_rows(pairing, rows, n, &spans, &m) == SPUR_OK)
			spur_statistics_add(own, spans, m);
	if (spur_pairing_end(pairing, &spans, &m) == SPUR_OK)
		spur_statistics_add(own, spans, m);
}

/* Failures are the trace's last error, which main() looks at. */
static void *read_feeds(void *unused)
{
	struct spur_statistics *own = NULL;
	struct spur_pairing *pairing = NULL;
	struct spur_feed *feed;
	size_t number;

	if (spur_statistics_new(&own, trace, NULL) == SPUR_OK &&
	    spur_pairing_new(&pairing, trace, NULL) == SPUR_OK) {
		while ((number = take_feed()) < spur_feed_count(trace) &&
		       spur_feed_open(&feed, trace, number, NULL) == SPUR_OK) {
			read_feed(feed, pairing, own);
			spur_feed_close(feed);
		}
		pthread_mutex_lock(&lock);
		spur_statistics_join(sums, own);
		pthread_mutex_unlock(&lock);
	}
	spur_pairing_free(pairing);
	spur_statistics_free(own);
	return unused;
}

/* Where the rows of a thread come from several feeds only one reader has them in order. */
static void read_trace(void)
{
	pthread_t threads[THREADS];
	const struct spur_span *spans;
	size_t n = 0, m;

	if (spur_tracks_shared(trace)) {
		while (spur_next_spans(trace, &spans, &m) == SPUR_OK)
			spur_statistics_add(sums, spans, m);
		return;
	}
	while (n < THREADS - 1 && pthread_create(&threads[n], NULL, read_feeds, NULL) == 0)
		n++;
	read_feeds(NULL);
	while (n > 0)
		pthread_join(threads[--n], NULL);
}

int main(int argc, char **argv)
{
	struct spur_filter filter = spur_filter_default();
	struct spur_options opt = spur_options_default();
	struct spur_latency l;
	struct spur_error err;

	if (argc != 2)
		return fprintf(stderr, "call-report: expected one trace\n"), 2;
	filter.min_dur = SPUR_MIN_DUR_OF_TRACE;
	opt.filter = &filter;
	if (spur_open(&trace, argv[1], &opt, &err) == SPUR_FAIL ||
	    spur_statistics_new(&sums, trace, &err) == SPUR_FAIL)
		return fprintf(stderr, "call-report: %s\n", err.message), 1;
	read_trace();
	printf("calls\ttotal\tself\tavg\tmin\tmax\tp50\tp90\tp99\tstdev\tunfinished\tfunction\n");
	for (uint32_t cls = 0; cls < spur_class_count(trace); cls++)
		if (spur_statistics_of(sums, cls, &l))
			printf("%ju\t%ju\t%ju\t%ju\t%ju\t%ju\t%ju\t%ju\t%ju\t%ju\t%ju\t%s\n",
			       l.calls, l.total, l.self,
			       l.avg, l.min, l.max, l.p50, l.p90, l.p99, l.stdev, l.unfinished,
			       cls ? spur_string(trace, l.name, NULL) : "(off CPU)");
	const bool failed = spur_last_error(trace, &err);
	if (failed)
		fprintf(stderr, "call-report: %s\n", err.message);
	spur_statistics_free(sums);
	spur_close(trace);
	return failed;
}
