/* Values of options: those that commands share, and the command's own. */
#ifndef SPUR_CLI_VALUES_H
#define SPUR_CLI_VALUES_H

#include "base/mem.h"
#include "cli/cmd.h"
#include "style/uftrace/options.h"

enum choice_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER, COLOR_YES, COLOR_NO };
enum choice_match { MATCH_REGEX, MATCH_GLOB, MATCH_EXACT, MATCH_SIMPLE };
enum { NOT_GIVEN = -1 };

struct values {
	struct arena arena; /* joined lists */
	/* The command's own options: spur_cmd.own_size bytes in the arena; NULL: it has none. */
	void *own;
	const char **operands;
	size_t noperands, operands_cap;
	bool help, help_long;
	struct spur_error err; /* of parsing */

	/* Input. */
	const char *data; /* -d */
	const char *const *traces; /* read as one trace; in the arena */
	size_t ntraces;
	const char *shown; /* the trace's name in messages; NULL: its path */
	const char *opt_file; /* a file of further options; NULL: none */
	struct spur_options open;
	const char **binaries; /* NULL-ended; NULL: none given */
	size_t nbinaries, binaries_cap;
	struct spur_offset *offsets;
	size_t noffsets, offsets_cap;
	const char **aligns; /* NULL-ended; NULL: none given */
	size_t naligns, aligns_cap;
	int threads, demangle; /* demangle: NOT_GIVEN or enum demangle_form */
	uint64_t read_size;

	/* Filters. */
	struct filter_spec filter; /* items and match are set when all is parsed */
	struct filter_item *items;
	size_t nitems, items_cap;
	int match; /* enum choice_match */
	const char *bare_option, *bare_text; /* the last duration without a unit; NULL: none */

	/* Output. */
	bool no_cache; /* read the trace, whatever stores are kept */
	const char *style; /* layout of another tool; NULL: our own */
	struct render_options render;
	struct uftrace_options uftrace; /* accepted by all commands that uftrace has too */
	bool progress, no_pager;
	bool json, jsonl, csv, quiet, force;
	int color, time; /* time: NOT_GIVEN or enum time_form */
	const char *output;
};

void values_init(struct values *v);
void values_free(struct values *v);

#endif
