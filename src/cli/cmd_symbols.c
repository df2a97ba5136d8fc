/* spur symbols: lists the functions and sleds of the instrumentation map of a binary. */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "cli/output.h"
#include "cli/report_diag.h"
#include "cli/run.h"
#include "cli/yaml.h"
#include "format/format.h"
#include "model/symbol/demangle.h"
#include "style/llvm-xray/options.h"

enum {
	NAME_WIDTH = 32, /* least width of a name that a source line follows */
	KIND_WIDTH = 14,
};

static const char *const demangle_words[] = { "name", "simple", "full", "no",
					      NULL }; /* as enum demangle_form */

/* Its own options. */
struct symbols_own {
	bool functions, srcline, yaml;
	int llvm; /* version; 0: the latest */
};

static const struct opt symbols_options[] = {
	{ .name = "functions",
	  .type = OPT_FLAG,
	  OPT_OWN(struct symbols_own, functions),
	  .help = "Show one line per function instead of one per sled" },
	{ .name = "srcline",
	  .type = OPT_FLAG,
	  OPT_OWN(struct symbols_own, srcline),
	  .help = "Show source files and lines (slow)" },
	{ .name = "yaml",
	  .type = OPT_FLAG,
	  OPT_OWN(struct symbols_own, yaml),
	  .help = "Write YAML as llvm-xray extract --symbolize does, which its -m option reads" },
	{ .name = "symbols-dir",
	  .type = OPT_STRING,
	  OPT_COMMON(open.symbol_dirs),
	  .arg = "DIR[:DIR...]",
	  .help = "Search these directories for debug files" },
	{ .name = "demangle",
	  .type = OPT_CHOICE,
	  OPT_COMMON(demangle),
	  .arg = "HOW",
	  .choices = demangle_words,
	  .help = "Show C++ and Rust names without parameters (name), without template arguments "
		  "too (simple), whole (full), or mangled (no) (default: name; full with --yaml)" },
	{ .name = "llvm",
	  .type = OPT_INT,
	  OPT_OWN(struct symbols_own, llvm),
	  .arg = "VERSION",
	  .help = "With --yaml: write names as this version of LLVM does (default: the latest; "
		  "up to 14 nested template arguments end in \"> >\")" },
	{ 0 }
};

struct symbols {
	struct values *v;
	const struct symbols_own *own;
	const struct site_reader *of; /* the reader of the maps */
	struct out *out;
	struct out name; /* demangled, of one function */
	struct site_map *map;
	uint32_t object;
	size_t index; /* of the map among all */
	size_t rows; /* so far */
	uint64_t strange; /* sleds of kinds that llvm-xray does not know */
	int id_width, address_width;
};

/* One line: a sled, or the first one of a function. */
struct row {
	const struct map_site *sled;
	struct map_function f;
	uint32_t id; /* as in traces */
	uint32_t sleds; /* of the function */
};

static void set_name(struct symbols *s, const struct row *r)
{
	const int how = s->v->demangle == NOT_GIVEN ? (s->own->yaml ? DEMANGLE_FULL : DEMANGLE_NAME)
						    : s->v->demangle;

	out_clear(&s->name);
	if (r->f.name && s->own->yaml && how == DEMANGLE_FULL)
		demangle_llvm(&s->name, r->f.name, strlen(r->f.name), llvm_version(s->own->llvm));
	else if (r->f.name)
		demangle(&s->name, r->f.name, strlen(r->f.name), (enum demangle_form)how);
}

/* ---- text ---- */

static int digits(uint64_t n, unsigned base)
{
	int count = 1;

	for (; n >= base; n /= base)
		count++;
	return count;
}

