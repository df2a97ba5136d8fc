/*
 * Asks the viewer what the fuzzer's bytes say: the first one chooses a trace and whether its store
 * is finished, the first line is the path below /api/, and each line after it a parameter,
 * NAME=VALUE. Every request is answered or refused, JSON is JSON, and a table has the size that
 * its head says.
 */
#include <fcntl.h>
#include <jansson.h>
#include <sanitizer/lsan_interface.h>
#include <unistd.h>

#include "flow/open.h"
#include "flow/pipe.h"
#include "fuzz_row.h"
#include "pass/index.h"
#include "view/view.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 4096 };

/* How a store is there: still being written, written by this program, or kept. */
enum state { GROWING, WRITTEN, KEPT, STATES };

static const char *const traces[] = {
	"tests/golden/uftrace/own-words/in",
	"tests/golden/fxt/all-records/in",
	"tests/golden/ctf/lttng213-functions/in",
	"tests/golden/heph/parent-child/in",
	"tests/golden/spur/calls/in",
	"tests/golden/xray/fdr-threads/in",
};
enum { TRACES = sizeof(traces) / sizeof(*traces) };

static struct subject {
	struct view view;
	struct store_writer *writer;
	struct store *store;
} subjects[TRACES][STATES];

static void subject_make(struct subject *s, const char *trace, enum state state)
{
	static const struct pipe_options pipe = { .threads = 1 };
	const struct spur_options opt = SPUR_OPTIONS(.read_size = 0);
	char path[] = "/tmp/fuzz_view.XXXXXX";
	struct spur_error err;
	struct view *const v = &s->view;
	const int fd = mkstemp(path);

	require(fd >= 0);
	require(spur_open(&v->trace, trace, &opt, &err) != SPUR_FAIL);
	require(trace_start(v->trace, &v->zero) != SPUR_FAIL);
	require(store_writer_new(&s->writer, v->trace, path, 1, &err) == SPUR_OK);
	require(index_build(v->trace, &pipe, s->writer, &err) != SPUR_FAIL);
	v->store = store_writer_view(s->writer);
	if (state != GROWING)
		require(store_writer_finish(s->writer, "fuzz", &err) == SPUR_OK);
	if (state == KEPT) {
		require(store_open(&s->store, path, &err) == SPUR_OK);
		store_writer_free(s->writer);
		spur_close(v->trace);
		require(spur_open(&v->trace, trace, &opt, &err) != SPUR_FAIL);
		require(trace_start(v->trace, &v->zero) != SPUR_FAIL);
		v->store = s->store;
		v->kept = true;
	}
	v->name = trace;
	v->path = trace;
	pthread_mutex_init(&v->reading, NULL);
	pthread_mutex_init(&v->finding, NULL);
	close(fd);
	unlink(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	/* They stay, and some of what they have is in mappings, where no leak checker looks. */
	__lsan_disable();
	for (size_t i = 0; i < TRACES; i++)
		for (unsigned k = 0; k < STATES; k++)
			subject_make(&subjects[i][k], traces[i], (enum state)k);
	__lsan_enable();
	(void)argc;
	(void)argv;
	return 0;
}

/* Divides the text, which it changes, into path and parameters. */
static struct view_request read_request(char *text)
{
	struct view_request r = { .path = text };
	char *line = strchr(text, '\n');

	while (line && r.nargs < VIEW_ARGS_MOST) {
		char *value;

		*line++ = '\0';
		r.names[r.nargs] = line;
		value = strchr(line, '=');
		line = strchr(line, '\n');
		if (value && (!line || value < line))
			*value++ = '\0';
		else
			value = NULL;
		r.values[r.nargs++] = value;
	}
	if (line)
		*line = '\0';
	return r;
}

/* u32 1, u32 lanes, u32 rectangles of each lane, the rectangles. */
static void check_tiles(const struct out *o)
{
	size_t rects = 0;
	uint32_t n[2 + VIEW_LANES_MOST];

	require(o->len >= 2 * sizeof(*n));
	memcpy(n, o->buf, 2 * sizeof(*n));
	require(n[0] == 1 && n[1] >= 1 && n[1] <= VIEW_LANES_MOST);
	require(o->len >= (2 + n[1]) * sizeof(*n));
	memcpy(n, o->buf, (2 + n[1]) * sizeof(*n));
	for (uint32_t i = 0; i < n[1]; i++)
		rects += n[2 + i];
	require(o->len == (2 + n[1]) * sizeof(*n) + rects * sizeof(struct store_rect));
}

static void check_answer(const struct view_request *r, const struct view_answer *a)
{
	json_error_t error;
	json_t *json;

	require(a->status == 200 || a->status == 400 || a->status == 404 || a->status == 500);
	require(a->type && !a->out.error);
	if (a->status != 200) {
		require(a->out.len && !strcmp(a->type, "text/plain; charset=utf-8"));
		require(a->status != 500 || !memmem(a->out.buf, a->out.len, "memory", 6));
	} else if (!strcmp(a->type, "application/json")) {
		json = json_loadb(a->out.buf, a->out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
		require(json);
		json_decref(json);
	} else if (!strcmp(r->path, "tiles")) {
		check_tiles(&a->out);
	} else {
		require(a->out.len == (strcmp(r->path, "counter")
					       ? VIEW_OVERVIEW
					       : STORE_TILE * 3 * sizeof(double)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX + 1];
	struct subject *s;
	struct view_request r;
	struct view_answer a = { 0 };

	if (!size || size > TEXT_MAX)
		return 0;
	s = &subjects[data[0] % TRACES][data[0] / TRACES % STATES];
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	r = read_request(text);
	out_to_memory(&a.out);
	view_answer(&s->view, &r, &a);
	check_answer(&r, &a);
	out_free(&a.out);
	return 0;
}
