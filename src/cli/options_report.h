/* Options that report and diff have in common. */
#ifndef SPUR_CLI_OPTIONS_REPORT_H
#define SPUR_CLI_OPTIONS_REPORT_H

#include "cli/values.h"

/* clang-format off */

/* -s and -f; both are string literals: the default order in brackets or "", and all columns. */
#define REPORT_TABLE_OPTIONS(ORDER, COLUMNS)                                              \
	{ .name = "sort",                                                                 \
	  .letter = 's',                                                                  \
	  .type = OPT_STRING,                                                             \
	  OPT_COMMON(render.sort),                                                        \
	  .arg = "LIST",                                                                  \
	  .help = "Sort by these columns; -NAME sorts in reverse" ORDER },                \
	{ .name = "fields",                                                               \
	  .letter = 'f',                                                                  \
	  .type = OPT_STRING,                                                             \
	  OPT_COMMON(render.fields),                                                      \
	  .arg = "LIST",                                                                  \
	  .help = "Show these columns: " COLUMNS }

/* What uftrace report takes for its own columns. */
#define REPORT_AVERAGE_OPTIONS                                                            \
	{ .name = "avg-total",                                                            \
	  .type = OPT_FLAG,                                                               \
	  OPT_COMMON(uftrace.avg_total),                                                  \
	  .help = "With --style=uftrace: show average, minimum and maximum of the total " \
		  "time" },                                                               \
	{ .name = "avg-self",                                                             \
	  .type = OPT_FLAG,                                                               \
	  OPT_COMMON(uftrace.avg_self),                                                   \
	  .help = "With --style=uftrace: show average, minimum and maximum of the self "  \
		  "time" },                                                               \
	{ .name = "srcline",                                                              \
	  .type = OPT_FLAG,                                                               \
	  OPT_COMMON(uftrace.srcline),                                                    \
	  .help = "With --style=uftrace: show source files and lines" }

/* The version of LLVM of --style=llvm-xray; OWN has a member `llvm`. MORE: further help or "". */
#define REPORT_LLVM_OPTION(OWN, MORE)                                                     \
	{ .name = "llvm",                                                                 \
	  .type = OPT_INT,                                                                \
	  OPT_OWN(OWN, llvm.version),                                                     \
	  .arg = "VERSION",                                                               \
	  .help = "With --style=llvm-xray: write names as this version of LLVM does "     \
		  "(default: the latest" MORE ")" }

/* clang-format on */

/* What both take beside a trace and its filters. */
#define REPORT_TAKES                                                                          \
	(TAKES_TRACE | TAKES_UFTRACE | TAKES_FILTERS | TAKES_JSON | TAKES_JSONL | TAKES_CSV | \
	 TAKES_LIMIT | TAKES_STYLE | TAKES_FIELDS | TAKES_RAW | TAKES_COLOR)

#endif
