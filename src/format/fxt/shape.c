/* Where the parts of records are. See shape.h. */
#include "format/fxt/shape.h"

/* --- pieces: each returns false and says what is lacking where it does not fit --- */

/* A part of `len` bytes that begins at the cursor does not fit. */
static void part_misfits(struct fxt_shape *s, const struct cursor *c, uint64_t len)
{
	s->needs = cursor_pos(c) + len;
}

static bool read_word(struct fxt_shape *s, struct cursor *c, uint64_t *to, const char *what)
{
	if (cursor_left(c) < FXT_WORD) {
		part_misfits(s, c, FXT_WORD);
		s->lacks = what;
		return false;
	}
	*to = cursor_u64(c);
	return true;
}

/*
 * SPEC fxt/stream: bytes padded with zeros to a multiple of 8; what is in the padding does not
 * matter
 */
static const uint8_t *stream_at(struct cursor *c, uint64_t len, bool *padding)
{
	const uint8_t *p;
	uint64_t padded;

	if (len > cursor_left(c))
		return NULL;
	padded = align_up(len, FXT_WORD);
	p = cursor_bytes(c, padded);
	for (uint64_t i = len; p && i < padded; i++)
		*padding |= p[i] != 0;
	return p;
}

static bool read_stream(struct fxt_shape *s, struct cursor *c, uint64_t len, const char *what)
{
	s->data = stream_at(c, len, &s->padding);
	s->data_len = len;
	if (s->data)
		return true;
	/* In every record that has one, the stream is the last part. */
	part_misfits(s, c, align_up(len, FXT_WORD));
	s->last = true;
	s->lacks = what;
	return false;
}

static bool string_at(struct cursor *c, uint64_t ref, bool *padding, struct fxt_string_ref *to)
{
	*to = (struct fxt_string_ref){ .ref = (uint16_t)ref };
	/* SPEC fxt/string-ref: 0 is empty; with the top bit a length, else an index */
	if (!(ref & FXT_INLINE))
		return true;
	to->len = ref & (FXT_INLINE - 1);
	to->text = (const char *)stream_at(c, to->len, padding);
	return to->text != NULL;
}

static bool read_string(struct fxt_shape *s, struct cursor *c, uint64_t ref,
			struct fxt_string_ref *to, const char *what)
{
	if (string_at(c, ref, &s->padding, to))
		return true;
	part_misfits(s, c, align_up(to->len, FXT_WORD));
	s->lacks = what;
	return false;
}

/* SPEC fxt/thread-ref: 0: process and thread id follow */
static bool read_thread(struct fxt_shape *s, struct cursor *c, uint64_t ref, bool process_only)
{
	struct fxt_thread_ref *t = &s->threads[s->nthreads++];

	*t = (struct fxt_thread_ref){ .ref = (uint8_t)ref, .process_only = process_only };
	if (ref)
		return true;
	return read_word(s, c, &t->pid, "its process id") &&
	       (process_only || read_word(s, c, &t->tid, "its thread id"));
}

static bool read_time(struct fxt_shape *s, struct cursor *c)
{
	s->timed = read_word(s, c, &s->ticks, "its time stamp");
	return s->timed;
}

/* --- arguments --- */

static bool arg_value(struct cursor *c, struct fxt_arg *a)
{
	switch (a->type) {
	case FXT_ARG_I64:
	case FXT_ARG_U64:
	case FXT_ARG_F64:
	case FXT_ARG_POINTER:
	case FXT_ARG_KOID:
		a->lacks = "its value";
		a->word = cursor_u64(c);
		return !c->bad;
	case FXT_ARG_STRING:
		a->lacks = "its string";
		return string_at(c, fxt_get(a->head, FXT_F_ARG_STRING), &a->padding, &a->text);
	case FXT_ARG_BLOB:
		a->lacks = "its bytes";
		a->len = fxt_get(a->head, FXT_F_ARG_VALUE);
		a->data = stream_at(c, a->len, &a->padding);
		return a->data != NULL;
	default:
		a->data = c->p;
		a->len = cursor_left(c);
		return true;
	}
}

