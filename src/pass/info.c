/*
 * info: what the trace is and what is in it, as text or as one JSON object (docs/jsonl.md).
 * Reads all rows to count them; looks at no arguments.
 */
#include <stdio.h>

#include "flow/join_map.h"
#include "pass/fold/count.h"
#include "pass/pass.h"
#include "render/diag.h"
#include "render/when.h"

enum { KEY_WIDTH = 18 };

struct info {
	struct pass_env *env;
	struct spur_trace *trace;
	struct out *out;
	struct counts counts;
	uint64_t records, discarded, lost_packets, bytes;
	uint64_t processes, threads;
	uint32_t *order; /* of tracks; for JSON */
	size_t norder;
};

/* A part of the trace counts the events that its producer discarded. */
static bool counts_discarded(const struct spur_trace *t)
{
	bool counts = t->format->counts_discarded;

	for (size_t i = 0; i < t->nparts; i++)
		counts |= counts_discarded(t->parts[i].trace);
	return counts;
}

static void info_sum_read(struct info *i, const struct spur_trace *t)
{
	i->records += t->read.records;
	i->discarded += t->read.discarded;
	i->lost_packets += t->read.lost_packets;
	for (size_t k = 0; k < t->nparts; k++)
		info_sum_read(i, t->parts[k].trace);
}

static void info_sum(struct info *i)
{
	const struct spur_trace *t = i->trace;

	info_sum_read(i, t);
	for (size_t k = 0; k < t->nstreams; k++)
		i->bytes += t->streams[k].size;
	for (size_t k = 0; k < t->ntracks; k++) {
		i->processes += trace_track_kind(t, (uint32_t)k) == SPUR_TRACK_PROCESS;
		i->threads += trace_track_kind(t, (uint32_t)k) == SPUR_TRACK_THREAD;
	}
}

static void json_text(struct out *o, const char *key, const char *s)
{
	out_printf(o, ",\"%s\":", key);
	if (s)
		out_json(o, s, strlen(s));
	else
		out_str(o, "null");
}

static void json_number(struct out *o, const char *key, uint64_t n)
{
	out_printf(o, ",\"%s\":%llu", key, (unsigned long long)n);
}

static void json_clock(struct info *i)
{
	const struct clock_info *c = &i->trace->clock;
	struct out *o = i->out;

	out_str(o, ",\"clock\":{\"name\":");
	out_json(o, c->name ? c->name : "unknown", strlen(c->name ? c->name : "unknown"));
	json_text(o, "derived", c->derived);
	json_number(o, "hz", c->hz);
	if (c->epoch_known) {
		out_str(o, ",\"epoch_ns\":");
		out_i64(o, c->epoch_ns);
		out_str(o, ",\"epoch_error_ns\":");
		out_i64(o, c->epoch_error_ns);
	} else {
		out_str(o, ",\"epoch_ns\":null,\"epoch_error_ns\":null");
	}
	out_char(o, '}');
}

/* Of a process or thread: 64 bits, unsigned. */
static void json_id(struct out *o, int64_t id)
{
	if (id == -1)
		out_str(o, "null");
	else
		out_u64(o, (uint64_t)id);
}

static void json_info(struct out *o, const struct spur_trace *t)
{
	out_str(o, ",\"info\":{");
	for (size_t k = 0; k < t->ninfo; k++) {
		out_str(o, k ? "," : "");
		out_json(o, t->info[k].key, strlen(t->info[k].key));
		out_char(o, ':');
		out_json(o, t->info[k].value, t->info[k].len);
	}
	out_char(o, '}');
}

static void json_lists(struct info *i)
{
	const struct spur_trace *t = i->trace;
	struct out *o = i->out;
	bool any = false;

	out_str(o, ",\"stream_list\":[");
	for (size_t k = 0; k < t->nstreams; k++) {
		out_str(o, k ? ",{\"path\":" : "{\"path\":");
		out_json(o, t->streams[k].path, strlen(t->streams[k].path));
		json_number(o, "size", t->streams[k].size);
		json_number(o, "events", count_of(&i->counts.streams, k).events);
		out_char(o, '}');
	}
	out_str(o, "],\"thread_list\":[");
	for (size_t n = 0; n < i->norder; n++) {
		const uint32_t k = i->order[n];
		const struct spur_track *track = trace_track(t, k);
		size_t len;
		const char *name = trace_string(t, track->name, &len);

		if (trace_track_kind(t, k) != SPUR_TRACK_THREAD)
			continue;
		out_str(o, any ? ",{\"pid\":" : "{\"pid\":");
		json_id(o, track->pid);
		out_str(o, ",\"tid\":");
		json_id(o, track->tid);
		out_str(o, ",\"name\":");
		out_json(o, name, len);
		json_number(o, "events", count_of(&i->counts.tracks, k).events);
		out_char(o, '}');
		any = true;
	}
	out_char(o, ']');
	json_info(o, t);
}

