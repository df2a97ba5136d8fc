/*
 * Event classes in use: programs, names, and what events mean beside their fields (spans, switches,
 * wake-ups, logs).
 */
#include <stddef.h>
#include <stdio.h>

#include "base/search.h"
#include "format/ctf/origin.h"
#include "format/ctf/own.h"
#include "format/ctf/plan/parts.h"
#include "format/ctf/symbols.h"

/* --- rules --- */

/* SPEC ctf/rules: events that are more than an instant, by name */
static const struct {
	const char *name;
	enum event_rule rule;
} rules[] = {
	{ "sched_switch", RULE_SWITCH },
	{ "sched_waking", RULE_WAKEUP },
	{ "sched_wakeup", RULE_WAKEUP },
	{ "sched_wakeup_new", RULE_WAKEUP },
	/* As perf names them. */
	{ "sched_process_exit", RULE_THREAD_EXIT },
	{ "sched_process_free", RULE_THREAD_FREE },
	{ "sched:sched_process_exit", RULE_THREAD_EXIT },
	{ "sched:sched_process_free", RULE_THREAD_FREE },
	{ "sched:sched_switch", RULE_SWITCH },
	{ "sched:sched_waking", RULE_WAKEUP },
	{ "sched:sched_wakeup", RULE_WAKEUP },
	{ "sched:sched_wakeup_new", RULE_WAKEUP },
	{ "lttng_ust_cyg_profile:func_entry", RULE_FUNCTION_ENTRY },
	{ "lttng_ust_cyg_profile:func_exit", RULE_FUNCTION_EXIT },
	{ "lttng_ust_cyg_profile_fast:func_entry", RULE_FUNCTION_ENTRY },
	{ "lttng_ust_cyg_profile_fast:func_exit", RULE_FUNCTION_EXIT },
	{ "lttng_ust_tracef:event", RULE_LOG },
	{ "lttng_python:event", RULE_LOG },
	{ "lttng_jul:event", RULE_LOG },
	{ "lttng_log4j:event", RULE_LOG },
	{ "lttng_log4j2:event", RULE_LOG },
};

/* Gathers the names of a stream class's events, each with the first event that has it. */
static void gather_names(struct ctf *c, struct ctf_class *k)
{
	const struct ctf_stream_class *s = k->class;

	for (size_t i = 0; i < s->nevents; i++) {
		struct map64_slot *slot =
			s->events[i]->name
				? map64_put(&k->names, trace_intern(c->t, s->events[i]->name))
				: NULL;

		if (slot)
			slot->value = slot->value ? slot->value | CTF_NAME_TWICE : i + 1;
	}
}

uint64_t ctf_name_index(struct ctf *c, struct ctf_class *k, const char *name)
{
	const struct map64_slot *slot;

	if (!k->names.count)
		gather_names(c, k);
	slot = map64_find(&k->names, trace_intern(c->t, name));
	return slot ? slot->value : 0;
}

static bool has_event(struct ctf *c, struct ctf_class *k, const char *name)
{
	return ctf_name_index(c, k, name) != 0;
}

/*
 * "syscall_entry_read" and "syscall_exit_read" are the span "read"; perf's
 * "syscalls:sys_enter_read" too.
 */
static bool syscall_rule(const char *name, enum event_rule *rule, char *span)
{
	static const struct {
		const char *prefix, *shown;
		enum event_rule rule;
	} prefixes[] = {
		{ "syscall_entry_", "", RULE_ENTRY },
		{ "syscall_exit_", "", RULE_EXIT },
		{ "compat_syscall_entry_", "compat_", RULE_ENTRY },
		{ "compat_syscall_exit_", "compat_", RULE_EXIT },
		{ "syscalls:sys_enter_", "", RULE_ENTRY },
		{ "syscalls:sys_exit_", "", RULE_EXIT },
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		struct text t = text_of(name);

		if (!text_skip(&t, prefixes[i].prefix) || !t.len)
			continue;
		snprintf(span, CTF_NAME_ROOM, "%s%s", prefixes[i].shown, t.p);
		*rule = prefixes[i].rule;
		return true;
	}
	return false;
}

/*
 * LTTng-modules before 2.6: "sys_read" begins the span "read", and "exit_syscall", which does not
 * say of which call it is, ends the innermost one.
 */
static bool old_syscall_rule(struct ctf *c, struct ctf_class *k, const char *name,
			     enum event_rule *rule, char *span)
{
	struct text t = text_of(name);
	const bool compat = text_skip(&t, "compat_");

	if (strcmp(name, "exit_syscall") == 0) {
		*rule = RULE_SYSCALL_EXIT;
		return true;
	}
	if (!text_skip(&t, "sys_") || !t.len || !has_event(c, k, "exit_syscall"))
		return false;
	snprintf(span, CTF_NAME_ROOM, "%s%s", compat ? "compat_" : "", t.p);
	*rule = RULE_ENTRY;
	return true;
}

