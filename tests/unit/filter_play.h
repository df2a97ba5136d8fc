/* Rows from a script through a filter, for its tests. */
#ifndef SPUR_TESTS_UNIT_FILTER_PLAY_H
#define SPUR_TESTS_UNIT_FILTER_PLAY_H

#include "flow/pipe.h"
#include "unit/fake_trace.h"

/*
 * Rows from a script, words with blanks between: `name` opens a function, `/` closes the innermost,
 * `/name` that function, whatever is inside it, `.name` an instant, `+N` lets N ns pass, `>` and
 * `<` leave and get the CPU, `>p` preempted, `!` LOST, `@N` goes on in feed N, `^N` at depth N, in
 * functions "?" whose BEGINs are not in the data. A row takes 1 ns.
 */
struct script {
	struct spur_trace *t;
	bool recorded; /* rows have their depth; else ENDs are matched by class */
	uint32_t feed;
	int64_t now;
	uint32_t open[8][64];
	size_t depth[8];
};

static inline void play_word(struct script *s, const char *w)
{
	size_t *depth = &s->depth[s->feed];
	struct spur_event *e;

	if (w[0] == '+') {
		s->now += atoll(w + 1);
		return;
	}
	if (w[0] == '@') {
		s->feed = (uint32_t)atoi(w + 1);
		return;
	}
	if (w[0] == '^') {
		const size_t to = (size_t)atoi(w + 1);

		for (; *depth < to; ++*depth)
			s->open[s->feed][*depth] = fake_class(s->t, "?", CLASS_FUNCTION);
		*depth = to;
		return;
	}
	s->now++;
	if (w[0] == '/' && w[1]) {
		e = fake_row(s->t, s->feed, SPUR_END_SPAN, s->now);
		e->cls = fake_class(s->t, w + 1, CLASS_FUNCTION);
	} else if (w[0] == '~') {
		e = fake_row(s->t, s->feed, SPUR_END_SPAN, s->now);
		e->cls = fake_class(s->t, w + 1, CLASS_FUNCTION);
		e->flags = SPUR_F_GAP;
	} else if (w[0] == '/') {
		e = fake_row(s->t, s->feed, SPUR_END_SPAN, s->now);
		e->cls = s->open[s->feed][--*depth];
		e->depth = (uint16_t)(s->recorded ? *depth : 0);
		e->flags = s->recorded ? SPUR_F_DEPTH : 0;
	} else if (w[0] == '.') {
		e = fake_row(s->t, s->feed, SPUR_INSTANT, s->now);
		e->cls = fake_class(s->t, w + 1, CLASS_EVENT);
	} else if (w[0] == '>' || w[0] == '<') {
		e = fake_row(s->t, s->feed, SPUR_SWITCH, s->now);
		e->cls = fake_class(s->t, w[0] == '>' ? ">" : "<", CLASS_EVENT | CLASS_SCHED);
		e->flags = (uint16_t)((w[0] == '>' ? SPUR_F_OUT : SPUR_F_IN) |
				      (w[1] == 'p' ? SPUR_F_PREEMPTED : 0));
	} else if (w[0] == '!') {
		e = fake_row(s->t, s->feed, SPUR_LOST, s->now);
		e->cls = fake_class(s->t, "!", CLASS_EVENT);
	} else {
		e = fake_row(s->t, s->feed, SPUR_BEGIN, s->now);
		e->cls = s->open[s->feed][*depth] = fake_class(s->t, w, CLASS_FUNCTION);
		e->depth = (uint16_t)(s->recorded ? *depth : 0);
		e->flags = s->recorded ? SPUR_F_DEPTH : 0;
		++*depth;
		e->nargs = 1;
		e->id = (uint64_t)s->now;
	}
	e->name = trace_class(s->t, e->cls)->name;
}

static inline struct spur_trace *play_as(const char *text, bool recorded)
{
	struct script s = { .t = fake_trace_new(), .recorded = recorded };
	char *copy = strdup(text), *save = NULL;

	fake_feed_add(s.t, 100, "main");
	fake_feed_add(s.t, 101, "worker-1");
	fake_feed_add(s.t, 102, "worker-2");
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		play_word(&s, w);
	free(copy);
	return s.t;
}

static inline struct spur_trace *play(const char *text)
{
	return play_as(text, true);
}

struct text_out {
	struct spur_trace *t;
	char buf[8192];
	size_t len;
	int64_t last;
};

static inline bool collect(void *self, struct spur_event *rows, size_t n)
{
	struct text_out *o = self;

	for (size_t i = 0; i < n; i++) {
		const char *name = spur_string(o->t, rows[i].name, NULL), *mark = "";

		assert_true(rows[i].ts >= o->last);
		o->last = rows[i].ts;
		if (rows[i].kind == SPUR_END_SPAN)
			mark = "/";
		else if (rows[i].kind == SPUR_INSTANT)
			mark = ".";
		o->len += (size_t)snprintf(o->buf + o->len, sizeof(o->buf) - o->len, "%s%s%s",
					   o->len ? " " : "", mark, name);
	}
	return true;
}

static inline enum spur_status run(struct spur_trace *t, const struct filter_spec *spec,
			    struct text_out *o, struct spur_error *err)
{
	struct pipe_options opt = { .threads = 1 };
	enum spur_status st;

	*o = (struct text_out){ .t = t, .last = INT64_MIN };
	st = filter_new(&opt.filter, t, spec, err);
	if (st == SPUR_OK)
		st = pipe_run_merged(t, &opt, collect, o);
	filter_free(opt.filter);
	return st;
}

/* The script through the spec gives `want`, whatever the batches are. */
static inline void check_as(const char *script, bool recorded, const struct filter_spec *spec,
		     const char *want)
{
	static const size_t batches[] = { 0, 1, 2, 7 };
	struct spur_trace *t = play_as(script, recorded);
	struct text_out *o = malloc(sizeof(*o));
	struct spur_error err = { 0 };

	for (size_t i = 0; i < 4; i++) {
		fake_rewind(t);
		for (size_t f = 0; f < t->nfeeds; f++)
			((struct fake_feed *)t->feeds[f]->state)->batch = batches[i];
		assert_int_equal(run(t, spec, o, &err), SPUR_OK);
		assert_string_equal(o->buf, want);
	}
	free(o);
	fake_trace_free(t);
}

static inline void check(const char *script, const struct filter_spec *spec, const char *want)
{
	check_as(script, true, spec, want);
	check_as(script, false, spec, want);
}

#endif
