/*
 * Points of a language without macros whose values are many, long, or not what their types say:
 * values FIRST. Each CASE records the same three times between two others.
 */
#include <spur_trace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 255, NAME = 421, LONG = 1 << 20, U64 = 2, TEXT = 6, BYTES = 7 };

static char text[LONG], long_name[NAME];
static const char *names[MANY];
static uint8_t types[MANY];
static struct spur_trace_value values[MANY];

static void point(const char *name, uint8_t nargs, uint32_t record)
{
	struct spur_trace_site *const s = calloc(1, sizeof(*s));

	*s = (struct spur_trace_site){ .kind = 2,
				       .nargs = nargs,
				       .line = 1,
				       .category = "values",
				       .name = name,
				       .arg_names = names,
				       .arg_types = types };
	for (int i = 0; i < 3 && spur_trace_number(s); i++)
		spur_trace_record(record, s, 0, values);
}

/* All values are of that type; texts have that length. */
static void fill(uint8_t type, uint32_t len)
{
	for (unsigned i = 0; i < MANY; i++) {
		types[i] = type;
		values[i] = (struct spur_trace_value){ i, type == U64 ? NULL : text, len };
	}
}

int main(void)
{
	memset(text, 'x', sizeof(text) - 1);
	memset(long_name, 'n', sizeof(long_name) - 1);
	for (unsigned i = 0; i < MANY; i++) {
		char *const name = malloc(NAME);

		snprintf(name, NAME, "%03u%s", i, long_name + 4);
		names[i] = name;
	}
	fill(U64, 0);
	point("first", 1, 3);
	point("numbers", MANY, 3);
	point("no such record", 1, 99);
	point(long_name, 8, 3);
	fill(TEXT, sizeof(text) - 1);
	point("a text", 1, 3);
	point("nine texts", 9, 3);
	point("texts", MANY, 3);
	fill(BYTES, 10);
	point("bytes", 2, 3);
	fill(TEXT, 3);
	values[0].text = NULL;
	types[1] = U64;
	point("not of their types", 3, 3);
	fill(U64, 0);
	point("last", 1, 3);
	/* Texts that are not UTF-8, and differ where they are not cut. */
	memset(text, 0x80, sizeof(text) - 1);
	for (char c = 'a'; c < 'c'; c++) {
		text[0] = c;
		SPUR_TRACE_INSTANT("values", "not UTF-8", (STRING, "s", spur_trace_string(text)));
	}
	return 0;
}
