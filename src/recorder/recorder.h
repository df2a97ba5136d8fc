/*
 * The recorder: runs a program with the tracing library in it, answers what the library asks, and
 * closes the recording when the program has ended.
 */
#ifndef SPUR_RECORDER_RECORDER_H
#define SPUR_RECORDER_RECORDER_H

#include <sys/types.h>

#include "recorder/binary.h"
#include "recorder/kernel.h"
#include "recorder/rules.h"

#include "../record/wire.h"

/* The numbers are those of enum spb_mode. */
enum recorder_mode { RECORDER_STREAM, RECORDER_RING, RECORDER_ONESHOT };

struct recorder_options {
	const char *const *argv; /* the program and its arguments, NULL-ended */
	const char *output; /* the directory of the recording; NULL: by the program's name */
	bool force; /* replace a recording of that name */
	bool quiet;
	const char *symbol_dirs; /* where debug files are; NULL: the default */
	struct rules *rules;
	const char *categories; /* of events of the program's own; NULL: all */
	struct record_settings settings; /* what the library is told */
	struct kernel_options kernel; /* what is recorded beside the library */
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	void (*restore_signals)(void); /* in the child, before it becomes the program */
};

/* What became of it. */
struct recorder_result {
	int code; /* the exit code for the program's: its own, or 128 + the signal's number */
	int signal; /* that ended the program; 0: none */
	bool started; /* the program ran */
	char *path; /* of the recording; in the arena */
	unsigned left; /* processes that said they record and are still running */
	uint64_t patched, refused; /* points */
	int64_t ns; /* that the program ran */
	int64_t cpu_ns; /* of the CPU, with children that were waited for; 0: unknown */
	struct arena arena;
};

/*
 * Records the program until it ends. Returns SPUR_FAIL, with the error set, if it could not be
 * started. Requires recorder_free() in any case.
 */
enum spur_status recorder_run(const struct recorder_options *o, struct recorder_result *result,
			      struct spur_error *err);
/*
 * The same for a process that runs already, until a signal asks to end, `ns` have passed (0: any
 * time) or the process has ended. It goes on as it was before. The options' argv is not used.
 */
enum spur_status recorder_attach(const struct recorder_options *o, pid_t pid, int64_t ns,
				 struct recorder_result *result, struct spur_error *err);
void recorder_free(struct recorder_result *result);
/* Removes a recording, if the directory has nothing else. */
void recorder_remove(const char *path);

/* --- between the parts --- */

/* A program that can be recorded. */
struct program {
	char *path; /* as it was found */
	char *library; /* the one to load into it; NULL: it has the library itself */
	struct binary binary;
	struct arena arena;
};

/*
 * Finds the program as a shell does, and looks whether it can be recorded. Returns SPUR_FAIL, with
 * the error set, if not. Requires program_close() in any case.
 */
enum spur_status program_open(struct program *p, const char *name, const char *symbol_dirs,
			      struct spur_error *err);
/* The same for the program that a process runs. */
enum spur_status program_open_process(struct program *p, pid_t pid, const char *symbol_dirs,
				      struct spur_error *err);
/* Finds the library to load into the program. Returns SPUR_FAIL, with the error set, if not. */
enum spur_status program_find_library(struct program *p, struct spur_error *err);
void program_close(struct program *p);
/* Says what is found in the program and what it would take to record more. */
void program_describe(const struct program *p, const struct recorder_options *o);

/* A file that a recorder which is killed while it copies a recording leaves in its directory. */
#define SESSION_COPY "copy.part"

/* The directory of a recording. */
struct session {
	char *path; /* absolute */
	bool made; /* the directory, or what was in it was removed */
	char *socket_dir, *socket; /* where recorded programs find the recorder */
	int fd; /* the listening socket */
	struct arena arena;
};

/*
 * Makes the directory `output`, or empties it with `force`; NULL: a new one by the name `program`.
 * Requires an initialised arena.
 */
enum spur_status session_make_dir(struct session *s, const char *output, bool force,
				  const char *program, struct spur_error *err);
/* Makes the directory and the socket. Requires session_close() in any case. */
enum spur_status session_open(struct session *s, const struct recorder_options *o,
			      const struct program *p, struct spur_error *err);
/* Removes the socket. With `keep` false, removes the directory too. */
void session_close(struct session *s, bool keep);
/*
 * Writes what the recording is of into its file `session`; once more when the program has ended.
 * `r`: NULL as long as it runs.
 */
enum spur_status session_describe(const struct session *s, const struct recorder_options *o,
				  const struct program *p, const struct recorder_result *r,
				  struct spur_error *err);

/* Tells the user what recorded programs could not send, each text once, and removes the files. */
void session_notes(const struct session *s, const struct recorder_options *o);

/* Answers to recorded programs. */
struct server;
/* Returns NULL if out of memory. `fd`: the listening socket, borrowed as the options are. */
struct server *server_new(const struct recorder_options *o, int fd);
/* Processes that say hello are observed from then on. `k` is borrowed. */
void server_observe(struct server *s, struct kernel *k);
/*
 * Waits until a program asks something, or until there is something to read from `wake`, and
 * answers. With `ms` 0 it does not wait. Returns true if it answered.
 */
bool server_step(struct server *s, int wake, int ms);
/* Makes the plan for a module's file before a program asks for it. */
void server_prepare(struct server *s, const char *path, bool is_main);
void server_sum(const struct server *s, struct recorder_result *result);
void server_free(struct server *s);

#endif
