/*
 * sid-*.map: which module lies where, per session. Lines of /proc/PID/maps, merged by the recorder
 * or plain copies.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/uftrace/copying.h"
#include "format/uftrace/reader.h"

enum { MAX_MAPS = 1 << 20 };

/* SPEC uftrace/kernel-base: where the kernel begins follows from where the stack is. */
static uint64_t kernel_base(uint64_t stack)
{
	static const uint64_t bases[][2] = {
		{ 0x40000000, 0x40000000 },
		{ 0x80000000, 0x80000000 },
		{ 0xB0000000, 0xB0000000 },
		{ UINT64_C(1) << 32, 0xC0000000 },
		{ UINT64_C(1) << 39, 0xFFFFFF8000000000 },
		{ UINT64_C(1) << 42, 0xFFFFFC0000000000 },
		{ UINT64_C(1) << 47, 0xFFFF800000000000 },
	};

	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		if (stack < bases[i][0])
			return bases[i][1];
	return 0xFFFF000000000000;
}

/*
 * START-END PROT OFFSET MAJ:MIN INODE PATH[ build-id:HEX]. False: not such a line. An empty path is
 * allowed.
 */
static bool parse_map_line(struct text line, struct uftrace_map *m)
{
	struct text word, rest = line;
	ptrdiff_t id;

	if (!text_u64(&rest, 16, &m->start) || !text_skip(&rest, "-") ||
	    !text_u64(&rest, 16, &m->end))
		return false;
	if (m->end < m->start || !text_skip(&rest, " "))
		return false;
	for (int i = 0; i < 4; i++)
		if (!text_split(&rest, ' ', &word) || !word.len)
			return false;
	rest = text_trim(rest);
	id = text_search(rest, " build-id:");
	if (id >= 0) {
		m->build_id = text_make(rest.p + id + 10, rest.len - (size_t)id - 10);
		rest.len = (size_t)id;
	}
	m->path = text_trim(rest);
	return true;
}

bool uftrace_map_line_valid(struct text line)
{
	struct uftrace_map m = { 0 };

	return parse_map_line(line, &m);
}

struct text uftrace_map_line_path(struct text line)
{
	struct uftrace_map m = { 0 };

	return parse_map_line(line, &m) && !m.build_id.len ? m.path : text_of("");
}

/*
 * SPEC uftrace/map-lines: takes a line into the session: extends the first line of its module, or
 * opens a new map.
 */
static bool parse_map(struct uftrace *u, struct uftrace_session *s, size_t *cap,
		      struct uftrace_map m)
{
	struct uftrace_map *last = s->nmaps ? &s->maps[s->nmaps - 1] : NULL;

