/* Files and threads of a recording that is written: records wait until all are known. */
#include <stdio.h>

#include "base/bits.h"
#include "base/err.h"
#include "format/spur/write.h"

enum { FILES = 65536, NAME_ROOM = 64 };

static bool swaps(void)
{
	return order_swaps(false);
}

/* --- threads --- */

/* The file of a process, or of the threads with its pid that are of no process. */
static uint32_t file_of(struct sw *w, uint32_t track)
{
	const uint32_t process = trace_process_of(w->trace, track);
	const bool loose = trace_track(w->trace, process)->kind != SPUR_TRACK_PROCESS;
	const int64_t pid = write_pid_of(w->write, process);
	const uint64_t key = loose ? hash64((uint64_t)pid) | 1 : (uint64_t)process << 1;
	struct map64_slot *const slot = map64_put(&w->by_process, key);
	struct sw_file *f;

	if (!slot || slot->value)
		return slot ? (uint32_t)slot->value - 1 : SPUR_NONE;
	if (!mem_grow((void **)&w->files, &w->files_cap, w->nfiles + 1, sizeof(*w->files), FILES)) {
		if (w->nfiles == FILES)
			err_set(&w->write->error, SPUR_ERR_USAGE,
				"a recording has at most %d processes, found more", FILES);
		return SPUR_NONE;
	}
	f = &w->files[w->nfiles];
	*f = (struct sw_file){ .process = process, .pid = pid, .loose = loose };
	slot->value = ++w->nfiles;
	return (uint32_t)w->nfiles - 1;
}

static struct sw_thread *thread_make(struct sw *w, uint32_t track)
{
	const uint32_t file = file_of(w, track);
	struct sw_thread *const th = file == SPUR_NONE ? NULL : arena_alloc(&w->arena, sizeof(*th));
	struct sw_file *f;

	if (!th)
		return NULL;
	f = &w->files[file];
	*th = (struct sw_thread){
		.file = file, .number = ++f->nthreads, .track = track, .cpu = SPUR_NO_CPU
	};
	th->next = f->first;
	f->first = th;
	w->by_track[track] = th;
	return th;
}

struct sw_thread *sw_thread_of(struct sw *w, uint32_t track)
{
	if (track >= w->by_track_cap &&
	    !mem_table_grow((void **)&w->by_track, &w->by_track_cap, (size_t)track + 1,
			    sizeof(*w->by_track), UINT32_MAX))
		return NULL;
	return w->by_track[track] ? w->by_track[track] : thread_make(w, track);
}

/* --- what waits --- */

/* A payload that is too long for a block of the spool. */
static struct sw_big *big_keep(struct sw *w, const void *p, size_t len, size_t padded)
{
	const size_t size = sizeof(struct sw_big) + padded;
	struct sw_big *const big = scratch_alloc(size);

	if (!big)
		return NULL;
	*big = (struct sw_big){ .next = w->big, .size = size };
	w->big = big;
	memcpy(big + 1, p, len);
	return big;
}

/* Appends a head and a payload, or a pointer to it. Returns false if out of memory. */
static bool wait_put(struct sw *w, struct spool_seq *q, const void *head, size_t head_size,
		     const struct out *payload)
{
	const size_t padded = (size_t)align_up(payload->len, SPB_WORD);
	const bool is_big = padded > SW_LONGEST;
	struct sw_big *const big = is_big ? big_keep(w, payload->buf, payload->len, padded) : NULL;
	char *const room = spool_room(&w->spool, q, head_size + (is_big ? sizeof(big) : padded));

	if (!room || payload->error || (is_big && !big))
		return false;
	memcpy(room, head, head_size);
	if (is_big) {
		memcpy(room + head_size, &big, sizeof(big));
	} else if (padded) {
		memset(room + head_size + padded - SPB_WORD, 0, SPB_WORD);
		memcpy(room + head_size, payload->buf, payload->len);
	}
	spool_add(q, head_size + (is_big ? sizeof(big) : padded));
	return true;
}

