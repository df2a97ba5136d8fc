/*
 * Reads the `format` texts of tracepoints: the fields with their places, and the print fmt
 * (printfmt.c). Not read: the kernel's own types after the names; what a value means is in the
 * print fmt or nowhere.
 */
#include "format/uftrace/tracefmt.h"

#include "base/err.h"
#include "format/uftrace/printfmt.h"
#include "model/args.h"

enum {
	FIELDS_MAX = 4096,
	/* Bytes of a print fmt; the kernel's own limit is a page or two */
	PRINT_SOURCE_MAX = 1 << 16,
	ELEMENTS_MAX = 1 << 16, /* items of one array value */
};

/* ---- parsing */

/* `key:NUMBER;` somewhere in a field's line. */
static bool line_number(struct text line, const char *key, uint64_t *v)
{
	ptrdiff_t at = text_search(line, key);
	struct text t;

	if (at < 0)
		return false;
	t = text_make(line.p + at + strlen(key), line.len - (size_t)at - strlen(key));
	return text_u64(&t, 10, v) && text_starts(t, ";");
}

static bool word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Elements of `char name[16]`; 0: the brackets hold no number. */
static uint64_t array_count(struct text brackets)
{
	uint64_t n;

	text_skip(&brackets, "[");
	return text_u64(&brackets, 10, &n) ? n : 0;
}

static void field_flags(struct trace_field *field, struct text type, struct text brackets,
			unsigned long_size)
{
	struct c_type t = c_type_of(type, long_size);
	uint64_t count = array_count(brackets);

	if (text_search(type, "long") >= 0)
		field->flags |= FIELD_LONG;
	if (text_starts(type, "__data_loc"))
		field->flags |= FIELD_DYNAMIC | FIELD_ARRAY;
	else if (text_starts(type, "__rel_loc"))
		field->flags |= FIELD_DYNAMIC | FIELD_RELATIVE | FIELD_ARRAY;
	else if (brackets.len)
		field->flags |= FIELD_ARRAY;
	else if (t.pointer)
		field->flags |= FIELD_POINTER;
	else if (t.is_bool && field->size == 1)
		field->flags |= FIELD_BOOL;
	if (!(field->flags & FIELD_ARRAY))
		return;
	if (text_search(type, "char") >= 0 && !t.pointer) {
		field->flags |= FIELD_STRING;
		t.size = 1;
	}
	if (t.pointer)
		t.size = long_size;
	if (!(field->flags & FIELD_DYNAMIC) && count && field->size && field->size % count == 0)
		t.size = (uint32_t)(field->size / count);
	field->elem = t.size;
}

/* `field:TYPE NAME[N]; offset:8; size:4; signed:1;`; SPUR_WARN: it is not so; SPUR_FAIL: memory */
static enum spur_status parse_field(struct trace_field *field, struct arena *a, struct text line,
				    unsigned long_size)
{
	struct text type, name, brackets = { 0 };
	uint64_t off, size, is_signed;
	ptrdiff_t semi;
	char *shown;

	if (!text_skip(&line, "field:") || (semi = text_find(line, ';')) < 0)
		return SPUR_WARN;
	type = text_trim(text_make(line.p, (size_t)semi));
	line = text_make(line.p + semi, line.len - (size_t)semi);
	if (!line_number(line, "offset:", &off) || !line_number(line, "size:", &size) ||
	    off > UINT16_MAX || size > UINT16_MAX)
		return SPUR_WARN;
	if (type.len && type.p[type.len - 1] == ']') {
		ptrdiff_t open = text_rfind(type, '[');

		if (open < 0)
			return SPUR_WARN;
		brackets = text_make(type.p + open, type.len - (size_t)open);
		type = text_trim(text_make(type.p, (size_t)open));
	}
	name = text_make(type.p + type.len, 0);
	while (type.len && word_char(type.p[type.len - 1])) {
		type.len--;
		name = text_make(name.p - 1, name.len + 1);
	}
	type = text_trim(type);
	if (!name.len || !type.len)
		return SPUR_WARN;
	*field = (struct trace_field){ .off = (uint32_t)off, .size = (uint32_t)size };
	if (line_number(line, "signed:", &is_signed) ? is_signed != 0
						     : !c_type_of(type, long_size).is_unsigned)
		field->flags |= FIELD_SIGNED;
	if (text_starts(name, "common_"))
		field->flags |= FIELD_COMMON;
	field_flags(field, type, brackets, long_size);
	field->name = arena_strdup(a, name.p, name.len);
	shown = arena_alloc(a, type.len + brackets.len + 1);
	if (!field->name || !shown)
		return SPUR_FAIL;
	memcpy(shown, type.p, type.len);
	if (brackets.len)
		memcpy(shown + type.len, brackets.p, brackets.len);
	field->type = shown;
	return SPUR_OK;
}

