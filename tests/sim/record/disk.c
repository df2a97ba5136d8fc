/* The disk of the simulated machine: files, who has mapped them, and what a crash leaves. */
#include "inside.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../record/board.h"
#include "../../../src/format/spur/wire.h"

enum {
	FIRST_FD = 100,
	TEXT_FD = 99,
	PAGES = SIM_FILE_MOST / SIM_PAGE,
	NOTES = 1 << 16,
	LOOSE = 128,
	NAME_MOST = 64,
	PIECE = 64, /* bytes that a thread reads of a file in one step */
};

static const char recordings[] = "recording/"; /* all other files are dumps, or the board */
static const char board_name[] = "board";

struct file {
	char name[NAME_MOST];
	bool dump;
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

bool disk_is_shown(const void *p)
{
	return disk_has(p, NULL) &&
	       !files[(size_t)((const uint8_t *)p - bytes[0]) / SIM_FILE_MOST].dump;
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
	/* What was added is not set back: others may have added to it since. */
	if (!old)
		return;
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

size_t disk_size(int fd)
{
	return files[fd - FIRST_FD].size;
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

/* The number of the board's file, which is made if it is not there. */
static unsigned board_file(void)
{
	for (unsigned i = 0; i < nfiles; i++)
		if (strcmp(files[i].name, board_name) == 0)
			return i;
	if (nfiles == SIM_FILES)
		abort();
	strcpy(files[nfiles].name, board_name);
	files[nfiles].dump = true;
	files[nfiles].size = BOARD_SIZE;
	return nfiles++;
}

struct board *sim_board(void)
{
	return (struct board *)(void *)bytes[board_file()];
}

int sim_open_board(void)
{
	return FIRST_FD + (int)board_file();
}

int sim_fstat(int fd, struct stat *to)
{
	(void)fd;
	*to = (struct stat){ .st_mode = S_IFREG | 0600,
			     .st_uid = geteuid(),
			     .st_size = BOARD_SIZE,
			     .st_blocks = BOARD_SIZE / SIM_SECTOR };
	return 0;
}

void *sim_map_board(int fd, size_t size)
{
	void *const p = sim_map(fd, 0, size);

	return p ? p : MAP_FAILED;
}

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

static size_t plain_image(unsigned file, uint8_t *to)
{
	memcpy(to, bytes[file], files[file].size);
	return files[file].size;
}

size_t sim_dump_image(uint8_t *to)
{
	return plain_image((unsigned)sim_running()->dump, to);
}

size_t sim_dumped_image(uint8_t *to)
{
	return plain_image((unsigned)sim_running()->dumped, to);
}

size_t sim_image(unsigned file, enum sim_crash crash, uint8_t *to)
{
	size_t size = files[file].dump ? 0 : plain_image(file, to);

	if (!size)
		return 0;
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
	sim_step_seen();
	(void)flags;
	/* No other process switches categories. */
	if (strlen(path) > sizeof(SPB_LIST_NAME) &&
	    strcmp(path + strlen(path) - sizeof(SPB_LIST_NAME), "/" SPB_LIST_NAME) == 0) {
		errno = ENOENT;
		return -1;
	}
	if (strlen(path) < 4 || strcmp(path + strlen(path) - 4, ".spb") != 0)
		return TEXT_FD;
	for (unsigned i = 0; i < nfiles; i++)
		if (strcmp(files[i].name, path) == 0) {
			errno = EEXIST;
			return -1;
		}
	if (nfiles == SIM_FILES || strlen(path) >= NAME_MOST)
		abort();
	strcpy(files[nfiles].name, path);
	files[nfiles].dump = strncmp(path, recordings, sizeof(recordings) - 1) != 0;
	if (files[nfiles].dump)
		sim_running()->dump = (int)nfiles;
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
	sim_step_at(bytes[fd - FIRST_FD] + off, (size_t)size, true);
	track_before(bytes[fd - FIRST_FD] + off, (size_t)size);
	memset(bytes[fd - FIRST_FD] + off, 0, (size_t)size);
	track_after(bytes[fd - FIRST_FD] + off, (size_t)size);
}

int sim_truncate(int fd, uint64_t size)
{
	struct file *const f = &files[fd - FIRST_FD];

	const size_t was = f->size;

	sim_step_seen();
	assert(size <= SIM_FILE_MOST);
	if (sim_now()->mutant == SIM_TRUNCATED_SHORT)
		size -= SIM_CHUNK;
	if (size < was && !f->dump && sim_load_word((char *)bytes[fd - FIRST_FD] + SPB_END_AT))
		sim_fail("a file is cut that says already that it is complete");
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
	if (!disk_has(p, &off)) {
		if (sim_is_private(p))
			sim_unreserve(p, size);
		return;
	}
	f = &files[(size_t)((uint8_t *)p - bytes[0]) / SIM_FILE_MOST];
	for (size_t i = 0; i < size / SIM_PAGE; i++) {
		if (!f->mapped[sim_process()][off / SIM_PAGE + i])
			sim_fail("unmaps a page that is not mapped");
		f->mapped[sim_process()][off / SIM_PAGE + i]--;
	}
}

/* --- dumps: files that are read and written without a mapping --- */

/* Stores bytes into memory or a file of which no other thread knows; or into a stack. */
static void put(void *to, const void *from, size_t size)
{
	const bool tracked = sim_is_private(to) || disk_has(to, NULL);

	if (tracked)
		track_before(to, size);
	memcpy(to, from, size);
	if (tracked)
		track_after(to, size);
}

/* True if the mutant answers for the disk; see SIM_MUTANTS. */
static bool pread_mutant(struct context *c, void *to, size_t size, uint64_t off)
{
	const uint8_t *const from = bytes[c->dumped] + off;
	uint8_t head[2 * SIM_WORD];

	/* The number that the head had. */
	if (sim.options.mutant == SIM_DUMP_REUSE_IGNORED && size == SIM_WORD) {
		put(to, c->head + SPB_SEQUENCE_AT, size);
		return true;
	}
	if (sim.options.mutant == SIM_DUMP_READ_ONCE && size == SIM_PAGE) {
		if (c->read_to && c->read_off == off) {
			put(to, c->read_to, size);
			return true;
		}
		c->read_to = to;
		c->read_off = off;
	}
	if (size != sizeof(head))
		return false;
	memcpy(head, from, size);
	memcpy(c->head, from, size);
	if (sim.options.mutant == SIM_DUMP_DESCRIPTORS_FIRST)
		head[SPB_KIND_AT] ^= SPB_CHUNK_RECORDS ^ SPB_CHUNK_DESCRIPTORS;
	else if (sim.options.mutant == SIM_DUMP_OPEN_SKIPPED && head[SPB_STATE_AT] == SPB_OPEN &&
		 head[SPB_KIND_AT] == SPB_CHUNK_RECORDS)
		memset(head, 0, sizeof(head));
	else
		return false;
	put(to, head, size);
	return true;
}

long sim_pread(int fd, void *to, size_t size, uint64_t off)
{
	struct context *const c = sim_running();
	const size_t end = fd < FIRST_FD ? 0 : disk_size(fd),
		     there = end > off ? end - (size_t)off : 0, n = size < there ? size : there;
	/* Where all orders are tried, the words are seen for which threads race. */
	const size_t piece = !sim.options.explores ? PIECE
			     : sim.options.coarse  ? SIM_SECTOR
						   : SIM_WORD;

	sim_step();
	if (fd < FIRST_FD)
		return -EBADF;
	c->dumped = fd - FIRST_FD;
	if (n == size && pread_mutant(c, to, size, off))
		return (long)n;
	for (size_t at = 0; at < n; at += piece) {
		const uint8_t *const from = bytes[fd - FIRST_FD] + off + at;
		const size_t len = n - at < piece ? n - at : piece;

		sim_step_at(from, len, false);
		put((char *)to + at, from, len);
	}
	return (long)n;
}

long sim_pwrite(int fd, const void *from, size_t size, uint64_t off)
{
	struct file *const f = &files[fd - FIRST_FD];
	uint8_t *const to = bytes[fd - FIRST_FD] + off;

	assert(f->dump && off + size <= SIM_FILE_MOST);
	sim_step();
	if ((uintptr_t)from <= SIM_PAGE)
		sim_fail("an access to address 0");
	for (size_t at = 0; at < size; at += SIM_WORD) {
		const size_t len = size - at < SIM_WORD ? size - at : SIM_WORD;

		/* The live header, which the library has mapped. */
		if (disk_has(from, NULL) && off + at == SPB_LOST_AT) {
			sim_step_at((const char *)from + at, len, false);
			disk_check((const char *)from + at, len);
			if (sim.options.mutant == SIM_DUMP_LOST_SKIPPED)
				continue;
		}
		put(to + at, (const char *)from + at, len);
	}
	if (f->size < off + size)
		f->size = (size_t)(off + size);
	return (long)size;
}
