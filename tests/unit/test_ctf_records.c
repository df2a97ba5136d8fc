/*
 * What writers need of CTF: places, raw times, schemas, origins and bookkeeping rows. Laws over
 * every golden, damaged input and recorded trace; places, times and schemas worked out by hand for
 * small ones.
 */
#include "unit/ctf_small.h"

#include <dirent.h>

#include "format/format.h"

enum { PATH = 1000 };

/* Where a record stands, in bits, and its row. */
struct stand {
	uint64_t from, to;
	uint32_t stream;
	struct spur_event row;
};

struct rows {
	struct spur_trace *t;
	struct spur_event *items;
	size_t count, cap;
};

static bool rows_read(struct rows *r, const char *path, struct spur_options opt)
{
	const struct spur_event *rows;
	size_t n;

	*r = (struct rows){ 0 };
	opt.format = "ctf";
	opt.threads = 1;
	if (spur_open(&r->t, path, &opt, NULL) == SPUR_FAIL)
		return false;
	while (spur_next(r->t, &rows, &n) == SPUR_OK) {
		assert_true(mem_grow((void **)&r->items, &r->cap, r->count + n, sizeof(*r->items),
				     1 << 28));
		memcpy(r->items + r->count, rows, n * sizeof(*rows));
		r->count += n;
	}
	return true;
}

static void rows_close(struct rows *r)
{
	mem_free(r->items);
	spur_close(r->t);
}

static bool is_packet(const struct rows *r, const struct spur_event *row)
{
	return row->kind == SPUR_NATIVE &&
	       strcmp(spur_string(r->t, row->name, NULL), "packet") == 0;
}

/* --- bookkeeping --- */

/* Ids depend on what was read first; all else is equal. */
static void same_row(const struct rows *a, const struct spur_event *x, const struct rows *b,
		     const struct spur_event *y)
{
	struct spur_event p = *x, q = *y;

	assert_string_equal(spur_string(a->t, p.name, NULL), spur_string(b->t, q.name, NULL));
	assert_string_equal(spur_string(a->t, p.cat, NULL), spur_string(b->t, q.cat, NULL));
	assert_int_equal(spur_track(a->t, p.track)->tid, spur_track(b->t, q.track)->tid);
	p.name = p.cat = p.cls = p.track = q.name = q.cat = q.cls = q.track = 0;
	assert_memory_equal(&p, &q, sizeof(p));
}

/*
 * SPEC ctf/bookkeeping: without packets the rows are those by time; a packet has the time of the
 * row before it.
 */
static void law_bookkeeping(const struct rows *plain, const struct rows *all)
{
	size_t n = 0, packets = 0;

	for (size_t i = 0; i < all->count; i++) {
		if (is_packet(all, &all->items[i])) {
			packets++;
			continue;
		}
		assert_true(n < plain->count);
		same_row(plain, &plain->items[n++], all, &all->items[i]);
	}
	assert_int_equal(n, plain->count);
	assert_true(packets || !n);
	for (size_t i = 0; i < all->t->nfeeds; i++) {
		const uint32_t stream = all->t->feeds[i]->stream;
		int64_t last = INT64_MIN;

		for (size_t k = 0; stream != SPUR_NONE && k < all->count; k++) {
			const struct spur_event *row = &all->items[k];

			if (row->stream != stream)
				continue;
			if (is_packet(all, row) && last != INT64_MIN && row->ts != last)
				fail_msg("%s:0x%llx: packet at %lld, behind a row at %lld",
					 spur_stream(all->t, stream)->path,
					 (unsigned long long)row->off, (long long)row->ts,
					 (long long)last);
			last = row->ts;
		}
	}
}

/* --- places --- */

