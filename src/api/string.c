/* Strings of a trace. */
#include "model/trace.h"

const char *spur_string(const struct spur_trace *t, uint32_t id, size_t *len)
{
	return intern_text(t->strings, id, len);
}
