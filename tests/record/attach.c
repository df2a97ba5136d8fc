/*
 * A program that is recorded while it runs. Its threads work or wait in all ways that a signal would
 * interrupt, and it checks what they see. Commands on standard input: "mark" makes a number of
 * calls of marked functions and says "marked", "fork" starts a child that does the same, "spawn" one
 * that goes on, "load PATH" opens and closes a library, "quit" ends it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4, MARKS = 1000, DEPTH = 10, SPINS = 20000 };

static volatile int stop;
static int interrupted; /* waits that a signal would have ended */
static int wrong; /* results */
static int idle_pipe[2];
static sem_t never;

#define NOINLINE __attribute__((noinline))

NOINLINE long marked_leaf(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

/* Floating-point arguments must survive as integers do. */
NOINLINE double marked_float(double a, float b, long c)
{
	__asm__ volatile("" : "+r"(c));
	return a * 2 + (double)b + (double)c;
}

NOINLINE long marked_deep(long n)
{
	return n ? marked_deep(n - 1) + marked_leaf(n) : 0;
}

static jmp_buf back;

NOINLINE void marked_jump(int n)
{
	if (n)
		marked_jump(n - 1);
	else
		longjmp(back, 1);
	__asm__ volatile("");
}

NOINLINE long busy_leaf(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x ^ 5;
}

NOINLINE long busy(long x)
{
	long sum = 0;

	for (long i = 0; i < 20; i++)
		sum += busy_leaf(x + i) ^ 5;
	return sum;
}

static void mark(void)
{
	for (int i = 0; i < MARKS; i++) {
		if (marked_deep(DEPTH) != DEPTH * (DEPTH + 1) / 2 + DEPTH)
			wrong++;
		if (marked_float(1.5, 0.25f, i) != 3.25 + i)
			wrong++;
		if (a64l("/") != 1)
			wrong++;
	}
	for (int i = 0; i < 10; i++)
		if (!setjmp(back))
			marked_jump(3);
}

/* --- threads --- */

static void *work(void *arg)
{
	const struct timespec pause = { 0, 500000 };

	while (!stop) {
		void *p = malloc(100 + (size_t)arg);

		for (long i = 0; i < 100; i++)
			if (busy(i) != 20 * i + 190)
				__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
		free(p);
		/* One of them never waits, and mostly runs code that is not recorded. */
		if (arg)
			nanosleep(&pause, NULL);
		for (int i = 0; i < SPINS && !arg; i++)
			__asm__ volatile("pause");
	}
	return NULL;
}

static void *wait_sleep(void *arg)
{
	while (!stop) {
		const struct timespec t = { 0, 30000000 };

		if (nanosleep(&t, NULL))
			__atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
		busy(1);
	}
	return arg;
}

static void *wait_epoll(void *arg)
{
	const int fd = epoll_create1(0);
	struct epoll_event e = { .events = EPOLLIN };

	epoll_ctl(fd, EPOLL_CTL_ADD, idle_pipe[0], &e);
	if (epoll_wait(fd, &e, 1, -1) != 1)
		__atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
	close(fd);
	return arg;
}

static void *wait_poll(void *arg)
{
	struct pollfd p = { .fd = idle_pipe[0], .events = POLLIN };

	if (poll(&p, 1, 600000) != 1)
		__atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
	return arg;
}

static void *wait_semaphore(void *arg)
{
	if (sem_wait(&never))
		__atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
	return arg;
}

static void *wait_signal(void *arg)
{
	const struct timespec t = { 600, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (sigtimedwait(&set, NULL, &t) != SIGUSR2)
		__atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
	return arg;
}

/* --- commands --- */

static void load(const char *path)
{
	void *const m = dlopen(path, RTLD_NOW);
	long (*plug)(long) = m ? (long (*)(long))dlsym(m, "plug") : NULL;

	if (!plug || plug(20) != 21)
		wrong++;
	if (m)
		dlclose(m);
}

static void start_child(void)
{
	const pid_t child = fork();
	int status = 1;

	if (child == 0) {
		mark();
		_exit(wrong != 0);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		interrupted++;
	if (status)
		wrong++;
}

/* A child that runs as long as the program. */
static void spawn_child(void)
{
	const struct timespec t = { 0, 1000000 };

	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() != 1) {
			busy(1);
			nanosleep(&t, NULL);
		}
		_exit(0);
	}
}

static void command(char *line)
{
	line[strcspn(line, "\n")] = '\0';
	if (strcmp(line, "mark") == 0)
		mark();
	else if (strcmp(line, "fork") == 0)
		start_child();
	else if (strcmp(line, "spawn") == 0)
		spawn_child();
	else if (strncmp(line, "load ", 5) == 0)
		load(line + 5);
	printf("%sed\n", line[0] == 'l' ? "load" : line);
	fflush(stdout);
}

int main(void)
{
	static void *(*const waits[])(void *) = { wait_sleep, wait_epoll, wait_poll, wait_semaphore,
						  wait_signal };
	enum { WAITS = sizeof(waits) / sizeof(waits[0]) };
	pthread_t threads[WORKERS + WAITS];
	char line[256];
	size_t have = 0;
	sigset_t set;

	/* With -pg the process gets SIGPROF, which the system gives to any thread that takes it. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pipe(idle_pipe))
		return 1;
	sem_init(&never, 0, 0);
	for (size_t i = 0; i < WORKERS + WAITS; i++)
		pthread_create(&threads[i], NULL, i < WORKERS ? work : waits[i - WORKERS],
			       (void *)i);
	/* Byte by byte, so that the thread waits in read(). */
	while (!stop) {
		const ssize_t n = read(0, line + have, 1);

		if (n != 1) {
			interrupted += n < 0;
			if (n == 0)
				break;
		} else if (line[have] == '\n' || have + 2 == sizeof(line)) {
			line[have + 1] = '\0';
			have = 0;
			if (strcmp(line, "quit\n") == 0)
				break;
			command(line);
		} else {
			have++;
		}
	}
	stop = 1;
	if (write(idle_pipe[1], "", 1) != 1)
		wrong++;
	sem_post(&never);
	kill(getpid(), SIGUSR2);
	for (size_t i = 0; i < WORKERS + WAITS; i++)
		pthread_join(threads[i], NULL);
	printf("%d wrong, %d interrupted\n", wrong, interrupted);
	return 0;
}
