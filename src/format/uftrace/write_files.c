/* The files of the uftrace writer that have records: TID.dat, perf-cpuN.dat, extern.dat. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "format/uftrace/writing.h"

enum { COMM_SIZE = 16 /* bytes of a thread's name with its NUL */ };

bool uft_file_begin(struct uft *u, const char *name, struct out *o)
{
	return outdir_create(u->write->dir, name, o, &u->write->error) != SPUR_FAIL;
}

bool uft_file_end(struct uft *u, const char *name, struct out *o, bool good)
{
	if (o->fd < 0) { /* it could not be created */
		out_free(o);
		return false;
	}
	return outdir_finish(u->write->dir, name, o, &u->write->error) != SPUR_FAIL && good;
}

/* --- TID.dat --- */

/* SPEC uftrace/record: the address of the record's symbol, plus what its depth overflows */
static uint64_t word_of(const struct uft *u, uint64_t item)
{
	const uint64_t low = item & 0xffff;
	const struct uft_symbol *s;

	if ((low & RECORD_TYPE_MASK) == RECORD_LOST)
		return item;
	s = u->symbols[item >> ITEM_SYMBOL & 0xffffff];
	return low |
	       (s->rel + (s->module ? s->module->base : 0) + (item >> ITEM_OVER & ITEM_OVER_MAX))
		       << ADDRESS_SHIFT;
}

/* Counts a call whose name cannot be written as it is. */
static void count_name(struct uft *u, uint64_t item)
{
	const unsigned type = item & RECORD_TYPE_MASK;

	if (type <= RECORD_EXIT && u->symbols[item >> ITEM_SYMBOL & 0xffffff]->odd_name)
		loss_add(&u->write->loss, LOST_NAME,
			 type == RECORD_ENTRY ? SPUR_BEGIN : SPUR_END_SPAN);
}

static void records_out(struct uft *u, const struct spool_seq *seq, struct out *o)
{
	for (const struct spool_block *b = seq->first; b; b = b->next) {
		const uint8_t *p = (const uint8_t *)(b + 1), *end = p + b->len;

		while (p < end) {
			char *room = out_room(o, RECORD + UFT_PAYLOAD);
			uint64_t time, item;
			size_t len;

			if (!room)
				return;
			memcpy(&time, p, 8);
			memcpy(&item, p + 8, 8);
			len = item & RECORD_MORE ? 8 * (size_t)(item >> ITEM_WORDS) : 0;
			store64(room, time, order_swaps(false));
			store64(room + RECORD_AT_WORD, word_of(u, item), order_swaps(false));
			if (len)
				memcpy(room + RECORD, p + RECORD, len);
			if (u->odd_names)
				count_name(u, item);
			o->len += RECORD + len;
			p += RECORD + len;
		}
	}
}

static bool dat_write(struct uft *u, const struct uft_task *t)
{
	char name[32];
	struct out o;
	bool good;

	snprintf(name, sizeof(name), "%d.dat", t->tid);
	good = uft_file_begin(u, name, &o);
	if (good)
		records_out(u, &t->seq, &o);
	return uft_file_end(u, name, &o, good);
}

/* --- perf-cpuN.dat --- */

/* A record of the file; `name` makes it the name of the thread. */
struct perf_item {
	uint64_t time;
	uint32_t name; /* string id */
	int32_t tid, pid;
	uint16_t cpu, misc;
	uint32_t seq; /* of those of equal time */
};

