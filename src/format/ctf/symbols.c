/*
 * Names of functions that events tell by their address. What is mapped where is read from the
 * streams when the trace is opened, and programs and libraries that have any of the functions are
 * opened then. One that is not what was traced (its build id says so) gives no names.
 *
 * Does not read: memory maps of threads without a process; what is unmapped (a place is the last
 * one's that was mapped).
 */
#include "format/ctf/symbols.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"
#include "base/search.h"
#include "model/args.h"
#include "model/symbol/demangle.h"
#include "model/symbol/symbol.h"

enum {
	MAX_REGIONS = 1 << 16,
	MAX_MODULES = 1 << 14,
	MAX_SPACES = 1 << 15,
	MAX_FUNCTIONS = 1 << 22,
	MAX_ADDRESSES = 1 << 16, /* of contexts, that are kept */
	NEAR = 64, /* regions that begin before an address and may hold it */
	ID_ROOM = 20, /* bytes of a build id as elf_identify() has it */
	ROOM = CTF_PATH_ROOM,
};

static const uint64_t ADDRESS_BITS = ((uint64_t)1 << 48) - 1;

struct region {
	uint32_t space, module;
	uint64_t base, size;
	int64_t from; /* when it was seen first */
	bool fixed; /* not position-independent */
};

struct module {
	uint32_t path; /* string id */
	uint32_t build; /* of its hexadecimal build id; 0: not told */
	bool needed; /* some function lies in it */
	bool opened; /* or tried to be */
	bool tried_lines;
	struct symtab syms;
	uint32_t *classes; /* by symbol; 0: none yet */
	struct dwarf_lines *lines;
};

struct ctf_symbols {
	struct region *regions; /* sorted by space, base and time, once all are there */
	size_t nregions, regions_cap;
	struct module *modules;
	size_t nmodules, modules_cap;
	uint32_t nspaces;
	struct map64 by_file; /* path and build id -> index of the module + 1 */
	struct map64 unnamed; /* module and address in it -> class */
	/* Space and address of functions -> time + 1; only while the trace is opened */
	struct map64 met;
	/*
	 * Of contexts: space and address -> index + 1. Under the lock, and so is the opening of
	 * modules.
	 */
	pthread_mutex_t lock;
	struct map64 by_address;
	struct ctf_address *addresses;
	size_t naddresses, addresses_cap;
	/* Names of events and fields. */
	uint32_t s_pic, s_info[3], s_build[3], s_enter[2], s_base, s_size, s_path, s_id, s_vpid;
};

/* --- what is mapped --- */

struct scan {
	struct ctf *c;
	struct ctf_symbols *s;
	const struct ctf_feed *feed;
	struct spur_args args;
};

static const struct spur_value *arg_of(const struct spur_args *args, uint32_t name)
{
	for (size_t i = 0; i < args->count; i++)
		if (args->items[i].name == name)
			return &args->items[i];
	return NULL;
}

static bool arg_number(const struct spur_args *args, uint32_t name, uint64_t *out)
{
	const struct spur_value *v = arg_of(args, name);

	if (!v || (v->type != SPUR_U64 && v->type != SPUR_I64 && v->type != SPUR_POINTER))
		return false;
	*out = v->u;
	return true;
}

/*
 * Module of this path and build id; Returns SPUR_NONE if out of memory, or if there are too many.
 */
static uint32_t module_of(struct ctf_symbols *s, uint32_t path, uint32_t build)
{
	struct map64_slot *slot = map64_put(&s->by_file, (uint64_t)path << 32 | build);

	if (!slot)
		return SPUR_NONE;
	if (slot->value)
		return (uint32_t)slot->value - 1;
	if (!mem_grow((void **)&s->modules, &s->modules_cap, s->nmodules + 1, sizeof(*s->modules),
		      MAX_MODULES))
		return SPUR_NONE;
	s->modules[s->nmodules] = (struct module){ .path = path, .build = build };
	symtab_init(&s->modules[s->nmodules].syms);
	slot->value = ++s->nmodules;
	return (uint32_t)s->nmodules - 1;
}