static void file_grows(struct sw_file *f, uint64_t bytes)
{
	f->bytes += bytes + 2 * SPB_WORD;
	f->longest = bytes > f->longest ? bytes : f->longest;
}

bool sw_stage(struct sw *w, struct sw_thread *th, uint8_t kind, uint32_t id, int64_t ts)
{
	const struct sw_staged s = { .ticks = (uint64_t)ts - (uint64_t)w->write->zero,
				     .kind_id = kind | id << 8,
				     .words = (uint32_t)(w->payload.len / SPB_WORD) };

	file_grows(&w->files[th->file], w->payload.len);
	return wait_put(w, &th->records, &s, sizeof(s), &w->payload);
}

bool sw_describe(struct sw *w, struct sw_file *f, uint32_t type)
{
	const struct sw_described d = { .type = type, .len = (uint32_t)w->body.len };

	file_grows(f, align_up(w->body.len, SPB_WORD));
	return wait_put(w, &f->descriptors, &d, sizeof(d), &w->body);
}

/* Where the reading of what waits stands. */
struct waiting {
	const struct spool_block *block;
	uint32_t at;
};

/* The next head, with its payload of `size(head)` bytes behind it; NULL: no more follow. */
static const char *waiting_head(struct waiting *r, size_t head_size)
{
	const char *p;

	while (r->block && r->at == r->block->len) {
		r->block = r->block->next;
		r->at = 0;
	}
	if (!r->block)
		return NULL;
	p = (const char *)(r->block + 1) + r->at;
	r->at += (uint32_t)head_size;
	return p;
}

static const void *waiting_payload(struct waiting *r, size_t len)
{
	const char *const p = (const char *)(r->block + 1) + r->at;
	const size_t padded = (size_t)align_up(len, SPB_WORD);
	const struct sw_big *big;

	if (padded <= SW_LONGEST) {
		r->at += (uint32_t)padded;
		return p;
	}
	memcpy(&big, p, sizeof(big));
	r->at += sizeof(big);
	return big + 1;
}

/* --- descriptors of tracks and processes --- */

static void put(struct sw *w, uint64_t v, unsigned bytes)
{
	uint8_t p[8];

	store64(p, v, swaps());
	out_bytes(&w->body, p, bytes);
}

static void put_text(struct sw *w, uint32_t string)
{
	size_t len;
	const char *const s = trace_string(w->trace, string, &len);

	len = len < UINT16_MAX ? len : UINT16_MAX;
	put(w, len, 2);
	out_bytes(&w->body, s, len);
}

/* SPEC spur/track. Returns false if out of memory. */
static bool track_describe(struct sw *w, struct sw_file *f, uint32_t number, uint32_t parent,
			   const struct spur_track *k)
{
	out_clear(&w->body);
	put(w, number, 4);
	put(w, parent, 4);
	put(w, (uint64_t)k->kind, 4);
	put(w, (uint64_t)(int64_t)k->cpu, 4);
	put(w, (uint64_t)k->pid, 8);
	put(w, (uint64_t)k->tid, 8);
	put_text(w, k->name);
	return sw_describe(w, f, SPB_TRACK);
}

static bool is_thread_id(int64_t id)
{
	return id >= 0 && id <= UINT32_MAX;
}

/* The thread of the track above, which gets a number too; 0: the process, or none. */
static bool parent_number(struct sw *w, const struct sw_thread *th, uint32_t *number)
{
	const struct sw_file *const f = &w->files[th->file];
	const uint32_t parent = trace_track(w->trace, th->track)->parent;
	struct sw_thread *above;

	*number = 0;
	if (parent == SPUR_NONE || (parent == f->process && !f->loose))
		return true;
	above = sw_thread_of(w, parent);
	if (above && above->file == th->file)
		*number = above->number;
	return above;
}

