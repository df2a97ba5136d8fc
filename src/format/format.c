/*
 * Finding the format of a file or directory: every format gives a score for its content, the best
 * wins.
 */
#include "format/format.h"

#include <string.h>

#include "base/out.h"
#include "model/schema.h"

const struct spur_format *format_find(const char *name)
{
	for (size_t i = 0; spur_formats[i]; i++)
		if (strcmp(spur_formats[i]->name, name) == 0)
			return spur_formats[i];
	return NULL;
}

const struct spur_format *format_of_url(const char *path)
{
	for (size_t i = 0; spur_formats[i]; i++)
		for (const char *const *url = spur_formats[i]->urls; url && *url; url++)
			if (strncmp(path, *url, strlen(*url)) == 0)
				return spur_formats[i];
	return NULL;
}

const struct spur_format *format_probe(const struct probe *p, struct spur_error *err)
{
	const struct spur_format *best = NULL, *second = NULL;
	int score = 0;

	for (size_t i = 0; spur_formats[i]; i++) {
		int s = spur_formats[i]->probe(p);

		if (s > score) {
			best = spur_formats[i];
			second = NULL;
			score = s;
		} else if (s == score && s > 0) {
			second = spur_formats[i];
		}
	}
	if (best && !second)
		return best;
	if (second)
		err_set(err, SPUR_ERR_FORMAT, "%s: looks equally like %s and %s; name the format",
			p->path, best->name, second->name);
	else if (!p->is_dir && !p->len)
		err_set(err, SPUR_ERR_FORMAT, "%s: expected a trace, found an empty file", p->path);
	else
		err_set(err, SPUR_ERR_FORMAT, "%s: expected a trace of a known format, found %s",
			p->path, p->is_dir ? "a directory without one" : "something else");
	return NULL;
}

struct spur_place format_place(struct spur_trace *t, const struct spur_event *ev)
{
	struct spur_place place = { .stream = ev->stream,
				    .off = ev->off,
				    .len = ev->len,
				    .bits = 8 * (uint64_t)ev->len };

	if (ev->stream < t->nstreams)
		place.origin = t->streams[ev->stream].origin;
	if (t->format->place)
		t->format->place(t, ev, &place);
	assert(place.first_bit < 8);
	assert(place.bits <= 8 * place.len);
	assert(!t->origins || place.origin < __atomic_load_n(&t->norigins, __ATOMIC_ACQUIRE));
	return place;
}

const struct spur_schema *format_schema(struct spur_trace *t, uint32_t cls)
{
	struct event_class *c;
	const struct spur_schema *s;

	if (!cls || cls >= trace_class_count(t))
		return NULL;
	/*
	 * Classes are const to all but those that add them; the schema is the one member set later.
	 */
	c = (struct event_class *)trace_class(t, cls);
	s = __atomic_load_n(&c->schema, __ATOMIC_ACQUIRE);
	if (s)
		return s;
	pthread_mutex_lock(&t->lock);
	if (!c->schema)
		__atomic_store_n(&c->schema,
				 t->format->schema ? t->format->schema(t, c) :
						     schema_of_class(&t->arena, c),
				 __ATOMIC_RELEASE);
	s = c->schema;
	pthread_mutex_unlock(&t->lock);
	return s;
}
