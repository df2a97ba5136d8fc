/*
 * From an address, a session and a time to an event class. The slow path after the feeds' caches,
 * under the lock.
 */
#include <stdio.h>

#include "base/search.h"
#include "format/uftrace/reader.h"

enum {
	MAX_UNKNOWN = 1 << 20,
	MAX_DLOPENS = 4096 /* of a session that are looked at, the newest */
};

struct place {
	struct uftrace_module *module;
	uint64_t rel; /* address inside it */
};

const struct uftrace_map *uftrace_map_at(const struct uftrace_session *s, uint64_t addr)
{
	size_t lo;

	bisect(lo, 0, s->nmaps, s->maps[lo].start <= addr);
	return lo && addr < s->maps[lo - 1].end ? &s->maps[lo - 1] : NULL;
}

/* How many libraries had been opened by `time`. */
static size_t dlopens_by(const struct uftrace_session *s, uint64_t time)
{
	size_t lo;

	bisect(lo, 0, s->ndlopens, s->dlopens[lo].time <= time);
	return lo;
}

/*
 * SPEC uftrace/dlopen-newest: the newest library that was opened before the record and has a symbol
 * at the address; failing that, the newest one that covers the address. The symbol, or NULL;
 * at->module stays as it is where no library covers the address.
 */
static const struct symbol *find_dlopen(struct uftrace *u, const struct uftrace_session *s,
					uint64_t time, uint64_t addr, struct place *at)
{
	size_t count = dlopens_by(s, time), first = count > MAX_DLOPENS ? count - MAX_DLOPENS : 0;
	bool covered = false;

	for (size_t i = count; i-- > first;) {
		const struct uftrace_dlopen *o = &s->dlopens[i];
		const struct symbol *sym;

		if (addr < o->base)
			continue;
		uftrace_load_module(u, o->module);
		if (addr - o->base >= o->module->extent)
			continue;
		sym = symtab_find(&o->module->syms, addr - o->base);
		if (sym || !covered)
			*at = (struct place){ o->module, addr - o->base };
		if (sym)
			return sym;
		covered = true;
	}
	return NULL;
}

/* Addresses of the kernel: negative in 64-bit data, above the session's base in 32-bit data. */
static bool is_kernel(const struct uftrace *u, const struct uftrace_session *s, uint64_t addr)
{
	return u->d.info.is64 ? addr >> 63 : !s || addr >= s->kernel_base;
}

/*
 * Returns the symbol at the address and sets its place, or NULL (place.module may still be set).
 */
static const struct symbol *find_symbol(struct uftrace *u, const struct uftrace_session *s,
					uint64_t time, uint64_t addr, struct place *at)
{
	const struct uftrace_map *map = s ? uftrace_map_at(s, addr) : NULL;
	const struct symbol *sym = NULL;
	bool relative = u->d.info.features >> UFTRACE_SYM_REL_ADDR & 1;

	*at = (struct place){ NULL, addr };
	if (u->kernel_syms && is_kernel(u, s, addr)) {
		uftrace_load_module(u, u->kernel_syms);
		at->module = u->kernel_syms;
		return symtab_find(&u->kernel_syms->syms, addr);
	}
	if (map) {
		at->module = map->module;
		/* SPEC uftrace/sym-relative */
		at->rel = relative ? addr - map->start : addr;
		uftrace_load_module(u, map->module);
		sym = symtab_find(&map->module->syms, at->rel);
		if (sym)
			return sym;
	}
	/* SPEC uftrace/python: the number of the symbol is the address */
	if (u->python) {
		uftrace_load_module(u, u->python);
		sym = symtab_find(&u->python->syms, addr);
		if (sym) {
			*at = (struct place){ u->python, addr };
			return sym;
		}
	}
	return s && s->ndlopens ? find_dlopen(u, s, time, addr, at) : NULL;
}

static void set_location(struct uftrace *u, struct uftrace_module *m, const struct symbol *sym,
			 struct event_class *c)
{
	const struct uftrace_debug *d = uftrace_debug(m, sym->addr);
	const char *file;

