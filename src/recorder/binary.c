/* See binary.h. This is the file as a whole; entries.c and slots.c find what can be recorded. */
#include "recorder/binary.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 24 }; /* functions, points, slots of one file */

/* Names of functions that instrumented code calls. */
static const struct {
	const char *name;
	enum entry_way way;
} hook_names[] = {
	{ "__fentry__", ENTRY_FENTRY },
	{ "mcount", ENTRY_MCOUNT },
	{ "_mcount", ENTRY_MCOUNT },
	{ "__cyg_profile_func_enter", ENTRY_CALLED },
};

bool binary_is_hook(const char *name, enum entry_way *way)
{
	for (size_t i = 0; i < sizeof(hook_names) / sizeof(hook_names[0]); i++)
		if (strcmp(name, hook_names[i].name) == 0) {
			*way = hook_names[i].way;
			return true;
		}
	return false;
}

void binary_add_hook(struct binary *b, uint64_t address, enum entry_way way, bool is_slot)
{
	if (b->nhooks < BINARY_HOOKS)
		b->hooks[b->nhooks++] = (struct binary_hook){ address, (uint8_t)way, is_slot };
}

const uint8_t *binary_code_at(const struct binary *b, uint64_t address, size_t *left)
{
	for (size_t i = 0; i < b->ncode; i++) {
		const struct binary_code *c = &b->code[i];

		if (address >= c->address && address - c->address < c->size) {
			*left = c->size - (address - c->address);
			return c->data + (address - c->address);
		}
	}
	return NULL;
}

const struct symbol *binary_symbol(const struct binary *b, uint64_t address)
{
	return address < b->file.base ? NULL : symtab_find(&b->symbols, address - b->file.base);
}

bool binary_add_function(struct binary *b, uint64_t address, enum entry_way way,
			 struct binary_function **made)
{
	struct map64_slot *const slot = map64_put(&b->known, address);
	const struct symbol *s = binary_symbol(b, address);

	*made = NULL;
	if (!slot)
		return false;
	if (slot->value)
		return true;
	if (!mem_grow((void **)&b->functions, &b->functions_cap, b->nfunctions + 1,
		      sizeof(*b->functions), MOST))
		return false;
	slot->value = 1;
	*made = &b->functions[b->nfunctions++];
	**made = (struct binary_function){ .address = address,
					   .size = s ? s->size : 0,
					   .name = s ? s->name : NULL,
					   .point = (uint32_t)b->npoints,
					   .way = (uint8_t)way };
	b->ways[way]++;
	return true;
}

bool binary_add_point(struct binary *b, struct binary_function *f, struct binary_point point)
{
	if (!mem_grow((void **)&b->points, &b->points_cap, b->npoints + 1, sizeof(*b->points),
		      MOST))
		return false;
	b->points[b->npoints++] = point;
	f->npoints++;
	return true;
}

/* --- the file --- */

/* Returns true if the bytes of a segment have the text in them. */
static bool has_text(const struct binary *b, const GElf_Phdr *ph, const char *text)
{
	const Elf_Data *const data =
		ph->p_offset > INT64_MAX ? NULL
					 : elf_getdata_rawchunk(b->file.elf, (int64_t)ph->p_offset,
								ph->p_filesz, ELF_T_BYTE);

	return data && data->d_buf && memmem(data->d_buf, data->d_size, text, strlen(text));
}

static void read_program_headers(struct binary *b)
{
	GElf_Phdr ph;
	size_t n;

	b->is_shared = b->file.head.e_type == ET_DYN;
	for (size_t i = 0; elf_getphdrnum(b->file.elf, &n) == 0 && i < n && i < INT_MAX; i++)
		if (gelf_getphdr(b->file.elf, (int)i, &ph) && ph.p_type == PT_INTERP) {
			b->has_interpreter = true;
			b->is_musl = has_text(b, &ph, "/ld-musl");
		}
}

static bool read_code(struct binary *b)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(b->file.elf, scn)) != NULL) {
		const Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) ||
		    !(data = elf_file_data(scn, &sh)))
			continue;
		if (!mem_grow((void **)&b->code, &b->code_cap, b->ncode + 1, sizeof(*b->code),
			      MOST))
			return false;
		b->code[b->ncode++] = (struct binary_code){ sh.sh_addr, data->d_buf, data->d_size };
	}
	return true;
}

