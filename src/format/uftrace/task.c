/*
 * task.txt (and the binary `task` of before 2016): sessions, tasks, forks, dlopens; which session
 * holds when.
 */
#include <stdlib.h>

#include "base/cursor.h"
#include "base/search.h"
#include "format/uftrace/copying.h"
#include "format/uftrace/reader.h"

enum { MAX_LINES = 1 << 24, MAX_ANCESTORS = 1024, MESSAGE_MAGIC = 0xface };

static bool read_key_u64(struct text *t, const char *key, unsigned base, uint64_t *out)
{
	ptrdiff_t at = text_search(*t, key);
	struct text v;

	if (at < 0)
		return false;
	v = text_make(t->p + at + strlen(key), t->len - (size_t)at - strlen(key));
	return text_u64(&v, base, out);
}

static bool parse_path(struct text line, const char *key, struct text *out)
{
	ptrdiff_t at = text_search(line, key), end = text_rfind(line, '"');
	size_t start = (size_t)at + strlen(key);

	/* SPEC uftrace/task-path: a path ends at the last quote of the line. */
	if (at < 0 || end < (ptrdiff_t)start)
		return false;
	*out = text_make(line.p + start, (size_t)end - start);
	return true;
}

static bool read_word(struct text line, const char *key, struct text *out)
{
	ptrdiff_t at = text_search(line, key);
	struct text rest;

	if (at < 0)
		return false;
	rest = text_make(line.p + at + strlen(key), line.len - (size_t)at - strlen(key));
	return text_split(&rest, ' ', out);
}

static bool parse_line(struct text line, struct uftrace_line *l)
{
	static const char *const kinds[] = { "SESS ", "TASK ", "FORK ", "DLOP " };
	struct text rest = line, stamp;
	uint64_t a, b;
	int k = 0;

	while (k < 4 && !text_skip(&rest, kinds[k]))
		k++;
	if (k == 4 || !read_word(rest, "timestamp=", &stamp) || !text_seconds(&stamp, &l->time))
		return false;
	*l = (struct uftrace_line){ .kind = (unsigned)k, .time = l->time };
	switch (l->kind) {
	case UFTRACE_LINE_SESS:
		/* SPEC uftrace/sess-id: old data writes tid= for pid= */
		if (!read_key_u64(&rest, " pid=", 10, &a) && !read_key_u64(&rest, " tid=", 10, &a))
			return false;
		l->tid = l->pid = (int64_t)a;
		return read_word(rest, " sid=", &l->sid) &&
		       parse_path(rest, "exename=\"", &l->path);
	case UFTRACE_LINE_TASK:
		if (!read_key_u64(&rest, " tid=", 10, &a) || !read_key_u64(&rest, " pid=", 10, &b))
			return false;
		break;
	case UFTRACE_LINE_FORK:
		if (!read_key_u64(&rest, " pid=", 10, &a) || !read_key_u64(&rest, " ppid=", 10, &b))
			return false;
		break;
	default:
		if (!read_key_u64(&rest, " tid=", 10, &a) ||
		    !read_key_u64(&rest, " base=", 16, &l->base))
			return false;
		b = 0;
		if (!read_word(rest, " sid=", &l->sid) || !parse_path(rest, "libname=\"", &l->path))
			return false;
	}
	l->tid = (int64_t)a;
	l->pid = (int64_t)b;
	return a <= INT64_MAX && b <= INT64_MAX;
}

static bool sid_known(const struct uftrace_data *d, struct text sid)
{
	for (size_t i = 0; i < d->nsessions; i++)
		if (same_text(d->sessions[i].sid, sid))
			return true;
	return false;
}

bool uftrace_task_line_valid(const struct uftrace *u, struct text line)
{
	struct uftrace_line l = { 0 };

	return parse_line(line, &l) && (l.kind != UFTRACE_LINE_DLOP || sid_known(&u->d, l.sid));
}

