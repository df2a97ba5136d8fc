/* A simulated file system. See os_sim.h. */
#include "sim/os_sim.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define SYSTEM_CALL(name) .name = name,
struct os_calls os_calls = { OS_CALLS(SYSTEM_CALL) };

enum {
	PAGE = 4096,
	SECTOR = 512,
	FILES_MAX = 256,
	OPS_MAX = 4096,
	NAME_LEN = 120,
	FDS_MAX = 1024,
};

struct file {
	int fd; /* memfd */
	uint8_t *synced; /* what a loss of power leaves at least */
	size_t synced_size;
	uint8_t *frozen; /* as after the crash */
	size_t frozen_size;
};

/* One operation on a directory: `name` stands for `file` from now on, or for nothing (-1). */
struct op {
	char name[NAME_LEN];
	int file;
	bool with_next; /* the next operation is part of this one */
};

static struct {
	struct sim_options opt;
	uint64_t steps, chance;
	bool crashed, fault_happened;
	struct file files[FILES_MAX];
	int nfiles;
	struct op ops[OPS_MAX]; /* the first `synced_ops` survive a loss of power */
	int nops, synced_ops, frozen_ops;
	int file_of[FDS_MAX]; /* file + 1 */
	uint8_t *shown;
	char text[200];
} sim;

static void must(bool good)
{
	if (!good) {
		perror("os_sim");
		abort();
	}
}

static uint64_t draw(uint64_t below)
{
	uint64_t z = sim.chance += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return (z ^ z >> 31) % below;
}

static bool is_ours(const char *path)
{
	return strncmp(path, SIM_DIR, sizeof(SIM_DIR) - 1) == 0 && path[sizeof(SIM_DIR) - 1] == '/';
}

static struct file *file_of(int fd)
{
	return fd >= 0 && fd < FDS_MAX && sim.file_of[fd] ? &sim.files[sim.file_of[fd] - 1] : NULL;
}

static size_t size_of(const struct file *f)
{
	struct stat st;

	must(fstat(f->fd, &st) == 0);
	return (size_t)st.st_size;
}

static uint8_t *bytes_of(const struct file *f, size_t *size)
{
	uint8_t *p;

	*size = size_of(f);
	p = malloc(*size + 1);
	must(p && pread(f->fd, p, *size, 0) == (ssize_t)*size);
	return p;
}

/* The file that a name stands for after the first `nops` operations, or -1. */
static int find(const char *name, int nops)
{
	for (int i = nops; i-- > 0;)
		if (strcmp(sim.ops[i].name, name) == 0)
			return sim.ops[i].file;
	return -1;
}

static void op_add(const char *name, int file, bool with_next)
{
	struct op *op = &sim.ops[sim.nops++];

	must(sim.nops <= OPS_MAX && strlen(name) < NAME_LEN);
	strcpy(op->name, name);
	op->file = file;
	op->with_next = with_next;
}

static int file_new(void)
{
	struct file *f = &sim.files[sim.nfiles];

	must(sim.nfiles < FILES_MAX);
	*f = (struct file){ .fd = memfd_create("sim", MFD_CLOEXEC) };
	must(f->fd >= 0);
	return sim.nfiles++;
}

/* --- crashes --- */

/* What a loss of power makes of a file. */
static void file_lose(struct file *f)
{
	size_t size, now;
	uint8_t *p = bytes_of(f, &now);

	size = draw(2) ? now : f->synced_size;
	f->frozen = calloc(1, size + 1);
	f->frozen_size = size;
	must(f->frozen);
	for (size_t at = 0; at < size; at += SECTOR) {
		static unsigned fate; /* of the page: 0 old, 1 new, 2 torn */
		const size_t n = size - at < SECTOR ? size - at : SECTOR;

		if (at % PAGE == 0)
			fate = (unsigned)draw(3);
		if (fate == 2 ? draw(2) : fate) {
			if (at < now)
				memcpy(f->frozen + at, p + at, now - at < n ? now - at : n);
		} else if (at < f->synced_size) {
			memcpy(f->frozen + at, f->synced + at,
			       f->synced_size - at < n ? f->synced_size - at : n);
		}
	}
	free(p);
}

