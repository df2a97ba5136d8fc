/*
 * A trace in a tar archive (ustar, pax, GNU; packed ones come unpacked from source.h): its files
 * and the place of their bytes. Nothing is unpacked to disk, so names in it are harmless.
 */
#ifndef SPUR_FORMAT_CTF_ARCHIVE_H
#define SPUR_FORMAT_CTF_ARCHIVE_H

#include "base/err.h"
#include "base/mem.h"

/* A regular file. */
struct ctf_tar_file {
	const char *name; /* with its directories, `/` between; in the archive's arena */
	const uint8_t *data; /* in the caller's bytes */
	uint64_t size;
	uint64_t number; /* position in the archive: of equal names the last one is used */
};

struct ctf_archive {
	struct arena arena;
	struct ctf_tar_file *members; /* ascending by name, each name once */
	size_t count, cap;
};

/* Returns true if the bytes begin with the header of a tar archive. */
bool archive_is(const uint8_t *data, size_t size);
/*
 * Returns true if `fits` accepts a member in the beginning of an archive; it gets the member's name
 * and available bytes.
 */
bool archive_has(const uint8_t *data, size_t size,
		 bool (*fits)(const char *name, const uint8_t *data, size_t size));
/*
 * Lists the files of an archive; reports damage to `diag`. Requires that `data` stays valid.
 * Returns false if out of memory.
 */
bool archive_open(struct ctf_archive **out, const uint8_t *data, uint64_t size, const char *shown,
		  struct diag_log *diag);
/* NULL is fine. */
void archive_close(struct ctf_archive *a);
/* Returns the file of that name, ignoring a leading `/`, or NULL. */
const struct ctf_tar_file *archive_find(const struct ctf_archive *a, const char *name);

#endif
