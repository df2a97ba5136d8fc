/*
 * blobs: what BLOB rows carry. Rows without an id of one process, name, category and type are
 * pieces of one blob, in the order in which they are stored; a row with an id is a blob by itself.
 * The bytes are the argument `data`. Lists them, writes each to a file, or writes one as it is.
 * Bytes go from the trace to the file: no blob is collected.
 */
#include "base/map64.h"
#include "flow/args.h"
#include "pass/blobs.h"
#include "pass/blobs/extract.h"
#include "render/table.h"
#include "render/value.h"

enum { BLOBS_MAX = 1 << 20, TYPE_MAX = 256 };

struct blob {
	uint32_t track; /* of the process */
	uint32_t name, cat; /* string ids */
	const char *type; /* of its first piece; "" where it says none */
	size_t type_len;
	uint64_t size, pieces;
	size_t file; /* of the extraction */
};

struct blobs {
	struct pass_env *env;
	struct table table;
	struct pattern *pattern; /* NULL: all names */
	struct blob *blobs;
	size_t n, cap;
	/*
	 * Process and name, that and category, that and type: numbers from 1 on. That and id ->
	 * number of the blob + 1.
	 */
	struct map64 names, cats, types, index;
	struct map64 ids; /* numbers from 1 on */
	struct map64 latest; /* number of name and category -> its latest type */
	struct extract extract; /* only where options say so */
	struct arena arena;
	struct spur_args args;
	struct value_writer values;
	uint32_t data, type; /* string ids */
	bool has_cat; /* a blob has a category */
	uint64_t empty; /* pieces without bytes */
	uint64_t beyond; /* pieces of more blobs than BLOBS_MAX */
	enum spur_status st; /* SPUR_FAIL: env->err is set */
};

enum column {
	COL_FILE,
	COL_NAME,
	COL_CATEGORY,
	COL_TYPE,
	COL_SIZE,
	COL_PIECES,
	COL_PID,
	COL_PROCESS
};

static const struct table_column columns[] = {
	[COL_FILE] = { "file", TABLE_TEXT },	     [COL_NAME] = { "name", TABLE_TEXT },
	[COL_CATEGORY] = { "category", TABLE_TEXT }, [COL_TYPE] = { "type", TABLE_TEXT },
	[COL_SIZE] = { "size", TABLE_COUNT },	     [COL_PIECES] = { "pieces", TABLE_COUNT },
	[COL_PID] = { "pid", TABLE_ID },	     [COL_PROCESS] = { "process", TABLE_TEXT },
	{ 0 },
};

static bool name_is_wanted(const struct blobs *b, uint32_t name)
{
	const char *text = trace_string(b->env->trace, name, NULL);

	if (blobs_options(b->env)->blob)
		return strcmp(text, blobs_options(b->env)->blob) == 0;
	return !b->pattern || pattern_match(b->pattern, text);
}

static const struct spur_value *arg_find(const struct blobs *b, uint32_t name)
{
	for (size_t i = 0; i < b->args.count; i++)
		if (b->args.items[i].name == name)
			return &b->args.items[i];
	return NULL;
}

/* The bytes; NULL: it has none. */
static const struct spur_value *row_data(const struct blobs *b)
{
	const struct spur_value *v = arg_find(b, b->data);

	return v && (v->type == SPUR_BYTES || v->type == SPUR_STRING) ? v : NULL;
}

/* Returns false if out of memory. */
static bool blob_type(struct blobs *b, struct blob *to)
{
	const struct spur_value *v = arg_find(b, b->type);
	struct out o;

	out_to_memory(&o);
	if (v && v->type == SPUR_STRING)
		out_bytes(&o, v->text, v->count);
	else if (v)
		value_text(&b->values, v, &o);
	to->type_len = o.len < TYPE_MAX ? o.len : TYPE_MAX;
	to->type = o.error ? NULL : arena_strdup(&b->arena, o.len ? o.buf : "", to->type_len);
	out_free(&o);
	return to->type;
}

static enum spur_status blob_new(struct blobs *b, struct blob made, size_t *number)
{
	size_t len;
	const char *name = trace_string(b->env->trace, made.name, &len);

	if (!mem_grow((void **)&b->blobs, &b->cap, b->n + 1, sizeof(*b->blobs), BLOBS_MAX) ||
	    !blob_type(b, &made))
		return err_nomem(b->env->err);
	if (blobs_options(b->env)->extract &&
	    extract_add(&b->extract, name, len, &made.file, b->env->err) == SPUR_FAIL)
		return SPUR_FAIL;
	*number = b->n;
	b->blobs[b->n++] = made;
	b->has_cat |= made.cat != 0;
	return SPUR_OK;
}

/*
 * The number of a key, counted from 1; 0: out of memory, or the key is new and `find` says that no
 * more are wanted.
 */
