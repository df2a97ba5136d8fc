/* What C libraries do differently: glibc and musl. */
#ifndef SPUR_BASE_LIBC_H
#define SPUR_BASE_LIBC_H

/* The text of an errno value, in English whatever the locale. Never NULL. */
const char *error_text(int error);
/*
 * Renames a file within a directory (a descriptor or AT_FDCWD). Returns -1 with errno EEXIST if the
 * new name is taken. If the file system cannot check that, the new name is replaced.
 */
int rename_new(int dir, const char *from, const char *to);

#endif
