/*
 * pprof: the profile format of `go tool pprof` and its relatives (profile.proto in the public
 * github.com/google/pprof), a protobuf message packed by gzip. Calls are summed by path: a sample
 * for each path of each thread has the number of its calls and their self time in ns; ids and names
 * of process and thread are its labels.
 *
 * Fields of a message may come in any order, so samples are written first and the tables that they
 * refer to, whose entries are numbered as they are met, after them.
 */
#include <zlib.h>

#include "export/perfetto/pb.h"
#include "export/profile/stacks.h"

enum {
	PACKED = 32 << 10, /* bytes that are written at once */
	GZIP_WINDOW = 15 + 16, /* zlib: 32 KiB, with gzip's head and tail */
	GZIP_LEVEL = 1, /* profiles pack well enough at the quickest level */
	GZIP_MEMORY = 8,
	LIMIT = 1 << 27,
	TEXT_MAX = 16 << 20, /* bytes of a name */
};

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9, /* ns since 1970 */
	PROFILE_DURATION = 10, /* ns */
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,

	VALUE_TYPE = 1,
	VALUE_UNIT = 2,

	SAMPLE_LOCATION = 1, /* packed, the innermost first */
	SAMPLE_VALUE = 2, /* packed, one for each sample type */
	SAMPLE_LABEL = 3,

	LABEL_KEY = 1,
	LABEL_STRING = 2,
	LABEL_NUMBER = 3,

	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,

	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_LINE = 4,

	LINE_FUNCTION = 1,
	LINE_NUMBER = 2,

	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	/* 3, the linker's name: pprof shortens the shown name if that is the same. */
	FUNCTION_FILE = 4,
	FUNCTION_START_LINE = 5,
};

enum reason { LOST_PATH = LOSS_OWN, LOST_DEEP };
static const struct loss_reason reasons[] = {
	{ LOSS_DEGRADED, "too many different stacks: summed in (other)" },
	{ LOSS_DEGRADED, "the stack is deeper than 4,096 calls: summed in (deeper)" },
};

/* The first strings of the table, by the numbers that the messages have. */
enum word {
	WORD_NONE,
	WORD_CALLS,
	WORD_COUNT,
	WORD_TIME,
	WORD_NS,
	WORD_PID,
	WORD_TID,
	WORD_PROCESS,
	WORD_THREAD,
	WORDS
};
static const char *const words[WORDS] = { "",	 "calls", "count",   "time",  "nanoseconds",
					  "pid", "tid",	  "process", "thread" };

/* Ids in the order in which they are numbered. */
struct numbers {
	uint32_t *of; /* by id: its number, from 1 on; 0: none yet */
	size_t of_cap;
	uint32_t *ids;
	size_t n, cap;
};

struct pprof {
	struct stacks stacks; /* must be the first */
	struct out text; /* of the message that is being made */
	struct numbers frames, strings, modules;
	z_stream gzip;
	bool packing; /* gzip is set up */
	bool failed; /* out of memory */
};

/* --- packing --- */

static voidpf gzip_alloc(voidpf self, uInt n, uInt size)
{
	(void)self;
	return mem_array(n, size);
}

static void gzip_free(voidpf self, voidpf p)
{
	(void)self;
	mem_free(p);
}

/* Packs what is in p->text, and empties it. */
static void pack(struct pprof *p, int flush)
{
	struct out *o = p->stacks.write->out;
	int st;

	p->failed |= p->text.error != 0;
	p->gzip.next_in = (Bytef *)p->text.buf;
	p->gzip.avail_in = (uInt)p->text.len;
	do {
		char *w = out_room(o, PACKED);

		if (!w)
			break;
		p->gzip.next_out = (Bytef *)w;
		p->gzip.avail_out = PACKED;
		st = deflate(&p->gzip, flush);
		assert(st == Z_OK || st == Z_STREAM_END || st == Z_BUF_ERROR);
		o->len += PACKED - p->gzip.avail_out;
	} while (p->gzip.avail_out == 0);
	out_clear(&p->text);
}

/* Ends a message at the top level. */
static void message_end(struct pprof *p, size_t at)
{
	pb_close(&p->text, at);
	if (p->text.len >= PACKED || p->text.error)
		pack(p, Z_NO_FLUSH);
}

/* --- numbers --- */

