/*
 * Filter options to rules: FUNC, FUNC@MODULE, FUNC@ACTION,ACTION and lists of them with `;`
 * between, as uftrace takes them. Actions that only a recorder can obey (arg, fparg, retval, read,
 * recover, finish, auto-args) are accepted and do nothing here, so that one set of options serves
 * both; anything else unknown is an error that names it.
 */
#include <string.h>

#include "base/out.h"
#include "flow/filter_parts.h"
#include "flow/moment.h"
#include "format/format.h"
#include "model/symbol/demangle.h"

enum { RULES_MAX = 65536, LIST_MAX = 65536, DEPTH_MAX = 1 << 24 };

static const char *const option_names[] = {
	[FILTER_FUNC] = "-F",	 [FILTER_NOTRACE] = "-N",  [FILTER_CALLER] = "-C",
	[FILTER_HIDE] = "-H",	 [FILTER_LOCATION] = "-L", [FILTER_LIBRARY] = "--lib",
	[FILTER_TRIGGER] = "-T",
};

static const uint32_t option_flags[] = {
	[FILTER_FUNC] = RULE_IN,   [FILTER_NOTRACE] = RULE_OUT,	   [FILTER_CALLER] = RULE_CALLER,
	[FILTER_HIDE] = RULE_HIDE, [FILTER_LOCATION] = RULE_PLACE, [FILTER_LIBRARY] = RULE_LIBRARY,
	[FILTER_TRIGGER] = 0,
};

/* A word of the action list with what it sets. `word=` takes a value. */
enum value_kind {
	VALUE_NONE,
	VALUE_DEPTH,
	VALUE_TIME,
	VALUE_SIZE,
	VALUE_COLOR,
	VALUE_COND,
	VALUE_CLEAR,
	VALUE_IGNORED
};

static const struct action {
	const char *name;
	enum value_kind value;
	uint32_t set, clear;
	bool filters; /* -F and -N take it too */
} actions[] = {
	{ "filter", VALUE_NONE, RULE_IN, RULE_OUT, true },
	{ "notrace", VALUE_NONE, RULE_OUT, RULE_IN, true },
	{ "depth=", VALUE_DEPTH, RULE_DEPTH, 0, true },
	{ "time=", VALUE_TIME, RULE_TIME, 0, true },
	{ "size=", VALUE_SIZE, RULE_SIZE, 0, true },
	{ "caller", VALUE_NONE, RULE_CALLER, 0, true },
	{ "hide", VALUE_NONE, RULE_HIDE, 0, true },
	{ "if:", VALUE_COND, 0, 0, true },
	{ "clear", VALUE_CLEAR, 0, 0, true },
	{ "trace", VALUE_NONE, RULE_TRACE, 0, false },
	{ "trace_on", VALUE_NONE, RULE_ON, RULE_OFF, false },
	{ "trace-on", VALUE_NONE, RULE_ON, RULE_OFF, false },
	{ "traceon", VALUE_NONE, RULE_ON, RULE_OFF, false },
	{ "trace_off", VALUE_NONE, RULE_OFF, RULE_ON, false },
	{ "trace-off", VALUE_NONE, RULE_OFF, RULE_ON, false },
	{ "traceoff", VALUE_NONE, RULE_OFF, RULE_ON, false },
	{ "backtrace", VALUE_NONE, RULE_BACKTRACE, 0, false },
	{ "color=", VALUE_COLOR, RULE_COLOR, 0, false },
	{ "arg", VALUE_IGNORED, 0, 0, false },
	{ "fparg", VALUE_IGNORED, 0, 0, false },
	{ "retval", VALUE_IGNORED, 0, 0, false },
	{ "read=", VALUE_IGNORED, 0, 0, false },
	{ "recover", VALUE_NONE, 0, 0, false },
	{ "finish", VALUE_NONE, 0, 0, false },
	{ "auto-args", VALUE_NONE, 0, 0, false },
};
enum { ACTIONS = sizeof(actions) / sizeof(actions[0]) };

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(struct text t, const char *word, size_t len)
{
	if (t.len != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (lower(t.p[i]) != lower(word[i]))
			return false;
	return true;
}

static const struct action *find_action(struct text t)
{
	for (size_t i = 0; i < ACTIONS; i++) {
		const char *name = actions[i].name;
		size_t len = strlen(name);

		if (actions[i].value == VALUE_NONE
			    ? same_word(t, name, len)
			    : t.len >= len && same_word(text_make(t.p, len), name, len))
			return &actions[i];
	}
	return NULL;
}

static bool parse_size(struct text t, uint64_t *out)
{
	return text_u64(&t, 10, out) && !t.len;
}

static bool parse_depth(struct text t, int32_t *out)
{
	uint64_t v;

	if (!parse_size(t, &v) || v > DEPTH_MAX)
		return false;
	*out = (int32_t)v;
	return true;
}

static bool parse_color(struct text t, uint8_t *out)
{
	static const char *const names[] = { "red",	"green", "blue", "yellow",
					     "magenta", "cyan",	 "bold", "gray" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (text_is(t, names[i])) {
			*out = (uint8_t)(i + FILTER_RED);
			return true;
		}
	return false;
}

/* Nothing, for all actions, or =ACTION[+ACTION...]. */
static bool parse_clear(struct text t, uint32_t *out)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} words[] = {
		{ "filter", RULE_IN | RULE_OUT },
		{ "notrace", RULE_IN | RULE_OUT },
		{ "depth", RULE_DEPTH },
		{ "time", RULE_TIME },
		{ "size", RULE_SIZE },
		{ "caller", RULE_CALLER },
		{ "hide", RULE_HIDE },
		{ "trace", RULE_TRACE | RULE_ON | RULE_OFF },
		{ "color", RULE_COLOR },
		{ "backtrace", RULE_BACKTRACE },
		/* Only recorders obey these. */
		{ "arg", 0 },
		{ "fparg", 0 },
		{ "retval", 0 },
		{ "read", 0 },
		{ "recover", 0 },
		{ "finish", 0 },
	};
	struct text word;

	*out = t.len ? 0 : RULE_CLEARED;
	if (t.len && !text_skip(&t, "="))
		return false;
	while (text_split(&t, '+', &word)) {
		size_t i = 0;

		while (i < sizeof(words) / sizeof(words[0]) && !text_is(word, words[i].name))
			i++;
		if (i == sizeof(words) / sizeof(words[0]))
			return false;
		*out |= words[i].flags;
	}
	return true;
}

