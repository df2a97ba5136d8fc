/*
 * Finding: text in names, /REGEX/, dur>TIME, and for all else the expressions of --where, for which
 * the trace is read once more (where.c).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "view/find.h"

enum { MARKS = VIEW_OVERVIEW, REPEATS_MOST = 1000, REGEX_MOST = 1000 };

/* What a query asks of labels and durations. */
struct plain {
	uint64_t *labels; /* NULL: any name */
	size_t nlabels;
	int64_t least;
};

/* Returns true if the text has `want`, of which capital letters are no others than small ones. */
static bool has_text(const struct store_text *t, const char *want, size_t len)
{
	for (size_t i = 0; i + len <= t->len; i++)
		if (!strncasecmp(t->p + i, want, len))
			return true;
	return !len;
}

/*
 * Marks the labels whose names match. `p`: a regular expression; NULL: the text. Returns false if
 * out of memory.
 */
static bool mark_labels(const struct view *v, struct plain *q, const struct pattern *p,
			const char *text)
{
	const size_t len = strlen(text);
	struct store_label l;

	q->nlabels = store_facts(v->store).labels;
	q->labels = mem_array(q->nlabels / 64 + 1, sizeof(*q->labels));
	for (uint32_t i = 0; q->labels && i < q->nlabels; i++) {
		if (!store_label(v->store, i, &l))
			continue;
		if (p ? l.name.p && pattern_match(p, l.name.p) : has_text(&l.name, text, len))
			q->labels[i / 64] |= UINT64_C(1) << i % 64;
	}
	return q->labels != NULL;
}

/* dur>TIME and dur>=TIME alone. */
static bool read_duration(const char *s, int64_t *least)
{
	struct text t = text_trim(text_of(s));
	char number[32];
	bool more;

	if (!text_skip(&t, "dur"))
		return false;
	t = text_trim(t);
	if (!text_skip(&t, ">"))
		return false;
	more = !text_skip(&t, "=");
	t = text_trim(t);
	if (t.len >= sizeof(number))
		return false;
	memcpy(number, t.p, t.len);
	number[t.len] = 0;
	if (!text_duration(number, 0, least) || *least < 0 || *least == INT64_MAX)
		return false;
	*least += more;
	return true;
}

/*
 * Returns true if the C library might take gigabytes to compile the expression: it writes each
 * repetition out, and repetitions of repetitions multiply.
 */
static bool is_costly(const char *regex)
{
	uint64_t copies = 1;

	for (const char *p = strchr(regex, '{'); p; p = strchr(p + 1, '{')) {
		const char *const end = strchr(p, '}');
		unsigned long most = 0;

		for (const char *q = p + 1; end && q < end; q++)
			if (isdigit((unsigned char)*q) && !isdigit((unsigned char)q[-1])) {
				const unsigned long n = strtoul(q, NULL, 10);

				most = n > most ? n : most;
			}
		copies *= most > 1 ? most : 1;
		if (copies > REPEATS_MOST)
			return true;
	}
	return strlen(regex) > REGEX_MOST;
}

/* /REGEX/: the expression without its ends, or NULL. Free with mem_free(). */
static char *read_regex(const char *s)
{
	const size_t len = strlen(s);
	char *copy;

	if (len < 3 || s[0] != '/' || s[len - 1] != '/')
		return NULL;
	copy = mem_alloc(len - 1);
	if (copy)
		memcpy(copy, s + 1, len - 2);
	return copy;
}

/* Returns true if the text is an expression: it compares something with an operator. */
static bool is_expression(const char *s)
{
	static const char *const fields[] = { "ts",	"dur", "name",	"cat",	"pid",
					      "tid",	"cpu", "depth", "kind", "thread",
					      "module", "arg", "!",	"(" };

	if (!strpbrk(s, "=<>"))
		return false;
	while (isspace((unsigned char)*s))
		s++;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const size_t len = strlen(fields[i]);

		if (!strncmp(s, fields[i], len) &&
		    (ispunct((unsigned char)fields[i][0]) || strchr(" .=<>!", s[len])))
			return true;
	}
	return false;
}

/* All items that a plain query wants. */
static struct store_query plain_query(const struct plain *p)
{
	return (struct store_query){ .labels = p->labels,
				     .nlabels = p->nlabels,
				     .least = p->least,
				     .from = INT64_MIN,
				     .to = INT64_MAX };
}

/* --- answers --- */

static bool put_head(const struct view *v, const struct store_place *hit, struct out *o)
{
	struct view_item i;

	out_str(o, "{\"hit\":");
	if (hit && view_item(v, hit->lane, hit->number, &i))
		view_put_span(v, &i, o);
	else
		out_str(o, "null");
	return !o->error;
}

