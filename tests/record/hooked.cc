/*
 * Calls that end in every way, and how they nest: each function writes its depth and name when it
 * is entered, independently of any recorder. `hooked` prints them by track; hooked.py compares.
 *
 *	hooked [survive]
 *
 * `survive` runs what no sequence can be told of, as signals at any moment, and prints results.
 */
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(SLEDS)
#define BARE __attribute__((xray_never_instrument, noinline))
#define FULL __attribute__((xray_always_instrument, noinline))
#elif defined(NOPS)
#define BARE __attribute__((patchable_function_entry(0, 0), noinline))
#define FULL __attribute__((noinline))
#else
#define BARE __attribute__((no_instrument_function, noinline))
#define FULL __attribute__((noinline))
#endif

/* --- what each track did --- */

struct track {
	int depth;
	char text[1 << 16];
	size_t len;
};

static struct track tracks[8];
static __thread struct track *now;
static volatile long sink;

BARE static void note(const char *name)
{
	now->len += (size_t)snprintf(now->text + now->len, sizeof(now->text) - now->len, "%d %s\n",
				     now->depth++, name);
}

struct call {
	BARE call(const char *name) { note(name); }
	BARE ~call() { now->depth--; }
};

#define CALL call call_(__func__)

/* --- exceptions --- */

FULL static long thrower(int d)
{
	CALL;
	if (!d)
		throw std::runtime_error("deep");
	sink += thrower(d - 1);
	return sink;
}

FULL static void after(int d)
{
	CALL;
	sink += d;
}

FULL static void catcher(int d)
{
	CALL;
	try {
		thrower(d);
	} catch (const std::exception &e) {
		/* What follows is lower on the stack than what was left. */
		char *p = (char *)alloca(2000 + (size_t)d);
		memset(p, d, 2000);
		sink += p[7];
		after(1);
	}
	after(2);
}

FULL static void rethrower(int d)
{
	CALL;
	try {
		thrower(d);
	} catch (...) {
		after(3);
		throw;
	}
}

/* --- jumps --- */

static jmp_buf back;

FULL static void jumper(int d)
{
	CALL;
	if (!d)
		longjmp(back, 7);
	jumper(d - 1);
	sink++;
}

FULL static void jumps()
{
	CALL;
	for (volatile int i = 0; i < 4; i++) {
		volatile int depth = now->depth;

		if (!setjmp(back)) {
			jumper(i);
		} else {
			now->depth = depth;
			char *p = (char *)alloca(500);
			memset(p, 1, 500);
			sink += p[3];
			after(4);
		}
	}
}

/* --- signals --- */

static sigjmp_buf out;
static volatile int leave;

FULL static void handled(int d)
{
	CALL;
	if (d)
		handled(d - 1);
	else if (leave)
		siglongjmp(out, 1);
}

BARE static void on_signal(int)
{
	handled(2);
}

FULL static void signals()
{
	CALL;
	struct sigaction a = {};

	a.sa_handler = on_signal;
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &a, NULL);
	leave = 0;
	raise(SIGUSR1);
	after(5);
	leave = 1;
	for (volatile int i = 0; i < 2; i++) {
		volatile int depth = now->depth;

		if (!sigsetjmp(out, 1))
			raise(SIGUSR1);
		now->depth = depth;
		after(6);
	}
	leave = 0;
	raise(SIGUSR1);
}

/* --- fibers --- */

static ucontext_t home, fibers[2];
static struct track *kept;

FULL static void swap(int k)
{
	CALL;
	struct track *const mine = now;

	now = kept;
	swapcontext(&fibers[k], &home);
	now = mine;
}

FULL static void descend(int k, int d)
{
	CALL;
	if (d)
		descend(k, d - 1);
	else
		swap(k);
	sink++;
}

BARE static void fiber(int k)
{
	now = &tracks[6 + k];
	for (int i = 0; i < 3; i++)
		descend(k, i);
	now = kept;
}

FULL static void runner()
{
	CALL;
	static char stacks[2][1 << 16];

	kept = now;
	for (int k = 0; k < 2; k++) {
		getcontext(&fibers[k]);
		fibers[k].uc_stack.ss_sp = k ? (void *)stacks[k] : malloc(1 << 16);
		fibers[k].uc_stack.ss_size = 1 << 16;
		fibers[k].uc_link = &home;
		makecontext(&fibers[k], (void (*)())fiber, 1, k);
	}
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 2; k++) {
			swapcontext(&home, &fibers[k]);
			after(7);
		}
}

/* --- threads --- */

FULL static void exiter(int d)
{
	CALL;
	if (!d)
		pthread_exit((void *)42);
	exiter(d - 1);
	sink++;
}

BARE static void *thread(void *p)
{
	now = (struct track *)p;
	catcher(2);
	exiter(3);
	return NULL;
}

FULL static long deep(long d)
{
	char room[100];

	memset(room, (int)d, sizeof(room));
	sink += room[d % 100];
	return d ? deep(d - 1) + 1 : 0;
}