static int by_place(const void *a, const void *b)
{
	const struct stand *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/*
 * The file of a stream, whole; NULL if it is not read as it is (archives, packed files, ring
 * buffers).
 */
static uint8_t *file_bytes(const struct rows *r, uint32_t stream, size_t *size)
{
	const struct spur_stream *s = spur_stream(r->t, stream);
	char path[2 * PATH];
	uint8_t *p;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", r->t->path, s->path);
	f = fopen(path, "rb");
	if (!f)
		return NULL;
	p = malloc(s->size + 1);
	assert_non_null(p);
	*size = fread(p, 1, s->size + 1, f);
	fclose(f);
	if (*size == s->size && (*size < 4 || memcmp(p, "\x17\x7b\xf1\x77", 4) != 0))
		return p;
	free(p);
	return NULL;
}

/*
 * A number of a packet's header or context by the end of its path. Returns false if it lacks that.
 */
static bool head_number(const struct rows *r, const struct spur_event *row, const char *name,
			uint64_t *out)
{
	struct spur_args args = { 0 };
	bool found = false;

	assert_int_not_equal(r->t->format->fields(r->t, row, &args), SPUR_FAIL);
	for (size_t i = 0; i < args.count; i++) {
		const char *path = spur_string(r->t, args.items[i].name, NULL);
		const size_t len = strlen(path), tail = strlen(name);

		if (len > tail && strcmp(path + len - tail, name) == 0) {
			*out = args.items[i].items[2].u;
			found = true;
		}
	}
	spur_args_free(&args);
	return found;
}

/*
 * SPEC ctf/record-place: padding is what a packet says behind its content; `end`: where the next
 * record begins.
 */
static void check_padding(const struct rows *r, const struct stand *packet, uint64_t behind,
			  uint64_t end)
{
	uint64_t content, size, scheme;

	/* What was packed stands in the stream as it is when unpacked. */
	if ((head_number(r, &packet->row, ".compression_scheme", &scheme) && scheme) ||
	    (head_number(r, &packet->row, ".encryption_scheme", &scheme) && scheme))
		return;
	if (!head_number(r, &packet->row, ".content_size", &content) ||
	    !head_number(r, &packet->row, ".packet_size", &size))
		return;
	/* SPEC ctf/sizes: of RFC v1.1 bytes, of others bits. */
	if (strcmp(r->t->version, "RFC v1.1") == 0) {
		content *= 8;
		size *= 8;
	}
	/* Rows of whole bytes end with the byte that their event ends in. */
	assert_true(packet->from + content <= behind && behind < packet->from + content + 8);
	assert_true(!end || packet->from + size == end);
}

/*
 * The places of a stream's rows tile it: none overlaps another, and nothing but padding is between.
 */
static void law_tiles(const struct rows *r, const struct stand *s, size_t n, bool good)
{
	const struct stand *packet = NULL;
	uint64_t at = 0;

	for (size_t i = 0; i < n; i++) {
		/* A switch is one record and two rows. */
		if (i && s[i].from == s[i - 1].from && s[i].to == s[i - 1].to)
			continue;
		assert_true(s[i].from >= at);
		if (is_packet(r, &s[i].row)) {
			if (packet && good)
				check_padding(r, packet, at, s[i].from);
			else if (good)
				assert_int_equal(s[i].from, 0);
			packet = &s[i];
		} else if (good) {
			assert_int_equal(s[i].from, at);
		}
		at = s[i].to;
	}
	if (packet && good)
		check_padding(r, packet, at, 0);
}

static void law_places(const struct rows *r, bool good, bool as_file)
{
	struct stand *all = malloc((r->count + 1) * sizeof(*all));
	uint32_t stream = SPUR_NONE;
	uint8_t *bytes_of = NULL;
	size_t n = 0, size = 0;

	assert_non_null(all);
	for (size_t i = 0; i < r->count; i++) {
		const struct spur_event *row = &r->items[i];
		const struct spur_place p = format_place(r->t, row);

		assert_int_equal(p.stream, row->stream);
		assert_true(p.origin < r->t->norigins);
		if (row->kind == SPUR_LOST) {
			assert_true(!p.len && !p.bits && !p.raw);
			continue;
		}
		/* Packets may do without header and context. */
		assert_true(p.bits || is_packet(r, row));
		assert_int_equal(p.len, (p.first_bit + p.bits + 7) / 8);
		assert_true(p.raw || !p.len);
		all[n++] = (struct stand){ .from = 8 * p.off + p.first_bit,
					   .to = 8 * p.off + p.first_bit + p.bits,
					   .stream = p.stream,
					   .row = *row };
	}
	qsort(all, n, sizeof(*all), by_place);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && all[k].stream == all[i].stream;)
			k++;
		law_tiles(r, all + i, k - i, good);
	}
	for (size_t i = 0; as_file && i < n; i++) {
		const struct spur_place p = format_place(r->t, &all[i].row);

		if (p.stream != stream) {
			free(bytes_of);
			bytes_of = file_bytes(r, stream = p.stream, &size);
		}
		if (!bytes_of)
			continue;
		assert_true(p.off <= size && p.len <= size - p.off);
		if (p.len)
			assert_memory_equal(p.raw, bytes_of + p.off, p.len);
	}
	free(bytes_of);
	free(all);
}

