/*
 * Functions of a log that is written: their numbers, and their names as an instrumentation map, an
 * ELF file for x86-64 without code, or llvm-xray's YAML.
 */
#include "format/xray/write.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

/* --- numbers --- */

const char *xray_name_of(const struct xray_write *x, uint32_t cls, size_t *len)
{
	const struct event_class *c = trace_class(x->trace, cls);
	const char *name;

	if (x->own_ids && (c->flags & CLASS_UNKNOWN))
		return NULL;
	name = trace_string(x->trace, c->flags & CLASS_FUNCTION && c->raw ? c->raw : c->name, len);
	*len = strlen(name) == *len ? *len : 0;
	return *name ? name : NULL;
}

static int compare_strings(const struct spur_trace *t, uint32_t a, uint32_t b)
{
	size_t m = 0, n = 0;
	const char *p, *q;
	int order;

	if (a == b)
		return 0;
	p = trace_string(t, a, &m);
	q = trace_string(t, b, &n);
	order = memcmp(p, q, m < n ? m : n);
	return order ? order : m < n ? -1 : m > n;
}

/* Classes of equal order are one function. */
static int compare_classes(const struct spur_trace *t, uint32_t a, uint32_t b)
{
	const struct event_class *p = trace_class(t, a), *q = trace_class(t, b);
	const uint32_t texts[][2] = { { p->raw, q->raw },
				      { p->name, q->name },
				      { p->cat, q->cat },
				      { p->module, q->module },
				      { p->file, q->file } };
	int order = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !order; i++)
		order = compare_strings(t, texts[i][0], texts[i][1]);
	if (!order && p->addr != q->addr)
		order = p->addr < q->addr ? -1 : 1;
	if (!order && p->line != q->line)
		order = p->line < q->line ? -1 : 1;
	return order;
}

static int function_order(const void *a, const void *b, void *trace)
{
	const struct xray_out_function *p = a, *q = b;

	if (p->id != q->id)
		return p->id < q->id ? -1 : 1;
	return compare_classes(trace, p->cls, q->cls);
}

/* Lists the classes that are used. Returns false if out of memory. */
static bool functions_list(struct xray_write *x)
{
	size_t cap = 0;

	x->nids = trace_class_count(x->trace);
	x->ids = mem_array(x->nids + 1, sizeof(*x->ids));
	for (size_t cls = 0; x->ids && cls < x->nids; cls++) {
		const uint32_t *page = x->used[cls / XRAY_USED_PAGE];

		if (!page) {
			cls |= XRAY_USED_PAGE - 1;
			continue;
		}
		if (!page[cls % XRAY_USED_PAGE])
			continue;
		if (!mem_grow((void **)&x->functions, &cap, x->nfunctions + 1,
			      sizeof(*x->functions), UINT32_MAX))
			return false;
		x->functions[x->nfunctions++] = (struct xray_out_function){
			.cls = (uint32_t)cls, .id = x->own_ids ? page[cls % XRAY_USED_PAGE] : 0
		};
	}
	return x->ids != NULL;
}

/* The number of functions in the map of an XRay trace's program. */
static uint32_t source_functions(const struct xray_write *x)
{
	const struct xray *s = x->own_ids ? x->trace->state : NULL;
	const struct site_map *m = s ? xray_maps_object(s->maps, 0) : NULL;

	return m ? xray_map_functions(m) : 0;
}

/*
 * An XRay trace keeps its numbers if the target can hold them and, for an ELF file, which numbers
 * functions without gaps, if all that have names are in the map of the program.
 */
static bool numbers_stay(const struct xray_write *x)
{
	const uint32_t most = x->nfunctions ? x->functions[x->nfunctions - 1].id : 0;
	const bool elf = x->write->side && !write_setting_is(x->write, "names", "yaml");
	const uint32_t mapped = source_functions(x);
	size_t len;

	if (!x->own_ids || (x->target == XRAY_TO_FDR && most >= 1u << XRAY_ID_BITS))
		return false;
	for (size_t i = x->nfunctions; elf && i && x->functions[i - 1].id > mapped; i--)
		if (xray_name_of(x, x->functions[i - 1].cls, &len))
			return false;
	return true;
}

