/* Lists the ten longest calls that ended: longest-calls TRACE */
#include <inttypes.h>
#include <spur.h>
#include <stdio.h>

enum { TOP = 10 };

static struct spur_span top[TOP + 1];
static int found;

/* Of calls that are equally long the first to end stays in front. */
static void take(const struct spur_span *spans, size_t n)
{
	const unsigned unknown = SPUR_SPAN_OPEN | SPUR_SPAN_NO_BEGIN | SPUR_SPAN_OFF_CPU;

	for (size_t k = 0; k < n; k++) {
		int i = found;

		if (spans[k].flags & unknown)
			continue;
		for (; i > 0 && top[i - 1].dur < spans[k].dur; i--)
			top[i] = top[i - 1];
		top[i] = spans[k];
		found += found < TOP;
	}
}

int main(int argc, char **argv)
{
	const struct spur_span *spans;
	const struct spur_event *rows;
	struct spur_pairing *p;
	struct spur_trace *t;
	struct spur_error err;
	enum spur_status st;
	size_t n, m;

	if (argc != 2)
		return fprintf(stderr, "longest-calls: expected one trace\n"), 2;
	if (spur_open(&t, argv[1], NULL, &err) == SPUR_FAIL ||
	    spur_pairing_new(&p, t, &err) == SPUR_FAIL)
		return fprintf(stderr, "longest-calls: %s\n", err.message), 1;
	while ((st = spur_next(t, &rows, &n)) == SPUR_OK &&
	       (st = spur_pairing_rows(p, rows, n, &spans, &m)) == SPUR_OK)
		take(spans, m);
	if (st == SPUR_END && (st = spur_pairing_end(p, &spans, &m)) == SPUR_OK)
		take(spans, m);
	for (int i = 0; i < found; i++)
		printf("%12" PRId64 " ns  at %" PRId64 "  %s\n", top[i].dur, top[i].begin,
		       spur_string(t, top[i].name, NULL));
	if (st == SPUR_FAIL && spur_last_error(t, &err))
		fprintf(stderr, "longest-calls: %s\n", err.message);
	spur_pairing_free(p);
	spur_close(t);
	return st == SPUR_FAIL;
}
