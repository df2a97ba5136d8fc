/* Lists the ten longest calls of a trace: longest-calls TRACE */
#include <inttypes.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOP = 10, DEPTH = 4096 };

int main(int argc, char **argv)
{
	struct call { int64_t dur, ts; uint32_t name; } top[TOP + 1] = { 0 };
	int64_t (*begin)[DEPTH] = NULL; /* of each track's open spans */
	uint32_t *depth = NULL, tracks = 0;
	const struct spur_event *e;
	struct spur_trace *t;
	struct spur_error err;

	if (argc != 2 || spur_open(&t, argv[1], NULL, &err) == SPUR_FAIL)
		return fprintf(stderr, "longest-calls: %s\n", argc != 2 ? "needs one trace" : err.message), 1;
	for (size_t n; spur_next(t, &e, &n) == SPUR_OK;) {
		for (const struct spur_event *end = e + n; e < end; e++) {
			for (; tracks <= e->track; tracks++) {
				begin = realloc(begin, (tracks + 1) * sizeof(*begin));
				depth = realloc(depth, (tracks + 1) * sizeof(*depth));
				depth[tracks] = 0;
			}
			if (e->kind == SPUR_BEGIN && depth[e->track]++ < DEPTH)
				begin[e->track][depth[e->track] - 1] = e->ts;
			if (e->kind != SPUR_END_SPAN || depth[e->track] == 0 || --depth[e->track] >= DEPTH)
				continue;
			struct call c = { 0, begin[e->track][depth[e->track]], e->name };
			int i = TOP;
			for (c.dur = e->ts - c.ts; i > 0 && top[i - 1].dur < c.dur; i--)
				top[i] = top[i - 1];
			top[i] = c;
		}
	}
	for (int i = 0; i < TOP && top[i].dur; i++)
		printf("%12" PRId64 " ns  at %" PRId64 "  %s\n", top[i].dur, top[i].ts, spur_string(t, top[i].name, NULL));
	spur_close(t);
	return 0; /* the system takes the rest back */
}
