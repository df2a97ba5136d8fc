/* See join_clock.h. */
#include "flow/join_clock.h"

#include <string.h>

bool join_is_kernel_clock(const char *name)
{
	static const char *const names[] = { "monotonic", "monotonic raw", "boottime", "realtime" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/*
 * Returns true if both traces say which boot their clock is of. An identity of a clock that is not
 * the kernel's is no proof: programs are built with one, and count from 0 in each run.
 */
static bool boots_known(const struct clock_info *x, const struct clock_info *y)
{
	return x->identity && y->identity && join_is_kernel_clock(x->name);
}

static bool names_one_clock(const struct spur_trace *a, const struct spur_trace *b)
{
	const struct clock_info *x = &a->clock, *y = &b->clock;

	if (strcmp(x->name, y->name) != 0 || x->hz != y->hz || strcmp(x->name, "unknown") == 0)
		return false;
	if (boots_known(x, y) && strcmp(x->identity, y->identity) != 0)
		return false;
	/* A zero of its own can be that of another trace only if the format is the same. */
	if (x->own_zero || y->own_zero)
		return a->format == b->format && x->own_zero == y->own_zero;
	return a->format == b->format || join_is_kernel_clock(x->name);
}

/* An epoch that was taken in whole seconds tells less than the clock's name does. */
static bool epochs_agree(const struct clock_info *a, const struct clock_info *b, int64_t distance)
{
	const int64_t error = a->epoch_error_ns + b->epoch_error_ns;

	return !distance || (error && distance <= error && distance >= -error);
}

bool join_relate(const struct spur_trace *a, const struct spur_trace *b, struct clock_relation *how,
		 int64_t *shift)
{
	const struct clock_info *x = &a->clock, *y = &b->clock;
	const bool one_name = names_one_clock(a, b);
	int64_t distance;

	*shift = 0;
	*how = (struct clock_relation){ .how = SPUR_RELATED_BOOT };
	/*
	 * SPEC ctf/clock-boot: epochs of one boot differ, as each is measured when its trace is
	 * made, and as the time of day is set.
	 */
	if (one_name && !x->own_zero && boots_known(x, y))
		return true;
	if (!x->epoch_known || !y->epoch_known) {
		*how = (struct clock_relation){ .how = SPUR_RELATED_ASSUMED, .error = -1 };
		return one_name;
	}
	if (__builtin_sub_overflow(y->epoch_ns, x->epoch_ns, &distance))
		return false;
	how->how = SPUR_RELATED_SAME;
	if (one_name && epochs_agree(x, y, distance))
		return true;
	how->how = SPUR_RELATED_EPOCHS;
	how->error = x->epoch_error_ns + y->epoch_error_ns;
	*shift = distance;
	return !x->ticks && !y->ticks;
}
