/* The modules of the program: what is new is described, and changed as its plan says. */
#include "hook.h"

#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/auxv.h>

enum { PAGE = 4096, NOTE_GNU = 4, WORD = 4, SIGNALS = 2, LOOK_TRIES = 100, LOOK_MS = 1 };

static struct hook_module *modules;
static uint32_t round_number;
/* How often threads have asked to look for modules, and up to which of these has been looked. */
static uint32_t wanted, looked;
static uint32_t waiting; /* threads */
static uint32_t flags; /* enum record_flags */
/* Signals that the library handles. */
static struct {
	int number; /* 0: none */
	void (*handler)(int);
	struct sigaction before;
} taken[SIGNALS];
void (*hook_module_found)(const struct hook_module *m);
void (*hook_module_gone)(uint64_t first, uint64_t end);
void (*hook_child_begun)(void);

struct attach_state spur_record_state = { .version = ATTACH_VERSION };

bool hook_is_own(uint64_t address)
{
	extern HOOK const char __ehdr_start[] __attribute__((weak));
	extern HOOK const char _end[] __attribute__((weak));

	const uint64_t first = (uint64_t)__ehdr_start, end = (uint64_t)_end;
	const uint64_t program = getauxval(AT_PHDR);

	/* Where it is linked into the program, none are its alone. */
	return address >= first && address < end && (program < first || program >= end);
}

/* --- one module --- */

static void build_id_read(struct hook_module *m, const ElfW(Phdr) * ph, uint64_t shift)
{
	const char *p = (const char *)(shift + ph->p_vaddr), *const end = p + ph->p_memsz;

	while ((size_t)(end - p) > sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *const n = (const void *)p;
		const uint64_t name = (n->n_namesz + WORD - 1) / WORD * WORD;
		const uint64_t size = (n->n_descsz + WORD - 1) / WORD * WORD;
		const char *const desc = p + sizeof(*n) + name;

		if (name > (size_t)(end - p) || size > (size_t)(end - p) - name)
			return;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == NOTE_GNU &&
		    memcmp(n + 1, "GNU", NOTE_GNU) == 0 && n->n_descsz <= sizeof(m->build_id)) {
			memcpy(m->build_id, desc, n->n_descsz);
			m->build_id_size = n->n_descsz;
			return;
		}
		p = desc + size;
	}
}

static void segments_read(struct hook_module *m, const struct dl_phdr_info *i)
{
	m->first = UINT64_MAX;
	m->shift = i->dlpi_addr;
	for (unsigned k = 0; k < i->dlpi_phnum; k++) {
		const ElfW(Phdr) *const ph = &i->dlpi_phdr[k];
		const uint64_t first = i->dlpi_addr + ph->p_vaddr, end = first + ph->p_memsz;

		if (ph->p_type == PT_LOAD) {
			m->first = first < m->first ? first & ~(uint64_t)(PAGE - 1) : m->first;
			m->end = end > m->end ? end : m->end;
		} else if (ph->p_type == PT_GNU_RELRO) {
			m->relro_first = first & ~(uint64_t)(PAGE - 1);
			m->relro_end = end;
		} else if (ph->p_type == PT_DYNAMIC) {
			m->dynamic = first;
		} else if (ph->p_type == PT_NOTE && !m->build_id_size) {
			build_id_read(m, ph, i->dlpi_addr);
		}
	}
}

/* Returns false for what is no file, as the kernel's own module. */
static bool path_read(struct hook_module *m, const struct dl_phdr_info *i)
{
	ssize_t n;

	if ((uint64_t)i->dlpi_phdr != getauxval(AT_PHDR)) {
		if (!i->dlpi_name || !strchr(i->dlpi_name, '/') ||
		    strlen(i->dlpi_name) >= sizeof(m->path))
			return false;
		strcpy(m->path, i->dlpi_name);
		return true;
	}
	n = readlink("/proc/self/exe", m->path, sizeof(m->path) - 1);
	m->path[n > 0 ? n : 0] = '\0';
	m->main = true;
	return n > 0;
}

static struct hook_module *module_known(const struct dl_phdr_info *i)
{
	const char *const path = i->dlpi_name ? i->dlpi_name : "";
	struct hook_module *m;