static void freeze(void)
{
	sim.crashed = true;
	sim.frozen_ops = sim.nops;
	if (sim.opt.crash == SIM_POWER) {
		sim.frozen_ops =
			sim.synced_ops + (int)draw((uint64_t)(sim.nops - sim.synced_ops + 1));
		while (sim.frozen_ops && sim.ops[sim.frozen_ops - 1].with_next)
			sim.frozen_ops--;
	}
	for (int i = 0; i < sim.nfiles; i++) {
		if (sim.opt.crash == SIM_POWER)
			file_lose(&sim.files[i]);
		else
			sim.files[i].frozen = bytes_of(&sim.files[i], &sim.files[i].frozen_size);
	}
}

/* What a step does apart from its work. */
enum fate { GO, FAIL, CUT };

/* What kind of call a step is. Signals interrupt the last two. */
enum call { PLAIN, SLOW, MOVES_BYTES };

/* Counts a step. FAIL: it fails with errno. CUT: a read or write moves a part. */
static enum fate step(enum call call)
{
	if (sim.crashed) {
		errno = EIO;
		return FAIL;
	}
	sim.steps++;
	if (sim.steps == sim.opt.crash_at && call != MOVES_BYTES) {
		freeze();
		errno = EIO;
		return FAIL;
	}
	if (sim.steps == sim.opt.crash_at)
		return CUT;
	if (sim.steps != sim.opt.fault_at || (sim.opt.fault == SIM_SHORT && call != MOVES_BYTES) ||
	    (sim.opt.fault == EINTR && call == PLAIN))
		return GO;
	sim.fault_happened = true;
	if (sim.opt.fault == SIM_SHORT)
		return CUT;
	errno = sim.opt.fault;
	return FAIL;
}

/* Bytes that a write may still add to all files. */
static uint64_t space_left(void)
{
	uint64_t used = 0;

	if (!sim.opt.capacity)
		return (uint64_t)1 << 40;
	for (int i = 0; i < sim.nfiles; i++)
		used += size_of(&sim.files[i]);
	return used < sim.opt.capacity ? sim.opt.capacity - used : 0;
}

/* What a write in which the process dies leaves: all of it, or the pages before some place. */
static size_t part_written(size_t at, size_t size)
{
	const size_t end = (at + draw(size + 1)) / PAGE * PAGE;

	return draw(2) ? size : end > at ? end - at : 0;
}

/* A write of `size` bytes at `at`, or of fewer; -1 (errno) on failure. */
static ssize_t write_at(struct file *f, const void *buf, size_t size, size_t at)
{
	const enum fate fate = step(MOVES_BYTES);
	const bool crash = fate == CUT && sim.steps == sim.opt.crash_at;
	const size_t end_max = size_of(f) + space_left();

	if (fate == FAIL)
		return -1;
	if (crash)
		size = part_written(at, size);
	else if (fate == CUT && size > 1)
		size /= 2;
	if (at + size > end_max)
		size = end_max > at ? end_max - at : 0;
	must(pwrite(f->fd, buf, size, (off_t)at) == (ssize_t)size);
	if (crash)
		freeze();
	if (size && !crash)
		return (ssize_t)size;
	errno = crash ? EIO : ENOSPC;
	return -1;
}

/* --- the calls --- */

static int fd_give(int file)
{
	/* A descriptor of its own: with a position of its own. */
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", sim.files[file].fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	must(fd >= 0 && fd < FDS_MAX);
	sim.file_of[fd] = file + 1;
	return fd;
}

static int path_open(const char *path, int flags)
{
	const int file = find(path, sim.nops);

	if ((flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return sim.opt.no_unnamed_files ? -1 : fd_give(file_new());
	}
	if (file >= 0 && (flags & O_CREAT) && (flags & O_EXCL)) {
		errno = EEXIST;
		return -1;
	}
	if (file < 0 && !(flags & O_CREAT)) {
		errno = ENOENT;
		return -1;
	}
	if (file >= 0)
		return fd_give(file);
	op_add(path, file_new(), false);
	return fd_give(sim.nfiles - 1);
}

static int sim_open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	if (!is_ours(path))
		return open(path, flags, mode);
	return step(PLAIN) == GO ? path_open(path, flags) : -1;
}

static int sim_mkostemp(char *path, int flags)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	char *x = path + strlen(path) - 6;

	if (!is_ours(path))
		return mkostemp(path, flags);
	if (step(PLAIN) != GO)
		return -1;
	do
		for (int i = 0; i < 6; i++)
			x[i] = letters[draw(26)];
	while (find(path, sim.nops) >= 0);
	return path_open(path, flags | O_CREAT | O_EXCL | O_RDWR);
}

