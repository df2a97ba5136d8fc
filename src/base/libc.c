/* See libc.h. */
#include "base/libc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"

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
	int rc = os_renameat2(dir, from, dir, to, RENAME_NOREPLACE);

	if (rc != 0 && (errno == EINVAL || errno == ENOSYS))
		rc = os_renameat(dir, from, dir, to);
	return rc;
}