static bool parse_value(struct filter *f, enum value_kind kind, struct text t, struct rule *r)
{
	switch (kind) {
	case VALUE_DEPTH:
		return parse_depth(t, &r->depth);
	case VALUE_TIME:
		return moment_duration(t, r->bare_ns, &r->time);
	case VALUE_SIZE:
		return parse_size(t, &r->size);
	case VALUE_COLOR:
		return parse_color(t, &r->color);
	case VALUE_COND:
		return cond_parse(&f->arena, t, &r->cond);
	case VALUE_CLEAR:
		return parse_clear(t, &r->clear);
	default:
		return true;
	}
}

/* For a message: the actions that may follow the @ of an option; NULL: none. */
static const char *allowed_actions(enum filter_what what)
{
	switch (what) {
	case FILTER_TRIGGER:
		return "filter, notrace, depth=N, time=TIME, size=BYTES, caller, hide, trace, "
		       "trace_on, trace_off, backtrace, color=NAME, clear[=ACTION+...], "
		       "if:argN OP VALUE, and those of recorders";
	case FILTER_FUNC:
	case FILTER_NOTRACE:
		return "depth=N, time=TIME, size=BYTES, caller, hide, clear, if:argN OP VALUE";
	case FILTER_LOCATION:
		return "hide";
	case FILTER_CALLER:
		return "clear";
	default:
		return NULL;
	}
}

static enum spur_status unknown_action(enum filter_what what, struct text word,
				       struct spur_error *err)
{
	const char *names[ACTIONS + 1] = { NULL }, *allowed = allowed_actions(what), *near;
	char text[64] = "";