/* X_entry and X_exit of one stream class are the span X. */
static bool pair_rule(struct ctf *c, struct ctf_class *k, const char *name, enum event_rule *rule,
		      char *span)
{
	static const char *const ends[] = { "_entry", "_exit" };
	char other[CTF_NAME_ROOM];
	const size_t len = strlen(name);

	for (int i = 0; i < 2; i++) {
		const size_t cut = strlen(ends[i]);

		if (len <= cut || len >= CTF_NAME_ROOM - 8 ||
		    strcmp(name + len - cut, ends[i]) != 0)
			continue;
		snprintf(span, CTF_NAME_ROOM, "%.*s", (int)(len - cut), name);
		snprintf(other, sizeof(other), "%s%s", span, ends[!i]);
		*rule = i ? RULE_EXIT : RULE_ENTRY;
		return has_event(c, k, other);
	}
	return false;
}

static enum event_rule named_rule(const char *name)
{
	static const char tracelog[] = "lttng_ust_tracelog:";

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strcmp(name, rules[i].name) == 0)
			return rules[i].rule;
	/* The rest of the name is that of the level. */
	return strncmp(name, tracelog, strlen(tracelog)) == 0 ? RULE_LOG : RULE_NONE;
}

enum event_rule ctf_rule(struct ctf *c, struct ctf_class *k, const char *name, char *span)
{
	enum event_rule rule = named_rule(name);

	span[0] = '\0';
	if (!c->spans)
		return RULE_NONE;
	/*
	 * SPEC ctf/wakeups: one is recorded twice, when it is asked for and when it is done: the
	 * first counts
	 */
	if (rule == RULE_WAKEUP &&
	    ((strcmp(name, "sched_wakeup") == 0 && has_event(c, k, "sched_waking")) ||
	     (strcmp(name, "sched:sched_wakeup") == 0 && has_event(c, k, "sched:sched_waking"))))
		return RULE_NONE;
	if (rule)
		return rule;
	if (syscall_rule(name, &rule, span) || old_syscall_rule(c, k, name, &rule, span) ||
	    pair_rule(c, k, name, &rule, span))
		return rule;
	span[0] = '\0';
	return RULE_NONE;
}

/* Slots of the fields that a rule needs; without them it does not apply. */
static enum event_rule rule_slots(struct ctf_trace *tr, struct ctf_event *e,
				  struct ctf_field *payload, enum event_rule rule)
{
	static const char *const fields[][CTF_RULE_SLOTS] = {
		[RULE_FUNCTION_ENTRY] = { "addr" },
		[RULE_FUNCTION_EXIT] = { "addr" },
		[RULE_SWITCH] = { "prev_tid", "next_tid", "prev_state", "next_comm", "prev_comm" },
		[RULE_WAKEUP] = { "tid", "comm" },
		[RULE_THREAD_EXIT] = { "tid" },
		[RULE_THREAD_FREE] = { "tid" },
		[RULE_LOG] = { NULL },
	};
	/* The kernel's own names, which perf keeps. */
	static const char *const others[][2] = {
		[RULE_SWITCH] = { "prev_pid", "next_pid" },
		[RULE_WAKEUP] = { "pid" },
		[RULE_THREAD_EXIT] = { "pid" },
		[RULE_THREAD_FREE] = { "pid" },
	};
	static const uint8_t needs[] = {
		[RULE_FUNCTION_ENTRY] = 1, [RULE_SWITCH] = 2,	   [RULE_WAKEUP] = 1,
		[RULE_THREAD_EXIT] = 1,	   [RULE_THREAD_FREE] = 1, [RULE_LOG] = 0,
	};
	const size_t need = needs[rule];

	for (size_t i = 0; i < CTF_RULE_SLOTS; i++)
		e->slot[i] = CTF_NO_SLOT;
	if (!fields[rule][0])
		return rule;
	for (size_t i = 0; i < CTF_RULE_SLOTS && fields[rule][i]; i++)
		e->slot[i] = plan_capture(tr->meta, payload, fields[rule][i]);
	for (size_t i = 0; i < need && rule >= RULE_SWITCH; i++)
		if (e->slot[i] == CTF_NO_SLOT)
			e->slot[i] = plan_capture(tr->meta, payload, others[rule][i]);
	for (size_t i = 0; i < need; i++)
		if (e->slot[i] == CTF_NO_SLOT)
			return RULE_NONE;
	return rule;
}

static const struct ctf_env *env_find(const struct ctf_meta *m, const char *key)
{
	for (size_t i = 0; i < m->nenv; i++)
		if (strcmp(m->env[i].key, key) == 0)
			return &m->env[i];
	return NULL;
}

/*
 * Whether the trace is of a kernel before 4.14, in which bit 64 of a state is TASK_DEAD; later it
 * is TASK_PARKED.
 */
static bool is_old_kernel(const struct ctf_meta *m)
{
	const struct ctf_env *e = env_find(m, "kernel_release");
	struct text t = text_of(e && e->is_text ? e->text : "");
	uint64_t major, minor = 0;

	if (!text_u64(&t, 10, &major))
		return false;
	if (text_skip(&t, "."))
		text_u64(&t, 10, &minor);
	return major < 4 || (major == 4 && minor < 14);
}

/*
 * SPEC ctf/thread-end: bits of `prev_state` that say that a thread ends: those of EXIT_DEAD and
 * EXIT_ZOMBIE, and what the metadata calls dead
 */