	if (d) {
		c->file = trace_intern_n(u->t, d->file.p, d->file.len);
		c->line = d->line;
	} else if (u->t->options.source_lines && sym->type != 'P' &&
		   uftrace_binary_line(u, m, sym->addr, &file, &c->line)) {
		c->file = trace_intern(u->t, file);
	}
}

/* The names that the module's functions can be called by from others. */
static bool fill_defined(struct uftrace_module *m)
{
	m->defined_filled = true;
	for (size_t i = 0; i < m->syms.count; i++) {
		const struct symbol *sym = &m->syms.syms[i];
		struct map64_slot *slot;

		if (!strchr("TWw", sym->type))
			continue;
		slot = map64_put(&m->defined, hash_text(text_of(sym->name), 0));
		if (!slot)
			return false;
		if (!slot->value)
			slot->value = i + 1;
	}
	return true;
}

static bool defines(struct uftrace *u, struct uftrace_module *m, const char *name)
{
	const ptrdiff_t slash = text_rfind(m->path, '/');
	const struct map64_slot *slot;

	/* The recorder's own library stands in for functions of others. */
	if (text_starts(text_make(m->path.p + slash + 1, m->path.len - (size_t)(slash + 1)),
			"libmcount"))
		return false;
	uftrace_load_module(u, m);
	if (!m->defined_filled && !fill_defined(m))
		return false;
	slot = map64_find(&m->defined, hash_text(text_of(name), 0));
	return slot && strcmp(m->syms.syms[slot->value - 1].name, name) == 0;
}

/*
 * SPEC uftrace/libname: the first module of the session's map, then of the libraries opened later,
 * that defines the function. 0: none.
 */
static uint32_t find_library(struct uftrace *u, const struct uftrace_session *s, const char *name)
{
	const struct uftrace_module *found = NULL;

	for (size_t i = 0; s && !found && i < s->nmaps; i++)
		if (defines(u, s->maps[i].module, name))
			found = s->maps[i].module;
	for (size_t i = 0; s && !found && i < s->ndlopens && i < MAX_DLOPENS; i++)
		if (defines(u, s->dlopens[i].module, name))
			found = s->dlopens[i].module;
	return found ? trace_intern_n(u->t, found->path.p, found->path.len) : 0;
}

static uint32_t symbol_class(struct uftrace *u, const struct uftrace_session *s,
			     struct uftrace_module *m, const struct symbol *sym)
{
	size_t k = (size_t)(sym - m->syms.syms);
	struct event_class c = { .flags = CLASS_FUNCTION,
				 .addr = sym->addr,
				 .size = class_size(sym->size) };
	struct class_more more = { 0 };
	struct demangled names;

	if (m->classes[k])
		return m->classes[k];
	names = demangle_class(u->t, sym->name);
	c.name = names.name;
	c.simple = names.simple;
	c.raw = names.raw;
	c.module = trace_intern_n(u->t, m->path.p, m->path.len);
	if (sym->type == 'P') {
		c.flags |= CLASS_LIBRARY;
		more.library = u->t->options.call_libraries ? find_library(u, s, sym->name) : 0;
	}
	if (sym->type == 'K' || m == u->kernel_syms)
		c.flags |= CLASS_KERNEL;
	set_location(u, m, sym, &c);
	if (!uftrace_plans(u, m, sym, trace_string(u->t, c.simple, NULL), &more.entry,
			   &more.exit))
		return 0;
	if (more.library || more.entry || more.exit)
		c.more = &more;
	m->classes[k] = trace_add_class_locked(u->t, &c);
	return m->classes[k];
}

static uint64_t class_addr(const void *trace, uint32_t id)
{
	return trace_class(trace, id)->addr;
}

/*
 * An address without symbol has a separate class; past a limit they share one, so that damage
 * cannot eat memory.
 */