	for (m = modules; m; m = m->next)
		if (m->there && m->shift == i->dlpi_addr &&
		    (m->main ? (uint64_t)i->dlpi_phdr == getauxval(AT_PHDR) :
			       strcmp(m->path, path) == 0))
			break;
	return m;
}

/*
 * Whether it is still the module that was changed: another thread may have closed that and loaded
 * the same file at the same place before this one looked.
 */
static bool is_same_load(const struct hook_module *m, const struct dl_phdr_info *i)
{
	const uint64_t at = (uint64_t)m->mark - i->dlpi_addr;

	if (!m->mark)
		return true;
	for (unsigned k = 0; k < i->dlpi_phnum; k++) {
		const ElfW(Phdr) *const ph = &i->dlpi_phdr[k];

		if (ph->p_type == PT_LOAD && at >= ph->p_vaddr &&
		    at + sizeof(m->marked) <= ph->p_vaddr + ph->p_memsz)
			return memcmp(m->mark, m->marked, sizeof(m->marked)) == 0;
	}
	return false;
}

/* Called by the linker with its lock, under which no plan is asked for: that may take long. */
static int module_see(struct dl_phdr_info *i, size_t size, void *arg)
{
	struct hook_module **const fresh = arg;
	struct hook_module *m = module_known(i);

	(void)size;
	if (m && is_same_load(m, i)) {
		m->seen = round_number;
		return 0;
	}
	m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m == MAP_FAILED)
		return 0;
	segments_read(m, i);
	if (m->first >= m->end || !path_read(m, i)) {
		munmap(m, sizeof(*m));
		return 0;
	}
	m->seen = round_number;
	m->next = *fresh;
	*fresh = m;
	return 0;
}

/* Whether functions of the plan need more than the quick way. */
static bool is_full(const struct plan_head *p)
{
	const struct plan_function *const f =
		(const struct plan_function *)(const void *)((const char *)p + p->functions);
	const struct plan_point *const q =
		(const struct plan_point *)(const void *)((const char *)p + p->points);

	for (uint32_t i = 0; i < p->nfunctions; i++)
		if (f[i].flags || f[i].least)
			return true;
	for (uint32_t i = 0; i < p->npoints; i++)
		if (q[i].kind != PLAN_ENTRY && q[i].kind != PLAN_SLOT &&
		    (f[q[i].function].nargs || f[q[i].function].nresults ||
		     f[q[i].function].nconditions))
			return true;
	return false;
}

static uint32_t module_describe(const struct hook_module *m)
{
	const struct core_module c = { .first = m->first,
				       .end = m->end,
				       .shift = m->shift,
				       .build_id = m->build_id,
				       .build_id_size = m->build_id_size,
				       .path = m->path };

	return core_module(&c);
}

/* What is known of a module that was there before, at the same place. Returns NULL if none was. */
static struct hook_module *module_before(const struct hook_module *m)
{
	struct hook_module *b;

	for (b = modules; b; b = b->next)
		if (!b->there && b->shift == m->shift && b->first == m->first && b->end == m->end &&
		    b->build_id_size == m->build_id_size &&
		    memcmp(b->build_id, m->build_id, sizeof(b->build_id)) == 0 &&
		    strcmp(b->path, m->path) == 0)
			break;
	return b;
}

static void module_new(struct hook_module *m)
{
	struct hook_module *const before = module_before(m);

	if (before) {
		before->seen = m->seen;
		munmap(m, sizeof(*m));
		m = before;
	} else {
		m->next = modules;
		modules = m;
	}
	m->there = true;
	if (!m->number)
		m->number = module_describe(m);
}

static void module_gone(struct hook_module *m)
{
	if (hook_module_gone)
		hook_module_gone(m->first, m->end);
	if (m->number)
		core_unload(m->number);
	hook_list_forget(m->first, m->end);
	m->number = 0;
	m->mark = NULL;
	m->there = m->changed = false;
}

/* The plan as it served the module before, or for the first time. Returns NULL without room. */
static struct hook_planned *planned_get(struct hook_module *m, const struct plan_head *p)
{
	struct hook_planned *g;