	for (size_t i = 0; i < ACTIONS; i++)
		names[i] = actions[i].name;
	memcpy(text, word.p, word.len < sizeof(text) ? word.len : sizeof(text) - 1);
	near = allowed ? text_suggest(text, names) : NULL;
	return err_set(err, SPUR_ERR_USAGE,
		       "%s: expected %s, found \"%.*s\"%s%s%s%s%s; modules are PLT, kernel, and "
		       "the programs and libraries of the trace",
		       option_names[what], allowed ? "an action or a module" : "a module",
		       (int)word.len, word.p, near ? "; did you mean \"" : "", near ? near : "",
		       near ? "\"?" : "", allowed ? "; actions are " : "", allowed ? allowed : "");
}

/*
 * A word that is no action may name a module: one of the trace's, or what looks like a file's name.
 */
static bool is_module(const struct spur_trace *t, struct text word)
{
	if (same_word(word, "PLT", 3) || same_word(word, "kernel", 6))
		return true;
	if (!word.len || text_find(word, '=') >= 0 || text_find(word, ':') >= 0)
		return false;
	return text_find(word, '.') >= 0 || text_find(word, '/') >= 0 ||
	       (t->format && t->format->has_module && t->format->has_module(t, word));
}

static enum spur_status set_module(struct filter *f, struct rule *r, enum filter_what what,
				   struct text word, struct spur_error *err)
{
	if (!is_module(f->trace, word))
		return unknown_action(what, word, err);
	if (r->module != MODULE_ANY)
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected one module, found another: \"%.*s\"",
			       option_names[what], (int)word.len, word.p);
	if (same_word(word, "PLT", 3)) {
		r->module = MODULE_PLT;
	} else if (same_word(word, "kernel", 6)) {
		r->module = MODULE_KERNEL;
	} else {
		r->module = MODULE_NAMED;
		r->module_name = arena_strdup(&f->arena, word.p, word.len);
		if (!r->module_name)
			return err_nomem(err);
	}
	return SPUR_OK;
}

static enum spur_status parse_action(struct filter *f, struct rule *r, enum filter_what what,
				     struct text word, struct spur_error *err)
{
	const struct action *a = find_action(word);
	size_t len = a ? strlen(a->name) : 0;

	if (what == FILTER_LOCATION && same_word(word, "hide", 4)) {
		r->flags = (r->flags & ~(uint32_t)RULE_PLACE) | RULE_NOT_PLACE;
		return SPUR_OK;
	}
	if (!a)
		return set_module(f, r, what, word, err);
	if (what != FILTER_TRIGGER &&
	    !(a->filters && (what == FILTER_FUNC || what == FILTER_NOTRACE)) &&
	    !(a->value == VALUE_CLEAR && what == FILTER_CALLER))
		return err_set(err, SPUR_ERR_USAGE, "%s: action \"%.*s\" belongs to -T",
			       option_names[what], (int)word.len, word.p);
	if (!parse_value(f, a->value, text_make(word.p + len, word.len - len), r))
		return err_set(err, SPUR_ERR_USAGE,
			       "%s: expected a %s after \"%s\", found \"%.*s\"",
			       option_names[what],
			       a->value == VALUE_TIME ? "time (5ns, 10us, 1.5s)" : "value", a->name,
			       (int)(word.len - len), word.p + len);
	/* The option says whether -F and -N let in or out. */
	if (what == FILTER_TRIGGER || !(a->set & (RULE_IN | RULE_OUT)))
		r->flags = (r->flags & ~a->clear) | a->set;
	return SPUR_OK;
}

struct pattern *filter_name_pattern(struct text name, enum pattern_kind kind, const char *option,
				    struct spur_error *err)
{
	struct out o;
	struct pattern *p = NULL;

	if (!pattern_is_special(name) || (kind == PATTERN_REGEX && text_starts(name, "operator ")))
		kind = PATTERN_EXACT;
	out_to_memory(&o);
	if (text_starts(name, "_Z") || text_starts(name, "_R"))
		demangle(&o, name.p, name.len, DEMANGLE_SIMPLE);
	else
		out_bytes(&o, name.p, name.len);
	out_char(&o, '\0');
	if (!o.error)
		p = pattern_new(kind, o.buf, option, err);
	else
		err_nomem(err);
	out_free(&o);
	return p;
}

/*
 * Without special characters: whole directories or file names at the end of what matched before
 * them.
 */
