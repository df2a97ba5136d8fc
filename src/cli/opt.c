/* See opt.h. */
#include "cli/opt.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum { WORDS = 256, OPERANDS = 1 << 20, OPT_FILE_SIZE = 1 << 20 };

void values_init(struct values *v)
{
	*v = (struct values){ .open = SPUR_OPTIONS(), .time = NOT_GIVEN, .demangle = NOT_GIVEN };
	arena_init(&v->arena);
}

void values_free(struct values *v)
{
	mem_free(v->operands);
	mem_free(v->items);
	mem_free(v->binaries);
	mem_free(v->offsets);
	mem_free(v->aligns);
	arena_free(&v->arena);
}

/* Returns true if the command has an option of that name, which hides the shared one. */
static bool opt_is_own(const struct spur_cmd *cmd, const char *name)
{
	for (const struct opt *o = cmd->opts; o && o->name; o++)
		if (strcmp(o->name, name) == 0)
			return true;
	return false;
}

void opt_each(const struct spur_cmd *cmd,
	      bool (*each)(void *self, const char *title, const struct opt *opt), void *self)
{
	for (const struct opt *o = cmd->opts; o && o->name; o++)
		if (!each(self, "Options", o))
			return;
	for (const struct opt_group *g = opt_groups; g->title; g++)
		for (const struct opt *o = g->opts; o->name; o++)
			if ((cmd->takes & (g->need | o->need)) == (g->need | o->need) &&
			    !opt_is_own(cmd, o->name) && !each(self, g->title, o))
				return;
}

/* The state of a search for one option. */
struct opt_search {
	struct text name; /* or .. */
	char letter;
	const struct opt *found;
	const char *words[WORDS];
	size_t nwords;
};

static bool search_one(void *self, const char *title, const struct opt *o)
{
	struct opt_search *s = self;

	(void)title;
	if (s->letter ? o->letter == s->letter : text_is(s->name, o->name))
		s->found = o;
	if (!o->hidden && s->nwords + 1 < WORDS)
		s->words[s->nwords++] = o->name;
	return !s->found;
}

static bool opt_unknown(const struct spur_cmd *cmd, struct values *v, const struct opt_search *s)
{
	char name[64];
	const char *near;

	if (s->letter) {
		err_set(&v->err, SPUR_ERR_USAGE, "unknown option -%c; see spur %s -h", s->letter,
			cmd->name);
		return false;
	}
	near = NULL;
	if (s->name.len < sizeof(name)) {
		memcpy(name, s->name.p, s->name.len);
		name[s->name.len] = '\0';
		near = text_suggest(name, s->words);
	}
	if (near)
		err_set(&v->err, SPUR_ERR_USAGE, "unknown option --%.*s; did you mean --%s?",
			(int)s->name.len, s->name.p, near);
	else
		err_set(&v->err, SPUR_ERR_USAGE, "unknown option --%.*s; see spur %s -h",
			(int)s->name.len, s->name.p, cmd->name);
	return false;
}

/* Reads the value of an option into `v`. */
struct opt_value {
	const struct opt *opt;
	struct values *values;
	const char *text;
};

static bool value_bad(const struct opt_value *w, const char *expected)
{
	err_set(&w->values->err, SPUR_ERR_USAGE, "--%s: expected %s, found \"%s\"", w->opt->name,
		expected, w->text);
	return false;
}

static void *value_field(const struct opt_value *w)
{
	char *base = w->opt->common ? (char *)w->values : w->values->own;

	assert(base);
	return base + w->opt->offset;
}

static bool value_small(const struct opt_value *w)
{
	const uint64_t least = w->opt->least;
	const bool thousands = least >= 1024 && least % 1024 == 0;
	char expected[48];

	snprintf(expected, sizeof(expected), "at least %llu%s",
		 (unsigned long long)(thousands ? least / 1024 : least), thousands ? "k" : "");
	return value_bad(w, expected);
}

static bool value_int(const struct opt_value *w)
{
	struct text t = text_of(w->text);
	uint64_t n;

	if (!text_u64(&t, 10, &n) || t.len || n > INT_MAX)
		return value_bad(w, "a number");
	*(int *)value_field(w) = (int)n;
	return n >= w->opt->least || value_small(w);
}