static uint32_t dead_bits(const struct ctf_meta *m, const struct ctf_field *payload)
{
	enum { EXIT_BITS = 16 | 32, OLD_DEAD = 64 };
	const struct ctf_field *f = NULL;
	uint32_t bits = EXIT_BITS | (is_old_kernel(m) ? OLD_DEAD : 0);

	for (uint32_t i = 0; payload && i < payload->nmembers && !f; i++)
		if (payload->members[i].shown &&
		    strcmp(payload->members[i].shown, "prev_state") == 0)
			f = payload->members[i].field;
	for (uint32_t i = 0; f && i < f->nmappings; i++) {
		const struct ctf_mapping *map = &f->mappings[i];

		if (map->name && map->nranges && map->ranges[0].low <= UINT32_MAX &&
		    (strstr(map->name, "DEAD") || strstr(map->name, "ZOMBIE")))
			bits |= (uint32_t)map->ranges[0].low;
	}
	return bits;
}

/* --- event classes --- */

/*
 * The class that rows of this name and id have already, where metadata grows; else a new one. `e`:
 * its event, one of them if it is a span; NULL for functions.
 */
static uint32_t class_of(struct ctf *c, struct ctf_trace *tr, uint32_t s,
			 const struct ctf_event *e, uint64_t id, uint32_t flags)
{
	const uint32_t low = flags & CLASS_FUNCTION ? UINT32_MAX : (uint32_t)id;
	const struct class_more more = { .extra = e };
	const struct event_class k = {
		.name = s, .simple = s, .raw = s, .flags = flags,
		/* Spans are no code, so they have no address; `id` is that of their first event. */
		.addr = e && (flags & CLASS_FUNCTION) ? 0 : id,
		.more = e ? &more : NULL,
		.cat = e && e->own ? e->own->cat : 0,
	};
	struct map64_slot *slot = NULL;
	uint32_t cls;

	if (tr && tr->grows)
		slot = map64_put(&tr->kept, (uint64_t)s << 32 | low);
	if (slot && slot->value)
		return (uint32_t)slot->value;
	cls = trace_add_class_locked(c->t, &k);
	if (slot)
		slot->value = cls;
	return cls;
}

/* Both ends of a span have one class. */
static uint32_t span_class(struct ctf *c, struct ctf_trace *tr, struct ctf_class *k, uint32_t span,
			   const struct ctf_event *e)
{
	const uint64_t cat = e->own ? e->own->cat : 0;
	struct map64_slot *slot = map64_put(&k->spans, cat << 32 | span);

	if (slot && !slot->value)
		slot->value = class_of(c, tr, span, e, e->class->id,
					CLASS_FUNCTION | (e->own ? CLASS_CATEGORY : 0));
	return slot ? (uint32_t)slot->value : 0;
}

static unsigned count_args(const struct ctf_field *f)
{
	return f ? f->nmembers : 0;
}

/* SPEC ctf/log-level: LTTng's word for an event class' level is the category of its rows */
static const char *level_name(int32_t level)
{
	static const char *const names[] = {
		"EMERG",	"ALERT",      "CRIT",		"ERR",		 "WARNING",
		"NOTICE",	"INFO",	      "DEBUG_SYSTEM",	"DEBUG_PROGRAM", "DEBUG_PROCESS",
		"DEBUG_MODULE", "DEBUG_UNIT", "DEBUG_FUNCTION", "DEBUG_LINE",	 "DEBUG",
	};
	const int32_t count = sizeof(names) / sizeof(names[0]);

	return level >= 0 && level < count ? names[level] : NULL;
}

/* An event that Spur wrote is the row that it was. Returns false if out of memory. */
static bool event_own(struct ctf *c, struct ctf_trace *tr, struct ctf_class *k, struct ctf_event *e,
		      struct spur_event *row)
{
	const struct ctf_own *own = own_make(c, k, e->class);

	if (!own)
		return false;
	e->own = own;
	e->cat = own->cat;
	e->slot[0] = e->class->specific ? plan_capture(tr->meta, e->class->specific, "id")
					: CTF_NO_SLOT;
	e->rule = own->kind != SPUR_INSTANT || own->flags || e->slot[0] != CTF_NO_SLOT ? RULE_OWN
										       : RULE_NONE;
	row->nargs = (uint8_t)(own->nshown < 255 ? own->nshown : 255);
	return true;
}

/* The kind of an event's row if nothing else of the row depends on its rule; else SPUR_KINDS. */
static unsigned plain_kind(const struct ctf_event *e)
{
	switch ((enum event_rule)e->rule) {
	case RULE_NONE:
		return SPUR_INSTANT;
	case RULE_ENTRY:
		return SPUR_BEGIN;
	case RULE_EXIT:
	case RULE_SYSCALL_EXIT:
		return SPUR_END_SPAN;
	case RULE_LOG:
		return SPUR_LOG;
	default:
		return SPUR_KINDS;
	}
}

/* See ctf_class.sums. `has_args`: the row has arguments. */
static uint64_t event_sum(const struct ctf_class *k, const struct ctf_event *e, bool has_args)
{
	const struct byte_program *b = &e->program->bytes;
	const bool values = b->values[true] && !e->needs_packet && !k->needs_packet;
	const uint64_t kind = plain_kind(e), nargs = values && has_args ? b->top[true] : 0;
	uint64_t sum = b->fixed <= CTF_SUM_BYTES ? (uint64_t)b->fixed << CTF_SUM_SIZE : 0;

	if (b->skip && kind != SPUR_KINDS)
		sum |= CTF_SUM_ROW | kind << CTF_SUM_KIND;
	if ((values && nargs <= CTF_SUM_ARGS_MOST) || !has_args)
		sum |= CTF_SUM_ARGS | nargs << CTF_SUM_NARGS;
	return sum;
}

