/* See write_meta.h. */
#include "format/ctf/write_meta.h"

#include <stdio.h>

#include "format/format.h"

enum { ENV_OWN = 12 };

const struct ctf_meta *meta_of_class(const struct cw *w, const struct ctf_class *k)
{
	for (size_t i = 0; i < w->ctf->ntraces; i++) {
		const struct ctf_trace *tr = &w->ctf->traces[i];

		if (k >= tr->classes && k < tr->classes + tr->meta->nstreams)
			return tr->meta;
	}
	return w->ctf->traces[0].meta;
}

const struct ctf_field *meta_context(struct cw *w, const struct cw_stream_class *s)
{
	return s->native ? s->native->class->event_common : cw_context(w, s->layout);
}

/* SPEC ctf/own-id: the id of a row is the event's own context */
static const struct ctf_field *id_context(struct cw *w)
{
	struct ctf_field *s = cw_struct(w, 1);

	if (s)
		cw_member(w, s, "id", cw_int(w, 64, false, 16));
	w->no_memory |= !s;
	return s;
}

bool meta_event_get(struct cw *w, struct cw_event *e, struct meta_event *m)
{
	*m = (struct meta_event){ .level = -1 };
	if (e->native) {
		m->name = e->native->name ? e->native->name : "";
		m->uri = e->native->emf_uri;
		m->level = e->native->log_level;
		m->specific = e->native->specific;
		m->payload = e->native->payload;
		return true;
	}
	m->name = cw_event_name(w, e);
	m->specific = e->key.has_id ? id_context(w) : NULL;
	m->payload = cw_fields(w, e);
	m->uri = m->payload ? cw_event_uri(w, e, m->payload) : NULL;
	w->no_memory |= !m->name || !m->uri || !m->payload;
	return !w->no_memory;
}

static struct meta_env *env_source(struct cw *w, size_t *n)
{
	const struct ctf_meta *m = w->ctf->traces[0].meta;
	struct meta_env *env = arena_alloc(&w->arena, (m->nenv + 1) * sizeof(*env));

	*n = 0;
	w->no_memory |= !env;
	/* Of several processes' traces, each event has its process. */
	for (size_t i = 0; env && i < m->nenv; i++)
		if (w->ctf->ntraces < 2 || w->ctf->traces[0].pid < 0 ||
		    (strcmp(m->env[i].key, "vpid") != 0 && strcmp(m->env[i].key, "procname") != 0))
			env[(*n)++] = (struct meta_env){ m->env[i].key,
							 m->env[i].is_text ? m->env[i].text : NULL,
							 m->env[i].number };
	return env;
}

/* SPEC ctf/own-env: what LTTng says where its layout is asked for */
static void env_lttng(struct meta_env *env, size_t *n)
{
	env[(*n)++] = (struct meta_env){ "domain", "ust", 0 };
	env[(*n)++] = (struct meta_env){ "tracer_name", "lttng-ust", 0 };
	env[(*n)++] = (struct meta_env){ "tracer_major", NULL, 2 };
	env[(*n)++] = (struct meta_env){ "tracer_minor", NULL, 13 };
	env[(*n)++] = (struct meta_env){ "tracer_buffering_scheme", "uid", 0 };
	env[(*n)++] = (struct meta_env){ "tracer_buffering_id", NULL, 0 };
	env[(*n)++] = (struct meta_env){ "architecture_bit_width", NULL, 64 };
	env[(*n)++] = (struct meta_env){ "trace_name", "spur", 0 };
}

struct meta_env *meta_env_get(struct cw *w, size_t *n)
{
	const struct spur_trace *t = w->trace;
	struct meta_env *env;

	if (w->ctf)
		return env_source(w, n);
	*n = 0;
	env = arena_alloc(&w->arena, ENV_OWN * sizeof(*env));
	w->no_memory |= !env;
	if (!env)
		return NULL;
	for (size_t i = 0; i < t->ninfo && !*n; i++)
		if (strcmp(t->info[i].key, "hostname") == 0)
			env[(*n)++] = (struct meta_env){ "hostname", t->info[i].value, 0 };
	if (w->lttng)
		env_lttng(env, n);
	else
		env[(*n)++] = (struct meta_env){ "tracer_name", "spur", 0 };
	return env;
}

struct meta_clock meta_clock_get(const struct cw *w)
{
	const struct ctf_clock *from = w->ctf ? w->ctf->first_clock : NULL;
	const struct clock_info *info = &w->trace->clock;
	const int64_t second = 1000000000;
	struct meta_clock c = { .epoch = info->epoch_known };
	const __int128 at = (__int128)w->write->zero + (info->epoch_known ? info->epoch_ns : 0);

	c.seconds = (int64_t)(at / second);
	if (at % second < 0)
		c.seconds--;
	c.cycles = (uint64_t)(at - (__int128)c.seconds * second);
	if (from && from->has_uuid)
		meta_uuid(from->uuid, c.uuid);
	c.description = from && from->description ? from->description
			: from			  ? ""
			: info->derived		  ? info->derived
						  : "";
	return c;
}

void meta_uuid(const uint8_t u[16], char text[META_UUID])
{
	snprintf(text, META_UUID,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
		 u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
		 u[15]);
}
