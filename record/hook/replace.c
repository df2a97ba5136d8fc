/*
 * Functions of other libraries that would see hooks, or that say how calls end. Only in the shared
 * library: each finds the one that it replaces.
 */
#include "hook.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unwind.h>

enum { JMP_BUF_RSP = 6, JMP_BUF_ROTATED = 17 };

/* --- the linker --- */

HOOK bool hook_may_wrap(const char *name);

/* The version that all of glibc's have on this machine. */
static void *linker_find(const char *name)
{
	return dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
}

hook_find_function hook_real_dlsym(void)
{
	static hook_find_function real;

	if (!real)
		real = (hook_find_function)linker_find("dlsym");
	return real;
}

void *(*hook_real_dlopen(void))(const char *name, int flags)
{
	static void *(*real)(const char *, int);

	if (!real)
		real = (void *(*)(const char *, int))linker_find("dlopen");
	return real;
}

/*
 * A path is found without knowing the caller: then dlopen() is called from here, and what it loaded
 * is known at once. A mere name is looked for where the caller says, so the linker has to see it.
 */
bool hook_may_wrap(const char *name)
{
	return name && strchr(name, '/') && !strchr(name, '$');
}

/* The next definition of a name. */
static void *next(void **known, const char *name)
{
	if (!*known)
		*known = hook_real_dlsym()(RTLD_NEXT, name);
	return *known;
}

uint64_t hook_symbol(const char *path, const char *name)
{
	void *found = hook_real_dlsym()(RTLD_DEFAULT, name), *module;

	if (!found && (module = hook_real_dlopen()(path, RTLD_LAZY | RTLD_NOLOAD))) {
		found = hook_real_dlsym()(module, name);
		dlclose(module);
	}
	return (uint64_t)found;
}

int dlclose(void *module)
{
	static void *real;
	const int result = ((int (*)(void *))next(&real, "dlclose"))(module);

	hook_modules();
	return result;
}

/* --- the unwinder --- */

/* As <dlfcn.h> has it where the linker has the function. */
struct found_object {
	unsigned long long flags;
	void *first, *end;
	struct link_map *map;
	void *frames;
	unsigned long long reserved[7];
};

int object_find(void *address, struct found_object *to) __asm__("_dl_find_object");

/* Unwinders ask this for what was not registered with them, as those that are linked statically. */
int object_find(void *address, struct found_object *to)
{
	static void *real;
	const struct hook_area *const a = hook_area_of((uint64_t)address);

	if (a) {
		memset(to, 0, sizeof(*to));
		to->first = (void *)a->first;
		to->end = (void *)a->end;
		to->frames = (void *)(uintptr_t)hook_frames(a, (uint64_t)address);
		return 0;
	}
	if (!next(&real, "_dl_find_object"))
		return -1;
	return ((int (*)(void *, struct found_object *))real)(address, to);
}

static bool is_hidden(const void *address)
{
	return hook_is_own((uint64_t)address) || hook_area_of((uint64_t)address);
}

struct frames {
	_Unwind_Trace_Fn each;
	void *arg;
};

struct unwinder {
	void *backtrace, *address, *stack_pointer;
};

/* Finds the functions of the unwinder. Returns NULL if it is missing. */
static const struct unwinder *unwinder(void)
{
	static struct unwinder u;

	if (!next(&u.backtrace, "_Unwind_Backtrace") || !next(&u.address, "_Unwind_GetIP") ||
	    !next(&u.stack_pointer, "_Unwind_GetCFA")) {
		/* It was loaded for another library alone, or is not there yet. */
		void *const module = dlopen("libgcc_s.so.1", RTLD_LAZY);

		if (!module)
			return NULL;
		u.backtrace = hook_real_dlsym()(module, "_Unwind_Backtrace");
		u.address = hook_real_dlsym()(module, "_Unwind_GetIP");
		u.stack_pointer = hook_real_dlsym()(module, "_Unwind_GetCFA");
	}
	return u.backtrace && u.address && u.stack_pointer ? &u : NULL;
}

static uint64_t ask(void *function, struct _Unwind_Context *c)
{
	return ((uint64_t(*)(struct _Unwind_Context *))function)(c);
}

static _Unwind_Reason_Code frame_see(struct _Unwind_Context *c, void *arg)
{
	const struct frames *const f = arg;

	return is_hidden((void *)ask(unwinder()->address, c)) ? _URC_NO_REASON : f->each(c, f->arg);
}

_Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn each, void *arg)
{
	const struct unwinder *const u = unwinder();
	struct frames f = { each, arg };

	if (!u)
		return _URC_END_OF_STACK;
	return ((_Unwind_Reason_Code(*)(_Unwind_Trace_Fn, void *))u->backtrace)(frame_see, &f);
}

struct addresses {
	void **to;
	int room, n;
	uint64_t stack_pointer; /* of the last one */
};

static _Unwind_Reason_Code address_take(struct _Unwind_Context *c, void *arg)
{
	struct addresses *const a = arg;
	const uint64_t address = ask(unwinder()->address, c);
	const uint64_t stack_pointer = ask(unwinder()->stack_pointer, c);

	if (a->n == a->room)
		return _URC_END_OF_STACK;
	/* The same frame again: as glibc's, it ends there. */
	if (a->n && a->to[a->n - 1] == (void *)address && a->stack_pointer == stack_pointer)
		return _URC_END_OF_STACK;
	a->to[a->n++] = (void *)address;
	a->stack_pointer = stack_pointer;
	return _URC_NO_REASON;
}

/* Not by glibc's, which stores hooks too: how many of all frames are to be asked for is unknown. */
int backtrace(void **to, int n)
{
	struct addresses a = { to, n, 0, 0 };

	if (n <= 0)
		return 0;
	_Unwind_Backtrace(address_take, &a);
	/* The address above _start. */
	if (a.n > 1 && !a.to[a.n - 1])
		a.n--;
	return a.n;
}

