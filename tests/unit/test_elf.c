/*
 * ELF symbols and DWARF lines of model/symbol.h: files made here, this program itself, and damaged
 * copies.
 */
#include <fcntl.h>
#include <ftw.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/symbol/symbol.h"

static char dir[] = "/tmp/spur-elf-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_dir(void **state)
{
	(void)state;
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(const char *name)
{
	static char path[4][256];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

/* ---- a small ELF writer ---- */

struct sym {
	const char *name;
	uint64_t value, size;
	unsigned bind, type;
	uint16_t section; /* 1 is .text, 0 undefined */
};

struct image {
	int class;
	bool big;
	uint16_t machine;
	uint64_t base;
	const struct sym *symtab, *dynsym;
	size_t nsymtab, ndynsym;
	const void *id; /* build-id */
	size_t id_len;
	const char *link; /* .gnu_debuglink */
	uint32_t link_sum;
	const char *plt_name;
	const void *plt;
	size_t plt_size, plt_entsize;
	uint64_t plt_at, got_at;
	const uint64_t *words; /* relocated: the i-th names symbol i + 1 of dynsym */
	size_t nwords;
	bool rel;
};

enum { POOL = 1 << 16 };

struct writer {
	Elf *elf;
	char names[POOL]; /* of sections */
	size_t names_len;
	char pool[POOL]; /* data that has to live until it is written */
	size_t pool_len;
};

static void *pool_take(struct writer *w, size_t n)
{
	void *p = w->pool + w->pool_len;

	w->pool_len += (n + 15) / 16 * 16;
	assert_true(w->pool_len <= POOL);
	return p;
}

static Elf_Scn *write_section(struct writer *w, const char *name, GElf_Word type, GElf_Xword flags,
			      uint64_t addr, void *buf, size_t size, Elf_Type data_type)
{
	Elf_Scn *scn = elf_newscn(w->elf);
	Elf_Data *data = elf_newdata(scn);
	GElf_Shdr sh;

	assert_non_null(data);
	data->d_buf = buf;
	data->d_size = size;
	data->d_type = data_type;
	data->d_align = data_type == ELF_T_NHDR ? 4 : 8;
	data->d_version = EV_CURRENT;
	assert_non_null(gelf_getshdr(scn, &sh));
	sh.sh_name = (GElf_Word)w->names_len;
	sh.sh_type = type;
	sh.sh_flags = flags;
	sh.sh_addr = addr;
	sh.sh_entsize = data_type == ELF_T_BYTE ? 0 : gelf_fsize(w->elf, data_type, 1, EV_CURRENT);
	w->names_len += (size_t)sprintf(w->names + w->names_len, "%s", name) + 1;
	assert_true(gelf_update_shdr(scn, &sh));
	return scn;
}

static void set_link(Elf_Scn *scn, size_t link, size_t entsize)
{
	GElf_Shdr sh;

	assert_non_null(gelf_getshdr(scn, &sh));
	sh.sh_link = (GElf_Word)link;
	if (entsize)
		sh.sh_entsize = entsize;
	assert_true(gelf_update_shdr(scn, &sh));
}

static size_t write_symbols(struct writer *w, const char *name, GElf_Word type,
			    const struct sym *syms, size_t n)
{
	size_t size = gelf_fsize(w->elf, ELF_T_SYM, n + 1, EV_CURRENT), used = 1;
	char *names = pool_take(w, 4096);
	Elf_Scn *strings, *scn;
	Elf_Data data = { .d_buf = pool_take(w, size),
			  .d_size = size,
			  .d_type = ELF_T_SYM,
			  .d_version = EV_CURRENT };

	scn = write_section(w, name, type, type == SHT_DYNSYM ? SHF_ALLOC : 0, 0, data.d_buf, size,
			    ELF_T_SYM);
	for (size_t i = 0; i < n; i++) {
		GElf_Sym sym = { .st_name = (GElf_Word)used,
				 .st_value = syms[i].value,
				 .st_size = syms[i].size,
				 .st_info = (unsigned char)GELF_ST_INFO(syms[i].bind, syms[i].type),
				 .st_shndx = syms[i].section };

		used += (size_t)sprintf(names + used, "%s", syms[i].name) + 1;
		assert_true(gelf_update_sym(elf_getdata(scn, NULL), (int)i + 1, &sym));
	}
	strings = write_section(w, ".names", SHT_STRTAB, 0, 0, names, used, ELF_T_BYTE);
	set_link(scn, elf_ndxscn(strings), 0);
	return elf_ndxscn(scn);
}

static void write_relocations(struct writer *w, const struct image *im, size_t dynsym)
{
	const Elf_Type type = im->rel ? ELF_T_REL : ELF_T_RELA;
	size_t size = gelf_fsize(w->elf, type, im->nwords, EV_CURRENT);
	Elf_Scn *scn =
		write_section(w, im->rel ? ".rel.plt" : ".rela.plt", im->rel ? SHT_REL : SHT_RELA,
			      SHF_ALLOC, 0, pool_take(w, size), size, type);

	for (size_t i = 0; i < im->nwords; i++) {
		uint64_t info = im->class == 2 ? GELF_R_INFO(i + 1, 7) : ELF32_R_INFO(i + 1, 7);
		GElf_Rela rela = { .r_offset = im->words[i],
				   .r_info = im->class == 2 ? info : GELF_R_INFO(i + 1, 7) };
		GElf_Rel rel = { .r_offset = im->words[i], .r_info = rela.r_info };

		assert_true(im->rel ? gelf_update_rel(elf_getdata(scn, NULL), (int)i, &rel)
				    : gelf_update_rela(elf_getdata(scn, NULL), (int)i, &rela));
	}
	set_link(scn, dynsym, 0);
}

static void write_head(struct writer *w, const struct image *im)
{
	GElf_Ehdr head;
	GElf_Phdr load = { .p_type = PT_LOAD,
			   .p_vaddr = im->base,
			   .p_filesz = 0x100,
			   .p_memsz = 0x100,
			   .p_flags = PF_R };

	assert_true(gelf_newehdr(w->elf, im->class == 2 ? ELFCLASS64 : ELFCLASS32));
	assert_non_null(gelf_getehdr(w->elf, &head));
	head.e_ident[EI_DATA] = im->big ? ELFDATA2MSB : ELFDATA2LSB;
	head.e_type = ET_DYN;
	head.e_machine = im->machine;
	head.e_version = EV_CURRENT;
	assert_true(gelf_update_ehdr(w->elf, &head));
	assert_true(gelf_newphdr(w->elf, 1));
	assert_true(gelf_update_phdr(w->elf, 0, &load));
}

static void write_notes(struct writer *w, const struct image *im)
{
	if (im->id) {
		uint8_t *note = pool_take(w, 16 + im->id_len);
		const uint32_t head[3] = { 4, (uint32_t)im->id_len, NT_GNU_BUILD_ID };

		memcpy(note, head, 12);
		memcpy(note + 12, "GNU", 4);
		memcpy(note + 16, im->id, im->id_len);
		write_section(w, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note,
			      16 + im->id_len, ELF_T_NHDR);
	}
	if (im->link) {
		size_t n = strlen(im->link) + 1, at = (n + 3) / 4 * 4;
		uint8_t *bytes = pool_take(w, at + 4);

		memcpy(bytes, im->link, n);
		for (size_t i = 0; i < 4; i++)
			bytes[at + i] = (uint8_t)(im->link_sum >> (im->big ? 24 - 8 * i : 8 * i));
		write_section(w, ".gnu_debuglink", SHT_PROGBITS, 0, 0, bytes, at + 4, ELF_T_BYTE);
	}
}

static const char *write_image(const char *name, const struct image *im)
{
	const char *path = path_of(name);
	struct writer *w = calloc(1, sizeof(*w));
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	static uint8_t text[256];
	size_t dynsym = 0;
	GElf_Ehdr head;
	Elf_Scn *scn;

	assert_true(w && fd >= 0);
	elf_version(EV_CURRENT);
	w->elf = elf_begin(fd, ELF_C_WRITE, NULL);
	assert_non_null(w->elf);
	w->names_len = 1;
	write_head(w, im);
	write_section(w, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, im->base, text,
		      sizeof(text), ELF_T_BYTE);
	write_section(w, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, im->base, text, sizeof(text),
		      ELF_T_BYTE);
	if (im->dynsym)
		dynsym = write_symbols(w, ".dynsym", SHT_DYNSYM, im->dynsym, im->ndynsym);
	if (im->words)
		write_relocations(w, im, dynsym);
	if (im->plt) {
		void *plt = pool_take(w, im->plt_size);

		memcpy(plt, im->plt, im->plt_size);
		scn = write_section(w, im->plt_name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				    im->plt_at, plt, im->plt_size, ELF_T_BYTE);
		set_link(scn, 0, im->plt_entsize);
		write_section(w, ".got.plt", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, im->got_at, text,
			      sizeof(text), ELF_T_BYTE);
	}
	write_notes(w, im);
	if (im->symtab)
		write_symbols(w, ".symtab", SHT_SYMTAB, im->symtab, im->nsymtab);
	scn = write_section(w, ".shstrtab", SHT_STRTAB, 0, 0, w->names,
			    w->names_len + sizeof(".shstrtab"), ELF_T_BYTE);
	assert_non_null(gelf_getehdr(w->elf, &head));
	head.e_shstrndx = (GElf_Half)elf_ndxscn(scn);
	assert_true(gelf_update_ehdr(w->elf, &head));
	assert_true(elf_update(w->elf, ELF_C_WRITE) > 0);
	elf_end(w->elf);
	close(fd);
	free(w);
	return path;
}

/* ---- functions ---- */

/* All symbols as lines ADDR SIZE TYPE NAME. */
static const char *list(const char *path, const char *dirs, struct elf_facts *facts)
{
	static char text[4096];
	struct spur_error err = { 0 };
	struct symtab t;
	size_t n = 0;

	symtab_init(&t);
	if (elf_symbols(&t, path, dirs, facts, &err) != SPUR_OK)
		fail_msg("%s", err.message);
	symtab_sort(&t);
	text[0] = 0;
	for (size_t i = 0; i < t.count && n < sizeof(text) - 200; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%llx %llx %c %s\n",
				      (unsigned long long)t.syms[i].addr,
				      (unsigned long long)t.syms[i].size, t.syms[i].type,
				      t.syms[i].name);
	symtab_free(&t);
	return text;
}

static const struct sym functions[] = {
	{ "file.c", 0, 0, STB_LOCAL, STT_FILE, SHN_ABS },
	{ "local", 0x400010, 8, STB_LOCAL, STT_FUNC, 1 },
	{ "_hidden", 0x400020, 8, STB_GLOBAL, STT_FUNC,
	  1 }, /* an underscore says nothing against a global name */
	{ "shown", 0x400020, 8, STB_WEAK, STT_FUNC, 1 },
	{ "_other", 0x400030, 8, STB_GLOBAL, STT_FUNC, 1 },
	{ "other", 0x400030, 8, STB_GLOBAL, STT_FUNC, 1 },
	{ "_ZN1aC2Ev", 0x400040, 8, STB_WEAK, STT_FUNC, 1 },
	{ "_ZN1aC1Ev", 0x400040, 8, STB_WEAK, STT_FUNC, 1 },
	{ "label", 0x400050, 4, STB_GLOBAL, STT_NOTYPE, 1 },
	{ "unsized_label", 0x400058, 0, STB_GLOBAL, STT_NOTYPE, 1 },
	{ "data_label", 0x400060, 4, STB_GLOBAL, STT_NOTYPE, 2 },
	{ "data", 0x400070, 4, STB_GLOBAL, STT_OBJECT, 2 },
	{ "undefined", 0, 0, STB_GLOBAL, STT_FUNC, 0 },
	{ "chooser", 0x400080, 8, STB_GLOBAL, STT_GNU_IFUNC, 1 },
	{ "unsized", 0x400090, 0, STB_LOCAL, STT_FUNC, 1 },
	{ "unsized_alias", 0x4000a0, 0, STB_GLOBAL, STT_FUNC, 1 },
	{ "sized_alias", 0x4000a0, 6, STB_LOCAL, STT_FUNC, 1 },
	{ "", 0x4000b0, 6, STB_LOCAL, STT_FUNC, 1 },
	{ "below", 0x3ffff0, 6, STB_LOCAL, STT_FUNC, 1 },
};

static const char functions_listed[] =
	"10 8 t local\n20 8 T _hidden\n30 8 T other\n40 8 W _ZN1aC2Ev\n50 4 t label\n"
	"80 8 T chooser\n90 10 t unsized\na0 6 T unsized_alias\n";

enum { NFUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static void test_functions(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct image im = { .class = 1 + (i & 1),
				    .big = i & 2,
				    .machine = EM_PPC64,
				    .base = 0x400000,
				    .symtab = functions,
				    .nsymtab = NFUNCTIONS,
				    .dynsym = functions,
				    .ndynsym = 2,
				    .id = "\x01\x23\x45\x67\x89\xab\xcd\xef",
				    .id_len = 8 };
		struct elf_facts facts, again;
		const char *path = write_image("functions", &im);

		assert_string_equal(list(path, NULL, &facts), functions_listed);
		assert_int_equal(facts.class, im.class);
		assert_int_equal(facts.big_endian, im.big);
		assert_int_equal(facts.machine, EM_PPC64);
		assert_int_equal(elf_identify(path, &again, NULL), SPUR_OK);
		assert_string_equal(again.build_id, facts.build_id);
		if (!im.big)
			assert_string_equal(facts.build_id, "0123456789abcdef");
		im.symtab = NULL;
		assert_string_equal(list(write_image("stripped", &im), NULL, &facts),
				    "10 8 t local\n");
	}
}

static uint32_t checksum(const char *path)
{
	static unsigned char buf[POOL];
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	return (uint32_t)crc32(crc32(0, NULL, 0), buf, (uInt)n);
}

static void test_debug_by_id(void **state)
{
	static const uint8_t id[20] = { 0xab, 0xcd, 0xef, 1, 2, 3 },
			     other_id[20] = { 0xab, 0xcd, 0xee };
	struct image debug = { .class = 2,
			       .machine = EM_PPC64,
			       .base = 0x400000,
			       .symtab = functions,
			       .nsymtab = NFUNCTIONS,
			       .id = id,
			       .id_len = 20 };
	struct image stripped = { .class = 2,
				  .machine = EM_PPC64,
				  .base = 0x400000,
				  .dynsym = functions,
				  .ndynsym = 2,
				  .id = id,
				  .id_len = 20 };
	const char *name = ".build-id/ab/cdef010203"
			   "0000000000000000000000000000.debug";
	char dirs[600], path[256];

	(void)state;
	assert_int_equal(mkdir(path_of(".build-id"), 0700), 0);
	assert_int_equal(mkdir(path_of(".build-id/ab"), 0700), 0);
	write_image(name, &debug);
	snprintf(path, sizeof(path), "%s", write_image("exe", &stripped));
	assert_string_equal(list(path, "/nonexistent", NULL), "10 8 t local\n");
	snprintf(dirs, sizeof(dirs), ":/nonexistent:%s:", dir);
	assert_string_equal(list(path, dirs, NULL), functions_listed);
	/* A file of another build is not it, whatever its name. */
	debug.id = other_id;
	write_image(name, &debug);
	assert_string_equal(list(path, dirs, NULL), "10 8 t local\n");
}

static void test_debug_by_link(void **state)
{
	struct image debug = { .class = 2,
			       .machine = EM_PPC64,
			       .base = 0x400000,
			       .symtab = functions,
			       .nsymtab = NFUNCTIONS };
	struct image stripped = { .class = 2,
				  .machine = EM_PPC64,
				  .base = 0x400000,
				  .dynsym = functions,
				  .ndynsym = 2,
				  .link = "linked.debug" };
	char path[256], below[600];

	(void)state;
	for (int big = 0; big < 2; big++) {
		stripped.big = big;
		stripped.link_sum = checksum(write_image("linked.debug", &debug));
		snprintf(path, sizeof(path), "%s", write_image("exe", &stripped));
		assert_string_equal(list(path, NULL, NULL), functions_listed);
		stripped.link_sum++;
		snprintf(path, sizeof(path), "%s", write_image("exe", &stripped));
		assert_string_equal(list(path, NULL, NULL), "10 8 t local\n");
		stripped.link_sum--;
		snprintf(path, sizeof(path), "%s", write_image("exe", &stripped));
		mkdir(path_of(".debug"), 0700);
		assert_int_equal(rename(path_of("linked.debug"), path_of(".debug/linked.debug")),
				 0);
		assert_string_equal(list(path, NULL, NULL), functions_listed);
		mkdir(path_of("else"), 0700);
		assert_int_equal(
			rename(path_of(".debug/linked.debug"), path_of("else/linked.debug")), 0);
		assert_string_equal(list(path, NULL, NULL), "10 8 t local\n");
		snprintf(below, sizeof(below), "%s/else", dir);
		assert_string_equal(list(path, below, NULL), functions_listed);
	}
	/* A link is a name, not a path. */
	stripped.link = "else/linked.debug";
	assert_string_equal(list(write_image("exe", &stripped), NULL, NULL), "10 8 t local\n");
}

/* ---- PLT ---- */

static const struct sym imports[] = {
	{ "alpha", 0, 0, STB_GLOBAL, STT_FUNC, 0 },
	{ "beta", 0, 0, STB_GLOBAL, STT_NOTYPE, 0 },
	{ "gamma", 0, 0, STB_WEAK, STT_FUNC, 0 },
};

static void check_plt(struct image im, const char *want)
{
	im.base = 0x10000;
	im.dynsym = imports;
	im.ndynsym = 3;
	im.nwords = 3;
	im.plt_at = 0x11000;
	im.got_at = 0x13000;
	if (!im.plt_name)
		im.plt_name = ".plt";
	assert_string_equal(list(write_image("plt", &im), NULL, NULL), want);
}

static const uint64_t in_order[] = { 0x13018, 0x13020, 0x13028 },
		      turned[] = { 0x13028, 0x13020, 0x13018 };

#define LE32(v) (v) & 255, (v) >> 8 & 255, (v) >> 16 & 255, (v) >> 24 & 255
#define BE32(v) (v) >> 24 & 255, (v) >> 16 & 255, (v) >> 8 & 255, (v)&255

static void test_plt_x86_64(void **state)
{
	/* clang-format off */
	static const uint8_t lazy[] = {
		/* No function's */
		0xff, 0x35, LE32(0x2002), 0xff, 0x25, LE32(0x2004), 0x0f, 0x1f, 0x40, 0,
		0xff, 0x25, LE32(0x2002), 0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0, /* 0x11010: 0x13018 */
		0xff, 0x25, LE32(0x1ffa), 0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0, /* 0x11020: 0x13020 */
		0xff, 0x25, LE32(0x1ff2), 0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0, /* 0x11030: 0x13028 */
	};
	static const uint8_t sec[] = {
		/* 0x13018 */
		0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, LE32(0x200d), 0x0f, 0x1f, 0x44, 0, 0,
		/* 0x13020 */
		0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, LE32(0x2006), 0x66, 0x0f, 0x1f, 0x44, 0, 0,
	};
	static const uint8_t got[] = {
		0xff, 0x25, LE32(0x2012), 0x66, 0x90, /* 0x11000: 0x13018 */
		0xff, 0x25, LE32(0x201a), 0x66, 0x90, /* 0x11008: 0x13028 */
		0xff, 0x25, LE32(0x3000), 0x66, 0x90, /* no relocation */
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x25, /* cut off */
	};
	/* clang-format on */
	struct image im = { .class = 2,
			    .machine = EM_X86_64,
			    .plt = lazy,
			    .plt_size = sizeof(lazy),
			    .plt_entsize = 16,
			    .words = in_order };

	(void)state;
	check_plt(im, "1010 10 P alpha\n1020 10 P beta\n1030 10 P gamma\n");
	im.words = turned; /* what counts is the word, not the order */
	check_plt(im, "1010 10 P gamma\n1020 10 P beta\n1030 10 P alpha\n");
	im.words = in_order;
	im.plt = sec;
	im.plt_size = sizeof(sec);
	im.plt_name = ".plt.sec";
	im.plt_entsize = 0;
	check_plt(im, "1000 10 P alpha\n1010 10 P beta\n");
	im.plt = got;
	im.plt_size = sizeof(got);
	im.plt_name = ".plt.got";
	im.plt_entsize = 8;
	check_plt(im, "1000 8 P alpha\n1008 8 P gamma\n");
	im.plt_name = ".text.other";
	check_plt(im, "");
}

static void test_plt_i386(void **state)
{
	/* clang-format off */
	static const uint8_t fixed[] = {
		0xff, 0x35, LE32(0x13004), 0xff, 0x25, LE32(0x13008), 0, 0, 0, 0,
		0xff, 0x25, LE32(0x13018), 0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0,
	};
	static const uint8_t pic[] = {
		0xff, 0xa3, LE32(0x18), 0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0, /* %ebx: .got.plt */
		0xf3, 0x0f, 0x1e, 0xfb, 0xff, 0xa3, LE32(0x20), 0x66, 0x0f, 0x1f, 0x44, 0, 0,
	};
	/* clang-format on */
	struct image im = { .class = 1,
			    .machine = EM_386,
			    .plt = fixed,
			    .plt_size = sizeof(fixed),
			    .plt_entsize = 4,
			    .words = in_order,
			    .rel = true };

	(void)state;
	check_plt(im, "1010 10 P alpha\n");
	im.plt = pic;
	im.plt_size = sizeof(pic);
	check_plt(im, "1000 10 P alpha\n1010 10 P beta\n");
}

static void test_plt_aarch64(void **state)
{
	/* clang-format off */
	static const uint8_t code[] = {
		LE32(0xa9bf7bf0), LE32(0xd0000010), LE32(0xf9400211), LE32(0xd503201f),
		/* 0x13018 */
		LE32(0xd0000010), LE32(0xf9400e11), LE32(0x91006210), LE32(0xd61f0220),
		/* Bti c: 0x13020 */
		LE32(0xd503245f), LE32(0xd0000010), LE32(0xf9401211), LE32(0xd61f0220),
	};
	/* clang-format on */
	struct image im = { .class = 2,
			    .machine = EM_AARCH64,
			    .plt = code,
			    .plt_size = sizeof(code),
			    .plt_entsize = 0,
			    .words = in_order };

	(void)state;
	check_plt(im, "1010 10 P alpha\n1020 10 P beta\n");
	im.big = true; /* data is byte-swapped, code is not */
	check_plt(im, "1010 10 P alpha\n1020 10 P beta\n");
}

static void test_plt_arm(void **state)
{
	/* clang-format off */
	static const uint8_t little[] = {
		LE32(0xe52de004), LE32(0xe59fe004), LE32(0xe08fe00e), LE32(0xe5bef008),
		LE32(0x00002000),
		LE32(0xe28fc600), LE32(0xe28cca01), LE32(0xe5bcfffc), /* 0x1101c + 0x1000 + 0xffc */
	};
	static const uint8_t big[] = {
		BE32(0xe28fc600), BE32(0xe28cca02), BE32(0xe5bcf018), /* 0x11008 + 0x2000 + 0x18 */
	};
	/* clang-format on */
	struct image im = { .class = 1,
			    .machine = EM_ARM,
			    .plt = little,
			    .plt_size = sizeof(little),
			    .plt_entsize = 4,
			    .words = in_order,
			    .rel = true };

	(void)state;
	check_plt(im, "1014 c P alpha\n");
	im.big = true;
	im.plt = big;
	im.plt_size = sizeof(big);
	check_plt(im, "1000 c P beta\n");
}

static void test_plt_riscv(void **state)
{
	/* clang-format off */
	static const uint8_t code[] = {
		/* 0x13018 */
		LE32(0x00002e17), LE32(0x018e3e03), LE32(0x000e0367), LE32(0x00000013),
		/* 0x13828 */
		LE32(0x00003e17), LE32(0x818e3e03), LE32(0x000e0367), LE32(0x00000013),
		/* 0x13020 */
		LE32(0x00002e17), LE32(0x000e3e03), LE32(0x000e0367), LE32(0x00000013),
	};
	/* clang-format on */
	struct image im = { .class = 2,
			    .machine = EM_RISCV,
			    .plt = code,
			    .plt_size = sizeof(code),
			    .plt_entsize = 16,
			    .words = in_order };

	(void)state;
	check_plt(im, "1000 10 P alpha\n1020 10 P beta\n");
}

/* ---- this program ---- */

static void test_self(void **state)
{
	struct spur_error err = { 0 };
	const struct symbol *self = NULL;
	struct symtab t;

	(void)state;
	symtab_init(&t);
	assert_int_equal(elf_symbols(&t, "/proc/self/exe", NULL, NULL, &err), SPUR_OK);
	symtab_sort(&t);
	for (size_t i = 0; i < t.count; i++)
		if (!strcmp(t.syms[i].name, "test_self"))
			self = &t.syms[i];
	assert_non_null(self);
	assert_int_equal(self->type, 't');
	assert_ptr_equal(symtab_find(&t, self->addr + self->size - 1), self);
	symtab_free(&t);
}

static uint64_t address_of(const char *name)
{
	struct symtab t;
	uint64_t addr = 0;

	symtab_init(&t);
	assert_int_equal(elf_symbols(&t, "/proc/self/exe", NULL, NULL, NULL), SPUR_OK);
	for (size_t i = 0; i < t.count; i++)
		if (!strcmp(t.syms[i].name, name))
			addr = t.syms[i].addr;
	symtab_free(&t);
	assert_true(addr);
	return addr;
}

/* Its line is looked up. */
/* clang-format off */
enum { MARKER_LINE = __LINE__ + 1 };
__attribute__((noinline, used)) static int line_marker(int a) { return a + 1; }
/* clang-format on */

static void check_marker(const char *path, const char *dirs)
{
	struct spur_error err = { 0 };
	struct dwarf_lines *d;
	const char *file = NULL;
	unsigned line = 0;

	if (dwarf_open(&d, path, dirs, &err) == SPUR_FAIL)
		fail_msg("%s", err.message);
	assert_true(dwarf_line(d, address_of("line_marker"), &file, &line));
	assert_int_equal(line, MARKER_LINE);
	assert_non_null(strstr(file, "test_elf.c"));
	assert_false(dwarf_line(d, UINT64_MAX, &file, &line));
	assert_false(dwarf_line(d, UINT64_MAX / 2, &file, &line));
	dwarf_close(d);
}

static bool has_lines(const char *path)
{
	struct dwarf_lines *d;
	bool ok = dwarf_open(&d, path, "/nonexistent", NULL) == SPUR_OK;

	dwarf_close(d);
	return ok;
}

static void test_lines(void **state)
{
	(void)state;
	assert_int_equal(line_marker(1), 2);
	if (!has_lines("/proc/self/exe")) {
		print_message("this program has no line tables: built without -g\n");
		skip();
	}
	check_marker("/proc/self/exe", NULL);
}

/* A stripped file of the same build finds the lines in its debug file, which is this program. */
static void test_lines_elsewhere(void **state)
{
	struct image stripped = {
		.class = sizeof(void *) / 4, .machine = EM_X86_64, .dynsym = functions, .ndynsym = 2
	};
	struct elf_facts facts;
	uint8_t id[20];
	char name[128], exe[256];
	unsigned byte;

	(void)state;
	assert_int_equal(elf_identify("/proc/self/exe", &facts, NULL), SPUR_OK);
	if (strlen(facts.build_id) != 40 || !has_lines("/proc/self/exe") || facts.big_endian) {
		print_message("this program has no build-id or no line tables\n");
		skip();
	}
	for (size_t i = 0; i < 20; i++) {
		assert_int_equal(sscanf(facts.build_id + 2 * i, "%2x", &byte), 1);
		id[i] = (uint8_t)byte;
	}
	stripped.id = id;
	stripped.id_len = 20;
	snprintf(exe, sizeof(exe), "%s", write_image("noline", &stripped));
	assert_false(has_lines(exe));
	mkdir(path_of(".build-id"), 0700);
	snprintf(name, sizeof(name), ".build-id/%.2s", facts.build_id);
	mkdir(path_of(name), 0700);
	snprintf(name, sizeof(name), ".build-id/%.2s/%s.debug", facts.build_id, facts.build_id + 2);
	assert_int_equal(symlink("/proc/self/exe", path_of(name)), 0);
	check_marker(exe, dir);
}

/* ---- what is no ELF file ---- */

static void refuse(const char *path, enum spur_error_code code)
{
	struct spur_error err = { 0 };
	struct elf_facts facts;
	struct dwarf_lines *d;
	struct symtab t;

	symtab_init(&t);
	assert_int_equal(elf_symbols(&t, path, NULL, &facts, &err), SPUR_FAIL);
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.message, path));
	assert_int_equal(t.count, 0);
	symtab_free(&t);
	assert_int_equal(elf_identify(path, &facts, NULL), SPUR_FAIL);
	assert_int_equal(dwarf_open(&d, path, NULL, &err), SPUR_FAIL);
	assert_null(d);
}

