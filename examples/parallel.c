/* Counts events by kind, feeds side by side on four threads: parallel TRACE */
#include <inttypes.h>
#include <pthread.h>
#include <spur.h>
#include <stdio.h>

enum { THREADS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct spur_trace *trace;
static size_t next_feed; /* under lock, as the sums are */
static uint64_t sums[SPUR_KINDS];
static bool failed;

static size_t take_feed(void)
{
	size_t number;

	pthread_mutex_lock(&lock);
	number = next_feed++;
	pthread_mutex_unlock(&lock);
	return number;
}

static void *work(void *unused)
{
	const struct spur_event *rows;
	uint64_t own[SPUR_KINDS] = { 0 };
	enum spur_status st = SPUR_END;
	struct spur_feed *feed;
	size_t number, n;

	while (st == SPUR_END && (number = take_feed()) < spur_feed_count(trace)) {
		st = spur_feed_open(&feed, trace, number, NULL);
		while (st == SPUR_OK && (st = spur_feed_next(feed, &rows, &n)) == SPUR_OK)
			for (size_t i = 0; i < n; i++)
				own[rows[i].kind]++;
		spur_feed_close(feed);
	}
	pthread_mutex_lock(&lock);
	for (int k = 0; k < SPUR_KINDS; k++)
		sums[k] += own[k];
	failed |= st == SPUR_FAIL;
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	struct spur_error err;
	int n = 0;

	if (argc != 2)
		return fprintf(stderr, "parallel: expected one trace\n"), 2;
	if (spur_open(&trace, argv[1], NULL, &err) == SPUR_FAIL)
		return fprintf(stderr, "parallel: %s\n", err.message), 1;
	while (n < THREADS - 1 && pthread_create(&threads[n], NULL, work, NULL) == 0)
		n++;
	work(NULL);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	for (unsigned k = 0; k < SPUR_KINDS; k++)
		if (sums[k])
			printf("%s %" PRIu64 "\n", spur_kind_name(k), sums[k]);
	if (failed && spur_last_error(trace, &err))
		fprintf(stderr, "parallel: %s\n", err.message);
	spur_close(trace);
	return failed;
}