	for (g = m->planned; g; g = g->next)
		if (g->plan->size == p->size && memcmp(g->plan, p, p->size) == 0)
			break;
	if (g) {
		hook_plan_free(p);
		hook_functions_again(g->first, g->plan->nfunctions);
		return g;
	}
	g = mmap(NULL, sizeof(*g) + p->npoints * sizeof(*g->targets), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g == MAP_FAILED)
		return NULL;
	g->plan = p;
	g->first = hook_functions_add(p, m->shift, m->number);
	if (!g->first)
		return NULL;
	g->next = m->planned;
	m->planned = g;
	return g;
}

/* True for this library. */
static bool is_own(const struct hook_module *m)
{
	return hook_is_own((m->first + m->end) / 2);
}

/* Without room for its description, a module gets no plan. */
static void tell_no_room(void)
{
	static bool told;

	if (!told && core_session.number)
		hook_say("the recording has no room: functions are recorded only if they call "
			 "hooks, and without filters; library calls are not",
			 "");
	told = true;
}

/* Changes a module that is there as its plan says. */
static void module_change(struct hook_module *m)
{
	const struct plan_head *p = NULL;
	struct hook_planned *g;

	m->changed = true;
	if (is_own(m))
		return;
	if (hook_module_found)
		hook_module_found(m);
	if (!(flags & RECORD_FUNCTIONS))
		return;
	if (!m->number)
		tell_no_room();
	if (!m->number || !(p = hook_plan(m)))
		return;
	if (p->listed)
		hook_list_range(m->first, m->end);
	if (!p->npoints) {
		hook_plan_free(p);
		return;
	}
	g = planned_get(m, p);
	if (!g)
		return;
	if (is_full(g->plan))
		hook_settings.full = true;
	hook_patch(m, g);
}

/* Finds what is new and what has gone, also since a recording before this one. */
static void modules_look(void)
{
	struct hook_module *fresh = NULL, *m;
	struct record_settings s;

	round_number++;
	dl_iterate_phdr(module_see, &fresh);
	for (m = modules; m; m = m->next)
		if (m->there && m->seen != round_number)
			module_gone(m);
	if (fresh && flags & RECORD_FUNCTIONS)
		hook_hello(&s);
	while ((m = fresh)) {
		fresh = m->next;
		module_new(m);
	}
	for (m = modules; m; m = m->next)
		if (!m->there && m->number)
			module_gone(m);
	/* All come first: whether frames are to be registered depends on the unwinder's module. */
	for (m = modules; m; m = m->next)
		if (m->there && !m->changed && !is_own(m) && hook_module_found)
			hook_module_found(m);
	for (m = modules; m; m = m->next)
		if (m->there && !m->changed)
			module_change(m);
}

/*
 * Waits until this thread may look, or another one has looked since `asked`. Returns true if this
 * one may. It does not wait long: it may be loading a library itself, and have the linker's lock
 * that the other one needs, which then looks once more.
 */
static bool look_begin(uint32_t asked)
{
	const uint32_t me = (uint32_t)((uintptr_t)&hook_here >> 4) | 1;
	bool may = false;

	seam_add32(&waiting, 1);
	for (unsigned i = 0; i < LOOK_TRIES; i++) {
		const uint32_t busy = seam_load32(&spur_record_state.busy);

		/* A signal handler came in while this very thread looks. */
		if (busy == me || (int32_t)(seam_load32(&looked) - asked) >= 0)
			break;
		may = seam_cas32(&spur_record_state.busy, 0, me);
		if (may)
			break;
		if (busy)
			seam_wait(&spur_record_state.busy, busy, LOOK_MS);
	}
	seam_add32(&waiting, UINT32_MAX);
	return may;
}

static void look_end(void)
{
	seam_store32(&spur_record_state.busy, 0);
	seam_fence_threads();
	if (seam_load32(&waiting))
		seam_wake(&spur_record_state.busy, INT32_MAX);
}

