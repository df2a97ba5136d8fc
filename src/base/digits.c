/* See digits.h. */
#include "base/digits.h"

char *put_decimal_long(char *w, uint64_t v)
{
	const uint64_t d = digits_eight((uint32_t)(v % 100000000)) | 0x3030303030303030;

	if (v >= UINT64_C(10000000000000000))
		return put_u64(w, v);
	w = put_decimal(w, v / 100000000);
	memcpy(w, &d, sizeof(d));
	return w + sizeof(d);
}