/* Keeps one function of each number. */
static void functions_fold(struct xray_write *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->nfunctions; i++) {
		const uint32_t cls = x->functions[i].cls;

		if (n && x->ids[cls] == x->functions[n - 1].id)
			continue;
		x->functions[n++] = (struct xray_out_function){ .cls = cls, .id = x->ids[cls] };
	}
	x->nfunctions = n;
}

/*
 * Collects the names of the functions from 1 on: all that the map of an XRay trace has, if its
 * numbers stay, else those of the functions that are written. Returns false if out of memory.
 */
static bool names_collect(struct xray_write *x, bool stay)
{
	const struct xray *s = x->trace->state;
	struct map_function f;
	size_t len;

	x->nnames = stay	    ? source_functions(x)
		    : x->nfunctions ? x->functions[x->nfunctions - 1].id
				    : 0;
	x->names = mem_array((size_t)x->nnames + 1, sizeof(*x->names));
	if (!x->names)
		return false;
	pthread_mutex_lock(&x->trace->lock);
	for (uint32_t id = 1; stay && id <= x->nnames; id++)
		if (xray_maps_function(s->maps, id, false, &f) && f.name && *f.name)
			x->names[id] = f.name;
	pthread_mutex_unlock(&x->trace->lock);
	for (size_t i = 0; i < x->nfunctions && x->functions[i].id <= x->nnames; i++)
		if (!x->names[x->functions[i].id])
			x->names[x->functions[i].id] = xray_name_of(x, x->functions[i].cls, &len);
	return true;
}

bool xray_functions_number(struct xray_write *x)
{
	uint32_t last = 0;
	bool stay;

	if (!functions_list(x))
		return false;
	if (x->nfunctions)
		qsort_r(x->functions, x->nfunctions, sizeof(*x->functions), function_order,
			x->trace);
	stay = numbers_stay(x);
	for (size_t i = 0; i < x->nfunctions; i++) {
		struct xray_out_function *f = &x->functions[i];

		last += !i || function_order(f, &x->functions[i - 1], x->trace) != 0;
		x->ids[f->cls] = stay ? f->id : last;
	}
	functions_fold(x);
	for (struct xray_out_thread *th = x->threads; th && x->own_ids && !stay; th = th->next)
		for (unsigned kind = SPUR_BEGIN; kind <= SPUR_END_SPAN; kind++)
			loss_add_n(&x->write->loss, LOST_IDS, kind, th->counts[kind]);
	return names_collect(x, stay);
}

/* --- the map --- */

enum {
	SLEDS = 2, /* of a function: its entry and its exit */
	SLED_VERSION = 2, /* addresses are relative to their fields */
	ENTRY = 32, /* bytes of a sled in the map */
	FUNCTION_BYTES = 32, /* of code that is not there */
	EXIT_AT = 16, /* of a function's exit sled */
	PAGE = 4096,
};

static const uint64_t text_address = 0x400000;

static uint64_t function_address(uint32_t id)
{
	return text_address + (uint64_t)(id - 1) * FUNCTION_BYTES;
}

/* Sections, in their order. */
enum section { NOTHING, TEXT, MAP, INDEX, SYMBOLS, STRINGS, SECTION_NAMES, SECTIONS };

/* Names of sections, one after the other, and where each begins. */
static const char section_names[] =
	"\0.text\0xray_instr_map\0xray_fn_idx\0.symtab\0.strtab\0.shstrtab";
static const uint32_t section_name_at[SECTIONS] = { 0, 1, 7, 22, 34, 42, 50 };

/* The file as it will be. */
struct layout {
	uint64_t text_size, map_size, index_size, symbols_size, strings_size;
	uint64_t map_at, index_at, symbols_at, strings_at, names_at, sections_at; /* in the file */
	uint64_t map_address, index_address;
};

static struct layout layout_of(const struct xray_write *x)
{
	struct layout f = { .map_at = sizeof(Elf64_Ehdr), .strings_size = 1 };
	uint64_t named = 0;

