/*
 * Functions as a reader of tables thinks of them: classes of one name, module and category are one,
 * whatever their ids; a library function is one whichever module calls it. Time off the CPU is a
 * group too (class id 0).
 */
#ifndef SPUR_PASS_FOLD_GROUP_H
#define SPUR_PASS_FOLD_GROUP_H

#include "base/map64.h"
#include "base/out.h"
#include "model/trace.h"

enum group_class { GROUP_OFF_CPU = 0 };
#define GROUP_NONE UINT32_MAX

struct group {
	const char *name, *module; /* of the trace; module "" where none is known */
	const char *cat; /* "" unless categories tell functions apart (CLASS_CATEGORY) */
	size_t name_len, module_len, cat_len;
	const struct event_class *cls; /* its class of the lowest address; NULL off the CPU */
	bool shared_name; /* another group has the name: show module and category too */
};

struct groups {
	const struct spur_trace *trace;
	struct group *items;
	size_t n, cap;
	struct map64 by_key;
	struct map64 by_name; /* name's string id -> group + 1 of its first */
	uint32_t *of; /* class id -> group + 1 */
	size_t of_cap;
};

/* The group that a class is of, as long as nothing is known of other classes; NULL: off the CPU. */
struct group group_make(const struct spur_trace *t, const struct event_class *c);
/* True where `a` stands for a group rather than `b`: not a matter of the order of asking. */
bool group_stands_before(const struct event_class *a, const struct event_class *b);
/*
 * The group of a class id, new where it is the first of it; GROUP_NONE: out of memory. Numbers
 * depend on the order of asking.
 */
uint32_t groups_put(struct groups *g, uint32_t cls);
void groups_free(struct groups *g);
/* By name, then module, then category, bytewise. */
int group_order(const struct group *a, const struct group *b);
/*
 * The name as tables show it: with the module's base name, or the category, in brackets where the
 * name alone is not enough. Raw bytes.
 */
void out_group(struct out *o, const struct group *g);
/* True where `name` is the function's name in any of its forms. */
bool group_is(const struct groups *g, const struct group *p, const char *name);

#endif
