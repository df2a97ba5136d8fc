/*
 * The functions of a file that can be recorded, see binary.h: those with room for a jump at their
 * start, with sleds, and those that call a hook.
 */
#include <limits.h>
#include <string.h>

#include "base/bits.h"
#include "base/search.h"
#include "format/format.h"
#include "model/symbol/sites.h"
#include "recorder/binary.h"

#include "../record/wire.h"

enum {
	JUMP = 5, /* bytes of a jump or call */
	ENDBR = 4, /* bytes of endbr64, which must stay the first instruction */
	SLED = 11, /* bytes of every kind of sled */
	FAR = 256, /* bytes from a function's start in which its prologue calls mcount() */
	LISTED_FAR = 64, /* bytes of nops that may stand before a function */
};

static const char patchable_section[] = "__patchable_function_entries",
		  mcount_section[] = "__mcount_loc";

/* --- code --- */

static bool is_endbr(const uint8_t *p, size_t left)
{
	return left >= ENDBR && !memcmp(p, "\xf3\x0f\x1e\xfa", ENDBR);
}

/* Returns the bytes of the nop at `p`, or 0 if it is another instruction. */
static size_t nop_size(const uint8_t *p, size_t left)
{
	size_t n = 0, size;
	uint8_t mode;

	while (n < left && n < 8 && (p[n] == 0x66 || p[n] == 0x2e))
		n++;
	if (n < left && p[n] == 0x90)
		return n + 1;
	if (left - n < 3 || p[n] != 0x0f || p[n + 1] != 0x1f)
		return 0;
	mode = p[n + 2] >> 6;
	size = n + 3 + ((p[n + 2] & 7) == 4 ? 1 : 0) + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
	return mode < 3 && size <= left ? size : 0;
}

/* Returns the bytes of the nops at `p` that make room for a jump, or less than JUMP. */
static size_t nops_size(const uint8_t *p, size_t left)
{
	size_t all = 0, one;

	while (all < JUMP && (one = nop_size(p + all, left - all)) != 0)
		all += one;
	return all;
}

static const struct binary_hook *find_hook(const struct binary *b, uint64_t address, bool is_slot)
{
	for (size_t i = 0; i < b->nhooks; i++)
		if (b->hooks[i].address == address && b->hooks[i].is_slot == is_slot)
			return &b->hooks[i];
	return NULL;
}

/* Returns the hook that the instruction at `p` calls and sets *size to its bytes, or NULL. */
static const struct binary_hook *called_hook(const struct binary *b, uint64_t at, const uint8_t *p,
					     size_t left, uint8_t *size)
{
	/* A linker writes a prefix where it replaces a call through a slot by a direct one. */
	const size_t skip = left && p[0] == 0x67 ? 1 : 0;
	const bool direct = left >= JUMP + skip && p[skip] == 0xe8,
		   by_slot = left >= 6 && p[0] == 0xff && p[1] == 0x15;

	if (!direct && !by_slot)
		return NULL;
	*size = (uint8_t)(by_slot ? 6 : JUMP + skip);
	return find_hook(b, at + *size + (uint64_t)(int64_t)(int32_t)load32(p + *size - 4, false),
			 by_slot);
}

/* --- lists of addresses --- */

/* The relocated words of a section. */
struct words {
	uint64_t address; /* of the section */
	uint64_t *words;
	size_t count;
};

static uint64_t symbol_value(const struct binary *b, size_t table, uint64_t symbol)
{
	Elf_Scn *scn = elf_getscn(b->file.elf, table);
	GElf_Shdr sh;
	Elf_Data *data = scn && gelf_getshdr(scn, &sh) ? elf_file_data(scn, &sh) : NULL;
	GElf_Sym sym;

	return data && symbol <= INT_MAX && gelf_getsym(data, (int)symbol, &sym) ? sym.st_value : 0;
}

/* Position-independent files have the addresses in relocations. */
static void relocate(const struct binary *b, struct words *w)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(b->file.elf, scn)) != NULL) {
		Elf_Data *data;
		GElf_Rela r;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA ||
		    !(sh.sh_flags & SHF_ALLOC) || !(data = elf_file_data(scn, &sh)))
			continue;
		for (int i = 0; gelf_getrela(data, i, &r); i++) {
			const uint64_t at = (r.r_offset - w->address) / 8;

			if (r.r_offset < w->address || at >= w->count)
				continue;
			if (GELF_R_TYPE(r.r_info) == R_X86_64_RELATIVE)
				w->words[at] = (uint64_t)r.r_addend;
			else if (GELF_R_TYPE(r.r_info) == R_X86_64_64)
				w->words[at] = symbol_value(b, sh.sh_link, GELF_R_SYM(r.r_info)) +
					       (uint64_t)r.r_addend;
		}
	}
}

