/*
 * Compiles print formats: the C expressions that kernels write into `print fmt:` lines, with the
 * helpers that macros of tracepoints use. An argument that is not understood (a call of a kernel
 * function, a statement expression) is kept as written and shown so; it costs nothing else. An
 * identifier without known value is shown by its name.
 */
#include "format/uftrace/printfmt.h"

struct parser {
	struct arena *arena;
	const struct tracefmt *f;
	const char *p, *end;
	unsigned depth;
	struct text unknown; /* the first name without value */
	bool failed; /* what stands here is not understood */
	bool nomem;
};

static const struct print_node unknown_node = { .kind = NODE_UNKNOWN };

static const struct print_node *parse_cond(struct parser *ps);
static const struct print_node *parse_unary(struct parser *ps);

/* ---- text */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct parser *ps)
{
	while (ps->p < ps->end && is_blank(*ps->p))
		ps->p++;
}

/* The next byte that is no blank, or 0. */
static char peek(struct parser *ps)
{
	skip_blanks(ps);
	return ps->p < ps->end ? *ps->p : 0;
}

static bool take(struct parser *ps, const char *token)
{
	const size_t n = strlen(token);

	skip_blanks(ps);
	if ((size_t)(ps->end - ps->p) < n || memcmp(ps->p, token, n) != 0)
		return false;
	ps->p += n;
	return true;
}

static void need(struct parser *ps, const char *token)
{
	if (!take(ps, token))
		ps->failed = true;
}

static struct text read_word(struct parser *ps)
{
	const char *start;

	skip_blanks(ps);
	start = ps->p;
	while (ps->p < ps->end && is_word(*ps->p))
		ps->p++;
	return text_make(start, (size_t)(ps->p - start));
}

/* After the quoted text that starts at `p`; `end` where it is not closed. */
static const char *quote_end(const char *p, const char *end)
{
	const char quote = *p++;

	while (p < end && *p != quote)
		p += *p == '\\' && end - p > 1 ? 2 : 1;
	return p < end ? p + 1 : end;
}

/*
 * The first `stop` (or, where that is 0, the bracket that closes the one before) outside of
 * brackets and quotes.
 */
static const char *scan_to(const char *p, const char *end, char stop)
{
	size_t open = 0;

	while (p < end) {
		if (*p == '"' || *p == '\'') {
			p = quote_end(p, end);
			continue;
		}
		if (stop && *p == stop && !open)
			return p;
		if (*p == '(' || *p == '{' || *p == '[') {
			open++;
		} else if (*p == ')' || *p == '}' || *p == ']') {
			if (!open)
				return p;
			open--;
		}
		p++;
	}
	return end;
}

/* One character of a string, its escape resolved. */
static char read_char(const char **p, const char *end)
{
	char c = *(*p)++;
	unsigned v = 0;

	if (c != '\\' || *p == end)
		return c;
	c = *(*p)++;
	switch (c) {
	case 'n': return '\n';
	case 't': return '\t';
	case 'r': return '\r';
	case 'a': return '\a';
	case 'b': return '\b';
	case 'f': return '\f';
	case 'v': return '\v';
	default: break;
	}
	if (c < '0' || c > '7')
		return c;
	v = (unsigned)(c - '0');
	for (int i = 0; i < 2 && *p < end && **p >= '0' && **p <= '7'; i++)
		v = v * 8 + (unsigned)(*(*p)++ - '0');
	return (char)v;
}

/* String literals, one or several in a row, joined. */
static struct text read_string(struct parser *ps)
{
	const char *first, *last;
	size_t len = 0;
	char *to;

	if (peek(ps) != '"') {
		ps->failed = true;
		return text_make("", 0);
	}
	first = ps->p;
	do {
		last = ps->p = quote_end(ps->p, ps->end);
	} while (peek(ps) == '"');
	ps->p = last;
	to = arena_alloc(ps->arena, (size_t)(last - first) + 1);
	if (!to) {
		ps->nomem = ps->failed = true;
		return text_make("", 0);
	}
	for (const char *p = first; p < last; p++) {
		if (*p != '"')
			continue;
		for (p++; p < last && *p != '"';)
			to[len++] = read_char(&p, last);
	}
	return text_make(to, len);
}

