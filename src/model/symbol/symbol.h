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
	uint64_t size; /* 0 only where nothing tells it */
	const char *name; /* raw; lives in the table */
	char type; /* as nm: T t W w functions, P PLT slot, K kernel, D d B b V v data */
	/* The table's: order of arrival; once sorted, of the symbol around this one */
	uint32_t link;
};

struct symtab {
	struct arena arena;
	struct symbol *syms; /* ascending by addr */
	size_t count, cap;
	size_t names_max; /* bytes that names may take, with their ends; 0: no limit */
};

void symtab_init(struct symtab *t);
void symtab_free(struct symtab *t);
/* Appends; the name is copied. False: no memory, 2^26 symbols, or more names than names_max. */
bool symtab_add(struct symtab *t, uint64_t addr, uint64_t size, char type, const char *name,
		size_t len);
/*
 * Sorts by address (stable) and gives symbols of size 0 the room up to the next one. Call once,
 * before symtab_find().
 */
void symtab_sort(struct symtab *t);
/*
 * The symbol whose [addr, addr + size) holds `addr`, or NULL. Of several, the last that starts at
 * or before.
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
	char build_id[41]; /* hex, "" where there is none */
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
 * File and line of a file-relative address; false where unknown. `file` lives until dwarf_close().
 */
bool dwarf_line(struct dwarf_lines *d, uint64_t addr, const char **file, unsigned *line);
/*
 * Where an address lies in the source of the function that the symbol table tells for it: the line
 * of the outermost call that the compiler replaced by the function's code, else that of
 * dwarf_line().
 */
bool dwarf_own_line(struct dwarf_lines *d, uint64_t addr, const char **file, unsigned *line);
/* A row of the line table. */
struct dwarf_row {
	const char *file; /* lives until dwarf_close() */
	unsigned line, column; /* 0: the code belongs to no line */
};
/*
 * The last row of the line table at the address or before it, as LLVM's tools take it, whatever its
 * line. Returns false if no code is known there.
 */
bool dwarf_last_row(struct dwarf_lines *d, uint64_t addr, struct dwarf_row *row);
void dwarf_close(struct dwarf_lines *d);

#endif
