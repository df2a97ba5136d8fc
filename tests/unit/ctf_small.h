/*
 * A small kind of CTF 1.8 for tests: packets with every value that a head can have, events `e` (id
 * 0, a byte) and `f` (id 1, a string). What the metadata says beside that is the test's.
 */
#ifndef TESTS_UNIT_CTF_SMALL_H
#define TESTS_UNIT_CTF_SMALL_H

#include "unit/ctf_dir.h"

#define UUID "00112233-4455-6677-8899-aabbccddeeff"

/* `more`: other blocks; `clock`: attributes of the clock; `events`: further ones. */
#define SMALL_UUID(order, uuid, more, clock, events)                                           \
	"/* CTF 1.8 */ typealias integer { size = 8; } := u8; typealias integer { size = 16; " \
	"align = 8; } := u16; typealias integer { size = 32; align = 8; } := u32; typealias "  \
	"integer { size = 64; align = 8; } := u64;\n"                                          \
	"trace { major = 1; minor = 8; byte_order = " order "; uuid = \"" uuid                 \
	"\"; packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; u32 "            \
	"stream_instance_id; }; };\n" more "clock { name = c; " clock " };\n"                  \
	"typealias integer { size = 64; align = 8; map = clock.c.value; } := time;\n"          \
	"stream { id = 3; packet.context := struct { time timestamp_begin; time "              \
	"timestamp_end; u32 content_size; u32 packet_size; u8 events_discarded; u8 "           \
	"packet_seq_num; u16 cpu_id; }; event.header := struct { u8 id; integer { size = 16; " \
	"align = 8; map = clock.c.value; } timestamp; }; };\n"                                 \
	"event { name = e; id = 0; stream_id = 3; fields := struct { u8 v; }; };\n"            \
	"event { name = f; id = 1; stream_id = 3; fields := struct { string s; }; };\n" events
#define SMALL(more, clock, events) SMALL_UUID("le", UUID, more, clock, events)
#define PLAIN SMALL("", "", "")

enum {
	AT_MAGIC = 0,
	AT_UUID = 4,
	AT_CLASS = 20,
	AT_INSTANCE = 24,
	AT_BEGIN = 28,
	AT_END = 36,
	AT_CONTENT = 44,
	AT_SIZE = 48,
	AT_DISCARDED = 52,
	AT_SEQUENCE = 53,
	AT_CPU = 54,
	BODY = 56,
};

static size_t packet_at; /* where the current packet begins in `bytes` */

/* Begins a packet; its sizes are set when it ends. */
static inline void packet(uint64_t begin, uint64_t end, unsigned sequence)
{
	packet_at = bytes.len;
	u32(0xC1FC1FC1);
	for (unsigned i = 0; i < 16; i++)
		u8(i * 0x11);
	u32(3);
	u32(0);
	u64(begin);
	u64(end);
	u32(0);
	u32(0);
	u8(0);
	u8(sequence);
	u16(1);
}

static inline void event(unsigned time, unsigned v)
{
	u8(0);
	u16(time);
	u8(v);
}

static inline void text_event(unsigned time, const char *s)
{
	u8(1);
	u16(time);
	raw(s, strlen(s) + 1);
}

/* Ends the packet, with that many bytes behind its content. */
static inline void packet_end(size_t padding)
{
	const size_t size = bytes.len - packet_at;

	set(packet_at + AT_CONTENT, 8 * size, 4);
	zeros(padding);
	set(packet_at + AT_SIZE, 8 * (size + padding), 4);
}

/* Sets something in the header of the current packet. */
static inline void head(size_t at, uint64_t v, unsigned size)
{
	set(packet_at + at, v, size);
}

#endif
