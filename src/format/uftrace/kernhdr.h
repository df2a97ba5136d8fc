/*
 * The contents of the small kernel files of a data directory: `kernel_header` (page layout, event
 * formats) and `kallsyms`.
 */
#ifndef SPUR_FORMAT_UFTRACE_KERNHDR_H
#define SPUR_FORMAT_UFTRACE_KERNHDR_H

#include "base/err.h"
#include "base/map64.h"
#include "format/uftrace/ring.h"
#include "format/uftrace/tracefmt.h"
#include "model/symbol/symbol.h"

struct kernhdr {
	struct ring_layout layout;
	struct trace_abi abi;
	struct tracefmt **formats; /* in file order */
	size_t nformats, cap;
	struct map64 by_id; /* event id -> index of the format */
	struct field_ref type, pid; /* common_type, common_pid: the head that all records share */
};

/*
 * Parses `text`, which must live as long as `h`, as the formats do in the arena. Reports missing
 * and damaged parts to `diag`. If the file is missing (text.p is NULL), the caller reports it, and
 * defaults are used. Returns false if out of memory. Free with kernhdr_free(), also after failure.
 */
bool kernhdr_parse(struct kernhdr *h, struct arena *a, struct text text, const char *file,
		   struct diag_log *diag);
void kernhdr_free(struct kernhdr *h);
/* Returns the format of an event id, or NULL. */
const struct tracefmt *kernhdr_format(const struct kernhdr *h, uint64_t id);

/*
 * Parses /proc/kallsyms text into a new table and sorts it: functions and named data, one symbol
 * for each address. Returns false if out of memory.
 */
bool kallsyms_parse(struct symtab *t, struct text text, const char *file, struct diag_log *diag);
/* Returns true if the line is one of /proc/kallsyms. */
bool kallsyms_line_valid(struct text line);

#endif
