/* See pb.h. */
#include "export/perfetto/pb.h"

#include "base/text.h"

enum { CHARACTER_MAX = 4 /* bytes of a character */ };

/* Cuts the text between two characters. Returns its new length. */
static size_t text_cut(const char *s, size_t len, size_t most)
{
	if (len <= most)
		return len;
	for (size_t n = 1; n < CHARACTER_MAX && n <= most; n++) {
		const size_t at = most - n;

		if (((unsigned char)s[at] & 0xC0) == 0x80)
			continue;
		return at + utf8_valid(s + at, len - at) > most ? at : most;
	}
	return most;
}

bool pb_text(struct out *o, unsigned field, const char *s, size_t len, size_t most)
{
	struct out safe;

	len = text_cut(s, len, most);
	if (utf8_all_valid(s, len)) {
		pb_bytes(o, field, s, len);
		return true;
	}
	out_to_memory(&safe);
	out_safe(&safe, s, len);
	pb_bytes(o, field, safe.buf, safe.len);
	o->error = o->error ? o->error : safe.error;
	out_free(&safe);
	return false;
}
