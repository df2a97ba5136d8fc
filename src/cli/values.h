/* What the command line said. */
#ifndef SPUR_CLI_VALUES_H
#define SPUR_CLI_VALUES_H

#include "base/mem.h"
#include "cli/cmd.h"

enum choice_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER, COLOR_YES, COLOR_NO };
enum choice_match { MATCH_REGEX, MATCH_GLOB, MATCH_EXACT, MATCH_SIMPLE };
enum { NOT_GIVEN = -1 };

struct values {
	struct arena arena; /* joined lists */
	const char **operands;
	size_t noperands, operands_cap;
	bool help, help_long;
	struct spur_error err; /* of parsing */

	/* How to open it. */
	const char *data; /* -d */
	const char *const *traces; /* to be read as one; in the arena */
	size_t ntraces;
	const char *opt_file; /* more options are there; NULL: nowhere */
	struct spur_options open;
	const char **binaries; /* NULL-ended; NULL: none given */
	size_t nbinaries, binaries_cap;
	int threads, demangle; /* demangle: NOT_GIVEN or enum demangle_form */
	uint64_t read_size;

	/* What of it. */
	struct filter_spec filter; /* items and match are set when all is parsed */
	struct filter_item *items;
	size_t nitems, items_cap;
	int match; /* enum choice_match */
	const char *bare_option, *bare_text; /* the last duration without a unit; NULL: none */

	/* What comes out. */
	struct pass_options pass;
	bool progress, no_pager;
	bool json, jsonl, csv, quiet, force, strict;
	int color, time; /* time: NOT_GIVEN or enum pass_time */
	const char *output;
	uint64_t row_limit; /* the pass gets this many rows at most; 0: all */
	bool diag_shown; /* the pass itself tells the damage */
	bool yaml, functions; /* symbols */
};

void values_init(struct values *v);
void values_free(struct values *v);

#endif
