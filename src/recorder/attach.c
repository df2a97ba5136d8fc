/* Records a process that runs already. See attach.h and recorder.h. */
#include "recorder/attach.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/os.h"
#include "format/spur/wire.h"

enum {
	PATIENCE_MS = 20000, /* until a thread is at a place where something can be called */
	NAP_MOST_MS = 50,
	AGAIN_MS = 2000,
	STEP_MS = 100, /* between looks whether the process lives */
	FORK_MS = 1000, /* until a child has come out of fork() */
	FORK_NAP_MS = 10,
	ROUNDS_MOST = 100, /* of looking for children, which may fork too */
	PROGRAMS_MOST = 100, /* that a process comes to run before it is attached to */
	DLOPEN_FLAGS = 0x2 | 0x8, /* RTLD_NOW | RTLD_DEEPBIND: the library uses its own names */
};

struct attach {
	const struct recorder_options *options;
	struct server *server;
	const struct session *session;
	const char *library;
	pid_t recorder; /* what the library calls its recorder */
	struct target target;
	struct tracees threads;
	bool again; /* what failed last may go well a moment later */
};

/* --- signals --- */

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

enum { ENDS = sizeof(ends) / sizeof(ends[0]) };

static volatile sig_atomic_t asked; /* to end */

static void on_end(int sig)
{
	(void)sig;
	asked = 1;
}

