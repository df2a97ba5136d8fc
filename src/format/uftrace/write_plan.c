/*
 * What the records of the uftrace writer refer to: modules, addresses of symbols, numbers of
 * threads. All is sorted by what it is, so that it does not depend on the order of reading.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "format/uftrace/writing.h"

static const uint64_t module_base = 0x10000000;
static const uint64_t address_end = UINT64_C(1) << 40; /* of those that a source gives */

/* --- text --- */

static bool is_control(char c)
{
	return (uint8_t)c < ' ' || c == 0x7f;
}

/* In a path: what ends words, and what separates names. */
static bool is_encoded(char c)
{
	return is_control(c) || c == ' ' || c == '/' || c == '%' || c == '"' || c == ',';
}

/* Returns true if uft_text_out() changes nothing. */
static bool text_is_plain(const char *s, size_t len, bool encode)
{
	for (size_t i = 0; i < len; i++)
		if (encode ? is_encoded(s[i]) : is_control(s[i]))
			return false;
	return true;
}

void uft_text_out(struct out *o, const char *s, size_t len, bool encode)
{
	for (size_t i = 0; i < len; i++) {
		if (encode && is_encoded(s[i]))
			out_printf(o, "%%%02X", (uint8_t)s[i]);
		else
			out_char(o, is_control(s[i]) ? ' ' : s[i]);
	}
}

static const char *name_of(const struct uft *u, const struct uft_symbol *s, size_t *len)
{
	const struct event_class *c = trace_class(u->trace, s->cls);

	return trace_string(u->trace, c->raw ? c->raw : c->name, len);
}

void uft_name_out(const struct uft *u, const struct uft_symbol *s, struct out *o)
{
	size_t len;
	const char *name = name_of(u, s, &len);

	if (len)
		uft_text_out(o, name, len, false);
	else
		out_str(o, "<empty>");
	if (uftrace_is_end_mark(text_make(name, len)))
		out_char(o, '_');
}

/* --- modules --- */

/*
 * The path that the function's module has: the source's; else one of the category, which tools of
 * the format show as the module's name; else one for all.
 */
static char *path_of(struct uft *u, const struct uft_symbol *s, struct out *o)
{
	const struct event_class *c = trace_class(u->trace, s->cls);
	const uint32_t string = c->module ? c->module : c->cat;
	size_t len;
	const char *text = trace_string(u->trace, string, &len);

	out_clear(o);
	if (!len)
		out_str(o, "/functions");
	else if (c->module && text[0] == '/' && !memchr(text, ' ', len) &&
		 text_is_plain(text, len, false))
		out_bytes(o, text, len);
	else {
		out_str(o, c->module ? "/" : "/category:");
		uft_text_out(o, text, len, true);
	}
	return o->error ? NULL : arena_strdup(&u->arena, o->buf, o->len);
}

/* What symbols are sorted by, made once. */
struct sort_key {
	struct uft *u;
	struct uft_symbol *s;
	const char *path; /* of the module; "" for events, which come last */
	uint64_t addr;
};

static int text_order(const struct uft *u, uint32_t a, uint32_t b)
{
	size_t x, y;
	const char *s = trace_string(u->trace, a, &x), *t = trace_string(u->trace, b, &y);
	const int c = memcmp(s, t, x < y ? x : y);

	return c ? c : x < y ? -1 : x > y;
}

/* Those that are equal in all this are one and the same to a reader. */
static int symbol_order(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;
	const struct uft *u = x->u;
	const struct event_class *c = trace_class(u->trace, x->s->cls),
				 *d = trace_class(u->trace, y->s->cls);
	int order = (x->s->use == USE_EVENT) - (y->s->use == USE_EVENT);

	order = order ? order : strcmp(x->path, y->path);
	order = order ? order : x->addr < y->addr ? -1 : x->addr > y->addr;
	order = order ? order : text_order(u, c->raw ? c->raw : c->name, d->raw ? d->raw : d->name);
	order = order ? order : text_order(u, c->cat, d->cat);
	order = order ? order : x->s->kind - y->s->kind;
	order = order ? order : x->s->use - y->s->use;
	order = order ? order : x->s->nargs - y->s->nargs;
	for (unsigned i = 0; !order && i < x->s->nargs; i++) {
		const struct uft_arg *v = &x->s->args[i], *w = &y->s->args[i];

		order = v->letter - w->letter;
		order = order ? order : v->bits - w->bits;
		order = order ? order : text_order(u, v->name, w->name);
	}
	return order;
}

