/* From functions' numbers and addresses to classes, by the symbols of modules. Under the lock. */
#include "format/spur/reader.h"

#include <stdio.h>

#include "base/os.h"
#include "model/symbol/demangle.h"

/* SPEC spur/module: the module that was loaded last before the time and covers the address. */
static struct spb_module *module_at(struct spb *s, uint64_t addr, uint64_t ticks)
{
	struct spb_module *first = NULL;

	for (size_t i = s->nmodules; i-- > 0;) {
		struct spb_module *const m = &s->modules[i];

		if (addr < m->begin || addr >= m->end)
			continue;
		if (m->loaded <= ticks && ticks <= m->unloaded)
			return m;
		first = m;
	}
	return first;
}

/*
 * Reads the symbols of a file if it is the module. Returns true if it is, or if it is another
 * build.
 */
static bool symbols_try(struct spb *s, struct spb_module *m, const char *path)
{
	struct elf_facts facts;

	if (elf_identify(path, &facts, NULL) == SPUR_FAIL)
		return false;
	/* SPEC spur/build-id */
	if (*m->build_id && *facts.build_id && strcmp(m->build_id, facts.build_id) != 0) {
		diag_add(&s->t->diag, DIAG_WARN, "spur/build-id", path, DIAG_NO_OFF, 0,
			 "build-id: expected %s, found %s: its symbols are not used", m->build_id,
			 facts.build_id);
		return false;
	}
	if (elf_symbols(&m->syms, path, s->t->options.symbol_dirs, &facts, NULL) == SPUR_FAIL)
		return false;
	m->base = facts.base;
	symtab_sort(&m->syms);
	if (s->t->options.source_lines &&
	    dwarf_open(&m->lines, path, s->t->options.symbol_dirs, NULL) == SPUR_FAIL)
		m->lines = NULL;
	return true;
}

/* SPEC spur/symbols: beside the recording's path, in the directories of the option. */
static void symbols_load(struct spb *s, struct spb_module *m)
{
	const char *const path = trace_string(s->t, m->path, NULL);
	const char *const slash = strrchr(path, '/');
	const char *const base = slash ? slash + 1 : path;
	struct text dirs = text_of(s->t->options.symbol_dirs ? s->t->options.symbol_dirs : ""), dir;

	if (m->tried || !*path)
		return;
	m->tried = true;
	while (text_split(&dirs, ':', &dir)) {
		char file[4096];

		if (snprintf(file, sizeof(file), "%.*s/%s", (int)dir.len, dir.p, base) <
			    (int)sizeof(file) &&
		    symbols_try(s, m, file))
			return;
	}
	symbols_try(s, m, path);
}

static bool class_symbol(struct spb *s, struct spb_module *m, uint64_t addr, struct event_class *c)
{
	const struct symbol *sym;
	struct demangled names;
	const char *file;

	symbols_load(s, m);
	c->module = m->path;
	sym = symtab_find(&m->syms, addr - m->shift - m->base);
	if (!sym)
		return false;
	names = demangle_class(s->t, sym->name);
	c->name = names.name;
	c->simple = names.simple;
	c->raw = names.raw;
	c->addr = sym->addr;
	c->size = class_size(sym->size);
	if (sym->type == 'P')
		c->flags |= CLASS_LIBRARY;
	else if (m->lines && dwarf_line(m->lines, sym->addr, &file, &c->line))
		c->file = trace_intern(s->t, file);
	return true;
}

static bool class_named(struct spb *s, uint32_t name, struct event_class *c)
{
	const struct demangled names = demangle_class(s->t, trace_string(s->t, name, NULL));

	c->name = names.name;
	c->simple = names.simple;
	c->raw = names.raw;
	return true;
}

/* A function without a symbol has its address as its name. */
static bool class_unnamed(struct spb *s, uint64_t addr, struct event_class *c)
{
	char name[32];

	if (s->nunknown >= SPB_UNKNOWN)
		return false;
	s->nunknown++;
	snprintf(name, sizeof(name), "<%llx>", (unsigned long long)addr);
	c->name = c->simple = c->raw = trace_intern(s->t, name);
	c->flags |= CLASS_UNKNOWN;
	return true;
}

static uint32_t class_new(struct spb *s, const struct spb_site *fn, uint64_t addr, uint64_t ticks)
{
	const struct class_more more = { .entry = fn ? fn->entry : NULL,
					 .exit = fn ? fn->exit : NULL };
	struct event_class c = { .flags = CLASS_FUNCTION, .addr = addr };
	struct spb_module *m = module_at(s, addr, ticks);

	if (more.entry || more.exit)
		c.more = &more;
	if (!(m && class_symbol(s, m, addr, &c)) &&
	    !(fn && fn->name && class_named(s, fn->name, &c)) && !class_unnamed(s, addr, &c))
		return s->own[SPB_CLASS_OTHERS];
	return trace_add_class_locked(s->t, &c);
}

/* The class of an address without a number. */
static uint32_t class_at(struct spb *s, uint64_t addr, uint64_t ticks)
{
	const struct spb_module *m = s->moves ? module_at(s, addr, ticks) : NULL;
	/* Where modules came and went, each has its own functions at an address. */
	const uint64_t key = m ? hash64(addr) ^ (uint64_t)(m - s->modules + 1) << 48 : addr;
	struct map64_slot *const slot = map64_put(&s->by_address, key);

	if (!slot)
		return s->own[SPB_CLASS_OTHERS];
	if (!slot->value)
		slot->value = class_new(s, NULL, addr, ticks);
	return (uint32_t)slot->value;
}

uint32_t spb_function(struct spb *s, uint32_t number, uint64_t addr, uint64_t ticks)
{
	struct spb_site *const fn =
		number && number < s->functions.cap ? &s->functions.items[number] : NULL;
	uint32_t cls = fn ? __atomic_load_n(&fn->cls, __ATOMIC_ACQUIRE) : 0;

	if (cls)
		return cls;
	pthread_mutex_lock(&s->t->lock);
	if (fn && fn->known) {
		if (!fn->cls)
			__atomic_store_n(&fn->cls, class_new(s, fn, fn->addr, ticks),
					 __ATOMIC_RELEASE);
		cls = fn->cls;
	} else {
		cls = class_at(s, number ? number : addr, ticks);
	}
	pthread_mutex_unlock(&s->t->lock);
	return trace_short_of_memory(s->t) ? 0 : cls;
}
