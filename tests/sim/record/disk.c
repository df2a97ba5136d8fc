/* The disk of the simulated machine: files, who has mapped them, and what a crash leaves. */
#include "inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FIRST_FD = 100,
	TEXT_FD = 99,
	PAGES = SIM_FILE_MOST / SIM_PAGE,
	NOTES = 1 << 16,
	LOOSE = 128,
	NAME_MOST = 64,
};

struct file {
	char name[NAME_MOST];
	size_t size;
	uint8_t mapped[SIM_PROCESSES][PAGES];
};

/* A store into a file. */
struct note {
	uint32_t at; /* in `bytes` */
	uint8_t size;
	uint8_t order; /* enum sim_order */
	char bytes[16]; /* loose: what was there before; else what is there since */
};

/* Stores of a thread or handler that nothing has ordered yet. */
struct loose {
	struct note notes[LOOSE];
	unsigned n;
};

static uint8_t bytes[SIM_FILES][SIM_FILE_MOST] __attribute__((aligned(SIM_PAGE)));
static struct file files[SIM_FILES];
static unsigned nfiles;
static struct note *notes; /* all of this run */
static size_t nnotes;
static struct loose loose[SIM_THREADS][SIM_NESTED];
static int nallocated, nmapped;

void disk_begin(void)
{
	if (!notes)
		notes = malloc(NOTES * sizeof(*notes));
	if (!notes)
		abort();
	for (unsigned i = 0; i < nfiles; i++)
		memset(bytes[i], 0, sizeof(bytes[i]));
	memset(files, 0, sizeof(files));
	nfiles = 0;
	nnotes = 0;
	nallocated = nmapped = 0;
	for (unsigned i = 0; i < SIM_THREADS; i++)
		for (unsigned j = 0; j < SIM_NESTED; j++)
			loose[i][j].n = 0;
}

const uint8_t *disk_bytes(void)
{
	return bytes[0];
}

void disk_fork(unsigned from, unsigned to)
{
	for (unsigned i = 0; i < nfiles; i++)
		memcpy(files[i].mapped[to], files[i].mapped[from], PAGES);
}

bool disk_has(const void *p, size_t *file_off)
{
	const size_t off = (size_t)((const uint8_t *)p - bytes[0]);

	if (off >= sizeof(bytes))
		return false;
	if (file_off)
		*file_off = off % SIM_FILE_MOST;
	return true;
}

void disk_check(const void *p, size_t size)
{
	size_t off;
	const struct file *f;

	if (!disk_has(p, &off))
		return;
	f = &files[(size_t)((const uint8_t *)p - bytes[0]) / SIM_FILE_MOST];
	if (!f->mapped[sim_process()][off / SIM_PAGE])
		sim_fail("an access to a page that is not mapped");
	if (off + size > f->size)
		sim_fail("an access beyond the end of the file");
}

/* --- stores --- */

void disk_note(unsigned thread, const void *p, size_t size, const void *old, enum sim_order order)
{
	struct loose *const l = &loose[thread][sim_depth()];
	struct note n = { .at = (uint32_t)((const uint8_t *)p - bytes[0]),
			  .size = (uint8_t)size,
			  .order = (uint8_t)order };

	assert(size <= sizeof(n.bytes) && nnotes < NOTES);
	memcpy(n.bytes, p, size);
	notes[nnotes++] = n;
	if (l->n == LOOSE) {
		memmove(l->notes, l->notes + 1, (LOOSE - 1) * sizeof(*l->notes));
		l->n--;
	}
	memcpy(n.bytes, old, size);
	l->notes[l->n++] = n;
}

void disk_fence(unsigned thread)
{
	loose[thread][sim_depth()].n = 0;
}

/* --- setting back --- */

static char *append(char *to, const void *p, size_t size)
{
	memcpy(to, p, size);
	return to + size;
}

static const char *take(void *p, const char *from, size_t size)
{
	memcpy(p, from, size);
	return from + size;
}

