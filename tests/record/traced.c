/*
 * Calls that are known beforehand, with the tracing library: what a recording must have.
 * traced WHAT: all | threads N | fork | switch | restart | forever | handler N | helped N |
 *	control | leave N | numbers N DUMP HOW | generations N |
 *	closes N FILE | work N
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spur_trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void leaf(int i)
{
	SPUR_TRACE_SPAN("app", "leaf", (I64, "i", i), (TEXT, "what", i % 2 ? "odd" : "even"));
	SPUR_TRACE_INSTANT("app", "tick");
}

static void work(int n)
{
	SPUR_TRACE_SPAN("app", "work", (I64, "n", n));
	for (int i = 0; i < n; i++)
		leaf(i);
}

static void all(void)
{
	char text[2000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	spur_trace_process_name("the process");
	spur_trace_thread_name("the thread");
	SPUR_TRACE_BEGIN("a", "types", (I64, "i", -1), (U64, "u", UINT64_MAX), (F64, "f", 0.5),
			 (BOOL, "b", 7), (POINTER, "p", (void *)0x1234), (TEXT, "t", "text"),
			 (TEXT, "none", NULL), (CHAR, "c", 'z'));
	SPUR_TRACE_COUNTER("a", "counter", (U64, "value", 3));
	SPUR_TRACE_ASYNC_BEGIN("a", "async", 7);
	SPUR_TRACE_ASYNC_INSTANT("a", "async", 7);
	SPUR_TRACE_ASYNC_END("a", "async", 7, (I64, "result", 1));
	SPUR_TRACE_FLOW_BEGIN("a", "flow", 8);
	SPUR_TRACE_FLOW_STEP("a", "flow", 8);
	SPUR_TRACE_FLOW_END("a", "flow", 8);
	SPUR_TRACE_LOG("a", text);
	SPUR_TRACE_END();
	spur_trace_fiber_name(5, "the fiber");
	spur_trace_fiber(5);
	work(1);
	spur_trace_fiber(0);
	work(0);
}

static void *thread(void *n)
{
	work((int)(intptr_t)n);
	return NULL;
}

static void threads(int count)
{
	pthread_t *t = (pthread_t *)calloc((size_t)count, sizeof(*t));
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	for (intptr_t i = 0; i < count; i++)
		if (pthread_create(&t[i], &small, thread, (void *)(i % 10)))
			abort();
	for (int i = 0; i < count; i++)
		pthread_join(t[i], NULL);
	pthread_attr_destroy(&small);
	free(t);
}

static void forks(void)
{
	work(3);
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			work(10 + i);
			if (!fork()) {
				work(100);
				exit(0);
			}
			wait(NULL);
			exit(0);
		}
	while (wait(NULL) > 0)
		;
	work(4);
}

static void switches(void)
{
	for (int i = 0; i < 4; i++) {
		spur_trace_enable("app", i % 2);
		work(5);
	}
}

static void restart(const char *path)
{
	work(1);
	for (int i = 0; i < 3; i++) {
		if (spur_trace_start(path))
			abort();
		work(10);
		spur_trace_stop();
		work(1000);
	}
}

static volatile sig_atomic_t handled;

static void handler(int signo)
{
	(void)signo;
	SPUR_TRACE_SPAN("app", "handler");
	SPUR_TRACE_INSTANT("app", "in handler", (I64, "n", handled));
	handled++;
}

/* Records while a timer interrupts it; says how often it did. */
static void handlers(int n)
{
	const struct itimerval every = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };

	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &every, NULL);
	work(n);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d\n", (int)handled);
}

/* Says on standard output how many instants are surely stored, until it is killed. */
static void forever(void)
{
	for (uint64_t n = 1;; n++) {
		SPUR_TRACE_INSTANT("app", "count", (U64, "n", n));
		if (n % 4096 == 0 && write(1, &n, sizeof(n)) != sizeof(n))
			abort();
	}
}

static int tasks(void)
{
	int n = 0;
	DIR *d = opendir("/proc/self/task");

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 2; /* "." and ".." */
}

static volatile sig_atomic_t strangers;
static pid_t main_id;

static void whose(int signo)
{
	(void)signo;
	strangers += (pid_t)syscall(SYS_gettid) != main_id;
}

/*
 * With the helper thread: signals come to the program's own thread alone, a child has a helper of
 * its own, and a recording can end and begin again.
 */