/* Returns the number of an id from 1 on; 0: out of memory. */
static uint64_t number_of(struct pprof *p, struct numbers *n, uint32_t id)
{
	if (id < n->of_cap && n->of[id])
		return n->of[id];
	if (!mem_table_grow((void **)&n->of, &n->of_cap, (size_t)id + 1, sizeof(*n->of), LIMIT) ||
	    !mem_table_grow((void **)&n->ids, &n->cap, n->n + 1, sizeof(*n->ids), LIMIT)) {
		p->failed = true;
		return 0;
	}
	n->ids[n->n++] = id;
	return n->of[id] = (uint32_t)n->n;
}

static void numbers_free(struct numbers *n)
{
	mem_table_free(n->of, n->of_cap, sizeof(*n->of));
	mem_table_free(n->ids, n->cap, sizeof(*n->ids));
}

/* The place of a string in the table. */
static uint64_t string_at(struct pprof *p, uint32_t string)
{
	return string ? WORDS - 1 + number_of(p, &p->strings, string) : WORD_NONE;
}

/* --- samples --- */

static void label_string(struct pprof *p, enum word key, uint32_t string)
{
	const size_t at = pb_open(&p->text, SAMPLE_LABEL);

	pb_number(&p->text, LABEL_KEY, key);
	pb_number(&p->text, LABEL_STRING, string_at(p, string));
	pb_close(&p->text, at);
}

static void label_number(struct pprof *p, enum word key, int64_t number)
{
	const size_t at = pb_open(&p->text, SAMPLE_LABEL);

	pb_number(&p->text, LABEL_KEY, key);
	pb_number(&p->text, LABEL_NUMBER, (uint64_t)number);
	pb_close(&p->text, at);
}

static void labels_out(struct pprof *p, uint32_t track)
{
	const struct write *w = p->stacks.write;
	const uint32_t process = trace_process_of(w->trace, track);
	const struct spur_track *k = write_track(w, track), *of = write_track(w, process);
	const int64_t pid = write_pid_of(w, track);

	if (of && process != track && of->name)
		label_string(p, WORD_PROCESS, of->name);
	if (k->name)
		label_string(p, WORD_THREAD, k->name);
	if (pid != -1)
		label_number(p, WORD_PID, pid);
	if (k->tid != -1)
		label_number(p, WORD_TID, k->tid);
}

static void varint_out(struct out *o, uint64_t v)
{
	char *w = out_room(o, PB_ROOM);

	if (w)
		out_to(o, put_varint(w, v));
}

/* A path that has calls or time of its own. */
static bool sample_out(void *self, const uint32_t *path, size_t n)
{
	struct pprof *p = self;
	const struct stacks *s = &p->stacks;
	const struct stack_node *node = &s->all.nodes[path[n - 1]];
	size_t at, list;

	if (n < 2 || (!node->calls && !node->self))
		return true;
	at = pb_open(&p->text, PROFILE_SAMPLE);
	list = pb_open(&p->text, SAMPLE_LOCATION);
	for (size_t i = n; i-- > 1;)
		varint_out(&p->text, number_of(p, &p->frames, s->all.nodes[path[i]].what));
	pb_close(&p->text, list);
	list = pb_open(&p->text, SAMPLE_VALUE);
	varint_out(&p->text, node->calls);
	varint_out(&p->text, node->self);
	pb_close(&p->text, list);
	labels_out(p, stacks_frame(s, s->all.nodes[path[0]].what).thread);
	message_end(p, at);
	return !p->failed && !s->write->out->error;
}

/* --- tables --- */

/* Locations and functions have one number: a function has one location. */
static void frame_out(struct pprof *p, uint64_t number, const struct stack_frame *f)
{
	struct out *o = &p->text;
	size_t at = pb_open(o, PROFILE_LOCATION), line;

	pb_number(o, LOCATION_ID, number);
	if (f->module)
		pb_number(o, LOCATION_MAPPING, number_of(p, &p->modules, f->module));
	line = pb_open(o, LOCATION_LINE);
	pb_number(o, LINE_FUNCTION, number);
	if (f->line)
		pb_number(o, LINE_NUMBER, f->line);
	pb_close(o, line);
	message_end(p, at);
	at = pb_open(o, PROFILE_FUNCTION);
	pb_number(o, FUNCTION_ID, number);
	pb_number(o, FUNCTION_NAME, string_at(p, f->name));
	if (f->file)
		pb_number(o, FUNCTION_FILE, string_at(p, f->file));
	if (f->line)
		pb_number(o, FUNCTION_START_LINE, f->line);
	message_end(p, at);
}

