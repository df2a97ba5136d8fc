/* Nodes, sums and order of the reports in uftrace's style. */
#include "style/uftrace/report/report.h"

#include <stdlib.h>

enum { MAX_NODES = 1 << 26, NAME_LINE = 20 };

struct report_node *report_node(struct report *r, uint64_t key)
{
	struct map64_slot *slot = map64_put(&r->index, key);
	struct report_node *n;

	if (!slot)
		return NULL;
	if (slot->value)
		return &r->nodes[slot->value - 1];
	if (!mem_grow((void **)&r->nodes, &r->cap, r->n + 1, sizeof(*r->nodes), MAX_NODES))
		return NULL;
	n = &r->nodes[r->n++];
	*n = (struct report_node){ .total.min = UINT64_MAX, .self.min = UINT64_MAX };
	slot->value = r->n;
	return n;
}

static void add_time(struct report_times *x, uint64_t ns, uint64_t begin, bool nested)
{
	if (nested) {
		x->nested += ns;
		x->nested_squares += ns * ns;
	} else {
		x->sum += ns;
		x->squares += ns * ns;
	}
	if (x->min > ns) {
		x->min = ns;
		x->min_ts = begin;
	}
	if (x->max < ns) {
		x->max = ns;
		x->max_ts = begin;
	}
}

/*
 * SPEC uftrace/recursion: a call counts as nested where any frame below has the very same address
 */
static bool is_nested(struct style *s, struct style_task *t, uint64_t addr)
{
	if (__builtin_expect(t->count <= 0 || (size_t)t->count <= t->cap, 1)) {
		for (int32_t i = 0; i < t->count; i++)
			if (t->frames[i].addr == addr)
				return true;
		return false;
	}
	for (int32_t i = 0; i < t->count; i++) {
		const struct style_frame *f = style_frame_get(s, t, i);

		if (!f)
			return false;
		if (f->addr == addr)
			return true;
	}
	return false;
}

void report_add(struct report *r, struct report_node *n, struct style_task *t, uint64_t time)
{
	const struct style_frame *f = style_frame_get(r->s, t, t->count);

	if (!f)
		return;
	if (r->sums_only) {
		n->total.sum += is_nested(r->s, t, f->addr) ? 0 : f->total;
		n->self.sum += f->total - f->child;
		n->calls++;
		return;
	}
	add_time(&n->total, f->total, time - f->total, is_nested(r->s, t, f->addr));
	add_time(&n->self, f->total - f->child, time - f->total, false);
	n->calls++;
	n->cpus |= UINT64_C(1) << t->cpu % 64;
	if (t->func)
		n->size = trace_class(r->s->trace, t->func)->size;
}

void report_close(struct report *r)
{
	mem_free(r->nodes);
	map64_free(&r->index);
}

/* --- order --- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return a == b ? 0 : a < b ? 1 : -1;
}

static int compare_double(double a, double b)
{
	return a == b ? 0 : a > b ? -1 : 1;
}

static int compare_text(const struct report *r, uint32_t a, uint32_t b)
{
	return strcmp(trace_string(r->s->trace, a, NULL), trace_string(r->s->trace, b, NULL));
}

/* As text: 10 before 9. */
static int compare_tid(int64_t a, int64_t b)
{
	char x[24], y[24];

	*put_i64(x, a) = '\0';
	*put_i64(y, b) = '\0';
	return strcmp(x, y);
}

static int compare_key(const struct report *r, unsigned key, const struct report_node *a,
		       const struct report_node *b)
{
	switch (key) {
	case REPORT_TOTAL:
		return compare_u64(a->total.sum, b->total.sum);
	case REPORT_TOTAL_AVG:
		return compare_u64(a->total.avg, b->total.avg);
	case REPORT_TOTAL_MIN:
		return compare_u64(a->total.min, b->total.min);
	case REPORT_TOTAL_MAX:
		return compare_u64(a->total.max, b->total.max);
	case REPORT_SELF:
		return compare_u64(a->self.sum, b->self.sum);
	case REPORT_SELF_AVG:
		return compare_u64(a->self.avg, b->self.avg);
	case REPORT_SELF_MIN:
		return compare_u64(a->self.min, b->self.min);
	case REPORT_SELF_MAX:
		return compare_u64(a->self.max, b->self.max);
	case REPORT_CALL:
		return compare_u64(a->calls, b->calls);
	case REPORT_SIZE:
		return compare_u64(a->size, b->size);
	case REPORT_TOTAL_STDV:
		return compare_double(a->total.stdv, b->total.stdv);
	case REPORT_SELF_STDV:
		return compare_double(a->self.stdv, b->self.stdv);
	case KEY_TID:
		return compare_tid(a->tid, b->tid);
	case KEY_COMM:
		return compare_text(r, a->comm, b->comm);
	default:
		return compare_text(r, a->name, b->name);
	}
}