/* --- ticks --- */

static int by_record(const void *a, const void *b)
{
	const struct spur_event *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->flags < y->flags ? -1 : x->flags > y->flags;
}

/* SPEC ctf/ticks: what rows have for their times where times are raw. */
static void law_ticks(struct rows *plain, struct rows *raw_rows)
{
	assert_int_equal(plain->count, raw_rows->count);
	if (!plain->count)
		return;
	qsort(plain->items, plain->count, sizeof(*plain->items), by_record);
	qsort(raw_rows->items, raw_rows->count, sizeof(*raw_rows->items), by_record);
	for (size_t i = 0; i < plain->count; i++) {
		const struct spur_event *x = &plain->items[i], *y = &raw_rows->items[i];
		uint64_t a[2] = { 0 }, b[2] = { 0 };

		assert_true(x->off == y->off && x->kind == y->kind);
		if (x->kind == SPUR_LOST) {
			assert_false(plain->t->format->ticks(plain->t, x, a));
			continue;
		}
		if (!plain->t->format->ticks(plain->t, x, a)) {
			assert_true((x->flags & SPUR_F_RETIMED) ||
				    !plain->t->origins[format_place(plain->t, x).origin].hz);
			continue;
		}
		assert_true(raw_rows->t->format->ticks(raw_rows->t, y, b));
		assert_true(a[0] == a[1] && b[0] == b[1]);
		assert_int_equal(a[0], b[0]);
		if (a[0] <= INT64_MAX)
			assert_int_equal(a[0], y->ts);
	}
}

/* --- schemas --- */

static bool value_fits(const struct spur_field *f, const struct spur_value *v, bool has_name);

static bool items_fit(const struct spur_field *f, const struct spur_value *v)
{
	if (v->type == SPUR_ARRAY) {
		if (f->nitems != 1 || (f->count && v->count > f->count))
			return false;
		for (uint32_t i = 0; i < v->count; i++)
			if (!value_fits(f->items, &v->items[i], false))
				return false;
		return true;
	}
	if (v->count > f->nitems)
		return false;
	for (uint32_t i = 0, k = 0; i < v->count; i++, k++) {
		while (k < f->nitems && f->items[k].optional &&
		       f->items[k].name != v->items[i].name)
			k++;
		if (k == f->nitems || !value_fits(&f->items[k], &v->items[i], true))
			return false;
	}
	return true;
}

static bool label_fits(const struct spur_field *f, const struct spur_value *v)
{
	for (uint32_t i = 0; i < f->nlabels; i++)
		if (strcmp(f->labels[i].name, v->label) == 0 &&
		    (f->is_flags || (f->is_signed ? f->labels[i].low <= v->i &&
							    v->i <= f->labels[i].high
						  : (uint64_t)f->labels[i].low <= v->u &&
							    v->u <= (uint64_t)f->labels[i].high)))
			return true;
	return strchr(v->label, '|') != NULL;
}

