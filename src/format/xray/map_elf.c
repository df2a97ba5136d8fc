/*
 * The instrumentation map of ELF files: programs, libraries, and relocatable files, whose functions
 * are in sections that have no addresses yet. Not read: maps of files without section headers,
 * relative relocations in packed tables of other kinds than DT_RELR (which leaves the addresses in
 * place).
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/search.h"
#include "format/xray/map_parts.h"
#include "model/symbol/elf_file.h"

static const char map_name[] = "xray_instr_map", index_name[] = "xray_fn_idx";

enum {
	MAX_PARTS = 1 << 24, /* sections of a relocatable file */
	MAX_NEEDS = 4096, /* libraries that one file may need */
	NAME_LIMIT = 1 << 12, /* bytes of the name of one */
};

/* The sections of one file. */
struct elf_map {
	struct site_map *m;
	struct elf_file f;
	struct map_part *parts; /* ascending by section */
	size_t nparts, parts_cap;
	struct map_part index;
	unsigned indexes; /* how many there are */
	bool absent; /* there is a map, but its bytes are in another file */
	bool relocatable;
	Elf_Data *symbols; /* of the relocations read last */
	GElf_Word symbols_of; /* their section */
};

bool map_is_elf(const uint8_t *head, size_t len)
{
	return len >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG);
}

static bool add_part(struct elf_map *e, Elf_Scn *scn, const GElf_Shdr *sh, const Elf_Data *data)
{
	if (!mem_grow((void **)&e->parts, &e->parts_cap, e->nparts + 1, sizeof(*e->parts),
		      MAX_PARTS))
		return false;
	e->parts[e->nparts++] = (struct map_part){ .data = data->d_buf,
						   .size = data->d_size,
						   .address = sh->sh_addr,
						   .section = (uint32_t)elf_ndxscn(scn) };
	return true;
}

static bool find_parts(struct elf_map *e)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e->f.elf, scn)) != NULL) {
		const char *name;
		const Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_PROGBITS && sh.sh_type != SHT_NOBITS))
			continue;
		name = elf_file_name(&e->f, &sh);
		data = elf_file_data(scn, &sh);
		if (!strcmp(name, map_name)) {
			if (!data)
				e->absent |= sh.sh_type == SHT_NOBITS;
			else if (!add_part(e, scn, &sh, data))
				return false;
		} else if (!strcmp(name, index_name) && data) {
			e->index = (struct map_part){ .data = data->d_buf,
						      .size = data->d_size,
						      .address = sh.sh_addr };
			e->indexes++;
		}
	}
	return true;
}

/* ---- relocations ---- */

/* One relocation, whatever the table's kind. */
struct reloc {
	uint64_t offset, addend;
	bool has_addend; /* else it is in the word */
	uint32_t symbol;
	uint32_t type;
};

static bool reloc_get(const struct elf_map *e, Elf_Data *data, bool rela, int i, struct reloc *r)
{
	GElf_Rela add = { 0 };
	GElf_Rel rel = { 0 };
	uint64_t info;

	if (rela ? !gelf_getrela(data, i, &add) : !gelf_getrel(data, i, &rel))
		return false;
	info = rela ? add.r_info : rel.r_info;
	*r = (struct reloc){ .offset = rela ? add.r_offset : rel.r_offset,
			     .addend = (uint64_t)add.r_addend,
			     .has_addend = rela,
			     .symbol = (uint32_t)GELF_R_SYM(info),
			     .type = (uint32_t)GELF_R_TYPE(info) };
	/* Little-endian MIPS of 64 bit: the symbol is in the low half, then come four bytes. */
	if (e->f.head.e_machine == EM_MIPS && e->m->word == 8 &&
	    e->f.head.e_ident[EI_DATA] == ELFDATA2LSB) {
		r->symbol = (uint32_t)info;
		r->type = (uint32_t)(info >> 56);
	}
	return true;
}

/* Not in every <elf.h>. */
enum { MACHINE_LOONGARCH = 258, LARCH_SUB8 = 52, LARCH_SUB64 = 56 };

/* Those that subtract a place near the word, where another one adds the address. */
static bool reloc_subtracts(const struct elf_map *e, uint32_t type)
{
	switch (e->f.head.e_machine) {
	case EM_RISCV:
		return type >= R_RISCV_SUB8 && type <= R_RISCV_SUB64;
	case MACHINE_LOONGARCH:
		return type >= LARCH_SUB8 && type <= LARCH_SUB64;
	default:
		return false;
	}
}

