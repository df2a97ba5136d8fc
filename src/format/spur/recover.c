/*
 * Completing the file of a process that was killed: SPEC spur/recover. Changes are made in an order
 * in which each of them leaves a recording with the same records: the end pair's ticks, which say
 * that it is complete, are the last.
 */
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "base/process.h"
#include "format/spur/reader.h"

/* A file that is being completed. */
struct recover {
	struct spb s;
	const char *path;
	int fd;
	uint32_t used; /* chunks up to the last one that is in use */
	struct spb_pair end; /* the latest one that is stored */
	struct format_recovery *out;
	struct spur_error *err;
};

static bool fail(struct recover *r)
{
	err_set(r->err, SPUR_ERR_IO, "%s: %s", r->path, strerror(errno));
	return false;
}

static bool put(struct recover *r, uint64_t off, const uint64_t *words, size_t n)
{
	uint8_t bytes[3 * SPB_WORD];

	assert(n * SPB_WORD <= sizeof(bytes));
	for (size_t i = 0; i < n * SPB_WORD; i++)
		bytes[i] = (uint8_t)(words[i / SPB_WORD] >> i % SPB_WORD * 8);
	return os_pwrite(r->fd, bytes, n * SPB_WORD, (off_t)off) == (ssize_t)(n * SPB_WORD) ||
	       fail(r);
}

static uint64_t chunk_off(const struct recover *r, uint32_t number)
{
	return SPB_HEADER + (uint64_t)number * r->s.chunk_size;
}

static uint32_t chunk_count(const struct recover *r)
{
	const uint64_t room = r->s.size - SPB_HEADER;
	const uint64_t n = room / r->s.chunk_size + (room % r->s.chunk_size >= SPB_CHUNK_HEAD);

	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static bool is_used(const uint8_t *head)
{
	return spb_32(head) == SPB_CHUNK_MAGIC && spb_64(head + SPB_SEQUENCE_AT);
}

/* The clock, and how many chunks are in use. */
static void heads_read(struct recover *r)
{
	const uint8_t *const h = r->s.data;

	spb_pair_take(&r->end, spb_pair_at(h + SPB_BEGIN_AT));
	spb_pair_take(&r->end, spb_pair_at(h + SPB_END_AT));
	for (uint32_t i = 0; i < chunk_count(r); i++) {
		const uint8_t *const p = h + chunk_off(r, i);

		/* A damaged chunk stays. */
		if (spb_64(p) || spb_64(p + SPB_SEQUENCE_AT))
			r->used = i + 1;
		if (!is_used(p))
			continue;
		spb_pair_take(&r->end, spb_pair_at(p + SPB_OPEN_AT));
		spb_pair_take(&r->end, spb_pair_at(p + SPB_CLOSE_AT));
	}
}

/* Counts what a chunk says is lost. */
static void chunk_count_lost(struct recover *r, uint32_t number)
{
	struct spb_cursor c;
	struct spb_record record;

	spb_cursor_open(&r->s, &c, number, 0);
	if (spb_16(c.base + SPB_KIND_AT) != SPB_CHUNK_RECORDS)
		return;
	r->out->lost += spb_64(c.base + SPB_CHUNK_LOST_AT);
	while (spb_record_next(&r->s, &c, NULL, &record)) {
		if (record.kind == SPB_HOLE)
			r->out->lost++;
		else if (record.kind == SPB_LOST && record.words)
			r->out->lost += spb_64(record.payload);
	}
}

static bool chunk_close(struct recover *r, uint32_t number)
{
	const uint8_t *const p = r->s.data + chunk_off(r, number);
	const uint64_t head = spb_64(p) & ~((uint64_t)UINT16_MAX << 48);

	if (spb_64(p + SPB_CLOSE_AT))
		return true;
	r->out->closed++;
	return put(r, chunk_off(r, number) + SPB_CLOSE_AT,
		   (uint64_t[]){ r->end.ticks, r->end.mono }, 2) &&
	       put(r, chunk_off(r, number), (uint64_t[]){ head | (uint64_t)SPB_FULL << 48 }, 1);
}

/* Reads all chunks, and closes those that are open. */
static bool chunks_close(struct recover *r)
{
	for (uint32_t i = 0; i < r->used; i++) {
		if (!is_used(r->s.data + chunk_off(r, i)))
			continue;
		chunk_count_lost(r, i);
		if (!r->out->complete && !chunk_close(r, i))
			return false;
	}
	return true;
}

/* Room that no chunk uses. */
static bool rest_drop(struct recover *r)
{
	const uint64_t end = chunk_off(r, r->used);

	if (end < r->s.size) {
		if (os_ftruncate(r->fd, (off_t)end) != 0)
			return fail(r);
		r->out->dropped = r->s.size - end;
	}
	return spb_64(r->s.data + SPB_READY_AT) <= r->used ||
	       put(r, SPB_READY_AT, (uint64_t[]){ r->used }, 1);
}

/*
 * The latest pair that is stored. One of a later moment would have to be computed, and rounding it
 * would move the times of rows.
 */
static bool end_put(struct recover *r)
{
	const uint8_t *const begin = r->s.data + SPB_BEGIN_AT;
	const uint64_t real = spb_64(begin + 16) + (r->end.mono - spb_64(begin + 8));

	if (!put(r, SPB_END_AT + 8, (uint64_t[]){ r->end.mono, real }, 2))
		return false;
	if (os_fsync(r->fd) != 0)
		return fail(r);
	if (!put(r, SPB_END_AT, (uint64_t[]){ r->end.ticks ? r->end.ticks : 1 }, 1))
		return false;
	return os_fsync(r->fd) == 0 || fail(r);
}

static bool complete(struct recover *r)
{
	const uint8_t *const h = r->s.data;
	struct format_recovery *const out = r->out;

	out->pid = spb_32(h + SPB_PID_AT);
	out->complete = spb_64(h + SPB_END_AT) != 0;
	out->lost = spb_64(h + SPB_LOST_AT);
	out->runs = !out->complete && process_boot_is_this(h + SPB_BOOT_AT) &&
		    process_runs(spb_32(h + SPB_PID_AT), spb_64(h + SPB_START_TIME_AT));
	if ((out->runs && !out->force) || (out->complete && out->brief))
		return true;
	if (!out->complete) {
		r->fd = os_open(r->path, O_RDWR | O_CLOEXEC, 0);
		if (r->fd < 0)
			return fail(r);
	}
	heads_read(r);
	if (!chunks_close(r))
		return false;
	return out->complete || (rest_drop(r) && end_put(r));
}

enum spur_status spb_recover(const char *path, struct format_recovery *out, struct spur_error *err)
{
	struct recover r = { .path = path, .fd = -1, .out = out, .err = err };
	struct source *src;
	bool good = true;

	if (source_open(&src, path, NULL, err) == SPUR_FAIL)
		return SPUR_FAIL;
	source_need(src, UINT64_MAX);
	r.s.data = src->data;
	r.s.size = src->size;
	if (!src->mapped || !spb_head_valid(r.s.data, r.s.size)) {
		err_set(err, SPUR_ERR_FORMAT, "%s: expected the file of a recording%s", path,
			src->mapped ? "" : ", found packed data");
		good = false;
	} else {
		r.s.chunk_size = spb_32(r.s.data + SPB_CHUNK_SIZE_AT);
		good = complete(&r);
	}
	if (r.fd >= 0)
		os_close(r.fd);
	source_close(src);
	return good ? SPUR_OK : SPUR_FAIL;
}
