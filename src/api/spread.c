/* How durations are spread: percentiles in bounded memory, as reports have them. */
#include "flow/spread.h"

#include "api/api.h"

struct spur_spread {
	struct spread spread;
	bool failed; /* out of memory: durations are missing */
};

struct spur_spread *spur_spread_new(void)
{
	return mem_alloc(sizeof(struct spur_spread));
}

enum spur_status spur_spread_add(struct spur_spread *s, uint64_t duration)
{
	if (!api_given(NULL, "spur_spread_add", s, "a spread"))
		return SPUR_FAIL;
	s->failed |= !spread_add(&s->spread, duration);
	return s->failed ? SPUR_FAIL : SPUR_OK;
}

uint64_t spur_spread_count(const struct spur_spread *s)
{
	return api_given(NULL, "spur_spread_count", s, "a spread") ? s->spread.count : 0;
}

uint64_t spur_spread_percentile(struct spur_spread *s, unsigned percent)
{
	if (!api_given(NULL, "spur_spread_percentile", s, "a spread"))
		return 0;
	if (percent <= 100)
		return spread_percentile(&s->spread, percent);
	api_misuse(NULL, NULL, "spur_spread_percentile: expected at most 100, found %u", percent);
	return 0;
}

void spur_spread_free(struct spur_spread *s)
{
	if (!s)
		return;
	spread_free(&s->spread);
	mem_free(s);
}