static struct pattern *place_pattern(struct filter *f, struct text name, enum pattern_kind kind,
				     struct spur_error *err)
{
	const char *s;

	if (pattern_is_special(name)) {
		s = arena_strdup(&f->arena, name.p, name.len);
	} else {
		text_skip(&name, "/");
		if (name.len && name.p[name.len - 1] == '/')
			name.len--;
		kind = PATTERN_REGEX;
		s = arena_printf(&f->arena, "%.*s($|/)", (int)name.len, name.p);
	}
	if (!s) {
		err_nomem(err);
		return NULL;
	}
	return pattern_new(kind, s, option_names[FILTER_LOCATION], err);
}

/*
 * SPEC uftrace/clear: as a trigger, clear takes away what earlier options gave the function, but
 * not what its own trigger gives; with -F, -N and -C it takes back that option
 */
static void settle_clear(struct filter *f, struct rule *r, struct text name)
{
	if (r->what == FILTER_TRIGGER) {
		r->clear &= ~r->flags;
		return;
	}
	r->clear = r->what == FILTER_CALLER ? RULE_CALLER : RULE_IN | RULE_OUT;
	r->flags = 0;
	for (struct rule *k = f->rules; k < r; k++)
		if (text_is(name, k->name))
			k->flags &= ~r->clear;
}

static enum spur_status parse_rule(struct filter *f, struct rule *r, enum filter_what what,
				   struct text t, enum pattern_kind match, struct spur_error *err)
{
	struct text name = t, rest = { NULL, 0 }, word;
	ptrdiff_t at = what == FILTER_LIBRARY ? -1 : text_find(t, '@');

	r->flags = option_flags[what];
	r->what = what;
	r->text = arena_strdup(&f->arena, t.p, t.len);
	if (at >= 0) {
		name.len = (size_t)at;
		rest = text_make(t.p + at + 1, t.len - (size_t)at - 1);
	}
	if (what == FILTER_FUNC && text_skip(&name, "!"))
		r->flags = RULE_OUT;
	if (what == FILTER_LOCATION && text_skip(&name, "!"))
		r->flags = RULE_NOT_PLACE;
	if (!name.len)
		return err_set(err, SPUR_ERR_USAGE, "%s: expected a name, found \"%.*s\"",
			       option_names[what], (int)t.len, t.p);
	while (text_split(&rest, ',', &word))
		if (parse_action(f, r, what, word, err) == SPUR_FAIL)
			return SPUR_FAIL;
	if (r->clear)
		settle_clear(f, r, name);
	r->name = arena_strdup(&f->arena, name.p, name.len);
	if (!r->text || !r->name)
		return err_nomem(err);
	if (what == FILTER_LOCATION)
		r->pattern = place_pattern(f, name, match, err);
	else
		r->pattern = filter_name_pattern(name, match, option_names[what], err);
	return r->pattern ? SPUR_OK : SPUR_FAIL;
}

static enum spur_status parse_item(struct filter *f, const struct filter_item *item,
				   enum pattern_kind match, struct spur_error *err)
{
	struct text rest = text_of(item->text), piece;
	bool any = false;

	while (text_split(&rest, ';', &piece)) {
		if (!piece.len)
			continue;
		any = true;
		if (!mem_grow((void **)&f->rules, &f->rules_cap, f->nrules + 1, sizeof(*f->rules),
			      RULES_MAX))
			return err_nomem(err);
		f->rules[f->nrules].bare_ns = f->bare_ns;
		if (parse_rule(f, &f->rules[f->nrules++], item->what, piece, match, err) ==
		    SPUR_FAIL)
			return SPUR_FAIL;
	}
	if (!any)
		return err_set(err, SPUR_ERR_USAGE, "%s: expected a name, found nothing",
			       option_names[item->what]);
	return SPUR_OK;
}

/*
 * Where several rules match a function, the later one decides; -F and -N come first, then -T, as
 * with uftrace.
 */