/* --- calls that are left --- */

/* A function of the compiler's runtime, which may have been loaded for another library alone. */
static void *runtime(void **known, const char *name)
{
	static const char *const runtimes[] = { "libstdc++.so.6", "libgcc_s.so.1", "libc++abi.so.1",
						"libc++.so.1" };

	if (next(known, name))
		return *known;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]) && !*known; i++) {
		void *const module = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);

		*known = module ? hook_real_dlsym()(module, name) : NULL;
	}
	if (!*known)
		abort();
	return *known;
}

/* By an exception that is caught: the stack pointer is that of the function that catches it. */
void *__cxa_begin_catch(void *exception);
void *__cxa_begin_catch(void *exception)
{
	static void *real;

	hook_left((uint64_t)__builtin_frame_address(0) + 16);
	return ((void *(*)(void *))runtime(&real, "__cxa_begin_catch"))(exception);
}

typedef _Unwind_Reason_Code (*personality)(int version, _Unwind_Action actions, uint64_t class,
					   struct _Unwind_Exception *exception,
					   struct _Unwind_Context *context);

/*
 * A function goes on at its cleanups or where it catches: the calls inside it have been left. Its
 * first call may be a destructor with a larger frame than theirs, so that its place would not tell.
 */
static _Unwind_Reason_Code land(personality real, int version, _Unwind_Action actions,
				uint64_t class, struct _Unwind_Exception *exception,
				struct _Unwind_Context *context)
{
	static void *stack_pointer;
	const _Unwind_Reason_Code r = real(version, actions, class, exception, context);

	if (r == _URC_INSTALL_CONTEXT && core_on && next(&stack_pointer, "_Unwind_GetCFA"))
		hook_left(((uint64_t(*)(struct _Unwind_Context *))stack_pointer)(context));
	return r;
}

#define PERSONALITY(name)                                                                    \
	_Unwind_Reason_Code name(int version, _Unwind_Action actions, uint64_t class,        \
				 struct _Unwind_Exception *exception,                        \
				 struct _Unwind_Context *context);                           \
	_Unwind_Reason_Code name(int version, _Unwind_Action actions, uint64_t class,        \
				 struct _Unwind_Exception *exception,                        \
				 struct _Unwind_Context *context)                            \
	{                                                                                    \
		static void *real;                                                           \
											     \
		return land((personality)runtime(&real, #name), version, actions, class,     \
			    exception, context);                                             \
	}

PERSONALITY(__gxx_personality_v0)
/* Of C that is compiled with -fexceptions. */
PERSONALITY(__gcc_personality_v0)

/* The stack pointer that setjmp() stored, as glibc obscures it. */
static void leave(const struct __jmp_buf_tag *to)
{
	uint64_t v = (uint64_t)to->__jmpbuf[JMP_BUF_RSP], guard;

	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	hook_jumped((v >> JMP_BUF_ROTATED | v << (64 - JMP_BUF_ROTATED)) ^ guard);
}

typedef void (*jump_function)(struct __jmp_buf_tag *, int);

#define JUMP(ours, name)                                                                \
	void ours(struct __jmp_buf_tag *to, int value) __asm__(name)                    \
		__attribute__((noreturn));                                              \
	void ours(struct __jmp_buf_tag *to, int value)                                  \
	{                                                                               \
		static void *real;                                                      \
											\
		leave(to);                                                              \
		((jump_function)next(&real, name))(to, value);                          \
		abort();                                                                \
	}

JUMP(jump, "longjmp")
JUMP(jump_fast, "_longjmp")
JUMP(jump_signal, "siglongjmp")
JUMP(jump_checked, "__longjmp_chk")

/* --- stacks --- */

/*
 * An alternate stack that lies in the thread's own is told from that by its bounds. No handler runs
 * on it before they are known.
 */
int sigaltstack(const stack_t *restrict to, stack_t *restrict old)
{
	static void *real;
	const uint64_t before = hook_signals_block();
	const int result =
		((int (*)(const stack_t *, stack_t *))next(&real, "sigaltstack"))(to, old);

	if (to && result == 0)
		hook_stack_signals(to);
	hook_signals_restore(before);
	return result;
}

HOOK void *hook_fiber_made(const ucontext_t *u);
HOOK void *hook_fiber_swapped(const ucontext_t *to, uint64_t from);
HOOK void *hook_fiber_set(const ucontext_t *to, uint64_t from);

/* Returns the makecontext() to go on with: its arguments are of any number. */
void *hook_fiber_made(const ucontext_t *u)
{
	static void *real;

	hook_stack_fiber((uint64_t)u->uc_stack.ss_sp, u->uc_stack.ss_size);
	return next(&real, "makecontext");
}

/* The same of swapcontext() and setcontext(). `from`: the stack pointer of their caller. */
void *hook_fiber_swapped(const ucontext_t *to, uint64_t from)
{
	static void *real;

	hook_stack_swap(from, (uint64_t)to->uc_mcontext.gregs[REG_RSP]);
	return next(&real, "swapcontext");
}

void *hook_fiber_set(const ucontext_t *to, uint64_t from)
{
	static void *real;

	hook_stack_swap(from, (uint64_t)to->uc_mcontext.gregs[REG_RSP]);
	return next(&real, "setcontext");
}

/* --- of programs built with -pg --- */

void __monstartup(unsigned long first, unsigned long end);
void _mcleanup(void);

/* Their own profile would count our hooks. */
void __monstartup(unsigned long first, unsigned long end)
{
	(void)first;
	(void)end;
}

void _mcleanup(void)
{
}
