/*
 * stats: how many events there are of each kind, in each stream, on each track, and what is
 * damaged. As text, as one JSON object, or as CSV with one line a count. Looks at no arguments.
 */
#include "pass/fold/count.h"
#include "pass/pass.h"
#include "render/diag.h"

enum { COUNT_WIDTH = 14 };

struct stats {
	struct pass_env *env;
	struct spur_trace *trace;
	struct out *out;
	struct counts counts;
	uint32_t *order; /* of tracks */
	size_t norder;
};

static void text_cell(struct out *o, uint64_t n)
{
	char *w = out_room(o, 32);

	if (w)
		o->len += (size_t)(put_u64_w(w, n, COUNT_WIDTH) - w);
	out_str(o, "  ");
}

static const char *kind_name(const struct stats *s, uint32_t track)
{
	static const char *const kinds[] = {
		[SPUR_TRACK_PROCESS] = "process", [SPUR_TRACK_THREAD] = "thread",
		[SPUR_TRACK_CPU] = "cpu",	  [SPUR_TRACK_ASYNC] = "async",
		[SPUR_TRACK_COUNTER] = "counter", [SPUR_TRACK_OTHER] = "other",
	};
	const enum spur_track_kind kind = trace_track_kind(s->trace, track);

	return kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[kind] : "other";
}

static void text_track(struct stats *s, uint32_t track)
{
	const struct spur_track *k = trace_track(s->trace, track);
	size_t len;
	const char *name = trace_string(s->trace, k->name, &len);

	out_printf(s->out, "%-8s", kind_name(s, track));
	if (k->pid != -1)
		out_printf(s->out, " pid %llu", (unsigned long long)k->pid);
	if (k->tid != -1)
		out_printf(s->out, " tid %llu", (unsigned long long)k->tid);
	if (k->cpu >= 0)
		out_printf(s->out, " cpu %d", k->cpu);
	out_char(s->out, ' ');
	out_safe(s->out, name, len);
	out_char(s->out, '\n');
}

static void text_damage(struct stats *s)
{
	const struct diag_log *log = &s->trace->joined;

	out_str(s->out, "\ndamage, warnings, notes\n");
	for (size_t i = 0; i < diag_groups(log); i++) {
		const struct diag_group *g = diag_at(log, i);

		text_cell(s->out, g->count);
		out_printf(s->out, "%-8s %s ", diag_level_name(g->level), g->code);
		out_safe(s->out, g->file, strlen(g->file));
		if (g->bytes_lost)
			out_printf(s->out, ", %llu bytes lost", (unsigned long long)g->bytes_lost);
		out_char(s->out, '\n');
	}
	if (!diag_groups(log))
		out_str(s->out, "             0\n");
}

static void stats_text(struct stats *s)
{
	struct out *o = s->out;

	out_str(o, "events by kind\n");
	for (unsigned k = 0; k < SPUR_KINDS; k++)
		if (s->counts.kinds[k]) {
			text_cell(o, s->counts.kinds[k]);
			out_str(o, spur_kind_name(k));
			out_char(o, '\n');
		}
	text_cell(o, s->counts.all.events);
	out_str(o, "all\n\nevents by stream\n");
	for (size_t i = 0; i < s->trace->nstreams; i++) {
		text_cell(o, count_of(&s->counts.streams, i).events);
		out_safe(o, s->trace->streams[i].path, strlen(s->trace->streams[i].path));
		out_printf(o, " (%llu bytes)\n", (unsigned long long)s->trace->streams[i].size);
	}
	out_str(o, "\nevents by track\n");
	for (size_t i = 0; i < s->norder; i++) {
		const struct count_cell c = count_of(&s->counts.tracks, s->order[i]);

		if (c.events) {
			text_cell(o, c.events);
			text_track(s, s->order[i]);
		}
	}
	text_damage(s);
}

static void json_span(struct out *o, const struct count_cell *c)
{
	out_printf(o, ",\"events\":%llu", (unsigned long long)c->events);
	if (c->events)
		out_printf(o, ",\"first\":%lld,\"last\":%lld", (long long)c->first,
			   (long long)c->last);
	out_char(o, '}');
}

static void json_tracks(struct stats *s)
{
	struct out *o = s->out;

	for (size_t i = 0; i < s->norder; i++) {
		const struct spur_track *k = trace_track(s->trace, s->order[i]);
		const struct count_cell c = count_of(&s->counts.tracks, s->order[i]);
		size_t len;
		const char *name = trace_string(s->trace, k->name, &len);

		out_printf(o, "%s{\"kind\":\"%s\",\"name\":", i ? "," : "",
			   kind_name(s, s->order[i]));
		out_json(o, name, len);
		if (k->pid != -1)
			out_printf(o, ",\"pid\":%llu", (unsigned long long)k->pid);
		if (k->tid != -1)
			out_printf(o, ",\"tid\":%llu", (unsigned long long)k->tid);
		if (k->cpu >= 0)
			out_printf(o, ",\"cpu\":%d", k->cpu);
		json_span(o, &c);
	}
}