/* The place that the relocation's symbol names. False: it is in no section of this file. */
static bool reloc_symbol(struct elf_map *e, GElf_Word table, uint32_t symbol, struct map_fix *fix)
{
	GElf_Sym sym;

	if (e->symbols_of != table) {
		Elf_Scn *scn = elf_getscn(e->f.elf, table);
		GElf_Shdr sh;

		e->symbols_of = table;
		e->symbols = scn && gelf_getshdr(scn, &sh) ? elf_file_data(scn, &sh) : NULL;
	}
	if (!e->symbols || symbol > INT_MAX || !gelf_getsym(e->symbols, (int)symbol, &sym) ||
	    sym.st_shndx == SHN_UNDEF)
		return false;
	fix->value = sym.st_value;
	fix->section = sym.st_shndx;
	return true;
}

/*
 * A relocation that subtracts a place in the map: a word is less by that than the address, not by
 * its own place. One that names no place in the map subtracts the word's.
 */
static bool reloc_subtract(struct elf_map *e, const struct reloc *r, GElf_Word table,
			   struct map_part *p)
{
	struct map_fix fix = { .how = MAP_FIX_MORE };

	if (!e->relocatable || !reloc_symbol(e, table, r->symbol, &fix) ||
	    fix.section != p->section)
		return true;
	fix.value = r->offset - (fix.value + r->addend);
	return map_fix_word(e->m, p, r->offset, fix);
}

/*
 * SPEC xray-names/relocations: a relocation of a word with a symbol gives symbol + addend, one
 * without the addend; whether the word is relative or not, that is the address.
 */
static bool reloc_apply(struct elf_map *e, const struct reloc *r, GElf_Word table,
			struct map_part *p)
{
	struct map_fix fix = { .how = MAP_FIX_SET };

	if (reloc_subtracts(e, r->type))
		return reloc_subtract(e, r, table, p);
	if (r->symbol) {
		if (!reloc_symbol(e, table, r->symbol, &fix))
			return true;
	} else if (!r->has_addend || e->relocatable) {
		return true;
	}
	fix.value += r->addend;
	if (!r->has_addend)
		fix.how = MAP_FIX_ADDRESS;
	return map_fix_word(e->m, p, r->offset - (e->relocatable ? 0 : p->address), fix);
}

/* The part that a table of a relocatable file is for; NULL: another section's. */
static struct map_part *part_of(const struct elf_map *e, GElf_Word section)
{
	size_t lo;

	bisect(lo, 0, e->nparts, e->parts[lo].section < section);
	return lo < e->nparts && e->parts[lo].section == section ? &e->parts[lo] : NULL;
}

static bool is_in(const struct map_part *p, uint64_t address)
{
	return address - p->address < p->size;
}

/* A linked file has one map, and its relocations name addresses. */
static struct map_part *part_at(struct elf_map *e, uint64_t address)
{
	if (is_in(&e->parts[0], address))
		return &e->parts[0];
	return is_in(&e->index, address) ? &e->index : NULL;
}

static bool read_relocations(struct elf_map *e, Elf_Scn *scn, const GElf_Shdr *sh)
{
	const bool rela = sh->sh_type == SHT_RELA;
	struct map_part *p = e->relocatable ? part_of(e, sh->sh_info) : NULL;
	Elf_Data *data;
	size_t each;

	if (e->relocatable ? !p : !(sh->sh_flags & SHF_ALLOC))
		return true;
	data = elf_file_data(scn, sh);
	each = gelf_fsize(e->f.elf, rela ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
	for (size_t i = 0; data && each && i < data->d_size / each && i < INT_MAX; i++) {
		struct reloc r;

		if (!reloc_get(e, data, rela, (int)i, &r))
			break;
		if (!e->relocatable)
			p = part_at(e, r.offset);
		if (p && !reloc_apply(e, &r, sh->sh_link, p))
			return false;
	}
	return true;
}

static bool find_relocations(struct elf_map *e)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e->f.elf, scn)) != NULL)
		if (gelf_getshdr(scn, &sh) && (sh.sh_type == SHT_RELA || sh.sh_type == SHT_REL) &&
		    !read_relocations(e, scn, &sh))
			return false;
	return true;
}

/* ---- symbols of relocatable files ---- */

