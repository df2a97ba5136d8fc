/*
 * Marks: attributes at the beginning of an event that say what the format has no field for. Spur
 * writes them (write.c), and reads them back; for other readers they are attributes as all are.
 * SPEC heph/marks
 *
 *	name		type	meaning
 *	spur.kind	string	the kind of the event if it is no span: "INSTANT", "COUNTER", ...
 *	spur.category	string	the category
 *	spur.id		u64	the id of an async, flow or counter event, or of a function
 *	spur.cpu	u64	the CPU
 *	spur.flags	string	words, separated by blanks: "out", "in", "preempted", "exit"
 *
 * SPEC heph/track-names: an event without a length whose only attribute is `spur.kind` with one of
 * the words PROCESS and THREAD is none: its description is the name of its stream, or of its
 * substream.
 */
#ifndef SPUR_FORMAT_HEPH_MARKS_H
#define SPUR_FORMAT_HEPH_MARKS_H

#include "format/heph/packet.h"

enum heph_mark {
	HEPH_MARK_KIND,
	HEPH_MARK_CATEGORY,
	HEPH_MARK_ID,
	HEPH_MARK_CPU,
	HEPH_MARK_FLAGS,
	HEPH_MARKS
};

enum { HEPH_MARK_PREFIX = 5 /* bytes of "spur." */ };

/* Names of the marks, and the flags that marks can hold. */
extern const char *const heph_mark_names[HEPH_MARKS];
struct heph_flag_name {
	uint16_t bit;
	const char *name;
};
enum { HEPH_FLAG_NAMES = 4 };
extern const struct heph_flag_name heph_flag_names[HEPH_FLAG_NAMES];

/* What the description of an event without a length names. */
enum heph_naming { HEPH_NAMES_EVENT, HEPH_NAMES_PROCESS, HEPH_NAMES_THREAD };
/* The value of the mark `kind`, by enum heph_naming. */
extern const char *const heph_naming_words[HEPH_NAMES_THREAD + 1];

/* What the marks of an event say. */
struct heph_marks {
	const uint8_t *cat; /* in the packet */
	uint64_t id;
	uint16_t cat_len;
	uint16_t flags, cpu;
	uint8_t kind;
	uint8_t seen; /* 1 << enum heph_mark */
};

/* Returns true if the name of the attribute at q begins like that of a mark. */
static inline bool heph_is_mark(const uint8_t *q, const uint8_t *end)
{
	/* The length of the name, "spur.", and one byte more. */
	const uint64_t wanted = 0x0000737075722E00u;

	return (size_t)(end - q) > HEPH_ATTR_HEAD + HEPH_MARK_PREFIX &&
	       __builtin_expect((be64(q) & 0x0000FFFFFFFFFF00u) == wanted, 0);
}

/* Out of line half of the next. */
enum heph_naming heph_naming_slow(const uint8_t *q, const uint8_t *end);

/* What an event without a length names whose attributes are the bytes from q to `end`. */
static inline enum heph_naming heph_naming(const uint8_t *q, const uint8_t *end)
{
	return heph_is_mark(q, end) ? heph_naming_slow(q, end) : HEPH_NAMES_EVENT;
}

/*
 * Reads the marks at *q, and moves *q to the attribute after them. An attribute that is no valid
 * mark, or a second one of its name, ends them. `lasts`: the event's end is after its start; then
 * only SAMPLE and LOST are valid kinds.
 */
void heph_marks_read(const uint8_t **q, const uint8_t *end, bool lasts, struct heph_marks *m);

#endif
