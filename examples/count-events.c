/* Counts the events of each thread, by kind: count-events TRACE */
#include <inttypes.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t (*counts)[SPUR_KINDS]; /* by track */
static size_t tracks;

/* Tracks may be added while rows are read. */
static int make_room(size_t n)
{
	void *p = n > tracks ? realloc(counts, n * sizeof(*counts)) : counts;

	if (n > tracks && p) {
		counts = (uint64_t(*)[SPUR_KINDS])p;
		memset(counts + tracks, 0, (n - tracks) * sizeof(*counts));
		tracks = n;
	}
	return n <= tracks;
}

static void print(const struct spur_trace *t, uint32_t id)
{
	const struct spur_track *track = spur_track(t, id);

	if (track->kind != SPUR_TRACK_THREAD)
		return;
	printf("%s %" PRId64 ":", spur_string(t, track->name, NULL), track->tid);
	for (unsigned k = 0; k < SPUR_KINDS; k++)
		if (counts[id][k])
			printf(" %s %" PRIu64, spur_kind_name(k), counts[id][k]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	const struct spur_event *e;
	enum spur_status st;
	struct spur_trace *t;
	struct spur_error err;
	size_t n;

	if (argc != 2)
		return fprintf(stderr, "count-events: expected one trace\n"), 2;
	if (spur_open(&t, argv[1], NULL, &err) == SPUR_FAIL)
		return fprintf(stderr, "count-events: %s\n", err.message), 1;
	while ((st = spur_next(t, &e, &n)) == SPUR_OK && make_room(spur_track_count(t)))
		for (size_t i = 0; i < n; i++)
			if (e[i].track != SPUR_NONE)
				counts[e[i].track][e[i].kind]++;
	if (st != SPUR_END)
		fprintf(stderr, "count-events: out of memory\n");
	for (uint32_t i = 0; i < tracks; i++)
		print(t, i);
	spur_close(t);
	free(counts);
	return st != SPUR_END;
}
