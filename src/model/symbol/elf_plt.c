/*
 * Names of PLT slots. Each slot jumps through a word of the GOT; the dynamic relocation of that
 * word names the function. So slots are named whatever their order: .plt, .plt.sec, .plt.got, with
 * and without branch protection. Known code: x86-64, i386, aarch64, arm, riscv.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/search.h"
#include "model/symbol/elf_file.h"

enum { MAX_WORDS = 1 << 28, BTI_C = (int)0xd503245f };

/* A word that a dynamic relocation fills with the address of a symbol. */
struct word {
	uint64_t addr;
	size_t symbol;
};

struct plt {
	const struct elf_file *f;
	struct word *words; /* ascending */
	size_t count, cap;
	Elf_Data *symbols; /* .dynsym */
	struct elf_strings names;
	uint64_t got; /* what %ebx holds in position-independent i386 code */
};

static bool read_relocations(struct plt *plt, Elf_Data *data, const GElf_Shdr *sh)
{
	const bool rela = sh->sh_type == SHT_RELA;
	size_t each = gelf_fsize(plt->f->elf, rela ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);

	for (size_t i = 0; each && i < data->d_size / each && i < INT_MAX; i++) {
		GElf_Rela add = { 0 };
		GElf_Rel rel = { 0 };
		uint64_t info;

		if (rela ? !gelf_getrela(data, (int)i, &add) : !gelf_getrel(data, (int)i, &rel))
			break;
		info = rela ? add.r_info : rel.r_info;
		if (!GELF_R_SYM(info))
			continue;
		if (!mem_grow((void **)&plt->words, &plt->cap, plt->count + 1, sizeof(*plt->words),
			      MAX_WORDS))
			return false;
		plt->words[plt->count].addr = rela ? add.r_offset : rel.r_offset;
		plt->words[plt->count++].symbol = GELF_R_SYM(info);
	}
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct word *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

static const struct word *find_word(const struct plt *plt, uint64_t addr)
{
	size_t lo;

	bisect(lo, 0, plt->count, plt->words[lo].addr < addr);
	return lo < plt->count && plt->words[lo].addr == addr ? &plt->words[lo] : NULL;
}

/* The slot's code at p, at address `at`; `left` bytes are there. */
struct code {
	const uint8_t *p;
	size_t left;
	uint64_t at;
	bool swap;
};

static bool x86_64_word(const struct plt *plt, const struct code *c, uint64_t *word)
{
	(void)plt;
	/* [endbr64] [bnd] jmp *disp32(%rip) */
	for (size_t i = 0; i < 8 && i + 6 <= c->left; i++) {
		if (c->p[i] == 0xff && c->p[i + 1] == 0x25) {
			*word = c->at + i + 6 +
				(uint64_t)(int64_t)(int32_t)load32(c->p + i + 2, c->swap);
			return true;
		}
	}
	return false;
}

static bool i386_word(const struct plt *plt, const struct code *c, uint64_t *word)
{
	/* [endbr32] jmp *addr32, or jmp *disp32(%ebx) */
	for (size_t i = 0; i < 8 && i + 6 <= c->left; i++) {
		if (c->p[i] == 0xff && (c->p[i + 1] == 0x25 || c->p[i + 1] == 0xa3)) {
			*word = load32(c->p + i + 2, c->swap) +
				(c->p[i + 1] == 0xa3 ? plt->got : 0);
			*word &= UINT32_MAX;
			return true;
		}
	}
	return false;
}

static bool aarch64_word(const struct plt *plt, const struct code *c, uint64_t *word)
{
	(void)plt;
	/*
	 * [bti c] adrp x16, page; ldr x17, [x16, offset]. Instructions are little-endian on
	 * big-endian machines too.
	 */
	for (size_t i = 0; i <= 4 && i + 8 <= c->left; i += 4) {
		uint32_t adrp = load32(c->p + i, order_swaps(false)),
			 ldr = load32(c->p + i + 4, order_swaps(false));
		uint64_t page = (uint64_t)(adrp >> 29 & 3) | (uint64_t)(adrp >> 5 & 0x7ffff) << 2;

		if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
			continue;
		if (i && load32(c->p, order_swaps(false)) != (uint32_t)BTI_C)
			return false;
		page = (page ^ 0x100000) - 0x100000; /* 21 bits, signed */
		*word = ((c->at + i) & ~(uint64_t)0xfff) + (page << 12) +
			(uint64_t)(ldr >> 10 & 0xfff) * 8;
		return true;
	}
	return false;
}

static uint32_t arm_constant(uint32_t code)
{
	uint32_t v = code & 0xff, turn = (code >> 8 & 15) * 2;

	return turn ? v >> turn | v << (32 - turn) : v;
}

static bool arm_word(const struct plt *plt, const struct code *c, uint64_t *word)
{
	uint32_t op[3];

	(void)plt;
	if (c->left < 12)
		return false;
	for (size_t i = 0; i < 3; i++)
		op[i] = load32(c->p + 4 * i, c->swap);
	/* add ip, pc, #a; add ip, ip, #b; ldr pc, [ip, #c]! */
	if ((op[0] & 0xfffff000) != 0xe28fc000 || (op[1] & 0xfffff000) != 0xe28cc000 ||
	    (op[2] & 0xfffff000) != 0xe5bcf000)
		return false;
	*word = (uint32_t)(c->at + 8 + arm_constant(op[0]) + arm_constant(op[1]) + (op[2] & 0xfff));
	return true;
}

static bool riscv_word(const struct plt *plt, const struct code *c, uint64_t *word)
{
	const uint32_t load = gelf_getclass(plt->f->elf) == ELFCLASS64 ? 0xe3e03 : 0xe2e03;
	uint32_t auipc, ld;

	if (c->left < 8)
		return false;
	/* auipc t3, page; ld t3, offset(t3). Both numbers have a sign. */
	auipc = load32(c->p, order_swaps(false));
	ld = load32(c->p + 4, order_swaps(false));
	if ((auipc & 0xfff) != 0xe17 || (ld & 0xfffff) != load)
		return false;
	*word = c->at + (uint64_t)(int64_t)(int32_t)(auipc & 0xfffff000) +
		((ld >> 20 ^ 0x800) - (uint64_t)0x800);
	return true;
}

/* How the slots of a machine look. */
struct machine {
	GElf_Half machine;
	unsigned step; /* bytes from one possible start of a slot to the next */
	unsigned size; /* of a slot, where the section does not say */
	bool (*word)(const struct plt *plt, const struct code *c, uint64_t *word);
};

static const struct machine machines[] = {
	{ EM_X86_64, 8, 16, x86_64_word },   { EM_386, 8, 16, i386_word },
	{ EM_AARCH64, 4, 16, aarch64_word }, { EM_ARM, 4, 12, arm_word },
	{ EM_RISCV, 4, 16, riscv_word },
};

static const struct machine *machine_of(const struct elf_file *f)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == f->head.e_machine)
			return &machines[i];
	return NULL;
}

