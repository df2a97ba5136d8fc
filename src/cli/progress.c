/* See progress.h. */
#include "cli/progress.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/os.h"

enum { FIRST_MS = 1000, STEP_MS = 200, LINE = 160 };

static int64_t now_ns(void)
{
	struct timespec ts;

	os_clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Writes a number of bytes like "1.5 GB". */
static void bytes_text(char *buf, size_t size, double n)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	size_t u = 0;

	assert(n >= 0);
	while (n >= 999.95 && u < 4) {
		n /= 1000;
		u++;
	}
	snprintf(buf, size, u ? "%.1f %s" : "%.0f %s", n, units[u]);
}

/* Sums the bytes of all streams, and estimates those of the rows read so far. */
static void progress_bytes(const struct spur_trace *t, double *done, double *all)
{
	const size_t n = __atomic_load_n(&t->nstreams, __ATOMIC_ACQUIRE);
	const uint64_t read = __atomic_load_n(&t->read.passed, __ATOMIC_RELAXED);
	uint64_t size = 0;

	for (size_t i = 0; i < n; i++)
		size += t->streams[i].size;
	*done = (double)(read < size ? read : size);
	*all = (double)size;
}

static void progress_show(struct progress *p)
{
	const struct spur_trace *t = __atomic_load_n(&p->trace, __ATOMIC_ACQUIRE);
	const double seconds = (double)(now_ns() - p->began) / 1e9;
	char line[LINE] = "\r\033[Kopening", a[32], b[32], r[32];
	double done, all;

	if (t) {
		progress_bytes(t, &done, &all);
		bytes_text(a, sizeof(a), done);
		bytes_text(b, sizeof(b), all);
		bytes_text(r, sizeof(r), done / seconds);
		snprintf(line, sizeof(line), "\r\033[K%s of %s, %s/s", a, b, r);
		if (done > 0 && all > 0) {
			const double left = (all - done) / (done / seconds);
			const size_t len = strlen(line);

			snprintf(line + len, sizeof(line) - len, ", %.0f %%, %.0f:%02d left",
				 100 * done / all, (double)(int64_t)(left / 60), (int)left % 60);
		}
	}
	p->shown = os_write(p->fd, line, strlen(line)) > 0;
}

static void progress_clear(struct progress *p)
{
	if (p->shown && os_write(p->fd, "\r\033[K", 4) < 0)
		return;
	p->shown = false;
}

/* Called with p->lock held. Returns true if it is time to end. */
static bool progress_wait(struct progress *p, int ms)
{
	struct timespec until;
	int rc = 0;

	os_clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	assert(until.tv_nsec < 1000000000);
	while (!p->stop && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&p->wake, &p->lock, &until);
	return p->stop;
}

static void *progress_run(void *arg)
{
	struct progress *p = arg;
	int ms = FIRST_MS;

	pthread_mutex_lock(&p->lock);
	while (!progress_wait(p, ms)) {
		ms = STEP_MS;
		if (p->text && __atomic_load_n(&p->text->flushed, __ATOMIC_RELAXED))
			break;
		progress_show(p);
	}
	progress_clear(p);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

void progress_begin(struct progress *p, const struct values *v, const struct out *text)
{
	const bool same = !v->output && os_isatty(STDOUT_FILENO);
	pthread_condattr_t attr;

	*p = (struct progress){ .text = same ? text : NULL, .began = now_ns() };
	if (v->quiet || v->open.follow || !(v->progress || os_isatty(STDERR_FILENO)))
		return;
	p->fd = os_fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (p->fd < 0)
		return;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->wake, &attr);
	pthread_condattr_destroy(&attr);
	p->runs = pthread_create(&p->thread, NULL, progress_run, p) == 0;
	if (!p->runs)
		os_close(p->fd);
}

void progress_trace(struct progress *p, const struct spur_trace *t)
{
	assert(t && !p->trace && !p->stop);
	__atomic_store_n(&p->trace, t, __ATOMIC_RELEASE);
}

void progress_end(struct progress *p)
{
	if (!p->runs)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	os_close(p->fd);
	p->runs = false;
}
