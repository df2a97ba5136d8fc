/* Inputs. See source.h. */
#include "base/source.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/holes.h"
#include "base/libc.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/unpack.h"

enum {
	PIECE = 256 << 10, /* bytes made available by one source_more() */
	INPUT = 64 << 10, /* bytes of a compressed file read at once */
	MAGIC = 10, /* most bytes that tell what the input is */
	/* Most bytes that one byte unpacks to: a deflate match; a zstd block, 128 KiB of 4 */
	GZ_RATIO = 1032,
	ZST_RATIO = 32768,
	FRAME_START = 5, /* zstd: what it wants to see first */
	BLOCK_HEADER = 3,
	COPY_MAX = 4096, /* bytes of a file that is copied rather than mapped */
	WAIT_MS = 50, /* how long a wait may be before it is looked whether to go on waiting */
	/* How long the name of a followed file may be gone before that is its end */
	GONE_MS = 1000,
};

#define DEFAULT_LIMIT ((uint64_t)1 << 40)
/* Address space for all sources, and what one may have of it when many are open. */
#define RESERVE_LEAST ((uint64_t)16 << 30)
#define RESERVE_ALL ((uint64_t)1 << (sizeof(void *) == 8 ? 46 : 30))

enum packing {
	PACKING_UNKNOWN,
	PACKING_NONE,
	PACKING_GZ,
	PACKING_ZST,
	PACKING_XZ,
	PACKING_BZ2,
};

static const char *const packing_names[] = {
	[PACKING_GZ] = "gzip data",
	[PACKING_ZST] = "zstd data",
	[PACKING_XZ] = "xz data",
	[PACKING_BZ2] = "bzip2 data",
};

/*
 * What is read piece by piece. Bytes go by way of `piece` into `file`, which `range` maps at once
 * in all the length that it may get: addresses cost nothing until the file grows under them.
 */
struct source_spill {
	int fd; /* -1: `mem` */
	const uint8_t *mem; /* rest of the bytes in memory */
	size_t mem_left;
	bool in_place; /* memory that is shown as it is */
	enum packing packing;
	uint64_t limit; /* most bytes to take; more are an error */
	uint64_t known; /* end of a plain file when it was opened; UINT64_MAX for others */
	bool follow; /* a file that may grow */
	bool hurry; /* what is not there yet is not waited for */
	const volatile int *stop; /* NULL: none */
	uint64_t max_unpacked; /* as in the options */
	bool *over; /* NULL: not wanted */
	uint64_t packed; /* size of a packed file; 0: unknown */

	int file; /* -1: not made yet */
	void *range;
	uint64_t reserved; /* bytes of `range` */
	uint8_t *piece;
	size_t piece_size;

	uint8_t *in; /* read, but not unpacked */
	size_t in_pos, in_len, in_cap;
	uint64_t in_total; /* bytes read so far */
	bool in_eof;
	bool between; /* packed data: a member or frame is complete */
	uint64_t part; /* where in the packed data the member or frame begins */
	bool pending; /* packed data: the unpacker may have more without more input */
	bool z_ready;
	z_stream z;
	ZSTD_DStream *zst;
	struct unpacker *unpacker; /* xz, bzip2 */
	size_t zst_wants; /* bytes of input up to the end of a block and of the header after it */
};

static const struct source_options none;

/* Of all sources that have not failed. Never written to. */
static struct spur_error no_error;

/*
 * The source's own error, to be filled. Returns NULL if out of memory; s->error then says that.
 */
static struct spur_error *error_of(struct source *s)
{
	static struct spur_error no_memory = { .code = SPUR_ERR_MEMORY,
					       .message = "out of memory" };

	if (s->error != &no_error)
		return s->error == &no_memory ? NULL : s->error;
	s->error = mem_alloc(sizeof(*s->error));
	if (s->error)
		return s->error;
	s->error = &no_memory;
	return NULL;
}

static void error_free(struct source *s)
{
	struct spur_error *own = s->error == &no_error ? NULL : error_of(s);

	mem_free(own);
	s->error = &no_error;
}