static void modules_out(struct pprof *p)
{
	struct out *o = &p->text;

	for (size_t i = 0; i < p->modules.n; i++) {
		const size_t at = pb_open(o, PROFILE_MAPPING);

		pb_number(o, MAPPING_ID, i + 1);
		pb_number(o, MAPPING_FILE, string_at(p, p->modules.ids[i]));
		/* Else pprof would look for the program to find names. */
		pb_number(o, MAPPING_HAS_FUNCTIONS, 1);
		pb_number(o, MAPPING_HAS_FILES, 1);
		pb_number(o, MAPPING_HAS_LINES, 1);
		message_end(p, at);
	}
}

static void string_out(struct pprof *p, const char *s, size_t len)
{
	pb_text(&p->text, PROFILE_STRING, s, len, TEXT_MAX);
	if (p->text.len >= PACKED || p->text.error)
		pack(p, Z_NO_FLUSH);
}

static void strings_out(struct pprof *p)
{
	for (unsigned i = 0; i < WORDS; i++)
		string_out(p, words[i], strlen(words[i]));
	for (size_t i = 0; i < p->strings.n; i++) {
		size_t len;
		const char *s = trace_string(p->stacks.write->trace, p->strings.ids[i], &len);

		string_out(p, s, len);
	}
}

static void value_type_out(struct pprof *p, enum word type, enum word unit)
{
	const size_t at = pb_open(&p->text, PROFILE_SAMPLE_TYPE);

	pb_number(&p->text, VALUE_TYPE, type);
	pb_number(&p->text, VALUE_UNIT, unit);
	message_end(p, at);
}

static void times_out(struct pprof *p)
{
	const struct stacks *s = &p->stacks;
	const struct clock_info *c = &s->write->trace->clock;
	int64_t begin;

	if (s->first > s->last)
		return;
	if (c->epoch_known && !__builtin_add_overflow(c->epoch_ns, s->first, &begin))
		pb_number(&p->text, PROFILE_TIME, (uint64_t)begin);
	pb_number(&p->text, PROFILE_DURATION, (uint64_t)s->last - (uint64_t)s->first);
}

/* --- the writer --- */

static bool pprof_finish(void *self)
{
	struct pprof *p = self;

	if (!stacks_order(&p->stacks))
		return false;
	value_type_out(p, WORD_CALLS, WORD_COUNT);
	value_type_out(p, WORD_TIME, WORD_NS);
	pb_number(&p->text, PROFILE_DEFAULT_SAMPLE_TYPE, WORD_TIME);
	times_out(p);
	if (!stacks_walk(&p->stacks, sample_out, p))
		return !p->failed;
	for (size_t i = 0; i < p->frames.n; i++) {
		const struct stack_frame f = stacks_frame(&p->stacks, p->frames.ids[i]);

		frame_out(p, i + 1, &f);
	}
	modules_out(p);
	strings_out(p);
	pack(p, Z_FINISH);
	return !p->failed;
}

static void pprof_close(void *self)
{
	struct pprof *p = self;

	if (p->packing)
		deflateEnd(&p->gzip);
	numbers_free(&p->frames);
	numbers_free(&p->strings);
	numbers_free(&p->modules);
	out_free(&p->text);
	stacks_free(&p->stacks);
	mem_free(p);
}

static void *pprof_open(struct write *w)
{
	static const struct stack_options options = {
		.nodes = STACKS_NODES, .paths = LOST_PATH, .deep = LOST_DEEP, .depth = STACKS_DEPTH
	};
	struct pprof *p = mem_alloc(sizeof(*p));

	if (!p)
		return NULL;
	out_to_memory(&p->text);
	p->gzip.zalloc = gzip_alloc;
	p->gzip.zfree = gzip_free;
	if (stacks_init(&p->stacks, w, &options))
		p->packing = deflateInit2(&p->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW,
					  GZIP_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
	if (p->packing)
		return p;
	pprof_close(p);
	return NULL;
}

static const char *const endings[] = { "pb.gz", "pprof", NULL };

const struct spur_writer spur_writer_pprof = {
	.name = "pprof",
	.title = "profile of call paths, which go tool pprof opens",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_SPAN, WRITE_DEGRADED), [SPUR_SWITCH] = WRITE_DEGRADED,
		  [SPUR_SAMPLE] = WRITE_DEGRADED },
	.dropped = "the format has sums of calls only",
	.degraded = "only the sum of all calls with the same stack is written",
	.reasons = reasons,
	.nreasons = sizeof(reasons) / sizeof(reasons[0]),
	.spans = WRITE_SPANS_SPLIT,
	.open = pprof_open,
	.lane = stacks_lane,
	.row = stacks_row,
	.end = stacks_end,
	.lane_close = stacks_lane_close,
	.finish = pprof_finish,
	.close = pprof_close,
};