static bool value_u64(const struct opt_value *w)
{
	struct text t = text_of(w->text);
	unsigned shift = 0;
	uint64_t n;

	if (!text_u64(&t, 10, &n))
		return value_bad(w, "a number");
	if (t.len == 1)
		shift = (t.p[0] | 32) == 'k'   ? 10
			: (t.p[0] | 32) == 'm' ? 20
			: (t.p[0] | 32) == 'g' ? 30
					       : 0;
	if ((t.len && !shift) || n > UINT64_MAX >> shift)
		return value_bad(w, "a number, with k, m or g behind it at most");
	*(uint64_t *)value_field(w) = n << shift;
	return n << shift >= w->opt->least || value_small(w);
}

/* Appends a word to a list in `list[size]` with a comma between, if there is room. */
static void list_word(char *list, size_t size, const char *word)
{
	const size_t len = strlen(list), n = strlen(word), gap = len ? 2 : 0;

	if (len + gap + n + 1 > size)
		return;
	memcpy(list + len, ", ", gap);
	memcpy(list + len + gap, word, n + 1);
}

static bool value_choice(const struct opt_value *w)
{
	char list[200] = "";

	for (int i = 0; w->opt->choices[i]; i++) {
		if (strcmp(w->text, w->opt->choices[i]) == 0) {
			*(int *)value_field(w) = i;
			return true;
		}
		list_word(list, sizeof(list), w->opt->choices[i]);
	}
	return value_bad(w, list);
}

static bool value_call(const struct opt_value *w)
{
	char list[240] = "";

	if (w->opt->call(w->values, w->text))
		return true;
	if (w->values->err.code) /* the command's own message */
		return false;
	for (size_t i = 0; w->opt->choice && w->opt->choice(i); i++)
		list_word(list, sizeof(list), w->opt->choice(i));
	return value_bad(w, *list ? list : w->opt->arg ? w->opt->arg : "");
}

/* The style, which is not known yet, decides if a unit may be missing; see run_settle(). */
static bool value_duration(const struct opt_value *w)
{
	if (text_duration(w->text, 0, value_field(w)))
		return true;
	if (!text_duration(w->text, 1, value_field(w)))
		return value_bad(w, "a time like 1.5s, 250ms or 10us");
	w->values->bare_option = w->opt->name;
	w->values->bare_text = w->text;
	return true;
}

static bool value_list(const struct opt_value *w)
{
	const char **field = value_field(w);

	*field = *field ? arena_printf(&w->values->arena, "%s,%s", *field, w->text) : w->text;
	if (!*field)
		err_nomem(&w->values->err);
	return *field;
}

static bool value_item(const struct opt_value *w)
{
	struct values *v = w->values;

	if (!mem_grow((void **)&v->items, &v->items_cap, v->nitems + 1, sizeof(*v->items),
		      OPERANDS)) {
		err_nomem(&v->err);
		return false;
	}
	v->items[v->nitems++] =
		(struct filter_item){ .what = (enum filter_what)w->opt->value, .text = w->text };
	return true;
}

static bool value_set(const struct opt_value *w)
{
	switch (w->opt->type) {
	case OPT_FLAG:
		*(bool *)value_field(w) = true;
		return true;
	case OPT_STRING:
		*(const char **)value_field(w) = w->text;
		return true;
	case OPT_LIST:
		return value_list(w);
	case OPT_INT:
		return value_int(w);
	case OPT_U64:
		return value_u64(w);
	case OPT_DURATION:
		return value_duration(w);
	case OPT_CHOICE:
		return value_choice(w);
	case OPT_FILTER:
		return value_item(w);
	case OPT_CALL:
		return value_call(w);
	}
	return false;
}

/* The remaining arguments. */
struct opt_line {
	const struct spur_cmd *cmd;
	struct values *v;
	int argc;
	char *const *argv;
	bool options_only; /* other words are skipped */
};

static bool next_value(struct opt_line *l, struct opt_value *w)
{
	if (!l->argc) {
		err_set(&l->v->err, SPUR_ERR_USAGE, "--%s: expected %s after it", w->opt->name,
			w->opt->arg);
		return false;
	}
	w->text = *l->argv++;
	l->argc--;
	return true;
}

static bool parse_long(struct opt_line *l, const char *arg)
{
	const char *eq = strchr(arg, '=');
	struct opt_search s = { .name = text_make(arg, eq ? (size_t)(eq - arg) : strlen(arg)) };
	struct opt_value w = { .values = l->v, .text = eq ? eq + 1 : NULL };

	opt_each(l->cmd, search_one, &s);
	if (!s.found)
		return opt_unknown(l->cmd, l->v, &s);
	w.opt = s.found;
	if (!s.found->arg && eq) {
		err_set(&l->v->err, SPUR_ERR_USAGE, "--%s: expected no value, found \"%s\"",
			s.found->name, eq + 1);
		return false;
	}
	if (s.found->arg && !eq && !next_value(l, &w))
		return false;
	return value_set(&w);
}

