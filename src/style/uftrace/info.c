/*
 * info in uftrace's own layout: what the `info` file says, the tasks, or the program's symbols. A
 * number that the file lacks is printed as 0, as uftrace does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/map64.h"
#include "flow/args.h"
#include "format/uftrace/data.h"
#include "model/symbol/demangle.h"
#include "style/uftrace/options.h"
#include "style/uftrace/text/text.h"

enum { KEY_WIDTH = 20, BUILD_ID_DIGITS = 40, EXIT_FINISHED = 1 << 16, COMM_WIDTH = 16 };

struct facts {
	struct pass_env *env;
	const struct uftrace_data *data;
	struct out *o;
	struct map64 names; /* of threads that changed theirs: thread id to string id */
	struct map64 starts; /* thread id to the first time that perf records tell */
	struct spur_args args;
	bool failed;
};

static bool has(const struct facts *f, enum uftrace_info_bit bit)
{
	return f->data->info.bits >> bit & 1;
}

static void out_key(struct out *o, const char *key)
{
	out_printf(o, "# %-*s: ", KEY_WIDTH, key);
}

static void out_fact(struct out *o, const char *key, struct text value)
{
	out_key(o, key);
	out_safe(o, value.p, value.len);
	out_char(o, '\n');
}

/* --- numbers of lines like "2 / 2 (online/possible)" --- */

static unsigned long long read_number(struct text *t)
{
	uint64_t n;

	*t = text_trim(*t);
	text_skip(t, "/");
	*t = text_trim(*t);
	return text_u64(t, 10, &n) ? (unsigned long long)n : 0;
}

static double read_decimal(struct text *t)
{
	char buf[40] = "", *end;
	size_t n;
	double v;

	*t = text_trim(*t);
	text_skip(t, "/");
	*t = text_trim(*t);
	n = t->len < sizeof(buf) - 1 ? t->len : sizeof(buf) - 1;
	if (!n)
		return 0;
	memcpy(buf, t->p, n);
	v = strtod(buf, &end);
	*t = text_make(t->p + (end - buf), t->len - (size_t)(end - buf));
	return v;
}

static void out_pair(struct out *o, const char *key, struct text value, const char *words)
{
	const unsigned long long first = read_number(&value), second = read_number(&value);

	out_key(o, key);
	out_printf(o, "%llu / %llu (%s)\n", first, second, words);
}

/* --- the system --- */

/* `name=N` among the words of a line. */
static void out_setting(struct out *o, struct text line, const char *name)
{
	const size_t len = strlen(name);
	struct text word;

	while (text_split(&line, ' ', &word))
		if (word.len > len && text_starts(word, name) && word.p[len] == '=')
			out_fact(o, name, text_make(word.p + len + 1, word.len - len - 1));
}

static void out_system(const struct facts *f)
{
	const struct uftrace_info *i = &f->data->info;
	struct text load = i->load;
	double loads[3];

	out_str(f->o, "# system information\n# ==================\n");
	if (has(f, UFTRACE_VERSION))
		out_fact(f->o, "program version", i->uftrace_version);
	if (has(f, UFTRACE_RECORD_DATE))
		out_fact(f->o, "recorded on", i->record_date);
	if (has(f, UFTRACE_CMDLINE))
		out_fact(f->o, "cmdline", i->cmdline);
	if (has(f, UFTRACE_CPUINFO)) {
		out_fact(f->o, "cpu info", i->cpudesc);
		out_pair(f->o, "number of cpus", i->nr_cpus, "online / possible");
	}
	if (has(f, UFTRACE_MEMINFO))
		out_fact(f->o, "memory info", i->meminfo);
	if (has(f, UFTRACE_LOADINFO)) {
		for (size_t k = 0; k < 3; k++)
			loads[k] = read_decimal(&load);
		out_key(f->o, "system load");
		out_printf(f->o, "%.02f / %.02f / %.02f (1 / 5 / 15 min)\n", loads[0], loads[1],
			   loads[2]);
	}
	if (has(f, UFTRACE_OSINFO)) {
		out_fact(f->o, "kernel version", i->kernel);
		out_fact(f->o, "hostname", i->hostname);
		out_fact(f->o, "distro", i->distro);
	}
	if (has(f, UFTRACE_SYSCTL)) {
		out_setting(f->o, i->sysctl, "perf_event_paranoid");
		out_setting(f->o, i->sysctl, "kptr_restrict");
	}
}

