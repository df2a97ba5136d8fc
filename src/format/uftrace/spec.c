/*
 * Argument specifications: which payload a function's records carry.
 * `FUNC@SPEC[,SPEC..][,MODULE];...`
 */
#include <stdio.h>

#include "base/bits.h"
#include "base/out.h"
#include "format/uftrace/copying.h"
#include "format/uftrace/reader.h"

enum { MAX_SPECS = 1 << 14, MAX_ARGS = 64, MAX_REGEX = 1024, MAX_REPEATS = 1024 };

/* What tells two specs of one function apart: a later one of the same key replaces the earlier. */
enum spec_key { KEY_INDEX, KEY_FLOAT, KEY_REGISTER, KEY_STACK };

struct arg_spec {
	struct plan_op op;
	enum spec_key key;
	struct text place; /* register or stack slot */
	uint64_t index; /* 0: return value */
	bool exact; /* from an exact name */
};

struct spec_list {
	struct arg_spec items[MAX_ARGS];
	size_t count;
};

/* --- one SPEC --- */

/* argN, fpargN, retval */
static bool read_target(struct uftrace *u, struct text *t, struct arg_spec *a)
{
	char name[32];

	/* SPEC uftrace/size-class */
	a->op.size = u->d.info.is64 ? 8 : 4;
	a->op.code = PLAN_INT;
	a->op.show = SPUR_SHOW_AUTO;
	a->key = KEY_INDEX;
	if (text_skip(t, "retval")) {
		a->op.name = trace_intern(u->t, "retval");
		return true;
	}
	if (text_skip(t, "fparg")) {
		a->key = KEY_FLOAT;
		a->op.code = PLAN_FLOAT;
		a->op.size = 8;
	} else if (!text_skip(t, "arg")) {
		return false;
	}
	if (!text_u64(t, 10, &a->index) || a->index > 1000)
		return false;
	snprintf(name, sizeof(name), "%s%u", a->key == KEY_FLOAT ? "fparg" : "arg",
		 (unsigned)a->index);
	a->op.name = trace_intern(u->t, name);
	return true;
}

struct format_letter {
	char letter;
	uint8_t code, show, size; /* size 0: the native one */
};

static const struct format_letter letters[] = {
	{ 'd', PLAN_INT, SPUR_SHOW_AUTO, 0 },
	{ 'i', PLAN_INT, SPUR_SHOW_PLAIN, 0 },
	{ 'u', PLAN_UINT, SPUR_SHOW_PLAIN, 0 },
	{ 'x', PLAN_UINT, SPUR_SHOW_HEX, 0 },
	{ 'o', PLAN_UINT, SPUR_SHOW_OCTAL, 0 },
	{ 's', PLAN_STR16, 0, 0 },
	{ 'S', PLAN_STR16, 0, 0 },
	{ 'c', PLAN_CHAR, SPUR_SHOW_CHAR, 1 },
	{ 'f', PLAN_FLOAT, 0, 8 },
	{ 'p', PLAN_POINTER, SPUR_SHOW_HEX, 0 },
};

static const char *arena_text(struct uftrace *u, struct text t)
{
	return arena_strdup(&u->t->arena, t.p, t.len);
}

/* SPEC uftrace/enum: e:NAME */
static bool read_enum(struct uftrace *u, const struct uftrace_module *m, struct text *t,
		      struct arg_spec *a)
{
	ptrdiff_t end;
	struct text name;

	if (!text_skip(t, "e:"))
		return false;
	end = text_find(*t, '%');
	name = text_make(t->p, end < 0 ? t->len : (size_t)end);
	*t = text_make(t->p + name.len, t->len - name.len);
	a->op.code = PLAN_ENUM;
	a->op.type_text = arena_text(u, name);
	a->op.table = m ? enum_find(m->enums, name) : NULL;
	if (!a->op.table)
		a->op.table = enum_find(u->enums, name);
	return a->op.type_text != NULL;
}

/* A recorder that stores left-overs instead of any struct that is passed in registers. */
static bool is_old_recorder(const struct uftrace *u)
{
	struct text v = u->d.info.uftrace_version;
	uint64_t minor;

	return text_skip(&v, "v0.") && text_u64(&v, 10, &minor) && minor <= 13;
}

