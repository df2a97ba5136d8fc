/*
 * check: what is wrong with the trace, where, how bad. Reads every record and decodes every
 * argument; tells all diagnostics that were kept, then a verdict. As text, as one JSON object, or
 * as JSON lines, one a kind of damage and file.
 */
#include "pass/fold/count.h"
#include "pass/pass.h"
#include "render/diag.h"

static void group_text(struct out *o, const struct diag_group *g)
{
	for (uint32_t i = 0; i < g->nkept; i++) {
		out_printf(o, "%-8s ", diag_level_name(g->level));
		diag_place(o, g->file, g->kept[i].off);
		out_safe(o, g->kept[i].text, strlen(g->kept[i].text));
		out_char(o, '\n');
	}
	out_printf(o, "%8s ", "");
	diag_place(o, g->file, DIAG_NO_OFF);
	out_printf(o, "%llu of %s", (unsigned long long)g->count, g->code);
	if (g->bytes_lost)
		out_printf(o, ", %llu bytes lost", (unsigned long long)g->bytes_lost);
	out_char(o, '\n');
}

static const char *verdict(const struct diag_log *log)
{
	if (diag_count(log, DIAG_DAMAGE))
		return "damaged";
	return diag_count(log, DIAG_WARN) ? "good, with warnings" : "good";
}

static void check_text(const struct pass_env *env, const struct counts *c)
{
	const struct spur_trace *t = env->trace;
	const uint64_t damage = diag_count(&t->joined, DIAG_DAMAGE),
		       warnings = diag_count(&t->joined, DIAG_WARN);
	struct out *o = env->out;

	for (size_t i = 0; i < diag_groups(&t->joined); i++)
		group_text(o, diag_at(&t->joined, i));
	out_safe(o, t->path, strlen(t->path));
	out_printf(o, ": %s: %llu events with %llu arguments in %zu streams read",
		   verdict(&t->joined), (unsigned long long)c->all.events,
		   (unsigned long long)c->nargs, t->nstreams);
	if (damage)
		out_printf(o, "; %llu damaged place%s, %llu bytes lost", (unsigned long long)damage,
			   damage == 1 ? "" : "s", (unsigned long long)diag_bytes_lost(&t->joined));
	if (warnings)
		out_printf(o, "; %llu warning%s", (unsigned long long)warnings,
			   warnings == 1 ? "" : "s");
	out_char(o, '\n');
}

static void check_json(const struct pass_env *env, const struct counts *c)
{
	const struct diag_log *log = &env->trace->joined;
	struct out *o = env->out;

	out_json_head(o, "check");
	out_printf(o,
		   ",\"good\":%s,\"events\":%llu,\"arguments\":%"
		   "llu,\"streams\":%zu,"
		   "\"bytes_lost\":%llu",
		   diag_count(log, DIAG_DAMAGE) ? "false" : "true",
		   (unsigned long long)c->all.events, (unsigned long long)c->nargs,
		   env->trace->nstreams, (unsigned long long)diag_bytes_lost(log));
	out_str(o, ",\"damage\":");
	diag_json_list(o, log, DIAG_DAMAGE);
	out_str(o, ",\"warnings\":");
	diag_json_list(o, log, DIAG_WARN);
	out_str(o, ",\"notes\":");
	diag_json_list(o, log, DIAG_NOTE);
	out_str(o, "}\n");
}

static void check_jsonl(const struct pass_env *env)
{
	for (size_t i = 0; i < diag_groups(&env->trace->joined); i++) {
		diag_json(env->out, diag_at(&env->trace->joined, i));
		out_char(env->out, '\n');
	}
}

static enum spur_status check_run(struct pass_env *env)
{
	struct counts c;
	enum spur_status st = counts_run(env, COUNT_ARGS, &c);

	if (st == SPUR_OK) {
		trace_join_diag(env->trace);
		if (env->opt->form == FORM_JSON)
			check_json(env, &c);
		else if (env->opt->form == FORM_JSONL)
			check_jsonl(env);
		else
			check_text(env, &c);
	}
	counts_free(&c);
	return st;
}

const struct spur_pass spur_pass_check = {
	.name = "check",
	.shows_damage = true,
	.run = check_run,
};
