/*
 * What the compiler calls before each access of sources that are compiled with -fsanitize=thread;
 * the build gives these functions their names below (tests/sim/sim.mk), so that they meet no
 * sanitizer's own.
 */
#include "machine.h"

void sim_tsan_init(void);
void sim_tsan_func_entry(void *caller);
void sim_tsan_func_exit(void);

void sim_tsan_init(void)
{
}

void sim_tsan_func_entry(void *caller)
{
	(void)caller;
}

void sim_tsan_func_exit(void)
{
}

#define ACCESS(name, size, write)           \
	void sim_tsan_##name(void *p);      \
	void sim_tsan_##name(void *p)       \
	{                                   \
		sim_access(p, size, write); \
	}

ACCESS(read1, 1, false)
ACCESS(read2, 2, false)
ACCESS(read4, 4, false)
ACCESS(read8, 8, false)
ACCESS(read16, 16, false)
ACCESS(write1, 1, true)
ACCESS(write2, 2, true)
ACCESS(write4, 4, true)
ACCESS(write8, 8, true)
ACCESS(write16, 16, true)
ACCESS(unaligned_read2, 2, false)
ACCESS(unaligned_read4, 4, false)
ACCESS(unaligned_read8, 8, false)
ACCESS(unaligned_read16, 16, false)
ACCESS(unaligned_write2, 2, true)
ACCESS(unaligned_write4, 4, true)
ACCESS(unaligned_write8, 8, true)
ACCESS(unaligned_write16, 16, true)

void sim_tsan_read_range(void *p, size_t size);
void sim_tsan_write_range(void *p, size_t size);
void *sim_tsan_memcpy(void *to, const void *from, size_t size);
void *sim_tsan_memset(void *to, int byte, size_t size);
int64_t sim_tsan_atomic64_load(const volatile int64_t *p, int order);
int32_t sim_tsan_atomic32_load(const volatile int32_t *p, int order);
void sim_tsan_atomic_signal_fence(int order);

void sim_tsan_read_range(void *p, size_t size)
{
	sim_access(p, size, false);
}

void sim_tsan_write_range(void *p, size_t size)
{
	sim_access(p, size, true);
}

int64_t sim_tsan_atomic64_load(const volatile int64_t *p, int order)
{
	(void)order;
	return (int64_t)sim_load((const void *)(uintptr_t)p, 8);
}

int32_t sim_tsan_atomic32_load(const volatile int32_t *p, int order)
{
	(void)order;
	return (int32_t)sim_load((const void *)(uintptr_t)p, 4);
}

void sim_tsan_atomic_signal_fence(int order)
{
	(void)order;
	sim_fence();
}
