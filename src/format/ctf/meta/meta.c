/* The metadata's own store: what front ends build it with, and places for messages. See meta.h. */
#include "format/ctf/meta/meta.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	TURNS_MAX = 32, /* maximum number of restarts of the search for a place */
	MESSAGE_MAX = 400,
	PLACE_MAX = 48,
};

struct ctf_meta *meta_new(const char *path)
{
	struct ctf_meta *m = mem_alloc(sizeof(*m));

	if (!m)
		return NULL;
	arena_init(&m->arena);
	m->names = intern_new();
	m->path = arena_strdup(&m->arena, path, strlen(path));
	if (!m->names || !m->path) {
		meta_free(m);
		return NULL;
	}
	m->place.line = 1;
	return m;
}

void meta_free(struct ctf_meta *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nstreams; i++)
		mem_free(m->streams[i]->events);
	mem_free(m->streams);
	mem_free(m->clocks);
	mem_free(m->env);
	intern_free(m->names);
	arena_free(&m->arena);
	mem_free(m);
}

bool meta_count(struct ctf_meta *m, size_t n)
{
	if (n > META_FIELDS - m->nfields) {
		m->full = true;
		return false;
	}
	m->nfields += n;
	return true;
}

enum spur_status meta_full(const struct ctf_meta *m, struct spur_error *err)
{
	if (m->full)
		return err_set(err, SPUR_ERR_LIMIT,
			       "%s: expected at most %d field and event classes, found more",
			       m->path, META_FIELDS);
	return err_nomem(err);
}

struct ctf_field *meta_field(struct ctf_meta *m, enum ctf_kind kind, uint64_t at)
{
	struct ctf_field *f = meta_count(m, 1) ? arena_alloc(&m->arena, sizeof(*f)) : NULL;

	if (!f)
		return NULL;
	f->kind = (uint8_t)kind;
	f->align = 1;
	f->save = CTF_NO_SLOT;
	f->ref.slot = CTF_NO_SLOT;
	f->at = at;
	return f;
}

struct ctf_field *meta_field_copy(struct ctf_meta *m, const struct ctf_field *f)
{
	const size_t bytes = f->nmembers * sizeof(*f->members);
	struct ctf_field *copy = meta_field(m, (enum ctf_kind)f->kind, f->at);

	if (!copy)
		return NULL;
	*copy = *f;
	copy->uses = 0;
	if (!f->nmembers)
		return copy;
	copy->members = meta_count(m, f->nmembers) ? arena_alloc(&m->arena, bytes) : NULL;
	if (!copy->members)
		return NULL;
	memcpy(copy->members, f->members, bytes);
	return copy;
}

const char *meta_name(struct ctf_meta *m, const char *p, size_t len)
{
	const uint32_t id = intern_put(m->names, p, len);

	return id == INTERN_NONE ? NULL : intern_text(m->names, id, NULL);
}

bool meta_add_stream(struct ctf_meta *m, struct ctf_stream_class *s)
{
	if (!meta_count(m, 1) || !mem_grow((void **)&m->streams, &m->streams_cap, m->nstreams + 1,
					   sizeof(struct ctf_stream_class *), META_FIELDS))
		return false;
	m->streams[m->nstreams++] = s;
	return true;
}

bool meta_add_event(struct ctf_meta *m, struct ctf_stream_class *s, struct ctf_event_class *e)
{
	if (!meta_count(m, 1) || !mem_grow((void **)&s->events, &s->events_cap, s->nevents + 1,
					   sizeof(struct ctf_event_class *), META_FIELDS))
		return false;
	s->events[s->nevents++] = e;
	return true;
}

bool meta_add_clock(struct ctf_meta *m, struct ctf_clock *c)
{
	if (!meta_count(m, 1) || !mem_grow((void **)&m->clocks, &m->clocks_cap, m->nclocks + 1,
					   sizeof(struct ctf_clock *), META_FIELDS))
		return false;
	m->clocks[m->nclocks++] = c;
	return true;
}