/* The process of a member of a run; -1: unknown. */
static int64_t member_pid(const struct spur_trace *member)
{
	for (uint32_t k = 0; k < member->ntracks; k++)
		if (trace_track_kind(member, k) == SPUR_TRACK_PROCESS)
			return trace_track(member, k)->pid;
	return -1;
}

/* The members of a run say things of their own. */
static bool has_members(const struct spur_trace *t)
{
	return t->one_run && t->nparts && t->parts[0].trace->format->run_info;
}

static void json_members(struct info *i)
{
	const struct spur_trace *t = i->trace;
	struct out *o = i->out;

	out_str(o, ",\"members\":[");
	for (size_t k = 0; k < t->nparts; k++) {
		const struct spur_trace *member = t->parts[k].trace;

		out_str(o, k ? ",{\"path\":" : "{\"path\":");
		out_json(o, member->path, strlen(member->path));
		out_str(o, ",\"pid\":");
		json_id(o, member_pid(member));
		json_number(o, "discarded", member->read.discarded);
		json_info(o, member);
		out_char(o, '}');
	}
	out_char(o, ']');
}

static void info_json(struct info *i)
{
	const struct spur_trace *t = i->trace;
	const struct count_cell *all = &i->counts.all;
	struct out *o = i->out;

	out_json_head(o, "info");
	json_text(o, "format", t->format->name);
	json_text(o, "version", t->version);
	json_text(o, "byte_order", t->byte_order);
	json_clock(i);
	if (all->events)
		out_printf(o, ",\"start\":%lld,\"end\":%lld", (long long)all->first,
			   (long long)all->last);
	else
		out_str(o, ",\"start\":null,\"end\":null");
	json_number(o, "events", all->events);
	json_number(o, "records", i->records);
	json_number(o, "streams", t->nstreams);
	json_number(o, "tracks", t->ntracks);
	json_number(o, "processes", i->processes);
	json_number(o, "threads", i->threads);
	if (counts_discarded(t))
		json_number(o, "discarded", i->discarded);
	else
		out_str(o, ",\"discarded\":null");
	if (i->lost_packets)
		json_number(o, "lost_packets", i->lost_packets);
	out_str(o, ",\"damage\":");
	diag_json_list(o, &t->joined, DIAG_DAMAGE);
	out_str(o, ",\"warnings\":");
	diag_json_list(o, &t->joined, DIAG_WARN);
	out_str(o, ",\"notes\":");
	diag_json_list(o, &t->joined, DIAG_NOTE);
	json_lists(i);
	if (t->nparts && !t->one_run) {
		out_str(o, ",\"traces\":");
		join_clock_json(t, o);
	}
	if (has_members(t))
		json_members(i);
	out_str(o, "}\n");
}

static void text_key(struct out *o, const char *key)
{
	const size_t n = strlen(key);

	out_safe(o, key, n);
	out_pad(o, ' ', n < KEY_WIDTH ? KEY_WIDTH - n : 1);
}

/* With commas between thousands, unless --raw. */
static void text_count(struct info *i, const char *key, uint64_t n, const char *behind)
{
	char digits[24];
	const size_t len = (size_t)(put_u64(digits, n) - digits);

	text_key(i->out, key);
	for (size_t k = 0; k < len; k++) {
		if (k && (len - k) % 3 == 0 && !i->env->opt->raw)
			out_char(i->out, ',');
		out_char(i->out, digits[k]);
	}
	out_str(i->out, behind);
	out_char(i->out, '\n');
}

