/*
 * Source lines from the line tables of DWARF, by libdw: of the file, or of its separate debug file.
 * Units are found by their address ranges and their line tables read when an address in them is
 * asked for. Nothing is fetched.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "model/symbol/elf_file.h"

enum {
	MAX_RANGES = 1 << 24,
	MAX_LOOK = 16, /* units that claim one address, rows of one */
};

struct range {
	uint64_t start, end;
	Dwarf_Off unit; /* of its first entry */
};

struct dwarf_lines {
	struct elf_file file, debug;
	Dwarf *dwarf;
	uint64_t base;
	struct range *ranges; /* ascending by start, then by unit */
	size_t count, cap;
};

static bool add_range(struct dwarf_lines *d, uint64_t start, uint64_t end, Dwarf_Off unit)
{
	if (end <= start || d->count == MAX_RANGES)
		return true;
	if (!mem_grow((void **)&d->ranges, &d->cap, d->count + 1, sizeof(*d->ranges), MAX_RANGES))
		return false;
	d->ranges[d->count++] = (struct range){ start, end, unit };
	return true;
}

/* A unit that does not say where its code is: the sequences of its line table do. */
static bool add_sequences(struct dwarf_lines *d, Dwarf_Die *unit)
{
	Dwarf_Lines *lines;
	Dwarf_Addr addr, start = 0;
	bool inside = false, ends;
	size_t n;

	if (dwarf_getsrclines(unit, &lines, &n) != 0)
		return true;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);

		if (!line || dwarf_lineaddr(line, &addr) != 0 ||
		    dwarf_lineendsequence(line, &ends) != 0)
			continue;
		if (!inside)
			start = addr;
		inside = !ends;
		if (ends && !add_range(d, start, addr, dwarf_dieoffset(unit)))
			return false;
	}
	return true;
}

static bool add_unit(struct dwarf_lines *d, Dwarf_Die *unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	size_t before = d->count;

	while ((at = dwarf_ranges(unit, at, &base, &start, &end)) > 0 && d->count < MAX_RANGES)
		if (!add_range(d, start, end, dwarf_dieoffset(unit)))
			return false;
	return d->count > before || add_sequences(d, unit);
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static bool find_units(struct dwarf_lines *d)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t kind;

	while (dwarf_get_units(d->dwarf, cu, &cu, NULL, &kind, &die, NULL) == 0)
		if ((kind == DW_UT_compile || kind == DW_UT_skeleton) && !add_unit(d, &die))
			return false;
	if (d->count)
		qsort(d->ranges, d->count, sizeof(*d->ranges), by_start);
	return true;
}

static bool has_lines(const struct elf_file *f)
{
	GElf_Shdr sh;

	return elf_file_section(f, SHT_PROGBITS, ".debug_line", &sh) ||
	       elf_file_section(f, SHT_PROGBITS, ".zdebug_line", &sh);
}

void dwarf_close(struct dwarf_lines *d)
{
	if (!d)
		return;
	if (d->dwarf)
		dwarf_end(d->dwarf);
	elf_file_close(&d->debug);
	elf_file_close(&d->file);
	mem_free(d->ranges);
	mem_free(d);
}

static enum spur_status open_lines(struct dwarf_lines *d, const char *path, const char *dirs,
				   struct spur_error *err)
{
	const struct elf_file *from = &d->file;

	if (elf_file_open(&d->file, path, err) == SPUR_FAIL)
		return SPUR_FAIL;
	if (!has_lines(from) && elf_file_debug(&d->debug, &d->file, path, dirs))
		from = &d->debug;
	if (has_lines(from))
		d->dwarf = dwarf_begin_elf(from->elf, DWARF_C_READ, NULL);
	if (!d->dwarf)
		return err_set(err, SPUR_ERR_FORMAT, "%s: expected line tables (DWARF), found none",
			       path);
	d->base = from->has_base ? from->base : d->file.base;
	return find_units(d) ? SPUR_OK : err_nomem(err);
}

enum spur_status dwarf_open(struct dwarf_lines **out, const char *path, const char *dirs,
			    struct spur_error *err)
{
	struct dwarf_lines *d = mem_alloc(sizeof(*d));

	*out = NULL;
	if (!d)
		return err_nomem(err);
	d->file.fd = d->debug.fd = -1;
	if (open_lines(d, path, dirs, err) == SPUR_FAIL) {
		dwarf_close(d);
		return SPUR_FAIL;
	}
	*out = d;
	return SPUR_OK;
}

/*
 * Returns the first row of exactly that address that has a line, or NULL. At the start of a
 * function its own line comes first, then those of code that was moved there.
 */
static Dwarf_Line *first_row(Dwarf_Die *unit, uint64_t addr)
{
	Dwarf_Lines *lines;
	size_t lo, end, n;
	Dwarf_Addr at;

	if (dwarf_getsrclines(unit, &lines, &n) != 0)
		return NULL;
	bisect(lo, 0, n, dwarf_lineaddr(dwarf_onesrcline(lines, lo), &at) == 0 && at < addr);
	for (end = lo + MAX_LOOK; lo < n && lo < end; lo++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, lo);
		bool ends;
		int number;

		if (dwarf_lineaddr(row, &at) != 0 || at != addr)
			return NULL;
		if (dwarf_lineendsequence(row, &ends) == 0 && !ends &&
		    dwarf_lineno(row, &number) == 0 && number > 0)
			return row;
	}
	return NULL;
}