static void source_fail(struct source *s, enum spur_error_code code, const char *expected,
			const char *found)
{
	err_set(error_of(s), code, "%s: expected %s, found %s", s->path, expected, found);
	err_at(error_of(s), s->path, DIAG_NO_OFF);
}

static uint64_t packed_pos(const struct source *s)
{
	const struct source_spill *sp = s->spill;

	return sp->in_total - (sp->in_len - sp->in_pos);
}

/*
 * As source_fail(), for packed data, with a place in it. Where inside a member or frame the
 * unpacker notices something depends on how much it was given, so that is said by where the member
 * or frame begins.
 */
static void packed_fail(struct source *s, uint64_t at, const char *expected, const char *found)
{
	err_set(error_of(s), SPUR_ERR_FORMAT, "%s: expected %s at packed byte %llu, found %s",
		s->path, expected, (unsigned long long)at, found);
	err_at(error_of(s), s->path, at);
}

static bool input_stopped(const struct source_spill *sp)
{
	return sp->stop && *sp->stop;
}

/* Waits until there is something to read, or the end. False: asked to stop. */
static bool input_wait(const struct source_spill *sp)
{
	while (!input_stopped(sp)) {
		struct pollfd p = { .fd = sp->fd, .events = POLLIN };
		const int n = os_poll(&p, 1, sp->stop ? WAIT_MS : -1);

		if (n > 0 || (n < 0 && errno != EINTR))
			return true;
	}
	return false;
}

/* What the path names. */
enum name { NAME_SAME, NAME_OTHER, NAME_GONE };

/* Standard input has no name: it stays the same. */
static enum name file_name(const struct source *s, const struct stat *open)
{
	struct stat named;

	if (strcmp(s->path, "-") == 0)
		return NAME_SAME;
	if (os_stat(s->path, &named) != 0)
		return NAME_GONE;
	return named.st_dev == open->st_dev && named.st_ino == open->st_ino ? NAME_SAME
									    : NAME_OTHER;
}

/* Whether the file ends before `*at`, which is where reading is. */
static bool file_is_cut(struct source *s, off_t *at, struct stat *st)
{
	*at = os_lseek(s->spill->fd, 0, SEEK_CUR);
	if (*at < 0 || os_fstat(s->spill->fd, st)) {
		source_fail(s, SPUR_ERR_IO, "more bytes", error_text(errno));
		return true;
	}
	s->cut = st->st_size < *at;
	if (s->cut && s->spill->hurry)
		source_fail(s, SPUR_ERR_IO, "the file to grow", "that it was cut");
	return s->cut;
}

/* At the end of a file that is followed: false where no more will come. */
static bool file_wait(struct source *s)
{
	const struct source_spill *sp = s->spill;
	unsigned gone = 0; /* ms */
	struct stat st;
	off_t at;

	while (!input_stopped(sp)) {
		enum name name;

		if (file_is_cut(s, &at, &st) || sp->hurry)
			return false;
		/* Looked at before the size: what was written before it was replaced is read. */
		name = file_name(s, &st);
		if (os_fstat(sp->fd, &st) == 0 && st.st_size > at)
			return true;
		s->replaced = name == NAME_OTHER || (name == NAME_GONE && gone >= GONE_MS);
		if (s->replaced)
			return false;
		gone = name == NAME_GONE ? gone + WAIT_MS : 0;
		os_poll(NULL, 0, WAIT_MS);
	}
	return false;
}

/*
 * read() of the input, waiting as long as it takes; 0 at the end, on an error, and where asked to
 * stop.
 */
static size_t input_read(struct source *s, void *buf, size_t size)
{
	struct source_spill *sp = s->spill;

	if (sp->fd < 0) {
		if (size > sp->mem_left)
			size = sp->mem_left;
		if (size)
			memcpy(buf, sp->mem, size);
		sp->mem += size;
		sp->mem_left -= size;
		sp->in_total += size;
		return size;
	}
	while (input_wait(sp)) {
		const ssize_t n = os_read(sp->fd, buf, size);

		if (n > 0) {
			sp->in_total += (size_t)n;
			return (size_t)n;
		}
		if (n == 0 && (!sp->follow || !file_wait(s)))
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			source_fail(s, SPUR_ERR_IO, "more bytes", error_text(errno));
			return 0;
		}
	}
	return 0;
}