static uint64_t number_of(struct map64 *m, uint64_t key, bool find)
{
	struct map64_slot *slot = find ? map64_find(m, key) : map64_put(m, key);

	if (slot && !slot->value)
		slot->value = m->count;
	return slot ? slot->value : 0;
}

/*
 * What the argument `type` says, as a number; a piece that does not say continues the latest that
 * does.
 */
static bool type_number(struct blobs *b, uint64_t name, uint32_t *type)
{
	const struct spur_value *v = arg_find(b, b->type);
	struct map64_slot *slot = v ? map64_put(&b->latest, name) : map64_find(&b->latest, name);

	if (v && slot)
		slot->value = v->type == SPUR_STRING ?
				      trace_intern_n(b->env->trace, v->text, v->count) :
				      (uint32_t)v->u + 1;
	*type = slot ? (uint32_t)slot->value : 0;
	return slot || !v;
}

/*
 * The slot of the blob that the row is of; its value is 0 where that is new. NULL as number_of().
 */
static struct map64_slot *blob_slot(struct blobs *b, const struct spur_event *row, uint32_t track,
				    bool find)
{
	uint64_t n = number_of(&b->names, (uint64_t)track << 32 | row->name, find), id = 0;
	uint32_t type;

	n = n ? number_of(&b->cats, n << 32 | row->cat, find) : 0;
	n = n && type_number(b, n, &type) ? number_of(&b->types, n << 32 | type, find) : 0;
	if (n && row->id)
		id = number_of(&b->ids, row->id, find);
	if (!n || (row->id && !id))
		return NULL;
	return find ? map64_find(&b->index, n << 32 | id) : map64_put(&b->index, n << 32 | id);
}

/* Called with b->args of the row. SPUR_WARN: there are too many. */
static enum spur_status blob_find(struct blobs *b, const struct spur_event *row, size_t *number)
{
	const struct blob made = { .track = trace_process_of(b->env->trace, row->track),
				   .name = row->name,
				   .cat = row->cat };
	const bool full = b->n == BLOBS_MAX;
	struct map64_slot *slot = blob_slot(b, row, made.track, full);
	enum spur_status st = SPUR_OK;

	if (!slot)
		return full ? SPUR_WARN : err_nomem(b->env->err);
	if (!slot->value) {
		st = blob_new(b, made, number);
		slot->value = b->n;
	}
	*number = slot->value - 1;
	return st;
}

static enum spur_status piece_write(struct blobs *b, size_t number, const struct spur_value *data)
{
	const struct pass_env *env = b->env;

	if (blobs_options(env)->extract)
		return extract_write(&b->extract, b->blobs[number].file, data->text, data->count,
				     env->err);
	/* Of several blobs of the name the first is written; blobs_notes() says so. */
	if (blobs_options(env)->blob && number == 0)
		out_bytes(env->out, data->text, data->count);
	return SPUR_OK;
}

static enum spur_status piece_add(struct blobs *b, const struct spur_event *row)
{
	const struct spur_value *data;
	size_t number = 0;
	enum spur_status st;

	if (!name_is_wanted(b, row->name))
		return SPUR_OK;
	if (trace_args(b->env->trace, row, &b->args) == SPUR_FAIL)
		return err_nomem(b->env->err);
	st = blob_find(b, row, &number);
	b->beyond += st == SPUR_WARN;
	if (st != SPUR_OK)
		return st;
	b->blobs[number].pieces++;
	data = row_data(b);
	b->empty += !data;
	if (!data)
		return SPUR_OK;
	b->blobs[number].size += data->count;
	return piece_write(b, number, data);
}

static bool blob_rows(void *self, struct spur_event *rows, size_t n)
{
	struct blobs *b = self;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].kind != SPUR_BLOB)
			continue;
		if (piece_add(b, &rows[i]) == SPUR_FAIL) {
			b->st = SPUR_FAIL;
			return false;
		}
	}
	return !b->env->out->error;
}

/* --- the table --- */

static struct table_value cell_value(const void *self, const void *row, int column)
{
	const struct blobs *b = self;
	const struct blob *blob = row;
	const struct spur_track *k = trace_track(b->env->trace, blob->track);

	return column == COL_SIZE     ? table_u64(blob->size)
	       : column == COL_PIECES ? table_u64(blob->pieces)
				      : table_id(k ? k->pid : -1);
}

static void cell_text(const void *self, const void *row, int column, struct out *o)
{
	const struct blobs *b = self;
	const struct blob *blob = row;
	const struct spur_track *k = trace_track(b->env->trace, blob->track);
	const char *text;
	size_t len;

	if (column == COL_FILE) {
		out_str(o, blobs_options(b->env)->extract ? b->extract.files[blob->file].name : "");
	} else if (column == COL_TYPE) {
		out_bytes(o, blob->type, blob->type_len);
	} else {
		text = trace_string(b->env->trace,
				   column == COL_NAME	    ? blob->name
				   : column == COL_CATEGORY ? blob->cat
				   : k			    ? k->name
							    : 0,
				   &len);
		out_bytes(o, text, len);
	}
}

