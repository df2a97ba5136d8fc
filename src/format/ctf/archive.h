/*
 * A trace in a tar archive (ustar, pax, GNU; packed ones come unpacked from source.h): which files
 * are in it and where their bytes are. Nothing is unpacked to disk, so names in it lead nowhere.
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
	uint64_t number; /* place in the archive: of equal names the last one counts */
};

struct ctf_archive {
	struct arena arena;
	struct ctf_tar_file *members; /* ascending by name, each name once */
	size_t count, cap;
};

/* The bytes begin with the header of a tar archive. */
bool archive_is(const uint8_t *data, size_t size);
/*
 * Of an archive's beginning: a member that can be seen there fits. `fits` gets its name and the
 * bytes of it that are seen.
 */
bool archive_has(const uint8_t *data, size_t size,
		 bool (*fits)(const char *name, const uint8_t *data, size_t size));
/*
 * Lists what is in it; what is wrong with it goes to `diag`. `data` must stay. Returns false if out
 * of memory.
 */
bool archive_open(struct ctf_archive **out, const uint8_t *data, uint64_t size, const char *shown,
		  struct diag_log *diag);
/* NULL is fine. */
void archive_close(struct ctf_archive *a);
/* NULL: there is none of that name. A `/` in front means nothing. */
const struct ctf_tar_file *archive_find(const struct ctf_archive *a, const char *name);

#endif