/* --- the process --- */

static bool read_name(struct facts *f, const struct spur_event *row)
{
	const struct spur_track *k = trace_track(f->env->trace, row->track);
	struct map64_slot *slot;

	if (!k || trace_args(f->env->trace, row, &f->args) == SPUR_FAIL)
		return k == NULL;
	for (size_t i = 0; i < f->args.count; i++) {
		const struct spur_value *v = &f->args.items[i];

		if (v->type != SPUR_STRING ||
		    strcmp(trace_string(f->env->trace, v->name, NULL), "comm") != 0)
			continue;
		slot = map64_put(&f->names, (uint64_t)k->tid);
		if (!slot)
			return false;
		slot->value = trace_intern_n(f->env->trace, v->text, v->count);
	}
	return true;
}

/*
 * SPEC uftrace/task-start: a task that has a file begins with its first perf record, where
 * that is earlier than its line
 */
static bool read_start(struct facts *f, const struct spur_event *row)
{
	const struct spur_track *k = trace_track(f->env->trace, row->track);
	struct map64_slot *slot = k ? map64_put(&f->starts, (uint64_t)k->tid) : NULL;

	if (slot && (!slot->value || (uint64_t)row->ts < slot->value))
		slot->value = (uint64_t)row->ts;
	return slot || !k;
}

static bool read_rows(void *self, struct spur_event *rows, size_t n)
{
	struct facts *f = self;

	for (size_t i = 0; i < n && !f->failed; i++)
		if (rows[i].kind == SPUR_OBJECT)
			f->failed = !read_start(f, &rows[i]) ||
				    (rows[i].id == UFTRACE_EV_TASK_NAME && !read_name(f, &rows[i]));
	return !f->failed;
}

/*
 * Only the records of perf tell that a thread has another name than its program, or began before.
 */
static bool read_threads(struct facts *f)
{
	if (!(f->data->info.features >> UFTRACE_PERF_EVENT & 1))
		return true;
	return pipe_run_merged(f->env->trace, &f->env->pipe, read_rows, f) != SPUR_FAIL &&
	       !f->failed;
}

/* The program of the task's first session, as the kernel would cut it. */
static struct text program_name(const struct facts *f, int64_t tid)
{
	const struct uftrace_task *k = uftrace_task(f->data, tid);
	struct text name = text_make("", 0);

	if (k && k->nrefs)
		name = style_base_name(uftrace_task_ref(k, 0).session->exename);
	return text_make(name.p, name.len < COMM_WIDTH ? name.len : COMM_WIDTH - 1);
}

/* The task's last name. */
static struct text task_name(const struct facts *f, int64_t tid)
{
	const struct map64_slot *slot = map64_find(&f->names, (uint64_t)tid);
	const struct spur_trace *t = f->env->trace;
	struct text name = program_name(f, tid);

	if (slot) {
		name.p = trace_string(t, (uint32_t)slot->value, &name.len);
		return name;
	}
	for (uint32_t i = 0; i < trace_track_count(t); i++) {
		const struct spur_track *k = trace_track(t, i);

		if (k->kind == SPUR_TRACK_THREAD && k->tid == tid) {
			name.p = trace_string(t, k->name, &name.len);
			break;
		}
	}
	return name;
}

static void out_task_list(const struct facts *f)
{
	struct text tids = f->data->info.tids, word;
	unsigned long long n = 0;

	while (text_split(&tids, ',', &word))
		n++;
	out_key(f->o, "number of tasks");
	out_printf(f->o, "%llu\n", n);
	out_key(f->o, "task list");
	tids = f->data->info.tids;
	for (size_t i = 0; text_split(&tids, ',', &word); i++) {
		struct text number = text_trim(word), name;
		int64_t tid = 0;

		text_i64(&number, &tid);
		name = task_name(f, tid);
		out_printf(f->o, "%s%lld(", i ? ", " : "", (long long)tid);
		out_safe(f->o, name.p, name.len);
		out_char(f->o, ')');
	}
	out_char(f->o, '\n');
}

