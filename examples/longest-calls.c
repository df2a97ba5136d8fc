/* Lists the ten longest calls of a trace: longest-calls TRACE */
#include <inttypes.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOP = 10, DEPTH = 4096 };

int main(int argc, char **argv)
{
	struct call { int64_t dur, ts; uint32_t name; } top[TOP + 1] = { 0 };
	struct stack { uint32_t depth; int64_t begin[DEPTH]; } *stacks = NULL, *s; /* by track */
	const struct spur_event *e;
	struct spur_trace *t;
	struct spur_error err;
	uint32_t tracks = 0;

	if (argc != 2 || spur_open(&t, argv[1], NULL, &err) == SPUR_FAIL)
		return fprintf(stderr, "longest-calls: %s\n", argc != 2 ? "needs one trace" : err.message), 1;
	for (size_t n; spur_next(t, &e, &n) == SPUR_OK;)
		for (const struct spur_event *end = e + n; e < end; e++) {
			for (; tracks <= e->track; stacks[tracks++].depth = 0)
				if (!(stacks = realloc(stacks, (tracks + 1) * sizeof(*stacks))))
					return 1;
			s = &stacks[e->track];
			if (e->kind == SPUR_BEGIN && s->depth++ < DEPTH)
				s->begin[s->depth - 1] = e->ts;
			if (e->kind != SPUR_END_SPAN || s->depth == 0 || --s->depth >= DEPTH)
				continue;
			struct call c = { e->ts - s->begin[s->depth], s->begin[s->depth], e->name };
			int i = TOP;
			for (; i > 0 && top[i - 1].dur < c.dur; i--)
				top[i] = top[i - 1];
			top[i] = c;
		}
	for (const struct call *c = top; c < top + TOP && c->dur; c++)
		printf("%12" PRId64 " ns  at %" PRId64 "  %s\n", c->dur, c->ts, spur_string(t, c->name, NULL));
	spur_close(t);
	return 0; /* the system takes the rest back */
}