static void signals_take(struct sigaction before[ENDS])
{
	const struct sigaction a = { .sa_handler = on_end };

	asked = 0;
	for (size_t i = 0; i < ENDS; i++)
		if (sigaction(ends[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
			sigaction(ends[i], &a, NULL);
}

static void signals_give_back(const struct sigaction before[ENDS])
{
	for (size_t i = 0; i < ENDS; i++)
		sigaction(ends[i], &before[i], NULL);
}

static int64_t now_ns(void)
{
	struct timespec t = { 0 };

	os_clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* While a function is called in the process, the recorder answers what it asks. */
static void nap(void *arg)
{
	(void)arg;
	os_nanosleep(&(struct timespec){ 0, 300000 }, NULL);
}

/* --- what the library says --- */

/* Returns the library's module, or NULL if the process has not loaded it. */
static struct target_module *library_find(struct attach *a)
{
	struct target *const t = &a->target;
	struct target_module *m;

	for (size_t i = 0; i < t->nmaps; i++)
		if (t->maps[i].executable && (m = target_module_at(t, t->maps[i].first)) &&
		    m->is_recorder)
			return m;
	return NULL;
}

static bool state_read(struct attach *a, const struct target_module *m, struct attach_state *s)
{
	return target_read(&a->target, target_symbol(&a->target, m, ATTACH_STATE), s, sizeof(*s));
}

/* --- calls --- */

/*
 * Stops all threads until one is at a place where a function can be called. Returns its id; 0: an
 * error is set and all threads run.
 */
static pid_t safe_stop(struct attach *a, struct spur_error *err)
{
	const int64_t until = now_ns() + (int64_t)PATIENCE_MS * 1000000;
	int64_t ms = 1;
	struct tracee *t;

	for (;;) {
		const bool stopped = tracees_stop(&a->threads, err) == SPUR_OK;

		t = stopped && target_look(&a->target) ? tracees_safe(&a->threads) : NULL;
		if (t)
			return t->tid;
		tracees_release(&a->threads, 0);
		if (!stopped && (now_ns() > until || !a->threads.waits))
			return 0;
		if (target_was_replaced(&a->target)) {
			err_set(err, SPUR_ERR_IO, "process %d: it runs another program now",
				(int)a->target.pid);
			return 0;
		}
		if (now_ns() > until)
			break;
		/* Not too often, as the others had to wait for the one that did not stop. */
		if (!stopped)
			ms = AGAIN_MS;
		os_nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
		ms = stopped && 2 * ms < NAP_MOST_MS ? 2 * ms : NAP_MOST_MS;
		err->code = 0;
	}
	err_set(err, SPUR_ERR_IO,
		"process %d: expected a thread outside the allocator and the linker, found none in "
		"%d s whose frames could be followed",
		(int)a->target.pid, PATIENCE_MS / 1000);
	return 0;
}

static enum spur_status load(struct attach *a, struct remote *r, struct spur_error *err)
{
	struct target *const t = &a->target;
	const size_t len = strlen(a->library) + 1;
	uint64_t open = 0, error = 0, result = 0;
	char why[256] = "";

	for (size_t i = 0; i < t->nmaps && !open; i++) {
		const struct target_module *const m =
			t->maps[i].executable ? target_module_at(t, t->maps[i].first) : NULL;

		if (m && m->is_libc) {
			open = target_symbol(t, m, "dlopen");
			error = target_symbol(t, m, "dlerror");
		}
	}
	if (!open)
		return err_set(err, SPUR_ERR_USAGE,
			       "process %d: expected a C library with dlopen(), found one without",
			       (int)t->pid);
	if (!target_write(t, r->area, a->library, len))
		return err_set(err, SPUR_ERR_IO, "process %d: its memory cannot be written",
			       (int)t->pid);
	if (remote_call(r, open, (const uint64_t[]){ r->area, DLOPEN_FLAGS, 0 }, &result, err) ==
	    SPUR_FAIL)
		return SPUR_FAIL;
	if (result)
		return target_look(t) ? SPUR_OK : err_nomem(err);
	if (error &&
	    remote_call(r, error, (const uint64_t[]){ 0, 0, 0 }, &result, err) == SPUR_FAIL)
		return SPUR_FAIL;
	for (size_t i = 0; result && i + 1 < sizeof(why); i++)
		if (!target_read(t, result + i, &why[i], 1) || !why[i])
			break;
	return err_set(err, SPUR_ERR_IO, "process %d: it does not load the recorder: %s",
		       (int)t->pid, why);
}

/* Calls a function of the library. Returns SPUR_FAIL, with the error set, unless it returns 0. */
static enum spur_status library_call(struct attach *a, struct remote *r, const char *name,
				     uint64_t arg, struct spur_error *err)
{
	struct target_module *const m = library_find(a);
	const uint64_t function = m ? target_symbol(&a->target, m, name) : 0;
	uint64_t result = 0;

	if (!function)
		return err_set(err, SPUR_ERR_IO, "process %d: its recorder has no function %s()",
			       (int)a->target.pid, name);
	if (remote_call(r, function, (const uint64_t[]){ arg, 0, 0 }, &result, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if ((int)result)
		return err_set(err, SPUR_ERR_IO, "process %d: cannot record: %s",
			       (int)a->target.pid, strerror((int)result));
	return SPUR_OK;
}

/* Has the library begin a recording and list what is to be changed. */
static enum spur_status request(struct attach *a, struct remote *r, struct spur_error *err)
{
	const struct recorder_options *const o = a->options;
	struct attach_request q = { .version = ATTACH_VERSION,
				    .recorder = (uint32_t)a->recorder,
				    .mode = o->settings.mode,
				    .chooses = o->categories != NULL,
				    .size = o->settings.ring };

	if (strlen(a->session->socket) >= sizeof(q.socket) ||
	    strlen(a->session->path) >= sizeof(q.directory) ||
	    (o->categories && strlen(o->categories) >= sizeof(q.categories)))
		return err_set(err, SPUR_ERR_LIMIT, "%s: expected a shorter path or list",
			       a->session->path);
	strcpy(q.socket, a->session->socket);
	strcpy(q.directory, a->session->path);
	if (o->categories)
		strcpy(q.categories, o->categories);
	if (!target_write(&a->target, r->area, &q, sizeof(q)))
		return err_set(err, SPUR_ERR_IO, "process %d: its memory cannot be written",
			       (int)a->target.pid);
	return library_call(a, r, ATTACH_BEGIN, r->area, err);
}

/* --- attaching --- */

/* The changes that the library has listed are made, while no thread runs. */
static enum spur_status change_all(struct attach *a, bool back, struct spur_error *err)
{
	struct target_module *const m = library_find(a);
	enum spur_status st = SPUR_FAIL;
	struct attach_state s;
	struct changes c;

	a->again = true;
	/* The thread that looked for modules when a child was forked is its parent's. */
	if (!m || !state_read(a, m, &s) || (s.busy && s.process == (uint32_t)a->target.pid))
		return err_set(err, SPUR_ERR_IO, "process %d: it loads libraries all the time",
			       (int)a->target.pid);
	a->again = false;
	if (!changes_read(&a->target, &s, &c))
		return err_nomem(err);
	a->again = !changes_step_out(&a->threads, &c);
	if (a->again)
		err_set(err, SPUR_ERR_IO, "process %d: a thread stays where code is to be changed",
			(int)a->target.pid);
	else if (back || changes_make(&a->target, &c, false) || !c.count)
		st = SPUR_OK;
	else
		err_set(err, SPUR_ERR_IO, "process %d: the system does not let its code be changed",
			(int)a->target.pid);
	if (back && st == SPUR_OK)
		changes_make(&a->target, &c, true);
	changes_free(&c);
	return st;
}

/* True if an earlier recorder was killed: what it changed has to be changed back first. */
static bool is_abandoned(const struct attach_state *s)
{
	return s->recorder && os_kill((pid_t)s->recorder, 0) != 0 && errno == ESRCH;
}

/* A second recorder is refused, unless the first one has ended without detaching. */
static enum spur_status check_library(struct attach *a, bool *abandoned, struct spur_error *err)
{
	struct target_module *const m = library_find(a);
	struct attach_state s = { 0 };

	*abandoned = false;
	if (!m)
		return SPUR_OK;
	if (!state_read(a, m, &s) || s.version != ATTACH_VERSION)
		return err_set(err, SPUR_ERR_USAGE,
			       "process %d: expected version %d of the recorder in it, found %u",
			       (int)a->target.pid, ATTACH_VERSION, s.version);
	if (is_abandoned(&s))
		*abandoned = true;
	else if (s.recorder)
		return err_set(err, SPUR_ERR_USAGE,
			       "process %d: it is being recorded already, by process %u",
			       (int)a->target.pid, s.recorder);
	else if (s.recording)
		return err_set(err, SPUR_ERR_USAGE,
			       "process %d: it is being recorded already, since it was started",
			       (int)a->target.pid);
	return SPUR_OK;
}

/* Ends the recording in the process; its threads are stopped, and run afterwards. */
static enum spur_status end_call(struct attach *a, pid_t tid, struct spur_error *err)
{
	struct remote r = { .target = &a->target, .tid = tid, .wait = nap };
	enum spur_status st;

	tracees_release(&a->threads, tid);
	st = remote_begin(&r, err);
	if (st == SPUR_OK) {
		st = library_call(a, &r, ATTACH_END, 0, err);
		remote_end(&r);
	}
	tracees_release(&a->threads, 0);
	return st;
}

/* Remote calls make system calls, which such a filter may punish by the end of the process. */
static bool has_filter(const struct attach *a)
{
	char task[24];

	snprintf(task, sizeof(task), "%d", (int)a->target.pid);
	return target_status(task, "Seccomp", 10) != 0;
}

/*
 * Switches the recording off by its file, as the library cannot be called: its control word is
 * cleared, which stops what the program still records.
 */
static void switch_off(const struct attach *a)
{
	DIR *const dir = os_opendir(a->session->path);
	const struct dirent *e;
	char prefix[48];
	uint32_t *p;
	int fd;

	snprintf(prefix, sizeof(prefix), "%d-%" PRIu64, (int)a->target.pid, a->target.start_time);
	while (dir && (e = os_readdir(dir))) {
		if (strncmp(e->d_name, prefix, strlen(prefix)) != 0)
			continue;
		fd = os_openat(dirfd(dir), e->d_name, O_RDWR | O_CLOEXEC, 0);
		p = fd < 0 ? MAP_FAILED
			   : os_mmap(NULL, SPB_HEADER, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p != MAP_FAILED) {
			__atomic_fetch_and(p + SPB_CONTROL_AT / sizeof(*p),
					   ~(uint32_t)SPB_CONTROL_ON, __ATOMIC_SEQ_CST);
			os_munmap(p, SPB_HEADER);
		}
		if (fd >= 0)
			os_close(fd);
	}
	if (dir)
		os_closedir(dir);
}

/* Changes the program, or changes it back. Without the library nothing was changed. */
static enum spur_status change(struct attach *a, bool back, struct spur_error *err)
{
	enum spur_status st = tracees_stop(&a->threads, err);

	a->again = a->threads.waits;
	if (st == SPUR_OK && !target_look(&a->target))
		st = err_nomem(err);
	if (st == SPUR_OK && (!back || library_find(a)))
		st = change_all(a, back, err);
	tracees_release(&a->threads, 0);
	return st;
}

/* The same, tried again while a thread is where it cannot be stopped, or moved from. */
static enum spur_status change_patiently(struct attach *a, bool back, struct spur_error *err)
{
	const int64_t until = now_ns() + (int64_t)PATIENCE_MS * 1000000;
	enum spur_status st;

	for (;;) {
		err->code = 0;
		st = change(a, back, err);
		if (st == SPUR_OK || !a->again || now_ns() > until)
			return st;
		nap(NULL);
	}
}

/*
 * Changes the program back first, as threads are in hooks for much of their time, then has the
 * library end its recording, and changes back what came in between. Returns SPUR_FAIL with the
 * error set.
 */
static enum spur_status detach(struct attach *a, struct spur_error *err)
{
	const int64_t until = now_ns() + (int64_t)PATIENCE_MS * 1000000;
	enum spur_status st = SPUR_FAIL;
	pid_t tid;

	/*
	 * Another recorder, which is about to be refused, may hold the process for a moment. To
	 * give up then would leave it changed.
	 */
	a->threads.patient = true;
	do {
		err->code = 0;
		st = change(a, true, err);
		if (st == SPUR_FAIL || has_filter(a) || !library_find(a)) {
			nap(NULL);
			continue;
		}
		tid = safe_stop(a, err);
		st = tid ? end_call(a, tid, err) : SPUR_FAIL;
		if (!tid)
			break;
	} while (st == SPUR_FAIL && now_ns() < until);
	if (st == SPUR_FAIL || has_filter(a))
		switch_off(a);
	if (st == SPUR_OK)
		st = change_patiently(a, true, err);
	return st;
}

/* Loads the library, if it is not there, and has it list what is to be changed. */
static enum spur_status begin_call(struct attach *a, pid_t tid, struct spur_error *err)
{
	struct remote r = { .target = &a->target, .tid = tid, .wait = nap };
	enum spur_status st;

	tracees_release(&a->threads, tid);
	st = remote_begin(&r, err);
	if (st == SPUR_FAIL)
		return SPUR_FAIL;
	if (!library_find(a))
		st = load(a, &r, err);
	if (st == SPUR_OK)
		st = request(a, &r, err);
	remote_end(&r);
	return st;
}

/*
 * Makes the changes. The borrowed thread has its own registers again, so that it too is seen where
 * it will go on.
 */
static enum spur_status begin_changes(struct attach *a, struct spur_error *err)
{
	struct spur_error other = { 0 };
	const enum spur_status st = change_patiently(a, false, err);

	if (st == SPUR_FAIL)
		detach(a, &other);
	return st;
}

static enum spur_status attach(struct attach *a, struct spur_error *err)
{
	bool abandoned = false;
	const pid_t tid = safe_stop(a, err);
	enum spur_status st;

	if (!tid)
		return SPUR_FAIL;
	st = check_library(a, &abandoned, err);
	if (abandoned || st == SPUR_FAIL) {
		tracees_release(&a->threads, 0);
		if (st == SPUR_FAIL || detach(a, err) == SPUR_FAIL)
			return SPUR_FAIL;
		return attach(a, err);
	}
	st = begin_call(a, tid, err);
	if (st == SPUR_OK)
		return begin_changes(a, err);
	tracees_release(&a->threads, 0);
	return SPUR_FAIL;
}

/* --- children --- */

/* True if the process is a copy of the one that is recorded, which has its changes too. */
static bool is_copy(struct attach *a, struct attach_state *s)
{
	const struct target_module *const m = target_look(&a->target) ? library_find(a) : NULL;

	return m && state_read(a, m, s) && s->recorder == (uint32_t)a->recorder;
}

/*
 * Changes a child back whose library cannot be called, as fork() has not called it yet, or the
 * child was made without fork(). It ends its recording itself if it is called. Returns false if it
 * was, or if the child cannot be changed now.
 */
static bool leave(struct attach *a, struct spur_error *err)
{
	const uint32_t none = 0;
	struct attach_state s;
	bool good;

	err->code = 0;
	if (tracees_stop(&a->threads, err) == SPUR_FAIL)
		return false;
	good = is_copy(a, &s) && s.process != (uint32_t)a->target.pid &&
	       change_all(a, true, err) == SPUR_OK &&
	       target_write(&a->target,
			    target_symbol(&a->target, library_find(a), ATTACH_STATE) +
				    offsetof(struct attach_state, recorder),
			    &none, sizeof(none));
	tracees_release(&a->threads, 0);
	return good;
}

static enum spur_status detach_copy(struct attach *a, struct spur_error *err)
{
	const int64_t begin = now_ns(), ms = 1000000;
	struct attach_state s;

	while (is_copy(a, &s)) {
		if (s.process == (uint32_t)a->target.pid)
			return detach(a, err);
		if (now_ns() > begin + FORK_MS * ms && leave(a, err))
			return SPUR_OK;
		if (now_ns() > begin + (FORK_MS + PATIENCE_MS) * ms)
			return err->code ? SPUR_FAIL
					 : err_set(err, SPUR_ERR_IO,
						   "process %d: it stays changed, as it does not "
						   "come out of fork()",
						   (int)a->target.pid);
		os_nanosleep(&(struct timespec){ 0, FORK_NAP_MS * ms }, NULL);
	}
	return SPUR_OK;
}

/* Detaches from a process if it was forked by the one that is recorded. Returns true if it was. */
static bool detach_child(const struct attach *main, pid_t pid)
{
	struct attach a = { .options = main->options,
			    .server = main->server,
			    .session = main->session,
			    .library = main->library,
			    .recorder = main->recorder };
	struct spur_error err = { 0 };
	struct attach_state s;
	bool found;

	a.threads.target = &a.target;
	found = target_open(&a.target, pid, &err) == SPUR_OK && is_copy(&a, &s);
	if (found && detach_copy(&a, &err) == SPUR_FAIL && target_lives(&a.target)) {
		main->options->say("warning: %s", err.message);
		found = false;
	}
	tracees_free(&a.threads);
	target_close(&a.target);
	return found;
}

/*
 * Children that were forked meanwhile, and theirs, are looked for among all processes: not each has
 * a file yet. Their stacks began where their parent's did.
 */
static void detach_children(const struct attach *a)
{
	bool any = true;

	for (unsigned round = 0; any && round < ROUNDS_MOST; round++) {
		DIR *const dir = os_opendir("/proc");
		const struct dirent *e;

		any = false;
		while (dir && (e = os_readdir(dir))) {
			const long pid = strtol(e->d_name, NULL, 10);

			if (pid > 0 && pid != a->target.pid && a->target.stack &&
			    target_stat(e->d_name, 28) == a->target.stack &&
			    detach_child(a, (pid_t)pid))
				any = true;
		}
		if (dir)
			os_closedir(dir);
	}
}

/* --- the guard --- */

/*
 * All that traces is done by a child of the recorder. So a recorder that is killed leaves no thread
 * in the middle of a call, and the child changes the process back.
 */
struct guard {
	pid_t pid;
	int told; /* struct guard_word: when it has attached, and when it has detached */
	int until; /* it detaches when this is closed, by the recorder or with it */
};

struct guard_word {
	enum spur_status status;
	struct spur_error err;
};

static void guard_tell(int to, const struct guard_word *w)
{
	while (os_write(to, w, sizeof(*w)) < 0 && errno == EINTR)
		;
}

static void guard_run(struct attach *a, int told, int until)
{
	const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE };
	struct guard_word w = { 0 };
	char byte;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	/* Else a process would wait for answers of a recorder that has gone. */
	os_close(a->session->fd);
	w.status = attach(a, &w.err);
	guard_tell(told, &w);
	if (w.status == SPUR_FAIL)
		return;
	while (os_read(until, &byte, sizeof(byte)) < 0 && errno == EINTR)
		;
	w = (struct guard_word){ 0 };
	if (target_lives(&a->target))
		w.status = detach(a, &w.err);
	detach_children(a);
	guard_tell(told, &w);
}

static enum spur_status guard_start(struct attach *a, struct guard *g, struct spur_error *err)
{
	int told[2], until[2];

	if (os_pipe2(told, O_CLOEXEC | O_NONBLOCK) != 0)
		return err_set(err, SPUR_ERR_IO, "pipe: %s", strerror(errno));
	if (os_pipe2(until, O_CLOEXEC) != 0) {
		os_close(told[0]);
		os_close(told[1]);
		return err_set(err, SPUR_ERR_IO, "pipe: %s", strerror(errno));
	}
	a->recorder = os_getpid();
	g->pid = os_fork();
	if (g->pid == 0) {
		os_close(told[0]);
		os_close(until[1]);
		guard_run(a, told[1], until[0]);
		_exit(0);
	}
	os_close(told[1]);
	os_close(until[0]);
	g->told = told[0];
	g->until = until[1];
	return g->pid > 0 ? SPUR_OK : err_set(err, SPUR_ERR_IO, "fork: %s", strerror(errno));
}

/* Returns true, with its message if it sent one, if the guard has sent a message or has ended. */
static bool guard_hear(const struct guard *g, struct guard_word *w)
{
	const ssize_t n = os_read(g->told, w, sizeof(*w));

	if (n < 0)
		return false;
	if (n != sizeof(*w)) {
		w->status = SPUR_FAIL;
		err_set(&w->err, SPUR_ERR_IO,
			"the recorder's child was killed: the process stays changed until it is "
			"recorded again");
	}
	return true;
}

/* Answers what the process asks until the guard says something. */
static enum spur_status guard_wait(struct attach *a, const struct guard *g, struct spur_error *err)
{
	struct guard_word w = { 0 };

	while (!guard_hear(g, &w))
		server_step(a->server, g->told, STEP_MS);
	*err = w.err;
	return w.status;
}

static void guard_end(struct guard *g)
{
	if (g->until >= 0)
		os_close(g->until);
	if (g->told >= 0)
		os_close(g->told);
	while (g->pid > 0 && os_waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* --- the run --- */

/* Plans are made before the program waits for them. */
static void prepare(struct attach *a, const char *program)
{
	const char *before = "";

	for (size_t i = 0; i < a->target.nmaps; i++) {
		const struct target_map *const m = &a->target.maps[i];

		if (!m->executable || m->path[0] != '/' || strcmp(m->path, before) == 0)
			continue;
		before = m->path;
		server_prepare(a->server, m->path, strcmp(m->path, program) == 0);
	}
}

/* Returns true if the guard has ended before. */
static bool wait_for_end(struct attach *a, const struct guard *g, int64_t ns)
{
	const int64_t until = now_ns() + ns;
	struct guard_word w = { 0 };
	int64_t left;

	while (!asked && target_lives(&a->target)) {
		left = ns ? (until - now_ns()) / 1000000 : STEP_MS;
		if (left <= 0 && ns)
			break;
		if (guard_hear(g, &w)) {
			a->options->say("warning: %s", w.err.message);
			return true;
		}
		server_step(a->server, g->told, (int)(left < STEP_MS ? left + 1 : STEP_MS));
	}
	return false;
}

static enum spur_status check_process(const struct attach *a, struct spur_error *err)
{
	const int pid = (int)a->target.pid;
	char task[24];

	snprintf(task, sizeof(task), "%d", pid);
	if (has_filter(a))
		return err_set(err, SPUR_ERR_USAGE,
			       "process %d: expected one that may make any system call, found one "
			       "with a seccomp filter, which may end it",
			       pid);
	if (strchr("Tt", (int)target_stat(task, 3)) && !target_status(task, "TracerPid", 10))
		return err_set(err, SPUR_ERR_USAGE,
			       "process %d: expected one that runs, found one that is stopped: "
			       "kill -CONT %d lets it go on",
			       pid, pid);
	return SPUR_OK;
}

/* The CPU time that the process has taken, in ns; 0: it has ended. */
static int64_t cpu_ns(pid_t pid)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || os_clock_gettime(clock, &t) != 0)
		return 0;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Says how to end. A shell script starts what runs in the background with SIGINT ignored. */
static void say_attached(const struct attach *a, int64_t ns)
{
	struct sigaction now;
	char how[80] = "; Ctrl-C ends the recording";

	if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
		snprintf(how, sizeof(how), "; kill -TERM %d ends the recording", (int)os_getpid());
	a->options->say("note: process %d is being recorded%s", (int)a->target.pid, ns ? "" : how);
}

/* The process is attached to: waits, and detaches. */
static void finish(struct attach *a, struct guard *g, int64_t ns, struct recorder_result *r)
{
	const struct recorder_options *const o = a->options;
	const int64_t begin = now_ns();
	struct spur_error err = { 0 };
	struct kernel *k = NULL;
	bool alone;

	r->started = true;
	r->cpu_ns = -cpu_ns(a->target.pid);
	if (kernel_wanted(&o->kernel))
		k = kernel_new(&o->kernel, a->session->path, a->target.pid, true, o->say);
	if (kernel_wanted(&o->kernel) && !k)
		o->say("note: the kernel's events and counters are not recorded: %s",
		       strerror(errno));
	server_observe(a->server, k);
	if (!o->quiet)
		say_attached(a, ns);
	alone = wait_for_end(a, g, ns);
	server_observe(a->server, NULL);
	if (k) {
		kernel_look(k);
		kernel_end(k, 0);
	}
	r->ns = now_ns() - begin;
	r->cpu_ns += cpu_ns(a->target.pid);
	if (r->cpu_ns < 0)
		r->cpu_ns = 0;
	os_close(g->until);
	g->until = -1;
	if (!alone && guard_wait(a, g, &err) == SPUR_FAIL && target_lives(&a->target))
		o->say("warning: %s", err.message);
	if (!o->quiet && !target_lives(&a->target))
		o->say("note: process %d has ended, or runs another program",
		       (int)a->target.pid);
	while (server_step(a->server, -1, 0))
		;
	server_sum(a->server, r);
	r->left = 0;
}

static enum spur_status record(struct attach *a, const struct program *p, int64_t ns,
			       struct recorder_result *r, struct spur_error *err)
{
	struct guard g = { 0, -1, -1 };
	enum spur_status st = check_process(a, err);

	if (st == SPUR_FAIL)
		return st;
	if (!target_look(&a->target))
		return err_set(err, SPUR_ERR_IO, "process %d: it has ended", (int)a->target.pid);
	prepare(a, p->path);
	st = guard_start(a, &g, err);
	if (st == SPUR_OK)
		st = guard_wait(a, &g, err);
	if (st == SPUR_OK)
		finish(a, &g, ns, r);
	guard_end(&g);
	return st;
}

/* Returns the arguments of the process, NULL-ended, or NULL if out of memory. */
static const char **arguments_read(pid_t pid, const char *program, struct arena *arena)
{
	enum { MOST = 64 << 10, WORDS = 4096 };

	char path[32], *const text = arena_chars(arena, MOST + 1);
	const char **const argv = arena_alloc(arena, (WORDS + 1) * sizeof(*argv));
	ssize_t n;
	size_t count = 0;

	if (!text || !argv)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	n = file_head(path, FILE_ANY, text, MOST);
	text[n > 0 ? n : 0] = '\0';
	for (ssize_t at = 0; at < n && count < WORDS; at += (ssize_t)strlen(text + at) + 1)
		argv[count++] = text + at;
	if (!count)
		argv[0] = program;
	return argv;
}

/* `replaced`: nothing was recorded, as the process came to run another program. */
static enum spur_status attach_once(const struct recorder_options *o, pid_t pid, int64_t ns,
				    struct recorder_result *result, bool *replaced,
				    struct spur_error *err)
{
	struct session s = { .fd = -1 };
	struct attach a = { .options = o, .session = &s };
	struct recorder_options mine = *o;
	struct sigaction before[ENDS];
	struct program p = { .binary = { .file = { .fd = -1 } } };
	enum spur_status st;

	*result = (struct recorder_result){ 0 };
	arena_init(&result->arena);
	arena_init(&s.arena);
	arena_init(&p.arena);
	a.threads.target = &a.target;
	st = target_open(&a.target, pid, err);
	if (st == SPUR_OK)
		st = program_open_process(&p, pid, o->symbol_dirs, err);
	if (st == SPUR_OK)
		st = program_find_library(&p, err);
	a.library = p.library;
	if (st == SPUR_OK && !(mine.argv = arguments_read(pid, p.path, &p.arena)))
		st = err_nomem(err);
	if (st == SPUR_OK)
		st = session_open(&s, o, &p, err);
	if (st == SPUR_OK)
		st = session_describe(&s, &mine, &p, NULL, err);
	if (st == SPUR_OK && !(a.server = server_new(&mine, s.fd)))
		st = err_nomem(err);
	if (st == SPUR_OK) {
		program_describe(&p, o);
		signals_take(before);
		st = record(&a, &p, ns, result, err);
		signals_give_back(before);
	}
	if (result->started) {
		session_notes(&s, o);
		result->path = arena_strdup(&result->arena, s.path, strlen(s.path));
		session_describe(&s, &mine, &p, result, NULL);
	}
	server_free(a.server);
	session_close(&s, result->started);
	tracees_free(&a.threads);
	*replaced = st == SPUR_FAIL && !result->started && target_was_replaced(&a.target);
	target_close(&a.target);
	program_close(&p);
	return st;
}

enum spur_status recorder_attach(const struct recorder_options *o, pid_t pid, int64_t ns,
				 struct recorder_result *result, struct spur_error *err)
{
	enum spur_status st = SPUR_FAIL;
	bool replaced = true;

	/* What was found out before is of another program, as where a shell has just forked. */
	for (unsigned i = 0; replaced && i < PROGRAMS_MOST; i++) {
		err->code = 0;
		st = attach_once(o, pid, ns, result, &replaced, err);
	}
	return st;
}
