/* Finding a pass by name and style, and running it. */
#include "pass/pass.h"

#include <string.h>

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