BARE static int sequence()
{
	pthread_t t;
	stack_t s = {};

	s.ss_sp = malloc(1 << 16);
	s.ss_size = 1 << 16;
	sigaltstack(&s, NULL);
	now = &tracks[0];
	for (int i = 0; i < 5; i++)
		catcher(i);
	try {
		rethrower(3);
	} catch (...) {
		after(8);
	}
	jumps();
	signals();
	runner();
	for (int i = 1; i < 3; i++) {
		pthread_create(&t, NULL, thread, &tracks[i]);
		pthread_join(t, NULL);
	}
	after(9);
	for (const struct track &x : tracks)
		if (x.len)
			printf("track\n%s", x.text);
	return 0;
}

/* --- what must come out the same --- */

FULL static long many(long a, long b, long c, long d, long e, long f, long g, long h, double x,
		      double y, long double z)
{
	sink++;
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (long)(x + 2 * y) +
	       (long)z;
}

struct big {
	long v[9];
};
struct mixed {
	double a;
	long b;
};

FULL static big make_big(int k)
{
	big b;

	for (int i = 0; i < 9; i++)
		b.v[i] = i * k;
	return b;
}

FULL static mixed make_mixed(int k)
{
	return { k * 1.5, k };
}

FULL static long double thrice(long double x)
{
	return 3 * x;
}

FULL static __int128 square(__int128 x)
{
	return x * x;
}

FULL static long sum(int n, ...)
{
	va_list ap;
	double s = 0;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		s += i & 1 ? va_arg(ap, double) : (double)va_arg(ap, int);
	va_end(ap);
	return (long)s;
}

FULL static long odd(long n);
FULL static long even(long n)
{
	return n ? odd(n - 1) : 1;
}
FULL static long odd(long n)
{
	return n ? even(n - 1) : 0;
}

static volatile sig_atomic_t ticks;

FULL static void tick()
{
	ticks++;
}

BARE static void on_alarm(int)
{
	tick();
}

FULL static long work(long n)
{
	long r = 0;

	for (long i = 0; i < n; i++)
		r += many(i, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3);
	return r;
}

BARE static void *worker(void *)
{
	return (void *)work(3000);
}

FULL static void sleeper(int d)
{
	if (d) {
		sleeper(d - 1);
		sink++;
		return;
	}
	for (;;)
		usleep(1000);
}

static volatile int asleep;

BARE static void *cancelled(void *)
{
	asleep = 1;
	sleeper(4);
	return NULL;
}

FULL static int frames(int d)
{
	void *all[64];
	const int n = d ? frames(d - 1) : backtrace(all, 64);

	sink++;
	return n;
}

BARE static void on_fault(int)
{
	siglongjmp(out, 1);
}

/* Each call needs the memory of the one before, so no compiler makes a loop of them. */
FULL static long overflow(long d, const char *above)
{
	char room[4096];

	memset(room, above ? above[d & 4095] : 1, sizeof(room));
	return overflow(d + 1, room) + room[3] + (above ? above[5] : 0);
}

BARE static void handle(int number, void (*handler)(int))
{
	struct sigaction a = {};

	a.sa_handler = handler;
	a.sa_flags = SA_ONSTACK | SA_RESTART;
	sigaction(number, &a, NULL);
}

BARE static void survive_signals()
{
	itimerval often = { { 0, 300 }, { 0, 300 } }, never = {};

	handle(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	while (ticks < 50)
		work(1000);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("signals\n");
}

BARE static void survive_threads()
{
	pthread_t t[8];
	void *r;
	long all = 0;

	for (pthread_t &x : t)
		pthread_create(&x, NULL, worker, NULL);
	for (pthread_t x : t) {
		pthread_join(x, &r);
		all += (long)r;
	}
	pthread_create(t, NULL, cancelled, NULL);
	while (!asleep)
		usleep(1000);
	pthread_cancel(t[0]);
	pthread_join(t[0], &r);
	printf("threads %ld cancelled %d\n", all, r == PTHREAD_CANCELED);
}

BARE static void survive_processes()
{
	int status;

	fflush(stdout);
	pid_t p = fork();
	if (!p) {
		printf("child %ld\n", work(100));
		fflush(stdout);
		_exit(3);
	}
	waitpid(p, &status, 0);
	printf("fork %d\n", WEXITSTATUS(status));
	fflush(stdout);
	p = vfork();
	if (!p) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(p, &status, 0);
	printf("vfork %d\n", WEXITSTATUS(status));
}

BARE static int survive()
{
	stack_t s = {};

	s.ss_sp = malloc(1 << 16);
	s.ss_size = 1 << 16;
	sigaltstack(&s, NULL);
	printf("values %ld %ld %g %ld %Lg %ld %ld\n", many(1, 2, 3, 4, 5, 6, 7, 8, 1.5, 2.5, 9.0L),
	       make_big(3).v[8], make_mixed(4).a, make_mixed(4).b, thrice(1.25L),
	       (long)(square((__int128)1 << 40) >> 70), sum(5, 1, 2.5, 3, 4.5, 5));
	printf("tail calls %ld %ld deep %ld\n", even(2000), odd(2001), deep(20000));
	survive_signals();
	survive_threads();
	survive_processes();
	printf("frames %d\n", frames(10) - frames(0));
	handle(SIGSEGV, on_fault);
	volatile long n = 0;
	for (volatile int i = 0; i < 3; i++)
		if (!sigsetjmp(out, 1))
			overflow(0, NULL);
		else
			n++;
	printf("overflows %ld\n", (long)n);
	return 0;
}

BARE int main(int argc, char **)
{
	return argc > 1 ? survive() : sequence();
}
