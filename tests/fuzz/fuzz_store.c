/*
 * Changes bytes of a store as the fuzzer says, makes its sums right again, so that the change is
 * not refused for them, and reads all of it in every way. Nothing may be read outside of it.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/fake_trace.h"
#include "flow/open.h"
#include "fuzz_row.h"
#include "store/parts.h"
#include "store/seal.h"
#include "store/trace.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STORE_MAX = 256 << 10, ROWS = 900 };

/* Stores without and with stacks of samples. */
static uint8_t bases[2][STORE_MAX], image[STORE_MAX];
static size_t base_sizes[2], base_size;

/* The stack of each fifth event is as deep as its number says. */
static size_t fake_stack(struct spur_trace *t, const struct spur_event *ev, uint32_t *cls,
			 size_t cap)
{
	const size_t n = ev->off % 5 ? 0 : ev->off / 16 % 9;

	for (size_t i = 0; i < n && i < cap; i++)
		cls[i] = 1 + (uint32_t)(ev->off / 16 + i) % (trace_class_count(t) - 1);
	return n;
}

/* Rows of two threads with calls, time off the CPU, SPANs, events and counters. */
static size_t make_rows(struct spur_trace *t, struct spur_event *rows)
{
	uint32_t classes[8], depth[2] = { 0, 0 };
	int64_t ts = 1000;

	for (unsigned i = 0; i < 8; i++) {
		const struct event_class c = { .name = trace_intern(t, &"abcdefgh"[i]), .addr = i };

		classes[i] = trace_add_class(t, &c);
	}
	for (size_t i = 0; i < ROWS; i++) {
		const uint32_t track = i / 64 % 2, random = (uint32_t)(i * 2654435761u >> 7);
		struct spur_event *row = &rows[i];

		ts += random % 3;
		*row = (struct spur_event){ .ts = ts,
					    .off = 16 * i,
					    .len = 16,
					    .id = random % 8,
					    .track = track,
					    .cls = classes[random % 8],
					    .kind = SPUR_BEGIN };
		if (random / 8 % 3 == 0 && depth[track]) {
			row->kind = SPUR_END_SPAN;
			row->flags = SPUR_F_ANY;
			depth[track]--;
		} else if (random / 8 % 7 == 1) {
			row->kind = SPUR_COUNTER;
			row->nargs = 1;
		} else if (random / 8 % 7 == 2) {
			row->kind = SPUR_INSTANT;
		} else if (depth[track] < 20) {
			depth[track]++;
		} else {
			row->kind = SPUR_SPAN;
			row->dur = random % 5;
		}
	}
	return ROWS;
}

static void make_base(unsigned number)
{
	static struct spur_event rows[ROWS];
	struct spur_format format = fake_format;
	char path[] = "/tmp/fuzz_store.XXXXXX";
	struct spur_trace *t = fake_trace_new();
	struct store_writer *w;
	struct spur_error err;
	size_t n;
	FILE *f;
	const int fd = mkstemp(path);

	require(t && fd >= 0);
	trace_add_track(t, (struct spur_track){ .parent = SPUR_NONE, .tid = 1, .cpu = -1 });
	trace_add_track(t, (struct spur_track){ .parent = 0, .tid = 2, .cpu = -1 });
	n = make_rows(t, rows);
	format.stack = fake_stack;
	for (size_t i = 0; number && i < n; i++)
		if (rows[i].kind == SPUR_INSTANT)
			rows[i].kind = SPUR_SAMPLE;
	t->format = &format;
	t->nfeeds = 0;
	require(store_writer_new(&w, t, path, 1, &err) == SPUR_OK);
	require(store_worker_begin(store_writer_worker(w, 0), NULL));
	require(store_worker_order(store_writer_worker(w, 0), rows, n));
	require(store_worker_rows(store_writer_worker(w, 0), rows, n));
	require(store_worker_end(store_writer_worker(w, 0)));
	require(store_writer_finish(w, "fuzz", &err) == SPUR_OK);
	store_writer_free(w);
	fake_trace_free(t);
	f = fopen(path, "rb");
	base_sizes[number] = fread(bases[number], 1, STORE_MAX, f);
	fclose(f);
	close(fd);
	unlink(path);
	require(base_sizes[number] > STORE_HEAD && base_sizes[number] < STORE_MAX);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	for (unsigned i = 0; i < 2; i++)
		make_base(i);
	(void)argc;
	(void)argv;
	return 0;
}

