/*
 * csv: events as lines, as `spur cat --csv` writes them. Every kind of event is carried whole; ends
 * that the data lacks are not written.
 */
#include "export/lines/lines.h"

static void *csv_open(struct write *w)
{
	return lines_open(w, FORM_CSV);
}

static const char *const endings[] = { "csv", NULL };

const struct spur_writer spur_writer_csv = {
	.name = "csv",
	.title = "CSV, an event a line, as spur cat --csv writes it",
	.endings = endings,
	LINES_WRITER,
	.open = csv_open,
};
