/*
 * What `spur record` and the library in the recorded program say to each other. The program knows
 * no names and reads no ELF files: for each module it asks `spur record` what to change in it, and
 * gets a plan.
 *
 * They speak over a socket (SOCK_SEQPACKET, mode 0600) whose path is in the variable SPUR_RECORD.
 * A message is a head of 16 bytes and a body; an answer has the same type. All is in the byte order
 * of the machine. If nothing answers, the program runs on and records what needs no plan.
 *
 *	type	from	body				answer
 *	HELLO	program	struct record_hello		struct record_settings
 *	MODULE	program	struct record_module, path	one descriptor: the plan (a sealed memfd),
 *							or an empty body: nothing to change
 *	DONE	program	struct record_done		none
 *	SAY	program	text for the user		none
 *
 * A plan is a struct plan_head, then functions, points, arguments, texts and conditions, each an
 * array at the offset and with the length that the head says. The program checks all of them before
 * it uses one.
 */
#ifndef SPUR_RECORD_WIRE_H
#define SPUR_RECORD_WIRE_H

#include <stdint.h>

enum { RECORD_VERSION = 3, RECORD_MESSAGE_MOST = 8192 };

enum record_type { RECORD_HELLO = 1, RECORD_MODULE, RECORD_DONE, RECORD_SAY };

struct record_message {
	uint32_t type; /* enum record_type */
	uint32_t size; /* of the body */
	uint64_t reserved;
};

struct record_hello {
	uint32_t version; /* RECORD_VERSION */
	uint32_t pid;
	uint64_t start_time; /* in clock ticks since boot */
};

enum record_flags {
	RECORD_FUNCTIONS = 1, /* ask for plans */
	RECORD_LIBRARY_CALLS = 2, /* plans have GOT slots */
	RECORD_STARTS_OFF = 4, /* a trigger or signal switches on */
};

struct record_settings {
	uint32_t version;
	uint32_t flags; /* enum record_flags */
	uint32_t mode; /* enum spb_mode */
	uint32_t depth; /* deepest call that is recorded; 0: any */
	uint64_t ring; /* bytes per thread of a ring, or in all of a oneshot */
	uint64_t least; /* ns: shorter calls are taken back; 0: none */
	uint32_t on_signal; /* switches recording on and off; 0: none */
	uint32_t counters; /* ms between readings of resource usage; 0: none */
	uint64_t keep_after; /* ns that a ring goes on before a snapshot of it is kept */
	uint32_t keeps; /* snapshots of a ring that each process keeps, at most 200 */
	uint32_t keep_signal; /* keeps one; 0: none */
};

/* A module as it is loaded. The path, ended by NUL, follows. */
struct record_module {
	uint64_t first, end; /* addresses in memory */
	uint64_t shift; /* address in memory - address in the file */
	uint8_t build_id[20];
	uint32_t build_id_size;
	uint32_t is_main; /* 1: the program itself */
	uint32_t reserved;
};

/* Counts at the end of the program, for the user. */
struct record_done {
	uint64_t patched, refused; /* points */
};

#define PLAN_MAGIC UINT64_C(0x314E4C5052555053) /* "SPURPLN1" */

struct plan_head {
	uint64_t magic, size;
	uint32_t functions, nfunctions; /* offset in bytes, number of items */
	uint32_t points, npoints;
	uint32_t args, nargs;
	uint32_t texts, ntexts; /* bytes of names, each ended by NUL */
	uint32_t conditions, nconditions;
	/* 1: functions without a point are left out; 0: those that call a hook are recorded. */
	uint32_t listed;
	uint32_t reserved;
};

/* How a point enters the library. */
enum plan_kind {
	/* 5 bytes of nops, or a call of __fentry__, at a function's start, r10 maybe kept around */
	PLAN_ENTRY = 1,
	PLAN_XRAY_ENTER, /* XRay sleds */
	PLAN_XRAY_EXIT,
	PLAN_XRAY_TAIL,
	PLAN_SLOT, /* a GOT slot that holds a function of another module */
	PLAN_MCOUNT, /* a call of mcount behind the prologue */
	PLAN_CALLED, /* entered by calls that stay; a function that is not listed is not recorded */
};

/* Sorted by address. */
struct plan_point {
	uint64_t address; /* in the file's address space */
	uint32_t function; /* index */
	uint8_t kind; /* enum plan_kind */
	uint8_t size; /* bytes that may be overwritten */
	uint16_t reserved;
};