static void text_head(struct symbols *s)
{
	const struct map_site *sleds = s->of->sites(s->map);
	uint64_t most = 0;

	for (size_t i = 0; i < s->of->count(s->map); i++)
		most |= sleds[i].address | sleds[i].function;
	s->address_width = digits(most, 16) + 2;
	if (s->address_width < (int)sizeof("function") - 1)
		s->address_width = sizeof("function") - 1;
	s->id_width =
		digits((uint64_t)s->object << s->of->object_shift | s->of->functions(s->map), 10);
	if (s->id_width < (int)sizeof("id") - 1)
		s->id_width = sizeof("id") - 1;
	if (s->index)
		out_char(s->out, '\n');
	if (s->index || s->v->noperands > 1) {
		out_safe(s->out, s->of->path(s->map), strlen(s->of->path(s->map)));
		out_printf(s->out, ": object %u\n", (unsigned)s->object);
	}
	out_printf(s->out, "%*s  ", s->id_width, "id");
	if (s->own->functions)
		out_printf(s->out, "%*s  %7s  %5s  name", s->address_width, "function", "size",
			   "sleds");
	else
		out_printf(s->out, "%*s  %*s  %-*s  name", s->address_width, "address",
			   s->address_width, "function", KIND_WIDTH, "kind");
	if (s->own->srcline) {
		out_pad(s->out, ' ', NAME_WIDTH - 4);
		out_str(s->out, "  location");
	}
	out_char(s->out, '\n');
}

static void text_address(struct symbols *s, uint64_t address)
{
	out_printf(s->out, "%*s0x%llx  ", s->address_width - 2 - digits(address, 16), "",
		   (unsigned long long)address);
}

static void text_row(struct symbols *s, const struct row *r)
{
	const char *kind = s->of->kind_name(r->sled->kind);
	struct out *o = s->out;
	size_t width;

	out_printf(o, "%*u  ", s->id_width, (unsigned)r->id);
	if (s->own->functions) {
		text_address(s, r->sled->function);
		out_printf(o, "%7llu  %5u  ", (unsigned long long)r->f.size, (unsigned)r->sleds);
	} else {
		text_address(s, r->sled->address);
		text_address(s, r->sled->function);
		if (kind)
			out_printf(o, "%-*s  ", KIND_WIDTH, kind);
		else
			out_printf(o, "kind %-*u  ", KIND_WIDTH - 5, r->sled->kind);
	}
	out_safe(o, r->f.name ? s->name.buf : "-", r->f.name ? s->name.len : 1);
	if (s->own->srcline && r->f.file) {
		width = r->f.name ? utf8_width(s->name.buf, s->name.len) : 1;
		out_pad(o, ' ', width < NAME_WIDTH ? NAME_WIDTH - width + 2 : 2);
		out_safe(o, r->f.file, strlen(r->f.file));
		out_printf(o, ":%u", r->f.line);
	}
	out_char(o, '\n');
}

/* ---- CSV ---- */

static void csv_head(struct symbols *s)
{
	if (!s->index)
		out_str(s->out, s->own->functions
					? "object,id,function,size,sleds,name,file,line\n"
					: "object,id,address,function,kind,always,version,"
					  "name,file,line\n");
}

static void csv_row(struct symbols *s, const struct row *r)
{
	const char *kind = s->of->kind_name(r->sled->kind);
	struct out *o = s->out;

	out_printf(o, "%u,%u,", (unsigned)s->object, (unsigned)r->id);
	if (s->own->functions)
		out_printf(o, "%llu,%llu,%u,", (unsigned long long)r->sled->function,
			   (unsigned long long)r->f.size, (unsigned)r->sleds);
	else
		out_printf(o, "%llu,%llu,", (unsigned long long)r->sled->address,
			   (unsigned long long)r->sled->function);
	if (!s->own->functions && kind)
		out_str(o, kind);
	else if (!s->own->functions)
		out_printf(o, "%u", r->sled->kind);
	if (!s->own->functions)
		out_printf(o, ",%u,%u,", r->sled->always, r->sled->version);
	if (r->f.name)
		out_csv(o, s->name.buf, s->name.len);
	out_char(o, ',');
	if (r->f.file) {
		out_csv(o, r->f.file, strlen(r->f.file));
		out_printf(o, ",%u\n", r->f.line);
	} else {
		out_str(o, ",\n");
	}
}