/*
 * The text between brackets, which `next` follows, is a type: it is known as one, or it is a word
 * where what follows begins a value.
 */
static bool is_cast(struct text inner, char next, struct c_type type)
{
	struct text t = text_trim(inner);
	bool words = t.len > 0;

	if (text_starts(t, "typeof") || text_starts(t, "__typeof__"))
		return true;
	for (size_t i = 0; i < t.len; i++)
		words &= is_word(t.p[i]) || is_blank(t.p[i]) || t.p[i] == '*';
	if (!words || is_digit(t.p[0]) || t.p[0] == '*' || text_is(t, "REC"))
		return false;
	if (type.size || t.p[t.len - 1] == '*' || text_starts(t, "struct ") ||
	    text_starts(t, "union "))
		return true;
	return is_word(next) || next == '"' || next == '(' || next == '~';
}

/* ---- nodes */

static const struct print_node *node_make(struct parser *ps, struct print_node made)
{
	const struct print_node *const kids[] = { made.a, made.b, made.c };
	struct print_node *n;
	bool fixed = made.kind != NODE_CONST && made.a && made.kind <= NODE_SWAP;

	for (size_t i = 0; i < 3; i++) {
		if (!kids[i])
			continue;
		if (kids[i]->height >= made.height)
			made.height = (uint16_t)(kids[i]->height + 1);
		fixed &= kids[i]->kind == NODE_CONST;
	}
	if (made.height > PRINT_NESTING)
		ps->failed = true;
	if (ps->failed)
		return &unknown_node;
	if (fixed && !made.type.pointer &&
	    print_fold(&made, &ps->f->abi, &made.value, &made.type)) {
		made.kind = NODE_CONST;
		made.height = 0;
		made.a = made.b = made.c = NULL;
	}
	n = arena_alloc(ps->arena, sizeof(*n));
	if (!n) {
		ps->nomem = ps->failed = true;
		return &unknown_node;
	}
	*n = made;
	return n;
}

static const struct print_node *node_const(struct parser *ps, uint64_t value, unsigned size,
					   bool is_unsigned)
{
	return node_make(
		ps, (struct print_node){ .kind = NODE_CONST,
					 .value = value,
					 .type = { .size = size, .is_unsigned = is_unsigned } });
}

static const struct print_node *node_cast(struct parser *ps, const struct print_node *a,
					  unsigned size, bool is_unsigned)
{
	return node_make(ps, (struct print_node){
		.kind = NODE_CAST, .a = a, .type = { .size = size, .is_unsigned = is_unsigned } });
}

static void note_unknown(struct parser *ps, struct text name)
{
	if (!ps->unknown.len)
		ps->unknown = name;
}

static const struct print_node *fail(struct parser *ps)
{
	ps->failed = true;
	return &unknown_node;
}

static const struct trace_field *read_field(struct parser *ps)
{
	struct text name = read_word(ps);

	for (uint32_t i = 0; i < ps->f->nfields; i++) {
		if (text_is(name, ps->f->fields[i].name))
			return &ps->f->fields[i];
	}
	ps->failed = true;
	return NULL;
}

/* ---- calls */

/*
 * { value, "name" }, ...: those whose value is not known are left out. The closing bracket of the
 * call is passed.
 */
static void parse_items(struct parser *ps, struct print_node *n)
{
	struct print_item *items;
	size_t most = 0;

	for (const char *p = ps->p, *close = scan_to(p, ps->end, 0); p < close; p++)
		most += *p == '{';
	items = arena_alloc(ps->arena, most * sizeof(*items));
	if (!items) {
		ps->nomem = ps->failed = true;
		return;
	}
	while (!ps->failed && take(ps, ",") && peek(ps) == '{' && n->nitems < most) {
		const char *close = scan_to(ps->p + 1, ps->end, 0);
		struct parser in = *ps;
		struct c_type type;
		const struct print_node *v;

		in.p++;
		in.end = close;
		v = parse_cond(&in);
		need(&in, ",");
		items[n->nitems].name = read_string(&in);
		ps->nomem |= in.nomem;
		if (!in.failed && print_fold(v, &ps->f->abi, &items[n->nitems].value, &type))
			n->nitems++;
		ps->p = close;
		need(ps, "}");
	}
	n->items = items;
	need(ps, ")");
}

