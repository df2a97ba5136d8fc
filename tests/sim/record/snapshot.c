/*
 * `spur snapshot` on the simulated machine: its own source, whose calls of the system are those of
 * the machine, and whose memory is on the stack of its thread, so that it is set back with that.
 */
#include "inside.h"

#include <assert.h>

#include "base/map64.h"
#include "base/os.h"
#include "base/process.h"
#include "format/spur/grow.h"

#define os_open(path, flags, mode) recording
#define os_close sim_close
#define os_pread file_read
#define os_pwrite file_write
#define os_fstat file_stat
#define os_ftruncate file_cut
#define spb_snapshot snapshot_make
#define process_boot_is_this(boot) false
#define mem_alloc(size) chunk_memory(size)
#define mem_free(p) ((void)(p))
#define scratch_alloc(size) list_memory(size)
#define scratch_free(p, size) ((void)(p), (void)(size))
#define map64_put threads_put
#define map64_next threads_next
#define map64_free(m) ((void)(m))

enum { LIST_WORDS = 2 * (SIM_FILE_MOST / SIM_CHUNK + 2) };

struct memory {
	uint64_t chunk[SIM_CHUNK / SIM_WORD], list[LIST_WORDS];
	struct map64_slot threads[SIM_THREADS + 1];
	size_t nthreads;
};

static struct memory *memory;

static int recording; /* the descriptor of its file */

static void *chunk_memory(size_t size)
{
	assert(size <= sizeof(memory->chunk));
	return memory->chunk;
}

static void *list_memory(size_t size)
{
	assert(size <= sizeof(memory->list));
	return memory->list;
}

static struct map64_slot *threads_put(struct map64 *m, uint64_t key)
{
	(void)m;
	for (size_t i = 0; i < memory->nthreads; i++)
		if (memory->threads[i].key == key)
			return &memory->threads[i];
	assert(memory->nthreads <= SIM_THREADS);
	memory->threads[memory->nthreads] = (struct map64_slot){ .key = key };
	return &memory->threads[memory->nthreads++];
}

static struct map64_slot *threads_next(const struct map64 *m, size_t *i)
{
	(void)m;
	return *i < memory->nthreads ? &memory->threads[(*i)++] : NULL;
}

static ssize_t file_read(int fd, void *to, size_t size, off_t off)
{
	return sim_pread(fd, to, size, (uint64_t)off);
}

static ssize_t file_write(int fd, const void *from, size_t size, off_t off)
{
	return sim_pwrite(fd, from, size, (uint64_t)off);
}

static int file_cut(int fd, off_t size)
{
	return sim_truncate(fd, (uint64_t)size);
}

static int file_stat(int fd, struct stat *to)
{
	sim_step();
	*to = (struct stat){ .st_size = (off_t)disk_size(fd) };
	return 0;
}

#include "../../../src/format/spur/snapshot.c"

void sim_snapshot(int fd)
{
	struct format_snapshot out = { 0 };
	char path[] = "snapshot/a.spb";
	struct spur_error err;
	struct memory own;
	int to;

	memset(&own, 0, sizeof(own));
	memory = &own;
	while ((to = sim_open(path, 0)) < 0)
		path[sizeof("snapshot/") - 1]++;
	recording = fd;
	if (spb_snapshot("recording", to, &out, &err) == SPUR_FAIL)
		sim_fail("a snapshot fails");
}
