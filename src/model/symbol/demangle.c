/*
 * Demangling: the full form by libiberty, within bounds; the simple form by the parsers of
 * demangle_simple.h.
 */
#include "model/symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

#include "base/mem.h"
#include "model/symbol/demangle_simple.h"
#include "model/trace.h"

enum {
	FULL_STACK = 4096, /* shorter names are copied to the stack */
	FULL_INPUT = 1 << 16, /* longer ones stay as they are */
	FULL_GROWTH = 64, /* bytes out per byte of the name, .. */
	FULL_ROOM = 1 << 16, /* .. and above that: substitutions may double a text at each step */
};

struct full {
	struct out *o;
	size_t limit;
	jmp_buf stop;
};

static void full_put(const char *text, size_t len, void *opaque)
{
	struct full *f = opaque;

	/*
	 * The only way out of libiberty before its end; it holds nothing that would be lost but a
	 * name in Punycode.
	 */
	if (f->o->error || len > f->limit - f->o->len)
		longjmp(f->stop, 1);
	out_bytes(f->o, text, len);
}

/* `name` is NUL-ended, `flags` are libiberty's. */
static bool full_run(struct out *o, const char *name, size_t len, int flags)
{
	struct full f = { .o = o, .limit = o->len + FULL_GROWTH * len + FULL_ROOM };
	size_t base = o->len;
	bool ok;

	if (setjmp(f.stop))
		return false;
	ok = rust_demangle_callback(name, flags, full_put, &f) != 0;
	if (!ok) {
		out_cut(o, base);
		ok = cplus_demangle_v3_callback(name, flags, full_put, &f) != 0;
	}
	return ok && o->len > base;
}

/*
 * Without parameters libiberty demangles what it can and ignores the rest, so the name is demangled
 * with them first: what that refuses is rejected. The ignored suffixes of clones are put back.
 */
static bool name_run(struct out *o, const char *name, size_t len)
{
	const size_t base = o->len;
	const char *clone = strchr(name, '.');

	if (!full_run(o, name, len, DMGL_PARAMS | DMGL_ANSI))
		return false;
	out_cut(o, base);
	if (!full_run(o, name, len, DMGL_ANSI))
		return false;
	/* Rust names have no such suffix, or it is shown. */
	if (!clone || name[1] != 'Z' || memchr(o->buf + base, '.', o->len - base))
		return true;
	out_str(o, " [clone ");
	out_str(o, clone);
	out_char(o, ']');
	return true;
}

static bool full_form(struct out *o, const char *name, size_t len, enum demangle_form form)
{
	const char *version = memchr(name, '@', len); /* of a symbol, as in _Znwm@GLIBCXX_3.4 */
	size_t n = version ? (size_t)(version - name) : len;
	char small[FULL_STACK];
	char *copy = small;
	bool ok;

	if (n > FULL_INPUT || n < 3 || name[0] != '_')
		return false;
	if (n >= sizeof(small))
		copy = mem_alloc(n + 1);
	if (!copy)
		return false;
	memcpy(copy, name, n);
	copy[n] = 0;
	ok = form == DEMANGLE_NAME ? name_run(o, copy, n)
				   : full_run(o, copy, n, DMGL_PARAMS | DMGL_ANSI);
	if (copy != small)
		mem_free(copy);
	if (ok && version)
		out_bytes(o, version, len - n);
	return ok;
}

/* A name may be after a prefix that stays. */
static size_t prefix_length(const char *name, size_t len)
{
	static const char *const prefixes[] = { "_GLOBAL__sub_I_", "__device_stub_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t n = strlen(prefixes[i]);

		if (len >= n && !memcmp(name, prefixes[i], n))
			return n;
	}
	return 0;
}

static bool simple_form(struct out *o, const char *name, size_t len)
{
	size_t prefix = prefix_length(name, len);
	struct skim s = { .in = name + prefix, .all = len - prefix, .o = o };

	if (s.all < 3 || s.all > SKIM_INPUT || s.in[0] != '_')
		return false;
	out_bytes(o, name, prefix);
	s.base = o->len;
	s.limit = SKIM_GROWTH * s.all + SKIM_ROOM;
	if (s.in[1] == 'R')
		return !prefix && skim_rust_v0(&s);
	return s.in[1] == 'Z' && skim_cpp(&s);
}

/* The form without parameters, after a prefix that stays. */
static bool name_form(struct out *o, const char *name, size_t len)
{
	const size_t prefix = prefix_length(name, len), base = o->len;

	out_bytes(o, name, prefix);
	if (full_form(o, name + prefix, len - prefix, DEMANGLE_NAME))
		return true;
	out_cut(o, base);
	return simple_form(o, name, len);
}

void demangle(struct out *o, const char *name, size_t len, enum demangle_form form)
{
	size_t base = o->len;
	bool ok = false;

	if (!memchr(name, 0, len)) {
		if (form == DEMANGLE_NAME)
			ok = name_form(o, name, len);
		else if (form == DEMANGLE_SIMPLE)
			ok = simple_form(o, name, len);
		else if (form == DEMANGLE_FULL)
			ok = full_form(o, name, len, form);
	}
	if (ok || o->error)
		return;
	out_cut(o, base);
	out_bytes(o, name, len);
}

struct demangled demangle_class(struct spur_trace *t, const char *raw)
{
	const enum demangle_form forms[] = { (enum demangle_form)t->options.demangle,
					     DEMANGLE_SIMPLE };
	uint32_t ids[2];
	struct out o;

	out_to_memory(&o);
	for (size_t i = 0; i < 2; i++) {
		out_clear(&o);
		demangle(&o, raw, strlen(raw), forms[i]);
		ids[i] = trace_intern_n(t, o.buf, o.len);
	}
	out_free(&o);
	return (struct demangled){ ids[0], ids[1], trace_intern(t, raw) };
}
