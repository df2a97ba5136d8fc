/*
 * A signal handler comes while a record is being stored, and stores far more than stays mapped
 * before that record is completed: deep_handler ROUNDS EVENTS. Says how many events it made.
 */
#include <spur_trace.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static long events, made;

static void on_signal(int sig)
{
	(void)sig;
	for (long i = 0; i < events; i++)
		SPUR_TRACE_INSTANT("test", "inside", (I64, "n", i));
	made += events;
}

/* Stores an instant as SPUR_TRACE_INSTANT() does, with a signal between its room and its words. */
static void interrupted(struct spur_trace_site *site, long n)
{
	const uint32_t number = spur_trace_number(site);
	const uint64_t ticks = spur_trace_clock();
	char *const p = spur_trace_reserve(16);

	raise(SIGUSR1);
	if (p) {
		spur_trace_copy(p + 8, &n, 8);
		spur_trace_commit(p, 3, 1, number, ticks);
	}
	made++;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "n" };
	static const unsigned char types[] = { SPUR_TRACE_TYPE_I64 };
	static struct spur_trace_site site = { .kind = 2, .category = "test",
					       .name = "outside", .file = __FILE__,
					       .nargs = 1, .arg_names = names, .arg_types = types };
	const long rounds = argc > 1 ? atol(argv[1]) : 1;

	events = argc > 2 ? atol(argv[2]) : 1;
	signal(SIGUSR1, on_signal);
	for (long i = 0; i < rounds; i++) {
		/* At another place of its page each time, so at the end of one too. */
		for (long k = 0; k <= i % 256; k++, made++)
			SPUR_TRACE_INSTANT("test", "before");
		interrupted(&site, i);
	}
	printf("%ld\n", made);
	return 0;
}