static void stats_json(struct stats *s)
{
	struct out *o = s->out;
	bool any = false;

	out_json_head(o, "stats");
	out_printf(o, ",\"events\":%llu,\"kinds\":{", (unsigned long long)s->counts.all.events);
	for (unsigned k = 0; k < SPUR_KINDS; k++)
		if (s->counts.kinds[k]) {
			out_printf(o, "%s\"%s\":%llu", any ? "," : "", spur_kind_name(k),
				   (unsigned long long)s->counts.kinds[k]);
			any = true;
		}
	out_str(o, "},\"streams\":[");
	for (size_t i = 0; i < s->trace->nstreams; i++) {
		const struct count_cell c = count_of(&s->counts.streams, i);

		out_str(o, i ? ",{\"path\":" : "{\"path\":");
		out_json(o, s->trace->streams[i].path, strlen(s->trace->streams[i].path));
		out_printf(o, ",\"size\":%llu", (unsigned long long)s->trace->streams[i].size);
		json_span(o, &c);
	}
	out_str(o, "],\"tracks\":[");
	json_tracks(s);
	out_str(o, "],\"damage\":");
	diag_json_list(o, &s->trace->joined, DIAG_DAMAGE);
	out_str(o, ",\"warnings\":");
	diag_json_list(o, &s->trace->joined, DIAG_WARN);
	out_str(o, ",\"notes\":");
	diag_json_list(o, &s->trace->joined, DIAG_NOTE);
	out_str(o, "}\n");
}

static void csv_number(struct out *o, int64_t n)
{
	out_char(o, ',');
	if (n >= 0)
		out_i64(o, n);
}

/* "of" is the file of a diagnostic. */
static void stats_csv(struct stats *s)
{
	struct out *o = s->out;

	out_str(o, "what,name,of,pid,tid,count,bytes\n");
	for (unsigned k = 0; k < SPUR_KINDS; k++)
		if (s->counts.kinds[k])
			out_printf(o, "kind,%s,,,,%llu,\n", spur_kind_name(k),
				   (unsigned long long)s->counts.kinds[k]);
	for (size_t i = 0; i < s->trace->nstreams; i++) {
		out_str(o, "stream,");
		out_csv(o, s->trace->streams[i].path, strlen(s->trace->streams[i].path));
		out_printf(o, ",,,,%llu,%llu\n",
			   (unsigned long long)count_of(&s->counts.streams, i).events,
			   (unsigned long long)s->trace->streams[i].size);
	}
	for (size_t i = 0; i < s->norder; i++) {
		const struct spur_track *k = trace_track(s->trace, s->order[i]);
		size_t len;
		const char *name = trace_string(s->trace, k->name, &len);

		out_printf(o, "%s,", kind_name(s, s->order[i]));
		out_csv(o, name, len);
		out_char(o, ',');
		csv_number(o, k->pid);
		csv_number(o, k->tid);
		out_printf(o, ",%llu,\n",
			   (unsigned long long)count_of(&s->counts.tracks, s->order[i]).events);
	}
	for (size_t i = 0; i < diag_groups(&s->trace->joined); i++) {
		const struct diag_group *g = diag_at(&s->trace->joined, i);

		out_printf(o, "%s,%s,", diag_level_name(g->level), g->code);
		out_csv(o, g->file, strlen(g->file));
		out_printf(o, ",,,%llu,%llu\n", (unsigned long long)g->count,
			   (unsigned long long)g->bytes_lost);
	}
}

static enum spur_status stats_run(struct pass_env *env)
{
	struct stats s = { .env = env, .trace = env->trace, .out = env->out };
	enum spur_status st = counts_run(env, COUNT_CELLS, &s.counts);

	if (st == SPUR_OK && !(s.order = trace_track_order(env->trace, &s.norder)))
		st = err_nomem(env->err);
	if (st == SPUR_OK) {
		trace_join_diag(env->trace);
		if (env->opt->form == FORM_JSON)
			stats_json(&s);
		else if (env->opt->form == FORM_CSV)
			stats_csv(&s);
		else
			stats_text(&s);
		if (!s.counts.all.events && env->filter && !(env->pipe.stop && *env->pipe.stop))
			st = SPUR_WARN;
	}
	mem_free(s.order);
	counts_free(&s.counts);
	return st;
}

const struct spur_pass spur_pass_stats = {
	.name = "stats",
	.run = stats_run,
};
