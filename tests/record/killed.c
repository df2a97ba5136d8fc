/*
 * Trials of the tracing library with SIGKILL: a program whose threads, signal handlers and forked
 * child record numbered events is killed at a random moment, and its files are read by the rules of
 * docs/formats/spur.md alone. Each event that was acknowledged must be there, none twice, none torn.
 *
 * killed TRIALS stream|ring DIR: says what it found; exits with 1 at a wrong trial.
 * killed hammer ACKS: the program
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spur_trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"

enum {
	THREADS = 4,
	WRITERS = 2 * THREADS,
	KEYS = 2 * WRITERS,
	CHUNK = 262144,
	PAGE = 4096,
	CHUNK_THREADS = 64, /* of one process; more than it has */
};

/*
 * The last number that is surely stored of each writer, then of each writer's handler, and then
 * the number that the writer was at when that handler came.
 */
static uint64_t *acks;

/* --- the program --- */

static __thread unsigned writer;
static __thread uint64_t handled;
static __thread volatile uint64_t current;

static void text_fill(char *text, uint64_t n)
{
	memset(text, (int)('a' + n % 26), n % 61);
	text[n % 61] = '\0';
}

static void handler(int signo)
{
	const char *const at = spur_trace_here.at, *const end = spur_trace_here.end;
	const uint64_t n = handled + 1;

	(void)signo;
	SPUR_TRACE_INSTANT("kill", "handler", (U64, "key", WRITERS + writer), (U64, "n", n),
			   (U64, "not n", ~n));
	/* It is lost if the handler came while the thread took a page. */
	if (spur_trace_here.at != at || spur_trace_here.end != end) {
		__atomic_store_n(&acks[WRITERS + writer], handled = n, __ATOMIC_RELEASE);
		__atomic_store_n(&acks[KEYS + writer], current, __ATOMIC_RELEASE);
	}
}

