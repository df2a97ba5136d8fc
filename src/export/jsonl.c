/*
 * jsonl: events as lines, as `spur cat --jsonl` writes them (docs/jsonl.md). Every kind of event is
 * carried whole; ends that the data lacks are not written.
 */
#include "export/lines/lines.h"

static void *jsonl_open(struct write *w)
{
	return lines_open(w, FORM_JSONL);
}

static const char *const endings[] = { "jsonl", NULL };

const struct spur_writer spur_writer_jsonl = {
	.name = "jsonl",
	.title = "JSON lines, an event a line, as spur cat --jsonl writes it",
	.endings = endings,
	LINES_WRITER,
	.open = jsonl_open,
};
