/*
 * Raw records: where an event stands in its stream, its bytes and its ticks.
 * Included by <spur.h>.
 */
#ifndef SPUR_PLACE_H
#define SPUR_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include <spur/error.h>
#include <spur/event.h>

#ifdef __cplusplus
extern "C" {
#endif

struct spur_trace;

/*
 * The place of an event's raw record. The bytes belong to the trace and stay valid until
 * spur_close(). If several records make one event (a span of two), this is the place of the row's
 * own record.
 */
struct spur_place {
	uint32_t stream;
	uint32_t origin;
	uint64_t off; /* offset of the record's first byte in the stream */
	uint64_t len; /* in bytes, including those shared with neighbouring records */
	uint64_t bits; /* length in bits; 8 * len if records begin and end at bytes */
	uint8_t first_bit; /* first bit in the first byte, 0 to 7, in the stream's bit order */
	const uint8_t *raw; /* the `len` bytes; NULL: not available */
};

/*
 * Finds the raw record of an event of this trace.
 * Returns: SPUR_OK; SPUR_FAIL, with *place zero, if out of memory.
 * Lifetime: the bytes are valid until spur_close().
 * Threads: any thread.
 */
enum spur_status spur_place(struct spur_trace *t, const struct spur_event *ev,
			    struct spur_place *place);
/*
 * The raw times of an event's record, in ticks of its origin's clock: begin and end of a SPAN, else
 * the same number twice.
 * Returns: true; false, with both 0, if the record has no raw time.
 * Threads: any thread.
 */
bool spur_ticks(struct spur_trace *t, const struct spur_event *ev, uint64_t ticks[2]);

#ifdef __cplusplus
}
#endif
#endif