static enum spur_status read_options(struct blobs *b)
{
	const struct blobs_options *own = blobs_options(b->env);
	enum pattern_kind kind = b->env->given->match;

	if (own->extract && own->blob)
		return err_set(b->env->err, SPUR_ERR_USAGE,
			       "expected one of --extract and --cat, found both");
	if (own->name && !pattern_is_special(text_of(own->name)))
		kind = PATTERN_EXACT;
	if (own->name && !(b->pattern = pattern_new(kind, own->name, "--name", b->env->err)))
		return SPUR_FAIL;
	b->table = (struct table){ .env = pass_render(b->env),
				   .name = "blobs",
				   .columns = columns,
				   .value = cell_value,
				   .text = cell_text,
				   .self = b };
	return SPUR_OK;
}

/* Once it is known whether there are categories. */
static enum spur_status blobs_columns(struct blobs *b)
{
	static const char *const columns_of[2][2][2] = {
		{ { "name,type,size,pieces,pid,process",
		    "name,category,type,size,pieces,pid,process" },
		  { "size,pieces,pid,type,name", "size,pieces,pid,type,category,name" } },
		{ { "file,name,type,size,pieces,pid,process",
		    "file,name,category,type,size,pieces,pid,process" },
		  { "size,pieces,type,file", "size,pieces,type,category,file" } },
	};
	const struct render_options *opt = b->env->opt;
	const struct blobs_options *own = blobs_options(b->env);
	const bool text = opt->form == FORM_TEXT;

	return table_options(&b->table, columns_of[own->extract != NULL][text][b->has_cat],
			     "name,category,pid");
}

static void blobs_notes(const struct blobs *b)
{
	struct out *o = b->env->notes;

	if (!o)
		return;
	if (b->empty)
		out_printf(o, "spur: note: pieces of blobs without bytes: %llu\n",
			   (unsigned long long)b->empty);
	if (b->beyond)
		out_printf(o, "spur: warning: pieces of more than %d blobs, left out: %llu\n",
			   BLOBS_MAX, (unsigned long long)b->beyond);
	if (blobs_options(b->env)->blob && b->n > 1) {
		out_str(o, "spur: warning: ");
		out_safe(o, blobs_options(b->env)->blob, strlen(blobs_options(b->env)->blob));
		out_printf(o,
			   ": %zu blobs have that name; the first one is written "
			   "(--extract writes all)\n",
			   b->n);
	}
}

static enum spur_status blobs_write(struct blobs *b)
{
	struct pass_env *env = b->env;
	struct pipe_options pipe = env->pipe;
	enum spur_status st = read_options(b);

	/* Wrong names of columns are an error before anything is read or written. */
	if (st == SPUR_OK)
		st = blobs_columns(b);
	if (st == SPUR_OK && blobs_options(env)->extract)
		st = extract_open(&b->extract, blobs_options(env)->extract,
				  blobs_options(env)->force, env->err);
	if (st != SPUR_OK)
		return st;
	b->data = trace_intern(env->trace, "data");
	b->type = trace_intern(env->trace, "type");
	/* One stream after the other, each in the order in which it is stored. */
	pipe.in_turn = true;
	if (pipe_run_merged(env->trace, &pipe, blob_rows, b) == SPUR_FAIL)
		return err_nomem(env->err);
	if (b->st != SPUR_OK || (pipe.stop && *pipe.stop))
		return b->st;
	if (blobs_options(env)->extract)
		st = extract_finish(&b->extract, env->err);
	blobs_notes(b);
	if (st == SPUR_OK && b->has_cat)
		st = blobs_columns(b);
	if (st == SPUR_OK && !blobs_options(env)->blob)
		st = table_write(&b->table, b->blobs, b->n, sizeof(*b->blobs));
	return st == SPUR_OK && !b->n ? SPUR_WARN : st;
}

static enum spur_status blobs_run(struct pass_env *env)
{
	struct blobs b = { .env = env, .extract = { .dir = -1, .fd = -1 } };
	enum spur_status st;

	arena_init(&b.arena);
	arena_init(&b.extract.arena);
	st = value_writer_open(&b.values, env->trace, VALUE_TEXT) ? blobs_write(&b)
								  : err_nomem(env->err);
	value_writer_close(&b.values);
	extract_close(&b.extract);
	pattern_free(b.pattern);
	mem_free(b.blobs);
	map64_free(&b.names);
	map64_free(&b.cats);
	map64_free(&b.types);
	map64_free(&b.ids);
	map64_free(&b.latest);
	map64_free(&b.index);
	spur_args_free(&b.args);
	arena_free(&b.arena);
	return st;
}

const struct spur_pass spur_pass_blobs = {
	.name = "blobs",
	.as_stored = true,
	.options_size = sizeof(struct blobs_options),
	.run = blobs_run,
};
