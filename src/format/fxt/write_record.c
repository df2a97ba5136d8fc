/* See write_record.h. */
#include "format/fxt/write_record.h"

#include <assert.h>

void fxt_build_word(struct fxt_build *b, uint64_t word)
{
	const uint64_t stored = b->swap ? __builtin_bswap64(word) : word;

	b->full |= b->words == FXT_RECORD_MOST;
	if (b->full)
		return;
	memcpy(b->bytes + (size_t)b->words++ * FXT_WORD, &stored, FXT_WORD);
}

/* SPEC fxt/stream: bytes padded with zeros. */
static void fxt_build_stream(struct fxt_build *b, const void *p, uint64_t len)
{
	const uint64_t words = align_up(len, FXT_WORD) / FXT_WORD;
	uint8_t *const to = b->bytes + (size_t)b->words * FXT_WORD;

	b->full |= words > FXT_RECORD_MOST - b->words;
	if (b->full || !words)
		return;
	memset(to + (words - 1) * FXT_WORD, 0, FXT_WORD);
	memcpy(to, p, len);
	b->words += (uint32_t)words;
}

static void build_text(struct fxt_build *b, const struct fxt_string_ref *ref)
{
	if (ref->ref & FXT_INLINE)
		fxt_build_stream(b, ref->text, ref->len);
}

static void build_thread(struct fxt_build *b, const struct fxt_thread_ref *t)
{
	if (t->ref)
		return;
	fxt_build_word(b, t->pid);
	if (!t->process_only)
		fxt_build_word(b, t->tid);
}

/* The value's half of an argument's header. */
static uint64_t arg_high(const struct fxt_arg *a)
{
	switch (a->type) {
	case FXT_ARG_I32:
	case FXT_ARG_U32:
		return fxt_get(a->head, FXT_F_ARG_VALUE);
	case FXT_ARG_BOOL:
		return fxt_get(a->head, FXT_F_ARG_VALUE) & 1;
	case FXT_ARG_STRING:
		return a->text.ref;
	case FXT_ARG_BLOB:
		return a->len;
	default:
		return a->type < FXT_ARG_TYPES ? 0 : fxt_get(a->head, FXT_F_ARG_VALUE);
	}
}

/* The size of an argument is known once it stands there. */
static void arg_close(struct fxt_build *b, uint32_t at, uint64_t head)
{
	const uint64_t sized = head | fxt_put(FXT_F_SIZE, b->words - at);
	const uint64_t stored = b->swap ? __builtin_bswap64(sized) : sized;

	memcpy(b->bytes + (size_t)at * FXT_WORD, &stored, FXT_WORD);
}

void fxt_build_arg(struct fxt_build *b, const struct fxt_arg *a)
{
	const uint32_t at = b->words;

	fxt_build_word(b, 0);
	build_text(b, &a->name);
	switch (a->type) {
	case FXT_ARG_I64:
	case FXT_ARG_U64:
	case FXT_ARG_F64:
	case FXT_ARG_POINTER:
	case FXT_ARG_KOID:
		fxt_build_word(b, a->word);
		break;
	case FXT_ARG_STRING:
		build_text(b, &a->text);
		break;
	case FXT_ARG_BLOB:
		fxt_build_stream(b, a->data, a->len);
		break;
	default:
		/* SPEC fxt/unknown-argument: the bytes after its name */
		if (a->type >= FXT_ARG_TYPES)
			fxt_build_stream(b, a->data, a->len);
	}
	if (b->full)
		b->words = at;
	else
		arg_close(b, at,
			  fxt_put(FXT_F_TYPE, a->type) | fxt_put(FXT_F_ARG_NAME, a->name.ref) |
				  fxt_put(FXT_F_ARG_VALUE, arg_high(a)));
}

/* --- records: the words behind the header; what is returned are the fields of the header --- */

static uint64_t keep(const struct fxt_shape *s, enum fxt_field f)
{
	return fxt_put(f, fxt_get(s->head, f));
}

static void build_args(struct fxt_build *b, const struct fxt_shape *s)
{
	fxt_build_stream(b, s->args, (uint64_t)(s->args_end - s->args));
}

static uint64_t build_metadata(const struct fxt_shape *s)
{
	const uint64_t head =
		fxt_put(FXT_F_METADATA_TYPE, s->sub) | fxt_put(FXT_F_METADATA_PROVIDER, s->value);

	switch (s->sub) {
	case FXT_PROVIDER_INFO:
		return head | fxt_put(FXT_F_METADATA_NAME_LEN, s->data_len);
	case FXT_PROVIDER_SECTION:
		return head;
	case FXT_PROVIDER_EVENT:
		return head | keep(s, FXT_F_METADATA_EVENT);
	default:
		return FXT_MAGIC & ~fxt_put(FXT_F_SIZE, FXT_RECORD_MOST);
	}
}