static void test_not_elf(void **state)
{
	FILE *f = fopen(path_of("text"), "w");

	(void)state;
	assert_non_null(f);
	fputs("\x7f"
	      "ELX",
	      f);
	fclose(f);
	refuse(path_of("text"), SPUR_ERR_FORMAT);
	fclose(fopen(path_of("empty"), "w"));
	refuse(path_of("empty"), SPUR_ERR_FORMAT);
	refuse(path_of("missing"), SPUR_ERR_IO);
	refuse(dir, SPUR_ERR_IO);
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	refuse(path_of("fifo"), SPUR_ERR_IO);
}

/* ---- damage ---- */

static void read_all(const char *path)
{
	struct elf_facts facts;
	struct dwarf_lines *d;
	struct symtab t;
	const char *file;
	unsigned line;

	symtab_init(&t);
	elf_symbols(&t, path, dir, &facts, NULL);
	symtab_sort(&t);
	symtab_find(&t, 0x1010);
	symtab_free(&t);
	if (dwarf_open(&d, path, dir, NULL) == SPUR_OK)
		dwarf_line(d, 0x1010, &file, &line);
	dwarf_close(d);
}

static void write_bytes(const char *path, const uint8_t *bytes, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

static void test_damage(void **state)
{
	static const uint8_t plt[] = { 0xff, 0x25, LE32(0x2012), 0x66, 0x90,
				       0xff, 0x25, LE32(0x201a), 0x66, 0x90 };
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	static uint8_t bytes[POOL];
	char path[256];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct image im = { .class = 1 + i,
				    .machine = i ? EM_X86_64 : EM_386,
				    .base = 0x10000,
				    .symtab = functions,
				    .nsymtab = NFUNCTIONS,
				    .dynsym = imports,
				    .ndynsym = 3,
				    .words = in_order,
				    .nwords = 3,
				    .plt = plt,
				    .plt_size = sizeof(plt),
				    .plt_name = ".plt.got",
				    .plt_entsize = 8,
				    .plt_at = 0x11000,
				    .got_at = 0x13000,
				    .id = "01234567",
				    .id_len = 8,
				    .link = "x.debug" };
		FILE *f = fopen(write_image("whole", &im), "r");
		size_t n;

		assert_non_null(f);
		n = fread(bytes, 1, sizeof(bytes), f);
		fclose(f);
		assert_true(n > 500 && n < sizeof(bytes));
		snprintf(path, sizeof(path), "%s", path_of("damaged"));
		for (size_t cut = 0; cut < n; cut += cut < 128 ? 1 : 61) {
			write_bytes(path, bytes, cut);
			read_all(path);
		}
		for (size_t at = 0; at < n; at++) {
			const uint8_t was = bytes[at];

			bytes[at] = values[at % sizeof(values)];
			write_bytes(path, bytes, n);
			bytes[at] = was;
			read_all(path);
		}
	}
}

