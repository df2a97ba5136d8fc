/* Text files of the uftrace writer: info, task.txt, the map, symbols, debug data, events. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/bits.h"
#include "format/uftrace/data.h"
#include "format/uftrace/writing.h"

static const char sid[] = "5370757200000001"; /* "Spur" and a number; all processes share one map */

/* --- info --- */

static bool has_perf(const struct uft *u)
{
	return u->switches.count != 0;
}

/* The name of a process's program. */
static const char *program_of(const struct uft *u, const struct uft_task *t, size_t *len)
{
	return trace_string(u->trace, write_track(u->write, t->process)->name, len);
}

/* A fact that the source states about itself, or NULL. */
static const char *fact_of(const struct spur_trace *t, const char *key, size_t *len)
{
	*len = 0;
	for (size_t i = 0; i < t->ninfo; i++)
		if (strcmp(t->info[i].key, key) == 0) {
			*len = t->info[i].len;
			return t->info[i].value;
		}
	return NULL;
}

/* The name that the recorder's option --clock has for the clock, or NULL for its default. */
static const char *clock_option(const struct spur_trace *t)
{
	static const char *const names[][2] = {
		{ "realtime", "realtime" },
		{ "monotonic raw", "mono_raw" },
		{ "boottime", "boot" },
	};

	for (size_t i = 0; i < 3; i++)
		if (strcmp(t->clock.name, names[i][0]) == 0)
			return names[i][1];
	return NULL;
}

/* SPEC uftrace/info-text: the clock is known by the recorder's command line alone */
static bool command_out(const struct uft *u, struct out *o)
{
	const char *clock = clock_option(u->trace);
	size_t len;
	const char *line = fact_of(u->trace, "command line", &len);

	if (!line && !clock)
		return false;
	out_str(o, "cmdline:");
	if (clock)
		out_printf(o, "uftrace record --clock=%s%s", clock, line ? " " : "");
	if (line)
		uft_text_out(o, line, len, false);
	out_char(o, '\n');
	return true;
}

static bool epoch_of(const struct uft *u, int64_t *seconds)
{
	const struct clock_info *c = &u->trace->clock;
	int64_t ns;

	if (!c->epoch_known || __builtin_add_overflow(c->epoch_ns, u->write->zero, &ns))
		return false;
	*seconds = ns / 1000000000 + (ns % 1000000000 >= 500000000);
	return *seconds > 0;
}

/* As ctime() writes it, in UTC. */
static void date_out(int64_t seconds, struct out *o)
{
	static const char days[] = "SunMonTueWedThuFriSat",
			  months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	const time_t t = (time_t)seconds;
	struct tm tm;

	if (gmtime_r(&t, &tm))
		out_printf(o, "%.3s %.3s %2d %02d:%02d:%02d %d", days + 3 * tm.tm_wday,
			   months + 3 * tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
			   tm.tm_year + 1900);
}

static void times_of(const struct uft *u, uint64_t *first, uint64_t *last)
{
	*first = UINT64_MAX;
	*last = 0;
	for (size_t i = 0; i < u->ntasks; i++) {
		*first = u->tasks[i].first < *first ? u->tasks[i].first : *first;
		*last = u->tasks[i].last > *last ? u->tasks[i].last : *last;
	}
	*first = *first < *last ? *first : *last;
}

