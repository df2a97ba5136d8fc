/*
 * Plans: what the library in a recorded program is to change in one of its modules
 * (record/wire.h), by what the module's file offers and what the rules say.
 */
#ifndef SPUR_RECORDER_PLAN_H
#define SPUR_RECORDER_PLAN_H

#include "recorder/binary.h"
#include "recorder/rules.h"

#include "../record/wire.h"

struct plan_builder {
	const struct binary *binary;
	struct rules *rules;
	const char *dirs; /* where debug files are */
	struct plan_function *functions;
	size_t nfunctions, functions_cap;
	struct plan_point *points;
	size_t npoints, points_cap;
	struct plan_arg *args;
	size_t nargs, args_cap;
	struct plan_condition *conditions;
	size_t nconditions, conditions_cap;
	struct out texts; /* offset 0: the empty text */
	struct out names; /* scratch */
	struct dwarf_lines *lines; /* where a rule asks for source files; NULL: unknown */
	struct dwarf_arguments *described; /* types of arguments; NULL: unknown */
	bool looked; /* `described` is as good as it gets */
};

/*
 * Chooses what is recorded of a module. `is_main`: it is the program itself. The binary and the
 * rules must outlive the builder. Returns SPUR_FAIL, with the error set, if out of memory.
 * Requires plan_free() in any case.
 */
enum spur_status plan_make(struct plan_builder *p, struct binary *b, struct rules *r,
			   bool is_main, const char *dirs, struct spur_error *err);
void plan_free(struct plan_builder *p);
/*
 * Writes the plan into a file in memory that cannot be changed any more. Returns its descriptor, or
 * -1 with the error set.
 */
int plan_write(struct plan_builder *p, struct spur_error *err);

/*
 * Returns SPUR_FAIL, with the error set, if a rule's specification of arguments is not valid.
 * Called before plans are made.
 */
enum spur_status arguments_check(const struct rules *r, struct spur_error *err);

/* --- for arguments.c --- */

/* Adds a text, or finds offset 0 for the empty one. Failures are those of p->texts. */
uint32_t plan_text(struct plan_builder *p, const char *text, size_t len);
/*
 * Adds the arguments and results of a function that the rules ask for. `name`: its forms; `f`: as
 * the file has it; NULL: a library call. Returns SPUR_FAIL with the error set.
 */
enum spur_status plan_arguments(struct plan_builder *p, struct plan_function *made,
				const struct rule_name *name, const struct binary_function *f,
				struct spur_error *err);

#endif
