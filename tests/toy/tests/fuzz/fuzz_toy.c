/* Reads the fuzzer's bytes as a toy trace. */
#include <spur.h>

#include "format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct probe p = { .path = "fuzz", .head = data, .len = size };
	struct spur_error err;

	return format_probe(&p, &err) ? 0 : -1;
}
