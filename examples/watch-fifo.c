/* Prints function calls as they arrive; the trace, or files of it, may be pipes: watch-fifo TRACE */
#include <inttypes.h>
#include <spur.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	const struct spur_options opt = { .threads = 1 };
	const struct spur_event *e;
	struct spur_trace *t;
	struct spur_error err;
	struct spur_damage d;

	if (argc != 2 || spur_open(&t, argv[1], &opt, &err) == SPUR_FAIL)
		return fprintf(stderr, "watch-fifo: %s\n", argc != 2 ? "needs one trace" : err.message), 1;
	for (size_t n; spur_next(t, &e, &n) == SPUR_OK;) {
		for (size_t i = 0; i < n; i++)
			if (e[i].kind == SPUR_BEGIN)
				printf("%" PRId64 " %*s%s\n", e[i].ts, 2 * e[i].depth, "",
				       spur_string(t, e[i].name, NULL));
		fflush(stdout);
	}
	for (size_t i = 0; i < spur_damage_count(t); i++)
		if (spur_damage(t, i, &d) && d.is_damage)
			fprintf(stderr, "watch-fifo: %s: %s (%" PRIu64 ")\n", d.file, d.first, d.count);
	spur_close(t);
	return 0;
}