/* More packed bytes after those that are left; false at the end of the input. */
static bool input_fill(struct source *s)
{
	struct source_spill *sp = s->spill;
	size_t n;

	if (sp->in_eof)
		return false;
	assert(sp->in_pos <= sp->in_len && sp->in_len <= sp->in_cap);
	memmove(sp->in, sp->in + sp->in_pos, sp->in_len - sp->in_pos);
	sp->in_len -= sp->in_pos;
	sp->in_pos = 0;
	/* A read of no bytes would look like the end of the input. */
	assert(sp->in_len < sp->in_cap);
	n = input_read(s, sp->in + sp->in_len, sp->in_cap - sp->in_len);
	sp->in_len += n;
	sp->in_eof = !n;
	return n > 0;
}

static enum packing packing_of(const uint8_t *p, size_t len)
{
	if (len >= 3 && p[0] == 0x1F && p[1] == 0x8B && p[2] == 8)
		return PACKING_GZ;
	if (len >= 4 && !memcmp(p, "\x28\xB5\x2F\xFD", 4))
		return PACKING_ZST;
	if (len >= 6 && !memcmp(p, "\xFD" "7zXZ\0", 6))
		return PACKING_XZ;
	/* After the level the first block's magic, or that of the end. */
	if (len >= 10 && !memcmp(p, "BZh", 3) && p[3] >= '1' && p[3] <= '9' &&
	    (!memcmp(p + 4, "1AY&SY", 6) || !memcmp(p + 4, "\x17rE8P\x90", 6)))
		return PACKING_BZ2;
	return PACKING_NONE;
}

static void *z_alloc(void *arg, unsigned count, unsigned size)
{
	(void)arg;
	return mem_array(count, size);
}

static void z_free(void *arg, void *p)
{
	(void)arg;
	mem_free(p);
}

static bool unpacker_open(struct source *s)
{
	struct source_spill *sp = s->spill;

	sp->between = true;
	if (sp->packing == PACKING_GZ) {
		sp->z.zalloc = z_alloc;
		sp->z.zfree = z_free;
		sp->z_ready = inflateInit2(&sp->z, 15 + 16) == Z_OK;
	} else if (sp->packing == PACKING_ZST) {
		sp->zst = ZSTD_createDStream();
		sp->zst_wants = FRAME_START;
	} else if (sp->packing != PACKING_NONE) {
		sp->unpacker = unpack_new(sp->packing == PACKING_XZ ? UNPACK_XZ : UNPACK_BZIP2);
	} else {
		return true;
	}
	if (!sp->z_ready && !sp->zst && !sp->unpacker)
		err_nomem(error_of(s));
	return sp->z_ready || sp->zst || sp->unpacker;
}

/* One step of inflate(); bytes written. */
static size_t gz_step(struct source *s, uint8_t *out, size_t size)
{
	struct source_spill *sp = s->spill;
	z_stream *z = &sp->z;
	size_t n;
	int rc;

	if (sp->between && sp->in[sp->in_pos] != 0x1F) {
		packed_fail(s, packed_pos(s), "another gzip member or the end", "other bytes");
		return 0;
	}
	if (sp->between) {
		sp->part = packed_pos(s);
		inflateReset(z);
	}
	sp->between = false;
	z->next_in = sp->in + sp->in_pos;
	z->avail_in = (unsigned)(sp->in_len - sp->in_pos);
	z->next_out = out;
	z->avail_out = (unsigned)size;
	rc = inflate(z, Z_NO_FLUSH);
	sp->in_pos = sp->in_len - z->avail_in;
	n = size - z->avail_out;
	sp->between = rc == Z_STREAM_END;
	sp->pending = rc == Z_OK && n == size;
	if (rc == Z_MEM_ERROR)
		err_nomem(error_of(s));
	else if (rc != Z_OK && rc != Z_BUF_ERROR && rc != Z_STREAM_END)
		packed_fail(s, sp->part, "gzip data", z->msg ? z->msg : "a preset dictionary");
	return n;
}

/*
 * One step of ZSTD_decompressStream(). A call that fails tells nothing of what it has written:
 * hence one block at a time, without the header of the next.
 */