/*
 * SPEC uftrace/struct: the recorder stores left-overs for returned structs, and zeros or left-overs
 * for members in SSE registers, for those in registers that the spec does not name, and (old ones)
 * for all in registers. `place` is what follows the '%'; if it is empty, the register of the
 * argument's number is stored.
 */
static bool is_struct_unreliable(const struct uftrace *u, const struct arg_spec *a,
				 struct text place)
{
	const uint64_t word = u->d.info.is64 ? 8 : 4;
	uint64_t known = place.len ? 0 : word;
	const bool place_named = place.len != 0;
	struct text reg;

	if (!a->op.size)
		return false;
	if (!a->index || text_search(place, "XMM") >= 0)
		return true;
	if (text_starts(place, "stack"))
		return false;
	while (text_split(&place, '+', &reg))
		known += reg.len ? word : 0;
	return known < a->op.size || (place_named && is_old_recorder(u));
}

/* tSIZE[:NAME][%REG+REG...] */
static bool read_struct(struct uftrace *u, struct text *t, struct arg_spec *a)
{
	uint64_t size;
	ptrdiff_t end;

	if (!text_skip(t, "t") || !text_u64(t, 10, &size) || size > UINT16_MAX)
		return false;
	a->op.code = PLAN_STRUCT;
	a->op.size = (uint32_t)size;
	if (text_skip(t, ":")) {
		end = text_find(*t, '%');
		a->op.type_text = arena_text(u, text_make(t->p, end < 0 ? t->len : (size_t)end));
		*t = text_make(t->p + (end < 0 ? (ptrdiff_t)t->len : end),
			       end < 0 ? 0 : t->len - (size_t)end);
	}
	a->op.unreliable = is_struct_unreliable(
		u, a, t->len ? text_make(t->p + 1, t->len - 1) : text_make("", 0));
	return true;
}

static bool read_bits(struct uftrace *u, struct text *t, struct arg_spec *a)
{
	uint64_t bits;

	if (!t->len || t->p[0] == '%')
		return true;
	if (!text_u64(t, 10, &bits))
		return false;
	/* SPEC uftrace/float80 */
	if (bits == 80 && a->op.code == PLAN_FLOAT)
		a->op.size = text_is(u->d.info.arch, "arm") ? 8 : 10;
	else if (bits == 8 || bits == 16 || bits == 32 || bits == 64)
		a->op.size = (uint32_t)bits / 8;
	else
		return false;
	return true;
}

/* `/FMT[BITS]` or `/BITS` of a floating-point argument */
static bool read_format(struct uftrace *u, const struct uftrace_module *m, struct text *t,
			struct arg_spec *a)
{
	if (!text_skip(t, "/"))
		return true;
	if (!t->len)
		return false;
	if (t->p[0] == 'e')
		return read_enum(u, m, t, a);
	if (t->p[0] == 't')
		return read_struct(u, t, a);
	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (letters[i].letter == t->p[0]) {
			a->op.code = letters[i].code;
			a->op.show = letters[i].show;
			if (letters[i].size)
				a->op.size = letters[i].size;
			if (t->p[0] == 'f')
				a->key = KEY_FLOAT;
			if (t->p[0] == 'S')
				a->op.type_text = "std::string";
			*t = text_make(t->p + 1, t->len - 1);
			return read_bits(u, t, a);
		}
	return a->op.code == PLAN_FLOAT && read_bits(u, t, a);
}

/* SPEC uftrace/arg-spec: `argN|fpargN|retval [/FMT[BITS]] [%REG|%stack+N]` */
static bool parse_spec(struct uftrace *u, const struct uftrace_module *m, struct text t,
		       struct arg_spec *a)
{
	*a = (struct arg_spec){ .op.align = 4 };
	if (!read_target(u, &t, a) || !read_format(u, m, &t, a))
		return false;
	if (text_skip(&t, "%")) {
		if (a->op.code != PLAN_STRUCT || text_starts(t, "stack"))
			a->key = text_starts(t, "stack") ? KEY_STACK : KEY_REGISTER;
		a->place = t;
		return true;
	}
	return t.len == 0;
}

/* --- lists --- */

