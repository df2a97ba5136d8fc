/*
 * What a recording says of itself: the header of each file, and the file `session` of the
 * directory, in which `spur record` says what it recorded, how, and how it ended. SPEC spur/session
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/out.h"
#include "base/process.h"
#include "format/spur/reader.h"

enum { SESSION_MOST = 1 << 20, OPTIONS_MOST = 4096 };

/* The lines that have a place of their own, in the order in which they are shown. */
enum fact {
	FACT_RECORDER,
	FACT_PROGRAM,
	FACT_ARGUMENTS,
	FACT_DIRECTORY,
	FACT_MODE,
	FACT_BEGIN,
	FACT_END,
	FACT_EXIT,
	FACT_SIGNAL,
	FACT_LEFT,
	FACT_PATCHED,
	FACT_REFUSED,
	FACTS,
};

static const char *const keys[FACTS] = {
	[FACT_RECORDER] = "recorder",
	[FACT_PROGRAM] = "program",
	[FACT_ARGUMENTS] = "arguments",
	[FACT_DIRECTORY] = "directory",
	[FACT_MODE] = "mode",
	[FACT_BEGIN] = "begin",
	[FACT_END] = "end",
	[FACT_EXIT] = "exit",
	[FACT_SIGNAL] = "signal",
	[FACT_LEFT] = "still-running",
	[FACT_PATCHED] = "patched",
	[FACT_REFUSED] = "refused",
};

/* --- the header --- */

/* The arguments of the program as a JSON array, as far as the header has room for them. */
static bool arguments_add(struct spb *s)
{
	const char *p = (const char *)s->data + SPB_ARGUMENTS_AT;
	/* SPEC spur/list: behind the arguments, where there is one. */
	const char *const end = (const char *)s->data +
				(spb_32(s->data + SPB_LIST_NUMBER_AT) ? SPB_LIST_AT : SPB_HEADER);
	struct out o;
	bool good;

	if (!*p)
		return true;
	out_to_memory(&o);
	for (out_char(&o, '['); p < end && *p;) {
		const size_t len = strnlen(p, (size_t)(end - p));

		out_json(&o, p, len);
		p += len < (size_t)(end - p) ? len + 1 : len;
		out_str(&o, p < end && *p ? ", " : "]");
	}
	good = !o.error && trace_add_info(s->t, "arguments", "%.*s", (int)o.len, o.buf);
	out_free(&o);
	return good;
}

static bool still_runs(const uint8_t *head)
{
	return process_boot_is_this(head + SPB_BOOT_AT) &&
	       process_runs(spb_32(head + SPB_PID_AT), spb_64(head + SPB_START_TIME_AT));
}

bool spb_info_open(struct spb *s)
{
	static const char *const modes[] = { "stream", "ring", "oneshot", "observed" };
	const uint8_t *const head = s->data;
	const uint32_t mode = spb_32(head + SPB_MODE_AT);
	const char *const path = (const char *)head + SPB_PROGRAM_AT;

	return trace_add_info(s->t, "program", "%.*s",
			      (int)strnlen(path, SPB_ARGUMENTS_AT - SPB_PROGRAM_AT), path) &&
	       arguments_add(s) &&
	       trace_add_info(s->t, "mode", "%s", mode <= SPB_OBSERVED ? modes[mode] : "unknown") &&
	       trace_add_info(s->t, "ended", "%s",
			      spb_64(head + SPB_END_AT) ? "yes"
			      : still_runs(head)
				      ? "no: the process still runs"
				      : "no: the process was killed, or called _exit() or exec()");
}

/* --- the session --- */

struct session {
	struct text facts[FACTS]; /* in the file's bytes; NULL: no such line */
	char options[OPTIONS_MOST]; /* all other lines */
	size_t noptions;
};

static void option_add(struct session *s, struct text line)
{
	const size_t room = sizeof(s->options) - s->noptions;
	const int n = snprintf(s->options + s->noptions, room, "%s%.*s", s->noptions ? ", " : "",
			       (int)line.len, line.p);

	if (n > 0 && (size_t)n < room)
		s->noptions += (size_t)n;
	else
		s->options[s->noptions] = '\0';
}

static void line_take(struct session *s, struct text line)
{
	const char *const colon = memchr(line.p, ':', line.len);
	const size_t len = colon ? (size_t)(colon - line.p) : 0;

	if (!len || line.len < len + 2 || colon[1] != ' ')
		return;
	for (unsigned i = 0; i < FACTS; i++)
		if (strlen(keys[i]) == len && memcmp(keys[i], line.p, len) == 0) {
			s->facts[i] = text_make((const uint8_t *)colon + 2, line.len - len - 2);
			return;
		}
	if (len != sizeof("spur-session") - 1 || memcmp(line.p, "spur-session", len) != 0)
		option_add(s, line);
}