static size_t zst_step(struct source *s, uint8_t *out, size_t size)
{
	struct source_spill *sp = s->spill;
	const size_t left = sp->in_len - sp->in_pos;
	const size_t feed =
		sp->zst_wants > BLOCK_HEADER ? sp->zst_wants - BLOCK_HEADER : sp->zst_wants;
	ZSTD_inBuffer in = { sp->in + sp->in_pos, feed < left ? feed : left, 0 };
	ZSTD_outBuffer to = { out, size, 0 };
	const size_t rc = ZSTD_decompressStream(sp->zst, &to, &in);

	if (sp->between)
		sp->part = packed_pos(s);
	sp->in_pos += in.pos;
	sp->between = rc == 0;
	sp->zst_wants = rc ? rc : FRAME_START;
	sp->pending = rc != 0 && to.pos == size;
	if (ZSTD_isError(rc)) {
		sp->pending = false;
		packed_fail(s, sp->part, "zstd data", ZSTD_getErrorName(rc));
	}
	return to.pos;
}

/* Begins a stream of xz or bzip2 data. Returns false on an error and at the end of the input. */
static bool stream_begin(struct source *s)
{
	struct source_spill *sp = s->spill;
	const bool xz = sp->packing == PACKING_XZ;

	/* Zeros may stand between streams of xz. */
	while (xz && sp->in_pos < sp->in_len && !sp->in[sp->in_pos])
		sp->in_pos++;
	if (sp->in_pos == sp->in_len)
		return false;
	if (sp->in[sp->in_pos] != (xz ? 0xFD : 'B')) {
		packed_fail(s, packed_pos(s),
			    xz ? "another xz stream or the end" : "another bzip2 stream or the end",
			    "other bytes");
		return false;
	}
	sp->part = packed_pos(s);
	sp->between = false;
	if (!unpack_begin(sp->unpacker))
		err_nomem(error_of(s));
	return !s->error->code;
}

/* One step of an unpacker; bytes written. */
static size_t stream_step(struct source *s, uint8_t *out, size_t size)
{
	struct source_spill *sp = s->spill;
	struct unpack_piece p;
	enum unpack_status st;

	if (sp->between && !stream_begin(s))
		return 0;
	p = (struct unpack_piece){ sp->in + sp->in_pos, sp->in_len - sp->in_pos, out, size };
	st = unpack_step(sp->unpacker, &p);
	sp->in_pos = sp->in_len - p.in_len;
	sp->between = st == UNPACK_END;
	sp->pending = st == UNPACK_MORE && !p.out_len;
	if (st == UNPACK_NOMEM)
		err_nomem(error_of(s));
	else if (st == UNPACK_BAD)
		packed_fail(s, sp->part, packing_names[sp->packing], unpack_problem(sp->unpacker));
	return size - p.out_len;
}

/* Unpacks at least one byte if there is one; 0 at the end or on an error. */
static size_t unpack(struct source *s, uint8_t *out, size_t size)
{
	struct source_spill *sp = s->spill;
	size_t n = 0;

	while (!n && !s->error->code) {
		if (!sp->pending && sp->in_pos == sp->in_len && !input_fill(s)) {
			if (!sp->between && !s->error->code)
				packed_fail(s, packed_pos(s), "more data",
					    "the end: it is cut off");
			break;
		}
		n = sp->packing == PACKING_GZ	 ? gz_step(s, out, size)
		    : sp->packing == PACKING_ZST ? zst_step(s, out, size)
						 : stream_step(s, out, size);
	}
	return n;
}

/* Plain bytes: first what was read to tell what the input is. */
static size_t plain(struct source *s, uint8_t *out, size_t size)
{
	struct source_spill *sp = s->spill;
	size_t n = sp->in_len - sp->in_pos;

	if (!n)
		return sp->in_eof ? 0 : input_read(s, out, size);
	if (n > size)
		n = size;
	memcpy(out, sp->in + sp->in_pos, n);
	sp->in_pos += n;
	return n;
}

/* The address range: as much as the source may need, less when many are open or none is left. */
static _Atomic uint64_t reserved_all;

