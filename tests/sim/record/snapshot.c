/*
 * `spur snapshot` on the simulated machine: its own source, whose calls of the system are those of
 * the machine.
 */
#include "inside.h"

#include "base/os.h"
#include "format/spur/grow.h"

#define os_open(path, flags, mode) recording
#define os_close sim_close
#define os_pread file_read
#define os_pwrite file_write
#define os_fstat file_stat
#define os_ftruncate file_cut
#define spb_snapshot snapshot_make
#define spb_boot_is_this(boot) false

static int recording; /* the descriptor of its file */

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
	int to;

	while ((to = sim_open(path, 0)) < 0)
		path[sizeof("snapshot/") - 1]++;
	recording = fd;
	if (spb_snapshot("recording", to, &out, &err) == SPUR_FAIL)
		sim_fail("a snapshot fails");
}