static const char *word_name(const struct plt *plt, uint64_t addr)
{
	const struct word *word = find_word(plt, addr);
	GElf_Sym sym;
	const char *name;

	if (!word || word->symbol > INT_MAX || !gelf_getsym(plt->symbols, (int)word->symbol, &sym))
		return NULL;
	name = elf_string(&plt->names, sym.st_name);
	return name && *name ? name : NULL;
}

static bool read_slots(struct symtab *t, const struct plt *plt, const struct machine *m,
		       Elf_Data *data, const GElf_Shdr *sh)
{
	const bool big = plt->f->head.e_ident[EI_DATA] == ELFDATA2MSB;
	/* Some linkers write 0 or 4: a slot is several instructions. */
	const size_t size = sh->sh_entsize >= 8 && sh->sh_entsize <= 64 ? sh->sh_entsize : m->size;

	for (size_t at = 0, step; at < data->d_size; at += step) {
		struct code c = { (const uint8_t *)data->d_buf + at, data->d_size - at,
				  sh->sh_addr + at, order_swaps(big) };
		const char *name;
		uint64_t addr;

		step = m->step;
		if (!m->word(plt, &c, &addr))
			continue;
		name = word_name(plt, addr);
		if (!name)
			continue;
		if (c.at >= plt->f->base &&
		    !symtab_add(t, c.at - plt->f->base, size, 'P', name, strlen(name)))
			return false;
		step = size;
	}
	return true;
}

static bool find_words(struct plt *plt)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(plt->f->elf, scn)) != NULL) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == SHT_PROGBITS && !strcmp(elf_file_name(plt->f, &sh), ".got.plt"))
			plt->got = sh.sh_addr;
		if (sh.sh_type == SHT_PROGBITS && !plt->got &&
		    !strcmp(elf_file_name(plt->f, &sh), ".got"))
			plt->got = sh.sh_addr;
		if ((sh.sh_type != SHT_RELA && sh.sh_type != SHT_REL) || !(sh.sh_flags & SHF_ALLOC))
			continue;
		data = elf_file_data(scn, &sh);
		if (data && !read_relocations(plt, data, &sh))
			return false;
	}
	if (plt->count)
		qsort(plt->words, plt->count, sizeof(*plt->words), by_address);
	return true;
}

static bool is_plt(const struct elf_file *f, const GElf_Shdr *sh)
{
	const char *name = elf_file_name(f, sh);

	return sh->sh_type == SHT_PROGBITS && (sh->sh_flags & SHF_EXECINSTR) &&
	       (!strcmp(name, ".plt") || !strcmp(name, ".plt.sec") || !strcmp(name, ".plt.got"));
}

bool elf_plt_symbols(struct symtab *t, const struct elf_file *f)
{
	const struct machine *m = machine_of(f);
	struct plt plt = { .f = f };
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(f, SHT_DYNSYM, NULL, &sh);
	bool ok;

	if (!m || !scn)
		return true;
	plt.symbols = elf_file_data(scn, &sh);
	plt.names = elf_file_strings(f, sh.sh_link);
	elf_limit_names(t, &plt.names);
	ok = find_words(&plt);
	scn = NULL;
	while (ok && (scn = elf_nextscn(f->elf, scn)) != NULL) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || !is_plt(f, &sh))
			continue;
		data = elf_file_data(scn, &sh);
		ok = !data || read_slots(t, &plt, m, data, &sh);
	}
	mem_free(plt.words);
	return ok;
}
