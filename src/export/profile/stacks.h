/*
 * Stacks: the calls of a trace summed by path, for writers whose format holds sums. A path is a
 * thread and the functions that are open below each other; time off the CPU is one of them.
 *
 * A lane of the writer has a tree of its own, with a node for each path, up to its share of a
 * common limit; further paths are summed in "(other)", and what is deeper than STACKS_DEPTH in
 * "(deeper)". The trees are joined when lanes are closed. stacks_order() puts the nodes in an order
 * that does not depend on the number of threads.
 *
 * A writer that keeps its stacks takes stacks_lane() and the functions behind it as its callbacks
 * (format/writer.h), and has a struct stacks as the first member of its state. It asks for
 * WRITE_SPANS_SPLIT.
 */
#ifndef SPUR_EXPORT_PROFILE_STACKS_H
#define SPUR_EXPORT_PROFILE_STACKS_H

#include <pthread.h>

#include "base/intern.h"
#include "base/map64.h"
#include "format/writer.h"

enum { STACKS_DEPTH = 4096, STACKS_LEVELS = STACKS_DEPTH + 3 /* nodes of a path at most */ };

/* A function, as the output tells functions apart, or a thread. Padding must be zero. */
struct stack_frame {
	uint32_t name, module, file, line; /* string ids but for the line */
	uint32_t thread; /* a track, whose frame has no names; SPUR_NONE: a function */
};

/*
 * A path. Node 0 is above all threads, and a node's parent has a lower number. Times are ns. The
 * length of a sample (SPUR_SAMPLE) is in the totals of all nodes above it.
 */
struct stack_node {
	uint32_t parent;
	uint32_t what; /* of a joined node: its frame */
	uint32_t depth;
	uint64_t calls, self, total;
	uint64_t most; /* the longest call; 0 of samples */
};

struct stack_tree {
	struct stack_node *nodes;
	size_t n, cap;
	struct map64 children; /* parent and what to node */
};

/* The numbers of the writer's reasons (format/loss.h). */
struct stack_reasons {
	unsigned paths; /* too many paths */
	unsigned deep; /* too deep */
};

struct stacks {
	struct write *write;
	struct stack_reasons reasons;
	uint8_t fits[SPUR_KINDS]; /* of this conversion: samples need stacks */
	size_t budget; /* nodes of a lane */
	pthread_mutex_t lock; /* of all that follows */
	struct stack_tree all;
	struct intern *frames; /* bytes of a struct stack_frame to its number */
	uint32_t off_cpu, other, deeper; /* string ids */
	int64_t first, last; /* times of the trace's calls; first > last: no calls */
	bool failed; /* out of memory in a lane that was closed */
	/* After stacks_order(): */
	uint32_t *sorted; /* nodes by parent, then by frame */
	uint32_t *start; /* by node: the first of its children in `sorted`; one more at the end */
};

/* Returns false if out of memory; stacks_free() is due in any case. */
bool stacks_init(struct stacks *s, struct write *w, const struct stack_reasons *reasons);
void stacks_free(struct stacks *s);

void *stacks_lane(void *self, uint32_t track);
bool stacks_row(void *lane, const struct spur_event *row, struct out *o);
bool stacks_end(void *lane, const struct spur_event *row, const struct write_end *end,
		struct out *o);
void stacks_lane_close(void *lane);

/* Orders the nodes when all lanes are closed. Returns false if out of memory. */
bool stacks_order(struct stacks *s);
/* The frame of a joined node. */
struct stack_frame stacks_frame(const struct stacks *s, uint32_t node);
/*
 * Calls `each` for all paths in the order of stacks_order(), parents first, with the nodes from the
 * thread on, until it returns false. Returns false then.
 */
bool stacks_walk(const struct stacks *s,
		 bool (*each)(void *self, const uint32_t *path, size_t n), void *self);

#endif