/* Everything before the print fmt. SPUR_WARN: some field is not understood; `err` has the first. */
static enum spur_status parse_fields(struct tracefmt *f, struct arena *a, struct text text,
				     struct spur_error *err)
{
	enum spur_status status = SPUR_OK;
	struct text rest = text, line;
	uint32_t most = 0;

	while (text_line(&rest, &line))
		most += text_starts(text_trim(line), "field:");
	if (most > FIELDS_MAX)
		most = FIELDS_MAX;
	f->fields = arena_alloc(a, most * sizeof(*f->fields));
	if (!f->fields)
		return err_nomem(err);
	for (rest = text; text_line(&rest, &line);) {
		enum spur_status s;

		line = text_trim(line);
		if (!text_starts(line, "field:") || f->nfields == most)
			continue;
		s = parse_field(&f->fields[f->nfields], a, line, f->abi.long_size);
		if (s == SPUR_FAIL)
			return err_nomem(err);
		if (s == SPUR_OK) {
			f->nfields++;
		} else if (status == SPUR_OK) {
			err_set(err, SPUR_ERR_FORMAT,
				"field: expected a type, name, offset and size, found `%.*s`",
				line.len < 80 ? (int)line.len : 80, line.p);
			status = SPUR_WARN;
		}
	}
	return status;
}

enum spur_status tracefmt_parse(struct tracefmt *f, struct arena *a, struct text text,
				const char *system, struct trace_abi abi, struct spur_error *err)
{
	struct text rest = text, line, head = text;
	bool have_id = false;
	enum spur_status status;
	uint64_t id;

	*f = (struct tracefmt){ .system = system, .abi = abi };
	while (text_line(&rest, &line)) {
		line = text_trim(line);
		if (text_skip(&line, "name:")) {
			line = text_trim(line);
			f->name = arena_strdup(a, line.p, line.len);
			if (!f->name)
				return err_nomem(err);
		} else if (text_skip(&line, "ID:")) {
			line = text_trim(line);
			have_id = text_u64(&line, 10, &id) && id <= UINT16_MAX;
			if (have_id)
				f->id = (uint32_t)id;
		} else if (text_skip(&line, "print fmt:")) {
			f->print =
				text_trim(text_make(line.p, (size_t)(text.p + text.len - line.p)));
			head.len = (size_t)(line.p - text.p);
			break;
		}
	}
	if (!f->name || !*f->name || !have_id)
		return err_set(err, SPUR_ERR_FORMAT,
			       "format: expected a name and an id below 65536, found %s",
			       f->name && *f->name ? "no such id" : "no name");
	status = parse_fields(f, a, head, err);
	if (status == SPUR_FAIL || !f->print.len)
		return status;
	if (f->print.len <= PRINT_SOURCE_MAX &&
	    print_compile(a, f, f->print, &f->plan) == SPUR_FAIL)
		return err_nomem(err);
	if (!f->plan && status == SPUR_OK) {
		err_set(err, SPUR_ERR_FORMAT,
			"print fmt: expected a string and arguments, found `%.*s`",
			f->print.len < 80 ? (int)f->print.len : 80, f->print.p);
		status = SPUR_WARN;
	}
	return status;
}

