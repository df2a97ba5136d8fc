/* Arguments and event data as uftrace words them. */
#ifndef SPUR_STYLE_UFTRACE_TEXT_ARGS_H
#define SPUR_STYLE_UFTRACE_TEXT_ARGS_H

#include "flow/args.h"
#include "style/uftrace/text/text.h"

enum style_args_mode {
	ARGS_PAREN = 1, /* ( and ) around */
	ARGS_ASSIGN = 2, /* " = " in front */
	ARGS_JSON = 4, /* inside of a JSON string */
	ARGS_SAFE = 8, /* for a terminal: no control bytes */
};

/* trace_args() for text: if out of memory, `o` has the error. */
bool style_get_args(struct spur_trace *t, struct out *o, const struct spur_event *row,
		    struct spur_args *args);

/*
 * Writes the arguments of a BEGIN or the return value of an END; only the parentheses if there are
 * no arguments.
 */
void style_args(struct spur_trace *t, struct out *o, const struct spur_event *row, unsigned mode,
		struct spur_args *scratch);
/* The lines that a dump has for them. */
void style_dump_args(struct spur_trace *t, struct out *o, const struct spur_event *row,
		     unsigned mode, struct spur_args *scratch);
/* Bytes of the payload without its padding. */
size_t style_args_length(struct spur_trace *t, const struct spur_event *row);

/* Name of an event by id and row. */
const char *style_event_name(const struct spur_trace *t, const struct spur_event *row, size_t *len);
/*
 * The data of an event. False: it has none; nothing is written. `verbose`: with signs and ratios.
 */
bool style_event_data(struct spur_trace *t, struct out *o, const struct spur_event *row,
		      bool verbose, unsigned mode, struct spur_args *scratch);
/* Payload of an EVENT record; len 0: none. */
struct text style_event_payload(struct spur_trace *t, const struct spur_event *row);

/* A string of the data: as it is, or with control bytes escaped. */
void style_string(struct out *o, const char *s, size_t len, unsigned mode);
/* A byte inside of a JSON string, as uftrace escapes names. */
void style_json_byte(struct out *o, char c);

#endif