static uint32_t unknown_class(struct uftrace *u, const struct place *at, uint64_t addr)
{
	bool full = u->unknown_classes.count >= MAX_UNKNOWN;
	uint32_t cls = full ? u->unknown_rest
			    : key_index_find(&u->unknown_classes, addr, class_addr, u->t);
	struct event_class c = { .flags = CLASS_FUNCTION | CLASS_UNKNOWN, .addr = at->rel };
	char name[32];

	if (full ? cls != 0 : cls != KEY_INDEX_NONE)
		return cls;
	snprintf(name, sizeof(name), full ? "<unknown>" : "<%llx>", (unsigned long long)addr);
	c.name = c.simple = c.raw = trace_intern(u->t, name);
	if (at->module)
		c.module = trace_intern_n(u->t, at->module->path.p, at->module->path.len);
	c.addr = addr;
	cls = trace_add_class_locked(u->t, &c);
	if (full)
		u->unknown_rest = cls;
	else if (cls && !key_index_add(&u->unknown_classes, cls, class_addr, u->t))
		return 0;
	return cls;
}

uint32_t uftrace_class(struct uftrace *u, const struct uftrace_session *s, uint64_t time,
		       uint64_t addr)
{
	const struct symbol *sym;
	struct place at;
	uint32_t cls;

	pthread_mutex_lock(&u->t->lock);
	sym = find_symbol(u, s, time, addr, &at);
	cls = sym ? symbol_class(u, s, at.module, sym) : unknown_class(u, &at, addr);
	pthread_mutex_unlock(&u->t->lock);
	return cls;
}

const char *uftrace_symbol_name(struct uftrace *u, const struct uftrace_session *s, uint64_t time,
				uint64_t addr)
{
	const struct symbol *sym;
	const char *name = NULL;
	struct place at;
	uint32_t cls;

	pthread_mutex_lock(&u->t->lock);
	sym = find_symbol(u, s, time, addr, &at);
	cls = sym ? symbol_class(u, s, at.module, sym) : 0;
	if (cls)
		name = trace_string(u->t, trace_class(u->t, cls)->name, NULL);
	pthread_mutex_unlock(&u->t->lock);
	return name;
}

/* The name of an address by the symbol that has the address or, `back`, the one before it. */
static uint32_t place_name(struct uftrace *u, const struct uftrace_session *s, uint64_t time,
			   uint64_t addr, unsigned back)
{
	const struct symbol *sym;
	struct place at;
	struct out o;
	uint32_t id = 0;

	out_to_memory(&o);
	pthread_mutex_lock(&u->t->lock);
	sym = find_symbol(u, s, time, addr - back, &at);
	if (sym) {
		demangle(&o, sym->name, strlen(sym->name),
			 (enum demangle_form)u->t->options.demangle);
		if (at.rel + back != sym->addr)
			out_printf(&o, "+0x%llx",
				   (unsigned long long)(at.rel + back - sym->addr));
	}
	pthread_mutex_unlock(&u->t->lock);
	if (o.len && !o.error)
		id = trace_intern_n(u->t, o.buf, o.len);
	out_free(&o);
	return id;
}

uint32_t uftrace_place_name(struct uftrace *u, const struct uftrace_session *s, uint64_t time,
			    uint64_t addr)
{
	return place_name(u, s, time, addr, 0);
}

uint32_t uftrace_call_place(struct uftrace *u, const struct uftrace_session *s, uint64_t time,
			    uint64_t addr)
{
	/* The call is before the address that it returns to, which may be the next function's. */
	char text[4400] = "";
	struct place at;
	const char *file;
	unsigned line;

	if (u->t->options.source_lines) {
		pthread_mutex_lock(&u->t->lock);
		find_symbol(u, s, time, addr - 1, &at);
		if (at.module && uftrace_binary_line(u, at.module, at.rel, &file, &line))
			snprintf(text, sizeof(text), "%s:%u", file, line);
		pthread_mutex_unlock(&u->t->lock);
	}
	return text[0] ? trace_intern(u->t, text) : place_name(u, s, time, addr, 1);
}