static bool value_fits(const struct spur_field *f, const struct spur_value *v, bool has_name)
{
	if (v->name != (has_name ? f->name : 0))
		return false;
	if (f->type == SPUR_NULL || (f->optional && v->type == SPUR_NULL))
		return true;
	if (f->type == SPUR_ENUM && v->type != SPUR_ENUM)
		return v->type == (f->is_signed ? SPUR_I64 : SPUR_U64);
	if (f->type != v->type || (f->show != v->show))
		return false;
	if (v->size && f->bits && v->type != SPUR_BOOL && v->size != f->bits / 8)
		return false;
	if (v->type == SPUR_ENUM)
		return label_fits(f, v);
	if (v->type == SPUR_STRUCT || v->type == SPUR_ARRAY)
		return items_fit(f, v);
	if (v->type == SPUR_BYTES && f->count)
		return v->count == f->count;
	return v->type != SPUR_STRING || !f->count || v->count <= f->count;
}

/* Every value of a row is a field of its class, by name, type and order. */
static void law_schema(const struct rows *r, const struct spur_event *row, struct spur_args *args)
{
	const struct spur_schema *s = format_schema(r->t, row->cls);
	const bool end = row->kind == SPUR_END_SPAN;
	const struct spur_field *fields;
	uint32_t n, k = 0;

	assert_non_null(s);
	fields = end ? s->end : s->begin;
	n = end ? s->nend : s->nbegin;
	if (s->open || spur_args(r->t, row, args) != SPUR_OK)
		return;
	for (size_t i = 0; i < args->count; i++, k++) {
		while (k < n && fields[k].optional && fields[k].name != args->items[i].name)
			k++;
		if (k == n || !value_fits(&fields[k], &args->items[i], true))
			fail_msg("%s: %s of %s is not as its schema says", r->t->path,
				 spur_string(r->t, args->items[i].name, NULL),
				 spur_string(r->t, row->name, NULL));
	}
	for (; k < n; k++)
		assert_true(fields[k].optional);
}

/* --- all laws --- */

static unsigned open_schemas, schemas;

static void try_trace(const char *path, bool good, bool as_file)
{
	struct spur_args args = { 0 };
	struct rows plain, all, ticks;

	if (!rows_read(&plain, path, (struct spur_options)SPUR_OPTIONS()))
		return;
	assert_true(rows_read(&all, path, (struct spur_options)SPUR_OPTIONS(.bookkeeping = true)));
	assert_true(rows_read(&ticks, path, (struct spur_options)SPUR_OPTIONS(.raw_time = true)));
	print_message("%s: %zu rows\n", path, all.count);
	law_bookkeeping(&plain, &all);
	law_places(&all, good, as_file);
	for (size_t i = 0; i < all.count; i++)
		law_schema(&all, &all.items[i], &args);
	for (uint32_t i = 1; i < trace_class_count(all.t); i++) {
		schemas++;
		open_schemas += format_schema(all.t, i)->open;
	}
	law_ticks(&plain, &ticks);
	spur_args_free(&args);
	rows_close(&plain);
	rows_close(&all);
	rows_close(&ticks);
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

/* Rows of packed packets, which RFC v1.1 has, stand where they are when all is unpacked. */
static bool may_be_packed(const char *name)
{
	return strncmp(name, "v11-", 4) == 0 || strncmp(name, "v1.1-", 5) == 0;
}

static size_t try_all(const char *folder, const char *below, bool good)
{
	/* Events or packets are cut, left over in a ring buffer, or stand in several files. */
	static const char *const odd[] = { "lttng213-archive-odd", "lttng213-snapshots",
					   "lttng213-ring-buffer", "lttng213-crash",
					   "v11-encrypted",	   NULL };
	DIR *d = opendir(folder);
	const struct dirent *e;
	char path[PATH];
	size_t n = 0;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s%s", folder, e->d_name, below);
		if (access(path, R_OK) != 0)
			continue;
		try_trace(path, good && !is_one_of(e->d_name, odd), !may_be_packed(e->d_name));
		n++;
	}
	if (d)
		closedir(d);
	return n;
}