size_t uftrace_task_messages(const struct uftrace *u, struct text file)
{
	struct cursor c = cursor_make(file.p, file.len, u->swap);
	size_t end = 0;

	while (cursor_left(&c)) {
		const unsigned mark = cursor_u16(&c);

		cursor_u16(&c);
		if (!cursor_bytes(&c, cursor_u32(&c)) || mark != MESSAGE_MAGIC)
			break;
		end = cursor_pos(&c);
	}
	return end;
}

/*
 * Gets the next line of task.txt that is not blank or a comment. Sets `valid` if it could be
 * parsed. Returns false at the end.
 */
static bool next_text(struct text *rest, struct text *line, struct uftrace_line *l, bool *valid)
{
	while (text_line(rest, line)) {
		if (!text_trim(*line).len || line->p[0] == '#')
			continue;
		*l = (struct uftrace_line){ 0 };
		*valid = parse_line(*line, l);
		return true;
	}
	return false;
}

/* Parses the body of a message. Returns false if its type is another one, or if it is too short. */
static bool parse_message(struct cursor b, unsigned type, struct uftrace_line *l)
{
	*l = (struct uftrace_line){ .time = cursor_u64(&b) };
	l->pid = (int32_t)cursor_u32(&b);
	l->tid = (int32_t)cursor_u32(&b);
	l->kind = type == 3 ? UFTRACE_LINE_TASK : type == 6 ? UFTRACE_LINE_FORK : UFTRACE_LINE_SESS;
	if (type == 7) {
		const uint8_t *sid = cursor_bytes(&b, 16);
		uint32_t namelen;
		const uint8_t *name;

		cursor_u32(&b);
		namelen = cursor_u32(&b);
		name = cursor_bytes(&b, namelen);
		if (sid && name) {
			l->sid = text_make(sid, 16);
			l->path = text_make(name, strnlen((const char *)name, namelen));
		}
	} else if (type == 6) {
		/* a fork message names the parent as pid, the child as tid */
		if (l->pid == l->tid)
			l->pid = 0;
	}
	return !b.bad && (type == 3 || type == 6 || type == 7);
}

/* The head of a message, and the bytes after it. */
struct message {
	unsigned mark;
	uint32_t len;
	size_t left;
};

/*
 * SPEC uftrace/binary-task: messages {u16 0xface, u16 type, u32 len, data}. Gets the next message
 * and removes its bytes from `rest`. Sets `valid` if its type is one that is used. Returns false at
 * the end, and at a damaged message, whose bytes stay in `rest` and whose head is `found`.
 */
static bool next_message(struct uftrace_lines *lines, struct uftrace_line *l, bool *valid,
			 struct message *found)
{
	struct cursor c = cursor_make(lines->rest.p, lines->rest.len, lines->swap);
	const uint8_t *body;
	unsigned type;

	if (!cursor_left(&c))
		return false;
	found->mark = cursor_u16(&c);
	type = cursor_u16(&c);
	found->len = cursor_u32(&c);
	body = cursor_bytes(&c, found->len);
	found->left = cursor_left(&c);
	if (!body || found->mark != MESSAGE_MAGIC)
		return false;
	*valid = parse_message(cursor_make(body, found->len, lines->swap), type, l);
	lines->rest = text_make(lines->rest.p + cursor_pos(&c), cursor_left(&c));
	return true;
}

bool uftrace_next_line(struct uftrace_lines *lines, struct uftrace_line *l)
{
	struct message message;
	struct text line;
	bool valid = false;

	while (!valid && lines->left &&
	       (lines->binary ? next_message(lines, l, &valid, &message)
			      : next_text(&lines->rest, &line, l, &valid)))
		;
	lines->left -= valid;
	return valid;
}