size_t disk_save(char *to)
{
	char *p = to;

	p = append(p, &nfiles, sizeof(nfiles));
	p = append(p, files, nfiles * sizeof(*files));
	p = append(p, &nnotes, sizeof(nnotes));
	p = append(p, &nallocated, sizeof(nallocated));
	p = append(p, &nmapped, sizeof(nmapped));
	for (unsigned i = 0; i < SIM_THREADS; i++)
		for (unsigned j = 0; j < SIM_NESTED; j++) {
			const struct loose *const l = &loose[i][j];

			p = append(p, &l->n, sizeof(l->n));
			p = append(p, l->notes, l->n * sizeof(*l->notes));
		}
	return (size_t)(p - to);
}

size_t disk_load(const char *from)
{
	const char *const begin = from;

	from = take(&nfiles, from, sizeof(nfiles));
	memset(files, 0, sizeof(files));
	from = take(files, from, nfiles * sizeof(*files));
	from = take(&nnotes, from, sizeof(nnotes));
	from = take(&nallocated, from, sizeof(nallocated));
	from = take(&nmapped, from, sizeof(nmapped));
	for (unsigned i = 0; i < SIM_THREADS; i++)
		for (unsigned j = 0; j < SIM_NESTED; j++) {
			struct loose *const l = &loose[i][j];

			from = take(&l->n, from, sizeof(l->n));
			from = take(l->notes, from, l->n * sizeof(*l->notes));
		}
	return (size_t)(from - begin);
}

uint64_t disk_sizes(void)
{
	uint64_t hash = nfiles;

	for (unsigned i = 0; i < nfiles; i++)
		hash = track_hash(hash, &files[i].size, sizeof(files[i].size));
	return hash;
}

uint64_t disk_hash(void)
{
	const int counts[] = { nallocated, nmapped };
	uint64_t hash = disk_sizes();

	for (unsigned i = 0; i < nfiles; i++)
		hash = track_hash(hash, files[i].mapped, sizeof(files[i].mapped));
	return track_hash(hash, counts, sizeof(counts));
}

/* --- what a crash leaves --- */

unsigned sim_files(void)
{
	return nfiles;
}

/*
 * Takes back stores that the compiler may have moved behind the crash: from some store of each
 * thread on all release stores, and any others. No store that is kept must come after one that is
 * taken back.
 */
static void reorder(unsigned file, uint8_t *to, const struct loose *l)
{
	const unsigned from = (unsigned)sim_random(l->n + 1);

	for (unsigned i = l->n; i-- > from;) {
		const struct note *const n = &l->notes[i];

		if (n->at / SIM_FILE_MOST == file && (n->order == SIM_RELEASE || sim_random(2)))
			memcpy(to + n->at % SIM_FILE_MOST, n->bytes, n->size);
	}
}

/* Each sector has the stores up to some moment: all of a page's the same one, or each its own. */
static void power(unsigned file, uint8_t *to, size_t size)
{
	size_t until[SIM_FILE_MOST / SIM_SECTOR];

	for (size_t page = 0; page < PAGES; page++) {
		const uint64_t how = sim_random(4);
		const size_t old = (size_t)sim_random(nnotes + 1);

		for (size_t s = 0; s < SIM_PAGE / SIM_SECTOR; s++)
			until[page * (SIM_PAGE / SIM_SECTOR) + s] =
				how < 2 ? nnotes : (how == 2 || sim_random(2) ? old : nnotes);
	}
	memset(to, 0, size);
	for (size_t i = 0; i < nnotes; i++) {
		const struct note *const n = &notes[i];
		const size_t off = n->at % SIM_FILE_MOST;

		if (n->at / SIM_FILE_MOST == file && i < until[off / SIM_SECTOR] &&
		    off + n->size <= size)
			memcpy(to + off, n->bytes, n->size);
	}
}

size_t sim_image(unsigned file, enum sim_crash crash, uint8_t *to)
{
	size_t size = files[file].size;

	memcpy(to, bytes[file], size);
	if (crash == SIM_REORDER)
		for (unsigned i = 0; i < SIM_THREADS; i++)
			for (unsigned j = 0; j < SIM_NESTED; j++)
				reorder(file, to, &loose[i][j]);
	if (crash == SIM_POWER) {
		power(file, to, size);
		if (size > SIM_PAGE && !sim_random(8))
			size = SIM_PAGE + (size_t)sim_random(size - SIM_PAGE) / SIM_PAGE * SIM_PAGE;
	}
	return size;
}

/* --- the calls --- */

