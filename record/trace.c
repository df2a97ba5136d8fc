/*
 * The tracing library: spur_trace.h says what it is for, docs/formats/spur.md what it writes.
 *
 * An event is stored into a page of a chunk that belongs to its thread, without a lock; only a
 * thread that needs another page or chunk calls the library. What points name is described once, in
 * a catalog in memory; each file gets a copy, so that a point keeps its number over several
 * recordings and in forked processes, and may vanish with the library it is in.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core.h"

#include <limits.h>
#include <stdlib.h>

CORE_HERE uint32_t core_on;
CORE_HERE void (*core_forked)(int why);
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The parent's file is the parent's: the child has one of its own, with the same points. */
static void fork_child(void)
{
	const bool was_on = core_session.number;
	int why = 0;

	core_threads_forget();
	core_lock();
	core_helper_forget();
	core_users = 0;
	if (was_on) {
		if (core_file_is_open())
			seam_close(core_session.fd);
		seam_unmap(core_session.head, SPB_HEADER);
		core_session = (struct core_session){ .fd = -1 };
		core_switch();
		if (core_system_over(false) || (why = core_session_begin()))
			core_system_watch();
		else if (core_system_joined())
			core_helper_start();
	}
	core_leave();
	if (core_forked)
		core_forked(why);
}

static void fork_before(void)
{
	core_enter();
}

static void fork_parent(void)
{
	core_leave();
}

static void init(void)
{
	core_clock_find();
	core_threads_init();
	pthread_atfork(fork_before, fork_parent, fork_child);
}

/* A number of bytes with a unit. Returns 0 if it is not one. */
static uint64_t size_read(const char *s)
{
	static const char units[] = "KMG";
	unsigned shift = 0;
	uint64_t v = 0;

	for (; *s >= '0' && *s <= '9' && v < UINT64_MAX / 100; s++)
		v = 10 * v + (uint64_t)(*s - '0');
	if (*s && strchr(units, *s))
		shift = 10 * (unsigned)(strchr(units, *s++) - units + 1);
	return *s || v > UINT64_MAX >> shift ? 0 : v << shift;
}

/* Reads options from the environment. Returns the variable that is wrong, or NULL. */
static const char *options_read(struct spur_trace_options *o)
{
	const char *const mode = getenv("SPUR_TRACE_MODE"), *const size = getenv("SPUR_TRACE_SIZE");

	*o = (struct spur_trace_options){ SPUR_TRACE_STREAM, 0 };
	if (mode && strcmp(mode, "ring") == 0)
		o->mode = SPUR_TRACE_RING;
	else if (mode && strcmp(mode, "oneshot") == 0)
		o->mode = SPUR_TRACE_ONESHOT;
	else if (mode && *mode && strcmp(mode, "stream") != 0)
		return "SPUR_TRACE_MODE";
	if (size && *size)
		o->size = size_read(size);
	return size && *size && !o->size ? "SPUR_TRACE_SIZE" : NULL;
}

int spur_trace_start(const char *path)
{
	struct spur_trace_options o;

	return options_read(&o) ? EINVAL : spur_trace_start_with(path, &o);
}

int spur_trace_start_with(const char *path, const struct spur_trace_options *options)
{
	char full[PATH_MAX];
	int why = EALREADY;

	pthread_once(&once, init);
	if (options->mode > SPUR_TRACE_ONESHOT)
		return EINVAL;
	if (strlen(path) >= sizeof(core_directory))
		return ENAMETOOLONG;
	if (seam_mkdir(path, CORE_DIR_MODE) && errno != EEXIST)
		return errno;
	/* The program may go to another directory, and a child begin its file there. */
	if (!realpath(path, full))
		return errno;
	if (!core_enter())
		return EBUSY;
	if (core_system_joined()) {
		core_thread_close();
		core_session_end();
	}
	if (!core_session.number) {
		strcpy(core_directory, full);
		core_options = *options;
		why = core_session_begin();
	}
	core_leave();
	return why;
}

void spur_trace_stop(void)
{
	if (!core_enter())
		return;
	core_thread_close();
	core_system_leave();
	if (core_session.number)
		core_session_end();
	core_leave();
}

bool spur_trace_is_on(void)
{
	return seam_load32(&core_on);
}

void spur_trace_thread_name(const char *name)
{
	if (!core_enter())
		return;
	strncpy(core_own.name, name, CORE_NAME_LEN - 1);
	if (core_own.session && core_own.session == core_session.number)
		core_describe_thread();
	core_leave();
}

void spur_trace_process_name(const char *name)
{
	core_describe_name(SPB_PROCESS_NAME, false, 0, name);
}

void spur_trace_fiber_name(uint64_t id, const char *name)
{
	core_describe_name(SPB_FIBER_NAME, true, id, name);
}

void spur_trace_fiber(uint64_t id)
{
	const struct spur_trace_value v = { id, NULL, 0 };

	core_own.fiber = id;
	if (spur_trace_is_on())
		spur_trace_emit(SPB_FIBER, 0, false, 0, &v, 1);
}

uint32_t spur_trace_number(struct spur_trace_site *site)
{
	if (!__atomic_load_n(&site->on, __ATOMIC_RELAXED))
		seam_store_pointer(&site->on, &spur_trace_new);
	return spur_trace_look(site);
}

void spur_trace_record(uint32_t record, const struct spur_trace_site *site, uint64_t id,
		       const struct spur_trace_value *values)
{
	const bool has_id = site->kind >= SPB_SITE_ASYNC_BEGIN && site->kind <= SPB_SITE_FLOW_END;

	spur_trace_emit(record, seam_load32(&site->number), has_id, id, values,
			record == SPB_END ? 0 : site->nargs);
}

static void say(const char *s)
{
	(void)!seam_write(STDERR_FILENO, s, strlen(s));
}

static void complain(const char *path, int why)
{
	say("spur: ");
	say(path);
	say(": cannot record: ");
	say(strerror(why));
	say("\n");
}

__attribute__((constructor)) static void start(void)
{
	const char *const path = getenv("SPUR_TRACE"), *const help = getenv("SPUR_TRACE_HELPER");
	const char *const dump = getenv("SPUR_TRACE_DUMP");
	struct spur_trace_options o;

	core_helper_unwanted = help && strcmp(help, "0") == 0;
	pthread_once(&once, init);
	core_enter();
	core_categories_read(getenv("SPUR_TRACE_CATEGORIES"));
	core_leave();
	if (path && *path) {
		const int why = spur_trace_start(path);

		/* In a program that is linked with the library, the recorder's has begun. */
		if (why && !(why == EALREADY && spur_trace_is_on()))
			complain(options_read(&o) ? options_read(&o) : path, why);
		else if (!why && dump && !core_dump_at(dump))
			complain("SPUR_TRACE_DUMP", EINVAL);
	} else if (!path) {
		core_enter();
		core_system_find();
		core_leave();
	}
}

__attribute__((destructor)) static void stop(void)
{
	if (seam_load(&core_session.number))
		spur_trace_stop();
}