/* Counts a line. Returns false if there are too many, or if out of memory. */
static bool add_line(struct uftrace_data *d, const struct uftrace_line *l)
{
	if (d->nlines == MAX_LINES)
		return false;
	if (l->kind == UFTRACE_LINE_SESS) {
		if (!mem_grow((void **)&d->sessions, &d->sessions_cap, d->nsessions + 1,
			      sizeof(*d->sessions), MAX_LINES))
			return false;
		d->sessions[d->nsessions++] = (struct uftrace_session){
			.time = l->time,
			.pid = l->pid,
			.sid = l->sid,
			.exename = l->path,
		};
	}
	d->nlines++;
	d->ndlopens += l->kind == UFTRACE_LINE_DLOP;
	return true;
}

static void read_text(struct uftrace *u, struct text file)
{
	const char *start = file.p;
	struct uftrace_line l;
	struct text line;
	bool valid;

	while (next_text(&file, &line, &l, &valid))
		if ((!valid || !add_line(&u->d, &l)) && (size_t)(line.p - start) >= u->lines_told)
			uftrace_say(u, DIAG_DAMAGE, "uftrace/bad-task-line", "task.txt",
				    (uint64_t)(line.p - start),
				    "line: expected SESS, TASK, FORK or DLOP with its fields, "
				    "found \"%.*s\"",
				    (int)(line.len < 60 ? line.len : 60), line.p);
	u->lines_told = (size_t)(file.p - start);
}

static void read_binary(struct uftrace *u, struct uftrace_lines lines)
{
	const struct text file = lines.rest;
	struct message found;
	struct uftrace_line l;
	bool valid;

	while (next_message(&lines, &l, &valid, &found))
		if (valid && !add_line(&u->d, &l))
			return;
	if (lines.rest.len)
		diag_add(&u->t->diag, DIAG_DAMAGE, "uftrace/bad-task-message", "task",
			 file.len - lines.rest.len, lines.rest.len,
			 "message: expected magic 0xface and %u bytes, found 0x%04x and %zu",
			 found.len, found.mark, found.left);
}

/* `whole`: the lines; NULL: they are in a file. */
static void read_lines(struct uftrace *u, const struct text *whole)
{
	struct uftrace_data *d = &u->d;
	struct text file;

	if (whole) {
		d->lines.rest = *whole;
		read_text(u, *whole);
	} else if (uftrace_slurp(u, "task.txt", &file)) {
		d->lines.rest = file;
		read_text(u, file);
	} else if (uftrace_slurp(u, "task", &file)) {
		d->lines = (struct uftrace_lines){ .rest = file, .binary = true, .swap = u->swap };
		read_binary(u, d->lines);
	} else {
		uftrace_say(u, DIAG_NOTE, "uftrace/no-task", "task.txt", DIAG_NO_OFF,
			    "missing: processes, sessions and libraries are unknown");
	}
	d->lines.left = d->nlines;
}

/* --- sessions and tasks --- */

/* What applying the lines needs: tids to places, sessions by (pid, time). */
struct task_index {
	struct map64 map;
	struct uftrace_session **sessions;
	size_t nsessions;
};

