/*
 * Files that a recorder would have written when it ended, made from what the others tell: `info`,
 * task.txt, symbols.
 */
#include "base/bits.h"
#include "format/uftrace/copying.h"

bool copying_info_valid(const struct uftrace *u)
{
	const struct uftrace_info *i = &u->d.info;

	return i->have && (i->version == 3 || i->version == 4) &&
	       (i->header[INFO_AT_ORDER] == 1 || i->header[INFO_AT_ORDER] == 2) &&
	       (i->header[INFO_AT_CLASS] == 1 || i->header[INFO_AT_CLASS] == 2);
}

/* Returns true if a file of the trace begins so. */
static bool has_file(const struct uftrace *u, const char *prefix)
{
	for (size_t i = 0; i < u->nfiles; i++)
		if (text_starts(uftrace_file_name(u, &u->files[i]), prefix))
			return true;
	return false;
}

/* Returns true if a module has specifications of arguments, which were all that the reader had. */
static bool has_debug_specs(const struct uftrace *u)
{
	for (const struct uftrace_module *m = u->modules; m; m = m->next)
		for (size_t i = 0; i < m->ndebug; i++)
			if (m->debug[i].args.len || m->debug[i].ret.len)
				return true;
	return false;
}

static uint64_t features_of(struct uftrace *u)
{
	uint64_t f =
		1u << UFTRACE_PLTHOOK | 1u << UFTRACE_TASK_SESSION | 1u << UFTRACE_SYM_REL_ADDR;

	if (has_file(u, "kernel-cpu"))
		f |= 1u << UFTRACE_KERNEL;
	if (has_file(u, "perf-cpu"))
		f |= 1u << UFTRACE_PERF_EVENT;
	if (u->event_names.count)
		f |= 1u << UFTRACE_EVENT;
	if (has_debug_specs(u))
		f |= 1u << UFTRACE_ARGUMENT | 1u << UFTRACE_RETVAL | 1u << UFTRACE_AUTO_ARGS |
		     1u << UFTRACE_DEBUG_INFO;
	return uftrace_has_sizes(u) ? f | 1u << UFTRACE_SYM_SIZE : f;
}

/* Number and list of the tasks that have a file, ascending as the files are. */
static void tids_out(struct copying *k)
{
	const struct uftrace *u = k->u;
	size_t n = 0;

	for (size_t i = 0; i < u->t->nfeeds; i++) {
		const struct uftrace_feed uf = uftrace_feed_at(u, i);

		n += uftrace_has_dat(&uf);
	}
	out_printf(k->o, "taskinfo:lines=2\ntaskinfo:nr_tid=%zu\ntaskinfo:tids=", n);
	for (size_t i = 0, before = 0; i < u->t->nfeeds; i++) {
		const struct uftrace_feed uf = uftrace_feed_at(u, i);

		if (!uftrace_has_dat(&uf))
			continue;
		out_printf(k->o, "%s%lld", before++ ? "," : "", (long long)uf.tid);
	}
	out_char(k->o, '\n');
}

/* A list as it is, with the number of its items. */
static void tids_listed(struct copying *k, struct text tids)
{
	struct text rest = tids, one;
	size_t n = 0;

	while (text_split(&rest, ',', &one))
		n++;
	out_printf(k->o, "taskinfo:lines=2\ntaskinfo:nr_tid=%zu\ntaskinfo:tids=%.*s\n", n,
		   (int)tids.len, tids.p);
}

/* The program of the first session, or the first module of its map. */
static struct text program_of(const struct uftrace *u)
{
	const struct uftrace_session *s = u->d.nsessions ? &u->d.sessions[0] : NULL;

	if (s && s->exename.len)
		return s->exename;
	return s && s->nmaps ? s->maps[0].path : text_of("");
}

static struct text build_id_of(const struct uftrace *u, struct text path)
{
	for (const struct uftrace_module *m = u->modules; m; m = m->next)
		if (same_text(m->path, path) && m->build_id.len == 40)
			return m->build_id;
	return text_of("");
}

/* What the reader took a header for whose version, byte order or class is invalid. */
void copying_make_header(struct copying *k)
{
	const struct uftrace_info *i = &k->u->d.info;
	const bool big = i->big_endian;
	uint8_t head[INFO_HEADER] = "Ftrace!";

	wire_store(head + INFO_AT_VERSION, i->version == 3 ? 3 : 4, 4, big);
	wire_store(head + INFO_AT_SIZE, INFO_HEADER, 2, big);
	head[INFO_AT_ORDER] = big ? 2 : 1;
	head[INFO_AT_CLASS] = i->is64 ? 2 : 1;
	wire_store(head + INFO_AT_FEATURES, i->features, 8, big);
	wire_store(head + INFO_AT_LINES, i->bits, 8, big);
	wire_store(head + INFO_AT_LEVELS, i->max_stack, 2, big);
	out_bytes(k->o, head, sizeof(head));
	k->notes[NOTE_INFO_TEXT]++;
}