/*
 * .comment has a line for each compiler that made a part of the file; GCC's are also those of the C
 * library's start files, so another one's counts first.
 */
static void read_compiler(struct binary *b)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(&b->file, SHT_PROGBITS, ".comment", &sh);
	const Elf_Data *data = scn ? elf_file_data(scn, &sh) : NULL;
	const char *p = data ? data->d_buf : NULL, *const end = data ? p + data->d_size : NULL;

	for (size_t n; p && p < end; p += n + 1) {
		const char *clang, *version;

		n = strnlen(p, (size_t)(end - p));
		clang = memmem(p, n, "clang version ", 14);
		if (p + n == end || (!clang && (strncmp(p, "GCC: (", 6) || *b->compiler)))
			continue;
		version = clang ? clang + 14 : memrchr(p, ' ', n);
		if (version)
			snprintf(b->compiler, sizeof(b->compiler), "%s %.*s",
				 clang ? "clang" : "GCC", (int)strcspn(version + !clang, " (-\n"),
				 version + !clang);
	}
}

/* Runtimes of sanitizers replace functions of the C library, and refuse to be loaded later. */
static bool read_runtime(struct binary *b)
{
	static const char *const first[] = { "libasan.so", "libtsan.so", "liblsan.so",
					     "libhwasan.so", "libclang_rt." };
	GElf_Shdr sh;
	Elf_Scn *scn = elf_file_section(&b->file, SHT_DYNAMIC, NULL, &sh);
	Elf_Data *data = scn ? elf_file_data(scn, &sh) : NULL;
	const struct elf_strings names = elf_file_strings(&b->file, scn ? sh.sh_link : 0);
	GElf_Dyn d;

	for (int i = 0; data && gelf_getdyn(data, i, &d) && d.d_tag != DT_NULL; i++) {
		const char *const name =
			d.d_tag == DT_NEEDED ? elf_string(&names, d.d_un.d_val) : NULL;

		for (size_t k = 0; name && k < sizeof(first) / sizeof(first[0]); k++)
			if (strncmp(name, first[k], strlen(first[k])) == 0) {
				b->runtime = arena_strdup(&b->arena, name, strlen(name));
				return b->runtime;
			}
	}
	return true;
}

/* Hooks by their PLT slots, or by what a static program defines itself. */
static void read_hooks(struct binary *b)
{
	for (size_t i = 0; i < b->symbols.count; i++) {
		const struct symbol *s = &b->symbols.syms[i];
		enum entry_way way;

		if (binary_is_hook(s->name, &way))
			binary_add_hook(b, s->addr + b->file.base, way, false);
		b->knows_library |= strcmp(s->name, "spur_trace_start") == 0;
		b->checks_threads |= strcmp(s->name, "__tsan_init") == 0;
	}
}

static int by_address(const void *a, const void *b)
{
	const struct binary_function *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static bool read_all(struct binary *b, const char *dirs)
{
	if (!read_code(b) || !read_runtime(b))
		return false;
	read_hooks(b);
	if (!binary_find_slots(b) || !binary_find_entries(b, dirs))
		return false;
	if (b->nfunctions)
		qsort(b->functions, b->nfunctions, sizeof(*b->functions), by_address);
	return true;
}

enum spur_status binary_open(struct binary *b, const char *path, const char *dirs,
			     struct spur_error *err)
{
	*b = (struct binary){ .path = path, .file = { .fd = -1 } };
	symtab_init(&b->symbols);
	arena_init(&b->arena);
	if (elf_file_open(&b->file, path, err) == SPUR_FAIL ||
	    elf_symbols(&b->symbols, path, dirs, &b->facts, err) == SPUR_FAIL)
		return SPUR_FAIL;
	symtab_sort(&b->symbols);
	b->supported = b->facts.class == 2 && !b->facts.big_endian && b->facts.machine == EM_X86_64;
	read_program_headers(b);
	read_compiler(b);
	return !b->supported || read_all(b, dirs) ? SPUR_OK : err_nomem(err);
}

void binary_close(struct binary *b)
{
	elf_file_close(&b->file);
	symtab_free(&b->symbols);
	arena_free(&b->arena);
	map64_free(&b->known);
	mem_free(b->code);
	mem_free(b->functions);
	mem_free(b->points);
	mem_free(b->slots);
}
