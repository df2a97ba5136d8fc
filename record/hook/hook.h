/*
 * Function hooks: what a traced program's functions come through. docs/formats/spur.md specifies
 * the records; wire.h the plan that says which functions have hooks, and how they are entered.
 *
 * A hook that moves a call's return address puts it into the mirror, a mapping at a fixed distance
 * from the stack. So the unwinder finds it by a constant rule, and longjmp(), fibers and exceptions
 * leave nothing to repair. Each stack also has an array of the calls that are open on it, with
 * their places on the stack: a call whose place has been passed has ended without a return.
 *
 * enter.S has the way of an event as long as nothing is out of the ordinary. All else is C, in the
 * files that are compiled for general registers alone, since a hook may be entered at any function:
 * there vector registers hold arguments and results. What may use them runs in hook_guarded().
 */
#ifndef SPUR_RECORD_HOOK_H
#define SPUR_RECORD_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core.h"
#include "../wire.h"

#define HOOK __attribute__((visibility("hidden")))

/*
 * As in enter.S. A mirror with the same low 12 bits makes the CPU wait needlessly. HOOK_CALL_BACK:
 * bytes in a thunk from where hook_call_enter returns to where the function does.
 */
enum { HOOK_MIRROR_BIT = 46, HOOK_MIRROR_OFFSET = 0x840, HOOK_CALL_BACK = 7 };
/* Of a hash of addresses: its high half counts. */
static const uint64_t HOOK_LIST_FACTOR = UINT64_C(0x9E3779B97F4A7C15);

/* A call that is open. */
struct hook_call {
	/*
	 * Its place: bytes above the low end of the stack. 0 in an item that is not in use: so one
	 * that a hook has taken and not filled is no call to a handler that interrupts the hook.
	 */
	uint32_t key;
	uint32_t before; /* key of the call around it; of the first one the stack's size */
	uint64_t what; /* HOOK_BY_ADDRESS and an address, or the word of its ENTER record */
	uint64_t ticks; /* when it was entered, if calls are timed */
	/*
	 * In full mode its ENTER or TAIL record, which may be taken back; NULL: not. Else the
	 * function of calls that end by its address.
	 */
	char *record;
};

static const uint64_t HOOK_BY_ADDRESS = UINT64_C(1) << 63;
/* It was not recorded, so its end is not either. */
static const uint64_t HOOK_HIDDEN = UINT64_C(1) << 62;

/* What a thread has. The first fields are those of enter.S. */
struct hook_thread {
	uint64_t low; /* address of the low end of the stack */
	uint64_t span; /* key of the innermost call; 0: all go the slow way */
	struct hook_call *top, *limit; /* one behind the innermost call; the array's end */
	char *slow_stack; /* its high end; for slow ways; NULL: none, or in use */
	uint64_t size; /* of the stack */
	uint64_t alternate; /* 1: it is one for signals */
	/* The alternate stack that the system has, which may lie in the thread's own. */
	uint64_t signal_low, signal_size;
	uint64_t key; /* `span` where that is 0 */
	struct hook_stack *stack; /* that runs */
	char *slow_memory; /* NULL: not asked for yet */
	uint64_t slow_size; /* of that */
	uint64_t fiber; /* that was recorded last */
	/* Where on the program's stack a hook was entered that takes a page now; 0: none does. */
	uint64_t paging;
	uint32_t recording; /* as `hook_recording` when its last call began */
	bool full; /* `key` counts */
};

_Static_assert(sizeof(struct hook_call) == 32 && offsetof(struct hook_call, before) == 4 &&
		       offsetof(struct hook_call, what) == 8 &&
		       offsetof(struct hook_call, record) == 24,
	       "as in enter.S");
