/*
 * What a recording is to have: which modules, functions and library calls, by names, source files
 * and sizes.
 */
#ifndef SPUR_RECORDER_RULES_H
#define SPUR_RECORDER_RULES_H

#include "base/mem.h"
#include "base/out.h"
#include "base/text.h"

enum rule_what {
	RULE_ONLY, /* functions: these alone */
	RULE_NOT, /* functions and library calls: not these */
	RULE_MODULE, /* modules: these alone */
	RULE_FILE, /* functions of these source files alone */
	RULE_LIBRARY, /* library calls: these alone */
	RULE_ON, /* functions that switch recording on */
	RULE_OFF,
	RULE_ARGUMENTS, /* functions whose arguments are recorded: FUNC@SPEC,... */
	RULE_RESULTS,
	RULE_KEEP, /* functions that have a snapshot of the ring kept: FUNC, FUNC#N, FUNC>TIME */
	RULE_WHATS,
};

/* As given by the user; borrowed. */
struct rule_given {
	enum rule_what what;
	const char *text;
};

/* Values that were asked for and that a recording cannot have, by why. */
enum values_without {
	WITHOUT_CALLED = 1, /* the code calls a hook, in which registers have other values */
	WITHOUT_MCOUNT = 2, /* arguments: the prologue is over at the hook */
	WITHOUT_INFORMATION = 4, /* no debug information */
};

struct rule {
	enum rule_what what;
	struct pattern *pattern;
	const char *text; /* as given */
	const char *specs; /* behind the '@' of RULE_ARGUMENTS and RULE_RESULTS */
	uint32_t when; /* of RULE_KEEP: enum plan_when */
	uint64_t value; /* of RULE_KEEP: ns, or the number of a call */
	bool matched; /* something, so far */
	unsigned without; /* of RULE_ARGUMENTS and RULE_RESULTS: enum values_without */
};

struct rules {
	struct rule *list;
	size_t count, cap;
	size_t of[RULE_WHATS]; /* how many there are of each */
	uint64_t min_size; /* bytes of code of a function */
	bool asked; /* a module was compared with them */
	bool library_calls;
	bool all_arguments; /* that the debug information describes */
	unsigned without; /* enum values_without, with all_arguments */
};

/* The names of a function; valid until the next rules_name() with the same buffer. */
struct rule_name {
	const char *raw, *shown, *simple;
};

/*
 * Adds rules. `kind`: how patterns are written. Returns SPUR_FAIL, with the error set, if a pattern
 * is not valid. Requires rules_free() in any case.
 */
enum spur_status rules_add(struct rules *r, const struct rule_given *given, size_t count,
			   enum pattern_kind kind, struct spur_error *err);
void rules_free(struct rules *r);

/* Fills the forms of a raw name, with `buf`, a memory buffer, for their text. */
struct rule_name rules_name(struct out *buf, const char *raw);
/* Returns true if the rule's pattern matches the name. */
bool rule_matches(struct rule *rule, const struct rule_name *name);
/* Returns true if one of the rules of this kind matches the name. */
bool rules_match(struct rules *r, enum rule_what what, const struct rule_name *name);
/* Returns true if one of the rules of this kind matches a path or its last part. */
bool rules_match_path(struct rules *r, enum rule_what what, const char *path);

#endif
