/*
 * Prints function calls as they arrive; the trace, or files of it, may be pipes: watch-fifo TRACE
 */
#include <inttypes.h>
#include <spur.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct spur_options opt = spur_options_default();
	const struct spur_event *e;
	enum spur_status st;
	struct spur_trace *t;
	struct spur_error err;
	struct spur_damage d;
	size_t n;

	if (argc != 2)
		return fprintf(stderr, "watch-fifo: expected one trace\n"), 2;
	opt.threads = 1;
	if (spur_open(&t, argv[1], &opt, &err) == SPUR_FAIL)
		return fprintf(stderr, "watch-fifo: %s\n", err.message), 1;
	while ((st = spur_next(t, &e, &n)) == SPUR_OK) {
		for (size_t i = 0; i < n; i++)
			if (e[i].kind == SPUR_BEGIN)
				printf("%" PRId64 " %*s%s\n", e[i].ts, 2 * e[i].depth, "",
				       spur_string(t, e[i].name, NULL));
		fflush(stdout);
	}
	if (st == SPUR_FAIL && spur_last_error(t, &err))
		fprintf(stderr, "watch-fifo: %s\n", err.message);
	n = spur_damage_count(t);
	for (size_t i = 0; i < n; i++)
		if (spur_damage(t, i, &d) && d.is_damage)
			fprintf(stderr, "watch-fifo: %s: %s (%" PRIu64 ")\n", d.file, d.first,
				d.count);
	spur_close(t);
	return st == SPUR_FAIL;
}
