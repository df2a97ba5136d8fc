/* See join_clock.h. */
#include "flow/join_clock.h"

#include <string.h>

/* Clocks of the kernel: whoever reads one of them on a machine reads the same. */
static bool is_kernel_clock(const char *name)
{
	static const char *const names[] = { "monotonic", "monotonic raw", "boottime", "realtime" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool names_one_clock(const struct spur_trace *a, const struct spur_trace *b)
{
	const struct clock_info *x = &a->clock, *y = &b->clock;

	if (strcmp(x->name, y->name) != 0 || x->hz != y->hz || strcmp(x->name, "unknown") == 0)
		return false;
	/* Of a zero of its own only another trace of the format may be thought to have the same. */
	if (x->own_zero || y->own_zero)
		return a->format == b->format && x->own_zero == y->own_zero;
	return a->format == b->format || is_kernel_clock(x->name);
}

/* An epoch that was taken in whole seconds tells less than the clock's name does. */
static bool epochs_agree(const struct clock_info *a, const struct clock_info *b, int64_t distance)
{
	const int64_t error = a->epoch_error_ns + b->epoch_error_ns;

	return !distance || (error && distance <= error && distance >= -error);
}

enum join_relation join_relate(const struct spur_trace *a, const struct spur_trace *b,
			       int64_t *shift)
{
	const struct clock_info *x = &a->clock, *y = &b->clock;
	const bool one_name = names_one_clock(a, b);
	int64_t distance;

	*shift = 0;
	if (!x->epoch_known || !y->epoch_known)
		return one_name ? JOIN_ASSUMED : JOIN_UNRELATED;
	if (__builtin_sub_overflow(y->epoch_ns, x->epoch_ns, &distance))
		return JOIN_UNRELATED;
	if (one_name && epochs_agree(x, y, distance))
		return JOIN_ONE_CLOCK;
	if (x->ticks || y->ticks)
		return JOIN_UNRELATED;
	*shift = distance;
	return JOIN_EPOCHS;
}
