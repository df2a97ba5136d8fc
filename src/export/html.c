/*
 * html: the page of `spur view` as one file that needs no server. What the page is made of belongs
 * to the viewer (src/view/export.c), which only the program has.
 */
#include "export/html.h"

#include "base/err.h"

html_make *html_page;

static void *html_open(struct write *w)
{
	return w;
}

static bool html_read(void *self, const struct pipe_options *pipe, uint64_t *rows)
{
	struct write *const w = self;

	if (!html_page)
		err_set(&w->error, SPUR_ERR_USAGE, "the library has no page to show traces");
	else if (w->masked)
		err_set(&w->error, SPUR_ERR_USAGE,
			"a page of an anonymized trace is made of its file: write that in another "
			"format, and convert it to html");
	else
		return html_page(w, pipe, write_setting_is(w, "compression", "none"), rows);
	return false;
}

static void html_close(void *self)
{
	(void)self;
}

static const char *const endings[] = { "html", NULL };
static const char *const compressions[] = { "gzip", "none", NULL };
static const struct write_setting settings[] = {
	{ "compression", compressions,
	  "of the page's data: gzip (default); none is for browsers that cannot unpack it" },
	{ 0 },
};

const struct spur_writer spur_writer_html = {
	.name = "html",
	.title = "the page of spur view as one file, which browsers open without a server",
	.endings = endings,
	.fits = { WRITE_FITS(SPUR_BEGIN, SPUR_NATIVE, WRITE_WHOLE) },
	.takes_orphans = true,
	.takes_open = true,
	.source_lines = true,
	.settings = settings,
	.open = html_open,
	.read = html_read,
	.close = html_close,
};
