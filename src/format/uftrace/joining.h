/*
 * Shared by the parts of a join of uftrace directories (join*.c): what they have in common, the ids
 * of each part in the joined trace, and the files that it gets.
 */
#ifndef SPUR_FORMAT_UFTRACE_JOINING_H
#define SPUR_FORMAT_UFTRACE_JOINING_H

#include "base/map64.h"
#include "format/uftrace/copying.h"

/* One of the directories. */
struct join_part {
	struct copying k; /* its shift is the part's */
	struct uftrace *u;
	/* An earlier part of the same recording, whose ids mean the same; else the part itself */
	struct join_part *twin;
	struct text info, tasks; /* the files `info` and task.txt; .p is NULL if missing */
	struct map64 ids; /* id to the joined trace's; of a twin: unused */
	struct text old_sid, new_sid; /* of the session whose map got another name */
};

/* A file that is made of the content of one. */
struct join_file {
	char *name; /* in the joined trace */
	struct text content;
	size_t part;
	enum copying_text what;
};

/* The records of one output file: of a task, or of a CPU's perf ring. */
struct join_records {
	int64_t number; /* tid in the joined trace, or CPU */
	int64_t own; /* tid in the part, or CPU */
	size_t part;
	struct uftrace_file *file;
	bool perf;
};

struct joining {
	struct copy *copy;
	struct join_part *parts;
	size_t count;
	struct map64 used; /* ids of the joined trace */
	struct join_file *files;
	size_t nfiles, files_cap;
	struct map64 by_name; /* hash of a file's name: 1 + its index */
	struct map64 events; /* user events: id: 1 + index of the line */
	struct text *event_lines;
	size_t nevents, events_cap;
	struct join_records *records; /* by kind, number, part */
	size_t nrecords, records_cap;
	struct arena arena;
	bool calls; /* a task's file is not empty */
	bool failed; /* out of memory */
};

/*
 * Gets the id of a process or thread in the joined trace; ids that no process has stay. Returns
 * false if out of memory, or if no id is left.
 */
bool join_id(struct joining *j, struct join_part *p, int64_t id, int64_t *joined);
/*
 * Decides what becomes of the small files. Returns false if they cannot be joined, or with
 * j->failed set.
 */
bool join_plan_files(struct joining *j);
/* Write all small files and `info`. Returns false if out of memory, or with copy->err set. */
bool join_write_files(struct joining *j);
/* The same for the files with records. */
bool join_write_records(struct joining *j);

#endif
