/*
 * Profiling mode: for each thread the call stacks that were seen, with how often and for how many
 * ticks. A stack is a SAMPLE row. The file has one time, that of its writing.
 *
 * Rows have the ticks of a function itself, the file those of its calls with all that they called.
 * To tell the former, each block is read twice; memory is taken for the call paths of one block.
 */
#include "format/xray/reader.h"

enum {
	MAX_NODES = 1 << 28,
};

static int64_t header_pid(const struct xray *x)
{
	return (int64_t)load64(xray_at(x, XRAY_PROFILE_AT_PID), x->swap);
}

/* SPEC xray/profile-block: size with this header, number, thread */
static bool next_block(struct xray *x, uint64_t *at, struct diag_log *diag, struct xray_buffer *b)
{
	const uint64_t off = *at;
	uint64_t size;

	if (!xray_have(x, off + XRAY_BLOCK)) {
		if (x->src->size > off)
			diag_add(diag, DIAG_DAMAGE, "xray/torn-record", x->file, off,
				 x->src->size - off,
				 "block: expected a header of %d bytes, found %llu", XRAY_BLOCK,
				 (unsigned long long)(x->src->size - off));
		return false;
	}
	size = load32(xray_at(x, off), x->swap);
	*b = (struct xray_buffer){ .off = off + XRAY_BLOCK, .end = off + size };
	if (size < XRAY_BLOCK)
		diag_add(diag, DIAG_DAMAGE, "xray/bad-block", x->file, off, 0,
			 "block: expected a size of at least %d, found %llu: read to the end of "
			 "the file",
			 XRAY_BLOCK, (unsigned long long)size);
	if (size < XRAY_BLOCK || !xray_have(x, b->end)) {
		xray_have(x, UINT64_MAX);
		b->end = x->src->size;
		b->flags = size < XRAY_BLOCK ? 0 : BUFFER_CUT;
	}
	b->thread = xray_thread_get(x, header_pid(x),
				    (int64_t)load64(xray_at(x, off + XRAY_BLOCK_AT_TID), x->swap));
	*at = b->end;
	return b->thread != SPUR_NONE;
}

bool xray_profile_open(struct xray *x)
{
	struct xray_buffer b, *item;
	uint64_t at = XRAY_PROFILE_HEADER;

	x->list.size = sizeof(b);
	while (next_block(x, &at, &x->t->diag, &b)) {
		item = xray_list_add(&x->list);
		if (!item)
			return false;
		*item = b;
	}
	return xray_sort_buffers(x);
}

/* Returns the size of the stack at `off`, or 0 if it does not end before `end`. */
static uint64_t xray_profile_length(const struct xray *x, uint64_t off, uint64_t end)
{
	uint64_t at = off;

	while (end - at >= 4 && load32(xray_at(x, at), x->swap))
		at += 4;
	return end - at >= XRAY_STACK_TAIL ? at + XRAY_STACK_TAIL - off : 0;
}

static void put_native(const struct xray *x, uint64_t off, enum xray_class what, uint32_t len,
		       uint32_t track, struct spur_event *row)
{
	const struct row_words words = {
		.len_track = row_pair(len, track),
		.stream_cat = row_pair(x->stream, 0),
		.name_cls = row_pair(trace_class(x->t, x->own[what])->name, x->own[what]),
		.rest = row_rest(SPUR_NATIVE, SPUR_F_RETIMED, SPUR_NO_CPU, 0)
	};

	row_store(row, x->timestamp, 0, off, words);
}

/* The file ends before the block, `lost` bytes after its last whole stack. Said once. */
static void report_truncated(const struct xray *x, struct xray_feed *xf, struct diag_log *diag,
			     uint64_t lost)
{
	struct xray_buffer *b = &xf->buffer;

	b->flags = 0;
	diag_add(diag, DIAG_DAMAGE, "xray/truncated", x->file, xf->pos, lost,
		 "block: expected %u bytes, found %llu",
		 load32(xray_at(x, b->off - XRAY_BLOCK), x->swap),
		 (unsigned long long)(b->end - b->off + XRAY_BLOCK));
}