static int perf_order(const void *a, const void *b)
{
	const struct perf_item *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (!x->name != !y->name)
		return x->name ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* SPEC uftrace/perf-record */
static void perf_out(const struct uft *u, const struct perf_item *r, struct out *o)
{
	uint8_t record[PERF_HEAD + PERF_COMM_BODY + COMM_SIZE + PERF_TRAILER] = { 0 };
	size_t len = PERF_HEAD, size;
	const char *name;

	wire_store(record, r->name ? PERF_COMM : PERF_SWITCH, 4, false);
	wire_store(record + 4, r->misc, 2, false);
	if (r->name) {
		wire_store(record + len, (uint64_t)r->pid, 4, false);
		wire_store(record + len + 4, (uint64_t)r->tid, 4, false);
		name = trace_string(u->trace, r->name, &size);
		memcpy(record + len + PERF_COMM_BODY, name,
		       size < COMM_SIZE ? size : (size_t)COMM_SIZE - 1);
		len += PERF_COMM_BODY + COMM_SIZE;
	}
	wire_store(record + len, (uint64_t)r->pid, 4, false);
	wire_store(record + len + 4, (uint64_t)r->tid, 4, false);
	wire_store(record + len + 8, r->time, 8, false);
	len += PERF_TRAILER;
	wire_store(record + 6, len, 2, false);
	out_bytes(o, record, len);
}

/* SPEC uftrace/made-names: the name that a record has to give the thread, or 0 */
static uint32_t own_name(const struct uft *u, const struct uft_task *t)
{
	const struct spur_track *k = write_track(u->write, t->track);
	const struct spur_track *process = write_track(u->write, t->process);
	size_t len, plen;
	const char *name = trace_string(u->trace, k->name, &len);
	const char *image = trace_string(u->trace, process->name, &plen);
	const char *slash = memrchr(image, '/', plen);

	if (slash) {
		plen -= (size_t)(slash + 1 - image);
		image = slash + 1;
	}
	if (!len || t->first == UINT64_MAX)
		return 0;
	len = len < COMM_SIZE ? len : (size_t)COMM_SIZE - 1;
	plen = plen < COMM_SIZE ? plen : (size_t)COMM_SIZE - 1;
	return len == plen && memcmp(name, image, len) == 0 ? 0 : k->name;
}

/* The tasks of tracks. */
static bool tracks_index(const struct uft *u, struct map64 *by_track)
{
	for (size_t i = 0; i < u->ntasks; i++) {
		struct map64_slot *slot = map64_put(by_track, u->tasks[i].track);

		if (!slot)
			return false;
		slot->value = i;
	}
	return true;
}

/* Fills the list with all records. */
static size_t perf_fill(const struct uft *u, const struct map64 *by_track, struct perf_item *items)
{
	size_t n = 0;

	for (size_t i = 0; i < u->ntasks; i++) {
		const struct uft_task *t = &u->tasks[i];
		const uint32_t name = own_name(u, t);

		if (name)
			items[n++] = (struct perf_item){
				.time = t->first, .name = name, .tid = t->tid, .pid = t->pid
			};
	}
	for (size_t i = 0; i < u->switches.count; i++)
		for (const struct spool_block *b = u->switches.items[i].first; b; b = b->next)
			for (uint32_t at = 0; at < b->len; at += sizeof(struct uft_switch)) {
				struct uft_switch s;
				const struct uft_task *t;

				memcpy(&s, (const char *)(b + 1) + at, sizeof(s));
				t = &u->tasks[map64_find(by_track, s.track)->value];
				items[n] = (struct perf_item){ .time = s.time,
							       .tid = t->tid,
							       .pid = t->pid,
							       .cpu = s.cpu,
							       .misc = s.misc,
							       .seq = (uint32_t)n };
				n++;
			}
	return n;
}

static bool perf_write(struct uft *u, const struct perf_item *items, size_t n)
{
	bool good = true;

	for (size_t i = 0; good && i < n;) {
		const uint16_t cpu = items[i].cpu;
		char name[32];
		struct out o;

		snprintf(name, sizeof(name), "perf-cpu%u.dat", cpu);
		good = uft_file_begin(u, name, &o);
		for (; i < n && items[i].cpu == cpu; i++)
			if (good)
				perf_out(u, &items[i], &o);
		good = uft_file_end(u, name, &o, good);
	}
	return good;
}

static bool perf_all(struct uft *u)
{
	struct map64 by_track = { 0 };
	struct perf_item *items;
	size_t most = u->ntasks, n;
	bool good;

	for (size_t i = 0; i < u->switches.count; i++)
		most += spool_len(&u->switches.items[i]) / sizeof(struct uft_switch);
	items = scratch_alloc(most * sizeof(*items) + 1);
	good = items && tracks_index(u, &by_track);
	if (good) {
		n = perf_fill(u, &by_track, items);
		if (n)
			qsort(items, n, sizeof(*items), perf_order);
		good = perf_write(u, items, n);
	}
	map64_free(&by_track);
	scratch_free(items, most * sizeof(*items) + 1);
	return good;
}

/* --- extern.dat --- */

struct line_item {
	uint64_t time;
	uint32_t rank; /* of its track */
	uint32_t seq;
	const char *line; /* struct uft_line and its text */
};

static int line_order(const void *a, const void *b)
{
	const struct line_item *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Fills `items`, unless it is NULL, with all lines. Returns their number. */
static size_t lines_walk(const struct uft *u, const struct map64 *by_track, struct line_item *items)
{
	size_t n = 0;

	for (size_t i = 0; i < u->lines.count; i++)
		for (const struct spool_block *b = u->lines.items[i].first; b; b = b->next) {
			const char *p = (const char *)(b + 1), *end = p + b->len;

			for (; p < end; n++) {
				struct uft_line line;

				memcpy(&line, p, sizeof(line));
				if (items)
					items[n] = (struct line_item){
						.time = line.time,
						.rank = u->tasks[map64_find(by_track, line.track)
									 ->value]
								.rank,
						.seq = (uint32_t)n,
						.line = p
					};
				p += sizeof(line) + align_up(line.len, 8);
			}
		}
	return n;
}

/* SPEC uftrace/extern: seconds and text; one that is empty would be no line */
static void line_out(const char *p, struct out *o)
{
	struct uft_line line;

	memcpy(&line, p, sizeof(line));
	out_printf(o, "%llu.%09llu ", (unsigned long long)(line.time / 1000000000),
		   (unsigned long long)(line.time % 1000000000));
	if (line.len)
		out_bytes(o, p + sizeof(line), line.len);
	else
		out_str(o, "(empty)");
	out_char(o, '\n');
}

static bool extern_write(struct uft *u)
{
	struct map64 by_track = { 0 };
	const size_t n = lines_walk(u, &by_track, NULL), bytes = n * sizeof(struct line_item);
	struct line_item *items;
	struct out o;
	bool good;

	if (!n)
		return true;
	items = scratch_alloc(bytes);
	good = items && tracks_index(u, &by_track);
	if (good) {
		lines_walk(u, &by_track, items);
		qsort(items, n, sizeof(*items), line_order);
		good = uft_file_begin(u, "extern.dat", &o);
		for (size_t i = 0; good && i < n; i++)
			line_out(items[i].line, &o);
		good = uft_file_end(u, "extern.dat", &o, good);
	}
	map64_free(&by_track);
	scratch_free(items, bytes);
	return good;
}

bool uft_files_write(struct uft *u, const struct uft_plan *p)
{
	bool good = perf_all(u) && extern_write(u);

	(void)p;
	for (size_t i = 0; good && i < u->ntasks; i++)
		good = dat_write(u, &u->tasks[i]);
	return good;
}