bool meta_add_env(struct ctf_meta *m, const struct ctf_env *e)
{
	if (!meta_count(m, 1) ||
	    !mem_grow((void **)&m->env, &m->env_cap, m->nenv + 1, sizeof(*m->env), META_FIELDS))
		return false;
	m->env[m->nenv++] = *e;
	return true;
}

const char *meta_kind_name(unsigned kind)
{
	static const char *const names[CTF_KINDS] = {
		[CTF_BITS] = "bits",
		[CTF_BITMAP] = "a bit map",
		[CTF_BOOL] = "a boolean",
		[CTF_UINT] = "an unsigned integer",
		[CTF_SINT] = "a signed integer",
		[CTF_FLOAT] = "a floating-point number",
		[CTF_VAR_UINT] = "an unsigned integer of variable length",
		[CTF_VAR_SINT] = "a signed integer of variable length",
		[CTF_STRING] = "a string",
		[CTF_STRING_STATIC] = "a string of fixed length",
		[CTF_STRING_DYNAMIC] = "a string with a length",
		[CTF_BLOB_STATIC] = "a blob of fixed length",
		[CTF_BLOB_DYNAMIC] = "a blob with a length",
		[CTF_STRUCT] = "a structure",
		[CTF_ARRAY] = "an array",
		[CTF_SEQUENCE] = "a sequence",
		[CTF_OPTIONAL] = "an optional field",
		[CTF_VARIANT] = "a variant",
	};

	return kind < CTF_KINDS ? names[kind] : "another class";
}

void meta_place(struct ctf_meta *m, uint64_t at, unsigned *line, unsigned *column)
{
	const char *text = m->text.p;

	if (at > m->text.len)
		at = m->text.len;
	/* Messages come mostly in the order of the text: go on from the last. */
	if (at < m->place.line_at) {
		m->place.line = 1;
		m->place.line_at = m->place.seen = 0;
	}
	/* A line may be as long as the text: what was looked through once is not again. */
	while (m->place.seen < at) {
		const char *end = memchr(text + m->place.seen, '\n', at - m->place.seen);

		m->place.seen = end ? (uint64_t)(end - text) + 1 : at;
		if (!end)
			break;
		m->place.line++;
		m->place.line_at = m->place.seen;
	}
	*line = m->place.line;
	*column = (unsigned)(at - m->place.line_at) + 1;
}

/* The place in words: line and column of text, or fragment and byte of a JSON sequence. */
static void place_print(struct ctf_meta *m, uint64_t at, char *buf, size_t size)
{
	unsigned line, column, fragment = 0;

	if (m->generation != CTF_2) {
		meta_place(m, at, &line, &column);
		snprintf(buf, size, "%u:%u", line, column);
		return;
	}
	for (uint64_t i = 0; i <= at && i < m->text.len; i++)
		fragment += m->text.p[i] == 0x1E;
	snprintf(buf, size, "fragment %u (byte %llu)", fragment, (unsigned long long)at);
}

enum spur_status meta_error(struct ctf_meta *m, struct spur_error *err, enum spur_error_code code,
			    uint64_t at, const char *fmt, ...)
{
	char place[PLACE_MAX], text[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	m->failed_at = at;
	place_print(m, at, place, sizeof(place));
	return err_set(err, code, "%s:%s%s: %s", m->path, m->generation == CTF_2 ? " " : "", place,
		       text);
}

void meta_say(struct ctf_meta *m, struct diag_log *diag, enum diag_level level, const char *code,
	      uint64_t at, const char *fmt, ...)
{
	char place[PLACE_MAX] = "", text[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (m->generation == CTF_2 || at < m->place.line_at)
		m->nturns++;
	if (m->nturns <= TURNS_MAX)
		place_print(m, at, place, sizeof(place));
	diag_add(diag, level, code, m->path, DIAG_NO_OFF, 0, "%s%s%s", place, *place ? ": " : "",
		 text);
}
