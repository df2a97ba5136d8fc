/* The page of the viewer as one file, which the program makes and the library does not have. */
#ifndef SPUR_EXPORT_HTML_H
#define SPUR_EXPORT_HTML_H

#include "flow/pipe.h"
#include "format/writer.h"

/*
 * Reads the trace of `w` and writes the page of it to w->out; sets *rows to the number of its rows.
 * `plain`: its data is not compressed. Returns false if out of memory, or with w->error set.
 */
typedef bool html_make(struct write *w, const struct pipe_options *pipe, bool plain,
		       uint64_t *rows);

/* Set by the program before the first conversion; NULL: there is no page. */
extern html_make *html_page;

#endif
