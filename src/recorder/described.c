/*
 * See described.h. The calling convention passes integers and pointers in six registers, floating
 * point in eight others, both in turn; what fits in neither is on the stack, a word or more each.
 * Large and non-trivial structs are returned through a pointer that comes before all arguments.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/map64.h"
#include "format/spur/wire.h"
#include "recorder/described.h"

enum {
	INTEGERS = 6,
	VECTORS = 8,
	WORD = 8,
	IN_REGISTERS = 16, /* bytes of the largest struct that registers hold */
	MEMBERS = 16, /* scalar members of one that have names */
	PARTS = 4096, /* of one that are looked at */
	DEPTH = 8, /* of structs in structs, of types behind types */
	NAME = 128,
	STD_STRING = 32, /* bytes of a std::string */
	BY_REFERENCE = 4, /* DW_CC_pass_by_reference */
};

struct dwarf_arguments {
	struct elf_file debug;
	Dwarf *dwarf;
	struct map64 functions; /* address -> offset of its entry */
};

/* --- opening --- */

/* A function whose code is in several parts may be entered at the first one only. */
static int add_function(Dwarf_Die *die, void *self)
{
	struct dwarf_arguments *const d = self;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		struct map64_slot *const slot = map64_put(&d->functions, start);

		if (!slot)
			return DWARF_CB_ABORT;
		if (!slot->value)
			slot->value = dwarf_dieoffset(die);
	}
	return DWARF_CB_OK;
}

static bool has_information(const struct elf_file *f)
{
	GElf_Shdr sh;

	return elf_file_section(f, SHT_PROGBITS, ".debug_info", &sh) ||
	       elf_file_section(f, SHT_PROGBITS, ".zdebug_info", &sh);
}

struct dwarf_arguments *described_open(const struct binary *b, const char *dirs)
{
	struct dwarf_arguments *d = mem_alloc(sizeof(*d));
	const struct elf_file *from = &b->file;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t kind;

	if (!d)
		return NULL;
	d->debug.fd = -1;
	if (!has_information(from) && elf_file_debug(&d->debug, from, b->path, dirs))
		from = &d->debug;
	if (has_information(from))
		d->dwarf = dwarf_begin_elf(from->elf, DWARF_C_READ, NULL);
	if (!d->dwarf) {
		described_close(d);
		return NULL;
	}
	while (dwarf_get_units(d->dwarf, cu, &cu, NULL, &kind, &die, NULL) == 0)
		if (kind == DW_UT_compile)
			dwarf_getfuncs(&die, add_function, d, 0);
	return d;
}

void described_close(struct dwarf_arguments *d)
{
	if (!d)
		return;
	if (d->dwarf)
		dwarf_end(d->dwarf);
	elf_file_close(&d->debug);
	map64_free(&d->functions);
	mem_free(d);
}

/* --- types --- */

/* A value as it can be recorded. */
struct value {
	uint8_t read, type, size; /* as in struct plan_arg */
	bool is_vector;
};

/*
 * Gets the type of an entry without typedefs and qualifiers. Returns false if it is void. A type
 * that has a unit of its own is in the others no more than that unit's signature.
 */
static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Die whole;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attr) || !dwarf_formref_die(&attr, type) ||
	    dwarf_peel_type(type, type) != 0)
		return false;
	if (dwarf_attr(type, DW_AT_signature, &attr) && dwarf_formref_die(&attr, &whole))
		*type = whole;
	return true;
}

static uint64_t size_of(Dwarf_Die *type)
{
	Dwarf_Word size;

	return dwarf_aggregate_size(type, &size) == 0 ? size : 0;
}

static bool is_named(Dwarf_Die *die, const char *name)
{
	const char *const has = dwarf_diename(die);

	return has && strcmp(has, name) == 0;
}

/*
 * Returns true for the string that begins with a pointer and a length. Those of libstdc++'s old ABI
 * and of libc++ are smaller; where the class is only declared, its namespace tells it from them.
 */
