/* See join_name.h. */
#include "flow/join_name.h"

#include <stdio.h>
#include <string.h>

/* The length of a path without slashes at its end. */
static size_t path_length(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return len;
}

static bool same_path(const char *a, const char *b)
{
	const size_t len = path_length(a);

	return len == path_length(b) && !memcmp(a, b, len);
}

/* The length of the directories that all paths begin with, up to a slash. */
static size_t shared_length(const char *const *paths, size_t n)
{
	size_t shared = 0;

	for (size_t at = 0; at < path_length(paths[0]); at++) {
		for (size_t i = 1; i < n; i++)
			if (at >= path_length(paths[i]) || paths[i][at] != paths[0][at])
				return shared;
		if (paths[0][at] == '/')
			shared = at + 1;
	}
	return shared;
}

static bool is_repeated(const char *const *paths, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++)
		if (k != i && same_path(paths[k], paths[i]))
			return true;
	return false;
}

bool join_name_parts(struct spur_trace *t, const char *const *paths, size_t n)
{
	const size_t shared = shared_length(paths, n);

	for (size_t i = 0; n > 1 && i < n; i++) {
		const char *const from = paths[i] + shared;
		const int len = (int)(path_length(paths[i]) - shared);
		const char *name = is_repeated(paths, n, i)
					   ? arena_printf(&t->arena, "%.*s (%zu)", len, from, i + 1)
					   : arena_printf(&t->arena, "%.*s", len, from);

		t->parts[i].name = name ? trace_intern(t, name) : 0;
		if (!t->parts[i].name)
			return false;
	}
	return true;
}
