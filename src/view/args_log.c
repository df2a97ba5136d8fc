/*
 * See args_log.h. The file consists of chunks of whole entries; the last one is still in memory. An
 * entry:
 *
 *	offset	size	field
 *	0	24	struct entry_head
 *	24	...	for each argument u32 size of its name, u32 size of its value, both texts
 */
#include "view/args_log.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/os.h"
#include "render/value.h"

enum { CHUNK = 64 << 10 };

/* Begins an entry: its size with all texts, and which row it is of. */
struct entry_head {
	uint32_t size, stream;
	uint64_t off;
	int64_t ts;
	uint32_t kind, count; /* of the row; arguments */
};

/* Entries of a part of the file, and the first and last time of their rows. */
struct chunk {
	uint64_t at, size;
	int64_t first, last;
};

struct args_log {
	const struct spur_trace *trace;
	struct value_writer values;
	pthread_mutex_t lock; /* all below */
	int fd;
	int error; /* errno of a failed write */
	uint64_t end; /* of the file */
	struct chunk *chunks; /* in the file */
	size_t n, cap;
	struct out held; /* entries that are not in the file yet */
	struct chunk holding;
};

static const struct chunk empty = { .first = INT64_MAX, .last = INT64_MIN };

enum spur_status args_log_new(struct args_log **out, const struct spur_trace *t,
			      struct spur_error *err)
{
	struct args_log *const l = mem_alloc(sizeof(*l));

	*out = l;
	if (!l)
		return err_nomem(err);
	l->trace = t;
	l->holding = empty;
	pthread_mutex_init(&l->lock, NULL);
	out_to_memory(&l->held);
	l->fd = temp_file_open();
	if (!value_writer_open(&l->values, t, VALUE_TEXT))
		return err_nomem(err);
	return l->fd < 0 ? err_set(err, SPUR_ERR_IO, "temporary file: %s", strerror(errno))
			 : SPUR_OK;
}

void args_log_free(struct args_log *l)
{
	if (!l)
		return;
	if (l->fd >= 0)
		os_close(l->fd);
	value_writer_close(&l->values);
	pthread_mutex_destroy(&l->lock);
	out_free(&l->held);
	mem_free(l->chunks);
	mem_free(l);
}

enum spur_status args_log_failed(const struct args_log *l, struct spur_error *err)
{
	return l->error ? err_set(err, SPUR_ERR_IO, "temporary file: %s", strerror(l->error))
			: err_nomem(err);
}

/* Writes the held entries to the file. */
static bool chunk_write(struct args_log *l)
{
	uint64_t done = 0;

	if (!mem_grow((void **)&l->chunks, &l->cap, l->n + 1, sizeof(*l->chunks), SIZE_MAX / 64))
		return false;
	while (done < l->held.len) {
		const ssize_t n = os_pwrite(l->fd, l->held.buf + done, l->held.len - done,
					    (off_t)(l->end + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			l->error = n ? errno : ENOSPC;
			return false;
		}
		done += (uint64_t)n;
	}
	l->holding.at = l->end;
	l->holding.size = done;
	l->chunks[l->n++] = l->holding;
	l->end += done;
	l->holding = empty;
	out_clear(&l->held);
	return true;
}

/* Appends an argument to the held entry. */
static void put_arg(struct args_log *l, const struct spur_value *v)
{
	const size_t at = l->held.len;
	uint32_t sizes[2];
	size_t len;
	const char *const name = trace_string(l->trace, v->name, &len);

	sizes[0] = (uint32_t)len;
	out_bytes(&l->held, (const char *)sizes, sizeof(sizes));
	out_bytes(&l->held, name, len);
	value_text(&l->values, v, &l->held);
	if (l->held.error)
		return;
	sizes[1] = (uint32_t)(l->held.len - at - sizeof(sizes) - len);
	memcpy(l->held.buf + at, sizes, sizeof(sizes));
}

bool args_log_add(struct args_log *l, const struct spur_event *row, const struct spur_args *args)
{
	struct entry_head h = { .stream = row->stream,
				.off = row->off,
				.ts = row->ts,
				.kind = row->kind,
				.count = (uint32_t)args->count };
	bool good;
	size_t at;

	pthread_mutex_lock(&l->lock);
	at = l->held.len;
	out_bytes(&l->held, (const char *)&h, sizeof(h));
	for (size_t i = 0; i < args->count; i++)
		put_arg(l, &args->items[i]);
	good = !l->held.error;
	if (good) {
		h.size = (uint32_t)(l->held.len - at);
		memcpy(l->held.buf + at, &h, sizeof(h));
		l->holding.first = row->ts < l->holding.first ? row->ts : l->holding.first;
		l->holding.last = row->ts > l->holding.last ? row->ts : l->holding.last;
		good = l->held.len < CHUNK || chunk_write(l);
	}
	pthread_mutex_unlock(&l->lock);
	return good;
}

/* Passes on the arguments of an entry. */
static void entry_take(const char *p, uint32_t count, bool end, view_arg_take take, void *self)
{
	struct view_argument arg = { .count = count, .end = end };
	uint32_t sizes[2];

	for (p += sizeof(struct entry_head); arg.place < count; arg.place++) {
		memcpy(sizes, p, sizeof(sizes));
		p += sizeof(sizes);
		arg.name = (struct store_text){ p, sizes[0] };
		arg.text = (struct store_text){ p + sizes[0], sizes[1] };
		take(self, &arg);
		p += sizes[0] + sizes[1];
	}
}

/* Looks among entries. Returns true if one is of the row. */
static bool entries_find(const char *p, size_t len, const struct spur_event *row, bool end_row,
			 view_arg_take take, void *self)
{
	struct entry_head h;

	for (const char *const end = p + len; p < end; p += h.size) {
		memcpy(&h, p, sizeof(h));
		assert(h.size >= sizeof(h) && h.size <= (size_t)(end - p));
		if (h.ts != row->ts || h.off != row->off || h.stream != row->stream ||
		    h.kind != row->kind)
			continue;
		entry_take(p, h.count, end_row, take, self);
		return true;
	}
	return false;
}

/* Reads a chunk of the file into `buf`. */
static bool chunk_read(const struct args_log *l, const struct chunk *c, char *buf)
{
	uint64_t done = 0;

	while (done < c->size) {
		const ssize_t n =
			os_pread(l->fd, buf + done, c->size - done, (off_t)(c->at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (uint64_t)n;
	}
	return true;
}

bool args_log_find(struct args_log *l, const struct spur_event *row, bool end, view_arg_take take,
		   void *self)
{
	bool good = true, found;

	pthread_mutex_lock(&l->lock);
	found = entries_find(l->held.buf, l->held.len, row, end, take, self);
	/* The latest ones are asked for most. */
	for (size_t i = l->n; good && !found && i-- > 0;) {
		const struct chunk *const c = &l->chunks[i];
		char *buf;

		if (row->ts < c->first || row->ts > c->last)
			continue;
		buf = mem_array(c->size, 1);
		good = buf && chunk_read(l, c, buf);
		found = good && entries_find(buf, c->size, row, end, take, self);
		mem_free(buf);
	}
	pthread_mutex_unlock(&l->lock);
	return good;
}