/* Sessions are in an array: addresses give their order in the file. */
static int by_pid_time(const void *a, const void *b)
{
	const struct uftrace_session *x = *(struct uftrace_session *const *)a,
				     *y = *(struct uftrace_session *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool index_sessions(struct uftrace_data *d, struct task_index *ix)
{
	ix->sessions = mem_array(d->nsessions, sizeof(*ix->sessions));
	if (!ix->sessions)
		return false;
	ix->nsessions = d->nsessions;
	for (size_t i = 0; i < d->nsessions; i++)
		ix->sessions[i] = &d->sessions[i];
	if (ix->nsessions)
		qsort(ix->sessions, ix->nsessions, sizeof(*ix->sessions), by_pid_time);
	return true;
}

/* The newest session of the pid that started at `time` or before. */
static struct uftrace_session *find_session(const struct task_index *ix, int64_t pid, uint64_t time)
{
	size_t lo;

	bisect(lo, 0, ix->nsessions,
	       ix->sessions[lo]->pid < pid ||
		       (ix->sessions[lo]->pid == pid && ix->sessions[lo]->time <= time));
	return lo && ix->sessions[lo - 1]->pid == pid ? ix->sessions[lo - 1] : NULL;
}

static bool task_add_ref(struct uftrace_task *k, struct uftrace_session *s, uint64_t time)
{
	struct uftrace_session_ref *refs = k->refs_cap ? k->refs : NULL;
	size_t cap = k->refs_cap;

	if (!k->nrefs && time == k->time) {
		k->only = s;
		k->nrefs = 1;
		return true;
	}
	if (!mem_grow((void **)&refs, &cap, (size_t)k->nrefs + 1, sizeof(*refs), MAX_LINES))
		return false;
	if (!k->refs_cap && k->nrefs)
		refs[0] = (struct uftrace_session_ref){ k->time, 0, k->only };
	k->refs = refs;
	k->refs_cap = (uint32_t)cap;
	/* Until all are there `end` is the place in the file. */
	k->refs[k->nrefs] = (struct uftrace_session_ref){ time, k->nrefs, s };
	k->nrefs++;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct uftrace_session_ref *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static void order_refs(struct uftrace_task *k)
{
	if (!k->refs_cap)
		return;
	if (k->nrefs)
		qsort(k->refs, k->nrefs, sizeof(*k->refs), by_start);
	for (size_t i = 0; i < k->nrefs; i++)
		k->refs[i].end = i + 1 < k->nrefs ? k->refs[i + 1].start : UINT64_MAX;
}

static struct uftrace_session_ref last_ref(const struct uftrace_task *k)
{
	return uftrace_task_ref(k, k->nrefs - 1);
}

static struct uftrace_task *index_task(struct uftrace_data *d, struct task_index *ix, int64_t tid,
				       bool make)
{
	struct map64_slot *s =
		make ? map64_put(&ix->map, (uint64_t)tid) : map64_find(&ix->map, (uint64_t)tid);

	if (!s)
		return NULL;
	if (s->value)
		return &d->tasks[s->value - 1];
	if (!make || !mem_table_grow((void **)&d->tasks, &d->tasks_cap, d->ntasks + 1,
				     sizeof(*d->tasks), MAX_LINES))
		return NULL;
	s->value = ++d->ntasks;
	d->tasks[d->ntasks - 1] = (struct uftrace_task){ .tid = tid };
	return &d->tasks[d->ntasks - 1];
}

/*
 * SPEC uftrace/session-choice: the newest session of the same pid that started before; else the
 * last one of the parent or leader if that started earlier. A later TASK line of a known tid closes
 * its reference and opens a new one.
 */
static bool apply_task(struct uftrace_data *d, struct task_index *ix, const struct uftrace_line *l)
{
	struct uftrace_session *s = find_session(ix, l->pid, l->time);
	struct uftrace_task *k = index_task(d, ix, l->tid, false), *leader;

	if (k && (k->nrefs || k->time))
		return !s || task_add_ref(k, s, l->time);
	k = index_task(d, ix, l->tid, true);
	if (!k)
		return false;
	k->of = l->pid;
	k->forked = l->kind == UFTRACE_LINE_FORK;
	k->time = l->time;
	leader = index_task(d, ix, l->pid, false);
	if (!s && leader && leader->nrefs && last_ref(leader).start < l->time)
		s = last_ref(leader).session;
	return !s || task_add_ref(k, s, l->time);
}

static int by_tid(const void *a, const void *b)
{
	const struct uftrace_task *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Makes sessions and tasks of the lines. Returns false if out of memory. */
static bool read_tasks(struct uftrace *u, const struct text *whole)
{
	struct uftrace_data *d = &u->d;
	struct task_index ix = { 0 };
	struct uftrace_lines lines;
	struct uftrace_line l;
	bool ok;

	read_lines(u, whole);
	ok = index_sessions(d, &ix);
	lines = d->lines;
	while (ok && uftrace_next_line(&lines, &l))
		if (l.kind == UFTRACE_LINE_TASK || l.kind == UFTRACE_LINE_FORK)
			ok = apply_task(d, &ix, &l);
	for (size_t i = 0; i < d->ntasks; i++)
		order_refs(&d->tasks[i]);
	map64_free(&ix.map);
	mem_free(ix.sessions);
	if (d->ntasks)
		qsort(d->tasks, d->ntasks, sizeof(*d->tasks), by_tid);
	return ok;
}

void uftrace_read_tasks(struct uftrace *u)
{
	read_tasks(u, NULL);
}

void uftrace_free_tasks(struct uftrace_data *d)
{
	for (size_t i = 0; i < d->nsessions; i++) {
		struct uftrace_session *const s = &d->sessions[i];

		if (!s->shared_maps) {
			mem_free(s->maps);
			mem_free(s->dlopens);
		}
	}
	for (size_t i = 0; i < d->ntasks; i++)
		if (d->tasks[i].refs_cap)
			mem_free(d->tasks[i].refs);
	mem_free(d->sessions);
	mem_table_free(d->tasks, d->tasks_cap, sizeof(*d->tasks));
	d->sessions = NULL;
	d->tasks = NULL;
	d->nsessions = d->sessions_cap = d->ntasks = d->tasks_cap = 0;
}

bool uftrace_renew_tasks(struct uftrace *u, struct text whole)
{
	struct uftrace_data *const d = &u->d;
	struct uftrace_data old = *d;
	bool ok;

	d->sessions = NULL;
	d->tasks = NULL;
	d->nsessions = d->sessions_cap = d->ntasks = d->tasks_cap = 0;
	d->nlines = d->ndlopens = 0;
	ok = read_tasks(u, &whole);
	/* Lines are only added, so the sessions that were known are the first ones. */
	assert(!ok || old.nsessions <= d->nsessions);
	ok = ok && uftrace_read_maps(u, &old);
	uftrace_free_tasks(&old);
	return ok;
}

const struct uftrace_task *uftrace_task(const struct uftrace_data *d, int64_t tid)
{
	struct uftrace_task key = { .tid = tid };

	return d->ntasks ? bsearch(&key, d->tasks, d->ntasks, sizeof(key), by_tid) : NULL;
}

/* The task's own session at the time; the span is narrowed to where the answer holds. */
static const struct uftrace_session *own_session(const struct uftrace_task *k, uint64_t time,
						 uint64_t *from, uint64_t *until)
{
	struct uftrace_session_ref ref;
	size_t lo;

	bisect(lo, 0, k->nrefs, uftrace_task_ref(k, lo).start <= time);
	if (lo < k->nrefs && uftrace_task_ref(k, lo).start < *until)
		*until = uftrace_task_ref(k, lo).start;
	if (!lo)
		return NULL;
	ref = uftrace_task_ref(k, lo - 1);
	if (ref.start > *from)
		*from = ref.start;
	return ref.session;
}

const struct uftrace_session *uftrace_session_span(const struct uftrace_data *d, int64_t tid,
						   uint64_t time, uint64_t *from, uint64_t *until)
{
	const struct uftrace_task *k = uftrace_task(d, tid);

	*from = 0;
	*until = UINT64_MAX;
	/* A damaged file may chain parents in a ring. */
	for (int steps = 0; k && steps < MAX_ANCESTORS; steps++) {
		const struct uftrace_session *s = own_session(k, time, from, until);

		if (s)
			return s;
		if (!k->of || k->of == k->tid)
			break;
		k = uftrace_task(d, k->of);
	}
	return NULL;
}

const struct uftrace_session *uftrace_session_at(const struct uftrace_data *d, int64_t tid,
						 uint64_t time)
{
	uint64_t from, until;

	return uftrace_session_span(d, tid, time, &from, &until);
}
