/* Numbers and columns as uftrace prints them. */
#ifndef SPUR_STYLE_UFTRACE_TEXT_TEXT_H
#define SPUR_STYLE_UFTRACE_TEXT_TEXT_H

#include "base/out.h"
#include "pass/pass.h"

enum { TIME_WIDTH = 10, TID_WIDTH = 7, STYLE_FIELDS = 24, TEXT_BLOCK = 64 };

/* Right-aligned 123.456 and a unit, ten columns; blanks for 0. Room: 24 bytes. */
char *put_time_unit(char *p, uint64_t ns);
void out_time_unit(struct out *o, uint64_t ns);
/* What follows the last slash. */
struct text style_base_name(struct text path);

static inline char *put_text(char *p, const char *s, size_t len)
{
	memcpy(p, s, len);
	return p + len;
}

/* Text that may be followed by anything: copied in blocks. Room, and readable: len and
 * TEXT_BLOCK bytes more. */
static inline char *put_padded_text(char *p, const char *s, size_t len)
{
	memcpy(p, s, TEXT_BLOCK);
	for (size_t i = TEXT_BLOCK; i < len; i += TEXT_BLOCK)
		memcpy(p + i, s + i, TEXT_BLOCK);
	return p + len;
}

/* A column that -f may choose. */
struct style_field {
	const char *name, *alias; /* alias: NULL for none */
	const char *header;
	int width; /* of the header line and of empty cells */
};

struct style_fields {
	uint8_t ids[STYLE_FIELDS];
	size_t count;
	bool has[STYLE_FIELDS];
};

/*
 * The columns of `text` ("a,b", "+c" adds to the defaults, "none", "all") in the order of the
 * table; NULL: the defaults. False with `err` set: an unknown name.
 */
bool style_fields_parse(struct style_fields *out, const struct style_field *table, size_t n,
			const char *text, const uint8_t *defaults, size_t ndefaults,
			struct spur_error *err);

/* SPEC uftrace/cpu-list: the CPUs of a mask, such as 0-3,5. Room: CPU_LIST; returns the end. */
enum { CPU_LIST = 200 };
char *put_cpu_list(char *p, uint64_t cpus);

#endif