bool uftrace_addr_known(const struct uftrace *u, const struct uftrace_session *s, uint64_t time,
			uint64_t addr)
{
	size_t count, first;

	if (!s || !s->nmaps || uftrace_map_at(s, addr))
		return true;
	count = dlopens_by(s, time);
	first = count > MAX_DLOPENS ? count - MAX_DLOPENS : 0;
	for (size_t i = first; i < count; i++)
		if (addr >= s->dlopens[i].base && addr - s->dlopens[i].base < UINT32_MAX)
			return true;
	return u->python && addr && addr < UINT32_MAX;
}

void uftrace_modules_span(const struct uftrace_session *s, uint64_t time, uint64_t *from,
			  uint64_t *until)
{
	size_t count = s ? dlopens_by(s, time) : 0;

	if (count && s->dlopens[count - 1].time > *from)
		*from = s->dlopens[count - 1].time;
	if (s && count < s->ndlopens && s->dlopens[count].time < *until)
		*until = s->dlopens[count].time;
}

/* --- events --- */

/* Ids in the file have 48 bits: this one is ours. */
static const uint64_t lost_id = UINT64_C(1) << 60;
static const uint64_t perf_id = (UINT64_C(1) << 60) + 1;
static const uint64_t line_id = (UINT64_C(1) << 60) + 2;

struct event_form {
	uint64_t id;
	const char *name, *cat;
	uint32_t flags;
	const char *fields[3]; /* unsigned 64-bit each */
};

/* SPEC uftrace/event-ids */
static const struct event_form event_forms[] = {
	{ UFTRACE_EV_READ_STATM, "read:proc/statm", "read", 0, { "vmsize", "vmrss", "shared" } },
	{ UFTRACE_EV_READ_PGFAULT, "read:page-fault", "read", 0, { "major", "minor" } },
	{ UFTRACE_EV_READ_CYCLE, "read:pmu-cycle", "read", 0, { "cycles", "instructions" } },
	{ UFTRACE_EV_READ_CACHE, "read:pmu-cache", "read", 0, { "refers", "misses" } },
	{ UFTRACE_EV_READ_BRANCH, "read:pmu-branch", "read", 0, { "branch", "misses" } },
	{ UFTRACE_EV_DIFF_STATM, "diff:proc/statm", "diff", 0, { "vmsize", "vmrss", "shared" } },
	{ UFTRACE_EV_DIFF_PGFAULT, "diff:page-fault", "diff", 0, { "major", "minor" } },
	{ UFTRACE_EV_DIFF_CYCLE, "diff:pmu-cycle", "diff", 0, { "cycles", "instructions" } },
	{ UFTRACE_EV_DIFF_CACHE, "diff:pmu-cache", "diff", 0, { "refers", "misses" } },
	{ UFTRACE_EV_DIFF_BRANCH, "diff:pmu-branch", "diff", 0, { "branch", "misses" } },
	{ UFTRACE_EV_WATCH_CPU, "watch:cpu", "watch", 0, { NULL } },
	{ UFTRACE_EV_WATCH_VAR, "watch:var", "watch", 0, { NULL } },
	{ UFTRACE_EV_CALLSITE, "callsite", "uftrace", 0, { NULL } },
	{ UFTRACE_EV_SCHED_IN, "linux:sched-in", "linux", CLASS_SCHED, { NULL } },
	{ UFTRACE_EV_SCHED_OUT, "linux:sched-out", "linux", CLASS_SCHED, { NULL } },
	{ UFTRACE_EV_SCHED_BOTH, "linux:schedule", "linux", CLASS_SCHED, { NULL } },
	{ UFTRACE_EV_SCHED_OUT_PREEMPT,
	  "linux:sched-out (pre-empted)",
	  "linux",
	  CLASS_SCHED,
	  { NULL } },
	{ UFTRACE_EV_SCHED_BOTH_PREEMPT,
	  "linux:schedule (pre-empted)",
	  "linux",
	  CLASS_SCHED,
	  { NULL } },
	{ UFTRACE_EV_TASK_NEW, "linux:task-new", "linux", 0, { NULL } },
	{ UFTRACE_EV_TASK_EXIT, "linux:task-exit", "linux", 0, { NULL } },
	{ UFTRACE_EV_TASK_NAME, "linux:task-name", "linux", 0, { NULL } },
	{ UFTRACE_EV_EXTERN, "external-data", "uftrace", 0, { NULL } },
	{ UINT64_C(1) << 60, "LOST", "uftrace", 0, { NULL } },
	{ (UINT64_C(1) << 60) + 1, "perf record", "linux", 0, { NULL } },
	{ (UINT64_C(1) << 60) + 2, "line", "uftrace", 0, { NULL } },
};

