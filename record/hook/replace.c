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

enum { FRAMES = 1024, JMP_BUF_RSP = 6, JMP_BUF_ROTATED = 17 };

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
		to->frames = (void *)(uintptr_t)a->frames_head;
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
	uintptr_t (*address)(struct _Unwind_Context *);
};

static _Unwind_Reason_Code frame_see(struct _Unwind_Context *c, void *arg)
{
	const struct frames *const f = arg;

	return is_hidden((void *)f->address(c)) ? _URC_NO_REASON : f->each(c, f->arg);
}

_Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn each, void *arg)
{
	static void *real, *address;
	struct frames f = { each, arg, NULL };

	if (!next(&real, "_Unwind_Backtrace") || !next(&address, "_Unwind_GetIP")) {
		/* It was loaded for another library alone. */
		void *const module = dlopen("libgcc_s.so.1", RTLD_LAZY);

		real = module ? hook_real_dlsym()(module, "_Unwind_Backtrace") : NULL;
		address = module ? hook_real_dlsym()(module, "_Unwind_GetIP") : NULL;
		if (!real || !address)
			return _URC_END_OF_STACK;
	}
	f.address = (uintptr_t(*)(struct _Unwind_Context *))address;
	return ((_Unwind_Reason_Code(*)(_Unwind_Trace_Fn, void *))real)(frame_see, &f);
}

int backtrace(void **to, int n)
{
	static void *real;
	void *all[FRAMES];
	int have, kept = 0;

	if (!next(&real, "backtrace"))
		return 0;
	have = ((int (*)(void **, int))real)(all, FRAMES);
	for (int i = 0; i < have && kept < n; i++)
		if (!is_hidden(all[i]))
			to[kept++] = all[i];
	return kept;
}

/* --- calls that are left --- */

/* By an exception that is caught: the stack pointer is that of the function that catches it. */
void *__cxa_begin_catch(void *exception);
void *__cxa_begin_catch(void *exception)
{
	static void *real;

	hook_left((uint64_t)__builtin_frame_address(0) + 16);
	if (!next(&real, "__cxa_begin_catch")) {
		void *const module = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);

		real = module ? hook_real_dlsym()(module, "__cxa_begin_catch") : NULL;
		if (!real)
			abort();
	}
	return ((void *(*)(void *))real)(exception);
}

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

/* --- fibers --- */

HOOK void *hook_fiber_made(const ucontext_t *u);

/* Returns the makecontext() to go on with: its arguments are of any number. */
void *hook_fiber_made(const ucontext_t *u)
{
	static void *real;

	hook_stack_fiber((uint64_t)u->uc_stack.ss_sp, u->uc_stack.ss_size);
	return next(&real, "makecontext");
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
