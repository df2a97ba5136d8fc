/* Options with their size first: callers may be older or newer than the library. */
#include <stddef.h>
#include <string.h>

#include "api/api.h"

/* The members of the first release that had a size. */
enum { OPTIONS_LEAST = offsetof(struct spur_options, stop) + sizeof(void *) };
/* No struct of options is larger: beyond that the size is invalid and no byte is looked at. */
enum { SIZED_MOST = 4096 };

enum spur_status api_copy_sized(void *to, size_t size, const void *from, size_t least,
				const char *what, struct spur_error *err)
{
	const uint8_t *bytes = from;
	size_t given;

	memcpy(&given, from, sizeof(given));
	if (given < least)
		return api_misuse(NULL, err, "%s.size: expected at least %zu, found %zu", what,
				  least, given);
	if (given > SIZED_MOST)
		return api_misuse(NULL, err, "%s.size: expected at most %d, found %zu", what,
				  SIZED_MOST, given);
	for (size_t i = size; i < given; i++)
		if (bytes[i])
			return api_misuse(NULL, err,
					  "%s.size: expected at most %zu, found %zu: byte %zu is "
					  "set, which this version of the library does not know",
					  what, size, given, i);
	memset(to, 0, size);
	memcpy(to, from, given < size ? given : size);
	memcpy(to, &size, sizeof(size));
	return SPUR_OK;
}

enum spur_status api_options(const struct spur_options *given, struct spur_options *full,
			     struct spur_error *err)
{
	if (!given) {
		*full = spur_options_default();
		return SPUR_OK;
	}
	if (api_copy_sized(full, sizeof(*full), given, OPTIONS_LEAST, "spur_options", err) ==
	    SPUR_FAIL)
		return SPUR_FAIL;
	if ((unsigned)full->demangle >= SPUR_DEMANGLE_FORMS)
		return api_misuse(NULL, err,
				  "spur_options.demangle: expected a form below %d, found %d",
				  SPUR_DEMANGLE_FORMS, (int)full->demangle);
	if (full->noffsets && !full->offsets)
		return api_misuse(NULL, err, "spur_options.offsets: expected %zu, found NULL",
				  full->noffsets);
	return SPUR_OK;
}
