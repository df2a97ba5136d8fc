/*
 * Events that Spur wrote (write.c): their URI says which kind of row each was, so that the same
 * rows come back.
 */
#ifndef SPUR_FORMAT_CTF_OWN_H
#define SPUR_FORMAT_CTF_OWN_H

#include "format/ctf/reader.h"

/* What an event class of Spur's says. */
struct ctf_own {
	uint8_t kind; /* enum spur_kind */
	uint16_t flags;
	uint32_t name, cat; /* string ids; 0: no category */
	uint32_t *names; /* of the arguments shown, string ids; UINT32_MAX: that of the field */
	uint32_t *shown; /* the arguments, as numbers of the event's fields in all scopes */
	uint32_t nshown;
};

/* Returns true if the event class is one of Spur's. */
bool own_is(const struct ctf_event_class *e);
/*
 * Makes field classes those that the writer had where CTF 1.8 has none like them. Called before
 * fields are compiled. Returns true if any event class is one of Spur's.
 */
bool own_adapt(struct ctf_meta *m);
/*
 * What an event class of Spur's says, in the trace's arena. NULL: out of memory, or the class is
 * not one. The trace's lock may be held.
 */
struct ctf_own *own_make(struct ctf *c, const struct ctf_class *k, const struct ctf_event_class *e);
/* Leaves of all fields those that were arguments. */
void own_args(const struct ctf_own *own, struct spur_args *args);

#endif