static const struct print_node *call_choice(struct parser *ps, uint8_t kind)
{
	struct print_node n = { .kind = kind };

	n.a = parse_cond(ps);
	if (kind == NODE_FLAGS) {
		need(ps, ",");
		/* A delimiter may be NULL. */
		if (peek(ps) == '"')
			n.str = read_string(ps);
		else
			parse_cond(ps);
	}
	parse_items(ps, &n);
	return node_make(ps, n);
}

/* A helper over a field with a place in the record. */
static const struct print_node *call_field(struct parser *ps, uint8_t kind)
{
	struct print_node n = { .kind = kind, .field = read_field(ps) };

	need(ps, ")");
	if (n.field && !(n.field->flags & FIELD_DYNAMIC))
		return fail(ps);
	return node_make(ps, n);
}

/* Bytes and numbers that say how many. */
static const struct print_node *call_bytes(struct parser *ps, uint8_t kind)
{
	struct print_node n = { .kind = kind };

	n.a = parse_cond(ps);
	need(ps, ",");
	n.b = parse_cond(ps);
	if (kind == NODE_ARRAY) {
		need(ps, ",");
		n.c = parse_cond(ps);
	}
	need(ps, ")");
	return node_make(ps, n);
}

/* __print_dynamic_array(field, size) */
static const struct print_node *call_dynamic_array(struct parser *ps)
{
	struct print_node n = { .kind = NODE_ARRAY };
	const struct trace_field *field = read_field(ps);

	n.a = node_make(ps, (struct print_node){ .kind = NODE_DYNAMIC, .field = field });
	need(ps, ",");
	n.c = parse_cond(ps);
	need(ps, ")");
	return node_make(ps, n);
}

/* __print_hex_dump(prefix, type, row, group, bytes, length, ascii): the bytes alone. */
static const struct print_node *call_hex_dump(struct parser *ps)
{
	struct print_node n = { .kind = NODE_HEX };

	for (int i = 0; i < 4; i++) {
		parse_cond(ps);
		need(ps, ",");
	}
	n.a = parse_cond(ps);
	need(ps, ",");
	n.b = parse_cond(ps);
	need(ps, ",");
	parse_cond(ps);
	need(ps, ")");
	return node_make(ps, n);
}

enum { NS_PER_SEC = 1000000000 };

static const struct print_node *call_ns(struct parser *ps, uint8_t kind)
{
	const struct print_node *v = node_cast(ps, parse_cond(ps), 8, true);

	need(ps, ")");
	return node_make(ps, (struct print_node){ .kind = kind,
						  .a = v,
						  .b = node_const(ps, NS_PER_SEC, 4, false) });
}

static const struct print_node *call_swap(struct parser *ps, unsigned size, bool only_little)
{
	const struct print_node *v = node_cast(ps, parse_cond(ps), size, true);

	need(ps, ")");
	if (only_little && ps->f->abi.big_endian)
		return v;
	return node_make(ps, (struct print_node){
		.kind = NODE_SWAP, .a = v, .type = { .size = size, .is_unsigned = true } });
}

/* The first argument is the value. */
static const struct print_node *call_first(struct parser *ps)
{
	const struct print_node *v = parse_cond(ps);

	ps->p = scan_to(ps->p, ps->end, 0);
	need(ps, ")");
	return v;
}

/* sizeof(TYPE) or of a field */
static const struct print_node *call_sizeof(struct parser *ps)
{
	const char *close = scan_to(ps->p, ps->end, 0);
	struct c_type t =
		c_type_of(text_make(ps->p, (size_t)(close - ps->p)), ps->f->abi.long_size);
	uint64_t size = t.pointer ? ps->f->abi.long_size : t.size;

	if (take(ps, "REC->")) {
		const struct trace_field *field = read_field(ps);

		size = !field ? 0 : peek(ps) == '[' ? field->elem : field->size;
	}
	ps->p = close;
	need(ps, ")");
	return size ? node_const(ps, size, ps->f->abi.long_size, true) : fail(ps);
}

enum call_kind {
	CALL_CHOICE,
	CALL_FIELD,
	CALL_BYTES,
	CALL_DYNAMIC_ARRAY,
	CALL_HEX_DUMP,
	CALL_NS,
	CALL_SWAP,
	CALL_NTOH,
	CALL_FIRST,
	CALL_ZERO,
	CALL_SIZEOF
};

