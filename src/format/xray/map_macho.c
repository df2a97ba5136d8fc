/*
 * The instrumentation map of little-endian Mach-O files of 64 bit, alone or the first x86-64 or
 * arm64 one of a universal file, with the names of their symbol table. Not read: lines (they are in
 * another file), chained fix-ups of maps before version 2.
 */
#include <string.h>

#include "base/cursor.h"
#include "format/xray/map_parts.h"

enum {
	HEAD_SIZE = 32,
	COMMAND_SIZE = 8,
	SEGMENT_SIZE = 72,
	SECTION_SIZE = 80,
	SYMBOL_SIZE = 16,
	RELOC_SIZE = 8,
	NAME_SIZE = 16, /* of sections and segments */
	SECTIONS = 255, /* that symbols can name */
	UUID_SIZE = 16,
	FAT_MOST = 40, /* architectures; where a Java class has its version, which is higher */
	NAMES_ROOM = 1 << 16, /* names take no more than this and .. */
	NAMES_FACTOR = 4, /* .. as a multiple of the string table */
};

/* Numbers of the format. */
enum { LC_SYMTAB = 2, LC_SEGMENT_64 = 0x19, LC_UUID = 0x1b };
enum { MH_OBJECT = 1, MH_EXECUTE = 2, MH_DYLIB = 6, MH_BUNDLE = 8 };
enum { CPU_X86_64 = 0x01000007, CPU_ARM64 = 0x0100000c };
enum { N_STAB = 0xe0, N_TYPE = 0x0e, N_SECT = 0x0e };
enum { RELOC_UNSIGNED = 0, RELOC_SUBTRACTOR_ARM64 = 1, RELOC_SUBTRACTOR_X86_64 = 5 };
static const uint32_t magic_32 = 0xfeedface, magic_64 = 0xfeedfacf, magic_fat = 0xcafebabe,
		      magic_fat_64 = 0xcafebabf, code_flags = 0x80000400;

struct macho_section {
	uint64_t address, size;
	bool code;
};

struct macho {
	struct site_map *m; /* NULL: only looked at */
	const uint8_t *data; /* of the one architecture */
	size_t size;
	uint32_t cpu, type;
	struct macho_section sections[SECTIONS];
	size_t nsections;
	bool has_map, has_index;
	struct map_part map, index;
	uint32_t reloc_off[2], nrelocs[2]; /* of map and index */
	uint32_t symbols_off, nsymbols, strings_off, strings_size;
};

/* Over `size` bytes at `off`; bad where they are not all there. */
static struct cursor part(const struct macho *o, uint64_t off, uint64_t size)
{
	const bool swap = order_swaps(false);
	struct cursor c = cursor_make(o->data, 0, swap);

	if (off > o->size || size > o->size - off)
		c.bad = true;
	else
		c = cursor_make(o->data + off, (size_t)size, swap);
	return c;
}

bool map_is_macho(const uint8_t *head, size_t len)
{
	uint32_t little, big;

	if (len < 8)
		return false;
	little = load32(head, order_swaps(false));
	big = load32(head, order_swaps(true));
	if (little == magic_64 || big == magic_64 || little == magic_32 || big == magic_32)
		return true;
	return (big == magic_fat || big == magic_fat_64) &&
	       load32(head + 4, order_swaps(true)) < FAT_MOST;
}

/* Selects the architecture to read. Returns false if none is supported. */
static bool read_fat(struct macho *o)
{
	struct cursor c = cursor_make(o->data, o->size, order_swaps(true));
	const bool wide = cursor_u32(&c) == magic_fat_64;
	const uint32_t n = cursor_u32(&c);

	for (uint32_t i = 0; i < n && !c.bad; i++) {
		const uint32_t cpu = cursor_u32(&c);
		uint64_t off, size;

		cursor_u32(&c);
		off = wide ? cursor_u64(&c) : cursor_u32(&c);
		size = wide ? cursor_u64(&c) : cursor_u32(&c);
		cursor_bytes(&c, wide ? 8 : 4);
		if (c.bad || (cpu != CPU_X86_64 && cpu != CPU_ARM64))
			continue;
		if (off > o->size)
			return false;
		o->data += off;
		o->size = size < o->size - off ? (size_t)size : o->size - (size_t)off;
		return true;
	}
	return false;
}

static bool name_is(const uint8_t *p, const char *name)
{
	return p && !strncmp((const char *)p, name, NAME_SIZE);
}

static void read_part(struct macho *o, struct map_part *p, const struct macho_section *s,
		      uint32_t off)
{
	struct cursor c = part(o, off, s->size);

	*p = (struct map_part){ .address = s->address };
	if (!c.bad) {
		p->data = c.p;
		p->size = (size_t)s->size;
	}
}