static bool read_symbol(struct elf_map *e, const GElf_Sym *sym, const struct elf_strings *names)
{
	const unsigned type = GELF_ST_TYPE(sym->st_info);
	const char *name;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym->st_shndx == SHN_UNDEF ||
	    sym->st_shndx >= SHN_LORESERVE)
		return true;
	name = elf_string(names, sym->st_name);
	return !name || !*name ||
	       symtab_add(&e->m->symbols, map_key(e->m, sym->st_value, sym->st_shndx), sym->st_size,
			  GELF_ST_BIND(sym->st_info) == STB_LOCAL ? 't' : 'T', name, strlen(name));
}

/*
 * SPEC xray-names/relocatable: an address is a section and an offset in it. Of several names the
 * global one is last.
 */
static bool read_symbols(struct elf_map *e)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(&e->f, SHT_SYMTAB, NULL, &sh);
	Elf_Data *data = scn ? elf_file_data(scn, &sh) : NULL;
	const size_t each = gelf_fsize(e->f.elf, ELF_T_SYM, 1, EV_CURRENT);
	const struct elf_strings names = elf_file_strings(&e->f, scn ? sh.sh_link : 0);

	elf_limit_names(&e->m->symbols, &names);
	for (int globals = 0; globals < 2; globals++)
		for (size_t i = 0; data && each && i < data->d_size / each && i < INT_MAX; i++) {
			GElf_Sym sym;

			if (gelf_getsym(data, (int)i, &sym) &&
			    (GELF_ST_BIND(sym.st_info) != STB_LOCAL) == globals &&
			    !read_symbol(e, &sym, &names))
				return false;
		}
	return true;
}

/* ---- the whole ---- */

static enum spur_status no_map(const struct elf_map *e, struct spur_error *err)
{
	if (e->absent)
		return err_set(err, SPUR_ERR_FORMAT,
			       "%s: expected an XRay instrumentation map, found a file with debug "
			       "information only: give the program itself",
			       e->m->path);
	return err_set(err, SPUR_ERR_FORMAT,
		       "%s: expected an XRay instrumentation map (section %s), found none: was it "
		       "built with -fxray-instrument?",
		       e->m->path, map_name);
}

static enum spur_status read_all(struct elf_map *e, struct spur_error *err)
{
	enum spur_status st = SPUR_OK;

	if (!find_parts(e))
		return err_nomem(err);
	if (!e->nparts)
		return no_map(e, err);
	if (!find_relocations(e))
		return err_nomem(err);
	if (!e->relocatable && e->nparts > 1)
		map_say(e->m, "expected one section %s, found %zu: the first is read", map_name,
			e->nparts);
	for (size_t i = 0; st == SPUR_OK && i < (e->relocatable ? e->nparts : 1); i++)
		st = map_read_entries(e->m, &e->parts[i], err);
	if (st == SPUR_OK && !e->m->count)
		return no_map(e, err);
	map_number(e->m);
	if (st == SPUR_OK && !e->relocatable && e->indexes == 1)
		st = map_read_index(e->m, &e->parts[0], &e->index, err);
	if (st == SPUR_OK && e->relocatable && !read_symbols(e))
		return err_set(err, SPUR_ERR_MEMORY,
			       "%s: expected memory for the names of symbols, found none",
			       e->m->path);
	return st;
}

static enum spur_status set_up(struct elf_map *e, struct spur_error *err)
{
	struct site_map *m = e->m;
	const GElf_Half machine = e->f.head.e_machine;

	e->relocatable = e->f.head.e_type == ET_REL;
	m->word = e->f.head.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	m->swap = order_swaps(e->f.head.e_ident[EI_DATA] == ELFDATA2MSB);
	/* SPEC xray-names/powerpc: functions begin at multiples of 16 */
	m->low = machine == EM_PPC || machine == EM_PPC64 ? 15 : 0;
	m->has_dwarf = !e->relocatable;
	if (!e->relocatable) {
		m->base = e->f.base;
		return SPUR_OK;
	}
	/* That there is an array tells that addresses are of sections. */
	return mem_grow((void **)&m->sections, &m->sections_cap, 1, sizeof(*m->sections), 1)
		       ? SPUR_OK
		       : err_nomem(err);
}

enum spur_status map_read_elf(struct site_map *m, struct spur_error *err)
{
	struct elf_map e = { .m = m };
	struct elf_facts facts = { 0 };
	struct spur_error why = { 0 };
	enum spur_status st;