static void test_goldens(void **state)
{
	(void)state;
	assert_true(try_all("tests/golden/ctf", "/in", true) > 20);
	/* Most schemas say all; those of a name that several events have do not. */
	print_message("%u of %u schemas are open\n", open_schemas, schemas);
	assert_true(open_schemas * 10 < schemas);
}

static void test_damaged(void **state)
{
	(void)state;
	assert_true(try_all("tests/bad/ctf", "/in", false) > 50);
}

static void test_traces(void **state)
{
	static const char *const below[] = { "ctf", "peer/ctf/bt-traces", "peer/ctf/actf-ctf2" };
	const char *traces = getenv("SPUR_TRACES");
	char path[PATH];
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", traces ? traces : "../shared/traces",
			 below[i]);
		n += try_all(path, "", false);
	}
	if (!n) {
		print_message("no recorded traces: set SPUR_TRACES\n");
		skip();
	}
}

/* --- by hand --- */

static void read_small(struct rows *r)
{
	assert_true(rows_read(r, dir, (struct spur_options)SPUR_OPTIONS(.bookkeeping = true)));
}

static void expect_place(const struct rows *r, size_t row, uint64_t off, unsigned first_bit,
			 uint64_t bits, const char *raw_bytes)
{
	const struct spur_place p = format_place(r->t, &r->items[row]);

	assert_true(row < r->count);
	assert_int_equal(p.off, off);
	assert_int_equal(p.first_bit, first_bit);
	assert_int_equal(p.bits, bits);
	assert_int_equal(p.len, (first_bit + bits + 7) / 8);
	if (raw_bytes)
		assert_memory_equal(p.raw, raw_bytes, p.len);
}

/* SPEC ctf/record-place: of whole bytes. The head of a small packet has 56 bytes. */
static void test_byte_places(void **state)
{
	struct rows r;

	(void)state;
	put_text("metadata", PLAIN);
	packet(5, 20, 0);
	event(10, 7);
	text_event(11, "ab");
	packet_end(10);
	packet(21, 30, 1);
	event(25, 8);
	packet_end(0);
	put_bytes("s");
	read_small(&r);
	assert_int_equal(r.count, 5);
	expect_place(&r, 0, 0, 0, 8 * 56, NULL);
	expect_place(&r, 1, 56, 0, 8 * 4, "\0\x0A\0\x07");
	expect_place(&r, 2, 60, 0, 8 * 6, "\1\x0B\0ab");
	expect_place(&r, 3, 76, 0, 8 * 56, NULL);
	expect_place(&r, 4, 132, 0, 8 * 4, "\0\x19\0\x08");
	/*
	 * SPEC ctf/bookkeeping: the first packet has the time of its first event, the second that
	 * of the row before.
	 */
	assert_int_equal(r.items[0].ts, 10);
	assert_int_equal(r.items[3].ts, 11);
	rows_close(&r);
}

/*
 * SPEC ctf/record-place: of bits. 32 bits of context, then an event of 10 bits (id 1, 85) and one
 * of 8 (id 0, 9), from the least bit of each byte: A9 22 01.
 */
