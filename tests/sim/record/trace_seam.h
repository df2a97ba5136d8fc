/*
 * SPUR_TRACE_SEAM: what spur_trace.h takes instead of its own functions that change a thread's
 * place and store records. The thread's place is that of the simulated thread.
 */
#include "machine.h"

#define spur_trace_here (*(struct spur_trace_place *)(void *)sim_tls)

static inline __attribute__((always_inline)) char *spur_trace_add(uint64_t size)
{
	return (char *)(uintptr_t)sim_add((uint64_t *)(void *)&spur_trace_here.at, size);
}

static inline __attribute__((always_inline)) void spur_trace_store(char *p, uint64_t word)
{
	sim_store(p, word, 8, SIM_RELEASE);
}

static inline __attribute__((always_inline)) void spur_trace_copy(char *to, const void *from,
								  uint64_t size)
{
	sim_copy(to, from, size);
}