static const struct plan *fields_plan(struct uftrace *u, const struct event_form *f)
{
	struct plan_op *ops = arena_alloc(&u->t->arena, 3 * sizeof(*ops));
	struct plan *p = arena_alloc(&u->t->arena, sizeof(*p));

	if (!ops || !p)
		return NULL;
	for (uint32_t n = 0; n < 3 && f->fields[n]; n++) {
		/* A difference may be negative: it is stored as it wraps. */
		bool diff = strcmp(f->cat, "diff") == 0;

		ops[n] = (struct plan_op){
			.code = diff ? PLAN_INT : PLAN_UINT,
			.size = 8,
			.align = 1,
			.name = trace_intern(u->t, f->fields[n]),
		};
		p->count = n + 1;
	}
	p->ops = ops;
	p->swap = u->swap;
	return p;
}

static bool event_class_fill(struct uftrace *u, uint64_t id, struct event_class *c,
			     struct class_more *more)
{
	const struct map64_slot *named = map64_find(&u->event_names, id);
	char name[40];

	*c = (struct event_class){ .flags = CLASS_EVENT, .addr = id };
	for (size_t i = 0; i < sizeof(event_forms) / sizeof(event_forms[0]); i++) {
		const struct event_form *f = &event_forms[i];

		if (f->id != id)
			continue;
		c->name = trace_intern(u->t, f->name);
		c->cat = trace_intern(u->t, f->cat);
		c->flags |= f->flags;
		if (!f->fields[0])
			return true;
		more->entry = fields_plan(u, f);
		c->more = more;
		return more->entry;
	}
	if (uftrace_kernel_event(u, id, c))
		return true;
	snprintf(name, sizeof(name), id >= UFTRACE_EV_USER ? "user_event:%llu" : "event:%llu",
		 (unsigned long long)id);
	c->name = named ? (uint32_t)named->value : trace_intern(u->t, name);
	c->cat = trace_intern(u->t, id >= UFTRACE_EV_USER ? "user" : "event");
	return true;
}

uint32_t uftrace_event_class(struct uftrace *u, uint64_t id)
{
	struct map64_slot *slot;
	struct class_more more = { 0 };
	struct event_class c;
	uint32_t cls = 0;

	pthread_mutex_lock(&u->t->lock);
	if (u->event_classes.count >= MAX_UNKNOWN)
		id = UINT64_MAX;
	slot = map64_put(&u->event_classes, id);
	if (slot && !slot->value && event_class_fill(u, id, &c, &more)) {
		c.simple = c.raw = c.name;
		if (!(c.flags & CLASS_KERNEL))
			c.flags |= id >= UFTRACE_EV_USER ? CLASS_MARKER : CLASS_INSIDE;
		slot->value = trace_add_class_locked(u->t, &c);
	}
	if (slot)
		cls = (uint32_t)slot->value;
	pthread_mutex_unlock(&u->t->lock);
	return cls;
}

uint32_t uftrace_lost_class(struct uftrace *u)
{
	return uftrace_event_class(u, lost_id);
}

uint32_t uftrace_perf_class(struct uftrace *u)
{
	return uftrace_event_class(u, perf_id);
}

uint32_t uftrace_line_class(struct uftrace *u)
{
	return uftrace_event_class(u, line_id);
}
