/*
 * Copies the text files of a directory: the lines that the reader can use, as they are. A file
 * without damage keeps its bytes.
 */
#include "format/uftrace/copying.h"
#include "format/uftrace/kernhdr.h"

enum copying_text copying_text_of(struct text name)
{
	static const struct {
		const char *name;
		enum copying_text what;
	} names[] = {
		{ "info", TEXT_INFO },	       { "task.txt", TEXT_TASKS },
		{ "task", TEXT_TASKS_BINARY }, { "events.txt", TEXT_EVENTS },
		{ "kallsyms", TEXT_KALLSYMS }, { "python.fake.sym", TEXT_NUMBERED },
		{ "extern.dat", TEXT_EXTERN },
	};
	const ptrdiff_t point = text_rfind(name, '.');
	const struct text ending =
		point < 0 ? text_of("") : text_make(name.p + point, name.len - (size_t)point);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (text_is(name, names[i].name))
			return names[i].what;
	if (text_is(ending, ".map") && text_starts(name, "sid-"))
		return TEXT_MAP;
	if (text_is(ending, ".sym"))
		return TEXT_SYMBOLS;
	return text_is(ending, ".dbg") ? TEXT_DEBUG : TEXT_OTHER;
}

static bool event_line_valid(struct text line)
{
	uint64_t id;

	return text_skip(&line, "EVENT: ") && text_u64(&line, 10, &id);
}

/* Blank lines and comments count for nothing, and stay. */
static bool line_valid(struct copying *k, enum copying_text what, struct text line, bool *inside)
{
	const bool empty = !text_trim(line).len || line.p[0] == '#';

	switch (what) {
	case TEXT_TASKS:
		return empty || uftrace_task_line_valid(k->u, line);
	case TEXT_MAP:
		return empty || uftrace_map_line_valid(line);
	case TEXT_SYMBOLS:
		return empty || uftrace_sym_line_valid(line, false);
	case TEXT_NUMBERED:
		return empty || uftrace_sym_line_valid(line, true);
	case TEXT_DEBUG:
		return !line.len || line.p[0] == '#' || uftrace_dbg_line_valid(k->u, line, inside);
	case TEXT_EVENTS:
		return !text_trim(line).len || event_line_valid(line);
	case TEXT_KALLSYMS:
		return !line.len || kallsyms_line_valid(line);
	default:
		return true;
	}
}

/* SPEC uftrace/info-text: the header, then lines; a list of specifications may have invalid ones */
static void info_copy(struct copying *k, struct text file)
{
	static const char *const lists[] = { "argspec:", "retspec:", "argauto:", "retauto:" };
	const uint16_t size = k->u->d.info.header_size;
	const size_t head = size >= INFO_HEADER && size <= file.len ? size : INFO_HEADER;
	struct text rest = text_make(file.p + head, file.len - head), line;

	if (copying_info_valid(k->u))
		out_bytes(k->o, file.p, head);
	else
		copying_make_header(k);
	while (text_line(&rest, &line)) {
		struct text value = line;
		size_t i = 0;

		while (i < 4 && !text_skip(&value, lists[i]))
			i++;
		if (i == 4 || text_starts(value, "lines=")) {
			out_bytes(k->o, line.p, (size_t)(rest.p - line.p));
			continue;
		}
		out_str(k->o, lists[i]);
		k->notes[NOTE_SPECS] += uftrace_specs_clean(k->u, value, i < 2, k->o);
		out_bytes(k->o, line.p + line.len, (size_t)(rest.p - line.p) - line.len);
	}
}

/*
 * SPEC uftrace/copy-repair: recorders add build-ids to maps when they end; without these, uftrace
 * does not use .dbg files. Returns true if the line was written.
 */
static bool map_line_mended(struct copying *k, struct text line)
{
	const struct text path = uftrace_map_line_path(line);
	const struct text id = path.len ? uftrace_build_id(k->u, path) : path;

	if (!id.len)
		return false;
	out_printf(k->o, "%.*s build-id:%.*s\n", (int)line.len, line.p, (int)id.len, id.p);
	k->notes[NOTE_IDS]++;
	return true;
}

void copying_lines(struct copying *k, enum copying_text what, struct text file)
{
	const char *from = file.p;
	struct text rest = file, line;
	bool inside = false;

	if (what == TEXT_INFO) {
		if (k->copy->repair)
			copying_write_info(k, &k->u->d.info, file);
		else
			info_copy(k, file);
		return;
	}
	if (what == TEXT_TASKS_BINARY) {
		const size_t len = uftrace_task_messages(k->u, file);

		copying_lose(k, file.len - len);
		out_bytes(k->o, file.p, len);
		return;
	}
	while (what != TEXT_OTHER && text_line(&rest, &line)) {
		const size_t len = (size_t)(rest.p - line.p);

		const bool valid = line_valid(k, what, line, &inside);

		if (valid && (what != TEXT_MAP || !k->copy->repair))
			continue;
		out_bytes(k->o, from, (size_t)(line.p - from));
		from = rest.p;
		if (valid) {
			if (!map_line_mended(k, line))
				from = line.p;
			continue;
		}
		k->notes[NOTE_LINES]++;
		k->copy->bytes_lost += len;
	}
	out_bytes(k->o, from, file.len - (size_t)(from - file.p));
}
