/* See rules.h. */
#include "recorder/rules.h"

#include <string.h>

#include "flow/filter.h"
#include "model/symbol/demangle.h"

enum { MOST = 1 << 16 };

static enum spur_status add(struct rules *r, const struct rule_given *g, enum pattern_kind kind,
			    struct spur_error *err)
{
	const bool has_specs = g->what == RULE_ARGUMENTS || g->what == RULE_RESULTS;
	const char *const at = has_specs ? strchr(g->text, '@') : NULL;
	const struct text name = text_make(g->text, at ? (size_t)(at - g->text) : strlen(g->text));
	struct rule *rule;

	if (has_specs && (!at || !at[1]))
		return err_set(err, SPUR_ERR_USAGE,
			       "-%c: expected FUNC@SPEC like main@%s, found \"%s\"",
			       g->what == RULE_RESULTS ? 'R' : 'A',
			       g->what == RULE_RESULTS ? "retval" : "arg1,arg2/s", g->text);
	if (!mem_grow((void **)&r->list, &r->cap, r->count + 1, sizeof(*r->list), MOST))
		return err_nomem(err);
	rule = &r->list[r->count];
	*rule = (struct rule){ .what = g->what,
			       .text = g->text,
			       .specs = at ? at + 1 : NULL,
			       .pattern = filter_name_pattern(name, kind, err) };
	if (!rule->pattern)
		return SPUR_FAIL;
	r->count++;
	r->of[g->what]++;
	return SPUR_OK;
}

enum spur_status rules_add(struct rules *r, const struct rule_given *given, size_t count,
			   enum pattern_kind kind, struct spur_error *err)
{
	enum spur_status st = SPUR_OK;

	for (size_t i = 0; i < count && st == SPUR_OK; i++)
		st = add(r, &given[i], kind, err);
	return st;
}

void rules_free(struct rules *r)
{
	for (size_t i = 0; i < r->count; i++)
		pattern_free(r->list[i].pattern);
	mem_free(r->list);
	*r = (struct rules){ 0 };
}

struct rule_name rules_name(struct out *buf, const char *raw)
{
	size_t simple;

	out_clear(buf);
	demangle(buf, raw, strlen(raw), DEMANGLE_NAME);
	out_char(buf, '\0');
	simple = buf->len;
	demangle(buf, raw, strlen(raw), DEMANGLE_SIMPLE);
	out_char(buf, '\0');
	/* Out of memory: the raw name serves, and the failure is counted. */
	if (buf->error)
		return (struct rule_name){ raw, raw, raw };
	return (struct rule_name){ raw, buf->buf, buf->buf + simple };
}

bool rules_match(struct rules *r, enum rule_what what, const struct rule_name *name)
{
	bool any = false;

	for (size_t i = 0; r->of[what] && i < r->count; i++) {
		struct rule *rule = &r->list[i];

		if (rule->what != what || !(pattern_match(rule->pattern, name->shown) ||
					    pattern_match(rule->pattern, name->simple) ||
					    pattern_match(rule->pattern, name->raw)))
			continue;
		rule->matched = any = true;
	}
	return any;
}

bool rules_match_path(struct rules *r, enum rule_what what, const char *path)
{
	const char *const slash = strrchr(path, '/');
	const char *const last = slash ? slash + 1 : path;
	bool any = false;

	for (size_t i = 0; r->of[what] && i < r->count; i++) {
		struct rule *rule = &r->list[i];

		if (rule->what != what ||
		    !(pattern_match(rule->pattern, path) || pattern_match(rule->pattern, last)))
			continue;
		rule->matched = any = true;
	}
	return any;
}