/* Under the lock. */
static struct ctf_event *event_make(struct ctf *c, struct ctf_trace *tr, struct ctf_class *k,
				    struct ctf_event_class *class)
{
	const struct ctf_scope_fields scopes[] = {
		{ CTF_SCOPE_EVENT_COMMON, k->class->event_common },
		{ CTF_SCOPE_EVENT_SPECIFIC, class->specific },
		{ CTF_SCOPE_PAYLOAD, class->payload },
	};
	const unsigned nargs = count_args(k->class->event_common) + count_args(class->specific) +
			       count_args(class->payload);
	struct spur_event row = { .kind = SPUR_INSTANT,
				  .nargs = (uint8_t)(nargs < 255 ? nargs : 255) };
	struct ctf_event *e = arena_alloc(&c->t->arena, sizeof(*e));
	char span[CTF_NAME_ROOM], number[40];
	struct spur_error err;
	const char *name = class->name;
	uint32_t cls;

	if (!e)
		return NULL;
	if (!name || !name[0]) {
		snprintf(number, sizeof(number), "event#%llu", (unsigned long long)class->id);
		name = number;
	}
	e->class = class;
	e->stream = k;
	e->rule = (uint8_t)rule_slots(tr, e, class->payload, ctf_rule(c, k, name, span));
	if (e->rule == RULE_SWITCH)
		e->dead = dead_bits(tr->meta, class->payload);
	e->name = trace_intern(c->t, name);
	if (level_name(class->log_level))
		e->cat = trace_intern(c->t, level_name(class->log_level));
	if (own_is(class) && c->spans && !event_own(c, tr, k, e, &row))
		return NULL;
	if (e->own)
		cls = kind_is_call(e->own->kind)
			      ? span_class(c, tr, k, e->own->name, e)
			      : class_of(c, tr, e->own->name, e, class->id,
					 CLASS_EVENT | CLASS_CATEGORY);
	else
		cls = span[0] ? span_class(c, tr, k, trace_intern(c->t, span), e)
			      : class_of(c, tr, e->name, e, class->id, CLASS_EVENT);
	if (!cls ||
	    plan_compile(&e->program, c->t, tr->meta, &c->t->arena, scopes, 3, &err) == SPUR_FAIL)
		return NULL;
	/* Functions are looked up by their process. */
	if (k->lead.there && e->rule != RULE_FUNCTION_ENTRY && e->rule != RULE_FUNCTION_EXIT)
		bytes_drop(&e->program->bytes,
			   (const uint32_t[]){ k->pid_slot, k->tid_slot, k->name_slot }, 3);
	e->name_cls = row_pair(trace_class(c->t, cls)->name, cls);
	memcpy(&e->rest, (const char *)&row + offsetof(struct spur_event, kind), sizeof(e->rest));
	e->needs_packet = k->bits || plan_asks(e->program, tr->packet_slots, tr->npacket_slots);
	e->sum = event_sum(k, e, row.nargs != 0);
	return e;
}

static struct ctf_event_class *find_class(const struct ctf_stream_class *s, uint64_t id)
{
	size_t low;

	bisect(low, 0, s->nevents, s->events[low]->id < id);
	return low < s->nevents && s->events[low]->id == id ? s->events[low] : NULL;
}

struct ctf_event *ctf_event(struct ctf *c, struct ctf_trace *tr, struct ctf_class *k, uint64_t id)
{
	struct ctf_event_class *class = find_class(k->class, id);
	struct map64_slot *slot;
	struct ctf_event *e = NULL;

	if (!class)
		return NULL;
	pthread_mutex_lock(&c->t->lock);
	slot = map64_put(&k->events, id);
	if (slot && !slot->value) {
		e = event_make(c, tr, k, class);
		slot->value = (uintptr_t)e;
		if (e && id < k->nknown) {
			k->known[id].skip = e->program->bytes.skip;
			__atomic_store_n(&k->sums[id], e->sum, __ATOMIC_RELEASE);
			__atomic_store_n(&k->known[id].event, e, __ATOMIC_RELEASE);
			if (e->program->bytes.values[0] && !e->needs_packet)
				__atomic_store_n(&k->known[id].values, &e->program->bytes,
						 __ATOMIC_RELEASE);
		}
	} else if (slot) {
		e = (void *)(uintptr_t)slot->value;
	}
	pthread_mutex_unlock(&c->t->lock);
	return e;
}

uint32_t ctf_function(struct ctf *c, uint32_t space, uint64_t address, int64_t ts, bool *lasts)
{
	struct map64_slot *slot;
	char name[32];
	uint32_t cls = 0;

	*lasts = true;
	pthread_mutex_lock(&c->t->lock);
	if (space)
		cls = ctf_symbols_class(c, space, address, ts, lasts);
	if (cls) {
		pthread_mutex_unlock(&c->t->lock);
		return cls;
	}
	slot = map64_put(&c->functions, address);
	if (slot && !slot->value) {
		snprintf(name, sizeof(name), "0x%llx", (unsigned long long)address);
		slot->value = class_of(c, NULL, trace_intern(c->t, name), NULL, address,
				       CLASS_FUNCTION | CLASS_UNKNOWN);
	}
	pthread_mutex_unlock(&c->t->lock);
	return slot ? (uint32_t)slot->value : 0;
}

