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

struct rule {
	enum rule_what what;
	struct pattern *pattern;
	const char *text; /* as given */
	const char *specs; /* behind the '@' of RULE_ARGUMENTS and RULE_RESULTS */
	uint32_t when; /* of RULE_KEEP: enum plan_when */
	uint64_t value; /* of RULE_KEEP: ns, or the number of a call */
	bool matched; /* something, so far */
};

struct rules {
	struct rule *list;
	size_t count, cap;
	size_t of[RULE_WHATS]; /* how many there are of each */
	uint64_t min_size; /* bytes of code of a function */
	bool library_calls;
	bool all_arguments; /* that the debug information describes */
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