/*
 * Returns the space of the row's process, adding it if it is new, or 0 if out of memory, or if
 * there are too many.
 */
static uint32_t space_of(struct scan *x)
{
	uint64_t pid = (uint64_t)x->feed->trace->pid;
	struct map64_slot *slot;

	arg_number(&x->args, x->s->s_vpid, &pid);
	slot = map64_put(&x->feed->trace->spaces, pid);
	if (slot && !slot->value && x->s->nspaces < MAX_SPACES)
		slot->value = ++x->s->nspaces;
	return slot ? (uint32_t)slot->value : 0;
}

static void region_add(struct scan *x, const struct spur_event *row)
{
	struct ctf_symbols *s = x->s;
	const struct spur_value *path = arg_of(&x->args, s->s_path);
	struct region r = { .from = row->ts };
	uint64_t pic;

	if (!path || path->type != SPUR_STRING || !path->count ||
	    !arg_number(&x->args, s->s_base, &r.base) ||
	    !arg_number(&x->args, s->s_size, &r.size) || !r.size || !(r.space = space_of(x)))
		return;
	r.fixed = arg_number(&x->args, s->s_pic, &pic) && !pic;
	r.module = module_of(s, trace_intern_n(x->c->t, path->text, path->count), 0);
	if (r.module == SPUR_NONE || !mem_grow((void **)&s->regions, &s->regions_cap,
					       s->nregions + 1, sizeof(*s->regions), MAX_REGIONS))
		return;
	s->regions[s->nregions++] = r;
}

/* The build id of what was mapped there last; it comes soon after that. */
static void build_add(struct scan *x)
{
	struct ctf_symbols *s = x->s;
	const struct spur_value *id = arg_of(&x->args, s->s_id);
	const uint32_t space = space_of(x);
	char hex[2 * ID_ROOM + 1];
	uint64_t base;
	uint32_t n, module;

	if (!id || id->type != SPUR_ARRAY || !arg_number(&x->args, s->s_base, &base))
		return;
	for (n = 0; n < id->count && n < ID_ROOM; n++)
		snprintf(hex + 2 * (size_t)n, 3, "%02x", (unsigned)(id->items[n].u & 0xFF));
	for (size_t i = s->nregions; n && i-- > 0 && s->nregions - i < NEAR;) {
		struct region *r = &s->regions[i];

		if (r->space != space || r->base != base)
			continue;
		module = module_of(s, s->modules[r->module].path,
				   trace_intern_n(x->c->t, hex, 2 * (size_t)n));
		r->module = module == SPUR_NONE ? r->module : module;
		break;
	}
}

/* Functions whose modules are worth opening. */
static bool function_add(struct scan *x, const struct spur_event *row)
{
	const struct spur_track *track = trace_track(x->c->t, row->track);
	const int64_t pid = track && track->pid >= 0 ? track->pid : x->feed->trace->pid;
	struct map64_slot *slot = map64_put(&x->feed->trace->spaces, (uint64_t)pid);

	if (slot && !slot->value && x->s->nspaces < MAX_SPACES)
		slot->value = ++x->s->nspaces;
	if (!slot || !slot->value || x->s->met.count >= MAX_FUNCTIONS)
		return slot != NULL;
	slot = map64_put(&x->s->met, slot->value << 48 | (row->id & ADDRESS_BITS));
	if (slot && !slot->value)
		slot->value = (uint64_t)row->ts;
	return slot != NULL;
}

static bool is_one_of(uint32_t name, const uint32_t *names)
{
	return name == names[0] || name == names[1] || name == names[2];
}

static bool scan_rows(void *self, const struct spur_event *rows, size_t n)
{
	struct scan *x = self;

	for (size_t i = 0; i < n; i++) {
		const bool info = is_one_of(rows[i].name, x->s->s_info);

		if (rows[i].name == x->s->s_enter[0] || rows[i].name == x->s->s_enter[1]) {
			if (!function_add(x, &rows[i]))
				return false;
			continue;
		}
		if (!info && !is_one_of(rows[i].name, x->s->s_build))
			continue;
		args_reset(&x->args);
		if (ctf_args(x->c->t, &rows[i], &x->args) == SPUR_FAIL)
			return false;
		if (info)
			region_add(x, &rows[i]);
		else
			build_add(x);
	}
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct region *x = a, *y = b;

	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->module < y->module ? -1 : x->module > y->module;
}

