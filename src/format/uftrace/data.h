/*
 * A uftrace data directory in memory: the contents of its small files. Everything lives in the
 * trace's arena until close. Other floors may read it through uftrace_data(); it does not change
 * after open.
 */
#ifndef SPUR_FORMAT_UFTRACE_DATA_H
#define SPUR_FORMAT_UFTRACE_DATA_H

#include "base/map64.h"
#include "base/text.h"
#include "model/symbol/symbol.h"
#include "model/trace.h"

enum uftrace_feature {
	UFTRACE_PLTHOOK,
	UFTRACE_TASK_SESSION,
	UFTRACE_KERNEL,
	UFTRACE_ARGUMENT,
	UFTRACE_RETVAL,
	UFTRACE_SYM_REL_ADDR,
	UFTRACE_MAX_STACK,
	UFTRACE_EVENT,
	UFTRACE_PERF_EVENT,
	UFTRACE_AUTO_ARGS,
	UFTRACE_DEBUG_INFO,
	UFTRACE_ESTIMATE_RETURN,
	UFTRACE_SYM_SIZE,
	UFTRACE_CALLSITE,
	UFTRACE_FEATURES
};

enum uftrace_info_bit {
	UFTRACE_EXE_NAME,
	UFTRACE_EXE_BUILD_ID,
	UFTRACE_EXIT_STATUS,
	UFTRACE_CMDLINE,
	UFTRACE_CPUINFO,
	UFTRACE_MEMINFO,
	UFTRACE_OSINFO,
	UFTRACE_TASKINFO,
	UFTRACE_USAGEINFO,
	UFTRACE_LOADINFO,
	UFTRACE_ARG_SPEC,
	UFTRACE_RECORD_DATE,
	UFTRACE_PATTERN_TYPE,
	UFTRACE_VERSION,
	UFTRACE_UTC_OFFSET,
	UFTRACE_SYSCTL,
	UFTRACE_INFO_BITS
};

/*
 * The file `info`. If it is missing, `have` is false, byte order and class are guessed, and masks
 * are 0.
 */
struct uftrace_info {
	bool have;
	uint32_t version;
	uint16_t header_size;
	bool big_endian, is64;
	uint64_t features, bits;
	uint16_t max_stack;
	const uint8_t *header; /* the 40 raw header bytes, for a dump; NULL if missing */
	struct text exename, build_id, cmdline, cpudesc, arch, exit_status, nr_cpus, meminfo,
		kernel, hostname, distro, tids, load, record_date, elapsed, pattern_type,
		uftrace_version, utc_offset, sysctl;
	struct text usage[6]; /* systime usrtime ctxsw maxrss pagefault iops */
	struct text argspec, retspec, argauto, retauto, enumauto;
	bool auto_args;
};

/* One module of a map: [start, end) of addresses; NAME-relative address = addr - start. */
struct uftrace_module; /* a loaded symbol file; shared by all maps that name it */

struct uftrace_map {
	uint64_t start, end;
	struct text path, build_id;
	struct uftrace_module *module;
};

struct uftrace_dlopen {
	uint64_t time, base;
	struct text path;
	struct uftrace_module *module;
};

struct uftrace_session {
	uint64_t time;
	int64_t pid;
	struct text sid, exename;
	struct uftrace_map *maps; /* ascending by start */
	size_t nmaps;
	struct uftrace_dlopen *dlopens; /* in time order */
	size_t ndlopens;
	bool shared_maps; /* the array belongs to an earlier session of the same sid */
	uint64_t kernel_base; /* first kernel address */
};

struct uftrace_session_ref {
	uint64_t start, end; /* ns; valid where start <= t < end */
	struct uftrace_session *session;
};

struct uftrace_task {
	int64_t tid;
	int64_t of; /* the process id; of a forked task, which is a process, that of its parent */
	uint64_t time; /* of its first TASK or FORK line */
	/* For uftrace_task_ref(); most of very many tasks have one session, from `time` on. */
	union {
		struct uftrace_session *only; /* refs_cap 0 */
		struct uftrace_session_ref *refs; /* ascending by start, each up to the next */
	};
	uint32_t nrefs : 31;
	uint32_t forked : 1;
	uint32_t refs_cap;
};

static_assert(sizeof(struct uftrace_task) <= 40, "there may be very many tasks");

/* One line of task.txt. */
struct uftrace_line {
	enum { UFTRACE_LINE_SESS, UFTRACE_LINE_TASK, UFTRACE_LINE_FORK, UFTRACE_LINE_DLOP } kind;
	uint64_t time;
	int64_t tid, pid; /* FORK: child and parent */
	struct text sid, path;
	uint64_t base;
};

/* The lines of task.txt, or the messages of `task`: where uftrace_next_line() goes on. */
struct uftrace_lines {
	struct text rest; /* of the file */
	size_t left; /* lines that may follow */
	bool binary, swap;
};