void fxt_arg_next(struct cursor *c, struct fxt_arg *a)
{
	struct cursor in;
	uint64_t size;

	*a = (struct fxt_arg){ .state = FXT_ARG_LOST, .lacks = "its header" };
	if (cursor_left(c) < FXT_WORD)
		return;
	in = *c;
	a->head = cursor_u64(&in);
	a->type = (uint8_t)fxt_type(a->head);
	/* SPEC fxt/argument-size: the next argument is where this one's size says */
	size = fxt_get(a->head, FXT_F_SIZE) * FXT_WORD;
	a->lacks = size ? "its size" : "a size";
	if (!size || size > cursor_left(c))
		return;
	in.end = c->p + size;
	c->p += size;
	a->lacks = "its name";
	a->state = FXT_ARG_BAD;
	if (string_at(&in, fxt_get(a->head, FXT_F_ARG_NAME), &a->padding, &a->name) &&
	    arg_value(&in, a)) {
		a->state = FXT_ARG_GOOD;
		a->lacks = NULL;
	}
}

/* Where the arguments end. The sizes alone say it. */
static void read_args(struct fxt_shape *s, struct cursor *c, uint64_t n)
{
	s->args = c->p;
	for (s->nargs = 0; s->nargs < n; s->nargs++) {
		struct cursor in = *c;
		const uint64_t size = fxt_get(cursor_u64(&in), FXT_F_SIZE) * FXT_WORD;

		if (in.bad || !size || size > cursor_left(c)) {
			s->args_lost = true;
			part_misfits(s, c, in.bad ? FXT_WORD : size);
			if (!in.bad && !size)
				s->needs = UINT64_MAX;
			break;
		}
		c->p += size;
	}
	s->args_end = c->p;
}

/* --- records --- */

static void shape_metadata(struct fxt_shape *s, struct cursor *c)
{
	const uint64_t h = s->head;

	s->sub = (uint8_t)fxt_get(h, FXT_F_METADATA_TYPE);
	switch (s->sub) {
	case FXT_PROVIDER_INFO:
		s->value = fxt_get(h, FXT_F_METADATA_PROVIDER);
		s->known = true;
		read_stream(s, c, fxt_get(h, FXT_F_METADATA_NAME_LEN), "the provider's name");
		break;
	case FXT_PROVIDER_SECTION:
	case FXT_PROVIDER_EVENT:
		s->value = fxt_get(h, FXT_F_METADATA_PROVIDER);
		s->known = true;
		break;
	case FXT_TRACE_INFO:
		s->known = fxt_get(h, FXT_F_METADATA_INFO_TYPE) == 0;
		break;
	default:
		break;
	}
}

static void shape_init(struct fxt_shape *s, struct cursor *c)
{
	if (!read_word(s, c, &s->value, "ticks per second"))
		return;
	/* SPEC fxt/init-base: two more words: ticks and ns since 1970 of one moment */
	if (cursor_left(c) < 2 * FXT_WORD)
		return;
	s->extended = true;
	s->more[0] = cursor_u64(c);
	s->more[1] = cursor_u64(c);
}

static void shape_event(struct fxt_shape *s, struct cursor *c)
{
	const uint64_t h = s->head;

	s->sub = (uint8_t)fxt_get(h, FXT_F_EVENT_TYPE);
	s->known = s->sub < FXT_EVENT_TYPES;
	if (!read_time(s, c) || !read_thread(s, c, fxt_get(h, FXT_F_EVENT_THREAD), false) ||
	    !read_string(s, c, fxt_get(h, FXT_F_EVENT_CATEGORY), &s->cat, "its category") ||
	    !read_string(s, c, fxt_get(h, FXT_F_EVENT_NAME), &s->name, "its name"))
		return;
	read_args(s, c, fxt_get(h, FXT_F_EVENT_ARGS));
	if (!s->known || !fxt_has_tail(s->sub))
		return;
	s->tail_lost = s->args_lost;
	if (!s->args_lost)
		s->last = !read_word(s, c, &s->value,
				     s->sub == FXT_COMPLETE ? "its end time" : "its id");
}