/* State dumps say the same again for each session. */
static void regions_sort(struct ctf_symbols *s)
{
	size_t n = 0;

	if (s->nregions)
		qsort(s->regions, s->nregions, sizeof(*s->regions), by_place);
	for (size_t i = 0; i < s->nregions; i++) {
		const struct region *r = &s->regions[i], *last = n ? &s->regions[n - 1] : NULL;

		if (!last || last->space != r->space || last->base != r->base ||
		    last->size != r->size || last->module != r->module)
			s->regions[n++] = *r;
	}
	s->nregions = n;
}

static const char *const ctf_functions[] = { "lttng_ust_cyg_profile:func_entry",
					     "lttng_ust_cyg_profile_fast:func_entry" };
static const char *const infos[] = { "lttng_ust_statedump:bin_info", "lttng_ust_lib:load",
				     "lttng_ust_dl:dlopen" };
static const char *const builds[] = { "lttng_ust_statedump:build_id", "lttng_ust_lib:build_id",
				      "lttng_ust_dl:build_id" };

/* Whether a trace has events of functions, and such that say what is mapped. */
static bool is_wanted(const struct ctf_trace *tr)
{
	bool functions = false, maps = false;

	/* SPEC ctf/instruction-pointers: contexts too */
	for (size_t i = 0; i < tr->meta->nstreams; i++)
		functions |= tr->classes[i].ip_at != UINT32_MAX;
	for (size_t i = 0; i < tr->meta->nstreams; i++)
		for (size_t k = 0; k < tr->meta->streams[i]->nevents; k++) {
			const char *name = tr->meta->streams[i]->events[k]->name;

			if (!name)
				continue;
			functions |= strcmp(name, ctf_functions[0]) == 0 ||
				     strcmp(name, ctf_functions[1]) == 0;
			for (size_t n = 0; n < 3; n++)
				maps |= strcmp(name, infos[n]) == 0;
		}
	return functions && maps;
}

static void intern_names(struct ctf *c, struct ctf_symbols *s)
{
	for (size_t i = 0; i < 3; i++) {
		s->s_info[i] = trace_intern(c->t, infos[i]);
		s->s_build[i] = trace_intern(c->t, builds[i]);
	}
	s->s_enter[0] = trace_intern(c->t, ctf_functions[0]);
	s->s_enter[1] = trace_intern(c->t, ctf_functions[1]);
	s->s_base = trace_intern(c->t, "baddr");
	s->s_size = trace_intern(c->t, "memsz");
	s->s_path = trace_intern(c->t, "path");
	s->s_id = trace_intern(c->t, "build_id");
	s->s_vpid = trace_intern(c->t, "vpid");
	s->s_pic = trace_intern(c->t, "is_pic");
}

void ctf_symbols_free(struct ctf_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nmodules; i++) {
		symtab_free(&s->modules[i].syms);
		mem_free(s->modules[i].classes);
		dwarf_close(s->modules[i].lines);
	}
	pthread_mutex_destroy(&s->lock);
	map64_free(&s->by_address);
	mem_free(s->addresses);
	map64_free(&s->by_file);
	map64_free(&s->unnamed);
	map64_free(&s->met);
	mem_free(s->modules);
	mem_free(s->regions);
	mem_free(s);
}

uint32_t ctf_symbols_space(const struct ctf *c, const struct ctf_trace *tr, int64_t pid)
{
	const struct map64_slot *slot = c->symbols ? map64_find(&tr->spaces, (uint64_t)pid) : NULL;

	return slot ? (uint32_t)slot->value : 0;
}

/* --- programs and libraries --- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Whether this file is the one that was traced; where its build id is not told, the name must do.
 */
