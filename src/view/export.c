/*
 * The page as one file: what `spur view` sends, with the data that it would ask the server for: the
 * store, which src/view/web/inside.js reads, and what only the trace has: facts, arguments and the
 * places of records.
 *
 * The data is a row of parts, each at a multiple of 8, in the byte order of the machine. Begin and
 * end of each follow as u64, then u32 version and u32 number of parts.
 */
#include "view/export.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "base/os.h"
#include "pass/index.h"
#include "view/pack.h"
#include "view/typed.h"
#include "view/view.h"

enum {
	ROWS_MOST = 2000000,
	VERSION = 1,
	PIECE = 64 << 10,
	TEXT_MOST = 64 << 10, /* bytes of text from which on it is packed */
};

enum part {
	PART_STORE,
	PART_JSON,
	PART_ARGS_OF, /* a bit for each item, lane by lane: it has a line in the next part */
	PART_ARGS,
	PART_PLACES_OF,
	PART_PLACES, /* of records that are not simply at their row's offset in its stream */
	PART_OVERVIEW,
	PARTS
};

struct export
{
	struct write *w;
	struct view view;
	struct store_writer *writer;
	struct store *store;
	struct out quoted; /* the traces' paths for a shell */
	int64_t base; /* ns from the trace's first event to the page's zero */
	struct pack pack;
	uint64_t parts[PARTS][2]; /* begin, end */
	uint64_t items;
	bool failed; /* out of memory */
};

static const char store_name[] = "temporary file"; /* in errors */

/* --- the store --- */

/* Returns true if the trace is a directory whose recordings are read as one trace. */
static bool is_directory(const struct spur_trace *t)
{
	const size_t len = strlen(t->path);

	for (size_t i = 0; i < t->nparts; i++) {
		const char *const part = t->parts[i].trace->path;

		if (strncmp(part, t->path, len) != 0 || (part[len] && part[len] != '/'))
			return false;
	}
	return true;
}

/* What commands are given to read the same. */
static void put_paths(const struct spur_trace *t, struct out *o)
{
	const bool one = is_directory(t);

	if (one)
		view_quote(o, t->path);
	for (size_t i = 0; i < t->nparts && !one; i++) {
		if (i)
			out_char(o, ' ');
		view_quote(o, t->parts[i].trace->path);
	}
	out_char(o, 0);
}

/* Returns false, with an error set, if the trace cannot be read, or is too long. */
static bool make_store(struct export *e, const struct pipe_options *pipe)
{
	struct spur_error *const err = &e->w->error;
	enum spur_status st;

	put_paths(e->w->trace, &e->quoted);
	if (e->quoted.error || trace_start(e->w->trace, &e->view.zero) == SPUR_FAIL)
		return false;
	if (store_writer_new(&e->writer, e->w->trace, NULL, 1, err) == SPUR_FAIL)
		return false;
	st = index_build_few(e->w->trace, pipe, e->writer, ROWS_MOST, err);
	if (st == SPUR_WARN)
		err_set(err, SPUR_ERR_USAGE,
			"a page holds 2,000,000 events at most (a million calls), and these are "
			"more: choose a range (--from, --until), threads (--tid) or functions "
			"(-F), or look at them with spur view");
	if (st != SPUR_OK)
		return false;
	/* Its lanes are in another order than while it was written. */
	return store_writer_finish(e->writer, "", err) != SPUR_FAIL &&
	       store_open_file(&e->store, store_writer_file(e->writer), store_name, err) !=
		       SPUR_FAIL;
}

static void view_begin(struct export *e)
{
	const struct store_facts f = store_facts(e->store);
	struct store_lane lane;

	e->view.store = e->store;
	e->view.trace = e->w->trace;
	e->view.name = e->w->trace->path;
	e->view.path = e->quoted.buf;
	/* A page of a range begins with the range. */
	if (f.start > e->view.zero) {
		e->base = f.start - e->view.zero;
		e->view.zero = f.start;
	}
	for (uint32_t i = 0; store_lane(e->store, i, &lane); i++)
		e->items += lane.items;
}

/* --- parts --- */

static void part_begin(struct export *e, enum part id)
{
	pack_align(&e->pack);
	e->parts[id][0] = e->pack.size;
}

static void part_end(struct export *e, enum part id)
{
	e->parts[id][1] = e->pack.size;
}

static bool put_store(struct export *e)
{
	const int fd = store_writer_file(e->writer);
	char buf[PIECE];
	ssize_t n = 1;
	off_t at = 0;

	part_begin(e, PART_STORE);
	while (n > 0) {
		n = os_pread(fd, buf, sizeof(buf), at);
		if (n > 0)
			pack_bytes(&e->pack, buf, (size_t)n);
		at += n;
	}
	part_end(e, PART_STORE);
	if (n < 0)
		err_set(&e->w->error, SPUR_ERR_IO, "%s: %s", store_name, strerror(errno));
	return n == 0;
}

/* Packs what was appended to a text, which is empty then: there may be very many threads. */
static void pack_text(struct export *e, struct out *o)
{
	pack_bytes(&e->pack, o->buf, o->len);
	out_cut(o, 0);
}

