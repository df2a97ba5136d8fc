/*
 * The library in a program that it was loaded into while that ran. The recorder calls what is here
 * (wire.h), on a thread of the program that it has stopped. Nothing here changes the program: what
 * is to be changed is listed, and the recorder changes it when all threads are stopped.
 *
 * The linker bound the program's calls before the library was there, so functions that the library
 * replaces (replace.c, jump.S) are reached by changing the slots of all modules.
 */
#include "hook.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

enum { CHANGES_MOST = 1 << 22, RELA = 24 };

/* Declared by wire.h. */
__attribute__((visibility("default"))) int spur_record_attach(const struct attach_request *a);
__attribute__((visibility("default"))) int spur_record_detach(void);

static struct attach_change *changes; /* room for CHANGES_MOST */
static char socket_path[sizeof(((struct attach_request *)0)->socket)];

/* --- what is changed --- */

static bool change_list(uint8_t *at, const void *to, unsigned size, bool is_code)
{
	struct attach_change *const c = &changes[spur_record_state.nchanges];

	if (spur_record_state.nchanges == CHANGES_MOST || size > ATTACH_SIZE)
		return false;
	c->address = (uint64_t)at;
	c->size = (uint8_t)size;
	c->is_code = is_code;
	memcpy(c->before, at, size);
	memcpy(c->after, to, size);
	seam_store(&spur_record_state.nchanges, spur_record_state.nchanges + 1);
	return true;
}

static void changes_forget(uint64_t first, uint64_t end)
{
	for (uint64_t i = 0; i < spur_record_state.nchanges; i++)
		if (changes[i].address >= first && changes[i].address < end)
			changes[i].size = 0;
}

static bool changes_begin(void)
{
	const size_t size = CHANGES_MOST * sizeof(*changes);
	void *p;

	if (!changes) {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return false;
		changes = p;
	}
	spur_record_state.changes = (uint64_t)changes;
	spur_record_state.nchanges = 0;
	return true;
}

/* --- functions that are replaced --- */

static const char *const replaced[] = {
	"dlopen", "dlsym", "dlclose", "makecontext", "swapcontext", "setcontext", "sigaltstack",
	"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", "backtrace",
	"_Unwind_Backtrace", "__cxa_begin_catch", "__gxx_personality_v0",
	"__gcc_personality_v0", "mcount", "_mcount", "__fentry__", "__cyg_profile_func_enter",
	"__cyg_profile_func_exit"
};

enum { REPLACED = sizeof(replaced) / sizeof(replaced[0]) };

/*
 * Unwinders ask this for frames. It is replaced before any thunk is made, and for good: calls that
 * are open at the end of the recording return through thunks later, and then may be unwound.
 */
static const char unwinders_call[] = "_dl_find_object";

static uint64_t ours[REPLACED], our_answer; /* addresses */
static uint64_t program_first, program_end;

static int program_find(struct dl_phdr_info *i, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if ((uint64_t)i->dlpi_phdr != getauxval(AT_PHDR))
		return 0;
	program_first = UINT64_MAX;
	program_end = 0;
	for (unsigned k = 0; k < i->dlpi_phnum; k++) {
		const Elf64_Phdr *const ph = &i->dlpi_phdr[k];
		const uint64_t first = i->dlpi_addr + ph->p_vaddr, end = first + ph->p_memsz;

		if (ph->p_type != PT_LOAD)
			continue;
		program_first = first < program_first ? first : program_first;
		program_end = end > program_end ? end : program_end;
	}
	return 1;
}

/* Finds this library's own functions, since its references to some of them may lead elsewhere. */
static bool ours_find(void)
{
	Dl_info me;
	void *self;

	if (!dladdr(&spur_record_state, &me))
		return false;
	self = hook_real_dlopen()(me.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!self)
		return false;
	dl_iterate_phdr(program_find, NULL);
	for (unsigned i = 0; i < REPLACED; i++)
		ours[i] = (uint64_t)hook_real_dlsym()(self, replaced[i]);
	our_answer = (uint64_t)hook_real_dlsym()(self, unwinders_call);
	return true;
}

struct dynamic {
	const Elf64_Sym *symbols;
	const char *names;
	const Elf64_Rela *tables[2];
	uint64_t sizes[2];
};

/* The linker has made addresses of the entries, but not in all modules. */
static uint64_t address_of(const struct hook_module *m, uint64_t v)
{
	return v < m->first ? v + m->shift : v;
}

static struct dynamic dynamic_read(const struct hook_module *m)
{
	const Elf64_Dyn *e = (const Elf64_Dyn *)m->dynamic;
	struct dynamic d = { 0 };