/* SPEC uftrace/info-text: what the recorder writes last, but for lines whose content is lost */
void copying_make_info(struct copying *k)
{
	struct uftrace *u = k->u;
	const struct text program = program_of(u), id = build_id_of(u, program);
	const bool specs = has_debug_specs(u);
	const uint64_t bits = (uint64_t)(program.len != 0) << UFTRACE_EXE_NAME |
			      (uint64_t)specs << UFTRACE_ARG_SPEC |
			      (uint64_t)specs << UFTRACE_CPUINFO |
			      (uint64_t)(id.len != 0) << UFTRACE_EXE_BUILD_ID |
			      1u << UFTRACE_TASKINFO | 1u << UFTRACE_PATTERN_TYPE;
	const bool big = u->d.info.big_endian;
	uint8_t head[INFO_HEADER] = "Ftrace!";

	wire_store(head + INFO_AT_VERSION, 4, 4, big);
	wire_store(head + INFO_AT_SIZE, INFO_HEADER, 2, big);
	head[INFO_AT_ORDER] = u->d.info.big_endian ? 2 : 1;
	head[INFO_AT_CLASS] = u->d.info.is64 ? 2 : 1;
	wire_store(head + INFO_AT_FEATURES, features_of(u), 8, big);
	wire_store(head + INFO_AT_LINES, bits, 8, big);
	out_bytes(k->o, head, sizeof(head));
	if (program.len)
		out_printf(k->o, "exename:%.*s\n", (int)program.len, program.p);
	if (id.len)
		out_printf(k->o, "build_id:%.*s\n", (int)id.len, id.p);
	if (specs) /* uftrace knows no registers, which specifications name, without a CPU */
		out_printf(k->o, "cpuinfo:lines=1\ncpuinfo:desc=%s\n", u->d.info.arch.p);
	tids_out(k);
	if (specs)
		out_str(k->o, "argspec:lines=1\nauto-args:1\n");
	out_str(k->o, "pattern_type:regex\n");
	k->notes[NOTE_INFO]++;
}

/* --- the info file of a repaired trace --- */

/* One piece of the text: a line, or lines that begin with their number. */
struct info_piece {
	unsigned bit; /* enum uftrace_info_bit */
	const char *group; /* "cpuinfo:" of several lines, or NULL */
	struct {
		const char *key;
		const struct text *value;
	} lines[6];
};

static bool is_present(const struct text *t)
{
	return t && t->p;
}

/* Writes the lines that the source has. Returns the bit of the piece, or 0 if it has none. */
static uint64_t piece_out(struct out *o, const struct info_piece *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 6; i++)
		n += p->lines[i].key && is_present(p->lines[i].value);
	if (!n)
		return 0;
	if (p->group)
		out_printf(o, "%slines=%u\n", p->group, n);
	for (unsigned i = 0; i < 6; i++) {
		if (!p->lines[i].key || !is_present(p->lines[i].value))
			continue;
		out_str(o, p->group ? p->group : "");
		out_str(o, p->lines[i].key);
		out_bytes(o, p->lines[i].value->p, p->lines[i].value->len);
		out_char(o, '\n');
	}
	return UINT64_C(1) << p->bit;
}

/* The specifications have names of their own, and their number in front. */
static uint64_t specs_out(struct copying *k, const struct uftrace_info *i, struct out *o)
{
	const struct {
		const char *key;
		const struct text *value;
	} lines[] = { { "argspec:", &i->argspec },
		      { "retspec:", &i->retspec },
		      { "argauto:", &i->argauto },
		      { "retauto:", &i->retauto },
		      { "enumauto:", &i->enumauto } };
	unsigned n = i->auto_args;

	for (unsigned l = 0; l < 5; l++)
		n += lines[l].value->p != NULL;
	if (!n)
		return 0;
	out_printf(o, "argspec:lines=%u\n", n);
	for (unsigned l = 0; l < 5; l++) {
		if (!lines[l].value->p)
			continue;
		out_str(o, lines[l].key);
		if (l < 4)
			k->notes[NOTE_SPECS] +=
				uftrace_specs_clean(k->u, *lines[l].value, l < 2, o);
		else
			out_bytes(o, lines[l].value->p, lines[l].value->len);
		out_char(o, '\n');
	}
	if (i->auto_args)
		out_str(o, "auto-args:1\n");
	return 1u << UFTRACE_ARG_SPEC;
}