/* What is no stack: none but its numbers, or all that is left of a block. */
static void read_bad(const struct xray *x, struct xray_feed *xf, struct diag_log *diag,
		     uint64_t len)
{
	const uint64_t lost = len && len <= UINT32_MAX ? len : xf->buffer.end - xf->pos;

	if (!len && (xf->buffer.flags & BUFFER_CUT))
		report_truncated(x, xf, diag, lost);
	else
		diag_add(diag, DIAG_DAMAGE, "xray/bad-stack", x->file, xf->pos, lost,
			 len ? "stack: expected functions, found none"
			     : "stack: expected functions, 0, calls and ticks, found the end of "
			       "its block");
	xf->pos += lost;
}

/* --- ticks of a function itself --- */

struct xray_callees {
	uint64_t ticks; /* of the paths that have one call more; negative ones left out */
	bool negative;
};

/* A path of calls is a node, numbered from 1; 0 is the path of no call. */
struct xray_tree {
	struct map64 nodes; /* node of the caller's path and function -> node */
	struct xray_callees *callees; /* by node */
	size_t cap;
};

/*
 * The node of the `n` functions at `p`, the root last. Returns SPUR_NONE if it is not there and
 * `add` is false, or if out of memory.
 */
static uint32_t tree_node(const struct xray *x, struct xray_tree *tree, const uint8_t *p, size_t n,
			  bool add)
{
	uint64_t node = 0;

	while (n--) {
		const uint64_t key = node << 32 | load32(p + 4 * n, x->swap);
		struct map64_slot *slot =
			add ? map64_put(&tree->nodes, key) : map64_find(&tree->nodes, key);

		if (!slot)
			return SPUR_NONE;
		if (!slot->value)
			slot->value = tree->nodes.count;
		node = slot->value;
	}
	return (uint32_t)node;
}

void xray_profile_close(struct xray_feed *xf)
{
	struct xray_tree *tree = xf->tree;

	if (!tree)
		return;
	map64_free(&tree->nodes);
	mem_free(tree->callees);
	mem_free(tree);
	xf->tree = NULL;
}

/* Functions of a stack of that many bytes. */
static size_t stack_calls(uint64_t len)
{
	return len < XRAY_STACK_TAIL ? 0 : (size_t)(len - XRAY_STACK_TAIL) / 4;
}

/* Notes a stack's ticks as those of a callee of its caller. Returns false if out of memory. */
static bool tree_add(const struct xray *x, struct xray_tree *tree, const uint8_t *p, uint64_t len)
{
	const int64_t ticks = (int64_t)load64(p + len - 8, x->swap);
	struct xray_callees *callees;
	uint32_t node;

	if (stack_calls(len) < 2)
		return true;
	node = tree_node(x, tree, p + 4, stack_calls(len) - 1, true);
	if (node == SPUR_NONE || !mem_grow((void **)&tree->callees, &tree->cap, (size_t)node + 1,
					   sizeof(*tree->callees), MAX_NODES))
		return false;
	callees = &tree->callees[node];
	callees->negative |= ticks < 0;
	if (ticks > 0 && __builtin_add_overflow(callees->ticks, (uint64_t)ticks, &callees->ticks))
		callees->ticks = UINT64_MAX;
	return true;
}

/* Collects the ticks of all callees in the current block. Returns false if out of memory. */
static bool tree_open(const struct xray *x, struct xray_feed *xf)
{
	uint64_t at = xf->buffer.off, len;

	xray_profile_close(xf);
	xf->tree = mem_alloc(sizeof(*xf->tree));
	if (!xf->tree)
		return false;
	while (at < xf->buffer.end && (len = xray_profile_length(x, at, xf->buffer.end)) != 0) {
		if (len <= UINT32_MAX && !tree_add(x, xf->tree, xray_at(x, at), len))
			return false;
		at += len;
	}
	return true;
}

/*
 * SPEC xray/profile-ticks: those of a call path are of its calls as a whole, so what its callees
 * have is subtracted. SPEC xray/negative-ticks: where an exception leaves functions the writer
 * subtracts from each the ticks of all that it left before: such ticks are wrong, and may be
 * negative.
 */
static void set_self(const struct xray *x, struct xray_feed *xf, struct diag_log *diag,
		     struct spur_event *row)
{
	static const struct xray_callees none;
	const uint8_t *p = xray_at(x, row->off);
	const int64_t ticks = (int64_t)load64(p + row->len - 8, x->swap);
	const uint32_t node = tree_node(x, xf->tree, p, stack_calls(row->len), false);
	const struct xray_callees *callees =
		node < xf->tree->cap ? &xf->tree->callees[node] : &none;
	const bool fits = ticks >= 0 && (uint64_t)ticks >= callees->ticks;