/* Packs a text, and what the server would answer to a request without parameters. */
static bool put_answer(struct export *e, struct out *before, const char *request)
{
	const struct view_request r = { .path = request };
	struct view_answer a = { 0 };
	bool good;

	pack_text(e, before);
	out_to_memory(&a.out);
	view_answer(&e->view, &r, &a);
	good = a.status == 200 && !a.out.error;
	pack_text(e, &a.out);
	out_free(&a.out);
	return good;
}

/* Writes the source line of a label as a string. */
static void put_source(const struct export *e, uint32_t label, struct out *o)
{
	const struct view_item i = { .item.label = label };
	struct out text;

	out_to_memory(&text);
	view_span_source(&e->view, &i, &text);
	out_json(o, text.buf ? text.buf : "", text.len);
	out_free(&text);
}

/* Facts of the trace, its labels with their source lines, and the paths of its streams. */
static bool put_json(struct export *e)
{
	const uint32_t labels = store_facts(e->view.store).labels;
	const struct spur_format *const format = e->w->trace->format;
	const struct spur_stream *stream;
	struct out o;
	bool good;

	part_begin(e, PART_JSON);
	out_to_memory(&o);
	out_printf(&o, "{\"base\":%lld,\"stacks\":%s,\"meta\":", (long long)e->base,
		   format && format->stack ? "true" : "false");
	good = put_answer(e, &o, "meta");
	out_str(&o, ",\"labels\":");
	good = good && put_answer(e, &o, "labels");
	out_str(&o, ",\"sources\":[");
	for (uint32_t i = 0; i < labels; i++) {
		if (i)
			out_char(&o, ',');
		put_source(e, i, &o);
	}
	out_str(&o, "],\"streams\":[");
	for (uint32_t i = 0; (stream = spur_stream(e->w->trace, i)); i++) {
		if (i)
			out_char(&o, ',');
		out_json(&o, stream->path, strlen(stream->path));
		if (o.len >= TEXT_MOST)
			pack_text(e, &o);
	}
	out_str(&o, "]}");
	pack_text(e, &o);
	part_end(e, PART_JSON);
	good = good && !o.error;
	out_free(&o);
	return good;
}

static bool put_overview(struct export *e)
{
	struct out none;
	bool good;

	out_to_memory(&none);
	part_begin(e, PART_OVERVIEW);
	good = put_answer(e, &none, "overview");
	part_end(e, PART_OVERVIEW);
	return good;
}

/* Writes the line of an item, without its end. Returns false if it has no line. */
typedef bool item_line(struct export *e, const struct view_item *i, struct out *line);

/* A line of arguments on its way. */
struct args_line {
	const struct spur_trace *trace;
	struct out *line;
};

/*
 * Appends an argument as a pair of texts: name and value for people. If these do not tell what
 * expressions compare, its value, its name in expressions, and 1 for a row that ends a span follow.
 */
static void put_arg(void *self, const struct view_argument *arg)
{
	const struct args_line *const to = self;

	out_str(to->line, to->line->len ? ",[" : "[[");
	view_text(to->line, arg->name);
	out_char(to->line, ',');
	view_text(to->line, arg->text);
	if (arg->end || !arg->name.len || !typed_is_plain(arg->value)) {
		out_char(to->line, ',');
		typed_json(to->trace, arg->value, to->line);
		if (arg->name.len)
			out_str(to->line, ",\"\"");
		else if (arg->end && arg->count == 1)
			out_str(to->line, ",\"retval\"");
		else
			out_printf(to->line, ",\"arg%zu\"", arg->place + 1);
		out_str(to->line, arg->end ? ",1" : ",0");
	}
	out_char(to->line, ']');
}

static bool args_line(struct export *e, const struct view_item *i, struct out *line)
{
	struct args_line to = { .trace = e->w->trace, .line = line };
	bool changed;

	if (i->item.kind == SPUR_SAMPLE && e->w->trace->format->stack)
		loss_add(&e->w->loss, LOSS_KIND_DEGRADED, SPUR_SAMPLE);
	if ((!i->item.nargs && !i->item.end_nargs) || !e->w->wants_args(e->w, i->item.label))
		return false;
	e->failed |= !view_span_args(&e->view, i, put_arg, &to, &changed);
	out_char(line, ']');
	return line->len > 1;
}

static bool place_line(struct export *e, const struct view_item *i, struct out *line)
{
	const struct spur_stream *stream;
	struct spur_event row;
	char plain[32];
	size_t len;

	view_span_place(&e->view, i, line);
	stream = store_row(e->view.store, i->lane, i->number, false, &row)
			 ? spur_stream(e->w->trace, row.stream)
			 : NULL;
	if (!stream)
		return true;
	len = strlen(stream->path);
	snprintf(plain, sizeof(plain), ":0x%llx", (unsigned long long)row.off);
	return line->len != len + strlen(plain) || memcmp(line->buf, stream->path, len) ||
	       memcmp(line->buf + len, plain, strlen(plain));
}