/* Calls `each` for every address in the sections of a name. Returns false if out of memory. */
static bool each_listed(struct binary *b, const char *name,
			bool (*each)(struct binary *b, uint64_t address))
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	bool good = true;

	while (good && (scn = elf_nextscn(b->file.elf, scn)) != NULL) {
		const Elf_Data *data;
		struct words w;

		if (!gelf_getshdr(scn, &sh) || strcmp(elf_file_name(&b->file, &sh), name) ||
		    !(sh.sh_flags & SHF_ALLOC) || !(data = elf_file_data(scn, &sh)))
			continue;
		w = (struct words){ sh.sh_addr, mem_array(data->d_size / 8 + 1, 8),
				    data->d_size / 8 };
		good = w.words;
		if (good)
			memcpy(w.words, data->d_buf, w.count * 8);
		if (good)
			relocate(b, &w);
		for (size_t i = 0; good && i < w.count; i++)
			good = !w.words[i] || each(b, w.words[i]);
		mem_free(w.words);
	}
	return good;
}

/* --- the ways --- */

/*
 * The start of the function whose nops are listed at `address`: they may stand at its start, behind
 * its endbr64, or partly before it (-fpatchable-function-entry=N,M).
 */
static uint64_t listed_function(const struct binary *b, uint64_t address)
{
	const struct symbol *s = binary_symbol(b, address);
	const uint64_t at = address - b->file.base;
	size_t lo;

	if (s && (s->addr == at || s->addr + ENDBR == at))
		return s->addr + b->file.base;
	bisect(lo, 0, b->symbols.count, b->symbols.syms[lo].addr <= at);
	if (lo < b->symbols.count && b->symbols.syms[lo].addr - at <= LISTED_FAR)
		return b->symbols.syms[lo].addr + b->file.base;
	return address;
}

static bool add_patchable(struct binary *b, uint64_t address)
{
	const uint64_t start = listed_function(b, address);
	struct binary_function *f;
	size_t left = 0, size = 0, skip;
	const uint8_t *p = binary_code_at(b, start, &left);

	skip = p && is_endbr(p, left) ? ENDBR : 0;
	if (p)
		size = nops_size(p + skip, left - skip);
	if (size < JUMP) {
		b->short_entries++;
		return true;
	}
	return binary_add_function(b, start, ENTRY_PATCHABLE, &f) &&
	       (!f ||
		binary_add_point(b, f,
				 (struct binary_point){ start + skip, PLAN_ENTRY, (uint8_t)size }));
}

/*
 * The entry that has a call of __fentry__(), or a nop in its place, of `size` bytes at `address`.
 * gcc keeps the static chain of a nested function on the stack meanwhile: that is part of the
 * entry, since a hook takes the word on the top of the stack for the return address.
 */
static struct binary_point fentry_point(const struct binary *b, uint64_t address, uint8_t size)
{
	static const uint8_t push[] = { 0x41, 0x52 }, pop[] = { 0x41, 0x5A }; /* r10 */
	size_t before = 0, after = 0;
	const uint8_t *const p = binary_code_at(b, address - sizeof(push), &before);
	const uint8_t *const q = binary_code_at(b, address + size, &after);

	if (!p || !q || before < sizeof(push) || after < sizeof(pop) ||
	    memcmp(p, push, sizeof(push)) || memcmp(q, pop, sizeof(pop)))
		return (struct binary_point){ address, PLAN_ENTRY, size };
	return (struct binary_point){ address - sizeof(push), PLAN_ENTRY,
				      (uint8_t)(sizeof(push) + size + sizeof(pop)) };
}

/* A call of __fentry__() that was replaced by a nop (-mnop-mcount). */
static bool add_listed_call(struct binary *b, uint64_t address)
{
	const struct symbol *s = binary_symbol(b, address);
	const struct binary_point at = fentry_point(b, address, JUMP);
	struct binary_function *f;
	size_t left = 0;
	const uint8_t *p = binary_code_at(b, address, &left);
	const size_t size = p ? nops_size(p, left) : 0;

	if (!s || size < JUMP || at.address - b->file.base - s->addr > ENDBR)
		return true;
	return binary_add_function(b, s->addr + b->file.base, ENTRY_FENTRY, &f) &&
	       (!f || binary_add_point(b, f, at));
}

/* Returns the reader of maps of sleds, or NULL. */
static const struct site_reader *sled_reader(void)
{
	for (size_t i = 0; spur_formats[i]; i++)
		if (spur_formats[i]->sites)
			return spur_formats[i]->sites;
	return NULL;
}

