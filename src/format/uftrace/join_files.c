/*
 * The small files of joined directories. A file that several parts have with the same bytes is
 * written once. Of those with other bytes, a map gets another session id, symbols and debug
 * information the name that uftrace looks for next, user events that have other numbers are put
 * together; other files are those of the first part that has them.
 */
#include <stdio.h>

#include "base/hash.h"
#include "format/uftrace/joining.h"

enum { MAX_NAMES = 1 << 22, MAX_LINES = 1 << 22, NAME_LEN = 300, MODULE_DIGITS = 4 };

/* --- the plan --- */

/* Returns the file of that name, or NULL. */
static struct join_file *file_find(const struct joining *j, const char *name)
{
	const struct map64_slot *slot = map64_find(&j->by_name, hash_bytes(name, strlen(name), 1));

	/* Of two names with the same hash the one that came last is found. */
	return slot && strcmp(j->files[slot->value - 1].name, name) == 0
		       ? &j->files[slot->value - 1]
		       : NULL;
}

static bool file_add(struct joining *j, const char *name, struct join_file f)
{
	struct map64_slot *slot = map64_put(&j->by_name, hash_bytes(name, strlen(name), 1));

	f.name = arena_strdup(&j->arena, name, strlen(name));
	j->failed |=
		!slot || !f.name ||
		!mem_grow((void **)&j->files, &j->files_cap, j->nfiles + 1, sizeof(f), MAX_NAMES);
	if (j->failed)
		return false;
	j->files[j->nfiles++] = f;
	slot->value = j->nfiles;
	return true;
}

/* What the head of a .sym or .dbg file says. */
struct owner {
	struct text path, id;
};

static struct owner owner_of(struct text file)
{
	struct owner o;

	uftrace_sym_head(file, &o.path, &o.id);
	return o;
}

/* Returns true if a session opened the library of that path, whose build-id nothing tells. */
static bool is_opened_late(const struct joining *j, struct text path)
{
	for (size_t i = 0; i < j->count; i++) {
		const struct uftrace_data *d = &j->parts[i].u->d;
		struct uftrace_lines lines = d->lines;
		struct uftrace_line l;

		while (d->ndlopens && uftrace_next_line(&lines, &l))
			if (l.kind == UFTRACE_LINE_DLOP && same_text(l.path, path))
				return true;
	}
	return false;
}

/*
 * SPEC uftrace/sym-name-clash: the name for the file of another module of the same base name.
 * Returns false if the files cannot be told apart.
 */
static bool module_name(const struct joining *j, const char *name, const struct join_file *f,
			const struct join_file *first, char to[NAME_LEN])
{
	const struct owner a = owner_of(first->content), b = owner_of(f->content);
	const char *ending = strrchr(name, '.');
	const bool same_path = same_text(a.path, b.path);
	unsigned sum = 0;

	if (!b.path.len || (same_path && (!a.id.len || !b.id.len || same_text(a.id, b.id))) ||
	    (same_path && is_opened_late(j, a.path)))
		return false;
	for (size_t i = 0; i < b.path.len; i++)
		sum += (unsigned char)b.path.p[i];
	if (b.id.len >= MODULE_DIGITS)
		snprintf(to, NAME_LEN, "%.*s-%.4s%s", (int)(ending - name), name, b.id.p, ending);
	else
		snprintf(to, NAME_LEN, "%.*s-%04x%s", (int)(ending - name), name, sum & 0xffff,
			 ending);
	return true;
}

static bool module_add(struct joining *j, const char *name, struct join_file f,
		       const struct join_file *first)
{
	char to[NAME_LEN];

	if (!module_name(j, name, &f, first, to))
		return false;
	first = file_find(j, to);
	return first ? same_text(first->content, f.content) : file_add(j, to, f);
}

/* The map of another session whose id is the same. A part may have one such session. */
static bool map_add(struct joining *j, const char *name, struct join_file f)
{
	struct join_part *p = &j->parts[f.part];
	const struct text sid = text_make(name + 4, strlen(name) - 8);
	char to[NAME_LEN];
	char *id;

	if (p->twin != p || p->old_sid.len)
		return false;
	id = arena_printf(&j->arena, "%016llx",
			  (unsigned long long)hash_bytes(sid.p, sid.len, f.part + 1));
	j->failed |= !id;
	if (!id)
		return false;
	p->old_sid = sid;
	p->new_sid = text_of(id);
	snprintf(to, sizeof(to), "sid-%s.map", id);
	return !file_find(j, to) && file_add(j, to, f);
}