const struct trace_field *tracefmt_field(const struct tracefmt *f, const char *name)
{
	for (uint32_t i = 0; i < f->nfields; i++) {
		if (strcmp(f->fields[i].name, name) == 0)
			return &f->fields[i];
	}
	return NULL;
}

static bool int_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

struct field_ref tracefmt_ref(const struct tracefmt *f, const char *name)
{
	const struct trace_field *field = tracefmt_field(f, name);

	if (!field || field->flags & FIELD_ARRAY || !int_size(field->size))
		return (struct field_ref){ 0 };
	return (struct field_ref){ .off = field->off,
				   .size = (uint8_t)field->size,
				   .is_signed = field->flags & FIELD_SIGNED,
				   .swap = f->abi.swap };
}

const uint8_t *field_bytes(const struct trace_field *field, const struct tracefmt *f,
			   const uint8_t *rec, uint32_t len, uint32_t *size)
{
	uint32_t off = field->off, n = field->size;

	*size = 0;
	if (off > len || len - off < (field->flags & FIELD_DYNAMIC ? 4 : 0))
		return NULL;
	if (field->flags & FIELD_DYNAMIC) {
		const uint32_t where = load32(rec + off, f->abi.swap);

		/* SPEC uftrace/data-loc */
		off = (where & 0xffff) + (field->flags & FIELD_RELATIVE ? off + 4 : 0);
		n = where >> 16;
		if (off > len)
			return NULL;
	} else if (!n) {
		n = len - off;
	}
	*size = n < len - off ? n : len - off;
	return rec + off;
}

/* ---- fields as text, where there is no print fmt */

static void text_elements(const struct tracefmt *f, const struct trace_field *field,
			  const uint8_t *p, uint32_t size, struct out *out, size_t limit)
{
	const uint32_t elem = int_size(field->elem) ? field->elem : 1;

	out_char(out, '[');
	for (uint32_t at = 0; size - at >= elem && out->len < limit; at += elem) {
		if (at)
			out_str(out, ", ");
		if (field->flags & FIELD_SIGNED)
			out_i64(out, (int64_t)load_int(p + at, elem, true, f->abi.swap));
		else
			out_u64(out, load_int(p + at, elem, false, f->abi.swap));
	}
	out_char(out, ']');
}

static void text_field(const struct tracefmt *f, const struct trace_field *field,
		       const uint8_t *rec, uint32_t len, struct out *out, size_t limit)
{
	uint64_t v;

	if (field->flags & FIELD_ARRAY || !int_size(field->size)) {
		uint32_t size;
		const uint8_t *p = field_bytes(field, f, rec, len, &size);

		if (p && field->flags & FIELD_STRING)
			out_bytes(out, p, strnlen((const char *)p, size));
		else if (p)
			text_elements(f, field, p, size, out, limit);
		return;
	}
	if (field->off > len || len - field->off < field->size)
		return;
	v = load_int(rec + field->off, field->size, field->flags & FIELD_SIGNED, f->abi.swap);
	if (field->flags & FIELD_SIGNED) {
		out_i64(out, (int64_t)v);
	} else if (field->flags & (FIELD_POINTER | FIELD_LONG)) {
		out_str(out, "0x");
		out_hex(out, v);
	} else {
		out_u64(out, v);
	}
}

void tracefmt_text(const struct tracefmt *f, const uint8_t *rec, uint32_t len,
		   const struct trace_names *names, struct out *out)
{
	const size_t limit = out->len + PRINT_TEXT_MAX;
	bool first = true;

	if (f->plan) {
		print_run(f->plan, f, rec, len, names, out);
		return;
	}
	for (uint32_t i = 0; i < f->nfields && out->len < limit; i++) {
		if (f->fields[i].flags & FIELD_COMMON)
			continue;
		if (!first)
			out_char(out, ' ');
		first = false;
		out_str(out, f->fields[i].name);
		out_char(out, '=');
		text_field(f, &f->fields[i], rec, len, out, limit);
	}
}