static uint8_t sled_kind(const struct site_reader *of, uint8_t kind)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} kinds[] = {
		{ "function-enter", PLAN_XRAY_ENTER },
		{ "log-args-enter", PLAN_XRAY_ENTER },
		{ "function-exit", PLAN_XRAY_EXIT },
		{ "tail-exit", PLAN_XRAY_TAIL },
	};
	const char *name = of->kind_name(kind);

	for (size_t i = 0; name && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(name, kinds[i].name) == 0)
			return kinds[i].kind;
	return 0;
}

static bool add_sleds(struct binary *b, const struct site_reader *of, const struct site_map *m)
{
	const struct map_site *const sleds = of->sites(m);
	struct binary_function *f = NULL;

	for (size_t i = 0; i < of->count(m); i++) {
		const uint8_t kind = sled_kind(of, sleds[i].kind);
		size_t left = 0;

		if ((!i || sleds[i].id != sleds[i - 1].id) &&
		    !binary_add_function(b, sleds[i].function, ENTRY_SLEDS, &f))
			return false;
		if (!f || !kind || !binary_code_at(b, sleds[i].address, &left) || left < SLED)
			continue;
		if (!binary_add_point(b, f, (struct binary_point){ sleds[i].address, kind, SLED }))
			return false;
	}
	return true;
}

static bool find_sleds(struct binary *b, const char *dirs)
{
	const uint64_t failures = mem_failures();
	const struct site_reader *const of = sled_reader();
	struct site_map *m = NULL;
	bool good = true;

	/* Most files have no map, which is no error here. */
	if (of && of->open(&m, b->path, dirs, NULL) != SPUR_FAIL)
		good = add_sleds(b, of, m);
	if (of)
		of->close(m);
	return good && mem_failures() == failures;
}

/* A call of __fentry__() is the first instruction, one of mcount() follows the prologue. */
static bool add_caller(struct binary *b, const struct symbol *s)
{
	const uint64_t start = s->addr + b->file.base;
	size_t left = 0;
	const uint8_t *p = s->type == 'P' ? NULL : binary_code_at(b, start, &left);

	left = s->size < left ? s->size : left;
	for (size_t at = p && is_endbr(p, left) ? ENDBR : 0; p && at < left && at < FAR; at++) {
		uint8_t size = 0;
		const struct binary_hook *h = called_hook(b, start + at, p + at, left - at, &size);
		struct binary_point point = { start + at, PLAN_MCOUNT, size };
		struct binary_function *f;

		if (!h || h->way == ENTRY_CALLED)
			continue;
		if (h->way == ENTRY_FENTRY) {
			point = fentry_point(b, start + at, size);
			if (point.address - start > ENDBR)
				continue;
		}
		return binary_add_function(b, start, h->way, &f) &&
		       (!f || binary_add_point(b, f, point));
	}
	return true;
}

/*
 * A function without a symbol that calls __fentry__() or mcount(): it begins with the one, and is
 * known by the address of the other.
 */
static bool add_unnamed(struct binary *b, uint64_t at, enum entry_way way, uint8_t size)
{
	struct binary_point point = { at, PLAN_MCOUNT, size };
	struct binary_function *f;

	if (way == ENTRY_FENTRY)
		point = fentry_point(b, at, size);
	return binary_add_function(b, point.address, way, &f) &&
	       (!f || binary_add_point(b, f, point));
}

/*
 * Functions that call __cyg_profile_func_enter() wherever their code does so, and those without
 * symbols that call another hook.
 */
static bool add_reporting(struct binary *b, const struct binary_code *c)
{
	for (size_t at = 0; at < c->size; at++) {
		uint8_t size;
		const struct binary_hook *h =
			called_hook(b, c->address + at, c->data + at, c->size - at, &size);
		const struct symbol *s = h ? binary_symbol(b, c->address + at) : NULL;
		struct binary_function *f;

		if (h && !s && h->way != ENTRY_CALLED &&
		    !add_unnamed(b, c->address + at, h->way, size))
			return false;
		if (!s || s->type == 'P' || h->way != ENTRY_CALLED)
			continue;
		if (!binary_add_function(b, s->addr + b->file.base, ENTRY_CALLED, &f))
			return false;
		if (f &&
		    !binary_add_point(b, f, (struct binary_point){ f->address, PLAN_CALLED, 0 }))
			return false;
	}
	return true;
}

bool binary_find_entries(struct binary *b, const char *dirs)
{
	bool good = each_listed(b, patchable_section, add_patchable) && find_sleds(b, dirs) &&
		    each_listed(b, mcount_section, add_listed_call);

	for (size_t i = 0; good && b->nhooks && i < b->symbols.count; i++)
		good = add_caller(b, &b->symbols.syms[i]);
	for (size_t i = 0; good && b->nhooks && i < b->ncode; i++)
		good = add_reporting(b, &b->code[i]);
	return good;
}