static const struct {
	const char *name;
	uint8_t call, with;
} calls[] = {
	{ "__print_flags", CALL_CHOICE, NODE_FLAGS },
	{ "__print_flags_u64", CALL_CHOICE, NODE_FLAGS },
	{ "__print_symbolic", CALL_CHOICE, NODE_SYMBOLIC },
	{ "__print_symbolic_u64", CALL_CHOICE, NODE_SYMBOLIC },
	{ "__print_hex", CALL_BYTES, NODE_HEX },
	{ "__print_hex_str", CALL_BYTES, NODE_HEX_STR },
	{ "__print_array", CALL_BYTES, NODE_ARRAY },
	{ "__print_dynamic_array", CALL_DYNAMIC_ARRAY, 0 },
	{ "__print_hex_dump", CALL_HEX_DUMP, 0 },
	{ "__get_str", CALL_FIELD, NODE_DYNAMIC },
	{ "__get_rel_str", CALL_FIELD, NODE_DYNAMIC },
	{ "__get_dynamic_array", CALL_FIELD, NODE_DYNAMIC },
	{ "__get_rel_dynamic_array", CALL_FIELD, NODE_DYNAMIC },
	{ "__get_sockaddr", CALL_FIELD, NODE_DYNAMIC },
	{ "__get_rel_sockaddr", CALL_FIELD, NODE_DYNAMIC },
	{ "__get_dynamic_array_len", CALL_FIELD, NODE_DYNAMIC_LEN },
	{ "__get_rel_dynamic_array_len", CALL_FIELD, NODE_DYNAMIC_LEN },
	{ "__get_bitmask", CALL_FIELD, NODE_BITMASK },
	{ "__get_rel_bitmask", CALL_FIELD, NODE_BITMASK },
	{ "__get_cpumask", CALL_FIELD, NODE_BITLIST },
	{ "__get_rel_cpumask", CALL_FIELD, NODE_BITLIST },
	{ "__print_ns_to_secs", CALL_NS, NODE_DIV },
	{ "__print_ns_without_secs", CALL_NS, NODE_MOD },
	{ "__builtin_expect", CALL_FIRST, 0 },
	{ "likely", CALL_FIRST, 0 },
	{ "unlikely", CALL_FIRST, 0 },
	{ "__builtin_constant_p", CALL_ZERO, 0 },
	{ "sizeof", CALL_SIZEOF, 0 },
	{ "__fswab16", CALL_SWAP, 2 },
	{ "__fswab32", CALL_SWAP, 4 },
	{ "__fswab64", CALL_SWAP, 8 },
	{ "__builtin_bswap16", CALL_SWAP, 2 },
	{ "__builtin_bswap32", CALL_SWAP, 4 },
	{ "__builtin_bswap64", CALL_SWAP, 8 },
	{ "ntohs", CALL_NTOH, 2 },
	{ "ntohl", CALL_NTOH, 4 },
	{ "be16_to_cpu", CALL_NTOH, 2 },
	{ "be32_to_cpu", CALL_NTOH, 4 },
	{ "be64_to_cpu", CALL_NTOH, 8 },
};

/* The opening bracket is passed. */
static const struct print_node *parse_call(struct parser *ps, struct text name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (!text_is(name, calls[i].name))
			continue;
		switch (calls[i].call) {
		case CALL_CHOICE: return call_choice(ps, calls[i].with);
		case CALL_FIELD: return call_field(ps, calls[i].with);
		case CALL_BYTES: return call_bytes(ps, calls[i].with);
		case CALL_DYNAMIC_ARRAY: return call_dynamic_array(ps);
		case CALL_HEX_DUMP: return call_hex_dump(ps);
		case CALL_NS: return call_ns(ps, calls[i].with);
		case CALL_SWAP: return call_swap(ps, calls[i].with, false);
		case CALL_NTOH: return call_swap(ps, calls[i].with, true);
		case CALL_FIRST: return call_first(ps);
		case CALL_SIZEOF: return call_sizeof(ps);
		default: break;
		}
		call_first(ps);
		return node_const(ps, 0, 4, false);
	}
	note_unknown(ps, name);
	return fail(ps);
}

/* ---- expressions */

