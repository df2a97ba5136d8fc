/*
 * A directory that is written: a new directory beside its final name until it is complete, so that
 * a failure leaves what was there before. Files are written one after the other.
 */
#ifndef SPUR_BASE_OUTDIR_H
#define SPUR_BASE_OUTDIR_H

#include "base/mem.h"
#include "base/out.h"

enum { OUTDIR_SYNCED = 16 };

struct outdir {
	const char *path; /* the final name */
	char *temp; /* the name until outdir_close(); NULL: not made */
	bool force; /* replace a directory of that name */
	size_t nfiles; /* that were finished */
	struct arena arena;
};

/*
 * Makes the directory. Returns SPUR_FAIL, with the error set, if that fails, or if `path` exists
 * and is not an empty directory, unless `force` is true and it is a directory. Requires
 * outdir_close() in any case.
 */
enum spur_status outdir_open(struct outdir *d, const char *path, bool force,
			     struct spur_error *err);
/*
 * Creates the file `name` below the directory and opens `o` for it. `name` may have slashes: the
 * directories in it are made. Returns SPUR_FAIL with the error set.
 */
enum spur_status outdir_create(struct outdir *d, const char *name, struct out *o,
			       struct spur_error *err);
/*
 * Flushes and closes a file of the directory. The first OUTDIR_SYNCED files are synced here, all
 * others at once when the directory is closed: each sync waits for the disk.
 * Returns SPUR_FAIL with the error set.
 */
enum spur_status outdir_finish(struct outdir *d, const char *name, struct out *o,
			       struct spur_error *err);
/*
 * Makes a directory `name` below another one, as an output of its own that gets its name with the
 * other one. Returns SPUR_FAIL, with the error set, if that fails. Requires outdir_leave(), and not
 * outdir_close(), in any case; its files are then synced with those of the other one.
 */
enum spur_status outdir_below(struct outdir *d, const struct outdir *above, const char *name,
			      struct spur_error *err);
void outdir_leave(struct outdir *d, struct outdir *above);
/*
 * With `keep`, gives the directory its name; else removes it. Returns SPUR_FAIL, with the error
 * set, if that fails. Frees `d` in any case.
 */
enum spur_status outdir_close(struct outdir *d, bool keep, struct spur_error *err);
/*
 * Returns SPUR_FAIL, with the error set, if the directory would replace `input`, a file or
 * directory, or one that `input` lies in.
 */
enum spur_status outdir_spare(const struct outdir *d, const char *input, struct spur_error *err);

#endif
