/* Diagnostics as JSON and as lines. */
#ifndef SPUR_RENDER_DIAG_H
#define SPUR_RENDER_DIAG_H

#include "base/err.h"
#include "base/out.h"

/* "note", "warning", "damage" */
const char *diag_level_name(enum diag_level level);
/* {"level":...,"code":...,"file":...,"count":...,"first_offset":...,"bytes_lost":...,"first":...}
 */
void diag_json(struct out *o, const struct diag_group *g);
/* Writes a list of the diagnostics of the level. */
void diag_json_list(struct out *o, const struct diag_log *log, enum diag_level level);
/*
 * Writes "FILE:0xOFFSET: " before a message, or "FILE: " if the offset is DIAG_NO_OFF. Safe on a
 * terminal.
 */
void diag_place(struct out *o, const char *file, uint64_t off);
uint64_t diag_bytes_lost(const struct diag_log *log);

#endif