/* Lines before the list of tasks, and behind it, in the order of their bits. */
static uint64_t pieces_out(struct copying *k, const struct uftrace_info *i, struct out *o,
			   bool behind)
{
	const struct info_piece before_tasks[] = {
		{ UFTRACE_EXE_NAME, NULL, { { "exename:", &i->exename } } },
		{ UFTRACE_EXE_BUILD_ID, NULL, { { "build_id:", &i->build_id } } },
		{ UFTRACE_EXIT_STATUS, NULL, { { "exit_status:", &i->exit_status } } },
		{ UFTRACE_CMDLINE, NULL, { { "cmdline:", &i->cmdline } } },
		{ UFTRACE_CPUINFO,
		  "cpuinfo:",
		  { { "nr_cpus=", &i->nr_cpus }, { "desc=", &i->cpudesc } } },
		{ UFTRACE_MEMINFO, NULL, { { "meminfo:", &i->meminfo } } },
		{ UFTRACE_OSINFO,
		  "osinfo:",
		  { { "kernel=", &i->kernel },
		    { "hostname=", &i->hostname },
		    { "distro=", &i->distro } } },
	};
	const struct info_piece behind_tasks[] = {
		{ UFTRACE_USAGEINFO,
		  "usageinfo:",
		  { { "systime=", &i->usage[0] },
		    { "usrtime=", &i->usage[1] },
		    { "ctxsw=", &i->usage[2] },
		    { "maxrss=", &i->usage[3] },
		    { "pagefault=", &i->usage[4] },
		    { "iops=", &i->usage[5] } } },
		{ UFTRACE_LOADINFO, NULL, { { "loadinfo:", &i->load } } },
	};
	const struct info_piece last[] = {
		{ UFTRACE_RECORD_DATE,
		  NULL,
		  { { "record_date:", &i->record_date }, { "elapsed_time:", &i->elapsed } } },
		{ UFTRACE_PATTERN_TYPE, NULL, { { "pattern_type:", &i->pattern_type } } },
		{ UFTRACE_VERSION, NULL, { { "uftrace_version:", &i->uftrace_version } } },
		{ UFTRACE_UTC_OFFSET, NULL, { { "utc_offset:", &i->utc_offset } } },
		{ UFTRACE_SYSCTL, NULL, { { "sysctl:", &i->sysctl } } },
	};
	uint64_t bits = 0;

	for (size_t n = 0; !behind && n < sizeof(before_tasks) / sizeof(*before_tasks); n++)
		bits |= piece_out(o, &before_tasks[n]);
	for (size_t n = 0; behind && n < sizeof(behind_tasks) / sizeof(*behind_tasks); n++)
		bits |= piece_out(o, &behind_tasks[n]);
	if (behind)
		bits |= specs_out(k, i, o);
	for (size_t n = 0; behind && n < sizeof(last) / sizeof(*last); n++)
		bits |= piece_out(o, &last[n]);
	return bits;
}

/*
 * uftrace reads the lines that the header's bits announce, in this order. Its list of tasks is that
 * of the files that are here if `i` has no list of numbers.
 */
static void info_make(struct copying *k, const struct uftrace_info *i, uint8_t head[INFO_HEADER],
		      struct out *text)
{
	struct text tids = i->tids;
	struct out *const o = k->o;
	/* uftrace reads the file of tasks, which a copy always has, only if the header says so. */
	const uint64_t features = i->features | 1u << UFTRACE_TASK_SESSION;
	uint64_t bits, tid;

	bits = pieces_out(k, i, text, false) | 1u << UFTRACE_TASKINFO;
	k->o = text;
	if (text_u64(&tids, 10, &tid) && (i->tids.len < UINT16_MAX || k->copy->count > 1))
		tids_listed(k, i->tids);
	else
		tids_out(k);
	k->o = o;
	bits |= pieces_out(k, i, text, true);
	memcpy(head, i->header, INFO_HEADER);
	if (i->version != 3)
		wire_store(head + INFO_AT_VERSION, 4, 4, i->big_endian);
	wire_store(head + INFO_AT_SIZE, INFO_HEADER, 2, i->big_endian);
	head[INFO_AT_ORDER] = i->big_endian ? 2 : 1;
	head[INFO_AT_CLASS] = i->is64 ? 2 : 1;
	wire_store(head + INFO_AT_FEATURES, features, 8, i->big_endian);
	wire_store(head + INFO_AT_LEVELS, i->max_stack, 2, i->big_endian);
	wire_store(head + INFO_AT_LINES, bits, 8, i->big_endian);
}