enum plan_function_flags {
	PLAN_TRACE_ON = 1, /* entering it switches recording on */
	PLAN_TRACE_OFF = 2,
	PLAN_KEEP = 4, /* is kept though it is short */
	PLAN_HIDDEN = 8, /* triggers only: no record */
};

struct plan_function {
	uint64_t address; /* in the file's address space; 0: only the name is known */
	uint32_t name; /* offset in texts of the name for a function without an address, or 0 */
	uint32_t flags; /* enum plan_function_flags */
	uint32_t args; /* index of the first one */
	uint8_t nargs, nresults; /* results follow the arguments */
	uint16_t nconditions;
	uint64_t least; /* ns; 0: what the settings say */
	uint32_t conditions; /* index of the first one */
	uint32_t reserved;
};

/* When a call of a function has a snapshot of the ring kept. */
enum plan_when {
	PLAN_WHEN_LONGER = 1, /* it took longer than `value` ns */
	PLAN_WHEN_AS_LONG, /* it took `value` ns or longer */
	PLAN_WHEN_COUNT, /* it is call number `value` of the process */
};

struct plan_condition {
	uint64_t value;
	uint32_t text; /* offset in texts: the condition as the user wrote it */
	uint32_t when; /* enum plan_when */
};

/* Where a value is when the function is entered, or has returned. */
enum plan_place {
	PLAN_IN_INTEGER = 1, /* number of the argument's integer register; 0: rdi or rax */
	PLAN_IN_VECTOR, /* number of the vector register */
	PLAN_ON_STACK, /* bytes above the return address */
};

enum plan_read {
	PLAN_VALUE, /* the bytes at the place */
	PLAN_TEXT, /* a pointer to text that ends with 0 */
	PLAN_STD_STRING, /* a pointer to a std::string of libstdc++ */
	PLAN_MEMORY, /* a pointer to `size` bytes: a struct by reference */
};

struct plan_arg {
	uint32_t name; /* offset in texts */
	uint32_t offset; /* number of a register, or bytes */
	uint8_t place; /* enum plan_place */
	uint8_t read; /* enum plan_read */
	uint8_t type; /* enum spb_type */
	uint8_t size; /* bytes of the value: 1 to 255 */
	uint32_t reserved;
};

/*
 * Attaching: `spur record -p` loads the library into a program that runs, and calls what is
 * declared here in it. The library only says what is to be changed; the recorder changes it, with
 * all threads stopped, and back at the end.
 */
enum { ATTACH_VERSION = 2, ATTACH_SIZE = 11, ATTACH_CATEGORIES = 1024 };

struct attach_request {
	uint32_t version; /* ATTACH_VERSION */
	uint32_t recorder; /* its process */
	uint32_t mode; /* enum spb_mode */
	uint32_t chooses; /* 1: `categories` counts */
	uint64_t size; /* of the mode */
	char socket[112], directory[4096], categories[ATTACH_CATEGORIES]; /* ended by NUL */
};

/* Bytes of the program that are changed. */
struct attach_change {
	uint64_t address;
	uint8_t size; /* at most ATTACH_SIZE; 0: it has gone with its module */
	uint8_t is_code;
	uint8_t before[ATTACH_SIZE], after[ATTACH_SIZE];
};

/* What the recorder reads of the library while all threads are stopped. */
struct attach_state {
	uint32_t version; /* ATTACH_VERSION */
	uint32_t busy; /* the changes are being listed: they are not complete */
	uint32_t recording; /* 1: from an attach, or from the program's start */
	/*
	 * The process that attached; 0: none. It clears that itself in a child of fork() that it
	 * has changed back, and in which the library has not begun yet.
	 */
	uint32_t recorder;
	/* Address and number of struct attach_change. The last ones stay until the next attach. */
	uint64_t changes, nchanges;
	uint32_t process; /* of the recording; another one's in a child until the library begins */
	uint32_t reserved;
};

/* The library's symbols: the state, and functions that return 0 or an errno. */
#define ATTACH_STATE "spur_record_state"
#define ATTACH_BEGIN "spur_record_attach" /* int (const struct attach_request *) */
#define ATTACH_END "spur_record_detach" /* int (void), when what was changed is as it was */

#endif