_Static_assert(offsetof(struct hook_thread, span) == 8 &&
		       offsetof(struct hook_thread, top) == 16 &&
		       offsetof(struct hook_thread, limit) == 24 &&
		       offsetof(struct hook_thread, slow_stack) == 32 &&
			       offsetof(struct hook_thread, size) == 40 &&
		       offsetof(struct hook_thread, alternate) == 48 &&
		       offsetof(struct hook_thread, signal_low) == 56 &&
		       offsetof(struct hook_thread, signal_size) == 64,
	       "as in enter.S");

extern HOOK __thread struct hook_thread hook_here __attribute__((tls_model("initial-exec")));

/* Registers of the program, as enter.S stores them, and what lies above. */
struct hook_regs {
	uint64_t rbp, rsi, rdi, r8, r9, ret, r10, r11, rcx, rdx, rax;
	uint64_t rest[];
};

/* --- enter.S --- */

extern HOOK char hook_enter[], hook_exit[], hook_enter_full[], hook_exit_full[];
extern HOOK char hook_xray_enter[], hook_xray_exit[], hook_xray_tail[];
extern HOOK char hook_call_enter[], hook_ret[];
/* Calls a function with all vector registers saved. */
HOOK void hook_guarded(void (*call)(void *), void *arg);
/* A child of clone() begins its own recording with the first hook. Returns false, for enter.S. */
HOOK bool hook_look_orphan(void);
/* Bytes that the vector registers take in memory, and which of them there are. */
extern HOOK uint64_t hook_vectors_size, hook_vectors_mask;

/* --- call.c: calls that are entered and left --- */

/* Of all functions; set before the first hook is entered. */
struct hook_settings {
	uint32_t depth; /* deepest call that is recorded; 0: any */
	uint64_t least; /* ticks; shorter calls are taken back */
	bool full; /* every call goes the slow way */
};
extern HOOK struct hook_settings hook_settings;
extern HOOK uint32_t hook_switch; /* 1: calls that are entered are recorded */
extern HOOK uint32_t hook_lists; /* 1: hooks that the code itself calls look into lists */
/* Calls below `target`, the stack pointer that is to be, end without a return. */
HOOK void hook_left(uint64_t target);
/* The same for a jump, which a signal handler may make that has interrupted a hook. */
HOOK void hook_jumped(uint64_t target);
/* The thread ends, and all its calls do. */
HOOK void hook_thread_end(struct hook_thread *t);
/* Ends the calls of the stack that runs whose places are below `key`. */
HOOK void hook_unwind(struct hook_thread *t, uint64_t key);

/* In full mode `span` is always 0. */
static inline uint64_t hook_key(const struct hook_thread *t)
{
	return t->full ? t->key : t->span;
}

static inline void hook_key_set(struct hook_thread *t, uint64_t key)
{
	if (t->full)
		t->key = key;
	else
		t->span = key;
}

/* --- record.c: records --- */

/* The number of recordings that were attached. */
extern HOOK uint32_t hook_recording;

HOOK uint64_t hook_ticks(void);
/* A record with a payload of `size` bytes, a multiple of 8. Returns its place, or NULL. */
HOOK char *hook_record(uint32_t kind, uint32_t id, const uint64_t *payload, uint64_t size,
		       uint64_t ticks);
/* Takes a record of that time back if it is the thread's last one. Returns its kind, else 0. */
HOOK uint32_t hook_take_back(char *record, uint64_t ticks);

/* --- stack.c: stacks, and their mirrors --- */

struct hook_stack {
	struct hook_stack *next;
	uint64_t low, high;
	uint64_t key; /* while another stack runs */
	struct hook_call *base, *top, *limit; /* `top`: while another one runs */
	struct hook_call *most; /* that `limit` can be where the array is */
	uint64_t size; /* that a stack may have whose calls are in the array */
	uint64_t hidden; /* calls that are open and were not recorded */
	uint64_t fiber; /* 0: not a fiber's */
	struct hook_thread *running; /* the last thread that ran it */
	bool any; /* any thread may run it */
	bool alternate; /* for signals */
	bool mirrored;
	bool described;
	bool full; /* no call has the address of its function in `record` */
	struct hook_stack *before; /* of an alternate one: that was interrupted */
};