/* What a query finds in all: the end of the answer to it, whichever hit it begins with. */
struct view_counted {
	char *query;
	uint64_t total;
	struct out text;
};

void view_counted_free(struct view *v)
{
	if (!v->counted)
		return;
	mem_free(v->counted->query);
	out_free(&v->counted->text);
	mem_free(v->counted);
	v->counted = NULL;
}

/* The item from which the search goes on: the one of the request, or NULL. */
static bool read_after(const struct view *v, const struct view_request *r, struct store_place *out,
		       struct view_answer *a)
{
	struct view_item i;

	if (!view_arg(r, "t"))
		return false;
	if (!view_item_of(v, r, &i, a))
		return false;
	*out = (struct store_place){ .lane = i.lane, .number = i.number, .start = i.item.start };
	return true;
}

/*
 * Sets the total of a query, and appends it, with begins of items: at most one in each part of the
 * overview. Returns false if out of memory.
 */
static bool count(const struct view *v, const struct store_query *q, struct view_counted *c)
{
	const struct store_facts f = store_facts(v->store);
	const int64_t length = f.end > view_zero(v) ? f.end - view_zero(v) : 1;
	int64_t firsts[MARKS];
	bool any = false;

	if (!store_survey(v->store, q, view_zero(v), length / MARKS + 1, firsts, MARKS, &c->total))
		return false;
	out_printf(&c->text, ",\"total\":%llu,\"partial\":%s,\"marks\":[",
		   (unsigned long long)c->total, f.done ? "false" : "true");
	for (int i = 0; i < MARKS; i++) {
		if (firsts[i] == INT64_MAX)
			continue;
		out_printf(&c->text, "%s%lld", any ? "," : "",
			   (long long)(firsts[i] - view_zero(v)));
		any = true;
	}
	out_str(&c->text, "]}");
	return !c->text.error;
}

/*
 * Counts what a query finds, for which the whole store is read: what a finished one has is kept for
 * the next request with the same text. Called with v->finding held. Returns NULL if out of memory.
 */
static const struct view_counted *counted(struct view *v, const char *text,
					  const struct store_query *q)
{
	struct view_counted *c = v->counted;
	bool good;

	if (c && !strcmp(c->query, text))
		return c;
	view_counted_free(v);
	c = v->counted = mem_alloc(sizeof(*c));
	if (c) {
		out_to_memory(&c->text);
		c->query = mem_alloc(strlen(text) + 1);
	}
	if (c && c->query)
		memcpy(c->query, text, strlen(text));
	good = c && c->query && count(v, q, c);
	if (!good)
		view_counted_free(v);
	return v->counted;
}

/* What a store that grows has is counted anew. Called with v->finding held. */
static void forget_growing(struct view *v, bool done)
{
	if (!done)
		view_counted_free(v);
}

static bool put_counted(struct view *v, const char *text, const struct store_query *q,
			struct out *o)
{
	const bool done = store_facts(v->store).done;
	const struct view_counted *c;
	bool good;

	pthread_mutex_lock(&v->finding);
	c = counted(v, text, q);
	good = c != NULL;
	if (c)
		out_bytes(o, c->text.buf, c->text.len);
	forget_growing(v, done);
	pthread_mutex_unlock(&v->finding);
	return good && !o->error;
}

static bool has_labels(const struct plain *p)
{
	uint64_t any = 0;

	for (size_t i = 0; p->labels && i <= p->nlabels / 64; i++)
		any |= p->labels[i];
	return !p->labels || any;
}

/*
 * Finds the next item of a plain query; behind the last one comes the first one again. Returns
 * false if no item is found.
 */
static bool next_plain(const struct view *v, const struct store_query *q,
		       const struct store_place *after, bool back, struct store_place *out)
{
	return store_next(v->store, q, after, back, out) == SPUR_OK ||
	       (after && store_next(v->store, q, NULL, back, out) == SPUR_OK);
}

static bool find_plain(struct view *v, const struct view_request *r, const struct plain *p,
		       struct view_answer *a)
{
	const struct store_query q = plain_query(p);
	struct store_place after, hit;
	const bool has = read_after(v, r, &after, a);
	bool found;

	if (a->status != 200)
		return false;
	if (!has_labels(p)) {
		out_printf(&a->out, "{\"hit\":null,\"total\":0,\"partial\":%s,\"marks\":[]}",
			   store_facts(v->store).done ? "false" : "true");
		return !a->out.error;
	}
	found = next_plain(v, &q, has ? &after : NULL, view_arg(r, "back") != NULL, &hit);
	put_head(v, found ? &hit : NULL, &a->out);
	return put_counted(v, view_arg(r, "q"), &q, &a->out);
}

