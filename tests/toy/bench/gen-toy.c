/* Makes a toy trace: gen-toy [-n EVENTS] FILE */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	const uint64_t events =
		argc == 4 && !strcmp(argv[1], "-n") ? strtoull(argv[2], NULL, 10) : 1000;
	FILE *f = argc > 1 ? fopen(argv[argc - 1], "wb") : NULL;

	if (!f)
		return fputs("usage: gen-toy [-n EVENTS] FILE\n", stderr), 2;
	fwrite("TOY1", 1, 4, f);
	for (uint64_t i = 0; i < events; i++) {
		const uint64_t ts = 2 * i;

		fwrite(&ts, 1, 8, f);
		fwrite("made\0\0\0", 1, 8, f);
	}
	return fclose(f) ? 1 : 0;
}