/* A text in quotes that needs none is shown without them. */
static bool fact_put(struct spur_trace *t, const char *key, struct text v)
{
	if (!v.p)
		return true;
	if (v.len >= 2 && v.p[0] == '"' && v.p[v.len - 1] == '"' && !memchr(v.p, '\\', v.len))
		v = text_make((const uint8_t *)v.p + 1, v.len - 2);
	return trace_add_info(t, key, "%.*s", (int)v.len, v.p);
}

/* The date of "SECONDS.NANOSECONDS real, ...". */
static bool moment_put(struct spur_trace *t, const char *key, struct text v)
{
	long long s;
	long ns;
	struct tm tm;
	char copy[64], date[32];

	if (!v.p)
		return true;
	snprintf(copy, sizeof(copy), "%.*s", (int)v.len, v.p);
	if (sscanf(copy, "%lld.%9ld real", &s, &ns) != 2 || ns < 0 ||
	    !gmtime_r(&(time_t){ (time_t)s }, &tm) ||
	    !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm))
		return true;
	return trace_add_info(t, key, "%s.%09ldZ", date, ns);
}

static unsigned long long number_of(struct text v)
{
	char copy[32];

	snprintf(copy, sizeof(copy), "%.*s", (int)v.len, v.p ? v.p : "0");
	return strtoull(copy, NULL, 10);
}

static bool exit_put(struct spur_trace *t, const struct session *s)
{
	const unsigned long long left = number_of(s->facts[FACT_LEFT]);
	const struct text sig = s->facts[FACT_SIGNAL];
	char running[64] = "";

	if (left)
		snprintf(running, sizeof(running), ", %llu of its processes went on", left);
	if (!s->facts[FACT_EXIT].p)
		return trace_add_info(t, "exit",
				      "unknown: the recorder was killed, or still records");
	if (sig.p)
		return trace_add_info(t, "exit", "by signal %.*s%s", (int)sig.len, sig.p, running);
	return trace_add_info(t, "exit", "code %llu%s", number_of(s->facts[FACT_EXIT]), running);
}

static bool session_put(struct spur_trace *t, const struct session *s)
{
	bool good = true;

	for (unsigned i = FACT_RECORDER; i <= FACT_MODE; i++)
		good = good && fact_put(t, keys[i], s->facts[i]);
	good = good && moment_put(t, "recording began", s->facts[FACT_BEGIN]) &&
	       moment_put(t, "recording ended", s->facts[FACT_END]) && exit_put(t, s);
	if (good && s->facts[FACT_PATCHED].p)
		good = trace_add_info(t, "places", "%llu patched, %llu refused",
				      number_of(s->facts[FACT_PATCHED]),
				      number_of(s->facts[FACT_REFUSED]));
	if (good && s->noptions)
		good = trace_add_info(t, "options", "%s", s->options);
	return good;
}

/* SPEC spur/list: the categories that `spur record --switch` has left on. */
static bool list_put(struct spur_trace *t, const char *dir)
{
	char *const path = arena_printf(&t->arena, "%s/" SPB_LIST_NAME, dir);
	char list[SPB_LIST_SIZE];
	const ssize_t got = path ? file_head(path, FILE_REGULAR, list, sizeof(list) - 1) : -1;

	if (got <= 0)
		return path != NULL;
	list[got] = '\0';
	list[strcspn(list, "\n")] = '\0';
	return trace_add_info(t, "categories", "%s", list);
}

bool spb_run_info(struct spur_trace *t, const char *dir)
{
	char *const path = arena_printf(&t->arena, "%s/session", dir);
	char *const bytes = mem_alloc(SESSION_MOST);
	struct session *const s = mem_alloc(sizeof(*s));
	bool good = path && bytes && s;
	ssize_t got;

	if (good) {
		got = file_head(path, FILE_REGULAR, bytes, SESSION_MOST);
		for (const char *p = bytes, *end = bytes + (got > 0 ? got : 0); p < end;) {
			const char *const nl = memchr(p, '\n', (size_t)(end - p));

			line_take(s, text_make((const uint8_t *)p, (size_t)((nl ? nl : end) - p)));
			p = nl ? nl + 1 : end;
		}
		good = (got <= 0 || session_put(t, s)) && list_put(t, dir);
	}
	mem_free(s);
	mem_free(bytes);
	return good;
}