static bool same_key(const struct arg_spec *a, const struct arg_spec *b)
{
	if (a->key != b->key || !a->index != !b->index)
		return false;
	return a->key == KEY_REGISTER || a->key == KEY_STACK ? same_text(a->place, b->place)
							     : a->index == b->index;
}

/*
 * SPEC uftrace/spec-replace: a later spec of the same key replaces, unless it is a pattern's and
 * the earlier an exact name's
 */
static void put_spec(struct spec_list *l, const struct arg_spec *a)
{
	for (size_t i = 0; i < l->count; i++)
		if (same_key(&l->items[i], a)) {
			if (a->exact || !l->items[i].exact)
				l->items[i] = *a;
			return;
		}
	if (l->count < MAX_ARGS)
		l->items[l->count++] = *a;
}

static void put_specs(struct uftrace *u, const struct uftrace_module *m, struct spec_list *l,
		      struct text specs, bool exact)
{
	struct text one;
	struct arg_spec a;

	while (text_split(&specs, ',', &one))
		if (parse_spec(u, m, text_trim(one), &a)) {
			a.exact = exact;
			put_spec(l, &a);
		}
}

/* Only those of one side: return value or arguments. */
static bool has_side(const struct spec_list *l, bool ret)
{
	for (size_t i = 0; i < l->count; i++)
		if (!l->items[i].index == ret)
			return true;
	return false;
}

static bool make_plan(struct uftrace *u, const struct spec_list *l, bool ret,
		      const struct plan **out)
{
	struct plan_op *ops;
	struct plan *p;
	uint64_t size = 0;
	bool fixed = true;
	uint32_t n = 0;

	*out = NULL;
	if (!has_side(l, ret))
		return true;
	p = arena_alloc(&u->t->arena, sizeof(*p));
	ops = arena_alloc(&u->t->arena, l->count * sizeof(*ops));
	if (!p || !ops)
		return false;
	for (size_t i = 0; i < l->count; i++)
		if (!l->items[i].index == ret) {
			ops[n++] = l->items[i].op;
			fixed = fixed && l->items[i].op.code != PLAN_STR16;
			size = align_up(size + l->items[i].op.size, 4);
		}
	*p = (struct plan){
		.ops = ops,
		.count = n,
		.fixed = fixed ? (uint32_t)align_up(size, 8) : 0,
		.swap = u->swap,
		.null_string =
			1, /* SPEC uftrace/string: the letters NULL are a string like others */
		.tail_align = 8,
	};
	*out = p;
	return true;
}

/* --- which specs a function has --- */

static bool module_matches(const struct uftrace_spec *s, const struct uftrace_module *m,
			   const struct symbol *sym)
{
	ptrdiff_t slash;

	if (!s->module.len)
		return true;
	if (text_is(s->module, "PLT") || text_is(s->module, "plt"))
		return sym->type == 'P';
	slash = text_rfind(m->path, '/');
	return m->path.len - (size_t)(slash + 1) >= s->module.len &&
	       memcmp(m->path.p + slash + 1, s->module.p, s->module.len) == 0;
}

static bool put_user_specs(struct uftrace *u, const struct uftrace_module *m,
			   const struct symbol *sym, const char *simple, struct spec_list *l)
{
	bool any = false;

	for (size_t i = 0; i < u->user.count; i++) {
		const struct uftrace_spec *s = &u->user.items[i];

		if (s->pattern && module_matches(s, m, sym) && pattern_match(s->pattern, simple)) {
			put_specs(u, m, l, s->specs, s->exact);
			any = true;
		}
	}
	return any;
}

static void put_auto(struct uftrace *u, const struct uftrace_specs *from,
		     const struct uftrace_module *m, const struct symbol *sym, const char *simple,
		     struct spec_list *l)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct uftrace_spec *s = &from->items[i];

		if (text_is(s->func, sym->name) || text_is(s->func, simple) ||
		    text_is(s->simple, simple)) {
			put_specs(u, m, l, s->specs, true);
			return;
		}
	}
}

