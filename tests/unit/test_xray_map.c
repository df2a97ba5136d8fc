/*
 * Instrumentation maps of format/xray/map.h: the images of tests/record/xray_images.py, maps in
 * YAML written here, damaged copies, and the programs among the recorded traces.
 */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/out.h"
#include "format/xray/map.h"

static char dir[] = "/tmp/spur-xray-XXXXXX";
static struct out seen; /* of the last list() or find() */

static int make_images(void **state)
{
	char command[200];

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	out_to_memory(&seen);
	snprintf(command, sizeof(command), "python3 tests/record/xray_images.py %s/images", dir);
	return system(command);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_images(void **state)
{
	(void)state;
	out_free(&seen);
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(const char *name)
{
	static char path[8][300];
	static unsigned turn;
	char *p = path[turn++ % 8];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

static const char *image(const char *name)
{
	char below[100];

	snprintf(below, sizeof(below), "images/%s", name);
	return path_of(below);
}

static const char *text_file(const char *name, const char *text)
{
	const char *path = path_of(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
	return path;
}

/* A directory below, made anew, with copies of images; a name may be "AS:IMAGE". NULL-ended. */
static void directory(const char *name, const char *const *images)
{
	char command[600];

	snprintf(command, sizeof(command), "rm -rf '%s' && mkdir '%s'", path_of(name),
		 path_of(name));
	assert_int_equal(system(command), 0);
	for (; *images; images++) {
		const char *colon = strchr(*images, ':'), *from = colon ? colon + 1 : *images;

		snprintf(command, sizeof(command), "cp '%s' '%s/%.*s'", image(from), path_of(name),
			 (int)(colon ? (size_t)(colon - *images) : strlen(*images)), *images);
		assert_int_equal(system(command), 0);
	}
}

static const char *seen_text(void)
{
	out_char(&seen, '\0');
	return seen.buf;
}

/* ---- one map ---- */

static void list_sled(struct site_map *m, const struct map_site *s)
{
	const char *kind = xray_sled_kind_name(s->kind);
	struct map_function f;

	out_printf(&seen, "%u %llx %llx %s%s v%u", s->id, (unsigned long long)s->address,
		   (unsigned long long)s->function, kind ? kind : "?", s->always ? " always" : "",
		   s->version);
	assert_true(xray_map_function(m, s->id, false, &f));
	assert_string_equal(f.module, xray_map_path(m));
	assert_int_equal(f.line, 0);
	out_printf(&seen, " %s", f.name ? f.name : "-");
	if (f.size)
		out_printf(&seen, "+%llu", (unsigned long long)f.size);
	out_char(&seen, '\n');
}

/*
 * A line a sled: ID ADDRESS FUNCTION KIND [always] vVERSION NAME[+SIZE]; then the note, if there is
 * one.
 */
static const char *list(const char *path)
{
	struct spur_error err = { 0 };
	struct map_function f;
	struct site_map *m;

	out_clear(&seen);
	if (xray_map_open(&m, path, "/nonexistent", &err) == SPUR_FAIL) {
		const char *why = strstr(err.message, ": ");

		assert_null(m);
		out_printf(&seen, "error %d: %s\n", err.code, why ? why + 2 : err.message);
		return seen_text();
	}
	for (size_t i = 0; i < xray_map_count(m); i++)
		list_sled(m, &xray_map_sleds(m)[i]);
	assert_false(xray_map_function(m, 0, false, &f));
	assert_false(xray_map_function(m, xray_map_functions(m) + 1, false, &f));
	if (xray_map_note(m))
		out_printf(&seen, "! %s\n", xray_map_note(m));
	xray_map_close(m);
	return seen_text();
}

/* The places of the functions `one` (a) and `two` (b) in images that differ in their addresses. */
#define ONE(v, at, a, what) "1 " at " " a " " what " v" v " _ZN1a3oneEi+32\n"
#define TWO(v, at, b, what) "2 " at " " b " " what " always v" v " two+48\n"
#define PLACES(v, a, exit_a, b, event_b, tail_b) \
	ONE(v, a, a, "function-enter")           \
	ONE(v, exit_a, a, "function-exit")       \
	TWO(v, b, b, "log-args-enter")           \
	TWO(v, event_b, b, "custom-event")       \
	TWO(v, tail_b, b, "tail-exit")

/* SPEC xray-names/entry */
/* SPEC xray-names/relative */
/* SPEC xray-names/number */
static void test_versions(void **state)
{
	(void)state;
	assert_string_equal(list(image("v0-exec")),
			    PLACES("0", "401000", "401012", "401040", "401048", "401060"));
	assert_string_equal(list(image("v2-arm")),
			    PLACES("2", "11000", "11012", "11040", "11048", "11060"));
	assert_string_equal(list(image("v2-s390")),
			    PLACES("2", "1000", "1012", "1040", "1048", "1060"));
	/* Kinds without a name are kept. */
	assert_string_equal(list(image("v2-kinds")), "1 401000 401000 function-enter v2 kinds+32\n"
						     "1 401004 401000 typed-event v2 kinds+32\n"
						     "1 401008 401000 ? v2 kinds+32\n"
						     "1 40100c 401000 function-exit v2 kinds+32\n");
}

static void test_build_id(void **state)
{
	struct spur_error err;
	struct site_map *m;

	(void)state;
	assert_int_equal(xray_map_open(&m, image("v0-exec"), NULL, &err), SPUR_OK);
	assert_string_equal(xray_map_build_id(m), "0102030405060708");
	xray_map_close(m);
	assert_int_equal(xray_map_open(&m, image("macho-x86-64"), NULL, &err), SPUR_OK);
	assert_string_equal(xray_map_build_id(m), "000102030405060708090a0b0c0d0e0f");
	xray_map_close(m);
	assert_int_equal(xray_map_open(&m, image("v2-arm"), NULL, &err), SPUR_OK);
	assert_string_equal(xray_map_build_id(m), "");
	xray_map_close(m);
}

/* SPEC xray-names/relocations */
static void test_relocations(void **state)
{
	static const char both[] = PLACES("1", "1000", "1012", "1040", "1048", "1060");

	(void)state;
	assert_string_equal(list(image("v1-pie")), both);
	assert_string_equal(list(image("v1-i386")), both);
	/* The last function's symbol is in another library: its callers are not known here. */
	assert_string_equal(list(image("v1-aarch64")),
			    "1 1000 1000 function-enter v1 first+32\n"
			    "1 1012 1000 function-exit v1 first+32\n"
			    "2 1040 1040 log-args-enter always v1 second+48\n"
			    "2 1048 1040 custom-event always v1 second+48\n"
			    "3 1060 0 tail-exit always v1 -\n");
}

/* SPEC xray-names/relocatable */
static void test_relocatable(void **state)
{
	static const char *const names[] = { "object-x86-64", "object-arm", "object-mips64el",
					     "object-riscv" };

	(void)state;
	/* Both functions are at offset 0, of different sections. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(list(image(names[i])), "1 0 0 function-enter v2 _Z3onev+16\n"
							   "1 c 0 function-exit v2 _Z3onev+16\n"
							   "2 0 0 function-enter v2 two+16\n"
							   "2 c 0 function-exit v2 two+16\n");
}

/* SPEC xray-names/powerpc */
static void test_powerpc(void **state)
{
	(void)state;
	assert_string_equal(list(image("v1-ppc")),
			    "1 10001008 10001008 function-enter v1 global_entry+4\n"
			    "1 10001020 10001008 function-exit v1 global_entry+4\n");
}

#define TWICE(id, address, kind) #id " " #address " 401000 function-" #kind " v2 twice+32\n"

/* SPEC xray-names/index */
static void test_index(void **state)
{
	static const char *const wrong[] = { "index-overlap", "index-outside", "index-hole" };

	(void)state;
	/* Two functions of one address, and not in the order of the map. */
	assert_string_equal(list(image("index-order")),
			    TWICE(1, 401008, enter) TWICE(1, 40100c, exit) TWICE(2, 401000, enter)
				    TWICE(2, 401004, exit));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_string_equal(
			list(image(wrong[i])),
			TWICE(1, 401000, enter) TWICE(1, 401004, exit) TWICE(1, 401008, enter)
				TWICE(1, 40100c, exit) "! index (xray_fn_idx): expected every sled "
						       "of the map once, "
						       "found another order: functions are "
						       "numbered by the map alone\n");
}

#define NO_MAP "found none: was it built with -fxray-instrument?\n"

static void test_refused(void **state)
{
	static const char elf[] = "error 4: expected an XRay instrumentation map (section "
				  "xray_instr_map), " NO_MAP;
	static const char other[] =
		"error 4: expected an ELF or Mach-O file, or an instrumentation "
		"map in YAML, found something else\n";

	(void)state;
	assert_string_equal(list(image("no-map")), elf);
	assert_string_equal(list(image("empty-map")), elf);
	assert_string_equal(
		list(image("debug-file")),
		"error 4: expected an XRay instrumentation map, found a file with debug "
		"information only: give the program itself\n");
	assert_string_equal(list(image("macho-no-map")),
			    "error 4: expected an XRay instrumentation map (section "
			    "__DATA,xray_instr_map), " NO_MAP);
	assert_string_equal(list(image("macho-32")),
			    "error 4: expected a Mach-O file of 64 bit for "
			    "x86-64 or arm64, found another\n");
	assert_string_equal(list(image("sections-overlap")),
			    "error 4: expected an ELF file, found sections that overlap\n");
	assert_string_equal(list(text_file("empty", "")), other);
	assert_string_equal(list(text_file("words", "just some words\n")), other);
	assert_string_equal(list(text_file("binary", "\x01\x02\xff")), other);
	assert_string_equal(list(text_file("short", "\177ELF")),
			    "error 4: expected an ELF file, found something else\n");
	assert_string_equal(list(dir), "error 3: expected a file, found a directory\n");
	assert_string_equal(list(path_of("nobody")),
			    "error 3: expected a file, found No such file or directory\n");
}

static void test_odd(void **state)
{
	(void)state;
	assert_non_null(strstr(
		list(image("odd-size")),
		"2 401060 401040 tail-exit always v2 two+48\n"
		"! map: expected entries of 32 bytes, found 12 bytes more at its end\n"));
	assert_non_null(strstr(list(image("names-overlap")),
			       "2 401060 401040 tail-exit always v2 -\n"
			       "! symbols: expected a table, found one that cannot be read"));
	assert_non_null(strstr(list(image("stripped")), "1 401000 401000 function-enter v2 -\n"));
}

static const char mac[] = "1 1000 1000 function-enter always v2 _Z3onev+64\n"
			  "1 1010 1000 function-exit always v2 _Z3onev+64\n";

/* SPEC xray-names/macho-symbols */
static void test_macho(void **state)
{
	static const char rest[] = "2 1040 1040 function-enter v2 two+192\n"
				   "2 1060 1040 tail-exit v2 two+192\n";
	char whole[400];

	(void)state;
	snprintf(whole, sizeof(whole), "%s%s", mac, rest);
	assert_string_equal(list(image("macho-x86-64")), whole);
	assert_string_equal(list(image("macho-dylib")), whole);
	assert_string_equal(list(image("macho-fat")), mac);
	assert_string_equal(list(image("macho-fat64")), mac);
}

/* SPEC xray-names/macho-object */
static void test_macho_object(void **state)
{
	(void)state;
	assert_string_equal(list(image("macho-object")),
			    "1 80 80 function-enter always v1 at_80+128\n"
			    "1 92 80 function-exit always v1 at_80+128\n");
	assert_string_equal(list(image("macho-object-relative")),
			    "1 80 80 function-enter v2 at_80+128\n"
			    "1 92 80 function-exit v2 at_80+128\n");
}

/* ---- YAML ---- */

/* SPEC xray-names/yaml */
/* SPEC xray-names/no-name */
static void test_yaml(void **state)
{
	(void)state;
	assert_string_equal(
		list(text_file("m.yaml",
			       "# a comment\n---\n"
			       "- { id: 2, address: 0x1F, function: 0x1e, kind: tail-exit, "
			       "always-instrument: true, function-name: 'a::b()', version: 2 }\n"
			       "- { id: 1, address: 16, function: 16, kind: typed-event, "
			       "always-instrument: false, function-name: '@(10)' }\n"
			       "- id: 1\n  address: 0x20\n  function: 16\n  kind: brand-new\n"
			       "  more: [1, {x: y}, [[2]]]\n  function-name: plain\n"
			       "- { id: 2, address: 0x2A, function: 0x1e, kind: function-exit, "
			       "always-instrument: True, function-name: \"a::b()\" }\n"
			       "...\n--- again\n")),
		"1 10 10 typed-event v0 -\n1 20 10 ? v0 -\n2 1f 1e tail-exit always v2 a::b()\n"
		"2 2a 1e function-exit always v0 a::b()\n");
}

static const char one_entry[] = "- { id: 7, address: 1, function: 1, kind: function-enter }\n";

static const char *with_one(const char *before, const char *after)
{
	static char text[1000];

	snprintf(text, sizeof(text), "%s%s%s", before, one_entry, after);
	return text_file("one.yaml", text);
}

/* SPEC xray-names/yaml-entry */
static void test_yaml_damage(void **state)
{
	static const struct {
		const char *before, *note;
	} cases[] = {
		{ "- { id: x, address: 1, function: 1 }\n",
		  "line 1: id: expected a number from 1 on" },
		{ "- { id: 0, address: 1, function: 1 }\n",
		  "line 1: id: expected a number from 1 on" },
		{ "- { id: 2147483648, address: 1, function: 1 }\n",
		  "line 1: id: expected a number from 1 on" },
		{ "- { id: 1, address: 0xx, function: 1 }\n",
		  "line 1: address: expected a number" },
		{ "- { id: 1, address: 1, function: -1 }\n",
		  "line 1: function: expected a number" },
		{ "- { id: 1, address: 1, function: 1, version: 256 }\n",
		  "line 1: version: expected a number up to 255" },
		{ "- { id: 1, address: 1, function: 1, always-instrument: maybe }\n",
		  "line 1: always-instrument: expected true or false" },
		{ "- { id: 1, address: 1 }\n", "line 1: entry: expected id, address and function" },
		{ "- { id: [1], address: 1, function: 1 }\n",
		  "line 1: a value: expected a scalar" },
		{ "- { id: &a 1, address: *a, function: 1 }\n",
		  "line 1: a value: expected a scalar" },
		{ "- word\n", "line 1: entry: expected a mapping" },
		{ "- &b [ id, 1 ]\n", "line 1: entry: expected a mapping" },
		{ "- *b\n", "line 1: entry: expected a mapping" },
	};
	char want[300];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(want, sizeof(want),
			 "7 1 1 function-enter v0 -\n! %s, found another: entries like that are "
			 "left "
			 "out\n",
			 cases[i].note);
		assert_string_equal(list(with_one(cases[i].before, "")), want);
	}
	assert_string_equal(
		list(with_one("", "- { id: 1, \"")),
		"7 1 1 function-enter v0 -\n! line 2: expected YAML, found an error (found "
		"unexpected end of stream): what follows is not read\n");
	assert_string_equal(
		list(with_one("", "- [[[[[[[[[[[[[[[[[[[[[[[[[[")),
		"7 1 1 function-enter v0 -\n! line 2: expected a list of mappings, found "
		"deep nesting: what follows is not read\n");
	assert_string_equal(
		list(text_file("none.yaml", "- { id: 1 }\n")),
		"error 4: expected sleds in an instrumentation map in YAML, found none; line "
		"1: entry: expected id, address and function, found another: entries like "
		"that are left out\n");
}

/* What would take a reader that builds trees, or compares all with all, for ever. */
static void test_yaml_bombs(void **state)
{
	enum { MANY = 200000 };
	const char *path = path_of("bomb.yaml");
	FILE *f = fopen(path, "w");

	(void)state;
	for (int i = 0; i < MANY; i++)
		fprintf(f, "%%TAG !t%d! tag:x\n", i);
	fputs("---\n", f);
	fputs(one_entry, f);
	fclose(f);
	assert_non_null(strstr(list(path), "error 4"));
	f = fopen(path, "w");
	fputs("- &a0 [x]\n", f);
	for (int i = 1; i < MANY; i++)
		fprintf(f, "- &a%d [*a%d, *a%d, *a%d]\n", i, i - 1, i - 1, i - 1);
	fputs(one_entry, f);
	fclose(f);
	assert_non_null(strstr(list(path), "7 1 1 function-enter v0 -\n! line 1: entry: expected a "
					   "mapping"));
	f = fopen(path, "w");
	for (int i = 0; i < MANY; i++)
		fputc('[', f);
	fclose(f);
	assert_non_null(strstr(list(path), "error 4"));
}

/* ---- all maps of a trace ---- */

static void add_diag(const struct diag_log *diag)
{
	for (size_t i = 0; i < diag_groups(diag); i++)
		for (uint32_t k = 0; k < diag_at(diag, i)->nkept; k++)
			out_printf(&seen, "%s %s: %s\n", diag_at(diag, i)->code,
				   strrchr(diag_at(diag, i)->file, '/')
					   ? strrchr(diag_at(diag, i)->file, '/') + 1
					   : diag_at(diag, i)->file,
				   diag_at(diag, i)->kept[k].text);
}

/*
 * A line OBJECT=FILE for each map, then the diagnostics. `ids` (0-ended) are asked of the maps,
 * NULL: none.
 */
static const char *find(const char *trace, const char *const *binaries, const char *dirs,
			const uint32_t *ids)
{
	const struct spur_options opt = SPUR_OPTIONS(.binaries = binaries, .symbol_dirs = dirs);
	struct spur_error err = { 0 };
	struct diag_log diag;
	struct xray_maps *m;
	struct map_function f;

	out_clear(&seen);
	diag_init(&diag);
	if (xray_maps_open(&m, trace, &opt, &diag, &err) == SPUR_FAIL) {
		assert_null(m);
		out_printf(&seen, "error %d: %s\n", err.code, err.message);
		diag_free(&diag);
		return seen_text();
	}
	for (uint32_t i = 0; i < xray_maps_count(m); i++)
		if (xray_maps_object(m, i))
			out_printf(&seen, "%u=%s ", i,
				   strrchr(xray_map_path(xray_maps_object(m, i)), '/') + 1);
	out_char(&seen, '\n');
	for (; ids && *ids; ids++) {
		out_printf(&seen, "%u %s", *ids,
			   xray_maps_function(m, *ids, false, &f) ? f.name : "?");
		out_str(&seen, xray_maps_fit(m, *ids, &diag) ? "\n" : ", does not fit\n");
		assert_int_equal(xray_maps_fit(m, *ids, &diag), xray_maps_fit(m, *ids, &diag));
	}
	assert_null(xray_maps_object(m, XRAY_OBJECTS));
	add_diag(&diag);
	diag_free(&diag);
	xray_maps_close(m);
	return seen_text();
}

static const char *beside(const char *trace)
{
	return find(path_of(trace), NULL, NULL, NULL);
}

#define NONE_BESIDE                                                                       \
	"binary: expected one with an instrumentation map beside the trace, found none: " \
	"functions "                                                                      \
	"have no names; --binary FILE gives it\n"

/* SPEC xray-names/beside */
/* SPEC xray-names/log-name */
static void test_beside(void **state)
{
	(void)state;
	directory("d",
		  (const char *[]){ "no-map", "v0-exec", "libplain.so", "object-x86-64", NULL });
	/* A trace is no binary, and a FIFO is not opened. */
	text_file("d/t.xray", "x");
	assert_int_equal(mkfifo(path_of("d/fifo"), 0600), 0);
	assert_int_equal(mkdir(path_of("d/sub"), 0700), 0);
	assert_int_equal(symlink("v0-exec", path_of("d/sub/link")), 0);
	assert_string_equal(beside("d/t.xray"), "0=v0-exec \n");
	assert_string_equal(beside("d/libplain.so.xray.gz"), "0=libplain.so \n");
	assert_string_equal(beside("d/xray-log.libplain.so.aBc123"), "0=libplain.so \n");
	assert_string_equal(beside("d/xray-log.no-map.aBc123"), "0=v0-exec \n");
	assert_string_equal(beside("d/sub/t.xray"), "\nxray/no-map t.xray: " NONE_BESIDE);
	assert_string_equal(beside("nobody/t.xray"), "\nxray/no-map t.xray: " NONE_BESIDE);
	directory("e", (const char *[]){ "prog2", "static-pie", "liba.so", NULL });
	assert_string_equal(beside("e/t.xray"), "\nxray/several-maps t.xray: binary: expected one "
						"with an instrumentation map beside "
						"the trace, found 2 (prog2, static-pie): functions "
						"have no names; --binary FILE gives "
						"it\n");
	assert_string_equal(beside("e/static-pie.xray"), "0=static-pie \n");
	directory("e", (const char *[]){ "macho-x86-64", "macho-dylib", "libb.so", NULL });
	assert_string_equal(beside("e/t.xray"), "0=macho-x86-64 \n");
	directory("e", (const char *[]){ "liba.so", "libb.so", NULL });
	assert_non_null(strstr(beside("e/t.xray"), "found 2 (liba.so, libb.so)"));
	assert_string_equal(
		find("-", NULL, NULL, NULL),
		"\nxray/no-map -: binary: expected --binary FILE, found none: functions "
		"have no names\n");
}

static void test_many_files(void **state)
{
	char name[40];

	(void)state;
	directory("f", (const char *[]){ "v0-exec", "t:no-map", NULL });
	for (int i = 0; i < 4100; i++) {
		snprintf(name, sizeof(name), "f/file%d", i);
		close(open(path_of(name), O_CREAT | O_WRONLY, 0600));
	}
	assert_non_null(strstr(beside("f/t.xray"), "expected at most 4096 files beside the trace, "
						   "found more"));
	assert_string_equal(beside("f/v0-exec.xray"), "0=v0-exec \n");
}

/* SPEC xray-names/objects */
/* SPEC xray-names/constructors */
/* SPEC xray-names/packed */
static void test_libraries(void **state)
{
	static const uint32_t ids[] = { 1,	     1 << 24 | 1, 2 << 24 | 1,
					3 << 24 | 1, 4 << 24 | 1, 5 << 24 | 1,
					6 << 24 | 1, 4 << 24 | 2, 0 };
	static const char *const all[] = { "prog",	  "liba.so",	"libb.so", "libd.so",
					   "libplain.so", "libbare.so", "libe.so", NULL };
	static const char named[] = "0=prog 1=libe.so 2=liba.so 3=libd.so 4=libb.so \n1 "
				    "main\n16777217 in_e\n33554433 in_a\n"
				    "50331649 in_d\n67108865 in_b\n83886081 ?, does not "
				    "fit\n100663297 ?, does not fit\n"
				    "67108866 ?, does not fit\n";

	(void)state;
	directory("g", all);
	assert_ptr_equal(strstr(find(path_of("g/prog.xray"), NULL, NULL, ids), named), seen.buf);
	assert_non_null(strstr(seen.buf,
			       "xray/objects-derived prog: libraries: objects 1=libe.so, "
			       "2=liba.so, 3=libd.so, 4=libb.so, derived from the order in "
			       "which their constructors run"));
	assert_non_null(strstr(seen.buf,
			       "xray/no-object libb.so: object 5: expected its map, found "
			       "none: its functions have no names; --binary 5=FILE gives it"));
	assert_non_null(strstr(seen.buf, "object 6: expected its map"));
	assert_non_null(strstr(seen.buf,
			       "xray/other-build libb.so: functions: expected ids up to 1, "
			       "found higher ones in the trace: it is of another build"));
	/* The same where the program alone is given. */
	assert_ptr_equal(
		strstr(find("-", (const char *[]){ path_of("g/prog"), NULL }, NULL, ids), named),
		seen.buf);
	/* What lies elsewhere is found where it is said to be. */
	directory("h", (const char *[]){ "prog", "liba.so", NULL });
	assert_string_equal(
		beside("h/prog.xray"),
		"0=prog \nxray/no-object prog: libraries: expected all that it needs beside "
		"it, lacks 4 (libb.so, libplain.so, libbare.so, libd.so): which object is "
		"which is not known; --binary N=FILE tells, or --symbols-dir\n");
	assert_ptr_equal(strstr(find(path_of("h/prog.xray"), NULL, path_of("g"), ids), named),
			 seen.buf);
	/* Without any library that is instrumented it does not matter what is missing. */
	directory("h", (const char *[]){ "prog", "libplain.so", NULL });
	assert_string_equal(
		find(path_of("h/prog.xray"), NULL, NULL, (uint32_t[]){ 1 << 24 | 2, 3, 0 }),
		"0=prog \n16777218 ?, does not fit\n3 ?, does not fit\n"
		"xray/no-object prog: functions: expected ids up to 1, found some of other "
		"objects, libraries: --binary N=FILE gives the map of object N\n");
}

/* SPEC xray-names/collision */
static void test_collision(void **state)
{
	const char *images[20] = { "many" };
	char names[17][16];

	(void)state;
	for (int i = 0; i < 17; i++) {
		snprintf(names[i], sizeof(names[i]), "libn%d.so", i);
		images[i + 1] = names[i];
	}
	directory("i", images);
	find(path_of("i/many.xray"), NULL, NULL, (uint32_t[]){ 1, 1 << 24 | 1, 17 << 24 | 1, 0 });
	assert_non_null(strstr(seen.buf,
			       "16=libn1.so 17=libn0.so \n1 main_of_many\n16777217 in_n16\n"
			       "285212673 in_n0\n"));
	assert_non_null(strstr(seen.buf, "objects 1=libn16.so, 2=libn15.so"));
	assert_non_null(strstr(seen.buf,
			       "xray/objects-collide libn0.so: objects: expected at most 16, "
			       "found 18: in FDR logs object 16 looks like object 0, and so "
			       "on\n"));
}

static const char *given(const char *a, const char *b, const char *c)
{
	return find("-", (const char *[]){ a, b, c, NULL }, NULL, NULL);
}

static const char *numbered(const char *object, const char *name)
{
	static char text[4][400];
	static unsigned turn;
	char *p = text[turn++ % 4];

	snprintf(p, sizeof(text[0]), "%s=%s", object, image(name));
	return p;
}

/* SPEC xray-names/given */
static void test_given(void **state)
{
	const char *a = image("v0-exec"), *b = image("libb.so");
	uint32_t object;
	const char *path;

	(void)state;
	assert_string_equal(given(a, b, NULL), "0=v0-exec 1=libb.so \n");
	assert_string_equal(given(numbered("3", "v0-exec"), b, a),
			    "0=libb.so 1=v0-exec 3=v0-exec \n");
	/* One library alone: its ids are an object's. */
	assert_string_equal(find("-", (const char *[]){ numbered("2", "libb.so"), NULL }, NULL,
				 (uint32_t[]){ 2 << 24 | 1, 1, 0 }),
			    "2=libb.so \n33554433 in_b\n1 ?, does not fit\nxray/no-object libb.so: "
			    "object 0: expected its map, found none: its functions have no names; "
			    "--binary 0=FILE gives it\n");
	assert_non_null(strstr(given(a, numbered("0", "libb.so"), NULL),
			       "libb.so: expected one binary for object 0, found a second one\n"));
	assert_non_null(strstr(given(numbered("256", "libb.so"), NULL, NULL),
			       "libb.so: expected an object below 256, found another\n"));
	assert_non_null(strstr(given(numbered("99999999999", "libb.so"), NULL, NULL),
			       "expected an object below 256"));
	assert_ptr_equal(strstr(given(a, path_of("nobody"), NULL), "error 3: "), seen.buf);
	assert_ptr_equal(strstr(given(image("no-map"), NULL, NULL), "error 4: "), seen.buf);
	assert_false(xray_object_split("a=b", &object, &path));
	assert_false(xray_object_split("1=", &object, &path));
	assert_false(xray_object_split("=x", &object, &path));
	assert_true(xray_object_split("12=./3=x", &object, &path));
	assert_int_equal(object, 12);
	assert_string_equal(path, "./3=x");
}

static void test_told(void **state)
{
	(void)state;
	assert_string_equal(
		given(image("stripped"), NULL, NULL),
		"0=stripped \nxray/no-symbols stripped: functions: expected names, found none: "
		"stripped? --symbols-dir tells where its debug file is\n");
	assert_string_equal(
		given(image("v1-aarch64"), NULL, NULL),
		"0=v1-aarch64 \nxray/no-symbols v1-aarch64: functions: expected names of 3, "
		"found 2: stripped? --symbols-dir tells where its debug file is\n");
	assert_string_equal(
		given(with_one("", ""), NULL, NULL),
		"0=one.yaml \nxray/no-symbols one.yaml: functions: expected names, found "
		"none: a map made without --symbolize?\n");
	assert_non_null(strstr(given(image("index-hole"), NULL, NULL),
			       "xray/odd-map index-hole: index (xray_fn_idx): "));
	assert_string_equal(
		find("-", (const char *[]){ image("v0-exec"), NULL }, NULL,
		     (uint32_t[]){ 2, 4711, 0 }),
		"0=v0-exec \n2 two\n4711 ?, does not fit\nxray/other-build v0-exec: "
		"functions: expected ids up to 2, found higher ones in the trace: it is of "
		"another build\n");
	/* Without any map nothing can be said. */
	assert_non_null(
		strstr(find("-", NULL, NULL, (uint32_t[]){ 4711, 0 }), "4711 ?\nxray/no-map"));
}

/* ---- recorded programs ---- */

/* The traces' folder, or a skipped test. */
static const char *traces(void)
{
	const char *path = getenv("SPUR_TRACES");
	static char below[300];

	snprintf(below, sizeof(below), "%.250s/xray", path ? path : "../shared/traces");
	if (access(below, R_OK) != 0) {
		print_message("no recorded traces: set SPUR_TRACES\n");
		skip();
	}
	return below;
}

static const char *recorded(const char *name)
{
	static char path[4][400];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", traces(), name);
	return p;
}

/* SPEC xray-names/symbol */
static void test_recorded(void **state)
{
	static const uint32_t ids[] = {
		1, 2, 1 << 24 | 1, 1 << 24 | 2, 2 << 24 | 1, 2 << 24 | 2, 0
	};

	(void)state;
	assert_string_equal(
		find(recorded("fdr19-cxx-tsc/trace.xray"), NULL, NULL, (uint32_t[]){ 1, 5, 11, 0 }),
		"0=prog \n1 _Zli3_msy\n5 _ZN12_GLOBAL__N_14anonEl\n11 _ZN1AD0Ev\n");
	assert_string_equal(
		find(recorded("fdr22-dso/dso2.xray"), NULL, NULL, ids),
		"0=dso2 1=libl2.so 2=libl1.so \n1 app_fn\n2 main\n16777217 l2_inner\n"
		"16777218 l2_outer\n33554433 l1_inner\n33554434 l1_outer\n"
		"xray/objects-derived dso2: libraries: objects 1=libl2.so, 2=libl1.so, "
		"derived from the order in which their constructors run; --binary N=FILE "
		"gives others\n");
	assert_ptr_equal(strstr(find(recorded("fdr22-dso/dso1.xray"), NULL, NULL, NULL),
				"0=dso1 1=libl1.so \n"),
			 seen.buf);
	/* Most of its libraries are not there. */
	assert_non_null(strstr(find(recorded("fdr22-dso/dso17.xray"), NULL, NULL, NULL),
			       "lacks 15 (libl3.so, libl4.so, "));
	assert_non_null(strstr(find(recorded("fdr22-dso/other.xray"), NULL, NULL, NULL),
			       "found 3 (dso1, dso17, dso2)"));
}

static void test_lines(void **state)
{
	struct spur_error err;
	struct map_function f;
	struct site_map *m;

	(void)state;
	assert_int_equal(xray_map_open(&m, recorded("fdr19-simple-tsc/prog"), NULL, &err), SPUR_OK);
	/* Its debug information was taken away. */
	assert_true(xray_map_function(m, 1, true, &f));
	assert_string_equal(f.name, "fib");
	assert_null(f.file);
	xray_map_close(m);
}

/* ---- hostile files, memory ---- */

static void touch(const char *path)
{
	struct spur_error err = { 0 };
	struct map_function f;
	struct site_map *m;

	if (xray_map_open(&m, path, "/nonexistent", &err) == SPUR_FAIL) {
		assert_int_not_equal(err.code, SPUR_ERR_NONE);
		assert_true(err.message[0]);
		return;
	}
	for (size_t i = 0; i < xray_map_count(m); i++)
		assert_true(xray_map_function(m, xray_map_sleds(m)[i].id, true, &f));
	xray_map_close(m);
}

static size_t load(const char *path, uint8_t *data, size_t room)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, data, room);

	assert_true(n > 0);
	close(fd);
	return (size_t)n;
}

static void store(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	/* Some file systems wait for the disk where a file is emptied and written anew. */
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	close(fd);
}

static const char *const hostile[] = { "v0-exec",	"v1-pie",      "v1-i386",      "v2-s390",
				       "object-x86-64", "index-order", "macho-x86-64", "macho-fat",
				       "macho-object",	"prog" };

/* Every byte turned into something else, and every length. */
static void test_damaged(void **state)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	static uint8_t data[4096];
	const char *path = path_of("damaged");

	(void)state;
	for (size_t k = 0; k < sizeof(hostile) / sizeof(hostile[0]); k++) {
		const size_t size = load(image(hostile[k]), data, sizeof(data));

		for (size_t i = 0; i < size; i++) {
			const uint8_t was = data[i];

			data[i] = values[i % sizeof(values)];
			store(path, data, size);
			touch(path);
			data[i] = was;
		}
		for (size_t n = 0; n < size; n += 7) {
			store(path, data, n);
			touch(path);
		}
	}
}

/* What list() and find() say where the n-th allocation fails: an error, or the whole result. */
static void try_memory(const char *(*what)(const char *), const char *arg)
{
	char *want = strdup(what(arg));
	uint64_t count, failed = 0;

	mem_fail_at(UINT64_MAX);
	what(arg);
	count = mem_count();
	for (uint64_t n = 1; n <= count; n++) {
		const char *got;

		mem_fail_at(n);
		got = what(arg);
		mem_fail_at(0);
		if (strstr(got, "error 2: "))
			failed++;
		else
			assert_string_equal(got, want);
	}
	assert_true(failed);
	free(want);
}

static void test_memory(void **state)
{
	static const char *const names[] = { "v0-exec",	    "v1-pie",	    "object-x86-64",
					     "index-order", "macho-x86-64", "macho-object" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		try_memory(list, image(names[i]));
	try_memory(list, with_one("- { id: 9, address: 1, function: 1, function-name: x }\n", ""));
	directory("g", (const char *[]){ "prog", "liba.so", "libb.so", "libd.so", "libplain.so",
					 "libbare.so", "libe.so", NULL });
	try_memory(beside, "g/t.xray");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),    cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_relocations), cmocka_unit_test(test_relocatable),
		cmocka_unit_test(test_powerpc),	    cmocka_unit_test(test_index),
		cmocka_unit_test(test_refused),	    cmocka_unit_test(test_odd),
		cmocka_unit_test(test_macho),	    cmocka_unit_test(test_macho_object),
		cmocka_unit_test(test_yaml),	    cmocka_unit_test(test_yaml_damage),
		cmocka_unit_test(test_yaml_bombs),  cmocka_unit_test(test_beside),
		cmocka_unit_test(test_many_files),  cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_collision),   cmocka_unit_test(test_given),
		cmocka_unit_test(test_told),	    cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_lines),	    cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, make_images, remove_images);
}