/* No handler runs in the thread from here on. Returns what hook_signals_restore() takes. */
HOOK uint64_t hook_signals_block(void);
HOOK void hook_signals_restore(uint64_t before);

/*
 * Makes the stack that has the address the current one. Returns false if that cannot be known, or
 * memory is refused.
 */
static inline bool hook_stack_at(struct hook_thread *t, uint64_t address);
HOOK bool hook_stack_find(struct hook_thread *t, uint64_t address);
/* The same if it is the one that signal handlers run on now. */
HOOK bool hook_stack_alternate(struct hook_thread *t, uint64_t address);
/* From a signal handler's stack, which has no more calls, to that before. */
HOOK void hook_stack_back(struct hook_thread *t);
/* From here on all its calls go the slow way. */
HOOK void hook_stack_full(struct hook_stack *s, const struct hook_call *top);
/* Makes room for more calls. */
HOOK bool hook_stack_grow(struct hook_thread *t);
/* The slow way of this thread was left by a jump: its stack is free again. */
HOOK void hook_stack_slow_free(struct hook_thread *t);
/* The thread has that alternate stack for signals now. */
HOOK void hook_stack_signals(const stack_t *s);
/*
 * A fiber gives way to another one, by their stack pointers. It may do so in a signal handler that
 * has interrupted a hook: that finds its own stack again when the fiber goes on.
 */
HOOK void hook_stack_swap(uint64_t from, uint64_t to);
/* A fiber will run on that memory. */
HOOK void hook_stack_fiber(uint64_t low, uint64_t size);
/* The thread has ended. */
HOOK void hook_stack_drop(struct hook_thread *t);
HOOK void hook_stacks_forked(void);
/* The thread's innermost call is its first one in a recording: those around it are forgotten. */
HOOK void hook_stacks_begin(struct hook_thread *t);

static inline bool hook_stack_at(struct hook_thread *t, uint64_t address)
{
	return address - t->low < t->size || hook_stack_find(t, address);
}

static inline uint64_t *hook_mirror(uint64_t slot)
{
	return (uint64_t *)((slot ^ UINT64_C(1) << HOOK_MIRROR_BIT) + HOOK_MIRROR_OFFSET);
}

/* --- function.c: functions of plans --- */

struct hook_function {
	const struct plan_function *plan;
	const struct plan_arg *args;
	uint64_t least; /* ticks */
	const struct plan_condition *conditions;
	const char *texts; /* of the plan */
	uint64_t calls; /* so far, if there are conditions; atomic */
};

/* Ticks in a number of ns. */
HOOK uint64_t hook_ticks_of(uint64_t ns);
/* Returns NULL if the number has no plan. */
HOOK const struct hook_function *hook_function(uint32_t number);
/* Describes the functions of a plan. Returns the number of the first; 0: there is no room. */
HOOK uint32_t hook_functions_add(const struct plan_head *p, uint64_t shift, uint32_t module);
/* The same functions serve another time: no call of them is counted yet. */
HOOK void hook_functions_again(uint32_t first, uint32_t n);
/*
 * The functions that call hooks themselves: those of the range are recorded only if they are
 * listed. `address`: any in the function that the hook may see.
 */
HOOK bool hook_list_range(uint64_t first, uint64_t end);
HOOK bool hook_list_add(uint64_t address, uint32_t number);
static const uint32_t HOOK_UNLISTED = UINT32_MAX;
/* The function's number, 0 if its range has no list, or HOOK_UNLISTED. */
HOOK uint32_t hook_listed(uint64_t address);
/* The range has gone. */
HOOK void hook_list_forget(uint64_t first, uint64_t end);

/* --- keep.c: what has snapshots of the ring kept --- */