static bool fits(const struct ctf *c, const struct module *m, const char *file, bool trust_name)
{
	struct elf_facts facts = { 0 };
	struct spur_error err;
	struct stat st;

	if (os_stat(file, &st) != 0 || !S_ISREG(st.st_mode) ||
	    elf_identify(file, &facts, &err) == SPUR_FAIL)
		return false;
	if (!m->build)
		return trust_name &&
		       strcmp(base_name(trace_string(c->t, m->path, NULL)), base_name(file)) == 0;
	return strcmp(facts.build_id, trace_string(c->t, m->build, NULL)) == 0;
}

/* In one directory: by name, by path, by build id. */
static bool find_in(const struct ctf *c, const struct module *m, struct text dir, char *file)
{
	const char *path = trace_string(c->t, m->path, NULL);
	const char *build = m->build ? trace_string(c->t, m->build, NULL) : "";
	const char *const rests[] = { base_name(path), path };

	for (size_t i = 0; i < 2; i++)
		if (snprintf(file, ROOM, "%.*s/%s", (int)dir.len, dir.p, rests[i]) < ROOM &&
		    fits(c, m, file, true))
			return true;
	return strlen(build) > 2 &&
	       snprintf(file, ROOM, "%.*s/.build-id/%.2s/%s.debug", (int)dir.len, dir.p, build,
			build + 2) < ROOM &&
	       fits(c, m, file, false);
}

/*
 * SPEC ctf/find-binary: those given, those in the directories given, then where the trace says, if
 * the build id fits
 */
static bool find_file(const struct ctf *c, const struct module *m, char *file)
{
	const struct spur_options *o = &c->t->options;
	const char *path = trace_string(c->t, m->path, NULL);
	struct text dirs = text_of(o->symbol_dirs ? o->symbol_dirs : ""), dir;

	for (const char *const *b = o->binaries; b && *b; b++) {
		const char *given = *b + strspn(*b, "0123456789");

		given = given > *b && *given == '=' ? given + 1 : *b;
		if (snprintf(file, ROOM, "%s", given) < ROOM && fits(c, m, file, true))
			return true;
	}
	while (text_split(&dirs, ':', &dir))
		if (dir.len && find_in(c, m, dir, file))
			return true;
	return path[0] == '/' && snprintf(file, ROOM, "%s", path) < ROOM && fits(c, m, file, false);
}

static void module_open(struct ctf *c, struct module *m)
{
	struct spur_error err = { 0 };
	struct elf_facts facts;
	char file[ROOM];

	m->opened = true;
	if (!find_file(c, m, file)) {
		diag_add(&c->t->diag, DIAG_NOTE, "ctf/no-symbols",
			 trace_string(c->t, m->path, NULL), DIAG_NO_OFF, 0,
			 "expected this program or library here%s%s, found none: its functions "
			 "have no names; --binary FILE gives it, or --symbols-dir DIR",
			 m->build ? ", with build id " : "",
			 m->build ? trace_string(c->t, m->build, NULL) : "");
		return;
	}
	if (elf_symbols(&m->syms, file, c->t->options.symbol_dirs, &facts, &err) == SPUR_FAIL) {
		diag_add(&c->t->diag, DIAG_NOTE, "ctf/no-symbols", file, DIAG_NO_OFF, 0, "%s",
			 err.message);
		return;
	}
	m->classes = mem_array(m->syms.count + 1, sizeof(*m->classes));
	if (c->t->options.source_lines &&
	    dwarf_open(&m->lines, file, c->t->options.symbol_dirs, &err) == SPUR_FAIL)
		m->lines = NULL;
}

/* --- functions: SPEC ctf/function-names --- */

static uint32_t symbol_class(struct ctf *c, struct module *m, const struct symbol *sym)
{
	struct event_class k = { .module = m->path,
				 .flags = CLASS_FUNCTION | (sym->type == 'P' ? CLASS_LIBRARY : 0),
				 .addr = sym->addr,
				 .size = class_size(sym->size) };
	const struct demangled names = demangle_class(c->t, sym->name);
	const char *file;

	k.raw = names.raw;
	k.simple = names.simple;
	k.name = names.name;
	if (m->lines && dwarf_line(m->lines, sym->addr, &file, &k.line))
		k.file = trace_intern(c->t, file);
	return trace_add_class_locked(c->t, &k);
}

