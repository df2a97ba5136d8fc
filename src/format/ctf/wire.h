/*
 * CTF as it is stored and sent: magic numbers and layouts that no metadata describes. What packets
 * of data and events look like, metadata says; the tables below that have "usual" in their heading
 * are what LTTng declares there.
 *
 * Offsets and sizes are in bytes unless a table says bits. LE and BE are byte orders; "own" is that
 * of the producer, which the magic number tells.
 *
 * Metadata in packets, CTF 1.8 (SPEC ctf-tsdl/packet-header), own order; sizes in bits, header
 * included:
 *
 *	off  size  field
 *	  0     4  magic                75D11D57
 *	  4    16  uuid                 of the trace
 *	 20     4  checksum             0: none
 *	 24     4  content_size
 *	 28     4  packet_size          content_size and padding
 *	 32     1  compression_scheme   0: none
 *	 33     1  encryption_scheme    0: none
 *	 34     1  checksum_scheme      0: none
 *	 35     1  major                1
 *	 36     1  minor                8
 *	 37        text
 *
 * Metadata in packets, CTF 2 (SPEC ctf-tsdl/packet-header-2): the same with major 2, and after it
 *
 *	 37     3  reserved
 *	 40     4  header_size          bits, 352 or more
 *	 44        text
 *
 * Packet of the RFC v1.1, of metadata as of data (SPEC ctf-v11/packet-header), own order; sizes in
 * bytes:
 *
 *	  0     4  magic                C1FC1FC1
 *	  4     4  session_id
 *	  8     4  content_size
 *	 12     4  packet_size
 *	 16     4  checksum             of what is stored after the header
 *	 20     4  section_packet_count
 *	 24     8  timestamp_begin      cycles
 *	 32     8  timestamp_end
 *	 40     4  events_discarded
 *	 44     1  section_packet_count_bits
 *	 45     1  compression_scheme   enum ctf_wire_compression
 *	 46     1  encryption_scheme    enum ctf_wire_encryption
 *	 47     1  checksum_scheme      enum ctf_wire_checksum
 *	 48        events
 *
 * Usual header of a data packet (SPEC ctf/row-place), own order, by the metadata: u32 magic
 * C1FC1FC1, 16 bytes uuid, u32 stream_id, u64 stream_instance_id; then the context: u64
 * timestamp_begin, timestamp_end, content_size, packet_size, packet_seq_num, events_discarded (64
 * bits each, sizes in bits), u32 cpu_id.
 *
 * Usual event headers (SPEC ctf/event-id), LE, in bits; the highest id says that the long form
 * follows:
 *
 *	      compact   large
 *	off    size      size   field
 *	  0       5        16   id
 *	  5      27            timestamp        low bits of the clock
 *	 16                32   timestamp
 *	 32                48   end
 *
 * Index file of a stream (SPEC ctf/index-file), BE: a header, then an entry for each packet:
 *
 *	  0     4  magic                C1F1DCC1
 *	  4     4  major                1
 *	  8     4  minor                0 or 1
 *	 12     4  entry_size           bytes of an entry, 56 or more (minor 1: 72)
 *	 16        entries
 *
 *	  0     8  offset               of the packet in the stream file
 *	  8     8  packet_size          bits
 *	 16     8  content_size         bits
 *	 24     8  timestamp_begin      cycles
 *	 32     8  timestamp_end
 *	 40     8  events_discarded
 *	 48     8  stream_id            of the stream class
 *	 56     8  stream_instance_id   minor 1
 *	 64     8  packet_seq_num       minor 1
 *
 * Shared memory of a ring buffer of LTTng-UST (SPEC ctf/ring-buffer), own order; "at" are offsets:
 *
 *	  0    16  magic
 *	 16     8  length               of this header
 *	 24     2  byte order           1234
 *	 26     2  major
 *	 28     2  minor
 *	 30     1  word size
 *	 31     1  layout
 *	 32    44  at                   eleven u32: enum ctf_wire_ring_at
 *	 76     6  bytes                of those numbers, 4 or 8: enum ctf_wire_ring_bytes
 *	 84    12  stride               three u32: enum ctf_wire_ring_stride
 *	 96     8  size                 of the buffer
 *	104     8  subbuf               size of a sub-buffer
 *	112     8  count                of sub-buffers
 *	120     4  mode
 *
 * Viewer protocol of LTTng's relay daemon (SPEC ctf-live/command), TCP, BE: a question is
 *
 *	  0     8  size                 of what follows after these 16 bytes
 *	  8     4  command              enum ctf_wire_command
 *	 12     4  version              0
 *
 * then, by command, the question's and (->) the answer's numbers:
 *
 *	connect    u64 ~0, u32 major, u32 minor, u32 1 -> u64 id, u32 major, u32 minor, u32
 *	create     -> u32 status
 *	list       -> u32 count, sessions
 *	attach     u64 session, u64 0, u32 from -> u32 status, u32 count, streams
 *	streams    u64 session -> u32 status, u32 count, streams
 *	metadata   u64 stream -> u64 bytes, u32 status, the bytes
 *	index      u64 stream -> an index
 *	packet     u64 stream, u64 offset, u32 bytes -> u32 status, u32 bytes, u32 flags, the bytes
 *	detach     u64 session -> u32 status
 *
 *	session    u64 id, u32 timer_us, u32 viewers, u32 streams, 64 bytes host, 255 bytes name
 *	stream     u64 id, u64 trace, u32 is_metadata, 4096 bytes path, 255 bytes channel
 *	index      an index file's entry of minor 0, u32 status, u32 flags
 */
