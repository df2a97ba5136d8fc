/*
 * Expressions over events: --where 'arg.fd == 3 && dur > 1ms', and --name. The text is compiled to
 * a tree of comparisons once; what a class of rows decides is evaluated once per class
 * (where_class()), so that rows compare no strings where their class knows the answer.
 *
 *	expr:     expr || expr, expr && expr, ! expr, ( expr ), FIELD OP CONSTANT, CONSTANT OP FIELD
 *	FIELD:      ts dur name cat pid tid cpu depth kind thread module arg.NAME[.NAME|.INDEX]...
 *	OP:         == != < <= > >= and, with a regular expression in quotes on its right, =~
 *	CONSTANT:   3 -3 0x1f 1.5 10us 1.5ms "text" 'text' true false null
 *
 * Evaluation knows three values: a comparison may be open as long as something is still to come, as
 * the duration of a call whose END was not read yet. A comparison with something that the event
 * does not have is false, != too.
 */
#ifndef SPUR_FLOW_WHERE_H
#define SPUR_FLOW_WHERE_H

#include "flow/moment.h"
#include "model/class.h"
#include "model/trace.h"

enum { WHERE_NODES = 1024, WHERE_DEPTH = 64, WHERE_CACHED = 64 };

enum where_truth { WHERE_FALSE, WHERE_TRUE, WHERE_OPEN };

enum where_field {
	WHERE_TS,
	WHERE_DUR,
	WHERE_NAME,
	WHERE_CAT,
	WHERE_PID,
	WHERE_TID,
	WHERE_CPU,
	WHERE_DEPTH_OF,
	WHERE_KIND,
	WHERE_THREAD,
	WHERE_MODULE,
	WHERE_ARG,
	WHERE_ANY_NAME, /* --name: any form of the name */
};

enum where_op {
	WHERE_EQ,
	WHERE_NE,
	WHERE_LT,
	WHERE_LE,
	WHERE_GT,
	WHERE_GE,
	WHERE_MATCH,
};

enum where_type { WHERE_INT, WHERE_FLOAT, WHERE_TEXT, WHERE_NULL };

/* A step of arg.NAME.NAME: a name, and the number that it is too where it is one. */
struct where_step {
	uint32_t name; /* string id */
	uint32_t index; /* of an array's item, from 0; UINT32_MAX: the step is no number */
	uint32_t place; /* "argN": N, else 0: a value without a name is called so */
};

/* One comparison. */
struct where_leaf {
	enum where_field field;
	enum where_op op;
	enum where_type type; /* of the constant */
	/* WHERE_INT (ts, dur: in the unit of rows); WHERE_KIND: a bit per kind. */
	__int128 number;
	double real;
	struct text text; /* in the arena; NUL-ended */
	uint32_t id; /* of the text as a string of the trace */
	struct pattern *pattern; /* WHERE_MATCH */
	const struct where_step *steps; /* WHERE_ARG */
	size_t nsteps;
	struct text source; /* the comparison as written, or the pattern of --name; in the arena */
	bool is_name; /* of --name, or with WHERE_CAT of --cat */
	/* What happened so far, for notes; atomic. */
	bool asked, held, found; /* found: the event had the argument */
};

enum where_node_kind { WHERE_LEAF, WHERE_AND, WHERE_OR, WHERE_NOT };

struct where_node {
	enum where_node_kind kind;
	uint32_t a, b; /* nodes; of a leaf: a is its index */
};

struct where {
	struct spur_trace *trace;
	struct arena arena;
	struct where_node *nodes;
	size_t nnodes, nodes_cap;
	struct where_leaf *leaves;
	size_t nleaves, leaves_cap;
	uint32_t root;
	bool uses_calls; /* it asks for dur, depth or arguments, of which BEGIN and END share one */
	bool uses_args;
	uint32_t retval; /* string id */
	int64_t longest; /* longest duration that a comparison asks for; INT64_MIN: none does */
	struct moment_base base; /* of ts */
};

void where_init(struct where *w, struct spur_trace *t);
void where_free(struct where *w);
/* Adds the expression; all that are added must hold. SPUR_FAIL: `err` names the column. */
enum spur_status where_add(struct where *w, const char *text, struct spur_error *err);
/*
 * Adds a comparison of a WHERE_ANY_NAME or WHERE_CAT with a pattern, which belongs to `w` from then
 * on, also on failure. `*any` (UINT32_MAX at first) becomes the node of all such that were added,
 * joined by ||; where_require() takes it.
 */
enum spur_status where_add_name(struct where *w, enum where_field field, struct text source,
				struct pattern *p, uint32_t *any, struct spur_error *err);
/* All that is added from now on must hold together with the node, as where_add() does it. */
enum spur_status where_require(struct where *w, uint32_t node, struct spur_error *err);

/* Building the tree, for the parser. WHERE_NODES or an error's SPUR_FAIL: too many. */
enum spur_status where_node(struct where *w, struct where_node n, uint32_t *out,
			    struct spur_error *err);
enum spur_status where_leaf(struct where *w, struct where_leaf l, uint32_t *out,
			    struct spur_error *err);

/* What a class says of the leaves below WHERE_CACHED, and of the whole. */
struct where_class {
	uint64_t known, truth; /* bit per leaf */
	uint64_t at_end; /* leaves of arguments that ENDs may have */
	uint32_t name, cat; /* of the class: rows that have others are looked at themselves */
	enum where_truth all;
};

void where_class(struct where *w, const struct event_class *c, struct where_class *out);

/* One event, as the comparisons see it. */
struct where_event {
	const struct spur_event *row; /* its ts, cpu, kind, track */
	const struct where_class *class;
	const struct event_class *cls;
	uint32_t name, cat; /* of a call both are those of its BEGIN */
	uint32_t depth;
	enum { WHERE_NO_DUR, WHERE_DUR_KNOWN, WHERE_DUR_AT_LEAST } has_dur;
	int64_t dur;
	const struct spur_args *args, *end_args; /* NULL: none, or not decoded yet */
	bool args_open; /* arguments were not decoded yet */
	bool end_open; /* those of the END may come */
};

enum where_truth where_holds(struct where *w, const struct where_event *e);

#endif
