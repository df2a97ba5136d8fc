/* From functions' numbers and addresses to classes, by the symbols of modules. Under the lock. */
#include "format/spur/reader.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/os.h"
#include "model/symbol/demangle.h"

/* The image of a file, which is new if no module was loaded from it; NULL if it is not a file. */
static struct spb_image *image_of(struct spb *s, const char *path)
{
	struct map64_slot *slot;
	struct spb_image *image;
	struct stat st;
	uint64_t key;

	if (os_stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return NULL;
	key = hash64((uint64_t)st.st_dev) ^ (uint64_t)st.st_ino;
	slot = map64_put(&s->modules.by_file, key);
	if (!slot)
		return NULL;
	image = (struct spb_image *)(uintptr_t)slot->value;
	while (image && (image->device != (uint64_t)st.st_dev || image->inode != st.st_ino))
		image = image->next;
	if (image)
		return image;
	image = mem_alloc(sizeof(*image));
	if (!image)
		return NULL;
	symtab_init(&image->syms);
	image->device = (uint64_t)st.st_dev;
	image->inode = st.st_ino;
	image->next = s->modules.images;
	s->modules.images = image;
	slot->value = (uintptr_t)image;
	return image;
}

/* Reads what a file is, once. Returns false if it is no module. */
static bool image_identify(struct spb_image *image, const char *path)
{
	struct elf_facts facts;

	if (image->identified)
		return image->good;
	image->identified = true;
	image->good = elf_identify(path, &facts, NULL) != SPUR_FAIL;
	if (image->good)
		memcpy(image->build_id, facts.build_id, sizeof(image->build_id));
	return image->good;
}

/* Reads its symbols, once. Returns false if it has none that can be read. */
static bool image_load(struct spb *s, struct spb_image *image, const char *path)
{
	const char *const dirs = s->t->options.symbol_dirs;
	struct elf_facts facts;

	if (image->loaded)
		return image->good;
	image->loaded = true;
	image->good = elf_symbols(&image->syms, path, dirs, &facts, NULL) != SPUR_FAIL;
	if (!image->good)
		return false;
	image->base = facts.base;
	symtab_sort(&image->syms);
	if (s->t->options.source_lines && dwarf_open(&image->lines, path, dirs, NULL) == SPUR_FAIL)
		image->lines = NULL;
	return true;
}

/* Reads the symbols of a file if it is the module. Returns true if it is. */
static bool symbols_try(struct spb *s, struct spb_module *m, const char *path)
{
	struct spb_image *const image = image_of(s, path);

	if (!image || !image_identify(image, path))
		return false;
	/* SPEC spur/build-id */
	if (*m->build_id && *image->build_id && strcmp(m->build_id, image->build_id) != 0) {
		diag_add(&s->t->diag, DIAG_WARN, "spur/build-id", path, DIAG_NO_OFF, 0,
			 "build-id: expected %s, found %s: its symbols are not used", m->build_id,
			 image->build_id);
		return false;
	}
	if (!image_load(s, image, path))
		return false;
	m->image = image;
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
	sym = m->image ? symtab_find(&m->image->syms, addr - m->shift - m->image->base) : NULL;
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
	else if (m->image->lines && dwarf_line(m->image->lines, sym->addr, &file, &c->line))
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

/* SPEC spur/function-is: what the descriptor says of the function stands before its symbols. */
static void class_origin(struct spb *s, const struct spb_site *fn, struct event_class *c,
			 struct class_more *more)
{
	const struct spb_origin *const o = fn->origin;
	const struct spb_module *const m =
		fn->module ? spb_module_get(&s->modules, fn->module) : NULL;

	if (!c->module && m)
		c->module = m->path;
	c->flags |= (fn->has & SPB_FUNCTION_KERNEL ? CLASS_KERNEL : 0u) |
		    (fn->has & SPB_FUNCTION_LIBRARY ? CLASS_LIBRARY : 0u) |
		    (fn->has & SPB_FUNCTION_UNKNOWN ? CLASS_UNKNOWN : 0u);
	if (!o)
		return;
	c->cat = o->cat;
	c->line = o->line ? o->line : c->line;
	c->file = o->line ? o->file : c->file;
	c->size = o->size ? o->size : c->size;
	more->library = o->library;
}

/*
 * The module of a function that has a number: the one that its descriptor names. It does not depend
 * on which of its calls is seen first.
 */
static struct spb_module *function_module(struct spb *s, const struct spb_site *fn)
{
	struct spb_module *const m = fn->module ? spb_module_get(&s->modules, fn->module) : NULL;

	if (m && fn->addr >= m->begin && fn->addr < m->end)
		return m;
	return spb_module_at(&s->modules, fn->addr, 0);
}

static uint32_t class_new(struct spb *s, uint32_t number, uint64_t addr, uint64_t ticks)
{
	const struct spb_site *const fn = number ? spb_table_find(&s->functions, number) : NULL;
	struct class_more more = { 0 };
	struct event_class c = { .flags = CLASS_FUNCTION, .addr = addr };
	struct spb_module *m =
		fn ? function_module(s, fn) : spb_module_at(&s->modules, addr, ticks);

	if (!(m && class_symbol(s, m, addr, &c)) &&
	    !(fn && fn->name && class_named(s, fn->name, &c)) && !class_unnamed(s, addr, &c))
		return s->own[SPB_CLASS_OTHERS];
	if (fn)
		class_origin(s, fn, &c, &more);
	if (fn && (fn->entry || fn->exit || fn->next)) {
		struct spb_family *const family = arena_alloc(&s->t->arena, sizeof(*family));

		if (!family)
			return 0;
		*family = (struct spb_family){ .of = s, .first = number, .functions = true };
		more.extra = family;
	}
	if (more.extra || more.library)
		c.more = &more;
	return trace_add_class_locked(s->t, &c);
}

/* The class of an address without a number. */
static uint32_t class_at(struct spb *s, uint64_t addr, uint64_t ticks)
{
	const struct spb_module *m =
		s->modules.move ? spb_module_at(&s->modules, addr, ticks) : NULL;
	/* Where modules came and went, each has its own functions at an address. */
	const uint64_t key = m ? hash64(addr) ^ (uint64_t)(m - s->modules.items + 1) << 48 : addr;
	struct map64_slot *const slot = map64_put(&s->by_address, key);

	if (!slot)
		return s->own[SPB_CLASS_OTHERS];
	if (!slot->value)
		slot->value = class_new(s, 0, addr, ticks);
	return (uint32_t)slot->value;
}

uint32_t spb_function(struct spb *s, uint32_t number, uint64_t addr, uint64_t ticks)
{
	struct spb_site *const fn = number ? spb_table_find(&s->functions, number) : NULL;
	uint32_t cls = fn ? __atomic_load_n(&fn->cls, __ATOMIC_ACQUIRE) : 0;

	if (cls)
		return cls;
	pthread_mutex_lock(&s->t->lock);
	if (fn) {
		/* SPEC spur/class-of */
		struct spb_site *const base = fn->of ? spb_table_find(&s->functions, fn->of) : fn;

		if (!base->cls)
			__atomic_store_n(&base->cls,
					 class_new(s, fn->of ? fn->of : number, base->addr, ticks),
					 __ATOMIC_RELEASE);
		if (!fn->cls)
			__atomic_store_n(&fn->cls, base->cls, __ATOMIC_RELEASE);
		cls = fn->cls;
	} else {
		cls = class_at(s, number ? number : addr, ticks);
	}
	pthread_mutex_unlock(&s->t->lock);
	return trace_short_of_memory(s->t) ? 0 : cls;
}