#ifndef SPUR_FORMAT_CTF_WIRE_H
#define SPUR_FORMAT_CTF_WIRE_H

#include <stdint.h>

#define CTF_WIRE_MAGIC UINT32_C(0xC1FC1FC1)
#define CTF_WIRE_METADATA_MAGIC UINT32_C(0x75D11D57)
#define CTF_WIRE_INDEX_MAGIC UINT32_C(0xC1F1DCC1)

enum {
	CTF_WIRE_UUID = 16,
	CTF_WIRE_METADATA_1 = 37, /* bytes of the header of a packet of metadata */
	CTF_WIRE_METADATA_2 = 44,
	CTF_WIRE_V11 = 48,
};

/* Schemes of the RFC v1.1. */
enum ctf_wire_compression { CTF_WIRE_BZIP2 = 1, CTF_WIRE_GZIP = 2 };
enum ctf_wire_encryption { CTF_WIRE_AES = 1, CTF_WIRE_AES_BLOCK = 16 };
enum ctf_wire_checksum { CTF_WIRE_MD5 = 1, CTF_WIRE_SHA1 = 2, CTF_WIRE_CRC32 = 3 };

/*
 * Usual event headers in their short forms: bytes of the header, bits of its time, the id of the
 * long form.
 */
enum {
	CTF_WIRE_COMPACT = 4,
	CTF_WIRE_COMPACT_TIME = 27,
	CTF_WIRE_COMPACT_LONG = 31,
	CTF_WIRE_LARGE = 6,
	CTF_WIRE_LARGE_TIME = 32,
	CTF_WIRE_LARGE_LONG = 65535,
};

enum {
	CTF_WIRE_INDEX = 16, /* bytes of an index file's header, and of its entries */
	CTF_WIRE_INDEX_ENTRY_0 = 56,
	CTF_WIRE_INDEX_ENTRY_1 = 72,
};

/* Bytes of a ring buffer's header, and places in it. */
enum {
	CTF_WIRE_RING = 124,
	CTF_WIRE_RING_MAGIC = 16,
	CTF_WIRE_RING_ORDER = 24,
	CTF_WIRE_RING_AT = 32,
	CTF_WIRE_RING_BYTES = 76,
	CTF_WIRE_RING_STRIDE = 84,
	CTF_WIRE_RING_SIZE = 96,
	CTF_WIRE_RING_SUBBUF = 104,
	CTF_WIRE_RING_COUNT = 112,
	CTF_WIRE_RING_IS_OWN = 0x1234,
};

enum ctf_wire_ring_at {
	RING_AT_PRODUCED,
	RING_AT_CONSUMED,
	RING_AT_COMMITS, /* array of commit counters */
	RING_AT_COMMIT, /* the counter in an element */
	RING_AT_NUMBERS,
	RING_AT_NUMBER,
	RING_AT_SUBBUFS,
	RING_AT_SUBBUF,
	RING_AT_BYTES, /* where a sub-buffer's bytes begin, in its element */
	RING_AT_CONTENT, /* sizes in a packet */
	RING_AT_PACKET,
	RING_ATS,
};

enum ctf_wire_ring_bytes {
	RING_BYTES_PRODUCED,
	RING_BYTES_CONSUMED,
	RING_BYTES_COMMIT,
	RING_BYTES_NUMBER,
	RING_BYTES_SUBBUF,
	RING_BYTES_BYTES,
	RING_BYTES,
};

enum ctf_wire_ring_stride {
	RING_STRIDE_COMMITS,
	RING_STRIDE_NUMBERS,
	RING_STRIDE_SUBBUFS,
	RING_STRIDES,
};

enum ctf_wire_command {
	CTF_WIRE_CONNECT = 1,
	CTF_WIRE_LIST = 2,
	CTF_WIRE_ATTACH = 3,
	CTF_WIRE_NEXT_INDEX = 4,
	CTF_WIRE_PACKET = 5,
	CTF_WIRE_METADATA = 6,
	CTF_WIRE_STREAMS = 7,
	CTF_WIRE_CREATE = 8,
	CTF_WIRE_DETACH = 9,
};

/* The viewer protocol: sizes in bytes, versions, and what a viewer asks for. */
enum {
	CTF_WIRE_PORT = 5344,
	CTF_WIRE_MAJOR = 2,
	CTF_WIRE_MINOR = 4, /* the lowest that every relay daemon speaks */
	CTF_WIRE_COMMANDS = 1, /* of connect: a connection for commands */
	CTF_WIRE_FROM_BEGIN = 1, /* of attach */
	CTF_WIRE_FROM_NOW = 2,
	CTF_WIRE_QUESTION = 16,
	CTF_WIRE_HOST = 64,
	CTF_WIRE_NAME = 255,
	CTF_WIRE_PATH = 4096,
	CTF_WIRE_SESSION = 20 + CTF_WIRE_HOST + CTF_WIRE_NAME,
	CTF_WIRE_STREAM = 20 + CTF_WIRE_PATH + CTF_WIRE_NAME,
	CTF_WIRE_LIVE_INDEX = 64,
};

#endif