/* Constants that kernels before 5.0 left as names. */
static const struct {
	const char *name;
	uint8_t value;
} constants[] = {
	{ "HI_SOFTIRQ", 0 },
	{ "TIMER_SOFTIRQ", 1 },
	{ "NET_TX_SOFTIRQ", 2 },
	{ "NET_RX_SOFTIRQ", 3 },
	{ "BLOCK_SOFTIRQ", 4 },
	{ "IRQ_POLL_SOFTIRQ", 5 },
	{ "TASKLET_SOFTIRQ", 6 },
	{ "SCHED_SOFTIRQ", 7 },
	{ "HRTIMER_SOFTIRQ", 8 },
	{ "RCU_SOFTIRQ", 9 },
	{ "HRTIMER_NORESTART", 0 },
	{ "HRTIMER_RESTART", 1 },
	{ "true", 1 },
	{ "false", 0 },
	{ "NULL", 0 },
};

static const struct print_node *parse_name(struct parser *ps)
{
	struct text name = read_word(ps);

	if (text_is(name, "REC")) {
		need(ps, "->");
		return node_make(
			ps, (struct print_node){ .kind = NODE_FIELD, .field = read_field(ps) });
	}
	if (take(ps, "("))
		return parse_call(ps, name);
	for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++) {
		if (text_is(name, constants[i].name))
			return node_const(ps, constants[i].value, 4, false);
	}
	note_unknown(ps, name);
	return &unknown_node;
}

static const struct print_node *parse_number(struct parser *ps)
{
	struct text t = read_word(ps), digits = t;
	unsigned base = 10, size = 4;
	bool is_unsigned = false;
	uint64_t v;

	if (text_skip(&digits, "0x") || text_skip(&digits, "0X"))
		base = 16;
	else if (t.len > 1 && t.p[0] == '0')
		base = 8;
	if (!text_u64(&digits, base, &v))
		return fail(ps);
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.p[i] == 'u' || digits.p[i] == 'U')
			is_unsigned = true;
		else if (digits.p[i] == 'l' || digits.p[i] == 'L')
			size = i && digits.p[i - 1] == digits.p[i] ? 8 : ps->f->abi.long_size;
		else
			return fail(ps);
	}
	/* The first type of C's list that holds it. */
	if (size == 4 && v > INT32_MAX && !(v <= UINT32_MAX && (is_unsigned || base != 10)))
		size = 8;
	if (size == 4 && v > INT32_MAX)
		is_unsigned = true;
	if (v > INT64_MAX)
		is_unsigned = true;
	return node_const(ps, v, size, is_unsigned);
}

static const struct print_node *parse_primary(struct parser *ps)
{
	const char c = peek(ps);
	const struct print_node *n;

	if (c == '"')
		return node_make(
			ps, (struct print_node){ .kind = NODE_STRING, .str = read_string(ps) });
	if (c == '\'') {
		const char *close = quote_end(ps->p, ps->end), *p = ps->p + 1;

		ps->p = close;
		return close - p < 2 ? fail(ps)
				     : node_const(ps, (uint64_t)read_char(&p, close), 4, false);
	}
	if (is_digit(c))
		return parse_number(ps);
	if (is_word(c))
		return parse_name(ps);
	need(ps, "(");
	if (ps->failed)
		return &unknown_node;
	n = parse_cond(ps);
	need(ps, ")");
	return n;
}

static const struct print_node *parse_postfix(struct parser *ps)
{
	const struct print_node *n = parse_primary(ps);

	while (!ps->failed && take(ps, "[")) {
		struct print_node index = { .kind = NODE_INDEX, .a = n };

		index.b = parse_cond(ps);
		need(ps, "]");
		n = node_make(ps, index);
	}
	return n;
}

static const struct print_node *parse_cast(struct parser *ps)
{
	struct print_node n = { .kind = NODE_CAST };
	const char *close = scan_to(ps->p + 1, ps->end, 0), *next = close + 1;
	struct text inner = text_make(ps->p + 1, (size_t)(close - ps->p - 1));

	while (next < ps->end && is_blank(*next))
		next++;
	n.type = c_type_of(inner, ps->f->abi.long_size);
	if (next >= ps->end || !is_cast(inner, *next, n.type))
		return parse_postfix(ps);
	ps->p = close + 1;
	n.a = parse_unary(ps);
	if (!n.type.size && !n.type.pointer)
		return n.a;
	return node_make(ps, n);
}

