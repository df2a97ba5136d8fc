/*
 * What a program or library file offers to record: functions that can be entered through a patched
 * place or that call a hook, and the slots of the global offset table (GOT) by which it calls
 * functions of other files. x86-64 ELF only; of other files nothing is found.
 *
 * All addresses are those of the file's own address space, as its program headers have them.
 */
#ifndef SPUR_RECORDER_BINARY_H
#define SPUR_RECORDER_BINARY_H

#include "base/map64.h"
#include "model/symbol/elf_file.h"
#include "model/symbol/symbol.h"

/* How functions were built to be recorded, the cheapest first: a function has the first one. */
enum entry_way {
	ENTRY_PATCHABLE, /* -fpatchable-function-entry */
	ENTRY_SLEDS, /* clang -fxray-instrument */
	ENTRY_FENTRY, /* -pg -mfentry */
	ENTRY_MCOUNT, /* -pg */
	ENTRY_CALLED, /* -finstrument-functions */
	ENTRY_WAYS,
};

/* A place in the code of a function. */
struct binary_point {
	uint64_t address;
	uint8_t kind; /* enum plan_kind of record/wire.h */
	uint8_t size; /* bytes that may be overwritten */
};

struct binary_function {
	uint64_t address, size;
	const char *name; /* as in the symbol table; NULL: no symbol covers it */
	uint32_t point, npoints; /* in the binary's points */
	uint8_t way; /* enum entry_way */
};

/* A slot that holds the address of another file's function. */
struct binary_slot {
	uint64_t address;
	const char *name; /* as in the symbol table */
};

/* A section with code. */
struct binary_code {
	uint64_t address;
	const uint8_t *data;
	size_t size;
};

/* Something that the code calls to be recorded, such as mcount(): directly, or by a slot. */
struct binary_hook {
	uint64_t address;
	uint8_t way; /* enum entry_way */
	bool is_slot; /* the address is that of a slot */
};

enum { BINARY_HOOKS = 32 };

struct binary {
	const char *path; /* borrowed */
	struct elf_file file;
	struct elf_facts facts;
	bool supported; /* x86-64 */
	bool has_interpreter, is_shared; /* PT_INTERP; ET_DYN */
	bool is_musl; /* the interpreter is that of another C library than the recorder's */
	bool knows_library; /* it was linked with the tracing library */
	bool checks_threads; /* by ThreadSanitizer */
	const char *runtime; /* a library that must be loaded before all others; NULL: none */
	char compiler[64]; /* "GCC 12.2.0", as the file says; "": it does not */
	struct symtab symbols; /* addresses less file.base */
	struct arena arena;
	struct binary_code *code;
	size_t ncode, code_cap;
	struct binary_hook hooks[BINARY_HOOKS];
	size_t nhooks;
	struct binary_function *functions; /* by address */
	size_t nfunctions, functions_cap;
	struct map64 known; /* their addresses */
	struct binary_point *points;
	size_t npoints, points_cap;
	struct binary_slot *slots; /* by address */
	size_t nslots, slots_cap;
	uint64_t ways[ENTRY_WAYS]; /* functions of each */
	uint64_t short_entries; /* patchable entries of less than five bytes, which are not used */
};

/*
 * Reads the file at `path`, which must live as long as the binary. `dirs`: where debug files are,
 * see elf_symbols(). Returns SPUR_FAIL, with the error set, if it is no readable ELF file or if
 * out of memory. Requires binary_close() in any case.
 */
enum spur_status binary_open(struct binary *b, const char *path, const char *dirs,
			     struct spur_error *err);
void binary_close(struct binary *b);
/* Drops the slots that the code uses in another way than to call, which takes a walk over it. */
void binary_check_slots(struct binary *b);

/* --- between the parts of this reader --- */

/* Returns the code at an address and sets *left to the bytes there are, or NULL. */
const uint8_t *binary_code_at(const struct binary *b, uint64_t address, size_t *left);
/* Returns the symbol of the function that covers an address, or NULL. */
const struct symbol *binary_symbol(const struct binary *b, uint64_t address);
/* Adds a hook; those beyond BINARY_HOOKS are left out. */
void binary_add_hook(struct binary *b, uint64_t address, enum entry_way way, bool is_slot);
/* Returns true and sets *way if a function of that name is called to be recorded. */
bool binary_is_hook(const char *name, enum entry_way *way);
/*
 * Adds a function, unless there is one at that address that was found by another way. Sets *made
 * to it, or to NULL; only the one that was added last may get points. Returns false if out of
 * memory.
 */
bool binary_add_function(struct binary *b, uint64_t address, enum entry_way way,
			 struct binary_function **made);
/* Adds a point to the function that was added last. Returns false if out of memory. */
bool binary_add_point(struct binary *b, struct binary_function *f, struct binary_point point);

/* Both return false if out of memory. */
bool binary_find_entries(struct binary *b, const char *dirs);
bool binary_find_slots(struct binary *b);

#endif
