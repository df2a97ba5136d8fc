/*
 * A command is a file cmd_NAME.c that ends in `const struct spur_cmd spur_cmd_NAME`; the Makefile
 * generates the table of commands. Options are tables too, from which help, manual pages and shell
 * completion are generated.
 */
#ifndef SPUR_CLI_CMD_H
#define SPUR_CLI_CMD_H

#include "pass/pass.h"

enum exit_code {
	EXIT_CLEAN = 0,
	EXIT_DIFFERENT = 1,
	EXIT_USAGE = 2,
	EXIT_DAMAGED = 3,
	EXIT_UNREADABLE = 4,
	EXIT_IO = 5,
	EXIT_INTERRUPTED = 130
};

enum opt_type {
	OPT_FLAG, /* bool */
	OPT_STRING, /* const char *; the last one counts */
	OPT_LIST, /* const char *; repeated ones are joined by commas */
	OPT_INT, /* int, not negative */
	OPT_U64, /* uint64_t; sizes take k, m, g */
	OPT_DURATION, /* int64_t ns: 1.5s 250ms 10us; a number of ns with --style=uftrace */
	OPT_CHOICE, /* int: index into `choices` */
	OPT_FILTER, /* appended to the filter items: `value` is the enum filter_what */
	OPT_CALL, /* call(values, text) -> bool; without `arg` a flag, text is NULL */
};

/* What options set; see cli/values.h. */
struct values;

struct opt {
	const char *name; /* long name, without -- */
	char letter; /* 0: none */
	enum opt_type type;
	bool common; /* the field is in struct values, else in the command's own struct */
	size_t offset; /* of the field */
	const char *arg; /* name of the argument in help; NULL for flags */
	const char *help; /* one sentence */
	const char *const *choices; /* NULL-ended; if not OPT_CHOICE, only completion uses them */
	/* Instead of `choices`: returns choice number i, or NULL after the last one. */
	const char *(*choice)(size_t i);
	int value; /* OPT_FILTER */
	uint64_t least; /* OPT_INT, OPT_U64: the smallest value that is accepted */
	/* OPT_CALL: takes the value. Returns false, maybe with v->err set, if it is not valid. */
	bool (*call)(struct values *v, const char *text);
	bool hidden; /* not in help: tests and compatibility */
	unsigned need; /* only for commands that take this: enum cmd_takes */
};

/* The shared options that a command has. */
enum cmd_takes {
	TAKES_TRACE = 1, /* operands are a trace: how to open it */
	TAKES_FILTERS = 2,
	TAKES_JSON = 4, /* --json and so on: the forms that it can write */
	TAKES_JSONL = 8,
	TAKES_CSV = 16,
	TAKES_TIME = 32,
	TAKES_LIMIT = 64,
	TAKES_STYLE = 128,
	TAKES_RAW = 256,
	TAKES_COLOR = 512,
	TAKES_FIELDS = 1024, /* -f: columns */
	TAKES_FOLLOW = 2048, /* input that is still being written */
	TAKES_UFTRACE = 4096, /* options of uftrace's commands */
	TAKES_PROGRAM = 8192, /* all behind the first operand are operands: another program's */
};

/* Where an option's value goes: a field of struct values, or of the command's own struct TYPE. */
#define OPT_COMMON(FIELD) .common = true, .offset = offsetof(struct values, FIELD)
#define OPT_OWN(TYPE, FIELD) .offset = offsetof(TYPE, FIELD)

struct spur_cmd {
	const char *name;
	const char *summary; /* one line */
	const char *usage; /* after the name: "[OPTION...] TRACE" */
	const char *description; /* paragraphs for the man page, '\n' between */
	const char *examples; /* lines "command\texplanation" */
	const struct opt *opts; /* its own; ended by one without name; NULL: none */
	size_t own_size; /* of values.own, the zeroed struct of its own options; 0: none */
	unsigned takes; /* enum cmd_takes */
	int (*run)(const struct spur_cmd *cmd, struct values *v);
};

extern const struct spur_cmd *const spur_cmds[];

#endif