static void test_no_memory(void **state)
{
	struct image im = { .class = 2,
			    .machine = EM_X86_64,
			    .base = 0x400000,
			    .symtab = functions,
			    .nsymtab = NFUNCTIONS,
			    .dynsym = imports,
			    .ndynsym = 3,
			    .words = in_order,
			    .nwords = 3,
			    .plt = "x",
			    .plt_size = 1,
			    .plt_name = ".plt" };
	const char *path = write_image("memory", &im);
	bool failed = false;

	(void)state;
	for (uint64_t n = 1; n < 10; n++) {
		struct spur_error err = { 0 };
		struct dwarf_lines *d;
		struct symtab t;

		symtab_init(&t);
		mem_fail_at(n);
		if (elf_symbols(&t, path, NULL, NULL, &err) == SPUR_FAIL) {
			assert_int_equal(err.code, SPUR_ERR_MEMORY);
			failed = true;
		} else {
			assert_int_equal(t.count, 8);
		}
		mem_fail_at(n);
		if (dwarf_open(&d, "/proc/self/exe", NULL, &err) == SPUR_FAIL)
			assert_null(d);
		mem_fail_at(0);
		dwarf_close(d);
		symtab_free(&t);
	}
	assert_true(failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_debug_by_id),
		cmocka_unit_test(test_debug_by_link),
		cmocka_unit_test(test_plt_x86_64),
		cmocka_unit_test(test_plt_i386),
		cmocka_unit_test(test_plt_aarch64),
		cmocka_unit_test(test_plt_arm),
		cmocka_unit_test(test_plt_riscv),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_lines_elsewhere),
		cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
