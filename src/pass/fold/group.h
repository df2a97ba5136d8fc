/*
 * Functions as a reader of tables thinks of them: classes of one name, module and category are one,
 * whatever their ids; a library function is one whichever module calls it. Time off the CPU is a
 * group too (class id 0).
 */
#ifndef SPUR_PASS_FOLD_GROUP_H
#define SPUR_PASS_FOLD_GROUP_H

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

/*
 * The groups of a trace's classes, which take some bytes each, or a list of groups that a caller
 * fills.
 */
struct groups {
	const struct spur_trace *trace;
	struct group *items; /* of a list; else NULL */
	size_t n;
	uint32_t *cls; /* the class that stands for each; 0: off the CPU */
	size_t cap;
	uint32_t *of; /* class id -> group + 1, with a mark of group.c */
	size_t of_cap;
	uint8_t *named; /* by string id: groups of that name, 2 at most */
	size_t named_cap;
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
/* The group of a number below `n`, with what is known of all classes so far. */
struct group group_at(const struct groups *g, uint32_t id);
void groups_free(struct groups *g);
/* By name, then module, then category, bytewise. */
int group_order(const struct group *a, const struct group *b);
int groups_order(const struct groups *g, uint32_t a, uint32_t b);
/*
 * The name as tables show it: with the module's base name, or the category, in brackets where the
 * name alone is not enough. Raw bytes.
 */
void out_group(struct out *o, const struct group *g);
void out_group_at(struct out *o, const struct groups *g, uint32_t id);
/* True where `name` is the function's name in any of its forms. */
bool group_is(const struct groups *g, uint32_t id, const char *name);

#endif