static uint64_t build_table(struct fxt_build *b, const struct fxt_shape *s)
{
	if (s->type == FXT_STRING)
		return keep(s, FXT_F_STRING_INDEX) | fxt_put(FXT_F_STRING_LEN, s->data_len);
	if (s->type == FXT_THREAD) {
		fxt_build_word(b, s->threads[0].pid);
		fxt_build_word(b, s->threads[0].tid);
		return keep(s, FXT_F_THREAD_INDEX);
	}
	fxt_build_word(b, s->value);
	if (s->extended) {
		fxt_build_word(b, s->more[0]);
		fxt_build_word(b, s->more[1]);
	}
	return 0;
}

static uint64_t build_event(struct fxt_build *b, const struct fxt_shape *s)
{
	fxt_build_word(b, s->ticks);
	build_thread(b, &s->threads[0]);
	build_text(b, &s->cat);
	build_text(b, &s->name);
	build_args(b, s);
	if (fxt_has_tail(s->sub))
		fxt_build_word(b, s->value);
	return fxt_put(FXT_F_EVENT_TYPE, s->sub) | fxt_put(FXT_F_EVENT_ARGS, s->nargs) |
	       fxt_put(FXT_F_EVENT_THREAD, s->threads[0].ref) |
	       fxt_put(FXT_F_EVENT_CATEGORY, s->cat.ref) | fxt_put(FXT_F_EVENT_NAME, s->name.ref);
}

static uint64_t build_object(struct fxt_build *b, const struct fxt_shape *s)
{
	const bool user = s->type == FXT_USER_OBJECT;
	const struct fxt_thread_ref process = { .ref = s->threads[0].ref,
						.process_only = true,
						.pid = s->threads[0].pid };

	fxt_build_word(b, s->value);
	if (user)
		build_thread(b, &process);
	build_text(b, &s->name);
	build_args(b, s);
	return (user ? fxt_put(FXT_F_OBJECT_PROCESS, process.ref) : keep(s, FXT_F_OBJECT_TYPE)) |
	       fxt_put(FXT_F_OBJECT_NAME, s->name.ref) | fxt_put(FXT_F_OBJECT_ARGS, s->nargs);
}

static uint64_t build_scheduling(struct fxt_build *b, const struct fxt_shape *s)
{
	const uint64_t type = fxt_put(FXT_F_SCHED_TYPE, s->sub);

	fxt_build_word(b, s->ticks);
	if (s->sub == FXT_LEGACY_SWITCH) {
		build_thread(b, &s->threads[0]);
		build_thread(b, &s->threads[1]);
		return type | keep(s, FXT_F_LEGACY_CPU) | keep(s, FXT_F_LEGACY_STATE) |
		       keep(s, FXT_F_LEGACY_OUT_PRIORITY) | keep(s, FXT_F_LEGACY_IN_PRIORITY) |
		       fxt_put(FXT_F_LEGACY_OUT, s->threads[0].ref) |
		       fxt_put(FXT_F_LEGACY_IN, s->threads[1].ref);
	}
	fxt_build_word(b, s->threads[0].tid);
	if (s->sub == FXT_SWITCH)
		fxt_build_word(b, s->threads[1].tid);
	build_args(b, s);
	return type | fxt_put(FXT_F_SCHED_ARGS, s->nargs) | keep(s, FXT_F_SCHED_CPU) |
	       (s->sub == FXT_SWITCH ? keep(s, FXT_F_SCHED_STATE) : 0);
}

static uint64_t build_profiler(struct fxt_build *b, const struct fxt_shape *s)
{
	const uint64_t head = fxt_put(FXT_F_PROFILER_TYPE, s->sub) |
			      fxt_put(FXT_F_PROFILER_THREAD, s->threads[0].ref);

	fxt_build_word(b, s->ticks);
	build_thread(b, &s->threads[0]);
	if (s->sub == FXT_BACKTRACE)
		return head | fxt_put(FXT_F_PROFILER_FRAMES, s->data_len / FXT_WORD);
	if (s->sub == FXT_MODULE) {
		fxt_build_stream(b, s->name.text, s->name.len);
		return head | keep(s, FXT_F_PROFILER_MODULE) |
		       fxt_put(FXT_F_PROFILER_NAME_LEN, s->name.len) |
		       fxt_put(FXT_F_PROFILER_BUILD_ID_LEN, s->data_len);
	}
	fxt_build_word(b, s->value);
	fxt_build_word(b, s->more[0]);
	fxt_build_word(b, s->more[1]);
	return head | keep(s, FXT_F_PROFILER_MODULE) | keep(s, FXT_F_PROFILER_FLAGS);
}