	for (; e && e->d_tag != DT_NULL; e++) {
		const void *const at = (const void *)address_of(m, e->d_un.d_ptr);

		switch (e->d_tag) {
		case DT_SYMTAB:
			d.symbols = at;
			break;
		case DT_STRTAB:
			d.names = at;
			break;
		case DT_RELA:
			d.tables[0] = at;
			break;
		case DT_RELASZ:
			d.sizes[0] = e->d_un.d_val;
			break;
		case DT_JMPREL:
			d.tables[1] = at;
			break;
		case DT_PLTRELSZ:
			d.sizes[1] = e->d_un.d_val;
			break;
		}
	}
	return d;
}

/* As the linker prefers definitions of the program to those of a preloaded library. */
static bool is_programs(const struct hook_module *m, uint64_t value, const char *name)
{
	if (value >= m->first && value < m->end)
		value = hook_symbol(m->path, name);
	return value >= program_first && value < program_end;
}

static void slot_replace(const struct hook_module *m, uint64_t *slot, const char *name)
{
	if (strcmp(name, unwinders_call) == 0 && our_answer && *slot && *slot != our_answer)
		hook_slot_write_now(m, (uint8_t *)slot, our_answer);
	for (unsigned i = 0; i < REPLACED; i++)
		if (strcmp(name, replaced[i]) == 0 && ours[i] && *slot && *slot != ours[i] &&
		    !is_programs(m, *slot, name))
			hook_slot_write(m, (uint8_t *)slot, ours[i]);
}

/* Frames refer to these by a word of data, DW.ref.NAME, which nothing compares. */
static bool is_personality(const Elf64_Rela *r, const char *name)
{
	return ELF64_R_TYPE(r->r_info) == R_X86_64_64 && !r->r_addend &&
	       (strcmp(name, "__gxx_personality_v0") == 0 ||
		strcmp(name, "__gcc_personality_v0") == 0);
}

static void module_replace(const struct hook_module *m)
{
	const struct dynamic d = dynamic_read(m);

	for (unsigned t = 0; d.symbols && d.names && t < 2; t++)
		for (uint64_t i = 0; d.tables[t] && i < d.sizes[t] / RELA; i++) {
			const Elf64_Rela *const r = &d.tables[t][i];
			const uint64_t type = ELF64_R_TYPE(r->r_info);
			const Elf64_Sym *const s = &d.symbols[ELF64_R_SYM(r->r_info)];
			const uint64_t at = r->r_offset + m->shift;

			if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
			     is_personality(r, d.names + s->st_name)) &&
			    at >= m->first && at + sizeof(uint64_t) <= m->end &&
			    at % sizeof(uint64_t) == 0)
				slot_replace(m, (uint64_t *)at, d.names + s->st_name);
		}
}

/* --- the recorder's calls --- */

static int session_begin(const struct attach_request *a)
{
	const struct spur_trace_options o = { .mode = a->mode, .size = a->size };

	if (!core_enter())
		return EBUSY;
	core_categories_read(a->chooses ? a->categories : NULL);
	core_leave();
	return spur_trace_start_with(a->directory, &o);
}

static void session_end(void)
{
	seam_store32(&core_recorder, 0);
	spur_trace_stop();
	hook_changes = NULL;
	hook_module_found = NULL;
	hook_module_gone = NULL;
	hook_child_begun = NULL;
	hook_socket = NULL;
	spur_record_state.recorder = 0;
}

/* Returns false while modules are looked for. */
static bool detach(void)
{
	if (!hook_end_attached())
		return false;
	hook_refused();
	session_end();
	return true;
}

/*
 * The recorder may have left while fork() was under way: it has changed this process back. What it
 * looks at is stored first, so that either of the two sees the other.
 */
static void child_begun(void)
{
	seam_store32(&spur_record_state.process, seam_pid());
	seam_fence();
	if (!seam_load32(&spur_record_state.recorder))
		detach();
}

int spur_record_attach(const struct attach_request *a)
{
	int why;

	if (a->version != ATTACH_VERSION)
		return EPROTO;
	if (seam_load(&core_session.number) || spur_record_state.recorder)
		return EALREADY;
	if (!changes_begin())
		return ENOMEM;
	if (!ours_find())
		return ENOEXEC;
	/* What ends threads loads it without a call that could be seen. */
	hook_real_dlopen()("libgcc_s.so.1", RTLD_LAZY);
	why = session_begin(a);
	if (why)
		return why;
	strcpy(socket_path, a->socket);
	hook_socket = socket_path;
	hook_changes = change_list;
	hook_module_found = module_replace;
	hook_module_gone = changes_forget;
	hook_child_begun = child_begun;
	spur_record_state.process = seam_pid();
	spur_record_state.recorder = a->recorder;
	why = hook_begin_attached();
	if (why) {
		session_end();
		return why;
	}
	seam_store32(&hook_recording, hook_recording + 1);
	seam_store32(&core_recorder, a->recorder);
	if (core_enter()) {
		core_helper_start(true);
		core_leave();
	}
	return 0;
}

int spur_record_detach(void)
{
	if (!spur_record_state.recorder)
		return 0;
	if (!detach())
		return EBUSY;
	return seam_load(&core_session.number) ? EBUSY : 0;
}