/* &REC->field; of anything else the address is not known. */
static const struct print_node *parse_address(struct parser *ps)
{
	const struct print_node *n = parse_unary(ps);

	if (n->kind != NODE_FIELD)
		return fail(ps);
	return node_make(ps, (struct print_node){ .kind = NODE_ADDRESS, .field = n->field });
}

static const struct print_node *parse_unary_op(struct parser *ps)
{
	const char c = peek(ps);
	uint8_t kind;

	switch (c) {
	case '-': kind = NODE_NEG; break;
	case '!': kind = NODE_NOT; break;
	case '~': kind = NODE_COMPL; break;
	case '*': kind = NODE_DEREF; break;
	case '+': ps->p++; return parse_unary(ps);
	case '&': ps->p++; return parse_address(ps);
	case '(': return parse_cast(ps);
	default: return parse_postfix(ps);
	}
	ps->p++;
	return node_make(ps, (struct print_node){ .kind = kind, .a = parse_unary(ps) });
}

static const struct print_node *parse_unary(struct parser *ps)
{
	const struct print_node *n;

	if (ps->failed || ps->depth >= PRINT_NESTING)
		return fail(ps);
	ps->depth++;
	n = parse_unary_op(ps);
	ps->depth--;
	return n;
}

/* Longer ones before those that they begin with. */
static const struct {
	char text[3];
	uint8_t kind, level;
} binaries[] = {
	{ "||", NODE_OROR, 1 }, { "&&", NODE_ANDAND, 2 }, { "|", NODE_OR, 3 }, { "^", NODE_XOR, 4 },
	{ "==", NODE_EQ, 6 }, { "!=", NODE_NE, 6 }, { "<<", NODE_SHL, 8 }, { ">>", NODE_SHR, 8 },
	{ "<=", NODE_LE, 7 }, { ">=", NODE_GE, 7 }, { "<", NODE_LT, 7 }, { ">", NODE_GT, 7 },
	{ "&", NODE_AND, 5 }, { "+", NODE_ADD, 9 }, { "-", NODE_SUB, 9 }, { "*", NODE_MUL, 10 },
	{ "/", NODE_DIV, 10 }, { "%", NODE_MOD, 10 },
};

static const struct print_node *parse_binary(struct parser *ps, unsigned level)
{
	const struct print_node *n = parse_unary(ps);
	bool more = true;

	while (more && !ps->failed) {
		more = false;
		for (size_t i = 0; i < sizeof(binaries) / sizeof(*binaries); i++) {
			struct print_node op = { .kind = binaries[i].kind, .a = n };
			const char *at = ps->p;

			if (!take(ps, binaries[i].text))
				continue;
			if (binaries[i].level < level) {
				ps->p = at;
				break;
			}
			op.b = parse_binary(ps, binaries[i].level + 1u);
			n = node_make(ps, op);
			more = true;
			break;
		}
	}
	return n;
}

static const struct print_node *parse_cond(struct parser *ps)
{
	struct print_node n = { .kind = NODE_COND };

	n.a = parse_binary(ps, 1);
	if (ps->failed || !take(ps, "?"))
		return n.a;
	if (ps->depth >= PRINT_NESTING)
		return fail(ps);
	ps->depth++;
	/* gcc's `a ?: b` */
	n.b = peek(ps) == ':' ? n.a : parse_cond(ps);
	need(ps, ":");
	n.c = parse_cond(ps);
	ps->depth--;
	return node_make(ps, n);
}

/* ---- the format */

/* Returns the next argument, supported or not, or NULL. */
static const struct print_node *next_arg(struct parser *ps, struct print_op *op)
{
	const struct print_node *n;
	struct parser in;

	if (!take(ps, ","))
		return NULL;
	in = *ps;
	in.end = scan_to(ps->p, ps->end, ',');
	in.unknown.len = 0;
	op->source = text_trim(text_make(ps->p, (size_t)(in.end - ps->p)));
	ps->p = in.end;
	n = parse_cond(&in);
	op->unknown = in.unknown;
	skip_blanks(&in);
	ps->nomem |= in.nomem;
	return in.failed || in.p != in.end ? &unknown_node : n;
}

