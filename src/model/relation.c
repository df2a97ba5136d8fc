/* Mapping times from one clock to another. See relation.h. */
#include "model/relation.h"

#include <assert.h>

typedef __int128 i128;

static int64_t clamped(i128 ts)
{
	return ts > INT64_MAX ? INT64_MAX : ts < INT64_MIN ? INT64_MIN : (int64_t)ts;
}

/* Before it is clamped. (t - pivot) has 65 bits and `drift` 58, so the product fits 128. */
static i128 mapped(const struct clock_map *m, i128 ts)
{
	const i128 drifted = (ts - m->pivot) * m->drift + CLOCK_DRIFT_ONE / 2;

	return ts + m->shift + (drifted >> CLOCK_DRIFT_BITS);
}

int64_t clock_map_ts(const struct clock_map *m, int64_t ts)
{
	assert(m->drift <= CLOCK_DRIFT_MAX && m->drift >= -CLOCK_DRIFT_MAX);
	return clamped(mapped(m, ts));
}

int64_t clock_map_dur(const struct clock_map *m, int64_t ts, int64_t dur)
{
	return m->drift ? clamped(mapped(m, (i128)ts + dur) - mapped(m, ts)) : dur;
}

int64_t clock_map_back(const struct clock_map *m, int64_t ts)
{
	const i128 from_pivot = (i128)ts - m->shift - m->pivot;
	i128 own;

	if (!m->drift)
		return clamped((i128)ts - m->shift);
	/* Within a unit or two of the least one, as both ways round. */
	own = m->pivot + from_pivot * CLOCK_DRIFT_ONE / (CLOCK_DRIFT_ONE + m->drift);
	while (mapped(m, own) >= ts)
		own--;
	while (mapped(m, own) < ts)
		own++;
	return clamped(own);
}

int64_t clock_drift_trillionths(int64_t drift)
{
	const i128 trillionths = (i128)drift * 1000000000000;

	return (int64_t)((trillionths + CLOCK_DRIFT_ONE / 2) >> CLOCK_DRIFT_BITS);
}

const char *relation_word(enum spur_related how)
{
	static const char *const words[] = {
		[SPUR_RELATED_FIRST] = "first",	    [SPUR_RELATED_SAME] = "same",
		[SPUR_RELATED_BOOT] = "boot",	    [SPUR_RELATED_EPOCHS] = "epochs",
		[SPUR_RELATED_ASSUMED] = "assumed", [SPUR_RELATED_TOLD] = "same-clock",
		[SPUR_RELATED_OFFSET] = "offset",   [SPUR_RELATED_EVENTS] = "align",
		[SPUR_RELATED_AUTO] = "align-auto",
	};

	assert((size_t)how < sizeof(words) / sizeof(words[0]));
	return words[how];
}

const char *relation_text(enum spur_related how)
{
	static const char *const texts[] = {
		[SPUR_RELATED_FIRST] = "the clock of the first trace is that of all",
		[SPUR_RELATED_SAME] = "the same clock, as names and epochs agree",
		[SPUR_RELATED_BOOT] = "the same clock of one boot, as both traces say",
		[SPUR_RELATED_EPOCHS] = "both traces know the time of day",
		[SPUR_RELATED_ASSUMED] = "taken to be the same clock, as the names agree",
		[SPUR_RELATED_TOLD] = "--same-clock",
		[SPUR_RELATED_OFFSET] = "--offset",
		[SPUR_RELATED_EVENTS] = "--align: events that happened at the same moment",
		[SPUR_RELATED_AUTO] = "--align auto: events that both traces have",
	};

	assert((size_t)how < sizeof(texts) / sizeof(texts[0]));
	return texts[how];
}