/* SPEC uftrace/event-ids: an id must have one name */
static bool events_add(struct joining *j, struct text file)
{
	struct text line;

	while (text_line(&file, &line)) {
		struct text rest = line;
		struct map64_slot *slot;
		uint64_t id;

		if (!text_skip(&rest, "EVENT: ") || !text_u64(&rest, 10, &id))
			continue;
		slot = map64_find(&j->events, id);
		if (slot && !same_text(j->event_lines[slot->value - 1], line))
			return false;
		if (slot)
			continue;
		slot = map64_put(&j->events, id);
		j->failed |= !slot || !mem_grow((void **)&j->event_lines, &j->events_cap,
						j->nevents + 1, sizeof(line), MAX_LINES);
		if (j->failed)
			return false;
		j->event_lines[j->nevents++] = line;
		slot->value = j->nevents;
	}
	return true;
}

static bool content_add(struct joining *j, const char *name, struct join_file f)
{
	const struct join_file *first = file_find(j, name);

	if (f.what == TEXT_EVENTS)
		return events_add(j, f.content);
	if (!first)
		return file_add(j, name, f);
	if (same_text(first->content, f.content))
		return true;
	switch (f.what) {
	case TEXT_MAP:
		return map_add(j, name, f);
	case TEXT_SYMBOLS:
	case TEXT_DEBUG:
		return module_add(j, name, f, first);
	case TEXT_NUMBERED:
		return false;
	default:
		j->parts[f.part].k.notes[NOTE_HIDDEN]++;
		return true;
	}
}

/* What is no file is in no joined trace either. */
static bool entry_plan(struct joining *j, size_t part, const struct listing *l, const char *name)
{
	const struct text base = copying_unpacked(text_of(name));
	const enum copying_text what = copying_text_of(base);
	struct join_file f = { .part = part, .what = what };
	char plain[NAME_LEN];

	if (base.len >= sizeof(plain) - MODULE_DIGITS - 2 || what == TEXT_TASKS_BINARY)
		return false;
	snprintf(plain, sizeof(plain), "%.*s", (int)base.len, base.p);
	if (copying_has_name(&l->records, name) || what == TEXT_INFO || what == TEXT_TASKS ||
	    (j->calls && strcmp(name, copying_stand_in) == 0) ||
	    (base.len < strlen(name) && copying_has_name(&l->all, plain)))
		return true;
	if (!uftrace_slurp(j->parts[part].u, plain, &f.content)) {
		j->parts[part].k.notes[NOTE_ENTRIES]++;
		return true;
	}
	return content_add(j, plain, f);
}

bool join_plan_files(struct joining *j)
{
	bool good = true;

	for (size_t i = 0; good && i < j->count; i++) {
		struct listing l;

		good = copying_list(&l, j->parts[i].u);
		j->failed |= !good;
		for (size_t n = 0; good && n < l.all.count; n++)
			good = entry_plan(j, i, &l, l.all.items[n]);
		copying_list_free(&l);
	}
	return good;
}

/* --- writing --- */

static bool file_write(struct joining *j, const struct join_file *f)
{
	struct copying *k = &j->parts[f->part].k;
	struct out o;
	const bool good = copying_begin(k, f->name, &o);

	if (good && f->what == TEXT_OTHER)
		out_bytes(&o, f->content.p, f->content.len);
	else if (good)
		copying_lines(k, f->what, f->content);
	return copying_end(k, f->name, &o, good);
}

static bool events_write(struct joining *j)
{
	struct copying *k = &j->parts[0].k;
	struct out o;
	bool good;

	if (!j->nevents)
		return true;
	good = copying_begin(k, "events.txt", &o);
	for (size_t i = 0; good && i < j->nevents; i++) {
		out_bytes(&o, j->event_lines[i].p, j->event_lines[i].len);
		out_char(&o, '\n');
	}
	return copying_end(k, "events.txt", &o, good);
}