static bool range_reserve(struct source *s, uint64_t want)
{
	struct source_spill *sp = s->spill;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), all = atomic_load(&reserved_all);
	uint64_t share = all < RESERVE_ALL ? (RESERVE_ALL - all) / 64 : 0;
	void *p;

	if (share < RESERVE_LEAST)
		share = RESERVE_LEAST;
	if (want > share)
		want = share;
	want = (want / page + 1) * page;
	sp->file = temp_file_open();
	if (sp->file < 0) {
		source_fail(s, SPUR_ERR_IO,
			    "room for a temporary file in $TMPDIR, /var/tmp or /tmp",
			    error_text(errno));
		return false;
	}
	for (;; want = want / 2 / page * page) {
		if (want < page) {
			source_fail(s, SPUR_ERR_MEMORY, "a range of addresses", error_text(errno));
			return false;
		}
		p = os_mmap(NULL, want, PROT_READ, MAP_SHARED | MAP_NORESERVE, sp->file, 0);
		if (p != MAP_FAILED)
			break;
	}
	sp->reserved = want;
	atomic_fetch_add(&reserved_all, want);
	s->data = sp->range = p;
	s->paged = true;
	return true;
}

/*
 * The temporary file takes the place of memory: if it is full, the trace is not damaged, but the
 * work fails, as it does without memory.
 */
static void spill_fail(struct source *s, int error)
{
	mem_failed(error);
	source_fail(s, SPUR_ERR_IO, "room for a temporary file", error_text(error));
}

