/*
 * Trials of the tracing library with SIGKILL where events are lost: three threads and their signal
 * handlers record while a oneshot is full, or while they take pages. What the file has and what it
 * says was lost is by docs/formats/spur.md as much as the program had recorded when it was killed.
 *
 * lost TRIALS stream|oneshot DIR: says what it found; exits with 1 if a sum is wrong.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spur_trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"

enum { THREADS = 3, PAGE = 4096, CHUNK = 262144, HEAD = 64, ONESHOT = 4 * CHUNK };

/* Events that a thread or its handler has begun to record, and those of them that it has ended. */
struct count {
	volatile uint64_t begun, ended;
	uint64_t pad[6]; /* a line of the cache for each */
};

static struct count *counts; /* of threads, then of their handlers; shared with the program */

/* --- the program --- */

static __thread unsigned self;

static void record(struct count *c)
{
	c->begun++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	SPUR_TRACE_INSTANT("lost", "event", (U64, "n", c->begun));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	c->ended++;
}

static void handler(int signo)
{
	(void)signo;
	record(&counts[THREADS + self]);
}

static void *run(void *who)
{
	self = (unsigned)(uintptr_t)who;
	interrupt_every(53000);
	for (;;)
		record(&counts[self]);
	return NULL;
}

static void program(const char *dir, enum spur_trace_mode mode)
{
	const struct spur_trace_options o = { mode, ONESHOT };
	pthread_t t;

	signal(SIGUSR1, handler);
	if (spur_trace_start_with(dir, &o))
		_exit(1);
	for (uintptr_t i = 1; i < THREADS; i++)
		if (pthread_create(&t, NULL, run, (void *)i))
			abort();
	run((void *)0);
}

/* --- the check --- */

static uint64_t events, lost;

static void page_count(const uint64_t *p, const uint64_t *end)
{
	while (end > p && !end[-1])
		end--;
	while (p < end) {
		const unsigned kind = *p & 15, words = *p >> 4 & 15;

		/* SPEC spur/commit: what was never completed is lost, whole or in part. */
		lost += !*p || kind == 14;
		events += kind == 3;
		p += *p ? 1 + words : 1;
	}
}

static void file_count(const char *path)
{
	const int fd = open(path, O_RDONLY);
	struct stat st;
	char *data;

	if (fd < 0 || fstat(fd, &st))
		abort();
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		abort();
	lost += ((uint64_t *)(void *)data)[16];
	for (char *p = data + PAGE; p + CHUNK <= data + st.st_size; p += CHUNK) {
		if (!((uint64_t *)(void *)p)[1] || p[4] != 1)
			continue;
		lost += ((uint64_t *)(void *)p)[7];
		for (size_t at = 0; at < CHUNK; at += PAGE)
			page_count((uint64_t *)(void *)(p + (at ? at : HEAD)),
				   (uint64_t *)(void *)(p + at + PAGE));
	}
	munmap(data, (size_t)st.st_size);
}

static void recording_count(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[8192];

	events = lost = 0;
	while (d && (e = readdir(d)))
		if (*e->d_name != '.') {
			snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
			file_count(path);
			unlink(path);
		}
	if (d)
		closedir(d);
	rmdir(dir);
}

/* Returns false if the program ended by itself, or if a sum is wrong. */
static bool trial(const char *dir, enum spur_trace_mode mode, unsigned us)
{
	uint64_t begun = 0, ended = 0;
	pid_t pid;
	int status;

	memset(counts, 0, PAGE);
	pid = fork();
	if (!pid)
		program(dir, mode);
	for (int i = 0; i < 20000 && !counts[0].ended; i++)
		usleep(1000);
	usleep(us);
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		return false;
	recording_count(dir);
	for (unsigned i = 0; i < 2 * THREADS; i++) {
		begun += counts[i].begun;
		ended += counts[i].ended;
	}
	if (events + lost >= ended && events + lost <= begun)
		return true;
	printf("%llu events and %llu lost of %llu to %llu\n", (unsigned long long)events,
	       (unsigned long long)lost, (unsigned long long)ended, (unsigned long long)begun);
	return false;
}

int main(int argc, char **argv)
{
	unsigned random = 7;
	char dir[4000];

	if (argc != 4)
		return 2;
	counts = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return 2;
	snprintf(dir, sizeof(dir), "%s/lost.spur", argv[3]);
	for (int i = 0; i < atoi(argv[1]); i++) {
		random = random * 1103515245 + 12345;
		if (!trial(dir, argv[2][0] == 'o' ? SPUR_TRACE_ONESHOT : SPUR_TRACE_STREAM,
			   (random >> 16) % 8000))
			return 1;
	}
	puts("each is read or counted");
	return 0;
}