	if (m.path.len && m.path.p[0] == '[') {
		if (text_starts(m.path, "[stack"))
			s->kernel_base = kernel_base(m.start);
		return true;
	}
	if (!m.path.len || m.path.p[0] != '/' || m.start == m.end)
		return true;
	if (last && same_text(last->path, m.path)) {
		last->end = m.end > last->end ? m.end : last->end;
		return true;
	}
	m.module = uftrace_module(u, m.path, m.build_id);
	if (!m.module || !mem_grow((void **)&s->maps, cap, s->nmaps + 1, sizeof(m), MAX_MAPS))
		return false;
	s->maps[s->nmaps++] = m;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct uftrace_map *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool read_map(struct uftrace *u, struct uftrace_session *s)
{
	char name[300];
	struct text file, line;
	const char *start;
	size_t cap = 0;

	snprintf(name, sizeof(name), "sid-%.*s.map", (int)(s->sid.len < 256 ? s->sid.len : 256),
		 s->sid.p);
	s->kernel_base = u->d.info.is64 ? 0xFFFF800000000000 : 0xC0000000;
	if (memchr(name, '/', strlen(name)) || !uftrace_slurp(u, name, &file)) {
		uftrace_say(u, DIAG_NOTE, "uftrace/no-map", name, DIAG_NO_OFF,
			    "missing: addresses of this session have no names");
		return true;
	}
	start = file.p;
	while (text_line(&file, &line)) {
		struct uftrace_map m = { 0 };

		if (!text_trim(line).len || line.p[0] == '#')
			continue;
		if (!parse_map_line(line, &m))
			uftrace_say(u, DIAG_DAMAGE, "uftrace/bad-map-line", name,
				    (uint64_t)(line.p - start),
				    "line: expected START-END PROT OFFSET DEV INODE PATH, found "
				    "\"%.*s\"",
				    (int)(line.len < 60 ? line.len : 60), line.p);
		else if (!parse_map(u, s, &cap, m))
			return false;
	}
	if (s->nmaps)
		qsort(s->maps, s->nmaps, sizeof(*s->maps), by_start);
	return true;
}

/* Sessions of one sid share one map file: its contents are read once and the array is shared. */
static const struct uftrace_session *twin_of(const struct uftrace_data *d, const struct map64 *seen,
					     uint64_t hash, const struct uftrace_session *s)
{
	const struct map64_slot *slot = map64_find(seen, hash);
	const struct uftrace_session *twin = slot ? &d->sessions[slot->value] : NULL;

	return twin && same_text(twin->sid, s->sid) ? twin : NULL;
}

static bool add_dlopens(struct uftrace *u, const struct map64 *by_sid)
{
	struct uftrace_data *d = &u->d;
	size_t *caps = mem_array(d->nsessions, sizeof(*caps));
	struct uftrace_lines lines = d->lines;
	struct uftrace_line l;
	bool ok = caps != NULL;

	while (ok && d->ndlopens && uftrace_next_line(&lines, &l)) {
		const struct map64_slot *slot = l.kind == UFTRACE_LINE_DLOP
							? map64_find(by_sid, hash_text(l.sid, 0))
							: NULL;
		struct uftrace_session *s = slot ? &d->sessions[slot->value] : NULL;
		struct uftrace_dlopen o = { .time = l.time, .base = l.base, .path = l.path };

		if (l.kind != UFTRACE_LINE_DLOP)
			continue;
		/* The session of a recording that grows may have its line later. */
		if (u->follow && (!s || !same_text(s->sid, l.sid)))
			continue;
		if (!s || !same_text(s->sid, l.sid)) {
			uftrace_say(u, DIAG_DAMAGE, "uftrace/bad-task-line", "task.txt",
				    DIAG_NO_OFF,
				    "DLOP: expected the sid of a session, found \"%.*s\"",
				    (int)(l.sid.len < 40 ? l.sid.len : 40), l.sid.p);
			continue;
		}
		o.module = uftrace_module(u, l.path, text_of(""));
		ok = o.module && mem_grow((void **)&s->dlopens, &caps[s - d->sessions],
					  s->ndlopens + 1, sizeof(o), MAX_MAPS);
		if (ok)
			s->dlopens[s->ndlopens++] = o;
	}
	mem_free(caps);
	return ok;
}

static int by_time(const void *a, const void *b)
{
	const struct uftrace_dlopen *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Takes over the map of a session that was known. */
static void take_map(struct uftrace_session *s, struct uftrace_session *old)
{
	assert(same_text(s->sid, old->sid));
	s->maps = old->maps;
	s->nmaps = old->nmaps;
	s->kernel_base = old->kernel_base;
	old->maps = NULL;
	old->nmaps = 0;
}

bool uftrace_read_maps(struct uftrace *u, struct uftrace_data *old)
{
	struct uftrace_data *d = &u->d;
	struct map64 by_sid = { 0 };
	bool ok = true;

	for (size_t i = 0; ok && i < d->nsessions; i++) {
		struct uftrace_session *s = &d->sessions[i];
		uint64_t hash = hash_text(s->sid, 0);
		const struct uftrace_session *twin = twin_of(d, &by_sid, hash, s);
		struct map64_slot *slot = map64_put(&by_sid, hash);

		ok = slot != NULL;
		if (ok && twin) {
			s->maps = twin->maps;
			s->nmaps = twin->nmaps;
			s->kernel_base = twin->kernel_base;
			s->shared_maps = true;
		} else if (ok && old && i < old->nsessions) {
			slot->value = i;
			take_map(s, &old->sessions[i]);
		} else if (ok) {
			slot->value = i;
			ok = read_map(u, s);
		}
	}
	ok = ok && add_dlopens(u, &by_sid);
	for (size_t i = 0; i < d->nsessions; i++) {
		struct uftrace_session *s = &d->sessions[i];

		if (s->ndlopens)
			qsort(s->dlopens, s->ndlopens, sizeof(*s->dlopens), by_time);
	}
	for (size_t i = 0; ok && i < d->nsessions; i++) {
		struct uftrace_session *s = &d->sessions[i];
		const struct map64_slot *slot =
			s->shared_maps ? map64_find(&by_sid, hash_text(s->sid, 0)) : NULL;

		if (slot) {
			s->dlopens = d->sessions[slot->value].dlopens;
			s->ndlopens = d->sessions[slot->value].ndlopens;
		}
	}
	map64_free(&by_sid);
	return ok;
}