/* Before the first hook is entered: see struct record_settings. */
HOOK void hook_keep_begin(const struct record_settings *s);
/* Has a snapshot kept and records that; `why`: as the user wrote it. Safe in signal handlers. */
HOOK void hook_keep(const char *why, uint64_t ticks);
/* A call of a function that has conditions begins. */
HOOK void hook_keep_entered(const struct hook_function *f);
/* It ends, `took` ticks after it began. */
HOOK void hook_keep_left(const struct hook_function *f, uint64_t took, uint64_t ticks);

/* --- args.c: arguments and results --- */

enum { HOOK_VALUES_MOST = 2048, HOOK_ARGS_MOST = 64 };
/*
 * Stores the values, at most HOOK_VALUES_MOST bytes, and returns their size, a multiple of 8.
 * `stack`: where the return address is; 0: results.
 */
HOOK uint32_t hook_values(const struct plan_arg *a, unsigned n, const struct hook_regs *r,
			  uint64_t stack, uint64_t *to);

/* --- leave.c --- */

/* Of hooks, for unwinders: ends the call that is unwound. */
HOOK int hook_personality(int version, int actions, uint64_t class, void *exception, void *context);

/* --- thunk.c --- */

/* frames.c draws which instructions of thunks they are for. */
enum hook_rule {
	HOOK_AT_CALL,
	HOOK_AT_PUSHED,
	HOOK_AT_FRAME,
	HOOK_AT_DECISION,
	HOOK_AT_RETURN,
	HOOK_AT_EXIT,
	HOOK_RULES,
};

enum { HOOK_RULE_MOST = 48 };

/* How to unwind. */
struct hook_table {
	uint8_t head[16]; /* as .eh_frame_hdr */
	uint8_t frames[112]; /* as .eh_frame */
};

struct hook_area {
	struct hook_area *next;
	uint64_t first, end; /* of thunks */
	uint64_t at, islands;
	struct hook_table tables[HOOK_RULES];
};

/* An area near [first, end) with room for n thunks, which can be written. NULL: none. */
HOOK struct hook_area *hook_area_new(uint64_t first, uint64_t end, uint32_t n);
/* Makes it executable. Returns false if that is refused; then the area is gone. */
HOOK bool hook_area_done(struct hook_area *a);
/* A thunk that enters `body` with an ENTER record of that number. */
HOOK uint64_t hook_thunk(struct hook_area *a, uint32_t number, uint64_t body, bool full);
/* The body that a thunk enters. */
HOOK uint64_t hook_thunk_body(uint64_t thunk);
/* One that a function jumps to when its frame is set up, in place of a call of mcount. */
HOOK uint64_t hook_thunk_call(struct hook_area *a, uint32_t number, uint64_t body, bool full);
/* An address near the module from where `to` is entered. */
HOOK uint64_t hook_island(struct hook_area *a, const char *to);
/* True if a return address is that of a hook. */
HOOK bool hook_is_thunk(uint64_t address);
HOOK const struct hook_area *hook_area_of(uint64_t address);
/* How to unwind from that address in the area, which may be one byte before a return address. */
HOOK enum hook_rule hook_thunk_rule(const struct hook_area *a, uint64_t address);

/* --- frames.c --- */

/* Describes the area's frames to unwinders. */
HOOK void hook_frames_write(struct hook_area *a);
/* The head of the table for an address in the area. */
HOOK const uint8_t *hook_frames(const struct hook_area *a, uint64_t address);

/* --- patch.c --- */

/*
 * A plan that a module was changed by. If the module is to be changed by the same plan again, its
 * functions keep their numbers and its thunks serve again.
 */
struct hook_planned {
	struct hook_planned *next;
	const struct plan_head *plan;
	uint32_t first; /* number of function 0 */
	bool made; /* the thunks are there */
	uint64_t targets[]; /* where each point leads then; 0: it stays */
};

enum { HOOK_MARK_SIZE = 5 }; /* bytes of a jump */