static bool thread_describe(struct sw *w, const struct sw_thread *th)
{
	const struct spur_track *const k = write_track(w->write, th->track);
	struct sw_file *f;
	uint32_t parent;

	if (!parent_number(w, th, &parent))
		return false;
	f = &w->files[th->file];
	if (k->kind != SPUR_TRACK_THREAD || parent || k->cpu != -1 || k->pid != f->pid ||
	    !is_thread_id(k->tid))
		return track_describe(w, f, th->number, parent, k);
	if (!k->name)
		return true;
	out_clear(&w->body);
	put(w, th->number, 4);
	put(w, 0, 4);
	put_text(w, k->name);
	return sw_describe(w, f, SPB_THREAD_NAME);
}

static bool process_describe(struct sw *w, struct sw_file *f)
{
	const struct spur_track *const k = write_track(w->write, f->process);
	const struct spur_track own = {
		.kind = SPUR_TRACK_PROCESS, .pid = f->pid, .tid = -1, .cpu = -1
	};

	if (!is_thread_id(f->pid) && !track_describe(w, f, 0, 0, &own))
		return false;
	if (f->loose)
		return true;
	out_clear(&w->body);
	put_text(w, k->name);
	return sw_describe(w, f, SPB_PROCESS_NAME);
}

/* --- files --- */

static void chunks_put(struct sw_file *f, struct spb_pack *p, int64_t first)
{
	struct waiting r = { f->descriptors.first, 0 };
	const char *head;

	spb_pack_stream(p, 0, 0);
	while ((head = waiting_head(&r, sizeof(struct sw_described))) != NULL) {
		struct sw_described d;

		memcpy(&d, head, sizeof(d));
		spb_pack_descriptor(p, d.type, waiting_payload(&r, d.len), d.len, (uint64_t)first);
	}
}

static void thread_put(struct sw *w, const struct sw_thread *th, struct spb_pack *p)
{
	const int64_t tid = write_track(w->write, th->track)->tid;
	struct waiting r = { th->records.first, 0 };
	const char *head;

	spb_pack_stream(p, th->number, (uint32_t)tid);
	while ((head = waiting_head(&r, sizeof(struct sw_staged))) != NULL) {
		struct spb_pack_record record;
		struct sw_staged s;

		memcpy(&s, head, sizeof(s));
		record = (struct spb_pack_record){ .kind = (uint8_t)(s.kind_id & 15),
						   .id = s.kind_id >> 8,
						   .ticks = s.ticks,
						   .words = s.words };
		record.payload = waiting_payload(&r, (size_t)s.words * SPB_WORD);
		spb_pack_record(p, &record);
	}
}

/* All chunks of a file. Returns their number. */
static uint64_t file_chunks(struct sw *w, struct sw_file *f, struct spb_pack *p)
{
	chunks_put(f, p, w->first_ts - w->write->zero);
	for (const struct sw_thread *th = f->first; th; th = th->next)
		thread_put(w, th, p);
	spb_pack_stream(p, 0, 0);
	return p->nchunks;
}

/*
 * SPEC spur/chunk-size: as the recorder's, but smaller where most of the chunks would be empty, and
 * larger where a record needs it.
 */
static uint32_t chunk_size(const struct sw_file *f)
{
	const uint64_t least = spb_pack_room(f->longest);
	uint64_t size = SPB_CHUNK_SIZE;

	while (size > SPB_CHUNK_LEAST && size * (f->nthreads + 1) > 2 * f->bytes)
		size /= 2;
	return (uint32_t)(size < least ? least : size);
}

/* SPEC spur/clock: the pair of clocks `ts` as the header has it; without an epoch, real is 0. */
static void pair_put(const struct sw *w, uint8_t *at, int64_t ts)
{
	const struct clock_info *const c = &w->trace->clock;
	int64_t real = 0;

	if (c->epoch_known && (__builtin_add_overflow(c->epoch_ns, w->write->zero, &real) ||
			       __builtin_add_overflow(real, ts, &real)))
		real = 0;
	store64(at, (uint64_t)ts, swaps());
	store64(at + 8, (uint64_t)ts, swaps());
	store64(at + 16, (uint64_t)real, swaps());
}