static void test_bit_places(void **state)
{
	struct rows r;

	(void)state;
	dir_empty();
	put_text("metadata",
		 "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n"
		 "typealias integer { size = 16; align = 8; } := u16;\n"
		 "stream { packet.context := struct { u16 content_size; u16 packet_size; }; "
		 "event.header := struct { integer { size = 3; align = 1; } id; }; };\n"
		 "event { name = a; id = 0; fields := struct { integer { size = 5; align = 1; } v; "
		 "}; };\n"
		 "event { name = b; id = 1; fields := struct { integer { size = 7; align = 1; } v; "
		 "}; };\n");
	u16(50);
	u16(64);
	raw("\xA9\x22\x01\0", 4);
	put_bytes("s");
	read_small(&r);
	assert_int_equal(r.count, 3);
	expect_place(&r, 0, 0, 0, 32, "\x32\0\x40\0");
	expect_place(&r, 1, 4, 0, 10, "\xA9\x22");
	expect_place(&r, 2, 5, 2, 8, "\x22\x01");
	assert_false(r.t->format->ticks(r.t, &r.items[1], (uint64_t[2]){ 0 }));
	rows_close(&r);
}

/* SPEC ctf/ticks: 2.5 GHz: cycles 1000005 and 1000007 are 400002 ns both. SPEC ctf/origins */
static void test_ticks(void **state)
{
	uint64_t ticks[2];
	struct rows r;

	(void)state;
	dir_empty();
	put_text("metadata", SMALL("env { hostname = \"box\"; tracer_name = \"tracer\"; };",
				   "freq = 2500000000;", ""));
	packet(1000001, 2000000, 0);
	event(1000005 & 0xFFFF, 1);
	event(1000007 & 0xFFFF, 2);
	packet_end(0);
	put_bytes("s");
	read_small(&r);
	assert_int_equal(r.count, 3);
	assert_true(r.t->format->ticks(r.t, &r.items[0], ticks));
	assert_int_equal(ticks[0], 1000001);
	for (size_t i = 1; i < 3; i++) {
		assert_int_equal(r.items[i].ts, 400002);
		assert_true(r.t->format->ticks(r.t, &r.items[i], ticks));
		assert_int_equal(ticks[0], 1000003 + 2 * i);
		assert_int_equal(ticks[1], ticks[0]);
	}
	assert_int_equal(r.t->norigins, 1);
	assert_string_equal(spur_string(r.t, r.t->origins[0].name, NULL), "tracer");
	assert_int_equal(r.t->origins[0].byte_order, 'l');
	assert_int_equal(r.t->origins[0].hz, 2500000000);
	assert_true(r.t->origins[0].clock_shared);
	rows_close(&r);
}

/* SPEC ctf/ticks: times that rows have no room for. */
static void test_far_ticks(void **state)
{
	uint64_t ticks[2];
	struct rows r;

	(void)state;
	put_text("metadata", SMALL("", "freq = 1000;", ""));
	packet(UINT64_C(1) << 62, UINT64_C(1) << 63, 0);
	event(3, 1);
	event(9, 2);
	packet_end(0);
	put_bytes("s");
	read_small(&r);
	assert_int_equal(r.count, 3);
	assert_int_equal(r.items[2].ts, INT64_MAX);
	assert_true(r.t->format->ticks(r.t, &r.items[2], ticks));
	assert_int_equal(ticks[0], (UINT64_C(1) << 62) + 9);
	rows_close(&r);
}

/*
 * SPEC ctf/origins: of two traces, of either byte order; a clock that no other trace counts by is
 * not shared.
 */
static void test_origins(void **state)
{
	struct rows r;

	(void)state;
	dir_empty();
	put_text("a/metadata", PLAIN);
	packet(5, 20, 0);
	event(10, 7);
	packet_end(0);
	put_bytes("a/s");
	big = true;
	put_text("b/metadata", SMALL_UUID("be", "99112233-4455-6677-8899-aabbccddeeff",
					  "env { hostname = \"box\"; };", "freq = 1000;", ""));
	packet(5, 20, 0);
	head(AT_UUID, 0x99112233, 4);
	event(10, 7);
	packet_end(0);
	put_bytes("b/s");
	big = false;
	read_small(&r);
	assert_int_equal(r.t->norigins, 2);
	assert_int_equal(r.t->origins[0].byte_order, 'l');
	assert_int_equal(r.t->origins[1].byte_order, 'b');
	assert_string_equal(spur_string(r.t, r.t->origins[1].name, NULL), "box");
	assert_true(r.t->origins[0].clock_shared && !r.t->origins[1].clock_shared);
	for (size_t i = 0; i < r.count; i++)
		assert_int_equal(format_place(r.t, &r.items[i]).origin,
				 r.t->streams[r.items[i].stream].path[0] == 'b');
	rows_close(&r);
	dir_empty();
}