/* A function without symbol: the program or library, and where in it. */
static uint32_t unnamed_class(struct ctf *c, uint32_t module, uint64_t at)
{
	const uint64_t key = (uint64_t)module << 48 | (at & 0xFFFFFFFFFFFF);
	struct map64_slot *slot = map64_put(&c->symbols->unnamed, key);
	const uint32_t path = c->symbols->modules[module].path;
	struct event_class k = { .module = path,
				 .flags = CLASS_FUNCTION | CLASS_UNKNOWN,
				 .addr = at };
	char name[ROOM];

	if (!slot)
		return 0;
	if (slot->value)
		return (uint32_t)slot->value;
	snprintf(name, sizeof(name), "%s+0x%llx", base_name(trace_string(c->t, path, NULL)),
		 (unsigned long long)at);
	k.name = k.simple = k.raw = trace_intern(c->t, name);
	slot->value = trace_add_class_locked(c->t, &k);
	return (uint32_t)slot->value;
}

/* What is mapped at an address. *lasts: nothing else ever is. NULL: nothing. */
static const struct region *region_find(const struct ctf_symbols *s, uint32_t space,
					uint64_t address, int64_t ts, bool *lasts)
{
	const struct region *best = NULL;
	size_t low, n = 0;

	*lasts = true;
	bisect(low, 0, s->nregions,
	       s->regions[low].space < space ||
		       (s->regions[low].space == space && s->regions[low].base <= address));
	/* The last one before the event; a state dump may be late: else the first one after it. */
	for (; low-- > 0 && n < NEAR && s->regions[low].space == space; n++) {
		const struct region *r = &s->regions[low];

		if (address - r->base >= r->size)
			continue;
		*lasts &= !best;
		if (!best || (best->from > ts ? r->from < best->from
					      : r->from <= ts && r->from > best->from))
			best = r;
	}
	return best;
}

/* Those that have any of the functions met, in the order in which they were told. */
static void modules_open(struct ctf *c, struct ctf_symbols *s)
{
	const struct map64_slot *slot;
	size_t at = 0;
	bool lasts;

	while ((slot = map64_next(&s->met, &at))) {
		const struct region *r = region_find(s, (uint32_t)(slot->key >> 48),
						     slot->key & ADDRESS_BITS, (int64_t)slot->value,
						     &lasts);

		if (r)
			s->modules[r->module].needed = true;
	}
	map64_free(&s->met);
	s->met = (struct map64){ 0 };
	for (size_t i = 0; i < s->nmodules; i++)
		if (s->modules[i].needed)
			module_open(c, &s->modules[i]);
}

bool ctf_symbols_open(struct ctf *c)
{
	struct scan x = { .c = c };
	const uint64_t failures = mem_failures();
	bool good = true;

	for (size_t i = 0; good && c->spans && i < c->nfeeds; i++) {
		if (!is_wanted(c->feeds[i]->trace))
			continue;
		if (!x.s) {
			x.s = mem_alloc(sizeof(*x.s));
			if (!x.s)
				return false;
			pthread_mutex_init(&x.s->lock, NULL);
			intern_names(c, x.s);
		}
		x.feed = c->feeds[i];
		good = ctf_feed_scan(c->feeds[i], scan_rows, &x);
	}
	spur_args_free(&x.args);
	c->symbols = x.s;
	if (x.s && good) {
		regions_sort(x.s);
		modules_open(c, x.s);
	}
	return good && mem_failures() == failures;
}

uint32_t ctf_symbols_class(struct ctf *c, uint32_t space, uint64_t address, int64_t ts, bool *lasts)
{
	const struct region *r = region_find(c->symbols, space, address, ts, lasts);
	const struct symbol *sym;
	struct module *m;
	uint32_t *class;

	if (!r)
		return 0;
	m = &c->symbols->modules[r->module];
	sym = m->classes ? symtab_find(&m->syms, address - r->base) : NULL;
	if (!sym)
		return unnamed_class(c, r->module, address - r->base);
	class = &m->classes[sym - m->syms.syms];
	if (!*class)
		*class = symbol_class(c, m, sym);
	return *class;
}