static uint64_t info_lines(struct uft *u, const struct uft_plan *p, struct out *o)
{
	uint64_t bits = 1u << UFTRACE_TASKINFO | 1u << UFTRACE_PATTERN_TYPE | 1u << UFTRACE_VERSION;
	uint64_t first, last;
	int64_t epoch;
	size_t len;
	const char *program = program_of(u, &u->tasks[0], &len);

	times_of(u, &first, &last);
	if (len) {
		bits |= 1u << UFTRACE_EXE_NAME;
		out_str(o, "exename:");
		uft_text_out(o, program, len, false);
		out_char(o, '\n');
	}
	if (command_out(u, o))
		bits |= 1u << UFTRACE_CMDLINE;
	out_printf(o, "taskinfo:lines=2\ntaskinfo:nr_tid=%zu\ntaskinfo:tids=", u->ntasks);
	for (size_t i = 0; i < u->ntasks; i++)
		out_printf(o, "%s%d", i ? "," : "", u->tasks[i].tid);
	out_char(o, '\n');
	if (p->has_args) {
		bits |= 1u << UFTRACE_ARG_SPEC;
		out_str(o, "argspec:lines=1\nauto-args:1\n");
	}
	if (epoch_of(u, &epoch)) {
		bits |= 1u << UFTRACE_RECORD_DATE | 1u << UFTRACE_UTC_OFFSET;
		out_str(o, "record_date:");
		date_out(epoch + (int64_t)(last / 1000000000), o);
		out_str(o, "\nelapsed_time:");
		out_seconds(o, (int64_t)(last - first));
		out_str(o, " sec\n");
	}
	out_str(o, "pattern_type:regex\nuftrace_version:spur " SPUR_VERSION "\n");
	if (bits >> UFTRACE_UTC_OFFSET & 1)
		out_printf(o, "utc_offset:%lld\n", (long long)epoch);
	return bits;
}

/* SPEC uftrace/info-text: header and lines */
static bool info_write(struct uft *u, const struct uft_plan *p, uint64_t events)
{
	const uint32_t levels = u->deepest + 1 > 1024 ? u->deepest + 1 : 1024;
	uint8_t head[INFO_HEADER] = "Ftrace!";
	uint64_t features =
		1u << UFTRACE_TASK_SESSION | 1u << UFTRACE_SYM_REL_ADDR | 1u << UFTRACE_MAX_STACK;
	struct out lines, o;
	uint64_t bits;
	bool good;

	out_to_memory(&o);
	out_to_memory(&lines);
	bits = info_lines(u, p, &lines);
	if (p->has_args)
		features |= 1u << UFTRACE_ARGUMENT | 1u << UFTRACE_RETVAL |
			    1u << UFTRACE_AUTO_ARGS | 1u << UFTRACE_DEBUG_INFO;
	if (has_perf(u))
		features |= 1u << UFTRACE_PERF_EVENT;
	if (events)
		features |= 1u << UFTRACE_EVENT;
	wire_store(head + INFO_AT_VERSION, 4, 4, false);
	wire_store(head + INFO_AT_SIZE, INFO_HEADER, 2, false);
	head[INFO_AT_ORDER] = 1;
	head[INFO_AT_CLASS] = 2;
	wire_store(head + INFO_AT_FEATURES, features, 8, false);
	wire_store(head + INFO_AT_LINES, bits, 8, false);
	wire_store(head + INFO_AT_LEVELS, levels < UINT16_MAX ? levels : UINT16_MAX, 2, false);
	good = !lines.error && uft_file_begin(u, "info", &o);
	if (good) {
		out_bytes(&o, head, sizeof(head));
		out_bytes(&o, lines.buf, lines.len);
	}
	out_free(&lines);
	return uft_file_end(u, "info", &o, good);
}

/* --- task.txt --- */

static void stamp_out(const char *kind, uint64_t time, struct out *o)
{
	out_printf(o, "%s timestamp=%llu.%09llu", kind, (unsigned long long)(time / 1000000000),
		   (unsigned long long)(time % 1000000000));
}