/*
 * The address of a function in its module, if the source tells it and its size, or 0. Only a call
 * without arguments has it: others are further symbols of that name.
 */
static uint64_t address_of(const struct uft *u, const struct uft_symbol *s)
{
	const struct event_class *c = trace_class(u->trace, s->cls);

	return s->use == USE_CALL && !s->nargs && c->module && !u->write->masked &&
			       c->size > (u->deepest >> 10) && c->addr && c->addr < address_end &&
			       c->size < address_end
		       ? c->addr
		       : 0;
}

/* SPEC uftrace/made-modules: gives the functions of a module their addresses */
static void place_module(const struct uft *u, struct uft_plan *p, struct uft_module *m)
{
	uint64_t end = 0;

	/* The first ones have none of their own, and come behind the others. */
	for (size_t i = m->first; i < m->first + m->count; i++) {
		struct uft_symbol *s = p->order[i];

		s->module = m;
		s->rel = s->same ? 0 : address_of(u, s);
		if (!s->rel)
			continue;
		if (s->rel < end)
			s->rel = 0; /* it overlaps the one before */
		else
			end = s->rel + trace_class(u->trace, s->cls)->size;
	}
	end = align_up(end, UFT_SPACING);
	for (size_t i = m->first; i < m->first + m->count; i++) {
		if (p->order[i]->rel || p->order[i]->same)
			continue;
		end += UFT_SPACING;
		p->order[i]->rel = end;
	}
	for (size_t i = m->first; i < m->first + m->count; i++)
		if (p->order[i]->same)
			p->order[i]->rel = p->order[i]->same->rel;
	m->end = align_up(end + UFT_SPACING, 4096);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int file_order(const void *a, const void *b)
{
	const struct uft_module *const *x = a, *const *y = b;
	const int order = strcmp(base_name((*x)->path), base_name((*y)->path));

	return order ? order : strcmp((*x)->path, (*y)->path);
}

/*
 * SPEC uftrace/sym-name-clash: of modules of one base name the first has it, others have the sum of
 * their path's bytes behind it. Returns false if out of memory.
 */
static bool name_files(struct uft *u, struct uft_plan *p)
{
	struct uft_module **by = mem_array(p->nmodules, sizeof(struct uft_module *));

	if (!by)
		return false;
	for (size_t i = 0; i < p->nmodules; i++)
		by[i] = &p->modules[i];
	qsort(by, p->nmodules, sizeof(struct uft_module *), file_order);
	for (size_t i = 0; i < p->nmodules; i++) {
		const char *base = base_name(by[i]->path);
		unsigned sum = 0;

		for (const char *c = by[i]->path; *c; c++)
			sum += (uint8_t)*c;
		by[i]->file = i && strcmp(base, base_name(by[i - 1]->path)) == 0
				      ? arena_printf(&u->arena, "%.200s-%04x", base, sum & 0xffff)
				      : arena_printf(&u->arena, "%.200s", base);
		if (!by[i]->file)
			break;
	}
	mem_free(by);
	return true;
}

/* The modules of the sorted symbols. Returns false if out of memory. */
static bool find_modules(struct uft *u, struct uft_plan *p, const struct sort_key *keys)
{
	uint64_t base = module_base;

	for (size_t i = 0; i < p->nfunctions; i++) {
		struct uft_module *m = p->nmodules ? &p->modules[p->nmodules - 1] : NULL;

		if (m && strcmp(m->path, keys[i].path) == 0) {
			m->count++;
			continue;
		}
		if (!mem_grow((void **)&p->modules, &p->modules_cap, p->nmodules + 1, sizeof(*m),
			      SIZE_MAX / sizeof(*m)))
			return false;
		p->modules[p->nmodules++] =
			(struct uft_module){ .path = keys[i].path, .first = i, .count = 1 };
	}
	for (size_t i = 0; i < p->nmodules; i++) {
		struct uft_module *m = &p->modules[i];

		place_module(u, p, m);
		m->base = base;
		base += m->end;
	}
	return !p->nmodules || name_files(u, p);
}

bool uft_plan_make(struct uft *u, struct uft_plan *p)
{
	struct sort_key *keys = mem_array(u->nsymbols + 1, sizeof(*keys));
	struct out path;
	bool good;

	p->order = mem_array(u->nsymbols + 1, sizeof(struct uft_symbol *));
	good = keys && p->order;
	out_to_memory(&path);
	for (size_t i = 0; good && i < u->nsymbols; i++) {
		struct uft_symbol *s = u->symbols[i];
		const char *name;
		size_t len;

		keys[i] = (struct sort_key){ .u = u, .s = s, .path = "", .addr = address_of(u, s) };
		p->has_args = p->has_args || s->nargs;
		if (s->use == USE_EVENT)
			continue;
		p->nfunctions++;
		name = name_of(u, s, &len);
		s->odd_name = !len || !text_is_plain(name, len, false) ||
			      uftrace_is_end_mark(text_make(name, len));
		u->odd_names = u->odd_names || s->odd_name;
		keys[i].path = path_of(u, s, &path);
		good = keys[i].path != NULL;
	}
	out_free(&path);
	if (good && u->nsymbols)
		qsort(keys, u->nsymbols, sizeof(*keys), symbol_order);
	for (size_t i = 0; good && i < u->nsymbols; i++) {
		const struct uft_symbol *before = i ? keys[i - 1].s : NULL;

		if (before && symbol_order(&keys[i - 1], &keys[i]) == 0)
			keys[i].s->same = before->same ? before->same : before;
		p->order[i] = keys[i].s;
	}
	good = good && find_modules(u, p, keys);
	mem_free(keys);
	return good;
}

void uft_plan_free(struct uft_plan *p)
{
	mem_free(p->order);
	mem_free(p->modules);
}

/* --- threads --- */

static int task_order(const void *a, const void *b)
{
	const struct uft_task *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int tid_order(const void *a, const void *b)
{
	const struct uft_task *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

struct numbers {
	struct map64 pids; /* in use -> process track + 1 */
	struct key_index tids; /* in use, by tasks */
	struct map64 processes; /* track -> pid */
	int64_t next; /* the next number to give */
};

static uint64_t task_tid(const void *tasks, uint32_t i)
{
	return (uint64_t)((const struct uft_task *)tasks)[i].tid;
}

static bool is_number(int64_t n)
{
	return n > 0 && n < INT32_MAX;
}

static bool is_process(const struct uft *u, uint32_t track)
{
	return write_track(u->write, track)->kind == SPUR_TRACK_PROCESS;
}

/* The pid that a process keeps; one that another has already taken stays 0 for now. */
static bool keep_pid(struct numbers *n, const struct uft *u, struct uft_task *t)
{
	const int64_t pid = write_pid_of(u->write, t->track);
	struct map64_slot *slot = is_number(pid) ? map64_put(&n->pids, (uint64_t)pid) : NULL;
	struct map64_slot *process;

	/* Threads without a track of their process belong together by its id. */
	if (slot && slot->value && !is_process(u, t->process) &&
	    !is_process(u, (uint32_t)slot->value - 1))
		t->process = (uint32_t)slot->value - 1;
	process = map64_put(&n->processes, t->process);
	if (!process || !is_number(pid))
		return process != NULL;
	if (!slot)
		return false;
	if (!slot->value) {
		slot->value = (uint64_t)t->process + 1;
		process->value = (uint64_t)pid;
	}
	n->next = pid >= n->next ? pid + 1 : n->next;
	return true;
}

/* A thread's id is kept if no thread before it and no other process has it. */
static bool keep_tid(struct numbers *n, const struct uft *u, struct uft_task *t)
{
	const struct spur_track *k = write_track(u->write, t->track);
	const struct map64_slot *pid;

	if (k->kind != SPUR_TRACK_THREAD || !is_number(k->tid))
		return true;
	n->next = k->tid >= n->next ? k->tid + 1 : n->next;
	pid = map64_find(&n->pids, (uint64_t)k->tid);
	if (pid && pid->value != (uint64_t)t->process + 1)
		return true;
	if (key_index_find(&n->tids, (uint64_t)k->tid, task_tid, u->tasks) != KEY_INDEX_NONE)
		return true;
	t->tid = (int32_t)k->tid;
	return key_index_add(&n->tids, (uint32_t)(t - u->tasks), task_tid, u->tasks);
}

/* Numbers for what has none of its own. Returns false if out of memory or of numbers. */
static bool give_number(struct numbers *n, struct uft *u, struct uft_task *t)
{
	struct map64_slot *process = map64_put(&n->processes, t->process);
	const int64_t tid = write_track(u->write, t->track)->tid;

	if (!process || n->next > INT32_MAX - 2)
		return false;
	if (!process->value)
		process->value = t->tid ? (uint64_t)t->tid : (uint64_t)n->next++;
	t->pid = (int32_t)process->value;
	if (!t->tid && key_index_find(&n->tids, (uint64_t)t->pid, task_tid, u->tasks) ==
			       KEY_INDEX_NONE) {
		t->tid = t->pid;
		if (!key_index_add(&n->tids, (uint32_t)(t - u->tasks), task_tid, u->tasks))
			return false;
	}
	if (!t->tid)
		t->tid = (int32_t)n->next++;
	if (t->tid != tid || t->pid != write_pid_of(u->write, t->track)) {
		__atomic_fetch_add(&u->write->loss.events[LOST_ID][SPUR_BEGIN], t->calls,
				   __ATOMIC_RELAXED);
		__atomic_fetch_add(&u->write->loss.events[LOST_ID][SPUR_INSTANT], t->events,
				   __ATOMIC_RELAXED);
	}
	return true;
}

static bool number_all(struct numbers *n, struct uft *u)
{
	bool good = true;

	for (size_t i = 0; good && i < u->ntasks; i++)
		good = keep_pid(n, u, &u->tasks[i]);
	for (size_t i = 0; good && i < u->ntasks; i++)
		good = keep_tid(n, u, &u->tasks[i]);
	for (size_t i = 0; good && i < u->ntasks; i++)
		good = give_number(n, u, &u->tasks[i]);
	return good;
}

/* The place of each track in the order that does not depend on chance. NULL: out of memory. */
static uint32_t *ranks_of(const struct spur_trace *t)
{
	size_t n;
	uint32_t *order = trace_track_order(t, &n);
	uint32_t *ranks = order ? mem_array(n + 1, sizeof(*ranks)) : NULL;

	for (size_t i = 0; ranks && i < n; i++)
		ranks[order[i]] = (uint32_t)i;
	mem_free(order);
	return ranks;
}

bool uft_tasks_number(struct uft *u)
{
	uint32_t *ranks = ranks_of(u->trace);
	struct numbers n = { .next = 1 };
	bool good;

	if (!ranks)
		return false;
	for (size_t i = 0; i < u->ntasks; i++) {
		u->tasks[i].rank = ranks[u->tasks[i].track];
		u->tasks[i].process = trace_process_of(u->trace, u->tasks[i].track);
	}
	mem_free(ranks);
	if (u->ntasks)
		qsort(u->tasks, u->ntasks, sizeof(*u->tasks), task_order);
	good = number_all(&n, u);
	if (u->ntasks)
		qsort(u->tasks, u->ntasks, sizeof(*u->tasks), tid_order);
	map64_free(&n.pids);
	key_index_free(&n.tids);
	map64_free(&n.processes);
	return good;
}