int sim_open(const char *path, int flags)
{
	const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;

	sim_step_seen();
	(void)flags;
	if (strlen(name) < 4 || strcmp(name + strlen(name) - 4, ".spb") != 0)
		return TEXT_FD;
	for (unsigned i = 0; i < nfiles; i++)
		if (strcmp(files[i].name, name) == 0) {
			errno = EEXIST;
			return -1;
		}
	if (nfiles == SIM_FILES || strlen(name) >= NAME_MOST)
		abort();
	strcpy(files[nfiles].name, name);
	return FIRST_FD + (int)nfiles++;
}

void sim_close(int fd)
{
	(void)fd;
	sim_step();
}

/* Of all files that the library reads: the line of a process, which is good for the others too. */
ssize_t sim_read(int fd, void *to, size_t size)
{
	static const char text[] = "7 (p) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 77 1\n";
	const size_t n = size < sizeof(text) - 1 ? size : sizeof(text) - 1;

	(void)fd;
	disk_has(to, NULL) ? sim_copy(to, text, n) : (void)sim_memcpy(to, text, n);
	return (ssize_t)n;
}

ssize_t sim_readlink(const char *path, char *to, size_t size)
{
	static const char text[] = "/bin/simulated";

	(void)path;
	assert(size >= sizeof(text));
	disk_has(to, NULL) ? sim_copy(to, text, sizeof(text))
			   : (void)sim_memcpy(to, text, sizeof(text));
	return sizeof(text) - 1;
}

static bool fails(int *count, int at, int most)
{
	const int n = (*count)++;

	return at != SIM_NEVER && n >= at && n - at < most;
}

void sim_disk_full(int n)
{
	sim.options.full_at = nallocated;
	sim.options.full_for = n;
}

int sim_allocate(int fd, uint64_t off, uint64_t size)
{
	struct file *const f = &files[fd - FIRST_FD];
	const struct sim_options *const o = sim_now();

	sim_step_seen();
	if (off + size > SIM_FILE_MOST || fails(&nallocated, o->full_at, o->full_for)) {
		return o->mutant == SIM_ALLOCATE_IGNORED ? 0 : ENOSPC;
	}
	if (f->size < off + size)
		f->size = (size_t)(off + size);
	return 0;
}

void sim_punch(int fd, uint64_t off, uint64_t size)
{
	sim_step_seen();
	track_before(bytes[fd - FIRST_FD] + off, (size_t)size);
	memset(bytes[fd - FIRST_FD] + off, 0, (size_t)size);
	track_after(bytes[fd - FIRST_FD] + off, (size_t)size);
}

int sim_truncate(int fd, uint64_t size)
{
	struct file *const f = &files[fd - FIRST_FD];

	const size_t was = f->size;

	sim_step_seen();
	if (sim_now()->mutant == SIM_TRUNCATED_SHORT)
		size -= SIM_CHUNK;
	if (size < was) {
		track_before(bytes[fd - FIRST_FD] + size, was - (size_t)size);
		memset(bytes[fd - FIRST_FD] + size, 0, was - (size_t)size);
		track_after(bytes[fd - FIRST_FD] + size, was - (size_t)size);
	}
	f->size = (size_t)size;
	return 0;
}

void *sim_map(int fd, uint64_t off, size_t size)
{
	struct file *const f = &files[fd - FIRST_FD];
	const struct sim_options *const o = sim_now();

	sim_step();
	if (fails(&nmapped, o->map_fails_at, o->map_fails_for))
		return NULL;
	assert(off + size <= SIM_FILE_MOST);
	for (size_t i = 0; i < size / SIM_PAGE; i++)
		f->mapped[sim_process()][off / SIM_PAGE + i]++;
	return bytes[fd - FIRST_FD] + off;
}

void sim_unmap(void *p, size_t size)
{
	size_t off;
	struct file *f;

	sim_step_seen();
	if (!disk_has(p, &off))
		return;
	f = &files[(size_t)((uint8_t *)p - bytes[0]) / SIM_FILE_MOST];
	for (size_t i = 0; i < size / SIM_PAGE; i++) {
		if (!f->mapped[sim_process()][off / SIM_PAGE + i])
			sim_fail("unmaps a page that is not mapped");
		f->mapped[sim_process()][off / SIM_PAGE + i]--;
	}
}