static int pid_order(const void *a, const void *b)
{
	const struct uft_task *x = *(struct uft_task *const *)a, *y = *(struct uft_task *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void session_out(const struct uft *u, const struct uft_task *t, uint64_t start,
			struct out *o)
{
	size_t len;
	const char *program = program_of(u, t, &len);

	stamp_out("SESS", start, o);
	out_printf(o, " pid=%d sid=%s exename=\"", t->pid, sid);
	uft_text_out(o, program, len, false);
	out_str(o, "\"\n");
}

/* SPEC uftrace/session-choice: a process has a session from its threads' first record on */
static bool tasks_write(struct uft *u)
{
	struct uft_task **by = mem_array(u->ntasks, sizeof(struct uft_task *));
	struct out o;
	bool good = by && uft_file_begin(u, "task.txt", &o);

	for (size_t i = 0; good && i < u->ntasks; i++)
		by[i] = &u->tasks[i];
	if (good)
		qsort(by, u->ntasks, sizeof(struct uft_task *), pid_order);
	for (size_t i = 0; good && i < u->ntasks;) {
		uint64_t start = UINT64_MAX;
		size_t end = i;

		for (; end < u->ntasks && by[end]->pid == by[i]->pid; end++)
			start = by[end]->first < start ? by[end]->first : start;
		start = start == UINT64_MAX ? 0 : start;
		session_out(u, by[i], start, &o);
		for (; i < end; i++) {
			stamp_out("TASK", start, &o);
			out_printf(&o, " tid=%d pid=%d\n", by[i]->tid, by[i]->pid);
		}
	}
	mem_free(by);
	return by && uft_file_end(u, "task.txt", &o, good);
}

/* --- modules --- */

/* SPEC uftrace/map-lines */
static bool map_write(struct uft *u, const struct uft_plan *p)
{
	char name[40];
	struct out o;
	bool good;

	snprintf(name, sizeof(name), "sid-%s.map", sid);
	good = uft_file_begin(u, name, &o);
	for (size_t i = 0; good && i < p->nmodules; i++)
		out_printf(&o,
			   "%012llx-%012llx r-xp 00000000 00:00 0                          %s\n",
			   (unsigned long long)p->modules[i].base,
			   (unsigned long long)(p->modules[i].base + p->modules[i].end),
			   p->modules[i].path);
	if (good)
		out_str(&o, "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                      "
			    "    [stack]\n");
	return uft_file_end(u, name, &o, good);
}

static int rel_order(const void *a, const void *b)
{
	const struct uft_symbol *x = *(struct uft_symbol *const *)a,
				*y = *(struct uft_symbol *const *)b;

	return x->rel < y->rel ? -1 : x->rel > y->rel;
}

/* SPEC uftrace/sym-size: without sizes, as all versions of uftrace read it */
static bool symbols_write(struct uft *u, const struct uft_module *m, struct uft_symbol *const *by,
			  size_t n)
{
	char name[260];
	struct out o;
	bool good;

	snprintf(name, sizeof(name), "%s.sym", m->file);
	good = uft_file_begin(u, name, &o);
	if (good)
		out_printf(&o, "# symbols: %zu\n# path name: %s\n", n, m->path);
	for (size_t i = 0; good && i < n; i++) {
		out_printf(&o, "%016llx T ", (unsigned long long)by[i]->rel);
		uft_name_out(u, by[i], &o);
		out_char(&o, '\n');
	}
	if (good)
		out_printf(&o, "%016llx ? __sym_end\n", (unsigned long long)m->end);
	return uft_file_end(u, name, &o, good);
}

/* SPEC uftrace/arg-spec, and in a comment the arguments' names (SPEC uftrace/arg-names) */
static void specs_out(const struct uft *u, const struct uft_symbol *s, struct out *o)
{
	const bool ret = s->use == USE_RETURN;

	out_str(o, ret ? "R: @" : "A: @");
	for (unsigned i = 0; i < s->nargs; i++) {
		if (ret)
			out_str(o, "retval");
		else
			out_printf(o, "%sarg%u", i ? "," : "", i + 1);
		out_printf(o, "/%c", s->args[i].letter);
		if (s->args[i].bits)
			out_printf(o, "%u", s->args[i].bits);
	}
	out_str(o, ret ? "\n#R: " : "\n#A: ");
	for (unsigned i = 0; i < s->nargs; i++) {
		size_t len;
		const char *name = trace_string(u->trace, s->args[i].name, &len);

		if (i)
			out_char(o, ',');
		uft_text_out(o, name, len, true);
	}
	out_char(o, '\n');
}

static bool debug_write(struct uft *u, const struct uft_module *m, struct uft_symbol *const *by,
			size_t n)
{
	char name[260];
	struct out o;
	bool good;

	snprintf(name, sizeof(name), "%s.dbg", m->file);
	good = uft_file_begin(u, name, &o);
	if (good)
		out_printf(&o, "# path name: %s\n", m->path);
	for (size_t i = 0; good && i < n; i++) {
		if (!by[i]->nargs)
			continue;
		out_printf(&o, "F: %llx ", (unsigned long long)by[i]->rel);
		uft_name_out(u, by[i], &o);
		out_char(&o, '\n');
		specs_out(u, by[i], &o);
	}
	return uft_file_end(u, name, &o, good);
}

static bool module_write(struct uft *u, const struct uft_plan *p, const struct uft_module *m)
{
	struct uft_symbol **by = mem_array(m->count, sizeof(struct uft_symbol *));
	bool has_args = false, good;
	size_t n = 0;

	if (!by)
		return false;
	for (size_t i = m->first; i < m->first + m->count; i++) {
		if (p->order[i]->same)
			continue;
		by[n++] = p->order[i];
		has_args = has_args || p->order[i]->nargs;
	}
	qsort(by, n, sizeof(struct uft_symbol *), rel_order);
	good = symbols_write(u, m, by, n) && (!has_args || debug_write(u, m, by, n));
	mem_free(by);
	return good;
}

/* --- events.txt --- */

static const char *kind_suffix(unsigned kind)
{
	switch (kind) {
	case SPUR_ASYNC_BEGIN:
	case SPUR_FLOW_BEGIN:
		return ".begin";
	case SPUR_ASYNC_INSTANT:
		return ".instant";
	case SPUR_FLOW_STEP:
		return ".step";
	case SPUR_ASYNC_END:
	case SPUR_FLOW_END:
		return ".end";
	default:
		return "";
	}
}

/* A word of an event's name, which ends at a blank or a colon. */
static void word_out(const char *s, size_t len, struct out *o)
{
	for (size_t i = 0; i < len; i++)
		out_char(o, (uint8_t)s[i] <= ' ' || s[i] == ':' || s[i] == 0x7f ? '_' : s[i]);
}

/* SPEC uftrace/made-events: user events, named by category and name */
static bool events_write(struct uft *u, const struct uft_plan *p, uint64_t *count)
{
	struct out o;
	bool good;

	*count = 0;
	if (p->nfunctions == u->nsymbols)
		return true;
	good = uft_file_begin(u, "events.txt", &o);
	for (size_t i = p->nfunctions; good && i < u->nsymbols; i++) {
		struct uft_symbol *s = p->order[i];
		const struct event_class *c = trace_class(u->trace, s->cls);
		size_t len, name_len;
		const char *cat = trace_string(u->trace, c->cat, &len),
			   *name = trace_string(u->trace, c->name, &name_len);

		if (s->same) {
			s->rel = s->same->rel;
			continue;
		}
		s->rel = UFTRACE_EV_USER + (*count)++;
		out_printf(&o, "EVENT: %llu ", (unsigned long long)s->rel);
		word_out(len ? cat : "event", len ? len : 5, &o);
		out_char(&o, ':');
		word_out(name_len ? name : "empty", name_len ? name_len : 5, &o);
		out_str(&o, kind_suffix(s->kind));
		out_char(&o, '\n');
	}
	return uft_file_end(u, "events.txt", &o, good);
}

bool uft_tables_write(struct uft *u, const struct uft_plan *p)
{
	uint64_t events;
	bool good = events_write(u, p, &events) && info_write(u, p, events) && tasks_write(u) &&
		    map_write(u, p);

	for (size_t i = 0; good && i < p->nmodules; i++)
		good = module_write(u, p, &p->modules[i]);
	return good;
}