/* --- stream classes --- */

static uint32_t capture_first(struct ctf_meta *m, struct ctf_field *structure,
			      const char *const *names)
{
	uint32_t slot = CTF_NO_SLOT;

	for (size_t i = 0; names[i] && slot == CTF_NO_SLOT; i++)
		slot = plan_capture(m, structure, names[i]);
	return slot;
}

static const struct ctf_field *first_field(const struct ctf_field *f)
{
	while (f && f->kind == CTF_STRUCT && f->nmembers && f->align < 8)
		f = f->members[0].field;
	return f;
}

/*
 * An unsigned little-endian integer of that size at a multiple of `align` bits, with that role or
 * more.
 */
static bool is_uint(const struct ctf_member *m, uint32_t size, uint32_t align, uint32_t role)
{
	const struct ctf_field *f = m->field;

	return f->kind == CTF_UINT && f->size == size && f->align == align && !f->big_endian &&
	       !f->reversed && !f->unit && (f->roles & role) == role;
}

/*
 * The option of a variant that values from 0 up to `high` choose, and what it holds: a time stamp
 * of that size.
 */
static bool is_short_form(const struct ctf_field *v, uint64_t high, uint32_t size, uint32_t align)
{
	for (uint32_t i = 0; v->kind == CTF_VARIANT && i < v->nmembers; i++) {
		const struct ctf_member *m = &v->members[i];

		if (m->nranges == 1 && m->ranges[0].low == 0 && m->ranges[0].high == high)
			return m->field->kind == CTF_STRUCT && m->field->nmembers == 1 &&
			       m->field->align <= 8 &&
			       is_uint(&m->field->members[0], size, align, CTF_ROLE_TIMESTAMP) &&
			       m->field->members[0].field->save == CTF_NO_SLOT;
	}
	return false;
}

/*
 * LTTng's: an id of 5 bits with 27 of time, or of 16 bits with 32 of time; the highest id says that
 * a longer form follows.
 */
static enum usual_header find_usual(const struct ctf_stream_class *s)
{
	const struct ctf_field *h = s->event_header;

