/* Options of output that are the same for all analyses. */
#ifndef SPUR_RENDER_OPTIONS_H
#define SPUR_RENDER_OPTIONS_H

#include "flow/filter.h"
#include "format/format.h"

enum output_form { FORM_TEXT, FORM_JSON, FORM_JSONL, FORM_CSV };
/*
 * TIME_EXACT (for convert): TIME_RAW if viewers that store times as doubles show them exactly, else
 * TIME_REL.
 */
enum time_form { TIME_REL, TIME_ABS, TIME_RAW, TIME_EXACT };

/* Zero is every option's default. Strings are as given. */
struct render_options {
	enum output_form form;
	enum time_form time;
	const char *fields, *sort; /* lists of columns; NULL: those of the analysis */
	uint64_t limit; /* rows or lines; 0: all */
	bool raw; /* exact numbers instead of human units */
	bool no_args; /* events without their arguments */
	bool continued; /* the output continues that of another file: CSV has no heading */
	bool color;
	bool ascii; /* lines are drawn with ASCII: a terminal whose locale has no UTF-8 */
	unsigned width; /* columns of the terminal; 0: not a terminal */
	int demangle; /* enum demangle_form */
};

/* Options of lines of nested calls (calltext.h). */
struct calltext_options {
	bool flat; /* not indented */
	bool libname; /* libraries behind the names of their functions */
	bool srcline; /* source files and lines of functions */
	bool no_comment; /* no names behind closing braces */
};

/* The source and the destination of text. All members are borrowed. */
struct render_env {
	struct spur_trace *trace;
	struct filter *filter; /* NULL: all rows pass */
	const struct render_options *opt;
	struct out *out;
	struct spur_error *err;
};

#endif