/* ---- JSON ---- */

static void json_head(struct symbols *s)
{
	struct out *o = s->out;
	const bool several = s->v->noperands > 1;

	if (s->index == 0)
		out_json_head(o, "symbols");
	if (several)
		out_str(o, s->index ? ",\n{" : ",\"binaries\":[\n{");
	else
		out_char(o, ',');
	out_str(o, "\"binary\":");
	out_json(o, s->of->path(s->map), strlen(s->of->path(s->map)));
	out_printf(o, ",\"object\":%u,\"build_id\":\"%s\",\"entries\":[", (unsigned)s->object,
		   s->of->build_id(s->map));
}

static void json_foot(struct symbols *s)
{
	out_str(s->out, "\n]}");
	if (s->index + 1 == s->v->noperands)
		out_str(s->out, s->v->noperands > 1 ? "\n]}\n" : "\n");
}

static void json_row(struct symbols *s, const struct row *r)
{
	const char *kind = s->of->kind_name(r->sled->kind);
	struct out *o = s->out;

	out_printf(o, "%s\n{\"id\":%u", s->rows ? "," : "", (unsigned)r->id);
	if (!s->own->functions)
		out_printf(o, ",\"address\":%llu", (unsigned long long)r->sled->address);
	out_printf(o, ",\"function\":%llu", (unsigned long long)r->sled->function);
	if (s->own->functions)
		out_printf(o, ",\"size\":%llu,\"sleds\":%u", (unsigned long long)r->f.size,
			   (unsigned)r->sleds);
	else if (kind)
		out_printf(o, ",\"kind\":\"%s\"", kind);
	else
		out_printf(o, ",\"kind\":%u", r->sled->kind);
	if (!s->own->functions)
		out_printf(o, ",\"always\":%s,\"version\":%u", r->sled->always ? "true" : "false",
			   r->sled->version);
	out_str(o, ",\"name\":");
	if (r->f.name)
		out_json(o, s->name.buf, s->name.len);
	else
		out_str(o, "null");
	if (r->f.file) {
		out_str(o, ",\"file\":");
		out_json(o, r->f.file, strlen(r->f.file));
		out_printf(o, ",\"line\":%u", r->f.line);
	}
	out_char(o, '}');
}

/* ---- YAML ---- */

static void yaml_head(struct symbols *s)
{
	if (!s->index)
		out_str(s->out, "---\n");
}

static void yaml_foot(struct symbols *s)
{
	if (s->index + 1 == s->v->noperands)
		out_str(s->out, "...\n");
}

/* SPEC xray-names/yaml: the layout of llvm-xray, byte for byte */
static void yaml_row(struct symbols *s, const struct row *r)
{
	/*
	 * SPEC xray-names/yaml-kinds: llvm-xray knows the kinds below portable_kinds; it rejects
	 * maps with others.
	 */
	const bool known = r->sled->kind < s->of->portable_kinds;
	const char *kind = s->of->kind_name(r->sled->kind);
	struct out *o = s->out;

	s->strange += !known;
	if (!r->f.name)
		out_printf(&s->name, "@(%llx)", (unsigned long long)r->sled->function);
	out_printf(o, "- { id: %u, address: 0x%llX, function: 0x%llX, kind: %s, ", (unsigned)r->id,
		   (unsigned long long)r->sled->address, (unsigned long long)r->sled->function,
		   s->of->kind_name(known ? r->sled->kind : (uint8_t)(s->of->portable_kinds - 1)));
	out_printf(o, "always-instrument: %s, function-name: ", r->sled->always ? "true" : "false");
	yaml_scalar(o, s->name.buf, s->name.len);
	if (r->sled->version)
		out_printf(o, ", version: %u", r->sled->version);
	out_str(o, " }");
	if (!known && kind)
		out_printf(o, " # %s", kind);
	else if (!known)
		out_printf(o, " # kind %u", r->sled->kind);
	out_char(o, '\n');
}

