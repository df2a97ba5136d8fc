/*
 * Texts of all lengths, which end where memory ends that can be read, so that one byte too many
 * would end the program. Each event has its text's length, and the text says what its bytes are.
 * one(), at the end, is for a look at its code.
 */
#include <spur_trace.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { ROOM = 4096, MOST = 600 };

void one(const char *text);

static void fill(char *to, int length)
{
	for (int i = 0; i < length; i++)
		to[i] = (char)('a' + (i * 7 + length) % 26);
	to[length] = '\0';
}

int main(void)
{
	char *const room = (char *)mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED || mprotect(room + ROOM, ROOM, PROT_NONE))
		return 1;
	for (int length = 0; length <= MOST; length++) {
		char *const text = room + ROOM - 1 - length;

		fill(text, length);
		SPUR_TRACE_INSTANT("app", "text", (U64, "length", length), (TEXT, "text", text),
				   (TEXT, "again", text + length / 2));
		SPUR_TRACE_INSTANT("app", "string", (U64, "length", length),
				   (STRING, "text", spur_trace_string(text)));
	}
	one("one");
	return 0;
}

void one(const char *text)
{
	SPUR_TRACE_INSTANT("app", "one", (TEXT, "text", text));
}
