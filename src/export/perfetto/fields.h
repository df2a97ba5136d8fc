/*
 * Field numbers of the Perfetto trace format (a stream of protobuf messages, as
 * perfetto/trace/trace_packet.proto and the messages that it includes define them), as far as the
 * writer uses them, and the encoding of protobuf.
 *
 *	field          a varint of number << 3 | wire type, then:
 *	wire type 0    a varint: seven bits a byte, the lowest first, bit 7 set in all but the last
 *	wire type 1    eight bytes, little endian
 *	wire type 2    a varint length, then that many bytes: text, or a message
 */
#ifndef SPUR_EXPORT_PERFETTO_FIELDS_H
#define SPUR_EXPORT_PERFETTO_FIELDS_H

#include <stdint.h>

enum pb_wire { PB_VARINT, PB_FIXED64, PB_BYTES };

enum {
	TRACE_PACKET = 1,

	/* TracePacket */
	PACKET_FTRACE_EVENTS = 1,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_ANDROID_LOG = 39,
	PACKET_TRACK_DESCRIPTOR = 60,

	SEQUENCE_CLEARED = 1, /* interned ids begin anew */
	SEQUENCE_NEEDS_STATE = 2, /* the packet refers to interned ids */

	/* ClockSnapshot, ClockSnapshot.Clock */
	SNAPSHOT_CLOCK = 1,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	CLOCK_REALTIME_ID = 1,
	CLOCK_BOOTTIME_ID = 6, /* of packets that name no clock */

	/* TrackDescriptor */
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT_UUID = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,

	/* TrackEvent */
	EVENT_CATEGORY_IID = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
	EVENT_COUNTER_VALUE = 30,
	EVENT_DOUBLE_COUNTER_VALUE = 44,
	EVENT_FLOW_ID = 47, /* fixed64 */
	EVENT_TERMINATING_FLOW_ID = 48, /* fixed64 */

	TYPE_SLICE_BEGIN = 1,
	TYPE_SLICE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,

	/* DebugAnnotation */
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5, /* fixed64 */
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_JSON = 9,
	ANNOTATION_DICT = 11, /* a DebugAnnotation each */
	ANNOTATION_ARRAY = 12,

	/* InternedData; EventCategory, EventName, DebugAnnotationName */
	INTERNED_CATEGORY = 1,
	INTERNED_NAME = 2,
	INTERNED_ANNOTATION = 3,
	INTERNED_IID = 1,
	INTERNED_TEXT = 2,

	/* FtraceEventBundle, FtraceEvent, SchedSwitchFtraceEvent, SchedWakeupFtraceEvent */
	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	FTRACE_TIMESTAMP = 1,
	FTRACE_PID = 2,
	FTRACE_SWITCH = 4,
	FTRACE_WAKEUP = 17,
	SWITCH_PREV_COMM = 1,
	SWITCH_PREV_PID = 2,
	SWITCH_PREV_PRIO = 3,
	SWITCH_PREV_STATE = 4,
	SWITCH_NEXT_COMM = 5,
	SWITCH_NEXT_PID = 6,
	SWITCH_NEXT_PRIO = 7,
	STATE_RUNNABLE = 0,
	STATE_SLEEPING = 1,
	WAKEUP_COMM = 1,
	WAKEUP_PID = 2,
	WAKEUP_PRIO = 3,
	WAKEUP_SUCCESS = 4,
	WAKEUP_CPU = 5,
	PRIO_NORMAL = 120,

	/* AndroidLogPacket, AndroidLogPacket.LogEvent */
	LOG_EVENT = 1,
	LOG_PID = 2,
	LOG_TID = 3,
	LOG_TIMESTAMP = 5,
	LOG_TAG = 6,
	LOG_PRIO = 7,
	LOG_MESSAGE = 8,
	LOG_PRIO_INFO = 4,
};

#endif