enum spur_status filter_parse_rules(struct filter *f, const struct filter_spec *spec,
				    struct spur_error *err)
{
	static const int order[] = {
		[FILTER_FUNC] = 0, [FILTER_NOTRACE] = 0,  [FILTER_TRIGGER] = 1, [FILTER_CALLER] = 2,
		[FILTER_HIDE] = 3, [FILTER_LOCATION] = 4, [FILTER_LIBRARY] = 5,
		/* filter_parse_where() */
		[FILTER_NAME] = -1, [FILTER_CAT] = -1,	  [FILTER_WHERE] = -1,
	};

	for (int group = 0; group <= order[FILTER_LIBRARY]; group++)
		for (size_t i = 0; i < spec->nitems; i++)
			if (order[spec->items[i].what] == group &&
			    parse_item(f, &spec->items[i], spec->match, err) == SPUR_FAIL)
				return SPUR_FAIL;
	for (size_t i = 0; i < f->nrules; i++) {
		uint32_t flags = f->rules[i].flags;

		f->mode_in |= (flags & RULE_IN) != 0;
		f->mode_place |= (flags & RULE_PLACE) != 0;
		f->mode_library |= (flags & RULE_LIBRARY) != 0;
		f->mode_caller |= (flags & RULE_CALLER) != 0;
		f->is_global |= (flags & (RULE_ON | RULE_OFF)) != 0;
	}
	return SPUR_OK;
}

static enum spur_status parse_cats(struct filter *f, const char *s, enum pattern_kind match,
				   uint32_t *cats, struct spur_error *err)
{
	struct text rest = text_of(s), word;
	bool any = false;

	while (text_split(&rest, ',', &word)) {
		struct pattern *p;

		if (!word.len)
			continue;
		any = true;
		p = filter_name_pattern(word, match, "--cat", err);
		if (!p || where_add_name(f->where, WHERE_CAT, word, p, cats, err) == SPUR_FAIL)
			return SPUR_FAIL;
	}
	return any ? SPUR_OK
		   : err_set(err, SPUR_ERR_USAGE, "--cat: expected categories, found \"%s\"", s);
}

enum spur_status filter_parse_where(struct filter *f, const struct filter_spec *spec,
				    struct spur_error *err)
{
	uint32_t names = UINT32_MAX, cats = UINT32_MAX;

	for (size_t i = 0; i < spec->nitems; i++) {
		const enum filter_what what = spec->items[i].what;
		const struct text t = text_of(spec->items[i].text);
		struct pattern *p;

		if (what != FILTER_NAME && what != FILTER_CAT && what != FILTER_WHERE)
			continue;
		if (!f->where) {
			f->where = arena_alloc(&f->arena, sizeof(*f->where));
			if (!f->where)
				return err_nomem(err);
			where_init(f->where, f->trace);
		}
		if (what == FILTER_WHERE) {
			if (where_add(f->where, t.p, err) == SPUR_FAIL)
				return SPUR_FAIL;
			continue;
		}
		if (what == FILTER_CAT) {
			if (parse_cats(f, t.p, spec->match, &cats, err) == SPUR_FAIL)
				return SPUR_FAIL;
			continue;
		}
		p = filter_name_pattern(t, spec->match, "--name", err);
		if (!p ||
		    where_add_name(f->where, WHERE_ANY_NAME, t, p, &names, err) == SPUR_FAIL)
			return SPUR_FAIL;
	}
	if (cats != UINT32_MAX && where_require(f->where, cats, err) == SPUR_FAIL)
		return SPUR_FAIL;
	return names == UINT32_MAX ? SPUR_OK : where_require(f->where, names, err);
}

static bool is_separator(char c)
{
	return c == ',' || c == ';' || c == ':' || c == ' ';
}

/* Cuts the next word off; false at the end. */
static bool next_word(struct text *rest, struct text *word)
{
	size_t n = 0;

	while (rest->len && is_separator(rest->p[0]))
		*rest = text_make(rest->p + 1, rest->len - 1);
	while (n < rest->len && !is_separator(rest->p[n]))
		n++;
	*word = text_make(rest->p, n);
	*rest = text_make(rest->p + n, rest->len - n);
	return n > 0;
}

/* Ids may have all 64 bits: then they are negative here, as in tracks. */
static bool parse_number(struct text *t, int64_t *out)
{
	uint64_t large;

	if (text_i64(t, out))
		return true;
	if (!text_u64(t, 10, &large))
		return false;
	*out = (int64_t)large;
	return true;
}

