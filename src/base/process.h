/* Which processes run, by what recordings say of them. */
#ifndef SPUR_BASE_PROCESS_H
#define SPUR_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

enum { PROCESS_BOOT_SIZE = 16 };

/*
 * Returns true if the process with this pid that was started at `start_time`, in clock ticks since
 * boot, runs. Thread-safe.
 */
bool process_runs(uint32_t pid, uint64_t start_time);
/* Returns true if those PROCESS_BOOT_SIZE bytes are the id of this machine's boot. Thread-safe. */
bool process_boot_is_this(const uint8_t *boot);

#endif