void copying_write_info(struct copying *k, const struct uftrace_info *info, struct text file)
{
	uint8_t head[INFO_HEADER];
	struct out text;

	out_to_memory(&text);
	info_make(k, info, head, &text);
	k->notes[NOTE_INFO_TEXT] +=
		file.p &&
		(file.len != INFO_HEADER + text.len || memcmp(file.p, head, INFO_HEADER) != 0 ||
		 memcmp(file.p + INFO_HEADER, text.buf, text.len) != 0);
	out_bytes(k->o, head, sizeof(head));
	out_bytes(k->o, text.buf, text.len);
	if (text.error)
		k->o->error = text.error;
	out_free(&text);
}

/* --- tasks and symbols --- */

uint64_t copying_first_time(struct uftrace *u, struct uftrace_file *file)
{
	struct source view, *s;
	const uint8_t *p;

	if (!uftrace_open_dat(u, file, &u->t->diag))
		return 0;
	s = uftrace_file_source(file, &view);
	p = s->data;
	for (uint64_t off = 0; source_need(s, off + RECORD); off += RECORD) {
		const uint64_t time = load64(p + off, u->swap),
			       word = load64(p + off + RECORD_AT_WORD, u->swap);

		if ((word & MAGIC_MASK) != MAGIC_BITS)
			break;
		if ((word & RECORD_TYPE_MASK) != RECORD_LOST)
			return time <= INT64_MAX ? time : 0;
	}
	return 0;
}

void copying_stamp(struct out *o, const char *kind, uint64_t time)
{
	out_printf(o, "%s timestamp=%llu.%09llu", kind, (unsigned long long)(time / 1000000000),
		   (unsigned long long)(time % 1000000000));
}

/* SPEC uftrace/session-choice: one process, which has begun with its first record */
void copying_make_tasks(struct copying *k)
{
	struct uftrace *u = k->u;
	struct uftrace_feed first = { 0 };
	const struct text name = u->d.info.exename;
	uint64_t start = UINT64_MAX;

	for (size_t i = 0; i < u->t->nfeeds; i++) {
		const struct uftrace_feed uf = uftrace_feed_at(u, i);
		const uint64_t time =
			uftrace_has_dat(&uf) ? copying_first_time(u, uf.file) : UINT64_MAX;

		start = time < start ? time : start;
		if (!first.file && time != UINT64_MAX)
			first = uf;
	}
	if (!first.file)
		return;
	copying_stamp(k->o, "SESS", start);
	out_printf(k->o, " pid=%lld sid=%.*s exename=\"%.*s\"\n", (long long)first.tid,
		   (int)k->sid.len, k->sid.p, name.len ? (int)name.len : 7,
		   name.len ? name.p : "unknown");
	for (size_t i = 0; i < u->t->nfeeds; i++) {
		const struct uftrace_feed uf = uftrace_feed_at(u, i);

		if (!uftrace_has_dat(&uf))
			continue;
		copying_stamp(k->o, "TASK", start);
		out_printf(k->o, " tid=%lld pid=%lld\n", (long long)uf.tid, (long long)first.tid);
	}
	k->notes[NOTE_TASKS]++;
}

/* SPEC uftrace/sym-size: uftrace knows weak symbols as `w`, and skips those of type `W` */
void copying_make_symbols(struct copying *k, const struct uftrace_module *m)
{
	const struct symtab *t = &m->syms;
	const struct text id = m->build_id.len ? m->build_id : m->other_id;
	const bool sizes = uftrace_has_sizes(k->u);

	out_printf(k->o, "# symbols: %zu\n# path name: %.*s\n", t->count, (int)m->path.len,
		   m->path.p);
	if (id.len)
		out_printf(k->o, "# build-id: %.*s\n", (int)id.len, id.p);
	for (size_t i = 0; i < t->count; i++) {
		out_printf(k->o, "%016llx ", (unsigned long long)t->syms[i].addr);
		if (sizes)
			out_printf(k->o, "%08llx ", (unsigned long long)t->syms[i].size);
		out_printf(k->o, "%c %s\n", t->syms[i].type == 'W' ? 'w' : t->syms[i].type,
			   t->syms[i].name);
	}
	if (t->count && !sizes)
		out_printf(k->o, "%016llx ? __sym_end\n", (unsigned long long)m->extent);
	k->notes[NOTE_SYMBOLS]++;
}
