/*
 * Decodes a trace in full by the public interface: every value of every event is made and read.
 *
 *	decode TRACE
 *
 * Prints how many events there are, how many values they have, and the sum of these: numbers as
 * they are, floating point numbers by their bits as doubles, texts by their lengths, modulo 2^64.
 * decode-babeltrace2.c says the same of a CTF trace, so that both are known to do the same work.
 */
#include <spur.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct sums {
	unsigned long long events, values;
	uint64_t sum;
};

static void value_add(struct sums *s, const struct spur_value *v)
{
	switch ((enum spur_type)v->type) {
	case SPUR_STRUCT:
	case SPUR_ARRAY:
		for (uint32_t i = 0; i < v->count; i++)
			value_add(s, &v->items[i]);
		return;
	case SPUR_STRING:
	case SPUR_BYTES:
		s->sum += v->count;
		break;
	default:
		/* Numbers share their eight bytes. */
		s->sum += v->type == SPUR_NULL ? 0 : v->u;
		break;
	}
	s->values++;
}

static bool trace_sum(struct spur_trace *t, struct sums *s)
{
	const struct spur_event *rows;
	struct spur_args args = { 0 };
	enum spur_status st;
	size_t n;

	while ((st = spur_next(t, &rows, &n)) == SPUR_OK)
		for (size_t i = 0; i < n; i++) {
			if (spur_args(t, &rows[i], &args) == SPUR_FAIL) {
				spur_args_free(&args);
				return false;
			}
			s->events++;
			for (size_t k = 0; k < args.count; k++)
				value_add(s, &args.items[k]);
		}
	spur_args_free(&args);
	return st == SPUR_END;
}

int main(int argc, char **argv)
{
	struct spur_trace *t;
	struct spur_error err;
	struct sums s = { 0 };
	bool good;

	if (argc != 2) {
		fprintf(stderr, "usage: decode TRACE\n");
		return 2;
	}
	if (spur_open(&t, argv[1], NULL, &err) == SPUR_FAIL) {
		fprintf(stderr, "decode: %s\n", err.message);
		return 4;
	}
	good = trace_sum(t, &s);
	if (!good)
		fprintf(stderr, "decode: %s: events are missing\n", argv[1]);
	spur_close(t);
	printf("%llu events, %llu values, sum %016llx\n", s.events, s.values,
	       (unsigned long long)s.sum);
	return good ? 0 : 5;
}