/* Adds bytes to the file, hence to `data`. */
static bool spill_append(struct source *s, size_t len)
{
	struct source_spill *sp = s->spill;
	size_t done = 0;

	assert(len <= sp->piece_size && s->size <= sp->reserved);
	if (len > sp->reserved - s->size) {
		source_fail(s, SPUR_ERR_LIMIT, "fewer bytes", "more than the range of addresses");
		return false;
	}
	while (done < len) {
		const ssize_t n =
			os_pwrite(sp->file, sp->piece + done, len - done, (off_t)(s->size + done));

		if (n > 0) {
			done += (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			spill_fail(s, n == 0 ? EIO : errno);
			break;
		}
	}
	s->size += done;
	return done == len;
}

/* The first bytes of an input may be those of packed data. */
static bool packing_is_open(const uint8_t *p, size_t len)
{
	return !len || p[0] == 0x1F || p[0] == 0x28 || p[0] == 0xFD || p[0] == 'B';
}

/* Reads until it can be told what the input is. */
static bool spill_detect(struct source *s)
{
	struct source_spill *sp = s->spill;

	while (sp->in_len < MAGIC && packing_is_open(sp->in, sp->in_len) && input_fill(s))
		;
	sp->packing = packing_of(sp->in, sp->in_len);
	return !s->error->code && unpacker_open(s);
}

static uint64_t product_capped(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* How many bytes may come: fewer than the limit of the options if they are unpacked. */
static uint64_t source_limit(const struct source *s)
{
	const struct source_spill *sp = s->spill;
	uint64_t most = sp->max_unpacked;

	if (sp->packing == PACKING_NONE)
		return sp->limit;
	if (!most) {
		most = product_capped(sp->packed ? sp->packed : packed_pos(s), UNPACKED_RATIO);
		most = most > UNPACKED_FREE ? most : UNPACKED_FREE;
	}
	return most < sp->limit ? most : sp->limit;
}

static void fail_limit(struct source *s, uint64_t limit)
{
	const bool packed = s->spill && s->spill->packing != PACKING_NONE;

	err_set(error_of(s), SPUR_ERR_LIMIT, "%s: expected at most %llu bytes%s, found more%s",
		s->path, (unsigned long long)limit, packed ? " of unpacked data" : "",
		packed ? "; --max-unpacked allows more" : "");
	if (packed && s->spill->over)
		__atomic_store_n(s->spill->over, true, __ATOMIC_RELAXED);
}

static bool more_in_place(struct source *s)
{
	struct source_spill *sp = s->spill;
	size_t n = sp->mem_left < sp->piece_size ? sp->mem_left : sp->piece_size;

	if (n > sp->limit - s->size)
		n = (size_t)(sp->limit - s->size);
	s->size += n;
	sp->mem_left -= n;
	if (!n && sp->mem_left)
		fail_limit(s, sp->limit);
	s->eof = !n;
	return n > 0;
}

bool source_more(struct source *s)
{
	struct source_spill *sp = s->spill;
	uint64_t limit, room, had;
	size_t want, n;

	if (s->eof)
		return false;
	if (sp->in_place)
		return more_in_place(s);
	if (sp->packing == PACKING_UNKNOWN && !spill_detect(s)) {
		s->eof = true;
		return false;
	}
	limit = source_limit(s);
	/* The limit of a packed pipe grows with what is read of it, but no more than that. */
	limit = limit > s->size ? limit : s->size;
	room = (sp->known < limit ? sp->known : limit) - s->size;
	want = room < sp->piece_size ? (size_t)room : sp->piece_size;
	if (!want && sp->known <= limit) {
		s->eof = true;
		return false;
	}
	/* At the limit one byte more tells whether there is more. */
	n = sp->packing == PACKING_NONE ? plain(s, sp->piece, want ? want : 1)
					: unpack(s, sp->piece, want ? want : 1);
	if (n && !want) {
		fail_limit(s, limit);
		n = 0;
	}
	assert(n <= (want ? want : 1));
	had = s->size;
	if (!n || !spill_append(s, n) || s->error->code)
		s->eof = true;
	return s->size > had;
}

bool source_poll(struct source *s)
{
	const uint64_t had = s->size;

	if (!s->spill || !s->spill->follow || s->error->code)
		return false;
	s->spill->hurry = true;
	s->eof = false;
	while (source_more(s))
		;
	s->eof = s->error->code != SPUR_ERR_NONE;
	s->spill->hurry = false;
	return s->size > had;
}

bool source_need(struct source *s, uint64_t end)
{
	while (s->size < end && source_more(s))
		;
	return s->size >= end;
}

static struct source *source_new(const char *path, struct spur_error *err)
{
	const size_t len = strlen(path);
	struct source *s = mem_alloc(sizeof(*s) + len + 1);

	if (!s) {
		err_nomem(err);
		return NULL;
	}
	s->path = memcpy(s + 1, path, len);
	s->data = (const uint8_t *)"";
	s->error = &no_error;
	return s;
}

static bool spill_new(struct source *s, const struct source_options *opt, int fd)
{
	struct source_spill *sp = mem_alloc(sizeof(*sp));
	const size_t size = opt->read_size;

	if (!sp) {
		err_nomem(error_of(s));
		return false;
	}
	s->spill = sp;
	sp->fd = fd;
	sp->file = -1;
	sp->limit = opt->limit ? opt->limit : DEFAULT_LIMIT;
	sp->stop = opt->stop;
	sp->max_unpacked = opt->max_unpacked;
	sp->over = opt->over;
	sp->known = UINT64_MAX;
	sp->piece_size = size && size < PIECE ? size : PIECE;
	sp->in_cap = size && size < INPUT ? size : INPUT;
	if (sp->in_cap < MAGIC)
		sp->in_cap = MAGIC;
	return true;
}

static bool spill_buffers(struct source *s)
{
	struct source_spill *sp = s->spill;

	sp->piece = mem_alloc(sp->piece_size);
	sp->in = mem_alloc(sp->in_cap);
	if (!sp->piece || !sp->in)
		err_nomem(error_of(s));
	return sp->piece && sp->in;
}

static void input_close(const struct source *s, int fd)
{
	if (strcmp(s->path, "-") != 0 || fd != STDIN_FILENO)
		os_close(fd);
}

/*
 * A copy of a small file: a page of memory, and one of the mappings that a process may have, is too
 * much for each of very many. Returns false if it cannot be read so.
 */
static bool file_copy(struct source *s, int fd, size_t size)
{
	size_t n = 0;
	ssize_t got;

	s->copy = mem_alloc(size);
	if (!s->copy)
		return false;
	while (n < size && (got = os_pread(fd, s->copy + n, size - n, (off_t)n)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return false;
		n += (size_t)got;
	}
	s->data = s->copy;
	s->size = n;
	s->mapped = s->eof = true;
	return true;
}

/* Shows the file itself. False where it cannot be mapped: then it is read. */
static bool file_map(struct source *s, int fd, uint64_t size, uint64_t limit)
{
	void *p;

	if (size > limit)
		fail_limit(s, limit);
	size = size > limit ? limit : size;
	if (size > SIZE_MAX)
		return false;
	if (size && size <= COPY_MAX && file_copy(s, fd, (size_t)size))
		return true;
	if (size) {
		p = os_mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED)
			return false;
		s->data = p;
		s->map_size = (size_t)size;
		s->paged = true;
		s->holes = holes_find(fd, size);
		os_madvise(p, (size_t)size, holes_advice(s->holes, size));
	}
	s->size = size;
	s->mapped = s->eof = true;
	return true;
}

/* A range for all that the input may turn out to be. */
static bool spill_range(struct source *s, uint64_t file_size)
{
	struct source_spill *sp = s->spill;
	uint64_t want = UINT64_MAX;

	if (sp->packing == PACKING_NONE)
		want = sp->known;
	else if (file_size && sp->packing == PACKING_GZ)
		want = product_capped(file_size, GZ_RATIO);
	else if (file_size && sp->packing == PACKING_ZST)
		want = product_capped(file_size, ZST_RATIO);
	return range_reserve(s, want < sp->limit ? want : sp->limit);
}

/* Begins to read `size` bytes (0: unknown) that are packed as told. */
static bool spill_begin(struct source *s, uint64_t size, enum packing packing)
{
	s->spill->packing = packing;
	if (packing == PACKING_NONE)
		s->spill->known = size;
	else
		s->spill->packed = size;
	return spill_buffers(s) && spill_range(s, size) &&
	       (packing == PACKING_UNKNOWN || unpacker_open(s));
}

/* What a regular file's first bytes say; UNKNOWN for what must be read to know. */
static enum packing file_packing(int fd, const struct stat *st)
{
	uint8_t head[MAGIC];
	ssize_t n;

	/* Standard input may have been read from already. */
	if (!S_ISREG(st->st_mode) || os_lseek(fd, 0, SEEK_CUR) != 0)
		return PACKING_UNKNOWN;
	n = os_pread(fd, head, sizeof(head), 0);
	/* A file of /proc has bytes but no size. */
	if (n < 0 || (n > 0 && !st->st_size))
		return PACKING_UNKNOWN;
	return packing_of(head, (size_t)n);
}

/* A regular file that may grow. */
static bool follow_set_up(struct source *s, int fd, enum packing packing,
			  const struct source_options *opt)
{
	if (packing != PACKING_UNKNOWN && packing != PACKING_NONE) {
		source_fail(s, SPUR_ERR_USAGE, "an unpacked file to follow",
			    packing_names[packing]);
		return false;
	}
	if (!spill_new(s, opt, fd))
		return false;
	s->spill->follow = true;
	return spill_begin(s, UINT64_MAX, PACKING_NONE);
}

/* On false `fd` is open still, unless `s->spill` has it. */
static bool source_set_up(struct source *s, int fd, const struct source_options *opt)
{
	enum packing packing;
	struct stat st;

	if (os_fstat(fd, &st)) {
		source_fail(s, SPUR_ERR_IO, "a file", error_text(errno));
		return false;
	}
	if (S_ISDIR(st.st_mode)) {
		source_fail(s, SPUR_ERR_IO, "a file", "a directory");
		return false;
	}
	packing = file_packing(fd, &st);
	if (opt->follow && S_ISREG(st.st_mode))
		return follow_set_up(s, fd, packing, opt);
	if (packing == PACKING_NONE && !opt->read_size &&
	    file_map(s, fd, (uint64_t)st.st_size, opt->limit ? opt->limit : DEFAULT_LIMIT)) {
		input_close(s, fd);
		return true;
	}
	error_free(s);
	return spill_new(s, opt, fd) &&
	       spill_begin(s, packing == PACKING_UNKNOWN ? 0 : (uint64_t)st.st_size, packing);
}

/* Waits for no writer: reading does. */
static int input_open(const char *path)
{
	const int plain = O_RDONLY | O_CLOEXEC | O_NOCTTY;
	struct stat st;
	int fd;

	do
		fd = os_open(path, plain | O_NONBLOCK, 0);
	while (fd < 0 && errno == EINTR);
	if (fd >= 0 && os_fstat(fd, &st) == 0 && !S_ISFIFO(st.st_mode))
		os_fcntl(fd, F_SETFL, plain);
	return fd;
}

/* Makes a source of `fd`, which it closes; of a negative one `errno` says why. */
static enum spur_status source_of(struct source **out, const char *path, int fd,
				  const struct source_options *opt, struct spur_error *err)
{
	const int reason = errno;
	struct source *s = source_new(path, err);

	if (!s) {
		if (fd > STDIN_FILENO)
			os_close(fd);
		return SPUR_FAIL;
	}
	errno = reason;
	if (fd < 0)
		source_fail(s, SPUR_ERR_IO, "a file", error_text(errno));
	if (fd >= 0 && source_set_up(s, fd, opt ? opt : &none)) {
		*out = s;
		return SPUR_OK;
	}
	if (fd >= 0 && !s->spill)
		input_close(s, fd);
	if (err)
		*err = *s->error;
	source_close(s);
	return SPUR_FAIL;
}

enum spur_status source_open(struct source **out, const char *path,
			     const struct source_options *opt, struct spur_error *err)
{
	return source_of(out, path, strcmp(path, "-") == 0 ? STDIN_FILENO : input_open(path), opt,
			 err);
}

enum spur_status source_descriptor(struct source **out, const char *name, int fd,
				   const struct source_options *opt, struct spur_error *err)
{
	return source_of(out, name, os_fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), opt, err);
}

static bool memory_set_up(struct source *s, const uint8_t *data, size_t size,
			  const struct source_options *opt)
{
	const uint64_t limit = opt->limit ? opt->limit : DEFAULT_LIMIT;
	const enum packing packing = packing_of(data, size);

	if (packing == PACKING_NONE)
		s->data = data;
	if (packing == PACKING_NONE && !opt->read_size) {
		if (size > limit)
			fail_limit(s, limit);
		s->size = size < limit ? size : limit;
		s->mapped = s->eof = true;
		return true;
	}
	if (!spill_new(s, opt, -1))
		return false;
	s->spill->mem = data;
	s->spill->mem_left = size;
	s->spill->in_place = packing == PACKING_NONE;
	return s->spill->in_place || spill_begin(s, size, packing);
}

enum spur_status source_memory(struct source **out, const char *name, const void *data, size_t size,
			       const struct source_options *opt, struct spur_error *err)
{
	struct source *s = source_new(name, err);

	if (!s)
		return SPUR_FAIL;
	if (memory_set_up(s, size ? data : "", size, opt ? opt : &none)) {
		*out = s;
		return SPUR_OK;
	}
	if (err)
		*err = *s->error;
	source_close(s);
	return SPUR_FAIL;
}

static void spill_free(struct source *s)
{
	struct source_spill *sp = s->spill;

	if (sp->z_ready)
		inflateEnd(&sp->z);
	ZSTD_freeDStream(sp->zst);
	unpack_free(sp->unpacker);
	if (sp->range) {
		resident_unmap(sp->range, sp->reserved);
		atomic_fetch_sub(&reserved_all, sp->reserved);
	}
	if (sp->file >= 0)
		os_close(sp->file);
	if (sp->fd >= 0)
		input_close(s, sp->fd);
	mem_free(sp->piece);
	mem_free(sp->in);
	mem_free(sp);
}

struct source source_view(const uint8_t *data, uint64_t size)
{
	return (struct source){ .data = data, .size = size, .eof = true, .mapped = true,
				.path = "", .error = &no_error };
}

bool source_keep_map(struct source *s)
{
	if (!s->map_size || s->error->code)
		return false;
	s->map_size = 0;
	source_close(s);
	return true;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	if (s->map_size)
		resident_unmap(s->data, s->map_size);
	if (s->spill)
		spill_free(s);
	error_free(s);
	holes_free(s->holes);
	mem_free(s->copy);
	mem_free(s);
}
