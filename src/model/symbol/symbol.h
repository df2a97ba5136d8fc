/*
 * Symbol tables: sorted ranges of one module, from text (.sym, kallsyms), ELF or debug files. Names
 * stay raw (mangled) here; demangling happens once per class.
 */
#ifndef SPUR_MODEL_SYMBOL_SYMBOL_H
#define SPUR_MODEL_SYMBOL_SYMBOL_H

#include <spur.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/mem.h"

struct symbol {
	uint64_t addr; /* link-time address, file relative */
	uint64_t size; /* 0 if unknown */
	const char *name; /* raw; lives in the table */
	char type; /* as nm: T t W w functions, P PLT slot, K kernel, D d B b V v data */
	/* Internal: order of arrival; once sorted, index of the symbol around this one */
	uint32_t link;
};

struct symtab {
	struct arena arena;
	struct symbol *syms; /* ascending by addr */
	size_t count, cap;
	size_t names_max; /* maximum bytes of names with their terminators; 0: no limit */
};

void symtab_init(struct symtab *t);
void symtab_free(struct symtab *t);
/*
 * Appends a symbol with a copy of the name. Returns false if out of memory, at 2^26 symbols, or if
 * names exceed names_max.
 */
bool symtab_add(struct symtab *t, uint64_t addr, uint64_t size, char type, const char *name,
		size_t len);
/*
 * Sorts by address (stable) and extends symbols of size 0 to the next one. Called once, before
 * symtab_find().
 */
void symtab_sort(struct symtab *t);
/*
 * Returns the symbol whose [addr, addr + size) contains `addr`, or NULL; of several, the one with
 * the highest start.
 */
const struct symbol *symtab_find(const struct symtab *t, uint64_t addr);

/*
 * ELF: .symtab, else .dynsym; PLT slots (.plt, .plt.sec, .plt.got) named from their relocations,
 * type P; of a separate debug file found by build-id (DIR/.build-id/ab/cdef.debug) or
 * .gnu_debuglink in `dirs` (':' between, NULL: /usr/lib/debug). 32 and 64 bit, both byte orders.
 * Addresses are minus the load address of the first PT_LOAD segment (link-time, file relative).
 */
struct elf_facts {
	int class; /* 1: 32 bit, 2: 64 bit */
	bool big_endian;
	uint16_t machine;
	uint64_t base; /* load address of the first PT_LOAD segment */
	char build_id[41]; /* hexadecimal; "": no build-id */
};
enum spur_status elf_symbols(struct symtab *t, const char *path, const char *dirs,
			     struct elf_facts *facts, struct spur_error *err);
/* Build-id and class only. */
enum spur_status elf_identify(const char *path, struct elf_facts *facts, struct spur_error *err);

/* Source lines by DWARF (libdw). One handle per module; not thread-safe. */
struct dwarf_lines;
enum spur_status dwarf_open(struct dwarf_lines **out, const char *path, const char *dirs,
			    struct spur_error *err);
/*
 * Finds file and line of a file-relative address. Returns false if unknown. `file` lives until
 * dwarf_close().
 */
bool dwarf_line(struct dwarf_lines *d, uint64_t addr, const char **file, unsigned *line);
/*
 * Finds the line of an address in the source of its function in the symbol table: the line of the
 * outermost call that the compiler inlined there, else that of dwarf_line().
 */
bool dwarf_own_line(struct dwarf_lines *d, uint64_t addr, const char **file, unsigned *line);
/* A row of the line table. */
struct dwarf_row {
	const char *file; /* lives until dwarf_close() */
	unsigned line, column; /* 0: the code belongs to no line */
};
/*
 * Finds the last row of the line table at or before the address, whatever its line, as LLVM's tools
 * do. Returns false if the address is not in known code.
 */
bool dwarf_last_row(struct dwarf_lines *d, uint64_t addr, struct dwarf_row *row);
void dwarf_close(struct dwarf_lines *d);

#endif