struct uftrace_data {
	struct uftrace_info info;
	struct uftrace_lines lines; /* all of them; copy it to walk over them */
	size_t nlines, ndlopens; /* `ndlopens` of them are DLOP lines */
	struct uftrace_session *sessions; /* in file order */
	size_t nsessions, sessions_cap;
	struct uftrace_task *tasks; /* ascending by tid */
	size_t ntasks, tasks_cap;
	struct text default_opts, note; /* contents of the files */
};

/* Returns NULL if the trace is not of this format. */
const struct uftrace_data *uftrace_data(const struct spur_trace *t);
const struct uftrace_task *uftrace_task(const struct uftrace_data *d, int64_t tid);
static inline int64_t uftrace_task_pid(const struct uftrace_task *k)
{
	return k->forked ? k->tid : k->of;
}

/* Returns the id of the task's parent process, or 0 if it was not forked. */
static inline int64_t uftrace_task_ppid(const struct uftrace_task *k)
{
	return k->forked ? k->of : 0;
}

/* Returns the task's session of that number. Requires i < k->nrefs. */
static inline struct uftrace_session_ref uftrace_task_ref(const struct uftrace_task *k, size_t i)
{
	return k->refs_cap ? k->refs[i]
			   : (struct uftrace_session_ref){ k->time, UINT64_MAX, k->only };
}

/* Gets the next valid line. Returns false at the end. */
bool uftrace_next_line(struct uftrace_lines *lines, struct uftrace_line *l);
/* Returns the session whose map is valid for the task at the time, or NULL. */
const struct uftrace_session *uftrace_session_at(const struct uftrace_data *d, int64_t tid,
						 uint64_t time);
/* The same; the result holds for all times with *from <= time < *until. */
const struct uftrace_session *uftrace_session_span(const struct uftrace_data *d, int64_t tid,
						   uint64_t time, uint64_t *from, uint64_t *until);

/* Returns the module's range that contains the address, or NULL. */
const struct uftrace_map *uftrace_map_at(const struct uftrace_session *s, uint64_t addr);

/*
 * Returns the symbols of the module with that path, loading them if needed, or NULL if no map has
 * it. Takes the trace's lock.
 */
const struct symtab *uftrace_symbols(struct spur_trace *t, struct text path);

/* Event ids that the format defines. */
enum uftrace_event_id {
	UFTRACE_EV_READ_STATM = 100001,
	UFTRACE_EV_READ_PGFAULT,
	UFTRACE_EV_DIFF_STATM,
	UFTRACE_EV_DIFF_PGFAULT,
	UFTRACE_EV_READ_CYCLE,
	UFTRACE_EV_DIFF_CYCLE,
	UFTRACE_EV_READ_CACHE,
	UFTRACE_EV_DIFF_CACHE,
	UFTRACE_EV_READ_BRANCH,
	UFTRACE_EV_DIFF_BRANCH,
	UFTRACE_EV_WATCH_CPU,
	UFTRACE_EV_WATCH_VAR,
	UFTRACE_EV_CALLSITE,
	UFTRACE_EV_SCHED_IN = 200001,
	UFTRACE_EV_SCHED_OUT,
	UFTRACE_EV_SCHED_BOTH,
	UFTRACE_EV_TASK_NEW,
	UFTRACE_EV_TASK_EXIT,
	UFTRACE_EV_TASK_NAME,
	UFTRACE_EV_SCHED_OUT_PREEMPT,
	UFTRACE_EV_SCHED_BOTH_PREEMPT,
	UFTRACE_EV_USER = 1000000,
	UFTRACE_EV_EXTERN = 2000000
};

/*
 * The rows of this format, for passes that show the layout of its own tool:
 *   .dat ENTRY, EXIT    BEGIN, END; id = address as recorded (depth overflow taken out, kernel
 *                       addresses extended); the depth is recorded (SPUR_F_DEPTH); track = the
 *                       thread's; arguments by the class's plan
 *   .dat LOST           LOST, id = number of events, SPUR_F_RETIMED
 *   .dat EVENT          INSTANT (COUNTER for read/diff ids), id = event id; CLASS_EVENT
 *   perf SWITCH         SWITCH, F_OUT (F_PREEMPTED) or F_IN, id = UFTRACE_EV_SCHED_*; name of out
 *                       "linux:sched-out", of in "linux:sched-in"; cpu = that of the file;
 *                       class has CLASS_SCHED; the `cat` of both classes is "linux"
 *   perf COMM FORK EXIT OBJECT, id = UFTRACE_EV_TASK_NAME, _TASK_NEW, _TASK_EXIT; argument "comm"
 *                       for names
 *   kernel funcgraph    BEGIN, END with CLASS_KERNEL; id = address; depth = the record's own,
 *                       without SPUR_F_DEPTH
 *   kernel tracepoints  INSTANT with CLASS_KERNEL|CLASS_EVENT, name "system:event"; id = event id
 *   extern.dat          LOG, id = UFTRACE_EV_EXTERN, argument "msg"
 * `stream` is the file that contains the record ("TID.dat", "perf-cpuN.dat", "kernel-cpuN.dat",
 * "extern.dat"), whatever feed brings it. One feed a thread; a feed's rows of equal time come in
 * the order .dat, kernel, perf.
 */

#endif