/* A name whose special bytes are written as %XX. Returns its string id, or 0 if it has none. */
static uint32_t decoded_name(struct uftrace *u, struct text t)
{
	struct out o;
	uint32_t id;

	out_to_memory(&o);
	while (t.len) {
		struct text code = text_make(t.p + 1, 2);
		uint64_t byte;

		if (t.p[0] == '%' && t.len > 2 && text_u64(&code, 16, &byte) && !code.len) {
			out_char(&o, (char)byte);
			t = text_make(t.p + 3, t.len - 3);
		} else {
			out_char(&o, t.p[0]);
			t = text_make(t.p + 1, t.len - 1);
		}
	}
	id = o.len && !o.error ? trace_intern_n(u->t, o.buf, o.len) : 0;
	out_free(&o);
	return id;
}

/* SPEC uftrace/arg-names: the n-th name is that of argument n */
static void name_args(struct uftrace *u, struct spec_list *l, struct text names, bool ret)
{
	struct text name;

	for (uint64_t n = ret ? 0 : 1; text_split(&names, ',', &name); n++) {
		const uint32_t id = decoded_name(u, name);

		for (size_t i = 0; id && i < l->count; i++)
			if (l->items[i].index == n)
				l->items[i].op.name = id;
		if (ret)
			break;
	}
}

/*
 * SPEC uftrace/spec-choice: the user's; else, with auto-args, the .dbg file's; else the built-in
 * list's. Arguments and return
 * value are looked up separately.
 */
bool uftrace_plans(struct uftrace *u, const struct uftrace_module *m, const struct symbol *sym,
		   const char *simple, const struct plan **entry, const struct plan **exit)
{
	struct spec_list *l = mem_alloc(sizeof(*l));
	const struct uftrace_debug *d;
	bool ok;

	*entry = *exit = NULL;
	if (!l)
		return false;
	if (!put_user_specs(u, m, sym, simple, l) && u->d.info.auto_args) {
		d = uftrace_debug(m, sym->addr);
		if (d && !d->conflict) {
			put_specs(u, m, l, d->args, true);
			put_specs(u, m, l, d->ret, true);
			name_args(u, l, d->arg_names, false);
			name_args(u, l, d->ret_name, true);
		}
		if (!has_side(l, false))
			put_auto(u, &u->autoargs, m, sym, simple, l);
		if (!has_side(l, true))
			put_auto(u, &u->autorets, m, sym, simple, l);
	}
	ok = make_plan(u, l, false, entry) && make_plan(u, l, true, exit);
	mem_free(l);
	return ok;
}

/* --- reading them from info --- */

static bool is_pattern(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (strchr(".?*+-^$|()[]{}", t.p[i]))
			return true;
	return false;
}

/*
 * Patterns come from the file: those that could take more time or memory than they are worth
 * (back-references, many repetitions) are no patterns.
 */
static bool is_tame(struct text t)
{
	uint64_t repeats = 1, n;

	if (t.len > MAX_REGEX)
		return false;
	while (t.len) {
		struct text rest = text_make(t.p + 1, t.len - 1);

		if (t.p[0] == '\\' && rest.len && rest.p[0] >= '1' && rest.p[0] <= '9')
			return false;
		/* {N}, {N,M}: each number counts, which is more than enough */
		if ((t.p[0] == '{' || t.p[0] == ',') && text_u64(&rest, 10, &n))
			repeats *= n > MAX_REPEATS ? MAX_REPEATS + 1 : n ? n : 1;
		if (repeats > MAX_REPEATS)
			return false;
		t = text_make(t.p + 1, t.len - 1);
	}
	return true;
}

/* A last item that is no spec names the module. */
static void cut_module(struct uftrace *u, struct uftrace_spec *s)
{
	ptrdiff_t comma = text_rfind(s->specs, ',');
	struct text last = text_make(s->specs.p + comma + 1, s->specs.len - (size_t)(comma + 1));
	struct arg_spec a;

	if (!last.len || parse_spec(u, NULL, last, &a) || text_starts(last, "arg") ||
	    text_starts(last, "fparg"))
		return;
	s->module = last;
	s->specs.len = comma < 0 ? 0 : (size_t)comma;
}

bool uftrace_specs_valid(struct uftrace *u, struct text specs)
{
	struct arg_spec a;
	struct text one;
	bool valid = true;

	while (valid && text_split(&specs, ',', &one))
		valid = !text_trim(one).len || parse_spec(u, NULL, text_trim(one), &a);
	return valid;
}

