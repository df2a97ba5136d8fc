/*
 * Symbols of ELF files: functions of .symtab (of the file or its debug file), else of .dynsym, and
 * the slots of the PLT. Where several names share an address one is kept: global before weak before
 * local, then without a leading underscore. Not read: relocatable files' sections, .gnu_debugdata.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "model/symbol/elf_file.h"

enum { MAX_SYMBOLS = 1 << 26 };

struct candidate {
	uint64_t addr, size;
	const char *name;
	char type;
	uint8_t rank; /* the lowest of an address is kept */
	uint32_t order; /* in the file */
};

struct candidates {
	struct candidate *list;
	size_t count, cap;
	struct elf_strings names;
};

static bool in_code(const struct elf_file *f, const GElf_Sym *sym)
{
	Elf_Scn *scn = sym->st_shndx < SHN_LORESERVE ? elf_getscn(f->elf, sym->st_shndx) : NULL;
	GElf_Shdr sh;

	return scn && gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_EXECINSTR);
}

/* Functions, and labels in code if they say how long they are. */
static bool is_function(const struct elf_file *f, const GElf_Sym *sym)
{
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_COMMON;
	case STT_NOTYPE:
		return sym->st_size && in_code(f, sym);
	default:
		return false;
	}
}

static char type_letter(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_LOCAL:
		return 't';
	case STB_WEAK:
		return 'W';
	default:
		return GELF_ST_TYPE(sym->st_info) == STT_NOTYPE ? 't' : 'T';
	}
}

/* Names that are mangled start with an underscore that says nothing. */
static bool is_hidden(const char *name)
{
	return name[0] == '_' && name[1] != 'Z' && name[1] != 'R';
}

static uint8_t rank_of(const GElf_Sym *sym, const char *name)
{
	const unsigned bind = GELF_ST_BIND(sym->st_info);
	const unsigned by_bind = bind == STB_LOCAL ? 2 : bind == STB_WEAK ? 1 : 0;
	const unsigned by_type = GELF_ST_TYPE(sym->st_info) == STT_NOTYPE ? 1 : 0;

	return (uint8_t)(by_type << 3 | by_bind << 1 | (is_hidden(name) ? 1 : 0));
}

static bool read_table(struct candidates *c, const struct elf_file *f, uint64_t base, Elf_Scn *scn,
		       const GElf_Shdr *sh)
{
	Elf_Data *data = elf_file_data(scn, sh);
	size_t each = gelf_fsize(f->elf, ELF_T_SYM, 1, EV_CURRENT),
	       n = data && each ? data->d_size / each : 0;

	c->names = elf_file_strings(f, sh->sh_link);
	for (size_t i = 0; i < n && i < INT_MAX; i++) {
		GElf_Sym sym;
		const char *name;
		uint64_t thumb;

		if (!gelf_getsym(data, (int)i, &sym) || !is_function(f, &sym) ||
		    sym.st_value < base)
			continue;
		name = elf_string(&c->names, sym.st_name);
		if (!name || !*name)
			continue;
		if (!mem_grow((void **)&c->list, &c->cap, c->count + 1, sizeof(*c->list),
			      MAX_SYMBOLS))
			return false;
		thumb = f->head.e_machine == EM_ARM ? sym.st_value & 1 : 0;
		c->list[c->count] = (struct candidate){
			sym.st_value - thumb - base, sym.st_size,	  name,
			type_letter(&sym),	     rank_of(&sym, name), (uint32_t)c->count
		};
		c->count++;
	}
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* The best name of each address, with the first size that is given there. */
static bool keep_best(struct symtab *t, struct candidates *c)
{
	elf_limit_names(t, &c->names);
	if (c->count)
		qsort(c->list, c->count, sizeof(*c->list), by_address);
	for (size_t i = 0, next; i < c->count; i = next) {
		const struct candidate *best = &c->list[i];
		uint64_t size = best->size;

		for (next = i + 1; next < c->count && c->list[next].addr == best->addr; next++)
			if (!size)
				size = c->list[next].size;
		if (!symtab_add(t, best->addr, size, best->type, best->name, strlen(best->name)))
			return false;
	}
	return true;
}

static bool read_functions(struct symtab *t, const struct elf_file *f, const char *path,
			   const char *dirs)
{
	struct elf_file debug = { .fd = -1 };
	const struct elf_file *from = f;
	struct candidates c = { 0 };
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(f, SHT_SYMTAB, NULL, &sh);
	bool ok;

	if (!scn && elf_file_debug(&debug, f, path, dirs)) {
		from = &debug;
		scn = elf_file_section(from, SHT_SYMTAB, NULL, &sh);
	}
	if (!scn) {
		from = f;
		scn = elf_file_section(from, SHT_DYNSYM, NULL, &sh);
	}
	ok = (!scn || read_table(&c, from, from->has_base ? from->base : f->base, scn, &sh)) &&
	     keep_best(t, &c);
	mem_free(c.list);
	elf_file_close(&debug);
	return ok;
}

static void read_facts(struct elf_facts *facts, const struct elf_file *f)
{
	static const char hex[] = "0123456789abcdef";
	const size_t fits = (sizeof(facts->build_id) - 1) / 2,
		     n = f->id_len < fits ? f->id_len : fits;

	*facts = (struct elf_facts){
		.class = f->head.e_ident[EI_CLASS] == ELFCLASS64 ? 2 : 1,
		.big_endian = f->head.e_ident[EI_DATA] == ELFDATA2MSB,
		.machine = f->head.e_machine,
		.base = f->base,
	};
	for (size_t i = 0; i < n; i++) {
		facts->build_id[2 * i] = hex[f->id[i] >> 4];
		facts->build_id[2 * i + 1] = hex[f->id[i] & 15];
	}
}

enum spur_status elf_symbols(struct symtab *t, const char *path, const char *dirs,
			     struct elf_facts *facts, struct spur_error *err)
{
	const uint64_t failures = mem_failures();
	struct elf_file f;
	bool ok;

	if (elf_file_open(&f, path, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (facts)
		read_facts(facts, &f);
	ok = elf_plt_symbols(t, &f) && read_functions(t, &f, path, dirs);
	elf_file_close(&f);
	if (!ok && mem_failures() == failures)
		return err_set(err, SPUR_ERR_LIMIT,
			       "%s: expected names of symbols, found more than it has room for",
			       path);
	return ok ? SPUR_OK : err_nomem(err);
}

enum spur_status elf_identify(const char *path, struct elf_facts *facts, struct spur_error *err)
{
	struct elf_file f;

	if (elf_file_open(&f, path, err) == SPUR_FAIL)
		return SPUR_FAIL;
	read_facts(facts, &f);
	elf_file_close(&f);
	return SPUR_OK;
}
