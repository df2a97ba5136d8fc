/* See process.h. */
#include "base/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { STAT_STATE = 3, STAT_THREADS = 20, STAT_START_TIME = 22 }; /* fields of /proc/PID/stat */

/* A field behind the name, which may have blanks; "": there is no such field. */
static const char *field_find(const char *line, int field)
{
	const char *p = strrchr(line, ')');

	for (int i = STAT_STATE - 1; p && i < field; i++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return p ? p : "";
}

bool process_runs(uint32_t pid, uint64_t start_time)
{
	char path[64], line[1024];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	got = file_head(path, FILE_REGULAR, line, sizeof(line) - 1);
	if (got <= 0)
		return false;
	line[got] = '\0';
	/* One that has ended but was not waited for; but of its threads only the first may have. */
	if (*field_find(line, STAT_STATE) == 'Z' && atoi(field_find(line, STAT_THREADS)) <= 1)
		return false;
	return strtoull(field_find(line, STAT_START_TIME), NULL, 10) == start_time;
}

bool process_boot_is_this(const uint8_t *boot)
{
	char id[64], *at = id;
	uint8_t byte = 0;
	const ssize_t got =
		file_head("/proc/sys/kernel/random/boot_id", FILE_REGULAR, id, sizeof(id) - 1);

	if (got <= 0)
		return false;
	id[got] = '\0';
	for (size_t n = 0; n < 2 * (size_t)PROCESS_BOOT_SIZE; at++) {
		const char *const digits = "0123456789abcdef";
		const char *const d = *at ? strchr(digits, *at) : NULL;

		if (!*at)
			return false;
		if (!d)
			continue;
		byte = (uint8_t)(byte << 4 | (d - digits));
		if (n++ % 2 && boot[n / 2 - 1] != byte)
			return false;
	}
	return true;
}
