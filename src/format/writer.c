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