static void shape_blob(struct fxt_shape *s, struct cursor *c)
{
	if (!read_string(s, c, fxt_get(s->head, FXT_F_BLOB_NAME), &s->name, "the blob's name") ||
	    !read_stream(s, c, fxt_get(s->head, FXT_F_BLOB_LEN), "the blob's bytes"))
		return;
	/* SPEC fxt/time-mark: a placeholder that is the time of what follows */
	s->timed = !s->name.ref && fxt_get(s->head, FXT_F_BLOB_TYPE) == FXT_BLOB_DATA &&
		   s->data_len == 2 * FXT_WORD && memcmp(s->data, FXT_TIME_MARK, FXT_WORD) == 0;
	if (s->timed)
		s->ticks = load64(s->data + FXT_WORD, c->swap);
}

static void shape_object(struct fxt_shape *s, struct cursor *c)
{
	const bool user = s->type == FXT_USER_OBJECT;

	if (!read_word(s, c, &s->value, user ? "the pointer" : "the koid"))
		return;
	/* SPEC fxt/user-object: an inline process is one word, without thread */
	if (user && !read_thread(s, c, fxt_get(s->head, FXT_F_OBJECT_PROCESS), true))
		return;
	if (read_string(s, c, fxt_get(s->head, FXT_F_OBJECT_NAME), &s->name, "the object's name"))
		read_args(s, c, fxt_get(s->head, FXT_F_OBJECT_ARGS));
}

/* SPEC fxt/switch-tid: new records have thread ids only, always inline */
static bool read_tid(struct fxt_shape *s, struct cursor *c, const char *what)
{
	struct fxt_thread_ref *t = &s->threads[s->nthreads++];

	*t = (struct fxt_thread_ref){ 0 };
	return read_word(s, c, &t->tid, what);
}

static void shape_scheduling(struct fxt_shape *s, struct cursor *c)
{
	const uint64_t h = s->head;

	/* SPEC fxt/scheduling-type: the topmost four bits */
	s->sub = (uint8_t)fxt_get(h, FXT_F_SCHED_TYPE);
	s->known = s->sub < FXT_SCHEDULING_TYPES;
	if (!s->known || !read_time(s, c))
		return;
	if (s->sub == FXT_LEGACY_SWITCH) {
		if (read_thread(s, c, fxt_get(h, FXT_F_LEGACY_OUT), false))
			read_thread(s, c, fxt_get(h, FXT_F_LEGACY_IN), false);
	} else if (read_tid(s, c, s->sub == FXT_SWITCH ? "the outgoing thread" : "the thread") &&
		   (s->sub == FXT_WAKEUP || read_tid(s, c, "the incoming thread"))) {
		read_args(s, c, fxt_get(h, FXT_F_SCHED_ARGS));
	}
}

static void shape_log(struct fxt_shape *s, struct cursor *c)
{
	if (read_time(s, c) && read_thread(s, c, fxt_get(s->head, FXT_F_LOG_THREAD), false))
		read_stream(s, c, fxt_get(s->head, FXT_F_LOG_LEN), "the message");
}

/*
 * SPEC fxt/profiler-thread: of modules and mappings the thread id (always 0) is there or not; the
 * size of the record tells which
 */
static bool read_profiled(struct fxt_shape *s, struct cursor *c, uint64_t rest)
{
	const bool both = s->sub == FXT_BACKTRACE || cursor_left(c) >= rest + 2 * FXT_WORD;

	return read_thread(s, c, fxt_get(s->head, FXT_F_PROFILER_THREAD), !both);
}