static void put_hits(const struct view *v, const struct view_hits *hits, struct out *o)
{
	const size_t step = hits->n / MARKS + 1;

	out_printf(o, ",\"total\":%llu,\"partial\":%s,\"marks\":[", (unsigned long long)hits->total,
		   hits->total > hits->n ? "true" : "false");
	for (size_t i = 0; i < hits->n; i += step)
		out_printf(o, "%s%lld", i ? "," : "", (long long)(hits->hits[i].ts - view_zero(v)));
	out_str(o, "]}");
}

/* The same for an expression. The caller holds v->finding as long as it uses the hits. */
static bool next_where(struct view *v, const char *query, const struct store_place *after,
		       bool back, struct view_hits *hits, struct view_search *out,
		       struct spur_error *err)
{
	if (!view_where(v, query, hits, err))
		return false;
	out->found = view_hit_next(v, hits, after, back, &out->place) ||
		     (after && view_hit_next(v, hits, NULL, back, &out->place));
	out->total = hits->total;
	out->partial = hits->total > hits->n;
	return true;
}

/* Refuses a request for an error. Returns false. */
static bool refuse(struct view_answer *a, const struct spur_error *err)
{
	return view_refuse(a, err->code == SPUR_ERR_USAGE ? 400 : 500, "%s", err->message);
}

static bool find_where(struct view *v, const struct view_request *r, const char *query,
		       struct view_answer *a)
{
	struct view_search found = { 0 };
	struct store_place after;
	const bool has = read_after(v, r, &after, a);
	struct view_hits hits;
	struct spur_error err = { 0 };
	bool good;

	if (a->status != 200)
		return false;
	pthread_mutex_lock(&v->finding);
	good = next_where(v, query, has ? &after : NULL, view_arg(r, "back") != NULL, &hits, &found,
			  &err);
	if (good) {
		put_head(v, found.found ? &found.place : NULL, &a->out);
		put_hits(v, &hits, &a->out);
	}
	pthread_mutex_unlock(&v->finding);
	return good ? !a->out.error : refuse(a, &err);
}

/*
 * Reads what a query asks for; *where: it is an expression. Returns false, with the error set, if
 * it is wrong, or out of memory. Free q->labels with mem_free().
 */
static bool read_query(const struct view *v, const char *query, struct plain *q, bool *where,
		       struct spur_error *err)
{
	char *const regex = read_regex(query);
	struct pattern *pattern = NULL;
	bool good = true;

	if (regex && is_costly(regex)) {
		err_set(err, SPUR_ERR_USAGE, "expected at most %d repetitions in an expression",
			REPEATS_MOST);
		good = false;
	} else if (regex) {
		pattern = pattern_new(PATTERN_REGEX, regex, NULL, err);
		good = pattern != NULL;
	} else {
		*where = !read_duration(query, &q->least) && is_expression(query);
	}
	mem_free(regex);
	if (good && !*where && !q->least && !mark_labels(v, q, pattern, query)) {
		err_nomem(err);
		good = false;
	}
	pattern_free(pattern);
	return good;
}

/* Returns false if out of memory. */
static bool search_plain(struct view *v, const char *query, const struct plain *p,
			 const struct store_place *after, bool back, struct view_search *out)
{
	const struct store_query q = plain_query(p);
	const struct view_counted *c = NULL;

	out->partial = !store_facts(v->store).done;
	if (!has_labels(p))
		return true;
	out->found = next_plain(v, &q, after, back, &out->place);
	pthread_mutex_lock(&v->finding);
	c = counted(v, query, &q);
	if (c)
		out->total = c->total;
	forget_growing(v, !out->partial);
	pthread_mutex_unlock(&v->finding);
	return c != NULL;
}

bool view_search(struct view *v, const char *query, const struct store_place *after, bool back,
		 struct view_search *out, struct spur_error *err)
{
	struct plain plain = { 0 };
	struct view_hits hits;
	bool where = false, good;

	*out = (struct view_search){ 0 };
	if (!read_query(v, query, &plain, &where, err))
		return false;
	if (where) {
		pthread_mutex_lock(&v->finding);
		good = next_where(v, query, after, back, &hits, out, err);
		pthread_mutex_unlock(&v->finding);
	} else {
		good = search_plain(v, query, &plain, after, back, out);
		if (!good)
			err_nomem(err);
	}
	mem_free(plain.labels);
	return good;
}

bool view_find(struct view *v, const struct view_request *r, struct view_answer *a)
{
	const char *const query = view_arg(r, "q");
	struct spur_error err = { 0 };
	struct plain plain = { 0 };
	bool where = false, good;

	if (!query || !*query)
		return view_refuse(a, 400, "expected something to find");
	if (!read_query(v, query, &plain, &where, &err))
		return refuse(a, &err);
	good = where ? find_where(v, r, query, a) : find_plain(v, r, &plain, a);
	mem_free(plain.labels);
	return good;
}
