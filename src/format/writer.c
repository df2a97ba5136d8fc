/* The table of writers, and their settings. */
#include "format/writer.h"

#include <string.h>

#include "base/err.h"

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
	const struct spur_writer *found = NULL;
	size_t longest = 0;

	for (size_t i = 0; spur_writers[i]; i++)
		for (const char *const *e = spur_writers[i]->endings; e && *e; e++)
			if (strlen(*e) > longest && ends_in(path, *e)) {
				longest = strlen(*e);
				found = spur_writers[i];
			}
	return found;
}

/* The next NAME=VALUE of a list; `*list` moves behind it. Returns false at the end. */
static bool setting_next(const char **list, const char **item, size_t *len)
{
	if (!*list || !**list)
		return false;
	*item = *list;
	*len = strcspn(*list, ",");
	*list += *len + ((*list)[*len] != '\0');
	return true;
}

/* Returns the value in an item NAME=VALUE of that name, or NULL. */
static const char *item_value(const char *item, size_t len, const char *name)
{
	const size_t n = strlen(name);

	return len > n && item[n] == '=' && strncmp(item, name, n) == 0 ? item + n + 1 : NULL;
}

const char *write_setting(const struct write *w, const char *name, size_t *len)
{
	const char *list = w->settings, *item, *value = NULL;
	size_t n;

	*len = 0;
	while (setting_next(&list, &item, &n)) {
		const char *found = item_value(item, n, name);

		if (!found)
			continue;
		value = found;
		*len = n - (size_t)(found - item);
	}
	return value;
}

bool write_setting_is(const struct write *w, const char *name, const char *value)
{
	size_t len;
	const char *v = write_setting(w, name, &len);

	return v && len == strlen(value) && strncmp(v, value, len) == 0;
}

bool writer_to_dir(const struct spur_writer *w, const char *path)
{
	const size_t n = w->file_ending ? strlen(w->file_ending) : 0, len = path ? strlen(path) : 0;

	/* The name is more than the ending and its point. */
	return w->is_dir && !(n && len > n + 1 && path[len - n - 1] == '.' &&
			      strcmp(path + len - n, w->file_ending) == 0);
}

const char *writer_side(const struct spur_writer *w, const char *settings)
{
	const struct write write = { .writer = w, .settings = settings };

	return w->side ? w->side(&write) : NULL;
}

static bool value_is_known(const struct write_setting *s, const char *value, size_t len)
{
	bool known = !s->values;

	for (const char *const *v = s->values; v && *v && !known; v++)
		known = strlen(*v) == len && strncmp(*v, value, len) == 0;
	return known;
}

static enum spur_status bad_value(const struct write_setting *s, const char *item, size_t len,
				  struct spur_error *err)
{
	char known[200] = "";

	for (const char *const *v = s->values; *v; v++) {
		strncat(known,
			v == s->values ? ""
			: v[1]	       ? ", "
				       : " or ",
			sizeof(known) - strlen(known) - 1);
		strncat(known, *v, sizeof(known) - strlen(known) - 1);
	}
	return err_set(err, SPUR_ERR_USAGE, "%s: expected %s, found \"%.*s\"", s->name, known,
		       (int)(len < 80 ? len : 80), item + strlen(s->name) + 1);
}

enum spur_status writer_check(const struct spur_writer *w, const char *settings,
			      struct spur_error *err)
{
	const char *item;
	size_t len;

	while (setting_next(&settings, &item, &len)) {
		const struct write_setting *s = w->settings;
		const char *value = NULL;

		for (; s && s->name; s++) {
			value = item_value(item, len, s->name);
			if (value)
				break;
		}
		if (!value)
			return err_set(err, SPUR_ERR_USAGE,
				       "%s has no setting \"%.*s\"; see spur formats", w->name,
				       (int)(len < 80 ? len : 80), item);
		if (!value_is_known(s, value, len - (size_t)(value - item)))
			return bad_value(s, item, len, err);
	}
	return SPUR_OK;
}
