/* spur split: writes a trace as several ones of the same format. */
#include <string.h>

#include "base/text.h"
#include "cli/run.h"
#include "pass/split.h"

/* Its own options. */
struct split_own {
	struct split_options split;
	bool given;
};

static bool take_number(const char *text, uint64_t *number)
{
	struct text t = { text, strlen(text) };

	return text_u64(&t, 10, number) && !t.len && *number;
}

/* Bytes, with K, M or G (or k, m, g) for 2^10, 2^20, 2^30 of them. */
static bool take_size(const char *text, uint64_t *size)
{
	static const char units[] = "KMGkmg";
	struct text t = { text, strlen(text) };
	const char *unit;

	if (!text_u64(&t, 10, size) || !*size)
		return false;
	if (!t.len)
		return true;
	unit = strchr(units, *t.p);
	return unit && t.len == 1 &&
	       !__builtin_mul_overflow(*size, (uint64_t)1 << (10 * ((unit - units) % 3 + 1)),
				       size);
}

static bool take_time(const char *text, uint64_t *ns)
{
	int64_t each;

	if (!text_duration(text, 0, &each) || each <= 0)
		return false;
	*ns = (uint64_t)each;
	return true;
}

/* thread, process, time=1s, count=1000000, size=100M. */
static bool take_by(struct values *v, const char *text)
{
	static const struct {
		const char *name;
		enum split_by by;
		bool (*take)(const char *text, uint64_t *each);
	} ways[] = {
		{ "thread", SPLIT_THREAD, NULL },   { "process", SPLIT_PROCESS, NULL },
		{ "time=", SPLIT_TIME, take_time }, { "count=", SPLIT_COUNT, take_number },
		{ "size=", SPLIT_SIZE, take_size },
	};
	struct split_own *own = v->own;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const size_t n = strlen(ways[i].name);

		if (ways[i].take ? strncmp(text, ways[i].name, n) != 0
				 : strcmp(text, ways[i].name) != 0)
			continue;
		own->split.by = ways[i].by;
		own->split.each = 1;
		own->given = true;
		return !ways[i].take || ways[i].take(text + n, &own->split.each);
	}
	return false;
}

static const char *by_word(size_t i)
{
	static const char *const words[] = { "thread", "process", "time=", "count=", "size=" };

	return i < sizeof(words) / sizeof(words[0]) ? words[i] : NULL;
}

static const struct opt options[] = {
	{ .name = "by",
	  .type = OPT_CALL,
	  .call = take_by,
	  .arg = "WHAT",
	  .choice = by_word,
	  .help = "thread, process, time=DURATION (1s, 10ms), count=EVENTS or size=BYTES (100M); "
		  "required" },
	{ 0 }
};

/* The ending of a file's name with its point, or "". */
static const char *ending_of(const char *path)
{
	const char *base = strrchr(path, '/');
	const char *point = strrchr(base ? base : path, '.');

	return point && point != path && point[1] && strlen(point) < 16 ? point : "";
}

static int split_command(const struct spur_cmd *cmd, struct values *v)
{
	struct split_own *own = v->own;

	if (!own->given) {
		err_set(&v->err, SPUR_ERR_USAGE,
			"expected --by=thread, process, time=DURATION, count=EVENTS or size=BYTES");
		return run_error(&v->err);
	}
	own->split.ending = v->noperands ? ending_of(v->operands[0]) : "";
	return run_simple(cmd, v,
			  &(struct run_request){ .pass = "split",
						 .options = { RUN_OPTIONS(NULL, &own->split) },
						 .is_dir = true });
}

const struct spur_cmd spur_cmd_split = {
	.name = "split",
	.summary = "Write a trace as several ones of the same format.",
	.usage = "[OPTION...] --by=WHAT TRACE -o DIRECTORY",
	.description =
		"Makes a directory with a trace for each thread, for each process, or for each "
		"piece of the given length, number of events or size of records. The parts are "
		"copies of records as spur cut makes them. Filters choose the events that are "
		"split.",
	.examples = "spur split --by=thread -o parts trace.fxt\ta trace a thread\n"
		    "spur split --by=time=1s -o parts trace.fxt\ta trace a second\n",
	.opts = options,
	.own_size = sizeof(struct split_own),
	.takes = TAKES_TRACE | TAKES_FILTERS | TAKES_LIMIT,
	.run = split_command,
};
