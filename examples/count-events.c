/* Counts the events of each thread, by kind: count-events TRACE */
#include <inttypes.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	uint64_t (*counts)[SPUR_KINDS] = NULL;
	const struct spur_event *e;
	struct spur_trace *t;
	struct spur_error err;
	size_t tracks = 0;

	if (argc != 2 || spur_open(&t, argv[1], NULL, &err) == SPUR_FAIL)
		return fprintf(stderr, "count-events: %s\n", argc != 2 ? "needs one trace" : err.message), 1;
	for (size_t n; spur_next(t, &e, &n) == SPUR_OK;) {
		if (spur_track_count(t) > tracks) {
			counts = realloc(counts, spur_track_count(t) * sizeof(*counts));
			memset(counts + tracks, 0, (spur_track_count(t) - tracks) * sizeof(*counts));
			tracks = spur_track_count(t);
		}
		for (size_t i = 0; i < n; i++)
			counts[e[i].track][e[i].kind]++;
	}
	for (uint32_t i = 0; i < tracks; i++) {
		const struct spur_track *track = spur_track(t, i);
		if (track->kind != SPUR_TRACK_THREAD && track->kind != SPUR_TRACK_LANE)
			continue;
		printf("%s %" PRId64 ":", spur_string(t, track->name, NULL), track->tid);
		for (unsigned k = 0; k < SPUR_KINDS; k++)
			if (counts[i][k])
				printf(" %s %" PRIu64, spur_kind_name(k), counts[i][k]);
		putchar('\n');
	}
	spur_close(t);
	free(counts);
	return 0;
}