	if (!h || h->nmembers != 2 || h->align != 8 || h->members[1].field->kind != CTF_VARIANT ||
	    h->members[0].field->save == CTF_NO_SLOT ||
	    h->members[1].field->ref.slot != h->members[0].field->save)
		return USUAL_NONE;
	if (is_uint(&h->members[0], 5, 1, CTF_ROLE_EVENT_CLASS_ID) &&
	    is_short_form(h->members[1].field, 30, 27, 1))
		return USUAL_COMPACT;
	if (is_uint(&h->members[0], 16, 8, CTF_ROLE_EVENT_CLASS_ID) &&
	    is_short_form(h->members[1].field, 65534, 32, 8))
		return USUAL_LARGE;
	return USUAL_NONE;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool ctf_same_origin(const struct ctf_clock *a, const struct ctf_clock *b)
{
	if (a == b || (a->unix_epoch && b->unix_epoch))
		return true;
	if (a->name && a->uid && same_text(a->name, b->name) && same_text(a->uid, b->uid) &&
	    same_text(a->space, b->space))
		return true;
	return a->origin_uid && same_text(a->origin_name, b->origin_name) &&
	       same_text(a->origin_uid, b->origin_uid) &&
	       same_text(a->origin_space, b->origin_space);
}

/*
 * ns from a clock's origin to its zero, without its cycles of offset; 0 where 64 bits do not hold
 * it.
 */
static int64_t clock_start(struct ctf *c, const struct ctf_clock *clock)
{
	const __int128 ns = (__int128)clock->offset_seconds * 1000000000;

	if (ns <= INT64_MAX && ns >= INT64_MIN)
		return (int64_t)ns;
	diag_add(&c->t->diag, DIAG_WARN, "ctf/clock-origin", "metadata", DIAG_NO_OFF, 0,
		 "clock %s: expected an offset within 292 years, found %lld s: not used",
		 clock->id ? clock->id : "", (long long)clock->offset_seconds);
	return 0;
}

/*
 * SPEC ctf/clock-offset: the offset that is asked for, rounded down to cycles of the clock, as
 * babeltrace2 adds it; clocks that are not declared have none
 */
static int64_t offset_asked(const struct ctf *c, const struct ctf_class *k)
{
	const int64_t ns = c->t->options.clock_offset_ns, second = 1000000000;
	const int64_t rest = ns % second < 0 ? ns % second + second : ns % second;
	const unsigned __int128 cycles =
		(unsigned __int128)rest * k->class->clock->hz / (uint64_t)second;

	if (k->class->clock->implicit)
		return 0;
	return ns - rest + scale_ns_u(&k->scale, (uint64_t)cycles);
}

/*
 * SPEC ctf/clock-origin: rows count from the first clock's zero; other clocks of the same origin
 * are moved by what lies between, and others count from their own
 */
static void class_clock(struct ctf *c, struct ctf_class *k)
{
	const struct ctf_clock *clock = k->class->clock;
	int64_t start, offset;

	if (!clock || !scale_from_hz(&k->scale, clock->hz))
		scale_from_hz(&k->scale, 1000000000);
	if (!clock)
		return;
	start = clock_start(c, clock);
	k->offset = clock->offset;
	offset = scale_ns_u(&k->scale, clock->offset);
	if (!c->first_clock) {
		c->first_clock = clock;
		if (__builtin_add_overflow(start, offset, &c->epoch_base))
			c->epoch_base = start;
		c->clock_start = c->epoch_base;
		if (__builtin_add_overflow(c->epoch_base, offset_asked(c, k), &c->epoch_base)) {
			c->epoch_base = c->clock_start;
			diag_add(&c->t->diag, DIAG_WARN, "ctf/clock-origin", "metadata",
				 DIAG_NO_OFF, 0,
				 "clock offset: expected times within 292 years of 1970, found "
				 "later or earlier ones: not used");
		}
	}
	if (!ctf_same_origin(c->first_clock, clock))
		k->base = -offset;
	else if (__builtin_sub_overflow(start, c->clock_start, &k->base))
		k->base = -offset;
	k->plain = !c->t->clock.ticks && !c->t->options.raw_time && k->scale.num == 1 &&
		   k->scale.den == 1 && k->offset < INT64_MAX / 4 && k->base < INT64_MAX / 4 &&
		   k->base > INT64_MIN / 4;
	k->plain_add = k->plain ? (int64_t)k->offset + k->base : 0;
}

/* --- what is known of fields that have a role */

/* Returns the bits of the largest field with the role, or 0. Depth is bounded by META_DEPTH. */
static uint32_t role_bits(const struct ctf_field *f, uint32_t role)
{
	uint32_t bits = 0, in;

	if (!f)
		return 0;
	if (f->roles & role)
		bits = f->kind == CTF_VAR_UINT || f->size > 64 ? 64 : f->size;
	for (uint32_t i = 0; i < f->nmembers; i++) {
		in = role_bits(f->members[i].field, role);
		bits = in > bits ? in : bits;
	}
	in = role_bits(f->element, role);
	return in > bits ? in : bits;
}

/* Bits of the smallest field with the role; 0 if no field has it. */
static uint32_t role_least(const struct ctf_field *f, uint32_t role)
{
	enum { VAR_BITS = 7 };
	uint32_t bits = 0, in;

	if (!f)
		return 0;
	if (f->roles & role)
		bits = f->kind == CTF_VAR_UINT ? VAR_BITS : f->size;
	for (uint32_t i = 0; i < f->nmembers; i++) {
		in = role_least(f->members[i].field, role);
		bits = in && (!bits || in < bits) ? in : bits;
	}
	in = role_least(f->element, role);
	return in && (!bits || in < bits) ? in : bits;
}

/* --- what recorders are known to do */

static int64_t env_number(const struct ctf_meta *m, const char *key)
{
	const struct ctf_env *e = env_find(m, key);

	return e && !e->is_text ? e->number : 0;
}

int64_t ctf_trace_pid(const struct ctf_meta *m)
{
	const struct ctf_env *e = env_find(m, "vpid");

	return e && !e->is_text && e->number >= 0 ? e->number : -1;
}

static bool is_tracer(const struct ctf_meta *m, const char *name)
{
	const struct ctf_env *e = env_find(m, "tracer_name");

	return e && e->is_text && strcmp(e->text, name) == 0;
}

/*
 * SPEC ctf/loose-packets: LTTng-UST before 2.11.0, LTTng-modules before 2.9.13 and 2.10.10 write
 * events that are later than their packet's end; barectf before 2.3.1 such that are earlier than
 * its begin: those times limit nothing
 */
static void find_quirks(struct ctf_trace *tr)
{
	const struct ctf_meta *m = tr->meta;
	const int64_t major = env_number(m, "tracer_major"), minor = env_number(m, "tracer_minor");
	const int64_t lttng_patch = env_number(m, "tracer_patchlevel");
	const int64_t barectf_patch = env_number(m, "tracer_patch");
	const int64_t version = major * 1000000 + minor * 1000;

	if (major < 0 || major > 1000 || minor < 0 || minor > 999)
		return;
	if (is_tracer(m, "lttng-ust"))
		tr->loose_end = version < 2011000;
	if (is_tracer(m, "lttng-modules"))
		tr->loose_end =
			version + lttng_patch < 2009013 || (version == 2010000 && lttng_patch < 10);
	if (is_tracer(m, "barectf"))
		tr->loose_begin = version + barectf_patch < 2003001;
}

/* --- stream classes, compiled */

static bool is_word(uint8_t load)
{
	return load == BYTE_U32 || load == BYTE_I32 || load == BYTE_U32_SWAPPED ||
	       load == BYTE_I32_SWAPPED;
}

/* Threads are told from the bytes, where the common context is a whole-byte one. */
static enum spur_status find_lead(struct ctf *c, struct ctf_trace *tr, struct ctf_class *k,
				  struct spur_error *err)
{
	const struct ctf_scope_fields common = { CTF_SCOPE_EVENT_COMMON, k->class->event_common };
	struct ctf_lead *l = &k->lead;
	struct ctf_program *p;
	const struct byte_program *b;
	uint8_t load = 0;