static uint64_t build_large(struct fxt_build *b, const struct fxt_shape *s)
{
	const bool meta = s->sub == FXT_LARGE_WITH_META;
	const uint64_t refs =
		fxt_put(FXT_F_LARGE_CATEGORY, s->cat.ref) | fxt_put(FXT_F_LARGE_NAME, s->name.ref);

	fxt_build_word(b, !meta ? refs
				: refs | fxt_put(FXT_F_LARGE_ARGS, s->nargs) |
					  fxt_put(FXT_F_LARGE_THREAD, s->threads[0].ref));
	build_text(b, &s->cat);
	build_text(b, &s->name);
	if (meta) {
		fxt_build_word(b, s->ticks);
		build_thread(b, &s->threads[0]);
		build_args(b, s);
	}
	fxt_build_word(b, s->data_len);
	return fxt_put(FXT_F_LARGE_FORMAT, s->sub);
}

static uint64_t build_record(struct fxt_build *b, const struct fxt_shape *s)
{
	switch (s->type) {
	case FXT_METADATA:
		return build_metadata(s);
	case FXT_INIT:
	case FXT_STRING:
	case FXT_THREAD:
		return build_table(b, s);
	case FXT_EVENT:
		return build_event(b, s);
	case FXT_BLOB:
		build_text(b, &s->name);
		return fxt_put(FXT_F_BLOB_NAME, s->name.ref) |
		       fxt_put(FXT_F_BLOB_LEN, s->data_len) | keep(s, FXT_F_BLOB_TYPE);
	case FXT_USER_OBJECT:
	case FXT_KERNEL_OBJECT:
		return build_object(b, s);
	case FXT_SCHEDULING:
		return build_scheduling(b, s);
	case FXT_LOG:
		fxt_build_word(b, s->ticks);
		build_thread(b, &s->threads[0]);
		return fxt_put(FXT_F_LOG_LEN, s->data_len) |
		       fxt_put(FXT_F_LOG_THREAD, s->threads[0].ref);
	case FXT_PROFILER:
		return build_profiler(b, s);
	default:
		assert(s->type == FXT_LARGE);
		return build_large(b, s);
	}
}

bool fxt_encode(const struct fxt_shape *s, struct fxt_build *b, struct out *o)
{
	return fxt_encode_marked(s, NULL, 0, b, o);
}

bool fxt_encode_marked(const struct fxt_shape *s, const uint8_t *mark, unsigned mark_words,
		       struct fxt_build *b, struct out *o)
{
	static const char zeros[FXT_WORD];
	const uint64_t padded = align_up(s->data_len, FXT_WORD);
	uint64_t head, words, stored;

	b->words = 0;
	b->full = false;
	/* The header has its place first, so that all of it is one piece. */
	fxt_build_word(b, 0);
	head = build_record(b, s) | fxt_put(FXT_F_TYPE, s->type);
	words = b->words + padded / FXT_WORD + mark_words;
	if (b->full || words > (s->type == FXT_LARGE ? UINT32_MAX : FXT_RECORD_MOST))
		return false;
	head |= fxt_put(s->type == FXT_LARGE ? FXT_F_LARGE_SIZE : FXT_F_SIZE, words);
	stored = b->swap ? __builtin_bswap64(head) : head;
	memcpy(b->bytes, &stored, FXT_WORD);
	out_bytes(o, b->bytes, (size_t)b->words * FXT_WORD);
	if (s->data_len) {
		out_bytes(o, s->data, s->data_len);
		out_bytes(o, zeros, padded - s->data_len);
	}
	out_bytes(o, mark, (size_t)mark_words * FXT_WORD);
	return true;
}

bool fxt_encode_next_mark(struct fxt_build *b, struct out *o)
{
	const struct fxt_shape s = { .type = FXT_BLOB,
				     .head = fxt_put(FXT_F_BLOB_TYPE, FXT_BLOB_DATA),
				     .data = (const uint8_t *)FXT_NEXT_MARK,
				     .data_len = FXT_WORD };

	return fxt_encode(&s, b, o);
}

uint32_t fxt_text_cut(const char *text, uint64_t len, uint64_t most)
{
	uint64_t n = len < most ? len : most;

	/* What continues a sequence goes with its first byte, unless it is no UTF-8 anyway. */
	for (int i = 0; i < 3 && n && n < len && ((uint8_t)text[n] & 0xC0) == 0x80; i++)
		n--;
	if (n < len && n && ((uint8_t)text[n] & 0xC0) == 0x80)
		n = most;
	return (uint32_t)n;
}