static bool parse_range(struct text t, struct number_range *out)
{
	if (!parse_number(&t, &out->first))
		return false;
	out->last = out->first;
	if (text_skip(&t, "-") && !parse_number(&t, &out->last))
		return false;
	return !t.len && out->first <= out->last;
}

static enum spur_status parse_numbers(struct filter *f, const char *option, const char *s,
				      struct number_list *out, struct spur_error *err)
{
	struct text rest = text_of(s ? s : ""), count = rest, word;
	size_t n = 0;

	if (!s)
		return SPUR_OK;
	while (next_word(&count, &word))
		n++;
	if (!n || n > LIST_MAX)
		return err_set(err, SPUR_ERR_USAGE, "%s: expected numbers, found \"%s\"", option,
			       s);
	out->ranges = arena_alloc(&f->arena, n * sizeof(*out->ranges));
	if (!out->ranges)
		return err_nomem(err);
	while (next_word(&rest, &word))
		if (!parse_range(word, &out->ranges[out->count++]))
			return err_set(err, SPUR_ERR_USAGE,
				       "%s: expected a number or a range A-B, found \"%.*s\"",
				       option, (int)word.len, word.p);
	return SPUR_OK;
}

bool number_list_has(const struct number_list *l, int64_t n)
{
	for (size_t i = 0; i < l->count; i++)
		if (n >= l->ranges[i].first && n <= l->ranges[i].last)
			return true;
	return false;
}

static enum spur_status parse_threads(struct filter *f, const char *s, enum pattern_kind match,
				      struct spur_error *err)
{
	struct text rest = text_of(s), word;

	while (text_split(&rest, ',', &word)) {
		if (!word.len)
			continue;
		if (!mem_grow((void **)&f->threads, &f->threads_cap, f->nthreads + 1,
			      sizeof(struct pattern *), LIST_MAX) ||
		    !mem_grow((void **)&f->thread_names, &f->names_cap, f->nthreads + 1,
			      sizeof(char *), LIST_MAX))
			return err_nomem(err);
		f->thread_names[f->nthreads] = arena_strdup(&f->arena, word.p, word.len);
		if (!f->thread_names[f->nthreads])
			return err_nomem(err);
		f->threads[f->nthreads] = filter_name_pattern(word, match, "--thread", err);
		if (!f->threads[f->nthreads])
			return SPUR_FAIL;
		f->nthreads++;
	}
	return f->nthreads
		       ? SPUR_OK
		       : err_set(err, SPUR_ERR_USAGE, "--thread: expected names, found \"%s\"", s);
}

static enum spur_status parse_kinds(struct filter *f, const char *s, struct spur_error *err)
{
	struct text rest = text_of(s), word;

	f->kinds = 0;
	while (next_word(&rest, &word)) {
		unsigned k = 0;

		while (k < SPUR_KINDS &&
		       !same_word(word, spur_kind_name(k), strlen(spur_kind_name(k))))
			k++;
		if (k == SPUR_KINDS)
			return err_set(err, SPUR_ERR_USAGE,
				       "--kind: expected a kind of event (BEGIN, END, INSTANT "
				       "...), found \"%.*s\"",
				       (int)word.len, word.p);
		f->kinds |= 1u << k;
	}
	return f->kinds ? SPUR_OK
			: err_set(err, SPUR_ERR_USAGE,
				  "--kind: expected kinds of events, found nothing");
}

enum spur_status filter_parse_lists(struct filter *f, const struct filter_spec *spec,
				    struct spur_error *err)
{
	f->kinds = UINT32_MAX;
	if (parse_numbers(f, "--tid", spec->tids, &f->tids, err) == SPUR_FAIL ||
	    parse_numbers(f, "--pid", spec->pids, &f->pids, err) == SPUR_FAIL ||
	    parse_numbers(f, "--cpu", spec->cpus, &f->cpus, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (spec->threads && parse_threads(f, spec->threads, spec->match, err) == SPUR_FAIL)
		return SPUR_FAIL;
	return spec->kinds ? parse_kinds(f, spec->kinds, err) : SPUR_OK;
}