/*
 * SPEC ctf/origins: of three traces of equal clocks but for the offset; only the two whose ticks
 * mean the same times share an origin. Times are the offset's and the tick's ms.
 */
static void test_offset_origins(void **state)
{
	static const char *const paths[] = { "a", "b", "c" };
	static const int64_t seconds[] = { 100, 250, 100 };
	struct rows r;

	(void)state;
	dir_empty();
	for (size_t i = 0; i < 3; i++) {
		char text[4096], clock[64], file[16], uuid[64];

		snprintf(clock, sizeof(clock), "freq = 1000; offset_s = %d;", (int)seconds[i]);
		snprintf(uuid, sizeof(uuid), "a%zu112233-4455-6677-8899-aabbccddeeff", i);
		snprintf(text, sizeof(text),
			 SMALL_UUID("le", "%s", "env { hostname = \"box\"; };", "%s", ""), uuid,
			 clock);
		snprintf(file, sizeof(file), "%s/metadata", paths[i]);
		put_text(file, text);
		packet(5, 20, 0);
		head(AT_UUID, UINT64_C(0x332211A0) + i, 4);
		event((unsigned)(10 + i), 7);
		packet_end(0);
		snprintf(file, sizeof(file), "%s/s", paths[i]);
		put_bytes(file);
	}
	read_small(&r);
	assert_int_equal(r.t->norigins, 2);
	assert_true(r.t->origins[0].clock_shared && !r.t->origins[1].clock_shared);
	for (size_t i = 0; i < r.count; i++) {
		const size_t k = (size_t)(r.t->streams[r.items[i].stream].path[0] - 'a');
		uint64_t ticks[2];

		assert_int_equal(format_place(r.t, &r.items[i]).origin, k == 1);
		assert_true(r.t->format->ticks(r.t, &r.items[i], ticks));
		if (r.items[i].kind == SPUR_NATIVE)
			continue;
		assert_int_equal(ticks[0], 10 + k);
		assert_int_equal(r.items[i].ts, (seconds[k] - seconds[0]) * 1000000000 +
							(10 + (int64_t)k) * 1000000);
	}
	rows_close(&r);
	dir_empty();
}

static void say_fields(const struct rows *r, const struct spur_field *f, uint32_t n)
{
	static const char *const types[] = {
		[SPUR_NULL] = "null",	  [SPUR_I64] = "i64",	[SPUR_U64] = "u64",
		[SPUR_F64] = "f64",	  [SPUR_BOOL] = "bool", [SPUR_STRING] = "string",
		[SPUR_BYTES] = "bytes",	  [SPUR_ENUM] = "enum", [SPUR_STRUCT] = "struct",
		[SPUR_ARRAY] = "array",
	};

	for (uint32_t i = 0; i < n; i++) {
		out_printf(&seen, "%s%s%s:%s", i ? " " : "", spur_string(r->t, f[i].name, NULL),
			   f[i].optional ? "?" : "", types[f[i].type]);
		if (f[i].bits)
			out_printf(&seen, "%u", f[i].bits);
		if (f[i].count)
			out_printf(&seen, "[%u]", f[i].count);
		for (uint32_t k = 0; k < f[i].nlabels; k++)
			out_printf(&seen, "%c%s=%lld..%lld", k ? ',' : '{', f[i].labels[k].name,
				   (long long)f[i].labels[k].low, (long long)f[i].labels[k].high);
		out_str(&seen, f[i].nlabels ? "}" : "");
		if (f[i].nitems) {
			out_char(&seen, '(');
			say_fields(r, f[i].items, f[i].nitems);
			out_char(&seen, ')');
		}
	}
}