static void text_time(struct info *i, const char *key, int64_t ts)
{
	struct when w = { .how = TIME_RAW };
	char buf[WHEN_ROOM];

	text_key(i->out, key);
	if (!i->env->opt->raw && when_init(&w, i->trace, TIME_ABS, NULL) != SPUR_OK)
		return;
	out_bytes(i->out, buf, (size_t)(put_when(buf, &w, ts, 0) - buf));
	if (w.dates && i->trace->clock.epoch_error_ns) {
		out_str(i->out, ", off by up to ");
		out_seconds(i->out, i->trace->clock.epoch_error_ns);
		out_str(i->out, " s");
	}
	out_char(i->out, '\n');
}

static void text_times(struct info *i)
{
	const struct count_cell *all = &i->counts.all;
	const uint64_t ns = (uint64_t)all->last - (uint64_t)all->first;

	if (!all->events)
		return;
	text_time(i, "start", all->first);
	text_time(i, "end", all->last);
	text_key(i->out, "duration");
	if (i->env->opt->raw)
		out_u64(i->out, ns);
	else
		out_seconds(i->out, ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
	out_str(i->out, i->env->opt->raw ? "\n" : " s\n");
}

static void text_clock(struct info *i)
{
	const struct clock_info *c = &i->trace->clock;

	text_key(i->out, "clock");
	out_str(i->out, c->name ? c->name : "unknown");
	if (c->derived) {
		out_str(i->out, " (");
		out_safe(i->out, c->derived, strlen(c->derived));
		out_char(i->out, ')');
	}
	out_char(i->out, '\n');
}

/* What each member says, a line each. */
static void text_members(struct info *i)
{
	const struct spur_trace *t = i->trace;
	struct out *o = i->out;

	for (size_t n = 0; n < t->nparts; n++) {
		const struct spur_trace *member = t->parts[n].trace;
		char key[32];

		snprintf(key, sizeof(key), "process %lld", (long long)member_pid(member));
		text_key(o, key);
		for (size_t k = 0; k < member->ninfo; k++) {
			out_printf(o, "%s ", member->info[k].key);
			out_safe(o, member->info[k].value, member->info[k].len);
			out_str(o, ", ");
		}
		out_printf(o, "%llu events discarded\n",
			   (unsigned long long)member->read.discarded);
	}
}

static void info_text(struct info *i)
{
	const struct spur_trace *t = i->trace;
	struct out *o = i->out;

	text_key(o, "format");
	out_str(o, t->format->name);
	if (t->version && t->version[0])
		out_printf(o, " %s", t->version);
	if (t->byte_order && t->byte_order[0])
		out_printf(o, ", %s-endian", t->byte_order);
	out_char(o, '\n');
	text_clock(i);
	text_times(i);
	text_count(i, "events", i->counts.all.events, "");
	text_count(i, "records", i->records, "");
	text_count(i, "streams", t->nstreams, "");
	text_count(i, "bytes", i->bytes, "");
	text_count(i, "processes", i->processes, "");
	text_count(i, "threads", i->threads, "");
	text_count(i, "tracks", t->ntracks, "");
	if (counts_discarded(t))
		text_count(i, "discarded", i->discarded, " events, as the recorder says");
	if (i->lost_packets)
		text_count(i, "lost packets", i->lost_packets, ", as their numbers say");
	text_count(i, "damage", diag_count(&t->joined, DIAG_DAMAGE), " places");
	if (diag_count(&t->joined, DIAG_DAMAGE))
		text_count(i, "bytes lost", diag_bytes_lost(&t->joined), "");
	for (size_t k = 0; k < t->ninfo; k++) {
		text_key(o, t->info[k].key);
		out_safe(o, t->info[k].value, t->info[k].len);
		out_char(o, '\n');
	}
	if (has_members(t))
		text_members(i);
}

static enum spur_status info_run(struct pass_env *env)
{
	const bool json = env->opt->form == FORM_JSON;
	struct info i = { .env = env, .trace = env->trace, .out = env->out };
	enum spur_status st = counts_run(env, json ? COUNT_CELLS : COUNT_TRACKS, &i.counts);

	if (st == SPUR_OK && json && !(i.order = trace_track_order(env->trace, &i.norder)))
		st = err_nomem(env->err);
	if (st == SPUR_OK) {
		trace_join_diag(env->trace);
		info_sum(&i);
		if (json)
			info_json(&i);
		else
			info_text(&i);
	}
	mem_free(i.order);
	counts_free(&i.counts);
	return st;
}

const struct spur_pass spur_pass_info = {
	.name = "info",
	.sessions = true,
	.run = info_run,
};