/* ---- maps ---- */

struct form {
	void (*head)(struct symbols *s);
	void (*row)(struct symbols *s, const struct row *r);
	void (*foot)(struct symbols *s); /* NULL: none */
};

static const struct form text_form = { text_head, text_row, NULL };
static const struct form csv_form = { csv_head, csv_row, NULL };
static const struct form json_form = { json_head, json_row, json_foot };
static const struct form yaml_form = { yaml_head, yaml_row, yaml_foot };

static const struct form *form_of(const struct symbols *s)
{
	const struct values *v = s->v;

	return s->own->yaml ? &yaml_form : v->json ? &json_form : v->csv ? &csv_form : &text_form;
}

/* Writes one map. Returns the number of its functions that have a name. */
static uint32_t write_map(struct symbols *s)
{
	const struct form *form = form_of(s);
	const struct map_site *sleds = s->of->sites(s->map);
	const size_t count = s->of->count(s->map);
	struct row r = { 0 };
	uint32_t named = 0;

	form->head(s);
	s->rows = 0;
	for (size_t i = 0, next; i < count; i = next) {
		size_t end = i + 1;

		/* The sleds of a function are adjacent. */
		while (end < count && sleds[end].id == sleds[i].id)
			end++;
		if (!s->of->function(s->map, sleds[i].id, s->own->srcline, &r.f))
			r.f = (struct map_function){ 0 };
		named += r.f.name != NULL;
		r.id = s->object ? s->object << s->of->object_shift |
					   (sleds[i].id & ((1u << s->of->object_shift) - 1))
				 : sleds[i].id;
		r.sleds = (uint32_t)(end - i);
		set_name(s, &r);
		for (next = i; next < (s->own->functions ? i + 1 : end); next++) {
			r.sled = &sleds[next];
			form->row(s, &r);
			s->rows++;
			if (form == &yaml_form && !r.f.name)
				out_clear(&s->name);
		}
		next = end;
	}
	if (form->foot)
		form->foot(s);
	return named;
}

/* Reports what is wrong with the maps. Returns the exit code. */
static int tell(const struct symbols *s, struct site_map *const *maps, const uint32_t *named)
{
	int code = EXIT_CLEAN;

	for (size_t i = 0; i < s->v->noperands; i++) {
		const char *path = s->of->path(maps[i]);

		if (s->of->note(maps[i])) {
			say("%s: %s", path, s->of->note(maps[i]));
			code = EXIT_DAMAGED;
		}
		if (!named[i] && !s->v->quiet)
			say("note: %s: functions: expected names, found none: is it stripped, or "
			    "a map without them?",
			    path);
	}
	if (s->strange && !s->v->quiet)
		say("note: %llu sleds of kinds that llvm-xray cannot read are written as "
		    "custom-event",
		    (unsigned long long)s->strange);
	return code;
}

static enum spur_status open_maps(const struct symbols *s, struct site_map **maps,
				  uint32_t *objects)
{
	struct values *v = s->v;
	uint32_t next = 0;

	for (size_t i = 0; i < v->noperands; i++) {
		const char *path = v->operands[i];

		if (!s->of->split(v->operands[i], &objects[i], &path))
			objects[i] = next++;
		if (objects[i] >= s->of->objects)
			return err_set(&v->err, SPUR_ERR_USAGE,
				       "%s: expected an object below %u, found another",
				       v->operands[i], (unsigned)s->of->objects);
		if (s->of->open(&maps[i], path, v->open.symbol_dirs, &v->err) == SPUR_FAIL)
			return SPUR_FAIL;
	}
	return SPUR_OK;
}

