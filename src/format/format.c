/* Finding the format of a file or directory: every format gives a score for its content, the best wins. */
#include "format/format.h"

#include <string.h>

#include "base/out.h"

const struct spur_format *format_find(const char *name)
{
	for (size_t i = 0; spur_formats[i]; i++)
		if (strcmp(spur_formats[i]->name, name) == 0)
			return spur_formats[i];
	return NULL;
}

const struct spur_format *format_of_url(const char *path)
{
	for (size_t i = 0; spur_formats[i]; i++)
		for (const char *const *url = spur_formats[i]->urls; url && *url; url++)
			if (strncmp(path, *url, strlen(*url)) == 0)
				return spur_formats[i];
	return NULL;
}

const struct spur_format *format_probe(const struct probe *p, struct spur_error *err)
{
	const struct spur_format *best = NULL, *second = NULL;
	int score = 0;

	for (size_t i = 0; spur_formats[i]; i++) {
		int s = spur_formats[i]->probe(p);

		if (s > score) {
			best = spur_formats[i];
			second = NULL;
			score = s;
		} else if (s == score && s > 0) {
			second = spur_formats[i];
		}
	}
	if (best && !second)
		return best;
	if (second)
		err_set(err, SPUR_ERR_FORMAT, "%s: looks equally like %s and %s; name the format", p->path, best->name,
			second->name);
	else if (!p->is_dir && !p->len)
		err_set(err, SPUR_ERR_FORMAT, "%s: expected a trace, found an empty file", p->path);
	else
		err_set(err, SPUR_ERR_FORMAT, "%s: expected a trace of a known format, found %s", p->path,
			p->is_dir ? "a directory without one" : "something else");
	return NULL;
}