	if (elf_file_open(&e.f, m->path, err) == SPUR_FAIL)
		return SPUR_FAIL;
	st = set_up(&e, err);
	if (st == SPUR_OK)
		st = read_all(&e, err);
	for (size_t i = 0; i < e.nparts; i++)
		mem_free(e.parts[i].fixes);
	mem_free(e.index.fixes);
	mem_free(e.parts);
	elf_file_close(&e.f);
	if (st == SPUR_FAIL || e.relocatable)
		return st;
	if (elf_symbols(&m->symbols, m->path, m->dirs, &facts, &why) == SPUR_FAIL) {
		if (why.code == SPUR_ERR_MEMORY)
			return err_nomem(err);
		map_say(m, "symbols: expected a table, found one that cannot be read: functions "
			   "have no names");
	}
	memcpy(m->build_id, facts.build_id, sizeof(m->build_id));
	return SPUR_OK;
}

/* ---- looking for maps ---- */

/*
 * Has the file what only programs have: an interpreter, or the flag of static position-independent
 * ones?
 */
static bool is_program(const struct elf_file *f)
{
	GElf_Shdr sh;
	Elf_Scn *scn;
	GElf_Phdr ph;
	Elf_Data *data;
	size_t n;

	if (f->head.e_type == ET_EXEC)
		return true;
	for (size_t i = 0; elf_getphdrnum(f->elf, &n) == 0 && i < n && i < INT_MAX; i++)
		if (gelf_getphdr(f->elf, (int)i, &ph) && ph.p_type == PT_INTERP)
			return true;
	scn = elf_file_section(f, SHT_DYNAMIC, NULL, &sh);
	data = scn ? elf_file_data(scn, &sh) : NULL;
	for (int i = 0; data; i++) {
		GElf_Dyn dyn;

		if (!gelf_getdyn(data, i, &dyn) || dyn.d_tag == DT_NULL)
			break;
		if (dyn.d_tag == DT_FLAGS_1 && (dyn.d_un.d_val & DF_1_PIE))
			return true;
	}
	return false;
}

enum map_kind map_kind_elf(const char *path)
{
	enum map_kind kind = MAP_NOTHING;
	struct elf_file f;
	GElf_Shdr sh;

	if (elf_file_open(&f, path, NULL) == SPUR_FAIL)
		return MAP_NOTHING;
	if ((f.head.e_type == ET_EXEC || f.head.e_type == ET_DYN) &&
	    elf_file_section(&f, SHT_PROGBITS, map_name, &sh))
		kind = is_program(&f) ? MAP_PROGRAM : MAP_LIBRARY;
	elf_file_close(&f);
	return kind;
}

static bool read_needs(const struct elf_file *f, struct map_needs *n)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(f, SHT_DYNAMIC, NULL, &sh);
	Elf_Data *data = scn ? elf_file_data(scn, &sh) : NULL;
	const struct elf_strings names = elf_file_strings(f, scn ? sh.sh_link : 0);

	for (int i = 0; data && n->count < MAX_NEEDS; i++) {
		const char *name;
		GElf_Dyn dyn;

		if (!gelf_getdyn(data, i, &dyn) || dyn.d_tag == DT_NULL)
			break;
		name = dyn.d_tag == DT_NEEDED ? elf_string(&names, dyn.d_un.d_val) : NULL;
		if (!name || !*name || strnlen(name, NAME_LIMIT) == NAME_LIMIT)
			continue;
		if (!mem_grow((void **)&n->names, &n->cap, n->count + 1, sizeof(*n->names),
			      MAX_NEEDS))
			return false;
		n->names[n->count] = arena_strdup(n->arena, name, strlen(name));
		if (!n->names[n->count++])
			return false;
	}
	return true;
}

/* SPEC xray-names/objects: a library is an object if its constructor calls __xray_register_dso() */
static bool registers(const struct elf_file *f)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(f, SHT_DYNSYM, NULL, &sh);
	Elf_Data *data = scn ? elf_file_data(scn, &sh) : NULL;
	const struct elf_strings names = elf_file_strings(f, scn ? sh.sh_link : 0);

	for (int i = 0; data; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, i, &sym))
			break;
		name = sym.st_shndx == SHN_UNDEF ? elf_string(&names, sym.st_name) : NULL;
		if (name && !strcmp(name, "__xray_register_dso"))
			return true;
	}
	return false;
}

enum spur_status map_elf_needs(const char *path, struct map_needs *n)
{
	struct elf_file f;
	GElf_Shdr sh;
	bool ok;

	if (elf_file_open(&f, path, NULL) == SPUR_FAIL)
		return SPUR_END;
	n->registers = elf_file_section(&f, SHT_PROGBITS, map_name, &sh) && registers(&f);
	ok = read_needs(&f, n);
	elf_file_close(&f);
	return ok ? SPUR_OK : SPUR_FAIL;
}
