/* See libc.h. */
#include "base/libc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *error_text(int error)
{
#ifdef __GLIBC__
	const char *s = strerrordesc_np(error);
#else
	/* English, as the program never calls setlocale(). */
	const char *s = strerror(error);
#endif

	return s ? s : "an unknown error";
}

int rename_new(int dir, const char *from, const char *to)
{
	/* musl has a wrapper since 1.2.5 only. */
	int rc = (int)syscall(SYS_renameat2, dir, from, dir, to, RENAME_NOREPLACE);

	if (rc != 0 && (errno == EINVAL || errno == ENOSYS))
		rc = renameat(dir, from, dir, to);
	return rc;
}