/* ---- fields as values */

static void value_number(struct spur_value *v, const struct trace_field *field, uint64_t u,
			 uint32_t size)
{
	v->size = (uint8_t)size;
	if (field->flags & FIELD_SIGNED) {
		v->type = SPUR_I64;
		v->i = (int64_t)u;
		return;
	}
	v->type = field->flags & FIELD_POINTER ? SPUR_POINTER
		  : field->flags & FIELD_BOOL  ? SPUR_BOOL
					       : SPUR_U64;
	v->show = field->flags & FIELD_LONG ? SPUR_SHOW_AUTO : SPUR_SHOW_PLAIN;
	v->u = field->flags & FIELD_BOOL ? u != 0 : u;
}

/* An array of numbers as such, of anything else as bytes. */
static bool value_array(struct spur_args *args, struct spur_value *v, const struct tracefmt *f,
			const struct trace_field *field, const uint8_t *p, uint32_t size)
{
	const uint32_t count = int_size(field->elem) ? size / field->elem : 0;
	struct spur_value *items;

	if (!count || count > ELEMENTS_MAX) {
		v->type = SPUR_BYTES;
		v->count = size;
		v->text = (const char *)p;
		return true;
	}
	items = args_alloc(args, count * sizeof(*items));
	if (!items)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const bool is_signed = field->flags & FIELD_SIGNED;

		items[i] = (struct spur_value){ 0 };
		value_number(&items[i], field,
			     load_int(p + i * field->elem, field->elem, is_signed, f->abi.swap),
			     field->elem);
	}
	v->type = SPUR_ARRAY;
	v->count = count;
	v->items = items;
	return true;
}

/* SPUR_WARN: the record does not have it. */
static enum spur_status add_value(const struct tracefmt *f, const struct trace_field *field,
				  const uint8_t *rec, uint32_t len, struct spur_args *args)
{
	struct spur_value made = { .name = field->id }, *v;
	uint32_t size;

	if (field->flags & FIELD_ARRAY || !int_size(field->size)) {
		const uint8_t *p = field_bytes(field, f, rec, len, &size);

		if (!p || (!(field->flags & FIELD_DYNAMIC) && size < field->size))
			return SPUR_WARN;
		if (field->flags & FIELD_STRING) {
			made.type = SPUR_STRING;
			made.count = (uint32_t)strnlen((const char *)p, size);
			made.text = (const char *)p;
		} else if (!value_array(args, &made, f, field, p, size)) {
			return SPUR_FAIL;
		}
	} else {
		if (field->off > len || len - field->off < field->size)
			return SPUR_WARN;
		value_number(&made, field,
			     load_int(rec + field->off, field->size, field->flags & FIELD_SIGNED,
				      f->abi.swap),
			     field->size);
	}
	v = args_add(args);
	if (!v)
		return SPUR_FAIL;
	*v = made;
	return SPUR_OK;
}

enum spur_status tracefmt_args(const struct tracefmt *f, const uint8_t *rec, uint32_t len,
			       bool common, struct spur_args *args)
{
	enum spur_status status = SPUR_OK;

	for (uint32_t i = 0; i < f->nfields; i++) {
		enum spur_status s;

		if (f->fields[i].flags & FIELD_COMMON && !common)
			continue;
		s = add_value(f, &f->fields[i], rec, len, args);
		if (s == SPUR_FAIL)
			return s;
		if (s != SPUR_OK)
			status = s;
	}
	return status;
}

/* As value_number() has it. */
static void field_number(struct spur_field *made, const struct trace_field *field, uint32_t size)
{
	struct spur_value v = { 0 };

	value_number(&v, field, 0, size);
	made->type = v.type;
	made->show = v.show;
	made->is_signed = v.type == SPUR_I64;
	made->bits = 8 * size;
}

/* Elements of an array of numbers; 0: it is shown as bytes, or its length varies. */
static uint32_t element_count(const struct trace_field *field)
{
	const uint32_t count = int_size(field->elem) ? field->size / field->elem : 0;

	return field->flags & FIELD_DYNAMIC || count > ELEMENTS_MAX ? 0 : count;
}