static void *write_numbers(void *who)
{
	char text[64];

	writer = (unsigned)(uintptr_t)who;
	interrupt_every(97000);
	for (uint64_t n = 1;; n++) {
		current = n;
		if (n % 3) {
			SPUR_TRACE_INSTANT("kill", "number", (U64, "key", writer), (U64, "n", n),
					   (U64, "not n", ~n));
		} else {
			text_fill(text, n);
			SPUR_TRACE_INSTANT("kill", "text", (U64, "key", writer), (U64, "n", n),
					   (TEXT, "text", text));
		}
		__atomic_store_n(&acks[writer], n, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void hammer(const char *path)
{
	const int fd = open(path, O_RDWR);
	pthread_t t;

	acks = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (acks == MAP_FAILED)
		abort();
	signal(SIGUSR1, handler);
	for (uintptr_t i = 1; i < THREADS; i++)
		if (pthread_create(&t, NULL, write_numbers, (void *)i))
			abort();
	if (!fork()) {
		for (uintptr_t i = 1; i < THREADS; i++)
			if (pthread_create(&t, NULL, write_numbers, (void *)(THREADS + i)))
				abort();
		write_numbers((void *)(uintptr_t)THREADS);
	}
	write_numbers((void *)0);
}

/* --- the check --- */

static struct {
	uint64_t events, holes, first[KEYS], last[KEYS];
	uint32_t thread, threads[KEYS]; /* of the chunk, and of each key's last event */
	bool gaps[KEYS]; /* events have been overwritten since that one */
	unsigned wrong;
	bool ring;
} found;

static void wrong(const char *what, uint64_t a, uint64_t b)
{
	if (found.wrong++ < 5)
		printf("%s: %llu %llu\n", what, (unsigned long long)a, (unsigned long long)b);
}

static void event_check(const uint64_t *p, unsigned words)
{
	char text[64];
	const uint64_t key = p[1], n = p[2];
	uint16_t len;

	if (words < 3 || key >= KEYS) {
		wrong("torn", key, n);
		return;
	}
	memcpy(&len, p + 3, sizeof(len));
	text_fill(text, n);
	if (key < WRITERS && n % 3 == 0) {
		if (len != strlen(text) || words != 2 + (2 + len + 7u) / 8 ||
		    memcmp((const char *)(p + 3) + 2, text, len))
			wrong("torn text", key, n);
	} else if (words != 3 || p[3] != ~n) {
		wrong("torn number", key, n);
	}
	if (found.last[key] && n != found.last[key] + 1 && !found.gaps[key])
		wrong("not in a row", found.last[key], n);
	if (!found.last[key] || found.gaps[key])
		found.first[key] = n;
	found.gaps[key] = false;
	found.last[key] = n;
	found.threads[key] = found.thread;
	found.events++;
}

static void page_check(const uint64_t *p, const uint64_t *end)
{
	for (const uint64_t *used = end; p < used;) {
		const unsigned kind = *p & 15, words = *p >> 4 & 15;

		while (used > p && !used[-1])
			used--;
		if (p == used)
			return;
		if (!*p || kind == 14)
			found.holes++;
		else if (p + 1 + words > end || words == 15)
			wrong("beyond the page", *p, words);
		else if (kind == 3)
			event_check(p, words);
		p += *p ? 1 + words : 1;
	}
}

static int by_sequence(const void *a, const void *b)
{
	const uint64_t x = (*(const uint64_t *const *)a)[1], y = (*(const uint64_t *const *)b)[1];

	return (x > y) - (x < y);
}

/*
 * Begins a chunk after the thread's one before. What a ring has overwritten between the two is
 * shown by their times: the second is begun before the first is closed, if it follows.
 */
static void chunk_begin(const uint64_t *p, uint64_t *closed)
{
	const uint32_t thread = (uint32_t)(p[2] >> 32);

	if (thread >= CHUNK_THREADS)
		abort();
	found.thread = thread;
	for (unsigned key = 0; found.ring && closed[thread] && p[3] > closed[thread] && key < KEYS;
	     key++)
		if (found.threads[key] == thread)
			found.gaps[key] = true;
	closed[thread] = p[5];
}

static void file_check(const char *path)
{
	const int fd = open(path, O_RDONLY);
	const uint64_t **chunks = NULL;
	uint64_t closed[CHUNK_THREADS] = { 0 };
	size_t n = 0;
	struct stat st;
	char *data;

	if (fd < 0 || fstat(fd, &st) || st.st_size < PAGE)
		goto end;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	chunks = calloc((size_t)st.st_size / CHUNK + 1, sizeof(*chunks));
	if (data == MAP_FAILED || !chunks)
		abort();
	if (memcmp(data, "SPURSPB1", 8) == 0)
		for (char *p = data + PAGE; p + CHUNK <= data + st.st_size; p += CHUNK)
			if (((uint64_t *)(void *)p)[1] && p[4] == 1)
				chunks[n++] = (uint64_t *)(void *)p;
	qsort(chunks, n, sizeof(*chunks), by_sequence);
	for (size_t i = 0; i < n; i++) {
		chunk_begin(chunks[i], closed);
		for (size_t page = 0; page < CHUNK; page += PAGE)
			page_check(chunks[i] + (page ? page : 64) / 8,
				   chunks[i] + (page + PAGE) / 8);
	}
	munmap(data, (size_t)st.st_size);
end:
	free(chunks);
	if (fd >= 0)
		close(fd);
}

/* Checks and removes the recording. */
static void recording_check(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[8192];

	memset(found.first, 0, sizeof(found.first));
	memset(found.last, 0, sizeof(found.last));
	memset(found.gaps, 0, sizeof(found.gaps));
	while (d && (e = readdir(d)))
		if (*e->d_name != '.') {
			snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
			file_check(path);
			unlink(path);
		}
	if (d)
		closedir(d);
	rmdir(dir);
	for (unsigned i = 0; i < KEYS; i++) {
		/* A ring may have overwritten what a handler recorded long ago. */
		const bool old = found.ring && i >= WRITERS &&
				 acks[KEYS + i - WRITERS] <= found.first[i - WRITERS];

		if (found.last[i] < acks[i] && !old)
			wrong("lost", found.last[i], acks[i]);
		if (!found.ring && found.last[i] && found.first[i] != 1)
			wrong("no beginning", i, found.first[i]);
	}
}

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void trial(const char *self, const char *ack_path, uint64_t *random)
{
	const struct timespec wait = { 0, (long)(random_next(random) % 20000000) };
	pid_t pid;

	memset(acks, 0, PAGE);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		execl(self, self, "hammer", ack_path, (char *)NULL);
		_exit(1);
	}
	setpgid(pid, pid);
	for (int i = 0; i < 20000 && !__atomic_load_n(&acks[0], __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	nanosleep(&wait, NULL);
	kill(-pid, SIGKILL);
	/* The forked child too, which comes to this process when its parent has ended. */
	while (waitpid(-pid, NULL, 0) > 0)
		;
}

int main(int argc, char **argv)
{
	uint64_t random = 7;
	char ack_path[4000], dir[4000];
	int fd;

	if (argc == 3 && !strcmp(argv[1], "hammer"))
		hammer(argv[2]);
	if (argc != 4 || prctl(PR_SET_CHILD_SUBREAPER, 1))
		return 2;
	found.ring = !strcmp(argv[2], "ring");
	snprintf(dir, sizeof(dir), "%s/killed.spur", argv[3]);
	snprintf(ack_path, sizeof(ack_path), "%s/acks", argv[3]);
	setenv("SPUR_TRACE", dir, 1);
	setenv("SPUR_TRACE_MODE", argv[2], 1);
	setenv("SPUR_TRACE_SIZE", "1M", 1);
	fd = open(ack_path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, PAGE))
		return 2;
	acks = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (acks == MAP_FAILED)
		return 2;
	for (int i = 0; i < atoi(argv[1]) && !found.wrong; i++) {
		trial(argv[0], ack_path, &random);
		recording_check(dir);
	}
	unlink(ack_path);
	printf("%llu events read, %llu incomplete\n", (unsigned long long)found.events,
	       (unsigned long long)found.holes);
	return found.wrong != 0;
}
