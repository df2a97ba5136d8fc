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

CORE_HERE void (*core_forked)(int why);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool orphan_was_on; /* the parent, in a child that has not come to fork_child() */

/*
 * The parent's file is the parent's: the child has one of its own, with the same points. A child
 * that a signal handler forks in the middle of the library records nothing: that is not complete.
 */
static void fork_child(void)
{
	const bool was_on = core_session.number || orphan_was_on;
	int why = 0;

	core_guard_set();
	orphan_was_on = false;
	if (!core_own.fork_entered) {
		core_session_abandon();
		core_thread_abandon();
		return;
	}
	core_own.forks = 0;
	core_threads_forget();
	core_lock();
	core_helper_forget();
	core_users = 0;
	if (was_on) {
		if (core_file_is_open())
			seam_close(core_session.fd);
		seam_unmap(core_session.head, SPB_HEADER);
		if (core_session.stated)
			seam_unmap(core_session.stated_chunk, SPB_CHUNK_SIZE);
		core_session = (struct core_session){ .fd = -1 };
		core_switch();
		if (core_system_over(false) || (why = core_session_begin()))
			core_system_watch();
		else if (core_system_joined())
			core_helper_start(true);
	}
	core_leave();
	if (core_forked)
		core_forked(why);
}

/*
 * No handler of fork() is called in a child that is made by clone() itself, or by _Fork(). As no
 * other thread is there, the lock is free unless one of the parent's has been changing something
 * just then: that is not complete either.
 */
void core_orphaned(void)
{
	if (core_own.forks) {
		/* A signal handler, before fork_child(): the parent's file is out of reach now. */
		orphan_was_on |= core_session.number != 0;
		seam_store(&core_session.number, 0);
		seam_set_pointer(&spur_trace_here.end, NULL);
		return;
	}
	core_own.fork_entered = core_enter_try();
	fork_child();
}

/* A signal handler may fork while its thread does, or is in the library. */
static void fork_before(void)
{
	if (!core_own.forks++)
		core_own.fork_entered = core_enter();
}

static void fork_parent(void)
{
	/* The child of a handler's fork() returns to the parent's, which is over for it. */
	if (core_own.forks && !--core_own.forks && core_own.fork_entered)
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
	if (core_abandoned)
		core_session_regain();
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
	core_look_orphan();
	return seam_load32(&core_on);
}

void spur_trace_thread_name(const char *name)
{
	const size_t len = core_text_cut(name, strlen(name), CORE_NAME_LEN - 1);

	if (!core_enter())
		return;
	memset(core_own.name, 0, sizeof(core_own.name));
	memcpy(core_own.name, name, len);
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
	core_thread_fiber(id);
}

uint32_t spur_trace_number(struct spur_trace_site *site)
{
	if (!__atomic_load_n(&site->on, __ATOMIC_RELAXED))
		seam_store_pointer(&site->on, &spur_trace_new);
	return spur_trace_look(site);
}

/* The most that the payload of a record may have: with its head and an id it fills a page. */
enum { PAYLOAD_MOST = SPB_PAGE - SPB_CHUNK_HEAD - 3 * SPB_WORD };

static bool is_text(uint8_t type)
{
	return type == SPB_TEXT || type == SPB_BYTES;
}

/* True if the values have the form that their types ask for, and a record has room for them. */
static bool values_fit(const struct spur_trace_site *site, const struct spur_trace_value *v,
		       unsigned n)
{
	uint64_t size = 0;

	for (unsigned i = 0; i < n; i++) {
		if (is_text(site->arg_types[i]) != (v[i].text != NULL) ||
		    (v[i].text && v[i].len > SPUR_TRACE_TEXT_MAX))
			return false;
		size += spur_trace_size(&v[i]);
	}
	return size <= PAYLOAD_MOST;
}

/* A record of values as their types ask for, with as much of each text as there is room for. */
static __attribute__((noinline)) void record_cut(uint32_t record, uint32_t number, bool has_id,
						 uint64_t id, const struct spur_trace_site *site,
						 const struct spur_trace_value *values)
{
	struct spur_trace_value v[UINT8_MAX];
	uint64_t each = PAYLOAD_MOST / SPB_WORD;
	unsigned texts = 0;

	for (unsigned i = 0; i < site->nargs; i++)
		texts += is_text(site->arg_types[i]);
	if (texts)
		each = (each - (site->nargs - texts)) / texts * SPB_WORD - 2;
	if (each > SPUR_TRACE_TEXT_MAX)
		each = SPUR_TRACE_TEXT_MAX;
	for (unsigned i = 0; i < site->nargs; i++) {
		const uint64_t len = values[i].text ? values[i].len : 0;

		v[i] = spur_trace_word(values[i].word);
		if (is_text(site->arg_types[i]))
			v[i] = (struct spur_trace_value){ 0, values[i].text ? values[i].text : "",
							  (uint32_t)(len < each ? len : each) };
	}
	spur_trace_emit(record, number, has_id, id, v, site->nargs);
}

void spur_trace_record(uint32_t record, const struct spur_trace_site *site, uint64_t id,
		       const struct spur_trace_value *values)
{
	const bool has_id = site->kind >= SPB_SITE_ASYNC_BEGIN && site->kind <= SPB_SITE_FLOW_END;
	const uint32_t number = seam_load32(&site->number);
	const unsigned n = record == SPB_END ? 0 : site->nargs;

	if (record < SPB_BEGIN || record > SPB_EVENT || (!number && record != SPB_END))
		return;
	if (values_fit(site, values, n))
		spur_trace_emit(record, number, has_id, id, values, n);
	else
		record_cut(record, number, has_id, id, site, values);
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
	const char *const other = getenv("SPUR_TRACE_SWITCH");
	struct spur_trace_options o;

	core_helper_unwanted = help && strcmp(help, "0") == 0;
	pthread_once(&once, init);
	if (core_enter()) {
		core_categories_read(getenv("SPUR_TRACE_CATEGORIES"));
		core_leave();
	}
	if (path && *path) {
		const int why = spur_trace_start(path);

		/* In a program that is linked with the library, the recorder's has begun. */
		if (why && !(why == EALREADY && spur_trace_is_on()))
			complain(options_read(&o) ? options_read(&o) : path, why);
		else if (!why && dump && !core_dump_at(dump))
			complain("SPUR_TRACE_DUMP", EINVAL);
		if (!why && other && !core_switch_at(other))
			complain("SPUR_TRACE_SWITCH", EINVAL);
	} else if (!path && core_enter()) {
		core_system_find();
		core_leave();
	}
}

__attribute__((destructor)) static void stop(void)
{
	if (seam_load(&core_session.number))
		spur_trace_stop();
}
