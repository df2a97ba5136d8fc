/* The filter of a trace: texts in the language of the command line. */
#include "flow/filter.h"

#include <string.h>

#include "api/api.h"

/* The members of the first release. */
enum { FILTER_LEAST = sizeof(struct spur_filter), NAMES_MOST = 65536 };

/* A filter as the caller gave it, and what is made of it. */
struct request {
	struct spur_filter given;
	struct filter_spec spec;
	struct filter_item *items;
	int64_t span[2];
	struct arena texts; /* of `spec` */
};

/* A copy in r->texts; NULL of NULL, and if out of memory, which is counted. */
static const char *copy(struct request *r, const char *s)
{
	return s ? arena_strdup(&r->texts, s, strlen(s)) : NULL;
}

static bool request_items(struct request *r)
{
	size_t n = 0;

	while (r->given.names && n < NAMES_MOST && r->given.names[n])
		n++;
	r->items = arena_alloc(&r->texts, (n + 1) * sizeof(*r->items));
	if (!r->items)
		return false;
	for (size_t i = 0; i < n; i++)
		r->items[r->spec.nitems++] = (struct filter_item){
			.what = FILTER_NAME, .text = copy(r, r->given.names[i])
		};
	if (r->given.where)
		r->items[r->spec.nitems++] = (struct filter_item){
			.what = FILTER_WHERE, .text = copy(r, r->given.where)
		};
	for (size_t i = 0; i < r->spec.nitems; i++)
		if (!r->items[i].text)
			return false;
	r->spec.items = r->items;
	return true;
}

/* Returns false if out of memory. */
static bool request_spec(struct request *r, const struct spur_trace *t)
{
	static const enum pattern_kind kinds[] = { [SPUR_MATCH_REGEX] = PATTERN_REGEX,
						   [SPUR_MATCH_GLOB] = PATTERN_GLOB,
						   [SPUR_MATCH_EXACT] = PATTERN_EXACT };
	const struct spur_filter *g = &r->given;

	r->spec.match = kinds[g->match];
	r->spec.numbers = MOMENT_TS;
	r->spec.min_ns = g->min_dur == SPUR_MIN_DUR_OF_TRACE ? t->default_min_ns : g->min_dur;
	r->spec.from = copy(r, g->from);
	r->spec.to = copy(r, g->to);
	r->span[0] = g->begin;
	r->span[1] = g->end;
	r->spec.span = g->begin || g->end ? r->span : NULL;
	return request_items(r) && (!g->from || r->spec.from) && (!g->to || r->spec.to);
}

static enum spur_status request_check(const struct spur_trace *t, const struct spur_filter *g,
				      struct spur_error *err)
{
	if ((unsigned)g->match >= SPUR_MATCH_FORMS)
		return api_misuse(t, err, "spur_filter.match: expected a form below %d, found %d",
				  SPUR_MATCH_FORMS, (int)g->match);
	if (g->min_dur < 0 && g->min_dur != SPUR_MIN_DUR_OF_TRACE)
		return api_misuse(t, err, "spur_filter.min_dur: expected a duration, found %lld",
				  (long long)g->min_dur);
	if (g->end < g->begin)
		return api_misuse(t, err,
				  "spur_filter.end: expected a time from begin (%lld), found %lld",
				  (long long)g->begin, (long long)g->end);
	return SPUR_OK;
}

/* Messages name options of the command line: --where, --name, --from, --to. */
static void name_member(struct spur_error *err)
{
	const size_t len = strcspn(err->message + 2, ":");
	char member[sizeof(err->stream)];

	if (strncmp(err->message, "--", 2) != 0)
		return;
	memmove(err->message, err->message + 2, strlen(err->message + 2) + 1);
	if (len >= sizeof(member) || err->stream[0])
		return;
	memcpy(member, err->message, len);
	member[len] = '\0';
	err_at(err, member, DIAG_NO_OFF);
}

static enum spur_status set_filter(struct spur_trace *t, struct api_state *s, struct request *r,
				   struct spur_error *err)
{
	struct filter *made = NULL;

	if (!request_spec(r, t))
		return err_nomem(err);
	if (filter_new(&made, t, &r->spec, err) == SPUR_FAIL) {
		name_member(err);
		/* Only patterns of names are not said to be of an option. */
		if (err->code == SPUR_ERR_USAGE && !err->stream[0])
			err_at(err, "name", DIAG_NO_OFF);
		return SPUR_FAIL;
	}
	filter_free(s->filter);
	arena_free(&s->texts);
	s->filter = made;
	s->texts = r->texts;
	arena_init(&r->texts);
	return SPUR_OK;
}

enum spur_status spur_set_filter(struct spur_trace *t, const struct spur_filter *filter,
				 struct spur_error *err)
{
	struct request r = { .given = spur_filter_default() };
	enum spur_status st = SPUR_FAIL;
	struct spur_error ignored = { 0 };
	struct api_state *s;
	uint64_t *charged;

	err = err ? err : &ignored;
	if (!t)
		return api_misuse(NULL, err, "spur_set_filter: expected a trace, found NULL");
	if (filter && (api_copy_sized(&r.given, sizeof(r.given), filter, FILTER_LEAST,
				      "spur_filter", err) == SPUR_FAIL ||
		       request_check(t, &r.given, err) == SPUR_FAIL))
		return SPUR_FAIL;
	charged = mem_charge(&t->mem_failures);
	arena_init(&r.texts);
	s = api_state(t);
	if (s && s->reading != API_UNREAD)
		st = api_misuse(t, err,
				"spur_set_filter: expected a trace of which no row was read");
	else
		st = s ? set_filter(t, s, &r, err) : err_nomem(err);
	arena_free(&r.texts);
	mem_charge(charged);
	return st == SPUR_FAIL ? api_failed(t, err) : st;
}
