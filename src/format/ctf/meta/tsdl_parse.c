/* TSDL as a whole: the root's blocks and declarations, in any order, once through the text. */
#include <string.h>

#include "format/ctf/meta/tsdl.h"

/* ---- events to their stream classes */

static struct ctf_stream_class *stream_new(struct tsdl *p, uint64_t id)
{
	struct ctf_stream_class *s = arena_alloc(&p->m->arena, sizeof(*s));

	if (!s || !meta_add_stream(p->m, s)) {
		tsdl_full(p);
		return NULL;
	}
	s->id = id;
	return s;
}

static bool streams_map(struct tsdl *p, struct map64 *map)
{
	/*
	 * SPEC ctf-tsdl/implicit-stream: without any `stream` block there is one, with nothing but
	 * its events.
	 */
	if (!p->m->nstreams && p->nevents && !(p->m->strict && p->events[0].has_stream) &&
	    !stream_new(p, p->events[0].class->stream_id))
		return false;
	for (size_t i = 0; i < p->m->nstreams; i++) {
		struct map64_slot *slot = map64_put(map, p->m->streams[i]->id);

		if (!slot)
			return tsdl_full(p);
		if (!slot->value)
			slot->value = i + 1;
	}
	return true;
}

/*
 * SPEC ctf-tsdl/event-stream: an event without `stream_id` belongs to the only stream class, or to
 * number 0.
 */
static bool events_attach(struct tsdl *p, const struct map64 *map)
{
	for (size_t i = 0; i < p->nevents; i++) {
		const struct tsdl_event *e = &p->events[i];
		const struct map64_slot *slot = map64_find(map, e->class->stream_id);
		size_t n = slot ? slot->value - 1 : SIZE_MAX;

		if (!e->has_stream && p->m->nstreams == 1)
			n = 0;
		if (n == SIZE_MAX)
			return tsdl_error(
				p, e->class->at,
				"expected an event of a stream that is there, found stream %llu",
				(unsigned long long)e->class->stream_id);
		e->class->stream_id = p->m->streams[n]->id;
		if (!meta_add_event(p->m, p->m->streams[n], e->class))
			return tsdl_full(p);
	}
	return true;
}

static bool finish(struct tsdl *p)
{
	struct map64 map = { 0 };
	bool ok;

	p->m->parsed = true;
	if (!p->has_trace)
		return tsdl_error(p, 0, "expected a `trace` block, found none");
	ok = streams_map(p, &map) && events_attach(p, &map);
	map64_free(&map);
	return ok;
}

/* ---- the root */

/* SPEC ctf-tsdl/unknown-block: NAME { ... } with whatever inside, as long as its braces match. */
static bool skip_block(struct tsdl *p)
{
	uint64_t open = 0;

	tsdl_warn(p, "ctf/unknown-block", p->tok.at,
		  "expected a block that is known, found `%.*s`; ignored",
		  (int)(p->tok.len > 40 ? 40 : p->tok.len), p->text + p->tok.at);
	tsdl_advance(p);
	do {
		if (p->tok.kind == TSDL_END || p->tok.kind == TSDL_BAD)
			return tsdl_expected(p, "`}`");
		open += tsdl_is(p, '{');
		open -= tsdl_is(p, '}');
		tsdl_advance(p);
	} while (open);
	return tsdl_expect(p, ';', "`;` behind the block");
}

/* SPEC ctf-tsdl/blocks */
static bool read_root(struct tsdl *p)
{
	if (!tsdl_is(p, TSDL_NAME))
		return tsdl_expected(p, "a block or a declaration");
	switch (p->tok.word) {
	case WORD_TRACE:
		return tsdl_trace(p);
	case WORD_ENV:
		return tsdl_env(p);
	case WORD_CLOCK:
		return tsdl_clock(p);
	case WORD_STREAM:
		return tsdl_stream(p);
	case WORD_EVENT:
		return tsdl_event(p);
	case WORD_CALLSITE:
		return tsdl_callsite(p);
	default:
		break;
	}
	if (tsdl_declares(p))
		return tsdl_declaration(p);
	if (!p->tok.word && tsdl_peek(p)->kind == '{')
		return skip_block(p);
	return tsdl_expected(p, "a block or a declaration");
}

/*
 * SPEC ctf-tsdl/cut: text that ends inside a block (the tracer still writes, or the disk was full).
 * What precedes it holds; the block is lost.
 */
static void said_cut(struct tsdl *p, uint64_t at)
{
	p->failed = p->cut = false;
	meta_say(p->m, p->diag, DIAG_DAMAGE, "ctf/metadata-cut", at,
		 "expected the whole of what begins here, found the end; ignored");
}

static void read_all(struct tsdl *p)
{
	tsdl_advance(p);
	while (!tsdl_is(p, TSDL_END)) {
		const uint64_t at = p->tok.at;

		if (tsdl_accept(p, ';'))
			continue;
		if (read_root(p))
			continue;
		if (!p->cut || !p->has_trace || p->m->strict)
			return;
		said_cut(p, at);
		break;
	}
	finish(p);
}

static struct tsdl *tsdl_new(struct ctf_meta *m, struct text text, struct diag_log *diag,
			     struct spur_error *err)
{
	struct tsdl *p = mem_alloc(sizeof(*p));

	if (!p)
		return NULL;
	p->m = m;
	p->text = text.p;
	p->size = text.len;
	p->diag = diag;
	p->err = err;
	out_to_memory(&p->buf);
	p->scopes[p->nscopes++] = ++p->last_scope;
	return p;
}

static void tsdl_free(struct tsdl *p)
{
	out_free(&p->buf);
	map64_free(&p->types);
	map64_free(&p->index);
	map64_free(&p->clock_names);
	map64_free(&p->env_names);
	mem_free(p->members);
	mem_free(p->mappings);
	mem_free(p->ranges);
	mem_free(p->events);
	mem_free(p);
}

enum spur_status tsdl_parse(struct ctf_meta *m, struct text text, struct diag_log *diag,
			    struct spur_error *err)
{
	struct tsdl *p;
	bool ok;

	m->generation = CTF_1;
	m->text = text;
	p = tsdl_new(m, text, diag, err);
	if (!p)
		return err_nomem(err);
	read_all(p);
	ok = !p->failed;
	tsdl_free(p);
	return ok ? SPUR_OK : SPUR_FAIL;
}
