/*
 * ELF files and the separate debug files that belong to them: for elf*.c, dwarf.c, and formats that
 * have their own sections. Files whose sections overlap are rejected, so reading every byte of
 * every section once takes linear time.
 */
#ifndef SPUR_MODEL_SYMBOL_ELF_FILE_H
#define SPUR_MODEL_SYMBOL_ELF_FILE_H

#include <gelf.h>

#include "model/symbol/symbol.h"

enum { ELF_ID_MAX = 64 }; /* bytes of a build-id */

/* The bytes of a section of strings. */
struct elf_strings {
	const char *p;
	size_t size;
};

struct elf_file {
	int fd;
	Elf *elf;
	GElf_Ehdr head;
	struct elf_strings names; /* of sections */
	uint64_t base; /* address of the first PT_LOAD segment, .. */
	bool has_base; /* .. if there is one */
	uint8_t id[ELF_ID_MAX];
	size_t id_len; /* 0: no build-id */
};

/* Requires that `path` is a regular file. On SPUR_FAIL nothing needs to be closed. */
enum spur_status elf_file_open(struct elf_file *f, const char *path, struct spur_error *err);
void elf_file_close(struct elf_file *f);
/*
 * Opens the debug file of `f`, which was opened from `path`, in `dirs`: see symbol.h. Returns false
 * if it is missing.
 */
bool elf_file_debug(struct elf_file *debug, const struct elf_file *f, const char *path,
		    const char *dirs);
/*
 * Returns the strings of a section; an empty set if the last one is not terminated. They live as
 * long as the file is open.
 */
struct elf_strings elf_file_strings(const struct elf_file *f, size_t section);
/*
 * Returns the string at an offset, or NULL. Takes constant time, which elf_strptr() does not
 * guarantee.
 */
static inline const char *elf_string(const struct elf_strings *s, uint64_t at)
{
	return at < s->size ? s->p + at : NULL;
}
/*
 * Names may overlap, so a small table can hold many long ones: limits their total size to more than
 * linkers ever produce.
 */
static inline void elf_limit_names(struct symtab *t, const struct elf_strings *s)
{
	enum { ROOM = 1 << 16, FACTOR = 16 };

	t->names_max = t->arena.used + ROOM + FACTOR * s->size;
}
/* Returns the name of a section, never NULL. */
const char *elf_file_name(const struct elf_file *f, const GElf_Shdr *sh);
/* Returns the section's bytes, or NULL if it is empty or they are not in the file. */
Elf_Data *elf_file_data(Elf_Scn *scn, const GElf_Shdr *sh);
/* Returns the section of a type and name (NULL: any name) that has bytes in the file, or NULL. */
Elf_Scn *elf_file_section(const struct elf_file *f, GElf_Word type, const char *name,
			  GElf_Shdr *sh);

/* Adds a symbol for each PLT slot. Returns false if out of memory. */
bool elf_plt_symbols(struct symtab *t, const struct elf_file *f);

#endif