	for (uint32_t id = 1; id <= x->nnames; id++) {
		named += x->names[id] != NULL;
		f.strings_size += x->names[id] ? strlen(x->names[id]) + 1 : 0;
	}
	f.text_size = (uint64_t)x->nnames * FUNCTION_BYTES;
	f.map_size = (uint64_t)x->nnames * SLEDS * ENTRY;
	f.index_size = (uint64_t)x->nnames * 16;
	f.symbols_size = (named + 1) * sizeof(Elf64_Sym);
	f.index_at = f.map_at + f.map_size;
	f.symbols_at = f.index_at + f.index_size;
	f.strings_at = f.symbols_at + f.symbols_size;
	f.names_at = f.strings_at + f.strings_size;
	f.sections_at = align_up(f.names_at + sizeof(section_names), 8);
	f.map_address = align_up(text_address + f.text_size, PAGE);
	f.index_address = f.map_address + f.map_size;
	return f;
}

static const bool swapped = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

static uint16_t le16(uint64_t v)
{
	return swapped ? __builtin_bswap16((uint16_t)v) : (uint16_t)v;
}

static uint32_t le32(uint64_t v)
{
	return swapped ? __builtin_bswap32((uint32_t)v) : (uint32_t)v;
}

static uint64_t le64(uint64_t v)
{
	return swapped ? __builtin_bswap64(v) : v;
}

static void put_head(const struct layout *f, struct out *o)
{
	const Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT, ELFOSABI_NONE },
		.e_type = le16(ET_EXEC),
		.e_machine = le16(EM_X86_64),
		.e_version = le32(EV_CURRENT),
		.e_entry = le64(text_address),
		.e_shoff = le64(f->sections_at),
		.e_ehsize = le16(sizeof(Elf64_Ehdr)),
		.e_shentsize = le16(sizeof(Elf64_Shdr)),
		.e_shnum = le16(SECTIONS),
		.e_shstrndx = le16(SECTION_NAMES),
	};

	out_bytes(o, &head, sizeof(head));
}

static void put_sled(const struct layout *f, uint32_t id, unsigned sled, struct out *o)
{
	const uint64_t function = function_address(id),
		       field = f->map_address + ((uint64_t)(id - 1) * SLEDS + sled) * ENTRY;
	uint8_t entry[ENTRY] = { 0 };

	/* SPEC xray-names/relative: each less by the address of its own field */
	store64(entry, function + sled * EXIT_AT - field, swapped);
	store64(entry + 8, function - field - 8, swapped);
	entry[16] = sled ? XRAY_SLED_EXIT : XRAY_SLED_ENTER;
	entry[18] = SLED_VERSION;
	out_bytes(o, entry, sizeof(entry));
}

/* SPEC xray-names/index: where a function's sleds begin, less by the field's address; how many */
static void put_index(const struct layout *f, uint32_t id, struct out *o)
{
	const uint64_t n = id - 1;
	const uint64_t words[2] = {
		le64(f->map_address + n * SLEDS * ENTRY - (f->index_address + n * 16)), le64(SLEDS)
	};

	out_bytes(o, words, sizeof(words));
}

static void put_symbols(const struct xray_write *x, struct out *o)
{
	uint64_t at = 1;

	out_bytes(o, &(Elf64_Sym){ 0 }, sizeof(Elf64_Sym));
	for (uint32_t id = 1; id <= x->nnames; id++) {
		if (!x->names[id])
			continue;
		out_bytes(o,
			  &(Elf64_Sym){ .st_name = le32(at),
					.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					.st_shndx = le16(TEXT),
					.st_value = le64(function_address(id)),
					.st_size = le64(FUNCTION_BYTES) },
			  sizeof(Elf64_Sym));
		at += strlen(x->names[id]) + 1;
	}
}

static void put_strings(const struct xray_write *x, struct out *o)
{
	out_char(o, '\0');
	for (uint32_t id = 1; id <= x->nnames; id++)
		if (x->names[id])
			out_bytes(o, x->names[id], strlen(x->names[id]) + 1);
}

