/*
 * Stacks: the calls of a trace summed by path, for writers whose format holds sums. A path is a
 * thread and the functions that are open below each other; time off the CPU is one of them.
 *
 * A lane of the writer has a tree of its own, with a node for each path, up to its share of a
 * common limit; further paths are summed in "(other)", and what is too deep in "(deeper)". The
 * trees are joined when lanes are closed; the first one becomes the joined tree without being
 * copied. stacks_order() puts the nodes in an order that does not depend on the number of threads.
 *
 * A writer that keeps its stacks takes stacks_lane() and the functions behind it as its callbacks
 * (format/writer.h), and has a struct stacks as the first member of its state. It asks for
 * WRITE_SPANS_SPLIT.
 */
#ifndef SPUR_EXPORT_PROFILE_STACKS_H
#define SPUR_EXPORT_PROFILE_STACKS_H

#include <pthread.h>

#include "base/intern.h"
#include "base/key_index.h"
#include "format/writer.h"

enum { STACKS_DEPTH = 4096, STACKS_LEVELS = STACKS_DEPTH + 3 /* nodes of a path at most */ };

/* A function, as the output tells functions apart, or a thread. Padding must be zero. */
struct stack_frame {
	uint32_t name, module, file, line; /* string ids but for the line */
	uint32_t thread; /* a track, whose frame has no names; SPUR_NONE: a function */
};

/* A path. Node 0 is above all threads, and a node's parent has a lower number. Times are ns. */
struct stack_node {
	uint64_t calls, self;
	uint32_t parent;
	uint32_t what; /* of a joined node: its frame */
	uint32_t depth;
	uint32_t latest; /* the child that was looked for last; 0: none */
};

/*
 * Times of a node that few writers need. The length of a sample (SPUR_SAMPLE) is in the totals of
 * all nodes above it.
 */
struct stack_times {
	uint64_t total;
	uint64_t most; /* the longest call; 0 of samples */
};

struct stack_tree {
	struct stack_node *nodes;
	struct stack_times *times; /* by node; NULL if the writer does not need them */
	size_t n, cap, times_cap;
	size_t most; /* nodes that room is made for at first */
	struct key_index children; /* nodes by parent and what */
};

enum { STACKS_NODES = 1 << 19 };

/* What a writer wants of its stacks. */
struct stack_options {
	uint32_t nodes; /* of all lanes, STACKS_NODES at most, but for some thousands of each */
	/* The numbers of the writer's reasons (format/loss.h): too many paths, too deep. */
	unsigned paths, deep;
	uint32_t depth; /* of a path below its thread, STACKS_DEPTH at most */
	bool times; /* struct stack_times is needed */
	/*
	 * Functions are told apart by their names alone, and threads by the names that
	 * timeline_name() gives them. Frames have no thread then.
	 */
	bool by_name;
};

struct stacks {
	struct write *write;
	struct stack_options options;
	uint8_t fits[SPUR_KINDS]; /* of this conversion: samples need stacks */
	size_t budget; /* nodes of a lane */
	pthread_mutex_t lock; /* of all that follows */
	struct stack_tree all;
	struct intern *frames; /* bytes of a struct stack_frame to its number, from 1 on */
	uint32_t *of_class; /* frames of classes whose calls have the name of the class; 0: none */
	size_t classes; /* capacity of of_class */
	uint32_t off_cpu, other, deeper; /* string ids */
	int64_t first, last; /* times of the trace's calls; first > last: no calls */
	bool failed; /* out of memory in a lane that was closed */
	/* After stacks_order(): */
	uint32_t *sorted; /* nodes by parent, then by frame */
	uint32_t *start; /* by node: the first of its children in `sorted`; one more at the end */
	size_t nsorted, nstart; /* elements of both */
};

/* Returns false if out of memory; stacks_free() is due in any case. */
bool stacks_init(struct stacks *s, struct write *w, const struct stack_options *options);
void stacks_free(struct stacks *s);

void *stacks_lane(void *self, uint32_t track);
struct stacks *stacks_of_lane(const void *lane);
bool stacks_row(void *lane, const struct spur_event *row, struct out *o);
bool stacks_end(void *lane, const struct spur_event *row, const struct write_end *end,
		struct out *o);
void stacks_lane_close(void *lane);

/* Number of frames of joined nodes; all are below it. */
uint32_t stacks_frame_count(const struct stacks *s);
/* Orders the nodes when all lanes are closed. Returns false if out of memory. */
bool stacks_order(struct stacks *s);
/* The frame of a number, as joined nodes have it. */
struct stack_frame stacks_frame(const struct stacks *s, uint32_t frame);
/*
 * Calls `each` for all paths in the order of stacks_order(), parents first, with the nodes from the
 * thread on, until it returns false. Returns false then.
 */
bool stacks_walk(const struct stacks *s, bool (*each)(void *self, const uint32_t *path, size_t n),
		 void *self);

#endif