static bool unit_line(struct dwarf_lines *d, Dwarf_Off unit, uint64_t addr, const char **file,
		      unsigned *line)
{
	Dwarf_Die die;
	Dwarf_Line *row;
	int n;

	if (!dwarf_offdie(d->dwarf, unit, &die))
		return false;
	row = first_row(&die, addr);
	if (!row)
		row = dwarf_getsrc_die(&die, addr);
	if (!row || dwarf_lineno(row, &n) != 0 || n <= 0)
		return false;
	*file = dwarf_linesrc(row, NULL, NULL);
	*line = (unsigned)n;
	return *file != NULL;
}

/* Where the code of an inlined function is called. */
static bool call_place(Dwarf_Die *unit, Dwarf_Die *inlined, const char **file, unsigned *line)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word number, at;
	size_t n;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &number) != 0 ||
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &at) != 0 || !at ||
	    at > UINT_MAX || dwarf_getsrcfiles(unit, &files, &n) != 0 || number >= n)
		return false;
	*file = dwarf_filesrc(files, number, NULL, NULL);
	*line = (unsigned)at;
	return *file != NULL;
}

/*
 * The outermost inlined call around an address. Of the scopes by address those outside an inlined
 * function are where it is defined; by entry they are where its code is, the outermost last.
 */
static bool unit_call(struct dwarf_lines *d, Dwarf_Off unit, uint64_t addr, const char **file,
		      unsigned *line)
{
	Dwarf_Die die, *inner = NULL, *scopes = NULL;
	bool found = false;
	int n = 0;

	if (!dwarf_offdie(d->dwarf, unit, &die))
		return false;
	if (dwarf_getscopes(&die, addr, &inner) > 0)
		n = dwarf_getscopes_die(&inner[0], &scopes);
	for (int i = n; i-- > 0 && !found;)
		found = dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine &&
			call_place(&die, &scopes[i], file, line);
	free(scopes);
	free(inner);
	return found;
}

/*
 * The unit's last row at the address or before it. Of rows of one address elfutils puts ends of
 * sequences first.
 */
static bool unit_last_row(struct dwarf_lines *d, Dwarf_Off unit, uint64_t addr,
			  struct dwarf_row *row)
{
	Dwarf_Lines *lines;
	size_t lo, n;
	int line, column;
	Dwarf_Addr at;
	Dwarf_Line *r;
	Dwarf_Die die;
	bool ends;

	if (!dwarf_offdie(d->dwarf, unit, &die) || dwarf_getsrclines(&die, &lines, &n) != 0)
		return false;
	bisect(lo, 0, n, dwarf_lineaddr(dwarf_onesrcline(lines, lo), &at) == 0 && at <= addr);
	r = lo ? dwarf_onesrcline(lines, lo - 1) : NULL;
	if (!r || dwarf_lineendsequence(r, &ends) != 0 || ends || dwarf_lineno(r, &line) != 0 ||
	    dwarf_linecol(r, &column) != 0)
		return false;
	*row = (struct dwarf_row){ .file = dwarf_linesrc(r, NULL, NULL),
				   .line = line > 0 ? (unsigned)line : 0,
				   .column = column > 0 ? (unsigned)column : 0 };
	return row->file != NULL;
}

/* How many ranges begin at the address, which has the base already, or before it. */
static size_t ranges_before(const struct dwarf_lines *d, uint64_t addr)
{
	size_t lo;

	bisect(lo, 0, d->count, d->ranges[lo].start <= addr);
	return lo;
}

bool dwarf_last_row(struct dwarf_lines *d, uint64_t addr, struct dwarf_row *row)
{
	size_t lo;

	addr += d->base;
	lo = ranges_before(d, addr);
	for (size_t i = 0; i < MAX_LOOK && lo > 0; i++)
		if (d->ranges[--lo].end > addr && unit_last_row(d, d->ranges[lo].unit, addr, row))
			return true;
	return false;
}

/* The unit that covers the address and whose `find` finds something. */
static bool find_in_units(struct dwarf_lines *d, uint64_t addr, const char **file, unsigned *line,
			  bool (*find)(struct dwarf_lines *d, Dwarf_Off unit, uint64_t addr,
				       const char **file, unsigned *line))
{
	size_t lo;

	addr += d->base;
	lo = ranges_before(d, addr);
	for (size_t i = 0; i < MAX_LOOK && lo > 0; i++)
		if (d->ranges[--lo].end > addr && find(d, d->ranges[lo].unit, addr, file, line))
			return true;
	return false;
}

bool dwarf_line(struct dwarf_lines *d, uint64_t addr, const char **file, unsigned *line)
{
	return find_in_units(d, addr, file, line, unit_line);
}

bool dwarf_own_line(struct dwarf_lines *d, uint64_t addr, const char **file, unsigned *line)
{
	return find_in_units(d, addr, file, line, unit_call) || dwarf_line(d, addr, file, line);
}
