/* See rules.h. */
#include "recorder/rules.h"

#include <string.h>

#include "flow/filter.h"
#include "model/symbol/demangle.h"

#include "../record/wire.h"

enum { MOST = 1 << 16 };

/* Takes a whole text that is a number from 1 on. */
static bool call_number(const char *text, uint64_t *value)
{
	struct text t = text_make(text, strlen(text));
	uint64_t v;

	if (!text_u64(&t, 10, &v) || t.len || !v)
		return false;
	*value = v;
	return true;
}

/*
 * Splits FUNC>TIME, FUNC>=TIME or FUNC#N; FUNC alone is FUNC#1. What else has one of these
 * characters, as an operator of C++, is a name. Returns the length of FUNC.
 */
static size_t split_condition(const char *text, struct rule *rule)
{
	const char *const more = strrchr(text, '>'), *const number = strrchr(text, '#');
	int64_t ns;

	rule->when = PLAN_WHEN_COUNT;
	rule->value = 1;
	if (more && more != text && text_duration(more + 1 + (more[1] == '='), 0, &ns)) {
		rule->when = more[1] == '=' ? PLAN_WHEN_AS_LONG : PLAN_WHEN_LONGER;
		rule->value = (uint64_t)ns;
		return (size_t)(more - text);
	}
	if (number && number != text && call_number(number + 1, &rule->value))
		return (size_t)(number - text);
	return strlen(text);
}

/* Returns true if the bracket that closes at `at` opens in the text before it. */
static bool is_closing(const char *text, const char *at, char opens, char closes)
{
	size_t depth = 0;

	for (const char *p = text; p < at; p++)
		if (*p == opens)
			depth++;
		else if (*p == closes && depth)
			depth--;
	return depth > 0;
}

/* C++'s operators have a '>' in their names: operator>, operator->, operator>>=, operator<=> */
static bool is_operator(const char *text, const char *at)
{
	static const char word[] = "operator";
	const size_t len = sizeof(word) - 1;

	while (at > text && strchr("<>=-", at[-1]))
		at--;
	return (size_t)(at - text) >= len && memcmp(at - len, word, len) == 0;
}

/*
 * What is behind the last '>' is meant as a time unless that is part of a C++ name, and what is
 * behind '#' as a number unless it is that of a lambda, {lambda()#1}.
 */
static bool condition_valid(const struct rule_given *g, const struct rule *rule,
			    struct spur_error *err)
{
	const char *const more = strrchr(g->text, '>'), *const number = strrchr(g->text, '#');
	const char *const time = more ? more + 1 + (more[1] == '=') : NULL;
	bool is_name;

	if (rule->when != PLAN_WHEN_COUNT)
		return true;
	if (*g->text == '>' || *g->text == '#') {
		err_set(err, SPUR_ERR_USAGE,
			"--on: expected a function before '%c' as in '%s', found \"%s\"", *g->text,
			*g->text == '>' ? "FUNC>10ms" : "FUNC#1000", g->text);
		return false;
	}
	if (more && *time >= '0' && *time <= '9')
		is_name = false;
	else
		is_name = !more || is_operator(g->text, more) ||
			  is_closing(g->text, more, '<', '>');
	if (!is_name) {
		err_set(err, SPUR_ERR_USAGE,
			"--on: expected a time with a unit behind '>' as in 'FUNC>10ms', found "
			"\"%s\"",
			g->text);
		return false;
	}
	if (!number || call_number(number + 1, &(uint64_t){ 0 }) ||
	    is_closing(g->text, number, '{', '}'))
		return true;
	err_set(err, SPUR_ERR_USAGE,
		"--on: expected the number of a call from 1 on behind '#' as in 'FUNC#1000', found "
		"\"%s\"",
		g->text);
	return false;
}

static const char *const option_names[] = {
	[RULE_ONLY] = "-F",
	[RULE_NOT] = "-N",
	[RULE_MODULE] = "--module",
	[RULE_FILE] = "--file",
	[RULE_LIBRARY] = "--library-calls",
	[RULE_ON] = "--trace-on",
	[RULE_OFF] = "--trace-off",
	[RULE_ARGUMENTS] = "-A",
	[RULE_RESULTS] = "-R",
	[RULE_KEEP] = "--on",
};

static enum spur_status add(struct rules *r, const struct rule_given *g, enum pattern_kind kind,
			    struct spur_error *err)
{
	const bool has_specs = g->what == RULE_ARGUMENTS || g->what == RULE_RESULTS;
	const char *const at = has_specs ? strchr(g->text, '@') : NULL;
	size_t len = at ? (size_t)(at - g->text) : strlen(g->text);
	struct rule *rule;

	if (has_specs && (!at || at == g->text || !at[1]))
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected FUNC@SPEC like main@%s, found \"%s\"",
			       option_names[g->what],
			       g->what == RULE_RESULTS ? "retval" : "arg1,arg2/s", g->text);
	if (!mem_grow((void **)&r->list, &r->cap, r->count + 1, sizeof(*r->list), MOST))
		return err_nomem(err);
	rule = &r->list[r->count];
	*rule = (struct rule){ .what = g->what,
			       .text = g->text,
			       .specs = at ? at + 1 : NULL };
	if (g->what == RULE_KEEP) {
		len = split_condition(g->text, rule);
		if (!condition_valid(g, rule, err))
			return SPUR_FAIL;
	}
	rule->pattern =
		filter_name_pattern(text_make(g->text, len), kind, option_names[g->what], err);
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

bool rule_matches(struct rule *rule, const struct rule_name *name)
{
	const bool matches = pattern_match(rule->pattern, name->shown) ||
			     pattern_match(rule->pattern, name->simple) ||
			     pattern_match(rule->pattern, name->raw);

	rule->matched |= matches;
	return matches;
}

bool rules_match(struct rules *r, enum rule_what what, const struct rule_name *name)
{
	bool any = false;

	for (size_t i = 0; r->of[what] && i < r->count; i++) {
		struct rule *rule = &r->list[i];

		if (rule->what == what && rule_matches(rule, name))
			any = true;
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
