/*
 * Names of functions that events tell by their address: LTTng-UST says what is mapped where in each
 * process (state dump, dlopen, library loads), and the programs and libraries themselves say what
 * lies in them.
 */
#ifndef SPUR_FORMAT_CTF_SYMBOLS_H
#define SPUR_FORMAT_CTF_SYMBOLS_H

#include "format/ctf/reader.h"

struct ctf_symbols;

/*
 * Where the trace has functions by address and says what is mapped, reads all streams for that:
 * c->symbols is set. Returns false if out of memory.
 */
bool ctf_symbols_open(struct ctf *c);
/* NULL is fine. */
void ctf_symbols_free(struct ctf_symbols *s);
/* Number of a process' mappings; 0: it has none. Any thread. */
uint32_t ctf_symbols_space(const struct ctf *c, const struct ctf_trace *tr, int64_t pid);
/*
 * The class of the function at an address; `ts` decides where a place was used again, and then
 * *lasts is false. 0: nothing is known to be there, or if out of memory. Under the trace's lock.
 */
uint32_t ctf_symbols_class(struct ctf *c, uint32_t space, uint64_t address, int64_t ts,
			   bool *lasts);

/* What lies at an address; string ids, 0: not known. */
struct ctf_address {
	uint32_t binary; /* "app+0x1189", or "app@0x401189" if it is not position-independent */
	uint32_t function; /* "main+0x1f" */
	uint32_t source; /* "app.c:34" */
};
/*
 * Fills *out with what is known to lie at an address of a process at a time; opens programs and
 * libraries when they are first asked for. Any thread. Returns false if nothing is mapped there.
 */
bool ctf_symbols_at(struct ctf *c, uint32_t space, uint64_t address, int64_t ts,
		    struct ctf_address *out);

#endif