	/* A context without an alignment may begin inside a byte. */
	if (k->tid_slot == CTF_NO_SLOT || k->class->event_common->align < 8)
		return SPUR_OK;
	if (plan_compile(&p, c->t, tr->meta, &c->t->arena, &common, 1, err) == SPUR_FAIL)
		return SPUR_FAIL;
	b = &p->bytes;
	if (!bytes_find(b, k->tid_slot, &l->tid, &l->tid_load) || !is_word(l->tid_load))
		return SPUR_OK;
	l->pid = l->tid;
	l->pid_load = l->tid_load;
	l->has_name = bytes_find(b, k->name_slot, &l->name, &load) && load == BYTE_PLACE;
	l->there = (k->pid_slot == CTF_NO_SLOT ||
		    (bytes_find(b, k->pid_slot, &l->pid, &l->pid_load) && is_word(l->pid_load))) &&
		   (k->name_slot == CTF_NO_SLOT || l->has_name);
	return SPUR_OK;
}

static bool has_switches(const struct ctf *c, const struct ctf_stream_class *s)
{
	for (size_t i = 0; c->spans && i < s->nevents; i++)
		if (s->events[i]->name && named_rule(s->events[i]->name) == RULE_SWITCH &&
		    !own_is(s->events[i]))
			return true;
	return false;
}

/* Whether the stream class has events that tell threads by their id in a field. */
static bool has_thread_events(const struct ctf *c, const struct ctf_stream_class *s)
{
	for (size_t i = 0; c->spans && i < s->nevents; i++) {
		const char *name = s->events[i]->name;
		const enum event_rule rule = name ? named_rule(name) : RULE_NONE;

		if ((rule == RULE_SWITCH || rule == RULE_WAKEUP || rule == RULE_THREAD_FREE) &&
		    !own_is(s->events[i]))
			return true;
	}
	return false;
}

static bool has_member(const struct ctf_field *f, const char *name)
{
	for (uint32_t i = 0; f && i < f->nmembers; i++)
		if (f->members[i].shown && strcmp(f->members[i].shown, name) == 0)
			return true;
	return false;
}

/* The ids of `vtid` are those inside a namespace, which the scheduler does not know. */
static bool has_global_tids(const struct ctf *c, const struct ctf_meta *m)
{
	bool events = false, contexts = false;

	for (size_t i = 0; i < m->nstreams; i++) {
		const struct ctf_field *f = m->streams[i]->event_common;

		events |= has_thread_events(c, m->streams[i]);
		contexts |= has_member(f, "pid") && has_member(f, "tid") &&
			    !has_member(f, "vpid") && !has_member(f, "vtid");
	}
	return events && contexts;
}

/* The place of an integer of that name; UINT32_MAX if there is no such integer. */
static uint32_t member_at(const struct ctf_field *f, const char *name)
{
	for (uint32_t i = 0; f && i < f->nmembers; i++)
		if (f->members[i].shown && strcmp(f->members[i].shown, name) == 0 &&
		    (f->members[i].field->kind == CTF_UINT ||
		     f->members[i].field->kind == CTF_SINT))
			return i;
	return UINT32_MAX;
}

static enum spur_status class_open(struct ctf *c, struct ctf_trace *tr, struct ctf_class *k,
				   struct ctf_stream_class *class, struct spur_error *err)
{
	static const char *const pids[] = { "vpid", "pid", NULL },
				 *const tids[] = { "vtid", "tid", NULL },
				 *const names[] = { "procname", NULL };
	const struct ctf_scope_fields context = { CTF_SCOPE_PACKET_CONTEXT, class->packet_context };
	const struct ctf_scope_fields header = { CTF_SCOPE_EVENT_HEADER, class->event_header };
	const struct ctf_scope_fields common = { CTF_SCOPE_EVENT_COMMON, class->event_common };
	const struct ctf_field *first =
		class->event_header ? class->event_header : class->event_common;

