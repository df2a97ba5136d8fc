/* See dot.h. */
#include "render/dot.h"

void out_dot(struct out *o, const char *s, size_t len, bool record)
{
	size_t plain = 0;

	for (size_t i = 0; i < len; i++) {
		if (!memchr("\"\\", s[i], 2) && !(record && memchr("{}|<>", s[i], 5)))
			continue;
		out_safe(o, s + plain, i - plain);
		out_char(o, '\\');
		out_char(o, s[i]);
		plain = i + 1;
	}
	out_safe(o, s + plain, len - plain);
}