/* SPEC uftrace/join-tasks: a line with the ids, the time and the session of the joined trace */
static bool task_line(struct joining *j, struct join_part *p, const struct uftrace_line *l)
{
	static const char *const kinds[] = { "SESS", "TASK", "FORK", "DLOP" };
	const struct text sid =
		p->old_sid.len && same_text(l->sid, p->old_sid) ? p->new_sid : l->sid;
	struct out *const o = p->k.o;
	int64_t tid, pid, time;

	if (!join_id(j, p, l->tid, &tid) || !join_id(j, p, l->pid, &pid))
		return false;
	if (!l->time || __builtin_add_overflow((int64_t)l->time, p->k.shift, &time) || time < 0)
		time = 0;
	copying_stamp(o, kinds[l->kind], (uint64_t)time);
	switch (l->kind) {
	case UFTRACE_LINE_SESS:
		out_printf(o, " pid=%lld sid=%.*s exename=\"%.*s\"\n", (long long)pid, (int)sid.len,
			   sid.p, (int)l->path.len, l->path.p);
		break;
	case UFTRACE_LINE_TASK:
		out_printf(o, " tid=%lld pid=%lld\n", (long long)tid, (long long)pid);
		break;
	case UFTRACE_LINE_FORK:
		out_printf(o, " pid=%lld ppid=%lld\n", (long long)tid, (long long)pid);
		break;
	case UFTRACE_LINE_DLOP:
		out_printf(o, " tid=%lld sid=%.*s base=%llx libname=\"%.*s\"\n", (long long)tid,
			   (int)sid.len, sid.p, (unsigned long long)l->base, (int)l->path.len,
			   l->path.p);
		break;
	}
	return true;
}

static bool tasks_write(struct joining *j)
{
	struct copying *k = &j->parts[0].k;
	const struct text first = j->parts[0].tasks;
	struct out o;
	bool good = copying_begin(k, "task.txt", &o);

	if (good)
		copying_lines(k, TEXT_TASKS, first);
	if (good && first.len && first.p[first.len - 1] != '\n')
		out_char(&o, '\n');
	for (size_t i = 1; good && i < j->count; i++) {
		struct join_part *p = &j->parts[i];
		struct uftrace_lines lines = p->u->d.lines;
		struct uftrace_line l;

		p->k.o = &o;
		while (good && p->twin == p && uftrace_next_line(&lines, &l))
			good = task_line(j, p, &l);
		p->k.o = NULL;
	}
	return copying_end(k, "task.txt", &o, good);
}

/* Of the tasks that have files; NULL if out of memory. */
static struct text tids_list(struct joining *j)
{
	struct text list = { NULL, 0 };
	struct out o;
	char *copy;

	out_to_memory(&o);
	for (size_t i = 0; i < j->nrecords; i++) {
		const struct join_records *r = &j->records[i];

		if (!r->perf && (!i || r[-1].number != r->number))
			out_printf(&o, "%s%lld", o.len ? "," : "", (long long)r->number);
	}
	copy = o.error ? NULL : arena_strdup(&j->arena, o.buf ? o.buf : "", o.len);
	j->failed |= !copy;
	if (copy)
		list = text_make(copy, o.len);
	out_free(&o);
	return list;
}

/* SPEC uftrace/join-info: that of the first part, with all tasks and what any part has */
static bool info_write(struct joining *j)
{
	struct copying *k = &j->parts[0].k;
	struct uftrace_info info = j->parts[0].u->d.info;
	struct out o;
	bool good;

	for (size_t i = 1; i < j->count; i++) {
		const struct uftrace_info *other = &j->parts[i].u->d.info;

		info.features |= other->features;
		if (other->max_stack > info.max_stack)
			info.max_stack = other->max_stack;
		if (info.argspec.p || info.retspec.p || info.argauto.p || info.retauto.p ||
		    info.enumauto.p || info.auto_args)
			continue;
		info.argspec = other->argspec;
		info.retspec = other->retspec;
		info.argauto = other->argauto;
		info.retauto = other->retauto;
		info.enumauto = other->enumauto;
		info.auto_args = other->auto_args;
	}
	info.tids = tids_list(j);
	good = info.tids.p && copying_begin(k, "info", &o);
	if (!info.tids.p)
		return false;
	if (good)
		copying_write_info(k, &info, text_make(NULL, 0));
	return copying_end(k, "info", &o, good);
}

/* Returns true if all parts are of one recording. */
static bool is_one_recording(const struct joining *j)
{
	for (size_t i = 1; i < j->count; i++)
		if (j->parts[i].twin != j->parts)
			return false;
	return true;
}

bool join_write_files(struct joining *j)
{
	const struct join_file info = { .name = (char *)"info",
					.content = j->parts[0].info,
					.what = TEXT_INFO };
	bool good = tasks_write(j) && events_write(j);

	for (size_t i = 0; good && i < j->nfiles && !copying_stopped(&j->parts[0].k); i++)
		good = file_write(j, &j->files[i]);
	return good && (is_one_recording(j) ? file_write(j, &info) : info_write(j));
}