static void helped(int n, const char *path)
{
	int status = 1;

	main_id = (pid_t)syscall(SYS_gettid);
	signal(SIGUSR1, whose);
	work(n);
	printf("%d tasks\n", tasks());
	fflush(stdout);
	for (int i = 0; i < 1000; i++)
		kill(getpid(), SIGUSR1);
	if (!fork()) {
		work(n);
		_exit(tasks());
	}
	wait(&status);
	printf("%d tasks in the child\n", WEXITSTATUS(status));
	for (int i = 0; i < 20; i++) {
		spur_trace_stop();
		/* The helper's number is gone a moment before its task is. */
		for (int tries = 0; tasks() != 1; tries++) {
			if (tries == 60000)
				abort();
			usleep(1000);
		}
		if (spur_trace_start(path))
			abort();
		work(n);
	}
	printf("%d strangers\n", (int)strangers);
}

/* Waits until the recording is on or off; gives up after a minute. */
static void await(bool on)
{
	for (int i = 0; spur_trace_is_on() != on; i++) {
		if (i == 60000)
			abort();
		usleep(1000);
	}
}

/* Switches the recording by its file's control word as another process would. */
static void control(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char name[4096];
	uint32_t *word;
	int fd = -1;

	while (d && (e = readdir(d)))
		if (strstr(e->d_name, ".spb")) {
			snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
			fd = open(name, O_RDWR);
		}
	word = (uint32_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (word == MAP_FAILED)
		abort();
	word += 36 / 4;
	for (int i = 0; i < 3; i++) {
		work(5);
		__atomic_fetch_and(word, ~1u, __ATOMIC_SEQ_CST);
		/* No one looks yet the first time: a thread does when it needs a chunk. */
		while (i == 0 && spur_trace_is_on())
			SPUR_TRACE_INSTANT("app", "waiting");
		syscall(SYS_futex, word, 1, 1000, NULL, NULL, 0);
		await(false);
		work(1000);
		__atomic_fetch_or(word, 1u, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, word, 1, 1000, NULL, NULL, 0);
		await(true);
	}
	work(7);
}

static int recursion;

static __attribute__((noinline)) int fault(int *where)
{
	recursion++;
	return *where + recursion;
}

/*
 * Records `n` numbered instants, and in the middle dumps by a call and by a signal; then ends as it
 * is told.
 */
static void numbers(int n, const char *dump, const char *how)
{
	for (int i = 1; i <= n; i++) {
		SPUR_TRACE_INSTANT("app", "count", (U64, "n", (uint64_t)i));
		if (i != n / 2)
			continue;
		if (*dump && spur_trace_dump(dump))
			abort();
		if (*dump)
			raise(SIGUSR1);
	}
	if (!strcmp(how, "fault"))
		printf("%d\n", fault(NULL));
	if (!strcmp(how, "abort"))
		abort();
}

/*
 * Closes all descriptors, also that of the recording, opens another file in place of each, and goes
 * to another directory. That file must stay as it is.
 */
static void closes(int n, const char *path)
{
	const int limit = 2000;
	struct stat st;
	int fd, why;

	work(n);
	for (int i = 3; i < limit; i++)
		close(i);
	while ((fd = open(path, O_RDWR | O_CREAT, 0600)) >= 0 && fd < limit)
		;
	if (chdir("/"))
		abort();
	work(n);
	if (!fork()) {
		work(n);
		exit(0);
	}
	wait(NULL);
	why = fstat(3, &st);
	printf("%d %d\n", why, why ? 0 : (int)st.st_size);
}

/* Threads that come and go, each with more than a chunk. */
static void generations(int n)
{
	pthread_t t;

	for (int i = 0; i < n; i++)
		if (pthread_create(&t, NULL, thread, (void *)(intptr_t)10000) ||
		    pthread_join(t, NULL))
			abort();
}

static void *leave_last(void *n)
{
	/* The process ends when the last thread does, unless the helper kept it. */
	usleep(1000);
	work((int)(intptr_t)n);
	return NULL;
}

static void leave(int n)
{
	pthread_t t;

	work(n);
	if (pthread_create(&t, NULL, leave_last, (void *)(intptr_t)n))
		abort();
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "all";
	const int n = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(what, "all"))
		all();
	else if (!strcmp(what, "threads"))
		threads(n);
	else if (!strcmp(what, "fork"))
		forks();
	else if (!strcmp(what, "switch"))
		switches();
	else if (!strcmp(what, "restart"))
		restart(argv[2]);
	else if (!strcmp(what, "handler"))
		handlers(n);
	else if (!strcmp(what, "forever"))
		forever();
	else if (!strcmp(what, "helped"))
		helped(n, argv[3]);
	else if (!strcmp(what, "numbers"))
		numbers(n, argv[3], argv[4]);
	else if (!strcmp(what, "closes"))
		closes(n, argv[3]);
	else if (!strcmp(what, "generations"))
		generations(n);
	else if (!strcmp(what, "control"))
		control(argv[2]);
	else if (!strcmp(what, "leave"))
		leave(n);
	else
		work(n);
	return 0;
}