static int write_maps(struct symbols *s, struct site_map **maps, const uint32_t *objects,
		      uint32_t *named)
{
	const uint64_t failures = mem_failures();
	struct values *v = s->v;
	struct output o;
	enum spur_status st;
	bool left;

	st = output_open(&o, v->output, v->force, &v->err);
	for (size_t i = 0; i < v->noperands && st == SPUR_OK; i++)
		st = output_spare(&o, s->of->path(maps[i]), &v->err);
	if (st == SPUR_FAIL) {
		output_close(&o, false, NULL);
		return run_error(&v->err);
	}
	s->out = &o.out;
	for (; s->index < v->noperands; s->index++) {
		s->map = maps[s->index];
		s->object = objects[s->index];
		named[s->index] = write_map(s);
	}
	st = mem_failures() == failures && !s->name.error ? SPUR_OK : err_nomem(&v->err);
	out_flush(&o.out);
	left = o.out.error == EPIPE;
	if (output_close(&o, st == SPUR_OK, st == SPUR_OK ? &v->err : NULL) == SPUR_FAIL)
		st = SPUR_FAIL;
	if (st == SPUR_FAIL)
		return run_error(&v->err);
	return left ? EXIT_CLEAN : tell(s, maps, named);
}

/* Returns the reader of maps of the first format that has one, or NULL. */
static const struct site_reader *sites_find(void)
{
	for (size_t i = 0; spur_formats[i]; i++)
		if (spur_formats[i]->sites)
			return spur_formats[i]->sites;
	return NULL;
}

static int symbols_run(const struct spur_cmd *cmd, struct values *v)
{
	struct symbols s = { .v = v, .own = v->own, .of = sites_find() };
	struct site_map **maps = mem_array(v->noperands, sizeof(struct site_map *));
	uint32_t *numbers = mem_array(2 * v->noperands, sizeof(*numbers));
	int code;

	if (!v->noperands)
		err_set(&v->err, SPUR_ERR_USAGE, "expected a binary: spur %s %s", cmd->name,
			cmd->usage);
	else if (v->json + v->csv + s.own->yaml > 1)
		err_set(&v->err, SPUR_ERR_USAGE,
			"expected one of --json, --csv, --yaml, found several");
	else if (!s.of)
		err_set(&v->err, SPUR_ERR_FORMAT,
			"expected a format whose functions have maps, found none");
	else if (!maps || !numbers)
		err_nomem(&v->err);
	else
		open_maps(&s, maps, numbers);
	if (v->err.code) {
		code = run_error(&v->err);
	} else {
		out_to_memory(&s.name);
		code = write_maps(&s, maps, numbers, numbers + v->noperands);
		out_free(&s.name);
	}
	for (size_t i = 0; maps && i < v->noperands; i++)
		s.of->close(maps[i]);
	mem_free(maps);
	mem_free(numbers);
	return code;
}

const struct spur_cmd spur_cmd_symbols = {
	.name = "symbols",
	.summary = "List the functions that XRay numbers, from the map in their binary.",
	.usage = "[OPTION...] BINARY...",
	.description =
		"Read the instrumentation map of programs and libraries that were built with "
		"-fxray-instrument, and print a line for each sled (a place that can be patched): "
		"the number of its function, the addresses of the sled and the function, the kind "
		"of the sled, and the name of the function. Binaries are ELF or Mach-O files, or "
		"maps in the YAML that llvm-xray writes.\n"
		"Several binaries are objects 0, 1, ... of one traced program (N=FILE: object N); "
		"as in traces, function F of object N has the number N * 2^24 + F.\n"
		"--json and --csv write addresses as plain numbers; docs/formats/xray-names.md "
		"has the rules.",
	.examples =
		"spur symbols ./prog\tits sleds\n"
		"spur symbols --functions --srcline ./prog\tits functions, with source lines\n"
		"spur symbols --yaml ./prog -o map.yaml\ta map for llvm-xray account -m "
		"map.yaml\n"
		"spur symbols ./prog 1=./libx.so\tthe program and a library\n",
	.opts = symbols_options,
	.own_size = sizeof(struct symbols_own),
	.takes = TAKES_JSON | TAKES_CSV,
	.run = symbols_run,
};