static void read_section(struct macho *o, struct cursor *c)
{
	const uint8_t *name = cursor_bytes(c, NAME_SIZE), *segment = cursor_bytes(c, NAME_SIZE);
	const uint64_t address = cursor_u64(c), size = cursor_u64(c);
	const uint32_t off = cursor_u32(c), align = cursor_u32(c), relocs = cursor_u32(c),
		       nrelocs = cursor_u32(c), flags = cursor_u32(c);
	/* Linkers put it into __DATA_CONST too. */
	const bool data = segment && !strncmp((const char *)segment, "__DATA", 6);
	struct macho_section s;

	(void)align;
	cursor_bytes(c, 12);
	if (c->bad)
		return;
	s = (struct macho_section){ address, size, flags & code_flags };
	if (o->nsections < SECTIONS)
		o->sections[o->nsections++] = s;
	if (data && name_is(name, "xray_instr_map")) {
		o->has_map = true;
		o->reloc_off[0] = relocs;
		o->nrelocs[0] = nrelocs;
		read_part(o, &o->map, &s, off);
	} else if (data && name_is(name, "xray_fn_idx")) {
		o->has_index = true;
		o->reloc_off[1] = relocs;
		o->nrelocs[1] = nrelocs;
		read_part(o, &o->index, &s, off);
	}
}

static void read_segment(struct macho *o, struct cursor *c)
{
	uint32_t n;

	cursor_bytes(c, SEGMENT_SIZE - COMMAND_SIZE - 8);
	n = cursor_u32(c);
	cursor_u32(c);
	for (uint32_t i = 0; i < n && cursor_left(c) >= SECTION_SIZE; i++)
		read_section(o, c);
}

static void read_uuid(struct macho *o, struct cursor *c)
{
	static const char hex[] = "0123456789abcdef";
	const uint8_t *id = cursor_bytes(c, UUID_SIZE);

	for (size_t i = 0; o->m && id && i < UUID_SIZE; i++) {
		o->m->build_id[2 * i] = hex[id[i] >> 4];
		o->m->build_id[2 * i + 1] = hex[id[i] & 15];
	}
}

static void read_command(struct macho *o, uint32_t command, struct cursor *c)
{
	switch (command) {
	case LC_SEGMENT_64:
		read_segment(o, c);
		break;
	case LC_SYMTAB:
		o->symbols_off = cursor_u32(c);
		o->nsymbols = cursor_u32(c);
		o->strings_off = cursor_u32(c);
		o->strings_size = cursor_u32(c);
		break;
	case LC_UUID:
		read_uuid(o, c);
		break;
	default:
		break;
	}
}

/* Finds what there is. False: no Mach-O file of 64 bit. */
static bool parse_file(struct macho *o, const uint8_t *data, size_t size)
{
	struct cursor c;
	uint32_t n, room;

	*o = (struct macho){ .m = o->m, .data = data, .size = size };
	c = cursor_make(data, size, order_swaps(true));
	n = cursor_u32(&c);
	if ((n == magic_fat || n == magic_fat_64) && !read_fat(o))
		return false;
	c = part(o, 0, HEAD_SIZE);
	if (cursor_u32(&c) != magic_64)
		return false;
	o->cpu = cursor_u32(&c);
	cursor_u32(&c);
	o->type = cursor_u32(&c);
	n = cursor_u32(&c);
	room = cursor_u32(&c);
	c = part(o, HEAD_SIZE, room < o->size - HEAD_SIZE ? room : o->size - HEAD_SIZE);
	for (uint32_t i = 0; i < n && cursor_left(&c) >= COMMAND_SIZE; i++) {
		const uint32_t command = cursor_u32(&c), len = cursor_u32(&c);
		struct cursor in = c;

		if (len < COMMAND_SIZE || !cursor_bytes(&c, len - COMMAND_SIZE))
			break;
		in.end = c.p;
		read_command(o, command, &in);
	}
	return true;
}

/* The value of the symbol of that number. */
static uint64_t symbol_value(const struct macho *o, uint32_t number)
{
	struct cursor c;

	if (number >= o->nsymbols)
		return 0;
	c = part(o, (uint64_t)o->symbols_off + (uint64_t)number * SYMBOL_SIZE, SYMBOL_SIZE);
	cursor_u64(&c);
	return cursor_u64(&c);
}

/*
 * SPEC xray-names/macho-object: in a relocatable file the words lack the values of the symbols that
 * their relocations name; sections' addresses are in them already.
 */