static void shape_profiler(struct fxt_shape *s, struct cursor *c)
{
	const uint64_t h = s->head, name = fxt_get(h, FXT_F_PROFILER_NAME_LEN),
		       id = fxt_get(h, FXT_F_PROFILER_BUILD_ID_LEN);

	/* SPEC fxt/profiler-type: bits 16 to 19 */
	s->sub = (uint8_t)fxt_get(h, FXT_F_PROFILER_TYPE);
	s->known = s->sub < FXT_PROFILER_TYPES;
	if (!s->known || !read_time(s, c))
		return;
	if (s->sub == FXT_BACKTRACE) {
		if (read_profiled(s, c, 0))
			read_stream(s, c, fxt_get(h, FXT_F_PROFILER_FRAMES) * FXT_WORD,
				    "its frames");
	} else if (s->sub == FXT_MODULE) {
		if (read_profiled(s, c, align_up(name, FXT_WORD) + align_up(id, FXT_WORD)) &&
		    read_string(s, c, FXT_INLINE | name, &s->name, "the module's name"))
			read_stream(s, c, id, "the build id");
	} else if (read_profiled(s, c, 3 * FXT_WORD) &&
		   read_word(s, c, &s->value, "the start address") &&
		   read_word(s, c, &s->more[0], "the range")) {
		read_word(s, c, &s->more[1], "the module address");
	}
}

static void shape_large(struct fxt_shape *s, struct cursor *c)
{
	uint64_t f, len;

	s->sub = (uint8_t)fxt_get(s->head, FXT_F_LARGE_FORMAT);
	s->known = fxt_get(s->head, FXT_F_LARGE_TYPE) == 0 && s->sub < FXT_LARGE_FORMATS;
	if (!s->known || !read_word(s, c, &f, "the format header") ||
	    !read_string(s, c, fxt_get(f, FXT_F_LARGE_CATEGORY), &s->cat, "its category") ||
	    !read_string(s, c, fxt_get(f, FXT_F_LARGE_NAME), &s->name, "its name"))
		return;
	/* SPEC fxt/large-blob: time and thread follow the strings */
	if (s->sub == FXT_LARGE_WITH_META) {
		if (!read_time(s, c) || !read_thread(s, c, fxt_get(f, FXT_F_LARGE_THREAD), false))
			return;
		read_args(s, c, fxt_get(f, FXT_F_LARGE_ARGS));
		if (s->args_lost) {
			s->lacks = "its arguments";
			return;
		}
	}
	if (read_word(s, c, &len, "the blob's size"))
		read_stream(s, c, len, "the blob's bytes");
}

void fxt_shape_of(struct fxt_shape *s, const uint8_t *p, uint64_t size, bool swap)
{
	struct cursor c = cursor_make(p, size, swap);

	*s = (struct fxt_shape){ .p = p, .size = size, .known = true, .args = p, .args_end = p };
	s->head = cursor_u64(&c);
	s->type = (uint8_t)fxt_type(s->head);
	switch (s->type) {
	case FXT_METADATA:
		s->known = false;
		shape_metadata(s, &c);
		break;
	case FXT_INIT:
		shape_init(s, &c);
		break;
	case FXT_STRING:
		read_stream(s, &c, fxt_get(s->head, FXT_F_STRING_LEN), "the string");
		break;
	case FXT_THREAD:
		if (read_word(s, &c, &s->threads[0].pid, "the process id"))
			read_word(s, &c, &s->threads[0].tid, "the thread id");
		break;
	case FXT_EVENT:
		shape_event(s, &c);
		break;
	case FXT_BLOB:
		shape_blob(s, &c);
		break;
	case FXT_USER_OBJECT:
	case FXT_KERNEL_OBJECT:
		shape_object(s, &c);
		break;
	case FXT_SCHEDULING:
		shape_scheduling(s, &c);
		break;
	case FXT_LOG:
		shape_log(s, &c);
		break;
	case FXT_PROFILER:
		shape_profiler(s, &c);
		break;
	case FXT_LARGE:
		shape_large(s, &c);
		break;
	default:
		s->known = false;
	}
	s->extra = s->known && !s->lacks && !s->args_lost ? cursor_left(&c) / FXT_WORD : 0;
}

/* --- exactness --- */