/* Reads an argument of letters: flags, of which the last may take a value. */
static bool parse_letters(struct opt_line *l, const char *arg)
{
	for (; *arg; arg++) {
		struct opt_search s = { .letter = *arg };
		struct opt_value w = { .values = l->v };

		opt_each(l->cmd, search_one, &s);
		if (!s.found)
			return opt_unknown(l->cmd, l->v, &s);
		w.opt = s.found;
		if (!s.found->arg) {
			if (!value_set(&w))
				return false;
			continue;
		}
		w.text = arg + 1;
		if (!*w.text && !next_value(l, &w))
			return false;
		return value_set(&w);
	}
	return true;
}

static bool add_operand(struct opt_line *l, const char *arg)
{
	struct values *v = l->v;

	if (!mem_grow((void **)&v->operands, &v->operands_cap, v->noperands + 1,
		      sizeof(*v->operands), OPERANDS)) {
		err_nomem(&v->err);
		return false;
	}
	v->operands[v->noperands++] = arg;
	return true;
}

static bool parse_line(struct opt_line *l)
{
	bool dashes = true, good = true;

	while (good && l->argc) {
		const char *arg = *l->argv++;

		l->argc--;
		if (dashes && strcmp(arg, "--") == 0)
			dashes = false;
		else if (dashes && arg[0] == '-' && arg[1] == '-')
			good = parse_long(l, arg + 2);
		else if (dashes && arg[0] == '-' && arg[1])
			good = parse_letters(l, arg + 1);
		else
			good = l->options_only || add_operand(l, arg);
		dashes = dashes && !(l->v->noperands && (l->cmd->takes & TAKES_PROGRAM));
	}
	return good;
}

/*
 * Reads all of a file of options into v->arena and appends a NUL. Returns NULL, with v->err set,
 * if the file cannot be read or is larger than OPT_FILE_SIZE.
 */
static char *read_opt_file(struct values *v, const char *path)
{
	char *text = arena_alloc(&v->arena, OPT_FILE_SIZE + 1);
	const ssize_t n = text ? file_head(path, FILE_ANY, text, OPT_FILE_SIZE + 1) : 0;

	if (!text) {
		err_nomem(&v->err);
	} else if (n < 0 || n > OPT_FILE_SIZE) {
		err_set(&v->err, SPUR_ERR_IO, "--opt-file: %s: %s", path,
			n < 0 ? strerror(errno) : "larger than 1 MiB");
		text = NULL;
	} else {
		text[n] = '\0';
	}
	return text;
}

/*
 * Cuts the next word off *rest, in place: blanks separate words; quotes and backslashes keep them.
 * Returns NULL at the end of the text.
 */
static char *cut_word(char **rest)
{
	char *in = *rest + strspn(*rest, " \t\r\n"), *word = in, *out = in, quote = '\0';

	if (!*in)
		return NULL;
	for (; *in && (quote || !strchr(" \t\r\n", *in)); in++) {
		if (*in == quote)
			quote = '\0';
		else if (!quote && (*in == '"' || *in == '\''))
			quote = *in;
		else if (*in == '\\' && quote != '\'' && in[1])
			*out++ = *++in;
		else
			*out++ = *in;
	}
	*rest = *in ? in + 1 : in;
	*out = '\0';
	return word;
}

/* Reads the options of a file; other words in it, such as the program to record, are skipped. */
static bool parse_file(const struct spur_cmd *cmd, struct values *v)
{
	char *rest = read_opt_file(v, v->opt_file), *word, **words;
	struct opt_line l = { .cmd = cmd, .v = v, .options_only = true };

	/* A word takes at least two bytes. */
	words = rest ? arena_alloc(&v->arena, (strlen(rest) / 2 + 1) * sizeof(*words)) : NULL;
	if (!words) {
		if (rest)
			err_nomem(&v->err);
		return false;
	}
	while ((word = cut_word(&rest)))
		words[l.argc++] = word;
	l.argv = words;
	return parse_line(&l);
}

bool opt_parse(const struct spur_cmd *cmd, struct values *v, int argc, char *const *argv)
{
	struct opt_line l = { .cmd = cmd, .v = v, .argc = argc, .argv = argv };

	if (cmd->own_size && !(v->own = arena_alloc(&v->arena, cmd->own_size))) {
		err_nomem(&v->err);
		return false;
	}
	return parse_line(&l) && (!v->opt_file || parse_file(cmd, v));
}