/* A width or precision: digits, or `*` for an argument. */
static int read_width(struct text *t, struct parser *ps, const struct print_node **arg)
{
	struct print_op star;
	uint64_t v;

	if (text_skip(t, "*")) {
		*arg = next_arg(ps, &star);
		return -1;
	}
	if (!text_u64(t, 10, &v))
		return -1;
	return v < PRINT_WIDTH_MAX ? (int)v : PRINT_WIDTH_MAX;
}

static uint8_t read_flags(struct text *t)
{
	static const char letters[] = "-0+ #";
	uint8_t flags = 0;
	const char *at;

	while (t->len && (at = memchr(letters, *t->p, sizeof(letters) - 1)) != NULL) {
		flags |= (uint8_t)(1 << (at - letters));
		t->p++;
		t->len--;
	}
	return flags;
}

static uint8_t read_length(struct text *t)
{
	static const struct {
		const char *text;
		uint8_t length;
	} lengths[] = {
		{ "hh", LENGTH_CHAR }, { "h", LENGTH_SHORT }, { "ll", LENGTH_LLONG },
		{ "l", LENGTH_LONG },  { "L", LENGTH_LLONG }, { "q", LENGTH_LLONG },
		{ "j", LENGTH_LLONG }, { "z", LENGTH_LONG },  { "Z", LENGTH_LONG },
		{ "t", LENGTH_LONG },
	};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		if (text_skip(t, lengths[i].text))
			return lengths[i].length;
	}
	return LENGTH_INT;
}

/* A conversion; `t` follows its percent sign. */
static void read_conversion(struct parser *ps, struct text *t, struct print_op *op)
{
	const char *start = t->p - 1;

	op->flags = read_flags(t);
	op->width = read_width(t, ps, &op->width_arg);
	op->prec = -1;
	if (text_skip(t, ".")) {
		op->prec = read_width(t, ps, &op->prec_arg);
		if (op->prec < 0 && !op->prec_arg)
			op->prec = 0;
	}
	op->length = read_length(t);
	if (t->len) {
		op->conv = *t->p == 'i' ? 'd' : *t->p;
		t->p++;
		t->len--;
	}
	op->ext = text_make(t->p, 0);
	/* SPEC uftrace/print-pointer: letters and digits after %p say what it points to */
	while (op->conv == 'p' && t->len && is_word(*t->p) && *t->p != '_') {
		op->ext.len++;
		t->p++;
		t->len--;
	}
	op->spec = text_make(start, (size_t)(t->p - start));
	if (!op->conv || !memchr("duoxXcsp", op->conv, 8))
		op->conv = '?';
	else
		op->arg = next_arg(ps, op);
}

static uint32_t compile_ops(struct parser *ps, struct text format, struct print_op *ops)
{
	uint32_t n = 0;

	while (format.len) {
		struct print_op *op = &ops[n++];
		ptrdiff_t at = text_find(format, '%');

		op->literal = text_make(format.p, at < 0 ? format.len : (size_t)at);
		format = text_make(format.p + op->literal.len, format.len - op->literal.len);
		if (!text_skip(&format, "%"))
			break;
		if (format.len && *format.p == '%') { /* `%%`: the second one is text */
			op->literal.len++;
			format = text_make(format.p + 1, format.len - 1);
		} else {
			read_conversion(ps, &format, op);
		}
	}
	return n;
}

enum spur_status print_compile(struct arena *a, const struct tracefmt *f, struct text text,
			       const struct print_plan **plan)
{
	struct parser ps = { .arena = a, .f = f, .p = text.p, .end = text.p + text.len };
	struct text format = read_string(&ps);
	struct print_plan *made;
	struct print_op *ops;
	size_t most = 1;

	skip_blanks(&ps);
	if (!ps.nomem && (ps.failed || (ps.p != ps.end && *ps.p != ',')))
		return SPUR_WARN;
	for (size_t i = 0; i < format.len; i++)
		most += format.p[i] == '%';
	made = arena_alloc(a, sizeof(*made));
	ops = arena_alloc(a, most * sizeof(*ops));
	if (ps.nomem || !made || !ops)
		return SPUR_FAIL;
	made->nops = compile_ops(&ps, format, ops);
	made->ops = ops;
	if (ps.nomem)
		return SPUR_FAIL;
	*plan = made;
	return SPUR_OK;
}