static bool read_relocations(const struct macho *o, struct map_part *p, uint32_t off, uint32_t n)
{
	struct cursor c = part(o, off, (uint64_t)n * RELOC_SIZE);
	const uint32_t subtractor =
		o->cpu == CPU_ARM64 ? RELOC_SUBTRACTOR_ARM64 : RELOC_SUBTRACTOR_X86_64;

	while (cursor_left(&c) >= RELOC_SIZE) {
		const uint32_t at = cursor_u32(&c), word = cursor_u32(&c);
		/* From the low bit: symbol (24), relative, length (2), is a symbol's, type (4) */
		const bool external = word >> 27 & 1;
		const uint32_t type = word >> 28, length = word >> 25 & 3;
		uint64_t value;

		if (!external || length != 3 || (type != RELOC_UNSIGNED && type != subtractor))
			continue;
		value = symbol_value(o, word & 0xffffff);
		if (!map_fix_word(
			    o->m, p, at,
			    (struct map_fix){ .how = MAP_FIX_ADD,
					      .value = type == subtractor ? 0 - value : value }))
			return false;
	}
	return true;
}

/* Where a section ends, the last function in it does. */
static bool end_sections(const struct macho *o)
{
	for (size_t i = 0; i < o->nsections; i++)
		if (o->sections[i].code &&
		    o->sections[i].size <= UINT64_MAX - o->sections[i].address &&
		    !symtab_add(&o->m->symbols, o->sections[i].address + o->sections[i].size, 0,
				't', "", 0))
			return false;
	return true;
}

/*
 * SPEC xray-names/macho-symbols: symbols of code sections; the underscore in front of C's names
 * does not belong to them. Of two at one address the one with an underscore counts: the other is
 * the assembler's.
 */
static bool read_symbols(const struct macho *o, bool underscore)
{
	struct cursor c = part(o, o->symbols_off, (uint64_t)o->nsymbols * SYMBOL_SIZE);
	struct cursor strings = part(o, o->strings_off, o->strings_size);
	/* Names may overlap: what is looked through has a limit. */
	uint64_t room = (uint64_t)NAMES_FACTOR * cursor_left(&strings) + NAMES_ROOM;

	while (cursor_left(&c) >= SYMBOL_SIZE) {
		const uint32_t at = cursor_u32(&c);
		const uint8_t type = cursor_u8(&c), section = cursor_u8(&c);
		uint64_t value;
		const char *name;
		size_t len;

		cursor_u16(&c);
		value = cursor_u64(&c);
		if ((type & N_STAB) || (type & N_TYPE) != N_SECT || !section ||
		    section > o->nsections || !o->sections[section - 1].code ||
		    at >= cursor_left(&strings))
			continue;
		name = (const char *)strings.p + at;
		len = strnlen(name, cursor_left(&strings) - at);
		if (len > room)
			break;
		room -= len;
		if (len && (name[0] == '_') == underscore &&
		    !symtab_add(&o->m->symbols, value, 0, 'T', name + underscore, len - underscore))
			return false;
	}
	return true;
}

enum spur_status map_read_macho(struct site_map *m, const struct source *s, struct spur_error *err)
{
	struct macho o = { .m = m };
	enum spur_status st;
	bool ok = true;

	if (!parse_file(&o, s->data, (size_t)s->size))
		return err_set(
			err, SPUR_ERR_FORMAT,
			"%s: expected a Mach-O file of 64 bit for x86-64 or arm64, found another",
			m->path);
	if (!o.has_map || !o.map.size)
		return err_set(
			err, SPUR_ERR_FORMAT,
			"%s: expected an XRay instrumentation map (section "
			"__DATA,xray_instr_map), found none: was it built with -fxray-instrument?",
			m->path);
	m->word = 8;
	m->swap = order_swaps(false);
	if (o.type == MH_OBJECT)
		ok = read_relocations(&o, &o.map, o.reloc_off[0], o.nrelocs[0]) &&
		     read_relocations(&o, &o.index, o.reloc_off[1], o.nrelocs[1]);
	ok = ok && end_sections(&o) && read_symbols(&o, false) && read_symbols(&o, true);
	st = ok ? map_read_entries(m, &o.map, err) : err_nomem(err);
	if (st == SPUR_OK && !m->count)
		st = err_set(err, SPUR_ERR_FORMAT, "%s: expected a whole sled, found %zu bytes",
			     m->path, o.map.size);
	map_number(m);
	if (st == SPUR_OK && o.has_index && o.type != MH_OBJECT)
		st = map_read_index(m, &o.map, &o.index, err);
	mem_free(o.map.fixes);
	mem_free(o.index.fixes);
	return st;
}

enum map_kind map_kind_macho(const char *path)
{
	struct macho o = { 0 };
	enum map_kind kind = MAP_NOTHING;
	struct source *s;

	if (source_open(&s, path, NULL, NULL) == SPUR_FAIL)
		return MAP_NOTHING;
	if (s->mapped && parse_file(&o, s->data, (size_t)s->size) && o.has_map && o.map.size)
		kind = o.type == MH_EXECUTE			   ? MAP_PROGRAM
		       : o.type == MH_DYLIB || o.type == MH_BUNDLE ? MAP_LIBRARY
								   : MAP_NOTHING;
	source_close(s);
	return kind;
}