static int compare_nodes(const void *pa, const void *pb, void *arg)
{
	const struct report_node *a = *(const struct report_node *const *)pa,
				 *b = *(const struct report_node *const *)pb;
	const struct report *r = arg;
	int c = 0;

	for (size_t i = 0; !c && i < r->nkeys; i++)
		c = compare_key(r, r->keys[i], a, b);
	if (!c)
		c = r->nodes[0].tid ? compare_tid(a->tid, b->tid)
				    : compare_text(r, a->name, b->name);
	return c;
}

const struct report_node **report_sort(const struct report *r)
{
	const struct report_node **order = mem_array(r->n + 1, sizeof(*order));

	if (!order)
		return NULL;
	for (size_t i = 0; i < r->n; i++)
		order[i] = &r->nodes[i];
	qsort_r(order, r->n, sizeof(*order), compare_nodes, (void *)(uintptr_t)r);
	return order;
}

struct key_name {
	const char *name;
	uint8_t key;
};

static const struct key_name function_keys[] = {
	{ "total", REPORT_TOTAL },	   { "total_avg", REPORT_TOTAL_AVG },
	{ "total_min", REPORT_TOTAL_MIN }, { "total_max", REPORT_TOTAL_MAX },
	{ "self", REPORT_SELF },	   { "self_avg", REPORT_SELF_AVG },
	{ "self_min", REPORT_SELF_MIN },   { "self_max", REPORT_SELF_MAX },
	{ "call", REPORT_CALL },	   { "func", KEY_NAME },
	{ "size", REPORT_SIZE },	   { "total_stdv", REPORT_TOTAL_STDV },
	{ "self_stdv", REPORT_SELF_STDV }, { NULL, 0 },
};

static const struct key_name task_keys[] = {
	{ "total", REPORT_TOTAL }, { "self", REPORT_SELF }, { "tid", KEY_TID },
	{ "func", REPORT_CALL },   { "name", KEY_COMM },    { NULL, 0 },
};

/* `name` with - for _, and avg, min, max, stdv in front of what the average is of. */
static bool key_is(struct text name, const char *key, const char *average)
{
	size_t len = strlen(key), skip = 0;

	if (average && strncmp(key, average, strlen(average)) == 0 && key[strlen(average)] == '_')
		skip = strlen(average) + 1;
	for (int k = 0; k < 2; k++, skip = 0) {
		size_t i = 0;

		if (name.len != len - skip)
			continue;
		while (i < name.len && (name.p[i] == '-' ? '_' : name.p[i]) == key[skip + i])
			i++;
		if (i == name.len)
			return true;
	}
	return false;
}

bool report_keys(uint8_t *keys, size_t *n, const char *text, const char *average, bool tasks,
		 struct spur_error *err)
{
	struct text rest = text_of(text), one;

	*n = 0;
	while (text_split(&rest, ',', &one)) {
		const struct key_name *k = tasks ? task_keys : function_keys;

		while (k->name && !key_is(one, k->name, average))
			k++;
		if (!k->name || *n == REPORT_KEYS) {
			err_set(err, SPUR_ERR_USAGE, "no sort key named \"%.*s\"",
				(int)(one.len < 80 ? one.len : 80), one.p);
			return false;
		}
		keys[(*n)++] = k->key;
	}
	return true;
}

/* --- head --- */

void report_head(const struct report *r, const struct style_field *table, const char *last,
		 const char *behind)
{
	const struct style_fields *f = &r->fields;

	if (!f->count)
		return;
	for (size_t i = 0; i < f->count; i++)
		out_printf(r->o, "  %*s", table[f->ids[i]].width, table[f->ids[i]].header);
	out_printf(r->o, "  %s%s\n", last, behind);
	for (size_t i = 0; i < f->count; i++) {
		out_str(r->o, "  ");
		out_pad(r->o, '=', (size_t)table[f->ids[i]].width);
	}
	out_str(r->o, "  ");
	out_pad(r->o, '=', NAME_LINE);
	out_char(r->o, '\n');
}
