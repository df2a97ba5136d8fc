/*
 * Names of functions that events identify by address. LTTng-UST records the mappings of each
 * process (state dump, dlopen, library loads), and the programs and libraries have the symbols.
 */
#ifndef SPUR_FORMAT_CTF_SYMBOLS_H
#define SPUR_FORMAT_CTF_SYMBOLS_H

#include "format/ctf/reader.h"

struct ctf_symbols;

/*
 * If the trace has functions by address and records mappings, reads the mappings from all streams
 * and sets c->symbols. Returns false if out of memory.
 */
bool ctf_symbols_open(struct ctf *c);
/* NULL is fine. */
void ctf_symbols_free(struct ctf_symbols *s);
/* Returns the number of a process's mappings, or 0 if it has none. Any thread. */
uint32_t ctf_symbols_space(const struct ctf *c, const struct ctf_trace *tr, int64_t pid);
/*
 * Returns the class of the function at an address, or 0 if it is unknown, or if out of memory. `ts`
 * selects the mapping if an address was reused; *lasts is then false. Called with t->lock held.
 */
uint32_t ctf_symbols_class(struct ctf *c, uint32_t space, uint64_t address, int64_t ts,
			   bool *lasts);

/* The binary, function and source line at an address; string ids, 0: unknown. */
struct ctf_address {
	uint32_t binary; /* "app+0x1189", or "app@0x401189" if it is not position-independent */
	uint32_t function; /* "main+0x1f" */
	uint32_t source; /* "app.c:34" */
};
/*
 * Fills *out for an address of a process at a time; opens programs and libraries when first
 * needed. Any thread. Returns false if nothing is mapped there.
 */
bool ctf_symbols_at(struct ctf *c, uint32_t space, uint64_t address, int64_t ts,
		    struct ctf_address *out);

#endif