/* Modules that have gone stay in the list, as they may come again at the same place. */
struct hook_module {
	struct hook_module *next;
	struct hook_planned *planned;
	uint64_t first, end, shift;
	uint64_t relro_first, relro_end;
	uint32_t number; /* 0: not described, or unloaded */
	uint32_t seen;
	bool there;
	bool changed; /* as its plan says, in this recording */
	bool main;
	const uint8_t *mark; /* where it was changed first, if at once; NULL: nowhere */
	uint8_t marked[HOOK_MARK_SIZE]; /* what is there then, unless it was loaded anew */
	uint64_t dynamic; /* address of its dynamic section; 0: none */
	uint8_t build_id[20];
	uint32_t build_id_size;
	char path[4096];
};

struct hook_counts {
	uint64_t patched, refused;
};
extern HOOK struct hook_counts hook_counts;

HOOK void hook_patch(struct hook_module *m, struct hook_planned *g);
/* Changes a slot of the module. Returns false if that is refused. */
HOOK bool hook_slot_write(const struct hook_module *m, uint8_t *at, uint64_t to);
/* The same for good: it is not listed, and written at once. */
HOOK bool hook_slot_write_now(const struct hook_module *m, uint8_t *at, uint64_t to);
/*
 * In a program that was attached to: lists what is about to be changed. Returns false if it cannot,
 * then nothing is changed. NULL: nothing is listed.
 */
extern HOOK bool (*hook_changes)(uint8_t *at, const void *to, unsigned size, bool is_code);
/* What is listed is changed by the recorder later, with all threads stopped. */
extern HOOK bool hook_deferred;

/* --- replace.c, which the static library lacks --- */

/* The function of that name that a module calls; 0: not found. */
HOOK uint64_t hook_symbol(const char *path, const char *name) __attribute__((weak));

typedef void *(*hook_find_function)(void *module, const char *name);
/* The linker's own functions. */
HOOK hook_find_function hook_real_dlsym(void);
HOOK void *(*hook_real_dlopen(void))(const char *name, int flags);

/* --- module.c --- */

/* True for addresses in this library. */
HOOK bool hook_is_own(uint64_t address);
/* Looks which modules are new, and which have gone. */
HOOK void hook_modules(void);
/*
 * Has a function handle a signal; 0: none. Returns false if that is not possible. A recording that
 * was attached gives it back at its end.
 */
HOOK bool hook_signal_take(uint32_t number, void (*handler)(int));
/* The first time: what the recorder wants, and all modules that are loaded. */
HOOK void hook_begin(void);
/* The same in a program that runs already. Returns 0 or an errno. */
HOOK int hook_begin_attached(void);
/* The recording has ended: nothing of the modules is known, and no signal is taken. */
HOOK bool hook_end_attached(void);
/* What the recorder reads if it attaches; `busy` is the lock of the modules. */
extern struct attach_state spur_record_state __attribute__((visibility("protected")));
/* Called with each module that is found; NULL: nothing. */
extern HOOK void (*hook_module_found)(const struct hook_module *m);
/* A module has gone; NULL: nothing. */
extern HOOK void (*hook_module_gone)(uint64_t first, uint64_t end);
/* Called in the child of fork(), when its recording has begun; NULL: nothing. */
extern HOOK void (*hook_child_begun)(void);

/* --- talk.c: to `spur record` --- */

/* Where the recorder is; NULL: as the environment says. */
extern HOOK const char *hook_socket;
/* Returns false if nothing answers. */
HOOK bool hook_hello(struct record_settings *s);
/* The plan of a module, or NULL: nothing is to be changed. */
HOOK const struct plan_head *hook_plan(const struct hook_module *m);
HOOK void hook_plan_free(const struct plan_head *p);
/* Tells the user, at the latest when the recorder ends. */
HOOK void hook_say(const char *a, const char *b);
/* Tells that this process, the child of fork(), is not recorded, and why, an errno. */
HOOK void hook_unrecorded(int why);
/* Tells if the system has refused what the recording's file needs to grow. */
HOOK void hook_refused(void);
HOOK void hook_done(void);
HOOK void hook_hang_up(void);

#endif
