/* See unpack.h. */
#include "base/unpack.h"

#include <assert.h>
#include <bzlib.h>
#include <limits.h>
#include <lzma.h>

#include "base/mem.h"

/* Most that a stream's dictionary may take: xz -9 writes one of 64 MiB. */
enum { XZ_MEMORY = 256 << 20 };

struct unpacker {
	enum unpack_kind kind;
	lzma_stream xz;
	bz_stream bz;
	bool bz_ready;
	const char *problem;
};

static void *xz_alloc(void *arg, size_t count, size_t size)
{
	(void)arg;
	return mem_array(count, size);
}

static void *bz_alloc(void *arg, int count, int size)
{
	(void)arg;
	return count < 0 || size < 0 ? NULL : mem_array((size_t)count, (size_t)size);
}

static void any_free(void *arg, void *p)
{
	(void)arg;
	mem_free(p);
}

static const lzma_allocator xz_memory = { .alloc = xz_alloc, .free = any_free };

struct unpacker *unpack_new(enum unpack_kind kind)
{
	struct unpacker *u = mem_alloc(sizeof(*u));

	if (!u)
		return NULL;
	u->kind = kind;
	u->xz = (lzma_stream)LZMA_STREAM_INIT;
	u->xz.allocator = &xz_memory;
	u->bz.bzalloc = bz_alloc;
	u->bz.bzfree = any_free;
	return u;
}

void unpack_free(struct unpacker *u)
{
	if (!u)
		return;
	lzma_end(&u->xz);
	if (u->bz_ready)
		BZ2_bzDecompressEnd(&u->bz);
	mem_free(u);
}

bool unpack_begin(struct unpacker *u)
{
	if (u->kind == UNPACK_XZ)
		return lzma_stream_decoder(&u->xz, XZ_MEMORY, 0) == LZMA_OK;
	if (u->bz_ready)
		BZ2_bzDecompressEnd(&u->bz);
	u->bz_ready = BZ2_bzDecompressInit(&u->bz, 0, 0) == BZ_OK;
	return u->bz_ready;
}

static enum unpack_status xz_step(struct unpacker *u, struct unpack_piece *p)
{
	lzma_ret rc;

	u->xz.next_in = p->in;
	u->xz.avail_in = p->in_len;
	u->xz.next_out = p->out;
	u->xz.avail_out = p->out_len;
	rc = lzma_code(&u->xz, LZMA_RUN);
	*p = (struct unpack_piece){ u->xz.next_in, u->xz.avail_in, u->xz.next_out,
				    u->xz.avail_out };
	switch (rc) {
	case LZMA_OK:
	case LZMA_BUF_ERROR: /* it had neither input nor room */
		return UNPACK_MORE;
	case LZMA_STREAM_END:
		return UNPACK_END;
	case LZMA_MEM_ERROR:
		return UNPACK_NOMEM;
	case LZMA_MEMLIMIT_ERROR:
		u->problem = "a dictionary of more than 256 MiB";
		return UNPACK_BAD;
	case LZMA_OPTIONS_ERROR:
		u->problem = "a filter or option that liblzma does not know";
		return UNPACK_BAD;
	default:
		u->problem = "damaged data";
		return UNPACK_BAD;
	}
}

static enum unpack_status bz_step(struct unpacker *u, struct unpack_piece *p)
{
	/* The library counts in unsigned int. */
	const unsigned in = p->in_len < UINT_MAX ? (unsigned)p->in_len : UINT_MAX;
	const unsigned out = p->out_len < UINT_MAX ? (unsigned)p->out_len : UINT_MAX;
	int rc;

	u->bz.next_in = (char *)(uintptr_t)p->in;
	u->bz.avail_in = in;
	u->bz.next_out = (char *)p->out;
	u->bz.avail_out = out;
	assert(u->bz_ready);
	rc = BZ2_bzDecompress(&u->bz);
	assert(u->bz.avail_in <= in && u->bz.avail_out <= out);
	p->in += in - u->bz.avail_in;
	p->in_len -= in - u->bz.avail_in;
	p->out += out - u->bz.avail_out;
	p->out_len -= out - u->bz.avail_out;
	if (rc == BZ_OK)
		return UNPACK_MORE;
	if (rc == BZ_STREAM_END)
		return UNPACK_END;
	u->problem = "damaged data";
	return rc == BZ_MEM_ERROR ? UNPACK_NOMEM : UNPACK_BAD;
}

enum unpack_status unpack_step(struct unpacker *u, struct unpack_piece *p)
{
	return u->kind == UNPACK_XZ ? xz_step(u, p) : bz_step(u, p);
}

const char *unpack_problem(const struct unpacker *u)
{
	return u->problem;
}