/* --- addresses in contexts: SPEC ctf/instruction-pointers --- */

/* A binary that is not here is no loss of the trace: nothing is said of it. */
static void module_open_quietly(struct ctf *c, struct module *m)
{
	struct spur_error err = { 0 };
	struct elf_facts facts;
	char file[ROOM];

	if (!m->opened && find_file(c, m, file))
		elf_symbols(&m->syms, file, c->t->options.symbol_dirs, &facts, &err);
	m->opened = true;
	if (!m->tried_lines && !m->lines && find_file(c, m, file) &&
	    dwarf_open(&m->lines, file, c->t->options.symbol_dirs, &err) == SPUR_FAIL)
		m->lines = NULL;
	m->tried_lines = true;
}

static uint32_t intern_function(struct ctf *c, const struct symbol *sym, uint64_t at)
{
	static const enum demangle_form forms[] = { DEMANGLE_SIMPLE, DEMANGLE_FULL };
	const enum spur_demangle how = c->t->options.demangle;
	struct out o;
	uint32_t id;

	out_to_memory(&o);
	if (how <= SPUR_DEMANGLE_SIMPLE)
		demangle(&o, sym->name, strlen(sym->name), forms[how]);
	else
		out_str(&o, sym->name);
	out_printf(&o, "+0x%llx", (unsigned long long)(at - sym->addr));
	id = trace_intern_n(c->t, o.buf, o.len);
	out_free(&o);
	return id;
}

/* Called with the lock held. */
static struct ctf_address address_describe(struct ctf *c, const struct region *r, uint64_t address)
{
	struct module *m = &c->symbols->modules[r->module];
	const uint64_t at = address - r->base;
	const struct symbol *sym;
	struct ctf_address a = { 0 };
	char text[ROOM];
	const char *file;
	unsigned line;

	module_open_quietly(c, m);
	snprintf(text, sizeof(text), "%s%c0x%llx", base_name(trace_string(c->t, m->path, NULL)),
		 r->fixed ? '@' : '+', (unsigned long long)(r->fixed ? address : at));
	a.binary = trace_intern(c->t, text);
	sym = symtab_find(&m->syms, at);
	if (sym)
		a.function = intern_function(c, sym, at);
	if (m->lines && dwarf_own_line(m->lines, at, &file, &line)) {
		snprintf(text, sizeof(text), "%s:%u", base_name(file), line);
		a.source = trace_intern(c->t, text);
	}
	return a;
}

/* Keeps what was found. Called with the lock held. */
static void address_keep(struct ctf_symbols *s, uint64_t key, const struct ctf_address *a)
{
	struct map64_slot *slot;

	if (!mem_grow((void **)&s->addresses, &s->addresses_cap, s->naddresses + 1,
		      sizeof(*s->addresses), MAX_ADDRESSES))
		return;
	slot = map64_put(&s->by_address, key);
	if (!slot)
		return;
	s->addresses[s->naddresses] = *a;
	slot->value = ++s->naddresses;
}

bool ctf_symbols_at(struct ctf *c, uint32_t space, uint64_t address, int64_t ts,
		    struct ctf_address *out)
{
	struct ctf_symbols *s = c->symbols;
	const uint64_t key = (uint64_t)space << 48 | (address & ADDRESS_BITS);
	const struct map64_slot *slot;
	const struct region *r;
	bool lasts;

	pthread_mutex_lock(&s->lock);
	slot = map64_find(&s->by_address, key);
	r = slot ? NULL : region_find(s, space, address, ts, &lasts);
	if (slot && slot->value)
		*out = s->addresses[slot->value - 1];
	else if (r)
		*out = address_describe(c, r, address);
	if (r && lasts && s->naddresses < MAX_ADDRESSES)
		address_keep(s, key, out);
	pthread_mutex_unlock(&s->lock);
	return slot || r;
}