static int sim_close(int fd)
{
	const bool ours = file_of(fd);

	if (ours)
		sim.file_of[fd] = 0;
	/* A descriptor is closed even if that fails. */
	return close(fd) | (ours && step(SLOW) != GO ? -1 : 0);
}

static ssize_t sim_read(int fd, void *buf, size_t size)
{
	enum fate fate;

	if (!file_of(fd))
		return read(fd, buf, size);
	fate = step(MOVES_BYTES);
	if (fate == CUT && sim.steps == sim.opt.crash_at) {
		freeze();
		fate = FAIL;
	}
	return fate == FAIL ? -1 : read(fd, buf, fate == CUT && size > 1 ? size / 2 : size);
}

static ssize_t sim_pread(int fd, void *buf, size_t size, off_t at)
{
	enum fate fate;

	if (!file_of(fd))
		return pread(fd, buf, size, at);
	fate = step(MOVES_BYTES);
	if (fate == CUT && sim.steps == sim.opt.crash_at) {
		freeze();
		fate = FAIL;
	}
	return fate == FAIL ? -1 : pread(fd, buf, fate == CUT && size > 1 ? size / 2 : size, at);
}

static ssize_t sim_write(int fd, const void *buf, size_t size)
{
	struct file *f = file_of(fd);
	off_t at;
	ssize_t n;

	if (!f)
		return write(fd, buf, size);
	at = lseek(fd, 0, SEEK_CUR);
	n = write_at(f, buf, size, (size_t)at);
	if (n > 0)
		lseek(fd, at + n, SEEK_SET);
	return n;
}

static ssize_t sim_pwrite(int fd, const void *buf, size_t size, off_t at)
{
	struct file *f = file_of(fd);

	return f ? write_at(f, buf, size, (size_t)at) : pwrite(fd, buf, size, at);
}

static int sim_posix_fallocate(int fd, off_t at, off_t size)
{
	struct file *f = file_of(fd);
	size_t had;

	if (!f)
		return posix_fallocate(fd, at, size);
	if (step(SLOW) != GO)
		return errno;
	had = size_of(f);
	if ((size_t)(at + size) <= had)
		return 0;
	if ((size_t)(at + size) - had > space_left())
		return ENOSPC;
	must(ftruncate(f->fd, at + size) == 0);
	return 0;
}

static int sim_fsync(int fd)
{
	struct file *f = file_of(fd);

	if (!f)
		return fsync(fd);
	if (step(SLOW) != GO)
		return -1;
	free(f->synced);
	f->synced = bytes_of(f, &f->synced_size);
	return 0;
}

static int name_move(const char *from, const char *to, bool replace)
{
	const int file = find(from, sim.nops);

	if (file < 0 || (!replace && find(to, sim.nops) >= 0)) {
		errno = file < 0 ? ENOENT : EEXIST;
		return -1;
	}
	op_add(to, file, true);
	op_add(from, -1, false);
	return 0;
}

static int sim_rename(const char *from, const char *to)
{
	if (!is_ours(from))
		return rename(from, to);
	return step(PLAIN) == GO ? name_move(from, to, true) : -1;
}

static int sim_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	if (!is_ours(from))
		return renameat(from_dir, from, to_dir, to);
	return step(PLAIN) == GO ? name_move(from, to, true) : -1;
}

static int sim_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	if (!is_ours(from))
		return os_renameat2_direct(from_dir, from, to_dir, to, flags);
	return step(PLAIN) == GO ? name_move(from, to, !(flags & RENAME_NOREPLACE)) : -1;
}

static int sim_unlink(const char *path)
{
	if (!is_ours(path))
		return unlink(path);
	if (step(PLAIN) != GO)
		return -1;
	if (find(path, sim.nops) < 0) {
		errno = ENOENT;
		return -1;
	}
	op_add(path, -1, false);
	return 0;
}

static int sim_stat(const char *path, struct stat *st)
{
	int file;

	if (!is_ours(path))
		return stat(path, st);
	if (step(PLAIN) != GO)
		return -1;
	file = find(path, sim.nops);
	errno = ENOENT;
	return file < 0 ? -1 : fstat(sim.files[file].fd, st);
}

static int sim_fstat(int fd, struct stat *st)
{
	return file_of(fd) && step(PLAIN) != GO ? -1 : fstat(fd, st);
}

static int sim_fchmod(int fd, mode_t mode)
{
	return file_of(fd) && step(PLAIN) != GO ? -1 : fchmod(fd, mode);
}

