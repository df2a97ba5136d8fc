/*
 * The slots by which a file calls functions of other files, see binary.h. A slot is used if all
 * that the file does with it is to call through it: where the code loads the address, the program
 * may compare it with another one.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/search.h"
#include "recorder/binary.h"

enum { MOST = 1 << 24 };

/*
 * Functions that return twice or not at all, that look at their caller's frame or return address,
 * and what the recorder itself calls. Sorted.
 */
static const char *const never[] = {
	"_Exit",
	"_ITM_deregisterTMCloneTable",
	"_ITM_registerTMCloneTable",
	"_dl_runtime_resolve",
	"_exit",
	"_longjmp",
	"_mcleanup",
	"_mcount",
	"_setjmp",
	"backtrace",
	"clone",
	"dlclose",
	"dlmopen",
	"dlopen",
	"dlsym",
	"dlvsym",
	"exit",
	"getcontext",
	"longjmp",
	"makecontext",
	"mcount",
	"pthread_exit",
	"quick_exit",
	"savectx",
	"setcontext",
	"setjmp",
	"siglongjmp",
	"sigsetjmp",
	"swapcontext",
	"thrd_exit",
	"vfork",
};

static const char *const never_prefixes[] = {
	"_Unwind_",	  "__cxa_",	    "__cyg_profile_",	"__fentry__",  "__gmon_start__",
	"__gxx_",	  "__monstartup",   "__libc_start",	"__longjmp",   "__morestack",
	"__pthread_reg",  "__pthread_unre", "__pthread_unwind", "__setjmp",    "__sigsetjmp",
	"__tls_get_addr", "__vfork",	    "__xray_",		"spur_trace_",
};

static int by_text(const void *key, const void *item)
{
	return strcmp(key, *(const char *const *)item);
}

static bool is_never(const char *name)
{
	if (bsearch(name, never, sizeof(never) / sizeof(never[0]), sizeof(never[0]), by_text))
		return true;
	for (size_t i = 0; i < sizeof(never_prefixes) / sizeof(never_prefixes[0]); i++)
		if (strncmp(name, never_prefixes[i], strlen(never_prefixes[i])) == 0)
			return true;
	return false;
}

/* --- relocations --- */

static bool add_slot(struct binary *b, uint64_t address, const char *name)
{
	char *copy;

	if (!mem_grow((void **)&b->slots, &b->slots_cap, b->nslots + 1, sizeof(*b->slots), MOST) ||
	    !(copy = arena_strdup(&b->arena, name, strlen(name))))
		return false;
	b->slots[b->nslots++] = (struct binary_slot){ address, copy };
	return true;
}

static bool read_slot(struct binary *b, const GElf_Rela *r, const GElf_Sym *sym, const char *name)
{
	const bool is_jump = GELF_R_TYPE(r->r_info) == R_X86_64_JUMP_SLOT;
	const unsigned type = GELF_ST_TYPE(sym->st_info);
	enum entry_way way;

	if (binary_is_hook(name, &way)) {
		binary_add_hook(b, r->r_offset, way, true);
		return true;
	}
	b->knows_library |= strncmp(name, "spur_trace_", 11) == 0;
	/*
	 * With a value, the function's address is everywhere that of this program's PLT, which
	 * jumps through this slot: what looks the function up gets back here.
	 */
	if (sym->st_shndx != SHN_UNDEF || sym->st_value || is_never(name) ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC && !(is_jump && type == STT_NOTYPE)))
		return true;
	return add_slot(b, r->r_offset, name);
}

static bool read_table(struct binary *b, Elf_Data *data, const GElf_Shdr *sh)
{
	const struct elf_strings none = { NULL, 0 };
	Elf_Scn *scn = elf_getscn(b->file.elf, sh->sh_link);
	GElf_Shdr symbols;
	Elf_Data *table = scn && gelf_getshdr(scn, &symbols) ? elf_file_data(scn, &symbols) : NULL;
	const struct elf_strings names = table ? elf_file_strings(&b->file, symbols.sh_link) : none;
	GElf_Rela r;

	for (int i = 0; table && gelf_getrela(data, i, &r); i++) {
		const unsigned type = (unsigned)GELF_R_TYPE(r.r_info);
		GElf_Sym sym;
		const char *name;

		if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
		    GELF_R_SYM(r.r_info) > INT_MAX ||
		    !gelf_getsym(table, (int)GELF_R_SYM(r.r_info), &sym) ||
		    !(name = elf_string(&names, sym.st_name)))
			continue;
		if (!read_slot(b, &r, &sym, name))
			return false;
	}
	return true;
}

static bool read_tables(struct binary *b)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(b->file.elf, scn)) != NULL) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA ||
		    !(sh.sh_flags & SHF_ALLOC) || !(data = elf_file_data(scn, &sh)))
			continue;
		if (!read_table(b, data, &sh))
			return false;
	}
	return true;
}

/* --- uses --- */

static struct binary_slot *find_slot(const struct binary *b, uint64_t address)
{
	size_t lo;

	bisect(lo, 0, b->nslots, b->slots[lo].address < address);
	return lo < b->nslots && b->slots[lo].address == address ? &b->slots[lo] : NULL;
}

/* Takes away the names of slots that the code uses in another way than to call or jump. */
static void look_at_uses(const struct binary *b, const struct binary_code *c)
{
	const uint64_t first = b->slots[0].address, last = b->slots[b->nslots - 1].address;

	for (size_t at = 2; at + 4 <= c->size; at++) {
		const uint8_t *p = c->data + at;
		const uint64_t to =
			c->address + at + 4 + (uint64_t)(int64_t)(int32_t)load32(p, false);
		struct binary_slot *slot;

		if (to - first > last - first)
			continue;
		slot = find_slot(b, to);
		if (slot && !(p[-2] == 0xff && (p[-1] == 0x15 || p[-1] == 0x25)))
			slot->name = NULL;
	}
}

static int by_address(const void *a, const void *b)
{
	const struct binary_slot *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

bool binary_find_slots(struct binary *b)
{
	if (!read_tables(b))
		return false;
	if (b->nslots)
		qsort(b->slots, b->nslots, sizeof(*b->slots), by_address);
	return true;
}

void binary_check_slots(struct binary *b)
{
	size_t kept = 0;

	if (!b->nslots)
		return;
	for (size_t i = 0; i < b->ncode; i++)
		look_at_uses(b, &b->code[i]);
	for (size_t i = 0; i < b->nslots; i++)
		if (b->slots[i].name)
			b->slots[kept++] = b->slots[i];
	b->nslots = kept;
}