	if (!fits || callees->negative)
		row->flags |= SPUR_F_UNRELIABLE;
	if (fits)
		row->dur = ticks_ns(&xf->ticks, (uint64_t)ticks - callees->ticks);
	else
		diag_add(diag, DIAG_WARN, "xray/negative-ticks", x->file, row->off + row->len - 8,
			 0,
			 "stack: expected at least the %llu ticks of the functions called, found "
			 "%lld: an exception left the function; it counts as 0",
			 (unsigned long long)callees->ticks, (long long)ticks);
}

/* SPEC xray/profile-record: function numbers from leaf to root, 0, calls, ticks */
static bool put_stack(struct xray *x, struct xray_feed *xf, struct diag_log *diag,
		      struct spur_event *row, bool *any)
{
	const uint64_t len = xray_profile_length(x, xf->pos, xf->buffer.end), off = xf->pos;
	const uint8_t *p = xray_at(x, off);
	struct row_words words = { .stream_cat = row_pair(x->stream, 0),
				   .rest = row_rest(SPUR_SAMPLE, 0, SPUR_NO_CPU, 0) };

	*any = len > XRAY_STACK_TAIL && len <= UINT32_MAX;
	if (!*any) {
		read_bad(x, xf, diag, len);
		return true;
	}
	words.len_track = row_pair((uint32_t)len, xf->thread->track);
	words.name_cls = xray_words_get(x, load32(p, x->swap));
	row_store(row, x->timestamp, load64(p + len - 16, x->swap), off, words);
	set_self(x, xf, diag, row);
	row->nargs = 3;
	xf->pos += len;
	return words.name_cls != 0;
}

/* False: no more blocks, or out of memory. */
static bool open_block(struct xray *x, struct feed *f, struct batch *b)
{
	struct xray_feed *xf = f->state;
	const struct xray_buffer *list = x->list.items;
	bool ok;

	if (!x->stored) {
		if (xf->next == xf->last)
			return false;
		xf->buffer = list[xf->next++];
		if (x->bookkeeping)
			put_native(x, xf->buffer.off - XRAY_BLOCK, XRAY_CLASS_BLOCK, XRAY_BLOCK,
				   xf->thread->track, &b->rows[b->count++]);
	} else {
		if (!xf->scan.started) {
			xf->scan = (struct xray_scan){ .at = XRAY_PROFILE_HEADER, .started = true };
			put_native(x, 0, XRAY_CLASS_HEADER, XRAY_PROFILE_HEADER, x->file_track,
				   &b->rows[b->count++]);
			return true;
		}
		if (!next_block(x, &xf->scan.at, &f->diag, &xf->buffer)) {
			xray_report_source(x, &f->diag);
			if (!x->nthreads)
				xray_report_empty(x, &f->diag);
			return false;
		}
		xf->thread = xray_thread_at(x, xf->buffer.thread);
		pthread_mutex_lock(&x->t->lock);
		ok = xray_thread_track(x, xf->thread);
		pthread_mutex_unlock(&x->t->lock);
		if (!ok)
			return false;
		put_native(x, xf->buffer.off - XRAY_BLOCK, XRAY_CLASS_BLOCK, XRAY_BLOCK,
			   xf->thread->track, &b->rows[b->count++]);
	}
	xf->pos = xf->buffer.off;
	xf->open = tree_open(x, xf);
	return xf->open;
}

enum spur_status xray_profile_next(struct xray *x, struct feed *f, struct batch *b)
{
	struct xray_feed *xf = f->state;

	while (b->count < b->cap && !xf->ended) {
		bool any;

		if (!xf->open) {
			if (x->stored && b->count && !x->src->eof)
				break;
			xf->ended = !open_block(x, f, b);
			continue;
		}
		if (xf->pos == xf->buffer.end) {
			if (xf->buffer.flags & BUFFER_CUT)
				report_truncated(x, xf, &f->diag, 0);
			xf->open = false;
			continue;
		}
		if (!put_stack(x, xf, &f->diag, &b->rows[b->count], &any))
			return SPUR_FAIL;
		b->count += any;
	}
	read_count(&x->t->read.records, b->count);
	if (trace_short_of_memory(x->t))
		return SPUR_FAIL;
	return b->count ? SPUR_OK : SPUR_END;
}