/* Returns false if out of memory. */
static bool field_schema(struct arena *a, const struct trace_field *field, struct spur_field *made)
{
	struct spur_field *element;

	*made = (struct spur_field){ .name = field->id };
	if (!(field->flags & FIELD_ARRAY) && int_size(field->size)) {
		field_number(made, field, field->size);
	} else if (field->flags & FIELD_STRING) {
		made->type = SPUR_STRING;
	} else if (element_count(field)) {
		element = arena_alloc(a, sizeof(*element));
		if (!element)
			return false;
		*element = (struct spur_field){ 0 };
		field_number(element, field, field->elem);
		made->type = SPUR_ARRAY;
		made->count = element_count(field);
		made->nitems = 1;
		made->items = element;
	} else if (field->size && !(field->flags & FIELD_DYNAMIC)) {
		made->type = SPUR_BYTES;
		made->count = field->size;
	}
	return true;
}

bool tracefmt_schema(const struct tracefmt *f, struct arena *a, const struct spur_field **fields,
		     uint32_t *count)
{
	struct spur_field *list;

	*count = 0;
	for (uint32_t i = 0; i < f->nfields; i++)
		*count += !(f->fields[i].flags & FIELD_COMMON);
	*fields = NULL;
	if (!*count)
		return true;
	list = arena_alloc(a, *count * sizeof(*list));
	*fields = list;
	for (uint32_t i = 0; list && i < f->nfields; i++)
		if (!(f->fields[i].flags & FIELD_COMMON) &&
		    !field_schema(a, &f->fields[i], list++))
			return false;
	return list != NULL;
}

/* ---- function_graph */

bool funcgraph_compile(struct funcgraph *g, const struct tracefmt *f)
{
	const struct trace_field *args = tracefmt_field(f, "args");

	*g = (struct funcgraph){ .swap = f->abi.swap };
	if (strcmp(f->name, "funcgraph_exit") == 0)
		g->is_exit = true;
	else if (strcmp(f->name, "funcgraph_entry") != 0 &&
		 strcmp(f->name, "fgraph_retaddr_entry") != 0)
		return false;
	g->func = tracefmt_ref(f, "func");
	g->depth = tracefmt_ref(f, "depth");
	g->overrun = tracefmt_ref(f, "overrun");
	g->calltime = tracefmt_ref(f, "calltime");
	g->rettime = tracefmt_ref(f, "rettime");
	g->retval = tracefmt_ref(f, "retval");
	g->retaddr = tracefmt_ref(f, "retaddr");
	if (args && args->flags & FIELD_ARRAY && int_size(args->elem)) {
		g->args_off = args->off;
		g->args_size = (uint8_t)args->elem;
	}
	return g->func.size != 0;
}

bool funcgraph_read(const struct funcgraph *g, const uint8_t *rec, uint32_t len,
		    struct funcgraph_record *out)
{
	*out = (struct funcgraph_record){ 0 };
	if (!field_there(g->func, len) || (g->depth.size && !field_there(g->depth, len)))
		return false;
	out->func = field_u64(g->func, rec, len);
	out->depth = field_u64(g->depth, rec, len);
	out->overrun = field_u64(g->overrun, rec, len);
	out->calltime = field_u64(g->calltime, rec, len);
	out->rettime = field_u64(g->rettime, rec, len);
	out->retval = field_u64(g->retval, rec, len);
	out->retaddr = field_u64(g->retaddr, rec, len);
	if (g->args_size && len > g->args_off) {
		out->args = rec + g->args_off;
		out->nargs = (len - g->args_off) / g->args_size;
	}
	return true;
}

uint64_t funcgraph_arg(const struct funcgraph *g, const struct funcgraph_record *rec, uint32_t i)
{
	return i < rec->nargs ? load_int(rec->args + (size_t)i * g->args_size, g->args_size, false,
					 g->swap)
			      : 0;
}
