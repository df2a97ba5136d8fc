/* ELF files and the separate debug files that belong to them. Private to elf*.c and dwarf.c. */
#ifndef SPUR_MODEL_ELF_FILE_H
#define SPUR_MODEL_ELF_FILE_H

#include <gelf.h>

#include "model/symbol.h"

enum { ELF_ID_MAX = 64 }; /* bytes of a build-id */

struct elf_file {
	int fd;
	Elf *elf;
	GElf_Ehdr head;
	size_t names; /* section of the section names */
	uint64_t base; /* address of the first PT_LOAD segment, .. */
	bool has_base; /* .. if there is one */
	uint8_t id[ELF_ID_MAX];
	size_t id_len; /* 0: no build-id */
};

/* `path` must be a regular file. On SPUR_FAIL nothing is to be closed. */
enum spur_status elf_file_open(struct elf_file *f, const char *path, struct spur_error *err);
void elf_file_close(struct elf_file *f);
/*
 * The debug file of `f`, which was opened from `path`, in `dirs`: see symbol.h. False: there is
 * none.
 */
bool elf_file_debug(struct elf_file *debug, const struct elf_file *f, const char *path,
		    const char *dirs);
/* Name of a section, never NULL. */
const char *elf_file_name(const struct elf_file *f, const GElf_Shdr *sh);
/* The section's bytes, if they are in the file: NULL else, or where there are none. */
Elf_Data *elf_file_data(Elf_Scn *scn, const GElf_Shdr *sh);
/*
 * The section of a type, or of a name (NULL: any), with bytes in the file; NULL where there is
 * none.
 */
Elf_Scn *elf_file_section(const struct elf_file *f, GElf_Word type, const char *name,
			  GElf_Shdr *sh);

/* Adds a symbol for each PLT slot. False: no memory. */
bool elf_plt_symbols(struct symtab *t, const struct elf_file *f);

#endif
