/* See list.h. */
#include "recorder/list.h"

#include <string.h>

#include "base/search.h"
#include "recorder/plan.h"

static const char *const way_names[ENTRY_WAYS] = {
	[ENTRY_PATCHABLE] = "patchable", [ENTRY_SLEDS] = "sleds",   [ENTRY_FENTRY] = "fentry",
	[ENTRY_MCOUNT] = "mcount",	 [ENTRY_CALLED] = "called",
};

static const struct binary_function *function_at(const struct binary *b, uint64_t address)
{
	size_t lo;

	bisect(lo, 0, b->nfunctions, b->functions[lo].address < address);
	return lo < b->nfunctions && b->functions[lo].address == address ? &b->functions[lo] : NULL;
}

static void write_arguments(struct out *out, const struct plan_builder *p,
			    const struct plan_function *f)
{
	const unsigned n = f->nargs + f->nresults;

	for (unsigned i = 0; i < n; i++) {
		const char *const name = p->texts.buf + p->args[f->args + i].name;

		out_str(out, i == 0 && f->nargs ? "(" : i == f->nargs ? " = " : ", ");
		out_safe(out, name, strlen(name));
		if (i + 1 == f->nargs)
			out_char(out, ')');
	}
}

static void write_function(struct out *out, struct plan_builder *p, const struct plan_function *f)
{
	const struct binary_function *const has =
		f->address ? function_at(p->binary, f->address) : NULL;
	const char *const raw = has ? has->name : p->texts.buf + f->name;
	const struct rule_name name = rules_name(&p->names, raw ? raw : "");

	if (has)
		out_printf(out, "%-9s %8llu  ", way_names[has->way], (unsigned long long)has->size);
	else
		out_printf(out, "%-9s %8s  ", "library", "");
	if (*name.shown)
		out_safe(out, name.shown, strlen(name.shown));
	else
		out_printf(out, "<%llx>", (unsigned long long)f->address);
	write_arguments(out, p, f);
	if (f->flags & PLAN_TRACE_ON)
		out_str(out, "  [switches on]");
	if (f->flags & PLAN_TRACE_OFF)
		out_str(out, "  [switches off]");
	out_char(out, '\n');
}

enum spur_status list_write(struct out *out, const struct recorder_options *o, uint64_t *count,
			    struct spur_error *err)
{
	struct plan_builder plan = { 0 };
	struct program p;
	enum spur_status st;

	*count = 0;
	st = program_open(&p, o->argv[0], o->symbol_dirs, err);
	if (st == SPUR_OK)
		st = plan_make(&plan, &p.binary, o->rules, true, o->symbol_dirs, err);
	if (st == SPUR_OK) {
		*count = plan.nfunctions;
		program_describe(&p, o);
		for (size_t i = 0; i < plan.nfunctions; i++)
			write_function(out, &plan, &plan.functions[i]);
	}
	plan_free(&plan);
	program_close(&p);
	return st;
}
