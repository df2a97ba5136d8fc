/*
 * Conditions under which a snapshot of the ring is kept. Compiled for general registers alone, as
 * record.c says.
 */
#include "hook.h"

enum { WHY_MOST = 80 };

static const char *const names[] = { "number", "on" };
static const uint8_t types[] = { SPB_U64, SPB_TEXT };
static struct spur_trace_site site = { .kind = SPB_SITE_INSTANT,
				       .nargs = 2,
				       .category = "spur",
				       .name = "snapshot",
				       .file = "",
				       .arg_names = names,
				       .arg_types = types };

static void signalled(int number)
{
	const char *why = "signal";

	switch (number) {
	case SIGUSR1:
		why = "SIGUSR1";
		break;
	case SIGUSR2:
		why = "SIGUSR2";
		break;
	case SIGHUP:
		why = "SIGHUP";
		break;
	case SIGWINCH:
		why = "SIGWINCH";
		break;
	case SIGURG:
		why = "SIGURG";
		break;
	case SIGCONT:
		why = "SIGCONT";
		break;
	}
	hook_keep(why, hook_ticks());
}

void hook_keep_begin(const struct record_settings *s)
{
	if (!s->keeps)
		return;
	spur_trace_number(&site);
	core_keep_allow(s->keeps, hook_ticks_of(s->keep_after));
	if (!hook_signal_take(s->keep_signal, signalled))
		hook_say("the signal that keeps a snapshot cannot be taken", "");
}

struct asked {
	uint64_t ticks;
	uint32_t number;
};

static void ask(void *arg)
{
	struct asked *const a = arg;

	a->number = core_keep(a->ticks);
}

void hook_keep(const char *why, uint64_t ticks)
{
	uint64_t payload[2 + WHY_MOST / SPB_WORD] = { 0 };
	uint8_t *const text = (uint8_t *)&payload[1];
	const uint32_t number = seam_load32(&site.number);
	struct asked a = { ticks, 0 };
	uint64_t len = 0;

	hook_guarded(ask, &a);
	if (!a.number || !number)
		return;
	payload[0] = a.number;
	for (; why[len] && len < WHY_MOST; len++)
		text[2 + len] = (uint8_t)why[len];
	text[0] = (uint8_t)len;
	hook_record(SPB_EVENT, number, payload,
		    SPB_WORD + (2 + len + SPB_WORD - 1) / SPB_WORD * SPB_WORD, ticks);
}

void hook_keep_entered(const struct hook_function *f)
{
	const uint64_t calls = seam_add((uint64_t *)(uintptr_t)&f->calls, 1) + 1;

	for (uint32_t i = 0; i < f->plan->nconditions; i++) {
		const struct plan_condition *const c = &f->conditions[i];

		if (c->when == PLAN_WHEN_COUNT && c->value == calls)
			hook_keep(f->texts + c->text, hook_ticks());
	}
}

static bool is_longer(const struct plan_condition *c, uint64_t took)
{
	const uint64_t least = hook_ticks_of(c->value);

	return c->when == PLAN_WHEN_LONGER ? took > least : took >= least;
}

void hook_keep_left(const struct hook_function *f, uint64_t took, uint64_t ticks)
{
	for (uint32_t i = 0; i < f->plan->nconditions; i++) {
		const struct plan_condition *const c = &f->conditions[i];

		if (c->when != PLAN_WHEN_COUNT && is_longer(c, took)) {
			hook_keep(f->texts + c->text, ticks);
			return;
		}
	}
}
