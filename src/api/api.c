/* See api.h. */
#include "api/api.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/feed.h"
#include "api/spans.h"
#include "flow/filter.h"

static struct spur_trace *writable(const struct spur_trace *t)
{
	return (struct spur_trace *)(uintptr_t)t;
}

static struct api_state *state_new(void)
{
	struct api_state *s = mem_alloc(sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	arena_init(&s->texts);
	return s;
}

struct api_state *api_state(const struct spur_trace *t)
{
	struct api_state *s = __atomic_load_n(&t->api, __ATOMIC_ACQUIRE);

	if (s)
		return s;
	pthread_mutex_lock(&writable(t)->lock);
	s = t->api;
	if (!s) {
		s = state_new();
		__atomic_store_n(&writable(t)->api, s, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&writable(t)->lock);
	return s;
}

void api_state_free(struct spur_trace *t)
{
	struct api_state *s = t->api;

	if (!s)
		return;
	feeds_free(s, t->nfeeds);
	span_reader_free(s->spans);
	filter_free(s->filter);
	arena_free(&s->texts);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
	t->api = NULL;
}

enum spur_status api_failed(const struct spur_trace *t, const struct spur_error *from)
{
	struct api_state *s = t ? api_state(t) : NULL;

	if (s) {
		pthread_mutex_lock(&s->lock);
		s->last = *from;
		pthread_mutex_unlock(&s->lock);
	}
	return SPUR_FAIL;
}

enum spur_status api_no_memory(const struct spur_trace *t, struct spur_error *err)
{
	uint64_t *const charged = mem_charge(&writable(t)->mem_failures);
	struct spur_error made;

	err_nomem(&made);
	mem_charge(charged);
	err_at(&made, t->path, DIAG_NO_OFF);
	if (err)
		*err = made;
	return api_failed(t, &made);
}

#if defined(SPUR_ABORT_ON_MISUSE) && !defined(NDEBUG)
static void misuse_abort(const char *message)
{
	__assert_fail(message, "spur", 0, "public call");
}
#else
static void misuse_abort(const char *message)
{
	(void)message;
}
#endif

enum spur_status api_misuse(const struct spur_trace *t, struct spur_error *err, const char *fmt,
			    ...)
{
	char text[sizeof(((struct spur_error *)NULL)->message)];
	struct spur_error made;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	misuse_abort(text);
	err_set(&made, SPUR_ERR_USAGE, "%s", text);
	if (err)
		*err = made;
	return api_failed(t, &made);
}

bool api_missing(const struct spur_trace *t, const char *call, const char *what)
{
	api_misuse(t, NULL, "%s: expected %s, found NULL", call, what);
	return false;
}

bool api_row(const struct spur_trace *t, const char *call, const struct spur_event *ev)
{
	if (!api_given(t, call, t, "a trace") || !api_given(t, call, ev, "an event"))
		return false;
	if (ev->kind < SPUR_KINDS && ev->cls < trace_class_count(t) &&
	    (ev->track == SPUR_NONE || ev->track < trace_track_count(t)) &&
	    ev->stream < trace_stream_count(t))
		return true;
	api_misuse(
		t, NULL,
		"%s: expected an event of this trace, found kind %u, class %u, track %u, stream %u",
		call, ev->kind, ev->cls, ev->track, ev->stream);
	return false;
}