static void put_sections(const struct layout *f, struct out *o)
{
	const Elf64_Shdr sections[SECTIONS] = {
		[TEXT] = { .sh_type = SHT_NOBITS,
			   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			   .sh_addr = text_address,
			   .sh_offset = f->map_at,
			   .sh_size = f->text_size,
			   .sh_addralign = 16 },
		[MAP] = { .sh_type = SHT_PROGBITS,
			  .sh_flags = SHF_ALLOC,
			  .sh_addr = f->map_address,
			  .sh_offset = f->map_at,
			  .sh_size = f->map_size,
			  .sh_addralign = 8 },
		[INDEX] = { .sh_type = SHT_PROGBITS,
			    .sh_flags = SHF_ALLOC,
			    .sh_addr = f->index_address,
			    .sh_offset = f->index_at,
			    .sh_size = f->index_size,
			    .sh_addralign = 8 },
		[SYMBOLS] = { .sh_type = SHT_SYMTAB,
			      .sh_offset = f->symbols_at,
			      .sh_size = f->symbols_size,
			      .sh_link = STRINGS,
			      .sh_info = 1,
			      .sh_addralign = 8,
			      .sh_entsize = sizeof(Elf64_Sym) },
		[STRINGS] = { .sh_type = SHT_STRTAB,
			      .sh_offset = f->strings_at,
			      .sh_size = f->strings_size,
			      .sh_addralign = 1 },
		[SECTION_NAMES] = { .sh_type = SHT_STRTAB,
				    .sh_offset = f->names_at,
				    .sh_size = sizeof(section_names),
				    .sh_addralign = 1 },
	};

	for (size_t i = 0; i < SECTIONS; i++) {
		const Elf64_Shdr *s = &sections[i];
		const Elf64_Shdr stored = { .sh_name = le32(section_name_at[i]),
					    .sh_type = le32(s->sh_type),
					    .sh_flags = le64(s->sh_flags),
					    .sh_addr = le64(s->sh_addr),
					    .sh_offset = le64(s->sh_offset),
					    .sh_size = le64(s->sh_size),
					    .sh_link = le32(s->sh_link),
					    .sh_info = le32(s->sh_info),
					    .sh_addralign = le64(s->sh_addralign),
					    .sh_entsize = le64(s->sh_entsize) };

		out_bytes(o, &stored, sizeof(stored));
	}
}

bool xray_names_elf(struct xray_write *x, struct out *o)
{
	const struct layout f = layout_of(x);

	if (f.symbols_size == sizeof(Elf64_Sym))
		return true;
	put_head(&f, o);
	for (uint32_t id = 1; id <= x->nnames; id++)
		for (unsigned sled = 0; sled < SLEDS; sled++)
			put_sled(&f, id, sled, o);
	for (uint32_t id = 1; id <= x->nnames; id++)
		put_index(&f, id, o);
	put_symbols(x, o);
	put_strings(x, o);
	out_bytes(o, section_names, sizeof(section_names));
	out_pad(o, '\0', f.sections_at - f.names_at - sizeof(section_names));
	put_sections(&f, o);
	return o->error != ENOMEM;
}

/* --- YAML --- */

void xray_yaml_text(struct out *o, const char *s, size_t len)
{
	bool plain = true;

	for (size_t i = 0; i < len; i++)
		plain &= (uint8_t)s[i] >= ' ' && s[i] != 0x7f;
	if (!plain) {
		out_json(o, s, len);
		return;
	}
	out_char(o, '\'');
	for (size_t i = 0; i < len; i++) {
		out_char(o, s[i]);
		if (s[i] == '\'')
			out_char(o, '\'');
	}
	out_char(o, '\'');
}

/* SPEC xray-names/yaml: the layout of llvm-xray extract */
static void yaml_function(uint32_t id, const char *name, struct out *o)
{
	const uint64_t function = function_address(id);

	for (unsigned sled = 0; sled < SLEDS; sled++) {
		out_printf(o, "- { id: %u, address: 0x%llX, function: 0x%llX, kind: %s, ", id,
			   (unsigned long long)(function + sled * EXIT_AT),
			   (unsigned long long)function,
			   xray_sled_kind_name(sled ? XRAY_SLED_EXIT : XRAY_SLED_ENTER));
		out_str(o, "always-instrument: false, function-name: ");
		if (name)
			xray_yaml_text(o, name, strlen(name));
		else
			out_printf(o, "'@(%llx)'", (unsigned long long)function);
		out_printf(o, ", version: %d }\n", SLED_VERSION);
	}
}

bool xray_names_yaml(struct xray_write *x, struct out *o)
{
	size_t len;

	out_str(o, "---\n");
	for (uint32_t id = 1; id <= x->nnames; id++)
		yaml_function(id, x->names[id], o);
	for (size_t i = 0; i < x->nfunctions; i++)
		if (x->functions[i].id > x->nnames)
			yaml_function(x->functions[i].id,
				      xray_name_of(x, x->functions[i].cls, &len), o);
	out_str(o, "...\n");
	return o->error != ENOMEM;
}
