/*
 * Exceptions whose destructors have larger frames than the calls that were left, and handlers that
 * unwind while an exception is thrown.
 *
 *	landings [signals [SECONDS]]
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <execinfo.h>
#include <sys/time.h>

#define KEEP __attribute__((noinline))

static volatile long sum;

struct large {
	KEEP ~large()
	{
		volatile char room[3000];

		for (unsigned i = 0; i < sizeof(room); i += 100)
			room[i] = 1;
		sum += room[100];
	}
};

KEEP static void thrower()
{
	if (sum >= 0)
		throw 1;
}

KEEP static void middle()
{
	thrower();
	sum++;
}

KEEP static void outer()
{
	large l;

	middle();
}

KEEP static void catcher()
{
	try {
		outer();
	} catch (int) {
		sum++;
	}
}

/* Where libgcc goes on at a landing pad, backtrace() may crash, without a recorder as well: the handler returns then. */
static sigjmp_buf crashed;
static volatile sig_atomic_t unwinding;

static void crash(int signal)
{
	if (unwinding)
		siglongjmp(crashed, 1);
	std::signal(signal, SIG_DFL);
}

static void handler(int)
{
	void *to[64];

	if (sigsetjmp(crashed, 1) == 0) {
		unwinding = 1;
		sum += backtrace(to, 64);
	}
	unwinding = 0;
}

int main(int argc, char **argv)
{
	const struct itimerval each = { { 0, 200 }, { 0, 200 } };
	struct sigaction a = {};

	if (argc == 1) {
		for (int i = 0; i < 3; i++)
			catcher();
		return 0;
	}
	/* The first time, it loads a library. */
	handler(0);
	a.sa_handler = crash;
	sigaction(SIGSEGV, &a, nullptr);
	sigaction(SIGBUS, &a, nullptr);
	a.sa_handler = handler;
	sigaction(SIGPROF, &a, nullptr);
	setitimer(ITIMER_PROF, &each, nullptr);
	if (argc > 2)
		for (const time_t end = time(nullptr) + atoi(argv[2]); time(nullptr) < end;)
			catcher();
	for (int i = 0; i < 50000; i++)
		catcher();
	puts("done");
	return 0;
}
