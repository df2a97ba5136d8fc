/* The first bytes of files, and files without a name. */
#ifndef SPUR_BASE_FILE_H
#define SPUR_BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

enum file_kind {
	FILE_ANY, /* waits for a pipe's writer */
	FILE_REGULAR, /* anything else fails with errno EINVAL, and is not waited for */
};

/*
 * Reads the first bytes of a file into `buf`, at most `size`. Returns their number, less than
 * `size` if the file is shorter, or -1 (errno) if it cannot be read.
 */
ssize_t file_head(const char *path, enum file_kind kind, void *buf, size_t size);

/*
 * Returns a descriptor of a new file without a name in $TMPDIR, /var/tmp or /tmp, for reading and
 * writing, or -1 (errno) if none can be made.
 */
int temp_file_open(void);
/* Returns the directory that holds the temporary file that was made last. */
const char *temp_file_dir(void);

#endif
