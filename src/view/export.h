/* The page as one file, with a store of the trace in it: the program's html_page. */
#ifndef SPUR_VIEW_EXPORT_H
#define SPUR_VIEW_EXPORT_H

#include "export/html.h"

html_make view_export;

#endif