/*
 * The time of the first pair: that of the first event, unless that is before the clock's zero, or
 * the time of day is none that the header can have.
 */
static int64_t pair_time(const struct sw *w)
{
	const struct clock_info *const c = &w->trace->clock;
	int64_t ts = w->first_ts - w->write->zero, epoch;

	ts = ts > 0 ? ts : 0;
	if (c->epoch_known && !__builtin_add_overflow(c->epoch_ns, w->write->zero, &epoch) &&
	    epoch <= -ts && epoch > INT64_MIN / 2)
		ts = 1 - epoch;
	return ts;
}

/* SPEC spur/named-clock */
static void clock_put(const struct sw *w, uint8_t *h)
{
	const struct clock_info *const c = &w->trace->clock;
	const char *const name = c->name ? c->name : "unknown";
	const bool own = c->own_zero || w->write->zero;
	const bool mono = !own && strcmp(name, "monotonic") == 0;
	const size_t len = strlen(name);

	store32(h + SPB_CLOCK_AT, mono ? SPB_CLOCK_MONOTONIC : SPB_CLOCK_NAMED, swaps());
	store64(h + SPB_HZ_AT, 1000000000, swaps());
	pair_put(w, h + SPB_BEGIN_AT, pair_time(w));
	pair_put(w, h + SPB_END_AT, w->last_ts - w->write->zero);
	if (mono)
		return;
	store32(h + SPB_ZERO_AT, own, swaps());
	memcpy(h + SPB_CLOCK_NAME_AT, name, len < SPB_CLOCK_NAME_SIZE ? len : SPB_CLOCK_NAME_SIZE);
}

/* The boot that the source names in hexadecimal digits; else nothing. */
static void boot_put(const struct sw *w, uint8_t *at)
{
	const char *p = w->write->masked ? NULL : w->trace->clock.identity;
	uint8_t id[SPB_BOOT_SIZE] = { 0 };
	size_t n = 0;

	for (; p && *p; p++) {
		const char c = *p;
		const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				       : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
							      : 16;

		if (c == '-')
			continue;
		if (digit == 16 || n == 2 * sizeof(id))
			return;
		id[n / 2] = (uint8_t)((unsigned)id[n / 2] << 4 | digit);
		n++;
	}
	if (n == 2 * sizeof(id))
		memcpy(at, id, sizeof(id));
}

/* SPEC spur/header */
static void header_out(const struct sw *w, const struct sw_file *f, const struct spb_pack *p,
		       uint64_t start, struct out *o)
{
	const struct spur_track *const k = write_track(w->write, f->process);
	const int64_t parent = f->loose ? -1 : write_pid_of(w->write, k->parent);
	uint8_t h[SPB_HEADER] = { 0 };
	size_t len = 0;
	const char *const name = f->loose ? "" : trace_string(w->trace, k->name, &len);
	const size_t most = SPB_ARGUMENTS_AT - SPB_PROGRAM_AT - 1;

	store64(h, SPB_MAGIC, swaps());
	store32(h + SPB_CHUNK_SIZE_AT, p->chunk_size, swaps());
	store32(h + SPB_PID_AT, is_thread_id(f->pid) ? (uint32_t)f->pid : 0, swaps());
	store32(h + SPB_PARENT_AT, is_thread_id(parent) ? (uint32_t)parent : 0, swaps());
	store64(h + SPB_START_TIME_AT, start, swaps());
	clock_put(w, h);
	boot_put(w, h + SPB_BOOT_AT);
	store64(h + SPB_TAKEN_AT, p->nchunks, swaps());
	store64(h + SPB_READY_AT, p->nchunks, swaps());
	memcpy(h + SPB_PROGRAM_AT, name, len < most ? len : most);
	out_bytes(o, h, sizeof(h));
}