static bool reserved_clear(const struct fxt_shape *s)
{
	const uint64_t h = s->head;

	switch (s->type) {
	case FXT_METADATA:
		return s->sub == FXT_TRACE_INFO	     ? h == FXT_MAGIC
		       : s->sub == FXT_PROVIDER_INFO ? h >> 60 == 0
						     : h >> 56 == 0;
	case FXT_INIT:
		return h >> 16 == 0;
	case FXT_STRING:
		return !fxt_bits(h, 31, 31) && h >> 47 == 0 && fxt_get(h, FXT_F_STRING_INDEX);
	case FXT_THREAD:
		return h >> 24 == 0;
	case FXT_BLOB:
		return !fxt_bits(h, 47, 47) && h >> 56 == 0;
	case FXT_USER_OBJECT:
	case FXT_KERNEL_OBJECT:
		return h >> 44 == 0;
	case FXT_LOG:
		return !fxt_bits(h, 31, 31) && h >> 40 == 0;
	case FXT_PROFILER:
		return h >> (s->sub == FXT_MODULE ? 60 : s->sub == FXT_MMAP ? 47 : 36) == 0;
	case FXT_LARGE:
		return h >> 44 == 0;
	case FXT_SCHEDULING:
		return s->sub == FXT_LEGACY_SWITCH ||
		       !fxt_bits(h, s->sub == FXT_SWITCH ? 40 : 36, 59);
	default:
		return true;
	}
}

static bool args_exact(const struct fxt_shape *s, bool swap)
{
	struct cursor c = cursor_make(s->args, (size_t)(s->args_end - s->args), swap);

	for (unsigned i = 0; i < s->nargs; i++) {
		struct fxt_arg a;

		fxt_arg_next(&c, &a);
		if (a.state != FXT_ARG_GOOD || a.type >= FXT_ARG_TYPES)
			return false;
	}
	return true;
}

bool fxt_shape_cut(const struct fxt_shape *s, uint64_t size)
{
	if (!s->known || !(s->lacks || s->args_lost) || s->padding || !reserved_clear(s))
		return false;
	/*
	 * Whether profiler records have one or two words of thread is told by their size, so here
	 * it is unknown.
	 */
	return s->last && s->type != FXT_PROFILER ? s->needs == size : s->needs <= size;
}

bool fxt_shape_open(const struct fxt_shape *s, uint64_t size)
{
	const uint64_t known = s->lacks || s->args_lost ? s->needs : s->size - s->extra * FXT_WORD;
	/* Whether more words may follow the parts up to `known` than a mark or a scope has */
	const bool parts = (s->lacks || s->args_lost) && !s->last;

	if (!s->known || !reserved_clear(s))
		return false;
	/* Where the parts of profiler records begin is told by their size: see fxt_shape_cut(). */
	if (s->type == FXT_PROFILER)
		return true;
	if (s->padding || known > size)
		return false;
	return parts || size - known <= FXT_MARK_WORDS * FXT_WORD;
}

const uint8_t *fxt_shape_marked(const struct fxt_shape *s)
{
	if (s->type == FXT_EVENT && s->sub == FXT_INSTANT)
		return fxt_shape_mark(s, FXT_KIND_MARK, FXT_KIND_WORDS);
	if (s->type == FXT_SCHEDULING && s->sub == FXT_SWITCH)
		return fxt_shape_mark(s, FXT_SIDE_MARK, FXT_SIDE_WORDS);
	if (s->type == FXT_KERNEL_OBJECT || s->type == FXT_USER_OBJECT ||
	    (s->type == FXT_PROFILER && s->sub != FXT_BACKTRACE))
		return fxt_shape_mark(s, FXT_NAME_MARK, FXT_NAME_WORDS);
	if (s->type == FXT_LARGE && s->extra == FXT_NUMBER_WORDS)
		return fxt_shape_mark(s, FXT_NUMBER_MARK, FXT_NUMBER_WORDS);
	if (s->type == FXT_LARGE && s->sub == FXT_LARGE_WITH_META)
		return fxt_shape_mark(s, FXT_PAYLOAD_MARK, FXT_PAYLOAD_WORDS);
	return NULL;
}

bool fxt_shape_fits(const struct fxt_shape *s)
{
	const bool scope = s->type == FXT_EVENT && s->sub == FXT_INSTANT;

	if (!s->known || s->lacks || s->args_lost || s->padding || !reserved_clear(s))
		return false;
	return s->extra <= scope || fxt_shape_marked(s);
}

bool fxt_shape_exact(const struct fxt_shape *s, bool swap)
{
	return fxt_shape_fits(s) && args_exact(s, swap);
}