static void out_build_id(const struct facts *f)
{
	const struct text id = f->data->info.build_id;
	const size_t n = id.len < BUILD_ID_DIGITS ? id.len : BUILD_ID_DIGITS;

	out_key(f->o, "build id");
	out_safe(f->o, id.p, n);
	out_pad(f->o, '0', BUILD_ID_DIGITS - n);
	out_char(f->o, '\n');
}

/* A status as wait() gives it. */
static void out_exit(const struct facts *f)
{
	struct text t = f->data->info.exit_status;
	int64_t n = 0;
	int status;

	text_i64(&t, &n);
	status = (int)n;
	out_key(f->o, "exit status");
	if (status == EXIT_FINISHED)
		out_str(f->o, "terminated by finish trigger");
	else if (WIFEXITED(status))
		out_printf(f->o, "exited with code: %d", WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		out_printf(f->o, "terminated by signal: %d (%s)", WTERMSIG(status),
			   strsignal(WTERMSIG(status)));
	else
		out_printf(f->o, "unknown exit status: %d", status);
	out_char(f->o, '\n');
}

static void out_usage(const struct facts *f)
{
	const struct text *u = f->data->info.usage;
	struct text system = u[0], user = u[1], rss = u[3];

	out_key(f->o, "cpu time");
	out_printf(f->o, "%.3f / ", read_decimal(&system));
	out_printf(f->o, "%.3f sec (sys / user)\n", read_decimal(&user));
	out_pair(f->o, "context switch", u[2], "voluntary / involuntary");
	out_key(f->o, "max rss");
	out_printf(f->o, "%llu KB\n", read_number(&rss));
	out_pair(f->o, "page fault", u[4], "major / minor");
	out_pair(f->o, "disk iops", u[5], "read / write");
}

static void out_note(struct out *o, struct text note)
{
	const bool ended = note.p[note.len - 1] == '\n';
	struct text line;

	for (size_t i = 0; text_line(&note, &line); i++) {
		if (i)
			out_char(o, '\n');
		out_safe(o, line.p, line.len);
	}
	if (ended)
		out_char(o, '\n');
}

static void out_process(const struct facts *f)
{
	const struct uftrace_info *i = &f->data->info;

	out_str(f->o, "#\n# process information\n# ===================\n");
	if (has(f, UFTRACE_TASKINFO))
		out_task_list(f);
	if (has(f, UFTRACE_EXE_NAME))
		out_fact(f->o, "exe image", i->exename);
	if (has(f, UFTRACE_EXE_BUILD_ID))
		out_build_id(f);
	if (has(f, UFTRACE_ARG_SPEC)) {
		if (i->argspec.len)
			out_fact(f->o, "arguments", i->argspec);
		if (i->retspec.len)
			out_fact(f->o, "return values", i->retspec);
		if (i->auto_args)
			out_fact(f->o, "auto-args", text_of("true"));
	}
	if (has(f, UFTRACE_PATTERN_TYPE))
		out_fact(f->o, "pattern", i->pattern_type.len ? i->pattern_type : text_of("none"));
	if (has(f, UFTRACE_EXIT_STATUS))
		out_exit(f);
	if (has(f, UFTRACE_RECORD_DATE))
		out_fact(f->o, "elapsed time", i->elapsed);
	if (has(f, UFTRACE_USAGEINFO))
		out_usage(f);
	if (f->data->note.len) {
		out_str(f->o, "#\n# extra note information\n# ======================\n");
		out_note(f->o, f->data->note);
	}
	out_char(f->o, '\n');
}

/* --- tasks --- */

static uint64_t file_size(const struct spur_trace *t, int64_t tid)
{
	char name[32];

	snprintf(name, sizeof(name), "%lld.dat", (long long)tid);
	for (size_t i = 0; i < t->nstreams; i++)
		if (strcmp(t->streams[i].path, name) == 0)
			return t->streams[i].size;
	return 0;
}

static bool has_session(const struct uftrace_task *k)
{
	for (size_t i = 0; i < k->nrefs; i++)
		if (uftrace_task_ref(k, i).session->pid == k->tid)
			return true;
	return false;
}

static uint64_t task_start(const struct facts *f, const struct uftrace_task *k)
{
	const struct map64_slot *slot = map64_find(&f->starts, (uint64_t)k->tid);

	return slot && slot->value < k->time && file_size(f->env->trace, k->tid) ? slot->value
										 : k->time;
}

static void out_tasks(const struct facts *f)
{
	out_printf(f->o, "#%23s  %5s  %s  %-*s  %s\n", "TIMESTAMP     ", "FLAGS", "   TID   ",
		   COMM_WIDTH, "TASK", "DATA SIZE");
	for (size_t i = 0; i < f->data->ntasks; i++) {
		const struct uftrace_task *k = &f->data->tasks[i];
		const uint64_t kb = file_size(f->env->trace, k->tid) / 1024, rest = kb % 1024;
		const struct text name = task_name(f, k->tid);
		const uint64_t start = task_start(f, k);

		out_printf(f->o, " %13llu.%09llu  %c%c     [%*lld]  ",
			   (unsigned long long)start / 1000000000,
			   (unsigned long long)start % 1000000000,
			   k->tid == uftrace_task_pid(k) ? 'F' : ' ',
			   has_session(k) ? 'S' : ' ', TID_WIDTH, (long long)k->tid);
		out_safe(f->o, name.p, name.len);
		out_pad(f->o, ' ', name.len < COMM_WIDTH ? COMM_WIDTH - name.len : 0);
		if (file_size(f->env->trace, k->tid))
			out_printf(f->o, "  %5llu.%03llu MB", (unsigned long long)kb / 1024,
				   (unsigned long long)(rest >= 1000 ? 999 : rest));
		else
			out_char(f->o, ' ');
		out_char(f->o, '\n');
	}
}

/* --- symbols --- */

static bool out_symbol_list(const struct facts *f, const struct symtab *t, bool plt)
{
	struct out name;
	bool good = true;

	out_to_memory(&name);
	for (size_t i = 0; i < t->count; i++) {
		const struct symbol *s = &t->syms[i];

		if ((s->type == 'P') != plt)
			continue;
		out_clear(&name);
		demangle(&name, s->name, strlen(s->name),
			 (enum demangle_form)f->env->opt->demangle);
		out_printf(f->o, "[%2zu] %#llx: ", i, (unsigned long long)s->addr);
		out_safe(f->o, name.buf, name.len);
		out_printf(f->o, " (size: %llu)\n", (unsigned long long)s->size);
	}
	good = !name.error;
	out_free(&name);
	return good;
}

static enum spur_status out_symbols(const struct facts *f)
{
	const struct symtab *t = uftrace_symbols(f->env->trace, f->data->info.exename);

	if (!t)
		return err_set(f->env->err, SPUR_ERR_FORMAT,
			       "--symbols: the data does not say which program was recorded");
	out_str(f->o, "Normal symbols\n==============\n");
	if (!out_symbol_list(f, t, false))
		return err_nomem(f->env->err);
	out_str(f->o, "\n\nDynamic symbols\n===============\n");
	return out_symbol_list(f, t, true) ? SPUR_OK : err_nomem(f->env->err);
}

static enum spur_status info_run(struct pass_env *env)
{
	struct facts f = { .env = env, .data = uftrace_data(env->trace), .o = env->out };
	bool good;

	if (!f.data)
		return err_set(env->err, SPUR_ERR_USAGE,
			       "info: expected data of uftrace for its style, --task or --symbols, "
			       "found %s",
			       env->trace->format->name);
	if (uftrace_options(env)->symbols)
		return out_symbols(&f);
	if (!uftrace_options(env)->task && !f.data->info.have)
		return err_set(env->err, SPUR_ERR_FORMAT,
			       "info: the data has no info file, which uftrace's layout shows");
	good = read_threads(&f);
	if (good && uftrace_options(env)->task) {
		out_tasks(&f);
	} else if (good) {
		out_system(&f);
		out_process(&f);
	}
	map64_free(&f.names);
	map64_free(&f.starts);
	spur_args_free(&f.args);
	return good ? SPUR_OK : err_nomem(env->err);
}

const struct spur_pass spur_pass_uftrace_info = {
	.name = "info.uftrace",
	.style_options_size = sizeof(struct uftrace_options),
	.bare_times = true,
	.simple_names = true,
	.focus_hides_sched = true,
	.run = info_run,
};