/* Writes a file; a first pass counts its chunks. */
static bool file_write(struct sw *w, struct sw_file *f, uint64_t start, struct out *o)
{
	struct spb_pack count, pack;
	const uint32_t size = chunk_size(f);
	bool good = spb_pack_open(&count, NULL, size);

	if (good)
		file_chunks(w, f, &count);
	good = spb_pack_open(&pack, o, size) && good;
	if (good) {
		header_out(w, f, &count, start, o);
		file_chunks(w, f, &pack);
	}
	spb_pack_free(&count);
	spb_pack_free(&pack);
	return good;
}

/* The pid in the name of a file. */
static uint64_t shown_pid(const struct sw_file *f)
{
	return f->pid == -1 ? 0 : (uint64_t)f->pid;
}

/* An output that is a file has one process. */
static bool only_file_out(struct sw *w)
{
	if (w->nfiles > 1) {
		err_set(&w->write->error, SPUR_ERR_USAGE,
			"a file .spb has one process, found %zu: write a directory, NAME.spur",
			w->nfiles);
		return false;
	}
	return file_write(w, &w->files[0], 0, w->write->out);
}

/* SPEC spur/recording: files of one pid have other times of their process's start. */
static bool file_out(struct sw *w, uint32_t number)
{
	struct write *const write = w->write;
	struct sw_file *const f = &w->files[number];
	char name[NAME_ROOM];
	uint64_t start = 0;
	struct out o;

	for (uint32_t i = 0; i < number; i++)
		start += shown_pid(&w->files[i]) == shown_pid(f);
	snprintf(name, sizeof(name), "%llu-%llu.spb", (unsigned long long)shown_pid(f),
		 (unsigned long long)start);
	if (outdir_create(write->dir, name, &o, &write->error) == SPUR_FAIL)
		return false;
	if (!file_write(w, f, start, &o)) {
		out_free(&o);
		return false;
	}
	return outdir_finish(write->dir, name, &o, &write->error) != SPUR_FAIL;
}

/* An empty trace has a file too, as a directory without one is no recording. */
static bool file_empty(struct sw *w)
{
	if (w->nfiles)
		return true;
	if (!mem_grow((void **)&w->files, &w->files_cap, 1, sizeof(*w->files), FILES))
		return false;
	w->files[w->nfiles++] = (struct sw_file){ .pid = -1, .loose = true };
	return true;
}

static struct sw_thread *threads_reversed(struct sw_thread *list)
{
	struct sw_thread *out = NULL;

	while (list) {
		struct sw_thread *const next = list->next;

		list->next = out;
		out = list;
		list = next;
	}
	return out;
}

/*
 * Describes the threads of a file. Those above them get numbers meanwhile, and come first in the
 * list; then all are put in the order of their numbers.
 */
static bool threads_describe(struct sw *w, size_t file)
{
	uint32_t done = 0;
	bool good = true;

	while (good && done < w->files[file].nthreads) {
		const uint32_t until = w->files[file].nthreads;

		for (struct sw_thread *th = w->files[file].first; th && good; th = th->next)
			if (th->number > done && th->number <= until)
				good = thread_describe(w, th);
		done = until;
	}
	w->files[file].first = threads_reversed(w->files[file].first);
	return good;
}

bool sw_files(struct sw *w)
{
	bool good = file_empty(w);

	for (size_t i = 0; i < w->nfiles && good; i++)
		good = threads_describe(w, i) && process_describe(w, &w->files[i]);
	if (good && !w->write->dir)
		return only_file_out(w) && !w->body.error;
	for (size_t i = 0; i < w->nfiles && good; i++)
		good = file_out(w, (uint32_t)i);
	return good && !w->body.error;
}