/* `FUNC@SPECS`. False: damaged, and skipped as far as it is. */
static bool read_spec(struct uftrace *u, struct text one, bool patterns, struct uftrace_spec *s)
{
	ptrdiff_t at = text_find(one, '@');
	enum pattern_kind kind = PATTERN_EXACT;
	const char *func;

	*s = (struct uftrace_spec){ 0 };
	if (at <= 0)
		return false;
	s->func = text_trim(text_make(one.p, (size_t)at));
	s->specs = text_make(one.p + at + 1, one.len - (size_t)at - 1);
	cut_module(u, s);
	/* SPEC uftrace/pattern: a name without special characters is exact whatever the kind */
	s->exact = !is_pattern(s->func) || text_is(u->d.info.pattern_type, "simple");
	if (!s->exact)
		kind = text_is(u->d.info.pattern_type, "glob") ? PATTERN_GLOB : PATTERN_REGEX;
	func = arena_text(u, s->func);
	if (patterns && func && (kind == PATTERN_EXACT || is_tame(s->func)))
		s->pattern = pattern_new(kind, func, NULL, NULL);
	if (uftrace_specs_valid(u, s->specs))
		return !patterns || s->pattern;
	/* Which bytes are whose is not known: better none. */
	s->specs.len = 0;
	return false;
}

static bool add_specs(struct uftrace *u, struct uftrace_specs *list, struct text all, bool patterns)
{
	struct out simple;
	struct text one;

	out_to_memory(&simple);
	while (text_split(&all, ';', &one)) {
		struct uftrace_spec s;

		if (!text_trim(one).len)
			continue;
		if (list->count >= MAX_SPECS || !read_spec(u, one, patterns, &s))
			uftrace_say(u, DIAG_DAMAGE, "uftrace/bad-spec", "info",
				    (uint64_t)(one.p - (const char *)u->d.info.header),
				    "argument spec: expected FUNCTION@SPEC,... (%d at most), found "
				    "\"%.*s\"",
				    MAX_SPECS, (int)(one.len < 60 ? one.len : 60), one.p);
		if (list->count >= MAX_SPECS)
			break;
		out_clear(&simple);
		demangle(&simple, s.func.p ? s.func.p : "", s.func.len, DEMANGLE_SIMPLE);
		s.simple =
			text_make(arena_strdup(&u->t->arena, simple.buf, simple.len), simple.len);
		if (!s.simple.p || !mem_grow((void **)&list->items, &list->cap, list->count + 1,
					     sizeof(s), MAX_SPECS)) {
			pattern_free(s.pattern);
			break;
		}
		list->items[list->count++] = s;
	}
	out_free(&simple);
	return !trace_short_of_memory(u->t);
}

uint64_t uftrace_specs_clean(struct uftrace *u, struct text specs, bool patterns, struct out *o)
{
	uint64_t changed = 0;
	struct text one;
	size_t count = 0;

	while (text_split(&specs, ';', &one)) {
		const bool more = specs.p > one.p + one.len;
		const bool counts = text_trim(one).len != 0;
		struct uftrace_spec s = { 0 };
		bool good = !counts || (count < MAX_SPECS && read_spec(u, one, patterns, &s));

		count += counts;
		if (good)
			out_bytes(o, one.p, one.len);
		changed += !good;
		/* A function whose specifications are invalid has none, of other lists either. */
		if (!good && count <= MAX_SPECS && s.func.len && (!patterns || s.pattern)) {
			out_bytes(o, s.func.p, s.func.len);
			out_char(o, '@');
			good = true;
		}
		if (good && more)
			out_char(o, ';');
		pattern_free(s.pattern);
	}
	return changed;
}

bool uftrace_read_specs(struct uftrace *u)
{
	const struct uftrace_info *i = &u->d.info;
	struct text enums = i->enumauto, one;

	while (text_split(&enums, ';', &one)) {
		struct enum_table *t = text_trim(one).len ? enum_parse(&u->t->arena, one) : NULL;

		if (t) {
			t->next = u->enums;
			u->enums = t;
		}
	}
	return add_specs(u, &u->user, i->argspec, true) &&
	       add_specs(u, &u->user, i->retspec, true) &&
	       add_specs(u, &u->autoargs, i->argauto, false) &&
	       add_specs(u, &u->autorets, i->retauto, false);
}