/* Makes the sums of blocks, sections and the head right. */
static void image_sums(void)
{
	struct store_head *h = (struct store_head *)(void *)image;
	const struct store_section *nodes = &h->sections[STORE_SEC_NODES];

	h->size = base_size;
	for (uint64_t i = 0; nodes->at % 8 == 0 && nodes->at < base_size &&
			     i < (base_size - nodes->at) / sizeof(struct store_node);
	     i++) {
		struct store_node *n = (struct store_node *)(void *)(image + nodes->at) + i;
		const size_t size = n->units * (size_t)8;

		if (i < nodes->size / sizeof(*n) && n->n && n->at < base_size &&
		    size <= base_size - n->at)
			n->sum = store_sum_of(image + n->at, size);
	}
	for (unsigned i = 0; i < STORE_SECTIONS; i++) {
		struct store_section *k = &h->sections[i];

		k->sum = 0;
		for (uint64_t at = 0;
		     k->at <= base_size && k->size <= base_size - k->at && at < k->size;
		     at += SECTION_PIECE)
			k->sum = section_sum(k->sum, image + k->at + at,
					     k->size - at < SECTION_PIECE ? k->size - at
									  : SECTION_PIECE);
	}
	h->sum = store_sum_of(h, offsetof(struct store_head, sum));
}

/* Reads single items, pictures and searches. */
static void store_read(struct store *s)
{
	const struct store_facts f = store_facts(s);
	struct store_query q = { .least = 2, .from = INT64_MIN, .to = INT64_MAX };
	struct store_rects rects = { 0 };
	struct store_points points = { 0 };
	struct store_place place;
	struct store_call calls[5];
	struct store_label label;
	struct store_track track;
	int64_t firsts[3];
	uint64_t count;
	size_t n;

	for (uint32_t l = 0; l < f.lanes; l++) {
		struct store_lane lane;
		struct store_item item;
		struct spur_event row;

		require(store_lane(s, l, &lane));
		sink += store_lane_at(s, lane.track, lane.depth);
		sink += (unsigned)store_string(s, lane.arg).p[0];
		for (uint64_t i = 0; i < lane.items && i < 18; i++) {
			sink += store_item(s, l, i, &item);
			sink += store_row(s, l, i, false, &row) + store_row(s, l, i, true, &row);
			if (i % 9)
				continue;
			sink += (unsigned)store_parent(s, l, i) + (unsigned)store_self(s, l, i);
			sink += (unsigned)store_seek(s, l, item.start);
		}
		for (unsigned shift = 0; shift < 60; shift += 19) {
			store_tile(s, l, lane.start - 5, shift, &rects);
			store_curve(s, l, lane.start, shift, &points);
		}
		rects.n = 0;
	}
	for (uint32_t i = 0; i < f.labels; i++)
		sink += store_label(s, i, &label) ? (unsigned)label.name.p[label.name.len] : 0;
	for (uint32_t i = 0; i < f.tracks; i++)
		sink += store_track(s, i, &track) ? (unsigned)track.name.p[track.name.len] : 0;
	store_survey(s, &q, 1000, 7, firsts, 3, &count);
	store_longest(s, &q, calls, 5, &n);
	store_next(s, &q, NULL, true, &place);
	store_next(s, &q, NULL, false, &place);
	sink += (unsigned)count + (unsigned)n + (unsigned)strlen(store_identity(s));
	store_rects_free(&rects);
	store_points_free(&points);
}

static void stacks_read(const struct store *s)
{
	struct store_stack k;

	for (uint64_t i = 0; store_stack(s, i, &k); i++) {
		require(k.n && k.track < store_facts(s).tracks);
		for (uint32_t n = 0; n < k.n; n++)
			require(k.labels[n] < store_facts(s).labels);
		sink += (unsigned)store_stack_from(s, k.track, k.ts);
	}
}

/* Reads its rows, as analyses of a range do. */
static void store_rows(struct store *s, bool range)
{
	struct spur_event rows[64];
	struct spur_error err;
	struct spur_trace *t;
	size_t n = 0;

	if (!store_has_calls(s) || store_is_damaged(s)) {
		store_close(s);
		return;
	}
	if (store_trace_open(&t, s, "fuzz", NULL, &err) == SPUR_FAIL)
		return;
	if (range)
		trace_want(t, 1100, 1500);
	for (size_t i = 0; i < t->nfeeds; i++) {
		struct batch b = { .rows = rows, .cap = 64 };

		while (n < 4 * ROWS && t->format->next(t, t->feeds[i], &b) == SPUR_OK) {
			for (uint32_t k = 0; k < b.count; k++) {
				require(rows[k].cls < trace_class_count(t) || !rows[k].cls);
				require(rows[k].track < trace_track_count(t));
				require(rows[k].kind < SPUR_KINDS);
				trace_process_of(t, rows[k].track);
			}
			n += b.count;
			b.count = 0;
		}
	}
	trace_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spur_error err;
	struct store *s;
	char path[64];
	int fd;

	base_size = base_sizes[size / 4 % 2];
	memcpy(image, bases[size / 4 % 2], base_size);
	/* Three bytes say where, one says what. */
	for (size_t i = 0; i + 4 <= size; i += 4)
		image[(data[i] | (size_t)data[i + 1] << 8 | (size_t)data[i + 2] << 16) %
		      base_size] = data[i + 3];
	image_sums();
	fd = memfd_create("store", MFD_CLOEXEC);
	require(fd >= 0 && write(fd, image, base_size) == (ssize_t)base_size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (store_open(&s, path, &err) != SPUR_FAIL) {
		store_read(s);
		stacks_read(s);
		store_rows(s, size % 2);
	}
	close(fd);
	return 0;
}