static bool is_std_string(Dwarf_Die *type)
{
	const char *const name = dwarf_diename(type);
	const uint64_t size = size_of(type);
	Dwarf_Die *scopes = NULL;
	bool is = false;

	if (!name || strncmp(name, "basic_string<char,", 18) != 0)
		return false;
	if (size)
		return size == STD_STRING;
	if (dwarf_getscopes_die(type, &scopes) > 1)
		is = is_named(&scopes[1], "__cxx11");
	free(scopes);
	return is;
}

static unsigned encoding_of(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word v = 0;

	if (dwarf_tag(type) != DW_TAG_base_type ||
	    dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attr), &v) != 0)
		return 0;
	return (unsigned)v;
}

static bool is_char(Dwarf_Die *type)
{
	return is_named(type, "char") && size_of(type) == 1;
}

static bool base_value(Dwarf_Die *type, struct value *v)
{
	const uint64_t size = size_of(type);

	*v = (struct value){ .read = PLAN_VALUE, .size = (uint8_t)size };
	switch (encoding_of(type)) {
	case DW_ATE_boolean:
		v->type = SPB_BOOL;
		break;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		v->type = is_char(type) ? SPB_CHAR : SPB_I64;
		break;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		v->type = is_char(type) ? SPB_CHAR : SPB_U64;
		break;
	case DW_ATE_float:
		v->type = SPB_F64;
		v->is_vector = true;
		return size == 4 || size == 8;
	default:
		return false;
	}
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool pointer_value(Dwarf_Die *type, struct value *v)
{
	const bool is_reference = dwarf_tag(type) != DW_TAG_pointer_type;
	Dwarf_Die to;

	*v = (struct value){ .read = PLAN_VALUE, .type = SPB_POINTER, .size = WORD };
	if (!type_of(type, &to))
		return true;
	if (!is_reference && is_char(&to))
		*v = (struct value){ .read = PLAN_TEXT, .type = SPB_TEXT, .size = WORD };
	else if (is_reference && is_std_string(&to))
		*v = (struct value){ .read = PLAN_STD_STRING, .type = SPB_TEXT, .size = WORD };
	return true;
}

/* Of a pointer to a member: what it points to is a function, so it fills two registers. */
static bool is_to_function(Dwarf_Die *type)
{
	Dwarf_Die to;

	return type_of(type, &to) && dwarf_tag(&to) == DW_TAG_subroutine_type;
}

/* Returns false if the type is none that one record of a value can have. */
static bool scalar_value(Dwarf_Die *type, struct value *v)
{
	const uint64_t size = size_of(type);
	Dwarf_Die below;

	switch (dwarf_tag(type)) {
	case DW_TAG_base_type:
		return base_value(type, v);
	case DW_TAG_enumeration_type:
		*v = (struct value){ .read = PLAN_VALUE, .type = SPB_I64, .size = (uint8_t)size };
		if (type_of(type, &below) && base_value(&below, v) && v->type == SPB_BOOL)
			v->type = SPB_U64;
		return size == 1 || size == 2 || size == 4 || size == 8;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return pointer_value(type, v);
	case DW_TAG_ptr_to_member_type:
		*v = (struct value){ .read = PLAN_VALUE, .type = SPB_I64, .size = WORD };
		return !is_to_function(type);
	default:
		return false;
	}
}

static bool is_struct(Dwarf_Die *type)
{
	const int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_array_type;
}

/* --- structs --- */

/* How a word of a value is passed. Of two that share a word, the greater one counts. */
enum word_class {
	WORD_NONE, /* padding: not at all */
	WORD_UPPER, /* in the upper half of the vector register before it */
	WORD_VECTOR,
	WORD_INTEGER,
	WORD_X87, /* an argument: on the stack */
};

struct member {
	struct value value;
	uint32_t offset;
	char name[NAME];
};

struct members {
	struct member list[MEMBERS];
	unsigned count;
	enum word_class words[IN_REGISTERS / WORD];
	bool hidden[IN_REGISTERS / WORD]; /* a part of the word is not in the list */
	bool in_memory; /* never in registers */
	bool unknown; /* of a part it is not known how it is passed */
	uint32_t align;
	unsigned parts;
};

static void add_type(struct members *m, Dwarf_Die *type, uint64_t offset, const char *path,
		     unsigned depth, bool listed);

static void classify(struct members *m, uint64_t offset, uint64_t size, enum word_class class)
{
	for (uint64_t i = offset / WORD; i * WORD < offset + size && i < IN_REGISTERS / WORD; i++) {
		enum word_class *const word = &m->words[i];

		if (*word != WORD_NONE && *word != class &&
		    (*word == WORD_X87 || class == WORD_X87))
			m->in_memory = true;
		if (class > *word)
			*word = class;
	}
}

static void hide(struct members *m, uint64_t offset, uint64_t size)
{
	for (uint64_t i = offset / WORD; i * WORD < offset + size && i < IN_REGISTERS / WORD; i++)
		m->hidden[i] = true;
}

/* A part that is aligned to its size, unless the struct is packed. */
static void add_scalar(struct members *m, const struct value *v, uint64_t offset, const char *path,
		       bool listed)
{
	if (v->size > m->align)
		m->align = v->size;
	if (offset % v->size)
		m->in_memory = true;
	classify(m, offset, v->size, v->is_vector ? WORD_VECTOR : WORD_INTEGER);
	if (!listed || m->count == MEMBERS) {
		hide(m, offset, v->size);
		return;
	}
	m->list[m->count] = (struct member){ .value = *v, .offset = (uint32_t)offset };
	snprintf(m->list[m->count++].name, NAME, "%s", path);
}

/* Two parts that the language gives no names. */
static void add_pair(struct members *m, const struct value *a, const char *a_name,
		     const struct value *b, const char *b_name, uint64_t offset, const char *path,
		     bool listed)
{
	char name[NAME + 8];

	snprintf(name, sizeof(name), "%s.%s", path, a_name);
	add_scalar(m, a, offset, name, listed);
	snprintf(name, sizeof(name), "%s.%s", path, b_name);
	add_scalar(m, b, offset + a->size, name, listed);
}

/* A number that is wider than what one record of a value can have. */
static void add_wide(struct members *m, uint64_t offset, enum word_class low, enum word_class high)
{
	if (m->align < IN_REGISTERS)
		m->align = IN_REGISTERS;
	if (offset % IN_REGISTERS)
		m->in_memory = true;
	classify(m, offset, WORD, low);
	classify(m, offset + WORD, WORD, high);
	hide(m, offset, IN_REGISTERS);
}

static void add_base(struct members *m, Dwarf_Die *type, uint64_t offset, const char *path,
		     bool listed)
{
	const uint64_t size = size_of(type);
	const unsigned encoding = encoding_of(type);
	const struct value part = { .read = PLAN_VALUE,
				    .type = SPB_F64,
				    .size = (uint8_t)(size / 2),
				    .is_vector = true };

	if (encoding == DW_ATE_complex_float && (size == 8 || size == 16)) {
		add_pair(m, &part, "real", &part, "imag", offset, path, listed);
	} else if ((encoding == DW_ATE_float && size == 16) ||
		   (encoding == DW_ATE_complex_float && size == 32)) {
		add_wide(m, offset, WORD_X87, WORD_X87);
	} else if ((encoding == DW_ATE_signed || encoding == DW_ATE_unsigned) && size == 16) {
		add_wide(m, offset, WORD_INTEGER, WORD_INTEGER);
	} else {
		m->unknown = true;
	}
}

static void add_array(struct members *m, Dwarf_Die *type, uint64_t offset, unsigned depth)
{
	const uint64_t size = size_of(type);
	Dwarf_Die element;
	uint64_t each;

	if (dwarf_hasattr(type, DW_AT_GNU_vector)) {
		/* Larger ones are passed as the compiler's options for the CPU say. */
		if (size == IN_REGISTERS) {
			add_wide(m, offset, WORD_VECTOR, WORD_UPPER);
		} else {
			classify(m, offset, size, WORD_VECTOR);
			hide(m, offset, size);
			m->unknown |= size != WORD;
		}
		return;
	}
	if (!type_of(type, &element)) {
		m->unknown = true;
		return;
	}
	/* All elements are alike, and one tells the alignment where the rest is in memory. */
	each = size_of(&element);
	for (uint64_t at = 0; each && each <= size - at && (!at || offset + at < IN_REGISTERS);
	     at += each)
		add_type(m, &element, offset + at, "", depth + 1, false);
}

/* Returns false if the entry says no place. Without any it is the first of its struct. */
static bool offset_of(Dwarf_Die *member, Dwarf_Word *offset)
{
	Dwarf_Attribute attr;

	*offset = 0;
	if (dwarf_attr(member, DW_AT_data_bit_offset, &attr)) {
		if (dwarf_formudata(&attr, offset) != 0)
			return false;
		*offset /= 8;
		return true;
	}
	return !dwarf_attr(member, DW_AT_data_member_location, &attr) ||
	       dwarf_formudata(&attr, offset) == 0;
}

static void add_member(struct members *m, Dwarf_Die *member, uint64_t offset, const char *prefix,
		       unsigned depth, bool listed)
{
	const char *const name = dwarf_diename(member);
	Dwarf_Word at;
	Dwarf_Die type;
	char path[NAME];

	if (!type_of(member, &type) || !offset_of(member, &at)) {
		m->unknown = true;
		return;
	}
	if (dwarf_hasattr(member, DW_AT_bit_size)) {
		classify(m, offset + at, 1, WORD_INTEGER);
		hide(m, offset + at, 1);
		return;
	}
	if (dwarf_tag(member) == DW_TAG_inheritance || !name)
		snprintf(path, sizeof(path), "%s", prefix);
	else
		snprintf(path, sizeof(path), "%s.%s", prefix, name);
	add_type(m, &type, offset + at, path, depth + 1, listed);
}

static void add_struct(struct members *m, Dwarf_Die *type, uint64_t offset, const char *path,
		       unsigned depth, bool listed)
{
	const bool is_union = dwarf_tag(type) == DW_TAG_union_type;
	Dwarf_Attribute attr;
	Dwarf_Word align;
	Dwarf_Die child;

	if (dwarf_attr(type, DW_AT_alignment, &attr) && dwarf_formudata(&attr, &align) == 0 &&
	    align > m->align)
		m->align = (uint32_t)align;
	m->unknown |= dwarf_hasattr(type, DW_AT_declaration) != 0;
	if (dwarf_child(type, &child) != 0)
		return;
	do
		if ((dwarf_tag(&child) == DW_TAG_member &&
		     !dwarf_hasattr(&child, DW_AT_external)) ||
		    dwarf_tag(&child) == DW_TAG_inheritance)
			add_member(m, &child, offset, path, depth, listed && !is_union);
	while (!m->unknown && dwarf_siblingof(&child, &child) == 0);
}

/* Adds a type that is at an offset of the value. `listed`: its parts have names of their own. */
static void add_type(struct members *m, Dwarf_Die *type, uint64_t offset, const char *path,
		     unsigned depth, bool listed)
{
	const struct value pointer = { .read = PLAN_VALUE, .type = SPB_POINTER, .size = WORD };
	const struct value number = { .read = PLAN_VALUE, .type = SPB_I64, .size = WORD };
	struct value v;

	if (depth > DEPTH || m->parts++ == PARTS) {
		m->unknown = true;
		return;
	}
	if (scalar_value(type, &v)) {
		add_scalar(m, &v, offset, path, listed);
		return;
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		add_struct(m, type, offset, path, depth, listed);
		return;
	case DW_TAG_array_type:
		add_array(m, type, offset, depth);
		return;
	case DW_TAG_base_type:
		add_base(m, type, offset, path, listed);
		return;
	case DW_TAG_ptr_to_member_type:
		add_pair(m, &pointer, "ptr", &number, "adj", offset, path, listed);
		return;
	case DW_TAG_unspecified_type: /* that of nullptr */
		add_scalar(m, &pointer, offset, path, false);
		return;
	default:
		m->unknown = true;
	}
}

/* Returns true if a member function of a class is its destructor, or may be a copy constructor. */
static bool runs_code(Dwarf_Die *class, Dwarf_Die *function)
{
	const char *const name = dwarf_diename(function), *const of = dwarf_diename(class);
	Dwarf_Die child, type, to;

	if (!name || dwarf_hasattr(function, DW_AT_defaulted) ||
	    dwarf_hasattr(function, DW_AT_artificial))
		return false;
	if (*name == '~')
		return true;
	if (!of || strcmp(name, of) != 0 || dwarf_child(function, &child) != 0)
		return false;
	do
		if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
		    !dwarf_hasattr(&child, DW_AT_artificial) && type_of(&child, &type) &&
		    dwarf_tag(&type) != DW_TAG_pointer_type && type_of(&type, &to) &&
		    is_named(&to, of))
			return true;
	while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static bool is_by_reference(Dwarf_Die *type, unsigned depth);

/* Returns true if a part of a class makes the class one whose copies run code. */
static bool part_runs_code(Dwarf_Die *class, Dwarf_Die *part, unsigned depth)
{
	const int tag = dwarf_tag(part);
	Dwarf_Die type;

	if (tag == DW_TAG_subprogram)
		return runs_code(class, part);
	return ((tag == DW_TAG_member && !dwarf_hasattr(part, DW_AT_external)) ||
		tag == DW_TAG_inheritance) &&
	       type_of(part, &type) && is_by_reference(&type, depth + 1);
}

/*
 * Returns true if a class is passed by a hidden pointer, because copying it runs code. Not all
 * compilers say so.
 */
static bool is_by_reference(Dwarf_Die *type, unsigned depth)
{
	Dwarf_Attribute attr;
	Dwarf_Word how;
	Dwarf_Die child;

	if (is_std_string(type))
		return true;
	if (!is_struct(type) || dwarf_tag(type) == DW_TAG_array_type || depth > DEPTH)
		return false;
	if (dwarf_attr(type, DW_AT_calling_convention, &attr) && dwarf_formudata(&attr, &how) == 0)
		return how == BY_REFERENCE;
	if (dwarf_child(type, &child) != 0)
		return false;
	do
		if (part_runs_code(type, &child, depth))
			return true;
	while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* --- places --- */

/* What the arguments so far have taken. */
struct taken {
	uint32_t integers, vectors, stack; /* stack: bytes above the return address */
	bool lost; /* an argument of unknown size: those on the stack are not known after it */
	/* NULL: nothing is added. */
	bool (*add)(void *self, const struct plan_arg *arg, const char *name);
	void *self;
};

static bool emit(const struct taken *t, const struct value *v, unsigned place, uint32_t offset,
		 const char *name)
{
	const struct plan_arg arg = { .offset = offset,
				      .place = (uint8_t)place,
				      .read = v->read,
				      .type = v->type,
				      .size = v->size };

	return !t->add || t->add(t->self, &arg, name);
}

static uint32_t take_stack(struct taken *t, uint64_t size, uint32_t align)
{
	const uint32_t at = (uint32_t)align_up(t->stack, align);

	t->stack = at + (uint32_t)align_up(size, WORD);
	return at;
}

static bool take_scalar(struct taken *t, const struct value *v, const char *name)
{
	uint32_t *const used = v->is_vector ? &t->vectors : &t->integers;

	if (*used < (v->is_vector ? VECTORS : INTEGERS))
		return emit(t, v, v->is_vector ? PLAN_IN_VECTOR : PLAN_IN_INTEGER, (*used)++, name);
	return t->lost || emit(t, v, PLAN_ON_STACK, take_stack(t, WORD, WORD), name);
}

/* What follows an argument that may be anywhere. */
static void take_unknown(struct taken *t)
{
	t->lost = true;
	t->integers = INTEGERS;
	t->vectors = VECTORS;
}

/*
 * The members of a word that a register holds: one, or its bytes as they are. `bytes`: these are
 * shown.
 */
static bool emit_word(struct taken *t, const struct members *m, uint32_t first, uint64_t size,
		      const char *name, bool bytes)
{
	const enum word_class class = m->words[first / WORD];
	const bool vector = class == WORD_VECTOR;
	const unsigned place = vector ? PLAN_IN_VECTOR : PLAN_IN_INTEGER;
	struct value v = { .read = PLAN_VALUE, .type = SPB_BYTES };
	const struct member *only = NULL;
	uint32_t number;
	unsigned n = 0;

	if (!vector && class != WORD_INTEGER)
		return true;
	number = vector ? t->vectors++ : t->integers++;
	for (unsigned i = 0; i < m->count; i++)
		if (m->list[i].offset / WORD == first / WORD) {
			only = &m->list[i];
			n++;
		}
	if (n == 1 && only->offset == first && !m->hidden[first / WORD])
		return emit(t, &only->value, place, number, only->name);
	if (!bytes || (!first && m->words[1] == WORD_UPPER))
		return true;
	v.size = (uint8_t)(size - first < WORD ? size - first : WORD);
	return emit(t, &v, place, number, name);
}

static bool emit_words(struct taken *t, const struct members *m, uint64_t size, const char *name,
		       bool bytes)
{
	bool good = true;

	for (uint32_t i = 0; good && i < size; i += WORD)
		good = emit_word(t, m, i, size, name, bytes);
	return good;
}

/* Returns true if there are registers left for all words. */
static bool in_registers(const struct taken *t, const struct members *m, uint64_t size)
{
	uint32_t integers = 0, vectors = 0;

	if (size > IN_REGISTERS || m->in_memory || m->words[0] == WORD_X87)
		return false;
	for (unsigned i = 0; i < IN_REGISTERS / WORD; i++) {
		integers += m->words[i] == WORD_INTEGER;
		vectors += m->words[i] == WORD_VECTOR;
	}
	return (!integers || t->integers + integers <= INTEGERS) &&
	       (!vectors || t->vectors + vectors <= VECTORS);
}

static uint64_t passed_size(Dwarf_Die *type)
{
	const int tag = dwarf_tag(type);

	if (tag == DW_TAG_ptr_to_member_type)
		return IN_REGISTERS;
	return tag == DW_TAG_unspecified_type ? WORD : size_of(type);
}

static bool take_argument(struct taken *t, Dwarf_Die *type, const char *name)
{
	const struct value pointer = { .read = PLAN_VALUE, .type = SPB_POINTER, .size = WORD };
	const struct value string = { .read = PLAN_STD_STRING, .type = SPB_TEXT, .size = WORD };
	const uint64_t size = passed_size(type);
	struct members m = { .align = WORD };
	struct value v;
	uint32_t at;
	bool good = true;

	if (scalar_value(type, &v))
		return take_scalar(t, &v, name);
	if (is_by_reference(type, 0))
		return take_scalar(t, is_std_string(type) ? &string : &pointer, name);
	add_type(&m, type, 0, name, 0, true);
	if (m.unknown) {
		take_unknown(t);
		return true;
	}
	if (in_registers(t, &m, size))
		return emit_words(t, &m, size, name, is_struct(type));
	if (t->lost)
		return true;
	at = take_stack(t, size, m.align);
	for (unsigned i = 0; good && i < m.count; i++)
		good = emit(t, &m.list[i].value, PLAN_ON_STACK, at + m.list[i].offset,
			    m.list[i].name);
	return good;
}

/* --- functions --- */

/* A result that is stored where a pointer before the arguments says takes the register of that. */
static void take_result(struct taken *t, Dwarf_Die *function)
{
	struct members m = { .align = WORD };
	Dwarf_Die type;

	if (!type_of(function, &type) || !is_struct(&type) || dwarf_tag(&type) == DW_TAG_array_type)
		return;
	if (is_by_reference(&type, 0)) {
		t->integers = 1;
		return;
	}
	add_type(&m, &type, 0, "", 0, false);
	if (m.unknown) {
		t->lost = true;
		t->integers = INTEGERS;
	} else {
		t->integers = m.in_memory || size_of(&type) > IN_REGISTERS;
	}
}

static bool add_result(Dwarf_Die *function, struct taken *t)
{
	const struct value string = { .read = PLAN_STD_STRING, .type = SPB_TEXT, .size = WORD };
	struct members m = { .align = WORD };
	struct value v;
	Dwarf_Die type;

	if (!type_of(function, &type))
		return true;
	if (scalar_value(&type, &v))
		return take_scalar(t, &v, "retval");
	/* The pointer is returned too. */
	if (is_std_string(&type))
		return take_scalar(t, &string, "retval");
	if (is_by_reference(&type, 0))
		return true;
	add_type(&m, &type, 0, "retval", 0, true);
	if (m.unknown || !in_registers(t, &m, passed_size(&type)))
		return true;
	return emit_words(t, &m, passed_size(&type), "retval", is_struct(&type));
}

/*
 * Returns true if an argument is in another register when the function is entered than in the one
 * that follows: the optimizer took arguments before it.
 */
static bool is_moved(Dwarf_Die *argument, Dwarf_Die *type, uint64_t address, const struct taken *t)
{
	static const uint8_t numbers[INTEGERS] = { 5, 4, 1, 2, 8, 9 };
	enum { VECTOR_0 = 17 };
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t ops;
	struct value v;
	uint8_t reg;

	if (!scalar_value(type, &v) || !dwarf_attr_integrate(argument, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, address, &op, &ops, 1) != 1 || ops != 1 ||
	    op->atom < DW_OP_reg0 || op->atom > DW_OP_reg31)
		return false;
	reg = (uint8_t)(op->atom - DW_OP_reg0);
	if (v.is_vector)
		return reg >= VECTOR_0 && reg < VECTOR_0 + VECTORS && reg != VECTOR_0 + t->vectors;
	/* Another register than those of arguments is one that the function has copied it to. */
	return memchr(numbers, reg, INTEGERS) &&
	       (t->integers >= INTEGERS || reg != numbers[t->integers]);
}

/*
 * An argument that is nowhere is not used, and callers may leave anything in its place; of structs
 * compilers do not say where they are as reliably. `moved`: set if arguments are not where they
 * should be.
 */
static bool add_arguments(Dwarf_Die *function, uint64_t address, struct taken *t, bool *moved)
{
	Dwarf_Die child, type;
	bool good = true;

	take_result(t, function);
	if (dwarf_child(function, &child) != 0)
		return true;
	do {
		bool (*const add)(void *, const struct plan_arg *, const char *) = t->add;
		const char *name;
		Dwarf_Attribute attr;
		struct value v;

		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		name = dwarf_formstring(dwarf_attr_integrate(&child, DW_AT_name, &attr));
		if (!type_of(&child, &type))
			return true;
		*moved |= !t->lost && is_moved(&child, &type, address, t);
		if (scalar_value(&type, &v) && !dwarf_attr_integrate(&child, DW_AT_location, &attr))
			t->add = NULL;
		good = take_argument(t, &type, name ? name : "arg");
		t->add = add;
	} while (good && dwarf_siblingof(&child, &child) == 0);
	return good;
}

bool described_arguments(struct dwarf_arguments *d, uint64_t address, bool results,
			 bool (*add)(void *self, const struct plan_arg *arg, const char *name),
			 void *self)
{
	const struct map64_slot *const slot = map64_find(&d->functions, address);
	struct taken t = { .add = add, .self = self }, looked = { 0 };
	bool moved = false;
	Dwarf_Die die;

	if (!slot || !dwarf_offdie(d->dwarf, slot->value, &die))
		return true;
	if (results)
		return add_result(&die, &t);
	add_arguments(&die, address, &looked, &moved);
	return moved || add_arguments(&die, address, &t, &moved);
}