/* The lines of all items, and the bits that say which have one. Returns false if out of memory. */
static bool put_lines(struct export *e, item_line *make, enum part bits, enum part text)
{
	uint8_t *const has = mem_alloc((size_t)(e->items / 8 + 1));
	struct store_lane lane;
	struct view_item item;
	uint64_t n = 0;
	struct out line;

	if (!has)
		return false;
	out_to_memory(&line);
	part_begin(e, text);
	for (uint32_t l = 0; store_lane(e->view.store, l, &lane); l++)
		for (uint64_t i = 0; i < lane.items && !e->failed; i++, n++) {
			out_clear(&line);
			if (!view_item(&e->view, l, i, &item) || !make(e, &item, &line))
				continue;
			has[n / 8] |= (uint8_t)(1 << n % 8);
			out_char(&line, '\n');
			pack_bytes(&e->pack, line.buf, line.len);
			e->failed |= line.error != 0;
		}
	part_end(e, text);
	part_begin(e, bits);
	pack_bytes(&e->pack, has, (size_t)(e->items / 8 + 1));
	part_end(e, bits);
	out_free(&line);
	mem_free(has);
	return !e->failed;
}

static bool put_data(struct export *e, bool plain)
{
	const uint32_t end[2] = { VERSION, PARTS };
	bool good;

	pack_begin(&e->pack, e->w->out, plain);
	good = put_store(e) && put_json(e) && put_lines(e, args_line, PART_ARGS_OF, PART_ARGS) &&
	       put_lines(e, place_line, PART_PLACES_OF, PART_PLACES) && put_overview(e);
	pack_align(&e->pack);
	pack_bytes(&e->pack, e->parts, sizeof(e->parts));
	pack_bytes(&e->pack, end, sizeof(end));
	return pack_end(&e->pack) && good;
}

/* --- the page --- */

static const struct view_file *file_of(const char *name)
{
	const struct view_file *f = view_files;

	while (f->name && strcmp(f->name, name) != 0)
		f++;
	return f;
}

static void put_hash(const struct view_file *f, struct out *o)
{
	uint8_t hash[EVP_MAX_MD_SIZE];
	unsigned size = 0;

	EVP_Digest(f->begin, (size_t)(f->end - f->begin), hash, &size, EVP_sha256(), NULL);
	out_str(o, "'sha256-");
	put_base64(o, hash, size);
	out_char(o, '\'');
}

static void put_file(const struct view_file *f, const char *tag, struct out *o)
{
	out_printf(o, "<%s>", tag);
	out_bytes(o, f->begin, (size_t)(f->end - f->begin));
	out_printf(o, "</%s>", tag);
}

/* Writes the page up to a line of it that it has once, and goes on behind that line. */
static void put_until(const char **at, const char *line, struct out *o)
{
	const char *const found = strstr(*at, line);

	if (!found)
		return;
	out_bytes(o, *at, (size_t)(found - *at));
	*at = found + strlen(line);
}

static bool put_page(struct export *e, bool plain)
{
	const struct view_file *const page = file_of("index.html");
	const struct view_file *const style = file_of("style.css");
	const struct view_file *const program = file_of("saved.bundle.js");
	struct out *const o = e->w->out;
	const char *at = page->begin;
	bool good;

	put_until(&at, "<meta charset=\"utf-8\">\n", o);
	/* Nothing is loaded, and nothing runs but the page's own program. */
	out_str(o, "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
		   "content=\"default-src 'none'; img-src data:; base-uri 'none'; "
		   "form-action 'none'; style-src ");
	put_hash(style, o);
	out_str(o, "; script-src ");
	put_hash(program, o);
	out_str(o, "\">\n");
	put_until(&at, "<link rel=\"stylesheet\" href=\"style.css\">\n", o);
	put_file(style, "style", o);
	out_char(o, '\n');
	put_until(&at, "<script type=\"module\" src=\"main.js\"></script>\n", o);
	out_printf(o, "<script id=\"data\" type=\"application/octet-stream\" data-coding=\"%s\">",
		   plain ? "none" : "gzip");
	good = put_data(e, plain);
	out_str(o, "</script>\n");
	put_file(program, "script", o);
	out_char(o, '\n');
	out_str(o, at);
	return good;
}

bool view_export(struct write *w, const struct pipe_options *pipe, bool plain, uint64_t *rows)
{
	struct export *const e = mem_alloc(sizeof(*e));
	bool good;

	if (!e)
		return false;
	e->w = w;
	out_to_memory(&e->quoted);
	pthread_mutex_init(&e->view.reading, NULL);
	pthread_mutex_init(&e->view.finding, NULL);
	good = make_store(e, pipe);
	if (good) {
		view_begin(e);
		*rows = store_facts(e->view.store).rows;
		good = put_page(e, plain);
	}
	store_close(e->store);
	store_writer_free(e->writer);
	pthread_mutex_destroy(&e->view.reading);
	pthread_mutex_destroy(&e->view.finding);
	out_free(&e->quoted);
	mem_free(e);
	return good && !w->out->error;
}
