/* The table of writers. */
#include "format/writer.h"

#include <string.h>

const struct spur_writer *writer_find(const char *name)
{
	for (size_t i = 0; spur_writers[i]; i++)
		if (strcmp(spur_writers[i]->name, name) == 0)
			return spur_writers[i];
	return NULL;
}

/* Returns true if the path ends in a point and the ending. */
static bool ends_in(const char *path, const char *ending)
{
	const size_t len = strlen(path), n = strlen(ending);

	return len > n + 1 && path[len - n - 1] == '.' && strcmp(path + len - n, ending) == 0;
}

const struct spur_writer *writer_of_path(const char *path)
{
	for (size_t i = 0; spur_writers[i]; i++)
		for (const char *const *e = spur_writers[i]->endings; e && *e; e++)
			if (ends_in(path, *e))
				return spur_writers[i];
	return NULL;
}
