/* Lists the ten longest calls that ended: longest-calls TRACE */
#include <inttypes.h>
#include <spur.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOP = 10 };

struct call { int64_t dur, ts; uint32_t name, cls; }; /* name 0: it began before the trace */
struct stack { struct call *calls; size_t n, cap; }; /* open calls of a track */

static struct call top[TOP + 1];

static void end_call(struct call c, int64_t end)
{
	int i = TOP;

	for (c.dur = end - c.ts; c.name && i > 0 && top[i - 1].dur < c.dur; i--)
		top[i] = top[i - 1];
	if (c.name)
		top[i] = c;
}

static void push(struct stack *s, struct call c)
{
	if (s->n == s->cap && !(s->calls = realloc(s->calls, (s->cap = s->cap * 2 + 8) * sizeof(c))))
		exit(1);
	s->calls[s->n++] = c;
}

/* How many calls stay open: an END may close more than the innermost one, a BEGIN what lacks its END (see spur.h). */
static size_t kept(const struct stack *s, const struct spur_event *e)
{
	size_t n = s->n;

	if ((e->flags & SPUR_F_DEPTH) && e->depth != UINT16_MAX)
		return e->depth < n ? e->depth : n;
	if (e->kind == SPUR_END_SPAN && n && (e->flags & (SPUR_F_ANY | SPUR_F_DEPTH)))
		return n - 1;
	while (e->kind == SPUR_END_SPAN && n)
		if (s->calls[--n].cls == e->cls)
			return n;
	return e->kind == SPUR_END_SPAN && !(e->flags & SPUR_F_GAP) ? 0 : s->n;
}

static void call_row(struct stack *s, const struct spur_event *e)
{
	for (size_t keep = kept(s, e); s->n > keep;)
		end_call(s->calls[--s->n], e->ts);
	if (e->kind != SPUR_BEGIN)
		return;
	while ((e->flags & SPUR_F_DEPTH) && e->depth != UINT16_MAX && s->n < e->depth)
		push(s, (struct call){ 0 });
	push(s, (struct call){ .ts = e->ts, .name = e->name, .cls = e->cls });
}

int main(int argc, char **argv)
{
	struct stack *stacks = NULL; /* by track */
	const struct spur_event *e;
	struct spur_trace *t;
	struct spur_error err;
	enum spur_status st;
	uint32_t tracks = 0;

	if (argc != 2 || spur_open(&t, argv[1], NULL, &err) == SPUR_FAIL)
		return fprintf(stderr, "longest-calls: %s\n", argc != 2 ? "needs one trace" : err.message), 1;
	for (size_t n; (st = spur_next(t, &e, &n)) == SPUR_OK;)
		for (const struct spur_event *last = e + n; e < last; e++) {
			for (; tracks <= e->track; stacks[tracks++] = (struct stack){ 0 })
				if (!(stacks = realloc(stacks, (tracks + 1) * sizeof(*stacks))))
					return 1;
			if (e->kind == SPUR_SPAN)
				end_call((struct call){ .ts = e->ts, .name = e->name }, e->ts + e->dur);
			else if (e->kind == SPUR_BEGIN || e->kind == SPUR_END_SPAN)
				call_row(&stacks[e->track], e);
		}
	for (const struct call *c = top; c < top + TOP && c->name; c++)
		printf("%12" PRId64 " ns  at %" PRId64 "  %s\n", c->dur, c->ts, spur_string(t, c->name, NULL));
	spur_close(t);
	return st == SPUR_FAIL; /* out of memory; the system takes back what is left */
}
