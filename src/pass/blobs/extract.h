/*
 * Writes blobs to files of one directory: under names that are safe there, never outside of it,
 * never over another file unless told to. Files have other names until all are complete.
 */
#ifndef SPUR_PASS_BLOBS_EXTRACT_H
#define SPUR_PASS_BLOBS_EXTRACT_H

#include <spur.h>
#include <stdbool.h>

#include "base/intern.h"
#include "base/map64.h"
#include "base/mem.h"

struct extract_file {
	const char *name; /* below the directory */
	const char *temp; /* the same, until the end */
	bool is_made; /* the temporary one is there */
};

struct extract {
	const char *path; /* of the directory */
	int dir; /* -1: not open */
	bool force;
	struct extract_file *files;
	size_t n, cap;
	struct intern *names; /* that are taken */
	/* String id of a name in use -> number that the next one of that name gets. */
	struct map64 numbers;
	size_t open; /* the file that `fd` is; only where fd >= 0 */
	int fd;
	struct arena arena;
};

enum { EXTRACT_NAME = 200 }; /* bytes of a name, less what makes it different from others */

/*
 * A name for a file: '/', control characters and what is no UTF-8 become '_', as does a dot or dash
 * at the front; "blob" where nothing is left, and cut at EXTRACT_NAME bytes. `out` has room for
 * EXTRACT_NAME + 1. Returns the length.
 */
size_t extract_safe_name(const char *name, size_t len, char *out);

/* Opens the directory, which is made where it is missing. extract_close() is due in any case. */
enum spur_status extract_open(struct extract *x, const char *dir, bool force,
			      struct spur_error *err);
/* A new file for a blob of that name; `number` counts from 0. */
enum spur_status extract_add(struct extract *x, const char *name, size_t len, size_t *number,
			     struct spur_error *err);
/* Appends to it. */
enum spur_status extract_write(struct extract *x, size_t number, const void *p, size_t len,
			       struct spur_error *err);
/* Gives all files their names. */
enum spur_status extract_finish(struct extract *x, struct spur_error *err);
/* Removes what has not got its name. */
void extract_close(struct extract *x);

#endif
