/*
 * Encodes records as wire.h has them: the inverse of shape.h. A record whose shape is exact is
 * encoded to the same bytes.
 */
#ifndef SPUR_FORMAT_FXT_WRITE_RECORD_H
#define SPUR_FORMAT_FXT_WRITE_RECORD_H

#include "base/out.h"
#include "format/fxt/shape.h"

/* Words being put together, such as those of a record. */
struct fxt_build {
	uint32_t words;
	bool swap; /* the byte order of the output is not the machine's */
	bool full; /* something did not fit, and is missing */
	uint8_t bytes[FXT_RECORD_MOST * FXT_WORD];
};

enum {
	FXT_TEXT_MOST = 32000, /* bytes of a text that is written: the document's own maximum */
};

void fxt_build_word(struct fxt_build *b, uint64_t word);
/*
 * Appends an argument. Uses `type`, `name`, and what the type needs of `head` (the value of I32,
 * U32, BOOL and unknown types), `text`, `word`, `data` and `len`.
 */
void fxt_build_arg(struct fxt_build *b, const struct fxt_arg *a);

/*
 * Writes the record that the shape describes. Of `head` it takes the fields that the shape has no
 * member for (CPU, state, object type, ...); sizes, references, counts and lengths are those of the
 * other members. Arguments and data are taken as bytes, in the byte order of the output. `b` is
 * used on the way. Returns false, with nothing written, if the record would be too large.
 */
bool fxt_encode(const struct fxt_shape *s, struct fxt_build *b, struct out *o);
/* The same with a mark of `mark_words` words behind it, in the byte order of the output. */
bool fxt_encode_marked(const struct fxt_shape *s, const uint8_t *mark, unsigned mark_words,
		       struct fxt_build *b, struct out *o);

/* SPEC fxt/next-mark: writes the mark, in front of a record that a reader may doubt. */
bool fxt_encode_next_mark(struct fxt_build *b, struct out *o);

/* Returns the largest length up to `most` that does not cut a UTF-8 sequence of the text. */
uint32_t fxt_text_cut(const char *text, uint64_t len, uint64_t most);

#endif
