/*
 * Strings that events name by ids, and points that have such names. Each event has a number, which
 * says what its string or its name must be: "string N", "name N".
 * strings WHAT: known | many N | threads | forks | restart PATH
 */
#include <pthread.h>
#include <spur_trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, EACH = 2000 };

static uint64_t string(const char *what, uint64_t n)
{
	char s[32];

	snprintf(s, sizeof(s), "%s %llu", what, (unsigned long long)n);
	return spur_trace_string(s);
}

static void argument(uint64_t n)
{
	SPUR_TRACE_INSTANT("app", "argument", (U64, "n", n), (STRING, "s", string("string", n)));
}

static void named(uint64_t n)
{
	SPUR_TRACE_SPAN_NAMED("app", string("name", n), (U64, "n", n));
	SPUR_TRACE_INSTANT_NAMED("app", string("name", n), (U64, "n", n));
}

static unsigned asked;

static uint64_t asked_for(const char *s)
{
	asked++;
	return spur_trace_string(s);
}

static void known(void)
{
	char text[SPUR_TRACE_TEXT_MAX + 8];
	const uint64_t a = spur_trace_string("alpha");

	/* 479 letters and a character of 2 bytes, of which only one would fit. */
	memset(text, 'x', sizeof(text));
	memcpy(text + SPUR_TRACE_TEXT_MAX - 1, "\xc3\xa9", 3);
	printf("%d %d\n", a && a == spur_trace_string("alpha"), a != spur_trace_string("beta"));
	SPUR_TRACE_INSTANT("a", "strings", (STRING, "a", a), (STRING, "empty", asked_for("")),
			   (STRING, "none", spur_trace_string(NULL)), (STRING, "zero", 0));
	SPUR_TRACE_INSTANT("a", "long", (STRING, "s", spur_trace_string(text)));
	SPUR_TRACE_COUNTER_NAMED("a", a, (U64, "value", 7));
	SPUR_TRACE_BEGIN_NAMED("a", a, (STRING, "s", a));
	SPUR_TRACE_INSTANT_NAMED("a", 0);
	SPUR_TRACE_INSTANT_NAMED("a", UINT64_MAX);
	SPUR_TRACE_INSTANT_NAMED("a", a + 1);
	SPUR_TRACE_END();
	spur_trace_enable("off", false);
	SPUR_TRACE_INSTANT_NAMED("off", asked_for("name"), (STRING, "s", asked_for("value")));
	SPUR_TRACE_INSTANT_NAMED("off", asked_for("name"), (STRING, "s", asked_for("value")));
	/* The first time a point does not know yet that it is off. */
	SPUR_TRACE_INSTANT("a", "asked", (U64, "times", asked));
}

static void many(uint64_t count)
{
	uint64_t with_id = 0;

	for (uint64_t n = 0; n < count; n++)
		with_id += string("string", n) != 0;
	printf("%llu\n", (unsigned long long)with_id);
	for (uint64_t n = 0; n < count; n += 1000)
		argument(n);
	for (uint64_t n = 0; n < count; n++)
		SPUR_TRACE_INSTANT_NAMED("app", string("string", n), (U64, "n", n));
}

/* Each thread goes through the same numbers from a place of its own. */
static void *thread(void *from)
{
	for (uint64_t i = 0; i < EACH; i++) {
		argument((i + (uintptr_t)from * 500) % EACH);
		named((i * 7 + (uintptr_t)from) % EACH);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, thread, (void *)i))
			abort();
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void forks(void)
{
	for (uint64_t n = 0; n < 10; n++)
		named(n);
	if (!fork()) {
		for (uint64_t n = 5; n < 15; n++) {
			argument(n);
			named(n);
		}
		exit(0);
	}
	wait(NULL);
	argument(1);
}

static void restart(const char *path)
{
	for (int i = 0; i < 2; i++) {
		if (spur_trace_start(path))
			abort();
		argument(1);
		named(2);
		spur_trace_stop();
	}
}

int main(int argc, char **argv)
{
	const char *const what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "known") == 0)
		known();
	else if (strcmp(what, "many") == 0 && argc > 2)
		many(strtoull(argv[2], NULL, 10));
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "forks") == 0)
		forks();
	else if (strcmp(what, "restart") == 0 && argc > 2)
		restart(argv[2]);
	else
		return 2;
	return 0;
}