	k->class = class;
	k->pid_slot = capture_first(tr->meta, class->event_common, pids);
	k->tid_slot = capture_first(tr->meta, class->event_common, tids);
	k->name_slot = capture_first(tr->meta, class->event_common, names);
	k->ip_at = c->spans ? member_at(class->event_common, "ip") : UINT32_MAX;
	k->ip_pid_at = member_at(class->event_common, "vpid");
	/*
	 * SPEC ctf/running: without a thread in the context, an event is of who was switched to
	 * last on its CPU
	 */
	k->by_switch = k->tid_slot == CTF_NO_SLOT && has_switches(c, class);
	k->names_threads = has_thread_events(c, class);
	first = first_field(first);
	k->bits = !first || first->align < 8;
	k->usual = (uint8_t)find_usual(class);
	k->sequence_bits = role_bits(class->packet_context, CTF_ROLE_SEQUENCE);
	k->time_bits = role_least(class->event_header, CTF_ROLE_TIMESTAMP);
	k->discarded_bits = role_bits(class->packet_context, CTF_ROLE_DISCARDED);
	/* SPEC ctf/no-time: events without a time have that of the one before, or of the packet */
	if (class->clock && !role_bits(class->event_header, CTF_ROLE_TIMESTAMP))
		k->flags = SPUR_F_RETIMED;
	if (k->usual)
		k->id_slot = slot_index(class->event_header->members[0].field->save);
	class_clock(c, k);
	if (!ctf_class_origin(c, tr, k))
		return err_nomem(err);
	if (class->v11_event_size)
		k->size_slot = plan_capture(tr->meta, class->event_common, "payload_size");
	if (class->v11_event_size && k->size_slot != CTF_NO_SLOT &&
	    plan_compile(&k->common, c->t, tr->meta, &c->t->arena, &common, 1, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (class->nevents && class->events[class->nevents - 1]->id < CTF_KNOWN)
		k->nknown = (uint32_t) class->events[class->nevents - 1]->id + 1;
	else
		k->nknown = class->nevents ? CTF_KNOWN : 0;
	k->known = arena_alloc(&c->t->arena, k->nknown * sizeof(*k->known));
	k->sums = arena_alloc(&c->t->arena, k->nknown * sizeof(*k->sums));
	if (!k->known || !k->sums)
		return err_nomem(err);
	if (find_lead(c, tr, k, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (plan_compile(&k->context, c->t, tr->meta, &c->t->arena, &context, 1, err) == SPUR_FAIL)
		return SPUR_FAIL;
	return plan_compile(&k->header, c->t, tr->meta, &c->t->arena, &header, 1, err);
}

/* What people put before an event to tell where it is from. Returns false if out of memory. */
static bool make_head(struct ctf *c, struct ctf_trace *tr)
{
	static const char *const keys[] = { "hostname", "procname", "vpid" };
	const struct ctf_meta *m = tr->meta;
	const char *head = "";

	for (size_t k = 0; head && k < 3; k++) {
		const char *sep = head[0] ? ":" : "";

		for (size_t i = 0; head && i < m->nenv; i++) {
			const struct ctf_env *e = &m->env[i];

			if (strcmp(e->key, keys[k]) != 0 || e->is_text != (k < 2))
				continue;
			head = e->is_text ? arena_printf(&c->t->arena, "%s%s%s", head, sep, e->text)
					  : arena_printf(&c->t->arena, "%s%s(%lld)", head, sep,
							 (long long)e->number);
			break;
		}
	}
	if (head && head[0])
		head = arena_printf(&c->t->arena, "%s ", head);
	tr->head = head;
	tr->head_len = head ? strlen(head) : 0;
	return head != NULL;
}

/* What of events asks for the heads of their packets. Returns false if out of memory. */
static bool find_packet_slots(struct ctf *c, struct ctf_trace *tr)
{
	const uint32_t n = CTF_SLOTS_FIXED + tr->meta->nslots;

	tr->packet_slots = arena_alloc(&c->t->arena, n * sizeof(*tr->packet_slots));
	if (!tr->packet_slots)
		return false;
	tr->npacket_slots = n;
	plan_fills(tr->header, tr->packet_slots, n);
	for (size_t i = 0; i < tr->meta->nstreams; i++)
		plan_fills(tr->classes[i].context, tr->packet_slots, n);
	for (size_t i = 0; i < tr->meta->nstreams; i++)
		tr->classes[i].needs_packet = tr->classes[i].bits ||
					      plan_asks(tr->classes[i].header, tr->packet_slots, n);
	return true;
}

enum spur_status ctf_trace_open(struct ctf *c, struct ctf_trace *tr, struct spur_error *err)
{
	struct ctf_meta *m = tr->meta;
	const struct ctf_scope_fields header = { CTF_SCOPE_PACKET_HEADER, m->packet_header };
	const struct ctf_env *domain;
	uint64_t nslots = CTF_SLOTS_FIXED;
	bool bits = false;

	tr->classes = arena_alloc(&c->t->arena, (m->nstreams + 1) * sizeof(*tr->classes));
	if (!tr->classes || !make_head(c, tr))
		return err_nomem(err);
	if (c->spans)
		c->has_own |= own_adapt(m);
	tr->pid = ctf_trace_pid(m);
	domain = env_find(m, "domain");
	tr->kernel = domain && domain->is_text && strcmp(domain->text, "kernel") == 0;
	find_quirks(tr);
	tr->global_tids = has_global_tids(c, m);
	if (plan_compile(&tr->header, c->t, m, &c->t->arena, &header, 1, err) == SPUR_FAIL)
		return SPUR_FAIL;
	for (size_t i = 0; i < m->nstreams; i++)
		if (class_open(c, tr, &tr->classes[i], m->streams[i], err) == SPUR_FAIL)
			return SPUR_FAIL;
	/*
	 * SPEC ctf/row-place: places are bits in all of a trace whose events may begin inside bytes
	 */
	for (size_t i = 0; i < m->nstreams; i++)
		bits |= tr->classes[i].bits;
	for (size_t i = 0; i < m->nstreams; i++)
		tr->classes[i].bits = bits;
	/* Rules of events may keep some values each. */
	nslots += m->nslots;
	for (size_t i = 0; i < m->nstreams; i++)
		nslots += CTF_RULE_SLOTS * (uint64_t)m->streams[i]->nevents;
	tr->nslots = nslots < PLAN_CURSOR_SLOTS ? (uint32_t)nslots : PLAN_CURSOR_SLOTS;
	c->nslots = ctf_slots(tr) > c->nslots ? ctf_slots(tr) : c->nslots;
	return find_packet_slots(c, tr) ? SPUR_OK : err_nomem(err);
}
