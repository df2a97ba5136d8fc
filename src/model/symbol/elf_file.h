/*
 * ELF files and the separate debug files that belong to them: for elf*.c, dwarf.c, and formats that
 * read sections of their own. Files whose sections overlap are refused, so what looks at every byte
 * of every section once is linear.
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

/* `path` must be a regular file. On SPUR_FAIL nothing is to be closed. */
enum spur_status elf_file_open(struct elf_file *f, const char *path, struct spur_error *err);
void elf_file_close(struct elf_file *f);
/*
 * The debug file of `f`, which was opened from `path`, in `dirs`: see symbol.h. False: there is
 * none.
 */
bool elf_file_debug(struct elf_file *debug, const struct elf_file *f, const char *path,
		    const char *dirs);
/*
 * Those of a section; none where the last one is not ended. They live as long as the file is open.
 */
struct elf_strings elf_file_strings(const struct elf_file *f, size_t section);
/*
 * The string at an offset, NULL where there is none. In constant time, which elf_strptr() does not
 * promise.
 */
static inline const char *elf_string(const struct elf_strings *s, uint64_t at)
{
	return at < s->size ? s->p + at : NULL;
}
/*
 * Names may overlap, so many long ones fit into a small table: more than linkers ever make are not
 * taken.
 */
static inline void elf_limit_names(struct symtab *t, const struct elf_strings *s)
{
	enum { ROOM = 1 << 16, FACTOR = 16 };

	t->names_max = t->arena.used + ROOM + FACTOR * s->size;
}
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

/* Adds a symbol for each PLT slot. Returns false if out of memory. */
bool elf_plt_symbols(struct symtab *t, const struct elf_file *f);

#endif
