/* Finding a pass by name and style, and running it. */
#include "pass/pass.h"

#include <string.h>

#include "base/text.h"

const struct spur_pass *pass_find(const char *name, const char *style)
{
	size_t len = strlen(name);

	for (size_t i = 0; spur_passes[i]; i++) {
		const char *p = spur_passes[i]->name;

		if (strncmp(p, name, len) != 0)
			continue;
		if (style ? p[len] == '.' && strcmp(p + len + 1, style) == 0 : p[len] == '\0')
			return spur_passes[i];
	}
	return NULL;
}

enum spur_status pass_run(const struct spur_pass *pass, struct pass_env *env)
{
	uint64_t *const charged = mem_charge(&env->trace->mem_failures);
	enum spur_status st = pass->run(env);

	if (trace_short_of_memory(env->trace))
		st = err_nomem(env->err);
	mem_charge(charged);
	return st;
}

enum spur_status pass_show(const struct spur_pass *pass, struct pass_env *env)
{
	uint64_t failures = 0, *const charged = mem_charge(&failures);
	enum spur_status st = pass->show(env);

	if (mem_failures())
		st = err_nomem(env->err);
	mem_charge(charged);
	return st;
}

enum spur_status pass_run_saved(const struct spur_pass *pass, struct pass_env *env,
				const struct source *saved)
{
	uint64_t failures = 0, *const charged = mem_charge(&failures);
	enum spur_status st = pass->run_saved(env, saved);

	if (mem_failures())
		st = err_nomem(env->err);
	mem_charge(charged);
	return st;
}

void pass_note_no_calls(struct pass_env *env, uint64_t events)
{
	if (env->notes && !env->filter)
		out_printf(
			env->notes,
			"spur: note: none of the %llu events is a call or a span; spur events "
			"counts them, spur cat lists them, spur counters sums up their numbers\n",
			(unsigned long long)events);
}

/* Returns true if a name of the class matches the pattern, or, without a pattern, is `name`. */
static bool class_matches(const struct spur_trace *t, uint32_t cls, const char *name,
			  const struct pattern *p)
{
	const struct event_class *c = trace_class(t, cls);
	const uint32_t ids[] = { c->name, c->simple, c->raw };

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		const char *text = trace_string(t, ids[i], NULL);

		if (p ? pattern_match(p, text) : strcmp(name, text) == 0)
			return true;
	}
	return false;
}

void pass_note_unnamed(const struct pass_env *env, const char *name, const struct pattern *pattern)
{
	enum { LOOKED_AT = 4096 };
	const struct spur_trace *t = env->trace;
	const uint32_t n = trace_class_count(t);
	const char **names = mem_array(LOOKED_AT + 1, sizeof(*names)), *near;
	struct out *o = env->notes;
	size_t found = 0;
	bool there = false;

	for (uint32_t i = 1; i < n && !there; i++) {
		there = class_matches(t, i, name, pattern);
		if (names && found < LOOKED_AT)
			names[found++] = trace_string(t, trace_class(t, i)->name, NULL);
	}
	if (o && !there) {
		near = names ? text_suggest(name, names) : NULL;
		out_str(o, "spur: note: no call or span named ");
		out_safe(o, name, strlen(name));
		out_str(o, " was read");
		if (near) {
			out_str(o, "; did you mean ");
			out_safe(o, near, strlen(near));
			out_char(o, '?');
		}
		out_char(o, '\n');
	}
	mem_free(names);
}