void hook_modules(void)
{
	const int kept = errno;
	uint32_t asked;

	if (!spur_trace_is_on())
		return;
	seam_add32(&wanted, 1);
	/* Others may have asked, and waited in vain, while this one looked. */
	while (asked = seam_load32(&wanted), (int32_t)(asked - seam_load32(&looked)) > 0 &&
	       look_begin(asked)) {
		asked = seam_load32(&wanted);
		modules_look();
		hook_hang_up();
		seam_store32(&looked, asked);
		look_end();
	}
	errno = kept;
}

/* --- the beginning --- */

#if defined(__x86_64__)
uint64_t hook_vectors_size = 512 + 64, hook_vectors_mask;

/* What xsave stores: x87, SSE, AVX and AVX-512; nothing that runs here uses more. */
static void vectors_find(void)
{
	const uint32_t most = 0xE7;
	uint32_t a = 1, b, c = 0, d, low, high;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	if (!(c & 1u << 27))
		return;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	a = 13;
	c = 0;
	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	hook_vectors_size = (uint64_t)b + 64;
	hook_vectors_mask = low & most;
}
#endif

static void switched(int number)
{
	(void)number;
	__atomic_xor_fetch(&hook_switch, 1, __ATOMIC_RELAXED);
}

bool hook_signal_take(uint32_t number, void (*handler)(int))
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESTART };
	unsigned i = 0;

	if (!number)
		return true;
	while (i < SIGNALS && taken[i].number)
		i++;
	sigemptyset(&a.sa_mask);
	if (i == SIGNALS || sigaction((int)number, &a, &taken[i].before))
		return false;
	taken[i].number = (int)number;
	taken[i].handler = handler;
	return true;
}

/* The last one first, as two of them may be for one signal. */
static void signals_give_back(void)
{
	struct sigaction now;

	for (unsigned i = SIGNALS; i-- > 0; taken[i].number = 0)
		if (taken[i].number && !sigaction(taken[i].number, NULL, &now) &&
		    now.sa_handler == taken[i].handler)
			sigaction(taken[i].number, &taken[i].before, NULL);
}

static void forked(int why)
{
	spur_record_state.busy = 0;
	waiting = 0;
	hook_stacks_forked();
	hook_hang_up();
	if (why)
		hook_unrecorded(why);
	if (hook_child_begun)
		hook_child_begun();
}

/* Returns false if no recorder answers. */
static bool settings_ask(void)
{
	struct record_settings s = { 0 };
	const bool answered = hook_hello(&s);

	vectors_find();
	core_forked = forked;
	if (answered) {
		flags = s.flags;
		hook_settings.depth = s.depth;
		hook_settings.least = s.least ? hook_ticks_of(s.least) : 0;
		if (s.flags & RECORD_STARTS_OFF)
			hook_switch = 0;
		if (!hook_signal_take(s.on_signal, switched))
			hook_say("the signal that switches recording cannot be taken", "");
		hook_keep_begin(&s);
	}
	if (s.depth || s.least || s.on_signal || s.flags & RECORD_STARTS_OFF || !spur_trace_tsc[0])
		hook_settings.full = true;
	return answered;
}

void hook_begin(void)
{
	settings_ask();
	spur_record_state.recording = 1;
	modules_look();
	hook_done();
	hook_hang_up();
}

int hook_begin_attached(void)
{
	if (!seam_cas32(&spur_record_state.busy, 0, 1))
		return EBUSY;
	hook_settings = (struct hook_settings){ 0 };
	hook_switch = 1;
	hook_counts = (struct hook_counts){ 0 };
	if (!settings_ask()) {
		seam_store32(&spur_record_state.busy, 0);
		return ECONNREFUSED;
	}
	spur_record_state.recording = 1;
	hook_deferred = true;
	modules_look();
	hook_deferred = false;
	hook_done();
	hook_hang_up();
	seam_store32(&spur_record_state.busy, 0);
	return 0;
}

bool hook_end_attached(void)
{
	if (!seam_cas32(&spur_record_state.busy, 0, 1))
		return false;
	signals_give_back();
	/* The next recording looks which of them are still there. */
	for (struct hook_module *m = modules; m; m = m->next) {
		hook_list_forget(m->first, m->end);
		m->mark = NULL;
		m->there = m->changed = false;
	}
	flags = 0;
	spur_record_state.recording = 0;
	seam_store32(&spur_record_state.busy, 0);
	return true;
}