static off_t sim_lseek(int fd, off_t at, int whence)
{
	return file_of(fd) && step(PLAIN) != GO ? -1 : lseek(fd, at, whence);
}

static void *sim_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return file_of(fd) && step(PLAIN) != GO ? MAP_FAILED
						: mmap(at, size, prot, flags, fd, offset);
}

/* --- for tests --- */

void sim_begin(const struct sim_options *options)
{
	must(!sim.nfiles && !sim.nops);
	sim.opt = *options;
	sim.chance = options->seed;
	os_calls.open = sim_open;
	os_calls.mkostemp = sim_mkostemp;
	os_calls.close = sim_close;
	os_calls.read = sim_read;
	os_calls.pread = sim_pread;
	os_calls.write = sim_write;
	os_calls.pwrite = sim_pwrite;
	os_calls.posix_fallocate = sim_posix_fallocate;
	os_calls.fsync = os_calls.fdatasync = sim_fsync;
	os_calls.rename = sim_rename;
	os_calls.renameat = sim_renameat;
	os_calls.os_renameat2_direct = sim_renameat2;
	os_calls.unlink = sim_unlink;
	os_calls.stat = sim_stat;
	os_calls.fstat = sim_fstat;
	os_calls.fchmod = sim_fchmod;
	os_calls.lseek = sim_lseek;
	os_calls.mmap = sim_mmap;
}

static void sync_all(void)
{
	for (int i = 0; i < sim.nfiles; i++) {
		free(sim.files[i].synced);
		sim.files[i].synced = bytes_of(&sim.files[i], &sim.files[i].synced_size);
	}
	sim.synced_ops = sim.nops;
}

void sim_restart(const struct sim_options *options)
{
	must(!sim.crashed);
	sync_all();
	sim.opt = *options;
	sim.chance = options->seed;
	sim.steps = 0;
	sim.fault_happened = false;
}

void sim_end(void)
{
	for (int i = 0; i < FDS_MAX; i++)
		must(!sim.file_of[i]);
	for (int i = 0; i < sim.nfiles; i++) {
		close(sim.files[i].fd);
		free(sim.files[i].synced);
		free(sim.files[i].frozen);
	}
	free(sim.shown);
	memset(&sim, 0, sizeof(sim));
	os_calls = (struct os_calls){ OS_CALLS(SYSTEM_CALL) };
}

uint64_t sim_steps(void)
{
	return sim.steps;
}

bool sim_fault_happened(void)
{
	return sim.fault_happened;
}

void sim_add(const char *path, const void *data, size_t size)
{
	const int file = file_new();

	must(pwrite(sim.files[file].fd, data, size, 0) == (ssize_t)size);
	op_add(path, file, false);
	sync_all();
}

const char *sim_file(const char *path, size_t *size)
{
	const int file = find(path, sim.crashed ? sim.frozen_ops : sim.nops);

	*size = 0;
	if (file < 0)
		return NULL;
	if (sim.crashed) {
		*size = sim.files[file].frozen_size;
		return (const char *)sim.files[file].frozen;
	}
	free(sim.shown);
	sim.shown = bytes_of(&sim.files[file], size);
	return (const char *)sim.shown;
}

size_t sim_names(const char *except, const char **first)
{
	const int nops = sim.crashed ? sim.frozen_ops : sim.nops;
	size_t count = 0;

	*first = NULL;
	for (int i = 0; i < nops; i++) {
		const char *name = sim.ops[i].name;

		/* The last operation of a name counts. */
		for (int k = i + 1; k < nops && name; k++)
			if (strcmp(sim.ops[k].name, name) == 0)
				name = NULL;
		if (!name || sim.ops[i].file < 0)
			continue;
		count++;
		if (!except || strcmp(name, except) != 0)
			*first = name;
	}
	return count;
}

const char *sim_text(void)
{
	static const char *const crashes[] = { "none", "kill", "power" };

	snprintf(sim.text, sizeof(sim.text),
		 "seed %llu, capacity %llu, crash %s at %llu, fault %d at %llu, after %llu steps",
		 (unsigned long long)sim.opt.seed, (unsigned long long)sim.opt.capacity,
		 crashes[sim.opt.crash], (unsigned long long)sim.opt.crash_at, sim.opt.fault,
		 (unsigned long long)sim.opt.fault_at, (unsigned long long)sim.steps);
	return sim.text;
}
