/*
 * See described.h. The calling convention passes integers and pointers in six registers, floating
 * point in eight others, both in turn; what fits in neither is on the stack, a word or more each.
 * Large and non-trivial structs are returned through a pointer that comes before all arguments.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
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
	MEMBERS = 16, /* scalar members of one that are looked at */
	DEPTH = 8, /* of structs in structs, of types behind types */
	NAME = 128,
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

/* Gets the type of an entry without typedefs and qualifiers. Returns false if it is void. */
static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, type) &&
	       dwarf_peel_type(type, type) == 0;
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

static bool is_std_string(Dwarf_Die *type)
{
	const char *const name = dwarf_diename(type);

	return name && strncmp(name, "basic_string<char,", 18) == 0;
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

struct member {
	struct value value;
	uint32_t offset;
	char name[NAME];
};

struct members {
	struct member list[MEMBERS];
	unsigned count;
	bool whole; /* every member is in the list */
};

static void add_members(struct members *m, Dwarf_Die *type, uint64_t offset, const char *prefix,
			unsigned depth);

static void add_member(struct members *m, Dwarf_Die *member, uint64_t offset, const char *prefix,
		       unsigned depth)
{
	struct member *const made = &m->list[m->count];
	const char *const name = dwarf_diename(member);
	Dwarf_Attribute attr;
	Dwarf_Word at = 0;
	Dwarf_Die type;
	char path[NAME];

	/* Without a place it is the first of its struct, or of a union. */
	if (dwarf_attr(member, DW_AT_data_member_location, &attr) &&
	    dwarf_formudata(&attr, &at) != 0) {
		m->whole = false;
		return;
	}
	if (!type_of(member, &type) || dwarf_hasattr(member, DW_AT_bit_size) ||
	    m->count == MEMBERS) {
		m->whole = false;
		return;
	}
	if (dwarf_tag(member) == DW_TAG_inheritance || !name)
		snprintf(path, sizeof(path), "%s", prefix);
	else
		snprintf(path, sizeof(path), "%s.%s", prefix, name);
	if (scalar_value(&type, &made->value)) {
		made->offset = (uint32_t)(offset + at);
		memcpy(made->name, path, sizeof(path));
		m->count++;
	} else if (dwarf_tag(&type) != DW_TAG_array_type && is_struct(&type)) {
		add_members(m, &type, offset + at, path, depth + 1);
	} else {
		m->whole = false;
	}
}

static void add_members(struct members *m, Dwarf_Die *type, uint64_t offset, const char *prefix,
			unsigned depth)
{
	Dwarf_Die child;

	if (depth > DEPTH || dwarf_tag(type) == DW_TAG_union_type || dwarf_child(type, &child)) {
		m->whole = false;
		return;
	}
	do
		if ((dwarf_tag(&child) == DW_TAG_member &&
		     !dwarf_hasattr(&child, DW_AT_external)) ||
		    dwarf_tag(&child) == DW_TAG_inheritance)
			add_member(m, &child, offset, prefix, depth);
	while (dwarf_siblingof(&child, &child) == 0);
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

	return t->add(t->self, &arg, name);
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

/* Returns true if the eight bytes from `first` on are in a vector register. */
static bool is_vector_part(const struct members *m, uint32_t first)
{
	bool any = false;

	for (unsigned i = 0; i < m->count; i++)
		if (m->list[i].offset / WORD == first / WORD) {
			if (!m->list[i].value.is_vector)
				return false;
			any = true;
		}
	return any;
}

/* The members of a struct's part that a register holds: one, or its bytes as they are. */
static bool emit_part(struct taken *t, const struct members *m, uint32_t first, uint64_t size,
		      const char *name)
{
	const bool vector = is_vector_part(m, first);
	const uint32_t number = vector ? t->vectors++ : t->integers++;
	const unsigned place = vector ? PLAN_IN_VECTOR : PLAN_IN_INTEGER;
	const struct member *only = NULL;
	struct value bytes = { .read = PLAN_VALUE, .type = SPB_BYTES };
	unsigned n = 0;

	for (unsigned i = 0; i < m->count; i++)
		if (m->list[i].offset / WORD == first / WORD) {
			only = &m->list[i];
			n++;
		}
	if (n == 1 && only->offset == first)
		return emit(t, &only->value, place, number, only->name);
	bytes.size = (uint8_t)(size - first < WORD ? size - first : WORD);
	return emit(t, &bytes, place, number, name);
}

static bool take_struct(struct taken *t, Dwarf_Die *type, const char *name)
{
	const struct value pointer = { .read = PLAN_VALUE, .type = SPB_POINTER, .size = WORD };
	const struct value string = { .read = PLAN_STD_STRING, .type = SPB_TEXT, .size = WORD };
	const uint64_t size = size_of(type);
	struct members m = { .whole = true };
	uint32_t integers = 0, vectors = 0, at;
	bool good = true;

	if (is_by_reference(type, 0))
		return take_scalar(t, is_std_string(type) ? &string : &pointer, name);
	add_members(&m, type, 0, name, 0);
	if (!size) {
		t->lost |= dwarf_tag(type) == DW_TAG_array_type;
		return true;
	}
	for (uint32_t i = 0; i < size && size <= IN_REGISTERS; i += WORD) {
		vectors += is_vector_part(&m, i);
		integers += !is_vector_part(&m, i);
	}
	/* A union or a member that was left out may be of another class than the ones known. */
	if (size <= IN_REGISTERS && !m.whole) {
		t->lost = true;
		t->integers = INTEGERS;
		t->vectors = VECTORS;
		return true;
	}
	if (size <= IN_REGISTERS && t->integers + integers <= INTEGERS &&
	    t->vectors + vectors <= VECTORS) {
		for (uint32_t i = 0; good && i < size; i += WORD)
			good = emit_part(t, &m, i, size, name);
		return good;
	}
	if (t->lost)
		return true;
	at = take_stack(t, size, WORD);
	for (unsigned i = 0; good && i < m.count; i++)
		good = emit(t, &m.list[i].value, PLAN_ON_STACK, at + m.list[i].offset,
			    m.list[i].name);
	return good;
}

static bool take_argument(struct taken *t, Dwarf_Die *type, const char *name)
{
	const uint64_t size = size_of(type);
	struct value v;

	if (scalar_value(type, &v))
		return take_scalar(t, &v, name);
	if (is_struct(type))
		return take_struct(t, type, name);
	/* long double is on the stack, __int128 in two registers; neither is recorded. */
	if (encoding_of(type) == DW_ATE_float && size == 16) {
		take_stack(t, size, 16);
	} else if (size == 16 &&
		   (encoding_of(type) == DW_ATE_signed || encoding_of(type) == DW_ATE_unsigned)) {
		if (t->integers + 2 <= INTEGERS)
			t->integers += 2;
		else
			take_stack(t, size, 16);
	} else {
		t->lost = true;
		t->integers = INTEGERS;
		t->vectors = VECTORS;
	}
	return true;
}

/* --- functions --- */

/* Returns true if the function stores its result where a pointer before its arguments says. */
static bool returns_by_pointer(Dwarf_Die *function)
{
	Dwarf_Die type;

	if (!type_of(function, &type) || !is_struct(&type))
		return false;
	return is_by_reference(&type, 0) || size_of(&type) > IN_REGISTERS;
}

static bool add_result(Dwarf_Die *function, struct taken *t)
{
	const struct value string = { .read = PLAN_STD_STRING, .type = SPB_TEXT, .size = WORD };
	struct members m = { .whole = true };
	struct value v;
	Dwarf_Die type;
	uint64_t size;
	bool good = true;

	if (!type_of(function, &type))
		return true;
	if (scalar_value(&type, &v))
		return take_scalar(t, &v, "retval");
	if (!is_struct(&type))
		return true;
	/* The pointer is returned too. */
	if (is_std_string(&type))
		return take_scalar(t, &string, "retval");
	size = size_of(&type);
	add_members(&m, &type, 0, "retval", 0);
	if (!returns_by_pointer(function) && m.whole)
		for (uint32_t i = 0; good && i < size; i += WORD)
			good = emit_part(t, &m, i, size, "retval");
	return good;
}

static bool add_arguments(Dwarf_Die *function, struct taken *t)
{
	Dwarf_Die child, type;
	bool good = true;

	t->integers = returns_by_pointer(function);
	if (dwarf_child(function, &child) != 0)
		return true;
	do {
		const char *name;
		Dwarf_Attribute attr;

		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		name = dwarf_formstring(dwarf_attr_integrate(&child, DW_AT_name, &attr));
		if (!type_of(&child, &type))
			return true;
		good = take_argument(t, &type, name ? name : "arg");
	} while (good && dwarf_siblingof(&child, &child) == 0);
	return good;
}

bool described_arguments(struct dwarf_arguments *d, uint64_t address, bool results,
			 bool (*add)(void *self, const struct plan_arg *arg, const char *name),
			 void *self)
{
	const struct map64_slot *const slot = map64_find(&d->functions, address);
	struct taken t = { .add = add, .self = self };
	Dwarf_Die die;

	if (!slot || !dwarf_offdie(d->dwarf, slot->value, &die))
		return true;
	return results ? add_result(&die, &t) : add_arguments(&die, &t);
}