static void expect_schema(const struct rows *r, size_t row, const char *begin, const char *end)
{
	const struct spur_schema *s = format_schema(r->t, r->items[row].cls);

	assert_non_null(s);
	assert_false(s->open);
	out_clear(&seen);
	say_fields(r, s->begin, s->nbegin);
	out_str(&seen, " / ");
	say_fields(r, s->end, s->nend);
	out_char(&seen, '\0');
	out_char(&bytes, '\0');
	out_clear(&bytes);
	out_printf(&bytes, "%s / %s", begin, end);
	out_char(&bytes, '\0');
	assert_string_equal(seen.buf, bytes.buf);
	out_clear(&bytes);
}

/* An event of each class that is asked for, and a stream with a loss. */
static void put_schema_streams(void)
{
	packet(5, 20, 0);
	u8(3);
	u16(10);
	u8(1);
	u8(2);
	u16(11);
	u32(9);
	u8(2);
	u16(77);
	raw("x", 2);
	raw("abc", 3);
	u8(1);
	u16(3);
	u8(1);
	u32(4);
	u8(5);
	u8(0);
	packet_end(0);
	put_bytes("s");
	packet_at = 0;
	packet(5, 20, 0);
	head(AT_INSTANCE, 1, 4);
	head(AT_DISCARDED, 0, 1);
	packet_end(0);
	packet(25, 30, 1);
	head(AT_INSTANCE, 1, 4);
	head(AT_DISCARDED, 2, 1);
	packet_end(0);
	put_bytes("lossy");
}

/* SPEC ctf/schema, SPEC ctf/schema-variant */
static void test_schema(void **state)
{
	struct rows r;

	(void)state;
	put_text("metadata",
		 SMALL("", "",
		       "event { name = g; id = 2; stream_id = 3; context := struct { u32 prio; }; "
		       "fields := struct { enum : u8 { A = 1, B = 2 ... 5 } kind; "
		       "struct { u16 x; string s; } in; u8 list[3]; u8 n; u16 seq[n]; "
		       "enum : u8 { one = 1, two } tag; "
		       "variant <tag> { u32 one; string two; } which; "
		       "variant <tag> { u8 one; u16 two; } same; "
		       "integer { size = 5; signed = true; align = 1; } bits; }; };\n"
		       "event { name = work_entry; id = 3; stream_id = 3; fields := struct { u8 a; "
		       "}; };\n"
		       "event { name = work_exit; id = 4; stream_id = 3; fields := struct { u16 b; "
		       "}; };\n"));
	put_schema_streams();
	read_small(&r);
	for (size_t i = 0; i < r.count; i++) {
		const char *name = spur_string(r.t, r.items[i].name, NULL);

		if (strcmp(name, "g") == 0)
			expect_schema(&r, i,
				      "prio:u6432 kind:enum8{A=1..1,B=2..5} in:struct(x:u6416 "
				      "s:string) list:array[3](:u648) n:u648 seq:array(:u6416) "
				      "tag:enum8{one=1..1,two=2..2} which:null same:u64 bits:i645",
				      "");
		else if (strcmp(name, "work") == 0)
			expect_schema(&r, i, "a:u648", "b:u6416");
		else if (r.items[i].kind == SPUR_LOST)
			expect_schema(&r, i, "count:u64", "");
		else
			expect_schema(&r, i, "", "");
	}
	assert_int_equal(r.count, 6);
	rows_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_byte_places),
		cmocka_unit_test(test_bit_places),
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_far_ticks),
		cmocka_unit_test(test_origins),
		cmocka_unit_test(test_offset_origins),
		cmocka_unit_test(test_schema),
		cmocka_unit_test(test_goldens),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_traces),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_remove);
}
